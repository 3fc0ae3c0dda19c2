//! FROM with several relations, or one that is a query: in which order they are joined, and how.
//!
//! ```text
//! FROM tree     outer joins whose inner side WHERE does not let be NULL become inner joins
//! groups        inner joins in a row are one group: its members in any order, its terms where all their columns are there
//! operators     one member after the other, the one that adds the fewest rows first
//! ```
//!
//! A member that is a table is *looked up* where relations before it bind a key of it; else its rows, filtered at the
//! shards, are kept by the columns that the join compares.

use std::collections::BTreeMap;
use std::sync::Arc;

use client::Lock;
use types::expr::{Aggregate, BinaryOp, ResultType, UnaryOp};
use types::{ColumnType, Expr, IndexKind, RowLayout, Table};

use super::access::{self, Wanted};
use super::from::{From, FromTree, RelationSource, ordered};
use super::group::plain_column;
use super::names::Relations;
use super::{Binder, rewrite};
use crate::error::{SqlError, code};
use crate::parser::ast;
use crate::plan::{
    AccessPlan, Bound, ColumnPlace, JoinKey, JoinKind, JoinMethod, JoinOperator, JoinedSource,
    Operator, OuterValue, PartBound, PathKind, RelationRows, SelectPlan, Slot, Source, TableSource,
};

/// The estimate for a table without a count, and for other relations.
const TABLE_ROWS: f64 = 10_000.0;
const QUERY_ROWS: f64 = 1_000.0;
const SYSTEM_ROWS: f64 = 100.0;
/// The share of a table's rows that an equality without a key leaves, and another comparison.
const EQUAL_SHARE: f64 = 0.1;
const TERM_SHARE: f64 = 0.3;
/// The share of rows that EXISTS and NOT EXISTS leave.
const UNPAIRED_SHARE: f64 = 0.5;
/// Members of a join of which all orders are weighed.
const MEMBERS_PERMUTED: usize = 8;
/// Of more members: those that are tried as the first.
const STARTS_TRIED: usize = 8;
/// Rows that agree in the first part of a key, and how many fewer agree in the next one, too.
const ROWS_PER_KEY: f64 = 10.0;
/// Work of a look-up by a key, of a row that a scan passes, and of one that is sent and kept: as multiples of each other.
const LOOKUP_WORK: f64 = 4.0;
const SCAN_WORK: f64 = 0.3;
const ROW_WORK: f64 = 1.0;

/// Relations that are joined to each other by inner joins.
#[derive(Default)]
struct Group {
    members: Vec<Member>,
    terms: Vec<Bound>,
    /// STRAIGHT_JOIN is among them: they are read as they are written.
    straight: bool,
}

enum Member {
    Relation(usize),
    Outer(Box<OuterJoin>),
}

/// A join whose sides do not change places.
struct OuterJoin {
    kind: JoinKind,
    left: Group,
    right: Group,
    on: Vec<Bound>,
}

/// An operator while the tree is made: its relations, and how many rows it may give.
struct Built {
    operator: Operator,
    relations: Vec<bool>,
    rows: f64,
}

/// How a table would be read.
struct Reading {
    access: AccessPlan,
    /// Slots of the path that a left row fills in; empty where it needs none.
    outer: Vec<OuterValue>,
    /// Rows found for one left row, and rows looked at for that.
    rows: f64,
    scanned: f64,
    /// By a key that relations before it bind.
    looked_up: bool,
    /// The share of the rows that the terms about this table alone leave of those found by a key.
    kept: f64,
    /// Rows that the table gives: a scan gives those of all left rows.
    given: f64,
}

/// What it takes to read a member behind others.
#[derive(Clone, Copy)]
struct Cost {
    /// Rows of the join for each row before it.
    rows: f64,
    /// Rows that a look-up finds, if there is a key for one.
    looked_up: Option<f64>,
    /// Work of reading it once.
    whole: f64,
}

/// By member, and the numbers of the terms that can be asked.
type Costs = BTreeMap<(usize, Vec<usize>), Cost>;

/// A member that may come next, the rows of the join with it, and the work that it adds.
#[derive(Clone, Copy)]
struct Next {
    member: usize,
    rows: f64,
    work: f64,
}

/// The first members of an order.
#[derive(Clone)]
struct Way {
    order: Vec<usize>,
    rows: f64,
    work: f64,
}

impl Default for Way {
    fn default() -> Way {
        Way { order: Vec::new(), rows: 1.0, work: 0.0 }
    }
}

impl Way {
    fn and_then(&self, next: Next) -> Way {
        let mut order = self.order.clone();
        order.push(next.member);
        Way { order, rows: next.rows, work: self.work + next.work }
    }
}

