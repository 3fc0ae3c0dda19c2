//! Running a plan: what happens around the executor.
//!
//! A plan whose table changed since it was made is bound again, an autocommit statement that lost a deadlock or its node
//! group's view is run again; both only while the client has seen nothing of the result.

use std::pin::Pin;
use std::sync::Arc;

use types::convert::SqlWarning;
use types::{Value, ValueRef};

use super::Frame;
use crate::error::code;
use crate::execute::{Changed, Context, Failure};
use crate::plan::{InsertMode, InsertSource, Plan, PlanKind};
use crate::server::Counters;
use crate::session::{Session, changes_only_temporary};
use crate::{ColumnInfo, FilePiece, OkInfo, PlanColumns, ResultSink, SqlError};

/// How often an autocommit statement is run again after a deadlock.
const RERUN_COUNT_MAX: u32 = 3;

/// What became of a plan.
pub enum Outcome {
    Done,
    /// The table's definition changed: bind again. The parameters are handed back.
    Replan(Vec<Value>, SqlError),
}

/// Notes whether anything was sent.
struct Watched<'s> {
    inner: &'s mut dyn ResultSink,
    begun: bool,
}

impl ResultSink for Watched<'_> {
    fn columns(&mut self, columns: &[ColumnInfo]) {
        self.begun = true;
        self.inner.columns(columns);
    }
    fn plan_columns(&mut self, columns: &PlanColumns) {
        self.begun = true;
        self.inner.plan_columns(columns);
    }
    fn row(&mut self, values: &[ValueRef<'_>]) {
        self.inner.row(values);
    }
    fn end_of_rows(&mut self, info: &OkInfo) {
        self.inner.end_of_rows(info);
    }
    fn ok(&mut self, info: &OkInfo) {
        self.inner.ok(info);
    }
    fn error(&mut self, error: &SqlError) {
        self.inner.error(error);
    }
    fn is_full(&self) -> bool {
        self.inner.is_full()
    }
    fn drained(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        self.inner.drained()
    }
    fn sends_files(&self) -> bool {
        self.inner.sends_files()
    }
    fn request_file(&mut self, name: &str) {
        // The client sends its file once.
        self.begun = true;
        self.inner.request_file(name);
    }
    fn file_piece(&mut self) -> FilePiece<'_> {
        self.inner.file_piece()
    }
}

impl Session {
    /// Runs a plan and answers, success or error, into the sink; errors are handed back too.
    pub(crate) async fn run_plan(
        &mut self,
        plan: &Arc<Plan>,
        params: Vec<Value>,
        sink: &mut dyn ResultSink,
        more_results: bool,
    ) -> Result<Outcome, SqlError> {
        let milliseconds = self.settings.execution_time_ms_max;
        if milliseconds == 0 || !plan.is_read() {
            return self.run_plan_to_end(plan, params, sink, more_results).await;
        }
        let limit = self.time_limit(milliseconds);
        let work = Box::pin(self.run_plan_to_end(plan, params, sink, more_results));
        match limit.run(work).await {
            (Err(error), true) if error.code == code::ER_QUERY_INTERRUPTED => Err(SqlError::new(
                code::ER_QUERY_TIMEOUT,
                "Query execution was interrupted, maximum statement execution time exceeded",
            )),
            (result, _) => result,
        }
    }

