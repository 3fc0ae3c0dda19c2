//! The grammar, shown by data: what is accepted, what it means, what is refused and with which words.

use super::ast::*;
use super::*;

pub(super) fn parse(sql: &str) -> Statement {
    match parse_one(sql.as_bytes(), SqlMode::NONE) {
        Ok((statement, consumed)) => {
            assert_eq!(consumed, sql.len(), "{sql}");
            statement
        }
        Err(error) => panic!("{sql}: {error}"),
    }
}

fn query(sql: &str) -> Query {
    match parse(sql) {
        Statement::Query(query) => *query,
        other => panic!("{sql}: {other:?}"),
    }
}

fn select(sql: &str) -> Select {
    match query(sql).body {
        QueryBody::Select(select) => *select,
        other => panic!("{sql}: {other:?}"),
    }
}

/// The compact form of the one expression selected.
fn expr(text: &str) -> String {
    let sql = format!("SELECT {text}");
    match select(&sql).items.as_slice() {
        [SelectItem::Expr { expr, alias: None, .. }] => format!("{expr:?}"),
        other => panic!("{sql}: {other:?}"),
    }
}

/// Operators bind as in MySQL.
#[test]
fn precedence() {
    for (text, expected) in [
        ("1+2*3", "(+ 1 (* 2 3))"),
        ("(1+2)*3", "(* (+ 1 2) 3)"),
        ("1-2-3", "(- (- 1 2) 3)"),
        ("2*3^1", "(* 2 (^ 3 1))"),
        ("2^3^1", "(^ (^ 2 3) 1)"),
        ("-2^2", "(^ (neg 2) 2)"),
        ("- -1", "(neg (neg 1))"),
        ("-9223372036854775808", "(neg 9223372036854775808)"),
        ("~1+1", "(+ (~ 1) 1)"),
        ("1|2&3<<4", "(| 1 (& 2 (<< 3 4)))"),
        ("1<<2>>3", "(>> (<< 1 2) 3)"),
        ("1<<2+3", "(<< 1 (+ 2 3))"),
        ("7 DIV 2 MOD 2 % 3 / 4", "(/ (% (% (DIV 7 2) 2) 3) 4)"),
        ("a OR b AND c", "(or a (and b c))"),
        ("a || b && c", "(or a (and b c))"),
        ("b XOR c AND d", "(XOR b (and c d))"),
        ("a OR b XOR c", "(or a (XOR b c))"),
        ("a XOR b XOR c", "(XOR (XOR a b) c)"),
        ("a AND b AND c", "(and a b c)"),
        ("a OR b OR c OR d", "(or a b c d)"),
        ("(a AND b) AND (c AND d)", "(and a b c d)"),
        ("(a OR b) AND (c OR d)", "(and (or a b) (or c d))"),
        ("a AND b OR c AND d", "(or (and a b) (and c d))"),
        ("NOT a = b", "(not (= a b))"),
        ("NOT a AND b", "(and (not a) b)"),
        ("NOT NOT a", "(not (not a))"),
        ("a AND NOT b", "(and a (not b))"),
        ("NOT a IS NULL", "(not (is-null a))"),
        ("NOT a BETWEEN 1 AND 2", "(not (between a 1 2))"),
        ("!a = b", "(= (not a) b)"),
        ("!a + b", "(+ (not a) b)"),
        ("a = b = c", "(= (= a b) c)"),
        ("a = b IS NULL", "(is-null (= a b))"),
        ("a IS NULL IS NULL", "(is-null (is-null a))"),
        ("a IS NULL = b", "(= (is-null a) b)"),
        ("a IS TRUE AND b", "(and (is-true a) b)"),
        ("a = b IS TRUE", "(is-true (= a b))"),
        ("a IS NOT NULL", "(is-not-null a)"),
        ("a IS NOT UNKNOWN", "(is-not-unknown a)"),
        ("a IS FALSE", "(is-false a)"),
        ("a <=> NULL", "(<=> a NULL)"),
        ("a != b", "(<> a b)"),
        ("a <> b", "(<> a b)"),
        ("a > b + 1", "(> a (+ b 1))"),
        ("a = b IN (1, 2)", "(= a (in b 1 2))"),
        ("a + 1 IN (1)", "(in (+ a 1) 1)"),
        ("a NOT IN (1, 2) AND b", "(and (not-in a 1 2) b)"),
        ("a BETWEEN 1 AND 2 AND c", "(and (between a 1 2) c)"),
        ("a NOT BETWEEN 1 + 1 AND 2 OR c", "(or (not-between a (+ 1 1) 2) c)"),
        ("a BETWEEN 1 AND b BETWEEN 2 AND 3", "(between a 1 (between b 2 3))"),
        ("a LIKE 'x%' AND b", "(and (like a 'x%') b)"),
        ("a NOT LIKE 'x' ESCAPE '|'", "(not-like a 'x' '|')"),
        ("a LIKE concat('x', '%')", "(like a (CONCAT 'x' '%'))"),
        ("a REGEXP '^x'", "(regexp a '^x')"),
        ("a NOT RLIKE b", "(not-regexp a b)"),
        ("a SOUNDS LIKE b", "(SOUNDS LIKE a b)"),
        ("BINARY a = b", "(= (binary a) b)"),
        ("BINARY a COLLATE x", "(binary (collate a x))"),
        ("-a COLLATE x", "(neg (collate a x))"),
        ("a COLLATE utf8mb4_bin = b", "(= (collate a utf8mb4_bin) b)"),
        ("a COLLATE BINARY", "(collate a binary)"),
        ("a LIKE b COLLATE x", "(like a (collate b x))"),
        ("@a := 1 + 2", "(:= @a (+ 1 2))"),
        ("@a := b OR c", "(:= @a (or b c))"),
        ("a + INTERVAL 1 DAY", "(+ a (interval 1 Day))"),
        ("a - INTERVAL b + 1 HOUR_MINUTE", "(- a (interval (+ b 1) HourMinute))"),
        ("INTERVAL 1 YEAR + a", "(+ (interval 1 Year) a)"),
        ("INTERVAL(5, 1, 10)", "(INTERVAL 5 1 10)"),
        ("a + INTERVAL(1) DAY", "(+ a (interval 1 Day))"),
        ("mod(5, 2) mod 3", "(% (MOD 5 2) 3)"),
        ("(1, 2) = (3, 4)", "(= (row 1 2) (row 3 4))"),
        ("ROW(1, 2) IN ((1, 2), (3, 4))", "(in (row 1 2) (row 1 2) (row 3 4))"),
        ("((a))", "a"),
    ] {
        assert_eq!(expr(text), expected, "{text}");
    }
}

