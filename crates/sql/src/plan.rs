//! Bound plans: what a statement does, with the values of its parameters left open.
//!
//! A plan is plain data, holds no session and may be run any number of times, by any session of the same environment
//! (current database, SQL mode, connection collation), as long as the catalogue's version is the one it was made for.
//! Text statements share plans through [`crate::plan_cache`], prepared statements keep their own.
//!
//! Expressions refer to *parameters* by number: first the statement's own (literals cut out of a text, or `?`), then
//! *slots*: values the session supplies, once a statement (NOW(), LAST_INSERT_ID()) or before each row (RAND(),
//! `@a := ...`). So the expressions themselves stay pure and can be shipped to where the rows are; one that needs a slot of
//! the second kind is *local* and never leaves the session.

mod load;
mod row_rules;

use std::sync::Arc;

use client::WaitPolicy;
use types::convert::SqlWarning;
use types::expr::{Aggregate, JsonTable};
use types::{Expr, RowLayout, SchemaVersion, Table, TableId, Value};

use crate::parser::ast::SetOperator;
use crate::{ColumnInfo, PlanColumns};
pub use load::{LoadPlan, LoadTarget};
pub use row_rules::{ColumnRule, NO_RULES, RowRules};

#[derive(Clone, Debug)]
pub struct Plan {
    pub kind: PlanKind,
    /// Parameters of the statement itself; slots are numbered behind them.
    pub param_count: u16,
    pub slots: Vec<Slot>,
    /// Slots of subqueries that run before the first row, inner ones first.
    pub once: Vec<u16>,
    /// It reads several times: all its reads are of one snapshot.
    pub reads_on: bool,
    /// Tables whose statistics have decided something; when it was made then, and how long it is good.
    pub weighed: Vec<TableId>,
    pub made_micros: Option<i64>,
    pub age_max_micros: i64,
    /// The kinds of parameters the plan was made for, if it depends on them.
    pub param_kinds: Option<Vec<ParamKind>>,
    /// Parameters of LIMIT that the plan was made for, each with its [`magnitude`].
    pub limit_sizes: Vec<(u16, u32)>,
    /// Parameters that must have these values: they are part of an expression that a key has.
    pub fixed_params: Vec<(u16, Value)>,
    /// Parameters of which it assumes that they are no texts with characters beyond ASCII.
    pub ascii_params: Vec<u16>,
    /// May the plan be run again? Not if a value of the moment was built in (a user variable's type, say).
    pub reusable: bool,
    /// What every run warns of: names that mean one thing of two.
    pub warnings: Vec<SqlWarning>,
    pub catalogue_version: SchemaVersion,
}

/// The size class of a LIMIT: a plan for one of some size is good for another of about that size.
pub fn magnitude(limit: &Value) -> u32 {
    let count = match limit {
        Value::Int(count) => u64::try_from(*count).unwrap_or(0),
        Value::UInt(count) => *count,
        _ => 0,
    };
    (u64::BITS - count.leading_zeros()).div_ceil(3)
}

/// Whether the value is no text with characters beyond ASCII.
pub fn is_ascii(value: &Value) -> bool {
    !matches!(value, Value::Text(text, _) if !text.is_ascii())
}

#[derive(Clone, Debug)]
pub enum PlanKind {
    Select(Box<SelectPlan>),
    Insert(Box<InsertPlan>),
    Update(Box<UpdatePlan>),
    Delete(Box<DeletePlan>),
    JoinedUpdate(Box<JoinedChangePlan>),
    JoinedDelete(Box<JoinedChangePlan>),
    /// Expressions without columns, whose values are kept: SET, DO, KILL.
    Values(Vec<Bound>),
}

impl PlanKind {
    /// Was IGNORE written: are errors of single rows warnings?
    pub fn ignores(&self) -> bool {
        match self {
            PlanKind::Insert(insert) => insert.ignore,
            PlanKind::Update(update) => update.ignore,
            PlanKind::JoinedUpdate(change) | PlanKind::JoinedDelete(change) => change.ignore,
            PlanKind::Select(_) | PlanKind::Delete(_) | PlanKind::Values(_) => false,
        }
    }
}

