//! `skarv server`: one node as a process.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use io::{Departure, NodeOptions, NodeServer, StartError};
use types::NodeId;

use crate::cli::ServerOptions;
use crate::config::{self, Config, Role};
use crate::{machine, memory, size, up};

/// The exit code of a node whose port for other nodes is taken: its supervisor can choose another one.
pub const EXIT_CODE_LINK_PORT_TAKEN: u8 = 75;

/// A node that was stopped while its cluster continues: it must not be started until an operator does so.
pub const EXIT_CODE_STOPPED: u8 = 17;
/// A node that is to be started again, as MySQL's RESTART says it to whoever looks after the process.
pub const EXIT_CODE_RESTART: u8 = 16;

/// Interval at which the node is checked: whether it is ready, and whether it has ended.
const READY_POLL: Duration = Duration::from_millis(100);

pub fn run(options: &ServerOptions) -> ExitCode {
    let (node_options, link) = match node_options(options) {
        Ok(found) => found,
        Err(error) => return crate::fail(&error),
    };
    let server = match NodeServer::start(node_options) {
        Ok(server) => server,
        Err(error) => {
            let code = crate::fail(&error.to_string());
            return match error {
                StartError::PortTaken { address, .. } if address == link => {
                    EXIT_CODE_LINK_PORT_TAKEN.into()
                }
                _ => code,
            };
        }
    };
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        if !options.child {
            scope.spawn(|| tell_when_ready(&server, options.node, &ended));
        }
        server.wait();
        ended.store(true, Ordering::Relaxed);
    });
    let departure = server.departure();
    drop(server);
    match departure {
        Some(Departure::Stop) if options.child => EXIT_CODE_STOPPED.into(),
        Some(Departure::Restart) if options.child => EXIT_CODE_RESTART.into(),
        Some(Departure::Restart) => start_again(),
        Some(Departure::Stop) | None => ExitCode::SUCCESS,
    }
}

/// Nobody looks after this process, as far as it knows: it becomes the node's next one.
fn start_again() -> ExitCode {
    let mut command = Command::new(up::executable());
    // The cluster does not begin anew with it, nor with less than it had.
    let words = std::env::args_os().skip(1);
    command.arg0("skarv").args(words.filter(|word| word != "--initial" && word != "--lossy"));
    let error = command.exec();
    crate::fail(&format!("cannot start again: {error}"))
}

fn tell_when_ready(server: &NodeServer, node: u16, ended: &AtomicBool) {
    while !server.wait_ready(READY_POLL) {
        if ended.load(Ordering::Relaxed) {
            return;
        }
    }
    match server.mysql_tcp_address() {
        Some(address) => println!("node {node} is ready: MySQL on {address}"),
        None => println!("node {node} is ready"),
    }
}

/// What the node is started with, and its address for other nodes.
fn node_options(options: &ServerOptions) -> Result<(NodeOptions, std::net::SocketAddr), String> {
    let dir = std::path::absolute(&options.dir).map_err(|error| error.to_string())?;
    let (path, config) = Config::of(options.config.as_deref(), &dir)?;
    let node = config.node(options.node).ok_or_else(|| {
        let ids: Vec<String> = config.nodes.iter().map(|node| node.id.to_string()).collect();
        format!(
            "node {} is not in {}: it has nodes {}",
            options.node,
            path.display(),
            ids.join(", ")
        )
    })?;
    let link = node.link_address()?;
    let mut made = NodeOptions::new(config.cluster()?, NodeId(node.id), dir.clone(), link);
    made.mysql_tcp = node.mysql_address()?;
    made.mysql_unix = node.socket_path(&dir);
    for other in &config.nodes {
        let id = NodeId(other.id);
        made.node_addresses.insert(id, other.link_address()?);
        // Without a file of its own the configuration is the directory's, and all of its nodes are on this machine.
        if options.config.is_none() {
            made.link_sockets.insert(id, NodeOptions::default_link_socket(&dir, id));
        }
    }
    let own = made.link_sockets.get(&made.node);
    for path in made.mysql_unix.iter().chain([&made.management_unix]).chain(own) {
        config::check_socket_path(path)?;
    }
    made.memory_limit_bytes = match node.has(Role::Data) {
        true => memory::of_node(&config, node)?.0,
        false => 0,
    };
    let total = machine::memory_total().unwrap_or(u64::MAX);
    if total < made.memory_limit_bytes {
        return Err(format!(
            "not enough memory: node {} is to keep {} for its rows, and this machine, or the control group of this process, has {}; \
             give it less (\"memory\" in {})",
            node.id,
            size::human(made.memory_limit_bytes),
            size::human(total),
            path.display()
        ));
    }
    made.archive.clone_from(&config.archive);
    if node.has(Role::Data) {
        made.secure_file_priv.clone_from(&config.secure_file_priv);
    }
    made.initial = options.initial;
    made.lossy = options.lossy;
    made.log_to_stderr = !options.child;
    made.stop_on_signals = true;
    Ok((made, link))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use clap::Parser;

    fn options(dir: &Path, arguments: &str) -> ServerOptions {
        let dir = dir.to_str().expect("plain");
        let words =
            ["skarv", "server", "--dir", dir].into_iter().chain(arguments.split_whitespace());
        let crate::cli::Command::Server(options) = crate::cli::Cli::parse_from(words).command
        else {
            panic!("it is server");
        };
        options
    }

    #[test]
    fn a_node_is_started_from_its_configuration() {
        let dir = tempfile::tempdir().expect("a directory");
        let error = node_options(&options(dir.path(), "--node 2")).expect_err("no configuration");
        assert!(error.contains("skarv up --dir"), "{error}");
        let config = crate::plan::config_of(&crate::plan::Shape {
            cluster_id: 7,
            port: 4400,
            data_nodes: 2,
            replicas: 2,
            workers: 3,
            memory: crate::size::Size(32 << 20),
            link_ports: vec![4001, 4002, 4003],
        });
        config.write(&Config::path_in(dir.path())).expect("written");
        let (made, link) = node_options(&options(dir.path(), "--node 3 --child")).expect("there");
        assert_eq!(link.port(), 4003);
        assert_eq!(made.mysql_tcp.map(|address| address.port()), Some(4401));
        assert_eq!(made.mysql_unix, Some(dir.path().join("node3.sock")));
        assert_eq!(made.node_addresses.len(), 3);
        assert_eq!(made.link_sockets[&NodeId(2)], dir.path().join("node2.link.sock"));
        assert!(!made.lossy);
        let (voter, _) = node_options(&options(dir.path(), "--node 1 --lossy")).expect("there");
        assert!(voter.lossy);
        assert_eq!(made.memory_limit_bytes, 32 << 20);
        assert_eq!(made.cluster.shards_per_group, 6);
        assert!(!made.log_to_stderr && made.stop_on_signals);
        let mut greedy = config;
        greedy.memory = Some("900T".into());
        greedy.write(&Config::path_in(dir.path())).expect("written");
        let error =
            node_options(&options(dir.path(), "--node 3")).expect_err("so much there is not");
        assert!(error.contains("not enough memory: node 3 is to keep 900.0 TiB"), "{error}");
        assert!(node_options(&options(dir.path(), "--node 1")).is_ok(), "a voter has no rows");
        let error = node_options(&options(dir.path(), "--node 9")).expect_err("no such node");
        assert!(error.contains("it has nodes 1, 2, 3"), "{error}");
    }
}
