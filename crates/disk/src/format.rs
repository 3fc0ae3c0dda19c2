//! Numbers in byte order, and what all files have.

use std::io::ErrorKind;

use rustix::io::Errno;

use crate::DiskError;
use crate::files::Files;

/// Of all that a part's files hold; a part of another version is refused by name, by its manifest. In version 1 a checkpoint was one file,
/// in 2 all lengths had four bytes, in 3 the log had no blocks, and in 4 a checkpoint's contents said less of its sections.
pub const VERSION: u32 = 5;
/// What is read and written past the system's cache begins and ends at a multiple of this, in the file and in memory. Where a device has
/// larger blocks that is refused.
pub const DEVICE_BLOCK: usize = 4_096;
/// What does, is written so. Tests have more of it.
pub const BLOCK: usize = if cfg!(any(test, fuzzing)) { 64 } else { DEVICE_BLOCK };

pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// The checksum of several pieces of bytes, one behind the other.
pub fn crc(pieces: &[&[u8]]) -> u32 {
    pieces.iter().fold(0, |crc, piece| crc_behind(crc, piece))
}
/// Continues a checksum with further bytes. Fuzz targets have none: they test the code behind it.
pub fn crc_behind(crc: u32, piece: &[u8]) -> u32 {
    if cfg!(fuzzing) { 0 } else { crc32c::crc32c_append(crc, piece) }
}

pub fn numbered(kind: &str, number: u64) -> String {
    format!("{kind}-{number:010}")
}

/// The number of a file of this kind.
pub fn number_of(kind: &str, name: &str) -> Option<u64> {
    name.strip_prefix(kind)?.strip_prefix('-')?.parse().ok()
}

pub fn io_error(file: &str) -> impl Fn(std::io::Error) -> DiskError + use<'_> {
    move |error| {
        let (file, reason) = (file.to_string(), error.to_string());
        match is_loss(&error) {
            true => DiskError::Damaged { file, what: format!("it cannot be read: {reason}") },
            false => DiskError::Io { file, reason },
        }
    }
}

/// Whether the data is gone, or unreadable on the device. Any other error may be repaired.
pub fn is_loss(error: &std::io::Error) -> bool {
    let errno = rustix::io::Errno::from_io_error(error);
    let of_device = [Errno::IO, Errno::BADMSG, Errno::UCLEAN];
    let of_file = [ErrorKind::NotFound, ErrorKind::UnexpectedEof, ErrorKind::InvalidData];
    of_file.contains(&error.kind()) || errno.is_some_and(|errno| of_device.contains(&errno))
}

pub fn damaged<T>(file: &str, what: impl Into<String>) -> Result<T, DiskError> {
    Err(DiskError::Damaged { file: file.to_string(), what: what.into() })
}

/// The files of this kind, in the order of their numbers.
pub fn list(files: &dyn Files, kind: &str) -> Result<Vec<u64>, DiskError> {
    let names = files.list().map_err(io_error("the directory"))?;
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| number_of(kind, name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}
