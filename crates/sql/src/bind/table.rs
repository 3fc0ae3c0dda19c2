//! CREATE TABLE, CREATE INDEX: from the written definition to [`types::Table`], with MySQL's checks.

use types::charset::names;
use types::convert::{ConvertContext, EvalSettings, StoreMode, store_displayed, to_text};
use types::expr::{EvalContext, NoColumns, eval};
use types::{
    AutoIncrement, Charset, Collation, Column, ColumnDefault, ColumnType, Incarnation, Index,
    IndexAlgorithm, IndexId, IndexKind, IndexPart, IndexState, IntWidth, NodeId, NumberDisplay,
    SchemaVersion, SqlMode, Table, TableId, TableState, Value, key, row,
};

use super::Binder;
use super::column_type::{column_type, number_display};
use super::constraint::check_generated;
use super::names::Scope;
use crate::error::{SqlError, code};
use crate::execute::evaluate::shifted;
use crate::parser::ast;

/// The hidden primary key of a table that was given none.
pub const ROW_ID_COLUMN: &str = "#rowid";

/// How the names of tables begin and end that CREATE TABLE ... SELECT or a restore is filling: no statement can name them,
/// because no name of a user's ends with a space, and nothing shows them.
const UNFINISHED_PREFIX: &str = "#sql-";
const UNFINISHED_SUFFIX: &str = " ";

pub fn is_unfinished(table_name: &str) -> bool {
    table_name.starts_with(UNFINISHED_PREFIX) && table_name.ends_with(UNFINISHED_SUFFIX)
}

/// The name of a table that this boot of a node fills, and drops if it cannot.
pub fn unfinished_name(node: NodeId, boot: Incarnation, rest: &str) -> String {
    format!("{UNFINISHED_PREFIX}{node}-{}-{rest}{UNFINISHED_SUFFIX}", boot.text())
}

/// Who fills it: when that boot is over nobody does.
pub fn filler_of(table_name: &str) -> Option<(NodeId, Incarnation)> {
    let name = table_name.strip_prefix(UNFINISHED_PREFIX)?.strip_suffix(UNFINISHED_SUFFIX)?;
    let mut parts = name.split('-');
    let node = NodeId(parts.next()?.parse().ok()?);
    let boot = Incarnation(u64::from_str_radix(parts.next()?, 16).ok()?);
    parts.next().map(|_| (node, boot))
}

const NAME_LENGTH_MAX: usize = 64;
const COMMENT_LENGTH_MAX: usize = 1024;
const TABLE_COMMENT_LENGTH_MAX: usize = 2048;
/// Keys of a table that users see.
pub const INDEX_COUNT_MAX: usize = 64;
/// Bytes of one row's columns, strings by their declared length (MySQL's own bound; TEXT and BLOB count little).
const ROW_SIZE_DECLARED_MAX: u64 = 65_535;

/// ENGINE names that are taken to mean this engine.
const ENGINES: &[(&str, &str)] = &[
    ("INNODB", "InnoDB"),
    ("NDB", "ndbcluster"),
    ("NDBCLUSTER", "ndbcluster"),
    ("MEMORY", "MEMORY"),
    ("HEAP", "MEMORY"),
    ("SKARV", "Skarv"),
];

/// Engines of MySQL 8 for which this engine stands in: all that a table of theirs does, a table of this one does, too. Those of
/// BLACKHOLE, MERGE and FEDERATED keep no rows of their own, and are unknown here.
const SUBSTITUTED_ENGINES: &[&str] = &["MYISAM", "ARCHIVE", "CSV"];
const ENGINE_DEFAULT: &str = "InnoDB";

/// Engines whose indexes may be USING HASH in MySQL 8.
const ENGINES_WITH_HASH: &[&str] = &["MEMORY", "ndbcluster"];

/// What USING keeps of an index in a table of this engine.
fn kept_algorithm(engine: &str, written: Option<ast::IndexAlgorithm>) -> Option<IndexAlgorithm> {
    match written? {
        ast::IndexAlgorithm::BTree => Some(IndexAlgorithm::BTree),
        ast::IndexAlgorithm::Hash if ENGINES_WITH_HASH.contains(&engine) => {
            Some(IndexAlgorithm::Hash)
        }
        ast::IndexAlgorithm::Hash | ast::IndexAlgorithm::RTree => None,
    }
}

/// USING HASH in a table of an engine without such indexes: note 3502.
pub fn lacks_algorithm(engine: &str, definition: &ast::IndexDefinition) -> bool {
    definition.algorithm == Some(ast::IndexAlgorithm::Hash)
        && kept_algorithm(engine, definition.algorithm).is_none()
}

