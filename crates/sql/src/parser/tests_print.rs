//! Printed queries: the text of each form, and that the parser reads it as the same tree.

use std::fs;
use std::path::Path;

use super::ast::*;
use super::print::{AsWritten, Names};
use super::tests_hostile::PIECES;
use super::*;
use crate::check::random::Random;
use crate::check::statement::Statements;
use crate::check::tables::table;

const REFUSED: &str = "<unsupported: ";

/// The query of a statement that has one.
fn query_of(sql: &str, mode: SqlMode) -> Option<Query> {
    match parse_one(sql.as_bytes(), mode).ok()?.0 {
        Statement::Query(query) => Some(*query),
        Statement::Explain { statement, .. } => match *statement {
            Statement::Query(query) => Some(*query),
            _ => None,
        },
        Statement::Insert(insert) => match insert.source {
            InsertSource::Query(query) => Some(*query),
            InsertSource::Values(_) => None,
        },
        _ => None,
    }
}

fn printed(query: &Query) -> String {
    print::query(query, &AsWritten)
}

/// Prints the query and reads it back. Returns false if it has a node that has no text.
fn round_trip(query: &Query, source: &str) -> bool {
    let text = printed(query);
    let parsed = match parse_one(text.as_bytes(), SqlMode::NONE) {
        Ok((Statement::Query(parsed), consumed)) => {
            assert_eq!(consumed, text.len(), "{source}\n{text}");
            assert!(!text.contains(REFUSED) || source.contains(REFUSED), "{source}\n{text}");
            *parsed
        }
        Ok((other, _)) => panic!("{source}\n{text}\n{other:?}"),
        Err(error) => {
            assert!(text.contains(REFUSED), "{source}\n{text}\n{error}");
            return false;
        }
    };
    assert_eq!(printed(&parsed), text, "{source}");
    let (expected, found) = (normal(query), normal(&parsed));
    // Their Debug is megabytes for some of the queries.
    if expected != found {
        assert_eq!(format!("{expected:#?}"), format!("{found:#?}"), "{source}\n{text}");
        panic!("trees differ where their Debug does not: {source}\n{text}");
    }
    true
}

// ---------------------------------------------------------------------------------------------------------------
// What printing changes

/// The query with each title as an alias, and without redundant parentheses around joins.
fn normal(query: &Query) -> Query {
    let mut query = query.clone();
    normalise_query(&mut query);
    query
}

fn normalise_query(query: &mut Query) {
    if let Some(with) = &mut query.with {
        with.tables.iter_mut().for_each(|table| normalise_query(&mut table.query));
    }
    match &mut query.body {
        QueryBody::Select(select) => normalise_select(select),
        QueryBody::SetOperation { first, rest } => {
            normalise_query(first);
            rest.iter_mut().for_each(|operand| normalise_query(&mut operand.query));
        }
        QueryBody::Values(rows) => rows.iter_mut().flatten().for_each(normalise_expr),
        QueryBody::Table(_) => {}
    }
    normalise_order(&mut query.order_by);
}

fn normalise_select(select: &mut Select) {
    for item in &mut select.items {
        if let SelectItem::Expr { expr, alias, text } = item {
            *alias = Some(item_title(expr, alias.as_deref(), text));
            text.clear();
            normalise_expr(expr);
        }
    }
    select.from.iter_mut().for_each(normalise_reference);
    normalise_order(&mut select.group_by);
    select.filter.iter_mut().chain(&mut select.having).for_each(normalise_expr);
    select.windows.iter_mut().for_each(|window| normalise_spec(&mut window.spec));
}

fn normalise_order(items: &mut [OrderItem]) {
    items.iter_mut().for_each(|item| normalise_expr(&mut item.expr));
}

/// `(a JOIN b) JOIN c` is `a JOIN b JOIN c`, and `(a)` is `a`.
fn normalise_reference(reference: &mut TableReference) {
    let TableReference { first, joins } = reference;
    normalise_factor(first);
    for join in joins.iter_mut() {
        normalise_factor(&mut join.factor);
        if let JoinCondition::On(condition) = &mut join.condition {
            normalise_expr(condition);
        }
    }
    if let TableFactor::Nested(references) = first
        && references.len() == 1
        && let Some(inner) = references.pop()
    {
        *first = inner.first;
        joins.splice(0..0, inner.joins);
    }
}

fn normalise_factor(factor: &mut TableFactor) {
    match factor {
        TableFactor::Derived { query, .. } => normalise_query(query),
        TableFactor::Nested(references) => {
            references.iter_mut().for_each(normalise_reference);
            let is_plain = references.len() == 1 && references[0].joins.is_empty();
            if is_plain && let Some(inner) = references.pop() {
                *factor = inner.first;
            }
        }
        TableFactor::JsonTable(table) => normalise_expr(&mut table.document),
        TableFactor::Table { .. } => {}
    }
}

