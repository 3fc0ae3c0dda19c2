//! The digest: what shares one, what does not, and that it agrees with the parametrised parser.

use proptest::prelude::*;

use super::ast::*;
use super::*;

fn hash(sql: &str) -> (u64, u64) {
    digest(sql.as_bytes(), SqlMode::NONE).unwrap_or_else(|| panic!("no digest: {sql}")).hash
}

/// The parametrised statement; the invariant between it and the digest is checked on the way.
fn parametrised(sql: &str) -> Option<Parametrised> {
    let parametrised = parse_parametrised(sql.as_bytes(), SqlMode::NONE)
        .unwrap_or_else(|error| panic!("{sql}: {error}"))?;
    let digest = digest(sql.as_bytes(), SqlMode::NONE)
        .unwrap_or_else(|| panic!("cacheable without digest: {sql}"));
    assert_eq!(digest.literals, parametrised.literals, "{sql}");
    assert_eq!(digest.consumed, parametrised.consumed, "{sql}");
    Some(parametrised)
}

/// Statements that are to share a digest.
#[test]
fn equal_digests() {
    for (a, b) in [
        ("SELECT c FROM t WHERE id=5", "select  c /* x */ from t where id = 6 -- y"),
        ("SELECT c FROM t WHERE id=5", "SELECT c FROM t WHERE id=5 ;"),
        (
            "SELECT c FROM t WHERE id=5",
            "\n/* a */SELECT\n\tc FROM t WHERE\nid=18446744073709551615",
        ),
        ("SELECT a, b FROM t WHERE id=5", "SELECT a,b FROM t WHERE id=5"),
        ("SELECT a FROM t WHERE b = 'x'", "SELECT a FROM t WHERE b = \"a'b\""),
        ("SELECT a FROM t WHERE b = 1.5", "SELECT a FROM t WHERE b = .25"),
        ("SELECT a FROM t WHERE b = 0x41", "SELECT a FROM t WHERE b = x'4243'"),
        ("SELECT a FROM t LIMIT 5", "SELECT a FROM t LIMIT 7"),
        ("INSERT INTO t VALUES (1,'a'),(2,'b')", "insert into t values (3,'c'), (4,'d')"),
        ("UPDATE t SET k=k+1 WHERE id=5", "UPDATE t SET k=k + 7 WHERE id=9"),
        ("SELECT a FROM t WHERE b IN (1,2)", "SELECT a FROM t WHERE b in (3, 4)"),
        ("SELECT a /*!50000 FROM */ t WHERE b=1", "SELECT a FROM t WHERE b=2"),
        ("SELECT count(*) FROM t WHERE a=1", "SELECT count(*) from t WHERE a=2"),
        ("DELETE FROM t WHERE a=-1", "DELETE FROM t WHERE a= - 2"),
    ] {
        assert_eq!(hash(a), hash(b), "{a} | {b}");
    }
}

