//! FOREIGN KEY: a row's parents are there, and what becomes of a row's children.
//!
//! Child and parent meet at one lock. A writer of a child reads the key of its parent under a shared lock; a writer that takes that
//! key away from the parent holds an exclusive lock on it, and then reads the children as they are committed now. So one of two such
//! transactions waits for the other, at every isolation level, and sees its change. Neither locks a range.
//!
//! ```text
//! new row, or new values in the columns of a key    its parents are read under shared locks: 1452 if one is missing
//! row that goes, or gets another referenced key     RESTRICT, NO ACTION: 1451 if a child is there, before anything is written
//!                                                   CASCADE, SET NULL: its children change behind it, by writers of their own
//! ```
//!
//! With foreign_key_checks off nothing of this happens.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;

use client::{Columns, KeyRange, Lock, Op, OpKind, OpResult, Scan, ScanBatch, ScanOutput};
use types::wire::Bytes;
use types::{
    Catalogue, ForeignKey, Index, IndexKind, IndexPart, IndexState, ReferenceAction, RowLayout,
    RowView, Table, TableId, ValueRef, key,
};

use super::row_keys::{duplicate_error, unique_indexes, unique_key};
use super::{RowChange, Storing, TableWriter};
use crate::error::{SqlError, code};
use crate::execute::rows::{keys_at_once, owned_row};
use crate::execute::{Context, Failure};
use crate::server::BrokenRule;
use crate::show::create::foreign_key_text;

/// As in InnoDB.
const CASCADE_DEPTH_MAX: usize = 15;

/// The place of a foreign key, and the key of the parent; none where the parent's table is missing.
type WantedParent = (usize, Option<Vec<u8>>);

/// The foreign keys that a table's changes must respect.
#[derive(Default)]
pub(super) struct ForeignKeys {
    parents: Vec<ParentKey>,
    children: Vec<ChildKey>,
    /// What follows a row that is deleted may be other rows of the table.
    comes_back: bool,
}

/// A foreign key of the table that is written.
pub(super) struct ParentKey {
    key: ForeignKey,
    /// None: the parent is not there, or has no unique key of these columns, so that no row has a parent.
    target: Option<ParentTarget>,
    /// The parent is the table itself.
    is_own: bool,
}

/// Where the keys of parents are: the parent table itself, or the hidden table of one of its unique keys.
struct ParentTarget {
    physical: Arc<Table>,
    /// The column of the child for each part of the physical table's primary key.
    columns: Vec<u16>,
}

/// A foreign key of another table whose parent is the table that is written.
pub(super) struct ChildKey {
    key: ForeignKey,
    child: Arc<Table>,
    layout: RowLayout,
    /// Position of the child's index that begins with the columns of the key.
    index: usize,
    /// The column of the parent for each of these parts of the index.
    columns: Vec<u16>,
    /// The column of the parent for each column of the key, in the order of the key.
    referenced: Vec<u16>,
}

/// A change without the parent of a foreign key, by the key's place.
pub(super) struct Orphan {
    change: RowChange,
    place: usize,
}

/// What a change does to children, once it is written.
pub(super) struct Cascade {
    /// Position among the writer's children.
    child: usize,
    old: Vec<u8>,
    /// The parent's new row; None: it is deleted.
    new: Option<Vec<u8>>,
}

/// Is each of the columns of the key the same in both rows, byte for byte?
fn are_same(columns: &[u16], old: &RowView<'_>, new: &RowView<'_>) -> bool {
    columns.iter().all(|&column| old.get(usize::from(column)) == new.get(usize::from(column)))
}

impl ParentKey {
    fn of(catalogue: &Catalogue, table: &Table, key: &ForeignKey) -> ParentKey {
        let parent = catalogue.base_table(&key.parent_database, &key.parent_table);
        let target = parent.and_then(|parent| ParentTarget::of(catalogue, parent, key));
        let is_own = parent.is_some_and(|parent| parent.id == table.id);
        ParentKey { key: key.clone(), target, is_own }
    }
}

