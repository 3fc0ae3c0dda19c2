//! What the SQL modes of the lexer and the parser change.

use super::ast::*;
use super::*;

/// The compact form of the one expression selected, read in a mode.
fn expr_in(text: &str, mode: SqlMode) -> String {
    let sql = format!("SELECT {text}");
    match parse_one(sql.as_bytes(), mode) {
        Ok((Statement::Query(query), _)) => match query.body {
            QueryBody::Select(select) => match select.items.as_slice() {
                [SelectItem::Expr { expr, .. }] => format!("{expr:?}"),
                other => panic!("{sql}: {other:?}"),
            },
            other => panic!("{sql}: {other:?}"),
        },
        Ok(other) => panic!("{sql}: {other:?}"),
        Err(error) => error.mysql_code().to_string(),
    }
}

/// What the modes of the lexer and the parser change.
#[test]
fn modes() {
    let none = SqlMode::NONE;
    let pipes = SqlMode::PIPES_AS_CONCAT;
    let ansi = SqlMode::ANSI_QUOTES;
    let plain = SqlMode::NO_BACKSLASH_ESCAPES;
    let high = SqlMode::HIGH_NOT_PRECEDENCE;
    let spaces = SqlMode::IGNORE_SPACE;
    for (mode, text, expected) in [
        (none, "a || b", "(or a b)"),
        (pipes, "a || b", "(CONCAT a b)"),
        (pipes, "a || b || c", "(CONCAT (CONCAT a b) c)"),
        (pipes, "1 + a || b ^ 2", "(+ 1 (^ (CONCAT a b) 2))"),
        (pipes, "-a || b", "(CONCAT (neg a) b)"),
        (pipes, "a || b = c OR d", "(or (= (CONCAT a b) c) d)"),
        (pipes, "a LIKE b || c", "(like a (CONCAT b c))"),
        (none, "\"a\"", "'a'"),
        (ansi, "\"a\".\"b\"\"c\"", "a.b\"c"),
        (ansi, "@\"v\"", "@v"),
        (ansi, "'a' AS \"b\"", "'a'"),
        (plain, "'a\\'", "'a\\\\'"),
        (high, "NOT a BETWEEN b AND c", "(between (not a) b c)"),
        (none, "NOT a BETWEEN b AND c", "(not (between a b c))"),
        (high, "a NOT IN (1)", "(not-in a 1)"),
        (high, "NOT a + 1", "(+ (not a) 1)"),
        (high, "1 = NOT a", "(= 1 (not a))"),
        (none, "1 = NOT a", "1064"),
        (none, "count(a)", "(COUNT a)"),
        (none, "count (a)", "(spaced count)"),
        (none, "count (*)", "1064"),
        (spaces, "count (a)", "(COUNT a)"),
        (spaces, "count (*)", "(COUNT)"),
        (none, "now ()", "(spaced now)"),
        (none, "abs (a)", "(ABS a)"),
        (none, "count", "count"),
        (spaces, "count", "count"),
    ] {
        assert_eq!(expr_in(text, mode), expected, "{text}");
    }
    let real = |mode| format!("{:?}", parse_one(b"CREATE TABLE t (a REAL)", mode));
    assert!(real(SqlMode::REAL_AS_FLOAT).contains("Float") && real(none).contains("Double"));
    for (sql, is_valid) in [
        ("CREATE TABLE count (a INT)", true),
        ("CREATE TABLE count(a INT)", false),
        ("CREATE TABLE t (count INT, max INT)", true),
    ] {
        assert_eq!(parse_one(sql.as_bytes(), none).is_ok(), is_valid, "{sql}");
    }
    assert!(parse_one(b"CREATE TABLE count (a INT)", spaces).is_err());
}
