//! Reliable channels between workers of different nodes: in order, exactly once, for one pair of boots.
//!
//! A connection may break and come back, and the frames under way on it are lost; every exchange of
//! the protocol would need its own resending. Instead one place numbers the messages, keeps those
//! that are not acknowledged, sends them again and drops duplicates. A channel belongs to the
//! incarnations of both ends: a restarted peer starts a new one, and no message of the old one is
//! delivered to it (rules R5, R13). The link to a peer leads to one boot of it at a time; messages
//! for another boot wait. A boot that takes the link from another one, rightly or not, does not
//! take its channel: when the other boot is back, its channel continues.
//!
//! A frame ahead of a missing one waits in `early`. When nothing is acknowledged for a while the oldest unacknowledged
//! chunks are sent again, a bounded number of bytes, and after twice the time the next time: a slow link is not buried under
//! copies.
//!
//! At most a window of bytes is with the host and not acknowledged; the chunks behind it follow as acknowledgements come.
//! So a link's queue stays bounded however much there is to say, also when the link comes back after a long time and
//! everything unacknowledged must go again. A channel that has piled up much beyond its window is *overloaded*: the worker
//! then begins no transaction that writes until it has drained (see `coordinator::pressure`).
//!
//! ```text
//!   unacked:  [ handed to the host, at most a window | waiting ]  <- flush
//!             ^ acknowledgements take from here       ^ handed
//! ```

mod round_trips;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use protocol::Message;
use protocol::envelope::{Header, NO_GROUP, encode_frame};
use protocol::message::Probe;
use types::wire::Wire;
use types::{Address, ClusterId, GroupId, Incarnation, Lineage, NodeId, View};

use crate::limits::{
    ACK_FRAMES_MAX, CHANNEL_EARLY_MAX, CHANNEL_UNACKED_BYTES_MAX, CHANNEL_WINDOW_BYTES,
    CHUNK_BYTES_MAX, RESEND_BYTES_MAX, RESEND_DOUBLINGS_MAX,
};
use crate::outbox::Outbox;
use crate::worker::Time;
use round_trips::RoundTrips;

/// What this end puts into every header.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    pub cluster: ClusterId,
    pub lineage: Lineage,
    pub address: Address,
    pub incarnation: Incarnation,
}

/// How a channel treats its link.
#[derive(Clone, Copy, Debug)]
pub struct ChannelConfig {
    /// Time after which unacknowledged data is sent again. Links that lose nothing while they are
    /// up (TCP) need it only as a safety net.
    pub resend_after: Time,
    /// Bytes that are with the host and not acknowledged, but for the chunk that reaches it.
    pub window_bytes: usize,
    /// With more bytes unacknowledged, the channel is overloaded.
    pub unacked_bytes_max: usize,
}

impl ChannelConfig {
    pub fn new(resend_after: Time) -> ChannelConfig {
        ChannelConfig {
            resend_after,
            window_bytes: CHANNEL_WINDOW_BYTES,
            unacked_bytes_max: CHANNEL_UNACKED_BYTES_MAX,
        }
    }
}

/// Of one peer, but for the one that its link leads to.
const BOOTS_KEPT_MAX: usize = 8;

/// All channels of one worker.
pub struct Channels {
    pub identity: Identity,
    config: ChannelConfig,
    /// By the boot of the peer; without one the messages from before any boot was known.
    channels: BTreeMap<(Address, Option<Incarnation>), Channel>,
    /// The boots that the links lead to, or led to last.
    linked: BTreeMap<Address, Incarnation>,
    /// The boots that take part, whose channels are kept in any case.
    members: BTreeMap<NodeId, Incarnation>,
    channels_made: u64,
    /// As of the last flush.
    overloaded: Option<Address>,
}

