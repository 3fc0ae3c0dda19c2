//! JSON_TABLE in FROM: a lateral query whose source makes rows of a document.

use types::expr::{
    EvalError, JsonTable, JsonTableColumn, JsonTableResponse, ResultType, json_table_value,
};
use types::json::{JsonRef, Path};
use types::{ColumnType, Expr, IntWidth, convert};

use super::Binder;
use super::column_type::column_type;
use super::from::{RelationSource, derived_scope};
use super::names::{OuterScope, Relations, Scope, ScopeTable};
use super::select::expression_info;
use crate::error::{SqlError, code};
use crate::parser::ast;
use crate::plan::{Bound, SelectPlan, Source};
use crate::result::{ColumnInfo, PlanColumns};

/// Nested paths of a JSON_TABLE at most, as in MySQL.
const NESTED_COUNT_MAX: usize = 16;

/// The columns of the whole table, and how many nested paths there are.
#[derive(Default)]
struct Collected {
    columns: Vec<ColumnInfo>,
    nested_count: usize,
}

impl Binder<'_> {
    /// The relation that a JSON_TABLE is; its document may name columns of the relations before it.
    pub fn json_table(
        &mut self,
        table: &ast::JsonTable,
        relations: &Relations,
    ) -> Result<(RelationSource, ScopeTable), SqlError> {
        let alias = table.alias.as_deref().ok_or_else(|| {
            SqlError::new(code::ER_TF_MUST_HAVE_ALIAS, "Every table function must have an alias")
        })?;
        let inner = self.inside_with(OuterScope::of(relations), |binder| {
            binder.json_table_plan(table, alias)
        })?;
        self.inner_slots.push(inner.slots);
        let scope = derived_scope(alias, &[], &inner.plan.columns)?;
        let plan = Box::new(inner.plan);
        Ok((RelationSource::Query { plan, outer: inner.outer, keep: None }, scope))
    }

    fn json_table_plan(
        &mut self,
        table: &ast::JsonTable,
        alias: &str,
    ) -> Result<SelectPlan, SqlError> {
        let document = self.document_block(&table.document)?;
        let mut collected = Collected::default();
        let rows = self.json_rows(&table.path, &table.columns, alias, &mut collected)?;
        let width = collected.columns.len();
        let items = (0..width).map(|position| Bound {
            expr: Expr::Column(u16::try_from(position).expect("columns are bounded")),
            slots: Vec::new(),
        });
        let items = items.collect();
        let source = Source::Documents { document, table: Box::new(rows), alias: alias.into() };
        Ok(SelectPlan::new(PlanColumns::new(collected.columns), source, items))
    }

    /// A block of its own, so that it shares no subquery with the query that the table is in.
    fn document_block(&mut self, document: &ast::Expr) -> Result<Bound, SqlError> {
        self.block_last += 1;
        let around = std::mem::replace(&mut self.block, self.block_last);
        let bound = self.bound(document, &Scope::empty("a table function argument"));
        self.block = around;
        bound
    }

    fn json_rows(
        &mut self,
        path: &[u8],
        columns: &[ast::JsonTableColumn],
        alias: &str,
        collected: &mut Collected,
    ) -> Result<JsonTable, SqlError> {
        let path = parsed_path(path)?;
        let mut bound = Vec::with_capacity(columns.len());
        for column in columns {
            bound.push(self.json_column(column, alias, collected)?);
        }
        Ok(JsonTable { path, columns: bound })
    }

    fn json_column(
        &mut self,
        column: &ast::JsonTableColumn,
        alias: &str,
        collected: &mut Collected,
    ) -> Result<JsonTableColumn, SqlError> {
        Ok(match column {
            ast::JsonTableColumn::Ordinality { name } => {
                let column_type = ColumnType::Int { width: IntWidth::W4, unsigned: true };
                let position = self.add_column(name, &column_type, collected)?;
                JsonTableColumn::Ordinality { position }
            }
            ast::JsonTableColumn::Value(value) => {
                let name = &value.name;
                let column_type = self.json_column_type(name, &value.data_type)?;
                let position = self.add_column(name, &column_type, collected)?;
                JsonTableColumn::Value {
                    position,
                    name: name.clone(),
                    path: parsed_path(&value.path)?,
                    on_empty: response(value.on_empty.as_ref(), name, &column_type)?,
                    on_error: response(value.on_error.as_ref(), name, &column_type)?,
                    column_type,
                }
            }
            ast::JsonTableColumn::Exists { name, data_type, path } => {
                let column_type = self.json_column_type(name, data_type)?;
                let position = self.add_column(name, &column_type, collected)?;
                JsonTableColumn::Exists { position, column_type, path: parsed_path(path)? }
            }
            ast::JsonTableColumn::Nested { path, columns } => {
                collected.nested_count += 1;
                if NESTED_COUNT_MAX < collected.nested_count {
                    return Err(SqlError::new(
                        code::ER_JT_MAX_NESTED_PATH,
                        format!(
                            "More than supported {NESTED_COUNT_MAX} NESTED PATHs were found in \
                             JSON_TABLE '{alias}'"
                        ),
                    ));
                }
                JsonTableColumn::Nested(self.json_rows(path, columns, alias, collected)?)
            }
        })
    }

    fn json_column_type(
        &self,
        name: &str,
        written: &ast::DataType,
    ) -> Result<ColumnType, SqlError> {
        Ok(match column_type(name, written, self.environment.collation)? {
            // The rows of a query are in the session's time zone.
            ColumnType::Timestamp { fsp } => ColumnType::DateTime { fsp },
            own => own,
        })
    }

    fn add_column(
        &mut self,
        name: &str,
        column_type: &ColumnType,
        collected: &mut Collected,
    ) -> Result<usize, SqlError> {
        let position = collected.columns.len();
        if types::row::COLUMN_COUNT_MAX <= position {
            return Err(SqlError::new(code::ER_TOO_MANY_FIELDS, "Too many columns"));
        }
        let own = ResultType::new(column_type.clone(), true);
        collected.columns.push(expression_info(name, &own));
        Ok(position)
    }
}

fn parsed_path(path: &[u8]) -> Result<Path, SqlError> {
    Path::parse(&String::from_utf8_lossy(path)).map_err(SqlError::json_path)
}

fn response(
    written: Option<&ast::JsonResponse>,
    name: &str,
    column_type: &ColumnType,
) -> Result<JsonTableResponse, SqlError> {
    Ok(match written {
        None | Some(ast::JsonResponse::Null) => JsonTableResponse::Null,
        Some(ast::JsonResponse::Error) => JsonTableResponse::Error,
        Some(ast::JsonResponse::Default(value)) => {
            let ast::Expr::Literal(ast::Literal::String(text)) = value else {
                return Err(SqlError::not_supported(
                    "non-string DEFAULT value for a column in a JSON_TABLE expression",
                ));
            };
            let invalid = || SqlError::invalid_default(name);
            let text = String::from_utf8_lossy(text);
            let document = convert::document_of_text(&text, 1, "json_table");
            let document = document.map_err(|_| invalid())?;
            let value = json_table_value(JsonRef::new(&document), name, column_type);
            JsonTableResponse::Default(value.map_err(|_: EvalError| invalid())?)
        }
    })
}
