//! The tables of information_schema, performance_schema and skarv that drivers and tools read, made on the fly: from the
//! catalogue, from what the nodes report ([`activity`]), and from what the control plane keeps ([`restart`]).
//!
//! Each is a list of columns and a function that makes all rows; WHERE, ORDER BY, GROUP BY and LIMIT are the executor's, as
//! for any rows. Column names and their order are MySQL 8's, values of what does not exist here are NULL or constant.

pub mod activity;
mod columns;
mod constraints;
mod keywords;
mod nodes;
mod restart;

use std::collections::BTreeMap;

use types::convert::SqlWarning;
use types::expr::Coercibility;
use types::{
    Charset, Collation, ColumnType, IndexKind, IndexState, IntWidth, Table, TableId, Value,
};

use crate::SqlError;
use crate::bind::names::{ScopeColumn, ScopeTable};
use crate::error::code;
use crate::session::Session;
use crate::show;
use crate::statistics::TableStatistics;

pub const NAME: &str = "information_schema";

pub const PERFORMANCE: &str = "performance_schema";
/// What no other database has.
pub const SKARV: &str = "skarv";
/// The databases whose tables are made on the fly.
pub const SCHEMAS: [&str; 3] = [NAME, PERFORMANCE, SKARV];

/// One of [`SCHEMAS`], as it is spelled.
pub fn schema_named(name: &str) -> Option<&'static str> {
    SCHEMAS.into_iter().find(|own| name.eq_ignore_ascii_case(own))
}

pub fn is_schema(name: &str) -> bool {
    schema_named(name).is_some()
}

/// What SHOW FULL TABLES calls the tables of a schema.
pub fn table_kind(schema: &str) -> &'static str {
    if schema == PERFORMANCE { "BASE TABLE" } else { "SYSTEM VIEW" }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VirtualTable {
    CharacterSets,
    Collations,
    CollationCharsets,
    Columns,
    Engines,
    KeyColumnUsage,
    Keywords,
    ProcessList,
    ReferentialConstraints,
    Routines,
    Schemata,
    Statistics,
    TableConstraints,
    Tables,
    Triggers,
    Views,
    Parameters,
    Partitions,
    Events,
    Files,
    CheckConstraints,
    InnodbTrx,
    DataLocks,
    DataLockWaits,
    /// PROCESSLIST once more, where MySQL 8 has it too.
    PerformanceProcessList,
    SkarvDeadlocks,
    SkarvNodes,
    RestartInfo,
    LostTransactions,
}

impl VirtualTable {
    pub const ALL: [VirtualTable; 29] = [
        VirtualTable::CharacterSets,
        VirtualTable::CheckConstraints,
        VirtualTable::Collations,
        VirtualTable::CollationCharsets,
        VirtualTable::Columns,
        VirtualTable::Engines,
        VirtualTable::Events,
        VirtualTable::Files,
        VirtualTable::InnodbTrx,
        VirtualTable::KeyColumnUsage,
        VirtualTable::Keywords,
        VirtualTable::Parameters,
        VirtualTable::Partitions,
        VirtualTable::ProcessList,
        VirtualTable::ReferentialConstraints,
        VirtualTable::Routines,
        VirtualTable::Schemata,
        VirtualTable::Statistics,
        VirtualTable::TableConstraints,
        VirtualTable::Tables,
        VirtualTable::Triggers,
        VirtualTable::Views,
        VirtualTable::DataLockWaits,
        VirtualTable::DataLocks,
        VirtualTable::PerformanceProcessList,
        VirtualTable::SkarvDeadlocks,
        VirtualTable::SkarvNodes,
        VirtualTable::LostTransactions,
        VirtualTable::RestartInfo,
    ];

    /// A table of one of [`SCHEMAS`]; 1109 or 1146 if there is none.
    pub fn find(schema: &str, name: &str) -> Result<VirtualTable, SqlError> {
        let is_it = |table: &VirtualTable| {
            table.schema() == schema && table.name().eq_ignore_ascii_case(name)
        };
        VirtualTable::ALL.into_iter().find(is_it).ok_or_else(|| match schema {
            NAME => SqlError::new(
                code::ER_UNKNOWN_TABLE,
                format!("Unknown table '{}' in information_schema", name.to_uppercase()),
            ),
            _ => SqlError::no_such_table(schema, name),
        })
    }