impl Binder<'_> {
    pub fn join(
        &mut self,
        plan: &mut SelectPlan,
        from: From,
        relations: &Relations,
        filter: Option<Bound>,
        locks: &[Lock],
    ) -> Result<(), SqlError> {
        self.several = true;
        let terms = filter.map(|filter| self.terms(filter)).unwrap_or_default();
        let terms: Vec<Bound> =
            terms.into_iter().flat_map(|term| factored(term, relations)).collect();
        let tree = from.tree.expect("there are relations");
        let known: Vec<Expr> = terms.iter().map(|term| term.expr.clone()).collect();
        let mut group = Group::default();
        flatten(simplified(tree, &known, relations), &mut group);
        group.terms.extend(terms);
        group.straight |= from.straight;
        let distinct = self.distinct_values(&group, relations);
        let mut planner =
            Planner { binder: self, sources: from.sources, relations, locks, distinct };
        let mut root = planner.group(group)?.operator;
        if (plan.sort.is_empty() || plan.windows.is_some()) && plan.grouping.is_none() {
            // The order that people expect to see where they ask for none.
            root.make_ordered();
        }
        self.joined_source(plan, root, relations)
    }

    /// Settles which columns are read, and where they are.
    fn joined_source(
        &mut self,
        plan: &mut SelectPlan,
        mut root: Operator,
        relations: &Relations,
    ) -> Result<(), SqlError> {
        let mut needed = vec![false; relations.column_count()];
        let mut need = |expr: &Expr| {
            rewrite::for_each_column(expr, &mut |column| needed[usize::from(column)] = true);
        };
        let source_bounds = plan.source_bounds();
        let mut bounds: Vec<&Bound> = Vec::new();
        match &plan.grouping {
            Some(grouping) => {
                grouping.group_by.iter().for_each(&mut need);
                grouping.aggregates.iter().flat_map(Aggregate::exprs).for_each(&mut need);
                for &slot in &grouping.slots {
                    self.slots[usize::from(slot)].for_each_expr(&mut need);
                }
            }
            None => bounds.extend(&*source_bounds),
        }
        root.for_each_expr(&mut need, &mut |bound| bounds.push(bound));
        let mut slots: Vec<u16> = Vec::new();
        for bound in bounds {
            need(&bound.expr);
            slots.extend(&bound.slots);
        }
        for slot in slots {
            self.slots[usize::from(slot)].for_each_expr(&mut need);
        }
        let mut places = Vec::with_capacity(needed.len());
        let mut rows = Vec::with_capacity(relations.tables.len());
        for (number, scope) in relations.tables.iter().enumerate() {
            let relation = u16::try_from(number).expect("relations are few");
            let own = &needed[scope.first..scope.first + scope.columns.len()];
            let Some(table) = root.table_of(relation) else {
                // Its rows are as its query makes them.
                places.extend((0..own.len()).map(|position| ColumnPlace {
                    relation,
                    position: u16::try_from(position).expect("select lists are bounded"),
                }));
                rows.push(RelationRows::Values);
                continue;
            };
            let mut columns: Vec<u16> = (0..own.len())
                .filter(|position| own[*position])
                .map(|position| u16::try_from(position).expect("tables are narrow"))
                .collect();
            if columns.is_empty() {
                columns.push(table.table.primary_key().parts[0].column);
            }
            table.whole_rows = columns.len() == table.table.columns.len();
            let types =
                columns.iter().map(|&column| &table.table.columns[usize::from(column)].column_type);
            table.layout = RowLayout::new(types);
            places.extend((0..own.len()).map(|position| {
                ColumnPlace {
                    relation,
                    position: columns
                        .iter()
                        .position(|column| usize::from(*column) == position)
                        .map_or(ColumnPlace::UNREAD, |own| u16::try_from(own).expect("narrow")),
                }
            }));
            rows.push(RelationRows::Stored {
                table: Arc::clone(&table.table),
                layout: table.layout.clone(),
                whole_rows: table.whole_rows,
            });
            table.columns = columns;
        }
        let aliases = relations.tables.iter().map(|table| table.alias.clone()).collect();
        let titles = relations.tables.iter().map(|scope| match scope.table {
            Some(_) => Vec::new(),
            None => scope.columns.iter().map(|column| column.name.clone()).collect(),
        });
        let titles = titles.collect();
        let source = JoinedSource { root, columns: places, relations: rows, aliases, titles };
        plan.source = Source::Joined(Box::new(source));
        Ok(())
    }

    /// Columns that are compared with a key have no more values than the key's table has rows.
    fn distinct_values(&self, group: &Group, relations: &Relations) -> Vec<Option<f64>> {
        let mut distinct = vec![None; relations.column_count()];
        let mut pairs = Vec::new();
        group.equal_columns(&mut pairs);
        for scope in &relations.tables {
            let Some(table) = &scope.table else { continue };
            let Some(rows) = self.session.table_rows(table.id) else { continue };
            for index in table.indexes.iter().filter(|index| index.kind != IndexKind::Ordinary) {
                if let [part] = index.parts.as_slice() {
                    let rows = (rows as f64).max(1.0);
                    distinct[scope.first + usize::from(part.column)] = Some(rows);
                }
            }
        }
        loop {
            let before = distinct.clone();
            for &(left, right) in &pairs {
                let (left, right) = (usize::from(left), usize::from(right));
                let fewest = match (distinct[left], distinct[right]) {
                    (Some(left), Some(right)) => Some(f64::min(left, right)),
                    (left, right) => left.or(right),
                };
                // A key has as many values as rows, whatever it is compared with.
                for column in [left, right] {
                    let own = before[column].is_some() && is_key(relations, column);
                    distinct[column] = if own { before[column] } else { fewest };
                }
            }
            if distinct == before {
                return distinct;
            }
        }
    }

    /// Marks the relations whose columns a term names, itself or in its slots.
    fn relations_of(&self, term: &Bound, relations: &Relations) -> Vec<bool> {
        let mut named = vec![false; relations.tables.len()];
        let mut note = |expr: &Expr| {
            rewrite::for_each_column(expr, &mut |column| {
                named[relations.position_of(usize::from(column))] = true;
            });
        };
        note(&term.expr);
        for slot in &term.slots {
            self.slots[usize::from(*slot)].for_each_expr(&mut note);
        }
        named
    }
}

struct Planner<'b, 'a> {
    binder: &'b mut Binder<'a>,
    sources: Vec<RelationSource>,
    relations: &'b Relations,
    locks: &'b [Lock],
    /// By column: about how many values it has, as far as a key says so that it is compared with.
    distinct: Vec<Option<f64>>,
}

impl Planner<'_, '_> {
    fn group(&mut self, mut group: Group) -> Result<Built, SqlError> {
        self.push_into_outer_joins(&mut group);
        let mut terms: Vec<Option<(Bound, Vec<bool>)>> = group
            .terms
            .into_iter()
            .map(|term| {
                let named = self.binder.relations_of(&term, self.relations);
                Some((term, named))
            })
            .collect();
        let order = self.order(&group.members, &terms, group.straight)?;
        let mut members: Vec<Option<Member>> = group.members.into_iter().map(Some).collect();
        let mut built: Option<Built> = None;
        for next in order {
            let member = members[next].take().expect("each comes once");
            let right = match member {
                Member::Relation(relation) => {
                    built = Some(self.add_relation(built, relation, &mut terms)?);
                    continue;
                }
                Member::Outer(outer) => self.outer_join(*outer)?,
            };
            built = Some(match built {
                None => self.filtered(right, &mut terms),
                Some(left) => {
                    let on = take_terms(&mut terms, &[&left.relations, &right.relations]);
                    self.hash_join(JoinKind::Inner, left, right, on)
                }
            });
        }
        let built = built.expect("a group has members");
        Ok(self.filtered(built, &mut terms))
    }

