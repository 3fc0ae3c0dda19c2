//! `config.json`: the nodes of a cluster and where they are reached.
//!
//! `skarv up` writes one into its directory; for a cluster over several machines people write it.
//! Both have the same format and the same checks, before anything is started: an error names the
//! node that it is about.

use protocol::control::Durability;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use protocol::control::{ClusterConfig, HEARTBEAT_MS_DEFAULT, NodeConfig};
use serde::{Deserialize, Serialize};
use types::{ClusterId, NodeId};

use crate::size::Size;

/// The least memory a data node can do anything with, in bytes.
pub const MEMORY_MIN: Size = Size(16 << 20);

/// A unix socket's path has to fit into the system's address structure: 107 bytes and a zero.
const SOCKET_PATH_SIZE_MAX: usize = 107;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// 16 hexadecimal digits.
    pub cluster_id: String,
    pub replicas: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards_per_group: Option<u16>,
    /// How often nodes tell each other that they live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat_ms: Option<u32>,
    /// When a commit is acknowledged: `memory`, `durable_when_alone` or `always`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durability: Option<String>,
    /// Where each data node copies its log to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<PathBuf>,
    /// The directory whose files LOAD DATA INFILE may read on each data node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secure_file_priv: Option<PathBuf>,
    /// For the rows of each data node; without it, what its machine allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    pub nodes: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    pub id: u16,
    pub roles: BTreeSet<Role>,
    #[serde(default = "one")]
    pub workers: u16,
    /// Where other nodes reach it.
    pub address: String,
    /// Where clients reach it over TCP. Port 0: the system chooses one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mysql: Option<String>,
    /// Where clients of the same machine reach it; relative to the node's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
}

fn one() -> u16 {
    1
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Data,
    Sql,
    Voter,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Role::Data => "data",
            Role::Sql => "sql",
            Role::Voter => "voter",
        }
    }
}

impl Node {
    pub fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }
    /// "data,sql,voter"
    pub fn roles_text(&self) -> String {
        let names: Vec<&str> = self.roles.iter().map(|role| role.name()).collect();
        names.join(",")
    }
    pub fn mysql_address(&self) -> Result<Option<SocketAddr>, String> {
        self.mysql.as_ref().map(|text| resolve(text, self.id, "mysql")).transpose()
    }
    pub fn link_address(&self) -> Result<SocketAddr, String> {
        resolve(&self.address, self.id, "address")
    }
    pub fn socket_path(&self, dir: &Path) -> Option<PathBuf> {
        self.socket.as_ref().map(|path| dir.join(path))
    }
}

fn resolve(text: &str, node: u16, field: &str) -> Result<SocketAddr, String> {
    let wrong = |why: &str| {
        format!("node {node}: \"{field}\": \"{text}\" {why}; write IP:port, such as 10.0.0.1:4601")
    };
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let mut found =
        text.to_socket_addrs().map_err(|error| wrong(&format!("names no address ({error})")))?;
    found.next().ok_or_else(|| wrong("names no address"))
}

impl Config {
    pub fn path_in(dir: &Path) -> PathBuf {
        dir.join("config.json")
    }

    /// The configuration given, or else that of the directory; and where it is.
    pub fn of(given: Option<&Path>, dir: &Path) -> Result<(PathBuf, Config), String> {
        let path = given.map_or_else(|| Config::path_in(dir), Path::to_path_buf);
        if given.is_none() && !path.exists() {
            return Err(format!(
                "there is no {}: `skarv up --dir {}` makes one, or give --config FILE (see `skarv server --help`)",
                path.display(),
                dir.display()
            ));
        }
        let config = Config::read(&path)?;
        Ok((path, config))
    }

    /// Reads and checks a file.
    pub fn read(path: &Path) -> Result<Config, String> {
        let shown = path.display();
        let text =
            fs::read_to_string(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
        let config = Config::parse(&text).map_err(|error| format!("{shown}: {error}"))?;
        Ok(config)
    }

    /// Parses and checks.
    pub fn parse(text: &str) -> Result<Config, String> {
        let config: Config = serde_json::from_str(text).map_err(|error| error.to_string())?;
        config.check()?;
        Ok(config)
    }

    /// Writes it whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).expect("a configuration is plain data");
        crate::status_file::write_whole(path, &(text + "\n"))
    }