/// An engine name as it is kept; 1286 for others.
pub fn engine_name(written: &str) -> Result<&'static str, SqlError> {
    let upper = written.to_ascii_uppercase();
    ENGINES.iter().find(|(name, _)| *name == upper).map(|(_, kept)| *kept).ok_or_else(|| {
        SqlError::new(
            code::ER_UNKNOWN_STORAGE_ENGINE,
            format!("Unknown storage engine '{written}'"),
        )
    })
}

/// Table options that change nothing here and are shown where they were written, in the order of SHOW CREATE TABLE.
const KEPT_OPTIONS: &[&str] = &[
    "MIN_ROWS",
    "MAX_ROWS",
    "AVG_ROW_LENGTH",
    "PACK_KEYS",
    "STATS_PERSISTENT",
    "STATS_AUTO_RECALC",
    "STATS_SAMPLE_PAGES",
    "CHECKSUM",
    "DELAY_KEY_WRITE",
    "ROW_FORMAT",
    "KEY_BLOCK_SIZE",
];

/// Others that change nothing here and may be given.
const IGNORED_OPTIONS: &[&str] =
    &["COMPRESSION", "ENCRYPTION", "INSERT_METHOD", "NODEGROUP", "STORAGE"];

/// Gives a table the written options; 1235 for those that it cannot have.
pub fn set_options(
    options: &mut Vec<(String, String)>,
    written: &[(String, String)],
) -> Result<(), SqlError> {
    let place = |name: &str| KEPT_OPTIONS.iter().position(|own| *own == name);
    for (name, value) in written {
        if place(name).is_none() {
            if !IGNORED_OPTIONS.contains(&name.as_str()) {
                return Err(SqlError::not_supported(format!("table option {name}")));
            }
            continue;
        }
        options.retain(|(own, _)| own != name);
        if let Some(value) = kept_value(name, value) {
            options.push((name.clone(), value));
        }
    }
    options.sort_by_key(|(name, _)| place(name));
    Ok(())
}

/// The value of one of [`KEPT_OPTIONS`]. None for one that means what a table without the option has.
fn kept_value(name: &str, written: &str) -> Option<String> {
    const ROW_FORMATS: &[&str] = &["DYNAMIC", "COMPACT", "COMPRESSED", "REDUNDANT", "FIXED"];
    let upper = written.to_ascii_uppercase();
    match name {
        "ROW_FORMAT" => ROW_FORMATS.contains(&upper.as_str()).then_some(upper),
        _ => {
            let number: u64 = written.parse().ok()?;
            let zero_means_something =
                matches!(name, "PACK_KEYS" | "STATS_PERSISTENT" | "STATS_AUTO_RECALC");
            (0 < number || zero_means_something).then(|| number.to_string())
        }
    }
}

/// The collation of CHARACTER SET and COLLATE clauses; None when neither was written.
pub fn collation_of(
    charset: Option<&str>,
    collation: Option<&str>,
) -> Result<Option<Collation>, SqlError> {
    if let (Some(charset), Some(collation)) = (charset, collation)
        && let (Some(own), Some(other)) =
            (names::charset_named(charset), names::charset_of_collation(collation))
        && own != other
    {
        return Err(SqlError::collation_mismatch(collation, charset));
    }
    let by_charset = match charset {
        Some(name) => Some(
            Collation::default_of_charset(name)
                .ok_or_else(|| SqlError::unknown_character_set(name))?,
        ),
        None => None,
    };
    let by_name = match collation {
        Some(name) => {
            Some(Collation::by_name(name).ok_or_else(|| SqlError::unknown_collation(name))?)
        }
        None => None,
    };
    Ok(by_name.or(by_charset))
}

pub fn check_table_comment(table: &str, comment: &str) -> Result<(), SqlError> {
    match TABLE_COMMENT_LENGTH_MAX < comment.chars().count() {
        true => Err(SqlError::new(
            1628,
            format!("Comment for table '{table}' is too long (max = 2048)"),
        )),
        false => Ok(()),
    }
}

/// Checks a database's, table's or column's name.
pub fn check_name(name: &str, error: u16, what: &str) -> Result<(), SqlError> {
    if NAME_LENGTH_MAX < name.chars().count() {
        return Err(SqlError::new(
            code::ER_TOO_LONG_IDENT,
            format!("Identifier name '{name}' is too long"),
        ));
    }
    let is_wrong = name.is_empty()
        || name.ends_with(' ')
        || name.chars().any(|character| character == '\0' || character > '\u{ffff}');
    if is_wrong {
        return Err(SqlError::new(error, format!("Incorrect {what} name '{name}'")));
    }
    Ok(())
}

/// Checks the name of a table that is to be there: 1103 and 1102 for what no table and database can be called.
pub fn check_written_name(name: &ast::ObjectName) -> Result<(), SqlError> {
    if let Some(schema) = &name.schema {
        check_name(schema, code::ER_WRONG_DB_NAME, "database")?;
    }
    check_name(&name.name, code::ER_WRONG_TABLE_NAME, "table")
}

