//! Every access path of a predicate gives the rows for which the predicate is true.
//!
//! Without a cluster: the binder chooses a path for each index alone, its bounds become keys as they do when a statement
//! runs, and a row is found if its key is among them and the terms that the bounds do not cover are true. The other way
//! to compute that is the truth value of the whole predicate on the row. Beside that P, NOT P and P IS NULL part the rows.

use std::ops::Bound;
use std::sync::Arc;

use client::KeyRange;
use types::convert::is_true;
use types::expr::{Columns, EvalContext, EvalError, NoColumns, eval};
use types::row::encode_row;
use types::{Catalogue, Expr, Index, RowLayout, RowView, SqlMode, Table, Value, key};

use super::catalogue::{NoSession, catalogue, environment};
use super::predicate::predicate;
use super::random::Random;
use super::tables::{RandomTable, table};
use crate::SqlError;
use crate::bind::access::{self, Wanted};
use crate::bind::{Binder, rewrite};
use crate::execute::keys::{self, Keys};
use crate::parser::parse_one;
use crate::plan::{AccessPlan, PathKind, PlanKind, Source};

const ROW_COUNT: usize = 24;
/// Predicates a table.
const PREDICATE_COUNT: u64 = 100;
/// East of Greenwich, so that TIMESTAMP columns differ from their stored values.
const TIME_ZONE_OFFSET_SECONDS: i32 = 7_200;

/// What a run has compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub predicates: u64,
    /// Pairs of a predicate and an index whose keys were bounded.
    pub bounded_paths: u64,
    /// Predicates that are refused, or an error for some row: columns of different collations, a comparison of a date with a
    /// text that spells none.
    pub errors: u64,
    /// Predicates that are true for some rows and not for all.
    pub selective: u64,
}

/// Checks `count` predicates about tables of this seed. The error says how to repeat the first difference.
pub fn check(seed: u64, count: u64) -> Result<Counts, String> {
    let mut counts = Counts::default();
    let mut random = Random::new(seed);
    while counts.predicates < count {
        let table = Rows::new(&mut random)?;
        for _ in 0..PREDICATE_COUNT.min(count - counts.predicates) {
            let depth = 1 + random.below(3);
            let sql = predicate(&mut random, &table.random_table, depth);
            counts.predicates += 1;
            table.check(&sql, &mut counts).map_err(|problem| {
                format!("seed {seed}: {problem}\n  {}\n  {sql}", table.random_table.creates[0])
            })?;
        }
    }
    Ok(counts)
}

/// A random table with its rows, encoded.
struct Rows {
    random_table: RandomTable,
    catalogue: Arc<Catalogue>,
    table: Arc<Table>,
    layout: RowLayout,
    rows: Vec<Vec<u8>>,
}

impl Rows {
    fn new(random: &mut Random) -> Result<Rows, String> {
        let random_table = table(random, ROW_COUNT);
        let create = random_table.creates[0].as_str();
        let catalogue = catalogue(&[create]).map_err(|error| format!("{error}: {create}"))?;
        let table = Arc::clone(catalogue.table("test", "t").expect("the only table"));
        let layout = table.row_layout();
        let mut rows = Rows { random_table, catalogue, table, layout, rows: Vec::new() };
        for literals in &rows.random_table.rows {
            let insert = format!("SELECT {}", literals.join(", "));
            let items = rows.items(&insert)?;
            let mut values: Vec<Value> = Vec::new();
            for (item, column) in items.iter().zip(&rows.table.columns) {
                let mut context = context();
                let value = eval(item, &NoColumns, &mut context)
                    .map_err(|error| format!("{error}: {insert}"))?;
                values.push(stored(&value, &column.column_type)?);
            }
            // A generated primary key: tables without one do not occur.
            let values: Vec<_> = values.iter().map(Value::as_ref).collect();
            let row = encode_row(&rows.layout, &values).map_err(|error| format!("{error:?}"))?;
            rows.rows.push(row);
        }
        Ok(rows)
    }

