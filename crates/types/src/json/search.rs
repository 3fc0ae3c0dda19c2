//! JSON_SEARCH: the paths of strings that match a pattern.

use std::collections::BTreeSet;

use super::binary::{JsonRef, View};
use super::path::push_member;

/// What a search ends with beside its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchError {
    TooMuchWork,
    /// The paths would be longer than the limit.
    TooLong,
}

/// A search in one document.
pub struct Search<'m> {
    /// Whether a string matches; None if that takes too much work.
    pub matches: &'m mut dyn FnMut(&str) -> Option<bool>,
    /// Ends at the first match.
    pub is_first_only: bool,
    /// Bytes of all paths together, at most.
    pub limit: usize,
    found: Vec<String>,
    found_bytes: usize,
    /// Strings that have matched, which a search under another path finds again.
    seen: BTreeSet<usize>,
}

impl<'m> Search<'m> {
    pub fn new(
        matches: &'m mut dyn FnMut(&str) -> Option<bool>,
        is_first_only: bool,
        limit: usize,
    ) -> Search<'m> {
        let (found, seen) = (Vec::new(), BTreeSet::new());
        Search { matches, is_first_only, limit, found, found_bytes: 0, seen }
    }

    /// Searches the document below some of its values.
    pub fn run(&mut self, root: JsonRef<'_>, below: &[JsonRef<'_>]) -> Result<(), SearchError> {
        let places: BTreeSet<usize> = below.iter().map(|value| value.place()).collect();
        self.walk(root, &mut "$".to_string(), &places, false)
    }

    pub fn into_found(self) -> Vec<String> {
        self.found
    }

    fn is_over(&self) -> bool {
        self.is_first_only && !self.found.is_empty()
    }

    fn walk(
        &mut self,
        value: JsonRef<'_>,
        path: &mut String,
        places: &BTreeSet<usize>,
        is_inside: bool,
    ) -> Result<(), SearchError> {
        if self.is_over() {
            return Ok(());
        }
        let is_inside = is_inside || places.contains(&value.place());
        if let View::String(text) = value.view() {
            if is_inside && (self.matches)(text).ok_or(SearchError::TooMuchWork)? {
                self.add(value, path)?;
            }
            return Ok(());
        }
        let Some(container) = value.container() else { return Ok(()) };
        let length = path.len();
        for position in 0..container.len() {
            match container.is_object() {
                true => push_member(container.name(position), path),
                false => path.push_str(&format!("[{position}]")),
            }
            self.walk(container.value(position), path, places, is_inside)?;
            path.truncate(length);
        }
        Ok(())
    }

    fn add(&mut self, value: JsonRef<'_>, path: &str) -> Result<(), SearchError> {
        if !self.seen.insert(value.place()) {
            return Ok(());
        }
        self.found_bytes += path.len();
        if self.limit < self.found_bytes {
            return Err(SearchError::TooLong);
        }
        self.found.push(path.to_string());
        Ok(())
    }
}
