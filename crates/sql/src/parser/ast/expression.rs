//! Expressions: names, literals, operators, calls.

use super::{OrderItem, Place, Query, VariableScope, WindowCall};

/// `column`, `table.column`, `schema.table.column`, as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnName {
    pub schema: Option<String>,
    pub table: Option<String>,
    pub column: String,
    pub at: Place,
}

/// A constant as written.
#[derive(Clone, PartialEq, Debug)]
pub enum Literal {
    Null,
    Bool(bool),
    /// Unsigned: a sign before it is a `UnaryOperator::Negate`.
    Integer(u64),
    /// The text: digits with a point, or an integer above u64::MAX. No sign, no exponent; `.5` and `5.` occur.
    Decimal(String),
    /// Written with an exponent. Finite.
    Float(f64),
    /// Decoded bytes in the connection's character set.
    String(Vec<u8>),
    /// `_charset'...'` (name without the underscore, lower-cased) and N'...' (utf8mb3).
    CharsetString {
        charset: String,
        value: Vec<u8>,
        /// It was written N'...'.
        is_national: IsNational,
    },
    /// 0x41, x'41': bytes, big-endian when used as a number.
    Hex(Vec<u8>),
    /// 0b01, b'01': bytes, big-endian, right-aligned.
    Bits(Vec<u8>),
    /// DATE'...', {d '...'}.
    Date(Vec<u8>),
    Time(Vec<u8>),
    Timestamp(Vec<u8>),
}