    /// The select items of a statement without FROM.
    fn items(&self, sql: &str) -> Result<Vec<Expr>, String> {
        match self.plan(sql)? {
            PlanKind::Select(select) => {
                Ok(select.items.into_iter().map(|bound| bound.expr).collect())
            }
            _ => Err(format!("no SELECT: {sql}")),
        }
    }

    fn plan(&self, sql: &str) -> Result<PlanKind, String> {
        self.bind(sql).map_err(|error| format!("{error}: {sql}"))
    }

    fn bind(&self, sql: &str) -> Result<PlanKind, SqlError> {
        let (statement, _) = parse_one(sql.as_bytes(), SqlMode::default())?;
        let environment = environment();
        let binder = Binder::new(&self.catalogue, &environment, &NoSession, &[]);
        Ok(binder.plan(&statement)?.kind)
    }

    fn check(&self, predicate: &str, counts: &mut Counts) -> Result<(), String> {
        let sql = format!("SELECT * FROM t WHERE {predicate}");
        let select = match self.bind(&sql) {
            Ok(PlanKind::Select(select)) => select,
            Ok(_) => return Err("no SELECT".into()),
            // Columns of different collations are compared.
            Err(error) if matches!(error.code, 1267 | 1270 | 1271) => {
                counts.errors += 1;
                return Ok(());
            }
            Err(error) => return Err(error.to_string()),
        };
        let Source::Table(source) = select.source else {
            // The binder has found that it is constant, and false.
            return Ok(());
        };
        let terms = source.access.filter.clone().map(rewrite::and_terms).unwrap_or_default();
        if source.access.local_filter.is_some() {
            return Err("a predicate without functions of the session is local".into());
        }
        let truths: Vec<Result<Option<bool>, EvalError>> =
            self.rows.iter().map(|row| self.truth(source.access.filter.as_ref(), row)).collect();
        if truths.iter().any(Result::is_err) {
            // Which rows an error is met for depends on the path.
            counts.errors += 1;
            return Ok(());
        }
        let truths: Vec<Option<bool>> = truths.into_iter().filter_map(Result::ok).collect();
        self.check_parts(predicate, &truths)?;
        let matched = truths.iter().filter(|truth| **truth == Some(true)).count();
        counts.selective += u64::from(0 < matched && matched < truths.len());
        for index in 0..self.table.indexes.len() {
            let allowed: Vec<bool> =
                (0..self.table.indexes.len()).map(|own| own == index).collect();
            let plan = access::choose(&self.table, terms.clone(), &Wanted::default(), &allowed);
            counts.bounded_paths += u64::from(!plan.possible.is_empty());
            self.check_path(&plan, &truths)?;
        }
        Ok(())
    }

    /// P in the select list has its value in WHERE; NOT P and P IS NULL follow from it.
    fn check_parts(&self, predicate: &str, truths: &[Option<bool>]) -> Result<(), String> {
        let sql = format!("SELECT ({predicate}), NOT ({predicate}), ({predicate}) IS NULL FROM t");
        let PlanKind::Select(select) = self.plan(&sql)? else { return Err("no SELECT".into()) };
        let Source::Table(source) = &select.source else { return Err("no table".into()) };
        for (row, truth) in self.rows.iter().zip(truths) {
            let view = RowView::new(&self.layout, row);
            let read: Vec<Value> = source
                .columns
                .iter()
                .map(|column| view.get(usize::from(*column)).to_value())
                .collect();
            let mut of_items = Vec::new();
            for item in &select.items {
                let value = truth_of(&item.expr, &read);
                of_items.push(value.map_err(|error| format!("{error} in the select list only"))?);
            }
            let wanted = [*truth, truth.map(|truth| !truth), Some(truth.is_none())];
            if of_items != wanted {
                return Err(format!(
                    "P, NOT P, P IS NULL are {of_items:?} where WHERE says {truth:?} for {:?}",
                    view.to_values()
                ));
            }
        }
        Ok(())
    }

