//! Backups: requests to copy, progress, and the description that a copy has of itself.
//!
//! A backup is a copy of the data that a cluster restart would begin with: of each shard one
//! replica's local checkpoint and the log behind it, up to a global checkpoint. An archive is such
//! a log that continues.

use std::collections::BTreeMap;

use types::wire::{Bytes, Reader, Wire, WireError};
use types::{
    Catalogue, ClusterId, Lineage, NodeId, ShardId, Timestamp, WorkerId, wire_enum, wire_struct,
};

#[derive(Clone, Debug)]
pub enum BackupRequest {
    /// The node is to copy its part of it.
    Begin(Box<BackupPlan>),
    /// How far is the node with the backup that was drawn this number?
    Status { run: u64 },
    /// What the node has copied of it goes.
    Abort { run: u64 },
}
wire_enum!(BackupRequest { 0 => Begin(plan), 1 => Status { run }, 2 => Abort { run } });

#[derive(Clone, Debug)]
pub struct BackupPlan {
    pub contents: BackupContents,
    /// Where to; None: in the node's own directory.
    pub dir: Option<String>,
    pub lock: Option<BackupLock>,
}
wire_struct!(BackupPlan { contents, dir, lock });

/// What the whole of a backup is: every file of it begins with that.
#[derive(Clone, Debug)]
pub struct BackupContents {
    pub cluster: ClusterId,
    /// As its user calls it.
    pub id: u32,
    /// Drawn for this one: files of different ones are not mixed up.
    pub run: u64,
    /// It has exactly the transactions committed up to this.
    pub at: Timestamp,
    /// Unix time in microseconds when that was so, by the clock of the node that began it.
    pub unix_micros: i64,
    pub history: History,
    pub parts: Vec<BackupPart>,
}
wire_struct!(BackupContents { cluster, id, run, at, unix_micros, history, parts });

/// What the control plane knew, without which rows cannot be read.
#[derive(Clone, Debug)]
pub struct History {
    pub lineage: Lineage,
    /// How each lineage before ended.
    pub restarts: BTreeMap<Lineage, Timestamp>,
    pub catalogue: Catalogue,
}
wire_struct!(History { lineage, restarts, catalogue });

/// The shards that one worker of a node keeps: a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupPart {
    pub node: NodeId,
    pub part: WorkerId,
    pub shards: Vec<ShardId>,
}
wire_struct!(BackupPart { node, part, shards });

/// How its files are encrypted.
#[derive(Clone, Debug)]
pub struct BackupLock {
    pub key: SecretKey,
    /// What the key was made of a password with; None: it is not made of one.
    pub password: Option<PasswordSalt>,
}
wire_struct!(BackupLock { key, password });

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordSalt {
    pub salt: Bytes,
    pub iterations: u32,
}
wire_struct!(PasswordSalt { salt, iterations });

/// 32 bytes that no log shows.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey(pub [u8; 32]);

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKey")
    }
}

impl Wire for SecretKey {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        let bytes = input.take(32)?;
        Ok(SecretKey(bytes.try_into().expect("take gave so many")))
    }
}

/// How far a node is with its part of a backup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackupReport {
    pub state: BackupState,
    /// Of checkpoints and logs, as they are in memory.
    pub bytes_read: u64,
    /// Of files.
    pub bytes_written: u64,
    /// Where they are.
    pub dir: String,
}
wire_struct!(BackupReport { state, bytes_read, bytes_written, dir });

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BackupState {
    /// The node knows nothing of it, or has no rows.
    #[default]
    Unknown,
    Running,
    /// All its files are durable.
    Done,
    /// The node's disk has gone past the timestamp already: another one may do.
    TooLate,
    /// Why, in the operator's words.
    Failed(String),
}
wire_enum!(BackupState { 0 => Unknown, 1 => Running, 2 => Done, 3 => TooLate, 4 => Failed(why) });

/// In an archive: by this time everything that was committed up to `at` was on the disks of all members, and the log that stands before
/// this is closed there.
#[derive(Clone, Debug)]
pub struct ArchiveMark {
    pub unix_micros: i64,
    pub at: Timestamp,
    /// If it is another one than at the mark before, and in each file once.
    pub history: Option<History>,
}
wire_struct!(ArchiveMark { unix_micros, at, history });

/// What a file of an archive is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveContents {
    pub cluster: ClusterId,
    pub node: NodeId,
    pub part: WorkerId,
    /// Of the node's part of its disk.
    pub store: u64,
    /// Its log from here on.
    pub from: u64,
}
wire_struct!(ArchiveContents { cluster, node, part, store, from });

/// What the blocks of a backup's or an archive's files are.
#[derive(Clone, Debug)]
pub enum CopyBlock {
    /// The first one of a backup's file: whose part it is, and of which store.
    Backup {
        contents: BackupContents,
        part: u32,
        store: u64,
    },
    /// The first one of an archive's file.
    Archive(ArchiveContents),
    /// Of the local checkpoint: behind these places the log is not in it.
    Begins(Vec<(ShardId, u64)>),
    /// Rows, as they are in the local checkpoint.
    Rows(Bytes),
    /// Entries of the log, each with the place behind it.
    Entries(Vec<(u64, Bytes)>),
    Mark(ArchiveMark),
    /// The last one of a backup's file: the log up to here is in it.
    End {
        up_to: u64,
    },
}
wire_enum!(CopyBlock {
    0 => Backup { contents, part, store },
    1 => Archive(contents),
    2 => Begins(shards),
    3 => Rows(block),
    4 => Entries(entries),
    5 => Mark(mark),
    6 => End { up_to },
});
