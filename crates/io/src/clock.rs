//! The two clocks of a node.

use kernel::Time;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Microseconds since the machine's boot, time asleep included: leases and timeouts must not stand still with it.
pub fn now() -> Time {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(tv_sec).expect("the clock counts from boot");
    seconds * 1_000_000 + u64::try_from(tv_nsec).expect("nanoseconds are positive") / 1_000
}

/// Unix time in microseconds. It may jump: only values that users see come from it (rule R25).
pub fn unix_micros() -> i64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Realtime);
    tv_sec * 1_000_000 + tv_nsec / 1_000
}

/// Unix time as ISO 8601 in UTC.
pub fn format_unix_micros(micros: i64) -> String {
    let seconds = micros.div_euclid(1_000_000);
    let (days, second_of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil_from_days(days);
    let (hour, minute, second) =
        (second_of_day / 3_600, second_of_day / 60 % 60, second_of_day % 60);
    let fraction = micros.rem_euclid(1_000_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:06}Z")
}

/// The Gregorian date of a day counted from 1970-01-01, in years that begin in March so that leap days come last.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dates around leap days and before 1970, against known values; the clocks run.
    #[test]
    fn dates_are_gregorian() {
        let table = [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_400_000_001, "2000-02-29T00:00:00.000001Z"),
            (1_709_251_199_999_999, "2024-02-29T23:59:59.999999Z"),
            (1_709_251_200_000_000, "2024-03-01T00:00:00.000000Z"),
            (4_102_444_800_000_000, "2100-01-01T00:00:00.000000Z"),
            (-1, "1969-12-31T23:59:59.999999Z"),
        ];
        for (micros, text) in table {
            assert_eq!(format_unix_micros(micros), text);
        }
        assert!(unix_micros() > 1_700_000_000_000_000);
        let before = now();
        assert!(now() >= before);
    }
}
