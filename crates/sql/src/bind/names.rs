//! Which column a name means.
//!
//! A scope is what the names of one clause may refer to: the columns of the query's relations ([`Relations`]), and in HAVING,
//! GROUP BY and ORDER BY the select list's aliases. Column names compare in any case, table names in theirs.
//!
//! A bound expression names a column by its number in the query: those of the first relation come first, in its own order,
//! then those of the next. The numbers stay the same until the expression runs; an expression for a shard counts from
//! the first column of its table.
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
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use types::expr::{Aggregate, Coercibility, ResultType};
use types::{ColumnType, Expr, IndexKind, NumberDisplay, Table};

use super::Binder;
use super::window::WindowScope;
use crate::error::{SqlError, code};
use crate::parser::ast;
use crate::plan::{OuterValue, Slot};

/// A column that names can refer to.
#[derive(Clone, Debug)]
pub struct ScopeColumn {
    pub name: String,
    pub column_type: ColumnType,
    pub display: NumberDisplay,
    pub nullable: bool,
    pub hidden: bool,
    pub coercibility: Coercibility,
}

impl ScopeColumn {
    pub fn result_type(&self) -> ResultType {
        ResultType {
            column_type: Some(self.column_type.clone()),
            nullable: self.nullable,
            display: self.display,
        }
    }
}

/// A relation under the name that the query gave it.
#[derive(Clone, Debug)]
pub struct ScopeTable {
    pub database: String,
    pub alias: String,
    pub columns: Vec<ScopeColumn>,
    /// The column that `_rowid` names.
    pub row_id: Option<usize>,
    /// The number of its first column among those of the query.
    pub first: usize,
    /// The table that it names, if it has rows of its own.
    pub table: Option<Arc<Table>>,
}

/// The relations of a FROM clause, or of the part of it that a clause may name.
#[derive(Clone, Debug, Default)]
pub struct Relations {
    /// Those of the whole FROM clause so far.
    pub tables: Vec<Rc<ScopeTable>>,
    /// Which of them can be named.
    pub named: Range<usize>,
    /// The columns that a name without a table means, and that `*` lists, in this order: those of USING once.
    pub listed: Vec<usize>,
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
                    display: column.display,
                    nullable: column.nullable,
                    hidden: column.hidden,
                    coercibility: Coercibility::Implicit,
                })
                .collect(),
            first: 0,
            table: Some(Arc::clone(table)),
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
    /// The numbers of its visible columns.
    pub fn visible(&self) -> impl Iterator<Item = usize> {
        let visible = self.columns.iter().enumerate().filter(|(_, column)| !column.hidden);
        visible.map(|(position, _)| self.first + position)
    }
}

