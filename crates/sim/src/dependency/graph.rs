//! The graph of what must be before what, and the circles in it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use super::units::Unit;
use super::versions::Versions;
use super::{Element, Object, Order};

/// Why one unit is before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// With the elements of both.
    WriteWrite(Object, Element, Element),
    WriteRead(Object, Element),
    /// With the element that was not there yet.
    ReadWrite(Object, Element),
    /// Parts of one transaction.
    Within,
    Session,
    /// With the events of the end and of the beginning.
    RealTime(u64, u64),
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::WriteWrite(object, before, after) => {
                write!(out, "write-write: {before} then {after} in object {object}")
            }
            Kind::WriteRead(object, element) => {
                write!(out, "write-read: object {object} ends with {element}")
            }
            Kind::ReadWrite(object, element) => {
                write!(out, "read-write: object {object} without {element}")
            }
            Kind::Within => write!(out, "within the transaction"),
            Kind::Session => write!(out, "session"),
            Kind::RealTime(returned, called) => {
                write!(out, "realtime: answered at {returned}, called at {called}")
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub to: usize,
    pub kind: Kind,
}

/// A set of kinds of edges.
type Kinds = u8;
const WRITE_WRITE: Kinds = 1;
const WRITE_READ: Kinds = 2;
const READ_WRITE: Kinds = 4;
const WITHIN: Kinds = 8;
const SESSION: Kinds = 16;
const REAL_TIME: Kinds = 32;
const ALL: Kinds = 63;

impl Edge {
    fn is(&self, kinds: Kinds) -> bool {
        let own = match self.kind {
            Kind::WriteWrite(..) => WRITE_WRITE,
            Kind::WriteRead(..) => WRITE_READ,
            Kind::ReadWrite(..) => READ_WRITE,
            Kind::Within => WITHIN,
            Kind::Session => SESSION,
            Kind::RealTime(..) => REAL_TIME,
        };
        own & kinds != 0
    }
}

/// The circles by name, the plainest first: one edge of the first set, all others of the second or within a transaction.
const CIRCLES: [(&str, Kinds, Kinds); 4] = [
    ("G0", WRITE_WRITE, WRITE_WRITE),
    ("G1c", WRITE_READ, WRITE_WRITE | WRITE_READ),
    ("G-single", READ_WRITE, WRITE_WRITE | WRITE_READ),
    ("G2", READ_WRITE, WRITE_WRITE | WRITE_READ | READ_WRITE),
];

/// Tries of the search for the shortest circle: a longer one is as wrong.
const TRIES_MAX: usize = 1_000;

pub(super) struct Circle {
    pub name: String,
    /// Each with the unit it leaves; every one ends where the next begins, the last where the first does.
    pub edges: Vec<(usize, Edge)>,
}

pub(super) struct Graph {
    /// By the unit they leave.
    edges: Vec<Vec<Edge>>,
}

impl Graph {
    pub fn new(
        units: &[Unit],
        versions: &Versions,
        order: Order,
        is_in: impl Fn(&Unit) -> bool,
    ) -> Graph {
        let mut graph = Graph { edges: vec![Vec::new(); units.len()] };
        graph.add_data(units, versions, &is_in);
        let included: Vec<usize> = (0..units.len()).filter(|unit| is_in(&units[*unit])).collect();
        graph.add_sessions(units, &included, order != Order::Data);
        if order == Order::RealTime {
            graph.add_real_time(units, &included);
        }
        graph
    }

    fn add(&mut self, from: usize, to: usize, kind: Kind) {
        if from != to {
            self.edges[from].push(Edge { to, kind });
        }
    }

    fn add_data(&mut self, units: &[Unit], versions: &Versions, is_in: impl Fn(&Unit) -> bool) {
        // The unit with the writes of each transaction that has happened.
        let mut writing: BTreeMap<usize, usize> = BTreeMap::new();
        for (number, unit) in units.iter().enumerate().filter(|(_, unit)| unit.is_locked()) {
            writing.insert(unit.transaction, number);
        }
        let writer = |element: &Element| writing[&versions.writers[element].transaction];
        let unseen = |object: &Object| versions.unseen.get(object).map_or(&[][..], Vec::as_slice);
        for (object, order) in &versions.orders {
            for pair in order.windows(2) {
                let kind = Kind::WriteWrite(*object, pair[0], pair[1]);
                self.add(writer(&pair[0]), writer(&pair[1]), kind);
            }
            let Some(last) = order.last() else { continue };
            for element in unseen(object) {
                let kind = Kind::WriteWrite(*object, *last, *element);
                self.add(writer(last), writer(element), kind);
            }
        }
        for (number, unit) in units.iter().enumerate().filter(|(_, unit)| is_in(unit)) {
            for (object, length) in &unit.reads {
                let order = versions.orders.get(object).map_or(&[][..], Vec::as_slice);
                if let Some(last) = order[..*length].last() {
                    self.add(writer(last), number, Kind::WriteRead(*object, *last));
                }
                if let Some(next) = order.get(*length) {
                    self.add(number, writer(next), Kind::ReadWrite(*object, *next));
                } else {
                    for element in unseen(object) {
                        self.add(number, writer(element), Kind::ReadWrite(*object, *element));
                    }
                }
            }
        }
    }

    /// Each unit is before the next of its transaction and, if asked for, of its session.
    fn add_sessions(&mut self, units: &[Unit], included: &[usize], sessions: bool) {
        let mut last: BTreeMap<u64, usize> = BTreeMap::new();
        for number in included {
            let unit = &units[*number];
            let Some(before) = last.insert(unit.session, *number) else { continue };
            if units[before].transaction == unit.transaction {
                self.add(before, *number, Kind::Within);
            } else if sessions && units[before].returned.is_some() {
                self.add(before, *number, Kind::Session);
            }
        }
    }

