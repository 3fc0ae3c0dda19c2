//! Rows in temporary files.
//!
//! A file has *runs* of rows, one behind the other or mixed; a run is a list of *blocks*, each of which has some whole rows.
//! So a reader holds one block, and a writer of many runs one block of each.

use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::Arc;

use client::{TempFile, TempFileError};
use types::Value;
use types::convert::sort_compare;
use types::wire::{Reader, Wire, WireError};

use super::budget::{FileUse, Held, SpillFile};
use super::{Pace, row_size};
use crate::SqlError;
use crate::error::code;

/// The order of rows.
#[derive(Clone, Debug)]
pub enum RowOrder {
    /// By these values: (position, descending).
    Keys(Arc<[(usize, bool)]>),
    /// Of ROLLUP: by the values before the level, which is at `key_count`. A row over all values of a key is behind the
    /// rows of its values.
    Levels { key_count: usize },
}

impl RowOrder {
    /// By the first values.
    pub fn first(count: usize) -> RowOrder {
        RowOrder::Keys((0..count).map(|position| (position, false)).collect())
    }
    pub fn compare(&self, left: &[Value], right: &[Value]) -> Ordering {
        match self {
            RowOrder::Keys(keys) => compare_rows(keys, left, right),
            RowOrder::Levels { key_count } => {
                let level = |row: &[Value]| match row[*key_count] {
                    Value::Int(level) => level as usize,
                    _ => unreachable!("the level is a number"),
                };
                let (left_level, right_level) = (level(left), level(right));
                let shared = left_level.min(right_level);
                let pairs = left[..shared].iter().zip(&right[..shared]);
                pairs
                    .map(|(left, right)| sort_compare(left.as_ref(), right.as_ref()))
                    .find(|ordering| ordering.is_ne())
                    .unwrap_or(Ordering::Equal)
                    .then(right_level.cmp(&left_level))
            }
        }
    }
}

pub fn compare_rows(order: &[(usize, bool)], left: &[Value], right: &[Value]) -> Ordering {
    for &(position, descending) in order {
        let ordering = sort_compare(left[position].as_ref(), right[position].as_ref());
        if ordering != Ordering::Equal {
            return if descending { ordering.reverse() } else { ordering };
        }
    }
    Ordering::Equal
}

/// Where some rows are in their file.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    offset: u64,
    length: usize,
}

/// Rows in a file, in their order.
#[derive(Clone, Debug, Default)]
pub struct Run {
    pub blocks: Vec<Block>,
    pub row_count: usize,
}

/// Encodes rows for one run.
#[derive(Default)]
pub struct RunWriter {
    block: Vec<u8>,
    run: Run,
}

impl RunWriter {
    /// True if the block is long enough to be written.
    pub fn push(&mut self, row: &Vec<Value>, block_size: usize) -> bool {
        row.encode(&mut self.block);
        self.run.row_count += 1;
        block_size <= self.block.len()
    }
    /// Writes the rows that are not written yet, on a thread that may wait.
    fn write_here(&mut self, file: &dyn TempFile) -> Result<(), TempFileError> {
        if !self.block.is_empty() {
            let (offset, length) = (file.append(&self.block)?, self.block.len());
            self.run.blocks.push(Block { offset, length });
            self.block.clear();
        }
        Ok(())
    }
    /// Writes the rows that are not written yet.
    pub async fn write(&mut self, file: &SpillFile) -> Result<(), SqlError> {
        let mut block = std::mem::take(&mut self.block);
        let length = block.len();
        if 0 < length {
            let written = file.run(move |file| {
                let offset = file.append(&block)?;
                block.clear();
                Ok((offset, block))
            });
            let (offset, block) = written.await?;
            file.count_written(length as u64);
            self.run.blocks.push(Block { offset, length });
            self.block = block;
        }
        Ok(())
    }
    /// The run, all of whose rows are written.
    pub fn finish(self) -> Run {
        assert!(self.block.is_empty());
        self.run
    }
}

/// Writes the rows that `rows` makes on the thread that writes them.
pub async fn write_run<R: Iterator<Item = Vec<Value>>>(
    file: &SpillFile,
    rows: impl FnOnce() -> R + Send + 'static,
) -> Result<Run, SqlError> {
    let block_size = file.budget().block_size();
    let written = file.run(move |file| {
        let mut writer = RunWriter::default();
        // The memory of a row is free as soon as it is encoded.
        for row in rows() {
            if writer.push(&row, block_size) {
                writer.write_here(file)?;
            }
        }
        writer.write_here(file)?;
        Ok(writer.finish())
    });
    let run = written.await?;
    file.count_written(run.blocks.iter().map(|block| block.length as u64).sum());
    Ok(run)
}