impl Relations {
    /// Of a query without FROM.
    pub fn none() -> Relations {
        Relations::default()
    }
    pub fn of(table: ScopeTable) -> Relations {
        let mut relations = Relations::none();
        relations.add(table);
        relations.listed = relations.tables[0].visible().collect();
        relations
    }
    /// The only table, of a statement on one table.
    pub fn of_table(table: &Arc<Table>, alias: Option<&str>) -> Relations {
        Relations::of(ScopeTable::of(table, alias))
    }
    /// Puts a relation behind the others; its position. The caller lists its columns.
    pub fn add(&mut self, mut table: ScopeTable) -> usize {
        table.first = self.column_count();
        self.tables.push(Rc::new(table));
        self.named.end = self.tables.len();
        self.tables.len() - 1
    }
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }
    pub fn column_count(&self) -> usize {
        self.tables.last().map_or(0, |table| table.first + table.columns.len())
    }
    /// The position of a column's relation.
    pub fn position_of(&self, column: usize) -> usize {
        self.tables.partition_point(|table| table.first <= column) - 1
    }
    /// The relation of a column.
    pub fn table_of(&self, column: usize) -> &Rc<ScopeTable> {
        &self.tables[self.position_of(column)]
    }
    /// Of the inner side of an outer join.
    pub fn make_nullable(&mut self, tables: Range<usize>) {
        for table in &mut self.tables[tables] {
            let columns = &mut Rc::make_mut(table).columns;
            columns.iter_mut().for_each(|column| column.nullable = true);
        }
    }
    pub fn column(&self, number: usize) -> &ScopeColumn {
        let table = self.table_of(number);
        &table.columns[number - table.first]
    }
    /// A name that means this column and no other.
    pub fn name_of(&self, number: usize) -> ast::ColumnName {
        let table = self.table_of(number);
        let written = |name: &String| Some(name.clone()).filter(|name| !name.is_empty());
        ast::ColumnName {
            schema: written(&table.database),
            table: written(&table.alias),
            column: table.columns[number - table.first].name.clone(),
            at: ast::Place::default(),
        }
    }
    /// "database.alias.column", as errors name it.
    pub fn full_name(&self, number: usize) -> String {
        let table = self.table_of(number);
        format!("{}.{}.{}", table.database, table.alias, table.columns[number - table.first].name)
    }
    /// The column of a name: None if there is none, 1052 if there are several.
    pub fn find(&self, name: &ast::ColumnName, place: &str) -> Result<Option<usize>, SqlError> {
        let tables = || self.tables[self.named.clone()].iter();
        let ambiguous = || SqlError::ambiguous_column(&written(name), place);
        if name.table.is_some() {
            let mut found = None;
            for table in tables().filter(|table| table.matches(name)) {
                let Some(position) = table.position(&name.column) else { continue };
                if found.replace(table.first + position).is_some() {
                    return Err(ambiguous());
                }
            }
            return Ok(found);
        }
        let is_it = |number: &&usize| self.column(**number).name.eq_ignore_ascii_case(&name.column);
        let mut named = self.listed.iter().filter(is_it);
        match (named.next(), named.next()) {
            (Some(_), Some(_)) => Err(ambiguous()),
            (Some(number), None) => Ok(Some(*number)),
            (None, _) => {
                let mut tables = tables();
                let only = tables.next().filter(|_| tables.next().is_none());
                Ok(only.and_then(|table| Some(table.first + table.position(&name.column)?)))
            }
        }
    }
    /// Do two names mean one column?
    fn are_same(&self, left: &ast::ColumnName, right: &ast::ColumnName) -> bool {
        let find = |name| self.find(name, "").ok().flatten();
        match (find(left), find(right)) {
            (Some(left), Some(right)) => left == right,
            _ => left.column.eq_ignore_ascii_case(&right.column),
        }
    }
    /// Those with this alias, of the database if it is named.
    pub fn named(&self, name: &ast::ObjectName) -> Option<&Rc<ScopeTable>> {
        let same_schema = |table: &ScopeTable| {
            name.schema.as_ref().is_none_or(|own| own.eq_ignore_ascii_case(&table.database))
        };
        let tables = &self.tables[self.named.clone()];
        tables.iter().find(|table| table.alias == name.name && same_schema(table))
    }
    /// Of columns by number, as far as one is not that of a stored column.
    pub fn coercibilities(&self) -> Vec<Coercibility> {
        let columns = || self.tables.iter().flat_map(|table| &table.columns);
        match columns().any(|column| column.coercibility != Coercibility::Implicit) {
            true => columns().map(|column| column.coercibility).collect(),
            false => Vec::new(),
        }
    }
    pub fn result_types(&self) -> Vec<ResultType> {
        let columns = self.tables.iter().flat_map(|table| &table.columns);
        columns.map(ScopeColumn::result_type).collect()
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
    relations: &Relations,
) -> Result<Option<&'s Alias<'a>>, SqlError> {
    if name.table.is_some() {
        return Ok(None);
    }
    let mut found: Option<&Alias<'_>> = None;
    for alias in aliases.iter().filter(|alias| alias.name.eq_ignore_ascii_case(&name.column)) {
        let ast::Expr::Column(own) = alias.expr else { return Ok(Some(alias)) };
        match found.map(|found| found.expr) {
            Some(ast::Expr::Column(other)) if !relations.are_same(other, own) => {
                return Err(SqlError::ambiguous_column(&name.column, place));
            }
            Some(_) => {}
            None => found = Some(alias),
        }
    }
    Ok(found)
}

