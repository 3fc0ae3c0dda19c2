//! Dates, times and intervals: what MySQL 8.0 answers, a line each.

use super::{check, check_in, context};
use crate::convert::{ConvertContext, EvalSettings, StoreMode, store, to_text};
use crate::expr::{BinaryOp, EvalContext, Expr, Function, IntervalUnit, NoColumns, eval};
use crate::temporal::DateModes;
use crate::wire::Wire;
use crate::{Collation, ColumnType, Date, DateTime, Decimal, Time, Value};

/// Numbers and texts that spell more hours than a TIME has are refused before they are multiplied.
#[test]
fn times_beyond_range() {
    check(
        "
        TIME(29991331235959) -> NULL [1292]
        TIME(-29991331235959) -> NULL [1292]
        TIME(42949672959999) -> NULL [1292]
        ADDTIME(29991331235959, '1:0:0') -> NULL [1292]
        ADDTIME('1:0:0', 29991331235959) -> NULL [1292]
        SUBTIME(29991331235959, '1:0:0') -> NULL [1292]
        TIMEDIFF(29991331235959, 1) -> NULL [1292]
        TIMESTAMP('2024-01-01', 29991331235959) -> NULL [1292]
        HOUR(29991331235959) -> NULL [1292]
        TIME_TO_SEC(29991331235959) -> NULL [1292]
        TIME_FORMAT(29991331235959, '%H') -> NULL [1292]
        CAST(29991331235959 AS TIME) -> NULL [1292]
        ",
    );
}

fn session(modes: DateModes) -> EvalContext<'static> {
    let mut ctx = context();
    ctx.convert.date_modes = modes;
    ctx
}

/// Texts and numbers in every form, where a date and where a time is expected.
#[test]
fn readings() {
    check(
        "
        CAST('4-12-3' AS DATE) -> 0004-12-03
        CAST('04-12-3' AS DATE) -> 2004-12-03
        CAST('4.12.3' AS DATE) -> 2004-12-03
        CAST('2024-01-02T03:04:05' AS DATETIME) -> 2024-01-02 03:04:05
        CAST('2024-01-02 03:04:05+02:00' AS DATETIME) -> 2024-01-02 01:04:05
        CAST('2024-01-02 03:04:05-00:00' AS DATETIME) -> NULL [1292]
        CAST('2024-01-02 03:04:05+15:00' AS DATETIME) -> NULL [1292]
        CAST('2024 01 02' AS DATE) -> NULL [1292]
        CAST('2024-01-02 10' AS DATETIME) -> 2024-01-02 10:00:00
        CAST('2024-01-02 25:00:00' AS DATETIME) -> NULL [1292]
        CAST('2024-01-02x' AS DATE) -> 2024-01-02 [1292]
        CAST(691231 AS DATE) -> 2069-12-31
        CAST(691232 AS DATE) -> NULL [1292]
        CAST(700101 AS DATE) -> 1970-01-01
        CAST(1000101 AS DATE) -> 0100-01-01
        TO_DAYS(1000101) -> NULL [1292]
        CAST(20240102030405.6 AS DATETIME(1)) -> 2024-01-02 03:04:05.600000
        CAST(20240102.6 AS DATE) -> 2024-01-02
        CAST(-20240102 AS DATE) -> NULL [1292]
        TIME('2024-02-29') -> 00:20:24 [1292]
        TIME('2024-02-29 10:11:12') -> 10:11:12
        TIME('2024-02-29T10:11:12') -> 00:20:24 [1292]
        TIME('2024-13-29 10:11:12') -> NULL [1292]
        TIME('1 5') -> 00:00:01 [1292]
        TIME('1 05') -> 29:00:00
        TIME('-1 05:06') -> -29:06:00
        TIME('+10:11:12') -> NULL [1292]
        TIME('.5') -> 00:00:00.500000
        TIME('10:11:12.') -> 10:11:12
        TIME('10:11:12.1234567') -> 10:11:12.123457
        TIME('10:61:12') -> NULL [1292]
        TIME('1e5') -> NULL [1292]
        TIME('839:00:00') -> 838:59:59 [1292]
        TIME('') -> NULL [1292]
        TIME('x') -> NULL [1292]
        TIME(8385959) -> 838:59:59
        TIME(8385959.5) -> 838:59:59 [1292]
        TIME(8385960) -> NULL [1292]
        TIME(101112.5) -> 10:11:12.500000
        TIME(-101112) -> -10:11:12
        TIME(20240102030405) -> 03:04:05
        HOUR('2024-01-02 03:04:05') -> 3
        HOUR(20240102030405) -> 3
        EXTRACT(DAY_HOUR FROM '2024-01-02 03:04:05') -> 203
        EXTRACT(DAY_HOUR FROM 20240102030405) -> 203
        EXTRACT(DAY_HOUR FROM '1 12:00:00') -> 36
        ",
    );
}

