//! `skarv mgm`'s backups: START BACKUP, ABORT BACKUP, BACKUP STATUS; and ABORT RESTORE.
//!
//! One node begins a backup and directs the others; the backup continues when this process ends,
//! which only asks that node for its progress.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use io::ManagementError;
use serde_json::{Value, json};

use crate::manage::{self, Asked, Nodes};
use crate::size::human;

const POLL: Duration = Duration::from_millis(200);
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

#[derive(Debug, PartialEq, Eq)]
pub enum BackupCommand {
    Start { id: Option<u32>, dir: Option<PathBuf>, secret: Option<SecretWord>, waits: bool },
    Abort { id: Option<u32> },
    AbortRestore,
    Status,
}

#[derive(Debug, PartialEq, Eq)]
pub enum SecretWord {
    Password(String),
    PasswordFile(PathBuf),
    KeyFile(PathBuf),
}

const USAGE: &str = "START BACKUP [<id>] [TO '<directory>'] [ENCRYPT PASSWORD '<password>' | ENCRYPT PASSWORDFILE '<file>' | \
                     ENCRYPT KEYFILE '<file>'] [WAIT COMPLETED | NOWAIT]";

/// The line as a command about backups; None if it is about something else.
pub fn parse(line: &str) -> Option<Result<BackupCommand, String>> {
    let words = match words(line.trim().trim_end_matches(';')) {
        Ok(words) => words,
        Err(why) => return line.to_ascii_uppercase().contains("BACKUP").then_some(Err(why)),
    };
    let upper: Vec<String> = words.iter().map(|word| word.to_ascii_uppercase()).collect();
    let upper: Vec<&str> = upper.iter().map(String::as_str).collect();
    match upper.as_slice() {
        ["BACKUP", "STATUS"] => Some(Ok(BackupCommand::Status)),
        ["ABORT", "RESTORE"] => Some(Ok(BackupCommand::AbortRestore)),
        ["ABORT", "BACKUP"] => Some(Ok(BackupCommand::Abort { id: None })),
        ["ABORT", "BACKUP", id] => {
            let id = id.parse().map(|id| BackupCommand::Abort { id: Some(id) });
            Some(id.map_err(|_| "a backup's id is a number".to_string()))
        }
        ["START", "BACKUP", ..] => Some(parse_start(&words[2..], &upper[2..])),
        _ => None,
    }
}

fn parse_start(words: &[String], upper: &[&str]) -> Result<BackupCommand, String> {
    let wrong = || format!("{}: the command is {USAGE}", words.join(" "));
    let (mut id, mut dir, mut secret, mut waits) = (None, None, None, true);
    let mut at = 0;
    while let Some(word) = upper.get(at) {
        let next = |count: usize| words.get(at + count).ok_or_else(wrong);
        match *word {
            "TO" => {
                let path = std::path::absolute(next(1)?).map_err(|error| error.to_string())?;
                dir = Some(path);
                at += 2;
            }
            "ENCRYPT" => {
                let value = next(2)?.clone();
                secret = Some(match upper.get(at + 1) {
                    Some(&"PASSWORD") => SecretWord::Password(value),
                    Some(&"PASSWORDFILE") => SecretWord::PasswordFile(value.into()),
                    Some(&"KEYFILE") => SecretWord::KeyFile(value.into()),
                    _ => return Err(wrong()),
                });
                at += 3;
            }
            "NOWAIT" => {
                waits = false;
                at += 1;
            }
            "WAIT" if upper.get(at + 1) == Some(&"STARTED") => {
                waits = false;
                at += 2;
            }
            "WAIT" if upper.get(at + 1) == Some(&"COMPLETED") => {
                waits = true;
                at += 2;
            }
            number if id.is_none() => {
                id = Some(number.parse().ok().filter(|id| *id > 0).ok_or_else(wrong)?);
                at += 1;
            }
            _ => return Err(wrong()),
        }
    }
    Ok(BackupCommand::Start { id, dir, secret, waits })
}

/// The commands of a line: between quotes a `;` is a letter like others.
pub fn commands(line: &str) -> Vec<&str> {
    let mut quote = None;
    let ends = |letter: char| {
        match quote {
            Some(open) if open == letter => quote = None,
            None if matches!(letter, '\'' | '"') => quote = Some(letter),
            _ => {}
        }
        letter == ';' && quote.is_none()
    };
    line.split(ends).filter(|command| !command.trim().is_empty()).collect()
}