/// Operands: literals, names, variables, calls.
#[test]
fn operands() {
    for (text, expected) in [
        ("1", "1"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "18446744073709551616d"),
        ("1.50", "1.50d"),
        (".5", ".5d"),
        ("1e3", "1e3"),
        ("'a''b\\n'", "'a\\'b\\n'"),
        ("\"a\"\"b\"", "'a\\\"b'"),
        ("'a' 'b' \"c\"", "'abc'"),
        ("N'a'", "_utf8mb3'a'"),
        ("_utf8mb4'a'", "_utf8mb4'a'"),
        ("_latin1 'a' 'b'", "_latin1'ab'"),
        ("_binary 0x41", "_binary'A'"),
        ("_unknown", "_unknown"),
        ("0x4142", "x'4142'"),
        ("x'4142'", "x'4142'"),
        ("0b101", "b'05'"),
        ("b'101'", "b'05'"),
        ("TRUE", "TRUE"),
        ("false", "FALSE"),
        ("NULL", "NULL"),
        ("DATE'2020-01-02'", "DATE'2020-01-02'"),
        ("time '10:00:00'", "TIME'10:00:00'"),
        ("TIMESTAMP '2020-01-02 03:04:05'", "TIMESTAMP'2020-01-02 03:04:05'"),
        ("{d '2020-01-02'}", "DATE'2020-01-02'"),
        ("{ts '2020-01-02 03:04:05'}", "TIMESTAMP'2020-01-02 03:04:05'"),
        ("{fn now()}", "(NOW)"),
        ("date", "date"),
        ("`select`", "select"),
        ("`a``b`", "a`b"),
        ("t.c", "t.c"),
        ("s.t.c", "s.t.c"),
        ("t.select", "t.select"),
        ("`t`.`c`", "t.c"),
        (".t.c", "t.c"),
        ("?", "?0"),
        ("? + ?", "(+ ?0 ?1)"),
        ("@a", "@a"),
        ("@`a b`", "@a b"),
        ("@'a'", "@a"),
        ("@a.b", "@a.b"),
        ("@@autocommit", "@@autocommit"),
        ("@@session.sql_mode", "@@Session.sql_mode"),
        ("@@local.x", "@@Session.x"),
        ("@@GLOBAL.max_connections", "@@Global.max_connections"),
        ("@@`x`", "@@x"),
        ("@@global.a.b", "@@Global.a.b"),
        ("now()", "(NOW)"),
        ("now(3)", "(NOW 3)"),
        ("CURRENT_TIMESTAMP", "(NOW)"),
        ("CURRENT_TIMESTAMP(6)", "(NOW 6)"),
        ("LOCALTIME()", "(NOW)"),
        ("CURRENT_DATE", "(CURDATE)"),
        ("current_time", "(CURTIME)"),
        ("UTC_TIMESTAMP", "(UTC_TIMESTAMP)"),
        ("CURRENT_USER", "(CURRENT_USER)"),
        ("CURRENT_USER()", "(CURRENT_USER)"),
        ("user()", "(USER)"),
        ("version()", "(VERSION)"),
        ("database()", "(DATABASE)"),
        ("schema()", "(DATABASE)"),
        ("if(a, b, c)", "(IF a b c)"),
        ("ifnull(a, 0)", "(IFNULL a 0)"),
        ("left(a, 1)", "(LEFT a 1)"),
        ("right(a, 1)", "(RIGHT a 1)"),
        ("insert('a', 1, 2, 'b')", "(INSERT 'a' 1 2 'b')"),
        ("replace(a, 'b', 'c')", "(REPLACE a 'b' 'c')"),
        ("repeat('a', 3)", "(REPEAT 'a' 3)"),
        ("truncate(1.5, 0)", "(TRUNCATE 1.5d 0)"),
        ("char(65, 66)", "(CHAR 65 66)"),
        ("char(65 using utf8mb4)", "(using (CHAR 65) utf8mb4)"),
        ("year(a)", "(YEAR a)"),
        ("date(a)", "(DATE a)"),
        ("s.f(1)", "(s.F 1)"),
        ("`f`(1)", "(f 1)"),
        ("count(*)", "(COUNT)"),
        ("COUNT(DISTINCT a, b)", "(COUNT distinct a b)"),
        ("sum(all a)", "(SUM a)"),
        ("avg(distinct a)", "(AVG distinct a)"),
        ("min(a) + max(b)", "(+ (MIN a) (MAX b))"),
        (
            "group_concat(distinct a, b order by c desc, d separator '; ')",
            "(GROUP_CONCAT distinct a b desc:c asc:d separator '; ')",
        ),
        ("cast(a as signed)", "(cast a Signed)"),
        ("cast(a as unsigned integer)", "(cast a Unsigned)"),
        (
            "cast(a as char)",
            "(cast a Char { length: None, charset: None, binary: false, is_national: _ })",
        ),
        (
            "cast(a as char(5) character set latin1)",
            "(cast a Char { length: Some(5), charset: Some(\"latin1\"), binary: false, is_national: _ })",
        ),
        ("cast(a as binary(3))", "(cast a Binary { length: Some(3) })"),
        ("cast(a as decimal(10,2))", "(cast a Decimal { precision: Some(10), scale: Some(2) })"),
        ("cast(a as datetime(6))", "(cast a DateTime { fsp: Some(6) })"),
        ("cast(a as double precision)", "(cast a Double)"),
        ("cast(a as json)", "(cast a Json)"),
        ("convert(a, date)", "(cast a Date)"),
        ("convert(a using utf8mb4)", "(using a utf8mb4)"),
        ("extract(year_month from a)", "(EXTRACT YearMonth a)"),
        ("timestampdiff(second, a, b)", "(TIMESTAMPDIFF Second a b)"),
        ("timestampadd(SQL_TSI_DAY, 1, a)", "(TIMESTAMPADD Day 1 a)"),
        ("date_add(a, interval 1 day)", "(DATE_ADD a (interval 1 Day))"),
        ("date_sub(a, interval '1:2' minute_second)", "(DATE_SUB a (interval '1:2' MinuteSecond))"),
        ("adddate(a, 5)", "(ADDDATE a 5)"),
        ("substring(a, 1, 2)", "(SUBSTRING a 1 2)"),
        ("substr(a from 1 for 2)", "(SUBSTRING a 1 2)"),
        ("mid(a from 2)", "(SUBSTRING a 2)"),
        ("trim(a)", "(trim-both a)"),
        ("trim('x' from a)", "(trim-both 'x' a)"),
        ("trim(leading from a)", "(trim-leading a)"),
        ("trim(trailing 'x' from a)", "(trim-trailing 'x' a)"),
        ("position('a' in b)", "(LOCATE 'a' b)"),
        ("a->'$.x'", "(JSON_EXTRACT a '$.x')"),
        ("t.a->>'$.x' = 1", "(= (JSON_UNQUOTE (JSON_EXTRACT t.a '$.x')) 1)"),
        ("values(a)", "(values a)"),
        ("default(a)", "(default a)"),
        ("case when a then 1 when b then 2 else 3 end", "(case [a 1] [b 2] else 3)"),
        ("case a when 1 then 'x' end", "(case a [1 'x'])"),
        ("match (a, b) against ('x' in boolean mode)", "(unsupported MATCH AGAINST)"),
        ("row_number() over (partition by a order by b)", "(over (ROW_NUMBER) by:a asc:b)"),
        ("sum(a) over w", "(over (SUM a) w)"),
        (
            "lag(a, 2, b) over (w rows between 1 preceding and current row)",
            "(over (LAG a 2 b) w Rows Preceding(1) CurrentRow)",
        ),
        ("1 member of ('[1]')", "(MEMBER OF 1 '[1]')"),
        ("a member of (b->'$.x') and c", "(and (MEMBER OF a (JSON_EXTRACT b '$.x')) c)"),
    ] {
        assert_eq!(expr(text), expected, "{text}");
    }
}

