//! What a statement answers, in the words of SQL; crate `mysql` turns it into packets.
//!
//! Rows are pushed one by one as borrowed values, so that a point select copies its columns once, from the stored row into
//! the output buffer. The session asks [`ResultSink::is_full`] between rows and waits for [`ResultSink::drained`] when it
//! is: a slow reader holds up its own statement only, and memory stays bounded.

use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::OnceLock;

use types::expr::Coercibility;
use types::{Collation, ColumnType, NumberDisplay, ValueRef};

/// A column of a result set, or a parameter of a prepared statement.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnInfo {
    /// Database of the table; empty for an expression.
    pub schema: String,
    /// The table's name; empty for an expression.
    pub table: String,
    /// The name the statement gave the table.
    pub table_alias: String,
    /// The column's title.
    pub name: String,
    /// The column's name in its table; empty for an expression.
    pub org_name: String,
    pub column_type: ColumnType,
    /// How its numbers are shown.
    pub display: NumberDisplay,
    pub nullable: bool,
    pub flags: ColumnFlags,
    /// Digits after the point, or of fractional seconds; 31 where it is not fixed.
    pub decimals: u8,
    /// The collation of the bytes sent: 63 (binary) for everything but characters.
    pub collation_id: u16,
    /// The most bytes a value is shown with, in the character set of its collation.
    pub length: u32,
    /// How strongly a text holds to its collation, as an operand of the query around.
    pub coercibility: Coercibility,
    /// The column holds nothing but NULL (`SELECT NULL`): the wire has a type of its own for it.
    pub null_type: bool,
}

impl ColumnInfo {
    /// Announces NULL for a column of a table that has none itself.
    pub fn make_nullable(&mut self) {
        if !self.nullable {
            self.nullable = true;
            self.flags.not_null = false;
            self.flags.no_default = false;
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnFlags {
    pub not_null: bool,
    pub primary_key: bool,
    pub unique_key: bool,
    /// Part of a key that is neither primary nor unique, or not the only part.
    pub multiple_key: bool,
    pub blob: bool,
    pub unsigned: bool,
    pub zerofill: bool,
    pub binary: bool,
    pub auto_increment: bool,
    pub timestamp: bool,
    /// NOT NULL and no DEFAULT clause.
    pub no_default: bool,
    pub on_update_now: bool,
    pub numeric: bool,
}

/// The columns of a plan's result sets. A plan runs many times, so the first sink that describes the
/// columns keeps the encoded description here.
#[derive(Clone, Debug)]
pub struct PlanColumns {
    columns: Vec<ColumnInfo>,
    /// The number of the collation that it is encoded for.
    encoded: OnceLock<(u16, Box<[u8]>)>,
}

impl PlanColumns {
    pub fn new(columns: Vec<ColumnInfo>) -> PlanColumns {
        PlanColumns { columns, encoded: OnceLock::new() }
    }
    /// The description of the columns for clients that read a collation's character set, encoded by
    /// `encode` at the first call. All sinks of a process have to encode alike. `None` where the
    /// first call was for another collation.
    pub fn encoded(
        &self,
        collation_id: u16,
        encode: impl FnOnce(&[ColumnInfo]) -> Vec<u8>,
    ) -> Option<&[u8]> {
        let (own, encoded) =
            self.encoded.get_or_init(|| (collation_id, encode(&self.columns).into_boxed_slice()));
        (*own == collation_id).then_some(&**encoded)
    }
}

impl Deref for PlanColumns {
    type Target = [ColumnInfo];

    fn deref(&self) -> &[ColumnInfo] {
        &self.columns
    }
}

/// Session state that travels with every OK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusFlags {
    pub in_transaction: bool,
    /// The transaction was started READ ONLY.
    pub in_read_only_transaction: bool,
    pub autocommit: bool,
    pub no_backslash_escapes: bool,
    /// The collation of the character set that the client reads; None: nothing is converted.
    pub results: Option<Collation>,
    /// The current database changed with this statement (session state tracking).
    pub schema_changed: bool,
}

/// The end of a successful statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OkInfo {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    pub warnings: u16,
    /// "Rows matched: 1  Changed: 1  Warnings: 0" and the like; empty mostly.
    pub info: String,
    /// Another statement of the same text follows.
    pub more_results: bool,
    pub flags: StatusFlags,
}

/// A piece of a file, `None` at its end.
pub type FileRead = Result<Option<Vec<u8>>, crate::SqlError>;
/// The next piece of a file, when it has come.
pub type FilePiece<'s> = Pin<Box<dyn Future<Output = FileRead> + 's>>;

/// Where results go. For every statement either `ok`, or `columns` then rows then `end_of_rows`, or `error` (also after
/// `columns`, when a row fails).
pub trait ResultSink {
    /// Begins a result set.
    fn columns(&mut self, columns: &[ColumnInfo]);
    /// Begins a result set of a plan.
    fn plan_columns(&mut self, columns: &PlanColumns) {
        self.columns(columns);
    }
    /// One row; text or binary encoding is the sink's business. TIMESTAMP values are already in the session's time zone.
    fn row(&mut self, values: &[ValueRef<'_>]);
    /// Ends a result set.
    fn end_of_rows(&mut self, info: &OkInfo);
    /// A statement without rows.
    fn ok(&mut self, info: &OkInfo);
    /// Ends this statement, and the rest of a text of several statements.
    fn error(&mut self, error: &crate::SqlError);
    /// Is the output buffer above its mark? The session then awaits [`ResultSink::drained`] before the next row. A sink without
    /// a buffer never is.
    fn is_full(&self) -> bool {
        false
    }
    /// Completes when the buffer is below its mark, or the connection is gone.
    fn drained(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(std::future::ready(()))
    }
    /// Does the client send files on request?
    fn sends_files(&self) -> bool {
        false
    }
    /// Requests the file of LOAD DATA LOCAL, by the name in the statement. For sinks whose client sends files. The answer of
    /// the statement reaches the client behind the end of its file, however much of it was taken.
    fn request_file(&mut self, _name: &str) {}
    /// The next piece of the requested file, never an empty one; `None` at its end. An error ends the connection.
    fn file_piece(&mut self) -> FilePiece<'_> {
        Box::pin(std::future::ready(Ok(None)))
    }
    /// Why the sink takes no further rows: the statement ends with this error. Asked after [`ResultSink::drained`].
    fn failure(&mut self) -> Option<crate::SqlError> {
        None
    }
}

/// Takes the rows of a statement of which only the counts are wanted.
pub struct Discard;

impl ResultSink for Discard {
    fn columns(&mut self, _columns: &[ColumnInfo]) {}
    fn row(&mut self, _values: &[ValueRef<'_>]) {}
    fn end_of_rows(&mut self, _info: &OkInfo) {}
    fn ok(&mut self, _info: &OkInfo) {}
    fn error(&mut self, _error: &crate::SqlError) {}
}