/// The zero date, and dates with a zero month or day, in MySQL's default mode.
#[test]
fn zero_dates_by_default() {
    check(
        "
        YEAR('0000-00-00') -> NULL [1292]
        YEAR('2001-00-00') -> 2001
        DATE('0000-00-00') -> NULL [1292]
        DATE('2001-11-00') -> NULL [1292]
        CAST('2001-00-01' AS DATE) -> NULL [1292]
        CAST(0 AS DATE) -> NULL [1292]
        TIMESTAMP('0000-00-00') -> NULL [1292]
        LAST_DAY('2001-02-00') -> 2001-02-28
        LAST_DAY('2001-00-05') -> NULL [1292]
        DAYNAME('2001-11-00') -> NULL [1292]
        MONTHNAME('2001-00-00') -> NULL
        TO_DAYS('2001-11-00') -> NULL [1292]
        DATE_FORMAT('2001-11-00', '%a %d %m %j') -> Wed 00 11 304
        DATE_FORMAT('2001-00-00', '%M') -> NULL
        STR_TO_DATE('00/00/0000', '%m/%d/%Y') -> NULL [1411]
        STR_TO_DATE('9', '%m') -> NULL [1411]
        UNIX_TIMESTAMP('0000-00-00') -> 0 [1292]
        '0000-00-00' + INTERVAL 1 DAY -> NULL [1292]
        FROM_DAYS(0) -> 0000-00-00
        FROM_DAYS(1) -> 0000-00-00
        FROM_DAYS(365) -> 0000-00-00
        FROM_DAYS(366) -> 0001-01-01
        FROM_DAYS(-1) -> 0000-00-00
        FROM_DAYS(3652424) -> 9999-12-31
        FROM_DAYS(3652425) -> NULL [1441]
        FROM_DAYS(3652500) -> 0000-00-00
        FROM_DAYS(1) + INTERVAL 1 DAY -> NULL
        DATE_ADD(FROM_DAYS(365), INTERVAL 1 MONTH) -> NULL
        DATEDIFF(FROM_DAYS(1), '2001-01-01') -> NULL
        DATE '0001-01-01' - INTERVAL 1 DAY -> 0000-00-00
        '0001-01-01 00:00:00' - INTERVAL 1 SECOND -> 0000-00-00 23:59:59
        DATE '0001-01-01' - INTERVAL 400 DAY -> NULL [1441]
        MAKEDATE(0, 1) -> 2000-01-01
        MAKEDATE(99, 1) -> 1999-01-01
        MAKEDATE(9999, 366) -> NULL
        ",
    );
}

/// Without NO_ZERO_DATE and NO_ZERO_IN_DATE they are dates, of which no calendar arithmetic is made all the same.
#[test]
fn zero_dates_that_are_admitted() {
    check_in(
        || session(DateModes::NONE),
        "
        YEAR('0000-00-00') -> 0
        DATE('0000-00-00') -> 0000-00-00
        CAST('2101-01-00' AS DATE) -> 2101-01-00
        CAST('2101-00-00 10:00:00' AS DATETIME) -> 2101-00-00 10:00:00
        CAST(0 AS DATETIME) -> 0000-00-00 00:00:00
        STR_TO_DATE('9', '%m') -> 0000-09-00
        STR_TO_DATE('00/00/0000', '%m/%d/%Y') -> 0000-00-00
        DATE '2001-01-01' > '0000-00-00' -> 1
        TO_DAYS('0000-00-00') -> NULL [1292]
        '2101-01-00' + INTERVAL 1 DAY -> NULL [1292]
        CAST('2001-02-30' AS DATE) -> NULL [1292]
        ",
    );
    check("DATE '2001-01-01' > '0000-00-00' -> ERROR 1525");
    check("DATE '2001-01-01' > '2000-00-01' -> ERROR 1525");
}

