//! The diagnostics area of a statement: its warnings and its error, for SHOW WARNINGS.

use types::convert::{SqlWarning, WarningLevel};

#[derive(Default)]
pub struct Diagnostics {
    /// The first `max_error_count` conditions.
    conditions: Vec<SqlWarning>,
    /// Conditions beyond those.
    dropped: u64,
    /// They are those of the running statement, which has cleared what the one before left.
    is_current: bool,
}

impl Diagnostics {
    /// A command begins: until a statement of it clears them, the conditions are those of the statement before.
    pub fn expect_statement(&mut self) {
        self.is_current = false;
    }
    /// The conditions from here on are the running statement's.
    pub fn begin(&mut self) {
        self.conditions.clear();
        self.dropped = 0;
        self.is_current = true;
    }
    /// The same, unless it was done before.
    pub fn begin_once(&mut self) {
        if !self.is_current {
            self.begin();
        }
    }
    /// Keeps a condition if there are fewer than `count_max`.
    pub fn push(&mut self, condition: SqlWarning, count_max: u64) {
        if (self.conditions.len() as u64) < count_max {
            self.conditions.push(condition);
        } else {
            self.dropped += 1;
        }
    }
    /// Takes over the conditions of a statement that ran inside.
    pub fn append(&mut self, inner: Diagnostics, count_max: u64) {
        self.dropped += inner.dropped;
        inner.conditions.into_iter().for_each(|condition| self.push(condition, count_max));
    }

    pub fn conditions(&self) -> &[SqlWarning] {
        &self.conditions
    }
    /// All conditions, kept or not.
    pub fn count(&self) -> u64 {
        self.conditions.len() as u64 + self.dropped
    }
    pub fn error_count(&self) -> u64 {
        let is_error = |own: &&SqlWarning| own.level == WarningLevel::Error;
        self.conditions.iter().filter(is_error).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(diagnostics: &Diagnostics) -> Vec<u16> {
        diagnostics.conditions().iter().map(|condition| condition.code).collect()
    }

    /// The first conditions are kept and all are counted, those of a statement inside behind those before it.
    #[test]
    fn conditions_are_kept_and_counted() {
        let warning = |code| SqlWarning::warning(code, String::new());
        let (mut outer, mut inner) = (Diagnostics::default(), Diagnostics::default());
        outer.begin();
        outer.push(warning(1), 3);
        for code in 2..6 {
            inner.push(warning(code), 3);
        }
        assert_eq!((warnings(&inner), inner.count()), (vec![2, 3, 4], 4));
        outer.append(inner, 3);
        assert_eq!((warnings(&outer), outer.count()), (vec![1, 2, 3], 5));
        outer.begin_once();
        assert_eq!(outer.count(), 5, "it has begun");
        outer.expect_statement();
        assert_eq!(outer.count(), 5, "SHOW WARNINGS may come");
        outer.begin_once();
        assert_eq!((warnings(&outer), outer.count()), (vec![], 0));
    }
}