struct Channel {
    /// So many were made before.
    number: u64,
    sequence_last: u64,
    /// Frames since the last flush, each with its length in front.
    pending: Vec<u8>,
    /// What their headers acknowledge.
    pending_acknowledges: u64,
    /// Not acknowledged.
    unacked: VecDeque<Chunk>,
    unacked_bytes: usize,
    /// How many of `unacked`, from the front, the host has since the link is up; and their bytes.
    handed: usize,
    handed_bytes: usize,
    /// When the oldest of `unacked` was sent last, or an acknowledgement arrived.
    sent_at: Time,
    /// Resends since the last acknowledgement: each doubles the wait for the next.
    resends: u32,
    /// Chunks that were acknowledged, and what the last acknowledgement tells: when it came, and how long it was waited for.
    acknowledged_chunks: u64,
    acknowledged_at: Time,
    acknowledged_after: Time,
    round_trips: RoundTrips,
    received: u64,
    received_bytes: u64,
    /// A probe has come: it is acknowledged at once.
    is_probed: bool,
    /// What the host was last given as an acknowledgement.
    received_acknowledged: u64,
    early: BTreeMap<u64, (Header, Option<Message>)>,
}

/// What one flush made, or a part of it: whole frames.
struct Chunk {
    sequence_last: u64,
    /// What its headers acknowledge.
    acknowledges: u64,
    /// When the host got it first; 0 before.
    handed_at: Time,
    bytes: Arc<Vec<u8>>,
}

/// How long a channel waits to be acknowledged.
pub struct Wait {
    pub waited: Time,
    /// Grows with every acknowledgement and frame that comes.
    pub came: u64,
    /// What a probe takes lately, if that was asked.
    pub round_trip: Option<Time>,
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
    pub fn new(identity: Identity, config: ChannelConfig) -> Channels {
        Channels {
            identity,
            config,
            channels: BTreeMap::new(),
            linked: BTreeMap::new(),
            members: BTreeMap::new(),
            channels_made: 0,
            overloaded: None,
        }
    }

    fn channel(&mut self, peer: Address, boot: Option<Incarnation>) -> &mut Channel {
        if boot.is_some() && !self.channels.contains_key(&(peer, boot)) {
            self.drop_oldest(peer);
            if let Some(unbound) = self.channels.remove(&(peer, None)) {
                self.channels.insert((peer, boot), unbound);
            }
        }
        let number = &mut self.channels_made;
        self.channels.entry((peer, boot)).or_insert_with(|| Channel {
            number: {
                *number += 1;
                *number
            },
            sequence_last: 0,
            pending: Vec::new(),
            pending_acknowledges: 0,
            unacked: VecDeque::new(),
            unacked_bytes: 0,
            handed: 0,
            handed_bytes: 0,
            sent_at: 0,
            resends: 0,
            acknowledged_chunks: 0,
            acknowledged_at: 0,
            acknowledged_after: 0,
            round_trips: RoundTrips::default(),
            received: 0,
            received_bytes: 0,
            is_probed: false,
            received_acknowledged: 0,
            early: BTreeMap::new(),
        })
    }

    /// Boots that were never admitted leave only a few channels behind.
    fn drop_oldest(&mut self, peer: Address) {
        let linked = self.linked.get(&peer);
        let member = self.members.get(&peer.node);
        let is_needed = |boot: &Incarnation| linked == Some(boot) || member == Some(boot);
        let own = self.channels.range((peer, None)..=(peer, Some(Incarnation(u64::MAX))));
        let unlinked = own.filter(|((_, boot), _)| boot.is_some_and(|boot| !is_needed(&boot)));
        let unlinked: Vec<_> = unlinked.map(|(key, channel)| (channel.number, *key)).collect();
        if unlinked.len() >= BOOTS_KEPT_MAX
            && let Some((_, oldest)) = unlinked.into_iter().min()
        {
            self.channels.remove(&oldest);
        }
    }

