//! The node's log: a file of dated lines that never grows without bound.
//!
//! One line per event: start, ready, links, refused peers, stop. A line that repeats (a peer that
//! reconnects with the wrong version) is written once, then counted and summed up. Text from
//! outside is cut and its control characters are shown, not obeyed. A log that cannot be written
//! stops no thread.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use kernel::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::clock;
use crate::limits::{LOG_REPEAT_INTERVAL, LOG_REPEAT_LINES_MAX, LOG_SIZE_MAX};

/// A line is cut at this many bytes; a panic's backtrace goes around it.
const LINE_SIZE_MAX: usize = 4096;

pub struct NodeLog {
    path: PathBuf,
    to_stderr: bool,
    state: Mutex<LogState>,
}

struct LogState {
    file: File,
    size: u64,
    /// Lines written lately: until when they are only counted, and how often they came since.
    repeats: BTreeMap<String, (Time, u64)>,
}

impl NodeLog {
    pub fn open(path: &Path, to_stderr: bool) -> std::io::Result<NodeLog> {
        let file = open_append(path)?;
        let size = file.metadata()?.len();
        let state = Mutex::new(LogState { file, size, repeats: BTreeMap::new() });
        Ok(NodeLog { path: path.into(), to_stderr, state })
    }

    pub fn info(&self, text: &str) {
        self.with_state(|state| self.write(state, "INFO", text));
    }
    pub fn warn(&self, text: &str) {
        self.with_state(|state| self.write(state, "WARN", text));
    }

    /// For lines that others can provoke: the same one again within ten seconds is counted only.
    pub fn warn_limited(&self, text: &str) {
        let now = clock::now();
        self.with_state(|state| {
            if let Some((until, count)) = state.repeats.get_mut(text)
                && now < *until
            {
                *count += 1;
                return;
            }
            self.write_repeats(state, now);
            if state.repeats.len() >= LOG_REPEAT_LINES_MAX {
                state.repeats.pop_first();
            }
            state.repeats.insert(text.into(), (now + LOG_REPEAT_INTERVAL, 0));
            self.write(state, "WARN", text);
        });
    }

    /// Sums up the counted lines whose time is over. Called now and then.
    pub fn on_tick(&self, now: Time) {
        self.with_state(|state| self.write_repeats(state, now));
    }

    /// A text of several lines, as it is: panics.
    pub fn panic(&self, text: &str) {
        self.with_state(|state| self.put(state, "PANIC", text));
    }

    fn write_repeats(&self, state: &mut LogState, now: Time) {
        if state.repeats.is_empty() {
            return;
        }
        let (over, open) = std::mem::take(&mut state.repeats)
            .into_iter()
            .partition(|(_, (until, _))| *until <= now);
        state.repeats = open;
        let over: BTreeMap<String, (Time, u64)> = over;
        for (text, (_, count)) in over.into_iter().filter(|(_, (_, count))| *count > 0) {
            self.write(state, "WARN", &format!("{count} times more: {text}"));
        }
    }

    fn write(&self, state: &mut LogState, level: &str, text: &str) {
        let mut line = String::with_capacity(text.len());
        for character in text.chars() {
            if line.len() >= LINE_SIZE_MAX {
                line.push_str("...");
                break;
            }
            match character.is_control() {
                true => line.extend(character.escape_default()),
                false => line.push(character),
            }
        }
        self.put(state, level, &line);
    }

    fn put(&self, state: &mut LogState, level: &str, text: &str) {
        let line = line(level, text);
        if self.to_stderr {
            say(line.as_bytes());
        }
        if state.size + line.len() as u64 > LOG_SIZE_MAX {
            self.rotate(state);
        }
        if state.file.write_all(line.as_bytes()).is_ok() {
            state.size += line.len() as u64;
        }
    }

    /// X.log becomes X.log.1, that X.log.2, and the old X.log.2 goes.
    fn rotate(&self, state: &mut LogState) {
        let numbered = |number: u32| {
            let mut name = self.path.as_os_str().to_owned();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        };
        let _ = std::fs::rename(numbered(1), numbered(2));
        let moved = std::fs::rename(&self.path, numbered(1));
        if let (Ok(()), Ok(file)) = (moved, open_append(&self.path)) {
            state.file = file;
        } else {
            let _ = state.file.set_len(0);
        }
        state.size = 0;
    }

    fn with_state(&self, f: impl FnOnce(&mut LogState)) {
        // The log is for panics too, so a poisoned lock must not stop it.
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Adds a line to the log of a node that another process is: that one looks after its size.
pub fn append_to(path: &Path, text: &str) {
    // A failure to write there is reported to the requester.
    let _ = open_append(path).and_then(|mut file| file.write_all(line("WARN", text).as_bytes()));
}

fn line(level: &str, text: &str) -> String {
    format!("{} {level:<5} {text}\n", clock::format_unix_micros(clock::unix_micros()))
}

/// Writes to standard error as much as its reader has room for: a pipe that no process empties must
/// not hold a worker, and the file has all of it. A pipe that is ready takes this much at least
/// without waiting (POSIX PIPE_BUF).
pub fn say(text: &[u8]) {
    const PIPE_BUF: usize = 4096;
    let stderr = std::io::stderr();
    for piece in text.chunks(PIPE_BUF) {
        let mut asked = [PollFd::new(&stderr, PollFlags::OUT)];
        let ready = poll(&mut asked, Some(&Timespec::default()));
        if !matches!(ready, Ok(1..)) || stderr.lock().write_all(piece).is_err() {
            return;
        }
    }
}

fn open_append(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line for the log of a process that runs goes behind its last one, and moves nothing.
    #[test]
    fn lines_of_others_rotate_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("node1.log");
        let log = NodeLog::open(&path, false).unwrap();
        let long = "x".repeat(LINE_SIZE_MAX);
        for _ in 0..LOG_SIZE_MAX / (LINE_SIZE_MAX as u64 + 64) {
            log.info(&long);
        }
        for _ in 0..100 {
            append_to(&path, "process 1 was refused");
        }
        assert!(!dir.path().join("node1.log.1").exists());
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.ends_with("Z WARN  process 1 was refused\n"));
    }

    /// Repeated lines are counted, control characters shown, files put aside at their size.
    #[test]
    fn lines_repeat_and_rotate() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("node1.log");
        let log = NodeLog::open(&path, false).unwrap();
        log.info("started");
        for _ in 0..5 {
            log.warn_limited("refused \n\x1b[31m");
        }
        log.on_tick(clock::now() + LOG_REPEAT_INTERVAL + 1);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].ends_with("Z INFO  started"));
        assert!(lines[1].ends_with("WARN  refused \\n\\u{1b}[31m"));
        assert!(lines[2].contains("4 times more: refused"));
        let long = "x".repeat(LINE_SIZE_MAX);
        for _ in 0..LOG_SIZE_MAX / LINE_SIZE_MAX as u64 {
            log.info(&long);
        }
        let aside = dir.path().join("node1.log.1");
        assert!(std::fs::metadata(&aside).unwrap().len() <= LOG_SIZE_MAX);
        assert!(std::fs::metadata(&path).unwrap().len() < LOG_SIZE_MAX);
    }
}
