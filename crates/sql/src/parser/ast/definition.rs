//! Tables, columns, keys and what ALTER does with them.

use super::{Expr, ObjectName, OrderItem, Query};

#[derive(Clone, PartialEq, Debug)]
pub struct CreateTable {
    pub temporary: bool,
    pub if_not_exists: bool,
    pub name: ObjectName,
    pub columns: Vec<ColumnDefinition>,
    /// Table-level keys in written order. Column-level PRIMARY KEY and UNIQUE stay at their columns.
    pub indexes: Vec<IndexDefinition>,
    pub foreign_keys: Vec<ForeignKey>,
    pub checks: Vec<Check>,
    pub options: TableOptions,
    pub partitioning: Option<Partitioning>,
    /// CREATE TABLE t LIKE other.
    pub like: Option<ObjectName>,
    /// CREATE TABLE t [AS] SELECT.
    pub as_query: Option<Box<Query>>,
    /// IGNORE or REPLACE before the query: what becomes of rows whose key is taken.
    pub on_duplicate: OnDuplicate,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnDuplicate {
    #[default]
    Fail,
    Ignore,
    Replace,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ColumnDefinition {
    pub name: String,
    pub data_type: DataType,
    /// NULL is Some(true), NOT NULL is Some(false), nothing written is None.
    pub nullable: Option<bool>,
    pub default: Option<DefaultClause>,
    /// ON UPDATE CURRENT_TIMESTAMP(n): n (0 when absent).
    pub on_update_now: Option<u8>,
    pub auto_increment: bool,
    pub primary_key: bool,
    pub unique: bool,
    pub comment: Option<String>,
    pub generated: Option<Generated>,
    /// COLUMN_FORMAT, upper-cased: FIXED, DYNAMIC, DEFAULT.
    pub column_format: Option<String>,
    /// STORAGE, upper-cased: DISK, MEMORY, DEFAULT.
    pub storage: Option<String>,
    pub invisible: bool,
    pub checks: Vec<Check>,
    /// REFERENCES written at the column. MySQL 8 parses and ignores it.
    pub references: Option<References>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum DefaultClause {
    /// A literal (sign folded in as `Unary`), or the function `NOW`.
    Value(Expr),
    /// In parentheses.
    Expression(Expr),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Generated {
    pub expr: Expr,
    pub stored: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Check {
    pub name: Option<String>,
    pub expr: Expr,
    /// False for NOT ENFORCED.
    pub enforced: bool,
    /// Columns written before a constraint of the table: unnamed constraints are numbered as they are written.
    pub columns_before: usize,
}

/// A column type as written. SERIAL is expanded to BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE by the parser.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataType {
    pub kind: TypeKind,
    /// Display width, character or byte length, decimal precision, FLOAT(p), BIT(n), YEAR(n), or fsp of a time type.
    pub length: Option<u64>,
    /// Decimal, float and double digits after the point.
    pub scale: Option<u64>,
    pub unsigned: bool,
    pub zerofill: bool,
    pub charset: Option<String>,
    pub collation: Option<String>,
    /// NCHAR, NATIONAL CHAR and NVARCHAR, which mean a character set.
    pub is_national: bool,
    /// `CHAR(n) BINARY`: the `_bin` collation of the character set.
    pub binary_collation: bool,
    /// ENUM and SET members.
    pub members: Vec<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeKind {
    TinyInt,
    /// BOOL and BOOLEAN: TINYINT(1).
    Bool,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
    Decimal,
    /// FLOAT with no or one or two numbers; FLOAT(p) with p > 24 is for the binder to widen.
    Float,
    /// DOUBLE, DOUBLE PRECISION, REAL, FLOAT8.
    Double,
    Bit,
    Char,
    VarChar,
    Binary,
    VarBinary,
    TinyText,
    /// TEXT, with an optional length that selects the smallest fitting kind.
    Text,
    MediumText,
    LongText,
    TinyBlob,
    Blob,
    MediumBlob,
    LongBlob,
    Date,
    Time,
    DateTime,
    Timestamp,
    Year,
    Enum,
    Set,
    Json,
    Geometry,
    Point,
    LineString,
    Polygon,
    MultiPoint,
    MultiLineString,
    MultiPolygon,
    GeometryCollection,
    Vector,
}

#[derive(Clone, PartialEq, Debug)]
pub struct IndexDefinition {
    pub kind: IndexKind,
    /// The index name, or the CONSTRAINT's name where the index has none.
    pub name: Option<String>,
    pub parts: Vec<KeyPart>,
    pub algorithm: Option<IndexAlgorithm>,
    pub comment: Option<String>,
    pub invisible: bool,
    /// Columns of CREATE TABLE that were written before it.
    pub columns_before: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexKind {
    Primary,
    Unique,
    Plain,
    Fulltext,
    Spatial,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexAlgorithm {
    BTree,
    Hash,
    RTree,
}

#[derive(Clone, PartialEq, Debug)]
pub struct KeyPart {
    pub target: KeyPartTarget,
    pub descending: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum KeyPartTarget {
    Column { name: String, prefix_length: Option<u64> },
    Expr(Expr),
}

#[derive(Clone, PartialEq, Debug)]
pub struct ForeignKey {
    pub name: Option<String>,
    pub columns: Vec<KeyPart>,
    pub references: References,
}

#[derive(Clone, PartialEq, Debug)]
pub struct References {
    pub table: ObjectName,
    pub columns: Vec<KeyPart>,
    pub on_delete: Option<ReferenceAction>,
    pub on_update: Option<ReferenceAction>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReferenceAction {
    Restrict,
    Cascade,
    SetNull,
    NoAction,
    SetDefault,
}

/// Table options. Those with a meaning here have a field; every other `NAME = value` is kept as text in `other`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TableOptions {
    pub engine: Option<String>,
    pub charset: Option<String>,
    pub collation: Option<String>,
    pub comment: Option<String>,
    pub auto_increment: Option<u64>,
    /// (NAME upper-cased, value as written without quotes), in written order.
    pub other: Vec<(String, String)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Partitioning {
    /// PARTITION BY [LINEAR] KEY (columns) [PARTITIONS n]; empty columns mean the primary key.
    Key { linear: bool, columns: Vec<String>, partitions: Option<u64> },
    /// HASH, RANGE, LIST: upper-cased, e.g. "PARTITION BY RANGE".
    Unsupported { feature: String },
}

#[derive(Clone, PartialEq, Debug)]
pub struct AlterTable {
    pub table: ObjectName,
    pub operations: Vec<AlterOperation>,
    /// ALGORITHM = x, upper-cased.
    pub algorithm: Option<String>,
    /// LOCK = x, upper-cased.
    pub lock: Option<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum AlterOperation {
    AddColumn {
        column: Box<ColumnDefinition>,
        position: ColumnPosition,
    },
    AddIndex(Box<IndexDefinition>),
    AddForeignKey(Box<ForeignKey>),
    AddCheck(Box<Check>),
    DropColumn(String),
    /// DROP INDEX, DROP KEY.
    DropIndex(String),
    DropPrimaryKey,
    DropForeignKey(String),
    /// DROP CONSTRAINT.
    DropConstraint(String),
    DropCheck(String),
    /// ALTER CHECK and ALTER CONSTRAINT.
    EnforceCheck {
        name: String,
        enforced: bool,
        /// CONSTRAINT was written.
        is_any: bool,
    },
    ModifyColumn {
        column: Box<ColumnDefinition>,
        position: ColumnPosition,
    },
    ChangeColumn {
        old_name: String,
        column: Box<ColumnDefinition>,
        position: ColumnPosition,
    },
    /// ALTER COLUMN c SET DEFAULT x; None for DROP DEFAULT.
    SetDefault {
        column: String,
        default: Option<DefaultClause>,
    },
    RenameTable(ObjectName),
    RenameColumn {
        old_name: String,
        new_name: String,
    },
    RenameIndex {
        old_name: String,
        new_name: String,
    },
    /// ENGINE=, AUTO_INCREMENT=, COMMENT=, CHARSET=, ...: all that stood together.
    Options(Box<TableOptions>),
    /// CONVERT TO CHARACTER SET.
    ConvertCharset {
        charset: Option<String>,
        collation: Option<String>,
    },
    DisableKeys,
    EnableKeys,
    /// FORCE: rebuild.
    Force,
    /// ORDER BY columns.
    OrderBy(Vec<OrderItem>),
    Partition(Partitioning),
    /// Recognised, not parsed further; swallows the rest of the statement.
    Unsupported {
        feature: String,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ColumnPosition {
    Last,
    First,
    After(String),
}

/// CREATE VIEW, ALTER VIEW.
#[derive(Clone, PartialEq, Debug)]
pub struct CreateView {
    /// ALTER: the view must be there.
    pub alter: bool,
    pub or_replace: bool,
    /// None where it is not written.
    pub algorithm: Option<types::ViewAlgorithm>,
    /// (user, host); None for the current user.
    pub definer: Option<(String, String)>,
    /// SQL SECURITY INVOKER.
    pub as_invoker: bool,
    pub name: ObjectName,
    /// Empty where no list is written.
    pub columns: Vec<String>,
    pub query: Query,
    pub check: types::ViewCheck,
}
