//! Fail-stop: a worker that panics ends the process, because a node that limps on may answer from a broken state.
//!
//! The message and the backtrace go to the node's log first. Other threads (tests, tools) keep the usual behaviour.

use std::cell::RefCell;
use std::sync::{Arc, Once};

use crate::log::{NodeLog, say};

/// What the process ends with when a worker has panicked.
pub const EXIT_CODE_PANIC: i32 = 70;

/// What the process ends with when the cluster has excluded it: started again it comes back.
pub const EXIT_CODE_EXCLUDED: i32 = 71;

/// What the process ends with when it has found damage in its rows on disk: started again it puts them aside and is filled.
pub const EXIT_CODE_DAMAGED: i32 = 72;

/// The exit code of a process whose disk has not taken rows: the next start uses the rows that it finds there.
pub const EXIT_CODE_DISK: i32 = 73;

/// What the process ends with when its rows need more than its memory: started again it comes back if it has more, or they need less.
pub const EXIT_CODE_MEMORY: i32 = 74;

/// Ends the process at once: nothing that is on its way to a client may go out any more.
pub fn end_process(log: &NodeLog, reason: &str, code: i32) -> ! {
    log.panic(reason);
    say(format!("skarv: error: {reason}\n").as_bytes());
    std::process::exit(code)
}

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
            say(format!("{text}\n").as_bytes());
            std::process::exit(EXIT_CODE_PANIC);
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Command;

    const CHILD: &str = "SKARV_IO_TEST_PANIC";

    /// A panic of a worker's thread ends the whole process with its own exit code, and the log has the reason. In a
    /// process of its own: this test started again with an environment variable.
    #[test]
    fn a_worker_that_panics_ends_the_process() {
        if let Ok(path) = std::env::var(CHILD) {
            let log = Arc::new(NodeLog::open(Path::new(&path), false).unwrap());
            let worker = std::thread::spawn(move || {
                this_thread_is_fail_stop(log);
                panic!("a broken invariant");
            });
            let _ = worker.join();
            unreachable!("the process has ended");
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("node1.log");
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "panic::tests::a_worker_that_panics_ends_the_process"])
            .env(CHILD, &path)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(EXIT_CODE_PANIC));
        let log = std::fs::read_to_string(path).unwrap();
        assert!(log.contains("PANIC") && log.contains("a broken invariant"), "{log}");
        assert!(log.contains("a_worker_that_panics"), "the backtrace is missing:\n{log}");
    }
}