/// A column of a new table: written, or made by a SELECT.
pub enum NewColumn<'a> {
    Written(&'a ast::ColumnDefinition),
    Derived(Column),
}

impl NewColumn<'_> {
    fn name(&self) -> &str {
        match self {
            NewColumn::Written(definition) => &definition.name,
            NewColumn::Derived(column) => &column.name,
        }
    }
    fn written(&self) -> Option<&ast::ColumnDefinition> {
        match self {
            NewColumn::Written(definition) => Some(definition),
            NewColumn::Derived(_) => None,
        }
    }
}

impl Binder<'_> {
    /// The table as it is to be created in `database`, whose collation is the default.
    pub fn table_definition(
        &mut self,
        create: &ast::CreateTable,
        database: &str,
        database_collation: Collation,
    ) -> Result<Table, SqlError> {
        let columns: Vec<_> = create.columns.iter().map(NewColumn::Written).collect();
        self.table_of(create, &columns, database, database_collation)
    }

    /// The same for a table of these columns, in which those of `create` are.
    pub fn table_of(
        &mut self,
        create: &ast::CreateTable,
        columns: &[NewColumn<'_>],
        database: &str,
        database_collation: Collation,
    ) -> Result<Table, SqlError> {
        check_name(&create.name.name, code::ER_WRONG_TABLE_NAME, "table")?;
        refuse_unsupported(create)?;
        let options = &create.options;
        let mut kept_options = Vec::new();
        set_options(&mut kept_options, &options.other)?;
        let engine = match &options.engine {
            Some(written) => self.engine(written, &create.name.name)?,
            None => ENGINE_DEFAULT,
        };
        let collation = collation_of(options.charset.as_deref(), options.collation.as_deref())?
            .unwrap_or(database_collation);
        if let Some(charset) = &options.charset {
            self.warn_of_charset(charset, false);
        }
        if let Some(collation) = &options.collation {
            self.warn_of_collation(collation);
        }
        let comment = options.comment.clone().unwrap_or_default();
        check_table_comment(&create.name.name, &comment)?;
        if columns.is_empty() {
            return Err(SqlError::new(
                code::ER_TABLE_MUST_HAVE_COLUMNS,
                "A table must have at least 1 column",
            ));
        }
        let mut table = Table {
            id: TableId(0),
            version: SchemaVersion(0),
            state: TableState::Public,
            database: database.to_string(),
            name: create.name.name.clone(),
            columns: Vec::new(),
            indexes: Vec::new(),
            collation,
            comment,
            engine: engine.to_string(),
            auto_increment: None,
            unique_of: None,
            constraints: types::Constraints::default(),
            rewriting: types::Rewriting::default(),
            closed_by: None,
            options: kept_options,
        };
        for column in columns {
            check_name(column.name(), code::ER_WRONG_COLUMN_NAME, "column")?;
            if table.column_named(column.name()).is_some() {
                return Err(SqlError::duplicate_column(column.name()));
            }
            table.columns.push(match column {
                NewColumn::Written(definition) => self.column_definition(definition, collation)?,
                NewColumn::Derived(column) => column.clone(),
            });
        }
        if row::COLUMN_COUNT_MAX.min(4095) < table.columns.len() {
            return Err(SqlError::new(code::ER_TOO_MANY_FIELDS, "Too many columns"));
        }
        check_row_size(&table)?;
        self.keys(create, columns, &mut table)?;
        auto_increment(create, &mut table)?;
        check_partitioning(create, &table)?;
        self.define_expressions(create, columns, &mut table)?;
        Ok(table)
    }

    /// The engine of a table by its written name. Where another one stands in it warns with 1266; 1286 for an unknown one, unless the
    /// mode substitutes those, too.
    pub fn engine(&mut self, written: &str, table: &str) -> Result<&'static str, SqlError> {
        let unknown = match engine_name(written) {
            Ok(engine) => return Ok(engine),
            Err(unknown) => unknown,
        };
        if !SUBSTITUTED_ENGINES.contains(&written.to_ascii_uppercase().as_str()) {
            if self.environment.sql_mode.has(SqlMode::NO_ENGINE_SUBSTITUTION) {
                return Err(unknown);
            }
            self.warn(unknown);
        }
        self.warn(SqlError::new(
            code::ER_WARN_USING_OTHER_HANDLER,
            format!("Using storage engine {ENGINE_DEFAULT} for table '{table}'"),
        ));
        Ok(ENGINE_DEFAULT)
    }

    pub fn column_definition(
        &mut self,
        definition: &ast::ColumnDefinition,
        table_collation: Collation,
    ) -> Result<Column, SqlError> {
        check_generated(definition)?;
        if definition.invisible {
            return Err(SqlError::not_supported("INVISIBLE column"));
        }
        if definition.storage.as_deref() == Some("DISK") {
            return Err(SqlError::not_supported("STORAGE DISK"));
        }
        let comment = definition.comment.clone().unwrap_or_default();
        if COMMENT_LENGTH_MAX < comment.chars().count() {
            return Err(SqlError::new(
                code::ER_TOO_LONG_FIELD_COMMENT,
                format!("Comment for field '{}' is too long (max = 1024)", definition.name),
            ));
        }
        let column_type = column_type(&definition.name, &definition.data_type, table_collation)?;
        if let Some(charset) = &definition.data_type.charset {
            self.warn_of_charset(charset, definition.data_type.is_national);
        }
        if let Some(collation) = &definition.data_type.collation {
            self.warn_of_collation(collation);
        }
        let nullable = definition.nullable.unwrap_or(true) && !definition.primary_key;
        if definition.nullable == Some(true) && definition.primary_key {
            return Err(SqlError::new(
                code::ER_PRIMARY_CANT_HAVE_NULL,
                "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead",
            ));
        }
        if let Some(fsp) = definition.on_update_now {
            let own = match column_type {
                ColumnType::Timestamp { fsp } | ColumnType::DateTime { fsp } => Some(fsp),
                _ => None,
            };
            if own != Some(fsp) {
                return Err(SqlError::new(
                    code::ER_INVALID_ON_UPDATE,
                    format!("Invalid ON UPDATE clause for '{}' column", definition.name),
                ));
            }
        }
        let display = number_display(&definition.data_type, &column_type);
        let mut column = Column {
            name: definition.name.clone(),
            column_type,
            nullable,
            default: ColumnDefault::None,
            on_update_now: definition.on_update_now.is_some(),
            comment,
            hidden: false,
            display,
            generated: None,
            missing: None,
            is_dropped: false,
        };
        if definition.auto_increment {
            if definition.default.is_some() {
                return Err(SqlError::invalid_default(&column.name));
            }
            if !matches!(column.column_type, ColumnType::Int { .. }) {
                return Err(SqlError::new(
                    code::ER_WRONG_FIELD_SPEC,
                    format!("Incorrect column specifier for column '{}'", column.name),
                ));
            }
            column.nullable = false;
            column.default = ColumnDefault::AutoIncrement;
        } else if let Some(ast::DefaultClause::Value(default)) = &definition.default {
            column.default = self.column_default(&column, default)?;
        }
        Ok(column)
    }

    pub fn column_default(
        &mut self,
        column: &Column,
        default: &ast::Expr,
    ) -> Result<ColumnDefault, SqlError> {
        let invalid = || SqlError::invalid_default(&column.name);
        if let ast::Expr::Function { name, arguments, schema: None } = default
            && name == "NOW"
        {
            let fsp = match arguments.first() {
                None => 0,
                Some(ast::Expr::Literal(ast::Literal::Integer(fsp))) => *fsp,
                Some(_) => return Err(invalid()),
            };
            return match column.column_type {
                ColumnType::Timestamp { fsp: own } | ColumnType::DateTime { fsp: own }
                    if u64::from(own) == fsp =>
                {
                    Ok(ColumnDefault::Now)
                }
                _ => Err(invalid()),
            };
        }
        let is_literal = match default {
            ast::Expr::Literal(_) => true,
            ast::Expr::Unary { operator, operand } => {
                matches!(operator, ast::UnaryOperator::Negate | ast::UnaryOperator::Plus)
                    && matches!(**operand, ast::Expr::Literal(_))
            }
            _ => false,
        };
        if !is_literal {
            return Err(invalid());
        }
        let bound = self.bound(default, &Scope::empty("default"))?;
        let zone = self.session.time_zone_offset_seconds();
        let settings = EvalSettings {
            time_zone_offset_seconds: zone,
            date_modes: self.environment.sql_mode.date_modes(),
            ignore_division_by_zero: self.environment.sql_mode.ignores_division_by_zero(),
            ..EvalSettings::default()
        };
        let mut context = EvalContext::with(&[], settings);
        let value = eval(&bound.expr, &NoColumns, &mut context).map_err(|_| invalid())?;
        if value.is_null() {
            // DEFAULT NULL of a NOT NULL column is a contradiction; else it is what no clause means.
            return if column.nullable {
                Ok(ColumnDefault::Value(Value::Null))
            } else {
                Err(invalid())
            };
        }
        if matches!(
            column.column_type,
            ColumnType::Text { .. } | ColumnType::Blob { .. } | ColumnType::Json
        ) {
            return Err(SqlError::new(
                code::ER_BLOB_CANT_HAVE_DEFAULT,
                format!(
                    "BLOB, TEXT, GEOMETRY or JSON column '{}' can't have a default value",
                    column.name
                ),
            ));
        }
        let value = match value {
            Value::Bytes(bytes) if column.column_type.is_numeric() => {
                Value::UInt(super::expr::bytes_as_number(&bytes).ok_or_else(invalid)?)
            }
            value => value,
        };
        // A default must fit whatever the mode; the dates that the mode admits are dates.
        let mut convert = ConvertContext::new(settings);
        let (column_type, display) = (&column.column_type, column.display);
        if let ColumnType::Labelled(labels) = column_type
            && !labels.spells(&to_text(value.as_ref()))
        {
            // A number is stored as the number of a label, but its text must be a label's all the same.
            return Err(invalid());
        }
        let (value, mode) = (value.as_ref(), StoreMode::Strict);
        let stored = store_displayed(value, column_type, display, mode, &mut convert);
        let (stored, _) = stored.map_err(|_| invalid())?;
        Ok(ColumnDefault::Value(match (stored, &column.column_type) {
            // It was written in the session's zone; rows hold UTC.
            (Value::DateTime(local), ColumnType::Timestamp { .. }) if !local.is_zero() => {
                Value::DateTime(shifted(local, -zone))
            }
            (stored, _) => stored,
        }))
    }

    fn keys(
        &mut self,
        create: &ast::CreateTable,
        columns: &[NewColumn<'_>],
        table: &mut Table,
    ) -> Result<(), SqlError> {
        // The primary key: at a column or at the table, once.
        let mut primary: Option<Vec<IndexPart>> = None;
        let multiple = || SqlError::new(code::ER_MULTIPLE_PRI_KEY, "Multiple primary key defined");
        for (position, column) in columns.iter().enumerate() {
            if column.written().is_some_and(|written| written.primary_key) {
                if primary.is_some() {
                    return Err(multiple());
                }
                primary = Some(vec![IndexPart {
                    column: position as u16,
                    prefix: None,
                    descending: false,
                }]);
            }
        }
        let mut primary_comment = String::new();
        let mut primary_algorithm = None;
        for definition in &create.indexes {
            if definition.kind == ast::IndexKind::Primary {
                if primary.is_some() {
                    return Err(multiple());
                }
                let parts = index_parts(table, definition)?;
                for part in &parts {
                    let written = columns[usize::from(part.column)].written();
                    if written.is_some_and(|written| written.nullable == Some(true)) {
                        return Err(SqlError::new(
                            code::ER_PRIMARY_CANT_HAVE_NULL,
                            "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use \
                             UNIQUE instead",
                        ));
                    }
                    let column = &mut table.columns[usize::from(part.column)];
                    column.nullable = false;
                    // DEFAULT NULL was no more than what a column without a default has.
                    if matches!(column.default, ColumnDefault::Value(Value::Null)) {
                        column.default = ColumnDefault::None;
                    }
                }
                primary_comment = definition.comment.clone().unwrap_or_default();
                primary_algorithm = kept_algorithm(&table.engine, definition.algorithm);
                primary = Some(parts);
            }
        }
        let primary = match primary {
            Some(parts) => {
                for part in &parts {
                    let column_type = &table.columns[usize::from(part.column)].column_type;
                    if *column_type == ColumnType::Json {
                        return Err(json_key(&table.columns[usize::from(part.column)].name));
                    }
                    if part.prefix.is_none()
                        && matches!(column_type, ColumnType::Text { .. } | ColumnType::Blob { .. })
                    {
                        return Err(blob_key(&table.columns[usize::from(part.column)].name));
                    }
                    if part.prefix.is_some() {
                        return Err(SqlError::not_supported("PRIMARY KEY on a prefix of a column"));
                    }
                }
                parts
            }
            None => {
                table.columns.push(Column {
                    name: ROW_ID_COLUMN.into(),
                    column_type: ColumnType::Int { width: IntWidth::W8, unsigned: true },
                    nullable: false,
                    default: ColumnDefault::AutoIncrement,
                    on_update_now: false,
                    comment: String::new(),
                    hidden: true,
                    display: NumberDisplay::default(),
                    generated: None,
                    missing: None,
                    is_dropped: false,
                });
                vec![IndexPart {
                    column: (table.columns.len() - 1) as u16,
                    prefix: None,
                    descending: false,
                }]
            }
        };
        table.indexes.push(Index {
            id: IndexId(0),
            name: "PRIMARY".into(),
            kind: IndexKind::Primary,
            state: IndexState::Public,
            parts: primary,
            comment: primary_comment,
            is_generated: false,
            algorithm: primary_algorithm,
        });
        check_key_length(table, &table.indexes[0].parts)?;
        for definition in secondary_keys(create) {
            let definition = self.with_functional_columns(&definition, table)?;
            let index = index_definition(table, &definition)?;
            table.indexes.push(index);
        }
        table.indexes = table.indexes_as_shown().into_iter().cloned().collect();
        Ok(())
    }
}

