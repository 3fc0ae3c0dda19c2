//! Queries in FROM that need no rows of their own.
//!
//! A view, a derived table or a table of WITH that only selects and filters is bound by itself, as any query; then its relations
//! take its place in FROM, its WHERE joins the condition around it, and its expressions replace its columns:
//!
//! ```text
//! SELECT v.b FROM (SELECT a, b + 1 AS b FROM t WHERE c = 2) v LEFT JOIN u ON u.a = v.a WHERE v.b = 7
//! SELECT t.b + 1 FROM t LEFT JOIN u ON u.a = t.a WHERE t.b + 1 = 7 AND t.c = 2
//! ```
//!
//! So an index of `t` serves the query around, and aggregates travel to its shards. A query keeps rows of its own where it
//! groups, sorts, limits, or has values that are supplied row by row; and where a computed column of it stands on the inner side
//! of an outer join, as a row without a partner has NULL there whatever the expression gives.

use std::rc::Rc;
use std::sync::Arc;

use client::Lock;
use types::expr::Aggregate;
use types::{Expr, ViewDefinition};

use super::from::{From, FromJoin, FromTree, RELATION_COUNT_MAX, RelationSource, bound_of};
use super::group::plain_column;
use super::names::Relations;
use super::{Binder, rewrite};
use crate::error::SqlError;
use crate::plan::{Bound, JoinKind, SelectPlan, Source};
use crate::result::{ColumnInfo, PlanColumns};

/// A query in FROM whose relations can be read as those of the query around it. None of them is merged itself.
pub struct Merged {
    pub from: From,
    pub relations: Relations,
    /// Of each of its columns, over its relations.
    pub values: Vec<Expr>,
    /// Its conditions: first those of its own WHERE.
    pub terms: Vec<Bound>,
    pub own_term_count: usize,
    /// What rows must hold that are written through it.
    pub checks: Vec<Bound>,
    /// Where the statement keeps its rows, if it has to make them.
    pub keep: Option<u16>,
    pub columns: Vec<ColumnInfo>,
    /// The view that it is.
    pub view: Option<Arc<ViewDefinition>>,
}

/// A FROM clause with the relations of merged queries in their places.
pub struct Flat {
    pub from: From,
    pub relations: Relations,
    /// No query was merged: all numbers are as they were.
    pub is_same: bool,
    /// By the number that a column had: its value.
    pub values: Vec<Expr>,
    /// Conditions of merged queries, for WHERE.
    pub terms: Vec<Bound>,
    /// What rows must hold that are written through them.
    pub checks: Vec<Bound>,
    /// Slots whose expressions have the new numbers.
    put: Vec<u16>,
}

impl From {
    /// Can they be relations of a query around this one?
    pub fn is_mergeable(&self) -> bool {
        let is_working = |source: &RelationSource| matches!(source, RelationSource::Working { .. });
        self.tree.is_some() && !self.sources.iter().any(is_working)
    }

    /// By relation, from those of the relations that were written.
    pub fn locks(&self, written: &[Lock]) -> Vec<Lock> {
        match &self.origins {
            None => written.to_vec(),
            Some(origins) => origins.iter().map(|origin| written[*origin]).collect(),
        }
    }

    /// Marks the relations on the inner side of an outer join.
    fn nullable(&self) -> Vec<bool> {
        fn mark(tree: &FromTree, is_inner: bool, nullable: &mut [bool]) {
            match tree {
                FromTree::Relation(relation) => nullable[*relation] = is_inner,
                FromTree::Join(join) => {
                    mark(&join.left, is_inner, nullable);
                    mark(&join.right, is_inner || join.kind == JoinKind::Left, nullable);
                }
            }
        }
        let mut nullable = vec![false; self.sources.len()];
        self.tree.iter().for_each(|tree| mark(tree, false, &mut nullable));
        nullable
    }
}

/// The tree of a relation that was, and the conditions that come with it.
type Part = (FromTree, Vec<Bound>);

