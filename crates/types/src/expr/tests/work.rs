//! Work is counted before it is done, so that no expression holds up a worker.

use super::{context, settled};
use crate::expr::{EvalContext, EvalError, Expr, NoColumns, eval};
use crate::{Collation, Value};

fn evaluated(text: &str, work_max: usize) -> Result<Value, EvalError> {
    let mut ctx = context();
    ctx.work_max = work_max;
    eval(&settled(text, &[], &[]), &NoColumns, &mut ctx)
}

/// What would take minutes or days is refused at once, whichever function it is in.
#[test]
fn long_work_is_refused() {
    for text in [
        "repeat('a', 60000000) like concat('%', repeat('a', 1000000), 'b')",
        "repeat('a', 60000000) regexp 'a{1,1000}b'",
        "regexp_replace(repeat('a', 9000000), '(a)(a)(a)', 'b') = ''",
        "soundex(repeat('a', 60000000))",
        "upper(lower(reverse(repeat('a', 60000000))))",
        "sha2(sha2(sha2(repeat('a', 60000000), 512), 512), 512)",
        "find_in_set('x', repeat('a,', 30000000))",
        "replace(repeat('a', 30000000), 'a', 'bb')",
    ] {
        let got = evaluated(text, crate::expr::ROW_WORK_MAX).map(|_| "a value");
        assert_eq!(got, Err(EvalError::TooMuchWork), "{text}");
    }
}

/// The same functions on shorter values have their results, and less work allowed stops each.
#[test]
fn short_work_is_done() {
    for text in [
        "repeat('a', 10000) like concat('%', repeat('a', 100), 'b')",
        "repeat('a', 10000) regexp 'a{1,100}b'",
        "soundex(repeat('a', 10000))",
        "upper(lower(reverse(repeat('a', 10000))))",
        "sha2(repeat('a', 10000), 512)",
        "find_in_set('x', repeat('a,', 5000))",
        "replace(repeat('a', 10000), 'a', 'bb')",
        "repeat('a', 10000) = repeat('A', 10000)",
        "repeat('9', 10000) + 1",
    ] {
        let value = evaluated(text, crate::expr::ROW_WORK_MAX);
        assert!(value.is_ok(), "{text}: {value:?}");
        assert_eq!(evaluated(text, 10_000), Err(EvalError::TooMuchWork), "{text}");
    }
}

/// Long lists of IN are sets where the context keeps them: the same truth as item by item, for numbers and texts, with NULL
/// among the items or not, and for operands of another kind.
#[test]
fn sets_agree_with_lists() {
    let operands = [
        Value::Int(-3),
        Value::Int(40),
        Value::UInt(40),
        Value::UInt(u64::MAX),
        Value::Int(1_000),
        Value::Double(40.0),
        Value::text("É", Collation::DEFAULT),
        Value::text("e", Collation::Utf8mb4Bin),
        Value::text("40", Collation::DEFAULT),
        Value::text("e ", Collation::Utf8mb4GeneralCi),
        Value::Bytes(b"e".as_slice().into()),
        Value::Null,
    ];
    let numbers = || (-10..60).map(Value::Int).chain([Value::UInt(u64::MAX)]);
    let letters =
        || ('a'..='z').chain('A'..='Z').map(|c| Value::text(&c.to_string(), Collation::DEFAULT));
    let lists: [Vec<Value>; 5] = [
        numbers().collect(),
        numbers().chain([Value::Null]).collect(),
        letters().collect(),
        letters().chain([Value::Null]).collect(),
        numbers().chain(letters()).collect(),
    ];
    for params in &lists {
        for negated in [false, true] {
            let list = (0..params.len()).map(|position| Expr::Param(position as u16)).collect();
            let expr = Expr::In { operand: Box::new(Expr::Column(0)), list, negated };
            let mut kept = EvalContext::new(params);
            kept.keep_sets();
            for operand in &operands {
                let row = vec![operand.clone()];
                let by_set = eval(&expr, &row, &mut kept);
                let by_item = eval(&expr, &row, &mut EvalContext::new(params));
                assert_eq!(by_set, by_item, "{operand:?} in {params:?}, negated: {negated}");
            }
        }
    }
}