/// Select items: wildcards, aliases, source text.
#[test]
fn select_items() {
    let items =
        select("SELECT *, t.*, s.t.*, a, t.a AS b, 1+1, 'x' y, count( * ) 'n', (1) FROM t").items;
    let texts: Vec<String> = items
        .iter()
        .map(|item| match item {
            SelectItem::Wildcard(_) => "*".to_string(),
            SelectItem::TableWildcard(name) => format!("{:?}.{}.*", name.schema, name.name),
            SelectItem::Expr { alias, text, .. } => format!("{text}|{alias:?}"),
        })
        .collect();
    assert_eq!(
        texts,
        [
            "*",
            "None.t.*",
            "Some(\"s\").t.*",
            "a|None",
            "t.a|Some(\"b\")",
            "1+1|None",
            "'x'|Some(\"y\")",
            "count( * )|Some(\"n\")",
            "(1)|None"
        ]
    );
}

/// Binary bytes in quotes survive; invalid UTF-8 in a name is refused, in a comment it does not matter.
#[test]
fn bytes() {
    let (statement, _) =
        parse_one(b"SELECT '\xff\x00\xfe' /* \xff */", SqlMode::NONE).expect("bytes in quotes");
    let Statement::Query(query) = statement else { panic!("no query") };
    let QueryBody::Select(select) = query.body else { panic!("no select") };
    let SelectItem::Expr { expr, .. } = &select.items[0] else { panic!("no expression") };
    assert_eq!(*expr, Expr::Literal(Literal::String(vec![0xFF, 0, 0xFE])));
    for sql in [&b"SELECT a\xff"[..], b"SELECT `\xff`", b"SELECT @\xff"] {
        let error = parse_one(sql, SqlMode::NONE).expect_err("not UTF-8");
        assert_eq!(error.kind, ParseErrorKind::InvalidUtf8);
        assert_eq!(error.mysql_code(), 1300);
    }
}

/// The parts of a SELECT.
#[test]
fn queries() {
    let parsed = query(
        "SELECT DISTINCT SQL_NO_CACHE a FROM t1 AS x FORCE INDEX (i, PRIMARY) USE INDEX FOR ORDER BY (), s.t2 y \
         LEFT JOIN t3 ON x.a = t3.a JOIN t4 USING (a, b) NATURAL JOIN t5 STRAIGHT_JOIN t6 \
         WHERE a > ? GROUP BY a DESC, b WITH ROLLUP HAVING count(*) > 1 ORDER BY 1 ASC, b DESC LIMIT 5, 10 \
         FOR UPDATE OF x NOWAIT FOR SHARE OF y SKIP LOCKED",
    );
    let QueryBody::Select(select) = &parsed.body else { panic!("no select") };
    assert!(select.distinct && select.with_rollup && select.having.is_some());
    assert_eq!(select.from.len(), 2);
    let TableFactor::Table { alias, hints, .. } = &select.from[0].first else { panic!("no table") };
    assert_eq!(alias.as_deref(), Some("x"));
    assert_eq!(hints.len(), 2);
    assert_eq!(hints[0].indexes, ["i", "PRIMARY"]);
    let kinds: Vec<JoinKind> = select.from[1].joins.iter().map(|join| join.kind).collect();
    assert_eq!(kinds, [JoinKind::Left, JoinKind::Inner, JoinKind::Inner, JoinKind::Straight]);
    assert_eq!(select.from[1].joins[2].condition, JoinCondition::Natural);
    assert_eq!(format!("{:?}", select.filter), "Some((> a ?0))");
    assert_eq!(select.group_by.len(), 2);
    assert_eq!(parsed.order_by.len(), 2);
    assert!(!parsed.order_by[0].descending && parsed.order_by[1].descending);
    let limit = parsed.limit.expect("a limit");
    assert_eq!(format!("{:?} {:?}", limit.offset, limit.count), "Some(5) 10");
    assert_eq!(parsed.locking.len(), 2);
    assert_eq!(parsed.locking[0].wait, LockWait::NoWait);
    assert_eq!(parsed.locking[1].strength, LockStrength::Share);
    assert_eq!(parsed.locking[1].wait, LockWait::SkipLocked);

    let limit = query("SELECT a FROM t LIMIT ? OFFSET ?").limit.expect("a limit");
    assert_eq!(format!("{:?} {:?}", limit.offset, limit.count), "Some(?1) ?0");
    assert_eq!(query("SELECT a INTO @x, @y FROM t").into_variables, ["x", "y"]);
    assert_eq!(query("SELECT a FROM t INTO @x").into_variables, ["x"]);
    assert_eq!(query("SELECT a FROM t LIMIT 1 INTO @x FOR UPDATE").locking.len(), 1);
    assert_eq!(
        query("SELECT a FROM t LOCK IN SHARE MODE").locking[0].strength,
        LockStrength::Share
    );
    assert!(select_from_is_empty("SELECT 1 FROM DUAL"));
    assert!(select_from_is_empty("SELECT 1"));
}

fn select_from_is_empty(sql: &str) -> bool {
    select(sql).from.is_empty()
}

