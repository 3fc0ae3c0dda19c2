//! A catalogue that no cluster holds, and a session that has nothing: enough to bind statements.

use std::sync::Arc;

use types::{
    Catalogue, Collation, Database, IndexId, IndexKind, SchemaVersion, SqlMode, TableId, Value,
};

use crate::SqlError;
use crate::bind::{Binder, Environment, SessionValues};
use crate::parser::{ast, parse_one};
use crate::statistics::TableStatistics;

/// The session of no connection.
pub struct NoSession;

impl SessionValues for NoSession {
    fn user_variable(&self, _name: &str) -> Option<&Value> {
        None
    }
    fn system_variable(&self, _: ast::VariableScope, name: &str) -> Result<Value, SqlError> {
        Err(SqlError::unknown_system_variable(name))
    }
    fn user(&self) -> String {
        "root@localhost".into()
    }
    fn current_user(&self) -> String {
        "root@localhost".into()
    }
    fn version(&self) -> String {
        "8.0.40".into()
    }
    fn connection_id(&self) -> u32 {
        1
    }
    fn time_zone_offset_seconds(&self) -> i32 {
        0
    }
    fn statistics(&self, _table: types::TableId) -> Option<Arc<TableStatistics>> {
        None
    }
    fn now_micros(&self) -> i64 {
        0
    }
}

pub fn environment() -> Environment {
    Environment {
        database: Some("test".into()),
        sql_mode: SqlMode::default(),
        client: types::Charset::Utf8mb4,
        collation: Collation::default(),
        group_concat_length_max: 1_024,
        div_precision_increment: 4,
        time_names: types::temporal::Locale::ENGLISH,
        default_week_format: 0,
        optimizer_switch: Default::default(),
        temporary_tables: 0,
    }
}

/// A catalogue of these CREATE TABLE statements in database `test`, with the ids the control plane would give. The error
/// is that of the statement which defines no table.
pub fn catalogue(creates: &[&str]) -> Result<Arc<Catalogue>, SqlError> {
    let mut catalogue = Catalogue { version: SchemaVersion(7), ..Catalogue::default() };
    let collation = Collation::default();
    let database = Database { name: "test".into(), collation, tables: Default::default() };
    catalogue.databases.insert("test".into(), database);
    let mut id = 10;
    for create in creates {
        let environment = environment();
        let (statement, _) =
            parse_one(create.as_bytes(), SqlMode::default()).map_err(SqlError::from)?;
        let ast::Statement::CreateTable(create) = statement else {
            return Err(SqlError::not_supported("anything but CREATE TABLE in a check"));
        };
        let empty = Arc::new(Catalogue::default());
        let mut binder = Binder::new(&empty, &environment, &NoSession, &[]);
        let mut table = binder.table_definition(&create, "test", collation)?;
        table.id = TableId(id);
        id += 1;
        for (number, index) in (0..).zip(&mut table.indexes) {
            index.id = IndexId(number);
            if matches!(index.kind, IndexKind::Unique { .. }) {
                index.kind = IndexKind::Unique { entries: TableId(id) };
                id += 1;
            }
        }
        let database = catalogue.databases.get_mut("test").expect("inserted above");
        database.tables.insert(table.name.clone(), table.id);
        catalogue.tables.insert(table.id, Arc::new(table));
    }
    Ok(Arc::new(catalogue))
}
