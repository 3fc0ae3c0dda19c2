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
    let mut tail = [0u8; 8];
    let rest = chunks.remainder();
    tail[..rest.len()].copy_from_slice(rest);
    fold(fold(state ^ u64::from_le_bytes(tail), 0xd6e8_feb8_6659_fd93), K)
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