/// What is known of a parameter when a plan is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// COM_STMT_PREPARE: no value yet.
    Unknown,
    Null,
    Int,
    UInt,
    /// With the digits behind the point, which branches of IF and the like are filled up to.
    Decimal {
        scale: u8,
    },
    Double,
    Text,
    Bytes,
    Date,
    Time,
    DateTime,
}

impl ParamKind {
    pub fn of(value: &Value) -> ParamKind {
        match value {
            Value::Null => ParamKind::Null,
            Value::Int(_) => ParamKind::Int,
            Value::UInt(_) => ParamKind::UInt,
            Value::Float(_) | Value::Double(_) => ParamKind::Double,
            Value::Decimal(number) => ParamKind::Decimal { scale: number.shown_scale() },
            // A user variable keeps a label as its text.
            Value::Text(..) | Value::Label(..) => ParamKind::Text,
            Value::Bytes(_) => ParamKind::Bytes,
            Value::Date(_) => ParamKind::Date,
            Value::Time(_) => ParamKind::Time,
            Value::DateTime(_) => ParamKind::DateTime,
            // User variables keep its text, and clients send none.
            Value::Json(_) => ParamKind::Text,
        }
    }
}

/// A value the session supplies.
#[derive(Clone, Debug)]
pub enum Slot {
    /// NOW(fsp) in the session's time zone.
    Now {
        fsp: u8,
    },
    CurrentDate,
    CurrentTime {
        fsp: u8,
    },
    UtcTimestamp {
        fsp: u8,
    },
    UtcDate,
    UtcTime {
        fsp: u8,
    },
    /// SYSDATE(fsp): the clock when the row is computed, whatever SET timestamp says.
    SystemDate {
        fsp: u8,
    },
    LastInsertId,
    RowCount,
    FoundRows,
    /// `@name`, lower-cased.
    UserVariable(String),
    /// RAND() and RAND(seed).
    Random {
        seed: Option<Expr>,
    },
    Uuid,
    UuidShort,
    /// SLEEP(seconds).
    Sleep(Expr),
    /// SKARV_TRANSACTION_OUTCOME(id or token).
    TransactionOutcome(Expr),
    /// GET_LOCK() and its like.
    UserLock(LockCall),
    /// `(SELECT ...)` where a value is expected: its one row's one column.
    Subquery(Box<SubqueryPlan>),
    /// The next column of the subquery before it.
    SubqueryColumn,
    /// A column of a query around the one that names it, or of the left side of a join: [`OuterValue`] fills it in.
    Outer,
    /// `@name := value`.
    Assign {
        name: String,
        value: Expr,
    },
    /// LAST_INSERT_ID(value): remembers the value.
    LastInsertIdOf(Expr),
    /// VALUES(column) in ON DUPLICATE KEY UPDATE: the row that could not be inserted.
    NewValue {
        column: u16,
    },
    /// The value of a window function: [`WindowFunction`] puts it into the parameters before a row's items are evaluated.
    Window,
    /// A column of the table that INSERT ... SELECT reads, in ON DUPLICATE KEY UPDATE: the value at this position behind
    /// those that are inserted.
    SourceValue {
        position: u16,
    },
}

impl Slot {
    /// Must it be supplied for every row anew?
    pub fn is_per_row(&self) -> bool {
        match self {
            Slot::Random { .. }
            | Slot::Uuid
            | Slot::UuidShort
            | Slot::Sleep(_)
            | Slot::SystemDate { .. }
            | Slot::TransactionOutcome(_)
            | Slot::UserLock(_)
            | Slot::Assign { .. }
            | Slot::LastInsertIdOf(_)
            | Slot::NewValue { .. }
            | Slot::Window
            | Slot::SourceValue { .. } => true,
            Slot::Subquery(subquery) => subquery.is_per_row,
            Slot::Now { .. }
            | Slot::CurrentDate
            | Slot::CurrentTime { .. }
            | Slot::UtcTimestamp { .. }
            | Slot::UtcDate
            | Slot::UtcTime { .. }
            | Slot::LastInsertId
            | Slot::RowCount
            | Slot::FoundRows
            | Slot::UserVariable(_)
            | Slot::SubqueryColumn
            | Slot::Outer => false,
        }
    }
}

