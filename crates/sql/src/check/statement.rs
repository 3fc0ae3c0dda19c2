//! Random statements: every function, operator, cast and form of literal, extreme values, nested; SELECT with GROUP BY
//! and ORDER BY, joins, queries inside of others, changes of rows, and texts that are no statements.
//!
//! The statements are meant to be hostile, not sensible: most that name functions are an error or NULL. What they must
//! not do is end their session with a fault of the server.

use types::expr::Function;

use super::predicate::predicate;
use super::random::Random;
use super::tables::{KINDS, RandomTable};

/// Literals at the ends of what types hold, and forms that parsers get wrong.
const LITERALS: &[&str] = &[
    "NULL",
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "10",
    "100",
    "255",
    "256",
    "-128",
    "127",
    "65535",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999999999999999999999999999999999999",
    "-0",
    "0.0",
    "0.1",
    "-0.5",
    "1.5",
    "2.500",
    "1e0",
    "1e308",
    "-1e308",
    "1e-308",
    "1e309",
    "0.000000000000000000000000000001",
    "123456789.987654321",
    "79228162514264337593543950335.5",
    "29991331235959",
    "20010203",
    "20010203040506",
    "101",
    "691231235959",
    "8385959",
    "-8385959",
    "8390000",
    "0x",
    "0x00",
    "0x41",
    "0xffffffffffffffff",
    "x'4a'",
    "b'101'",
    "''",
    "' '",
    "'a'",
    "'A'",
    "'abc'",
    "'é'",
    "'日本'",
    "'😀'",
    "'%'",
    "'_'",
    "'\\\\'",
    "'a\\0b'",
    "'1'",
    "'-1.5e3'",
    "'1x'",
    "'0x10'",
    "'99999999999999999999'",
    "'1e400'",
    "'NULL'",
    "'true'",
    "'1,2,3'",
    "'127.0.0.1'",
    "'::1'",
    "'6ccd780c-baba-1026-9564-5b8c656024db'",
    "'[a-c]+'",
    "'('",
    "'(a|b)*c'",
    "'2001-02-03'",
    "'2001-02-29'",
    "'0000-00-00'",
    "'2001-00-10'",
    "'9999-12-31'",
    "'9999-12-31 23:59:59.999999'",
    "'1000-01-01'",
    "'01-02-03'",
    "'2001-02-03 04:05:06.789'",
    "'04:05:06'",
    "'-838:59:59'",
    "'838:59:59.999999'",
    "'839:00:00'",
    "'10 11:12:13'",
    "'%Y-%m-%d %H:%i:%s.%f'",
    "'%j %U %u %V %v %X %x %W %a %b %M %D %e'",
    "'+05:30'",
    "'-14:00'",
    "'UTC'",
    "'Europe/Berlin'",
    "DATE'2001-02-03'",
    "DATE'0000-00-00'",
    "DATE'9999-12-31'",
    "TIME'12:34:56.789'",
    "TIME'-838:59:59'",
    "TIME'838:59:59'",
    "TIMESTAMP'2001-02-03 04:05:06'",
    "TIMESTAMP'9999-12-31 23:59:59.999999'",
    "TIMESTAMP'0000-00-00 00:00:00'",
    "TIMESTAMP'1970-01-01 00:00:00'",
    "TRUE",
    "FALSE",
    "NOW()",
    "NOW(6)",
    "CURDATE()",
    "CURTIME(3)",
    "UTC_TIMESTAMP()",
    "_utf8mb4'a'",
    "_binary'\\xff'",
    "_latin1 X'E980'",
    "_latin1'é'",
    "_ascii'a'",
    "_ascii'é'",
    "_utf8mb3'é'",
    "_utf8mb4 X'FF'",
    "N'a'",
    "@a",
    "@b",
    "@@sql_mode",
    "@@version",
    "USER()",
    "DATABASE()",
    "UUID()",
    "RAND(1)",
    "CONNECTION_ID()",
    "ROW_COUNT()",
    "FOUND_ROWS()",
    "LAST_INSERT_ID()",
    "PI()",
    "1 + 1",
    "'a' 'b'",
];

