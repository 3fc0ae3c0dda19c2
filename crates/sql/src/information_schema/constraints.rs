//! TABLE_CONSTRAINTS, KEY_COLUMN_USAGE and REFERENTIAL_CONSTRAINTS: keys by which rows are unique, and foreign keys.

use types::{Catalogue, ForeignKey, IndexKind, ReferenceAction, Table, Value};

use super::{number, shown_indexes, text};
use crate::execute::write::referenced_index;

fn unique_keys(table: &Table) -> impl Iterator<Item = &types::Index> {
    shown_indexes(table).into_iter().filter(|index| index.kind != IndexKind::Ordinary)
}

pub fn constraint_rows(table: &Table) -> Vec<Vec<Value>> {
    let row = |name: &str, kind: &str, enforced: bool| {
        vec![
            text("def"),
            text(&table.database),
            text(name),
            text(&table.database),
            text(&table.name),
            text(kind),
            text(if enforced { "YES" } else { "NO" }),
        ]
    };
    let unique = unique_keys(table).map(|index| {
        let is_primary = index.kind == IndexKind::Primary;
        row(&index.name, if is_primary { "PRIMARY KEY" } else { "UNIQUE" }, true)
    });
    let foreign = table.constraints.foreign_keys.iter();
    let foreign = foreign.map(|key| row(&key.name, "FOREIGN KEY", true));
    let checks = table.constraints.checks.iter();
    let checks = checks.map(|check| row(&check.name, "CHECK", check.enforced));
    unique.chain(foreign).chain(checks).collect()
}

pub fn key_usage_rows(table: &Table) -> Vec<Vec<Value>> {
    let row = |name: &str, column: u16, position: usize, referenced: [Value; 4]| {
        let mut row = vec![
            text("def"),
            text(&table.database),
            text(name),
            text("def"),
            text(&table.database),
            text(&table.name),
            text(&table.columns[usize::from(column)].name),
            number(position as u64 + 1),
        ];
        row.extend(referenced);
        row
    };
    let mut rows = Vec::new();
    for index in unique_keys(table) {
        for (position, part) in index.parts.iter().enumerate() {
            rows.push(row(&index.name, part.column, position, [const { Value::Null }; 4]));
        }
    }
    for key in &table.constraints.foreign_keys {
        for (position, (column, referenced)) in
            key.columns.iter().zip(&key.parent_columns).enumerate()
        {
            let parent = [
                number(position as u64 + 1),
                text(&key.parent_database),
                text(&key.parent_table),
                text(referenced),
            ];
            rows.push(row(&key.name, *column, position, parent));
        }
    }
    rows
}

pub fn referential_rows(catalogue: &Catalogue, table: &Table) -> Vec<Vec<Value>> {
    let unique_name = |key: &ForeignKey| {
        let parent = catalogue.base_table(&key.parent_database, &key.parent_table)?;
        referenced_index(parent, &key.parent_columns).map(|index| index.name.clone())
    };
    let rule = |action: ReferenceAction| {
        text(match action {
            ReferenceAction::NoAction => "NO ACTION",
            ReferenceAction::Restrict => "RESTRICT",
            ReferenceAction::Cascade => "CASCADE",
            ReferenceAction::SetNull => "SET NULL",
        })
    };
    let row = |key: &ForeignKey| {
        vec![
            text("def"),
            text(&table.database),
            text(&key.name),
            text("def"),
            text(&key.parent_database),
            unique_name(key).map_or(Value::Null, text),
            text("NONE"),
            rule(key.on_update),
            rule(key.on_delete),
            text(&table.name),
            text(&key.parent_table),
        ]
    };
    table.constraints.foreign_keys.iter().map(row).collect()
}
