//! ALTER TABLE that rewrites a table while sessions on all nodes write and read it, at every isolation level. Every snapshot has whole
//! transactions, each key finds each row, and in the end each row is there as its writer has left it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use kernel::Mutation;
use sim::options::{SECOND, Shape};
use sim::statements::{Sessions, broken_world, succeed};
use sql::Session;
use sql::check::random::Random;
use sql::script::run as ask;
use sql::server::BrokenRule;

/// Of the threads that run statements in a node.
const STACK_SIZE: usize = 16 << 20;

const WRITER_COUNT: usize = 4;
/// Keys of a writer, which writes no others.
const KEY_COUNT: usize = 60;
const TRANSACTIONS_PER_WRITER: usize = 150;
const ISOLATIONS: [&str; 3] = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

/// The sum of v is 0 in every snapshot. g is filled where it is not named.
const TABLE: &str = "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL, u INT, g INT NOT NULL DEFAULT 1, UNIQUE KEY (u), KEY (v))";

/// What the table becomes, one after the other.
const ALTERATIONS: [&str; 20] = [
    "ALTER TABLE t ADD COLUMN w VARCHAR(20) NOT NULL DEFAULT 'filled' FIRST",
    "ALTER TABLE t ADD COLUMN i INT NOT NULL DEFAULT 7, ALGORITHM=INSTANT",
    "ALTER TABLE t ADD COLUMN j VARCHAR(9) DEFAULT 'seven', ADD COLUMN e ENUM('a') NOT NULL DEFAULT 'a', ALGORITHM=INSTANT",
    "ALTER TABLE t MODIFY e ENUM('a','b') DEFAULT 'b', DROP COLUMN j, ALGORITHM=INSTANT",
    "ALTER TABLE t MODIFY v BIGINT NOT NULL, ADD COLUMN s BIGINT AS (v + 1) STORED, ADD KEY (s)",
    "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id, g)",
    "ALTER TABLE t MODIFY u VARCHAR(12)",
    "ALTER TABLE t ADD COLUMN j TEXT, ALGORITHM=INSTANT",
    "ALTER TABLE t DROP COLUMN s, MODIFY g BIGINT NOT NULL DEFAULT 1 FIRST",
    "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (g, id), CONVERT TO CHARACTER SET latin1",
    "ALTER TABLE t ADD COLUMN d DECIMAL(10,2) DEFAULT 1.5, ADD CHECK (g > 0)",
    "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id), ADD UNIQUE KEY pair (u, g)",
    "ALTER TABLE t MODIFY v INT NOT NULL AFTER id, DROP COLUMN w",
    "ALTER TABLE t DROP COLUMN e, ADD COLUMN j2 DATETIME DEFAULT CURRENT_TIMESTAMP, ALGORITHM=INSTANT",
    "ALTER TABLE t MODIFY u INT, DROP COLUMN d",
    "ALTER TABLE t DROP KEY pair, MODIFY g INT NOT NULL DEFAULT 1",
    "ALTER TABLE t DROP CHECK t_chk_1, ADD COLUMN z DATETIME DEFAULT CURRENT_TIMESTAMP",
    "ALTER TABLE t DROP COLUMN j2, DROP COLUMN j, ALGORITHM=INSTANT",
    "ALTER TABLE t ADD COLUMN j INT NOT NULL DEFAULT 7, ALGORITHM=INSTANT",
    "ALTER TABLE t DROP COLUMN z, ALGORITHM=INSTANT",
];

/// What a statement may end with: deadlocks, waits that took too long, changed definitions.
const EXPECTED_ERRORS: [u16; 3] = [1205, 1213, 1412];

type Rows = BTreeMap<usize, i64>;

async fn prepare(mut session: Session) {
    succeed(&mut session, "CREATE DATABASE test").await;
    succeed(&mut session, "USE test").await;
    succeed(&mut session, TABLE).await;
}

