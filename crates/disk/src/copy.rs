//! Files that leave the node's own directory: of backups and archives. They stand by themselves.
//!
//! ```text
//!   "skarv-cp" | version u32 | file u64, random | lock u8: 0 none, 1 a key, 2 a password | iterations u32 | password's salt 16
//!              | file's salt 16 | crc32c u32 of all before
//!   for each block:  raw length u32 | length u32 | crc32c u32 | bytes (zstd, and then, if there is a lock, AES-256-GCM)
//!                    the checksum is of the file's number, the place in the file, lengths and bytes
//! ```
//! Each file has a key of its own, made of the backup's and the file's salt (HKDF-SHA-256); a
//! block's nonce is its place in the file, so no two blocks share one, and none can be moved. The
//! strength of a password is its owner's choice: it is stretched (PBKDF2).
//!
//! A block is whole or it is damage; a file that ends without its last block is for the reader to
//! judge.

use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::{hkdf, pbkdf2};

use crate::DiskError;
use crate::format::{crc, u32_at, u64_at};
use crate::segment::{self, BLOCK_HEADER_SIZE};

const MAGIC: &[u8; 8] = b"skarv-cp";
/// In version 1 all lengths had four bytes.
const VERSION: u32 = 2;
const SALT_SIZE: usize = 16;
const HEADER_SIZE: usize = 8 + 4 + 8 + 1 + 4 + 2 * SALT_SIZE + 4;
/// The work of trying one password: OWASP's figure for PBKDF2 with SHA-256.
pub const PASSWORD_ITERATIONS: u32 = 600_000;
/// No file asks for more.
const PASSWORD_ITERATIONS_MAX: u32 = 100_000_000;

pub type Salt = [u8; SALT_SIZE];

/// How files are encrypted.
#[derive(Clone)]
pub struct Lock {
    pub key: [u8; 32],
    /// The salt and the iterations that made the key of a password.
    pub password: Option<(Salt, u32)>,
}

/// What opens them.
#[derive(Clone)]
pub enum Secret {
    Key([u8; 32]),
    Password(String),
}

pub fn key_of_password(password: &str, salt: &Salt, iterations: u32) -> [u8; 32] {
    let iterations = iterations.try_into().expect("the caller has looked: not 0");
    let mut key = [0; 32];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, iterations, salt, password.as_bytes(), &mut key);
    key
}

fn file_key(key: &[u8; 32], file_salt: &Salt) -> LessSafeKey {
    let derived = hkdf::Salt::new(hkdf::HKDF_SHA256, file_salt).extract(key);
    let info = [&b"skarv copy"[..]];
    let okm = derived.expand(&info, &AES_256_GCM).expect("32 bytes are few enough");
    LessSafeKey::new(UnboundKey::from(okm))
}

