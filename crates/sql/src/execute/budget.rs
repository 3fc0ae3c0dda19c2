//! The memory of a statement.
//!
//! All sorts, hash tables and kept rows of a statement take from one budget of `tmp_table_size` bytes ([`Budget`]). An
//! operator has an account of it ([`Held`]). When the budget is used up, an operator that can spill writes its rows to a
//! temporary file; another one ends the statement with error 1038. Whatever the others hold, an operator may hold a
//! sixteenth of the budget, so that none has to spill in tiny pieces: a statement of n operators stays below 1 + n/16
//! budgets, a block of each file, and a batch of rows.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use client::{Client, TempFile, TempFileError};
use types::WorkerId;

use crate::error::{SqlError, code};
use crate::server::{Counters, Server};
use crate::session::KillHandle;

/// An operator may hold this part of the budget, and these bytes, whatever others hold.
const SHARE: usize = 16;
const SHARE_MIN: usize = 2 << 10;

/// Bytes of the blocks that temporary files are written and read in.
const BLOCK_SIZE_MIN: usize = 256;
const BLOCK_SIZE_MAX: usize = 128 << 10;
/// Blocks that a budget is divided into.
const BLOCKS: usize = 256;

/// Sorted runs that are merged at a time.
const MERGE_RUNS_MIN: usize = 8;
const MERGE_RUNS_MAX: usize = 256;
/// Rows take this many times the bytes of their block.
const DECODED: usize = 4;

pub struct Budget {
    limit: usize,
    /// Bytes of all accounts.
    held: Cell<usize>,
    /// Bytes that the temporary files of the node may have.
    space_max: u64,
    client: Client,
    kill: KillHandle,
    server: Arc<Server>,
    worker: WorkerId,
}

/// What a temporary file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    Sort,
    Table,
}

impl Budget {
    pub fn new(
        (limit, space_max): (u64, u64),
        client: Client,
        kill: KillHandle,
        (server, worker): (Arc<Server>, WorkerId),
    ) -> Rc<Budget> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Rc::new(Budget { limit, held: Cell::new(0), space_max, client, kill, server, worker })
    }
    /// A new account.
    pub fn account(self: &Rc<Budget>) -> Held {
        Held { budget: Rc::clone(self), bytes: 0 }
    }
    pub fn block_size(&self) -> usize {
        (self.limit / BLOCKS).clamp(BLOCK_SIZE_MIN, BLOCK_SIZE_MAX)
    }
    /// Sorted runs that are merged at a time: their blocks take a quarter of the budget.
    pub fn merge_runs(&self) -> usize {
        let blocks = self.limit / 4 / (DECODED * self.block_size());
        blocks.clamp(MERGE_RUNS_MIN, MERGE_RUNS_MAX)
    }
    /// Bytes that an operator may hold whatever others hold.
    pub fn share(&self) -> usize {
        (self.limit / SHARE).max(SHARE_MIN)
    }

    pub fn check_killed(&self) -> Result<(), SqlError> {
        self.kill.check()
    }
    /// Runs a long computation on another thread. KILL ends the statement at once; the thread drops the result.
    pub async fn compute<T: Send + 'static>(
        &self,
        compute: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, SqlError> {
        self.finished(self.kill.until_killed(self.client.compute(compute)).await)
    }
    fn finished<T>(
        &self,
        output: Option<Result<T, types::contain::Panicked>>,
    ) -> Result<T, SqlError> {
        match output {
            Some(Ok(output)) => Ok(output),
            Some(Err(panicked)) => Err(SqlError::new(code::ER_INTERNAL_ERROR, panicked.message())),
            None => Err(self.check_killed().expect_err("it was killed")),
        }
    }

    /// A new temporary file.
    pub async fn file(self: &Rc<Budget>, purpose: FileUse) -> Result<Rc<SpillFile>, SqlError> {
        let (files, space_max) = (self.client.temp_files(), self.space_max);
        let made = self.client.on_temp_files(move || files.create(space_max));
        let file = self.finished(self.kill.until_killed(made).await)?;
        let counters = self.counters();
        Counters::add(&counters.temp_files, 1);
        Counters::add(&counters.temp_tables, u64::from(purpose == FileUse::Table));
        Ok(Rc::new(SpillFile { budget: Rc::clone(self), file: file.map_err(file_error)? }))
    }
    fn counters(&self) -> &Counters {
        self.server.counters(self.worker)
    }
    /// Some sorted runs were merged.
    pub fn count_merge(&self) {
        Counters::add(&self.counters().sort_merges, 1);
    }
}

