//! Views: a name in FROM that stands for a query of the catalogue, and the definition of one.
//!
//! A definition is kept as text that names every table and column in full, so that it means the same wherever it is read; it is
//! parsed and bound each time a statement is planned. What it names is looked up then: a view may outlive its tables, and 1356
//! reports that.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use types::{Catalogue, Charset, SqlMode, ViewAlgorithm, ViewCheck, ViewDefinition};

use super::from::{RelationSource, derived_scope, relation_of};
use super::group::plain_column;
use super::names::{Relations, ScopeTable};
use super::select::{Item, Selected};
use super::{Binder, Environment};
use crate::error::{SqlError, code};
use crate::parser::ast::{self, ColumnName, ObjectName, Place, SelectItem};
use crate::parser::print::{self, Names};
use crate::parser::{Dialect, parse_one};
use crate::result::ColumnInfo;

/// Views in views.
const DEPTH_MAX: usize = 32;

/// What names of a statement mean, by their places in its text.
#[derive(Default)]
pub struct Resolved {
    columns: BTreeMap<u32, ColumnName>,
    /// The databases of tables.
    tables: BTreeMap<u32, String>,
    /// Columns that a `*` lists, and their titles.
    wildcards: BTreeMap<u32, Vec<(ColumnName, String)>>,
}

impl Names for Resolved {
    fn column(&self, name: &ColumnName) -> Option<ColumnName> {
        self.columns.get(&name.at.0).cloned()
    }
    fn table(&self, name: &ObjectName) -> Option<ObjectName> {
        let database = self.tables.get(&name.at.0)?;
        Some(ObjectName::new(Some(database.clone()), name.name.clone()))
    }
    fn wildcard(&self, item: &SelectItem) -> Option<Vec<(ColumnName, String)>> {
        let (SelectItem::Wildcard(at) | SelectItem::TableWildcard(ObjectName { at, .. })) = item
        else {
            return None;
        };
        self.wildcards.get(&at.0).cloned()
    }
}

/// Leaves out the database of tables that are in this one.
pub struct WithoutDatabase<'d>(pub &'d str);

impl Names for WithoutDatabase<'_> {
    fn table(&self, name: &ObjectName) -> Option<ObjectName> {
        let is_own = name.schema.as_deref() == Some(self.0);
        is_own.then(|| ObjectName::new(None, name.name.clone()))
    }
}

/// The query of a view's text.
pub fn parsed(view: &ViewDefinition) -> Result<ast::Query, SqlError> {
    let dialect = Dialect::from(SqlMode::default());
    match parse_one(view.query.as_bytes(), dialect)?.0 {
        ast::Statement::Query(query) => Ok(*query),
        _ => Err(invalid(view)),
    }
}

/// A column as the view's text names it.
fn full_name(number: usize, relations: &Relations) -> ColumnName {
    let mut name = relations.name_of(number);
    let alias = &relations.table_of(number).alias;
    if relations.tables.iter().filter(|table| table.alias == *alias).count() == 1 {
        name.schema = None;
    }
    name
}

/// 1356.
fn invalid(view: &ViewDefinition) -> SqlError {
    SqlError::new(
        code::ER_VIEW_INVALID,
        format!(
            "View '{}.{}' references invalid table(s) or column(s) or function(s) or definer/invoker of view lack \
             rights to use them",
            view.database, view.name
        ),
    )
}

