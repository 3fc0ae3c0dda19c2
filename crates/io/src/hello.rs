//! The first message of a link, in both directions, and why a peer is turned away.
//!
//! ```text
//! | length u32 | "skarv-ln" | version u16 | kind u8 | cluster u64 | lineage | config u64 | from 4 | to 4 | incarnation u64 |
//! | length u32 | "skarv-ln" | version u16 | kind u8 | text ... |                                            (a refusal)
//! ```
//! All little endian, the lineage in as few bytes as it needs. Nothing else of a peer is looked at before this is in order:
//! another program, another cluster, another version of the protocol or another configuration is named in the log and sent
//! away. The first ten bytes are the same in every version. The one that connects speaks first; the other answers with its
//! own hello, or with why not.
//!
//! This keeps out mistakes. Attackers are kept out by the keys of the cluster (`secure`); where there are none, the port of
//! the nodes belongs on a network of their own.

use protocol::PROTOCOL_VERSION;
use protocol::control::ClusterConfig;
use types::hash::hash64;
use types::wire::{Reader, Wire};
use types::{Address, ClusterId, Incarnation, Lineage, NodeId, wire_struct};

use crate::limits::HELLO_SIZE_MAX;

const MAGIC: &[u8; 8] = b"skarv-ln";
const KIND_HELLO: u8 = 1;
const KIND_REFUSAL: u8 = 2;
/// Length, magic, version.
const PREFIX_SIZE: usize = 4 + 8 + 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    pub cluster: ClusterId,
    /// As far as the sender knows. No reason to refuse it: a node that was away in a cluster
    /// restart learns of that over this link, and boots from before it are refused as such.
    pub lineage: Lineage,
    /// A hash of the configuration, which must be equal on all nodes.
    pub config: u64,
    pub from: Address,
    pub to: Address,
    pub incarnation: Incarnation,
}
wire_struct!(Hello { cluster, lineage, config, from, to, incarnation });

/// What begins a link, taken from the bytes received so far.
#[derive(Debug, PartialEq, Eq)]
pub enum First {
    /// Not all of it is there yet.
    Incomplete,
    /// And how many bytes it took.
    Hello(Hello, usize),
    /// The peer says why it does not want us.
    Refusal(String),
    /// Not a node; the text describes the received bytes.
    Stranger(String),
}

pub fn config_hash(config: &ClusterConfig) -> u64 {
    let mut bytes = Vec::new();
    config.encode(&mut bytes);
    hash64(&bytes)
}

pub fn encode_hello(hello: &Hello) -> Vec<u8> {
    encode(KIND_HELLO, |out| hello.encode(out))
}

pub fn encode_refusal(text: &str) -> Vec<u8> {
    let room = HELLO_SIZE_MAX - PREFIX_SIZE - 1;
    let end = text.floor_char_boundary(room);
    encode(KIND_REFUSAL, |out| out.extend_from_slice(&text.as_bytes()[..end]))
}

fn encode(kind: u8, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = vec![0; 4];
    out.extend_from_slice(MAGIC);
    PROTOCOL_VERSION.encode(&mut out);
    out.push(kind);
    body(&mut out);
    let length = u32::try_from(out.len() - 4).expect("a hello is short");
    out[..4].copy_from_slice(&length.to_le_bytes());
    assert!(out.len() <= HELLO_SIZE_MAX);
    out
}

pub fn parse(received: &[u8]) -> First {
    let seen = received.len().min(PREFIX_SIZE - 2);
    if seen > 4 && received[4..seen] != MAGIC[..seen - 4] {
        return First::Stranger(stranger(received));
    }
    if received.len() < 4 {
        return First::Incomplete;
    }
    let length = u32::from_le_bytes([received[0], received[1], received[2], received[3]]) as usize;
    if length + 4 > HELLO_SIZE_MAX || length + 4 < PREFIX_SIZE + 1 {
        return First::Stranger(stranger(received));
    }
    if received.len() < PREFIX_SIZE {
        return First::Incomplete;
    }
    let version = u16::from_le_bytes([received[PREFIX_SIZE - 2], received[PREFIX_SIZE - 1]]);
    if version != PROTOCOL_VERSION {
        return First::Stranger(format!(
            "it speaks version {version} of the node protocol, this node version \
             {PROTOCOL_VERSION}: run the same release on all nodes"
        ));
    }
    let Some(message) = received.get(PREFIX_SIZE..length + 4) else { return First::Incomplete };
    match message[0] {
        KIND_HELLO => {
            let mut reader = Reader::new(&message[1..]);
            match Hello::decode(&mut reader) {
                Ok(hello) if reader.remaining() == 0 => First::Hello(hello, length + 4),
                Ok(_) | Err(_) => First::Stranger("its hello is malformed".into()),
            }
        }
        KIND_REFUSAL => First::Refusal(String::from_utf8_lossy(&message[1..]).into_owned()),
        kind => First::Stranger(format!("its first message is of the unknown kind {kind}")),
    }
}

/// How many bytes surely belong to the hello that begins with `received`: no more may be read from a link, because frames
/// may follow. At least 1, at most [`HELLO_SIZE_MAX`], as long as `parse` finds it incomplete.
pub fn missing(received: &[u8]) -> usize {
    match received.first_chunk::<4>() {
        None => 4 - received.len(),
        Some(length) => (u32::from_le_bytes(*length) as usize + 4).saturating_sub(received.len()),
    }
}

