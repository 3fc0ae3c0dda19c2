//! What the terms of a predicate say about single columns.
//!
//! A term *implies* bounds on a column: where the term is true, the column's value is in a set of values. `a = 1 OR (a = 4
//! AND b IN (7))` implies that a is 1 or 4. Only some bounds imply the term in return; those *cover* it, and only a covered
//! term may leave the filter of the rows that the bounds find.
//!
//! Coverage is computed together with the set and cannot be claimed elsewhere: [`Coverage`] starts at the comparisons,
//! where it is evident, an OR covers its term when every arm does, an AND when the set takes in every one of its terms.
//! [`CoveredTerms`] has no other source than [`Bounds::of_part`], so a part of an index that holds only a prefix of the
//! column covers nothing.
//!
//! ```text
//! term                                 set of a         coverage
//! a > 1                                (1, +)           whole
//! a BETWEEN 1 AND 3                    [1, 3]           whole
//! 1 < a AND a < 5                      (1, 5)           whole
//! a = 4 AND b IN (7)                   {4}              part
//! a = 1 OR a = 4                       {1, 4}           whole
//! a = 1 OR (a = 4 AND b IN (7))        {1, 4}           part
//! a = 1 OR b = 2                       every value      no bounds
//! ```
//!
//! A set is one of values, not of keys: whether its constants can be converted to the column's type is known only when
//! the statement runs ([`crate::execute::keys`]).

use std::collections::BTreeMap;

use types::expr::{BinaryOp, Function};
use types::{Collation, ColumnType, Expr, IndexPart, Table};

use super::rewrite;
use crate::plan::{PartBound, RangeBound};

/// Terms that hold for every row which the bounds in use find, by their positions in the list of terms.
#[derive(Debug, Default, PartialEq)]
pub struct CoveredTerms(Vec<usize>);

impl CoveredTerms {
    pub fn contains(&self, term: usize) -> bool {
        self.0.contains(&term)
    }
    pub fn extend(&mut self, more: CoveredTerms) {
        self.0.extend(more.0);
    }
}

/// The values that a column can have where a list of terms is true.
#[derive(Clone, Debug)]
pub struct Bounds {
    set: ValueSet,
    /// Positions of the terms that are true wherever the column's value is in the set.
    covered: Vec<usize>,
}

#[derive(Clone, Debug)]
pub enum ValueSet {
    Points(PartBound),
    /// Any of these ranges. At least one.
    Ranges(Vec<RangeBound>),
}

/// Whether a set of values implies the term that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Coverage {
    /// The term may be false for a value of the set.
    Part,
    /// The term is true for a row exactly when the column's value is in the set.
    Whole,
}

/// The set of one column that one term implies.
#[derive(Clone, Debug)]
struct Constraint {
    set: ValueSet,
    coverage: Coverage,
}

impl Bounds {
    /// The bounds on a part of an index, with the terms that they cover there. A prefix finds more rows than the whole
    /// value does.
    pub fn of_part(&self, part: &IndexPart) -> (&ValueSet, CoveredTerms) {
        let covered = if part.prefix.is_none() { self.covered.clone() } else { Vec::new() };
        (&self.set, CoveredTerms(covered))
    }

    fn new(constraint: Constraint, term: usize) -> Bounds {
        let covered = match constraint.coverage {
            Coverage::Whole => vec![term],
            Coverage::Part => Vec::new(),
        };
        Bounds { set: constraint.set, covered }
    }

    /// Takes in what another term says, if the intersection of both is one of the sets there are; keeps the more
    /// selective one otherwise.
    fn intersect(&mut self, constraint: Constraint, term: usize) {
        match (&mut self.set, &constraint.set) {
            // A lower bound and an upper bound make one range.
            (ValueSet::Ranges(own), ValueSet::Ranges(other)) => {
                let ([own], [other]) = (own.as_mut_slice(), other.as_slice()) else { return };
                let is_disjoint = (own.lower.is_none() || other.lower.is_none())
                    && (own.upper.is_none() || other.upper.is_none());
                if !is_disjoint {
                    return;
                }
                own.lower = own.lower.take().or_else(|| other.lower.clone());
                own.upper = own.upper.take().or_else(|| other.upper.clone());
                if constraint.coverage == Coverage::Whole {
                    self.covered.push(term);
                }
            }
            (ValueSet::Ranges(_), ValueSet::Points(_)) => *self = Bounds::new(constraint, term),
            // One value is better than a list.
            (ValueSet::Points(PartBound::In(list)), ValueSet::Points(other))
                if 1 < list.len() && other.is_single() =>
            {
                *self = Bounds::new(constraint, term);
            }
            (ValueSet::Points(_), _) => {}
        }
    }
}

impl ValueSet {
    /// The union, if it is one of the sets there are.
    fn union(self, other: ValueSet) -> Option<ValueSet> {
        Some(match (self, other) {
            (ValueSet::Points(own), ValueSet::Points(other)) => {
                let mut list = values_of(own)?;
                list.extend(values_of(other)?);
                ValueSet::Points(PartBound::In(list))
            }
            (own, other) => {
                let mut ranges = own.into_ranges()?;
                ranges.extend(other.into_ranges()?);
                ValueSet::Ranges(ranges)
            }
        })
    }

    /// None for a set with NULL, which is in no range.
    fn into_ranges(self) -> Option<Vec<RangeBound>> {
        match self {
            ValueSet::Ranges(ranges) => Some(ranges),
            ValueSet::Points(points) => {
                let point = |value: Expr| RangeBound {
                    lower: Some((value.clone(), true)),
                    upper: Some((value, true)),
                };
                Some(values_of(points)?.into_iter().map(point).collect())
            }
        }
    }
}

