//! The syntax tree of one statement: what the client wrote, before any name is looked up.
//!
//! The tree is plain owned data (Box, Vec, String). It is built once per plan-cache miss, so it is shaped for the
//! reader of the binder, not for the last nanosecond. Three rules keep it safe against hostile text:
//!
//! * Chains are flat. `a OR b OR c` is one `Or` of three; joins, unions, lists are vectors. A statement of 100,000
//!   OR terms is a vector, not a ladder.
//! * What must nest (parentheses, `1+2+3`, subqueries) is bounded by `limits::HEIGHT_MAX`, so that dropping, printing
//!   and walking a tree by plain recursion is safe on a small stack.
//! * The size of the tree is bounded by the length of the text and by `limits::EXPRESSION_COUNT_MAX`.
//!
//! Names are kept as written (no case folding); function names are upper-cased, because MySQL ignores their case.
//! Strings are bytes: a client's binary values need not be UTF-8.
//!
//! What the parser recognises and the engine has no use for is `Unsupported` with MySQL's name for the feature; the
//! binder answers it with error 1235.

mod account;
mod definition;
mod expression;
mod walk;
mod window;

pub use account::*;
pub use definition::*;
pub use expression::*;
pub use window::*;

/// `name` or `schema.name`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectName {
    pub schema: Option<String>,
    pub name: String,
    pub at: Place,
}

impl ObjectName {
    /// A name that stands nowhere in the text.
    pub fn new(schema: Option<String>, name: String) -> ObjectName {
        ObjectName { schema, name, at: Place::default() }
    }
}

/// Where a name begins in the statement's text, to find it again. It is no part of what the name says: all places are equal.
#[derive(Clone, Copy, Default)]
pub struct Place(pub u32);

impl Place {
    /// Does the name stand in a text? No name begins one.
    pub fn is_somewhere(self) -> bool {
        self.0 != 0
    }
}

impl PartialEq for Place {
    fn eq(&self, _: &Place) -> bool {
        true
    }
}
impl Eq for Place {}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("_")
    }
}

/// One statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    /// Nothing but blanks and comments.
    Empty,
    /// SELECT, parenthesised SELECT, UNION, VALUES ROW(), TABLE t, WITH.
    Query(Box<Query>),
    /// INSERT and REPLACE.
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    LoadData(Box<LoadData>),
    Truncate {
        table: ObjectName,
    },
    CreateDatabase {
        name: String,
        if_not_exists: bool,
        charset: Option<String>,
        collation: Option<String>,
    },
    /// ALTER DATABASE; `name` is None for the current one.
    AlterDatabase {
        name: Option<String>,
        charset: Option<String>,
        collation: Option<String>,
    },
    DropDatabase {
        name: String,
        if_exists: bool,
    },
    CreateTable(Box<CreateTable>),
    /// CREATE VIEW and ALTER VIEW.
    CreateView(Box<CreateView>),
    DropView {
        if_exists: bool,
        views: Vec<ObjectName>,
    },
    DropTable {
        temporary: bool,
        if_exists: bool,
        tables: Vec<ObjectName>,
    },
    AlterTable(Box<AlterTable>),
    /// Pairs (source, target), to be done left to right.
    RenameTable(Vec<(ObjectName, ObjectName)>),
    CreateIndex {
        table: ObjectName,
        index: Box<IndexDefinition>,
    },
    DropIndex {
        name: String,
        table: ObjectName,
    },
    Show(Box<Show>),
    /// DESCRIBE t, DESCRIBE t column, DESCRIBE t 'pattern'.
    Describe {
        table: ObjectName,
        column: Option<String>,
    },
    /// EXPLAIN of a statement; `format` is upper-cased (TRADITIONAL, JSON, TREE) if it is a known one.
    Explain {
        analyze: bool,
        format: Option<String>,
        statement: Box<Statement>,
    },
    /// BEGIN and START TRANSACTION. `read_only` is None when no access mode was written.
    Begin {
        read_only: Option<bool>,
        consistent_snapshot: bool,
    },
    Commit(Completion),
    Rollback(Completion),
    Savepoint(String),
    RollbackTo(String),
    ReleaseSavepoint(String),
    /// SET: items in written order. MySQL checks all before it assigns any.
    Set(Vec<SetItem>),
    Use(String),
    Kill {
        /// True for KILL QUERY, false for KILL and KILL CONNECTION.
        query: bool,
        id: Box<Expr>,
    },
    LockTables(Vec<LockTable>),
    UnlockTables,
    /// FLUSH; `what` holds the upper-cased words up to the first list (TABLES, PRIVILEGES, STATUS, BINARY LOGS).
    Flush {
        what: String,
        tables: Vec<ObjectName>,
        with_read_lock: bool,
    },
    Do(Vec<Expr>),
    Prepare {
        name: String,
        source: PrepareSource,
    },
    /// EXECUTE name USING @a, @b; the names without @.
    Execute {
        name: String,
        using: Vec<String>,
    },
    Deallocate {
        name: String,
    },
    /// ANALYZE, OPTIMIZE, CHECK, REPAIR, CHECKSUM TABLE.
    TableMaintenance {
        kind: TableMaintenance,
        tables: Vec<ObjectName>,
    },
    /// CREATE USER, GRANT, SET PASSWORD and the like.
    Account(Box<AccountStatement>),
    /// Recognised by its leading words, not parsed further. `feature` is upper-cased, e.g. "CREATE TRIGGER".
    Unsupported {
        feature: String,
    },
}

