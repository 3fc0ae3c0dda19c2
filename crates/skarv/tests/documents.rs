//! Documents agree with the tree: links lead somewhere, and docs/rules.md, the code, the models, the transcripts and the
//! switches name each other.

mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use tree::{TreeFile, fail_if_any, files, root};

const RULES: &str = "docs/rules.md";
const TRANSCRIPTS: &str = "crates/kernel/tests/transcripts";
/// These show how citations look.
const THIS_TEST: &str = "crates/skarv/tests/documents.rs";
const EXAMPLES: &str = "docs/writing.md";

/// Lines outside of fenced code.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The targets of `[text](target)`.
fn links(line: &str) -> Vec<&str> {
    let targets = line.match_indices("](").filter_map(|(start, _)| {
        let rest = &line[start + 2..];
        rest.find(')').map(|end| &rest[..end])
    });
    targets.collect()
}

/// Every anchor of a page: of its headings as the usual hosts make them, and those it sets itself.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text) {
        if let Some(rest) = line.strip_prefix("<a id=\"") {
            anchors.insert(rest.split('"').next().expect("a part").to_owned());
        }
        if let Some(heading) = line.strip_prefix('#') {
            let heading = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = heading
                .chars()
                .filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
            anchors.insert(kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect());
        }
    }
    anchors
}

#[test]
fn links_lead_somewhere() {
    let root = root();
    let mut problems = Vec::new();
    let mut count = 0;
    for file in files(&["md"]) {
        let folder = root.join(&file.path).parent().expect("a folder").to_owned();
        for (index, line) in prose(&file.text) {
            for target in links(line) {
                if target.starts_with("http://") || target.starts_with("https://") {
                    continue;
                }
                count += 1;
                let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
                let full = if path.is_empty() { root.join(&file.path) } else { folder.join(path) };
                let at = format!("{}:{}", file.path, index + 1);
                if !full.exists() {
                    problems.push(format!("{at}: {path} is not there"));
                } else if !anchor.is_empty() {
                    let text = fs::read_to_string(&full).expect("a page");
                    if !anchors(&text).contains(anchor) {
                        problems.push(format!("{at}: {target}: no such heading"));
                    }
                }
            }
        }
    }
    assert!(100 < count, "only {count} links were found");
    fail_if_any(&problems);
}

/// A rule or procedure of docs/rules.md.
#[derive(Default)]
struct Section {
    line: usize,
    /// By the names that begin them: "Models", "Transcripts", ...
    lists: BTreeMap<String, String>,
}

impl Section {
    /// What stands between backquotes in a list.
    fn names(&self, list: &str) -> BTreeSet<String> {
        let text = self.lists.get(list).map_or("", String::as_str);
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }
}

/// By their anchors, with the anchors of rules in capitals: "R11", "commit".
fn sections() -> BTreeMap<String, Section> {
    let text = fs::read_to_string(root().join(RULES)).expect("docs/rules.md exists");
    let mut sections: BTreeMap<String, Section> = BTreeMap::new();
    let (mut anchor, mut list) = (String::new(), String::new());
    for (index, line) in text.lines().enumerate() {
        if let Some(rest) = line.strip_prefix("<a id=\"") {
            let id = rest.split('"').next().expect("a part");
            let is_rule = id.strip_prefix('r').is_some_and(|rest| rest.parse::<u32>().is_ok());
            anchor = if is_rule { id.to_uppercase() } else { id.to_owned() };
            let section = Section { line: index + 1, ..Section::default() };
            let before = sections.insert(anchor.clone(), section);
            assert!(before.is_none(), "{anchor} is defined twice");
            list.clear();
        } else if let Some(section) = sections.get_mut(&anchor) {
            let begun = line.strip_prefix("- ").and_then(|rest| rest.split_once(": "));
            match begun {
                Some((name, rest)) if LISTS.contains(&name) => {
                    name.clone_into(&mut list);
                    section.lists.insert(list.clone(), rest.to_owned());
                }
                _ if line.starts_with("  ") && !list.is_empty() => {
                    let text = section.lists.get_mut(&list).expect("begun");
                    *text += line;
                }
                _ => list.clear(),
            }
        }
    }
    sections
}

const LISTS: &[&str] = &["Models", "Transcripts", "Switches", "Code", "Also"];

