//! Expressions: the bound form that plans hold, messages ship to where the rows are, and [`eval`] computes.
//!
//! Columns are positions in the row at hand, parameters positions in the statement's parameter list; names, types and
//! collations were resolved by the binder. Evaluation follows MySQL: three-valued logic, coercion by the operands' kinds,
//! errors only where MySQL gives one, warnings for the rest.

mod aggregate;
mod arithmetic;
mod coercibility;
mod compiled;
mod eval;
mod functions;
mod interval;
mod json_table;
mod result_type;
mod settle;
#[cfg(test)]
mod tests;

pub use aggregate::{
    Aggregate, AggregateFunction, AggregateState, GROUP_CONCAT_LENGTH_DEFAULT, KEPT_BYTES_MAX,
    OrderKey, Partial,
};
pub use coercibility::{Coercibility, CollationMix, Derivation, Typing};
pub use compiled::ScanProgram;
pub use eval::{
    Columns, EvalContext, EvalError, MAX_ALLOWED_PACKET, NoColumns, ROW_WORK_MAX, eval,
    eval_predicate,
};
pub use functions::{JsonResponse, json_value_default};
pub use json_table::{
    JsonTable, JsonTableColumn, JsonTableResponse, JsonTableRows, json_table_document,
    json_table_value,
};
pub use result_type::{ResultType, merge_types, result_type};
pub use settle::{as_text, settle, settle_node};

pub use crate::convert::SqlWarning;
use crate::{Collation, ColumnType, Value, wire_enum};

#[derive(Clone, Debug)]
pub enum Expr {
    Const(Value),
    /// A column of the row, by position.
    Column(u16),
    /// A parameter of the statement, by position from 0.
    Param(u16),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// AND / OR of any number of terms: flat, so that a chain of 100,000 terms nests nowhere.
    And(Vec<Expr>),
    Or(Vec<Expr>),
    IsNull(Box<Expr>, bool),
    /// `IS [NOT] TRUE / FALSE`: (operand, the truth asked for, negated).
    IsTruth(Box<Expr>, bool, bool),
    /// operand [NOT] BETWEEN low AND high.
    Between {
        operand: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    In {
        operand: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    Like {
        operand: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        negated: bool,
    },
    /// CASE [operand] WHEN .. THEN .. ELSE .. END.
    Case {
        operand: Option<Box<Expr>>,
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    /// CAST / CONVERT to a type.
    Cast(Box<Expr>, ColumnType),
    /// expression COLLATE collation: decides comparisons.
    Collate(Box<Expr>, Collation),
    /// date +/- INTERVAL amount unit.
    Interval {
        operand: Box<Expr>,
        amount: Box<Expr>,
        unit: IntervalUnit,
        subtract: bool,
    },
    Function(Function, Vec<Expr>),
    /// The operand as a value of the type that it has in common with the other branches of IF, CASE and the like.
    Convert(Box<Expr>, ColumnType),
    /// A text in the collation that its operator decided on; other values as they are.
    InCollation(Box<Expr>, Collation),
}
wire_enum!(Expr {
    0 => Const(value),
    1 => Column(position),
    2 => Param(position),
    3 => Unary(op, operand),
    4 => Binary(op, left, right),
    5 => And(terms),
    6 => Or(terms),
    7 => IsNull(operand, negated),
    8 => IsTruth(operand, truth, negated),
    9 => Between { operand, low, high, negated },
    10 => In { operand, list, negated },
    11 => Like { operand, pattern, escape, negated },
    12 => Case { operand, branches, otherwise },
    13 => Cast(operand, target),
    14 => Collate(operand, collation),
    15 => Interval { operand, amount, unit, subtract },
    16 => Function(function, arguments),
    17 => Convert(operand, target),
    18 => InCollation(operand, collation),
});

/// PI() as text: the number that its six digits stand for. Arithmetic has all of its digits.
#[expect(clippy::approx_constant, reason = "the digits that show")]
pub const PI_SHOWN: f64 = 3.141593;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    Not,
    Negate,
    BitNot,
}
wire_enum!(UnaryOp { 0 => Not, 1 => Negate, 2 => BitNot });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// DIV
    IntegerDivide,
    Modulo,
    Equal,
    /// <=>
    NullSafeEqual,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Xor,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
}
wire_enum!(BinaryOp {
    0 => Add, 1 => Subtract, 2 => Multiply, 3 => Divide, 4 => IntegerDivide, 5 => Modulo,
    6 => Equal, 7 => NullSafeEqual, 8 => NotEqual, 9 => Less, 10 => LessOrEqual, 11 => Greater,
    12 => GreaterOrEqual, 13 => Xor, 14 => BitAnd, 15 => BitOr, 16 => BitXor, 17 => ShiftLeft,
    18 => ShiftRight,
});

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}
wire_enum!(IntervalUnit {
    0 => Microsecond, 1 => Second, 2 => Minute, 3 => Hour, 4 => Day, 5 => Week, 6 => Month,
    7 => Quarter, 8 => Year, 9 => SecondMicrosecond, 10 => MinuteMicrosecond, 11 => MinuteSecond,
    12 => HourMicrosecond, 13 => HourSecond, 14 => HourMinute, 15 => DayMicrosecond,
    16 => DaySecond, 17 => DayMinute, 18 => DayHour, 19 => YearMonth,
});