const UNITS: &[&str] = &[
    "MICROSECOND",
    "SECOND",
    "MINUTE",
    "HOUR",
    "DAY",
    "WEEK",
    "MONTH",
    "QUARTER",
    "YEAR",
    "SECOND_MICROSECOND",
    "MINUTE_MICROSECOND",
    "MINUTE_SECOND",
    "HOUR_MICROSECOND",
    "HOUR_SECOND",
    "HOUR_MINUTE",
    "DAY_MICROSECOND",
    "DAY_SECOND",
    "DAY_MINUTE",
    "DAY_HOUR",
    "YEAR_MONTH",
];

const CASTS: &[&str] = &[
    "SIGNED",
    "UNSIGNED",
    "CHAR",
    "CHAR(0)",
    "CHAR(3)",
    "CHAR(5) CHARACTER SET utf8mb4",
    "CHAR(3) CHARACTER SET latin1",
    "CHAR CHARACTER SET ascii",
    "CHAR BINARY CHARACTER SET utf8mb3",
    "BINARY",
    "BINARY(4)",
    "DECIMAL",
    "DECIMAL(65,30)",
    "DECIMAL(65)",
    "DECIMAL(5,2)",
    "DECIMAL(1,1)",
    "DATE",
    "DATETIME",
    "DATETIME(6)",
    "TIME",
    "TIME(3)",
    "DOUBLE",
    "FLOAT",
    "REAL",
    "YEAR",
    "NCHAR(2)",
    "JSON",
];

const COLLATIONS: &[&str] = &[
    "utf8mb4_bin",
    "utf8mb4_general_ci",
    "utf8mb4_0900_ai_ci",
    "utf8mb4_0900_as_ci",
    "utf8mb4_unicode_ci",
    "utf8mb3_general_ci",
    "latin1_swedish_ci",
    "latin1_german2_ci",
    "ascii_bin",
    "binary",
];

const BINARY: &[&str] = &[
    "+",
    "-",
    "*",
    "/",
    "DIV",
    "MOD",
    "%",
    "&",
    "|",
    "^",
    "<<",
    ">>",
    "=",
    "<=>",
    "<>",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "AND",
    "OR",
    "XOR",
    "&&",
    "||",
    "LIKE",
    "NOT LIKE",
    "REGEXP",
    "RLIKE",
    "NOT REGEXP",
    "SOUNDS LIKE",
];

const AGGREGATES: &[&str] = &[
    "COUNT(*)",
    "COUNT({})",
    "COUNT(DISTINCT {})",
    "COUNT(DISTINCT {}, {})",
    "SUM({})",
    "SUM(DISTINCT {})",
    "AVG({})",
    "AVG(DISTINCT {})",
    "MIN({})",
    "MAX({})",
    "BIT_AND({})",
    "BIT_OR({})",
    "BIT_XOR({})",
    "STD({})",
    "STDDEV_SAMP({})",
    "VAR_POP({})",
    "VARIANCE({})",
    "VAR_SAMP({})",
    "GROUP_CONCAT({})",
    "GROUP_CONCAT(DISTINCT {} ORDER BY {} DESC SEPARATOR 'x')",
    "GROUP_CONCAT({}, {} ORDER BY 1)",
    "ANY_VALUE({})",
];