/// The keys besides the primary one, those of columns among them, as they were written: names are given in this order.
fn secondary_keys(create: &ast::CreateTable) -> Vec<ast::IndexDefinition> {
    // Twice the number of columns before a key, and one more for the key of the column that follows.
    let mut keys: Vec<(usize, ast::IndexDefinition)> = create
        .indexes
        .iter()
        .filter(|own| own.kind != ast::IndexKind::Primary)
        .map(|own| (2 * own.columns_before, own.clone()))
        .collect();
    let unique = create.columns.iter().enumerate().filter(|(_, column)| column.unique);
    keys.extend(unique.map(|(position, column)| {
        let name = column.name.clone();
        let target = ast::KeyPartTarget::Column { name, prefix_length: None };
        let definition = ast::IndexDefinition {
            kind: ast::IndexKind::Unique,
            name: None,
            parts: vec![ast::KeyPart { target, descending: false }],
            algorithm: None,
            comment: None,
            invisible: false,
            columns_before: position,
        };
        (2 * position + 1, definition)
    }));
    keys.sort_by_key(|(order, _)| *order);
    keys.into_iter().map(|(_, definition)| definition).collect()
}

/// Keys that users see; those that are dropped count no more.
fn key_count(table: &Table) -> usize {
    let is_shown = |index: &&Index| {
        !matches!(index.state, IndexState::Dropping | IndexState::Ending)
            && index.parts.iter().all(|part| !table.columns[usize::from(part.column)].is_row_id())
    };
    table.indexes.iter().filter(is_shown).count()
}