    /// Terms about the outer side of a member are its own.
    fn push_into_outer_joins(&mut self, group: &mut Group) {
        for member in &mut group.members {
            let Member::Outer(outer) = member else { continue };
            let mut left = vec![false; self.relations.tables.len()];
            outer.left.mark(&mut left);
            let mut kept = Vec::new();
            for term in std::mem::take(&mut group.terms) {
                let named = self.binder.relations_of(&term, self.relations);
                let has_columns = named.contains(&true);
                match has_columns && is_subset(&named, &left) {
                    true => outer.left.terms.push(term),
                    false => kept.push(term),
                }
            }
            group.terms = kept;
        }
    }

    /// In which order the members are joined: the one of the least work. Of up to [`MEMBERS_PERMUTED`] members all orders are
    /// weighed, in which one that a term connects comes before others; of more, each of the first candidates is tried as the
    /// one to begin with, and then comes the member that gives the fewest rows for a row so far.
    fn order(
        &mut self,
        members: &[Member],
        terms: &[Option<(Bound, Vec<bool>)>],
        straight: bool,
    ) -> Result<Vec<usize>, SqlError> {
        if straight || members.len() == 1 {
            return Ok((0..members.len()).collect());
        }
        let mut costs = Costs::default();
        let best = match members.len() <= MEMBERS_PERMUTED {
            true => self.best_order(members, terms, &mut costs),
            false => self.greedy_orders(members, terms, &mut costs),
        };
        best.map(|way| way.order).ok_or_else(lateral_out_of_reach)
    }

    /// By dynamic programming over the sets of members that are read.
    fn best_order(
        &mut self,
        members: &[Member],
        terms: &[Option<(Bound, Vec<bool>)>],
        costs: &mut Costs,
    ) -> Option<Way> {
        let mut best: Vec<Option<Way>> = vec![None; 1 << members.len()];
        best[0] = Some(Way::default());
        for read in 0..best.len() {
            let Some(way) = best[read].take() else { continue };
            if read + 1 == best.len() {
                return Some(way);
            }
            for next in self.candidates(members, terms, &way, costs) {
                let longer = way.and_then(next);
                let own = &mut best[read | 1 << next.member];
                if own.as_ref().is_none_or(|other| longer.work < other.work) {
                    *own = Some(longer);
                }
            }
        }
        None
    }

    fn greedy_orders(
        &mut self,
        members: &[Member],
        terms: &[Option<(Bound, Vec<bool>)>],
        costs: &mut Costs,
    ) -> Option<Way> {
        let mut starts = self.candidates(members, terms, &Way::default(), costs);
        starts.sort_by(|left, right| left.rows.total_cmp(&right.rows));
        starts.truncate(STARTS_TRIED);
        let mut best: Option<Way> = None;
        for start in starts {
            let mut way = Way::default().and_then(start);
            while way.order.len() < members.len() {
                let nexts = self.candidates(members, terms, &way, costs).into_iter();
                let Some(next) = nexts.min_by(|a, b| a.rows.total_cmp(&b.rows)) else { break };
                way = way.and_then(next);
            }
            let is_whole = way.order.len() == members.len();
            if is_whole && best.as_ref().is_none_or(|other| way.work < other.work) {
                best = Some(way);
            }
        }
        best
    }

    /// The members that may be read next: those that a term connects with the ones before, if there are such.
    fn candidates(
        &mut self,
        members: &[Member],
        terms: &[Option<(Bound, Vec<bool>)>],
        way: &Way,
        costs: &mut Costs,
    ) -> Vec<Next> {
        let mut placed = vec![false; self.relations.tables.len()];
        way.order.iter().for_each(|member| members[*member].mark(&mut placed));
        let mut nexts = Vec::new();
        for (number, member) in members.iter().enumerate() {
            if way.order.contains(&number) {
                continue;
            }
            let mut alone = vec![false; placed.len()];
            member.mark(&mut alone);
            let connects = |(_, named): &(Bound, Vec<bool>)| {
                let both = named.iter().zip(alone.iter().zip(&placed));
                let (mut own, mut other, mut outside) = (false, false, false);
                for (named, (alone, placed)) in both {
                    own |= *named && *alone;
                    other |= *named && *placed;
                    outside |= *named && !alone && !placed;
                }
                own && other && !outside
            };
            let is_connected = terms.iter().flatten().any(connects);
            let Some(cost) = self.cost_of(number, member, terms, &placed, costs) else { continue };
            let rows = (way.rows * cost.rows).max(if way.order.is_empty() { 0.1 } else { 1.0 });
            let looked_up = cost.looked_up.map(|rows| way.rows * (LOOKUP_WORK + rows * ROW_WORK));
            let pairs = if is_connected || way.order.is_empty() { way.rows } else { rows };
            let whole = cost.whole + pairs;
            let work = looked_up.map_or(whole, |looked_up| looked_up.min(whole));
            nexts.push((is_connected, Next { member: number, rows, work: work + rows * ROW_WORK }));
        }
        let any_connected = nexts.iter().any(|(is_connected, _)| *is_connected);
        nexts.retain(|(is_connected, _)| *is_connected || !any_connected);
        nexts.into_iter().map(|(_, next)| next).collect()
    }

    /// None: it names relations that are not read yet.
    fn cost_of(
        &mut self,
        number: usize,
        member: &Member,
        terms: &[Option<(Bound, Vec<bool>)>],
        placed: &[bool],
        costs: &mut Costs,
    ) -> Option<Cost> {
        let Member::Relation(relation) = member else {
            return Some(Cost { rows: QUERY_ROWS, looked_up: None, whole: QUERY_ROWS });
        };
        let relation = *relation;
        if !self.can_be_read(relation, placed) {
            return None;
        }
        let usable = usable_terms(terms, relation, placed);
        // Only the relations that these terms name matter.
        let mut known: Vec<usize> = usable
            .iter()
            .filter_map(|term| terms.iter().flatten().position(|(own, _)| std::ptr::eq(own, *term)))
            .collect();
        known.sort_unstable();
        if let Some(cost) = costs.get(&(number, known.clone())) {
            return Some(*cost);
        }
        let none = vec![false; placed.len()];
        let cost = match &self.sources[relation] {
            RelationSource::Table { table, hints } => {
                let (table, hints) = (Arc::clone(table), hints.clone());
                let own = usable_terms(terms, relation, &none);
                let reading = self.reading(relation, &table, &hints, &usable, false).ok();
                let whole = self.reading(relation, &table, &hints, &own, false).ok();
                match (reading, whole) {
                    (Some(reading), Some(whole)) => Cost {
                        rows: reading.rows * reading.kept,
                        looked_up: reading.looked_up.then_some(reading.rows),
                        whole: whole.scanned * SCAN_WORK + whole.rows * ROW_WORK,
                    },
                    _ => Cost { rows: QUERY_ROWS, looked_up: None, whole: QUERY_ROWS },
                }
            }
            _ => {
                let shares: f64 = usable.iter().map(|term| share_of(&term.expr)).product();
                Cost { rows: QUERY_ROWS * shares, looked_up: None, whole: QUERY_ROWS }
            }
        };
        costs.insert((number, known), cost);
        Some(cost)
    }

