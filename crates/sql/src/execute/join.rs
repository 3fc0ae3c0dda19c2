//! Joins.
//!
//! A join keeps some rows of its right side by the columns that it compares, and goes through the left rows in their order.
//! What differs is which right rows those are:
//!
//! | method | right rows | kept for |
//! |---|---|---|
//! | hash | all, or those of a part of the keys ([`Grace`]) | all left rows of these keys |
//! | lookup | those that the keys of some left rows ask for, read together, in pieces of bounded size | these left rows |
//! | apply | those of a query that a left row's columns are put into | this left row |

use std::ops::Bound as KeyBound;
use std::rc::Rc;

use client::{KeyRange, Lock};
use types::convert::group_key;
use types::expr::eval;
use types::{Expr, IndexKind};

use super::batch::{Batch, JoinedRow, KeyTable, NO_ROW};
use super::budget::Held;
use super::grace::{Grace, Partitions};
use super::keys::{self, Keys};
use super::operator::{BATCH_ROWS, Stream};
use super::rows::{Found, Rows, Wanted};
use super::{Context, Failure, Pace, eval_error, take_warnings};
use crate::SqlError;
use crate::plan::{
    Bound, JoinKind, JoinMethod, JoinOperator, JoinedSource, Operator, OuterValue, PartBound,
    PathKind, SelectPlan, TableSource,
};
use crate::result::ResultSink;

/// Left rows whose keys are looked up together; and the first ones, where the reader is likely to stop early.
const LOOKUP_ROWS: usize = 1_000;
const FIRST_LOOKUP_ROWS: usize = 16;
/// Right rows of a lookup that are kept at a time: rows, and bytes.
const PIECE_ROWS: usize = 16_384;
const PIECE_BYTES: usize = 8 << 20;

pub struct JoinStream<'p> {
    join: &'p JoinOperator,
    left: Stream<'p>,
    /// Left rows that were read and are still to be joined.
    pending: Option<Batch>,
    probe: Option<Probe>,
    /// Right rows.
    piece: Option<Piece>,
    /// Of a lookup: where the next piece comes from.
    reading: Option<Reading<'p>>,
    /// Of a hash join whose right rows do not fit into memory.
    grace: Option<Box<Grace>>,
    is_done: bool,
    /// Joined rows that the reader can use now, at most; None: all.
    expected: Option<u64>,
    /// Left rows whose keys are looked up together. It begins with few where the reader is likely to stop early.
    lookup_rows: usize,
}

/// Left rows, and how far they are joined.
struct Probe {
    rows: Batch,
    /// By row: its key, or None if nothing equals it.
    keys: Vec<Option<Vec<u8>>>,
    row: usize,
    /// The next right row to look at for it; None: it has not begun.
    candidate: Option<u32>,
    matched: Vec<bool>,
}

/// Right rows that are kept.
struct Piece {
    rows: Batch,
    table: KeyTable,
    is_last: bool,
    /// Other left rows do not need other rows.
    serves_all: bool,
    _held: Held,
}

struct Reading<'p> {
    relation: u16,
    wanted: Wanted<'p>,
    rows: Rows,
    filter: &'p [Bound],
}

