//! SHOW, DESCRIBE, EXPLAIN.
//!
//! Each makes a small [`Table`] with MySQL's column names. LIKE filters by the first column, WHERE by any, with the titles as
//! names.
//!
//! | module | part |
//! |---|---|
//! | `create` | SHOW CREATE TABLE and DATABASE |
//! | `engine` | SHOW ENGINE x STATUS |
//! | `explain`, `explain_joined` | EXPLAIN |
//! | `view` | SHOW CREATE VIEW, and the columns of views |

pub mod create;
mod engine;
pub mod explain;
mod explain_joined;
pub mod view;

use std::collections::BTreeMap;
use std::sync::Arc;

use client::{Report, ReportRequest};
use types::convert::WarningLevel;
use types::expr::{Coercibility, ResultType};
use types::{
    Charset, Collation, Column, ColumnDefault, ColumnType, IndexAlgorithm, IndexKind, IntWidth,
    NumberDisplay, TableId, Value,
};

use crate::ColumnInfo;
use crate::bind::names::{Relations, Scope, ScopeColumn, ScopeTable, identifying_key};
use crate::bind::table::is_unfinished;
use crate::bind::view::find_view;
use crate::bind::{Binder, find_table};
use crate::error::{SqlError, code};
use crate::execute::write::sequence::{generated_value, sequence_value};
use crate::information_schema::{self, VirtualTable, activity, shown_indexes};
use crate::parser::ast;
use crate::server::Counters;
use crate::session::Session;
use crate::session::statistics::gather;
use crate::session::variables::{Scope as VariableScope, VARIABLES};
use crate::statistics::TableStatistics;

pub use create::{create_table_text, quoted};

/// A small result set.
pub struct Table {
    pub columns: Vec<ColumnInfo>,
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// Titles; a leading '#' marks a BIGINT column, else it is text.
    pub fn of_texts(titles: &[&str]) -> Table {
        let columns = titles
            .iter()
            .map(|title| {
                let column_type = match title.starts_with('#') {
                    true => ColumnType::Int { width: IntWidth::W8, unsigned: false },
                    false => ColumnType::Varchar { length: 1024, collation: Collation::default() },
                };
                let own = ResultType::of(Some(column_type), true);
                let title = title.trim_start_matches('#');
                crate::bind::expression_info(title, &own)
            })
            .collect();
        Table { columns, rows: Vec::new() }
    }
    pub fn push_texts(&mut self, row: &[&str]) {
        assert_eq!(row.len(), self.columns.len());
        self.rows.push(row.iter().map(text).collect());
    }
    pub fn push(&mut self, row: Vec<Value>) {
        assert_eq!(row.len(), self.columns.len());
        self.rows.push(row);
    }
    fn scope(&self) -> ScopeTable {
        ScopeTable {
            database: String::new(),
            alias: String::new(),
            columns: self
                .columns
                .iter()
                .map(|column| ScopeColumn {
                    name: column.name.clone(),
                    column_type: column.column_type.clone(),
                    display: column.display,
                    nullable: true,
                    hidden: false,
                    coercibility: Coercibility::Implicit,
                })
                .collect(),
            row_id: None,
            first: 0,
            table: None,
        }
    }
}

fn text(text: impl AsRef<str>) -> Value {
    Value::text(text.as_ref(), Collation::default())
}

