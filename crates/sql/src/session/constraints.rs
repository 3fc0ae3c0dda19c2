//! ALTER TABLE of CHECK constraints, and their names when a table gets another one.
//!
//! A CHECK that is added, or enforced from now on, must hold for every row, also for those that others write meanwhile. So it
//! is made known first: when the change of the definition returns, every node uses it, and no transaction that planned
//! without it is left. Then the rows that are there are read; the constraint is taken back if one of them violates it.
//! Constraints that the statement drops are enforced until then, so that a failure leaves the table as it was.
//!
//! If the node of the session fails in between, the constraint stays, enforced, and older rows may violate it.

use std::sync::Arc;

use types::{Check, IndexKind, Table, TableId, Value};

use super::Session;
use crate::bind::Binder;
use crate::bind::constraint::{
    NewCheck, check_follows_no_parent, check_name_length, duplicate_check,
};
use crate::error::SqlError;
use crate::execute::Failure;
use crate::parser::ast::{self, AlterOperation};
use crate::show::quoted;

/// What a name means that DROP CONSTRAINT or ALTER CONSTRAINT has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Constraint {
    Check,
    /// A unique key, or the primary one.
    Key,
    ForeignKey,
}

/// The constraint of this name: 3940 if there is none, 3939 if there are several.
pub(super) fn constraint_named(table: &Table, name: &str) -> Result<Constraint, SqlError> {
    let lower = name.to_lowercase();
    let constraints = &table.constraints;
    let checks = constraints.checks.iter().filter(|own| own.name.to_lowercase() == lower);
    let foreign = constraints.foreign_keys.iter().filter(|own| own.name.to_lowercase() == lower);
    let keys = table
        .indexes
        .iter()
        .filter(|own| own.kind != IndexKind::Ordinary && own.name.to_lowercase() == lower);
    let found = checks.map(|_| Constraint::Check);
    let found = found.chain(foreign.map(|_| Constraint::ForeignKey));
    let mut found = found.chain(keys.map(|_| Constraint::Key));
    match (found.next(), found.next()) {
        (None, _) => Err(SqlError::new(3940, format!("Constraint '{name}' does not exist."))),
        (Some(constraint), None) => Ok(constraint),
        (Some(_), Some(_)) => Err(SqlError::new(
            3939,
            format!(
                "Table has multiple constraints with the name '{name}'. Please use constraint specific 'DROP' clause."
            ),
        )),
    }
}

/// 1412: the table has other constraints by now.
fn replace_checks(table: &mut Table, from: &[Check], to: &[Check]) -> Result<(), SqlError> {
    if table.constraints.checks != from {
        return Err(SqlError::definition_changed());
    }
    table.constraints.checks = to.to_vec();
    Ok(())
}

/// What an ALTER TABLE does to the CHECKs of its table.
#[derive(Default)]
pub(super) struct CheckSteps {
    before: Vec<Check>,
    after: Vec<Check>,
    /// Those of `after` that the rows may violate.
    new: Vec<Check>,
}

impl CheckSteps {
    /// The constraints that the table will have.
    pub(super) fn after(&self) -> &[Check] {
        &self.after
    }
    /// While the rows are read: old and new constraints.
    fn both(&self) -> Vec<Check> {
        let mut checks = self.before.clone();
        checks.extend(self.new.iter().cloned());
        checks
    }
}

impl Session {
    /// The steps of the statement, checked. As in MySQL, constraints go before others come.
    pub(super) fn check_steps(
        &self,
        alter: &ast::AlterTable,
        table: &Arc<Table>,
    ) -> Result<CheckSteps, SqlError> {
        let before = table.constraints.checks.clone();
        let mut checks = before.clone();
        for operation in &alter.operations {
            let name = match operation {
                AlterOperation::DropCheck(name) => name,
                AlterOperation::DropConstraint(name)
                    if constraint_named(table, name)? == Constraint::Check =>
                {
                    name
                }
                _ => continue,
            };
            let position = position_of(&checks, name)?;
            checks.remove(position);
        }
        for operation in &alter.operations {
            if let AlterOperation::EnforceCheck { name, enforced, is_any } = operation {
                if *is_any && constraint_named(table, name)? != Constraint::Check {
                    return Err(SqlError::new(
                        3941,
                        format!(
                            "Altering constraint enforcement is not supported for the constraint '{name}'. Enforcement \
                             state alter is not supported for the PRIMARY, UNIQUE and FOREIGN KEY type constraints."
                        ),
                    ));
                }
                let position = position_of(&checks, name)?;
                checks[position].enforced = *enforced;
            }
        }
        self.add_checks(alter, table, &mut checks)?;
        let is_new = |check: &&Check| check.enforced && !before.contains(check);
        let new: Vec<Check> = checks.iter().filter(is_new).cloned().collect();
        new.iter().try_for_each(|check| check_follows_no_parent(table, check))?;
        checks.sort_by_key(|check| check.name.to_lowercase());
        Ok(CheckSteps { before, after: checks, new })
    }

