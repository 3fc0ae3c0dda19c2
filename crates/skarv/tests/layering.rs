//! The rules of the tree that no compiler checks.
//!
//! Who may use whom is the table of the architecture; the rest keeps a deterministic crate deterministic and a file
//! readable. A rule that has to be broken somewhere is broken by a line in a table here, with its reason, so that it is
//! seen in review.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Crate, its layer, and the crates of ours it may use. A new crate or edge is a decision record.
const LAYERS: &[(&str, u32, &[&str])] = &[
    ("models", 0, &[]),
    ("types", 0, &[]),
    ("disk", 0, &[]),
    ("protocol", 1, &["types"]),
    ("storage", 1, &["types"]),
    ("kernel", 2, &["types", "protocol", "storage"]),
    ("client", 2, &["types", "protocol"]),
    ("sql", 3, &["types", "client"]),
    ("mysql", 4, &["types", "client", "sql"]),
    ("io", 5, &["types", "disk", "protocol", "storage", "kernel", "client", "sql", "mysql"]),
    ("sim", 5, &["types", "protocol", "storage", "kernel", "client", "sql", "mysql"]),
    (
        "skarv",
        6,
        &["types", "protocol", "storage", "kernel", "client", "sql", "mysql", "io", "sim"],
    ),
];

/// No clocks, threads, sockets, files or random order in these.
const DETERMINISTIC: &[&str] =
    &["types", "protocol", "storage", "kernel", "client", "sql", "mysql"];

/// What a deterministic crate does not name, as paths of the standard library. A path covers what is below it.
const FORBIDDEN: &[&str] = &[
    "std::collections::HashMap",
    "std::collections::HashSet",
    "std::collections::hash_map",
    "std::collections::hash_set",
    "std::env",
    "std::fs",
    "std::hash::RandomState",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
];

/// Names a file may use all the same: file, path, reason.
const FORBIDDEN_EXCEPT: &[(&str, &str, &str)] = &[
    (
        "crates/sql/src/session/variables/table.rs",
        "std::env::consts::ARCH",
        "a constant of the build",
    ),
    (
        "crates/mysql/src/connection.rs",
        "std::net::SocketAddr",
        "an address with a text form, no socket",
    ),
    ("crates/types/src/account.rs", "std::net::IpAddr", "a number with a text form, no socket"),
    (
        "crates/types/src/expr/functions/network.rs",
        "std::net::Ipv4Addr",
        "a number with a text form, no socket",
    ),
    (
        "crates/types/src/expr/functions/network.rs",
        "std::net::Ipv6Addr",
        "a number with a text form, no socket",
    ),
];

/// Where `unsafe` may stand.
const UNSAFE_ALLOWED: &[&str] = &["io", "storage"];

/// For a line of code or prose; rustfmt breaks most code at 100. Strings are not counted: data may be long.
const COLUMNS_MAX: usize = 140;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

struct Source {
    /// Relative to the repository.
    path: String,
    krate: String,
    text: String,
    /// Unit tests: a file named `tests...`, or one below a directory `tests` or `examples`.
    test: bool,
}

/// Every Rust file of the workspace's crates.
fn sources() -> Vec<Source> {
    let root = root();
    let mut sources = Vec::new();
    let mut folders = vec![root.join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let relative = path.strip_prefix(&root).expect("below the root");
                let parts: Vec<String> =
                    relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
                let test = parts.iter().any(|part| part.starts_with("tests") || part == "examples");
                let text = fs::read_to_string(&path).expect("UTF-8");
                sources.push(Source { path: parts.join("/"), krate: parts[1].clone(), text, test });
            }
        }
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(30 < sources.len(), "the sources were not found");
    sources
}

/// The names in a section of a Cargo.toml. The manifests are ours and plain: one dependency begins a line.
fn dependencies(manifest: &str, section: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut names = BTreeSet::new();
    for line in manifest.lines() {
        if let Some(header) = line.strip_prefix('[') {
            inside = header.trim_end().trim_end_matches(']') == section;
        } else if inside && line.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
            let end = line.find([' ', '=', '.']).expect("name = version");
            names.insert(line[..end].to_owned());
        }
    }
    names
}

