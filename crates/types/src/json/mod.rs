//! JSON documents, as MySQL's JSON type has them.
//!
//! A document is text at the session's edge ([`parse`], [`print`]) and binary everywhere else: a row, a message and an
//! expression carry the binary form ([`binary`]), in which a path finds its value without reading the rest. A function
//! that changes a document decodes it into a tree ([`Json`]) and encodes the result.
//!
//! ```text
//!   text ──parse──► Json ──encode──► binary ──view──► JsonRef ──print──► text
//!                    ▲                                   │
//!                    └──────────── to_json ──────────────┘
//! ```
//!
//! Documents have scalars that RFC 8259 does not know: exact decimals, dates and times, bytes. They come from SQL values
//! and print as numbers and strings. [`compare`] orders all of them.

pub mod binary;
pub mod change;
pub mod compare;
pub mod contain;
mod document;
pub mod parse;
pub mod path;
pub mod print;
pub mod search;
#[cfg(test)]
mod tests;

pub use binary::{Container, JsonRef, View, check, encode};
pub use document::{Json, JsonError, Object, opaque_type};
pub use parse::{ParseError, parse};
pub use path::{Path, PathError};

/// Arrays and objects inside one another, at most: error 3157 beyond it.
pub const DEPTH_MAX: usize = 100;
/// Bytes of a member's name at most: error 3151 beyond it.
pub const NAME_LENGTH_MAX: usize = u16::MAX as usize;
/// Values of a document at most: error 3150 beyond it. A value takes 24 bytes of a tree, and a member 40, so a tree takes
/// no more than 320 MiB beside its texts.
pub const VALUE_COUNT_MAX: usize = 8 << 20;
