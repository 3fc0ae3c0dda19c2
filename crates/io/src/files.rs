//! The files of a node besides its log: the lock that makes it the only one of its kind, and its TLS certificate.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use mysql::tls::{CertificatePem, certificate_of_key, generate_certificate, server_config};
use rustix::fs::{FlockOperation, flock};
use types::NodeId;

use crate::options::StartError;

/// Permissions of a directory whose files see to their own: what the process is set to leave of all.
const DIR_MODE: u32 = 0o777;

/// The directory is there, durably, whatever becomes of the machine.
pub fn make_dir(dir: &Path) -> std::io::Result<()> {
    disk::make_dir(dir, DIR_MODE)
}

/// Makes the directory and locks the node in it. The lock ends with the process, or when the file is dropped.
pub fn lock_node(dir: &Path, node: NodeId) -> Result<File, StartError> {
    let refused = |error: std::io::Error| StartError::Directory {
        path: dir.into(),
        reason: error.to_string(),
    };
    make_dir(dir).map_err(refused)?;
    let path = dir.join(format!("node{node}.lock"));
    let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    let mut file = options.map_err(refused)?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        let mut text = String::new();
        let process = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
        return Err(StartError::AlreadyRunning { node, dir: dir.into(), process });
    }
    file.set_len(0).map_err(refused)?;
    file.write_all(std::process::id().to_string().as_bytes()).map_err(refused)?;
    Ok(file)
}

/// The node's TLS configuration from its two PEM files, which are made if neither is there.
pub fn tls_config(
    dir: &Path,
    node: NodeId,
    hostname: &str,
) -> Result<Arc<rustls::ServerConfig>, StartError> {
    let certificate_path = dir.join(format!("node{node}-cert.pem"));
    let key_path = dir.join(format!("node{node}-key.pem"));
    let names = ["localhost", hostname, "127.0.0.1", "::1"].map(String::from);
    let refused = |reason: String| StartError::Tls { path: certificate_path.clone(), reason };
    if !certificate_path.exists() && key_path.exists() {
        // Whoever made the key was killed before this.
        let key = fs::read(&key_path).map_err(|error| refused(error.to_string()))?;
        let made = certificate_of_key(&names, &key).map_err(|error| refused(error.to_string()))?;
        write_private(&certificate_path, &made).map_err(|error| refused(error.to_string()))?;
    } else if !certificate_path.exists() {
        let made = generate_certificate(&names).map_err(|error| refused(error.to_string()))?;
        write_private(&key_path, &made.private_key).map_err(|error| refused(error.to_string()))?;
        write_private(&certificate_path, &made.certificate)
            .map_err(|error| refused(error.to_string()))?;
    }
    let read = |path: &Path| {
        fs::read(path)
            .map_err(|error| StartError::Tls { path: path.into(), reason: error.to_string() })
    };
    let pem =
        CertificatePem { certificate: read(&certificate_path)?, private_key: read(&key_path)? };
    server_config(&pem)
        .map_err(|error| StartError::Tls { path: certificate_path, reason: error.to_string() })
}

/// Whole or not at all, readable by the owner only from its first moment.
pub fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let unfinished = path.with_extension("tmp");
    let _ = fs::remove_file(&unfinished);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let written = written.and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        // On a full disk, the part of it that is there would be in the way of others.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// The same, and it stays so, whatever becomes of the machine. Or the file is as it was before.
pub fn write_durably(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    write_private(path, bytes)?;
    sync_directory_of(path)
}

pub fn sync_directory_of(path: &Path) -> std::io::Result<()> {
    File::open(path.parent().expect("it is in a directory"))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// One process per node; a second one gets an error that names the first; the lock ends with the file.
    #[test]
    fn a_node_runs_once() {
        let dir = tempfile::tempdir().unwrap();
        let lock = lock_node(&dir.path().join("deep/er"), NodeId(2)).unwrap();
        let again = lock_node(&dir.path().join("deep/er"), NodeId(2)).unwrap_err().to_string();
        assert!(again.contains(&format!("running already as process {}", std::process::id())));
        drop(lock);
        assert!(lock_node(&dir.path().join("deep/er"), NodeId(2)).is_ok());
    }

    /// The certificate is made once and kept; if it alone is missing it is made anew for the key, which is never replaced.
    #[test]
    fn certificates_are_made_once() {
        let dir = tempfile::tempdir().unwrap();
        tls_config(dir.path(), NodeId(2), "box").unwrap();
        let key = dir.path().join("node2-key.pem");
        let made = fs::read(&key).unwrap();
        assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
        tls_config(dir.path(), NodeId(2), "box").unwrap();
        assert_eq!(fs::read(&key).unwrap(), made);
        fs::remove_file(dir.path().join("node2-cert.pem")).unwrap();
        tls_config(dir.path(), NodeId(2), "box").unwrap();
        assert_eq!(fs::read(&key).unwrap(), made);
        fs::remove_file(key).unwrap();
        let reason = tls_config(dir.path(), NodeId(2), "box").unwrap_err().to_string();
        assert!(reason.contains("node2-key.pem"), "{reason}");
    }
}
