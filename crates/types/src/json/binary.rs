//! The binary form of a document: what rows keep and expressions pass on.
//!
//! It is MySQL's, behind a byte that names the version:
//!
//! ```text
//! document     version 1 (u8) | kind (u8) | payload
//! array        count | size | count * (kind (u8), offset or inlined value)            | payloads
//! object       count | size | count * (name offset, name length (u16)) | count * (..) | names | payloads
//! string       length (7 bits a byte, the lowest first, bit 7: more follow) | UTF-8
//! number       little-endian, in the shortest kind of its signedness
//! opaque       type (u8) | length as of a string | bytes: decimals, dates, times, binary strings
//! ```
//!
//! Numbers are little-endian. count, size and offsets are u16 in the small form, u32 in the large one, which a container of
//! 64 KiB or more has. Offsets and the size count from the container's count. The n-th element is found in O(1), a member
//! by binary search, and a value's bytes mean the same wherever they are: a path's result is a copy of them. null, true,
//! false and short integers stand in place of their offset.
//!
//! Payloads follow each other in the order of their entries without gaps, which [`check`] demands: so documents from
//! elsewhere cannot let a value be in several places, and a walk takes no longer than the document is long. Reading bytes
//! without a check may panic, as reading a row does.

use super::document::{Json, JsonError, Object, compare_names, opaque_type};
use super::{DEPTH_MAX, NAME_LENGTH_MAX};
use crate::{Date, DateTime, Decimal, Time};

const VERSION: u8 = 1;
/// Bytes before the payload of a document.
const HEAD_SIZE: usize = 2;

const KIND_SMALL_OBJECT: u8 = 0x00;
const KIND_LARGE_OBJECT: u8 = 0x01;
const KIND_SMALL_ARRAY: u8 = 0x02;
const KIND_LARGE_ARRAY: u8 = 0x03;
const KIND_LITERAL: u8 = 0x04;
const KIND_INT16: u8 = 0x05;
const KIND_UINT16: u8 = 0x06;
const KIND_INT32: u8 = 0x07;
const KIND_UINT32: u8 = 0x08;
const KIND_INT64: u8 = 0x09;
const KIND_UINT64: u8 = 0x0a;
const KIND_DOUBLE: u8 = 0x0b;
const KIND_STRING: u8 = 0x0c;
const KIND_OPAQUE: u8 = 0x0f;

const LITERAL_NULL: u8 = 0;
const LITERAL_TRUE: u8 = 1;
const LITERAL_FALSE: u8 = 2;

/// The document `null`.
pub const NULL_DOCUMENT: &[u8] = &[VERSION, KIND_LITERAL, LITERAL_NULL];

/// The two forms of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    is_object: bool,
    is_large: bool,
}

impl Form {
    fn of_kind(kind: u8) -> Option<Form> {
        Some(match kind {
            KIND_SMALL_OBJECT => Form { is_object: true, is_large: false },
            KIND_LARGE_OBJECT => Form { is_object: true, is_large: true },
            KIND_SMALL_ARRAY => Form { is_object: false, is_large: false },
            KIND_LARGE_ARRAY => Form { is_object: false, is_large: true },
            _ => return None,
        })
    }
    fn kind(self) -> u8 {
        match (self.is_object, self.is_large) {
            (true, false) => KIND_SMALL_OBJECT,
            (true, true) => KIND_LARGE_OBJECT,
            (false, false) => KIND_SMALL_ARRAY,
            (false, true) => KIND_LARGE_ARRAY,
        }
    }
    /// Bytes of a count, a size or an offset.
    fn offset_size(self) -> usize {
        if self.is_large { 4 } else { 2 }
    }
    fn name_entry_size(self) -> usize {
        if self.is_object { self.offset_size() + 2 } else { 0 }
    }
    fn value_entry_size(self) -> usize {
        1 + self.offset_size()
    }
    /// Bytes before the names and the payloads.
    fn head_size(self, count: usize) -> usize {
        2 * self.offset_size() + count * (self.name_entry_size() + self.value_entry_size())
    }
    fn inlines(self, kind: u8) -> bool {
        match kind {
            KIND_LITERAL | KIND_INT16 | KIND_UINT16 => true,
            KIND_INT32 | KIND_UINT32 => self.is_large,
            _ => false,
        }
    }
}

