//! ALTER TABLE that changes rows: the new definition, and where the columns of its rows come from.
//!
//! The definition that the table has is the text that SHOW CREATE TABLE gives; the statement edits it, and the result is bound
//! as CREATE TABLE is. So a table that was altered passes the checks of one that was created so.

use std::sync::Arc;

use types::{
    Charset, Check, Collation, ColumnDefault, ColumnSource, ColumnType, ForeignKey, IndexKind,
    SqlMode, Table, Value,
};

use super::Binder;
use super::column_expression::{Owner, named_columns};
use super::constraint::check_follows_no_parent;
use super::functional::dependent;
use super::table::collation_of;
use crate::error::{SqlError, code};
use crate::execute::write::replaces_generated;
use crate::parser::ast::{self, AlterOperation, ColumnPosition, KeyPartTarget, TypeKind};
use crate::parser::parse_one;
use crate::show::create::create_table_text;

/// A table as ALTER TABLE leaves it.
pub struct Altered {
    /// Its foreign keys are those of the old one that are left.
    pub table: Table,
    /// For each column of the new table.
    pub sources: Vec<ColumnSource>,
    /// Do the keys of two rows that differ in the old primary key differ in the new one?
    pub keeps_keys: bool,
    /// A new column of dates that gets zeros, which the mode of the statement refuses.
    pub zero_date: Option<String>,
}

/// A column of the definition while it is edited, and its place in the old table.
struct Edited {
    column: ast::ColumnDefinition,
    origin: Option<usize>,
}

/// A column that gets a place: a new one, or an old one by its place in the old table.
enum Moved {
    New(Box<Edited>),
    Old(usize),
}

