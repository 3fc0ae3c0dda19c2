//! Tables with random columns, keys and rows.
//!
//! Values come from small domains, so that random predicates match rows and keys repeat. `id` identifies a row and is
//! part of every key that must be unique; `mark` is there to be changed.

use super::random::Random;

/// A kind of column: its type, and literals of its domain.
#[derive(Debug)]
pub struct Kind {
    pub sql_type: &'static str,
    /// A key needs a prefix of it: TEXT and BLOB.
    pub needs_prefix: bool,
    /// A key can have a prefix of it.
    pub is_string: bool,
    pub literals: &'static [&'static str],
}

const STRINGS: &[&str] = &[
    "''", "'a'", "'A'", "'b'", "'B'", "'ab'", "'aB'", "'abc'", "'é'", "'e'", "'10'", "'9'", "'a '",
];

/// Of latin1, with letters that are equal to others in some of its collations.
const LATIN1_STRINGS: &[&str] = &[
    "''", "'a'", "'A'", "'ab'", "'é'", "'e'", "'ä'", "'ae'", "'Ä '", "'ß'", "'ss'", "'ÿ'", "'€'",
    "'10'",
];
const ASCII_STRINGS: &[&str] = &["''", "'a'", "'A'", "'b'", "'ab'", "'aB'", "'10'", "'a '"];

