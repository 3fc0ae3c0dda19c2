//! Slow nodes (rule R22): far from every other node, while the others are near each other.
//!
//! The distance of a node is the smaller one that it and its nearest node measure: a node that is
//! busy itself, or behind a bad cable to one of the others, does not make others slow. Where all
//! nodes are twice as far apart, none is slow.

use std::collections::BTreeMap;

use types::NodeId;

use crate::limits::{
    PROBES_COUNT_HEARTBEATS, SLOW_AGAIN_US, SLOW_HEARTBEATS, SLOW_PAUSE_MAX_US, SLOW_PAUSE_MIN_US,
    SLOW_ROUND_TRIP_MIN_US, SLOW_TIMES,
};
use crate::worker::Time;

/// How far a node is from the nearest other one, and how far others are from theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Distance {
    own: Time,
    others: Time,
}

impl std::fmt::Display for Distance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "a message to the nearest node and back takes {} ms, and {} ms between others",
            self.own / 1_000,
            self.others / 1_000
        )
    }
}

/// The slow nodes. `said`: the distance of the second node, as the first measures it. A node nearer than its `floor` is not slow.
fn slow(
    said: &BTreeMap<(NodeId, NodeId), Time>,
    floor: impl Fn(NodeId) -> Time,
) -> BTreeMap<NodeId, Distance> {
    let mut nearest: BTreeMap<NodeId, Time> = BTreeMap::new();
    for ((from, to), takes) in said {
        for node in [*from, *to] {
            let known = nearest.entry(node).or_insert(*takes);
            *known = *takes.min(known);
        }
    }
    let distance = |node: NodeId| {
        let others = nearest.iter().filter(|(other, _)| **other != node);
        let mut others: Vec<Time> = others.map(|(_, takes)| *takes).collect();
        others.sort_unstable();
        // Of two nodes either may be the slow one.
        let others = *others.get(others.len() / 2).filter(|_| others.len() >= 2)?;
        Some(Distance { own: nearest[&node], others })
    };
    let is_slow = |node: NodeId, Distance { own, others }: &Distance| {
        *own >= floor(node) && *own >= others.saturating_mul(SLOW_TIMES)
    };
    let all = nearest.keys().filter_map(|node| Some((*node, distance(*node)?)));
    all.filter(|(node, distance)| is_slow(*node, distance)).collect()
}

/// The leader's list of slow nodes.
#[derive(Default)]
pub(super) struct SlowNodes {
    looked_at: Time,
    slow: BTreeMap<NodeId, Slow>,
    pauses: Pauses,
}

struct Slow {
    since: Time,
    /// When others said so last.
    seen: Time,
    distance: Distance,
}

impl SlowNodes {
    /// Another leader has judged until now.
    pub fn clear(&mut self) {
        self.slow.clear();
    }

    /// Is it time to look again? Nodes say something new once a heartbeat.
    pub fn is_due(&self, now: Time, heartbeat: Time) -> bool {
        now >= self.looked_at + heartbeat / 2
    }

