use proptest::prelude::*;

use super::*;
use crate::wire::Wire;

fn date(text: &str) -> Date {
    Date::parse(text).unwrap_or_else(|| panic!("{text} is a date"))
}
fn moment(text: &str) -> DateTime {
    DateTime::parse(text).unwrap_or_else(|| panic!("{text} is a moment")).value
}
fn time(text: &str) -> Time {
    Time::parse(text).unwrap_or_else(|| panic!("{text} is a time")).value
}

/// The forms MySQL reads, and what it makes of them.
#[test]
fn moments_from_text() {
    let table = [
        ("2024-01-02", "2024-01-02 00:00:00"),
        ("20240102", "2024-01-02 00:00:00"),
        ("240102", "2024-01-02 00:00:00"),
        ("700102", "1970-01-02 00:00:00"),
        ("24-1-2", "2024-01-02 00:00:00"),
        ("99-1-2", "1999-01-02 00:00:00"),
        ("2024/01/02", "2024-01-02 00:00:00"),
        ("2024.01.02 3.4.5", "2024-01-02 03:04:05"),
        ("2024-01-02T03:04:05", "2024-01-02 03:04:05"),
        ("20240102T030405", "2024-01-02 03:04:05"),
        ("20240102030405", "2024-01-02 03:04:05"),
        ("20240102030405.5", "2024-01-02 03:04:05.500000"),
        ("240102030405", "2024-01-02 03:04:05"),
        ("  2024-01-02  3:4:5  ", "2024-01-02 03:04:05"),
        ("2024-01-02 03", "2024-01-02 03:00:00"),
        ("2024-01-02 03:04", "2024-01-02 03:04:00"),
        ("2024-01-02 03:04:05.123456", "2024-01-02 03:04:05.123456"),
        ("2024-01-02 03:04:05.1234567", "2024-01-02 03:04:05.123457"),
        ("2024-12-31 23:59:59.9999999", "2025-01-01 00:00:00"),
        ("0000-00-00", "0000-00-00 00:00:00"),
        ("00-00-00", "0000-00-00 00:00:00"),
        ("2024-00-00", "2024-00-00 00:00:00"),
        ("2024-02-00", "2024-02-00 00:00:00"),
        ("2024-02-29", "2024-02-29 00:00:00"),
        ("0001-01-01", "0001-01-01 00:00:00"),
    ];
    for (text, expected) in table {
        let parsed = DateTime::parse(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(parsed.value.to_string(), expected, "{text}");
        assert!(parsed.complete, "{text}");
    }
    for text in [
        "",
        " ",
        "x",
        "2024",
        "2024-01",
        "2024-13-01",
        "2024-02-30",
        "2023-02-29",
        "2024-01-32",
        "1900-02-29",
        "0000-02-29",
        "2024-01-02 24:00:00",
        "2024-01-02 00:60:00",
        "2024-01-02 00:00:60",
        "9999-12-31 23:59:59.9999999",
        "20241301",
        "-2024-01-01",
    ] {
        assert_eq!(DateTime::parse(text), None, "{text}");
    }
    assert!(!DateTime::parse("2024-01-02abc").unwrap().complete);
    assert!(!DateTime::parse("2024-01-02 03:04:05 x").unwrap().complete);
    assert!(!DateTime::parse("2024-01-02").unwrap().has_time);
    assert!(DateTime::parse("2024-01-02 00:00").unwrap().has_time);
}

#[test]
fn zones() {
    let parsed = DateTime::parse("2024-01-02 03:04:05+05:30").unwrap();
    assert_eq!((parsed.offset_minutes, parsed.complete), (Some(330), true));
    let parsed = DateTime::parse("2024-01-02T03:04:05.5-08:00").unwrap();
    assert_eq!((parsed.offset_minutes, parsed.value.microsecond()), (Some(-480), 500_000));
    assert_eq!(DateTime::parse("2024-01-02 03:04:05+15:00"), None);
    assert_eq!(DateTime::parse("2024-01-02 03:04:05-00:00"), None);
    assert_eq!(DateTime::parse("2024-01-02 03:04:05+5"), None);
    assert_eq!(
        moment("2024-01-01 01:00:00").shift_offset(-120),
        Some(moment("2023-12-31 23:00:00"))
    );
}

#[test]
fn times_from_text() {
    let table = [
        ("10:11:12", "10:11:12"),
        ("-10:11:12", "-10:11:12"),
        ("838:59:59", "838:59:59"),
        ("10:11", "10:11:00"),
        ("101112", "10:11:12"),
        ("1112", "00:11:12"),
        ("12", "00:00:12"),
        ("0", "00:00:00"),
        ("1 10:11:12", "34:11:12"),
        ("-1 10", "-34:00:00"),
        ("10:11:12.5", "10:11:12.500000"),
        ("101112.123456", "10:11:12.123456"),
        ("00:00:00.9999995", "00:00:01"),
        ("2024-01-02 03:04:05", "03:04:05"),
        ("20240102030405", "03:04:05"),
        (" 1:2:3 ", "01:02:03"),
    ];
    for (text, expected) in table {
        let parsed = Time::parse(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(parsed.value.to_string(), expected, "{text}");
        assert!(parsed.complete, "{text}");
        assert!(!parsed.clamped, "{text}");
    }
    for text in
        ["", "-", "x", ":", "10:60:00", "10:00:60", "6000", "60", "99999999999999999999:00:00"]
    {
        assert_eq!(Time::parse(text), None, "{text}");
    }
    for (text, expected) in [
        ("839:00:00", Time::MAX),
        ("-9999999:00:00", Time::MIN),
        ("4294967295 4294967295:0:0", Time::MAX),
        ("838:59:59.5", Time::MAX),
    ] {
        let parsed = Time::parse(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!((parsed.value, parsed.clamped), (expected, true), "{text}");
    }
    assert!(!Time::parse("10:11:12x").unwrap().complete);
}

#[test]
fn numbers() {
    for (number, expected) in [
        (20240102, Some("2024-01-02 00:00:00")),
        (240102, Some("2024-01-02 00:00:00")),
        (700101, Some("1970-01-01 00:00:00")),
        (101, Some("2000-01-01 00:00:00")),
        (20240102030405, Some("2024-01-02 03:04:05")),
        (240102030405, Some("2024-01-02 03:04:05")),
        (700102030405, Some("1970-01-02 03:04:05")),
        (0, Some("0000-00-00 00:00:00")),
        (100, None),
        (20241301, None),
        (20240230, None),
        (20240102240000, None),
        (100_000_000, None),
        (-1, None),
        (i64::MAX, None),
    ] {
        let got = DateTime::from_number(number).map(|moment| moment.to_string());
        assert_eq!(got.as_deref(), expected, "{number}");
    }
    assert_eq!(moment("2024-01-02 03:04:05").to_number(), 20240102030405);
    assert_eq!(date("2024-01-02").to_number(), 20240102);
    assert_eq!(Time::from_number(-101112), Some(time("-10:11:12")));
    assert_eq!(time("-10:11:12").to_number(), -101112);
    for number in [60, 6000, 8_390_000, 29_991_331_235_959, i64::MIN, i64::MAX] {
        assert_eq!(Time::from_number(number), None, "{number}");
    }
}

/// Day numbers as TO_DAYS gives them (the manual's examples and the ends of the calendar).
#[test]
fn day_numbers() {
    for (text, number) in [
        ("0000-01-01", 1),
        ("0000-12-31", 365),
        ("0001-01-01", 366),
        ("1970-01-01", 719_528),
        ("1995-05-01", 728_779),
        ("2007-10-07", 733_321),
        ("9999-12-31", 3_652_424),
    ] {
        assert_eq!(date(text).day_number(), number, "{text}");
        let read = if number <= 365 { Date::ZERO } else { date(text) };
        assert_eq!(Date::from_day_number(number), Some(read), "{text}");
    }
    assert_eq!(Date::from_day_number(0), Some(Date::ZERO));
    assert_eq!(Date::from_day_number(-1), None);
    assert_eq!(Date::from_day_number(3_652_425), None);
    assert_eq!(date("2024-01-01").weekday(), 0);
    assert_eq!(date("2023-12-31").weekday(), 6);
    assert_eq!(date("2024-12-31").day_of_year(), 366);
}

/// Every day of the calendar follows the one before and has the next number.
#[test]
fn the_whole_calendar() {
    let mut day = date("0000-01-01");
    for number in 1..=3_652_424 {
        assert_eq!(day.day_number(), number);
        // Year 0 is the zero date.
        let read = if number <= 365 { Date::ZERO } else { day };
        assert_eq!(Date::from_day_number(number), Some(read));
        let last = day.day() == days_in_month(day.year(), day.month());
        let next = match (last, day.month()) {
            (false, month) => Date::new(day.year(), month, day.day() + 1),
            (true, 12) => Date::new(day.year() + 1, 1, 1),
            (true, month) => Date::new(day.year(), month + 1, 1),
        };
        match next {
            Some(next) => day = next,
            None => assert_eq!(number, 3_652_424),
        }
    }
    assert_eq!(day, Date::MAX);
}

/// WEEK and YEARWEEK: the manual's examples, and a year that begins on a Friday in all modes.
#[test]
fn weeks() {
    assert_eq!(date("2008-02-20").week(0), 7);
    assert_eq!(date("2008-02-20").week(1), 8);
    assert_eq!(date("2008-12-31").week(1), 53);
    assert_eq!(date("2000-01-01").week(0), 0);
    assert_eq!(date("2000-01-01").week(2), 52);
    assert_eq!(date("1987-01-01").year_week(0), (1986, 52));
    let modes = |text: &str| -> Vec<u32> { (0..8).map(|mode| date(text).week(mode)).collect() };
    assert_eq!(modes("2021-01-01"), [0, 0, 52, 53, 0, 0, 53, 52]);
    assert_eq!(modes("2021-01-04"), [1, 1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(date("2020-12-31").year_week(3), (2020, 53));
    assert_eq!(date("2021-01-03").year_week(3), (2020, 53));
    assert_eq!(date("2019-12-30").year_week(3), (2020, 1));
    assert_eq!(date("2019-12-30").year_week(1), (2020, 1));
}

/// ISO weeks (mode 3) against their definition: the week's Thursday decides its year.
#[test]
fn iso_weeks() {
    for number in date("1990-01-01").day_number()..date("2040-01-01").day_number() {
        let day = Date::from_day_number(number).unwrap();
        let thursday = Date::from_day_number(number - i64::from(day.weekday()) + 3).unwrap();
        let week = u32::from(thursday.day_of_year() - 1) / 7 + 1;
        assert_eq!(day.year_week(3), (u32::from(thursday.year()), week), "{day}");
    }
}

#[test]
fn arithmetic() {
    assert_eq!(date("2024-01-31").add_months(1), Some(date("2024-02-29")));
    assert_eq!(date("2024-03-31").add_months(-13), Some(date("2023-02-28")));
    assert_eq!(date("2024-01-31").add_months(12 * 8000), None);
    assert_eq!(date("2024-01-31").add_months(i64::MIN), None);
    assert_eq!(date("2024-01-31").add_days(i64::MAX), None);
    assert_eq!(date("2024-00-00").add_days(1), None);
    assert_eq!(date("2024-02-10").last_day(), Some(date("2024-02-29")));
    assert_eq!(date("2024-00-00").last_day(), None);
    assert_eq!(moment("2024-02-28 23:59:59").add_micros(1_000_000), Some(moment("2024-02-29")));
    assert_eq!(moment("9999-12-31 23:59:59").add_micros(1_000_000), None);
    assert_eq!(DateTime::ZERO.add_micros(1), None);
    assert_eq!(DateTime::from_unix(0, 5).unwrap().to_string(), "1970-01-01 00:00:00.000005");
    assert_eq!(DateTime::from_unix(1_704_164_645, 0), Some(moment("2024-01-02 03:04:05")));
    assert_eq!(moment("2024-01-02 03:04:05.9").unix_seconds(), Some(1_704_164_645));
    assert_eq!(moment("1969-12-31 23:59:59.5").unix_seconds(), Some(-1));
    assert_eq!(DateTime::from_unix(i64::MAX, 0), None);
}

#[test]
fn fractions() {
    let value = moment("2024-12-31 23:59:59.123456");
    assert_eq!(value.format(0), "2024-12-31 23:59:59");
    assert_eq!(value.format(3), "2024-12-31 23:59:59.123");
    assert_eq!(value.round(5).unwrap().format(6), "2024-12-31 23:59:59.123460");
    assert_eq!(value.truncate(2).format(6), "2024-12-31 23:59:59.120000");
    assert_eq!(moment("2024-12-31 23:59:59.5").round(0), Some(moment("2025-01-01")));
    assert_eq!(moment("9999-12-31 23:59:59.5").round(0), None);
    assert_eq!(moment("2024-00-00 10:00:00.6").round(0), Some(moment("2024-00-00 10:00:01")));
    assert_eq!(time("-00:00:01.5").round(0).to_string(), "-00:00:02");
    assert_eq!(time("-00:00:01.55").truncate(1).format(1), "-00:00:01.5");
    assert_eq!(time("00:00:00.05").format(2), "00:00:00.05");
    assert_eq!(Time::MAX.round(0), Time::MAX);
}

fn any_date() -> impl Strategy<Value = Date> {
    (0u16..=9999, 0u8..=12, 0u8..=31).prop_filter_map("no such day", |(year, month, day)| {
        Date::new(year, month, day).filter(|date| date.is_valid())
    })
}
fn any_moment() -> impl Strategy<Value = DateTime> {
    (any_date(), 0u32..24, 0u32..60, 0u32..60, 0u32..1_000_000).prop_map(
        |(date, hour, minute, second, micros)| {
            DateTime::new(date, hour, minute, second, micros).unwrap()
        },
    )
}

proptest! {
    /// Text, number, packed and byte form all give the moment back, and packing keeps the order of the text.
    #[test]
    fn moment_forms(a in any_moment(), b in any_moment()) {
        prop_assert_eq!(moment(&a.format(6)), a);
        prop_assert_eq!(DateTime::unpack(a.pack()), Some(a));
        prop_assert_eq!(DateTime::from_bytes(&a.to_bytes()), Ok(a));
        prop_assert_eq!(Date::unpack(a.date().pack()), Some(a.date()));
        prop_assert_eq!(a.pack().cmp(&b.pack()), a.format(6).cmp(&b.format(6)));
        prop_assert_eq!(a.cmp(&b), a.format(6).cmp(&b.format(6)));
        if a.date().year() >= 1000 {
            prop_assert_eq!(DateTime::from_number(a.to_number()), Some(a.truncate(0)));
        }
        if let Some(micros) = a.micros()
            && a.date().year() > 0
        {
            prop_assert_eq!(DateTime::from_micros(micros), Some(a));
        }
    }
    #[test]
    fn time_forms(a in -3_020_399_000_000i64..=3_020_399_000_000, b in any::<i64>()) {
        let a = Time::from_micros(a).unwrap();
        let b = Time::from_micros_clamped(b);
        prop_assert_eq!(time(&a.format(6)), a);
        prop_assert_eq!(Time::unpack(a.pack()), Some(a));
        prop_assert_eq!(Time::from_bytes(&a.to_bytes()), Ok(a));
        prop_assert_eq!(a.pack().cmp(&b.pack()), a.micros().cmp(&b.micros()));
        prop_assert!(a.pack() < 1 << (8 * Time::PACKED_SIZE));
        let parts = Time::new(a.is_negative(), a.hour(), a.minute(), a.second(), a.microsecond());
        prop_assert_eq!(parts, Some(a));
    }
    /// No text and no bits make the readers panic; what they accept is valid.
    #[test]
    fn hostile(text in "[-+0-9:./T x]{0,40}", wild in any::<String>(), bits in any::<u64>(), number in any::<i64>()) {
        for text in [text, wild] {
            if let Some(parsed) = DateTime::parse(&text) {
                prop_assert!(parsed.value.date().is_valid());
            }
            let _ = Time::parse(&text).map(|parsed| parsed.value.to_string());
        }
        for bits in [bits, bits >> 4, bits >> 16, bits >> 40] {
            if let Some(moment) = DateTime::unpack(bits) {
                prop_assert_eq!(moment.pack(), bits);
            }
            if let Some(time) = Time::unpack(bits) {
                prop_assert_eq!(time.pack(), bits);
            }
        }
        let _ = (DateTime::from_number(number), Time::from_number(number), Date::from_day_number(number));
        let _ = (DateTime::from_micros(number), DateTime::from_unix(number, 0));
    }
}
