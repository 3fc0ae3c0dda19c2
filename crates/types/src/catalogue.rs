//! Databases, tables, columns and indexes: what the control plane's log holds of the schema, and what every node
//! plans and stores by.
//!
//! A [`Catalogue`] is immutable once published: a change makes a new one with the next version, and nodes swap an `Arc`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::display::DECIMALS_MAX;
use crate::wire::{Reader, Wire, WireError};
use crate::{
    Accounts, Collation, ColumnExpression, ColumnType, Constraints, CopyState, Generated,
    Incarnation, IndexId, IntWidth, NumberDisplay, Rewriting, RowLayout, SchemaVersion, TableId,
    Value, wire_enum, wire_struct,
};

#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// Moved by every schema change, of any table.
    pub version: SchemaVersion,
    /// By lower-case name: database names compare case-insensitively for look-up, and keep their spelling.
    pub databases: BTreeMap<String, Database>,
    pub tables: BTreeMap<TableId, Arc<Table>>,
    /// The next table id to be given out.
    pub table_id_next: u32,
    /// By lower-case name of the database and own name.
    pub views: BTreeMap<(String, String), Arc<ViewDefinition>>,
    pub accounts: Arc<Accounts>,
    /// Temporary tables of the session that has this catalogue, by lower-case name of the database and own name. Each hides the
    /// table or view of its name. Empty in the catalogue of a cluster.
    pub temporary: BTreeMap<(String, String), TableId>,
}

/// Set in `table_id_next` where views follow it, and accounts: ids stay below.
const CATALOGUE_HAS_VIEWS: u32 = 1 << 31;
const CATALOGUE_HAS_ACCOUNTS: u32 = 1 << 30;

/// Views and changed accounts follow the other fields only where there are any, so that older catalogues decode.
impl Wire for Catalogue {
    fn encode(&self, out: &mut Vec<u8>) {
        assert!(self.temporary.is_empty(), "a session's own tables stay with it");
        self.version.encode(out);
        self.databases.encode(out);
        self.tables.encode(out);
        let has_views = !self.views.is_empty();
        let has_accounts = self.accounts.version != 0;
        let flags = if has_views { CATALOGUE_HAS_VIEWS } else { 0 }
            | if has_accounts { CATALOGUE_HAS_ACCOUNTS } else { 0 };
        (self.table_id_next | flags).encode(out);
        if has_views {
            self.views.values().cloned().collect::<Vec<Arc<ViewDefinition>>>().encode(out);
        }
        if has_accounts {
            self.accounts.encode(out);
        }
    }
    fn decode(input: &mut Reader<'_>) -> Result<Catalogue, WireError> {
        let version = Wire::decode(input)?;
        let databases = Wire::decode(input)?;
        let tables = Wire::decode(input)?;
        let table_id_next = u32::decode(input)?;
        let mut catalogue = Catalogue {
            version,
            databases,
            tables,
            table_id_next: table_id_next & !(CATALOGUE_HAS_VIEWS | CATALOGUE_HAS_ACCOUNTS),
            views: BTreeMap::new(),
            accounts: Arc::default(),
            temporary: BTreeMap::new(),
        };
        if table_id_next & CATALOGUE_HAS_VIEWS != 0 {
            for view in Vec::<Arc<ViewDefinition>>::decode(input)? {
                catalogue.views.insert(view.key(), view);
            }
        }
        if table_id_next & CATALOGUE_HAS_ACCOUNTS != 0 {
            catalogue.accounts = Wire::decode(input)?;
        }
        Ok(catalogue)
    }
}

/// A query under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewDefinition {
    pub database: String,
    pub name: String,
    /// What its columns are called.
    pub columns: Vec<String>,
    /// The query's text, in the default SQL mode, with full names of tables and columns.
    pub query: String,
    pub algorithm: ViewAlgorithm,
    pub check: ViewCheck,
    /// `user@host` of the account that made it.
    pub definer: String,
    /// SQL SECURITY INVOKER; false is DEFINER.
    pub as_invoker: bool,
    /// Of the connection that made it: string literals of the text have it.
    pub collation: Collation,
}
wire_struct!(ViewDefinition {
    database,
    name,
    columns,
    query,
    algorithm,
    check,
    definer,
    as_invoker,
    collation
});

impl ViewDefinition {
    /// Its key among the views of a catalogue.
    pub fn key(&self) -> (String, String) {
        (self.database.to_lowercase(), self.name.clone())
    }
}

/// How the rows of a view are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewAlgorithm {
    Undefined,
    Merge,
    TempTable,
}
wire_enum!(ViewAlgorithm { 0 => Undefined, 1 => Merge, 2 => TempTable });

