//! A document as text: MySQL's, with a space behind every comma and colon, and that of JSON_PRETTY.

use base64::Engine;

use super::binary::{Container, JsonRef, View};
use crate::convert::format_double;

/// The text would be longer than its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

/// The text of a document.
pub fn to_text(document: JsonRef<'_>) -> String {
    let mut printer = Printer { out: String::new(), limit: usize::MAX, indent: None };
    printer.value(document).expect("there is no limit");
    printer.out
}

/// The text of a document over several lines, two spaces for each level. Indentation makes it up to a hundred times as
/// long as the document: no more than about `limit` bytes are made.
pub fn to_pretty(document: JsonRef<'_>, limit: usize) -> Result<String, TooLong> {
    let mut printer = Printer { out: String::new(), limit, indent: Some(0) };
    printer.value(document)?;
    Ok(printer.out)
}

/// The text of a scalar without quotation marks, and that of an array or an object.
pub fn to_unquoted(document: JsonRef<'_>) -> String {
    match document.view() {
        View::Array(_) | View::Object(_) => to_text(document),
        _ => {
            let mut out = String::new();
            scalar(document, &mut out);
            out
        }
    }
}

/// Appends a text as a JSON string.
pub fn quote(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)) {
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => out.push_str(&format!("\\u{control:04x}")),
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

/// Appends a scalar, texts without quotation marks.
fn scalar(value: JsonRef<'_>, out: &mut String) {
    match value.view() {
        View::Null => out.push_str("null"),
        View::Bool(truth) => out.push_str(if truth { "true" } else { "false" }),
        View::Int(number) => out.push_str(&number.to_string()),
        View::UInt(number) => out.push_str(&number.to_string()),
        View::Double(number) => double(number, out),
        View::Decimal(number) => out.push_str(&number.to_string()),
        View::String(text) => out.push_str(text),
        View::Date(date) => out.push_str(&date.to_string()),
        View::Time(time) => out.push_str(&time.format(6)),
        View::DateTime(moment) => out.push_str(&moment.format(6)),
        View::Opaque(code, bytes) => {
            out.push_str(&format!("base64:type{code}:"));
            base64::engine::general_purpose::STANDARD.encode_string(bytes, out);
        }
        View::Array(_) | View::Object(_) => unreachable!("the caller prints arrays and objects"),
    }
}

/// A double shows that it is one: 1.0, 1e100.
fn double(number: f64, out: &mut String) {
    let start = out.len();
    if number == 0.0 && number.is_sign_negative() {
        out.push('-');
    }
    format_double(number.abs().copysign(if number < 0.0 { -1.0 } else { 1.0 }), out);
    if !out[start..].contains(['.', 'e']) {
        out.push_str(".0");
    }
}

struct Printer {
    out: String,
    limit: usize,
    /// The level of indentation of JSON_PRETTY.
    indent: Option<usize>,
}

impl Printer {
    fn value(&mut self, value: JsonRef<'_>) -> Result<(), TooLong> {
        if self.limit < self.out.len() {
            return Err(TooLong);
        }
        match value.view() {
            View::Array(array) => self.container(array, '[', ']'),
            View::Object(object) => self.container(object, '{', '}'),
            View::String(text) => {
                quote(text, &mut self.out);
                Ok(())
            }
            View::Date(_) | View::Time(_) | View::DateTime(_) | View::Opaque(..) => {
                self.out.push('"');
                scalar(value, &mut self.out);
                self.out.push('"');
                Ok(())
            }
            View::Null
            | View::Bool(_)
            | View::Int(_)
            | View::UInt(_)
            | View::Double(_)
            | View::Decimal(_) => {
                scalar(value, &mut self.out);
                Ok(())
            }
        }
    }

    fn container(&mut self, own: Container<'_>, open: char, close: char) -> Result<(), TooLong> {
        self.out.push(open);
        self.indent = self.indent.map(|level| level + 1);
        for position in 0..own.len() {
            if 0 < position {
                self.out.push(',');
                if self.indent.is_none() {
                    self.out.push(' ');
                }
            }
            self.line();
            if own.is_object() {
                quote(own.name(position), &mut self.out);
                self.out.push_str(": ");
            }
            self.value(own.value(position))?;
        }
        self.indent = self.indent.map(|level| level - 1);
        if !own.is_empty() {
            self.line();
        }
        self.out.push(close);
        Ok(())
    }

    fn line(&mut self) {
        if let Some(level) = self.indent {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n("  ", level));
        }
    }
}
