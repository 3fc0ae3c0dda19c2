//! A partition against a model that keeps every version of every row for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use types::key::{index_entry_key, primary_key_of_row};
use types::row::encode_row;
use types::{
    Address, Collation, Column, ColumnDefault, ColumnType, Incarnation, IndexKind, IndexPart,
    IndexState, IntWidth, NodeId, NumberDisplay, SchemaVersion, TableId, TableState, ValueRef,
    WorkerId,
};

use super::*;
use crate::pool::{MemoryFull, PAGE_SIZE};
use crate::random::Random;

const ID: u16 = 0;
const K: u16 = 1;
const S: u16 = 2;

fn column(name: &str, column_type: ColumnType, nullable: bool) -> Column {
    Column {
        name: name.into(),
        column_type,
        nullable,
        default: ColumnDefault::None,
        on_update_now: false,
        comment: String::new(),
        hidden: false,
        display: NumberDisplay::default(),
        generated: None,
        missing: None,
        is_dropped: false,
    }
}
pub(super) fn index(id: u16, columns: &[(u16, bool)]) -> Index {
    let kind = if id == 0 { IndexKind::Primary } else { IndexKind::Ordinary };
    let parts = columns
        .iter()
        .map(|&(column, descending)| IndexPart { column, prefix: None, descending })
        .collect();
    let state = if id == 0 { IndexState::Public } else { IndexState::Building };
    let (name, comment) = (format!("i{id}"), String::new());
    Index {
        id: IndexId(id),
        name,
        kind,
        state,
        parts,
        comment,
        is_generated: false,
        algorithm: None,
    }
}
/// `t (id int primary key, k int, s varchar(700), pad mediumblob)` with the given secondary indexes.
pub(super) fn table(secondary: Vec<Index>) -> Arc<Table> {
    let int = ColumnType::Int { width: IntWidth::W4, unsigned: false };
    let text = ColumnType::Varchar { length: 700, collation: Collation::DEFAULT };
    let mut indexes = vec![index(0, &[(ID, false)])];
    indexes.extend(secondary);
    Arc::new(Table {
        id: TableId(7),
        version: SchemaVersion(1),
        state: TableState::Public,
        database: "d".into(),
        name: "t".into(),
        columns: vec![
            column("id", int.clone(), false),
            column("k", int, true),
            column("s", text, true),
            column("pad", ColumnType::Blob { bytes_max: (1 << 24) - 1 }, false),
        ],
        indexes,
        collation: Collation::DEFAULT,
        comment: String::new(),
        engine: "Skarv".into(),
        auto_increment: None,
        unique_of: None,
        constraints: types::Constraints::default(),
        rewriting: types::Rewriting::default(),
        closed_by: None,
        options: Vec::new(),
    })
}

type Row = Vec<u8>;

pub(super) fn make_row(table: &Table, id: i64, k: Option<i64>, s: Option<&str>, pad: &[u8]) -> Row {
    let values = [
        ValueRef::Int(id),
        k.map_or(ValueRef::Null, ValueRef::Int),
        s.map_or(ValueRef::Null, |s| ValueRef::Text(s, Collation::DEFAULT)),
        ValueRef::Bytes(pad),
    ];
    encode_row(&table.row_layout(), &values).expect("a row of the table's types")
}
pub(super) fn key_of_id(table: &Table, id: i64) -> Vec<u8> {
    let row = make_row(table, id, None, None, &[]);
    primary_key_of_row(table, &RowView::new(&table.row_layout(), &row)).expect("a short key")
}
fn transaction(sequence: u64) -> TransactionId {
    let coordinator = Address { node: NodeId(1), worker: WorkerId(0) };
    TransactionId { coordinator, incarnation: Incarnation(9), sequence }
}

/// A row as the model has it: all committed versions, oldest first, and the states of the pending one.
#[derive(Default, Clone)]
struct ModelRow {
    committed: Vec<(Timestamp, Option<Row>)>,
    pending: Option<(Pending, Option<Row>)>,
}

/// A write: its row, how to undo it, and the pending version before it.
type Done = (i64, Undo, Option<(Pending, Option<Row>)>);

enum Expected<'a> {
    Row(&'a Row),
    Absent,
    Undecided(TransactionId),
}

impl ModelRow {
    fn at(&self, at: Timestamp) -> Option<&(Timestamp, Option<Row>)> {
        self.committed.iter().rev().find(|(ts, _)| *ts <= at)
    }
    fn read(
        &self,
        at: Timestamp,
        reader: Option<TransactionId>,
    ) -> (Expected<'_>, Option<TransactionId>) {
        let mut passed = None;
        if let Some((pending, row)) = &self.pending {
            if reader == Some(pending.owner) {
                return (row.as_ref().map_or(Expected::Absent, Expected::Row), None);
            }
            match pending.phase {
                Phase::Active => passed = Some(pending.owner),
                Phase::Committing { lower_bound } if lower_bound <= at => {
                    return (Expected::Undecided(pending.owner), None);
                }
                Phase::Committing { .. } => {}
            }
        }
        let seen = self.at(at).and_then(|(_, row)| row.as_ref());
        (seen.map_or(Expected::Absent, Expected::Row), passed)
    }
    fn newest(&self) -> Option<Timestamp> {
        self.committed.last().map(|(ts, _)| *ts)
    }
}

