//! Reading values as dates and times.
//!
//! MySQL has dates that no calendar has: the zero date, and dates with a zero month or day. Who reads a date says which
//! of them it takes:
//!
//! | reader | zero date | zero month or day | day 29 to 31 of a shorter month |
//! |---|---|---|---|
//! | [`to_fuzzy_datetime`]: MONTH() and the other extractors | yes; as a text unless NO_ZERO_DATE | yes | text: ALLOW_INVALID_DATES |
//! | [`to_datetime`]: calendar arithmetic | no | no | text: ALLOW_INVALID_DATES |
//! | [`cast_datetime`]: CAST | unless NO_ZERO_DATE | unless NO_ZERO_IN_DATE | ALLOW_INVALID_DATES |
//!
//! A value that is a date already (of a column) is never asked for its day, and is refused without a warning.

use super::{ConvertContext, json, to_text};
use crate::temporal::{DateModes, ParsedDateTime, SpelledTime};
use crate::{Date, DateTime, Decimal, Time, ValueRef};

/// Which dates outside of the calendar a reader takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Fuzzy,
    Calendar,
    Cast,
}

/// What a date was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Text,
    Number,
    Temporal,
}

/// A date and a time of day, as a value gives them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub value: DateTime,
    pub origin: Origin,
    /// A time of day was given, not only a date.
    pub has_time: bool,
    /// All of the value was read.
    pub complete: bool,
}

/// The whole part and the microseconds of a number that spells a date or a time: up to 1,000,000 where the seventh digit
/// rounds.
fn split_number(number: Decimal, modes: DateModes) -> Option<(i64, u32)> {
    let whole = number.truncate(0);
    let fraction = number.sub(whole)?.abs().mul(Decimal::from_i64(1_000_000))?;
    let fraction = if modes.truncate_fractions { fraction.truncate(0) } else { fraction };
    Some((whole.to_i64_round()?, u32::try_from(fraction.to_i64_round()?).ok()?))
}

/// Numbers up to this one are dates without a time.
const DATE_NUMBER_MAX: i64 = 99_991_231;

fn number_to_moment(number: Decimal, modes: DateModes) -> Option<Moment> {
    let (whole, micros) = split_number(number, modes)?;
    if number.is_negative() {
        return None;
    }
    let value = DateTime::from_number_with(whole, modes)?;
    let is_date = whole != 0 && whole <= DATE_NUMBER_MAX;
    let (value, complete) =
        if is_date { (value, micros == 0) } else { (value.with_micros(micros)?, true) };
    Some(Moment { value, origin: Origin::Number, has_time: !is_date, complete })
}

/// What a value says, whatever calendar or mode say of it; None if that is no date. `modes` decides about days that their
/// month has not, and about fractions.
pub(super) fn read_moment(
    value: ValueRef<'_>,
    modes: DateModes,
    cx: &mut ConvertContext,
) -> Option<Moment> {
    let temporal = |value: DateTime, has_time| {
        Some(Moment { value, origin: Origin::Temporal, has_time, complete: true })
    };
    match value {
        ValueRef::Null => None,
        ValueRef::Date(v) => temporal(v.at_midnight(), false),
        ValueRef::DateTime(v) => temporal(v, true),
        ValueRef::Time(v) => temporal(cx.now.date().at_midnight().add_micros(v.micros())?, true),
        ValueRef::Int(v) => number_to_moment(Decimal::from_i64(v), modes),
        ValueRef::UInt(v) => number_to_moment(Decimal::from_u64(v), modes),
        ValueRef::Label(number, labels) => text_to_moment(&labels.text(number), modes, cx),
        ValueRef::Float(_) | ValueRef::Double(_) | ValueRef::Decimal(_) => {
            let number = super::to_decimal(value, cx);
            number_to_moment(number, modes)
        }
        ValueRef::Text(text, _) => text_to_moment(text, modes, cx),
        ValueRef::Bytes(bytes) => text_to_moment(std::str::from_utf8(bytes).ok()?, modes, cx),
        ValueRef::Json(document) => read_moment(json::moment_of(document)?, modes, cx),
    }
}

fn text_to_moment(text: &str, modes: DateModes, cx: &ConvertContext) -> Option<Moment> {
    let parsed = in_session_zone(DateTime::parse_with(text, modes)?, cx)?;
    let ParsedDateTime { value, has_time, complete, .. } = parsed;
    Some(Moment { value, origin: Origin::Text, has_time, complete })
}

