//! What a replica gives its disk: the records of its shard's log, one entry each, in the order in which the replica has them.

use types::wire::{Reader, Wire, WireError};
use types::{
    Incarnation, Lineage, LogPosition, ShardId, TableId, Timestamp, TransactionId, wire_enum,
    wire_struct,
};

use crate::message::{CopiedRow, Record, RecordKind};

#[derive(Clone, Debug)]
pub enum DiskEntry {
    /// A record of the log.
    Record { shard: ShardId, lineage: Lineage, position: LogPosition, record: Record },
    /// The COMMIT at this place of the log, which was given without, has got its timestamp.
    Stamped { shard: ShardId, lineage: Lineage, position: LogPosition, ts: Timestamp },
    /// The replica begins with nothing: its log goes on behind `position`, and what the disk has of the shard is of another one.
    Begun { shard: ShardId, lineage: Lineage, position: LogPosition },
    /// This boot of the node has opened the disk: in its first part.
    Booted { incarnation: Incarnation },
    /// This boot has ended as planned, with its cluster: nothing comes behind that, and the disks have all that it has committed.
    Rested { incarnation: Incarnation },
}
wire_enum!(DiskEntry {
    0 => Record { shard, lineage, position, record },
    1 => Stamped { shard, lineage, position, ts },
    2 => Begun { shard, lineage, position },
    3 => Booted { incarnation },
    4 => Rested { incarnation },
});

/// Some committed rows of a local checkpoint.
#[derive(Clone, Debug)]
pub struct CheckpointBlock {
    pub shard: ShardId,
    pub table: TableId,
    pub rows: Vec<CopiedRow>,
}
wire_struct!(CheckpointBlock { shard, table, rows });

/// What a local checkpoint of a part of the disk has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointContents {
    /// Of the rows and the deletions in it: it can be begun with at this or later.
    pub newest: Timestamp,
    pub lineage: Lineage,
    /// The shards, and the place in the part's log behind which entries of each are not in it.
    pub shards: Vec<(ShardId, u64)>,
}
wire_struct!(CheckpointContents { newest, lineage, shards });

impl DiskEntry {
    /// Whose log it is of.
    pub fn shard(&self) -> Option<ShardId> {
        match self {
            DiskEntry::Record { shard, .. }
            | DiskEntry::Stamped { shard, .. }
            | DiskEntry::Begun { shard, .. } => Some(*shard),
            DiskEntry::Booted { .. } | DiskEntry::Rested { .. } => None,
        }
    }

    /// All of it but a record's rows, which are most of the work.
    pub fn without_rows(bytes: &[u8]) -> Result<DiskEntry, WireError> {
        if bytes.first() != Some(&RECORD_TAG) {
            return DiskEntry::from_bytes(bytes);
        }
        let mut reader = Reader::new(&bytes[1..]);
        let input = &mut reader;
        let (shard, lineage) = (ShardId::decode(input)?, Lineage::decode(input)?);
        let position = LogPosition::decode(input)?;
        let transaction = TransactionId::decode(input)?;
        let kind = RecordKind::decode(input)?;
        let record = Record { transaction, kind, writes: Vec::new() };
        Ok(DiskEntry::Record { shard, lineage, position, record })
    }
}

const RECORD_TAG: u8 = 0;

/// The bytes of a [`DiskEntry::Record`], of a record that is needed afterwards.
pub fn encode_record(
    shard: ShardId,
    lineage: Lineage,
    position: LogPosition,
    record: &Record,
    out: &mut Vec<u8>,
) {
    out.push(RECORD_TAG);
    shard.encode(out);
    lineage.encode(out);
    position.encode(out);
    record.encode(out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{RecordKind, Write};
    use types::wire::Bytes;
    use types::{TableId, TransactionId};

    /// What is written comes back, and a record that is encoded by itself is the same as the entry.
    #[test]
    fn entries_come_back() {
        let (shard, lineage, position) = (ShardId(3), Lineage(2), LogPosition(9));
        let record = Record {
            transaction: TransactionId::default(),
            kind: RecordKind::Closed { at: Timestamp(7) },
            writes: vec![Write { table: TableId(4), key: Bytes(vec![1]), row: None }],
        };
        let mut bytes = Vec::new();
        encode_record(shard, lineage, position, &record, &mut bytes);
        let entry = DiskEntry::Record { shard, lineage, position, record };
        assert_eq!(entry.to_bytes(), bytes);
        let without = DiskEntry::without_rows(&bytes).expect("just written");
        let DiskEntry::Record { record, position: at, .. } = without else { panic!("a record") };
        assert_eq!(
            (at, record.kind, record.writes.len()),
            (position, RecordKind::Closed { at: Timestamp(7) }, 0)
        );
        for entry in [
            entry,
            DiskEntry::Stamped { shard, lineage, position, ts: Timestamp(5) },
            DiskEntry::Begun { shard, lineage, position },
            DiskEntry::Booted { incarnation: Incarnation(4) },
            DiskEntry::Rested { incarnation: Incarnation(4) },
        ] {
            let bytes = entry.to_bytes();
            let decoded = DiskEntry::from_bytes(&bytes).expect("just written");
            assert_eq!(decoded.to_bytes(), bytes);
            for end in 0..bytes.len() {
                assert!(DiskEntry::from_bytes(&bytes[..end]).is_err(), "cut at {end}");
                let _ = DiskEntry::without_rows(&bytes[..end]);
            }
        }
    }
}