fn number(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Engine, Support, Comment, Transactions, XA, Savepoints.
pub static ENGINES: &[[&str; 6]] = &[
    ["Skarv", "DEFAULT", "Distributed, in-memory, replicated tables", "YES", "NO", "NO"],
    ["InnoDB", "YES", "Another name for Skarv", "YES", "NO", "NO"],
    ["ndbcluster", "YES", "Another name for Skarv", "YES", "NO", "NO"],
    ["MEMORY", "YES", "Another name for Skarv", "YES", "NO", "NO"],
];

/// Rows and bytes of every table. Each node counts its replicas; the members of a group hold the same rows, so the copies are
/// divided out.
pub async fn row_counts(session: &mut Session) -> BTreeMap<TableId, (u64, u64)> {
    let replicas = replica_count(session);
    let mut counts: BTreeMap<TableId, (u64, u64)> = BTreeMap::new();
    for (_, report) in session.client.report(None, ReportRequest::Memory).await {
        if let Report::Memory(memory) = report {
            for table in memory.tables {
                let own = counts.entry(table.table).or_default();
                own.0 += table.rows;
                own.1 += table.bytes;
            }
        }
    }
    for own in counts.values_mut() {
        own.0 = own.0.div_ceil(replicas);
        own.1 = own.1.div_ceil(replicas);
    }
    counts
}

/// The statistics of tables as they are now.
pub async fn statistics_of(
    session: &mut Session,
    tables: &[TableId],
) -> BTreeMap<TableId, TableStatistics> {
    let catalogue = session.catalogue();
    gather(&mut session.client, &catalogue, tables, false).await
}

/// The estimate of different values of the first parts of an index.
pub fn cardinality(known: Option<&TableStatistics>, index: &types::Index, parts: usize) -> Value {
    let of = |own: &TableStatistics| own.distinct(index.id, parts).filter(|_| 0 < own.rows);
    number(known.and_then(of).map_or(0, |values| values.round() as u64))
}

pub fn replica_count(session: &Session) -> u64 {
    let shards = session.client.client().shards();
    shards.iter().map(|shard| shard.members.len() as u64).max().unwrap_or(1).max(1)
}

/// Characters of a statement in SHOW PROCESSLIST, without FULL.
const INFO_LENGTH_MAX: usize = 100;

/// A default as DESCRIBE and COLUMN_DEFAULT show it.
pub fn default_text(column: &Column, offset_seconds: i32) -> Option<String> {
    match &column.default {
        ColumnDefault::None | ColumnDefault::AutoIncrement | ColumnDefault::Value(Value::Null) => {
            None
        }
        ColumnDefault::Value(value) => Some(create::value_text(value, column, offset_seconds)),
        ColumnDefault::Now => Some(create::now_text(&column.column_type)),
        ColumnDefault::Expression(expression) => Some(escaped(&expression.text)),
    }
}

/// The Key column of DESCRIBE.
pub fn key_text(table: &types::Table, position: usize) -> &'static str {
    let in_index =
        |index: &types::Index| index.parts.iter().any(|part| usize::from(part.column) == position);
    let leads = |index: &types::Index| usize::from(index.parts[0].column) == position;
    if identifying_key(table).is_some_and(in_index) {
        return "PRI";
    }
    let others = || shown_indexes(table).into_iter();
    if others().any(|index| {
        matches!(index.kind, IndexKind::Unique { .. }) && index.parts.len() == 1 && leads(index)
    }) {
        return "UNI";
    }
    if others().any(leads) { "MUL" } else { "" }
}

/// An expression of the catalogue as information_schema shows it.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\'' | '"' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// The Extra column of DESCRIBE.
pub fn extra_text(column: &Column) -> String {
    let mut parts: Vec<String> = Vec::new();
    match &column.generated {
        Some(generated) if generated.stored => parts.push("STORED GENERATED".into()),
        Some(_) => parts.push("VIRTUAL GENERATED".into()),
        None => {}
    }
    match &column.default {
        ColumnDefault::AutoIncrement => parts.push("auto_increment".into()),
        ColumnDefault::Now | ColumnDefault::Expression(_) => {
            parts.push("DEFAULT_GENERATED".into());
        }
        ColumnDefault::None | ColumnDefault::Value(_) => {}
    }
    if column.on_update_now {
        parts.push(format!("on update {}", create::now_text(&column.column_type)));
    }
    parts.join(" ")
}