/// A value of a document in its binary form.
#[derive(Clone, Copy, Debug)]
pub struct JsonRef<'a> {
    kind: u8,
    /// Begins with the payload; what follows belongs to others.
    bytes: &'a [u8],
}

/// A value of a document, decoded as far as it is a scalar.
#[derive(Clone, Copy, Debug)]
pub enum View<'a> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Decimal),
    String(&'a str),
    Array(Container<'a>),
    Object(Container<'a>),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    Opaque(u8, &'a [u8]),
}

/// An array or an object.
#[derive(Clone, Copy, Debug)]
pub struct Container<'a> {
    form: Form,
    bytes: &'a [u8],
    count: usize,
}

/// `size` bytes at `at` as a number, the lowest first.
fn number_at(bytes: &[u8], at: usize, size: usize) -> u64 {
    bytes[at..at + size].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn signed(number: u64, size: usize) -> i64 {
    let unused = 64 - 8 * size as u32;
    (number << unused).cast_signed() >> unused
}

/// A length in front of a string or opaque bytes, and how many bytes it takes. None if it is damaged.
fn read_length(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut length = 0u64;
    for (position, &byte) in bytes.iter().enumerate().take(5) {
        length |= u64::from(byte & 0x7f) << (7 * position);
        if byte & 0x80 == 0 {
            let is_shortest = position == 0 || byte != 0;
            return is_shortest.then_some((usize::try_from(length).ok()?, position + 1));
        }
    }
    None
}

fn write_length(mut length: usize, out: &mut Vec<u8>) {
    while 0x7f < length {
        out.push(length as u8 & 0x7f | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

fn length_size(length: usize) -> usize {
    let bits = (usize::BITS - length.leading_zeros()).max(1);
    bits.div_ceil(7) as usize
}

impl<'a> JsonRef<'a> {
    /// The root of a document that this code encoded or [`check`] has passed.
    pub fn new(document: &'a [u8]) -> JsonRef<'a> {
        assert_eq!(document[0], VERSION, "the version of a JSON document");
        JsonRef { kind: document[1], bytes: &document[HEAD_SIZE..] }
    }

    /// What tells values of one document apart, one that stands for an array of itself aside.
    pub fn place(self) -> usize {
        self.bytes.as_ptr().addr()
    }

    pub fn view(self) -> View<'a> {
        let bytes = self.bytes;
        let integer = |size: usize| View::Int(signed(number_at(bytes, 0, size), size));
        let unsigned = |size: usize| View::UInt(number_at(bytes, 0, size));
        match self.kind {
            KIND_LITERAL => match bytes[0] {
                LITERAL_NULL => View::Null,
                literal => View::Bool(literal == LITERAL_TRUE),
            },
            KIND_INT16 => integer(2),
            KIND_INT32 => integer(4),
            KIND_INT64 => integer(8),
            KIND_UINT16 => unsigned(2),
            KIND_UINT32 => unsigned(4),
            KIND_UINT64 => unsigned(8),
            KIND_DOUBLE => View::Double(f64::from_bits(number_at(bytes, 0, 8))),
            KIND_STRING => {
                let string = self.delimited(0);
                View::String(std::str::from_utf8(string).expect("checked to be UTF-8"))
            }
            KIND_OPAQUE => opaque(bytes[0], self.delimited(1)).expect("checked opaque value"),
            _ => {
                let container = self.container().expect("a kind of value");
                match container.form.is_object {
                    true => View::Object(container),
                    false => View::Array(container),
                }
            }
        }
    }

    /// The array or the object that it is.
    pub fn container(self) -> Option<Container<'a>> {
        let form = Form::of_kind(self.kind)?;
        let count = number_at(self.bytes, 0, form.offset_size()) as usize;
        Some(Container { form, bytes: self.bytes, count })
    }
    pub fn array(self) -> Option<Container<'a>> {
        self.container().filter(|container| !container.is_object())
    }
    pub fn object(self) -> Option<Container<'a>> {
        self.container().filter(|container| container.is_object())
    }

    /// The bytes behind the length at `at`.
    fn delimited(self, at: usize) -> &'a [u8] {
        let (length, size) = read_length(&self.bytes[at..]).expect("checked length");
        &self.bytes[at + size..][..length]
    }

    /// Bytes of the payload.
    fn payload_size(self) -> usize {
        let behind_length = |at: usize| {
            let (length, size) = read_length(&self.bytes[at..]).expect("checked length");
            at + size + length
        };
        match self.kind {
            KIND_LITERAL => 1,
            KIND_INT16 | KIND_UINT16 => 2,
            KIND_INT32 | KIND_UINT32 => 4,
            KIND_INT64 | KIND_UINT64 | KIND_DOUBLE => 8,
            KIND_STRING => behind_length(0),
            KIND_OPAQUE => behind_length(1),
            _ => {
                let form = Form::of_kind(self.kind).expect("a kind of value");
                number_at(self.bytes, form.offset_size(), form.offset_size()) as usize
            }
        }
    }

    /// The value as a document of its own.
    pub fn to_document(self) -> Box<[u8]> {
        let payload = &self.bytes[..self.payload_size()];
        let mut document = Vec::with_capacity(HEAD_SIZE + payload.len());
        document.extend_from_slice(&[VERSION, self.kind]);
        document.extend_from_slice(payload);
        document.into()
    }

    /// Bytes that MySQL keeps it in: without the version.
    pub fn stored_size(self) -> usize {
        1 + self.payload_size()
    }

    /// The value as a tree.
    pub fn to_json(self) -> Json {
        match self.view() {
            View::Null => Json::Null,
            View::Bool(truth) => Json::Bool(truth),
            View::Int(number) => Json::Int(number),
            View::UInt(number) => Json::UInt(number),
            View::Double(number) => Json::Double(number),
            View::Decimal(number) => Json::Decimal(Box::new(number)),
            View::String(text) => Json::String(text.into()),
            View::Array(array) => Json::Array(array.values().map(JsonRef::to_json).collect()),
            View::Object(object) => Json::Object(Object::of_members(
                (0..object.len())
                    .map(|at| (object.name(at).into(), object.value(at).to_json()))
                    .collect(),
            )),
            View::Date(date) => Json::Date(date),
            View::Time(time) => Json::Time(time),
            View::DateTime(moment) => Json::DateTime(moment),
            View::Opaque(code, bytes) => Json::Opaque(code, bytes.into()),
        }
    }

    /// Levels of the value: 1 for a scalar and for an empty array or object.
    pub fn depth(self) -> usize {
        match self.container() {
            None => 1,
            Some(own) => 1 + own.values().map(JsonRef::depth).max().unwrap_or(0),
        }
    }

    /// What JSON_TYPE names it.
    pub fn type_name(self) -> &'static str {
        match self.view() {
            View::Null => "NULL",
            View::Bool(_) => "BOOLEAN",
            View::Int(_) => "INTEGER",
            View::UInt(_) => "UNSIGNED INTEGER",
            View::Double(_) => "DOUBLE",
            View::Decimal(_) => "DECIMAL",
            View::String(_) => "STRING",
            View::Array(_) => "ARRAY",
            View::Object(_) => "OBJECT",
            View::Date(_) => "DATE",
            View::Time(_) => "TIME",
            View::DateTime(_) => "DATETIME",
            View::Opaque(code, _) => match code {
                opaque_type::VARCHAR | opaque_type::TINY_BLOB..=opaque_type::STRING => "BLOB",
                opaque_type::BIT => "BIT",
                _ => "OPAQUE",
            },
        }
    }
}

