//! Statements that spill have the rows that they have in memory. Each statement runs with the whole budget, and with the
//! least one, in which every sort, grouping, DISTINCT, hash join, set operation, window and kept result over these rows goes
//! through temporary files. Temporary files that fail give an error that names the reason, and none is left, however a
//! statement ends.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;

use client::{MemoryFiles, TempFileError};
use sim::options::{SECOND, Shape};
use sim::statements::{open, quiet_world};
use sql::check::random::Random;
use sql::script::{Answer, run};
use sql::{KillKind, Session};

/// Of the threads that run statements in a node.
const STACK_SIZE: usize = 16 << 20;
const ROW_COUNT: usize = 700;

/// How the rows of a statement are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    InOrder,
    /// In any order: the statement asks for none.
    Sorted,
}
use Rows::{InOrder, Sorted};

const STATEMENTS: &[(&str, Rows)] = &[
    // Sorts.
    ("SELECT * FROM a ORDER BY t, id", InOrder),
    ("SELECT * FROM a ORDER BY t DESC, d, f DESC, id", InOrder),
    ("SELECT t, bin, id FROM a ORDER BY bin, tb DESC, id DESC", InOrder),
    ("SELECT id, dt, tm, u FROM a ORDER BY dt, tm, u, id", InOrder),
    ("SELECT id, t FROM a ORDER BY f, id LIMIT 300", InOrder),
    ("SELECT id, t FROM a ORDER BY f, id LIMIT 200, 350", InOrder),
    ("SELECT id FROM a ORDER BY k, id LIMIT 5", InOrder),
    ("SELECT SQL_CALC_FOUND_ROWS id FROM a ORDER BY t, id LIMIT 10", InOrder),
    // Grouping.
    ("SELECT id, COUNT(*), SUM(d), MIN(t), MAX(bin), AVG(k) FROM a GROUP BY id", InOrder),
    ("SELECT t, COUNT(*), SUM(d), MIN(dt), MAX(tm) FROM a GROUP BY t", InOrder),
    ("SELECT tb, k, COUNT(d), SUM(u), BIT_XOR(k) FROM a GROUP BY tb, k", InOrder),
    (
        "SELECT k, d, COUNT(*), COUNT(DISTINCT t), GROUP_CONCAT(id ORDER BY id) FROM a GROUP BY k, d",
        InOrder,
    ),
    (
        "SELECT id % 300 g, GROUP_CONCAT(DISTINCT t ORDER BY t), ANY_VALUE(k) IS NULL FROM a GROUP BY g",
        InOrder,
    ),
    ("SELECT id, SUM(d) s FROM a GROUP BY id HAVING s > 10 ORDER BY s, id", InOrder),
    ("SELECT k, id, COUNT(*), SUM(d) FROM a GROUP BY k, id WITH ROLLUP", InOrder),
    ("SELECT k, d, id, MAX(bin) FROM a GROUP BY k, d, id WITH ROLLUP", InOrder),
    ("SELECT a.id + b.id g, COUNT(*), SUM(a.d) FROM a JOIN b ON a.k = b.k GROUP BY g", InOrder),
    ("SELECT COUNT(*), SUM(x.c) FROM (SELECT id, COUNT(*) c FROM a GROUP BY id) x", InOrder),
    ("SELECT STDDEV_POP(c) > 0 FROM (SELECT t, COUNT(*) c FROM a GROUP BY t) x", InOrder),
    // DISTINCT.
    ("SELECT DISTINCT t, k FROM a", Sorted),
    ("SELECT DISTINCT id + 1, t FROM a", Sorted),
    ("SELECT DISTINCT d, tb FROM a ORDER BY tb DESC, d", InOrder),
    ("SELECT DISTINCT t, k, d FROM a ORDER BY t, d, k LIMIT 300, 100", InOrder),
    ("SELECT COUNT(DISTINCT id), COUNT(DISTINCT t, k) FROM a", InOrder),
    // Hash joins: there is no key on the columns of b.
    ("SELECT a.id, b.id FROM a JOIN b ON a.k = b.k", Sorted),
    ("SELECT a.*, b.* FROM a JOIN b ON a.t = b.t AND a.id < b.id", Sorted),
    ("SELECT a.id, b.id, b.t FROM a LEFT JOIN b ON a.d = b.d AND b.k > 3", Sorted),
    ("SELECT a.id, b.id FROM a RIGHT JOIN b ON a.k + 1 = b.k", Sorted),
    ("SELECT a.id, b.id, c.id FROM a JOIN b ON a.d = b.d JOIN b c ON c.f = b.f", Sorted),
    ("SELECT a.id FROM a WHERE a.d IN (SELECT b.d FROM b WHERE b.k = a.k)", Sorted),
    ("SELECT a.id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.d = a.d AND b.t = a.t)", Sorted),
    ("SELECT a.id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.t = a.t AND b.id > a.id)", Sorted),
    ("SELECT COUNT(*), SUM(a.id * b.id) FROM a, b WHERE a.id < 300", InOrder),
    (
        "SELECT COUNT(*), SUM(b.id) FROM a JOIN b ON 1 = b.one AND a.one = b.one WHERE a.id < 300",
        InOrder,
    ),
    (
        "SELECT a.id, x.c FROM a LEFT JOIN (SELECT k, t, COUNT(*) c FROM b GROUP BY k, t) x ON x.k = a.k AND x.t = a.t",
        Sorted,
    ),
    (
        "SELECT x.id, y.id FROM (SELECT id, k FROM a LIMIT 600) x JOIN (SELECT id, k FROM b LIMIT 600) y ON x.id = y.id",
        Sorted,
    ),
    // Set operations, derived tables, WITH.
    ("SELECT t, k FROM a UNION SELECT t, k FROM b", Sorted),
    ("SELECT t, k FROM a UNION ALL SELECT t, k FROM b", Sorted),
    ("(SELECT id, d FROM a) UNION SELECT id, k FROM b ORDER BY 1, 2", InOrder),
    ("SELECT k, tb FROM a INTERSECT SELECT k, tb FROM b", Sorted),
    ("SELECT k, tb FROM a INTERSECT ALL SELECT k, tb FROM b", Sorted),
    ("SELECT t FROM a EXCEPT SELECT t FROM b WHERE k < 5", Sorted),
    ("SELECT t FROM a EXCEPT ALL SELECT t FROM b WHERE k < 9", Sorted),
    (
        "WITH x AS (SELECT id, t, k FROM a ORDER BY id LIMIT 500) SELECT p.id, q.t FROM x p JOIN x q ON p.id = q.id",
        Sorted,
    ),
    (
        "WITH RECURSIVE n AS (SELECT 1 i, 'x' s UNION ALL SELECT i + 1, 'y' FROM n WHERE i < 600) SELECT * FROM n",
        InOrder,
    ),
    (
        "SELECT (SELECT MAX(b.id) FROM b WHERE b.k = a.k) m, id FROM a WHERE id < 30 ORDER BY id",
        InOrder,
    ),
    // Windows.
    ("SELECT id, ROW_NUMBER() OVER (PARTITION BY k, d ORDER BY id) FROM a ORDER BY id", InOrder),
    (
        "SELECT id, RANK() OVER (PARTITION BY id % 200 ORDER BY id), SUM(k) OVER (PARTITION BY id % 150 ORDER BY id DESC) FROM a ORDER BY id",
        InOrder,
    ),
    ("SELECT id % 200 g, SUM(COUNT(*)) OVER (PARTITION BY id % 200) FROM a GROUP BY g", InOrder),
];

