//! Shall an idle worker sleep at once, or look again for a moment first?
//!
//! A wake-up from sleep costs about 25 us of CPU and 60 us of latency on a virtual machine; looking again costs 1 us a
//! time. So spinning is cheaper and faster when the next event comes soon, and pure waste when it does not. It is also
//! worse than waste when the clients run on the same cores: whoever we keep from running is the one we wait for.
//!
//! The policy, in order:
//! 1. It bets on what happened lately: `credit` grows when a spin ended with an event and shrinks when it did not.
//!    Without credit the worker sleeps at once.
//! 2. Between two looks it yields. A yield that took long means that another thread ran: the cores are needed, so
//!    spinning ends. (A thread that yields is not preferred when its event comes, one that sleeps is.) It costs no credit:
//!    when the event would have come was not seen, and all that was wasted is one look.
//! 3. A worker that sleeps cannot see how short the gaps would have been, because waking up is part of what it measures.
//!    So when the measured gap is short enough to be mostly that, it tries a spin once in [`PROBE_INTERVAL`] sleeps. What
//!    probes cost in vain is at most `SPIN_TIME / PROBE_INTERVAL` = 2 us a sleep.
//!
//! Measured with sysbench: two data nodes and their clients on two cores, medians of seven interleaved runs of two
//! seconds, in 1,000 statements a second (and CPU microseconds of the servers a statement), by what counts as a long
//! yield; the first column never spins:
//!
//! ```text
//!                           never       10 us        3 us        1 us
//!   point selects    1    45 (11.6)   61 (15.9)   65 (14.7)   65 (14.9)
//!                    8   129  (7.6)  103 (12.2)  127  (8.1)  128  (8.1)
//!                   64   107  (8.8)   97  (9.5)  102  (9.5)   91  (9.8)
//!   updates          8    27 (38.6)   29 (43.9)   31 (42.6)   30 (40.7)
//!                   32    32 (32.6)   33 (33.0)   34 (32.2)   37 (30.2)
//! ```
//! So with cores this scarce it helps one client most; the bound must be low, or it takes from many clients what it gives to one.

use kernel::Time;

/// The longest spin: about the cost of a sleep and its wake-up.
pub const SPIN_TIME: Time = 50;
/// A yield that took longer than this gave the core to another thread (an empty one takes below 1 us).
const YIELD_BUSY: Time = 3;
/// Gaps below this are worth a probe: the spin plus a slow wake-up.
const PROBE_GAP_MAX: Time = 200;
const PROBE_INTERVAL: u32 = 24;
const CREDIT_MAX: u32 = 16;
/// Good spins whose credit one spin in vain takes away.
const CREDIT_LOSS: u32 = 3;
const CREDIT_PROBE: u32 = 4;

#[derive(Debug, Default)]
pub struct SpinPolicy {
    credit: u32,
    sleeps_since_probe: u32,
}

/// How a spin ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpinEnd {
    Event,
    /// Nothing came in [`SPIN_TIME`].
    Timeout,
    /// Somebody else needs the core.
    Contended,
}

impl SpinPolicy {
    pub fn wants_spin(&self) -> bool {
        self.credit > 0
    }
    pub fn on_spin_end(&mut self, end: SpinEnd) {
        self.credit = match end {
            SpinEnd::Event => (self.credit + 1).min(CREDIT_MAX),
            SpinEnd::Timeout => self.credit.saturating_sub(CREDIT_LOSS),
            SpinEnd::Contended => self.credit,
        };
    }
    /// A sleep was ended by an event after `gap` microseconds, the wake-up included.
    pub fn on_woken(&mut self, gap: Time) {
        if gap > PROBE_GAP_MAX {
            self.sleeps_since_probe = 0;
            return;
        }
        self.sleeps_since_probe += 1;
        if self.sleeps_since_probe >= PROBE_INTERVAL {
            self.sleeps_since_probe = 0;
            self.credit = self.credit.max(CREDIT_PROBE);
        }
    }
    pub fn is_contended(yield_time: Time) -> bool {
        yield_time > YIELD_BUSY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Short gaps lead to spinning, waiting in vain ends it, others who need the core do not, and long gaps never begin it.
    #[test]
    fn credit_follows_success() {
        let mut policy = SpinPolicy::default();
        assert!(!policy.wants_spin());
        for _ in 0..1_000 {
            policy.on_woken(PROBE_GAP_MAX + 1);
        }
        assert!(!policy.wants_spin());
        for _ in 0..PROBE_INTERVAL {
            assert!(!policy.wants_spin());
            policy.on_woken(60);
        }
        assert!(policy.wants_spin());
        for _ in 0..100 {
            policy.on_spin_end(SpinEnd::Event);
        }
        let mut failures = 0;
        while policy.wants_spin() {
            policy.on_spin_end(SpinEnd::Contended);
            policy.on_spin_end(SpinEnd::Timeout);
            failures += 1;
        }
        assert_eq!(failures, CREDIT_MAX.div_ceil(CREDIT_LOSS));
        assert!(SpinPolicy::is_contended(YIELD_BUSY + 1));
        assert!(!SpinPolicy::is_contended(1));
    }
}