impl ParentTarget {
    fn of(catalogue: &Catalogue, parent: &Arc<Table>, key: &ForeignKey) -> Option<ParentTarget> {
        let index = referenced_index(parent, &key.parent_columns)?;
        let physical = match index.kind {
            IndexKind::Unique { entries } => catalogue.table_by_id(entries)?,
            IndexKind::Primary | IndexKind::Ordinary => parent,
        };
        let column = |part: &types::IndexPart| {
            let name = &parent.columns[usize::from(part.column)].name;
            let place = key.parent_columns.iter().position(|own| own.eq_ignore_ascii_case(name))?;
            Some(key.columns[place])
        };
        let columns = index.parts.iter().map(column).collect::<Option<Vec<u16>>>()?;
        Some(ParentTarget { physical: physical.clone(), columns })
    }
}

/// The key of a table that makes rows unique by just these columns.
pub fn referenced_index<'t>(table: &'t Table, columns: &[String]) -> Option<&'t Index> {
    table.indexes.iter().find(|index| {
        index.kind != IndexKind::Ordinary
            && index.state == IndexState::Public
            && index.parts.len() == columns.len()
            && index.parts.iter().all(|part| {
                let own = &table.columns[usize::from(part.column)];
                part.prefix.is_none()
                    && columns.iter().any(|column| column.eq_ignore_ascii_case(&own.name))
            })
    })
}

/// The position of an index of a table that begins with these columns in their order, as MySQL wants it for a new key.
pub fn leading_index_in_order(table: &Table, columns: &[u16]) -> Option<usize> {
    table.indexes.iter().position(|index| {
        let parts = index.parts.iter().map(|part| (part.column, part.prefix));
        index.state == IndexState::Public
            && columns.len() <= index.parts.len()
            && columns
                .iter()
                .map(|column| (*column, None))
                .zip(parts)
                .all(|(own, part)| own == part)
    })
}

/// Does a key with these parts serve as an index that was generated for a foreign key, which goes then?
pub fn replaces_generated(parts: &[IndexPart], index: &Index) -> bool {
    let is_same = |(own, part): (&IndexPart, &IndexPart)| {
        (own.column, own.prefix) == (part.column, part.prefix)
    };
    index.is_generated
        && index.parts.len() <= parts.len()
        && index.parts.iter().zip(parts).all(is_same)
}

/// The position of an index of a table that begins with these columns, in any order.
pub fn leading_index(table: &Table, columns: &[u16]) -> Option<usize> {
    table.indexes.iter().position(|index| {
        index.state == IndexState::Public
            && columns.len() <= index.parts.len()
            && index.parts[..columns.len()]
                .iter()
                .all(|part| part.prefix.is_none() && columns.contains(&part.column))
    })
}

impl ForeignKeys {
    /// Those that hold for changes of the table now.
    pub(super) fn of(context: &Context<'_>, table: &Arc<Table>) -> ForeignKeys {
        let constraints = &table.constraints;
        let has_none = constraints.foreign_keys.is_empty() && constraints.referenced_by.is_empty();
        if has_none || !context.settings().foreign_key_checks {
            return ForeignKeys::default();
        }
        let catalogue = context.catalogue();
        let own = constraints.foreign_keys.iter();
        let parents = own.map(|key| ParentKey::of(&catalogue, table, key)).collect();
        let references = constraints.referenced_by.iter();
        let children = references.filter_map(|reference| {
            let child = catalogue.table_by_id(reference.child)?;
            ChildKey::of(table, child, &reference.key)
        });
        let children = children.collect();
        ForeignKeys { parents, children, comes_back: comes_back(&catalogue, table) }
    }

    /// Rows of the table that a statement has found may be gone, or others, when it comes to delete them.
    pub(super) fn come_back(&self) -> bool {
        self.comes_back
    }

