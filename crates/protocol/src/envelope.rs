//! What surrounds every message between nodes, and why one may be turned away.
//!
//! ```text
//! | magic u16 | version u16 | cluster u64 | lineage u64 | from 4 | to 4 | incarnation u64 | sequence u64 |
//! | acknowledged u64 | group u16 | view u64 | CRC32C u32 | message ... |
//! ```
//! The identity comes first and is checked before the message is looked at (rules R2, R5, R13). `sequence` numbers the messages
//! of one channel (one pair of workers in one direction, for one pair of boots) so that a message lost with a connection
//! is sent again and one that came twice is dropped; 0 marks a bare acknowledgement.

use types::wire::{Reader, Wire, WireError};
use types::{Address, ClusterId, GroupId, Incarnation, Lineage, View};

use crate::Message;

/// Changes with the first release in which the byte form of any message is another one than in the release before.
pub const PROTOCOL_VERSION: u16 = 10;
const MAGIC: u16 = 0x534b;

/// Messages that belong to no node group's view: the control plane and reports.
pub const NO_GROUP: GroupId = GroupId(u16::MAX);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub cluster: ClusterId,
    pub lineage: Lineage,
    pub from: Address,
    pub to: Address,
    /// The sender's boot.
    pub incarnation: Incarnation,
    pub sequence: u64,
    /// The highest sequence of the opposite channel that arrived with all before it.
    pub acknowledged: u64,
    /// Whose view the message was sent in, or [`NO_GROUP`].
    pub group: GroupId,
    pub view: View,
}
/// Always of the same length.
impl Wire for Header {
    fn encode(&self, out: &mut Vec<u8>) {
        (self.cluster, self.lineage.0).encode(out);
        (self.from, self.to, self.incarnation).encode(out);
        (self.sequence, self.acknowledged).encode(out);
        (self.group, self.view).encode(out);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        let (cluster, lineage) = Wire::decode(input)?;
        let (from, to, incarnation) = Wire::decode(input)?;
        let (sequence, acknowledged) = Wire::decode(input)?;
        let (group, view) = Wire::decode(input)?;
        let lineage = Lineage(lineage);
        Ok(Header { cluster, lineage, from, to, incarnation, sequence, acknowledged, group, view })
    }
}

#[derive(Clone, Debug)]
pub struct Envelope {
    pub header: Header,
    /// None for a bare acknowledgement.
    pub message: Option<Message>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvelopeError {
    /// Not a node of ours at all.
    NotSkarv,
    Version {
        theirs: u16,
    },
    Checksum,
    Malformed(WireError),
}

impl std::fmt::Display for EnvelopeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EnvelopeError::NotSkarv => write!(f, "the peer does not speak Skarv's node protocol"),
            EnvelopeError::Version { theirs } => write!(
                f,
                "the peer speaks version {theirs} of the node protocol, this node {PROTOCOL_VERSION}"
            ),
            EnvelopeError::Checksum => write!(f, "a message arrived damaged (CRC32C)"),
            EnvelopeError::Malformed(error) => write!(f, "a message cannot be decoded: {error}"),
        }
    }
}
impl std::error::Error for EnvelopeError {}

const CRC_OFFSET: usize = 4 + HEADER_SIZE;
const HEADER_SIZE: usize = 8 + 8 + 4 + 4 + 8 + 8 + 8 + 2 + 8;
/// The smallest frame: an acknowledgement.
pub const FRAME_SIZE_MIN: usize = CRC_OFFSET + 4;

/// Appends the frame to `out`.
pub fn encode_frame(header: &Header, message: Option<&Message>, out: &mut Vec<u8>) {
    let start = out.len();
    MAGIC.encode(out);
    PROTOCOL_VERSION.encode(out);
    header.encode(out);
    debug_assert_eq!(out.len() - start, CRC_OFFSET);
    0u32.encode(out);
    if let Some(message) = message {
        message.encode(out);
    }
    let crc = crc32c::crc32c_append(
        crc32c::crc32c(&out[start..start + CRC_OFFSET]),
        &out[start + CRC_OFFSET + 4..],
    );
    out[start + CRC_OFFSET..start + CRC_OFFSET + 4].copy_from_slice(&crc.to_le_bytes());
}

/// Decodes a frame's header, leaving its message for [`decode_message`]: identity is checked in between.
pub fn decode_header(frame: &[u8]) -> Result<Header, EnvelopeError> {
    if frame.len() < FRAME_SIZE_MIN || frame[..2] != MAGIC.to_le_bytes() {
        return Err(EnvelopeError::NotSkarv);
    }
    let version = u16::from_le_bytes([frame[2], frame[3]]);
    if version != PROTOCOL_VERSION {
        return Err(EnvelopeError::Version { theirs: version });
    }
    let stored = u32::from_le_bytes(
        frame[CRC_OFFSET..CRC_OFFSET + 4].try_into().expect("four bytes of a checked length"),
    );
    let crc = crc32c::crc32c_append(crc32c::crc32c(&frame[..CRC_OFFSET]), &frame[CRC_OFFSET + 4..]);
    if crc != stored {
        return Err(EnvelopeError::Checksum);
    }
    Header::decode(&mut Reader::new(&frame[4..CRC_OFFSET])).map_err(EnvelopeError::Malformed)
}

/// Decodes the message of a frame whose header was accepted.
pub fn decode_message(frame: &[u8]) -> Result<Option<Message>, EnvelopeError> {
    let body = &frame[FRAME_SIZE_MIN..];
    if body.is_empty() {
        return Ok(None);
    }
    Message::from_bytes(body).map(Some).map_err(EnvelopeError::Malformed)
}