struct World {
    pool: Arc<PagePool>,
    table: Arc<Table>,
    partition: Partition,
    model: BTreeMap<i64, ModelRow>,
    /// Undo entries of each open transaction with the pending state before.
    open: BTreeMap<TransactionId, Vec<Done>>,
    random: Random,
    now: u64,
    horizon: Timestamp,
    sequence: u64,
    id_count: u64,
    pad_max: u64,
}

impl World {
    fn new(seed: u64, secondary: Vec<Index>, id_count: u64, pad_max: u64) -> World {
        let pool = PagePool::new(1 << 30);
        let table = table(secondary);
        World {
            partition: Partition::new(Arc::clone(&table), Arc::clone(&pool)),
            pool,
            table,
            model: BTreeMap::new(),
            open: BTreeMap::new(),
            random: Random(seed),
            now: 10,
            horizon: Timestamp::ZERO,
            sequence: 0,
            id_count,
            pad_max,
        }
    }

    fn random_id(&mut self) -> i64 {
        self.random.below(self.id_count) as i64 - 3
    }
    fn random_row(&mut self, id: i64) -> Option<Row> {
        if self.random.chance(25) {
            return None;
        }
        let k = (!self.random.chance(10)).then(|| self.random.below(4) as i64);
        let s = ["", "a", "A", "bb", "straße"][self.random.below(5) as usize];
        // Some keys are too long for a node, and differ only behind what it holds of them.
        let long = "xy".repeat(330) + s;
        let s = if self.random.chance(10) { &long } else { s };
        let s = (!self.random.chance(10)).then_some(s);
        let pad_max = if self.random.chance(3) { 9000 } else { self.pad_max };
        let pad = vec![self.random.next() as u8; self.random.below(pad_max) as usize];
        Some(make_row(&self.table, id, k, s, &pad))
    }
    fn random_at(&mut self) -> Timestamp {
        match self.random.below(4) {
            0 => Timestamp::MAX,
            _ => {
                let span = self.now + 3 - self.horizon.0;
                Timestamp(self.horizon.0 + self.random.below(span))
            }
        }
    }
    fn random_open(&mut self) -> Option<TransactionId> {
        let at = self.random.below(self.open.len().max(1) as u64) as usize;
        self.open.keys().nth(at).copied()
    }
    fn handle(&self, id: i64) -> RowHandle {
        self.partition.find(&key_of_id(&self.table, id)).expect("the row is there")
    }
    fn written(&self, owner: TransactionId) -> Vec<i64> {
        let is_own = |row: &&ModelRow| row.pending.as_ref().is_some_and(|(p, _)| p.owner == owner);
        self.model.iter().filter(|(_, row)| is_own(row)).map(|(&id, _)| id).collect()
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0..=44 => self.write(),
            45..=51 => self.undo(),
            52..=57 => self.change_phase(),
            58..=68 => self.finish(),
            69..=76 => self.apply_committed(),
            77..=79 => self.apply_prepared(),
            80..=85 => self.prune(),
            86..=87 => self.alter_or_build(),
            88 => self.discard(),
            89..=94 => self.check_row(),
            _ => self.check_scan(),
        }
    }

    fn write(&mut self) {
        if self.open.len() < 4 && self.random.chance(30) {
            self.sequence += 1;
            self.open.insert(transaction(self.sequence), Vec::new());
        }
        let Some(owner) = self.random_open() else { return };
        let id = self.random_id();
        let row = self.random_row(id);
        let model = self.model.entry(id).or_default();
        let before = model.pending.clone();
        if before.as_ref().is_some_and(|(pending, _)| pending.owner != owner) {
            return;
        }
        let statement = self.random.below(3) as u32;
        let change = row.as_deref().map_or(RowChange::Delete, RowChange::Put);
        let key = key_of_id(&self.table, id);
        let outcome = self.partition.write(&key, change, owner, statement).expect("memory");
        assert_eq!(self.partition.key_of(outcome.row), key);
        assert_eq!(outcome.first, before.is_none());
        let state = Pending { owner, statement, phase: Phase::Active };
        assert_eq!(self.partition.state(outcome.row).pending, Some(state));
        model.pending = Some((state, row));
        self.open.get_mut(&owner).expect("open").push((id, outcome.undo, before));
    }

    fn undo(&mut self) {
        let Some(owner) = self.random_open() else { return };
        let count = self.random.below(4);
        for _ in 0..count {
            let Some((id, undo, mut before)) = self.open.get_mut(&owner).expect("open").pop()
            else {
                return;
            };
            self.partition.undo(undo);
            let model = self.model.get_mut(&id).expect("it was written");
            // The phase is the row's, not the write's.
            let phase = model.pending.as_ref().expect("pending").0.phase;
            if let Some((pending, _)) = &mut before {
                pending.phase = phase;
            }
            model.pending = before;
        }
    }

    fn change_phase(&mut self) {
        let Some(owner) = self.random_open() else { return };
        let phase = match self.random.below(3) {
            0 => Phase::Active,
            1 => Phase::Committing { lower_bound: Timestamp::ZERO },
            _ => Phase::Committing { lower_bound: Timestamp(self.now + self.random.below(4)) },
        };
        for id in self.written(owner) {
            let row = self.handle(id);
            match phase {
                Phase::Active => self.partition.set_active(row),
                Phase::Committing { lower_bound } => {
                    self.partition.set_committing(row, Some(lower_bound));
                }
            }
            let model = self.model.get_mut(&id).expect("written");
            model.pending.as_mut().expect("pending").0.phase = phase;
        }
    }

    fn finish(&mut self) {
        let Some(owner) = self.random_open() else { return };
        self.open.remove(&owner);
        let commits = self.random.chance(70);
        self.now += 1 + self.random.below(3);
        let ts = Timestamp(self.now);
        for id in self.written(owner) {
            let row = self.handle(id);
            let model = self.model.get_mut(&id).expect("written");
            let (_, written) = model.pending.take().expect("pending");
            if commits {
                self.partition.commit(row, ts, self.horizon);
                model.committed.push((ts, written));
            } else {
                self.partition.abort(row);
            }
        }
    }

    fn apply_committed(&mut self) {
        let id = self.random_id();
        let row = self.random_row(id);
        let model = self.model.entry(id).or_default();
        self.now += 1;
        let mut ts = Timestamp(self.now);
        let live = model.committed.last().is_some_and(|(_, row)| row.is_some());
        // A deletion below the horizon may be forgotten, so only live rows surely refuse what is old.
        if live && self.random.chance(30) {
            ts = Timestamp(self.random.below(model.newest().expect("live").0 + 1));
        }
        let change = row.as_deref().map_or(RowChange::Delete, RowChange::Put);
        let key = key_of_id(&self.table, id);
        let is_new = model.newest().is_none_or(|newest| newest < ts);
        assert_eq!(self.partition.apply_committed(&key, change, ts, self.horizon), is_new);
        if is_new {
            model.committed.push((ts, row));
        }
    }

    fn apply_prepared(&mut self) {
        let id = self.random_id();
        let row = self.random_row(id);
        let model = self.model.entry(id).or_default();
        if model.pending.is_some() {
            return;
        }
        self.sequence += 1;
        let owner = transaction(self.sequence);
        let change = row.as_deref().map_or(RowChange::Delete, RowChange::Put);
        let key = key_of_id(&self.table, id);
        let lower_bound = self.random.chance(50).then_some(Timestamp(self.now));
        self.partition.apply_prepared(&key, change, owner, lower_bound);
        let phase = Phase::Committing { lower_bound: lower_bound.unwrap_or(Timestamp::ZERO) };
        model.pending = Some((Pending { owner, statement: 0, phase }, row));
        self.open.insert(owner, Vec::new());
    }

    /// As if the row had never been.
    fn discard(&mut self) {
        let id = self.random_id();
        let Some(row) = self.partition.find(&key_of_id(&self.table, id)) else { return };
        if self.partition.state(row).pending.is_none() {
            self.partition.discard(row);
            self.model.remove(&id);
        }
    }

    fn prune(&mut self) {
        if self.random.chance(50) {
            let raised = self.horizon.0 + self.random.below(self.now + 1 - self.horizon.0);
            self.horizon = Timestamp(raised);
        }
        let budget = 1 + self.random.below(5) as usize;
        while self.partition.prune(self.horizon, budget) != 0 && self.random.chance(80) {}
    }

    fn alter_or_build(&mut self) {
        let building: Vec<IndexId> = self
            .table
            .indexes
            .iter()
            .map(|index| index.id)
            .filter(|&id| !self.partition.is_built(id) && !self.partition.is_given_up(id))
            .collect();
        if let Some(&id) = building.first() {
            if self.random.chance(5) {
                self.partition.give_up_build(id);
                assert!(self.partition.is_given_up(id) && !self.partition.is_built(id));
                return;
            }
            let rows_max = 1 + self.random.below(5) as usize;
            let progress = self.partition.build_step(id, rows_max).expect("memory");
            assert!(progress.rows <= rows_max);
            assert_eq!(progress.done, self.partition.is_built(id));
            return;
        }
        if !self.random.chance(10) {
            return;
        }
        let mut table = Table::clone(&self.table);
        let shapes: [&[(u16, bool)]; 3] = [&[(K, false)], &[(S, true), (K, false)], &[(S, false)]];
        if 2 < table.indexes.len() || (1 < table.indexes.len() && self.random.chance(40)) {
            let at = 1 + self.random.below(table.indexes.len() as u64 - 1) as usize;
            let id = table.indexes.remove(at).id;
            if self.random.chance(50) {
                // Who has not heard of a change in between meets another index by the same number.
                table.indexes.push(index(id.0, shapes[self.random.below(3) as usize]));
            }
        } else {
            let id = table.indexes.iter().map(|index| index.id.0).max().expect("a primary key") + 1;
            table.indexes.push(index(id, shapes[self.random.below(3) as usize]));
        }
        self.table = Arc::new(table);
        self.partition.alter(Arc::clone(&self.table));
    }

    fn check_row(&mut self) {
        let id = self.random_id();
        let (at, reader) = (self.random_at(), self.random_open());
        let empty = ModelRow::default();
        let model = self.model.get(&id).unwrap_or(&empty);
        let key = key_of_id(&self.table, id);
        let (expected, passed) = model.read(at, reader);
        let visible = self.partition.get(&key, at, reader);
        match (&expected, &visible) {
            (Expected::Row(row), Visible::Row(got)) => assert_eq!(got[..], row[..]),
            (Expected::Absent, Visible::Absent) => {}
            (Expected::Undecided(owner), Visible::Undecided(got)) => assert_eq!(owner, got),
            (_, got) => panic!("row {id} at {at:?} for {reader:?}: {got:?}"),
        }
        let Some(row) = self.partition.find(&key) else {
            assert!(model.pending.is_none());
            return;
        };
        assert_eq!(self.partition.read(row, at, reader).passed, passed);
        let state = self.partition.state(row);
        assert_eq!(state.pending, model.pending.as_ref().map(|(pending, _)| *pending));
        let pending = model.pending.as_ref().map(|(_, row)| row.as_deref());
        let got = match self.partition.pending_row(row) {
            None => None,
            Some(PendingRow::Delete) => Some(None),
            Some(PendingRow::Put(row)) => Some(Some(row.into_owned())),
        };
        assert_eq!(got.as_ref().map(|row| row.as_deref()), pending);
        if let Some((ts, Some(row_at))) = model.at(at) {
            let got = self.partition.committed_at(row, at).expect("a version");
            assert_eq!((got.ts, got.row.as_deref()), (*ts, Some(&row_at[..])));
        }
    }

    fn check_scan(&mut self) {
        let built: Vec<usize> = (0..self.table.indexes.len())
            .filter(|&at| self.partition.is_built(self.table.indexes[at].id))
            .collect();
        let index =
            self.table.indexes[built[self.random.below(built.len() as u64) as usize]].clone();
        let (at, reader) = (self.random_at(), self.random_open());
        let layout = self.table.row_layout();
        let entry = |row: &Row| {
            let mut key = Vec::new();
            index_entry_key(&self.table, &index, &RowView::new(&layout, row), &mut key)
                .expect("a short key");
            key
        };
        // What is there, under which key; and whom the reader must hear of, with the keys of that row's versions.
        let mut expected: BTreeMap<Vec<u8>, &Row> = BTreeMap::new();
        let mut passed: BTreeSet<(Vec<u8>, TransactionId)> = BTreeSet::new();
        let mut undecided: BTreeSet<(Vec<u8>, TransactionId)> = BTreeSet::new();
        let mut keys: BTreeSet<Vec<u8>> = BTreeSet::new();
        for model in self.model.values() {
            let (seen, passed_by) = model.read(at, reader);
            let pending = model.pending.as_ref().and_then(|(_, row)| row.as_ref());
            if let Expected::Row(row) = seen {
                expected.insert(entry(row), row);
            }
            if let Expected::Undecided(owner) = seen {
                let newest = model.at(at).and_then(|(_, row)| row.as_ref());
                for row in pending.into_iter().chain(newest) {
                    undecided.insert((entry(row), owner));
                }
            }
            if let (Some(owner), Some(row)) = (passed_by, pending) {
                passed.insert((entry(row), owner));
            }
            keys.extend(
                pending
                    .into_iter()
                    .chain(model.committed.iter().filter_map(|(_, r)| r.as_ref()))
                    .map(&entry),
            );
        }
        let bound = |random: &mut Random| {
            let place = random.below(keys.len().max(1) as u64) as usize;
            match (keys.iter().nth(place), random.below(3)) {
                (None, _) | (_, 0) => Bound::Unbounded,
                (Some(key), 1) => Bound::Included(key.clone()),
                (Some(key), _) => Bound::Excluded(key[..key.len() - 1].to_vec()),
            }
        };
        let range = KeyRange { lower: bound(&mut self.random), upper: bound(&mut self.random) };
        let within = |key: &Vec<u8>| {
            (match &range.lower {
                Bound::Unbounded => true,
                Bound::Included(lower) => lower <= key,
                Bound::Excluded(lower) => lower < key,
            }) && (match &range.upper {
                Bound::Unbounded => true,
                Bound::Included(upper) => key <= upper,
                Bound::Excluded(upper) => key < upper,
            })
        };
        let direction =
            if self.random.chance(50) { Direction::Forward } else { Direction::Backward };
        let mut found: Vec<(Vec<u8>, Row)> = Vec::new();
        let mut after: Option<Vec<u8>> = None;
        loop {
            // Some scans stop and go on from the last key.
            let batch =
                if self.random.chance(50) { usize::MAX } else { 1 + self.random.below(4) as usize };
            let mut scan = self.partition.scan(index.id, &range, direction, after.as_deref());
            let mut count = 0;
            while count < batch
                && let Some(item) = scan.next_visible(at, reader)
            {
                count += 1;
                assert!(within(&item.key.to_vec()));
                if let Some(owner) = item.read.passed {
                    passed.remove(&(item.key.to_vec(), owner));
                }
                match item.read.visible {
                    Visible::Row(row) => {
                        assert!(self.partition.entry_is_current(index.id, item.key, &row));
                        found.push((item.key.to_vec(), row.into_owned()));
                    }
                    // Of an active version, or one of many that are not there.
                    Visible::Absent => {}
                    Visible::Undecided(owner) => {
                        undecided.remove(&(item.key.to_vec(), owner));
                    }
                }
                after = Some(item.key.to_vec());
            }
            if count < batch {
                break;
            }
        }
        let mut rows: Vec<(Vec<u8>, Row)> = expected
            .into_iter()
            .filter(|(key, _)| within(key))
            .map(|(key, row)| (key, row.clone()))
            .collect();
        if direction == Direction::Backward {
            rows.reverse();
        }
        assert!(
            found == rows,
            "index {:?} at {at:?}: {} rows, not {}",
            index.id,
            found.len(),
            rows.len()
        );
        passed.retain(|(key, _)| within(key));
        assert!(passed.is_empty(), "not told of {passed:?}");
        undecided.retain(|(key, _)| within(key));
        assert!(undecided.is_empty(), "not told of {undecided:?}");
    }

    fn check_all(&self) {
        self.partition.check_indexes().expect("sound indexes");
        let is_live = |row: &&ModelRow| row.committed.last().is_some_and(|(_, row)| row.is_some());
        let live = self.model.values().filter(is_live).count();
        assert_eq!(self.partition.row_count(), live as u64);
        let pending = self.model.values().filter(|row| row.pending.is_some()).count();
        assert_eq!(self.partition.pending_count(), pending);
        assert!(self.pool.used() <= self.partition.memory_bytes());
    }

    /// The checksum is that of a partition into which the newest rows were put at once, in another order.
    fn check_checksum(&self) {
        let mut fresh = Partition::new(table(vec![]), Arc::clone(&self.pool));
        for (&id, model) in self.model.iter().rev() {
            if let Some((ts, Some(row))) = model.committed.last() {
                let key = key_of_id(&self.table, id);
                assert!(fresh.apply_committed(&key, RowChange::Put(row), *ts, Timestamp::ZERO));
            }
        }
        assert_eq!(fresh.checksum(), self.partition.checksum());
        if let Some((&id, _)) = self
            .model
            .iter()
            .find(|(_, model)| model.committed.last().is_some_and(|(_, row)| row.is_some()))
        {
            let key = key_of_id(&self.table, id);
            assert!(fresh.apply_committed(&key, RowChange::Delete, Timestamp::MAX, Timestamp::MAX));
            assert_ne!(fresh.checksum(), self.partition.checksum());
        }
    }

    /// Ends all transactions, deletes everything, and sees every page go.
    fn empty(&mut self) {
        while !self.open.is_empty() {
            self.finish();
        }
        for (id, model) in std::mem::take(&mut self.model) {
            if model.committed.last().is_some_and(|(_, row)| row.is_some()) {
                self.now += 1;
                let (key, owner) = (key_of_id(&self.table, id), transaction(u64::MAX));
                let outcome =
                    self.partition.write(&key, RowChange::Delete, owner, 0).expect("memory");
                self.partition.commit(outcome.row, Timestamp(self.now), self.horizon);
            }
        }
        self.partition.check_indexes().expect("sound indexes");
        assert_eq!(self.partition.row_count(), 0);
        while self.partition.prune(Timestamp(self.now), 100) != 0 {}
        self.partition.check_indexes().expect("sound indexes");
        assert_eq!(self.partition.prunable(), 0);
        assert_eq!(self.pool.used(), 0);
        assert_eq!(self.partition.memory_bytes(), 0);
    }
}