    pub fn schema(self) -> &'static str {
        match self {
            VirtualTable::DataLocks
            | VirtualTable::DataLockWaits
            | VirtualTable::PerformanceProcessList
            | VirtualTable::SkarvDeadlocks
            | VirtualTable::SkarvNodes => PERFORMANCE,
            VirtualTable::RestartInfo | VirtualTable::LostTransactions => SKARV,
            _ => NAME,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            VirtualTable::CharacterSets => "CHARACTER_SETS",
            VirtualTable::Collations => "COLLATIONS",
            VirtualTable::CollationCharsets => "COLLATION_CHARACTER_SET_APPLICABILITY",
            VirtualTable::Columns => "COLUMNS",
            VirtualTable::Engines => "ENGINES",
            VirtualTable::KeyColumnUsage => "KEY_COLUMN_USAGE",
            VirtualTable::Keywords => "KEYWORDS",
            VirtualTable::ProcessList => "PROCESSLIST",
            VirtualTable::ReferentialConstraints => "REFERENTIAL_CONSTRAINTS",
            VirtualTable::Routines => "ROUTINES",
            VirtualTable::Schemata => "SCHEMATA",
            VirtualTable::Statistics => "STATISTICS",
            VirtualTable::TableConstraints => "TABLE_CONSTRAINTS",
            VirtualTable::Tables => "TABLES",
            VirtualTable::Triggers => "TRIGGERS",
            VirtualTable::Views => "VIEWS",
            VirtualTable::Parameters => "PARAMETERS",
            VirtualTable::Partitions => "PARTITIONS",
            VirtualTable::Events => "EVENTS",
            VirtualTable::Files => "FILES",
            VirtualTable::CheckConstraints => "CHECK_CONSTRAINTS",
            VirtualTable::InnodbTrx => "INNODB_TRX",
            VirtualTable::DataLocks => "data_locks",
            VirtualTable::DataLockWaits => "data_lock_waits",
            VirtualTable::PerformanceProcessList => "processlist",
            VirtualTable::SkarvDeadlocks => "skarv_deadlocks",
            VirtualTable::SkarvNodes => "skarv_nodes",
            VirtualTable::RestartInfo => "restart_info",
            VirtualTable::LostTransactions => "lost_transactions",
        }
    }

    /// The columns as names refer to them.
    pub fn scope(self, alias: Option<&str>) -> ScopeTable {
        let columns = self.column_names().iter().map(|written| {
            let name = written.trim_start_matches(['#', '@']);
            ScopeColumn {
                name: name.to_string(),
                column_type: column_type(written),
                display: types::NumberDisplay::default(),
                nullable: true,
                hidden: false,
                coercibility: Coercibility::Implicit,
            }
        });
        ScopeTable {
            database: self.schema().into(),
            alias: alias.unwrap_or(self.name()).to_string(),
            columns: columns.collect(),
            row_id: None,
            first: 0,
            table: None,
        }
    }
}

fn column_type(written: &str) -> ColumnType {
    match written.as_bytes()[0] {
        b'#' => return ColumnType::Int { width: IntWidth::W8, unsigned: true },
        b'@' => return ColumnType::DateTime { fsp: 6 },
        _ => {}
    }
    let is_long = matches!(
        written,
        "COLUMN_TYPE"
            | "VIEW_DEFINITION"
            | "INFO"
            | "COLUMN_DEFAULT"
            | "CHECK_CLAUSE"
            | "GENERATION_EXPRESSION"
            | "EXTRA"
            | "QUERY"
            | "trx_query"
            | "LOCK_DATA"
    );
    // MySQL's information_schema compares names case-insensitively. They are of utf8mb3 there, so a text of utf8mb4 may meet them;
    // statements may have characters that utf8mb3 lacks.
    let collation = if is_long { "utf8mb4_general_ci" } else { "utf8mb3_general_ci" };
    ColumnType::Varchar {
        length: if is_long { 16_383 } else { 256 },
        collation: Collation::by_name(collation).unwrap_or_default(),
    }
}

fn text(text: impl AsRef<str>) -> Value {
    Value::text(text.as_ref(), Collation::Utf8mb4GeneralCi)
}

fn number(number: u64) -> Value {
    Value::UInt(number)
}