/// ALLOW_INVALID_DATES: a month has 31 days, and those behind its last are the first of the next month to a calendar.
#[test]
fn invalid_dates() {
    let modes = DateModes { allow_invalid_dates: true, ..DateModes::default() };
    check_in(
        || session(modes),
        "
        CAST('2001-02-31' AS DATE) -> 2001-02-31
        CAST(20010231 AS DATE) -> 2001-02-31
        CAST('2001-02-32' AS DATE) -> NULL [1292]
        DAY('2001-02-31') -> 31
        TO_DAYS('2001-02-31') - TO_DAYS('2001-03-03') -> 0
        '2001-02-31' + INTERVAL 1 DAY -> 2001-03-04
        '2001-02-31' + INTERVAL 1 MONTH -> 2001-03-31
        LAST_DAY('2001-02-31') -> 2001-02-28
        DAYNAME('2001-02-31') -> Saturday
        ",
    );
}

/// TIME_TRUNCATE_FRACTIONAL.
#[test]
fn truncated_fractions() {
    let modes = DateModes { truncate_fractions: true, ..DateModes::default() };
    check_in(
        || session(modes),
        "
        CAST('10:11:12.999' AS TIME) -> 10:11:12
        CAST('2001-01-01 23:59:59.999' AS DATETIME) -> 2001-01-01 23:59:59
        CAST(101112.999 AS TIME(1)) -> 10:11:12.900000
        TIME('10:11:12.1234569') -> 10:11:12.123456
        SEC_TO_TIME(1.9999999) -> 00:00:01.999999
        ",
    );
    check("CAST('2001-01-01 23:59:59.999' AS DATETIME) -> 2001-01-02 00:00:00");
}

#[test]
fn sums_and_differences() {
    check(
        "
        TIMESTAMP('2003-12-31 12:00:00', '-24:00:00') -> 2003-12-30 12:00:00
        TIMESTAMP('9999-12-31 12:00:00', '24:00:00') -> NULL [1441]
        TIMESTAMP('0001-01-01', '-1:0:0') -> NULL
        TIMESTAMP('2003-12-31', '2003-12-31 12:00:00') -> NULL
        ADDTIME('10:00:00', '2003-12-31 12:00:00') -> NULL
        ADDTIME(100000, 100) -> 10:01:00
        ADDTIME(20240101000000, 100) -> 2024-01-01 00:01:00
        ADDTIME('838:59:59', '0:0:1') -> 838:59:59 [1292]
        ADDTIME(TIME '10:00:00', '0:0:1') -> 10:00:01
        ADDTIME(DATE '2024-01-01', '0:0:1') -> 2024-01-01 00:00:01
        SUBTIME('0001-01-01 00:00:00', '0:0:1') -> NULL
        TIMEDIFF('2000-01-01 00:00:00', '00:00:01') -> NULL
        TIMEDIFF(TIMESTAMP '2000-01-02 00:00:00', TIMESTAMP '2000-01-01 00:00:00') -> 24:00:00
        TIMEDIFF(TIMESTAMP '2000-01-02 00:00:00', '2000-01-01 00:00:00') -> 24:00:00
        TIMEDIFF(TIMESTAMP '2000-01-02 00:00:00', TIME '00:00:00') -> NULL
        TIMEDIFF(TIMESTAMP '2000-01-02 00:00:00', DATE '2000-01-01') -> NULL
        TIMEDIFF('9999-12-31 00:00:00', '0001-01-01 00:00:00') -> 838:59:59 [1292]
        SEC_TO_TIME(3020400) -> 838:59:59 [1292]
        SEC_TO_TIME('1.5') -> 00:00:01.500000
        MAKETIME(839, 0, 0) -> 838:59:59 [1292]
        MAKETIME(-839, 0, 0) -> -838:59:59 [1292]
        MAKETIME(9223372036854775807, 0, 0) -> 838:59:59 [1292]
        MAKETIME(1, 2, 3.4) -> 01:02:03.400000
        MAKETIME(1, 2, 60) -> NULL
        PERIOD_ADD(9801, 1) -> 199802
        PERIOD_ADD(0, 1) -> ERROR 1210
        PERIOD_ADD(9999912, 1) -> 10000001
        PERIOD_DIFF(9802, 199703) -> 11
        CONVERT_TZ('1969-01-01 00:00:00', '+00:00', '+10:00') -> 1969-01-01 00:00:00
        CONVERT_TZ('2004-01-01 12:00:00.5', '-05:30', '+10:00') -> 2004-01-02 03:30:00.500000
        FROM_UNIXTIME(32536771199) -> 3001-01-18 23:59:59
        FROM_UNIXTIME(32536771200) -> NULL
        FROM_UNIXTIME(-0.5) -> NULL
        FROM_UNIXTIME('1.5') -> 1970-01-01 00:00:01.500000
        TIMESTAMPDIFF(MICROSECOND, '0001-01-01', '9999-12-31') -> 315537811200000000
        ",
    );
}

