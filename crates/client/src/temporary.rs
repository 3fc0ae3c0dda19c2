//! Temporary tables: tables that one session sees, in its own memory (decision 32).
//!
//! Operations on them are those of any table, so everything above this crate works on both. The session takes them out of its
//! batches and executes them here, at once: no message, no lock and no log. What a transaction changes can be undone, by
//! statements, as its other changes are. A statement sees its own changes and those before it; there are no older versions.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use protocol::Refusal;
use protocol::evaluation::{
    Evaluator, ScanAnswer, assign, contained, passes, project, projection_of,
};
use protocol::op::{Batch, BatchResult, KeyRange, Op, OpKind, OpResult, Scan};
use protocol::schema::unique_entries_table;
use types::convert::EvalSettings;
use types::expr::EvalContext;
use types::key::index_entry_key;
use types::wire::{Bytes, Wire};
use types::{
    IndexId, IndexKind, IndexState, NodeId, Rewriting, RowLayout, RowView, ShardId, Table, TableId,
    TableState,
};

/// Rows that one operation reads before others of the worker have their turn, and bytes and groups of its answer. As in a shard.
const SCAN_ROWS_MAX: usize = 4_096;
const SCAN_BYTES_MAX: usize = 1 << 20;
const SCAN_GROUPS_MAX: usize = 16_384;
/// Bytes of rows and of what expressions worked on before a scan returns its results so far.
const SCAN_WORK_MAX: usize = 8 << 20;

/// What a row, an index entry or a change that can be undone takes besides its bytes: the node of a tree, and two vectors.
const ITEM_BYTES: usize = 64;
/// What a session may have in temporary tables until it sets a bound.
const BYTES_MAX_DEFAULT: usize = 256 << 20;

/// The ends of a range of keys.
type KeyBounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// The temporary tables of a session.
pub(crate) struct TemporaryTables {
    tables: BTreeMap<TableId, TemporaryTable>,
    /// The changes of the transaction, in their order.
    changes: Vec<Change>,
    /// Of rows, index entries and changes.
    bytes: usize,
    bytes_max: usize,
    number_last: u32,
    /// Where messages place the tables.
    node: NodeId,
}

struct TemporaryTable {
    definition: Arc<Table>,
    layout: RowLayout,
    /// By primary key.
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
    /// For each index but the primary key: the primary keys of its entries.
    indexes: BTreeMap<IndexId, BTreeMap<Vec<u8>, Vec<u8>>>,
    /// The next value of its AUTO_INCREMENT column, or of its hidden row numbers.
    sequence_next: u64,
}

/// A row as it was before a statement changed it.
struct Change {
    statement: u32,
    table: TableId,
    key: Vec<u8>,
    old: Option<Vec<u8>>,
}

impl Change {
    fn bytes(&self) -> usize {
        ITEM_BYTES + self.key.len() + self.old.as_ref().map_or(0, Vec::len)
    }
}

impl TemporaryTables {
    pub fn new(node: NodeId) -> TemporaryTables {
        TemporaryTables {
            tables: BTreeMap::new(),
            changes: Vec::new(),
            bytes: 0,
            bytes_max: BYTES_MAX_DEFAULT,
            number_last: 0,
            node,
        }
    }

    /// Bytes that rows, entries and changes of all tables may take together.
    pub fn set_bytes_max(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
    }

    pub fn definitions(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.values().map(|table| &table.definition)
    }

    pub fn row_count(&self, table: TableId) -> u64 {
        self.tables.get(&table).map_or(0, |table| table.rows.len() as u64)
    }

    /// Makes an empty table, and the tables of its unique keys, as the control plane makes those of all sessions.
    pub fn create(&mut self, mut definition: Table) -> Arc<Table> {
        definition.id = self.new_id();
        definition.state = TableState::Public;
        definition.rewriting = Rewriting::default();
        for (number, index) in (0u16..).zip(&mut definition.indexes) {
            index.id = IndexId(number);
            index.state = IndexState::Public;
        }
        for position in 0..definition.indexes.len() {
            if matches!(definition.indexes[position].kind, IndexKind::Unique { .. }) {
                let mut entries = unique_entries_table(&definition, &definition.indexes[position]);
                entries.id = self.new_id();
                definition.indexes[position].kind = IndexKind::Unique { entries: entries.id };
                self.add(Arc::new(entries));
            }
        }
        self.add(Arc::new(definition))
    }