    fn add_checks(
        &self,
        alter: &ast::AlterTable,
        table: &Arc<Table>,
        checks: &mut Vec<Check>,
    ) -> Result<(), SqlError> {
        let numbers = checks.iter().filter_map(|own| own.generated_number(&table.name));
        let mut number = numbers.max().unwrap_or(0);
        // The names of other tables, without those that this statement drops.
        let mut others = (*self.catalogue()).clone();
        others.tables.remove(&table.id);
        let others = Arc::new(others);
        let mut binder = Binder::new(&others, &self.environment, self, &[]);
        for operation in &alter.operations {
            let AlterOperation::AddCheck(written) = operation else { continue };
            let name = match &written.name {
                Some(name) if !name.is_empty() => name.clone(),
                _ => {
                    number += 1;
                    Check::generated_name(&table.name, number)
                }
            };
            let new = NewCheck { written, column: None };
            let check = binder.check_definition(&new, name, table)?;
            binder.check_free_name(&table.database, checks, &check.name)?;
            checks.push(check);
        }
        Ok(())
    }

    /// Enforces the new constraints, if the rows allow it; the number of rows that were read.
    pub(super) async fn begin_checks(
        &mut self,
        table: TableId,
        steps: &CheckSteps,
    ) -> Result<u64, Failure> {
        let mut row_count = 0;
        if steps.new.is_empty() {
            return Ok(row_count);
        }
        self.alter_definition(table, &mut |table| {
            replace_checks(table, &steps.before, &steps.both())
        })
        .await?;
        for check in &steps.new {
            let failure = match self.count_rows(table, check).await {
                Ok([rows, 0]) => {
                    row_count = rows;
                    continue;
                }
                Ok(_) => SqlError::check_violated(&check.name).into(),
                Err(failure) => failure,
            };
            self.take_back_checks(table, steps).await;
            return Err(failure);
        }
        Ok(row_count)
    }

    /// Takes back what [`Self::begin_checks`] has done. KILL does not reach it.
    pub(super) async fn take_back_checks(&mut self, table: TableId, steps: &CheckSteps) {
        if steps.new.is_empty() {
            return;
        }
        let both = steps.both();
        self.revert_definition(table, &mut |table| replace_checks(table, &both, &steps.before))
            .await;
    }

    /// Ends the statement: the table has the constraints that it is to have.
    pub(super) async fn end_checks(
        &mut self,
        table: TableId,
        steps: &CheckSteps,
    ) -> Result<(), Failure> {
        let current = if steps.new.is_empty() { steps.before.clone() } else { steps.both() };
        if current == steps.after {
            return Ok(());
        }
        self.alter_definition(table, &mut |table| replace_checks(table, &current, &steps.after))
            .await
    }

    /// The number of rows, and of those that violate the constraint.
    async fn count_rows(&mut self, table: TableId, check: &Check) -> Result<[u64; 2], Failure> {
        let catalogue = self.catalogue();
        let table = catalogue.table_by_id(table).ok_or_else(SqlError::definition_changed)?;
        let text = format!(
            "select count(*), count(case when not ({}) then 1 end) from {}.{} limit 1",
            check.expression.text,
            quoted(&table.database),
            quoted(&table.name)
        );
        let rows = self.committed_rows(&text, check.expression.collation).await?;
        let count = |place: usize| match rows[0][place] {
            Value::Int(count) => u64::try_from(count).unwrap_or_default(),
            Value::UInt(count) => count,
            ref other => unreachable!("{other:?} is no count"),
        };
        Ok([count(0), count(1)])
    }

    /// 3822 and 1059: names that the CHECKs of a table get with its new name.
    pub(super) fn check_renamed_checks(
        &self,
        table: &Table,
        checks: &[Check],
        database: &str,
        name: &str,
    ) -> Result<(), SqlError> {
        let catalogue = self.catalogue();
        let others = catalogue
            .tables
            .values()
            .filter(|other| other.id != table.id && other.database.eq_ignore_ascii_case(database))
            .filter(|other| other.rewriting.copy_of.is_none())
            .filter(|other| other.state == types::TableState::Public);
        let names = others.flat_map(|other| &other.constraints.checks);
        let taken: Vec<String> = names.map(|check| check.name.to_lowercase()).collect();
        for check in checks {
            let new = check.name_in(&table.name, name);
            check_name_length(&new)?;
            if taken.contains(&new.to_lowercase()) {
                return Err(duplicate_check(&new));
            }
        }
        Ok(())
    }

    /// CREATE TABLE ... LIKE: all constraints have generated names.
    pub(super) fn name_copied_checks(&self, table: &mut Table) -> Result<(), SqlError> {
        let catalogue = self.catalogue();
        let binder = Binder::new(&catalogue, &self.environment, self, &[]);
        for (number, check) in (1..).zip(&mut table.constraints.checks) {
            check.name = Check::generated_name(&table.name, number);
            check_name_length(&check.name)?;
            binder.check_free_name(&table.database, &[], &check.name)?;
        }
        table.constraints.sort_checks();
        Ok(())
    }
}

/// 3821.
fn position_of(checks: &[Check], name: &str) -> Result<usize, SqlError> {
    let lower = name.to_lowercase();
    let found = checks.iter().position(|check| check.name.to_lowercase() == lower);
    found.ok_or_else(|| {
        SqlError::new(3821, format!("Check constraint '{name}' is not found in the table."))
    })
}