    /// Are the relations read that a LATERAL query names?
    fn can_be_read(&self, relation: usize, placed: &[bool]) -> bool {
        let RelationSource::Query { outer, .. } = &self.sources[relation] else { return true };
        outer.iter().all(|outer| {
            let mut are_placed = true;
            rewrite::for_each_column(&outer.value, &mut |column| {
                are_placed &= placed[self.relations.position_of(usize::from(column))];
            });
            are_placed
        })
    }

    /// How a table is read behind the relations before it. `takes_slots`: makes the slots that it needs.
    fn reading(
        &mut self,
        relation: usize,
        table: &Arc<Table>,
        hints: &[ast::IndexHint],
        terms: &[&Bound],
        takes_slots: bool,
    ) -> Result<Reading, SqlError> {
        self.binder.uses_statistics = true;
        let counted = self.binder.session.table_rows(table.id);
        let table_rows = counted.map_or(TABLE_ROWS, |rows| (rows as f64).max(1.0));
        let scope = Arc::clone(table);
        let first = self.relations.tables[relation].first;
        let alias = &self.relations.tables[relation].alias;
        let allowed = access::allowed_indexes(table, hints, alias)?;
        let (mut own, mut bound_by_others) = (Vec::new(), Vec::new());
        let mut outer: Vec<(u16, u16)> = Vec::new();
        let first_param = self.binder.param_types.len();
        for term in terms.iter().filter(|term| !term.is_local()) {
            let mut expr = term.expr.clone();
            let mut has_outer = false;
            replace_outer(&mut expr, first, scope.columns.len(), &mut |column| {
                has_outer = true;
                let known = outer.iter().find(|(own, _)| *own == column).map(|(_, param)| *param);
                known.unwrap_or_else(|| {
                    let param = u16::try_from(first_param + outer.len()).unwrap_or(u16::MAX);
                    outer.push((column, param));
                    param
                })
            });
            match has_outer {
                true => bound_by_others.push(expr),
                false => own.push(expr),
            }
        }
        let all = own.iter().chain(&bound_by_others).cloned().collect();
        let wanted = Wanted::default();
        let mut access = access::choose(table, all, &wanted, &allowed);
        let is_outer = |param: u16| outer.iter().any(|(_, own)| *own == param);
        let uses_outer = path_params(&access).into_iter().any(is_outer);
        let looked_up = uses_outer
            && access.path.equal.iter().any(|bound| {
                let mut uses = false;
                for_each_bound_expr(bound, &mut |expr| {
                    rewrite::for_each_param(expr, &mut |param| uses |= is_outer(param));
                });
                uses
            });
        let others: f64 = bound_by_others
            .iter()
            .map(|term| self.share_of_join(term, first, table_rows))
            .product();
        if looked_up {
            let rows = match access.path.kind {
                PathKind::PrimaryKey | PathKind::UniqueKey => 1.0,
                PathKind::Range => self.rows_of_path(table, first, table_rows, &access),
            };
            let own_share: f64 = own.iter().map(share_of).product();
            access.filter = rewrite::and_of(own.clone());
            access.residual = rewrite::and_of(own);
            let mut values = Vec::new();
            if takes_slots {
                for (column, param) in outer {
                    values.push(self.outer_value(column, param)?);
                }
            }
            return Ok(Reading {
                access,
                outer: values,
                rows,
                scanned: rows,
                looked_up: true,
                kept: own_share,
                given: rows * own_share,
            });
        }
        let scanned = match (access.path.kind, access.path.equal.len(), access.path.is_ranged()) {
            (PathKind::PrimaryKey | PathKind::UniqueKey, ..) => 1.0,
            (PathKind::Range, 0, false) => table_rows,
            (PathKind::Range, 0, true) => table_rows * TERM_SHARE,
            (PathKind::Range, ..) => self.rows_of_path(table, first, table_rows, &access),
        };
        let bounds: Vec<Vec<u8>> = bound_by_others.iter().map(rewrite::encoded).collect();
        let residual = access.residual.iter().flat_map(rewrite::terms_of);
        let alone = residual.filter(|term| !bounds.contains(&rewrite::encoded(term)));
        let left: f64 = alone.map(share_of).product();
        let given = (scanned * left).max(0.1);
        let rows = (scanned * left * others).max(0.1);
        if !bound_by_others.is_empty() {
            access = access::choose(table, own, &wanted, &allowed);
        }
        Ok(Reading { access, outer: Vec::new(), rows, scanned, looked_up: false, kept: 1.0, given })
    }

    /// The share of a table's rows that a term with a value of a left row leaves. The table begins at `first`.
    fn share_of_join(&self, term: &Expr, first: usize, table_rows: f64) -> f64 {
        let Expr::Binary(BinaryOp::Equal, left, right) = term else { return share_of(term) };
        let Some(column) = plain_column(left).or_else(|| plain_column(right)) else {
            return share_of(term);
        };
        let values = self.distinct[first + usize::from(column)];
        1.0 / values.unwrap_or(table_rows / ROWS_PER_KEY).max(1.0)
    }

