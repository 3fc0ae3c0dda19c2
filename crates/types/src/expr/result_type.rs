//! The static type of an expression: what result sets announce and what CREATE TABLE ... SELECT makes of it.
//!
//! Follows MySQL's rules of kinds, precisions and lengths; where those are intricate (lengths of strings made of
//! numbers) the length is an upper bound. Values carry their kind; [`super::settle_node`] sees to it that it is the static one.

use super::{BinaryOp, Expr, Function, IntervalUnit, UnaryOp};
use crate::decimal::{DIV_PRECISION_INCREMENT, PRECISION_MAX, SCALE_MAX};
use crate::display::DECIMALS_MAX;
use crate::temporal::Locale;
use crate::{Collation, ColumnType, IntWidth, Labels, NumberDisplay, Value};

/// The type of a column, a parameter or an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultType {
    /// None: the NULL literal, which fits every type; a result set announces it as binary of length 0.
    pub column_type: Option<ColumnType>,
    pub nullable: bool,
    /// How a number is shown: that of a column, and the digits behind the point of what is computed of FLOAT(M,D).
    pub display: NumberDisplay,
}

impl ResultType {
    pub fn of(column_type: Option<ColumnType>, nullable: bool) -> ResultType {
        ResultType { column_type, nullable, display: NumberDisplay::default() }
    }
    pub fn new(column_type: ColumnType, nullable: bool) -> ResultType {
        ResultType::of(Some(column_type), nullable)
    }
    /// A floating point number that is shown with so many digits behind the point, at most those that a FLOAT(M,D) may
    /// have.
    fn with_decimals(self, decimals: Option<u8>) -> ResultType {
        let is_float = matches!(self.column_type, Some(ColumnType::Float | ColumnType::Double));
        let decimals = decimals.filter(|decimals| is_float && *decimals <= DECIMALS_MAX);
        ResultType { display: NumberDisplay::of_decimals(decimals), ..self }
    }
    /// The digits behind the point that are shown of the number, as far as they are fixed.
    fn fixed_decimals(&self) -> Option<u8> {
        match &self.column_type {
            None => Some(0),
            Some(ColumnType::Float | ColumnType::Double) => self.display.decimals,
            Some(_) => self.exact_digits().map(|(_, scale)| scale),
        }
    }
    /// What an aggregate or a function that returns one of its values makes of a value of the type: it is no column's.
    pub fn of_value(&self, nullable: bool) -> ResultType {
        let width = self.display.width.filter(|_| self.display.decimals.is_some());
        let display = NumberDisplay { width, is_zerofill: false, ..self.display };
        ResultType { column_type: self.column_type.clone(), nullable, display }
    }
    /// Precision and scale as an exact number; None if it is not one.
    pub fn exact_digits(&self) -> Option<(u8, u8)> {
        match self.column_type.as_ref()? {
            ColumnType::Int { width, unsigned } => {
                let precision = match (width, unsigned) {
                    (IntWidth::W1, _) => 3,
                    (IntWidth::W2, _) => 5,
                    (IntWidth::W3, _) => 8,
                    (IntWidth::W4, _) => 10,
                    (IntWidth::W8, false) => 19,
                    (IntWidth::W8, true) => 20,
                };
                Some((precision, 0))
            }
            ColumnType::Decimal { precision, scale, .. } => Some((*precision, *scale)),
            ColumnType::Year => Some((4, 0)),
            ColumnType::Bit { .. } => Some((20, 0)),
            _ => None,
        }
    }
    /// The labels of an ENUM or a SET.
    pub fn labels(&self) -> Option<&Labels> {
        self.column_type.as_ref().and_then(ColumnType::labels)
    }
    fn is_integer(&self) -> bool {
        self.column_type.as_ref().is_some_and(ColumnType::is_integer)
    }
    fn is_unsigned(&self) -> bool {
        self.column_type.as_ref().is_some_and(ColumnType::is_unsigned)
    }
    /// Characters of the value as text; for text its own length.
    fn text_length(&self) -> u32 {
        match &self.column_type {
            None => 0,
            Some(ColumnType::Char { length, .. } | ColumnType::Varchar { length, .. }) => *length,
            Some(ColumnType::Binary { length } | ColumnType::Varbinary { length }) => *length,
            Some(ColumnType::Text { bytes_max, .. } | ColumnType::Blob { bytes_max }) => *bytes_max,
            Some(ColumnType::Labelled(labels)) => labels.length_max(),
            Some(column_type) if self.display.has_text(column_type) => {
                let fill = u32::from(self.display.fill(column_type));
                let decimals = self.display.decimals.map_or(0, |decimals| u32::from(decimals) + 1);
                // A FLOAT has up to 39 digits before the point, a DOUBLE 309.
                let whole = match (column_type, self.display.limit()) {
                    (ColumnType::Float, None) if decimals != 0 => 40,
                    (ColumnType::Double, None) if decimals != 0 => 310,
                    (_, Some(_)) => u32::from(self.display.width.unwrap_or_default()),
                    _ => column_type.display_length(),
                };
                fill.max(whole + decimals + 1)
            }
            Some(ColumnType::Double) => 23,
            Some(ColumnType::Float) => 12,
            // Its 0 before the point is no digit of it.
            Some(ColumnType::Decimal { precision, scale, .. }) if precision == scale => {
                u32::from(*precision) + 3
            }
            Some(other) => other.display_length(),
        }
    }
    fn is_binary(&self) -> bool {
        self.column_type.as_ref().is_some_and(ColumnType::is_binary)
    }
    fn collation(&self) -> Option<Collation> {
        self.column_type.as_ref().and_then(ColumnType::collation)
    }
}

