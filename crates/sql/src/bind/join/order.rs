//! The order in which the members of a group are joined: of all orders, or of some, the one of the least work.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::estimate::{LOOKUP_WORK, QUERY_ROWS, ROW_WORK, SCAN_WORK, share_of};
use super::terms::{Member, usable_terms};
use super::{Planner, lateral_out_of_reach};
use crate::bind::from::RelationSource;
use crate::bind::rewrite;
use crate::error::SqlError;
use crate::plan::Bound;

/// Members of a join of which all orders are weighed.
const MEMBERS_PERMUTED: usize = 8;
/// Of more members: those that are tried as the first.
const STARTS_TRIED: usize = 8;

/// What it takes to read a member behind others.
#[derive(Clone, Copy)]
struct Cost {
    /// Rows of the join for each row before it.
    rows: f64,
    /// Rows that a look-up finds, if there is a key for one.
    looked_up: Option<f64>,
    /// Work of reading it once.
    whole: f64,
}

/// By member, and the numbers of the terms that can be asked.
type Costs = BTreeMap<(usize, Vec<usize>), Cost>;

/// A member that may come next, the rows of the join with it, and the work that it adds.
#[derive(Clone, Copy)]
struct Next {
    member: usize,
    rows: f64,
    work: f64,
}

/// The first members of an order.
#[derive(Clone)]
struct Way {
    order: Vec<usize>,
    rows: f64,
    work: f64,
}

impl Default for Way {
    fn default() -> Way {
        Way { order: Vec::new(), rows: 1.0, work: 0.0 }
    }
}

impl Way {
    fn and_then(&self, next: Next) -> Way {
        let mut order = self.order.clone();
        order.push(next.member);
        Way { order, rows: next.rows, work: self.work + next.work }
    }
}

impl Planner<'_, '_> {
    /// In which order the members are joined: the one of the least work. Of up to [`MEMBERS_PERMUTED`] members all orders are
    /// weighed, in which one that a term connects comes before others; of more, each of the first candidates is tried as the
    /// one to begin with, and then comes the member that gives the fewest rows for a row so far.
    pub(super) fn order(
        &mut self,
        members: &[Member],
        terms: &[Option<(Bound, Vec<bool>)>],
        straight: bool,
    ) -> Result<Vec<usize>, SqlError> {
        if straight || members.len() == 1 {
            return Ok((0..members.len()).collect());
        }
        let mut costs = Costs::default();
        let best = match members.len() <= MEMBERS_PERMUTED {
            true => self.best_order(members, terms, &mut costs),
            false => self.greedy_orders(members, terms, &mut costs),
        };
        best.map(|way| way.order).ok_or_else(lateral_out_of_reach)
    }

    /// By dynamic programming over the sets of members that are read.
    fn best_order(
        &mut self,
        members: &[Member],
        terms: &[Option<(Bound, Vec<bool>)>],
        costs: &mut Costs,
    ) -> Option<Way> {
        let mut best: Vec<Option<Way>> = vec![None; 1 << members.len()];
        best[0] = Some(Way::default());
        for read in 0..best.len() {
            let Some(way) = best[read].take() else { continue };
            if read + 1 == best.len() {
                return Some(way);
            }
            for next in self.candidates(members, terms, &way, costs) {
                let longer = way.and_then(next);
                let own = &mut best[read | 1 << next.member];
                if own.as_ref().is_none_or(|other| longer.work < other.work) {
                    *own = Some(longer);
                }
            }
        }
        None
    }

    fn greedy_orders(
        &mut self,
        members: &[Member],
        terms: &[Option<(Bound, Vec<bool>)>],
        costs: &mut Costs,
    ) -> Option<Way> {
        let mut starts = self.candidates(members, terms, &Way::default(), costs);
        starts.sort_by(|left, right| left.rows.total_cmp(&right.rows));
        starts.truncate(STARTS_TRIED);
        let mut best: Option<Way> = None;
        for start in starts {
            let mut way = Way::default().and_then(start);
            while way.order.len() < members.len() {
                let nexts = self.candidates(members, terms, &way, costs).into_iter();
                let Some(next) = nexts.min_by(|a, b| a.rows.total_cmp(&b.rows)) else { break };
                way = way.and_then(next);
            }
            let is_whole = way.order.len() == members.len();
            if is_whole && best.as_ref().is_none_or(|other| way.work < other.work) {
                best = Some(way);
            }
        }
        best
    }

