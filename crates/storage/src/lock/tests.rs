//! Row locks: the rules one by one, and random requests against a model that is written without any table.

use std::collections::{BTreeMap, BTreeSet};

use types::{Address, Incarnation, LockName, NodeId, WorkerId};

use super::*;
use crate::random::Random;

const T: TableId = TableId(1);
use LockMode::{Exclusive, Shared};

fn owner(sequence: u64) -> TransactionId {
    let coordinator = Address { node: NodeId(1), worker: WorkerId(2) };
    TransactionId { coordinator, incarnation: Incarnation(3), sequence }
}

fn taken(key: &[u8], statement: u32) -> TakenLock {
    TakenLock { table: T, key: key.to_vec(), statement }
}

/// An undone statement gives up the locks that it took itself, also one that it had to wait for: not those that its
/// transaction had before, and not those of another owner.
#[test]
fn locks_of_a_statement_are_released() {
    let mut locks = LockTable::new();
    for (statement, key) in [(1, b"a"), (2, b"b"), (2, b"c"), (3, b"d")] {
        let acquired = locks.acquire_in(statement, T, key, Shared, owner(1), 0);
        assert_eq!(acquired, Acquired::Granted);
    }
    // It was taken before: a stronger mode does not change that.
    assert_eq!(locks.acquire_in(2, T, b"a", Exclusive, owner(1), 0), Acquired::Granted);
    assert_eq!(locks.acquire_in(1, T, b"b", Exclusive, owner(2), 5), Acquired::Waiting);
    assert_eq!(locks.acquire_in(7, T, b"a", Exclusive, owner(2), 6), Acquired::Waiting);
    let undone = [taken(b"d", 2), taken(b"c", 2), taken(b"b", 2), taken(b"a", 2), taken(b"z", 2)];
    assert_eq!(locks.release_taken(owner(2), &undone), vec![]);
    assert_eq!(locks.release_taken(owner(1), &undone), vec![5]);
    assert_eq!(locks.holds(T, b"a", owner(1)), Some(Exclusive));
    assert_eq!(locks.holds(T, b"c", owner(1)), None);
    assert_eq!(locks.held_by(owner(1)), 2);
    assert_eq!(locks.release_taken(owner(1), &[taken(b"d", 3), taken(b"a", 1)]), vec![6]);
    assert_eq!(locks.held_by(owner(1)), 0);
    let undone = [taken(b"a", 7), taken(b"b", 1)];
    assert_eq!(locks.release_taken(owner(2), &undone), vec![]);
    assert_eq!((locks.lock_count(), locks.by_key.len(), locks.by_owner.len()), (0, 0, 0));
}

/// Readers share, a writer excludes; those who wait are served in order, readers together.
#[test]
fn waiters_are_served_in_order() {
    let mut locks = LockTable::new();
    assert_eq!(locks.acquire(T, b"a", Shared, owner(1), 1), Acquired::Granted);
    assert_eq!(locks.acquire(T, b"a", Shared, owner(2), 2), Acquired::Granted);
    assert_eq!(locks.acquire(T, b"a", Exclusive, owner(3), 3), Acquired::Waiting);
    // A reader does not pass the writer that waits.
    assert_eq!(locks.acquire(T, b"a", Shared, owner(4), 4), Acquired::Waiting);
    assert_eq!(locks.acquire(T, b"a", Shared, owner(5), 5), Acquired::Waiting);
    assert_eq!(locks.acquire(T, b"b", Exclusive, owner(3), 6), Acquired::Granted);
    assert_eq!(locks.acquire(TableId(2), b"a", Exclusive, owner(3), 7), Acquired::Granted);
    assert_eq!(locks.holders_blocking(3), vec![owner(1), owner(2)]);
    assert_eq!(locks.holders_blocking(4), vec![owner(3)]);
    let wait = Wait { token: 3, owner: owner(3), table: T };
    assert_eq!(locks.waits().next(), Some(wait));
    assert_eq!(locks.release_all(owner(1)), vec![]);
    assert_eq!(locks.release_all(owner(2)), vec![3]);
    assert_eq!(locks.holds(T, b"a", owner(3)), Some(Exclusive));
    assert_eq!(locks.held_by(owner(3)), 3);
    assert_eq!(locks.release_all(owner(3)), vec![4, 5]);
    assert_eq!(locks.lock_count(), 2);
    assert_eq!(locks.release_taken(owner(4), &[taken(b"a", KEPT_TO_THE_END)]), vec![]);
    assert_eq!(locks.release_taken(owner(4), &[taken(b"a", KEPT_TO_THE_END)]), vec![]);
    assert_eq!(locks.release_all(owner(5)), vec![]);
    assert_eq!((locks.lock_count(), locks.waiter_count(), locks.by_key.len()), (0, 0, 0));
}