    /// Sparse: a unit is before those that are called after its end, but only until one of these has ended, too. The
    /// others follow from that. So there are about as many edges a unit as there are units under way at a time.
    fn add_real_time(&mut self, units: &[Unit], included: &[usize]) {
        let mut events: Vec<(u64, bool, usize)> = Vec::with_capacity(2 * included.len());
        for number in included {
            let unit = &units[*number];
            events.push((unit.called, true, *number));
            if let Some(returned) = unit.returned {
                assert!(unit.called < returned, "{unit} is answered before it is called");
                events.push((returned, false, *number));
            }
        }
        events.sort_unstable();
        // Units that have ended, and have no edge yet to one that has.
        let mut frontier: Vec<usize> = Vec::new();
        for (_, is_call, number) in events {
            if is_call {
                for before in &frontier {
                    let returned = units[*before].returned.expect("it is in the frontier");
                    let kind = Kind::RealTime(returned, units[number].called);
                    self.add(*before, number, kind);
                }
            } else {
                let called = units[number].called;
                frontier.retain(|before| {
                    let returned = units[*before].returned.expect("it is in the frontier");
                    called < returned
                });
                frontier.push(number);
            }
        }
    }

    /// The plainest kind of circle there is, and a short one of it.
    pub fn find_circle(&self) -> Option<Circle> {
        let components = self.components(ALL);
        let has_circle =
            self.edges.iter().enumerate().any(|(from, edges)| {
                edges.iter().any(|edge| components[from] == components[edge.to])
            });
        if !has_circle {
            return None;
        }
        for (suffix, order) in [("", 0), ("-session", SESSION), ("-realtime", SESSION | REAL_TIME)]
        {
            for (name, first, others) in CIRCLES {
                if let Some(edges) = self.find(first, others | WITHIN | order) {
                    return Some(Circle { name: format!("{name}{suffix}"), edges });
                }
            }
        }
        panic!("a circle without data: sessions and time go forward only");
    }

    fn find(&self, first: Kinds, others: Kinds) -> Option<Vec<(usize, Edge)>> {
        let components = self.components(first | others);
        let starts = self.edges.iter().enumerate().flat_map(|(from, edges)| {
            let own = components[from];
            let components = &components;
            let inside = move |edge: &&Edge| edge.is(first) && components[edge.to] == own;
            edges.iter().filter(inside).map(move |edge| (from, *edge))
        });
        let mut shortest: Option<Vec<(usize, Edge)>> = None;
        for (from, edge) in starts.take(TRIES_MAX) {
            let Some(mut path) = self.path(edge.to, from, others, &components) else { continue };
            path.insert(0, (from, edge));
            if shortest.as_ref().is_none_or(|shortest| path.len() < shortest.len()) {
                shortest = Some(path);
            }
            if shortest.as_ref().is_some_and(|shortest| shortest.len() == 2) {
                break;
            }
        }
        shortest
    }

    /// A shortest path, breadth first.
    fn path(
        &self,
        source: usize,
        target: usize,
        kinds: Kinds,
        components: &[usize],
    ) -> Option<Vec<(usize, Edge)>> {
        let mut reached_by: BTreeMap<usize, (usize, Edge)> = BTreeMap::new();
        let mut next = VecDeque::from([source]);
        while let Some(unit) = next.pop_front() {
            if unit == target {
                break;
            }
            let inside = |edge: &&Edge| edge.is(kinds) && components[edge.to] == components[source];
            for edge in self.edges[unit].iter().filter(inside) {
                if edge.to != source && !reached_by.contains_key(&edge.to) {
                    reached_by.insert(edge.to, (unit, *edge));
                    next.push_back(edge.to);
                }
            }
        }
        let mut path = Vec::new();
        let mut unit = target;
        while unit != source {
            let step = *reached_by.get(&unit)?;
            path.push(step);
            unit = step.0;
        }
        path.reverse();
        Some(path)
    }

    /// The strongly connected component of every unit, by these kinds of edges: Tarjan's algorithm, without recursion
    /// because a path may be as long as the history.
    fn components(&self, kinds: Kinds) -> Vec<usize> {
        const NONE: usize = usize::MAX;
        let count = self.edges.len();
        let mut index = vec![NONE; count];
        let mut low = vec![0; count];
        let mut component = vec![NONE; count];
        let mut open: Vec<usize> = Vec::new();
        let mut index_next = 0;
        // Units on the way, each with its next edge to follow.
        let mut way: Vec<(usize, usize)> = Vec::new();
        for root in 0..count {
            if index[root] != NONE {
                continue;
            }
            way.push((root, 0));
            while let Some((unit, edge_next)) = way.pop() {
                if edge_next == 0 {
                    index[unit] = index_next;
                    low[unit] = index_next;
                    index_next += 1;
                    open.push(unit);
                }
                let Some(edge) = self.edges[unit].get(edge_next) else {
                    if low[unit] == index[unit] {
                        loop {
                            let member = open.pop().expect("the unit itself is open");
                            component[member] = unit;
                            if member == unit {
                                break;
                            }
                        }
                    }
                    if let Some((before, _)) = way.last() {
                        low[*before] = low[*before].min(low[unit]);
                    }
                    continue;
                };
                way.push((unit, edge_next + 1));
                if !edge.is(kinds) {
                    continue;
                }
                if index[edge.to] == NONE {
                    way.push((edge.to, 0));
                } else if component[edge.to] == NONE {
                    low[unit] = low[unit].min(index[edge.to]);
                }
            }
        }
        component
    }
}
