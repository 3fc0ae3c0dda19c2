//! How many rows a path finds, and what share of rows a term leaves: by the statistics of the table, or by guesses where
//! there are none.

use std::sync::Arc;

use types::convert::EvalSettings;
use types::expr::{BinaryOp, EvalContext};
use types::{Expr, IndexState, Table};

use super::access::{self, Candidate, Wanted};
use super::{Binder, bounds, rewrite};
use crate::execute::keys::{self, Keys};
use crate::plan::{AccessPlan, IndexPath, PartBound, PathKind};
use crate::statistics::{SampledShare, TableStatistics};

/// The estimate for a table without a count.
const TABLE_ROWS: f64 = 10_000.0;
/// The share of a table's rows that an equality leaves whose column has no index, and another comparison.
pub const EQUAL_SHARE: f64 = 0.1;
pub const TERM_SHARE: f64 = 0.3;
/// Rows that agree in the first part of a key that nothing is known about, and how many fewer agree in the next one, too.
pub const ROWS_PER_KEY: f64 = 10.0;
/// Work of a look-up by a key, of a row that a scan passes, of one that is sent and kept, and of one that is sorted: as
/// multiples of each other.
pub const LOOKUP_WORK: f64 = 4.0;
pub const SCAN_WORK: f64 = 0.3;
pub const ROW_WORK: f64 = 1.0;
pub const SORT_WORK: f64 = 0.2;
/// Samples in a range from which on they say how many rows it has.
const HITS_MIN: usize = 2;
/// Values of a list that are turned into keys to be looked for among the samples.
const LIST_LENGTH_MAX: usize = 64;
/// Tables of fewer rows are read in the way that the form of the conditions suggests.
const ROWS_MIN: f64 = 16.0;
/// A path is taken for its form unless another one is less than this part of its work.
const LESS_WORK: f64 = 0.8;

