//! Every command after login: what goes in, what comes out.

use mysql::capabilities as cap;
use mysql::limits::{CHUNK_MAX, OUTPUT_MARK};
use sql::KillKind;

use crate::support::*;

const OK: [u8; 7] = [0, 0, 0, 2, 0, 0, 0];
const EOF: [u8; 5] = [0xfe, 0, 0, 2, 0];
const END: [u8; 7] = [0xfe, 0, 0, 2, 0, 0, 0];

/// Commands with one packet for an answer.
#[test]
fn simple_commands() {
    let mut peer = Peer::logged_in(0);
    peer.command(b"\x0e");
    assert_eq!(peer.read(), (1, OK.to_vec()), "ping");
    peer.command(b"\x02shop");
    assert_eq!(peer.read(), (1, OK.to_vec()));
    assert!(peer.logged("use shop"));
    peer.command(b"\x02nowhere");
    assert_eq!(peer.read_error(), (1049, "42000".into()));
    peer.command(b"\x09");
    assert_eq!(peer.read_payload(), b"Uptime: 1  Threads: 1");
    peer.command(b"\x0d");
    assert_eq!(peer.read_payload(), EOF, "debug");
    peer.command(b"\x1b\0\0");
    assert_eq!(peer.read_payload(), EOF);
    assert!(peer.logged("multi statements true"));
    peer.command(b"\x1b\x01\0");
    assert_eq!(peer.read_payload(), EOF);
    assert!(peer.logged("multi statements false"));
    peer.command(b"\x1b\x02\0");
    assert_eq!(peer.read_error(), (1047, "08S01".into()));
    peer.command(b"\x1f");
    assert_eq!(peer.read_payload(), OK);
    assert!(peer.logged("reset"));
    peer.command(b"\x0c\x09\0\0\0");
    peer.read_all();
    assert!(peer.logged("query KILL 9"));
    peer.command(b"\x0a");
    peer.read_all();
    assert!(peer.logged("query SHOW PROCESSLIST"));
    for unknown in
        [0u8, 5, 6, 7, 8, 0x0b, 0x0f, 0x10, 0x12, 0x13, 0x14, 0x15, 0x1d, 0x1e, 0x20, 0xff]
    {
        peer.command(&[unknown]);
        assert_eq!(peer.read_error(), (1047, "08S01".into()));
    }
    peer.command(b"");
    assert_eq!(peer.read_error(), (1047, "08S01".into()));
    peer.command(b"\x01");
    peer.assert_closed();
    assert!(peer.logged("close"));
}

/// The whole transcript of a result set, in both dialects of its ends.
#[test]
fn a_result_set_byte_by_byte() {
    let column = b"\x03def\x04shop\x01o\x06orders\x01n\x01N\x0c\x3f\0\x14\0\0\0\x08\0\0\0\0\0";
    let mut peer = Peer::logged_in(0);
    peer.command(b"\x03rows 2");
    let eof_with_warnings = [0xfe, 2, 0, 2, 0];
    let expected: [&[u8]; 6] = [b"\x01", column, &EOF, b"\x010", b"\x011", &eof_with_warnings];
    for (index, payload) in expected.iter().enumerate() {
        assert_eq!(peer.read(), (index as u8 + 1, payload.to_vec()));
    }
    assert!(peer.received.is_empty());
    let mut peer = Peer::logged_in(cap::DEPRECATE_EOF);
    peer.command(b"\x03rows 1");
    let end = [0xfe, 0, 0, 2, 0, 2, 0];
    for payload in [&b"\x01"[..], column, b"\x010", &end] {
        assert_eq!(peer.read_payload(), payload);
    }
    assert!(peer.received.is_empty());
}

/// OK with everything in it; two results of one text; an error at once and behind rows; one that ends the connection.
#[test]
fn answers_without_rows() {
    let mut peer = Peer::logged_in(cap::DEPRECATE_EOF);
    peer.command(b"\x03UPDATE");
    let mut ok = vec![0, 0xfc, 0x2c, 1, 0xfd, 0x70, 0x11, 1, 3, 0, 3, 0];
    ok.push(15);
    ok.extend_from_slice(b"Rows matched: 1");
    assert_eq!(peer.read_payload(), ok);
    peer.command(b"\x03two");
    let packets = peer.read_all();
    assert_eq!(packets[0], [0, 1, 0, 0x0a, 0, 0, 0], "more results follow");
    assert_eq!(packets.last().unwrap(), &END);
    peer.command(b"\x03fail");
    assert_eq!(peer.read_error(), (1064, "42000".into()));
    peer.command(b"\x03late");
    let packets = peer.read_all();
    assert_eq!(error_of(packets.last().unwrap()), Some((1317, "70100".into())));
    peer.command(b"\x03fatal");
    assert_eq!(peer.read_error(), (1053, "08S01".into()));
    peer.assert_closed();
}

