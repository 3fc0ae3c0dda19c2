//! `skarv down`: the clean end of a cluster in a box.
//!
//! ```text
//!   supervisor runs ── SIGTERM, wait ──┐
//!                                      v
//!   nodes that are left ── rest, end ──┴── none is left: report
//! ```
//! The supervisor ends all nodes of its directory itself, those that were started by hand among
//! them. If it is gone, or a node was started meanwhile, this command ends the nodes. It finds the
//! processes by their arguments, not by `cluster.json`: that may lack one, and may name a process
//! that has taken the number of a node.
//!
//! One `skarv down` works in a directory at a time, because a second signal would have the
//! supervisor kill its nodes. A frozen process is continued, so that it can end cleanly.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use crate::cli::DownOptions;
use crate::manage;
use crate::process::{self, Member, Signal, Watched};
use crate::status_file::{NOT_RESTED, State, Status};

/// More than a supervisor gives its nodes.
const SUPERVISOR_TIMEOUT: Duration = Duration::from_secs(45);
/// The time that the disks have for the last commits.
const REST_TIMEOUT: Duration = Duration::from_secs(10);
const NODE_TIMEOUT: Duration = Duration::from_secs(15);
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest that another `skarv down` takes.
const TURN_TIMEOUT: Duration = Duration::from_secs(90);
/// Searches for processes that are left. If even the last one finds some, something starts nodes
/// all the time.
const ROUNDS_MAX: usize = 5;

pub fn run(options: &DownOptions) -> ExitCode {
    match down(&options.directory.dir) {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => crate::fail(&error),
    }
}

fn down(given: &Path) -> Result<String, String> {
    let shown = given.display();
    let none = || {
        format!("there is no cluster in {shown} (no cluster.json): give its directory with --dir")
    };
    let dir = given.canonicalize().map_err(|_| none())?;
    if Status::read(&dir)?.is_none() && process::members_of(&dir).is_empty() {
        return Err(none());
    }
    let (_turn, has_waited) = take_turn(&dir)?;
    let mut stopped = Stopped::default();
    for _ in 0..ROUNDS_MAX {
        let is_stopped = stop_supervisor(&dir, &mut stopped)?;
        let members = process::members_of(&dir);
        if !is_stopped && members.is_empty() {
            return stopped.report(&shown.to_string(), has_waited);
        }
        stop_members(&dir, &members, &mut stopped)?;
    }
    let left: Vec<String> = process::members_of(&dir).iter().map(name_of).collect();
    Err(format!("something starts nodes of the cluster in {shown} again: {} runs", left.join(", ")))
}

/// Waits until no other `skarv down` works in this directory. True if one did.
fn take_turn(dir: &Path) -> Result<(File, bool), String> {
    let wrong = |error: std::io::Error| format!("cannot lock {}: {error}", dir.display());
    // A directory can be locked like a file, and the lock leaves nothing behind.
    let file = File::open(dir).map_err(wrong)?;
    let (mut failure, mut has_waited) = (None, false);
    let is_taken = process::wait_while(TURN_TIMEOUT, || match file.try_lock() {
        Ok(()) => false,
        Err(TryLockError::WouldBlock) => {
            has_waited = true;
            true
        }
        Err(TryLockError::Error(error)) => {
            failure = Some(error);
            false
        }
    });
    if let Some(error) = failure {
        return Err(wrong(error));
    }
    match is_taken {
        true => Ok((file, has_waited)),
        false => {
            Err(format!("another `skarv down` is at work in {}, and does not end", dir.display()))
        }
    }
}

/// The processes that were stopped, for the report.
#[derive(Default)]
struct Stopped {
    nodes: Vec<String>,
    supervisor: Option<u32>,
    has_not_rested: bool,
}

impl Stopped {
    fn report(&self, shown: &str, has_waited: bool) -> Result<String, String> {
        if self.has_not_rested {
            return Err(format!("the cluster in {shown} is {NOT_RESTED}"));
        }
        let nodes = self.nodes.join(", ");
        Ok(match self.supervisor {
            Some(pid) if self.nodes.is_empty() => {
                format!(
                    "stopped the cluster in {shown}: its supervisor (process {pid}) had no nodes"
                )
            }
            Some(pid) => {
                format!(
                    "stopped the cluster in {shown}: {nodes}, and their supervisor (process {pid})"
                )
            }
            None if !self.nodes.is_empty() => {
                format!("stopped the cluster in {shown}: {nodes}; no supervisor was there")
            }
            None if has_waited => {
                format!("the cluster in {shown} is stopped: another `skarv down` has done that")
            }
            None => format!("the cluster in {shown} is not running: nothing to stop"),
        })
    }
}

fn name_of(member: &Member) -> String {
    format!("node {} (process {})", member.node, member.pid)
}

