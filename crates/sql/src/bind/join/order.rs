//! The order in which the members of a group are joined: of all orders, or of some, the one of the least work.

use std::collections::BTreeMap;
use std::sync::Arc;

use client::Lock;

use super::estimate::{QUERY_ROWS, Reading, UNPAIRED_SHARE};
use super::terms::{Member, OuterJoin, usable_terms};
use super::{Planner, lateral_out_of_reach};
use crate::bind::estimate::{LOOKUP_WORK, ROW_WORK, SCAN_WORK, share_of};
use crate::bind::from::RelationSource;
use crate::bind::rewrite;
use crate::error::SqlError;
use crate::plan::{Bound, JoinKind};

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
pub(super) struct Way {
    pub(super) order: Vec<usize>,
    pub(super) rows: f64,
    pub(super) work: f64,
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

/// What is searched: an order of these members.
#[derive(Clone, Copy)]
pub(super) struct Search<'s> {
    pub(super) members: &'s [Member],
    pub(super) terms: &'s [Option<(Bound, Vec<bool>)>],
    /// As they are written.
    pub(super) straight: bool,
    /// The member that is read first, in the order that the query asks for.
    pub(super) first: Option<usize>,
}

impl Planner<'_, '_> {
    /// In which order the members are joined: the one of the least work. Of up to [`MEMBERS_PERMUTED`] members all orders are
    /// weighed, in which one that a term connects comes before others; of more, each of the first candidates is tried as the
    /// one to begin with, and then comes the member that gives the fewest rows for a row so far.
    pub(super) fn order(
        &mut self,
        search: &Search<'_>,
        drives: bool,
    ) -> Result<Vec<usize>, SqlError> {
        let is_fixed = search.straight || search.members.len() == 1;
        let is_demanded = drives && self.demand.is_some();
        if is_fixed && !is_demanded {
            return Ok((0..search.members.len()).collect());
        }
        let best = match self.best_way(search) {
            Some(best) => best,
            // It will be refused where the member is read.
            None if is_fixed => return Ok((0..search.members.len()).collect()),
            None => return Err(lateral_out_of_reach()),
        };
        let best = if is_demanded { self.demanded_order(search, best)? } else { best };
        Ok(best.order)
    }

    /// None: there is none that begins with the first member in its order, or that reads what LATERAL names before it.
    pub(super) fn best_way(&mut self, search: &Search<'_>) -> Option<Way> {
        let mut costs = Costs::default();
        match search.members.len() {
            _ if search.straight => self.straight_way(search, &mut costs),
            ..=MEMBERS_PERMUTED => self.best_order(search, &mut costs),
            _ => self.greedy_orders(search, &mut costs),
        }
    }

    fn straight_way(&mut self, search: &Search<'_>, costs: &mut Costs) -> Option<Way> {
        let mut way = Way::default();
        for number in 0..search.members.len() {
            let (_, next) = self.candidate(search, number, &way, costs)?;
            way = way.and_then(next);
        }
        Some(way)
    }

    /// By dynamic programming over the sets of members that are read.
    fn best_order(&mut self, search: &Search<'_>, costs: &mut Costs) -> Option<Way> {
        let mut best: Vec<Option<Way>> = vec![None; 1 << search.members.len()];
        best[0] = Some(Way::default());
        for read in 0..best.len() {
            let Some(way) = best[read].take() else { continue };
            if read + 1 == best.len() {
                return Some(way);
            }
            for next in self.candidates(search, &way, costs) {
                let longer = way.and_then(next);
                let own = &mut best[read | 1 << next.member];
                if own.as_ref().is_none_or(|other| longer.work < other.work) {
                    *own = Some(longer);
                }
            }
        }
        None
    }

    fn greedy_orders(&mut self, search: &Search<'_>, costs: &mut Costs) -> Option<Way> {
        let mut starts = self.candidates(search, &Way::default(), costs);
        starts.sort_by(|left, right| left.rows.total_cmp(&right.rows));
        starts.truncate(STARTS_TRIED);
        let mut best: Option<Way> = None;
        for start in starts {
            let mut way = Way::default().and_then(start);
            while way.order.len() < search.members.len() {
                let nexts = self.candidates(search, &way, costs).into_iter();
                let Some(next) = nexts.min_by(|a, b| a.rows.total_cmp(&b.rows)) else { break };
                way = way.and_then(next);
            }
            let is_whole = way.order.len() == search.members.len();
            if is_whole && best.as_ref().is_none_or(|other| way.work < other.work) {
                best = Some(way);
            }
        }
        best
    }

    /// The members that may be read next: those that a term connects with the ones before, if there are such.
    fn candidates(&mut self, search: &Search<'_>, way: &Way, costs: &mut Costs) -> Vec<Next> {
        let mut nexts = Vec::new();
        for number in 0..search.members.len() {
            if !way.order.contains(&number) {
                nexts.extend(self.candidate(search, number, way, costs));
            }
        }
        let any_connected = nexts.iter().any(|(is_connected, _)| *is_connected);
        nexts.retain(|(is_connected, _)| *is_connected || !any_connected);
        nexts.into_iter().map(|(_, next)| next).collect()
    }

