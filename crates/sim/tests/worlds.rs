//! Whole worlds: every shape of cluster under the faults of its seeds, equal histories of equal seeds, and every broken
//! rule found.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use kernel::Mutation;
use protocol::control::{Durability, HEARTBEAT_MS};
use sim::cli::MUTATIONS;
use sim::options::{Delay, Failure, Faults, MILLISECOND, SECOND, Shape};
use sim::random::Random;
use sim::{Options, Outcome, run};
use types::NodeId;

/// How much a test explores: `short`, or `long` in the long tier (`scripts/test.sh --long` sets SKARV_TEST_LONG).
fn of_tier<T>(short: T, long: T) -> T {
    if std::env::var_os("SKARV_TEST_LONG").is_some() { long } else { short }
}

/// The day of the run, by which the short tier chooses its sample. `scripts/test.sh` sets and prints it; 0 without it.
fn day() -> usize {
    let day = std::env::var("SKARV_TEST_DAY");
    day.map_or(0, |text| text.parse().expect("SKARV_TEST_DAY is a number"))
}

/// The first seeds that stand for this shape.
fn seeds_of(shape: Shape, count: usize, seconds: u64) -> Vec<Options> {
    let options = (0..).map(|seed| Options::of_seed(seed, seconds));
    options.filter(|options| options.shape == shape).take(count).collect()
}

fn expect_success(options: &Options) -> Outcome {
    let outcome = run(options, false);
    if let Some(failure) = &outcome.failure {
        panic!(
            "seed {}: {failure}\n  {options:?}\n  again: cargo run -p sim -- --seed {} --seconds {} --trace",
            options.seed, options.seed, options.seconds
        );
    }
    assert!(0 < outcome.transactions, "seed {}: nothing was done", options.seed);
    outcome
}

fn check_shape(shape: Shape) {
    for options in seeds_of(shape, of_tier(2, 5), 3) {
        expect_success(&options);
    }
}

#[test]
fn single_nodes() {
    check_shape(Shape::Single);
}
#[test]
fn pairs() {
    check_shape(Shape::Pair);
}
#[test]
fn pairs_of_voters() {
    check_shape(Shape::PairOfVoters);
}
#[test]
fn two_groups() {
    check_shape(Shape::TwoGroups);
}
#[test]
fn triples() {
    check_shape(Shape::Triple);
}

/// Shapes whose rows have copies.
const WITH_PARTNERS: [Shape; 4] =
    [Shape::Pair, Shape::PairOfVoters, Shape::TwoGroups, Shape::Triple];

/// Plays some worlds of a shape, in which something befalls nodes; how often that was.
fn play(
    shape: Shape,
    count: usize,
    with: fn(Options) -> Options,
    times: fn(Outcome) -> u64,
) -> u64 {
    let worlds = seeds_of(shape, count, 6).into_iter();
    worlds.map(|options| times(expect_success(&with(options)))).sum()
}

/// Rule R20: no node ever has more rows than it has memory, whichever of its group has less, and whoever leads them.
#[test]
fn full_memories() {
    for shape in [Shape::Single, Shape::Pair, Shape::TwoGroups, Shape::Triple] {
        let refused =
            play(shape, of_tier(2, 4), Options::with_little_memory, |outcome| outcome.refusals);
        assert!(0 < refused, "{shape:?}: the memory was never full");
    }
}

/// Each with the loss of a node.
#[test]
fn losses() {
    for shape in WITH_PARTNERS {
        play(shape, of_tier(2, 5), Options::with_crash, |_| 0);
    }
}

/// The same, and they come back, in turns.
#[test]
fn returns() {
    for shape in WITH_PARTNERS {
        let worlds = of_tier(2, 5);
        let returned = play(shape, worlds, Options::with_returns, |o| o.counts.returns);
        assert!(of_tier(0, 5) < returned, "{shape:?}: {returned}");
    }
}

/// The same, and they are stopped as planned: sessions elsewhere are refused nothing for that.
#[test]
fn leaves() {
    let worlds = of_tier(2, 5);
    let left =
        WITH_PARTNERS.map(|shape| play(shape, worlds, Options::with_leaves, |o| o.counts.leaves));
    let left: u64 = left.iter().sum();
    assert!(of_tier(1, 10) < left, "{left}");
}

