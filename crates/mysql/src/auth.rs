//! Passwords: the arithmetic of the two plugins.
//!
//! ```text
//!   mysql_native_password   known = SHA1(SHA1(p))        token = SHA1(p)   xor SHA1(scramble . known)
//!   caching_sha2_password   known = SHA256(SHA256(p))    token = SHA256(p) xor SHA256(known . scramble)
//! ```
//!
//! The server undoes the xor, hashes once more and compares with the hash that it has, in constant time. A token of another
//! length than its hash never matches: the comparison that took the shorter length let one in 256 through in 2012.
//!
//! When the token of caching_sha2_password does not match, the client may send the password itself: in the clear on TLS
//! or a unix socket, else encrypted with the server's RSA key ([`RsaKey`]) after xor with the scramble. There is no way
//! to send it in the clear over plain TCP.
//!
//! An unknown user is treated like one whose password never matches, hashes included, so that neither the steps, the
//! messages nor the time say whether a name exists. (An account without a password is no secret: anybody may log in.)

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use types::password::PASSWORD_SIZE_MAX;

use crate::handshake::SCRAMBLE_SIZE;

/// A way of proving a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plugin {
    Native,
    CachingSha2,
}

impl Plugin {
    pub fn name(self) -> &'static str {
        match self {
            Plugin::Native => "mysql_native_password",
            Plugin::CachingSha2 => "caching_sha2_password",
        }
    }
    pub fn by_name(name: &[u8]) -> Option<Plugin> {
        [Plugin::Native, Plugin::CachingSha2].into_iter().find(|p| p.name().as_bytes() == name)
    }
}

/// Does the token prove the password whose SHA1(SHA1(password)) is stored?
pub fn native_matches(token: &[u8], scramble: &[u8; SCRAMBLE_SIZE], stored: &[u8; 20]) -> bool {
    let mix: [u8; 20] = Sha1::new().chain_update(scramble).chain_update(stored).finalize().into();
    let Ok(token) = <[u8; 20]>::try_from(token) else { return false };
    let candidate: [u8; 20] = std::array::from_fn(|index| token[index] ^ mix[index]);
    let hashed: [u8; 20] = Sha1::digest(candidate).into();
    hashed.ct_eq(stored).into()
}

/// Does the token prove the password whose SHA256(SHA256(password)) is stored?
pub fn sha2_matches(token: &[u8], scramble: &[u8; SCRAMBLE_SIZE], stored: &[u8; 32]) -> bool {
    let mix: [u8; 32] = Sha256::new().chain_update(stored).chain_update(scramble).finalize().into();
    let Ok(token) = <[u8; 32]>::try_from(token) else { return false };
    let candidate: [u8; 32] = std::array::from_fn(|index| token[index] ^ mix[index]);
    let hashed: [u8; 32] = Sha256::digest(candidate).into();
    hashed.ct_eq(stored).into()
}

/// The password that a client sent itself: it ends with a zero byte. None if it does not, or is too long to be one.
pub fn sent_password(sent: &[u8]) -> Option<&[u8]> {
    let Some((&0, password)) = sent.split_last() else { return None };
    (password.len() <= PASSWORD_SIZE_MAX).then_some(password)
}

/// The key pair for passwords over plain TCP. Made anew at every start: clients ask for the public half.
pub struct RsaKey {
    private: OaepPrivateDecryptingKey,
    public_pem: Vec<u8>,
}

/// The random source or the library failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RsaKeyFailed;

impl RsaKey {
    /// Takes some 100 ms of CPU and draws from the system's random source: not for the simulator, not on a worker.
    pub fn generate() -> Result<RsaKey, RsaKeyFailed> {
        let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).map_err(|_| RsaKeyFailed)?;
        let public: PublicKeyX509Der<'_> =
            private.public_key().as_der().map_err(|_| RsaKeyFailed)?;
        let public_pem = pem_of("PUBLIC KEY", public.as_ref());
        let private = OaepPrivateDecryptingKey::new(private).map_err(|_| RsaKeyFailed)?;
        Ok(RsaKey { private, public_pem })
    }
    /// The public half as clients want it: PEM of a SubjectPublicKeyInfo.
    pub fn public_pem(&self) -> &[u8] {
        &self.public_pem
    }
    /// The password (with its zero byte) from what a client encrypted; None for anything else.
    pub fn decrypt_password(
        &self,
        encrypted: &[u8],
        scramble: &[u8; SCRAMBLE_SIZE],
    ) -> Option<Vec<u8>> {
        if encrypted.len() != self.private.key_size_bytes() {
            return None;
        }
        let mut buffer = vec![0; self.private.min_output_size()];
        let mixed = self.private.decrypt(&OAEP_SHA1_MGF1SHA1, encrypted, &mut buffer, None).ok()?;
        let scramble = scramble.iter().cycle();
        Some(mixed.iter().zip(scramble).map(|(byte, mask)| byte ^ mask).collect())
    }
}

