//! What two workers of a node can do at the same time, which no simulated world shows: there one step follows another.

use protocol::control::{ClusterConfig, ControlEntry, HEARTBEAT_MS_DEFAULT, NodeConfig};
use protocol::message::SnapshotGranted;
use types::{ClusterId, Home, Timestamp};

use super::*;
use crate::node::{Boot, MemoryJournal};

const MEMORY_LIMIT_BYTES: u64 = 16 << 20;
/// A shard that is found busy so often in a row is not busy with one handler.
const LOOKS: u32 = 10_000;

/// A voter and two data nodes with the same rows.
fn config() -> ClusterConfig {
    let node = |id| NodeConfig { id: NodeId(id), voter: id == 1, data: id > 1, workers: 2 };
    ClusterConfig {
        cluster: ClusterId(7),
        nodes: [1, 2, 3].map(node).to_vec(),
        replicas: 2,
        shards_per_group: 4,
        heartbeat_ms: HEARTBEAT_MS_DEFAULT,
        durability: protocol::control::Durability::default(),
    }
}

fn boot_of(node: NodeId) -> Incarnation {
    Incarnation(node.0.into())
}

fn registered(node: NodeId) -> ControlEntry {
    let home = Home(node.0.into());
    ControlEntry::RegisterNode { node, incarnation: boot_of(node), home, has_rows: false }
}

/// Node 3, where views are formed, and the control state that excludes node 2.
fn node_and_exclusion() -> (Arc<NodeShared>, ControlState) {
    let (here, other) = (NodeId(3), NodeId(2));
    let boot = Boot {
        node: here,
        incarnation: boot_of(here),
        home: Home(3),
        journal: Arc::new(MemoryJournal::default()),
        store: None,
    };
    let mutation = Mutation::default();
    let node = NodeShared::new(boot, config(), MEMORY_LIMIT_BYTES, mutation).expect("no disk");
    let mut state = (*node.state()).clone();
    for id in [other, here] {
        crate::control::state::apply(&mut state, &registered(id));
    }
    node.publish(Arc::new(state.clone()));
    let exclude = ControlEntry::ExcludeNode { node: other, incarnation: boot_of(other) };
    crate::control::state::apply(&mut state, &exclude);
    (node, state)
}

fn second_worker(node: &Arc<NodeShared>) -> Kernel {
    let channel = crate::ChannelConfig::new(1_000_000);
    let config = KernelConfig { worker: WorkerId(1), seed: 1, channel };
    Kernel::new(config, Arc::clone(node), 0)
}

/// A worker hears that the other node is excluded while another handles something on a shard. Until that is done no shard is led here:
/// what is read and committed on one that is would be so in the new epoch, and those that are not would still take stamps of the old.
#[test]
fn views_change_on_all_shards_at_once() {
    let (node, excluded) = node_and_exclusion();
    let state = node.state();
    let led_by_other: Vec<ShardId> =
        state.shards().filter(|shard| state.primary(*shard) == NodeId(2)).collect();
    let [rest @ .., handled] = &led_by_other[..] else { panic!("it leads its share") };
    assert!(!rest.is_empty());
    let mut kernel = second_worker(&node);
    node.publish(Arc::new(excluded));
    let is_led = |shard: &ShardId| node.shard(*shard).expect("a replica").is_primary();
    let handler = node.shard(*handled).expect("a replica");
    std::thread::scope(|scope| {
        let hears = scope.spawn(move || {
            kernel.step(1, Input::Rest, &mut Outbox::default());
        });
        // It comes to wait for the handler, and others for it.
        let waits = |shard: &ShardId| match node.try_shard(*shard) {
            Some(replica) => {
                assert!(!replica.is_primary(), "{shard} is led here, and {handled} is not");
                false
            }
            None => true,
        };
        let mut waited = 0;
        while waited < LOOKS {
            waited = if rest.iter().all(waits) { waited + 1 } else { 0 };
            std::thread::yield_now();
        }
        drop(handler);
        hears.join().expect("no panic");
    });
    assert!(led_by_other.iter().all(is_led));
}

/// A message has been accepted, and its sender is excluded before it is handled: that it is not any more, as it may answer what others
/// are asked by now. (This one would be a grant that nobody asked for.)
#[test]
fn nothing_is_handled_of_a_boot_that_is_over_since_it_came() {
    let (node, excluded) = node_and_exclusion();
    let mut kernel = second_worker(&node);
    let address = Address { node: NodeId(2), worker: WorkerId(0) };
    let from = Origin { address, boot: boot_of(NodeId(2)) };
    let granted = Message::SnapshotGranted(SnapshotGranted { request: 9, at: Timestamp::ZERO });
    kernel.on_arrived(Arrived { from, group: NO_GROUP, view: View(0) }, granted);
    assert_eq!(kernel.queue.len(), 1);
    node.publish(Arc::new(excluded));
    kernel.run_queue(1, &mut Outbox::default());
    assert!(kernel.queue.is_empty());
}
