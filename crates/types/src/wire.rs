//! The byte form of everything that travels between nodes or is kept by the control plane.
//!
//! Fixed little-endian integers, lengths and counters in as few bytes as they need, enums as one tag byte. Encoding cannot
//! fail; decoding checks every length against the bytes that are there before it allocates, bounds nesting, and never
//! panics: a peer's bytes are hostile until proved otherwise. There is no schema evolution inside a message: both ends of a
//! link agree on the protocol version when it is opened.

/// How deep a decoded value may nest (expressions are the only recursive ones).
pub const DEPTH_MAX: u32 = 768;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireError {
    /// The bytes end before the value does.
    Truncated,
    /// An unknown enum tag or flag; names the type.
    BadTag(&'static str),
    /// Nested deeper than [`DEPTH_MAX`].
    TooDeep,
    /// A value that its type does not allow (a string that is not UTF-8, say); names the type.
    Invalid(&'static str),
    /// Bytes are left after the value.
    Trailing,
}

impl std::fmt::Display for WireError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            WireError::Truncated => write!(f, "the message ends early"),
            WireError::BadTag(what) => write!(f, "unknown tag for {what}"),
            WireError::TooDeep => write!(f, "nested too deep"),
            WireError::Invalid(what) => write!(f, "invalid {what}"),
            WireError::Trailing => write!(f, "bytes after the end of the message"),
        }
    }
}
impl std::error::Error for WireError {}

/// The bytes still to be decoded.
pub struct Reader<'a> {
    bytes: &'a [u8],
    depth: u32,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, depth: 0 }
    }
    pub fn remaining(&self) -> usize {
        self.bytes.len()
    }
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], WireError> {
        if count > self.bytes.len() {
            return Err(WireError::Truncated);
        }
        let (head, tail) = self.bytes.split_at(count);
        self.bytes = tail;
        Ok(head)
    }
    /// A length prefix, checked: at least `item_size_min` bytes an item must still be there.
    pub fn length(&mut self, item_size_min: usize) -> Result<usize, WireError> {
        let count = self.short()?;
        self.items(count, item_size_min)
    }
    /// So many items, if at least `item_size_min` bytes of each are still there.
    pub fn items(&self, count: u64, item_size_min: usize) -> Result<usize, WireError> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        match count.checked_mul(item_size_min.max(1)) {
            Some(size) if size <= self.bytes.len() => Ok(count),
            _ => Err(WireError::Truncated),
        }
    }
    /// What [`encode_short`] has written. There is one form of each number.
    #[inline]
    pub fn short(&mut self) -> Result<u64, WireError> {
        match *self.bytes {
            [byte, ref rest @ ..] if byte < 0x80 => {
                self.bytes = rest;
                Ok(byte.into())
            }
            _ => self.not_so_short(),
        }
    }
    fn not_so_short(&mut self) -> Result<u64, WireError> {
        let mut number = 0;
        for at in 0..SHORT_SIZE_MAX {
            let byte = u8::decode(self)?;
            let bits = u64::from(byte & 0x7f);
            number |= bits << (7 * at);
            if byte < 0x80 {
                let is_one = byte != 0 && number >> (7 * at) == bits;
                return if is_one { Ok(number) } else { Err(WireError::Invalid("number")) };
            }
        }
        Err(WireError::Invalid("number"))
    }
    /// A byte string, where it lies.
    pub fn bytes(&mut self) -> Result<&'a [u8], WireError> {
        let count = self.length(1)?;
        self.take(count)
    }
    /// Runs `body` one level deeper.
    pub fn nested<T>(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<T, WireError>,
    ) -> Result<T, WireError> {
        if self.depth >= DEPTH_MAX {
            return Err(WireError::TooDeep);
        }
        self.depth += 1;
        let value = body(self);
        self.depth -= 1;
        value
    }
}