impl Binder<'_> {
    /// The definition that the operations make of a table. Foreign keys that come are not among them. `now`: of new columns with
    /// DEFAULT CURRENT_TIMESTAMP, in UTC and in the session's zone.
    pub fn altered_table(
        &mut self,
        table: &Arc<Table>,
        operations: &[AlterOperation],
        now: &dyn Fn(&types::Column) -> Value,
    ) -> Result<Altered, SqlError> {
        let mut create = written_definition(table, self.session.time_zone_offset_seconds())?;
        let mut columns = edited_columns(table, &mut create, operations)?;
        check_expressions(table, operations)?;
        check_replaced_columns(table, operations)?;
        drop_indexes(&mut create, table, operations)?;
        edit_options(&mut create, operations)?;
        convert_charset(&mut columns, &mut create, table, operations)?;
        name_key_columns(&mut create, &columns, table);
        edit_checks(&mut create, table, operations)?;
        for operation in operations {
            if let AlterOperation::AddIndex(index) = operation {
                create.indexes.push(ast::IndexDefinition {
                    columns_before: columns.len(),
                    ..(**index).clone()
                });
            }
        }
        let origins: Vec<Option<usize>> = columns.iter().map(|edited| edited.origin).collect();
        create.columns = columns.into_iter().map(|edited| edited.column).collect();
        // The columns that stay were warned of when they were made.
        let mut altered = self
            .quietly(|binder| binder.table_definition(&create, &table.database, table.collation))?;
        altered.engine = match &create.options.engine {
            Some(_) => altered.engine,
            None => table.engine.clone(),
        };
        self.warn_of_new(table, operations);
        keep_generated(table, &mut altered, operations);
        altered.constraints.foreign_keys = kept_keys(table, &altered, &origins, operations)?;
        for check in &altered.constraints.checks {
            check_follows_no_parent(&altered, check)?;
        }
        check_references(self.catalogue, table, &altered, &origins)?;
        let (sources, zero_date) = self.sources(table, &altered, &origins, now)?;
        let keeps_keys = keeps_keys(table, &altered, &sources);
        altered.rewriting.copy_of = Some(table.id);
        Ok(Altered { table: altered, sources, keeps_keys, zero_date })
    }

    /// Warns of what the written columns and options ask for.
    fn warn_of_new(&mut self, table: &Table, operations: &[AlterOperation]) {
        for operation in operations {
            if let AlterOperation::Options(options) = operation
                && let Some(engine) = &options.engine
            {
                // The definition is bound: the engine is one that may be written.
                let _ = self.engine(engine, &table.name);
            }
            let (charset, collation, is_national) = match operation {
                AlterOperation::AddColumn { column, .. }
                | AlterOperation::ModifyColumn { column, .. }
                | AlterOperation::ChangeColumn { column, .. } => {
                    let written = &column.data_type;
                    (&written.charset, &written.collation, written.is_national)
                }
                AlterOperation::Options(options) => (&options.charset, &options.collation, false),
                AlterOperation::ConvertCharset { charset, collation } => {
                    (charset, collation, false)
                }
                _ => continue,
            };
            if let Some(charset) = charset {
                self.warn_of_charset(charset, is_national);
            }
            if let Some(collation) = collation {
                self.warn_of_collation(collation);
            }
        }
    }

    fn sources(
        &mut self,
        table: &Table,
        altered: &Table,
        origins: &[Option<usize>],
        now: &dyn Fn(&types::Column) -> Value,
    ) -> Result<(Vec<ColumnSource>, Option<String>), SqlError> {
        let whole = Arc::new(altered.clone());
        let mut sources = Vec::new();
        let mut zero_date = None;
        for (position, column) in altered.columns.iter().enumerate() {
            let origin = match column.hidden {
                true if column.is_functional() => None,
                true => table.columns.iter().position(types::Column::is_row_id),
                false => origins[position],
            };
            sources.push(match (origin, &column.default) {
                (Some(origin), _) if changes_storing(&table.columns[origin], column) => {
                    return Err(SqlError::new(
                        3106,
                        "'Changing the STORED status' is not supported for generated columns.",
                    ));
                }
                _ if column.generated.is_some() => ColumnSource::Computed,
                (Some(origin), _) => {
                    check_conversion(&table.columns[origin].column_type, &column.column_type)?;
                    ColumnSource::Column(u16::try_from(origin).expect("tables are narrow"))
                }
                (None, _) if column.hidden => {
                    let what = "ALTER TABLE DROP PRIMARY KEY without ADD PRIMARY KEY";
                    return Err(SqlError::not_supported(what));
                }
                (None, ColumnDefault::Value(value)) => ColumnSource::Value(value.clone()),
                (None, ColumnDefault::Now) => ColumnSource::Value(now(column)),
                (None, ColumnDefault::None) if column.nullable => ColumnSource::Value(Value::Null),
                (None, ColumnDefault::None) => {
                    let value = column.column_type.implicit_default().to_value();
                    // As in MySQL, a TIMESTAMP may be zero in any mode.
                    let is_date = matches!(
                        column.column_type,
                        ColumnType::Date | ColumnType::DateTime { .. }
                    );
                    if is_date && self.environment.sql_mode.date_modes().no_zero_date {
                        zero_date.get_or_insert_with(|| column.name.clone());
                    }
                    ColumnSource::Value(value)
                }
                (None, ColumnDefault::AutoIncrement) => {
                    let what = "ALTER TABLE ADD COLUMN with AUTO_INCREMENT";
                    return Err(SqlError::not_supported(what));
                }
                (None, ColumnDefault::Expression(expression)) => {
                    // Each copy of a row must come out the same.
                    let expr = crate::parser::parse_expression(&expression.text);
                    let expr = expr.expect("the binder has made it");
                    let owner = Owner::Generated(&column.name);
                    if self.column_expression(owner, &expr, &whole, Some(position)).is_err() {
                        let what =
                            "ALTER TABLE ADD COLUMN with a DEFAULT that is not deterministic";
                        return Err(SqlError::not_supported(what));
                    }
                    ColumnSource::Computed
                }
            });
        }
        Ok((sources, zero_date))
    }
}

/// The statement that would create the table, with the character sets of all columns, and without foreign keys.
fn written_definition(table: &Table, offset_seconds: i32) -> Result<ast::CreateTable, SqlError> {
    let start = table.auto_increment.as_ref().map(|sequence| sequence.start);
    let text = create_table_text(table, start, offset_seconds);
    let unreadable = || {
        SqlError::new(
            code::ER_INTERNAL_ERROR,
            format!("Internal error: the definition of table '{}' is not readable", table.name),
        )
    };
    let (statement, _) =
        parse_one(text.as_bytes(), SqlMode::default()).map_err(|_| unreadable())?;
    let ast::Statement::CreateTable(create) = statement else { return Err(unreadable()) };
    let mut create = *create;
    create.foreign_keys.clear();
    let shown = table.columns.iter().filter(|column| !column.hidden);
    for (written, own) in create.columns.iter_mut().zip(shown) {
        if let Some(collation) = own.column_type.collation() {
            set_collation(&mut written.data_type, collation);
        }
        // NULL and DEFAULT NULL are what a column has without them, until it comes into a primary key.
        if own.nullable {
            written.nullable = None;
            if matches!(own.default, ColumnDefault::None | ColumnDefault::Value(Value::Null)) {
                written.default = None;
            }
        }
        // SHOW CREATE TABLE has no widths but that of TINYINT(1).
        if written.data_type.length.is_none() && matches!(own.column_type, ColumnType::Int { .. }) {
            written.data_type.length = own.display.width.map(u64::from);
        }
    }
    // They keep their names: keys that come get others.
    for index in &mut create.indexes {
        index.columns_before = 0;
    }
    for check in &mut create.checks {
        check.columns_before = create.columns.len();
    }
    Ok(create)
}

