//! IGNORE, REPLACE and ON DUPLICATE KEY UPDATE: what becomes of a row with a key that another row has.
//!
//! A plain INSERT or UPDATE lets the engine refuse a taken key. The other forms must know what is there before they decide, so they
//! lock and read every key that their rows take (absent keys too), some rows at a time. From then on the statement knows those keys
//! as its own changes leave them ([`KnownKeys`]): a row sees what the rows before it did, though nothing has been sent yet. All
//! changes of these rows then go in one batch, in their order.

use std::collections::{BTreeMap, BTreeSet};

use client::{Columns, Lock, Op, OpKind, OpResult};
use types::convert::SqlWarning;
use types::wire::Bytes;
use types::{Catalogue, IndexKind, RowView, Table, Value, ValueRef};

use super::row_keys::{duplicate_error, key_too_long, unique_indexes, unique_key};
use super::{Duplicates, RowChange, TableWriter};
use crate::execute::rows::{keys_at_once, owned_row, primary_key_in_entry, stale};
use crate::execute::{Context, Failure};
use crate::plan::{AssignmentPlan, Slot};

/// Keys by which rows are unique that the statement has locked, as its changes have left them.
#[derive(Default)]
struct KnownKeys {
    /// By position of the index and key: the primary key of the row that has it.
    owners: BTreeMap<(usize, Vec<u8>), Option<Vec<u8>>>,
    /// By primary key; those of owners, unless they are left as they are.
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// A row in the way of a new one.
struct Conflict {
    /// Position of the index in which they meet.
    index: usize,
    primary_key: Vec<u8>,
}

impl TableWriter<'_> {
    pub(super) async fn write_decided(
        &mut self,
        context: &mut Context<'_>,
        catalogue: &Catalogue,
        changes: Vec<RowChange>,
        is_last: bool,
    ) -> Result<(), Failure> {
        // Few at a time where what they meet may be long.
        let count = keys_at_once(self.table);
        let mut changes = changes.into_iter().peekable();
        while changes.peek().is_some() {
            let some: Vec<RowChange> = changes.by_ref().take(count).collect();
            let mut known = KnownKeys::default();
            self.learn(context, catalogue, &mut known, &some).await?;
            for change in some {
                match self.decide(context, catalogue, &mut known, change).await {
                    Ok(()) => {}
                    Err(failure) if failure.leaves_statement() => {
                        // What is decided may fail itself.
                        self.send(context, false).await?;
                        return Err(failure);
                    }
                    Err(failure) => return Err(failure),
                }
            }
            self.send(context, is_last && changes.peek().is_none()).await?;
        }
        Ok(())
    }

    /// Does the change, or what its statement does instead of it.
    async fn decide(
        &mut self,
        context: &mut Context<'_>,
        catalogue: &Catalogue,
        known: &mut KnownKeys,
        change: RowChange,
    ) -> Result<(), Failure> {
        let conflicts = self.conflicts(known, &change);
        let Some(first) = conflicts.first() else {
            return self.add_known(context, catalogue, known, change).await;
        };
        match self.duplicates {
            Duplicates::Refuse => unreachable!("the engine decides"),
            Duplicates::Ignore => {
                self.warn_of(context, &change, first);
                Ok(())
            }
            Duplicates::Replace => {
                self.replace(context, catalogue, known, change, &conflicts).await
            }
            Duplicates::Update(assignments) => {
                let old = known.rows[&first.primary_key].clone();
                self.update_instead(context, catalogue, known, &change, old, assignments).await
            }
        }
    }

    fn warn_of(&self, context: &mut Context<'_>, change: &RowChange, conflict: &Conflict) {
        let view = RowView::new(self.layout, &change.encoded);
        let index = self.table.indexes[conflict.index].id;
        let error = duplicate_error(self.table, index, &view);
        context.warnings.push(SqlWarning::warning(error.code, error.message));
    }

    /// The rows in the way go, and the new one comes.
    async fn replace(
        &mut self,
        context: &mut Context<'_>,
        catalogue: &Catalogue,
        known: &mut KnownKeys,
        change: RowChange,
        conflicts: &[Conflict],
    ) -> Result<(), Failure> {
        // Like MySQL, which changes a row where its last unique key is taken, and deletes it where another one is: only the
        // change finds out that the row is the same.
        let first = &conflicts[0];
        let is_last = unique_indexes(self.table).all(|(number, _)| number <= first.index);
        let old = RowView::new(self.layout, &known.rows[&first.primary_key]);
        let new = change.new.as_ref().map(|new| new.values.as_slice()).unwrap_or_default();
        // A row that others reference goes and comes.
        let is_kept = is_last && self.table.constraints.referenced_by.is_empty();
        if conflicts.len() == 1 && is_kept && is_same_row(self.table, &old, new) {
            self.changed.affected += 1;
            self.copied += 1;
            return Ok(());
        }
        self.changed.duplicates += conflicts.len() as u64;
        for conflict in conflicts {
            let old = RowChange::delete(known.rows[&conflict.primary_key].clone());
            self.add_known(context, catalogue, known, old).await?;
        }
        self.add_known(context, catalogue, known, change).await
    }