const fn bigint(unsigned: bool) -> ColumnType {
    ColumnType::Int { width: IntWidth::W8, unsigned }
}

fn decimal(precision: u32, scale: u32) -> ColumnType {
    let scale = scale.min(u32::from(SCALE_MAX));
    let precision = precision.clamp(scale.max(1), u32::from(PRECISION_MAX));
    ColumnType::Decimal { precision: precision as u8, scale: scale as u8, unsigned: false }
}

/// Bytes of the longest VARCHAR; longer results are LONGTEXT.
const VARCHAR_SIZE_MAX: u32 = 65_535;

fn text_type(length: u64, binary: bool, collation: Collation) -> ColumnType {
    match (u32::try_from(length).unwrap_or(u32::MAX), binary) {
        (length, true) if length <= 65_535 => ColumnType::Varbinary { length },
        (_, true) => ColumnType::Blob { bytes_max: u32::MAX },
        (length, false)
            if length <= VARCHAR_SIZE_MAX / collation.charset().character_size_max() =>
        {
            ColumnType::Varchar { length, collation }
        }
        (_, false) => ColumnType::Text { bytes_max: u32::MAX, collation },
    }
}

fn value_type(value: &Value) -> ResultType {
    // As many digits as it takes.
    let fsp =
        |micros: u32| (0..6).find(|n| micros.is_multiple_of(10u32.pow(6 - n))).unwrap_or(6) as u8;
    let column_type = match value {
        Value::Null => return ResultType::of(None, true),
        Value::Int(_) => bigint(false),
        Value::UInt(_) => bigint(true),
        Value::Float(_) => ColumnType::Float,
        Value::Double(_) => ColumnType::Double,
        Value::Decimal(v) => {
            let scale = u32::from(v.shown_scale());
            decimal(v.integer_digits() + scale, scale)
        }
        Value::Text(text, collation) => text_type(text.chars().count() as u64, false, *collation),
        Value::Bytes(bytes) => text_type(bytes.len() as u64, true, Collation::Binary),
        Value::Date(_) => ColumnType::Date,
        Value::Time(v) => ColumnType::Time { fsp: fsp(v.microsecond()) },
        Value::DateTime(v) => ColumnType::DateTime { fsp: fsp(v.microsecond()) },
        Value::Label(_, labels) => ColumnType::Labelled(labels.clone()),
        Value::Json(_) => ColumnType::Json,
    };
    ResultType::new(column_type, false)
}

