//! A client's bytes into a connection with the tests' scripted SQL layer behind: the first byte says in how large pieces
//! they arrive. Run with `cargo +nightly fuzz run connection` in crates/mysql.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/wire/support.rs"]
#[allow(dead_code)]
mod support;

fuzz_target!(|bytes: &[u8]| {
    let Some((&piece_size, stream)) = bytes.split_first() else { return };
    let mut peer = support::Peer::local();
    let piece_size = if piece_size == 0 { stream.len().max(1) } else { usize::from(piece_size) };
    for piece in stream.chunks(piece_size) {
        peer.send(piece);
        peer.received.clear();
    }
    peer.connection.peer_closed();
    peer.run();
    assert!(peer.is_done());
});
