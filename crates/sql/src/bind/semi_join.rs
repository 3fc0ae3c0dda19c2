//! `x IN (SELECT y ...)` among the AND terms of WHERE, as a join.
//!
//! Such a term leaves out rows where it is FALSE and where it is NULL, as a join does, so the subquery becomes a relation more:
//! its different values, compared with x. The planner may then read these first and look the others up by an index on x.
//! A subquery that names columns of the query around it stays an operand, and so does one whose values can be equal to x
//! without being equal to each other.

use std::borrow::Cow;

use types::Expr;
use types::expr::BinaryOp;

use super::from::{From, FromJoin, FromTree, RelationSource, derived_scope_unnamed};
use super::join::have_equal_keys;
use super::names::{Relations, Scope};
use super::subquery::Inner;
use super::{Binder, rewrite};
use crate::error::SqlError;
use crate::parser::ast;
use crate::plan::{Bound, JoinKind, SubqueryKind};

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