/// The type two branches of CASE, COALESCE, IF or UNION share.
pub fn merge_types(a: &ResultType, b: &ResultType) -> ResultType {
    let nullable = a.nullable || b.nullable;
    let (Some(type_a), Some(type_b)) = (&a.column_type, &b.column_type) else {
        let known = a.column_type.as_ref().or(b.column_type.as_ref());
        let decimals = a.display.decimals.or(b.display.decimals);
        return ResultType::of(known.map(branch_type), nullable).with_decimals(decimals);
    };
    let decimals = a.fixed_decimals().zip(b.fixed_decimals()).map(|(a, b)| a.max(b));
    if type_a == type_b {
        return ResultType::new(branch_type(type_a), nullable).with_decimals(decimals);
    }
    let (type_a, type_b) = (&type_a.of_operator(), &type_b.of_operator());
    let float =
        |column_type: &ColumnType| matches!(column_type, ColumnType::Float | ColumnType::Double);
    let column_type = match (type_a, type_b) {
        (
            ColumnType::Int { width: width_a, unsigned: unsigned_a },
            ColumnType::Int { width: width_b, unsigned: unsigned_b },
        ) => {
            let width = *width_a.max(width_b);
            let unsigned_width = if *unsigned_a { width_a } else { width_b };
            match (unsigned_a == unsigned_b, width) {
                (true, width) => ColumnType::Int { width, unsigned: *unsigned_a },
                (false, width) if *unsigned_width < width => {
                    ColumnType::Int { width, unsigned: false }
                }
                // The next wider one holds both; 64 bits with and without a sign share no integer type.
                (false, IntWidth::W8) => decimal(20, 0),
                (false, IntWidth::W4) => bigint(false),
                (false, IntWidth::W3) => ColumnType::Int { width: IntWidth::W4, unsigned: false },
                (false, IntWidth::W2) => ColumnType::Int { width: IntWidth::W3, unsigned: false },
                (false, IntWidth::W1) => ColumnType::Int { width: IntWidth::W2, unsigned: false },
            }
        }
        _ if type_a.is_numeric() && type_b.is_numeric() => {
            // A FLOAT holds three bytes of an integer.
            let fits_float = |own: &ColumnType| match own {
                ColumnType::Int { width, .. } => *width <= IntWidth::W3,
                own => *own == ColumnType::Float,
            };
            if fits_float(type_a) && fits_float(type_b) {
                ColumnType::Float
            } else if float(type_a) || float(type_b) {
                ColumnType::Double
            } else {
                let (precision_a, scale_a) = a.exact_digits().expect("an exact number");
                let (precision_b, scale_b) = b.exact_digits().expect("an exact number");
                let scale = scale_a.max(scale_b);
                let whole = (precision_a - scale_a).max(precision_b - scale_b);
                decimal(u32::from(whole) + u32::from(scale), u32::from(scale))
            }
        }
        (ColumnType::Time { .. }, ColumnType::Time { .. }) => {
            ColumnType::Time { fsp: type_a.fsp().max(type_b.fsp()) }
        }
        _ if type_a.is_temporal() && type_b.is_temporal() => {
            ColumnType::DateTime { fsp: type_a.fsp().max(type_b.fsp()) }
        }
        _ => {
            let length = a.text_length().max(b.text_length());
            let collation = a.collation().or(b.collation()).unwrap_or(Collation::DEFAULT);
            let binary = a.is_binary() || b.is_binary();
            let is_long = |own: &ColumnType| {
                matches!(own, ColumnType::Text { .. } | ColumnType::Blob { .. } | ColumnType::Json)
            };
            match (is_long(type_a) || is_long(type_b), binary) {
                (true, true) => ColumnType::Blob { bytes_max: length },
                (true, false) => ColumnType::Text { bytes_max: length, collation },
                (false, binary) => text_type(u64::from(length), binary, collation),
            }
        }
    };
    ResultType::new(column_type, nullable).with_decimals(decimals)
}

fn merge_all(types: impl Iterator<Item = ResultType>) -> ResultType {
    let none = ResultType::of(None, false);
    let mut types = types.peekable();
    match types.peek() {
        None => ResultType { nullable: true, ..none },
        Some(_) => types.fold(none, |a, b| merge_types(&a, &b)),
    }
}

/// The type of a value that is one of several: a label is a text then, as in MySQL.
fn branch_type(own: &ColumnType) -> ColumnType {
    match own {
        ColumnType::Labelled(_) => own.of_operator(),
        other => other.clone(),
    }
}

