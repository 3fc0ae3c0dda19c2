//! The management socket: one JSON request a line, one JSON answer a line. For `skarv mgm`, `skarv desc` and scripts.
//!
//! Only the node's owner may connect (mode 0600), so there is no authentication. Requests for the
//! state of other nodes go through a session of worker 0 like any other, as a task on its executor;
//! a node that does not answer within 2 s is listed as unreachable, beside the answers of the
//! others.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use client::task::Executor;
use client::{Client, NodeStatus, PartitionReport, Report, ReportRequest};
use mio::event::Source;
use mio::{Interest, Registry, Token};
use serde_json::{Map, Value, json};
use slab::Slab;
use types::{Catalogue, Incarnation, IndexKind, NodeId};

use crate::clock;
use crate::front::{Noted, Polled};
use crate::inbox::Item;
use crate::jobs::{Jobs, words};
use crate::limits::{MANAGEMENT_CONNECTIONS_MAX, MANAGEMENT_LINE_MAX};
use crate::server::Shared;
use crate::stream::{Stream, Transfer};

pub struct Management {
    shared: Arc<Shared>,
    token: fn(usize) -> Token,
    connections: Slab<Connection>,
    polled: Polled,
    jobs: Rc<Jobs>,
}

struct Connection {
    stream: Stream,
    /// Requests that are not answered yet, the last perhaps without its end.
    input: Vec<u8>,
    output: Vec<u8>,
    sent: usize,
    /// The answer to the request being worked on, when it is there.
    answer: Option<Rc<RefCell<Option<String>>>>,
    blocked: bool,
}

impl Management {
    pub fn new(shared: Arc<Shared>, client: &Client, token: fn(usize) -> Token) -> Management {
        let jobs = Rc::new(Jobs::new(Arc::clone(&shared)));
        jobs.begin(client);
        Management { shared, token, connections: Slab::new(), polled: Polled::default(), jobs }
    }

    pub fn add(&mut self, mut stream: Stream, registry: &Registry) {
        if self.connections.len() >= MANAGEMENT_CONNECTIONS_MAX {
            let _ = stream.write(b"{\"error\":\"too many management connections\"}\n");
            return;
        }
        let entry = self.connections.vacant_entry();
        let token = (self.token)(entry.key());
        let interest = Interest::READABLE | Interest::WRITABLE;
        if stream.register(registry, token, interest).is_ok() {
            entry.insert(Connection {
                stream,
                input: Vec::new(),
                output: Vec::new(),
                sent: 0,
                answer: None,
                blocked: false,
            });
        }
    }

    /// The socket is ready for something.
    pub fn on_ready(
        &mut self,
        index: usize,
        buffer: &mut [u8],
        client: &Client,
        executor: &mut Executor,
    ) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        connection.blocked = false;
        loop {
            match connection.stream.read(buffer) {
                Transfer::Bytes(size) => connection.input.extend_from_slice(&buffer[..size]),
                Transfer::Blocked => break,
                Transfer::Ended(_) => {
                    self.connections.remove(index);
                    return;
                }
            }
            let begins = connection.input.iter().find(|byte| !byte.is_ascii_whitespace());
            if begins.is_some_and(|byte| !b"{[".contains(byte)) {
                // Another protocol, which may never end its line.
                let _ = connection.stream.write(b"{\"error\":\"the request is not JSON\"}\n");
                self.connections.remove(index);
                return;
            }
            if connection.input.len() > MANAGEMENT_LINE_MAX {
                let _ = connection.stream.write(b"{\"error\":\"the request is too long\"}\n");
                self.connections.remove(index);
                return;
            }
        }
        self.begin_request(index, client, executor);
        self.polled.borrow_mut().push(index);
    }

    /// Takes the next line on, if there is one and nothing is being answered.
    fn begin_request(&mut self, index: usize, client: &Client, executor: &mut Executor) {
        let Some(connection) = self.connections.get_mut(index) else { return };
        if connection.answer.is_some() {
            return;
        }
        let Some(end) = connection.input.iter().position(|byte| *byte == b'\n') else { return };
        let line: Vec<u8> = connection.input.drain(..=end).collect();
        let answer = Rc::new(RefCell::new(None));
        connection.answer = Some(Rc::clone(&answer));
        let (shared, client, jobs) =
            (Arc::clone(&self.shared), client.clone(), Rc::clone(&self.jobs));
        let task = async move {
            let value = match serde_json::from_slice::<Value>(&line) {
                Ok(request) => answer_request(&shared, &client, &jobs, &request).await,
                Err(error) => Err(format!("the request is not JSON: {error}")),
            };
            let value = value.unwrap_or_else(|error| json!({ "error": error }));
            *answer.borrow_mut() = Some(format!("{value}\n"));
        };
        executor.spawn(Box::pin(Noted::new(index, &self.polled, Box::pin(task))));
    }

    /// Sends answers that are there. False if nothing was polled since the last time.
    pub fn flush(&mut self, client: &Client, executor: &mut Executor) -> bool {
        let spawned = self.jobs.take_spawned();
        let has_spawned = !spawned.is_empty();
        for job in spawned {
            executor.spawn(job);
        }
        let polled = std::mem::take(&mut *self.polled.borrow_mut());
        for index in &polled {
            let Some(connection) = self.connections.get_mut(*index) else { continue };
            let taken = connection.answer.as_ref().and_then(|answer| answer.borrow_mut().take());
            if let Some(text) = taken {
                connection.answer = None;
                connection.output.extend_from_slice(text.as_bytes());
            }
            if connection.send() {
                self.begin_request(*index, client, executor);
            } else {
                self.connections.remove(*index);
            }
        }
        has_spawned || !polled.is_empty()
    }
}

