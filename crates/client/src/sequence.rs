//! AUTO_INCREMENT: values unique over all nodes.
//!
//! The next value of each table is a row of a hidden table, moved by ordinary replicated updates. A worker that needs many
//! in quick succession takes blocks that double; one that needs a value now and then takes just that, so that values
//! stay dense in the usual small use and cost no message in bulk.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

use protocol::Refusal;
use protocol::control::Durability;
use protocol::op::{
    Assignment, Batch, Columns, KeyRange, Lock, Op, OpKind, OpResult, ReadAt, Scan, ScanOutput,
};
use protocol::schema::SEQUENCES_TABLE as SEQUENCES;
use types::convert::EvalSettings;
use types::expr::{BinaryOp, EvalError, Expr};
use types::wire::Bytes;
use types::{Index, IndexState, RowView, Table, TableId, Value, ValueRef};

use crate::driver::Client;
use crate::scan::{ScanBatch, ScanOptions};
use crate::session::Session;

/// What a worker knows of one table's values.
#[derive(Default)]
pub(crate) struct Sequence {
    /// Reserved and not given out: next .. end.
    next: u64,
    end: u64,
    /// Every value below this is reserved.
    known_next: u64,
    /// Values below this are not given out: a larger one was written by hand.
    floor: u64,
    block: u64,
    reserved_at: u64,
    /// A session of this worker reserves; the others wait for its values.
    is_reserving: bool,
    waiting: Vec<Waker>,
    /// Sessions that waited during the last reservation: the next one must have values for as many.
    crowd: u64,
}

/// The largest block: what a worker may leave unused.
const BLOCK_MAX: u64 = 1024;
/// Tables whose next values are read by one request.
const SHOWN_AT_ONCE: usize = 256;
/// Values of one statement that are worth a reservation of their own.
const BULK_MIN: u64 = 64;
/// Reservations closer together than this make the block double.
const BLOCK_GROWS_WITHIN_US: u64 = 5_000;

impl Session {
    /// Reserves `count` consecutive values and returns the first. Values grow on one session. [`Refusal::Eval`] if not so
    /// many are left.
    pub async fn auto_increment(&mut self, table: &Arc<Table>, count: u64) -> Result<u64, Refusal> {
        if table.id.is_temporary() {
            return self.temporary.reserve(table.id, count).ok_or_else(used_up);
        }
        let client = self.client().clone();
        let block = loop {
            if let Some(first) = client.take_values(table, count) {
                return Ok(first);
            }
            if let Some(block) = client.begin_reserving(table.id) {
                // Who needs many takes just those: what would be left of a block is lost to the next one like it.
                break if count < BULK_MIN { block.max(count) } else { count };
            }
            client.reserved(table.id).await;
        };
        // One reservation at a time: the row is locked anyway, and sessions that queued for it one by one would each bring
        // too little for the next.
        let _reserving = Reserving { client: client.clone(), table: table.id };
        let mut block = block;
        let mut reserved = reserve(&client, table, block).await;
        if count < block && matches!(reserved, Err(Refusal::Eval(_))) {
            // So many are not left.
            block = count;
            reserved = reserve(&client, table, block).await;
        }
        let first = reserved?;
        let mut sequences = client.shared.sequences.borrow_mut();
        let sequence = sequences.entry(table.id).or_default();
        let end = first + block;
        sequence.known_next = sequence.known_next.max(end);
        // Values that were left of the last block, where nobody has reserved any between: no gap is to show.
        let first = match sequence.end == first && sequence.next < first {
            true => sequence.next,
            false => first,
        };
        // Others of this worker may have reserved meanwhile. The first values are this session's, and above all it had
        // before; what is over is for everybody only if it is above all that everybody had.
        if sequence.end < end {
            sequence.next = (first + count).max(sequence.floor).min(end);
            sequence.end = end;
        }
        Ok(first)
    }

