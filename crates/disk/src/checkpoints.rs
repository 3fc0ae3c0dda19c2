//! The checkpoints of a part: the one that is being written, and those that there are.
//!
//! A checkpoint consists of sections, a file each. One that is not written again is kept: it belongs to the next checkpoint as well, and
//! its file stays until no checkpoint has it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::DiskError;
use crate::files::Files;
use crate::format::{damaged, io_error, list, numbered};
use crate::manifest::{self, Manifest};
use crate::segment::{self, Packed, SectionReader};

pub const KIND: &str = "rows";

/// A checkpoint of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub number: u64,
    /// The log from its start on belongs with it, and without that up to its end it is of no use.
    pub log: Range<u64>,
    pub sections: Vec<Section>,
    /// The caller's.
    pub contents: Vec<u8>,
}

/// A file of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// The caller's: no two of a part have the same, as long as one of them is there.
    pub number: u64,
    pub bytes: u64,
    /// Of the headers of its blocks.
    pub crc: u32,
}

impl Section {
    pub fn name(&self) -> String {
        numbered(KIND, self.number)
    }
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
    /// All that it names, by their numbers.
    named: BTreeMap<u64, Section>,
    writing: Option<Writing>,
}

#[derive(Default)]
struct Writing {
    /// Those that are kept, and the new ones that are proved, in the order in which they were given.
    sections: Vec<Section>,
    /// The one that is being written, or proved.
    current: Option<Section>,
}

impl Checkpoints {
    /// Finds those that the manifest names, and removes files that it does not name. A part that is not new has a manifest.
    pub fn open(files: Arc<dyn Files>, store: u64, is_new: bool) -> Result<Checkpoints, DiskError> {
        let manifest = match Manifest::read(files.as_ref())? {
            Some(manifest) if manifest.is_first_not_accepted() => {
                // The other slot goes when the next one is written: this one may be nowhere but in the system's memory.
                manifest.write_again(files.as_ref()).map_err(io_error(manifest::KIND))?;
                let sequence = manifest.sequence + 1;
                let without = Manifest { sequence, checkpoints: Vec::new(), ..manifest };
                without.write(files.as_ref()).map_err(io_error(manifest::KIND))?;
                without
            }
            Some(manifest) => {
                manifest.write_again(files.as_ref()).map_err(io_error(manifest::KIND))?;
                manifest
            }
            None if !is_new => return damaged("manifest", "there is none, and there was one"),
            None => {
                let new = Manifest { store, sequence: 1, checkpoints: Vec::new() };
                // Nothing is lost with it, whatever the error: there is nothing to be put aside.
                new.write(files.as_ref()).map_err(|error| DiskError::Io {
                    file: "manifest-1".into(),
                    reason: error.to_string(),
                })?;
                new
            }
        };
        let named = named_by(&manifest);
        for number in list(files.as_ref(), KIND)? {
            if !named.contains_key(&number) {
                let name = numbered(KIND, number);
                files.remove(&name).map_err(io_error(&name))?;
            }
        }
        for section in named.values() {
            let name = section.name();
            let length = files.length(&name).map_err(io_error(&name))?;
            if length < section.bytes {
                return damaged(&name, format!("{} bytes, {length} are there", section.bytes));
            }
        }
        Ok(Checkpoints { files, manifest, named, writing: None })
    }

    /// Those that there are, the newest first.
    pub fn found(&self) -> Vec<CheckpointFound> {
        let entries = self.manifest.checkpoints.iter().rev();
        let found = entries.map(|entry| CheckpointFound {
            number: entry.number,
            log_from: entry.log.start,
            contents: entry.contents.clone(),
        });
        found.collect()
    }
    pub fn newest(&self) -> Option<u64> {
        self.manifest.checkpoints.last().map(|entry| entry.number)
    }
    /// The log before this is needed by none of them.
    pub fn log_needed(&self) -> u64 {
        self.manifest.checkpoints.iter().map(|entry| entry.log.start).min().unwrap_or(0)
    }
    /// The log was durable up to here when the first that there is was accepted.
    pub fn log_accepted(&self) -> u64 {
        self.manifest.checkpoints.first().map_or(0, |entry| entry.log.end)
    }

    /// Begins one; another one that was not ended is given up.
    pub fn begin(&mut self) -> std::io::Result<()> {
        self.give_up()?;
        self.writing = Some(Writing::default());
        Ok(())
    }

    pub fn give_up(&mut self) -> std::io::Result<()> {
        let Writing { sections, current } = self.writing.take().unwrap_or_default();
        let is_new = |section: &&Section| !self.named.contains_key(&section.number);
        let mut new = sections.iter().chain(&current).filter(is_new);
        new.try_for_each(|section| self.files.remove(&section.name()))
    }

    /// The blocks from now on are of a section of this number, which no other one has. The one before it is ended.
    pub fn begin_section(&mut self, number: u64) -> std::io::Result<()> {
        let header = segment::header(self.manifest.store, number);
        let section = Section { number, bytes: header.len() as u64, crc: 0 };
        let writing = self.writing.as_mut().expect("begun");
        assert!(writing.current.is_none(), "the one before it is not proved");
        let is_taken = writing.sections.iter().any(|other| other.number == number);
        assert!(!is_taken && !self.named.contains_key(&number), "section {number} is there");
        self.files.create(&section.name(), 0)?;
        // Named before it is written, so that it goes if it is given up.
        writing.current = Some(section);
        self.files.write_at(&section.name(), 0, &header)
    }