fn fail_if_any(problems: &[String]) {
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

/// Every crate is in the table and uses only what the table lets it; tests may look further down, never up.
#[test]
fn crates_use_only_what_is_below_them() {
    let layers: BTreeMap<&str, (u32, &[&str])> =
        LAYERS.iter().map(|(name, layer, uses)| (*name, (*layer, *uses))).collect();
    let mut problems = Vec::new();
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(root().join("crates")).expect("a folder").flatten() {
        let name = entry.file_name().into_string().expect("plain");
        let Some((layer, allowed)) = layers.get(name.as_str()) else {
            problems.push(format!("crate {name} is not in the table"));
            continue;
        };
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).expect("a manifest");
        for used in dependencies(&manifest, "dependencies") {
            if layers.contains_key(used.as_str()) && !allowed.contains(&used.as_str()) {
                problems.push(format!("{name} must not use {used}"));
            }
        }
        for section in ["dev-dependencies", "build-dependencies"] {
            for used in dependencies(&manifest, section) {
                if layers.get(used.as_str()).is_some_and(|(other, _)| layer <= other) {
                    problems
                        .push(format!("the tests of {name} must not use {used}: it is not below"));
                }
            }
        }
        found.insert(name);
    }
    for name in layers.keys() {
        if !found.contains(*name) {
            problems.push(format!("crate {name} is in the table and not there"));
        }
    }
    fail_if_any(&problems);
}

/// The table itself is in order: whoever is used is in a lower layer.
#[test]
fn the_table_has_no_cycle() {
    let layers: BTreeMap<&str, u32> =
        LAYERS.iter().map(|(name, layer, _)| (*name, *layer)).collect();
    for (name, layer, uses) in LAYERS {
        for used in *uses {
            assert!(layers[used] < *layer, "{name} uses {used}");
        }
    }
}

/// The text without comments, strings and characters: what is left is code. Line breaks stay.
fn code_of(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(hashes) = raw_string(rest) {
            let open = 2 + hashes;
            let close = format!("\"{}", "#".repeat(hashes));
            rest[open..].find(&close).map_or(rest.len(), |end| open + end + close.len())
        } else if rest.starts_with('"') {
            quoted(rest, '"')
        } else if rest.starts_with('\'') && is_character(rest) {
            quoted(rest, '\'')
        } else {
            0
        };
        if skipped == 0 {
            let letter = rest.chars().next().expect("not at the end");
            code.push(letter);
            at += letter.len_utf8();
        } else {
            code.push(' ');
            code.extend(rest[..skipped].chars().filter(|letter| *letter == '\n'));
            at += skipped;
        }
    }
    code
}

/// r"..." and r#"..."#: how many hashes. An identifier that ends in r is followed by no quote.
fn raw_string(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix('r')?;
    let hashes = after.bytes().take_while(|byte| *byte == b'#').count();
    after[hashes..].starts_with('"').then_some(hashes)
}

/// The length of a literal up to its closing quote, which a backslash hides.
fn quoted(rest: &str, quote: char) -> usize {
    let mut letters = rest.char_indices().skip(1);
    while let Some((index, letter)) = letters.next() {
        if letter == '\\' {
            letters.next();
        } else if letter == quote {
            return index + 1;
        }
    }
    rest.len()
}

/// A lifetime begins with the same quote as a character.
fn is_character(rest: &str) -> bool {
    let mut letters = rest.chars().skip(1);
    match letters.next() {
        Some('\\') => true,
        Some(_) => letters.next() == Some('\''),
        None => false,
    }
}

/// Code without its unit tests: `#[cfg(test)]` and the module after it, up to the brace that closes it.
fn without_tests(code: &str) -> String {
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(start) = rest.find("#[cfg(test)]") {
        kept.push_str(&rest[..start]);
        let after = &rest[start..];
        let mut depth = 0;
        let mut end = after.len();
        for (index, letter) in after.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 && matches!(letter, '}' | ';') {
                end = index + 1;
                break;
            }
        }
        rest = &after[end..];
    }
    kept.push_str(rest);
    kept
}

/// Every path of the standard library that code names, with the lists of `use` written out.
fn std_paths(code: &str) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for (start, _) in code.match_indices("std::") {
        let before = code[..start].chars().next_back();
        if before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_') {
            continue;
        }
        expand("std::", &code[start + 5..], &mut paths);
    }
    paths
}

