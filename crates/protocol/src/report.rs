//! What nodes tell about themselves: for `skarv desc`, `skarv mgm` and SHOW.

use types::{NodeId, ShardId, TableId, View, wire_enum, wire_struct};

#[derive(Clone, Debug)]
pub enum ReportRequest {
    Memory,
    Partitions { table: TableId },
    Status,
}
wire_enum!(ReportRequest { 0 => Memory, 1 => Partitions { table }, 2 => Status });

#[derive(Clone, Debug)]
pub enum Report {
    Memory(MemoryReport),
    Partitions(Vec<PartitionReport>),
    Status(NodeStatus),
    /// The node did not answer in time.
    Unreachable,
}
wire_enum!(Report { 0 => Memory(memory), 1 => Partitions(partitions), 2 => Status(status), 3 => Unreachable });

#[derive(Clone, Debug, Default)]
pub struct MemoryReport {
    pub used_bytes: u64,
    pub limit_bytes: u64,
    /// (table id, "database.table", rows of all its replicas here, bytes), in order of ids.
    pub tables: Vec<TableMemory>,
}
wire_struct!(MemoryReport { used_bytes, limit_bytes, tables });

#[derive(Clone, Debug)]
pub struct TableMemory {
    pub table: TableId,
    pub name: String,
    pub rows: u64,
    pub bytes: u64,
}
wire_struct!(TableMemory { table, name, rows, bytes });

/// One replica of one partition.
#[derive(Clone, Debug)]
pub struct PartitionReport {
    pub shard: ShardId,
    pub node: NodeId,
    pub primary: bool,
    pub rows: u64,
    pub bytes: u64,
    /// Order-free over keys, rows and commit timestamps: equal on all replicas at quiescence.
    pub checksum: u64,
}
wire_struct!(PartitionReport { shard, node, primary, rows, bytes, checksum });

#[derive(Clone, Debug)]
pub struct NodeStatus {
    pub node: NodeId,
    pub state: NodeState,
    pub view: View,
    pub control_leader: bool,
    pub sequencer: bool,
    pub uptime_seconds: u64,
    pub transactions_open: u64,
    pub locks_held: u64,
    pub commits: u64,
    pub aborts: u64,
    pub messages_sent: u64,
}
wire_struct!(NodeStatus {
    node,
    state,
    view,
    control_leader,
    sequencer,
    uptime_seconds,
    transactions_open,
    locks_held,
    commits,
    aborts,
    messages_sent,
});

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    Starting,
    Started,
    /// In the configuration, not heard of.
    Down,
}
wire_enum!(NodeState { 0 => Starting, 1 => Started, 2 => Down });