impl Binder<'_> {
    /// Notes what a column's name means, where a view is defined.
    pub fn note_column(&mut self, name: &ColumnName, number: usize, relations: &Relations) {
        if let Some(resolved) = &mut self.resolved
            && name.at.is_somewhere()
        {
            resolved.columns.insert(name.at.0, full_name(number, relations));
        }
    }

    pub fn note_table(&mut self, name: &ObjectName, database: &str) {
        if let Some(resolved) = &mut self.resolved {
            resolved.tables.insert(name.at.0, database.to_owned());
        }
    }

    pub fn note_wildcard(
        &mut self,
        at: Place,
        columns: &[usize],
        items: &[Item],
        relations: &Relations,
    ) {
        if let Some(resolved) = &mut self.resolved {
            let columns = columns.iter().zip(items);
            let listed =
                columns.map(|(number, item)| (full_name(*number, relations), item.name.clone()));
            resolved.wildcards.insert(at.0, listed.collect());
        }
    }

    /// The relation that a view is.
    pub fn view(
        &mut self,
        view: &Arc<ViewDefinition>,
        alias: Option<&str>,
    ) -> Result<(RelationSource, ScopeTable), SqlError> {
        if self.views.contains(&view.key()) {
            // A definition that names itself: it is not there yet.
            return Err(match self.views.len() {
                1 if self.resolved.is_some() => SqlError::no_such_table(&view.database, &view.name),
                _ => SqlError::new(
                    code::ER_VIEW_RECURSIVE,
                    format!("`{}`.`{}` contains view recursion", view.database, view.name),
                ),
            });
        }
        if DEPTH_MAX <= self.views.len() {
            let message = format!("More than {DEPTH_MAX} views name one another");
            return Err(SqlError::new(code::ER_STACK_OVERRUN_NEED_MORE, message));
        }
        let is_allowed = match view.algorithm {
            ViewAlgorithm::TempTable => false,
            ViewAlgorithm::Merge => true,
            ViewAlgorithm::Undefined => self.environment.optimizer_switch.derived_merge,
        };
        let merges = is_allowed && self.changes.is_empty();
        let query = parsed(view)?;
        self.views.push(view.key());
        // Its text is kept in UTF-8, whatever the client has written it in.
        let (collation, client) = (view.collation, Charset::Utf8mb4);
        let is_own = (self.environment.collation, self.environment.client) == (collation, client);
        let environment =
            (!is_own).then(|| Environment { collation, client, ..(*self.environment).clone() });
        let bound = self.outside(environment, |binder| binder.query_or_merged(&query, merges));
        self.views.pop();
        let mut source = bound.map(relation_of).map_err(|error| match error.code {
            code::ER_NO_SUCH_TABLE
            | code::ER_BAD_FIELD_ERROR
            | code::ER_BAD_DB_ERROR
            | code::ER_NON_UNIQ_ERROR
            | code::ER_VIEW_WRONG_LIST => invalid(view),
            _ => error,
        })?;
        if self.is_subquery() {
            source.set_keep(self.new_kept());
        }
        if let RelationSource::Merged(merged) = &mut source {
            match view.check {
                ViewCheck::None => {}
                ViewCheck::Local => {
                    merged.checks.extend_from_slice(&merged.terms[..merged.own_term_count]);
                }
                ViewCheck::Cascaded => merged.checks.clone_from(&merged.terms),
            }
            merged.view = Some(Arc::clone(view));
        }
        if source.columns().len() != view.columns.len() {
            return Err(invalid(view));
        }
        let alias = alias.unwrap_or(&view.name);
        let mut scope = derived_scope(alias, &view.columns, source.columns())?;
        scope.database.clone_from(&view.database);
        Ok((source, scope))
    }

    /// Binds a query or an expression that names nothing of the statement around it, perhaps in another environment.
    pub fn outside<T>(
        &mut self,
        environment: Option<Environment>,
        bind: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let common = std::mem::take(&mut self.common);
        let changes = std::mem::take(&mut self.changes);
        let resolved = self.resolved.take();
        let lowest = self.lowest_outer;
        let environment = environment
            .map(|environment| std::mem::replace(&mut self.environment, Cow::Owned(environment)));
        self.hidden.push(0..self.outer.len());
        let result = bind(self);
        self.hidden.pop();
        if let Some(environment) = environment {
            self.environment = environment;
        }
        self.lowest_outer = lowest;
        self.resolved = resolved;
        self.changes = changes;
        self.common = common;
        result
    }

    /// The columns of a view, as a query that reads all of them is described.
    pub fn view_columns(
        &mut self,
        view: &Arc<ViewDefinition>,
    ) -> Result<Vec<ColumnInfo>, SqlError> {
        let (source, _) = self.view(view, None)?;
        let mut columns = source.columns().to_vec();
        for (column, name) in columns.iter_mut().zip(&view.columns) {
            column.name.clone_from(name);
        }
        Ok(columns)
    }

    /// Is it one that UPDATE takes?
    pub fn is_updatable_view(&mut self, view: &Arc<ViewDefinition>) -> bool {
        let Ok((RelationSource::Merged(merged), _)) = self.view(view, None) else { return false };
        let is_table = |source: &RelationSource| matches!(source, RelationSource::Table { .. });
        merged.from.sources.iter().all(is_table)
            && merged.values.iter().any(|value| plain_column(value).is_some())
    }

    /// The definition that CREATE VIEW or ALTER VIEW makes; `view` has the parts that the query does not decide. True if its
    /// relations can be merged.
    pub fn view_definition(
        mut self,
        create: &ast::CreateView,
        mut view: ViewDefinition,
    ) -> Result<(ViewDefinition, bool), SqlError> {
        let query = &create.query;
        if !query.into_variables.is_empty() || query.into_file {
            let message = "View's SELECT contains a 'INTO' clause";
            return Err(SqlError::new(code::ER_VIEW_SELECT_CLAUSE, message));
        }
        self.resolved = Some(Resolved::default());
        self.views.push(view.key());
        let selected = self.query_or_merged(query, true)?;
        if self.has_variables {
            let message = "View's SELECT contains a variable or parameter";
            return Err(SqlError::new(code::ER_VIEW_SELECT_VARIABLE, message));
        }
        let is_mergeable = matches!(selected, Selected::Merged(_));
        let source = relation_of(selected);
        let scope = derived_scope(&view.name, &create.columns, source.columns())?;
        view.columns = scope.columns.into_iter().map(|column| column.name).collect();
        for (number, name) in view.columns.iter_mut().enumerate() {
            if NAME_LENGTH_MAX < name.chars().count() {
                *name = format!("Name_exp_{}", number + 1);
            }
        }
        if !is_mergeable && view.check != ViewCheck::None {
            return Err(SqlError::new(
                code::ER_VIEW_NONUPD_CHECK,
                format!("CHECK OPTION on non-updatable view '{}.{}'", view.database, view.name),
            ));
        }
        let resolved = self.resolved.take().expect("set above");
        view.query = print::query(query, &resolved);
        if parsed(&view).is_err() {
            // Printed in full it nests deeper than it was written.
            return Err(SqlError::not_supported("a view of so deep an expression"));
        }
        Ok((view, is_mergeable))
    }
}

/// Characters of a column's name.
const NAME_LENGTH_MAX: usize = 64;

/// Tables and views by the name that a user writes.
pub fn find_view<'c>(
    catalogue: &'c Catalogue,
    current: Option<&str>,
    name: &ObjectName,
) -> Option<&'c Arc<ViewDefinition>> {
    catalogue.view(name.schema.as_deref().or(current)?, &name.name)
}

/// A view, whatever temporary tables there are.
pub fn find_base_view<'c>(
    catalogue: &'c Catalogue,
    current: Option<&str>,
    name: &ObjectName,
) -> Option<&'c Arc<ViewDefinition>> {
    catalogue.base_view(name.schema.as_deref().or(current)?, &name.name)
}