/// A literal's own offset moves it into the session's time zone.
fn in_session_zone(parsed: ParsedDateTime, cx: &ConvertContext) -> Option<ParsedDateTime> {
    let Some(offset) = parsed.offset_minutes else { return Some(parsed) };
    let shift = i64::from(cx.time_zone_offset_seconds) - i64::from(offset) * 60;
    Some(ParsedDateTime { value: parsed.value.add_micros(shift * 1_000_000)?, ..parsed })
}

impl Reader {
    fn admits(self, moment: &Moment, modes: DateModes) -> bool {
        let by_mode = |refused: bool| !refused;
        if moment.value.is_zero() {
            match self {
                Reader::Calendar => false,
                Reader::Fuzzy => moment.origin != Origin::Text || by_mode(modes.no_zero_date),
                Reader::Cast => by_mode(modes.no_zero_date),
            }
        } else if moment.value.date().is_partial() {
            match self {
                Reader::Calendar => false,
                Reader::Fuzzy => true,
                Reader::Cast => moment.origin == Origin::Temporal || by_mode(modes.no_zero_in_date),
            }
        } else {
            // Three-digit years are for extractors only.
            self != Reader::Calendar
                || moment.origin != Origin::Number
                || moment.has_time
                || moment.value.date().year() >= 1000
        }
    }

    fn read(self, value: ValueRef<'_>, cx: &mut ConvertContext) -> Option<Moment> {
        if value.is_null() {
            return None;
        }
        if let ValueRef::Json(document) = value {
            let Some(scalar) = json::moment_of(document) else {
                json::warn_invalid("DATETIME", cx);
                return None;
            };
            return self.read(scalar, cx);
        }
        let is_number =
            !matches!(value, ValueRef::Text(..) | ValueRef::Bytes(_) | ValueRef::Label(..));
        let modes = match self {
            Reader::Cast => cx.date_modes,
            Reader::Fuzzy | Reader::Calendar => DateModes {
                allow_invalid_dates: cx.date_modes.allow_invalid_dates && !is_number,
                ..cx.date_modes
            },
        };
        let moment = read_moment(value, modes, cx);
        match moment {
            Some(moment) if self.admits(&moment, cx.date_modes) => {
                // CAST drops the fraction of a number that is a date without a word.
                let drops = self == Reader::Cast && moment.origin == Origin::Number;
                if !moment.complete && !drops {
                    let what = if moment.has_time { "datetime" } else { "date" };
                    cx.warn_truncated(what, to_text(value).as_bytes());
                }
                Some(moment)
            }
            Some(Moment { origin: Origin::Temporal, .. }) => None,
            _ => {
                cx.warn_incorrect("datetime", to_text(value).as_bytes());
                None
            }
        }
    }
}

/// The value as a datetime, partial dates included. None and a warning (1292) if it is not one; None for NULL.
pub fn to_fuzzy_datetime(value: ValueRef<'_>, cx: &mut ConvertContext) -> Option<DateTime> {
    Reader::Fuzzy.read(value, cx).map(|moment| moment.value)
}

/// The value as a datetime that is neither zero nor partial; None and a warning otherwise.
pub fn to_datetime(value: ValueRef<'_>, cx: &mut ConvertContext) -> Option<DateTime> {
    Reader::Calendar.read(value, cx).map(|moment| moment.value)
}

/// As [`to_datetime`], and whether the value has a time of day.
pub fn to_moment(value: ValueRef<'_>, cx: &mut ConvertContext) -> Option<(DateTime, bool)> {
    Reader::Calendar.read(value, cx).map(|moment| (moment.value, moment.has_time))
}

/// The value as a date that is neither zero nor partial; None and a warning otherwise.
pub fn to_date(value: ValueRef<'_>, cx: &mut ConvertContext) -> Option<Date> {
    to_datetime(value, cx).map(|datetime| datetime.date())
}

/// The value as a datetime that the SQL mode admits; None and a warning otherwise.
pub fn cast_datetime(value: ValueRef<'_>, cx: &mut ConvertContext) -> Option<DateTime> {
    Reader::Cast.read(value, cx).map(|moment| moment.value)
}

/// As [`to_fuzzy_datetime`], and whether the value has a time of day.
pub fn to_fuzzy_moment(value: ValueRef<'_>, cx: &mut ConvertContext) -> Option<(DateTime, bool)> {
    Reader::Fuzzy.read(value, cx).map(|moment| (moment.value, moment.has_time))
}

