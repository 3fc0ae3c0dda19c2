//! CREATE TABLE ... SELECT: which columns the new table has.
//!
//! First the columns that only the CREATE part names, then those of the select list, in its order; one that both name is
//! as the CREATE part says, and gets the SELECT's values. A select item that is a column of a table takes over its type,
//! its NULL or NOT NULL, DEFAULT, ON UPDATE and COMMENT, but not AUTO_INCREMENT, whose DEFAULT is then 0. Other items get
//! the type their result is announced with, and where they cannot be NULL zero or the empty text as DEFAULT.

use std::sync::Arc;

use types::convert::{ConvertContext, StoreMode, store};
use types::{
    Collation, Column, ColumnDefault, ColumnType, Expr, IntWidth, NumberDisplay, Table, Value,
};

use super::Binder;
use super::change::value_for_generated;
use super::rewrite;
use super::table::NewColumn;
use crate::error::SqlError;
use crate::parser::ast::{self, OnDuplicate};
use crate::plan::{InsertMode, InsertPlan, InsertSource, Plan, PlanKind, SelectPlan, Slot, Source};
use crate::result::ColumnInfo;

/// Integer literals of fewer digits are INT, others BIGINT.
const INT_DIGITS: u64 = 1_000_000_000;

/// Computed texts and bytes that may be longer become TEXT and BLOB.
const COMPUTED_LENGTH_MAX: u32 = 512;

impl Binder<'_> {
    /// The definition of the table, and the INSERT that fills it, whose `table` is that definition without an id.
    pub fn create_select(
        mut self,
        create: &ast::CreateTable,
        query: &ast::Query,
        database: &str,
        database_collation: Collation,
    ) -> Result<Plan, SqlError> {
        let mut bound = self.query(query);
        if self.assigns {
            // As in `plan`: reads of variables see the assignments before them.
            self = self.again();
            self.reads_per_row = true;
            bound = self.query(query);
        }
        let select = bound?;
        let columns = self.new_columns(create, &select)?;
        let first = columns.len() - select.columns.len();
        let table = self.table_of(create, &columns, database, database_collation)?;
        let given = first..first + select.columns.len();
        if let Some(column) = table.columns[given.clone()].iter().find(|c| c.generated.is_some()) {
            return Err(value_for_generated(&column.name, &table.name));
        }
        let table = Arc::new(table);
        let insert = InsertPlan {
            layout: table.row_layout(),
            rules: self.row_rules(&table, true)?,
            table,
            columns: given.map(|column| u16::try_from(column).expect("bounded above")).collect(),
            source: InsertSource::Select(Box::new(select)),
            mode: match create.on_duplicate {
                OnDuplicate::Fail | OnDuplicate::Ignore => InsertMode::Insert,
                OnDuplicate::Replace => InsertMode::Replace,
            },
            ignore: create.on_duplicate == OnDuplicate::Ignore,
            check: None,
        };
        Ok(self.into_plan(PlanKind::Insert(Box::new(insert))))
    }

    fn new_columns<'c>(
        &self,
        create: &'c ast::CreateTable,
        select: &SelectPlan,
    ) -> Result<Vec<NewColumn<'c>>, SqlError> {
        for (position, column) in create.columns.iter().enumerate() {
            let before = &create.columns[..position];
            if before.iter().any(|own| own.name.eq_ignore_ascii_case(&column.name)) {
                return Err(SqlError::duplicate_column(&column.name));
            }
        }
        let is_selected = |name: &str| {
            select.columns.iter().any(|selected| selected.name.eq_ignore_ascii_case(name))
        };
        let written = create.columns.iter().filter(|column| !is_selected(&column.name));
        let mut columns: Vec<NewColumn<'c>> = written.map(NewColumn::Written).collect();
        for (position, info) in select.columns.iter().enumerate() {
            let mut written = create.columns.iter();
            columns.push(match written.find(|own| own.name.eq_ignore_ascii_case(&info.name)) {
                Some(definition) => NewColumn::Written(definition),
                None => NewColumn::Derived(self.derived_column(select, position)?),
            });
        }
        Ok(columns)
    }

    fn derived_column(&self, select: &SelectPlan, position: usize) -> Result<Column, SqlError> {
        let info = &select.columns[position];
        let mut column = match origin(select, info) {
            Some((table, position)) => taken_over(table, position),
            None => self.computed(info, &select.items[position].expr)?,
        };
        column.name.clone_from(&info.name);
        // A group of no rows has no value of any column, and a row of ROLLUP none of the keys that it is over.
        let has_none = select.grouping.as_ref().is_some_and(|own| own.implicit || own.rollup);
        column.nullable |= has_none && info.nullable;
        Ok(column)
    }

    fn computed(&self, info: &ColumnInfo, expr: &Expr) -> Result<Column, SqlError> {
        let is_short = |number: u64| number < INT_DIGITS;
        let column_type = match expr {
            Expr::Const(Value::Int(number)) if is_short(number.unsigned_abs()) => {
                ColumnType::Int { width: IntWidth::W4, unsigned: false }
            }
            _ => created_type(&info.column_type, self.is_open(expr)),
        };
        let default = if info.nullable { None } else { zero_of(&column_type) };
        Ok(Column {
            name: String::new(),
            column_type,
            nullable: info.nullable,
            default: default.map_or(ColumnDefault::None, ColumnDefault::Value),
            on_update_now: false,
            comment: String::new(),
            hidden: false,
            display: computed_display(info),
            generated: None,
            missing: None,
            is_dropped: false,
        })
    }

    /// Is the value one of a parameter or variable, whose length nobody has promised?
    fn is_open(&self, expr: &Expr) -> bool {
        let mut is_open = false;
        rewrite::for_each_param(expr, &mut |number| {
            let slot = usize::from(number).checked_sub(self.param_kinds.len());
            // The value of a window function is of the function's type.
            is_open |= slot.is_none_or(|slot| !matches!(self.slots[slot], Slot::Window));
        });
        is_open
    }
}

