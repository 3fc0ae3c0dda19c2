//! What is stored of passwords, in MySQL's formats, so that a dump of accounts goes both ways.
//!
//! ```text
//!   mysql_native_password    *4C8A...                SHA1(SHA1(password)), 40 hexadecimal digits
//!   caching_sha2_password    $A$005$<salt><hash>     SHA-256 crypt of 5 * 1000 rounds: 20 bytes and 43 characters
//! ```
//!
//! The second one takes some 2 ms of CPU, by design. When a client has proved its password, the node keeps
//! SHA256(SHA256(password)) in memory for the fast exchange of later logins.
//!
//! Source: U. Drepper, "Unix crypt using SHA-256 and SHA-512", with MySQL's salt of 20 bytes.

use sha1::Sha1;
use sha2::{Digest, Sha256};

pub const SALT_SIZE: usize = 20;
/// Characters of a SHA-256 crypt hash.
const CRYPT_SIZE: usize = 43;
/// The rounds of [`sha2_text`]: MySQL's default, in thousands.
const ROUNDS_THOUSANDS: u32 = 5;
/// More would let a stored text hold up a login.
const ROUNDS_THOUSANDS_MAX: u32 = 4_095;
/// A longer password does not match, and is refused when it is set.
pub const PASSWORD_SIZE_MAX: usize = 256;
const CRYPT_ALPHABET: &[u8; 64] =
    b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// SHA1(SHA1(password)).
pub fn native_hash(password: &[u8]) -> [u8; 20] {
    Sha1::digest(Sha1::digest(password)).into()
}

/// What is stored for mysql_native_password; empty for an empty password.
pub fn native_text(password: &[u8]) -> String {
    if password.is_empty() {
        return String::new();
    }
    let digits = native_hash(password).iter().map(|byte| format!("{byte:02X}")).collect::<String>();
    format!("*{digits}")
}