fn set_collation(data_type: &mut ast::DataType, collation: Collation) {
    data_type.charset = Some(collation.charset_name().to_owned());
    data_type.collation = Some(collation.name().to_owned());
    data_type.is_national = false;
    data_type.binary_collation = false;
}

/// 1054 if there is no such column.
pub fn position_of(table: &Table, name: &str) -> Result<usize, SqlError> {
    let mut columns = table.columns.iter();
    let position =
        columns.position(|column| !column.hidden && column.name.eq_ignore_ascii_case(name));
    position.ok_or_else(|| SqlError::unknown_column(name, &table.name))
}

/// 1235 for a column of a key that goes while another one of its name comes: in MySQL the key stays, with the length that it had in the
/// old column.
fn check_replaced_columns(table: &Table, operations: &[AlterOperation]) -> Result<(), SqlError> {
    let dropped = dropped_columns(table, operations);
    let is_key = |place: &usize| {
        let mut parts = table.indexes.iter().flat_map(|index| &index.parts);
        parts.any(|part| usize::from(part.column) == *place)
    };
    let comes_again = |place: &usize| {
        operations.iter().any(|operation| match operation {
            AlterOperation::AddColumn { column, .. } => {
                column.name.eq_ignore_ascii_case(&table.columns[*place].name)
            }
            _ => false,
        })
    };
    match dropped.into_iter().any(|place| is_key(&place) && comes_again(&place)) {
        true => Err(SqlError::not_supported(
            "ALTER TABLE that replaces a column of a key by one of the same name",
        )),
        false => Ok(()),
    }
}

fn dropped_columns(table: &Table, operations: &[AlterOperation]) -> Vec<usize> {
    let dropped = operations.iter().filter_map(|operation| match operation {
        AlterOperation::DropColumn(name) => position_of(table, name).ok(),
        _ => None,
    });
    dropped.collect()
}

/// 3959, 3108 and 3774 for an expression that stays and names a column that goes or gets another name. A CHECK of columns that go,
/// and of no others, goes with them.
pub fn check_expressions(table: &Table, operations: &[AlterOperation]) -> Result<(), SqlError> {
    let dropped = dropped_columns(table, operations);
    let mut gone = dropped.clone();
    let mut replaced = dropped.clone();
    for operation in operations {
        let (old, new) = match operation {
            AlterOperation::RenameColumn { old_name, new_name } => (old_name, new_name),
            AlterOperation::ChangeColumn { old_name, column, .. } => (old_name, &column.name),
            AlterOperation::ModifyColumn { column, .. } => (&column.name, &column.name),
            _ => continue,
        };
        let place = position_of(table, old)?;
        if old != new {
            gone.push(place);
        }
        if !matches!(operation, AlterOperation::RenameColumn { .. }) {
            replaced.push(place);
        }
    }
    let named = |text: &str| -> Vec<usize> {
        let expr = crate::parser::parse_expression(text).expect("the catalogue has read it");
        let names = named_columns(&expr);
        names.iter().filter_map(|name| position_of(table, &name.column).ok()).collect()
    };
    for check in &table.constraints.checks {
        let columns = named(&check.expression.text);
        let goes = operations.iter().any(|operation| match operation {
            AlterOperation::DropCheck(name) | AlterOperation::DropConstraint(name) => {
                name.eq_ignore_ascii_case(&check.name)
            }
            _ => false,
        }) || (!columns.is_empty() && columns.iter().all(|own| dropped.contains(own)));
        if let Some(own) = columns.iter().find(|own| gone.contains(own)).filter(|_| !goes) {
            return Err(SqlError::new(
                3959,
                format!(
                    "Check constraint '{}' uses column '{}', hence column cannot be dropped or renamed.",
                    check.name, table.columns[*own].name
                ),
            ));
        }
    }
    for (place, column) in table.columns.iter().enumerate() {
        if replaced.contains(&place) {
            continue;
        }
        let (text, is_generated) = match (&column.generated, &column.default) {
            (Some(generated), _) => (&generated.expression.text, true),
            (None, ColumnDefault::Expression(expression)) => (&expression.text, false),
            _ => continue,
        };
        let Some(own) = named(text).into_iter().find(|own| gone.contains(own)) else { continue };
        let name = &table.columns[own].name;
        if column.is_functional() {
            match is_key_dropped(table, place, operations) {
                true => continue,
                false => return Err(dependent(name)),
            }
        }
        return Err(match is_generated {
            true => {
                SqlError::new(3108, format!("Column '{name}' has a generated column dependency."))
            }
            false => SqlError::new(
                3774,
                format!(
                    "Column '{name}' of table '{}' has a default value expression dependency and cannot be dropped or \
                     renamed.",
                    table.name
                ),
            ),
        });
    }
    Ok(())
}