    /// Does the table reference itself, so that a row may be a parent of the next one?
    pub(super) fn have_own(&self) -> bool {
        self.parents.iter().any(|parent| parent.is_own)
    }
}

/// Do rows of the table change where others of its rows are deleted?
fn comes_back(catalogue: &Catalogue, table: &Table) -> bool {
    let mut reached: BTreeSet<TableId> = BTreeSet::new();
    let mut deleted: Vec<&Table> = vec![table];
    while let Some(parent) = deleted.pop() {
        for reference in &parent.constraints.referenced_by {
            match reference.key.on_delete {
                ReferenceAction::NoAction | ReferenceAction::Restrict => continue,
                ReferenceAction::Cascade | ReferenceAction::SetNull => {}
            }
            if reference.child == table.id {
                return true;
            }
            if reference.key.on_delete == ReferenceAction::Cascade
                && reached.insert(reference.child)
                && let Some(child) = catalogue.table_by_id(reference.child)
            {
                deleted.push(child);
            }
        }
    }
    false
}

impl ChildKey {
    fn of(parent: &Table, child: &Arc<Table>, key: &ForeignKey) -> Option<ChildKey> {
        let referenced: Option<Vec<u16>> = key
            .parent_columns
            .iter()
            .map(|name| parent.column_named(name).and_then(|column| u16::try_from(column).ok()))
            .collect();
        let referenced = referenced?;
        let index = leading_index(child, &key.columns)?;
        let columns = child.indexes[index].parts[..key.columns.len()].iter().map(|part| {
            let place = key.columns.iter().position(|own| *own == part.column);
            referenced[place.expect("the index begins with the key's columns")]
        });
        let columns = columns.collect();
        let layout = child.row_layout();
        Some(ChildKey {
            key: key.clone(),
            child: child.clone(),
            layout,
            index,
            columns,
            referenced,
        })
    }

    /// What the keys of children begin with; None: a row with a NULL among these has none.
    fn prefix(&self, parent: &RowView<'_>) -> Result<Option<Vec<u8>>, SqlError> {
        let values: Vec<ValueRef<'_>> =
            self.columns.iter().map(|column| parent.get(usize::from(*column))).collect();
        if values.iter().any(ValueRef::is_null) {
            return Ok(None);
        }
        let prefix = key::index_key_prefix(&self.child, &self.child.indexes[self.index], &values);
        prefix.map(Some).map_err(|_| super::key_too_long())
    }

    fn scan(&self, prefix: Vec<u8>, lock: Lock, limit: Option<u64>) -> Scan {
        Scan {
            index: self.child.indexes[self.index].id,
            ranges: vec![KeyRange::prefix(prefix)],
            reverse: false,
            filter: None,
            output: ScanOutput::Rows { columns: Columns::All, with_keys: false },
            limit,
            lock,
            semi_consistent: false,
            peek: false,
            resume: None,
            shard: None,
        }
    }

    /// Its children see a change from this row to that one.
    fn concerns(&self, old: &RowView<'_>, new: Option<&RowView<'_>>) -> bool {
        new.is_none_or(|new| !are_same(&self.referenced, old, new))
    }

    fn refusal(&self) -> SqlError {
        SqlError::new(
            code::ER_ROW_IS_REFERENCED_2,
            format!(
                "Cannot delete or update a parent row: a foreign key constraint fails (`{}`.`{}`, {})",
                self.child.database,
                self.child.name,
                foreign_key_text(&self.child, &self.key)
            ),
        )
    }
}

