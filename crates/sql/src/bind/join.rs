//! FROM with several relations, or one that is a query: in which order they are joined, and how.
//!
//! ```text
//! FROM tree     outer joins whose inner side WHERE does not let be NULL become inner joins           terms
//! groups        inner joins in a row are one group: its members in any order, its terms where all    terms
//!               their columns are there
//! order         the one of the least work, by the rows that each table is likely to give             order, estimate
//! operators     one member after the other
//! ```
//!
//! LIMIT is a demand: where an index of the first table has the order that the query asks for, or it asks for none, the rows
//! are pulled until there are enough ([`demand`]).
//!
//! A member that is a table is *looked up* where relations before it bind a key of it; else its rows, filtered at the
//! shards, are kept by the columns that the join compares.

mod demand;
mod estimate;
mod order;
mod terms;

use client::Lock;
use types::Expr;
use types::expr::{Aggregate, BinaryOp, ResultType};

use super::estimate::{LOOKUP_WORK, ROW_WORK, SCAN_WORK, share_of};
use super::from::{From, RelationSource, ordered};
use super::names::Relations;
use super::{Binder, rewrite};
use crate::error::{SqlError, code};
use crate::plan::{
    Bound, ColumnPlace, JoinKey, JoinKind, JoinMethod, JoinOperator, JoinedSource, Operator,
    RelationRows, SelectPlan, Source, TableSource,
};
use demand::Demand;
use estimate::{QUERY_ROWS, SYSTEM_ROWS, UNPAIRED_SHARE};
use order::Search;
pub use terms::have_equal_keys;
use terms::{Group, Member, OuterJoin, factored, flatten, is_subset, simplified, take_terms};

/// An operator while the tree is made: its relations, and how many rows it may give.
struct Built {
    operator: Operator,
    relations: Vec<bool>,
    rows: f64,
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
        let demand = self.demand(plan, relations);
        let sources = from.sources;
        let mut planner =
            Planner { binder: self, sources, relations, locks, distinct, demand, share: 1.0 };
        let mut root = planner.group(group, true)?.operator;
        let delivers_order = planner.demand.as_ref().is_some_and(Demand::is_ordered);
        let is_pulled = planner.demand.is_some() && (delivers_order || plan.sort.is_empty());
        if is_pulled {
            root.make_pulled();
        } else if (plan.sort.is_empty() || plan.windows.is_some()) && plan.grouping.is_none() {
            // The order that people expect to see where they ask for none.
            root.make_ordered();
        }
        self.joined_source(plan, root, relations)?;
        if let Source::Joined(source) = &mut plan.source {
            (source.is_pulled, source.delivers_order) = (is_pulled, delivers_order);
        }
        Ok(())
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
            table.layout = match table.whole_rows {
                true => table.table.row_layout(),
                false => table.table.layout_of(&columns),
            };
            places.extend((0..own.len()).map(|position| {
                ColumnPlace {
                    relation,
                    position: columns
                        .iter()
                        .position(|column| usize::from(*column) == position)
                        .map_or(ColumnPlace::UNREAD, |own| u16::try_from(own).expect("narrow")),
                }
            }));
            rows.push(RelationRows::Stored { layout: table.layout.clone() });
            table.columns = columns;
        }
        let aliases = relations.tables.iter().map(|table| table.alias.clone()).collect();
        let titles = relations.tables.iter().map(|scope| match scope.table {
            Some(_) => Vec::new(),
            None => scope.columns.iter().map(|column| column.name.clone()).collect(),
        });
        let titles = titles.collect();
        let source = JoinedSource {
            root,
            columns: places,
            relations: rows,
            aliases,
            titles,
            is_pulled: false,
            delivers_order: false,
        };
        plan.source = Source::Joined(Box::new(source));
        Ok(())
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
    /// That of the query's LIMIT.
    demand: Option<Demand>,
    /// The share of the rows of the group at hand that the demand lets be read.
    share: f64,
}

impl Planner<'_, '_> {
    /// `drives`: the first rows of the group are the first ones of the query.
    fn group(&mut self, group: Group, drives: bool) -> Result<Built, SqlError> {
        if drives {
            return self.group_of(group, true);
        }
        let share = std::mem::replace(&mut self.share, 1.0);
        let built = self.group_of(group, false);
        self.share = share;
        built
    }