    /// Rows that agree in the bound parts of an index.
    fn rows_of_path(
        &self,
        table: &Table,
        first: usize,
        table_rows: f64,
        access: &AccessPlan,
    ) -> f64 {
        let mut rows = table_rows;
        let parts = &table.indexes[access.path.index].parts;
        for (number, (part, bound)) in parts.iter().zip(&access.path.equal).enumerate() {
            let known = self.distinct[first + usize::from(part.column)];
            // A key that nothing is known about has some rows for each first part, and hardly more than one for two.
            let guess = if number == 0 { table_rows / ROWS_PER_KEY } else { ROWS_PER_KEY };
            let values = match bound {
                PartBound::In(list) => list.len() as f64,
                _ => 1.0,
            };
            rows *= values / known.unwrap_or(guess).max(1.0);
        }
        rows.clamp(1.0, table_rows)
    }

    /// The slot that a left row's column fills in; `param` is the number that it must have.
    fn outer_value(&mut self, column: u16, param: u16) -> Result<OuterValue, SqlError> {
        let own = self.relations.column(usize::from(column));
        let number = self.binder.slot(Slot::Outer, Some(own.column_type.clone()))?;
        assert_eq!(number, param, "slots are made in the order of their numbers");
        let first = u16::try_from(self.binder.param_kinds.len()).expect("counted");
        Ok(OuterValue { slot: number - first, value: Expr::Column(column) })
    }

    /// Joins one more relation of a group.
    fn add_relation(
        &mut self,
        left: Option<Built>,
        relation: usize,
        terms: &mut [Option<(Bound, Vec<bool>)>],
    ) -> Result<Built, SqlError> {
        let mut alone = vec![false; self.relations.tables.len()];
        alone[relation] = true;
        let Some(left) = left else {
            let (right, method) = self.read(relation, take_terms(terms, &[&alone]), None)?;
            return match method {
                JoinMethod::Hash => Ok(self.filtered(right, terms)),
                JoinMethod::Lookup { .. } | JoinMethod::Apply { .. } => Err(lateral_out_of_reach()),
            };
        };
        let own = take_terms(terms, &[&alone]);
        let on = take_terms(terms, &[&left.relations, &alone]);
        self.join_relation(JoinKind::Inner, left, relation, own, on)
    }

    /// Joins a relation to those before it. `own` are terms about it alone, `on` those about both sides.
    fn join_relation(
        &mut self,
        kind: JoinKind,
        left: Built,
        relation: usize,
        own: Vec<Bound>,
        on: Vec<Bound>,
    ) -> Result<Built, SqlError> {
        let (right, method) = self.read(relation, own, Some((&left, &on)))?;
        match method {
            JoinMethod::Hash => Ok(self.hash_join(kind, left, right, on)),
            method => Ok(self.joined(kind, left, right, method, on)),
        }
    }

    /// The operator that reads a relation, and how it is joined to those before it.
    fn read(
        &mut self,
        relation: usize,
        own: Vec<Bound>,
        left: Option<(&Built, &[Bound])>,
    ) -> Result<(Built, JoinMethod), SqlError> {
        let number = u16::try_from(relation).expect("relations are few");
        let mut relations = vec![false; self.relations.tables.len()];
        relations[relation] = true;
        let taken = RelationSource::Working { number: u16::MAX };
        let mut method = JoinMethod::Hash;
        let (operator, rest, rows) = match std::mem::replace(&mut self.sources[relation], taken) {
            RelationSource::Table { table, hints } => {
                if self.binder.is_subquery() {
                    self.binder.check_not_changed(&table)?;
                }
                let (local, shippable): (Vec<Bound>, Vec<Bound>) =
                    own.into_iter().partition(Bound::is_local);
                let on = left.map_or(&[][..], |(_, on)| on);
                let terms: Vec<&Bound> = shippable.iter().chain(on).collect();
                let mut reading = self.reading(relation, &table, &hints, &terms, true)?;
                if let Some((left, on)) = left
                    && !reading.outer.is_empty()
                {
                    // Many look-ups are more work than one scan, whose rows are kept.
                    let alone: Vec<&Bound> = shippable.iter().collect();
                    let whole = self.reading(relation, &table, &hints, &alone, true)?;
                    let lookups = left.rows * (LOOKUP_WORK + reading.rows * ROW_WORK);
                    let scan = whole.scanned * SCAN_WORK + whole.rows * ROW_WORK + left.rows;
                    if scan < lookups && self.has_join_key(on, &left.relations, &relations) {
                        reading = whole;
                    }
                }
                if !reading.outer.is_empty() {
                    method = JoinMethod::Lookup { outer: reading.outer };
                }
                let source = Box::new(TableSource {
                    layout: table.row_layout(),
                    columns: Vec::new(),
                    whole_rows: true,
                    access: reading.access,
                    lock: self.locks[relation],
                    alias: self.relations.tables[relation].alias.clone(),
                    table,
                });
                let estimate = reading.given;
                // What the condition of a hash join leaves is counted with it.
                let rows = match reading.looked_up {
                    true => reading.rows * reading.kept,
                    false => estimate,
                };
                let operator =
                    Operator::Table { relation: number, source, ordered: false, estimate };
                (operator, local, rows)
            }
            RelationSource::Virtual(table) => {
                (Operator::Virtual { relation: number, table }, own, SYSTEM_ROWS)
            }
            RelationSource::Query { plan, outer, keep } => {
                if !outer.is_empty() {
                    method = JoinMethod::Apply { outer };
                }
                (Operator::Query { relation: number, plan, keep }, own, QUERY_ROWS)
            }
            RelationSource::Merged(_) => unreachable!("its relations have taken its place"),
            RelationSource::Recursive { seed, steps, distinct, number: working, columns } => {
                let operator = Operator::Recursive {
                    relation: number,
                    seed,
                    steps,
                    distinct,
                    number: working,
                    columns,
                };
                (operator, own, QUERY_ROWS)
            }
            RelationSource::Working { number: working } => {
                (Operator::Working { relation: number, number: working }, own, SYSTEM_ROWS)
            }
        };
        let shares: f64 = rest.iter().map(|term| share_of(&term.expr)).product();
        let built = Built { operator, relations, rows: rows * shares };
        Ok((self.filter(built, rest), method))
    }