/// Has the supervisor stop its nodes and itself. False if none runs.
fn stop_supervisor(dir: &Path, stopped: &mut Stopped) -> Result<bool, String> {
    let status = Status::read(dir)?;
    let noted = status.as_ref().and_then(|status| status.supervisor_pid);
    let Some((pid, supervisor)) = process::supervisor_of(dir, noted) else { return Ok(false) };
    let members = process::members_of(dir);
    continue_frozen(pid, "the supervisor", &supervisor)?;
    for member in &members {
        continue_frozen(member.pid, &format!("node {}", member.node), &member.process)?;
    }
    // A supervisor that is stopping already would take a second signal for haste.
    let is_its_own = |status: &Status| status.supervisor_pid == Some(pid);
    if !status.filter(is_its_own).is_some_and(|status| status.state == State::Stopping) {
        supervisor.signal(Signal::TERM)?;
    }
    if !supervisor.ends_within(SUPERVISOR_TIMEOUT)? {
        return Err(format!(
            "the supervisor (process {pid}) was asked to stop and still runs; see {}",
            dir.join("supervisor.log").display()
        ));
    }
    stopped.supervisor = Some(pid);
    stopped.has_not_rested |= Status::read(dir)?.is_some_and(|status| status.has_not_rested);
    for member in members.iter().filter(|member| member.process.has_ended()) {
        let how = if member.parent == pid { "" } else { ", started by hand" };
        stopped.nodes.push(format!("node {} (process {}{how})", member.node, member.pid));
    }
    Ok(true)
}

/// Continues a frozen process (SIGSTOP), which could not end otherwise.
fn continue_frozen(pid: u32, what: &str, process: &Watched) -> Result<(), String> {
    if process::is_frozen(pid) {
        eprintln!("skarv: warning: {what} (process {pid}) was frozen: it is continued and stopped");
        process.signal(Signal::CONT)?;
    }
    Ok(())
}

/// As a supervisor does: the nodes close their connections, the disks take every commit, the nodes
/// end.
fn stop_members(dir: &Path, members: &[Member], stopped: &mut Stopped) -> Result<(), String> {
    if members.is_empty() {
        return Ok(());
    }
    for member in members {
        continue_frozen(member.pid, &format!("node {}", member.node), &member.process)?;
    }
    let has_rested = rest(dir, members);
    end(dir, members)?;
    stopped.nodes.extend(members.iter().map(name_of));
    stopped.has_not_rested |= !has_rested;
    let Some(mut status) = Status::read(dir)? else { return Ok(()) };
    status.state = State::Stopped;
    status.supervisor_pid = None;
    for node in &mut status.nodes {
        node.pid = None;
    }
    status.has_not_rested |= !has_rested;
    status.write()
}

/// True if the disks have every commit. A voter, and a node that does not serve yet, has none.
fn rest(dir: &Path, members: &[Member]) -> bool {
    let with_rows = members.iter().map(|member| (member, socket_of(dir, member)));
    let mut left: Vec<(&Member, PathBuf)> =
        with_rows.filter(|(_, socket)| manage::serves_rows(socket)).collect();
    process::wait_while(REST_TIMEOUT, || {
        left.retain(|(member, socket)| !member.process.has_ended() && !manage::has_rested(socket));
        !left.is_empty()
    })
}

fn end(dir: &Path, members: &[Member]) -> Result<(), String> {
    process::end_nodes(members.iter().map(|member| (member, socket_of(dir, member))))?;
    let left = || members.iter().filter(|member| !member.process.has_ended());
    if process::wait_while(NODE_TIMEOUT, || left().next().is_some()) {
        return Ok(());
    }
    for member in left() {
        eprintln!("skarv: warning: {} does not end: killed", name_of(member));
        member.process.signal(Signal::KILL)?;
    }
    if process::wait_while(KILL_TIMEOUT, || left().next().is_some()) {
        return Ok(());
    }
    Err("a process was killed and still runs: the system holds it".into())
}

fn socket_of(dir: &Path, member: &Member) -> PathBuf {
    io::NodeOptions::default_management_unix(dir, types::NodeId(member.node))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An idle directory is reported, a wrong one is refused, and no other process is signalled.
    #[test]
    fn what_does_not_run_is_not_stopped() {
        let dir = tempfile::tempdir().expect("a directory");
        assert!(down(&dir.path().join("none")).expect_err("not there").contains("--dir"));
        assert!(down(dir.path()).expect_err("no cluster").contains("--dir"));
        let config = crate::plan::config_of(&crate::plan::Shape {
            cluster_id: 7,
            port: 4400,
            data_nodes: 1,
            replicas: 1,
            workers: 1,
            memory: crate::size::Size(256 << 20),
            link_ports: vec![4001, 4002],
        });
        let mut status = Status::new(&config, &dir.path().canonicalize().expect("there"));
        status.supervisor_pid = Some(std::process::id());
        status.nodes[0].pid = Some(std::process::id());
        status.write().expect("written");
        assert!(down(dir.path()).expect("nothing runs").contains("nothing to stop"));
        assert!(down(dir.path()).expect("nothing runs").contains("nothing to stop"));
    }
}