    /// A row was written with this value: later reservations are above it.
    pub async fn auto_increment_at_least(
        &mut self,
        table: &Arc<Table>,
        value: u64,
    ) -> Result<(), Refusal> {
        if table.id.is_temporary() {
            self.temporary.raise(table.id, value.saturating_add(1));
            return Ok(());
        }
        let client = self.client().clone();
        {
            let mut sequences = client.shared.sequences.borrow_mut();
            let sequence = sequences.entry(table.id).or_default();
            sequence.floor = sequence.floor.max(value.saturating_add(1));
            sequence.next = sequence.next.max(sequence.floor.min(sequence.end));
            // The last value of all is never given out: behind it there is none to continue with.
            if value.saturating_add(1) <= sequence.known_next {
                return Ok(());
            }
        }
        let raised = raise(&client, table, value.saturating_add(1), Durability::Memory);
        let next = Box::pin(raised).await?;
        let mut sequences = client.shared.sequences.borrow_mut();
        let sequence = sequences.entry(table.id).or_default();
        sequence.known_next = sequence.known_next.max(next);
        Ok(())
    }

    /// The value that the table reserves next.
    pub async fn auto_increment_next(&self, table: &Table) -> Result<u64, Refusal> {
        if table.id.is_temporary() {
            return Ok(self.temporary.sequence_next(table.id));
        }
        raise(self.client(), table, 0, Durability::Memory).await
    }

    /// The values that an INSERT of this session would get next in each of these tables, for descriptions of them. Reads, and changes
    /// nothing.
    pub async fn auto_increment_shown(&self, tables: &[&Arc<Table>]) -> Result<Vec<u64>, Refusal> {
        let client = self.client();
        let mut shown = Vec::with_capacity(tables.len());
        for some in tables.chunks(SHOWN_AT_ONCE) {
            let shared: Vec<&Table> =
                some.iter().map(|own| &***own).filter(|own| !own.id.is_temporary()).collect();
            let mut reserved = reserved_values(client, &shared).await?.into_iter();
            for table in some {
                let next = match table.id.is_temporary() {
                    true => self.temporary.sequence_next(table.id),
                    false => {
                        let end = reserved.next().expect("one for each shared table");
                        match client.values_left(table, end) {
                            // A table that is dropped or changed meanwhile has no rows to read.
                            Some(next) => match greatest_value(client, table).await {
                                Ok(greatest) => next.max(greatest.saturating_add(1)),
                                Err(_) => end,
                            },
                            None => end,
                        }
                    }
                };
                shown.push(next);
            }
        }
        Ok(shown)
    }

    /// Makes the value that the table reserves next at least this one. A definition follows, so this outlives a failure of the power.
    pub async fn raise_auto_increment(&mut self, table: &Table, next: u64) -> Result<(), Refusal> {
        if table.id.is_temporary() {
            self.temporary.raise(table.id, next);
            return Ok(());
        }
        raise(self.client(), table, next, Durability::Always).await.map(|_| ())
    }
}

impl Client {
    /// Values that this worker has reserved already.
    fn take_values(&self, table: &Table, count: u64) -> Option<u64> {
        let mut sequences = self.shared.sequences.borrow_mut();
        let sequence = sequences.entry(table.id).or_default();
        // A definition may have moved the first value up.
        sequence.floor = sequence.floor.max(start_of(table));
        sequence.next = sequence.next.max(sequence.floor.min(sequence.end));
        if sequence.end - sequence.next < count {
            return None;
        }
        let first = sequence.next;
        sequence.next += count;
        Some(first)
    }

    /// The first of the values that this worker has left of its block, if the sequence's next block begins at `end`, right behind it:
    /// then all other blocks are below.
    fn values_left(&self, table: &Table, end: u64) -> Option<u64> {
        let sequences = self.shared.sequences.borrow();
        let sequence = sequences.get(&table.id).filter(|own| own.end == end)?;
        let next = sequence.next.max(sequence.floor.max(start_of(table)).min(end));
        (next < end).then_some(next)
    }

    /// The size of the block to reserve; None while another session of this worker does it.
    fn begin_reserving(&self, table: TableId) -> Option<u64> {
        let now = self.now();
        let mut sequences = self.shared.sequences.borrow_mut();
        let sequence = sequences.entry(table).or_default();
        if sequence.is_reserving {
            return None;
        }
        let rapid = now.saturating_sub(sequence.reserved_at) < BLOCK_GROWS_WITHIN_US;
        sequence.block = match rapid || sequence.crowd > 0 {
            true => (sequence.block * 2).max(sequence.crowd).clamp(1, BLOCK_MAX),
            false => 1,
        };
        sequence.is_reserving = true;
        sequence.reserved_at = now;
        Some(sequence.block)
    }

