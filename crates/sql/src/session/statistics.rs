//! Statistics of tables, for the planner.
//!
//! A plan names the tables whose statistics have decided something. If these are missing or old, the session that has made the
//! plan asks the primaries of the tables for them, and makes the plan again; of several sessions of a node one asks. It does
//! not wait for long: old numbers, or none, make a plan too.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use client::{Report, ReportRequest};
use types::{Catalogue, TableId};

use super::Session;
use crate::SqlError;
use crate::bind::Environment;
use crate::parser::ast::Statement;
use crate::plan::{ParamKind, Plan};
use crate::statistics::TableStatistics;

/// The longest wait of a statement for the nodes' answers.
const STATISTICS_WAIT_MS: u64 = 50;
/// Tables that one request asks for.
const TABLES_ASKED_MAX: usize = 64;

impl Session {
    /// Binds a statement by statistics that are not old.
    pub(crate) async fn bind_by_statistics(
        &self,
        environment: &Environment,
        statement: &Statement,
        params: &[types::Value],
    ) -> Result<Plan, SqlError> {
        let kinds: Vec<ParamKind> = params.iter().map(ParamKind::of).collect();
        let plan = self.bind_in(environment, statement, &kinds, params)?;
        match self.refresh_statistics(&plan.weighed).await {
            true => self.bind_in(environment, statement, &kinds, params),
            false => Ok(plan),
        }
    }

    /// Asks for the statistics of these tables that are missing or old; true if there are new ones.
    async fn refresh_statistics(&self, tables: &[TableId]) -> bool {
        // The session has counted the rows of its temporary tables.
        let shared = tables.iter().copied().filter(|table| !table.is_temporary());
        let tables: Vec<TableId> = shared.collect();
        if tables.is_empty() {
            return false;
        }
        let now = self.client.client().wall_clock_micros();
        let claimed = self.server.claim_statistics(&tables, now);
        if claimed.is_empty() {
            return false;
        }
        // By a session of its own: an answer that comes late is dropped.
        let mut asking = self.client.client().session();
        let catalogue = self.catalogue();
        let mut gathered = pin!(gather(&mut asking, &catalogue, &claimed, false));
        let mut late = pin!(self.client.client().sleep_ms(STATISTICS_WAIT_MS));
        let gathered = poll_fn(|context| match gathered.as_mut().poll(context) {
            Poll::Ready(gathered) => Poll::Ready(Some(gathered)),
            Poll::Pending => late.as_mut().poll(context).map(|()| None),
        });
        match gathered.await {
            Some(gathered) => {
                self.server.set_statistics(gathered, now);
                true
            }
            None => false,
        }
    }

    /// Has the primaries estimate anew, for plans from now on.
    pub(super) async fn analyze(&mut self, tables: &[TableId]) {
        let catalogue = self.catalogue();
        let gathered = gather(&mut self.client, &catalogue, tables, true).await;
        let now = self.client.client().wall_clock_micros();
        self.server.set_statistics(gathered, now);
        self.server.set_analyzed(now);
    }

    /// Are the statistics that the plan was made by still good?
    pub(super) fn is_fresh(&self, plan: &Plan) -> bool {
        let is_good = |made: i64| {
            let age = self.client.client().wall_clock_micros() - made;
            age < plan.age_max_micros && self.server.analyzed_micros() < made
        };
        // Whether a table may be named is looked at where a plan is made.
        self.locked_tables.is_empty() && plan.made_micros.is_none_or(is_good)
    }
}

/// The statistics of tables, from the primaries of their partitions. `anew`: they estimate now, whatever they have kept.
pub(crate) async fn gather(
    client: &mut client::Session,
    catalogue: &Catalogue,
    tables: &[TableId],
    anew: bool,
) -> BTreeMap<TableId, TableStatistics> {
    let shard_count = client.client().shards().len();
    let mut statistics = BTreeMap::new();
    let (temporary, tables): (Vec<TableId>, Vec<TableId>) =
        tables.iter().partition(|table| table.is_temporary());
    for id in temporary {
        statistics.insert(id, TableStatistics::counted(client.temporary_row_count(id)));
    }
    for some in tables.chunks(TABLES_ASKED_MAX) {
        let mut partitions = Vec::new();
        let mut are_all = true;
        let query = ReportRequest::Statistics { tables: some.to_vec(), anew };
        for (_, report) in client.report(None, query).await {
            match report {
                Report::Statistics(own) => partitions.extend(own),
                _ => are_all = false,
            }
        }
        for id in some {
            let own: Vec<_> = partitions.iter().filter(|own| own.table == *id).cloned().collect();
            let Some(table) = catalogue.table_by_id(*id) else { continue };
            if own.is_empty() && !are_all {
                continue;
            }
            // A partition that no node has told of has no rows, unless its node has not answered.
            let count = if are_all { own.len() } else { shard_count };
            statistics.insert(*id, TableStatistics::merged(table, &own, count));
        }
    }
    statistics
}
