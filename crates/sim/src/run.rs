//! One world from its beginning to the judgement.
//!
//! The cluster forms, tables are made and filled, the sessions work under the seed's faults; then
//! the faults are healed and everything must come to rest within seconds. A node may be lost
//! meanwhile: then all this is required of the others. At the end every replica is compared, and
//! sessions on every worker read all rows once more.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Once;

use client::{Batch, ReadAt, ScanBatch, ScanOptions, SchemaChange};
use kernel::Time;
use types::{Address, Collation, IndexState, Timestamp};

use crate::contents::{self, Contents};
use types::contain;

use crate::options::{Faults, MILLISECOND, Options, SECOND};
use crate::stage::{AVAILABLE_MAX, Actor, Stage};
use crate::tables::{self, DATABASE};
use crate::workload::{DELETIONS, FAULTS, HOARDS, KINDS, LOCKS, PREFIX, Work};
use crate::world::{Counts, World};

/// How often crashes and returns are looked for.
const LOOK_INTERVAL: Time = 5 * MILLISECOND;
/// Bounds on what must happen, in simulated time. Under faults messages may need many attempts.
const READY_MAX: Time = 20 * SECOND;
const SETUP_MAX: Time = 60 * SECOND;
/// After the faults are healed: all sessions have their answers.
const FINISH_MAX: Time = 2 * SECOND;
/// And then nothing is locked, pending or on its way.
const REST_MAX: Time = SECOND;
/// A node that was started again is a full member.
/// Over links that lost much, what piled up for it in 20 s of work comes first; and where it is given one row at a time of the fifty
/// thousand that sequences wrote, it is compared one by one for half a minute.
const RETURN_MAX: Time = 60 * SECOND;
/// A node that was slow is admitted by then.
const PAUSE_MAX: Time = 300 * SECOND;
/// Old versions go as the horizon follows.
const PRUNE_MAX: Time = 500 * MILLISECOND;

#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What the oracles saw that must not be.
    pub failure: Option<String>,
    pub trace_hash: u64,
    pub simulated: Time,
    pub transactions: u64,
    pub refusals: u64,
    /// Answers about commits of unknown outcome: forgotten, in progress, rolled back, committed.
    pub outcomes: [u64; 5],
    pub counts: Counts,
    /// The last lines of the nodes' logs.
    pub log: Vec<String>,
}

/// Runs a seed's world. A panic inside it is a failure like any other.
pub fn run(options: &Options, print_trace: bool) -> Outcome {
    let outcome = RefCell::new(Outcome::default());
    let played = caught(|| play(options, print_trace, &outcome));
    Outcome { failure: played.err(), ..outcome.into_inner() }
}

/// Runs a world. A panic of it is an error; one that a boundary stops ([`contain`]) has its message as its id.
pub(crate) fn caught<T>(play: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_panics();
    let played = catch_unwind(AssertUnwindSafe(play));
    PLAYING.with(|playing| *playing.borrow_mut() = false);
    played.unwrap_or_else(|_| {
        let panic = PANIC.with(|panic| panic.borrow_mut().take());
        Err(panic.unwrap_or_else(|| "a panic without a message".into()))
    })
}

thread_local! {
    static PLAYING: RefCell<bool> = const { RefCell::new(false) };
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Panics of threads that play a world are kept for its outcome instead of being printed.
fn catch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let ordinary = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if PLAYING.with(|playing| *playing.borrow()) && contain::is_contained() {
                contain::record(info.to_string());
            } else if PLAYING.with(|playing| *playing.borrow()) {
                PANIC.with(|panic| {
                    panic.borrow_mut().get_or_insert(format!("panic: {info}")).clone()
                });
            } else {
                ordinary(info);
            }
        }));
    });
    PLAYING.with(|playing| *playing.borrow_mut() = true);
    PANIC.with(|panic| *panic.borrow_mut() = None);
}

/// What an outcome says of the world so far, whatever happens next.
fn note(outcome: &RefCell<Outcome>, world: &World, stage: &Stage) {
    let mut outcome = outcome.borrow_mut();
    outcome.trace_hash = world.trace_hash();
    outcome.simulated = world.now();
    outcome.counts = world.counts;
    outcome.transactions = stage.transactions.get();
    outcome.refusals = stage.refusals.get();
    outcome.outcomes = stage.outcomes.get();
    outcome.log = world.log().to_vec();
}

