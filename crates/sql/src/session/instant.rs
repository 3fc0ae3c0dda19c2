//! ALTER TABLE that gives a table other columns and leaves its rows as they are (decision 34).
//!
//! A row says how many columns it has. Columns that come stand behind all others, and rows that are older have the value that ALTER
//! TABLE gives them. Columns that go stay as hidden ones, NULL in every row written since. The table is closed for a moment, as at
//! the end of a rewriting: no transaction uses the old definition beside the new one, so none reads a row that it does not know.

use types::{
    Column, ColumnDefault, ColumnSource, ColumnType, IndexKind, IndexState, NumberDisplay, Table,
    Value,
};

use super::Session;
use super::columns::holds;
use super::rewrite::definition_of;
use crate::bind::alter::Altered;
use crate::bind::table::check_row_size;
use crate::error::SqlError;
use crate::execute::Failure;
use crate::parser::ast::{self, AlterOperation};

/// Dropped columns for which rows have room at most: the next ALTER TABLE that drops one rewrites the table without them.
const DROPPED_MAX: usize = 64;

/// The definition that the statement makes of the table, if the rows can stay as they are.
pub(super) fn instant_definition(
    alter: &ast::AlterTable,
    table: &Table,
    altered: &Altered,
) -> Option<Table> {
    let is_of_columns = |operation: &AlterOperation| {
        matches!(
            operation,
            AlterOperation::AddColumn { .. }
                | AlterOperation::DropColumn(_)
                | AlterOperation::ModifyColumn { .. }
                | AlterOperation::SetDefault { .. }
        )
    };
    let may_be_instant = matches!(alter.algorithm.as_deref(), None | Some("DEFAULT" | "INSTANT"));
    let is_candidate = may_be_instant && alter.operations.iter().all(is_of_columns);
    is_candidate.then(|| merged(table, altered)).flatten()
}

impl Session {
    /// Gives the table these columns on every node, while no transaction uses it. No row is touched.
    pub(super) async fn alter_instantly(
        &mut self,
        table: &Table,
        columns: &[Column],
    ) -> Result<u64, Failure> {
        let boot = self.boot();
        let definition = definition_of(table);
        let as_planned = |table: &Table| match definition_of(table) == definition {
            true => Ok(()),
            false => Err(SqlError::definition_changed()),
        };
        self.show_progress(Some("waiting for table metadata lock".into()));
        let close = &mut |table: &mut Table| {
            as_planned(table)?;
            table.closed_by = Some(boot);
            Ok(())
        };
        let mut altered = table.clone();
        altered.columns = columns.to_vec();
        let altered = definition_of(&altered);
        let change = async |session: &mut Session| {
            let change = &mut |table: &mut Table| {
                as_planned(table)?;
                open(table)?;
                table.columns = columns.to_vec();
                Ok(())
            };
            session.alter_definition(table.id, change).await
        };
        let is_changed = |session: &Session| {
            let catalogue = session.catalogue();
            let table = catalogue.table_by_id(table.id);
            table.is_some_and(|table| definition_of(table) == altered)
        };
        let changed = self.change_closed(table.id, (close, &mut open), change, &is_changed).await;
        self.show_progress(None);
        changed?;
        Ok(0)
    }
}

/// Opens a table that this session has closed. 1412 if it is open.
fn open(table: &mut Table) -> Result<(), SqlError> {
    match table.closed_by.take() {
        Some(_) => Ok(()),
        None => Err(SqlError::definition_changed()),
    }
}

/// The table with the columns of the altered one, in places that leave rows as they are. None if there are no such places.
fn merged(table: &Table, altered: &Altered) -> Option<Table> {
    let new = &altered.table;
    let origins: Vec<Option<usize>> = new
        .columns
        .iter()
        .zip(&altered.sources)
        .map(|(column, source)| match source {
            ColumnSource::Column(origin) => Some(usize::from(*origin)),
            ColumnSource::Value(_) => None,
            ColumnSource::Computed => table.columns.iter().position(|own| own.name == column.name),
        })
        .collect();
    let mut merged = table.clone();
    let mut is_kept = vec![false; table.columns.len()];
    let mut place_last = None;
    let mut added = Vec::new();
    for ((column, source), origin) in new.columns.iter().zip(&altered.sources).zip(&origins) {
        match (origin, source) {
            (Some(origin), _) => {
                // Users see the columns in the order in which rows have them.
                let is_in_order = column.hidden || (added.is_empty() && place_last < Some(*origin));
                if !is_in_order || is_kept[*origin] {
                    return None;
                }
                if !column.hidden {
                    place_last = Some(*origin);
                }
                is_kept[*origin] = true;
                merged.columns[*origin] = kept(table, *origin, column)?;
            }
            (None, ColumnSource::Value(value)) => {
                added.push(Column { missing: Some(value.clone()), ..column.clone() });
            }
            (None, _) => return None,
        }
    }
    for (place, is_kept) in is_kept.into_iter().enumerate() {
        if !is_kept && !table.columns[place].is_dropped {
            merged.columns[place] = dropped(table, place)?;
        }
    }
    merged.columns.append(&mut added);
    let dropped_count = merged.columns.iter().filter(|column| column.is_dropped).count();
    let is_narrow = merged.columns.len() <= types::row::COLUMN_COUNT_MAX
        && dropped_count <= DROPPED_MAX
        && check_row_size(&merged).is_ok();
    (is_narrow && has_same_keys(table, new, &origins)).then_some(merged)
}