/// Statements that must not share one.
#[test]
fn different_digests() {
    for (a, b) in [
        ("SELECT c FROM t WHERE id=5", "SELECT c FROM T WHERE id=5"),
        ("SELECT c FROM t WHERE id=5", "SELECT C FROM t WHERE id=5"),
        ("SELECT c FROM t WHERE id=5", "SELECT c FROM t WHERE id='5'"),
        ("SELECT c FROM t WHERE id=5", "SELECT c FROM t WHERE id=5.0"),
        ("SELECT c FROM t WHERE id=5", "SELECT c FROM t WHERE id=5e0"),
        ("SELECT c FROM t WHERE id=5", "SELECT c FROM t WHERE id=18446744073709551616"),
        ("SELECT c FROM t WHERE id=5", "SELECT c FROM t WHERE id=-5"),
        ("SELECT c FROM t WHERE id=5", "SELECT c FROM t WHERE id>5"),
        ("SELECT c FROM t WHERE id=5", "SELECT `c` FROM t WHERE id=5"),
        ("SELECT c FROM t WHERE id=5", "SELECT c FROM t WHERE id=5 FOR UPDATE"),
        ("SELECT c FROM ab WHERE id=5", "SELECT c FROM a b WHERE id=5"),
        ("SELECT c FROM `a b` WHERE id=5", "SELECT c FROM `a` `b` WHERE id=5"),
        ("SELECT c FROM db.Order WHERE id=5", "SELECT c FROM db.order WHERE id=5"),
        ("SELECT a FROM t WHERE b IN (1,2)", "SELECT a FROM t WHERE b IN (1,2,3)"),
        ("SELECT a FROM t WHERE b=NULL", "SELECT a FROM t WHERE b=1"),
        ("SELECT a+b FROM t WHERE c=1", "SELECT a + b FROM t WHERE c=1"),
        ("SELECT count(*) FROM t WHERE c=1", "SELECT COUNT(*) FROM t WHERE c=1"),
        ("SELECT EXTRACT(YEAR FROM d), a+b FROM t", "SELECT EXTRACT(YEAR FROM d), a +b FROM t"),
        ("INSERT INTO t VALUES (1),(2)", "INSERT INTO t VALUES (1)"),
        ("INSERT INTO t VALUES (1)", "REPLACE INTO t VALUES (1)"),
    ] {
        assert_ne!(hash(a), hash(b), "{a} | {b}");
    }
    let mut other = Digester::new((1, 2));
    let sql = b"SELECT c FROM t WHERE id=5";
    assert_ne!(
        other.digest(sql, SqlMode::NONE).expect("a digest").hash,
        hash("SELECT c FROM t WHERE id=5")
    );
}