/// Statements of one transaction on two rows, and the rows behind it.
fn change(random: &mut Random, rows: &Rows, first: usize) -> (Vec<String>, Rows) {
    let mut after = rows.clone();
    let mut key = || first + random.below(KEY_COUNT);
    let (one, other) = (key(), key());
    if one == other {
        return (Vec::new(), after);
    }
    let amount = 1 + random.below(100) as i64;
    let statements = match (rows.get(&one), rows.get(&other)) {
        (None, None) => {
            after.extend([(one, amount), (other, -amount)]);
            vec![format!(
                "INSERT INTO t (id, v, u) VALUES ({one}, {amount}, {one}), ({other}, {}, {other})",
                -amount
            )]
        }
        (Some(own), None) => {
            // The row moves to another key.
            after.remove(&one);
            after.insert(other, *own);
            match random.below(3) {
                0 => vec![format!("UPDATE t SET id = {other}, u = {other} WHERE id = {one}")],
                1 => vec![
                    format!("DELETE FROM t WHERE u = {one}"),
                    format!("REPLACE INTO t (id, v, u) VALUES ({other}, {own}, {other})"),
                ],
                _ => vec![
                    format!("INSERT INTO t (id, v, u) VALUES ({other}, {own}, {other})"),
                    format!("DELETE FROM t WHERE id = {one}"),
                ],
            }
        }
        (None, Some(own)) => {
            after.extend([(one, -amount), (other, own + amount)]);
            vec![
                format!("INSERT INTO t (id, v, u) VALUES ({one}, {}, {one})", -amount),
                format!(
                    "INSERT INTO t (id, v, u) VALUES ({other}, 0, {other}) \
                     ON DUPLICATE KEY UPDATE v = v + {amount}"
                ),
            ]
        }
        (Some(own), Some(others)) => match random.below(2) {
            0 => {
                after.extend([(one, own + amount), (other, others - amount)]);
                vec![
                    format!("UPDATE t SET v = v + {amount} WHERE id = {one}"),
                    format!("UPDATE t SET v = v - {amount} WHERE u = {other}"),
                ]
            }
            _ => {
                after.remove(&one);
                after.insert(other, own + others);
                vec![
                    format!("DELETE FROM t WHERE id = {one}"),
                    format!("UPDATE t SET v = {} WHERE id IN ({other}, {one})", own + others),
                ]
            }
        },
    };
    (statements, after)
}