fn normalise_spec(spec: &mut WindowSpec) {
    spec.partition_by.iter_mut().for_each(normalise_expr);
    normalise_order(&mut spec.order_by);
}

fn normalise_expr(expr: &mut Expr) {
    match expr {
        Expr::And(operands)
        | Expr::Or(operands)
        | Expr::Row(operands)
        | Expr::Function { arguments: operands, .. } => {
            operands.iter_mut().for_each(normalise_expr);
        }
        Expr::Aggregate { arguments, order_by, .. } => {
            arguments.iter_mut().for_each(normalise_expr);
            normalise_order(order_by);
        }
        Expr::Assign { value: operand, .. }
        | Expr::Unary { operand, .. }
        | Expr::Is { operand, .. }
        | Expr::Cast { operand, .. }
        | Expr::ConvertUsing { operand, .. }
        | Expr::Collate { operand, .. }
        | Expr::Interval { value: operand, .. } => normalise_expr(operand),
        Expr::JsonValue(call) => normalise_expr(&mut call.document),
        Expr::Binary { left, right, .. } => {
            normalise_expr(left);
            normalise_expr(right);
        }
        Expr::Between { operand, low, high, .. } => {
            [operand, low, high].into_iter().for_each(|operand| normalise_expr(operand));
        }
        Expr::InList { operand, list, .. } => {
            normalise_expr(operand);
            list.iter_mut().for_each(normalise_expr);
        }
        Expr::InSubquery { operand, query, .. } | Expr::Quantified { left: operand, query, .. } => {
            normalise_expr(operand);
            normalise_query(query);
        }
        Expr::Exists(query) | Expr::Subquery(query) => normalise_query(query),
        Expr::Like { operand, pattern, escape, .. } => {
            [operand, pattern]
                .into_iter()
                .chain(escape)
                .for_each(|operand| normalise_expr(operand));
        }
        Expr::Regexp { operand, pattern, .. } => {
            normalise_expr(operand);
            normalise_expr(pattern);
        }
        Expr::Trim { remove, operand, .. } => {
            normalise_expr(operand);
            remove.iter_mut().for_each(|remove| normalise_expr(remove));
        }
        Expr::Case { operand, branches, otherwise } => {
            operand.iter_mut().chain(otherwise).for_each(|operand| normalise_expr(operand));
            for (condition, value) in branches {
                normalise_expr(condition);
                normalise_expr(value);
            }
        }
        Expr::Window(call) => {
            normalise_expr(&mut call.function);
            if let Window::Written(spec) = &mut call.window {
                normalise_spec(spec);
            }
        }
        Expr::Literal(_)
        | Expr::Param(_)
        | Expr::BoundColumn(_)
        | Expr::Column(_)
        | Expr::UserVariable(_)
        | Expr::SystemVariable { .. }
        | Expr::Unit(_)
        | Expr::Values(_)
        | Expr::Default(_)
        | Expr::Unsupported { .. }
        | Expr::SpacedCall { .. } => {}
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Forms

fn check_text(sql: &str, mode: SqlMode, expected: &str) {
    let query = query_of(sql, mode).unwrap_or_else(|| panic!("{sql}"));
    assert_eq!(printed(&query), expected, "{sql}");
    assert!(round_trip(&query, sql), "{sql}");
}

/// The text of an expression.
#[test]
fn print_expressions() {
    for (text, expected) in [
        // Names and variables.
        ("a", "`a`"),
        ("T.a", "`T`.`a`"),
        ("s.t.a", "`s`.`t`.`a`"),
        ("`a``b`", "`a``b`"),
        ("`select`.`x y`", "`select`.`x y`"),
        ("@a", "@`a`"),
        ("@'a`b c'", "@`a``b c`"),
        ("@@sql_mode", "@@`sql_mode`"),
        ("@@session.a.b", "@@session.`a`.`b`"),
        ("@@`global`.a", "@@`global`.`a`"),
        ("@a := 1 + 2", "(@`a` := (1 + 2))"),
        // Literals.
        ("NULL", "NULL"),
        ("TRUE", "true"),
        ("18446744073709551615", "18446744073709551615"),
        ("18446744073709551616", "18446744073709551616"),
        (".5", ".5"),
        ("5.", "5."),
        ("1e2", "1e2"),
        ("1.5E-7", "1.5e-7"),
        ("0e0", "0e0"),
        ("1.7976931348623157e308", "1.7976931348623157e308"),
        ("5e-324", "5e-324"),
        ("'it''s'", "'it''s'"),
        ("\"it's \"\"x\"\"\"", "'it''s \"x\"'"),
        ("'a' 'b'", "'ab'"),
        (r"'a\\b\%\_\n\0\''", "'a\\\\b\\\\%\\\\_\n\\0'''"),
        ("_utf8mb4'é'", "_utf8mb4'é'"),
        ("_latin1'é'", "_latin1 0xc3a9"),
        ("_binary'a'", "_binary'a'"),
        ("_binary 0xff", "_binary 0xff"),
        ("N'a'", "_utf8mb3'a'"),
        ("0x4aB", "0x04ab"),
        (r"_utf8mb4'it\'s\n\\é'", r"_utf8mb4'it\'s\n\\é'"),
        ("x''", "x''"),
        ("b'101'", "b'101'"),
        ("b'0000000000000101'", "b'000000101'"),
        ("b''", "b''"),
        ("{d '2001-02-03'}", "DATE'2001-02-03'"),
        ("TIME'1:2:3'", "TIME'1:2:3'"),
        ("TIMESTAMP'2001-02-03 04:05:06'", "TIMESTAMP'2001-02-03 04:05:06'"),
        // Operators.
        ("a + 2 * b - 1", "((`a` + (2 * `b`)) - 1)"),
        ("(a + 2) * b", "((`a` + 2) * `b`)"),
        ("a DIV b MOD c % d", "(((`a` DIV `b`) % `c`) % `d`)"),
        ("a | b & c << 1 ^ 2", "(`a` | (`b` & (`c` << (1 ^ 2))))"),
        ("a OR b AND c XOR d", "(`a` or ((`b` and `c`) xor `d`))"),
        ("a AND (b AND c) AND d", "(`a` and `b` and `c` and `d`)"),
        ("NOT a", "(not(`a`))"),
        ("NOT a = b", "(not(`a` = `b`))"),
        ("!a + b", "((not(`a`)) + `b`)"),
        ("NOT EXISTS (SELECT 1)", "(not(exists(select 1 AS `1`)))"),
        ("- -1", "-(-(1))"),
        ("-(a + b)", "-(`a` + `b`)"),
        ("~+a", "~(+(`a`))"),
        ("BINARY a = b", "((binary `a`) = `b`)"),
        ("-a COLLATE binary", "-(`a` collate binary)"),
        ("(-a) COLLATE 'utf8mb4_bin'", "((-(`a`)) collate utf8mb4_bin)"),
        ("a COLLATE 'x y'", "(`a` collate 'x y')"),
        ("a != b <=> c", "((`a` <> `b`) <=> `c`)"),
        ("a SOUNDS LIKE b", "(`a` sounds like `b`)"),
        ("a IS NULL IS NOT TRUE", "((`a` is null) is not true)"),
        ("a IS NOT UNKNOWN", "(`a` is not unknown)"),
        ("a NOT BETWEEN 1 AND 2 + b", "(`a` not between 1 and (2 + `b`))"),
        ("a IN (1, (2, 3), (SELECT 4))", "(`a` in (1,(2,3),(select 4 AS `4`)))"),
        ("a NOT IN (SELECT b FROM t)", "(`a` not in (select `b` AS `b` from `t`))"),
        ("a IN ((SELECT 1))", "(`a` in (select 1 AS `1`))"),
        ("a LIKE -b", "(`a` like -(`b`))"),
        ("a NOT LIKE b ESCAPE '|'", "(`a` not like `b` escape '|')"),
        ("a NOT RLIKE b", "(`a` not regexp `b`)"),
        ("a > SOME (SELECT 1)", "(`a` > any (select 1 AS `1`))"),
        ("a <> ALL (SELECT 1)", "(`a` <> all (select 1 AS `1`))"),
        ("CASE WHEN a THEN b END", "(case when `a` then `b` end)"),
        (
            "CASE a WHEN 1 THEN b WHEN 2 THEN c ELSE d END",
            "(case `a` when 1 then `b` when 2 then `c` else `d` end)",
        ),
        ("(1, a) = ROW(2, b)", "((1,`a`) = (2,`b`))"),
        ("ROW(a)", "row(`a`)"),
        ("a + INTERVAL b + 1 DAY", "(`a` + interval (`b` + 1) day)"),
        ("INTERVAL -1 SQL_TSI_WEEK + a", "(interval -(1) week + `a`)"),
        ("INTERVAL (SELECT 1) DAY_HOUR + a", "(interval (select 1 AS `1`) day_hour + `a`)"),
        ("INTERVAL ROW(1, 2) DAY + a", "(interval row(1,2) day + `a`)"),
        ("INTERVAL(5, 1, 10)", "interval(5,1,10)"),
        ("INTERVAL INTERVAL(1, 2) DAY + a", "(interval interval(1,2) day + `a`)"),
        // Calls.
        ("CONCAT(a, 'b')", "concat(`a`,'b')"),
        ("CURRENT_TIMESTAMP", "now()"),
        ("LOCALTIME(3)", "now(3)"),
        ("CURRENT_USER", "current_user()"),
        ("MID(a FROM 2 FOR 3)", "substring(`a`,2,3)"),
        ("POSITION(a IN b)", "locate(`a`,`b`)"),
        ("a -> '$.x'", "json_extract(`a`,'$.x')"),
        ("a ->> '$.x'", "json_unquote(json_extract(`a`,'$.x'))"),
        ("1 + 2 MEMBER OF (a)", "((1 + 2) member of (`a`))"),
        ("a MEMBER OF (b -> '$.x')", "(`a` member of (json_extract(`b`,'$.x')))"),
        ("JSON_ARRAYAGG(a)", "json_arrayagg(`a`)"),
        ("JSON_VALUE(a, '$.x')", "json_value(`a`,'$.x' returning char(512))"),
        (
            "JSON_VALUE(a, '$.x' RETURNING DECIMAL(5, 2) NULL ON EMPTY DEFAULT -1 ON ERROR)",
            "json_value(`a`,'$.x' returning decimal(5,2) null on empty default -(1) on error)",
        ),
        ("EXTRACT(DAY_HOUR FROM a)", "extract(day_hour from `a`)"),
        ("TIMESTAMPDIFF(SQL_TSI_DAY, a, b)", "timestampdiff(day,`a`,`b`)"),
        ("ADDDATE(a, INTERVAL 1 DAY)", "adddate(`a`,interval 1 day)"),
        ("IF(a, LEFT(b, 1), MOD(1, 2))", "if(`a`,left(`b`,1),mod(1,2))"),
        ("s.f(1)", "`s`.`F`(1)"),
        ("`s`.f(1)", "`s`.`f`(1)"),
        ("`f`(1)", "`f`(1)"),
        ("`ANY`(1) = `ANY`(2)", "(`ANY`(1) = `ANY`(2))"),
        ("`EXISTS`(1)", "`EXISTS`(1)"),
        ("`INTERVAL`(1)", "`INTERVAL`(1)"),
        ("`SQL_NO_CACHE`(1)", "`SQL_NO_CACHE`(1)"),
        ("COUNT (1)", "COUNT ()"),
        ("TRIM(a)", "trim(`a`)"),
        ("TRIM(BOTH FROM a)", "trim(`a`)"),
        ("TRIM('x' FROM a)", "trim(both 'x' from `a`)"),
        ("TRIM(LEADING FROM a)", "trim(leading from `a`)"),
        ("TRIM(TRAILING b FROM a)", "trim(trailing `b` from `a`)"),
        ("CAST(a AS CHAR)", "cast(`a` as char)"),
        ("CAST(a AS NCHAR(2))", "cast(`a` as char(2) charset utf8mb3)"),
        (
            "CONVERT(a, CHAR(3) BINARY CHARACTER SET 'binary')",
            "cast(`a` as char(3) charset binary binary)",
        ),
        ("CAST(a AS DECIMAL(10, 2))", "cast(`a` as decimal(10,2))"),
        ("CAST(a AS UNSIGNED INTEGER)", "cast(`a` as unsigned)"),
        ("CAST(a AS REAL)", "cast(`a` as double)"),
        ("CAST(a AS DATETIME(6))", "cast(`a` as datetime(6))"),
        ("CONVERT(a USING BINARY)", "convert(`a` using binary)"),
        ("CHAR(65, 66 USING utf8mb4)", "convert(char(65,66) using utf8mb4)"),
        ("COUNT(*)", "count(*)"),
        ("COUNT(DISTINCT a, b)", "count(distinct `a`,`b`)"),
        ("SUM(ALL a)", "sum(`a`)"),
        (
            "GROUP_CONCAT(DISTINCT a, b ORDER BY c DESC, d SEPARATOR '\\\\')",
            "group_concat(distinct `a`,`b` order by `c` desc,`d` separator '\\\\')",
        ),
        ("DEFAULT(t.a)", "default(`t`.`a`)"),
        ("VALUES(a)", "values(`a`)"),
        // Windows.
        ("ROW_NUMBER() OVER ()", "row_number() over ()"),
        ("SUM(a) OVER w", "sum(`a`) over `w`"),
        (
            "LAG(a, 1, b) IGNORE NULLS OVER (w PARTITION BY c, d ORDER BY e DESC)",
            "lag(`a`,1,`b`) ignore nulls over (`w` partition by `c`,`d` order by `e` desc)",
        ),
        (
            "NTH_VALUE(a, 2) FROM LAST OVER (ORDER BY a ROWS 1 PRECEDING)",
            "nth_value(`a`,2) from last over (order by `a` rows between 1 preceding and current row)",
        ),
        (
            "MAX(a) OVER (RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL 1 DAY FOLLOWING EXCLUDE TIES)",
            "max(`a`) over (range between unbounded preceding and interval 1 day following exclude no others)",
        ),
    ] {
        check_text(
            &format!("SELECT {text} AS x"),
            SqlMode::NONE,
            &format!("select {expected} AS `x`"),
        );
    }
}

/// The text of a query.
#[test]
fn print_queries() {
    for (sql, expected) in [
        // Select lists.
        ("SELECT a, b + 1 FROM t", "select `a` AS `a`,(`b` + 1) AS `b + 1` from `t`"),
        ("SELECT t.a, 'x', null", "select `t`.`a` AS `a`,'x' AS `x`,NULL AS `NULL`"),
        ("SELECT 'a\\0' '`'", "select 'a\\0`' AS 'a\\0`'"),
        ("SELECT a 'it''s', '' b, ''", "select `a` AS `it's`,'' AS `b`,'' AS ``"),
        ("SELECT *, t.*, s.t.* FROM t", "select *,`t`.*,`s`.`t`.* from `t`"),
        (
            "SELECT SQL_CALC_FOUND_ROWS STRAIGHT_JOIN DISTINCT a FROM t",
            "select distinct straight_join sql_calc_found_rows `a` AS `a` from `t`",
        ),
        // Clauses.
        ("SELECT 1 FROM DUAL WHERE 0", "select 1 AS `1` from DUAL where 0"),
        (
            "SELECT a FROM s.t AS x WHERE x.a > 1 AND b GROUP BY a, b DESC WITH ROLLUP HAVING a IS NULL ORDER BY a, 2 DESC LIMIT 5",
            "select `a` AS `a` from `s`.`t` `x` where ((`x`.`a` > 1) and `b`) group by `a`,`b` desc with rollup \
             having (`a` is null) order by `a`,2 desc limit 5",
        ),
        ("SELECT 1 LIMIT 0x02 OFFSET 3", "select 1 AS `1` limit 3,0x02"),
        (
            "SELECT SUM(a) OVER w AS s FROM t WINDOW v AS (ORDER BY a), w AS (v ROWS CURRENT ROW)",
            "select sum(`a`) over `w` AS `s` from `t` window `v` as (order by `a`),\
             `w` as (`v` rows between current row and current row)",
        ),
        ("SELECT 1 FROM t LOCK IN SHARE MODE", "select 1 AS `1` from `t` for share"),
        (
            "SELECT 1 FROM t, u FOR UPDATE OF t, u NOWAIT FOR SHARE SKIP LOCKED",
            "select 1 AS `1` from `t`,`u` for update of `t`,`u` nowait for share skip locked",
        ),
        ("SELECT 1 INTO @a, @b FROM t", "select 1 AS `1` from `t` into @`a`,@`b`"),
        // Tables.
        (
            "SELECT 1 FROM t PARTITION (p, q) x USE INDEX FOR JOIN (i, PRIMARY) IGNORE KEY (j) USE INDEX ()",
            "select 1 AS `1` from `t` partition (`p`,`q`) `x` use index (`i`,`PRIMARY`) ignore index (`j`) use index ()",
        ),
        (
            "SELECT 1 FROM t1 JOIN t2 ON t1.a = t2.a",
            "select 1 AS `1` from (`t1` join `t2` on((`t1`.`a` = `t2`.`a`)))",
        ),
        (
            "SELECT 1 FROM a CROSS JOIN b LEFT OUTER JOIN c USING (x, y), d",
            "select 1 AS `1` from ((`a` join `b`) left join `c` using (`x`,`y`)),`d`",
        ),
        (
            "SELECT 1 FROM a NATURAL RIGHT JOIN b STRAIGHT_JOIN c NATURAL JOIN d",
            "select 1 AS `1` from (((`a` natural right join `b`) straight_join `c`) natural join `d`)",
        ),
        (
            "SELECT 1 FROM a LEFT JOIN (b JOIN c) ON x",
            "select 1 AS `1` from (`a` left join (`b` join `c`) on(`x`))",
        ),
        (
            "SELECT 1 FROM a LEFT JOIN b LEFT JOIN c ON x ON y",
            "select 1 AS `1` from (`a` left join (`b` left join `c` on(`x`)) on(`y`))",
        ),
        (
            "SELECT 1 FROM a JOIN b JOIN c ON x ON y",
            "select 1 AS `1` from (`a` join (`b` join `c` on(`x`)) on(`y`))",
        ),
        (
            "SELECT 1 FROM (a, b) JOIN ((c)) ON x",
            "select 1 AS `1` from ((`a`,`b`) join `c` on(`x`))",
        ),
        (
            "SELECT 1 FROM {OJ a LEFT JOIN b ON x}",
            "select 1 AS `1` from (`a` left join `b` on(`x`))",
        ),
        (
            "SELECT 1 FROM (SELECT 2) d (x), LATERAL (SELECT d.x) AS e",
            "select 1 AS `1` from (select 2 AS `2`) `d` (`x`),lateral (select `d`.`x` AS `x`) `e`",
        ),
        (
            "SELECT 1 FROM JSON_TABLE(a, '$[*]' COLUMNS (i FOR ORDINALITY, \
             b VARCHAR(9) CHARSET utf8mb4 COLLATE utf8mb4_bin PATH '$.b' DEFAULT '\"x\"' ON EMPTY ERROR ON ERROR, \
             c DECIMAL(5, 2) UNSIGNED EXISTS PATH '$.c', NESTED '$.d' COLUMNS (e JSON PATH '$'))) t",
            "select 1 AS `1` from json_table(`a`, '$[*]' columns (`i` for ordinality, \
             `b` varchar(9) character set utf8mb4 collate utf8mb4_bin path '$.b' default '\"x\"' on empty \
             error on error, `c` decimal(5,2) unsigned exists path '$.c', \
             nested path '$.d' columns (`e` json path '$'))) `t`",
        ),
        (
            "SELECT 1 FROM ((SELECT 2 LIMIT 1) UNION SELECT 3) d JOIN t",
            "select 1 AS `1` from (((select 2 AS `2` limit 1) union select 3 AS `3`) `d` join `t`)",
        ),
        // WITH.
        (
            "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c), d AS (SELECT 2) SELECT * FROM c",
            "with recursive `c` (`n`) as (select 1 AS `1` union all select (`n` + 1) AS `n + 1` from `c`),\
             `d` as (select 2 AS `2`) select * from `c`",
        ),
        (
            "SELECT a IN (WITH c AS (SELECT 1) (SELECT 2 LIMIT 1) LIMIT 2) x",
            "select (`a` in (with `c` as (select 1 AS `1`) (select 2 AS `2` limit 1) limit 2)) AS `x`",
        ),
        (
            "(WITH c AS (SELECT 1) SELECT 2) UNION SELECT 3",
            "(with `c` as (select 1 AS `1`) select 2 AS `2`) union select 3 AS `3`",
        ),
        // Set operations.
        (
            "SELECT 1 UNION DISTINCT SELECT 2 EXCEPT ALL (SELECT 3) ORDER BY 1 LIMIT 4",
            "select 1 AS `1` union select 2 AS `2` except all select 3 AS `3` order by 1 limit 4",
        ),
        (
            "(SELECT 1 LIMIT 1) UNION (SELECT 2 ORDER BY 1) LIMIT 1",
            "(select 1 AS `1` limit 1) union (select 2 AS `2` order by 1) limit 1",
        ),
        (
            "SELECT 1 UNION SELECT 2 INTERSECT ALL SELECT 3",
            "select 1 AS `1` union select 2 AS `2` intersect all select 3 AS `3`",
        ),
        (
            "(SELECT 1 UNION SELECT 2) INTERSECT (SELECT 3 INTERSECT SELECT 4)",
            "(select 1 AS `1` union select 2 AS `2`) intersect (select 3 AS `3` intersect select 4 AS `4`)",
        ),
        (
            "SELECT 1 UNION (SELECT 2 UNION SELECT 3)",
            "select 1 AS `1` union (select 2 AS `2` union select 3 AS `3`)",
        ),
        ("(SELECT 1 LIMIT 5) LIMIT 2", "(select 1 AS `1` limit 5) limit 2"),
        (
            "SELECT ((SELECT 1 LIMIT 5) LIMIT 2) + ((SELECT 1 FOR UPDATE) UNION SELECT 2) x",
            "select (((select 1 AS `1` limit 5) limit 2) + ((select 1 AS `1` for update) union select 2 AS `2`)) AS `x`",
        ),
        (
            "SELECT a IN (SELECT 1 INTERSECT SELECT 2 UNION SELECT 3) x",
            "select (`a` in (select 1 AS `1` intersect select 2 AS `2` union select 3 AS `3`)) AS `x`",
        ),
        (
            "VALUES ROW(1, DEFAULT), ROW(2, 'x') ORDER BY 1",
            "values row(1,default),row(2,'x') order by 1",
        ),
        ("TABLE s.t ORDER BY a", "table `s`.`t` order by `a`"),
        (
            "SELECT a IN (TABLE t), a IN (VALUES ROW(1)), EXISTS (TABLE t)",
            "select (`a` in (table `t`)) AS `a IN (TABLE t)`,(`a` in (values row(1))) AS `a IN (VALUES ROW(1))`,\
             exists(table `t`) AS `EXISTS (TABLE t)`",
        ),
    ] {
        check_text(sql, SqlMode::NONE, expected);
    }
}

/// The text does not depend on the mode that the query was read in.
#[test]
fn print_in_default_mode() {
    for (mode, sql, expected) in [
        (SqlMode::ANSI_QUOTES, "SELECT \"a`\"", "select `a``` AS `a```"),
        (SqlMode::PIPES_AS_CONCAT, "SELECT a || b AS x", "select concat(`a`,`b`) AS `x`"),
        (SqlMode::HIGH_NOT_PRECEDENCE, "SELECT NOT a = b AS x", "select ((not(`a`)) = `b`) AS `x`"),
        (SqlMode::NO_BACKSLASH_ESCAPES, "SELECT 'a\\' AS x", "select 'a\\\\' AS `x`"),
        (SqlMode::IGNORE_SPACE, "SELECT COUNT (a) AS x", "select count(`a`) AS `x`"),
        (SqlMode::REAL_AS_FLOAT, "SELECT CAST(a AS REAL) AS x", "select cast(`a` as float) AS `x`"),
    ] {
        check_text(sql, mode, expected);
    }
}

/// A node without text makes a text that the parser refuses.
#[test]
fn print_refuses() {
    for sql in [
        "SELECT ?",
        "SELECT 1 LIMIT ?",
        "SELECT MATCH (a) AGAINST ('x')",
        "SELECT CAST(a AS POINT)",
        "SELECT GET_FORMAT(DATE, 'ISO') = 1",
        "SELECT 1 INTO OUTFILE 'x'",
    ] {
        let query = query_of(sql, SqlMode::NONE).unwrap_or_else(|| panic!("{sql}"));
        assert!(!round_trip(&query, sql), "{sql}");
    }
    let sql = b"SELECT DATE'\xff'";
    let Ok((Statement::Query(query), _)) = parse_one(sql, SqlMode::NONE) else { panic!() };
    assert!(!round_trip(&query, ""));
}

/// A string that is not UTF-8 is one of bytes, as the binder takes it.
#[test]
fn print_bytes() {
    let Ok((Statement::Query(query), _)) = parse_one(b"SELECT 'a\xff' AS x", SqlMode::NONE) else {
        panic!()
    };
    assert_eq!(printed(&query), "select _binary 0x61ff AS `x`");
}

/// Full names where the binder has some, found by the addresses of nodes.
#[test]
fn print_full_names() {
    struct First<'a>(&'a Query);
    impl<'a> First<'a> {
        fn select(&self) -> &'a Select {
            match &self.0.body {
                QueryBody::Select(select) => select,
                _ => panic!("no select"),
            }
        }
    }
    impl Names for First<'_> {
        fn column(&self, name: &ColumnName) -> Option<ColumnName> {
            let Some(Expr::Is { operand, .. }) = &self.select().filter else { panic!() };
            let Expr::Column(first) = &**operand else { panic!() };
            let full =
                ColumnName { schema: Some("s".into()), table: Some("u".into()), ..name.clone() };
            std::ptr::eq(first, name).then_some(full)
        }
        fn table(&self, name: &ObjectName) -> Option<ObjectName> {
            let TableFactor::Table { name: first, .. } = &self.select().from[0].first else {
                panic!()
            };
            let full = ObjectName { schema: Some("s".into()), ..name.clone() };
            std::ptr::eq(first, name).then_some(full)
        }
        fn wildcard(&self, item: &SelectItem) -> Option<Vec<(ColumnName, String)>> {
            let column = |column: &str| ColumnName {
                schema: None,
                table: Some("t".into()),
                column: column.into(),
                at: Place::default(),
            };
            let all = vec![(column("a"), "a".into()), (column("b"), "c".into())];
            std::ptr::eq(&self.select().items[0], item).then_some(all)
        }
    }
    let sql = "SELECT t.*, *, a FROM t, t AS u WHERE a IS NULL ORDER BY a";
    let query = query_of(sql, SqlMode::NONE).expect("a query");
    assert_eq!(
        print::query(&query, &First(&query)),
        "select `t`.`a` AS `a`,`t`.`b` AS `c`,*,`a` AS `a` from `s`.`t`,`t` `u` \
         where (`s`.`u`.`a` is null) order by `a`"
    );
}

