//! Identifiers. Each is a newtype, so that a node id cannot be passed where a shard id is meant.

use crate::wire::{Reader, Wire, WireError, encode_short};
use crate::{wire_enum, wire_struct};

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $inner);
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

/// One that is random, or has a place of its own size where it travels.
macro_rules! fixed_id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        id_type!($(#[$doc])* $name($inner));
        wire_struct!($name($inner));
    };
}

/// One that counts: most are small.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        id_type!($(#[$doc])* $name($inner));
        impl Wire for $name {
            fn encode(&self, out: &mut Vec<u8>) {
                encode_short(self.0.into(), out);
            }
            fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
                let number = <$inner>::try_from(input.short()?);
                number.map($name).map_err(|_| WireError::Invalid(stringify!($name)))
            }
        }
    };
}

fixed_id!(
    /// A process of the cluster, as its configuration numbers it (1, 2, ...).
    NodeId(u16)
);
fixed_id!(
    /// A worker (thread) of a node, from 0.
    WorkerId(u16)
);
fixed_id!(
    /// A node group: the nodes that hold the same data.
    GroupId(u16)
);
id!(
    /// The buckets of every table that one worker of a node group keeps: the unit of lock, log and primary.
    /// Numbered over the whole cluster, from 0.
    ShardId(u16)
);
id!(
    /// A slice of the hash space; `BucketId < BUCKET_COUNT`. A versioned map sends buckets to shards.
    BucketId(u16)
);
fixed_id!(
    /// A group's numbered membership. Moved only by a control-plane entry.
    View(u64)
);
id!(
    /// The life of a cluster between two cluster restarts. Written before the restarted cluster serves.
    Lineage(u64)
);
fixed_id!(
    /// The random identity of the directory that a node keeps its files in. Never 0.
    Home(u64)
);
fixed_id!(
    /// A cluster's random identity, drawn when it is created.
    ClusterId(u64)
);
fixed_id!(
    /// A node's boot, random: a restarted node is never taken for the one that died (rule R5).
    Incarnation(u64)
);
impl Incarnation {
    /// As logs and tables write it.
    pub fn text(self) -> String {
        format!("{:016x}", self.0)
    }
}
id!(
    /// A table, unique for the life of the cluster: a dropped table's id is not used again. Hidden tables (unique
    /// secondary keys, sequences) have ids of their own.
    TableId(u32)
);
impl TableId {
    /// Ids of temporary tables have this bit; the control plane gives out none of them.
    const TEMPORARY: u32 = 1 << 31;

    /// The id of a session's temporary table with this number.
    pub fn temporary(number: u32) -> TableId {
        TableId(number | TableId::TEMPORARY)
    }
    /// Is it a table of one session, in its own memory?
    pub fn is_temporary(self) -> bool {
        self.0 & TableId::TEMPORARY != 0
    }
}
id!(
    /// An ordered index of a table, numbered within it; 0 is the primary key's.
    IndexId(u16)
);
id!(
    /// The version of a table's definition; every operation carries the one it was planned with.
    SchemaVersion(u64)
);
id!(
    /// A position in the log of one shard: 1 for its first record, then one more a record.
    LogPosition(u64)
);

/// The number of buckets a cluster hashes primary keys to. A power of two, fixed for ever: 4,096 buckets allow 64
/// groups of 16 shards with four buckets each to spread evenly, and their map is 8 KiB.
pub const BUCKET_COUNT: u16 = 4096;

/// A commit or snapshot timestamp: the sequencer's epoch in the high 16 bits, its counter in the low 48.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub u64);

impl Timestamp {
    pub const ZERO: Timestamp = Timestamp(0);
    /// Reads at `MAX` see the latest committed version of every row.
    pub const MAX: Timestamp = Timestamp(u64::MAX);
    pub const COUNTER_BITS: u32 = 48;

