//! What a replica gives its disk: the records of its shard's log, one entry each, in the order in which the replica has them.

use types::wire::{Bytes, Reader, Wire, WireError, encode_bytes};
use types::{
    Incarnation, Lineage, LogPosition, ShardId, TableId, Timestamp, TransactionId, wire_enum,
    wire_struct,
};

use crate::message::{CheckpointMark, CopiedVersion, Record, RecordKind};

#[derive(Clone, Debug)]
pub enum DiskEntry {
    /// A record of the log.
    Record { shard: ShardId, lineage: Lineage, position: LogPosition, record: Record },
    /// The COMMIT at this place of the log, which was given without, has got its timestamp.
    Stamped { shard: ShardId, lineage: Lineage, position: LogPosition, ts: Timestamp },
    /// The replica begins empty: its log continues behind `position`, and the disk's earlier content of the shard is obsolete.
    Begun { shard: ShardId, lineage: Lineage, position: LogPosition },
    /// This boot of the node has opened the disk: in its first part.
    Booted { incarnation: Incarnation },
    /// This boot has ended as planned, with its cluster: nothing comes behind that, and the disks have all that it has committed.
    Rested { incarnation: Incarnation },
    /// A global checkpoint is done in which this disk takes part: in its first part, some time
    /// behind the place at which the logs are closed for it. Only a lossy restart reads it: the
    /// disk of a former member may be closed at timestamps for which no checkpoint was done, behind
    /// records that were never decided.
    Checkpointed { mark: CheckpointMark },
}
wire_enum!(DiskEntry {
    0 => Record { shard, lineage, position, record },
    1 => Stamped { shard, lineage, position, ts },
    2 => Begun { shard, lineage, position },
    3 => Booted { incarnation },
    4 => Rested { incarnation },
    5 => Checkpointed { mark },
});

/// Some committed rows of a local checkpoint, where its bytes have them: to copy each takes longer than to load it.
///
/// ```text
///   shard | table | count u32 | rows: key | tag u8 | timestamp | row        the tag is for versions that are not committed: none is here
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointBlock<'a> {
    pub shard: ShardId,
    pub table: TableId,
    pub rows: Vec<CheckpointRow<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointRow<'a> {
    pub key: &'a [u8],
    pub ts: Timestamp,
    pub row: &'a [u8],
}

impl<'a> CheckpointBlock<'a> {
    pub fn from_bytes(bytes: &'a [u8]) -> Result<CheckpointBlock<'a>, WireError> {
        let mut reader = Reader::new(bytes);
        let (shard, table) = (ShardId::decode(&mut reader)?, TableId::decode(&mut reader)?);
        let count = u32::decode(&mut reader)?;
        let count = reader.items(count.into(), CheckpointRow::SIZE_MIN)?;
        let mut rows = Vec::with_capacity(count);
        for _ in 0..count {
            rows.push(CheckpointRow::decode(&mut reader)?);
        }
        if reader.remaining() != 0 {
            return Err(WireError::Trailing);
        }
        Ok(CheckpointBlock { shard, table, rows })
    }
}

impl<'a> CheckpointRow<'a> {
    /// Of its bytes in a block: two lengths, the tag and the timestamp.
    const SIZE_MIN: usize = 1 + 1 + 8 + 1;

    fn decode(reader: &mut Reader<'a>) -> Result<CheckpointRow<'a>, WireError> {
        let key = reader.bytes()?;
        if u8::decode(reader)? != COMMITTED_TAG {
            return Err(WireError::BadTag("row of a checkpoint"));
        }
        Ok(CheckpointRow { key, ts: Timestamp::decode(reader)?, row: reader.bytes()? })
    }
}

/// Makes the bytes of a [`CheckpointBlock`].
pub struct CheckpointBlockWriter {
    bytes: Vec<u8>,
    count_at: usize,
    count: u32,
    /// Of the last block.
    size_last: usize,
}

impl CheckpointBlockWriter {
    pub fn new(shard: ShardId, table: TableId) -> CheckpointBlockWriter {
        let mut bytes = Vec::new();
        shard.encode(&mut bytes);
        table.encode(&mut bytes);
        let count_at = bytes.len();
        0u32.encode(&mut bytes);
        CheckpointBlockWriter { bytes, count_at, count: 0, size_last: 0 }
    }