/// The type of `expr` over columns and parameters of these types. Positions must exist ([`Expr::check`]).
pub fn result_type(expr: &Expr, columns: &[ResultType], params: &[ResultType]) -> ResultType {
    let of = |expr: &Expr| result_type(expr, columns, params);
    let any_nullable = |exprs: &[&Expr]| exprs.iter().any(|expr| of(expr).nullable);
    match expr {
        Expr::Const(value) => value_type(value),
        Expr::Column(position) => columns[usize::from(*position)].clone(),
        Expr::Param(position) => params[usize::from(*position)].clone(),
        Expr::IsNull(..) | Expr::IsTruth(..) => ResultType::new(bigint(false), false),
        Expr::Unary(UnaryOp::Not, _)
        | Expr::And(_)
        | Expr::Or(_)
        | Expr::Between { .. }
        | Expr::In { .. }
        | Expr::Like { .. } => ResultType::new(bigint(false), any_nullable(&expr.children())),
        Expr::Unary(UnaryOp::BitNot, operand) => {
            ResultType::new(bigint(true), of(operand).nullable)
        }
        Expr::Unary(UnaryOp::Negate, operand) => {
            let inner = of(operand);
            let column_type = match &inner.column_type {
                // A constant beyond BIGINT is negated as a decimal.
                Some(ColumnType::Int { .. }) if matches!(**operand, Expr::Const(Value::UInt(number)) if number > 1 << 63) => {
                    decimal(20, 0)
                }
                Some(own) if own.is_integer() => bigint(false),
                Some(ColumnType::Decimal { precision, scale, .. }) => {
                    decimal(u32::from(*precision), u32::from(*scale))
                }
                _ => ColumnType::Double,
            };
            ResultType::new(column_type, inner.nullable).with_decimals(inner.display.decimals)
        }
        Expr::Binary(op, left, right) => {
            binary_type(*op, &of(left), &of(right), DIV_PRECISION_INCREMENT)
        }
        Expr::Case { branches, otherwise, .. } => {
            let merged = merge_all(
                branches.iter().map(|(_, then)| then).chain(otherwise.as_deref()).map(of),
            );
            let nullable = merged.nullable || otherwise.is_none();
            ResultType { nullable, ..merged }
        }
        Expr::Cast(operand, target) => cast_type(&of(operand), target),
        Expr::Collate(operand, collation) => {
            let inner = of(operand);
            let length = u64::from(inner.text_length());
            ResultType::new(text_type(length, false, *collation), inner.nullable)
        }
        Expr::Convert(operand, target) => ResultType::new(target.clone(), of(operand).nullable),
        Expr::InCollation(operand, collation) => {
            let inner = of(operand);
            let column_type = inner.column_type.map(|own| own.with_collation(*collation));
            ResultType { column_type, ..inner }
        }
        Expr::Interval { operand, amount, unit, .. } => {
            let date_only = super::interval::is_date_unit(*unit);
            let time_only = super::interval::keeps_time(*unit);
            let finer = match unit {
                IntervalUnit::Second => second_digits(amount, &of(amount)),
                _ if format!("{unit:?}").contains("Microsecond") => 6,
                _ => 0,
            };
            let column_type = match of(operand).column_type {
                Some(ColumnType::Date) if date_only => ColumnType::Date,
                Some(ColumnType::Date) => ColumnType::DateTime { fsp: finer },
                Some(ColumnType::Time { fsp }) if time_only => {
                    ColumnType::Time { fsp: fsp.max(finer) }
                }
                Some(
                    ColumnType::Time { fsp }
                    | ColumnType::DateTime { fsp }
                    | ColumnType::Timestamp { fsp },
                ) => ColumnType::DateTime { fsp: fsp.max(finer) },
                other => {
                    let collation = other.and_then(|column_type| column_type.collation());
                    text_type(29, false, collation.unwrap_or(Collation::DEFAULT))
                }
            };
            ResultType::new(column_type, true)
        }
        Expr::Function(function, arguments) => {
            let types: Vec<ResultType> = arguments.iter().map(of).collect();
            function_type(*function, arguments, &types)
        }
    }
}