/// A query around another one: what the inner one may name of it.
pub struct OuterScope {
    pub relations: Relations,
    /// Select items that the subquery may name by MySQL's rules.
    pub aliases: Vec<(String, ast::Expr)>,
    /// Select items behind the one that the subquery is part of.
    pub later_aliases: Vec<String>,
    /// Where aggregates are allowed that stand in a subquery.
    pub groups: Option<Rc<RefCell<GroupCollector>>>,
    /// The columns that the queries inside name, with the slots that stand for them.
    pub values: Vec<OuterValue>,
    /// The innermost query around this one that the queries inside name columns of.
    pub beyond: Option<usize>,
}

impl OuterScope {
    pub fn of(relations: &Relations) -> OuterScope {
        OuterScope {
            relations: relations.clone(),
            aliases: Vec::new(),
            later_aliases: Vec::new(),
            groups: None,
            values: Vec::new(),
            beyond: None,
        }
    }
}

/// What INSERT ... SELECT reads, as its ON DUPLICATE KEY UPDATE names it.
pub struct SourceScope {
    pub relations: Relations,
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
    /// What group values and arguments of aggregates need for each row.
    pub slots: Vec<u16>,
    /// WITH ROLLUP: the bytes of the expressions of GROUP BY. The value behind theirs is the level.
    pub rollup: Option<Vec<Vec<u8>>>,
}

#[derive(Clone, Copy)]
pub struct Scope<'a> {
    pub relations: &'a Relations,
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
    pub groups: Option<&'a Rc<RefCell<GroupCollector>>>,
    /// Present where window functions are allowed.
    pub windows: Option<&'a WindowScope<'a>>,
    /// Only these columns may be named (HAVING, outside of aggregates); None for all.
    pub only_columns: Option<&'a [usize]>,
    /// VALUES(column) is allowed: ON DUPLICATE KEY UPDATE.
    pub new_values: bool,
    /// `AS new(a, b)` of an INSERT: (alias, column names).
    pub row_alias: Option<(&'a str, &'a [String])>,
    /// ON DUPLICATE KEY UPDATE of INSERT ... SELECT.
    pub source: Option<&'a SourceScope>,
}

/// Of expressions that name no columns.
const NONE: &Relations = &Relations { tables: Vec::new(), named: 0..0, listed: Vec::new() };

impl<'a> Scope<'a> {
    pub fn empty(place: &'static str) -> Scope<'a> {
        Scope {
            relations: NONE,
            place,
            aliases: &[],
            aliases_first: false,
            earlier_aliases: &[],
            later_aliases: &[],
            grouped: &[],
            groups: None,
            windows: None,
            only_columns: None,
            new_values: false,
            row_alias: None,
            source: None,
        }
    }
    pub fn of(relations: &'a Relations, place: &'static str) -> Scope<'a> {
        Scope { relations, ..Scope::empty(place) }
    }