fn nonce(at: u64) -> Nonce {
    let mut bytes = [0; NONCE_LEN];
    bytes[..8].copy_from_slice(&at.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

/// Writes a file.
pub struct CopyWriter {
    file: std::fs::File,
    temporary: PathBuf,
    path: PathBuf,
    number: u64,
    key: Option<LessSafeKey>,
    at: u64,
}

impl CopyWriter {
    /// A file that gets its name only when it is whole, and if no other file has it then. `random` is drawn anew for each file.
    pub fn create(
        path: &Path,
        lock: Option<&Lock>,
        random: [u8; 24],
    ) -> Result<CopyWriter, DiskError> {
        // Somebody else may be about to write a file of this name, in a directory that both may write to.
        let number = random.iter().fold(String::new(), |name, byte| format!("{name}{byte:02x}"));
        CopyWriter::make(path, path.with_extension(format!("{number}.unfinished")), lock, random)
    }

    /// One that is read while it is written.
    pub fn create_open(path: &Path, random: [u8; 24]) -> Result<CopyWriter, DiskError> {
        CopyWriter::make(path, path.to_path_buf(), None, random)
    }

    fn make(
        path: &Path,
        temporary: PathBuf,
        lock: Option<&Lock>,
        random: [u8; 24],
    ) -> Result<CopyWriter, DiskError> {
        let number = u64::from_le_bytes(random[..8].try_into().expect("eight bytes"));
        let file_salt: Salt = random[8..].try_into().expect("sixteen bytes");
        let mut header = Vec::with_capacity(HEADER_SIZE);
        header.extend(MAGIC);
        header.extend(VERSION.to_le_bytes());
        header.extend(number.to_le_bytes());
        let password = lock.and_then(|lock| lock.password);
        header.push(match (lock, password) {
            (None, _) => 0,
            (Some(_), None) => 1,
            (Some(_), Some(_)) => 2,
        });
        let (salt, iterations) = password.unwrap_or(([0; SALT_SIZE], 0));
        header.extend(iterations.to_le_bytes());
        header.extend(salt);
        header.extend(file_salt);
        header.extend(crc(&[&header]).to_le_bytes());
        let mut new = std::fs::OpenOptions::new();
        new.write(true).create_new(true);
        let made = std::os::unix::fs::OpenOptionsExt::mode(&mut new, 0o600).open(&temporary);
        let mut file = made.map_err(at_path(&temporary))?;
        file.write_all(&header).map_err(at_path(&temporary)).inspect_err(|_| {
            let _ = std::fs::remove_file(&temporary);
        })?;
        let key = lock.map(|lock| file_key(&lock.key, &file_salt));
        let path = path.to_path_buf();
        Ok(CopyWriter { file, temporary, path, number, key, at: HEADER_SIZE as u64 })
    }

    /// Where it is until it is ended.
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Bytes of the file so far.
    pub fn bytes(&self) -> u64 {
        self.at
    }

    pub fn add(&mut self, raw: &[u8]) -> Result<(), DiskError> {
        let mut packed = segment::pack(raw).map_err(at_path(&self.temporary))?;
        if let Some(key) = &self.key {
            let bytes = &mut packed.bytes;
            let sealed = key.seal_in_place_append_tag(nonce(self.at), Aad::empty(), bytes);
            sealed.expect("a block is shorter than what may be sealed");
        }
        let block = segment::block(self.number, 0, self.at, &packed);
        self.file.write_all(&block).map_err(at_path(&self.temporary))?;
        self.at += block.len() as u64;
        Ok(())
    }

    /// What was added is durable, under the name that it has until it is ended.
    pub fn sync(&mut self) -> Result<(), DiskError> {
        self.file.sync_data().map_err(at_path(&self.temporary))
    }

    /// It is durable, and has its name, unless another one has it.
    pub fn end(self) -> Result<u64, DiskError> {
        self.file.sync_all().map_err(at_path(&self.temporary))?;
        rename_to_new(&self.temporary, &self.path).map_err(at_path(&self.path))?;
        let dir = self.path.parent().expect("a file is in a directory");
        let synced = std::fs::File::open(dir).and_then(|dir| dir.sync_all());
        synced.map_err(at_path(dir)).inspect_err(|_| {
            // Nobody has been told of it.
            let _ = std::fs::remove_file(&self.path);
        })?;
        Ok(self.at)
    }
}

fn rename_to_new(from: &Path, to: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system can do that. Those of networks have links, which do not replace anything either.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            std::fs::hard_link(from, to)?;
            std::fs::remove_file(from)
        }
        renamed => Ok(renamed?),
    }
}

/// Reads a file's blocks in order.
pub struct CopyReader {
    file: BufReader<std::fs::File>,
    path: PathBuf,
    length: u64,
    number: u64,
    key: Option<LessSafeKey>,
    at: u64,
}

/// What stands at a place where a block should.
#[derive(Debug, PartialEq, Eq)]
pub enum CopyEnd {
    /// Nothing: the file ends here.
    Clean,
    /// Something that is no block and reaches to the end: perhaps it is still being written.
    Torn,
}