/// How unions, parentheses and their tails nest.
#[test]
fn set_operations() {
    fn shape(query: &Query) -> String {
        let body = match &query.body {
            QueryBody::Select(select) => match &select.items[0] {
                SelectItem::Expr { text, .. } => text.clone(),
                _ => "*".to_string(),
            },
            QueryBody::SetOperation { first, rest } => {
                let mut text = format!("({}", shape(first));
                for operand in rest {
                    let all = if operand.all { " all" } else { "" };
                    text += &format!(" {:?}{all} {}", operand.operator, shape(&operand.query));
                }
                text + ")"
            }
            QueryBody::Values(rows) => format!("values{}", rows.len()),
            QueryBody::Table(name) => format!("table {}", name.name),
        };
        let order = if query.order_by.is_empty() { "" } else { " order" };
        let limit = match &query.limit {
            Some(limit) => format!(" limit {:?}", limit.count),
            None => String::new(),
        };
        format!("{body}{order}{limit}")
    }
    for (sql, expected) in [
        ("SELECT 1 UNION SELECT 2", "(1 Union 2)"),
        ("SELECT 1 UNION ALL SELECT 2 UNION DISTINCT SELECT 3", "(1 Union all 2 Union 3)"),
        ("SELECT 1 UNION SELECT 2 ORDER BY 1 LIMIT 3", "(1 Union 2) order limit 3"),
        (
            "(SELECT 1 LIMIT 1) UNION (SELECT 2 LIMIT 2) LIMIT 3",
            "(1 limit 1 Union 2 limit 2) limit 3",
        ),
        ("SELECT 1 UNION SELECT 2 INTERSECT SELECT 3", "(1 Union (2 Intersect 3))"),
        ("SELECT 1 EXCEPT SELECT 2", "(1 Except 2)"),
        ("(SELECT 1)", "1"),
        ("((SELECT 1))", "1"),
        ("(SELECT 1) ORDER BY 1", "1 order"),
        ("(SELECT 1 LIMIT 5) LIMIT 2", "(1 limit 5) limit 2"),
        ("((SELECT 1) UNION (SELECT 2)) UNION SELECT 3", "((1 Union 2) Union 3)"),
        ("VALUES ROW(1, 2), ROW(3, 4) ORDER BY 1", "values2 order"),
        ("TABLE t LIMIT 1", "table t limit 1"),
        ("WITH a AS (SELECT 1), b (c) AS (SELECT 2) SELECT 3 FROM a, b", "3"),
        ("WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT * FROM a", "*"),
    ] {
        assert_eq!(shape(&query(sql)), expected, "{sql}");
    }
    for text in
        ["(SELECT 1)", "((SELECT 1))", "((SELECT 1) UNION (SELECT 2))", "(SELECT 1 UNION SELECT 2)"]
    {
        assert!(expr(text).starts_with("(query "), "{text}");
    }
    assert!(expr("EXISTS (SELECT 1)").starts_with("(exists "));
    assert!(expr("a IN (SELECT 1)").starts_with("(in-query a "));
    assert!(expr("a NOT IN (SELECT 1)").starts_with("(not-in-query a "));
    assert!(expr("a = ANY (SELECT 1)").starts_with("(= any a "));
    assert!(expr("a < ALL (SELECT 1)").starts_with("(< all a "));
    assert!(expr("(SELECT 1) + 1").starts_with("(+ (query "));
    assert!(expr("((SELECT 1) + 1)").starts_with("(+ (query "));
    for (sql, derived_count) in [
        ("SELECT * FROM (SELECT 1) AS t", 1),
        ("SELECT * FROM ((SELECT 1)) AS t", 1),
        ("SELECT * FROM ((SELECT 1) UNION (SELECT 2)) AS t (a)", 1),
        ("SELECT * FROM (SELECT 1) AS t, (SELECT 2) u", 2),
    ] {
        let from = select(sql).from;
        assert_eq!(from.len(), derived_count, "{sql}");
        assert!(matches!(from[0].first, TableFactor::Derived { .. }), "{sql}");
    }
    for sql in [
        "SELECT * FROM (t)",
        "SELECT * FROM (t, u)",
        "SELECT * FROM (t JOIN u) JOIN v",
        "SELECT * FROM ((SELECT 1) AS t JOIN u)",
        "SELECT * FROM ((t JOIN u), v)",
        "SELECT * FROM { OJ t LEFT JOIN u ON t.a = u.a }",
    ] {
        assert!(matches!(select(sql).from[0].first, TableFactor::Nested(_)), "{sql}");
    }
    let joins =
        &select("SELECT * FROM a LEFT JOIN b LEFT JOIN c ON b.x = c.x ON a.x = b.x").from[0].joins;
    assert_eq!(joins.len(), 1);
    assert!(matches!(joins[0].factor, TableFactor::Nested(_)));
}

/// INSERT and REPLACE.
#[test]
fn inserts() {
    fn insert(sql: &str) -> Insert {
        match parse(sql) {
            Statement::Insert(insert) => *insert,
            other => panic!("{sql}: {other:?}"),
        }
    }
    for (sql, columns, rows) in [
        ("INSERT INTO t VALUES (1, 'a', DEFAULT, NULL)", "", "[[1, 'a', default, NULL]]"),
        ("INSERT t VALUE (1), (2)", "", "[[1], [2]]"),
        ("INSERT INTO s.t (a, `b`) VALUES (?, ?), (?, -1)", "a,b", "[[?0, ?1], [?2, (neg 1)]]"),
        ("INSERT INTO t () VALUES ()", "", "[[]]"),
        ("INSERT INTO t (t.a, s.t.b) VALUES (1 + 2)", "t.a,s.t.b", "[[(+ 1 2)]]"),
        ("INSERT INTO t SET a = 1, b = DEFAULT", "a,b", "[[1, default]]"),
        ("REPLACE INTO t (a) VALUES (1)", "a", "[[1]]"),
        ("REPLACE t SET a = now()", "a", "[[(NOW)]]"),
        ("INSERT LOW_PRIORITY IGNORE INTO t PARTITION (p) (a) VALUES (1)", "a", "[[1]]"),
        ("INSERT INTO t (a) VALUES (1) AS n (x) ON DUPLICATE KEY UPDATE a = n.x", "a", "[[1]]"),
    ] {
        let insert = insert(sql);
        let named: Vec<String> = insert.columns.iter().map(ToString::to_string).collect();
        assert_eq!(named.join(","), columns, "{sql}");
        let InsertSource::Values(values) = insert.source else { panic!("{sql}") };
        assert_eq!(format!("{values:?}"), rows, "{sql}");
        assert_eq!(insert.replace, sql.starts_with("REPLACE"));
        assert_eq!(insert.ignore, sql.contains("IGNORE"));
    }
    let parsed = insert(
        "INSERT INTO t (a, b) VALUES (1, 2) ON DUPLICATE KEY UPDATE a = VALUES(a) + 1, t.b = b + ?",
    );
    let updates: Vec<String> = parsed
        .on_duplicate
        .iter()
        .map(|assignment| format!("{} {:?}", assignment.column, assignment.value))
        .collect();
    assert_eq!(updates, ["a (+ (values a) 1)", "t.b (+ b ?0)"]);
    for sql in [
        "INSERT INTO t SELECT * FROM u",
        "INSERT INTO t (a) SELECT 1",
        "INSERT INTO t (SELECT 1)",
        "INSERT INTO t (a) (SELECT 1) ON DUPLICATE KEY UPDATE a = 2",
        "INSERT INTO t SELECT * FROM u JOIN v ON DUPLICATE KEY UPDATE a = 2",
        "INSERT INTO t WITH x AS (SELECT 1) SELECT * FROM x",
        "INSERT INTO t VALUES ROW(1)",
        "INSERT INTO t TABLE u",
    ] {
        assert!(matches!(insert(sql).source, InsertSource::Query(_)), "{sql}");
    }
}

/// UPDATE and DELETE.
#[test]
fn updates_and_deletes() {
    let Statement::Update(update) = parse(
        "UPDATE IGNORE s.t AS x SET x.a = a + 1, b = DEFAULT WHERE id = 5 ORDER BY c DESC LIMIT 3",
    ) else {
        panic!("no update")
    };
    assert!(update.ignore);
    assert_eq!(update.assignments.len(), 2);
    assert_eq!(format!("{:?} {:?}", update.filter, update.limit), "Some((= id 5)) Some(3)");
    assert!(update.order_by[0].descending);
    let Statement::Update(update) = parse("UPDATE t, u JOIN v ON t.a = v.a SET t.a = u.b") else {
        panic!("no update")
    };
    assert_eq!(update.tables.len(), 2);
    for (sql, target_count) in [
        ("DELETE FROM t", 0),
        ("DELETE LOW_PRIORITY QUICK IGNORE FROM t", 0),
        ("DELETE FROM s.t AS x WHERE x.a = 1 ORDER BY a LIMIT 5", 0),
        ("DELETE t FROM t JOIN u WHERE t.a = u.a", 1),
        ("DELETE t, s.u FROM t, s.u", 2),
        ("DELETE FROM t.*, u USING t JOIN u", 2),
        ("WITH x AS (SELECT 1) DELETE FROM t WHERE a IN (SELECT * FROM x)", 0),
    ] {
        let Statement::Delete(delete) = parse(sql) else { panic!("{sql}") };
        assert_eq!(delete.targets.len(), target_count, "{sql}");
        assert!(!delete.tables.is_empty(), "{sql}");
    }
    assert_eq!(parse("TRUNCATE t"), parse("truncate table t;"));
}

