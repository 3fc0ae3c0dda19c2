//! Types and collations as [`settle`](crate::expr::settle) makes them.

use super::{check, parse, typing};
use crate::expr::coercibility::aggregate;
use crate::expr::{
    Coercibility, Derivation, EvalContext, NoColumns, ResultType, Typing, eval, result_type, settle,
};
use crate::{Collation, ColumnType, IntWidth, Value};

/// Each line is `expression -> collation coercibility`, in a connection of utf8mb4_general_ci.
#[test]
fn derivations() {
    let typing = typing(Collation::Utf8mb4GeneralCi);
    for line in "
        'a' COLLATE utf8mb4_bin -> utf8mb4_bin 0
        CAST('a' AS CHAR) -> utf8mb4_0900_ai_ci 2
        CAST('a' AS BINARY) -> binary 2
        'a' -> utf8mb4_0900_ai_ci 4
        X'61' -> binary 4
        HEX('a' COLLATE utf8mb4_bin) -> utf8mb4_general_ci 4
        MD5('a') -> utf8mb4_general_ci 4
        CONCAT(1, 2) -> utf8mb4_general_ci 4
        CONCAT(1, 'a' COLLATE utf8mb4_bin) -> utf8mb4_bin 0
        CONCAT('a', X'61') -> binary 4
        LOWER('a' COLLATE utf8mb4_bin) -> utf8mb4_bin 0
        LPAD(CAST('a' AS CHAR), 3, 'b') -> utf8mb4_0900_ai_ci 2
        IF(1, 'a', CAST('b' AS CHAR)) -> utf8mb4_0900_ai_ci 2
        COALESCE(NULL, 'a' COLLATE utf8mb4_bin) -> utf8mb4_bin 0
        CASE WHEN 1 THEN 1 ELSE 'a' END -> utf8mb4_0900_ai_ci 4
        ELT(1, 'a', 'b' COLLATE utf8mb4_bin) -> utf8mb4_bin 0
        CHAR(65) -> binary 4
        1 -> none 5
        1.5 + 1 -> none 5
        'a' = 'b' -> none 5
        LENGTH('a') -> none 5
        DATE '2024-01-01' -> none 5
        IF(1, 2, 3) -> none 5
        NULL -> none 6
        "
    .lines()
    .map(str::trim)
    .filter(|line| !line.is_empty())
    {
        let (text, expected) = line.rsplit_once(" -> ").expect("expression -> derivation");
        let mut expr = parse(text);
        settle(&mut expr, &typing).expect("collations that mix");
        let own = typing.derivation(&expr);
        let name = own.collation.map_or("none", Collation::name);
        assert_eq!(format!("{name} {}", own.coercibility as u8), expected, "{text}");
        // The value has the collation that was derived, and the static type has it too.
        let mut ctx = EvalContext::new(&[]);
        let value = eval(&expr, &NoColumns, &mut ctx).expect(text);
        let of_type = result_type(&expr, &[], &[]).column_type;
        if let (Value::Text(_, of_value), Some(collation)) = (&value, own.collation) {
            assert_eq!(*of_value, collation, "{text}");
            assert_eq!(of_type.and_then(|own| own.collation()), Some(collation), "{text}");
        }
    }
}

/// One collation for the whole operator; COLLATE clauses that differ are errors.
#[test]
fn operators_agree() {
    check(
        "
        'B' BETWEEN 'a' AND 'c' -> 1
        'B' BETWEEN 'a' AND 'c' COLLATE utf8mb4_bin -> 0
        'B' IN ('a' COLLATE utf8mb4_bin, 'b') -> 0
        'B' LIKE 'b' COLLATE utf8mb4_bin -> 0
        'B' COLLATE utf8mb4_bin LIKE 'b' -> 0
        CASE 'B' WHEN 'b' THEN 1 WHEN 'a' COLLATE utf8mb4_bin THEN 2 ELSE 3 END -> 3
        NULLIF('a', 'A' COLLATE utf8mb4_bin) -> a
        STRCMP('a' COLLATE utf8mb4_bin, 'A') -> 1
        FIELD('B', 'b', 'a' COLLATE utf8mb4_bin) -> 0
        LOCATE('B', 'abc' COLLATE utf8mb4_bin) -> 0
        GREATEST('a', 'B' COLLATE utf8mb4_bin) -> a
        GREATEST('a', 'B') -> B
        'a' COLLATE utf8mb4_bin = 'a' COLLATE utf8mb4_general_ci -> ERROR 1267
        CONCAT('a' COLLATE utf8mb4_bin, 'a' COLLATE utf8mb4_general_ci) -> ERROR 1267
        'a' BETWEEN 'a' COLLATE utf8mb4_bin AND 'b' COLLATE utf8mb4_general_ci -> ERROR 1270
        'a' IN ('b', 'a' COLLATE utf8mb4_bin, 'b' COLLATE utf8mb4_general_ci) -> ERROR 1271
        FIND_IN_SET('b ', 'a,b,c') -> 0
        FIND_IN_SET('b ' COLLATE utf8mb4_general_ci, 'a,b,c') -> 0
        FIND_IN_SET('B' COLLATE utf8mb4_general_ci, 'a,b,c') -> 2
        FIND_IN_SET('', 'a,,c') -> 2
        ",
    );
}

