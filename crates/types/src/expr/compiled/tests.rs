//! Compiled filters and aggregates beside the interpreter, on random rows and expressions.

use super::ScanProgram;
use crate::expr::{
    Aggregate, AggregateFunction, AggregateState, BinaryOp, EvalContext, Expr, Function, Partial,
    UnaryOp, eval_predicate,
};
use crate::row::encode_row;
use crate::wire::Wire;
use crate::{
    Collation, ColumnType, Date, DateTime, Decimal, IntWidth, RowLayout, RowView, Time, Value,
};

/// Xorshift: the same numbers on each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, count: usize) -> usize {
        (self.next() >> 11) as usize % count
    }
    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
    fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())].clone()
    }
}

/// The first of the columns.
const NUMBERS: usize = 7;

fn columns() -> Vec<ColumnType> {
    let int = |width, unsigned| ColumnType::Int { width, unsigned };
    let decimal = |precision, scale| ColumnType::Decimal { precision, scale, unsigned: false };
    vec![
        int(IntWidth::W1, false),
        int(IntWidth::W3, false),
        int(IntWidth::W4, true),
        int(IntWidth::W8, false),
        int(IntWidth::W8, true),
        decimal(15, 2),
        decimal(5, 0),
        decimal(37, 20),
        decimal(65, 30),
        ColumnType::Date,
        ColumnType::DateTime { fsp: 6 },
        ColumnType::Time { fsp: 0 },
        ColumnType::Double,
        ColumnType::Varchar { length: 10, collation: Collation::DEFAULT },
    ]
}

fn date(random: &mut Random) -> Date {
    random.pick(
        &["0000-00-00", "1994-01-01", "1998-12-01", "2024-02-29", "9999-12-31"]
            .map(|text| Date::parse(text).expect("a date")),
    )
}

/// A value of the column's type: small, or near the end of its range.
fn value_of(column_type: &ColumnType, random: &mut Random) -> Value {
    if random.one_in(8) {
        return Value::Null;
    }
    let small = random.below(7) as i64 - 3;
    match *column_type {
        ColumnType::Int { width, unsigned: false } => Value::Int(match random.below(6) {
            0 => width.signed_max(),
            1 => width.signed_min(),
            _ => small,
        }),
        ColumnType::Int { width, unsigned: true } => Value::UInt(match random.below(6) {
            0 => width.unsigned_max(),
            _ => small.unsigned_abs(),
        }),
        ColumnType::Decimal { precision, scale, .. } => Value::Decimal(match random.below(6) {
            0 => Decimal::max_value(precision, scale),
            1 => Decimal::max_value(precision, scale).neg(),
            2 => Decimal::from_parts(small.into(), scale),
            _ => {
                let whole = Decimal::from_i64(small);
                whole.rescale(scale).expect("a small number")
            }
        }),
        ColumnType::Date => Value::Date(date(random)),
        ColumnType::DateTime { .. } => {
            let hour = random.pick(&[0, 0, 23]);
            Value::DateTime(DateTime::new(date(random), hour, 0, 0, 0).expect("a moment"))
        }
        ColumnType::Time { .. } => {
            Value::Time(Time::from_micros(small * 3_600_000_000).expect("some hours"))
        }
        ColumnType::Double => Value::Double(small as f64 / 2.0),
        _ => Value::text(&small.to_string(), Collation::DEFAULT),
    }
}

/// A constant of any kind.
fn constant(random: &mut Random) -> Expr {
    Expr::Const(match random.below(12) {
        0 => Value::Null,
        1..=4 => Value::Int(random.below(9) as i64 - 4),
        5 => Value::UInt(random.pick(&[0, 1, u64::MAX])),
        6 | 7 => Value::Decimal(
            random.pick(
                &["0.05", "-1.5", "100", "0.123456789012345678"]
                    .map(|text| Decimal::parse(text).expect("a number")),
            ),
        ),
        8 => Value::Date(date(random)),
        9 => Value::DateTime(date(random).at_midnight()),
        10 => Value::Double(0.5),
        _ => Value::text(
            random.pick(&["1", "1994-01-01", "1998-12-01 12:00:00", "x"]),
            Collation::DEFAULT,
        ),
    })
}

fn leaf(random: &mut Random) -> Expr {
    match random.below(4) {
        0 => constant(random),
        1 if random.one_in(3) => Expr::Param(random.below(2) as u16),
        _ => {
            // Mostly numbers: operators of unlike kinds are the interpreter's.
            let count = if random.one_in(4) { columns().len() } else { NUMBERS };
            Expr::Column(random.below(count) as u16)
        }
    }
}

fn number(random: &mut Random, depth: usize) -> Expr {
    let one = |random: &mut Random| Box::new(number(random, depth - 1));
    if depth == 0 {
        return leaf(random);
    }
    match random.below(12) {
        0..=5 => {
            let op = random.pick(&[
                BinaryOp::Add,
                BinaryOp::Subtract,
                BinaryOp::Multiply,
                BinaryOp::Divide,
            ]);
            let (left, right) = (one(random), one(random));
            Expr::Binary(op, left, right)
        }
        6 => Expr::Unary(UnaryOp::Negate, one(random)),
        7 => {
            let branches = vec![(truth(random, depth - 1), *one(random))];
            let otherwise = random.one_in(2).then(|| one(random));
            Expr::Case { operand: None, branches, otherwise }
        }
        8 => Expr::Function(Function::IfNull, vec![*one(random), *one(random)]),
        9 => {
            let target = random.pick(&columns());
            Expr::Convert(one(random), target)
        }
        10 => {
            Expr::Function(Function::If, vec![truth(random, depth - 1), *one(random), *one(random)])
        }
        _ => leaf(random),
    }
}