impl IntervalUnit {
    /// In the order of the tags.
    pub const ALL: [IntervalUnit; 20] = [
        IntervalUnit::Microsecond,
        IntervalUnit::Second,
        IntervalUnit::Minute,
        IntervalUnit::Hour,
        IntervalUnit::Day,
        IntervalUnit::Week,
        IntervalUnit::Month,
        IntervalUnit::Quarter,
        IntervalUnit::Year,
        IntervalUnit::SecondMicrosecond,
        IntervalUnit::MinuteMicrosecond,
        IntervalUnit::MinuteSecond,
        IntervalUnit::HourMicrosecond,
        IntervalUnit::HourSecond,
        IntervalUnit::HourMinute,
        IntervalUnit::DayMicrosecond,
        IntervalUnit::DaySecond,
        IntervalUnit::DayMinute,
        IntervalUnit::DayHour,
        IntervalUnit::YearMonth,
    ];

    /// The number TIMESTAMPDIFF and EXTRACT take as their first argument.
    pub fn tag(self) -> u8 {
        self as u8
    }
    pub fn from_tag(tag: u8) -> Option<IntervalUnit> {
        Self::ALL.get(usize::from(tag)).copied()
    }
}

/// A built-in function of rows. What depends on the session (NOW, DATABASE, LAST_INSERT_ID, CONNECTION_ID, ...) is turned
/// into a constant by the binder: once a statement, at the coordinator (rule R25).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    Abs,
    Ceiling,
    Floor,
    Round,
    Truncate,
    Sign,
    Mod,
    Power,
    Sqrt,
    Exp,
    Ln,
    Log,
    Log2,
    Log10,
    Pi,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Atan2,
    Cot,
    Degrees,
    Radians,
    Crc32,
    Conv,
    Bin,
    Oct,
    Hex,
    Unhex,
    Greatest,
    Least,
    Coalesce,
    IfNull,
    NullIf,
    If,
    Isnull,
    Interval,
    Concat,
    ConcatWs,
    Length,
    CharLength,
    BitLength,
    Lower,
    Upper,
    Left,
    Right,
    Substring,
    SubstringIndex,
    Locate,
    Instr,
    Replace,
    Repeat,
    Reverse,
    Lpad,
    Rpad,
    Ltrim,
    Rtrim,
    Trim,
    Space,
    Ascii,
    Ord,
    Char,
    Strcmp,
    Insert,
    Elt,
    Field,
    FindInSet,
    Format,
    Quote,
    Md5,
    Sha1,
    Sha2,
    ToBase64,
    FromBase64,
    Date,
    Time,
    Year,
    Quarter,
    Month,
    Week,
    DayOfMonth,
    DayOfWeek,
    DayOfYear,
    Weekday,
    DayName,
    MonthName,
    Hour,
    Minute,
    Second,
    Microsecond,
    DateDiff,
    TimeDiff,
    ToDays,
    FromDays,
    LastDay,
    MakeDate,
    MakeTime,
    DateFormat,
    TimeFormat,
    StrToDate,
    UnixTimestamp,
    FromUnixtime,
    SecToTime,
    TimeToSec,
    AddTime,
    SubTime,
    /// TIMESTAMPDIFF: unit number (see `IntervalUnit`'s tags) as a constant first argument.
    TimestampDiff,
    /// EXTRACT: unit number as a constant first argument.
    Extract,
    InetAton,
    InetNtoa,
    /// (subject, pattern[, match type]).
    RegexpLike,
    RegexpReplace,
    RegexpSubstr,
    RegexpInstr,
    BitCount,
    MakeSet,
    ExportSet,
    YearWeek,
    WeekOfYear,
    PeriodAdd,
    PeriodDiff,
    Timestamp,
    ToSeconds,
    /// Only offsets ("+02:00"), UTC and SYSTEM (taken for UTC) are known zones; others give NULL.
    ConvertTz,
    /// What TIMESTAMP columns need at the session's edge: from UTC to the session's zone, and back.
    UtcToLocal,
    LocalToUtc,
    Inet6Aton,
    Inet6Ntoa,
    IsIpv4,
    IsIpv6,
    UuidToBin,
    BinToUuid,
    IsUuid,
    Soundex,
    /// The bytes that stand for the arguments in comparisons for equality, NULL if one is: COUNT(DISTINCT a, b) is a
    /// distinct count of it. Has no name in SQL.
    RowKey,
    /// (value, digits as a constant): the text of a time or datetime with that many digits of fractional seconds, of an
    /// unsigned integer with zeros up to that many digits. Values do not carry what they were declared with, so the binder
    /// says it where a text is made of them. Has no name in SQL.
    DeclaredText,
    /// SKARV_PANIC(value): panics where it is evaluated, for a value that is not NULL. Only in processes whose tests may
    /// panic ([`crate::contain::may_tests_panic`]).
    Panic,
    /// (dividend, divisor, increment as a constant): division where div_precision_increment is not its default. Has no name
    /// in SQL.
    Divide,
    /// (bits of a BIT, bytes as a constant): its bytes, the highest first. Has no name in SQL.
    BitBytes,
    /// (constant): the year that a YEAR keeps for it, so that 99 compares as 1999. A value that is not a year is returned unchanged.
    /// Has no name in SQL.
    FullYear,
    JsonArray,
    JsonObject,
    /// (value, code): the JSON scalar that a value of the code's type is: 1 for truth values, else the type of bytes
    /// ([`crate::json::opaque_type`]). Values do not carry what MySQL tells apart here. Has no name in SQL.
    JsonScalar,
    JsonQuote,
    JsonUnquote,
    JsonExtract,
    JsonContains,
    JsonContainsPath,
    JsonKeys,
    JsonSearch,
    JsonOverlaps,
    MemberOf,
    JsonArrayAppend,
    JsonArrayInsert,
    JsonInsert,
    JsonReplace,
    JsonSet,
    JsonRemove,
    JsonMergePatch,
    JsonMergePreserve,
    JsonDepth,
    JsonLength,
    JsonType,
    JsonValid,
    JsonPretty,
    JsonStorageSize,
    JsonStorageFree,
    /// See [`functions`]'s `json_value` for the arguments that stand for the clauses.
    JsonValue,
}
wire_enum!(Function {
    0 => Abs, 1 => Ceiling, 2 => Floor, 3 => Round, 4 => Truncate, 5 => Sign, 6 => Mod,
    7 => Power, 8 => Sqrt, 9 => Exp, 10 => Ln, 11 => Log, 12 => Log2, 13 => Log10, 14 => Pi,
    15 => Sin, 16 => Cos, 17 => Tan, 18 => Asin, 19 => Acos, 20 => Atan, 21 => Atan2, 22 => Cot,
    23 => Degrees, 24 => Radians, 25 => Crc32, 26 => Conv, 27 => Bin, 28 => Oct, 29 => Hex,
    30 => Unhex, 31 => Greatest, 32 => Least, 33 => Coalesce, 34 => IfNull, 35 => NullIf,
    36 => If, 37 => Isnull, 38 => Interval, 39 => Concat, 40 => ConcatWs, 41 => Length,
    42 => CharLength, 43 => BitLength, 44 => Lower, 45 => Upper, 46 => Left, 47 => Right,
    48 => Substring, 49 => SubstringIndex, 50 => Locate, 51 => Instr, 52 => Replace, 53 => Repeat,
    54 => Reverse, 55 => Lpad, 56 => Rpad, 57 => Ltrim, 58 => Rtrim, 59 => Trim, 60 => Space,
    61 => Ascii, 62 => Ord, 63 => Char, 64 => Strcmp, 65 => Insert, 66 => Elt, 67 => Field,
    68 => FindInSet, 69 => Format, 70 => Quote, 71 => Md5, 72 => Sha1, 73 => Sha2, 74 => ToBase64,
    75 => FromBase64, 76 => Date, 77 => Time, 78 => Year, 79 => Quarter, 80 => Month, 81 => Week,
    82 => DayOfMonth, 83 => DayOfWeek, 84 => DayOfYear, 85 => Weekday, 86 => DayName,
    87 => MonthName, 88 => Hour, 89 => Minute, 90 => Second, 91 => Microsecond, 92 => DateDiff,
    93 => TimeDiff, 94 => ToDays, 95 => FromDays, 96 => LastDay, 97 => MakeDate, 98 => MakeTime,
    99 => DateFormat, 100 => TimeFormat, 101 => StrToDate, 102 => UnixTimestamp,
    103 => FromUnixtime, 104 => SecToTime, 105 => TimeToSec, 106 => AddTime, 107 => SubTime,
    108 => TimestampDiff, 109 => Extract, 110 => InetAton, 111 => InetNtoa, 112 => RegexpLike,
    113 => RegexpReplace, 114 => RegexpSubstr, 115 => RegexpInstr, 116 => BitCount,
    117 => MakeSet, 118 => ExportSet, 119 => YearWeek, 120 => WeekOfYear, 121 => PeriodAdd,
    122 => PeriodDiff, 123 => Timestamp, 124 => ToSeconds, 125 => ConvertTz, 126 => UtcToLocal,
    127 => LocalToUtc, 128 => Inet6Aton, 129 => Inet6Ntoa, 130 => IsIpv4, 131 => IsIpv6,
    132 => UuidToBin, 133 => BinToUuid, 134 => IsUuid, 135 => Soundex, 136 => RowKey,
    137 => DeclaredText, 138 => Panic, 139 => Divide, 140 => BitBytes, 141 => FullYear,
    142 => JsonArray, 143 => JsonObject, 144 => JsonScalar, 145 => JsonQuote,
    146 => JsonUnquote, 147 => JsonExtract, 148 => JsonContains, 149 => JsonContainsPath,
    150 => JsonKeys, 151 => JsonSearch, 152 => JsonOverlaps, 153 => MemberOf,
    154 => JsonArrayAppend, 155 => JsonArrayInsert, 156 => JsonInsert, 157 => JsonReplace,
    158 => JsonSet, 159 => JsonRemove, 160 => JsonMergePatch, 161 => JsonMergePreserve,
    162 => JsonDepth, 163 => JsonLength, 164 => JsonType, 165 => JsonValid, 166 => JsonPretty,
    167 => JsonStorageSize, 168 => JsonStorageFree, 169 => JsonValue,
});