    pub fn add(&mut self, key: &[u8], ts: Timestamp, row: &[u8]) {
        encode_bytes(key, &mut self.bytes);
        self.bytes.push(COMMITTED_TAG);
        ts.encode(&mut self.bytes);
        encode_bytes(row, &mut self.bytes);
        self.count += 1;
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
    /// Bytes so far.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The block so far; the next one begins.
    pub fn take(&mut self) -> Vec<u8> {
        let next = self.bytes[..self.count_at + size_of::<u32>()].to_vec();
        let mut block = std::mem::replace(&mut self.bytes, next);
        let mut count = Vec::new();
        std::mem::take(&mut self.count).encode(&mut count);
        block[self.count_at..self.count_at + count.len()].copy_from_slice(&count);
        self.size_last = block.len();
        block
    }

    /// What is added from now on goes into this buffer.
    pub fn use_buffer(&mut self, mut buffer: Vec<u8>) {
        buffer.clear();
        // It will be as long as the last one, about: to grow it step by step would copy its rows again.
        buffer.reserve(self.bytes.len().max(self.size_last / 8 * 9));
        buffer.extend_from_slice(&self.bytes);
        self.bytes = buffer;
    }
}

const COMMITTED_TAG: u8 = 0;

/// What a local checkpoint of a part of the disk has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointContents {
    /// Of the rows and the deletions in it: it can be begun with at this or later.
    pub newest: Timestamp,
    pub lineage: Lineage,
    /// The shards, and the place in the part's log behind which entries of each are not in all of it.
    pub shards: Vec<(ShardId, u64)>,
    /// Those of a table in a shard in the order of their keys. The last one has no bound.
    pub sections: Vec<CheckpointSection>,
}
wire_struct!(CheckpointContents { newest, lineage, shards, sections });

/// Rows of a table in a shard, in blocks: those behind the section before it, up to a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointSection {
    /// The part's store knows it by this.
    pub number: u64,
    pub shard: ShardId,
    pub table: TableId,
    /// Of these rows it has the last ones: there may be more since it was written.
    pub up_to: Option<Bytes>,
    /// The place in the part's log behind which entries are not in it.
    pub begin: u64,
    /// When they were copied, and bytes of their blocks.
    pub rows: u64,
    pub bytes: u64,
}
wire_struct!(CheckpointSection { number, shard, table, up_to, begin, rows, bytes });

impl DiskEntry {
    /// Whose log it is of.
    pub fn shard(&self) -> Option<ShardId> {
        match self {
            DiskEntry::Record { shard, .. }
            | DiskEntry::Stamped { shard, .. }
            | DiskEntry::Begun { shard, .. } => Some(*shard),
            DiskEntry::Booted { .. }
            | DiskEntry::Rested { .. }
            | DiskEntry::Checkpointed { .. } => None,
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

/// About how many bytes [`encode_record`] makes, and hardly less.
pub fn record_size(record: &Record) -> usize {
    const OF_RECORD: usize = 1_000;
    const OF_ROW: usize = 64;
    let size =
        |key: &[u8], row: Option<&Bytes>| OF_ROW + key.len() + row.map_or(0, |row| row.len());
    let writes = record.writes.iter().map(|write| size(&write.key, write.row.as_ref()));
    let copied = match &record.kind {
        RecordKind::Copy { rows, .. } => rows.as_slice(),
        _ => &[],
    };
    let copied = copied.iter().map(|row| match &row.version {
        CopiedVersion::Committed(_, value) => size(&row.key, Some(value)),
        CopiedVersion::Pending(pending) => size(&row.key, pending.row.as_ref()),
    });
    OF_RECORD + writes.chain(copied).sum::<usize>()
}

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

    /// What is written row by row is the block that has them, and with any part of it away or wrong it is none.
    #[test]
    fn blocks_are_written_row_by_row() {
        let mut writer = CheckpointBlockWriter::new(ShardId(300), TableId(7));
        for count in [3u8, 0, 200] {
            let written: Vec<(Vec<u8>, Vec<u8>)> =
                (0..count).map(|n| (vec![n; 3], vec![9; usize::from(n) * 2])).collect();
            let rows: Vec<CheckpointRow<'_>> = written
                .iter()
                .zip(0..)
                .map(|((key, row), n)| CheckpointRow { key, ts: Timestamp(n << 40), row })
                .collect();
            for CheckpointRow { key, ts, row } in &rows {
                writer.add(key, *ts, row);
            }
            assert_eq!(writer.is_empty(), count == 0);
            let mut bytes = writer.take();
            let block = CheckpointBlock { shard: ShardId(300), table: TableId(7), rows };
            assert_eq!(CheckpointBlock::from_bytes(&bytes), Ok(block));
            for end in 0..bytes.len() {
                let cut = CheckpointBlock::from_bytes(&bytes[..end]);
                assert_eq!(cut, Err(WireError::Truncated), "{end} bytes");
            }
            bytes.push(0);
            assert_eq!(CheckpointBlock::from_bytes(&bytes), Err(WireError::Trailing));
            if count != 0 {
                let tag = writer.size() + 1 + 3;
                bytes[tag] = 1;
                let wrong = CheckpointBlock::from_bytes(&bytes);
                assert_eq!(wrong, Err(WireError::BadTag("row of a checkpoint")));
            }
        }
    }

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
            DiskEntry::Checkpointed {
                mark: CheckpointMark { at: Timestamp(7), lineage, table_id_next: 5 },
            },
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
