//! SQL over real sockets: MySQL clients of both nodes and all workers, KILL across workers, limits, the end of a node.
//! The client here is forty lines of packets, so that nothing but the node is under test.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use io::{NodeOptions, NodeServer, management_request};
use protocol::control::{ClusterConfig, NodeConfig};
use serde_json::{Value, json};
use types::{ClusterId, NodeId};

/// Ends a hang.
const LONG: Duration = Duration::from_secs(120);
/// Threads of one process are three nodes here: on a busy machine one of them may wait for seconds.
const HEARTBEAT_MS: u32 = 2_000;

/// What a statement led to.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Ok,
    Rows(Vec<Vec<String>>),
    Error(u16),
    /// The server closed the connection.
    Closed,
}

struct MysqlClient {
    stream: Box<dyn ReadWrite>,
    /// The connection's number, from the greeting.
    id: u32,
}
trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

impl MysqlClient {
    fn tcp(address: SocketAddr) -> MysqlClient {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        MysqlClient::log_in(Box::new(stream)).expect("accepted")
    }
    fn unix(path: &Path) -> MysqlClient {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        MysqlClient::log_in(Box::new(stream)).expect("accepted")
    }
    /// Error: the number the server greets with instead.
    fn log_in(stream: Box<dyn ReadWrite>) -> Result<MysqlClient, u16> {
        let mut client = MysqlClient { stream, id: 0 };
        let greeting = client.packet().expect("a greeting");
        if greeting[0] == 0xff {
            return Err(u16::from_le_bytes([greeting[1], greeting[2]]));
        }
        assert_eq!(greeting[0], 10);
        let version_end = greeting.iter().position(|byte| *byte == 0).unwrap();
        let id = &greeting[version_end + 1..version_end + 5];
        client.id = u32::from_le_bytes(id.try_into().unwrap());
        // PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH, 16 MiB packets, utf8mb4, root without password.
        let mut login = (0x0000_0200u32 | 0x8000 | 0x8_0000).to_le_bytes().to_vec();
        login.extend_from_slice(&(1u32 << 24).to_le_bytes());
        login.push(45);
        login.extend_from_slice(&[0; 23]);
        login.extend_from_slice(b"root\0\0mysql_native_password\0");
        client.send(1, &login);
        let answer = client.packet().expect("an answer to the login");
        assert_eq!(answer[0], 0, "{}", String::from_utf8_lossy(&answer));
        Ok(client)
    }
    fn send(&mut self, sequence: u8, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap().to_le_bytes();
        let mut packet = vec![length[0], length[1], length[2], sequence];
        packet.extend_from_slice(payload);
        self.stream.write_all(&packet).unwrap();
    }
    /// None: closed.
    fn packet(&mut self) -> Option<Vec<u8>> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header).ok()?;
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload).ok()?;
        Some(payload)
    }
    fn begin(&mut self, sql: &str) {
        let mut payload = vec![3];
        payload.extend_from_slice(sql.as_bytes());
        self.send(0, &payload);
    }
    fn end(&mut self) -> Outcome {
        let Some(first) = self.packet() else { return Outcome::Closed };
        match first[0] {
            0 => return Outcome::Ok,
            0xff => return Outcome::Error(u16::from_le_bytes([first[1], first[2]])),
            _ => {}
        }
        for _ in 0..=first[0] {
            self.packet().expect("column definitions and their end");
        }
        let mut rows = Vec::new();
        loop {
            let Some(row) = self.packet() else { return Outcome::Closed };
            match row[0] {
                0xfe if row.len() < 9 => return Outcome::Rows(rows),
                0xff => return Outcome::Error(u16::from_le_bytes([row[1], row[2]])),
                _ => rows.push(text_values(&row)),
            }
        }
    }
    fn query(&mut self, sql: &str) -> Outcome {
        self.begin(sql);
        self.end()
    }
}

/// Values below 251 bytes are enough here.
fn text_values(mut row: &[u8]) -> Vec<String> {
    let mut values = Vec::new();
    while let Some((length, rest)) = row.split_first() {
        let length = if *length == 0xfb { 0 } else { usize::from(*length) };
        values.push(String::from_utf8_lossy(&rest[..length]).into_owned());
        row = &rest[length..];
    }
    values
}

