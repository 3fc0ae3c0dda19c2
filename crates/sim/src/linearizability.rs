//! Is a history of one register linearizable? The search of Wing and Gong with Lowe's memory of what was tried
//! ("Testing for linearizability", 2017): take the calls that no unlinearized return precedes, try each as the next to take
//! effect, and never look twice at the same set of operations done with the same value.
//!
//! Exponential in the number of operations under way at a time, which is the number of sessions; linear in the length of
//! an ordinary history. A set of operations is remembered as the exclusive or of 128 random bits for each of them: that two of the
//! fifty million sets that are looked at most are taken for one has a chance of one in 10^23.

use std::collections::BTreeSet;

use crate::random::Random;

/// An operation on the register, and its answer. None is an absent row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Read {
        seen: Option<i64>,
    },
    Put {
        new: i64,
    },
    /// Refused when the row is there.
    Insert {
        new: i64,
        done: bool,
    },
    /// Changes a row that is there; `expected` is a condition on its value.
    Update {
        expected: Option<i64>,
        new: i64,
        matched: bool,
    },
    Delete {
        existed: bool,
    },
    /// Read under a lock and then written, in one transaction.
    Exchange {
        seen: Option<i64>,
        new: i64,
    },
}

/// An operation with the numbers of the events at which it was called and answered. Without an answer it may have
/// happened at any time since, or never; its answer fields mean nothing.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub called: u64,
    pub returned: Option<u64>,
    pub operation: Operation,
}

/// The register after the operation, if that could be answered so.
fn apply(value: Option<i64>, call: &Call) -> Option<Option<i64>> {
    if call.returned.is_none() {
        return Some(apply_unanswered(value, call.operation));
    }
    match call.operation {
        Operation::Read { seen } => (seen == value).then_some(value),
        Operation::Put { new } => Some(Some(new)),
        Operation::Insert { new, done: true } => value.is_none().then_some(Some(new)),
        Operation::Insert { done: false, .. } => value.is_some().then_some(value),
        Operation::Update { expected, new, matched } => {
            let would_match = value.is_some() && (expected.is_none() || expected == value);
            let after = if matched { Some(new) } else { value };
            (would_match == matched).then_some(after)
        }
        Operation::Delete { existed } => (value.is_some() == existed).then_some(None),
        Operation::Exchange { seen, new } => (seen == value).then_some(Some(new)),
    }
}

fn apply_unanswered(value: Option<i64>, operation: Operation) -> Option<i64> {
    match operation {
        Operation::Read { .. } => value,
        Operation::Put { new } => Some(new),
        Operation::Insert { new, .. } => value.or(Some(new)),
        Operation::Update { expected, new, .. } => {
            let matches = value.is_some() && (expected.is_none() || expected == value);
            if matches { Some(new) } else { value }
        }
        Operation::Delete { .. } => None,
        // What it saw is not known; only an operation that saw this value would be here.
        Operation::Exchange { new, .. } => Some(new),
    }
}

/// A place in the list of calls and returns that are not linearized yet.
#[derive(Clone, Copy)]
struct Entry {
    call: usize,
    /// The place of a call's return; none for a return.
    returns_at: Option<usize>,
    before: usize,
    after: usize,
}

/// Calls and returns in order, doubly linked; entry 0 is the head, the last one the tail.
struct List {
    entries: Vec<Entry>,
}

impl List {
    fn new(calls: &[Call]) -> List {
        let mut events: Vec<(u64, usize, bool)> = Vec::with_capacity(calls.len() * 2);
        for (index, call) in calls.iter().enumerate() {
            events.push((call.called, index, true));
            // An operation that was never answered may take effect at the very end, where no read sees it.
            events.push((call.returned.unwrap_or(u64::MAX), index, false));
        }
        events.sort_by_key(|(at, index, is_call)| (*at, !*is_call, *index));
        let mut entries = vec![Entry { call: 0, returns_at: None, before: 0, after: 1 }];
        let mut called_at = vec![0; calls.len()];
        for (place, (_, call, is_call)) in (1..).zip(events) {
            entries.push(Entry { call, returns_at: None, before: place - 1, after: place + 1 });
            if is_call {
                called_at[call] = place;
            } else {
                entries[called_at[call]].returns_at = Some(place);
            }
        }
        let tail = entries.len();
        entries.push(Entry { call: 0, returns_at: None, before: tail - 1, after: tail });
        List { entries }
    }

    fn first(&self) -> usize {
        self.entries[0].after
    }
    fn is_empty(&self) -> bool {
        self.first() == self.entries.len() - 1
    }
    fn unlink(&mut self, place: usize) {
        let Entry { before, after, .. } = self.entries[place];
        self.entries[before].after = after;
        self.entries[after].before = before;
    }
    /// Links the call again that was unlinked last.
    fn link(&mut self, place: usize) {
        let Entry { before, after, .. } = self.entries[place];
        self.entries[before].after = place;
        self.entries[after].before = place;
    }
}