/// WITH CHECK OPTION: which conditions a row must hold that is written through a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewCheck {
    None,
    /// That of the view, and of those below it that have a check option of their own.
    Local,
    /// That of the view and of all below it.
    Cascaded,
}
wire_enum!(ViewCheck { 0 => None, 1 => Local, 2 => Cascaded });

#[derive(Clone, Debug)]
pub struct Database {
    pub name: String,
    pub collation: Collation,
    /// Visible tables by name (case-sensitive, as MySQL on Linux).
    pub tables: BTreeMap<String, TableId>,
}
wire_struct!(Database { name, collation, tables });

/// A table's definition. Hidden tables carry the entries of a unique secondary key (`unique_of` is set): their primary
/// key is the unique key's columns, hashed like any primary key, so that uniqueness holds across shards; their other
/// columns are the primary key of the row.
#[derive(Clone, Debug)]
pub struct Table {
    pub id: TableId,
    /// The catalogue version that last changed this table; operations carry it.
    pub version: SchemaVersion,
    pub state: TableState,
    pub database: String,
    pub name: String,
    pub columns: Vec<Column>,
    /// Index 0 is the primary key (of a hidden `#rowid` column when the user gave none).
    pub indexes: Vec<Index>,
    pub collation: Collation,
    pub comment: String,
    /// The engine name as the user spelled it, for SHOW CREATE TABLE.
    pub engine: String,
    pub auto_increment: Option<AutoIncrement>,
    /// For a hidden table: whose unique key it holds.
    pub unique_of: Option<(TableId, IndexId)>,
    pub constraints: Constraints,
    pub rewriting: Rewriting,
    /// No transaction begins to use the table, because ALTER TABLE changes its columns; of the boot of the session that does.
    pub closed_by: Option<Incarnation>,
    /// Options without an effect here, such as ROW_FORMAT, and their values, as SHOW CREATE TABLE writes both, in its order.
    pub options: Vec<(String, String)>,
}

/// Bits of the byte before `unique_of`.
const TABLE_IS_UNIQUE: u8 = 1;
const TABLE_HAS_CONSTRAINTS: u8 = 2;
const TABLE_IS_REWRITTEN: u8 = 4;
const TABLE_IS_CLOSED: u8 = 8;
const TABLE_HAS_OPTIONS: u8 = 16;

/// A table without constraints and options that no ALTER TABLE rewrites has the bytes that it had before there were any.
impl Wire for Table {
    fn encode(&self, out: &mut Vec<u8>) {
        self.id.encode(out);
        self.version.encode(out);
        self.state.encode(out);
        self.database.encode(out);
        self.name.encode(out);
        self.columns.encode(out);
        self.indexes.encode(out);
        self.collation.encode(out);
        self.comment.encode(out);
        self.engine.encode(out);
        self.auto_increment.encode(out);
        let unique = if self.unique_of.is_some() { TABLE_IS_UNIQUE } else { 0 };
        let constraints = if self.constraints.is_empty() { 0 } else { TABLE_HAS_CONSTRAINTS };
        let rewritten = if self.rewriting == Rewriting::default() { 0 } else { TABLE_IS_REWRITTEN };
        let closed = if self.closed_by.is_some() { TABLE_IS_CLOSED } else { 0 };
        let options = if self.options.is_empty() { 0 } else { TABLE_HAS_OPTIONS };
        (unique | constraints | rewritten | closed | options).encode(out);
        if let Some(of) = &self.unique_of {
            of.encode(out);
        }
        if constraints != 0 {
            self.constraints.encode(out);
        }
        if rewritten != 0 {
            self.rewriting.encode(out);
        }
        if let Some(boot) = &self.closed_by {
            boot.encode(out);
        }
        if options != 0 {
            self.options.encode(out);
        }
    }
    fn decode(input: &mut Reader<'_>) -> Result<Table, WireError> {
        let mut table = Table {
            id: Wire::decode(input)?,
            version: Wire::decode(input)?,
            state: Wire::decode(input)?,
            database: Wire::decode(input)?,
            name: Wire::decode(input)?,
            columns: Wire::decode(input)?,
            indexes: Wire::decode(input)?,
            collation: Wire::decode(input)?,
            comment: Wire::decode(input)?,
            engine: Wire::decode(input)?,
            auto_increment: Wire::decode(input)?,
            unique_of: None,
            constraints: Constraints::default(),
            rewriting: Rewriting::default(),
            closed_by: None,
            options: Vec::new(),
        };
        let flags = u8::decode(input)?;
        let known = TABLE_IS_UNIQUE
            | TABLE_HAS_CONSTRAINTS
            | TABLE_IS_REWRITTEN
            | TABLE_IS_CLOSED
            | TABLE_HAS_OPTIONS;
        if flags & !known != 0 {
            return Err(WireError::BadTag("table"));
        }
        if flags & TABLE_IS_UNIQUE != 0 {
            table.unique_of = Some(Wire::decode(input)?);
        }
        if flags & TABLE_HAS_CONSTRAINTS != 0 {
            table.constraints = Wire::decode(input)?;
        }
        if flags & TABLE_IS_REWRITTEN != 0 {
            table.rewriting = Wire::decode(input)?;
        }
        if flags & TABLE_IS_CLOSED != 0 {
            table.closed_by = Some(Wire::decode(input)?);
        }
        if flags & TABLE_HAS_OPTIONS != 0 {
            table.options = Wire::decode(input)?;
        }
        Ok(table)
    }
}