impl Session {
    pub(crate) async fn show(&mut self, show: &ast::Show) -> Result<Table, SqlError> {
        use ast::Show as S;
        match show {
            S::Databases { filter } => {
                let mut table = Table::of_texts(&["Database"]);
                let mut names: Vec<String> =
                    self.catalogue().databases.values().map(|own| own.name.clone()).collect();
                names.extend(information_schema::SCHEMAS.map(String::from));
                names.sort();
                for name in &names {
                    table.push_texts(&[name]);
                }
                if let ast::ShowFilter::Like(pattern) = filter {
                    table.columns[0].name =
                        format!("Database ({})", String::from_utf8_lossy(pattern));
                }
                self.filtered(table, filter).await
            }
            S::Tables { full, extended: _, database, filter } => {
                let database = self.shown_database(database.as_deref())?;
                let mut title = format!("Tables_in_{database}");
                if let ast::ShowFilter::Like(pattern) = filter {
                    title = format!("{title} ({})", String::from_utf8_lossy(pattern));
                }
                let titles: Vec<&str> =
                    if *full { vec![&title, "Table_type"] } else { vec![&title] };
                let mut table = Table::of_texts(&titles);
                for (name, kind) in self.table_names(&database) {
                    if *full {
                        table.push_texts(&[&name, kind])
                    } else {
                        table.push_texts(&[&name])
                    }
                }
                self.filtered(table, filter).await
            }
            S::TableStatus { database, filter } => {
                self.table_status(database.as_deref(), filter).await
            }
            S::CreateView(name) => {
                let current = self.environment.database.as_deref();
                match find_view(&self.catalogue(), current, name) {
                    Some(view) => self.show_create_view(view),
                    None => {
                        let table = self.shown_table(name)?;
                        Err(SqlError::wrong_object(&table.database, &table.name, "VIEW"))
                    }
                }
            }
            S::CreateTable(name) => {
                let current = self.environment.database.as_deref();
                if let Some(view) = find_view(&self.catalogue(), current, name) {
                    return self.show_create_view(view);
                }
                let table = self.shown_table(name)?;
                let next = self.next_values([&table]).await?.get(&table.id).copied();
                let offset = self.settings.time_zone_offset_seconds;
                let mut answer = Table::of_texts(&["Table", "Create Table"]);
                answer.push_texts(&[&table.name, &create_table_text(&table, next, offset)]);
                Ok(answer)
            }
            S::CreateDatabase { name, if_not_exists } => {
                let own = self.known_database(name)?;
                let collation = self
                    .catalogue()
                    .database(&own)
                    .map_or_else(Collation::default, |database| database.collation);
                let mut answer = Table::of_texts(&["Database", "Create Database"]);
                let statement = create::create_database_text(&own, collation, *if_not_exists);
                answer.push_texts(&[&own, &statement]);
                Ok(answer)
            }
            S::Columns { full, extended: _, table, filter } => {
                let table = self.shown_table(table)?;
                let answer = columns_table(&table, *full, self.settings.time_zone_offset_seconds);
                self.filtered(answer, filter).await
            }
            S::Index { table, filter } => {
                let table = self.shown_table(table)?;
                let known = statistics_of(self, &[table.id]).await;
                let answer = index_table(&table, known.get(&table.id));
                self.filtered(answer, filter).await
            }
            S::Variables { global, filter } => {
                let mut table = Table::of_texts(&["Variable_name", "Value"]);
                for variable in VARIABLES {
                    let scope = match (global, variable.scope) {
                        (true, VariableScope::Session) => continue,
                        (true, _) => ast::VariableScope::Global,
                        (false, _) => ast::VariableScope::Unspecified,
                    };
                    table.push_texts(&[variable.name, &self.variable_text(scope, variable)]);
                }
                self.filtered(table, filter).await
            }
            S::Status { global: _, filter } => {
                let table = self.status();
                self.filtered(table, filter).await
            }
            S::Warnings { limit } => self.diagnostics(limit.as_ref(), false).await,
            S::Errors { limit } => self.diagnostics(limit.as_ref(), true).await,
            S::CountWarnings => {
                let mut table = Table::of_texts(&["#@@session.warning_count"]);
                table.push(vec![number(self.frame.diagnostics.count())]);
                Ok(table)
            }
            S::CountErrors => {
                let count = self.frame.diagnostics.error_count();
                let mut table = Table::of_texts(&["#@@session.error_count"]);
                table.push(vec![number(count)]);
                Ok(table)
            }
            S::ProcessList { full } => {
                let titles = ["#Id", "User", "Host", "db", "Command", "#Time", "State", "Info"];
                let mut table = Table::of_texts(&titles);
                let length_max = if *full { usize::MAX } else { INFO_LENGTH_MAX };
                let mut warnings = Vec::new();
                table.rows = activity::processes(self, length_max, &mut warnings).await;
                self.frame.diagnostics.begin();
                warnings.into_iter().for_each(|warning| self.push_condition(warning));
                Ok(table)
            }
            S::Engines => {
                let titles = ["Engine", "Support", "Comment", "Transactions", "XA", "Savepoints"];
                let mut table = Table::of_texts(&titles);
                for engine in ENGINES {
                    table.push_texts(engine);
                }
                Ok(table)
            }
            S::EngineStatus { engine, what } => self.engine_status(engine, what).await,
            S::CharacterSet { filter } => {
                let titles = ["Charset", "Description", "Default collation", "#Maxlen"];
                let mut table = Table::of_texts(&titles);
                for own in Charset::ALL {
                    table.push(vec![
                        text(own.name()),
                        text(own.description()),
                        text(own.default_collation().name()),
                        number(u64::from(own.character_size_max())),
                    ]);
                }
                self.filtered(table, filter).await
            }
            S::Collation { filter } => {
                let titles = [
                    "Collation",
                    "Charset",
                    "#Id",
                    "Default",
                    "Compiled",
                    "#Sortlen",
                    "Pad_attribute",
                ];
                let mut table = Table::of_texts(&titles);
                for own in Collation::ALL {
                    table.push(vec![
                        text(own.name()),
                        text(own.charset_name()),
                        number(u64::from(own.id())),
                        text(if own.is_default() { "Yes" } else { "" }),
                        text("Yes"),
                        number(u64::from(own.sort_length())),
                        text(if own.is_pad_space() { "PAD SPACE" } else { "NO PAD" }),
                    ]);
                }
                self.filtered(table, filter).await
            }
            S::Grants { user, using } => {
                if !using.is_empty() {
                    return Err(SqlError::not_supported("SHOW GRANTS ... USING"));
                }
                let (name, host) = match user {
                    ast::UserName::Named { user, host } => (user.clone(), host.clone()),
                    ast::UserName::Current => (self.info.user.clone(), "localhost".to_string()),
                };
                if name != self.info.user {
                    return Err(SqlError::new(
                        code::ER_NONEXISTING_GRANT,
                        format!(
                            "There is no such grant defined for user '{name}' on host '{host}'"
                        ),
                    ));
                }
                let title = format!("Grants for {name}@{host}");
                let mut table = Table::of_texts(&[&title]);
                table.push_texts(&[&format!(
                    "GRANT ALL PRIVILEGES ON *.* TO `{name}`@`{host}` WITH GRANT OPTION"
                )]);
                Ok(table)
            }
            S::Plugins => {
                let mut table = Table::of_texts(&["Name", "Status", "Type", "Library", "License"]);
                let rows = [
                    ("mysql_native_password", "AUTHENTICATION"),
                    ("caching_sha2_password", "AUTHENTICATION"),
                    ("Skarv", "STORAGE ENGINE"),
                ];
                for (name, kind) in rows {
                    table.push(vec![
                        text(name),
                        text("ACTIVE"),
                        text(kind),
                        Value::Null,
                        text("Apache-2.0"),
                    ]);
                }
                Ok(table)
            }
            S::Privileges => Ok(Table::of_texts(&["Privilege", "Context", "Comment"])),
            S::MasterStatus => Ok(Table::of_texts(&[
                "File",
                "#Position",
                "Binlog_Do_DB",
                "Binlog_Ignore_DB",
                "Executed_Gtid_Set",
            ])),
            S::OpenTables { database: _, filter } => {
                let titles = ["Database", "Table", "#In_use", "#Name_locked"];
                self.filtered(Table::of_texts(&titles), filter).await
            }
            S::Triggers { database, filter } => {
                self.shown_database(database.as_deref())?;
                let titles = [
                    "Trigger",
                    "Event",
                    "Table",
                    "Statement",
                    "Timing",
                    "Created",
                    "sql_mode",
                    "Definer",
                    "character_set_client",
                    "collation_connection",
                    "Database Collation",
                ];
                self.filtered(Table::of_texts(&titles), filter).await
            }
            S::Events { database, filter } => {
                self.shown_database(database.as_deref())?;
                let titles = [
                    "Db",
                    "Name",
                    "Definer",
                    "Time zone",
                    "Type",
                    "Execute at",
                    "Interval value",
                    "Interval field",
                    "Starts",
                    "Ends",
                    "Status",
                    "Originator",
                    "character_set_client",
                    "collation_connection",
                    "Database Collation",
                ];
                self.filtered(Table::of_texts(&titles), filter).await
            }
            S::ProcedureStatus { filter } | S::FunctionStatus { filter } => {
                let titles = [
                    "Db",
                    "Name",
                    "Type",
                    "Definer",
                    "Modified",
                    "Created",
                    "Security_type",
                    "Comment",
                    "character_set_client",
                    "collation_connection",
                    "Database Collation",
                ];
                self.filtered(Table::of_texts(&titles), filter).await
            }
            S::CreateUser { user: _ } => Err(SqlError::not_supported("SHOW CREATE USER")),
            S::Unsupported { feature } => Err(SqlError::not_supported(feature)),
        }
    }