/// Random writes, undos, commits, aborts, replica applies, pruning and index changes: every read and scan sees what the model
/// says at every timestamp not below the horizon, indexes are exact throughout, and all memory comes back.
#[test]
fn partition_against_a_model() {
    for seed in 0..24 {
        let secondary = match seed % 3 {
            0 => vec![],
            1 => vec![index(1, &[(K, false)])],
            _ => vec![index(1, &[(S, false), (K, true)]), index(2, &[(K, false)])],
        };
        let (id_count, pad_max) = [(6, 30), (40, 300), (300, 60), (25, 1500)][seed as usize % 4];
        let mut world = World::new(seed, secondary, id_count, pad_max);
        for step in 0..4000 {
            world.step();
            if step % 200 == 0 {
                world.check_all();
            }
        }
        world.check_all();
        world.check_checksum();
        if seed % 2 == 0 {
            world.empty();
        } else {
            world.partition.clear();
            world.partition.check_indexes().expect("sound indexes");
            assert_eq!(world.pool.used(), 0);
        }
    }
}

/// In a pool that is too small, refused writes leave everything as it was; deletions, aborts, commits and applies are never refused.
#[test]
fn refused_writes_change_nothing() {
    let pool = PagePool::new(60 * PAGE_SIZE as u64);
    let table = table(vec![index(1, &[(K, false)]), index(2, &[(S, false)])]);
    let mut partition = Partition::new(Arc::clone(&table), Arc::clone(&pool));
    let mut random = Random(5);
    let owner = transaction(1);
    let mut written = BTreeMap::new();
    let mut refused = 0;
    while refused < 200 {
        let id = random.below(1_000_000) as i64;
        let pad = vec![3; random.below(3000) as usize];
        let row = make_row(&table, id, Some(random.below(50) as i64), Some("text"), &pad);
        let key = key_of_id(&table, id);
        let before = (partition.memory_bytes(), pool.used(), partition.pending_count());
        match partition.write(&key, RowChange::Put(&row), owner, 1) {
            Ok(outcome) => {
                written.insert(id, outcome.row);
            }
            Err(MemoryFull) => {
                refused += 1;
                assert_eq!(
                    before,
                    (partition.memory_bytes(), pool.used(), partition.pending_count())
                );
            }
        }
    }
    partition.check_indexes().expect("sound indexes");
    // Of the sixty 54 are for every write, and one more for those that fit a hole.
    assert!(pool.used() <= 55 * PAGE_SIZE as u64);
    assert!(50 * PAGE_SIZE as u64 <= pool.used());
    for &row in written.values() {
        partition.commit(row, Timestamp(10), Timestamp::ZERO);
    }
    // No version can go (the horizon is below), and still all can be deleted.
    let mut deleted = Vec::new();
    for &id in written.keys() {
        let outcome = partition.write(&key_of_id(&table, id), RowChange::Delete, owner, 2);
        deleted.push(outcome.expect("a deletion").row);
    }
    let full = make_row(&table, -1, Some(1), Some("full"), &vec![1; 100_000]);
    assert!(partition.apply_committed(
        &key_of_id(&table, -1),
        RowChange::Put(&full),
        Timestamp(11),
        Timestamp::ZERO
    ));
    for row in deleted {
        partition.commit(row, Timestamp(12), Timestamp::ZERO);
    }
    partition.check_indexes().expect("sound indexes");
    while partition.prune(Timestamp::MAX, 10) != 0 {}
    partition.apply_committed(
        &key_of_id(&table, -1),
        RowChange::Delete,
        Timestamp(20),
        Timestamp::MAX,
    );
    assert_eq!(pool.used(), 0);
}

