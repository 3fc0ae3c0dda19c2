//! What a table asks of its rows besides their types: CHECK, FOREIGN KEY, generated columns.
//!
//! Expressions are kept as text, as views are: in the default SQL mode, with quoted names of columns. A statement binds them with
//! its own plan, so they follow the rules of expressions whatever these are then.

use crate::{Collation, TableId, wire_enum, wire_struct};

/// An expression over the columns of its table, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnExpression {
    pub text: String,
    /// Of the connection that made it: string literals of the text have it.
    pub collation: Collation,
}
wire_struct!(ColumnExpression { text, collation });

/// CHECK: a row for which the expression is false is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    pub expression: ColumnExpression,
    /// False for NOT ENFORCED.
    pub enforced: bool,
}
wire_struct!(Check { name, expression, enforced });

impl Check {
    /// The name of the CHECK of this number that was given none.
    pub fn generated_name(table: &str, number: u64) -> String {
        format!("{table}_chk_{number}")
    }
    /// The number in a generated name.
    pub fn generated_number(&self, table: &str) -> Option<u64> {
        let digits = self.name.strip_prefix(table)?.strip_prefix("_chk_")?;
        let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        if is_number { digits.parse().ok() } else { None }
    }
    /// The name that it has when its table is called `to` instead of `from`.
    pub fn name_in(&self, from: &str, to: &str) -> String {
        match self.generated_number(from) {
            Some(number) => Check::generated_name(to, number),
            None => self.name.clone(),
        }
    }
}

/// A column whose value is computed of other columns of its row. VIRTUAL ones are kept in the row, too: nothing but their
/// definition tells them from STORED ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    pub expression: ColumnExpression,
    pub stored: bool,
}
wire_struct!(Generated { expression, stored });

/// What becomes of the rows that reference a row whose key is changed or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceAction {
    /// They keep it from being changed. NO ACTION is the same, as in InnoDB, but for its spelling.
    NoAction,
    Restrict,
    /// They are deleted, or changed alike.
    Cascade,
    SetNull,
}
wire_enum!(ReferenceAction { 0 => NoAction, 1 => Restrict, 2 => Cascade, 3 => SetNull });

/// FOREIGN KEY: the values that a row has in these columns, if none of them is NULL, are the values of a unique key of some row of
/// the parent table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    pub name: String,
    /// Places of the columns in their table.
    pub columns: Vec<u16>,
    /// The parent, by name: it may be absent where foreign_key_checks is off.
    pub parent_database: String,
    pub parent_table: String,
    pub parent_columns: Vec<String>,
    pub on_delete: ReferenceAction,
    pub on_update: ReferenceAction,
}
wire_struct!(ForeignKey {
    name,
    columns,
    parent_database,
    parent_table,
    parent_columns,
    on_delete,
    on_update,
});

impl ForeignKey {
    /// Do its columns get other values where a parent is changed?
    pub fn changes_children(&self) -> bool {
        use ReferenceAction::{Cascade, SetNull};
        self.on_delete == SetNull || matches!(self.on_update, Cascade | SetNull)
    }
}

/// A foreign key of another table (or of the same one), as the parent knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    pub child: TableId,
    pub key: ForeignKey,
}
wire_struct!(Reference { child, key });

/// The constraints of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constraints {
    pub checks: Vec<Check>,
    pub foreign_keys: Vec<ForeignKey>,
    /// Foreign keys that name this table as their parent: the control plane keeps them true with each change, so that a statement
    /// that changes a parent plans with its children.
    pub referenced_by: Vec<Reference>,
}
wire_struct!(Constraints { checks, foreign_keys, referenced_by });

impl Constraints {
    /// The order in which rows are checked, and CHECKs are listed.
    pub fn sort_checks(&mut self) {
        self.checks.sort_by_key(|check| check.name.to_lowercase());
    }
    pub fn is_empty(&self) -> bool {
        self.checks.is_empty() && self.foreign_keys.is_empty() && self.referenced_by.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Generated names follow the name of the table, names of the user's stay.
    #[test]
    fn generated_names_follow_the_table() {
        let check = |name: &str| Check {
            name: name.into(),
            expression: ColumnExpression { text: "true".into(), collation: Collation::default() },
            enforced: true,
        };
        for (name, new) in [
            ("t_chk_1", "u_chk_1"),
            ("t_chk_12", "u_chk_12"),
            ("t_chk_", "t_chk_"),
            ("t_chk_1a", "t_chk_1a"),
            ("t_chk_+1", "t_chk_+1"),
            ("tt_chk_1", "tt_chk_1"),
            ("positive", "positive"),
        ] {
            assert_eq!(check(name).name_in("t", "u"), new);
        }
    }
}
