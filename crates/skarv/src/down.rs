//! `skarv down`: the clean end of a cluster in a box.
//!
//! The supervisor ends its nodes itself upon a signal; that is the usual way. If it is gone, this
//! command signals the nodes one by one. Before a signal, a process is checked against
//! `cluster.json`.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::cli::DownOptions;
use crate::config::Role;
use crate::manage;
use crate::process::{self, Signal, Watched};
use crate::status_file::{NOT_RESTED, NodeStatus, State, Status};

/// More than a supervisor gives its nodes.
const SUPERVISOR_TIMEOUT: Duration = Duration::from_secs(45);
/// The time that the disks have for the last commits.
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
    let count = nodes.len();
    let has_rested = rest(&nodes, &dir);
    stop_nodes(&nodes, &dir)?;
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
    Ok(format!("stopped {count} nodes of the cluster in {shown}; their supervisor was gone"))
}

/// The nodes that run, each with its process.
fn running<'a>(status: &'a Status, dir: &Path) -> Vec<(&'a NodeStatus, u32)> {
    let nodes = status.nodes.iter().filter_map(|node| Some((node, node.pid?)));
    nodes.filter(|(node, pid)| process::is_node(*pid, dir, node.id)).collect()
}

/// As a supervisor does: the nodes close their connections, and the disks take every commit. True if they have.
fn rest(nodes: &[(&NodeStatus, u32)], dir: &Path) -> bool {
    let mut left = nodes.to_vec();
    left.retain(|(node, _)| node.roles.contains(&Role::Data));
    process::wait_while(REST_TIMEOUT, || {
        left.retain(|(node, pid)| {
            !manage::has_rested(&node.management_socket) && process::is_node(*pid, dir, node.id)
        });
        !left.is_empty()
    })
}

/// Stops nodes, and waits until their processes have ended. A process that ends loses its arguments, by which [`process::is_node`]
/// recognises it, before its files and their locks, which the next `skarv up` needs: so the wait is for the process itself.
fn stop_nodes(nodes: &[(&NodeStatus, u32)], dir: &Path) -> Result<(), String> {
    let watch = |(node, pid): &(&NodeStatus, u32)| Some((node.id, *pid, Watched::open(*pid)?));
    let watched: Vec<(u16, u32, Watched)> = nodes.iter().filter_map(watch).collect();
    let is_node = |(id, pid, _): &&(u16, u32, Watched)| process::is_node(*pid, dir, *id);
    let mut left: Vec<&(u16, u32, Watched)> = watched.iter().filter(is_node).collect();
    let with_sockets: Vec<(u32, &Path)> =
        nodes.iter().map(|(node, pid)| (*pid, node.management_socket.as_path())).collect();
    process::end_nodes(&with_sockets)?;
    wait_for_ends(&mut left, NODE_TIMEOUT)?;
    for (id, pid, _) in &left {
        eprintln!("skarv: warning: node {id} (process {pid}) does not end: killed");
        process::signal(*pid, Signal::KILL)?;
    }
    wait_for_ends(&mut left, KILL_TIMEOUT)?;
    match left.is_empty() {
        true => Ok(()),
        false => Err("a process was killed and still runs: the system holds it".into()),
    }
}

/// Removes the processes that have ended, for which it waits up to `timeout`.
fn wait_for_ends(left: &mut Vec<&(u16, u32, Watched)>, timeout: Duration) -> Result<(), String> {
    let deadline = Instant::now() + timeout;
    let mut index = 0;
    while let Some((_, _, watched)) = left.get(index) {
        match watched.ends_within(deadline.saturating_duration_since(Instant::now()))? {
            true => _ = left.remove(index),
            false => index += 1,
        }
    }
    Ok(())
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
