//! Greeting and login: every way in, every way not in.

use std::sync::{Arc, OnceLock};

use mysql::capabilities as cap;
use mysql::limits::PACKET_BEFORE_AUTH_MAX;
use mysql::{ConnectionConfig, Disconnect, RsaKey, Transport};
use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthSwitchRequest, HandshakePacket};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::support::*;

pub fn native_token(password: &[u8]) -> Vec<u8> {
    let once = Sha1::digest(password);
    let mix = Sha1::new().chain_update(RANDOM).chain_update(Sha1::digest(once)).finalize();
    once.iter().zip(mix).map(|(a, b)| a ^ b).collect()
}
pub fn sha2_token(password: &[u8]) -> Vec<u8> {
    let once = Sha256::digest(password);
    let mix = Sha256::new().chain_update(Sha256::digest(once)).chain_update(RANDOM).finalize();
    once.iter().zip(mix).map(|(a, b)| a ^ b).collect()
}

/// One key for all tests: making one takes a while.
fn rsa() -> Arc<RsaKey> {
    static KEY: OnceLock<Arc<RsaKey>> = OnceLock::new();
    KEY.get_or_init(|| Arc::new(RsaKey::generate().unwrap())).clone()
}

fn with_rsa() -> ConnectionConfig {
    ConnectionConfig { rsa: Some(rsa()), ..ConnectionConfig::default() }
}

const NATIVE: Option<&[u8]> = Some(b"mysql_native_password");

/// The greeting is what another implementation reads, and offers what it should and nothing that it should not.
#[test]
fn the_greeting() {
    let mut peer = Peer::local();
    let (sequence, payload) = peer.read();
    assert_eq!(sequence, 0);
    let greeting: HandshakePacket<'_> = ParseBuf(&payload).parse(()).unwrap();
    assert_eq!(greeting.protocol_version(), 10);
    assert_eq!(greeting.server_version_ref(), b"8.0.40-test");
    assert_eq!(greeting.connection_id(), 7);
    assert_eq!(greeting.scramble_1_ref(), &RANDOM[..8]);
    assert_eq!(greeting.scramble_2_ref(), Some(&[&RANDOM[8..], &[0]].concat()[..]));
    assert_eq!(greeting.auth_plugin_name_ref(), Some(&b"caching_sha2_password"[..]));
    let offered = greeting.capabilities();
    for yes in [
        CapabilityFlags::CLIENT_PROTOCOL_41,
        CapabilityFlags::CLIENT_PLUGIN_AUTH,
        CapabilityFlags::CLIENT_DEPRECATE_EOF,
        CapabilityFlags::CLIENT_MULTI_STATEMENTS,
        CapabilityFlags::CLIENT_CONNECT_WITH_DB,
        CapabilityFlags::CLIENT_LOCAL_FILES,
    ] {
        assert!(offered.contains(yes));
    }
    for no in [
        CapabilityFlags::CLIENT_COMPRESS,
        CapabilityFlags::CLIENT_SSL,
        CapabilityFlags::CLIENT_SESSION_TRACK,
    ] {
        assert!(!offered.contains(no));
    }
    assert!(!peer.connection.is_authenticated());
    assert_eq!(peer.connection.idle_timeout_seconds(), None);
}

/// (user, token, plugin, transport is local): in.
#[test]
fn the_ways_in_at_once() {
    type Case = (&'static [u8], Vec<u8>, Option<&'static [u8]>, bool);
    let cases: [Case; 7] = [
        (b"root", Vec::new(), None, true),
        (b"root", vec![0], None, true),
        (b"root", Vec::new(), NATIVE, true),
        (b"nat", native_token(PASSWORD), NATIVE, false),
        (b"nat", native_token(PASSWORD), NATIVE, true),
        (b"sha", sha2_token(PASSWORD), None, false),
        (b"sha", sha2_token(PASSWORD), None, true),
    ];
    for (user, token, plugin, is_local) in cases {
        let mut peer = Peer::new(ConnectionConfig::default(), tcp(is_local));
        peer.read();
        peer.send_packet(1, &response(BASE, user, &token, plugin));
        if token.len() == 32 {
            assert_eq!(peer.read(), (2, vec![1, 3]), "fast authentication is announced");
        }
        let (_, ok) = peer.read();
        assert_eq!(ok, [0, 0, 0, 2, 0, 0, 0], "{user:?}");
        assert!(peer.connection.is_authenticated());
        assert_eq!(peer.connection.idle_timeout_seconds(), Some(28_800));
        peer.command(b"\x0e");
        assert_eq!(peer.read().0, 1);
        peer.command(b"\x01");
        peer.assert_closed();
    }
}