fn cast_type(inner: &ResultType, target: &ColumnType) -> ResultType {
    let unbounded = u32::MAX;
    let length_of =
        |length: u32| u64::from(if length == unbounded { inner.text_length() } else { length });
    let column_type = match target {
        ColumnType::Varchar { length, collation } | ColumnType::Char { length, collation } => {
            text_type(length_of(*length), false, *collation)
        }
        ColumnType::Binary { length } | ColumnType::Varbinary { length } => {
            text_type(length_of(*length), true, Collation::Binary)
        }
        // Without a length it has that of its operand.
        ColumnType::Text { bytes_max: u32::MAX, collation } => {
            text_type(length_of(unbounded), false, *collation)
        }
        ColumnType::Blob { bytes_max: u32::MAX } => {
            let bytes = inner.collation().map_or(1, |own| own.charset().character_size_max());
            text_type(length_of(unbounded) * u64::from(bytes), true, Collation::Binary)
        }
        other => other.clone(),
    };
    // What spells no date is NULL.
    let can_fail = target.is_temporal();
    ResultType::new(column_type, inner.nullable || can_fail)
}

fn binary_type(op: BinaryOp, left: &ResultType, right: &ResultType, increment: u8) -> ResultType {
    use BinaryOp::*;
    let nullable = left.nullable || right.nullable;
    let unsigned = left.is_unsigned() || right.is_unsigned();
    // A date is a number in arithmetic: whole without a fraction, else decimal.
    let digits = |side: &ResultType| match &side.column_type {
        Some(ColumnType::Date) => Some((8, 0)),
        // hhhmmss
        Some(ColumnType::Time { fsp }) => Some((7 + fsp, *fsp)),
        Some(ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp }) => {
            Some((14 + fsp, *fsp))
        }
        _ => side.exact_digits(),
    };
    let whole = |side: &ResultType| {
        digits(side).is_some_and(|(_, scale)| scale == 0)
            && !matches!(side.column_type, Some(ColumnType::Decimal { .. }))
    };
    match op {
        NullSafeEqual => return ResultType::new(bigint(false), false),
        Equal | NotEqual | Less | LessOrEqual | Greater | GreaterOrEqual | Xor => {
            return ResultType::new(bigint(false), nullable);
        }
        BitAnd | BitOr | BitXor | ShiftLeft | ShiftRight => {
            return ResultType::new(bigint(true), nullable);
        }
        IntegerDivide => return ResultType::new(bigint(unsigned), true),
        Add | Subtract | Multiply | Divide | Modulo => {}
    }
    let divides = matches!(op, Divide | Modulo);
    let column_type = match (digits(left), digits(right)) {
        (Some((precision_a, scale_a)), Some((precision_b, scale_b))) => {
            let (pa, sa) = (u32::from(precision_a), u32::from(scale_a));
            let (pb, sb) = (u32::from(precision_b), u32::from(scale_b));
            if whole(left) && whole(right) && op != Divide {
                bigint(if op == Modulo { left.is_unsigned() } else { unsigned })
            } else {
                let scale = sa.max(sb);
                match op {
                    Multiply => decimal(pa + pb, sa + sb),
                    Divide => {
                        let increment = u32::from(increment);
                        decimal(pa + sb + increment, sa + increment)
                    }
                    Modulo => decimal(pa.max(pb), scale),
                    _ => decimal((pa - sa).max(pb - sb) + scale + 1, scale),
                }
            }
        }
        _ => ColumnType::Double,
    };
    let decimals = left.fixed_decimals().zip(right.fixed_decimals());
    let decimals = decimals.map(|(left, right)| left.max(right));
    let added = if op == Divide { increment } else { 0 };
    let decimals = decimals.map(|decimals| (decimals + added).min(DECIMALS_MAX));
    ResultType::new(column_type, nullable || divides).with_decimals(decimals)
}