    fn new_id(&mut self) -> TableId {
        loop {
            self.number_last = self.number_last.wrapping_add(1);
            let id = TableId::temporary(self.number_last);
            if !self.tables.contains_key(&id) {
                return id;
            }
        }
    }

    fn add(&mut self, definition: Arc<Table>) -> Arc<Table> {
        let start = definition.auto_increment.as_ref().map_or(1, |own| own.start.max(1));
        let secondary = definition.indexes.iter().skip(1);
        let table = TemporaryTable {
            layout: definition.row_layout(),
            rows: BTreeMap::new(),
            indexes: secondary.map(|index| (index.id, BTreeMap::new())).collect(),
            sequence_next: start,
            definition: Arc::clone(&definition),
        };
        self.tables.insert(definition.id, table);
        definition
    }

    /// Removes a table. Its changes cannot be undone any more: the definition is no part of a transaction.
    pub fn drop(&mut self, id: TableId) {
        for id in self.with_entries(id) {
            self.empty(id);
            self.tables.remove(&id);
        }
    }

    /// Removes all rows, beyond any transaction, and begins the sequence anew.
    pub fn truncate(&mut self, id: TableId) {
        for id in self.with_entries(id) {
            self.empty(id);
            if let Some(table) = self.tables.get_mut(&id) {
                table.sequence_next = 1;
            }
        }
    }

    /// Gives a table another definition with the same columns and keys.
    pub fn redefine(&mut self, definition: Table) -> Arc<Table> {
        let definition = Arc::new(definition);
        if let Some(table) = self.tables.get_mut(&definition.id) {
            table.definition = Arc::clone(&definition);
        }
        definition
    }

    fn with_entries(&self, id: TableId) -> Vec<TableId> {
        let mut ids = vec![id];
        if let Some(table) = self.tables.get(&id) {
            ids.extend(table.definition.indexes.iter().filter_map(|index| match index.kind {
                IndexKind::Unique { entries } => Some(entries),
                IndexKind::Primary | IndexKind::Ordinary => None,
            }));
        }
        ids
    }

    fn empty(&mut self, id: TableId) {
        let (mut kept, mut freed) = (Vec::new(), 0);
        for change in std::mem::take(&mut self.changes) {
            match change.table == id {
                true => freed += change.bytes(),
                false => kept.push(change),
            }
        }
        self.changes = kept;
        if let Some(table) = self.tables.get_mut(&id) {
            freed += table.clear();
        }
        self.bytes -= freed;
    }

    /// Reserves values of the table's sequence; returns the first.
    pub fn reserve(&mut self, table: TableId, count: u64) -> Option<u64> {
        let table = self.tables.get_mut(&table)?;
        let first = table.sequence_next;
        table.sequence_next = first.checked_add(count)?;
        Some(first)
    }

    /// The next value of the table's sequence.
    pub fn sequence_next(&self, table: TableId) -> u64 {
        self.tables.get(&table).map_or(1, |table| table.sequence_next)
    }

    /// Makes the next value of the table's sequence at least this one.
    pub fn raise(&mut self, table: TableId, next: u64) {
        if let Some(table) = self.tables.get_mut(&table) {
            table.sequence_next = table.sequence_next.max(next);
        }
    }

    /// Has the transaction changed a row?
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    /// What was changed stays.
    pub fn commit(&mut self) {
        let changes = std::mem::take(&mut self.changes);
        self.bytes -= changes.iter().map(Change::bytes).sum::<usize>();
    }

    /// Undoes the changes of statements from this one on.
    pub fn undo_to(&mut self, statement: u32) {
        while self.changes.last().is_some_and(|change| statement <= change.statement) {
            self.undo_last();
        }
    }

    pub fn rollback(&mut self) {
        while !self.changes.is_empty() {
            self.undo_last();
        }
    }