impl Slot {
    /// Calls `visit` for every expression that its value is made of, over the rows that it is supplied for.
    pub fn for_each_expr(&self, visit: &mut dyn FnMut(&Expr)) {
        match self {
            Slot::Random { seed } => seed.iter().for_each(visit),
            Slot::UserLock(call) => call.arguments.iter().for_each(visit),
            Slot::Sleep(operand)
            | Slot::TransactionOutcome(operand)
            | Slot::LastInsertIdOf(operand)
            | Slot::Assign { value: operand, .. } => visit(operand),
            Slot::Subquery(subquery) => {
                subquery.outer.iter().for_each(|outer| visit(&outer.value));
            }
            _ => {}
        }
    }
    /// The same for changing them.
    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        match self {
            Slot::Random { seed } => seed.iter_mut().for_each(visit),
            Slot::UserLock(call) => call.arguments.iter_mut().for_each(visit),
            Slot::Sleep(operand)
            | Slot::TransactionOutcome(operand)
            | Slot::LastInsertIdOf(operand)
            | Slot::Assign { value: operand, .. } => visit(operand),
            Slot::Subquery(subquery) => {
                subquery.outer.iter_mut().for_each(|outer| visit(&mut outer.value));
            }
            _ => {}
        }
    }
}

/// A call of a function of user-level locks.
#[derive(Clone, Debug)]
pub struct LockCall {
    pub function: LockFunction,
    /// The name, and the timeout of GET_LOCK().
    pub arguments: Vec<Expr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockFunction {
    Get,
    Release,
    ReleaseAll,
    IsFree,
    IsUsed,
}

impl LockFunction {
    pub fn name(self) -> &'static str {
        match self {
            LockFunction::Get => "get_lock",
            LockFunction::Release => "release_lock",
            LockFunction::ReleaseAll => "release_all_locks",
            LockFunction::IsFree => "is_free_lock",
            LockFunction::IsUsed => "is_used_lock",
        }
    }
}

/// A query whose result is a value of an expression.
#[derive(Clone, Debug)]
pub struct SubqueryPlan {
    pub plan: SelectPlan,
    /// What the value is made of.
    pub kind: SubqueryKind,
    /// Columns of the query around it, over whose rows they are.
    pub outer: Vec<OuterValue>,
    /// It names columns of the query around it: it runs for each row of that. Otherwise once, before the first row.
    pub is_per_row: bool,
    /// Equal values in `outer` give an equal result: the statement keeps results by them.
    pub is_kept: bool,
    /// It stands in a branch that may not be reached: if it fails, only an expression that asks for its value does.
    pub is_lazy: bool,
    /// Whether a value is among those of the one column that it selects, which the statement keeps.
    pub set: Option<SetLookup>,
}