impl<'p> JoinStream<'p> {
    pub fn new(join: &'p JoinOperator, left: Stream<'p>) -> JoinStream<'p> {
        JoinStream {
            join,
            left,
            pending: None,
            probe: None,
            piece: None,
            reading: None,
            grace: None,
            is_done: false,
            expected: None,
            lookup_rows: LOOKUP_ROWS,
        }
    }

    /// Rows of several pieces do not come in the order of the left rows. So half of these are looked up again, the others
    /// later; false if there is one.
    fn take_fewer(&mut self, source: &JoinedSource) -> bool {
        let probe = self.probe.as_mut().expect("it has begun");
        let count = u32::try_from(probe.rows.len()).expect("batches are short");
        if count < 2 || probe.row != 0 || probe.candidate.is_some() || probe.matched.contains(&true)
        {
            return false;
        }
        let half = count / 2;
        let mut rest = probe.rows.pick(&(half..count).collect::<Vec<u32>>());
        if let Some(pending) = self.pending.take() {
            let mut all = Batch::default();
            all.append(&rest, source);
            all.append(&pending, source);
            rest = all;
        }
        self.pending = Some(rest);
        probe.rows = probe.rows.pick(&(0..half).collect::<Vec<u32>>());
        probe.keys.truncate(half as usize);
        probe.matched.truncate(half as usize);
        self.reading = None;
        true
    }

    pub fn left(&self) -> &Stream<'p> {
        &self.left
    }

    /// As [`Stream::expect`].
    pub fn expect(&mut self, count: u64) {
        let at_once = usize::try_from(count).unwrap_or(LOOKUP_ROWS);
        if self.expected.replace(count).is_none() {
            self.lookup_rows = at_once.clamp(FIRST_LOOKUP_ROWS, LOOKUP_ROWS);
        }
        // A left row that may give several is all that is surely needed.
        let left = if self.join.gives_one() { count } else { 1 };
        if self.locks_looked_up() {
            let left = usize::try_from(left).unwrap_or(LOOKUP_ROWS);
            self.lookup_rows = left.clamp(1, LOOKUP_ROWS);
        }
        self.left.expect(left);
    }

    /// Does a look-up lock the rows that it finds?
    fn locks_looked_up(&self) -> bool {
        match &self.join.method {
            JoinMethod::Lookup { .. } => lookup_of(&self.join.right).table.lock != Lock::None,
            JoinMethod::Hash | JoinMethod::Apply { .. } => false,
        }
    }
}

impl JoinOperator {
    /// Does a left row give one joined row at most?
    fn gives_one(&self) -> bool {
        match (&self.method, self.kind) {
            (_, JoinKind::Semi | JoinKind::Anti) => true,
            (JoinMethod::Lookup { .. }, JoinKind::Inner | JoinKind::Left) => {
                let path = &lookup_of(&self.right).table.access.path;
                path.kind != PathKind::Range && path.equal.iter().all(PartBound::is_single)
            }
            (JoinMethod::Hash | JoinMethod::Apply { .. }, JoinKind::Inner | JoinKind::Left) => {
                false
            }
        }
    }
}