#[test]
fn intervals_of_every_shape() {
    check(
        "
        20240131000000 + INTERVAL 1 DAY -> 2024-02-01 00:00:00
        20240131 + INTERVAL 1 HOUR -> 2024-01-31 01:00:00
        '2024-01-31' + INTERVAL '1:2:3' MINUTE_SECOND -> NULL [1441]
        '2024-01-31 00:00:00' + INTERVAL '2:3' MINUTE_SECOND -> 2024-01-31 00:02:03
        '2024-01-31 00:00:00' + INTERVAL '' MINUTE_SECOND -> 2024-01-31 00:00:00
        '2024-01-31 00:00:00' + INTERVAL '1.1234567' SECOND_MICROSECOND -> 2024-01-31 00:00:02.234567
        '2024-01-31 00:00:00' + INTERVAL '99999999999999999999' DAY_SECOND -> NULL [1441]
        '2024-01-31' - INTERVAL 9223372036854775807 MICROSECOND -> NULL [1441]
        TIME '10:00:00' + INTERVAL '1 0:0:0.5' DAY_MICROSECOND -> 34:00:00.500000
        TIME '838:59:59' + INTERVAL 1 SECOND -> NULL [1441]
        TIME '10:00:00' + INTERVAL 1 DAY -> 2024-03-01 10:00:00
        '9999-12-31 23:59:59.5' + INTERVAL 0.5 SECOND -> NULL [1441]
        '0001-01-01' - INTERVAL 1 YEAR -> 0000-01-01
        '0001-01-01' - INTERVAL 2 YEAR -> NULL [1441]
        ",
    );
}

/// A time in arithmetic has the digits of fractional seconds that it is declared with.
#[test]
fn fractions_in_arithmetic() {
    check(
        "
        TIME '10:00:00.5' / 1 -> 100000.50000
        TIME '10:00:00' / 1 -> 100000.0000
        CAST('10:00:00.5' AS TIME(3)) + 0 -> 100000.500
        CAST('10:00:00' AS TIME(3)) + 0 -> 100000.000
        - CAST('10:00:00' AS TIME(2)) -> -100000.00
        CAST('2001-02-03 10:00:00' AS DATETIME(1)) * 1 -> 20010203100000.0
        FROM_UNIXTIME('1.5') % 5 -> 1.500000
        MOD(FROM_UNIXTIME('1'), 5) -> 1.000000
        TIME '10:00:00.5' DIV 1 -> 100000
        ",
    );
}

#[test]
fn patterns() {
    check(
        "
        DATE_FORMAT('2024-02-29', '%x %v %X %V %u %U') -> 2024 09 2024 08 09 08
        DATE_FORMAT('0000-01-01', '%j %D') -> 001 1st
        TIME_FORMAT('10:00:00', '%Y-%m-%d') -> 0000-00-00
        TIME_FORMAT('10:00:00', '%W') -> NULL
        TIME_FORMAT('10:00:00', '%j') -> NULL
        STR_TO_DATE('04/31/2004', '%m/%d/%Y') -> 2004-04-31
        STR_TO_DATE('200442 Monday', '%X%V %W') -> 2004-10-18
        STR_TO_DATE('2004 42 Mon', '%Y %u %a') -> 2004-10-11
        STR_TO_DATE('2004 42 Mon', '%X %v %a') -> NULL [1411]
        STR_TO_DATE('2004 366', '%Y %j') -> 2004-12-31
        STR_TO_DATE('Jan', '%M') -> NULL [1411]
        STR_TO_DATE('1 Jan 2004', '%d %M %Y') -> 2004-01-01
        STR_TO_DATE('1 January 2004', '%d %b %Y') -> NULL [1411]
        STR_TO_DATE('1 Ju 2004', '%d %M %Y') -> NULL [1411]
        STR_TO_DATE('2 10:20', '%d %H:%i') -> 58:20:00
        STR_TO_DATE('10:20:30 PM', '%r') -> 22:20:30
        STR_TO_DATE('13:20:30 PM', '%r') -> NULL [1411]
        STR_TO_DATE('10:20:30', '%T') -> 10:20:30
        STR_TO_DATE('PM 10', '%p %h') -> NULL [1411]
        STR_TO_DATE('2004-01-01 24:00:00', '%Y-%m-%d %T') -> NULL [1411]
        STR_TO_DATE('15th of May 2004', '%D of %M %Y') -> 2004-05-15
        STR_TO_DATE('2004-01-01 x', '%Y-%m-%d') -> 2004-01-01 [1292]
        STR_TO_DATE('', '%Y') -> NULL [1411]
        DAYNAME('2024-02-29', 3) -> Donnerstag
        MONTHNAME('2024-02-29', 3) -> Februar
        DATE_FORMAT('2024-03-01', '%a %W %b %M', 6) -> ven vendredi mar mars
        ",
    );
}

