//! The seeds of a fuzz target (crates/disk/fuzz), and what chance makes of them.

#[path = "entries/reading.rs"]
mod reading;

const SEED: &[u8] = include_bytes!("../../disk/fuzz/corpus/entries/written");
const ROUNDS: usize = 50_000;

/// All of a seed is decoded: its formats are those of today. Changed in some places nothing of it panics, and some of it is refused.
#[test]
fn what_chance_makes_of_entries() {
    let whole = reading::read(SEED);
    assert_eq!(whole, 13);
    let mut seed = 11u64;
    let mut below = |limit: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % limit
    };
    let mut refused = 0;
    for _ in 0..ROUNDS {
        let mut bytes = SEED.to_vec();
        for _ in 0..=below(4) {
            let (at, to) = (below(bytes.len()), below(bytes.len()));
            match below(4) {
                0 => bytes[at] ^= 1 << below(8),
                1 => bytes[at] = 0xff,
                2 => bytes.swap(at, to),
                _ => {
                    let end = (at + 1 + below(16)).min(bytes.len());
                    let to = to.min(bytes.len() - (end - at));
                    bytes.copy_within(at..end, to);
                }
            }
        }
        refused += usize::from(reading::read(&bytes) < whole);
    }
    assert!(ROUNDS / 4 < refused && refused < ROUNDS, "{refused} of {ROUNDS}");
}