fn kind_name(kind: ast::IndexKind) -> &'static str {
    match kind {
        ast::IndexKind::Primary => "PRIMARY KEY",
        ast::IndexKind::Unique => "UNIQUE",
        ast::IndexKind::Plain => "KEY",
        ast::IndexKind::Fulltext => "FULLTEXT",
        ast::IndexKind::Spatial => "SPATIAL",
    }
}

fn refuse_unsupported(create: &ast::CreateTable) -> Result<(), SqlError> {
    if !create.foreign_keys.is_empty() && create.as_query.is_some() {
        return Err(SqlError::not_supported("FOREIGN KEY in CREATE TABLE ... SELECT"));
    }
    Ok(())
}

/// A secondary index of a table; its id and entries table are assigned when it is created.
pub fn index_definition(
    table: &Table,
    definition: &ast::IndexDefinition,
) -> Result<Index, SqlError> {
    match definition.kind {
        ast::IndexKind::Fulltext | ast::IndexKind::Spatial => {
            return Err(SqlError::not_supported(kind_name(definition.kind)));
        }
        ast::IndexKind::Primary => return Err(SqlError::not_supported("ADD PRIMARY KEY")),
        ast::IndexKind::Unique | ast::IndexKind::Plain => {}
    }
    if definition.invisible {
        return Err(SqlError::not_supported("INVISIBLE index"));
    }
    if INDEX_COUNT_MAX <= key_count(table) {
        return Err(SqlError::new(
            code::ER_TOO_MANY_KEYS,
            format!("Too many keys specified; max {INDEX_COUNT_MAX} keys allowed"),
        ));
    }
    let parts = index_parts(table, definition)?;
    let name = match &definition.name {
        Some(name) => {
            if name.eq_ignore_ascii_case("PRIMARY") || name.is_empty() {
                return Err(SqlError::new(
                    code::ER_WRONG_NAME_FOR_INDEX,
                    format!("Incorrect index name '{name}'"),
                ));
            }
            check_name(name, code::ER_WRONG_NAME_FOR_INDEX, "index")?;
            name.clone()
        }
        None => free_name(table, &table.columns[usize::from(parts[0].column)].name),
    };
    if table.index_named(&name).is_some() {
        return Err(SqlError::duplicate_key_name(&name));
    }
    let comment = definition.comment.clone().unwrap_or_default();
    if COMMENT_LENGTH_MAX < comment.chars().count() {
        return Err(SqlError::new(
            1688,
            format!("Comment for index '{name}' is too long (max = 1024)"),
        ));
    }
    check_key_length(table, &parts)?;
    let kind = match definition.kind {
        // The number is assigned with the table's id.
        ast::IndexKind::Unique => IndexKind::Unique { entries: TableId(0) },
        _ => IndexKind::Ordinary,
    };
    let id = table.indexes.iter().map(|index| index.id.0 + 1).max().unwrap_or(1);
    let state = IndexState::Public;
    let algorithm = kept_algorithm(&table.engine, definition.algorithm);
    let id = IndexId(id);
    Ok(Index { id, name, kind, state, parts, comment, is_generated: false, algorithm })
}

