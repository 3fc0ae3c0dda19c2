//! Binds ports and socket paths at the start, long before a client may connect, and names the
//! process that has them if they are taken.
//!
//! The MySQL port is bound at the start, so that a conflict is reported at once, but listens only
//! when the node can serve: until then clients get "connection refused", which every driver
//! understands as "not yet".

use std::fs;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with, sockopt,
};

use crate::options::StartError;

/// Connections that wait to be accepted; the system may allow less.
const BACKLOG: i32 = 4096;
const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// A TCP socket bound to `address`, not listening yet, and the address really bound.
pub fn bind_tcp(address: SocketAddr) -> Result<(OwnedFd, SocketAddr), StartError> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let system = |action: &'static str| {
        move |error: Errno| StartError::System { action, reason: error.to_string() }
    };
    let socket = socket_with(family, SocketType::STREAM, FLAGS, None)
        .map_err(system("make a TCP socket"))?;
    sockopt::set_socket_reuseaddr(&socket, true).map_err(system("set up a TCP socket"))?;
    match bind(&socket, &address) {
        Ok(()) => {}
        Err(Errno::ADDRINUSE) => {
            return Err(StartError::PortTaken { address, holder: holder_of(address.port()) });
        }
        Err(Errno::ADDRNOTAVAIL) => {
            return Err(StartError::Config(format!(
                "{address} is not an address of this machine: correct the node's address"
            )));
        }
        Err(Errno::ACCESS) => {
            return Err(StartError::Config(format!(
                "port {} may be used by the superuser only: choose one above 1023",
                address.port()
            )));
        }
        Err(error) => return Err(system("bind a TCP socket")(error)),
    }
    let bound = rustix::net::getsockname(&socket).map_err(system("ask for the bound address"))?;
    let bound = SocketAddr::try_from(bound).map_err(system("ask for the bound address"))?;
    Ok((socket, bound))
}

/// A unix socket bound to `path` with these permissions, not listening yet. A socket without a listener is replaced.
pub fn bind_unix(path: &Path, mode: u32) -> Result<OwnedFd, StartError> {
    let refused = |reason: String| StartError::PathTaken { path: path.into(), reason };
    let address = SocketAddrUnix::new(path).map_err(|_| {
        refused(
            "the path is too long for a socket: at most 107 bytes, choose a shorter directory"
                .into(),
        )
    })?;
    match fs::symlink_metadata(path) {
        Err(_) => {}
        Ok(found) if !found.file_type().is_socket() => {
            return Err(refused("there is a file that is not a socket: move it away".into()));
        }
        Ok(_) if UnixStream::connect(path).is_ok() => {
            return Err(refused(
                "a running process listens there: stop it, or choose another path".into(),
            ));
        }
        Ok(_) => fs::remove_file(path).map_err(|error| refused(error.to_string()))?,
    }
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)
        .map_err(|error| refused(error.to_string()))?;
    bind(&socket, &address).map_err(|error| refused(error.to_string()))?;
    // No client can connect before it listens, so none does while the permissions are those of the umask.
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .map_err(|error| refused(error.to_string()))?;
    Ok(socket)
}

pub fn start_listening(socket: &OwnedFd) -> std::io::Result<()> {
    Ok(listen(socket, BACKLOG)?)
}

/// The process that listens on a TCP port, as far as this user may see it: "mysqld (process 4711)".
fn holder_of(port: u16) -> Option<String> {
    let inode = ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|table| {
        let text = fs::read_to_string(table).ok()?;
        text.lines().skip(1).find_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let local_port = fields.get(1)?.rsplit_once(':')?.1;
            let listens = *fields.get(3)? == "0A";
            let is_it = listens && u16::from_str_radix(local_port, 16) == Ok(port);
            is_it.then(|| fields.get(9).map(ToString::to_string))?
        })
    })?;
    let wanted = PathBuf::from(format!("socket:[{inode}]"));
    for process in fs::read_dir("/proc").ok()?.flatten() {
        let Ok(id) = process.file_name().to_string_lossy().parse::<u32>() else { continue };
        let Ok(descriptors) = fs::read_dir(process.path().join("fd")) else { continue };
        let mut links = descriptors.flatten().map(|descriptor| fs::read_link(descriptor.path()));
        if links.any(|link| link.is_ok_and(|link| link == wanted)) {
            let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            return Some(format!("{} (process {id})", name.trim()));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A taken port names its holder, a free one is bound but refuses connections until it listens.
    #[test]
    fn ports_are_bound_before_they_listen() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let (socket, address) = bind_tcp(any).unwrap();
        assert!(std::net::TcpStream::connect(address).is_err());
        start_listening(&socket).unwrap();
        assert!(std::net::TcpStream::connect(address).is_ok());
        let Err(StartError::PortTaken { holder: Some(holder), .. }) = bind_tcp(address) else {
            panic!("the port is taken by this very process");
        };
        assert!(holder.contains(&format!("(process {})", std::process::id())), "{holder}");
        let foreign = SocketAddr::from(([192, 0, 2, 1], 0));
        assert!(matches!(bind_tcp(foreign), Err(StartError::Config(_))));
    }

    /// A stale socket is replaced; one in use, a file and a path too long are refused.
    #[test]
    fn paths_are_taken_over_only_when_stale() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sock");
        drop(bind_unix(&path, 0o600).unwrap());
        let socket = bind_unix(&path, 0o777).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o777);
        start_listening(&socket).unwrap();
        let reason = bind_unix(&path, 0o600).unwrap_err().to_string();
        assert!(reason.contains("listens there"), "{reason}");
        let file = dir.path().join("file");
        fs::write(&file, "precious").unwrap();
        assert!(bind_unix(&file, 0o600).unwrap_err().to_string().contains("not a socket"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
        let long = dir.path().join("x".repeat(120));
        assert!(bind_unix(&long, 0o600).unwrap_err().to_string().contains("too long"));
    }
}
