//! The few things that are done with files, so that tests can do them elsewhere.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use rustix::fs::{Advice, FallocateFlags, OFlags};
use rustix::io::Errno;

use crate::format::{BLOCK, DEVICE_BLOCK};

/// The files of one part.
pub trait Files: Send + Sync {
    fn list(&self) -> Result<Vec<String>>;
    /// A new file of this many zeros, allocated on the device. Removed again if there is no room for them.
    fn create(&self, name: &str, zeros: u64) -> Result<()>;
    /// The same for a file that may never be used: nothing is written where the system can keep the places otherwise.
    fn keep_places(&self, name: &str, zeros: u64) -> Result<()>;
    /// Bytes that are free on the device, as far as the system says.
    fn room(&self) -> Result<u64>;
    fn write_at(&self, name: &str, at: u64, bytes: &[u8]) -> Result<()>;
    /// What is behind this place goes, with its place on the device. That need not be durable.
    fn cut(&self, name: &str, length: u64) -> Result<()>;
    /// An error of a sync is never one of room: the content of the file is unknown then.
    fn sync(&self, name: &str) -> Result<()>;
    /// The file is not used again soon.
    fn close(&self, name: &str);
    /// Makes created, renamed and removed files durable.
    fn sync_directory(&self) -> Result<()>;
    fn rename(&self, from: &str, to: &str) -> Result<()>;
    fn remove(&self, name: &str) -> Result<()>;
    fn length(&self, name: &str) -> Result<u64>;
    /// Replaces `bytes` by the bytes that there are, at most `length`.
    fn read_into(&self, name: &str, at: u64, length: usize, bytes: &mut Vec<u8>) -> Result<()>;
    fn read_at(&self, name: &str, at: u64, length: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read_into(name, at, length, &mut bytes)?;
        Ok(bytes)
    }
    /// The same of a file that is durable, from the device itself: what the system remembers of it is no proof that it is there.
    fn read_from_device(&self, name: &str, at: u64, length: usize) -> Result<Vec<u8>>;
}

pub fn is_no_room(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// The error of a sync.
pub fn not_of_room(error: Error) -> Error {
    if is_no_room(&error) { Error::other(format!("a sync failed: {error}")) } else { error }
}

/// Makes a directory, and those above it that are missing, with these permissions. That they are there is durable, too: a file that was
/// synced is found only where its directories are.
pub fn make_dir(path: &Path, mode: u32) -> Result<()> {
    let missing = path.ancestors().skip(1).take_while(|dir| !dir.exists()).count();
    DirBuilder::new().recursive(true).mode(mode).create(path)?;
    // Its own entry in any case: whoever made it may have been killed before this.
    for dir in path.ancestors().take(1 + missing) {
        let parent = dir.parent().map(|parent| match parent.as_os_str().is_empty() {
            true => Path::new("."),
            false => parent,
        });
        match parent.map(|parent| File::open(parent)?.sync_all()) {
            // Who may make something in a directory may not be let to read it.
            Some(Err(error)) if error.kind() == ErrorKind::PermissionDenied => {}
            Some(synced) => synced.map_err(not_of_room)?,
            None => {}
        }
    }
    Ok(())
}

/// A directory of the system. Whole blocks go to the device past the system's cache: no thread
/// reads a log while the node runs, and a copy of it there would take the processor's caches from
/// the workers.
pub struct Directory {
    path: PathBuf,
    open: Mutex<BTreeMap<String, Arc<OpenFile>>>,
    /// The file system cannot do that.
    is_cached: AtomicBool,
}

struct OpenFile {
    file: File,
    /// The same, past the cache.
    direct: OnceLock<File>,
}

/// Zeros are written in pieces of this size. They are in the program: allocated memory would have to be cleared.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

impl Directory {
    pub fn new(path: &Path) -> Directory {
        let (path, is_cached) = (path.to_path_buf(), AtomicBool::new(false));
        Directory { path, open: Mutex::default(), is_cached }
    }
    fn file(&self, name: &str) -> Result<Arc<OpenFile>> {
        let mut open = self.open.lock().expect("nobody panics while holding this lock");
        if let Some(file) = open.get(name) {
            return Ok(Arc::clone(file));
        }
        let file = OpenOptions::new().read(true).write(true).open(self.path.join(name))?;
        let file = Arc::new(OpenFile { file, direct: OnceLock::new() });
        Ok(Arc::clone(open.entry(name.to_string()).or_insert(file)))
    }
    /// Does something past the cache; none if that cannot be done.
    fn past_the_cache<T>(
        &self,
        name: &str,
        file: &OpenFile,
        work: impl FnOnce(&File) -> Result<T>,
    ) -> Result<Option<T>> {
        if self.is_cached.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let done = match self.direct(name, file) {
            // No file can be opened now: this once it goes without.
            Err(error) if error.kind() != ErrorKind::InvalidInput => return Ok(None),
            direct => direct.and_then(work),
        };
        match done {
            // Its blocks are larger, or it has nothing like that: it says so before it has done any of it.
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                self.is_cached.store(true, Ordering::Relaxed);
                Ok(None)
            }
            done => done.map(Some),
        }
    }
    fn direct<'a>(&self, name: &str, file: &'a OpenFile) -> Result<&'a File> {
        if let Some(direct) = file.direct.get() {
            return Ok(direct);
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(OFlags::DIRECT.bits() as i32);
        let opened = options.open(self.path.join(name))?;
        Ok(file.direct.get_or_init(|| opened))
    }
    /// Writes it past the cache; false if that cannot be done.
    fn write_direct(&self, name: &str, file: &OpenFile, at: u64, bytes: &[u8]) -> Result<bool> {
        let is_aligned = |place: usize| place.is_multiple_of(BLOCK);
        let places = [at as usize, bytes.len(), bytes.as_ptr().addr()];
        if !places.into_iter().all(is_aligned) {
            return Ok(false);
        }
        let written = self.past_the_cache(name, file, |direct| direct.write_all_at(bytes, at))?;
        Ok(written.is_some())
    }
    /// Has something been done with it past the cache, and was nothing of any file refused there?
    #[cfg(test)]
    pub fn has_passed_the_cache(&self, name: &str) -> bool {
        let file = self.file(name).expect("it is there");
        !self.is_cached.load(Ordering::Relaxed) && file.direct.get().is_some()
    }
    fn forget(&self, name: &str) {
        self.open.lock().expect("nobody panics while holding this lock").remove(name);
    }
}

