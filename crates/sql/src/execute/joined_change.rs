//! UPDATE and DELETE over a join. All rows are read, and their new values computed, before the first change; a row that several
//! joined rows name is changed once, by the first of them.

use std::collections::{BTreeMap, BTreeSet};

use types::{RowView, Value, key};

use super::batch::JoinedRow;
use super::rows::owned_row;
use super::write::{RowChange, Storing, TableWriter, changes_unique_key, key_too_long};
use super::{Changed, Context, Failure, Pace, value_size};
use crate::SqlError;
use crate::plan::{AssignmentPlan, ChangedTable, JoinedChangePlan, Source, TableChange};

/// A row before and after its change; None: deleted.
struct FoundRow {
    old: Vec<u8>,
    new: Option<Vec<Value>>,
    /// How many names of its table have changed it.
    affected: u64,
}

/// What changes of a table, whatever the number of names that the join has for it.
#[derive(Default)]
struct TableRows {
    changes: Vec<FoundRow>,
    /// Positions in `changes`, by primary key.
    by_key: BTreeMap<Vec<u8>, usize>,
}

impl TableRows {
    /// The changes in the order of the join; or of the primary key, so that rows may take each other's keys in the same order
    /// wherever they are.
    fn into_changes(self, by_key: bool) -> Vec<FoundRow> {
        if !by_key {
            return self.changes;
        }
        let mut changes: Vec<Option<FoundRow>> = self.changes.into_iter().map(Some).collect();
        self.by_key.values().filter_map(|position| changes[*position].take()).collect()
    }
}

impl Context<'_> {
    pub async fn run_joined_change(&mut self, plan: &JoinedChangePlan) -> Result<Changed, Failure> {
        let storing = Storing::new(self.run.strict, plan.ignore);
        let Source::Joined(source) = &plan.rows.source else {
            unreachable!("a change of several tables is one of a join")
        };
        check_ignored(plan)?;
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
                            let (matched, table) = (changed.matched, &table.table);
                            let (row, own) = (Some(&row), &mut values);
                            let differs = self
                                .assign_columns(table, assignments, row, own, storing, matched)
                                .await?;
                            if !differs {
                                continue;
                            }
                            size += values.iter().map(value_size).sum::<usize>();
                            Some(values)
                        }
                    };
                    if let Some(known) = known {
                        rows.changes[known].new = new;
                        rows.changes[known].affected += 1;
                        continue;
                    }
                    held.take_checked(size)?;
                    rows.by_key.insert(key, rows.changes.len());
                    rows.changes.push(FoundRow { old: old.to_vec(), new, affected: 1 });
                }
            }
        }
        drop(stream);
        let is_last =
            |number: usize| found[number + 1..].iter().all(|rows| rows.changes.is_empty());
        let last: Vec<bool> = (0..found.len()).map(is_last).collect();
        for (number, rows) in found.into_iter().enumerate() {
            let names = plan.tables.iter().zip(&owners).filter(|(_, owner)| **owner == number);
            let assignments: Vec<&AssignmentPlan> =
                names.flat_map(|(table, _)| table.change.assignments()).collect();
            let ChangedTable { table, layout, rules, .. } = &plan.tables[number];
            let assigned = assignments.iter().copied();
            let mut writer = TableWriter::of_update(
                table,
                layout,
                (None, rules),
                assigned,
                storing,
                plan.ignore,
            );
            if 1 < plan.tables.len() && !table.constraints.foreign_keys.is_empty() {
                writer.reread();
            }
            let moves_keys = changes_unique_key(table, assignments);
            for row in rows.into_changes(moves_keys) {
                let change = match row.new {
                    Some(values) => RowChange::update(row.old, values),
                    None => RowChange::delete(row.old),
                };
                writer.push(self, change.counted(row.affected)).await?;
            }
            writer.flush(self, last[number]).await?;
            changed.affected += writer.changed(0).affected;
        }
        Ok(changed)
    }
}

/// UPDATE IGNORE leaves out a change whose key is taken: one of several changes of a row, by several names, is not left out alone.
fn check_ignored(plan: &JoinedChangePlan) -> Result<(), SqlError> {
    for (number, table) in plan.tables.iter().enumerate() {
        let is_same = |other: &&ChangedTable| other.table.id == table.table.id;
        let names: Vec<&ChangedTable> = plan.tables[number..].iter().filter(is_same).collect();
        let assignments = names.iter().flat_map(|name| name.change.assignments());
        if plan.ignore && 1 < names.len() && changes_unique_key(&table.table, assignments) {
            let what = "UPDATE IGNORE of key columns of a table with several names";
            return Err(SqlError::not_supported(what));
        }
    }
    Ok(())
}
