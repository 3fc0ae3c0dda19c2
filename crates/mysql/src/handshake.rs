//! The packets of the handshake: the server's greeting, the client's answer, COM_CHANGE_USER, switching the way of
//! authentication.
//!
//! ```text
//!   server: greeting v10 ──>           client: [SSLRequest, then TLS] ──> response 41 ──>
//!   server: [switch to another plugin ──> client: token ──>] [more data <──>] OK or ERR
//! ```

use crate::capabilities as cap;
use crate::limits::ATTRIBUTE_COUNT_MAX;
use crate::packet::{Malformed, Reader};

/// Random bytes that passwords are mixed with; no byte is 0 or '$' (clients read it as a C string, and '$' separates
/// fields in MySQL's stored hashes).
pub const SCRAMBLE_SIZE: usize = 20;

/// The collation a greeting names: utf8mb4_0900_ai_ci. (The packet has one byte for it.)
const GREETING_COLLATION: u8 = 255;

/// A scramble as the protocol wants it, from 20 random bytes: 7 bits a byte, never 0 or '$'.
pub fn printable_scramble(random: [u8; SCRAMBLE_SIZE]) -> [u8; SCRAMBLE_SIZE] {
    random.map(|byte| match byte & 0x7f {
        0 => 1,
        b'$' => b'%',
        other => other,
    })
}

/// Appends the payload of the greeting.
pub fn put_greeting(
    out: &mut Vec<u8>,
    version: &str,
    connection_id: u32,
    scramble: &[u8; SCRAMBLE_SIZE],
    capabilities: u32,
    status: u16,
    plugin: &str,
) {
    out.push(10);
    put_nul_text(out, version.as_bytes());
    out.extend_from_slice(&connection_id.to_le_bytes());
    out.extend_from_slice(&scramble[..8]);
    out.push(0);
    out.extend_from_slice(&(capabilities as u16).to_le_bytes());
    out.push(GREETING_COLLATION);
    out.extend_from_slice(&status.to_le_bytes());
    out.extend_from_slice(&((capabilities >> 16) as u16).to_le_bytes());
    out.push(SCRAMBLE_SIZE as u8 + 1);
    out.extend_from_slice(&[0; 10]);
    out.extend_from_slice(&scramble[8..]);
    out.push(0);
    put_nul_text(out, plugin.as_bytes());
}

/// Appends the payload of a request to use another plugin.
pub fn put_auth_switch(out: &mut Vec<u8>, plugin: &str, scramble: &[u8; SCRAMBLE_SIZE]) {
    out.push(0xfe);
    put_nul_text(out, plugin.as_bytes());
    out.extend_from_slice(scramble);
    out.push(0);
}

/// Appends the payload of a step inside a plugin's exchange.
pub fn put_auth_more_data(out: &mut Vec<u8>, data: &[u8]) {
    out.push(0x01);
    out.extend_from_slice(data);
}

fn put_nul_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend(text.iter().copied().filter(|&byte| byte != 0));
    out.push(0);
}

/// What the client says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandshakeResponse {
    /// As the client sent them: what counts is their intersection with what was offered.
    pub capabilities: u32,
    pub packet_size_max: u32,
    /// The collation, of which the client can say only ids below 256.
    pub collation_id: u16,
    pub user: Vec<u8>,
    pub token: Vec<u8>,
    pub database: Option<Vec<u8>>,
    pub plugin: Option<Vec<u8>>,
    pub attributes: Vec<(String, String)>,
}

/// The client's first packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstPacket {
    /// TLS follows at the next byte, and then the response.
    TlsRequest {
        capabilities: u32,
    },
    Response(HandshakeResponse),
    /// A client from before MySQL 4.1.
    TooOld,
}

const FIXED_PART_SIZE: usize = 32;