/// Texts of two character sets: the collation and coercibility that they have together, "mixed"
/// where they do not mix.
#[test]
fn character_sets_together() {
    use Coercibility::*;
    use Collation::*;
    let of = |collation, coercibility| Derivation::new(collation, coercibility);
    let both = |left, right, is_comparison| {
        let all = aggregate(&[left, right], is_comparison, Collation::DEFAULT, "=");
        all.map(|all| (all.collation.expect("texts"), all.coercibility))
            .map_err(|mix| mix.message())
    };
    for (left, right, expected) in [
        // Unicode has all characters of the others, utf8mb4 all of utf8mb3.
        (of(Latin1SwedishCi, Implicit), of(Utf8mb4Bin, Implicit), Ok((Utf8mb4Bin, Implicit))),
        (of(Utf8mb3Bin, Implicit), of(Latin1Bin, Implicit), Ok((Utf8mb3Bin, Implicit))),
        (of(Utf8mb3Bin, Implicit), of(Utf8mb40900AiCi, Implicit), Ok((Utf8mb40900AiCi, Implicit))),
        (
            of(Latin1Bin, Coercible),
            of(Utf8mb40900AiCi, Coercible),
            Ok((Utf8mb40900AiCi, Coercible)),
        ),
        (of(AsciiBin, Implicit), of(Latin1SwedishCi, Implicit), Ok((Latin1SwedishCi, Implicit))),
        // What holds more strongly keeps its own where the other one may become it.
        (of(Latin1Bin, Implicit), of(Utf8mb40900AiCi, Coercible), Ok((Latin1Bin, Implicit))),
        (of(Utf8mb3Bin, Implicit), of(Utf8mb40900AiCi, Coercible), Ok((Utf8mb3Bin, Implicit))),
        (of(AsciiBin, Implicit), of(Latin1Bin, Coercible), Ok((AsciiBin, Implicit))),
        (of(Utf8mb4Bin, Explicit), of(Latin1Bin, Implicit), Ok((Utf8mb4Bin, Explicit))),
        (of(Latin1Bin, Explicit), of(AsciiBin, Implicit), Ok((Latin1Bin, Explicit))),
        (
            of(Latin1Bin, Explicit),
            of(Utf8mb4Bin, Implicit),
            Err(
                "Illegal mix of collations (latin1_bin,EXPLICIT) and (utf8mb4_bin,IMPLICIT) for operation '='",
            ),
        ),
        (
            of(Latin1Bin, Explicit),
            of(Utf8mb4Bin, Explicit),
            Err(
                "Illegal mix of collations (latin1_bin,EXPLICIT) and (utf8mb4_bin,EXPLICIT) for operation '='",
            ),
        ),
        // In one character set.
        (of(Latin1Bin, Implicit), of(Latin1SwedishCi, Implicit), Ok((Latin1Bin, Implicit))),
        (
            of(Latin1German1Ci, Implicit),
            of(Latin1SwedishCi, Implicit),
            Err(
                "Illegal mix of collations (latin1_german1_ci,IMPLICIT) and (latin1_swedish_ci,IMPLICIT) for operation '='",
            ),
        ),
        // One pads and the other one does not.
        (
            of(Utf8mb4Bin, Implicit),
            of(Utf8mb40900Bin, Implicit),
            Err(
                "Illegal mix of collations (utf8mb4_bin,IMPLICIT) and (utf8mb4_0900_bin,IMPLICIT) for operation '='",
            ),
        ),
        (of(Binary, Implicit), of(Latin1Bin, Implicit), Ok((Binary, Implicit))),
    ] {
        let expected = expected.map_err(String::from);
        assert_eq!(both(left, right, true), expected, "{left:?} {right:?}");
        if let Ok(expected) = expected {
            assert_eq!(both(right, left, true), Ok(expected), "{right:?} {left:?}");
        }
    }
    // Put together without a comparison, the texts of one character set have its codes' collation.
    let parts = [of(Latin1German1Ci, Implicit), of(Latin1SwedishCi, Implicit)];
    let all = aggregate(&parts, false, Collation::DEFAULT, "concat").expect("no comparison");
    assert_eq!((all.collation, all.coercibility), (Some(Latin1Bin), NoCollation));
    // A COLLATE clause behind them decides.
    let parts =
        [of(Latin1SwedishCi, Implicit), of(AsciiBin, NoCollation), of(Utf8mb4Bin, Explicit)];
    let all = aggregate(&parts, true, Collation::DEFAULT, "in").expect("it decides");
    assert_eq!((all.collation, all.coercibility), (Some(Utf8mb4Bin), Explicit));
}

