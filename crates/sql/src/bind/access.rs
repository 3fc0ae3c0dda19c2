//! Which index finds the rows.
//!
//! The WHERE clause's AND terms are searched for bounds on columns: `column op constant`, BETWEEN, IN, IS NULL, and OR of
//! equalities or of ranges of one column. A constant is anything without columns: literal, parameter, or a function of
//! them. For every index the
//! bounds of its leading parts are counted:
//!
//! ```text
//! all parts of the primary key equal to constants  -> key reads
//! all parts of a unique key equal to constants     -> key reads of its entries, then of the rows
//! else the most leading equalities, then a range, then the order asked for; nothing at all -> the primary key's index
//! ```
//!
//! There are no statistics: the score above is a fixed one. Whether a constant can be turned into the column's type
//! without changing what the comparison means is known only when the statement runs ([`crate::execute::keys`]); when it
//! cannot, the rows are found by a scan with the whole filter instead. So the plan keeps both: all of the filter, and what
//! remains of it when the bounds hold.

use types::expr::{BinaryOp, Function};
use types::{ColumnType, Expr, IndexKind, IndexState, Table};

use super::rewrite;
use crate::error::{SqlError, code};
use crate::parser::ast;
use crate::plan::{AccessPlan, IndexPath, PartBound, PathKind, RangeBound};

/// What else the statement would like of the path.
#[derive(Clone, Copy, Default)]
pub struct Wanted<'a> {
    /// ORDER BY of plain columns: (column, descending).
    pub order: Option<&'a [(u16, bool)]>,
    pub limited: bool,
}

