//! The nodes and their states, put together for `skarv mgm`.
//!
//! One node reports about all. It sees the others as cluster members: one that runs but is not
//! admitted (a node that was started again, or is still starting) is `unreachable` to it. Such a
//! node is asked itself, where its management socket is at hand; only one that does not answer
//! either is `down`.

use serde_json::{Map, Value, json};

use crate::manage::Nodes;
use crate::size::human;
use crate::status_file::{NodeStatus, Status};

/// Facts about every node, in the order of ids: the nodes' reports, with `group`, `port`, `socket`
/// and `pid` of `cluster.json`. `state` is "started", "starting", "joining", "stopping", "down", or
/// "stopped" upon an operator's request.
pub fn nodes(cluster: &Nodes) -> Vec<Map<String, Value>> {
    let answer = cluster.ask_any(&json!({"command": "status"})).unwrap_or(Value::Null);
    let mut nodes: Vec<Map<String, Value>> = match answer["nodes"].as_array() {
        Some(nodes) => nodes.iter().filter_map(|node| node.as_object().cloned()).collect(),
        None => cluster.sockets.iter().map(|(id, _)| unknown(*id)).collect(),
    };
    // As it is now: whoever asks again and again sees it change.
    let status = Status::read(&cluster.dir).ok().flatten();
    for node in &mut nodes {
        let Some(id) =
            node.get("node").and_then(Value::as_u64).and_then(|id| u16::try_from(id).ok())
        else {
            continue;
        };
        if !is_seen(node) {
            *node = own_view(cluster, id, node);
        }
        let known = status.iter().flat_map(|status| &status.nodes).find(|node| node.id == id);
        if let Some(known) = known {
            complete(node, known);
        }
    }
    nodes.sort_by_key(|node| node.get("node").and_then(Value::as_u64));
    nodes
}

fn unknown(id: u16) -> Map<String, Value> {
    Map::from_iter([("node".into(), json!(id)), ("state".into(), json!("down"))])
}

/// What a node says of itself when the others do not know.
fn own_view(cluster: &Nodes, id: u16, seen: &Map<String, Value>) -> Map<String, Value> {
    let mut down = seen.clone();
    down.insert("state".into(), json!("down"));
    let Some(answer) = cluster.ask(id, &json!({"command": "status"})) else { return down };
    let own = answer["nodes"].as_array().and_then(|nodes| {
        nodes.iter().filter_map(Value::as_object).find(|node| node.get("node") == Some(&json!(id)))
    });
    match own {
        Some(own) if is_seen(own) => own.clone(),
        _ => {
            // It answers, so it runs.
            down.insert("state".into(), json!("starting"));
            down
        }
    }
}

fn is_seen(node: &Map<String, Value>) -> bool {
    matches!(text(node, "state"), "started" | "starting" | "joining" | "stopping")
}

fn complete(node: &mut Map<String, Value>, known: &NodeStatus) {
    let roles: Vec<&str> = known.roles.iter().map(|role| role.name()).collect();
    node.insert("roles".into(), json!(roles));
    node.insert("group".into(), json!(known.group));
    node.insert("port".into(), json!(known.port));
    node.insert("socket".into(), json!(known.socket));
    node.insert("pid".into(), json!(known.pid));
    node.insert("restarts".into(), json!(known.restarts));
    if known.stopped && text(node, "state") == "down" {
        node.insert("state".into(), json!("stopped"));
    }
}

pub fn text<'a>(node: &'a Map<String, Value>, field: &str) -> &'a str {
    node.get(field).and_then(Value::as_str).unwrap_or("")
}

/// A number, or "-" where there is none.
fn number(node: &Map<String, Value>, field: &str) -> String {
    node.get(field).and_then(Value::as_u64).map_or_else(|| "-".into(), |number| number.to_string())
}

/// A node outside all node groups has no view.
fn view(node: &Map<String, Value>) -> String {
    let view = number(node, "view");
    if view == "0" { "-".into() } else { view }
}

fn roles(node: &Map<String, Value>) -> String {
    let roles = node.get("roles").and_then(Value::as_array);
    let names: Vec<&str> = roles.into_iter().flatten().filter_map(Value::as_str).collect();
    names.join(",")
}

fn is(node: &Map<String, Value>, field: &str) -> bool {
    node.get(field) == Some(&json!(true))
}

/// The line of SHOW.
pub fn show_line(node: &Map<String, Value>) -> String {
    let mut line = format!(
        "id={:<3} {:<9} {:<15} port={:<6} group={:<3} view={:<4}",
        number(node, "node"),
        text(node, "state"),
        roles(node),
        number(node, "port"),
        number(node, "group"),
        view(node),
    );
    if is(node, "control_leader") {
        line.push_str(" *");
    }
    if is(node, "sequencer") {
        line.push_str(" sequencer");
    }
    line.trim_end().to_owned()
}

/// The line of ALL STATUS.
pub fn status_line(node: &Map<String, Value>) -> String {
    let state = text(node, "state");
    if matches!(state, "down" | "stopped") {
        return format!("id={:<3} {state}", number(node, "node"));
    }
    format!(
        "id={:<3} {state:<9} uptime={}s leads={} transactions_open={} locks_held={} commits={} aborts={} messages_sent={}",
        number(node, "node"),
        number(node, "uptime_seconds"),
        number(node, "shards_led"),
        number(node, "transactions_open"),
        number(node, "locks_held"),
        number(node, "commits"),
        number(node, "aborts"),
        number(node, "messages_sent"),
    ) + &fills(node)
        + &waits_for(node)
        + disk_room(node)
}