/// A hash join whose result has the order of its left rows, without a sort.
const ORDERED_JOIN: &str =
    "SELECT a.id FROM a STRAIGHT_JOIN b ON a.k = b.k + 0 ORDER BY a.id LIMIT 5000";

/// Statements that change rows, and a query that shows what they did.
const CHANGES: &[(&str, &str)] = &[
    ("INSERT INTO z SELECT id, t, k FROM a", "SELECT * FROM z ORDER BY id"),
    ("UPDATE z SET k = k + 1 ORDER BY t, id LIMIT 500", "SELECT * FROM z ORDER BY id"),
    ("DELETE FROM z ORDER BY t DESC, id LIMIT 300", "SELECT * FROM z ORDER BY id"),
    (
        "REPLACE INTO z SELECT id, MAX(t), COUNT(*) FROM a GROUP BY id",
        "SELECT * FROM z ORDER BY id",
    ),
    ("DELETE FROM z WHERE id % 2 = 0", "SELECT COUNT(*), SUM(id) FROM z"),
];

const LEAST: &str = "SET SESSION tmp_table_size = 1024";
const WHOLE: &str = "SET SESSION tmp_table_size = DEFAULT";

async fn must(session: &mut Session, text: &str) -> Answer {
    let answer = run(session, text).await;
    assert!(answer.error.is_none(), "{text}: {:?}", answer.error);
    answer
}