impl<'a> Container<'a> {
    pub fn is_object(self) -> bool {
        self.form.is_object
    }
    /// Elements or members.
    pub fn len(self) -> usize {
        self.count
    }
    pub fn is_empty(self) -> bool {
        self.count == 0
    }
    fn name_bytes(self, position: usize) -> &'a [u8] {
        let offset_size = self.form.offset_size();
        let entry = 2 * offset_size + position * self.form.name_entry_size();
        let start = number_at(self.bytes, entry, offset_size) as usize;
        let length = number_at(self.bytes, entry + offset_size, 2) as usize;
        &self.bytes[start..start + length]
    }
    /// The name of an object's member.
    pub fn name(self, position: usize) -> &'a str {
        assert!(self.is_object() && position < self.count);
        std::str::from_utf8(self.name_bytes(position)).expect("checked to be UTF-8")
    }
    /// The value of an element or a member.
    pub fn value(self, position: usize) -> JsonRef<'a> {
        assert!(position < self.count);
        let form = self.form;
        let names = 2 * form.offset_size() + self.count * form.name_entry_size();
        let entry = names + position * form.value_entry_size();
        let kind = self.bytes[entry];
        let start = match form.inlines(kind) {
            true => entry + 1,
            false => number_at(self.bytes, entry + 1, form.offset_size()) as usize,
        };
        JsonRef { kind, bytes: &self.bytes[start..] }
    }
    pub fn values(self) -> impl Iterator<Item = JsonRef<'a>> {
        (0..self.count).map(move |position| self.value(position))
    }
    /// The value of an object's member of that name.
    pub fn member(self, name: &str) -> Option<JsonRef<'a>> {
        assert!(self.is_object());
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            match compare_names(self.name_bytes(middle), name.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(self.value(middle)),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }
}

