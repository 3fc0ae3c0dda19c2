//! The catalogue of messages: one row each. It generates `docs/protocol.md`, and a test compares the two.

use crate::Message;

/// One kind of message: its sender, its receiver, its exchange and its content.
pub struct Entry {
    pub name: &'static str,
    pub from: &'static str,
    pub to: &'static str,
    pub exchange: &'static str,
    pub says: &'static str,
}

macro_rules! catalogue {
    ($($variant:ident: $from:literal -> $to:literal, $exchange:literal, $says:literal;)*) => {
        pub const CATALOGUE: &[Entry] = &[
            $(Entry {
                name: stringify!($variant), from: $from, to: $to, exchange: $exchange, says: $says,
            }),*
        ];

        impl Message {
            /// The name of the message's kind.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Message::$variant(_) => stringify!($variant),)*
                }
            }
        }
    };
}

catalogue! {
    Raft: "voter" -> "voter", "control plane", "a message of the consensus log";
    RegisterNode: "node" -> "voters", "control plane", "this boot asks to be admitted; repeated until it is";
    ChangeSchema: "coordinator" -> "voters", "schema change", "the change wanted; repeated until it is answered";
    ChangeSchemaDone: "leader" -> "coordinator", "schema change", "in the log and adopted by every data node, or refused";
    SchemaAdopted: "node" -> "voters", "schema change", "no transaction here uses an older definition; new indexes are filled, or given up for want of memory";
    ControlCopy: "leader" -> "node", "control plane", "the control state, for a node that is no voter";
    NodeDead: "node" -> "voters", "views", "this boot of a node is over; repeated until it is excluded";
    LearnerReady: "primary" -> "voters", "control plane", "the learner holds this shard, and no commit is decided without it; repeated until it is promoted";
    Excluded: "node" -> "node", "views", "your boot is over: end; not numbered";
    Alive: "node" -> "node", "views", "the sender lives; the nodes that it does not hear, those that hang, the distance of each; the room and backlog of its disk, its free memory; not numbered";
    LeaseGranted: "leader" -> "node", "views", "the receiver may answer reads, for the length of a lease after the Alive that this answers; not numbered";
    MemoryLeft: "node" -> "members", "views", "the sender's free memory for rows, and the memory that its open transactions will take at other members; not numbered, and in Alive, too";
    Probe: "worker" -> "worker", "views", "no content: the delay of its acknowledgement is the distance of the receiver";
    StopNode: "node" -> "node", "handover", "the operator wants you to stop, and perhaps to start again";
    AskLeave: "node" -> "voters", "handover", "this data node is to stop; repeated until it is out of its group";
    Handover: "worker" -> "node, voters", "handover", "a step: transactions that had begun have ended, and none begins";
    RowsLoaded: "node" -> "voters", "cluster restart", "the rows are loaded from the disk: durations, and the commits passed over; repeated until views are formed";
    LoadRows: "leader" -> "node", "control plane", "load the rows of your disk before you are admitted: your group lives, and compares them";
    Execute: "coordinator" -> "replica", "execution", "operations on one shard; with commit set, the whole transaction";
    ExecuteOk: "replica" -> "coordinator", "execution", "the results, and how far the commit got";
    ExecuteRefused: "replica" -> "coordinator", "execution", "why not; the statement is undone here";
    Undo: "coordinator" -> "primary", "execution", "undo the writes of a statement";
    UndoOk: "primary" -> "coordinator", "execution", "undone";
    Prepare: "coordinator" -> "primary", "commit", "make the shard's part ready, all but home's";
    PrepareOk: "primary" -> "coordinator", "commit", "every member holds the PREPARE, or does when you hold it";
    Commit: "coordinator" -> "primary", "commit", "commit the only shard written to, or home";
    CommitOk: "primary" -> "coordinator", "commit", "decided, or decided when you hold the record";
    Decide: "coordinator" -> "primary", "commit", "the end on this shard: a timestamp, or rolled back";
    Cancel: "coordinator" -> "replica", "execution", "give up a request that waits";
    TransactionUnknown: "primary" -> "coordinator", "commit", "the transaction is gone here";
    AskOutcome: "coordinator" -> "primary", "takeover", "whether the commit that the dead primary had to make is in the log";
    Outcome: "primary" -> "coordinator", "takeover", "committed, not and never, or forgotten";
    AskDecision: "primary" -> "primary", "takeover", "home, how was this decided; answered by Decide, or not yet";
    Replicate: "primary" -> "backup", "replication", "one record of the shard's log";
    ReplicateOk: "backup" -> "primary", "replication", "every record up to here is held; the timestamps given";
    CommitIndex: "primary" -> "backup", "replication", "all members hold the records up to here (replicas >= 3)";
    JoinMarker: "primary" -> "learner", "replication", "the log that follows begins here";
    OfferAnswer: "learner" -> "primary", "replication", "of the rows whose sums you have offered these differ: copy them";
    AskTail: "heir" -> "member", "takeover", "send what you hold of the dead primary's log and I do not (replicas >= 3)";
    Tail: "member" -> "heir", "takeover", "that was it: my log ends here (replicas >= 3)";
    SnapshotRequest: "worker" -> "sequencer", "timestamps", "a snapshot timestamp is needed";
    SnapshotGranted: "sequencer" -> "worker", "timestamps", "the snapshot timestamp";
    TimestampRequest: "worker" -> "sequencer", "timestamps", "commit timestamps are needed; all locks are held";
    TimestampGranted: "sequencer" -> "worker", "timestamps", "the first of the timestamps requested";
    HorizonReport: "worker" -> "sequencer", "garbage", "the oldest open snapshot here";
    HorizonAdvanced: "sequencer" -> "node", "garbage", "no snapshot below this is or will be open";
    CloseLogs: "sequencer" -> "owner", "global checkpoint", "write into the logs you lead that they are closed at this timestamp";
    LogsClosed: "owner" -> "sequencer", "global checkpoint", "they are; and these nodes are to hold it on their disks";
    LogsDurable: "owner" -> "sequencer", "global checkpoint", "this worker's disk holds the closed logs";
    AwaitCheckpoint: "coordinator" -> "sequencer", "global checkpoint", "a client waits for a checkpoint that begins from now on";
    CheckpointDone: "sequencer" -> "worker", "global checkpoint", "all disks hold every commit up to this timestamp";
    WaitEdges: "worker" -> "detector", "deadlock", "the waits between transactions on the sender's shards";
    BreakDeadlock: "detector" -> "coordinator", "deadlock", "this transaction is the victim";
    DeadlockFound: "primary" -> "detector", "deadlock", "a circle within a shard, broken there: remember it";
    DeadlockQuery: "detector" -> "coordinator", "deadlock", "whose transactions are these";
    DeadlockAnswer: "coordinator" -> "detector", "deadlock", "their connections and statements";
    ReportRequest: "node" -> "node", "reports", "report your state; or make your part of a backup, and report its progress";
    ReportAnswer: "node" -> "node", "reports", "memory, partitions, status, sessions, locks, transactions, deadlocks, or a backup";
}

/// The page `docs/protocol.md`.
pub fn markdown() -> String {
    let mut page = String::from(
        "# Messages between nodes\n\n\
         Generated from `crates/protocol/src/catalogue.rs`; a test fails when the two differ. Every message\n\
         travels in an envelope that names cluster, restart lineage, sender, receiver, the sender's boot, its\n\
         place in the channel, node group and view (`crates/protocol/src/envelope.rs`), and is refused when\n\
         one of them is wrong.\n\n\
         | message | from | to | exchange | says |\n|---|---|---|---|---|\n",
    );
    for entry in CATALOGUE {
        page.push_str(&format!(
            "| {} | {} | {} | {} | {} |\n",
            entry.name, entry.from, entry.to, entry.exchange, entry.says
        ));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The generated page is the one in the repository. Run with SKARV_UPDATE=1 to write it.
    #[test]
    fn the_page_in_docs_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocol.md");
        if std::env::var_os("SKARV_UPDATE").is_some() {
            std::fs::write(path, markdown()).expect("docs can be written");
        }
        let page = std::fs::read_to_string(path).expect("docs/protocol.md exists");
        assert_eq!(
            page,
            markdown(),
            "run this test with SKARV_UPDATE=1 and commit docs/protocol.md"
        );
    }
}
