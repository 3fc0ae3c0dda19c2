//! `x IN (SELECT y ...)` among the AND terms of WHERE, as a join.
//!
//! Such a term leaves out rows where it is FALSE and where it is NULL, as a join does, so the subquery becomes a relation more:
//! its different values, compared with x. The planner may then read these first and look the others up by an index on x.
//! A subquery that names columns of the query around it stays an operand, and so does one whose values can be equal to x
//! without being equal to each other.

use types::expr::BinaryOp;

use super::from::{From, FromJoin, FromTree, RelationSource, derived_scope_unnamed};
use super::join::have_equal_keys;
use super::names::{OuterScope, Scope};
use super::{Binder, rewrite};
use crate::error::SqlError;
use crate::parser::ast;
use crate::plan::{Bound, JoinKind};

/// The AND terms of an expression.
pub fn and_terms(expr: &ast::Expr) -> Vec<&ast::Expr> {
    match expr {
        ast::Expr::And(terms) => terms.iter().flat_map(and_terms).collect(),
        other => vec![other],
    }
}

impl Binder<'_> {
    /// Takes the terms that become relations of the FROM clause.
    pub fn semi_joins(
        &mut self,
        terms: &mut Vec<&ast::Expr>,
        from: &mut From,
    ) -> Result<(), SqlError> {
        let mut kept = Vec::with_capacity(terms.len());
        for &term in &*terms {
            if !self.semi_join(term, from)? {
                kept.push(term);
            }
        }
        *terms = kept;
        Ok(())
    }

    fn semi_join(&mut self, term: &ast::Expr, from: &mut From) -> Result<bool, SqlError> {
        let ast::Expr::InSubquery { operand, query, negated: false } = term else {
            return Ok(false);
        };
        if from.tree.is_none() || query.limit.is_some() || matches!(**operand, ast::Expr::Row(_)) {
            return Ok(false);
        }
        let relations = from.relations.clone();
        // What is wrong with it is found where it is bound as an operand.
        if !self.forgotten(|binder| binder.is_semi_join(operand, query, &relations)) {
            return Ok(false);
        }
        let bound = self.bound(operand, &Scope::of(&relations, "where clause"))?;
        let mut inner = self.inside(OuterScope::of(&relations), query)?;
        self.inner_slots.push(inner.slots.clone());
        inner.plan.distinct = true;
        let relation = from.relations.add(derived_scope_unnamed(&inner.plan.columns));
        // Nobody names it, and `*` does not list it.
        from.relations.named = relations.named.clone();
        let column = from.relations.tables[relation].first;
        let scope_relations = from.relations.clone();
        let scope = Scope::of(&scope_relations, "where clause");
        let column = self.column_value(column, &scope_relations);
        let equal = self.compared(BinaryOp::Equal, bound.expr, column, &scope)?;
        let plan = Box::new(inner.plan);
        from.sources.push(RelationSource::Query { plan, outer: Vec::new(), keep: None });
        let left = from.tree.take().expect("looked at above");
        from.tree = Some(FromTree::Join(Box::new(FromJoin {
            kind: JoinKind::Inner,
            straight: false,
            left,
            right: FromTree::Relation(relation),
            on: vec![Bound::pure(equal)],
        })));
        Ok(true)
    }

    /// Does the subquery depend on nothing around it, and have the two sides equal keys where they are equal?
    fn is_semi_join(
        &mut self,
        operand: &ast::Expr,
        query: &ast::Query,
        relations: &super::names::Relations,
    ) -> bool {
        let scope = Scope::of(relations, "where clause");
        let Ok(operand) = self.bound(operand, &scope) else { return false };
        if operand.is_local() || !rewrite::has_columns(&operand.expr) {
            return false;
        }
        let Ok(inner) = self.inside(OuterScope::of(relations), query) else { return false };
        let acts = inner.slots.clone().any(|slot| self.acts(slot));
        let depends = !inner.outer.is_empty() || inner.beyond.is_some() || acts;
        if depends || inner.plan.columns.len() != 1 || inner.plan.calc_found_rows {
            return false;
        }
        let own = self.type_of(&operand.expr, &relations.result_types()).column_type;
        let column = &inner.plan.columns[0];
        own.is_some_and(|own| !column.null_type && have_equal_keys(&own, &column.column_type))
    }

    /// Terms as one expression.
    pub fn bound_terms(
        &mut self,
        terms: &[&ast::Expr],
        scope: &Scope<'_>,
    ) -> Result<Option<Bound>, SqlError> {
        match terms {
            [] => Ok(None),
            [term] => self.bound(term, scope).map(Some),
            _ => {
                let all = terms.iter().map(|term| (*term).clone()).collect();
                self.bound(&ast::Expr::And(all), scope).map(Some)
            }
        }
    }
}
