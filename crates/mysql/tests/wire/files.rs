//! LOAD DATA LOCAL: the file of the client in the middle of a statement.

use mysql::Disconnect;
use mysql::capabilities as cap;
use mysql::limits::{CHUNK_MAX, INPUT_MARK};
use sql::KillKind;

use crate::support::*;

/// Logged in as a client that sends files, with a statement that has asked for one.
fn asked(statement: &str) -> Peer {
    let mut peer = Peer::logged_in(cap::LOCAL_FILES);
    peer.command(format!("\x03{statement}").as_bytes());
    assert_eq!(peer.read(), (1, b"\xfbdata.csv".to_vec()));
    assert_eq!(peer.connection.idle_timeout_seconds(), Some(30));
    peer
}

fn is_ok(payload: &[u8]) -> bool {
    payload[0] == 0
}

/// A file of any packets comes in as its bytes, and the answer has the next number behind its end.
#[test]
fn files_arrive() {
    let parts: [&[&[u8]]; 5] = [
        &[],
        &[b"a"],
        &[b"ab", b"", b"c"],
        &[b"abc", b"def", b"g"],
        &[&[7; 300_000], &[8; 70_000]],
    ];
    for parts in parts {
        let mut peer = asked("load");
        let mut sequence = 2u8;
        let mut sent: Vec<u8> = Vec::new();
        for part in parts.iter().take_while(|part| !part.is_empty()) {
            peer.send_packet(sequence, part);
            sequence += 1;
            sent.extend_from_slice(part);
        }
        assert!(peer.received.is_empty());
        peer.send_packet(sequence, b"");
        let (number, ok) = peer.read();
        assert_eq!(number, sequence + 1);
        assert!(is_ok(&ok));
        assert!(peer.logged(&format!("file of {} bytes, sum {}", sent.len(), sum(&sent))));
        assert_eq!(peer.connection.idle_timeout_seconds(), Some(28_800));
        peer.command(b"\x0e");
        assert!(is_ok(&peer.read_payload()), "the connection goes on");
    }
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().map(|&byte| u64::from(byte)).sum()
}

/// Packets in pieces of one byte; a packet of the greatest size is continued by an empty one, which is not the end.
#[test]
fn packets_in_pieces() {
    let mut peer = asked("load");
    for byte in [packet(2, b"abc"), packet(3, b"d"), packet(4, b"")].concat() {
        assert!(peer.received.is_empty());
        peer.send(&[byte]);
    }
    assert!(is_ok(&peer.read_payload()));
    assert!(peer.logged("file of 4 bytes, sum 394"));
    let mut peer = asked("load");
    peer.send(&packet(2, &vec![1; CHUNK_MAX]));
    peer.send(&packet(3, b""));
    assert!(peer.received.is_empty(), "it continued the packet before");
    peer.send(&packet(4, b"z"));
    peer.send(&packet(5, b""));
    assert_eq!(peer.read().0, 6);
    let (size, sum) = (CHUNK_MAX + 1, CHUNK_MAX + 122);
    assert!(peer.logged(&format!("file of {size} bytes, sum {sum}")));
}

/// Numbers of packets are of one byte.
#[test]
fn more_packets_than_numbers() {
    let mut peer = asked("load");
    for number in 2..1000u32 {
        peer.send_packet(number as u8, b"x");
    }
    peer.send_packet(1000u32 as u8, b"");
    assert_eq!(peer.read().0, 1001u32 as u8);
    assert!(peer.logged(&format!("file of 998 bytes, sum {}", 998 * 120)));
}

/// An error in the middle waits for the rest of the file, and the connection stays usable.
#[test]
fn an_error_in_the_middle() {
    let mut peer = asked("load 3");
    peer.send_packet(2, b"abcdef");
    peer.send_packet(3, &[9; 200_000]);
    assert!(peer.received.is_empty(), "the client has not finished");
    assert_eq!(peer.connection.idle_timeout_seconds(), Some(30));
    peer.send_packet(4, b"");
    let (number, payload) = peer.read();
    assert_eq!((number, error_of(&payload).unwrap().0), (5, 1366));
    peer.command(b"\x03rows 1");
    assert_eq!(peer.read_all().len(), 5);
    // The error is there before the client sends anything.
    let mut peer = asked("load 0");
    peer.send_packet(2, b"abc");
    peer.send_packet(3, b"");
    assert_eq!(peer.read_error().0, 1366);
    assert!(peer.received.is_empty());
}

