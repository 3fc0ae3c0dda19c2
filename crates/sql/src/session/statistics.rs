//! How many rows tables have, for the planner of joins.
//!
//! The nodes count the rows of their tables as they write them. A session that is about to plan a join asks them, at most once
//! in some seconds for all sessions of a node, and not for long: an old count, or none, makes a plan too.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use super::Session;
use crate::parser::ast::{self, QueryBody, Statement, TableFactor, TableReference};
use crate::plan::Plan;
use crate::show;

/// The age of counts, and of plans that use them, beyond which they are made anew.
const STATISTICS_AGE_MAX_MICROS: i64 = 10_000_000;
/// The longest wait of a statement for the nodes' answers.
const STATISTICS_WAIT_MS: u64 = 50;

impl Session {
    /// Asks for the counts if the statement joins, and they are old.
    pub(crate) async fn refresh_statistics(&self, statement: &Statement) {
        if !joins(statement) {
            return;
        }
        let now = self.client.client().wall_clock_micros();
        if !self.server.claims_statistics(now, STATISTICS_AGE_MAX_MICROS) {
            return;
        }
        // By a session of its own: an answer that comes late is dropped.
        let mut asking = self.client.client().session();
        let replicas = show::replica_count(self);
        let mut counts = pin!(show::count_rows(&mut asking, replicas));
        let mut late = pin!(self.client.client().sleep_ms(STATISTICS_WAIT_MS));
        let counted = poll_fn(|context| match counts.as_mut().poll(context) {
            Poll::Ready(counts) => Poll::Ready(Some(counts)),
            Poll::Pending => late.as_mut().poll(context).map(|()| None),
        });
        if let Some(counts) = counted.await {
            let rows = counts.into_iter().map(|(table, (rows, _))| (table, rows)).collect();
            self.server.set_statistics(rows);
        }
    }

    /// Are the counts that the plan was made by still good?
    pub(super) fn is_fresh(&self, plan: &Plan) -> bool {
        let now = || self.client.client().wall_clock_micros();
        // Whether a table may be named is looked at where a plan is made.
        self.locked_tables.is_empty()
            && plan.made_micros.is_none_or(|made| now() - made < STATISTICS_AGE_MAX_MICROS)
    }
}

/// Does the statement read several relations, as far as its FROM clauses tell?
fn joins(statement: &Statement) -> bool {
    match statement {
        Statement::Query(query) => query_joins(query),
        Statement::Insert(insert) => match &insert.source {
            ast::InsertSource::Query(query) => query_joins(query),
            ast::InsertSource::Values(_) => false,
        },
        Statement::Update(update) => references_join(&update.tables),
        Statement::Delete(delete) => references_join(&delete.tables),
        Statement::Explain { statement, .. } => joins(statement),
        _ => false,
    }
}

fn query_joins(query: &ast::Query) -> bool {
    query.with.is_some()
        || match &query.body {
            QueryBody::Select(select) => references_join(&select.from),
            QueryBody::SetOperation { first, rest } => {
                query_joins(first) || rest.iter().any(|operand| query_joins(&operand.query))
            }
            QueryBody::Values(_) | QueryBody::Table(_) => false,
        }
}

fn references_join(references: &[TableReference]) -> bool {
    match references {
        [] => false,
        [TableReference { first: TableFactor::Table { .. }, joins }] => !joins.is_empty(),
        _ => true,
    }
}
