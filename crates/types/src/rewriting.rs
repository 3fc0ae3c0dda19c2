//! ALTER TABLE that changes rows: a table and its copy in the new definition, which takes the table's place (decision 31).

use crate::{Incarnation, SchemaVersion, TableId, Value, wire_enum, wire_struct};

/// How a table and the copies that ALTER TABLE makes of tables belong together. Most tables have nothing of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rewriting {
    /// The copy that every writer of the table keeps, too.
    pub copy: Option<TableCopy>,
    /// This table is the copy of that one. It has a hidden name, and no statement finds it.
    pub copy_of: Option<TableId>,
    /// The first of the tables whose places this one has taken, one after the other: its rows have been there since.
    pub origin: Option<TableId>,
    /// Snapshots from before this version of the catalogue do not have the rows: they were written later.
    pub rows_since: SchemaVersion,
}
wire_struct!(Rewriting { copy, copy_of, origin, rows_since });

/// A table that gets a copy of each row.
#[derive(Clone, Debug, PartialEq)]
pub struct TableCopy {
    pub table: TableId,
    pub state: CopyState,
    /// For each column of the copy.
    pub sources: Vec<ColumnSource>,
    /// The statement was not in strict mode: values that do not fit become those that do.
    pub lenient: bool,
    /// The boot of the node that fills the copy. The control plane drops the copy when that boot is over.
    pub filler: Incarnation,
}
wire_struct!(TableCopy { table, state, sources, lenient, filler });

/// Neighbouring states are in use at the same time (rule R27), as for the entries of a unique key: a writer that makes rows of
/// the copy never meets one that leaves them behind.
///
/// ```text
/// DeleteOnly -> Building <-> Closed -> (the copy takes the table's place)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyState {
    /// Writers delete rows of the copy and make none.
    DeleteOnly,
    /// Writers make them, too, and the session that alters the table copies the rows that were there before.
    Building,
    /// No transaction begins to use the table; those that have used it end.
    Closed,
}
wire_enum!(CopyState { 0 => DeleteOnly, 1 => Building, 2 => Closed });

impl CopyState {
    /// May the state be followed by the other one?
    pub fn goes_to(self, next: CopyState) -> bool {
        matches!(
            (self, next),
            (CopyState::DeleteOnly, CopyState::Building)
                | (CopyState::Building, CopyState::Closed)
                | (CopyState::Closed, CopyState::Building)
        )
    }
}

/// What the copy of a row has in a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnSource {
    /// The value of this column of the row, as the copy's column keeps it.
    Column(u16),
    Value(Value),
    /// What the copy's definition computes: a generated column, or the DEFAULT (expression) of a new one.
    Computed,
}
wire_enum!(ColumnSource { 0 => Column(column), 1 => Value(value), 2 => Computed });
