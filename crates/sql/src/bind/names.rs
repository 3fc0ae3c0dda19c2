//! Which column a name means.
//!
//! A scope is what the names of one clause may refer to: the columns of the statement's table (there is at most one), and
//! in HAVING and ORDER BY the select list's aliases. Column names compare in any case, table names in theirs.

use std::cell::RefCell;
use std::sync::Arc;

use types::expr::{Aggregate, ResultType};
use types::{ColumnType, Table};

use crate::error::SqlError;
use crate::parser::ast;

/// A column that names can refer to.
#[derive(Clone, Debug)]
pub struct ScopeColumn {
    pub name: String,
    pub column_type: ColumnType,
    pub nullable: bool,
    pub hidden: bool,
}

/// The statement's table under the name the statement gave it.
#[derive(Clone, Debug)]
pub struct ScopeTable {
    pub database: String,
    pub alias: String,
    pub columns: Vec<ScopeColumn>,
}

impl ScopeTable {
    pub fn of(table: &Arc<Table>, alias: Option<&str>) -> ScopeTable {
        ScopeTable {
            database: table.database.clone(),
            alias: alias.unwrap_or(&table.name).to_string(),
            columns: table
                .columns
                .iter()
                .map(|column| ScopeColumn {
                    name: column.name.clone(),
                    column_type: column.column_type.clone(),
                    nullable: column.nullable,
                    hidden: column.hidden,
                })
                .collect(),
        }
    }
    pub fn result_types(&self) -> Vec<ResultType> {
        self.columns
            .iter()
            .map(|column| ResultType {
                column_type: Some(column.column_type.clone()),
                nullable: column.nullable,
            })
            .collect()
    }
}

/// What stands behind an alias of the select list.
pub struct Alias<'a> {
    pub name: &'a str,
    pub expr: &'a ast::Expr,
}

/// Aggregates and group values met while binding. Their results get positions behind the table's columns: first the
/// group values, then the aggregates, as they come.
#[derive(Debug, Default)]
pub struct GroupCollector {
    pub base: usize,
    pub group_count: usize,
    pub aggregates: Vec<Aggregate>,
    pub types: Vec<ResultType>,
}

pub struct Scope<'a> {
    pub table: Option<&'a ScopeTable>,
    /// As errors name the clause: "field list", "where clause", "order clause", "group statement", "having clause".
    pub place: &'static str,
    /// Aliases looked up before columns (HAVING), or after them (GROUP BY, expressions of ORDER BY, arguments of aggregates).
    pub aliases: &'a [Alias<'a>],
    pub aliases_first: bool,
    /// Present where aggregates are allowed.
    pub groups: Option<&'a RefCell<GroupCollector>>,
    /// Only these columns may be named (HAVING, outside of aggregates); None for all.
    pub only_columns: Option<&'a [usize]>,
    /// VALUES(column) is allowed: ON DUPLICATE KEY UPDATE.
    pub new_values: bool,
    /// `AS new(a, b)` of an INSERT: (alias, column names).
    pub row_alias: Option<(&'a str, &'a [String])>,
}

impl<'a> Scope<'a> {
    pub fn empty(place: &'static str) -> Scope<'a> {
        Scope {
            table: None,
            place,
            aliases: &[],
            aliases_first: false,
            groups: None,
            only_columns: None,
            new_values: false,
            row_alias: None,
        }
    }
    pub fn of(table: &'a ScopeTable, place: &'static str) -> Scope<'a> {
        Scope { table: Some(table), ..Scope::empty(place) }
    }

    /// The same scope inside of an aggregate, where no other is allowed.
    pub fn without_groups(&self) -> Scope<'a> {
        Scope {
            table: self.table,
            place: self.place,
            aliases: self.aliases,
            // What an aggregate adds up is the rows'.
            aliases_first: false,
            groups: None,
            only_columns: None,
            new_values: self.new_values,
            row_alias: self.row_alias,
        }
    }

    /// The position of a column.
    pub fn column(&self, name: &ast::ColumnName) -> Result<usize, SqlError> {
        let unknown = || SqlError::unknown_column(&written(name), self.place);
        let table = self.table.ok_or_else(unknown)?;
        if !self.table_matches(name) {
            return Err(unknown());
        }
        table
            .columns
            .iter()
            .position(|column| !column.hidden && column.name.eq_ignore_ascii_case(&name.column))
            .filter(|position| self.only_columns.is_none_or(|only| only.contains(position)))
            .ok_or_else(unknown)
    }
    pub fn table_matches(&self, name: &ast::ColumnName) -> bool {
        let Some(table) = self.table else { return false };
        name.table.as_ref().is_none_or(|written| *written == table.alias)
            && name
                .schema
                .as_ref()
                .is_none_or(|schema| schema.eq_ignore_ascii_case(&table.database))
    }
    /// The select item an unqualified name stands for.
    pub fn alias(&self, name: &ast::ColumnName) -> Option<&'a ast::Expr> {
        if name.table.is_some() {
            return None;
        }
        let found = self.aliases.iter().find(|alias| alias.name.eq_ignore_ascii_case(&name.column));
        found.map(|alias| alias.expr)
    }
    /// Types of everything an expression of this scope can have as a column.
    pub fn result_types(&self) -> Vec<ResultType> {
        let mut types = self.table.map(ScopeTable::result_types).unwrap_or_default();
        if let Some(groups) = self.groups {
            types.extend(groups.borrow().types.iter().cloned());
        }
        types
    }
}

/// A column name as it was written.
pub fn written(name: &ast::ColumnName) -> String {
    let parts = [name.schema.as_deref(), name.table.as_deref(), Some(name.column.as_str())];
    parts.into_iter().flatten().collect::<Vec<_>>().join(".")
}

/// FOR UPDATE OF names tables as FROM does: by alias, or else by name; 3568 for others.
pub fn check_locked_names(
    query: &ast::Query,
    from: &[ast::TableReference],
    current: Option<&str>,
) -> Result<(), SqlError> {
    let mut named = Vec::new();
    for reference in from {
        named_tables(reference, &mut named);
    }
    for name in query.locking.iter().flat_map(|locking| &locking.of) {
        let is_named = named.iter().any(|(schema, own)| {
            let same_schema = |written: &String| {
                schema.or(current).is_some_and(|schema| schema.eq_ignore_ascii_case(written))
            };
            *own == name.name && name.schema.as_ref().is_none_or(same_schema)
        });
        if !is_named {
            return Err(SqlError::unresolved_table_lock(name.schema.as_deref(), &name.name));
        }
    }
    Ok(())
}

/// The tables of FROM: (database as written, alias or name).
fn named_tables<'a>(
    reference: &'a ast::TableReference,
    named: &mut Vec<(Option<&'a str>, &'a str)>,
) {
    let joined = reference.joins.iter().map(|join| &join.factor);
    for factor in std::iter::once(&reference.first).chain(joined) {
        match factor {
            ast::TableFactor::Table { name, alias, .. } => {
                named.push((name.schema.as_deref(), alias.as_deref().unwrap_or(&name.name)));
            }
            ast::TableFactor::Nested(inner) => {
                inner.iter().for_each(|reference| named_tables(reference, named));
            }
            // Refused when FROM is bound.
            ast::TableFactor::Derived { .. } | ast::TableFactor::Unsupported { .. } => {}
        }
    }
}