/// The rules and procedures that a line cites, and citations that are none: a number without the word before it.
fn citations(line: &str) -> (BTreeSet<String>, Vec<String>) {
    let mut cited = BTreeSet::new();
    let mut bare = Vec::new();
    for (start, _) in line.match_indices("rules.md#") {
        let rest = &line[start + "rules.md#".len()..];
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(rest.len());
        cited.insert(rest[..end].to_owned());
    }
    // "rule R1", "Rules R1, R2 and R3".
    let mut listed_until = 0;
    for (start, _) in line.match_indices('R') {
        let before = &line[..start];
        let digits: String = line[start + 1..].chars().take_while(char::is_ascii_digit).collect();
        let end = start + 1 + digits.len();
        let ends_a_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '#';
        if !(1..=2).contains(&digits.len())
            || before.chars().next_back().is_some_and(|letter| ends_a_word(letter) || letter == '-')
            || line[end..].chars().next().is_some_and(ends_a_word)
        {
            continue;
        }
        let between = &line[listed_until.min(start)..start];
        let goes_on = 0 < listed_until && matches!(between, ", " | " and ");
        let is_named = ["rule ", "Rule ", "rules ", "Rules "].iter().any(|w| before.ends_with(w));
        if goes_on || is_named {
            cited.insert(format!("R{digits}"));
            listed_until = end;
        } else {
            bare.push(format!("R{digits}"));
        }
    }
    (cited, bare)
}

/// Files that may cite rules. In code only comments, and of scripts too, so data may have any letters.
fn citing_files() -> Vec<TreeFile> {
    let mut files = files(&["rs", "py", "sh", "md", "script", "test"]);
    files.retain(|file| file.path != THIS_TEST && file.path != EXAMPLES);
    files
}

fn is_citing_line(file: &TreeFile, line: &str) -> bool {
    match file.extension() {
        "rs" => line.contains("//"),
        "script" | "test" | "sh" => line.trim_start().starts_with('#'),
        _ => true,
    }
}

#[test]
fn rules_are_cited_and_defined() {
    let sections = sections();
    let mut problems = Vec::new();
    let mut in_code = BTreeSet::new();
    for file in citing_files() {
        for (index, line) in file.text.lines().enumerate() {
            let at = format!("{}:{}", file.path, index + 1);
            if line.contains("protocol.md 3.") || line.contains("design/protocol") {
                problems.push(format!("{at}: cite docs/rules.md instead"));
            }
            if !is_citing_line(&file, line) {
                continue;
            }
            let (cited, bare) = citations(line);
            let is_heading = file.path == RULES && line.starts_with("### R");
            if !is_heading && !bare.is_empty() {
                problems.push(format!("{at}: write \"rule {}\"", bare.join(", ")));
            }
            for name in cited {
                let rule = name.strip_prefix('r').map(|number| format!("R{number}"));
                let is_defined = sections.contains_key(&name)
                    || rule.is_some_and(|rule| sections.contains_key(&rule));
                if !is_defined {
                    problems.push(format!("{at}: {name} is not in {RULES}"));
                }
                if file.extension() == "rs" {
                    in_code.insert(name);
                }
            }
        }
    }
    for (name, section) in &sections {
        if !in_code.contains(name) {
            problems.push(format!("{RULES}:{}: no code cites {name}", section.line));
        }
    }
    for number in 1..=27 {
        if !sections.contains_key(&format!("R{number}")) {
            problems.push(format!("{RULES} does not define R{number}"));
        }
    }
    fail_if_any(&problems);
}

#[test]
fn every_rule_says_where_it_is_kept() {
    let mut problems = Vec::new();
    for (name, section) in sections() {
        for list in ["Models", "Transcripts", "Switches", "Code"] {
            let text = section.lists.get(list).map_or("", String::as_str);
            if text.is_empty() || (text != "none") == section.names(list).is_empty() {
                problems.push(format!("{RULES}:{}: {name}: {list}: names, or none", section.line));
            }
        }
        // The modules that are linked cite the rule.
        let citation = match name.strip_prefix('R') {
            Some(_) => name.clone(),
            None => format!("rules.md#{name}"),
        };
        for target in section.lists.get("Code").map_or(Vec::new(), |text| links(text)) {
            let path = root().join("docs").join(target);
            let text = fs::read_to_string(&path).unwrap_or_default();
            let cites = text.lines().any(|line| {
                let (cited, _) = citations(line);
                cited.contains(&name) || line.contains(&citation) && citation != name
            });
            if !cites {
                problems.push(format!("{target} keeps {name}, says {RULES}, and does not cite it"));
            }
        }
    }
    fail_if_any(&problems);
}