/// A file that is being made, and of which nothing is left if there is no room for it.
fn made(path: &Path, fill: impl FnOnce(&mut File) -> Result<()>) -> Result<()> {
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
    let filled = fill(&mut file);
    if filled.is_err() {
        std::fs::remove_file(path)?;
    }
    filled
}

fn write_zeros(file: &mut File, zeros: u64) -> Result<()> {
    let mut left = zeros;
    while left > 0 {
        let count = left.min(ZEROS.len() as u64);
        file.write_all(&ZEROS[..count as usize])?;
        left -= count;
    }
    Ok(())
}

impl Files for Directory {
    fn list(&self) -> Result<Vec<String>> {
        let entries = std::fs::read_dir(&self.path)?;
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }
    fn create(&self, name: &str, zeros: u64) -> Result<()> {
        self.forget(name);
        made(&self.path.join(name), |file| write_zeros(file, zeros))
    }
    fn keep_places(&self, name: &str, zeros: u64) -> Result<()> {
        self.forget(name);
        made(&self.path.join(name), |file| {
            match rustix::fs::fallocate(&*file, FallocateFlags::empty(), 0, zeros) {
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_zeros(file, zeros),
                kept => Ok(kept?),
            }
        })
    }
    fn room(&self) -> Result<u64> {
        let device = rustix::fs::statvfs(&self.path)?;
        Ok(device.f_bavail.saturating_mul(device.f_frsize))
    }
    fn write_at(&self, name: &str, at: u64, bytes: &[u8]) -> Result<()> {
        let file = self.file(name)?;
        match self.write_direct(name, &file, at, bytes)? {
            true => Ok(()),
            false => file.file.write_all_at(bytes, at),
        }
    }
    fn cut(&self, name: &str, length: u64) -> Result<()> {
        self.file(name)?.file.set_len(length)
    }
    fn sync(&self, name: &str) -> Result<()> {
        self.file(name)?.file.sync_data().map_err(not_of_room)
    }
    fn close(&self, name: &str) {
        self.forget(name);
    }
    fn sync_directory(&self) -> Result<()> {
        File::open(&self.path)?.sync_all().map_err(not_of_room)
    }
    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.forget(to);
        std::fs::rename(self.path.join(from), self.path.join(to))?;
        // Behind it: a reader for which the log is not kept may have opened the file a moment ago.
        self.forget(from);
        self.forget(to);
        Ok(())
    }
    fn remove(&self, name: &str) -> Result<()> {
        std::fs::remove_file(self.path.join(name))?;
        self.forget(name);
        Ok(())
    }
    fn length(&self, name: &str) -> Result<u64> {
        Ok(std::fs::metadata(self.path.join(name))?.len())
    }
    fn read_into(&self, name: &str, at: u64, length: usize, bytes: &mut Vec<u8>) -> Result<()> {
        let file = self.file(name)?;
        let there = file.file.metadata()?.len().saturating_sub(at);
        bytes.resize(length.min(usize::try_from(there).unwrap_or(length)), 0);
        file.file.read_exact_at(bytes, at)
    }
    fn read_from_device(&self, name: &str, at: u64, length: usize) -> Result<Vec<u8>> {
        let block = DEVICE_BLOCK as u64;
        let file = self.file(name)?;
        let end = file.file.metadata()?.len().min(at.saturating_add(length as u64));
        let blocks = at / block * block..end.next_multiple_of(block);
        if end <= at {
            return Ok(Vec::new());
        }
        let read = |direct: &File| {
            let length = (blocks.end - blocks.start) as usize;
            let mut bytes = vec![0; length + DEVICE_BLOCK];
            let begin = bytes.as_ptr().align_offset(DEVICE_BLOCK);
            let mut wanted = &mut bytes[begin..begin + length];
            // The last block may be there in part.
            let mut at_next = blocks.start;
            while at_next < end {
                match direct.read_at(wanted, at_next) {
                    Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                    Ok(count) => (wanted, at_next) = (&mut wanted[count..], at_next + count as u64),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            bytes.truncate(begin + (end - blocks.start) as usize);
            bytes.drain(..begin + (at - blocks.start) as usize);
            Ok(bytes)
        };
        match self.past_the_cache(name, &file, read)? {
            Some(bytes) => Ok(bytes),
            None => {
                // As good as it gets there: a file system may have nothing else than its memory, or not hear of this.
                let _ = rustix::fs::fadvise(&file.file, 0, None, Advice::DontNeed);
                self.read_at(name, at, length)
            }
        }
    }
}
