//! The one hash function of the engine: where a key lives (bucket) and its slot in the hash index both come from it, on
//! every node, for ever. Seedless on purpose: replicas and restarts must agree.

/// 64-bit hash of `bytes`: 8 bytes a step, multiply and fold, with a final avalanche. Not for adversarial inputs that
/// must not collide; the hash index tolerates collisions.
pub fn hash64(bytes: &[u8]) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = K ^ (bytes.len() as u64);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let word = u64::from_le_bytes(chunk.try_into().expect("chunks of 8"));
        state = fold(state ^ word, K);
    }
    fold(fold(state ^ first_word(chunks.remainder()), 0xd6e8_feb8_6659_fd93), K)
}

/// The first eight bytes as a little-endian number, with zeros behind fewer. It never goes through memory: bytes that were just stored
/// one by one cannot be loaded as a word before all that came earlier is done, and then what waits for memory waits one by one.
#[inline]
pub fn first_word(bytes: &[u8]) -> u64 {
    let byte = |at: usize| u64::from(bytes[at]) << (8 * at);
    match bytes.len() {
        0 => 0,
        // Of one to three bytes the first, the middle and the last are all.
        length @ 1..4 => byte(0) | byte(length / 2) | byte(length - 1),
        // Two halves that may overlap: what both have is the same.
        length @ 4..8 => {
            let first = bytes.first_chunk().expect("four bytes");
            let last = bytes.last_chunk().expect("four bytes");
            let behind = u64::from(u32::from_le_bytes(*last)) << (8 * (length - 4));
            u64::from(u32::from_le_bytes(*first)) | behind
        }
        _ => u64::from_le_bytes(*bytes.first_chunk().expect("eight bytes")),
    }
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

/// The bucket a hash belongs to: its high bits, so that the hash index inside a partition can use the low ones.
pub fn bucket_of(hash: u64) -> crate::BucketId {
    const { assert!(crate::BUCKET_COUNT.is_power_of_two()) };
    crate::BucketId((hash >> (64 - crate::BUCKET_COUNT.trailing_zeros())) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The function never changes: data placement on every cluster rests on these values.
    #[test]
    fn values_are_fixed() {
        let table: [(&[u8], u64); 4] = [
            (b"", 0xd79b_0957_4bb4_eca3),
            (b"a", 0x844a_bc80_94d5_f4ef),
            (b"12345678", 0xa7ac_925a_3e65_6785),
            (b"123456789", 0xf591_74d7_26bb_5a66),
        ];
        for (bytes, hash) in table {
            assert_eq!(hash64(bytes), hash, "{bytes:?}");
        }
        assert_eq!(bucket_of(0x844a_bc80_94d5_f4ef), crate::BucketId(0x844));
    }

    /// Of any length, the first word is what a copy of its bytes into zeros is.
    #[test]
    fn the_first_word_has_zeros_behind() {
        let bytes: Vec<u8> = (0xf0..=0xff).collect();
        for length in 0..=bytes.len() {
            let mut copy = [0; 8];
            let count = length.min(8);
            copy[..count].copy_from_slice(&bytes[..count]);
            assert_eq!(first_word(&bytes[..length]), u64::from_le_bytes(copy), "{length}");
        }
    }

    /// Consecutive integer keys spread over the buckets: none gets more than three times its share.
    #[test]
    fn consecutive_keys_spread() {
        let mut counts = vec![0u32; 64];
        for key in 0u64..64_000 {
            counts[usize::from(bucket_of(hash64(&key.to_be_bytes())).0) / 64] += 1;
        }
        assert!(counts.iter().all(|&count| (700..1300).contains(&count)), "{counts:?}");
    }
}
