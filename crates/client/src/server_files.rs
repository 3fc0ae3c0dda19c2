//! Files on the server's machine: the door through which LOAD DATA INFILE reads.
//!
//! As for temporary files, the client does no file work itself. The driver of the client has [`ServerFiles`], which decides
//! which files a statement may have, and whose jobs may wait for a device. Without a driver's own (in the simulator, and in
//! tests) there are the files of [`KeptFiles`], none at first.

use std::collections::BTreeMap;
use std::sync::Arc;

use types::contain::Panicked;

use crate::compute::on_thread;
use crate::driver::Client;

/// The files of the machine that statements may read.
pub trait ServerFiles: Send + Sync {
    /// Opens a file by the name that a statement has for it. May wait for the device: for a job of [`ServerFiles::run`].
    fn open(&self, name: &str) -> Result<Box<dyn ServerFile>, ServerFileError>;
    /// Runs `job`, which may wait for the device, and has the caller's worker look at its tasks when `job` has returned.
    fn run(&self, job: Box<dyn FnOnce() + Send>);
}

/// A file that is read from its begin to its end.
pub trait ServerFile: Send {
    /// At most `length` bytes more; none at the end of the file. May wait for the device.
    fn read(&mut self, length: usize) -> Result<Vec<u8>, ServerFileError>;
}

/// The number is the system's for its errors, the reason its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerFileError {
    /// The file is not in the directory of such files, or there is none.
    NotAllowed,
    /// There is no such file, or this process may not know.
    NotFound {
        number: i32,
        reason: String,
    },
    /// It is no plain file.
    NotPlain,
    OpenFailed {
        number: i32,
        reason: String,
    },
    ReadFailed {
        number: i32,
        reason: String,
    },
}

impl Client {
    /// From now on, the files of the machine are these.
    pub fn set_server_files(&self, files: Arc<dyn ServerFiles>) {
        *self.shared.server_files.borrow_mut() = files;
    }
    /// The files of this node's machine.
    pub fn server_files(&self) -> Arc<dyn ServerFiles> {
        Arc::clone(&self.shared.server_files.borrow())
    }
    /// Runs work on files of the machine, which may wait for the device; a panic in it is contained.
    pub async fn on_server_files<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn ServerFiles) -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        let (files, own) = (self.server_files(), self.server_files());
        on_thread(|job| files.run(job), move || work(&*own)).await
    }
}

/// Files in memory, by name.
#[derive(Default)]
pub struct KeptFiles(pub Arc<BTreeMap<String, Vec<u8>>>);

/// What is left of one.
struct KeptFile(Vec<u8>);

impl ServerFiles for KeptFiles {
    fn open(&self, name: &str) -> Result<Box<dyn ServerFile>, ServerFileError> {
        match self.0.get(name) {
            Some(content) => Ok(Box::new(KeptFile(content.clone()))),
            None => Err(ServerFileError::NotFound {
                number: 2,
                reason: "No such file or directory".into(),
            }),
        }
    }
    fn run(&self, job: Box<dyn FnOnce() + Send>) {
        job();
    }
}

impl ServerFile for KeptFile {
    fn read(&mut self, length: usize) -> Result<Vec<u8>, ServerFileError> {
        let rest = self.0.split_off(length.min(self.0.len()));
        Ok(std::mem::replace(&mut self.0, rest))
    }
}