fn rows(rows: &[&[&str]]) -> Outcome {
    Outcome::Rows(rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect())
}

/// Node 1 is the voter; 2 and 3 keep the data, with two workers each.
fn start_all(dir: &Path, max_connections: u32) -> Vec<NodeServer> {
    let node = |id, voter, workers| NodeConfig { id: NodeId(id), voter, data: !voter, workers };
    let cluster = ClusterConfig {
        cluster: ClusterId(0xc2),
        nodes: vec![node(1, true, 1), node(2, false, 2), node(3, false, 2)],
        replicas: 2,
        shards_per_group: 4,
        heartbeat_ms: HEARTBEAT_MS,
        durability: protocol::control::Durability::default(),
    };
    let listeners: Vec<TcpListener> =
        (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let addresses = listeners.iter().map(|listener| listener.local_addr().unwrap());
    let addresses: BTreeMap<NodeId, SocketAddr> =
        [NodeId(1), NodeId(2), NodeId(3)].into_iter().zip(addresses).collect();
    drop(listeners);
    let start = |id: &NodeId| {
        let mut options = NodeOptions::new(cluster.clone(), *id, dir.into(), addresses[id]);
        options.node_addresses = addresses.clone();
        options.max_connections = max_connections;
        if *id != NodeId(1) {
            options.mysql_tcp = Some("127.0.0.1:0".parse().unwrap());
            options.mysql_unix = Some(dir.join(format!("node{id}.sock")));
        }
        NodeServer::start(options).unwrap()
    };
    let nodes: Vec<NodeServer> = addresses.keys().map(start).collect();
    for node in &nodes {
        assert!(node.wait_ready(LONG));
    }
    nodes
}

fn ask(dir: &Path, id: u16, request: Value) -> Value {
    let socket = NodeOptions::default_management_unix(dir, NodeId(id));
    management_request(&socket, &request, LONG).unwrap()
}

/// Every worker of every node answers, over TCP and unix sockets; what one node writes the other reads; the replicas are
/// equal afterwards, as management shows.
#[test]
fn statements_run_on_all_nodes_and_workers() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let nodes = start_all(dir, 100);
    let mut clients = Vec::new();
    for (index, id) in [(1, 2), (2, 3)] {
        for _ in 0..2 {
            clients.push(MysqlClient::tcp(nodes[index].mysql_tcp_address().unwrap()));
            clients.push(MysqlClient::unix(&dir.join(format!("node{id}.sock"))));
        }
    }
    for client in &mut clients {
        assert_eq!(client.query("SELECT 1"), rows(&[&["1"]]));
    }
    assert_eq!(clients[0].query("CREATE DATABASE shop"), Outcome::Ok);
    let create = "CREATE TABLE shop.t (id INT PRIMARY KEY, writer INT NOT NULL, INDEX (writer))";
    assert_eq!(clients[1].query(create), Outcome::Ok);
    for (index, client) in clients.iter_mut().enumerate() {
        for row in 0..25 {
            let id = index * 100 + row;
            let insert = format!("INSERT INTO shop.t VALUES ({id}, {index})");
            assert_eq!(client.query(&insert), Outcome::Ok, "{insert}");
        }
    }
    for client in &mut clients {
        let count = client.query("SELECT COUNT(*), SUM(writer) FROM shop.t");
        assert_eq!(count, rows(&[&["200", "700"]]));
        assert_eq!(client.query("SELECT writer FROM shop.t WHERE id = 307"), rows(&[&["3"]]));
    }
    assert_eq!(clients[5].query("INSERT INTO shop.t VALUES (307, 9)"), Outcome::Error(1062));

    let request = json!({"command": "partitions", "database": "shop", "table": "t"});
    let report = ask(dir, 3, request);
    assert_eq!(report["columns"][1], json!({"name": "writer", "type": "int", "nullable": false}));
    assert_eq!(report["indexes"][0]["kind"], json!("primary"));
    let partitions = report["partitions"].as_array().unwrap();
    assert_eq!(partitions.len(), 8);
    let mut row_count = 0;
    for pair in partitions.chunks(2) {
        assert_eq!(pair[0]["shard"], pair[1]["shard"]);
        assert_eq!((&pair[0]["role"], &pair[1]["role"]), (&json!("primary"), &json!("backup")));
        assert_eq!(pair[0]["rows"], pair[1]["rows"]);
        assert_eq!(pair[0]["checksum"], pair[1]["checksum"], "{report}");
        row_count += pair[0]["rows"].as_u64().unwrap();
    }
    assert_eq!(row_count, 200);
    let tables = ask(dir, 2, json!({"command": "tables"}));
    assert_eq!(tables["tables"][0]["table"], json!("t"));
}

