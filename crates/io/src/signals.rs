//! SIGTERM and SIGINT: the first asks the node to end gracefully, the second to wait for nothing any more, the third ends the process
//! at once.
//!
//! A signal handler may do next to nothing, so it writes to an event descriptor that a thread waits on.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use crate::options::StartError;

/// The descriptor the handler writes to; -1 before there is one. Never closed.
static EVENT: AtomicI32 = AtomicI32::new(-1);
static SIGNALLED: AtomicU32 = AtomicU32::new(0);
/// The signal of this number ends the process.
const LAST: u32 = 3;

/// The signals that come.
pub struct Signals {
    event: OwnedFd,
}

extern "C" fn on_signal(signal: libc::c_int) {
    if SIGNALLED.fetch_add(1, Ordering::SeqCst) + 1 >= LAST {
        // SAFETY: _exit is async-signal-safe and does not return.
        #[allow(unsafe_code)]
        unsafe {
            libc::_exit(128 + signal)
        }
    }
    let one = 1u64.to_ne_bytes();
    // SAFETY: write is async-signal-safe; the buffer outlives the call; the descriptor is open for ever once it is set.
    #[allow(unsafe_code)]
    unsafe {
        libc::write(EVENT.load(Ordering::SeqCst), one.as_ptr().cast(), one.len());
    }
}

impl Signals {
    /// Waits for another one, `timeout` at most; false if none has come.
    pub fn wait(&self, timeout: Duration) -> bool {
        let timeout = Timespec::try_from(timeout).expect("seconds, not centuries");
        self.poll(Some(&timeout))
    }

    fn poll(&self, timeout: Option<&Timespec>) -> bool {
        let mut events = [PollFd::new(&self.event, PollFlags::IN)];
        loop {
            match poll(&mut events, timeout) {
                // Nothing is sure then.
                Err(error) if error != Errno::INTR => return false,
                Ok(0) => return false,
                Ok(_) => break,
                Err(_) => {}
            }
        }
        let mut count = [0; 8];
        rustix::io::read(&self.event, &mut count).is_ok()
    }
}

/// Read as often as it was written, however late: signals that come together are two.
fn event() -> rustix::io::Result<OwnedFd> {
    eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::SEMAPHORE)
}

/// Calls `stop` on a thread of its own at the first SIGTERM or SIGINT. Once a process.
pub fn on_stop_signal(stop: impl FnOnce(&Signals) + Send + 'static) -> Result<(), StartError> {
    static TAKEN: OnceLock<()> = OnceLock::new();
    if TAKEN.set(()).is_err() {
        return Err(StartError::Config("only one node of a process can stop on signals".into()));
    }
    let system = |reason: String| StartError::System { action: "watch signals", reason };
    let event = event().map_err(|error| system(error.to_string()))?;
    EVENT.store(event.as_raw_fd(), Ordering::SeqCst);
    let watch = move || {
        // Dropping it would leave the handler a descriptor that may be another file's by then.
        let signals = std::mem::ManuallyDrop::new(Signals { event });
        if signals.poll(None) {
            stop(&signals);
        }
    };
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(watch)
        .map_err(|error| system(error.to_string()))?;
    for signal in [libc::SIGTERM, libc::SIGINT] {
        // SAFETY: `on_signal` is async-signal-safe (above) and has the signature of a handler without SA_SIGINFO; the
        // structure is zeroed, which is a valid sigaction with an empty mask.
        #[allow(unsafe_code)]
        let installed = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(signal, &action, std::ptr::null_mut())
        };
        if installed != 0 {
            return Err(system(std::io::Error::last_os_error().to_string()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second signal is seen by who sees the first one late.
    #[test]
    fn signals_that_come_together_are_two() {
        let event = event().unwrap();
        for _ in 0..2 {
            rustix::io::write(&event, &1u64.to_ne_bytes()).unwrap();
        }
        let signals = Signals { event };
        assert_eq!([(); 3].map(|()| signals.wait(Duration::ZERO)), [true, true, false]);
    }
}