/// Reads one path or one braced list; the length read.
fn expand(prefix: &str, text: &str, paths: &mut BTreeSet<String>) -> usize {
    if !text.starts_with('{') {
        let end = text
            .find(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .unwrap_or(text.len());
        let name = format!("{prefix}{}", &text[..end]);
        if text[end..].starts_with("::") {
            return end + 2 + expand(&format!("{name}::"), &text[end + 2..], paths);
        }
        paths.insert(name);
        // `HashMap as Map`: the new name is nobody's path.
        let renamed = text[end..].strip_prefix(" as ").map(|new| {
            new.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(new.len())
                + 4
        });
        return end + renamed.unwrap_or(0);
    }
    let mut at = 1;
    while at < text.len() {
        let letter = text[at..].chars().next().expect("not at the end");
        if letter == '}' {
            return at + 1;
        }
        if letter.is_alphanumeric() || letter == '_' {
            at += expand(prefix, &text[at..], paths).max(1);
        } else {
            at += letter.len_utf8();
        }
    }
    at
}

#[test]
fn deterministic_crates_name_nothing_of_the_real_world() {
    let mut problems = Vec::new();
    let mut excepted = BTreeSet::new();
    for source in sources() {
        if source.test || !DETERMINISTIC.contains(&source.krate.as_str()) {
            continue;
        }
        for path in std_paths(&without_tests(&code_of(&source.text))) {
            let forbidden = FORBIDDEN
                .iter()
                .find(|name| path == **name || path.starts_with(&format!("{name}::")));
            if forbidden.is_none() {
                continue;
            }
            match FORBIDDEN_EXCEPT
                .iter()
                .find(|(file, name, _)| *file == source.path && *name == path)
            {
                Some(exception) => {
                    excepted.insert(*exception);
                }
                None => problems.push(format!("{} names {path}", source.path)),
            }
        }
    }
    for exception in FORBIDDEN_EXCEPT {
        if !excepted.contains(exception) {
            problems.push(format!("the exception {exception:?} is not needed"));
        }
    }
    fail_if_any(&problems);
}

#[test]
fn unsafe_stands_only_where_it_may() {
    let mut problems = Vec::new();
    for source in sources() {
        if UNSAFE_ALLOWED.contains(&source.krate.as_str()) {
            continue;
        }
        let code = code_of(&source.text);
        let mut words = code.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        if words.any(|word| word == "unsafe") {
            problems.push(format!("{} has unsafe code", source.path));
        }
    }
    fail_if_any(&problems);
}

#[test]
fn every_module_opens_with_its_essay() {
    let sources = sources();
    let modules = sources.iter().filter(|source| !source.test);
    let bare = modules.filter(|source| !source.text.starts_with("//! "));
    let problems: Vec<String> =
        bare.map(|source| format!("{} does not begin with //!", source.path)).collect();
    fail_if_any(&problems);
}

#[test]
fn lines_fit() {
    let mut problems = Vec::new();
    for source in sources().iter().filter(|source| !source.test) {
        for (index, line) in source.text.lines().enumerate() {
            let columns = columns_without_strings(line);
            if COLUMNS_MAX < columns {
                problems.push(format!("{}:{} has {columns} columns", source.path, index + 1));
            }
        }
    }
    fail_if_any(&problems);
}

fn columns_without_strings(line: &str) -> usize {
    let mut columns = 0;
    let mut inside = false;
    let mut hidden = false;
    for letter in line.chars() {
        inside ^= letter == '"' && !hidden;
        hidden = letter == '\\' && !hidden;
        columns += usize::from(!inside);
    }
    columns
}

/// The generated page on messages is the one in the repository.
#[test]
fn the_page_on_messages_is_current() {
    let page =
        fs::read_to_string(root().join("docs/protocol.md")).expect("docs/protocol.md exists");
    assert!(
        page == protocol::catalogue::markdown(),
        "docs/protocol.md is old: SKARV_UPDATE=1 cargo test -p protocol the_page_in_docs_is_current"
    );
}

/// The reading of code itself: what counts as code, as a test, and as a path.
#[test]
fn code_is_read_as_code() {
    let text = r##"
        //! std::fs in a comment
        use std::{collections::{BTreeMap, HashMap as Map}, net, time::{Duration, Instant}};
        const A: &str = "std::thread \" unsafe"; /* std::env */
        const B: char = '"'; const C: &str = r#"std::fs " "#; fn f<'a>(x: &'a str) { ::std::process::id(); }
        #[cfg(test)]
        mod tests { use std::fs; fn g() { } }
        mystd::fs::read();
        fn last() {}
    "##;
    let code = without_tests(&code_of(text));
    assert!(code.contains("fn last"), "{code}");
    assert!(!code.contains("unsafe"), "{code}");
    let paths: Vec<String> = std_paths(&code).into_iter().collect();
    assert_eq!(
        paths,
        [
            "std::collections::BTreeMap",
            "std::collections::HashMap",
            "std::net",
            "std::process::id",
            "std::time::Duration",
            "std::time::Instant",
        ]
    );
    assert_eq!(
        dependencies(
            "[dependencies]\na = \"1\"\nb.workspace = true\n  \"x\",\n[x]\nc = 1\n",
            "dependencies"
        ),
        BTreeSet::from(["a".to_owned(), "b".to_owned()])
    );
}
