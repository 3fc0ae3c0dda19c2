//! Hostile text: long chains, deep nests, random bytes. None may panic or overflow a small stack.

use proptest::prelude::*;

use super::ast::*;
use super::*;

/// Runs on a thread with the stack that statements run on: parsing, printing, cloning and dropping must fit.
fn on_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new()
        .stack_size(limits::STACK_SIZE)
        .spawn(work)
        .expect("a thread")
        .join()
        .expect("no panic");
}

/// Parses, and walks the tree in the ways that recurse.
fn exercise(sql: &[u8]) -> Result<(), ParseError> {
    let _ = digest(sql, SqlMode::NONE);
    let _ = parse_parametrised(sql, SqlMode::NONE);
    let parsed = parse_one(sql, SqlMode::NONE);
    assert_eq!(in_turns(sql), parsed);
    let (statement, _) = parsed?;
    let copy = statement.clone();
    assert_eq!(copy, statement);
    assert!(!format!("{statement:?}").is_empty());
    Ok(())
}

/// The statement as a session parses it: a row of an INSERT at a time.
fn in_turns(sql: &[u8]) -> Result<(Statement, usize), ParseError> {
    let mut turns = Turns::new(sql, SqlMode::NONE)?;
    loop {
        if let Some(parsed) = turns.turn(1)? {
            return Ok(parsed);
        }
    }
}

/// Chains of AND and OR of any length are one node.
#[test]
fn long_chains_are_flat() {
    on_small_stack(|| {
        for operator in ["OR", "AND", "||", "&&"] {
            let chain = vec!["a=1"; 100_000].join(&format!(" {operator} "));
            let sql = format!("SELECT 1 FROM t WHERE {chain}");
            let (statement, _) = parse_one(sql.as_bytes(), SqlMode::NONE).expect("a flat chain");
            let Statement::Query(query) = statement else { panic!("no query") };
            let QueryBody::Select(select) = query.body else { panic!("no select") };
            match select.filter {
                Some(Expr::And(operands) | Expr::Or(operands)) => {
                    assert_eq!(operands.len(), 100_000)
                }
                other => panic!("{other:?}"),
            }
        }
        let list = vec!["1"; 100_000].join(",");
        exercise(format!("SELECT {list}").as_bytes()).expect("a long list");
        exercise(format!("SELECT a IN ({list})").as_bytes()).expect("a long list");
        exercise(format!("INSERT INTO t VALUES ({list})").as_bytes()).expect("a long row");
        let union = vec!["SELECT 1"; 20_000].join(" UNION ");
        exercise(union.as_bytes()).expect("a long union");
        let joins = " JOIN t".repeat(20_000);
        exercise(format!("SELECT 1 FROM t{joins}").as_bytes()).expect("many joins");
    });
}

/// Chains of other operators are ladders of bounded height.
#[test]
fn long_ladders_are_refused() {
    on_small_stack(|| {
        for operator in ["+", "-", "*", "|", "^", "=", "XOR", "<<"] {
            let sql =
                |count: usize| format!("SELECT {}", vec!["1"; count].join(operator_text(operator)));
            exercise(sql(630).as_bytes()).expect("below the bound");
            let error = exercise(sql(100_000).as_bytes()).expect_err("above the bound");
            assert_eq!((error.kind, error.mysql_code()), (ParseErrorKind::TooDeep, 1436));
        }
        let sql = format!("SELECT a{}", " COLLATE x".repeat(100_000));
        assert_eq!(exercise(sql.as_bytes()).expect_err("high").kind, ParseErrorKind::TooDeep);
        let sql = format!("SELECT a{}", " IS NULL".repeat(100_000));
        assert_eq!(exercise(sql.as_bytes()).expect_err("high").kind, ParseErrorKind::TooDeep);
        // Height adds up over ladders within ladders.
        let ladder = vec!["1"; 200].join("+");
        let sql = format!("SELECT ({ladder}+({ladder}+({ladder})))");
        assert!(exercise(sql.as_bytes()).is_ok());
        let sql = format!("SELECT (((({ladder})+{ladder})+{ladder})+{ladder})");
        assert_eq!(exercise(sql.as_bytes()).expect_err("high").kind, ParseErrorKind::TooDeep);
    });
}