impl TableWriter<'_> {
    /// What becomes of children. As in InnoDB, an UPDATE that would come back to a table that it has changed is refused.
    fn action(&self, child: &ChildKey, is_deleted: bool) -> ReferenceAction {
        let own = child.child.id;
        match is_deleted {
            true => child.key.on_delete,
            false if own == self.table.id || self.above.contains(&own) => ReferenceAction::Restrict,
            false => child.key.on_update,
        }
    }

    /// The change as it is now: what the changes before it have done to the row is in it. None: the row is gone.
    pub(super) async fn up_to_date(
        &self,
        context: &mut Context<'_>,
        change: RowChange,
    ) -> Result<Option<RowChange>, Failure> {
        let Some(old) = change.old.as_ref().filter(|_| change.new.is_none()) else {
            return Ok(Some(change));
        };
        let key = key::primary_key_of_row(self.table, &RowView::new(self.layout, old));
        let mut batch = context.batch();
        batch.ops.push(Op {
            table: self.table.id,
            version: self.table.version,
            kind: OpKind::Read {
                key: Bytes(key.map_err(|_| super::key_too_long())?),
                lock: Lock::Exclusive,
                filter: None,
                columns: Columns::All,
            },
        });
        let results = context.execute_batch(batch).await?;
        Ok(match results.into_iter().flatten().next() {
            Some(OpResult::Row(Some(row))) => Some(RowChange { old: Some(row.0), ..change }),
            _ => None,
        })
    }

    pub(super) fn parents(&self) -> &[ParentKey] {
        self.foreign_keys.as_ref().map_or(&[], |keys| &keys.parents)
    }
    pub(super) fn children(&self) -> &[ChildKey] {
        self.foreign_keys.as_ref().map_or(&[], |keys| &keys.children)
    }

    /// Takes out the changes from the first one on that has no parent, which it returns; with IGNORE only that one.
    pub(super) async fn keep_those_with_parents(
        &mut self,
        context: &mut Context<'_>,
        changes: &mut Vec<RowChange>,
    ) -> Result<Option<Orphan>, Failure> {
        while let Some((position, place)) = self.missing_parent(context, changes).await? {
            let change = changes.remove(position);
            if !self.ignore {
                changes.truncate(position);
                return Ok(Some(Orphan { change, place }));
            }
            self.leave_out(context, self.no_parent(place))?;
        }
        Ok(None)
    }

    /// The failure of a change without a parent, when those before it are written. InnoDB checks key after key: a unique key before
    /// the index of the foreign key that another row has is the error.
    pub(super) async fn orphan_failure(
        &mut self,
        context: &mut Context<'_>,
        Orphan { change, place }: Orphan,
    ) -> Result<Failure, Failure> {
        let supporting = leading_index(self.table, &self.parents()[place].key.columns);
        let supporting = supporting.map(|position| self.table.indexes[position].id);
        // In the order in which they came, after those of the table's definition.
        let place_of = |id| self.table.indexes.iter().position(|index| Some(index.id) == id);
        let is_before = |index: &Index| match index.kind {
            // The rows themselves come first.
            IndexKind::Primary => Some(index.id) != supporting,
            _ => {
                supporting != Some(self.table.primary_key().id)
                    && place_of(Some(index.id)) < place_of(supporting)
            }
        };
        let new = RowView::new(self.layout, &change.encoded);
        let old = change.old.as_ref().map(|old| RowView::new(self.layout, old));
        for (_, index) in unique_indexes(self.table).filter(|(_, index)| is_before(index)) {
            let Some(key) = unique_key(self.table, index, &new) else { continue };
            let is_kept = old.as_ref().and_then(|old| unique_key(self.table, index, old));
            if is_kept.as_ref() != Some(&key) && self.is_taken(context, index, key).await? {
                return Ok(duplicate_error(self.table, index.id, &new).into());
            }
        }
        Ok(self.no_parent(place).into())
    }

    /// Has a row this key of a unique index?
    async fn is_taken(
        &self,
        context: &mut Context<'_>,
        index: &Index,
        key: Vec<u8>,
    ) -> Result<bool, Failure> {
        let catalogue = context.catalogue();
        let physical = match index.kind {
            IndexKind::Unique { entries } => catalogue.table_by_id(entries),
            IndexKind::Primary | IndexKind::Ordinary => Some(self.table),
        };
        let Some(physical) = physical else { return Ok(false) };
        let mut batch = context.batch();
        batch.ops.push(Op {
            table: physical.id,
            version: physical.version,
            kind: OpKind::Read {
                key: Bytes(key),
                lock: Lock::None,
                filter: None,
                columns: Columns::Only(Vec::new()),
            },
        });
        let results = context.execute_batch(batch).await?;
        Ok(matches!(results.into_iter().flatten().next(), Some(OpResult::Row(Some(_)))))
    }

    /// 1452.
    fn no_parent(&self, place: usize) -> SqlError {
        SqlError::no_parent(self.table, &self.parents()[place].key)
    }

    /// False: a parent is missing, and IGNORE leaves the change out.
    pub(super) async fn has_parents(
        &mut self,
        context: &mut Context<'_>,
        change: &RowChange,
    ) -> Result<bool, Failure> {
        match self.missing_parent(context, std::slice::from_ref(change)).await? {
            Some((_, place)) => self.leave_out(context, self.no_parent(place)),
            None => Ok(true),
        }
    }

    /// False: a child keeps the row, and IGNORE leaves the change out.
    pub(super) async fn is_free_of_children(
        &mut self,
        context: &mut Context<'_>,
        change: &RowChange,
    ) -> Result<bool, Failure> {
        match self.keeping_child(context, change).await? {
            Some(error) => self.leave_out(context, error),
            None => Ok(true),
        }
    }

    /// The keys of parents that a change must find.
    fn parent_keys(&self, change: &RowChange) -> Result<Vec<WantedParent>, SqlError> {
        let mut keys = Vec::new();
        if change.new.is_none() {
            return Ok(keys);
        }
        let new = RowView::new(self.layout, &change.encoded);
        let old = change.old.as_ref().map(|old| RowView::new(self.layout, old));
        // A row with another primary key is a new one, as in InnoDB.
        let own = self.table.primary_key().parts.iter().map(|part| part.column);
        let own: Vec<u16> = own.collect();
        let old = old.filter(|old| are_same(&own, old, &new));
        for (place, parent) in self.parents().iter().enumerate() {
            let is_kept = old.as_ref().is_some_and(|old| are_same(&parent.key.columns, old, &new));
            let has_null =
                parent.key.columns.iter().any(|column| new.is_null(usize::from(*column)));
            if is_kept || has_null {
                continue;
            }
            let Some(target) = &parent.target else {
                keys.push((place, None));
                continue;
            };
            let values: Vec<ValueRef<'_>> =
                target.columns.iter().map(|column| new.get(usize::from(*column))).collect();
            let key = key::primary_key_of_values(&target.physical, &values)
                .map_err(|_| super::key_too_long())?;
            keys.push((place, Some(key)));
        }
        Ok(keys)
    }

    /// The key of a new row as its own children would look for it.
    fn own_key(&self, place: usize, change: &RowChange) -> Option<Vec<u8>> {
        let parent = &self.parents()[place];
        if !parent.is_own || change.new.is_none() {
            return None;
        }
        let index = referenced_index(self.table, &parent.key.parent_columns)?;
        unique_key(self.table, index, &RowView::new(self.layout, &change.encoded))
    }

    /// Looks for the parents of these changes, and locks them. The first change without one, and the place of the foreign key.
    async fn missing_parent(
        &self,
        context: &mut Context<'_>,
        changes: &[RowChange],
    ) -> Result<Option<(usize, usize)>, Failure> {
        if self.parents().is_empty() {
            return Ok(None);
        }
        let mut wanted: BTreeSet<(usize, Vec<u8>)> = BTreeSet::new();
        let mut keys = Vec::with_capacity(changes.len());
        for change in changes {
            let is_unchecked = change.old.is_some() && context.breaks(BrokenRule::UpdatesUnchecked);
            let own = if is_unchecked { Vec::new() } else { self.parent_keys(change)? };
            let known = own.iter().filter_map(|(place, key)| Some((*place, key.clone()?)));
            wanted.extend(known);
            keys.push(own);
        }
        let missing = self.absent(context, wanted).await?;
        let mut written: BTreeSet<(usize, Vec<u8>)> = BTreeSet::new();
        for (number, (change, keys)) in changes.iter().zip(keys).enumerate() {
            // A row may be its own parent, or that of the rows behind it.
            let places = 0..self.parents().len();
            written.extend(places.filter_map(|place| Some((place, self.own_key(place, change)?))));
            for (place, key) in keys {
                let is_there = match key {
                    Some(key) => {
                        let key = (place, key);
                        !missing.contains(&key) || written.contains(&key)
                    }
                    None => false,
                };
                if !is_there {
                    return Ok(Some((number, place)));
                }
            }
        }
        Ok(None)
    }

    /// Those of these keys of parents that no row has. The others are locked.
    async fn absent(
        &self,
        context: &mut Context<'_>,
        wanted: BTreeSet<(usize, Vec<u8>)>,
    ) -> Result<BTreeSet<(usize, Vec<u8>)>, Failure> {
        let mut missing = BTreeSet::new();
        let mut wanted = wanted.into_iter().peekable();
        while wanted.peek().is_some() {
            let some: Vec<(usize, Vec<u8>)> =
                wanted.by_ref().take(keys_at_once(self.table)).collect();
            let lock = match context.breaks(BrokenRule::ParentsUnlocked) {
                true => Lock::None,
                false => Lock::Shared,
            };
            let mut batch = context.batch();
            for (place, key) in &some {
                let target = self.parents()[*place].target.as_ref();
                let physical = &target.expect("it made the key").physical;
                batch.ops.push(Op {
                    table: physical.id,
                    version: physical.version,
                    kind: OpKind::Read {
                        key: Bytes(key.clone()),
                        lock,
                        filter: None,
                        columns: Columns::Only(Vec::new()),
                    },
                });
            }
            let results = context.execute_batch(batch).await?;
            for (key, results) in some.into_iter().zip(results) {
                if !matches!(results[..], [OpResult::Row(Some(_))]) {
                    missing.insert(key);
                }
            }
        }
        Ok(missing)
    }

    /// The error of a child that keeps this change from being made.
    async fn keeping_child(
        &self,
        context: &mut Context<'_>,
        change: &RowChange,
    ) -> Result<Option<SqlError>, Failure> {
        let Some(old) = &change.old else { return Ok(None) };
        let old = RowView::new(self.layout, old);
        let new = change.new.as_ref().map(|_| RowView::new(self.layout, &change.encoded));
        for child in self.children() {
            let action = self.action(child, new.is_none());
            let keeps = matches!(action, ReferenceAction::NoAction | ReferenceAction::Restrict);
            if !keeps || !child.concerns(&old, new.as_ref()) {
                continue;
            }
            let Some(prefix) = child.prefix(&old)? else { continue };
            // A row that references itself keeps itself, as in InnoDB.
            let lock = match context.breaks(BrokenRule::ChildrenUnlocked) {
                true => Lock::None,
                false => Lock::Shared,
            };
            let scan = child.scan(prefix, lock, Some(1));
            let options = context.scan_options(&scan, false)?;
            let mut cursor = context.client().scan(&child.child, scan, options);
            loop {
                let next = cursor.next(context.client()).await;
                match next.map_err(|refusal| context.refused(refusal))? {
                    Some(ScanBatch::Rows(rows)) => {
                        if !rows.is_empty() {
                            return Ok(Some(child.refusal()));
                        }
                    }
                    Some(ScanBatch::Groups(_)) => unreachable!("rows were asked for"),
                    None => break,
                }
            }
        }
        Ok(None)
    }

    /// What the change does to children, for [`TableWriter::cascade`].
    pub(super) fn cascades_of(&self, change: &RowChange) -> Vec<Cascade> {
        let Some(old) = &change.old else { return Vec::new() };
        let view = RowView::new(self.layout, old);
        let new = change.new.as_ref().map(|_| RowView::new(self.layout, &change.encoded));
        let concerned = self.children().iter().enumerate().filter(|(_, child)| {
            let action = self.action(child, new.is_none());
            matches!(action, ReferenceAction::Cascade | ReferenceAction::SetNull)
                && child.concerns(&view, new.as_ref())
        });
        concerned
            .map(|(child, _)| Cascade {
                child,
                old: old.clone(),
                new: new.as_ref().map(|_| change.encoded.clone()),
            })
            .collect()
    }

    /// Changes the children of rows that have been written.
    pub(super) fn cascade<'c>(
        &'c self,
        context: &'c mut Context<'_>,
        cascades: Vec<Cascade>,
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + 'c>> {
        Box::pin(async move {
            if CASCADE_DEPTH_MAX <= self.above.len() {
                let message = format!(
                    "Foreign key cascade delete/update exceeds max depth of {CASCADE_DEPTH_MAX}."
                );
                return Err(SqlError::new(code::ER_FK_DEPTH_EXCEEDED, message).into());
            }
            if context.breaks(BrokenRule::CascadesForgotten) {
                return Ok(());
            }
            for cascade in cascades {
                self.cascade_to(context, &cascade).await?;
            }
            Ok(())
        })
    }

    async fn cascade_to(
        &self,
        context: &mut Context<'_>,
        cascade: &Cascade,
    ) -> Result<(), Failure> {
        let child = &self.children()[cascade.child];
        let old = RowView::new(self.layout, &cascade.old);
        let Some(prefix) = child.prefix(&old)? else { return Ok(()) };
        let scan = child.scan(prefix, Lock::Exclusive, None);
        let options = context.scan_options(&scan, false)?;
        // All are found before the first is changed.
        let mut cursor = context.client().scan(&child.child, scan, options);
        let mut found: Vec<Vec<u8>> = Vec::new();
        let mut held = context.account();
        loop {
            context.check_killed()?;
            let next = cursor.next(context.client()).await;
            match next.map_err(|refusal| context.refused(refusal))? {
                Some(ScanBatch::Rows(rows)) => {
                    held.take_checked(rows.rows.len())?;
                    found.extend((0..rows.len()).map(|row| rows.row(row).to_vec()));
                }
                Some(ScanBatch::Groups(_)) => unreachable!("rows were asked for"),
                None => break,
            }
        }
        let is_deleted = cascade.new.is_none();
        let cascades = self.action(child, is_deleted) == ReferenceAction::Cascade;
        let mut writer = TableWriter::new(&child.child, &child.layout, Storing::new(true, false));
        writer.above.clone_from(&self.above);
        writer.above.push(self.table.id);
        let new = cascade.new.as_ref().map(|new| RowView::new(self.layout, new));
        for old in found {
            let change = match (&new, cascades) {
                (None, true) => RowChange::delete(old),
                (new, _) => {
                    let mut values = owned_row(&child.child, &RowView::new(&child.layout, &old));
                    for (own, referenced) in child.key.columns.iter().zip(&child.referenced) {
                        let own = usize::from(*own);
                        let value = match new {
                            Some(new) if cascades => new.get(usize::from(*referenced)),
                            _ => ValueRef::Null,
                        };
                        if !child.child.columns[own].column_type.accepts(value) {
                            // The child's column is the shorter one.
                            return Err(child.refusal().into());
                        }
                        values[own] = value.to_value();
                    }
                    RowChange::update(old, values)
                }
            };
            writer.push(context, change).await?;
        }
        writer.flush(context, false).await
    }
}