    async fn run_plan_to_end(
        &mut self,
        plan: &Arc<Plan>,
        mut params: Vec<Value>,
        sink: &mut dyn ResultSink,
        more_results: bool,
    ) -> Result<Outcome, SqlError> {
        let is_change = !plan.is_read();
        if is_change && self.transaction.read_only && !changes_only_temporary(&plan.kind) {
            return Err(SqlError::read_only_transaction());
        }
        self.check_safe_update(plan)?;
        if let PlanKind::Select(select) = &plan.kind
            && self.look_up(plan, select, &params, sink)
        {
            self.frame.begin();
            // It was the transaction that SET TRANSACTION was said for.
            self.end_transaction();
            self.succeed(plan, Changed::default(), sink, more_results);
            return Ok(Outcome::Done);
        }
        let mut watched = Watched { inner: sink, begun: false };
        let mut reruns = 0;
        let lock_calls = self.user_lock_calls;
        loop {
            self.frame.begin();
            self.client.next_statement();
            let (result, warnings);
            (result, params, warnings) = self.run_once(plan, params, &mut watched).await;
            let result = match result {
                Ok(changed) => self.finish_statement(is_change).await.map(|()| changed),
                Err(failure) => Err(failure),
            };
            warnings.into_iter().for_each(|warning| self.push_condition(warning));
            match result {
                Ok(changed) => {
                    self.succeed(plan, changed, watched.inner, more_results);
                    return Ok(Outcome::Done);
                }
                Err(mut failure) => {
                    let was_own = self.ends_with_statement();
                    self.fail_statement(&mut failure).await;
                    // The statement keeps its locks, and must not take them once more.
                    let is_repeatable = !watched.begun && self.user_lock_calls == lock_calls;
                    if failure.replan && is_repeatable {
                        return Ok(Outcome::Replan(params, failure.error));
                    }
                    if failure.rerun && was_own && is_repeatable && reruns < RERUN_COUNT_MAX {
                        reruns += 1;
                        // Let the one that won get on; a little longer each time.
                        self.client.client().sleep_ms(1 << reruns).await;
                        continue;
                    }
                    return Err(failure.error);
                }
            }
        }
    }

    /// Runs a plan in the frame under way: what it did, its parameters, and what it warns of.
    async fn run_once(
        &mut self,
        plan: &Plan,
        params: Vec<Value>,
        sink: &mut dyn ResultSink,
    ) -> (Result<Changed, Failure>, Vec<Value>, Vec<SqlWarning>) {
        let is_strict = self.settings.sql_mode.is_strict();
        let strict = is_strict && !plan.is_read() && !plan.kind.ignores();
        let mut context = Context::new(self, plan, params, strict);
        context.warnings.clone_from(&plan.warnings);
        let result = context.run_kind(&plan.kind, sink).await;
        let (params, warnings) = context.into_parts();
        (result, params, warnings)
    }

    /// Runs a plan inside the statement under way, in a frame of its own, which is returned. The engine counts both as one
    /// statement: a failure that is to be undone, planned anew or run again is so of the outer one. `ends_outer`: the outer statement
    /// does nothing behind it, so that a transaction of its own may end with the last request.
    pub(crate) async fn run_inside(
        &mut self,
        plan: &Plan,
        params: Vec<Value>,
        ends_outer: bool,
        sink: &mut dyn ResultSink,
    ) -> (Result<Changed, Failure>, Frame) {
        if let Err(error) = self.enter_frame(ends_outer) {
            return (Err(error.into()), Frame::default());
        }
        self.frame.begin();
        let (result, _, warnings) = Box::pin(self.run_once(plan, params, sink)).await;
        warnings.into_iter().for_each(|warning| self.push_condition(warning));
        (result, self.leave_frame())
    }