/// The same, and they freeze and are cut off.
#[test]
fn failures() {
    let worlds = of_tier(2, 6);
    let excluded = WITH_PARTNERS
        .map(|shape| play(shape, worlds, Options::with_failures, |o| o.counts.exclusions));
    let excluded: u64 = excluded.iter().sum();
    assert!(of_tier(0, 5) < excluded, "{excluded}");
}

/// All lose their power at once, again and again.
#[test]
fn power_failures() {
    let shapes = WITH_PARTNERS.into_iter().chain([Shape::Single]);
    let worlds = of_tier(2, 4);
    let failed = shapes.map(|shape| {
        play(shape, worlds, Options::with_power_failures, |o| o.counts.power_failures)
    });
    let failed: u64 = failed.sum();
    assert!(of_tier(5, 20) < failed, "{failed}");
}

/// The same, and disks have no room for a while, or have lost their rows.
#[test]
fn disk_faults() {
    let worlds = of_tier(2, 4);
    let met = WITH_PARTNERS.map(|shape| {
        let met = |outcome: Outcome| outcome.counts.full_disks + outcome.counts.lost_disks;
        play(shape, worlds, Options::with_disk_faults, met)
    });
    let met: u64 = met.iter().sum();
    assert!(of_tier(5, 20) < met, "{met}");
}

/// User-level locks: held by one session at a time, and free when the node of their owner is gone, whatever befalls nodes.
#[test]
fn user_locks() {
    type Change = fn(Options) -> Options;
    let befalls: [Change; 5] = [
        |options| options.with_user_locks(),
        |options| options.with_returns().with_user_locks(),
        |options| options.with_leaves().with_user_locks(),
        |options| options.with_failures().with_user_locks(),
        |options| options.with_power_failures().with_user_locks(),
    ];
    for shape in WITH_PARTNERS {
        for befalls in befalls {
            play(shape, of_tier(1, 5), befalls, |_| 0);
        }
    }
}

/// Which node is lost, and when: one at most, never the only voter, in the middle of the work; every candidate is met.
#[test]
fn crashes_of_seeds() {
    let mut met = std::collections::BTreeSet::new();
    for seed in 0..300 {
        let options = Options::of_seed(seed, 10).with_crash();
        let Some(crash) = &options.crash else {
            assert_eq!(options.shape, Shape::Single, "seed {seed}");
            continue;
        };
        assert!((SECOND..=8 * SECOND).contains(&crash.at), "seed {seed}");
        assert!((200..=50 * MILLISECOND).contains(&crash.told_after), "seed {seed}");
        let nodes = options.cluster_config().nodes;
        let voters_left = nodes.iter().filter(|node| node.voter && node.id != crash.node).count();
        assert!(0 < voters_left, "seed {seed}");
        met.insert((format!("{:?}", options.shape), crash.node));
    }
    // Two data nodes; three voters, two of them with data; four data nodes; three.
    assert_eq!(met.len(), 2 + 3 + 4 + 3, "{met:?}");
}

/// A node dies and comes back, and then another one dies: every candidate, and often the partner, which alone has the writes from
/// while the first was away.
#[test]
fn returns_of_seeds() {
    let mut met = std::collections::BTreeSet::new();
    let (mut partners, mut all, mut untold) = (0, 0, 0);
    for seed in 0..300 {
        let options = Options::of_seed(seed, 10).with_returns();
        let Some(crash) = &options.crash else { continue };
        assert!((SECOND / 2..=4 * SECOND).contains(&crash.at), "seed {seed}");
        let after = crash.restart_after.expect("it comes back");
        assert!((MILLISECOND..=SECOND).contains(&after), "seed {seed}");
        untold += u32::from(crash.told_after > after);
        let mut last = crash.node;
        for (node, ..) in &crash.then {
            assert_ne!(*node, last, "seed {seed}: it is back for a moment");
            partners += u32::from(node.0 ^ 1 == last.0);
            all += 1;
            met.insert((format!("{:?}", options.shape), *node));
            last = *node;
        }
    }
    assert_eq!(met.len(), 2 + 3 + 4 + 3, "{met:?}");
    assert!(all / 2 < partners && 30 < untold, "{partners} of {all}, {untold}");
}