/// The moment a text spells, days that their month has not included.
pub(super) fn any_datetime(text: &str, cx: &ConvertContext) -> Option<DateTime> {
    let modes = DateModes { allow_invalid_dates: true, ..cx.date_modes };
    Some(in_session_zone(DateTime::parse_with(text, modes)?, cx)?.value)
}

/// A constant that is compared with dates: the moment its text spells, days that their month has not included. None: not
/// one that the SQL mode admits, which MySQL refuses (1525).
pub fn constant_datetime(text: &str, cx: &ConvertContext) -> Option<DateTime> {
    let value = any_datetime(text, cx)?;
    let is_refused = if value.is_zero() {
        cx.date_modes.no_zero_date
    } else {
        value.date().is_partial() && cx.date_modes.no_zero_in_date
    };
    (!is_refused).then_some(value)
}

/// A time, or the moment that a text or a number is where a time is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeOrMoment {
    Time(Time),
    /// With whether it has a time of day.
    Moment(DateTime, bool),
}

impl TimeOrMoment {
    pub fn time(self) -> Time {
        match self {
            TimeOrMoment::Time(time) => time,
            TimeOrMoment::Moment(moment, _) => moment.time(),
        }
    }
}

/// The largest number that is HHMMSS.
const TIME_NUMBER_MAX: i64 = 8_385_959;
/// The least number that is a date where a time is expected.
const MOMENT_NUMBER_MIN: i64 = 10_000_000_000;

/// None: no time. The second part is false if it had to be clamped.
fn number_to_time(number: Decimal, modes: DateModes) -> Option<(TimeOrMoment, bool)> {
    let (whole, micros) = split_number(number, modes)?;
    if MOMENT_NUMBER_MIN <= whole {
        let modes = DateModes { allow_invalid_dates: false, ..modes };
        let moment = DateTime::from_number_with(whole, modes)?;
        if moment.date().is_partial() {
            return None;
        }
        return Some((TimeOrMoment::Moment(moment.with_micros(micros)?, true), true));
    }
    if !(-TIME_NUMBER_MAX..=TIME_NUMBER_MAX).contains(&whole) {
        return None;
    }
    let micros = if number.is_negative() { -i64::from(micros) } else { i64::from(micros) };
    let total = Time::from_number(whole)?.micros() + micros;
    let time = Time::from_micros_clamped(total);
    Some((TimeOrMoment::Time(time), time.micros() == total))
}

/// The value as a time of day or a duration, or as the moment it spells. None and a warning (1292) if it is neither; None
/// for NULL. Out of range is clamped to 838:59:59, with a warning.
pub fn to_time_or_moment(value: ValueRef<'_>, cx: &mut ConvertContext) -> Option<TimeOrMoment> {
    let time = |time| Some(TimeOrMoment::Time(time));
    let (read, whole) = match value {
        ValueRef::Null => return None,
        ValueRef::Time(v) => return time(v),
        ValueRef::Date(_) => return time(Time::ZERO),
        ValueRef::DateTime(v) => return time(v.time()),
        ValueRef::Int(_)
        | ValueRef::UInt(_)
        | ValueRef::Float(_)
        | ValueRef::Double(_)
        | ValueRef::Decimal(_) => {
            let number = super::to_decimal(value, cx);
            match number_to_time(number, cx.date_modes) {
                Some((time, whole)) => (Some(time), whole),
                None => (None, false),
            }
        }
        ValueRef::Json(document) => {
            let Some(scalar) = json::moment_of(document) else {
                json::warn_invalid("TIME", cx);
                return None;
            };
            return to_time_or_moment(scalar, cx);
        }
        ValueRef::Text(..) | ValueRef::Bytes(_) | ValueRef::Label(..) => {
            let text = to_text(value);
            match Time::spell(&text, cx.date_modes) {
                Some(SpelledTime::Time(parsed)) => {
                    (Some(TimeOrMoment::Time(parsed.value)), parsed.complete && !parsed.clamped)
                }
                Some(SpelledTime::Moment(parsed)) => {
                    let moment = in_session_zone(parsed, cx)
                        .map(|moment| TimeOrMoment::Moment(moment.value, moment.has_time));
                    (moment, parsed.complete)
                }
                None => (None, false),
            }
        }
    };
    if !whole || read.is_none() {
        cx.warn_truncated("time", to_text(value).as_bytes());
    }
    read
}

/// As [`to_time_or_moment`], the time of day of a moment.
pub fn to_time(value: ValueRef<'_>, cx: &mut ConvertContext) -> Option<Time> {
    to_time_or_moment(value, cx).map(TimeOrMoment::time)
}