impl Binder<'_> {
    /// The statistics of a table, on which the plan depends from now on.
    pub fn statistics(&mut self, table: &Table) -> Option<Arc<TableStatistics>> {
        if !self.weighed.contains(&table.id) {
            self.weighed.push(table.id);
        }
        self.session.statistics(table.id)
    }

    pub fn table_rows(&mut self, table: &Table) -> f64 {
        self.statistics(table).map_or(TABLE_ROWS, |own| (own.rows as f64).max(1.0))
    }

    /// Rows that a scan of a path passes.
    pub fn path_rows(&mut self, table: &Table, path: &IndexPath) -> f64 {
        let lists = list_lengths(path);
        if path.kind != PathKind::Range {
            return lists;
        }
        let rows = self.table_rows(table);
        let parts = path.equal.len();
        if parts == 0 && !path.is_ranged() {
            return rows;
        }
        let index = &table.indexes[path.index];
        let statistics = self.statistics(table);
        let statistics = statistics.as_deref();
        // A key that nothing is known about has some rows for each first part, and hardly more than one for two.
        let guess = match parts {
            0 => 1.0,
            1 => rows / ROWS_PER_KEY,
            _ => rows / ROWS_PER_KEY * ROWS_PER_KEY.powi(parts as i32 - 1),
        };
        let known = statistics.and_then(|own| own.distinct(index.id, parts));
        let values = if parts == 0 { 1.0 } else { known.unwrap_or(guess).max(1.0) };
        let found = (rows / values * lists).min(rows);
        let sampled = statistics.and_then(|own| self.sampled(table, path, own));
        let least = rows.min(1.0);
        match (sampled, path.is_ranged()) {
            (None, false) => found.clamp(least, rows),
            (None, true) => (found * TERM_SHARE).clamp(least, rows),
            (Some(SampledShare { hits, of }), false) => match hits < HITS_MIN {
                // No more than a sample or two stand for.
                true => found.min(rows * HITS_MIN as f64 / of as f64).clamp(least, rows),
                false => rows * hits as f64 / of as f64,
            },
            (Some(SampledShare { hits, of }), true) => {
                (rows * (hits as f64).max(0.5) / of as f64).clamp(least, rows)
            }
        }
    }

    /// The samples of the index that are in the path's bounds, if these have values already.
    fn sampled(
        &self,
        table: &Table,
        path: &IndexPath,
        statistics: &TableStatistics,
    ) -> Option<SampledShare> {
        let mut are_known = true;
        path.for_each_expr(&mut |expr| {
            rewrite::for_each_param(expr, &mut |param| {
                are_known &= usize::from(param) < self.values.len();
            });
        });
        let is_short = list_lengths(path) <= LIST_LENGTH_MAX as f64;
        if !are_known || !is_short || path.kind != PathKind::Range {
            return None;
        }
        let settings = EvalSettings {
            time_zone_offset_seconds: self.session.time_zone_offset_seconds(),
            ..EvalSettings::default()
        };
        let mut context = EvalContext::with(self.values, settings);
        match keys::resolve(table, table, path, &mut context) {
            Ok(Keys::Ranges(ranges)) => statistics.sampled(table.indexes[path.index].id, &ranges),
            Ok(Keys::Nothing) => Some(SampledShare { hits: 0, of: usize::MAX }),
            Ok(Keys::Keys(_) | Keys::Unusable) | Err(_) => None,
        }
    }

    /// Values of a column, if an index begins with it.
    pub fn column_values(&mut self, table: &Table, column: u16) -> Option<f64> {
        let statistics = self.statistics(table)?;
        let leads = table.indexes.iter().find(|index| {
            let first = &index.parts[0];
            index.state == IndexState::Public && first.column == column && first.prefix.is_none()
        })?;
        statistics.distinct(leads.id, 1)
    }

    /// The share of a table's rows that a term about it alone leaves.
    pub fn share(&mut self, table: &Table, term: &Expr) -> f64 {
        match term {
            Expr::And(terms) => terms.iter().map(|term| self.share(table, term)).product(),
            Expr::Or(terms) => {
                terms.iter().map(|term| self.share(table, term)).sum::<f64>().min(1.0)
            }
            _ => {
                let guess = share_of(term);
                let bounds = bounds::of_terms(table, std::slice::from_ref(term));
                let [column] = bounds.keys().copied().collect::<Vec<u16>>()[..] else {
                    return guess;
                };
                let leads = |index: &types::Index| {
                    index.state == IndexState::Public && index.parts[0].column == column
                };
                let Some(position) = table.indexes.iter().position(leads) else { return guess };
                if self.statistics(table).is_none() {
                    return guess;
                }
                let (path, _) = access::path_of(table, position, &bounds);
                let rows = self.table_rows(table);
                (self.path_rows(table, &path) / rows).min(1.0)
            }
        }
    }

    /// The share of rows that the rest of a path's filter leaves.
    pub fn residual_share(&mut self, table: &Table, access: &AccessPlan) -> f64 {
        let terms = access.residual.iter().flat_map(rewrite::terms_of);
        terms.map(|term| self.fanout_share(table, term)).product()
    }

    /// What a statement would like of a path.
    pub fn wanted<'o>(&self, order: Option<&'o [(u16, bool)]>, limited: bool) -> Wanted<'o> {
        let switch = self.environment.optimizer_switch;
        Wanted {
            order,
            limited: limited && (order.is_none() || switch.prefer_ordering_index),
            without_extensions: !switch.use_index_extensions,
        }
    }

    /// The share of a table's rows that a term leaves, for the rows of a join.
    pub fn fanout_share(&mut self, table: &Table, term: &Expr) -> f64 {
        match self.environment.optimizer_switch.condition_fanout_filter {
            true => self.share(table, term),
            false => 1.0,
        }
    }

    /// Chooses the path for the rows of one table: by the form of the conditions, unless several paths bound or order the rows
    /// and the statistics of the table speak for another one. `limit`: rows that are wanted.
    pub fn choose_path(
        &mut self,
        table: &Table,
        terms: Vec<Expr>,
        wanted: &Wanted<'_>,
        limit: Option<f64>,
        allowed: &[bool],
    ) -> AccessPlan {
        let terms = self.with_functional_keys(table, terms);
        let (candidates, possible) = access::candidates(table, &terms, wanted, allowed);
        let formal = access::best(&candidates);
        let bounds_or_orders =
            |own: &&Candidate| own.delivers || !own.path.equal.is_empty() || own.path.is_ranged();
        let is_range = candidates.iter().all(|own| own.path.kind == PathKind::Range);
        let chosen = match formal {
            Some(formal)
                if is_range
                    && 1 < candidates.iter().filter(bounds_or_orders).count()
                    && self.statistics(table).is_some()
                    && ROWS_MIN < self.table_rows(table) =>
            {
                self.cheapest(table, &candidates, formal, &terms, wanted, limit)
            }
            formal => formal,
        };
        let mut candidates = candidates;
        let chosen = chosen.map(|number| candidates.swap_remove(number));
        chosen.unwrap_or_else(Candidate::all).into_plan(terms, possible)
    }

    fn cheapest(
        &mut self,
        table: &Table,
        candidates: &[Candidate],
        formal: usize,
        terms: &[Expr],
        wanted: &Wanted<'_>,
        limit: Option<f64>,
    ) -> Option<usize> {
        let mut scanned = Vec::with_capacity(candidates.len());
        let mut rows = f64::MAX;
        for own in candidates {
            let passed = self.path_rows(table, &own.path);
            let rest = terms.iter().enumerate().filter(|(term, _)| !own.covered.contains(*term));
            let left: f64 = rest.map(|(_, term)| self.share(table, term)).product();
            rows = rows.min(passed * left);
            scanned.push(passed);
        }
        let rows = rows.max(0.1);
        let works = candidates.iter().zip(scanned).map(|(own, passed)| {
            if wanted.order.is_some() && !own.delivers {
                return passed * SCAN_WORK + rows * (ROW_WORK + SORT_WORK);
            }
            let share = limit.map_or(1.0, |limit| (limit / rows).min(1.0));
            share * (passed * SCAN_WORK + rows * ROW_WORK)
        });
        let works: Vec<f64> = works.collect();
        let numbers = 0..candidates.len();
        let least = numbers.min_by(|a, b| works[*a].total_cmp(&works[*b]))?;
        Some(if works[least] < works[formal] * LESS_WORK { least } else { formal })
    }
}