/// Words, and what stands between quotes as one; `PASSWORD='x'` is two.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut left = line.chars();
    while let Some(letter) = left.next() {
        match letter {
            '\'' | '"' => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                loop {
                    match left.next() {
                        Some(end) if end == letter => break,
                        Some(inner) => word.push(inner),
                        None => return Err(format!("a {letter} is not closed")),
                    }
                }
                words.push(std::mem::take(&mut word));
            }
            space if space.is_whitespace() || space == '=' => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            letter => word.push(letter),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    Ok(words)
}

/// Puts the password or the key into a request, for a node to read.
pub fn add_secret(request: &mut Value, secret: Option<&SecretWord>) -> Result<(), String> {
    let read = |path: &PathBuf| {
        std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
    };
    match secret {
        None => {}
        Some(SecretWord::Password(password)) => request["password"] = json!(password),
        Some(SecretWord::PasswordFile(path)) => {
            let text = String::from_utf8(read(path)?);
            let text = text.map_err(|_| format!("{} is not UTF-8", path.display()))?;
            request["password"] = json!(text.lines().next().unwrap_or_default());
        }
        Some(SecretWord::KeyFile(path)) => {
            let bytes = read(path)?;
            let digits = match bytes.len() {
                32 => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
                _ => String::from_utf8_lossy(&bytes).trim().to_string(),
            };
            if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(format!(
                    "{} is no key: it must hold 32 bytes, or 64 hexadecimal digits",
                    path.display()
                ));
            }
            request["key"] = json!(digits);
        }
    }
    Ok(())
}

/// Does it; what became of it. Progress goes to `say`.
pub fn run(
    command: &BackupCommand,
    cluster: &Nodes,
    say: impl Fn(&str),
) -> Result<(String, Value), String> {
    match command {
        BackupCommand::Start { id, dir, secret, waits } => {
            let mut request = json!({ "command": "start_backup" });
            if let Some(id) = id {
                request["id"] = json!(id);
            }
            if let Some(dir) = dir {
                request["dir"] = json!(dir);
            }
            add_secret(&mut request, secret.as_ref())?;
            let (node, answer) = cluster.ask_data_node(&request)?;
            let id = answer["id"].as_u64().unwrap_or(0);
            say(&format!("backup {id} is being made; node {node} sees to it"));
            match waits {
                false => Ok((
                    format!("backup {id} has begun; BACKUP STATUS shows how far it is"),
                    answer,
                )),
                true => wait(id, node, cluster, &say),
            }
        }
        BackupCommand::Abort { id } => {
            let mut request = json!({ "command": "abort_backup" });
            if let Some(id) = id {
                request["id"] = json!(id);
            }
            let answer = abort(cluster, &request)?;
            Ok((format!("backup {} is aborted", answer["id"]), answer))
        }
        BackupCommand::AbortRestore => {
            let answer = abort(cluster, &json!({ "command": "abort_restore" }))?;
            Ok(("the restore is aborted: what it has made goes".into(), answer))
        }
        BackupCommand::Status => {
            let mut all = Vec::new();
            for (_, socket) in &cluster.sockets {
                let answer = manage::request(socket, &json!({ "command": "backups" }));
                let answer = answer.ok().and_then(|answer| answer["backups"].as_array().cloned());
                all.extend(answer.into_iter().flatten());
            }
            let lines: Vec<String> = all.iter().map(line).collect();
            let text = match lines.is_empty() {
                true => "no backup was begun since the nodes were started".into(),
                false => lines.join("\n"),
            };
            Ok((text, json!({ "backups": all })))
        }
    }
}

/// Asks all nodes: one of them sees to it.
fn abort(cluster: &Nodes, request: &Value) -> Result<Value, String> {
    let mut refused = "no node of this directory runs".to_string();
    for (_, socket) in &cluster.sockets {
        match manage::request(socket, request) {
            Ok(answer) => return Ok(answer),
            Err(ManagementError::Refused(why)) => refused = why,
            Err(_) => {}
        }
    }
    Err(refused)
}

fn wait(
    id: u64,
    node: u16,
    cluster: &Nodes,
    say: &impl Fn(&str),
) -> Result<(String, Value), String> {
    let mut asked = Asked::new(cluster, node);
    let mut said = Instant::now();
    loop {
        std::thread::sleep(POLL);
        let answer = asked.ask(&json!({ "command": "backups" }));
        let answer = answer.map_err(|why| format!("{why}, and it sees to backup {id}"))?;
        let Some(answer) = answer else { continue };
        let backups = answer["backups"].as_array().cloned().unwrap_or_default();
        let own = backups.into_iter().rfind(|backup| backup["id"] == json!(id));
        let own =
            own.ok_or_else(|| format!("node {node} was started again: backup {id} is lost"))?;
        match own["state"].as_str() {
            Some("done") => return Ok((line(&own), own)),
            Some("running" | "aborting") => {}
            _ => return Err(line(&own)),
        }
        if said.elapsed() >= PROGRESS_INTERVAL {
            said = Instant::now();
            say(&line(&own));
        }
    }
}

