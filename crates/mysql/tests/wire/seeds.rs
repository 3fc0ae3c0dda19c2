//! The corpus of the fuzz targets, replayed: each file is one conversation of a client, as a stream of bytes in pieces.

use std::fs;
use std::path::Path;

use crate::support::Peer;

#[test]
fn corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/connection");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        replay(&bytes);
        count += 1;
    }
    assert!(count >= 20);
}

/// The first byte says in how large pieces the rest arrives (0: all at once).
pub fn replay(bytes: &[u8]) {
    let Some((&piece_size, stream)) = bytes.split_first() else { return };
    let mut peer = Peer::local();
    let piece_size = if piece_size == 0 { stream.len().max(1) } else { usize::from(piece_size) };
    for piece in stream.chunks(piece_size) {
        peer.send(piece);
        peer.received.clear();
    }
    peer.connection.peer_closed();
    peer.run();
    assert!(peer.is_done());
}