/// All rows of a full table can be deleted in one transaction, which takes little more, rolled back, and deleted for good; short rows, and
/// such as are cut into segments.
#[test]
fn a_full_table_can_be_emptied_at_once() {
    for pad in [30, 300, 5_000] {
        let pool = PagePool::new(200 * PAGE_SIZE as u64);
        let table = table(vec![index(1, &[(K, false)])]);
        let mut partition = Partition::new(Arc::clone(&table), Arc::clone(&pool));
        let mut rows = Vec::new();
        for id in 0.. {
            let row = make_row(&table, id, Some(id % 1000), Some("text"), &vec![3; pad]);
            let key = key_of_id(&table, id);
            let Ok(outcome) = partition.write(&key, RowChange::Put(&row), transaction(1), 1) else {
                break;
            };
            partition.commit(outcome.row, Timestamp(10), Timestamp(10));
            rows.push((key, row));
        }
        let (before, checksum) = (pool.used(), partition.checksum());
        let delete_all = |partition: &mut Partition| -> Vec<RowHandle> {
            let delete = |(key, _): &(Vec<u8>, Row)| {
                partition.write(key, RowChange::Delete, transaction(2), 1).expect("deleted").row
            };
            rows.iter().map(delete).collect()
        };
        for handle in delete_all(&mut partition) {
            partition.abort(handle);
        }
        assert_eq!(partition.checksum(), checksum);
        let deleted = delete_all(&mut partition);
        let most = rows.len() as u64 * 25 + 2 * PAGE_SIZE as u64;
        assert!(pool.used() - before <= most, "{} for {} rows", pool.used() - before, rows.len());
        for handle in deleted {
            partition.commit(handle, Timestamp(20), Timestamp(10));
        }
        partition.check_indexes().expect("sound indexes");
        while partition.prune(Timestamp(20), 100) != 0 {}
        assert_eq!(pool.used(), 0);
    }
}