/// A constant becomes one of the other one's character set if it loses nothing, and what may lose
/// something does not.
#[test]
fn conversions_lose_nothing() {
    let latin1 = Collation::Latin1SwedishCi;
    let columns = [ResultType::new(ColumnType::Varchar { length: 9, collation: latin1 }, false)];
    let number = ColumnType::Int { width: IntWidth::W4, unsigned: false };
    let columns = [columns[0].clone(), ResultType::new(number, false)];
    let params =
        [ResultType::new(ColumnType::Varchar { length: 9, collation: Collation::DEFAULT }, false)];
    let text = |text: &str| Value::text(text, Collation::DEFAULT);
    let row = [Value::text("é€", latin1), Value::Int(7)];
    for (expression, param, expected) in [
        ("c0 = 'É€'", text(""), "1"),
        ("c0 = 'É'", text(""), "0"),
        ("c0 = 'Ω'", text(""), "ERROR 1267"),
        ("c0 LIKE 'É_'", text(""), "1"),
        ("c0 LIKE '%Ω'", text(""), "ERROR 1267"),
        ("c0 IN ('x', 'É€')", text(""), "1"),
        ("c0 IN ('x', 'Ω')", text(""), "ERROR 1270"),
        ("c0 = $0", text("É€"), "1"),
        ("c0 = $0", text("Ω"), "ERROR 1267"),
        ("c0 = CONCAT('É', '€')", text(""), "1"),
        ("c0 = CONCAT('É', $0)", text("€"), "1"),
        ("c0 = CONCAT('É', $0)", text("Ω"), "ERROR 1267"),
        // It differs from row to row.
        ("c0 = CONCAT(c1, 'é')", text(""), "0"),
        ("CONCAT(c0, CONCAT(c1, 'é'))", text(""), "ERROR 1267"),
        ("HEX(CONCAT(c0, CONCAT(c1, 'e')))", text(""), "E9803765"),
        ("c0 = CONCAT(c1, 'e')", text(""), "0"),
        ("c0 = HEX(c1)", text(""), "0"),
        ("HEX(CONCAT(c0, 'é'))", text(""), "E980E9"),
        ("HEX(CONCAT(c0, c1))", text(""), "E98037"),
        ("CONCAT(c0, 'Ω')", text(""), "ERROR 1267"),
        ("HEX(IFNULL(c0, 'x'))", text(""), "E980"),
        ("LENGTH(REPLACE(c0, 'é', 'üü'))", text(""), "3"),
        ("HEX(LPAD(c0, 3, $0))", text("ñ"), "F1E980"),
        ("LPAD(c0, 3, $0)", text("Ω"), "ERROR 1267"),
        ("LOCATE('€', c0)", text(""), "2"),
    ] {
        let mut expr = parse(expression);
        let params_known = [param];
        let derivation = Derivation {
            is_ascii: matches!(&params_known[0], Value::Text(text, _) if text.is_ascii()),
            ..Derivation::new(Collation::DEFAULT, Coercibility::Coercible)
        };
        let typing = Typing {
            columns: &columns,
            params: &params,
            param_derivations: &[derivation],
            param_values: &params_known,
            ..typing(Collation::DEFAULT)
        };
        let found = match settle(&mut expr, &typing) {
            Err(mix) => format!("ERROR {}", mix.code()),
            Ok(()) => {
                let mut ctx = EvalContext::new(&params_known);
                let value = eval(&expr, &row[..], &mut ctx).expect(expression);
                crate::convert::to_text(value.as_ref()).into_owned()
            }
        };
        assert_eq!(found, expected, "{expression} with {params_known:?}");
    }
}