/// Reads the client's first packet (or its second one, inside TLS, where a request for TLS is not expected again).
pub fn parse_first_packet(payload: &[u8], tls_is_on: bool) -> Result<FirstPacket, Malformed> {
    let mut reader = Reader::new(payload);
    let capabilities_low = Reader::new(payload).u16()?;
    if u32::from(capabilities_low) & cap::PROTOCOL_41 == 0 {
        return Ok(FirstPacket::TooOld);
    }
    let capabilities = reader.u32()?;
    let packet_size_max = reader.u32()?;
    let collation_id = u16::from(reader.u8()?);
    // 19 bytes of zeros and 4 that MariaDB's clients use for capabilities of their own: none of them is offered.
    reader.take(23)?;
    if payload.len() == FIXED_PART_SIZE && capabilities & cap::SSL != 0 && !tls_is_on {
        return Ok(FirstPacket::TlsRequest { capabilities });
    }
    let user = reader.nul_bytes()?.to_vec();
    let token = if capabilities & cap::PLUGIN_AUTH_LENENC_CLIENT_DATA != 0 {
        reader.lenenc_bytes()?
    } else if capabilities & cap::SECURE_CONNECTION != 0 {
        let length = reader.u8()?;
        reader.take(usize::from(length))?
    } else {
        reader.nul_bytes()?
    }
    .to_vec();
    // Some clients leave out parts at the end that they announced.
    let mut database = None;
    if capabilities & cap::CONNECT_WITH_DB != 0 && !reader.is_empty() {
        let name = reader.nul_bytes_or_rest();
        database = (!name.is_empty()).then(|| name.to_vec());
    }
    let (plugin, attributes) = parse_plugin_and_attributes(&mut reader, capabilities)?;
    Ok(FirstPacket::Response(HandshakeResponse {
        capabilities,
        packet_size_max,
        collation_id,
        user,
        token,
        database,
        plugin,
        attributes,
    }))
}

/// The body of COM_CHANGE_USER, behind the command byte; `capabilities` are the connection's.
pub fn parse_change_user(
    payload: &[u8],
    capabilities: u32,
) -> Result<HandshakeResponse, Malformed> {
    let mut reader = Reader::new(payload);
    let user = reader.nul_bytes()?.to_vec();
    let token = if capabilities & cap::SECURE_CONNECTION != 0 {
        let length = reader.u8()?;
        reader.take(usize::from(length))?
    } else {
        reader.nul_bytes()?
    }
    .to_vec();
    let name = if reader.is_empty() { &[] } else { reader.nul_bytes_or_rest() };
    let database = (!name.is_empty()).then(|| name.to_vec());
    let collation_id = if reader.is_empty() { 0 } else { reader.u16()? };
    let (plugin, attributes) = parse_plugin_and_attributes(&mut reader, capabilities)?;
    Ok(HandshakeResponse {
        capabilities,
        packet_size_max: 0,
        collation_id,
        user,
        token,
        database,
        plugin,
        attributes,
    })
}

type PluginAndAttributes = (Option<Vec<u8>>, Vec<(String, String)>);

fn parse_plugin_and_attributes(
    reader: &mut Reader<'_>,
    capabilities: u32,
) -> Result<PluginAndAttributes, Malformed> {
    let mut plugin = None;
    if capabilities & cap::PLUGIN_AUTH != 0 && !reader.is_empty() {
        plugin = Some(reader.nul_bytes_or_rest().to_vec());
    }
    let mut attributes = Vec::new();
    if capabilities & cap::CONNECT_ATTRS != 0 && !reader.is_empty() {
        let mut pairs = Reader::new(reader.lenenc_bytes()?);
        while !pairs.is_empty() {
            let name = pairs.lenenc_bytes()?;
            let value = pairs.lenenc_bytes()?;
            if attributes.len() < ATTRIBUTE_COUNT_MAX {
                attributes.push((text_of(name), text_of(value)));
            }
        }
    }
    Ok((plugin, attributes))
}

