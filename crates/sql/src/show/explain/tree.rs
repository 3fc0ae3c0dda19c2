//! EXPLAIN FORMAT=TREE: a line for each step, inputs below it and further right.

use std::fmt::Write;

use super::node::{
    AggregateMethod, Block, ChangeKind, ChangeMethod, FilterPlace, JoinMethod, Node, Place,
    SetOperation, Step, Subquery, TableStep,
};
use crate::execute::profile::{Counter, Profile, Spot};
use crate::plan::JoinKind;

const INDENT: &str = "    ";

/// The tree; with `profile` each counted step has its rows, loops and time.
pub fn print(block: &Block, profile: Option<&Profile>) -> String {
    let mut printer = Printer { profile, out: String::new() };
    printer.block(block, 0);
    printer.out
}

struct Printer<'a> {
    profile: Option<&'a Profile>,
    out: String,
}

impl Printer<'_> {
    fn block(&mut self, block: &Block, depth: usize) {
        self.node(&block.root, depth);
        self.subqueries(&block.projections, depth);
    }

    fn subqueries(&mut self, subqueries: &[Subquery], depth: usize) {
        for subquery in subqueries {
            let place = match subquery.place {
                Place::Condition => "condition",
                Place::Projection => "projection",
            };
            let run = if subquery.is_dependent { "dependent" } else { "run only once" };
            let number = subquery.block.number;
            self.line(depth, &format!("Select #{number} (subquery in {place}; {run})"));
            self.block(&subquery.block, depth + 1);
        }
    }

    fn line(&mut self, depth: usize, text: &str) {
        self.begin(depth, text);
        self.out.push('\n');
    }

    fn begin(&mut self, depth: usize, text: &str) {
        for _ in 0..depth {
            self.out.push_str(INDENT);
        }
        self.out.push_str("-> ");
        self.out.push_str(text);
    }

    fn node(&mut self, node: &Node, depth: usize) {
        self.begin(depth, &text(&node.step));
        if let Some(rows) = node.rows {
            let _ = write!(self.out, "  (rows={rows})");
        }
        if let (Some(profile), Some(spot)) = (self.profile, node.spot) {
            // After an estimate one blank, as in MySQL.
            self.out.push_str(if node.rows.is_none() { "  " } else { " " });
            self.out.push_str(&actual(profile, spot));
        }
        self.out.push('\n');
        let mut below = depth + 1;
        if let Some(inner) = inner_text(&node.step) {
            self.line(below, &inner);
            below += 1;
        }
        node.inputs.iter().for_each(|input| self.node(input, below));
        match &node.step {
            Step::Recursive { .. } => {
                let (seed, steps) = node.blocks.split_first().expect("there is a seed");
                self.block(seed, below);
                self.line(below, "Repeat until convergence");
                steps.iter().for_each(|step| self.block(step, below + 1));
            }
            _ => node.blocks.iter().for_each(|block| self.block(block, below)),
        }
        self.subqueries(&node.subqueries, depth + 1);
    }
}

/// The counts of a step: times in milliseconds and rows are averages over its loops.
fn actual(profile: &Profile, spot: Spot) -> String {
    let Some(Counter { loops, rows, first, total, .. }) = profile.counter(spot) else {
        return "(never executed)".into();
    };
    let milliseconds = |micros: u64| micros as f64 / loops as f64 / 1_000.0;
    let rows = match rows % loops {
        0 => (rows / loops).to_string(),
        _ => format!("{:.2}", rows as f64 / loops as f64),
    };
    let (first, total) = (milliseconds(first), milliseconds(total));
    format!("(actual time={first:.3}..{total:.3} rows={rows} loops={loops})")
}