    fn undo_last(&mut self) {
        let Some(change) = self.changes.pop() else { return };
        self.bytes -= change.bytes();
        if let Some(table) = self.tables.get_mut(&change.table) {
            let (taken, freed) = table.put(change.key, change.old);
            self.bytes = self.bytes + taken - freed;
        }
    }

    /// Executes operations on temporary tables, each with its place in the batch: all, or none of their statement.
    pub fn execute(
        &mut self,
        batch: &Batch,
        ops: &[(usize, Op)],
        result: &mut BatchResult,
    ) -> Result<(), Refusal> {
        let mut evaluation = EvalContext::with(&batch.params, batch.settings);
        evaluation.keep_sets();
        for (position, op) in ops {
            match self.execute_op(batch, op, &mut evaluation) {
                Ok(done) => result.results[*position] = vec![done],
                Err(refusal) => {
                    self.undo_to(batch.statement);
                    return Err(refusal);
                }
            }
            evaluation.convert.warnings.move_to(&mut result.warnings);
        }
        Ok(())
    }

    fn execute_op(
        &mut self,
        batch: &Batch,
        op: &Op,
        evaluation: &mut EvalContext<'_>,
    ) -> Result<OpResult, Refusal> {
        let changed = Refusal::SchemaChanged { table: op.table };
        let table = self.tables.get(&op.table).ok_or(changed)?;
        match &op.kind {
            OpKind::Read { key, filter, columns, .. } => {
                let Some(row) = table.rows.get(&key.0) else { return Ok(OpResult::Row(None)) };
                let view = RowView::new(&table.layout, row);
                if !passes(filter.as_ref(), &view, evaluation)? {
                    return Ok(OpResult::Row(None));
                }
                Ok(OpResult::Row(Some(project(&view, columns)?)))
            }
            OpKind::Insert { key, row } => {
                if table.rows.contains_key(&key.0) {
                    return Err(Refusal::DuplicateKey { table: op.table, index: IndexId(0) });
                }
                self.write(op.table, &key.0, Some(row.0.clone()), batch.statement)?;
                Ok(OpResult::Done)
            }
            OpKind::Put { key, row } => {
                self.write(op.table, &key.0, Some(row.0.clone()), batch.statement)?;
                Ok(OpResult::Done)
            }
            OpKind::Update { key, filter, assignments, returning } => {
                let none = OpResult::Updated { matched: false, changed: false, row: None };
                let Some(old) = table.rows.get(&key.0) else { return Ok(none) };
                let view = RowView::new(&table.layout, old);
                if !passes(filter.as_ref(), &view, evaluation)? {
                    return Ok(none);
                }
                let EvalSettings { strict, .. } = batch.settings;
                let new = contained(|| {
                    assign(&table.definition, &view, assignments, strict, evaluation)
                })?;
                let Some(new) = new else {
                    let row = returning.then(|| Bytes(old.clone()));
                    return Ok(OpResult::Updated { matched: true, changed: false, row });
                };
                let row = returning.then(|| Bytes(new.clone()));
                self.write(op.table, &key.0, Some(new), batch.statement)?;
                Ok(OpResult::Updated { matched: true, changed: true, row })
            }
            OpKind::Delete { key, filter } => {
                let Some(old) = table.rows.get(&key.0) else { return Ok(OpResult::Deleted(false)) };
                let view = RowView::new(&table.layout, old);
                if !passes(filter.as_ref(), &view, evaluation)? {
                    return Ok(OpResult::Deleted(false));
                }
                self.write(op.table, &key.0, None, batch.statement)?;
                Ok(OpResult::Deleted(true))
            }
            OpKind::Scan(scan) => table.scan(scan, evaluation),
        }
    }

    fn write(
        &mut self,
        id: TableId,
        key: &[u8],
        row: Option<Vec<u8>>,
        statement: u32,
    ) -> Result<(), Refusal> {
        let table = self.tables.get_mut(&id).expect("looked up by the operation");
        let is_put = row.is_some();
        let change =
            Change { statement, table: id, key: key.to_vec(), old: table.rows.get(key).cloned() };
        let (taken, freed) = table.put(key.to_vec(), row);
        self.bytes = self.bytes + taken + change.bytes() - freed;
        self.changes.push(change);
        if is_put && self.bytes_max < self.bytes {
            // The caller undoes it with its statement. A deletion is not refused: it makes room.
            return Err(Refusal::MemoryFull { table: id, node: self.node });
        }
        Ok(())
    }
}

