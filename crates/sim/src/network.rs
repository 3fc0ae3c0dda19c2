//! Links between the workers of different nodes: one connection a pair, which delays, loses, doubles and reorders frames as
//! the world's faults say, is cut and comes back.
//!
//! A connection has a generation: frames of an older one are lost with it. While it is down, sent
//! frames are lost; the kernels' channels send them again when it is up. When the node at one side
//! dies, its connections end: frames under way arrive or are lost, and the connections open again
//! only with its next boot.

use std::collections::BTreeMap;

use kernel::Time;
use types::{Address, NodeId};

use crate::options::Faults;
use crate::random::Random;

#[derive(Debug, Default)]
pub struct Network {
    connections: BTreeMap<(Address, Address), Connection>,
    /// Nothing passes from one node to another.
    blocks: BTreeMap<(NodeId, NodeId), Block>,
    /// The delay added to frames to and from these nodes, and its end.
    slow: BTreeMap<NodeId, (Time, Time)>,
}

#[derive(Debug)]
struct Block {
    until: Time,
    /// What is sent arrives then; else it is lost.
    waits: bool,
}

#[derive(Debug)]
struct Connection {
    state: ConnectionState,
    generation: u64,
    /// When the last frame of each direction (from the smaller address; from the larger) arrives: none passes it unless
    /// reordering is on.
    arrives_last: [Time; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionState {
    Down,
    Up,
    /// A side has died: nothing is sent any more, and frames under way may still arrive, until that side is back.
    Ended,
}

/// A connection that was closed and may be opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionId {
    pub low: Address,
    pub high: Address,
    pub generation: u64,
}

impl Network {
    /// Connects every pair of workers of different nodes. All are down at first.
    pub fn new(workers: &[Address]) -> Network {
        let mut network = Network::default();
        for low in workers {
            for high in workers.iter().filter(|high| low.node < high.node) {
                let state = ConnectionState::Down;
                let connection = Connection { state, generation: 0, arrives_last: [0, 0] };
                network.connections.insert((*low, *high), connection);
            }
        }
        network
    }

    /// The connections that have not ended.
    pub fn ids(&self) -> Vec<ConnectionId> {
        let id = |(pair, connection): (&(Address, Address), &Connection)| ConnectionId {
            low: pair.0,
            high: pair.1,
            generation: connection.generation,
        };
        let connections = self.connections.iter();
        let lasting = connections.filter(|(_, c)| c.state != ConnectionState::Ended);
        lasting.map(id).collect()
    }

    pub fn is_up(&self, id: ConnectionId) -> bool {
        self.connections[&(id.low, id.high)].state == ConnectionState::Up
    }

    /// Nothing that one node sends to the other arrives before that time, if ever.
    pub fn block(&mut self, from: NodeId, to: NodeId, until: Time, waits: bool) {
        self.blocks.insert((from, to), Block { until, waits });
    }
    /// When nothing is in the way of a connection between two nodes any more, if something is.
    pub fn blocked_until(&self, a: NodeId, b: NodeId) -> Option<Time> {
        let blocks = [(a, b), (b, a)].map(|way| self.blocks.get(&way).map(|block| block.until));
        blocks.into_iter().max().flatten()
    }
    pub fn unblock(&mut self, from: NodeId, to: NodeId) {
        self.blocks.remove(&(from, to));
    }

    pub fn slow_down(&mut self, node: NodeId, until: Time, takes: Time) {
        self.slow.insert(node, (until, takes));
    }
    pub fn slow_until(&self) -> Option<Time> {
        self.slow.values().map(|(until, _)| *until).max()
    }
    pub fn go_on(&mut self, node: NodeId) {
        self.slow.remove(&node);
    }

    /// Closes a connection; frames under way on it are lost. Returns the id to open it with.
    pub fn cut(&mut self, id: ConnectionId) -> ConnectionId {
        let connection = self.connections.get_mut(&(id.low, id.high)).expect("ids are of pairs");
        assert_ne!(connection.state, ConnectionState::Ended);
        connection.state = ConnectionState::Down;
        connection.generation += 1;
        ConnectionId { generation: connection.generation, ..id }
    }