/// Text for names and messages; bytes that are not UTF-8 become the replacement character.
pub fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(capabilities: u32, tail: &[u8]) -> Vec<u8> {
        let mut payload = capabilities.to_le_bytes().to_vec();
        payload.extend_from_slice(&[0, 0, 0, 1, 45]);
        payload.extend_from_slice(&[0; 23]);
        payload.extend_from_slice(tail);
        payload
    }

    /// Every optional part of a response is read, and every truncation of a full one is an error or a shorter response.
    #[test]
    fn responses_with_all_parts() {
        let all = cap::PROTOCOL_41
            | cap::CONNECT_WITH_DB
            | cap::PLUGIN_AUTH
            | cap::PLUGIN_AUTH_LENENC_CLIENT_DATA
            | cap::SECURE_CONNECTION
            | cap::CONNECT_ATTRS;
        let payload = response(all, b"ann\0\x02xyshop\0some_plugin\0\x06\x02ab\x02cd");
        let FirstPacket::Response(parsed) = parse_first_packet(&payload, false).unwrap() else {
            panic!("a response");
        };
        assert_eq!(parsed.user, b"ann");
        assert_eq!(parsed.token, b"xy");
        assert_eq!(parsed.database.as_deref(), Some(&b"shop"[..]));
        assert_eq!(parsed.plugin.as_deref(), Some(&b"some_plugin"[..]));
        assert_eq!(parsed.attributes, [("ab".to_string(), "cd".to_string())]);
        assert_eq!((parsed.collation_id, parsed.packet_size_max), (45, 1 << 24));
        for cut in 0..payload.len() {
            if let Ok(FirstPacket::Response(cut_short)) = parse_first_packet(&payload[..cut], false)
            {
                assert_eq!(cut_short.user, b"ann");
            }
        }
        let secure = response(cap::PROTOCOL_41 | cap::SECURE_CONNECTION, b"bob\0\x03abc");
        let FirstPacket::Response(parsed) = parse_first_packet(&secure, false).unwrap() else {
            panic!("a response");
        };
        assert_eq!((parsed.user, parsed.token), (b"bob".to_vec(), b"abc".to_vec()));
        let plain = response(cap::PROTOCOL_41, b"\0\0");
        assert!(matches!(parse_first_packet(&plain, false), Ok(FirstPacket::Response(_))));
    }

    /// A TLS request is told from a response by its length, and is not one when TLS is already on; old clients are known.
    #[test]
    fn tls_requests_and_old_clients() {
        let request = response(cap::PROTOCOL_41 | cap::SSL, b"");
        let capabilities = cap::PROTOCOL_41 | cap::SSL;
        assert_eq!(
            parse_first_packet(&request, false),
            Ok(FirstPacket::TlsRequest { capabilities })
        );
        assert_eq!(parse_first_packet(&request, true), Err(Malformed));
        assert_eq!(parse_first_packet(&[1, 0, 0, 0, 0], false), Ok(FirstPacket::TooOld));
        assert_eq!(parse_first_packet(&[], false), Err(Malformed));
    }

    #[test]
    fn change_user_with_and_without_its_tail() {
        let capabilities = cap::SECURE_CONNECTION | cap::PLUGIN_AUTH | cap::CONNECT_ATTRS;
        let full = b"ann\0\x02xyshop\0\x2d\0caching_sha2_password\0\x06\x02ab\x02cd";
        let parsed = parse_change_user(full, capabilities).unwrap();
        assert_eq!(parsed.user, b"ann");
        assert_eq!(parsed.database.as_deref(), Some(&b"shop"[..]));
        assert_eq!(parsed.collation_id, 45);
        assert_eq!(parsed.plugin.as_deref(), Some(&b"caching_sha2_password"[..]));
        assert_eq!(parsed.attributes.len(), 1);
        let short = parse_change_user(b"ann\0\0\0", capabilities).unwrap();
        assert_eq!((short.database, short.plugin, short.collation_id), (None, None, 0));
        assert_eq!(parse_change_user(b"ann\0\x09x", capabilities), Err(Malformed));
    }

    #[test]
    fn scrambles_have_no_forbidden_bytes() {
        let random: [u8; 20] = std::array::from_fn(|index| [0, 0x24, 0x80, 0xa4, 255][index % 5]);
        assert!(printable_scramble(random).iter().all(|&b| b != 0 && b != b'$' && b < 128));
    }
}
