//! EXPLAIN of every written SELECT of `tests/differential/statements`: as a tree, and as JSON that is well-formed.
//! EXPLAIN ANALYZE runs each of them, and counts the rows that the statement has.

use std::fs::read_to_string;
use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::pin;

use sim::options::Shape;
use sim::statements::in_world;
use sql::script::{Answer, run};
use sql::{KillKind, Session};

/// Of the threads that run statements in a node.
const STACK_SIZE: usize = 16 << 20;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/differential/statements")
}

/// The statements of a file.
fn statements(feature: &str) -> Vec<String> {
    let text = read_to_string(folder().join(format!("{feature}.sql"))).expect("statements");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with("--"));
    lines.map(|line| line.trim_end_matches(';').to_string()).collect()
}

fn features() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).expect("the folder of statements");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string());
    let names = names.map(|name| name.expect("a plain name"));
    let mut names: Vec<String> =
        names.filter_map(|name| name.strip_suffix(".sql").map(String::from)).collect();
    names.retain(|name| name != "schema");
    names.sort();
    names
}

/// The one value of EXPLAIN, with its line breaks.
fn value(answer: &Answer) -> String {
    let [row] = answer.rows.as_slice() else { panic!("{} rows", answer.rows.len()) };
    let mut text = String::new();
    let mut letters = row[0].chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(other) => text.push(other),
                None => text.push('\\'),
            },
            letter => text.push(letter),
        }
    }
    text
}

/// Reads one JSON value; the rest of the text.
fn json(text: &str) -> Result<&str, String> {
    let text = text.trim_start();
    let unexpected = || Err(format!("unexpected: {}", text.chars().take(40).collect::<String>()));
    match text.chars().next() {
        Some(open @ ('{' | '[')) => {
            let close = if open == '{' { '}' } else { ']' };
            let mut rest = text[1..].trim_start();
            if let Some(rest) = rest.strip_prefix(close) {
                return Ok(rest);
            }
            loop {
                if open == '{' {
                    rest = json_text(rest.trim_start())?.trim_start();
                    rest = rest.strip_prefix(':').ok_or("a member has no colon")?;
                }
                rest = json(rest)?.trim_start();
                if let Some(rest) = rest.strip_prefix(close) {
                    return Ok(rest);
                }
                rest = rest.strip_prefix(',').ok_or_else(|| format!("no comma before {rest}"))?;
            }
        }
        Some('"') => json_text(text),
        Some('0'..='9') => Ok(text.trim_start_matches(|letter: char| letter.is_ascii_digit())),
        Some('t') => text.strip_prefix("true").map_or_else(unexpected, Ok),
        Some('f') => text.strip_prefix("false").map_or_else(unexpected, Ok),
        _ => unexpected(),
    }
}

fn json_text(text: &str) -> Result<&str, String> {
    let mut letters = text.char_indices();
    if letters.next().map(|(_, letter)| letter) != Some('"') {
        return Err(format!("no text: {text}"));
    }
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Ok(&text[at + 1..]),
            '\\' => match letters.next().map(|(_, letter)| letter) {
                Some('"' | '\\' | 'n' | 'r' | 't' | 'u') => {}
                other => return Err(format!("escaped {other:?}")),
            },
            letter if letter < ' ' => return Err("a control character".into()),
            _ => {}
        }
    }
    Err("a text without its end".into())
}

/// The members of an object that have a name twice are an error of many readers.
fn has_member_twice(document: &str) -> Option<&str> {
    // By depth: the names of the object at hand.
    let mut names: Vec<Vec<&str>> = vec![Vec::new()];
    for line in document.lines() {
        let depth = (line.len() - line.trim_start().len()) / 2;
        names.truncate(depth + 1);
        names.resize(depth + 1, Vec::new());
        if let Some((name, _)) = line.trim_start().split_once("\": ") {
            if names[depth].contains(&name) {
                return Some(line);
            }
            names[depth].push(name);
        }
    }
    None
}

/// Whether each line of a tree is a step, at most one level below the line before it.
fn is_tree(tree: &str) -> bool {
    let mut depth_max = 0;
    tree.lines().all(|line| {
        let indent = line.len() - line.trim_start().len();
        let is_step = line.trim_start().starts_with("-> ")
            && indent.is_multiple_of(4)
            && indent / 4 <= depth_max;
        depth_max = indent / 4 + 1;
        is_step
    })
}

/// The rows that the first step with counts has in one loop.
fn rows_of(tree: &str) -> Option<u64> {
    let (_, counts) = tree.lines().next()?.split_once("(actual time=")?;
    let (_, rows) = counts.split_once("rows=")?;
    rows.split(' ').next()?.parse().ok()
}