/// A client that begins with another plugin, or with one that nobody knows, is told to switch, and gets in.
#[test]
fn switching_plugins() {
    type Case = (&'static [u8], &'static [u8], &'static [u8], Vec<u8>);
    let cases: [Case; 4] = [
        (b"nat", b"caching_sha2_password", b"mysql_native_password", native_token(PASSWORD)),
        (b"sha", b"mysql_native_password", b"caching_sha2_password", sha2_token(PASSWORD)),
        (b"sha", b"client_ed25519", b"caching_sha2_password", sha2_token(PASSWORD)),
        (b"root", b"dialog", b"caching_sha2_password", Vec::new()),
    ];
    for (user, plugin_first, plugin_wanted, token) in cases {
        let mut peer = Peer::local();
        peer.read();
        peer.send_packet(1, &response(BASE, user, b"something else", Some(plugin_first)));
        let (sequence, payload) = peer.read();
        assert_eq!(sequence, 2);
        let switch: AuthSwitchRequest<'_> = ParseBuf(&payload).parse(()).unwrap();
        assert_eq!(switch.auth_plugin().as_bytes(), plugin_wanted);
        assert_eq!(switch.plugin_data(), &RANDOM[..]);
        peer.send_packet(3, &token);
        let answers = peer.read_all();
        assert_eq!(answers.last().unwrap()[0], 0, "{user:?}");
        assert!(peer.connection.is_authenticated());
    }
    let mut peer = Peer::local();
    peer.read();
    let no_plugins = BASE & !cap::PLUGIN_AUTH;
    peer.send_packet(1, &response(no_plugins, b"sha", &native_token(PASSWORD), None));
    assert_eq!(peer.read_error(), (1045, "28000".into()));
    peer.assert_closed();
}

/// The full exchange of caching_sha2_password: the password in the clear on a unix socket, encrypted over TCP with the key
/// asked for or already known; with a wrong password, and without a key, no way in.
#[test]
fn full_authentication() {
    let wrong_token = sha2_token(b"not it");
    let begin = |peer: &mut Peer| {
        peer.read();
        peer.send_packet(1, &response(BASE, b"sha", &wrong_token, None));
        assert_eq!(peer.read(), (2, vec![1, 4]));
    };
    for (password, accepted) in
        [(&b"secret\0"[..], true), (b"secret", false), (b"secrets\0", false), (b"", false)]
    {
        let mut peer = Peer::new(with_rsa(), Transport::UnixSocket);
        begin(&mut peer);
        peer.send_packet(3, password);
        let answer = peer.read_payload();
        assert_eq!(answer[0] == 0, accepted);
        assert_eq!(peer.connection.is_authenticated(), accepted);
    }
    for (password, accepted) in [(&b"secret\0"[..], true), (b"wrong\0", false)] {
        for key_known in [false, true] {
            let mut peer = Peer::new(with_rsa(), tcp(false));
            begin(&mut peer);
            let mut sequence = 3;
            let mut pem = rsa().public_pem().to_vec();
            if !key_known {
                peer.send_packet(sequence, &[2]);
                let (_, answer) = peer.read();
                assert_eq!(answer[0], 1);
                pem = answer[1..].to_vec();
                sequence += 2;
            }
            let mixed: Vec<u8> =
                password.iter().zip(RANDOM.iter().cycle()).map(|(a, b)| a ^ b).collect();
            let encrypted = mysql_common::crypto::encrypt(&mixed, &pem).unwrap();
            peer.send_packet(sequence, &encrypted);
            assert_eq!(peer.read_payload()[0] == 0, accepted);
        }
    }
    for attempt in [&b"secret\0"[..], &[2], &[0; 256], b""] {
        let mut peer = Peer::new(ConnectionConfig::default(), tcp(true));
        begin(&mut peer);
        peer.send_packet(3, attempt);
        assert_eq!(peer.read_error(), (1045, "28000".into()), "no cleartext over TCP");
        peer.assert_closed();
    }
}

/// What an unknown user is answered is what a known one with a wrong password is answered, packet by packet.
#[test]
fn no_oracle_for_user_names() {
    let transcript = |user: &[u8], token: &[u8], plugin: Option<&[u8]>, second: &[u8]| {
        let mut peer = Peer::new(with_rsa(), tcp(false));
        peer.read();
        peer.send_packet(1, &response(BASE, user, token, plugin));
        for sequence in [3, 5, 7, 9] {
            if !peer.is_done() {
                peer.send_packet(sequence, second);
            }
        }
        assert!(peer.is_done());
        peer.read_all()
    };
    for token in [Vec::new(), vec![0], vec![7], native_token(b"x"), sha2_token(b"x"), vec![1; 255]]
    {
        for plugin in [None, NATIVE, Some(&b"dialog"[..]), Some(&b""[..])] {
            for second in [&b"Secret\0"[..], &[2], &[9; 256], b""] {
                let known = transcript(b"new", &token, plugin, second);
                let unknown = transcript(b"eve", &token, plugin, second);
                assert_eq!(error_of(known.last().unwrap()), Some((1045, "28000".into())));
                assert_eq!(known, unknown_as(&unknown, b"eve", b"new"));
            }
        }
    }
}

fn unknown_as(packets: &[Vec<u8>], from: &[u8], to: &[u8]) -> Vec<Vec<u8>> {
    let replace = |packet: &Vec<u8>| {
        let mut packet = packet.clone();
        while let Some(at) = packet.windows(from.len()).position(|window| window == from) {
            packet[at..at + from.len()].copy_from_slice(to);
        }
        packet
    };
    packets.iter().map(replace).collect()
}

/// root comes from this machine only; a password where there is none is wrong too; 100,000 random tokens are all refused.
#[test]
fn the_ways_not_in() {
    let refused = |user: &[u8], token: &[u8], plugin: Option<&[u8]>, is_local: bool| {
        let mut peer = Peer::new(ConnectionConfig::default(), tcp(is_local));
        peer.read();
        peer.send_packet(1, &response(BASE, user, token, plugin));
        for sequence in [3, 5, 7] {
            if !peer.is_done() {
                peer.read();
                peer.send_packet(sequence, token);
            }
        }
        assert_eq!(peer.read_error(), (1045, "28000".into()), "{user:?} {token:?}");
        peer.assert_closed();
        assert!(!peer.connection.is_authenticated());
    };
    refused(b"root", b"", None, false);
    refused(b"root", b"\0", NATIVE, false);
    refused(b"root", &native_token(PASSWORD), NATIVE, true);
    refused(b"", b"", None, true);
    refused(&[b'r'; 300], b"", None, true);
    refused(b"\xff\xfe", b"", None, true);
    for length in [0, 1, 19, 20, 21, 31, 32, 33, 254, 255] {
        let token = vec![0; length];
        refused(b"sha", &token, None, true);
        refused(b"nat", &token, NATIVE, true);
    }
    let mut random = 7u64;
    let config = Arc::new(ConnectionConfig::default());
    for _ in 0..100_000 {
        let token: [u8; 20] = std::array::from_fn(|_| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 56) as u8
        });
        let mut peer = Peer::with_config(config.clone(), tcp(false));
        peer.received.clear();
        peer.send_packet(1, &response(BASE, b"nat", &token, NATIVE));
        assert!(!peer.connection.is_authenticated());
        assert_eq!(peer.read_error().0, 1045);
    }
}

