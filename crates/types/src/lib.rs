//! The vocabulary everything else is written in: identifiers, column types and values, collations, the encoded row
//! and key, table definitions, expressions and their evaluation.
//!
//! What does not belong here: anything that knows a node, a message, a packet, a socket or SQL text.

pub mod account;
pub mod catalogue;
pub mod charset;
pub mod collation;
pub mod constraint;
pub mod contain;
pub mod convert;
pub mod decimal;
pub mod display;
mod double;
pub mod expr;
pub mod hash;
pub mod ids;
pub mod json;
pub mod key;
pub mod labels;
pub mod password;
pub mod rewriting;
pub mod row;
pub mod space;
pub mod sql_mode;
pub mod temporal;
pub mod value;
pub mod wire;

pub use account::{Account, AccountName, Accounts, PrivilegeSet, Privileges};
pub use catalogue::{
    AutoIncrement, Catalogue, Column, ColumnDefault, Database, Index, IndexAlgorithm, IndexKind,
    IndexPart, IndexState, RowChangeKind, Table, TableState, ViewAlgorithm, ViewCheck,
    ViewDefinition,
};
pub use charset::Charset;
pub use collation::Collation;
pub use constraint::{
    Check, ColumnExpression, Constraints, ForeignKey, Generated, Reference, ReferenceAction,
};
pub use decimal::Decimal;
pub use display::NumberDisplay;
pub use expr::Expr;
pub use ids::*;
pub use labels::{LabelKind, Labels};
pub use rewriting::{ColumnSource, CopyState, Rewriting, TableCopy};
pub use row::{RowLayout, RowView};
pub use space::Space;
pub use sql_mode::SqlMode;
pub use temporal::{Date, DateTime, Time};
pub use value::{ColumnType, IntWidth, Value, ValueRef};