/// KILL reaches a statement of another worker, and a client that leaves takes its statement with it.
#[test]
fn kill_crosses_workers() {
    let dir = tempfile::tempdir().unwrap();
    let nodes = start_all(dir.path(), 100);
    let address = nodes[1].mysql_tcp_address().unwrap();
    let (mut first, mut second) = (MysqlClient::tcp(address), MysqlClient::tcp(address));
    first.begin("SELECT SLEEP(25)");
    assert_eq!(second.query(&format!("KILL {}", first.id)), Outcome::Ok);
    assert!(matches!(first.end(), Outcome::Closed | Outcome::Error(1317)));
    assert_eq!(second.query("SELECT 1"), rows(&[&["1"]]));

    assert_eq!(second.query("CREATE DATABASE d"), Outcome::Ok);
    assert_eq!(second.query("CREATE TABLE d.t (id INT PRIMARY KEY, v INT)"), Outcome::Ok);
    assert_eq!(second.query("INSERT INTO d.t VALUES (1, 1)"), Outcome::Ok);
    let mut leaver = MysqlClient::tcp(address);
    assert_eq!(leaver.query("BEGIN"), Outcome::Ok);
    assert_eq!(leaver.query("UPDATE d.t SET v = 2 WHERE id = 1"), Outcome::Ok);
    second.begin("UPDATE d.t SET v = v + 10 WHERE id = 1");
    drop(leaver);
    assert_eq!(second.end(), Outcome::Ok);
    assert_eq!(second.query("SELECT v FROM d.t"), rows(&[&["11"]]));
}

/// One connection too many gets MySQL's error; a place that becomes free is used again.
#[test]
fn connections_are_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let nodes = start_all(dir.path(), 3);
    let address = nodes[2].mysql_tcp_address().unwrap();
    let mut clients: Vec<MysqlClient> = (0..3).map(|_| MysqlClient::tcp(address)).collect();
    let fourth = Box::new(TcpStream::connect(address).unwrap());
    assert_eq!(MysqlClient::log_in(fourth).err(), Some(1040));
    // COM_QUIT: the server closes when it has forgotten the connection.
    let mut leaver = clients.pop().unwrap();
    leaver.send(0, &[1]);
    assert_eq!(leaver.packet(), None);
    let mut next = MysqlClient::tcp(address);
    assert_eq!(next.query("SELECT 1"), rows(&[&["1"]]));
}

/// A node that ends lets a statement finish, closes idle connections, and leaves no row half written.
#[test]
fn a_node_ends_gracefully() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let nodes = start_all(dir, 100);
    let address = nodes[1].mysql_tcp_address().unwrap();
    let (mut idle, mut busy) = (MysqlClient::tcp(address), MysqlClient::tcp(address));
    assert_eq!(idle.query("SELECT 1"), rows(&[&["1"]]));
    busy.begin("SELECT SLEEP(0.3)");
    // The statement has begun when the node lists it.
    let listed = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%SLEEP(0%'";
    while idle.query(listed) != rows(&[&["2"]]) {}
    nodes[1].shutdown();
    assert_eq!(busy.end(), rows(&[&["0"]]));
    assert!(matches!(idle.end(), Outcome::Closed | Outcome::Error(1053)));
    nodes[1].wait();
    assert!(TcpStream::connect(address).is_err());
}