/// The message names user, host and whether there was a password; a long name is cut.
#[test]
fn the_message_of_a_refusal() {
    let mut peer = Peer::new(ConnectionConfig::default(), tcp(false));
    peer.read();
    peer.send_packet(1, &response(BASE, b"eve", b"", None));
    let payload = peer.read_payload();
    let expected = "Access denied for user 'eve'@'10.0.0.9' (using password: NO)";
    assert_eq!(&payload[9..], expected.as_bytes());
    let mut peer = Peer::local();
    peer.read();
    peer.send_packet(1, &response(BASE, &[b'x'; 5000], &[1; 20], None));
    assert_eq!(peer.read(), (2, vec![1, 4]), "the password is asked for");
    peer.send_packet(3, b"a\0");
    let payload = peer.read_payload();
    let message = String::from_utf8(payload[9..].to_vec()).unwrap();
    assert!(message.len() < 250);
    assert!(message.ends_with("'@'localhost' (using password: YES)"));
}

/// A client proves the password itself once; the node keeps the hash. A former password that was retained works, too.
#[test]
fn the_full_exchange() {
    for user in [b"new", b"two"] {
        let mut peer = Peer::new(ConnectionConfig::default(), Transport::UnixSocket);
        peer.read();
        peer.send_packet(1, &response(BASE, user, &sha2_token(PASSWORD), None));
        assert_eq!(peer.read(), (2, vec![1, 4]));
        peer.send_packet(3, b"secret\0");
        assert_eq!(peer.read().1, [0, 0, 0, 2, 0, 0, 0]);
        assert!(peer.logged(&format!("keep hash of {}@%", String::from_utf8_lossy(user))));
    }
}

/// What an account demands besides its password is refused behind it: whoever does not have that sees a wrong password.
#[test]
fn accounts_that_are_not_usable() {
    let cases: [(&[u8], u16); 2] = [(b"locked", 3118), (b"expired", 1862)];
    for (user, code) in cases {
        for (password, error) in [(PASSWORD, code), (&b"wrong"[..], 1045)] {
            let mut peer = Peer::local();
            peer.read();
            peer.send_packet(1, &response(BASE, user, &sha2_token(password), None));
            assert_eq!(peer.read().1[0], 1);
            if password != PASSWORD {
                peer.send_packet(3, b"wrong\0");
            }
            assert_eq!(peer.read_error().0, error, "{user:?} {password:?}");
            peer.assert_closed();
        }
    }
    for user in [&b"tls"[..], b"nobody"] {
        let mut peer = Peer::local();
        peer.read();
        peer.send_packet(1, &response(BASE, user, b"", None));
        assert_eq!(peer.read_error().0, 1045, "{user:?}");
        peer.assert_closed();
    }
}

