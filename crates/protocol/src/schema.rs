//! Schema changes: entries of the control plane's log, and why one may be refused.

use types::{
    Account, AccountName, Collation, Column, Index, IndexId, SchemaVersion, Table, TableId,
    ViewDefinition, wire_enum,
};

/// The hidden table that keeps the next AUTO_INCREMENT value of each table.
pub const SEQUENCES_TABLE: TableId = TableId(1);
/// The hidden table of commit tokens.
pub const COMMIT_TOKENS_TABLE: TableId = TableId(2);
/// The hidden table of user-level locks. Clusters that were made before it have a user's table of this id, or none.
pub const USER_LOCKS_TABLE: TableId = TableId(3);
/// The name of that table in the database of hidden tables.
pub const USER_LOCKS_NAME: &str = "#user_locks";
/// The database of hidden tables, which no user's database is called.
pub const HIDDEN_DATABASE: &str = "#skarv";

#[derive(Clone, Debug)]
pub enum SchemaChange {
    CreateDatabase {
        name: String,
        collation: Collation,
    },
    /// With all its tables.
    DropDatabase {
        name: String,
    },
    /// `table.id`, `version` and the `entries` tables of unique keys are assigned when the entry is applied.
    CreateTable(Box<Table>),
    DropTable {
        id: TableId,
    },
    /// The table empties by taking a new id: an instant, whatever its size.
    TruncateTable {
        id: TableId,
    },
    /// Adds the index in its first state: `Building`, or `DeleteOnly` if it is unique. `id` and `entries` are assigned when
    /// the entry is applied.
    CreateIndex {
        table: TableId,
        index: Index,
    },
    /// Takes an index one state on: from `DeleteOnly` to `Building`, or, once it is filled, from there to `Public`. Only if it is
    /// the one that the requester asked for in its request of the number `asked`: its own number may have been another's. The coordinator
    /// sets that.
    PublishIndex {
        table: TableId,
        index: IndexId,
        asked: u64,
    },
    /// An ordinary index is removed at once; a unique one stays, without its name, until no node uses it. By name, because its
    /// number may have been another's.
    DropIndex {
        table: TableId,
        index: IndexId,
        name: String,
    },
    RenameTable {
        id: TableId,
        database: String,
        name: String,
    },
    /// Drops the index that the requester asked for in its request of this number, unless it is public by now: whoever was to fill
    /// it is gone.
    GiveUpIndex {
        asked: u64,
    },
    /// Nothing: the sender withdraws its earlier request of this number. If that is not in the log by then it never will be.
    Withdraw,
    /// Gives an index another name. The old one, because the index's number may have been another's.
    RenameIndex {
        table: TableId,
        index: IndexId,
        from: String,
        to: String,
    },
    /// Makes a view, or replaces the view of that name.
    CreateView {
        view: Box<ViewDefinition>,
        replaces: bool,
    },
    DropView {
        database: String,
        name: String,
    },
    /// Within its database.
    RenameView {
        database: String,
        name: String,
        to: String,
    },
    /// Gives a table another definition, if it still has the one of this version. The rows and their keys stay what they are:
    /// there are as many columns, each of its old type or of a longer text, and indexes come and go by changes of their own.
    AlterTable {
        table: Box<Table>,
        version: SchemaVersion,
    },
    /// The copy of a table takes its place and its name; the table goes. Only if the table is closed and still has the definition of
    /// this version.
    ReplaceTable {
        table: TableId,
        version: SchemaVersion,
    },
    /// Drops accounts, then puts others in the place of those of their names, or adds them. Only if `version` is that of the
    /// accounts.
    ChangeAccounts {
        drop: Vec<AccountName>,
        put: Vec<Account>,
        version: u64,
    },
}
wire_enum!(SchemaChange {
    0 => CreateDatabase { name, collation },
    1 => DropDatabase { name },
    2 => CreateTable(table),
    3 => DropTable { id },
    4 => TruncateTable { id },
    5 => CreateIndex { table, index },
    6 => PublishIndex { table, index, asked },
    7 => DropIndex { table, index, name },
    8 => RenameTable { id, database, name },
    9 => GiveUpIndex { asked },
    10 => Withdraw,
    11 => RenameIndex { table, index, from, to },
    12 => CreateView { view, replaces },
    13 => DropView { database, name },
    14 => RenameView { database, name, to },
    15 => AlterTable { table, version },
    16 => ReplaceTable { table, version },
    17 => ChangeAccounts { drop, put, version },
});

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaError {
    DatabaseExists(String),
    UnknownDatabase(String),
    TableExists(String),
    UnknownTable(String),
    IndexExists(String),
    UnknownIndex(String),
    /// Too many of something; says which and how many are allowed.
    TooMany(String),
    /// The index does not fit into the memory of some node.
    MemoryFull(TableId),
    Withdrawn,
    /// The table has had another change meanwhile.
    TableChanged(String),
    /// A CHECK of the database has the name.
    CheckExists(String),
    /// Another session alters the table.
    TableBusy(String),
    /// The accounts have had another change meanwhile.
    AccountsChanged,
}
wire_enum!(SchemaError {
    0 => DatabaseExists(name),
    1 => UnknownDatabase(name),
    2 => TableExists(name),
    3 => UnknownTable(name),
    4 => IndexExists(name),
    5 => UnknownIndex(name),
    6 => TooMany(what),
    7 => MemoryFull(table),
    8 => Withdrawn,
    9 => TableChanged(name),
    10 => CheckExists(name),
    11 => TableBusy(name),
    12 => AccountsChanged,
});

/// What the hidden table of a unique key is called.
pub fn entries_name(table: &Table, index: &Index) -> String {
    format!("#{}#{}", table.name, index.name)
}

/// The definition of the hidden table that enforces a unique key: its primary key is the unique key's parts, its other
/// columns the primary key of the row.
pub fn unique_entries_table(table: &Table, index: &Index) -> Table {
    let mut columns: Vec<Column> = Vec::new();
    let mut parts = Vec::new();
    for part in &index.parts {
        let mut column = table.columns[usize::from(part.column)].clone();
        column.name = format!("u{}", columns.len());
        column.missing = None;
        parts.push(types::IndexPart {
            column: u16::try_from(columns.len()).expect("an index has at most 16 parts"),
            prefix: part.prefix,
            descending: false,
        });
        columns.push(column);
    }
    for part in &table.primary_key().parts {
        let mut column = table.columns[usize::from(part.column)].clone();
        column.name = format!("p{}", columns.len());
        column.missing = None;
        columns.push(column);
    }
    Table {
        id: TableId(0),
        version: types::SchemaVersion(0),
        state: types::TableState::Public,
        database: table.database.clone(),
        name: entries_name(table, index),
        columns,
        indexes: vec![Index {
            id: IndexId(0),
            name: "PRIMARY".into(),
            kind: types::IndexKind::Primary,
            state: types::IndexState::Public,
            parts,
            comment: String::new(),
            is_generated: false,
            algorithm: None,
        }],
        collation: table.collation,
        comment: String::new(),
        engine: table.engine.clone(),
        auto_increment: None,
        unique_of: Some((table.id, index.id)),
        constraints: types::Constraints::default(),
        rewriting: types::Rewriting::default(),
        closed_by: None,
        options: Vec::new(),
    }
}