/// Two-version rule (rule R27): at most two neighbouring versions of a table are in use at a time. A statement plans with
/// the newest one; a node acknowledges a version when none of its transactions uses an older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableState {
    /// Serves statements.
    Public,
    /// Being dropped: no new statement finds it; its rows go when every node has acknowledged.
    Dropping,
}
wire_enum!(TableState { 0 => Public, 1 => Dropping });

#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub column_type: ColumnType,
    pub nullable: bool,
    pub default: ColumnDefault,
    /// ON UPDATE CURRENT_TIMESTAMP.
    pub on_update_now: bool,
    pub comment: String,
    /// Not shown by `*`, DESCRIBE and SHOW: the row id of a table without a primary key.
    pub hidden: bool,
    /// How its numbers are shown.
    pub display: NumberDisplay,
    pub generated: Option<Generated>,
    /// What rows have that are older than the column. None: no row is.
    pub missing: Option<Value>,
    /// ALTER TABLE has dropped the column, and rows still have room for it: it is hidden, and NULL in rows written since.
    pub is_dropped: bool,
}

/// Bits of the byte behind a column's comment.
const COLUMN_HIDDEN: u8 = 1;
const COLUMN_HAS_WIDTH: u8 = 2;
const COLUMN_IS_GENERATED: u8 = 4;
const COLUMN_IS_UNSIGNED_FLOAT: u8 = 8;
const COLUMN_HAS_DECIMALS: u8 = 16;
const COLUMN_IS_ZEROFILL: u8 = 32;
const COLUMN_HAS_MISSING: u8 = 64;
const COLUMN_IS_DROPPED: u8 = 128;

/// The last byte was `hidden` alone before there were displays: a column without any has the same bytes as then.
impl Wire for Column {
    fn encode(&self, out: &mut Vec<u8>) {
        self.name.encode(out);
        self.column_type.encode(out);
        self.nullable.encode(out);
        self.default.encode(out);
        self.on_update_now.encode(out);
        self.comment.encode(out);
        let hidden = if self.hidden { COLUMN_HIDDEN } else { 0 };
        let NumberDisplay { width, decimals, is_unsigned, is_zerofill } = self.display;
        let has_width = if width.is_some() { COLUMN_HAS_WIDTH } else { 0 };
        let generated = if self.generated.is_some() { COLUMN_IS_GENERATED } else { 0 };
        let unsigned = if is_unsigned { COLUMN_IS_UNSIGNED_FLOAT } else { 0 };
        let has_decimals = if decimals.is_some() { COLUMN_HAS_DECIMALS } else { 0 };
        let zerofill = if is_zerofill { COLUMN_IS_ZEROFILL } else { 0 };
        let has_missing = if self.missing.is_some() { COLUMN_HAS_MISSING } else { 0 };
        let dropped = if self.is_dropped { COLUMN_IS_DROPPED } else { 0 };
        let shown = has_width | unsigned | has_decimals | zerofill;
        (hidden | generated | has_missing | dropped | shown).encode(out);
        if let Some(width) = width {
            width.encode(out);
        }
        if let Some(decimals) = decimals {
            decimals.encode(out);
        }
        if let Some(generated) = &self.generated {
            generated.encode(out);
        }
        if let Some(missing) = &self.missing {
            missing.encode(out);
        }
    }
    fn decode(input: &mut Reader<'_>) -> Result<Column, WireError> {
        let name = Wire::decode(input)?;
        let column_type: ColumnType = Wire::decode(input)?;
        let nullable = Wire::decode(input)?;
        let default = Wire::decode(input)?;
        let on_update_now = Wire::decode(input)?;
        let comment = Wire::decode(input)?;
        let flags = u8::decode(input)?;
        let has_width = flags & COLUMN_HAS_WIDTH != 0;
        let width = if has_width { Some(u8::decode(input)?) } else { None };
        let has_decimals = flags & COLUMN_HAS_DECIMALS != 0;
        let decimals = if has_decimals { Some(u8::decode(input)?) } else { None };
        if decimals.is_some_and(|decimals| DECIMALS_MAX < decimals) {
            return Err(WireError::Invalid("decimals"));
        }
        let display = NumberDisplay {
            width,
            decimals,
            is_unsigned: flags & COLUMN_IS_UNSIGNED_FLOAT != 0,
            is_zerofill: flags & COLUMN_IS_ZEROFILL != 0,
        };
        let is_generated = flags & COLUMN_IS_GENERATED != 0;
        let generated = if is_generated { Some(Wire::decode(input)?) } else { None };
        let has_missing = flags & COLUMN_HAS_MISSING != 0;
        let missing: Option<Value> = if has_missing { Some(Wire::decode(input)?) } else { None };
        if missing.as_ref().is_some_and(|missing| !column_type.accepts(missing.as_ref())) {
            return Err(WireError::Invalid("value of older rows"));
        }
        let is_dropped = flags & COLUMN_IS_DROPPED != 0;
        let hidden = flags & COLUMN_HIDDEN != 0;
        Ok(Column {
            name,
            column_type,
            nullable,
            default,
            on_update_now,
            comment,
            hidden,
            display,
            generated,
            missing,
            is_dropped,
        })
    }
}