fn operator_text(operator: &'static str) -> &'static str {
    if operator == "XOR" { " XOR " } else { operator }
}

/// Nests of every kind: the deep ones are refused, the shallow ones taken, none crashes.
#[test]
fn nests_are_bounded() {
    on_small_stack(|| {
        for (open, middle, close) in [
            ("(", "1", ")"),
            ("f(", "1", ")"),
            ("-", "1", ""),
            ("- ", "1", ""),
            ("NOT ", "1", ""),
            ("!", "1", ""),
            ("~", "1", ""),
            ("BINARY ", "1", ""),
            ("(1,", "1", ")"),
            ("1+(", "1", ")"),
            ("1 IN (", "1", ")"),
            ("a BETWEEN 1 AND ", "1", ""),
            ("CASE WHEN ", "1", " THEN 1 END"),
            ("CASE ", "1", " WHEN 1 THEN 1 END"),
            ("@a := ", "1", ""),
            ("CAST(", "1", " AS CHAR)"),
            ("INTERVAL ", "1", " DAY"),
            ("count(", "1", ")"),
            ("{x ", "1", "}"),
            ("(SELECT ", "1", ")"),
            ("EXISTS (SELECT ", "1", ")"),
            ("a IN (SELECT ", "1", ")"),
            ("(SELECT 1 FROM t WHERE ", "1", ")"),
            ("(WITH x AS (SELECT ", "1", ") SELECT 1)"),
            ("((SELECT 1) UNION (SELECT ", "1", "))"),
        ] {
            let sql = |depth: usize| {
                format!("SELECT {}{middle}{}", open.repeat(depth), close.repeat(depth))
            };
            exercise(sql(100).as_bytes()).unwrap_or_else(|error| panic!("{open}: {error}"));
            let error = exercise(sql(100_000).as_bytes()).expect_err("too deep");
            assert!(
                matches!(error.kind, ParseErrorKind::TooDeep | ParseErrorKind::Syntax),
                "{open}"
            );
        }
        for (open, middle, close) in [
            ("(", "SELECT 1", ")"),
            ("SELECT 1 FROM (", "SELECT 1", ") AS t"),
            ("SELECT 1 UNION (", "SELECT 1", ")"),
            ("WITH x AS (", "SELECT 1", ") SELECT 1"),
            ("EXPLAIN ", "SELECT 1", ""),
        ] {
            let sql =
                |depth: usize| format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
            exercise(sql(1).as_bytes()).unwrap_or_else(|error| panic!("{open}: {error}"));
            exercise(sql(100_000).as_bytes()).expect_err("too deep");
        }
        for (open, middle, close) in [
            ("(", "t", ")"),
            ("{OJ ", "t", "}"),
            ("((", "SELECT 1", ") AS t)"),
            ("t LEFT JOIN ", "t", " ON 1"),
            ("JSON_TABLE((SELECT 1 FROM ", "t", "), '$' COLUMNS (a FOR ORDINALITY)) AS t"),
        ] {
            let sql = |depth: usize| {
                format!("SELECT 1 FROM {}{middle}{}", open.repeat(depth), close.repeat(depth))
            };
            exercise(sql(1).as_bytes()).unwrap_or_else(|error| panic!("{open}: {error}"));
            exercise(sql(100_000).as_bytes()).expect_err("too deep");
        }
        let columns = |depth: usize| {
            let open = "NESTED PATH '$' COLUMNS (".repeat(depth);
            let close = ")".repeat(depth);
            format!("SELECT 1 FROM JSON_TABLE(1, '$' COLUMNS ({open}a FOR ORDINALITY{close})) AS t")
        };
        exercise(columns(100).as_bytes()).expect("not too deep");
        exercise(columns(100_000).as_bytes()).expect_err("too deep");
        exercise("/*".repeat(100_000).as_bytes()).expect_err("no end");
        exercise("/*!".repeat(100_000).as_bytes()).expect_err("no end");
        exercise("CREATE TABLE t (a INT CHECK (".repeat(10_000).as_bytes()).expect_err("no end");
    });
}

/// The plain nests fit up to the limit.
#[test]
fn nests_below_the_bound_are_taken() {
    on_small_stack(|| {
        for depth in [50, 300, 630] {
            let sql = format!("SELECT {}1{}", "(".repeat(depth), ")".repeat(depth));
            exercise(sql.as_bytes()).expect("below the bound");
        }
        let sql = format!("SELECT {}1{}", "(".repeat(650), ")".repeat(650));
        assert_eq!(exercise(sql.as_bytes()).expect_err("above").kind, ParseErrorKind::TooDeep);
    });
}

/// Too long a text is refused before it is read; too many expressions while reading.
#[test]
fn long_texts_are_refused() {
    let long = vec![b' '; limits::STATEMENT_SIZE_MAX + 1];
    assert_eq!(
        parse_one(&long, SqlMode::NONE).expect_err("too long").kind,
        ParseErrorKind::TooLong
    );
    assert_eq!(digest(&long, SqlMode::NONE), None);
    let many = |start: &str, item: &str, count: u32| {
        let items = vec![item; count as usize].join(",");
        parse_one(format!("{start} {items}").as_bytes(), SqlMode::NONE).map(|_| ())
    };
    let of_insert = limits::EXPRESSION_COUNT_MAX;
    let others = limits::EXPRESSION_COUNT_MAX_AT_ONCE;
    for (start, item, allowed) in [("DO", "1", others), ("INSERT INTO t VALUES", "(1)", of_insert)]
    {
        assert_eq!(many(start, item, allowed - 10), Ok(()), "{start}");
        assert_eq!(many(start, item, allowed + 10).expect_err("too many").mysql_code(), 1153);
    }
}

/// Pieces that make random text look like SQL.
pub(super) const PIECES: &[&str] = &[
    "SELECT ",
    "FROM ",
    "t ",
    "WHERE ",
    "a ",
    "= ",
    "1 ",
    "'x' ",
    ", ",
    "( ",
    ") ",
    "INSERT INTO ",
    "VALUES ",
    "UPDATE ",
    "SET ",
    "DELETE ",
    "AND ",
    "OR ",
    "NOT ",
    "IN ",
    "BETWEEN ",
    "LIKE ",
    "IS ",
    "NULL ",
    "CASE ",
    "WHEN ",
    "THEN ",
    "END ",
    "CREATE TABLE ",
    "INT ",
    "PRIMARY KEY ",
    "DEFAULT ",
    "ALTER TABLE ",
    "ADD ",
    "DROP ",
    "SHOW ",
    "TABLES ",
    "@a ",
    "@@b ",
    ":= ",
    "? ",
    "* ",
    "+ ",
    "- ",
    ". ",
    "`q` ",
    "LIMIT ",
    "ORDER BY ",
    "GROUP BY ",
    "UNION ",
    "JOIN ",
    "ON ",
    "LEFT ",
    "USING ",
    "AS ",
    "INTERVAL ",
    "DAY ",
    "count(",
    "cast(",
    "; ",
    "/*! ",
    "*/ ",
    "-- ",
    "\n",
    "0x1F ",
    "1.5e3 ",
    "FOR UPDATE ",
    "EXPLAIN ",
    "WITH ",
    "INDEX ",
    "KEY ",
    "UNIQUE ",
    "TRANSACTION ",
    "GLOBAL ",
    "NAMES ",
    "PARTITION BY ",
    "COMMENT ",
    "ENGINE ",
    "COLLATE ",
    "TRIM(",
    "VALUES(",
    "{d ",
    "} ",
    "_utf8mb4",
    "N'a' ",
    "->",
    "ROW",
    "EXISTS ",
    "DATE ",
    "DUPLICATE KEY UPDATE ",
    "INTO ",
    "\\",
    "'",
    "\"",
    "`",
    "\u{e9}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Random bytes never panic, and a statement taken consumes something.
    #[test]
    fn random_bytes(sql in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = exercise(&sql);
    }

    /// Random sequences of SQL's pieces neither.
    #[test]
    fn random_pieces(indexes in proptest::collection::vec(0..PIECES.len(), 0..40)) {
        let sql: String = indexes.iter().map(|&index| PIECES[index]).collect();
        let _ = exercise(sql.as_bytes());
        if let Ok((_, consumed)) = parse_one(sql.as_bytes(), SqlMode::NONE) {
            prop_assert!(consumed <= sql.len());
            prop_assert!(sql.is_empty() || 0 < consumed);
        }
    }

    /// A valid statement cut anywhere or with one byte changed neither.
    #[test]
    fn mutilated(which in 0usize..6, cut in 0usize..300, at in 0usize..300, byte in any::<u8>()) {
        let sql = [
            "SELECT a, count(*) AS n FROM t AS x LEFT JOIN u USING (b) WHERE x.a IN (1, 2.5, 'c') AND NOT b <=> NULL GROUP BY a HAVING n > 1 ORDER BY 1 LIMIT 2, 3 FOR UPDATE",
            "INSERT INTO `t` (a, b) VALUES (1, 'x\\'y'), (0x41, -1.5e3) ON DUPLICATE KEY UPDATE a = VALUES(a) + 1",
            "CREATE TABLE IF NOT EXISTS t (a INT UNSIGNED NOT NULL DEFAULT 5 COMMENT 'x', b ENUM('a','b'), PRIMARY KEY (a, b(10) DESC), KEY k (b)) ENGINE=InnoDB /*!50100 PARTITION BY KEY (a) */",
            "ALTER TABLE t ADD COLUMN c DECIMAL(10,2) AFTER b, DROP INDEX k, CHANGE a d BIGINT, ENGINE = NDB",
            "SET @a := 1, SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, NAMES utf8mb4 COLLATE 'x', @@global.y = ON",
            "UPDATE t SET a = CASE b WHEN 1 THEN CAST(c AS CHAR(5)) ELSE TRIM(LEADING 'x' FROM d) END, e = DATE_ADD(f, INTERVAL 1 DAY) WHERE g BETWEEN 1 AND 2 LIMIT 5",
        ][which];
        let mut sql = sql.as_bytes().to_vec();
        sql.truncate(cut);
        let _ = exercise(&sql);
        if at < sql.len() {
            sql[at] = byte;
            let _ = exercise(&sql);
        }
    }
}
