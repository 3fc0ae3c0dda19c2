//! Peers that hang (R22): their heartbeats come, and everybody waits for them all the same. A worker of theirs does nothing, or the link
//! to it is half open.
//!
//! Each worker watches how long its channels wait to be acknowledged, and says something now and then where nothing is to be said. A
//! peer that acknowledges within a heartbeat, or within [`LATE_ACK_US`] if that is longer, keeps up. One that takes longer is *late*,
//! which operators are shown. One from which nothing comes any more, no acknowledgement and nothing else, for [`STALL_HEARTBEATS`], is
//! *stalled*. To be slow is no fault: it may be the network's, or that of who asks so much.
//!
//! Workers that get no time themselves hear acknowledgements late, and say nothing of others. The node tells the leader with its
//! heartbeats who is stalled; who is to go for it, [`crate::control::lease`] decides.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use protocol::Message;
use protocol::message::Probe;
use types::{Address, Incarnation, NodeId};

use crate::channel::Wait;
use crate::limits::{LATE_ACK_US, PROBE_HEARTBEATS, STALL_HEARTBEATS, TICK_INTERVAL_US};
use crate::node::NodeShared;
use crate::worker::{Context, Time};

/// A worker's word is worth nothing when it has not said it for so long: it may hang itself.
const WORD_LASTS_US: Time = 10 * TICK_INTERVAL_US;

/// What one worker found of a node, for all workers to see: until when that holds.
#[derive(Default)]
pub(crate) struct Lag {
    late_until: AtomicU64,
    stalled_until: AtomicU64,
}

/// A worker's channels to others.
#[derive(Default)]
pub(crate) struct Paces {
    ticked_at: Time,
    late: BTreeMap<(Address, Incarnation), Late>,
}

/// A channel that waits for too long.
struct Late {
    /// What had come by then, acknowledgements and others; and since when it is no more.
    came: u64,
    since: Time,
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
        let late_us = LATE_ACK_US.max(node.heartbeat_us());
        let stall_us = STALL_HEARTBEATS * node.heartbeat_us();
        // A probe's acknowledgement tells until the next one's.
        let tells_us = 2 * PROBE_HEARTBEATS * node.heartbeat_us();
        let worker = usize::from(context.address.worker.0);
        let mut late = BTreeMap::new();
        for (peer, boot, Wait { waited, came }) in context.channels.waits(now, tells_us) {
            if waited <= late_us || was_away {
                continue;
            }
            let before = self.late.remove(&(peer, boot)).filter(|before| before.came == came);
            let own = before.unwrap_or(Late { came, since: now });
            if let Some(lags) = node.lags.get(&peer.node) {
                lags[worker].late_until.store(now + WORD_LASTS_US, Ordering::Relaxed);
                if now > own.since + stall_us {
                    lags[worker].stalled_until.store(now + WORD_LASTS_US, Ordering::Relaxed);
                }
            }
            late.insert((peer, boot), own);
        }
        self.late = late;
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

    fn lagging(&self, is_it: impl Fn(&Lag) -> bool) -> Vec<NodeId> {
        let lagging = self.lags.iter().filter(|(_, lags)| lags.iter().any(&is_it));
        lagging.map(|(node, _)| *node).collect()
    }
}