/// The value that opaque bytes of a type are. None if they are damaged.
fn opaque(code: u8, bytes: &[u8]) -> Option<View<'_>> {
    let packed = || Some(u64::from_le_bytes(bytes.try_into().ok()?));
    Some(match code {
        opaque_type::DATE => View::Date(Date::unpack(u32::try_from(packed()?).ok()?)?),
        opaque_type::TIME => View::Time(Time::unpack(packed()?)?),
        opaque_type::DATETIME => View::DateTime(DateTime::unpack(packed()?)?),
        opaque_type::DECIMAL => {
            let [precision, scale, digits @ ..] = bytes else { return None };
            let is_sound = (1..=crate::decimal::PRECISION_MAX).contains(precision)
                && *scale <= crate::decimal::SCALE_MAX.min(*precision)
                && digits.len() == Decimal::fixed_size(*precision);
            if !is_sound {
                return None;
            }
            View::Decimal(Decimal::decode_fixed(*precision, *scale, digits)?)
        }
        _ => View::Opaque(code, bytes),
    })
}

/// The scalar kinds of a tree's value, with the bytes of the payload where they are few.
enum Scalar<'a> {
    Short(u8, u64, usize),
    String(&'a str),
    Opaque(u8, Vec<u8>),
    Bytes(u8, &'a [u8]),
}

fn scalar_of(value: &Json) -> Option<Scalar<'_>> {
    let short = |kind: u8, number: u64, size: usize| Scalar::Short(kind, number, size);
    let packed = |code: u8, number: u64| Scalar::Opaque(code, number.to_le_bytes().to_vec());
    Some(match value {
        Json::Null => short(KIND_LITERAL, u64::from(LITERAL_NULL), 1),
        Json::Bool(true) => short(KIND_LITERAL, u64::from(LITERAL_TRUE), 1),
        Json::Bool(false) => short(KIND_LITERAL, u64::from(LITERAL_FALSE), 1),
        Json::Int(number) => {
            let (kind, size) = match (i16::try_from(*number), i32::try_from(*number)) {
                (Ok(_), _) => (KIND_INT16, 2),
                (_, Ok(_)) => (KIND_INT32, 4),
                _ => (KIND_INT64, 8),
            };
            short(kind, number.cast_unsigned(), size)
        }
        Json::UInt(number) => {
            let (kind, size) = match (u16::try_from(*number), u32::try_from(*number)) {
                (Ok(_), _) => (KIND_UINT16, 2),
                (_, Ok(_)) => (KIND_UINT32, 4),
                _ => (KIND_UINT64, 8),
            };
            short(kind, *number, size)
        }
        Json::Double(number) => short(KIND_DOUBLE, number.to_bits(), 8),
        Json::Decimal(number) => {
            let scale = number.shown_scale();
            let digits = number.integer_digits() + u32::from(scale);
            let precision = u8::try_from(digits).expect("at most 65 digits").max(1);
            let mut bytes = vec![precision, scale];
            number.encode_fixed(precision, scale, &mut bytes);
            Scalar::Opaque(opaque_type::DECIMAL, bytes)
        }
        Json::Date(date) => packed(opaque_type::DATE, u64::from(date.pack())),
        Json::Time(time) => packed(opaque_type::TIME, time.pack()),
        Json::DateTime(moment) => packed(opaque_type::DATETIME, moment.pack()),
        Json::String(text) => Scalar::String(text),
        Json::Opaque(code, bytes) => Scalar::Bytes(*code, bytes),
        Json::Array(_) | Json::Object(_) => return None,
    })
}

