//! Which index finds the rows.
//!
//! [`super::bounds`] derives from the WHERE clause's AND terms which values each column can have. For every index the bounds
//! of its leading parts are counted:
//!
//! ```text
//! all parts of the primary key equal to constants  -> key reads
//! all parts of a unique key equal to constants     -> key reads of its entries, then of the rows
//! else the most leading equalities, then a range, then the order asked for; nothing at all -> the primary key's index
//! ```
//!
//! The score above is a fixed one. Where several indexes could be used, the statistics of the table may speak for another one
//! ([`super::estimate`]). Whether a constant can be turned into the column's type
//! without changing what the comparison means is known only when the statement runs ([`crate::execute::keys`]); when it
//! cannot, the rows are found by a scan with the whole filter instead. So the plan keeps both: the whole filter, and the
//! terms that the bounds do not cover.

use std::collections::BTreeMap;

use types::{Expr, IndexKind, IndexState, Table};

use super::bounds::{self, Bounds, CoveredTerms, ValueSet};
use super::rewrite;
use crate::error::{SqlError, code};
use crate::parser::ast;
use crate::plan::{AccessPlan, IndexPath, PartBound, PathKind};

/// What else the statement would like of the path.
#[derive(Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// ORDER BY of plain columns: (column, descending).
    pub order: Option<&'a [(u16, bool)]>,
    pub limited: bool,
    /// The primary key that ends the entries of other indexes does not count.
    pub without_extensions: bool,
}

/// Positions of the indexes that USE, FORCE and IGNORE INDEX leave; the primary key's is always left as the last resort.
pub fn allowed_indexes(
    table: &Table,
    hints: &[ast::IndexHint],
    alias: &str,
) -> Result<Vec<bool>, SqlError> {
    let mut allowed: Vec<bool> =
        table.indexes.iter().map(|index| index.state == IndexState::Public).collect();
    let find = |name: &String| {
        table.indexes.iter().position(|index| index.name.eq_ignore_ascii_case(name)).ok_or_else(
            || {
                SqlError::new(
                    code::ER_KEY_DOES_NOT_EXITS,
                    format!("Key '{name}' doesn't exist in table '{alias}'"),
                )
            },
        )
    };
    for hint in hints {
        let named = hint.indexes.iter().map(find).collect::<Result<Vec<usize>, SqlError>>()?;
        for (position, allowed) in allowed.iter_mut().enumerate() {
            match hint.kind {
                ast::IndexHintKind::Ignore => *allowed &= !named.contains(&position),
                ast::IndexHintKind::Use | ast::IndexHintKind::Force => {
                    *allowed &= named.contains(&position);
                }
            }
        }
    }
    Ok(allowed)
}

/// A path that could be taken.
pub struct Candidate {
    pub path: IndexPath,
    pub covered: CoveredTerms,
    /// The rows come in the order that is wanted.
    pub delivers: bool,
    score: u32,
}

impl Candidate {
    /// With no bounds: all rows, by the primary key.
    pub fn all() -> Candidate {
        let (equal, ranges) = (Vec::new(), Vec::new());
        let path = IndexPath { index: 0, kind: PathKind::Range, equal, ranges, reverse: false };
        Candidate { path, covered: CoveredTerms::default(), delivers: false, score: 0 }
    }

    pub fn into_plan(self, terms: Vec<Expr>, possible: Vec<usize>) -> AccessPlan {
        let rest = terms
            .iter()
            .enumerate()
            .filter(|(number, _)| !self.covered.contains(*number))
            .map(|(_, term)| term.clone())
            .collect();
        AccessPlan {
            path: self.path,
            residual: rewrite::and_of(rest),
            filter: rewrite::and_of(terms),
            local_filter: None,
            delivers_order: self.delivers,
            possible,
        }
    }
}

/// Chooses the path for these terms, which all can be evaluated where the rows are.
pub fn choose(
    table: &Table,
    terms: Vec<Expr>,
    wanted: &Wanted<'_>,
    allowed: &[bool],
) -> AccessPlan {
    let (mut candidates, possible) = candidates(table, &terms, wanted, allowed);
    let best = best(&candidates).map(|number| candidates.swap_remove(number));
    best.unwrap_or_else(Candidate::all).into_plan(terms, possible)
}