fn value(random: &mut Random, column: &str) -> String {
    if column != "one" && random.percent(8) {
        return "NULL".into();
    }
    let number = random.below(40);
    match column {
        "one" => "1".into(),
        "k" => number.to_string(),
        "u" => format!("{}", u64::MAX - number as u64),
        "d" => format!("{}.{}", number % 13, number % 7),
        "f" => format!("{}", number as f64 / 8.0),
        // Texts that their collation holds for equal, or not.
        "t" => format!("'{}{}'", ["a", "A", "á", "b", "ß", "ss", ""][number % 7], number % 5),
        "tb" => format!("'{}'", ["x", "X", "y", "Y "][number % 4]),
        "bin" => format!("x'{:02x}00{:02x}'", number, 255 - number),
        "dt" => format!("'2024-0{}-1{} 10:00:00.{}'", 1 + number % 9, number % 10, number),
        "tm" => format!("'{}:10:00'", number as i64 - 20),
        other => unreachable!("{other}"),
    }
}

async fn load(session: &mut Session, seed: u64) {
    let mut random = Random::new(seed);
    must(session, "CREATE DATABASE test").await;
    must(session, "USE test").await;
    const COLUMNS: [&str; 10] = ["one", "k", "u", "d", "f", "t", "tb", "bin", "dt", "tm"];
    for name in ["a", "b"] {
        let create = format!(
            "CREATE TABLE {name} (id INT PRIMARY KEY, one INT NOT NULL, k INT, u BIGINT UNSIGNED, \
             d DECIMAL(12,3), f DOUBLE, t VARCHAR(20), tb VARCHAR(20) COLLATE utf8mb4_bin, \
             bin VARBINARY(9), dt DATETIME(2), tm TIME)"
        );
        must(session, &create).await;
        let mut id = 0;
        while id < ROW_COUNT {
            let mut rows = Vec::new();
            for _ in 0..50 {
                id += 1;
                let values = COLUMNS.map(|column| value(&mut random, column));
                rows.push(format!("({id}, {})", values.join(", ")));
            }
            must(session, &format!("INSERT INTO {name} VALUES {}", rows.join(", "))).await;
        }
    }
    must(session, "CREATE TABLE z (id INT PRIMARY KEY, t VARCHAR(20), k BIGINT)").await;
}

/// Runs `work` in a session whose temporary files are these, in a world of its own.
fn in_session<F: Future<Output = ()> + 'static>(
    seed: u64,
    work: impl FnOnce(Session, Arc<MemoryFiles>) -> F + Send + 'static,
) {
    let play = move || {
        let mut world = quiet_world(Shape::Pair, seed).expect("a cluster");
        let mut session = open(&mut world);
        let host = world.hosts()[0];
        let files = Arc::new(MemoryFiles::default());
        world.client(host).set_temp_files(files.clone());
        let task = world.spawn(
            host,
            Box::pin(async move {
                load(&mut session, seed).await;
                work(session, files).await;
            }),
        );
        let is_done = world.run_until(36_000 * SECOND, |world| world.is_finished(host, task));
        assert!(is_done, "it hangs");
    };
    let thread = std::thread::Builder::new().stack_size(STACK_SIZE);
    thread.spawn(play).expect("a thread").join().expect("no statement panics");
}

