//! JSON_SEARCH: the paths of strings that match a pattern.
//!
//! The values below which a search looks are numbered in the order in which their path names them. One walk through the
//! document finds every match with the least number of the values around it, and the matches are then ordered by these
//! numbers: so nested values cost no more than one walk, and a match has the place of the first value that holds it.

use std::collections::{BTreeMap, BTreeSet};

use super::binary::{JsonRef, View};
use super::path::{Path, push_index, push_member};

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
    matches: &'m mut dyn FnMut(&str) -> Option<bool>,
    /// Whether the first match is enough.
    is_first_only: bool,
    /// Bytes of all paths together, at most.
    limit: usize,
    found: Vec<String>,
    found_bytes: usize,
    /// The paths in `found`: a search below another path finds some of them again.
    seen: BTreeSet<String>,
    /// The matches of the current walk, each with the number of the value that holds it.
    walked: Vec<(usize, String)>,
}

impl<'m> Search<'m> {
    pub fn new(
        matches: &'m mut dyn FnMut(&str) -> Option<bool>,
        is_first_only: bool,
        limit: usize,
    ) -> Search<'m> {
        Search {
            matches,
            is_first_only,
            limit,
            found: Vec::new(),
            found_bytes: 0,
            seen: BTreeSet::new(),
            walked: Vec::new(),
        }
    }

    /// Searches the document below the values that a path names, which are `values`. A path that names one value at most is
    /// the start of the paths that are found, with `last` in it if it has that.
    pub fn run(
        &mut self,
        root: JsonRef<'_>,
        path: &Path,
        values: &[JsonRef<'_>],
    ) -> Result<(), SearchError> {
        if self.is_over() {
            return Ok(());
        }
        let numbered = values.iter().enumerate().map(|(number, value)| (value.place(), number));
        let numbers: BTreeMap<usize, usize> = numbered.collect();
        match (path.is_multiple(), values) {
            (true, _) => self.walk(root, &mut "$".to_string(), &numbers, None)?,
            (false, [value]) => self.walk(*value, &mut path.to_string(), &numbers, None)?,
            (false, _) => {}
        }
        let mut walked = std::mem::take(&mut self.walked);
        walked.sort_by_key(|(number, _)| *number);
        for (_, found) in walked {
            if !self.is_over() && self.seen.insert(found.clone()) {
                self.found.push(found);
            }
        }
        Ok(())
    }

    pub fn into_found(self) -> Vec<String> {
        self.found
    }

    fn is_over(&self) -> bool {
        self.is_first_only && !self.found.is_empty()
    }

    /// `number` is the least one of the values around.
    fn walk(
        &mut self,
        value: JsonRef<'_>,
        path: &mut String,
        numbers: &BTreeMap<usize, usize>,
        number: Option<usize>,
    ) -> Result<(), SearchError> {
        let own = numbers.get(&value.place()).copied();
        let number = [number, own].into_iter().flatten().min();
        if let View::String(text) = value.view() {
            let Some(number) = number else { return Ok(()) };
            let is_late = self.walked.last().is_some_and(|(first, _)| *first <= number);
            if self.is_first_only && is_late {
                return Ok(());
            }
            if (self.matches)(text).ok_or(SearchError::TooMuchWork)? {
                self.add(number, path)?;
            }
            return Ok(());
        }
        let Some(container) = value.container() else { return Ok(()) };
        let length = path.len();
        for position in 0..container.len() {
            match container.is_object() {
                true => push_member(container.name(position), path),
                false => push_index(position, path),
            }
            self.walk(container.value(position), path, numbers, number)?;
            path.truncate(length);
        }
        Ok(())
    }

    fn add(&mut self, number: usize, path: &str) -> Result<(), SearchError> {
        if self.is_first_only {
            self.walked.clear();
            self.found_bytes = 0;
        }
        self.found_bytes += path.len();
        if self.limit < self.found_bytes {
            return Err(SearchError::TooLong);
        }
        self.walked.push((number, path.to_string()));
        Ok(())
    }
}