/// A value with a byte form.
pub trait Wire: Sized {
    fn encode(&self, out: &mut Vec<u8>);
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError>;

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(&mut out);
        out
    }
    /// Decodes a value that takes all of `bytes`.
    fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(bytes);
        let value = Self::decode(&mut reader)?;
        if reader.remaining() == 0 { Ok(value) } else { Err(WireError::Trailing) }
    }
}

macro_rules! integer {
    ($($type:ty),*) => {$(
        impl Wire for $type {
            fn encode(&self, out: &mut Vec<u8>) { out.extend_from_slice(&self.to_le_bytes()); }
            fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
                const SIZE: usize = std::mem::size_of::<$type>();
                let bytes = input.take(SIZE)?;
                Ok(<$type>::from_le_bytes(bytes.try_into().expect("take gave SIZE bytes")))
            }
        }
    )*};
}
integer!(u8, u16, u32, u64, u128, i8, i16, i32, i64, i128);

impl Wire for bool {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        match u8::decode(input)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(WireError::BadTag("bool")),
        }
    }
}

impl Wire for f64 {
    fn encode(&self, out: &mut Vec<u8>) {
        self.to_bits().encode(out);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(f64::from_bits(u64::decode(input)?))
    }
}

impl Wire for f32 {
    fn encode(&self, out: &mut Vec<u8>) {
        self.to_bits().encode(out);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(f32::from_bits(u32::decode(input)?))
    }
}

/// Byte strings; other vectors go through [`Wire`] of their items by `Vec<T>` below, so bytes have a type of their own
/// where it matters for speed: one copy instead of one call a byte.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub Vec<u8>);

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}
impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        Bytes(bytes)
    }
}
impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Bytes {
        Bytes(bytes.to_vec())
    }
}
impl std::ops::Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}
impl Wire for Bytes {
    fn encode(&self, out: &mut Vec<u8>) {
        encode_bytes(&self.0, out);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Bytes(input.bytes()?.to_vec()))
    }
}

/// Strings from this length on, in bytes, get room for what follows them.
const LONG_BYTES: usize = 1 << 16;
/// So much: the fixed fields behind a row or a constant, several times over.
const ROOM_BEHIND: usize = 1 << 10;

pub fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    encode_length(bytes.len(), out);
    if LONG_BYTES <= bytes.len() {
        // A vector that is just filled doubles for the next byte: dozens of megabytes would be copied for it.
        out.reserve(bytes.len() + ROOM_BEHIND);
    }
    out.extend_from_slice(bytes);
}

fn encode_length(count: usize, out: &mut Vec<u8>) {
    encode_short(count as u64, out);
}

/// Bytes of the longest number.
const SHORT_SIZE_MAX: u32 = u64::BITS.div_ceil(7);

/// A number that mostly is a small one: seven bits a byte, the lowest first, and in all bytes but the last the eighth bit.
#[inline]
pub fn encode_short(number: u64, out: &mut Vec<u8>) {
    if number < 0x80 {
        out.push(number as u8);
    } else {
        encode_not_so_short(number, out);
    }
}

fn encode_not_so_short(mut number: u64, out: &mut Vec<u8>) {
    let mut bytes = [0; SHORT_SIZE_MAX as usize];
    let mut length = 0;
    while number >= 0x80 {
        bytes[length] = number as u8 | 0x80;
        number >>= 7;
        length += 1;
    }
    bytes[length] = number as u8;
    out.extend_from_slice(&bytes[..=length]);
}