/// Each kind of work, alone, without faults.
#[test]
fn each_kind_of_work() {
    for (seed, kind) in (0..).zip(sim::workload::KINDS) {
        let mut options = Options::of_seed(seed, 2).with_work(&[kind.name], 2);
        options.faults = Faults::NONE;
        expect_success(&options);
    }
}

/// A seed is a history: two runs deliver the same bytes at the same times; another seed does not.
#[test]
fn equal_seeds_are_equal_histories() {
    let mut before = None;
    for seed in 0..of_tier(4, 8) {
        let options = Options::of_seed(seed, 2);
        let (first, second) = (run(&options, false), run(&options, false));
        assert_eq!(first.failure, None, "seed {seed}");
        assert_eq!(first.trace_hash, second.trace_hash, "seed {seed}");
        assert_eq!(first.counts.events, second.counts.events, "seed {seed}");
        assert_ne!(before.replace(first.trace_hash), Some(first.trace_hash));
    }
}

/// Two data nodes that vote and a voter, read by many; one after the other fails like this. The first voter is the first, so that
/// the control plane is led by a data node then.
fn in_turns(seed: u64, failure: impl Fn(NodeId) -> Failure) -> Options {
    let mut options = Options::of_seed(seed, 10).with_work(&["registers"], 3);
    (options.shape, options.workers, options.shards_per_group) = (Shape::PairOfVoters, 1, 2);
    let mut options = options.with_failures();
    options.think_max = 2 * MILLISECOND;
    let crash = options.crash.as_mut().expect("two data nodes");
    (crash.at, crash.restart_after) = (500 * MILLISECOND, Some(10 * MILLISECOND));
    (crash.node, crash.failure) = (NodeId(1), failure(NodeId(1)));
    let mut random = Random::new(seed);
    let next = |node| (node, 50 * MILLISECOND, failure(node));
    crash.then = (0..7).map(|_| next(NodeId(random.between(1, 3) as u16))).collect();
    options
}

/// Two groups; one after the other of one of them dies and comes back.
fn partners_in_turns(seed: u64, kinds: &[&str], faults: Faults) -> Options {
    let mut options = Options::of_seed(seed, 5).with_work(kinds, 3);
    (options.shape, options.workers, options.shards_per_group) = (Shape::TwoGroups, 1, 2);
    let mut options = options.with_returns();
    options.faults = faults;
    options.heartbeat_ms = *HEARTBEAT_MS.end();
    let crash = options.crash.as_mut().expect("four data nodes");
    (crash.at, crash.told_after) = (300 * MILLISECOND, MILLISECOND);
    (crash.node, crash.restart_after) = (NodeId(2), Some(5 * MILLISECOND));
    let next = |turn: u16| (NodeId(2 + turn % 2), 5 * MILLISECOND, Failure::Dies);
    crash.then = (1..12).map(next).collect();
    crash.is_hasty = false;
    options
}

/// One of three dies, and while another is taking over from it, over links that take their time, that one dies, too.
fn heirs_in_turns(seed: u64) -> Options {
    let mut options = Options::of_seed(seed, 5).with_work(&["bank", "ledger", "registers"], 2);
    (options.shape, options.workers, options.shards_per_group) = (Shape::Triple, 1, 3);
    let mut options = options.with_returns();
    let delay = Delay { high: 8 * MILLISECOND, ..Delay::MILD };
    options.faults = Faults { delay, ..Faults::NONE };
    options.heartbeat_ms = *HEARTBEAT_MS.end();
    let crash = options.crash.as_mut().expect("three data nodes");
    (crash.at, crash.told_after) = (300 * MILLISECOND, MILLISECOND);
    (crash.node, crash.restart_after) = (NodeId(2), Some(5 * MILLISECOND));
    let after = (5 + 5 * (seed % 10)) * MILLISECOND;
    crash.then = (1..24).map(|turn: u16| (NodeId(2 + turn % 3), after, Failure::Dies)).collect();
    crash.is_hasty = true;
    options
}

