//! What a node is started with, and why it may not start.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use kernel::Mutation;
use protocol::control::ClusterConfig;
use types::NodeId;

#[derive(Clone, Debug)]
pub struct NodeOptions {
    pub cluster: ClusterConfig,
    pub node: NodeId,
    /// The node's files; made if absent: `node{N}.log`, `.lock`, `.control`, `-cert.pem`, `-key.pem`.
    pub dir: PathBuf,
    /// Where MySQL clients connect. Port 0: the system chooses.
    pub mysql_tcp: Option<SocketAddr>,
    pub mysql_unix: Option<PathBuf>,
    /// Where nodes talk to each other: this node listens at its own, and connects to others at theirs.
    pub node_addresses: BTreeMap<NodeId, SocketAddr>,
    /// Where nodes that share a machine and a directory talk to each other instead: a unix socket costs half of what TCP
    /// does. Empty, or with an entry for this node; a peer without one is reached at its address.
    pub link_sockets: BTreeMap<NodeId, PathBuf>,
    pub management_unix: PathBuf,
    /// Memory for rows, versions and indexes.
    pub memory_limit_bytes: u64,
    /// What `SELECT VERSION()` answers.
    pub version_text: String,
    pub max_connections: u32,
    /// The node's log is copied there, for ever: any moment behind a backup can be restored.
    pub archive: Option<PathBuf>,
    /// LOAD DATA INFILE may read the files of this directory; without one, none.
    pub secure_file_priv: Option<PathBuf>,
    /// The cluster begins anew: files of the one before in the node's directory are removed.
    pub initial: bool,
    /// If it is a voter: a cluster restart may begin with less than the last members had, where that is not to be had.
    pub lossy: bool,
    /// Besides the log file.
    pub log_to_stderr: bool,
    /// SIGTERM and SIGINT end the node gracefully, a second one at once.
    pub stop_on_signals: bool,
    /// A protocol rule switched off for a test of the tests.
    pub mutation: Mutation,
}

impl NodeOptions {
    /// A node without SQL and without peers' addresses, for the caller to fill in.
    pub fn new(
        cluster: ClusterConfig,
        node: NodeId,
        dir: PathBuf,
        own_address: SocketAddr,
    ) -> NodeOptions {
        NodeOptions {
            cluster,
            node,
            mysql_tcp: None,
            mysql_unix: None,
            node_addresses: BTreeMap::from([(node, own_address)]),
            link_sockets: BTreeMap::new(),
            management_unix: NodeOptions::default_management_unix(&dir, node),
            dir,
            memory_limit_bytes: 256 << 20,
            version_text: sql::ServerConfig::default().version_text,
            max_connections: 10_000,
            archive: None,
            secure_file_priv: None,
            initial: false,
            lossy: false,
            log_to_stderr: false,
            stop_on_signals: false,
            mutation: Mutation::None,
        }
    }
    pub fn default_management_unix(dir: &Path, node: NodeId) -> PathBuf {
        dir.join(format!("node{node}.mgm.sock"))
    }
    pub fn default_link_socket(dir: &Path, node: NodeId) -> PathBuf {
        dir.join(format!("node{node}.link.sock"))
    }
    pub fn log_path(dir: &Path, node: NodeId) -> PathBuf {
        dir.join(format!("node{node}.log"))
    }

    /// Errors name missing or contradictory options.
    pub(crate) fn check(&self) -> Result<(), StartError> {
        let wrong = |text: String| Err(StartError::Config(text));
        self.cluster.check().map_err(StartError::Config)?;
        let Some(own) = self.cluster.node(self.node) else {
            return wrong(format!("node {} is not in the configuration of the cluster", self.node));
        };
        for node in &self.cluster.nodes {
            if !self.node_addresses.contains_key(&node.id) {
                return wrong(format!("the address of node {} is missing", node.id));
            }
        }
        let sql = self.mysql_tcp.is_some() || self.mysql_unix.is_some();
        if sql && !own.data {
            return wrong(format!(
                "node {} has no role data: SQL is served by data nodes, give it no MySQL port",
                self.node
            ));
        }
        Ok(())
    }
}

/// The reason why a node did not start, with the remedy.
#[derive(Debug, PartialEq, Eq)]
pub enum StartError {
    Config(String),
    Directory {
        path: PathBuf,
        reason: String,
    },
    /// Another process is this node already.
    AlreadyRunning {
        node: NodeId,
        dir: PathBuf,
        process: Option<u32>,
    },
    PortTaken {
        address: SocketAddr,
        holder: Option<String>,
    },
    PathTaken {
        path: PathBuf,
        reason: String,
    },
    Tls {
        path: PathBuf,
        reason: String,
    },
    LinkKeys {
        path: PathBuf,
        reason: String,
    },
    System {
        action: &'static str,
        reason: String,
    },
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StartError::Config(text) => write!(f, "{text}"),
            StartError::Directory { path, reason } => {
                write!(f, "cannot use {}: {reason}", path.display())
            }
            StartError::AlreadyRunning { node, dir, process } => {
                write!(f, "node {node} in {} is running already", dir.display())?;
                match process {
                    Some(id) => write!(f, " as process {id}: stop it first"),
                    None => write!(f, ": stop it first"),
                }
            }
            StartError::PortTaken { address, holder } => {
                write!(f, "port {} (address {address}) is taken by ", address.port())?;
                match holder {
                    Some(holder) => write!(f, "{holder}")?,
                    None => write!(f, "another process that this user cannot see")?,
                }
                write!(f, ": stop it, or choose another port")
            }
            StartError::PathTaken { path, reason } => {
                write!(f, "cannot make the socket {}: {reason}", path.display())
            }
            StartError::Tls { path, reason } => write!(
                f,
                "TLS with {}: {reason} (without the certificate and its key, new ones are made)",
                path.display()
            ),
            StartError::LinkKeys { path, reason } => {
                let path = path.display();
                write!(f, "keys for links between nodes, {path}: {reason} (skarv keys makes them)")
            }
            StartError::System { action, reason } => write!(f, "cannot {action}: {reason}"),
        }
    }
}
impl std::error::Error for StartError {}
