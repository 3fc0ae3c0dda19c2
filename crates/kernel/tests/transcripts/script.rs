//! Reads a script, plays it, and compares the output with the script.

use std::fs;
use std::path::{Path, PathBuf};

use crate::commands::Player;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts")
}

/// Plays a script and panics with the difference if something else happened than it says.
pub fn check(block: &str, case: &str) {
    let path = directory().join(block).join(format!("{case}.script"));
    let expected = fs::read_to_string(&path).expect("a script of this name exists");
    assert!(expected.starts_with("# "), "a script opens with the rule it shows");
    let actual = play(&expected);
    if actual == expected {
        return;
    }
    if std::env::var_os("SKARV_UPDATE").is_some() {
        fs::write(&path, actual).expect("scripts can be written");
        return;
    }
    panic!(
        "{block}/{case}.script says (-) and what happened (+) differ; SKARV_UPDATE=1 writes what happened\n{}",
        difference(&expected, &actual)
    );
}

/// Plays a script in a cluster that breaks a rule.
pub fn play_broken(script: &str, mutation: &str) {
    let path = directory().join(format!("{script}.script"));
    let script = fs::read_to_string(&path).expect("a script of this name exists");
    assert!(script.contains("disks=1 fill=1"), "its cluster is described so");
    play(&script.replace("disks=1 fill=1", &format!("disks=1 fill=1 broken={mutation}")));
}

/// The scripts there are, as `block/case.script`, in order.
pub fn list() -> Vec<String> {
    let mut scripts = Vec::new();
    for block in fs::read_dir(directory()).expect("the directory of transcripts exists") {
        let block = block.expect("it can be read").path();
        if !block.is_dir() {
            continue;
        }
        for case in fs::read_dir(&block).expect("it can be read") {
            let case = case.expect("it can be read").path();
            let relative = case.strip_prefix(directory()).expect("it is below");
            scripts.push(relative.to_str().expect("names are ASCII").to_string());
        }
    }
    scripts.sort();
    scripts
}

/// The script with the output that its commands give.
fn play(script: &str) -> String {
    let mut player = Player::new();
    let mut out = String::new();
    for line in script.lines() {
        if let Some(command) = line.strip_prefix("> ") {
            let name = CommandName(command);
            out.push_str(line);
            out.push('\n');
            for said in player.run(command) {
                assert!(
                    !said.is_empty() && !said.starts_with(['>', '#']),
                    "taken for another line"
                );
                out.push_str(&said);
                out.push('\n');
            }
            drop(name);
        } else if line.is_empty() || line.starts_with('#') {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// Says at which command a kernel panicked.
struct CommandName<'a>(&'a str);

impl Drop for CommandName<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("at the command: {}", self.0);
        }
    }
}

/// The lines of both, those of one only marked, by their longest common subsequence.
fn difference(old: &str, new: &str) -> String {
    let old: Vec<&str> = old.lines().collect();
    let new: Vec<&str> = new.lines().collect();
    // lengths[i][j]: of the longest common subsequence of old[i..] and new[j..].
    let mut lengths = vec![vec![0usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            lengths[i][j] = if old[i] == new[j] {
                lengths[i + 1][j + 1] + 1
            } else {
                lengths[i + 1][j].max(lengths[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut out = String::new();
    while i < old.len() || j < new.len() {
        let (mark, line) = if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
            (' ', old[i - 1])
        } else if j == new.len() || i < old.len() && lengths[i + 1][j] >= lengths[i][j + 1] {
            i += 1;
            ('-', old[i - 1])
        } else {
            j += 1;
            ('+', new[j - 1])
        };
        out.push(mark);
        out.push_str(line);
        out.push('\n');
    }
    out
}
