//! A document as a tree: what functions build and change.

use std::cmp::Ordering;

use crate::{Date, DateTime, Decimal, Time, ValueRef};

/// The type codes that bytes and other SQL values have inside a document, which are MySQL's field types.
pub mod opaque_type {
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    /// VARBINARY columns, literals, and results of functions.
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const DECIMAL: u8 = 246;
    pub const TINY_BLOB: u8 = 249;
    /// BLOB columns.
    pub const BLOB: u8 = 252;
    /// BINARY columns.
    pub const STRING: u8 = 254;
}

/// Why a document cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonError {
    TooDeep,
    NameTooLong,
    TooLarge,
}

impl JsonError {
    /// MySQL's error number.
    pub fn code(self) -> u16 {
        match self {
            JsonError::TooLarge => 3150,
            JsonError::NameTooLong => 3151,
            JsonError::TooDeep => 3157,
        }
    }
    pub fn message(self) -> &'static str {
        match self {
            JsonError::TooLarge => "The JSON value is too big to be stored in a JSON column.",
            JsonError::NameTooLong => "The JSON object contains a key name that is too long.",
            JsonError::TooDeep => "The JSON document exceeds the maximum depth.",
        }
    }
}

/// A value of a document. `==` is structural, but for decimals, which are equal by value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    /// Finite.
    Double(f64),
    /// Of at most 65 digits: [`Json::decimal`] makes it so.
    Decimal(Box<Decimal>),
    String(Box<str>),
    Array(Vec<Json>),
    Object(Object),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    /// Bytes, with the type they had in SQL ([`opaque_type`]).
    Opaque(u8, Box<[u8]>),
}

impl Json {
    /// A decimal in the digits that show, of which it keeps 65.
    pub fn decimal(value: Decimal) -> Json {
        let shown = value.as_shown();
        let room = i64::from(crate::decimal::PRECISION_MAX) - i64::from(shown.integer_digits());
        let kept = match u8::try_from(room) {
            Ok(room) if room < shown.shown_scale() => shown.rescale(room),
            Ok(_) => Some(shown),
            Err(_) => None,
        };
        let kept = kept.filter(|own| own.integer_digits() <= crate::decimal::PRECISION_MAX.into());
        let largest = || Decimal::max_value(crate::decimal::PRECISION_MAX, 0);
        Json::Decimal(Box::new(match kept {
            Some(kept) => kept,
            None if shown.is_negative() => largest().neg(),
            None => largest(),
        }))
    }

    pub fn string(text: &str) -> Json {
        Json::String(text.into())
    }

    /// The scalar that an SQL value is, or the document of a JSON value; NULL is null. Bytes are those of a literal.
    pub fn of_value(value: ValueRef<'_>) -> Json {
        match value {
            ValueRef::Null => Json::Null,
            ValueRef::Int(value) => Json::Int(value),
            ValueRef::UInt(value) => Json::UInt(value),
            ValueRef::Float(value) => Json::Double(f64::from(value)),
            ValueRef::Double(value) => Json::Double(value),
            ValueRef::Decimal(value) => Json::decimal(value),
            ValueRef::Text(text, _) => Json::string(text),
            ValueRef::Bytes(bytes) => Json::Opaque(opaque_type::VARCHAR, bytes.into()),
            ValueRef::Date(value) => Json::Date(value),
            ValueRef::Time(value) => Json::Time(value),
            ValueRef::DateTime(value) => Json::DateTime(value),
            ValueRef::Label(number, labels) => Json::string(&labels.text(number)),
            ValueRef::Json(bytes) => super::JsonRef::new(bytes).to_json(),
        }
    }

    /// The value as an array: itself, or an array of it alone.
    pub fn into_array(self) -> Vec<Json> {
        match self {
            Json::Array(elements) => elements,
            other => vec![other],
        }
    }
}

/// The order of an object's members: shorter names first, names of one length by their bytes.
pub fn compare_names(left: &[u8], right: &[u8]) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

/// Members in the order of [`compare_names`], each name once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    members: Vec<(Box<str>, Json)>,
}

impl Object {
    /// Of members in any order; the last one of a name stays.
    pub fn of_members(mut members: Vec<(Box<str>, Json)>) -> Object {
        members.sort_by(|(left, _), (right, _)| compare_names(left.as_bytes(), right.as_bytes()));
        // The sort is stable: of equal names the last one was written last.
        members.reverse();
        members.dedup_by(|later, earlier| later.0 == earlier.0);
        members.reverse();
        Object { members }
    }
    pub fn members(&self) -> &[(Box<str>, Json)] {
        &self.members
    }
    pub fn into_members(self) -> Vec<(Box<str>, Json)> {
        self.members
    }
    fn place(&self, name: &str) -> Result<usize, usize> {
        let compare = |own: &str| compare_names(own.as_bytes(), name.as_bytes());
        self.members.binary_search_by(|(own, _)| compare(own))
    }
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Json> {
        let place = self.place(name).ok()?;
        Some(&mut self.members[place].1)
    }
    /// Adds a member, or replaces the one of its name.
    pub fn insert(&mut self, name: &str, value: Json) {
        match self.place(name) {
            Ok(place) => self.members[place].1 = value,
            Err(place) => self.members.insert(place, (name.into(), value)),
        }
    }
    pub fn remove(&mut self, name: &str) -> Option<Json> {
        let place = self.place(name).ok()?;
        Some(self.members.remove(place).1)
    }
}