    pub fn node(&self, id: u16) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// For the rows of each data node; without it each takes what its machine allows ([`crate::memory`]).
    fn durability_level(&self) -> Result<Durability, String> {
        let Some(name) = &self.durability else { return Ok(Durability::default()) };
        let names = Durability::ALL.map(Durability::name).join(", ");
        Durability::of_name(name)
            .ok_or_else(|| format!("durability \"{name}\": it is one of {names}"))
    }

    pub fn memory_given(&self) -> Option<Size> {
        self.memory.as_ref().map(|text| text.parse::<Size>().expect("checked"))
    }

    pub fn data_nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.has(Role::Data))
    }

    /// The node group of a data node: the data nodes in the order of their ids, `replicas` to a group.
    pub fn group_of(&self, id: u16) -> Option<u16> {
        let mut ids: Vec<u16> = self.data_nodes().map(|node| node.id).collect();
        ids.sort_unstable();
        let index = ids.iter().position(|other| *other == id)?;
        u16::try_from(index / usize::from(self.replicas)).ok()
    }

    /// The configuration as the nodes compare it.
    pub fn cluster(&self) -> Result<ClusterConfig, String> {
        let id = u64::from_str_radix(&self.cluster_id, 16);
        let id = id.ok().filter(|_| self.cluster_id.len() == 16);
        let id =
            id.ok_or("\"cluster_id\" must be 16 hexadecimal digits, such as \"6b1f0c7d9a2e4458\"")?;
        let mut nodes: Vec<NodeConfig> = self.nodes.iter().map(Node::cluster).collect();
        nodes.sort_by_key(|node| node.id);
        let workers_max = self.data_nodes().map(|node| node.workers).max().unwrap_or(1);
        let shards = self.shards_per_group.or_else(|| self.replicas.checked_mul(workers_max));
        let config = ClusterConfig {
            cluster: ClusterId(id),
            nodes,
            replicas: self.replicas,
            shards_per_group: shards.ok_or("too many shards")?,
            heartbeat_ms: self.heartbeat_ms.unwrap_or(HEARTBEAT_MS_DEFAULT),
            durability: self.durability_level()?,
        };
        config.check()?;
        Ok(config)
    }

    /// Errors name the fault and the node.
    pub fn check(&self) -> Result<(), String> {
        self.cluster()?;
        if let Some(text) = &self.memory {
            let size: Size = text.parse().map_err(|error| format!("\"memory\": {error}"))?;
            check_memory(size)?;
        }
        let mut addresses = BTreeMap::new();
        for (field, path) in
            [("archive", &self.archive), ("secure_file_priv", &self.secure_file_priv)]
        {
            if let Some(path) = path.as_ref().filter(|path| !path.is_absolute()) {
                return Err(format!("\"{field}\": {} must be an absolute path", path.display()));
            }
        }
        for node in &self.nodes {
            let id = node.id;
            if node.roles.is_empty() {
                return Err(format!("node {id}: \"roles\" is empty; give it voter, data or sql"));
            }
            if node.has(Role::Sql) && !node.has(Role::Data) {
                return Err(format!(
                    "node {id}: role sql without role data is not in this release"
                ));
            }
            if !node.has(Role::Sql) && (node.mysql.is_some() || node.socket.is_some()) {
                return Err(format!("node {id}: \"mysql\" and \"socket\" need the role sql"));
            }
            if node.has(Role::Sql) && node.mysql.is_none() && node.socket.is_none() {
                return Err(format!("node {id}: role sql needs \"mysql\", \"socket\" or both"));
            }
            let link = node.link_address()?;
            if link.port() == 0 {
                return Err(format!(
                    "node {id}: \"address\" needs a port that others can know, not 0"
                ));
            }
            let mysql = node.mysql_address()?.filter(|address| address.port() != 0);
            for address in [Some(link), mysql].into_iter().flatten() {
                if address.ip().is_unspecified() {
                    // 0.0.0.0 is another place on every machine.
                    continue;
                }
                if let Some(other) = addresses.insert(address, id) {
                    return Err(format!("nodes {other} and {id} both want {address}"));
                }
            }
        }
        Ok(())
    }
}