const fn kind(sql_type: &'static str, literals: &'static [&'static str]) -> Kind {
    Kind { sql_type, needs_prefix: false, is_string: false, literals }
}
const fn string(sql_type: &'static str) -> Kind {
    Kind { sql_type, needs_prefix: false, is_string: true, literals: STRINGS }
}

const fn narrow(sql_type: &'static str, literals: &'static [&'static str]) -> Kind {
    Kind { sql_type, needs_prefix: false, is_string: true, literals }
}

pub const KINDS: &[Kind] = &[
    kind("INT", &["-1", "0", "1", "2", "3", "4", "5", "7", "8"]),
    kind("TINYINT UNSIGNED", &["0", "1", "2", "3", "4", "5", "7", "255"]),
    kind("BIGINT", &["-9223372036854775808", "-1", "0", "1", "3", "4", "9223372036854775807"]),
    kind("BIGINT UNSIGNED", &["0", "1", "2", "4", "9223372036854775808", "18446744073709551615"]),
    kind("DECIMAL(6,2)", &["-1.50", "0", "0.01", "1", "2.5", "2.50", "4", "9999.99"]),
    kind("DOUBLE", &["-1e0", "0e0", "1", "2.5e0", "4", "1e300"]),
    kind("FLOAT", &["-1", "0", "0.1", "1", "2.5", "4"]),
    string("VARCHAR(6)"),
    string("VARCHAR(6) COLLATE utf8mb4_bin"),
    string("VARCHAR(6) COLLATE utf8mb4_general_ci"),
    string("CHAR(4)"),
    string("CHAR(4) COLLATE utf8mb4_bin"),
    narrow("VARCHAR(6) CHARACTER SET latin1", LATIN1_STRINGS),
    narrow("CHAR(4) CHARACTER SET latin1 COLLATE latin1_german2_ci", LATIN1_STRINGS),
    narrow("VARCHAR(6) CHARACTER SET latin1 COLLATE latin1_bin", LATIN1_STRINGS),
    narrow("CHAR(4) CHARACTER SET ascii", ASCII_STRINGS),
    string("VARCHAR(6) CHARACTER SET utf8mb3"),
    string("VARBINARY(6)"),
    string("BINARY(3)"),
    Kind { sql_type: "TEXT", needs_prefix: true, is_string: true, literals: STRINGS },
    kind("DATE", &["'2000-01-01'", "'2000-01-02'", "'2001-12-31'", "'1999-02-28'"]),
    kind(
        "DATETIME",
        &[
            "'2000-01-01'",
            "'2000-01-01 00:00:01'",
            "'2001-12-31 23:59:59'",
            "'1999-02-28 12:00:00'",
        ],
    ),
    kind("DATETIME(3)", &["'2000-01-01'", "'2000-01-01 00:00:00.001'", "'2001-12-31 23:59:59.5'"]),
    kind(
        "TIMESTAMP NULL",
        &["'2000-01-01 00:00:00'", "'2000-01-01 00:00:01'", "'2001-12-31 23:59:59'"],
    ),
    kind("TIME", &["'-01:00:00'", "'00:00:00'", "'00:00:01'", "'12:00:00'", "'100:00:00'"]),
    kind("ENUM('b','a','Ab','3','')", &["'a'", "'B'", "'ab'", "'3'", "''", "1", "2", "4"]),
    kind("SET('b','a','c')", &["''", "'a'", "'b'", "'b,a'", "'A,B'", "'c'", "0", "3", "5"]),
    kind("YEAR", &["0", "'0'", "99", "1999", "2000", "'2001'", "2155", "1901"]),
    kind("BIT(3)", &["b'101'", "0", "1", "5", "7", "b'0'"]),
    kind("BIT(64)", &["0", "1", "18446744073709551615", "9223372036854775808", "b'1'"]),
];

#[derive(Debug)]
pub struct Column {
    pub name: &'static str,
    pub kind: &'static Kind,
    pub nullable: bool,
}

/// A table as SQL.
#[derive(Debug)]
pub struct RandomTable {
    pub columns: Vec<Column>,
    /// CREATE TABLE statements of tables that differ only in their keys: the first has the random keys and is called
    /// `t`, the second has only the primary key `id` and is called `plain`.
    pub creates: [String; 2],
    /// Names of the secondary keys of `t`.
    pub keys: Vec<String>,
    /// Literals of each row: `id` first, `mark` last.
    pub rows: Vec<Vec<String>>,
}

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// A table of 3 to 5 random columns between `id` and `mark`, and `row_count` rows.
pub fn table(random: &mut Random, row_count: usize) -> RandomTable {
    let mut columns = Vec::new();
    for name in &NAMES[..3 + random.below(3)] {
        let kind = random.pick(KINDS);
        columns.push(Column { name, kind, nullable: random.percent(65) });
    }
    let mut lines = vec!["id INT NOT NULL".to_string()];
    for column in &columns {
        let null = if column.nullable { "" } else { " NOT NULL" };
        let sql_type = column.kind.sql_type.trim_end_matches(" NULL");
        let null = if column.nullable && sql_type == "TIMESTAMP" { " NULL" } else { null };
        let default = if sql_type == "TIMESTAMP" && !column.nullable {
            " DEFAULT '2000-01-01 00:00:00'"
        } else {
            ""
        };
        lines.push(format!("{} {sql_type}{null}{default}", column.name));
    }
    lines.push("mark INT NOT NULL DEFAULT 0".into());
    let plain = format!("CREATE TABLE plain ({}, PRIMARY KEY (id))", lines.join(", "));
    let mut primary: Vec<String> = Vec::new();
    for column in columns.iter().filter(|column| !column.nullable && !column.kind.needs_prefix) {
        if primary.len() < 2 && random.percent(40) {
            primary.push(column.name.to_string());
        }
    }
    primary.push("id".into());
    lines.push(format!("PRIMARY KEY ({})", primary.join(", ")));
    let mut keys = Vec::new();
    for number in 0..3 + random.below(3) {
        let mut parts: Vec<String> = Vec::new();
        for _ in 0..1 + random.below(3) {
            let column = random.pick(&columns);
            if parts.iter().any(|part| part.split([' ', '(']).next() == Some(column.name)) {
                continue;
            }
            let mut part = column.name.to_string();
            if column.kind.needs_prefix || (column.kind.is_string && random.percent(25)) {
                part.push_str(&format!("({})", 1 + random.below(2)));
            }
            if random.percent(25) {
                part.push_str(" DESC");
            }
            parts.push(part);
        }
        let unique = random.percent(25);
        if unique {
            parts.push("id".into());
        }
        let name = format!("k{number}");
        let word = if unique { "UNIQUE KEY" } else { "KEY" };
        lines.push(format!("{word} {name} ({})", parts.join(", ")));
        keys.push(name);
    }
    let keyed = format!("CREATE TABLE t ({})", lines.join(", "));
    let rows = (0..row_count)
        .map(|id| {
            let mut row = vec![id.to_string()];
            for column in &columns {
                let is_null = column.nullable && random.percent(20);
                row.push(if is_null { "NULL".into() } else { literal(random, column.kind) });
            }
            row.push("0".into());
            row
        })
        .collect();
    RandomTable { columns, creates: [keyed, plain], keys, rows }
}

/// A literal that a column of this kind stores as it is, or as the closest value it has.
pub fn literal(random: &mut Random, kind: &Kind) -> String {
    (*random.pick(kind.literals)).to_string()
}
