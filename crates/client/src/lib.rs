//! The native API: sessions, transactions, operations on rows, scans, schema changes. No sockets, no threads.
//!
//! A [`Client`] belongs to one worker of a node; whoever drives the worker (real threads or the simulator) carries requests
//! from it to the worker's kernel and replies back. A [`Session`] is straight-line `async` code over that: it has at most
//! one transaction and one request at a time. The tiny executor in [`task`] polls what a reply or a deadline woke.
//!
//! What does not belong here: SQL, packets, how operations reach their rows.

mod activity;
mod backup;
mod compute;
mod driver;
mod index_build;
mod lock_queue;
mod locking;
mod rows;
mod scan;
mod sequence;
mod server_files;
mod session;
pub mod task;
mod temp_files;
mod temporary;
mod token;
mod user_locks;

pub use activity::{LOCKS_TOLD_MAX, Told};
pub use backup::{BackupRun, BackupWanted};
pub use compute::Computers;
pub use driver::{Client, ShardPlacement};
pub use locking::LockingCursor;
pub use protocol::Refusal;
pub use protocol::control::Durability;
pub use protocol::op::{
    Assignment, Batch, BatchResult, Columns, GroupBatch, KeyRange, Lock, Op, OpKind, OpResult,
    ReadAt, RowBatch, Scan, ScanOutput, WaitPolicy,
};
pub use protocol::report::*;
pub use protocol::request::{Connections, SessionId};
pub use protocol::restart::{LostRange, LostTransaction, NodeLoaded, RestartReport};
pub use protocol::schema::{SchemaChange, SchemaError};
pub use rows::{delete_ops, duplicate_of, insert_ops, replace_ops, unique_entry_key};
pub use scan::{ScanBatch, ScanCursor, ScanOptions};
pub use server_files::{KeptFiles, ServerFile, ServerFileError, ServerFiles};
pub use session::{Canceller, Session};
pub use temp_files::{MemoryFiles, TempFile, TempFileError, TempFiles};
pub use token::{TOKEN_LENGTH_MAX, TokenRefusal};
pub use user_locks::{LockStep, LockWait, Released, USER_LOCK_NAME_BYTES_MAX, UserLocks};