/// All rows of a table; a warning reports missing ones.
pub async fn rows(
    session: &mut Session,
    table: VirtualTable,
    warnings: &mut Vec<SqlWarning>,
) -> Result<Vec<Vec<Value>>, SqlError> {
    let catalogue = session.catalogue();
    let rows: Vec<Vec<Value>> = match table {
        VirtualTable::CharacterSets => Charset::ALL
            .iter()
            .map(|own| {
                vec![
                    text(own.name()),
                    text(own.default_collation().name()),
                    text(own.description()),
                    number(u64::from(own.character_size_max())),
                ]
            })
            .collect(),
        VirtualTable::CollationCharsets => Collation::ALL
            .iter()
            .map(|own| vec![text(own.name()), text(own.charset_name())])
            .collect(),
        VirtualTable::Collations => Collation::ALL
            .iter()
            .map(|collation| {
                vec![
                    text(collation.name()),
                    text(collation.charset_name()),
                    number(u64::from(collation.id())),
                    text(if collation.is_default() { "Yes" } else { "" }),
                    text("Yes"),
                    number(u64::from(collation.sort_length())),
                    text(if collation.is_pad_space() { "PAD SPACE" } else { "NO PAD" }),
                ]
            })
            .collect(),
        VirtualTable::Engines => {
            show::ENGINES.iter().map(|engine| engine.iter().map(text).collect()).collect()
        }
        VirtualTable::Schemata => {
            let collation = Collation::by_name("utf8mb4_general_ci").unwrap_or_default();
            let mut rows: Vec<Vec<Value>> =
                SCHEMAS.iter().map(|name| schema_row(name, collation)).collect();
            for database in catalogue.databases.values() {
                rows.push(schema_row(&database.name, database.collation));
            }
            rows
        }
        VirtualTable::Tables => {
            let counts = show::row_counts(session).await;
            let mut rows: Vec<Vec<Value>> =
                VirtualTable::ALL.into_iter().map(system_view_row).collect();
            let next_values = match session.next_values(visible_tables(&catalogue)).await {
                Ok(values) => values,
                Err(error) => {
                    warnings.push(SqlWarning::warning(error.code, error.message));
                    BTreeMap::new()
                }
            };
            for table in visible_tables(&catalogue) {
                let counts = counts.get(&table.id).copied();
                rows.push(table_row(table, counts, next_values.get(&table.id).copied()));
            }
            rows.extend(catalogue.views.values().map(|view| view_row(view)));
            rows
        }
        VirtualTable::Columns => {
            let offset = session.settings.time_zone_offset_seconds;
            let mut rows = Vec::new();
            for table in visible_tables(&catalogue) {
                let visible = (0..table.columns.len()).filter(|&own| !table.columns[own].hidden);
                for (position, column) in visible.enumerate() {
                    rows.push(column_row(table, column, position + 1, offset));
                }
            }
            for view in show::view::views_as_tables(session, &catalogue, warnings) {
                let columns = 0..view.columns.len();
                rows.extend(columns.map(|own| column_row(&view, own, own + 1, offset)));
            }
            rows
        }
        VirtualTable::Statistics => {
            let tables: Vec<TableId> = visible_tables(&catalogue).map(|table| table.id).collect();
            let known = show::statistics_of(session, &tables).await;
            visible_tables(&catalogue)
                .flat_map(|table| statistics_rows(table, known.get(&table.id)))
                .collect()
        }
        VirtualTable::KeyColumnUsage => visible_tables(&catalogue)
            .flat_map(|table| constraints::key_usage_rows(table))
            .collect(),
        VirtualTable::TableConstraints => visible_tables(&catalogue)
            .flat_map(|table| constraints::constraint_rows(table))
            .collect(),
        VirtualTable::ReferentialConstraints => visible_tables(&catalogue)
            .flat_map(|table| constraints::referential_rows(&catalogue, table))
            .collect(),
        VirtualTable::ProcessList => activity::processes(session, usize::MAX, warnings).await,
        VirtualTable::PerformanceProcessList => {
            let mut rows = activity::processes(session, usize::MAX, warnings).await;
            rows.iter_mut().for_each(|row| row.push(text("PRIMARY")));
            rows
        }
        VirtualTable::InnodbTrx => activity::transactions(session, warnings).await,
        VirtualTable::DataLocks => activity::data_locks(session, warnings).await,
        VirtualTable::DataLockWaits => activity::data_lock_waits(session, warnings).await,
        VirtualTable::SkarvDeadlocks => activity::deadlocks(session, warnings).await,
        VirtualTable::SkarvNodes => nodes::nodes(session, warnings).await,
        VirtualTable::RestartInfo => restart::info(session),
        VirtualTable::LostTransactions => restart::lost(session, warnings),
        VirtualTable::Partitions => {
            let counts = show::row_counts(session).await;
            visible_tables(&catalogue)
                .map(|table| partition_row(table, counts.get(&table.id).copied()))
                .collect()
        }
        VirtualTable::Views => show::view::view_rows(session, &catalogue),
        VirtualTable::Keywords => keywords::words()
            .map(|(word, is_reserved)| vec![text(word), number(u64::from(is_reserved))])
            .collect(),
        VirtualTable::Routines
        | VirtualTable::Triggers
        | VirtualTable::Parameters
        | VirtualTable::Events
        | VirtualTable::Files => Vec::new(),
        VirtualTable::CheckConstraints => {
            visible_tables(&catalogue).flat_map(|table| check_rows(table)).collect()
        }
    };
    assert!(rows.iter().all(|row| row.len() == table.column_names().len()));
    Ok(rows)
}