    fn outer_join(&mut self, outer: OuterJoin) -> Result<Built, SqlError> {
        let mut right = outer.right;
        let mut inner = vec![false; self.relations.tables.len()];
        right.mark(&mut inner);
        // What ON says of the inner side alone.
        let (own, on): (Vec<Bound>, Vec<Bound>) = outer.on.into_iter().partition(|term| {
            let named = self.binder.relations_of(term, self.relations);
            named.contains(&true) && is_subset(&named, &inner)
        });
        let left = self.group(outer.left)?;
        if let [Member::Relation(relation)] = right.members.as_slice() {
            let relation = *relation;
            let own = right.terms.into_iter().chain(own).collect();
            return self.join_relation(outer.kind, left, relation, own, on);
        }
        right.terms.extend(own);
        let right = self.group(right)?;
        Ok(self.hash_join(outer.kind, left, right, on))
    }

    /// The side of fewer rows is the one that is kept, where an inner join lets either be.
    fn hash_join(&mut self, kind: JoinKind, left: Built, right: Built, on: Vec<Bound>) -> Built {
        let (left, right) = match kind == JoinKind::Inner && left.rows * 2.0 < right.rows {
            true => (right, left),
            false => (left, right),
        };
        self.joined(kind, left, right, JoinMethod::Hash, on)
    }

    /// Do the terms compare columns of the two sides by keys?
    fn has_join_key(&self, on: &[Bound], left: &[bool], right: &[bool]) -> bool {
        let types = self.relations.result_types();
        on.iter().any(|term| self.join_key(term, left, right, &types).is_some())
    }

    fn joined(
        &mut self,
        kind: JoinKind,
        left: Built,
        right: Built,
        method: JoinMethod,
        on: Vec<Bound>,
    ) -> Built {
        let types = self.relations.result_types();
        let mut keys = Vec::new();
        let mut rest = Vec::new();
        let mut share: f64 = 1.0;
        let largest = left.rows.max(right.rows).max(1.0);
        for term in on {
            match self.join_key(&term, &left.relations, &right.relations, &types) {
                Some(key) => {
                    keys.push(key);
                    // As where one side's column is a key of it.
                    share = share.min(1.0 / largest);
                }
                None => {
                    share *= share_of(&term.expr);
                    rest.push(term);
                }
            }
        }
        let rows = match &method {
            JoinMethod::Hash => left.rows * (right.rows * share).max(0.5),
            JoinMethod::Lookup { .. } | JoinMethod::Apply { .. } => left.rows * right.rows,
        };
        let rows = match kind {
            JoinKind::Inner => rows,
            JoinKind::Left => rows.max(left.rows),
            JoinKind::Semi | JoinKind::Anti => left.rows * UNPAIRED_SHARE,
        };
        let relations =
            left.relations.iter().zip(&right.relations).map(|(a, b)| *a || *b).collect();
        let join = JoinOperator {
            kind,
            left: left.operator,
            right: right.operator,
            method,
            keys,
            condition: ordered(rest, &self.binder.slots),
            estimate: rows,
        };
        Built { operator: Operator::Join(Box::new(join)), relations, rows }
    }

    /// `left = right` of types whose equal values have equal keys.
    fn join_key(
        &self,
        term: &Bound,
        left: &[bool],
        right: &[bool],
        types: &[ResultType],
    ) -> Option<JoinKey> {
        let Expr::Binary(BinaryOp::Equal, first, second) = &term.expr else { return None };
        if term.is_local() {
            return None;
        }
        let is_of = |expr: &Expr, side: &[bool]| {
            let (mut is_of, mut any) = (true, false);
            rewrite::for_each_column(expr, &mut |column| {
                any = true;
                is_of &= side[self.relations.position_of(usize::from(column))];
            });
            any && is_of
        };
        let (own, other) = match () {
            () if is_of(first, left) && is_of(second, right) => (first, second),
            () if is_of(second, left) && is_of(first, right) => (second, first),
            () => return None,
        };
        let type_of = |expr: &Expr| types::expr::result_type(expr, types, &self.binder.param_types);
        let are_alike = have_equal_keys(
            type_of(own).column_type.as_ref()?,
            type_of(other).column_type.as_ref()?,
        );
        are_alike.then(|| JoinKey { left: (**own).clone(), right: (**other).clone() })
    }

    /// The operator under the terms whose columns it has.
    fn filtered(&self, built: Built, terms: &mut [Option<(Bound, Vec<bool>)>]) -> Built {
        let own = take_terms(terms, &[&built.relations]);
        self.filter(built, own)
    }

    fn filter(&self, built: Built, terms: Vec<Bound>) -> Built {
        if terms.is_empty() {
            return built;
        }
        let (input, terms) = (Box::new(built.operator), ordered(terms, &self.binder.slots));
        let estimate = built.rows;
        Built { operator: Operator::Filter { input, terms, estimate }, ..built }
    }
}

/// 3668: LATERAL on the wrong side of a join, or a parenthesis between LATERAL and the tables that it names.
fn lateral_out_of_reach() -> SqlError {
    SqlError::new(
        code::ER_TF_FORBIDDEN_JOIN_TYPE,
        "INNER or LEFT JOIN must be used for LATERAL references made by a derived table, and the \
         tables that it names must stand before it in the same join",
    )
}

/// Is the column the whole of a unique key?
fn is_key(relations: &Relations, column: usize) -> bool {
    let scope = relations.table_of(column);
    scope.table.as_ref().is_some_and(|table| {
        table.indexes.iter().any(|index| {
            let is_it = |part: &types::IndexPart| scope.first + usize::from(part.column) == column;
            index.kind != IndexKind::Ordinary
                && matches!(index.parts.as_slice(), [part] if is_it(part))
        })
    })
}