/// The values of points that are compared by `=`. None where NULL may be one that matches.
fn values_of(points: PartBound) -> Option<Vec<Expr>> {
    match points {
        PartBound::Equal(value) => Some(vec![value]),
        PartBound::In(values) => Some(values),
        PartBound::NullSafeEqual(_) | PartBound::IsNull => None,
    }
}

/// The bounds of each column where all of these terms are true.
pub fn of_terms(table: &Table, terms: &[Expr]) -> BTreeMap<u16, Bounds> {
    let mut bounds: BTreeMap<u16, Bounds> = BTreeMap::new();
    for (number, term) in terms.iter().enumerate() {
        for (column, constraint) in constraints(table, term) {
            match bounds.get_mut(&column) {
                Some(own) => own.intersect(constraint, number),
                None => {
                    bounds.insert(column, Bounds::new(constraint, number));
                }
            }
        }
    }
    bounds
}

/// What one term implies for each column that it bounds.
fn constraints(table: &Table, term: &Expr) -> BTreeMap<u16, Constraint> {
    match term {
        Expr::And(terms) => of_terms(table, terms)
            .into_iter()
            .map(|(column, bounds)| {
                let is_whole = bounds.covered.len() == terms.len();
                let coverage = if is_whole { Coverage::Whole } else { Coverage::Part };
                (column, Constraint { set: bounds.set, coverage })
            })
            .collect(),
        Expr::Or(arms) => of_arms(table, arms),
        _ => of_comparison(table, term)
            .map(|(column, set)| (column, Constraint { set, coverage: Coverage::Whole }))
            .into_iter()
            .collect(),
    }
}

/// An OR bounds the columns that every arm bounds, to the union of the arms' sets.
fn of_arms(table: &Table, arms: &[Expr]) -> BTreeMap<u16, Constraint> {
    let mut arms = arms.iter();
    let Some(first) = arms.next() else { return BTreeMap::new() };
    let mut united = constraints(table, first);
    for arm in arms {
        if united.is_empty() {
            break;
        }
        let mut others = constraints(table, arm);
        united = united
            .into_iter()
            .filter_map(|(column, own)| {
                let other = others.remove(&column)?;
                let coverage = own.coverage.min(other.coverage);
                Some((column, Constraint { set: own.set.union(other.set)?, coverage }))
            })
            .collect();
    }
    united
}

/// The values of one column for which a comparison with constants is true: exactly these.
fn of_comparison(table: &Table, term: &Expr) -> Option<(u16, ValueSet)> {
    let constants_of = |operand: &Expr, constants: &[&Expr]| {
        let column = column_of(operand)?;
        let is_bound = |value: &&Expr| is_constant(value) && is_comparable(table, column, value);
        constants.iter().all(is_bound).then_some(column)
    };
    match term {
        Expr::Binary(op, left, right) => {
            let (column, op, value) = if let Some(column) = constants_of(left, &[right]) {
                (column, *op, right)
            } else {
                (constants_of(right, &[left])?, mirrored(*op)?, left)
            };
            Some((column, of_operator(op, value)?))
        }
        Expr::Between { operand, low, high, negated: false } => {
            let column = constants_of(operand, &[low, high])?;
            let (lower, upper) = (Some(((**low).clone(), true)), Some(((**high).clone(), true)));
            Some((column, ValueSet::Ranges(vec![RangeBound { lower, upper }])))
        }
        Expr::In { operand, list, negated: false } => {
            let column = constants_of(operand, &list.iter().collect::<Vec<_>>())?;
            Some((column, ValueSet::Points(PartBound::In(list.clone()))))
        }
        Expr::IsNull(operand, false) => {
            Some((column_of(operand)?, ValueSet::Points(PartBound::IsNull)))
        }
        _ => None,
    }
}

/// The values x for which `x op value` is true. None for an operator that is no comparison, and for `<>`.
fn of_operator(op: BinaryOp, value: &Expr) -> Option<ValueSet> {
    let bound = |inclusive: bool| Some((value.clone(), inclusive));
    let range = match op {
        BinaryOp::Equal => return Some(ValueSet::Points(PartBound::Equal(value.clone()))),
        BinaryOp::NullSafeEqual => {
            return Some(ValueSet::Points(PartBound::NullSafeEqual(value.clone())));
        }
        BinaryOp::Less => RangeBound { lower: None, upper: bound(false) },
        BinaryOp::LessOrEqual => RangeBound { lower: None, upper: bound(true) },
        BinaryOp::Greater => RangeBound { lower: bound(false), upper: None },
        BinaryOp::GreaterOrEqual => RangeBound { lower: bound(true), upper: None },
        _ => return None,
    };
    Some(ValueSet::Ranges(vec![range]))
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
    fn decides(expr: &Expr, own: Collation) -> bool {
        match expr {
            Expr::InCollation(_, collation) => *collation != own,
            Expr::Collate(..) | Expr::Cast(..) => true,
            _ => {
                let mut found = false;
                rewrite::for_each_child(expr, &mut |child| found |= decides(child, own));
                found
            }
        }
    }
    let column_type = &table.columns[usize::from(column)].column_type;
    match column_type {
        ColumnType::Float => false,
        _ => column_type.collation().is_none_or(|own| !decides(value, own)),
    }
}
