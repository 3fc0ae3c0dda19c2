//! What records of a log and blocks of a checkpoint, a backup and an archive say, decoded, surveyed and replayed as a restart and a restore
//! do. What is decoded is encoded to what is decoded again.
//!
//! ```text
//!   for each: kind u8 | length u16 | bytes
//! ```

use std::collections::BTreeMap;

use kernel::{PassedOver, Replay, Rows, Survey};
use protocol::backup::CopyBlock;
use protocol::disk::{CheckpointBlock, CheckpointContents, DiskEntry};
use storage::RowChange;
use types::wire::Wire;
use types::{Lineage, ShardId, TableId, Timestamp};

/// Looks at all that it is given.
struct Looking(u64);

impl Rows for Looking {
    fn change(
        &mut self,
        _: ShardId,
        _: TableId,
        key: &[u8],
        change: RowChange<'_>,
        _: Timestamp,
    ) -> Result<(), String> {
        let row = if let RowChange::Put(row) = change { row } else { &[] };
        self.0 += key.iter().chain(row).map(|byte| u64::from(*byte)).sum::<u64>();
        Ok(())
    }
    fn clear(&mut self, _: ShardId) -> Result<(), String> {
        Ok(())
    }
    fn pass_over(&mut self, commit: PassedOver<'_>) {
        self.0 += commit.joined.len() as u64;
    }
}

fn again<T: Wire>(value: &T) {
    let bytes = value.to_bytes();
    assert!(
        T::from_bytes(&bytes).is_ok_and(|again| again.to_bytes() == bytes),
        "encoded otherwise"
    );
}

/// How many of them could be decoded.
pub fn read(bytes: &[u8]) -> usize {
    let at = Timestamp(1 << 20);
    let restarts = BTreeMap::from([(Lineage(1), Timestamp(1 << 10))]);
    let (mut survey, mut replay) = (Survey::default(), Replay::new(at, restarts.clone()));
    let (mut looking, mut decoded) = (Looking(0), 0);
    let (mut rest, mut place) = (bytes, 0);
    while let [kind, low, high, behind @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(behind.len());
        let (bytes, next) = behind.split_at(length);
        rest = next;
        place += length as u64 + 1;
        match kind % 4 {
            0 => {
                if let Ok(entry) = DiskEntry::without_rows(bytes) {
                    survey.add(place, &entry);
                }
                if let Ok(entry) = DiskEntry::from_bytes(bytes) {
                    decoded += 1;
                    again(&entry);
                    let _ = replay.take(place, entry, &mut looking);
                }
            }
            1 => {
                if let Ok(block) = CheckpointBlock::from_bytes(bytes) {
                    decoded += 1;
                    let _ = replay.take_block(block, &mut looking);
                }
            }
            2 => {
                if let Ok(contents) = CheckpointContents::from_bytes(bytes) {
                    decoded += 1;
                    again(&contents);
                    replay.begin_behind(&contents.shards);
                }
            }
            _ => {
                if let Ok(block) = CopyBlock::from_bytes(bytes) {
                    decoded += 1;
                    again(&block);
                }
            }
        }
    }
    for shard in 0..4 {
        let _ = survey.span(ShardId(shard), at, &restarts);
    }
    replay.end(&mut looking);
    decoded
}