    /// Those that are slow and were not before, and how slow. `awake_since`: nothing was seen before that.
    pub fn watch(
        &mut self,
        said: &BTreeMap<(NodeId, NodeId), Time>,
        heartbeat: Time,
        now: Time,
        awake_since: Time,
    ) -> Vec<(NodeId, String)> {
        self.looked_at = now;
        let floor = heartbeat.max(SLOW_ROUND_TRIP_MIN_US);
        let before = std::mem::take(&mut self.slow);
        let mut new = Vec::new();
        // Who is at the edge is not well again whenever chance has it.
        let floor_of = |node: NodeId| if before.contains_key(&node) { floor / 2 } else { floor };
        for (node, distance) in slow(said, floor_of) {
            let since = before.get(&node).map(|before| before.since);
            if since.is_none() {
                new.push((node, distance.to_string()));
            }
            let since = since.unwrap_or(now).max(awake_since);
            self.slow.insert(node, Slow { since, seen: now, distance });
        }
        // Nodes of which no other node reports anything now: each of the others may have been busy a moment ago.
        let is_open = |node: NodeId, slow: &Slow| {
            let is_spoken_of = said.keys().any(|(_, to)| *to == node);
            !is_spoken_of && now < slow.seen + PROBES_COUNT_HEARTBEATS * heartbeat
        };
        for (node, slow) in before.into_iter().filter(|(node, slow)| is_open(*node, slow)) {
            self.slow.entry(node).or_insert(slow);
        }
        new
    }

    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.slow.keys().copied()
    }

    /// Who has been slow for longer than it is put up with, and is, and how slow.
    pub fn for_long(&self, heartbeat: Time, now: Time) -> BTreeMap<NodeId, String> {
        let patience = SLOW_HEARTBEATS * heartbeat;
        let is_so = |slow: &Slow| now > slow.since + patience && now <= slow.seen + 2 * heartbeat;
        let long = self.slow.iter().filter(|(_, slow)| is_so(slow));
        long.map(|(node, slow)| (*node, format!("it is slow: {}", slow.distance))).collect()
    }

    /// Its exclusion is proposed, because it is slow. Returns the time before it is admitted again, in microseconds.
    pub fn on_proposed(&mut self, node: NodeId, heartbeat: Time, now: Time) -> Time {
        self.pauses.on_excluded(node, SLOW_AGAIN_US.max(4 * SLOW_HEARTBEATS * heartbeat), now)
    }

    /// Another boot is admitted: it has not been measured yet.
    pub fn on_registered(&mut self, node: NodeId, now: Time) {
        self.slow.remove(&node);
        self.pauses.on_registered(node, now);
    }
    /// The rest of the node's pause before its admission.
    pub fn pause(&self, node: NodeId, now: Time) -> Time {
        self.pauses.left(node, now)
    }
    pub fn paused(&self, now: Time) -> impl Iterator<Item = (NodeId, Time)> {
        let left = move |node: &NodeId| (*node, self.pauses.left(*node, now));
        self.pauses.0.keys().map(left).filter(|(_, left)| *left > 0)
    }
}

/// Nodes that were excluded because they were slow: another boot may be no faster, and others wait for it after each admission.
#[derive(Default)]
struct Pauses(BTreeMap<NodeId, Pause>);

struct Pause {
    until: Time,
    /// So often within a short time.
    times: u32,
}

impl Pauses {
    /// The pause: none the first time within `again_us`.
    fn on_excluded(&mut self, node: NodeId, again_us: Time, now: Time) -> Time {
        let before = self.0.get(&node).filter(|before| now < before.until + again_us);
        let times = before.map_or(0, |before| before.times) + 1;
        let pause = match times.checked_sub(2) {
            None => 0,
            Some(doublings) => (SLOW_PAUSE_MIN_US << doublings.min(16)).min(SLOW_PAUSE_MAX_US),
        };
        self.0.insert(node, Pause { until: now + pause, times });
        pause
    }

    /// Another leader has let it in.
    fn on_registered(&mut self, node: NodeId, now: Time) {
        if let Some(pause) = self.0.get_mut(&node) {
            pause.until = pause.until.min(now);
        }
    }

