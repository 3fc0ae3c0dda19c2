//! `x IN (SELECT y ...)` among the AND terms of WHERE, as a join.
//!
//! Such a term leaves out rows where it is FALSE and where it is NULL, as a join does, so the subquery becomes a relation more:
//! its different values, compared with x. The planner may then read these first and look the others up by an index on x.
//! A subquery that names columns of the query around it stays an operand, and so does one whose values can be equal to x
//! without being equal to each other.
//!
//! `[NOT] EXISTS (SELECT ... FROM t WHERE t.a = outer.b)` is a semi-join, or an anti-join, with the subquery's table, and a
//! correlated IN a semi-join: the subquery's conditions are those of the join, so that rows of the query around look up theirs
//! together.

use std::borrow::Cow;

use types::Expr;
use types::expr::BinaryOp;

use super::from::{
    From, FromJoin, FromTree, RELATION_COUNT_MAX, RelationSource, derived_scope_unnamed,
};
use super::join::have_equal_keys;
use super::merge::{Merged, column, put_values};
use super::names::{OuterScope, Relations, Scope};
use super::select::Selected;
use super::subquery::{Inner, check_clauses};
use super::{Binder, rewrite};
use crate::error::SqlError;
use crate::parser::ast;
use crate::plan::{Bound, JoinKind, OuterValue, Slot, SubqueryKind};

/// Does the expression name columns before this number, and from it on?
fn sides_of(expr: &Expr, first: usize) -> (bool, bool) {
    let mut sides = (false, false);
    rewrite::for_each_column(expr, &mut |column| match usize::from(column) < first {
        true => sides.0 = true,
        false => sides.1 = true,
    });
    sides
}

/// Subqueries inside one another that are tried: each is bound twice where it cannot be joined.
const TRIALS_MAX: usize = 2;

/// Replaces the parameters that stand for columns around by these.
fn put_outer(expr: &mut Expr, outer: &[OuterValue], first_param: usize) {
    if let Expr::Param(number) = expr {
        let slot = usize::from(*number).checked_sub(first_param);
        let value = outer.iter().find(|value| Some(usize::from(value.slot)) == slot);
        if let Some(value) = value {
            *expr = value.value.clone();
        }
        return;
    }
    rewrite::for_each_child_mut(expr, &mut |child| put_outer(child, outer, first_param));
}

/// The AND terms of an expression.
pub fn and_terms(expr: &ast::Expr) -> Vec<Cow<'_, ast::Expr>> {
    match expr {
        ast::Expr::And(terms) => terms.iter().flat_map(and_terms).collect(),
        other => vec![Cow::Borrowed(other)],
    }
}