/// Partners in turns, but they are stopped as planned, over links that take their time.
fn leaving_in_turns(seed: u64, kinds: &[&str]) -> Options {
    let delay = Delay { high: 8 * MILLISECOND, ..Delay::MILD };
    let mut options = partners_in_turns(seed, kinds, Faults { delay, ..Faults::NONE });
    let crash = options.crash.as_mut().expect("four data nodes");
    (crash.failure, crash.told_after) = (Failure::Leaves, SECOND * 1_000);
    for (_, _, failure) in &mut crash.then {
        *failure = Failure::Leaves;
    }
    options
}

/// What is prepared in one group is decided in the other, and the links between them are cut all the time: something is prepared, and not
/// decided there, while its log is closed. Then the power fails, again and again.
fn cut_and_without_power(seed: u64) -> Options {
    let mut options = Options::of_seed(seed, 6).with_work(&["bank", "ledger"], 4);
    (options.shape, options.workers, options.shards_per_group) = (Shape::TwoGroups, 1, 4);
    let mut options = options.with_power_failures();
    let (cut_interval, cut_max) = (Some(20 * MILLISECOND), 300 * MILLISECOND);
    options.faults = Faults { cut_interval, cut_max, ..Faults::NONE };
    // Links that are cut are not to look like dead nodes.
    options.heartbeat_ms = 1_000;
    options.power_failures = (1..10).map(|turn| turn * 600 * MILLISECOND + seed % 7).collect();
    options
}

/// Each is deaf for a second, and then hears it all.
fn cut_off_in_turns(seed: u64) -> Options {
    in_turns(seed, |node| {
        let from = (1..=3).map(NodeId).filter(|other| *other != node).collect();
        Failure::CutOff { from, hears: false, is_heard: true, lasts: SECOND, waits: true }
    })
}

fn frozen_in_turns(seed: u64) -> Options {
    in_turns(seed, |_| Failure::Freezes { lasts: 3 * SECOND / 2 })
}