impl TemporaryTable {
    /// Puts or removes a row and its entries; the bytes that this takes and frees.
    fn put(&mut self, key: Vec<u8>, row: Option<Vec<u8>>) -> (usize, usize) {
        let (mut taken, mut freed) = (0, 0);
        if let Some(old) = self.rows.remove(&key) {
            freed += ITEM_BYTES + key.len() + old.len();
            for (index, entry) in self.entries(&old) {
                if let Some(own) = self.indexes.get_mut(&index)
                    && own.remove(&entry).is_some()
                {
                    freed += ITEM_BYTES + entry.len() + key.len();
                }
            }
        }
        if let Some(row) = row {
            for (index, entry) in self.entries(&row) {
                if let Some(own) = self.indexes.get_mut(&index) {
                    taken += ITEM_BYTES + entry.len() + key.len();
                    own.insert(entry, key.clone());
                }
            }
            taken += ITEM_BYTES + key.len() + row.len();
            self.rows.insert(key, row);
        }
        (taken, freed)
    }

    fn entries(&self, row: &[u8]) -> Vec<(IndexId, Vec<u8>)> {
        let view = RowView::new(&self.layout, row);
        let secondary = self.definition.indexes.iter().skip(1);
        let entry = |index: &types::Index| {
            let mut entry = Vec::new();
            index_entry_key(&self.definition, index, &view, &mut entry)
                .expect("keys are checked when their row is encoded");
            (index.id, entry)
        };
        secondary.map(entry).collect()
    }

    /// Removes all rows; the bytes that this frees.
    fn clear(&mut self) -> usize {
        let size = |items: &BTreeMap<Vec<u8>, Vec<u8>>| {
            items.iter().map(|(key, value)| ITEM_BYTES + key.len() + value.len()).sum::<usize>()
        };
        let freed = size(&self.rows) + self.indexes.values().map(size).sum::<usize>();
        self.rows.clear();
        self.indexes.values_mut().for_each(BTreeMap::clear);
        freed
    }

    fn scan(&self, scan: &Scan, evaluation: &mut EvalContext<'_>) -> Result<OpResult, Refusal> {
        let entries = match scan.index {
            IndexId(0) => None,
            index => Some(
                self.indexes
                    .get(&index)
                    .ok_or(Refusal::SchemaChanged { table: self.definition.id })?,
            ),
        };
        let (mut range_next, mut after) = match &scan.resume {
            None => (0, None),
            Some(resume) => <(u32, Option<Bytes>)>::from_bytes(resume)
                .map_err(|error| Refusal::LimitReached(format!("scan position: {error}")))?,
        };
        let projection = projection_of(scan, &self.layout);
        let mut evaluator = Evaluator::new(scan);
        let mut answer = ScanAnswer::new(scan, ShardId(0));
        let (mut visited, mut work) = (0, 0);
        let mut is_full = false;
        let range_count = u32::try_from(scan.ranges.len()).unwrap_or(u32::MAX);
        while range_next < range_count && !is_full {
            let position = if scan.reverse { range_count - 1 - range_next } else { range_next };
            let range = &scan.ranges[position as usize];
            let Some(bounds) = bounds_behind(range, after.as_ref(), scan.reverse) else {
                (range_next, after) = (range_next + 1, None);
                continue;
            };
            let mut walk = self.walk(entries, bounds, scan.reverse);
            is_full = loop {
                let Some((entry, row)) = walk.next() else { break false };
                let view = RowView::new(&self.layout, row);
                contained(|| {
                    if !evaluator.passes(&view, evaluation)? {
                        return Ok(());
                    }
                    if scan.peek {
                        answer.name(entry);
                        return Ok(());
                    }
                    let program = evaluator.program.as_mut();
                    answer.add(scan, &view, entry, projection.as_ref(), program, evaluation)
                })?;
                visited += 1;
                work += row.len() + evaluation.take_work();
                if visited >= SCAN_ROWS_MAX
                    || work >= SCAN_WORK_MAX
                    || answer.is_full(SCAN_BYTES_MAX, SCAN_GROUPS_MAX)
                    || answer.limit_reached(scan)
                {
                    after = Some(Bytes(entry.to_vec()));
                    break true;
                }
            };
            if !is_full {
                (range_next, after) = (range_next + 1, None);
                visited += 1;
                is_full = SCAN_ROWS_MAX <= visited && range_next < range_count;
            }
        }
        if let Some(program) = &evaluator.program {
            answer.flush(program)?;
        }
        let next =
            (is_full && !answer.limit_reached(scan)).then(|| Bytes((range_next, after).to_bytes()));
        Ok(answer.finish(next))
    }