/// Transactions on the writer's own keys: the rows that it leaves.
async fn write(
    mut session: Session,
    seed: u64,
    first: usize,
    done: Rc<Cell<usize>>,
    left: Rc<RefCell<Rows>>,
) {
    let mut random = Random::new(seed);
    let mut rows = Rows::new();
    succeed(&mut session, "USE test").await;
    succeed(&mut session, "SET innodb_lock_wait_timeout = 3").await;
    for _ in 0..TRANSACTIONS_PER_WRITER {
        let isolation = *random.pick(&ISOLATIONS);
        succeed(&mut session, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"))
            .await;
        let (statements, after) = change(&mut random, &rows, first);
        succeed(&mut session, "BEGIN").await;
        let mut texts = statements;
        if random.below(3) == 0 {
            // The snapshot is older than the changes.
            texts.insert(0, "SELECT COUNT(*) FROM t WHERE id < 10".into());
        }
        let mut is_whole = true;
        for text in &texts {
            match ask(&mut session, text).await.error {
                None => {}
                Some(error) if EXPECTED_ERRORS.contains(&error.code) => {
                    is_whole = false;
                    break;
                }
                Some(error) => panic!("{text}: {error}"),
            }
        }
        if !is_whole || random.below(5) == 0 {
            succeed(&mut session, "ROLLBACK").await;
            continue;
        }
        match ask(&mut session, "COMMIT").await.error {
            None => {
                rows = after;
                done.set(done.get() + 1);
            }
            Some(error) if EXPECTED_ERRORS.contains(&error.code) => {}
            Some(error) => panic!("COMMIT: {error}"),
        }
    }
    left.borrow_mut().extend(rows);
}

/// Rows that go and come all together, by statements that last longer than a step of the definition.
const BULK: std::ops::Range<usize> = 1_000..1_400;

async fn sweep(mut session: Session, altered: Rc<Cell<usize>>) {
    succeed(&mut session, "USE test").await;
    let rows: Vec<String> = BULK.map(|id| format!("({id}, 0, {id})")).collect();
    let insert = format!("INSERT INTO t (id, v, u) VALUES {}", rows.join(", "));
    let delete = format!("DELETE FROM t WHERE id >= {}", BULK.start);
    let mut is_there = false;
    while altered.get() < ALTERATIONS.len() || is_there {
        let text = if is_there { &delete } else { &insert };
        match ask(&mut session, text).await.error {
            None => is_there = !is_there,
            Some(error) if EXPECTED_ERRORS.contains(&error.code) => {}
            Some(error) => panic!("{delete} or its opposite: {error}"),
        }
        succeed(&mut session, "DO SLEEP(0.001)").await;
    }
}

/// Takes single ones of these rows away and puts them back.
async fn touch(mut session: Session, seed: u64, altered: Rc<Cell<usize>>) {
    let mut random = Random::new(seed);
    succeed(&mut session, "USE test").await;
    while altered.get() < ALTERATIONS.len() {
        let id = BULK.start + random.below(BULK.len());
        succeed(&mut session, "BEGIN").await;
        let deleted = ask(&mut session, &format!("DELETE FROM t WHERE id = {id}")).await;
        let is_there = deleted.ok.is_some_and(|ok| ok.affected_rows == 1);
        let insert = format!("INSERT INTO t (id, v, u) VALUES ({id}, 0, {id})");
        let is_back = is_there && ask(&mut session, &insert).await.error.is_none();
        ask(&mut session, if is_back { "COMMIT" } else { "ROLLBACK" }).await;
        succeed(&mut session, "DO SLEEP(0.002)").await;
    }
}

async fn alter(mut session: Session, altered: Rc<Cell<usize>>) {
    succeed(&mut session, "USE test").await;
    for text in ALTERATIONS {
        loop {
            match ask(&mut session, text).await.error {
                None => break,
                Some(error) if EXPECTED_ERRORS.contains(&error.code) => {}
                Some(error) => panic!("{text}: {error}"),
            }
        }
        altered.set(altered.get() + 1);
    }
}

/// Reads until the table is altered.
async fn read(
    mut session: Session,
    isolation: &'static str,
    altered: Rc<Cell<usize>>,
    checked: Rc<Cell<usize>>,
) {
    succeed(&mut session, "USE test").await;
    succeed(&mut session, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")).await;
    let queries = [
        "SELECT COALESCE(SUM(v), 0), 0 FROM t",
        "SELECT COUNT(*), COUNT(*) FROM t WHERE u <> id OR g <> 1",
        "SELECT COUNT(*), 0 FROM t a LEFT JOIN t b ON b.u = a.u WHERE b.id IS NULL OR b.id <> a.id",
        "SELECT COUNT(*), COUNT(*) FROM (SELECT DISTINCT * FROM t) x WHERE g <> 1",
        "SELECT (SELECT COUNT(*) FROM t FORCE INDEX (u) WHERE u >= '0') - COUNT(*), 0 FROM t",
    ];
    let mut round = 0;
    while altered.get() < ALTERATIONS.len() {
        round += 1;
        // Statements that need no message take no time in the simulator.
        succeed(&mut session, "DO SLEEP(0.01)").await;
        let is_open = round % 2 == 1;
        if is_open {
            succeed(&mut session, "BEGIN").await;
        }
        for query in queries {
            let answer = ask(&mut session, query).await;
            match answer.error {
                Some(error) if EXPECTED_ERRORS.contains(&error.code) => break,
                Some(error) => panic!("{isolation}: {query}: {error}"),
                None => {
                    assert_eq!(answer.rows, [["0", "0"]], "{isolation}: {query}");
                    checked.set(checked.get() + 1);
                }
            }
        }
        if is_open {
            ask(&mut session, "COMMIT").await;
        }
    }
}

/// The rows that the writers have left are those of the table, found by each of its keys.
async fn compare(mut session: Session, left: Rc<RefCell<Rows>>) {
    succeed(&mut session, "USE test").await;
    for query in [
        "SELECT id, v FROM t ORDER BY id",
        "SELECT id, v FROM t FORCE INDEX (u) WHERE u >= 0 ORDER BY id",
        "SELECT id, v FROM t FORCE INDEX (v) WHERE v > -1000000 ORDER BY id",
    ] {
        let answer = ask(&mut session, query).await;
        assert_eq!(answer.error, None, "{query}");
        let wanted: Vec<Vec<String>> =
            left.borrow().iter().map(|(id, v)| vec![id.to_string(), v.to_string()]).collect();
        assert_eq!(answer.rows, wanted, "{query}");
    }
    // Rows of all ages have what ADD COLUMN gave the older ones.
    let query = "SELECT COUNT(*) FROM t WHERE i <> 7 OR j <> 7 OR i IS NULL OR j IS NULL";
    assert_eq!(ask(&mut session, query).await.rows, [["0"]]);
}

/// A rule that is broken, by sessions or by nodes.
#[derive(Clone, Copy, Debug)]
enum Broken {
    Session(BrokenRule),
    Node(Mutation),
}

/// What was done: transactions committed, and answers that were right.
fn run(shape: Shape, seed: u64, broken: Option<Broken>) -> (usize, usize) {
    let (broken_rule, mutation) = match broken {
        Some(Broken::Session(rule)) => (Some(rule), Mutation::None),
        Some(Broken::Node(mutation)) => (None, mutation),
        None => (None, Mutation::None),
    };
    let world = broken_world(shape, seed, mutation).expect("a cluster");
    let mut sessions = Sessions::new(world, broken_rule);
    sessions.begin(0, prepare);
    sessions.finish(600 * SECOND);
    let (done, checked) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let altered = Rc::new(Cell::new(0));
    let left: Rc<RefCell<Rows>> = Rc::default();
    for number in 0..WRITER_COUNT {
        let seed = 1_000 * seed + number as u64;
        let first = 1 + number * KEY_COUNT;
        let (done, left) = (Rc::clone(&done), Rc::clone(&left));
        sessions.begin(number, |session| write(session, seed, first, done, left));
    }
    for (number, isolation) in ISOLATIONS.into_iter().enumerate() {
        let (altered, checked) = (Rc::clone(&altered), Rc::clone(&checked));
        sessions.begin(number + 1, |session| read(session, isolation, altered, checked));
    }
    sessions.begin(0, |session| sweep(session, Rc::clone(&altered)));
    sessions.begin(1, |session| touch(session, seed, Rc::clone(&altered)));
    sessions.begin(1, |session| alter(session, Rc::clone(&altered)));
    sessions.finish(7200 * SECOND);
    sessions.begin(0, |session| compare(session, left));
    sessions.finish(600 * SECOND);
    (done.get(), checked.get())
}

#[test]
fn rows_outlive_every_definition() {
    for shape in [Shape::Single, Shape::Pair, Shape::TwoGroups] {
        for seed in 1..=3 {
            let thread = std::thread::Builder::new().stack_size(STACK_SIZE);
            let ran = thread.spawn(move || run(shape, seed, None)).expect("a thread");
            let (done, checked) = ran.join().unwrap_or_else(|_| panic!("{shape:?}, seed {seed}"));
            assert!(200 < done && 30 < checked, "{shape:?}, seed {seed}: {done}, {checked}");
        }
    }
}

/// Each rule is missed where it is broken: by a row that is wrong, or by an error that is none of those expected.
#[test]
fn broken_rules_are_found() {
    for rule in [
        Broken::Session(BrokenRule::CopyNotKept),
        Broken::Session(BrokenRule::CopyLeftBehind),
        Broken::Session(BrokenRule::CopiedUnlocked),
        Broken::Node(Mutation::ClosedTableUsed),
    ] {
        let is_found = (1..=20).any(|seed| {
            let thread = std::thread::Builder::new().stack_size(STACK_SIZE);
            let play = move || run(Shape::Pair, seed, Some(rule));
            thread.spawn(play).expect("a thread").join().is_err()
        });
        assert!(is_found, "{rule:?}");
    }
}
