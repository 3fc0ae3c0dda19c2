//! Whole clusters in one process, over real sockets: nodes find each other, refuse strangers, survive a cut connection,
//! answer management requests and SQL, and end.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use io::{ManagementError, NodeOptions, NodeServer, StartError, management_request};
use protocol::control::{ClusterConfig, NodeConfig};
use serde_json::{Value, json};
use types::{ClusterId, NodeId};

/// Ends a hang.
const LONG: Duration = Duration::from_secs(120);
/// Threads of one process are three nodes here: on a busy machine one of them may wait for seconds.
const HEARTBEAT_MS: u32 = 2_000;
/// Until a stranger at a node's port is turned away; judged by the long tier, which has the machine to itself.
const STRANGER_MAX: Duration = Duration::from_millis(1_500);

/// Node 1 is the voter; 2 and 3 keep the data, with two workers each.
fn config(cluster: u64) -> ClusterConfig {
    let node = |id, voter, workers| NodeConfig { id: NodeId(id), voter, data: !voter, workers };
    ClusterConfig {
        cluster: ClusterId(cluster),
        nodes: vec![node(1, true, 1), node(2, false, 2), node(3, false, 2)],
        replicas: 2,
        shards_per_group: 4,
        heartbeat_ms: HEARTBEAT_MS,
        durability: protocol::control::Durability::default(),
    }
}

fn free_addresses(count: usize) -> Vec<SocketAddr> {
    let listeners: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    listeners.iter().map(|listener| listener.local_addr().unwrap()).collect()
}

fn all_options(dir: &Path) -> Vec<NodeOptions> {
    let addresses = free_addresses(3);
    let ids = [NodeId(1), NodeId(2), NodeId(3)];
    let addresses: BTreeMap<NodeId, SocketAddr> = ids.into_iter().zip(addresses).collect();
    let options = |id: NodeId| {
        let mut options = NodeOptions::new(config(0xc1), id, dir.into(), addresses[&id]);
        options.node_addresses = addresses.clone();
        if id != NodeId(1) {
            options.mysql_tcp = Some("127.0.0.1:0".parse().unwrap());
            options.mysql_unix = Some(dir.join(format!("node{id}.sock")));
        }
        options
    };
    ids.into_iter().map(options).collect()
}

fn start_all(dir: &Path) -> Vec<NodeServer> {
    let nodes: Vec<NodeServer> =
        all_options(dir).into_iter().map(|options| NodeServer::start(options).unwrap()).collect();
    for node in &nodes {
        assert!(node.wait_ready(LONG), "{}", logs(dir));
    }
    nodes
}

fn logs(dir: &Path) -> String {
    let log = |id| std::fs::read_to_string(log_path(dir, id)).unwrap_or_default();
    (1..=3).map(log).collect()
}
fn log_path(dir: &Path, id: u16) -> PathBuf {
    NodeOptions::log_path(dir, NodeId(id))
}

fn ask(dir: &Path, id: u16, request: Value) -> Result<Value, ManagementError> {
    management_request(&NodeOptions::default_management_unix(dir, NodeId(id)), &request, LONG)
}

/// Looks again until it is so.
fn wait_until(what: &str, dir: &Path, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < until, "{what} never came:\n{}", logs(dir));
        std::thread::yield_now();
    }
}