impl Wire for String {
    fn encode(&self, out: &mut Vec<u8>) {
        encode_bytes(self.as_bytes(), out);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        String::from_utf8(Bytes::decode(input)?.0).map_err(|_| WireError::Invalid("UTF-8 string"))
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn encode(&self, out: &mut Vec<u8>) {
        encode_length(self.len(), out);
        for item in self {
            item.encode(out);
        }
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        let count = input.length(1)?;
        // Hostile lengths are bounded by the bytes that are there, but an item in memory may be larger than on the
        // wire: grow with what really arrives.
        let mut items = Vec::with_capacity(count.min(1024));
        // A level deeper, for lists of what holds lists itself: AND of ORs of ANDs.
        input.nested(|input| {
            for _ in 0..count {
                items.push(T::decode(input)?);
            }
            Ok(())
        })?;
        Ok(items)
    }
}

impl<T: Wire> Wire for Option<T> {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            None => out.push(0),
            Some(value) => {
                out.push(1);
                value.encode(out);
            }
        }
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        match u8::decode(input)? {
            0 => Ok(None),
            1 => Ok(Some(T::decode(input)?)),
            _ => Err(WireError::BadTag("option")),
        }
    }
}

impl<T: Wire> Wire for Box<T> {
    fn encode(&self, out: &mut Vec<u8>) {
        (**self).encode(out);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        input.nested(|input| Ok(Box::new(T::decode(input)?)))
    }
}

impl<K: Wire + Ord, V: Wire> Wire for std::collections::BTreeMap<K, V> {
    fn encode(&self, out: &mut Vec<u8>) {
        encode_length(self.len(), out);
        for (key, value) in self {
            key.encode(out);
            value.encode(out);
        }
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        let count = input.length(1)?;
        let mut map = std::collections::BTreeMap::new();
        for _ in 0..count {
            map.insert(K::decode(input)?, V::decode(input)?);
        }
        Ok(map)
    }
}

impl<T: Wire> Wire for std::sync::Arc<T> {
    fn encode(&self, out: &mut Vec<u8>) {
        (**self).encode(out);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(std::sync::Arc::new(T::decode(input)?))
    }
}

macro_rules! tuple {
    ($($name:ident $index:tt),*) => {
        impl<$($name: Wire),*> Wire for ($($name,)*) {
            fn encode(&self, out: &mut Vec<u8>) { $(self.$index.encode(out);)* }
            fn decode(input: &mut Reader<'_>) -> Result<Self, WireError> {
                Ok(($($name::decode(input)?,)*))
            }
        }
    };
}
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);

