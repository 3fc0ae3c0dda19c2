//! Definitions of foreign keys: which columns, which key of which parent, under which name.

use types::constraint::{ForeignKey, ReferenceAction};
use types::{Catalogue, Column, ColumnType, Table};

use super::table::{check_name, index_definition};
use crate::error::{SqlError, code};
use crate::execute::write::{leading_index_in_order, referenced_index, replaces_generated};
use crate::parser::ast;
use crate::show::quoted;

/// What a new foreign key is checked against.
pub struct KeyContext<'c> {
    pub catalogue: &'c Catalogue,
    /// foreign_key_checks: the parent must be there, with a key of these columns.
    pub checks: bool,
}

impl KeyContext<'_> {
    /// Gives the table these foreign keys, and indexes where it has none that begins with their columns.
    pub fn add_all(&self, table: &mut Table, written: &[ast::ForeignKey]) -> Result<(), SqlError> {
        for key in written {
            let (key, index) = self.definition(table, key)?;
            if let Some(index) = index {
                table.indexes.retain(|other| !replaces_generated(&index.parts, other));
                table.indexes.push(index);
            }
            table.constraints.foreign_keys.push(key);
        }
        Ok(())
    }

    /// A foreign key of the table, and the index that the table needs for it and has not.
    pub fn definition(
        &self,
        table: &Table,
        written: &ast::ForeignKey,
    ) -> Result<(ForeignKey, Option<types::Index>), SqlError> {
        let name = self.name(table, written)?;
        let names = column_names(&written.columns)?;
        let references = &written.references;
        let parent_columns = column_names(&references.columns)?;
        if names.len() != parent_columns.len() {
            return Err(SqlError::new(
                code::ER_WRONG_FK_DEF,
                format!(
                    "Incorrect foreign key definition for '{name}': Key reference and table reference don't match"
                ),
            ));
        }
        let mut columns = Vec::with_capacity(names.len());
        for own in &names {
            let position = table.column_named(own).filter(|own| !table.columns[*own].hidden);
            let position = position.and_then(|position| u16::try_from(position).ok());
            let position = position.ok_or_else(|| {
                SqlError::new(
                    code::ER_KEY_COLUMN_DOES_NOT_EXITS,
                    format!("Key column '{own}' doesn't exist in table"),
                )
            })?;
            if columns.contains(&position) {
                return Err(SqlError::duplicate_column(own));
            }
            columns.push(position);
        }
        let key = ForeignKey {
            name,
            columns,
            parent_database: references.table.schema.clone().unwrap_or(table.database.clone()),
            parent_table: references.table.name.clone(),
            parent_columns,
            on_delete: action(references.on_delete)?,
            on_update: action(references.on_update)?,
        };
        check_set_null(table, &key)?;
        check_computed(table, &key)?;
        self.check_parent(table, &key)?;
        // An index of a user, or a longer one that was generated. One of the same columns is generated anew.
        let mut served = table.clone();
        served.indexes.retain(|own| !own.is_generated || key.columns.len() < own.parts.len());
        let index = match leading_index_in_order(&served, &key.columns) {
            Some(_) => None,
            None => Some(needed_index(&served, written, &key)?),
        };
        Ok((key, index))
    }

    /// The written name, or `TABLE_ibfk_N`. A name is one foreign key's of the database.
    fn name(&self, table: &Table, written: &ast::ForeignKey) -> Result<String, SqlError> {
        let Some(name) = &written.name else {
            let prefix = format!("{}_ibfk_", table.name);
            let own = table.constraints.foreign_keys.iter();
            let numbers = own.filter_map(|key| key.name.strip_prefix(&prefix)?.parse::<u64>().ok());
            return Ok(format!("{prefix}{}", numbers.max().unwrap_or(0) + 1));
        };
        check_name(name, code::ER_WRONG_NAME_FOR_INDEX, "index")?;
        let others = self.catalogue.tables.values().filter(|other| {
            other.id != table.id && other.database.eq_ignore_ascii_case(&table.database)
        });
        let mut keys = others
            .map(|other| &**other)
            .chain([table])
            .flat_map(|own| &own.constraints.foreign_keys);
        if keys.any(|key| key.name.eq_ignore_ascii_case(name)) {
            return Err(SqlError::new(
                code::ER_FK_DUP_NAME,
                format!("Duplicate foreign key constraint name '{name}'"),
            ));
        }
        Ok(name.clone())
    }

    fn check_parent(&self, table: &Table, key: &ForeignKey) -> Result<(), SqlError> {
        let is_own = key.parent_table == table.name
            && key.parent_database.eq_ignore_ascii_case(&table.database);
        let parent = match is_own {
            true => Some(table),
            false => {
                self.catalogue.base_table(&key.parent_database, &key.parent_table).map(|own| &**own)
            }
        };
        let Some(parent) = parent else {
            return match self.checks {
                false => Ok(()),
                true => Err(SqlError::new(
                    code::ER_FK_CANNOT_OPEN_PARENT,
                    format!("Failed to open the referenced table '{}'", key.parent_table),
                )),
            };
        };
        check_columns(table, parent, key)
    }
}