/// An expression. Debug prints it as a compact prefix form, e.g. `(+ a (* 2 3))`.
#[derive(Clone, PartialEq)]
pub enum Expr {
    Literal(Literal),
    /// A `?`, or a literal replaced in parametrised mode; counted from 0 in textual order.
    Param(u32),
    /// A column of a subquery of several that the binder has bound; the parser makes none.
    BoundColumn(u16),
    Column(ColumnName),
    /// `@name`, without @.
    UserVariable(String),
    /// `@@scope.name`.
    SystemVariable {
        scope: VariableScope,
        name: String,
    },
    /// `@name := value`.
    Assign {
        variable: String,
        value: Box<Expr>,
    },
    /// Two or more operands, none of them an And.
    And(Vec<Expr>),
    /// Two or more operands, none of them an Or.
    Or(Vec<Expr>),
    Unary {
        operator: UnaryOperator,
        operand: Box<Expr>,
    },
    Binary {
        operator: BinaryOperator,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// IS [NOT] NULL / TRUE / FALSE / UNKNOWN.
    Is {
        operand: Box<Expr>,
        test: IsTest,
        negated: bool,
    },
    Between {
        operand: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    InList {
        operand: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    InSubquery {
        operand: Box<Expr>,
        query: Box<Query>,
        negated: bool,
    },
    Like {
        operand: Box<Expr>,
        pattern: Box<Expr>,
        /// ESCAPE; None is the backslash.
        escape: Option<Box<Expr>>,
        negated: bool,
    },
    /// REGEXP and RLIKE.
    Regexp {
        operand: Box<Expr>,
        pattern: Box<Expr>,
        negated: bool,
    },
    /// CASE; with `operand` the branches' first halves are compared with it.
    Case {
        operand: Option<Box<Expr>>,
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
    },
    /// CAST(x AS type), CONVERT(x, type).
    Cast {
        operand: Box<Expr>,
        target: Box<CastType>,
    },
    /// CONVERT(x USING charset).
    ConvertUsing {
        operand: Box<Expr>,
        charset: String,
    },
    Collate {
        operand: Box<Expr>,
        collation: String,
    },
    JsonValue(Box<JsonValueCall>),
    /// A call of any function but the aggregates below. One that needs OVER stands in an [`Expr::Window`] only. `name` is
    /// upper-cased. Synonyms with special syntax are normalised: CURRENT_TIMESTAMP, LOCALTIME, LOCALTIMESTAMP, NOW -> NOW;
    /// CURRENT_DATE -> CURDATE; CURRENT_TIME -> CURTIME; CURRENT_USER -> CURRENT_USER; SUBSTR, MID, SUBSTRING(x FROM y FOR z)
    /// -> SUBSTRING; POSITION(x IN y) -> LOCATE(x, y); x -> y is JSON_EXTRACT, x ->> y is JSON_UNQUOTE(JSON_EXTRACT(x, y)).
    /// Intervals and units are arguments: DATE_ADD(x, Interval), TIMESTAMPDIFF(Unit, a, b), EXTRACT(Unit, x),
    /// GET_FORMAT is Unsupported.
    Function {
        schema: Option<String>,
        name: String,
        arguments: Vec<Expr>,
    },
    /// COUNT, SUM, AVG, MIN, MAX, GROUP_CONCAT, BIT_*, STD*, VAR*, JSON_ARRAYAGG, JSON_OBJECTAGG, ANY_VALUE is a
    /// plain function. COUNT(*) has no arguments.
    Aggregate {
        name: String,
        distinct: bool,
        arguments: Vec<Expr>,
        /// GROUP_CONCAT only.
        order_by: Vec<OrderItem>,
        /// GROUP_CONCAT only; None is a comma.
        separator: Option<Vec<u8>>,
    },
    Window(Box<WindowCall>),
    /// TRIM with a side or a FROM; plain TRIM(x) has side Both and no `remove`.
    Trim {
        side: TrimSide,
        remove: Option<Box<Expr>>,
        operand: Box<Expr>,
    },
    /// INTERVAL value unit; right or left operand of + and -, or a function argument.
    Interval {
        value: Box<Expr>,
        unit: IntervalUnit,
    },
    /// A unit as a function argument.
    Unit(IntervalUnit),
    /// (a, b) and ROW(a, b).
    Row(Vec<Expr>),
    Exists(Box<Query>),
    /// (SELECT ...) as a value.
    Subquery(Box<Query>),
    /// `left op ALL|ANY|SOME (query)`; the operator is a comparison.
    Quantified {
        operator: BinaryOperator,
        all: bool,
        left: Box<Expr>,
        query: Box<Query>,
    },
    /// VALUES(column) in ON DUPLICATE KEY UPDATE.
    Values(ColumnName),
    /// DEFAULT (None) or DEFAULT(column).
    Default(Option<ColumnName>),
    /// MATCH, MEMBER OF, ...: MySQL's name of it.
    Unsupported {
        feature: String,
    },
    /// `COUNT (x)` without IGNORE_SPACE: not the built-in function but one of the current database.
    SpacedCall {
        name: String,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOperator {
    Negate,
    Plus,
    BitNot,
    /// NOT and !.
    Not,
    /// BINARY x.
    Binary,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOperator {
    Xor,
    Equal,
    /// <=>
    NullSafeEqual,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    BitOr,
    BitAnd,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    /// /
    Divide,
    /// DIV
    IntegerDivide,
    /// % and MOD
    Modulo,
    BitXor,
    SoundsLike,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IsTest {
    Null,
    True,
    False,
    Unknown,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrimSide {
    Both,
    Leading,
    Trailing,
}

/// JSON_VALUE(document, path RETURNING type response ON EMPTY response ON ERROR).
#[derive(Clone, PartialEq, Debug)]
pub struct JsonValueCall {
    pub document: Expr,
    pub path: Vec<u8>,
    /// CHAR(512) if it is not written.
    pub returning: CastType,
    pub on_empty: Option<JsonResponse>,
    pub on_error: Option<JsonResponse>,
}

/// What JSON_VALUE returns where there is no value, or an error.
#[derive(Clone, PartialEq, Debug)]
pub enum JsonResponse {
    Null,
    Error,
    /// A literal, perhaps with a sign.
    Default(Expr),
}

/// Whether the character set was named by NATIONAL. Warnings depend on it, and nothing else: trees
/// that differ in it alone are equal, because the printed form names the character set.
#[derive(Clone, Copy)]
pub struct IsNational(pub bool);

impl PartialEq for IsNational {
    fn eq(&self, _: &IsNational) -> bool {
        true
    }
}
impl Eq for IsNational {}

impl std::fmt::Debug for IsNational {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("_")
    }
}

/// The target of CAST and CONVERT.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CastType {
    Signed,
    Unsigned,
    /// CHAR[(n)] [CHARACTER SET x], NCHAR.
    Char {
        length: Option<u64>,
        charset: Option<String>,
        /// BINARY: the `_bin` collation of the character set.
        binary: bool,
        /// NCHAR or NATIONAL CHAR, which mean a character set.
        is_national: IsNational,
    },
    Binary {
        length: Option<u64>,
    },
    Decimal {
        precision: Option<u64>,
        scale: Option<u64>,
    },
    Float {
        precision: Option<u64>,
    },
    /// DOUBLE and REAL.
    Double,
    Date,
    Time {
        fsp: Option<u64>,
    },
    DateTime {
        fsp: Option<u64>,
    },
    Year,
    Json,
    /// Geometry names, ARRAY: upper-cased.
    Unsupported {
        feature: String,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
