//! `skarv mgm`: the management client.
//!
//! A command is a line of words; letters' case does not matter. Each is answered from the nodes'
//! reports: at once, except commands that change something, which wait until it is done. No state
//! is kept between commands. A command of NDB's client that this release lacks is named as such, so
//! that it is not taken for a typing mistake.

use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::backup::{self, BackupCommand};
use crate::change::{self, Change};
use crate::cli::MgmOptions;
use crate::manage::Nodes;
use crate::show;

const HELP: &str = "\
SHOW                 every node: state (started, starting, down), roles, port, node group, view;
                     * leads the control plane, sequencer hands out timestamps
ALL STATUS           every node: uptime, open transactions, locks, commits, aborts, messages
<id> STATUS          everything about one node
<id> STOP            the node hands over what it leads, without an error for clients of others, and ends;
                     refused when the cluster would stop with it, or rows be lost; when transactions
                     do not end for half a minute it serves again
<id> START           starts a node that is stopped, and waits until it has its rows again and serves
<id> RESTART         both; one node after the other, this restarts a cluster under load
ALL REPORT MEMORY    memory of every data node: used, limit, rows and bytes of each table
<id> REPORT MEMORY   the same of one node
START BACKUP [<id>] [TO '<dir>'] [ENCRYPT PASSWORD '<password>' | PASSWORDFILE '<file>' | KEYFILE '<file>']
             [WAIT COMPLETED | NOWAIT]
                     a backup of all tables at one timestamp, beside the load; each node writes its part into
                     its DIR/backups/BACKUP-<id> or <dir>/BACKUP-<id>; `skarv restore` brings it back
BACKUP STATUS        backups that were begun, and how far they are
ABORT BACKUP [<id>]  ends one; what it has written goes
ABORT RESTORE        ends the restore that goes on; what it has made goes
HELP                 this list
QUIT, EXIT           leaves";

#[derive(Debug, PartialEq, Eq)]
enum Command {
    Show,
    Status(Option<u16>),
    Memory(Option<u16>),
    Change(Change, u16),
    Backup(BackupCommand),
    Help,
    Quit,
}

/// First words of commands that other management clients of this kind have.
const LATER: &[&str] = &[
    "START",
    "STOP",
    "RESTART",
    "SHUTDOWN",
    "ABORT",
    "ENTER",
    "EXIT-SINGLE",
    "CLUSTERLOG",
    "CREATE",
    "DROP",
    "PURGE",
    "PROMPT",
    "CONNECT",
    "SET",
    "ACTIVATE",
    "DEACTIVATE",
    "HOSTNAME",
    "REPORT",
    "DUMP",
    "LOG",
];

fn parse(line: &str) -> Result<Command, String> {
    if let Some(command) = backup::parse(line) {
        return command.map(Command::Backup);
    }
    let upper = line.trim().trim_end_matches(';').to_ascii_uppercase();
    let words: Vec<&str> = upper.split_whitespace().collect();
    let unknown = || Err(format!("unknown command: {}; HELP lists the commands", line.trim()));
    let later = || Err(format!("not in this release: {}; HELP lists the commands", line.trim()));
    let target = match words.first() {
        Some(&"ALL") => Some(None),
        Some(word) if word.bytes().all(|byte| byte.is_ascii_digit()) => match word.parse() {
            Ok(id) => Some(Some(id)),
            Err(_) => return Err(format!("{word} is no node id")),
        },
        _ => None,
    };
    match (target, words.as_slice()) {
        (Some(Some(id)), [_, "STOP"]) => Ok(Command::Change(Change::Stop, id)),
        (Some(Some(id)), [_, "START"]) => Ok(Command::Change(Change::Start, id)),
        (Some(Some(id)), [_, "RESTART"]) => Ok(Command::Change(Change::Restart, id)),
        (_, ["SHOW"]) => Ok(Command::Show),
        (_, ["HELP" | "?" | "\\H", ..]) => Ok(Command::Help),
        (_, ["QUIT" | "EXIT" | "BYE" | "\\Q"]) => Ok(Command::Quit),
        (Some(id), [_, "STATUS"]) => Ok(Command::Status(id)),
        (Some(id), [_, "REPORT", "MEMORY" | "MEMORYUSAGE"]) => Ok(Command::Memory(id)),
        (Some(_), [_, word, ..]) if LATER.contains(word) => later(),
        (None, [word, ..]) if LATER.contains(word) => later(),
        _ => unknown(),
    }
}

pub fn run(options: &MgmOptions) -> ExitCode {
    let cluster = match Nodes::find(&options.directory.dir) {
        Ok(cluster) => cluster,
        Err(error) => {
            crate::fail(&error);
            return ExitCode::from(2);
        }
    };
    match &options.execute {
        Some(commands) => execute_all(commands, &cluster, options.json),
        None => interact(&cluster, options.json),
    }
}