    /// The members that may be read next: those that a term connects with the ones before, if there are such.
    fn candidates(
        &mut self,
        members: &[Member],
        terms: &[Option<(Bound, Vec<bool>)>],
        way: &Way,
        costs: &mut Costs,
    ) -> Vec<Next> {
        let mut placed = vec![false; self.relations.tables.len()];
        way.order.iter().for_each(|member| members[*member].mark(&mut placed));
        let mut nexts = Vec::new();
        for (number, member) in members.iter().enumerate() {
            if way.order.contains(&number) {
                continue;
            }
            let mut alone = vec![false; placed.len()];
            member.mark(&mut alone);
            let connects = |(_, named): &(Bound, Vec<bool>)| {
                let both = named.iter().zip(alone.iter().zip(&placed));
                let (mut own, mut other, mut outside) = (false, false, false);
                for (named, (alone, placed)) in both {
                    own |= *named && *alone;
                    other |= *named && *placed;
                    outside |= *named && !alone && !placed;
                }
                own && other && !outside
            };
            let is_connected = terms.iter().flatten().any(connects);
            let Some(cost) = self.cost_of(number, member, terms, &placed, costs) else { continue };
            let rows = (way.rows * cost.rows).max(if way.order.is_empty() { 0.1 } else { 1.0 });
            let looked_up = cost.looked_up.map(|rows| way.rows * (LOOKUP_WORK + rows * ROW_WORK));
            let pairs = if is_connected || way.order.is_empty() { way.rows } else { rows };
            let whole = cost.whole + pairs;
            let work = looked_up.map_or(whole, |looked_up| looked_up.min(whole));
            nexts.push((is_connected, Next { member: number, rows, work: work + rows * ROW_WORK }));
        }
        let any_connected = nexts.iter().any(|(is_connected, _)| *is_connected);
        nexts.retain(|(is_connected, _)| *is_connected || !any_connected);
        nexts.into_iter().map(|(_, next)| next).collect()
    }

    /// None: it names relations that are not read yet.
    fn cost_of(
        &mut self,
        number: usize,
        member: &Member,
        terms: &[Option<(Bound, Vec<bool>)>],
        placed: &[bool],
        costs: &mut Costs,
    ) -> Option<Cost> {
        let Member::Relation(relation) = member else {
            return Some(Cost { rows: QUERY_ROWS, looked_up: None, whole: QUERY_ROWS });
        };
        let relation = *relation;
        if !self.can_be_read(relation, placed) {
            return None;
        }
        let usable = usable_terms(terms, relation, placed);
        // Only the relations that these terms name matter.
        let mut known: Vec<usize> = usable
            .iter()
            .filter_map(|term| terms.iter().flatten().position(|(own, _)| std::ptr::eq(own, *term)))
            .collect();
        known.sort_unstable();
        if let Some(cost) = costs.get(&(number, known.clone())) {
            return Some(*cost);
        }
        let none = vec![false; placed.len()];
        let cost = match &self.sources[relation] {
            RelationSource::Table { table, hints } => {
                let (table, hints) = (Arc::clone(table), hints.clone());
                let own = usable_terms(terms, relation, &none);
                let reading = self.reading(relation, &table, &hints, &usable, false).ok();
                let whole = self.reading(relation, &table, &hints, &own, false).ok();
                match (reading, whole) {
                    (Some(reading), Some(whole)) => Cost {
                        rows: reading.rows * reading.kept,
                        looked_up: reading.looked_up.then_some(reading.rows),
                        whole: whole.scanned * SCAN_WORK + whole.rows * ROW_WORK,
                    },
                    _ => Cost { rows: QUERY_ROWS, looked_up: None, whole: QUERY_ROWS },
                }
            }
            _ => {
                let shares: f64 = usable.iter().map(|term| share_of(&term.expr)).product();
                Cost { rows: QUERY_ROWS * shares, looked_up: None, whole: QUERY_ROWS }
            }
        };
        costs.insert((number, known), cost);
        Some(cost)
    }

    /// Are the relations read that a LATERAL query names?
    fn can_be_read(&self, relation: usize, placed: &[bool]) -> bool {
        let RelationSource::Query { outer, .. } = &self.sources[relation] else { return true };
        outer.iter().all(|outer| {
            let mut are_placed = true;
            rewrite::for_each_column(&outer.value, &mut |column| {
                are_placed &= placed[self.relations.position_of(usize::from(column))];
            });
            are_placed
        })
    }
}
