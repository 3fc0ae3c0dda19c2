//! A statement that reads several relations reads all of them at one snapshot: sessions change both sides of a join in one
//! transaction each, and no statement of others sees half of one, whatever joins the sides, at any isolation level, on one and
//! two node groups.

use std::cell::Cell;
use std::rc::Rc;

use sim::options::{SECOND, Shape};
use sim::statements::{Sessions, quiet_world, succeed};
use sql::Session;
use sql::script::run as ask;

/// Of the threads that run statements in a node.
const STACK_SIZE: usize = 16 << 20;

const ROW_COUNT: usize = 40;
const CHANGES_PER_WRITER: usize = 60;
const ROUNDS_PER_READER: usize = 12;

/// Each gives the one value 0 unless it sees half a transaction: both sides of a pair have the same v.
const QUERIES: [&str; 14] = [
    "SELECT COUNT(*) FROM a STRAIGHT_JOIN b ON b.id = a.id WHERE a.id = 8 AND a.v <> b.v",
    "SELECT COUNT(*) FROM b STRAIGHT_JOIN a ON a.id = b.id WHERE b.id IN (1, 8, 15) AND a.v <> b.v",
    "SELECT (SELECT v FROM a WHERE id = 12) - (SELECT v FROM b WHERE id = 12)",
    "SELECT COUNT(*) FROM a JOIN b ON b.a_id = a.id WHERE a.v <> b.v",
    "SELECT COUNT(*) FROM a STRAIGHT_JOIN b ON b.id = a.id WHERE a.v <> b.v",
    "SELECT COUNT(*) FROM b STRAIGHT_JOIN a ON a.id = b.a_id WHERE a.v <> b.v AND b.id < 9",
    "SELECT COUNT(*) FROM a IGNORE INDEX (PRIMARY) STRAIGHT_JOIN b IGNORE INDEX (PRIMARY, a_id) \
     ON b.a_id = a.id WHERE a.v <> b.v",
    "SELECT COUNT(*) FROM a LEFT JOIN b ON b.a_id = a.id AND b.v = a.v WHERE b.id IS NULL",
    "SELECT (SELECT SUM(v) FROM a) - (SELECT SUM(v) FROM b)",
    "SELECT COUNT(*) FROM a WHERE v <> (SELECT v FROM b WHERE b.a_id = a.id)",
    "SELECT COUNT(*) FROM a WHERE (id, v) NOT IN (SELECT a_id, v FROM b)",
    "SELECT COUNT(*) FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.a_id = a.id AND b.v = a.v)",
    "SELECT COUNT(*) FROM both_sides AS s WHERE s.va <> s.vb",
    "SELECT COUNT(*) FROM (SELECT id, v FROM a EXCEPT SELECT a_id, v FROM b) AS d",
];

async fn prepare(mut session: Session) {
    succeed(&mut session, "CREATE DATABASE test").await;
    succeed(&mut session, "CREATE TABLE test.a (id INT PRIMARY KEY, v INT NOT NULL)").await;
    let b =
        "CREATE TABLE test.b (id INT PRIMARY KEY, a_id INT NOT NULL, v INT NOT NULL, KEY (a_id))";
    succeed(&mut session, b).await;
    let view = "CREATE VIEW test.both_sides AS SELECT a.id, a.v AS va, b.v AS vb FROM test.a JOIN test.b ON b.a_id = a.id";
    succeed(&mut session, view).await;
    for id in 1..=ROW_COUNT {
        succeed(&mut session, &format!("INSERT INTO test.a VALUES ({id}, 0)")).await;
        succeed(&mut session, &format!("INSERT INTO test.b VALUES ({id}, {id}, 0)")).await;
    }
}

async fn write(mut session: Session, first: usize) {
    succeed(&mut session, "USE test").await;
    for change in 0..CHANGES_PER_WRITER {
        let id = 1 + (first + 7 * change) % ROW_COUNT;
        succeed(&mut session, "BEGIN").await;
        let sides = [
            format!("UPDATE b SET v = v + 1 WHERE a_id = {id}"),
            format!("UPDATE a SET v = v + 1 WHERE id = {id}"),
        ];
        let mut is_done = true;
        for side in &sides[..] {
            is_done &= ask(&mut session, side).await.error.is_none();
        }
        // One that lost a deadlock is rolled back as a whole.
        ask(&mut session, if is_done { "COMMIT" } else { "ROLLBACK" }).await;
    }
}

async fn read(mut session: Session, isolation: &'static str, checked: Rc<Cell<usize>>) {
    succeed(&mut session, "USE test").await;
    succeed(&mut session, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")).await;
    for round in 0..ROUNDS_PER_READER {
        let is_open = round % 2 == 1;
        if is_open {
            succeed(&mut session, "BEGIN").await;
        }
        for query in QUERIES {
            let answer = ask(&mut session, query).await;
            match answer.error {
                // At SERIALIZABLE a reader may lose a deadlock.
                Some(error) if matches!(error.code, 1205 | 1213) => break,
                Some(error) => panic!("{isolation}: {query}: {error}"),
                None => {
                    assert_eq!(answer.rows, [["0"]], "{isolation}: {query}");
                    checked.set(checked.get() + 1);
                }
            }
        }
        if is_open {
            succeed(&mut session, "COMMIT").await;
        }
    }
}

fn run(shape: Shape, seed: u64) -> usize {
    let world = quiet_world(shape, seed).expect("a cluster");
    let mut sessions = Sessions::new(world, None);
    sessions.begin(0, prepare);
    sessions.finish(600 * SECOND);
    let checked = Rc::new(Cell::new(0));
    for number in 0..3 {
        sessions.begin(number, |session| write(session, 11 * number));
    }
    for (number, isolation) in
        ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"].into_iter().enumerate()
    {
        let checked = Rc::clone(&checked);
        sessions.begin(number + 1, |session| read(session, isolation, checked));
    }
    sessions.finish(3600 * SECOND);
    checked.get()
}

#[test]
fn statements_see_whole_transactions() {
    for shape in [Shape::Single, Shape::Pair, Shape::TwoGroups] {
        for seed in 1..=3 {
            let thread = std::thread::Builder::new().stack_size(STACK_SIZE);
            let checked = thread.spawn(move || run(shape, seed)).expect("a thread").join();
            let checked = checked.unwrap_or_else(|_| panic!("{shape:?}, seed {seed}"));
            assert!(2 * QUERIES.len() < checked, "{shape:?}, seed {seed}: {checked} answers");
        }
    }
}