    /// ON DUPLICATE KEY UPDATE: the row in the way gets values.
    async fn update_instead(
        &mut self,
        context: &mut Context<'_>,
        catalogue: &Catalogue,
        known: &mut KnownKeys,
        change: &RowChange,
        old: Vec<u8>,
        assignments: &[AssignmentPlan],
    ) -> Result<(), Failure> {
        let view = RowView::new(self.layout, &old);
        // The client gets the id of the row that was there.
        let id = self.sequence.column.map(|column| view.get(column));
        self.sequence.last_explicit = id.and_then(|id| match id {
            ValueRef::Int(id) => u64::try_from(id).ok(),
            ValueRef::UInt(id) => Some(id),
            _ => None,
        });
        supply_new_values(context, change);
        let mut values = owned_row(self.table, &view);
        let (table, storing) = (self.table, self.storing);
        let differs = context
            .assign_columns(
                table,
                assignments,
                None::<&Vec<Value>>,
                &mut values,
                storing,
                change.number,
            )
            .await?;
        if !differs {
            let counts = u64::from(context.counts_found_rows());
            self.changed.affected += counts;
            self.changed.duplicates += counts;
            return Ok(());
        }
        let mut update = RowChange::update(old, values).counted(2);
        if !self.passes(context, &mut update).await? {
            return Ok(());
        }
        self.encode(&mut update).await?;
        if self.ignore {
            if self.new_keys(&update)?.iter().any(|key| !known.owners.contains_key(key)) {
                // What is decided may take one of them.
                self.send(context, false).await?;
                self.learn(context, catalogue, known, std::slice::from_ref(&update)).await?;
            }
            if let Some(conflict) = self.conflicts(known, &update).first() {
                self.warn_of(context, &update, conflict);
                return Ok(());
            }
        }
        self.copied += 1;
        self.changed.duplicates += 1;
        self.add_known(context, catalogue, known, update).await
    }

    async fn add_known(
        &mut self,
        context: &mut Context<'_>,
        catalogue: &Catalogue,
        known: &mut KnownKeys,
        change: RowChange,
    ) -> Result<(), Failure> {
        if !self.has_parents(context, &change).await?
            || !self.is_free_of_children(context, &change).await?
        {
            return Ok(());
        }
        self.note(known, &change);
        self.add(context, catalogue, change).await
    }

    /// The keys are as this change leaves them.
    fn note(&self, known: &mut KnownKeys, change: &RowChange) {
        let primary_key = |row: &[u8]| {
            unique_key(self.table, self.table.primary_key(), &RowView::new(self.layout, row))
        };
        if let Some(row) = &change.old
            && let Some(own) = primary_key(row)
        {
            for (number, index) in unique_indexes(self.table) {
                let key = unique_key(self.table, index, &RowView::new(self.layout, row));
                if let Some(owner) = key.and_then(|key| known.owners.get_mut(&(number, key)))
                    && owner.as_ref() == Some(&own)
                {
                    *owner = None;
                }
            }
            known.rows.remove(&own);
        }
        if change.new.is_some()
            && let Some(own) = primary_key(&change.encoded)
        {
            let view = RowView::new(self.layout, &change.encoded);
            for (number, index) in unique_indexes(self.table) {
                if let Some(key) = unique_key(self.table, index, &view) {
                    known.owners.insert((number, key), Some(own.clone()));
                }
            }
            if self.needs_rows() {
                known.rows.insert(own, change.encoded.clone());
            }
        }
    }

    /// Are rows in the way changed, so that they must be known?
    fn needs_rows(&self) -> bool {
        match self.duplicates {
            Duplicates::Refuse | Duplicates::Ignore => false,
            Duplicates::Replace | Duplicates::Update(_) => true,
        }
    }

    /// The keys that a change takes, and its row had not before: each with the position of its index.
    fn new_keys(&self, change: &RowChange) -> Result<Vec<(usize, Vec<u8>)>, Failure> {
        let mut keys = Vec::new();
        let view = RowView::new(self.layout, &change.encoded);
        for (number, index) in unique_indexes(self.table) {
            let Some(key) = unique_key(self.table, index, &view) else {
                if index.kind == IndexKind::Primary {
                    return Err(key_too_long().into());
                }
                continue;
            };
            let before = change
                .old
                .as_ref()
                .and_then(|old| unique_key(self.table, index, &RowView::new(self.layout, old)));
            if before.as_ref() != Some(&key) {
                keys.push((number, key));
            }
        }
        Ok(keys)
    }

