//! Fail-stop: a worker that panics ends the process, because a node that limps on may answer from a broken state.
//!
//! A panic inside a boundary of [`types::contain`] ends a statement instead. In both cases the message and the backtrace go
//! to the node's log first; the entry of a statement has an id, which the client gets with its error. Other threads
//! (tests, tools) keep the usual behaviour.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};

use types::contain;

use crate::clock;
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
            if contain::is_contained() {
                return record_contained(&log, info);
            }
            let backtrace = std::backtrace::Backtrace::force_capture();
            let name = std::thread::current().name().unwrap_or("?").to_string();
            let text = format!("{name} panicked, the node ends: {info}\n{backtrace}");
            log.panic(&text);
            say(format!("{text}\n").as_bytes());
            std::process::exit(EXIT_CODE_PANIC);
        }));
    });
}

/// Backtraces of one place in the code that the log gets; later panics there are a line each.
const BACKTRACES_MAX: u64 = 3;
/// Places that are counted; the counts begin anew when there are more.
const PLACES_MAX: usize = 256;

/// A statement has panicked: the log gets the cause under an id.
fn record_contained(log: &NodeLog, info: &PanicHookInfo<'_>) {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    static PLACES: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());
    let number = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    let id = format!("{:x}-{number}", clock::unix_micros() / 1_000_000);
    let place = info.location().map_or_else(|| "?".into(), ToString::to_string);
    let seen = {
        let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
        if PLACES_MAX <= places.len() && !places.contains_key(&place) {
            places.clear();
        }
        let seen = places.entry(place).or_default();
        *seen += 1;
        *seen
    };
    // A backtrace takes milliseconds of the worker's time, and a client may repeat its statement.
    let name = std::thread::current().name().unwrap_or("?").to_string();
    let text = if seen <= BACKTRACES_MAX {
        let backtrace = std::backtrace::Backtrace::force_capture();
        format!("fault {id} on {name} ended a statement: {info}\n{backtrace}")
    } else {
        format!(
            "fault {id} on {name} ended a statement: {info} (backtraces of this place are above)"
        )
    };
    log.panic(&text);
    contain::record(id);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Command;

    const CHILD: &str = "SKARV_IO_TEST_PANIC";

    /// A statement's panic leaves its thread alive; the log has it under the id that the client gets, and the backtrace
    /// of its place no more than three times.
    #[test]
    fn a_contained_panic_is_logged_under_its_id() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("node1.log");
        let log = Arc::new(NodeLog::open(&path, false).unwrap());
        let worker = std::thread::spawn(move || {
            this_thread_is_fail_stop(log);
            let fault = || contain::contain(|| -> u32 { panic!("a fault of a statement") });
            [fault(), fault(), fault(), fault(), fault()].map(|result| result.unwrap_err().id)
        });
        let ids = worker.join().expect("the thread has lived on");
        let log = std::fs::read_to_string(path).unwrap();
        for id in &ids {
            assert_eq!(log.matches(&format!("fault {id} on")).count(), 1, "{id} in {log}");
        }
        assert_eq!(log.matches("(backtraces of this place are above)").count(), 2, "{log}");
        assert!(log.contains("a_contained_panic_is_logged"), "the backtrace is missing:\n{log}");
    }

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