/// Whether each step that ran has its times, in milliseconds: to the first row, and to the last.
fn are_times(tree: &str) -> bool {
    let is_written = |text: &str| text.split_once('.').is_some_and(|(_, digits)| digits.len() == 3);
    tree.split("(actual time=").skip(1).all(|rest| {
        let times = rest.split_once(' ').and_then(|(times, _)| times.split_once(".."));
        times.is_some_and(|(first, last)| {
            is_written(first)
                && is_written(last)
                && first.parse::<f64>().ok() <= last.parse::<f64>().ok()
        })
    })
}

async fn must(session: &mut Session, text: &str) -> Answer {
    let answer = run(session, text).await;
    assert!(answer.error.is_none(), "{text}: {:?}", answer.error);
    answer
}

async fn explain(mut session: Session, feature: String) -> Result<String, String> {
    must(&mut session, "CREATE DATABASE test CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
        .await;
    must(&mut session, "USE test").await;
    for statement in statements("schema") {
        must(&mut session, &statement).await;
    }
    let mut problems = Vec::new();
    let mut count = 0;
    for statement in statements(&feature) {
        let answer = run(&mut session, &statement).await;
        let is_query = ["SELECT", "WITH", "VALUES", "TABLE", "("]
            .iter()
            .any(|word| statement.to_uppercase().starts_with(word));
        if answer.error.is_some() || !is_query || answer.columns.is_empty() {
            continue;
        }
        count += 1;
        let tree = run(&mut session, &format!("EXPLAIN FORMAT=TREE {statement}")).await;
        match &tree.error {
            Some(error) => problems.push(format!("{statement}: tree: {error}")),
            None => {
                let text = value(&tree);
                // EXPLAIN writes a question mark where a name or a value is missing.
                let is_unknown = text.contains('?') && !statement.contains('?');
                if !is_tree(&text) || is_unknown {
                    problems.push(format!("{statement}: tree:\n{text}"));
                }
            }
        }
        let document = run(&mut session, &format!("EXPLAIN FORMAT=JSON {statement}")).await;
        match &document.error {
            Some(error) => problems.push(format!("{statement}: JSON: {error}")),
            None => {
                let text = value(&document);
                match (json(&text), has_member_twice(&text)) {
                    (Ok(""), None) => {}
                    (parsed, twice) => {
                        problems.push(format!("{statement}: {parsed:?}, {twice:?}\n{text}"));
                    }
                }
            }
        }
        let analyzed = run(&mut session, &format!("EXPLAIN ANALYZE {statement}")).await;
        match &analyzed.error {
            Some(error) => problems.push(format!("{statement}: ANALYZE: {error}")),
            None => {
                let tree = value(&analyzed);
                let rows = answer.rows.len() as u64;
                if rows_of(&tree) != Some(rows) || !are_times(&tree) {
                    problems.push(format!("{statement}: {rows} rows:\n{tree}"));
                }
            }
        }
    }
    match problems.is_empty() {
        true => Ok(count.to_string()),
        false => Err(problems.join("\n")),
    }
}

#[test]
fn every_select_is_explained() {
    let (mut problems, mut explained) = (Vec::new(), 0);
    for feature in features() {
        let own = feature.clone();
        let thread = std::thread::Builder::new().stack_size(STACK_SIZE);
        let work = move || in_world(Shape::Pair, 1, move |session| explain(session, own));
        match thread.spawn(work).expect("a thread").join() {
            Ok(Ok(count)) => explained += count.parse::<usize>().expect("a number"),
            Ok(Err(own)) => problems.push(format!("{feature}: {own}")),
            Err(_) => problems.push(format!("{feature} ended with a panic")),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(3_000 < explained, "{explained} statements");
}

/// KILL QUERY ends a statement that is analysed; the next one counts nothing of it.
async fn kill(mut session: Session) -> Result<String, String> {
    let handle = session.kill_handle();
    let killed = {
        let mut running = pin!(run(&mut session, "EXPLAIN ANALYZE SELECT SLEEP(1000)"));
        let mut is_killed = false;
        poll_fn(|context| {
            let polled = running.as_mut().poll(context);
            if polled.is_pending() && !is_killed {
                is_killed = true;
                handle.kill(KillKind::Query);
            }
            polled
        })
        .await
    };
    if killed.error.as_ref().is_none_or(|error| error.code != 1317) {
        return Err(format!("{killed:?}"));
    }
    let plain = run(&mut session, "SELECT 1").await;
    match plain.rows == [["1"]] {
        true => Ok(String::new()),
        false => Err(format!("{plain:?}")),
    }
}

#[test]
fn a_killed_statement_ends() {
    let outcome = in_world(Shape::Pair, 1, kill);
    assert_eq!(outcome, Ok(String::new()));
}