/// A table whose rows came in no order is full, and a fifth of them is deleted: in every block some are left, so no page comes back.
/// Rows can be written again all the same, nearly as many.
#[test]
fn room_between_rows_is_used_again() {
    let pool = PagePool::new(200 * PAGE_SIZE as u64);
    let table = table(vec![index(1, &[(K, false)])]);
    let mut partition = Partition::new(Arc::clone(&table), Arc::clone(&pool));
    let mut random = Random(7);
    let mut ts = 0;
    let mut insert_until_full = |partition: &mut Partition| {
        let mut written = Vec::new();
        loop {
            let id = random.below(1 << 30) as i64;
            let row = make_row(&table, id, Some(id % 1000), Some("text"), &[3; 90]);
            let key = key_of_id(&table, id);
            match partition.write(&key, RowChange::Put(&row), transaction(1), 1) {
                Ok(outcome) => {
                    ts += 1;
                    partition.commit(outcome.row, Timestamp(ts), Timestamp(ts));
                    written.push(id);
                }
                Err(MemoryFull) => return written,
            }
        }
    };
    let written = insert_until_full(&mut partition);
    for id in written.iter().step_by(5) {
        let key = key_of_id(&table, *id);
        let deleted = partition.write(&key, RowChange::Delete, transaction(2), 1);
        let row = deleted.expect("one at a time").row;
        partition.commit(row, Timestamp(1 << 40), Timestamp(1 << 40));
        while partition.prune(Timestamp(1 << 40), 10) != 0 {}
    }
    let again = insert_until_full(&mut partition);
    let deleted = written.len() / 5;
    assert!(deleted * 9 / 10 < again.len(), "{} of {deleted}", again.len());
    assert!(pool.used() <= pool.limit() / 100 * 93);
    partition.check_indexes().expect("sound indexes");
}