/// Nodes form a cluster; management knows each of them; "stop" ends one and takes its sockets away.
#[test]
fn a_cluster_forms_reports_and_stops() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let nodes = start_all(dir);

    let ping = ask(dir, 2, json!({"command": "ping"})).unwrap();
    assert_eq!(ping["ready"], json!(true));
    assert_eq!(ping["pid"], json!(std::process::id()));
    let status = ask(dir, 2, json!({"command": "status"})).unwrap();
    assert_eq!(status["links"], json!(6));
    assert_eq!(status["links_up"], json!(6));
    assert_eq!(status["incarnation"], json!(format!("{:016x}", nodes[1].incarnation().0)));
    let states: Vec<&Value> =
        status["nodes"].as_array().unwrap().iter().map(|node| &node["state"]).collect();
    assert_eq!(states, ["started", "started", "started"], "{status}");
    assert_eq!(status["nodes"][0]["roles"], json!(["voter"]));
    assert_eq!(status["nodes"][0]["control_leader"], json!(true));
    let memory = ask(dir, 3, json!({"command": "memory"})).unwrap();
    let limit = u64::from(256u32 << 20);
    assert!(memory["nodes"].as_array().unwrap().iter().all(|n| n["limit_bytes"] == json!(limit)));
    assert_eq!(ask(dir, 1, json!({"command": "tables"})).unwrap(), json!({"tables": []}));

    let management = NodeOptions::default_management_unix(dir, NodeId(2));
    assert_eq!(std::fs::metadata(&management).unwrap().permissions().mode() & 0o777, 0o600);
    let mysql = dir.join("node2.sock");
    assert_eq!(std::fs::metadata(&mysql).unwrap().permissions().mode() & 0o777, 0o777);
    for (request, expected) in [
        (json!({"command": "partitions", "database": "no", "table": "t"}), "no table no.t"),
        (json!({"command": "dance"}), "unknown command"),
        (json!([1]), "a request is"),
    ] {
        let Err(ManagementError::Refused(text)) = ask(dir, 2, request) else { panic!("refused") };
        assert!(text.contains(expected), "{text}");
    }

    let mut second = all_options(dir).remove(1);
    second.mysql_tcp = None;
    let refused = NodeServer::start(second).err().unwrap();
    assert!(matches!(refused, StartError::AlreadyRunning { .. }), "{refused}");

    let another = ask(dir, 2, json!({"command": "stop", "pid": std::process::id() + 1}));
    assert!(another.unwrap_err().to_string().contains("another one is to stop"));
    let own = json!({"command": "stop", "pid": std::process::id()});
    assert_eq!(ask(dir, 2, own).unwrap(), json!({"ok": true}));
    nodes[1].wait();
    assert!(!nodes[1].is_ready());
    assert!(!management.exists());
    assert!(!mysql.exists());
    assert!(matches!(ask(dir, 2, json!({"command": "ping"})), Err(ManagementError::NotRunning)));
    let log = std::fs::read_to_string(log_path(dir, 2)).unwrap();
    for line in
        ["node 2 starts", "node 2 is ready", "- 3/1 up", "stop: asked for", "node 2 stopped"]
    {
        assert!(log.contains(line), "{line} is missing:\n{log}");
    }
    let status = ask(dir, 3, json!({"command": "status"})).unwrap();
    assert_eq!(status["nodes"][1]["state"], json!("unreachable"));
}

/// Before all nodes are there none serves, clients get "connection refused", and management answers all the same.
#[test]
fn a_lone_node_waits_without_clients() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let options = all_options(dir).remove(1);
    let socket = options.mysql_unix.clone().unwrap();
    let node = NodeServer::start(options).unwrap();
    assert!(!node.wait_ready(Duration::from_millis(100)));
    assert!(TcpStream::connect(node.mysql_tcp_address().unwrap()).is_err());
    assert!(UnixStream::connect(socket).is_err());
    assert_eq!(ask(dir, 2, json!({"command": "ping"})).unwrap()["ready"], json!(false));
    let status = ask(dir, 2, json!({"command": "status"})).unwrap();
    assert_eq!(status["ready"], json!(false));
    assert_eq!(status["nodes"][0]["state"], json!("unreachable"));
}

