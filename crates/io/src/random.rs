//! Randomness from the operating system: incarnations, seeds, scrambles. Everything below this crate is given its own.

/// Fills an array. The system's source cannot fail once the machine has booted, and a node without randomness could not
/// tell its boots apart: so a failure ends it.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system has a random source");
    bytes
}

/// Never 0, which stands for "none" in some places.
pub fn nonzero_u64() -> u64 {
    loop {
        let number = u64::from_le_bytes(bytes());
        if number != 0 {
            return number;
        }
    }
}
