//! Peers that hang (rule R22): their heartbeats arrive, and other nodes wait for them all the same. A worker of such a peer
//! does nothing, or the link to it is half open.
//!
//! Each worker measures how long its channels wait for acknowledgements, and probes its peers by the clock. A peer that
//! acknowledges within a heartbeat, or within [`LATE_ACK_US`] if that is longer, keeps up. A peer that takes longer is *late*,
//! which operators see. A peer that sends nothing at all for [`STALL_HEARTBEATS`], though it has to acknowledge something, is
//! *stalled*. The duration of most probes is the distance of the peer; several nodes' distances show that a peer is *slow*.
//!
//! A worker without time of its own receives acknowledgements late, and reports no peer; a node with such a worker reports no
//! distances. The node sends the leader, with its heartbeats, the stalled peers and the distance of each peer;
//! [`crate::control::lease`] decides which node is excluded.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use protocol::message::RoundTrip;
use types::{Address, Incarnation, NodeId};

use crate::channel::Wait;
use crate::limits::{
    LATE_ACK_US, PROBE_HEARTBEATS, PROBES_COUNT_HEARTBEATS, ROUND_TRIPS_HEARTBEATS,
    STALL_HEARTBEATS, TICK_INTERVAL_US,
};
use crate::node::NodeShared;
use crate::worker::{Context, Time};

/// A worker's report expires after this time: the worker may hang itself.
const WORD_LASTS_US: Time = 10 * TICK_INTERVAL_US;

/// What one worker found of a node, for all workers to see: until when that holds.
#[derive(Default)]
pub(crate) struct Lag {
    late_until: AtomicU64,
    stalled_until: AtomicU64,
    /// What most probes take, in microseconds, of the worker of it that is farthest away.
    round_trip: AtomicU64,
    round_trip_until: AtomicU64,
}

/// How a worker of this node is.
#[derive(Default)]
pub(crate) struct Awake {
    ticked_at: AtomicU64,
    /// Its ticks were late a while ago.
    away_until: AtomicU64,
}

/// A worker's channels to others.
#[derive(Default)]
pub(crate) struct Paces {
    ticked_at: Time,
    round_trips_told: Time,
    late: BTreeMap<(Address, Incarnation), Late>,
    /// When something had come that was not handed out.
    unread: BTreeMap<Address, Time>,
}

/// A channel that waits for too long.
struct Late {
    /// What had come by then, acknowledgements and others; and since when it is no more.
    came: u64,
    since: Time,
}

impl Paces {
    pub fn note_unread(&mut self, peer: Address, now: Time) {
        self.unread.insert(peer, now);
    }

    pub fn on_tick(&mut self, context: &mut Context<'_>) {
        self.look(context);
        self.probe(context);
    }

    fn probe(&self, context: &mut Context<'_>) {
        let interval = PROBE_HEARTBEATS * context.node.heartbeat_us();
        let state = Arc::clone(context.state);
        for (node, boot) in &state.incarnations {
            if *node == context.address.node {
                continue;
            }
            for peer in context.workers_of(*node) {
                context.channels.probe(peer, *boot, context.now, interval);
            }
        }
    }

