//! The command line: what can be typed, and its help.

use protocol::control::Durability;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::size::Size;

/// An in-memory, distributed, transactional database that speaks the MySQL protocol.
///
/// `skarv up` starts a cluster on this machine; any MySQL client connects to it.
#[derive(Parser)]
#[command(name = "skarv", version, arg_required_else_help = true, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Starts a cluster on this machine, one process a node, and looks after it.
    ///
    /// Node 1 is a voter only; nodes 2, 3, ... keep data and answer SQL on ports P, P+1, ... and sockets
    /// DIR/node2.sock, DIR/node3.sock, ... DIR/cluster.json lists every node with its pid, port and socket. On the
    /// directory of a stopped cluster it starts that cluster again, with its configuration and its rows.
    Up(UpOptions),
    /// Stops the cluster that `skarv up` started: all nodes, cleanly.
    ///
    /// Done again it says that nothing runs, and that is no error.
    Down(DownOptions),
    /// Runs one node in the foreground.
    ///
    /// `skarv up` runs this for each node. For a cluster over several machines run it on each of them with the same
    /// configuration file.
    #[command(after_long_help = SERVER_HELP)]
    Server(ServerOptions),
    /// Makes the keys by which the nodes of a cluster authenticate each other.
    ///
    /// With them links between nodes over TCP are encrypted, and only nodes with keys of the same
    /// cluster can open them. Makes the missing files: a certificate authority for the cluster
    /// (link-ca-cert.pem, link-ca-key.pem) and a pair for each node of the configuration
    /// (nodeN-link-cert.pem, nodeN-link-key.pem). Give each node, in its --dir, link-ca-cert.pem
    /// and its own pair; keep link-ca-key.pem to yourself, for nodes added later. `skarv up` does
    /// all of that for its own directory. A node with keys refuses one without, so give them to all
    /// nodes before they start.
    Keys(KeysOptions),
    /// The management client: what the nodes do and how they are.
    ///
    /// Without -e it reads commands from its input. HELP lists them. With several commands in -e, separated by ';',
    /// the exit code is that of the first that failed.
    Mgm(MgmOptions),
    /// Describes a table: columns, indexes, and every replica of every partition.
    ///
    /// The exit code is 0 when all replicas have the same rows, 1 when they differ or not all answered, and 2 when
    /// there is no such table or no cluster. While rows are being written replicas differ for moments; so a
    /// difference is looked at again for up to two seconds before it is reported.
    Desc(DescOptions),
    /// Brings tables of a backup into a running cluster, of whatever shape.
    ///
    /// A data node of this machine reads the files, so they must be on it: those of all nodes of the backup in one directory. Tables
    /// with the same names must not be there. With --until and --archive the tables come as they were at that moment. They
    /// get their names when all their rows are there; what fails leaves none. Ctrl-C aborts it, as ABORT RESTORE of `skarv mgm` does.
    Restore(RestoreOptions),
    /// Simulates whole clusters with faults, one from each seed, and judges what their clients see.
    ///
    /// `skarv sim --help` lists its flags.
    #[command(disable_help_flag = true)]
    Sim(SimOptions),
}

#[derive(Args, Clone)]
pub struct Directory {
    /// Directory of the cluster.
    #[arg(long, value_name = "DIR", default_value = "./skarv-data")]
    pub dir: PathBuf,
}

fn durability(text: &str) -> Result<Durability, String> {
    let names = || Durability::ALL.map(Durability::name).join(", ");
    Durability::of_name(text).ok_or_else(|| format!("it is one of {}", names()))
}

