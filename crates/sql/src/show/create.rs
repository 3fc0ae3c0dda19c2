//! SHOW CREATE TABLE and SHOW CREATE DATABASE: text that makes the same thing again, spelled as MySQL 8 spells it.

use std::fmt::Write;

use types::convert::to_text;
use types::{
    Check, Collation, Column, ColumnDefault, ColumnType, ForeignKey, Index, IndexKind,
    ReferenceAction, Table, Value,
};

use crate::execute::evaluate::shifted;
use crate::information_schema::shown_indexes;

/// A name in backquotes.
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A string literal.
fn literal(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for character in text.chars() {
        match character {
            '\'' => out.push_str("''"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            other => out.push(other),
        }
    }
    out.push('\'');
    out
}

/// CURRENT_TIMESTAMP with the column's precision.
pub fn now_text(column_type: &ColumnType) -> String {
    match column_type.fsp() {
        0 => "CURRENT_TIMESTAMP".into(),
        fsp => format!("CURRENT_TIMESTAMP({fsp})"),
    }
}

/// A stored value as text, temporal ones with their column's digits, those of a TIMESTAMP in the session's zone.
pub fn value_text(value: &Value, column: &Column, offset_seconds: i32) -> String {
    let column_type = &column.column_type;
    match value {
        Value::DateTime(own) => {
            let is_utc = matches!(column_type, ColumnType::Timestamp { .. }) && !own.is_zero();
            let own = if is_utc { shifted(*own, offset_seconds) } else { *own };
            own.format(column_type.fsp())
        }
        Value::Time(own) => own.format(column_type.fsp()),
        Value::Bytes(bytes) => {
            let mut bytes: &[u8] = bytes;
            // BINARY(n) is padded with zeros that the user did not write.
            if matches!(column_type, ColumnType::Binary { .. }) {
                while let [head @ .., 0] = bytes {
                    bytes = head;
                }
            }
            String::from_utf8_lossy(bytes).into_owned()
        }
        Value::UInt(bits) if matches!(column_type, ColumnType::Bit { .. }) => {
            format!("b'{bits:b}'")
        }
        Value::UInt(year) if *column_type == ColumnType::Year => format!("{year:04}"),
        other => match column.display.text(other.as_ref(), column_type) {
            Some(text) => text,
            None => to_text(other.as_ref()).into_owned(),
        },
    }
}

pub fn create_database_text(name: &str, collation: Collation, if_not_exists: bool) -> String {
    let condition = if if_not_exists { "/*!32312 IF NOT EXISTS*/ " } else { "" };
    let charset = collation.charset_name();
    // utf8mb4's default collation has always been spelled out.
    let collate = match collation.is_default() && charset != "utf8mb4" {
        true => String::new(),
        false => format!(" COLLATE {}", collation.name()),
    };
    format!(
        "CREATE DATABASE {condition}{} /*!40100 DEFAULT CHARACTER SET {charset}{collate} */ /*!80016 DEFAULT \
         ENCRYPTION='N' */",
        quoted(name)
    )
}

/// SHOW CREATE TABLE in a session whose time zone is this far east of UTC. `next`: the value that the table's AUTO_INCREMENT column
/// gets next.
pub fn create_table_text(table: &Table, next: Option<u64>, offset_seconds: i32) -> String {
    let mut lines: Vec<String> = Vec::new();
    for column in table.columns.iter().filter(|column| !column.hidden) {
        lines.push(column_text(table, column, offset_seconds));
    }
    for index in shown_indexes(table) {
        lines.push(index_text(table, index));
    }
    // By name, as MySQL's dictionary has them.
    let mut keys: Vec<&ForeignKey> = table.constraints.foreign_keys.iter().collect();
    keys.sort_by_key(|key| key.name.to_lowercase());
    lines.extend(keys.into_iter().map(|key| foreign_key_text(table, key)));
    lines.extend(table.constraints.checks.iter().map(check_text));
    let kind = if table.id.is_temporary() { "TEMPORARY TABLE" } else { "TABLE" };
    let mut text = format!("CREATE {kind} {} (\n", quoted(&table.name));
    for (position, line) in lines.iter().enumerate() {
        let comma = if position + 1 < lines.len() { "," } else { "" };
        let _ = writeln!(text, "  {line}{comma}");
    }
    let _ = write!(text, ") ENGINE={}", table.engine);
    if let Some(next) = next.filter(|next| 1 < *next && shows_sequence(table)) {
        let _ = write!(text, " AUTO_INCREMENT={next}");
    }
    let _ = write!(text, " DEFAULT CHARSET={}", table.collation.charset_name());
    if !table.collation.is_default() || table.collation.charset_name() == "utf8mb4" {
        let _ = write!(text, " COLLATE={}", table.collation.name());
    }
    for (name, value) in &table.options {
        let _ = write!(text, " {name}={value}");
    }
    if !table.comment.is_empty() {
        let _ = write!(text, " COMMENT={}", literal(&table.comment));
    }
    text
}

/// Has the table an AUTO_INCREMENT column that users see?
pub fn shows_sequence(table: &Table) -> bool {
    let is_counter = |column: &Column| matches!(column.default, ColumnDefault::AutoIncrement);
    table.columns.iter().any(|column| !column.hidden && is_counter(column))
}

fn column_text(table: &Table, column: &Column, offset_seconds: i32) -> String {
    let mut text = format!("{} {}", quoted(&column.name), column.type_name());
    if let Some(collation) = column.column_type.collation() {
        let (charset, name) = (collation.charset_name(), collation.name());
        if collation != table.collation {
            let _ = write!(text, " CHARACTER SET {charset} COLLATE {name}");
        } else if !collation.is_default() {
            let _ = write!(text, " COLLATE {name}");
        }
    }
    let is_timestamp = matches!(column.column_type, ColumnType::Timestamp { .. });
    if let Some(generated) = &column.generated {
        let kind = if generated.stored { "STORED" } else { "VIRTUAL" };
        let _ = write!(text, " GENERATED ALWAYS AS ({}) {kind}", generated.expression.text);
    }
    if !column.nullable {
        text.push_str(" NOT NULL");
    } else if is_timestamp {
        text.push_str(" NULL");
    }
    let is_large = matches!(column.column_type, ColumnType::Text { .. } | ColumnType::Blob { .. });
    match &column.default {
        ColumnDefault::AutoIncrement => text.push_str(" AUTO_INCREMENT"),
        ColumnDefault::Expression(expression) => {
            let _ = write!(text, " DEFAULT ({})", expression.text);
        }
        ColumnDefault::Now => {
            let _ = write!(text, " DEFAULT {}", now_text(&column.column_type));
        }
        ColumnDefault::Value(Value::Null) | ColumnDefault::None
            if column.nullable && !is_large && column.generated.is_none() =>
        {
            text.push_str(" DEFAULT NULL");
        }
        ColumnDefault::Value(Value::Null) | ColumnDefault::None => {}
        ColumnDefault::Value(value) => {
            let own = value_text(value, column, offset_seconds);
            let _ = match column.column_type {
                // It is a literal already.
                ColumnType::Bit { .. } => write!(text, " DEFAULT {own}"),
                _ => write!(text, " DEFAULT {}", literal(&own)),
            };
        }
    }
    if column.on_update_now {
        let _ = write!(text, " ON UPDATE {}", now_text(&column.column_type));
    }
    if !column.comment.is_empty() {
        let _ = write!(text, " COMMENT {}", literal(&column.comment));
    }
    text
}

/// A foreign key as definitions and errors show it.
pub fn foreign_key_text(table: &Table, key: &ForeignKey) -> String {
    let columns = key.columns.iter().map(|own| quoted(&table.columns[usize::from(*own)].name));
    let columns = columns.collect::<Vec<String>>().join(", ");
    let referenced: Vec<String> = key.parent_columns.iter().map(|own| quoted(own)).collect();
    let database = match key.parent_database.eq_ignore_ascii_case(&table.database) {
        true => String::new(),
        false => format!("{}.", quoted(&key.parent_database)),
    };
    let mut text = format!(
        "CONSTRAINT {} FOREIGN KEY ({columns}) REFERENCES {database}{} ({})",
        quoted(&key.name),
        quoted(&key.parent_table),
        referenced.join(", ")
    );
    for (event, action) in [("DELETE", key.on_delete), ("UPDATE", key.on_update)] {
        let action = match action {
            ReferenceAction::NoAction => continue,
            ReferenceAction::Restrict => "RESTRICT",
            ReferenceAction::Cascade => "CASCADE",
            ReferenceAction::SetNull => "SET NULL",
        };
        let _ = write!(text, " ON {event} {action}");
    }
    text
}

fn check_text(check: &Check) -> String {
    let enforced = if check.enforced { "" } else { " /*!80016 NOT ENFORCED */" };
    format!("CONSTRAINT {} CHECK ({}){enforced}", quoted(&check.name), check.expression.text)
}

fn index_text(table: &Table, index: &Index) -> String {
    let parts: Vec<String> = index
        .parts
        .iter()
        .map(|part| {
            let column = &table.columns[usize::from(part.column)];
            let mut text = match &column.generated {
                Some(generated) if column.hidden => format!("({})", generated.expression.text),
                _ => quoted(&column.name),
            };
            if let Some(prefix) = part.prefix {
                let _ = write!(text, "({prefix})");
            }
            if part.descending {
                text.push_str(" DESC");
            }
            text
        })
        .collect();
    let parts = parts.join(",");
    let mut text = match index.kind {
        IndexKind::Primary => format!("PRIMARY KEY ({parts})"),
        IndexKind::Unique { .. } => format!("UNIQUE KEY {} ({parts})", quoted(&index.name)),
        IndexKind::Ordinary => format!("KEY {} ({parts})", quoted(&index.name)),
    };
    if let Some(algorithm) = index.algorithm {
        let _ = write!(text, " USING {}", algorithm.name());
    }
    if !index.comment.is_empty() {
        let _ = write!(text, " COMMENT {}", literal(&index.comment));
    }
    text
}