/// `(a AND x) OR (a AND y)` as `a AND (x OR y)`; and for each relation that all arms of an OR say something about, what they
/// say: its shards can check that.
fn factored(term: Bound, relations: &Relations) -> Vec<Bound> {
    let Expr::Or(arms) = &term.expr else { return vec![term] };
    if term.is_local() || arms.len() < 2 {
        return vec![term];
    }
    let mut arms: Vec<Vec<Expr>> = arms.iter().map(|arm| rewrite::and_terms(arm.clone())).collect();
    let keys = |arm: &[Expr]| arm.iter().map(rewrite::encoded).collect::<Vec<_>>();
    let others: Vec<Vec<Vec<u8>>> = arms[1..].iter().map(|arm| keys(arm)).collect();
    let is_common = |term: &Expr| {
        let own = rewrite::encoded(term);
        others.iter().all(|arm| arm.contains(&own))
    };
    let common: Vec<Expr> = arms[0].iter().filter(|term| is_common(term)).cloned().collect();
    let known = keys(&common);
    for arm in &mut arms {
        arm.retain(|term| !known.contains(&rewrite::encoded(term)));
    }
    let mut terms: Vec<Bound> = common.into_iter().map(Bound::pure).collect();
    if arms.iter().any(Vec::is_empty) {
        // x OR (x AND y) is x.
        return terms;
    }
    for scope in &relations.tables {
        let columns = scope.first..scope.first + scope.columns.len();
        let is_own = |term: &&Expr| {
            let (mut is_own, mut any) = (true, false);
            rewrite::for_each_column(term, &mut |column| {
                any = true;
                is_own &= columns.contains(&usize::from(column));
            });
            is_own && any
        };
        let own: Vec<Vec<Expr>> =
            arms.iter().map(|arm| arm.iter().filter(is_own).cloned().collect()).collect();
        let is_all = own.iter().zip(&arms).all(|(own, arm)| own.len() == arm.len());
        if !is_all && own.iter().all(|arm| !arm.is_empty()) {
            terms.push(Bound::pure(or_of(own)));
        }
    }
    terms.push(Bound::pure(or_of(arms)));
    terms
}

fn or_of(arms: Vec<Vec<Expr>>) -> Expr {
    Expr::Or(arms.into_iter().filter_map(rewrite::and_of).collect())
}

impl Member {
    fn mark(&self, relations: &mut [bool]) {
        match self {
            Member::Relation(relation) => relations[*relation] = true,
            Member::Outer(outer) => {
                outer.left.mark(relations);
                outer.right.mark(relations);
            }
        }
    }
}

impl Group {
    /// Pairs of columns that terms say to be equal.
    fn equal_columns(&self, pairs: &mut Vec<(u16, u16)>) {
        let mut note = |terms: &[Bound]| {
            for term in terms {
                if let Expr::Binary(BinaryOp::Equal, left, right) = &term.expr
                    && let (Some(left), Some(right)) = (plain_column(left), plain_column(right))
                {
                    pairs.push((left, right));
                }
            }
        };
        note(&self.terms);
        for member in &self.members {
            if let Member::Outer(outer) = member {
                note(&outer.on);
            }
        }
        for member in &self.members {
            if let Member::Outer(outer) = member {
                outer.left.equal_columns(pairs);
                outer.right.equal_columns(pairs);
            }
        }
    }

    fn mark(&self, relations: &mut [bool]) {
        self.members.iter().for_each(|member| member.mark(relations));
    }
}

fn is_subset(named: &[bool], of: &[bool]) -> bool {
    named.iter().zip(of).all(|(named, of)| !named || *of)
}

/// Takes the terms that name only relations of these sides.
fn take_terms(terms: &mut [Option<(Bound, Vec<bool>)>], sides: &[&Vec<bool>]) -> Vec<Bound> {
    let all: Vec<bool> = (0..sides[0].len()).map(|n| sides.iter().any(|side| side[n])).collect();
    let is_own = |term: &&mut Option<(Bound, Vec<bool>)>| {
        term.as_ref().is_some_and(|(_, named)| is_subset(named, &all))
    };
    let own = terms.iter_mut().filter(is_own);
    own.filter_map(Option::take).map(|(term, _)| term).collect()
}

/// The terms about a relation that can be asked when these others are read.
fn usable_terms<'t>(
    terms: &'t [Option<(Bound, Vec<bool>)>],
    relation: usize,
    placed: &[bool],
) -> Vec<&'t Bound> {
    let is_usable = |named: &Vec<bool>| {
        named[relation]
            && named.iter().enumerate().all(|(n, named)| !named || n == relation || placed[n])
    };
    let known = terms.iter().flatten();
    known.filter(|(_, named)| is_usable(named)).map(|(term, _)| term).collect()
}

/// The share of rows that a term is taken to leave.
fn share_of(term: &Expr) -> f64 {
    let share = match term {
        Expr::Binary(BinaryOp::Equal | BinaryOp::NullSafeEqual, ..) => EQUAL_SHARE,
        Expr::Binary(BinaryOp::NotEqual, ..) => 1.0 - EQUAL_SHARE,
        Expr::Like { negated: false, .. } => EQUAL_SHARE,
        Expr::In { list, negated: false, .. } => EQUAL_SHARE * list.len() as f64,
        Expr::And(terms) => terms.iter().map(share_of).product(),
        Expr::Or(terms) => terms.iter().map(share_of).sum(),
        _ => TERM_SHARE,
    };
    share.min(1.0)
}

/// Columns of the table at `first` become positions in it; others what `param` says.
fn replace_outer(expr: &mut Expr, first: usize, count: usize, param: &mut dyn FnMut(u16) -> u16) {
    if let Expr::Column(column) = expr {
        match usize::from(*column).checked_sub(first).filter(|position| *position < count) {
            Some(position) => *column = u16::try_from(position).expect("tables are narrow"),
            None => *expr = Expr::Param(param(*column)),
        }
        return;
    }
    rewrite::for_each_child_mut(expr, &mut |child| replace_outer(child, first, count, param));
}

fn path_params(access: &AccessPlan) -> Vec<u16> {
    let mut params = Vec::new();
    let mut note = |expr: &Expr| rewrite::for_each_param(expr, &mut |param| params.push(param));
    for bound in &access.path.equal {
        for_each_bound_expr(bound, &mut note);
    }
    for range in &access.path.ranges {
        range.lower.iter().chain(&range.upper).for_each(|(expr, _)| note(expr));
    }
    params
}

fn for_each_bound_expr(bound: &PartBound, visit: &mut dyn FnMut(&Expr)) {
    match bound {
        PartBound::Equal(expr) | PartBound::NullSafeEqual(expr) => visit(expr),
        PartBound::IsNull => {}
        PartBound::In(list) => list.iter().for_each(visit),
    }
}

