//! Other processes: is one still what a file says it is, and telling it to stop.
//!
//! A pid in a file is a claim about the past: the process may have ended and its number may be another's now. So before
//! anything is signalled, /proc is asked whether the process runs what the file says.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::PidfdFlags;
pub use rustix::process::Signal;

use crate::manage;

/// How often the end of a process that is not our child is looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The lock that a supervisor holds as long as it lives.
pub fn lock_path(dir: &Path) -> PathBuf {
    dir.join("supervisor.lock")
}

/// Does this process run node `node` of the cluster in `dir` (absolute)?
pub fn is_node(pid: u32, dir: &Path, node: u16) -> bool {
    let arguments = arguments(pid);
    let node = node.to_string();
    arguments.get(1).is_some_and(|command| command == b"server")
        && follows(&arguments, "--dir", dir.as_os_str())
        && follows(&arguments, "--node", OsStr::new(&node))
}

/// Is this process the supervisor of the cluster in `dir` (absolute)? It runs `up` and has the lock file open.
pub fn is_supervisor(pid: u32, dir: &Path) -> bool {
    if !arguments(pid).iter().any(|argument| argument == b"up") {
        return false;
    }
    let lock = lock_path(dir);
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|target| target == lock))
}

/// Empty for a process that has ended, also before its exit code is fetched.
fn arguments(pid: u32) -> Vec<Vec<u8>> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

/// What the process has read so far, from files and from what else there is, in bytes; 0 if it is gone.
pub fn bytes_read(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("rchar: "));
    line.and_then(|count| count.parse().ok()).unwrap_or(0)
}

fn follows(arguments: &[Vec<u8>], flag: &str, value: &OsStr) -> bool {
    arguments.windows(2).any(|pair| pair[0] == flag.as_bytes() && pair[1] == value.as_bytes())
}

/// A process whose end can be waited for, by whomever it was started.
pub struct Watched(OwnedFd);

impl Watched {
    /// None if no such process is left.
    pub fn open(pid: u32) -> Option<Watched> {
        rustix::process::pidfd_open(raw(pid)?, PidfdFlags::empty()).ok().map(Watched)
    }

    /// Whether it ends within `timeout`. Then nothing of it runs any more, though its exit code may not be fetched yet.
    pub fn ends_within(&self, timeout: Duration) -> Result<bool, String> {
        let deadline = Instant::now() + timeout;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).expect("a timeout is short");
            let mut ended = [PollFd::new(&self.0, PollFlags::IN)];
            match rustix::event::poll(&mut ended, Some(&left)) {
                Ok(count) => return Ok(count > 0),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(format!("cannot wait for the end of a process: {error}")),
            }
        }
    }
}

fn raw(pid: u32) -> Option<rustix::process::Pid> {
    i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw)
}

/// Sends a signal; a process that is gone by now is as good.
pub fn signal(pid: u32, signal: Signal) -> Result<(), String> {
    let Some(target) = raw(pid) else {
        return Err(format!("{pid} is no process id"));
    };
    match rustix::process::kill_process(target, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(format!("cannot signal process {pid}: {error}")),
    }
}

/// Has nodes end, process and management socket of each, whether they have rested or not. Those that do not answer are signalled: twice, as
/// one that serves would rest at the first, and with two signals, as of two that are the same a process may get one.
pub fn end_nodes(nodes: &[(u32, &Path)]) -> Result<(), String> {
    let silent = nodes.iter().filter(|(pid, socket)| !manage::end(*pid, socket));
    let silent: Vec<u32> = silent.map(|(pid, _)| *pid).collect();
    for each in [Signal::TERM, Signal::INT] {
        silent.iter().try_for_each(|pid| signal(*pid, each))?;
    }
    Ok(())
}

/// Waits until a predicate over processes is false; false when time runs out first.
pub fn wait_while(timeout: Duration, mut running: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + timeout;
    while running() {
        if deadline <= Instant::now() {
            return false;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    use crate::ports;

    /// A process is recognised by its arguments, and not when it is another's, another node's, or gone.
    #[test]
    fn processes_are_recognised() {
        let held_off = ports::hold_off_starts();
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep is everywhere");
        drop(held_off);
        // For an instant a process that starts has no arguments yet.
        let named = || arguments(child.id()).len() < 2;
        assert!(wait_while(Duration::from_secs(60), named));
        assert!(!is_node(child.id(), Path::new("/d"), 2));
        assert!(!is_supervisor(child.id(), Path::new("/d")));
        assert_eq!(arguments(child.id())[1], b"60");
        let watched = Watched::open(child.id()).expect("our child");
        assert_eq!(watched.ends_within(Duration::ZERO), Ok(false));
        signal(child.id(), Signal::KILL).expect("our child");
        assert_eq!(watched.ends_within(Duration::from_secs(60)), Ok(true));
        child.wait().expect("our child");
        assert_eq!(watched.ends_within(Duration::ZERO), Ok(true));
        assert!(Watched::open(child.id()).is_none() && Watched::open(u32::MAX).is_none());
        assert!(!is_node(child.id(), Path::new("/d"), 2));
        assert_eq!(arguments(child.id()), vec![Vec::<u8>::new()]);
        assert!(signal(child.id(), Signal::TERM).is_ok(), "gone is as good");
        assert!(signal(u32::MAX, Signal::TERM).is_err());
        let words = ["skarv", "server", "--dir", "/d", "--node", "2"];
        let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        assert!(follows(&words, "--node", OsStr::new("2")));
        assert!(!follows(&words, "--node", OsStr::new("3")));
        assert!(!follows(&words, "--dir", OsStr::new("/d2")));
    }

    #[test]
    fn what_a_process_reads_is_counted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), vec![7; 1 << 20]).unwrap();
        let before = bytes_read(std::process::id());
        assert_eq!(fs::read(file.path()).unwrap().len(), 1 << 20);
        assert!(before + (1 << 20) <= bytes_read(std::process::id()));
        assert_eq!(bytes_read(u32::MAX), 0);
    }
}