/// Texts that the mode or a blank before a parenthesis gives another meaning have digests of their own.
#[test]
fn modes_are_part_of_the_digest() {
    let hash_in = |sql: &str, mode| digest(sql.as_bytes(), mode).expect("a digest").hash;
    let sql = "SELECT c FROM t WHERE a = 1 || b";
    assert_ne!(hash_in(sql, SqlMode::NONE), hash_in(sql, SqlMode::PIPES_AS_CONCAT));
    let (close, apart) = ("SELECT c FROM t ORDER BY max(c)", "SELECT c FROM t ORDER BY max (c)");
    assert_ne!(hash_in(close, SqlMode::NONE), hash_in(apart, SqlMode::NONE));
    let spaces = SqlMode::IGNORE_SPACE;
    assert_eq!(hash_in(close, spaces), hash_in(apart, spaces));
    let quoted = digest(br#"SELECT c FROM t WHERE a = "b""#, SqlMode::ANSI_QUOTES);
    assert_eq!(quoted.expect("a digest").literals, []);
}

/// The hash is fixed: a change of the normal form is a decision, since plans and statistics may be kept by it.
#[test]
fn hash_is_fixed() {
    assert_eq!(
        hash("SELECT c FROM t WHERE id=5"),
        digest(b"SELECT c FROM t WHERE id=77", SqlMode::NONE).expect("one").hash
    );
    let mut digester = Digester::new((0x5EED_5EED, 0x5EED_5EED));
    for _ in 0..3 {
        assert_eq!(
            digester.digest(b"SELECT c FROM t WHERE id=5", SqlMode::NONE).expect("one").hash,
            hash("SELECT c FROM t WHERE id=5")
        );
    }
}

/// What has no digest at all.
#[test]
fn no_digest() {
    for sql in [
        "",
        ";",
        "COMMIT",
        "SET a=1",
        "SHOW TABLES",
        "(SELECT 1)",
        "SELECT ?",
        "SELECT @a",
        "SELECT @@a",
        "SELECT 'a",
        "SELECT `a",
        "SELECT 1e999",
        "/* a",
        "SELECT a FROM t WHERE b = \u{1}",
        "CREATE TABLE t (a INT)",
        "1",
    ] {
        assert_eq!(digest(sql.as_bytes(), SqlMode::NONE), None, "{sql}");
    }
    let many = format!(
        "SELECT a FROM t WHERE b IN ({})",
        vec!["1"; limits::DIGEST_LITERAL_COUNT_MAX + 1].join(",")
    );
    assert_eq!(digest(many.as_bytes(), SqlMode::NONE), None);
    assert_eq!(parse_parametrised(many.as_bytes(), SqlMode::NONE).expect("valid"), None);
}

/// Statements taken in parametrised mode, with their literals.
#[test]
fn cacheable() {
    for (sql, literals) in [
        ("SELECT c FROM t WHERE id=5", "[Integer(5)]"),
        ("SELECT c FROM t", "[]"),
        (
            "SELECT c FROM t WHERE a = 'x' AND b > 1.5 LIMIT 3",
            "[String([120]), Decimal(\"1.5\"), Integer(3)]",
        ),
        (
            "SELECT c FROM t WHERE a IN (1, 0x41, b'1') LIMIT 1, 2",
            "[Integer(1), Hex([65]), Bits([1]), Integer(1), Integer(2)]",
        ),
        ("SELECT SUM(k) FROM t WHERE id BETWEEN 1 AND 100", "[Integer(1), Integer(100)]"),
        ("SELECT c FROM t WHERE a = -5", "[Integer(5)]"),
        ("SELECT c FROM t JOIN u ON t.a = u.a AND u.b = 5 WHERE c = 6", "[Integer(5), Integer(6)]"),
        ("SELECT c FROM t WHERE a LIKE 'x%'", "[String([120, 37])]"),
        (
            "SELECT c FROM t WHERE a = concat('x', b) OR a = ifnull(b, 0)",
            "[String([120]), Integer(0)]",
        ),
        ("SELECT c FROM t WHERE a IN (SELECT b FROM u WHERE d = 5)", "[Integer(5)]"),
        ("SELECT c FROM t WHERE a IS NULL AND b = TRUE", "[]"),
        (
            "INSERT INTO t (a, b) VALUES (1, NULL), (2, 'x')",
            "[Integer(1), Integer(2), String([120])]",
        ),
        ("INSERT INTO t SET a = 1, b = b + 2", "[Integer(1), Integer(2)]"),
        (
            "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = VALUES(a) + 2",
            "[Integer(1), Integer(2)]",
        ),
        ("REPLACE INTO t VALUES (1e3)", "[Float(1000.0)]"),
        (
            "UPDATE t SET k = k + 1, c = 'x' WHERE id = 5 LIMIT 1",
            "[Integer(1), String([120]), Integer(5), Integer(1)]",
        ),
        ("DELETE FROM t WHERE id = 5", "[Integer(5)]"),
        ("SELECT a FROM t WHERE (a, b) = (1, 2) FOR UPDATE", "[Integer(1), Integer(2)]"),
        ("SELECT c FROM t WHERE id=5; SELECT 1", "[Integer(5)]"),
    ] {
        let parametrised = parametrised(sql).unwrap_or_else(|| panic!("not cacheable: {sql}"));
        assert_eq!(format!("{:?}", parametrised.literals), literals, "{sql}");
    }
    let parsed = parametrised("UPDATE t SET k = k + 1 WHERE id = 5 AND x = -7").expect("cacheable");
    let Statement::Update(update) = parsed.statement else { panic!("no update") };
    assert_eq!(format!("{:?}", update.assignments[0].value), "(+ k ?0)");
    assert_eq!(format!("{:?}", update.filter), "Some((and (= id ?1) (= x (neg ?2))))");
}

/// Statements refused in parametrised mode: a literal where its value matters, a variable, another kind.
#[test]
fn not_cacheable() {
    for sql in [
        "SELECT 1",
        "SELECT 'x' FROM t",
        "SELECT a AS 'x' FROM t",
        "SELECT a + 1 FROM t WHERE id = 5",
        "SELECT a FROM t WHERE id = 5 ORDER BY 1",
        "SELECT a FROM t GROUP BY 1",
        "SELECT a FROM t GROUP BY a HAVING count(*) > 1",
        "SELECT a FROM t WHERE b = 'x' 'y'",
        "SELECT a FROM t WHERE b = _utf8mb4'x'",
        "SELECT a FROM t WHERE b = N'x'",
        "SELECT a FROM t WHERE b = DATE'2020-01-01'",
        "SELECT a FROM t WHERE b = CAST('5' AS CHAR(3))",
        "SELECT a FROM t WHERE b > now() - INTERVAL 1 DAY",
        "SELECT a FROM t WHERE b > round(c, 2)",
        "SELECT a FROM t WHERE b > now(6)",
        "SELECT a FROM t WHERE b LIKE 'x' ESCAPE '|'",
        "SELECT a FROM t WHERE b = 'x' COLLATE utf8mb4_bin",
        "SELECT a FROM t WHERE b = @x",
        "SELECT a FROM t WHERE b = @@x",
        "SELECT a FROM t WHERE b = ?",
        "SELECT a FROM t WHERE b = CASE WHEN c = 1 THEN 2 END",
        "SELECT a FROM t WHERE b->'$.x' = 5",
        "SELECT a FROM t WHERE MATCH (b) AGAINST ('x')",
        "SELECT a INTO @x FROM t",
        "SELECT a FROM (SELECT 1 AS a) AS t",
        "INSERT INTO t SELECT 1",
        "UPDATE t SET a = @x := 5",
        "COMMIT",
        "SET a = 1",
        "(SELECT a FROM t)",
        "",
    ] {
        assert_eq!(
            parse_parametrised(sql.as_bytes(), SqlMode::NONE).expect("valid"),
            None,
            "{sql}"
        );
    }
}

/// One condition of a random WHERE: text with literals to be rendered.
fn condition() -> impl Strategy<Value = String> {
    let literal = prop_oneof![
        any::<u64>().prop_map(|value| value.to_string()),
        any::<i32>().prop_map(|value| value.to_string()),
        (any::<u32>(), any::<u16>()).prop_map(|(a, b)| format!("{a}.{b}")),
        (1u32..1000, 0u8..20).prop_map(|(a, b)| format!("{a}e{b}")),
        "[a-z '\"\\\\%;#-]{0,8}"
            .prop_map(|text| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))),
        "[a-z '/*]{0,8}".prop_map(|text| format!("\"{text}\"")),
        proptest::collection::vec(any::<u8>(), 1..5).prop_map(|bytes| bytes
            .iter()
            .fold("0x".to_string(), |text, byte| format!("{text}{byte:02X}"))),
        Just("NULL".to_string()),
    ];
    let column = prop_oneof![Just("a"), Just("t.b"), Just("`c d`"), Just("_x"), Just("e1")];
    (column, literal.clone(), literal, 0usize..7).prop_map(|(column, x, y, shape)| match shape {
        0 => format!("{column} = {x}"),
        1 => format!("{column} BETWEEN {x} AND {y}"),
        2 => format!("{column} in ({x},{y})"),
        3 => format!("NOT {column} <> - {x} + {y}"),
        4 => format!("{column} like {x}"),
        5 => format!("concat({column}, {x}) >= {y}"),
        _ => format!("({column}, 1) = ({x} , {y})"),
    })
}