/// How far the node has filled one that came back; nothing if there is none.
pub fn fills(node: &Map<String, Value>) -> String {
    let count = |field: &str| node.get(field).and_then(Value::as_u64);
    let (Some(other), Some(rows), Some(expected), Some(bytes)) = (
        count("fills_node"),
        count("fills_rows"),
        count("fills_rows_expected"),
        count("fills_bytes"),
    ) else {
        return String::new();
    };
    let left = count("fills_microseconds_left");
    let left = left.map_or("-".into(), |left| format!("{:.0} s", left as f64 / 1e6));
    format!(" fills node {other}: {rows} of {expected} rows, {}, {left} left", human(bytes))
}

/// The nodes that acknowledge late what this one sends them.
fn waits_for(node: &Map<String, Value>) -> String {
    let nodes = node.get("waits_for").and_then(Value::as_array);
    let nodes = nodes.into_iter().flatten().filter_map(Value::as_u64);
    nodes.map(|late| format!(" waits for node {late}, which acknowledges late")).collect()
}

/// What is wrong with the disk of the node, if something is.
fn disk_room(node: &Map<String, Value>) -> &'static str {
    match text(node, "disk_room") {
        "reserve" => " its disk is full: only deletes are written",
        "none" => " its disk is full: nothing is written",
        "failed" => " its disk has failed",
        _ => "",
    }
}

/// The lines of <id> STATUS: every fact, one a line.
pub fn status_details(node: &Map<String, Value>) -> String {
    let mut lines =
        vec![format!("id={} {} {}", number(node, "node"), text(node, "state"), roles(node))];
    for (field, value) in node {
        if matches!(field.as_str(), "node" | "state" | "roles") || value.is_null() {
            continue;
        }
        let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        lines.push(format!("  {field:<18} {shown}"));
    }
    lines.join("\n")
}

/// The lines of REPORT MEMORY for one entry of the answer.
pub fn memory_lines(entry: &Value) -> String {
    let id = entry["node"].as_u64().unwrap_or(0);
    let (Some(used), Some(limit)) = (entry["used_bytes"].as_u64(), entry["limit_bytes"].as_u64())
    else {
        return format!("id={id:<3} {}", entry["error"].as_str().unwrap_or("no answer"));
    };
    let percent = if limit == 0 { 0.0 } else { used as f64 * 100.0 / limit as f64 };
    let mut lines =
        vec![format!("id={id:<3} used={} of {} ({percent:.1} %)", human(used), human(limit))];
    for table in entry["tables"].as_array().into_iter().flatten() {
        lines.push(format!(
            "       {:<40} {:>12} rows {:>12}",
            table["name"].as_str().unwrap_or("?"),
            table["rows"].as_u64().unwrap_or(0),
            human(table["bytes"].as_u64().unwrap_or(0)),
        ));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().expect("an object").clone()
    }

    #[test]
    fn lines_say_what_nodes_say() {
        let node = object(json!({
            "node": 2, "state": "started", "roles": ["data", "sql", "voter"], "port": 3306, "group": 0, "view": 1,
            "control_leader": true, "sequencer": true, "uptime_seconds": 5, "transactions_open": 1, "locks_held": 2,
            "shards_led": 8, "commits": 3, "aborts": 4, "messages_sent": 5, "address": "127.0.0.1:4001",
        }));
        assert_eq!(
            show_line(&node),
            "id=2   started   data,sql,voter  port=3306   group=0   view=1    * sequencer"
        );
        assert_eq!(
            status_line(&node),
            "id=2   started   uptime=5s leads=8 transactions_open=1 locks_held=2 commits=3 aborts=4 messages_sent=5"
        );
        assert!(status_details(&node).contains("\n  address            127.0.0.1:4001"));
        let mut filling = node.clone();
        for (field, value) in [("node", 3), ("rows", 250), ("rows_expected", 1_000)] {
            filling.insert(format!("fills_{field}"), json!(value));
        }
        filling.insert("fills_bytes".into(), json!(2 << 20));
        filling.insert("fills_microseconds_left".into(), json!(15_000_000));
        let line = status_line(&filling);
        assert!(line.ends_with(" fills node 3: 250 of 1000 rows, 2.0 MiB, 15 s left"), "{line}");
        let down = unknown(13);
        assert_eq!(
            show_line(&down),
            "id=13  down                      port=-      group=-   view=-"
        );
        assert_eq!(status_line(&down), "id=13  down");
    }

    #[test]
    fn memory_is_told_by_table() {
        let entry = json!({"node": 2, "used_bytes": 1 << 20, "limit_bytes": 4 << 20,
            "tables": [{"table": 5, "name": "db.t", "rows": 7, "bytes": 2048}]});
        let lines = memory_lines(&entry);
        assert!(lines.starts_with("id=2   used=1.0 MiB of 4.0 MiB (25.0 %)\n"), "{lines}");
        assert!(
            lines.contains("db.t") && lines.contains("7 rows") && lines.contains("2.0 KiB"),
            "{lines}"
        );
        assert_eq!(memory_lines(&json!({"node": 3, "error": "unreachable"})), "id=3   unreachable");
    }
}
