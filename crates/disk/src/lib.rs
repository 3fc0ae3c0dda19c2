//! What a data node keeps on disk of its rows: redo logs and local checkpoints. Knows no row and no node: records and blocks are bytes.
//!
//! ```text
//!   DIR/part-0/   redo-0000000007  redo-0000000008 ...   the log: records, in groups that became durable together    [`redo`]
//!                 spare-0000000003                       a file of the log that is needed no more, to be used again
//!                 reserve-0000000000 ...                 some that are kept for when the device has no room for another
//!                 rows-0000000002  rows-0000000005 ...   sections of checkpoints: blocks, compressed                  [`segment`]
//!                 manifest-0, manifest-1                 which checkpoints there are, and the log from where on       [`manifest`]
//!   DIR/part-1/   ...
//! ```
//! A *part* belongs to one worker of the node. A thread of its own writes its log: records that
//! came while it wrote go with the next sync (group commit). Another thread writes its checkpoints,
//! at a bounded rate, compressed while no other thread wants the core ([`idle`]). A *place* counts
//! the bytes of records since the log began.
//!
//! No write or sync is tried again after an error (rule R17): the store fails for good, and says so. Only for room it waits, and says so
//! before there is none ([`Room`], rule R21). What is read
//! back is checked: the log's end may be torn, and is cut; a record that was durable and is damaged is an error, whatever comes behind
//! it (rule R18).

mod checkpoints;
pub mod copy;
mod files;
mod format;
mod idle;
mod manifest;
mod pieces;
mod redo;
mod segment;
mod store;
#[cfg(test)]
mod tests;

pub use checkpoints::CheckpointFound;
pub use files::make_dir;
pub use format::is_loss;
pub use store::{Disk, Follower, Held, Options};

/// What a log can still be given, before the device has no room for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Room {
    Ample,
    /// There was none for another file: the log continues in the reserve.
    Reserve,
    /// The reserve is full, too: further records wait in memory.
    Nothing,
    /// A write or sync failed, and nothing is written any more: further records are dropped.
    Failed,
}

/// Sees the records of a log: the place behind each, and its bytes.
pub type VisitRecord<'a> = dyn FnMut(u64, &[u8]) -> Result<(), String> + 'a;

/// What is wrong with a store, and where.
#[derive(Debug)]
pub enum DiskError {
    /// The system refused something.
    Io { file: String, reason: String },
    /// The content is not the one that was written.
    Damaged { file: String, what: String },
    /// The caller's own words.
    Visitor(String),
}

impl DiskError {
    /// The file is in this directory.
    fn within(self, directory: &str) -> DiskError {
        match self {
            DiskError::Io { file, reason } => {
                DiskError::Io { file: format!("{directory}/{file}"), reason }
            }
            DiskError::Damaged { file, what } => {
                DiskError::Damaged { file: format!("{directory}/{file}"), what }
            }
            DiskError::Visitor(what) => DiskError::Visitor(what),
        }
    }
}

impl std::fmt::Display for DiskError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DiskError::Io { file, reason } => write!(f, "{file}: {reason}"),
            DiskError::Damaged { file, what } => write!(f, "{file} is damaged: {what}"),
            DiskError::Visitor(what) => f.write_str(what),
        }
    }
}
impl std::error::Error for DiskError {}