/// An upgrade is granted at once to the sole reader, and goes ahead of all waiters otherwise; two upgrades of one row are
/// a deadlock that the caller can see, and that the victim's end resolves.
#[test]
fn upgrades_go_first() {
    let mut locks = LockTable::new();
    locks.acquire(T, b"a", Shared, owner(1), 1);
    assert_eq!(locks.acquire(T, b"a", Exclusive, owner(2), 2), Acquired::Waiting);
    assert_eq!(locks.acquire(T, b"a", Exclusive, owner(1), 3), Acquired::Granted);
    assert_eq!(locks.acquire(T, b"a", Shared, owner(1), 4), Acquired::Granted);
    assert_eq!(locks.holds(T, b"a", owner(1)), Some(Exclusive));
    assert_eq!(locks.cancel(2), vec![]);
    locks.release_all(owner(1));

    for reader in [1, 2, 3] {
        assert_eq!(locks.acquire(T, b"a", Shared, owner(reader), 10 + reader), Acquired::Granted);
    }
    assert_eq!(locks.acquire(T, b"a", Exclusive, owner(4), 20), Acquired::Waiting);
    assert_eq!(locks.acquire(T, b"a", Exclusive, owner(2), 21), Acquired::Waiting);
    assert_eq!(locks.acquire(T, b"a", Exclusive, owner(1), 22), Acquired::Waiting);
    assert_eq!(locks.holders_blocking(21), vec![owner(1), owner(3)]);
    assert_eq!(locks.holders_blocking(22), vec![owner(2), owner(3)]);
    assert_eq!(locks.holders_blocking(20), vec![owner(1), owner(2), owner(3)]);
    assert_eq!(locks.release_all(owner(3)), vec![]);
    assert_eq!(locks.release_all(owner(1)), vec![21]);
    assert_eq!(locks.waiter_count(), 1);
    assert_eq!(locks.release_all(owner(2)), vec![20]);
}

/// Who stands behind an owner: behind the rows that it alone holds, in their order; nobody while there are ranges.
#[test]
fn waits_behind_an_owner() {
    let mut locks = LockTable::new();
    for (key, mode) in [(b"a", Exclusive), (b"b", Shared), (b"c", Exclusive), (b"d", Exclusive)] {
        locks.acquire(T, key, mode, owner(1), 0);
    }
    for (token, key) in [(2, b"d"), (3, b"a"), (4, b"b"), (5, b"a"), (6, b"a")] {
        assert_eq!(locks.acquire(T, key, Exclusive, owner(token), token), Acquired::Waiting);
    }
    assert_eq!(locks.waiting_behind(owner(1), 9), vec![vec![3, 5, 6], vec![2]]);
    assert_eq!(locks.waiting_behind(owner(1), 4), vec![vec![3, 5, 6], vec![2]]);
    assert!(locks.waiting_behind(owner(1), 3).is_empty());
    assert!(locks.waiting_behind(owner(2), 9).is_empty());
    let all = KeyRange { lower: std::ops::Bound::Unbounded, upper: std::ops::Bound::Unbounded };
    assert_eq!(locks.acquire_range(T, IndexId(0), &all, owner(7), 7), Acquired::Granted);
    assert!(locks.waiting_behind(owner(1), 9).is_empty());
}

