//! What the definition of a table makes of a row that is written.

use super::Bound;

/// DEFAULT (expression), generated columns and CHECK of a table, bound over its columns.
#[derive(Clone, Debug, Default)]
pub struct RowRules {
    /// In the order of the columns: an expression may name those before it.
    pub columns: Vec<ColumnRule>,
    /// Of enforced CHECKs: the name, and the condition of a row that violates it.
    pub violations: Vec<(String, Bound)>,
}

/// How a column gets a value that is computed.
#[derive(Clone, Debug)]
pub struct ColumnRule {
    pub column: u16,
    pub value: Bound,
    /// DEFAULT (expression), for new rows that give the column no value. Otherwise the column is generated.
    pub is_default: bool,
}

/// Of changes that write no rows.
pub static NO_RULES: &RowRules = &RowRules { columns: Vec::new(), violations: Vec::new() };