/// Places looked at before a search is given up: a history of 5,000 calls with 16 under way at a time takes about a
/// hundredth of that.
const STEPS_MAX: u64 = 50_000_000;

/// Says which call cannot be explained, if one cannot. `initial` is the register before the history.
pub fn check(initial: Option<i64>, calls: &[Call]) -> Result<(), String> {
    // A read without an answer proves nothing.
    let tells =
        |call: &&Call| call.returned.is_some() || !matches!(call.operation, Operation::Read { .. });
    let calls: Vec<Call> = calls.iter().filter(tells).copied().collect();
    for call in &calls {
        assert!(call.returned.is_none_or(|returned| call.called < returned));
    }
    let mut list = List::new(&calls);
    let mut steps = 0;
    let mut value = initial;
    let bits: Vec<u128> = (0..calls.len() as u64).map(bits_of).collect();
    let mut done = 0u128;
    let mut tried: BTreeSet<(u128, Option<i64>)> = BTreeSet::new();
    let mut taken: Vec<(usize, Option<i64>)> = Vec::new();
    let mut deepest: (usize, usize) = (0, 0);
    let mut place = list.first();
    while !list.is_empty() {
        steps += 1;
        if steps > STEPS_MAX {
            return Err(format!("no explanation of {} operations found in time", calls.len()));
        }
        let entry = list.entries[place];
        if let Some(returns_at) = entry.returns_at {
            let after = apply(value, &calls[entry.call]);
            if let Some(after) = after {
                done ^= bits[entry.call];
                if tried.insert((done, after)) {
                    taken.push((place, value));
                    value = after;
                    list.unlink(returns_at);
                    list.unlink(place);
                    place = list.first();
                    continue;
                }
                done ^= bits[entry.call];
            }
            place = entry.after;
        } else {
            // A return whose call took no effect yet: something before it must have been taken wrongly.
            if taken.len() >= deepest.0 {
                deepest = (taken.len(), entry.call);
            }
            let Some((last, before)) = taken.pop() else {
                return Err(format!(
                    "{} of {} operations can be explained; then not {:?}",
                    deepest.0,
                    calls.len(),
                    calls[deepest.1]
                ));
            };
            let undone = list.entries[last];
            done ^= bits[undone.call];
            value = before;
            list.link(last);
            list.link(undone.returns_at.expect("calls were taken"));
            // Its return is in its place again: whoever comes behind that must not go first.
            place = list.entries[last].after;
        }
    }
    Ok(())
}

fn bits_of(call: u64) -> u128 {
    let mut random = Random::new(call);
    u128::from(random.draw()) << 64 | u128::from(random.draw())
}

#[cfg(test)]
mod tests {
    use super::Operation::{Delete, Exchange, Insert, Put, Read, Update};
    use super::*;

    /// (called, returned (0: never), operation).
    fn verdict(history: &[(u64, u64, Operation)]) -> bool {
        let calls: Vec<Call> = history
            .iter()
            .map(|(called, returned, operation)| Call {
                called: *called,
                returned: (*returned != 0).then_some(*returned),
                operation: *operation,
            })
            .collect();
        check(Some(0), &calls).is_ok()
    }

    /// Known histories with known verdicts; the comment of each bad one says why it is.
    #[test]
    fn known_histories() {
        let seen = |value: i64| Read { seen: Some(value) };
        let good: &[&[(u64, u64, Operation)]] = &[
            &[],
            &[(1, 2, seen(0)), (3, 4, Put { new: 1 }), (5, 6, seen(1))],
            // Concurrent with the write, readers may see either, the later one the new value.
            &[(1, 10, Put { new: 1 }), (2, 3, seen(0)), (4, 5, seen(1)), (6, 7, seen(1))],
            // Two writes under way: either order.
            &[(1, 10, Put { new: 1 }), (2, 9, Put { new: 2 }), (11, 12, seen(1))],
            &[(1, 10, Put { new: 1 }), (2, 9, Put { new: 2 }), (11, 12, seen(2))],
            &[
                (1, 2, Delete { existed: true }),
                (3, 4, Read { seen: None }),
                (5, 6, Insert { new: 4, done: true }),
                (7, 8, Insert { new: 5, done: false }),
                (9, 10, Update { expected: Some(9), new: 5, matched: false }),
                (11, 12, Update { expected: Some(4), new: 6, matched: true }),
                (13, 14, Exchange { seen: Some(6), new: 7 }),
                (15, 16, seen(7)),
            ],
            // Never answered: seen later, or never.
            &[(1, 0, Put { new: 1 }), (2, 3, seen(0)), (4, 5, seen(1))],
            &[(1, 0, Put { new: 1 }), (2, 3, seen(0)), (4, 5, seen(0))],
        ];
        for history in good {
            assert!(verdict(history), "{history:?}");
        }
        let bad: &[&[(u64, u64, Operation)]] = &[
            // A stale read: the write was acknowledged before.
            &[(1, 2, Put { new: 1 }), (3, 4, seen(0))],
            // Seen, then not seen any more.
            &[(1, 10, Put { new: 1 }), (2, 3, seen(1)), (4, 5, seen(0))],
            // Seen before anybody wrote it.
            &[(1, 2, seen(1)), (3, 4, Put { new: 1 })],
            // Two readers disagree on the order of two writes.
            &[
                (1, 20, Put { new: 1 }),
                (2, 19, Put { new: 2 }),
                (3, 4, seen(1)),
                (5, 6, seen(2)),
                (7, 8, seen(1)),
            ],
            // A lost update: both exchanged the same value.
            &[
                (1, 10, Exchange { seen: Some(0), new: 1 }),
                (2, 9, Exchange { seen: Some(0), new: 2 }),
            ],
            // Two inserts of one row.
            &[
                (1, 2, Delete { existed: true }),
                (3, 10, Insert { new: 1, done: true }),
                (4, 9, Insert { new: 2, done: true }),
            ],
            // Never answered, seen, and gone again.
            &[(1, 0, Put { new: 1 }), (2, 3, seen(1)), (4, 5, seen(0))],
            &[(1, 2, Delete { existed: false })],
            &[(1, 2, Update { expected: None, new: 1, matched: false })],
        ];
        for history in bad {
            assert!(!verdict(history), "{history:?}");
        }
    }

