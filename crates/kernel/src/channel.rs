//! Reliable channels between workers of different nodes: in order, exactly once, for one pair of boots.
//!
//! A connection may break and come back, and what was under way on it is lost; every exchange of the protocol would need
//! its own resending. Instead one place numbers the messages, keeps what is not acknowledged, sends it again and drops
//! duplicates. A channel belongs to the incarnations of both ends: a restarted peer starts a new one, and nothing of the
//! old is delivered to it (R5, R13).
//!
//! A frame ahead of a missing one waits in `early`. When nothing is acknowledged for a while the oldest unacknowledged
//! chunks are sent again, a bounded number of bytes, and after twice the time the next time: a slow link is not buried under
//! copies. When a link comes back, everything unacknowledged is sent again at once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use protocol::Message;
use protocol::envelope::{Header, encode_frame};
use types::wire::Wire;
use types::{Address, ClusterId, GroupId, Incarnation, Lineage, View};

use crate::limits::{
    ACK_FRAMES_MAX, CHANNEL_EARLY_MAX, CHANNEL_UNACKED_BYTES_MAX, RESEND_BYTES_MAX,
    RESEND_DOUBLINGS_MAX,
};
use crate::worker::{Outbox, Time};

/// What this end puts into every header.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    pub cluster: ClusterId,
    pub lineage: Lineage,
    pub address: Address,
    pub incarnation: Incarnation,
}

/// All channels of one worker.
pub struct Channels {
    pub identity: Identity,
    resend_after: Time,
    channels: BTreeMap<Address, Channel>,
}

struct Channel {
    /// The boot of the peer that frames arrived from; unknown until the first one.
    peer_incarnation: Option<Incarnation>,
    sequence_last: u64,
    /// The last sequence that was handed to the host: a chunk of bare acknowledgements is not kept for resending.
    sequence_flushed: u64,
    /// Frames since the last flush, each with its length in front.
    pending: Vec<u8>,
    /// Sent, not acknowledged: the last sequence in each chunk, and the chunk.
    unacked: VecDeque<(u64, Arc<Vec<u8>>)>,
    unacked_bytes: usize,
    /// When the oldest of `unacked` was sent last, or an acknowledgement arrived.
    sent_at: Time,
    /// Resends since the last acknowledgement: each doubles the wait for the next.
    resends: u32,
    received: u64,
    received_acknowledged: u64,
    early: BTreeMap<u64, (Header, Option<Message>)>,
}

/// What became of a frame.
pub enum Received {
    /// Messages now in order, to be handled.
    Deliver(Vec<(Header, Message)>),
    /// A duplicate, an acknowledgement, or ahead of a missing frame.
    Nothing,
    /// From another boot of the peer than the channel is with.
    OtherIncarnation,
}

impl Channels {
    pub fn new(identity: Identity, resend_after: Time) -> Channels {
        Channels { identity, resend_after, channels: BTreeMap::new() }
    }

    fn channel(&mut self, peer: Address) -> &mut Channel {
        self.channels.entry(peer).or_insert_with(|| Channel {
            peer_incarnation: None,
            sequence_last: 0,
            sequence_flushed: 0,
            pending: Vec::new(),
            unacked: VecDeque::new(),
            unacked_bytes: 0,
            sent_at: 0,
            resends: 0,
            received: 0,
            received_acknowledged: 0,
            early: BTreeMap::new(),
        })
    }

    /// Queues a message for the next flush.
    pub fn send(&mut self, to: Address, group: GroupId, view: View, message: &Message) {
        assert!(to.node != self.identity.address.node, "channels lead to other nodes");
        let identity = self.identity;
        let channel = self.channel(to);
        channel.sequence_last += 1;
        let header = identity.header(to, group, view, channel.sequence_last, channel.received);
        channel.received_acknowledged = channel.received;
        append_frame(&header, Some(message), &mut channel.pending);
    }

    /// Takes a frame whose identity was checked.
    pub fn receive(&mut self, now: Time, header: Header, message: Option<Message>) -> Received {
        let channel = self.channel(header.from);
        match channel.peer_incarnation {
            None => channel.peer_incarnation = Some(header.incarnation),
            Some(known) if known != header.incarnation => return Received::OtherIncarnation,
            Some(_) => {}
        }
        while channel.unacked.front().is_some_and(|(last, _)| *last <= header.acknowledged) {
            let (_, chunk) = channel.unacked.pop_front().expect("front exists");
            channel.unacked_bytes -= chunk.len();
            channel.sent_at = now;
            channel.resends = 0;
        }
        if header.sequence == 0 || header.sequence <= channel.received {
            // A duplicate means that our acknowledgement was lost: say it again.
            if header.sequence != 0 {
                channel.received_acknowledged =
                    channel.received_acknowledged.min(channel.received - 1);
            }
            return Received::Nothing;
        }
        if header.sequence > channel.received + 1 {
            if channel.early.len() < CHANNEL_EARLY_MAX {
                channel.early.insert(header.sequence, (header, message));
            }
            return Received::Nothing;
        }
        channel.received = header.sequence;
        let mut deliver: Vec<(Header, Message)> =
            message.map(|m| (header, m)).into_iter().collect();
        while let Some((header, message)) = channel.early.remove(&(channel.received + 1)) {
            channel.received += 1;
            deliver.extend(message.map(|m| (header, m)));
        }
        Received::Deliver(deliver)
    }