/// The hash in a text of mysql_native_password.
pub fn parse_native(text: &[u8]) -> Option<[u8; 20]> {
    let digits = std::str::from_utf8(text.strip_prefix(b"*")?).ok()?;
    if digits.len() != 40 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let mut hash = [0; 20];
    for (index, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(hash)
}

/// SHA256(SHA256(password)): for the fast exchange of caching_sha2_password.
pub fn sha2_fast_hash(password: &[u8]) -> [u8; 32] {
    Sha256::digest(Sha256::digest(password)).into()
}

/// What is stored for caching_sha2_password; empty for an empty password. The salt's bytes are made printable.
pub fn sha2_text(password: &[u8], random: &[u8; SALT_SIZE]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let salt = random.map(|byte| CRYPT_ALPHABET[usize::from(byte & 63)]);
    sha2_stored(password, &salt, ROUNDS_THOUSANDS)
}

fn sha2_stored(password: &[u8], salt: &[u8], thousands: u32) -> Vec<u8> {
    let mut text = format!("$A${thousands:03X}$").into_bytes();
    text.extend_from_slice(salt);
    text.extend_from_slice(&sha256_crypt(password, salt, thousands * 1_000));
    text
}

/// Is this text one that caching_sha2_password stores?
pub fn is_sha2_text(text: &[u8]) -> bool {
    sha2_parts(text).is_some()
}

/// The rounds in thousands, and the salt.
fn sha2_parts(text: &[u8]) -> Option<(u32, &[u8])> {
    let rest = text.strip_prefix(b"$A$")?;
    let (digits, rest) = rest.split_at_checked(3)?;
    let thousands = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    let rest = rest.strip_prefix(b"$")?;
    let is_known = rest.len() == SALT_SIZE + CRYPT_SIZE
        && (ROUNDS_THOUSANDS..=ROUNDS_THOUSANDS_MAX).contains(&thousands);
    is_known.then(|| (thousands, &rest[..SALT_SIZE]))
}

/// Is it the password of the stored text? Takes milliseconds: not on a worker.
pub fn sha2_text_matches(password: &[u8], text: &[u8]) -> bool {
    let Some((thousands, salt)) = sha2_parts(text) else { return false };
    if PASSWORD_SIZE_MAX < password.len() {
        return false;
    }
    let computed = sha2_stored(password, salt, thousands);
    // In constant time: all bytes are looked at.
    let difference = computed.iter().zip(text).fold(0, |sum, (own, other)| sum | (own ^ other));
    computed.len() == text.len() && difference == 0
}

/// SHA-256 crypt, as characters.
fn sha256_crypt(password: &[u8], salt: &[u8], rounds: u32) -> [u8; CRYPT_SIZE] {
    let both = Sha256::new().chain_update(password).chain_update(salt);
    let second: [u8; 32] = both.clone().chain_update(password).finalize().into();
    let mut first = both.chain_update(repeated(&second, password.len()));
    let mut bits = password.len();
    while bits != 0 {
        first.update(if bits & 1 == 1 { &second[..] } else { password });
        bits >>= 1;
    }
    let mut digest: [u8; 32] = first.finalize().into();
    let repeat = |bytes: &[u8], count: usize| -> [u8; 32] {
        let mut hash = Sha256::new();
        (0..count).for_each(|_| hash.update(bytes));
        hash.finalize().into()
    };
    let long_password = repeated(&repeat(password, password.len()), password.len());
    let long_salt = repeated(&repeat(salt, 16 + usize::from(digest[0])), salt.len());
    for round in 0..rounds {
        let mut hash = Sha256::new();
        let is_odd = round % 2 == 1;
        hash.update(if is_odd { &long_password[..] } else { &digest[..] });
        if round % 3 != 0 {
            hash.update(&long_salt);
        }
        if round % 7 != 0 {
            hash.update(&long_password);
        }
        hash.update(if is_odd { &digest[..] } else { &long_password[..] });
        digest = hash.finalize().into();
    }
    crypt_characters(&digest)
}

/// The bytes over and over, cut to a length.
fn repeated(bytes: &[u8; 32], length: usize) -> Vec<u8> {
    bytes.iter().copied().cycle().take(length).collect()
}

fn crypt_characters(digest: &[u8; 32]) -> [u8; CRYPT_SIZE] {
    let mut characters = [0; CRYPT_SIZE];
    let mut out = characters.iter_mut();
    let mut put = |bytes: [u8; 3], count: usize| {
        let bits = bytes.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        for (index, character) in out.by_ref().take(count).enumerate() {
            *character = CRYPT_ALPHABET[(bits >> (6 * index)) as usize & 63];
        }
    };
    // The scheme's order of bytes: each group begins 20 places behind the one before, of 30.
    let (mut a, mut b, mut c) = (0, 10, 20);
    for _ in 0..10 {
        put([digest[a], digest[b], digest[c]], 4);
        (a, b, c) = (c + 1, a + 1, b + 1);
    }
    put([0, digest[31], digest[30]], 3);
    characters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_passwords() {
        // The manual's.
        assert_eq!(native_text(b"mypass"), "*6C8989366EAF75BB670AD8EA7A7FC1176A95CEF4");
        assert_eq!(native_text(b""), "");
        assert_eq!(parse_native(native_text(b"x").as_bytes()), Some(native_hash(b"x")));
        for text in [
            "",
            "*",
            "6C89",
            "*6C8989366EAF75BB670AD8EA7A7FC1176A95CEF",
            "*6C8989366EAF75BB670AD8EA7A7FC1176A95CEFg",
        ] {
            assert_eq!(parse_native(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn crypt_is_that_of_others() {
        // openssl passwd -5 -salt SALT PASSWORD
        let cases: [(&str, &str, u32, &str); 3] = [
            ("Hello world!", "saltstring", 5_000, "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"),
            (
                "Hello world!",
                "saltstringsaltst",
                10_000,
                "3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA",
            ),
            (
                "a much longer password than the block of thirty-two bytes of the hash",
                "saltstringsaltst",
                5_000,
                "a/4sJvZeHa5AOD8Wzd.4JYwBmDeZljclCE7RlKHUi43",
            ),
        ];
        for (password, salt, rounds, crypt) in cases {
            let own = sha256_crypt(password.as_bytes(), salt.as_bytes(), rounds);
            assert_eq!(std::str::from_utf8(&own), Ok(crypt));
        }
    }

    #[test]
    fn sha2_passwords() {
        // Made by a MySQL server: hash mode 7401 of hashcat's examples.
        let salt = [
            0xF9, 0xCC, 0x98, 0xCE, 0x08, 0x89, 0x29, 0x24, 0xF5, 0x0A, 0x21, 0x3B, 0x6B, 0xC5,
            0x71, 0xA2, 0xC1, 0x17, 0x78, 0xC5,
        ];
        let stored = sha2_stored(b"hashcat", &salt, 5);
        assert!(stored.starts_with(b"$A$005$"));
        assert_eq!(&stored[7 + SALT_SIZE..], b"bTy95Y99eAME1dwEkHOA1ndHGBWz.1bxSSRkuTXFGV/");
        assert!(is_sha2_text(&stored) && sha2_text_matches(b"hashcat", &stored));
        assert!(!sha2_text_matches(b"hashcaT", &stored) && !sha2_text_matches(b"", &stored));
        let own = sha2_text(b"p", &[200; SALT_SIZE]);
        assert!(sha2_text_matches(b"p", &own));
        for text in [&b""[..], b"$A$005$", b"*6C89", &own[1..], &own[..own.len() - 1]] {
            assert!(!is_sha2_text(text) && !sha2_text_matches(b"p", text));
        }
        let many = [b"$A$FFF$".as_slice(), &own[7..]].concat();
        assert!(is_sha2_text(&many));
        assert!(!is_sha2_text(&[b"$A$000$".as_slice(), &own[7..]].concat()));
    }
}