/// Seeds until one fails because the rule is broken.
fn seeds_to_find(mutation: Mutation) -> Option<u64> {
    let seeds_max = match mutation {
        // Three members are of one seed in seven.
        Mutation::ShowBeforeHeld => 400,
        // A node must die in the moment between two messages.
        Mutation::PreparedForgotten
        | Mutation::InDoubtRolledBack
        | Mutation::OutcomeNotAsked
        | Mutation::PreparedNotClosed
        | Mutation::DecisionsNotTold
        | Mutation::WorkerBehind => 400,
        // A restart must begin below what a checkpoint has left out because it was deleted.
        Mutation::DeletedNotWaitedFor => 400,
        _ => 60,
    };
    let failed = (0..seeds_max).find(|seed| {
        let options = match mutation {
            // Only sessions that make tables and write to them at once meet it.
            Mutation::NewTablesSkipped | Mutation::IndexNotGivenUp => {
                Options::of_seed(*seed, 3).with_work(&["schema"], 4)
            }
            // A read must be on its way for longer than its snapshot's age.
            Mutation::ReadBelowHorizon => Options::of_seed(*seed, 3).with_work(&["snapshots"], 3),
            Mutation::ShowBeforeHeld => Options::of_seed(*seed, 3).with_work(&["registers"], 4),
            // Half of a transaction is left, which a bank misses.
            Mutation::PreparedForgotten | Mutation::InDoubtRolledBack => {
                Options::of_seed(*seed, 3).with_work(&["bank", "ledger"], 4).with_crash()
            }
            Mutation::OutcomeNotAsked | Mutation::EpochNotRaised => {
                Options::of_seed(*seed, 3).with_work(&["ledger", "counters"], 4).with_crash()
            }
            // Who asks its home how a transaction was decided must ask one that was not there then: links are cut meanwhile.
            Mutation::DecisionsNotTold => {
                let (cut_interval, cut_max) = (Some(20 * MILLISECOND), 300 * MILLISECOND);
                let faults = Faults { cut_interval, cut_max, ..Faults::NONE };
                partners_in_turns(*seed, &["bank"], faults)
            }
            Mutation::LostTransactionGoesOn => {
                partners_in_turns(*seed, &["ledger", "counters"], Faults::NONE)
            }
            Mutation::LoadedNotCompared => {
                let options = Options::of_seed(*seed, 5).with_work(&["bank", "unique"], 2);
                Options { has_disks: true, ..options.with_returns() }
            }
            Mutation::LearnerNotAwaited | Mutation::PreparedNotCopied | Mutation::WorkerBehind => {
                Options::of_seed(*seed, 5).with_work(&["bank", "ledger"], 2).with_returns()
            }
            Mutation::TailNotFetched => heirs_in_turns(*seed),
            Mutation::LeaseIgnored => {
                Options::of_seed(*seed, 6).with_work(&["registers", "lists"], 2).with_failures()
            }
            Mutation::HandoverNotWaitedFor | Mutation::HandoverNotDrained => {
                Options::of_seed(*seed, 6).with_leaves()
            }
            Mutation::HandoverNotQuiet => leaving_in_turns(*seed, &["bank", "snapshots"]),
            Mutation::LeaseFromArrival | Mutation::LeaseNotWaitedFor => cut_off_in_turns(*seed),
            Mutation::HangingIsKept => hung(*seed),
            Mutation::OutcomeGuessed => unanswered_in_turns(*seed),
            Mutation::GrantsUnchecked => frozen_in_turns(*seed),
            Mutation::PreparedNotClosed => cut_and_without_power(*seed),
            Mutation::DiskNotAwaited
            | Mutation::TailNotCut
            | Mutation::CheckpointTooNew
            | Mutation::ChangedNotWritten
            | Mutation::KeptWithoutItsLog => Options::of_seed(*seed, 6).with_power_failures(),
            Mutation::AlwaysNotAwaited => {
                let durability = Durability::Always;
                Options { durability, ..Options::of_seed(*seed, 6).with_power_failures() }
            }
            Mutation::AloneNotAwaited => {
                let durability = Durability::WhenAlone;
                Options { durability, ..Options::of_seed(*seed, 6).with_power_failures() }
            }
            Mutation::GroupLeftOut => cut_and_without_power(*seed),
            Mutation::MemoryOfOthersIgnored => Options::of_seed(*seed, 6).with_little_memory(),
            Mutation::DeletedNotWaitedFor => {
                Options::of_seed(*seed, 20).with_power_failures().with_deletions()
            }
            _ => Options::of_seed(*seed, 3),
        };
        let may_show = match mutation {
            Mutation::ShowBeforeHeld => options.shape == Shape::Triple,
            _ => true,
        };
        if !may_show {
            return false;
        }
        let is_found = run(&Options { mutation, ..options.clone() }, false).failure.is_some();
        if is_found && (options.crash.is_some() || !options.power_failures.is_empty()) {
            // It is the broken rule that fails, not the loss of a node.
            expect_success(&options);
        }
        is_found
    });
    failed.map(|seed| seed + 1)
}

/// A worker of a data node hangs, for longer than anybody waits.
fn hung(seed: u64) -> Options {
    let mut options = once(seed, Failure::Hangs { lasts: 20 * SECOND });
    (options.workers, options.seconds) = (2, 14);
    options
}

/// A data node is a hundred times as far away as it was, and so is each boot of it that comes after.
fn crawling(seed: u64, mutation: Mutation) -> Options {
    let failure = Failure::Crawls { takes: 150 * MILLISECOND, lasts: 35 * SECOND };
    Options { mutation, ..once(seed, failure) }
}

fn once(seed: u64, failure: Failure) -> Options {
    let mut options = Options::of_seed(seed, 40).with_work(&["registers", "counters"], 4);
    (options.shape, options.workers, options.shards_per_group) = (Shape::Pair, 1, 4);
    let mut options = options.with_failures();
    options.faults = Faults::NONE;
    options.think_max = 50 * MILLISECOND;
    let crash = options.crash.as_mut().expect("two data nodes");
    (crash.at, crash.restart_after) = (2 * SECOND, Some(10 * MILLISECOND));
    (crash.node, crash.failure) = (NodeId(2 + (seed % 2) as u16), failure);
    crash.then.clear();
    options
}

