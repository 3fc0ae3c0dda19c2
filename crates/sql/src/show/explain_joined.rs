//! EXPLAIN of a statement that reads several relations: a line for each, in the order in which they are read, and for each
//! query inside of another one a number of its own.

use std::collections::BTreeMap;

use types::{TableId, Value};

use super::explain::put_path;
use super::{number, text};
use crate::plan::{
    InsertSource, JoinMethod, JoinedSource, Operator, PathKind, Plan, PlanKind, SelectPlan, Slot,
    Source, TableSource,
};

const COLUMN_COUNT: usize = 12;

pub struct Explainer<'p> {
    plan: &'p Plan,
    /// Rows of tables.
    counts: BTreeMap<TableId, (u64, u64)>,
    rows: Vec<Vec<Value>>,
    block_last: u64,
    /// Slots of subqueries that have their lines.
    told: Vec<usize>,
}

/// A line of a relation.
struct Line {
    block: u64,
    select_type: &'static str,
}

/// How a relation is joined to those before it.
#[derive(Clone, Copy, PartialEq)]
enum Joined {
    First,
    Hash,
    Lookup,
    Apply,
}

impl<'p> Explainer<'p> {
    pub fn new(plan: &'p Plan, counts: BTreeMap<TableId, (u64, u64)>) -> Explainer<'p> {
        Explainer { plan, counts, rows: Vec::new(), block_last: 0, told: Vec::new() }
    }

    pub fn rows(mut self) -> Vec<Vec<Value>> {
        let has_more = self.plan.slots.iter().any(|slot| matches!(slot, Slot::Subquery(_)));
        match &self.plan.kind {
            PlanKind::Select(select) => {
                let is_simple = !has_more && !has_queries(select);
                self.query(select, if is_simple { "SIMPLE" } else { "PRIMARY" });
            }
            PlanKind::Insert(insert) => {
                if let InsertSource::Select(select) = &insert.source {
                    self.query(select, "INSERT");
                }
            }
            PlanKind::JoinedUpdate(change) => self.query(&change.rows, "UPDATE"),
            PlanKind::JoinedDelete(change) => self.query(&change.rows, "DELETE"),
            PlanKind::Update(update) => {
                let source = &update.target;
                let line = self.block("UPDATE");
                let row = self.access_row(&line, &source.table.name, &source.table, &source.access);
                self.rows.push(row);
            }
            PlanKind::Delete(delete) => {
                let source = &delete.target;
                let line = self.block("DELETE");
                let row = self.access_row(&line, &source.table.name, &source.table, &source.access);
                self.rows.push(row);
            }
            PlanKind::Values(_) => {}
        }
        self.subqueries();
        self.rows
    }

    fn block(&mut self, select_type: &'static str) -> Line {
        self.block_last += 1;
        Line { block: self.block_last, select_type }
    }

    /// Subqueries that stand in expressions.
    fn subqueries(&mut self) {
        let plan = self.plan;
        for (position, slot) in plan.slots.iter().enumerate() {
            let Slot::Subquery(subquery) = slot else { continue };
            if self.told.contains(&position) {
                continue;
            }
            self.told.push(position);
            let query = subquery.set.as_ref().map_or(&subquery.plan, |set| &set.plan);
            let kind = if subquery.is_per_row && subquery.set.is_none() {
                "DEPENDENT SUBQUERY"
            } else {
                "SUBQUERY"
            };
            self.query(query, kind);
        }
    }

    fn query(&mut self, select: &'p SelectPlan, select_type: &'static str) {
        let line = self.block(select_type);
        let first = self.rows.len();
        match &select.source {
            Source::Nothing { .. } => {
                let mut row = empty_row(&line, None);
                row[11] = text("No tables used");
                self.rows.push(row);
            }
            Source::Virtual { table, .. } => {
                let mut row = empty_row(&line, Some(table.name()));
                row[4] = text("ALL");
                row[11] = text("Made on the fly");
                self.rows.push(row);
            }
            Source::Documents { alias, .. } => {
                let mut row = empty_row(&line, Some(alias));
                row[4] = text("ALL");
                row[11] = text("Table function: json_table");
                self.rows.push(row);
            }
            Source::Table(source) => {
                let row = self.table_row(&line, &source.table.name, source, Joined::First, false);
                self.rows.push(row);
            }
            Source::Joined(source) => {
                self.operator(&line, source, &source.root, Joined::First, false)
            }
        }
        let mut extra = Vec::new();
        if select.grouping.as_ref().is_some_and(|grouping| !grouping.implicit) || select.distinct {
            extra.push("Using temporary");
        }
        let delivers = select.source.delivers_order();
        let is_delivered = delivers && select.grouping.is_none();
        if !select.sort.is_empty() && !is_delivered {
            extra.push("Using filesort");
        }
        if let Some(row) = self.rows.get_mut(first) {
            add_extra(row, &extra);
        }
    }

    fn operator(
        &mut self,
        line: &Line,
        source: &'p JoinedSource,
        operator: &'p Operator,
        joined: Joined,
        is_filtered: bool,
    ) {
        let name = |relation: &u16| source.aliases[usize::from(*relation)].as_str();
        match operator {
            Operator::Table { relation, source: table, estimate, .. } => {
                let mut row = self.table_row(line, name(relation), table, joined, is_filtered);
                if joined == Joined::Lookup {
                    row[9] = number(estimate.round().max(1.0) as u64);
                }
                self.rows.push(row);
            }
            Operator::Virtual { relation, .. } => {
                self.made_row(line, name(relation), joined, is_filtered, "Made on the fly");
            }
            Operator::Query { relation, plan, .. } => {
                let inner = self.block_last + 1;
                let shown = match name(relation) {
                    "" => format!("<derived{inner}>"),
                    alias => alias.to_string(),
                };
                self.made_row(line, &shown, joined, is_filtered, "");
                self.query(
                    plan,
                    if joined == Joined::Apply { "DEPENDENT DERIVED" } else { "DERIVED" },
                );
            }
            Operator::Values { relation, .. } => {
                self.made_row(line, name(relation), joined, is_filtered, "No tables used");
            }
            Operator::Set { members, .. } => {
                for (number, member) in members.iter().enumerate() {
                    self.query(&member.plan, if number == 0 { line.select_type } else { "UNION" });
                }
            }
            Operator::Recursive { relation, seed, steps, .. } => {
                self.made_row(line, name(relation), joined, is_filtered, "");
                self.query(seed, "DERIVED");
                steps.iter().for_each(|step| self.query(step, "UNION"));
            }
            Operator::Working { relation, .. } => {
                self.made_row(line, name(relation), joined, is_filtered, "Recursive");
            }
            Operator::Filter { input, .. } => self.operator(line, source, input, joined, true),
            Operator::Join(join) => {
                self.operator(line, source, &join.left, joined, false);
                let method = match join.method {
                    JoinMethod::Hash => Joined::Hash,
                    JoinMethod::Lookup { .. } => Joined::Lookup,
                    JoinMethod::Apply { .. } => Joined::Apply,
                };
                self.operator(line, source, &join.right, method, !join.condition.is_empty());
            }
        }
    }

    fn made_row(
        &mut self,
        line: &Line,
        name: &str,
        joined: Joined,
        is_filtered: bool,
        what: &'static str,
    ) {
        let mut row = empty_row(line, Some(name));
        row[4] = text("ALL");
        let mut extra: Vec<&str> = Vec::new();
        extra.extend(is_filtered.then_some("Using where"));
        extra.extend((joined == Joined::Hash).then_some("Using join buffer (hash join)"));
        extra.extend((!what.is_empty()).then_some(what));
        add_extra(&mut row, &extra);
        self.rows.push(row);
    }

    fn table_row(
        &self,
        line: &Line,
        name: &str,
        source: &TableSource,
        joined: Joined,
        is_filtered: bool,
    ) -> Vec<Value> {
        let mut row = self.access_row(line, name, &source.table, &source.access);
        let mut extra: Vec<&str> = Vec::new();
        let has_filter = source.access.residual.is_some() || source.access.local_filter.is_some();
        extra.extend((has_filter || is_filtered).then_some("Using where"));
        extra.extend((joined == Joined::Hash).then_some("Using join buffer (hash join)"));
        if joined == Joined::Lookup {
            let is_one = source.access.path.kind != PathKind::Range;
            row[4] = text(if is_one { "eq_ref" } else { "ref" });
            row[8] = text(vec!["func"; source.access.path.equal.len()].join(","));
        }
        add_extra(&mut row, &extra);
        row
    }

    /// How a table is read, by its path alone.
    fn access_row(
        &self,
        line: &Line,
        name: &str,
        table: &types::Table,
        access: &crate::plan::AccessPlan,
    ) -> Vec<Value> {
        let mut row = empty_row(line, Some(name));
        let rows = self.counts.get(&table.id).map_or(0, |own| own.0);
        put_path(&mut row, table, access, false, rows);
        row[10] = text("100.00");
        row
    }
}

fn empty_row(line: &Line, name: Option<&str>) -> Vec<Value> {
    let mut row = vec![Value::Null; COLUMN_COUNT];
    row[0] = number(line.block);
    row[1] = text(line.select_type);
    if let Some(name) = name {
        row[2] = text(name);
    }
    row
}

fn add_extra(row: &mut [Value], extra: &[&str]) {
    if extra.is_empty() {
        return;
    }
    let known = match &row[11] {
        Value::Text(known, _) => format!("{known}; "),
        _ => String::new(),
    };
    row[11] = text(format!("{known}{}", extra.join("; ")));
}

/// Does it read a query?
fn has_queries(select: &SelectPlan) -> bool {
    fn in_operator(operator: &Operator) -> bool {
        match operator {
            Operator::Table { .. }
            | Operator::Virtual { .. }
            | Operator::Values { .. }
            | Operator::Working { .. } => false,
            Operator::Query { .. } | Operator::Set { .. } | Operator::Recursive { .. } => true,
            Operator::Filter { input, .. } => in_operator(input),
            Operator::Join(join) => in_operator(&join.left) || in_operator(&join.right),
        }
    }
    matches!(&select.source, Source::Joined(source) if in_operator(&source.root))
}