#[test]
fn statements_that_spill_have_the_same_rows() {
    in_session(3, async |mut session, files| {
        let mut problems = Vec::new();
        for (text, order) in STATEMENTS {
            must(&mut session, WHOLE).await;
            let before = files.created_count();
            let mut expected = must(&mut session, text).await.rows;
            assert_eq!(files.created_count(), before, "{text} fits into memory");
            must(&mut session, LEAST).await;
            let answer = run(&mut session, text).await;
            if let Some(error) = answer.error {
                problems.push(format!("{text}: {error}"));
                continue;
            }
            let mut found = answer.rows;
            let is_small =
                ["LIMIT 10", "LIMIT 5", "id < 30 ORDER BY id", "COUNT(DISTINCT t, k) FROM a"];
            if files.created_count() == before && !is_small.iter().any(|own| text.ends_with(own)) {
                problems.push(format!("{text} does not spill"));
            }
            if *order == Sorted {
                expected.sort();
                found.sort();
            }
            if found != expected {
                let other = found.iter().zip(&expected).find(|(own, other)| own != other);
                let counts = (found.len(), expected.len());
                problems.push(format!("{text}: rows {counts:?}, {other:?}"));
            }
            assert_eq!((files.file_count(), files.byte_count()), (0, 0), "{text} leaves a file");
        }
        assert!(problems.is_empty(), "{}", problems.join("\n"));
        must(&mut session, WHOLE).await;
        for name in ["Sort_merge_passes", "Created_tmp_files", "Created_tmp_disk_tables"] {
            let answer = must(&mut session, &format!("SHOW STATUS LIKE '{name}'")).await;
            assert!(0 < answer.rows[0][1].parse::<u64>().expect("a number"), "{name}");
        }
    });
}

#[test]
fn joins_that_spill_keep_their_order() {
    in_session(8, async |mut session, files| {
        let expected = must(&mut session, ORDERED_JOIN).await.rows;
        let plan = must(&mut session, &format!("EXPLAIN FORMAT=TREE {ORDERED_JOIN}")).await.rows;
        let plan = &plan[0][0];
        assert!(plan.contains("hash") && !plan.contains("Sort"), "{plan}");
        must(&mut session, LEAST).await;
        let found = must(&mut session, ORDERED_JOIN).await.rows;
        assert!(3 < files.created_count());
        assert_eq!(files.file_count(), 0);
        assert_eq!(found, expected);
    });
}

#[test]
fn changes_that_spill_change_the_same_rows() {
    let shown = async |session: &mut Session, setting: &str| {
        let mut shown = Vec::new();
        must(session, "DELETE FROM z").await;
        for (change, query) in CHANGES {
            must(session, setting).await;
            let changed = must(session, change).await.ok.expect("an OK").affected_rows;
            must(session, WHOLE).await;
            shown.push((changed, must(session, query).await.rows));
        }
        shown
    };
    in_session(4, async move |mut session, files| {
        let expected = shown(&mut session, WHOLE).await;
        assert_eq!(files.created_count(), 0);
        assert_eq!(shown(&mut session, LEAST).await, expected);
        assert!(0 < files.created_count());
        assert_eq!(files.file_count(), 0);
    });
}