/// An index without a name is called after its first column, with a number if that is taken.
fn free_name(table: &Table, column: &str) -> String {
    let mut number = 1;
    let mut name = column.to_string();
    while table.index_named(&name).is_some() || name.eq_ignore_ascii_case("PRIMARY") {
        number += 1;
        name = format!("{column}_{number}");
    }
    name
}

fn index_parts(
    table: &Table,
    definition: &ast::IndexDefinition,
) -> Result<Vec<IndexPart>, SqlError> {
    if key::KEY_PART_COUNT_MAX < definition.parts.len() {
        return Err(SqlError::new(
            code::ER_TOO_MANY_KEY_PARTS,
            format!("Too many key parts specified; max {} parts allowed", key::KEY_PART_COUNT_MAX),
        ));
    }
    let mut parts: Vec<IndexPart> = Vec::new();
    for part in &definition.parts {
        let ast::KeyPartTarget::Column { name, prefix_length } = &part.target else {
            return Err(SqlError::new(3756, "The primary key cannot be a functional index"));
        };
        let position = table.column_named(name).filter(|&own| !table.columns[own].is_row_id());
        let Some(position) = position else {
            return Err(SqlError::new(
                code::ER_KEY_COLUMN_DOES_NOT_EXITS,
                format!("Key column '{name}' doesn't exist in table"),
            ));
        };
        if parts.iter().any(|own| usize::from(own.column) == position) {
            return Err(SqlError::duplicate_column(name));
        }
        let column = &table.columns[position];
        let wrong_prefix = || {
            SqlError::new(
                code::ER_WRONG_SUB_KEY,
                "Incorrect prefix key; the used key part isn't a string, the used length is longer than the \
                 key part, or the storage engine doesn't support unique prefix keys",
            )
        };
        let prefix = match (&column.column_type, prefix_length) {
            (_, Some(0)) => {
                return Err(SqlError::new(1391, format!("Key part '{name}' length cannot be 0")));
            }
            (ColumnType::Json, _) => return Err(json_key(name)),
            (ColumnType::Text { .. } | ColumnType::Blob { .. }, None) => {
                return Err(blob_key(name));
            }
            (ColumnType::Text { .. } | ColumnType::Blob { .. }, Some(length)) => {
                Some(u32::try_from(*length).map_err(|_| wrong_prefix())?)
            }
            (
                ColumnType::Char { length, .. }
                | ColumnType::Varchar { length, .. }
                | ColumnType::Binary { length }
                | ColumnType::Varbinary { length },
                Some(prefix),
            ) => {
                let prefix = u32::try_from(*prefix).map_err(|_| wrong_prefix())?;
                match prefix.cmp(length) {
                    std::cmp::Ordering::Less => Some(prefix),
                    std::cmp::Ordering::Equal => None,
                    std::cmp::Ordering::Greater => return Err(wrong_prefix()),
                }
            }
            (
                ColumnType::Char { length: 0, .. }
                | ColumnType::Varchar { length: 0, .. }
                | ColumnType::Binary { length: 0 }
                | ColumnType::Varbinary { length: 0 },
                None,
            ) => {
                return Err(SqlError::new(
                    code::ER_WRONG_KEY_COLUMN,
                    format!("The used storage engine can't index column '{name}'"),
                ));
            }
            (_, Some(_)) => return Err(wrong_prefix()),
            (_, None) => None,
        };
        parts.push(IndexPart {
            column: u16::try_from(position).expect("tables are narrow"),
            prefix,
            descending: part.descending,
        });
    }
    Ok(parts)
}