    /// LIKE by the first column, WHERE by all.
    async fn filtered(
        &mut self,
        mut table: Table,
        filter: &ast::ShowFilter,
    ) -> Result<Table, SqlError> {
        match filter {
            ast::ShowFilter::None => Ok(table),
            ast::ShowFilter::Like(pattern) => {
                let pattern = String::from_utf8_lossy(pattern).into_owned();
                table.rows.retain(|row| match &row[0] {
                    Value::Text(own, _) => Collation::default().like(own, &pattern, Some('\\')),
                    _ => false,
                });
                Ok(table)
            }
            ast::ShowFilter::Where(expr) => {
                let relations = Relations::of(table.scope());
                let catalogue = self.catalogue();
                let environment = self.environment.clone();
                let bound = {
                    let mut binder = Binder::new(&catalogue, &environment, &*self, &[]);
                    binder.bound(expr, &Scope::of(&relations, "where clause"))?
                };
                if bound.is_local() {
                    return Err(SqlError::not_supported("RAND, UUID, SLEEP or assignment in SHOW"));
                }
                let mut params_needed = false;
                crate::bind::rewrite::for_each_param(&bound.expr, &mut |_| params_needed = true);
                if params_needed {
                    return Err(SqlError::not_supported(
                        "variables of the session in SHOW ... WHERE",
                    ));
                }
                let mut kept = Vec::new();
                for row in std::mem::take(&mut table.rows) {
                    let mut context = types::expr::EvalContext::new(&[]);
                    let holds = types::expr::eval_predicate(&bound.expr, &row, &mut context)
                        .map_err(|error| crate::execute::eval_error(&error))?;
                    if holds {
                        kept.push(row);
                    }
                }
                table.rows = kept;
                Ok(table)
            }
        }
    }