impl Scalar<'_> {
    fn kind(&self) -> u8 {
        match self {
            Scalar::Short(kind, ..) => *kind,
            Scalar::String(_) => KIND_STRING,
            Scalar::Opaque(..) | Scalar::Bytes(..) => KIND_OPAQUE,
        }
    }
    fn payload_size(&self) -> usize {
        let delimited = |length: usize| length_size(length) + length;
        match self {
            Scalar::Short(_, _, size) => *size,
            Scalar::String(text) => delimited(text.len()),
            Scalar::Opaque(_, bytes) => 1 + delimited(bytes.len()),
            Scalar::Bytes(_, bytes) => 1 + delimited(bytes.len()),
        }
    }
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Scalar::Short(_, number, size) => {
                out.extend_from_slice(&number.to_le_bytes()[..*size]);
            }
            Scalar::String(text) => {
                write_length(text.len(), out);
                out.extend_from_slice(text.as_bytes());
            }
            Scalar::Opaque(code, bytes) => write_opaque(*code, bytes, out),
            Scalar::Bytes(code, bytes) => write_opaque(*code, bytes, out),
        }
    }
}

fn write_opaque(code: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(code);
    write_length(bytes.len(), out);
    out.extend_from_slice(bytes);
}

/// The binary form of a document.
pub fn encode(document: &Json) -> Result<Box<[u8]>, JsonError> {
    let mut encoder = Encoder { forms: Vec::new(), next: 0, value_count: 0 };
    let size = encoder.measure(document, 0)?;
    let mut out = Vec::with_capacity(HEAD_SIZE + size);
    out.extend_from_slice(&[VERSION, 0]);
    out[1] = encoder.write(document, &mut out);
    assert_eq!(out.len(), HEAD_SIZE + size);
    Ok(out.into())
}

/// Values of an array or an object, with the names of the latter.
fn children(value: &Json) -> (Vec<&Json>, Vec<&str>) {
    match value {
        Json::Array(elements) => (elements.iter().collect(), Vec::new()),
        Json::Object(object) => object.members().iter().map(|(name, own)| (own, &**name)).unzip(),
        _ => (Vec::new(), Vec::new()),
    }
}

struct Encoder {
    /// Form and size of each array and object, in the order in which they begin.
    forms: Vec<(Form, usize)>,
    /// The next of `forms` to write.
    next: usize,
    value_count: usize,
}

