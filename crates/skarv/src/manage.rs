//! Asking the nodes of a cluster over their management sockets.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use io::{ManagementError, management_request};
use serde_json::{Value, json};

use crate::status_file::Status;

/// A node answers after at most 2 s, also when others do not.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Where it looks at rows for that, after a minute.
const TIMEOUT_OF_SUMS: Duration = Duration::from_secs(65);
const TIMEOUT_AT_ONCE: Duration = Duration::from_millis(200);
const TIMEOUT_TO_END: Duration = Duration::from_secs(2);
/// A node that has much to do may let questions be for a while.
const SILENCE_MAX: Duration = Duration::from_secs(60);

pub fn request(socket: &Path, request: &Value) -> Result<Value, ManagementError> {
    management_request(socket, request, TIMEOUT)
}

/// The same, for whoever has others to look after: the node need only be asked again.
pub fn request_at_once(socket: &Path, request: &Value) -> Result<Value, ManagementError> {
    management_request(socket, request, TIMEOUT_AT_ONCE)
}

/// Asks a data node to close its connections and to wait for the disks; asked again, returns whether they have every commit.
pub fn has_rested(socket: &Path) -> bool {
    let answer = request_at_once(socket, &json!({"command": "rest"}));
    answer.is_ok_and(|answer| answer["rested"] == json!(true))
}

/// Whether a node serves rows. A node that starts, and a voter, does not.
pub fn serves_rows(socket: &Path) -> bool {
    let answer = request_at_once(socket, &json!({"command": "ping"}));
    answer.is_ok_and(|answer| answer["ready"] == json!(true) && answer["data"] == json!(true))
}

/// Has the node of a process end now, rested or not. False if it does not answer, or the socket is another process's.
pub fn end(pid: u32, socket: &Path) -> bool {
    management_request(socket, &json!({"command": "stop", "pid": pid}), TIMEOUT_TO_END).is_ok()
}

/// The nodes of a directory, as far as it tells.
pub struct Nodes {
    pub dir: PathBuf,
    /// Node id and management socket, in the order of ids.
    pub sockets: Vec<(u16, PathBuf)>,
}

impl Nodes {
    /// Finds them by `cluster.json`, or, for nodes that were started by hand, by their sockets.
    pub fn find(given: &Path) -> Result<Nodes, String> {
        let shown = given.display();
        let none = || {
            format!(
                "there is no cluster in {shown}: `skarv up --dir {shown}` starts one; or give its directory with --dir"
            )
        };
        let dir = given.canonicalize().map_err(|_| none())?;
        let status = Status::read(&dir)?;
        let mut sockets = match &status {
            Some(status) => {
                status.nodes.iter().map(|node| (node.id, node.management_socket.clone())).collect()
            }
            None => sockets_in(&dir),
        };
        if sockets.is_empty() {
            return Err(none());
        }
        sockets.sort();
        Ok(Nodes { dir, sockets })
    }

    /// The answer of the first node that gives one. A refusal is an answer; ready nodes are asked before others.
    pub fn ask_any(&self, query: &Value) -> Result<Value, String> {
        let mut candidates = Vec::new();
        for (id, socket) in &self.sockets {
            if let Ok(answer) = request(socket, &json!({"command": "ping"})) {
                candidates.push((answer["ready"] != json!(true), *id, socket));
            }
        }
        candidates.sort();
        let mut problem = None;
        for (_, id, socket) in candidates {
            match management_request(socket, query, TIMEOUT_OF_SUMS) {
                Ok(answer) => return Ok(answer),
                Err(ManagementError::Refused(text)) => return Err(text),
                Err(error) => problem = Some(format!("node {id}: {error}")),
            }
        }
        Err(problem.unwrap_or_else(|| self.nothing_runs()))
    }

    /// The same of a node that has rows and serves, and which one that is.
    pub fn ask_data_node(&self, query: &Value) -> Result<(u16, Value), String> {
        for (id, socket) in &self.sockets {
            let Ok(answer) = request(socket, &json!({"command": "ping"})) else { continue };
            if answer["ready"] == json!(true) && answer["data"] == json!(true) {
                let answer = request(socket, query).map_err(|error| match error {
                    ManagementError::Refused(text) => text,
                    error => format!("node {id}: {error}"),
                });
                return answer.map(|answer| (*id, answer));
            }
        }
        Err(format!("no data node of the cluster in {} serves", self.dir.display()))
    }

    pub fn nothing_runs(&self) -> String {
        let dir = self.dir.display();
        format!("no node of the cluster in {dir} is running: `skarv up --dir {dir}` starts it")
    }

    /// May the node's process run, as far as its socket tells, if that is at hand?
    pub fn may_run(&self, id: u16) -> bool {
        let own = self.sockets.iter().find(|(other, _)| *other == id);
        let answer = own.map(|(_, socket)| request(socket, &json!({"command": "ping"})));
        !matches!(answer, None | Some(Err(ManagementError::NotRunning)))
    }

    /// What one node says of itself; None when it does not run.
    pub fn ask(&self, id: u16, query: &Value) -> Option<Value> {
        let (_, socket) = self.sockets.iter().find(|(other, _)| *other == id)?;
        request(socket, query).ok()
    }
}

/// A node that is asked for progress repeatedly.
pub struct Asked<'a> {
    cluster: &'a Nodes,
    pub node: u16,
    answered: Instant,
}

impl Asked<'_> {
    pub fn new(cluster: &Nodes, node: u16) -> Asked<'_> {
        Asked { cluster, node, answered: Instant::now() }
    }

    /// Ok(None): there is no answer this time. Err: it has ended, or been silent for too long.
    pub fn ask(&mut self, query: &Value) -> Result<Option<Value>, String> {
        let answer = self.cluster.ask(self.node, query);
        if answer.is_some() {
            self.answered = Instant::now();
        } else if !self.cluster.may_run(self.node) || SILENCE_MAX <= self.answered.elapsed() {
            return Err(format!("node {} does not answer any more", self.node));
        }
        Ok(answer)
    }
}

/// node2.mgm.sock is node 2's.
fn sockets_in(dir: &Path) -> Vec<(u16, PathBuf)> {
    let Ok(files) = std::fs::read_dir(dir) else { return Vec::new() };
    let sockets = files.flatten().filter_map(|file| {
        let name = file.file_name().into_string().ok()?;
        let id = name.strip_prefix("node")?.strip_suffix(".mgm.sock")?.parse().ok()?;
        Some((id, file.path()))
    });
    sockets.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_found() {
        let dir = tempfile::tempdir().expect("a directory");
        assert!(Nodes::find(dir.path()).err().expect("nobody there").contains("skarv up"));
        assert!(Nodes::find(&dir.path().join("none")).is_err());
        for name in ["node3.mgm.sock", "node2.mgm.sock", "node2.sock", "nodex.mgm.sock"] {
            std::fs::write(dir.path().join(name), "").expect("written");
        }
        let nodes = Nodes::find(dir.path()).expect("found");
        let ids: Vec<u16> = nodes.sockets.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [2, 3]);
        assert!(Asked::new(&nodes, 2).ask(&json!({"command": "ping"})).is_err(), "it has ended");
        let error = nodes.ask_any(&json!({"command": "status"})).expect_err("nobody listens");
        assert!(error.contains("no node of the cluster"), "{error}");
    }
}
