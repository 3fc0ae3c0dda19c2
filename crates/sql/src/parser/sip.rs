//! SipHash with a 128-bit result (Aumasson, Bernstein 2012), of a whole buffer at once.
//!
//! The digest needs a hash that a client cannot steer without knowing the key: a made collision would let one user's
//! statement run under another's plan. SipHash-1-3 is that at a byte per nanosecond or better; rounds are parameters so
//! that the published vectors of SipHash-2-4 test the code.

/// SipHash-C-D of `data`, low word first.
pub fn sip128<const C: usize, const D: usize>(key: (u64, u64), data: &[u8]) -> (u64, u64) {
    let mut v = [
        key.0 ^ 0x736f_6d65_7073_6575,
        key.1 ^ 0x646f_7261_6e64_6f6d ^ 0xee,
        key.0 ^ 0x6c79_6765_6e65_7261,
        key.1 ^ 0x7465_6462_7974_6573,
    ];
    let mut chunks = data.chunks_exact(8);
    for chunk in &mut chunks {
        let word = u64::from_le_bytes(chunk.try_into().expect("chunks of eight"));
        absorb::<C>(&mut v, word);
    }
    let mut last = [0; 8];
    let tail = chunks.remainder();
    last[..tail.len()].copy_from_slice(tail);
    last[7] = data.len() as u8;
    absorb::<C>(&mut v, u64::from_le_bytes(last));
    v[2] ^= 0xee;
    rounds::<D>(&mut v);
    let low = v[0] ^ v[1] ^ v[2] ^ v[3];
    v[1] ^= 0xdd;
    rounds::<D>(&mut v);
    let high = v[0] ^ v[1] ^ v[2] ^ v[3];
    (low, high)
}

#[inline(always)]
fn absorb<const C: usize>(v: &mut [u64; 4], word: u64) {
    v[3] ^= word;
    rounds::<C>(v);
    v[0] ^= word;
}

#[inline(always)]
fn rounds<const N: usize>(v: &mut [u64; 4]) {
    for _ in 0..N {
        v[0] = v[0].wrapping_add(v[1]);
        v[2] = v[2].wrapping_add(v[3]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].rotate_left(32);
        v[2] = v[2].wrapping_add(v[1]);
        v[0] = v[0].wrapping_add(v[3]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].rotate_left(32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first of the reference implementation's vectors for SipHash-2-4-128 (key 00 01 .. 0f, empty message).
    #[test]
    fn published_vector() {
        let key = (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        let (low, high) = sip128::<2, 4>(key, b"");
        let mut bytes = low.to_le_bytes().to_vec();
        bytes.extend(high.to_le_bytes());
        let expected = [
            0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55,
            0x02, 0x93,
        ];
        assert_eq!(bytes, expected);
    }

    /// Every byte and the length matter, at every length around the word size.
    #[test]
    fn every_byte_matters() {
        for length in 0..40 {
            let data = vec![7; length];
            let hash = sip128::<1, 3>((1, 2), &data);
            assert_ne!(hash, sip128::<1, 3>((1, 3), &data));
            for index in 0..length {
                let mut changed = data.clone();
                changed[index] ^= 0x80;
                assert_ne!(hash, sip128::<1, 3>((1, 2), &changed), "{length} {index}");
            }
            let mut longer = data.clone();
            longer.push(0);
            assert_ne!(hash, sip128::<1, 3>((1, 2), &longer));
        }
    }
}