impl Context<'_> {
    pub async fn next_joined<'p>(
        &mut self,
        source: &'p JoinedSource,
        stream: &mut JoinStream<'p>,
    ) -> Result<Option<Batch>, Failure> {
        loop {
            self.check_killed()?;
            if stream.is_done {
                return Ok(None);
            }
            if stream.probe.is_none() && !self.next_left(source, stream).await? {
                stream.piece = None;
                if let Some(grace) = &mut stream.grace {
                    if grace.next_partition() {
                        continue;
                    }
                    if let Some(batch) = grace.next_in_order(source).await? {
                        return Ok(Some(batch));
                    }
                }
                stream.is_done = true;
                continue;
            }
            if stream.piece.is_none() {
                let piece = self.next_piece(source, stream).await?;
                let is_cut = piece.as_ref().is_some_and(|piece| !piece.is_last);
                let is_lookup = stream.grace.is_none();
                if is_cut && is_lookup && source.delivers_order && stream.take_fewer(source) {
                    continue;
                }
                stream.piece = piece;
            }
            let (Some(probe), Some(piece)) = (&mut stream.probe, &stream.piece) else {
                // The left rows were put aside.
                continue;
            };
            let pairs = self.probe(source, stream.join, probe, piece).await?;
            let mut batch =
                (!pairs.is_empty()).then(|| Batch::paired(&probe.rows, &piece.rows, &pairs));
            if let Some(grace) = &mut stream.grace
                && grace.is_in_order()
                && let Some(batch) = batch.take()
            {
                grace.keep_joined(&batch, &pairs).await?;
            }
            if probe.row == probe.rows.len() {
                let (is_last, serves_all) = (piece.is_last, piece.serves_all);
                probe.row = 0;
                if is_last {
                    stream.probe = None;
                    stream.reading = None;
                }
                if !serves_all {
                    stream.piece = None;
                }
            }
            if batch.is_some() {
                return Ok(batch);
            }
        }
    }

    /// Reads the next left rows; false if there are none left.
    async fn next_left<'p>(
        &mut self,
        source: &'p JoinedSource,
        stream: &mut JoinStream<'p>,
    ) -> Result<bool, Failure> {
        let rows = match (stream.pending.take(), &mut stream.grace) {
            (Some(rows), _) => Some(rows),
            (None, Some(grace)) => grace.next_left(source).await?,
            (None, None) => self.next(source, &mut stream.left).await?,
        };
        let Some(mut rows) = rows else { return Ok(false) };
        if matches!(stream.join.method, JoinMethod::Lookup { .. }) {
            // Each shard has sent rows of its own: their keys go together.
            let mut size = 0;
            let mut all = Batch::default();
            while rows.len().max(all.len()) < stream.lookup_rows
                && size < PIECE_BYTES
                && stream.pending.is_none()
                && stream.left.has_rows_at_hand()
            {
                let Some(more) = self.next(source, &mut stream.left).await? else { break };
                if all.is_empty() {
                    size += all.append(&rows, source);
                }
                size += all.append(&more, source);
            }
            if !all.is_empty() {
                rows = all;
            }
        }
        let at_once = match stream.join.method {
            JoinMethod::Hash => usize::MAX,
            JoinMethod::Lookup { .. } => stream.lookup_rows,
            JoinMethod::Apply { .. } => 1,
        };
        if at_once < rows.len() {
            let count = u32::try_from(rows.len()).expect("batches are short");
            let at_once = u32::try_from(at_once).expect("few");
            let rest: Vec<u32> = (at_once..count).collect();
            stream.pending = Some(rows.pick(&rest));
            rows = rows.pick(&(0..at_once).collect::<Vec<u32>>());
        }
        if stream.expected.is_some() && !stream.locks_looked_up() {
            stream.lookup_rows = (4 * stream.lookup_rows).min(LOOKUP_ROWS);
        }
        let exprs: Vec<&Expr> = stream.join.keys.iter().map(|key| &key.left).collect();
        let mut keys = Vec::with_capacity(rows.len());
        for row in 0..rows.len() {
            keys.push(self.join_key(&JoinedRow::new(source, &rows, row), &exprs)?);
        }
        let matched = vec![false; rows.len()];
        stream.probe = Some(Probe { rows, keys, row: 0, candidate: None, matched });
        Ok(true)
    }

    /// The right rows for the left ones at hand, or some of them. None: they do not fit into memory, and rows of both sides
    /// were put aside.
    async fn next_piece<'p>(
        &mut self,
        source: &'p JoinedSource,
        stream: &mut JoinStream<'p>,
    ) -> Result<Option<Piece>, Failure> {
        let join = stream.join;
        let mut rows = Batch::default();
        let mut held = self.account();
        let mut is_last = true;
        let probe = stream.probe.as_ref().expect("there are left rows");
        match &join.method {
            JoinMethod::Hash => match &mut stream.grace {
                Some(grace) => {
                    is_last = grace.next_right(source, &mut rows, &mut held).await?;
                }
                None => {
                    let mut right = self.open(&join.right).await?;
                    while let Some(batch) = self.next(source, &mut right).await? {
                        held.take(rows.append(&batch, source));
                        if held.is_over() {
                            self.part(source, stream, rows, held, Some(right)).await?;
                            return Ok(None);
                        }
                    }
                }
            },
            JoinMethod::Apply { outer } => {
                self.fill_in(outer, &JoinedRow::new(source, &probe.rows, 0))?;
                let mut right = self.open(&join.right).await?;
                while let Some(batch) = self.next(source, &mut right).await? {
                    held.take_checked(rows.append(&batch, source))?;
                }
            }
            JoinMethod::Lookup { outer } => {
                let lookup = lookup_of(&join.right);
                // Of the rows that one left row finds, no more are locked than the reader can use.
                let expected = stream.expected.filter(|_| {
                    lookup.table.lock != Lock::None && probe.rows.len() == 1 && !join.gives_one()
                });
                let is_filtered = !std::ptr::eq(lookup.operator, &join.right);
                if stream.reading.is_none() {
                    let Lookup { relation, filter, .. } = lookup;
                    let since = self.profile_clock();
                    self.begin_operator(lookup.operator);
                    if is_filtered {
                        self.begin_operator(&join.right);
                    }
                    let mut wanted = self.wanted_of(lookup.table, false);
                    wanted.pulled = expected.is_some();
                    let rows = self.looked_up_rows(source, &wanted, outer, &probe.rows).await?;
                    self.count_pulled(lookup.operator, 0, since);
                    stream.reading = Some(Reading { relation, wanted, rows, filter });
                }
                let reading = stream.reading.as_mut().expect("just made");
                let relations = source.relations.len();
                loop {
                    let since = self.profile_clock();
                    if let Some(expected) = expected {
                        reading.rows.expect(expected);
                    }
                    let next = self.next_rows(&reading.wanted, &mut reading.rows).await?;
                    let count = next.as_ref().map_or(0, client::RowBatch::len);
                    self.count_pulled(lookup.operator, count, since);
                    let Some(batch) = next else { break };
                    let store = Rc::new(super::batch::RowStore::Stored(batch));
                    let mut batch = Batch::of(reading.relation, relations, store);
                    batch = self.filtered(source, batch, reading.filter).await?;
                    if is_filtered {
                        self.count_pulled(&join.right, batch.len(), since);
                    }
                    held.take(rows.append(&batch, source));
                    let is_enough = expected.is_some() && !rows.is_empty();
                    let is_long = PIECE_ROWS <= rows.len() || PIECE_BYTES <= held.bytes();
                    if is_enough || is_long || held.is_over() {
                        is_last = false;
                        break;
                    }
                }
            }
        }
        let exprs: Vec<&Expr> = join.keys.iter().map(|key| &key.right).collect();
        let mut table = KeyTable::default();
        let mut pace = Pace::default();
        if !exprs.is_empty() {
            for row in 0..rows.len() {
                pace.row().await;
                let key = self.join_key(&JoinedRow::new(source, &rows, row), &exprs)?;
                table.push(key.as_deref());
            }
            held.take(table.size());
        }
        table.finish();
        let is_whole = matches!(join.method, JoinMethod::Hash) && stream.grace.is_none();
        if is_whole && held.is_over() {
            self.part(source, stream, rows, held, None).await?;
            return Ok(None);
        }
        let is_part = stream.grace.as_ref().is_some_and(|grace| !grace.is_split());
        let serves_all = is_whole || is_part;
        Ok(Some(Piece { rows, table, is_last, serves_all, _held: held }))
    }

    /// Puts the rows of a hash join aside: the right rows that are in memory and those that are still to come, then all
    /// left rows.
    async fn part<'p>(
        &mut self,
        source: &'p JoinedSource,
        stream: &mut JoinStream<'p>,
        kept: Batch,
        held: Held,
        right: Option<Stream<'p>>,
    ) -> Result<(), Failure> {
        let join = stream.join;
        let budget = Rc::clone(held.budget());
        let sides = Grace::sides(&budget, !join.keys.is_empty()).await?;
        let (mut right_parts, mut left_parts) = sides;
        let exprs: Vec<&Expr> = join.keys.iter().map(|key| &key.right).collect();
        self.part_rows(source, &exprs, &kept, false, &mut right_parts).await?;
        drop((kept, held));
        if let Some(mut right) = right {
            while let Some(batch) = self.next(source, &mut right).await? {
                self.part_rows(source, &exprs, &batch, false, &mut right_parts).await?;
            }
        }
        let exprs: Vec<&Expr> = join.keys.iter().map(|key| &key.left).collect();
        let keeps_all = matches!(join.kind, JoinKind::Left | JoinKind::Anti);
        let probe = stream.probe.take().expect("left rows are read first");
        self.part_rows(source, &exprs, &probe.rows, keeps_all, &mut left_parts).await?;
        drop(probe);
        assert!(stream.pending.is_none(), "a hash join takes all rows of a batch");
        while let Some(batch) = self.next(source, &mut stream.left).await? {
            self.part_rows(source, &exprs, &batch, keeps_all, &mut left_parts).await?;
        }
        let grace = Grace::new(&budget, right_parts, left_parts, source.delivers_order).await?;
        stream.grace = Some(Box::new(grace));
        Ok(())
    }

    /// `keeps_all`: also the rows whose key equals none.
    async fn part_rows(
        &mut self,
        source: &JoinedSource,
        exprs: &[&Expr],
        rows: &Batch,
        keeps_all: bool,
        partitions: &mut Partitions,
    ) -> Result<(), Failure> {
        let mut pace = Pace::default();
        self.check_killed()?;
        for row in 0..rows.len() {
            pace.row().await;
            let key = self.join_key(&JoinedRow::new(source, rows, row), exprs)?;
            if keeps_all || key.is_some() {
                partitions.push(rows, row, key.as_deref()).await?;
            }
        }
        Ok(())
    }

    /// Pairs of left and right rows that fulfil the condition; as many as make a batch, or all that are left.
    async fn probe(
        &mut self,
        source: &JoinedSource,
        join: &JoinOperator,
        probe: &mut Probe,
        piece: &Piece,
    ) -> Result<Vec<(u32, u32)>, Failure> {
        let mut pairs = Vec::new();
        let mut pace = Pace::default();
        let mut looked_at = 0usize;
        let count = u32::try_from(piece.rows.len()).expect("rows are bounded by memory");
        while probe.row < probe.rows.len() {
            let row = probe.row;
            let number = u32::try_from(row).expect("batches are short");
            let left = JoinedRow::new(source, &probe.rows, row);
            let is_unpaired = matches!(join.kind, JoinKind::Semi | JoinKind::Anti);
            let mut candidate = match probe.candidate.take() {
                _ if is_unpaired && probe.matched[row] => NO_ROW,
                Some(candidate) => candidate,
                None if join.keys.is_empty() => {
                    if count == 0 {
                        NO_ROW
                    } else {
                        0
                    }
                }
                None => probe.keys[row].as_ref().map_or(NO_ROW, |key| piece.table.first(key)),
            };
            while candidate != NO_ROW {
                if BATCH_ROWS <= pairs.len() {
                    probe.candidate = Some(candidate);
                    return Ok(pairs);
                }
                pace.row().await;
                looked_at += 1;
                if looked_at.is_multiple_of(BATCH_ROWS) {
                    self.check_killed()?;
                }
                let row_of_both = left.pair(&piece.rows, candidate as usize);
                let holds = self.all_hold(&join.condition, &row_of_both).await?;
                if holds {
                    probe.matched[row] = true;
                    match join.kind {
                        JoinKind::Inner | JoinKind::Left => pairs.push((number, candidate)),
                        JoinKind::Semi => pairs.push((number, NO_ROW)),
                        JoinKind::Anti => {}
                    }
                    if is_unpaired {
                        break;
                    }
                }
                candidate = match join.keys.is_empty() {
                    true => {
                        if candidate + 1 < count {
                            candidate + 1
                        } else {
                            NO_ROW
                        }
                    }
                    false => piece.table.next(candidate),
                };
            }
            let keeps_unmatched = matches!(join.kind, JoinKind::Left | JoinKind::Anti);
            if keeps_unmatched && piece.is_last && !probe.matched[row] {
                pairs.push((number, NO_ROW));
            }
            probe.row += 1;
            pace.row().await;
        }
        Ok(pairs)
    }

    /// The key of a row; None if one of its values is NULL, which equals nothing.
    fn join_key(
        &mut self,
        row: &JoinedRow<'_>,
        exprs: &[&Expr],
    ) -> Result<Option<Vec<u8>>, SqlError> {
        let mut key = Vec::new();
        let mut context = self.run.context();
        let mut is_null = false;
        for expr in exprs {
            let value = match expr {
                Expr::Column(column) => {
                    let value = types::expr::Columns::column(row, usize::from(*column));
                    is_null |= value.is_null();
                    group_key(value, &mut key);
                    continue;
                }
                other => eval(other, row, &mut context).map_err(|error| eval_error(&error))?,
            };
            is_null |= value.is_null();
            group_key(value.as_ref(), &mut key);
        }
        self.run.count_work(&mut context);
        take_warnings(&mut context, &mut self.warnings);
        Ok((!is_null).then_some(key))
    }

    /// Puts values of a row into the slots that stand for them.
    pub fn fill_in<R: types::expr::Columns + ?Sized>(
        &mut self,
        outer: &[OuterValue],
        row: &R,
    ) -> Result<(), SqlError> {
        let first = self.run.first_slot();
        for own in outer {
            let value = self.evaluated_here(&own.value, row)?;
            self.run.params[first + usize::from(own.slot)] = value;
        }
        Ok(())
    }

    /// The rows of a table that the keys of left rows ask for, each once.
    async fn looked_up_rows(
        &mut self,
        source: &JoinedSource,
        wanted: &Wanted<'_>,
        outer: &[OuterValue],
        left: &Batch,
    ) -> Result<Rows, Failure> {
        let path = &wanted.access.path;
        let catalogue = self.catalogue();
        let entries = match (path.kind, &wanted.table.indexes[path.index].kind) {
            (PathKind::UniqueKey, IndexKind::Unique { entries }) => {
                let entries = catalogue.table_by_id(*entries).cloned();
                Some(entries.ok_or_else(|| super::rows::stale(&catalogue))?)
            }
            _ => None,
        };
        let keyed = entries.as_ref().unwrap_or(wanted.table);
        let (mut found, mut ranges) = (Vec::new(), Vec::new());
        let mut is_unusable = false;
        let mut pace = Pace::default();
        for row in 0..left.len() {
            pace.row().await;
            self.fill_in(outer, &JoinedRow::new(source, left, row))?;
            let mut context = self.run.context();
            let resolved = keys::resolve(wanted.table, keyed, path, &mut context)?;
            take_warnings(&mut context, &mut self.warnings);
            match resolved {
                Keys::Nothing => {}
                Keys::Keys(keys) => found.extend(keys),
                Keys::Ranges(own) => ranges.extend(own),
                Keys::Unusable => {
                    is_unusable = true;
                    break;
                }
            }
        }
        if is_unusable {
            return self.open_found(wanted, self.scan_of(wanted, 0, vec![KeyRange::all()])).await;
        }
        found.sort_unstable();
        found.dedup();
        let found = match path.kind {
            PathKind::Range if ranges.is_empty() => Found::Nothing,
            PathKind::Range => {
                let ranges = merged(ranges);
                let bytes = ranges.iter().map(range_size).sum::<usize>();
                match bytes <= keys::RANGE_BYTES_MAX {
                    true => self.scan_of(wanted, path.index, ranges),
                    false => self.scan_of(wanted, 0, vec![KeyRange::all()]),
                }
            }
            PathKind::PrimaryKey | PathKind::UniqueKey if found.is_empty() => Found::Nothing,
            PathKind::PrimaryKey => Found::Keys(found, wanted.access.residual.clone()),
            PathKind::UniqueKey => Found::Entries(found),
        };
        self.open_found(wanted, found).await
    }

    /// Runs a query inside of the statement.
    pub async fn run_inside(
        &mut self,
        plan: &SelectPlan,
        sink: &mut dyn ResultSink,
    ) -> Result<u64, Failure> {
        let found_rows = self.found_rows();
        let around = std::mem::replace(&mut self.run.wait, plan.wait);
        let sent = self.run_select_inside(plan, sink).await?;
        self.run.wait = around;
        self.set_found_rows(found_rows);
        Ok(sent)
    }
}