    /// The values that the AUTO_INCREMENT columns of the tables get next, of those that have one.
    pub(crate) async fn next_values<'t>(
        &mut self,
        tables: impl IntoIterator<Item = &'t Arc<types::Table>>,
    ) -> Result<BTreeMap<TableId, u64>, SqlError> {
        let tables: Vec<&Arc<types::Table>> =
            tables.into_iter().filter(|table| create::shows_sequence(table)).collect();
        let shown = self.client.auto_increment_shown(&tables).await;
        let shown = shown.map_err(|refusal| self.refused(refusal).error)?;
        let next = |(table, next): (&&Arc<types::Table>, u64)| {
            let sequence = table.auto_increment.as_ref();
            let column = &table.columns[usize::from(sequence.map_or(0, |own| own.column))];
            let next = sequence_value(&generated_value(next, &column.column_type));
            (table.id, next)
        };
        Ok(tables.iter().zip(shown).map(next).collect())
    }

    fn shown_database(&self, name: Option<&str>) -> Result<String, SqlError> {
        match name {
            Some(name) => self.known_database(name),
            None => self.environment.database.clone().ok_or_else(SqlError::no_database),
        }
    }

    fn shown_table(
        &self,
        name: &ast::ObjectName,
    ) -> Result<std::sync::Arc<types::Table>, SqlError> {
        let schema = name.schema.as_deref().or(self.environment.database.as_deref());
        if let Some(schema) = schema.and_then(information_schema::schema_named) {
            let own = VirtualTable::find(schema, &name.name)?;
            return Ok(std::sync::Arc::new(virtual_definition(own)));
        }
        let (catalogue, current) = (self.catalogue(), self.environment.database.as_deref());
        if let Some(view) = find_view(&catalogue, current, name) {
            return self.view_as_table(view).map(std::sync::Arc::new);
        }
        find_table(&catalogue, current, name)
    }

    fn table_names(&self, database: &str) -> Vec<(String, &'static str)> {
        if let Some(schema) = information_schema::schema_named(database) {
            let kind = information_schema::table_kind(schema);
            let own = VirtualTable::ALL.into_iter().filter(|own| own.schema() == schema);
            return own.map(|own| (own.name().to_string(), kind)).collect();
        }
        let catalogue = self.catalogue();
        let Some(own) = catalogue.database(database) else { return Vec::new() };
        let tables = own.tables.keys().filter(|name| !is_unfinished(name));
        let views = catalogue.views_of(database);
        let mut names: Vec<(String, &'static str)> = tables
            .map(|name| (name.clone(), "BASE TABLE"))
            .chain(views.map(|view| (view.name.clone(), "VIEW")))
            .collect();
        names.sort();
        names
    }

    async fn table_status(
        &mut self,
        database: Option<&str>,
        filter: &ast::ShowFilter,
    ) -> Result<Table, SqlError> {
        let database = self.shown_database(database)?;
        let titles = [
            "Name",
            "Engine",
            "#Version",
            "Row_format",
            "#Rows",
            "#Avg_row_length",
            "#Data_length",
            "#Max_data_length",
            "#Index_length",
            "#Data_free",
            "#Auto_increment",
            "Create_time",
            "Update_time",
            "Check_time",
            "Collation",
            "#Checksum",
            "Create_options",
            "Comment",
        ];
        let mut answer = Table::of_texts(&titles);
        let counts = row_counts(self).await;
        let catalogue = self.catalogue();
        let tables: Vec<&Arc<types::Table>> = match catalogue.database(&database) {
            Some(own) => own.tables.values().filter_map(|id| catalogue.table_by_id(*id)).collect(),
            None => Vec::new(),
        };
        let next_values = self.next_values(tables.iter().copied()).await?;
        for table in tables {
            if is_unfinished(&table.name) {
                continue;
            }
            let (rows, bytes) = counts.get(&table.id).copied().unwrap_or((0, 0));
            answer.push(vec![
                text(&table.name),
                text(&table.engine),
                number(10),
                text(row_format(table)),
                number(rows),
                number(bytes.checked_div(rows).unwrap_or(0)),
                number(bytes),
                number(0),
                number(0),
                number(0),
                next_values.get(&table.id).map_or(Value::Null, |next| number(*next)),
                Value::Null,
                Value::Null,
                Value::Null,
                text(table.collation.name()),
                Value::Null,
                text(create_options(table)),
                text(&table.comment),
            ]);
        }
        for view in catalogue.views_of(&database) {
            let mut row = vec![Value::Null; titles.len()];
            row[0] = text(&view.name);
            row[titles.len() - 1] = text("VIEW");
            answer.push(row);
        }
        answer.rows.sort_by(|left, right| name_of(left).cmp(name_of(right)));
        self.filtered(answer, filter).await
    }

    fn status(&self) -> Table {
        let total = |counter: fn(&Counters) -> &std::sync::atomic::AtomicU64| {
            self.server.total(counter).to_string()
        };
        let now = self.client.client().wall_clock_micros();
        let mut rows: Vec<(&str, String)> = vec![
            ("Com_commit", total(|own| &own.com_commit)),
            ("Com_delete", total(|own| &own.com_delete)),
            ("Com_insert", total(|own| &own.com_insert)),
            ("Com_load", total(|own| &own.com_load)),
            ("Com_rollback", total(|own| &own.com_rollback)),
            ("Com_select", total(|own| &own.com_select)),
            ("Com_update", total(|own| &own.com_update)),
            ("Connections", total(|own| &own.connections)),
            ("Created_tmp_disk_tables", total(|own| &own.temp_tables)),
            ("Created_tmp_files", total(|own| &own.temp_files)),
            ("Errors", total(|own| &own.errors)),
            ("Max_used_connections", self.server.connections_max_used().to_string()),
            ("Queries", total(|own| &own.questions)),
            ("Questions", total(|own| &own.questions)),
            ("Skarv_tmp_bytes_written", total(|own| &own.temp_bytes)),
            ("Slow_queries", total(|own| &own.slow)),
            ("Sort_merge_passes", total(|own| &own.sort_merges)),
            ("Ssl_cipher", self.info.tls_cipher.clone().unwrap_or_default()),
            ("Ssl_version", self.info.tls_version.clone().unwrap_or_default()),
            ("Threads_connected", self.server.connection_count().to_string()),
            (
                "Threads_running",
                self.server
                    .processes()
                    .iter()
                    .filter(|process| process.command == "Query")
                    .count()
                    .to_string(),
            ),
            ("Uptime", self.server.uptime_seconds(now).to_string()),
        ];
        {
            let cache = self.server.plan_cache(self.info.worker);
            rows.push(("Skarv_plan_cache_hits", cache.hits.to_string()));
            rows.push(("Skarv_plan_cache_misses", cache.misses.to_string()));
            rows.push(("Skarv_plan_cache_plans", cache.len().to_string()));
        }
        rows.sort();
        let mut table = Table::of_texts(&["Variable_name", "Value"]);
        for (name, value) in rows {
            table.push_texts(&[name, &value]);
        }
        table
    }

    async fn diagnostics(
        &mut self,
        limit: Option<&ast::Limit>,
        errors_only: bool,
    ) -> Result<Table, SqlError> {
        let mut table = Table::of_texts(&["Level", "#Code", "Message"]);
        for warning in self.frame.diagnostics.conditions() {
            if errors_only && warning.level != WarningLevel::Error {
                continue;
            }
            let level = match warning.level {
                WarningLevel::Note => "Note",
                WarningLevel::Warning => "Warning",
                WarningLevel::Error => "Error",
            };
            table.push(vec![text(level), number(u64::from(warning.code)), text(&warning.message)]);
        }
        if let Some(limit) = limit {
            let whole = |expr: &ast::Expr| match expr {
                ast::Expr::Literal(ast::Literal::Integer(number)) => {
                    Ok(usize::try_from(*number).unwrap_or(usize::MAX))
                }
                _ => Err(SqlError::not_supported("LIMIT of an expression")),
            };
            let offset = limit.offset.as_ref().map(whole).transpose()?.unwrap_or(0);
            let count = whole(&limit.count)?;
            table.rows = table.rows.into_iter().skip(offset).take(count).collect();
        }
        Ok(table)
    }

    /// DESCRIBE t [column or pattern].
    pub(crate) fn describe(
        &self,
        table: &ast::ObjectName,
        column: Option<&str>,
    ) -> Result<Table, SqlError> {
        let table = self.shown_table(table)?;
        let mut answer = columns_table(&table, false, self.settings.time_zone_offset_seconds);
        if let Some(pattern) = column {
            answer.rows.retain(|row| match &row[0] {
                Value::Text(own, _) => Collation::default().like(own, pattern, Some('\\')),
                _ => false,
            });
        }
        Ok(answer)
    }
}