/// Of [`SubqueryKind::Any`] where the rows of the query do not depend on anything around it.
#[derive(Clone, Debug)]
pub struct SetLookup {
    /// Where the statement keeps the set.
    pub keep: u16,
    /// Over slots.
    pub operand: Expr,
    /// Over the columns of the query.
    pub column: Expr,
    pub plan: SelectPlan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SubqueryKind {
    /// The one row's columns.
    #[default]
    Scalar,
    /// Whether there is a row: 1 or 0.
    Exists,
    /// Of the values 0, 1 and NULL that its rows have: 1 if there is a 1, else NULL if there is one, else 0.
    Any,
    /// 0 if there is a 0, else NULL if there is one, else 1.
    All,
}

/// An expression with the slots that are supplied before it is evaluated for a row, in textual order.
#[derive(Clone, Debug)]
pub struct Bound {
    pub expr: Expr,
    /// Positions in [`Plan::slots`]; empty for nearly all.
    pub slots: Vec<u16>,
}

impl Bound {
    pub fn pure(expr: Expr) -> Bound {
        Bound { expr, slots: Vec::new() }
    }
    pub fn is_local(&self) -> bool {
        !self.slots.is_empty()
    }
}

#[derive(Clone, Debug)]
pub struct SelectPlan {
    pub columns: PlanColumns,
    pub source: Source,
    /// What one result row is made of: the visible columns, then `hidden_count` more to sort by.
    pub items: Vec<Bound>,
    pub hidden_count: usize,
    pub grouping: Option<Grouping>,
    pub windows: Option<WindowPlan>,
    pub distinct: bool,
    /// Sort by these items when the source does not deliver the order itself: (position in `items`, descending).
    pub sort: Vec<(usize, bool)>,
    pub limit: Option<LimitPlan>,
    pub calc_found_rows: bool,
    /// NOWAIT, SKIP LOCKED.
    pub wait: WaitPolicy,
    /// SELECT ... INTO @a, @b.
    pub into_variables: Vec<String>,
    /// All visible items are the source's columns at these positions: no expression to evaluate.
    pub simple_columns: Option<Vec<u16>>,
    /// A visible column is a TIMESTAMP: stored in UTC, shown in the session's time zone.
    pub has_timestamps: bool,
    /// The statement is one row, found by its primary key and shown as it is stored: the shortest way there is.
    pub lookup: Option<Lookup>,
    /// Slots of subqueries that run each time before the first row of this one: they name columns of a query around it.
    pub once: Vec<u16>,
}

impl SelectPlan {
    /// Is the relation of a join read by a key of it?
    pub fn is_found_by_key(&self, relation: u16) -> bool {
        let Source::Joined(source) = &self.source else { return false };
        let path = source.root.table(relation).map(|table| &table.access.path);
        path.is_some_and(|path| {
            path.kind != PathKind::Range || !path.equal.is_empty() || !path.ranges.is_empty()
        })
    }
    /// All rows of the source, with these items.
    pub fn new(columns: PlanColumns, source: Source, items: Vec<Bound>) -> SelectPlan {
        SelectPlan {
            columns,
            source,
            items,
            hidden_count: 0,
            grouping: None,
            windows: None,
            distinct: false,
            sort: Vec::new(),
            limit: None,
            calc_found_rows: false,
            wait: WaitPolicy::Wait,
            into_variables: Vec::new(),
            simple_columns: None,
            has_timestamps: false,
            lookup: None,
            once: Vec::new(),
        }
    }
}

/// What is shown of a row that is looked up by its primary key.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// Positions in the table.
    pub columns: Vec<u16>,
    /// Of the table's rows.
    pub layout: RowLayout,
    /// The key's columns are no dates or times and its bounds are parameters or constants: the key
    /// bytes do not depend on the session's settings.
    pub is_key_plain: bool,
}

#[derive(Clone, Debug)]
pub struct Grouping {
    /// Over the source's rows.
    pub group_by: Vec<Expr>,
    /// Over the source's rows. `items` see a row of the group's values, then these.
    pub aggregates: Vec<Aggregate>,
    pub having: Option<Bound>,
    /// Computed at the shards; false: the rows come here (an aggregate that cannot be merged, or a local filter).
    pub shipped: bool,
    /// WITH ROLLUP: the last of `group_by` is the level. The groups of each lower level, which have NULL for their other
    /// values, are made of those of the next one.
    pub rollup: bool,
    /// No GROUP BY: exactly one group, also of no rows.
    pub implicit: bool,
    /// What `group_by` and `aggregates` need for each row.
    pub slots: Vec<u16>,
    /// MIN or MAX of all rows, which the first one has in the order of the path.
    pub of_first_row: bool,
}