/// Forms with syntax of their own, and functions that the session computes.
const FORMS: &[&str] = &[
    "EXTRACT({unit} FROM {})",
    "TIMESTAMPDIFF({unit}, {}, {})",
    "TIMESTAMPADD({unit}, {}, {})",
    "DATE_ADD({}, INTERVAL {} {unit})",
    "DATE_SUB({}, INTERVAL {} {unit})",
    "{} + INTERVAL {} {unit}",
    "{} - INTERVAL {} {unit}",
    "INTERVAL {} {unit} + {}",
    "TRIM({})",
    "TRIM(BOTH {} FROM {})",
    "TRIM(LEADING {} FROM {})",
    "TRIM(TRAILING {} FROM {})",
    "SUBSTRING({} FROM {} FOR {})",
    "POSITION({} IN {})",
    "CAST({} AS {cast})",
    "CONVERT({}, {cast})",
    "CONVERT({} USING utf8mb4)",
    "CONVERT({} USING binary)",
    "CONVERT({} USING latin1)",
    "CONVERT({} USING ascii)",
    "CONVERT({} USING utf8mb3)",
    "BINARY {}",
    "{} COLLATE {collation}",
    "CASE WHEN {} THEN {} ELSE {} END",
    "CASE {} WHEN {} THEN {} WHEN {} THEN {} END",
    "CASE WHEN {} THEN {} END",
    "{} BETWEEN {} AND {}",
    "{} NOT BETWEEN {} AND {}",
    "{} IN ({}, {}, {})",
    "{} NOT IN ({}, NULL)",
    "({}, {}) = ({}, {})",
    "({}, {}) IN (({}, {}), ({}, {}))",
    "({}, {}) < ({}, {})",
    "{} IS NULL",
    "{} IS NOT TRUE",
    "{} IS UNKNOWN",
    "{} LIKE {} ESCAPE {}",
    "NOT {}",
    "!{}",
    "-{}",
    "+{}",
    "~{}",
    "(SELECT {})",
    "EXISTS (SELECT {})",
    "{} IN (SELECT {})",
    "WEEK({}, {})",
    "GET_FORMAT(DATETIME, 'ISO')",
    "CHAR({}, {} USING utf8mb4)",
    "WEIGHT_STRING({})",
    "CHARSET({})",
    "COLLATION({})",
    "COERCIBILITY({})",
    "@a := {}",
    "LAST_INSERT_ID({})",
    "RAND({})",
    "SLEEP(0)",
    "DEFAULT({column})",
    "VALUES({column})",
    "NOW({})",
    "UNIX_TIMESTAMP({})",
    "ADDDATE({}, {})",
    "SUBDATE({}, {})",
    "ISNULL({})",
    "IF({}, {}, {})",
    "INTERVAL({}, {}, {})",
    "ROW({}, {})",
    "FORMAT({}, {}, 'de_DE')",
    "FORMAT_BYTES({})",
    "UUID_SHORT()",
    "BENCHMARK(1, {})",
    "CONVERT_TZ({}, {}, {})",
];

const MODES: &[&str] = &[
    "DEFAULT",
    "''",
    "'STRICT_TRANS_TABLES'",
    "'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE'",
    "'ONLY_FULL_GROUP_BY'",
    "'TRADITIONAL'",
    "'ANSI'",
    "'PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES'",
    "'ALLOW_INVALID_DATES'",
    "'NO_UNSIGNED_SUBTRACTION'",
    "'PAD_CHAR_TO_FULL_LENGTH'",
    "'TIME_TRUNCATE_FRACTIONAL'",
    "'HIGH_NOT_PRECEDENCE'",
    "'NO_AUTO_VALUE_ON_ZERO'",
];

/// A generator of statements about a table `t` of this shape.
pub struct Statements<'a> {
    pub random: Random,
    table: &'a RandomTable,
    functions: Vec<(&'static str, usize, usize)>,
    /// What columns are qualified by, inside of a statement about several relations.
    aliases: Vec<&'static str>,
}