fn function_type(function: Function, arguments: &[Expr], types: &[ResultType]) -> ResultType {
    use Function::*;
    let nullable = types.iter().any(|side| side.nullable);
    let first = types.first();
    let collation = types.iter().find_map(ResultType::collation).unwrap_or(Collation::DEFAULT);
    let binary = types.iter().any(ResultType::is_binary);
    let bytes_per_character = {
        let own = first.and_then(ResultType::collation).unwrap_or(Collation::DEFAULT);
        u64::from(own.charset().character_size_max())
    };
    let length = |position: usize| u64::from(types[position].text_length());
    let number = |position: usize| match arguments.get(position) {
        Some(Expr::Const(Value::Int(number))) => Some(*number),
        Some(Expr::Const(Value::UInt(number))) => i64::try_from(*number).ok(),
        _ => None,
    };
    let integer = |nullable| ResultType::new(bigint(false), nullable);
    let double = |nullable| ResultType::new(ColumnType::Double, nullable);
    // In the connection's collation, which a conversion around the call says where it is not the default.
    let plain = |length: u64| ResultType::new(text_type(length, false, Collation::DEFAULT), true);
    let nullable_text = |length: u64| ResultType::new(text_type(length, false, collation), true);
    let text = |length: u64| ResultType::new(text_type(length, binary, collation), nullable);
    let fsp = |position: usize| second_digits(&arguments[position], &types[position]);
    match function {
        Abs | Ceiling | Floor | Round | Truncate => {
            let side = first.expect("one argument at least");
            let column_type = match (side.is_integer(), side.exact_digits()) {
                (true, _) => bigint(side.is_unsigned()),
                (false, Some((precision, scale))) => {
                    let (precision, scale) = (u32::from(precision), u32::from(scale));
                    match function {
                        Abs => decimal(precision, scale),
                        Ceiling | Floor if precision - scale <= 18 => bigint(false),
                        Round | Truncate if arguments.len() == 2 => {
                            let kept = number(1).map_or(scale, |n| {
                                u32::try_from(n.max(0)).unwrap_or(scale).min(scale)
                            });
                            decimal(precision - scale + kept + 1, kept)
                        }
                        _ => decimal(precision - scale + 1, 0),
                    }
                }
                (false, None) => ColumnType::Double,
            };
            let decimals = side.display.decimals.filter(|_| function == Abs);
            ResultType::new(column_type, nullable).with_decimals(decimals)
        }
        Mod => binary_type(BinaryOp::Modulo, &types[0], &types[1], DIV_PRECISION_INCREMENT),
        Divide => {
            let increment = number(2).and_then(|own| u8::try_from(own).ok());
            let increment = increment.unwrap_or(DIV_PRECISION_INCREMENT);
            binary_type(BinaryOp::Divide, &types[0], &types[1], increment)
        }
        Sign | BitCount | Isnull | Length | CharLength | BitLength | Ascii | Ord | Locate
        | Instr | Strcmp | FindInSet | RegexpLike | RegexpInstr | IsIpv4 | IsIpv6 | IsUuid => {
            integer(nullable && function != Isnull)
        }
        Interval | Field => integer(false),
        Crc32 | InetAton => ResultType::new(bigint(true), true),
        Power | Exp | Sin | Cos | Tan | Atan | Atan2 | Cot | Degrees | Radians => double(nullable),
        Sqrt | Ln | Log | Log2 | Log10 | Asin | Acos => double(true),
        Pi => double(false),
        Coalesce | IfNull => {
            let merged = merge_all(types.iter().cloned());
            ResultType { nullable: types.iter().all(|side| side.nullable), ..merged }
        }
        Greatest | Least => ResultType { nullable, ..extreme_type(types) },
        If => merge_types(&types[1], &types[2]),
        NullIf => ResultType::of(types[0].column_type.as_ref().map(branch_type), true)
            .with_decimals(types[0].display.decimals),
        Elt => {
            let longest = (1..types.len()).map(length).max().unwrap_or(0);
            let binary = types[1..].iter().any(ResultType::is_binary);
            let own = types[1..].iter().find_map(ResultType::collation);
            let own = own.unwrap_or(Collation::DEFAULT);
            ResultType::new(text_type(longest, binary, own), true)
        }
        Concat => text((0..types.len()).map(length).sum()),
        ConcatWs => {
            let pieces: u64 = (1..types.len()).map(length).sum();
            text(pieces + length(0) * (types.len() as u64 - 2))
        }
        Lower | Upper | Substring | SubstringIndex | Reverse | Ltrim | Rtrim | Trim => {
            text(length(0))
        }
        Left | Right => text(number(1).map_or(length(0), |n| length(0).min(n.max(0) as u64))),
        Replace => text(length(0).saturating_mul(length(2).saturating_sub(1).max(1))),
        Repeat => text(
            number(1).map_or(u64::from(u32::MAX), |n| length(0).saturating_mul(n.max(0) as u64)),
        ),
        Lpad | Rpad => {
            let length = number(1).map_or(u64::from(u32::MAX), |n| n.max(0) as u64);
            ResultType { nullable: true, ..text(length) }
        }
        Insert => text(length(0) + length(3)),
        Space => text(number(0).map_or(u64::from(u32::MAX), |n| n.max(0) as u64)),
        Soundex => text(length(0).max(4)),
        Quote => text((length(0) * 2 + 2).max(4)),
        Conv | Bin | Oct => plain(65),
        Hex => {
            // Two digits for each byte.
            let digits = length(0).saturating_mul(2 * bytes_per_character);
            ResultType::new(text_type(digits, false, Collation::DEFAULT), nullable)
        }
        Unhex | FromBase64 | UuidToBin | Inet6Aton | RowKey | Char | BitBytes => {
            let length = match function {
                Unhex => length(0) / 2 + 1,
                FromBase64 => length(0),
                Char => 4 * types.len() as u64,
                BitBytes => 8,
                RowKey => u64::from(u32::MAX),
                _ => 16,
            };
            ResultType::new(text_type(length, true, Collation::Binary), true)
        }
        Md5 => plain(32),
        Sha1 => plain(40),
        Sha2 => plain(128),
        ToBase64 => {
            // Four characters stand for three bytes, and 76 are a line.
            let bytes = length(0).saturating_mul(if binary { 1 } else { bytes_per_character });
            let digits = bytes.div_ceil(3).saturating_mul(4);
            plain(digits.saturating_add(digits / 76))
        }
        Format => plain(length(0) * 2 + 32),
        MakeSet => nullable_text((1..types.len()).map(|position| length(position) + 1).sum()),
        // 64 words, and a separator between two.
        ExportSet => {
            let separator = if 3 < types.len() { length(3) } else { 1 };
            nullable_text(length(1).max(length(2)) * 64 + separator * 63)
        }
        RegexpReplace => nullable_text(u64::from(u32::MAX)),
        RegexpSubstr => nullable_text(length(0)),
        InetNtoa => plain(15),
        Inet6Ntoa => plain(45),
        BinToUuid => plain(36),
        DayName | MonthName => {
            let locale = number(1).and_then(Locale::from_number).unwrap_or_default();
            let (day, month) = locale.length_max();
            plain(u64::from(if function == DayName { day } else { month }))
        }
        DateFormat | TimeFormat => plain(length(1).saturating_mul(10)),
        FromUnixtime if types.len() > 1 => plain(length(1).saturating_mul(10)),
        Date | FromDays | LastDay | MakeDate => ResultType::new(ColumnType::Date, true),
        Time => ResultType::new(ColumnType::Time { fsp: fsp(0) }, true),
        TimeDiff => ResultType::new(ColumnType::Time { fsp: fsp(0).max(fsp(1)) }, true),
        MakeTime => ResultType::new(ColumnType::Time { fsp: decimals(&types[2]) }, true),
        SecToTime => ResultType::new(ColumnType::Time { fsp: decimals(&types[0]) }, true),
        Timestamp => {
            let fsp = (0..types.len()).map(fsp).max().unwrap_or(0);
            ResultType::new(ColumnType::DateTime { fsp }, true)
        }
        ConvertTz | UtcToLocal | LocalToUtc => {
            ResultType::new(ColumnType::DateTime { fsp: fsp(0) }, true)
        }
        FromUnixtime => ResultType::new(ColumnType::DateTime { fsp: decimals(&types[0]) }, true),
        StrToDate => {
            let column_type = match arguments.get(1) {
                Some(Expr::Const(Value::Text(pattern, _))) => pattern_type(pattern),
                _ => ColumnType::DateTime { fsp: 6 },
            };
            ResultType::new(column_type, true)
        }
        AddTime | SubTime => {
            let column_type = match &types[0].column_type {
                Some(ColumnType::Time { fsp: own }) => ColumnType::Time { fsp: *own.max(&fsp(1)) },
                Some(column_type) if column_type.is_temporal() => {
                    ColumnType::DateTime { fsp: fsp(0).max(fsp(1)) }
                }
                _ => text_type(26, false, collation),
            };
            ResultType::new(column_type, true)
        }
        DeclaredText => {
            text(length(0).max(u64::from(number(1).unwrap_or(0).cast_unsigned() as u8)))
        }
        FullYear => types[0].clone(),
        UnixTimestamp => {
            let column_type = match first.map_or(0, |_| fsp(0)) {
                0 => bigint(false),
                fsp => decimal(12 + u32::from(fsp), u32::from(fsp)),
            };
            ResultType::new(column_type, true)
        }
        Year | Quarter | Month | Week | DayOfMonth | DayOfWeek | DayOfYear | Weekday | Hour
        | Minute | Second | Microsecond | DateDiff | ToDays | TimeToSec | TimestampDiff
        | Extract | YearWeek | WeekOfYear | PeriodAdd | PeriodDiff | ToSeconds | Panic => {
            integer(true)
        }
        JsonScalar => ResultType::new(ColumnType::Json, nullable),
        JsonArray | JsonObject | JsonExtract | JsonKeys | JsonSearch | JsonArrayAppend
        | JsonArrayInsert | JsonInsert | JsonReplace | JsonSet | JsonRemove | JsonMergePatch
        | JsonMergePreserve => ResultType::new(ColumnType::Json, true),
        JsonValue => {
            let own = super::functions::returned_type(arguments);
            ResultType::of(own, true)
        }
        // The longest name is that of unsigned integers, but MySQL leaves room.
        JsonType => ResultType::new(text_type(51, false, Collation::Utf8mb4Bin), true),
        JsonQuote | JsonUnquote | JsonPretty => {
            ResultType::new(text_type(u64::from(u32::MAX), false, Collation::Utf8mb4Bin), true)
        }
        JsonContains | JsonContainsPath | JsonOverlaps | MemberOf | JsonDepth | JsonLength
        | JsonValid | JsonStorageSize | JsonStorageFree => integer(true),
    }
}