/// The right side of a lookup.
struct Lookup<'p> {
    /// The operator of the table.
    operator: &'p Operator,
    table: &'p TableSource,
    relation: u16,
    /// The terms that are not shipped.
    filter: &'p [Bound],
}

fn lookup_of(right: &Operator) -> Lookup<'_> {
    let (operator, filter) = match right {
        Operator::Filter { input, terms, .. } => (&**input, terms.as_slice()),
        other => (other, &[][..]),
    };
    let Operator::Table { relation, source, .. } = operator else {
        unreachable!("{operator:?} is not looked up")
    };
    Lookup { operator, table: source, relation: *relation, filter }
}

fn range_size(range: &KeyRange) -> usize {
    let size = |bound: &KeyBound<Vec<u8>>| match bound {
        KeyBound::Included(key) | KeyBound::Excluded(key) => key.len(),
        KeyBound::Unbounded => 0,
    };
    size(&range.lower) + size(&range.upper)
}

/// The same keys in ranges that are in order and disjoint.
fn merged(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    fn lower(bound: &KeyBound<Vec<u8>>) -> (u8, &[u8], u8) {
        match bound {
            KeyBound::Unbounded => (0, &[], 0),
            KeyBound::Included(key) => (1, key, 0),
            KeyBound::Excluded(key) => (1, key, 1),
        }
    }
    /// Of the end of a range: the first key behind it is above (key, 0) or (key, 1).
    fn upper(bound: &KeyBound<Vec<u8>>) -> (u8, &[u8], u8) {
        match bound {
            KeyBound::Unbounded => (2, &[], 0),
            KeyBound::Included(key) => (1, key, 1),
            KeyBound::Excluded(key) => (1, key, 0),
        }
    }
    ranges.sort_by(|a, b| lower(&a.lower).cmp(&lower(&b.lower)));
    let mut merged: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if lower(&range.lower) <= upper(&last.upper) => {
                if upper(&last.upper) < upper(&range.upper) {
                    last.upper = range.upper;
                }
            }
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_ranges_become_one() {
        let range = |lower: &[u8], upper: &[u8]| KeyRange {
            lower: KeyBound::Included(lower.to_vec()),
            upper: KeyBound::Excluded(upper.to_vec()),
        };
        let parts =
            vec![range(b"m", b"p"), range(b"a", b"c"), range(b"b", b"d"), range(b"n", b"o")];
        let shown: Vec<_> =
            merged(parts).into_iter().map(|range| (range.lower, range.upper)).collect();
        let expected = [range(b"a", b"d"), range(b"m", b"p")];
        let expected: Vec<_> = expected.into_iter().map(|own| (own.lower, own.upper)).collect();
        assert_eq!(shown, expected);
        let all = merged(vec![range(b"a", b"c"), KeyRange::all()]);
        assert_eq!(all.len(), 1);
        assert_eq!((&all[0].lower, &all[0].upper), (&KeyBound::Unbounded, &KeyBound::Unbounded));
        let point = |key: &[u8]| KeyRange {
            lower: KeyBound::Included(key.to_vec()),
            upper: KeyBound::Included(key.to_vec()),
        };
        assert_eq!(merged(vec![point(b"k"), point(b"a"), point(b"k")]).len(), 2);
    }
}