#[derive(Args, Clone)]
pub struct UpOptions {
    #[command(flatten)]
    pub directory: Directory,
    /// MySQL port of node 2; node 3 gets the next one, and so on. 0: free ports are chosen. [default: 3306]
    #[arg(long, value_name = "P")]
    pub port: Option<u16>,
    /// Nodes that keep data and answer SQL, 1 to 64. [default: 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub data_nodes: Option<u16>,
    /// Copies of every row, 1 to 4; the number of data nodes must be a multiple. [default: 2, or 1 with one data node]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4))]
    pub replicas: Option<u16>,
    /// Worker threads of each data node. [default: cores of the machine divided by the data nodes, at least 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub workers: Option<u16>,
    /// Memory for the rows of each data node, such as 256M or 4G. [default: an eighth of the machine's, divided over the data
    /// nodes, but 256M to 1G each, and at most half of the machine's together]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<Size>,
    /// When a commit is acknowledged: memory, durable_when_alone or always. [default: durable_when_alone]
    #[arg(long, value_name = "LEVEL", value_parser = durability)]
    pub durability: Option<Durability>,
    /// `heartbeat_ms` of config.json, for tests: a box that is made on a machine without idle time.
    #[arg(long, hide = true)]
    pub heartbeat_ms: Option<u32>,
    /// Every data node copies its log to this directory as it grows, for ever: with a backup, any later moment can be restored.
    #[arg(long, value_name = "DIR")]
    pub archive: Option<PathBuf>,
    /// LOAD DATA INFILE may read the files of this directory on the machine of the node; without one, no statement reads files.
    #[arg(long, value_name = "DIR")]
    pub secure_file_priv: Option<PathBuf>,
    /// Begins anew, empty: the rows and tables that are in the directory go.
    #[arg(long)]
    pub initial: bool,
    /// If the nodes that had the rows last are gone for good: begins with the rows of the other disks as of one moment, and loses
    /// later commits. The processes of those nodes must not run. Without effect where all rows are there, and for one start only.
    #[arg(long, conflicts_with = "initial")]
    pub lossy: bool,
    /// Does not start again a node that died. (One that finds damage before it serves begins again all the same, with an empty disk.)
    #[arg(long)]
    pub no_restart: bool,
    /// Returns when the cluster is ready, and leaves it running; `skarv down` stops it.
    #[arg(long)]
    pub detach: bool,
    /// Gives up when no node serves, and none has read much from its disk for this time.
    #[arg(long, value_name = "SECONDS", default_value_t = 60,
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: u64,
    /// The supervisor behind `--detach`: own session, tagged lines on its output.
    #[arg(long, hide = true)]
    pub supervisor: bool,
}

#[derive(Args)]
pub struct DownOptions {
    #[command(flatten)]
    pub directory: Directory,
}

#[derive(Args)]
pub struct ServerOptions {
    /// Directory for the node's log, certificate and sockets; without --config also of config.json.
    #[arg(long, value_name = "DIR", default_value = "./skarv-data")]
    pub dir: PathBuf,
    /// Configuration file of a cluster over several machines. [default: DIR/config.json]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Which node of the configuration this process is.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub node: u16,
    /// The cluster begins anew, empty: forget what this node knows of the one before. Only when all nodes are started so; a
    /// node that was down comes back without it.
    #[arg(long)]
    pub initial: bool,
    /// For the voters, if the nodes that had the rows last are gone for good: the cluster begins with the rows of the other disks as
    /// of one moment, and loses later commits. The processes of those nodes must not run. Without effect where all rows are there,
    /// and for one start only.
    #[arg(long, conflicts_with = "initial")]
    pub lossy: bool,
    /// Started by `skarv up`: own session, no log lines on standard error.
    #[arg(long, hide = true)]
    pub child: bool,
}

