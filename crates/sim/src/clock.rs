//! The clock of a node: it begins somewhere, and runs a little too fast or too slow.

use kernel::Time;

use crate::random::Random;

/// Clocks of different nodes have nothing to do with each other: each begins somewhere below this, ten hours.
const OFFSET_MAX: Time = 36_000_000_000;

#[derive(Clone, Copy, Debug)]
pub struct Clock {
    offset: Time,
    /// How much it is ahead after a million microseconds of the world.
    ahead_ppm: i64,
}

impl Clock {
    pub fn draw(drift_max_ppm: u32, random: &mut Random) -> Clock {
        let offset = random.below(OFFSET_MAX);
        let ahead_ppm = match i64::from(drift_max_ppm) {
            0 => 0,
            max => random.between(0, 2 * max as u64) as i64 - max,
        };
        Clock { offset, ahead_ppm }
    }

    /// What it shows at this time of the world.
    pub fn read(&self, now: Time) -> Time {
        let ahead = now as i128 * i128::from(self.ahead_ppm) / 1_000_000;
        (i128::from(self.offset) + i128::from(now) + ahead) as Time
    }

    /// The first time of the world at which it shows `reading`, or more.
    pub fn when(&self, reading: Time) -> Time {
        let passed = i128::from(reading) - i128::from(self.offset);
        let guess = passed * 1_000_000 / (1_000_000 + i128::from(self.ahead_ppm));
        let mut at = guess.max(1) as Time - 1;
        while self.read(at) < reading {
            at += 1;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A deadline has come when the world says that it has, and not a microsecond before, however the clock runs.
    #[test]
    fn readings_come_when_they_are_expected() {
        for seed in 0..1_000 {
            let mut random = Random::new(seed);
            let clock = Clock::draw(if seed % 4 == 0 { 0 } else { 10_000 }, &mut random);
            let begin = clock.read(0);
            let reading = begin + random.below(100_000_000);
            let at = clock.when(reading);
            assert!(clock.read(at) >= reading, "{clock:?} {reading}");
            assert!(at == 0 || clock.read(at - 1) < reading, "{clock:?} {reading}");
        }
    }
}