impl Column {
    /// The hidden column of a key part that is an expression.
    pub fn is_functional(&self) -> bool {
        self.hidden && self.generated.is_some()
    }
    /// Its name, or the expression that such a part is.
    pub fn shown_name(&self) -> &str {
        match &self.generated {
            Some(generated) if self.hidden => &generated.expression.text,
            _ => &self.name,
        }
    }
    /// The hidden row number of a table without a primary key.
    pub fn is_row_id(&self) -> bool {
        self.hidden && self.generated.is_none() && !self.is_dropped
    }
    /// The type as MySQL 8 spells it: of the widths of integers only those of TINYINT(1) and of ZEROFILL are shown.
    pub fn type_name(&self) -> String {
        type_name(&self.column_type, &self.display)
    }
}

/// [`Column::type_name`].
pub fn type_name(column_type: &ColumnType, display: &NumberDisplay) -> String {
    let (name, is_unsigned) = match (column_type, display.width) {
        (ColumnType::Int { width: IntWidth::W1, unsigned: false }, Some(1)) => {
            return "tinyint(1)".to_owned();
        }
        (&ColumnType::Int { width, .. }, _) if display.is_zerofill => {
            let plain = ColumnType::Int { width, unsigned: false };
            (format!("{}({})", plain.sql_name(), display.fill(column_type)), true)
        }
        (ColumnType::Float | ColumnType::Double, width) => {
            let digits = width.zip(display.decimals);
            let digits = digits.map(|(width, decimals)| format!("({width},{decimals})"));
            let name = format!("{}{}", column_type.sql_name(), digits.unwrap_or_default());
            (name, display.is_unsigned)
        }
        _ => (column_type.sql_name(), false),
    };
    let sign = if is_unsigned { " unsigned" } else { "" };
    let fill = if display.is_zerofill { " zerofill" } else { "" };
    format!("{name}{sign}{fill}")
}

#[derive(Clone, Debug)]
pub enum ColumnDefault {
    /// No DEFAULT clause: NULL if the column may be NULL, else an error (1364) when no value is given.
    None,
    Value(Value),
    /// CURRENT_TIMESTAMP(fsp).
    Now,
    /// The next value of the table's sequence.
    AutoIncrement,
    /// DEFAULT (expression), which may name columns before it.
    Expression(ColumnExpression),
}
wire_enum!(ColumnDefault {
    0 => None, 1 => Value(value), 2 => Now, 3 => AutoIncrement, 4 => Expression(expression),
});

#[derive(Clone, Debug)]
pub struct AutoIncrement {
    /// Index into `columns`.
    pub column: u16,
    /// First value (the AUTO_INCREMENT table option).
    pub start: u64,
}
wire_struct!(AutoIncrement { column, start });

#[derive(Clone, Debug)]
pub struct Index {
    pub id: IndexId,
    /// "PRIMARY" for the primary key.
    pub name: String,
    pub kind: IndexKind,
    pub state: IndexState,
    pub parts: Vec<IndexPart>,
    pub comment: String,
    /// The table got it for a foreign key: it goes when another key that begins with its columns comes.
    pub is_generated: bool,
    /// USING, where it was written. All indexes are ordered: descriptions show it, and nothing else reads it.
    pub algorithm: Option<IndexAlgorithm>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexAlgorithm {
    BTree,
    Hash,
}
wire_enum!(IndexAlgorithm { 0 => BTree, 1 => Hash });

impl IndexAlgorithm {
    pub fn name(self) -> &'static str {
        match self {
            IndexAlgorithm::BTree => "BTREE",
            IndexAlgorithm::Hash => "HASH",
        }
    }
}

