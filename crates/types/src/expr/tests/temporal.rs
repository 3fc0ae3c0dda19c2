//! Dates, times and intervals: what MySQL 8.0 answers, a line each.

use super::check;

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
