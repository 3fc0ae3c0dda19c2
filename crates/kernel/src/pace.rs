//! Peers that do not keep up (R22): their heartbeats come, and everybody waits for them all the same. A worker of theirs hangs, its
//! link is half open, its machine has no time for it.
//!
//! Each worker watches how long its channels wait to be acknowledged, and says something now and then where nothing is to be said. A
//! peer that acknowledges within a heartbeat, or within [`SLOW_ACK_US`] if that is longer, keeps up; so does one that takes longer
//! because it is sent much, and takes much in. What else it is said to be:
//!
//! | it acknowledges           | for                        | is called |
//! |---------------------------|----------------------------|-----------|
//! | late, and little          | [`SLOW_AFTER_US`]          | slow      |
//! | nothing, and should       | [`STALL_HEARTBEATS`]       | stalled   |
//!
//! Workers that get no time themselves hear acknowledgements late, and say nothing of others. The node tells the leader with its
//! heartbeats; who is to go for it, [`crate::control::lease`] decides.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use protocol::Message;
use protocol::message::Probe;
use types::{Address, NodeId};

use crate::channel::Wait;
use crate::limits::{
    PROBE_HEARTBEATS, SLOW_ACK_US, SLOW_AFTER_US, SLOW_BYTES_PER_SECOND, STALL_HEARTBEATS,
    TICK_INTERVAL_US,
};
use crate::node::NodeShared;
use crate::worker::{Context, Time};

/// What one worker finds of a node, for all workers to see.
#[derive(Default)]
pub(crate) struct Lag {
    /// Since when it does not keep up; 0 while it does.
    since: AtomicU64,
    is_stalled: AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    KeepsUp,
    Slow,
    Stalled,
}

/// A worker's channels to others.
#[derive(Default)]
pub(crate) struct Paces {
    ticked_at: Time,
    late: BTreeMap<Address, Late>,
}

/// A channel that waits for too long.
struct Late {
    since: Time,
    /// Bytes that were acknowledged on it by then.
    acknowledged: u64,
}

impl Paces {
    pub fn on_tick(&mut self, context: &mut Context<'_>) {
        self.look(context);
        self.probe(context);
    }

    /// Says something to whom nothing else is to be said.
    fn probe(&self, context: &mut Context<'_>) {
        let idle_us = PROBE_HEARTBEATS * context.node.heartbeat_us();
        let state = Arc::clone(context.state);
        for (node, boot) in &state.incarnations {
            if *node == context.address.node {
                continue;
            }
            for peer in context.workers_of(*node) {
                if context.channels.is_idle(peer, *boot, context.now, idle_us) {
                    context.send(peer, Message::Probe(Probe {}));
                }
            }
        }
    }

    fn look(&mut self, context: &Context<'_>) {
        let (now, node) = (context.now, context.node);
        // A few ticks may be late.
        let was_away = now > self.ticked_at + 5 * TICK_INTERVAL_US;
        self.ticked_at = now;
        if was_away {
            self.late.clear();
        }
        let slow_us = SLOW_ACK_US.max(node.heartbeat_us());
        let stall_us = STALL_HEARTBEATS * node.heartbeat_us();
        let mut found: BTreeMap<NodeId, (Time, bool)> = BTreeMap::new();
        let mut late = BTreeMap::new();
        // A probe's acknowledgement tells until the next one's.
        let tells_us = 2 * PROBE_HEARTBEATS * node.heartbeat_us();
        for (peer, Wait { waited, acknowledged }) in context.channels.waits(now, tells_us) {
            if waited <= slow_us || was_away {
                continue;
            }
            let before = self.late.remove(&peer);
            let mut own = before.unwrap_or(Late { since: now, acknowledged });
            let bytes = acknowledged - own.acknowledged;
            if bytes > SLOW_BYTES_PER_SECOND + (now - own.since) * SLOW_BYTES_PER_SECOND / 1_000_000
            {
                own = Late { since: now, acknowledged };
            }
            let is_stalled = bytes == 0 && now > own.since + stall_us;
            let of_node = found.entry(peer.node).or_insert((own.since, is_stalled));
            *of_node = (of_node.0.min(own.since), of_node.1 || is_stalled);
            late.insert(peer, own);
        }
        self.late = late;
        let worker = usize::from(context.address.worker.0);
        for (other, lags) in &node.lags {
            let (since, is_stalled) = found.get(other).copied().unwrap_or_default();
            lags[worker].since.store(since, Ordering::Relaxed);
            lags[worker].is_stalled.store(is_stalled, Ordering::Relaxed);
        }
    }
}

impl NodeShared {
    /// How another node keeps up with what this one sends it.
    pub(crate) fn pace(&self, other: NodeId, now: Time) -> Pace {
        let lags = self.lags.get(&other).map_or(&[][..], Vec::as_slice);
        let is_slow = |lag: &Lag| {
            let since = lag.since.load(Ordering::Relaxed);
            since != 0 && now > since + SLOW_AFTER_US
        };
        if lags.iter().any(|lag| lag.is_stalled.load(Ordering::Relaxed)) {
            Pace::Stalled
        } else if lags.iter().any(is_slow) {
            Pace::Slow
        } else {
            Pace::KeepsUp
        }
    }

    /// Those that do not keep up with what this one sends them.
    pub(crate) fn late(&self, now: Time) -> Vec<NodeId> {
        let others = self.lags.keys().copied();
        others.filter(|other| self.pace(*other, now) != Pace::KeepsUp).collect()
    }

    /// Does it keep up at the moment?
    pub(crate) fn keeps_up(&self, other: NodeId) -> bool {
        let lags = self.lags.get(&other).map_or(&[][..], Vec::as_slice);
        lags.iter().all(|lag| lag.since.load(Ordering::Relaxed) == 0)
    }
}