/// A statement that computes for long leaves the worker: another session of the same worker sees it run, KILL ends it at once,
/// and both nodes stay.
#[test]
fn long_computations_leave_the_worker() {
    let dir = tempfile::tempdir().unwrap();
    let nodes = start_all(dir.path(), 100);
    let address = nodes[1].mysql_tcp_address().unwrap();
    let mut long = MysqlClient::tcp(address);
    let mut other = MysqlClient::tcp(address);
    // Some hundred million steps of LIKE.
    let like = |count: u32| {
        format!("SELECT REPEAT('a', {count}) LIKE CONCAT('%', REPEAT('a', 1000), 'b') AS slow")
    };
    let running = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%AS slow'";
    for (count, kills) in [(300_000, false), (1_500_000, true)] {
        long.begin(&like(count));
        let is_seen = (0..10_000).any(|_| other.query(running) == rows(&[&["1"]]));
        assert!(is_seen, "the worker was held up");
        if kills {
            assert_eq!(other.query(&format!("KILL QUERY {}", long.id)), Outcome::Ok);
        }
        assert_eq!(long.end(), if kills { Outcome::Error(1317) } else { rows(&[&["0"]]) });
    }
    // At the rows it is refused.
    assert_eq!(other.query("CREATE DATABASE shop"), Outcome::Ok);
    assert_eq!(other.query("CREATE TABLE shop.t (id INT PRIMARY KEY, s TEXT)"), Outcome::Ok);
    assert_eq!(other.query("INSERT INTO shop.t VALUES (1, 'a')"), Outcome::Ok);
    for statement in [
        "SELECT id FROM shop.t WHERE REPEAT(s, 60000000) LIKE CONCAT('%', REPEAT(s, 1000000), 'b')",
        "UPDATE shop.t SET s = REPEAT(s, 60000000) REGEXP 'a{1,1000}b'",
        "SELECT SUM(REPEAT(s, 60000000) LIKE CONCAT('%', REPEAT(s, 1000000), 'b')) FROM shop.t",
    ] {
        assert_eq!(other.query(statement), Outcome::Error(50811), "{statement}");
    }
    assert_eq!(other.query("SELECT id, s FROM shop.t"), rows(&[&["1", "a"]]));
    // Sorts, and the ends of groups, that take long have their rows in order.
    for id in 2..=40 {
        assert_eq!(other.query(&format!("INSERT INTO shop.t VALUES ({id}, 'a')")), Outcome::Ok);
    }
    let sort = "SELECT id FROM shop.t ORDER BY CONCAT(REPEAT(s, 500000), 100 - id) LIMIT 3";
    assert_eq!(other.query(sort), rows(&[&["40"], &["39"], &["38"]]));
    let concatenated = "SELECT LENGTH(GROUP_CONCAT(REPEAT(s, 500000) ORDER BY id)) FROM shop.t";
    assert_eq!(other.query("SET group_concat_max_len = 30000000"), Outcome::Ok);
    assert_eq!(other.query(concatenated), rows(&[&["20000039"]]));
    let lost = "SELECT COUNT(*) FROM performance_schema.skarv_nodes WHERE state = 'unreachable'";
    assert_eq!(other.query(lost), rows(&[&["0"]]));
}

