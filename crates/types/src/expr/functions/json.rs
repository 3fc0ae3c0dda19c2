//! Functions of JSON documents.
//!
//! A document argument is a JSON value or a text that is parsed; a value argument is a JSON value or an SQL value that
//! becomes a scalar ([`Json::of_value`]). Values of one document are found in its binary form; what changes a document works
//! on a tree.

use std::borrow::Cow;

use super::{Call, Function};
use crate::convert::{document_of_text, to_text};
use crate::expr::EvalError;
use crate::json::change::{self, Put};
use crate::json::search::{Search, SearchError};
use crate::json::{Json, JsonError, JsonRef, Object, Path, contain, encode, parse, print};
use crate::{Collation, Value, ValueRef};

/// Work per byte of a text that is parsed, and of a document that becomes a tree or is walked through.
pub(super) const WORK_PER_PARSED_BYTE: usize = 20;
const WORK_PER_CHANGED_BYTE: usize = 20;
const WORK_PER_WALKED_BYTE: usize = 10;
/// Work per value that a path leads to, or that is compared.
const WORK_PER_VALUE: usize = 50;
/// Bytes of all arguments at most, in packets: one document and one that replaces most of it.
const ARGUMENT_PACKETS_MAX: usize = 2;
/// Work per step of LIKE.
const WORK_PER_STEP: usize = 4;

type Evaluated<T> = Result<T, EvalError>;

/// The error of a document that cannot be made.
pub(in crate::expr) fn document_error(error: JsonError) -> EvalError {
    EvalError::raised(error.code(), error.message())
}

fn encoded(document: &Json) -> Evaluated<Value> {
    encode(document).map(Value::Json).map_err(document_error)
}

fn truth(truth: bool) -> Value {
    Value::Int(i64::from(truth))
}

fn count(count: usize) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

/// A text that is made of a document.
fn text(text: &str) -> Value {
    Value::text(text, Collation::Utf8mb4Bin)
}

impl<'v> Call<'v, '_, '_> {
    pub(super) fn json(&mut self) -> Evaluated<Value> {
        // A result holds its arguments, and a tree of them takes several times their bytes.
        let held: usize = self.values.iter().map(ValueRef::held_bytes).sum();
        if self.ctx.max_allowed_packet.saturating_mul(ARGUMENT_PACKETS_MAX) < held {
            return Ok(self.too_long());
        }
        match self.function {
            Function::JsonArray => {
                let elements = self.values.iter().map(|value| Json::of_value(*value));
                encoded(&Json::Array(elements.collect()))
            }
            Function::JsonObject => self.json_object(),
            Function::JsonScalar => self.json_scalar(),
            Function::JsonQuote => self.json_quote(),
            Function::JsonUnquote => self.json_unquote(),
            Function::JsonExtract => self.json_extract(),
            Function::JsonContains => self.json_contains(),
            Function::JsonContainsPath => self.json_contains_path(),
            Function::JsonKeys => self.json_keys(),
            Function::JsonSearch => self.json_search(),
            Function::JsonOverlaps => {
                let (left, right) = (self.document(0)?, self.document(1)?);
                let (left, right) = (JsonRef::new(&left), JsonRef::new(&right));
                let overlap = self.steps(|steps| contain::overlaps(left, right, steps))?;
                Ok(truth(overlap))
            }
            Function::MemberOf => {
                let value = encode(&Json::of_value(self.values[0])).map_err(document_error)?;
                let array = self.document(1)?;
                let (value, array) = (JsonRef::new(&value), JsonRef::new(&array));
                let is_member = self.steps(|steps| contain::is_element(value, array, steps))?;
                Ok(truth(is_member))
            }
            Function::JsonArrayAppend
            | Function::JsonArrayInsert
            | Function::JsonInsert
            | Function::JsonReplace
            | Function::JsonSet => self.json_change(),
            Function::JsonRemove => self.json_remove(),
            Function::JsonMergePatch => self.json_merge_patch(),
            Function::JsonMergePreserve => self.json_merge_preserve(),
            Function::JsonDepth => {
                let document = self.walked_document(0)?;
                Ok(count(JsonRef::new(&document).depth()))
            }
            Function::JsonLength => self.json_length(),
            Function::JsonType => {
                let document = self.document(0)?;
                Ok(text(JsonRef::new(&document).type_name()))
            }
            Function::JsonValid => self.json_valid(),
            Function::JsonPretty => {
                let document = self.walked_document(0)?;
                match print::to_pretty(JsonRef::new(&document), self.ctx.max_allowed_packet) {
                    Ok(printed) => Ok(text(&printed)),
                    Err(print::TooLong) => Ok(self.too_long()),
                }
            }
            Function::JsonStorageSize => {
                let document = self.document(0)?;
                Ok(count(JsonRef::new(&document).stored_size()))
            }
            Function::JsonStorageFree => {
                // A changed document is always written anew.
                self.document(0)?;
                Ok(Value::Int(0))
            }
            other => unreachable!("{other:?} is no function of JSON"),
        }
    }