    /// Queues a message for that boot of a peer, or for the first that comes. It leaves with a flush, while the link leads there.
    pub fn send(
        &mut self,
        to: Address,
        boot: Option<Incarnation>,
        group: GroupId,
        view: View,
        message: &Message,
    ) {
        assert!(to.node != self.identity.address.node, "channels lead to other nodes");
        let identity = self.identity;
        let channel = self.channel(to, boot);
        channel.sequence_last += 1;
        let header = identity.header(to, group, view, channel.sequence_last, channel.received);
        channel.pending_acknowledges = channel.received;
        append_frame(&header, Some(message), &mut channel.pending);
        if channel.pending.len() >= CHUNK_BYTES_MAX {
            channel.close_chunk();
        }
    }

    /// Queues a probe, if the last one is back and was sent long enough ago.
    pub fn probe(&mut self, peer: Address, boot: Incarnation, now: Time, interval: Time) {
        if self.channel(peer, Some(boot)).round_trips.is_due(now, interval) {
            self.send(peer, Some(boot), NO_GROUP, View(0), &Message::Probe(Probe {}));
            let channel = self.channel(peer, Some(boot));
            channel.round_trips.on_queued(now, channel.sequence_last);
        }
    }

    /// Takes a frame whose identity was checked, with its size in bytes.
    pub fn receive(
        &mut self,
        now: Time,
        size: usize,
        header: Header,
        message: Option<Message>,
    ) -> Received {
        if *self.linked.entry(header.from).or_insert(header.incarnation) != header.incarnation {
            return Received::OtherIncarnation;
        }
        let channel = self.channel(header.from, Some(header.incarnation));
        channel.received_bytes += size as u64;
        channel.on_acknowledged(now, header.acknowledged);
        if header.sequence == 0 {
            // An acknowledgement, or a message that is not numbered.
            let notice = message.filter(Message::is_unnumbered);
            return notice
                .map_or(Received::Nothing, |notice| Received::Deliver(vec![(header, notice)]));
        }
        if header.sequence <= channel.received {
            // A duplicate means that our acknowledgement was lost: say it again.
            channel.received_acknowledged = channel.received_acknowledged.min(channel.received - 1);
            return Received::Nothing;
        }
        if header.sequence > channel.received + 1 {
            channel.early.insert(header.sequence, (header, message));
            if channel.early.len() > CHANNEL_EARLY_MAX {
                // What is farthest ahead is needed last.
                channel.early.pop_last();
            }
            return Received::Nothing;
        }
        channel.is_probed |= matches!(message, Some(Message::Probe(_)));
        channel.received = header.sequence;
        let mut deliver: Vec<(Header, Message)> =
            message.map(|m| (header, m)).into_iter().collect();
        while let Some((header, message)) = channel.early.remove(&(channel.received + 1)) {
            channel.received += 1;
            deliver.extend(message.map(|m| (header, m)));
        }
        Received::Deliver(deliver)
    }

    /// Says something to whoever is at the other end, now or never: beside any channel.
    pub fn send_unnumbered(&self, peer: Address, message: &Message, outbox: &mut Outbox) {
        assert!(message.is_unnumbered());
        let header = self.identity.header(peer, NO_GROUP, View(0), 0, 0);
        let mut bytes = Vec::new();
        append_frame(&header, Some(message), &mut bytes);
        outbox.frames.push((peer, Arc::new(bytes)));
    }

    /// Hands queued messages to the host, as far as the window allows.
    pub fn flush(&mut self, now: Time, outbox: &mut Outbox) {
        let identity = self.identity;
        self.overloaded = None;
        for ((peer, boot), channel) in &mut self.channels {
            if !channel.pending.is_empty() {
                channel.close_chunk();
            }
            if channel.unacked_bytes > self.config.unacked_bytes_max {
                self.overloaded = Some(*peer);
            }
            if !leads_to(&self.linked, *peer, *boot) {
                continue;
            }
            channel.hand_over(now, *peer, self.config.window_bytes, outbox);
            let is_probed = std::mem::take(&mut channel.is_probed);
            let owes = channel.received - channel.received_acknowledged;
            if owes >= ACK_FRAMES_MAX || is_probed && owes > 0 {
                channel.acknowledge(&identity, *peer, outbox);
            }
        }
    }