/// A row that keeps changing under a snapshot keeps the snapshot's version, and loses what nobody sees when it closes.
#[test]
fn hot_row_under_a_snapshot() {
    let pool = PagePool::new(1 << 30);
    let table = table(vec![index(1, &[(K, false)])]);
    let mut partition = Partition::new(Arc::clone(&table), Arc::clone(&pool));
    let key = key_of_id(&table, 1);
    for ts in 1..=500 {
        let row = make_row(&table, 1, Some(ts % 7), None, &[0; 100]);
        let horizon = Timestamp(if ts < 100 { ts as u64 } else { 100 });
        partition.apply_committed(&key, RowChange::Put(&row), Timestamp(ts as u64), horizon);
    }
    let row = partition.find(&key).expect("the row");
    assert_eq!(partition.entry_count(IndexId(1)), 7);
    let seen = partition.committed_at(row, Timestamp(100)).expect("the snapshot's version");
    assert_eq!(seen.ts, Timestamp(100));
    assert_eq!(partition.prune(Timestamp(100), 1000), 0);
    // 400 versions came after the snapshot's.
    assert_eq!(partition.prune(Timestamp(500), 1000), 400);
    assert_eq!(partition.entry_count(IndexId(1)), 1);
    assert_eq!(partition.prunable(), 0);
    partition.check_indexes().expect("sound indexes");
}

