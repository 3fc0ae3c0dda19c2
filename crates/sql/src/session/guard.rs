//! Bounds and guards that a session sets on its own statements: max_execution_time, lock_wait_timeout, sql_safe_updates,
//! sql_require_primary_key.

use std::pin::pin;

use super::{KillHandle, Session};
use crate::KillKind;
use crate::error::{SqlError, code};
use crate::parser::ast::{self, AlterOperation, IndexKind, Statement};
use crate::plan::{ChangeTarget, PathKind, Plan, PlanKind};

/// Ends what a session runs when a time is over, as KILL QUERY would.
pub(crate) struct TimeLimit {
    kill: KillHandle,
    client: client::Client,
    milliseconds: u64,
}

impl TimeLimit {
    /// Runs a part of the statement to its end; true if the time was over before.
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> (T, bool) {
        let end = || self.kill.kill(KillKind::Query);
        let (output, is_over) = run_until(&self.client, self.milliseconds, work, end).await;
        if is_over {
            // The statements behind it in the same text are not to end.
            self.kill.state.query.set(false);
        }
        (output, is_over)
    }
}

/// Runs work to its end, and calls `end` once when the time is over before; true then.
pub(super) async fn run_until<T>(
    client: &client::Client,
    milliseconds: u64,
    work: impl Future<Output = T>,
    end: impl Fn(),
) -> (T, bool) {
    let mut work = pin!(work);
    let mut timer = pin!(client.sleep_ms(milliseconds));
    let mut is_over = false;
    let output = std::future::poll_fn(|context| {
        if !is_over && timer.as_mut().poll(context).is_ready() {
            is_over = true;
            end();
        }
        work.as_mut().poll(context)
    });
    (output.await, is_over)
}

impl Session {
    pub(crate) fn time_limit(&self, milliseconds: u64) -> TimeLimit {
        TimeLimit { kill: self.kill_handle(), client: self.client.client().clone(), milliseconds }
    }

    /// sql_safe_updates: UPDATE and DELETE find their rows by a key, or have a LIMIT.
    pub(crate) fn check_safe_update(&self, plan: &Plan) -> Result<(), SqlError> {
        let target = match &plan.kind {
            PlanKind::Update(update) => &update.target,
            PlanKind::Delete(delete) => &delete.target,
            PlanKind::Select(_) | PlanKind::Insert(_) | PlanKind::Values(_) => return Ok(()),
            PlanKind::JoinedUpdate(change) | PlanKind::JoinedDelete(change) => {
                let tables = &change.tables;
                let is_found = |relation| change.rows.is_found_by_key(relation);
                return match !self.settings.safe_updates
                    || tables.iter().all(|own| is_found(own.relation))
                {
                    true => Ok(()),
                    false => Err(unsafe_update()),
                };
            }
        };
        if !self.settings.safe_updates || target.limit.is_some() || is_found_by_key(target) {
            return Ok(());
        }
        Err(unsafe_update())
    }

    /// sql_require_primary_key: no table is made without a primary key, and none loses its own.
    pub(super) fn check_primary_key(&self, statement: &Statement) -> Result<(), SqlError> {
        if !self.kept_is("sql_require_primary_key", "ON") {
            return Ok(());
        }
        let is_without = match statement {
            Statement::CreateTable(create) => match &create.like {
                None => !has_primary_key(create),
                Some(like) => {
                    let catalogue = self.catalogue();
                    let current = self.environment.database.as_deref();
                    let table = crate::bind::find_table(&catalogue, current, like)?;
                    let parts = &table.primary_key().parts;
                    parts.iter().any(|part| table.columns[usize::from(part.column)].hidden)
                }
            },
            Statement::AlterTable(alter) => {
                let adds = |operation: &AlterOperation| match operation {
                    AlterOperation::AddIndex(index) => index.kind == IndexKind::Primary,
                    _ => false,
                };
                alter.operations.contains(&AlterOperation::DropPrimaryKey)
                    && !alter.operations.iter().any(adds)
            }
            _ => false,
        };
        if is_without {
            return Err(SqlError::new(
                code::ER_TABLE_WITHOUT_PK,
                "Unable to create or change a table without a primary key, when the system variable \
                 'sql_require_primary_key' is set. Add a primary key to the table or unset this \
                 variable to avoid this message. Note that tables without a primary key can cause \
                 performance problems in row-based replication, so please consult your DBA before \
                 changing this setting.",
            ));
        }
        Ok(())
    }
}

fn unsafe_update() -> SqlError {
    SqlError::new(
        code::ER_UPDATE_WITHOUT_KEY_IN_SAFE_MODE,
        "You are using safe update mode and you tried to update a table without a WHERE that uses a \
         KEY column. ",
    )
}

fn has_primary_key(create: &ast::CreateTable) -> bool {
    create.columns.iter().any(|column| column.primary_key)
        || create.indexes.iter().any(|index| index.kind == IndexKind::Primary)
}

fn is_found_by_key(target: &ChangeTarget) -> bool {
    let path = &target.access.path;
    path.kind != PathKind::Range || !path.equal.is_empty() || !path.ranges.is_empty()
}