impl Binder<'_> {
    /// Makes relations of the FROM clause of the terms that can be such, and takes them out.
    pub fn semi_joins(
        &mut self,
        terms: &mut Vec<Cow<'_, ast::Expr>>,
        from: &mut From,
    ) -> Result<(), SqlError> {
        for term in std::mem::take(terms) {
            match &*term {
                ast::Expr::InSubquery { operand, query, negated: false }
                    if from.tree.is_some() && !matches!(**operand, ast::Expr::Row(_)) =>
                {
                    terms.extend(self.semi_join(operand, query, from)?.map(Cow::Owned));
                }
                ast::Expr::Exists(query) if self.exists_join(None, query, JoinKind::Semi, from) => {
                }
                ast::Expr::Unary { operator: ast::UnaryOperator::Not, operand }
                    if matches!(&**operand, ast::Expr::Exists(query)
                        if self.exists_join(None, query, JoinKind::Anti, from)) => {}
                _ => terms.push(term),
            }
        }
        Ok(())
    }

    /// The term that is left, if the subquery stays an operand.
    fn semi_join(
        &mut self,
        operand: &ast::Expr,
        query: &ast::Query,
        from: &mut From,
    ) -> Result<Option<ast::Expr>, SqlError> {
        let relations = from.relations.clone();
        let scope = Scope::of(&relations, "where clause");
        let bound = self.bound(operand, &scope)?;
        let inner = self.inner_query(query, &scope)?;
        if !self.is_semi_join(&bound, &inner, &relations) {
            if !inner.outer.is_empty()
                && self.exists_join(Some(operand), query, JoinKind::Semi, from)
            {
                return Ok(None);
            }
            let (operator, kind) = (BinaryOp::Equal, SubqueryKind::Any);
            let any = self.quantified_over(vec![bound.expr], operator, kind, inner, &scope)?;
            let Expr::Param(number) = any else { unreachable!("a slot stands for it") };
            return Ok(Some(ast::Expr::BoundColumn(number)));
        }
        let Inner { mut plan, slots, .. } = inner;
        self.inner_slots.push(slots);
        plan.distinct = true;
        let relation = from.relations.add(derived_scope_unnamed(&plan.columns));
        // It has no name, and `*` does not list it.
        from.relations.named = relations.named.clone();
        let relations = from.relations.clone();
        let column = self.column_value(relations.tables[relation].first, &relations);
        let scope = Scope::of(&relations, "where clause");
        let equal = self.compared(BinaryOp::Equal, bound.expr, column, &scope)?;
        let plan = Box::new(plan);
        from.sources.push(RelationSource::Query { plan, outer: Vec::new(), keep: None });
        let left = from.tree.take().expect("looked at above");
        from.tree = Some(FromTree::Join(Box::new(FromJoin {
            kind: JoinKind::Inner,
            straight: false,
            left,
            right: FromTree::Relation(relation),
            on: vec![Bound::pure(equal)],
        })));
        Ok(None)
    }

    /// Joins the tables of a correlated EXISTS, or of IN, whose operand is compared with the subquery's column, if its names of
    /// columns around can be those of the join. Where it cannot be bound at all, the operand will report why.
    fn exists_join(
        &mut self,
        operand: Option<&ast::Expr>,
        query: &ast::Query,
        kind: JoinKind,
        from: &mut From,
    ) -> bool {
        let is_allowed = self.environment.optimizer_switch.firstmatch && self.trials < TRIALS_MAX;
        if from.tree.is_none() || !self.changes.is_empty() || !is_allowed {
            return false;
        }
        let before = self.mark();
        let bound = operand.map(|operand| {
            self.bound(operand, &Scope::of(&from.relations.clone(), "where clause"))
        });
        let operand = match bound {
            None => None,
            Some(Ok(bound)) if !bound.is_local() => Some(bound.expr),
            Some(_) => {
                self.forget(before);
                return false;
            }
        };
        let joined = self
            .correlated(query, &from.relations.clone())
            .and_then(|(merged, outer)| self.join_merged(merged, operand, &outer, kind, from));
        if joined.is_none() {
            self.forget(before);
        }
        joined.is_some()
    }

    /// A subquery over tables that names columns of the query around it, and of no subquery.
    fn correlated(
        &mut self,
        query: &ast::Query,
        relations: &Relations,
    ) -> Option<(Merged, Vec<OuterValue>)> {
        check_clauses(query).ok()?;
        let first = self.slots.len();
        self.outer.push(OuterScope::of(relations));
        self.once.push(Vec::new());
        let branches = std::mem::take(&mut self.branches);
        self.trials += 1;
        let bound = self.query_or_merged(query, true);
        self.trials -= 1;
        self.branches = branches;
        let once = self.once.pop().expect("pushed");
        let outer = self.outer.pop().expect("pushed").values;
        let Ok(Selected::Merged(merged)) = bound else { return None };
        // The rows of several would be kept all, where the first one that is found does.
        let is_table = matches!(merged.from.sources.as_slice(), [RelationSource::Table { .. }]);
        let is_plain = once.is_empty()
            && !outer.is_empty()
            && self.slots[first..].iter().all(|slot| matches!(slot, Slot::Outer))
            && is_table
            && relations.tables.len() + merged.from.sources.len() <= RELATION_COUNT_MAX;
        is_plain.then_some((*merged, outer))
    }

    /// None: the operand has another number of columns, or cannot be compared.
    fn join_merged(
        &mut self,
        merged: Merged,
        operand: Option<Expr>,
        outer: &[OuterValue],
        kind: JoinKind,
        from: &mut From,
    ) -> Option<()> {
        let Merged { from: own, relations: own_relations, mut terms, mut values, .. } = merged;
        let mut relations = from.relations.clone();
        let (first_relation, first_column) = (relations.tables.len(), relations.column_count());
        for table in own_relations.tables {
            relations.add(std::rc::Rc::unwrap_or_clone(table));
        }
        // They have no names, and `*` does not list them.
        relations.named = from.relations.named.clone();
        let moved: Vec<Expr> = (first_column..relations.column_count()).map(column).collect();
        let mut put = Vec::new();
        terms.iter_mut().for_each(|term| self.put_into_bound(term, &moved, &mut put));
        let mut tree = own.tree.expect("merged queries have relations");
        self.move_tree(&mut tree, first_relation, &moved, &mut put);
        let first_param = self.param_kinds.len();
        let mut name = |term: &mut Bound| put_outer(&mut term.expr, outer, first_param);
        terms.iter_mut().for_each(&mut name);
        if let Some(operand) = operand {
            let [value] = values.as_mut_slice() else { return None };
            put_values(value, &moved);
            put_outer(value, outer, first_param);
            let scope = Scope::of(&relations, "where clause");
            let equal = self.compared(BinaryOp::Equal, operand, value.clone(), &scope).ok()?;
            terms.push(Bound::pure(equal));
        }
        let is_compared = |term: &Bound| match &term.expr {
            Expr::Binary(BinaryOp::Equal, left, right) => {
                let sides = [left, right].map(|side| sides_of(side, first_column));
                matches!(sides, [(true, false), (false, true)] | [(false, true), (true, false)])
            }
            _ => false,
        };
        if !terms.iter().any(is_compared) {
            return None;
        }
        from.relations = relations;
        from.sources.extend(own.sources);
        let left = from.tree.take().expect("looked at before");
        let join = FromJoin { kind, straight: false, left, right: tree, on: terms };
        from.tree = Some(FromTree::Join(Box::new(join)));
        Some(())
    }

    /// Does the subquery depend on nothing around it, and have the two sides equal keys where they are equal?
    fn is_semi_join(&mut self, operand: &Bound, inner: &Inner, relations: &Relations) -> bool {
        let depends = !inner.outer.is_empty() || inner.beyond.is_some();
        let is_local = operand.is_local() || !rewrite::has_columns(&operand.expr);
        if depends || is_local || inner.plan.columns.len() != 1 || inner.plan.limit.is_some() {
            return false;
        }
        let own = self.type_of(&operand.expr, &relations.result_types()).column_type;
        let column = &inner.plan.columns[0];
        own.is_some_and(|own| !column.null_type && have_equal_keys(&own, &column.column_type))
    }

    /// Terms as one expression.
    pub fn bound_terms(
        &mut self,
        terms: &[Cow<'_, ast::Expr>],
        scope: &Scope<'_>,
    ) -> Result<Option<Bound>, SqlError> {
        match terms {
            [] => Ok(None),
            [term] => self.bound(term, scope).map(Some),
            _ => {
                let all = terms.iter().map(|term| (**term).clone()).collect();
                self.bound(&ast::Expr::And(all), scope).map(Some)
            }
        }
    }
}
