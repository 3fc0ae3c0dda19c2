//! Checksums, hashes, and bytes written as text: hexadecimal, base64, UUIDs.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, PAD};
use md5::Digest;

use super::super::{EvalError, Function};
use super::Call;
use crate::convert::group_key;
use crate::{Value, ValueRef};

const BASE64: GeneralPurpose = GeneralPurpose::new(&STANDARD, PAD);

/// TO_BASE64 breaks lines after so many characters.
const BASE64_LINE: usize = 76;

impl Call<'_, '_, '_> {
    pub(super) fn digest(&mut self) -> Result<Value, EvalError> {
        use Function::*;
        let bytes = self.bytes(0);
        Ok(match self.function {
            Crc32 => Value::UInt(u64::from(crc32fast::hash(&bytes))),
            Md5 => self.plain(hex(&md5::Md5::digest(&bytes), false)),
            Sha1 => self.plain(hex(&sha1::Sha1::digest(&bytes), false)),
            Sha2 => {
                let digest = match self.int(1) {
                    224 => sha2::Sha224::digest(&bytes).to_vec(),
                    0 | 256 => sha2::Sha256::digest(&bytes).to_vec(),
                    384 => sha2::Sha384::digest(&bytes).to_vec(),
                    512 => sha2::Sha512::digest(&bytes).to_vec(),
                    _ => return Ok(Value::Null),
                };
                self.plain(hex(&digest, false))
            }
            Hex => match self.values[0] {
                ValueRef::Text(..)
                | ValueRef::Bytes(_)
                | ValueRef::Label(..)
                | ValueRef::Date(_)
                | ValueRef::Time(_)
                | ValueRef::DateTime(_) => self.plain(hex(&bytes, true)),
                ValueRef::Float(_) | ValueRef::Double(_) | ValueRef::Decimal(_) => {
                    let number = bits_of(self.f64(0));
                    self.plain(format!("{number:X}"))
                }
                _ => {
                    let number = self.wide(0) as u64;
                    self.plain(format!("{number:X}"))
                }
            },
            Unhex => match unhex(&bytes) {
                Some(bytes) => Value::Bytes(bytes.into()),
                None => self.incorrect("string", "unhex"),
            },
            ToBase64 => {
                let flat = BASE64.encode(&bytes);
                let mut out = String::with_capacity(flat.len() + flat.len() / BASE64_LINE);
                for (position, line) in flat.as_bytes().chunks(BASE64_LINE).enumerate() {
                    if position > 0 {
                        out.push('\n');
                    }
                    out.push_str(std::str::from_utf8(line).expect("base64 is ASCII"));
                }
                self.plain(out)
            }
            FromBase64 => {
                let packed: Vec<u8> =
                    bytes.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect();
                match BASE64.decode(packed) {
                    Ok(bytes) => Value::Bytes(bytes.into()),
                    Err(_) => Value::Null,
                }
            }
            UuidToBin | IsUuid | BinToUuid => return self.uuid(),
            RowKey => {
                let mut key = Vec::new();
                for value in self.values {
                    group_key(*value, &mut key);
                }
                Value::Bytes(key.into())
            }
            function => unreachable!("{function:?} is no digest"),
        })
    }

    /// NULL and warning 1411.
    pub(super) fn incorrect(&mut self, what: &str, function: &str) -> Value {
        let shown = crate::convert::shown(&self.bytes(0));
        let message = format!("Incorrect {what} value: '{shown}' for function {function}");
        self.ctx.convert.warn(1411, message);
        Value::Null
    }

    fn uuid(&mut self) -> Result<Value, EvalError> {
        let swap = self.has(1) && self.int(1) != 0;
        match self.function {
            Function::IsUuid => Ok(Value::from(i64::from(parse_uuid(&self.text(0)).is_some()))),
            Function::UuidToBin => match parse_uuid(&self.text(0)) {
                Some(bytes) => Ok(Value::Bytes(swap_time(bytes, swap, true).into())),
                None => Err(self.not_a_uuid("uuid_to_bin")),
            },
            _ => match <[u8; 16]>::try_from(&*self.bytes(0)) {
                Ok(bytes) => {
                    let digits = hex(&swap_time(bytes, swap, false), false);
                    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| &digits[range]);
                    Ok(self.plain(parts.join("-")))
                }
                Err(_) => Err(self.not_a_uuid("bin_to_uuid")),
            },
        }
    }

    fn not_a_uuid(&self, function: &str) -> EvalError {
        let shown = crate::convert::shown(&self.bytes(0));
        let message = format!("Incorrect string value: '{shown}' for function {function}");
        EvalError::raised(1411, message)
    }
}

/// With `swap`, time-high comes before time-low, so that UUIDs of version 1 sort by time.
fn swap_time(bytes: [u8; 16], swap: bool, to_binary: bool) -> [u8; 16] {
    let order: [usize; 8] = match (swap, to_binary) {
        (false, _) => [0, 1, 2, 3, 4, 5, 6, 7],
        (true, true) => [6, 7, 4, 5, 0, 1, 2, 3],
        (true, false) => [4, 5, 6, 7, 2, 3, 0, 1],
    };
    let mut out = bytes;
    for (target, source) in order.into_iter().enumerate() {
        out[target] = bytes[source];
    }
    out
}

/// The 64 bits of a number's nearest integer; all of them of one that has no place in 64 bits.
fn bits_of(number: f64) -> u64 {
    if number <= i64::MIN as f64 || number >= u64::MAX as f64 {
        return u64::MAX;
    }
    let rounded = if number > 0.0 { number + 0.5 } else { number - 0.5 };
    if rounded < 0.0 { rounded as i64 as u64 } else { rounded as u64 }
}

/// 32 digits plain, with dashes, or with dashes in braces.
fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let text = text.trim_matches(' ');
    let text = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap_or(text);
    let digits = match text.len() {
        32 => text.to_string(),
        36 => {
            let parts: Vec<&str> = text.split('-').collect();
            let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
            if lengths != [8, 4, 4, 4, 12] {
                return None;
            }
            parts.concat()
        }
        _ => return None,
    };
    unhex(digits.as_bytes())?.try_into().ok()
}

fn hex(bytes: &[u8], upper: bool) -> String {
    let digits: &[u8; 16] = if upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        out.push(char::from(digits[usize::from(byte >> 4)]));
        out.push(char::from(digits[usize::from(byte & 15)]));
    }
    out
}

/// An odd number of digits has a leading zero.
fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (head, pairs) = digits.split_at(digits.len() % 2);
    let mut out = Vec::with_capacity(digits.len() / 2 + 1);
    if let [single] = head {
        out.push(digit(*single)?);
    }
    for pair in pairs.chunks(2) {
        out.push(digit(pair[0])? << 4 | digit(pair[1])?);
    }
    Some(out)
}