/// The value of IF and its kin is of the type of all branches together.
#[test]
fn branches_share_a_type() {
    check(
        "
        IF(1, CAST(1 AS UNSIGNED), -1) - 2 -> -1
        IF(1, 1, 2.5) -> 1.0
        CONCAT(IFNULL(5, 1.25)) -> 5.00
        CONCAT(COALESCE(NULL, 5, 1.25)) -> 5.00
        CONCAT(CASE WHEN 1 THEN 5 ELSE 1.25 END) -> 5.00
        CONCAT(IF(1, 1/3, 0)) -> 0.3333
        IF(1, 1/3, 0) * 3 -> 1.0000
        CONCAT(COALESCE(DATE '2001-02-03', TIMESTAMP '2001-02-03 04:05:06')) -> 2001-02-03 00:00:00
        IFNULL(DATE '2001-02-03', TIMESTAMP '2001-02-03 04:05:06') + 0 -> 20010203000000
        IFNULL(TIME '10:00:00', DATE '2001-02-03') -> 2024-02-29 10:00:00
        GREATEST(DATE '2001-01-01', '01-01-02') + 0 -> 20010102
        LEAST(TIMESTAMP '2001-01-01 00:00:00', '2000-12-31') -> 2000-12-31 00:00:00
        GREATEST(1, 2.50, 2) -> 2.50
        LEAST(1, 2.50, 2) -> 1.00
        GREATEST(1, '10', 9) -> 9
        COALESCE(CAST(0.671437 AS FLOAT)) -> 0.671437
        IF(1, CAST(0.1 AS FLOAT), 1e0) = 0.1e0 -> 0
        IF(0, 'x', 5) = '5.0' -> 0
        IF(0, 'x', 1e0) -> 1
        ELT(2, 'a', 1.50) -> 1.50
        IF(1, NULL, 1) -> NULL
        IF(1, 1, 'a') = 'a' -> 0
        ",
    );
    let typing = typing(Collation::DEFAULT);
    let int = |width, unsigned| ColumnType::Int { width, unsigned };
    for (text, expected) in [
        (
            "IF(1, CAST(1 AS UNSIGNED), 2)",
            Some(ColumnType::Decimal { precision: 20, scale: 0, unsigned: false }),
        ),
        ("IF(1, 1, 2)", Some(int(IntWidth::W8, false))),
        ("COALESCE(CAST(1 AS FLOAT), CAST(2 AS FLOAT))", Some(ColumnType::Float)),
        ("COALESCE(CAST(1 AS FLOAT), 2)", Some(ColumnType::Double)),
        ("GREATEST(DATE '2001-01-01', '01-01-02')", Some(ColumnType::Date)),
        ("IF(1, NULL, NULL)", None),
    ] {
        let mut expr = parse(text);
        settle(&mut expr, &typing).expect("collations that mix");
        assert_eq!(result_type(&expr, &[], &[]).column_type, expected, "{text}");
    }
}

/// Digits that do not show count inside an expression.
#[test]
fn precision() {
    check(
        "
        (1/3)*(1/3) -> 0.11111111
        64/77*77 -> 64.0000
        2000.0/250000000.0*(24.0*6.0*6.25*10.0) -> 0.0720000000
        (1/3)*3 -> 1.0000
        (1/3)*1000000 -> 333333.3330
        (1/3) > 0.3333 -> 1
        ROUND(1/3, 8) -> 0.33333333
        0.7777777777777777777777777777777777777 * 1000000000000000000 -> 777777777777777777.777777777777777777700000000000
        99999999999999999999999999999999999999999999999999999999999999999 + 1 -> 100000000000000000000000000000000000000000000000000000000000000000
        1.175494351E-37 DIV 1.7976931348623157E+308 -> 0
        CAST(CAST(34000000000 AS FLOAT) AS DECIMAL(20,2)) -> 33999998976.00
        HEX(-1e30) -> FFFFFFFFFFFFFFFF
        HEX(1e30) -> FFFFFFFFFFFFFFFF
        HEX(-1e0) -> FFFFFFFFFFFFFFFF
        HEX(255.5) -> 100
        HEX(-255) -> FFFFFFFFFFFFFF01
        BIN(-1e30) -> 1111111111111111111111111111111111111111111111111111111111111111
        OCT(1000000000000000000000000000000) -> 1777777777777777777777
        CONV(-99999999999999999999, 10, 16) -> FFFFFFFFFFFFFFFF
        CONV('99999999999999999999', 10, -10) -> -1
        CONV('-99999999999999999999', -10, 10) -> 9223372036854775808
        PI() + 0 -> 3.141592653589793
        ",
    );
}

/// What is wrong with a pattern has MySQL's number.
#[test]
fn patterns_that_are_none() {
    check(
        r"
        '' REGEXP '[' -> ERROR 3696
        'a' REGEXP '(' -> ERROR 3691
        'a' REGEXP 'a)' -> ERROR 3691
        'a' REGEXP '[b-a]' -> ERROR 3697
        'a' REGEXP 'a{' -> ERROR 3692
        'a' REGEXP 'a{2,1}' -> ERROR 3693
        'a' REGEXP '*' -> ERROR 3688
        'a' REGEXP '' -> ERROR 3685
        ",
    );
}