/// Each operation on a file fails once, of each statement: the error names the reason, nothing is left, and the session
/// serves on.
#[test]
fn failing_files_end_their_statement() {
    let faults = [
        (TempFileError::DeviceFull { file: "memory".into() }, 1021, "Disk full (memory)"),
        (TempFileError::LimitReached { space_max: 7 }, 1114, "max_tmp_total_space_usage (7 bytes)"),
        (TempFileError::WriteFailed { file: "m".into(), reason: "no".into() }, 1026, "'m': no"),
        (TempFileError::ReadFailed { file: "m".into(), reason: "no".into() }, 1024, "'m': no"),
    ];
    const TEXTS: [&str; 6] = [
        "SELECT id, t FROM a ORDER BY t, id",
        "SELECT id, COUNT(*) FROM a GROUP BY id",
        "SELECT DISTINCT t, k, d FROM a",
        "SELECT a.id, b.id FROM a JOIN b ON a.d = b.d",
        "SELECT t FROM a INTERSECT ALL SELECT t FROM b",
        "INSERT INTO z SELECT id, t, k FROM a",
    ];
    in_session(5, async move |mut session, files| {
        for text in TEXTS {
            let mut number = 0;
            loop {
                must(&mut session, LEAST).await;
                let (fault, code, part) = &faults[number as usize % faults.len()];
                let before = files.operation_count();
                files.fail(before + number, fault.clone());
                let answer = run(&mut session, text).await;
                let operations = files.operation_count() - before;
                assert_eq!(files.file_count(), 0, "{text}, operation {number}");
                match answer.error {
                    Some(error) => {
                        assert_eq!(error.code, *code, "{text}: {error}");
                        assert!(error.message.contains(part), "{text}: {error}");
                        assert_eq!(operations, number + 1);
                    }
                    None => {
                        assert!(4 < number, "{text} has {number} operations");
                        files.clear_faults();
                        break;
                    }
                }
                // A change has changed nothing.
                must(&mut session, WHOLE).await;
                let answer = must(&mut session, "SELECT COUNT(*) FROM z").await;
                assert_eq!(answer.rows, [["0"]]);
                // The first ones, then fewer and fewer.
                number += 1 + number / 7;
            }
            must(&mut session, "DELETE FROM z").await;
        }
    });
}

/// The bound of all temporary files of a node, and what does not spill.
#[test]
fn limits_are_named() {
    in_session(6, async |mut session, files| {
        must(&mut session, "SET GLOBAL max_tmp_total_space_usage = 1048576").await;
        must(&mut session, LEAST).await;
        let cross = "SELECT a.t, b.t FROM a, b ORDER BY a.t, b.id";
        let error = run(&mut session, cross).await.error.expect("490,000 rows");
        assert_eq!(error.code, 1114);
        assert!(error.message.contains("max_tmp_total_space_usage (1048576 bytes)"), "{error}");
        assert_eq!((files.file_count(), files.byte_count()), (0, 0));
        // A whole partition of a window is in memory.
        let window = "SELECT SUM(id) OVER () FROM a";
        let error = run(&mut session, window).await.error.expect("700 rows");
        assert_eq!(error.code, 1038);
        assert!(error.message.contains("tmp_table_size, which is 1024 bytes"), "{error}");
        assert_eq!(files.file_count(), 0);
        must(&mut session, WHOLE).await;
        assert_eq!(must(&mut session, window).await.rows.len(), ROW_COUNT);
    });
}

/// A statement that is killed while it spills ends, wherever it is, and leaves no file.
#[test]
fn killed_statements_leave_no_file() {
    const TEXTS: [&str; 4] = [
        "SELECT a.id, b.t FROM a JOIN b ON a.d = b.d ORDER BY a.t, b.t, a.id",
        "SELECT a.id + b.id g, COUNT(*) FROM a JOIN b ON a.k = b.k GROUP BY g",
        "SELECT DISTINCT a.t, b.t, a.k FROM a JOIN b ON a.d = b.d",
        "SELECT t, k FROM a EXCEPT ALL SELECT t, k FROM b",
    ];
    in_session(7, async |mut session, files| {
        must(&mut session, LEAST).await;
        for text in TEXTS {
            let (mut polls_max, mut killed) = (1, 0);
            loop {
                let kill = session.kill_handle();
                let mut polls = 0;
                let mut has_files = false;
                let mut work = pin!(run(&mut session, text));
                let answer = poll_fn(|context| {
                    let polled = work.as_mut().poll(context);
                    polls += 1;
                    if polls == polls_max && polled.is_pending() {
                        has_files = 0 < files.file_count();
                        kill.kill(KillKind::Query);
                    }
                    polled
                });
                let answer = answer.await;
                assert_eq!(files.file_count(), 0, "{text}");
                let Some(error) = answer.error else { break };
                assert_eq!(error.code, 1317, "{text}: {error}");
                killed += u32::from(has_files);
                polls_max += 1 + polls_max / 10;
            }
            assert!(3 < killed, "{text} was killed {killed} times with a file");
        }
    });
}
