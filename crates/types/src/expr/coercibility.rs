//! Which collation an expression has, and how strongly it holds to it.
//!
//! Both are static: they follow from the expression and the types of its columns and parameters,
//! never from a value. So an operator uses one collation on all rows. The rules are MySQL's. The
//! operand that holds more strongly decides; among equals of one character set a `_bin` collation
//! does, two others have no collation in common, and two COLLATE clauses that differ are an error.
//! Among equals of two character sets the one of Unicode decides that has all characters of the
//! other one; else a literal gives way to a column, and two columns do not mix. Byte strings decide
//! over characters that hold no more strongly than they do.

use super::{Expr, Function};
use crate::expr::ResultType;
use crate::{Charset, Collation, ColumnType, Value};

/// How strongly an expression holds to its collation: the lower one decides. The numbers are those
/// of COERCIBILITY().
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coercibility {
    /// A COLLATE clause.
    Explicit,
    /// Strings of two collations that have none in common.
    NoCollation,
    /// A column, a user variable, a CAST.
    Implicit,
    /// USER(), VERSION(), a system variable.
    SystemConstant,
    /// A literal, or a text made of numbers.
    Coercible,
    /// A number, a date or a time.
    Numeric,
    /// NULL.
    Ignorable,
}

impl Coercibility {
    fn name(self) -> &'static str {
        match self {
            Coercibility::Explicit => "EXPLICIT",
            Coercibility::NoCollation => "NONE",
            Coercibility::Implicit => "IMPLICIT",
            Coercibility::SystemConstant => "SYSCONST",
            Coercibility::Coercible => "COERCIBLE",
            Coercibility::Numeric => "NUMERIC",
            Coercibility::Ignorable => "IGNORABLE",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Derivation {
    /// [`Collation::Binary`] is that of byte strings. None: the value is no string.
    pub collation: Option<Collation>,
    pub coercibility: Coercibility,
    /// Every value has characters of ASCII only: it is a text of every character set.
    pub is_ascii: bool,
}

impl Derivation {
    pub const NUMERIC: Derivation =
        Derivation { collation: None, coercibility: Coercibility::Numeric, is_ascii: true };
    pub const NULL: Derivation =
        Derivation { collation: None, coercibility: Coercibility::Ignorable, is_ascii: true };

    pub fn new(collation: Collation, coercibility: Coercibility) -> Derivation {
        let is_ascii = collation.charset() == Charset::Ascii;
        Derivation { collation: Some(collation), coercibility, is_ascii }
    }
    /// The same, where every value has characters of ASCII only.
    pub fn ascii(collation: Collation, coercibility: Coercibility) -> Derivation {
        Derivation { is_ascii: true, ..Derivation::new(collation, coercibility) }
    }
    /// Of a value of a type; one that is no string is numeric.
    pub fn of_type(column_type: Option<&ColumnType>, coercibility: Coercibility) -> Derivation {
        match column_type {
            None => Derivation::NULL,
            Some(own) if own.is_binary() => Derivation::new(Collation::Binary, coercibility),
            // Its text is in this collation.
            Some(ColumnType::Json) => {
                Derivation::new(Collation::Utf8mb4Bin, Coercibility::Implicit)
            }
            Some(own) => match own.collation() {
                Some(collation) => Derivation::new(collation, coercibility),
                None => Derivation::NUMERIC,
            },
        }
    }
    fn shown(self) -> String {
        let collation = self.collation.map_or("binary", Collation::name);
        format!("({collation},{})", self.coercibility.name())
    }
}

/// Operands whose collations do not mix: errors 1267, 1270 and 1271.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollationMix {
    pub operands: Vec<Derivation>,
    pub operation: String,
}

impl CollationMix {
    /// MySQL's error number.
    pub fn code(&self) -> u16 {
        match self.operands.len() {
            2 => 1267,
            3 => 1270,
            _ => 1271,
        }
    }
    pub fn message(&self) -> String {
        let shown: Vec<String> = self.operands.iter().map(|operand| operand.shown()).collect();
        let operation = &self.operation;
        match shown.as_slice() {
            [a, b] => {
                format!("Illegal mix of collations {a} and {b} for operation '{operation}'")
            }
            [a, b, c] => {
                format!("Illegal mix of collations {a}, {b}, {c} for operation '{operation}'")
            }
            _ => format!("Illegal mix of collations for operation '{operation}'"),
        }
    }
}

/// Two operands together.
enum Pair {
    Both(Derivation),
    /// Two COLLATE clauses that differ.
    Explicit,
    /// Two character sets neither of which has all characters of the other.
    NoCharset,
}

fn combine(a: Derivation, b: Derivation) -> Pair {
    use std::cmp::Ordering;
    let is_ascii = a.is_ascii && b.is_ascii;
    let both = |decides: Derivation| Pair::Both(Derivation { is_ascii, ..decides });
    let (Some(own), Some(other)) = (a.collation, b.collation) else {
        return both(if b.coercibility < a.coercibility { b } else { a });
    };
    let are_explicit =
        a.coercibility == Coercibility::Explicit && b.coercibility == Coercibility::Explicit;
    if own != other && are_explicit {
        return Pair::Explicit;
    }
    if own.is_binary() != other.is_binary() {
        // Bytes decide among equals.
        let (bytes, text) = if own.is_binary() { (a, b) } else { (b, a) };
        return both(if bytes.coercibility <= text.coercibility { bytes } else { text });
    }
    if own.charset() != other.charset() {
        let gives_way = |weaker: Derivation, stronger: Derivation| {
            stronger.coercibility < weaker.coercibility
                && Coercibility::SystemConstant <= weaker.coercibility
        };
        return if is_superset(a, b) {
            both(a)
        } else if is_superset(b, a) {
            both(b)
        } else if gives_way(b, a) {
            both(a)
        } else if gives_way(a, b) {
            both(b)
        } else {
            Pair::NoCharset
        };
    }
    both(match a.coercibility.cmp(&b.coercibility) {
        Ordering::Less => a,
        Ordering::Greater => b,
        Ordering::Equal if own == other => a,
        // One of them pads and the other one does not.
        Ordering::Equal if own.is_bin() && other.is_bin() => {
            Derivation::new(own, Coercibility::NoCollation)
        }
        Ordering::Equal if own.is_bin() => a,
        Ordering::Equal if other.is_bin() => b,
        Ordering::Equal => {
            Derivation::new(own.charset().bin_collation(), Coercibility::NoCollation)
        }
    })
}

/// Whether the texts of the right one become texts of the left one because of their character sets.
fn is_superset(left: Derivation, right: Derivation) -> bool {
    let charset = |own: Derivation| own.collation.map_or(Charset::Binary, Collation::charset);
    let (own, other) = (charset(left), charset(right));
    if right.coercibility < left.coercibility {
        return false;
    }
    let is_stronger = left.coercibility < right.coercibility;
    let to_unicode =
        own.is_unicode() && (is_stronger || !other.is_unicode() || own == Charset::Utf8mb4);
    let from_ascii = other == Charset::Ascii && (is_stronger || own != Charset::Ascii);
    to_unicode || from_ascii
}

/// What the operands have together; `connection` is the collation of a text that is made of numbers
/// alone. A comparison needs a collation in common, a text that is put together does not.
pub fn aggregate(
    operands: &[Derivation],
    is_comparison: bool,
    connection: Collation,
    operation: &str,
) -> Result<Derivation, CollationMix> {
    let mut all: Option<Derivation> = None;
    let mut has_no_charset = false;
    for operand in operands {
        all = match all {
            None => Some(*operand),
            Some(all) => match combine(all, *operand) {
                Pair::Both(all) => Some(all),
                Pair::Explicit => return Err(mix(operands, operation)),
                // A COLLATE clause of a later operand may decide.
                Pair::NoCharset => {
                    has_no_charset = true;
                    Some(Derivation::new(Collation::Binary, Coercibility::NoCollation))
                }
            },
        };
    }
    let all = all.unwrap_or(Derivation::NULL);
    if has_no_charset && all.coercibility != Coercibility::Explicit {
        return Err(mix(operands, operation));
    }
    if is_comparison && all.coercibility == Coercibility::NoCollation {
        return Err(mix(operands, operation));
    }
    if all.collation.is_none() {
        return Ok(Derivation::ascii(connection, Coercibility::Coercible));
    }
    Ok(all)
}

pub(super) fn mix(operands: &[Derivation], operation: &str) -> CollationMix {
    CollationMix { operands: operands.to_vec(), operation: operation.into() }
}

/// The known properties of the columns and parameters of an expression, and of its session.
#[derive(Clone, Copy)]
pub struct Typing<'a> {
    pub columns: &'a [ResultType],
    /// How strongly columns hold to their collations; those behind the end are implicit.
    pub column_coercibilities: &'a [Coercibility],
    pub params: &'a [ResultType],
    /// Of the parameters, one each.
    pub param_derivations: &'a [Derivation],
    /// The values of the statement's parameters, where they are known. Those behind the end are
    /// supplied while it runs.
    pub param_values: &'a [Value],
    /// Of literals, and of texts that functions make of numbers.
    pub connection: Collation,
}

