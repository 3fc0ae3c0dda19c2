//! Free ports of the loopback interface.
//!
//! Ports for the links between the nodes of a box are drawn once and kept in `config.json`. They come from below the
//! range that the system hands out to outgoing connections, or a cluster that is started again would now and then find
//! one of them taken by a stranger.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

/// Below it are the well-known services.
const PORT_MIN: u16 = 12_000;
const ATTEMPTS_MAX: usize = 2_000;

/// Is a port free now? False also when it cannot be used at all.
pub fn is_free(port: u16) -> bool {
    bind(port).is_ok()
}

/// Why a port cannot be listened on now.
pub fn bind(port: u16) -> std::io::Result<TcpListener> {
    TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
}

/// So many different free ports. All are held until all are found, so that they differ.
pub fn free(count: usize) -> Result<Vec<u16>, String> {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let first =
        range.split_whitespace().next().and_then(|text| text.parse().ok()).unwrap_or(32_768);
    let mut held = Vec::with_capacity(count);
    for _ in 0..ATTEMPTS_MAX {
        if held.len() == count {
            return Ok(held.iter().map(port_of).collect());
        }
        // Where the system keeps no room below its range, it chooses itself.
        let wanted = if first > PORT_MIN { PORT_MIN + random() % (first - PORT_MIN) } else { 0 };
        if let Ok(listener) = bind(wanted) {
            held.push(listener);
        }
    }
    Err(format!("found no {count} free ports on 127.0.0.1 between {PORT_MIN} and {first}"))
}

fn port_of(listener: &TcpListener) -> u16 {
    listener.local_addr().expect("a bound socket has an address").port()
}

fn random() -> u16 {
    getrandom::u32().map_or(0, |number| (number >> 16) as u16)
}

/// A process that is being started has all files of this one until it is another program, and so the ports that other threads have let go
/// meanwhile. Tests that start one hold this, and so do tests for which such ports must be free.
#[cfg(test)]
pub fn hold_off_starts() -> std::sync::MutexGuard<'static, ()> {
    static STARTS: std::sync::Mutex<()> = std::sync::Mutex::new(());
    STARTS.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_ports_differ_and_are_free() {
        let _held_off = hold_off_starts();
        let mut ports = free(8).expect("a machine has eight free ports");
        assert!(ports.iter().all(|port| is_free(*port)));
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 8);
        let held = bind(ports[0]).expect("free");
        assert!(!is_free(ports[0]));
        drop(held);
    }
}