/// How COMMIT and ROLLBACK end: None where nothing was written (the session's completion_type decides).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Completion {
    pub chain: Option<bool>,
    pub release: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableMaintenance {
    Analyze,
    Optimize,
    Check,
    Repair,
    Checksum,
}

#[derive(Clone, PartialEq, Debug)]
pub enum PrepareSource {
    Text(Vec<u8>),
    /// The name without @.
    Variable(String),
}

#[derive(Clone, PartialEq, Debug)]
pub struct LockTable {
    pub table: ObjectName,
    pub alias: Option<String>,
    /// WRITE; READ and READ LOCAL are false.
    pub write: bool,
}

// ---------------------------------------------------------------------------------------------------------------
// Queries

/// A query expression with everything that may follow it.
#[derive(Clone, PartialEq, Debug)]
pub struct Query {
    pub with: Option<With>,
    pub body: QueryBody,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
    /// FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE; several when OF names differ.
    pub locking: Vec<Locking>,
    /// INTO @a, @b (names without @), empty when absent.
    pub into_variables: Vec<String>,
    /// INTO OUTFILE or INTO DUMPFILE was written.
    pub into_file: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub struct With {
    pub recursive: bool,
    pub tables: Vec<CommonTable>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct CommonTable {
    pub name: String,
    pub columns: Vec<String>,
    pub query: Query,
}

#[derive(Clone, PartialEq, Debug)]
pub enum QueryBody {
    Select(Box<Select>),
    /// Left-associative: `first op rest[0] op rest[1] ...`. INTERSECT binds tighter and is nested in the operands.
    SetOperation {
        first: Box<Query>,
        rest: Vec<SetOperand>,
    },
    /// VALUES ROW(1,2), ROW(3,4).
    Values(Vec<Vec<Expr>>),
    /// TABLE t.
    Table(ObjectName),
}

#[derive(Clone, PartialEq, Debug)]
pub struct SetOperand {
    pub operator: SetOperator,
    /// UNION ALL; plain and DISTINCT are false.
    pub all: bool,
    pub query: Query,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetOperator {
    Union,
    Except,
    Intersect,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Select {
    pub distinct: bool,
    /// SQL_CALC_FOUND_ROWS; other SELECT hints than this and STRAIGHT_JOIN are dropped.
    pub calc_found_rows: bool,
    /// SELECT STRAIGHT_JOIN: relations are read as they are written.
    pub straight: bool,
    pub items: Vec<SelectItem>,
    /// Comma-separated table references; empty for no FROM and for FROM DUAL.
    pub from: Vec<TableReference>,
    pub filter: Option<Expr>,
    pub group_by: Vec<OrderItem>,
    pub with_rollup: bool,
    pub having: Option<Expr>,
    /// The WINDOW clause.
    pub windows: Vec<NamedWindow>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum SelectItem {
    /// `*`
    Wildcard(Place),
    /// `t.*`, `db.t.*`
    TableWildcard(ObjectName),
    Expr {
        expr: Expr,
        alias: Option<String>,
        /// The expression's source text, trimmed: the column's name when there is no alias and it is no plain column.
        text: String,
    },
}

/// The title of the column that an item of a select list gives.
pub fn item_title(expr: &Expr, alias: Option<&str>, text: &str) -> String {
    match (alias, expr) {
        (Some(alias), _) => alias.to_string(),
        (None, Expr::Column(name)) => name.column.clone(),
        (None, Expr::Literal(Literal::String(value))) => {
            String::from_utf8_lossy(value).into_owned()
        }
        (None, Expr::Literal(Literal::Null)) => "NULL".to_string(),
        (None, _) => text.chars().take(256).collect(),
    }
}

/// `first join ... join ...`, left-associative.
#[derive(Clone, PartialEq, Debug)]
pub struct TableReference {
    pub first: TableFactor,
    pub joins: Vec<Join>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum TableFactor {
    Table {
        name: ObjectName,
        alias: Option<String>,
        partitions: Vec<String>,
        hints: Vec<IndexHint>,
    },
    Derived {
        query: Box<Query>,
        alias: Option<String>,
        columns: Vec<String>,
        lateral: bool,
    },
    /// `(t, u)` or `(t JOIN u)`.
    Nested(Vec<TableReference>),
    JsonTable(Box<JsonTable>),
}

/// JSON_TABLE(document, path COLUMNS (...)) alias.
#[derive(Clone, PartialEq, Debug)]
pub struct JsonTable {
    pub document: Expr,
    pub path: Vec<u8>,
    pub columns: Vec<JsonTableColumn>,
    pub alias: Option<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum JsonTableColumn {
    /// `name FOR ORDINALITY`.
    Ordinality { name: String },
    /// `name type PATH path`.
    Value(Box<JsonTableValue>),
    /// `name type EXISTS PATH path`.
    Exists { name: String, data_type: DataType, path: Vec<u8> },
    /// `NESTED PATH path COLUMNS (...)`.
    Nested { path: Vec<u8>, columns: Vec<JsonTableColumn> },
}

#[derive(Clone, PartialEq, Debug)]
pub struct JsonTableValue {
    pub name: String,
    pub data_type: DataType,
    pub path: Vec<u8>,
    pub on_empty: Option<JsonResponse>,
    pub on_error: Option<JsonResponse>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexHint {
    pub kind: IndexHintKind,
    /// Index names, PRIMARY included; empty for USE INDEX ().
    pub indexes: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexHintKind {
    Use,
    Ignore,
    Force,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Join {
    pub kind: JoinKind,
    pub factor: TableFactor,
    pub condition: JoinCondition,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// JOIN, INNER JOIN, CROSS JOIN.
    Inner,
    /// STRAIGHT_JOIN.
    Straight,
    Left,
    Right,
}

#[derive(Clone, PartialEq, Debug)]
pub enum JoinCondition {
    None,
    On(Expr),
    Using(Vec<String>),
    /// NATURAL was written.
    Natural,
}

#[derive(Clone, PartialEq, Debug)]
pub struct OrderItem {
    pub expr: Expr,
    pub descending: bool,
}

/// LIMIT. Each is an integer literal, a parameter, or (in routines only, refused by the binder) something else.
#[derive(Clone, PartialEq, Debug)]
pub struct Limit {
    pub offset: Option<Expr>,
    pub count: Expr,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Locking {
    pub strength: LockStrength,
    /// OF names; empty means all tables.
    pub of: Vec<ObjectName>,
    pub wait: LockWait,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockStrength {
    /// FOR SHARE and LOCK IN SHARE MODE.
    Share,
    /// FOR UPDATE.
    Update,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockWait {
    Wait,
    NoWait,
    SkipLocked,
}

// ---------------------------------------------------------------------------------------------------------------
// Changes

/// INSERT or REPLACE.
#[derive(Clone, PartialEq, Debug)]
pub struct Insert {
    pub replace: bool,
    pub ignore: bool,
    pub table: ObjectName,
    pub partitions: Vec<String>,
    /// Column names as written; empty when there was no list. A SET form fills it.
    pub columns: Vec<ColumnName>,
    pub source: InsertSource,
    /// `AS new(a, b)`.
    pub row_alias: Option<RowAlias>,
    /// ON DUPLICATE KEY UPDATE.
    pub on_duplicate: Vec<Assignment>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum InsertSource {
    /// Rows of expressions; `Expr::Default(None)` stands for DEFAULT. A row may be empty: `VALUES ()`.
    Values(Vec<Vec<Expr>>),
    Query(Box<Query>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowAlias {
    pub name: String,
    pub columns: Vec<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Assignment {
    pub column: ColumnName,
    /// `Expr::Default(None)` stands for DEFAULT.
    pub value: Expr,
}

/// LOAD DATA.
#[derive(Clone, PartialEq, Debug)]
pub struct LoadData {
    pub is_local: bool,
    pub file: String,
    pub on_duplicate: OnDuplicate,
    pub table: ObjectName,
    pub partitions: Vec<String>,
    pub charset: Option<String>,
    pub format: LoadFormat,
    /// IGNORE n LINES.
    pub ignored_lines: u64,
    /// Empty when there was no list.
    pub targets: Vec<LoadTarget>,
    pub assignments: Vec<Assignment>,
}

/// FIELDS and LINES; `None` for a clause that the statement lacks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LoadFormat {
    pub field_end: Option<LoadText>,
    pub enclosed: Option<LoadText>,
    pub escaped: Option<LoadText>,
    pub line_start: Option<LoadText>,
    pub line_end: Option<LoadText>,
}

/// What a clause of FIELDS or LINES is given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LoadText {
    /// Of a string literal.
    Characters(Vec<u8>),
    /// Of a hexadecimal or binary literal: bytes of the file.
    Bytes(Vec<u8>),
}

/// Where LOAD DATA puts a field.
#[derive(Clone, PartialEq, Debug)]
pub enum LoadTarget {
    Column(ColumnName),
    /// `@name`, without @.
    Variable(String),
}

/// UPDATE. Single-table when `tables` is one reference without joins to a plain table.
#[derive(Clone, PartialEq, Debug)]
pub struct Update {
    pub ignore: bool,
    pub tables: Vec<TableReference>,
    pub assignments: Vec<Assignment>,
    pub filter: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    /// Row count, no offset.
    pub limit: Option<Expr>,
    /// WITH was written before UPDATE.
    pub with: Option<With>,
}

/// DELETE. Single-table when `targets` is empty.
#[derive(Clone, PartialEq, Debug)]
pub struct Delete {
    pub ignore: bool,
    /// The tables to delete from in the multi-table forms; empty for single-table.
    pub targets: Vec<ObjectName>,
    /// The table (single-table) or the table references (multi-table).
    pub tables: Vec<TableReference>,
    pub filter: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Expr>,
    /// WITH was written before DELETE.
    pub with: Option<With>,
}

// ---------------------------------------------------------------------------------------------------------------
// SHOW and SET

/// LIKE or WHERE of a SHOW.
#[derive(Clone, PartialEq, Debug)]
pub enum ShowFilter {
    None,
    Like(Vec<u8>),
    Where(Expr),
}

#[derive(Clone, PartialEq, Debug)]
pub enum Show {
    Databases {
        filter: ShowFilter,
    },
    Tables {
        full: bool,
        extended: bool,
        database: Option<String>,
        filter: ShowFilter,
    },
    TableStatus {
        database: Option<String>,
        filter: ShowFilter,
    },
    CreateTable(ObjectName),
    CreateView(ObjectName),
    CreateUser {
        user: UserName,
    },
    CreateDatabase {
        name: String,
        if_not_exists: bool,
    },
    Columns {
        full: bool,
        extended: bool,
        table: ObjectName,
        filter: ShowFilter,
    },
    /// SHOW INDEX; the filter can only be WHERE.
    Index {
        table: ObjectName,
        filter: ShowFilter,
    },
    Variables {
        global: bool,
        filter: ShowFilter,
    },
    Status {
        global: bool,
        filter: ShowFilter,
    },
    Warnings {
        limit: Option<Limit>,
    },
    Errors {
        limit: Option<Limit>,
    },
    CountWarnings,
    CountErrors,
    ProcessList {
        full: bool,
    },
    Engines,
    /// SHOW ENGINE x STATUS | MUTEX | LOGS; both upper-cased as written.
    EngineStatus {
        engine: String,
        what: String,
    },
    CharacterSet {
        filter: ShowFilter,
    },
    Collation {
        filter: ShowFilter,
    },
    /// SHOW GRANTS; `user` is the current account without FOR.
    Grants {
        user: UserName,
        /// Roles whose privileges are shown too; empty without USING.
        using: Vec<UserName>,
    },
    Plugins,
    Privileges,
    MasterStatus,
    OpenTables {
        database: Option<String>,
        filter: ShowFilter,
    },
    Triggers {
        database: Option<String>,
        filter: ShowFilter,
    },
    Events {
        database: Option<String>,
        filter: ShowFilter,
    },
    ProcedureStatus {
        filter: ShowFilter,
    },
    FunctionStatus {
        filter: ShowFilter,
    },
    /// Anything else; `feature` e.g. "SHOW RELAYLOG EVENTS".
    Unsupported {
        feature: String,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub enum SetItem {
    /// `@name = value`; the name without @.
    UserVariable { name: String, value: Expr },
    /// A system variable; the name as written, without scope, perhaps `component.name`.
    SystemVariable { scope: VariableScope, name: String, value: SetValue },
    /// SET NAMES; None is DEFAULT.
    Names { charset: Option<String>, collation: Option<String> },
    /// SET CHARACTER SET; None is DEFAULT.
    CharacterSet { charset: Option<String> },
    /// SET [scope] TRANSACTION.
    Transaction {
        scope: TransactionScope,
        isolation: Option<IsolationLevel>,
        read_only: Option<bool>,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub enum SetValue {
    /// `= DEFAULT`.
    Default,
    /// A bare word: ON, OFF, ALL, utf8mb4, ANSI, ... as written.
    Word(String),
    Expr(Expr),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VariableScope {
    /// No scope written: the session's when assigning; session then global when reading.
    Unspecified,
    Session,
    Global,
    Persist,
    PersistOnly,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionScope {
    /// No scope written: the next transaction only.
    Next,
    Session,
    Global,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}