/// Blanks that mean nothing.
fn blank() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just(" "),
        Just("\n"),
        Just(" /* ' */ "),
        Just("\t-- x'\n"),
        Just(" # \"\n "),
        Just("  ")
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// For a cacheable statement the digest and the parametrised parser find the same literals, and putting them back
    /// for the parameters gives the tree of the plain parser.
    #[test]
    fn digest_agrees_with_parser(
        conditions in proptest::collection::vec(condition(), 1..5),
        kind in 0usize..4,
        blank in blank(),
    ) {
        let filter = conditions.join(&format!("{blank}AND{blank}"));
        let sql = match kind {
            0 => format!("SELECT{blank}a, b FROM t{blank}WHERE {filter}{blank}LIMIT 5"),
            1 => format!("UPDATE t SET a = 1,{blank}b = 'x' WHERE {filter}"),
            2 => format!("DELETE{blank}FROM t WHERE{blank}{filter}"),
            _ => format!("SELECT count(*) FROM t JOIN u USING (a) WHERE {filter}{blank}FOR UPDATE"),
        };
        let parametrised = parametrised(&sql).expect("cacheable");
        let (plain, _) = parse_one(sql.as_bytes(), SqlMode::NONE).expect("valid");
        let (_, param_count) = parse_prepared(sql.as_bytes(), SqlMode::NONE).expect("valid");
        prop_assert_eq!(param_count, 0);
        let mut shown = format!("{:?}", parametrised.statement);
        for (index, literal) in parametrised.literals.iter().enumerate().rev() {
            let literal = format!("{:?}", Expr::Literal(literal.clone()));
            let param = format!("?{index}");
            prop_assert!(shown.contains(&param));
            shown = shown.replace(&param, &literal);
        }
        prop_assert_eq!(shown, format!("{plain:?}"));
    }

    /// Blanks, comments and the case of reserved words change nothing outside of a select list.
    #[test]
    fn blanks_do_not_matter(conditions in proptest::collection::vec(condition(), 1..4), blank in blank()) {
        let plain = format!("SELECT a FROM t WHERE {}", conditions.join(" AND "));
        let spaced = format!(
            "{blank}select{blank}a{blank}from{blank}t{blank}Where{blank}{}{blank}",
            conditions.join(&format!("{blank}and{blank}"))
        );
        let plain = digest(plain.as_bytes(), SqlMode::NONE).expect("a digest");
        let spaced = digest(spaced.as_bytes(), SqlMode::NONE).expect("a digest");
        prop_assert_eq!(plain.literals, spaced.literals);
        prop_assert_eq!(plain.hash, spaced.hash);
    }

    /// Whatever the parametrised parser takes has a digest with the same literals, also for random texts; and two texts
    /// of one digest are both cacheable or both not.
    #[test]
    fn random_statements_agree(
        indexes in proptest::collection::vec(0usize..28, 1..14),
        other in proptest::collection::vec(0u32..1000, 14),
    ) {
        const PIECES: [&str; 28] = [
            "a", "b", "=", "5", "'x'", "AND", "IN (1, 2)", "(", ")", ",", "+", "-", "f(3)", "LIKE", "IS NULL", "1.5",
            "NOT", "LIMIT 4", "concat('a', b)", "CASE WHEN 1 THEN 2 END", "0x41", "ORDER BY", "INTERVAL 1 DAY", "<",
            "BETWEEN 1 AND 2", "GROUP BY", "N'x'", "t.c",
        ];
        let text: Vec<&str> = indexes.iter().map(|&index| PIECES[index]).collect();
        let sql = format!("SELECT a FROM t WHERE {}", text.join(" "));
        let changed: Vec<String> = text
            .iter()
            .zip(&other)
            .map(|(piece, value)| if *piece == "5" { value.to_string() } else { piece.to_string() })
            .collect();
        let changed = format!("SELECT a FROM t  WHERE {}", changed.join("\n"));
        if let Ok(Some(parametrised)) = parse_parametrised(sql.as_bytes(), SqlMode::NONE) {
            let first = digest(sql.as_bytes(), SqlMode::NONE).expect("cacheable");
            prop_assert_eq!(&first.literals, &parametrised.literals);
            let second = digest(changed.as_bytes(), SqlMode::NONE).expect("the same tokens");
            prop_assert_eq!(first.hash, second.hash);
            let again = parse_parametrised(changed.as_bytes(), SqlMode::NONE).expect("valid").expect("cacheable");
            prop_assert_eq!(again.statement, parametrised.statement);
            prop_assert_eq!(again.literals, second.literals);
        }
    }
}

/// Quoted strings of every length, with a quote or an escape at every place: where they end and what they hold.
#[test]
fn quoted_strings_of_every_length() {
    for length in 0..100usize {
        for place in 0..length {
            for (inside, value) in
                [("''", "'"), ("\\'", "'"), ("\\n", "\n"), ("\"", "\""), ("\\\\", "\\")]
            {
                let (before, after) = ("x".repeat(place), "y".repeat(length - place));
                let sql = format!("SELECT '{before}{inside}{after}', 'z'");
                let literals = digest(sql.as_bytes(), SqlMode::NONE).expect("valid").literals;
                let expected = format!("{before}{value}{after}").into_bytes();
                assert_eq!(literals[0], Literal::String(expected), "{sql}");
                assert_eq!(literals.len(), 2, "{sql}");
            }
        }
        let open = format!("SELECT '{}", "x".repeat(length));
        assert_eq!(digest(open.as_bytes(), SqlMode::NONE), None, "{open}");
        assert_eq!(digest(format!("{open}\\'").as_bytes(), SqlMode::NONE), None, "{open}");
        assert_eq!(digest(format!("{open}\\").as_bytes(), SqlMode::NONE), None, "{open}");
    }
}