/// Numbers that a 64-bit generator makes from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % count as u64) as usize
    }
    fn pick<'t, T>(&mut self, list: &'t [T]) -> &'t T {
        &list[self.below(list.len())]
    }
}

/// The ends of every kind, and what comes just before and behind the ends of dates and times.
fn extremes() -> Vec<Value> {
    let mut values = vec![Value::Null, Value::Bytes(Box::default()), Value::Bytes([0xff].into())];
    for number in [
        0,
        1,
        -1,
        59,
        60,
        70,
        99,
        101,
        235_959,
        691_231,
        991_231,
        8_385_959,
        8_385_960,
        99_991_231,
        101_000_000,
        3_652_424,
        9_999_999_999,
        10_000_000_000,
        32_536_771_199,
        99_991_231_235_959,
        29_991_331_235_959,
        i64::MAX / 1_000_000,
        i64::MAX - 1,
        i64::MAX,
        i64::MIN,
        i64::MIN + 1,
    ] {
        values.push(Value::Int(number));
        values.push(Value::Int(number.saturating_neg()));
    }
    values.extend([1 << 63, u64::MAX].map(Value::UInt));
    for (precision, scale) in [(65, 0), (65, 30), (30, 30), (20, 7)] {
        let largest = Decimal::max_value(precision, scale);
        values.extend([largest, largest.neg()].map(Value::Decimal));
    }
    for number in
        [0.0, -0.0, 5e-324, 0.9999999, 59.9999999, 8_385_959.9999999, 1e18, 1e19, f64::MAX]
    {
        values.extend([Value::Double(number), Value::Double(-number)]);
    }
    values.push(Value::Float(f32::MAX));
    let dates = [
        (0, 0, 0),
        (0, 1, 1),
        (1, 1, 1),
        (2001, 0, 0),
        (2001, 11, 0),
        (2001, 2, 31),
        (2024, 2, 29),
        (1969, 12, 31),
        (2038, 1, 19),
        (9999, 12, 31),
    ];
    for (year, month, day) in dates {
        let date = Date::new(year, month, day).expect("in range");
        values.push(Value::Date(date));
        for (hour, micros) in [(0, 0), (23, 999_999)] {
            let last = if hour == 0 { 0 } else { 59 };
            let datetime = DateTime::new(date, hour, last, last, micros).expect("in range");
            values.push(Value::DateTime(datetime));
            values.push(Value::text(&datetime.format(6), Collation::DEFAULT));
            values.push(Value::text(&format!("{datetime}.9999999"), Collation::DEFAULT));
        }
        values.push(Value::text(&date.to_string(), Collation::DEFAULT));
    }
    for micros in [0, 1, -1, 86_399_999_999, Time::MAX.micros(), Time::MIN.micros()] {
        let time = Time::from_micros(micros).expect("in range");
        values.push(Value::Time(time));
        values.push(Value::text(&time.format(6), Collation::DEFAULT));
    }
    let long = "9".repeat(400);
    for text in [
        "",
        " ",
        "%",
        "x",
        "äöü",
        "🦀-🦀-🦀 🦀:🦀",
        "1e400",
        "-",
        ":",
        "..",
        long.as_str(),
        "4294967295 4294967295:59:59.9999999",
        "18446744073709551616",
        "-838:59:59.9999999",
        "0000-00-00 00:00:00+14:00",
        "9999-12-31 23:59:59-14:00",
        "0001-01-01 00:00:00+14:00",
        "+14:00",
        "-13:59",
        "1 2:3:4.5",
        "9223372036854775807",
        "-9223372036854775808",
        "%Y-%m-%d %H:%i:%s.%f",
        "%X %V %W %j %y %D %M %r %T %p",
        "%x%v%w %u%U%a%b%c%e%k%l%h%%",
        "9999 366",
        "9999 53 Sunday",
        "0 0 0",
    ] {
        values.push(Value::text(text, Collation::DEFAULT));
    }
    values
}

