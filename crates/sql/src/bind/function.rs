//! Function calls: which are computed where the rows are, which the session supplies, and which are refused.

use types::contain;
use types::expr::Function;
use types::temporal::Locale;
use types::{Collation, ColumnType, Expr, IntWidth, Value};

use super::Binder;
use super::expr::{checked_fsp, interval_unit};
use super::names::Scope;
use crate::error::{SqlError, code};
use crate::parser::ast;
use crate::plan::{LockCall, LockFunction, Slot};

const BIGINT: ColumnType = ColumnType::Int { width: IntWidth::W8, unsigned: false };
const BIGINT_UNSIGNED: ColumnType = ColumnType::Int { width: IntWidth::W8, unsigned: true };

/// By the parser's names: upper case, synonyms joined.
static FUNCTIONS: &[(&str, Function)] = &[
    ("ABS", Function::Abs),
    ("CEIL", Function::Ceiling),
    ("FLOOR", Function::Floor),
    ("ROUND", Function::Round),
    ("TRUNCATE", Function::Truncate),
    ("SIGN", Function::Sign),
    ("MOD", Function::Mod),
    ("POW", Function::Power),
    ("SQRT", Function::Sqrt),
    ("EXP", Function::Exp),
    ("LN", Function::Ln),
    ("LOG", Function::Log),
    ("LOG2", Function::Log2),
    ("LOG10", Function::Log10),
    ("PI", Function::Pi),
    ("SIN", Function::Sin),
    ("COS", Function::Cos),
    ("TAN", Function::Tan),
    ("ASIN", Function::Asin),
    ("ACOS", Function::Acos),
    ("ATAN", Function::Atan),
    ("ATAN2", Function::Atan2),
    ("COT", Function::Cot),
    ("DEGREES", Function::Degrees),
    ("RADIANS", Function::Radians),
    ("CRC32", Function::Crc32),
    ("CONV", Function::Conv),
    ("BIN", Function::Bin),
    ("OCT", Function::Oct),
    ("HEX", Function::Hex),
    ("UNHEX", Function::Unhex),
    ("GREATEST", Function::Greatest),
    ("LEAST", Function::Least),
    ("COALESCE", Function::Coalesce),
    ("IFNULL", Function::IfNull),
    ("NULLIF", Function::NullIf),
    ("ISNULL", Function::Isnull),
    ("INTERVAL", Function::Interval),
    ("CONCAT", Function::Concat),
    ("CONCAT_WS", Function::ConcatWs),
    ("LENGTH", Function::Length),
    ("CHAR_LENGTH", Function::CharLength),
    ("BIT_LENGTH", Function::BitLength),
    ("LOWER", Function::Lower),
    ("UPPER", Function::Upper),
    ("LEFT", Function::Left),
    ("RIGHT", Function::Right),
    ("SUBSTRING", Function::Substring),
    ("SUBSTRING_INDEX", Function::SubstringIndex),
    ("LOCATE", Function::Locate),
    ("INSTR", Function::Instr),
    ("REPLACE", Function::Replace),
    ("REPEAT", Function::Repeat),
    ("REVERSE", Function::Reverse),
    ("LPAD", Function::Lpad),
    ("RPAD", Function::Rpad),
    ("LTRIM", Function::Ltrim),
    ("RTRIM", Function::Rtrim),
    ("SPACE", Function::Space),
    ("ASCII", Function::Ascii),
    ("ORD", Function::Ord),
    ("CHAR", Function::Char),
    ("STRCMP", Function::Strcmp),
    ("INSERT", Function::Insert),
    ("ELT", Function::Elt),
    ("FIELD", Function::Field),
    ("FIND_IN_SET", Function::FindInSet),
    ("FORMAT", Function::Format),
    ("QUOTE", Function::Quote),
    ("MD5", Function::Md5),
    ("SHA1", Function::Sha1),
    ("SHA2", Function::Sha2),
    ("TO_BASE64", Function::ToBase64),
    ("FROM_BASE64", Function::FromBase64),
    ("DATE", Function::Date),
    ("TIME", Function::Time),
    ("YEAR", Function::Year),
    ("QUARTER", Function::Quarter),
    ("MONTH", Function::Month),
    ("WEEK", Function::Week),
    ("DAY", Function::DayOfMonth),
    ("DAYOFWEEK", Function::DayOfWeek),
    ("DAYOFYEAR", Function::DayOfYear),
    ("WEEKDAY", Function::Weekday),
    ("DAYNAME", Function::DayName),
    ("MONTHNAME", Function::MonthName),
    ("HOUR", Function::Hour),
    ("MINUTE", Function::Minute),
    ("SECOND", Function::Second),
    ("MICROSECOND", Function::Microsecond),
    ("DATEDIFF", Function::DateDiff),
    ("TIMEDIFF", Function::TimeDiff),
    ("TO_DAYS", Function::ToDays),
    ("FROM_DAYS", Function::FromDays),
    ("LAST_DAY", Function::LastDay),
    ("MAKEDATE", Function::MakeDate),
    ("MAKETIME", Function::MakeTime),
    ("DATE_FORMAT", Function::DateFormat),
    ("TIME_FORMAT", Function::TimeFormat),
    ("STR_TO_DATE", Function::StrToDate),
    ("UNIX_TIMESTAMP", Function::UnixTimestamp),
    ("FROM_UNIXTIME", Function::FromUnixtime),
    ("SEC_TO_TIME", Function::SecToTime),
    ("TIME_TO_SEC", Function::TimeToSec),
    ("ADDTIME", Function::AddTime),
    ("SUBTIME", Function::SubTime),
    ("INET_ATON", Function::InetAton),
    ("INET_NTOA", Function::InetNtoa),
    ("REGEXP_LIKE", Function::RegexpLike),
    ("REGEXP_REPLACE", Function::RegexpReplace),
    ("REGEXP_SUBSTR", Function::RegexpSubstr),
    ("REGEXP_INSTR", Function::RegexpInstr),
    ("BIT_COUNT", Function::BitCount),
    ("MAKE_SET", Function::MakeSet),
    ("EXPORT_SET", Function::ExportSet),
    ("YEARWEEK", Function::YearWeek),
    ("WEEKOFYEAR", Function::WeekOfYear),
    ("PERIOD_ADD", Function::PeriodAdd),
    ("PERIOD_DIFF", Function::PeriodDiff),
    ("TIMESTAMP", Function::Timestamp),
    ("TO_SECONDS", Function::ToSeconds),
    ("CONVERT_TZ", Function::ConvertTz),
    ("INET6_ATON", Function::Inet6Aton),
    ("INET6_NTOA", Function::Inet6Ntoa),
    ("IS_IPV4", Function::IsIpv4),
    ("IS_IPV6", Function::IsIpv6),
    ("UUID_TO_BIN", Function::UuidToBin),
    ("BIN_TO_UUID", Function::BinToUuid),
    ("IS_UUID", Function::IsUuid),
    ("SOUNDEX", Function::Soundex),
    ("JSON_ARRAY", Function::JsonArray),
    ("JSON_OBJECT", Function::JsonObject),
    ("JSON_QUOTE", Function::JsonQuote),
    ("JSON_UNQUOTE", Function::JsonUnquote),
    ("JSON_EXTRACT", Function::JsonExtract),
    ("JSON_CONTAINS", Function::JsonContains),
    ("JSON_CONTAINS_PATH", Function::JsonContainsPath),
    ("JSON_KEYS", Function::JsonKeys),
    ("JSON_SEARCH", Function::JsonSearch),
    ("JSON_OVERLAPS", Function::JsonOverlaps),
    ("MEMBER OF", Function::MemberOf),
    ("JSON_ARRAY_APPEND", Function::JsonArrayAppend),
    ("JSON_ARRAY_INSERT", Function::JsonArrayInsert),
    ("JSON_INSERT", Function::JsonInsert),
    ("JSON_REPLACE", Function::JsonReplace),
    ("JSON_SET", Function::JsonSet),
    ("JSON_REMOVE", Function::JsonRemove),
    ("JSON_MERGE_PATCH", Function::JsonMergePatch),
    ("JSON_MERGE_PRESERVE", Function::JsonMergePreserve),
    ("JSON_MERGE", Function::JsonMergePreserve),
    ("JSON_DEPTH", Function::JsonDepth),
    ("JSON_LENGTH", Function::JsonLength),
    ("JSON_TYPE", Function::JsonType),
    ("JSON_VALID", Function::JsonValid),
    ("JSON_PRETTY", Function::JsonPretty),
    ("JSON_STORAGE_SIZE", Function::JsonStorageSize),
    ("JSON_STORAGE_FREE", Function::JsonStorageFree),
];