impl Encoder {
    /// Bytes of a value's payload; decides the forms of the containers in it.
    fn measure(&mut self, value: &Json, depth: usize) -> Result<usize, JsonError> {
        self.value_count += 1;
        if super::VALUE_COUNT_MAX < self.value_count {
            return Err(JsonError::TooLarge);
        }
        if let Some(scalar) = scalar_of(value) {
            return Ok(scalar.payload_size());
        }
        if DEPTH_MAX <= depth {
            return Err(JsonError::TooDeep);
        }
        let own = self.forms.len();
        let small = Form { is_object: matches!(value, Json::Object(_)), is_large: false };
        let large = Form { is_large: true, ..small };
        self.forms.push((small, 0));
        let (values, names) = children(value);
        if names.iter().any(|name| NAME_LENGTH_MAX < name.len()) {
            return Err(JsonError::NameTooLong);
        }
        let name_bytes: usize = names.iter().map(|name| name.len()).sum();
        let mut small_size = small.head_size(values.len()).saturating_add(name_bytes);
        let mut large_size = large.head_size(values.len()).saturating_add(name_bytes);
        for child in values {
            let size = self.measure(child, depth + 1)?;
            let kind = scalar_of(child).map(|scalar| scalar.kind());
            let outside =
                |form: Form| if kind.is_some_and(|kind| form.inlines(kind)) { 0 } else { size };
            small_size = small_size.saturating_add(outside(small));
            large_size = large_size.saturating_add(outside(large));
        }
        let chosen = match small_size {
            ..=0xffff => (small, small_size),
            _ => (large, large_size),
        };
        if u32::try_from(chosen.1).is_err() {
            return Err(JsonError::TooLarge);
        }
        self.forms[own] = chosen;
        Ok(chosen.1)
    }

    /// Appends the payload and returns its kind.
    fn write(&mut self, value: &Json, out: &mut Vec<u8>) -> u8 {
        if let Some(scalar) = scalar_of(value) {
            scalar.write(out);
            return scalar.kind();
        }
        let (form, size) = self.forms[self.next];
        self.next += 1;
        let (values, names) = children(value);
        let (start, count) = (out.len(), values.len());
        let put = |out: &mut Vec<u8>, at: usize, number: usize, size: usize| {
            out[start + at..start + at + size].copy_from_slice(&number.to_le_bytes()[..size]);
        };
        let offset_size = form.offset_size();
        out.resize(start + form.head_size(count), 0);
        put(out, 0, count, offset_size);
        put(out, offset_size, size, offset_size);
        let mut entry = 2 * offset_size;
        for name in names {
            let offset = out.len() - start;
            put(out, entry, offset, offset_size);
            put(out, entry + offset_size, name.len(), 2);
            out.extend_from_slice(name.as_bytes());
            entry += form.name_entry_size();
        }
        for child in values {
            let inlined = match scalar_of(child) {
                Some(Scalar::Short(kind, number, _)) if form.inlines(kind) => Some((kind, number)),
                _ => None,
            };
            match inlined {
                Some((kind, number)) => {
                    out[start + entry] = kind;
                    let at = start + entry + 1;
                    out[at..at + offset_size].copy_from_slice(&number.to_le_bytes()[..offset_size]);
                }
                None => {
                    let offset = out.len() - start;
                    put(out, entry + 1, offset, offset_size);
                    out[start + entry] = self.write(child, out);
                }
            }
            entry += form.value_entry_size();
        }
        assert_eq!(out.len() - start, size);
        form.kind()
    }
}

/// Whether the bytes are a document in every part, so that reading it cannot panic.
pub fn check(document: &[u8]) -> Result<(), &'static str> {
    let [VERSION, kind, payload @ ..] = document else { return Err("JSON version") };
    match check_value(*kind, payload, 0)? {
        size if size == payload.len() => Ok(()),
        _ => Err("bytes behind a JSON document"),
    }
}