impl Typing<'_> {
    /// The collation of `expr` and how strongly it holds to it. Conversions that
    /// [`super::settle_node`] has put around an operand do not count: they say what its operator
    /// decided, not what the operand brings along.
    pub fn derivation(&self, expr: &Expr) -> Derivation {
        match expr {
            Expr::Const(Value::Null) => Derivation::NULL,
            Expr::Const(Value::Text(text, collation)) => Derivation {
                is_ascii: text.is_ascii(),
                ..Derivation::new(*collation, Coercibility::Coercible)
            },
            Expr::Const(Value::Label(_, labels)) => {
                Derivation::new(labels.collation(), Coercibility::Implicit)
            }
            Expr::Const(Value::Bytes(_)) => {
                Derivation::new(Collation::Binary, Coercibility::Coercible)
            }
            Expr::Const(Value::Json(_)) => {
                Derivation::new(Collation::Utf8mb4Bin, Coercibility::Implicit)
            }
            Expr::Const(_) => Derivation::NUMERIC,
            Expr::Column(position) => {
                let position = usize::from(*position);
                let own = self.column_coercibilities.get(position);
                let coercibility = own.copied().unwrap_or(Coercibility::Implicit);
                let column_type = self.columns[position].column_type.as_ref();
                let own = Derivation::of_type(column_type, coercibility);
                // Which characters the literals of a derived table have is not known here.
                let is_literal = Coercibility::SystemConstant <= coercibility;
                Derivation { is_ascii: own.is_ascii || is_literal, ..own }
            }
            Expr::Param(position) => self.param_derivations[usize::from(*position)],
            Expr::Cast(_, target) => Derivation::of_type(Some(target), Coercibility::Implicit),
            Expr::Collate(operand, collation) => match self.derivation(operand).collation {
                Some(own) if own.is_binary() => Derivation::new(own, Coercibility::Explicit),
                _ => Derivation {
                    is_ascii: self.derivation(operand).is_ascii,
                    ..Derivation::new(*collation, Coercibility::Explicit)
                },
            },
            Expr::Convert(operand, _) | Expr::InCollation(operand, _) => self.derivation(operand),
            Expr::Case { branches, otherwise, .. } => {
                self.combined(branches.iter().map(|(_, then)| then).chain(otherwise.as_deref()))
            }
            Expr::Interval { operand, .. } => match self.derivation(operand).collation {
                Some(_) => Derivation::ascii(self.connection, Coercibility::Coercible),
                None => Derivation::NUMERIC,
            },
            Expr::Function(function, arguments) => self.derivation_of_call(*function, arguments),
            Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::And(_)
            | Expr::Or(_)
            | Expr::IsNull(..)
            | Expr::IsTruth(..)
            | Expr::Between { .. }
            | Expr::In { .. }
            | Expr::Like { .. } => Derivation::NUMERIC,
        }
    }

    fn derivation_of_call(&self, function: Function, arguments: &[Expr]) -> Derivation {
        if function == Function::JsonValue {
            let own = super::functions::returned_type(arguments);
            return Derivation::of_type(own.as_ref(), Coercibility::Implicit);
        }
        match text_source(function, arguments.len()) {
            TextSource::NoText => Derivation::NUMERIC,
            TextSource::Connection => {
                // The names of days and months are of the session's language, which is an argument
                // where it is not English.
                let is_english = |count: usize| arguments.len() == count;
                let is_ascii = match function {
                    Function::DayName | Function::MonthName => is_english(1),
                    Function::DateFormat | Function::FromUnixtime => {
                        is_english(2) && self.derivation(&arguments[1]).is_ascii
                    }
                    Function::TimeFormat => self.derivation(&arguments[1]).is_ascii,
                    _ => true,
                };
                Derivation {
                    is_ascii,
                    ..Derivation::ascii(self.connection, Coercibility::Coercible)
                }
            }
            TextSource::Bytes => Derivation::new(Collation::Binary, Coercibility::Coercible),
            TextSource::Document => Derivation::new(Collation::Utf8mb4Bin, Coercibility::Implicit),
            TextSource::DocumentText => {
                Derivation::new(Collation::Utf8mb4Bin, Coercibility::Coercible)
            }
            TextSource::FirstIfText => match self.derivation(&arguments[0]).collation {
                Some(_) => Derivation::ascii(self.connection, Coercibility::Coercible),
                None => Derivation::NUMERIC,
            },
            TextSource::Arguments(positions) => {
                let own = positions.iter().map(|&position| &arguments[position]);
                let all = self.combined(own);
                match all.collation {
                    Some(_) => all,
                    None => Derivation::ascii(self.connection, Coercibility::Coercible),
                }
            }
            TextSource::Branches(positions) => {
                self.combined(positions.iter().map(|&position| &arguments[position]))
            }
        }
    }

    /// Of the value that one of these is. Collations that do not mix were refused when the
    /// expression was made.
    fn combined<'e>(&self, branches: impl Iterator<Item = &'e Expr>) -> Derivation {
        let all =
            branches.map(|branch| self.derivation(branch)).reduce(|a, b| match combine(a, b) {
                Pair::Both(all) => all,
                Pair::Explicit => a,
                Pair::NoCharset => Derivation::new(Collation::Binary, Coercibility::NoCollation),
            });
        all.unwrap_or(Derivation::NULL)
    }

    /// The collation the value of `expr` has when it is a text: what [`Typing::derivation`] says,
    /// unless a conversion around the operand decides.
    pub(super) fn value_collation(&self, expr: &Expr) -> Option<Collation> {
        match expr {
            Expr::Convert(_, target) => {
                Derivation::of_type(Some(target), Coercibility::Implicit).collation
            }
            Expr::InCollation(operand, collation) => {
                self.value_collation(operand).map(|own| match own.is_binary() {
                    true => own,
                    false => *collation,
                })
            }
            Expr::Function(Function::DeclaredText, _) => Some(Collation::DEFAULT),
            _ => self.derivation(expr).collation,
        }
    }
}

