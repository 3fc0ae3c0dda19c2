//! The only source of randomness of a world: xoshiro256**, seeded through SplitMix64. No floats: a decision must not depend
//! on how a machine rounds.

/// A generator. `fork` makes independent ones, so that a task that draws more does not shift what others draw.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    pub fn new(seed: u64) -> Random {
        let mut mixed = seed;
        let mut next = || {
            mixed = mixed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let value = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            value ^ (value >> 31)
        };
        Random { state: [next(), next(), next(), next()] }
    }

    pub fn fork(&mut self) -> Random {
        Random::new(self.draw())
    }

    pub fn draw(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let mut mixed = [a, b, c ^ a, d ^ b];
        mixed[1] ^= mixed[2];
        mixed[0] ^= mixed[3];
        mixed[2] ^= b << 17;
        mixed[3] = mixed[3].rotate_left(45);
        self.state = mixed;
        result
    }

    /// 0 .. bound, evenly but for a bias below 2^-32 for the bounds in use here.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(0 < bound);
        ((u128::from(self.draw()) * u128::from(bound)) >> 64) as u64
    }

    /// low ..= high.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        assert!(low <= high);
        low + self.below(high - low + 1)
    }

    /// True in `per_mille` of a thousand cases.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1_000) < u64::from(per_mille)
    }

    /// low ..= high, every power of two in between as likely as every other.
    pub fn logarithmic(&mut self, low: u64, high: u64) -> u64 {
        assert!(0 < low && low <= high);
        let power = self.between(u64::from(low.ilog2()), u64::from(high.ilog2()));
        let value = self.between(1 << power, (2 << power) - 1);
        value.clamp(low, high)
    }

    pub fn index(&mut self, count: usize) -> usize {
        self.below(count as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.index(items.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sequence of a seed is fixed for ever, or old seeds would mean new worlds; the first values come from the
    /// published algorithm.
    #[test]
    fn a_seed_is_a_sequence() {
        let mut random = Random { state: [1, 2, 3, 4] };
        let first: Vec<u64> = (0..4).map(|_| random.draw()).collect();
        assert_eq!(first, [11_520, 0, 1_509_978_240, 1_215_971_899_390_074_240]);
    }

    /// Every value of a small range comes, none outside of it, and bounds are kept.
    #[test]
    fn ranges_are_kept_and_filled() {
        let mut random = Random::new(7);
        let mut seen = [0u32; 6];
        for _ in 0..6_000 {
            seen[random.between(0, 5) as usize] += 1;
            let spread = random.logarithmic(50, 500_000);
            assert!((50..=500_000).contains(&spread));
        }
        assert!(seen.iter().all(|count| (800..1_200).contains(count)), "{seen:?}");
    }
}