/// Do equal values of the two types have equal keys ([`types::convert::group_key`]), and others different ones?
pub fn have_equal_keys(left: &ColumnType, right: &ColumnType) -> bool {
    use ColumnType as T;
    let is_exact = |own: &T| matches!(own, T::Int { .. } | T::Decimal { .. });
    let is_double = |own: &T| matches!(own, T::Double | T::Float);
    let is_moment = |own: &T| matches!(own, T::Date | T::DateTime { .. });
    let is_time = |own: &T| matches!(own, T::Time { .. });
    let both = |is: &dyn Fn(&T) -> bool| is(left) && is(right);
    if both(&|own| own.is_string()) {
        return left.collation() == right.collation();
    }
    both(&is_exact)
        || both(&is_double)
        || both(&is_moment)
        || both(&is_time)
        || both(&|own| own.is_binary())
}

/// Inner joins in a row are one group.
fn flatten(tree: FromTree, group: &mut Group) {
    match tree {
        FromTree::Relation(relation) => group.members.push(Member::Relation(relation)),
        FromTree::Join(join) if join.kind == JoinKind::Inner => {
            flatten(join.left, group);
            flatten(join.right, group);
            group.terms.extend(join.on);
            group.straight |= join.straight;
        }
        FromTree::Join(join) => {
            let (mut left, mut right) = (Group::default(), Group::default());
            flatten(join.left, &mut left);
            flatten(join.right, &mut right);
            let outer = OuterJoin { kind: join.kind, left, right, on: join.on };
            group.members.push(Member::Outer(Box::new(outer)));
        }
    }
}

/// An outer join is an inner one where a term above it is not true of NULLs for the columns of its inner side. `known` are
/// terms that hold for every row that the tree gives to those above.
fn simplified(tree: FromTree, known: &[Expr], relations: &Relations) -> FromTree {
    let FromTree::Join(mut join) = tree else { return tree };
    if join.kind == JoinKind::Left {
        let mut inner = Vec::new();
        join.right.relations(&mut inner);
        let rejects = |term: &Expr| {
            inner.iter().any(|relation| {
                let scope = &relations.tables[*relation];
                let columns = scope.first..scope.first + scope.columns.len();
                rejects_null(term, &columns)
            })
        };
        if known.iter().any(rejects) {
            join.kind = JoinKind::Inner;
        }
    }
    let on: Vec<Expr> = join.on.iter().map(|term| term.expr.clone()).collect();
    let (left_known, right_known) = match join.kind {
        JoinKind::Inner => {
            let all = [known, &on].concat();
            (all.clone(), all)
        }
        // Inner rows that ON leaves out are never seen.
        JoinKind::Left | JoinKind::Semi | JoinKind::Anti => (known.to_vec(), on),
    };
    join.left = simplified(join.left, &left_known, relations);
    join.right = simplified(join.right, &right_known, relations);
    FromTree::Join(join)
}

/// Is the term not true where all these columns are NULL?
fn rejects_null(term: &Expr, columns: &std::ops::Range<usize>) -> bool {
    match term {
        Expr::And(terms) => terms.iter().any(|term| rejects_null(term, columns)),
        Expr::Or(terms) => terms.iter().all(|term| rejects_null(term, columns)),
        Expr::IsNull(operand, true) => is_null(operand, columns),
        Expr::IsTruth(operand, _, false) => is_null(operand, columns),
        other => is_null(other, columns),
    }
}

/// Is the value NULL where all these columns are?
fn is_null(expr: &Expr, columns: &std::ops::Range<usize>) -> bool {
    let null = |expr: &Expr| is_null(expr, columns);
    match expr {
        Expr::Column(column) => columns.contains(&usize::from(*column)),
        Expr::Binary(op, left, right) => match op {
            BinaryOp::NullSafeEqual => false,
            _ => null(left) || null(right),
        },
        Expr::Unary(UnaryOp::Not | UnaryOp::Negate | UnaryOp::BitNot, operand)
        | Expr::Cast(operand, _)
        | Expr::Collate(operand, _)
        | Expr::Convert(operand, _)
        | Expr::InCollation(operand, _)
        | Expr::In { operand, .. } => null(operand),
        Expr::Like { operand, pattern, .. } => null(operand) || null(pattern),
        Expr::Between { operand, .. } => null(operand),
        Expr::Function(types::expr::Function::UtcToLocal, operands) => operands.iter().any(null),
        _ => false,
    }
}

impl Operator {
    /// Calls `visit` for every expression over its rows that needs no slots, and `bound` for the others.
    fn for_each_expr<'o>(&'o self, visit: &mut dyn FnMut(&Expr), bound: &mut dyn FnMut(&'o Bound)) {
        match self {
            Operator::Table { .. }
            | Operator::Virtual { .. }
            | Operator::Query { .. }
            | Operator::Values { .. }
            | Operator::Set { .. }
            | Operator::Recursive { .. }
            | Operator::Working { .. } => {}
            Operator::Filter { input, terms, .. } => {
                terms.iter().for_each(&mut *bound);
                input.for_each_expr(visit, bound);
            }
            Operator::Join(join) => {
                join.left.for_each_expr(visit, bound);
                join.right.for_each_expr(visit, bound);
                join.condition.iter().for_each(&mut *bound);
                for key in &join.keys {
                    visit(&key.left);
                    visit(&key.right);
                }
                match &join.method {
                    JoinMethod::Hash => {}
                    JoinMethod::Lookup { outer } | JoinMethod::Apply { outer } => {
                        outer.iter().for_each(|outer| visit(&outer.value));
                    }
                }
            }
        }
    }

    /// The rows that are read first come in the order of their key.
    fn make_ordered(&mut self) {
        match self {
            Operator::Table { ordered, .. } => *ordered = true,
            Operator::Filter { input, .. } => input.make_ordered(),
            Operator::Join(join) => join.left.make_ordered(),
            _ => {}
        }
    }

    /// How the table at this relation is read.
    fn table_of(&mut self, wanted: u16) -> Option<&mut TableSource> {
        match self {
            Operator::Table { relation, source, .. } => (*relation == wanted).then_some(source),
            Operator::Filter { input, .. } => input.table_of(wanted),
            Operator::Join(join) => {
                let JoinOperator { left, right, .. } = &mut **join;
                match left.table_of(wanted) {
                    Some(table) => Some(table),
                    None => right.table_of(wanted),
                }
            }
            _ => None,
        }
    }
}