/// Rule R22: other nodes stop waiting for a node that has been far away for a while, and do not wait again and again when it comes
/// back no nearer.
#[test]
fn nodes_that_crawl() {
    for seed in 0..of_tier(1, 4) {
        let kept = expect_success(&crawling(seed, Mutation::SlowIsKept));
        let excluded = expect_success(&crawling(seed, Mutation::None));
        assert_eq!((kept.counts.exclusions, excluded.counts.exclusions), (0, 2), "seed {seed}");
        let done = (kept.transactions, excluded.transactions);
        assert!(done.1 > 2 * done.0, "seed {seed}: {done:?} transactions");
    }
}

/// Each is deaf for longer than any client waits for a commit, while its requests are done.
fn unanswered_in_turns(seed: u64) -> Options {
    let mut options = in_turns(seed, |node| {
        let from = (1..=3).map(NodeId).filter(|other| *other != node).collect();
        Failure::CutOff { from, hears: false, is_heard: true, lasts: 7 * SECOND, waits: false }
    });
    options.seconds = 40;
    options
}

/// Rules that the short tier switches off each day: all of them have had their turn within a week.
const MUTATIONS_A_DAY: usize = 8;

/// Every rule that can be switched off is missed by some oracle within a few short worlds.
#[test]
fn every_mutation_is_found() {
    let count = of_tier(MUTATIONS_A_DAY, MUTATIONS.len());
    let chosen: Vec<Mutation> = MUTATIONS
        .iter()
        .copied()
        .cycle()
        .skip(day() * count % MUTATIONS.len())
        .take(count)
        .collect();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(mutation) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let seeds = seeds_to_find(*mutation);
                    println!("{mutation:?}: seeds needed: {seeds:?}");
                    found.lock().expect("worlds catch their panics").push((*mutation, seeds));
                }
            });
        }
    });
    let found = found.into_inner().expect("worlds catch their panics");
    assert_eq!(found.len(), count);
    let missed: Vec<_> = found.iter().filter(|(_, seeds)| seeds.is_none()).collect();
    assert!(missed.is_empty(), "not found: {missed:?}");
}

/// Sessions that do nothing but append to lists and read them, under all faults.
fn lists_alone(seed: u64) -> Options {
    Options::of_seed(seed, 3).with_work(&["lists"], 3)
}

#[test]
fn histories_of_lists() {
    // The single ones once found a decision logged behind its readers, and a deadlock that was told of in vain.
    for seed in (0..of_tier(4, 20)).chain([47, 306, 360, 582, 639, 856]) {
        expect_success(&lists_alone(seed));
    }
}

/// The rules that keep a transaction whole for whoever looks are missed by histories of lists alone, too.
#[test]
fn lists_find_torn_transactions() {
    // A backup that is behind just when it is read is of few worlds: SnapshotFromAnyBackup, the last one, takes 63 seeds.
    const SEEDS_MAX: u64 = 200;
    const RULES: [Mutation; 4] = [
        Mutation::ReadThroughCommitting,
        Mutation::TimestampBeforePrepare,
        Mutation::EarlyLockRelease,
        Mutation::SnapshotFromAnyBackup,
    ];
    for mutation in RULES.into_iter().take(of_tier(3, RULES.len())) {
        let failure = |seed: u64| run(&Options { mutation, ..lists_alone(seed) }, false).failure;
        let found = (0..SEEDS_MAX).find_map(|seed| Some((seed, failure(seed)?)));
        println!("{mutation:?}, seed and failure: {found:?}");
        let Some((seed, _)) = found else { panic!("{mutation:?} is not found") };
        expect_success(&lists_alone(seed));
    }
}

/// Statements that panic where the rows are end alone, also while nodes are lost and come back: their transactions leave
/// nothing, locks are free again, replicas are equal.
#[test]
fn statements_that_panic() {
    for shape in WITH_PARTNERS.into_iter().chain([Shape::Single]) {
        play(shape, 3, Options::with_panics, |_| 0);
    }
    for shape in WITH_PARTNERS {
        play(shape, 2, |options| options.with_failures().with_panics(), |_| 0);
    }
}