    /// Makes the section under way durable. Returns the reader that proves it, `None` without a section; the section ends when
    /// the reader has proved it (rule R19), which takes a while. A checkpoint may have more sections than a process may have
    /// open files.
    pub fn sync_section(&mut self) -> std::io::Result<Option<SectionReader>> {
        let Some(section) = self.writing.as_ref().expect("begun").current else { return Ok(None) };
        self.files.sync(&section.name())?;
        self.files.close(&section.name());
        let (files, store) = (Arc::clone(&self.files), self.manifest.store);
        Ok(Some(SectionReader { files, store, section }))
    }

    /// It was proved.
    pub fn end_section(&mut self) {
        let writing = self.writing.as_mut().expect("begun");
        writing.sections.extend(writing.current.take());
    }

    /// A section of a checkpoint that there is belongs to this one as well.
    pub fn keep_section(&mut self, number: u64) {
        let section = self.named.get(&number).expect("of a checkpoint that there is");
        self.writing.as_mut().expect("begun").sections.push(*section);
    }

    /// Returns how many bytes that took.
    pub fn add_block(&mut self, block: Packed) -> std::io::Result<u64> {
        let writing = self.writing.as_mut().expect("begun");
        let section = writing.current.as_mut().expect("its section is begun");
        let block = segment::block(self.manifest.store, section.number, section.bytes, &block);
        self.files.write_at(&section.name(), section.bytes, &block)?;
        section.bytes += block.len() as u64;
        section.crc = segment::add_to_crc(section.crc, &block);
        Ok(block.len() as u64)
    }

    /// It is durable, and named by the manifest. Its last section is ended.
    pub fn end(&mut self, log: Range<u64>, contents: Vec<u8>) -> std::io::Result<()> {
        let Writing { sections, current } = self.writing.as_ref().expect("begun");
        assert!(current.is_none(), "its last section is not proved");
        if !sections.iter().all(|section| self.named.contains_key(&section.number)) {
            self.files.sync_directory()?;
        }
        let sections = sections.clone();
        let number = self.manifest.sequence + 1;
        let mut manifest = self.manifest.clone();
        manifest.checkpoints.push(Entry { number, log, sections, contents });
        self.write_manifest(manifest)?;
        self.writing = None;
        Ok(())
    }

    /// Removes the checkpoints before it, except those up to `held_to`, which a reader may use.
    pub fn accept(&mut self, number: u64, held_to: Option<u64>) -> std::io::Result<()> {
        self.keep(|entry| number <= entry.number || Some(entry.number) <= held_to)
    }

    /// The log ends here. A checkpoint may be durable before the log behind which it begins; when
    /// that log is lost, other records take its places, and the checkpoint would count them as its
    /// own.
    pub fn on_log_end(&mut self, log_end: u64) -> std::io::Result<()> {
        let is_left = |entry: &Entry| entry.log.end <= log_end;
        match self.manifest.checkpoints.iter().all(is_left) {
            true => Ok(()),
            false => self.keep(is_left),
        }
    }

    /// The others go.
    fn keep(&mut self, is_kept: impl Fn(&Entry) -> bool) -> std::io::Result<()> {
        let mut manifest = self.manifest.clone();
        manifest.checkpoints.retain(is_kept);
        let before = self.write_manifest(manifest)?;
        // What the next checkpoint keeps is of one that may be relied on, so it stays.
        let is_left = |section: &&Section| self.named.contains_key(&section.number);
        let mut gone = before.values().filter(|section| !is_left(section));
        gone.try_for_each(|section| self.files.remove(&section.name()))
    }

    /// Returns what the one before it named.
    fn write_manifest(&mut self, manifest: Manifest) -> std::io::Result<BTreeMap<u64, Section>> {
        let manifest = Manifest { sequence: self.manifest.sequence + 1, ..manifest };
        manifest.write(self.files.as_ref())?;
        self.manifest = manifest;
        Ok(std::mem::replace(&mut self.named, named_by(&self.manifest)))
    }

    /// For one of those that there are.
    pub fn reader(&self, number: u64) -> Result<CheckpointReader, DiskError> {
        let entry = self.manifest.checkpoints.iter().find(|entry| entry.number == number);
        let Some(entry) = entry.cloned() else {
            return damaged("manifest", format!("it does not name checkpoint {number}"));
        };
        Ok(CheckpointReader { files: Arc::clone(&self.files), store: self.manifest.store, entry })
    }
}

fn named_by(manifest: &Manifest) -> BTreeMap<u64, Section> {
    let sections = manifest.checkpoints.iter().flat_map(|entry| &entry.sections);
    sections.map(|section| (section.number, *section)).collect()
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
        self.entry.sections.iter().try_for_each(|section| {
            let (files, store, section) = (Arc::clone(&self.files), self.store, *section);
            SectionReader { files, store, section }.read(visit)
        })
    }
}
