//! Which checkpoints a part has. Two files take turns: the one that is being written may be torn, the other one is whole.
//!
//! ```text
//!   manifest-{sequence mod 2}:  "skarv-mf" | version u32 | store u64 | sequence u64 | length u32 | payload | crc32c u32 of all before
//!   payload:                    count u32 | for each: number u64 | log from u64 | log to u64 | length u32, contents
//!                                                     | count u32 | for each section: number u64 | bytes u64 | crc32c u32
//! ```

use std::io::ErrorKind;

use crate::DiskError;
use crate::checkpoints::{Entry, Section};
use crate::files::Files;
use crate::format::{VERSION, crc, damaged, io_error, list, u32_at, u64_at};

const MAGIC: &[u8; 8] = b"skarv-mf";
pub const KIND: &str = "manifest";
const HEADER_SIZE: usize = 8 + 4 + 8 + 8 + 4;
const SECTION_SIZE: usize = 8 + 8 + 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Random: no file of another store, or of a store that was here before, is taken for one of this.
    pub store: u64,
    pub sequence: u64,
    /// In the order of their numbers.
    pub checkpoints: Vec<Entry>,
}

fn name(sequence: u64) -> String {
    format!("{KIND}-{}", sequence % 2)
}

impl Manifest {
    /// Whether there is one checkpoint, and no restart is known to be possible with it. The log has
    /// everything since its beginning then, and the logs of other disks may end before the
    /// checkpoint's content: it would be in the way, and the log before it must stay. (The sequence
    /// is its number until the manifest is written again, which accepting it does.)
    pub fn is_first_not_accepted(&self) -> bool {
        matches!(&self.checkpoints[..], [only] if only.number == self.sequence)
    }

    /// The newest whole one; none in an empty directory.
    pub fn read(files: &dyn Files) -> Result<Option<Manifest>, DiskError> {
        let slots = list(files, KIND)?;
        let mut found: Vec<Manifest> = Vec::new();
        for slot in &slots {
            let name = format!("{KIND}-{slot}");
            let length = files.length(&name).map_err(io_error(&name))?;
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let bytes = files.read_at(&name, 0, length).map_err(io_error(&name))?;
            if let Some((version, _)) = whole(&bytes).filter(|(version, _)| *version != VERSION) {
                let reason = format!(
                    "another version of this program wrote it (format {version}, this one reads {VERSION}): start that one, dump its \
                     tables (mysqldump --single-transaction --no-tablespaces --skip-add-locks), and load them into a cluster that \
                     this version has begun"
                );
                return Err(DiskError::Io { file: name, reason });
            }
            found.extend(Manifest::decode(&bytes));
        }
        let newest = found.into_iter().max_by_key(|manifest| manifest.sequence);
        let has_others = !list(files, crate::redo::KIND)?.is_empty();
        if newest.is_none() && has_others {
            return damaged(KIND, "neither of the two can be read, and there is a log");
        }
        Ok(newest)
    }

    /// It is durable, in the place of the one before the last; with it the directory.
    pub fn write(&self, files: &dyn Files) -> std::io::Result<()> {
        let name = name(self.sequence);
        let bytes = self.encode();
        files.create(&name, bytes.len() as u64)?;
        settle(files, &name, &bytes)
    }

    /// The manifest was read, and may not be durable: its writer may have been killed before the
    /// sync, or have died of it. It must be durable before any file is removed that the manifest
    /// before it names.
    pub fn write_again(&self, files: &dyn Files) -> std::io::Result<()> {
        settle(files, &name(self.sequence), &self.encode())
    }

    fn encode(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        payload.extend((self.checkpoints.len() as u32).to_le_bytes());
        for Entry { number, log, sections, contents } in &self.checkpoints {
            payload.extend(number.to_le_bytes());
            payload.extend(log.start.to_le_bytes());
            payload.extend(log.end.to_le_bytes());
            payload.extend((contents.len() as u32).to_le_bytes());
            payload.extend(contents);
            payload.extend((sections.len() as u32).to_le_bytes());
            for Section { number, bytes, crc } in sections {
                payload.extend(number.to_le_bytes());
                payload.extend(bytes.to_le_bytes());
                payload.extend(crc.to_le_bytes());
            }
        }
        let mut bytes = Vec::with_capacity(HEADER_SIZE + payload.len() + 4);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(self.store.to_le_bytes());
        bytes.extend(self.sequence.to_le_bytes());
        bytes.extend((payload.len() as u32).to_le_bytes());
        bytes.extend(payload);
        let crc = crc(&[&bytes]);
        bytes.extend(crc.to_le_bytes());
        bytes
    }

    /// None if it is torn, damaged or of another version.
    pub fn decode(bytes: &[u8]) -> Option<Manifest> {
        let (_, payload) = whole(bytes).filter(|(version, _)| *version == VERSION)?;
        let (store, sequence) = (u64_at(bytes, 12)?, u64_at(bytes, 20)?);
        let mut at = 4;
        let mut checkpoints = Vec::new();
        for _ in 0..u32_at(payload, 0)? {
            let (number, log_from) = (u64_at(payload, at)?, u64_at(payload, at + 8)?);
            let log = log_from..u64_at(payload, at + 16)?;
            let length = u32_at(payload, at + 24)? as usize;
            at += 28;
            let contents = payload.get(at..at.checked_add(length)?)?;
            at += length;
            let count = u32_at(payload, at)? as usize;
            at += 4;
            let listed = payload.get(at..at.checked_add(count.checked_mul(SECTION_SIZE)?)?)?;
            let section = |bytes: &[u8]| {
                let (number, length) = (u64_at(bytes, 0)?, u64_at(bytes, 8)?);
                Some(Section { number, bytes: length, crc: u32_at(bytes, 16)? })
            };
            let sections: Option<_> = listed.chunks_exact(SECTION_SIZE).map(section).collect();
            at += listed.len();
            let (sections, contents) = (sections?, contents.to_vec());
            checkpoints.push(Entry { number, log, sections, contents });
        }
        Some(Manifest { store, sequence, checkpoints })
    }
}

/// Writes the manifest in its place. As with a failed sync, a device that does not have it then is
/// not asked again: the manifest on it would be unknown (rule R17).
fn settle(files: &dyn Files, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    files.write_at(name, 0, bytes)?;
    files.sync(name)?;
    files.sync_directory()?;
    match files.read_from_device(name, 0, bytes.len())? == bytes {
        true => Ok(()),
        false => {
            let what = format!("{name} is not there as it was written");
            Err(std::io::Error::new(ErrorKind::InvalidData, what))
        }
    }
}

/// The version and the payload of a manifest that is as it was written.
fn whole(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let end = HEADER_SIZE.checked_add(u32_at(bytes, 28)? as usize)?;
    let is_whole = bytes.starts_with(MAGIC) && u32_at(bytes, end)? == crc(&[&bytes[..end]]);
    if is_whole { Some((u32_at(bytes, 8)?, &bytes[HEADER_SIZE..end])) } else { None }
}