    /// The entries in these bounds with their rows, in the order of the scan.
    fn walk<'t>(
        &'t self,
        entries: Option<&'t BTreeMap<Vec<u8>, Vec<u8>>>,
        bounds: KeyBounds,
        reverse: bool,
    ) -> Box<dyn Iterator<Item = (&'t [u8], &'t [u8])> + 't> {
        let direct = |(key, row): (&'t Vec<u8>, &'t Vec<u8>)| (key.as_slice(), row.as_slice());
        let by_entry = |(entry, key): (&'t Vec<u8>, &'t Vec<u8>)| {
            let row = self.rows.get(key).expect("an entry has a row");
            (entry.as_slice(), row.as_slice())
        };
        match (entries, reverse) {
            (None, false) => Box::new(self.rows.range(bounds).map(direct)),
            (None, true) => Box::new(self.rows.range(bounds).rev().map(direct)),
            (Some(entries), false) => Box::new(entries.range(bounds).map(by_entry)),
            (Some(entries), true) => Box::new(entries.range(bounds).rev().map(by_entry)),
        }
    }
}

/// The bounds of the rest of a range behind an entry; None if no key can be in them.
fn bounds_behind(range: &KeyRange, after: Option<&Bytes>, reverse: bool) -> Option<KeyBounds> {
    let (mut lower, mut upper) = (range.lower.clone(), range.upper.clone());
    if let Some(after) = after {
        let behind = Bound::Excluded(after.0.clone());
        if reverse { upper = behind } else { lower = behind }
    }
    // A tree panics on bounds that exclude all keys.
    let is_empty = match (&lower, &upper) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        (Bound::Included(lower), Bound::Included(upper)) => upper < lower,
        (Bound::Excluded(lower), Bound::Included(upper))
        | (Bound::Included(lower) | Bound::Excluded(lower), Bound::Excluded(upper)) => {
            upper <= lower
        }
    };
    (!is_empty).then_some((lower, upper))
}

#[cfg(test)]
mod tests {
    use protocol::op::{Columns, Lock, RowBatch, ScanOutput};
    use types::key::primary_key_of_row;
    use types::row::encode_row;
    use types::{
        Column, ColumnDefault, ColumnType, Index, IndexPart, IntWidth, SchemaVersion, ValueRef,
    };

    use super::*;

    /// Columns `id`, the primary key, and `k`, with an index.
    fn definition() -> Table {
        let column = |name: &str| Column {
            name: name.into(),
            column_type: ColumnType::Int { width: IntWidth::W8, unsigned: false },
            nullable: false,
            default: ColumnDefault::None,
            on_update_now: false,
            comment: String::new(),
            hidden: false,
            display: types::NumberDisplay::default(),
            generated: None,
            missing: None,
            is_dropped: false,
        };
        let index = |number: u16, kind| Index {
            id: IndexId(number),
            name: format!("i{number}"),
            kind,
            state: IndexState::Building,
            parts: vec![IndexPart { column: number, prefix: None, descending: false }],
            comment: String::new(),
            is_generated: false,
            algorithm: None,
        };
        Table {
            id: TableId(0),
            version: SchemaVersion(0),
            state: TableState::Public,
            database: "d".into(),
            name: "t".into(),
            columns: vec![column("id"), column("k")],
            indexes: vec![index(0, IndexKind::Primary), index(1, IndexKind::Ordinary)],
            collation: types::Collation::default(),
            comment: String::new(),
            engine: "InnoDB".into(),
            auto_increment: None,
            unique_of: None,
            constraints: types::Constraints::default(),
            rewriting: Rewriting::default(),
            closed_by: None,
            options: Vec::new(),
        }
    }