impl Connection {
    /// False if the connection is broken.
    fn send(&mut self) -> bool {
        while !self.blocked && self.sent < self.output.len() {
            match self.stream.write(&self.output[self.sent..]) {
                Transfer::Bytes(size) => self.sent += size,
                Transfer::Blocked => self.blocked = true,
                Transfer::Ended(_) => return false,
            }
        }
        if self.sent == self.output.len() {
            self.output.clear();
            self.sent = 0;
        }
        true
    }
}

async fn answer_request(
    shared: &Arc<Shared>,
    client: &Client,
    jobs: &Rc<Jobs>,
    request: &Value,
) -> Result<Value, String> {
    let text = |name: &str| request.get(name).and_then(Value::as_str);
    let Some(command) = text("command") else {
        return Err("a request is {\"command\": \"ping\", ...}".into());
    };
    match command {
        "ping" => Ok(json!({
            "ok": true,
            "node": shared.options.node.0,
            "pid": std::process::id(),
            "incarnation": shared.node.incarnation.text(),
            "ready": shared.is_ready(),
            "data": shared.store.is_some(),
        })),
        "status" => Ok(status(shared, client).await),
        "memory" => Ok(memory(client).await),
        "tables" => Ok(tables(&client.catalogue())),
        "partitions" => {
            let (Some(database), Some(table)) = (text("database"), text("table")) else {
                return Err("partitions needs \"database\" and \"table\"".into());
            };
            partitions(client, database, table).await
        }
        "node_died" => {
            let node = request.get("node").and_then(Value::as_u64);
            let node = node.and_then(|id| u16::try_from(id).ok()).map(NodeId);
            let boot = text("incarnation").and_then(|text| u64::from_str_radix(text, 16).ok());
            let (Some(node), Some(boot)) = (node, boot) else {
                return Err("node_died needs \"node\" and \"incarnation\"".into());
            };
            if shared.options.cluster.node(node).is_none() || node == shared.options.node {
                return Err(format!("node {node} is not another node of this cluster"));
            }
            shared.log.info(&format!(
                "node {node} is dead: its process (incarnation {boot:016x}) was reaped"
            ));
            shared.inboxes[0].push(Item::NodeDied { node, incarnation: Incarnation(boot) });
            Ok(json!({ "ok": true }))
        }
        "stop_node" => {
            let node = request.get("node").and_then(Value::as_u64);
            let Some(node) = node.and_then(|id| u16::try_from(id).ok()).map(NodeId) else {
                return Err("stop_node needs \"node\"".into());
            };
            let restart = request.get("restart").and_then(Value::as_bool).unwrap_or(false);
            let asked = client.session().stop_node(node, restart).await;
            asked.map(|()| json!({ "ok": true })).map_err(|refusal| words(refusal, client))
        }
        "start_backup" => jobs.start_backup(client, request).await,
        "backups" => Ok(jobs.backups()),
        "abort_backup" => jobs.abort_backup(request),
        "restore" => jobs.start_restore(client, request),
        "restore_status" => Ok(jobs.restore_status()),
        "abort_restore" => jobs.abort_restore(),
        "rest" => Ok(json!({ "ok": true, "rested": shared.rest() })),
        "stop" => {
            // Who ends a process of its own names it: another one may have the directory.
            let wanted = request.get("pid").and_then(Value::as_u64);
            let own = std::process::id();
            if wanted.is_some_and(|pid| pid != u64::from(own)) {
                return Err(format!("this is process {own}, and another one is to stop"));
            }
            shared.log.info("stop: asked for on the management socket");
            shared.begin_shutdown();
            Ok(json!({ "ok": true }))
        }
        other => Err(format!(
            "unknown command {other:?}: ping, status, memory, tables, partitions, node_died, stop_node, \
             start_backup, backups, abort_backup, restore, restore_status, abort_restore, rest and stop are known"
        )),
    }
}

