//! Which column a name means.
//!
//! A scope is what the names of one clause may refer to: the columns of the statement's table (there is at most one), and
//! in HAVING, GROUP BY and ORDER BY the select list's aliases. Column names compare in any case, table names in theirs.
//!
//! Which comes first where a name is both, as in MySQL:
//!
//! | clause | first | then |
//! |---|---|---|
//! | ORDER BY name | select list | the table's columns |
//! | GROUP BY name | the table's columns (warning 1052 if the select list has another item of that name) | select list |
//! | HAVING | columns of GROUP BY (the same warning) | select list |
//! | inside of expressions of ORDER BY and GROUP BY, and of aggregates | the table's columns | select list |

use std::cell::RefCell;
use std::sync::Arc;

use types::expr::{Aggregate, ResultType};
use types::{ColumnType, Expr, IndexKind, Table};

use super::Binder;
use crate::error::SqlError;
use crate::parser::ast;
use crate::plan::Slot;

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
    /// The column that `_rowid` names.
    pub row_id: Option<usize>,
}

/// `_rowid`: the only column of the key that identifies rows, if it is an integer.
const ROW_ID: &str = "_rowid";

/// The key that identifies a table's rows for its users: PRIMARY, else the first UNIQUE key of whole columns that are
/// all NOT NULL.
pub fn identifying_key(table: &Table) -> Option<&types::Index> {
    let is_whole = |part: &types::IndexPart| {
        let column = &table.columns[usize::from(part.column)];
        part.prefix.is_none() && !column.nullable && !column.hidden
    };
    table.indexes_as_shown().into_iter().find(|index| {
        index.kind != IndexKind::Ordinary
            && index.state == types::IndexState::Public
            && index.parts.iter().all(is_whole)
    })
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
            row_id: identifying_key(table).and_then(|key| match key.parts.as_slice() {
                [part] => Some(usize::from(part.column)).filter(|&own| {
                    matches!(table.columns[own].column_type, ColumnType::Int { .. })
                }),
                _ => None,
            }),
        }
    }
    /// The position of a visible column.
    pub fn position(&self, name: &str) -> Option<usize> {
        let named = |column: &ScopeColumn| !column.hidden && column.name.eq_ignore_ascii_case(name);
        let row_id = || self.row_id.filter(|_| name.eq_ignore_ascii_case(ROW_ID));
        self.columns.iter().position(named).or_else(row_id)
    }
    /// Does the qualifier of a name, if it has one, mean this table?
    pub fn matches(&self, name: &ast::ColumnName) -> bool {
        name.table.as_ref().is_none_or(|written| *written == self.alias)
            && name.schema.as_ref().is_none_or(|schema| schema.eq_ignore_ascii_case(&self.database))
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

/// A name of the select list: an alias, a column's own name, or the text of what is computed.
#[derive(Clone, Copy)]
pub struct Alias<'a> {
    pub name: &'a str,
    pub expr: &'a ast::Expr,
    /// The item's position in the select list.
    pub item: usize,
}

/// The select item that an unqualified name means: the first computed one of that name, else the column of that name.
/// 1052 if two different columns are called so.
pub fn item_named<'s, 'a>(
    aliases: &'s [Alias<'a>],
    name: &ast::ColumnName,
    place: &str,
) -> Result<Option<&'s Alias<'a>>, SqlError> {
    if name.table.is_some() {
        return Ok(None);
    }
    let mut found: Option<&Alias<'_>> = None;
    for alias in aliases.iter().filter(|alias| alias.name.eq_ignore_ascii_case(&name.column)) {
        let ast::Expr::Column(own) = alias.expr else { return Ok(Some(alias)) };
        match found.map(|found| found.expr) {
            Some(ast::Expr::Column(other)) if !other.column.eq_ignore_ascii_case(&own.column) => {
                return Err(SqlError::ambiguous_column(&name.column, place));
            }
            Some(_) => {}
            None => found = Some(alias),
        }
    }
    Ok(found)
}

/// A statement around a subquery: what the subquery cannot name, because it is run before the statement's rows.
pub struct OuterScope {
    pub table: Option<ScopeTable>,
    /// Select items that the subquery may name by MySQL's rules.
    pub aliases: Vec<(String, ast::Expr)>,
    /// Select items behind the one that the subquery is part of.
    pub later_aliases: Vec<String>,
    /// Aggregates are allowed where the subquery stands.
    pub has_aggregates: bool,
}

/// The table that INSERT ... SELECT reads, as its ON DUPLICATE KEY UPDATE names it.
pub struct SourceScope {
    pub table: ScopeTable,
    /// Columns that were named, in the order of their first use. Each is selected behind the columns that are inserted.
    pub columns: RefCell<Vec<usize>>,
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
    /// Aliases of the items before the one that is bound, and behind it: only subqueries in the item can name them.
    pub earlier_aliases: &'a [Alias<'a>],
    pub later_aliases: &'a [Alias<'a>],
    /// HAVING: the columns that GROUP BY names, which come before aliases.
    pub grouped: &'a [usize],
    /// Present where aggregates are allowed.
    pub groups: Option<&'a RefCell<GroupCollector>>,
    /// Only these columns may be named (HAVING, outside of aggregates); None for all.
    pub only_columns: Option<&'a [usize]>,
    /// VALUES(column) is allowed: ON DUPLICATE KEY UPDATE.
    pub new_values: bool,
    /// `AS new(a, b)` of an INSERT: (alias, column names).
    pub row_alias: Option<(&'a str, &'a [String])>,
    /// ON DUPLICATE KEY UPDATE of INSERT ... SELECT.
    pub source: Option<&'a SourceScope>,
}

