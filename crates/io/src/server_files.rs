//! The files that LOAD DATA INFILE may read ([`client::ServerFiles`]): those in the directory of `--secure-file-priv`.
//!
//! A name must be absolute. Links are followed before it is compared with the directory, and the file is opened by the name
//! without links. It must be a plain file: to open or read a pipe could take for ever.

use std::fs::{File, OpenOptions};
use std::io::{Error, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use client::{ServerFile, ServerFileError, ServerFiles};
use rustix::fs::OFlags;

use crate::server::Shared;

/// The files as one worker uses them.
pub struct WorkerServerFiles {
    pub shared: Arc<Shared>,
    pub worker: usize,
}

/// Of `--secure-file-priv`, without links.
#[derive(Debug)]
pub struct ServerDirectory {
    /// Without one no file may be read.
    pub path: Option<PathBuf>,
}

struct DiskFile(File);

fn parts(error: &Error) -> (i32, String) {
    let text = error.to_string();
    let reason = text.split(" (os error").next().unwrap_or_default().to_string();
    (error.raw_os_error().unwrap_or(0), reason)
}

impl ServerDirectory {
    fn open(&self, name: &str) -> Result<DiskFile, ServerFileError> {
        let directory = self.path.as_ref().ok_or(ServerFileError::NotAllowed)?;
        let name = Path::new(name);
        let found = match name.canonicalize() {
            Ok(found) if name.is_absolute() => found,
            Ok(_) => return Err(ServerFileError::NotAllowed),
            // The error does not report whether a file outside of the directory exists.
            Err(error) => {
                let parent = name.parent().and_then(|parent| parent.canonicalize().ok());
                let is_inside = parent.is_some_and(|parent| parent.starts_with(directory));
                let (number, reason) = parts(&error);
                return Err(match is_inside && name.is_absolute() {
                    true => ServerFileError::NotFound { number, reason },
                    false => ServerFileError::NotAllowed,
                });
            }
        };
        if !found.starts_with(directory) {
            return Err(ServerFileError::NotAllowed);
        }
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let flags = i32::try_from(flags.bits()).expect("flags of open() are small");
        let failed = |error: Error| {
            let (number, reason) = parts(&error);
            ServerFileError::OpenFailed { number, reason }
        };
        let is_plain = found.metadata().map_err(failed)?.is_file();
        if !is_plain {
            return Err(ServerFileError::NotPlain);
        }
        let file =
            OpenOptions::new().read(true).custom_flags(flags).open(&found).map_err(failed)?;
        match file.metadata().map_err(failed)?.is_file() {
            true => Ok(DiskFile(file)),
            false => Err(ServerFileError::NotPlain),
        }
    }
}

impl ServerFiles for WorkerServerFiles {
    fn open(&self, name: &str) -> Result<Box<dyn ServerFile>, ServerFileError> {
        Ok(Box::new(self.shared.server_directory.open(name)?))
    }
    fn run(&self, job: Box<dyn FnOnce() + Send>) {
        let (shared, worker) = (Arc::clone(&self.shared), self.worker);
        let pool = Arc::clone(shared.temp_files.pool());
        pool.run(Box::new(move || {
            job();
            shared.inboxes[worker].notify();
        }));
    }
}

impl ServerFile for DiskFile {
    fn read(&mut self, length: usize) -> Result<Vec<u8>, ServerFileError> {
        let mut bytes = Vec::with_capacity(length);
        let limit = u64::try_from(length).unwrap_or(u64::MAX);
        match (&mut self.0).take(limit).read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => {
                let (number, reason) = parts(&error);
                Err(ServerFileError::ReadFailed { number, reason })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn content(directory: &ServerDirectory, name: &Path) -> Result<Vec<u8>, ServerFileError> {
        let mut file = directory.open(name.to_str().unwrap())?;
        let mut content = Vec::new();
        loop {
            let piece = file.read(3)?;
            if piece.is_empty() {
                return Ok(content);
            }
            content.extend(piece);
        }
    }

    /// Opens files of the directory by every name that leads to them; refuses others, without a word about them.
    #[test]
    fn files_of_the_directory_only() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let inside = root.join("inside");
        fs::create_dir_all(inside.join("deeper")).unwrap();
        fs::write(inside.join("a"), "of the directory").unwrap();
        fs::write(inside.join("deeper/b"), "").unwrap();
        fs::write(root.join("secret"), "of others").unwrap();
        fs::create_dir(root.join("inside-not")).unwrap();
        fs::write(root.join("inside-not/c"), "of others").unwrap();
        symlink(root.join("secret"), inside.join("out")).unwrap();
        symlink(inside.join("a"), root.join("in")).unwrap();
        symlink(&root, inside.join("up")).unwrap();
        let directory = ServerDirectory { path: Some(inside.clone()) };
        for name in [inside.join("a"), inside.join("deeper/../a"), root.join("in")] {
            assert_eq!(content(&directory, &name).unwrap(), b"of the directory", "{name:?}");
        }
        assert_eq!(content(&directory, &inside.join("deeper/b")), Ok(Vec::new()));
        for name in [
            root.join("secret"),
            root.join("nothing"),
            inside.join("../secret"),
            inside.join("out"),
            inside.join("up/secret"),
            inside.join("up/nothing"),
            root.join("inside-not/c"),
            PathBuf::from("inside/a"),
            PathBuf::from(""),
            PathBuf::from("/etc/passwd"),
        ] {
            assert_eq!(content(&directory, &name), Err(ServerFileError::NotAllowed), "{name:?}");
        }
        let missing = content(&directory, &inside.join("nothing"));
        let reason = "No such file or directory".to_string();
        assert_eq!(missing, Err(ServerFileError::NotFound { number: 2, reason }));
        assert_eq!(content(&directory, &inside.join("deeper")), Err(ServerFileError::NotPlain));
        let pipe = inside.join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert_eq!(content(&directory, &pipe), Err(ServerFileError::NotPlain));
        let nowhere = ServerDirectory { path: None };
        assert_eq!(content(&nowhere, &inside.join("a")), Err(ServerFileError::NotAllowed));
    }
}