    /// The rows in the way of a change: the one with its primary key first, each once.
    fn conflicts(&self, known: &KnownKeys, change: &RowChange) -> Vec<Conflict> {
        let mut conflicts: Vec<Conflict> = Vec::new();
        for (index, key) in self.new_keys(change).unwrap_or_default() {
            let Some(Some(owner)) = known.owners.get(&(index, key)) else { continue };
            let is_there = !self.needs_rows() || known.rows.contains_key(owner);
            if is_there && conflicts.iter().all(|conflict| conflict.primary_key != *owner) {
                conflicts.push(Conflict { index, primary_key: owner.clone() });
            }
        }
        conflicts
    }

    /// Locks the keys that these changes take, and reads what has them.
    async fn learn(
        &self,
        context: &mut Context<'_>,
        catalogue: &Catalogue,
        known: &mut KnownKeys,
        changes: &[RowChange],
    ) -> Result<(), Failure> {
        let mut asked: BTreeSet<(usize, Vec<u8>)> = BTreeSet::new();
        for change in changes.iter().filter(|change| change.new.is_some()) {
            let keys = self.new_keys(change)?;
            asked.extend(keys.into_iter().filter(|key| !known.owners.contains_key(key)));
        }
        if asked.is_empty() {
            return Ok(());
        }
        let mut batch = context.batch();
        let mut entries = BTreeMap::new();
        for (number, key) in &asked {
            let physical = match self.table.indexes[*number].kind {
                IndexKind::Unique { entries } => catalogue.table_by_id(entries),
                IndexKind::Primary | IndexKind::Ordinary => Some(self.table),
            };
            let physical = physical.ok_or_else(|| stale(catalogue))?;
            let columns = match number {
                0 if !self.needs_rows() => Columns::Only(Vec::new()),
                _ => Columns::All,
            };
            entries.entry(*number).or_insert_with(|| physical.row_layout());
            batch.ops.push(read_exclusively(physical, key.clone(), columns));
        }
        let results = context.execute_batch(batch).await?;
        let mut unread: BTreeSet<Vec<u8>> = BTreeSet::new();
        for ((number, key), results) in asked.into_iter().zip(results) {
            let Some(OpResult::Row(Some(found))) = results.into_iter().next() else {
                known.owners.insert((number, key), None);
                continue;
            };
            if number == 0 {
                if self.needs_rows() {
                    known.rows.insert(key.clone(), found.0);
                }
                known.owners.insert((number, key.clone()), Some(key));
                continue;
            }
            let entry = RowView::new(&entries[&number], &found);
            let owner = primary_key_in_entry(self.table, &self.table.indexes[number], &entry)?;
            unread.insert(owner.clone());
            known.owners.insert((number, key), Some(owner));
        }
        unread.retain(|key| !known.rows.contains_key(key));
        if unread.is_empty() || !self.needs_rows() {
            return Ok(());
        }
        let mut batch = context.batch();
        let read = |key: &Vec<u8>| read_exclusively(self.table, key.clone(), Columns::All);
        batch.ops = unread.iter().map(read).collect();
        let results = context.execute_batch(batch).await?;
        for (key, results) in unread.into_iter().zip(results) {
            if let Some(OpResult::Row(Some(found))) = results.into_iter().next() {
                known.rows.insert(key, found.0);
            }
        }
        Ok(())
    }
}

/// VALUES(column), and columns of the query that INSERT reads, are those of this row.
fn supply_new_values(context: &mut Context<'_>, change: &RowChange) {
    let Some(new) = &change.new else { return };
    let first = context.run.first_slot();
    for (position, slot) in context.run.plan.slots.iter().enumerate() {
        let value = match slot {
            Slot::NewValue { column } => &new.values[usize::from(*column)],
            Slot::SourceValue { position } => &new.source[usize::from(*position)],
            _ => continue,
        };
        context.run.params[first + position] = value.clone();
    }
}

/// Are all columns that users see the same?
fn is_same_row(table: &Table, old: &RowView<'_>, new: &[Value]) -> bool {
    owned_row(table, old)
        .iter()
        .zip(new)
        .zip(&table.columns)
        .all(|((old, new), column)| column.hidden || old == new)
}

fn read_exclusively(table: &Table, key: Vec<u8>, columns: Columns) -> Op {
    Op {
        table: table.id,
        version: table.version,
        kind: OpKind::Read { key: Bytes(key), lock: Lock::Exclusive, filter: None, columns },
    }
}
