//! Planned changes of single nodes: `skarv mgm`'s STOP, START and RESTART.
//!
//! The request to stop a node goes to any other node, which refuses it at once with the reason
//! where needed; then this waits and prints the progress. A start is the work of the supervisor on
//! the node's machine.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::manage::{self, Nodes};
use crate::{requests, show};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Stop,
    Start,
    Restart,
}

const POLL: Duration = Duration::from_millis(100);
/// Between two lines about what takes long.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);
/// Clients are sent away within 6 s, and a node hands over within 30 s or serves again.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
/// A node that is filled takes as long as its rows take; one that makes no progress is not waited for.
const STANDSTILL_MAX: Duration = Duration::from_secs(60);

/// Does it, and waits until it is done; what became of it. Progress goes to `say`.
pub fn run(change: Change, id: u16, cluster: &Nodes, say: impl Fn(&str)) -> Result<String, String> {
    let began = Instant::now();
    let before = look(cluster, id)?;
    if change != Change::Start {
        let restart = change == Change::Restart;
        cluster.ask_any(&json!({"command": "stop_node", "node": id, "restart": restart}))?;
        wait_stopped(change, id, cluster, &before, &say)?;
    }
    match change {
        Change::Stop => {
            return Ok(format!(
                "node {id} is stopped after {:.1} s",
                began.elapsed().as_secs_f64()
            ));
        }
        Change::Start => start(id, cluster, &before)?,
        Change::Restart => {}
    }
    wait_started(id, cluster, &before, &say)?;
    Ok(format!("node {id} is started after {:.1} s", began.elapsed().as_secs_f64()))
}

fn look(cluster: &Nodes, id: u16) -> Result<Map<String, Value>, String> {
    let nodes = show::nodes(cluster);
    let node = nodes.into_iter().find(|node| node.get("node") == Some(&json!(id)));
    node.ok_or_else(|| format!("there is no node {id}; SHOW lists the nodes"))
}

fn start(id: u16, cluster: &Nodes, before: &Map<String, Value>) -> Result<(), String> {
    if !is_down(before) {
        return Err(format!("node {id} runs: it is {}", show::text(before, "state")));
    }
    let socket = requests::path_in(&cluster.dir);
    let asked = manage::request(&socket, &json!({"command": "start", "node": id}));
    asked.map(|_| ()).map_err(|error| match error {
        io::ManagementError::NotRunning => format!(
            "no `skarv up` looks after node {id} here: `skarv server --node {id}` with its --config or --dir starts it on its machine"
        ),
        error => error.to_string(),
    })
}

fn is_down(node: &Map<String, Value>) -> bool {
    matches!(show::text(node, "state"), "down" | "stopped")
}

/// Until the process that was there has ended.
fn wait_stopped(
    change: Change,
    id: u16,
    cluster: &Nodes,
    before: &Map<String, Value>,
    say: &impl Fn(&str),
) -> Result<(), String> {
    let began = Instant::now();
    let mut said = began;
    let mut was_stopping = false;
    loop {
        let now = look(cluster, id)?;
        let state = show::text(&now, "state");
        match (change, is_another(&now, before)) {
            (Change::Restart, true) => return Ok(()),
            (_, true) => {
                return Err(format!("node {id} was started again meanwhile, and is {state}"));
            }
            (_, false) if has_ended(change, id, cluster, &now) => return Ok(()),
            (_, false) => {}
        }
        if was_stopping && state == "started" {
            return Err(format!(
                "node {id} does not stop, and serves again: its log says why, and what to do"
            ));
        }
        was_stopping |= state == "stopping";
        if began.elapsed() > STOP_TIMEOUT {
            return Err(format!("node {id} was asked to stop and is {state}: see its log"));
        }
        if said.elapsed() > PROGRESS_INTERVAL {
            said = Instant::now();
            let seconds = began.elapsed().as_secs();
            say(&format!(
                "node {id} is {state}: it waits for transactions that have begun, {seconds} s by now"
            ));
        }
        std::thread::sleep(POLL);
    }
}

/// Is the process over, for good if the node is to be stopped? A node is out of the cluster a moment before, and its supervisor knows
/// a moment later.
fn has_ended(change: Change, id: u16, cluster: &Nodes, now: &Map<String, Value>) -> bool {
    let is_supervised = now.contains_key("restarts");
    match show::text(now, "state") {
        "stopped" => true,
        "down" if is_supervised => change == Change::Restart,
        "down" => !cluster.may_run(id),
        _ => false,
    }
}

/// Until another boot of the node serves.
fn wait_started(
    id: u16,
    cluster: &Nodes,
    before: &Map<String, Value>,
    say: &impl Fn(&str),
) -> Result<(), String> {
    let mut said = Instant::now();
    let mut progress = (Instant::now(), Value::Null);
    loop {
        let nodes = show::nodes(cluster);
        let is_it = |node: &Map<String, Value>, field| node.get(field) == Some(&json!(id));
        let Some(now) = nodes.iter().find(|node| is_it(node, "node")) else {
            return Err(cluster.nothing_runs());
        };
        if show::text(now, "state") == "started" && is_another(now, before) {
            return Ok(());
        }
        let filler = nodes.iter().find(|node| is_it(node, "fills_node"));
        let seen = json!([now.get("state"), filler.and_then(|node| node.get("fills_rows"))]);
        // A copy is compared in the end, which moves no rows.
        if seen != progress.1 || filler.is_some() {
            progress = (Instant::now(), seen);
        }
        if progress.0.elapsed() > STANDSTILL_MAX {
            return Err(format!(
                "node {id} is {}, and has made no progress for {} s: see its log, and ALL STATUS",
                show::text(now, "state"),
                STANDSTILL_MAX.as_secs()
            ));
        }
        if said.elapsed() > PROGRESS_INTERVAL {
            said = Instant::now();
            let fills = filler.map_or_else(String::new, show::fills);
            say(&format!("node {id} is {}{fills}", show::text(now, "state")));
        }
        std::thread::sleep(POLL);
    }
}

/// Is it another boot of the node, or one where there was none?
fn is_another(now: &Map<String, Value>, before: &Map<String, Value>) -> bool {
    now.get("incarnation").is_some_and(|boot| Some(boot) != before.get("incarnation"))
}