/// Models, transcripts and switches that docs/rules.md names exist, and those that exist are named there.
#[test]
fn rules_name_their_checks() {
    let sections = sections();
    let all = |list: &str| -> BTreeSet<String> {
        sections.values().flat_map(|section| section.names(list)).collect()
    };
    let mut problems = Vec::new();
    compare(&all("Models"), &model_rules(), "a rule of crates/models", &mut problems);
    compare(&all("Switches"), &switches(), "a variant of Mutation", &mut problems);

    let root = root();
    let mut citing: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files(&["script"]) {
        let Some(path) = file.path.strip_prefix(&format!("{TRANSCRIPTS}/")) else { continue };
        let name = path.strip_suffix(".script").expect("the extension asked for");
        for line in file.text.lines().filter(|line| line.starts_with('#')) {
            for rule in citations(line).0 {
                citing.entry(rule).or_default().insert(name.to_owned());
            }
        }
    }
    for (rule, section) in &sections {
        let named = section.names("Transcripts");
        for name in &named {
            if !root.join(TRANSCRIPTS).join(format!("{name}.script")).exists() {
                problems
                    .push(format!("{RULES}: {rule} names transcript {name}, which is not there"));
            }
        }
        let none = BTreeSet::new();
        let cited = citing.get(rule).unwrap_or(&none);
        for name in cited.difference(&named) {
            problems.push(format!("{RULES}: add transcript {name}, which cites it, to {rule}"));
        }
        for name in named.difference(cited) {
            problems.push(format!("transcript {name} does not cite {rule}, as {RULES} says"));
        }
    }
    fail_if_any(&problems);
}

fn compare(
    named: &BTreeSet<String>,
    present: &BTreeSet<String>,
    what: &str,
    problems: &mut Vec<String>,
) {
    assert!(!present.is_empty(), "{what} was not found");
    for name in named.difference(present) {
        problems.push(format!("{RULES} names {name}: {what} is not there"));
    }
    for name in present.difference(named) {
        problems.push(format!("{RULES} does not name {name}, {what}"));
    }
}

/// The variants of an enum: lines of one word below its first line.
fn variants(text: &str, begin: &str) -> BTreeSet<String> {
    let start = text.find(begin).unwrap_or_else(|| panic!("{begin} is not there"));
    let lines = text[start..].lines().skip(1).take_while(|line| *line != "}");
    let names = lines.filter_map(|line| line.trim().strip_suffix(','));
    names.filter(|name| name.chars().all(char::is_alphanumeric)).map(str::to_owned).collect()
}

/// `module::Rule` of each model.
fn model_rules() -> BTreeSet<String> {
    let mut rules = BTreeSet::new();
    for file in files(&["rs"]) {
        let Some(module) = file.path.strip_prefix("crates/models/src/") else { continue };
        let module = module.strip_suffix(".rs").expect("the extension asked for");
        if module != "lib" {
            let names = variants(&file.text, "pub enum Rule {");
            rules.extend(names.into_iter().map(|name| format!("{module}::{name}")));
        }
    }
    rules
}

/// The switches of the kernel, and as `disk::` those of the redo log.
fn switches() -> BTreeSet<String> {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("the source");
    let mut switches = variants(&read("crates/kernel/src/node.rs"), "pub enum Mutation {");
    let disk = variants(&read("crates/disk/src/redo.rs"), "pub enum Mutation {");
    switches.extend(disk.into_iter().map(|name| format!("disk::{name}")));
    switches.remove("None");
    switches.remove("disk::None");
    switches
}

#[test]
fn pages_are_read_as_pages() {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let table: [(&str, BTreeSet<String>, &[&str]); 7] = [
        ("// rule R3: a lease", set(&["R3"]), &[]),
        ("// (rules R10, R11 and R12)", set(&["R10", "R11", "R12"]), &[]),
        ("# Rule R3, rules.md#checkpoints: x", set(&["R3", "checkpoints"]), &[]),
        ("(R14) and R2", set(&[]), &["R14", "R2"]),
        ("rule R1, and R2", set(&["R1"]), &["R2"]),
        ("R1x R100 AR1 [rule R7](rules.md#r7)", set(&["R7", "r7"]), &[]),
        ("no rule", set(&[]), &[]),
    ];
    for (line, cited, bare) in table {
        let bare = bare.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(citations(line), (cited, bare), "{line}");
    }
    assert_eq!(
        anchors("# What *is* it?\n```\n# no\n```\n<a id=\"r1\"></a>\n### R1: a, b\n"),
        set(&["what-is-it", "r1", "r1-a-b"])
    );
    assert_eq!(links("[a](b.md#c), [`d`](e/f)"), ["b.md#c", "e/f"]);
    assert_eq!(
        variants("x\nenum A {\n    /// x,\n    B,\n    C,\n}\nD,\n", "enum A {"),
        set(&["B", "C"])
    );
}