/// The one that the form of the conditions speaks for, the first of several.
pub fn best(candidates: &[Candidate]) -> Option<usize> {
    (0..candidates.len())
        .reduce(|best, own| if candidates[best].score < candidates[own].score { own } else { best })
}

/// Chooses the path of those that deliver an order; none if no index does.
pub fn choose_ordered(
    table: &Table,
    terms: Vec<Expr>,
    order: &[(u16, bool)],
    without_extensions: bool,
    allowed: &[bool],
) -> Option<AccessPlan> {
    let wanted = Wanted { order: Some(order), limited: true, without_extensions };
    let (candidates, possible) = candidates(table, &terms, &wanted, allowed);
    let ordered = candidates.into_iter().filter(|candidate| candidate.delivers);
    let best = ordered.reduce(|best, own| if best.score < own.score { own } else { best });
    best.map(|best| best.into_plan(terms, possible))
}

/// The paths, and the indexes that bound rows.
pub fn candidates(
    table: &Table,
    terms: &[Expr],
    wanted: &Wanted<'_>,
    allowed: &[bool],
) -> (Vec<Candidate>, Vec<usize>) {
    let bounds = bounds::of_terms(table, terms);
    let mut candidates = Vec::new();
    let mut possible = Vec::new();
    for (position, is_allowed) in allowed.iter().enumerate() {
        if !is_allowed {
            continue;
        }
        let (mut path, covered) = path_of(table, position, &bounds);
        if !path.equal.is_empty() || path.is_ranged() {
            possible.push(position);
        }
        let is_single = path.kind != PathKind::Range && path.equal.iter().all(PartBound::is_single);
        let order = wanted.order.and_then(|order| match path.kind {
            PathKind::PrimaryKey => order_of_keys(table, &path, order),
            PathKind::UniqueKey | PathKind::Range => {
                order_of(table, &path, order, wanted.without_extensions)
            }
        });
        let score = match path.kind {
            PathKind::PrimaryKey => 10_000,
            PathKind::UniqueKey => 9_000,
            PathKind::Range => {
                let in_lists = path.equal.iter().filter(|bound| !bound.is_single()).count() as u32;
                100 * path.equal.len() as u32 - 10 * in_lists
                    + if path.is_ranged() { 50 } else { 0 }
                    + match (order.is_some(), wanted.limited) {
                        (true, true) => 30,
                        (true, false) => 20,
                        (false, _) => 0,
                    }
            }
        };
        // Rows of a unique key's entries come in the order of the primary key: to have the first ones of a list, its own index
        // is scanned.
        if path.kind == PathKind::UniqueKey && !is_single && wanted.limited && order.is_some() {
            path.kind = PathKind::Range;
        }
        path.reverse = order.unwrap_or(false) && path.kind != PathKind::UniqueKey;
        let is_ordered = order.is_some() && path.kind != PathKind::UniqueKey;
        let delivers = wanted.order.is_some() && (is_single || is_ordered);
        // Full scans read the primary key's index unless another one saves the sort.
        if score == 0 && position != 0 {
            continue;
        }
        candidates.push(Candidate { path, covered, delivers, score });
    }
    (candidates, possible)
}

impl IndexPath {
    /// Does a range bound the part behind the equal ones?
    pub fn is_ranged(&self) -> bool {
        !self.ranges.is_empty()
    }
}

impl PartBound {
    /// At most one key value?
    pub fn is_single(&self) -> bool {
        match self {
            PartBound::Equal(_) | PartBound::NullSafeEqual(_) | PartBound::IsNull => true,
            PartBound::In(list) => list.len() <= 1,
        }
    }
}

