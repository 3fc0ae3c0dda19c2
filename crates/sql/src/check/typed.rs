//! Statements that mean something: expressions of matching types over one table, for a comparison with another server.
//!
//! The forms are data: a place `{i}` takes an expression of integers, and so on. They leave out what MySQL and MariaDB are
//! known to do differently, so that a difference is worth a look:
//!
//! | left out | MySQL | MariaDB |
//! |---|---|---|
//! | the place of an empty text from some place on | found behind the last character, too | not found there |
//! | `REPLACE` by NULL | NULL | the text, if there is nothing to replace |
//! | `GREATEST` of texts as a number, or of a text and a number | compares texts | compares numbers |
//! | `CAST(1.5 AS CHAR) + 0`, `INET_NTOA(65536) + 0` | 1.5, 0.1 | 1, 0 |
//! | `QUOTE(NULL)` | a text | without a character set |
//! | a NULL that an argument of `MAKE_SET` becomes | left out | often the text before |
//! | `CAST('2001-02-03 23:59:59.5' AS TIME)` | 24:00:00 | 00:00:00 |
//! | a `TIMEDIFF` of fractions beyond the largest `TIME` | 838:59:59.000 | 838:59:59.999 |

use super::random::Random;
use super::tables::{Column, RandomTable};

/// The type that a place takes, and an expression has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Integer,
    Decimal,
    Double,
    Text,
    Date,
    DateTime,
    Time,
    Truth,
}

/// The class of a place's letter.
const PLACES: &[(&str, Class)] = &[
    ("i", Class::Integer),
    ("d", Class::Decimal),
    ("f", Class::Double),
    ("s", Class::Text),
    ("D", Class::Date),
    ("T", Class::DateTime),
    ("t", Class::Time),
    ("b", Class::Truth),
];

impl Class {
    fn literals(self) -> &'static [&'static str] {
        match self {
            Class::Integer => {
                &["0", "1", "2", "3", "5", "7", "10", "100", "-1", "-3", "255", "65536", "NULL"]
            }
            Class::Decimal => {
                &["0.5", "1.25", "-2.50", "3.000", "10.01", "99.99", "-0.001", "123.456"]
            }
            Class::Double => &["0.5e0", "1e1", "-2.5e0", "3e0", "1.25e2", "-1e-1"],
            Class::Text => &[
                "''", "'a'", "'B'", "'abc'", "'Hello'", "'x y'", "'12'", "'a,b,c'", "'été'", "NULL",
            ],
            Class::Date => {
                &["DATE'2001-02-03'", "DATE'2000-02-29'", "DATE'1999-12-31'", "DATE'2024-06-15'"]
            }
            Class::DateTime => &[
                "TIMESTAMP'2001-02-03 04:05:06'",
                "TIMESTAMP'2000-02-29 23:59:59'",
                "TIMESTAMP'1999-12-31 00:00:00'",
            ],
            Class::Time => {
                &["TIME'01:02:03'", "TIME'23:59:59'", "TIME'-12:30:00'", "TIME'100:00:01'"]
            }
            Class::Truth => &["TRUE", "FALSE", "1 = 1", "NULL IS NULL"],
        }
    }

    fn forms(self) -> &'static [&'static str] {
        match self {
            Class::Integer => INTEGERS,
            Class::Decimal => DECIMALS,
            Class::Double => DOUBLES,
            Class::Text => TEXTS,
            Class::Date => DATES,
            Class::DateTime => DATETIMES,
            Class::Time => TIMES,
            Class::Truth => TRUTHS,
        }
    }

    fn of_column(column: &Column) -> Option<Class> {
        let name = column.kind.sql_type;
        Some(match name.split([' ', '(']).next().unwrap_or(name) {
            "INT" | "TINYINT" => Class::Integer,
            "DECIMAL" => Class::Decimal,
            "DOUBLE" => Class::Double,
            "VARCHAR" | "CHAR" => Class::Text,
            "DATE" => Class::Date,
            "DATETIME" => Class::DateTime,
            "TIME" => Class::Time,
            _ => return None,
        })
    }
}