    /// Completes when the reservation under way has ended, well or not.
    async fn reserved(&self, table: TableId) {
        let mut has_waited = false;
        poll_fn(|context| {
            let mut sequences = self.shared.sequences.borrow_mut();
            let sequence = sequences.entry(table).or_default();
            if has_waited || !sequence.is_reserving {
                return Poll::Ready(());
            }
            has_waited = true;
            sequence.waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// Ends a reservation, also one whose session was dropped in the middle.
struct Reserving {
    client: Client,
    table: TableId,
}

impl Drop for Reserving {
    fn drop(&mut self) {
        let mut sequences = self.client.shared.sequences.borrow_mut();
        let sequence = sequences.entry(self.table).or_default();
        sequence.is_reserving = false;
        sequence.crowd = sequence.waiting.len() as u64;
        for waker in sequence.waiting.drain(..) {
            waker.wake();
        }
    }
}

fn start_of(table: &Table) -> u64 {
    table.auto_increment.as_ref().map_or(1, |auto_increment| auto_increment.start.max(1))
}

/// The refusal of a sequence whose values are used up.
fn used_up() -> Refusal {
    Refusal::Eval(EvalError::OutOfRange {
        kind: "BIGINT UNSIGNED".into(),
        expression: "AUTO_INCREMENT".into(),
    })
}

/// The values from which on nothing is reserved, by the rows of the table of sequences.
async fn reserved_values(client: &Client, tables: &[&Table]) -> Result<Vec<u64>, Refusal> {
    if tables.is_empty() {
        return Ok(Vec::new());
    }
    let catalogue = client.catalogue();
    let sequences = catalogue.table_by_id(SEQUENCES).expect("made with the cluster");
    let layout = sequences.row_layout();
    let read = |table: &&Table| {
        let id = ValueRef::UInt(u64::from(table.id.0));
        let key = types::key::primary_key_of_values(sequences, &[id]).expect("eight bytes");
        let (lock, filter, columns) = (Lock::None, None, Columns::All);
        let kind = OpKind::Read { key: Bytes(key), lock, filter, columns };
        Op { table: SEQUENCES, version: sequences.version, kind }
    };
    let batch = Batch { ops: tables.iter().map(read).collect(), commit: true, ..Batch::default() };
    let result = client.session().execute(batch).await?;
    assert_eq!(result.results.len(), tables.len());
    let value = |(table, results): (&&Table, Vec<OpResult>)| match results.first() {
        Some(OpResult::Row(Some(row))) => match RowView::new(&layout, row).get(1) {
            ValueRef::UInt(value) => value.max(start_of(table)),
            other => unreachable!("{other:?} in a BIGINT UNSIGNED column"),
        },
        Some(OpResult::Row(None)) => start_of(table),
        other => unreachable!("{other:?} to a read of few bytes"),
    };
    Ok(tables.iter().zip(result.results).map(value).collect())
}

/// The greatest value in the AUTO_INCREMENT column. Another worker may have written one by hand among those that this worker has left.
async fn greatest_value(client: &Client, table: &Arc<Table>) -> Result<u64, Refusal> {
    let Some(column) = table.auto_increment.as_ref().map(|own| own.column) else { return Ok(0) };
    let leads = |index: &&Index| index.parts[0].column == column;
    let mut indexes = table.indexes.iter().filter(|index| index.state == IndexState::Public);
    let Some(index) = indexes.find(leads) else { return Ok(0) };
    let scan = Scan {
        index: index.id,
        ranges: vec![KeyRange::all()],
        reverse: !index.parts[0].descending,
        filter: None,
        output: ScanOutput::Rows { columns: Columns::All, with_keys: true },
        limit: Some(1),
        lock: Lock::None,
        semi_consistent: false,
        peek: false,
        resume: None,
        shard: None,
    };
    let mut session = client.session();
    let options = ScanOptions { ordered: true, ..ScanOptions::default() };
    let found = match session.scan(table, scan, options).next(&mut session).await {
        Ok(Some(ScanBatch::Rows(batch))) => {
            let layout = table.row_layout();
            match RowView::new(&layout, batch.row(0)).get(usize::from(column)) {
                ValueRef::UInt(value) => Ok(value),
                ValueRef::Int(value) => Ok(u64::try_from(value).unwrap_or(0)),
                _ => Ok(0),
            }
        }
        Ok(Some(ScanBatch::Groups(_))) => unreachable!("the scan asks for rows"),
        Ok(None) => Ok(0),
        Err(refusal) => Err(refusal),
    };
    session.rollback().await;
    found
}

/// Moves the table's next value by `count`; returns its former value.
async fn reserve(client: &Client, table: &Table, count: u64) -> Result<u64, Refusal> {
    let next = Expr::Binary(
        BinaryOp::Add,
        Box::new(Expr::Column(1)),
        Box::new(Expr::Const(Value::UInt(count))),
    );
    let Some(initial) = start_of(table).checked_add(count) else {
        return Err(used_up());
    };
    let after = update(client, table, next, initial, Durability::Memory).await?;
    Ok(after - count)
}

/// Makes the table's next value at least `next`; returns the new value.
async fn raise(
    client: &Client,
    table: &Table,
    next: u64,
    durability: Durability,
) -> Result<u64, Refusal> {
    use types::expr::Function;
    let greatest =
        Expr::Function(Function::Greatest, vec![Expr::Column(1), Expr::Const(Value::UInt(next))]);
    update(client, table, greatest, start_of(table).max(next), durability).await
}

/// Updates the table's row in the table of sequences, or makes it; returns its value then.
async fn update(
    client: &Client,
    table: &Table,
    next: Expr,
    initial: u64,
    durability: Durability,
) -> Result<u64, Refusal> {
    let catalogue = client.catalogue();
    let sequences = catalogue.table_by_id(SEQUENCES).expect("made with the cluster");
    let layout = sequences.row_layout();
    let id = ValueRef::UInt(u64::from(table.id.0));
    let key = types::key::primary_key_of_values(sequences, &[id]).expect("eight bytes");
    let batch = |kind: OpKind| Batch {
        ops: vec![Op { table: SEQUENCES, version: sequences.version, kind }],
        commit: true,
        read_at: ReadAt::Statement,
        settings: EvalSettings { strict: true, ..EvalSettings::default() },
        lock_wait_timeout_ms: 50_000,
        is_waited_for: true,
        // In memory is enough where whoever uses the value commits behind this: what keeps that keeps this.
        durability: Some(durability),
        ..Batch::default()
    };
    // A session of its own: the value stays reserved whatever becomes of the transaction that asked for it.
    let mut session = client.session();
    loop {
        let update = OpKind::Update {
            key: Bytes(key.clone()),
            filter: None,
            assignments: vec![Assignment { column: 1, value: next.clone() }],
            returning: true,
        };
        // One that may have been made leaves a gap, no more.
        let mut result = session.execute(batch(update)).await.map_err(Refusal::of_own_work)?;
        match result.results.pop().and_then(|mut results| results.pop()) {
            Some(OpResult::Updated { row: Some(row), .. }) => {
                return match RowView::new(&layout, &row).get(1) {
                    ValueRef::UInt(value) => Ok(value),
                    other => unreachable!("{other:?} in a BIGINT UNSIGNED column"),
                };
            }
            Some(OpResult::Updated { row: None, .. }) => {}
            other => unreachable!("{other:?} to an update"),
        }
        let row =
            types::row::encode_row(&layout, &[id, ValueRef::UInt(initial)]).expect("sixteen bytes");
        let insert = OpKind::Insert { key: Bytes(key.clone()), row: Bytes(row) };
        match session.execute(batch(insert)).await {
            Ok(_) => return Ok(initial),
            // Somebody else was first: update what they made.
            Err(Refusal::DuplicateKey { .. }) => {}
            Err(refusal) => return Err(refusal.of_own_work()),
        }
    }
}