/// What the client said of itself reaches the session; a database that is not there ends the connection with 1049.
#[test]
fn what_the_session_is_told() {
    let mut peer = Peer::local();
    peer.read();
    let capabilities = BASE | cap::CONNECT_WITH_DB | cap::CONNECT_ATTRS | cap::FOUND_ROWS;
    let payload = response_with(capabilities, b"root", b"", b"caching_sha2_password", b"shop");
    peer.send_packet(1, &payload);
    assert_eq!(peer.read_payload()[0], 0);
    assert!(peer.logged("open root Some(\"shop\") 45 true [(\"_pid\", \"4321\")]"));
    let mut peer = Peer::local();
    peer.read();
    let payload = response_with(capabilities, b"root", b"", b"caching_sha2_password", b"nowhere");
    peer.send_packet(1, &payload);
    assert_eq!(peer.read_error(), (1049, "42000".into()));
    peer.assert_closed();
}

/// Clients that speak no language of ours, or speak out of turn.
#[test]
fn bad_handshakes() {
    let after = |sequence: u8, payload: &[u8]| {
        let mut peer = Peer::local();
        peer.read();
        peer.send_packet(sequence, payload);
        let error = peer.read_error();
        peer.assert_closed();
        error
    };
    let bad = (1043, "08S01".to_string());
    assert_eq!(after(1, b""), bad);
    assert_eq!(after(1, &[0, 2]), bad);
    assert_eq!(after(1, &response(BASE, b"root", b"", None)[..34]), bad);
    assert_eq!(after(1, &(BASE | cap::SSL).to_le_bytes()), bad);
    assert_eq!(after(1, &response(BASE | cap::SSL, b"", b"", None)[..32]), bad, "TLS not offered");
    assert_eq!(after(1, b"\x85\xa4\0\0\0root\0"), (1251, "08004".into()), "before 4.1");
    assert_eq!(after(0, &response(BASE, b"root", b"", None)), (1156, "08S01".into()));
    assert_eq!(after(2, &response(BASE, b"root", b"", None)), (1156, "08S01".into()));
    assert_eq!(after(1, &vec![0; PACKET_BEFORE_AUTH_MAX + 1]), (1153, "08S01".into()));
    assert_eq!(after(0, b"\x03SELECT 1"), (1156, "08S01".into()), "a command before login");
    let mut huge = response(BASE | cap::CONNECT_ATTRS, b"root", b"", None);
    huge.truncate(huge.len() - 11);
    huge.extend_from_slice(&[0xfe, 255, 255, 255, 255, 255, 255, 255, 127]);
    assert_eq!(after(1, &huge), bad);
    let mut peer = Peer::local();
    peer.read();
    peer.send(&[0xff, 0xff, 0xff, 1]);
    assert_eq!(peer.read_error(), (1153, "08S01".into()), "refused at its header");
    peer.assert_closed();
}

/// A flood before login is not kept.
#[test]
fn a_flood_before_login() {
    let mut peer = Peer::local();
    peer.read();
    peer.connection.receive(&vec![0; 1 << 20]);
    peer.run();
    assert_eq!(peer.read_error().0, 1153);
    peer.assert_closed();
    assert!(!peer.connection.wants_input());
    assert!(peer.connection.memory_size() < 64 << 10);
}

/// The driver may end a connection at any time, and a client may go at any time.
#[test]
fn ends_from_outside() {
    let mut peer = Peer::local();
    peer.connection.peer_closed();
    peer.run();
    assert!(peer.connection.is_closing());
    assert!(peer.logged("unregister 7"));
    let mut peer = Peer::logged_in(0);
    peer.connection.disconnect(Disconnect::Idle);
    peer.run();
    assert_eq!(peer.read_error().0, 4031);
    peer.assert_closed();
    assert!(peer.logged("close"));
    let mut peer = Peer::logged_in(0);
    peer.connection.disconnect(Disconnect::Shutdown);
    peer.run();
    assert_eq!(peer.read_error(), (1053, "08S01".into()));
    let mut peer = Peer::logged_in(0);
    peer.connection.kill(sql::KillKind::Connection);
    peer.run();
    peer.assert_closed();
    let refusal = mysql::refusal_too_many_connections();
    assert_eq!(&refusal[..7], &[23, 0, 0, 0, 0xff, 0x10, 0x04]);
    assert_eq!(&refusal[7..], b"Too many connections");
}