/// Window functions, over the rows of the source or over groups.
///
/// All rows are kept before the first item is evaluated. A kept row has the values of `columns`, then those of `inputs`, then
/// those of the functions in the order in which `specs` has them. The items are evaluated on it, with the functions' values in
/// their slots.
#[derive(Clone, Debug, Default)]
pub struct WindowPlan {
    /// The columns that a kept row has, by their numbers in the source's rows or in those of groups.
    pub columns: Vec<u16>,
    /// What keys and arguments are besides plain columns; evaluated on the kept columns.
    pub inputs: Vec<Bound>,
    pub specs: Vec<WindowSpec>,
}

/// Functions whose rows are in one order.
#[derive(Clone, Debug)]
pub struct WindowSpec {
    /// Positions in a kept row.
    pub partition_by: Vec<u16>,
    /// The same, each with whether it is descending.
    pub order_by: Vec<(u16, bool)>,
    pub functions: Vec<WindowFunction>,
}

#[derive(Clone, Debug)]
pub struct WindowFunction {
    pub slot: u16,
    pub kind: WindowKind,
    pub frame: Frame,
}

/// What is computed. A `value` is a position in a kept row; other expressions name no columns.
#[derive(Clone, Debug)]
pub enum WindowKind {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile {
        bucket_count: Expr,
    },
    /// LAG, or LEAD where it looks ahead.
    Lag {
        value: u16,
        offset: Expr,
        default: Option<u16>,
        ahead: bool,
    },
    FirstValue {
        value: u16,
    },
    LastValue {
        value: u16,
    },
    NthValue {
        value: u16,
        number: Expr,
    },
    /// Its argument is a column of a kept row.
    Aggregate(Aggregate),
}

/// The rows of a partition that a function sees.
#[derive(Clone, Debug)]
pub struct Frame {
    /// ROWS; false is RANGE.
    pub by_rows: bool,
    pub start: FrameBound,
    pub end: FrameBound,
    /// The window's name, for errors.
    pub window: String,
}

#[derive(Clone, Debug)]
pub enum FrameBound {
    Unbounded,
    /// The row itself; in RANGE the first or the last of the rows that are equal in order.
    CurrentRow,
    /// ROWS n PRECEDING or FOLLOWING.
    Rows {
        count: Expr,
        following: bool,
    },
    /// RANGE n PRECEDING or FOLLOWING: a kept row has the least or the greatest key of its frame at `limit`. `amount` is
    /// checked once.
    Range {
        amount: Expr,
        limit: u16,
        following: bool,
    },
}

#[derive(Clone, Debug)]
pub struct LimitPlan {
    pub count: Expr,
    pub offset: Option<Expr>,
}

#[derive(Clone, Debug)]
pub enum Source {
    /// No FROM: one row of no columns.
    Nothing {
        filter: Option<Bound>,
    },
    Table(Box<TableSource>),
    /// A table of information_schema, made on the fly.
    Virtual {
        table: crate::information_schema::VirtualTable,
        filter: Option<Bound>,
    },
    /// Several relations, or one that is a query.
    Joined(Box<JoinedSource>),
    /// JSON_TABLE: rows made of a document.
    Documents {
        document: Bound,
        table: Box<JsonTable>,
        alias: String,
    },
}

impl Source {
    /// Do the rows come in the order that an ungrouped query asks for?
    pub fn delivers_order(&self) -> bool {
        match self {
            Source::Nothing { .. } | Source::Virtual { .. } | Source::Documents { .. } => false,
            Source::Table(source) => source.access.delivers_order,
            Source::Joined(source) => source.delivers_order,
        }
    }
}

/// The rows of a FROM clause. Its expressions, and those of the query above it, name a column by its number among those of
/// all relations.
#[derive(Clone, Debug)]
pub struct JoinedSource {
    pub root: Operator,
    /// By number of a column.
    pub columns: Vec<ColumnPlace>,
    /// By relation: how its rows are read, and its name for EXPLAIN.
    pub relations: Vec<RelationRows>,
    pub aliases: Vec<String>,
    /// By relation, for EXPLAIN: the names that the statement has for the columns of one that is no table.
    pub titles: Vec<Vec<String>>,
    /// LIMIT without a sort: no more rows are read than the query needs.
    pub is_pulled: bool,
    /// The rows come in the order that the query asks for: that of the first table's path.
    pub delivers_order: bool,
}