/// Combinations of the values that lists give the parts of a path.
fn list_lengths(path: &IndexPath) -> f64 {
    let length = |bound: &PartBound| match bound {
        PartBound::In(list) => list.len() as f64,
        PartBound::Equal(_) | PartBound::NullSafeEqual(_) | PartBound::IsNull => 1.0,
    };
    path.equal.iter().map(length).product()
}

/// The share of rows that a term is taken to leave, without statistics of its columns.
pub fn share_of(term: &Expr) -> f64 {
    let share = match term {
        Expr::Binary(BinaryOp::Equal | BinaryOp::NullSafeEqual, ..) => EQUAL_SHARE,
        Expr::Binary(BinaryOp::NotEqual, ..) => 1.0 - EQUAL_SHARE,
        Expr::Like { negated: false, .. } => EQUAL_SHARE,
        Expr::In { list, negated: false, .. } => EQUAL_SHARE * list.len() as f64,
        Expr::And(terms) => terms.iter().map(share_of).product(),
        Expr::Or(terms) => terms.iter().map(share_of).sum(),
        _ => TERM_SHARE,
    };
    share.min(1.0)
}

impl IndexPath {
    /// Calls `visit` for every expression of its bounds.
    pub fn for_each_expr(&self, visit: &mut dyn FnMut(&Expr)) {
        for bound in &self.equal {
            match bound {
                PartBound::Equal(expr) | PartBound::NullSafeEqual(expr) => visit(expr),
                PartBound::IsNull => {}
                PartBound::In(list) => list.iter().for_each(&mut *visit),
            }
        }
        for range in &self.ranges {
            range.lower.iter().chain(&range.upper).for_each(|(expr, _)| visit(expr));
        }
    }
}