fn text(step: &Step) -> String {
    match step {
        Step::Limit { count, offset: None } => format!("Limit: {count} row(s)"),
        Step::Limit { count, offset: Some(offset) } => {
            format!("Limit/Offset: {count}/{offset} row(s)")
        }
        Step::Sort { keys, limit } => {
            let keys = keys.join(", ");
            match limit {
                None => format!("Sort: {keys}"),
                Some(limit) => format!("Sort: {keys}, limit input to {limit} row(s) per chunk"),
            }
        }
        Step::Distinct => "Remove duplicates".into(),
        Step::Filter { condition, place: FilterPlace::Shards } => {
            format!("Filter at the shards: {condition}")
        }
        Step::Filter { condition, .. } => format!("Filter: {condition}"),
        Step::Window { functions, .. } => format!("Window aggregate: {}", functions.join(", ")),
        Step::Aggregate { method, functions, groups, has_rollup } => {
            aggregate(*method, functions, groups, *has_rollup)
        }
        Step::Join { kind, method, keys, condition } => {
            let mut text = match (method, kind) {
                (JoinMethod::NestedLoop, JoinKind::Inner) => "Nested loop inner join",
                (JoinMethod::NestedLoop, JoinKind::Left) => "Nested loop left join",
                (JoinMethod::NestedLoop, JoinKind::Semi) => "Nested loop semijoin",
                (JoinMethod::NestedLoop, JoinKind::Anti) => "Nested loop antijoin",
                (JoinMethod::Hash, JoinKind::Inner) => "Inner hash join",
                (JoinMethod::Hash, JoinKind::Left) => "Left hash join",
                (JoinMethod::Hash, JoinKind::Semi) => "Hash semijoin",
                (JoinMethod::Hash, JoinKind::Anti) => "Hash antijoin",
            }
            .to_string();
            match (keys.is_empty(), method) {
                (false, _) => text += &format!(" {}", keys.join(", ")),
                (true, JoinMethod::Hash) => text += " (no condition)",
                (true, JoinMethod::NestedLoop) => {}
            }
            if let Some(condition) = condition {
                text += &format!(", extra conditions: {condition}");
            }
            text
        }
        Step::Hash => "Hash".into(),
        Step::Table(table) => table_text(table),
        Step::Virtual { name } | Step::Derived { name, .. } | Step::Recursive { name, .. } => {
            format!("Table scan on {name}")
        }
        Step::Rows => "Rows fetched before execution".into(),
        Step::NoRows => "Zero rows (Impossible WHERE)".into(),
        Step::Set { operation: SetOperation::Union, is_distinct: false } => "Append".into(),
        Step::Set { operation, .. } => format!("Table scan on <{} temporary>", name_of(*operation)),
        Step::Working { name } => format!("Scan new records on {name}"),
        Step::Change { kind, tables, method } => {
            let verb = match kind {
                ChangeKind::Insert => "Insert into",
                ChangeKind::Replace => "Replace into",
                ChangeKind::Update => "Update",
                ChangeKind::Delete => "Delete from",
            };
            let method = match method {
                None => "",
                Some(ChangeMethod::Shards) => " (at the shards)",
                Some(ChangeMethod::Immediate) => " (immediate)",
                Some(ChangeMethod::Buffered) => " (buffered)",
            };
            let tables: Vec<String> =
                tables.iter().map(|table| format!("{table}{method}")).collect();
            format!("{verb} {}", tables.join(", "))
        }
    }
}

/// The second line of a step that makes rows and then reads them.
fn inner_text(step: &Step) -> Option<String> {
    let with = |is_distinct: &bool| if *is_distinct { " with deduplication" } else { "" };
    match step {
        Step::Derived { outer, is_kept, .. } => Some(match (outer.as_slice(), is_kept) {
            ([], false) => "Materialize".into(),
            ([], true) => "Materialize once".into(),
            (outer, _) => format!("Materialize (invalidate on row from {})", outer.join("; ")),
        }),
        Step::Recursive { name, is_distinct } => {
            Some(format!("Materialize recursive CTE {name}{}", with(is_distinct)))
        }
        Step::Set { operation: SetOperation::Union, is_distinct: false } => None,
        Step::Set { operation, is_distinct } => {
            let name = match operation {
                SetOperation::Union => "Union",
                SetOperation::Intersect => "Intersect",
                SetOperation::Except => "Except",
            };
            let all = if *is_distinct { "" } else { " all" };
            Some(format!("{name}{all} materialize{}", with(is_distinct)))
        }
        _ => None,
    }
}

pub fn name_of(operation: SetOperation) -> &'static str {
    match operation {
        SetOperation::Union => "union",
        SetOperation::Intersect => "intersect",
        SetOperation::Except => "except",
    }
}

fn aggregate(
    method: AggregateMethod,
    functions: &[String],
    groups: &[String],
    has_rollup: bool,
) -> String {
    let mut text = match (method, groups) {
        (AggregateMethod::Session, []) => "Aggregate".to_string(),
        (AggregateMethod::Session, _) => "Aggregate using temporary table".to_string(),
        (AggregateMethod::Shards, _) => "Aggregate at the shards".to_string(),
        (AggregateMethod::Merge, []) => "Merge aggregates of the shards".to_string(),
        (AggregateMethod::Merge, _) => "Merge groups of the shards".to_string(),
    };
    if has_rollup {
        text += " with rollup";
    }
    let operands = if method == AggregateMethod::Merge { groups } else { functions };
    if !operands.is_empty() {
        text += &format!(": {}", operands.join(", "));
    }
    text
}

fn table_text(table: &TableStep) -> String {
    let TableStep { name, key, bounds, .. } = table;
    let key = key.as_deref().unwrap_or_default();
    let mut text = match table.access_type {
        "ALL" => format!("Table scan on {name}"),
        "index" => format!("Index scan on {name} using {key}"),
        "range" => format!("Index range scan on {name} using {key} over {bounds}"),
        "ref" => format!("Index lookup on {name} using {key} ({bounds})"),
        _ => format!("Single-row index lookup on {name} using {key} ({bounds})"),
    };
    if table.is_reverse && matches!(table.access_type, "index" | "range" | "ref") {
        text += " (reverse)";
    }
    text
}