impl Expr {
    /// The operands, in the order they are written.
    pub fn children(&self) -> Vec<&Expr> {
        match self {
            Expr::Const(_) | Expr::Column(_) | Expr::Param(_) => Vec::new(),
            Expr::Unary(_, operand)
            | Expr::IsNull(operand, _)
            | Expr::IsTruth(operand, _, _)
            | Expr::Cast(operand, _)
            | Expr::Collate(operand, _)
            | Expr::Convert(operand, _)
            | Expr::InCollation(operand, _) => vec![operand],
            Expr::Binary(_, left, right) => vec![left, right],
            Expr::And(terms) | Expr::Or(terms) | Expr::Function(_, terms) => terms.iter().collect(),
            Expr::Between { operand, low, high, .. } => vec![operand, low, high],
            Expr::In { operand, list, .. } => std::iter::once(&**operand).chain(list).collect(),
            Expr::Like { operand, pattern, escape, .. } => {
                [operand, pattern].into_iter().chain(escape).map(|expr| &**expr).collect()
            }
            Expr::Case { operand, branches, otherwise } => operand
                .iter()
                .map(|expr| &**expr)
                .chain(branches.iter().flat_map(|(when, then)| [when, then]))
                .chain(otherwise.iter().map(|expr| &**expr))
                .collect(),
            Expr::Interval { operand, amount, .. } => vec![operand, amount],
        }
    }