/// The first value of a row of texts.
fn name_of(row: &[Value]) -> &str {
    match &row[0] {
        Value::Text(name, _) => name,
        _ => "",
    }
}

fn columns_table(table: &types::Table, full: bool, offset_seconds: i32) -> Table {
    let titles: &[&str] = match full {
        true => &[
            "Field",
            "Type",
            "Collation",
            "Null",
            "Key",
            "Default",
            "Extra",
            "Privileges",
            "Comment",
        ],
        false => &["Field", "Type", "Null", "Key", "Default", "Extra"],
    };
    let mut answer = Table::of_texts(titles);
    for (position, column) in table.columns.iter().enumerate() {
        if column.hidden {
            continue;
        }
        let mut row = vec![text(&column.name), text(column.type_name())];
        if full {
            let collation =
                column.column_type.collation().filter(|_| column.column_type.is_string());
            row.push(collation.map_or(Value::Null, |own| text(own.name())));
        }
        row.push(text(if column.nullable { "YES" } else { "NO" }));
        row.push(text(key_text(table, position)));
        row.push(default_text(column, offset_seconds).map_or(Value::Null, text));
        row.push(text(extra_text(column)));
        if full {
            row.push(text("select,insert,update,references"));
            row.push(text(&column.comment));
        }
        answer.push(row);
    }
    answer
}