    /// Sends acknowledgements that found no message to travel with, and resends messages not acknowledged in time.
    pub fn on_tick(&mut self, now: Time, outbox: &mut Outbox) {
        let identity = self.identity;
        for ((peer, boot), channel) in &mut self.channels {
            if !leads_to(&self.linked, *peer, *boot) {
                continue;
            }
            if channel.received > channel.received_acknowledged {
                channel.acknowledge(&identity, *peer, outbox);
            }
            let patience = self.config.resend_after << channel.resends.min(RESEND_DOUBLINGS_MAX);
            if channel.handed > 0 && now >= channel.sent_at.saturating_add(patience) {
                channel.resends += 1;
                channel.resend(now, *peer, outbox);
            }
        }
    }

    /// The link to a boot of a peer is up (again): the frames under way may be lost, so everything
    /// unacknowledged is sent again. Messages for another boot are not sent to this one.
    pub fn on_link_up(
        &mut self,
        now: Time,
        peer: Address,
        incarnation: Incarnation,
        outbox: &mut Outbox,
    ) {
        // What this turn of the host was about to send goes again if it still may, and is not for another boot.
        outbox.frames.retain(|(to, _)| *to != peer);
        self.linked.insert(peer, incarnation);
        let window_bytes = self.config.window_bytes;
        let channel = self.channel(peer, Some(incarnation));
        channel.resends = 0;
        channel.handed = 0;
        channel.handed_bytes = 0;
        channel.round_trips.on_link_up();
        channel.hand_over(now, peer, window_bytes, outbox);
    }

    pub fn set_members(&mut self, members: &BTreeMap<NodeId, Incarnation>) {
        self.members.clone_from(members);
    }

    /// Drops messages to peers that are over, by their boots; none is known where no link was ever up.
    pub fn forget(&mut self, is_over: impl Fn(Address, Option<Incarnation>) -> bool) {
        self.channels.retain(|(peer, boot), _| !is_over(*peer, *boot));
        self.linked.retain(|peer, boot| !is_over(*peer, Some(*boot)));
    }

    /// The boot that the link to a peer leads to, or led to last.
    pub fn linked(&self, peer: Address) -> Option<Incarnation> {
        self.linked.get(&peer).copied()
    }

    /// How long the channels to members wait.
    pub fn waits(
        &self,
        now: Time,
        tells_us: Time,
        round_trips_since: Option<Time>,
    ) -> impl Iterator<Item = (Address, Incarnation, Wait)> {
        self.channels.iter().filter_map(move |((peer, boot), channel)| {
            let boot = boot.filter(|boot| self.members.get(&peer.node) == Some(boot))?;
            Some((*peer, boot, channel.wait(now, tells_us, round_trips_since)))
        })
    }

    /// A peer for which too much has piled up, as of the last step.
    pub fn overloaded(&self) -> Option<Address> {
        self.overloaded
    }
    /// Whether more waits for this peer than its window takes. Repeated messages are better not added to it.
    pub fn is_backed_up(&self, peer: Address) -> bool {
        let channel = self.channels.get(&(peer, self.linked(peer)));
        channel.is_some_and(|channel| channel.handed < channel.unacked.len())
    }
    /// Whether half of the allowed data has piled up for this boot of a peer. Then repeated messages, and those that may be
    /// lost, are not added.
    pub fn is_half_full(&self, peer: Address, boot: Option<Incarnation>) -> bool {
        let channel = self.channels.get(&(peer, boot));
        channel.map_or(0, Channel::kept_bytes) > self.config.unacked_bytes_max / 2
    }
    /// Does too much pile up for some peer, with what this step has added?
    pub fn is_piling_up(&self) -> bool {
        let mut channels = self.channels.values();
        channels.any(|channel| channel.kept_bytes() > self.config.unacked_bytes_max)
    }
}

