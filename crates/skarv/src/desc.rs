//! `skarv desc`: a table and the replicas of its partitions.
//!
//! Replicas of a partition that hold the same rows have the same checksum, whatever the order of the rows. While rows are
//! being written that need not be so at any one moment: the nodes are asked one after the other, and a commit reaches
//! the backups a moment after its primary. So a difference is looked at again before it is believed.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cli::DescOptions;
use crate::manage::Nodes;
use crate::size::human;
use crate::table_name;

/// How long a difference is looked at again, and how often.
const SETTLE_TIME: Duration = Duration::from_secs(2);
const SETTLE_POLL: Duration = Duration::from_millis(100);

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Agree { partitions: usize, replicas: usize },
    Differ { shards: Vec<u64> },
    Unreachable { nodes: Vec<u64> },
}

pub fn run(options: &DescOptions) -> ExitCode {
    match describe(options) {
        Ok(Verdict::Agree { .. }) => ExitCode::SUCCESS,
        Ok(Verdict::Differ { .. } | Verdict::Unreachable { .. }) => ExitCode::FAILURE,
        Err(error) => {
            crate::fail(&error);
            ExitCode::from(2)
        }
    }
}

fn describe(options: &DescOptions) -> Result<Verdict, String> {
    let (database, table) = table_name::parse(&options.table)?;
    let cluster = Nodes::find(&options.directory.dir)?;
    let query = json!({"command": "partitions", "database": database, "table": table});
    let deadline = Instant::now() + SETTLE_TIME;
    let (mut answer, verdict) = loop {
        let answer = cluster.ask_any(&query)?;
        let verdict = judge(&answer);
        if !matches!(verdict, Verdict::Differ { .. }) || deadline <= Instant::now() {
            break (answer, verdict);
        }
        std::thread::sleep(SETTLE_POLL);
    };
    if options.json {
        answer["agree"] = json!(matches!(verdict, Verdict::Agree { .. }));
        answer["rows"] = json!(primary_rows(&answer));
        println!("{answer}");
    } else {
        println!("{}\n{}", text(&answer), closing_line(&verdict));
    }
    Ok(verdict)
}

fn partitions(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["partitions"].as_array().into_iter().flatten()
}

/// Rows of the table: those of the primaries.
fn primary_rows(answer: &Value) -> u64 {
    let primaries = partitions(answer).filter(|partition| partition["role"] == json!("primary"));
    primaries.filter_map(|partition| partition["rows"].as_u64()).sum()
}

fn judge(answer: &Value) -> Verdict {
    let unreachable: Vec<u64> =
        answer["unreachable"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    let mut shards: BTreeMap<u64, Vec<(&Value, &Value)>> = BTreeMap::new();
    for partition in partitions(answer) {
        let shard = partition["shard"].as_u64().unwrap_or(u64::MAX);
        shards.entry(shard).or_default().push((&partition["rows"], &partition["checksum"]));
    }
    let differ = shards
        .iter()
        .filter(|(_, replicas)| replicas.iter().any(|replica| *replica != replicas[0]));
    let differ: Vec<u64> = differ.map(|(shard, _)| *shard).collect();
    if !differ.is_empty() {
        return Verdict::Differ { shards: differ };
    }
    if !unreachable.is_empty() {
        return Verdict::Unreachable { nodes: unreachable };
    }
    Verdict::Agree { partitions: shards.len(), replicas: shards.values().map(Vec::len).sum() }
}

fn closing_line(verdict: &Verdict) -> String {
    let list = |numbers: &[u64]| {
        let texts: Vec<String> = numbers.iter().map(u64::to_string).collect();
        texts.join(", ")
    };
    match verdict {
        Verdict::Agree { partitions, replicas } => {
            format!("replicas agree ({replicas} replicas of {partitions} partitions)")
        }
        Verdict::Differ { shards } => format!("REPLICAS DIFFER in shard {}", list(shards)),
        Verdict::Unreachable { nodes } => {
            format!("replicas cannot be compared: no answer from node {}", list(nodes))
        }
    }
}

fn word<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or("")
}