/// Two snapshots far apart, and a key that never comes again: all that goes at once is looked up in what stays, not one by one.
#[test]
fn long_chains_are_cut_behind_long_chains() {
    let pool = PagePool::new(1 << 30);
    let table = table(vec![index(1, &[(K, false)])]);
    let mut partition = Partition::new(Arc::clone(&table), pool);
    let key = key_of_id(&table, 1);
    let half = 20_000;
    for ts in 1..=2 * half {
        let row = make_row(&table, 1, Some(ts), None, &[]);
        partition.apply_committed(&key, RowChange::Put(&row), Timestamp(ts as u64), Timestamp(1));
    }
    assert_eq!(partition.entry_count(IndexId(1)), 2 * half as u64);
    assert_eq!(partition.prune(Timestamp(half as u64), 1), half as usize - 1);
    assert_eq!(partition.entry_count(IndexId(1)), half as u64 + 1);
    partition.check_indexes().unwrap();
}

/// A scan over rows that its reader does not see rests on the way.
#[test]
fn what_is_not_there_is_passed_over_in_pieces() {
    let pool = PagePool::new(1 << 30);
    let table = table(vec![]);
    let mut partition = Partition::new(Arc::clone(&table), pool);
    for id in 0..1_000 {
        let (key, row) = (key_of_id(&table, id), make_row(&table, id, None, None, &[]));
        partition.apply_committed(&key, RowChange::Put(&row), Timestamp(10), Timestamp(1));
        let change = if id < 999 { RowChange::Delete } else { RowChange::Put(&row) };
        partition.apply_committed(&key, change, Timestamp(20), Timestamp(1));
    }
    let mut scan = partition.scan(IndexId(0), &KeyRange::all(), Direction::Forward, None);
    let (mut rests, mut found) = (0, 0);
    while let Some(item) = scan.next_visible(Timestamp(20), None) {
        match item.read.visible {
            Visible::Absent => rests += 1,
            Visible::Row(_) => found += 1,
            Visible::Undecided(_) => unreachable!("all is committed"),
        }
    }
    assert!(found == 1 && (20..40).contains(&rests), "{found} found, {rests} rests");
}

/// The ranges of a prefix, the last ones included.
#[test]
fn prefix_ranges() {
    let upper = |prefix: &[u8]| KeyRange::prefix(prefix).upper;
    assert_eq!(upper(&[1, 2]), Bound::Excluded(vec![1, 3]));
    assert_eq!(upper(&[1, 0xff]), Bound::Excluded(vec![2]));
    assert_eq!(upper(&[0xff, 0xff]), Bound::Unbounded);
    assert_eq!(upper(&[]), Bound::Unbounded);
}

/// The budget of the architecture: at most 100 bytes a row beside the 190 bytes of a sysbench row, with its primary key
/// and one secondary index, loaded in random order as in key order.
#[test]
fn overhead_is_within_budget() {
    for in_order in [true, false] {
        let pool = PagePool::new(1 << 30);
        let table = table(vec![index(1, &[(K, false)])]);
        let mut partition = Partition::new(Arc::clone(&table), Arc::clone(&pool));
        let mut random = Random(1);
        let row_count = 100_000u64;
        let mut row_bytes = 0;
        for number in 0..row_count {
            // An odd factor goes through all numbers below a power of two, and those above the count are left out.
            let id = if in_order { number } else { number.wrapping_mul(0x9e37_79b1) & 0xffff_ffff }
                as i32;
            let k = random.below(row_count) as i64;
            let row = make_row(&table, i64::from(id), Some(k), None, &[7; 171]);
            row_bytes += row.len() as u64;
            let key = key_of_id(&table, i64::from(id));
            let owner = transaction(number / 100);
            let outcome = partition.write(&key, RowChange::Put(&row), owner, 0).expect("memory");
            partition.commit(outcome.row, Timestamp(number + 1), Timestamp(number + 1));
        }
        assert_eq!(partition.row_count(), row_count);
        let overhead = (partition.memory_bytes() - row_bytes) as f64 / row_count as f64;
        println!(
            "rows of {:.0} bytes in order {in_order}: {overhead:.1} bytes of overhead a row",
            row_bytes as f64 / row_count as f64
        );
        assert!((185..=195).contains(&(row_bytes / row_count)));
        assert!(overhead <= 100.0, "{overhead} bytes a row");
    }
}