fn truth(random: &mut Random, depth: usize) -> Expr {
    let one = |random: &mut Random| Box::new(number(random, depth.saturating_sub(1)));
    let terms =
        |random: &mut Random| (0..2 + random.below(2)).map(|_| truth(random, depth - 1)).collect();
    match random.below(if depth == 0 { 3 } else { 10 }) {
        0..=2 => {
            use BinaryOp::*;
            let op = random.pick(&[
                Equal,
                NullSafeEqual,
                NotEqual,
                Less,
                LessOrEqual,
                Greater,
                GreaterOrEqual,
            ]);
            let (left, right) = (one(random), one(random));
            Expr::Binary(op, left, right)
        }
        3 => Expr::And(terms(random)),
        4 => Expr::Or(terms(random)),
        5 => Expr::Unary(UnaryOp::Not, Box::new(truth(random, depth - 1))),
        6 => Expr::IsNull(one(random), random.one_in(2)),
        7 => {
            let (operand, low, high) = (one(random), one(random), one(random));
            Expr::Between { operand, low, high, negated: random.one_in(2) }
        }
        8 => {
            let count = random.pick(&[1, 3, 12, 40]);
            let list = (0..count).map(|_| constant(random)).collect();
            Expr::In { operand: one(random), list, negated: random.one_in(2) }
        }
        _ => Expr::IsTruth(Box::new(truth(random, depth - 1)), random.one_in(2), random.one_in(2)),
    }
}

fn aggregate(random: &mut Random) -> Aggregate {
    use AggregateFunction as F;
    let function = random.pick(&[
        F::Count,
        F::Sum,
        F::Avg { increment: 4 },
        F::Min,
        F::Max,
        F::BitXor,
        F::VarPop,
        F::AnyValue,
    ]);
    let argument = match function {
        F::Count if random.one_in(3) => None,
        _ => {
            let depth = random.pick(&[0, 1, 1, 2, 3]);
            Some(number(random, depth))
        }
    };
    let distinct = argument.is_some() && random.one_in(10);
    Aggregate { function, argument, distinct, order_by: Vec::new() }
}

/// One scan of each seed, both ways. Returns how many terms and aggregates were compiled, and how many there were.
fn compare(seed: u64) -> (usize, usize) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let random = &mut random;
    let columns = columns();
    let layout = RowLayout::new(&columns);
    let params = [Value::Int(2), Value::Decimal(Decimal::parse("0.5").expect("a number"))];
    let depth = 1 + random.below(3);
    let filter = (!random.one_in(6)).then(|| truth(random, depth));
    let aggregates: Vec<Aggregate> = (0..random.below(4)).map(|_| aggregate(random)).collect();
    let (mut compiled, mut interpreted) = (EvalContext::new(&params), EvalContext::new(&params));
    let mut program = ScanProgram::new(&layout, filter.as_ref(), &aggregates, &compiled);
    let states = || aggregates.iter().map(AggregateState::new).collect::<Vec<_>>();
    let (mut own, mut theirs) = (states(), states());
    let mut partials = vec![Partial::default(); aggregates.len()];
    for _ in 0..40 {
        let values: Vec<Value> = columns.iter().map(|column| value_of(column, random)).collect();
        let refs: Vec<_> = values.iter().map(Value::as_ref).collect();
        let bytes = encode_row(&layout, &refs).expect("a short row");
        let row = RowView::new(&layout, &bytes);
        let passed = program.passes(&row, &mut compiled);
        let wanted = match &filter {
            None => Ok(true),
            Some(filter) => eval_predicate(filter, &row, &mut interpreted),
        };
        assert_eq!(passed, wanted, "seed {seed}: {filter:?} on {values:?}");
        let mut failed = false;
        if passed == Ok(true) {
            let added = program.add(&mut partials, &mut own, &row, &mut compiled).map(|_| ());
            let mut wanted = Ok(());
            for (aggregate, state) in aggregates.iter().zip(&mut theirs) {
                if wanted.is_ok() {
                    wanted = aggregate.add_row(&row, state, &mut interpreted);
                }
            }
            assert_eq!(added, wanted, "seed {seed}: {aggregates:?} on {values:?}");
            failed = added.is_err();
        }
        let warnings = |context: &mut EvalContext<'_>| {
            let texts = context.convert.warnings.take().into_iter().map(|own| own.message);
            texts.collect::<Vec<String>>()
        };
        assert_eq!(
            warnings(&mut compiled),
            warnings(&mut interpreted),
            "seed {seed}: {filter:?}, {aggregates:?} on {values:?}"
        );
        if failed || passed.is_err() {
            break;
        }
    }
    if program.flush(&mut partials, &mut own).is_ok() {
        for ((own, theirs), aggregate) in own.iter().zip(&theirs).zip(&aggregates) {
            assert_eq!(
                own.to_bytes(),
                theirs.to_bytes(),
                "seed {seed}: {aggregate:?}: {own:?} instead of {theirs:?}"
            );
        }
    }
    let terms = program.terms.iter().map(|term| term.compiled.is_some());
    let arguments =
        program.arguments.iter().map(|own| !matches!(own, super::Argument::Interpreted));
    let all: Vec<bool> = terms.chain(arguments).collect();
    (all.iter().filter(|own| **own).count(), all.len())
}

#[test]
fn programs_give_what_the_interpreter_gives() {
    let (mut compiled, mut all) = (0, 0);
    for seed in 1..=20_000 {
        let (own, of) = compare(seed);
        compiled += own;
        all += of;
    }
    // Else the test compares the interpreter with itself.
    assert!(all < 3 * compiled, "{compiled} of {all} were compiled");
}