/// The bounds an index can use, and the terms that they cover.
pub fn path_of(
    table: &Table,
    position: usize,
    bounds: &BTreeMap<u16, Bounds>,
) -> (IndexPath, CoveredTerms) {
    let index = &table.indexes[position];
    let mut equal = Vec::new();
    let mut ranges = Vec::new();
    let mut covered = CoveredTerms::default();
    for part in &index.parts {
        let column_type = &table.columns[usize::from(part.column)].column_type;
        if part.prefix.is_some()
            && column_type.collation().is_some_and(|own| !own.has_prefix_keys())
        {
            break;
        }
        let Some(bounds) = bounds.get(&part.column) else { break };
        let (set, terms) = bounds.of_part(part);
        covered.extend(terms);
        match set {
            ValueSet::Points(points) => equal.push(points.clone()),
            ValueSet::Ranges(of_column) => {
                ranges.clone_from(of_column);
                break;
            }
        }
    }
    let complete = equal.len() == index.parts.len();
    let no_nulls =
        equal.iter().all(|bound| matches!(bound, PartBound::Equal(_) | PartBound::In(_)));
    let kind = match index.kind {
        IndexKind::Primary if complete => PathKind::PrimaryKey,
        IndexKind::Unique { .. } if complete && no_nulls => PathKind::UniqueKey,
        _ => PathKind::Range,
    };
    (IndexPath { index: position, kind, equal, ranges, reverse: false }, covered)
}

/// Do reads of whole primary keys, in the order of the keys, deliver this order? Some(reverse) if so.
fn order_of_keys(table: &Table, path: &IndexPath, order: &[(u16, bool)]) -> Option<bool> {
    let parts = table.primary_key().parts.iter().zip(&path.equal);
    // A part of one value orders nothing.
    let mut parts = parts.filter(|(_, bound)| !bound.is_single()).map(|(part, _)| part).peekable();
    let listed: Vec<u16> = parts.clone().map(|part| part.column).collect();
    let mut ordered = Vec::new();
    let mut reverse = None;
    for (column, descending) in order {
        if parts.peek().is_none() {
            // Rows of different keys are in order by now.
            break;
        }
        if ordered.contains(column)
            || !listed.contains(column) && is_of_one_value(path, table, *column)
        {
            continue;
        }
        let part = parts.next()?;
        let own = part.descending != *descending;
        if part.column != *column || part.prefix.is_some() || *reverse.get_or_insert(own) != own {
            return None;
        }
        ordered.push(*column);
    }
    Some(reverse.unwrap_or(false))
}

/// Does the path bind the column, a part of the primary key, to one value?
fn is_of_one_value(path: &IndexPath, table: &Table, column: u16) -> bool {
    let mut parts = table.primary_key().parts.iter().zip(&path.equal);
    parts.any(|(part, bound)| part.column == column && bound.is_single())
}

/// Does a scan of the path deliver this order? Some(reverse) if so. Whatever the bounds, the rows come in the order of the
/// index; a part of one value orders nothing.
fn order_of(
    table: &Table,
    path: &IndexPath,
    order: &[(u16, bool)],
    without_extensions: bool,
) -> Option<bool> {
    let index = &table.indexes[path.index];
    // A secondary index's entries end in the primary key.
    let has_extension = index.kind != IndexKind::Primary && !without_extensions;
    let primary = table.primary_key().parts.iter().filter(|_| has_extension);
    let bounds = path.equal.iter().map(Some).chain(std::iter::repeat(None));
    let (fixed, free): (Vec<_>, Vec<_>) = (index.parts.iter().chain(primary).zip(bounds))
        .partition(|(_, bound)| bound.is_some_and(PartBound::is_single));
    let mut free = free.into_iter().map(|(part, _)| part);
    let mut ordered: Vec<u16> = fixed.into_iter().map(|(part, _)| part.column).collect();
    let mut reverse = None;
    for (column, descending) in order {
        // What is sorted by already, or has one value, cannot order again.
        if ordered.contains(column) {
            continue;
        }
        let part = free.next()?;
        if part.column != *column || part.prefix.is_some() {
            return None;
        }
        let own = part.descending != *descending;
        if *reverse.get_or_insert(own) != own {
            return None;
        }
        ordered.push(*column);
    }
    Some(reverse.unwrap_or(false))
}