    struct World {
        tables: TemporaryTables,
        table: Arc<Table>,
        layout: RowLayout,
    }

    impl World {
        fn new() -> World {
            let mut tables = TemporaryTables::new(NodeId(2));
            let table = tables.create(definition());
            World { tables, layout: table.row_layout(), table }
        }

        fn row(&self, id: i64, k: i64) -> (Bytes, Bytes) {
            let row = encode_row(&self.layout, &[ValueRef::Int(id), ValueRef::Int(k)]);
            let row = row.expect("two numbers");
            let key = primary_key_of_row(&self.table, &RowView::new(&self.layout, &row));
            (Bytes(key.expect("a short key")), Bytes(row))
        }

        fn run(&mut self, statement: u32, kind: OpKind) -> Result<OpResult, Refusal> {
            let op = Op { table: self.table.id, version: self.table.version, kind };
            let batch = Batch { statement, ..Batch::default() };
            let mut result = BatchResult { results: vec![Vec::new()], ..BatchResult::default() };
            self.tables.execute(&batch, &[(0, op)], &mut result)?;
            Ok(result.results.remove(0).remove(0))
        }

        /// All rows in the order of an index, by scans that stop after a piece and go on.
        fn rows(&mut self, index: u16, reverse: bool, piece: u64) -> Vec<(i64, i64)> {
            let mut found = Vec::new();
            let mut ranges = vec![KeyRange::all()];
            loop {
                let scan = Scan {
                    index: IndexId(index),
                    ranges,
                    reverse,
                    filter: None,
                    output: ScanOutput::Rows { columns: Columns::All, with_keys: true },
                    limit: Some(piece),
                    lock: Lock::None,
                    semi_consistent: false,
                    peek: false,
                    resume: None,
                    shard: None,
                };
                let result = self.run(u32::MAX, OpKind::Scan(Box::new(scan)));
                let Ok(OpResult::Rows(batch)) = result else { panic!("rows were asked for") };
                found.extend((0..batch.len()).map(|position| self.values(&batch, position)));
                if (batch.len() as u64) < piece {
                    return found;
                }
                let last = batch.key(batch.len() - 1);
                ranges = crate::scan::ranges_behind(&[KeyRange::all()], last, reverse);
            }
        }

        fn values(&self, batch: &RowBatch, position: usize) -> (i64, i64) {
            let view = RowView::new(&self.layout, batch.row(position));
            match (view.get(0), view.get(1)) {
                (ValueRef::Int(id), ValueRef::Int(k)) => (id, k),
                other => panic!("{other:?} in columns of integers"),
            }
        }
    }