/// Does the statement drop the key that a hidden column belongs to?
fn is_key_dropped(table: &Table, column: usize, operations: &[AlterOperation]) -> bool {
    let has_it =
        |index: &&types::Index| index.parts.iter().any(|part| usize::from(part.column) == column);
    let Some(index) = table.indexes.iter().find(has_it) else { return true };
    operations.iter().any(|operation| match operation {
        AlterOperation::DropIndex(name) | AlterOperation::DropConstraint(name) => {
            name.eq_ignore_ascii_case(&index.name)
        }
        _ => false,
    })
}

/// What MODIFY, CHANGE, SET DEFAULT and RENAME COLUMN make of the columns, those that go and those that come, in their order. As in MySQL
/// names are those from before the statement, except behind AFTER.
fn edited_columns(
    table: &Table,
    create: &mut ast::CreateTable,
    operations: &[AlterOperation],
) -> Result<Vec<Edited>, SqlError> {
    let mut written = std::mem::take(&mut create.columns).into_iter();
    let mut own: Vec<Option<Edited>> = (table.columns.iter().enumerate())
        .map(|(origin, column)| {
            let shown = if column.hidden { None } else { written.next() };
            shown.map(|column| Edited { column, origin: Some(origin) })
        })
        .collect();
    let mut moved: Vec<(Moved, ColumnPosition)> = Vec::new();
    for operation in operations {
        match operation {
            AlterOperation::DropColumn(name) => {
                let place = position_of(table, name).map_err(|_| missing_key(name))?;
                own[place].take().ok_or_else(|| missing_key(name))?;
            }
            AlterOperation::RenameColumn { old_name, new_name } => {
                let place = position_of(table, old_name)?;
                let edited = own[place].as_mut();
                let edited =
                    edited.ok_or_else(|| SqlError::unknown_column(old_name, &table.name))?;
                edited.column.name.clone_from(new_name);
            }
            AlterOperation::SetDefault { column, default } => {
                let place = position_of(table, column)?;
                let edited = own[place].as_mut();
                let edited = edited.ok_or_else(|| SqlError::unknown_column(column, &table.name))?;
                check_default_changes(
                    column,
                    (edited.column.auto_increment, edited.column.generated.is_some()),
                    default.is_some(),
                )?;
                edited.column.default.clone_from(default);
            }
            AlterOperation::ModifyColumn { column, position } => {
                change_column(table, &mut own, &mut moved, &column.name, (column, position))?;
            }
            AlterOperation::ChangeColumn { old_name, column, position } => {
                change_column(table, &mut own, &mut moved, old_name, (column, position))?;
            }
            AlterOperation::AddColumn { column, position } => {
                let added = Edited { column: (**column).clone(), origin: None };
                moved.push((Moved::New(Box::new(added)), position.clone()));
            }
            _ => {}
        }
    }
    let mut columns: Vec<Edited> = own.into_iter().flatten().collect();
    for (moved, position) in moved {
        let edited = match moved {
            Moved::New(edited) => *edited,
            Moved::Old(origin) => {
                let place = columns.iter().position(|own| own.origin == Some(origin));
                columns.remove(place.ok_or_else(|| missing_key("column"))?)
            }
        };
        let place = match &position {
            ColumnPosition::Last => columns.len(),
            ColumnPosition::First => 0,
            ColumnPosition::After(name) => {
                let mut names = columns.iter().map(|own| &own.column.name);
                let found = names.position(|own| own.eq_ignore_ascii_case(name));
                found.ok_or_else(|| SqlError::unknown_column(name, &table.name))? + 1
            }
        };
        columns.insert(place, edited);
    }
    if columns.is_empty() {
        return Err(SqlError::new(
            1090,
            "You can't delete all columns with ALTER TABLE; use DROP TABLE instead",
        ));
    }
    Ok(columns)
}

