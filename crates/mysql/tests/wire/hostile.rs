//! Seeded random, mutated, truncated and oversized input at every state of a connection: never a panic, memory bounded,
//! and what is answered is packets.

use std::sync::{Arc, OnceLock};

use mysql::capabilities as cap;
use mysql::limits::{CHUNK_MAX, HEADER_SIZE, OUTPUT_MARK};
use mysql::tls::{generate_certificate, server_config};
use mysql::{ConnectionConfig, Transport};

use crate::support::*;

/// A small generator of its own: the same seed is the same run everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
    fn bytes(&mut self, size_max: usize) -> Vec<u8> {
        let size = self.below(size_max + 1);
        (0..size).map(|_| self.next() as u8).collect()
    }
}

fn config() -> Arc<ConnectionConfig> {
    static CONFIG: OnceLock<Arc<ConnectionConfig>> = OnceLock::new();
    let make = || {
        let made = generate_certificate(&["localhost".to_string()]).unwrap();
        let tls = Some(server_config(&made).unwrap());
        Arc::new(ConnectionConfig { tls, ..ConnectionConfig::default() })
    };
    CONFIG.get_or_init(make).clone()
}

/// Where a connection is when the input comes.
#[derive(Clone, Copy, Debug)]
enum State {
    BeforeLogin,
    AfterTlsRequest,
    AuthSwitch,
    FullAuthentication,
    Command,
    Prepared,
    LongData,
    ChangeUser,
    InsideBigPacket,
}

const STATES: [State; 9] = [
    State::BeforeLogin,
    State::AfterTlsRequest,
    State::AuthSwitch,
    State::FullAuthentication,
    State::Command,
    State::Prepared,
    State::LongData,
    State::ChangeUser,
    State::InsideBigPacket,
];

/// A connection in that state, and the sequence number of the next packet.
fn peer_in(state: State, capabilities: u32) -> (Peer, u8) {
    let mut peer = Peer::with_config(config(), Transport::UnixSocket);
    let login = |peer: &mut Peer| {
        peer.send_packet(1, &response(BASE | capabilities, b"root", b"", None));
    };
    let sequence = match state {
        State::BeforeLogin => 1,
        State::AfterTlsRequest => {
            peer.send_packet(1, &response(BASE | cap::SSL, b"", b"", None)[..32]);
            2
        }
        State::AuthSwitch => {
            peer.send_packet(1, &response(BASE, b"nat", b"", None));
            3
        }
        State::FullAuthentication => {
            peer.send_packet(1, &response(BASE, b"sha", &[1; 32], None));
            3
        }
        State::Command => {
            login(&mut peer);
            0
        }
        State::Prepared | State::LongData => {
            login(&mut peer);
            peer.command(b"\x16SELECT ?, ?, ?");
            if matches!(state, State::LongData) {
                peer.command(b"\x18\x01\0\0\0\x01\0some");
            }
            0
        }
        State::ChangeUser => {
            login(&mut peer);
            peer.command(b"\x11nat\0\0\0\x2d\0caching_sha2_password\0");
            2
        }
        State::InsideBigPacket => {
            login(&mut peer);
            peer.send(&[0xff, 0xff, 0xff, 0]);
            peer.send(b"\x03rest of a text that never ends");
            1
        }
    };
    peer.received.clear();
    (peer, sequence)
}

/// Payloads that mean something in some state, to be mutated.
fn models() -> Vec<Vec<u8>> {
    let mut execute = b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x08\0\xfe\0\x0c\0".to_vec();
    execute.extend_from_slice(b"\x05\0\0\0\0\0\0\0\x02ab\x07\xe8\x07\x02\x03\x04\x05\x06");
    let mut attributed = b"\x17\x01\0\0\0\x08\x01\0\0\0\x04\0\x01".to_vec();
    attributed.extend_from_slice(b"\x01\0\0\x0b\0\0\xf6\0\0\xfc\0\x01a\x05\0\x011\x02xy");
    vec![
        response(BASE, b"root", b"", None),
        response(BASE | cap::CONNECT_ATTRS | cap::CONNECT_WITH_DB, b"ann", &[7; 20], None),
        response(BASE & !cap::PLUGIN_AUTH, b"ann", &[7; 32], None),
        b"secret\0".to_vec(),
        vec![2],
        b"\x03types".to_vec(),
        b"\x03\x02\x01\x02\x01\xfe\0\x01a\x08\0\x01b\x03xyzrows 9".to_vec(),
        b"\x03rows 100".to_vec(),
        b"\x16SELECT ?, ?".to_vec(),
        execute,
        attributed,
        b"\x18\x01\0\0\0\x02\0data".to_vec(),
        b"\x19\x01\0\0\0".to_vec(),
        b"\x1a\x01\0\0\0".to_vec(),
        b"\x1c\x01\0\0\0\x01\0\0\0".to_vec(),
        b"\x04orders\0%".to_vec(),
        b"\x11ann\0\x01xshop\0\x2d\0mysql_native_password\0\x06\x02ab\x02cd".to_vec(),
        b"\x1b\x01\0".to_vec(),
        b"\x0c\x07\0\0\0".to_vec(),
        b"\x1f".to_vec(),
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03".to_vec(),
    ]
}