    /// Hands what was queued to the host: one chunk a peer.
    pub fn flush(&mut self, now: Time, outbox: &mut Outbox) {
        let identity = self.identity;
        for (peer, channel) in &mut self.channels {
            if channel.received - channel.received_acknowledged >= ACK_FRAMES_MAX {
                channel.acknowledge(&identity, *peer);
            }
            if channel.pending.is_empty() {
                continue;
            }
            let size = channel.pending.len();
            let chunk = Arc::new(std::mem::take(&mut channel.pending));
            channel.pending = Vec::with_capacity(size.min(1 << 16));
            if channel.sequence_last > channel.sequence_flushed {
                channel.sequence_flushed = channel.sequence_last;
                if channel.unacked.is_empty() {
                    channel.sent_at = now;
                }
                channel.unacked_bytes += chunk.len();
                channel.unacked.push_back((channel.sequence_last, Arc::clone(&chunk)));
            }
            outbox.frames.push((*peer, chunk));
        }
    }

    /// Acknowledges what has waited for a message to travel with, and sends again what was not acknowledged in time.
    pub fn on_tick(&mut self, now: Time, outbox: &mut Outbox) {
        let identity = self.identity;
        for (peer, channel) in &mut self.channels {
            if channel.received > channel.received_acknowledged {
                channel.acknowledge(&identity, *peer);
            }
            let patience = self.resend_after << channel.resends.min(RESEND_DOUBLINGS_MAX);
            if !channel.unacked.is_empty() && now >= channel.sent_at.saturating_add(patience) {
                channel.resends += 1;
                channel.resend(now, *peer, RESEND_BYTES_MAX, outbox);
            }
        }
    }

    /// The link to a peer is up (again): what was under way may be lost.
    pub fn on_link_up(&mut self, now: Time, peer: Address, outbox: &mut Outbox) {
        if let Some(channel) = self.channels.get_mut(&peer) {
            channel.resends = 0;
            channel.resend(now, peer, usize::MAX, outbox);
        }
    }

    /// The boot that a peer's frames come from.
    pub fn peer_incarnation(&self, peer: Address) -> Option<Incarnation> {
        self.channels.get(&peer)?.peer_incarnation
    }

    /// Peers that let too much pile up: the host should say so and stop taking requests that would add to it.
    pub fn overloaded(&self) -> impl Iterator<Item = Address> {
        let piled = |channel: &Channel| channel.unacked_bytes > CHANNEL_UNACKED_BYTES_MAX;
        self.channels.iter().filter(move |(_, channel)| piled(channel)).map(|(peer, _)| *peer)
    }
}

impl Identity {
    fn header(&self, to: Address, group: GroupId, view: View, sequence: u64, ack: u64) -> Header {
        Header {
            cluster: self.cluster,
            lineage: self.lineage,
            from: self.address,
            to,
            incarnation: self.incarnation,
            sequence,
            acknowledged: ack,
            group,
            view,
        }
    }
}

impl Channel {
    fn acknowledge(&mut self, identity: &Identity, peer: Address) {
        self.received_acknowledged = self.received;
        let group = protocol::envelope::NO_GROUP;
        let header = identity.header(peer, group, View(0), 0, self.received);
        append_frame(&header, None, &mut self.pending);
    }

    /// Sends the oldest chunks again, so many bytes but at least one chunk.
    fn resend(&mut self, now: Time, peer: Address, bytes_max: usize, outbox: &mut Outbox) {
        self.sent_at = now;
        let mut bytes = 0;
        for (_, chunk) in &self.unacked {
            outbox.frames.push((peer, Arc::clone(chunk)));
            bytes += chunk.len();
            if bytes >= bytes_max {
                break;
            }
        }
    }
}

fn append_frame(header: &Header, message: Option<&Message>, out: &mut Vec<u8>) {
    let start = out.len();
    0u32.encode(out);
    encode_frame(header, message, out);
    let length =
        u32::try_from(out.len() - start - 4).expect("messages are bounded far below 4 GiB");
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

#[cfg(test)]
mod tests;