fn json_key(column: &str) -> SqlError {
    SqlError::new(
        code::ER_JSON_USED_AS_KEY,
        format!(
            "JSON column '{column}' supports indexing only via generated columns on a specified JSON path."
        ),
    )
}

fn blob_key(column: &str) -> SqlError {
    SqlError::new(
        code::ER_BLOB_KEY_WITHOUT_LENGTH,
        format!("BLOB/TEXT column '{column}' used in key specification without a key length"),
    )
}

/// The most bytes of `count` characters of a column.
fn size_of_characters(column_type: &ColumnType, count: u32) -> u64 {
    let charset = column_type.collation().map_or(Charset::Binary, Collation::charset);
    u64::from(count) * u64::from(charset.character_size_max())
}

/// 1071 when the parts may need more than 3072 bytes.
pub fn check_key_length(table: &Table, parts: &[IndexPart]) -> Result<(), SqlError> {
    let mut length = 0u64;
    for part in parts {
        let column_type = &table.columns[usize::from(part.column)].column_type;
        length += match (column_type, part.prefix) {
            (
                ColumnType::Blob { .. } | ColumnType::Binary { .. } | ColumnType::Varbinary { .. },
                Some(prefix),
            ) => u64::from(prefix),
            (_, Some(prefix)) => size_of_characters(column_type, prefix),
            (ColumnType::Char { length, .. } | ColumnType::Varchar { length, .. }, None) => {
                size_of_characters(column_type, *length)
            }
            (ColumnType::Binary { length } | ColumnType::Varbinary { length }, None) => {
                u64::from(*length)
            }
            (column_type, None) => column_type.fixed_size().unwrap_or(8) as u64,
        };
    }
    if key::KEY_LENGTH_MAX as u64 >= length {
        return Ok(());
    }
    Err(SqlError::new(
        code::ER_TOO_LONG_KEY,
        format!("Specified key was too long; max key length is {} bytes", key::KEY_LENGTH_MAX),
    ))
}

