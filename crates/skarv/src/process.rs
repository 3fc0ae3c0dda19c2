//! Other processes: is one still what a file says it is, and telling it to stop.
//!
//! A pid in a file is a claim about the past: the process may have ended and its number may be another's now. So before
//! anything is signalled, /proc is asked whether the process runs what the file says.
//!
//! The nodes of a directory are found by the arguments of all processes: a file names only those
//! that a supervisor started. A process is opened before its arguments are read, and signalled by
//! its open file, so its number cannot have passed to another process.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::PidfdFlags;
pub use rustix::process::Signal;

use clap::Parser;

use crate::cli::{Cli, Command};
use crate::manage;

/// How often the end of a process that is not our child is looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The lock that a supervisor holds as long as it lives.
pub fn lock_path(dir: &Path) -> PathBuf {
    dir.join("supervisor.lock")
}

/// A process that runs a node.
pub struct Member {
    pub node: u16,
    pub pid: u32,
    /// The process that started it, or the one that adopted it.
    pub parent: u32,
    pub process: Watched,
}

/// The processes that run a node of the cluster in `dir` (absolute, without symbolic links), by
/// node. A node that was started twice has two processes until the second one finds the lock held.
pub fn members_of(dir: &Path) -> Vec<Member> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut members: Vec<Member> = pids.filter_map(|pid| member_of(pid, dir)).collect();
    members.sort_by_key(|member| (member.node, member.pid));
    members
}

fn member_of(pid: u32, dir: &Path) -> Option<Member> {
    // Most processes are no node, and are not opened.
    node_of(&arguments(pid))?;
    let process = Watched::open(pid)?;
    let (node, given) = node_of(&arguments(pid))?;
    let given = match given.is_absolute() {
        true => given,
        false => fs::read_link(format!("/proc/{pid}/cwd")).ok()?.join(given),
    };
    let (_, parent) = state_and_parent(pid)?;
    let is_here = given.canonicalize().is_ok_and(|given| given == dir);
    (is_here && !process.has_ended()).then_some(Member { node, pid, parent, process })
}

/// The node that a process with these arguments runs, and its directory as it was given.
fn node_of(arguments: &[Vec<u8>]) -> Option<(u16, PathBuf)> {
    if !arguments.iter().any(|argument| argument == b"server") {
        return None;
    }
    // The last one ends with a zero, too.
    let words = arguments[..arguments.len() - 1].iter().map(|word| OsStr::from_bytes(word));
    match Cli::try_parse_from(words).ok()?.command {
        Command::Server(options) => Some((options.node, options.dir)),
        _ => None,
    }
}

/// Whether SIGSTOP has frozen the process. False for one that a debugger holds.
pub fn is_frozen(pid: u32) -> bool {
    state_and_parent(pid).is_some_and(|(state, _)| state == 'T')
}

fn state_and_parent(pid: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program comes before, in brackets, and may have any characters.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// The supervisor of the cluster in `dir` (absolute), if one runs. `noted` is its process as
/// `cluster.json` has it; a supervisor that has just begun has only written it to its lock.
pub fn supervisor_of(dir: &Path, noted: Option<u32>) -> Option<(u32, Watched)> {
    let locked = fs::read_to_string(lock_path(dir)).ok().and_then(|pid| pid.trim().parse().ok());
    let opened = [locked, noted].into_iter().flatten();
    let mut opened = opened.filter_map(|pid| Some((pid, Watched::open(pid)?)));
    opened.find(|(pid, process)| is_supervisor(*pid, dir) && !process.has_ended())
}

/// Is this process the supervisor of the cluster in `dir` (absolute)? It runs `up` and has the lock file open.
fn is_supervisor(pid: u32, dir: &Path) -> bool {
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

/// A process whose end can be waited for, by whomever it was started.
pub struct Watched(OwnedFd);

impl Watched {
    /// None if no such process is left.
    pub fn open(pid: u32) -> Option<Watched> {
        rustix::process::pidfd_open(raw(pid)?, PidfdFlags::empty()).ok().map(Watched)
    }

    /// Whether it has ended. A system that cannot answer leaves it running.
    pub fn has_ended(&self) -> bool {
        self.ends_within(Duration::ZERO).unwrap_or(false)
    }

    /// Sends it a signal, unless it has ended.
    pub fn signal(&self, signal: Signal) -> Result<(), String> {
        match rustix::process::pidfd_send_signal(&self.0, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(format!("cannot signal a process: {error}")),
        }
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

/// Has nodes end, each with its management socket, whether they have rested or not. Those that do not answer are signalled: twice, as
/// one that serves would rest at the first, and with two signals, as of two that are the same a process may get one.
pub fn end_nodes<'a>(nodes: impl Iterator<Item = (&'a Member, PathBuf)>) -> Result<(), String> {
    let silent = nodes.filter(|(member, socket)| !manage::end(member.pid, socket));
    let silent: Vec<&Member> = silent.map(|(member, _)| member).collect();
    for each in [Signal::TERM, Signal::INT] {
        silent.iter().try_for_each(|member| member.process.signal(each))?;
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
        assert!(member_of(child.id(), Path::new("/d")).is_none());
        assert!(!is_supervisor(child.id(), Path::new("/d")));
        assert_eq!(supervisor_of(Path::new("/d"), Some(child.id())).map(|(pid, _)| pid), None);
        assert_eq!(state_and_parent(child.id()).map(|found| found.1), Some(std::process::id()));
        assert_eq!(arguments(child.id())[1], b"60");
        let watched = Watched::open(child.id()).expect("our child");
        assert_eq!(watched.ends_within(Duration::ZERO), Ok(false));
        assert!(!is_frozen(child.id()));
        watched.signal(Signal::STOP).expect("our child");
        assert!(wait_while(Duration::from_secs(60), || !is_frozen(child.id())));
        assert!(!watched.has_ended());
        watched.signal(Signal::KILL).expect("our child");
        assert_eq!(watched.ends_within(Duration::from_secs(60)), Ok(true));
        child.wait().expect("our child");
        assert_eq!(watched.ends_within(Duration::ZERO), Ok(true));
        assert!(Watched::open(child.id()).is_none() && Watched::open(u32::MAX).is_none());
        assert!(watched.signal(Signal::TERM).is_ok() && !is_frozen(child.id()));
        assert_eq!(arguments(child.id()), vec![Vec::<u8>::new()]);
        assert!(signal(child.id(), Signal::TERM).is_ok(), "gone is as good");
        assert!(signal(u32::MAX, Signal::TERM).is_err());
    }

    /// However the arguments of a node were written, they say which one it is and where.
    #[test]
    fn nodes_are_known_by_their_arguments() {
        for (line, expected) in [
            ("skarv server --dir /d --node 2", Some((2, "/d"))),
            ("skarv server --dir /d --node 2 --child --initial", Some((2, "/d"))),
            ("/usr/bin/skarv server --node=3 --dir=here", Some((3, "here"))),
            ("skarv server --node 4", Some((4, "./skarv-data"))),
            ("skarv server --config f.json --node 5 --dir /d", Some((5, "/d"))),
            ("skarv server --dir /d", None),
            ("skarv server --dir /d --node x", None),
            ("skarv up --dir /d", None),
            ("skarv down --dir server", None),
            ("less server", None),
            ("", None),
        ] {
            let mut words: Vec<Vec<u8>> =
                line.split_whitespace().map(|word| word.as_bytes().to_vec()).collect();
            words.push(Vec::new());
            let expected = expected.map(|(node, dir)| (node, PathBuf::from(dir)));
            assert_eq!(node_of(&words), expected, "{line}");
        }
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