    /// Counts, ids and the OK of a statement that went well.
    fn succeed(
        &mut self,
        plan: &Plan,
        changed: Changed,
        sink: &mut dyn ResultSink,
        more_results: bool,
    ) {
        if let Some(id) = self.frame.insert_id {
            self.last_insert_id = id;
        }
        let counters = self.server.counters(self.info.worker);
        let warning_count = usize::from(self.warning_count());
        let (affected, info) = match &plan.kind {
            PlanKind::Select(select) => {
                Counters::add(&counters.com_select, 1);
                if select.into_variables.is_empty() {
                    self.row_count = -1;
                    let info = self.ok_info(more_results);
                    sink.end_of_rows(&info);
                    return;
                }
                (changed.affected, String::new())
            }
            PlanKind::Insert(insert) if matches!(insert.source, InsertSource::Load(_)) => {
                Counters::add(&counters.com_load, 1);
                (changed.affected, load_info(&changed, warning_count))
            }
            PlanKind::Insert(insert) => {
                Counters::add(&counters.com_insert, 1);
                let several = match &insert.source {
                    InsertSource::Values(rows) => 1 < rows.len(),
                    InsertSource::Select(_) | InsertSource::Load(_) => true,
                };
                let duplicates = match insert.mode {
                    InsertMode::Insert | InsertMode::Replace | InsertMode::Update(_) => {
                        changed.duplicates
                    }
                };
                let info = records_info(changed.records, duplicates, warning_count);
                let shown = several || 0 < warning_count && self.kept_is("sql_warnings", "ON");
                (changed.affected, if shown { info } else { String::new() })
            }
            PlanKind::Update(_) | PlanKind::JoinedUpdate(_) => {
                Counters::add(&counters.com_update, 1);
                let affected =
                    if self.info.found_rows { changed.matched } else { changed.affected };
                let warnings = u64::try_from(warning_count).unwrap_or(u64::MAX);
                (affected, update_info(changed.matched, changed.affected, warnings))
            }
            PlanKind::Delete(_) | PlanKind::JoinedDelete(_) => {
                Counters::add(&counters.com_delete, 1);
                (changed.affected, String::new())
            }
            PlanKind::Values(_) => unreachable!("SET and DO answer without rows"),
        };
        self.row_count = i64::try_from(affected).unwrap_or(i64::MAX);
        let last_insert_id = match &plan.kind {
            // Like MySQL, which has the id of LOAD DATA for LAST_INSERT_ID() only.
            PlanKind::Insert(insert) if matches!(insert.source, InsertSource::Load(_)) => 0,
            PlanKind::Insert(_) => changed.insert_id,
            _ => self.frame.insert_id.unwrap_or(0),
        };
        let ok =
            OkInfo { affected_rows: affected, last_insert_id, info, ..self.ok_info(more_results) };
        sink.ok(&ok);
    }

    /// A failure outside of a plan (DDL, COMMIT, SHOW).
    pub(crate) async fn fail(&mut self, mut failure: Failure) -> SqlError {
        self.fail_statement(&mut failure).await;
        failure.error
    }
}

/// The text in the OK of an UPDATE. Without `format!`, which takes a tenth of the session's
/// instructions for an update.
fn update_info(matched: u64, changed: u64, warnings: u64) -> String {
    let mut info = String::with_capacity(64);
    let counts =
        [("Rows matched: ", matched), ("  Changed: ", changed), ("  Warnings: ", warnings)];
    for (label, count) in counts {
        info.push_str(label);
        push_number(count, &mut info);
    }
    info
}

fn push_number(mut number: u64, text: &mut String) {
    const DIGITS_MAX: usize = 20;
    let mut digits = [0; DIGITS_MAX];
    let mut start = DIGITS_MAX;
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    text.extend(digits[start..].iter().map(|&digit| char::from(digit)));
}

/// What an INSERT of several rows tells.
pub fn records_info(records: u64, duplicates: u64, warnings: usize) -> String {
    format!("Records: {records}  Duplicates: {duplicates}  Warnings: {warnings}")
}

/// What LOAD DATA tells.
fn load_info(changed: &Changed, warnings: usize) -> String {
    let Changed { records, copied, affected, .. } = changed;
    format!(
        "Records: {records}  Deleted: {}  Skipped: {}  Warnings: {warnings}",
        affected - copied,
        records - copied
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_of_an_update() {
        assert_eq!(update_info(0, 1, 9), "Rows matched: 0  Changed: 1  Warnings: 9");
        let longest = format!("Rows matched: 10  Changed: 1234567890  Warnings: {}", u64::MAX);
        assert_eq!(update_info(10, 1_234_567_890, u64::MAX), longest);
    }
}
