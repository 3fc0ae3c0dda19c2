//! The built-in functions of rows: every [`Function`] on evaluated arguments.
//!
//! Unless said otherwise a NULL argument makes the result NULL. Functions of strings count characters for text and
//! bytes for binary strings: a binary string goes through the same code with each byte as one character
//! ([`Strings`]). Results longer than max_allowed_packet are NULL with a warning, found out before they are built.

mod digest;
mod format;
mod json;
mod json_value;
mod math;
mod names;
mod network;
mod regexp;
mod string;
mod temporal;

use std::borrow::Cow;

pub(super) use json::document_error;
pub use json_value::{JsonResponse, json_value_default};
pub(super) use json_value::{json_number, returned_type};
pub(super) use regexp::RegexCache;

use super::{EvalContext, EvalError, Function};
use crate::convert::{self, to_bytes, to_text};
use crate::{Collation, Date, DateTime, Decimal, Time, Value, ValueRef};

/// The arguments of a call.
struct Call<'v, 'c, 'p> {
    function: Function,
    values: &'v [ValueRef<'v>],
    ctx: &'c mut EvalContext<'p>,
}

/// The value of `function` of `values`; their number was checked when the expression was made.
pub(super) fn call(
    function: Function,
    values: &[ValueRef<'_>],
    ctx: &mut EvalContext<'_>,
) -> Result<Value, EvalError> {
    let max = ctx.max_allowed_packet;
    let takes_null = matches!(
        function,
        Function::Isnull
            | Function::Interval
            | Function::ConcatWs
            | Function::Elt
            | Function::Field
            | Function::Char
            | Function::Quote
            | Function::MakeSet
            | Function::Round
            | Function::IsIpv4
            | Function::IsIpv6
            | Function::JsonArray
            | Function::JsonObject
            | Function::JsonSearch
            | Function::JsonArrayAppend
            | Function::JsonArrayInsert
            | Function::JsonInsert
            | Function::JsonReplace
            | Function::JsonSet
            | Function::JsonMergePatch
            | Function::JsonValue
    );
    if !takes_null && values.iter().any(ValueRef::is_null) {
        return Ok(Value::Null);
    }
    let read: usize = values.iter().map(ValueRef::held_bytes).sum();
    ctx.spend(read * work_per_byte(function))?;
    let mut call = Call { function, values, ctx };
    let result = call.dispatch()?;
    call.ctx.spend(result.held_bytes())?;
    Ok(if result.held_bytes() > max { call.too_long() } else { result })
}

/// Work per byte of the arguments beyond that of reading them: nanoseconds, by measurement. Regular expressions count their own.
fn work_per_byte(function: Function) -> usize {
    use Function::*;
    match function {
        Length | BitLength => 0,
        CharLength | Concat | ConcatWs | Left | Right | Substring | Insert | Elt | MakeSet
        | ExportSet | Ascii | Ord | Repeat | Ltrim | Rtrim | Trim | BitCount | Crc32 | Md5
        | Sha1 | Sha2 => 3,
        Replace => 30,
        Locate | Instr | SubstringIndex | FindInSet => 20,
        // Every match is a step of its own.
        RegexpReplace => 150,
        DateFormat | TimeFormat | StrToDate => 100,
        // These count what they parse and walk through; a path leads past most of a document.
        JsonUnquote | JsonExtract | JsonContains | JsonContainsPath | JsonKeys | JsonSearch
        | JsonArrayAppend | JsonArrayInsert | JsonInsert | JsonReplace | JsonSet | JsonRemove
        | JsonMergePatch | JsonMergePreserve | JsonDepth | JsonLength | JsonType | JsonValid
        | JsonPretty | JsonStorageSize | JsonStorageFree | JsonValue => 1,
        JsonArray | JsonObject | JsonScalar | MemberOf | JsonOverlaps => 20,
        _ => 15,
    }
}

impl<'v> Call<'v, '_, '_> {
    fn dispatch(&mut self) -> Result<Value, EvalError> {
        use Function::*;
        match self.function {
            Abs | Ceiling | Floor | Round | Truncate | Sign | Mod | Power | Sqrt | Exp | Ln
            | Log | Log2 | Log10 | Pi | Sin | Cos | Tan | Asin | Acos | Atan | Atan2 | Cot
            | Degrees | Radians | Conv | Bin | Oct | Greatest | Least | Interval | BitCount
            | Divide => self.math(),
            If | IfNull | NullIf | Coalesce => {
                unreachable!("evaluated lazily, before their arguments are")
            }
            Isnull => Ok(Value::from(i64::from(self.values[0].is_null()))),
            Concat | ConcatWs | Length | CharLength | BitLength | Lower | Upper | Left | Right
            | Substring | SubstringIndex | Locate | Instr | Replace | Repeat | Reverse | Lpad
            | Rpad | Ltrim | Rtrim | Trim | Space | Ascii | Ord | Char | Strcmp | Insert | Elt
            | Field | FindInSet | Format | Quote | MakeSet | ExportSet | Soundex => {
                Ok(self.string())
            }
            Crc32 | Hex | Unhex | Md5 | Sha1 | Sha2 | ToBase64 | FromBase64 | UuidToBin
            | BinToUuid | IsUuid | RowKey => self.digest(),
            InetAton | InetNtoa | Inet6Aton | Inet6Ntoa | IsIpv4 | IsIpv6 => Ok(self.network()),
            RegexpLike | RegexpReplace | RegexpSubstr | RegexpInstr => self.regexp(),
            DateFormat | TimeFormat | StrToDate => Ok(self.format()),
            Date | Time | Year | Quarter | Month | Week | DayOfMonth | DayOfWeek | DayOfYear
            | Weekday | DayName | MonthName | Hour | Minute | Second | Microsecond | DateDiff
            | TimeDiff | ToDays | FromDays | LastDay | MakeDate | MakeTime | UnixTimestamp
            | FromUnixtime | SecToTime | TimeToSec | AddTime | SubTime | TimestampDiff
            | Extract | YearWeek | WeekOfYear | PeriodAdd | PeriodDiff | Timestamp | ToSeconds
            | ConvertTz | UtcToLocal | LocalToUtc | DeclaredText => self.temporal(),
            BitBytes => Ok(self.bit_bytes()),
            FullYear => Ok(self.full_year()),
            JsonArray | JsonObject | JsonScalar | JsonQuote | JsonUnquote | JsonExtract
            | JsonContains | JsonContainsPath | JsonKeys | JsonSearch | JsonOverlaps | MemberOf
            | JsonArrayAppend | JsonArrayInsert | JsonInsert | JsonReplace | JsonSet
            | JsonRemove | JsonMergePatch | JsonMergePreserve | JsonDepth | JsonLength
            | JsonType | JsonValid | JsonPretty | JsonStorageSize | JsonStorageFree => self.json(),
            JsonValue => self.json_value(),
            Panic => {
                assert!(!crate::contain::may_tests_panic(), "SKARV_PANIC was evaluated");
                Ok(Value::Null)
            }
        }
    }

    fn has(&self, position: usize) -> bool {
        position < self.values.len()
    }
    fn text(&self, position: usize) -> Cow<'v, str> {
        to_text(self.values[position])
    }
    fn bytes(&self, position: usize) -> Cow<'v, [u8]> {
        to_bytes(self.values[position])
    }
    /// An integer argument, saturated to 64 bits with sign.
    fn int(&mut self, position: usize) -> i64 {
        let number = convert::to_integer(self.values[position], &mut self.ctx.convert);
        number.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }
    fn wide(&mut self, position: usize) -> i128 {
        convert::to_integer(self.values[position], &mut self.ctx.convert)
    }
    fn f64(&mut self, position: usize) -> f64 {
        convert::to_f64(self.values[position], &mut self.ctx.convert)
    }
    fn decimal(&mut self, position: usize) -> Decimal {
        convert::to_decimal(self.values[position], &mut self.ctx.convert)
    }
    fn datetime(&mut self, position: usize) -> Option<DateTime> {
        convert::to_datetime(self.values[position], &mut self.ctx.convert)
    }
    /// Zero and partial dates included.
    fn fuzzy(&mut self, position: usize) -> Option<DateTime> {
        convert::to_fuzzy_datetime(self.values[position], &mut self.ctx.convert)
    }
    fn date(&mut self, position: usize) -> Option<Date> {
        convert::to_date(self.values[position], &mut self.ctx.convert)
    }
    fn time(&mut self, position: usize) -> Option<Time> {
        convert::to_time(self.values[position], &mut self.ctx.convert)
    }

    /// The strings at `positions`, made comparable with each other.
    fn strings<const N: usize>(&self, positions: [usize; N]) -> Strings<'v, N> {
        let of = |position: usize| self.values[position];
        let binary = positions.iter().any(|&p| matches!(of(p), ValueRef::Bytes(_)));
        let collation = first_collation(positions.iter().map(|&position| of(position)));
        let items = positions.map(|position| {
            let value = of(position);
            if binary { Cow::Owned(widen(&to_bytes(value))) } else { to_text(value) }
        });
        let collation = if binary { Collation::Utf8mb4Bin } else { collation };
        Strings { binary, collation, items, max: self.ctx.max_allowed_packet }
    }

    /// A result of plain text, in the default collation.
    fn plain(&self, text: impl AsRef<str>) -> Value {
        Value::text(text.as_ref(), Collation::DEFAULT)
    }

    /// NULL and warning 1301.
    fn too_long(&mut self) -> Value {
        let name = self.function.name().to_lowercase();
        let max = self.ctx.max_allowed_packet;
        let message =
            format!("Result of {name}() was larger than max_allowed_packet ({max}) - truncated");
        self.ctx.convert.warn(1301, message);
        Value::Null
    }
}

/// The collation of the texts among the arguments, which all have the same.
fn first_collation<'v>(mut values: impl Iterator<Item = ValueRef<'v>>) -> Collation {
    values.find_map(|value| value.collation()).unwrap_or(Collation::DEFAULT)
}

/// Each byte as the character of the same number, so that functions of characters work on bytes.
fn widen(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}

fn narrow(text: &str) -> Box<[u8]> {
    text.chars().map(|c| u8::try_from(u32::from(c)).expect("made of bytes by widen")).collect()
}

/// String arguments as characters: those of text, or the bytes of binary strings if any of them is one.
struct Strings<'v, const N: usize> {
    binary: bool,
    collation: Collation,
    items: [Cow<'v, str>; N],
    max: usize,
}

impl<const N: usize> Strings<'_, N> {
    /// A result made of characters of these strings.
    fn result(&self, text: &str) -> Value {
        if self.binary { Value::Bytes(narrow(text)) } else { Value::text(text, self.collation) }
    }
}