impl CopyReader {
    pub fn open(path: &Path, secret: Option<&Secret>) -> Result<CopyReader, DiskError> {
        let file = std::fs::File::open(path).map_err(at_path(path))?;
        let length = file.metadata().map_err(at_path(path))?.len();
        let mut file = BufReader::with_capacity(1 << 20, file);
        let mut header = [0; HEADER_SIZE];
        let damaged = |what: &str| DiskError::Damaged {
            file: path.display().to_string(),
            what: what.to_string(),
        };
        file.read_exact(&mut header).map_err(|_| damaged("it is shorter than its header"))?;
        if !header.starts_with(MAGIC) {
            return Err(damaged("it is no file of a backup or an archive"));
        }
        let end = HEADER_SIZE - 4;
        if u32_at(&header, end) != Some(crc(&[&header[..end]])) {
            return Err(damaged("its header does not fit its checksum"));
        }
        if u32_at(&header, 8) != Some(VERSION) {
            return Err(damaged("another version of this program wrote it"));
        }
        let number = u64_at(&header, 12).expect("as long as a header");
        let iterations = u32_at(&header, 21).expect("as long as a header");
        let salt = |at: usize| -> Salt {
            header[at..at + SALT_SIZE].try_into().expect("as long as a header")
        };
        let wanted = |what: &str| DiskError::Io {
            file: path.display().to_string(),
            reason: what.to_string(),
        };
        let key = match (header[20], secret) {
            (0, None) => None,
            (0, Some(_)) => {
                return Err(wanted("it is not encrypted, and a password or a key was given"));
            }
            (1, Some(Secret::Key(key))) => Some(*key),
            (1, _) => {
                return Err(wanted("it is encrypted with a key file: give it with --key-file"));
            }
            (2, Some(Secret::Password(password)))
                if (1..=PASSWORD_ITERATIONS_MAX).contains(&iterations) =>
            {
                Some(key_of_password(password, &salt(25), iterations))
            }
            (2, _) => {
                return Err(wanted(
                    "it is encrypted with a password: give it with --password-file",
                ));
            }
            _ => return Err(damaged("its header says what no version of it means")),
        };
        let key = key.map(|key| file_key(&key, &salt(25 + SALT_SIZE)));
        let path = path.to_path_buf();
        Ok(CopyReader { file, path, length, number, key, at: HEADER_SIZE as u64 })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The next block, or how the file ends.
    pub fn next_block(&mut self) -> Result<Result<Vec<u8>, CopyEnd>, DiskError> {
        let left = self.length - self.at;
        if left == 0 {
            return Ok(Err(CopyEnd::Clean));
        }
        if left < BLOCK_HEADER_SIZE as u64 {
            return Ok(Err(CopyEnd::Torn));
        }
        let mut header = [0; BLOCK_HEADER_SIZE];
        self.file.read_exact(&mut header).map_err(at_path(&self.path))?;
        let Some((raw_length, count)) = segment::lengths(&header) else {
            return self.damaged("no block begins");
        };
        let size = (BLOCK_HEADER_SIZE + count) as u64;
        if left < size {
            return Ok(Err(CopyEnd::Torn));
        }
        let mut bytes = vec![0; count];
        self.file.read_exact(&mut bytes).map_err(at_path(&self.path))?;
        if !segment::is_whole(self.number, 0, self.at, &header, &bytes) {
            if left == size {
                return Ok(Err(CopyEnd::Torn));
            }
            return self.damaged("the block does not fit its checksum");
        }
        let opened = match &self.key {
            None => &bytes[..],
            Some(key) => match key.open_in_place(nonce(self.at), Aad::empty(), &mut bytes) {
                Ok(opened) => opened,
                Err(_) => {
                    return Err(DiskError::Io {
                        file: self.path.display().to_string(),
                        reason: "it was encrypted with another password or key".into(),
                    });
                }
            },
        };
        let Some(raw) = segment::decompress(opened, raw_length) else {
            return self.damaged("the block cannot be decompressed");
        };
        self.at += size;
        Ok(Ok(raw))
    }

    fn damaged<T>(&self, what: &str) -> Result<T, DiskError> {
        let at = self.at;
        Err(DiskError::Damaged {
            file: self.path.display().to_string(),
            what: format!("{what} at byte {at}"),
        })
    }
}

fn at_path(path: &Path) -> impl Fn(std::io::Error) -> DiskError + use<> {
    let file = path.display().to_string();
    move |error| DiskError::Io { file: file.clone(), reason: error.to_string() }
}