    fn left(&self, node: NodeId, now: Time) -> Time {
        self.0.get(&node).map_or(0, |pause| pause.until.saturating_sub(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow_of(said: &[(u16, u16, Time)]) -> Vec<u16> {
        let said = said.iter().map(|(from, to, takes)| ((NodeId(*from), NodeId(*to)), *takes));
        slow(&said.collect(), |_| 50).into_keys().map(|node| node.0).collect()
    }

    /// Far from all others, while these are near each other: far from one of them, as far as all are, or without others is not slow.
    #[test]
    fn far_from_everybody() {
        assert_eq!(slow_of(&[(1, 2, 1), (1, 3, 100), (2, 3, 90), (3, 1, 80), (3, 2, 120)]), [3]);
        assert_eq!(
            slow_of(&[(1, 2, 1), (1, 3, 100), (2, 3, 100), (3, 1, 2)]),
            [0; 0],
            "it finds one near"
        );
        assert_eq!(slow_of(&[(1, 2, 1), (1, 3, 2), (2, 3, 900)]), [0; 0], "a bad cable");
        assert_eq!(slow_of(&[(1, 2, 60), (1, 3, 100), (2, 3, 100)]), [0; 0], "all are far");
        assert_eq!(slow_of(&[(1, 2, 1), (1, 3, 49), (2, 3, 49)]), [0; 0], "not far enough");
        assert_eq!(slow_of(&[(2, 3, 900), (3, 2, 900)]), [0; 0], "one of two");
        assert_eq!(slow_of(&[]), [0; 0]);
        let five = [(1, 2, 1), (2, 3, 2), (3, 4, 300), (1, 4, 200), (2, 5, 400), (4, 5, 300)];
        assert_eq!(slow_of(&five), [4, 5], "two of five");
    }

    /// One exclusion causes no pause, a second one soon after does; an admitted node has none left.
    #[test]
    fn pauses_double() {
        let mut pauses = Pauses::default();
        let (node, again, mut now) = (NodeId(3), 1_000_000, 1_000);
        for expected in [0, 60, 120, 240, 300, 300].map(|seconds| seconds * 1_000_000) {
            assert_eq!(pauses.on_excluded(node, again, now), expected);
            assert_eq!((pauses.left(node, now), pauses.left(NodeId(2), now)), (expected, 0));
            assert_eq!(pauses.left(node, now + expected), 0);
            now += expected + again - 1;
        }
        pauses.on_registered(node, now);
        assert_eq!(pauses.on_excluded(node, again, now), SLOW_PAUSE_MAX_US);
        pauses.on_registered(node, now + 5);
        assert_eq!(pauses.left(node, now + 5), 0, "let in by another leader");
        assert_eq!(pauses.on_excluded(node, again, now + 5 + again), 0, "long after");
    }

    /// It has to last, and to have been seen.
    #[test]
    fn slow_for_long() {
        let said = |takes| {
            BTreeMap::from(
                [(1, 2, 1), (1, 3, takes), (2, 3, takes)]
                    .map(|(a, b, t)| ((NodeId(a), NodeId(b)), t)),
            )
        };
        let mut nodes = SlowNodes::default();
        let heartbeat = 200_000;
        let long = |nodes: &SlowNodes, now| nodes.for_long(heartbeat, now).len();
        let watch = |nodes: &mut SlowNodes, said: &_, now, awake_since| {
            let new = nodes.watch(said, heartbeat, now, awake_since);
            new.into_iter().map(|(node, _)| node).collect::<Vec<_>>()
        };
        assert_eq!(watch(&mut nodes, &said(200_000), 1_000, 0), [NodeId(3)]);
        assert_eq!(watch(&mut nodes, &said(200_000), 9_000_000, 0), []);
        assert!(!nodes.is_due(9_099_999, heartbeat) && nodes.is_due(9_100_000, heartbeat));
        watch(&mut nodes, &said(200_000), 10_000_000, 0);
        assert_eq!((long(&nodes, 10_001_000), long(&nodes, 10_001_001)), (0, 1));
        assert_eq!(nodes.on_proposed(NodeId(3), heartbeat, 10_001_001), 0, "once");
        assert_eq!(nodes.on_proposed(NodeId(3), heartbeat, 10_001_002), SLOW_PAUSE_MIN_US);
        assert_eq!(
            nodes.paused(10_001_003).collect::<Vec<_>>(),
            [(NodeId(3), SLOW_PAUSE_MIN_US - 1)]
        );
        watch(&mut nodes, &said(200_000), 18_900_000, 9_000_000);
        assert_eq!(
            (long(&nodes, 19_000_000), long(&nodes, 19_000_001)),
            (0, 1),
            "this one was away"
        );
        let own = BTreeMap::from([((NodeId(3), NodeId(1)), 200_000)]);
        assert_eq!(watch(&mut nodes, &own, 19_300_000, 0), []);
        assert_eq!(
            (long(&nodes, 19_300_000), long(&nodes, 19_300_001)),
            (1, 0),
            "nobody else says anything now"
        );
        assert_eq!(watch(&mut nodes, &own, 22_899_999, 0), []);
        assert_eq!(watch(&mut nodes, &said(200_000), 22_899_999, 0), []);
        assert_eq!(long(&nodes, 22_899_999), 1, "they say it again");
        assert_eq!(watch(&mut nodes, &own, 26_899_999, 0), []);
        assert_eq!(nodes.nodes().count(), 0, "nobody has for too long");
        assert_eq!(watch(&mut nodes, &said(200_000), 27_000_001, 0), [NodeId(3)]);
        nodes.on_registered(NodeId(3), 27_000_002);
        assert_eq!(watch(&mut nodes, &own, 27_100_001, 0), []);
        assert_eq!(nodes.nodes().count(), 0, "another boot");
        assert_eq!(watch(&mut nodes, &said(200_000), 27_200_001, 0), [NodeId(3)]);
        watch(&mut nodes, &said(100_000), 27_300_000, 0);
        assert_eq!(nodes.nodes().count(), 1, "not well again");
        watch(&mut nodes, &said(99_999), 27_400_000, 0);
        assert_eq!(watch(&mut nodes, &said(199_999), 27_500_000, 0), []);
        assert_eq!(watch(&mut nodes, &said(200_000), 27_600_000, 0), [NodeId(3)], "anew");
    }
}