fn index_table(table: &types::Table, known: Option<&TableStatistics>) -> Table {
    let mut answer = Table::of_texts(&[
        "Table",
        "#Non_unique",
        "Key_name",
        "#Seq_in_index",
        "Column_name",
        "Collation",
        "#Cardinality",
        "#Sub_part",
        "Packed",
        "Null",
        "Index_type",
        "Comment",
        "Index_comment",
        "Visible",
        "Expression",
    ]);
    for index in shown_indexes(table) {
        for (position, part) in index.parts.iter().enumerate() {
            let column = &table.columns[usize::from(part.column)];
            answer.push(vec![
                text(&table.name),
                number(u64::from(index.kind == IndexKind::Ordinary)),
                text(&index.name),
                number(position as u64 + 1),
                key_column(column),
                index_order(table, index, part),
                cardinality(known, index, position + 1),
                part.prefix.map_or(Value::Null, |prefix| number(u64::from(prefix))),
                Value::Null,
                text(if column.nullable { "YES" } else { "" }),
                text(index_type(table, index)),
                text(""),
                text(&index.comment),
                text("YES"),
                key_expression(column),
            ]);
        }
    }
    answer
}

/// INDEX_TYPE. MEMORY, whose name a table keeps, has indexes USING HASH where nothing else is written.
pub fn index_type(table: &types::Table, index: &types::Index) -> &'static str {
    match index.algorithm {
        Some(algorithm) => algorithm.name(),
        None if table.engine == "MEMORY" => IndexAlgorithm::Hash.name(),
        None => IndexAlgorithm::BTree.name(),
    }
}