/// A statement that panics with a file under way is answered as any other.
#[test]
fn a_panic_in_the_middle() {
    let mut peer = asked("load panic");
    peer.send_packet(2, b"abc");
    peer.send_packet(3, b"");
    let answers = peer.read_all();
    assert_eq!(answers.len(), 1);
    assert_eq!(error_of(&answers[0]).unwrap().0, 1815);
}

/// A client without the capability is not asked.
#[test]
fn clients_that_send_no_files() {
    let mut peer = Peer::logged_in(0);
    peer.command(b"\x03load");
    assert_eq!(peer.read_error().0, 3948);
}

/// While the statement is busy the client is not read from; then all of it arrives.
#[test]
fn back_pressure() {
    let mut peer = asked("load wait");
    assert!(peer.connection.wants_input());
    let mut sequence = 2;
    let part = [1; 60_000];
    while peer.connection.wants_input() {
        peer.send_packet(sequence, &part);
        sequence += 1;
    }
    assert_eq!(peer.connection.idle_timeout_seconds(), None, "the statement is busy");
    assert!(INPUT_MARK / part.len() <= usize::from(sequence));
    assert!(peer.connection.memory_size() < 2 << 20);
    peer.connection.kill(KillKind::Query);
    peer.run();
    assert!(peer.connection.wants_input());
    peer.send_packet(sequence, b"");
    assert_eq!(peer.read_error().0, 1317);
    peer.command(b"\x0e");
    assert!(is_ok(&peer.read_payload()));
}

/// Whatever ends the client ends the statement.
#[test]
fn clients_that_go_away() {
    let mut peer = asked("load");
    peer.send_packet(2, b"abc");
    peer.connection.peer_closed();
    peer.run();
    assert!(peer.is_done() && peer.logged("close"));
    // In the middle of a packet, and while the rest is dropped.
    let mut peer = asked("load 1");
    peer.send(&packet(2, b"abcdef")[..7]);
    peer.connection.peer_closed();
    peer.run();
    assert!(peer.is_done() && peer.logged("close"));
}

/// A client that sends nothing for net_read_timeout gets its error, and no second one.
#[test]
fn silence() {
    for (statement, expected) in [("load", 1159), ("load 0", 1366)] {
        let mut peer = asked(statement);
        peer.connection.disconnect(Disconnect::Idle);
        peer.run();
        assert_eq!(peer.read_error().0, expected);
        peer.assert_closed();
    }
}

/// KILL of the connection ends it at once; the shutdown lets a statement finish, and waits for no client that only has a
/// file to get rid of.
#[test]
fn ends_from_outside() {
    let mut peer = asked("load");
    peer.connection.kill(KillKind::Connection);
    peer.run();
    assert!(peer.is_done());
    let mut peer = asked("load");
    peer.connection.disconnect(Disconnect::Shutdown);
    peer.run();
    peer.send_packet(2, b"abc");
    assert!(!peer.is_done() && peer.received.is_empty());
    peer.send_packet(3, b"");
    assert!(is_ok(&peer.read_payload()));
    assert_eq!(peer.read_error().0, 1053);
    peer.assert_closed();
    let mut peer = asked("load 0");
    peer.connection.disconnect(Disconnect::Shutdown);
    peer.run();
    assert_eq!(peer.read_error().0, 1366);
    peer.assert_closed();
}

/// Packets out of order end the connection.
#[test]
fn wrong_numbers() {
    for statement in ["load", "load 0"] {
        let mut peer = asked(statement);
        peer.send_packet(3, b"abc");
        let code = peer.read_error().0;
        assert!(code == 1156 || statement == "load 0" && code == 1366, "{code}");
        peer.assert_closed();
    }
}