/// Whoever is not a node of this cluster is sent away within a second, and the log says what he was.
#[test]
fn strangers_on_the_node_port_are_named_and_refused() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let options = all_options(dir).remove(1);
    let port = options.node_addresses[&NodeId(2)];
    let _node = NodeServer::start(options).unwrap();

    let hello = |version: u16, cluster: u64, config: u64, from: u16, to: u16| {
        let mut message = b"\0\0\0\0skarv-ln".to_vec();
        message.extend_from_slice(&version.to_le_bytes());
        message.push(1);
        message.extend_from_slice(&cluster.to_le_bytes());
        message.push(1);
        message.extend_from_slice(&config.to_le_bytes());
        for half in [from, 0, to, 0] {
            message.extend_from_slice(&half.to_le_bytes());
        }
        message.extend_from_slice(&99u64.to_le_bytes());
        let length = u32::try_from(message.len() - 4).unwrap();
        message[..4].copy_from_slice(&length.to_le_bytes());
        message
    };
    let version = protocol::PROTOCOL_VERSION;
    let mysql_login = b"\x24\0\0\x01\x85\xa6\xff\x01\0\0\0\x01\x2d".to_vec();
    let table = [
        (mysql_login, "it is a MySQL client"),
        (b"GET /metrics HTTP/1.1\r\n\r\n".to_vec(), "it is an HTTP client"),
        (vec![0xee; 4096], "something that is not a Skarv node; its first bytes are eeee"),
        (Vec::new(), "it says nothing"),
        (hello(version + 1, 0xc1, 0, 1, 2), "version"),
        (hello(version, 0xbad, 0, 1, 2), "belongs to cluster 0000000000000bad"),
        (hello(version, 0xc1, 0, 1, 2), "another configuration"),
    ];
    for (bytes, expected) in table {
        let begun = Instant::now();
        let mut stream = TcpStream::connect(port).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.write_all(&bytes).unwrap();
        // The end may come as a reset, because sent bytes were not read.
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        if std::env::var_os("SKARV_TEST_LONG").is_some() {
            assert!(begun.elapsed() < STRANGER_MAX, "{expected}");
        }
        let log = std::fs::read_to_string(log_path(dir, 2)).unwrap();
        assert!(log.contains(expected), "{expected} is missing:\n{log}");
    }
}

/// Forwards connections, until a test cuts them all.
struct Proxy {
    address: SocketAddr,
    cut: mpsc::Sender<()>,
}

fn proxy_to(target: SocketAddr) -> Proxy {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (cut, cuts) = mpsc::channel();
    let (opened, open) = mpsc::channel::<TcpStream>();
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let Ok(far) = TcpStream::connect(target) else { continue };
            for (from, to) in [(&near, &far), (&far, &near)] {
                let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
            if opened.send(near).is_err() {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        while cuts.recv().is_ok() {
            for stream in open.try_iter() {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    });
    Proxy { address, cut }
}

/// A link that is cut comes back by itself, and messages from meanwhile arrive.
#[test]
fn cut_links_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut all = all_options(dir);
    // Node 2 reaches node 3 through the proxy: four links.
    let proxy = proxy_to(all[2].node_addresses[&NodeId(3)]);
    all[1].node_addresses.insert(NodeId(3), proxy.address);
    let nodes: Vec<NodeServer> =
        all.into_iter().map(|options| NodeServer::start(options).unwrap()).collect();
    for node in &nodes {
        assert!(node.wait_ready(LONG), "{}", logs(dir));
    }
    let count = |line: &str| {
        let log = std::fs::read_to_string(log_path(dir, 2)).unwrap();
        log.lines().filter(|l| l.contains(line)).count()
    };
    let links_up = || ask(dir, 2, json!({"command": "status"})).unwrap()["links_up"].clone();
    wait_until("all links", dir, || links_up() == json!(6));
    for round in 1..=3 {
        proxy.cut.send(()).unwrap();
        wait_until("the cut", dir, || count("lost: ") == round * 4);
        wait_until("the links", dir, || links_up() == json!(6));
        let status = ask(dir, 2, json!({"command": "status"})).unwrap();
        assert_eq!(status["nodes"][2]["state"], json!("started"));
    }
}

/// A refused start has a text that names the obstacle.
#[test]
fn starts_are_refused_in_clear_words() {
    let dir = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let mut options = all_options(dir.path()).remove(1);
    options.mysql_tcp = Some(address);
    let text = NodeServer::start(options.clone()).err().unwrap().to_string();
    assert!(text.contains(&format!("port {}", address.port())), "{text}");
    assert!(text.contains(&format!("(process {})", std::process::id())), "{text}");
    options.mysql_tcp = None;
    std::fs::write(dir.path().join("node2.sock"), "not a socket").unwrap();
    let text = NodeServer::start(options.clone()).err().unwrap().to_string();
    assert!(text.contains("node2.sock") && text.contains("not a socket"), "{text}");
    options.mysql_unix = None;
    options.node_addresses.remove(&NodeId(3));
    let text = NodeServer::start(options.clone()).err().unwrap().to_string();
    assert!(text.contains("the address of node 3 is missing"), "{text}");
    options.node = NodeId(7);
    assert!(matches!(NodeServer::start(options), Err(StartError::Config(_))));
}