/// A description of a peer that is no node, by its first bytes.
fn stranger(received: &[u8]) -> String {
    let starts = |prefix: &[u8]| received.starts_with(prefix);
    let guess = if [&b"GET "[..], b"POST", b"HEAD", b"PUT "].iter().any(|prefix| starts(prefix)) {
        "an HTTP client"
    } else if starts(&[0x16, 0x03]) {
        "a TLS client, or a node that has keys where this one has none"
    } else if received.len() >= 5 && received[2..4] == [0, 0] && matches!(received[4], 10 | 0xff) {
        // Three bytes of length, the sequence number 0, then the version of the greeting, or an error.
        "a MySQL server (this is a MySQL port, not the port of a node: check the addresses in the configuration)"
    } else if received.len() >= 5 && received[2] == 0 && received[3] <= 1 && received[0] >= 1 {
        // The same, with a sequence number of 0 or 1: a packet of the MySQL protocol.
        "a MySQL client (this is the port of the nodes among themselves, not the MySQL port)"
    } else {
        "something that is not a Skarv node"
    };
    let shown: String = received.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("it is {guess}; its first bytes are {shown}")
}

/// Does the peer's hello fit ours? `ours.from` is this end, `theirs.to` must be that.
pub fn check(theirs: &Hello, ours: &Hello) -> Result<(), String> {
    if theirs.cluster != ours.cluster {
        return Err(format!(
            "node {} belongs to cluster {:016x}, this node to {:016x}: check the addresses in the \
             configuration",
            theirs.from.node, theirs.cluster.0, ours.cluster.0
        ));
    }
    if theirs.config != ours.config {
        return Err(format!(
            "node {} was started with another configuration of the cluster: nodes, replicas, shards \
             and workers must be the same everywhere",
            theirs.from.node
        ));
    }
    if theirs.to != ours.from {
        return Err(format!(
            "node {} wants to talk to {:?}, this is {:?}: check the addresses in the configuration",
            theirs.from.node, theirs.to, ours.from
        ));
    }
    Ok(())
}

/// Is `from` a worker of the configuration, on another node than `own`?
pub fn is_peer(config: &ClusterConfig, own: NodeId, from: Address) -> bool {
    from.node != own && config.node(from.node).is_some_and(|node| from.worker.0 < node.workers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::WorkerId;

    fn hello() -> Hello {
        let address = |node, worker| Address { node: NodeId(node), worker: WorkerId(worker) };
        Hello {
            cluster: ClusterId(0xabc),
            lineage: Lineage(1),
            config: 7,
            from: address(2, 0),
            to: address(3, 1),
            incarnation: Incarnation(99),
        }
    }

    /// A hello comes back from its bytes, whole only when all of them are there; a refusal too, cut to its room.
    #[test]
    fn hellos_travel() {
        for lineage in [1, 127, 128, u64::MAX] {
            let hello = Hello { lineage: Lineage(lineage), ..hello() };
            let bytes = encode_hello(&hello);
            for size in 0..bytes.len() {
                assert_eq!(parse(&bytes[..size]), First::Incomplete, "{size}");
            }
            let size = bytes.len();
            let mut longer = bytes.clone();
            longer.extend_from_slice(b"frames");
            assert_eq!(parse(&longer), First::Hello(hello, size));
        }
        assert_eq!(parse(&encode_refusal("no")), First::Refusal("no".into()));
        let First::Refusal(text) = parse(&encode_refusal(&"å".repeat(500))) else { panic!() };
        assert!(text.len() > 200 && text.chars().all(|c| c == 'å'));
    }

    /// Everybody else is named as soon as enough bytes are there, and nothing panics.
    #[test]
    fn strangers_are_named() {
        let mut version = encode_hello(&hello());
        version[12] = 77;
        let mut kind = encode_hello(&hello());
        kind[14] = 9;
        let mut short = encode_hello(&hello());
        let length = short.len() - 5;
        short[0] = length as u8;
        short.truncate(length + 4);
        let table: [(&[u8], &str); 9] = [
            (b"GET / HTTP/1.1\r\n", "an HTTP client"),
            (&[0x16, 0x03, 0x01, 0x02, 0x00, 0x01], "a TLS client"),
            (&[0x20, 0, 0, 1, 0x85, 0xa6, 0xff], "a MySQL client"),
            (b"\x49\0\0\0\x0a8.0.40\0", "a MySQL server"),
            (b"\x45\0\0\0\xff\x6a\x04Host", "a MySQL server"),
            (&[0xff; 64], "not a Skarv node; its first bytes are ffff"),
            (&version, "version 77"),
            (&kind, "unknown kind 9"),
            (&short, "malformed"),
        ];
        for (bytes, expected) in table {
            let First::Stranger(text) = parse(bytes) else { panic!("{bytes:x?}") };
            assert!(text.contains(expected), "{text}");
        }
        let mut state = 1u64;
        for round in 0..20_000 {
            let mut bytes = if round % 2 == 0 { encode_hello(&hello()) } else { vec![0; 40] };
            for _ in 0..3 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let index = (state >> 33) as usize % bytes.len();
                bytes[index] = (state >> 56) as u8;
            }
            let _ = parse(&bytes);
        }
    }

    /// Each difference that matters is a refusal that names it.
    #[test]
    fn differences_are_refused() {
        let theirs = hello();
        let ours =
            Hello { from: theirs.to, to: theirs.from, incarnation: Incarnation(1), ..theirs };
        assert_eq!(check(&theirs, &ours), Ok(()));
        assert_eq!(check(&Hello { lineage: Lineage(2), ..theirs }, &ours), Ok(()));
        let table = [
            (Hello { cluster: ClusterId(1), ..theirs }, "cluster 0000000000000001"),
            (Hello { config: 8, ..theirs }, "another configuration"),
            (Hello { to: theirs.from, ..theirs }, "wants to talk to 2/0"),
        ];
        for (theirs, expected) in table {
            let text = check(&theirs, &ours).unwrap_err();
            assert!(text.contains(expected), "{text}");
        }
    }
}