/// GREATEST and LEAST: as the branches of IF, but a text that meets a date is read as one.
fn extreme_type(types: &[ResultType]) -> ResultType {
    let known = || types.iter().filter_map(|own| own.column_type.as_ref());
    let is_text = |own: &ColumnType| own.is_string();
    if known().any(is_text) && known().any(ColumnType::is_temporal) {
        let temporal = types
            .iter()
            .filter(|own| own.column_type.as_ref().is_some_and(ColumnType::is_temporal));
        return merge_all(temporal.cloned());
    }
    merge_all(types.iter().cloned())
}

/// Digits of fractional seconds of what is read as a date, a time or seconds.
fn second_digits(argument: &Expr, own: &ResultType) -> u8 {
    match (argument, &own.column_type) {
        (_, None) => 0,
        // A literal shows how many it means.
        (Expr::Const(Value::Text(text, _)), _) => match text.split_once('.') {
            Some((_, fraction)) if !fraction.contains('.') => {
                fraction.bytes().take_while(u8::is_ascii_digit).take(6).count() as u8
            }
            // 2024.02.29
            _ => 0,
        },
        (_, Some(column_type)) if column_type.is_temporal() => column_type.fsp(),
        _ => decimals(own),
    }
}

/// Digits of fractional seconds a number of seconds brings along.
fn decimals(side: &ResultType) -> u8 {
    side.exact_digits().map_or(6, |(_, scale)| scale.min(6))
}

/// What STR_TO_DATE makes by a pattern.
fn pattern_type(pattern: &str) -> ColumnType {
    let has = |codes: &str| {
        pattern
            .as_bytes()
            .windows(2)
            .any(|pair| pair[0] == b'%' && codes.as_bytes().contains(&pair[1]))
    };
    let fsp = if has("f") { 6 } else { 0 };
    // Days are part of either.
    match (has("MVUXYWabcjmvuxyw"), has("HISThiklrsf")) {
        (false, true) => ColumnType::Time { fsp },
        (true, true) => ColumnType::DateTime { fsp },
        (_, false) => ColumnType::Date,
    }
}