fn line(backup: &Value) -> String {
    let nodes = backup["nodes"].as_array().cloned().unwrap_or_default();
    let sum = |name: &str| nodes.iter().filter_map(|node| node[name].as_u64()).sum::<u64>();
    let mut dirs: Vec<&str> = nodes.iter().filter_map(|node| node["dir"].as_str()).collect();
    dirs.retain(|dir| !dir.is_empty());
    dirs.sort_unstable();
    dirs.dedup();
    let text = format!(
        "backup {}: {}, {} copied, {} written, in {}",
        backup["id"],
        backup["state"].as_str().unwrap_or("?"),
        human(sum("bytes_read")),
        human(sum("bytes_written")),
        dirs.join(", ")
    );
    match backup["why"].as_str() {
        Some(why) => format!("{text}: {why}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_understood() {
        let start = |id, dir: Option<&str>, secret, waits| BackupCommand::Start {
            id,
            dir: dir.map(PathBuf::from),
            secret,
            waits,
        };
        let password = |text: &str| Some(SecretWord::Password(text.into()));
        for (line, command) in [
            ("START BACKUP", start(None, None, None, true)),
            ("start backup 7 wait completed;", start(Some(7), None, None, true)),
            ("Start Backup 7 NOWAIT", start(Some(7), None, None, false)),
            ("START BACKUP WAIT STARTED", start(None, None, None, false)),
            ("START BACKUP TO '/a b/c'", start(None, Some("/a b/c"), None, true)),
            (
                "START BACKUP ENCRYPT PASSWORD='It is me'",
                start(None, None, password("It is me"), true),
            ),
            (
                "START BACKUP 3 ENCRYPT KEYFILE '/k' NOWAIT",
                start(Some(3), None, Some(SecretWord::KeyFile("/k".into())), false),
            ),
            ("ABORT BACKUP 4", BackupCommand::Abort { id: Some(4) }),
            ("ABORT BACKUP", BackupCommand::Abort { id: None }),
            ("abort restore;", BackupCommand::AbortRestore),
            ("backup status", BackupCommand::Status),
        ] {
            assert_eq!(parse(line), Some(Ok(command)), "{line}");
        }
        for line in [
            "START BACKUP x",
            "START BACKUP 0",
            "START BACKUP 1 2",
            "START BACKUP ENCRYPT",
            "START BACKUP ENCRYPT PASSWORD",
            "START BACKUP TO",
            "START BACKUP WAIT",
            "START BACKUP TO '/a",
            "ABORT BACKUP x",
        ] {
            assert!(matches!(parse(line), Some(Err(_))), "{line}");
        }
        assert_eq!(parse("2 START"), None);
    }

    #[test]
    fn commands_are_split_where_they_end() {
        for (line, found) in [
            ("SHOW", vec!["SHOW"]),
            ("SHOW; ALL STATUS;", vec!["SHOW", " ALL STATUS"]),
            (";; ;", vec![]),
            ("START BACKUP TO '/a;b' ;SHOW", vec!["START BACKUP TO '/a;b' ", "SHOW"]),
            ("ENCRYPT PASSWORD \"it's;\"; SHOW", vec!["ENCRYPT PASSWORD \"it's;\"", " SHOW"]),
            ("TO '/a;b", vec!["TO '/a;b"]),
        ] {
            assert_eq!(commands(line), found, "{line}");
        }
    }

    #[test]
    fn secrets_are_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("secret");
        let read = |contents: &[u8], key: bool| {
            std::fs::write(&path, contents).expect("written");
            let word = match key {
                true => SecretWord::KeyFile(path.clone()),
                false => SecretWord::PasswordFile(path.clone()),
            };
            let mut request = json!({});
            add_secret(&mut request, Some(&word)).map(|()| request)
        };
        for text in ["open sesame", "open sesame\n", "open sesame\r\n", "open sesame\nof 2025\n"] {
            let found = read(text.as_bytes(), false);
            assert_eq!(found, Ok(json!({ "password": "open sesame" })), "{text:?}");
        }
        let digits = "0b".repeat(32);
        assert_eq!(read(&[11; 32], true), Ok(json!({ "key": digits })));
        assert_eq!(read(format!("{digits}\n").as_bytes(), true), Ok(json!({ "key": digits })));
        for wrong in [&[1; 31][..], b"not a key", "0x".repeat(32).as_bytes()] {
            assert!(read(wrong, true).expect_err("no key").contains("32 bytes"));
        }
    }
}
