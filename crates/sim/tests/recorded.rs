//! The written statements of `tests/differential/statements` over a simulated cluster: each has the rows, the number of changed
//! rows or the error that a reference server had when it was recorded. Announced types, and the order of rows, are for
//! `statements.sh`, which compares them over the wire.

use std::cell::RefCell;
use std::fs::read_to_string;
use std::path::PathBuf;
use std::rc::Rc;

use sim::options::Shape;
use sim::statements::in_world;
use sql::Session;
use sql::script::Answer;

/// Of the threads that run statements in a node.
const STACK_SIZE: usize = 16 << 20;

/// What the others begin with.
const SCHEMA: &str = "schema";

/// Statements with these texts have another answer in MySQL than recorded; `explained.txt` has the reasons.
const EXPLAINED: [&str; 8] = [
    "ROW_NUMBER() OVER (ORDER BY id) - ROW_NUMBER()",
    "WHERE 3 IN (SELECT COUNT(*) OVER ()",
    "> ALL (SELECT MAX(id) FROM nothing)) IS NULL",
    "SELECT COUNT(id, name)",
    "SELECT SUM(id, id)",
    "SELECT MAX(DISTINCT id, name)",
    "SELECT IF(1) FROM",
    "SELECT 1, *",
];

const SETTINGS: [&str; 2] = [
    "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
    "SET sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
     ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
];

/// The least memory of a statement: nearly everything that it holds goes through temporary files.
const LITTLE_MEMORY: &str = "SET SESSION tmp_table_size = 1024";
/// What does not spill ends with this error then.
const OUT_OF_MEMORY: u16 = 1038;

#[derive(Default)]
struct Found {
    compared: usize,
    out_of_memory: usize,
    temp_files: u64,
    problems: Vec<String>,
}

#[derive(Debug)]
enum Recorded {
    Rows(Vec<Vec<String>>),
    Error(u16),
    Affected(u64),
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/differential/statements")
}

fn features() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).expect("the folder of statements");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string());
    let names = names.map(|name| name.expect("a plain name"));
    let mut names: Vec<String> =
        names.filter_map(|name| name.strip_suffix(".sql").map(String::from)).collect();
    names.retain(|name| name != SCHEMA);
    names.sort();
    names
}

/// A recorded value as [`Answer`] shows it.
fn value(recorded: &str) -> String {
    match recorded {
        "\\N" => return "NULL".into(),
        "\\e" => return "(empty)".into(),
        _ => {}
    }
    recorded.replace("\\s", " ").replace("\\\\", "\\")
}

fn recorded(feature: &str) -> Vec<(String, Recorded)> {
    let path = folder().join("recorded").join(format!("{feature}.txt"));
    let text = read_to_string(path).expect("a recorded form");
    let mut lines = text.split('\n');
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let Some(statement) = line.strip_prefix("> ") else { continue };
        let head = lines.next().expect("an answer");
        let answer = match (head.strip_prefix("error "), head.strip_suffix(" affected")) {
            (Some(code), _) => Recorded::Error(code.parse().expect("a number")),
            (None, Some(count)) => Recorded::Affected(count.parse().expect("a number")),
            (None, None) => {
                let (count, _) = head.split_once(" rows: ").expect("a number of rows");
                let count: usize = count.parse().expect("a number");
                let rows = lines.by_ref().take(count);
                Recorded::Rows(rows.map(|row| row.split('\t').map(value).collect()).collect())
            }
        };
        found.push((statement.to_string(), answer));
    }
    found
}

/// Equal, or numbers that differ in the digits to which the reference server rounds some of them.
fn are_equal(ours: &str, theirs: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    ours == theirs
        || match (number(ours), number(theirs)) {
            (Some(ours), Some(theirs)) => {
                (ours - theirs).abs() <= 5e-5 + 1e-9 * f64::max(ours.abs(), theirs.abs())
            }
            _ => false,
        }
}

/// What is wrong with an answer.
fn difference(ours: &Answer, theirs: &Recorded) -> Option<String> {
    match (theirs, &ours.error) {
        (Recorded::Error(code), Some(error)) => {
            (*code != error.code).then(|| format!("error {} for {code}", error.code))
        }
        (_, Some(error)) => Some(format!("{error}")),
        (Recorded::Error(code), None) => Some(format!("no error {code}")),
        (Recorded::Affected(count), None) => {
            let own = ours.ok.as_ref().map(|ok| ok.affected_rows);
            (own != Some(*count)).then(|| format!("{own:?} rows affected for {count}"))
        }
        (Recorded::Rows(rows), None) => {
            let (mut ours, mut theirs) = (ours.rows.clone(), rows.clone());
            ours.sort();
            theirs.sort();
            let same = ours.len() == theirs.len()
                && ours.iter().zip(&theirs).all(|(own, other)| {
                    own.len() == other.len()
                        && own.iter().zip(other).all(|(own, other)| are_equal(own, other))
                });
            (!same).then(|| format!("{ours:?} for {theirs:?}"))
        }
    }
}

