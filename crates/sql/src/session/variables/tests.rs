//! What becomes of every value that a client may set.

use std::path::Path;

use super::*;

/// Binary search needs the order, and case-insensitive look-ups find every name.
#[test]
fn the_table_is_sorted() {
    for pair in VARIABLES.windows(2) {
        assert!(pair[0].name < pair[1].name, "{} before {}", pair[0].name, pair[1].name);
    }
    assert!(find("SQL_Mode").is_some());
    assert!(find("no_such_variable").is_none());
}

/// A value that is not the default.
fn other_value(kind: Kind) -> NewValue {
    match kind {
        Kind::Bool(default) => NewValue::Word(on_off(!default)),
        Kind::Int { default, max, .. } if default < max => {
            NewValue::Value(Value::UInt(default + 1))
        }
        Kind::Int { default, .. } => NewValue::Value(Value::UInt(default - 1)),
        Kind::Text(default) if default.contains('.') => NewValue::Word("1.5".into()),
        Kind::Text(_) => NewValue::Word("something".into()),
        Kind::Word(words) => NewValue::Word(words[1].into()),
        Kind::Switches(switches) => {
            NewValue::Word(switch_text(switches[0].name, !switches[0].default))
        }
        Kind::Computed(_) => unreachable!("the session checks it"),
    }
}

/// Variables whose effect no script can show, and what shows it.
const SHOWN_ELSEWHERE: &[(&str, &str)] = &[
    ("interactive_timeout", "mysql: the connection's idle timeout"),
    ("net_read_timeout", "mysql: the time for which LOAD DATA LOCAL waits for its client"),
    ("net_write_timeout", "mysql: the connection's stall timeout"),
    ("wait_timeout", "mysql: the connection's idle timeout"),
    ("skarv_durability", "sim: workloads choose it"),
    ("skarv_snapshot_age_max", "sim: workloads choose it"),
    ("tx_isolation", "another name of transaction_isolation"),
    ("tx_read_only", "another name of transaction_read_only"),
];

/// Every settable variable with another value than its default: refused with 1235 by its name, or accepted for a reason that
/// the table gives, or acted upon, which a script shows. So none is accepted without effect.
#[test]
fn no_value_is_accepted_without_effect() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut scripts = String::new();
    for entry in std::fs::read_dir(folder).expect("the folder of scripts") {
        let path = entry.expect("an entry").path();
        scripts.push_str(&std::fs::read_to_string(path).expect("a script").to_lowercase());
    }
    let is_shown = |name: &str| {
        scripts.lines().any(|line| {
            let mut words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            words.next() == Some("set") && words.any(|word| word == name)
        })
    };
    for variable in VARIABLES {
        let name = variable.name;
        match variable.effect {
            Effect::ReadOnly => {}
            Effect::Acts => {
                let is_elsewhere = SHOWN_ELSEWHERE.iter().any(|(other, _)| *other == name);
                assert!(is_elsewhere || is_shown(name), "no script shows what {name} does");
            }
            Effect::Satisfied(why) => {
                assert!(!why.is_empty());
                let default = default_of(variable.kind).expect("not computed");
                let (text, _) = check_kept(variable, &other_value(variable.kind), &default)
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
                assert_ne!(text, default, "{name}");
            }
            Effect::OnlyDefault => {
                let default = default_of(variable.kind).expect("not computed");
                let error =
                    check_kept(variable, &other_value(variable.kind), &default).expect_err(name);
                let is_engine = name.ends_with("storage_engine");
                assert_eq!(error.code, if is_engine { 1286 } else { 1235 }, "{name}");
                assert!(is_engine || error.message.contains(name), "{}", error.message);
                let same = check_kept(variable, &NewValue::Default, &default);
                assert_eq!(same.expect(name).0, default);
            }
        }
    }
}

/// Values are checked by their kind, with MySQL's numbers.
#[test]
fn values() {
    let check = |name: &str, value: NewValue| {
        let variable = find(name).expect("a variable");
        let current = default_of(variable.kind).expect("kept");
        check_kept(variable, &value, &current).map_err(|error| error.code)
    };
    let word = |text: &str| NewValue::Word(text.into());
    let number = |number: i64| NewValue::Value(Value::Int(number));
    let fine = |text: &str| Ok((text.to_string(), false));
    let adjusted = |text: &str| Ok((text.to_string(), true));
    assert_eq!(check("sql_notes", number(0)), fine("OFF"));
    assert_eq!(check("sql_notes", word("on")), fine("ON"));
    assert_eq!(check("sql_notes", word("maybe")), Err(1231));
    assert_eq!(check("sql_notes", NewValue::Value(Value::Null)), Err(1231));
    assert_eq!(check("sql_notes", NewValue::Value(Value::Double(1.0))), Err(1232));
    assert_eq!(check("max_error_count", number(-1)), adjusted("0"));
    assert_eq!(check("max_error_count", number(100_000)), adjusted("65535"));
    assert_eq!(check("max_error_count", word("ON")), Err(1232));
    assert_eq!(check("completion_type", number(1)), fine("CHAIN"));
    assert_eq!(check("completion_type", word("x")), Err(1231));
    assert_eq!(check("long_query_time", number(2)), fine("2.000000"));
    assert_eq!(check("long_query_time", word("0.5")), fine("0.500000"));
    assert_eq!(check("default_storage_engine", word("innodb")), fine("InnoDB"));
    assert_eq!(check("default_storage_engine", word("NDB")), Err(1235));
    assert_eq!(check("default_storage_engine", word("archive_of_mine")), Err(1286));
    let (switches, _) = check("optimizer_switch", word("MRR=off,semijoin=default")).expect("fine");
    assert!(switches.contains("mrr=off,mrr_cost_based=on"), "{switches}");
    for wrong in ["mrr", "nosuch=on", "mrr=1", "mrr=on,mrr=off"] {
        assert_eq!(check("optimizer_switch", word(wrong)), Err(1231), "{wrong}");
    }
    for refused in ["materialization=off", "mrr=off,hypergraph_optimizer=on"] {
        assert_eq!(check("optimizer_switch", word(refused)), Err(1235), "{refused}");
    }
    let variable = find("optimizer_switch").expect("a variable");
    let (again, _) = check_kept(variable, &word("default"), &switches).expect("fine");
    assert_eq!(Some(again), default_of(variable.kind));
}

/// A name of no mode is refused.
#[test]
fn sql_mode_refuses() {
    assert_eq!(parse_sql_mode("").unwrap(), SqlMode::NONE);
    assert!(parse_sql_mode("TRADITIONAL").unwrap().is_strict());
    let error = parse_sql_mode("NO_DIR_IN_CREATE,NONSENSE").unwrap_err();
    assert_eq!((error.code, error.message.contains("'NONSENSE'")), (1231, true));
}

#[test]
fn time_zones() {
    assert_eq!(parse_time_zone("+02:00"), Some(7200));
    assert_eq!(parse_time_zone("-05:30"), Some(-19800));
    assert_eq!(parse_time_zone("+14:00"), Some(50400));
    assert_eq!(parse_time_zone("SYSTEM"), Some(0));
    for wrong in ["+14:01", "-14:00", "+2", "Europe/Oslo", "", "+aa:00", "+02:60", "+é:00"] {
        assert_eq!(parse_time_zone(wrong), None, "{wrong}");
    }
}
