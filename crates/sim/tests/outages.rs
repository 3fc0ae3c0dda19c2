//! Definitions and foreign keys while nodes are lost: sessions on all nodes change parents and children and alter their tables, and
//! the world has the faults of its seed. Nodes die and come back, freeze or are cut off; links are slow, cut and lose
//! messages. No snapshot has a child without its parent or a row without its default. In the end each definition is an old or a
//! new one, nothing of an unfinished one is left, and all replicas are equal.

use std::cell::Cell;
use std::rc::Rc;

use sim::contents;
use sim::families::{ORPHANS, prepare, statement};
use sim::options::{Failure, Options, SECOND, Shape};
use sim::statements::{Sessions, succeed};
use sim::world::World;
use sql::Session;
use sql::bind::table::is_unfinished;
use sql::check::random::Random;
use sql::script::run as ask;
use types::{Address, IndexState, TableState};

/// Of the threads that run statements in a node.
const STACK_SIZE: usize = 16 << 20;
/// Worlds of the default run. The long one has as many as `SKARV_TEST_OUTAGES` says.
const WORLDS: u64 = 8;
/// Simulated seconds in which nodes are lost.
const WORK_SECONDS: u64 = 10;

const ISOLATIONS: [&str; 3] = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

/// Definitions that leave each statement of the writers possible.
const DEFINITIONS: [&str; 16] = [
    "ALTER TABLE far MODIFY id BIGINT NOT NULL",
    "ALTER TABLE far MODIFY id INT NOT NULL",
    "ALTER TABLE far ADD COLUMN x INT NOT NULL DEFAULT 7, ALGORITHM=INSTANT",
    "ALTER TABLE far DROP COLUMN x, ALGORITHM=INSTANT",
    "ALTER TABLE kept ADD COLUMN x INT NOT NULL DEFAULT 7, ALGORITHM=INSTANT",
    "ALTER TABLE kept DROP COLUMN x",
    "ALTER TABLE kept ADD INDEX more (pid, id)",
    "ALTER TABLE kept DROP INDEX more",
    "ALTER TABLE gone ADD COLUMN x INT NOT NULL DEFAULT 7 FIRST",
    "ALTER TABLE gone DROP COLUMN x, ALGORITHM=INSTANT",
    "ALTER TABLE freed ADD UNIQUE KEY both_columns (id, pid)",
    "ALTER TABLE freed DROP KEY both_columns",
    "ALTER TABLE p ADD COLUMN x INT NOT NULL DEFAULT 7",
    "ALTER TABLE p DROP COLUMN x",
    "ALTER TABLE grand MODIFY gid BIGINT",
    "ALTER TABLE tree RENAME COLUMN id TO id",
];

/// Each counts rows whose column has another value than every row has.
const UNLIKE: [&str; 4] = [
    "SELECT COUNT(*) FROM far WHERE x <> 7 OR x IS NULL",
    "SELECT COUNT(*) FROM kept WHERE x <> 7 OR x IS NULL",
    "SELECT COUNT(*) FROM gone WHERE x <> 7 OR x IS NULL",
    "SELECT COUNT(*) FROM p WHERE x <> 7 OR x IS NULL",
];

/// No statement may end with it: a fault of the program.
const INTERNAL_ERROR: u16 = 1815;
/// The outcome of a COMMIT is unknown; the server closes the connection.
const OUTCOME_UNKNOWN: u16 = 50_807;

/// What the tasks of a world have done.
#[derive(Default)]
struct Done {
    is_over: Cell<bool>,
    changes: Cell<usize>,
    definitions: Cell<usize>,
    answers: Cell<usize>,
}

/// The error of a statement, if it has one; panics on one that no outage explains.
async fn error_of(session: &mut Session, text: &str) -> Option<u16> {
    let error = ask(session, text).await.error?;
    assert_ne!(error.code, INTERNAL_ERROR, "{text}: {error}");
    Some(error.code)
}

fn add(count: &Cell<usize>) {
    count.set(count.get() + 1);
}