    fn group_of(&mut self, mut group: Group, drives: bool) -> Result<Built, SqlError> {
        self.push_into_outer_joins(&mut group);
        let mut terms: Vec<Option<(Bound, Vec<bool>)>> = std::mem::take(&mut group.terms)
            .into_iter()
            .map(|term| {
                let named = self.binder.relations_of(&term, self.relations);
                Some((term, named))
            })
            .collect();
        let Group { members, straight, .. } = group;
        let search = Search { members: &members, terms: &terms, straight, first: None };
        let order = self.order(&search, drives)?;
        let mut members: Vec<Option<Member>> = members.into_iter().map(Some).collect();
        let mut built: Option<Built> = None;
        for next in order {
            let member = members[next].take().expect("each comes once");
            let right = match member {
                Member::Relation(relation) => {
                    built = Some(self.add_relation(built, relation, &mut terms, drives)?);
                    continue;
                }
                Member::Outer(outer) => self.outer_join(*outer, drives && built.is_none())?,
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

    /// Joins one more relation of a group.
    fn add_relation(
        &mut self,
        left: Option<Built>,
        relation: usize,
        terms: &mut [Option<(Bound, Vec<bool>)>],
        drives: bool,
    ) -> Result<Built, SqlError> {
        let mut alone = vec![false; self.relations.tables.len()];
        alone[relation] = true;
        let Some(left) = left else {
            let own = take_terms(terms, &[&alone]);
            let order = if drives { self.demand.as_ref().and_then(Demand::order) } else { None };
            let order = order.cloned();
            let (right, method) = self.read(relation, own, None, order.as_deref())?;
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
        let (right, method) = self.read(relation, own, Some((&left, &on)), None)?;
        match method {
            JoinMethod::Hash => Ok(self.hash_join(kind, left, right, on)),
            method => Ok(self.joined(kind, left, right, method, on)),
        }
    }

    /// The operator that reads a relation, and how it is joined to those before it. `order`: of the first one, in this order.
    fn read(
        &mut self,
        relation: usize,
        own: Vec<Bound>,
        left: Option<(&Built, &[Bound])>,
        order: Option<&[(u16, bool)]>,
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
                let mut reading = match order {
                    None => self.reading(relation, &table, &hints, &terms, true)?,
                    Some(order) => self
                        .ordered_reading(relation, &table, &hints, &terms, order)?
                        .expect("the demand was decided by it"),
                };
                if let Some((left, on)) = left
                    && !reading.outer.is_empty()
                {
                    // Many look-ups are more work than one scan, whose rows are kept.
                    let alone: Vec<&Bound> = shippable.iter().collect();
                    let whole = self.reading(relation, &table, &hints, &alone, true)?;
                    let left_rows = left.rows * self.share;
                    let lookups = left_rows * (LOOKUP_WORK + reading.rows * ROW_WORK);
                    let scan = whole.scanned * SCAN_WORK + whole.rows * ROW_WORK + left_rows;
                    if scan < lookups
                        && !self.prefers_lookups(relation)
                        && self.has_join_key(on, &left.relations, &relations)
                    {
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
                let operator = Operator::Table {
                    relation: number,
                    source,
                    ordered: false,
                    pulled: false,
                    estimate,
                };
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

    fn outer_join(&mut self, outer: OuterJoin, drives: bool) -> Result<Built, SqlError> {
        let mut right = outer.right;
        let mut inner = vec![false; self.relations.tables.len()];
        right.mark(&mut inner);
        // What ON says of the inner side alone.
        let (own, on): (Vec<Bound>, Vec<Bound>) = outer.on.into_iter().partition(|term| {
            let named = self.binder.relations_of(term, self.relations);
            named.contains(&true) && is_subset(&named, &inner)
        });
        let left = self.group(outer.left, drives)?;
        if let [Member::Relation(relation)] = right.members.as_slice() {
            let relation = *relation;
            let own = right.terms.into_iter().chain(own).collect();
            return self.join_relation(outer.kind, left, relation, own, on);
        }
        right.terms.extend(own);
        let right = self.group(right, false)?;
        Ok(self.hash_join(outer.kind, left, right, on))
    }

    /// The side of fewer rows is the one that is kept, where an inner join lets either be. The rows come in the order of those
    /// of the other side.
    fn hash_join(&mut self, kind: JoinKind, left: Built, right: Built, on: Vec<Bound>) -> Built {
        let changes_places = kind == JoinKind::Inner
            && left.rows * 2.0 < right.rows
            && !self.demand.as_ref().is_some_and(Demand::is_ordered);
        let (left, right) = match changes_places {
            true => (right, left),
            false => (left, right),
        };
        self.joined(kind, left, right, JoinMethod::Hash, on)
    }

    /// Do the terms compare columns of the two sides by keys?
    fn has_join_key(&self, on: &[Bound], left: &[bool], right: &[bool]) -> bool {
        if !self.binder.environment.optimizer_switch.hash_join {
            return false;
        }
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
        let keeps_by_key = self.binder.environment.optimizer_switch.hash_join
            || !matches!(method, JoinMethod::Hash);
        let largest = left.rows.max(right.rows).max(1.0);
        for term in on {
            match self.join_key(&term, &left.relations, &right.relations, &types) {
                Some(key) => {
                    match keeps_by_key {
                        true => keys.push(key),
                        false => rest.push(term),
                    }
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

    /// The rows that are read first come in the order of their path, and no more of them than the query needs.
    fn make_pulled(&mut self) {
        match self {
            Operator::Table { ordered, pulled, .. } => (*ordered, *pulled) = (true, true),
            Operator::Filter { input, .. } => input.make_pulled(),
            Operator::Join(join) => join.left.make_pulled(),
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