/// The table's column that an item is.
fn origin<'s>(select: &'s SelectPlan, info: &ColumnInfo) -> Option<(&'s Table, usize)> {
    let Source::Table(source) = &select.source else { return None };
    let table = &*source.table;
    // Computed items have no name of a table's.
    let position = table.column_named(&info.org_name).filter(|_| !info.table.is_empty())?;
    Some((table, position))
}

fn taken_over(table: &Table, position: usize) -> Column {
    let own = &table.columns[position];
    Column { default: default_taken_over(own), generated: None, ..own.clone() }
}

/// The default of a column that is this one of a table.
pub fn default_taken_over(own: &Column) -> ColumnDefault {
    match &own.default {
        ColumnDefault::AutoIncrement => {
            zero_of(&own.column_type).map_or(ColumnDefault::None, ColumnDefault::Value)
        }
        ColumnDefault::Value(Value::Null) => ColumnDefault::None,
        ColumnDefault::None
        | ColumnDefault::Now
        | ColumnDefault::Value(_)
        | ColumnDefault::Expression(_) => own.default.clone(),
    }
}

/// Digits of a computed DOUBLE besides those behind its point.
const COMPUTED_WHOLE_DIGITS: u8 = 17;

/// How a computed number is shown by the column that keeps it.
fn computed_display(info: &ColumnInfo) -> NumberDisplay {
    let own = info.display;
    let fixed = own.decimals.map(|decimals| COMPUTED_WHOLE_DIGITS + decimals);
    NumberDisplay {
        width: own.width.filter(|_| own.is_zerofill || fixed.is_some()).or(fixed),
        ..own
    }
}

/// The type a computed value is stored with.
pub fn created_type(announced: &ColumnType, is_open: bool) -> ColumnType {
    let size_of = |bytes: u64| match bytes {
        0..=65_535 => 65_535,
        65_536..=16_777_215 => 16_777_215,
        _ => u32::MAX,
    };
    match *announced {
        ColumnType::Varchar { collation, .. } if is_open => {
            ColumnType::Text { bytes_max: u32::MAX, collation }
        }
        ColumnType::Varbinary { .. } if is_open => ColumnType::Blob { bytes_max: u32::MAX },
        ColumnType::Varchar { length: 0, collation } => ColumnType::Char { length: 0, collation },
        ColumnType::Varbinary { length: 0 } => ColumnType::Binary { length: 0 },
        ColumnType::Varchar { length, collation } if COMPUTED_LENGTH_MAX < length => {
            let bytes = u64::from(length) * u64::from(collation.charset().character_size_max());
            ColumnType::Text { bytes_max: size_of(bytes), collation }
        }
        ColumnType::Varbinary { length } if COMPUTED_LENGTH_MAX < length => {
            ColumnType::Blob { bytes_max: size_of(u64::from(length)) }
        }
        ref other => other.of_column(),
    }
}

/// Zero or the empty text; dates, TEXT and BLOB have no such default.
pub fn zero_of(column_type: &ColumnType) -> Option<Value> {
    let zero = match column_type {
        ColumnType::Text { .. } | ColumnType::Blob { .. } | ColumnType::Json => return None,
        _ if column_type.is_numeric() => Value::Int(0),
        _ if column_type.is_temporal() => return None,
        _ => Value::text("", Collation::default()),
    };
    let mut convert = ConvertContext::default();
    store(zero.as_ref(), column_type, StoreMode::Strict, &mut convert)
        .ok()
        .map(|(stored, _)| stored)
}
