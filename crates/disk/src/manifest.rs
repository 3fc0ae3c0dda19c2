//! Which checkpoints a part has. Two files take turns: the one that is being written may be torn, the other one is whole.
//!
//! ```text
//!   manifest-{sequence mod 2}:  "skarv-mf" | version u32 | store u64 | sequence u64 | length u32 | payload | crc32c u32 of all before
//!   payload:                    count u32 | for each: number u64 | log from u64 | bytes u64 | crc32c u32 | length u32, contents
//! ```

use crate::DiskError;
use crate::checkpoints::Entry;
use crate::files::Files;
use crate::format::{VERSION, crc, damaged, io_error, list, u32_at, u64_at};

const MAGIC: &[u8; 8] = b"skarv-mf";
const KIND: &str = "manifest";
const HEADER_SIZE: usize = 8 + 4 + 8 + 8 + 4;

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
    /// The newest whole one; none in an empty directory.
    pub fn read(files: &dyn Files) -> Result<Option<Manifest>, DiskError> {
        let slots = list(files, KIND)?;
        let mut found: Vec<Manifest> = Vec::new();
        for slot in &slots {
            let name = format!("{KIND}-{slot}");
            let length = files.length(&name).map_err(io_error(&name))?;
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            let bytes = files.read_at(&name, 0, length).map_err(io_error(&name))?;
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
        files.write_at(&name, 0, &bytes)?;
        files.sync(&name)?;
        files.sync_directory()
    }

    fn encode(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        payload.extend((self.checkpoints.len() as u32).to_le_bytes());
        for entry in &self.checkpoints {
            payload.extend(entry.number.to_le_bytes());
            payload.extend(entry.log_from.to_le_bytes());
            payload.extend(entry.bytes.to_le_bytes());
            payload.extend(entry.crc.to_le_bytes());
            payload.extend((entry.contents.len() as u32).to_le_bytes());
            payload.extend(&entry.contents);
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
        let is_ours = bytes.starts_with(MAGIC) && u32_at(bytes, 8)? == VERSION;
        let (store, sequence) = (u64_at(bytes, 12)?, u64_at(bytes, 20)?);
        let end = HEADER_SIZE.checked_add(u32_at(bytes, 28)? as usize)?;
        if !is_ours || u32_at(bytes, end)? != crc(&[&bytes[..end]]) {
            return None;
        }
        let payload = &bytes[HEADER_SIZE..end];
        let mut at = 4;
        let mut checkpoints = Vec::new();
        for _ in 0..u32_at(payload, 0)? {
            let length = u32_at(payload, at + 28)? as usize;
            let contents = payload.get(at + 32..(at + 32).checked_add(length)?)?;
            checkpoints.push(Entry {
                number: u64_at(payload, at)?,
                log_from: u64_at(payload, at + 8)?,
                bytes: u64_at(payload, at + 16)?,
                crc: u32_at(payload, at + 24)?,
                contents: contents.to_vec(),
            });
            at += 32 + length;
        }
        Some(Manifest { store, sequence, checkpoints })
    }
}