impl Binder<'_> {
    /// A query with these items and this condition, to be merged.
    pub fn merged_query(
        &mut self,
        from: From,
        relations: Relations,
        mut values: Vec<Expr>,
        filter: Option<Bound>,
    ) -> Result<Merged, SqlError> {
        let mut flat = self.flatten(from, relations, true)?;
        let mut terms = filter.map(|filter| self.terms(filter)).unwrap_or_default();
        if !flat.is_same {
            values.iter_mut().for_each(|value| put_values(value, &flat.values));
            let mut put = std::mem::take(&mut flat.put);
            terms.iter_mut().for_each(|term| self.put_into_bound(term, &flat.values, &mut put));
        }
        let own_term_count = terms.len();
        terms.append(&mut flat.terms);
        flat.from.origins = None;
        Ok(Merged {
            from: flat.from,
            relations: flat.relations,
            values,
            terms,
            own_term_count,
            checks: flat.checks,
            keep: None,
            columns: Vec::new(),
            view: None,
        })
    }

    /// Puts the relations of merged queries in their places. `may_compute`: the query around takes any expression for a
    /// column.
    pub fn flatten(
        &mut self,
        mut from: From,
        relations: Relations,
        may_compute: bool,
    ) -> Result<Flat, SqlError> {
        let is_merged = |source: &RelationSource| matches!(source, RelationSource::Merged(_));
        let mut flat = Flat {
            from: From::default(),
            relations: Relations::none(),
            is_same: !from.sources.iter().any(is_merged),
            values: Vec::new(),
            terms: Vec::new(),
            checks: Vec::new(),
            put: Vec::new(),
        };
        if flat.is_same {
            return Ok(Flat { from, relations, ..flat });
        }
        flat.from.straight = from.straight;
        let nullable = from.nullable();
        let mut parts: Vec<Option<Part>> = Vec::new();
        let mut origins = Vec::new();
        // Those of merged queries name columns by their new numbers already.
        let mut own = Vec::new();
        let mut left = from.sources.len();
        for (number, source) in std::mem::take(&mut from.sources).into_iter().enumerate() {
            left -= 1;
            let source = match source {
                RelationSource::Merged(merged) => {
                    let count = flat.from.sources.len() + merged.from.sources.len() + left;
                    let takes = |value: &Expr| match (may_compute, nullable[number]) {
                        (true, false) => true,
                        (true, true) => plain_column(value).is_some(),
                        (false, _) => matches!(value, Expr::Column(_)),
                    };
                    if count <= RELATION_COUNT_MAX && merged.values.iter().all(takes) {
                        parts.push(Some(self.place(*merged, nullable[number], &mut flat)));
                        origins.resize(flat.from.sources.len(), number);
                        own.resize(flat.from.sources.len(), false);
                        continue;
                    }
                    self.unmerged(*merged)?
                }
                other => other,
            };
            let scope = &relations.tables[number];
            let first = flat.relations.column_count();
            flat.values.extend((first..first + scope.columns.len()).map(column));
            let relation = flat.relations.add((**scope).clone());
            flat.from.sources.push(source);
            origins.push(number);
            own.push(true);
            parts.push(Some((FromTree::Relation(relation), Vec::new())));
        }
        let values = std::mem::take(&mut flat.values);
        for (source, is_own) in flat.from.sources.iter_mut().zip(own) {
            if let RelationSource::Query { outer, .. } = source
                && is_own
            {
                outer.iter_mut().for_each(|outer| put_values(&mut outer.value, &values));
            }
        }
        if let Some(tree) = from.tree.take() {
            let (tree, terms) = self.placed_tree(tree, &mut parts, &values, &mut flat.put);
            flat.from.tree = Some(tree);
            flat.terms = terms;
        }
        flat.values = values;
        flat.from.origins = Some(origins);
        Ok(flat)
    }

    /// Puts the relations of a merged query behind those that are placed.
    fn place(&mut self, mut merged: Merged, is_nullable: bool, flat: &mut Flat) -> Part {
        let first_column = flat.relations.column_count();
        let first_relation = flat.relations.tables.len();
        for table in merged.relations.tables {
            flat.relations.add(Rc::unwrap_or_clone(table));
        }
        if is_nullable {
            flat.relations.make_nullable(first_relation..flat.relations.tables.len());
        }
        let moved: Vec<Expr> = (first_column..flat.relations.column_count()).map(column).collect();
        for source in &mut merged.from.sources {
            if let RelationSource::Query { outer, .. } = source {
                outer.iter_mut().for_each(|outer| put_values(&mut outer.value, &moved));
            }
        }
        merged.values.iter_mut().for_each(|value| put_values(value, &moved));
        for term in merged.terms.iter_mut().chain(&mut merged.checks) {
            self.put_into_bound(term, &moved, &mut flat.put);
        }
        let mut tree = merged.from.tree.expect("merged queries have relations");
        self.move_tree(&mut tree, first_relation, &moved, &mut flat.put);
        flat.from.sources.extend(merged.from.sources);
        flat.values.extend(merged.values);
        flat.checks.extend(merged.checks);
        (tree, merged.terms)
    }

    pub fn move_tree(
        &mut self,
        tree: &mut FromTree,
        first: usize,
        moved: &[Expr],
        put: &mut Vec<u16>,
    ) {
        match tree {
            FromTree::Relation(relation) => *relation += first,
            FromTree::Join(join) => {
                self.move_tree(&mut join.left, first, moved, put);
                self.move_tree(&mut join.right, first, moved, put);
                join.on.iter_mut().for_each(|term| self.put_into_bound(term, moved, put));
            }
        }
    }

    /// The tree with the parts in their places. The conditions of an inner side of an outer join are part of that join's; others
    /// come up.
    fn placed_tree(
        &mut self,
        tree: FromTree,
        parts: &mut [Option<Part>],
        values: &[Expr],
        put: &mut Vec<u16>,
    ) -> Part {
        match tree {
            FromTree::Relation(relation) => parts[relation].take().expect("each comes once"),
            FromTree::Join(join) => {
                let FromJoin { kind, straight, left, right, mut on } = *join;
                let (left, mut terms) = self.placed_tree(left, parts, values, put);
                let (right, right_terms) = self.placed_tree(right, parts, values, put);
                on.iter_mut().for_each(|term| self.put_into_bound(term, values, put));
                match kind {
                    JoinKind::Inner => terms.extend(right_terms),
                    JoinKind::Left | JoinKind::Semi | JoinKind::Anti => on.extend(right_terms),
                }
                (FromTree::Join(Box::new(FromJoin { kind, straight, left, right, on })), terms)
            }
        }
    }

    /// A merged query as one that makes its own rows.
    fn unmerged(&mut self, merged: Merged) -> Result<RelationSource, SqlError> {
        let Merged { from, relations, values, terms, keep, columns, .. } = merged;
        let items = values.into_iter().map(Bound::pure).collect();
        let nothing = Source::Nothing { filter: None };
        let mut plan = SelectPlan::new(PlanColumns::new(columns), nothing, items);
        let locks = vec![Lock::None; relations.tables.len()];
        self.read_from(&mut plan, from, relations, bound_of(terms), &locks)?;
        Ok(RelationSource::Query { plan: Box::new(plan), outer: Vec::new(), keep })
    }

    /// Replaces columns in what the plan evaluates on the rows of FROM, and in its condition.
    pub fn put_into_plan(
        &mut self,
        flat: &mut Flat,
        plan: &mut SelectPlan,
        filter: &mut Option<Bound>,
    ) {
        let mut put = std::mem::take(&mut flat.put);
        let values = &flat.values;
        let mut terms: Vec<Bound> = filter.take().into_iter().collect();
        terms.iter_mut().for_each(|term| self.put_into_bound(term, values, &mut put));
        terms.append(&mut flat.terms);
        *filter = bound_of(terms);
        match (&mut plan.grouping, &mut plan.windows) {
            (Some(grouping), _) => {
                grouping.group_by.iter_mut().for_each(|expr| put_values(expr, values));
                let arguments = grouping.aggregates.iter_mut().flat_map(Aggregate::exprs_mut);
                arguments.for_each(|expr| put_values(expr, values));
                self.put_into_slots(&grouping.slots, values, &mut put);
            }
            (None, Some(windows)) => {
                for column in &mut windows.columns {
                    let value = &values[usize::from(*column)];
                    *column = plain_column(value).expect("only columns were merged");
                }
            }
            (None, None) => {
                let mut items = std::mem::take(&mut plan.items);
                items.iter_mut().for_each(|item| self.put_into_bound(item, values, &mut put));
                plan.items = items;
            }
        }
        flat.put = put;
    }

    /// Replaces the columns of an expression and of the slots that it asks for, but for those that are `put`.
    pub fn put_into_bound(&mut self, bound: &mut Bound, values: &[Expr], put: &mut Vec<u16>) {
        put_values(&mut bound.expr, values);
        self.put_into_slots(&bound.slots, values, put);
    }

    fn put_into_slots(&mut self, slots: &[u16], values: &[Expr], put: &mut Vec<u16>) {
        for &slot in slots {
            if put.contains(&slot) {
                continue;
            }
            put.push(slot);
            self.slots[usize::from(slot)].for_each_expr_mut(&mut |inner| put_values(inner, values));
        }
    }
}

pub fn column(number: usize) -> Expr {
    Expr::Column(u16::try_from(number).expect("columns are counted"))
}

/// Replaces every column by its value.
pub fn put_values(expr: &mut Expr, values: &[Expr]) {
    match expr {
        Expr::Column(number) => *expr = values[usize::from(*number)].clone(),
        other => rewrite::for_each_child_mut(other, &mut |child| put_values(child, values)),
    }
}