#[test]
fn field_list() {
    let mut peer = Peer::logged_in(0);
    peer.command(b"\x04orders\0%");
    let packets = peer.read_all();
    assert_eq!(packets.len(), 2);
    assert_eq!(packets[0].last(), Some(&0xfb), "the default is NULL");
    assert_eq!(packets[1], EOF);
    peer.command(b"\x04x\0");
    assert_eq!(peer.read_error(), (1146, "42S02".into()));
}

/// Prepare, execute with types, again without, long data, reset, close.
#[test]
fn prepared_statements() {
    let mut peer = Peer::logged_in(0);
    peer.command(b"\x16SELECT ?, ?");
    let packets = peer.read_all();
    assert_eq!(packets[0], [0, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0]);
    assert_eq!(packets.len(), 1 + 2 + 1 + 1 + 1);
    assert_eq!(packets[3], EOF);
    assert_eq!(packets[5], EOF);
    let bound = b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x08\0\xfe\0\x05\0\0\0\0\0\0\0\x02ab";
    peer.command(bound);
    let packets = peer.read_all();
    assert_eq!(packets[4], b"\0\0\x05\0\0\0\0\0\0\0\x02ab");
    let unbound = b"\x17\x01\0\0\0\x01\x01\0\0\0\x01\0\x02cd";
    peer.command(unbound);
    assert_eq!(peer.read_all()[4], b"\0\x04\x02cd", "a NULL, types remembered, cursor not opened");
    for part in [&b"lo"[..], b"ng"] {
        let mut payload = b"\x18\x01\0\0\0\x01\0".to_vec();
        payload.extend_from_slice(part);
        peer.command(&payload);
    }
    assert!(peer.received.is_empty(), "long data is not answered");
    peer.command(b"\x17\x01\0\0\0\0\x01\0\0\0\0\0\x07\0\0\0\0\0\0\0");
    assert_eq!(peer.read_all()[4], b"\0\0\x07\0\0\0\0\0\0\0\x04long");
    peer.command(unbound);
    assert_eq!(peer.read_all()[4], b"\0\x04\x02cd", "long data is good for one execution");
    peer.command(b"\x18\x01\0\0\0\x01\0gone");
    peer.command(b"\x1a\x01\0\0\0");
    assert_eq!(peer.read_payload(), OK, "reset");
    peer.command(unbound);
    assert_eq!(peer.read_all()[4], b"\0\x04\x02cd");
    peer.command(b"\x1c\x01\0\0\0\x05\0\0\0");
    assert_eq!(peer.read_error().0, 1421);
    peer.command(b"\x19\x01\0\0\0");
    assert!(peer.received.is_empty(), "close is not answered");
    peer.command(unbound);
    assert_eq!(peer.read_error(), (1243, "HY000".into()));
    peer.command(b"\x1a\x01\0\0\0");
    assert_eq!(peer.read_error().0, 1243);
    peer.command(b"\x16fail");
    assert_eq!(peer.read_error().0, 1064);
    peer.command(b"\x16BEGIN");
    assert_eq!(peer.read_all()[0], [0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    peer.command(b"\x17\x02\0\0\0\0\x01\0\0\0");
    assert_eq!(peer.read_payload(), OK);
}

/// Executions that cannot be run are refused and the connection goes on; malformed ones end it.
#[test]
fn wrong_executions() {
    let prepared = || {
        let mut peer = Peer::logged_in(0);
        peer.command(b"\x16SELECT ?");
        peer.read_all();
        peer
    };
    let mut peer = prepared();
    peer.command(b"\x17\x01\0\0\0\0\x01\0\0\0\0\0\x07");
    assert_eq!(peer.read_error(), (1210, "HY000".into()), "no types");
    peer.command(b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x63\0");
    assert_eq!(peer.read_error().0, 1210, "no such type");
    peer.command(b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x05\0\0\0\0\0\0\0\xf8\x7f");
    assert_eq!(peer.read_error(), (1367, "22007".into()), "not a number");
    peer.command(b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x0a\0\x04\xe8\x07\x0d\x01");
    assert_eq!(peer.read_error().0, 1367, "month 13");
    peer.command(b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\xf6\0\x03abc");
    assert_eq!(peer.read_error().0, 1367, "no decimal");
    peer.command(b"\x18\x01\0\0\0\x05\0data");
    peer.command(b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x01\0\x07");
    assert_eq!(peer.read_error().0, 1105, "long data for a parameter that is not there");
    peer.command(b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x01\0\x07");
    assert_eq!(peer.read_all().len(), 5);
    peer.command(b"\x18\x09\0\0\0\0\0no such statement");
    assert!(peer.received.is_empty());
    peer.command(b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x0b\0\x0c\x01\x02\0\0\0\x03\x04\x05\x06\0\0\0");
    let row = &peer.read_all()[3];
    assert_eq!(row, b"\0\0\x0c\x01\x02\0\0\0\x03\x04\x05\x06\0\0\0", "a time goes round");
    peer.command(b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\xfe\0\x09ab");
    assert_eq!(peer.read_error(), (1835, "HY000".into()), "shorter than it says");
    peer.assert_closed();
    let mut peer = prepared();
    peer.command(b"\x17\x01\0");
    assert_eq!(peer.read_error().0, 1835);
    peer.assert_closed();
}

/// Bytes bound as characters stay bytes when they are not UTF-8, as Go's driver sends them.
#[test]
fn kinds_of_parameters() {
    let mut peer = Peer::logged_in(0);
    peer.command(b"\x16SELECT ?, ?, ?, ?");
    peer.read_all();
    let body = b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\xfe\0\xfd\0\xfc\0\x08\x80\x02\xff\xfe\x02ab\x02ab\x01\0\0\0\0\0\0\0";
    peer.command(body);
    let kinds = peer.log.borrow().last().cloned().unwrap();
    assert_eq!(kinds, "execute [\"bytes\", \"text\", \"bytes\", \"unsigned integer\"]");
    let row = peer.read_all()[6].clone();
    assert_eq!(row, b"\0\0\x02\xff\xfe\x02ab\x02ab\x01\0\0\0\0\0\0\0");
}

/// Long data is bounded by max_allowed_packet over the whole connection.
#[test]
fn long_data_is_bounded() {
    let mut peer = Peer::logged_in(0);
    peer.command(b"\x16SELECT ?");
    peer.read_all();
    let mut payload = b"\x18\x01\0\0\0\0\0".to_vec();
    payload.resize(10 << 20, b'x');
    for _ in 0..4 {
        peer.command(&payload);
    }
    peer.command(b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\xfc\0");
    assert_eq!(peer.read_error().0, 1105);
    payload.truncate(1000);
    peer.command(&payload);
    peer.command(b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\xfc\0");
    assert_eq!(peer.read_all()[3].len(), 2 + 3 + 993);
}

/// Long data is of one execution, also of one that fails: who sends it again does not add to it.
#[test]
fn long_data_is_of_one_execution() {
    let mut peer = Peer::logged_in(0);
    peer.command(b"\x16SELECT ?, ?");
    peer.read_all();
    peer.command(b"\x18\x01\0\0\0\0\0abc");
    peer.command(b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\xfc\0\x05\0\0\0\0\0\0\0\xf8\x7f");
    assert_eq!(peer.read_error().0, 1367, "not a number");
    peer.command(b"\x18\x01\0\0\0\0\0de");
    peer.command(b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\xfc\0\x01\0\x07");
    assert_eq!(peer.read_all()[4], b"\0\0\x02de\x07\0\0\0\0\0\0\0");
}

/// Another user on the same connection, right and wrong; the statements of the old one are gone.
#[test]
fn change_user() {
    let mut peer = Peer::logged_in(0);
    peer.command(b"\x16SELECT ?");
    peer.read_all();
    let mut payload = b"\x11nat\0\x14".to_vec();
    payload.extend_from_slice(&crate::login::native_token(PASSWORD));
    payload.extend_from_slice(b"shop\0\x2d\0mysql_native_password\0");
    peer.command(&payload);
    assert_eq!(peer.read(), (1, OK.to_vec()));
    assert!(peer.logged("change to nat Some(\"shop\")"));
    peer.command(b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x01\0\x07");
    assert_eq!(peer.read_error().0, 1243);
    payload[6] ^= 1;
    peer.command(&payload);
    assert_eq!(peer.read_error(), (1045, "28000".into()));
    peer.assert_closed();
    assert!(peer.logged("close"));
    let mut peer = Peer::logged_in(0);
    peer.command(b"\x11sha\0\0\0\x2d\0mysql_native_password\0");
    assert_eq!(peer.read_payload()[0], 0xfe, "switch");
    peer.send_packet(2, &crate::login::sha2_token(PASSWORD));
    assert_eq!(peer.read(), (3, vec![1, 3]));
    assert_eq!(peer.read(), (4, OK.to_vec()));
    let mut peer = Peer::logged_in(0);
    peer.command(b"\x11no terminator");
    assert_eq!(peer.read_error().0, 1835);
    peer.assert_closed();
}

/// Packets of more than 16 MB, both ways; one too long ends the connection at its header.
#[test]
fn packets_in_several_parts() {
    let mut peer = Peer::logged_in(cap::DEPRECATE_EOF);
    let mut first = b"\x03".to_vec();
    first.resize(CHUNK_MAX, b' ');
    peer.send_packet(0, &first);
    assert!(peer.received.is_empty());
    peer.send_packet(1, b"UPDATE");
    assert_eq!(peer.read().0, 2);
    let size = CHUNK_MAX + 5;
    peer.command(format!("\x03big {size}").as_bytes());
    assert_eq!(peer.read_payload(), [1]);
    peer.read_payload();
    let (sequence, part) = peer.read();
    assert_eq!((sequence, part.len()), (3, CHUNK_MAX));
    let (sequence, part) = peer.read();
    assert_eq!((sequence, part.len()), (4, 9 + 5), "length of the text, and the rest of it");
    assert_eq!(peer.read(), (5, END.to_vec()));
    peer.send_packet(0, &first);
    peer.send_packet(1, &first);
    peer.send(&[0xe9, 3, 0, 2]);
    assert_eq!(peer.read_error(), (1153, "08S01".into()));
    peer.assert_closed();
}

/// A wrong sequence number ends the connection.
#[test]
fn packets_out_of_order() {
    let mut peer = Peer::logged_in(0);
    peer.send_packet(1, b"\x0e");
    assert_eq!(peer.read_error(), (1156, "08S01".into()));
    peer.assert_closed();
}

/// Commands sent without waiting for answers are answered in order.
#[test]
fn pipelined_commands() {
    let mut peer = Peer::logged_in(0);
    peer.send(&[packet(0, b"\x0e"), packet(0, b"\x03fail"), packet(0, b"\x0e")].concat());
    let packets = peer.read_all();
    assert_eq!(packets.len(), 3);
    assert!(error_of(&packets[1]).is_some());
    let mut peer = Peer::logged_in(0);
    for byte in packet(0, b"\x03rows 1") {
        peer.send(&[byte]);
    }
    assert_eq!(peer.read_all().len(), 5);
}

/// A client that does not read stops its own statement: output is bounded, and goes on when it reads.
#[test]
fn a_slow_reader() {
    let mut peer = Peer::logged_in(cap::DEPRECATE_EOF);
    peer.reads = false;
    peer.command(b"\x03rows 100000");
    assert!(peer.log.borrow().last().unwrap().starts_with("full at"));
    let shown = peer.connection.output().len();
    assert!((OUTPUT_MARK..OUTPUT_MARK + 100).contains(&shown));
    peer.reads = true;
    peer.run();
    assert_eq!(peer.read_all().len(), 100_003);
    peer.reads = false;
    peer.command(b"\x03rows 100000");
    peer.connection.peer_closed();
    peer.run();
    assert!(peer.is_done(), "a reader that is gone holds up nothing");
    assert!(peer.connection.output().len() <= OUTPUT_MARK + 100);
}

/// KILL QUERY ends the statement, KILL the connection, and a client that goes cancels what it waits for.
#[test]
fn kills() {
    let mut peer = Peer::logged_in(0);
    peer.command(b"\x03wait");
    assert!(peer.received.is_empty());
    assert_eq!(peer.connection.idle_timeout_seconds(), None);
    peer.connection.kill(KillKind::Query);
    peer.run();
    assert_eq!(peer.read_error(), (1317, "70100".into()));
    peer.command(b"\x0e");
    assert_eq!(peer.read_payload(), OK);
    peer.command(b"\x03wait");
    peer.connection.kill(KillKind::Connection);
    peer.run();
    assert_eq!(peer.read_error().0, 1317);
    peer.assert_closed();
    let mut peer = Peer::logged_in(0);
    peer.command(b"\x03wait");
    peer.connection.peer_closed();
    peer.run();
    assert!(peer.is_done());
    assert!(peer.logged("close"));
}

/// While a statement runs, what comes is kept up to the mark, and then not asked for.
#[test]
fn input_is_bounded() {
    let mut peer = Peer::logged_in(0);
    peer.command(b"\x03wait");
    let mut sent = 0;
    while peer.connection.wants_input() {
        peer.send(&vec![0; 64 * 1024]);
        sent += 64 * 1024;
    }
    assert_eq!(sent, mysql::limits::INPUT_MARK);
    peer.send(&vec![0; 1 << 20]);
    peer.send(&vec![0; 1 << 20]);
    peer.connection.kill(KillKind::Query);
    peer.run();
    peer.read_error();
    assert_eq!(peer.read_error().0, 1047, "the zeros are empty packets");
}