/// COLLATION of a key part: A or D, and NULL in an index that is described as not ordered.
pub fn index_order(table: &types::Table, index: &types::Index, part: &types::IndexPart) -> Value {
    match index_type(table, index) {
        "HASH" => Value::Null,
        _ => text(if part.descending { "D" } else { "A" }),
    }
}

/// ROW_FORMAT of a table, of which InnoDB has no FIXED one.
pub fn row_format(table: &types::Table) -> &'static str {
    let written = table.options.iter().find(|(name, _)| name == "ROW_FORMAT");
    match written.map(|(_, value)| value.as_str()) {
        Some("COMPACT") => "Compact",
        Some("COMPRESSED") => "Compressed",
        Some("REDUNDANT") => "Redundant",
        _ => "Dynamic",
    }
}

/// CREATE_OPTIONS of a table.
pub fn create_options(table: &types::Table) -> String {
    let option = |(name, value): &(String, String)| match name.as_str() {
        "KEY_BLOCK_SIZE" => format!("{name}={value}"),
        _ => format!("{}={value}", name.to_ascii_lowercase()),
    };
    table.options.iter().map(option).collect::<Vec<String>>().join(" ")
}

/// The column of a key part; NULL for one that is an expression.
pub fn key_column(column: &Column) -> Value {
    if column.is_functional() { Value::Null } else { text(&column.name) }
}

/// The expression of a key part; NULL for a column.
pub fn key_expression(column: &Column) -> Value {
    match &column.generated {
        Some(generated) if column.hidden => text(escaped(&generated.expression.text)),
        _ => Value::Null,
    }
}

/// A table of information_schema as DESCRIBE sees it.
fn virtual_definition(own: VirtualTable) -> types::Table {
    let scope = own.scope(None);
    let columns = scope
        .columns
        .into_iter()
        .map(|column| described_column(column.name, column.column_type, true))
        .collect();
    types::Table {
        engine: "MEMORY".into(),
        ..described_table(scope.database, own.name().to_string(), columns)
    }
}

fn described_column(name: String, column_type: ColumnType, nullable: bool) -> Column {
    Column {
        name,
        column_type,
        nullable,
        default: ColumnDefault::None,
        on_update_now: false,
        comment: String::new(),
        hidden: false,
        display: NumberDisplay::default(),
        generated: None,
        missing: None,
        is_dropped: false,
    }
}

/// A definition that DESCRIBE and SHOW COLUMNS list, of a relation that stores no rows and has no key.
fn described_table(database: String, name: String, columns: Vec<Column>) -> types::Table {
    types::Table {
        id: TableId(0),
        version: types::SchemaVersion(0),
        state: types::TableState::Public,
        database,
        name,
        columns,
        indexes: vec![types::Index {
            id: types::IndexId(0),
            name: "PRIMARY".into(),
            kind: IndexKind::Primary,
            state: types::IndexState::Building,
            parts: Vec::new(),
            comment: String::new(),
            is_generated: false,
            algorithm: None,
        }],
        collation: Collation::default(),
        comment: String::new(),
        engine: String::new(),
        auto_increment: None,
        unique_of: None,
        constraints: types::Constraints::default(),
        rewriting: types::Rewriting::default(),
        closed_by: None,
        options: Vec::new(),
    }
}