    /// The same scope inside of an aggregate, where no other is allowed.
    pub fn without_groups(&self) -> Scope<'a> {
        Scope {
            relations: self.relations,
            place: self.place,
            aliases: self.aliases,
            // What an aggregate adds up is the rows'.
            aliases_first: false,
            earlier_aliases: self.earlier_aliases,
            later_aliases: self.later_aliases,
            grouped: &[],
            groups: None,
            windows: None,
            only_columns: None,
            new_values: self.new_values,
            row_alias: self.row_alias,
            source: self.source,
        }
    }

    /// The number of a column; 1054 if there is none, 1052 if there are several.
    pub fn column(&self, name: &ast::ColumnName) -> Result<usize, SqlError> {
        let found = self.relations.find(name, self.place)?;
        found
            .filter(|number| self.only_columns.is_none_or(|only| only.contains(number)))
            .ok_or_else(|| match &name.table {
                Some(table) if self.relations.is_empty() => {
                    let message = format!("Unknown table '{table}' in {}", self.place);
                    SqlError::new(code::ER_UNKNOWN_TABLE, message)
                }
                _ => SqlError::unknown_column(&written(name), self.place),
            })
    }
    /// The select item an unqualified name stands for; 1052 if it stands for several.
    pub fn alias(&self, name: &ast::ColumnName) -> Result<Option<&'a ast::Expr>, SqlError> {
        let found = item_named(self.aliases, name, self.place, self.relations)?;
        Ok(found.map(|alias| alias.expr))
    }
    /// Does the expression name the column of this number, and nothing else?
    pub fn is_column(&self, expr: &ast::Expr, number: usize) -> bool {
        let ast::Expr::Column(name) = expr else { return false };
        matches!(self.relations.find(name, self.place), Ok(Some(found)) if found == number)
    }
    /// Types of everything an expression of this scope can have as a column.
    pub fn result_types(&self) -> Vec<ResultType> {
        let mut types = self.relations.result_types();
        if let Some(groups) = self.groups {
            types.extend(groups.borrow().types.iter().cloned());
        }
        types
    }
}

/// What a column's name means.
pub enum Named<'a> {
    /// The column of this number.
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
            if let Ok(number) = scope.column(name)
                && scope.grouped.contains(&number)
            {
                if item.is_some_and(|item| !scope.is_column(item, number)) {
                    self.warn(SqlError::ambiguous_column(&written(name), scope.place));
                }
                self.note_column(name, number, scope.relations);
                return Ok(Named::Column(number));
            }
            if let Some(item) = item {
                return Ok(Named::Item(item));
            }
        }
        match scope.column(name) {
            Ok(number) => {
                self.note_column(name, number, scope.relations);
                Ok(Named::Column(number))
            }
            Err(error) if error.code == code::ER_NON_UNIQ_ERROR => Err(error),
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
        let target = scope.relations.tables.first();
        let own = target.filter(|table| table.matches(name));
        let is_own = own.is_some_and(|table| table.position(&name.column).is_some());
        let ambiguous = || SqlError::ambiguous_column(&written(name), scope.place);
        if let Some((alias, columns)) = scope.row_alias {
            let is_qualified = name.table.is_some();
            if is_qualified && name.table.as_deref() != Some(alias) {
                return Ok(None);
            }
            let position = match columns {
                // Without a column list the alias has the table's names.
                [] => target.and_then(|table| table.position(&name.column)),
                _ => columns.iter().position(|own| own.eq_ignore_ascii_case(&name.column)),
            };
            return match position {
                Some(_) if is_own => Err(ambiguous()),
                Some(position) => self.new_value(position, scope).map(Some),
                None if is_qualified => Err(SqlError::unknown_column(&written(name), scope.place)),
                None => Ok(None),
            };
        }
        let Some(source) = scope.source else { return Ok(None) };
        let Some(position) = source.relations.find(name, scope.place)? else { return Ok(None) };
        if is_own {
            return Err(ambiguous());
        }
        let mut columns = source.columns.borrow_mut();
        let behind = columns.iter().position(|own| *own == position).unwrap_or_else(|| {
            columns.push(position);
            columns.len() - 1
        });
        let behind = u16::try_from(behind).expect("tables are narrow");
        let column_type = match &source.relations.column(position).column_type {
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
            ast::TableFactor::Derived { .. } | ast::TableFactor::JsonTable(_) => {}
        }
    }
}