fn mutate(random: &mut Random, payload: &mut Vec<u8>) {
    for _ in 0..=random.below(4) {
        if payload.is_empty() {
            payload.push(random.next() as u8);
        }
        let at = random.below(payload.len());
        match random.below(7) {
            0 => payload[at] ^= 1 << random.below(8),
            1 => {
                payload[at] =
                    [0, 1, 0x7f, 0x80, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff][random.below(10)]
            }
            2 => payload.truncate(at),
            3 => {
                payload.remove(at);
            }
            4 => payload.insert(at, random.next() as u8),
            5 => {
                let more = random.bytes(300);
                payload.splice(at..at, more);
            }
            _ => {
                let end = at + random.below(payload.len() - at);
                let copy = payload[at..end].to_vec();
                payload.extend_from_slice(&copy);
            }
        }
    }
}

fn input(random: &mut Random, models: &[Vec<u8>], sequence: u8) -> Vec<u8> {
    match random.below(10) {
        0 => random.bytes(200),
        1 => {
            let mut bytes = vec![0xff, 0xff, 0xff, sequence];
            bytes.extend_from_slice(&random.bytes(1000));
            bytes
        }
        2 => {
            let payload = vec![random.next() as u8; random.below(40_000)];
            packet(sequence, &payload)
        }
        _ => {
            let mut payload = models[random.below(models.len())].clone();
            if random.below(5) > 0 {
                mutate(random, &mut payload);
            }
            let sequence = if random.below(20) == 0 { random.next() as u8 } else { sequence };
            let mut bytes = packet(sequence, &payload);
            if random.below(10) == 0 {
                bytes.truncate(random.below(bytes.len() + 1));
            }
            bytes
        }
    }
}

/// What came out is whole packets, unless TLS was asked for.
fn assert_packets(received: &[u8]) {
    let mut rest = received;
    while !rest.is_empty() {
        let [a, b, c, _] = *rest.first_chunk::<HEADER_SIZE>().expect("a whole header");
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        rest = rest.get(HEADER_SIZE + length..).expect("a whole payload");
    }
}

#[test]
fn ten_thousand_hostile_clients() {
    let models = models();
    let mut closed_count = 0;
    for seed in 0..10_800 {
        let random = &mut Random(seed);
        let state = STATES[seed as usize % STATES.len()];
        let capabilities = [0, cap::DEPRECATE_EOF, cap::QUERY_ATTRIBUTES][random.below(3)];
        let (mut peer, mut sequence) = peer_in(state, capabilities);
        for _ in 0..1 + random.below(8) {
            let bytes = input(random, &models, sequence);
            let piece_size = 1 + random.below(bytes.len().max(1));
            for piece in bytes.chunks(piece_size) {
                peer.send(piece);
                assert!(peer.received.len() < 4 << 20);
                let memory_max =
                    if peer.connection.is_authenticated() { 1 << 20 } else { 64 << 10 };
                assert!(peer.connection.memory_size() < memory_max, "seed {seed}");
            }
            if peer.is_done() {
                break;
            }
            // The next packet continues the exchange, or begins a new command.
            sequence = match peer.received.get(3) {
                Some(_) if peer.connection.is_authenticated() => 0,
                Some(_) => sequence.wrapping_add(2),
                None => sequence,
            };
            if !matches!(state, State::AfterTlsRequest) {
                assert_packets(&peer.received);
            }
            peer.received.clear();
        }
        closed_count += usize::from(peer.is_done());
        peer.connection.peer_closed();
        peer.run();
        assert!(peer.is_done(), "seed {seed}: a connection without a peer ends");
        assert!(peer.logged("unregister 7"));
    }
    assert!(closed_count > 1000, "only {closed_count} were closed by the server");
}

/// An endless chain of 16 MB packets is cut at max_allowed_packet, not after it.
#[test]
fn an_endless_packet() {
    let mut peer = Peer::logged_in(0);
    let chunk = vec![b'x'; CHUNK_MAX];
    for sequence in 0..10 {
        peer.send_packet(sequence, &chunk);
        if peer.is_done() {
            assert_eq!(sequence, 2);
            assert_eq!(peer.read_error().0, 1153);
            return;
        }
    }
    panic!("never refused");
}

/// Thousands of big results to a client that never reads stay below the mark.
#[test]
fn a_client_that_never_reads() {
    let mut peer = Peer::logged_in(0);
    peer.reads = false;
    for _ in 0..1000 {
        peer.command(b"\x03rows 1000000");
        if !peer.connection.wants_input() {
            break;
        }
    }
    assert!(peer.connection.output().len() < OUTPUT_MARK + 1000);
    peer.connection.peer_closed();
    peer.run();
    assert!(peer.is_done());
}
