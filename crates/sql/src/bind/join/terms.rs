//! The tree of FROM as groups of inner joins, and the terms of their conditions.

use types::expr::{BinaryOp, UnaryOp};
use types::{ColumnType, Expr};

use crate::bind::from::FromTree;
use crate::bind::group::plain_column;
use crate::bind::names::Relations;
use crate::bind::rewrite;
use crate::plan::{Bound, JoinKind};

/// Relations that are joined to each other by inner joins.
#[derive(Default)]
pub(super) struct Group {
    pub(super) members: Vec<Member>,
    pub(super) terms: Vec<Bound>,
    /// STRAIGHT_JOIN is among them: they are read as they are written.
    pub(super) straight: bool,
}

pub(super) enum Member {
    Relation(usize),
    Outer(Box<OuterJoin>),
}

/// A join whose sides do not change places.
pub(super) struct OuterJoin {
    pub(super) kind: JoinKind,
    pub(super) left: Group,
    pub(super) right: Group,
    pub(super) on: Vec<Bound>,
}

impl Member {
    pub(super) fn mark(&self, relations: &mut [bool]) {
        match self {
            Member::Relation(relation) => relations[*relation] = true,
            Member::Outer(outer) => {
                outer.left.mark(relations);
                outer.right.mark(relations);
            }
        }
    }
}

impl Group {
    /// Pairs of columns that terms say to be equal.
    pub(super) fn equal_columns(&self, pairs: &mut Vec<(u16, u16)>) {
        let mut note = |terms: &[Bound]| {
            for term in terms {
                if let Expr::Binary(BinaryOp::Equal, left, right) = &term.expr
                    && let (Some(left), Some(right)) = (plain_column(left), plain_column(right))
                {
                    pairs.push((left, right));
                }
            }
        };
        note(&self.terms);
        for member in &self.members {
            if let Member::Outer(outer) = member {
                note(&outer.on);
            }
        }
        for member in &self.members {
            if let Member::Outer(outer) = member {
                outer.left.equal_columns(pairs);
                outer.right.equal_columns(pairs);
            }
        }
    }

    pub(super) fn mark(&self, relations: &mut [bool]) {
        self.members.iter().for_each(|member| member.mark(relations));
    }
}

/// `(a AND x) OR (a AND y)` as `a AND (x OR y)`; and for each relation that all arms of an OR say something about, what they
/// say: its shards can check that.
pub(super) fn factored(term: Bound, relations: &Relations) -> Vec<Bound> {
    let Expr::Or(arms) = &term.expr else { return vec![term] };
    if term.is_local() || arms.len() < 2 {
        return vec![term];
    }
    let mut arms: Vec<Vec<Expr>> = arms.iter().map(|arm| rewrite::and_terms(arm.clone())).collect();
    let keys = |arm: &[Expr]| arm.iter().map(rewrite::encoded).collect::<Vec<_>>();
    let others: Vec<Vec<Vec<u8>>> = arms[1..].iter().map(|arm| keys(arm)).collect();
    let is_common = |term: &Expr| {
        let own = rewrite::encoded(term);
        others.iter().all(|arm| arm.contains(&own))
    };
    let common: Vec<Expr> = arms[0].iter().filter(|term| is_common(term)).cloned().collect();
    let known = keys(&common);
    for arm in &mut arms {
        arm.retain(|term| !known.contains(&rewrite::encoded(term)));
    }
    let mut terms: Vec<Bound> = common.into_iter().map(Bound::pure).collect();
    if arms.iter().any(Vec::is_empty) {
        // x OR (x AND y) is x.
        return terms;
    }
    for scope in &relations.tables {
        let columns = scope.first..scope.first + scope.columns.len();
        let is_own = |term: &&Expr| {
            let (mut is_own, mut any) = (true, false);
            rewrite::for_each_column(term, &mut |column| {
                any = true;
                is_own &= columns.contains(&usize::from(column));
            });
            is_own && any
        };
        let own: Vec<Vec<Expr>> =
            arms.iter().map(|arm| arm.iter().filter(is_own).cloned().collect()).collect();
        let is_all = own.iter().zip(&arms).all(|(own, arm)| own.len() == arm.len());
        if !is_all && own.iter().all(|arm| !arm.is_empty()) {
            terms.push(Bound::pure(or_of(own)));
        }
    }
    terms.push(Bound::pure(or_of(arms)));
    terms
}

pub(super) fn or_of(arms: Vec<Vec<Expr>>) -> Expr {
    Expr::Or(arms.into_iter().filter_map(rewrite::and_of).collect())
}

pub(super) fn is_subset(named: &[bool], of: &[bool]) -> bool {
    named.iter().zip(of).all(|(named, of)| !named || *of)
}

/// Takes the terms that name only relations of these sides.
pub(super) fn take_terms(
    terms: &mut [Option<(Bound, Vec<bool>)>],
    sides: &[&Vec<bool>],
) -> Vec<Bound> {
    let all: Vec<bool> = (0..sides[0].len()).map(|n| sides.iter().any(|side| side[n])).collect();
    let is_own = |term: &&mut Option<(Bound, Vec<bool>)>| {
        term.as_ref().is_some_and(|(_, named)| is_subset(named, &all))
    };
    let own = terms.iter_mut().filter(is_own);
    own.filter_map(Option::take).map(|(term, _)| term).collect()
}

