//! TLS, with rustls on the client's side, in memory.

use std::io::{Read, Write};
use std::sync::{Arc, OnceLock};

use mysql::capabilities as cap;
use mysql::tls::{CertificatePem, generate_certificate, server_config};
use mysql::{ConnectionConfig, Transport};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use crate::support::*;

fn certificate() -> &'static CertificatePem {
    static MADE: OnceLock<CertificatePem> = OnceLock::new();
    MADE.get_or_init(|| generate_certificate(&["localhost".to_string()]).unwrap())
}

fn server() -> ConnectionConfig {
    ConnectionConfig { tls: Some(server_config(certificate()).unwrap()), ..Default::default() }
}

fn client(version: &'static rustls::SupportedProtocolVersion) -> ClientConnection {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&certificate().certificate).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    ClientConnection::new(Arc::new(config), ServerName::try_from("localhost").unwrap()).unwrap()
}

/// Carries bytes both ways until nothing moves; returns what the client can read.
fn carry(peer: &mut Peer, tls: &mut ClientConnection) -> Result<Vec<u8>, rustls::Error> {
    let mut plaintext = Vec::new();
    loop {
        let mut moved = false;
        let mut out = Vec::new();
        while tls.wants_write() {
            tls.write_tls(&mut out).unwrap();
        }
        if !out.is_empty() {
            peer.send(&out);
            moved = true;
        }
        let arrived = std::mem::take(&mut peer.received);
        let mut rest = arrived.as_slice();
        while !rest.is_empty() {
            tls.read_tls(&mut rest).unwrap();
            let state = tls.process_new_packets()?;
            let mut bytes = vec![0; state.plaintext_bytes_to_read()];
            tls.reader().read_exact(&mut bytes).unwrap();
            plaintext.extend_from_slice(&bytes);
            moved = true;
        }
        if !moved {
            return Ok(plaintext);
        }
    }
}

fn request() -> Vec<u8> {
    response(BASE | cap::SSL, b"", b"", None)[..32].to_vec()
}

/// Login with the password in the clear inside TLS, and a result much larger than TLS's buffers.
#[test]
fn a_session_inside_tls() {
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let mut peer = Peer::new(ConnectionConfig { tls_required: true, ..server() }, tcp(false));
        let greeting = peer.read_payload();
        let low = u16::from_le_bytes([greeting[25], greeting[26]]);
        assert!(u32::from(low) & cap::SSL != 0 || greeting.len() > 60, "TLS is offered");
        let mut tls = client(version);
        // The request and the client's first TLS record in one piece, as TCP may deliver them.
        let mut first = packet(1, &request());
        tls.write_tls(&mut first).unwrap();
        peer.send(&first);
        let wrong_token = crate::login::sha2_token(b"not it");
        let login =
            packet(2, &response(BASE | cap::SSL | cap::DEPRECATE_EOF, b"sha", &wrong_token, None));
        tls.writer().write_all(&login).unwrap();
        assert_eq!(carry(&mut peer, &mut tls).unwrap(), packet(3, &[1, 4]));
        tls.writer().write_all(&packet(4, b"secret\0")).unwrap();
        assert_eq!(carry(&mut peer, &mut tls).unwrap(), packet(5, &[0, 0, 0, 2, 0, 0, 0]));
        tls.writer().write_all(&packet(0, b"\x03big 3000000")).unwrap();
        let answer = carry(&mut peer, &mut tls).unwrap();
        assert!(answer.len() > 3_000_000);
        tls.writer().write_all(&packet(0, b"\x01")).unwrap();
        carry(&mut peer, &mut tls).unwrap();
        assert!(peer.is_done());
    }
}

/// Plaintext behind the request for TLS is never taken for a packet: the connection ends without a login.
#[test]
fn plaintext_behind_the_request() {
    let mut peer = Peer::new(server(), tcp(true));
    peer.read();
    let login = packet(2, &response(BASE | cap::SSL, b"root", b"", None));
    peer.send(&[packet(1, &request()), login.clone()].concat());
    assert!(peer.is_done());
    assert!(!peer.connection.is_authenticated());
    let mut peer = Peer::new(server(), tcp(true));
    peer.read();
    peer.send_packet(1, &request());
    peer.send(&login);
    assert!(peer.is_done());
    assert!(!peer.connection.is_authenticated());
    // In the middle of the TLS handshake, and of a session.
    let mut peer = Peer::new(server(), tcp(true));
    peer.read();
    peer.send_packet(1, &request());
    let mut tls = client(&rustls::version::TLS13);
    let mut hello = Vec::new();
    tls.write_tls(&mut hello).unwrap();
    peer.send(&hello);
    peer.send(&login);
    assert!(peer.is_done());
    assert!(!peer.connection.is_authenticated());
}

/// A second request for TLS inside TLS is no login; the alert of a failed handshake reaches the client.
#[test]
fn odd_tls_clients() {
    let mut peer = Peer::new(server(), tcp(true));
    peer.read();
    peer.send_packet(1, &request());
    let mut tls = client(&rustls::version::TLS13);
    tls.writer().write_all(&packet(2, &request())).unwrap();
    let answer = carry(&mut peer, &mut tls).unwrap();
    assert_eq!(error_of(&answer[4..]), Some((1043, "08S01".into())));
    assert!(peer.is_done());
    let mut peer = Peer::new(server(), tcp(true));
    peer.read();
    peer.send_packet(1, &request());
    peer.send(b"\x16\x03\x01\x00\x05hello");
    assert!(peer.is_done());
    assert_eq!(peer.received.first(), Some(&0x15), "a TLS alert");
}

/// Where TLS is required, TCP without it is refused before any password is looked at; a unix socket needs none.
#[test]
fn tls_required() {
    let config = || ConnectionConfig { tls_required: true, ..server() };
    let mut peer = Peer::new(config(), tcp(true));
    peer.read();
    peer.send_packet(1, &response(BASE, b"root", b"", None));
    assert_eq!(peer.read_error(), (3159, "HY000".into()));
    peer.assert_closed();
    let mut peer = Peer::new(config(), Transport::UnixSocket);
    peer.read();
    peer.send_packet(1, &response(BASE, b"root", b"", None));
    assert_eq!(peer.read_payload()[0], 0);
}
