//! A node without file descriptors pauses accepting, says so, and goes on when some are free again. The node runs in a
//! process of its own: this test started again with an environment variable, because limits are per process.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use io::{NodeOptions, NodeServer, management_request};
use protocol::control::{ClusterConfig, NodeConfig};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde_json::json;
use types::{ClusterId, NodeId};

/// Ends a hang.
const LONG: Duration = Duration::from_secs(120);
const CHILD: &str = "SKARV_IO_TEST_NODE";
const FILES_MAX: u64 = 64;

#[test]
fn a_node_survives_running_out_of_descriptors() {
    match std::env::var(CHILD) {
        Ok(text) => run_node(&text),
        Err(_) => flood_node(),
    }
}

/// The child: a voter that waits for others, until its input ends.
fn run_node(text: &str) {
    let (dir, address) = text.rsplit_once('@').unwrap();
    let limit = Rlimit { current: Some(FILES_MAX), maximum: Some(FILES_MAX) };
    setrlimit(Resource::Nofile, limit).unwrap();
    let node = |id, voter| NodeConfig { id: NodeId(id), voter, data: !voter, workers: 1 };
    let cluster = ClusterConfig {
        cluster: ClusterId(0xc3),
        nodes: vec![node(1, true), node(2, false)],
        replicas: 1,
        shards_per_group: 1,
        heartbeat_ms: protocol::control::HEARTBEAT_MS_DEFAULT,
        durability: protocol::control::Durability::default(),
    };
    let address: SocketAddr = address.parse().unwrap();
    let mut options = NodeOptions::new(cluster, NodeId(1), PathBuf::from(dir), address);
    // Nobody listens there.
    options.node_addresses.insert(NodeId(2), "127.0.0.1:1".parse().unwrap());
    let _node = NodeServer::start(options).unwrap();
    println!("\nrunning");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}

fn flood_node() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_node_survives_running_out_of_descriptors", "--nocapture"])
        .env(CHILD, format!("{}@{address}", dir.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "running"), "the child has not started");

    let mut flood: Vec<TcpStream> =
        (0..FILES_MAX * 2).map(|_| TcpStream::connect(address).unwrap()).collect();
    wait_for_log(dir, "cannot accept a node connection");
    // Strangers are turned away after their time, which makes room for the clients behind them: each gets an error.
    for stream in &mut flood {
        stream.set_read_timeout(Some(LONG)).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        // It may be a MySQL client that waits to be spoken to.
        assert!(String::from_utf8_lossy(&answer).contains("not the MySQL port"));
    }
    let socket = NodeOptions::default_management_unix(dir, NodeId(1));
    let ping = management_request(&socket, &json!({"command": "ping"}), LONG).unwrap();
    assert_eq!(ping["node"], json!(1));

    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

fn wait_for_log(dir: &Path, line: &str) {
    let until = Instant::now() + LONG;
    let path = NodeOptions::log_path(dir, NodeId(1));
    while !std::fs::read_to_string(&path).unwrap().contains(line) {
        assert!(Instant::now() < until, "{}", std::fs::read_to_string(&path).unwrap());
        std::thread::yield_now();
    }
}
