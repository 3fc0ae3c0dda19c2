//! skarv.restart_info and skarv.lost_transactions: the checkpoint, the durations and the losses of
//! the last cluster restart.
//!
//! The control plane keeps them, so every node answers the same, also nodes that came later.

use client::{LostRange, LostTransaction, NodeLoaded, RestartReport};
use types::convert::SqlWarning;
use types::{Timestamp, Value};

use super::activity::optional;
use super::{number, text};
use crate::error::code;
use crate::session::Session;

pub const INFO_COLUMNS: [&str; 21] = [
    "#NODE_ID",
    "#LINEAGE",
    "#LINEAGE_BEFORE",
    "RESTORED_UP_TO",
    "NOTHING_LOST",
    "LOSSY",
    "#LOST_TRANSACTIONS",
    "LOST_FROM",
    "LOST_TO",
    "#LOST_ON_THIS_DISK",
    "#PARTS",
    "#CHECKPOINT_ROWS",
    "#CHECKPOINT_BYTES",
    "#LOG_ENTRIES",
    "#LOG_BYTES",
    "#LOOKED_MS",
    "#WAITED_MS",
    "#LOADED_MS",
    "#WAITED_FOR_OTHERS_MS",
    "#TOTAL_MS",
    "#MB_PER_SECOND_A_CORE",
];
pub const LOST_COLUMNS: [&str; 3] = ["TRANSACTION_ID", "COMMITTED_AT", "#NODE_ID"];

/// A row for each node that has loaded rows from its disk.
pub fn info(session: &Session) -> Vec<Vec<Value>> {
    let Some(report) = session.client.client().restarted() else { return Vec::new() };
    report.nodes.iter().map(|node| info_row(&report, node)).collect()
}

/// The transactions, in the order of their timestamps; a warning counts those left out.
pub fn lost(session: &Session, warnings: &mut Vec<SqlWarning>) -> Vec<Vec<Value>> {
    let Some(report) = session.client.client().restarted() else { return Vec::new() };
    let left_out = report.lost.count.saturating_sub(report.lost_first.len() as u64);
    if 0 < left_out {
        let message = format!("{left_out} transactions were left out: there are too many");
        warnings.push(SqlWarning::warning(code::ER_UNKNOWN_ERROR, message));
    }
    let row = |LostTransaction { commit, ts, node }: &LostTransaction| {
        vec![text(commit.to_string()), timestamp(*ts), number(u64::from(node.0))]
    };
    report.lost_first.iter().map(row).collect()
}

fn info_row(report: &RestartReport, node: &NodeLoaded) -> Vec<Value> {
    let LostRange { count, oldest, newest } = report.lost;
    let total_us = node.looked_us + node.waited_us + node.loaded_us + node.others_us;
    let ms = |microseconds: u64| number(microseconds / 1_000);
    vec![
        number(u64::from(node.node.0)),
        number(report.lineage.0),
        number(report.ended.0),
        timestamp(Some(report.at)),
        text(nothing_lost(report)),
        text(if report.is_lossy { "YES" } else { "NO" }),
        number(count),
        timestamp(oldest),
        timestamp(newest),
        number(node.lost.count),
        number(u64::from(node.parts)),
        number(node.rows),
        number(node.row_bytes),
        number(node.entries),
        number(node.entry_bytes),
        ms(node.looked_us),
        ms(node.waited_us),
        ms(node.loaded_us),
        ms(node.others_us),
        ms(total_us),
        // Bytes in a microsecond are megabytes in a second.
        (node.row_bytes + node.entry_bytes).checked_div(node.busy_us).map_or(Value::Null, number),
    ]
}

/// Commits that no disk has cannot be counted.
fn nothing_lost(report: &RestartReport) -> &'static str {
    match (report.is_clean, report.lost.count) {
        _ if report.is_lossy => "NO",
        (true, _) => "YES",
        (false, 0) => "NOT KNOWN",
        (false, _) => "NO",
    }
}

fn timestamp(ts: Option<Timestamp>) -> Value {
    optional(ts.map(|ts| format!("{ts:?}")))
}
