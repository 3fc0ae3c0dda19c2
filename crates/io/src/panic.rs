//! Fail-stop: a worker that panics ends the process, because a node that limps on may answer from a broken state.
//!
//! The message and the backtrace go to the node's log first. Other threads (tests, tools) keep the usual behaviour.

use std::cell::RefCell;
use std::sync::{Arc, Once};

use crate::log::NodeLog;

/// What the process ends with when a worker has panicked.
pub const EXIT_CODE_PANIC: i32 = 70;

thread_local! {
    static LOG_OF_WORKER: RefCell<Option<Arc<NodeLog>>> = const { RefCell::new(None) };
}

/// Called by a worker's thread when it begins.
pub fn this_thread_is_fail_stop(log: Arc<NodeLog>) {
    LOG_OF_WORKER.with(|slot| *slot.borrow_mut() = Some(log));
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let log = LOG_OF_WORKER.try_with(|slot| slot.borrow().clone()).ok().flatten();
            let Some(log) = log else { return previous(info) };
            let backtrace = std::backtrace::Backtrace::force_capture();
            let name = std::thread::current().name().unwrap_or("?").to_string();
            let text = format!("{name} panicked, the node ends: {info}\n{backtrace}");
            log.panic(&text);
            eprintln!("{text}");
            std::process::exit(EXIT_CODE_PANIC);
        }));
    });
}