/// SET in all its forms.
#[test]
fn sets() {
    for (text, expected) in [
        ("@a = 1", "UserVariable { name: \"a\", value: 1 }"),
        ("@a := 1 + 1", "UserVariable { name: \"a\", value: (+ 1 1) }"),
        ("autocommit = 0", "Session autocommit Expr(0)"),
        ("autocommit=OFF", "Session autocommit Word(\"OFF\")"),
        ("@@autocommit = 1", "Unspecified autocommit Expr(1)"),
        ("@@session.sql_mode = 'ANSI'", "Session sql_mode Expr('ANSI')"),
        ("@@global.x = DEFAULT", "Global x Default"),
        (
            "SESSION sql_mode = concat(@@sql_mode, ',x')",
            "Session sql_mode Expr((CONCAT @@sql_mode ',x'))",
        ),
        ("GLOBAL max_connections = 10", "Global max_connections Expr(10)"),
        ("LOCAL x = ON", "Session x Word(\"ON\")"),
        ("PERSIST x = 5", "Persist x Expr(5)"),
        ("x.y = 5", "Session x.y Expr(5)"),
        ("character_set_results = NULL", "Session character_set_results Expr(NULL)"),
        ("character_set_results = binary", "Session character_set_results Word(\"binary\")"),
        ("sql_mode = @saved", "Session sql_mode Expr(@saved)"),
        ("x = DEFAULT", "Session x Default"),
        ("timestamp = -1", "Session timestamp Expr((neg 1))"),
        ("x = TRUE", "Session x Expr(TRUE)"),
        ("NAMES utf8mb4", "Names { charset: Some(\"utf8mb4\"), collation: None }"),
        (
            "NAMES 'utf8' COLLATE 'utf8_bin'",
            "Names { charset: Some(\"utf8\"), collation: Some(\"utf8_bin\") }",
        ),
        ("NAMES binary", "Names { charset: Some(\"binary\"), collation: None }"),
        ("NAMES DEFAULT", "Names { charset: None, collation: None }"),
        ("CHARACTER SET latin1", "CharacterSet { charset: Some(\"latin1\") }"),
        ("CHARSET DEFAULT", "CharacterSet { charset: None }"),
        (
            "TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "Transaction { scope: Next, isolation: Some(ReadCommitted), read_only: None }",
        ),
        (
            "SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
            "Transaction { scope: Session, isolation: Some(RepeatableRead), read_only: Some(true) }",
        ),
        (
            "GLOBAL TRANSACTION READ WRITE",
            "Transaction { scope: Global, isolation: None, read_only: Some(false) }",
        ),
        (
            "LOCAL TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            "Transaction { scope: Session, isolation: Some(Serializable), read_only: None }",
        ),
    ] {
        let Statement::Set(items) = parse(&format!("SET {text}")) else { panic!("{text}") };
        assert_eq!(items.len(), 1, "{text}");
        let shown = match &items[0] {
            SetItem::SystemVariable { scope, name, value } => format!("{scope:?} {name} {value:?}"),
            item => format!("{item:?}"),
        };
        assert_eq!(shown, expected, "{text}");
    }
    let Statement::Set(items) = parse(
        "SET @a = 1, autocommit = 0, SESSION x = ON, NAMES utf8, @@global.y = 2, TRANSACTION READ ONLY, z = 3",
    ) else {
        panic!("no set")
    };
    assert_eq!(items.len(), 7);
}