    pub fn new(epoch: u16, counter: u64) -> Timestamp {
        assert!(counter < 1 << Self::COUNTER_BITS);
        Timestamp((u64::from(epoch) << Self::COUNTER_BITS) | counter)
    }
    pub fn epoch(self) -> u16 {
        (self.0 >> Self::COUNTER_BITS) as u16
    }
    pub fn counter(self) -> u64 {
        self.0 & ((1 << Self::COUNTER_BITS) - 1)
    }
}

impl std::fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Timestamp::MAX {
            return write!(f, "latest");
        }
        write!(f, "{}.{}", self.epoch(), self.counter())
    }
}
wire_struct!(Timestamp(u64));

/// A worker of a node: where a message goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Address {
    pub node: NodeId,
    pub worker: WorkerId,
}
wire_struct!(Address { node, worker });

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.node.0, self.worker.0)
    }
}

/// A transaction, named by its coordinator, whose incarnation makes the name unique over restarts of that node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TransactionId {
    pub coordinator: Address,
    pub incarnation: Incarnation,
    pub sequence: u64,
}
impl Wire for TransactionId {
    fn encode(&self, out: &mut Vec<u8>) {
        self.coordinator.encode(out);
        self.incarnation.encode(out);
        encode_short(self.sequence, out);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        let (coordinator, incarnation) = Wire::decode(input)?;
        Ok(TransactionId { coordinator, incarnation, sequence: input.short()? })
    }
}

impl std::fmt::Debug for TransactionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "t{:?}.{:x}.{}", self.coordinator, self.incarnation.0 & 0xffff, self.sequence)
    }
}

/// A transaction, and the shard whose log says whether it is committed: all that is needed to ask what became of it. As text, for
/// clients: `skarv-2.1-0000000000c0ffee-77-3`, the coordinator's node and worker, its boot in hexadecimal, the
/// transaction's number and the shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId {
    pub transaction: TransactionId,
    pub shard: ShardId,
}
wire_struct!(CommitId { transaction, shard });

/// What the text of every [`CommitId`] begins with, and no commit token.
pub const COMMIT_ID_PREFIX: &str = "skarv-";

impl std::fmt::Display for CommitId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let CommitId { transaction: TransactionId { coordinator, incarnation, sequence }, shard } =
            self;
        let Address { node, worker } = coordinator;
        write!(
            f,
            "{COMMIT_ID_PREFIX}{}.{}-{:016x}-{sequence}-{}",
            node.0, worker.0, incarnation.0, shard.0
        )
    }
}

impl std::str::FromStr for CommitId {
    type Err = ();

    /// Reads what `Display` writes, and nothing else.
    fn from_str(text: &str) -> Result<CommitId, ()> {
        fn part<T: std::str::FromStr>(text: Option<&str>) -> Result<T, ()> {
            text.and_then(|text| text.parse().ok()).ok_or(())
        }
        let rest = text.strip_prefix(COMMIT_ID_PREFIX).ok_or(())?;
        let mut parts = rest.split('-');
        let (node, worker) = parts.next().and_then(|part| part.split_once('.')).ok_or(())?;
        let coordinator =
            Address { node: NodeId(part(Some(node))?), worker: WorkerId(part(Some(worker))?) };
        let incarnation = parts.next().and_then(|part| u64::from_str_radix(part, 16).ok());
        let incarnation = Incarnation(incarnation.ok_or(())?);
        let transaction = TransactionId { coordinator, incarnation, sequence: part(parts.next())? };
        let commit = CommitId { transaction, shard: ShardId(part(parts.next())?) };
        // No plus signs, no leading zeros, nothing behind.
        if commit.to_string() == text { Ok(commit) } else { Err(()) }
    }
}

/// What tells a transaction's locks of one index of a table on one shard apart, for as long as it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockName {
    /// The lock of a row, by its place in the shard's lock table.
    Row(u32),
    /// A request that waits, or did until it was granted.
    Wait(u64),
    Range(u64),
}
wire_enum!(LockName { 0 => Row(place), 1 => Wait(token), 2 => Range(number) });
