//! UPDATE and DELETE over a join. All rows are read, and their new values computed, before the first change; a row that several
//! joined rows name is changed once, by the first of them.

use std::collections::{BTreeMap, BTreeSet};

use types::{RowView, Value, key};

use super::batch::JoinedRow;
use super::rows::owned_row;
use super::write::{BATCH_SIZE_MAX, ROWS_PER_BATCH, Storing, encode, key_too_long};
use super::{Changed, Context, Failure, Pace, value_size};
use crate::SqlError;
use crate::plan::{AssignmentPlan, ChangedTable, JoinedChangePlan, Source, TableChange};

/// A row before and after its change; None: deleted.
struct RowChange {
    old: Vec<u8>,
    new: Option<Vec<Value>>,
}

/// What changes of a table, whatever the number of names that the join has for it.
#[derive(Default)]
struct TableRows {
    changes: Vec<RowChange>,
    /// Positions in `changes`, by primary key.
    by_key: BTreeMap<Vec<u8>, usize>,
}

impl Context<'_> {
    pub async fn run_joined_change(&mut self, plan: &JoinedChangePlan) -> Result<Changed, Failure> {
        check_ignored(plan)?;
        let storing = Storing::new(self.run.strict, plan.ignore);
        let Source::Joined(source) = &plan.rows.source else {
            unreachable!("a change of several tables is one of a join")
        };
        // By name: the keys of the rows that were looked at.
        let mut seen: Vec<BTreeSet<Vec<u8>>> = vec![BTreeSet::new(); plan.tables.len()];
        let owner = |table: &ChangedTable| {
            let same = |other: &ChangedTable| other.table.id == table.table.id;
            plan.tables.iter().position(same).expect("it is one of them")
        };
        let owners: Vec<usize> = plan.tables.iter().map(owner).collect();
        let mut found: Vec<TableRows> = plan.tables.iter().map(|_| TableRows::default()).collect();
        let mut held = self.account();
        let mut changed = Changed::default();
        let mut pace = Pace::default();
        let mut stream = self.open(&source.root).await?;
        while let Some(batch) = self.next(source, &mut stream).await? {
            for row in 0..batch.len() {
                pace.row().await;
                for ((table, seen), owner) in plan.tables.iter().zip(&mut seen).zip(&owners) {
                    let rows = &mut found[*owner];
                    let Some(old) = batch.stored_row(table.relation, row) else { continue };
                    let view = RowView::new(&table.layout, old);
                    let key = key::primary_key_of_row(&table.table, &view);
                    let key = key.map_err(|_| key_too_long())?;
                    if !seen.insert(key.clone()) {
                        continue;
                    }
                    let known = rows.by_key.get(&key).copied();
                    let mut size = old.len();
                    let new = match &table.change {
                        TableChange::Delete if known.is_some() => continue,
                        TableChange::Delete => None,
                        TableChange::Update(assignments) => {
                            changed.matched += 1;
                            // As another name of the table has changed it.
                            let new = known.and_then(|known| rows.changes[known].new.clone());
                            let mut values = new.unwrap_or_else(|| owned_row(&table.table, &view));
                            let row = JoinedRow::new(source, &batch, row);
                            let differs = self
                                .assign_from(
                                    &table.table,
                                    assignments,
                                    &row,
                                    &mut values,
                                    storing,
                                    changed.matched,
                                )
                                .await?;
                            if !differs {
                                continue;
                            }
                            size += values.iter().map(value_size).sum::<usize>();
                            Some(values)
                        }
                    };
                    changed.affected += 1;
                    if let Some(known) = known {
                        rows.changes[known].new = new;
                        continue;
                    }
                    held.take_checked(size)?;
                    rows.by_key.insert(key, rows.changes.len());
                    rows.changes.push(RowChange { old: old.to_vec(), new });
                }
            }
        }
        drop(stream);
        for (number, rows) in found.into_iter().enumerate() {
            let named = plan.tables.iter().zip(&owners).filter(|(_, owner)| **owner == number);
            let assignments: Vec<AssignmentPlan> =
                named.flat_map(|(table, _)| table.change.assignments()).cloned().collect();
            self.write_changes(&plan.tables[number], &assignments, rows.changes).await?;
        }
        Ok(changed)
    }

    async fn write_changes(
        &mut self,
        table: &ChangedTable,
        assignments: &[AssignmentPlan],
        changes: Vec<RowChange>,
    ) -> Result<(), Failure> {
        let catalogue = self.catalogue();
        let (mut ops, mut written) = (Vec::new(), Vec::new());
        let (mut count, mut size) = (0, 0);
        let total = changes.len();
        for (position, RowChange { old, new }) in changes.into_iter().enumerate() {
            match new {
                None => ops.extend(client::delete_ops(&catalogue, &table.table, &old)),
                Some(values) => {
                    self.move_sequence(&table.table, assignments, &values).await?;
                    let new = encode(&table.table, &table.layout, &values)?;
                    ops.extend(client::replace_ops(&catalogue, &table.table, &old, &new));
                    size += new.len();
                    written.push(new);
                }
            }
            count += 1;
            if count < ROWS_PER_BATCH && size < BATCH_SIZE_MAX && position + 1 < total {
                continue;
            }
            self.check_killed()?;
            let (ops, written) = (std::mem::take(&mut ops), std::mem::take(&mut written));
            (count, size) = (0, 0);
            let batch = client::Batch { ops, ..self.batch() };
            match self.client().execute(batch).await {
                Ok(result) => self.warnings.extend(result.warnings),
                Err(refusal) => {
                    let (table, layout) = (&table.table, &table.layout);
                    return Err(self.write_failure(refusal, table, layout, &written, 1).await);
                }
            }
        }
        Ok(())
    }
}

/// UPDATE IGNORE leaves out rows whose new key is taken: that is not done over a join.
fn check_ignored(plan: &JoinedChangePlan) -> Result<(), SqlError> {
    let changes_key = plan.tables.iter().any(|table| match &table.change {
        TableChange::Delete => false,
        TableChange::Update(assignments) => {
            super::update::changes_unique_key(&table.table, assignments)
        }
    });
    match plan.ignore && changes_key {
        true => Err(SqlError::not_supported("UPDATE IGNORE of key columns")),
        false => Ok(()),
    }
}