/// A temporary file of an operator. It is gone when the operator and its readers are.
pub struct SpillFile {
    budget: Rc<Budget>,
    file: Arc<dyn TempFile>,
}

impl SpillFile {
    pub fn budget(&self) -> &Rc<Budget> {
        &self.budget
    }
    /// Runs work on the file, on a thread that may wait. KILL ends the statement at once; the thread drops the result.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn TempFile) -> Result<T, TempFileError> + Send + 'static,
    ) -> Result<T, SqlError> {
        let file = Arc::clone(&self.file);
        let output = self.budget.client.on_temp_files(move || work(&*file));
        let output = self.budget.kill.until_killed(output).await;
        self.budget.finished(output)?.map_err(file_error)
    }
    /// Bytes were written.
    pub fn count_written(&self, bytes: u64) {
        Counters::add(&self.budget.counters().temp_bytes, bytes);
    }
}

fn file_error(error: TempFileError) -> SqlError {
    match error {
        TempFileError::LimitReached { space_max } => SqlError::new(
            code::ER_RECORD_FILE_FULL,
            format!(
                "The table '(temporary)' is full: the temporary files of this node would have more than \
                 max_tmp_total_space_usage ({space_max} bytes)"
            ),
        ),
        TempFileError::DeviceFull { file } => SqlError::new(
            code::ER_DISK_FULL,
            format!(
                "Disk full ({file}): no room for a temporary file. Make some, or raise tmp_table_size so that the statement \
                 needs none"
            ),
        ),
        TempFileError::WriteFailed { file, reason } => SqlError::new(
            code::ER_ERROR_ON_WRITE,
            format!("Error writing a temporary file in '{file}': {reason}"),
        ),
        TempFileError::ReadFailed { file, reason } => SqlError::new(
            code::ER_ERROR_ON_READ,
            format!("Error reading a temporary file in '{file}': {reason}"),
        ),
    }
}

/// Bytes of a statement's memory that one operator holds; they are free again when it is dropped.
pub struct Held {
    budget: Rc<Budget>,
    bytes: usize,
}

impl Held {
    pub fn budget(&self) -> &Rc<Budget> {
        &self.budget
    }
    pub fn bytes(&self) -> usize {
        self.bytes
    }
    pub fn take(&mut self, bytes: usize) {
        self.set(self.bytes.saturating_add(bytes));
    }
    pub fn set(&mut self, bytes: usize) {
        let others = self.budget.held.get() - self.bytes;
        // A sum beyond all memory is as far beyond the budget as another one.
        self.bytes = bytes.min(usize::MAX - others);
        self.budget.held.set(others + self.bytes);
    }
    pub fn give(&mut self, bytes: usize) {
        self.set(self.bytes.saturating_sub(bytes));
    }
    /// Is the operator to spill? The budget is used up, and the operator holds more than it may in any case.
    pub fn is_over(&self) -> bool {
        self.budget.limit < self.budget.held.get() && self.budget.share() < self.bytes
    }
    /// For an operator that does not spill: 1038 if it had to.
    pub fn check(&self) -> Result<(), SqlError> {
        match self.is_over() {
            true => Err(SqlError::out_of_statement_memory(self.budget.limit)),
            false => Ok(()),
        }
    }
    pub fn take_checked(&mut self, bytes: usize) -> Result<(), SqlError> {
        self.take(bytes);
        self.check()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.set(0);
    }
}