    /// Random writes, undone now and then by statement or all together, beside a map: both indexes have its rows in both
    /// directions, whatever the size of the pieces, and an empty table accounts for no byte.
    #[test]
    fn rows_are_those_of_a_model() {
        let mut random = 7_u64;
        let mut draw = |bound: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % bound
        };
        let mut world = World::new();
        let mut model: BTreeMap<i64, i64> = BTreeMap::new();
        // The model as it was before each statement of the transaction.
        let mut before: Vec<(u32, BTreeMap<i64, i64>)> = Vec::new();
        for statement in 1..4_000 {
            before.push((statement, model.clone()));
            let (id, k) = (draw(40) as i64, draw(9) as i64);
            let (key, row) = world.row(id, k);
            match draw(5) {
                0 | 1 => {
                    let put = world.run(statement, OpKind::Put { key, row });
                    assert!(matches!(put, Ok(OpResult::Done)));
                    model.insert(id, k);
                }
                2 => {
                    let inserted = world.run(statement, OpKind::Insert { key, row });
                    let is_taken = matches!(inserted, Err(Refusal::DuplicateKey { .. }));
                    assert_eq!(is_taken, model.contains_key(&id));
                    model.entry(id).or_insert(k);
                }
                3 => {
                    let deleted = world.run(statement, OpKind::Delete { key, filter: None });
                    let is_gone = matches!(deleted, Ok(OpResult::Deleted(true)));
                    assert_eq!(is_gone, model.remove(&id).is_some());
                }
                _ => {
                    let read = OpKind::Read {
                        key,
                        lock: Lock::Exclusive,
                        filter: None,
                        columns: Columns::All,
                    };
                    let read = world.run(statement, read);
                    let Ok(OpResult::Row(row)) = read else { panic!("a row was asked for") };
                    let own = model.get(&id).map(|k| world.row(id, *k).1);
                    assert_eq!(row, own);
                }
            }
            match draw(60) {
                0 => {
                    world.tables.commit();
                    before.clear();
                }
                1 => {
                    world.tables.rollback();
                    model = before.first().expect("a statement has begun").1.clone();
                    before.clear();
                }
                2..10 => {
                    let back = draw(before.len() as u64) as usize;
                    world.tables.undo_to(before[back].0);
                    model = before[back].1.clone();
                    before.truncate(back);
                }
                _ => {}
            }
            if draw(8) != 0 {
                continue;
            }
            let mut expected: Vec<(i64, i64)> = model.iter().map(|(id, k)| (*id, *k)).collect();
            let piece = 1 + draw(7);
            assert_eq!(world.rows(0, false, piece), expected);
            expected.sort_by_key(|(id, k)| (*k, *id));
            assert_eq!(world.rows(1, false, piece), expected);
            expected.reverse();
            assert_eq!(world.rows(1, true, piece), expected);
            assert_eq!(world.tables.row_count(world.table.id), expected.len() as u64);
        }
        assert!(0 < world.tables.bytes);
        world.tables.commit();
        world.tables.truncate(world.table.id);
        assert_eq!(world.tables.bytes, 0);
    }

    /// A write beyond the bound is refused and leaves nothing; a deletion never is.
    #[test]
    fn memory_is_bounded() {
        let mut world = World::new();
        world.tables.set_bytes_max(100_000);
        let mut written = 0;
        loop {
            let (key, row) = world.row(written, 0);
            match world.run(1 + written as u32, OpKind::Insert { key, row }) {
                Ok(_) => written += 1,
                Err(Refusal::MemoryFull { .. }) => break,
                Err(refusal) => panic!("{refusal:?}"),
            }
        }
        assert_eq!(world.tables.row_count(world.table.id), written as u64);
        world.tables.commit();
        for id in 0..written {
            let (key, _) = world.row(id, 0);
            world.run(u32::MAX, OpKind::Delete { key, filter: None }).expect("it makes room");
        }
        world.tables.rollback();
        assert_eq!(world.tables.row_count(world.table.id), written as u64);
        world.tables.drop(world.table.id);
        assert_eq!(world.tables.bytes, 0);
    }

    /// Ranges whose ends exclude all keys have no rows, and end no process.
    #[test]
    fn empty_ranges_have_no_rows() {
        let mut world = World::new();
        let (key, row) = world.row(5, 0);
        world.run(1, OpKind::Insert { key: key.clone(), row }).expect("the first row");
        let own = key.0;
        let mut higher = own.clone();
        higher.push(0);
        let ends = |own: &Vec<u8>| {
            [Bound::Included(own.clone()), Bound::Excluded(own.clone()), Bound::Unbounded]
        };
        let mut counts = Vec::new();
        for lower in [ends(&own), ends(&higher)].concat() {
            for upper in [ends(&own), ends(&higher)].concat() {
                let range = KeyRange { lower: lower.clone(), upper };
                let table = &world.tables.tables[&world.table.id];
                let bounds = bounds_behind(&range, None, false);
                counts.push(bounds.map_or(0, |bounds| table.walk(None, bounds, false).count()));
            }
        }
        // Lower ends that have the row: included, and none at all; upper ends: all but excluding it.
        assert_eq!(counts.iter().sum::<usize>(), 3 * 5, "{counts:?}");
    }
}