fn change_column(
    table: &Table,
    own: &mut [Option<Edited>],
    moved: &mut Vec<(Moved, ColumnPosition)>,
    name: &str,
    (column, position): (&ast::ColumnDefinition, &ColumnPosition),
) -> Result<(), SqlError> {
    let place = position_of(table, name)?;
    let unknown = || SqlError::unknown_column(name, &table.name);
    let edited = Edited { column: column.clone(), origin: Some(place) };
    let slot = own[place].as_mut().ok_or_else(unknown)?;
    // Until it is moved it is where it was: columns before it may come behind it.
    *slot = edited;
    if *position != ColumnPosition::Last {
        moved.push((Moved::Old(place), position.clone()));
    }
    Ok(())
}

/// 1221 and 1067 for a column whose default does not change. `is_set`: SET DEFAULT, and not DROP DEFAULT.
pub fn check_default_changes(
    column: &str,
    (is_counter, is_generated): (bool, bool),
    is_set: bool,
) -> Result<(), SqlError> {
    if is_generated {
        return Err(SqlError::new(1221, "Incorrect usage of DEFAULT and generated column"));
    }
    match is_counter && is_set {
        true => Err(SqlError::invalid_default(column)),
        false => Ok(()),
    }
}

/// Takes out the keys that the statement drops, and gives others their new names. 1091 for those that are not there.
fn drop_indexes(
    create: &mut ast::CreateTable,
    table: &Table,
    operations: &[AlterOperation],
) -> Result<(), SqlError> {
    let named = |index: &ast::IndexDefinition, name: &str| match index.kind {
        ast::IndexKind::Primary => name.eq_ignore_ascii_case("PRIMARY"),
        _ => index.name.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(name)),
    };
    for operation in operations {
        let name = match operation {
            AlterOperation::DropPrimaryKey => "PRIMARY",
            AlterOperation::DropIndex(name) => name,
            AlterOperation::DropConstraint(name) => {
                let is_key = create.indexes.iter().any(|index| named(index, name));
                if !is_key {
                    continue;
                }
                name
            }
            _ => continue,
        };
        let place = create.indexes.iter().position(|index| named(index, name));
        create.indexes.remove(place.ok_or_else(|| missing_key(name))?);
    }
    for operation in operations {
        let AlterOperation::RenameIndex { old_name, new_name } = operation else { continue };
        let place = create.indexes.iter().position(|index| named(index, old_name));
        let index = place.map(|place| &mut create.indexes[place]);
        let index = index.filter(|index| index.kind != ast::IndexKind::Primary);
        let index = index.ok_or_else(|| {
            SqlError::new(
                code::ER_KEY_DOES_NOT_EXITS,
                format!("Key '{old_name}' doesn't exist in table '{}'", table.name),
            )
        })?;
        index.name = Some(new_name.clone());
    }
    Ok(())
}

/// Marks the indexes that were generated for foreign keys, and takes out those that another key replaces.
fn keep_generated(table: &Table, altered: &mut Table, operations: &[AlterOperation]) {
    // An index that a user has named is the user's.
    let is_renamed = |name: &str| {
        operations.iter().any(|operation| match operation {
            AlterOperation::RenameIndex { old_name, .. } => old_name.eq_ignore_ascii_case(name),
            _ => false,
        })
    };
    let generated = table.indexes.iter().filter(|index| index.is_generated);
    let generated: Vec<&String> =
        generated.map(|index| &index.name).filter(|name| !is_renamed(name)).collect();
    for index in &mut altered.indexes {
        index.is_generated = index.kind == IndexKind::Ordinary
            && generated.iter().any(|name| name.eq_ignore_ascii_case(&index.name));
    }
    let all = altered.indexes.clone();
    altered.indexes.retain(|index| {
        !all.iter().any(|other| !other.is_generated && replaces_generated(&other.parts, index))
    });
}

