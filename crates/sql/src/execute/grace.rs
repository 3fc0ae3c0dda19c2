//! The hash join of right rows that do not fit into memory (Grace).
//!
//! Rows of both sides go to a file, parted by the hash of their keys: rows of equal keys are in partitions of the same
//! number. Then one partition after the other is joined as usual: its right rows in memory, its left rows as they come.
//! Right rows of a partition that do not fit either, because many have one key, are kept in pieces, all of which each batch
//! of left rows meets. Without keys there is one partition. So left rows come in another order than they were given. Where
//! the plan takes the order of the left rows for that of the result, joined rows are sorted by the numbers of their left
//! rows.

use std::rc::Rc;

use types::Value;
use types::hash::hash64;

use super::batch::Batch;
use super::budget::{Budget, FileUse, Held, SpillFile};
use super::operator::BATCH_ROWS;
use super::runs::{RowOrder, Run, RunReader, RunWriter, read_block};
use super::sort::{SortedRows, Sorter};
use crate::SqlError;
use crate::plan::JoinedSource;

const PARTITIONS_MIN: usize = 4;
const PARTITIONS_MAX: usize = 32;
/// The hash index of a piece takes the low bits of the hash.
const PARTITION_SHIFT: u32 = 32;

/// The rows of one side that are being parted.
pub struct Partitions {
    file: Rc<SpillFile>,
    writers: Vec<RunWriter>,
    /// Rows until now.
    row_count: u64,
}

impl Partitions {
    async fn new(budget: &Rc<Budget>, has_keys: bool) -> Result<Partitions, SqlError> {
        let file = budget.file(FileUse::Table).await?;
        // The blocks that are not full yet take a sixteenth of the budget at most.
        let count = match has_keys {
            true => (budget.share() / budget.block_size()).clamp(PARTITIONS_MIN, PARTITIONS_MAX),
            false => 1,
        };
        let writers = (0..count).map(|_| RunWriter::default()).collect();
        Ok(Partitions { file, writers, row_count: 0 })
    }
    /// Adds a row of a batch by its key; rows without a key are together.
    pub async fn push(
        &mut self,
        batch: &Batch,
        row: usize,
        key: Option<&[u8]>,
    ) -> Result<(), SqlError> {
        let hash = key.map_or(0, hash64) >> PARTITION_SHIFT;
        let count = self.writers.len() as u64;
        let writer = &mut self.writers[(hash % count) as usize];
        let mut packed = batch.packed(row);
        packed.push(Value::UInt(self.row_count));
        self.row_count += 1;
        if writer.push(&packed, self.file.budget().block_size()) {
            writer.write(&self.file).await?;
        }
        Ok(())
    }
    async fn finish(mut self) -> Result<(Rc<SpillFile>, Vec<Run>), SqlError> {
        for writer in &mut self.writers {
            writer.write(&self.file).await?;
        }
        Ok((self.file, self.writers.into_iter().map(RunWriter::finish).collect()))
    }
}

/// Both sides, parted.
pub struct Grace {
    right_file: Rc<SpillFile>,
    right: Vec<Run>,
    left_file: Rc<SpillFile>,
    left: Vec<Run>,
    /// The partition that is joined, and its left rows.
    partition: usize,
    left_rows: RunReader,
    /// The next block of its right rows.
    block: usize,
    /// Its right rows do not fit into memory.
    is_split: bool,
    order: Option<LeftOrder>,
}

/// Joined rows on their way into the order of the left rows.
struct LeftOrder {
    /// Of the left rows at hand.
    numbers: Vec<u64>,
    /// Left number, then the row.
    joined: Option<Sorter>,
    sorted: Option<SortedRows>,
}