/// The parent's columns are there, of the types of the child's, and a key.
fn check_columns(table: &Table, parent: &Table, key: &ForeignKey) -> Result<(), SqlError> {
    let name = &key.name;
    for (own, referenced) in key.columns.iter().zip(&key.parent_columns) {
        let own = &table.columns[usize::from(*own)];
        let Some(position) = parent.column_named(referenced) else {
            return Err(SqlError::new(
                code::ER_FK_NO_COLUMN_PARENT,
                format!(
                    "Failed to add the foreign key constraint. Missing column '{referenced}' for constraint '{name}' in \
                     the referenced table '{}'",
                    parent.name
                ),
            ));
        };
        let referenced = &parent.columns[position];
        if are_compatible(&own.column_type, &referenced.column_type) {
            continue;
        }
        return Err(match are_of_one_kind(&own.column_type, &referenced.column_type) {
            true => SqlError::not_supported(format!(
                "FOREIGN KEY of {} to {}",
                own.type_name(),
                referenced.type_name()
            )),
            false => incompatible(own, referenced, name),
        });
    }
    let positions = key.parent_columns.iter().filter_map(|own| parent.column_named(own));
    let positions: Vec<u16> = positions.filter_map(|own| u16::try_from(own).ok()).collect();
    // As in MySQL the parent's key has the columns in this order, though their rows are found in any.
    let leading = leading_index_in_order(parent, &positions);
    if leading.is_some() && referenced_index(parent, &key.parent_columns).is_some() {
        return Ok(());
    }
    Err(match leading {
        Some(_) => SqlError::not_supported("FOREIGN KEY to columns that are no unique key"),
        None => SqlError::new(
            code::ER_FK_NO_INDEX_PARENT,
            format!(
                "Failed to add the foreign key constraint. Missing index for constraint '{name}' in the referenced table \
                 '{}'",
                parent.name
            ),
        ),
    })
}

fn incompatible(own: &Column, referenced: &Column, name: &str) -> SqlError {
    SqlError::new(
        code::ER_FK_INCOMPATIBLE_COLUMNS,
        format!(
            "Referencing column '{}' and referenced column '{}' in foreign key constraint '{name}' are incompatible.",
            own.name, referenced.name
        ),
    )
}

/// Have equal values of both types equal keys, so that one can be looked for in an index of the other? Lengths may differ.
fn are_compatible(own: &ColumnType, referenced: &ColumnType) -> bool {
    use ColumnType as T;
    match (own, referenced) {
        (T::Varchar { collation: a, .. }, T::Varchar { collation: b, .. })
        | (T::Char { collation: a, .. }, T::Char { collation: b, .. }) => a == b,
        // One is kept without the spaces at its end, which do not count then.
        (T::Varchar { collation: a, .. }, T::Char { collation: b, .. })
        | (T::Char { collation: a, .. }, T::Varchar { collation: b, .. }) => {
            a == b && a.is_pad_space()
        }
        (T::Varbinary { .. }, T::Varbinary { .. }) => true,
        (a, b) => a == b && !matches!(a, T::Text { .. } | T::Blob { .. }),
    }
}