    /// Whether some order of the answered calls and of any of the others explains the history: every order is tried.
    fn explained(value: Option<i64>, calls: &[Call]) -> bool {
        if calls.iter().all(|call| call.returned.is_none()) {
            return true;
        }
        (0..calls.len()).any(|next| {
            let first_return = calls.iter().filter_map(|call| call.returned).min();
            let rest = || [&calls[..next], &calls[next + 1..]].concat();
            first_return.is_none_or(|returned| calls[next].called < returned)
                && apply(value, &calls[next]).is_some_and(|after| explained(after, &rest()))
        })
    }

    /// Short histories of operations and answers at random, most of them impossible, get the verdict of trying every
    /// order.
    #[test]
    fn agrees_with_every_order() {
        let mut random = crate::random::Random::new(11);
        let (mut good, mut bad) = (0, 0);
        for round in 0..20_000 {
            let count = 1 + random.below(6);
            // Every event has a time of its own.
            let mut times: Vec<u64> = (1..=2 * count).collect();
            for place in (1..times.len()).rev() {
                times.swap(place, random.index(place + 1));
            }
            let value = |random: &mut crate::random::Random| match random.below(4) {
                0 => None,
                value => Some(value as i64 - 1),
            };
            let calls: Vec<Call> = times
                .chunks(2)
                .map(|pair| {
                    let new = random.below(3) as i64;
                    let yes = random.below(2) == 0;
                    let operation = match random.below(8) {
                        0..3 => Read { seen: value(&mut random) },
                        3 => Put { new },
                        4 => Insert { new, done: yes },
                        5 => Update { expected: value(&mut random), new, matched: yes },
                        6 => Delete { existed: yes },
                        _ => Exchange { seen: value(&mut random), new },
                    };
                    let answered = random.below(6) > 0;
                    Call {
                        called: pair[0].min(pair[1]),
                        returned: answered.then_some(pair[0].max(pair[1])),
                        operation,
                    }
                })
                .collect();
            let expected = explained(Some(0), &calls);
            assert_eq!(check(Some(0), &calls).is_ok(), expected, "round {round}: {calls:?}");
            if expected { good += 1 } else { bad += 1 }
        }
        assert!(good > 2_000 && bad > 2_000, "{good} explained, {bad} not");
    }

    /// Histories made by a real register, with calls widened at random, are all accepted; with one read changed to a
    /// value that was overwritten long before, they are not.
    #[test]
    fn made_histories() {
        let mut random = crate::random::Random::new(5);
        for round in 0..200 {
            let mut value = Some(0);
            let mut calls = Vec::new();
            for step in 1..=120u64 {
                let at = step * 100;
                let new = step as i64;
                let operation = match random.below(5) {
                    0 => Put { new },
                    1 => Update { expected: None, new, matched: value.is_some() },
                    2 => Delete { existed: value.is_some() },
                    _ => Read { seen: value },
                };
                let call = Call {
                    called: at - random.below(400).min(at - 1),
                    returned: Some(at + 1 + random.below(400)),
                    operation,
                };
                value = apply(value, &call).expect("made to be possible");
                calls.push(call);
            }
            assert_eq!(check(Some(0), &calls), Ok(()), "round {round}");
            let read = calls.iter().rposition(|c| matches!(c.operation, Read { .. }));
            let read = read.expect("most operations are reads");
            calls[read].operation = Read { seen: Some(-1) };
            assert!(check(Some(0), &calls).is_err(), "round {round}");
        }
    }
}