    /// The function's name as MySQL's messages show it.
    fn lower_name(&self) -> String {
        match self.function {
            Function::MemberOf => "member of".to_string(),
            function => function.name().to_lowercase(),
        }
    }

    /// A document argument.
    pub(super) fn document(&mut self, position: usize) -> Evaluated<Cow<'v, [u8]>> {
        match self.values[position] {
            ValueRef::Json(document) => Ok(Cow::Borrowed(document)),
            ValueRef::Text(text, _) => {
                self.ctx.spend(text.len() * WORK_PER_PARSED_BYTE)?;
                let name = self.lower_name();
                match document_of_text(text, position + 1, &name) {
                    Ok(document) => Ok(Cow::Owned(document.into())),
                    Err((code, message)) => Err(EvalError::raised(code, message)),
                }
            }
            ValueRef::Bytes(_) => Err(binary_charset()),
            _ => Err(self.not_json(position)),
        }
    }

    /// A document argument of which every value is read.
    fn walked_document(&mut self, position: usize) -> Evaluated<Cow<'v, [u8]>> {
        let document = self.document(position)?;
        self.ctx.spend(document.len() * WORK_PER_WALKED_BYTE)?;
        Ok(document)
    }

    /// A document argument as a tree.
    fn tree(&mut self, position: usize) -> Evaluated<Json> {
        let document = self.document(position)?;
        self.ctx.spend(document.len() * WORK_PER_CHANGED_BYTE)?;
        Ok(JsonRef::new(&document).to_json())
    }

    fn not_json(&self, position: usize) -> EvalError {
        let message = format!(
            "Invalid data type for JSON data in argument {} to function {}; a JSON string or JSON \
             type is required.",
            position + 1,
            self.lower_name()
        );
        EvalError::raised(3146, message)
    }

    /// A path argument.
    pub(super) fn path(&mut self, position: usize) -> Evaluated<Path> {
        let value = self.values[position];
        if matches!(value, ValueRef::Bytes(_)) {
            return Err(binary_charset());
        }
        Path::parse(&to_text(value)).map_err(|error| {
            let message = format!(
                "Invalid JSON path expression. The error is around character position {}.",
                error.0
            );
            EvalError::raised(3143, message)
        })
    }

    /// A path argument that names one value at most.
    fn single_path(&mut self, position: usize) -> Evaluated<Path> {
        let path = self.path(position)?;
        if path.is_multiple() {
            let message = "In this situation, path expressions may not contain the * and ** tokens \
                           or an array range.";
            return Err(EvalError::raised(3149, message));
        }
        Ok(path)
    }

    /// Runs a search of values within the work that is left.
    fn steps<T>(&mut self, run: impl FnOnce(&mut usize) -> Option<T>) -> Evaluated<T> {
        let steps_max = self.ctx.work_left() / WORK_PER_VALUE;
        let mut steps = steps_max;
        let result = run(&mut steps);
        self.ctx.spend((steps_max - steps) * WORK_PER_VALUE)?;
        result.ok_or(EvalError::TooMuchWork)
    }

    pub(super) fn seek<'d>(
        &mut self,
        document: &'d [u8],
        path: &Path,
    ) -> Evaluated<Vec<JsonRef<'d>>> {
        self.steps(|steps| path.seek(JsonRef::new(document), steps))
    }

    /// The same, where a value that is no array has no cells.
    fn seek_in_arrays<'d>(
        &mut self,
        document: &'d [u8],
        path: &Path,
    ) -> Evaluated<Vec<JsonRef<'d>>> {
        self.steps(|steps| path.seek_in_arrays(JsonRef::new(document), steps))
    }

    fn json_object(&mut self) -> Evaluated<Value> {
        let mut members = Vec::with_capacity(self.values.len() / 2);
        for pair in self.values.chunks(2) {
            let [name, value] = pair else { unreachable!("the binder counts the arguments") };
            let name = match name {
                ValueRef::Null => {
                    let message = "JSON documents may not contain NULL member names.";
                    return Err(EvalError::raised(3158, message));
                }
                ValueRef::Bytes(_) => return Err(binary_charset()),
                // A JSON string is a name without its quotation marks.
                ValueRef::Json(document) => Cow::Owned(print::to_unquoted(JsonRef::new(document))),
                name => to_text(*name),
            };
            members.push((name.into(), Json::of_value(*value)));
        }
        encoded(&Json::Object(Object::of_members(members)))
    }

    /// (value, code): a truth value for code 1, bytes of a column of the type that the code is, other values as they are.
    fn json_scalar(&mut self) -> Evaluated<Value> {
        const TRUTH: u8 = 1;
        let code = u8::try_from(self.int(1)).unwrap_or(0);
        let scalar = match self.values[0] {
            ValueRef::Int(number) if code == TRUTH => Json::Bool(number != 0),
            ValueRef::Bytes(bytes) => Json::Opaque(code, bytes.into()),
            other => Json::of_value(other),
        };
        encoded(&scalar)
    }

    fn json_quote(&mut self) -> Evaluated<Value> {
        match self.values[0] {
            ValueRef::Text(own, _) => {
                let mut quoted = String::with_capacity(own.len() + 2);
                print::quote(own, &mut quoted);
                Ok(text(&quoted))
            }
            ValueRef::Bytes(_) => Err(binary_charset()),
            _ => Err(self.not_text()),
        }
    }

    fn not_text(&self) -> EvalError {
        let message = format!("Incorrect type for argument 1 in function {}.", self.lower_name());
        EvalError::raised(3064, message)
    }

    fn json_unquote(&mut self) -> Evaluated<Value> {
        let own = match self.values[0] {
            ValueRef::Json(document) => {
                self.ctx.spend(document.len() * WORK_PER_WALKED_BYTE)?;
                return Ok(text(&print::to_unquoted(JsonRef::new(document))));
            }
            ValueRef::Bytes(_) => return Err(binary_charset()),
            ValueRef::Text(own, _) => own,
            _ => return Err(self.not_text()),
        };
        if own.len() < 2 || !own.starts_with('"') || !own.ends_with('"') {
            return Ok(text(own));
        }
        self.ctx.spend(own.len() * WORK_PER_PARSED_BYTE)?;
        match parse::parse_string(own) {
            Ok(unquoted) => Ok(text(&unquoted)),
            Err(error) => {
                let (code, message) = crate::convert::text_error(error, 1, &self.lower_name());
                Err(EvalError::raised(code, message))
            }
        }
    }

    fn json_extract(&mut self) -> Evaluated<Value> {
        let document = self.document(0)?;
        let mut is_list = 2 < self.values.len();
        let mut found = Vec::new();
        for position in 1..self.values.len() {
            let path = self.path(position)?;
            is_list |= path.is_multiple();
            found.extend(self.seek(&document, &path)?);
        }
        match (is_list, found.as_slice()) {
            (_, []) => Ok(Value::Null),
            (false, [value, ..]) => Ok(Value::Json(value.to_document())),
            (true, values) => {
                let bytes: usize = values.iter().map(|value| value.stored_size()).sum();
                self.ctx.spend(bytes * WORK_PER_CHANGED_BYTE)?;
                if self.ctx.max_allowed_packet < bytes {
                    return Ok(self.too_long());
                }
                encoded(&Json::Array(values.iter().map(|value| value.to_json()).collect()))
            }
        }
    }

    /// The value at the optional path argument; None if there is none.
    fn at_path<'d>(
        &mut self,
        document: &'d [u8],
        position: usize,
    ) -> Evaluated<Option<JsonRef<'d>>> {
        if !self.has(position) {
            return Ok(Some(JsonRef::new(document)));
        }
        let path = self.single_path(position)?;
        Ok(self.seek(document, &path)?.first().copied())
    }

    fn json_contains(&mut self) -> Evaluated<Value> {
        let (target, candidate) = (self.document(0)?, self.document(1)?);
        let Some(target) = self.at_path(&target, 2)? else { return Ok(Value::Null) };
        let candidate = JsonRef::new(&candidate);
        let contains = self.steps(|steps| contain::contains(target, candidate, steps))?;
        Ok(truth(contains))
    }

    /// Whether the argument is 'one', and not 'all'.
    fn is_one(&mut self, position: usize) -> Evaluated<bool> {
        let own = self.text(position);
        match (own.eq_ignore_ascii_case("one"), own.eq_ignore_ascii_case("all")) {
            (false, false) => {
                let message = format!(
                    "The oneOrAll argument to {} may take these values: 'one' or 'all'.",
                    self.lower_name()
                );
                Err(EvalError::raised(3154, message))
            }
            (is_one, _) => Ok(is_one),
        }
    }

    fn json_contains_path(&mut self) -> Evaluated<Value> {
        let document = self.document(0)?;
        let is_one = self.is_one(1)?;
        for position in 2..self.values.len() {
            let path = self.path(position)?;
            let is_there = !self.seek(&document, &path)?.is_empty();
            if is_there == is_one {
                return Ok(truth(is_one));
            }
        }
        Ok(truth(!is_one))
    }

    fn json_keys(&mut self) -> Evaluated<Value> {
        let document = self.document(0)?;
        let value = match self.has(1) {
            false => Some(JsonRef::new(&document)),
            true => {
                let path = self.single_path(1)?;
                self.seek_in_arrays(&document, &path)?.first().copied()
            }
        };
        let Some(object) = value.and_then(JsonRef::object) else { return Ok(Value::Null) };
        self.ctx.spend(object.len() * WORK_PER_VALUE)?;
        let names = (0..object.len()).map(|position| Json::string(object.name(position)));
        encoded(&Json::Array(names.collect()))
    }

    fn json_length(&mut self) -> Evaluated<Value> {
        let document = self.document(0)?;
        let Some(value) = self.at_path(&document, 1)? else { return Ok(Value::Null) };
        Ok(count(value.container().map_or(1, |container| container.len())))
    }

    fn json_valid(&mut self) -> Evaluated<Value> {
        Ok(truth(match self.values[0] {
            ValueRef::Json(_) => true,
            ValueRef::Text(own, _) => {
                self.ctx.spend(own.len() * WORK_PER_PARSED_BYTE)?;
                match parse::parse(own) {
                    Ok(_) => true,
                    Err(error) => match error.syntax() {
                        Ok(_) => false,
                        Err(error) => return Err(document_error(error)),
                    },
                }
            }
            _ => false,
        }))
    }

    fn json_search(&mut self) -> Evaluated<Value> {
        const ESCAPE: usize = 3;
        let mut arguments = self.values.iter().enumerate();
        if arguments.any(|(position, value)| position != ESCAPE && value.is_null()) {
            return Ok(Value::Null);
        }
        let document = self.walked_document(0)?;
        let is_one = self.is_one(1)?;
        let pattern = self.text(2);
        let escape = self.search_escape()?;
        let mut paths = Vec::new();
        for position in 4..self.values.len() {
            paths.push(self.path(position)?);
        }
        if paths.is_empty() {
            paths.push(Path::root());
        }
        let mut below = Vec::new();
        for path in paths {
            let values = self.seek_in_arrays(&document, &path)?;
            below.push((path, values));
        }
        self.ctx.spend(document.len() * WORK_PER_WALKED_BYTE * below.len())?;
        let steps_max = self.ctx.work_left() / WORK_PER_STEP;
        let mut steps = steps_max;
        let mut matches =
            |text: &str| Collation::Utf8mb4Bin.like_within(text, &pattern, escape, &mut steps);
        let mut search = Search::new(&mut matches, is_one, self.ctx.max_allowed_packet);
        let mut result = Ok(());
        for (path, values) in &below {
            result = result.and_then(|()| search.run(JsonRef::new(&document), path, values));
        }
        let found = search.into_found();
        self.ctx.spend((steps_max - steps) * WORK_PER_STEP)?;
        match result {
            Ok(()) => {}
            Err(SearchError::TooMuchWork) => return Err(EvalError::TooMuchWork),
            Err(SearchError::TooLong) => return Ok(self.too_long()),
        }
        match found.as_slice() {
            [] => Ok(Value::Null),
            [path] => encoded(&Json::string(path)),
            paths => encoded(&Json::Array(paths.iter().map(|path| Json::string(path)).collect())),
        }
    }

    /// The escape character of JSON_SEARCH's pattern: none for an empty argument.
    fn search_escape(&mut self) -> Evaluated<Option<char>> {
        if !self.has(3) || self.values[3].is_null() {
            return Ok(Some('\\'));
        }
        let own = self.text(3);
        let mut characters = own.chars();
        match (characters.next(), characters.next()) {
            (first, None) => Ok(first),
            _ => Err(EvalError::raised(1210, "Incorrect arguments to ESCAPE")),
        }
    }

    /// (document, path, value, path, value, ...).
    fn json_change(&mut self) -> Evaluated<Value> {
        if self.values[0].is_null() {
            return Ok(Value::Null);
        }
        let mut document = self.tree(0)?;
        let size = self.values[0].held_bytes();
        for position in (1..self.values.len()).step_by(2) {
            if self.values[position].is_null() {
                return Ok(Value::Null);
            }
            let path = self.single_path(position)?;
            // An element in the middle moves those behind it.
            self.ctx.spend(size)?;
            let value = Json::of_value(self.values[position + 1]);
            match self.function {
                Function::JsonArrayAppend => change::append(&mut document, &path, value),
                Function::JsonArrayInsert => {
                    if !change::insert_cell(&mut document, &path, value) {
                        let message = "A path expression is not a path to a cell in an array.";
                        return Err(EvalError::raised(3153, message));
                    }
                }
                Function::JsonInsert => change::put(&mut document, &path, value, Put::Insert),
                Function::JsonReplace => change::put(&mut document, &path, value, Put::Replace),
                _ => change::put(&mut document, &path, value, Put::Set),
            }
        }
        encoded(&document)
    }

    fn json_remove(&mut self) -> Evaluated<Value> {
        let mut document = self.tree(0)?;
        let size = self.values[0].held_bytes();
        for position in 1..self.values.len() {
            let path = self.single_path(position)?;
            if path.legs().is_empty() {
                let message = "The path expression '$' is not allowed in this context.";
                return Err(EvalError::raised(3165, message));
            }
            self.ctx.spend(size)?;
            change::remove(&mut document, &path);
        }
        encoded(&document)
    }

    /// NULL merged with an object is NULL; a later argument that is no object replaces it.
    fn json_merge_patch(&mut self) -> Evaluated<Value> {
        let mut merged: Option<Json> = None;
        for position in 0..self.values.len() {
            if self.values[position].is_null() {
                merged = None;
                continue;
            }
            let patch = self.tree(position)?;
            merged = match (merged, patch) {
                (_, patch) if position == 0 => Some(patch),
                (None, Json::Object(_)) => None,
                (None, patch) => Some(patch),
                (Some(target), patch) => Some(change::merge_patch(target, patch)),
            };
        }
        merged.map_or(Ok(Value::Null), |merged| encoded(&merged))
    }

    fn json_merge_preserve(&mut self) -> Evaluated<Value> {
        let mut merged = self.tree(0)?;
        for position in 1..self.values.len() {
            merged = change::merge_preserve(merged, self.tree(position)?);
        }
        encoded(&merged)
    }
}

/// 3144: bytes are no JSON text.
fn binary_charset() -> EvalError {
    let message = "Cannot create a JSON value from a string with CHARACTER SET 'binary'.";
    EvalError::raised(3144, message)
}