/// A panic in any layer ends its statement with error 1815 and its transaction with that, and nothing else: the row that
/// the transaction had locked is free, the connection and both nodes serve on, and the replicas are equal.
#[test]
fn panics_end_their_statements() {
    types::contain::let_tests_panic();
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let nodes = start_all(dir, 100);
    let mut client = MysqlClient::tcp(nodes[1].mysql_tcp_address().unwrap());
    let mut other = MysqlClient::tcp(nodes[2].mysql_tcp_address().unwrap());
    for statement in [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.t (id INT PRIMARY KEY, v INT NOT NULL, u INT, UNIQUE (u), INDEX (v))",
        "CREATE TABLE shop.copy (id INT PRIMARY KEY, v INT)",
    ] {
        assert_eq!(client.query(statement), Outcome::Ok, "{statement}");
    }
    for id in 0..40 {
        let insert = format!("INSERT INTO shop.t VALUES ({id}, {}, {id})", id % 7);
        assert_eq!(client.query(&insert), Outcome::Ok);
    }
    assert_eq!(other.query("SET innodb_lock_wait_timeout = 1"), Outcome::Ok);
    let sum = "SELECT COUNT(*), SUM(v) FROM shop.t";
    let before = client.query(sum);
    let statements = [
        // Parser, binder, an expression of the session.
        "SELECT SKARV_PANIC_PARSER()",
        "SELECT SKARV_PANIC_BINDER()",
        "SELECT SKARV_PANIC(1)",
        "SET @a = SKARV_PANIC(1)",
        "DO SKARV_PANIC(1)",
        "PREPARE s FROM 'SELECT SKARV_PANIC_BINDER()'",
        // Rows on their way to the client, sorted and grouped there.
        "SELECT SKARV_PANIC(v) FROM shop.t",
        "SELECT SKARV_PANIC(v) FROM shop.t WHERE id = 3",
        "SELECT id FROM shop.t ORDER BY SKARV_PANIC(v)",
        "SELECT DISTINCT SKARV_PANIC(v) FROM shop.t",
        "SELECT v, GROUP_CONCAT(id) FROM shop.t GROUP BY v HAVING SKARV_PANIC(v)",
        // Where the rows are: filters of scans and of keys, aggregates, assignments.
        "SELECT id FROM shop.t WHERE SKARV_PANIC(id)",
        "SELECT id FROM shop.t WHERE id = 5 AND SKARV_PANIC(v)",
        "SELECT id FROM shop.t WHERE u = 5 AND SKARV_PANIC(v)",
        "SELECT id FROM shop.t WHERE v = 5 AND SKARV_PANIC(u) FOR UPDATE",
        "SELECT SUM(SKARV_PANIC(v)) FROM shop.t",
        "SELECT v, COUNT(SKARV_PANIC(id)) FROM shop.t GROUP BY v",
        "SELECT COUNT(*) FROM shop.t GROUP BY SKARV_PANIC(id)",
        "UPDATE shop.t SET v = SKARV_PANIC(v)",
        "UPDATE shop.t SET v = SKARV_PANIC(v) WHERE id = 6",
        "UPDATE shop.t SET u = 1000 + id, v = IF(id = 39, SKARV_PANIC(v), v + 1)",
        "DELETE FROM shop.t WHERE id < 30 AND (id < 20 OR SKARV_PANIC(id))",
        "DELETE FROM shop.t WHERE id = 7 AND SKARV_PANIC(id)",
        "INSERT INTO shop.t VALUES (100, 1, 100), (101, SKARV_PANIC(1), 101)",
        "INSERT INTO shop.t VALUES (1, 1, 1) ON DUPLICATE KEY UPDATE v = SKARV_PANIC(v)",
        "INSERT INTO shop.copy SELECT id, SKARV_PANIC(v) FROM shop.t",
        "REPLACE INTO shop.t VALUES (1, SKARV_PANIC(1), 1)",
    ];
    for statement in statements {
        // Alone, and as part of a transaction.
        assert_eq!(client.query(statement), Outcome::Error(1815), "{statement}");
        assert_eq!(client.query("BEGIN"), Outcome::Ok);
        assert_eq!(client.query("UPDATE shop.t SET v = 1000 WHERE id = 39"), Outcome::Ok);
        assert_eq!(client.query(statement), Outcome::Error(1815), "{statement}");
        let free = other.query("UPDATE shop.t SET v = v WHERE id >= 0");
        assert_eq!(free, Outcome::Ok, "{statement} has left locks");
        assert_eq!(client.query(sum), before, "{statement}");
        assert_eq!(client.query("SELECT COUNT(*) FROM shop.copy"), rows(&[&["0"]]));
    }
    let report = ask(dir, 3, json!({"command": "partitions", "database": "shop", "table": "t"}));
    for pair in report["partitions"].as_array().unwrap().chunks(2) {
        assert_eq!(pair[0]["checksum"], pair[1]["checksum"], "{report}");
    }
    let log = std::fs::read_to_string(dir.join("node2.log")).unwrap();
    assert!(
        log.contains("ended a statement") && log.contains("SKARV_PANIC was evaluated"),
        "{log}"
    );
}