async fn write(mut session: Session, seed: u64, done: Rc<Done>) {
    let mut random = Random::new(seed);
    succeed(&mut session, "USE test").await;
    succeed(&mut session, "SET innodb_lock_wait_timeout = 2").await;
    while !done.is_over.get() {
        let isolation = *random.pick(&ISOLATIONS);
        succeed(&mut session, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"))
            .await;
        let is_open = random.below(2) == 0;
        if is_open {
            succeed(&mut session, "BEGIN").await;
        }
        for _ in 0..=random.below(3) {
            match error_of(&mut session, &statement(&mut random)).await {
                None => add(&done.changes),
                Some(OUTCOME_UNKNOWN) => return,
                Some(_) => {}
            }
        }
        if is_open && error_of(&mut session, "COMMIT").await == Some(OUTCOME_UNKNOWN) {
            return;
        }
        succeed(&mut session, "DO SLEEP(0.02)").await;
    }
}

async fn define(mut session: Session, seed: u64, done: Rc<Done>) {
    let mut random = Random::new(seed);
    succeed(&mut session, "USE test").await;
    succeed(&mut session, "SET lock_wait_timeout = 3").await;
    while !done.is_over.get() {
        if error_of(&mut session, random.pick::<&str>(&DEFINITIONS)).await.is_none() {
            add(&done.definitions);
        }
        succeed(&mut session, "DO SLEEP(0.05)").await;
    }
}

async fn read(mut session: Session, isolation: &'static str, done: Rc<Done>) {
    succeed(&mut session, "USE test").await;
    succeed(&mut session, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")).await;
    let mut round = 0;
    while !done.is_over.get() {
        round += 1;
        let is_open = round % 2 == 1;
        if is_open {
            succeed(&mut session, "BEGIN").await;
        }
        for query in ORPHANS.iter().chain(&UNLIKE) {
            look(&mut session, isolation, query, &done).await;
        }
        if is_open {
            error_of(&mut session, "COMMIT").await;
        }
        succeed(&mut session, "DO SLEEP(0.03)").await;
    }
}

async fn look(session: &mut Session, isolation: &str, query: &str, done: &Done) {
    let answer = ask(session, query).await;
    match answer.error {
        Some(error) => assert_ne!(error.code, INTERNAL_ERROR, "{query}: {error}"),
        None => {
            assert_eq!(answer.rows, [["0"]], "{isolation}: {query}");
            add(&done.answers);
        }
    }
}

/// When all is quiet again every query has an answer, unless its column is not there.
async fn look_at_all(mut session: Session) {
    succeed(&mut session, "USE test").await;
    for query in ORPHANS.iter().chain(&UNLIKE) {
        let answer = ask(&mut session, query).await;
        match answer.error {
            Some(error) => assert_eq!(error.code, 1054, "{query}: {error}"),
            None => assert_eq!(answer.rows, [["0"]], "{query}"),
        }
    }
    for table in ["p", "kept", "gone", "freed", "far", "grand", "tree"] {
        succeed(&mut session, &format!("SELECT COUNT(*) FROM {table}")).await;
        succeed(&mut session, &format!("ALTER TABLE {table} COMMENT 'at rest'")).await;
    }
}

/// A table or an index that is not wholly there, and not wholly gone.
fn unfinished(world: &World, host: Address) -> Option<String> {
    let catalogue = world.client(host).catalogue();
    // The program of a node drops the copies that a lost session had just made; here are only kernels.
    let mut tables = catalogue.tables.values().filter(|table| !is_unfinished(&table.name));
    let found = tables.find(|table| {
        table.state != TableState::Public
            || table.closed_by.is_some()
            || table.rewriting.copy.is_some()
            || table.indexes.iter().any(|index| index.state != IndexState::Public)
    });
    found.map(|table| {
        let states: Vec<_> = table.indexes.iter().map(|own| (&own.name, own.state)).collect();
        let (closed_by, rewriting) = (table.closed_by, &table.rewriting);
        format!("{} {:?} {closed_by:?} {rewriting:?} {states:?}", table.name, table.state)
    })
}

fn options(seed: u64) -> Options {
    let mut options = Options::of_seed(seed, WORK_SECONDS);
    options = match seed % 3 {
        0 => options.with_crash(),
        1 => options.with_returns(),
        _ => options.with_failures(),
    };
    // The program of a node ends its sessions before it stops; these work to the end.
    if let Some(crash) = &mut options.crash {
        let next = crash.then.iter_mut().map(|(_, _, failure)| failure);
        next.chain([&mut crash.failure])
            .filter(|failure| **failure == Failure::Leaves)
            .for_each(|failure| *failure = Failure::Dies);
    }
    options.sessions = vec![0; options.sessions.len()];
    options
}

fn begin(sessions: &mut Sessions, host: Address, seed: u64, done: &Rc<Done>) {
    let number = seed.wrapping_mul(31) + u64::from(host.node.0) * 7 + u64::from(host.worker.0);
    for number in [number, number + 1_000] {
        sessions.begin_on(host, |session| write(session, number, Rc::clone(done)));
    }
    if host.worker.0 == 0 {
        sessions.begin_on(host, |session| define(session, number, Rc::clone(done)));
    }
    let isolation = ISOLATIONS[(number % 3) as usize];
    sessions.begin_on(host, |session| read(session, isolation, Rc::clone(done)));
}

/// What was done: changes, definitions, and answers that were right.
fn run(seed: u64) -> (usize, usize, usize) {
    let mut world = World::new(options(seed), false);
    assert!(world.run_until(60 * SECOND, World::is_ready), "the cluster does not start");
    let mut sessions = Sessions::new(world, None);
    sessions.begin(0, prepare);
    sessions.finish(600 * SECOND);
    let done = Rc::new(Done::default());
    for host in sessions.world.hosts() {
        begin(&mut sessions, host, seed, &done);
    }
    sessions.world.plan_crash();
    let end = sessions.world.now() + WORK_SECONDS * SECOND;
    while sessions.world.now() < end {
        sessions.world.run_for(SECOND / 20);
        sessions.world.run_until(0, |_| true);
        let returned = sessions.world.take_returned();
        for host in sessions.world.hosts() {
            if returned.contains(&host.node) {
                begin(&mut sessions, host, seed, &done);
            }
        }
    }
    done.is_over.set(true);
    while !sessions.world.stop_failing() {
        sessions.world.run_for(SECOND / 20);
    }
    sessions.world.heal();
    sessions.finish(600 * SECOND);
    assert!(sessions.world.run_until(600 * SECOND, World::is_ready), "a node does not serve");
    let is_quiet = |world: &World| {
        let hosts = world.hosts();
        world.is_settled()
            && contents::is_quiescent(world)
            && hosts.iter().all(|host| unfinished(world, *host).is_none())
    };
    if !sessions.world.run_until(120 * SECOND, is_quiet) {
        let world = &sessions.world;
        let hosts = world.hosts();
        let left = hosts.iter().find_map(|host| unfinished(world, *host));
        panic!("there is no rest: {:?}, {left:?}", contents::restless(world));
    }
    let nodes: Vec<_> = sessions.world.hosts().iter().map(|host| host.node).collect();
    let mut looked = Vec::new();
    for host in sessions.world.hosts() {
        if !looked.contains(&host.node) {
            looked.push(host.node);
            sessions.begin_on(host, look_at_all);
            sessions.finish(600 * SECOND);
        }
    }
    assert!(!looked.is_empty() && looked.len() <= nodes.len());
    assert!(sessions.world.run_until(120 * SECOND, is_quiet), "the definitions last");
    // Versions that only snapshots of these sessions could see go.
    sessions.world.run_for(SECOND);
    let catalogue = sessions.world.client(sessions.world.hosts()[0]).catalogue();
    contents::examine(&sessions.world, catalogue).unwrap_or_else(|problem| panic!("{problem}"));
    (done.changes.get(), done.definitions.get(), done.answers.get())
}

#[test]
fn definitions_and_families_outlive_outages() {
    let first = std::env::var("SKARV_TEST_DAY").ok().and_then(|day| day.parse::<u64>().ok());
    let wanted =
        std::env::var("SKARV_TEST_OUTAGES").ok().and_then(|count| count.parse::<u64>().ok());
    let only = std::env::var("SKARV_TEST_OUTAGE").ok().and_then(|seed| seed.parse::<u64>().ok());
    let seeds = match (only, wanted) {
        (Some(seed), _) => seed..seed + 1,
        (None, Some(count)) => {
            let first = first.unwrap_or(0) * 10_000;
            first..first + count
        }
        (None, None) => 0..WORLDS,
    };
    let mut totals = (0, 0, 0);
    for seed in seeds.clone() {
        let thread = std::thread::Builder::new().stack_size(STACK_SIZE);
        let ran = thread.spawn(move || run(seed)).expect("a thread");
        let (changes, definitions, answers) =
            ran.join().unwrap_or_else(|_| panic!("SKARV_TEST_OUTAGE={seed}, {:?}", options(seed)));
        assert!(
            options(seed).shape == Shape::Single || 0 < changes,
            "seed {seed}: nothing was done"
        );
        totals = (totals.0 + changes, totals.1 + definitions, totals.2 + answers);
    }
    let (changes, definitions, answers) = totals;
    let count = seeds.count();
    println!("{count} worlds: {changes} changes, {definitions} definitions, {answers} answers");
    // Of one world a failure may take most of the time.
    let is_enough = 50 * count < changes && count < definitions && 100 * count < answers;
    assert!(count < 4 || is_enough, "{totals:?}");
}
