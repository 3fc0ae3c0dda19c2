//! The output of `skarv up`: to the terminal, or through a pipe to the command that waits for a
//! detached supervisor; and always to DIR/supervisor.log.
//!
//! The waiting command ends when the cluster is ready, so writing to it may fail, and that is no
//! reason to stop.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The log begins anew beyond this size: it has a line a start and a line a death.
const LOG_SIZE_MAX: u64 = 1 << 20;

pub struct Console {
    log: Option<File>,
    /// Lines carry a tag for the command that waits.
    tagged: bool,
}

/// A line from a detached supervisor.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Say(String),
    Warn(String),
    Error(String),
    /// The output of the start is complete.
    Ready,
}

impl Console {
    pub fn new(tagged: bool) -> Console {
        Console { log: None, tagged }
    }

    /// Adds a line to the log of the supervisor that runs there: that one looks after its size.
    pub fn append_to_log(dir: &Path, line: &str) {
        // A failure to write there is reported to the caller.
        if let Ok(file) = OpenOptions::new().append(true).open(log_path(dir)) {
            Console { log: Some(file), tagged: false }.record(line);
        }
    }

    /// From now on lines go to the log as well.
    pub fn open_log(&mut self, dir: &Path) -> Result<(), String> {
        let path = log_path(dir);
        let long = std::fs::metadata(&path).is_ok_and(|found| LOG_SIZE_MAX < found.len());
        let file =
            OpenOptions::new().create(true).write(true).append(!long).truncate(long).open(&path);
        self.log = Some(file.map_err(|error| format!("cannot write {}: {error}", path.display()))?);
        Ok(())
    }

    pub fn say(&mut self, line: &str) {
        self.record(line);
        self.print(&Line::Say(line.to_owned()));
    }
    pub fn warn(&mut self, line: &str) {
        self.record(&format!("warning: {line}"));
        self.print(&Line::Warn(line.to_owned()));
    }
    pub fn error(&mut self, line: &str) {
        self.record(&format!("error: {line}"));
        self.print(&Line::Error(line.to_owned()));
    }
    pub fn ready(&mut self) {
        self.print(&Line::Ready);
    }

    fn record(&mut self, line: &str) {
        let Some(log) = &mut self.log else { return };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // A full disk must not end the cluster.
        let _ = writeln!(log, "{} {line}", utc(now.as_secs()));
    }

    fn print(&self, line: &Line) {
        if self.tagged {
            let _ = std::io::stdout().write_all(line.encode().as_bytes());
        } else {
            line.show();
        }
    }
}

fn log_path(dir: &Path) -> PathBuf {
    dir.join("supervisor.log")
}

impl Line {
    fn encode(&self) -> String {
        let (tag, text) = match self {
            Line::Say(text) => ('s', text.as_str()),
            Line::Warn(text) => ('w', text.as_str()),
            Line::Error(text) => ('e', text.as_str()),
            Line::Ready => ('r', ""),
        };
        // A text of several lines stays one line on the pipe.
        format!("{tag}{}\n", text.replace('\\', "\\\\").replace('\n', "\\n"))
    }

    fn decode(line: &str) -> Option<Line> {
        let mut letters = line.chars();
        let tag = letters.next()?;
        let mut text = String::new();
        while let Some(letter) = letters.next() {
            text.push(match letter {
                '\\' if letters.next()? == 'n' => '\n',
                other => other,
            });
        }
        match tag {
            's' => Some(Line::Say(text)),
            'w' => Some(Line::Warn(text)),
            'e' => Some(Line::Error(text)),
            'r' => Some(Line::Ready),
            _ => None,
        }
    }

    /// Prints it for a person.
    pub fn show(&self) {
        let _ = match self {
            Line::Say(text) => writeln!(std::io::stdout(), "{text}"),
            Line::Warn(text) => writeln!(std::io::stderr(), "skarv: warning: {text}"),
            Line::Error(text) => writeln!(std::io::stderr(), "skarv: error: {text}"),
            Line::Ready => Ok(()),
        };
    }
}

/// The lines that a detached supervisor sends, until it is ready or gone.
pub fn lines(pipe: impl std::io::Read) -> impl Iterator<Item = Line> {
    let lines = std::io::BufReader::new(pipe).lines();
    lines.map_while(Result::ok).filter_map(|line| Line::decode(&line))
}

/// "2026-11-21 10:20:30Z" from seconds since 1970: the civil calendar by counting eras of 400 years.
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Years that begin in March have the leap day at their end.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{:02}Z", second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_the_pipe() {
        let sent = [
            Line::Say("node 2 \\n ready".into()),
            Line::Warn("two\nlines\\".into()),
            Line::Error(String::new()),
            Line::Ready,
        ];
        let bytes: String = sent.iter().map(Line::encode).collect();
        assert_eq!(bytes.lines().count(), sent.len());
        let received: Vec<Line> = lines(bytes.as_bytes()).collect();
        assert_eq!(received, sent);
        assert_eq!(lines("?what\n\n".as_bytes()).count(), 0);
    }

    #[test]
    fn times_are_civil() {
        assert_eq!(utc(0), "1970-01-01 00:00:00Z");
        assert_eq!(utc(951_782_399), "2000-02-28 23:59:59Z");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00:00Z");
        assert_eq!(utc(1_795_256_430), "2026-11-21 10:20:30Z");
        assert_eq!(utc(4_107_542_399), "2100-02-28 23:59:59Z");
        assert_eq!(utc(4_107_542_400), "2100-03-01 00:00:00Z");
    }

    #[test]
    fn the_log_gets_every_line() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut console = Console::new(true);
        console.open_log(dir.path()).expect("opened");
        console.record("one");
        console.record("two");
        let text = std::fs::read_to_string(dir.path().join("supervisor.log")).expect("written");
        assert!(text.contains("Z one\n"), "{text}");
        assert!(text.contains("Z two\n"), "{text}");
    }
}