/// Statements with no part of their own elsewhere, by the beginning of their Debug form.
#[test]
fn statements() {
    for (sql, expected) in [
        ("", "Empty"),
        (" /* x */ -- y", "Empty"),
        (";", "Empty"),
        ("BEGIN", "Begin { read_only: None, consistent_snapshot: false }"),
        ("BEGIN WORK", "Begin { read_only: None"),
        ("START TRANSACTION", "Begin { read_only: None"),
        ("START TRANSACTION READ ONLY", "Begin { read_only: Some(true)"),
        (
            "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ WRITE",
            "Begin { read_only: Some(false), consistent_snapshot: true }",
        ),
        ("COMMIT", "Commit(Completion { chain: None, release: None })"),
        ("COMMIT WORK AND CHAIN", "Commit(Completion { chain: Some(true), release: None })"),
        (
            "COMMIT AND NO CHAIN RELEASE",
            "Commit(Completion { chain: Some(false), release: Some(true) })",
        ),
        ("ROLLBACK NO RELEASE", "Rollback(Completion { chain: None, release: Some(false) })"),
        ("ROLLBACK", "Rollback("),
        ("SAVEPOINT a", "Savepoint(\"a\")"),
        ("ROLLBACK TO a", "RollbackTo(\"a\")"),
        ("ROLLBACK WORK TO SAVEPOINT a", "RollbackTo(\"a\")"),
        ("RELEASE SAVEPOINT a", "ReleaseSavepoint(\"a\")"),
        ("USE `my db`", "Use(\"my db\")"),
        ("KILL 5", "Kill { query: false, id: 5 }"),
        ("KILL CONNECTION 5", "Kill { query: false"),
        ("KILL QUERY 5", "Kill { query: true"),
        ("LOCK TABLES t READ, s.u AS x WRITE, v READ LOCAL", "LockTables("),
        ("UNLOCK TABLES", "UnlockTables"),
        ("FLUSH TABLES", "Flush { what: \"TABLES\", tables: []"),
        ("FLUSH TABLES t, u WITH READ LOCK", "Flush { what: \"TABLES\""),
        ("FLUSH PRIVILEGES", "Flush { what: \"PRIVILEGES\""),
        ("FLUSH LOCAL BINARY LOGS", "Flush { what: \"BINARY LOGS\""),
        ("DO sleep(1), 2", "Do([(SLEEP 1), 2])"),
        ("PREPARE s FROM 'SELECT ?'", "Prepare { name: \"s\", source: Text("),
        ("PREPARE s FROM @a", "Prepare { name: \"s\", source: Variable(\"a\")"),
        ("EXECUTE s", "Execute { name: \"s\", using: [] }"),
        ("EXECUTE s USING @a, @b", "Execute { name: \"s\", using: [\"a\", \"b\"] }"),
        ("DEALLOCATE PREPARE s", "Deallocate { name: \"s\" }"),
        ("DROP PREPARE s", "Deallocate { name: \"s\" }"),
        ("ANALYZE TABLE t, u", "TableMaintenance { kind: Analyze"),
        ("OPTIMIZE LOCAL TABLE t", "TableMaintenance { kind: Optimize"),
        ("CHECK TABLE t QUICK FOR UPGRADE", "TableMaintenance { kind: Check"),
        ("REPAIR TABLE t", "TableMaintenance { kind: Repair"),
        ("CHECKSUM TABLE t EXTENDED", "TableMaintenance { kind: Checksum"),
        (
            "CREATE DATABASE d",
            "CreateDatabase { name: \"d\", if_not_exists: false, charset: None, collation: None }",
        ),
        (
            "CREATE SCHEMA IF NOT EXISTS d DEFAULT CHARACTER SET = utf8mb4 COLLATE utf8mb4_bin",
            "CreateDatabase { name: \"d\", if_not_exists: true, charset: Some(\"utf8mb4\"), collation: Some(\"utf8mb4_bin\") }",
        ),
        (
            "CREATE DATABASE d /*!40100 DEFAULT CHARACTER SET utf8mb4 */",
            "CreateDatabase { name: \"d\"",
        ),
        ("ALTER DATABASE d CHARSET utf8mb4", "AlterDatabase { name: Some(\"d\")"),
        ("ALTER SCHEMA COLLATE x", "AlterDatabase { name: None"),
        ("DROP DATABASE IF EXISTS d", "DropDatabase { name: \"d\", if_exists: true }"),
        ("DROP SCHEMA d", "DropDatabase { name: \"d\", if_exists: false }"),
        ("DROP TABLE t", "DropTable { temporary: false, if_exists: false"),
        (
            "DROP TEMPORARY TABLE IF EXISTS t, s.u CASCADE",
            "DropTable { temporary: true, if_exists: true",
        ),
        ("RENAME TABLE a TO b, s.c TO d", "RenameTable("),
        ("CREATE VIEW v AS SELECT 1", "CreateView(CreateView { alter: false, or_replace: false,"),
        (
            "CREATE OR REPLACE ALGORITHM=MERGE DEFINER=`a`@`%` SQL SECURITY INVOKER VIEW v AS SELECT 1",
            "CreateView(CreateView { alter: false, or_replace: true, algorithm: Some(Merge), definer: Some((\"a\", \"%\")), \
             as_invoker: true, name:",
        ),
        (
            "ALTER DEFINER=CURRENT_USER VIEW v (a) AS (SELECT 1) WITH LOCAL CHECK OPTION",
            "CreateView(CreateView { alter: true,",
        ),
        ("DROP VIEW IF EXISTS v, s.w CASCADE", "DropView { if_exists: true, views: [Obj"),
        ("CREATE INDEX i ON t (a)", "CreateIndex {"),
        (
            "CREATE UNIQUE INDEX i USING HASH ON s.t (a DESC, b(5)) COMMENT 'x' ALGORITHM=INPLACE LOCK=NONE",
            "CreateIndex {",
        ),
        ("CREATE FULLTEXT INDEX i ON t (a)", "CreateIndex {"),
        ("DROP INDEX i ON t", "DropIndex { name: \"i\""),
        ("DROP INDEX `PRIMARY` ON t LOCK DEFAULT", "DropIndex { name: \"PRIMARY\""),
        (
            "DESCRIBE t",
            "Describe { table: ObjectName { schema: None, name: \"t\", at: _ }, column: None }",
        ),
        (
            "DESC s.t 'a%'",
            "Describe { table: ObjectName { schema: Some(\"s\"), name: \"t\", at: _ }, column: Some(\"a%\") }",
        ),
        ("EXPLAIN t a", "Describe {"),
        ("EXPLAIN SELECT 1", "Explain { analyze: false, format: None"),
        ("EXPLAIN FORMAT=json SELECT 1", "Explain { analyze: false, format: Some(\"JSON\")"),
        ("EXPLAIN ANALYZE FORMAT=TREE SELECT 1", "Explain { analyze: true, format: Some(\"TREE\")"),
        ("EXPLAIN DELETE FROM t", "Explain {"),
        ("EXPLAIN EXTENDED SELECT 1", "Explain {"),
        ("EXPLAIN (SELECT 1)", "Explain {"),
    ] {
        let shown = format!("{:?}", parse(sql));
        assert!(shown.starts_with(expected), "{sql}: {shown}");
    }
}

/// Statements known by name only.
#[test]
fn unsupported() {
    for (sql, expected) in [
        (
            "CREATE DEFINER=CURRENT_USER() TRIGGER t BEFORE INSERT ON u FOR EACH ROW BEGIN SET @a = 1; END",
            "CREATE TRIGGER",
        ),
        ("CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END", "CREATE PROCEDURE"),
        ("CREATE FUNCTION f() RETURNS INT RETURN 1", "CREATE FUNCTION"),
        ("CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1", "CREATE EVENT"),
        ("CREATE TABLESPACE x ADD DATAFILE 'y'", "CREATE TABLESPACE"),
        ("CREATE LOGFILE GROUP g ADD UNDOFILE 'u'", "CREATE LOGFILE"),
        ("CALL p(1)", "CALL"),
        ("HANDLER t OPEN", "HANDLER"),
        ("LOAD XML LOCAL INFILE 'x' INTO TABLE t", "LOAD XML"),
        ("LOAD INDEX INTO CACHE t", "LOAD INDEX"),
        ("XA START 'x'", "XA START"),
        ("XA RECOVER", "XA RECOVER"),
        ("RESET MASTER", "RESET MASTER"),
        ("CHANGE REPLICATION SOURCE TO SOURCE_HOST='x'", "CHANGE REPLICATION SOURCE"),
        ("START REPLICA", "START REPLICA"),
        ("SIGNAL SQLSTATE '45000'", "SIGNAL"),
        ("LOCK INSTANCE FOR BACKUP", "LOCK INSTANCE"),
        ("SHUTDOWN", "SHUTDOWN"),
        ("INSTALL PLUGIN x SONAME 'y'", "INSTALL PLUGIN"),
        ("ANALYZE TABLE t UPDATE HISTOGRAM ON a", "ANALYZE TABLE ... HISTOGRAM"),
        ("EXPLAIN FOR CONNECTION 5", "EXPLAIN FOR CONNECTION"),
    ] {
        assert_eq!(parse(sql), Statement::Unsupported { feature: expected.to_string() }, "{sql}");
    }
}