/// A wait that is given up lets pass those that queued behind it only.
#[test]
fn cancelled_waits_let_others_pass() {
    let mut locks = LockTable::new();
    locks.acquire(T, b"a", Shared, owner(1), 1);
    locks.acquire(T, b"a", Exclusive, owner(2), 2);
    locks.acquire(T, b"a", Shared, owner(3), 3);
    assert_eq!(locks.cancel(2), vec![3]);
    assert_eq!(locks.cancel(2), vec![]);
    assert_eq!(locks.holders_blocking(2), vec![]);
}

/// The few edges lead to everybody the many name, and to nobody else that a wait cannot reach.
#[test]
fn next_blocking_reaches_all() {
    let mut state = 7u64;
    let mut random = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut compared = 0;
    for _ in 0..300 {
        let mut locks = LockTable::new();
        for token in 1..60 {
            let mode = if random(2) == 0 { Shared } else { Exclusive };
            let key = [random(3) as u8];
            locks.acquire(T, &key, mode, owner(random(12)), token);
        }
        let waits: Vec<Wait> = locks.waits().collect();
        let reach = |edges: fn(&LockTable, u64) -> Vec<TransactionId>, token: u64| {
            let mut reached: Vec<TransactionId> = edges(&locks, token);
            let mut place = 0;
            while place < reached.len() {
                let next = reached[place];
                for wait in waits.iter().filter(|wait| wait.owner == next) {
                    reached.extend(edges(&locks, wait.token));
                }
                place += 1;
                let mut seen = Vec::new();
                reached.retain(|one| {
                    !seen.contains(one) && {
                        seen.push(*one);
                        true
                    }
                });
            }
            reached.sort_unstable();
            reached
        };
        for wait in &waits {
            let few = reach(LockTable::next_blocking, wait.token);
            assert_eq!(few, reach(LockTable::holders_blocking, wait.token));
            compared += 1;
        }
    }
    assert!(compared > 5_000, "{compared}");
}

/// Token, owner and mode.
type ModelWaiter = (u64, u64, LockMode);
type ModelLock = (Vec<(u64, LockMode)>, Vec<ModelWaiter>);

/// The lock as a list of holders and a list of waiters, all of it searched.
#[derive(Default)]
struct Model {
    rows: BTreeMap<u8, ModelLock>,
}

impl Model {
    fn acquire(&mut self, row: u8, mode: LockMode, owner: u64, token: u64) -> Acquired {
        let (holders, queue) = self.rows.entry(row).or_default();
        let held = holders.iter().find(|holder| holder.0 == owner).map(|holder| holder.1);
        if held == Some(Exclusive) || held == Some(mode) {
            return Acquired::Granted;
        }
        let free =
            holders.iter().all(|&(other, held)| other == owner || (held, mode) == (Shared, Shared));
        if free && (held.is_some() || queue.is_empty()) {
            holders.retain(|holder| holder.0 != owner);
            holders.push((owner, mode));
            return Acquired::Granted;
        }
        let is_holder = |waiter: &&ModelWaiter| holders.iter().any(|holder| holder.0 == waiter.1);
        let upgrades = queue.iter().take_while(is_holder).count();
        let place = if held.is_some() { upgrades } else { queue.len() };
        queue.insert(place, (token, owner, mode));
        Acquired::Waiting
    }
    /// Serves a row's queue; the tokens granted.
    fn serve(&mut self, row: u8) -> Vec<u64> {
        let (holders, queue) = self.rows.entry(row).or_default();
        let mut granted = Vec::new();
        while let Some(&(token, owner, mode)) = queue.first() {
            let free = holders
                .iter()
                .all(|&(other, held)| other == owner || (held, mode) == (Shared, Shared));
            if !free {
                break;
            }
            queue.remove(0);
            let held = holders.iter().find(|holder| holder.0 == owner).map(|holder| holder.1);
            holders.retain(|holder| holder.0 != owner);
            holders.push((owner, mode.max(held.unwrap_or(Shared))));
            granted.push(token);
            // Its owner's other requests: granted too, or upgrades.
            let own: Vec<_> = queue.extract_if(.., |waiter| waiter.1 == owner).collect();
            for waiter in own {
                if waiter.2 <= mode {
                    granted.push(waiter.0);
                } else {
                    let is_holder =
                        |waiter: &&ModelWaiter| holders.iter().any(|holder| holder.0 == waiter.1);
                    let place = queue.iter().take_while(is_holder).count();
                    queue.insert(place, waiter);
                }
            }
        }
        granted
    }
}