const INTEGERS: &[&str] = &[
    "{i} + {i}",
    "{i} - {i}",
    "{i} * {i}",
    "{i} DIV {i}",
    "{i} MOD {i}",
    "{i} % {i}",
    "-{i}",
    "ABS({i})",
    "SIGN({d})",
    "SIGN({i})",
    "LENGTH({s})",
    "CHAR_LENGTH({s})",
    "BIT_LENGTH({s})",
    "LOCATE({s}, {s})",
    "LOCATE('b', {s}, {n})",
    "LOCATE(CONCAT('A', {s}), {s}, {n})",
    "INSTR({s}, {s})",
    "FIELD({s}, {s}, {s})",
    "FIELD({i}, {i}, {i})",
    "ASCII({s})",
    "ORD({s})",
    "STRCMP({s}, {s})",
    "FIND_IN_SET({s}, {s})",
    "CRC32({s})",
    "BIT_COUNT({i})",
    "INTERVAL({i}, 1, 5, 10)",
    "YEAR({D})",
    "MONTH({D})",
    "DAYOFMONTH({T})",
    "DAYOFWEEK({D})",
    "DAYOFYEAR({D})",
    "WEEKDAY({D})",
    "QUARTER({D})",
    "WEEK({D}, {n})",
    "YEARWEEK({D})",
    "WEEKOFYEAR({D})",
    "HOUR({t})",
    "MINUTE({T})",
    "SECOND({t})",
    "MICROSECOND({T})",
    "DATEDIFF({D}, {T})",
    "TO_DAYS({D})",
    "TO_SECONDS({T})",
    "TIME_TO_SEC({t})",
    "TIMESTAMPDIFF({unit}, {T}, {D})",
    "EXTRACT({unit} FROM {T})",
    "PERIOD_DIFF(200101, 199912)",
    "FLOOR({d})",
    "CEIL({d})",
    "ROUND({d})",
    "CAST({d} AS SIGNED)",
    "CAST({i} AS SIGNED)",
    "CAST({s} AS SIGNED)",
    "IF({b}, {i}, {i})",
    "IFNULL({i}, {i})",
    "NULLIF({i}, {i})",
    "COALESCE({i}, {i}, {i})",
    "GREATEST({i}, {i})",
    "LEAST({i}, {i}, {i})",
    "CASE WHEN {b} THEN {i} ELSE {i} END",
    "CASE {i} WHEN {i} THEN {i} END",
    "CASE {s} WHEN {s} THEN {i} ELSE {i} END",
    "{b} + {i}",
    "ISNULL({s})",
    "CONV({n}, 10, 2) + 0",
    "{D} + 0",
    "INET_ATON('10.0.0.1') + {i}",
];
const DECIMALS: &[&str] = &[
    "{d} + {d}",
    "{d} - {i}",
    "{i} * {d}",
    "{i} / {i}",
    "{d} / {i}",
    "{d} / {d}",
    "({i} / {i}) * {i}",
    "{d} MOD {i}",
    "-{d}",
    "ABS({d})",
    "ROUND({d}, 1) + 0",
    "ROUND({d}, -1) + 0",
    "TRUNCATE({d}, 1)",
    "CAST({i} AS DECIMAL(10,2))",
    "CAST({d} AS DECIMAL(8,3))",
    "CAST({s} AS DECIMAL(6,2))",
    "IF({b}, {d}, {i})",
    "IFNULL({d}, {i})",
    "COALESCE({i}, {d})",
    "GREATEST({d}, {i})",
    "LEAST({d}, {d})",
    "CASE WHEN {b} THEN {d} ELSE {i} END",
    "NULLIF({d}, {d})",
];
const DOUBLES: &[&str] = &[
    "{f} + {i}",
    "{f} * {d}",
    "{f} - {f}",
    "{f} / {i}",
    "SQRT({i})",
    "POW({i}, 2)",
    "LN({i})",
    "LOG10({i})",
    "LOG2({i})",
    "DEGREES({f})",
    "RADIANS({i})",
    "SIN({f})",
    "COS({i})",
    "ATAN({f})",
    "ATAN2({f}, {i})",
    "ABS({f})",
    "-{f}",
    "ROUND({f}, 2) + 0e0",
    "IF({b}, {f}, {d})",
    "COALESCE({f}, {i})",
    "CONCAT({s}) + 0",
    "GREATEST({f}, {d})",
];
const TEXTS: &[&str] = &[
    "CONCAT({s}, {s})",
    "CONCAT({s}, {i})",
    "CONCAT({d}, {s})",
    "CONCAT({D})",
    "CONCAT({T}, {t})",
    "CONCAT_WS('-', {s}, {i}, {s})",
    "UPPER({s})",
    "LOWER({s})",
    "LEFT({s}, {n})",
    "RIGHT({s}, {n})",
    "SUBSTRING({s}, {n})",
    "SUBSTRING({s}, {n}, {n})",
    "SUBSTRING({s}, -2)",
    "SUBSTRING_INDEX({s}, ',', {n})",
    "SUBSTRING_INDEX({s}, ',', -1)",
    "REPLACE({s}, {s}, 'ab')",
    "REPLACE({s}, 'a', CONCAT_WS('', {s}))",
    "REPEAT({s}, {n})",
    "REVERSE({s})",
    "LPAD({s}, {n}, 'xy')",
    "RPAD({s}, {n}, '-')",
    "TRIM({s})",
    "LTRIM({s})",
    "RTRIM({s})",
    "TRIM(BOTH 'a' FROM {s})",
    "TRIM(LEADING 'a' FROM {s})",
    "HEX({s})",
    "HEX({i})",
    "QUOTE(CONCAT_WS('', {s}))",
    "ELT({n}, {s}, {s}, {s})",
    "SPACE({n})",
    "MAKE_SET({n}, CONCAT_WS('', {s}), NULL, CONCAT_WS('', {s}))",
    "INSERT({s}, {n}, 1, {s})",
    "FORMAT({d}, 2)",
    "FORMAT({i}, 0)",
    "CONV({i}, 10, 16)",
    "BIN({i})",
    "OCT({i})",
    "MD5({s})",
    "SHA1({s})",
    "TO_BASE64({s})",
    "SOUNDEX({s})",
    "DATE_FORMAT({D}, '%Y-%m-%d')",
    "DATE_FORMAT({T}, '%W %M %e %y %H:%i:%s %p %j %a %b')",
    "TIME_FORMAT({t}, '%H:%i:%s')",
    "DAYNAME({D})",
    "MONTHNAME({D})",
    "CAST({i} AS CHAR)",
    "CONCAT(CAST({d} AS CHAR))",
    "CAST({T} AS CHAR)",
    "CAST({D} AS CHAR(7))",
    "IF({b}, {s}, {s})",
    "IF({b}, {i}, {s})",
    "IFNULL({s}, {s})",
    "COALESCE({s}, {i})",
    "NULLIF({s}, {s})",
    "CASE WHEN {b} THEN {s} ELSE {s} END",
    "CONCAT(CASE WHEN {b} THEN {D} ELSE {s} END)",
    "CONCAT(GREATEST(CONCAT({s}), CONCAT({s})))",
    "CONCAT(LEAST(CONCAT({s}), CONCAT({s})))",
    "CONCAT(INET_NTOA({i}))",
    "EXPORT_SET({n}, 'Y', 'N', ',', 4)",
    "CAST({s} AS CHAR(2))",
];
const DATES: &[&str] = &[
    "DATE({T})",
    "LAST_DAY({D})",
    "MAKEDATE(2001, {n})",
    "{D} + INTERVAL {i} DAY",
    "{D} - INTERVAL {n} MONTH",
    "DATE_ADD({D}, INTERVAL {n} YEAR)",
    "DATE_SUB({D}, INTERVAL {n} WEEK)",
    "ADDDATE({D}, {n})",
    "FROM_DAYS(730000 + {n})",
    "CAST({T} AS DATE)",
    "IF({b}, {D}, {D})",
    "COALESCE({D}, {D})",
    "GREATEST({D}, {D})",
    "LEAST({D}, {D})",
    "STR_TO_DATE('2001,3,4', '%Y,%c,%e')",
    "NULLIF({D}, {D})",
];
const DATETIMES: &[&str] = &[
    "{T} + INTERVAL {i} HOUR",
    "{T} - INTERVAL {n} SECOND",
    "{D} + INTERVAL {n} MINUTE",
    "DATE_ADD({T}, INTERVAL '1:30' MINUTE_SECOND)",
    "DATE_ADD({T}, INTERVAL '2 3' DAY_HOUR)",
    "TIMESTAMPADD({unit}, {n}, {T})",
    "TIMESTAMP({D})",
    "TIMESTAMP({D}, {t})",
    "CAST({D} AS DATETIME)",
    "IF({b}, {T}, {T})",
    "COALESCE({T}, {D})",
    "GREATEST({T}, {T})",
    "ADDTIME({T}, {t})",
    "SUBTIME({T}, {t})",
    "STR_TO_DATE('2001-03-04 05:06:07', '%Y-%m-%d %H:%i:%s')",
    "CASE WHEN {b} THEN {T} ELSE {D} END",
];
const TIMES: &[&str] = &[
    "TIME({T})",
    "SEC_TO_TIME({n})",
    "MAKETIME({n}, 5, {n})",
    "ADDTIME({t}, {t})",
    "SUBTIME({t}, {t})",
    "TIMEDIFF({t}, {t})",
    "TIMEDIFF(CAST({T} AS DATETIME), CAST({T} AS DATETIME))",
    "CAST(CAST({T} AS DATETIME) AS TIME)",
    "IF({b}, {t}, {t})",
    "COALESCE({t}, {t})",
];
const TRUTHS: &[&str] = &[
    "{i} = {i}",
    "{i} < {d}",
    "{d} >= {d}",
    "{f} > {i}",
    "{s} = {s}",
    "{s} <> {s}",
    "{s} < {s}",
    "{s} <=> {s}",
    "{i} <=> {i}",
    "{D} < {D}",
    "{D} = {T}",
    "{T} >= {D}",
    "{t} < {t}",
    "{i} BETWEEN {i} AND {i}",
    "{s} BETWEEN {s} AND {s}",
    "{D} NOT BETWEEN {D} AND {D}",
    "{i} IN ({i}, {i}, {i})",
    "{s} NOT IN ({s}, {s})",
    "{s} LIKE 'a%'",
    "{s} LIKE '%b_'",
    "{s} NOT LIKE {s}",
    "{i} IS NULL",
    "{s} IS NOT NULL",
    "NOT {b}",
    "{b} AND {b}",
    "{b} OR {b}",
    "{b} XOR {b}",
    "{b} IS TRUE",
    "{b} IS NOT FALSE",
    "{b} IS UNKNOWN",
    "({i}, {s}) = ({i}, {s})",
    "({i}, {i}) IN (({i}, {i}), ({i}, {i}))",
    "{s} REGEXP '^[a-c]'",
    "{s} = {i}",
    "{i} = {s}",
    "{D} = '2001-02-03'",
    "{T} > '2000-01-01 12:00:00'",
    "{d} IN ({i}, {d})",
    "ISNULL({i})",
    "{i} & {n}",
    "{n} | {n} = {n}",
    "{n} ^ {n} > 2",
    "{n} << 2 = {n}",
];