/// SHOW, by the beginning of its Debug form.
#[test]
fn shows() {
    for (text, expected) in [
        ("DATABASES", "Databases { filter: None }"),
        ("SCHEMAS LIKE 'a%'", "Databases { filter: Like("),
        ("TABLES", "Tables { full: false, extended: false, database: None, filter: None }"),
        (
            "FULL TABLES FROM d LIKE 'x'",
            "Tables { full: true, extended: false, database: Some(\"d\"), filter: Like(",
        ),
        (
            "TABLES IN d WHERE a = 1",
            "Tables { full: false, extended: false, database: Some(\"d\"), filter: Where((= a 1)) }",
        ),
        ("TABLE STATUS FROM d LIKE 't'", "TableStatus { database: Some(\"d\"), filter: Like("),
        ("CREATE TABLE s.t", "CreateTable(ObjectName { schema: Some(\"s\")"),
        ("CREATE DATABASE IF NOT EXISTS d", "CreateDatabase { name: \"d\", if_not_exists: true }"),
        ("COLUMNS FROM t", "Columns { full: false"),
        (
            "FULL FIELDS FROM t FROM s LIKE 'a'",
            "Columns { full: true, extended: false, table: ObjectName { schema: Some(\"s\")",
        ),
        ("INDEX FROM t", "Index {"),
        ("KEYS IN t IN s WHERE Key_name = 'x'", "Index {"),
        ("VARIABLES", "Variables { global: false"),
        ("GLOBAL VARIABLES LIKE 'x'", "Variables { global: true"),
        ("SESSION VARIABLES WHERE Variable_name IN ('a')", "Variables { global: false"),
        ("GLOBAL STATUS", "Status { global: true"),
        ("STATUS LIKE 'x'", "Status { global: false"),
        ("WARNINGS", "Warnings { limit: None }"),
        ("WARNINGS LIMIT 5", "Warnings { limit: Some("),
        ("ERRORS LIMIT 1, 2", "Errors { limit: Some("),
        ("COUNT(*) WARNINGS", "CountWarnings"),
        ("COUNT(*) ERRORS", "CountErrors"),
        ("PROCESSLIST", "ProcessList { full: false }"),
        ("FULL PROCESSLIST", "ProcessList { full: true }"),
        ("ENGINES", "Engines"),
        ("STORAGE ENGINES", "Engines"),
        ("ENGINE InnoDB STATUS", "EngineStatus { engine: \"INNODB\", what: \"STATUS\" }"),
        ("CHARACTER SET", "CharacterSet { filter: None }"),
        ("CHARSET LIKE 'u%'", "CharacterSet { filter: Like("),
        ("COLLATION WHERE Charset = 'x'", "Collation {"),
        ("PLUGINS", "Plugins"),
        ("PRIVILEGES", "Privileges"),
        ("MASTER STATUS", "MasterStatus"),
        ("OPEN TABLES", "OpenTables {"),
        ("TRIGGERS LIKE 'x'", "Triggers {"),
        ("PROCEDURE STATUS WHERE Db = 'x'", "ProcedureStatus {"),
        ("FUNCTION STATUS", "FunctionStatus {"),
        ("EVENTS", "Events {"),
        ("BINARY LOGS", "Unsupported { feature: \"SHOW BINARY LOGS\" }"),
        ("SLAVE STATUS", "Unsupported { feature: \"SHOW SLAVE STATUS\" }"),
        ("CREATE VIEW v", "CreateView("),
    ] {
        let Statement::Show(show) = parse(&format!("SHOW {text}")) else { panic!("{text}") };
        let shown = format!("{show:?}");
        assert!(shown.starts_with(expected), "{text}: {shown}");
    }
}

/// Statements that must simply be taken: what drivers, dumps, benchmarks and ORMs send.
#[test]
fn accepted() {
    for sql in [
        "SELECT @@version_comment LIMIT 1",
        "SELECT @@session.auto_increment_increment AS auto_increment_increment, @@character_set_client AS c",
        "/* mysql-connector-java-8.0 */ SELECT @@session.tx_isolation",
        "SELECT DATABASE(), USER()",
        "SET NAMES utf8mb4",
        "SET sql_mode=(SELECT CONCAT(@@sql_mode,',STRICT_TRANS_TABLES'))",
        "/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */",
        "/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */",
        "/*!40000 ALTER TABLE `t` DISABLE KEYS */",
        "/*!50503 SET NAMES utf8mb4 */",
        "LOCK TABLES `t` WRITE",
        "DROP TABLE IF EXISTS `t`",
        "SELECT c FROM sbtest1 WHERE id=5015",
        "SELECT c FROM sbtest1 WHERE id BETWEEN 4990 AND 5089 ORDER BY c",
        "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 1 AND 100",
        "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 1 AND 100 ORDER BY c",
        "UPDATE sbtest1 SET k=k+1 WHERE id=5046",
        "DELETE FROM sbtest1 WHERE id=4918",
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES (4918, 5044, '27619464', '48189416')",
        "CREATE TABLE sbtest1(id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) /*! ENGINE = ndbcluster */",
        "CREATE INDEX k_1 ON sbtest1(k)",
        "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse WHERE w_id = 1 AND c_w_id = w_id AND c_d_id = 2 AND c_id = 3",
        "SELECT s_quantity, s_data, s_dist_01 FROM stock WHERE s_i_id = 1 AND s_w_id = 1 FOR UPDATE",
        "SELECT COUNT(DISTINCT (s_i_id)) FROM order_line, stock WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id < 3001 AND ol_o_id >= (3001 - 20) AND s_w_id = 1 AND s_i_id = ol_i_id AND s_quantity < 10",
        "SELECT t.oid, t.name FROM a t LEFT OUTER JOIN b ON (t.x = b.x AND b.y IS NULL) WHERE t.name LIKE '%x%' ORDER BY t.oid LIMIT 10 OFFSET 20",
        "SELECT COUNT(*) AS count FROM users WHERE users.deleted_at IS NULL AND (users.role = 'a' OR users.role = 'b')",
        "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()",
        "SELECT `value`, `key`, `order` FROM `group` WHERE `index` = 1",
        "SELECT value, status, name, type, date, time, year, user, text, comment, offset FROM t",
        "SELECT a.end, begin, action, `rank` FROM t AS a",
        "SELECT 1 FROM t FORCE INDEX FOR JOIN (a) IGNORE KEY (b)",
        "SELECT * FROM t PARTITION (p0, p1) AS x",
        "SELECT SQL_CALC_FOUND_ROWS * FROM t",
        "SELECT HIGH_PRIORITY STRAIGHT_JOIN a FROM t",
        "SELECT a FROM t WHERE a = 'x' COLLATE utf8mb4_bin",
        "SELECT a FROM t WHERE (a, b) > (1, 2) ORDER BY a, b",
        "SELECT GROUP_CONCAT(a ORDER BY b SEPARATOR ',') FROM t GROUP BY c",
        "SELECT a, RANK() OVER (ORDER BY b) r FROM t",
        "SELECT a FROM t WINDOW w AS (PARTITION BY a), x AS (w)",
        "SELECT * INTO OUTFILE 'x.csv' FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' LINES TERMINATED BY '\\n' FROM t",
        "SELECT * FROM JSON_TABLE('[1]', '$[*]' COLUMNS (a INT PATH '$')) AS jt",
        "SELECT * FROM t, LATERAL (SELECT * FROM u WHERE u.a = t.a) AS x",
        "SELECT sleep(0.1)",
        "SELECT 1 as `a`, 2 as 'b', 3 c",
        "SELECT *FROM t",
        "SELECT a.*,b.* FROM a,b",
        "SELECT(1)",
        "SELECT'a'",
        "SELECT-1",
        "SELECT 1;",
        "SELECT 1 -- x",
        "SELECT 1 # x",
        "SELECT 1--1",
        "SELECT `a`.`b`.`c` FROM `a`.`b`",
        "SELECT x.`y` FROM x",
        "select If(a,b,c), Count(*) From T Where X In (1,2,3)",
        "INSERT INTO t VALUES (x'00FF', 0x00, b'1', N'a', _binary'\\0\\'')",
        "INSERT INTO t (a, b) VALUES ((SELECT 1), (1 + 2) * 3)",
        "INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a = IF(VALUES(a) > a, VALUES(a), a)",
        "UPDATE t SET a = CASE WHEN b = 1 THEN 2 ELSE 3 END WHERE c IN (SELECT d FROM u)",
        "UPDATE t SET a = a XOR 1, b = b << 2, c = NOT c",
        "DELETE FROM t WHERE a IS NOT NULL AND NOT b LIMIT ?",
        "CREATE TABLE t (a INT) DATA DIRECTORY = '/x' INDEX DIRECTORY = '/y' UNION = (a, b) TABLESPACE ts STORAGE DISK",
        "CREATE TABLE t (a INT PRIMARY KEY) ENGINE NDBCLUSTER COMMENT 'NDB_TABLE=READ_BACKUP=1'",
        "CREATE TABLE t (`key` INT, date DATE, `int` INT, status ENUM('x'), PRIMARY KEY (`key`))",
        "CREATE TABLE t (a INT, b INT AS (a + 1) VIRTUAL NOT NULL UNIQUE COMMENT 'x')",
        "CREATE TABLE t (a TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)",
        "CREATE TABLE t (a INT REFERENCES u (b) MATCH FULL ON UPDATE NO ACTION)",
        "ALTER TABLE t ADD COLUMN (a INT), DROP PRIMARY KEY, ADD PRIMARY KEY (a)",
        "TRUNCATE TABLE s.t",
        "KILL @x",
        "SHOW FULL COLUMNS FROM `t` FROM `s`",
        "DO 1",
    ] {
        parse(sql);
    }
}