/// Random requests, releases and cancellations: the same grants as the model's, the same blockers, and nothing is kept
/// when everybody is gone.
#[test]
fn locks_against_a_model() {
    for seed in 0..30 {
        let mut random = Random(seed);
        let mut locks = LockTable::new();
        let mut model = Model::default();
        let (row_count, owner_count) = [(2, 4), (5, 8), (20, 5)][seed as usize % 3];
        for token in 0..5000u64 {
            let (row, number) = (random.below(row_count) as u8, random.below(owner_count));
            match random.below(10) {
                0..=5 => {
                    let mode = if random.chance(40) { Exclusive } else { Shared };
                    let expected = model.acquire(row, mode, number, token);
                    let is_blocked = !locks.blocking(T, &[row], mode, owner(number)).is_empty();
                    assert_eq!(is_blocked, expected == Acquired::Waiting);
                    assert_eq!(locks.acquire(T, &[row], mode, owner(number), token), expected);
                }
                6 => {
                    let taken = [taken(&[row], KEPT_TO_THE_END)];
                    let granted = locks.release_taken(owner(number), &taken);
                    let (holders, _) = model.rows.entry(row).or_default();
                    let held = holders.len();
                    holders.retain(|holder| holder.0 != number);
                    let expected = if holders.len() < held { model.serve(row) } else { vec![] };
                    assert_eq!(granted, expected);
                }
                7 => {
                    let waits: Vec<Wait> = locks.waits().collect();
                    let Some(wait) = waits.get(random.below(waits.len().max(1) as u64) as usize)
                    else {
                        continue;
                    };
                    let (&row, (_, queue)) = model
                        .rows
                        .iter_mut()
                        .find(|(_, (_, queue))| queue.iter().any(|waiter| waiter.0 == wait.token))
                        .expect("the model has the wait");
                    queue.retain(|waiter| waiter.0 != wait.token);
                    let expected = model.serve(row);
                    assert_eq!(locks.cancel(wait.token), expected);
                }
                8 if random.chance(40) => {
                    let mut granted = BTreeSet::new();
                    // All at once, or some at a time.
                    let count = if random.chance(50) { usize::MAX } else { 2 };
                    loop {
                        let (some, is_all) = locks.release_some(owner(number), count);
                        granted.extend(some);
                        if is_all {
                            break;
                        }
                    }
                    let rows: Vec<u8> = model.rows.keys().copied().collect();
                    let mut expected = BTreeSet::new();
                    for row in rows {
                        let (holders, queue) = model.rows.get_mut(&row).expect("listed");
                        holders.retain(|holder| holder.0 != number);
                        queue.retain(|waiter| waiter.1 != number);
                        expected.extend(model.serve(row));
                    }
                    assert_eq!(granted, expected);
                }
                _ => {
                    let held = model.rows.get(&row).and_then(|(holders, _)| {
                        holders.iter().find(|holder| holder.0 == number).map(|holder| holder.1)
                    });
                    assert_eq!(locks.holds(T, &[row], owner(number)), held);
                }
            }
            check(&locks, &model);
        }
        for number in 0..owner_count {
            locks.release_all(owner(number));
        }
        assert_eq!((locks.lock_count(), locks.waiter_count()), (0, 0));
        assert_eq!((locks.by_key.len(), locks.by_owner.len()), (0, 0));
    }
}

/// Every lock as (owner, name, waits), gathered a few places at a time.
fn viewed(locks: &LockTable, at_once: usize) -> Vec<(TransactionId, LockName, bool)> {
    let mut seen = Vec::new();
    let mut from = Some(0);
    while let Some(position) = from {
        let enough = seen.len() + at_once;
        from = locks.visit(position, at_once, &mut |view| {
            seen.push((view.owner, view.name, view.token.is_some()));
            seen.len() < enough
        });
    }
    seen
}