    fn look(&mut self, context: &Context<'_>) {
        let (now, node) = (context.now, context.node);
        // A few ticks may be late.
        let away_us = now.saturating_sub(self.ticked_at);
        let was_away = away_us > 5 * TICK_INTERVAL_US;
        self.ticked_at = now;
        let worker = usize::from(context.address.worker.0);
        node.awake[worker].ticked_at.store(now, Ordering::Relaxed);
        if was_away {
            // For that time no peer could be observed; the time before it counts.
            for late in self.late.values_mut() {
                late.since += away_us;
            }
            let until = now + PROBE_HEARTBEATS * node.heartbeat_us();
            node.awake[worker].away_until.store(until, Ordering::Relaxed);
        }
        let late_us = LATE_ACK_US.max(node.heartbeat_us());
        let stall_us = STALL_HEARTBEATS * node.heartbeat_us();
        // An acknowledgement tells until some more probes are back.
        let tells_us = PROBES_COUNT_HEARTBEATS * node.heartbeat_us();
        let mut late = BTreeMap::new();
        let mut round_trips: BTreeMap<NodeId, Time> = BTreeMap::new();
        let tells_round_trips = now >= self.round_trips_told + node.heartbeat_us() / 2;
        let since = now.saturating_sub(ROUND_TRIPS_HEARTBEATS * node.heartbeat_us());
        let since = tells_round_trips.then_some(since);
        for (peer, boot, wait) in context.channels.waits(now, tells_us, since) {
            let Wait { waited, came, round_trip } = wait;
            // The acknowledgement may be there.
            let is_unread = self.unread.get(&peer).is_some_and(|at| now < at + TICK_INTERVAL_US);
            if let Some(round_trip) = round_trip.filter(|_| !is_unread) {
                let farthest = round_trips.entry(peer.node).or_default();
                *farthest = round_trip.max(*farthest);
            }
            if waited <= late_us {
                continue;
            }
            let before = self.late.remove(&(peer, boot)).filter(|before| before.came == came);
            let own = before.unwrap_or(Late { came, since: now });
            let lags = node.lags.get(&peer.node).filter(|_| !is_unread && !was_away);
            if let Some(lags) = lags {
                lags[worker].late_until.store(now + WORD_LASTS_US, Ordering::Relaxed);
                if now > own.since + stall_us {
                    lags[worker].stalled_until.store(now + WORD_LASTS_US, Ordering::Relaxed);
                }
            }
            late.insert((peer, boot), own);
        }
        self.late = late;
        if tells_round_trips {
            self.round_trips_told = now;
        }
        for (peer, round_trip) in round_trips {
            if let Some(lags) = node.lags.get(&peer) {
                let until = now + node.heartbeat_us();
                lags[worker].round_trip.store(round_trip, Ordering::Relaxed);
                lags[worker].round_trip_until.store(until, Ordering::Relaxed);
            }
        }
    }
}

impl NodeShared {
    /// Those from which nothing comes any more, though they live.
    pub(crate) fn stalled(&self, now: Time) -> Vec<NodeId> {
        self.lagging(|lag| now < lag.stalled_until.load(Ordering::Relaxed))
    }

    /// Those that acknowledge late what this node sends them.
    pub(crate) fn late(&self, now: Time) -> Vec<NodeId> {
        self.lagging(|lag| now < lag.late_until.load(Ordering::Relaxed))
    }

    /// How far away the others are, as far as is known: of each the farthest worker, from whichever of this node. Nothing is known if
    /// a worker of this one got no time a while ago: the others would be as far from that one.
    pub(crate) fn round_trips(&self, now: Time) -> Vec<RoundTrip> {
        let is_awake = |awake: &Awake| {
            now <= awake.ticked_at.load(Ordering::Relaxed) + WORD_LASTS_US
                && now >= awake.away_until.load(Ordering::Relaxed)
        };
        if !self.awake.iter().all(is_awake) {
            return Vec::new();
        }
        let of_node = |lags: &[Lag]| {
            let known =
                lags.iter().filter(|lag| now < lag.round_trip_until.load(Ordering::Relaxed));
            known.map(|lag| lag.round_trip.load(Ordering::Relaxed)).max()
        };
        let known = self.lags.iter().filter_map(|(node, lags)| Some((*node, of_node(lags)?)));
        known.map(|(node, microseconds)| RoundTrip { node, microseconds }).collect()
    }

    fn lagging(&self, is_it: impl Fn(&Lag) -> bool) -> Vec<NodeId> {
        let lagging = self.lags.iter().filter(|(_, lags)| lags.iter().any(&is_it));
        lagging.map(|(node, _)| *node).collect()
    }
}