fn text(answer: &Value) -> String {
    let mut lines = vec![format!(
        "table {}.{} (id {}, version {}, engine {}, collation {})",
        word(answer, "database"),
        word(answer, "table"),
        answer["id"],
        answer["version"],
        word(answer, "engine"),
        word(answer, "collation")
    )];
    lines.push("columns".into());
    for column in answer["columns"].as_array().into_iter().flatten() {
        let null = if column["nullable"] == json!(true) { "null" } else { "not null" };
        lines.push(format!("  {:<24} {:<24} {null}", word(column, "name"), word(column, "type")));
    }
    lines.push("indexes".into());
    for index in answer["indexes"].as_array().into_iter().flatten() {
        let columns: Vec<&str> =
            index["columns"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        lines.push(format!(
            "  {:<24} {:<8} ({})",
            word(index, "name"),
            word(index, "kind"),
            columns.join(", ")
        ));
    }
    lines.push(format!(
        "partitions\n  {:>5} {:>5} {:<8} {:>12} {:>12}  {:<16}",
        "shard", "node", "role", "rows", "memory", "checksum"
    ));
    for partition in partitions(answer) {
        lines.push(format!(
            "  {:>5} {:>5} {:<8} {:>12} {:>12}  {:<16}",
            partition["shard"].as_u64().unwrap_or(0),
            partition["node"].as_u64().unwrap_or(0),
            word(partition, "role"),
            partition["rows"].as_u64().unwrap_or(0),
            human(partition["bytes"].as_u64().unwrap_or(0)),
            word(partition, "checksum")
        ));
    }
    lines.push(format!("rows: {}", primary_rows(answer)));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(second_checksum: &str, unreachable: &[u64]) -> Value {
        json!({
            "database": "db", "table": "t", "id": 5, "version": 3, "engine": "NDBCLUSTER", "collation": "utf8mb4_bin",
            "columns": [{"name": "id", "type": "bigint", "nullable": false}],
            "indexes": [{"name": "PRIMARY", "kind": "primary", "columns": ["id"]}],
            "partitions": [
                {"shard": 0, "node": 2, "role": "primary", "rows": 3, "bytes": 100, "checksum": "00000000000000aa"},
                {"shard": 0, "node": 3, "role": "backup", "rows": 3, "bytes": 120, "checksum": second_checksum},
                {"shard": 1, "node": 2, "role": "backup", "rows": 4, "bytes": 100, "checksum": "00000000000000bb"},
                {"shard": 1, "node": 3, "role": "primary", "rows": 4, "bytes": 100, "checksum": "00000000000000bb"},
            ],
            "unreachable": unreachable,
        })
    }

    #[test]
    fn replicas_are_compared() {
        let same = answer("00000000000000aa", &[]);
        assert_eq!(judge(&same), Verdict::Agree { partitions: 2, replicas: 4 });
        assert_eq!(closing_line(&judge(&same)), "replicas agree (4 replicas of 2 partitions)");
        assert_eq!(primary_rows(&same), 7);
        let other = answer("00000000000000ab", &[]);
        assert_eq!(closing_line(&judge(&other)), "REPLICAS DIFFER in shard 0");
        let missing = answer("00000000000000aa", &[3]);
        assert_eq!(
            closing_line(&judge(&missing)),
            "replicas cannot be compared: no answer from node 3"
        );
        assert_eq!(judge(&answer("0", &[3])), Verdict::Differ { shards: vec![0] });
    }

    #[test]
    fn a_table_is_shown() {
        let shown = text(&answer("00000000000000aa", &[]));
        for line in [
            "table db.t (id 5, version 3, engine NDBCLUSTER, collation utf8mb4_bin)",
            "  PRIMARY                  primary  (id)",
            "      1     3 primary             4        100 B  00000000000000bb",
            "rows: 7",
        ] {
            assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
        }
    }
}