async fn status(shared: &Shared, client: &Client) -> Value {
    let reports = client.session().report(None, ReportRequest::Status).await;
    let nodes: Vec<Value> =
        reports.iter().map(|(node, report)| status_of_node(shared, *node, report)).collect();
    let options = &shared.options;
    let address = |node: NodeId| options.node_addresses.get(&node).map(ToString::to_string);
    json!({
        "node": options.node.0,
        "pid": std::process::id(),
        "incarnation": shared.node.incarnation.text(),
        "version": options.version_text,
        "ready": shared.is_ready(),
        "uptime_seconds": (clock::now() - shared.started) / 1_000_000,
        "mysql_tcp": shared.mysql_tcp.map(|address| address.to_string()),
        "mysql_unix": options.mysql_unix.as_ref().map(|path| path.display().to_string()),
        "node_address": address(options.node),
        "connections": shared.sql.connection_count(),
        "links_up": shared.links_up.load(Ordering::Relaxed),
        "links": shared.link_count(),
        "nodes": nodes,
    })
}

fn status_of_node(shared: &Shared, node: NodeId, report: &Report) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.into(), value);
    let config = shared.options.cluster.node(node);
    let mut roles = Vec::new();
    if config.is_some_and(|config| config.voter) {
        roles.push("voter");
    }
    if config.is_some_and(|config| config.data) {
        roles.push("data");
    }
    put("node", json!(node.0));
    put("roles", json!(roles));
    put("address", json!(shared.options.node_addresses.get(&node).map(ToString::to_string)));
    let Report::Status(status) = report else {
        put("state", json!("unreachable"));
        return Value::Object(fields);
    };
    let NodeStatus {
        node: _,
        incarnation,
        state,
        view,
        shards_led,
        control_leader,
        sequencer,
        uptime_seconds,
        transactions_open,
        locks_held,
        commits,
        aborts,
        messages_sent,
        fills,
        late,
        room,
    } = status;
    put("state", json!(state.name()));
    put("incarnation", json!(incarnation.text()));
    put("view", json!(view.0));
    put("shards_led", json!(shards_led));
    put("control_leader", json!(control_leader));
    put("sequencer", json!(sequencer));
    put("uptime_seconds", json!(uptime_seconds));
    put("transactions_open", json!(transactions_open));
    put("locks_held", json!(locks_held));
    put("commits", json!(commits));
    put("aborts", json!(aborts));
    put("messages_sent", json!(messages_sent));
    put("disk_room", json!(room.name()));
    if !late.is_empty() {
        put("waits_for", json!(late.iter().map(|node| node.0).collect::<Vec<_>>()));
    }
    if let Some(fills) = fills {
        put("fills_node", json!(fills.node.0));
        put("fills_rows", json!(fills.rows));
        put("fills_rows_expected", json!(fills.rows_expected));
        put("fills_bytes", json!(fills.bytes));
        put("fills_microseconds", json!(fills.microseconds));
        put("fills_microseconds_left", json!(fills.microseconds_left()));
    }
    Value::Object(fields)
}