#[derive(Args)]
pub struct KeysOptions {
    /// Directory for the keys; without --config also of config.json.
    #[arg(long, value_name = "DIR", default_value = "./skarv-data")]
    pub dir: PathBuf,
    /// Configuration file of the cluster. [default: DIR/config.json]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Args)]
pub struct SimOptions {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

#[derive(Args)]
pub struct MgmOptions {
    #[command(flatten)]
    pub directory: Directory,
    /// Runs this command and ends; several are separated by ';'.
    #[arg(short = 'e', long = "execute", value_name = "COMMAND")]
    pub execute: Option<String>,
    /// Answers with one JSON object a command.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct DescOptions {
    #[command(flatten)]
    pub directory: Directory,
    /// The table.
    #[arg(value_name = "DB.TABLE")]
    pub table: String,
    /// Answers with one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct RestoreOptions {
    #[command(flatten)]
    pub directory: Directory,
    /// The directory of the backup, such as ./skarv-data/backups/BACKUP-1.
    #[arg(value_name = "BACKUP")]
    pub backup: PathBuf,
    /// Restores this database only; may be given again.
    #[arg(long = "database", value_name = "DB")]
    pub databases: Vec<String>,
    /// Restores this table only; may be given again.
    #[arg(long = "table", value_name = "DB.TABLE")]
    pub tables: Vec<String>,
    /// Restores the tables as of this moment, in UTC: '2026-05-31 23:59:59', or @ and seconds of Unix time.
    #[arg(long, value_name = "TIME", requires = "archive")]
    pub until: Option<String>,
    /// The directory that the nodes archived their logs in (`skarv up --archive`).
    #[arg(long, value_name = "DIR", requires = "until")]
    pub archive: Option<PathBuf>,
    /// The backup's password is the first line of this file.
    #[arg(long, value_name = "FILE", conflicts_with = "key_file")]
    pub password_file: Option<PathBuf>,
    /// The backup's key is in this file: 32 bytes, or 64 hexadecimal digits.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Answers with one JSON object.
    #[arg(long)]
    pub json: bool,
}

const SERVER_HELP: &str = r#"The configuration file, the same on every machine:

  {
    "cluster_id": "6b1f0c7d9a2e4458",
    "replicas": 2,
    "memory": "4G",
    "nodes": [
      {"id": 1, "roles": ["voter"], "address": "10.0.0.1:4601"},
      {"id": 2, "roles": ["voter", "data", "sql"], "workers": 8,
       "address": "10.0.0.2:4601", "mysql": "0.0.0.0:3306", "socket": "node2.sock"},
      {"id": 3, "roles": ["voter", "data", "sql"], "workers": 8,
       "address": "10.0.0.3:4601", "mysql": "0.0.0.0:3306", "socket": "node3.sock"}
    ]
  }

  cluster_id        16 hexadecimal digits, drawn once; a node refuses nodes of another cluster
  replicas          copies of every row, 1 to 4; data nodes are grouped in the order of their ids
  shards_per_group  optional; a multiple of replicas [default: replicas * the most workers of a data node]. This, replicas and
                    which nodes have data cannot be changed while there are rows: nodes that have some refuse it
  heartbeat_ms      optional; interval of heartbeats; a node that is silent for four times as long is
                    excluded from the cluster, 20 to 600000; more than the longest round trip between nodes
                    [default: 100; `skarv up` writes 250]
  durability        optional; when a commit is acknowledged: memory, durable_when_alone or always
                    [default: durable_when_alone]
  archive           optional; a directory that each data node copies its log to, for `skarv restore --until`
  secure_file_priv  optional; the directory whose files LOAD DATA INFILE may read, on each data node [default: none]
  memory            optional; for the rows of each data node [default: half of what its machine or control group has, divided
                    over the data nodes at the same IP]
  id                1, 2, ...
  roles             voter (1, 3 or 5 nodes keep the control plane: while most are away no statement is served, so have 3
                    for rows in several copies), data, sql (on data nodes)
  workers           optional; threads; cannot be changed while the node's directory is kept [default: 1]
  address           IP:port for the other nodes; without keys keep it on a private network
  mysql             optional, role sql; IP:port for clients
  socket            optional, role sql; a path, relative to --dir

Run on each machine: skarv server --config FILE --node N
With keys made by `skarv keys` in their directories the nodes encrypt their links and admit no other peer."#;

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// clap checks its own definitions, and the simulator gets its flags as they are typed.
    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
        for arguments in [vec!["--seeds", "5", "--twice"], vec!["--help"], vec![]] {
            let words = ["skarv", "sim"].iter().chain(&arguments);
            let Command::Sim(options) = Cli::parse_from(words).command else { panic!("it is sim") };
            assert_eq!(options.arguments, arguments);
        }
    }
}