fn execute_all(commands: &str, cluster: &Nodes, json: bool) -> ExitCode {
    let mut failed = false;
    let mut count = 0;
    for command in backup::commands(commands) {
        count += 1;
        match step(command, cluster, json) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                crate::fail(&error);
                failed = true;
                break;
            }
        }
    }
    if count == 0 {
        return crate::fail("-e has no command; HELP lists them");
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Reads commands until the end of input; a failed one is reported and forgotten.
fn interact(cluster: &Nodes, json: bool) -> ExitCode {
    let input = std::io::stdin();
    let prompted = input.is_terminal();
    if prompted {
        println!(
            "Skarv {}, cluster in {}; HELP lists the commands",
            env!("CARGO_PKG_VERSION"),
            cluster.dir.display()
        );
    }
    let mut lines = input.lock().lines();
    loop {
        if prompted {
            print!("skarv> ");
            let _ = std::io::stdout().flush();
        }
        let Some(Ok(line)) = lines.next() else {
            if prompted {
                println!();
            }
            return ExitCode::SUCCESS;
        };
        if line.trim().is_empty() {
            continue;
        }
        match step(&line, cluster, json) {
            Ok(true) => {}
            Ok(false) => return ExitCode::SUCCESS,
            Err(error) => eprintln!("{error}"),
        }
    }
}

/// One command; false when it is the last.
fn step(line: &str, cluster: &Nodes, json: bool) -> Result<bool, String> {
    let command = parse(line)?;
    if command == Command::Quit {
        return Ok(false);
    }
    println!("{}", answer(&command, cluster, json)?);
    Ok(true)
}

fn answer(command: &Command, cluster: &Nodes, json: bool) -> Result<String, String> {
    let shown = match command {
        Command::Quit => String::new(),
        Command::Help if json => json!({"help": HELP}).to_string(),
        Command::Help => HELP.to_owned(),
        Command::Show | Command::Status(None) => {
            let nodes = show::nodes(cluster);
            let line = if *command == Command::Show { show::show_line } else { show::status_line };
            let lines: Vec<String> = nodes.iter().map(line).collect();
            if json { json!({"nodes": nodes}).to_string() } else { lines.join("\n") }
        }
        Command::Status(Some(id)) => {
            let nodes = show::nodes(cluster);
            let node = nodes.iter().find(|node| node.get("node") == Some(&json!(id)));
            let node =
                node.ok_or_else(|| format!("there is no node {id}; SHOW lists the nodes"))?;
            if json { json!(node).to_string() } else { show::status_details(node) }
        }
        Command::Change(change, id) => {
            // Progress is for people: a script reads one answer.
            let say = |line: &str| {
                if !json {
                    println!("{line}")
                }
            };
            let done = change::run(*change, *id, cluster, say)?;
            if json { json!({"done": done}).to_string() } else { done }
        }
        Command::Backup(command) => {
            let say = |line: &str| {
                if !json {
                    println!("{line}")
                }
            };
            let (text, answer) = backup::run(command, cluster, say)?;
            if json { answer.to_string() } else { text }
        }
        Command::Memory(id) => {
            let answer = cluster.ask_any(&json!({"command": "memory"}))?;
            let all = answer["nodes"].as_array().cloned().unwrap_or_default();
            let wanted = |entry: &&Value| id.is_none_or(|id| entry["node"] == json!(id));
            let entries: Vec<&Value> = all.iter().filter(wanted).collect();
            if entries.is_empty() {
                return Err("there is no such node; SHOW lists the nodes".into());
            }
            let lines: Vec<String> =
                entries.iter().map(|entry| show::memory_lines(entry)).collect();
            if json { json!({"nodes": entries}).to_string() } else { lines.join("\n") }
        }
    };
    Ok(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_understood() {
        for (line, command) in [
            ("SHOW", Command::Show),
            ("  show ; ", Command::Show),
            ("all status", Command::Status(None)),
            ("2 Status", Command::Status(Some(2))),
            ("ALL REPORT MEMORY", Command::Memory(None)),
            ("3 report memoryusage", Command::Memory(Some(3))),
            ("help show", Command::Help),
            ("2 stop", Command::Change(Change::Stop, 2)),
            ("3 Start;", Command::Change(Change::Start, 3)),
            ("1 RESTART", Command::Change(Change::Restart, 1)),
            ("quit", Command::Quit),
            ("EXIT;", Command::Quit),
        ] {
            assert_eq!(parse(line), Ok(command), "{line}");
        }
        for line in ["SHOE", "ALL", "2", "all show", "", "SHOW 2", "2 REPORT", "status", "ä"] {
            let error = parse(line).expect_err(line);
            assert!(
                error.starts_with("unknown command") || error.starts_with("not in"),
                "{line}: {error}"
            );
        }
        for line in ["ALL STOP", "ALL RESTART", "shutdown", "create nodegroup 2", "2 restart -f"] {
            assert!(parse(line).expect_err(line).starts_with("not in this release"), "{line}");
        }
        assert!(parse("99999 STATUS").expect_err("too large").contains("no node id"));
    }
}
