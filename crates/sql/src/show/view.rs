//! Views as SHOW and information_schema describe them.

use std::sync::Arc;

use types::convert::SqlWarning;
use types::{Catalogue, ColumnDefault, Value, ViewAlgorithm, ViewCheck, ViewDefinition};

use super::create::quoted;
use super::{Table, described_column, described_table, text};
use crate::ColumnInfo;
use crate::bind::Binder;
use crate::bind::create_select::{default_taken_over, zero_of};
use crate::bind::view::{WithoutDatabase, parsed};
use crate::error::SqlError;
use crate::parser::ast;
use crate::parser::print::{self, AsWritten};
use crate::session::Session;

impl Session {
    /// Bound now, against the tables as they are.
    pub(crate) fn view_columns(
        &self,
        view: &Arc<ViewDefinition>,
    ) -> Result<Vec<ColumnInfo>, SqlError> {
        let (catalogue, environment) = (self.catalogue(), self.environment.clone());
        Binder::new(&catalogue, &environment, self, &[]).view_columns(view)
    }

    fn is_updatable(&self, view: &Arc<ViewDefinition>) -> bool {
        let (catalogue, environment) = (self.catalogue(), self.environment.clone());
        let mut binder = Binder::new(&catalogue, &environment, self, &[]);
        binder.is_updatable_view(view)
    }

    /// A view as a table that DESCRIBE and SHOW COLUMNS list the columns of.
    pub(super) fn view_as_table(
        &self,
        view: &Arc<ViewDefinition>,
    ) -> Result<types::Table, SqlError> {
        let catalogue = self.catalogue();
        let columns = self.view_columns(view)?.into_iter().map(|info| types::Column {
            default: default_of(&catalogue, &info),
            display: info.display,
            ..described_column(info.name, info.column_type, info.nullable)
        });
        let columns = columns.collect();
        Ok(types::Table {
            comment: "VIEW".into(),
            ..described_table(view.database.clone(), view.name.clone(), columns)
        })
    }

    /// SHOW CREATE VIEW.
    pub(super) fn show_create_view(&self, view: &ViewDefinition) -> Result<Table, SqlError> {
        let titles = ["View", "Create View", "character_set_client", "collation_connection"];
        let mut answer = Table::of_texts(&titles);
        let statement = create_view_text(view, self.environment.database.as_deref())?;
        let charset = view.collation.charset_name();
        answer.push_texts(&[&view.name, &statement, charset, view.collation.name()]);
        Ok(answer)
    }
}

/// The default of a view's column: that of the table's column that it is, else zero or the empty text where it is never NULL.
fn default_of(catalogue: &Catalogue, info: &ColumnInfo) -> ColumnDefault {
    let table = catalogue.base_table(&info.schema, &info.table);
    let origin = table.and_then(|table| Some((table, table.column_named(&info.org_name)?)));
    match origin {
        Some((table, position)) => default_taken_over(&table.columns[position]),
        None if info.nullable => ColumnDefault::None,
        None => zero_of(&info.column_type).map_or(ColumnDefault::None, ColumnDefault::Value),
    }
}

/// The statement that makes the view again, as MySQL 8 spells it: without the name of the database in a session where that is the
/// current one.
pub fn create_view_text(view: &ViewDefinition, current: Option<&str>) -> Result<String, SqlError> {
    let query = parsed(view)?;
    let is_current = current.is_some_and(|own| own.eq_ignore_ascii_case(&view.database));
    let (name, text) = match is_current {
        true => (quoted(&view.name), print::query(&query, &WithoutDatabase(&view.database))),
        false => (
            format!("{}.{}", quoted(&view.database), quoted(&view.name)),
            print::query(&query, &AsWritten),
        ),
    };
    let algorithm = match view.algorithm {
        ViewAlgorithm::Undefined => "UNDEFINED",
        ViewAlgorithm::Merge => "MERGE",
        ViewAlgorithm::TempTable => "TEMPTABLE",
    };
    let (user, host) = view.definer.rsplit_once('@').unwrap_or((&view.definer, "%"));
    let security = if view.as_invoker { "INVOKER" } else { "DEFINER" };
    let columns = match titles(&query) {
        Some(titles) if titles == view.columns => String::new(),
        _ => {
            let names: Vec<String> = view.columns.iter().map(|name| quoted(name)).collect();
            format!(" ({})", names.join(","))
        }
    };
    let check = match view.check {
        ViewCheck::None => "",
        ViewCheck::Local => " WITH LOCAL CHECK OPTION",
        ViewCheck::Cascaded => " WITH CASCADED CHECK OPTION",
    };
    Ok(format!(
        "CREATE ALGORITHM={algorithm} DEFINER={}@{} SQL SECURITY {security} VIEW {name}{columns} AS {text}{check}",
        quoted(user),
        quoted(host)
    ))
}

/// What the query itself calls its columns, where each has an alias.
fn titles(query: &ast::Query) -> Option<Vec<String>> {
    match &query.body {
        ast::QueryBody::Select(select) => select
            .items
            .iter()
            .map(|item| match item {
                ast::SelectItem::Expr { alias, .. } => alias.clone(),
                ast::SelectItem::Wildcard(_) | ast::SelectItem::TableWildcard(_) => None,
            })
            .collect(),
        ast::QueryBody::SetOperation { first, .. } => titles(first),
        ast::QueryBody::Values(_) | ast::QueryBody::Table(_) => None,
    }
}

/// The rows of information_schema.VIEWS.
pub fn view_rows(session: &Session, catalogue: &Catalogue) -> Vec<Vec<Value>> {
    let row = |view: &Arc<ViewDefinition>| {
        let check = match view.check {
            ViewCheck::None => "NONE",
            ViewCheck::Local => "LOCAL",
            ViewCheck::Cascaded => "CASCADED",
        };
        vec![
            text("def"),
            text(&view.database),
            text(&view.name),
            text(&view.query),
            text(check),
            text(if session.is_updatable(view) { "YES" } else { "NO" }),
            text(&view.definer),
            text(if view.as_invoker { "INVOKER" } else { "DEFINER" }),
            text(view.collation.charset_name()),
            text(view.collation.name()),
        ]
    };
    catalogue.views.values().map(row).collect()
}

/// The views as tables with columns. A warning reports each whose query does not hold any more.
pub fn views_as_tables(
    session: &Session,
    catalogue: &Catalogue,
    warnings: &mut Vec<SqlWarning>,
) -> Vec<types::Table> {
    let mut tables = Vec::new();
    for view in catalogue.views.values() {
        match session.view_as_table(view) {
            Ok(table) => tables.push(table),
            Err(error) => warnings.push(SqlWarning::warning(error.code, error.message)),
        }
    }
    tables
}