/// MySQL has them, this engine does not.
static REFUSED: &[&str] = &[
    "LOAD_FILE",
    "BENCHMARK",
    "AES_ENCRYPT",
    "AES_DECRYPT",
    "COMPRESS",
    "UNCOMPRESS",
    "RANDOM_BYTES",
    "JSON_SCHEMA_VALID",
    "JSON_SCHEMA_VALIDATION_REPORT",
    "MASTER_POS_WAIT",
    "SOURCE_POS_WAIT",
    "WAIT_FOR_EXECUTED_GTID_SET",
    "EXTRACTVALUE",
    "UPDATEXML",
    "NAME_CONST",
    "STATEMENT_DIGEST",
];

/// A value of the session. Its text gives way to any other but literals, whose collation is the
/// connection's: it takes that one, and so never meets a literal of another collation. A text that
/// the connection's character set cannot hold, the name of a database say, stays as it is.
pub fn system_constant(value: Value, connection: Collation) -> Expr {
    Expr::Const(match value {
        Value::Text(text, _) if !connection.is_binary() && connection.charset().holds(&text) => {
            Value::Text(text, connection)
        }
        value => value,
    })
}

impl Binder<'_> {
    pub fn function(
        &mut self,
        name: &str,
        arguments: &[ast::Expr],
        scope: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        let count = |least: usize, most: usize| {
            if (least..=most).contains(&arguments.len()) {
                Ok(())
            } else {
                Err(SqlError::wrong_param_count(name))
            }
        };
        let collation = self.environment.collation;
        let text =
            |text: String| Ok(system_constant(Value::text(&text, Collation::DEFAULT), collation));
        match name {
            "NOW" | "SYSDATE" | "CURTIME" | "UTC_TIMESTAMP" | "UTC_TIME" => {
                count(0, 1)?;
                let fsp = fsp_argument(name, arguments)?;
                let (slot, column_type) = match name {
                    "NOW" => (Slot::Now { fsp }, ColumnType::DateTime { fsp }),
                    "SYSDATE" => (Slot::SystemDate { fsp }, ColumnType::DateTime { fsp }),
                    "CURTIME" => (Slot::CurrentTime { fsp }, ColumnType::Time { fsp }),
                    "UTC_TIMESTAMP" => (Slot::UtcTimestamp { fsp }, ColumnType::DateTime { fsp }),
                    _ => (Slot::UtcTime { fsp }, ColumnType::Time { fsp }),
                };
                Ok(Expr::Param(self.slot(slot, Some(column_type))?))
            }
            "CURDATE" | "UTC_DATE" => {
                count(0, 0)?;
                let slot = if name == "CURDATE" { Slot::CurrentDate } else { Slot::UtcDate };
                Ok(Expr::Param(self.slot(slot, Some(ColumnType::Date))?))
            }
            "UNIX_TIMESTAMP" if arguments.is_empty() => {
                let now = self.slot(Slot::Now { fsp: 0 }, Some(ColumnType::DateTime { fsp: 0 }))?;
                Ok(Expr::Function(Function::UnixTimestamp, vec![Expr::Param(now)]))
            }
            "DATABASE" => {
                count(0, 0)?;
                match self.environment.database.clone() {
                    Some(database) => text(database),
                    None => Ok(Expr::Const(Value::Null)),
                }
            }
            "SKARV_PANIC" if contain::may_tests_panic() => {
                count(1, 1)?;
                Ok(Expr::Function(Function::Panic, vec![self.expr(&arguments[0], scope)?]))
            }
            "SKARV_PANIC_BINDER" if contain::may_tests_panic() => {
                panic!("SKARV_PANIC_BINDER was bound")
            }
            "USER"
            | "CURRENT_USER"
            | "VERSION"
            | "CONNECTION_ID"
            | "CURRENT_ROLE"
            | "PS_CURRENT_THREAD_ID" => {
                count(0, 0)?;
                self.reusable = false;
                match name {
                    "USER" => text(self.session.user()),
                    "CURRENT_USER" => text(self.session.current_user()),
                    "VERSION" => text(self.session.version()),
                    "CURRENT_ROLE" => text("NONE".into()),
                    // A connection is one thread to whoever looks at performance_schema.
                    _ => Ok(Expr::Const(Value::UInt(u64::from(self.session.connection_id())))),
                }
            }
            "LAST_INSERT_ID" => {
                count(0, 1)?;
                let slot = match arguments.first() {
                    None => Slot::LastInsertId,
                    Some(value) => Slot::LastInsertIdOf(self.expr(value, scope)?),
                };
                Ok(Expr::Param(self.slot(slot, Some(BIGINT_UNSIGNED))?))
            }
            "ROW_COUNT" => {
                count(0, 0)?;
                Ok(Expr::Param(self.slot(Slot::RowCount, Some(BIGINT))?))
            }
            "FOUND_ROWS" => {
                count(0, 0)?;
                Ok(Expr::Param(self.slot(Slot::FoundRows, Some(BIGINT_UNSIGNED))?))
            }
            "RAND" => {
                count(0, 1)?;
                let seed = match arguments.first() {
                    Some(seed) => Some(self.expr(seed, scope)?),
                    None => None,
                };
                Ok(Expr::Param(self.slot(Slot::Random { seed }, Some(ColumnType::Double))?))
            }
            "UUID" => {
                count(0, 0)?;
                let column_type =
                    ColumnType::Varchar { length: 36, collation: Collation::default() };
                Ok(Expr::Param(self.slot(Slot::Uuid, Some(column_type))?))
            }
            "UUID_SHORT" => {
                count(0, 0)?;
                Ok(Expr::Param(self.slot(Slot::UuidShort, Some(BIGINT_UNSIGNED))?))
            }
            "SLEEP" => {
                count(1, 1)?;
                let seconds = self.expr(&arguments[0], scope)?;
                Ok(Expr::Param(self.slot(Slot::Sleep(seconds), Some(BIGINT))?))
            }
            "GET_LOCK" | "RELEASE_LOCK" | "RELEASE_ALL_LOCKS" | "IS_FREE_LOCK" | "IS_USED_LOCK" => {
                let (function, arity, column_type) = match name {
                    "GET_LOCK" => (LockFunction::Get, 2, BIGINT),
                    "RELEASE_LOCK" => (LockFunction::Release, 1, BIGINT),
                    "RELEASE_ALL_LOCKS" => (LockFunction::ReleaseAll, 0, BIGINT_UNSIGNED),
                    "IS_FREE_LOCK" => (LockFunction::IsFree, 1, BIGINT),
                    _ => (LockFunction::IsUsed, 1, BIGINT_UNSIGNED),
                };
                count(arity, arity)?;
                let arguments = self.exprs(arguments, scope)?;
                let call = LockCall { function, arguments };
                Ok(Expr::Param(self.slot(Slot::UserLock(call), Some(column_type))?))
            }
            "SKARV_TRANSACTION_OUTCOME" => {
                count(1, 1)?;
                let id = self.expr(&arguments[0], scope)?;
                let column_type =
                    ColumnType::Varchar { length: 32, collation: Collation::default() };
                Ok(Expr::Param(self.slot(Slot::TransactionOutcome(id), Some(column_type))?))
            }
            "DATE_ADD" | "DATE_SUB" | "ADDDATE" | "SUBDATE" => {
                count(2, 2)?;
                let subtract = matches!(name, "DATE_SUB" | "SUBDATE");
                match &arguments[1] {
                    ast::Expr::Interval { value, unit } => {
                        self.interval(&arguments[0], value, *unit, subtract, scope)
                    }
                    days if matches!(name, "ADDDATE" | "SUBDATE") => {
                        self.interval(&arguments[0], days, ast::IntervalUnit::Day, subtract, scope)
                    }
                    _ => Err(SqlError::wrong_param_count(name)),
                }
            }
            "TIMESTAMPADD" => {
                count(3, 3)?;
                let ast::Expr::Unit(unit) = &arguments[0] else {
                    return Err(SqlError::wrong_param_count(name));
                };
                self.interval(&arguments[2], &arguments[1], *unit, false, scope)
            }
            "TIMESTAMPDIFF" | "EXTRACT" => {
                let (function, operands) = match name {
                    "EXTRACT" => (Function::Extract, 2),
                    _ => (Function::TimestampDiff, 3),
                };
                count(operands, operands)?;
                let ast::Expr::Unit(unit) = &arguments[0] else {
                    return Err(SqlError::wrong_param_count(name));
                };
                let tag = Value::Int(i64::from(interval_unit(*unit).tag()));
                let mut bound = vec![Expr::Const(tag)];
                bound.extend(self.exprs(&arguments[1..], scope)?);
                if function == Function::Extract
                    && *unit == ast::IntervalUnit::Week
                    && self.environment.default_week_format != 0
                {
                    bound.push(self.week_format());
                }
                Ok(Expr::Function(function, bound))
            }
            "IF" => {
                count(3, 3)?;
                let bound = vec![
                    self.expr(&arguments[0], scope)?,
                    self.pure(&arguments[1], scope)?,
                    self.pure(&arguments[2], scope)?,
                ];
                Ok(Expr::Function(Function::If, bound))
            }
            "FORMAT" if arguments.len() == 3 => match &arguments[2] {
                ast::Expr::Literal(ast::Literal::String(locale))
                    if locale.eq_ignore_ascii_case(b"en_US") =>
                {
                    self.function(name, &arguments[..2], scope)
                }
                _ => Err(SqlError::not_supported("FORMAT with a locale that is not en_US")),
            },
            "GROUPING" => self.grouping(arguments, scope),
            "ANY_VALUE" => {
                count(1, 1)?;
                if scope.groups.is_none() {
                    return self.expr(&arguments[0], scope);
                }
                self.any_value(&arguments[0], scope)
            }
            "CHARSET" | "COLLATION" | "COERCIBILITY" => {
                count(1, 1)?;
                let operand = self.expr(&arguments[0], scope)?;
                if name == "COERCIBILITY" {
                    let own = self.coercibility(&arguments[0], &operand, scope);
                    return Ok(Expr::Const(Value::Int(own as i64)));
                }
                let collation = self.derivation(&operand, scope).collation;
                let collation = collation.unwrap_or(Collation::Binary);
                let shown = match name {
                    "CHARSET" => collation.charset_name(),
                    _ => collation.name(),
                };
                text(shown.into())
            }
            _ if REFUSED.contains(&name) || name.starts_with("ST_") => {
                Err(SqlError::not_supported(name))
            }
            _ => {
                let Some((_, function)) = FUNCTIONS.iter().find(|(own, _)| *own == name) else {
                    let database = self.environment.database.as_deref();
                    return Err(match database {
                        Some(database) => SqlError::new(
                            code::ER_SP_DOES_NOT_EXIST,
                            format!("FUNCTION {database}.{name} does not exist"),
                        ),
                        None => SqlError::no_database(),
                    });
                };
                let (least, most) = function.sql_arity();
                count(least, most)?;
                let mut bound = match function {
                    Function::IfNull | Function::Coalesce => self.alternatives(arguments, scope)?,
                    _ => self.exprs(arguments, scope)?,
                };
                self.bind_time_settings(*function, &mut bound);
                if function.reads_text() || self.shows_times(*function, &bound, scope) {
                    self.as_texts(&mut bound, scope);
                } else if !function.takes_documents() {
                    self.documents_as_texts(&mut bound, scope);
                }
                if name == "JSON_MERGE" {
                    self.warn(SqlError::new(
                        code::ER_WARN_DEPRECATED_SYNTAX,
                        "'JSON_MERGE' is deprecated and will be removed in a future release. Please use \
                         JSON_MERGE_PRESERVE/JSON_MERGE_PATCH instead",
                    ));
                }
                if !function.takes(bound.len()) {
                    return Err(SqlError::wrong_param_count(name));
                }
                let bound = self.document_arguments(*function, arguments, bound, scope);
                if *function == Function::BitCount {
                    self.check_bits(name, &[&bound[0]], scope)?;
                }
                Ok(Expr::Function(*function, bound))
            }
        }
    }
}

impl Binder<'_> {
    /// The arguments that lc_time_names and default_week_format stand for, where they are not the defaults.
    fn bind_time_settings(&self, function: Function, bound: &mut Vec<Expr>) {
        let locale = self.environment.time_names;
        let takes_locale = match function {
            Function::DayName | Function::MonthName | Function::DateFormat => true,
            Function::FromUnixtime => bound.len() == 2,
            _ => false,
        };
        if takes_locale && locale != Locale::ENGLISH {
            bound.push(Expr::Const(Value::Int(i64::from(locale.number()))));
        }
        let format = self.environment.default_week_format;
        if function == Function::Week && bound.len() == 1 && format != 0 {
            bound.push(self.week_format());
        }
    }

    fn week_format(&self) -> Expr {
        Expr::Const(Value::Int(i64::from(self.environment.default_week_format)))
    }
}

fn fsp_argument(name: &str, arguments: &[ast::Expr]) -> Result<u8, SqlError> {
    match arguments.first() {
        None => Ok(0),
        Some(ast::Expr::Literal(ast::Literal::Integer(fsp))) => {
            checked_fsp(&name.to_lowercase(), Some(*fsp))
        }
        Some(_) => Err(SqlError::wrong_arguments(name)),
    }
}