// ---------------------------------------------------------------------------------------------------------------
// Many queries

/// Every query among the statements of the comparison with MySQL.
#[test]
fn print_statements_of_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/differential/statements");
    let mut query_count = 0;
    for entry in fs::read_dir(folder).expect("the folder").flatten() {
        if entry.path().extension().is_none_or(|end| end != "sql") {
            continue;
        }
        let text = fs::read_to_string(entry.path()).expect("a file of statements");
        for line in text.lines().filter(|line| !line.starts_with("--")) {
            let line = match line.starts_with("CREATE VIEW") {
                true => line.split_once(" AS ").map_or(line, |(_, query)| query),
                false => line,
            };
            let line = line.trim().trim_end_matches(';');
            if let Some(query) = query_of(line, SqlMode::NONE) {
                query_count += usize::from(round_trip(&query, line));
            }
        }
    }
    assert!(3500 < query_count, "only {query_count} queries");
}

/// Random queries of all kinds, damaged ones among them.
#[test]
fn print_random_queries() {
    let mut random = Random::new(1);
    let mut query_count = 0;
    for _ in 0..20 {
        let table = table(&mut random, 1);
        let mut statements = Statements::new(random.next_u64(), &table);
        for _ in 0..500 {
            let sql = statements.statement();
            if let Some(query) = query_of(&sql, SqlMode::NONE) {
                query_count += usize::from(round_trip(&query, &sql));
            }
        }
    }
    assert!(4000 < query_count, "only {query_count} queries");
}

