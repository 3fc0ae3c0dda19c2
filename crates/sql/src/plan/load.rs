//! The plan of LOAD DATA, which is an INSERT whose rows come from a file.

use types::Charset;

use super::AssignmentPlan;
use crate::execute::delimited::Format;

/// LOAD DATA: the rows of a file.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    pub file: String,
    /// The client has the file.
    pub is_local: bool,
    pub format: Format,
    /// What the file is written in.
    pub charset: Charset,
    /// IGNORE n LINES.
    pub ignored_lines: u64,
    /// Where the fields of a line go.
    pub targets: Vec<LoadTarget>,
    /// SET, over the row being made.
    pub assignments: Vec<AssignmentPlan>,
}

#[derive(Clone, Debug)]
pub enum LoadTarget {
    Column(u16),
    /// A user variable, by its lower-case name.
    Variable(String),
    /// A generated column: it has a value of its own.
    Nothing,
}