/// The bounds on one column, with the terms they come from.
#[derive(Default)]
struct ColumnBounds {
    equal: Option<(PartBound, usize)>,
    lower: Option<(Expr, bool, usize)>,
    upper: Option<(Expr, bool, usize)>,
    /// The ranges of an OR of them, and its term.
    any: Option<(Vec<RangeBound>, usize)>,
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

/// Chooses the path for these terms, which all can be evaluated where the rows are.
pub fn choose(
    table: &Table,
    terms: Vec<Expr>,
    wanted: &Wanted<'_>,
    allowed: &[bool],
) -> AccessPlan {
    let mut bounds: Vec<ColumnBounds> =
        table.columns.iter().map(|_| ColumnBounds::default()).collect();
    for (number, term) in terms.iter().enumerate() {
        collect(table, term, number, &mut bounds);
    }

    let mut best: Option<(u32, IndexPath, Vec<usize>, bool)> = None;
    let mut possible = Vec::new();
    for (position, is_allowed) in allowed.iter().enumerate() {
        if !is_allowed {
            continue;
        }
        let (mut path, used) = path_of(table, position, &bounds);
        if !path.equal.is_empty() || path.is_ranged() {
            possible.push(position);
        }
        let order = wanted.order.and_then(|order| order_of(table, &path, order));
        let is_single = path.kind != PathKind::Range && path.equal.iter().all(PartBound::is_single);
        let delivers = wanted.order.is_some() && (is_single || order.is_some());
        path.reverse = order.unwrap_or(false) && path.kind == PathKind::Range;
        // An IN list on a whole key: reads of keys, which come in no order.
        let delivers = delivers && (is_single || path.kind == PathKind::Range);
        let score = match path.kind {
            PathKind::PrimaryKey => 10_000,
            PathKind::UniqueKey => 9_000,
            PathKind::Range => {
                let in_lists = path.equal.iter().filter(|bound| !bound.is_single()).count() as u32;
                100 * path.equal.len() as u32 - 10 * in_lists
                    + if path.is_ranged() { 50 } else { 0 }
                    + match (delivers, wanted.limited) {
                        (true, true) => 30,
                        (true, false) => 20,
                        (false, _) => 0,
                    }
            }
        };
        // Full scans read the primary key's index unless another one saves the sort.
        if score == 0 && position != 0 {
            continue;
        }
        if best.as_ref().is_none_or(|(best, ..)| *best < score) {
            best = Some((score, path, used, delivers));
        }
    }
    let (_, path, used, delivers_order) = best.unwrap_or_else(|| {
        let path = IndexPath {
            index: 0,
            kind: PathKind::Range,
            equal: Vec::new(),
            ranges: Vec::new(),
            reverse: false,
        };
        (0, path, Vec::new(), false)
    });
    let rest = terms
        .iter()
        .enumerate()
        .filter(|(number, _)| !used.contains(number))
        .map(|(_, term)| term.clone())
        .collect();
    AccessPlan {
        path,
        residual: rewrite::and_of(rest),
        filter: rewrite::and_of(terms),
        local_filter: None,
        delivers_order,
        possible,
    }
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

/// The bounds an index can use, and the terms that they make superfluous.
fn path_of(table: &Table, position: usize, bounds: &[ColumnBounds]) -> (IndexPath, Vec<usize>) {
    let index = &table.indexes[position];
    let mut equal = Vec::new();
    let mut ranges = Vec::new();
    let mut used = Vec::new();
    for part in &index.parts {
        let own = &bounds[usize::from(part.column)];
        if let Some((bound, term)) = &own.equal {
            equal.push(bound.clone());
            // A prefix finds more rows than the whole value would.
            if part.prefix.is_none() {
                used.push(*term);
            }
            continue;
        }
        if own.lower.is_some() || own.upper.is_some() {
            ranges.push(RangeBound {
                lower: own.lower.as_ref().map(|(value, inclusive, _)| (value.clone(), *inclusive)),
                upper: own.upper.as_ref().map(|(value, inclusive, _)| (value.clone(), *inclusive)),
            });
            if part.prefix.is_none() {
                let terms = [&own.lower, &own.upper];
                used.extend(terms.into_iter().flatten().map(|(_, _, term)| *term));
            }
        } else if let Some((any, term)) = &own.any {
            ranges.clone_from(any);
            if part.prefix.is_none() {
                used.push(*term);
            }
        }
        break;
    }
    let complete = equal.len() == index.parts.len();
    let no_nulls =
        equal.iter().all(|bound| matches!(bound, PartBound::Equal(_) | PartBound::In(_)));
    let kind = match index.kind {
        IndexKind::Primary if complete => PathKind::PrimaryKey,
        IndexKind::Unique { .. } if complete && no_nulls => PathKind::UniqueKey,
        _ => PathKind::Range,
    };
    // BETWEEN gives two bounds by one term: it is spent only if both are used, which they are.
    (IndexPath { index: position, kind, equal, ranges, reverse: false }, used)
}

/// Does a scan of the path deliver this order? Some(reverse) if so.
fn order_of(table: &Table, path: &IndexPath, order: &[(u16, bool)]) -> Option<bool> {
    if path.equal.iter().any(|bound| !bound.is_single()) {
        return None;
    }
    let index = &table.indexes[path.index];
    // A secondary index's entries end in the primary key.
    let primary = table.primary_key().parts.iter().filter(|_| index.kind != IndexKind::Primary);
    let parts: Vec<_> = index.parts.iter().chain(primary).collect();
    let fixed: Vec<u16> = parts[..path.equal.len()].iter().map(|part| part.column).collect();
    let mut next = path.equal.len();
    let mut reverse = None;
    for (column, descending) in order {
        if fixed.contains(column) {
            continue;
        }
        // What is sorted by already cannot order again.
        if parts[path.equal.len()..next].iter().any(|part| part.column == *column) {
            continue;
        }
        let part = parts.get(next)?;
        if part.column != *column || part.prefix.is_some() {
            return None;
        }
        let own = part.descending != *descending;
        if *reverse.get_or_insert(own) != own {
            return None;
        }
        next += 1;
    }
    Some(reverse.unwrap_or(false))
}

fn collect(table: &Table, term: &Expr, number: usize, bounds: &mut [ColumnBounds]) {
    match term {
        Expr::Binary(op, left, right) => {
            if let (Some(column), true) = (column_of(left), is_constant(right)) {
                bind(table, column, *op, right, number, bounds);
            } else if let (Some(column), true) = (column_of(right), is_constant(left))
                && let Some(op) = mirrored(*op)
            {
                bind(table, column, op, left, number, bounds);
            }
        }
        Expr::Between { operand, low, high, negated: false } => {
            if let Some(column) = column_of(operand)
                && is_constant(low)
                && is_constant(high)
                && is_comparable(table, column, low)
                && is_comparable(table, column, high)
            {
                let own = &mut bounds[usize::from(column)];
                // Both or none, for the term is left out of the filter then.
                if own.lower.is_none() && own.upper.is_none() {
                    own.lower = Some(((**low).clone(), true, number));
                    own.upper = Some(((**high).clone(), true, number));
                }
            }
        }
        Expr::In { operand, list, negated: false } => {
            if let Some(column) = column_of(operand)
                && list.iter().all(|item| is_constant(item) && is_comparable(table, column, item))
            {
                let own = &mut bounds[usize::from(column)];
                if own.equal.is_none() {
                    own.equal = Some((PartBound::In(list.clone()), number));
                }
            }
        }
        Expr::IsNull(operand, false) => {
            if let Some(column) = column_of(operand) {
                let own = &mut bounds[usize::from(column)];
                if own.equal.is_none() {
                    own.equal = Some((PartBound::IsNull, number));
                }
            }
        }
        Expr::Or(ways) => {
            collect_or(table, ways, number, bounds);
            collect_ranges(table, ways, number, bounds);
        }
        _ => {}
    }
}

/// `a = 1 OR a = 2 OR a IN (3, 4)` is `a IN (1, 2, 3, 4)`.
fn collect_or(table: &Table, ways: &[Expr], number: usize, bounds: &mut [ColumnBounds]) {
    let mut column = None;
    let mut list = Vec::new();
    for way in ways {
        let own = match way {
            Expr::Binary(BinaryOp::Equal, left, right) => {
                if let (Some(column), true) = (column_of(left), is_constant(right)) {
                    list.push((**right).clone());
                    column
                } else if let (Some(column), true) = (column_of(right), is_constant(left)) {
                    list.push((**left).clone());
                    column
                } else {
                    return;
                }
            }
            Expr::In { operand, list: items, negated: false } if items.iter().all(is_constant) => {
                let Some(column) = column_of(operand) else { return };
                list.extend(items.iter().cloned());
                column
            }
            _ => return,
        };
        if *column.get_or_insert(own) != own {
            return;
        }
    }
    if let Some(column) = column
        && list.iter().all(|item| is_comparable(table, column, item))
    {
        let own = &mut bounds[usize::from(column)];
        if own.equal.is_none() {
            own.equal = Some((PartBound::In(list), number));
        }
    }
}

/// `a BETWEEN 1 AND 2 OR a BETWEEN 7 AND 9 OR a > 20`: ranges of one column.
fn collect_ranges(table: &Table, ways: &[Expr], number: usize, bounds: &mut [ColumnBounds]) {
    let mut column = None;
    let mut any = Vec::with_capacity(ways.len());
    for way in ways {
        // What the way alone would bind: one column, by a range or a value.
        let mut own: Vec<ColumnBounds> = bounds.iter().map(|_| ColumnBounds::default()).collect();
        collect_way(table, way, &mut own);
        let mut bound = own.iter_mut().enumerate().filter(|(_, own)| own.is_bound());
        let Some((position, own)) = bound.next() else { return };
        if bound.next().is_some() || *column.get_or_insert(position) != position {
            return;
        }
        match own.equal.take() {
            None => any.push(RangeBound {
                lower: own.lower.take().map(|(value, inclusive, _)| (value, inclusive)),
                upper: own.upper.take().map(|(value, inclusive, _)| (value, inclusive)),
            }),
            Some((PartBound::Equal(value), _)) => any.push(RangeBound {
                lower: Some((value.clone(), true)),
                upper: Some((value, true)),
            }),
            Some((PartBound::NullSafeEqual(_) | PartBound::IsNull | PartBound::In(_), _)) => return,
        }
    }
    if let Some(column) = column {
        let own = &mut bounds[column];
        if own.any.is_none() {
            own.any = Some((any, number));
        }
    }
}

/// One way of an OR: a comparison, a BETWEEN, or two comparisons by AND that make a range.
fn collect_way(table: &Table, way: &Expr, own: &mut [ColumnBounds]) {
    match way {
        Expr::Binary(..) | Expr::Between { .. } => collect(table, way, 0, own),
        // More terms than bounds would leave something of the way unsaid.
        Expr::And(terms) if terms.len() == 2 => {
            for term in terms {
                let Expr::Binary(..) = term else { return };
                collect(table, term, 0, own);
            }
            let complete = own.iter().all(|own| !own.is_bound() || own.is_closed());
            if !complete {
                own.fill_with(ColumnBounds::default);
            }
        }
        _ => {}
    }
}

impl ColumnBounds {
    fn is_bound(&self) -> bool {
        self.equal.is_some() || self.lower.is_some() || self.upper.is_some()
    }
    fn is_closed(&self) -> bool {
        self.equal.is_none() && self.lower.is_some() && self.upper.is_some()
    }
}

fn bind(
    table: &Table,
    column: u16,
    op: BinaryOp,
    value: &Expr,
    number: usize,
    bounds: &mut [ColumnBounds],
) {
    if !is_comparable(table, column, value) {
        return;
    }
    let own = &mut bounds[usize::from(column)];
    match op {
        BinaryOp::Equal => {
            // One value is better than a list.
            let replace = own.equal.as_ref().is_none_or(|(bound, _)| !bound.is_single());
            if replace {
                own.equal = Some((PartBound::Equal(value.clone()), number));
            }
        }
        BinaryOp::NullSafeEqual if own.equal.is_none() => {
            own.equal = Some((PartBound::NullSafeEqual(value.clone()), number));
        }
        BinaryOp::Less | BinaryOp::LessOrEqual if own.upper.is_none() => {
            own.upper = Some((value.clone(), op == BinaryOp::LessOrEqual, number));
        }
        BinaryOp::Greater | BinaryOp::GreaterOrEqual if own.lower.is_none() => {
            own.lower = Some((value.clone(), op == BinaryOp::GreaterOrEqual, number));
        }
        _ => {}
    }
}

fn mirrored(op: BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        BinaryOp::Equal | BinaryOp::NullSafeEqual => op,
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessOrEqual => BinaryOp::GreaterOrEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterOrEqual => BinaryOp::LessOrEqual,
        _ => return None,
    })
}

/// A bare column, or a TIMESTAMP column in local time.
fn column_of(expr: &Expr) -> Option<u16> {
    match expr {
        Expr::Column(column) => Some(*column),
        Expr::Function(Function::UtcToLocal, operands) => match operands.as_slice() {
            [Expr::Column(column)] => Some(*column),
            _ => None,
        },
        _ => None,
    }
}

fn is_constant(expr: &Expr) -> bool {
    !rewrite::has_columns(expr)
}

/// Can a comparison of the column with such a constant be one of keys? Single precision meets doubles, and an explicit
/// collation or cast of the constant may decide over the column's.
fn is_comparable(table: &Table, column: u16, value: &Expr) -> bool {
    fn decides(expr: &Expr) -> bool {
        let mut found = matches!(expr, Expr::Collate(..) | Expr::Cast(..));
        rewrite::for_each_child(expr, &mut |child| found |= decides(child));
        found
    }
    let column_type = &table.columns[usize::from(column)].column_type;
    match column_type {
        ColumnType::Float => false,
        _ if column_type.is_string() => !decides(value),
        _ => true,
    }
}