/// What is looked at piece by piece is all there is, each once, and whoever waits is told for which locks.
#[test]
fn views_show_every_lock() {
    let mut locks = LockTable::new();
    locks.acquire(T, b"a", Shared, owner(1), 1);
    locks.acquire(T, b"b", Exclusive, owner(1), 2);
    locks.acquire(T, b"a", Shared, owner(2), 3);
    locks.acquire(T, b"a", Exclusive, owner(3), 4);
    locks.acquire(T, b"a", Shared, owner(4), 5);
    let range = KeyRange::prefix(b"k");
    locks.acquire_range(T, IndexId(1), &range, owner(1), 6);
    locks.acquire_range(T, IndexId(1), &range, owner(2), 7);
    let entries = vec![(IndexId(0), b"z".to_vec()), (IndexId(1), b"kk".to_vec())];
    assert_eq!(locks.admit_entries(T, entries, owner(1), 8), Acquired::Waiting);
    let expected = [
        (owner(1), LockName::Row(0), false),
        (owner(2), LockName::Row(0), false),
        (owner(3), LockName::Wait(4), true),
        (owner(4), LockName::Wait(5), true),
        (owner(1), LockName::Row(1), false),
        (owner(1), LockName::Range(1), false),
        (owner(2), LockName::Range(2), false),
        (owner(1), LockName::Wait(8), true),
    ];
    for at_once in 1..10 {
        assert_eq!(viewed(&locks, at_once), expected, "{at_once} at once");
    }
    assert_eq!(locks.view_count(), expected.len());
    let rival = |number, index, name| Rival { owner: owner(number), index: IndexId(index), name };
    assert_eq!(locks.rivals(4, 9), [1, 2].map(|number| rival(number, 0, LockName::Row(0))));
    assert_eq!(locks.rivals(5, 9), [rival(3, 0, LockName::Wait(4))]);
    assert_eq!(locks.rivals(4, 1).len(), 1);
    assert_eq!(locks.rivals(8, 9), [rival(2, 1, LockName::Range(2))]);
    assert_eq!(locks.rivals(99, 9), []);
    let wait = locks.view_of(8).expect("it waits");
    assert!(matches!(wait.locked, Locked::Entry(IndexId(1), b"kk")), "{wait:?}");
    assert!(matches!(locks.view_of(5).map(|view| view.locked), Some(Locked::Row(Shared, b"a"))));
    // A place that is free again is passed over.
    locks.release_all(owner(1));
    assert_eq!(viewed(&locks, 2).len(), locks.view_count());
}

fn check(locks: &LockTable, model: &Model) {
    let holders: usize = model.rows.values().map(|(holders, _)| holders.len()).sum();
    assert_eq!(locks.lock_count(), holders);
    assert_eq!(viewed(locks, 3).len(), locks.view_count());
    let mut waits: Vec<u64> =
        model.rows.values().flat_map(|(_, queue)| queue.iter().map(|waiter| waiter.0)).collect();
    waits.sort_unstable();
    assert_eq!(locks.waits().map(|wait| wait.token).collect::<Vec<_>>(), waits);
    for (holders, queue) in model.rows.values() {
        for (place, &(token, number, _)) in queue.iter().enumerate() {
            let own = queue[..=place].iter().filter(|waiter| waiter.1 == number);
            let mode = own.map(|waiter| waiter.2).max().expect("itself");
            let ahead = queue[..place].iter().map(|&(_, other, mode)| (other, mode));
            let blocking: BTreeSet<TransactionId> = holders
                .iter()
                .copied()
                .chain(ahead)
                .filter(|&(other, held)| other != number && (held, mode) != (Shared, Shared))
                .map(|(other, _)| owner(other))
                .collect();
            assert_eq!(locks.holders_blocking(token), blocking.into_iter().collect::<Vec<_>>());
            // A wait always waits for somebody: else it should have been granted.
            assert!(!locks.holders_blocking(token).is_empty());
        }
    }
}