/// The terms about a relation that can be asked when these others are read.
pub(super) fn usable_terms<'t>(
    terms: &'t [Option<(Bound, Vec<bool>)>],
    relation: usize,
    placed: &[bool],
) -> Vec<&'t Bound> {
    let is_usable = |named: &Vec<bool>| {
        named[relation]
            && named.iter().enumerate().all(|(n, named)| !named || n == relation || placed[n])
    };
    let known = terms.iter().flatten();
    known.filter(|(_, named)| is_usable(named)).map(|(term, _)| term).collect()
}

/// Do equal values of the two types have equal keys ([`types::convert::group_key`]), and others different ones?
pub fn have_equal_keys(left: &ColumnType, right: &ColumnType) -> bool {
    use ColumnType as T;
    if let (Some(left), Some(right)) = (left.labels(), right.labels()) {
        return left == right && !left.has_empty_label();
    }
    if left.labels().is_some() || right.labels().is_some() {
        return false;
    }
    let is_exact = |own: &T| own.is_integer() || matches!(own, T::Decimal { .. });
    let is_double = |own: &T| matches!(own, T::Double | T::Float);
    let is_moment = |own: &T| matches!(own, T::Date | T::DateTime { .. });
    let is_time = |own: &T| matches!(own, T::Time { .. });
    let both = |is: &dyn Fn(&T) -> bool| is(left) && is(right);
    if both(&|own| own.is_string()) {
        return left.collation() == right.collation();
    }
    both(&is_exact)
        || both(&is_double)
        || both(&is_moment)
        || both(&is_time)
        || both(&|own| own.is_binary())
        || both(&|own| *own == T::Json)
}

/// Inner joins in a row are one group.
pub(super) fn flatten(tree: FromTree, group: &mut Group) {
    match tree {
        FromTree::Relation(relation) => group.members.push(Member::Relation(relation)),
        FromTree::Join(join) if join.kind == JoinKind::Inner => {
            flatten(join.left, group);
            flatten(join.right, group);
            group.terms.extend(join.on);
            group.straight |= join.straight;
        }
        FromTree::Join(join) => {
            let (mut left, mut right) = (Group::default(), Group::default());
            flatten(join.left, &mut left);
            flatten(join.right, &mut right);
            let outer = OuterJoin { kind: join.kind, left, right, on: join.on };
            group.members.push(Member::Outer(Box::new(outer)));
        }
    }
}

/// An outer join is an inner one where a term above it is not true of NULLs for the columns of its inner side. `known` are
/// terms that hold for every row that the tree gives to those above.
pub(super) fn simplified(tree: FromTree, known: &[Expr], relations: &Relations) -> FromTree {
    let FromTree::Join(mut join) = tree else { return tree };
    if join.kind == JoinKind::Left {
        let mut inner = Vec::new();
        join.right.relations(&mut inner);
        let rejects = |term: &Expr| {
            inner.iter().any(|relation| {
                let scope = &relations.tables[*relation];
                let columns = scope.first..scope.first + scope.columns.len();
                rejects_null(term, &columns)
            })
        };
        if known.iter().any(rejects) {
            join.kind = JoinKind::Inner;
        }
    }
    let on: Vec<Expr> = join.on.iter().map(|term| term.expr.clone()).collect();
    let (left_known, right_known) = match join.kind {
        JoinKind::Inner => {
            let all = [known, &on].concat();
            (all.clone(), all)
        }
        // Inner rows that ON leaves out are never seen.
        JoinKind::Left | JoinKind::Semi | JoinKind::Anti => (known.to_vec(), on),
    };
    join.left = simplified(join.left, &left_known, relations);
    join.right = simplified(join.right, &right_known, relations);
    FromTree::Join(join)
}

/// Is the term not true where all these columns are NULL?
fn rejects_null(term: &Expr, columns: &std::ops::Range<usize>) -> bool {
    match term {
        Expr::And(terms) => terms.iter().any(|term| rejects_null(term, columns)),
        Expr::Or(terms) => terms.iter().all(|term| rejects_null(term, columns)),
        Expr::IsNull(operand, true) => is_null(operand, columns),
        Expr::IsTruth(operand, _, false) => is_null(operand, columns),
        other => is_null(other, columns),
    }
}

/// Is the value NULL where all these columns are?
fn is_null(expr: &Expr, columns: &std::ops::Range<usize>) -> bool {
    let null = |expr: &Expr| is_null(expr, columns);
    match expr {
        Expr::Column(column) => columns.contains(&usize::from(*column)),
        Expr::Binary(op, left, right) => match op {
            BinaryOp::NullSafeEqual => false,
            _ => null(left) || null(right),
        },
        Expr::Unary(UnaryOp::Not | UnaryOp::Negate | UnaryOp::BitNot, operand)
        | Expr::Cast(operand, _)
        | Expr::Collate(operand, _)
        | Expr::Convert(operand, _)
        | Expr::InCollation(operand, _)
        | Expr::In { operand, .. } => null(operand),
        Expr::Like { operand, pattern, .. } => null(operand) || null(pattern),
        Expr::Between { operand, .. } => null(operand),
        Expr::Function(types::expr::Function::UtcToLocal, operands) => operands.iter().any(null),
        _ => false,
    }
}