/// A column of the table by its new definition, if each value of it is one of both.
fn kept(table: &Table, place: usize, new: &Column) -> Option<Column> {
    let old = &table.columns[place];
    let is_counter = |column: &Column| matches!(column.default, ColumnDefault::AutoIncrement);
    let in_unique_key = table.indexes.iter().any(|index| {
        matches!(index.kind, IndexKind::Unique { .. })
            && index.parts.iter().any(|part| usize::from(part.column) == place)
    });
    let is_same_type = new.column_type == old.column_type;
    let stays = new.name == old.name
        && new.hidden == old.hidden
        && generated_text(new) == generated_text(old)
        && default_text(new) == default_text(old)
        && is_counter(new) == is_counter(old)
        && (new.nullable || !old.nullable)
        && new.display.keeps_as(&old.display)
        && (is_same_type || !in_unique_key)
        && (holds(&new.column_type, &old.column_type)
            || has_more_labels(&new.column_type, &old.column_type));
    if !stays {
        return None;
    }
    // Its expressions name columns by their places in the table, which stay.
    let default = match &old.default {
        ColumnDefault::Expression(_) => old.default.clone(),
        _ => new.default.clone(),
    };
    let missing = match (&old.missing, &new.column_type) {
        (Some(Value::Label(number, _)), ColumnType::Labelled(labels)) => {
            Some(Value::Label(*number, labels.clone()))
        }
        (missing, _) => missing.clone(),
    };
    Some(Column { default, generated: old.generated.clone(), missing, ..new.clone() })
}

fn generated_text(column: &Column) -> Option<(&str, bool)> {
    let generated = column.generated.as_ref()?;
    Some((&generated.expression.text, generated.stored))
}

fn default_text(column: &Column) -> Option<&str> {
    match &column.default {
        ColumnDefault::Expression(expression) => Some(&expression.text),
        _ => None,
    }
}

/// Has an ENUM or a SET the labels of another one, and behind them others that fit into as many bytes?
fn has_more_labels(new: &ColumnType, old: &ColumnType) -> bool {
    let (ColumnType::Labelled(new_labels), ColumnType::Labelled(old_labels)) = (new, old) else {
        return false;
    };
    new.fixed_size() == old.fixed_size() && new_labels.extends(old_labels)
}

/// A column as it is when ALTER TABLE has dropped it. None if something of the table is made of it.
fn dropped(table: &Table, place: usize) -> Option<Column> {
    let old = &table.columns[place];
    let number = u16::try_from(place).ok()?;
    let constraints = &table.constraints;
    let in_index =
        table.indexes.iter().any(|own| own.parts.iter().any(|part| part.column == number));
    let in_key = constraints.foreign_keys.iter().any(|key| key.columns.contains(&number))
        || constraints.referenced_by.iter().any(|reference| {
            reference.key.parent_columns.iter().any(|own| own.eq_ignore_ascii_case(&old.name))
        });
    let is_counter = table.auto_increment.as_ref().is_some_and(|own| own.column == number);
    if in_index || in_key || is_counter || old.hidden {
        return None;
    }
    Some(Column {
        name: format!("!dropped!{place}"),
        column_type: old.column_type.clone(),
        nullable: true,
        default: ColumnDefault::None,
        on_update_now: false,
        comment: String::new(),
        hidden: true,
        display: NumberDisplay::default(),
        generated: None,
        missing: None,
        is_dropped: true,
    })
}

/// Are the keys and constraints of the new definition those of the table?
fn has_same_keys(table: &Table, new: &Table, origins: &[Option<usize>]) -> bool {
    let is_public = |index: &types::Index| index.state == IndexState::Public;
    let has_index = |index: &types::Index| {
        let Some(own) = table.index_named(&index.name) else { return false };
        std::mem::discriminant(&own.kind) == std::mem::discriminant(&index.kind)
            && own.comment == index.comment
            && own.algorithm == index.algorithm
            && own.is_generated == index.is_generated
            && own.parts.len() == index.parts.len()
            && own.parts.iter().zip(&index.parts).all(|(own, part)| {
                origins[usize::from(part.column)] == Some(usize::from(own.column))
                    && (own.prefix, own.descending) == (part.prefix, part.descending)
            })
    };
    let (own, other) = (&table.constraints, &new.constraints);
    let checks = |own: &types::Constraints| -> Vec<(String, String, bool)> {
        let checks = own.checks.iter();
        checks.map(|own| (own.name.clone(), own.expression.text.clone(), own.enforced)).collect()
    };
    table.indexes.iter().all(is_public)
        && table.indexes.len() == new.indexes.len()
        && new.indexes.iter().all(has_index)
        && checks(own) == checks(other)
        && own.foreign_keys.len() == other.foreign_keys.len()
        && table.collation == new.collation
        && table.auto_increment.is_some() == new.auto_increment.is_some()
}