/// DER in PEM's clothes: base64 in lines of 64.
fn pem_of(label: &str, der: &[u8]) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = Vec::with_capacity(der.len().div_ceil(3) * 4);
    for group in der.chunks(3) {
        let bits = group
            .iter()
            .enumerate()
            .fold(0u32, |bits, (index, byte)| bits | u32::from(*byte) << (16 - 8 * index));
        for index in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * index)) as usize & 63];
            encoded.push(if index <= group.len() { digit } else { b'=' });
        }
    }
    let mut pem = format!("-----BEGIN {label}-----\n").into_bytes();
    for line in encoded.chunks(64) {
        pem.extend_from_slice(line);
        pem.push(b'\n');
    }
    pem.extend_from_slice(format!("-----END {label}-----\n").as_bytes());
    pem
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::rsa::{OaepPublicEncryptingKey, PublicEncryptingKey};
    use types::password::{native_hash, sha2_fast_hash};

    const SCRAMBLE: &[u8; 20] = b"abcdefghijklmnopqrst";

    fn native_token(password: &[u8]) -> Vec<u8> {
        let once: [u8; 20] = Sha1::digest(password).into();
        let mix = Sha1::new().chain_update(SCRAMBLE).chain_update(native_hash(password)).finalize();
        once.iter().zip(mix).map(|(a, b)| a ^ b).collect()
    }
    fn sha2_token(password: &[u8]) -> Vec<u8> {
        let once: [u8; 32] = Sha256::digest(password).into();
        let mix =
            Sha256::new().chain_update(sha2_fast_hash(password)).chain_update(SCRAMBLE).finalize();
        once.iter().zip(mix).map(|(a, b)| a ^ b).collect()
    }

    /// The stored form of a known password is the one MySQL shows: `*` and 40 digits of PASSWORD('secret').
    #[test]
    fn stored_native_hash_is_mysqls() {
        let hex: String = native_hash(b"secret").iter().map(|b| format!("{b:02X}")).collect();
        assert_eq!(hex, "14E65567ABDB5135D0CFD9A70B3032C179A49EE7");
    }

    /// The right token passes; every other length, every truncation, each flipped byte and 100,000 random ones do not.
    #[test]
    fn only_the_right_token_passes() {
        let (native, sha2) = (native_hash(b"secret"), sha2_fast_hash(b"secret"));
        assert!(native_matches(&native_token(b"secret"), SCRAMBLE, &native));
        assert!(sha2_matches(&sha2_token(b"secret"), SCRAMBLE, &sha2));
        assert!(!native_matches(&native_token(b"Secret"), SCRAMBLE, &native));
        assert!(!sha2_matches(&sha2_token(b"Secret"), SCRAMBLE, &sha2));
        for length in [0, 1, 19, 20, 21, 31, 32, 33, 255] {
            let mut token = native_token(b"secret");
            token.resize(length, 0);
            assert_eq!(native_matches(&token, SCRAMBLE, &native), length == 20);
            let mut token = sha2_token(b"secret");
            token.resize(length, 0);
            assert_eq!(sha2_matches(&token, SCRAMBLE, &sha2), length == 32);
        }
        for index in 0..20 {
            let mut token = native_token(b"secret");
            token[index] ^= 1;
            assert!(!native_matches(&token, SCRAMBLE, &native));
        }
        let mut random = 1u64;
        for _ in 0..100_000 {
            let token: [u8; 20] = std::array::from_fn(|_| {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (random >> 56) as u8
            });
            assert!(!native_matches(&token, SCRAMBLE, &native));
        }
    }

    #[test]
    fn plain_passwords() {
        assert_eq!(sent_password(b"secret\0"), Some(&b"secret"[..]));
        assert_eq!(sent_password(b"\0"), Some(&b""[..]));
        assert_eq!(sent_password(b"secret"), None);
        assert_eq!(sent_password(b""), None);
        let mut long = vec![b'x'; PASSWORD_SIZE_MAX];
        long.push(0);
        assert_eq!(sent_password(&long), Some(&long[..PASSWORD_SIZE_MAX]));
        long.insert(0, b'x');
        assert_eq!(sent_password(&long), None);
    }

    /// A password encrypted with the public key as a client does it comes back; garbage does not.
    #[test]
    fn rsa_exchange() {
        let key = RsaKey::generate().unwrap();
        let pem = String::from_utf8(key.public_pem().to_vec()).unwrap();
        let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        let der = decode_base64(&body);
        let public = OaepPublicEncryptingKey::new(PublicEncryptingKey::from_der(&der).unwrap());
        let public = public.unwrap();
        let password = b"correct horse battery staple\0";
        let mixed: Vec<u8> =
            password.iter().zip(SCRAMBLE.iter().cycle()).map(|(a, b)| a ^ b).collect();
        let mut encrypted = vec![0; public.ciphertext_size()];
        public.encrypt(&OAEP_SHA1_MGF1SHA1, &mixed, &mut encrypted, None).unwrap();
        assert_eq!(key.decrypt_password(&encrypted, SCRAMBLE).as_deref(), Some(&password[..]));
        encrypted[7] ^= 1;
        assert_eq!(key.decrypt_password(&encrypted, SCRAMBLE), None);
        assert_eq!(key.decrypt_password(&encrypted[1..], SCRAMBLE), None);
        assert_eq!(key.decrypt_password(&[], SCRAMBLE), None);
    }

    fn decode_base64(text: &str) -> Vec<u8> {
        let digit = |byte: u8| match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        let mut bytes = Vec::new();
        for group in text.trim_end_matches('=').as_bytes().chunks(4) {
            let bits = group.iter().fold(0u32, |bits, byte| bits << 6 | u32::from(digit(*byte)));
            let bits = bits << (6 * (4 - group.len()));
            bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
        }
        bytes
    }
}