/// Pieces of queries that `PIECES` has not.
#[rustfmt::skip]
const MORE_PIECES: &[&str] = &[
    "INTERVAL ", "DAY ", "- ", "! ", "ROW(", "(", ")", "x ", "TRUE ", "ANY(", "all ", "`ANY`(", "SELECT 1 ",
    "INTERSECT ", "LIMIT 1 ", "OVER ", "w ", "RANK() ", "COUNT(*) ", "MAX(", "f(", "s.f(", "COUNT ()", "SOUNDS LIKE ",
    "ESCAPE ", "CONVERT(", "BINARY ", "CHAR(", "INTERVAL(", "EXTRACT(", "LEADING ", "TABLE ", "0b1 ", ".5 ", "5.",
    "x'' ", "1 AND 2 ", "DIV ", "^ ", "EXISTS(", "FOR SHARE ", "@`b c` ", "@@session.", "'a\\0' ", "NATURAL ",
    "LATERAL ", "STRAIGHT_JOIN ", "RIGHT ", "WITH ROLLUP ", "HAVING ", "WINDOW w AS (", "ROWS ", "1 PRECEDING ",
    "UNBOUNDED ", "CURRENT ROW ", "DUAL ", "`` ", "DISTINCT ", "DEFAULT ", "GROUP_CONCAT(", "SEPARATOR ",
];