    /// Connections that have ended may be opened again, where both sides live.
    pub fn revive(&mut self, is_alive: impl Fn(NodeId) -> bool) -> Vec<ConnectionId> {
        let mut revived = Vec::new();
        for ((low, high), connection) in &mut self.connections {
            let both = is_alive(low.node) && is_alive(high.node);
            if connection.state == ConnectionState::Ended && both {
                connection.state = ConnectionState::Down;
                connection.generation += 1;
                let generation = connection.generation;
                revived.push(ConnectionId { low: *low, high: *high, generation });
            }
        }
        revived
    }

    /// Ends a connection, because a side has died. What is under way on it arrives as planned, or is lost.
    pub fn end(&mut self, id: ConnectionId, arrives: bool) {
        let connection = self.connections.get_mut(&(id.low, id.high)).expect("ids are of pairs");
        assert_ne!(connection.state, ConnectionState::Ended);
        connection.state = ConnectionState::Ended;
        connection.generation += u64::from(!arrives);
    }

    /// Opens a connection, unless it was cut again since, is up or has ended.
    pub fn open(&mut self, id: ConnectionId) -> bool {
        let connection = self.connections.get_mut(&(id.low, id.high)).expect("ids are of pairs");
        let is_down = connection.state == ConnectionState::Down;
        if !is_down || connection.generation != id.generation {
            return false;
        }
        connection.state = ConnectionState::Up;
        connection.arrives_last = [0, 0];
        true
    }

    /// The generation that a frame sent now belongs to, and when it and its duplicates arrive.
    pub fn send(
        &mut self,
        now: Time,
        from: Address,
        to: Address,
        faults: &Faults,
        random: &mut Random,
    ) -> (u64, Vec<Time>) {
        let pair = if from < to { (from, to) } else { (to, from) };
        let connection = self.connections.get_mut(&pair).expect("every pair is connected");
        if connection.state != ConnectionState::Up || random.chance(faults.loss_per_mille) {
            return (connection.generation, Vec::new());
        }
        let block = self.blocks.get(&(from.node, to.node));
        if block.is_some_and(|block| !block.waits) {
            return (connection.generation, Vec::new());
        }
        let earliest = block.map_or(now, |block| block.until.max(now));
        let slow = [from.node, to.node].into_iter().filter_map(|node| self.slow.get(&node));
        let earliest =
            earliest + slow.filter(|(until, _)| now < *until).map(|(_, t)| t).sum::<Time>();
        let arrives_last = &mut connection.arrives_last[usize::from(from > to)];
        let mut arrivals = Vec::with_capacity(1);
        loop {
            let mut arrives = earliest + faults.delay.draw(random);
            if !faults.reorder_within_link {
                arrives = arrives.max(*arrives_last);
                *arrives_last = arrives;
            }
            arrivals.push(arrives);
            if arrivals.len() > 1 || !random.chance(faults.duplicate_per_mille) {
                return (connection.generation, arrivals);
            }
        }
    }

    /// Does a frame of this generation still arrive?
    pub fn delivers(&self, from: Address, to: Address, generation: u64) -> bool {
        let pair = if from < to { (from, to) } else { (to, from) };
        let connection = &self.connections[&pair];
        connection.state != ConnectionState::Down && connection.generation == generation
    }
}

#[cfg(test)]
mod tests {
    use types::WorkerId;

    use super::*;

    /// An ended connection takes nothing any more and never opens; frames under way arrive, or are lost.
    #[test]
    fn ended_connections() {
        let [low, high] = [1, 2].map(|node| Address { node: NodeId(node), worker: WorkerId(0) });
        for arrives in [true, false] {
            let mut network = Network::new(&[low, high]);
            let mut random = Random::new(1);
            let id = network.ids()[0];
            assert!(network.open(id));
            let (generation, arrivals) = network.send(0, low, high, &Faults::NONE, &mut random);
            assert_eq!(arrivals.len(), 1);
            network.end(id, arrives);
            assert_eq!(network.delivers(low, high, generation), arrives);
            assert_eq!(network.send(1, high, low, &Faults::NONE, &mut random).1, []);
            assert!(!network.open(id));
            assert!(!network.is_up(id));
            assert_eq!(network.ids(), []);
        }
    }
}