/// What MySQL refuses is refused, with MySQL's text.
#[test]
fn errors() {
    for (sql, near, line) in [
        ("SELEC 1", "SELEC 1", 1),
        ("SELECT", "", 1),
        ("SELECT FROM t", "FROM t", 1),
        ("SELECT * FROM", "", 1),
        ("SELECT *\nFROM t\nWHERE", "", 3),
        ("SELECT * FROM t WHERE\n a = = 1", "= 1", 2),
        ("SELECT 1 2", "2", 1),
        ("SELECT a b c", "c", 1),
        ("SELECT (1", "", 1),
        ("SELECT 1)", ")", 1),
        ("SELECT 'abc", "'abc", 1),
        ("SELECT `abc", "`abc", 1),
        ("SELECT a FROM select", "select", 1),
        ("SELECT select", "select", 1),
        ("SELECT rank FROM t", "rank FROM t", 1),
        ("SELECT a FROM t WHERE a = NOT b", "NOT b", 1),
        ("SELECT a IN (1) IN (2)", "IN (2)", 1),
        ("SELECT a IS TRUE IS TRUE", "IS TRUE", 1),
        ("SELECT a IN ()", ")", 1),
        ("SELECT a FROM t LIMIT -1", "-1", 1),
        ("SELECT a FROM t LIMIT 'a'", "'a'", 1),
        ("SELECT a FROM t LIMIT 1 +", "+", 1),
        ("SELECT case end", "", 1),
        ("SELECT x'4'", "x'4'", 1),
        ("SELECT a FROM t ORDER a", "a", 1),
        ("SELECT a FROM t LEFT JOIN u", "", 1),
        ("SELECT a FROM t FOR DELETE", "DELETE", 1),
        ("SELECT @", "", 1),
        ("SELECT 1 UNION", "", 1),
        ("SELECT cast(a as foo)", "foo)", 1),
        ("SELECT lag(a)", "", 1),
        ("INSERT INTO t", "", 1),
        ("INSERT INTO t (a) VALUES", "", 1),
        ("INSERT INTO t (a) VALUES (1,)", ")", 1),
        ("INSERT INTO t (a, VALUES (1)", "VALUES (1)", 1),
        ("UPDATE t a = 1", "= 1", 1),
        ("UPDATE t SET", "", 1),
        ("DELETE t WHERE a = 1", "WHERE a = 1", 1),
        ("CREATE TABLE t ()", ")", 1),
        ("CREATE TABLE t (a FOO)", "FOO)", 1),
        ("CREATE TABLE t (a VARCHAR)", ")", 1),
        ("CREATE TABLE t (a INT DEFAULT NOW(9))", "9))", 1),
        ("CREATE FOO x", "FOO x", 1),
        ("DROP TABLE", "", 1),
        ("ALTER TABLE t FOO", "FOO", 1),
        ("SET x", "", 1),
        ("SET TRANSACTION", "", 1),
        ("SET PERSIST TRANSACTION READ ONLY", "TRANSACTION READ ONLY", 1),
        ("START TRANSACTION READ", "READ", 1),
        ("COMMIT AND CHAIN RELEASE", "", 1),
        ("SHOW", "", 1),
        ("SHOW FULL DATABASES", "DATABASES", 1),
        ("EXPLAIN FORMAT=json t", "t", 1),
        ("foo", "foo", 1),
        ("SELECT 1; SELECT 2", "", 0),
        ("/* unfinished", "", 0),
    ] {
        match parse_one(sql.as_bytes(), SqlMode::NONE) {
            Ok(_) => assert_eq!(line, 0, "{sql}"),
            Err(error) if line == 0 => assert!(sql.starts_with("/*"), "{sql}: {error}"),
            Err(error) => {
                assert_eq!((error.near.as_str(), error.line), (near, line), "{sql}");
                assert_eq!((error.mysql_code(), error.sqlstate()), (1064, "42000"));
            }
        }
    }
    let error = parse_one(b"SELECT *\nFROM t WHERE WHERE", SqlMode::NONE).expect_err("two WHEREs");
    assert_eq!(
        error.to_string(),
        "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for \
         the right syntax to use near 'WHERE' at line 2"
    );
    let long = format!("SELECT 1 FROM FROM {}", "é".repeat(200));
    let error = parse_one(long.as_bytes(), SqlMode::NONE).expect_err("two FROMs");
    assert_eq!(error.near.chars().count(), 80);
    let error = parse_one(b"SELECT 1e999", SqlMode::NONE).expect_err("beyond a double");
    assert_eq!(error.mysql_code(), 1367);
}

/// Several statements in one text are taken one by one.
#[test]
fn multi_statements() {
    let sql = b" SELECT ';' ; ;\n/* ; */ SELECT `;` -- ;\n; COMMIT";
    let mut position = 0;
    let mut names = Vec::new();
    while position < sql.len() {
        let (statement, consumed) =
            parse_one(&sql[position..], SqlMode::NONE).expect("valid statements");
        assert!(0 < consumed);
        names.push(match statement {
            Statement::Query(_) => "query",
            Statement::Empty => "empty",
            Statement::Commit(_) => "commit",
            other => panic!("{other:?}"),
        });
        position += consumed;
    }
    assert_eq!(names, ["query", "empty", "query", "commit"]);
    assert_eq!(parse_prepared(b"SELECT ? + ?, '?' /* ? */", SqlMode::NONE).expect("valid").1, 2);
}
