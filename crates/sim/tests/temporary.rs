//! Temporary tables beside others in one transaction: sessions on all nodes keep the rows that they own in a shared table a second
//! time, in a temporary one, and take locks of each other's way. However a statement or a transaction ends (done, duplicate key,
//! deadlock, wait that took too long, ROLLBACK, ROLLBACK TO), both have the same rows.

use std::cell::Cell;
use std::rc::Rc;

use sim::options::{SECOND, Shape};
use sim::statements::{Sessions, quiet_world, succeed};
use sql::Session;
use sql::check::random::Random;
use sql::script::run as ask;

/// Of the threads that run statements in a node.
const STACK_SIZE: usize = 16 << 20;

const SESSION_COUNT: usize = 4;
const TRANSACTIONS_PER_SESSION: usize = 60;

/// What a statement may end with: taken keys, waits that took too long, deadlocks, an unknown savepoint.
const EXPECTED_ERRORS: [u16; 4] = [1062, 1205, 1213, 1305];

async fn prepare(mut session: Session) {
    for text in [
        "CREATE DATABASE test",
        "CREATE TABLE test.ledger (owner INT, n INT, v INT, u INT, PRIMARY KEY (owner, n), KEY (v), UNIQUE KEY (u))",
        "INSERT INTO test.ledger VALUES (-1, 0, 0, 1)",
        "CREATE TABLE test.hot (id INT PRIMARY KEY, v INT)",
        "INSERT INTO test.hot VALUES (1, 0), (2, 0), (3, 0)",
    ] {
        succeed(&mut session, text).await;
    }
}

/// A statement, or two that are one change: of the ledger and of its copy.
fn change(random: &mut Random, owner: usize) -> Vec<String> {
    let (n, v) = (random.below(8), random.below(100));
    match random.below(11) {
        0 | 1 => vec![
            format!("INSERT INTO ledger VALUES ({owner}, {n}, {v}, NULL)"),
            format!("INSERT INTO mine VALUES ({owner}, {n}, {v}, NULL)"),
        ],
        2 => vec![format!(
            "UPDATE ledger JOIN mine USING (owner, n) SET ledger.v = {v}, mine.v = {v} WHERE owner = {owner} AND n <> {n}"
        )],
        3 => vec![format!(
            "DELETE ledger, mine FROM ledger JOIN mine USING (owner, n) WHERE owner = {owner} AND n = {n}"
        )],
        // The second row has the key of the first: all of it goes.
        4 => vec![format!("INSERT INTO mine (owner, n) VALUES ({owner}, 50), ({owner}, 50)")],
        5 => vec![format!("UPDATE hot SET v = v + 1 WHERE id = {}", 1 + n % 3)],
        6 => vec![format!("SELECT * FROM hot WHERE id = {} FOR UPDATE", 1 + n % 3)],
        // A shard refuses it when the temporary table has been changed, and the other way round.
        7 => vec![format!(
            "UPDATE mine JOIN ledger USING (owner, n) SET mine.v = mine.v + 1, ledger.u = 1 WHERE owner = {owner} AND n = {n}"
        )],
        8 => vec![format!(
            "UPDATE ledger JOIN mine USING (owner, n) SET ledger.v = ledger.v + 1, mine.u = 1 WHERE owner = {owner} AND n <> {n}"
        )],
        9 => vec!["SAVEPOINT s".to_owned()],
        _ => vec!["ROLLBACK TO s".to_owned()],
    }
}

/// Do both tables have the same rows of this owner?
async fn compare(session: &mut Session, owner: usize, seed: u64) {
    let rows = |table: &str, condition: String| {
        format!("SELECT n, v FROM {table} WHERE {condition} ORDER BY n, v")
    };
    let shared = ask(session, &rows("ledger", format!("owner = {owner}"))).await;
    let own = ask(session, &rows("mine", format!("owner = {owner}"))).await;
    let by_key =
        ask(session, &rows("mine FORCE INDEX (v)", format!("v >= 0 AND owner = {owner}"))).await;
    assert!(shared.error.is_none() && own.error.is_none(), "{:?} {:?}", shared.error, own.error);
    assert_eq!(shared.rows, own.rows, "session {owner}, seed {seed}");
    assert_eq!(own.rows, by_key.rows, "session {owner}, seed {seed}");
}

async fn write(mut session: Session, owner: usize, seed: u64, rolled_back: Rc<Cell<usize>>) {
    let mut random = Random::new(seed * 100 + owner as u64);
    succeed(&mut session, "USE test").await;
    succeed(&mut session, "SET innodb_lock_wait_timeout = 1").await;
    succeed(&mut session, "CREATE TEMPORARY TABLE mine LIKE ledger").await;
    succeed(&mut session, "INSERT INTO mine VALUES (-1, 0, 0, 1)").await;
    for _ in 0..TRANSACTIONS_PER_SESSION {
        succeed(&mut session, "BEGIN").await;
        'transaction: {
            for _ in 0..random.below(8) {
                for text in change(&mut random, owner) {
                    match ask(&mut session, &text).await.error {
                        None => {}
                        // The whole transaction is rolled back.
                        Some(error) if error.code == 1213 => {
                            rolled_back.set(rolled_back.get() + 1);
                            break 'transaction;
                        }
                        Some(error) if EXPECTED_ERRORS.contains(&error.code) => break,
                        Some(error) => panic!("{text}: {error}"),
                    }
                }
                ask(&mut session, "DO SLEEP(0.001)").await;
            }
            compare(&mut session, owner, seed).await;
        }
        let end = if random.below(3) == 0 { "ROLLBACK" } else { "COMMIT" };
        succeed(&mut session, end).await;
        compare(&mut session, owner, seed).await;
    }
    // A new life of the connection has none.
    session.reset().await;
    succeed(&mut session, "USE test").await;
    let gone = ask(&mut session, "SELECT * FROM mine").await.error;
    assert_eq!(gone.map(|error| error.code), Some(1146));
}

/// Runs the sessions; how many transactions a deadlock has rolled back.
fn run(seed: u64) -> usize {
    let world = quiet_world(Shape::Pair, seed).expect("the cluster starts");
    let mut sessions = Sessions::new(world, None);
    sessions.begin(0, prepare);
    sessions.finish(100 * SECOND);
    let rolled_back = Rc::new(Cell::new(0));
    for owner in 0..SESSION_COUNT {
        let rolled_back = Rc::clone(&rolled_back);
        sessions.begin(owner, move |session| write(session, owner, seed, rolled_back));
    }
    sessions.finish(10_000 * SECOND);
    rolled_back.get()
}

#[test]
fn temporary_tables_follow_their_transactions() {
    let thread = std::thread::Builder::new().stack_size(STACK_SIZE);
    let thread = thread.spawn(|| (1..=5).map(run).sum::<usize>()).expect("a thread");
    let rolled_back = thread.join().expect("no session has failed");
    assert!(0 < rolled_back, "no deadlock has ended a transaction");
}
