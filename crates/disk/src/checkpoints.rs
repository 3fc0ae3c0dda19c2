//! The checkpoints of a part: the one that is being written, and those that there are.

use std::sync::Arc;

use crate::DiskError;
use crate::files::Files;
use crate::format::{damaged, io_error, list, numbered};
use crate::manifest::Manifest;
use crate::segment;

pub const KIND: &str = "checkpoint";

/// A checkpoint of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub number: u64,
    /// The log from here on belongs with it.
    pub log_from: u64,
    pub bytes: u64,
    pub crc: u32,
    /// The caller's.
    pub contents: Vec<u8>,
}

/// One that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointFound {
    pub number: u64,
    pub log_from: u64,
    pub contents: Vec<u8>,
}

pub struct Checkpoints {
    files: Arc<dyn Files>,
    pub manifest: Manifest,
    writing: Option<Writing>,
}

struct Writing {
    number: u64,
    bytes: u64,
    crc: u32,
}

impl Checkpoints {
    /// Finds those that the manifest names, and removes files that it does not name. A part that is not new has a manifest.
    pub fn open(files: Arc<dyn Files>, store: u64, is_new: bool) -> Result<Checkpoints, DiskError> {
        let manifest = match Manifest::read(files.as_ref())? {
            Some(manifest) => manifest,
            None if !is_new => return damaged("manifest", "there is none, and there was one"),
            None => {
                let new = Manifest { store, sequence: 1, checkpoints: Vec::new() };
                new.write(files.as_ref()).map_err(io_error("manifest-1"))?;
                new
            }
        };
        for number in list(files.as_ref(), KIND)? {
            if manifest.checkpoints.iter().all(|entry| entry.number != number) {
                let name = numbered(KIND, number);
                files.remove(&name).map_err(io_error(&name))?;
            }
        }
        for entry in &manifest.checkpoints {
            let name = numbered(KIND, entry.number);
            let length = files.length(&name).map_err(io_error(&name))?;
            if length < entry.bytes {
                return damaged(&name, format!("{} bytes, {length} are there", entry.bytes));
            }
        }
        Ok(Checkpoints { files, manifest, writing: None })
    }

    /// Those that there are, the newest first.
    pub fn found(&self) -> Vec<CheckpointFound> {
        let entries = self.manifest.checkpoints.iter().rev();
        let found = entries.map(|entry| CheckpointFound {
            number: entry.number,
            log_from: entry.log_from,
            contents: entry.contents.clone(),
        });
        found.collect()
    }
    pub fn newest(&self) -> Option<u64> {
        self.manifest.checkpoints.last().map(|entry| entry.number)
    }
    /// The log before this is needed by none of them.
    pub fn log_needed(&self) -> u64 {
        self.manifest.checkpoints.iter().map(|entry| entry.log_from).min().unwrap_or(0)
    }

    /// Begins one; another one that was not ended is given up.
    pub fn begin(&mut self) -> std::io::Result<()> {
        self.give_up()?;
        let number = self.manifest.sequence + 1;
        let name = numbered(KIND, number);
        let header = segment::header(self.manifest.store, number);
        self.files.create(&name, 0)?;
        self.writing = Some(Writing { number, bytes: header.len() as u64, crc: 0 });
        self.files.write_at(&name, 0, &header)
    }

    pub fn give_up(&mut self) -> std::io::Result<()> {
        match self.writing.take() {
            Some(writing) => self.files.remove(&numbered(KIND, writing.number)),
            None => Ok(()),
        }
    }

    /// Returns how many bytes that took.
    pub fn add_block(&mut self, raw: &[u8]) -> std::io::Result<u64> {
        let writing = self.writing.as_mut().expect("begun");
        let block = segment::block(self.manifest.store, writing.number, writing.bytes, raw)?;
        self.files.write_at(&numbered(KIND, writing.number), writing.bytes, &block)?;
        writing.bytes += block.len() as u64;
        writing.crc = segment::add_to_crc(writing.crc, &block);
        Ok(block.len() as u64)
    }

    /// It is durable, and named by the manifest.
    pub fn end(&mut self, log_from: u64, contents: Vec<u8>) -> std::io::Result<()> {
        let Writing { number, bytes, crc } = self.writing.as_ref().expect("begun");
        let entry = Entry { number: *number, log_from, bytes: *bytes, crc: *crc, contents };
        let name = numbered(KIND, entry.number);
        self.files.sync(&name)?;
        self.files.sync_directory()?;
        let mut manifest = self.manifest.clone();
        manifest.checkpoints.push(entry);
        self.write_manifest(manifest)?;
        self.writing = None;
        Ok(())
    }

    /// Those before it go.
    pub fn accept(&mut self, number: u64) -> std::io::Result<()> {
        let mut manifest = self.manifest.clone();
        manifest.checkpoints.retain(|entry| number <= entry.number);
        let gone: Vec<u64> = self.manifest.checkpoints.iter().map(|entry| entry.number).collect();
        self.write_manifest(manifest)?;
        for number in gone.into_iter().filter(|gone| *gone < number) {
            self.files.remove(&numbered(KIND, number))?;
        }
        Ok(())
    }

    fn write_manifest(&mut self, manifest: Manifest) -> std::io::Result<()> {
        let manifest = Manifest { sequence: self.manifest.sequence + 1, ..manifest };
        manifest.write(self.files.as_ref())?;
        self.manifest = manifest;
        Ok(())
    }

    /// For one of those that there are.
    pub fn reader(&self, number: u64) -> Result<CheckpointReader, DiskError> {
        let entry = self.manifest.checkpoints.iter().find(|entry| entry.number == number);
        let Some(entry) = entry.cloned() else {
            return damaged(&numbered(KIND, number), "the manifest does not name it");
        };
        Ok(CheckpointReader { files: Arc::clone(&self.files), store: self.manifest.store, entry })
    }
}

pub struct CheckpointReader {
    files: Arc<dyn Files>,
    store: u64,
    entry: Entry,
}

impl CheckpointReader {
    pub fn read(
        &self,
        visit: &mut dyn FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), DiskError> {
        let Entry { number, bytes, crc, .. } = self.entry;
        let name = numbered(KIND, number);
        segment::read(self.files.as_ref(), &name, self.store, number, (bytes, crc), visit)
    }
}