fn edit_options(
    create: &mut ast::CreateTable,
    operations: &[AlterOperation],
) -> Result<(), SqlError> {
    for operation in operations {
        match operation {
            AlterOperation::Options(options) => {
                let own = &mut create.options;
                let collation =
                    collation_of(options.charset.as_deref(), options.collation.as_deref())?;
                if let Some(collation) = collation {
                    own.charset = Some(collation.charset_name().to_owned());
                    own.collation = Some(collation.name().to_owned());
                }
                own.engine = options.engine.clone().or(own.engine.take());
                own.comment = options.comment.clone().or(own.comment.take());
                own.auto_increment = options.auto_increment.or(own.auto_increment);
                own.other.extend(options.other.iter().cloned());
            }
            AlterOperation::Partition(partitioning) => {
                create.partitioning = Some(partitioning.clone());
            }
            AlterOperation::OrderBy(_) => {
                return Err(SqlError::not_supported("ALTER TABLE ORDER BY"));
            }
            AlterOperation::Unsupported { feature } => {
                return Err(SqlError::not_supported(feature));
            }
            _ => {}
        }
    }
    Ok(())
}

/// CONVERT TO CHARACTER SET: of the columns that the table has, and of those to come. Like in MySQL a TEXT becomes the next longer one
/// where its characters may need more bytes.
fn convert_charset(
    columns: &mut [Edited],
    create: &mut ast::CreateTable,
    table: &Table,
    operations: &[AlterOperation],
) -> Result<(), SqlError> {
    let rewritten = operations.iter().filter_map(|operation| match operation {
        AlterOperation::ModifyColumn { column, .. } => position_of(table, &column.name).ok(),
        AlterOperation::ChangeColumn { old_name, .. } => position_of(table, old_name).ok(),
        _ => None,
    });
    let rewritten: Vec<usize> = rewritten.collect();
    for (number, operation) in operations.iter().enumerate() {
        let AlterOperation::ConvertCharset { charset, collation } = operation else { continue };
        let collation = collation_of(charset.as_deref(), collation.as_deref())?;
        let collation = collation.unwrap_or_default();
        // The default of a later part of the statement is that of the table.
        let is_default = |operation: &AlterOperation| match operation {
            AlterOperation::Options(options) => {
                options.charset.is_some() || options.collation.is_some()
            }
            _ => false,
        };
        if !operations[number..].iter().any(is_default) {
            create.options.charset = Some(collation.charset_name().to_owned());
            create.options.collation = Some(collation.name().to_owned());
        }
        for edited in columns.iter_mut() {
            let origin = edited.origin.filter(|origin| !rewritten.contains(origin));
            let written = &mut edited.column.data_type;
            let own = origin.and_then(|origin| table.columns[origin].column_type.collation());
            let takes_characters = match origin {
                Some(_) => own.is_some(),
                // The columns that the statement writes, too, except those of bytes.
                None => has_characters(written)?,
            };
            if !takes_characters {
                continue;
            }
            let size = |charset: Charset| charset.character_size_max();
            if own.is_some_and(|own| size(own.charset()) < size(collation.charset())) {
                written.kind = match written.kind {
                    TypeKind::TinyText => TypeKind::Text,
                    TypeKind::Text => TypeKind::MediumText,
                    TypeKind::MediumText => TypeKind::LongText,
                    kind => kind,
                };
            }
            set_collation(written, collation);
        }
    }
    Ok(())
}

/// Is it a type of characters, and not of bytes?
fn has_characters(written: &ast::DataType) -> Result<bool, SqlError> {
    let is_text = matches!(
        written.kind,
        TypeKind::Char
            | TypeKind::VarChar
            | TypeKind::TinyText
            | TypeKind::Text
            | TypeKind::MediumText
            | TypeKind::LongText
            | TypeKind::Enum
            | TypeKind::Set
    );
    let own = collation_of(written.charset.as_deref(), written.collation.as_deref())?;
    Ok(is_text && own.is_none_or(|own| !own.is_binary()))
}

/// 1302 for two character sets of one statement.
pub fn check_one_charset(operations: &[AlterOperation]) -> Result<(), SqlError> {
    let mut before: Option<&'static str> = None;
    for operation in operations {
        let (charset, collation) = match operation {
            AlterOperation::ConvertCharset { charset, collation } => (charset, collation),
            AlterOperation::Options(options) => (&options.charset, &options.collation),
            _ => continue,
        };
        let Some(own) = collation_of(charset.as_deref(), collation.as_deref())? else { continue };
        let own = own.charset_name();
        if let Some(before) = before.filter(|before| *before != own) {
            if let (None, Some(collation)) = (charset, collation) {
                return Err(SqlError::collation_mismatch(collation, before));
            }
            return Err(SqlError::new(
                code::ER_CONFLICTING_DECLARATIONS,
                format!(
                    "Conflicting declarations: 'CHARACTER SET {before}' and 'CHARACTER SET {own}'"
                ),
            ));
        }
        before = Some(own);
    }
    Ok(())
}