/// Where the value of a column is in a joined row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnPlace {
    pub relation: u16,
    /// Among the columns that are read; [`ColumnPlace::UNREAD`] for one that no expression names.
    pub position: u16,
}

impl ColumnPlace {
    pub const UNREAD: u16 = u16::MAX;
}

/// The form of a relation's rows.
#[derive(Clone, Debug)]
pub enum RelationRows {
    /// Encoded, as a table's shards send them.
    Stored {
        layout: RowLayout,
    },
    Values,
}

/// A step of the way from tables to joined rows. Each gives batches of rows of one or more relations.
#[derive(Clone, Debug)]
pub enum Operator {
    Table {
        relation: u16,
        source: Box<TableSource>,
        /// In the order of the path's index.
        ordered: bool,
        /// The reader stops when it has enough rows of the query.
        pulled: bool,
        /// The planner's estimate of its rows; for a lookup those of one left row.
        estimate: f64,
    },
    Virtual {
        relation: u16,
        table: crate::information_schema::VirtualTable,
    },
    /// A query in FROM.
    Query {
        relation: u16,
        plan: Box<SelectPlan>,
        /// Where the statement keeps its rows, if they are the same each time: it runs once then.
        keep: Option<u16>,
    },
    Values {
        relation: u16,
        rows: Vec<Vec<Bound>>,
        columns: Vec<ColumnInfo>,
    },
    /// UNION, INTERSECT, EXCEPT, from the first member on.
    Set {
        relation: u16,
        members: Vec<SetMember>,
        columns: Vec<ColumnInfo>,
    },
    /// WITH RECURSIVE: the steps run over the rows of the round before, until one makes none.
    Recursive {
        relation: u16,
        seed: Box<SelectPlan>,
        steps: Vec<SelectPlan>,
        distinct: bool,
        /// Of the rows that the steps see.
        number: u16,
        columns: Vec<ColumnInfo>,
    },
    /// The rows of the last round of a recursive table.
    Working {
        relation: u16,
        number: u16,
    },
    Filter {
        input: Box<Operator>,
        /// All of them hold; those that are the least work come first.
        terms: Vec<Bound>,
        /// The planner's estimate of the rows that pass.
        estimate: f64,
    },
    Join(Box<JoinOperator>),
}