const UNITS: &[&str] = &["SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"];

const AGGREGATES: &[&str] = &[
    "COUNT(*)",
    "COUNT({s})",
    "COUNT(DISTINCT {i})",
    "COUNT(DISTINCT {s}, {i})",
    "SUM({i})",
    "SUM({d})",
    "AVG({i})",
    "AVG({d})",
    "MIN({i})",
    "MAX({d})",
    "MIN(HEX({s}))",
    "MAX(HEX({s}))",
    "MIN({D})",
    "MAX({T})",
    "BIT_AND({n})",
    "BIT_OR({n})",
    "BIT_XOR({n})",
    "SUM(DISTINCT {i})",
    "GROUP_CONCAT({i} ORDER BY id)",
    "GROUP_CONCAT(DISTINCT {i} ORDER BY 1 DESC SEPARATOR '+')",
    "STD({i}) + 0e0",
    "VARIANCE({d}) + 0e0",
];

/// A generator of statements about a table `t` of this shape. Every SELECT has one order of its rows.
pub struct TypedStatements<'a> {
    random: Random,
    columns: Vec<(&'a str, Class)>,
}

impl<'a> TypedStatements<'a> {
    pub fn new(seed: u64, table: &'a RandomTable) -> TypedStatements<'a> {
        let class_of = |column: &'a Column| Some((column.name, Class::of_column(column)?));
        let columns = table.columns.iter().filter_map(class_of).chain([("id", Class::Integer)]);
        TypedStatements { random: Random::new(seed), columns: columns.collect() }
    }

    pub fn statement(&mut self) -> String {
        match self.random.below(20) {
            0..=6 => {
                let (first, second) = (self.any(3), self.any(2));
                format!("SELECT {first}, {second} FROM t ORDER BY id LIMIT 3")
            }
            7..=11 => {
                let (value, filter) = (self.any(2), self.expr(Class::Truth, 2));
                format!("SELECT id, {value} FROM t WHERE {filter} ORDER BY id")
            }
            12 => {
                let (value, filter) = (self.any(2), self.expr(Class::Truth, 2));
                format!("SELECT DISTINCT {value} AS x FROM t WHERE {filter} ORDER BY x LIMIT 40")
            }
            13 | 14 => {
                let (form, second) = (*self.random.pick(AGGREGATES), *self.random.pick(AGGREGATES));
                let (first, second) = (self.filled(form, 1), self.filled(second, 1));
                let filter = self.expr(Class::Truth, 1);
                format!("SELECT {first}, {second} FROM t WHERE {filter}")
            }
            15 | 16 => {
                let form = *self.random.pick(AGGREGATES);
                let (key, value) = (self.expr(Class::Integer, 1), self.filled(form, 1));
                format!("SELECT {key} AS k, {value} AS v FROM t GROUP BY k ORDER BY k")
            }
            17 | 18 => {
                let (column, class) = *self.random.pick(&self.columns);
                let (value, filter) = (self.expr(class, 2), self.expr(Class::Truth, 2));
                let column = if column == "id" { "mark" } else { column };
                format!("UPDATE t SET {column} = {value} WHERE {filter}")
            }
            _ => format!("DELETE FROM t WHERE id > 15 AND ({})", self.expr(Class::Truth, 2)),
        }
    }

    fn any(&mut self, depth: usize) -> String {
        let (_, class) = *self.random.pick(PLACES);
        self.expr(class, depth)
    }

    fn expr(&mut self, class: Class, depth: usize) -> String {
        if depth == 0 || self.random.percent(20) {
            let own: Vec<&str> =
                self.columns.iter().filter(|c| c.1 == class).map(|c| c.0).collect();
            if !own.is_empty() && self.random.percent(50) {
                return (*self.random.pick(&own)).to_string();
            }
            return (*self.random.pick(class.literals())).to_string();
        }
        let form = *self.random.pick(class.forms());
        format!("({})", self.filled(form, depth - 1))
    }

    /// The form with its places filled.
    fn filled(&mut self, form: &str, depth: usize) -> String {
        let mut out = String::new();
        let mut rest = form;
        while let Some(start) = rest.find('{') {
            let end = start + rest[start..].find('}').expect("a form closes its places");
            out.push_str(&rest[..start]);
            let place = &rest[start + 1..end];
            let class = PLACES.iter().find(|(letter, _)| *letter == place).map(|(_, class)| *class);
            out.push_str(&match class {
                Some(class) => self.expr(class, depth),
                None if place == "unit" => (*self.random.pick(UNITS)).to_string(),
                None => self.random.below(6).to_string(),
            });
            rest = &rest[end + 1..];
        }
        out.push_str(rest);
        out
    }
}