/// Tables users see, by database and name.
fn visible_tables(catalogue: &types::Catalogue) -> impl Iterator<Item = &std::sync::Arc<Table>> {
    catalogue
        .databases
        .values()
        .flat_map(|database| database.tables.values().filter_map(|id| catalogue.table_by_id(*id)))
        .filter(|table| !crate::bind::table::is_unfinished(&table.name))
}

/// Indexes that are ready and not on the hidden row id, in MySQL's order.
pub fn shown_indexes(table: &Table) -> Vec<&types::Index> {
    let mut indexes = table.indexes_as_shown();
    indexes.retain(|index| {
        index.state == IndexState::Public
            && index.parts.iter().all(|part| !table.columns[usize::from(part.column)].is_row_id())
    });
    indexes
}

fn schema_row(name: &str, collation: Collation) -> Vec<Value> {
    vec![
        text("def"),
        text(name),
        text(collation.charset_name()),
        text(collation.name()),
        Value::Null,
        text("NO"),
    ]
}

fn system_view_row(table: VirtualTable) -> Vec<Value> {
    let mut row = vec![Value::Null; 21];
    row[0] = text("def");
    row[1] = text(table.schema());
    row[2] = text(table.name());
    row[3] = text(table_kind(table.schema()));
    row[5] = number(10);
    row[7] = number(0);
    row[20] = text("");
    row
}

fn view_row(view: &types::ViewDefinition) -> Vec<Value> {
    let mut row = vec![Value::Null; VirtualTable::Tables.column_names().len()];
    row[0] = text("def");
    row[1] = text(&view.database);
    row[2] = text(&view.name);
    row[3] = text("VIEW");
    row[20] = text("VIEW");
    row
}

fn table_row(table: &Table, counts: Option<(u64, u64)>, next: Option<u64>) -> Vec<Value> {
    let (rows, bytes) = counts.unwrap_or((0, 0));
    vec![
        text("def"),
        text(&table.database),
        text(&table.name),
        text("BASE TABLE"),
        text(&table.engine),
        number(10),
        text(show::row_format(table)),
        number(rows),
        number(bytes.checked_div(rows).unwrap_or(0)),
        number(bytes),
        number(0),
        number(0),
        number(0),
        next.map_or(Value::Null, number),
        Value::Null,
        Value::Null,
        Value::Null,
        text(table.collation.name()),
        Value::Null,
        text(show::create_options(table)),
        text(&table.comment),
    ]
}

/// How users' tables are spread is not their business: each is one partition without a name, as one that is not partitioned.
fn partition_row(table: &Table, counts: Option<(u64, u64)>) -> Vec<Value> {
    let (rows, bytes) = counts.unwrap_or((0, 0));
    let mut row = vec![Value::Null; VirtualTable::Partitions.column_names().len()];
    row[0] = text("def");
    row[1] = text(&table.database);
    row[2] = text(&table.name);
    let sizes = [rows, bytes.checked_div(rows).unwrap_or(0), bytes, 0, 0, 0];
    for (own, size) in row[12..].iter_mut().zip(sizes) {
        *own = number(size);
    }
    row[22] = text("");
    row[23] = text("");
    row
}