fn settings() -> [EvalSettings; 3] {
    let last = Date::MAX.at_midnight().with_micros(999_999).expect("in range");
    let loose =
        DateModes { allow_invalid_dates: true, truncate_fractions: true, ..DateModes::NONE };
    [
        EvalSettings::default(),
        EvalSettings {
            now: last,
            time_zone_offset_seconds: 14 * 3600,
            date_modes: loose,
            ignore_division_by_zero: true,
            strict: false,
        },
        EvalSettings {
            now: DateTime::from_number(20_240_229_123_456).expect("a moment"),
            time_zone_offset_seconds: -(13 * 3600 + 59 * 60),
            date_modes: DateModes::NONE,
            ignore_division_by_zero: false,
            strict: true,
        },
    ]
}

/// No function of dates, no interval, cast, store nor comparison panics on any combination of the extremes, and what they
/// give can be sent and shown.
#[test]
fn nothing_panics_at_the_extremes() {
    use Function::*;
    const ROUNDS: usize = 3_000;
    let functions = [
        Function::Date,
        Function::Time,
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
        TimestampDiff,
        Extract,
        YearWeek,
        WeekOfYear,
        PeriodAdd,
        PeriodDiff,
        Timestamp,
        ToSeconds,
        ConvertTz,
        UtcToLocal,
        LocalToUtc,
        DeclaredText,
    ];
    let types = [
        ColumnType::Date,
        ColumnType::Time { fsp: 0 },
        ColumnType::Time { fsp: 6 },
        ColumnType::DateTime { fsp: 0 },
        ColumnType::DateTime { fsp: 6 },
        ColumnType::Timestamp { fsp: 3 },
        ColumnType::Int { width: crate::IntWidth::W8, unsigned: false },
        ColumnType::Decimal { precision: 20, scale: 6, unsigned: false },
    ];
    let values = extremes();
    let settings = settings();
    let mut random = Random(20_240_229);
    let constant = |value: &Value| Expr::Const(value.clone());
    for round in 0..ROUNDS {
        let settings = settings[round % settings.len()];
        let (a, b, c) = (random.pick(&values), random.pick(&values), random.pick(&values));
        let mut exprs = Vec::new();
        for function in functions {
            let (least, most) = function.arity();
            let mut arguments = [a, b, c].map(constant).to_vec();
            if matches!(function, TimestampDiff | Extract) {
                arguments[0] = Expr::Const(Value::Int(random.below(22) as i64));
            }
            arguments.truncate(least + random.below(most - least + 1));
            exprs.push(Expr::Function(function, arguments));
        }
        let (operand, amount) = (Box::new(constant(a)), Box::new(constant(b)));
        let unit = *random.pick(&IntervalUnit::ALL);
        let subtract = random.below(2) == 0;
        exprs.push(Expr::Interval { operand, amount, unit, subtract });
        for column_type in &types {
            exprs.push(Expr::Cast(Box::new(constant(a)), column_type.clone()));
            for mode in [StoreMode::Strict, StoreMode::Lenient] {
                let mut convert = ConvertContext::new(settings);
                if let Ok((stored, _)) = store(a.as_ref(), column_type, mode, &mut convert) {
                    assert!(to_text(stored.as_ref()).len() < 100);
                }
            }
        }
        exprs.push(Expr::Binary(BinaryOp::Less, Box::new(constant(a)), Box::new(constant(b))));
        exprs.push(Expr::Binary(BinaryOp::Add, Box::new(constant(a)), Box::new(constant(b))));
        for expr in exprs {
            let mut ctx = EvalContext::with(&[], settings);
            if let Ok(value) = eval(&expr, &NoColumns, &mut ctx) {
                to_text(value.as_ref());
                let sent = Value::from_bytes(&value.to_bytes());
                assert_eq!(sent.as_ref(), Ok(&value), "{expr:?}");
            }
        }
    }
}