/// What an index is, with a tag of its own for one that was generated, and one before the kind for USING: others have the bytes that
/// they had before.
enum WrittenKind {
    Primary,
    Unique { entries: TableId },
    Ordinary,
    Generated,
    Using { algorithm: IndexAlgorithm },
}
wire_enum!(WrittenKind {
    0 => Primary, 1 => Unique { entries }, 2 => Ordinary, 3 => Generated, 4 => Using { algorithm },
});

impl Wire for Index {
    fn encode(&self, out: &mut Vec<u8>) {
        self.id.encode(out);
        self.name.encode(out);
        let kind = match self.kind {
            IndexKind::Primary => WrittenKind::Primary,
            IndexKind::Unique { entries } => WrittenKind::Unique { entries },
            IndexKind::Ordinary if self.is_generated => WrittenKind::Generated,
            IndexKind::Ordinary => WrittenKind::Ordinary,
        };
        if let Some(algorithm) = self.algorithm {
            WrittenKind::Using { algorithm }.encode(out);
        }
        kind.encode(out);
        self.state.encode(out);
        self.parts.encode(out);
        self.comment.encode(out);
    }
    fn decode(input: &mut Reader<'_>) -> Result<Index, WireError> {
        let (id, name) = (Wire::decode(input)?, Wire::decode(input)?);
        let (algorithm, written) = match WrittenKind::decode(input)? {
            WrittenKind::Using { algorithm } => (Some(algorithm), WrittenKind::decode(input)?),
            written => (None, written),
        };
        let (kind, is_generated) = match written {
            WrittenKind::Using { .. } => return Err(WireError::BadTag("index")),
            WrittenKind::Primary => (IndexKind::Primary, false),
            WrittenKind::Unique { entries } => (IndexKind::Unique { entries }, false),
            WrittenKind::Ordinary => (IndexKind::Ordinary, false),
            WrittenKind::Generated => (IndexKind::Ordinary, true),
        };
        let (state, parts) = (Wire::decode(input)?, Wire::decode(input)?);
        let comment = Wire::decode(input)?;
        Ok(Index { id, name, kind, state, parts, comment, is_generated, algorithm })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexKind {
    Primary,
    /// `entries` is the hidden table that enforces uniqueness across shards.
    Unique {
        entries: TableId,
    },
    Ordinary,
}
wire_enum!(IndexKind { 0 => Primary, 1 => Unique { entries }, 2 => Ordinary });

/// Neighbouring states are in use at the same time (rule R27), so the entries of a unique key, which the writers make, come and
/// go in steps: a writer that makes entries never meets one that leaves them behind.
///
/// ```text
/// unique:   DeleteOnly -> Building -> Public -> Dropping -> Ending -> (gone)
/// ordinary:               Building -> Public -> (gone)
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexState {
    /// Maintained by every write, not yet filled for old rows: no plan may read it.
    Building,
    Public,
    /// A unique key to be: writers delete entries and make none.
    DeleteOnly,
    /// A unique key that was dropped: maintained by every write, read no more.
    Dropping,
    /// And then: writers delete entries and make none.
    Ending,
}
wire_enum!(IndexState { 0 => Building, 1 => Public, 2 => DeleteOnly, 3 => Dropping, 4 => Ending });

impl IndexState {
    /// Do writers make entries of a unique key?
    pub fn has_entries_made(self) -> bool {
        match self {
            IndexState::Building | IndexState::Public | IndexState::Dropping => true,
            IndexState::DeleteOnly | IndexState::Ending => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexPart {
    /// Index into the table's `columns`.
    pub column: u16,
    /// Characters (bytes for binary columns) of the value that are in the key.
    pub prefix: Option<u32>,
    pub descending: bool,
}
wire_struct!(IndexPart { column, prefix, descending });

/// What a statement does to a row that is there.
#[derive(Clone, Copy, Debug)]
pub enum RowChangeKind<'a> {
    /// It gives these columns values.
    Update(&'a [u16]),
    Delete,
}

impl Table {
    /// Is it one that the control plane may be given, if it comes from a file? What is wrong, if it is not: the code that uses a table
    /// relies on its own places.
    pub fn check(&self) -> Result<(), &'static str> {
        let is_column = |column: u16| usize::from(column) < self.columns.len();
        let has_parts = |index: &Index| {
            let columns = index.parts.iter().map(|part| part.column);
            (1..=crate::key::KEY_PART_COUNT_MAX).contains(&index.parts.len())
                && columns.clone().all(is_column)
        };
        let primary = |index: &Index| index.kind == IndexKind::Primary;
        let of_first = self.indexes.first().is_some_and(primary);
        if !of_first || self.indexes.iter().skip(1).any(primary) {
            return Err("its first index, and no other, must be its primary key");
        }
        if !self.indexes.iter().all(has_parts) {
            return Err("an index has no columns, too many, or some that are not there");
        }
        if self.auto_increment.as_ref().is_some_and(|of| !is_column(of.column)) {
            return Err("the column of AUTO_INCREMENT is not there");
        }
        Ok(())
    }

    pub fn primary_key(&self) -> &Index {
        &self.indexes[0]
    }

    /// May a transaction begin to use the table?
    pub fn is_open(&self) -> bool {
        let copy = self.rewriting.copy.as_ref();
        self.state == TableState::Public
            && self.closed_by.is_none()
            && copy.is_none_or(|copy| copy.state != CopyState::Closed)
    }

    /// Does a change of a row need its old row, its new row or other rows in the hands of the session that changes it? If not, the
    /// row's shard makes the change alone, and nothing besides the row changes.
    pub fn needs_writer(&self, change: RowChangeKind<'_>) -> bool {
        if self.rewriting.copy.is_some() {
            return true;
        }
        let is_unique = |index: &Index| index.kind != IndexKind::Ordinary;
        match change {
            // Its entries in unique keys go with it, and its children keep it or follow.
            RowChangeKind::Delete => {
                !self.constraints.referenced_by.is_empty()
                    || self
                        .indexes
                        .iter()
                        .any(|index| matches!(index.kind, IndexKind::Unique { .. }))
            }
            RowChangeKind::Update(columns) => {
                // The shards know no key but the row's own, no sequence, and not whether another column has changed.
                let is_key = |column: &u16| {
                    let has_it = |index: &Index| index.parts.iter().any(|p| p.column == *column);
                    self.indexes.iter().any(|index| is_unique(index) && has_it(index))
                };
                let moves_sequence =
                    self.auto_increment.as_ref().is_some_and(|own| columns.contains(&own.column));
                // Nor do they know expressions of the table.
                let has_check = self.constraints.checks.iter().any(|check| check.enforced);
                let is_generated = |column: &Column| column.generated.is_some();
                let is_limited =
                    |column: &u16| self.columns[usize::from(*column)].display.limits_values();
                moves_sequence
                    || columns.iter().any(|column| self.is_in_foreign_key(*column))
                    || columns.iter().any(is_key)
                    || columns.iter().any(is_limited)
                    || self.columns.iter().any(|column| column.on_update_now)
                    || has_check
                    || self.columns.iter().any(is_generated)
            }
        }
    }

    /// Is a row's parent a row of the same table? Then it matters which row changes first.
    pub fn references_itself(&self) -> bool {
        self.constraints.referenced_by.iter().any(|reference| reference.child == self.id)
    }
    /// Does the column belong to a foreign key of the table, or to a key that one references?
    fn is_in_foreign_key(&self, column: u16) -> bool {
        let Constraints { foreign_keys, referenced_by, .. } = &self.constraints;
        let name = &self.columns[usize::from(column)].name;
        foreign_keys.iter().any(|key| key.columns.contains(&column))
            || referenced_by.iter().any(|reference| {
                reference.key.parent_columns.iter().any(|own| own.eq_ignore_ascii_case(name))
            })
    }

    /// The indexes in the order MySQL keeps and shows them: unique ones before others, among them those whose columns
    /// are all NOT NULL first, then PRIMARY, then those of whole columns; else as they were made.
    pub fn indexes_as_shown(&self) -> Vec<&Index> {
        let rank = |index: &&Index| {
            let is_nullable = |part: &IndexPart| self.columns[usize::from(part.column)].nullable;
            match index.kind {
                IndexKind::Ordinary => (1, false, false, false),
                IndexKind::Primary | IndexKind::Unique { .. } => (
                    0,
                    index.parts.iter().any(is_nullable),
                    index.kind != IndexKind::Primary,
                    index.parts.iter().any(|part| part.prefix.is_some()),
                ),
            }
        };
        let mut indexes: Vec<&Index> = self.indexes.iter().collect();
        indexes.sort_by_key(rank);
        indexes
    }
    pub fn index(&self, id: IndexId) -> Option<&Index> {
        self.indexes.iter().find(|index| index.id == id)
    }
    pub fn index_named(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| index.name.eq_ignore_ascii_case(name))
    }
    pub fn column_named(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
    }
    /// The layout of this table's encoded rows.
    pub fn row_layout(&self) -> RowLayout {
        RowLayout::of_columns(&self.columns)
    }
    /// The layout of rows that have these columns of the table, in this order.
    pub fn layout_of(&self, columns: &[u16]) -> RowLayout {
        RowLayout::new(columns.iter().map(|own| &self.columns[usize::from(*own)].column_type))
    }
}

impl Catalogue {
    pub fn database(&self, name: &str) -> Option<&Database> {
        self.databases.get(&name.to_lowercase())
    }
    /// A visible, public table by name: a temporary one before others.
    pub fn table(&self, database: &str, name: &str) -> Option<&Arc<Table>> {
        self.temporary_table(database, name).or_else(|| self.base_table(database, name))
    }
    /// The same without temporary tables.
    pub fn base_table(&self, database: &str, name: &str) -> Option<&Arc<Table>> {
        let id = self.database(database)?.tables.get(name)?;
        self.tables.get(id).filter(|table| table.state == TableState::Public)
    }
    pub fn temporary_table(&self, database: &str, name: &str) -> Option<&Arc<Table>> {
        if self.temporary.is_empty() {
            return None;
        }
        let id = self.temporary.get(&(database.to_lowercase(), name.to_owned()))?;
        self.tables.get(id)
    }
    /// A view, if no temporary table hides it.
    pub fn view(&self, database: &str, name: &str) -> Option<&Arc<ViewDefinition>> {
        match self.temporary_table(database, name) {
            Some(_) => None,
            None => self.base_view(database, name),
        }
    }
    /// The same whatever temporary tables there are.
    pub fn base_view(&self, database: &str, name: &str) -> Option<&Arc<ViewDefinition>> {
        self.views.get(&(database.to_lowercase(), name.to_owned()))
    }
    /// The views of a database, by name.
    pub fn views_of(&self, database: &str) -> impl Iterator<Item = &Arc<ViewDefinition>> {
        let database = database.to_lowercase();
        let first = (database.clone(), String::new());
        let views = self.views.range(first..);
        views.take_while(move |(key, _)| key.0 == database).map(|(_, view)| view)
    }
    /// Is the name that of a table or a view? Temporary tables take no names from others.
    pub fn is_taken(&self, database: &str, name: &str) -> bool {
        self.base_table(database, name).is_some() || self.base_view(database, name).is_some()
    }
    pub fn table_by_id(&self, id: TableId) -> Option<&Arc<Table>> {
        self.tables.get(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(hidden: bool, width: Option<u8>) -> Column {
        Column {
            name: "a".into(),
            column_type: ColumnType::Int { width: IntWidth::W1, unsigned: false },
            nullable: true,
            default: ColumnDefault::None,
            on_update_now: false,
            comment: "c".into(),
            hidden,
            display: NumberDisplay { width, ..NumberDisplay::default() },
            generated: None,
            missing: None,
            is_dropped: false,
        }
    }

    /// A column without a width has the bytes that it had before there were widths, and those bytes are read; a width is
    /// kept; so is the value of older rows, which is one of the column.
    #[test]
    fn columns_of_older_catalogues_are_read() {
        #[derive(Debug)]
        struct Older {
            name: String,
            column_type: ColumnType,
            nullable: bool,
            default: ColumnDefault,
            on_update_now: bool,
            comment: String,
            hidden: bool,
        }
        wire_struct!(Older {
            name,
            column_type,
            nullable,
            default,
            on_update_now,
            comment,
            hidden
        });
        for hidden in [false, true] {
            let Column { name, column_type, nullable, default, on_update_now, comment, .. } =
                column(hidden, None);
            let older =
                Older { name, column_type, nullable, default, on_update_now, comment, hidden };
            let bytes = older.to_bytes();
            let read = Column::from_bytes(&bytes).expect("the older bytes are read");
            assert_eq!((read.hidden, read.display.width), (hidden, None));
            assert_eq!(read.to_bytes(), bytes);
            for width in [0, 1, 4, 255] {
                let bytes = column(hidden, Some(width)).to_bytes();
                let read = Column::from_bytes(&bytes).expect("written just now");
                assert_eq!((read.hidden, read.display.width), (hidden, Some(width)));
                for cut in 0..bytes.len() {
                    assert!(Column::from_bytes(&bytes[..cut]).is_err());
                }
            }
        }
        let older = Column { missing: Some(Value::Int(5)), is_dropped: true, ..column(true, None) };
        let read = Column::from_bytes(&older.to_bytes()).expect("written just now");
        let missing = read.missing.as_ref().map(Value::as_ref);
        assert_eq!((missing, read.is_dropped), (Some(crate::ValueRef::Int(5)), true));
        let wrong = Column { missing: Some(Value::Int(500)), ..older };
        let refused = Column::from_bytes(&wrong.to_bytes()).err();
        assert_eq!(refused, Some(WireError::Invalid("value of older rows")));
    }

    /// An index without USING has the bytes that it had before there was USING; with USING it is kept.
    #[test]
    fn indexes_keep_using() {
        let index = |algorithm| Index {
            id: IndexId(3),
            name: "k".into(),
            kind: IndexKind::Ordinary,
            state: IndexState::Public,
            parts: vec![IndexPart { column: 1, prefix: None, descending: false }],
            comment: String::new(),
            is_generated: false,
            algorithm,
        };
        let plain = index(None).to_bytes();
        for algorithm in [IndexAlgorithm::BTree, IndexAlgorithm::Hash] {
            let bytes = index(Some(algorithm)).to_bytes();
            assert_eq!(bytes.len(), plain.len() + 2);
            let read = Index::from_bytes(&bytes).expect("written just now");
            assert_eq!(read.algorithm, Some(algorithm));
            assert_eq!(Index { algorithm: None, ..read }.to_bytes(), plain);
        }
        assert_eq!(Index::from_bytes(&plain).map(|read| read.algorithm), Ok(None));
    }

    /// A catalogue without views has the bytes that it had before there were views; views are kept.
    #[test]
    fn catalogues_keep_views() {
        let mut catalogue = Catalogue { table_id_next: 7, ..Catalogue::default() };
        let older = (
            catalogue.version,
            catalogue.databases.clone(),
            catalogue.tables.clone(),
            catalogue.table_id_next,
        );
        let mut bytes = Vec::new();
        older.0.encode(&mut bytes);
        older.1.encode(&mut bytes);
        older.2.encode(&mut bytes);
        older.3.encode(&mut bytes);
        assert_eq!(catalogue.to_bytes(), bytes);
        let view = ViewDefinition {
            database: "Shop".into(),
            name: "v".into(),
            columns: vec!["a".into()],
            query: "select 1 AS `a`".into(),
            algorithm: ViewAlgorithm::Merge,
            check: ViewCheck::Cascaded,
            definer: "root@%".into(),
            as_invoker: true,
            collation: Collation::default(),
        };
        for name in ["w", "v"] {
            let view = ViewDefinition { name: name.into(), ..view.clone() };
            catalogue.views.insert(view.key(), Arc::new(view));
        }
        let read = Catalogue::from_bytes(&catalogue.to_bytes()).expect("written just now");
        assert_eq!((read.table_id_next, &read.views), (7, &catalogue.views));
        assert_eq!(read.view("SHOP", "v").map(|own| &**own), Some(&view));
        let names: Vec<&str> = read.views_of("shop").map(|own| own.name.as_str()).collect();
        assert_eq!(names, ["v", "w"]);
        assert_eq!(read.views_of("sho").count(), 0);
    }

    /// Only the width of TINYINT(1), a boolean, is shown.
    #[test]
    fn widths_in_type_names() {
        let int = |width, unsigned| ColumnType::Int { width, unsigned };
        for (column_type, width, name) in [
            (int(IntWidth::W1, false), Some(1), "tinyint(1)"),
            (int(IntWidth::W1, false), Some(2), "tinyint"),
            (int(IntWidth::W1, false), None, "tinyint"),
            (int(IntWidth::W1, true), Some(1), "tinyint unsigned"),
            (int(IntWidth::W4, false), Some(1), "int"),
            (int(IntWidth::W8, true), Some(20), "bigint unsigned"),
        ] {
            assert_eq!(Column { column_type, ..column(false, width) }.type_name(), name);
        }
        let decimal = ColumnType::Decimal { precision: 5, scale: 2, unsigned: true };
        for (column_type, width, decimals, is_zerofill, name) in [
            (int(IntWidth::W4, true), Some(5), None, true, "int(5) unsigned zerofill"),
            (int(IntWidth::W1, true), None, None, true, "tinyint(3) unsigned zerofill"),
            (decimal.clone(), None, None, true, "decimal(5,2) unsigned zerofill"),
            (decimal, None, None, false, "decimal(5,2) unsigned"),
            (ColumnType::Float, Some(7), Some(4), false, "float(7,4) unsigned"),
            (ColumnType::Double, None, None, true, "double unsigned zerofill"),
        ] {
            let is_unsigned = matches!(column_type, ColumnType::Float | ColumnType::Double);
            let display = NumberDisplay { width, decimals, is_unsigned, is_zerofill };
            let own = Column { column_type, display, ..column(false, None) };
            assert_eq!(own.type_name(), name);
            let read = Column::from_bytes(&own.to_bytes()).expect("written just now");
            assert_eq!(read.display, display);
        }
    }
}
