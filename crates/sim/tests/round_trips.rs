//! How often a statement asks the shards. A batch of operations goes to all shards that it concerns at once, so that it takes the
//! time of one round trip, whatever the number of shards and rows.

use sim::options::{SECOND, Shape};
use sim::statements::{open, quiet_world};
use sql::Session;
use sql::script::{Answer, run};

/// Of the threads that run statements in a node.
const STACK_SIZE: usize = 16 << 20;

/// A statement, its number of rows, and the batches that it takes at most.
const STATEMENTS: [(&str, usize, u64); 30] = [
    ("SELECT COUNT(*), SUM(i.v) FROM o STRAIGHT_JOIN i ON i.id = o.k WHERE o.id <= 100", 1, 2),
    ("SELECT v FROM i WHERE id = 7", 1, 1),
    ("SELECT i.v FROM o STRAIGHT_JOIN i ON i.id = o.k WHERE o.id <= 100", 100, 2),
    ("SELECT i.v FROM o STRAIGHT_JOIN i ON i.id = o.k WHERE o.id = 5", 1, 2),
    ("SELECT o.id FROM i STRAIGHT_JOIN o ON o.k = i.id WHERE i.id <= 100", 100, 2),
    ("SELECT i.v FROM o LEFT JOIN i ON i.id = o.k + 1000 WHERE o.id <= 100", 100, 2),
    ("SELECT COUNT(*) FROM o STRAIGHT_JOIN i ON i.u = o.k WHERE o.id <= 100", 1, 3),
    ("SELECT o.id FROM o WHERE o.id <= 100 AND EXISTS (SELECT 1 FROM i WHERE i.id = o.k)", 100, 2),
    (
        "SELECT o.id FROM o WHERE o.id <= 100 AND NOT EXISTS (SELECT 1 FROM i WHERE i.id = o.k)",
        0,
        2,
    ),
    ("SELECT o.id FROM o WHERE o.k IN (SELECT id FROM i WHERE id BETWEEN 11 AND 20)", 10, 2),
    ("SELECT v.b FROM (SELECT id, v AS b FROM i) v WHERE v.id = 7", 1, 1),
    ("SELECT COUNT(*), SUM(v) FROM (SELECT id, v FROM i WHERE id > 3) d WHERE v < 50", 1, 1),
    ("SELECT MAX(id) FROM i", 1, 1),
    (
        "SELECT a.v FROM o STRAIGHT_JOIN i a ON a.id = o.k STRAIGHT_JOIN i b ON b.id = a.v WHERE o.id <= 100",
        100,
        3,
    ),
    ("UPDATE i SET v = v + 1 WHERE id = 7", 0, 1),
    // A piece of each shard's first rows, and the look-ups of these.
    ("SELECT i.v FROM o JOIN i ON i.id = o.k ORDER BY o.id LIMIT 5", 5, 2),
    ("SELECT i.v FROM o LEFT JOIN i ON i.id = o.k + 1000 ORDER BY o.k DESC LIMIT 5, 5", 5, 2),
    ("SELECT i.v FROM o JOIN i ON i.id = o.k ORDER BY o.id LIMIT 150", 150, 6),
    ("SELECT i.v FROM o STRAIGHT_JOIN i ON i.id = o.k LIMIT 5", 5, 2),
    // The names of the first rows, the locks of those that are returned, and the look-up.
    ("SELECT i.v FROM o JOIN i ON i.id = o.k ORDER BY o.id LIMIT 5 FOR UPDATE", 5, 3),
    ("SELECT i.v FROM o JOIN i ON i.id = o.k ORDER BY o.id LIMIT 1 FOR UPDATE SKIP LOCKED", 1, 3),
    ("SELECT v FROM i WHERE id IN (9, 3, 7) ORDER BY id LIMIT 1 FOR UPDATE", 1, 1),
    ("UPDATE i SET u = 1000 - u WHERE id = 7", 0, 2),
    ("UPDATE IGNORE i SET u = 1000 - u WHERE id IN (8, 9)", 0, 3),
    ("UPDATE IGNORE i SET u = 20 WHERE id IN (8, 9)", 0, 2),
    ("DELETE FROM i WHERE id IN (7000, 8000)", 0, 1),
    (
        "INSERT INTO i VALUES (1, 1, 1), (1, 1, 1), (2, 2, 2) ON DUPLICATE KEY UPDATE v = v + 1",
        0,
        2,
    ),
    ("INSERT IGNORE INTO i VALUES (1, 5, 1), (300, 1, 1), (300, 1, 2), (2, 2, 2)", 0, 1),
    ("REPLACE INTO i VALUES (1, 1, 3), (1, 1, 4), (2, 2, 5)", 0, 2),
    ("UPDATE o JOIN i ON i.id = o.k SET o.k = o.k, i.v = i.v + 1 WHERE o.id <= 100", 0, 3),
];

async fn must(session: &mut Session, text: &str) -> Answer {
    let answer = run(session, text).await;
    assert!(answer.error.is_none(), "{text}: {:?}", answer.error);
    answer
}

fn judge(shape: Shape) {
    let mut world = quiet_world(shape, 7).expect("a cluster");
    let mut session = open(&mut world);
    let host = world.hosts()[0];
    let client = world.client(host);
    let task = world.spawn(
        host,
        Box::pin(async move {
            must(&mut session, "CREATE DATABASE test").await;
            must(&mut session, "USE test").await;
            let i = "CREATE TABLE i (id INT PRIMARY KEY, u INT NOT NULL UNIQUE, v INT NOT NULL)";
            must(&mut session, i).await;
            must(&mut session, "CREATE TABLE o (id INT PRIMARY KEY, k INT NOT NULL, KEY (k))")
                .await;
            for id in 1..=200 {
                must(&mut session, &format!("INSERT INTO i VALUES ({id}, {id}, {id})")).await;
                must(&mut session, &format!("INSERT INTO o VALUES ({id}, {})", 201 - id)).await;
            }
            for (text, rows, batches) in STATEMENTS {
                // The plan is made, and the counts of rows are asked for.
                must(&mut session, text).await;
                let before = client.batch_count();
                let answer = must(&mut session, text).await;
                let taken = client.batch_count() - before;
                assert_eq!(answer.rows.len(), rows, "{text}");
                let plan = must(&mut session, &format!("EXPLAIN {text}")).await.rows;
                assert!(taken <= batches, "{text}: {taken} batches, {batches} at most: {plan:?}");
            }
        }),
    );
    assert!(world.run_until(3600 * SECOND, |world| world.is_finished(host, task)), "it hangs");
}

#[test]
fn statements_ask_the_shards_few_times() {
    for shape in [Shape::Pair, Shape::TwoGroups] {
        let thread = std::thread::Builder::new().stack_size(STACK_SIZE);
        let judged = thread.spawn(move || judge(shape)).expect("a thread").join();
        judged.unwrap_or_else(|_| panic!("{shape:?}"));
    }
}