    /// A member as the next one, and whether a term connects it with those before; none if it cannot be read there.
    fn candidate(
        &mut self,
        search: &Search<'_>,
        number: usize,
        way: &Way,
        costs: &mut Costs,
    ) -> Option<(bool, Next)> {
        let is_first = way.order.is_empty();
        if is_first && search.first.is_some_and(|first| first != number) {
            return None;
        }
        let member = &search.members[number];
        let mut placed = vec![false; self.relations.tables.len()];
        way.order.iter().for_each(|member| search.members[*member].mark(&mut placed));
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
        let is_connected = search.terms.iter().flatten().any(connects);
        let order = self.order_of_first(search).filter(|_| is_first);
        let cost = match order {
            Some(order) => self.cost_in_order(member, search.terms, &order)?,
            None => self.cost_of(number, member, search.terms, &placed, costs)?,
        };
        let rows = (way.rows * cost.rows).max(if is_first { 0.1 } else { 1.0 });
        let looked_up = cost.looked_up.map(|rows| way.rows * (LOOKUP_WORK + rows * ROW_WORK));
        let pairs = if is_connected || is_first { way.rows } else { rows };
        // What is kept for a hash join is read whole, whatever the demand.
        let whole = match is_first {
            true => self.share * (cost.whole + pairs),
            false => cost.whole + self.share * pairs,
        };
        let work = looked_up.map_or(whole, |looked_up| whole.min(self.share * looked_up));
        let work = work + self.share * rows * ROW_WORK;
        Some((is_connected, Next { member: number, rows, work }))
    }

    /// The cost of the first member, read in this order; none if no index has the order.
    fn cost_in_order(
        &mut self,
        member: &Member,
        terms: &[Option<(Bound, Vec<bool>)>],
        order: &[(u16, bool)],
    ) -> Option<Cost> {
        match member {
            Member::Relation(relation) => {
                let none = vec![false; self.relations.tables.len()];
                let own = usable_terms(terms, *relation, &none);
                let RelationSource::Table { table, hints } = &self.sources[*relation] else {
                    return None;
                };
                let (table, hints) = (Arc::clone(table), hints.clone());
                let reading = self.ordered_reading(*relation, &table, &hints, &own, order);
                reading.ok().flatten().map(|reading| cost_of_first(&reading))
            }
            Member::Outer(outer) => {
                let [left] = outer.left.members.as_slice() else { return None };
                let terms = self.named_terms(&outer.left.terms);
                let left = self.cost_in_order(left, &terms, order)?;
                Some(joined_cost(outer, left))
            }
        }
    }

    /// The cost of a member whose first relation is read in any order.
    fn cost_of_outer(&mut self, outer: &OuterJoin) -> Cost {
        let left = match outer.left.members.as_slice() {
            [left] => {
                let terms = self.named_terms(&outer.left.terms);
                let none = vec![false; self.relations.tables.len()];
                self.cost_of(0, left, &terms, &none, &mut Costs::default())
            }
            _ => None,
        };
        let unknown = Cost { rows: QUERY_ROWS, looked_up: None, whole: QUERY_ROWS };
        left.map_or(unknown, |left| joined_cost(outer, left))
    }

    fn named_terms(&self, terms: &[Bound]) -> Vec<Option<(Bound, Vec<bool>)>> {
        let named =
            |term: &Bound| Some((term.clone(), self.binder.relations_of(term, self.relations)));
        terms.iter().map(named).collect()
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
        let relation = match member {
            Member::Relation(relation) => *relation,
            Member::Outer(outer) => return Some(self.cost_of_outer(outer)),
        };
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
                        whole: match reading.looked_up && self.prefers_lookups(relation) {
                            true => f64::INFINITY,
                            false => whole.scanned * SCAN_WORK + whole.rows * ROW_WORK,
                        },
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

    /// Is the relation looked up wherever it can be? A scan would lock all of its rows.
    pub(super) fn prefers_lookups(&self, relation: usize) -> bool {
        let switch = self.binder.environment.optimizer_switch;
        self.locks[relation] != Lock::None || !switch.hash_join
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

fn cost_of_first(reading: &Reading) -> Cost {
    Cost {
        rows: reading.rows * reading.kept,
        looked_up: None,
        whole: reading.scanned * SCAN_WORK + reading.rows * ROW_WORK,
    }
}

/// The cost of an outer join whose inner rows are looked up.
fn joined_cost(outer: &OuterJoin, left: Cost) -> Cost {
    let rows = match outer.kind {
        JoinKind::Inner | JoinKind::Left => left.rows,
        JoinKind::Semi | JoinKind::Anti => left.rows * UNPAIRED_SHARE,
    };
    let lookups = left.rows * (LOOKUP_WORK + ROW_WORK);
    Cost { rows, looked_up: None, whole: left.whole + lookups }
}
