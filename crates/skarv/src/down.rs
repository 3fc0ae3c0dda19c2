//! `skarv down`: the clean end of a cluster in a box.
//!
//! The supervisor ends its nodes itself when it is asked to; that is the usual way. If it is gone, the nodes are asked
//! one by one. Whoever is signalled is first shown to be what `cluster.json` says.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use crate::cli::DownOptions;
use crate::config::Role;
use crate::manage;
use crate::process::{self, Signal, Watched};
use crate::status_file::{NOT_RESTED, State, Status};

/// More than a supervisor gives its nodes.
const SUPERVISOR_TIMEOUT: Duration = Duration::from_secs(45);
/// What the disks have to take what was committed last.
const REST_TIMEOUT: Duration = Duration::from_secs(10);
const NODE_TIMEOUT: Duration = Duration::from_secs(15);
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

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
    let mut status = Status::read(&dir)?.ok_or_else(none)?;
    // Watched before it is looked at: so it is that one whose end is waited for.
    let watched = status.supervisor_pid.and_then(|pid| Some((pid, Watched::open(pid)?)));
    let supervisor = watched.filter(|(pid, _)| process::is_supervisor(*pid, &dir));
    if let Some((pid, supervisor)) = supervisor {
        let running = running(&status, &dir).len();
        process::signal(pid, Signal::TERM)?;
        if !supervisor.ends_within(SUPERVISOR_TIMEOUT)? {
            return Err(format!(
                "the supervisor (process {pid}) was asked to stop and still runs; see {}",
                dir.join("supervisor.log").display()
            ));
        }
        if Status::read(&dir)?.is_some_and(|status| status.has_not_rested) {
            return Err(format!("the cluster in {shown} is {NOT_RESTED}"));
        }
        return Ok(format!("stopped the cluster in {shown}: {running} nodes and their supervisor"));
    }
    let nodes = running(&status, &dir);
    if nodes.is_empty() {
        return Ok(format!("the cluster in {shown} is not running: nothing to stop"));
    }
    let has_rested = rest(&status, &nodes, &dir);
    stop_nodes(&nodes, has_rested, &dir)?;
    status.state = State::Stopped;
    status.supervisor_pid = None;
    for node in &mut status.nodes {
        node.pid = None;
    }
    status.has_not_rested = !has_rested;
    status.write()?;
    if !has_rested {
        return Err(format!("the cluster in {shown} is {NOT_RESTED}"));
    }
    Ok(format!(
        "stopped {} nodes of the cluster in {shown}; their supervisor was gone",
        nodes.len()
    ))
}

/// The nodes that run: id and process.
fn running(status: &Status, dir: &Path) -> Vec<(u16, u32)> {
    let nodes = status.nodes.iter().filter_map(|node| Some((node.id, node.pid?)));
    nodes.filter(|(id, pid)| process::is_node(*pid, dir, *id)).collect()
}

/// As a supervisor does: the nodes close their connections, and the disks take what was committed. True if they have.
fn rest(status: &Status, nodes: &[(u16, u32)], dir: &Path) -> bool {
    let running = status.nodes.iter().filter_map(|node| {
        let (_, pid) = nodes.iter().find(|(id, _)| *id == node.id)?;
        Some((node, *pid))
    });
    let (data, others): (Vec<_>, Vec<_>) =
        running.partition(|(node, _)| node.roles.contains(&Role::Data));
    for (node, _) in others {
        // A voter has nothing to wait for, and does not when it is signalled.
        manage::has_rested(&node.management_socket);
    }
    let mut left: Vec<(u16, u32, &Path)> =
        data.iter().map(|(node, pid)| (node.id, *pid, node.management_socket.as_path())).collect();
    process::wait_while(REST_TIMEOUT, || {
        left.retain(|(id, pid, socket)| {
            !manage::has_rested(socket) && process::is_node(*pid, dir, *id)
        });
        !left.is_empty()
    })
}

fn stop_nodes(nodes: &[(u16, u32)], have_rested: bool, dir: &Path) -> Result<(), String> {
    let dir: PathBuf = dir.to_owned();
    let left = || nodes.iter().filter(|(id, pid)| process::is_node(*pid, &dir, *id));
    let pids: Vec<u32> = nodes.iter().map(|(_, pid)| *pid).collect();
    process::end_nodes(&pids, have_rested)?;
    if process::wait_while(NODE_TIMEOUT, || left().next().is_some()) {
        return Ok(());
    }
    for (id, pid) in left() {
        eprintln!("skarv: warning: node {id} (process {pid}) does not end: killed");
        process::signal(*pid, Signal::KILL)?;
    }
    if process::wait_while(KILL_TIMEOUT, || left().next().is_some()) {
        return Ok(());
    }
    Err("a process was killed and still runs: the system holds it".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing to stop is said, wrong directories are refused, and no stranger is signalled.
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
