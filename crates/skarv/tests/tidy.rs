//! The language of comments and documents: how many lines have an idiom that docs/writing.md replaces.
//!
//! The table below has the number of such lines for each crate and folder. It may only go down: a count above it fails,
//! and so does one that fell by more than a few lines, until the table is lowered.

mod tree;

use std::collections::BTreeMap;

use tree::{fail_if_any, files};

/// Lines with an idiom, at most. Lower a number when the test says so; never raise one.
const LINES_MAX: &[(&str, usize)] = &[
    ("crates/client", 19),
    ("crates/disk", 15),
    ("crates/io", 58),
    ("crates/kernel", 90),
    ("crates/models", 2),
    ("crates/mysql", 34),
    ("crates/protocol", 9),
    ("crates/sim", 11),
    ("crates/skarv", 11),
    ("crates/sql", 63),
    ("crates/storage", 25),
    ("crates/types", 38),
    ("docs/decisions", 2),
    ("docs/durability.md", 6),
    ("docs/glossary.md", 1),
    ("docs/isolation.md", 1),
    ("docs/rules.md", 1),
    ("scripts", 3),
    ("tests/raft_reference", 1),
    ("tests/system", 1),
];

/// A count may be this much below its number, so that two changes that each lower one need not meet in this table.
const SLACK: usize = 12;

/// How many lines the failure shows of each folder.
const EXAMPLES: usize = 12;

const IDIOMS: &[&str] = &[
    "who",
    "whom",
    "somebody",
    "nobody",
    "is told",
    "is said",
    "is asked",
    "is heard",
    "is known of",
    "so long",
    "so many",
    "so much",
    "so often",
    "what is",
    "what was",
    "what has",
    "what it",
    "go on",
    "goes on",
    "let go",
    "lets go",
    "let in",
    "lets in",
];

/// Whether a line has one of the idioms as whole words. The targets of links are names of files.
fn has_idiom(line: &str) -> bool {
    let parts = line.split("](").enumerate();
    let line: String = parts
        .map(|(index, part)| match part.split_once(')') {
            Some((_, rest)) if 0 < index => rest,
            _ => part,
        })
        .collect();
    IDIOMS.iter().any(|idiom| {
        line.match_indices(idiom).any(|(start, _)| {
            let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
            let before = line[..start].chars().next_back();
            let after = line[start + idiom.len()..].chars().next();
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        })
    })
}

/// A line that is prose as a whole: of a document any, of code a comment.
fn is_prose(extension: &str, line: &str) -> bool {
    match extension {
        "md" => true,
        "rs" => line.trim_start().starts_with("//"),
        "py" | "sh" => line.trim_start().starts_with('#'),
        other => unreachable!("{other} is not asked for"),
    }
}

/// A crate, a page of docs/ or of the root, or a folder.
fn place(path: &str) -> &str {
    let parts = match path.split('/').next() {
        Some("crates" | "docs" | "tests") => 2,
        _ => 1,
    };
    match path.match_indices('/').nth(parts - 1) {
        Some((end, _)) => &path[..end],
        None => path,
    }
}

/// docs/writing.md names the idioms that it replaces.
fn is_exempt(path: &str) -> bool {
    path == "docs/writing.md"
}

#[test]
fn idioms_become_fewer() {
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files(&["rs", "py", "sh", "md"]) {
        for (index, line) in file.text.lines().enumerate() {
            if is_prose(file.extension(), line) && has_idiom(line) && !is_exempt(&file.path) {
                let line = format!("  {}:{}: {}", file.path, index + 1, line.trim());
                lines.entry(place(&file.path).to_owned()).or_default().push(line);
            }
        }
    }
    let mut problems = Vec::new();
    for (folder, max) in LINES_MAX {
        let count = lines.get(*folder).map_or(0, Vec::len);
        if count + SLACK < *max {
            problems.push(format!("{folder}: {count} lines, fewer than {max}: lower the table"));
        }
    }
    for (folder, found) in &lines {
        let max = LINES_MAX.iter().find(|(name, _)| name == folder).map_or(0, |(_, max)| *max);
        if max < found.len() {
            // Newest last in a file tells nothing: examples come from all of the folder.
            let step = found.len().div_ceil(EXAMPLES);
            let examples: Vec<&str> = found.iter().step_by(step).map(String::as_str).collect();
            problems.push(format!(
                "{folder}: {} lines, at most {max}: write them as docs/writing.md says\n{}",
                found.len(),
                examples.join("\n")
            ));
        }
    }
    fail_if_any(&problems);
}

/// For a line of a document. Rows of tables and fenced code may be longer.
const COLUMNS_MAX: usize = 100;

#[test]
fn documents_fit() {
    let mut problems = Vec::new();
    for file in files(&["md"]) {
        let mut is_code = false;
        for (index, line) in file.text.lines().enumerate() {
            is_code ^= line.trim_start().starts_with("```");
            let columns = line.chars().count();
            if COLUMNS_MAX < columns && !is_code && !line.starts_with('|') {
                problems.push(format!("{}:{} has {columns} columns", file.path, index + 1));
            }
        }
    }
    fail_if_any(&problems);
}

#[test]
fn idioms_are_words() {
    for line in ["// who waits", "what is free", "it goes on.", "(so many)", "let in", "is told."] {
        assert!(has_idiom(line), "{line}");
    }
    for line in ["whoever waits", "whole", "what isolation", "ongoing", "[a](b-who-c.md)"] {
        assert!(!has_idiom(line), "{line}");
    }
    assert_eq!(place("crates/sql/src/lib.rs"), "crates/sql");
    assert_eq!(place("docs/rules.md"), "docs/rules.md");
    assert_eq!(place("docs/decisions/0001-x.md"), "docs/decisions");
    assert_eq!(place("tests/system/run.py"), "tests/system");
    assert_eq!(place("scripts/test.sh"), "scripts");
    assert_eq!(place("README.md"), "README.md");
}
