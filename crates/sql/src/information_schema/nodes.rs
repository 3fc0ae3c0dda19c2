//! performance_schema.skarv_nodes: what each node says of itself, and how far one that came back is filled.

use std::collections::BTreeMap;

use client::{FillReport, NodeStatus};
use types::convert::SqlWarning;
use types::{NodeId, Value};

use super::activity::{optional, warn_of_missing};
use super::{number, text};
use crate::session::Session;

/// A row for each node of the configuration, whether it answers or not.
pub async fn nodes(session: &mut Session, warnings: &mut Vec<SqlWarning>) -> Vec<Vec<Value>> {
    let told = session.client.node_statuses().await;
    warn_of_missing(&told, "figures", warnings);
    let fills = added(told.items.iter().filter_map(|own| own.fills));
    let answers = told.items.iter().map(|own| (own.node, Some(own)));
    let mut all: BTreeMap<NodeId, Option<&NodeStatus>> = answers.collect();
    all.extend(told.unreachable.iter().map(|node| (*node, None)));
    all.into_iter().map(|(node, own)| row(node, own, fills.get(&node))).collect()
}

/// How far each node is filled by all that fill it: in a group of more than two, several lead shards that it lacks.
fn added(fills: impl Iterator<Item = FillReport>) -> BTreeMap<NodeId, FillReport> {
    let mut all: BTreeMap<NodeId, FillReport> = BTreeMap::new();
    for fill in fills {
        all.entry(fill.node).and_modify(|sum| *sum = sum.and(fill)).or_insert(fill);
    }
    all
}

fn row(node: NodeId, own: Option<&NodeStatus>, fill: Option<&FillReport>) -> Vec<Value> {
    let mut row = vec![number(u64::from(node.0))];
    match own {
        None => {
            row.push(text("unreachable"));
            row.extend(std::iter::repeat_n(Value::Null, 12));
        }
        Some(own) => {
            let late: Vec<String> = own.late.iter().map(ToString::to_string).collect();
            row.extend([
                text(own.state.name()),
                text(own.incarnation.text()),
                number(own.view.0),
                number(u64::from(own.shards_led)),
                yes_no(own.control_leader),
                yes_no(own.sequencer),
                number(own.uptime_seconds),
                number(own.transactions_open),
                number(own.locks_held),
                number(own.commits),
                number(own.aborts),
                optional((!late.is_empty()).then(|| late.join(","))),
                text(own.room.name()),
            ]);
        }
    }
    let seconds = |microseconds: u64| number(microseconds / 1_000_000);
    row.extend([
        fill.map_or(Value::Null, |fill| number(fill.rows)),
        fill.map_or(Value::Null, |fill| number(fill.rows_expected)),
        fill.map_or(Value::Null, |fill| number(fill.bytes)),
        fill.map_or(Value::Null, |fill| seconds(fill.microseconds)),
        fill.and_then(FillReport::microseconds_left).map_or(Value::Null, seconds),
    ]);
    row
}

fn yes_no(yes: bool) -> Value {
    text(if yes { "YES" } else { "NO" })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes of a group of three fill the third one, each what it leads.
    #[test]
    fn what_several_send_is_added() {
        let fill = |node, rows, microseconds| {
            let (node, rows_expected, bytes) = (NodeId(node), 10 * rows, 100 * rows);
            FillReport { node, rows, rows_expected, bytes, microseconds }
        };
        let all = added([fill(4, 1, 5), fill(6, 7, 9), fill(4, 2, 3)].into_iter());
        assert_eq!(all.into_values().collect::<Vec<_>>(), [fill(4, 3, 5), fill(6, 7, 9)]);
    }
}