/// Rows loaded from a checkpoint and the log behind it, in the order of their keys or not, sorted at once or in many parts, are those
/// that writes would have left, in all indexes; and writes go on with them.
#[test]
fn loaded_rows_are_those_that_were_written() {
    let mut sorting = Sorting::default();
    for seed in 0..24u64 {
        let mut random = Random(seed);
        let table = table(vec![index(1, &[(K, false)]), index(2, &[(S, true), (K, false)])]);
        let pool = PagePool::new(1 << 30);
        let mut loaded = Partition::new(Arc::clone(&table), Arc::clone(&pool));
        let mut written = Partition::new(Arc::clone(&table), Arc::clone(&pool));
        let row = |random: &mut Random, id: i64| {
            let k = (random.below(8) != 0).then(|| random.below(50) as i64);
            let long = "s".repeat([0, 3, 40, 585, 595, 650][random.below(6) as usize]);
            let s = format!("{long}{}{}", ["", "z"][random.below(2) as usize], random.below(30));
            let pad = vec![7; [0, 100, 9000][random.below(3) as usize]];
            make_row(&table, id, k, (k != Some(3)).then_some(&s[..]), &pad)
        };
        let count = [0, 1, 2, 900][seed as usize % 4];
        let mut ids: Vec<i64> = (0..count).filter(|_| random.below(5) != 0).collect();
        if seed % 3 == 0 {
            for at in (1..ids.len()).rev() {
                ids.swap(at, random.below(at as u64 + 1) as usize);
            }
        }
        for id in ids {
            let row = row(&mut random, id);
            let ts = Timestamp(100 + random.below(100));
            loaded.load_new(&key_of_id(&table, id), &row, ts);
            written.apply_committed(
                &key_of_id(&table, id),
                RowChange::Put(&row),
                ts,
                Timestamp::MAX,
            );
        }
        // The log, of which the checkpoint has some already.
        for ts in 100..100 + random.below(3) * 400 {
            let id = random.below(count as u64 + 20) as i64;
            let row = row(&mut random, id);
            let change =
                if random.below(4) == 0 { RowChange::Delete } else { RowChange::Put(&row) };
            loaded.load(&key_of_id(&table, id), change, Timestamp(ts));
            written.apply_committed(&key_of_id(&table, id), change, Timestamp(ts), Timestamp::MAX);
        }
        loaded
            .end_loading_by(&mut sorting, [1, 5000, usize::MAX][seed as usize / 4 % 3])
            .expect("sound rows");
        for partition in [&loaded, &written] {
            partition.check_indexes().expect("every row is in every index");
        }
        assert_eq!(loaded.checksum(), written.checksum());
        let (mut sum, mut after) = (0u128, None);
        loop {
            let (rows_max, bytes_max) = [(7, usize::MAX), (usize::MAX, 500)][seed as usize % 2];
            let part = loaded.checksum_behind(after.as_deref(), rows_max, bytes_max);
            (sum, after) = (sum.wrapping_add(part.0), part.1);
            if after.is_none() {
                break;
            }
        }
        assert_eq!(sum, loaded.checksum());
        assert_eq!(loaded.row_count(), written.row_count());
        assert!(loaded.memory_bytes() <= written.memory_bytes() + 8 * PAGE_SIZE as u64);
        for id in 0..count + 20 {
            let row = row(&mut random, id);
            let change =
                if random.below(3) == 0 { RowChange::Delete } else { RowChange::Put(&row) };
            loaded.apply_committed(&key_of_id(&table, id), change, Timestamp(5000), Timestamp::MAX);
        }
        loaded.check_indexes().expect("every row is in every index");
        loaded.clear();
        written.clear();
        assert_eq!(pool.used(), 0);
    }
}

/// A row that a checkpoint has twice is named, and a pool that is too small is no panic; what was loaded gives everything back.
#[test]
fn rows_that_cannot_be_loaded_are_refused() {
    let table = table(vec![index(1, &[(K, false)])]);
    let row = |id: i64| make_row(&table, id, Some(7), None, &[1; 200]);
    let mut sorting = Sorting::default();
    for sorted_bytes_max in [1, usize::MAX] {
        let pool = PagePool::new(1 << 30);
        let mut partition = Partition::new(Arc::clone(&table), Arc::clone(&pool));
        for id in [1, 2, 3, 2] {
            partition.load_new(&key_of_id(&table, id), &row(id), Timestamp(id as u64));
        }
        let refused = partition.end_loading_by(&mut sorting, sorted_bytes_max);
        assert_eq!(refused, Err(LoadError::Twice(key_of_id(&table, 2))));
        drop(partition);
        assert_eq!(pool.used(), 0);
    }
    let pool = PagePool::new(60 * PAGE_SIZE as u64);
    let mut partition = Partition::new(Arc::clone(&table), Arc::clone(&pool));
    for id in 0..60 * PAGE_SIZE as i64 / 270 {
        partition.load_new(&key_of_id(&table, id), &row(id), Timestamp(1));
    }
    assert_eq!(partition.end_loading(&mut sorting), Err(LoadError::MemoryFull));
    drop(partition);
    assert_eq!(pool.used(), 0);
    // Given up before anything is indexed.
    let mut partition = Partition::new(Arc::clone(&table), Arc::clone(&pool));
    partition.load_new(&key_of_id(&table, 1), &row(1), Timestamp(1));
    partition.clear();
    assert_eq!(pool.used(), 0);
}