impl<'a> Statements<'a> {
    pub fn new(seed: u64, table: &'a RandomTable) -> Statements<'a> {
        // RANDOM results and pauses are of no use here.
        let functions = Function::all()
            .map(|function| {
                let (least, most) = function.arity();
                (function.name(), least, most)
            })
            .filter(|(name, ..)| name.starts_with(char::is_uppercase) && *name != "SKARV_PANIC")
            .collect();
        Statements { random: Random::new(seed), table, functions, aliases: Vec::new() }
    }

    /// The next statement. Those that change rows belong into a transaction that is rolled back.
    pub fn statement(&mut self) -> String {
        match self.random.below(100) {
            0..=19 => self.nested(),
            20..=39 => {
                let depth = 1 + self.random.below(4);
                format!("SELECT {}", self.expr(depth))
            }
            40..=59 => self.select(),
            60..=66 => self.grouped(),
            67..=73 => self.insert(),
            74..=80 => self.update(),
            81..=85 => {
                let filter = self.filter();
                format!("DELETE FROM t WHERE {filter}{}", self.tail())
            }
            86 => format!("SET @a = {}, @b = {}", self.expr(2), self.expr(2)),
            87 => format!("SET sql_mode = {}", self.random.pick(MODES)),
            88 => format!("DO {}, {}", self.expr(3), self.expr(2)),
            _ => self.damaged(),
        }
    }

    /// An expression nested at most `depth` deep.
    pub fn expr(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.percent(15) {
            return self.leaf();
        }
        let depth = depth - 1;
        match self.random.below(10) {
            0..=4 => {
                let (name, least, most) = *self.random.pick(&self.functions);
                let most = most.min(least + 3);
                // Now and then an argument too few or too many.
                let count = match self.random.below(50) {
                    0 => most + 1,
                    1 => least.saturating_sub(1),
                    _ => least + self.random.below(most - least + 1),
                };
                let arguments: Vec<String> = (0..count).map(|_| self.expr(depth)).collect();
                format!("{name}({})", arguments.join(", "))
            }
            5 | 6 => {
                let op = *self.random.pick(BINARY);
                format!("({} {op} {})", self.expr(depth), self.expr(depth))
            }
            _ => {
                let form = *self.random.pick(FORMS);
                format!("({})", self.filled(form, depth))
            }
        }
    }

    /// The form with its places filled.
    fn filled(&mut self, form: &str, depth: usize) -> String {
        let mut out = String::new();
        let mut rest = form;
        while let Some(start) = rest.find('{') {
            let end = start + rest[start..].find('}').expect("a form closes its places");
            out.push_str(&rest[..start]);
            let place = &rest[start + 1..end];
            out.push_str(&match place {
                "unit" => (*self.random.pick(UNITS)).to_string(),
                "cast" => (*self.random.pick(CASTS)).to_string(),
                "collation" => (*self.random.pick(COLLATIONS)).to_string(),
                "column" => self.column(),
                _ => self.expr(depth),
            });
            rest = &rest[end + 1..];
        }
        out.push_str(rest);
        out
    }

    fn leaf(&mut self) -> String {
        match self.random.below(8) {
            0 | 1 => self.column(),
            2 => {
                let kind = self.random.pick(KINDS);
                (*self.random.pick(kind.literals)).to_string()
            }
            _ => (*self.random.pick(LITERALS)).to_string(),
        }
    }

    fn column(&mut self) -> String {
        let column = self.random.pick(&self.table.columns).name;
        match self.aliases.is_empty() {
            true => column.to_string(),
            false => format!("{}.{column}", self.random.pick(&self.aliases)),
        }
    }

    /// A statement about several relations: joins, queries inside of others, queries that are combined.
    fn nested(&mut self) -> String {
        self.aliases = vec!["p", "q"];
        let statement = match self.random.below(14) {
            12 => self.view_definition(),
            13 => self.through_view(),
            0..=3 => {
                let (query, tail) = (self.joined(2), self.tail());
                format!("{query}{tail}")
            }
            4 | 5 => {
                let operator = *self.random.pick(&[
                    "UNION",
                    "UNION ALL",
                    "INTERSECT",
                    "EXCEPT",
                    "INTERSECT ALL",
                    "EXCEPT ALL",
                ]);
                let (first, second) = (self.joined(1), self.joined(1));
                let order = *self.random.pick(&["", " ORDER BY 1", " ORDER BY x DESC LIMIT 3"]);
                format!("({first}) {operator} ({second}){order}")
            }
            6 => {
                let inner = self.joined(1);
                let filter = self.expr(1);
                format!(
                    "WITH c (u, v) AS ({inner}) SELECT c.u, d.v AS x FROM c JOIN c AS d ON c.u <=> d.u \
                     JOIN t AS p JOIN t AS q ON p.id = q.id WHERE {filter}{}",
                    self.tail()
                )
            }
            7 => {
                let step = self.expr(1);
                self.aliases.clear();
                let all = *self.random.pick(&["", " ALL"]);
                format!(
                    "WITH RECURSIVE r (n, m) AS (SELECT 1, {} UNION{all} SELECT n + 1, {step} FROM r JOIN t AS p \
                     JOIN t AS q ON p.id = n AND q.id = n WHERE n < 5) SELECT n, m AS x FROM r",
                    self.expr(1)
                )
            }
            8 => {
                let form = *self.random.pick(AGGREGATES);
                let (key, aggregate) = (self.expr(1), self.filled(form, 1));
                let from = self.relations();
                let having =
                    *self.random.pick(&["", " HAVING x IS NOT NULL", " HAVING COUNT(*) > 1"]);
                format!("SELECT {key}, {aggregate} AS x FROM {from} GROUP BY {key}{having}")
            }
            9 => {
                let (from, value, filter) = (self.relations(), self.expr(2), self.expr(2));
                let column = self.column();
                format!("UPDATE {from} SET {column} = {value} WHERE {filter}")
            }
            10 => {
                let (from, filter) = (self.relations(), self.expr(2));
                format!("DELETE p FROM {from} WHERE {filter}")
            }
            _ => {
                let (value, inner) = (self.expr(1), self.joined(1));
                let column = self.random.pick(&self.table.columns).name;
                format!(
                    "INSERT INTO t (id, {column}) {inner} ON DUPLICATE KEY UPDATE {column} = {value}"
                )
            }
        };
        self.aliases.clear();
        statement
    }

    /// A view of joins, or of the table, which can be changed.
    fn view_definition(&mut self) -> String {
        if self.random.percent(40) {
            return format!("CREATE OR REPLACE VIEW v AS {}", self.joined(2));
        }
        self.aliases.clear();
        let algorithm =
            *self.random.pick(&["", "", "ALGORITHM = MERGE ", "ALGORITHM = TEMPTABLE "]);
        let (column, computed) = (self.random.pick(&self.table.columns).name, self.expr(2));
        let value = match self.random.percent(70) {
            true => self.random.pick(&self.table.columns).name.to_string(),
            false => computed,
        };
        let from = *self.random.pick(&["t", "t", "t", "w", "v"]);
        let check = *self.random.pick(&["", "", " WITH CHECK OPTION", " WITH LOCAL CHECK OPTION"]);
        let filter = self.filter();
        format!(
            "CREATE OR REPLACE {algorithm}VIEW w (id, {column}, x) AS SELECT id, {column}, {value} FROM {from} \
             WHERE {filter}{check}"
        )
    }

    fn through_view(&mut self) -> String {
        self.aliases.clear();
        let (value, column) = (self.expr(2), self.random.pick(&self.table.columns).name);
        match self.random.below(8) {
            0 => format!("SELECT w.x, {value} FROM w, t WHERE w.id = t.id"),
            1 => format!("SELECT COUNT(*), MAX(x) FROM w WHERE id < 20 AND x <=> {value}"),
            2 => format!("SELECT t.id, w.x FROM t LEFT JOIN w ON w.id = t.id WHERE {value}"),
            3 => "SELECT * FROM v LEFT JOIN w ON w.x = v.x".into(),
            4 => format!("INSERT INTO w (id, x) VALUES ({}, {value})", self.random.below(60)),
            5 => format!("UPDATE w SET x = {value} WHERE id < 30"),
            6 => format!("DELETE FROM w WHERE {column} <=> {value}"),
            _ => "SELECT view_definition, is_updatable FROM information_schema.views".into(),
        }
    }

    /// Relations with the aliases p and q.
    fn relations(&mut self) -> String {
        let condition = self.expr(2);
        let column = self.random.pick(&self.table.columns).name;
        match self.random.below(12) {
            0 => format!("t AS p JOIN t AS q ON p.{column} = q.{column}"),
            1 => format!("t AS p LEFT JOIN t AS q ON p.{column} = q.{column} AND {condition}"),
            2 => format!("t AS p RIGHT JOIN t AS q ON {condition}"),
            3 => format!("t AS p JOIN t AS q USING (id, {column})"),
            4 => "t AS p NATURAL LEFT JOIN t AS q".into(),
            5 => format!("t AS p STRAIGHT_JOIN t AS q ON p.id = q.{column}"),
            6 => format!("t AS p JOIN (SELECT * FROM t WHERE id < 20) AS q ON {condition}"),
            7 => format!(
                "t AS p, LATERAL (SELECT * FROM t AS i WHERE i.id = p.id OR i.{column} < p.{column}) AS q"
            ),
            8 => format!("(t AS p LEFT JOIN (t AS q JOIN t AS s ON q.id = s.id) ON {condition})"),
            9 => format!("t AS p JOIN t AS q JOIN t AS s ON q.id = s.{column} ON p.id = q.id"),
            10 => "t AS p CROSS JOIN t AS q".into(),
            _ => "t AS p JOIN t AS q ON p.id = q.id".into(),
        }
    }

    /// SELECT of two columns, the second called x.
    fn joined(&mut self, depth: usize) -> String {
        let first = match self.random.percent(40) {
            true => self.subquery(depth),
            false => self.expr(depth),
        };
        let second = self.expr(depth);
        let filter = match self.random.percent(50) {
            true => self.subquery(depth),
            false => self.expr(depth),
        };
        let distinct = *self.random.pick(&["", "", "DISTINCT "]);
        let from = self.relations();
        let limit = *self.random.pick(&["", "", " LIMIT 5"]);
        format!("SELECT {distinct}{first}, {second} AS x FROM {from} WHERE {filter}{limit}")
    }

    /// An operand that is a query, or is compared with one.
    fn subquery(&mut self, depth: usize) -> String {
        let (value, inside) = (self.expr(depth), self.expr(depth));
        let column = self.random.pick(&self.table.columns).name;
        let from = format!("t AS i WHERE i.{column} = {inside}");
        match self.random.below(8) {
            0 => format!("(SELECT MAX(i.{column}) FROM {from})"),
            1 => format!("(SELECT i.{column} FROM {from} ORDER BY i.id LIMIT 1)"),
            2 => format!("EXISTS (SELECT 1 FROM {from})"),
            3 => format!("({value} IN (SELECT i.{column} FROM {from}))"),
            4 => format!("({value} NOT IN (SELECT {column} FROM t))"),
            5 => format!("({value} >= ALL (SELECT i.{column} FROM {from}))"),
            6 => format!("({value} < ANY (SELECT {column} FROM t WHERE id < 5))"),
            _ => format!("((p.id, {value}) IN (SELECT id, {column} FROM t))"),
        }
    }

    fn filter(&mut self) -> String {
        if self.random.percent(50) {
            let depth = 1 + self.random.below(2);
            return predicate(&mut self.random, self.table, depth);
        }
        let depth = 1 + self.random.below(3);
        self.expr(depth)
    }

    fn order(&mut self) -> String {
        if self.random.percent(50) {
            return String::new();
        }
        let desc = *self.random.pick(&["", " DESC"]);
        format!(" ORDER BY {}{desc}, {}", self.expr(2), self.random.pick(&["id", "1", "a"]))
    }

    fn tail(&mut self) -> String {
        let order = self.order();
        let limit = *self.random.pick(&["", " LIMIT 3", " LIMIT 0", " LIMIT 1"]);
        format!("{order}{limit}")
    }

    fn select(&mut self) -> String {
        let distinct = *self.random.pick(&["", "", "DISTINCT "]);
        let (first, second) = (self.expr(2), self.expr(2));
        let filter = self.filter();
        let tail = self.tail();
        let lock = *self.random.pick(&["", "", "", " FOR UPDATE", " FOR SHARE SKIP LOCKED"]);
        format!("SELECT {distinct}{first}, {second} AS x FROM t WHERE {filter}{tail}{lock}")
    }

    fn grouped(&mut self) -> String {
        let form = *self.random.pick(AGGREGATES);
        let (first, form_second) = (self.filled(form, 2), *self.random.pick(AGGREGATES));
        let second = self.filled(form_second, 1);
        let filter = self.filter();
        if self.random.percent(30) {
            return format!("SELECT {first}, {second} FROM t WHERE {filter}");
        }
        let key = self.expr(2);
        let having = match self.random.below(3) {
            0 => format!(" HAVING {}", self.filled(form, 1)),
            1 => " HAVING x > 1".into(),
            _ => String::new(),
        };
        let order = *self.random.pick(&["", " ORDER BY 1", " ORDER BY x DESC", " ORDER BY NULL"]);
        format!(
            "SELECT {key}, {first} AS x, {second} FROM t WHERE {filter} GROUP BY {key}{having}{order}"
        )
    }

    fn insert(&mut self) -> String {
        let verb = *self.random.pick(&["INSERT INTO", "INSERT IGNORE INTO", "REPLACE INTO"]);
        let columns: Vec<&str> = self.table.columns.iter().map(|column| column.name).collect();
        let rows: Vec<String> = (0..1 + self.random.below(3))
            .map(|_| {
                let id = self.random.below(60);
                let values: Vec<String> = columns.iter().map(|_| self.expr(2)).collect();
                format!("({id}, {})", values.join(", "))
            })
            .collect();
        let update = match self.random.below(3) {
            0 if verb != "REPLACE INTO" => {
                let column = self.random.pick(&columns);
                format!(" ON DUPLICATE KEY UPDATE {column} = {}", self.expr(2))
            }
            _ => String::new(),
        };
        format!("{verb} t (id, {}) VALUES {}{update}", columns.join(", "), rows.join(", "))
    }

    fn update(&mut self) -> String {
        let ignore = *self.random.pick(&["", "", "IGNORE "]);
        let column = self.random.pick(&self.table.columns).name;
        let value = self.expr(3);
        let filter = self.filter();
        format!("UPDATE {ignore}t SET {column} = {value} WHERE {filter}{}", self.tail())
    }

    /// A statement with pieces removed, doubled or exchanged.
    fn damaged(&mut self) -> String {
        let mut text: Vec<char> = self.select().chars().collect();
        for _ in 0..1 + self.random.below(3) {
            if text.is_empty() {
                break;
            }
            let start = self.random.below(text.len());
            let end = (start + 1 + self.random.below(8)).min(text.len());
            match self.random.below(4) {
                0 => drop(text.drain(start..end)),
                1 => {
                    let piece: Vec<char> = text[start..end].to_vec();
                    text.splice(start..start, piece);
                }
                2 => {
                    let junk = *self.random.pick(&[
                        '\'', '"', '`', '(', ')', '\\', '\0', ';', '@', '.', '/', '*', '-', '#',
                        '😀',
                    ]);
                    text.insert(start, junk);
                }
                _ => text.swap(start, end - 1),
            }
        }
        text.into_iter().collect()
    }
}