/// The rows of a block.
pub async fn read_block(file: &SpillFile, block: Block) -> Result<Vec<Vec<Value>>, SqlError> {
    let bytes = file.run(move |file| file.read(block.offset, block.length)).await?;
    decode_rows(&bytes).map_err(|error| {
        SqlError::new(code::ER_ERROR_ON_READ, format!("A temporary file is damaged: {error}"))
    })
}

fn decode_rows(bytes: &[u8]) -> Result<Vec<Vec<Value>>, WireError> {
    let mut input = Reader::new(bytes);
    let mut rows = Vec::new();
    while 0 < input.remaining() {
        rows.push(Vec::<Value>::decode(&mut input)?);
    }
    Ok(rows)
}

/// Reads the rows of a run.
pub struct RunReader {
    file: Rc<SpillFile>,
    blocks: std::vec::IntoIter<Block>,
    rows: std::vec::IntoIter<Vec<Value>>,
    held: Held,
}

impl RunReader {
    pub fn new(file: &Rc<SpillFile>, run: Run) -> RunReader {
        RunReader {
            file: Rc::clone(file),
            blocks: run.blocks.into_iter(),
            rows: Vec::new().into_iter(),
            held: file.budget().account(),
        }
    }
    pub async fn next(&mut self) -> Result<Option<Vec<Value>>, SqlError> {
        loop {
            if let Some(row) = self.rows.next() {
                return Ok(Some(row));
            }
            let Some(block) = self.blocks.next() else {
                self.held.set(0);
                return Ok(None);
            };
            let rows = read_block(&self.file, block).await?;
            self.held.set(rows.iter().map(|row| row_size(row)).sum());
            self.rows = rows.into_iter();
        }
    }
}

/// Several sorted runs as one. Of rows that are equal in their order, those of earlier runs come first.
pub struct Merge {
    order: RowOrder,
    readers: Vec<RunReader>,
    /// The next row of each reader that has one, the last one in order first.
    heads: Vec<(Vec<Value>, usize)>,
    /// Rows that are still wanted.
    wanted: usize,
    pace: Pace,
}

impl Merge {
    pub async fn new(
        order: RowOrder,
        file: &Rc<SpillFile>,
        runs: Vec<Run>,
        wanted: usize,
    ) -> Result<Merge, SqlError> {
        file.budget().count_merge();
        let readers = runs.into_iter().map(|run| RunReader::new(file, run)).collect();
        let mut merge = Merge { order, readers, heads: Vec::new(), wanted, pace: Pace::default() };
        for number in 0..merge.readers.len() {
            merge.read_head(number).await?;
        }
        Ok(merge)
    }
    async fn read_head(&mut self, number: usize) -> Result<(), SqlError> {
        if let Some(row) = self.readers[number].next().await? {
            let is_later = |(head, other): &(Vec<Value>, usize)| {
                self.order.compare(head, &row).then(other.cmp(&number)).is_gt()
            };
            let place = self.heads.partition_point(is_later);
            self.heads.insert(place, (row, number));
        }
        Ok(())
    }
    pub async fn next(&mut self) -> Result<Option<Vec<Value>>, SqlError> {
        if self.wanted == 0 {
            return Ok(None);
        }
        let Some((row, number)) = self.heads.pop() else { return Ok(None) };
        self.wanted -= 1;
        self.pace.row().await;
        self.read_head(number).await?;
        Ok(Some(row))
    }
}

/// Sorted runs in a file, which become few enough to be merged at once.
pub struct Runs {
    pub file: Rc<SpillFile>,
    pub runs: Vec<Run>,
}

impl Runs {
    pub async fn new(held: &Held, purpose: FileUse) -> Result<Runs, SqlError> {
        Ok(Runs { file: held.budget().file(purpose).await?, runs: Vec::new() })
    }
    /// The rows of all runs in order, at most `wanted`.
    pub async fn merged(self, order: RowOrder, wanted: usize) -> Result<Merge, SqlError> {
        let Runs { mut file, mut runs } = self;
        let budget = Rc::clone(file.budget());
        while budget.merge_runs() < runs.len() {
            // The file of this pass is gone with the last reader of it.
            let larger = budget.file(FileUse::Sort).await?;
            let mut merged = Vec::new();
            for some in runs.chunks(budget.merge_runs()) {
                let mut merge = Merge::new(order.clone(), &file, some.to_vec(), wanted).await?;
                let mut writer = RunWriter::default();
                while let Some(row) = merge.next().await? {
                    if writer.push(&row, budget.block_size()) {
                        writer.write(&larger).await?;
                    }
                }
                writer.write(&larger).await?;
                merged.push(writer.finish());
            }
            (file, runs) = (larger, merged);
        }
        Merge::new(order, &file, runs, wanted).await
    }
}