/// Keys name the columns as they are called now; those of columns that go have a part less, and go with their last part.
fn name_key_columns(create: &mut ast::CreateTable, columns: &[Edited], table: &Table) {
    for index in &mut create.indexes {
        index.parts.retain_mut(|part| {
            let KeyPartTarget::Column { name, prefix_length } = &mut part.target else {
                return true;
            };
            let Ok(origin) = position_of(table, name) else { return true };
            match columns.iter().find(|edited| edited.origin == Some(origin)) {
                Some(edited) => {
                    name.clone_from(&edited.column.name);
                    *prefix_length =
                        prefix_length.filter(|own| has_prefix(&edited.column.data_type, *own));
                    true
                }
                None => false,
            }
        });
    }
    create.indexes.retain(|index| !index.parts.is_empty());
}

/// Can a key have a prefix of this length of such a column?
fn has_prefix(data_type: &ast::DataType, length: u64) -> bool {
    match data_type.kind {
        TypeKind::Char | TypeKind::VarChar | TypeKind::Binary | TypeKind::VarBinary => {
            length < data_type.length.unwrap_or(1)
        }
        TypeKind::TinyText
        | TypeKind::Text
        | TypeKind::MediumText
        | TypeKind::LongText
        | TypeKind::TinyBlob
        | TypeKind::Blob
        | TypeKind::MediumBlob
        | TypeKind::LongBlob => true,
        _ => false,
    }
}

/// CHECKs that go, come or are enforced or not. One that names no column but one that goes, goes with it.
fn edit_checks(
    create: &mut ast::CreateTable,
    table: &Table,
    operations: &[AlterOperation],
) -> Result<(), SqlError> {
    let dropped = dropped_columns(table, operations);
    let place_of = |checks: &[ast::Check], name: &str| {
        let is_it = |check: &ast::Check| {
            check.name.as_ref().is_some_and(|own| own.to_lowercase() == name.to_lowercase())
        };
        checks.iter().position(is_it)
    };
    let missing = |name: &str| {
        SqlError::new(3821, format!("Check constraint '{name}' is not found in the table."))
    };
    for operation in operations {
        match operation {
            AlterOperation::DropCheck(name) => {
                let place = place_of(&create.checks, name).ok_or_else(|| missing(name))?;
                create.checks.remove(place);
            }
            AlterOperation::DropConstraint(name) => {
                if let Some(place) = place_of(&create.checks, name) {
                    create.checks.remove(place);
                }
            }
            AlterOperation::EnforceCheck { name, enforced, .. } => {
                let place = place_of(&create.checks, name).ok_or_else(|| missing(name))?;
                create.checks[place].enforced = *enforced;
            }
            _ => {}
        }
    }
    create.checks.retain(|check| {
        let named = named_columns(&check.expr);
        let is_dropped = |name: &ast::ColumnName| {
            position_of(table, &name.column).is_ok_and(|place| dropped.contains(&place))
        };
        named.is_empty() || !named.iter().all(is_dropped)
    });
    let numbers =
        table.constraints.checks.iter().filter_map(|own| own.generated_number(&table.name));
    let mut number = numbers.max().unwrap_or(0);
    let mut named = |check: &ast::Check| {
        let mut check = check.clone();
        if check.name.as_ref().is_none_or(String::is_empty) {
            number += 1;
            check.name = Some(Check::generated_name(&table.name, number));
        }
        check
    };
    for operation in operations {
        if let AlterOperation::AddCheck(check) = operation {
            create.checks.push(named(check));
        }
    }
    Ok(())
}

/// The foreign keys that stay. 1828 for one whose column goes, 1832 for one whose column gets another type.
fn kept_keys(
    table: &Table,
    altered: &Table,
    origins: &[Option<usize>],
    operations: &[AlterOperation],
) -> Result<Vec<ForeignKey>, SqlError> {
    let is_dropped = |key: &ForeignKey| {
        operations.iter().any(|operation| match operation {
            AlterOperation::DropForeignKey(name) | AlterOperation::DropConstraint(name) => {
                key.name.eq_ignore_ascii_case(name)
            }
            _ => false,
        })
    };
    let mut kept = Vec::new();
    for key in table.constraints.foreign_keys.iter().filter(|key| !is_dropped(key)) {
        let mut key = key.clone();
        for own in &mut key.columns {
            let before = &table.columns[usize::from(*own)];
            let place = origins.iter().position(|origin| *origin == Some(usize::from(*own)));
            let Some(place) = place else {
                return Err(SqlError::new(
                    1828,
                    format!(
                        "Cannot drop column '{}': needed in a foreign key constraint '{}'",
                        before.name, key.name
                    ),
                ));
            };
            let after = &altered.columns[place];
            if before.column_type != after.column_type {
                return Err(SqlError::new(
                    1832,
                    format!(
                        "Cannot change column '{}': used in a foreign key constraint '{}'",
                        before.name, key.name
                    ),
                ));
            }
            *own = u16::try_from(place).expect("tables are narrow");
        }
        kept.push(key);
    }
    Ok(kept)
}

