//! What a running statement may touch.
//!
//! An operator gets a [`Context`] and nothing else: the values of the statement, its warnings, and through methods the
//! client that reads and writes rows, the settings that a statement obeys, and what functions take from a session. The
//! session itself is behind this door.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use client::{Lock, ReadAt, Refusal};
use types::convert::SqlWarning;
use types::{Catalogue, Value};

use super::budget::{Budget, Held};
use super::evaluate::shifted;
use super::profile::Profile;
use super::stored::StoredRows;
use super::subquery::{KeptResults, ValueSet};
use super::{Failure, Run};
use crate::SqlError;
use crate::bind::Binder;
use crate::information_schema::{self, VirtualTable};
use crate::plan::{LockFunction, Plan, PlanKind};
use crate::server::BrokenRule;
use crate::session::Session;
use crate::session::variables::{Isolation, Settings};

pub struct Context<'s> {
    session: &'s mut Session,
    pub run: Run<'s>,
    /// What the statement has warned of so far.
    pub warnings: Vec<SqlWarning>,
    /// Made when the statement holds something.
    budget: OnceCell<Rc<Budget>>,
    /// By number of a recursive table: the rows of its last round.
    pub working: BTreeMap<u16, Rc<StoredRows>>,
    /// Rows and sets of subqueries that are the same each time.
    pub kept: BTreeMap<u16, Rc<StoredRows>>,
    pub sets: BTreeMap<u16, Rc<ValueSet>>,
    /// Of subqueries by their slots.
    pub results: BTreeMap<u16, KeptResults>,
}

impl<'p> Run<'p> {
    /// The parameters, the slots behind them, and what holds still while the statement runs.
    pub fn new(session: &Session, plan: &'p Plan, mut params: Vec<Value>, strict: bool) -> Run<'p> {
        assert_eq!(params.len(), usize::from(plan.param_count));
        let offset = session.settings.time_zone_offset_seconds;
        let utc = session.statement_clock();
        let now = shifted(utc, offset);
        for slot in &plan.slots {
            params.push(session.statement_slot(slot, utc, now));
        }
        Run {
            plan,
            params,
            now,
            time_zone_offset_seconds: offset,
            strict,
            date_modes: session.settings.sql_mode.date_modes(),
            ignore_division_by_zero: session.settings.sql_mode.ignores_division_by_zero(),
            wait: plan.wait_policy(),
            faulty: Vec::new(),
            work: Default::default(),
        }
    }
}

impl<'s> Context<'s> {
    /// Starts a statement. `strict`: a data change in strict mode.
    pub fn new(
        session: &'s mut Session,
        plan: &'s Plan,
        params: Vec<Value>,
        strict: bool,
    ) -> Context<'s> {
        let run = Run::new(session, plan, params, strict);
        if let Some(profile) = &mut session.frame.profile {
            profile.clear();
        }
        Context {
            session,
            run,
            warnings: Vec::new(),
            budget: OnceCell::new(),
            working: BTreeMap::new(),
            kept: BTreeMap::new(),
            sets: BTreeMap::new(),
            results: BTreeMap::new(),
        }
    }

    /// Ends the statement: its own parameters and its warnings.
    pub fn into_parts(self) -> (Vec<Value>, Vec<SqlWarning>) {
        let mut params = self.run.params;
        params.truncate(usize::from(self.run.plan.param_count));
        (params, self.warnings)
    }

    // Rows.