    fn check_path(&self, plan: &AccessPlan, truths: &[Option<bool>]) -> Result<(), String> {
        let mut path = plan.path.clone();
        let index = &self.table.indexes[path.index];
        // Entries of a unique key have the key that its index has.
        if path.kind == PathKind::UniqueKey {
            path.kind = PathKind::Range;
        }
        let mut context = context();
        let found = keys::resolve(&self.table, &self.table, &path, &mut context)
            .map_err(|error| format!("{error} for {}", index.name))?;
        let rest = if found == Keys::Unusable { &plan.filter } else { &plan.residual };
        for (row, truth) in self.rows.iter().zip(truths) {
            let is_found = self.is_among(index, row, &found)
                && self.truth(rest.as_ref(), row).map_err(|error| error.to_string())? == Some(true);
            if is_found != (*truth == Some(true)) {
                let values = RowView::new(&self.layout, row).to_values();
                let (was, is) = if is_found { ("finds", "not true") } else { ("misses", "true") };
                return Err(format!(
                    "index {} {was} a row for which the predicate is {is}: {values:?}\n  {path:?}\n  {found:?}",
                    index.name
                ));
            }
        }
        Ok(())
    }

    fn truth(&self, filter: Option<&Expr>, row: &[u8]) -> Result<Option<bool>, EvalError> {
        match filter {
            None => Ok(Some(true)),
            Some(filter) => truth_of(filter, &RowView::new(&self.layout, row)),
        }
    }

    fn is_among(&self, index: &Index, row: &[u8], keys: &Keys) -> bool {
        let view = RowView::new(&self.layout, row);
        match keys {
            Keys::Unusable => true,
            Keys::Nothing => false,
            Keys::Keys(keys) => {
                let own = key::primary_key_of_row(&self.table, &view).expect("short keys");
                keys.contains(&own)
            }
            Keys::Ranges(ranges) => {
                let mut entry = Vec::new();
                key::index_entry_key(&self.table, index, &view, &mut entry).expect("short keys");
                ranges.iter().any(|range| contains(range, &entry))
            }
        }
    }
}

fn truth_of<R: Columns + ?Sized>(expr: &Expr, row: &R) -> Result<Option<bool>, EvalError> {
    let mut context = context();
    let value = eval(expr, row, &mut context)?;
    Ok(is_true(value.as_ref(), &mut context.convert))
}

fn contains(range: &KeyRange, key: &[u8]) -> bool {
    let above = match &range.lower {
        Bound::Included(lower) => lower.as_slice() <= key,
        Bound::Excluded(lower) => lower.as_slice() < key,
        Bound::Unbounded => true,
    };
    let below = match &range.upper {
        Bound::Included(upper) => key <= upper.as_slice(),
        Bound::Excluded(upper) => key < upper.as_slice(),
        Bound::Unbounded => true,
    };
    above && below
}

fn context() -> EvalContext<'static> {
    let mut context = EvalContext::new(&[]);
    context.convert.time_zone_offset_seconds = TIME_ZONE_OFFSET_SECONDS;
    context
}

/// The value as a column of this type keeps it.
fn stored(value: &Value, column_type: &types::ColumnType) -> Result<Value, String> {
    use types::convert::{StoreMode, store};
    let mut context = context();
    let (stored, _) = store(value.as_ref(), column_type, StoreMode::Lenient, &mut context.convert)
        .map_err(|error| format!("{value:?} into {column_type:?}: {error:?}"))?;
    Ok(match (stored, column_type) {
        (Value::DateTime(local), types::ColumnType::Timestamp { .. }) => {
            let offset = i64::from(TIME_ZONE_OFFSET_SECONDS) * 1_000_000;
            Value::DateTime(local.add_micros(-offset).expect("years that are far from both ends"))
        }
        (stored, _) => stored,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random predicates on random tables; the count grows with SKARV_TEST_LONG.
    #[test]
    fn paths_find_the_rows_of_their_predicates() {
        let count = if std::env::var_os("SKARV_TEST_LONG").is_some() { 1_000_000 } else { 20_000 };
        let counts = check(1, count).unwrap_or_else(|problem| panic!("{problem}"));
        assert_eq!(counts.predicates, count);
        assert!(count / 2 < counts.bounded_paths, "few paths are bounded: {counts:?}");
        assert!(count / 4 < counts.selective, "few predicates select: {counts:?}");
        assert!(counts.errors < count / 4, "many predicates are errors: {counts:?}");
    }
}