impl Grace {
    pub async fn sides(
        budget: &Rc<Budget>,
        has_keys: bool,
    ) -> Result<(Partitions, Partitions), SqlError> {
        Ok((Partitions::new(budget, has_keys).await?, Partitions::new(budget, has_keys).await?))
    }
    /// `in_order`: joined rows are to come in the order of the left rows.
    pub async fn new(
        budget: &Rc<Budget>,
        right: Partitions,
        left: Partitions,
        in_order: bool,
    ) -> Result<Grace, SqlError> {
        let (right_file, right) = right.finish().await?;
        let (left_file, mut left) = left.finish().await?;
        let first = std::mem::take(&mut left[0]);
        Ok(Grace {
            right_file,
            right,
            left_rows: RunReader::new(&left_file, first),
            left_file,
            left,
            partition: 0,
            block: 0,
            is_split: false,
            order: in_order.then(|| LeftOrder {
                numbers: Vec::new(),
                joined: Some(Sorter::new(budget, RowOrder::first(1), None)),
                sorted: None,
            }),
        })
    }

    /// The next left rows of the partition: never none. None: there are no more.
    pub async fn next_left(&mut self, source: &JoinedSource) -> Result<Option<Batch>, SqlError> {
        let mut rows = Batch::default();
        // All pieces of the right side are read for them.
        let bytes_max = if self.is_split { self.left_file.budget().share() } else { 0 };
        let mut size = 0;
        let mut numbers = Vec::new();
        while rows.len() < BATCH_ROWS || size < bytes_max {
            let Some(mut row) = self.left_rows.next().await? else { break };
            numbers.push(number_of(row.pop()));
            size += rows.push_packed(row, source);
        }
        if let Some(order) = &mut self.order {
            order.numbers = numbers;
        }
        Ok((!rows.is_empty()).then_some(rows))
    }
    /// Goes on to the next partition; false if there is none.
    pub fn next_partition(&mut self) -> bool {
        self.partition += 1;
        (self.block, self.is_split) = (0, false);
        let Some(left) = self.left.get_mut(self.partition) else { return false };
        self.left_rows = RunReader::new(&self.left_file, std::mem::take(left));
        true
    }

    /// Reads right rows of the partition until memory is full; true if they are the last ones. Then the next call begins
    /// again.
    pub async fn next_right(
        &mut self,
        source: &JoinedSource,
        rows: &mut Batch,
        held: &mut Held,
    ) -> Result<bool, SqlError> {
        let run = &self.right[self.partition];
        while let Some(block) = run.blocks.get(self.block) {
            self.block += 1;
            for mut row in read_block(&self.right_file, *block).await? {
                row.pop();
                held.take(rows.push_packed(row, source));
            }
            if held.is_over() && self.block < run.blocks.len() {
                self.is_split = true;
                return Ok(false);
            }
        }
        self.block = 0;
        Ok(true)
    }
    /// Do the right rows of the partition come in pieces?
    pub fn is_split(&self) -> bool {
        self.is_split
    }

    /// Are joined rows to be kept ([`Grace::keep_joined`]) until they can be put in order?
    pub fn is_in_order(&self) -> bool {
        self.order.is_some()
    }
    /// Joined rows of the left rows at hand, with the pairs that they are of.
    pub async fn keep_joined(
        &mut self,
        rows: &Batch,
        pairs: &[(u32, u32)],
    ) -> Result<(), SqlError> {
        let order = self.order.as_mut().expect("joined rows are put in order");
        let joined = order.joined.as_mut().expect("no row was read yet");
        for (row, (left, _)) in pairs.iter().enumerate() {
            let mut packed = vec![Value::UInt(order.numbers[*left as usize])];
            packed.extend(rows.packed(row));
            if joined.push(packed) {
                joined.make_room().await?;
            }
        }
        Ok(())
    }
    /// The next joined rows in order, when all partitions are joined.
    pub async fn next_in_order(
        &mut self,
        source: &JoinedSource,
    ) -> Result<Option<Batch>, SqlError> {
        let Some(order) = &mut self.order else { return Ok(None) };
        if let Some(joined) = order.joined.take() {
            order.sorted = Some(joined.finish().await?);
        }
        let sorted = order.sorted.as_mut().expect("all rows are sorted");
        let mut rows = Batch::default();
        while rows.len() < BATCH_ROWS
            && let Some(mut row) = sorted.next().await?
        {
            row.remove(0);
            rows.push_packed(row, source);
        }
        Ok((!rows.is_empty()).then_some(rows))
    }
}

fn number_of(value: Option<Value>) -> u64 {
    match value {
        Some(Value::UInt(number)) => number,
        _ => unreachable!("a parted row ends with its number"),
    }
}
