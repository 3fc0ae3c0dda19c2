//! CREATE VIEW, ALTER VIEW, DROP VIEW.

use std::sync::Arc;

use client::SchemaChange;
use types::convert::WarningLevel;
use types::{ViewAlgorithm, ViewDefinition};

use super::Session;
use crate::bind::Binder;
use crate::bind::table::check_written_name;
use crate::bind::view::find_base_view;
use crate::error::{SqlError, code};
use crate::execute::Failure;
use crate::parser::ast;

impl Session {
    pub(super) async fn create_view(&mut self, create: &ast::CreateView) -> Result<u64, Failure> {
        let name = &create.name;
        check_written_name(name)?;
        let (database, _) = self.target_database(name)?;
        let catalogue = self.catalogue();
        let is_table = catalogue.base_table(&database, &name.name).is_some();
        let is_there = catalogue.base_view(&database, &name.name).is_some();
        let replaces = create.alter || create.or_replace;
        if is_table && replaces {
            return Err(SqlError::wrong_object(&database, &name.name, "VIEW").into());
        }
        if create.alter && !is_there {
            return Err(SqlError::no_such_table(&database, &name.name).into());
        }
        if is_table || is_there && !replaces {
            return Err(SqlError::table_exists(&name.name).into());
        }
        let definer = match &create.definer {
            Some((user, host)) => format!("{user}@{host}"),
            None => crate::bind::SessionValues::current_user(&*self),
        };
        let view = ViewDefinition {
            database,
            name: name.name.clone(),
            columns: Vec::new(),
            query: String::new(),
            algorithm: create.algorithm.unwrap_or(ViewAlgorithm::Undefined),
            check: create.check,
            definer,
            as_invoker: create.as_invoker,
            collation: self.environment.collation,
        };
        let environment = self.environment.clone();
        let defined = Binder::new(&catalogue, &environment, &*self, &[]);
        let (mut view, is_mergeable) = defined.view_definition(create, view)?;
        if view.algorithm == ViewAlgorithm::Merge && !is_mergeable {
            let message =
                "View merge algorithm can't be used here for now (assumed undefined algorithm)";
            self.note(WarningLevel::Warning, SqlError::new(code::ER_WARN_VIEW_MERGE, message));
            view.algorithm = ViewAlgorithm::Undefined;
        }
        self.change(SchemaChange::CreateView { view: Box::new(view), replaces }).await?;
        Ok(0)
    }

    pub(super) async fn drop_views(
        &mut self,
        if_exists: bool,
        names: &[ast::ObjectName],
    ) -> Result<u64, Failure> {
        let mut views: Vec<Arc<ViewDefinition>> = Vec::new();
        let mut missing = Vec::new();
        for name in names {
            check_written_name(name)?;
            let catalogue = self.catalogue();
            let current = self.environment.database.as_deref();
            let schema = name.schema.as_deref().or(current).ok_or_else(SqlError::no_database)?;
            match find_base_view(&catalogue, current, name) {
                Some(view) if views.iter().any(|other| other.key() == view.key()) => {
                    return Err(SqlError::not_unique_table(&name.name).into());
                }
                Some(view) => views.push(Arc::clone(view)),
                None if catalogue.base_table(schema, &name.name).is_some() => {
                    return Err(SqlError::wrong_object(schema, &name.name, "VIEW").into());
                }
                None => missing.push(format!("{schema}.{}", name.name)),
            }
        }
        if !missing.is_empty() {
            if !if_exists {
                return Err(SqlError::bad_table(&missing.join(",")).into());
            }
            for name in &missing {
                self.note(WarningLevel::Note, SqlError::bad_table(name));
            }
        }
        for view in views {
            let (database, name) = (view.database.clone(), view.name.clone());
            match self.change(SchemaChange::DropView { database, name }).await {
                // Another session was faster.
                Err(failure) if failure.error.code == code::ER_BAD_TABLE_ERROR && if_exists => {
                    self.note(WarningLevel::Note, failure.error);
                }
                result => result?,
            }
        }
        Ok(0)
    }

    /// RENAME TABLE of a view. True if the name is one.
    pub(super) async fn rename_view(
        &mut self,
        source: &ast::ObjectName,
        target: &ast::ObjectName,
    ) -> Result<bool, Failure> {
        let catalogue = self.catalogue();
        let current = self.environment.database.as_deref();
        let Some(view) = find_base_view(&catalogue, current, source) else { return Ok(false) };
        let (database, _) = self.target_database(target)?;
        if database != view.database {
            let message =
                format!("Changing schema from '{}' to '{database}' is not allowed.", view.database);
            return Err(SqlError::new(code::ER_FORBID_SCHEMA_CHANGE, message).into());
        }
        let (name, to) = (view.name.clone(), target.name.clone());
        self.change(SchemaChange::RenameView { database, name, to }).await?;
        Ok(true)
    }
}