/// 1118 when a row of columns of their full lengths is longer than MySQL allows, counted as MySQL does: TEXT and BLOB as
/// a length and a pointer, characters by the most bytes they take, and a bit for each column that can be NULL.
pub fn check_row_size(table: &Table) -> Result<(), SqlError> {
    let length_size = |bytes: u64| if bytes < 256 { 1 } else { 2 };
    let mut size = 0u64;
    let mut nullable_count = 0;
    let mut is_variable = false;
    for column in &table.columns {
        nullable_count += u64::from(column.nullable);
        size += match &column.column_type {
            ColumnType::Text { bytes_max, .. } | ColumnType::Blob { bytes_max } => {
                is_variable = true;
                8 + match bytes_max {
                    0..=255 => 1,
                    256..=65_535 => 2,
                    65_536..=16_777_215 => 3,
                    _ => 4,
                }
            }
            ColumnType::Json => {
                is_variable = true;
                12
            }
            ColumnType::Char { length, .. } => size_of_characters(&column.column_type, *length),
            ColumnType::Varchar { length, .. } => {
                is_variable = true;
                let bytes = size_of_characters(&column.column_type, *length);
                bytes + length_size(bytes)
            }
            ColumnType::Binary { length } => u64::from(*length),
            ColumnType::Varbinary { length } => {
                is_variable = true;
                u64::from(*length) + length_size(u64::from(*length))
            }
            other => other.fixed_size().unwrap_or(8) as u64,
        };
    }
    // Rows of one length have a bit that marks deleted ones.
    size += (nullable_count + u64::from(!is_variable)).div_ceil(8);
    if size <= ROW_SIZE_DECLARED_MAX {
        return Ok(());
    }
    Err(SqlError::new(
        code::ER_TOO_BIG_ROWSIZE,
        "Row size too large. The maximum row size for the used table type, not counting BLOBs, is 65535. This \
         includes storage overhead, check the manual. You have to change some columns to TEXT or BLOBs",
    ))
}

fn auto_increment(create: &ast::CreateTable, table: &mut Table) -> Result<(), SqlError> {
    let wrong = || {
        SqlError::new(
            code::ER_WRONG_AUTO_KEY,
            "Incorrect table definition; there can be only one auto column and it must be defined as a key",
        )
    };
    let generated: Vec<usize> = (0..table.columns.len())
        .filter(|&own| {
            !table.columns[own].hidden
                && matches!(table.columns[own].default, ColumnDefault::AutoIncrement)
        })
        .collect();
    let hidden = table.columns.iter().position(Column::is_row_id);
    let column = match (generated.as_slice(), hidden) {
        ([], None) => return Ok(()),
        ([], Some(hidden)) => hidden,
        ([column], _) => {
            let leads = |index: &Index| usize::from(index.parts[0].column) == *column;
            if !table.indexes.iter().any(leads) {
                return Err(wrong());
            }
            *column
        }
        _ => return Err(wrong()),
    };
    table.auto_increment = Some(AutoIncrement {
        column: u16::try_from(column).expect("tables are narrow"),
        start: create.options.auto_increment.unwrap_or(1).max(1),
    });
    Ok(())
}

fn check_partitioning(create: &ast::CreateTable, table: &Table) -> Result<(), SqlError> {
    match &create.partitioning {
        None => Ok(()),
        Some(ast::Partitioning::Unsupported { feature }) => Err(SqlError::not_supported(feature)),
        Some(ast::Partitioning::Key { columns, .. }) => {
            let own: Vec<usize> =
                table.primary_key().parts.iter().map(|part| usize::from(part.column)).collect();
            let mut named = Vec::new();
            for column in columns {
                named.push(table.column_named(column).ok_or_else(|| {
                    SqlError::new(
                        1488,
                        "Field in list of fields for partition function not found in table",
                    )
                })?);
            }
            let mut sorted = (own.clone(), named.clone());
            sorted.0.sort_unstable();
            sorted.1.sort_unstable();
            if columns.is_empty() || sorted.0 == sorted.1 {
                Ok(())
            } else {
                Err(SqlError::not_supported(
                    "PARTITION BY KEY of other columns than the primary key",
                ))
            }
        }
    }
}