impl Node {
    fn cluster(&self) -> NodeConfig {
        NodeConfig {
            id: NodeId(self.id),
            voter: self.has(Role::Voter),
            data: self.has(Role::Data),
            workers: self.workers,
        }
    }
}

pub fn check_memory(size: Size) -> Result<(), String> {
    if size < MEMORY_MIN {
        return Err(format!(
            "{size} of memory is too little: a data node needs at least {MEMORY_MIN}"
        ));
    }
    Ok(())
}

/// Refuses a directory whose sockets could not be named.
pub fn check_socket_path(path: &Path) -> Result<(), String> {
    let length = path.as_os_str().len();
    if length > SOCKET_PATH_SIZE_MAX {
        return Err(format!(
            "the socket path {} is {length} bytes long and the system allows {SOCKET_PATH_SIZE_MAX}; use a \
             directory with a shorter path (--dir)",
            path.display()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{
      "cluster_id": "6b1f0c7d9a2e4458", "replicas": 2, "memory": "1G",
      "nodes": [
        {"id": 1, "roles": ["voter"], "address": "10.0.0.1:4601"},
        {"id": 2, "roles": ["voter", "data", "sql"], "workers": 8,
         "address": "10.0.0.2:4601", "mysql": "0.0.0.0:3306", "socket": "node2.sock"},
        {"id": 3, "roles": ["voter", "data", "sql"], "workers": 8,
         "address": "10.0.0.3:4601", "mysql": "0.0.0.0:3306"}
      ]}"#;

    #[test]
    fn the_example_is_good() {
        let config = Config::parse(GOOD).expect("good");
        let cluster = config.cluster().expect("good");
        assert_eq!(cluster.cluster, ClusterId(0x6b1f_0c7d_9a2e_4458));
        assert_eq!(cluster.shards_per_group, 16);
        assert_eq!(cluster.voters().len(), 3);
        assert_eq!(config.memory_given(), Some(Size(1 << 30)));
        assert_eq!(
            (config.group_of(1), config.group_of(2), config.group_of(3)),
            (None, Some(0), Some(0))
        );
        let again = serde_json::to_string(&config).expect("plain data");
        assert_eq!(Config::parse(&again), Ok(config));
    }

    /// The example that `skarv server --help` shows is one that works.
    #[test]
    fn the_example_of_the_help_is_good() {
        use clap::CommandFactory;
        let mut command = crate::cli::Cli::command();
        let server = command.find_subcommand_mut("server").expect("it exists");
        let help = server.render_long_help().to_string();
        let start = help.find('{').expect("an example");
        let end = help.rfind('}').expect("an example");
        Config::parse(&help[start..=end]).expect("the example of the help");
    }

    /// Each change makes the example wrong, and the message names what.
    #[test]
    fn what_is_wrong_is_named() {
        for (from, to, message) in [
            ("\"6b1f0c7d9a2e4458\"", "\"6b1f\"", "cluster_id"),
            ("\"replicas\": 2", "\"replicas\": 3", "node groups of 3"),
            ("\"replicas\": 2", "\"replicas\": 9", "1 to 4"),
            ("\"replicas\": 2", "\"replicass\": 2", "replicass"),
            ("\"1G\"", "\"1X\"", "memory"),
            ("\"1G\"", "\"1M\"", "at least 16M"),
            ("\"id\": 3", "\"id\": 2", "must be different"),
            ("\"id\": 1", "\"id\": 0", "start at 1"),
            ("[\"voter\"]", "[]", "voters: a cluster has 1, 3 or 5"),
            ("[\"voter\"]", "[\"voter\", \"sql\"]", "without role data"),
            ("[\"voter\"]", "[\"king\"]", "king"),
            ("10.0.0.1:4601", "10.0.0.1", "write IP:port"),
            ("10.0.0.1:4601", "10.0.0.1:0", "not 0"),
            ("10.0.0.1:4601", "10.0.0.2:4601", "nodes 1 and 2 both want 10.0.0.2:4601"),
            (", \"mysql\": \"0.0.0.0:3306\"}", "}", "role sql needs"),
        ] {
            let text = GOOD.replacen(from, to, 1);
            assert_ne!(text, GOOD, "{from}");
            let error = Config::parse(&text).expect_err(to);
            assert!(error.contains(message), "{to}: {error}");
        }
    }
}