impl Operator {
    /// How the table at this relation is read.
    pub fn table(&self, wanted: u16) -> Option<&TableSource> {
        match self {
            Operator::Table { relation, source, .. } => (*relation == wanted).then_some(source),
            Operator::Filter { input, .. } => input.table(wanted),
            Operator::Join(join) => join.left.table(wanted).or_else(|| join.right.table(wanted)),
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct SetMember {
    /// With the members before it; UNION ALL for the first.
    pub operator: SetOperator,
    pub all: bool,
    pub plan: SelectPlan,
}

#[derive(Clone, Debug)]
pub struct JoinOperator {
    pub kind: JoinKind,
    /// The outer side of a left join.
    pub left: Operator,
    pub right: Operator,
    /// What of `right` is read for a batch of left rows.
    pub method: JoinMethod,
    /// Pairs that are equal where the condition holds: over the left relations, over the right ones.
    pub keys: Vec<JoinKey>,
    /// What else the condition asks of a row of both sides: the terms as in [`Operator::Filter`].
    pub condition: Vec<Bound>,
    /// The planner's estimate of the joined rows.
    pub estimate: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    /// A left row that finds no right one has NULL for its columns.
    Left,
    /// EXISTS: a left row that finds a right one, once. The right columns are NULL, here and below.
    Semi,
    /// NOT EXISTS: a left row that finds no right one.
    Anti,
}

#[derive(Clone, Debug)]
pub enum JoinMethod {
    /// All right rows are read once, and kept by their keys.
    Hash,
    /// `right` is a table, whose path is bound by slots that a left row fills in: the rows that a batch of left rows asks for
    /// are read together.
    Lookup { outer: Vec<OuterValue> },
    /// `right` is a query that names columns of the left rows: it runs once for each of them.
    Apply { outer: Vec<OuterValue> },
}

/// A slot that a row of the query around, or of the left side of a join, fills in.
#[derive(Clone, Debug)]
pub struct OuterValue {
    /// Position in [`Plan::slots`].
    pub slot: u16,
    /// Over the row.
    pub value: Expr,
}

#[derive(Clone, Debug)]
pub struct JoinKey {
    pub left: Expr,
    pub right: Expr,
}

/// The rows of one table.
#[derive(Clone, Debug)]
pub struct TableSource {
    pub table: Arc<Table>,
    /// The name that the statement has for the table.
    pub alias: String,
    /// Columns that are read, in this order: positions of local expressions count in here.
    pub columns: Vec<u16>,
    /// `columns` are all the table's columns in order: rows are taken as they are stored.
    pub whole_rows: bool,
    pub layout: RowLayout,
    pub access: AccessPlan,
    pub lock: client::Lock,
}

/// How the rows that a WHERE clause asks for are found.
#[derive(Clone, Debug)]
pub struct AccessPlan {
    pub path: IndexPath,
    /// The WHERE clause without its local terms, over the table's columns.
    pub filter: Option<Expr>,
    /// What the path leaves of `filter` when its bounds hold exactly.
    pub residual: Option<Expr>,
    /// Terms that need per-row slots, over the columns that are read.
    pub local_filter: Option<Bound>,
    /// Rows come in the order of the path's index, and that is the order asked for.
    pub delivers_order: bool,
    /// Names of indexes that could have been used, for EXPLAIN.
    pub possible: Vec<usize>,
}

/// Bounds on the leading parts of one index.
#[derive(Clone, Debug)]
pub struct IndexPath {
    /// Position in the table's `indexes`.
    pub index: usize,
    pub kind: PathKind,
    pub equal: Vec<PartBound>,
    /// Ranges of the part behind `equal`, any of which a row may be in; none: all values.
    pub ranges: Vec<RangeBound>,
    pub reverse: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// Every part of the primary key is bound: key reads.
    PrimaryKey,
    /// Every part of a unique key is bound to values that are not NULL: two key reads.
    UniqueKey,
    /// A range, or all, of an index.
    Range,
}

#[derive(Clone, Debug)]
pub enum PartBound {
    Equal(Expr),
    /// `<=>`: NULL finds NULL.
    NullSafeEqual(Expr),
    IsNull,
    In(Vec<Expr>),
}

#[derive(Clone, Debug, Default)]
pub struct RangeBound {
    /// (value, inclusive)
    pub lower: Option<(Expr, bool)>,
    pub upper: Option<(Expr, bool)>,
}

#[derive(Clone, Debug)]
pub struct InsertPlan {
    pub table: Arc<Table>,
    pub layout: RowLayout,
    /// The columns that get values, in the order of the values.
    pub columns: Vec<u16>,
    pub source: InsertSource,
    pub mode: InsertMode,
    /// For EXPLAIN and errors: REPLACE rather than INSERT.
    pub ignore: bool,
    pub check: Option<RowCheck>,
    pub rules: RowRules,
}

/// WITH CHECK OPTION: what a row must hold that is written through a view.
#[derive(Clone, Debug)]
pub struct RowCheck {
    /// Over the table's columns.
    pub terms: Vec<Bound>,
    /// `database.view`, for the error.
    pub view: String,
}

#[derive(Clone, Debug)]
pub enum InsertSource {
    Values(Vec<Vec<InsertValue>>),
    Select(Box<SelectPlan>),
    Load(Box<LoadPlan>),
}

#[derive(Clone, Debug)]
pub enum InsertValue {
    Default,
    /// Columns in it are those of the row being made (`INSERT INTO t (a, b) VALUES (1, a + 1)`).
    Expr(Bound),
}

#[derive(Clone, Debug)]
pub enum InsertMode {
    Insert,
    Replace,
    /// ON DUPLICATE KEY UPDATE; columns are those of the old row.
    Update(Vec<AssignmentPlan>),
}

#[derive(Clone, Debug)]
pub struct AssignmentPlan {
    pub column: u16,
    pub value: AssignedValue,
}

#[derive(Clone, Debug)]
pub enum AssignedValue {
    Default,
    Expr(Bound),
}

#[derive(Clone, Debug)]
pub struct UpdatePlan {
    pub target: ChangeTarget,
    pub assignments: Vec<AssignmentPlan>,
    /// The assignments as they are shipped to the row, when they can be: no key column, no slot a row, no
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub shipped: Option<Vec<client::Assignment>>,
    pub ignore: bool,
    pub check: Option<RowCheck>,
    pub rules: RowRules,
    /// A column that is written is part of the index that finds the rows, or of the primary key: all are read before the first changes.
    pub moves_in_index: bool,
}

#[derive(Clone, Debug)]
pub struct DeletePlan {
    pub target: ChangeTarget,
    /// Rows can be deleted without reading them: no unique secondary key.
    pub shipped: bool,
}

/// UPDATE or DELETE of tables of a join.
#[derive(Clone, Debug)]
pub struct JoinedChangePlan {
    /// The joined rows: a SELECT without items.
    pub rows: SelectPlan,
    pub tables: Vec<ChangedTable>,
    pub ignore: bool,
}

#[derive(Clone, Debug)]
pub struct ChangedTable {
    /// Among the relations of the join.
    pub relation: u16,
    pub table: Arc<Table>,
    pub layout: RowLayout,
    pub change: TableChange,
    pub rules: RowRules,
}

#[derive(Clone, Debug)]
pub enum TableChange {
    Delete,
    /// The values are over the joined row.
    Update(Vec<AssignmentPlan>),
}

impl TableChange {
    pub fn assignments(&self) -> &[AssignmentPlan] {
        match self {
            TableChange::Delete => &[],
            TableChange::Update(assignments) => assignments,
        }
    }
}

/// The rows that UPDATE and DELETE work on. They are read whole.
#[derive(Clone, Debug)]
pub struct ChangeTarget {
    pub table: Arc<Table>,
    /// The name that the statement has for the table.
    pub alias: String,
    pub layout: RowLayout,
    pub access: AccessPlan,
    /// ORDER BY, for when the path does not deliver it: (expression over the row, descending).
    pub sort: Vec<(Bound, bool)>,
    pub limit: Option<Expr>,
}

impl Plan {
    /// Does it only read, and keep nothing of it (and so lock nothing)?
    pub fn is_read(&self) -> bool {
        matches!(self.kind, PlanKind::Select(_))
    }
    pub fn wait_policy(&self) -> WaitPolicy {
        match &self.kind {
            PlanKind::Select(select) => select.wait,
            PlanKind::Insert(_)
            | PlanKind::Update(_)
            | PlanKind::Delete(_)
            | PlanKind::JoinedUpdate(_)
            | PlanKind::JoinedDelete(_)
            | PlanKind::Values(_) => WaitPolicy::Wait,
        }
    }
    pub fn columns(&self) -> &[ColumnInfo] {
        match &self.kind {
            PlanKind::Select(select) if select.into_variables.is_empty() => &select.columns,
            PlanKind::Select(_)
            | PlanKind::Insert(_)
            | PlanKind::Update(_)
            | PlanKind::Delete(_)
            | PlanKind::JoinedUpdate(_)
            | PlanKind::JoinedDelete(_)
            | PlanKind::Values(_) => &[],
        }
    }
    pub fn has_subqueries(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot, Slot::Subquery(_)))
    }
    /// Does it call a function that may wait for long, SLEEP() or GET_LOCK(), for rows?
    pub fn sleeps(&self) -> bool {
        self.slots.iter().any(|slot| match slot {
            Slot::Sleep(_) => true,
            Slot::UserLock(call) => call.function == LockFunction::Get,
            _ => false,
        })
    }
}
