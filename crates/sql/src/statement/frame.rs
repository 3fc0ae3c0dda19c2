//! What belongs to a running statement.

use std::collections::BTreeMap;

use types::Value;
use types::convert::SqlWarning;

use super::Diagnostics;
use crate::error::{SqlError, code};
use crate::execute::profile::Profile;
use crate::session::Session;

/// Statements that may run inside each other: each takes some of the worker's stack.
const FRAME_COUNT_MAX: usize = 32;

/// The values that belong to one statement. The session's own outlive it: the transaction, settings, user variables and what
/// LAST_INSERT_ID(), ROW_COUNT() and FOUND_ROWS() return.
#[derive(Default)]
pub struct Frame {
    pub diagnostics: Diagnostics,
    /// What the statement makes of LAST_INSERT_ID().
    pub insert_id: Option<u64>,
    /// RAND(seed) by slot: seed and state of its sequence.
    pub random_sequences: BTreeMap<u16, (i128, u64, u64)>,
    /// Parameters of a prepared statement that has no plan.
    pub params: Vec<Value>,
    /// The counts of the statement that EXPLAIN ANALYZE runs.
    pub profile: Option<Box<Profile>>,
}

impl Frame {
    /// A plan is about to run: from the start, whatever an earlier run of the statement left.
    pub fn begin(&mut self) {
        self.diagnostics.begin();
        self.insert_id = None;
        self.random_sequences.clear();
    }
}

impl Session {
    /// Begins a statement inside the one under way. `ends_outer`: the outer statement does nothing behind it, so that the inner one may
    /// end the transaction.
    pub(super) fn enter_frame(&mut self, ends_outer: bool) -> Result<(), SqlError> {
        if FRAME_COUNT_MAX <= self.outer_frames.len() {
            let message =
                format!("Statements run inside each other more than {FRAME_COUNT_MAX} deep");
            return Err(SqlError::new(code::ER_STACK_OVERRUN_NEED_MORE, message));
        }
        self.outer_frames.push((std::mem::take(&mut self.frame), ends_outer));
        Ok(())
    }
    /// Ends it; what it leaves is the outer statement's to use or to drop.
    pub(super) fn leave_frame(&mut self) -> Frame {
        let (outer, _) = self.outer_frames.pop().expect("it was entered");
        std::mem::replace(&mut self.frame, outer)
    }
    /// Ends all statements but the outermost one, which has panicked.
    pub(crate) fn leave_all_frames(&mut self) {
        while !self.outer_frames.is_empty() {
            self.leave_frame();
        }
        self.frame =
            Frame { diagnostics: std::mem::take(&mut self.frame.diagnostics), ..Frame::default() };
    }
    /// Does no statement around the one under way do anything behind it?
    pub(crate) fn ends_outer_statements(&self) -> bool {
        self.outer_frames.iter().all(|(_, ends_outer)| *ends_outer)
    }

    /// A condition of the statement under way.
    pub(crate) fn push_condition(&mut self, condition: SqlWarning) {
        let count_max = self.error_count_max();
        self.frame.diagnostics.push(condition, count_max);
    }
    /// Those that a statement inside has left.
    pub(crate) fn push_conditions(&mut self, inner: Diagnostics) {
        let count_max = self.error_count_max();
        self.frame.diagnostics.append(inner, count_max);
    }
}