async fn memory(client: &Client) -> Value {
    let reports = client.session().report(None, ReportRequest::Memory).await;
    let nodes: Vec<Value> = reports
        .into_iter()
        .map(|(node, report)| match report {
            Report::Memory(memory) => json!({
                "node": node.0,
                "used_bytes": memory.used_bytes,
                "limit_bytes": memory.limit_bytes,
                "tables": memory.tables.iter().map(|table| json!({
                    "table": table.table.0,
                    "name": table.name,
                    "rows": table.rows,
                    "bytes": table.bytes,
                })).collect::<Vec<_>>(),
            }),
            Report::Partitions(_)
            | Report::Statistics(_)
            | Report::Status(_)
            | Report::Sessions(_)
            | Report::Locks(_)
            | Report::Holdings(_)
            | Report::Deadlocks(_)
            | Report::Outcome(_)
            | Report::Backup(_)
            | Report::Unreachable => {
                json!({ "node": node.0, "error": "unreachable" })
            }
        })
        .collect();
    json!({ "nodes": nodes })
}

fn tables(catalogue: &Catalogue) -> Value {
    let mut tables = Vec::new();
    for database in catalogue.databases.values() {
        for (name, id) in &database.tables {
            tables.push(json!({ "database": database.name, "table": name, "id": id.0 }));
        }
    }
    json!({ "tables": tables })
}

async fn partitions(client: &Client, database: &str, name: &str) -> Result<Value, String> {
    let catalogue = client.catalogue();
    let found = catalogue.databases.get(&database.to_lowercase());
    let id = found.and_then(|database| database.tables.get(name));
    let Some(table) = id.and_then(|id| catalogue.tables.get(id)) else {
        return Err(format!("there is no table {database}.{name}"));
    };
    let request = ReportRequest::Partitions { table: table.id };
    let reports = client.session().report(None, request).await;
    let mut found: Vec<PartitionReport> = Vec::new();
    let mut unreachable = Vec::new();
    for (node, report) in reports {
        match report {
            Report::Partitions(partitions) => found.extend(partitions),
            Report::Memory(_)
            | Report::Status(_)
            | Report::Sessions(_)
            | Report::Locks(_)
            | Report::Holdings(_)
            | Report::Deadlocks(_)
            | Report::Outcome(_)
            | Report::Backup(_)
            | Report::Statistics(_)
            | Report::Unreachable => unreachable.push(node.0),
        }
    }
    found.sort_by_key(|partition| (partition.shard, !partition.primary, partition.node));
    let partitions: Vec<Value> = found
        .iter()
        .map(|partition| {
            json!({
                "shard": partition.shard.0,
                "node": partition.node.0,
                "role": if partition.primary { "primary" } else { "backup" },
                "rows": partition.rows,
                "bytes": partition.bytes,
                "checksum": format!("{:016x}", partition.checksum),
            })
        })
        .collect();
    let columns: Vec<Value> = table
        .columns
        .iter()
        .filter(|column| !column.hidden)
        .map(|column| {
            json!({
                "name": column.name,
                "type": column.column_type.sql_name(),
                "nullable": column.nullable,
            })
        })
        .collect();
    let indexes: Vec<Value> = table
        .indexes
        .iter()
        .map(|index| {
            let column = |position: u16| table.columns[usize::from(position)].name.as_str();
            json!({
                "name": index.name,
                "kind": match index.kind {
                    IndexKind::Primary => "primary",
                    IndexKind::Unique { .. } => "unique",
                    IndexKind::Ordinary => "ordered",
                },
                "columns": index.parts.iter().map(|part| column(part.column)).collect::<Vec<_>>(),
            })
        })
        .collect();
    Ok(json!({
        "database": database,
        "table": name,
        "id": table.id.0,
        "version": table.version.0,
        "engine": table.engine,
        "collation": table.collation.name(),
        "columns": columns,
        "indexes": indexes,
        "partitions": partitions,
        "unreachable": unreachable,
    }))
}