/// The size of a payload that begins with these bytes.
fn check_value(kind: u8, bytes: &[u8], depth: usize) -> Result<usize, &'static str> {
    let fixed = |size: usize| if bytes.len() < size { Err("JSON number") } else { Ok(size) };
    let delimited = |at: usize| -> Result<(usize, usize), &'static str> {
        let (length, size) = bytes.get(at..).and_then(read_length).ok_or("JSON length")?;
        let start = at + size;
        let end = start.checked_add(length).filter(|end| *end <= bytes.len());
        Ok((start, end.ok_or("JSON length")?))
    };
    match kind {
        KIND_LITERAL => match bytes.first() {
            Some(&(LITERAL_NULL | LITERAL_TRUE | LITERAL_FALSE)) => Ok(1),
            _ => Err("JSON literal"),
        },
        KIND_INT16 | KIND_UINT16 => fixed(2),
        KIND_INT32 | KIND_UINT32 => fixed(4),
        KIND_INT64 | KIND_UINT64 => fixed(8),
        KIND_DOUBLE => {
            fixed(8)?;
            match f64::from_bits(number_at(bytes, 0, 8)).is_finite() {
                true => Ok(8),
                false => Err("JSON double"),
            }
        }
        KIND_STRING => {
            let (start, end) = delimited(0)?;
            std::str::from_utf8(&bytes[start..end]).map_err(|_| "UTF-8 of a JSON string")?;
            Ok(end)
        }
        KIND_OPAQUE => {
            let (start, end) = delimited(1)?;
            opaque(bytes[0], &bytes[start..end]).ok_or("opaque JSON value")?;
            Ok(end)
        }
        _ => {
            let form = Form::of_kind(kind).ok_or("kind of a JSON value")?;
            if DEPTH_MAX <= depth {
                return Err("depth of a JSON document");
            }
            check_container(form, bytes, depth)
        }
    }
}

fn check_container(form: Form, bytes: &[u8], depth: usize) -> Result<usize, &'static str> {
    let offset_size = form.offset_size();
    if bytes.len() < 2 * offset_size {
        return Err("head of a JSON container");
    }
    let count = number_at(bytes, 0, offset_size) as usize;
    let size = number_at(bytes, offset_size, offset_size) as usize;
    let entry_size = form.name_entry_size() + form.value_entry_size();
    let head = count.checked_mul(entry_size).and_then(|own| own.checked_add(2 * offset_size));
    let head = head.filter(|head| *head <= size && size <= bytes.len());
    let mut end = head.ok_or("size of a JSON container")?;
    let bytes = &bytes[..size];
    let mut entry = 2 * offset_size;
    let mut last: Option<&[u8]> = None;
    for _ in 0..if form.is_object { count } else { 0 } {
        let offset = number_at(bytes, entry, offset_size) as usize;
        let length = number_at(bytes, entry + offset_size, 2) as usize;
        if offset != end || size - end < length {
            return Err("place of a JSON name");
        }
        let name = &bytes[end..end + length];
        std::str::from_utf8(name).map_err(|_| "UTF-8 of a JSON name")?;
        if last.is_some_and(|last| compare_names(last, name).is_ge()) {
            return Err("order of JSON names");
        }
        last = Some(name);
        end += length;
        entry += form.name_entry_size();
    }
    for _ in 0..count {
        let kind = bytes[entry];
        let place = entry + 1..entry + 1 + offset_size;
        if form.inlines(kind) {
            let own = check_value(kind, &bytes[place.clone()], depth + 1)?;
            let number = number_at(bytes, place.start, own);
            let extended = match kind {
                KIND_INT16 | KIND_INT32 => signed(number, own).cast_unsigned(),
                _ => number,
            };
            if extended.to_le_bytes()[..offset_size] != bytes[place] {
                return Err("inlined JSON value");
            }
        } else {
            if number_at(bytes, place.start, offset_size) as usize != end {
                return Err("place of a JSON value");
            }
            end += check_value(kind, &bytes[end..], depth + 1)?;
        }
        entry += form.value_entry_size();
    }
    if end == size { Ok(size) } else { Err("size of a JSON container") }
}