/// Does InnoDB keep values of both types in the same way? It compares their bytes, whatever they mean: MySQL takes a foreign key between
/// such types.
fn are_of_one_kind(own: &ColumnType, referenced: &ColumnType) -> bool {
    use ColumnType as T;
    let is_of_bytes = |column_type: &ColumnType| match column_type {
        T::Binary { .. } | T::Varbinary { .. } | T::Bit { .. } | T::Decimal { .. } => true,
        other => matches!(other, T::Time { .. } | T::DateTime { .. } | T::Timestamp { .. }),
    };
    let text = |column_type: &ColumnType| match *column_type {
        T::Char { collation, .. } | T::Varchar { collation, .. } => Some(collation),
        _ => None,
    };
    let is_same_text = text(own).is_some() && text(own) == text(referenced);
    is_same_text || is_of_bytes(own) && is_of_bytes(referenced)
}

fn check_set_null(table: &Table, key: &ForeignKey) -> Result<(), SqlError> {
    let sets_null = [key.on_delete, key.on_update].contains(&ReferenceAction::SetNull);
    let mut columns = key.columns.iter().map(|column| &table.columns[usize::from(*column)]);
    match columns.find(|column| sets_null && !column.nullable) {
        Some(column) => Err(SqlError::new(
            code::ER_FK_COLUMN_NOT_NULL,
            format!(
                "Column '{}' cannot be NOT NULL: needed in a foreign key constraint '{}' SET NULL",
                column.name, key.name
            ),
        )),
        None => Ok(()),
    }
}

/// A row that follows its parent is changed without its expressions.
fn check_computed(table: &Table, key: &ForeignKey) -> Result<(), SqlError> {
    let own = || key.columns.iter().map(|column| &table.columns[usize::from(*column)]);
    if own().any(|column| column.generated.is_some()) {
        return Err(SqlError::not_supported("FOREIGN KEY of a generated column"));
    }
    let computed = table.columns.iter().filter_map(|column| column.generated.as_ref());
    let checks = table.constraints.checks.iter().filter(|check| check.enforced);
    let mut texts = computed
        .map(|generated| &generated.expression.text)
        .chain(checks.map(|check| &check.expression.text));
    let names: Vec<String> = own().map(|column| quoted(&column.name)).collect();
    if key.changes_children() && texts.any(|text| names.iter().any(|name| text.contains(name))) {
        let what = "CASCADE or SET NULL of a column that a CHECK or a generated column uses";
        return Err(SqlError::not_supported(what));
    }
    Ok(())
}

/// As InnoDB makes it: under the constraint's name, or that of its first column.
fn needed_index(
    table: &Table,
    written: &ast::ForeignKey,
    key: &ForeignKey,
) -> Result<types::Index, SqlError> {
    let is_free = |name: &String| table.index_named(name).is_none();
    let parts = key.columns.iter().map(|column| ast::KeyPart {
        target: ast::KeyPartTarget::Column {
            name: table.columns[usize::from(*column)].name.clone(),
            prefix_length: None,
        },
        descending: false,
    });
    let index = index_definition(
        table,
        &ast::IndexDefinition {
            kind: ast::IndexKind::Plain,
            name: written.name.clone().filter(is_free),
            parts: parts.collect(),
            algorithm: None,
            comment: None,
            invisible: false,
            columns_before: 0,
        },
    )?;
    Ok(types::Index { is_generated: true, ..index })
}

fn column_names(parts: &[ast::KeyPart]) -> Result<Vec<String>, SqlError> {
    let name = |part: &ast::KeyPart| match &part.target {
        ast::KeyPartTarget::Column { name, prefix_length: None } => Ok(name.clone()),
        _ => Err(SqlError::not_supported("FOREIGN KEY of anything but columns")),
    };
    parts.iter().map(name).collect()
}

fn action(written: Option<ast::ReferenceAction>) -> Result<ReferenceAction, SqlError> {
    use ast::ReferenceAction as A;
    Ok(match written {
        None | Some(A::NoAction) => ReferenceAction::NoAction,
        Some(A::Restrict) => ReferenceAction::Restrict,
        Some(A::Cascade) => ReferenceAction::Cascade,
        Some(A::SetNull) => ReferenceAction::SetNull,
        Some(A::SetDefault) => {
            return Err(SqlError::not_supported("SET DEFAULT of a foreign key"));
        }
    })
}