/// [`Wire`] for a struct: its fields, in the order they are listed.
#[macro_export]
macro_rules! wire_struct {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::wire::Wire for $name {
            #[allow(unused_variables)]
            fn encode(&self, out: &mut Vec<u8>) { $($crate::wire::Wire::encode(&self.$field, out);)* }
            #[allow(unused_variables)]
            fn decode(input: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::wire::WireError> {
                $(let $field = $crate::wire::Wire::decode(input)?;)*
                Ok($name { $($field),* })
            }
        }
    };
    ($name:ident ( $inner:ty )) => {
        impl $crate::wire::Wire for $name {
            fn encode(&self, out: &mut Vec<u8>) { $crate::wire::Wire::encode(&self.0, out); }
            fn decode(input: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::wire::WireError> {
                Ok($name($crate::wire::Wire::decode(input)?))
            }
        }
    };
}

/// [`Wire`] for an enum: `tag => Variant`, `tag => Variant(a, b)` or `tag => Variant { a, b }`. Tags are given, not
/// counted, so that a variant keeps its byte form when another goes.
#[macro_export]
macro_rules! wire_enum {
    ($name:ident { $($tag:literal => $variant:ident
        $( ( $($item:ident),* $(,)? ) )? $( { $($field:ident),* $(,)? } )? ),* $(,)? }) => {
        impl $crate::wire::Wire for $name {
            fn encode(&self, out: &mut Vec<u8>) {
                match self {
                    $($name::$variant $( ( $($item),* ) )? $( { $($field),* } )? => {
                        out.push($tag);
                        $($($crate::wire::Wire::encode($item, out);)*)?
                        $($($crate::wire::Wire::encode($field, out);)*)?
                    })*
                }
            }
            fn decode(input: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::wire::WireError> {
                match <u8 as $crate::wire::Wire>::decode(input)? {
                    $($tag => {
                        $($(let $item = $crate::wire::Wire::decode(input)?;)*)?
                        $($(let $field = $crate::wire::Wire::decode(input)?;)*)?
                        Ok($name::$variant $( ( $($item),* ) )? $( { $($field),* } )?)
                    })*
                    _ => Err($crate::wire::WireError::BadTag(stringify!($name))),
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    enum Shape {
        Point,
        Line(u32, u32),
        Tree { left: Option<Box<Shape>>, name: String },
    }
    wire_enum!(Shape { 0 => Point, 1 => Line(a, b), 7 => Tree { left, name } });

    /// What follows a long string does not have its vector double, which copies the string.
    #[test]
    fn a_long_string_has_room_behind_it() {
        let mut out = Vec::new();
        Bytes(vec![7; 1 << 20]).encode(&mut out);
        let begins = out.as_ptr();
        for number in 0..100u64 {
            number.encode(&mut out);
        }
        assert_eq!(out.as_ptr(), begins);
        assert!(out.capacity() < (1 << 20) + 2 * ROOM_BEHIND, "{}", out.capacity());
    }

    /// Values come back as they went; a cut at any place, a wrong tag and left-over bytes are errors.
    #[test]
    fn round_trip_and_every_truncation() {
        let leaf = Shape::Tree { left: Some(Box::new(Shape::Line(1, 2))), name: "é".into() };
        let shape = Shape::Tree { left: Some(Box::new(leaf)), name: String::new() };
        let bytes = shape.to_bytes();
        assert_eq!(Shape::from_bytes(&bytes), Ok(shape));
        for cut in 0..bytes.len() {
            assert!(Shape::from_bytes(&bytes[..cut]).is_err());
        }
        assert_eq!(Shape::from_bytes(&[3]), Err(WireError::BadTag("Shape")));
        assert_eq!(Shape::from_bytes(&[0, 0]), Err(WireError::Trailing));
        assert_eq!(Shape::from_bytes(&[0]), Ok(Shape::Point));
    }

    /// A length that promises more than the bytes hold is refused before anything is allocated; nesting is bounded.
    #[test]
    fn hostile_lengths_and_depth() {
        assert_eq!(Vec::<u64>::from_bytes(&[255, 255, 255, 127]), Err(WireError::Truncated));
        assert_eq!(Bytes::from_bytes(&[255, 255, 255, 127, 1]), Err(WireError::Truncated));
        let longest = [[255; 9].as_slice(), &[1]].concat();
        assert_eq!(Vec::<u64>::from_bytes(&longest), Err(WireError::Truncated));
        let deep: Vec<u8> = (0..100_000).flat_map(|_| [7u8, 1]).collect();
        assert_eq!(Shape::from_bytes(&deep), Err(WireError::TooDeep));
    }
    /// Each number has one form: it comes back, cut short it is none, and with a byte that says nothing or a bit too many it is none.
    #[test]
    fn short_numbers() {
        let around = |bits: u32| [(1u64 << bits) - 1, 1 << bits, (1 << bits) + 1];
        for number in (0..64).flat_map(around).chain([u64::MAX]) {
            let mut bytes = Vec::new();
            encode_short(number, &mut bytes);
            assert_eq!(bytes.len() as u32, (u64::BITS - (number | 1).leading_zeros()).div_ceil(7));
            let read = |bytes: &[u8]| Reader::new(bytes).short();
            assert_eq!(read(&bytes), Ok(number));
            for cut in 0..bytes.len() {
                assert_eq!(read(&bytes[..cut]), Err(WireError::Truncated));
            }
            *bytes.last_mut().expect("at least one") |= 0x80;
            bytes.push(0);
            assert_eq!(read(&bytes), Err(WireError::Invalid("number")));
        }
        for last in [2, 0x7f, 0x81] {
            let bytes = [[0xff; 9].as_slice(), &[last]].concat();
            assert_eq!(Reader::new(&bytes).short(), Err(WireError::Invalid("number")));
        }
    }
}
