//! `cluster.json`: what runs, for tools and scripts.
//!
//! Written by the supervisor whenever something changes, always whole (a new file takes the old one's name), so that a
//! reader never meets half of it. `pid` is the process that runs now, also after a restart, and null when none does.
//! The other tools find nodes by it, and before they signal one they check that the process is what the file says.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config::{Config, Role};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub cluster_id: String,
    pub version: String,
    /// Absolute.
    pub dir: PathBuf,
    pub state: State,
    /// The process that `skarv up` is, or left behind; null when the cluster is stopped.
    pub supervisor_pid: Option<u32>,
    pub replicas: u16,
    /// It was stopped, and [`NOT_RESTED`].
    #[serde(default)]
    pub has_not_rested: bool,
    pub nodes: Vec<NodeStatus>,
}

/// What may be lost of a cluster that was stopped like this, `skarv.restart_info` says when it has started again.
pub const NOT_RESTED: &str = "stopped before all disks held what was committed last";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Starting,
    /// SQL answered on every node; `skarv mgm -e SHOW` has the present state.
    Ready,
    Stopping,
    Stopped,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeStatus {
    pub id: u16,
    pub roles: Vec<Role>,
    /// Node group; null for a node without data.
    pub group: Option<u16>,
    pub pid: Option<u32>,
    /// MySQL over TCP, on the loopback interface; null for a node without SQL.
    pub port: Option<u16>,
    /// MySQL over a unix socket.
    pub socket: Option<PathBuf>,
    pub management_socket: PathBuf,
    /// For other nodes.
    pub address: String,
    pub state_dir: PathBuf,
    pub log: PathBuf,
    /// How often the supervisor started it again.
    pub restarts: u32,
    /// An operator has stopped it, and it is not started again before an operator starts it.
    pub stopped: bool,
}

impl Status {
    pub fn path_in(dir: &Path) -> PathBuf {
        dir.join("cluster.json")
    }

    /// A cluster of which nothing runs yet. `dir` is absolute.
    pub fn new(config: &Config, dir: &Path) -> Status {
        let node = |node: &crate::config::Node| {
            let id = types::NodeId(node.id);
            let port = node.mysql_address().ok().flatten().map(|address| address.port());
            NodeStatus {
                id: node.id,
                roles: node.roles.iter().copied().collect(),
                group: config.group_of(node.id),
                pid: None,
                port: port.filter(|port| *port != 0),
                socket: node.socket_path(dir),
                management_socket: io::NodeOptions::default_management_unix(dir, id),
                address: node.address.clone(),
                state_dir: dir.to_owned(),
                log: io::NodeOptions::log_path(dir, id),
                restarts: 0,
                stopped: false,
            }
        };
        Status {
            cluster_id: config.cluster_id.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            dir: dir.to_owned(),
            state: State::Starting,
            supervisor_pid: None,
            replicas: config.replicas,
            has_not_rested: false,
            nodes: config.nodes.iter().map(node).collect(),
        }
    }

    /// None when there is no such file.
    pub fn read(dir: &Path) -> Result<Option<Status>, String> {
        let path = Status::path_in(dir);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        };
        let status = serde_json::from_str(&text);
        status.map(Some).map_err(|error| format!("{} is damaged: {error}", path.display()))
    }

    pub fn write(&self) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).expect("plain data");
        write_whole(&Status::path_in(&self.dir), &(text + "\n"))
    }
}

/// Replaces a file's content so that a reader finds the old or the new, never a part.
pub fn write_whole(path: &Path, text: &str) -> Result<(), String> {
    let mut name = path.file_name().expect("a file's path").to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let temporary = path.with_file_name(name);
    let result = fs::File::create(&temporary)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&temporary, path))
        .and_then(|()| fs::File::open(path.parent().expect("it is in a directory"))?.sync_all());
    result.map_err(|error| {
        // A half-written temporary file is of no use to anybody; that it may remain is harmless.
        let _ = fs::remove_file(&temporary);
        format!("cannot write {}: {error}", path.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().expect("a directory");
        assert_eq!(Status::read(dir.path()), Ok(None));
        let config = crate::plan::config_of(&crate::plan::Shape {
            cluster_id: 7,
            port: 3306,
            data_nodes: 2,
            replicas: 2,
            workers: 1,
            memory: crate::size::Size(256 << 20),
            link_ports: vec![4001, 4002, 4003],
        });
        let status = Status::new(&config, dir.path());
        status.write().expect("written");
        assert_eq!(Status::read(dir.path()), Ok(Some(status.clone())));
        assert_eq!(status.nodes[0].port, None);
        assert_eq!(status.nodes[2].port, Some(3307));
        assert_eq!(status.nodes[2].socket, Some(dir.path().join("node3.sock")));
        let names: Vec<_> = fs::read_dir(dir.path()).expect("listed").collect();
        assert_eq!(names.len(), 1, "no temporary file is left");
        fs::write(Status::path_in(dir.path()), "{").expect("written");
        assert!(Status::read(dir.path()).expect_err("damaged").contains("damaged"));
    }
}
