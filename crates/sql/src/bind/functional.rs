//! Key parts that are expressions.
//!
//! As in MySQL, such a part is a hidden generated column of the table, which the key then names: writers compute it, the key is
//! made and checked as any other, and the column is gone with the key. A condition that has the expression itself finds its rows
//! by the key: the planner puts the column in the expression's place.

use std::sync::Arc;

use types::{Column, ColumnDefault, ColumnType, Expr, Generated, Table, Value};

use super::Binder;
use super::column_expression::Owner;
use super::create_select::created_type;
use super::names::Relations;
use super::rewrite;
use crate::error::SqlError;
use crate::parser::ast::{self, KeyPartTarget};

/// Does a key have parts that are expressions?
pub fn has_expressions(definition: &ast::IndexDefinition) -> bool {
    definition.parts.iter().any(|part| matches!(part.target, KeyPartTarget::Expr(_)))
}

/// Does a key of a table have such parts?
pub fn is_functional(table: &Table, index: &types::Index) -> bool {
    index.parts.iter().any(|part| table.columns[usize::from(part.column)].is_functional())
}

/// A name that no key of the table has.
fn free_index_name(table: &Table) -> String {
    let mut name = "functional_index".to_owned();
    let mut number = 1;
    while table.index_named(&name).is_some() {
        number += 1;
        name = format!("functional_index_{number}");
    }
    name
}

impl Binder<'_> {
    /// Gives the table a hidden column for each expression of a key; the key then names columns only.
    pub fn with_functional_columns(
        &mut self,
        definition: &ast::IndexDefinition,
        table: &mut Table,
    ) -> Result<ast::IndexDefinition, SqlError> {
        let mut definition = definition.clone();
        if !has_expressions(&definition) {
            return Ok(definition);
        }
        if definition.kind == ast::IndexKind::Primary {
            return Err(SqlError::new(3756, "The primary key cannot be a functional index"));
        }
        let index = definition.name.get_or_insert_with(|| free_index_name(table)).clone();
        for (number, part) in definition.parts.iter_mut().enumerate() {
            let KeyPartTarget::Expr(expr) = &part.target else { continue };
            let name = free_column_name(table, &index, number);
            let column = self.functional_column(&index, &name, expr, table)?;
            table.columns.push(column);
            part.target = KeyPartTarget::Column { name, prefix_length: None };
        }
        Ok(definition)
    }

    fn functional_column(
        &mut self,
        index: &str,
        name: &str,
        expr: &ast::Expr,
        table: &Table,
    ) -> Result<Column, SqlError> {
        if matches!(expr, ast::Expr::Column(_)) {
            return Err(SqlError::new(
                3761,
                "Functional index on a column is not supported. Consider using a regular index instead.",
            ));
        }
        let table = Arc::new(table.clone());
        let owner = Owner::Index(index);
        let expression = self.column_expression(owner, expr, &table, Some(table.columns.len()))?;
        let column_type = self.forgotten(|binder| {
            let bound = binder.kept(&expression, owner.place(), &table, |expr| expr)?;
            let columns = Relations::of_table(&table, None).result_types();
            Ok::<_, SqlError>(binder.type_of(&bound.expr, &columns).column_type)
        })?;
        let column_type = column_type
            .map_or(ColumnType::Binary { length: 0 }, |announced| created_type(&announced, false));
        match column_type {
            ColumnType::Text { .. } | ColumnType::Blob { .. } => {
                return Err(SqlError::new(
                    3757,
                    "Cannot create a functional index on an expression that returns a BLOB or TEXT. Please \
                     consider using CAST.",
                ));
            }
            ColumnType::Json => {
                return Err(SqlError::new(
                    3753,
                    "Cannot create a functional index on a function that returns a JSON or GEOMETRY value.",
                ));
            }
            _ => {}
        }
        Ok(Column {
            name: name.to_owned(),
            column_type,
            nullable: true,
            default: ColumnDefault::None,
            on_update_now: false,
            comment: String::new(),
            hidden: true,
            display: types::NumberDisplay::default(),
            generated: Some(Generated { expression, stored: false }),
            missing: None,
            is_dropped: false,
        })
    }

    /// Puts the hidden columns of functional keys into the terms that have their expressions.
    pub fn with_functional_keys(&mut self, table: &Table, mut terms: Vec<Expr>) -> Vec<Expr> {
        let mut hidden = (0u16..).zip(&table.columns).filter(|(_, own)| own.is_functional());
        let Some(first) = hidden.next() else { return terms };
        let shared = Arc::new(table.clone());
        for (position, column) in std::iter::once(first).chain(hidden) {
            let Some(generated) = &column.generated else { continue };
            let place = Owner::Index("").place();
            let bound = self.forgotten(|binder| {
                binder.kept(&generated.expression, place, &shared, |expr| expr)
            });
            let Ok(pattern) = bound else { continue };
            if !pattern.slots.is_empty() {
                continue;
            }
            let pattern = rewrite::encoded(&pattern.expr);
            terms.iter_mut().for_each(|term| self.put_column(term, &pattern, position));
        }
        terms
    }

    fn put_column(&mut self, expr: &mut Expr, pattern: &[u8], column: u16) {
        if matches!(expr, Expr::Const(_) | Expr::Column(_) | Expr::Param(_)) {
            return;
        }
        let mut params = Vec::new();
        let mut own = expr.clone();
        self.put_values(&mut own, &mut params);
        if rewrite::encoded(&own) == pattern {
            *expr = Expr::Column(column);
            // The plan is one for these literals.
            for param in params {
                if !self.fixed_params.contains(&param) {
                    self.fixed_params.push(param);
                }
            }
            return;
        }
        rewrite::for_each_child_mut(expr, &mut |child| self.put_column(child, pattern, column));
    }

    /// Puts the values of parameters that are known in their places.
    fn put_values(&self, expr: &mut Expr, params: &mut Vec<u16>) {
        if let Expr::Param(number) = expr
            && let Some(value) = self.values.get(usize::from(*number))
        {
            params.push(*number);
            *expr = Expr::Const(value.clone());
            return;
        }
        rewrite::for_each_child_mut(expr, &mut |child| self.put_values(child, params));
    }

    /// The values that the plan's parameters must have.
    pub fn fixed_values(&self) -> Vec<(u16, Value)> {
        let value = |number: &u16| Some((*number, self.values.get(usize::from(*number))?.clone()));
        self.fixed_params.iter().filter_map(value).collect()
    }
}

fn free_column_name(table: &Table, index: &str, part: usize) -> String {
    let names = (0..).map(|number| format!("!hidden!{index}!{part}!{number}"));
    let mut free = names.filter(|name| table.column_named(name).is_none());
    free.next().expect("a table has few columns")
}

/// 3837 for a column of a functional key that goes or gets another name.
pub fn dependent(column: &str) -> SqlError {
    SqlError::new(
        3837,
        format!(
            "Column '{column}' has a functional index dependency and cannot be dropped or renamed."
        ),
    )
}