fn play(options: &Options, print_trace: bool, outcome: &RefCell<Outcome>) -> Result<(), String> {
    let mut world = World::new(options.clone(), print_trace);
    let stage = Stage::new(&world);
    let judged = play_in(&mut world, &stage, outcome);
    note(outcome, &world, &stage);
    judged
}

fn play_in(world: &mut World, stage: &Rc<Stage>, outcome: &RefCell<Outcome>) -> Result<(), String> {
    if !world.run_until(READY_MAX, World::is_ready) {
        return Err("the cluster did not form".into());
    }
    let sessions = world.options.sessions.clone();
    let wanted = KINDS.iter().zip(sessions).filter(|(_, count)| 0 < *count);
    let mut works: Vec<(&'static str, u32, Rc<dyn Work>)> = Vec::new();
    for (kind, count) in wanted {
        let work = (kind.make)(&mut world.random().fork());
        works.push((kind.name, count, Rc::from(work)));
    }
    if !world.options.power_failures.is_empty() {
        let kind = if world.options.only_deletes { DELETIONS } else { PREFIX };
        let work = (kind.make)(&mut world.random().fork());
        works.push((kind.name, 1, Rc::from(work)));
    }
    if !world.options.memories.is_empty() {
        let work = (HOARDS.make)(&mut world.random().fork());
        works.push((HOARDS.name, 1, Rc::from(work)));
    }
    if world.options.statements_panic {
        let work = (FAULTS.make)(&mut world.random().fork());
        works.push((FAULTS.name, 1, Rc::from(work)));
    }
    if 0 < world.options.user_locks {
        let work = (LOCKS.make)(&mut world.random().fork());
        works.push((LOCKS.name, world.options.user_locks, Rc::from(work)));
    }
    set_up(world, stage, &works)?;
    if !world.options.power_failures.is_empty() && !world.run_until(SETUP_MAX, is_checkpointed) {
        return Err("there is no checkpoint of what the work begins with".into());
    }
    world.plan_crash();
    let mut cast = Cast::default();
    let hosts = world.hosts();
    cast.start(world, hosts, stage, &works);

    let mut promises = Promises::default();
    let end = world.now() + world.options.seconds * SECOND;
    while world.now() < end && !stage.is_stopping() {
        world.run_until(LOOK_INTERVAL, |_| stage.is_stopping());
        lose_crashed(world, stage);
        promises.look(world, stage, &works);
        let returned = world.take_returned();
        if !returned.is_empty() {
            let mut hosts = world.hosts();
            hosts.retain(|host| returned.contains(&host.node));
            cast.start(world, hosts, stage, &works);
        }
        note(outcome, world, stage);
    }
    stage.stop();
    failures(stage)?;
    check_available(world, stage)?;
    while !world.stop_failing() {
        world.run_for(LOOK_INTERVAL);
    }
    world.heal();
    let has_finished = world.run_until(FINISH_MAX, |world| world.task_count() == 0);
    lose_crashed(world, stage);
    if !has_finished {
        failures(stage)?;
        let restless = contents::restless(world).unwrap_or_else(|| "all shards rest".into());
        return Err(format!(
            "{} sessions still wait {} s after the faults were healed; {restless}",
            world.task_count(),
            FINISH_MAX / SECOND
        ));
    }
    failures(stage)?;
    if world.puts_off() && world.counts.crawls == 0 {
        return Err("a node is not let in because it was slow, and none was".into());
    }
    let is_let_in = world.run_until(PAUSE_MAX, |world| !world.puts_off() && !world.finds_slow());
    if !is_let_in || !world.run_until(RETURN_MAX, World::is_ready) {
        return Err("a node that has come back does not serve".into());
    }
    if !world.run_until(REST_MAX, contents::is_quiescent) {
        let restless = contents::restless(world).unwrap_or_default();
        return Err(format!("the sessions have ended, but {restless}"));
    }
    world.run_for(PRUNE_MAX);
    // The heir of shards that were handed over just now may still be making logs equal.
    let is_settled = |world: &World| world.is_settled() && contents::is_quiescent(world);
    if !world.run_until(REST_MAX, is_settled) {
        return Err("shards are being handed over all the time".into());
    }

    let catalogue = world.client(world.hosts()[0]).catalogue();
    let left = Rc::new(contents::examine(world, catalogue)?);
    for (name, _, work) in &works {
        work.check(&left).map_err(|error| format!("{name}: {error}"))?;
    }
    read_again(world, stage, &left)?;
    failures(stage)
}

/// Does a checkpoint hold all that was committed?
fn is_checkpointed(world: &World) -> bool {
    let given = world.nodes().map(|node| node.last_timestamp()).max();
    world.nodes().map(|node| node.checkpointed()).max() >= given
}

/// What checkpoints have been done for.
#[derive(Default)]
struct Promises {
    /// The last timestamps given out, and the event that came next, at some moments.
    moments: VecDeque<(Timestamp, u64)>,
    power_failures: u64,
}

impl Promises {
    fn look(&mut self, world: &World, stage: &Stage, works: &[(&'static str, u32, Rc<dyn Work>)]) {
        if self.power_failures < world.counts.power_failures {
            // What was not done then never will be.
            self.power_failures = world.counts.power_failures;
            self.moments.clear();
        }
        let given = world.nodes().map(|node| node.last_timestamp()).max().unwrap_or_default();
        let done = world.nodes().map(|node| node.checkpointed()).max().unwrap_or_default();
        while let Some((_, event)) = self.moments.pop_front_if(|(given, _)| *given <= done) {
            for (_, _, work) in works {
                work.promise(stage, event);
            }
        }
        if self.moments.back().is_none_or(|(before, _)| *before < given) {
            self.moments.push_back((given, stage.next_event()));
        }
    }
}

/// Their sessions went with them.
fn lose_crashed(world: &mut World, stage: &Stage) {
    for node in world.take_crashed() {
        stage.lose(node);
    }
}

fn failures(stage: &Stage) -> Result<(), String> {
    match stage.failures().as_slice() {
        [] => Ok(()),
        failures => Err(failures.join("\n  ")),
    }
}

/// With a node lost some time ago, whoever is left gets what he asks for.
fn check_available(world: &World, stage: &Stage) -> Result<(), String> {
    let Some(lost) = world.lost().get() else { return Ok(()) };
    let Some((host, at)) = stage.longest_unserved() else { return Ok(()) };
    let unserved = world.now().saturating_sub(at.max(lost.told_at));
    if available_max(&world.options.faults) < unserved {
        return Err(format!(
            "on {host:?} nothing was acknowledged for {unserved} us, since node {} is lost",
            lost.node
        ));
    }
    Ok(())
}

/// Links that are down, slow or lose much keep a transaction longer than a lost node does. Where a fifth is lost, and what arrives
/// takes as long as an election waits, the two voters that are left have needed five seconds to elect a leader.
fn available_max(faults: &Faults) -> Time {
    let of_loss = u64::from(faults.loss_per_mille) * 20 * MILLISECOND;
    AVAILABLE_MAX + 2 * faults.cut_max + 20 * faults.delay.high + of_loss
}

/// Makes the database and the tables, and fills them, through a session.
fn set_up(
    world: &mut World,
    stage: &Rc<Stage>,
    works: &[(&str, u32, Rc<dyn Work>)],
) -> Result<(), String> {
    let host = world.hosts()[0];
    let works: Vec<Rc<dyn Work>> = works.iter().map(|(_, _, work)| Rc::clone(work)).collect();
    let client = world.client(host);
    let stage_of_task = Rc::clone(stage);
    let task = async move {
        let mut session = client.session();
        let mut catalogue = session
            .change_schema(SchemaChange::CreateDatabase {
                name: DATABASE.into(),
                collation: Collation::Binary,
            })
            .await;
        for table in works.iter().flat_map(|work| work.tables()) {
            if catalogue.is_ok() {
                let change = SchemaChange::CreateTable(Box::new(table));
                catalogue = session.change_schema(change).await;
            }
        }
        let catalogue = match catalogue {
            Ok(catalogue) => catalogue,
            Err(refusal) => return stage_of_task.fail(format!("set-up: {refusal:?}")),
        };
        let rows: Vec<(&str, Vec<i64>)> = works.iter().flat_map(|work| work.rows()).collect();
        let insert = |(name, values): &(&str, Vec<i64>)| {
            let table = catalogue.table(DATABASE, name).expect("made above");
            tables::insert(table, values)
        };
        let ops = rows.iter().map(insert).collect();
        let batch = Batch { commit: true, ..tables::batch(ops, ReadAt::Statement, 50_000) };
        session.next_statement();
        if let Err(refusal) = session.execute(batch).await {
            stage_of_task.fail(format!("set-up: {refusal:?}"));
        }
    };
    world.spawn(host, Box::pin(task));
    if !world.run_until(SETUP_MAX, |world| world.task_count() == 0) {
        return Err("the tables could not be made and filled".into());
    }
    failures(stage)
}

/// Numbers the actors, of all works and of each.
#[derive(Default)]
struct Cast {
    actors: u64,
    by_work: BTreeMap<&'static str, u64>,
}

impl Cast {
    fn start(
        &mut self,
        world: &mut World,
        hosts: Vec<Address>,
        stage: &Rc<Stage>,
        works: &[(&'static str, u32, Rc<dyn Work>)],
    ) {
        for (name, count, work) in works {
            let index = self.by_work.entry(name).or_default();
            for _ in 0..*count {
                for host in &hosts {
                    let random = world.random().fork();
                    let client = world.client(*host);
                    let stage = Rc::clone(stage);
                    let (id, ends) = (self.actors, Rc::clone(&stage));
                    let actor = Actor::new(id, *index, *host, client, random, stage);
                    let session = work.session(actor);
                    let task = async move {
                        session.await;
                        ends.end(id);
                    };
                    world.spawn(*host, Box::pin(task));
                    self.actors += 1;
                    *index += 1;
                }
            }
        }
    }
}

/// Every worker reads every table by every index, forward and backward, and finds what the replicas hold.
fn read_again(world: &mut World, stage: &Rc<Stage>, left: &Rc<Contents>) -> Result<(), String> {
    for host in world.hosts() {
        let client = world.client(host);
        let stage = Rc::clone(stage);
        let left = Rc::clone(left);
        let task = async move {
            let mut session = client.session();
            let catalogue = left.catalogue();
            let database = catalogue.database(DATABASE).expect("made first");
            for id in database.tables.values() {
                let table = catalogue.table_by_id(*id).expect("named by its database");
                for index in table.indexes.iter().filter(|i| i.state == IndexState::Public) {
                    for reverse in [false, true] {
                        let mut scan = tables::scan_rows(index.id);
                        scan.reverse = reverse;
                        let options = ScanOptions { ordered: true, ..ScanOptions::default() };
                        session.next_statement();
                        let mut cursor = session.scan(table, scan, options);
                        let mut rows: Vec<Vec<u8>> = Vec::new();
                        let mut keys: Vec<Vec<u8>> = Vec::new();
                        loop {
                            match cursor.next(&mut session).await {
                                Ok(None) => break,
                                Ok(Some(ScanBatch::Rows(batch))) => {
                                    rows.extend((0..batch.len()).map(|i| batch.row(i).to_vec()));
                                    keys.extend((0..batch.len()).map(|i| batch.key(i).to_vec()));
                                }
                                Ok(Some(ScanBatch::Groups(_))) => {
                                    unreachable!("rows were asked for")
                                }
                                Err(refusal) => {
                                    return stage.fail(format!("final scan: {refusal:?}"));
                                }
                            }
                        }
                        let is_sorted = keys.windows(2).all(|pair| (pair[0] < pair[1]) != reverse);
                        rows.sort();
                        let mut expected = left.rows(*id).to_vec();
                        expected.sort();
                        if !is_sorted || rows != expected {
                            stage.fail(format!(
                                "{:?} reads {} rows of {} by {} (sorted: {is_sorted}); {} are there",
                                client.node(),
                                rows.len(),
                                table.name,
                                index.name,
                                expected.len()
                            ));
                        }
                        session.rollback().await;
                    }
                }
            }
        };
        world.spawn(host, Box::pin(task));
    }
    if !world.run_until(FINISH_MAX, |world| world.task_count() == 0) {
        return Err("the final reads were not answered".into());
    }
    Ok(())
}