impl<'a> Scope<'a> {
    pub fn empty(place: &'static str) -> Scope<'a> {
        Scope {
            table: None,
            place,
            aliases: &[],
            aliases_first: false,
            earlier_aliases: &[],
            later_aliases: &[],
            grouped: &[],
            groups: None,
            only_columns: None,
            new_values: false,
            row_alias: None,
            source: None,
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
            earlier_aliases: self.earlier_aliases,
            later_aliases: self.later_aliases,
            grouped: &[],
            groups: None,
            only_columns: None,
            new_values: self.new_values,
            row_alias: self.row_alias,
            source: self.source,
        }
    }

    /// The position of a column.
    pub fn column(&self, name: &ast::ColumnName) -> Result<usize, SqlError> {
        let unknown = || SqlError::unknown_column(&written(name), self.place);
        let table = self.table.filter(|table| table.matches(name)).ok_or_else(unknown)?;
        table
            .position(&name.column)
            .filter(|position| self.only_columns.is_none_or(|only| only.contains(position)))
            .ok_or_else(unknown)
    }
    /// The select item an unqualified name stands for; 1052 if it stands for several.
    pub fn alias(&self, name: &ast::ColumnName) -> Result<Option<&'a ast::Expr>, SqlError> {
        let found = item_named(self.aliases, name, self.place)?;
        Ok(found.map(|alias| alias.expr))
    }
    /// Does the expression name the table's column at this position, and nothing else?
    pub fn is_column(&self, expr: &ast::Expr, position: usize) -> bool {
        let ast::Expr::Column(name) = expr else { return false };
        self.table.is_some_and(|table| {
            table.matches(name) && table.position(&name.column) == Some(position)
        })
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

/// What a column's name means.
pub enum Named<'a> {
    /// The column of the scope's table at this position.
    Column(usize),
    /// An item of the select list.
    Item(&'a ast::Expr),
    /// A value that is not the row's: of the row that could not be inserted, or of a statement around the subquery.
    Value(Expr),
}

impl Binder<'_> {
    pub fn named<'s>(
        &mut self,
        name: &ast::ColumnName,
        scope: &Scope<'s>,
    ) -> Result<Named<'s>, SqlError> {
        if let Some(value) = self.inserted_name(name, scope)? {
            return Ok(Named::Value(value));
        }
        if scope.aliases_first {
            let item = scope.alias(name)?;
            if let Ok(position) = scope.column(name)
                && scope.grouped.contains(&position)
            {
                if item.is_some_and(|item| !scope.is_column(item, position)) {
                    self.warn(SqlError::ambiguous_column(&written(name), scope.place));
                }
                return Ok(Named::Column(position));
            }
            if let Some(item) = item {
                return Ok(Named::Item(item));
            }
        }
        match scope.column(name) {
            Ok(position) => Ok(Named::Column(position)),
            Err(error) => match scope.alias(name)? {
                Some(item) => Ok(Named::Item(item)),
                None => self.outer_name(name, error).map(Named::Value),
            },
        }
    }

    /// ON DUPLICATE KEY UPDATE: a name of the row alias, or of the table that INSERT ... SELECT reads. 1052 for one that
    /// the table that is inserted into has, too.
    fn inserted_name(
        &mut self,
        name: &ast::ColumnName,
        scope: &Scope<'_>,
    ) -> Result<Option<Expr>, SqlError> {
        if scope.row_alias.is_none() && scope.source.is_none() {
            return Ok(None);
        }
        let own = scope.table.filter(|table| table.matches(name));
        let is_own = own.is_some_and(|table| table.position(&name.column).is_some());
        let ambiguous = || SqlError::ambiguous_column(&written(name), scope.place);
        if let Some((alias, columns)) = scope.row_alias {
            let is_qualified = name.table.is_some();
            if is_qualified && name.table.as_deref() != Some(alias) {
                return Ok(None);
            }
            let position = match columns {
                // Without a column list the alias has the table's names.
                [] => scope.table.and_then(|table| table.position(&name.column)),
                _ => columns.iter().position(|own| own.eq_ignore_ascii_case(&name.column)),
            };
            return match position {
                Some(_) if is_own => Err(ambiguous()),
                Some(position) => self.new_value(position, scope).map(Some),
                None if is_qualified => Err(SqlError::unknown_column(&written(name), scope.place)),
                None => Ok(None),
            };
        }
        let Some(source) = scope.source.filter(|source| source.table.matches(name)) else {
            return Ok(None);
        };
        let Some(position) = source.table.position(&name.column) else { return Ok(None) };
        if is_own {
            return Err(ambiguous());
        }
        let mut columns = source.columns.borrow_mut();
        let behind = columns.iter().position(|own| *own == position).unwrap_or_else(|| {
            columns.push(position);
            columns.len() - 1
        });
        let behind = u16::try_from(behind).expect("tables are narrow");
        let column_type = match &source.table.columns[position].column_type {
            // Selected in the session's time zone.
            ColumnType::Timestamp { fsp } => ColumnType::DateTime { fsp: *fsp },
            other => other.clone(),
        };
        let slot = Slot::SourceValue { position: behind };
        Ok(Some(Expr::Param(self.slot(slot, Some(column_type))?)))
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