async fn must(session: &mut Session, text: &str) {
    let mut answer = Answer::default();
    session.query(text.as_bytes(), &mut answer).await;
    assert!(answer.error.is_none(), "{text}: {:?}", answer.error);
}

async fn load(session: &mut Session) {
    must(session, "DROP DATABASE IF EXISTS test").await;
    must(session, "CREATE DATABASE test CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci").await;
    must(session, "USE test").await;
    let schema = read_to_string(folder().join("schema.sql")).expect("the schema");
    for line in schema.lines().filter(|line| !line.is_empty() && !line.starts_with("--")) {
        must(session, line.trim_end_matches(';')).await;
    }
}

/// The number of a status variable.
async fn status(session: &mut Session, name: &str) -> u64 {
    let mut answer = Answer::default();
    session.query(format!("SHOW STATUS LIKE '{name}'").as_bytes(), &mut answer).await;
    answer.rows[0][1].parse().expect("a number")
}

async fn run(
    mut session: Session,
    feature: String,
    has_little_memory: bool,
    found: Rc<RefCell<Found>>,
) -> Result<String, String> {
    for setting in SETTINGS {
        must(&mut session, setting).await;
    }
    load(&mut session).await;
    if has_little_memory {
        must(&mut session, LITTLE_MEMORY).await;
    }
    let mut recorded = recorded(&feature).into_iter();
    let text = read_to_string(folder().join(format!("{feature}.sql"))).expect("statements");
    let problem = |what: String| found.borrow_mut().problems.push(format!("{feature}: {what}"));
    for line in text.lines() {
        if line == "-- reload" {
            load(&mut session).await;
        }
        if line.is_empty() || line.starts_with("--") {
            continue;
        }
        let statement = line.trim_end_matches(';');
        let Some((text, theirs)) = recorded.next().filter(|(text, _)| text == statement) else {
            return Err(format!(
                "{feature}: {statement} is not recorded: run statements.sh record"
            ));
        };
        let mut answer = Answer::default();
        session.query(text.as_bytes(), &mut answer).await;
        found.borrow_mut().compared += 1;
        let is_out_of_memory =
            answer.error.as_ref().is_some_and(|error| error.code == OUT_OF_MEMORY);
        if has_little_memory && is_out_of_memory {
            found.borrow_mut().out_of_memory += 1;
            // What it changes is there for the statements behind it.
            must(&mut session, "SET SESSION tmp_table_size = DEFAULT").await;
            must(&mut session, &text).await;
            must(&mut session, LITTLE_MEMORY).await;
            continue;
        }
        if let Some(what) = difference(&answer, &theirs)
            && !EXPLAINED.iter().any(|known| text.contains(known))
        {
            problem(format!("{text}: {what}"));
        }
    }
    found.borrow_mut().temp_files += status(&mut session, "Created_tmp_files").await;
    Ok(feature.clone())
}

fn run_feature(feature: &str, has_little_memory: bool) -> Found {
    let found: Rc<RefCell<Found>> = Rc::default();
    let (name, slot) = (feature.to_string(), Rc::clone(&found));
    let outcome =
        in_world(Shape::Pair, 1, move |session| run(session, name, has_little_memory, slot));
    let mut found = found.take();
    found.problems.extend(outcome.err());
    found
}

/// Runs the statements of all features.
fn run_all(has_little_memory: bool) -> Found {
    let features = features();
    assert!(30 < features.len(), "{features:?}");
    let mut all = Found::default();
    for feature in features {
        let own = feature.clone();
        let thread = std::thread::Builder::new().stack_size(STACK_SIZE);
        let thread = thread.spawn(move || run_feature(&own, has_little_memory)).expect("a thread");
        match thread.join() {
            Ok(own) => {
                all.compared += own.compared;
                all.out_of_memory += own.out_of_memory;
                all.temp_files += own.temp_files;
                all.problems.extend(own.problems);
            }
            Err(_) => all.problems.push(format!("{feature} ended with a panic")),
        }
    }
    let problems = &all.problems;
    assert!(4_000 < all.compared, "{} statements", all.compared);
    assert!(problems.is_empty(), "{} statements:\n{}", problems.len(), problems.join("\n"));
    all
}

#[test]
fn statements_answer_as_recorded() {
    let all = run_all(false);
    assert_eq!(all.temp_files, 0, "the tables are small");
}

/// The same rows come from temporary files.
#[test]
fn statements_answer_as_recorded_in_little_memory() {
    let all = run_all(true);
    let Found { compared, out_of_memory, temp_files, .. } = all;
    assert!(100 < temp_files, "{temp_files} files");
    assert!(out_of_memory < compared / 50, "{out_of_memory} of {compared} statements");
}