/// 1829 and 1833 for a column that children reference and that goes, or gets another type.
fn check_references(
    catalogue: &types::Catalogue,
    table: &Table,
    altered: &Table,
    origins: &[Option<usize>],
) -> Result<(), SqlError> {
    for reference in &table.constraints.referenced_by {
        let child = match reference.child == table.id {
            true => Some(table),
            false => catalogue.table_by_id(reference.child).map(|child| &**child),
        };
        let child =
            child.map_or(String::new(), |child| format!("{}.{}", child.database, child.name));
        for name in &reference.key.parent_columns {
            let Some(own) = table.column_named(name) else { continue };
            let key = &reference.key.name;
            let Some(place) = origins.iter().position(|origin| *origin == Some(own)) else {
                return Err(SqlError::new(
                    1829,
                    format!(
                        "Cannot drop column '{name}': needed in a foreign key constraint '{key}' of table '{child}'"
                    ),
                ));
            };
            let after = &altered.columns[place];
            if after.column_type != table.columns[own].column_type {
                return Err(SqlError::new(
                    1833,
                    format!(
                        "Cannot change column '{name}': used in a foreign key constraint '{key}' of table '{child}'"
                    ),
                ));
            }
            if !after.name.eq_ignore_ascii_case(name) {
                let what = "ALTER TABLE with another name of a referenced column";
                return Err(SqlError::not_supported(what));
            }
        }
    }
    Ok(())
}

/// Does a column that is computed when it is read become one that is kept, or the other way round?
fn changes_storing(old: &types::Column, new: &types::Column) -> bool {
    let is_virtual = |column: &types::Column| {
        column.generated.as_ref().is_some_and(|generated| !generated.stored)
    };
    is_virtual(old) != is_virtual(new)
}

/// 1054 for a column that two parts of the statement change.
pub fn check_changed_once(table: &Table, operations: &[AlterOperation]) -> Result<(), SqlError> {
    let mut changed: Vec<&String> = Vec::new();
    for operation in operations {
        let name = match operation {
            AlterOperation::ModifyColumn { column, .. } => &column.name,
            AlterOperation::ChangeColumn { old_name, .. }
            | AlterOperation::RenameColumn { old_name, .. } => old_name,
            AlterOperation::SetDefault { column, .. } => column,
            AlterOperation::DropColumn(name) => name,
            _ => continue,
        };
        if changed.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            return Err(match operation {
                AlterOperation::DropColumn(_) => missing_key(name),
                _ => SqlError::unknown_column(name, &table.name),
            });
        }
        changed.push(name);
    }
    Ok(())
}

/// 1091.
fn missing_key(name: &str) -> SqlError {
    SqlError::new(
        code::ER_CANT_DROP_FIELD_OR_KEY,
        format!("Can't DROP '{name}'; check that column/key exists"),
    )
}

/// A TIMESTAMP is a moment and the others are what clocks show: between them the zone of whoever writes a row would count.
fn check_conversion(old: &ColumnType, new: &ColumnType) -> Result<(), SqlError> {
    let is_moment = |column_type: &ColumnType| matches!(column_type, ColumnType::Timestamp { .. });
    match is_moment(old) == is_moment(new) {
        true => Ok(()),
        false => Err(SqlError::not_supported("ALTER TABLE between TIMESTAMP and another type")),
    }
}

fn keeps_keys(table: &Table, altered: &Table, sources: &[ColumnSource]) -> bool {
    table.primary_key().parts.iter().all(|part| {
        altered.primary_key().parts.iter().any(|new| {
            let place = usize::from(new.column);
            sources[place] == ColumnSource::Column(part.column)
                && new.prefix.is_none()
                && altered.columns[place].column_type
                    == table.columns[usize::from(part.column)].column_type
        })
    })
}