fn column_row(table: &Table, position: usize, ordinal: usize, offset_seconds: i32) -> Vec<Value> {
    let column = &table.columns[position];
    let column_type = &column.column_type;
    let type_name = column.type_name();
    let data_type = type_name.split(['(', ' ']).next().unwrap_or_default().to_string();
    let (characters, octets) = match column_type {
        ColumnType::Char { length, .. } | ColumnType::Varchar { length, .. } => {
            (number(u64::from(*length)), number(u64::from(column_type.display_length())))
        }
        ColumnType::Binary { length } | ColumnType::Varbinary { length } => {
            (number(u64::from(*length)), number(u64::from(*length)))
        }
        ColumnType::Text { bytes_max, .. } | ColumnType::Blob { bytes_max } => {
            (number(u64::from(*bytes_max)), number(u64::from(*bytes_max)))
        }
        ColumnType::Labelled(labels) => {
            let length = u64::from(labels.length_max());
            (number(length), number(u64::from(column_type.display_length())))
        }
        _ => (Value::Null, Value::Null),
    };
    let (precision, scale) = match column_type {
        ColumnType::Int { width, unsigned } => {
            let digits = match (width, unsigned) {
                (IntWidth::W1, _) => 3,
                (IntWidth::W2, _) => 5,
                (IntWidth::W3, _) => 7,
                (IntWidth::W4, _) => 10,
                (IntWidth::W8, false) => 19,
                (IntWidth::W8, true) => 20,
            };
            (number(digits), number(0))
        }
        ColumnType::Decimal { precision, scale, .. } => {
            (number(u64::from(*precision)), number(u64::from(*scale)))
        }
        ColumnType::Float | ColumnType::Double => match (column.display.decimals, column_type) {
            (Some(decimals), _) => {
                let width = column.display.width.unwrap_or_default();
                (number(u64::from(width)), number(u64::from(decimals)))
            }
            (None, ColumnType::Float) => (number(12), Value::Null),
            (None, _) => (number(22), Value::Null),
        },
        ColumnType::Bit { length } => (number(u64::from(*length)), Value::Null),
        _ => (Value::Null, Value::Null),
    };
    let fsp = match column_type {
        ColumnType::Time { fsp } | ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp } => {
            number(u64::from(*fsp))
        }
        _ => Value::Null,
    };
    let collation = column_type.collation().filter(|_| column_type.is_string());
    vec![
        text("def"),
        text(&table.database),
        text(&table.name),
        text(&column.name),
        number(ordinal as u64),
        show::default_text(column, offset_seconds).map_or(Value::Null, text),
        text(if column.nullable { "YES" } else { "NO" }),
        text(data_type),
        characters,
        octets,
        precision,
        scale,
        fsp,
        collation.map_or(Value::Null, |own| text(own.charset_name())),
        collation.map_or(Value::Null, |own| text(own.name())),
        text(type_name),
        text(show::key_text(table, position)),
        text(show::extra_text(column)),
        text("select,insert,update,references"),
        text(&column.comment),
        column.generated.as_ref().map_or(text(""), |own| text(show::escaped(&own.expression.text))),
        Value::Null,
    ]
}

fn statistics_rows(table: &Table, known: Option<&TableStatistics>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for index in shown_indexes(table) {
        for (number_in_index, part) in index.parts.iter().enumerate() {
            let column = &table.columns[usize::from(part.column)];
            rows.push(vec![
                text("def"),
                text(&table.database),
                text(&table.name),
                number(u64::from(index.kind == IndexKind::Ordinary)),
                text(&table.database),
                text(&index.name),
                number(number_in_index as u64 + 1),
                show::key_column(column),
                show::index_order(table, index, part),
                show::cardinality(known, index, number_in_index + 1),
                part.prefix.map_or(Value::Null, |prefix| number(u64::from(prefix))),
                Value::Null,
                text(if column.nullable { "YES" } else { "" }),
                text(show::index_type(table, index)),
                text(""),
                text(&index.comment),
                text("YES"),
                show::key_expression(column),
            ]);
        }
    }
    rows
}

fn check_rows(table: &Table) -> impl Iterator<Item = Vec<Value>> {
    table.constraints.checks.iter().map(|check| {
        vec![
            text("def"),
            text(&table.database),
            text(&check.name),
            text(show::escaped(&check.expression.text)),
        ]
    })
}