/// Where a function's text comes from, and with it the text's collation.
pub(super) enum TextSource {
    /// It makes none.
    NoText,
    /// It makes bytes.
    Bytes,
    /// It makes a JSON document.
    Document,
    /// It makes a text of a JSON document: of the collation that JSON text has.
    DocumentText,
    /// It is made of numbers, dates or digests: the connection's.
    Connection,
    /// A date or a time, or the connection's text if the first argument is one.
    FirstIfText,
    /// It is put together of these arguments.
    Arguments(Vec<usize>),
    /// It is one of these arguments.
    Branches(Vec<usize>),
}

pub(super) fn text_source(function: Function, count: usize) -> TextSource {
    use Function::*;
    let some = |positions: &[usize]| {
        TextSource::Arguments(positions.iter().copied().filter(|at| *at < count).collect())
    };
    match function {
        Hex | Bin | Oct | Conv | Format | Md5 | Sha1 | Sha2 | ToBase64 | Space | InetNtoa
        | Inet6Ntoa | BinToUuid | DayName | MonthName | DateFormat | TimeFormat => {
            TextSource::Connection
        }
        FromUnixtime if count == 2 => TextSource::Connection,
        AddTime | SubTime => TextSource::FirstIfText,
        Unhex | FromBase64 | UuidToBin | Inet6Aton | RowKey | Char | BitBytes => TextSource::Bytes,
        Concat | ConcatWs | Ltrim | Rtrim | Trim => TextSource::Arguments((0..count).collect()),
        MakeSet => TextSource::Arguments((1..count).collect()),
        Lower | Upper | Left | Right | Substring | Repeat | Reverse | Soundex | Quote => some(&[0]),
        SubstringIndex | RegexpSubstr => some(&[0, 1]),
        Replace | RegexpReplace => some(&[0, 1, 2]),
        Lpad | Rpad => some(&[0, 2]),
        Insert => some(&[0, 3]),
        ExportSet => some(&[1, 2, 3]),
        If => TextSource::Branches(vec![1, 2]),
        IfNull | Coalesce | Greatest | Least => TextSource::Branches((0..count).collect()),
        NullIf => TextSource::Branches(vec![0]),
        Elt => TextSource::Arguments((1..count).collect()),
        FullYear => TextSource::Branches(vec![0]),
        // Put around an operand that is read as a text: the operand's own number or time.
        DeclaredText => TextSource::NoText,
        Abs | Ceiling | Floor | Round | Truncate | Sign | Mod | Power | Sqrt | Exp | Ln | Log
        | Log2 | Log10 | Pi | Sin | Cos | Tan | Asin | Acos | Atan | Atan2 | Cot | Degrees
        | Radians | Crc32 | Isnull | Interval | Length | CharLength | BitLength | Locate
        | Instr | Ascii | Ord | Strcmp | Field | FindInSet | Date | Time | Year | Quarter
        | Month | Week | DayOfMonth | DayOfWeek | DayOfYear | Weekday | Hour | Minute | Second
        | Microsecond | DateDiff | TimeDiff | ToDays | FromDays | LastDay | MakeDate | MakeTime
        | StrToDate | UnixTimestamp | FromUnixtime | SecToTime | TimeToSec | TimestampDiff
        | Extract | InetAton | RegexpLike | RegexpInstr | BitCount | YearWeek | WeekOfYear
        | PeriodAdd | PeriodDiff | Timestamp | ToSeconds | ConvertTz | UtcToLocal | LocalToUtc
        | IsIpv4 | IsIpv6 | IsUuid | Panic | Divide => TextSource::NoText,
        JsonContains | JsonContainsPath | JsonOverlaps | MemberOf | JsonDepth | JsonLength
        | JsonValid | JsonStorageSize | JsonStorageFree | JsonValue => TextSource::NoText,
        JsonArray | JsonObject | JsonScalar | JsonExtract | JsonKeys | JsonSearch
        | JsonArrayAppend | JsonArrayInsert | JsonInsert | JsonReplace | JsonSet | JsonRemove
        | JsonMergePatch | JsonMergePreserve => TextSource::Document,
        JsonQuote | JsonUnquote | JsonType | JsonPretty => TextSource::DocumentText,
    }
}