    pub fn client(&mut self) -> &mut client::Session {
        &mut self.session.client
    }
    /// The worker's client: clock, timers, catalogue.
    pub fn node(&self) -> &client::Client {
        self.session.client.client()
    }
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.session.catalogue()
    }
    /// Binds what a definition holds, in the session's environment.
    pub fn with_binder<T>(
        &self,
        bind: impl FnOnce(&mut Binder<'_>) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let catalogue = self.session.catalogue();
        let environment = self.session.environment();
        bind(&mut Binder::new(&catalogue, &environment, self.session, &[]))
    }
    pub fn refused(&self, refusal: Refusal) -> Failure {
        self.session.refused(refusal)
    }
    pub fn refused_aside(&self, refusal: Refusal) -> Failure {
        self.session.refused_aside(refusal)
    }
    /// The rows of a table that is made on the fly.
    pub async fn system_rows(&mut self, table: VirtualTable) -> Result<Vec<Vec<Value>>, SqlError> {
        information_schema::rows(self.session, table, &mut self.warnings).await
    }

    // The transaction.

    pub fn read_at(&self) -> ReadAt {
        self.session.read_at()
    }
    pub fn ends_with_statement(&self) -> bool {
        self.session.ends_with_statement()
    }
    pub fn commits_with_last_request(&self) -> bool {
        self.session.commits_with_last_request()
    }
    pub fn isolation(&self) -> Isolation {
        self.session.transaction.isolation
    }
    /// The lock that reads take where the statement asks for this one. Inside a transaction at SERIALIZABLE plain reads take
    /// shared locks; a plain read that is its own transaction sees one snapshot, which is serializable already. What a
    /// statement reads in order to keep it (INSERT ... SELECT, SET @v = (SELECT ...)) it locks from REPEATABLE READ on, as
    /// InnoDB does.
    pub fn read_lock(&self, asked: Lock) -> Lock {
        let locks = match self.isolation() {
            Isolation::ReadUncommitted | Isolation::ReadCommitted => false,
            Isolation::RepeatableRead => !self.run.plan.is_read(),
            Isolation::Serializable => !self.run.plan.is_read() || !self.ends_with_statement(),
        };
        if asked == Lock::None && locks { Lock::Shared } else { asked }
    }
    /// Does the statement pass over rows that others have changed, by their last committed versions, where WHERE leaves those
    /// out? InnoDB's UPDATE does below REPEATABLE READ; its DELETE waits.
    pub fn is_semi_consistent(&self) -> bool {
        let is_update = matches!(self.run.plan.kind, PlanKind::Update(_));
        match self.isolation() {
            Isolation::ReadUncommitted | Isolation::ReadCommitted => is_update,
            Isolation::RepeatableRead | Isolation::Serializable => false,
        }
    }

    // Settings, KILL and long computations.

    pub fn show_progress(&self, progress: String) {
        self.session.show_progress(Some(progress));
    }
    /// For tests: does the server break this rule?
    pub fn breaks(&self, rule: BrokenRule) -> bool {
        self.session.server.config().broken_rule == Some(rule)
    }
    pub fn settings(&self) -> &Settings {
        &self.session.settings
    }
    /// CLIENT_FOUND_ROWS: rows that a change found count, changed or not.
    pub fn counts_found_rows(&self) -> bool {
        self.session.info.found_rows
    }
    /// The number that a system variable has.
    pub fn kept_number(&self, name: &str) -> u64 {
        self.session.kept_number(name)
    }
    pub fn check_killed(&self) -> Result<(), SqlError> {
        self.session.check_killed()
    }
    /// The output of `work`; None, at once, when KILL ends the statement before.
    pub async fn until_killed<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.session.kill_handle().until_killed(work).await
    }
    /// Moves the warnings so far to the diagnostics of the statement, which are bounded.
    pub fn hand_over_warnings(&mut self) {
        for warning in std::mem::take(&mut self.warnings) {
            self.session.push_condition(warning);
        }
    }
    pub async fn sleep_until_killed(&self, milliseconds: u64) {
        self.session.sleep_until_killed(milliseconds).await;
    }
    /// Runs a long computation on another thread. KILL ends the statement at once; the thread drops the result.
    pub async fn compute<T: Send + 'static>(
        &self,
        compute: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, SqlError> {
        self.budget().compute(compute).await
    }
    /// The memory of the statement.
    pub fn budget(&self) -> Rc<Budget> {
        Rc::clone(self.budget.get_or_init(|| self.session.statement_budget()))
    }
    /// An account of what an operator holds.
    pub fn account(&self) -> Held {
        self.budget().account()
    }

    /// Is the statement one that EXPLAIN ANALYZE runs?
    pub fn is_profiled(&self) -> bool {
        self.session.frame.profile.is_some()
    }
    /// The counts of EXPLAIN ANALYZE.
    pub fn profile(&mut self) -> Option<&mut Profile> {
        self.session.frame.profile.as_deref_mut()
    }

    // What functions take from the session and leave in it.

    pub fn user_variable(&self, name: &str) -> Value {
        self.session.user_variables.get(name).cloned().unwrap_or(Value::Null)
    }
    pub fn set_user_variable(&mut self, name: &str, value: Value) -> Result<(), SqlError> {
        self.session.set_user_variable(name, value)
    }
    /// What the statement makes of LAST_INSERT_ID().
    pub fn insert_id(&self) -> Option<u64> {
        self.session.frame.insert_id
    }
    pub fn set_insert_id(&mut self, id: u64) {
        self.session.frame.insert_id = Some(id);
    }
    pub fn found_rows(&self) -> u64 {
        self.session.found_rows
    }
    pub fn set_found_rows(&mut self, count: u64) {
        self.session.found_rows = count;
    }
    pub fn random_double(&mut self) -> f64 {
        self.session.random_double()
    }
    pub fn seeded_double(&mut self, slot: u16, seed: i128) -> f64 {
        self.session.seeded_double(slot, seed)
    }
    pub fn uuid(&self) -> String {
        self.session.uuid()
    }
    pub fn uuid_short(&self) -> u64 {
        self.session.uuid_short()
    }
    pub async fn user_lock(
        &mut self,
        function: LockFunction,
        name: &Value,
        seconds: i128,
    ) -> Result<Value, SqlError> {
        self.session.user_lock(function, name, seconds).await
    }
    pub async fn transaction_outcome(&mut self, id: &[u8]) -> Result<&'static str, SqlError> {
        self.session.transaction_outcome(id).await
    }
}