/// Random sequences of pieces, each of which the parser accepts behind those before it.
#[test]
fn print_grown_queries() {
    let mut random = Random::new(2);
    let mut query_count = 0;
    for _ in 0..40_000 {
        let mut sql = "SELECT ".to_string();
        for _ in 0..1 + random.below(14) {
            let pieces = if random.percent(30) { PIECES } else { MORE_PIECES };
            let longer = format!("{sql}{}", random.pick(pieces));
            match parse_one(longer.as_bytes(), SqlMode::NONE) {
                Ok((Statement::Query(query), consumed)) if consumed == longer.len() => {
                    query_count += usize::from(round_trip(&query, &longer));
                    sql = longer;
                }
                // The end of the text is the only error in it.
                Err(error) if error.near.is_empty() => sql = longer,
                _ => {}
            }
        }
    }
    assert!(20_000 < query_count, "only {query_count} queries");
}

/// Trees of every height print on the stack that statements run on, and those of some 150 levels
/// read back.
#[test]
fn print_high_trees() {
    let work = || {
        for (open, middle, close) in [
            ("", "a", " + 1"),
            ("", "a", " IS NULL"),
            ("1 + (", "a", ")"),
            ("f(", "a", ")"),
            ("-", "a", ""),
            ("NOT ", "a", ""),
            ("CASE WHEN ", "a", " THEN 1 END"),
            ("(SELECT ", "a", ")"),
            ("a IN (SELECT 1 FROM t WHERE ", "a", ")"),
        ] {
            let mut depth_read = 0;
            for depth in (10..640).step_by(10) {
                let sql = format!("SELECT {}{middle}{}", open.repeat(depth), close.repeat(depth));
                let Some(query) = query_of(&sql, SqlMode::NONE) else { break };
                let text = printed(&query);
                if parse_one(text.as_bytes(), SqlMode::NONE).is_ok() {
                    depth_read = depth;
                }
            }
            assert!(150 <= depth_read, "{open}{close}: {depth_read}");
        }
    };
    std::thread::Builder::new()
        .stack_size(limits::STACK_SIZE)
        .spawn(work)
        .expect("a thread")
        .join()
        .expect("no panic");
}
