//! The round-trip time of a message to a peer and its acknowledgement, where it measures the peer
//! and not the queues.
//!
//! A probe is sent by the clock, whatever else is sent: a probe sent upon the last acknowledgement
//! would meet a peer just when it works. It counts if little was under way before it when the host
//! got it, and little has come from the peer since: the acknowledgement may have waited behind
//! that. (If it is back soon all the same, the peer is near.)

use std::collections::VecDeque;

use crate::limits::{PROBE_QUIET_BYTES, ROUND_TRIPS_KEPT, SLOW_ROUND_TRIP_MIN_US};
use crate::worker::Time;

#[derive(Default)]
pub(super) struct RoundTrips {
    /// When the last probe was queued.
    asked_at: Time,
    /// The message that is the probe under way.
    sequence: Option<u64>,
    /// Since the host has it.
    handed: Option<Handed>,
    /// When they ended, and how long they took, in order.
    samples: VecDeque<(Time, Time)>,
}

struct Handed {
    at: Time,
    /// Much was under way before it.
    is_queued: bool,
    /// Bytes that had come from the peer by then.
    received_bytes: u64,
}

impl RoundTrips {
    /// Was the last probe long enough ago, and is it back?
    pub fn is_due(&self, now: Time, interval: Time) -> bool {
        self.sequence.is_none() && now >= self.asked_at + interval
    }

    pub fn on_queued(&mut self, now: Time, sequence: u64) {
        (self.asked_at, self.sequence, self.handed) = (now, Some(sequence), None);
    }

    /// The host was given everything up to a message, behind `queued` unacknowledged bytes.
    pub fn on_handed(&mut self, now: Time, sequence: u64, queued: usize, received_bytes: u64) {
        if self.handed.is_none() && self.sequence.is_some_and(|probe| probe <= sequence) {
            let is_queued = queued > PROBE_QUIET_BYTES;
            self.handed = Some(Handed { at: now, is_queued, received_bytes });
        }
    }

    pub fn on_acknowledged(&mut self, now: Time, sequence: u64, received_bytes: u64) {
        if self.sequence.is_none_or(|probe| sequence < probe) {
            return;
        }
        self.sequence = None;
        let Some(handed) = self.handed.take() else { return };
        let took = now.saturating_sub(handed.at);
        if handed.is_quiet(received_bytes) || took < SLOW_ROUND_TRIP_MIN_US {
            self.samples.push_back((now, took));
            if self.samples.len() > ROUND_TRIPS_KEPT {
                self.samples.pop_front();
            }
        }
    }

    /// The link is new: messages under way may be lost.
    pub fn on_link_up(&mut self) {
        (self.sequence, self.handed) = (None, None);
    }

    /// The one in the middle of those that have ended since; or, if none has, how long the one takes that is under way. None: nothing
    /// is known.
    pub fn typical(&self, now: Time, since: Time, received_bytes: u64) -> Option<Time> {
        let recent = self.samples.iter().filter(|(ended, _)| *ended >= since);
        let mut recent: Vec<Time> = recent.map(|(_, took)| *took).collect();
        recent.sort_unstable();
        let under_way = self.handed.as_ref().filter(|handed| handed.is_quiet(received_bytes));
        let waits = || under_way.map(|handed| now.saturating_sub(handed.at));
        recent.get(recent.len() / 2).copied().or_else(waits)
    }
}

impl Handed {
    fn is_quiet(&self, received_bytes: u64) -> bool {
        let came = received_bytes - self.received_bytes;
        !self.is_queued && came <= PROBE_QUIET_BYTES as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: u64 = PROBE_QUIET_BYTES as u64 + 1;

    /// A probe counts from when the host has it; where much goes either way it tells of the queue, and counts only if that was short.
    #[test]
    fn probes_that_wait_behind_others_do_not_count() {
        const LONG: Time = SLOW_ROUND_TRIP_MIN_US;
        for (queued, received, took, expected) in [
            (10, 10, LONG, Some(LONG)),
            (PROBE_QUIET_BYTES + 1, 10, LONG, None),
            (10, MANY, LONG, None),
            (PROBE_QUIET_BYTES + 1, MANY, LONG - 1, Some(LONG - 1)),
        ] {
            let mut own = RoundTrips::default();
            assert!(own.is_due(1_000, 1_000));
            own.on_queued(1_000, 7);
            assert!(!own.is_due(9_000, 1_000), "one at a time");
            assert_eq!(own.typical(1_050, 0, 0), None);
            own.on_handed(1_100, 6, 0, 5);
            own.on_handed(1_200, 8, queued, 5);
            own.on_acknowledged(1_300, 6, 5 + received);
            own.on_acknowledged(1_200 + took, 9, 5 + received);
            assert_eq!(own.typical(1_300 + took, 0, 5 + received), expected);
            assert!(own.is_due(2_000, 1_000));
        }
    }

    /// The one in the middle of those that ended lately; one that is not back counts when there are none.
    #[test]
    fn the_one_in_the_middle() {
        let mut own = RoundTrips::default();
        let mut now = 0;
        for took in [10, 5_000, 20, 30, 40] {
            own.on_queued(now, now);
            own.on_handed(now, now, 0, 0);
            own.on_acknowledged(now + took, now, 0);
            now += 10_000;
        }
        assert_eq!(own.typical(now, 0, 0), Some(30));
        assert_eq!(own.typical(now, 30_000, 0), Some(40));
        own.on_queued(now, now);
        own.on_handed(now, now, 0, 0);
        assert_eq!(own.typical(now + 70_000, 30_000, 0), Some(40));
        assert_eq!(own.typical(now + 70_000, now, 0), Some(70_000));
        own.on_link_up();
        assert_eq!(own.typical(now + 70_000, now, 0), None);
        for _ in 0..100 {
            own.on_queued(now, now);
            own.on_handed(now, now, 0, 0);
            own.on_acknowledged(now, now, 0);
        }
        assert_eq!(own.samples.len(), ROUND_TRIPS_KEPT);
    }
}