    /// The same for changing them.
    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Expr::Const(_) | Expr::Column(_) | Expr::Param(_) => Vec::new(),
            Expr::Unary(_, operand)
            | Expr::IsNull(operand, _)
            | Expr::IsTruth(operand, _, _)
            | Expr::Cast(operand, _)
            | Expr::Collate(operand, _)
            | Expr::Convert(operand, _)
            | Expr::InCollation(operand, _) => vec![operand],
            Expr::Binary(_, left, right) => vec![left, right],
            Expr::And(terms) | Expr::Or(terms) | Expr::Function(_, terms) => {
                terms.iter_mut().collect()
            }
            Expr::Between { operand, low, high, .. } => vec![operand, low, high],
            Expr::In { operand, list, .. } => std::iter::once(&mut **operand).chain(list).collect(),
            Expr::Like { operand, pattern, escape, .. } => {
                [operand, pattern].into_iter().chain(escape).map(|expr| &mut **expr).collect()
            }
            Expr::Case { operand, branches, otherwise } => operand
                .iter_mut()
                .map(|expr| &mut **expr)
                .chain(branches.iter_mut().flat_map(|(when, then)| [when, then]))
                .chain(otherwise.iter_mut().map(|expr| &mut **expr))
                .collect(),
            Expr::Interval { operand, amount, .. } => vec![operand, amount],
        }
    }

    /// Whether this can be evaluated on rows of `column_count` columns with `param_count` parameters: positions exist,
    /// functions have as many arguments as they take, the nesting is within [`crate::wire::DEPTH_MAX`]. Asked once
    /// of an expression that came from a peer; evaluation takes it for granted.
    pub fn check(&self, column_count: usize, param_count: usize) -> bool {
        let mut level = vec![self];
        for _ in 0..crate::wire::DEPTH_MAX {
            let mut below = Vec::new();
            for expr in level {
                let good = match expr {
                    Expr::Column(position) => usize::from(*position) < column_count,
                    Expr::Param(position) => usize::from(*position) < param_count,
                    Expr::Function(function, arguments) => function.takes(arguments.len()),
                    _ => true,
                };
                if !good {
                    return false;
                }
                below.extend(expr.children());
            }
            if below.is_empty() {
                return true;
            }
            level = below;
        }
        false
    }
}