/// Whether messages for this boot of a peer may be given to its link. They may, too, where no link was ever up.
fn leads_to(
    linked: &BTreeMap<Address, Incarnation>,
    peer: Address,
    boot: Option<Incarnation>,
) -> bool {
    linked.get(&peer).is_none_or(|linked| boot == Some(*linked))
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
    /// What is kept for the peer, with what this step has added.
    fn kept_bytes(&self) -> usize {
        self.unacked_bytes + self.pending.len()
    }
    /// The peer has everything up to a sequence.
    fn on_acknowledged(&mut self, now: Time, sequence: u64) {
        self.round_trips.on_acknowledged(now, sequence, self.received_bytes);
        while self.unacked.front().is_some_and(|chunk| chunk.sequence_last <= sequence) {
            let chunk = self.unacked.pop_front().expect("front exists");
            self.unacked_bytes -= chunk.bytes.len();
            self.acknowledged_chunks += 1;
            self.acknowledged_after = now.saturating_sub(chunk.handed_at);
            self.acknowledged_at = now;
            // A chunk may be acknowledged that was handed over before the link broke, and not yet again.
            if self.handed > 0 {
                self.handed -= 1;
                self.handed_bytes -= chunk.bytes.len();
            }
            self.sent_at = now;
            self.resends = 0;
        }
    }

    fn wait(&self, now: Time, tells_us: Time, round_trips_since: Option<Time>) -> Wait {
        let oldest = self.unacked.front().filter(|chunk| chunk.handed_at != 0);
        let waited = oldest.map_or(0, |chunk| now.saturating_sub(chunk.handed_at));
        let tells = now < self.acknowledged_at + tells_us;
        let told = if tells { self.acknowledged_after } else { 0 };
        let round_trip = |since| self.round_trips.typical(now, since, self.received_bytes);
        Wait {
            waited: waited.max(told),
            came: self.acknowledged_chunks + self.received,
            round_trip: round_trips_since.and_then(round_trip),
        }
    }

    /// Makes a chunk of the queued messages.
    fn close_chunk(&mut self) {
        let size = self.pending.len();
        let bytes = Arc::new(std::mem::take(&mut self.pending));
        self.pending = Vec::with_capacity(size.min(1 << 16));
        self.unacked_bytes += size;
        let sequence_last = self.sequence_last;
        let acknowledges = self.pending_acknowledges;
        self.unacked.push_back(Chunk { sequence_last, acknowledges, handed_at: 0, bytes });
    }

    /// Gives the host what the window has room for, and always one chunk, however large.
    fn hand_over(&mut self, now: Time, peer: Address, window_bytes: usize, outbox: &mut Outbox) {
        while self.handed < self.unacked.len() && self.handed_bytes < window_bytes {
            let chunk = &mut self.unacked[self.handed];
            if chunk.handed_at == 0 {
                chunk.handed_at = now;
            }
            if self.handed == 0 {
                self.sent_at = now;
            }
            self.handed += 1;
            self.handed_bytes += chunk.bytes.len();
            let queued = self.handed_bytes;
            self.round_trips.on_handed(now, chunk.sequence_last, queued, self.received_bytes);
            self.received_acknowledged = self.received_acknowledged.max(chunk.acknowledges);
            outbox.frames.push((peer, Arc::clone(&chunk.bytes)));
        }
    }

    /// A bare acknowledgement: not numbered, not kept, and not held back by the window.
    fn acknowledge(&mut self, identity: &Identity, peer: Address, outbox: &mut Outbox) {
        self.received_acknowledged = self.received;
        let header = identity.header(peer, NO_GROUP, View(0), 0, self.received);
        let mut bytes = Vec::new();
        append_frame(&header, None, &mut bytes);
        outbox.frames.push((peer, Arc::new(bytes)));
    }

    /// Sends the oldest chunks again: `RESEND_BYTES_MAX` bytes, but at least one chunk.
    fn resend(&mut self, now: Time, peer: Address, outbox: &mut Outbox) {
        self.sent_at = now;
        let mut bytes = 0;
        for chunk in self.unacked.iter().take(self.handed) {
            outbox.frames.push((peer, Arc::clone(&chunk.bytes)));
            bytes += chunk.bytes.len();
            if bytes >= RESEND_BYTES_MAX {
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
