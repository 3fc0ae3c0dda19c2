//! The deterministic state machine of a node: one [`Kernel`] a worker.
//!
//! One door in, one list out: [`Kernel::step`] takes what happened (a frame from a peer, a request of a session, a
//! message of another worker, time) and fills an [`Outbox`]. Handlers run to completion and never wait: what must wait is
//! recorded and taken up when its cause arrives. No socket, file, clock, thread or unseeded randomness is in scope, so
//! the same kernels run on real workers and, a whole cluster at once, in the simulator.
//!
//! The blocks are protocol roles, and meet in `protocol` only:
//!
//! - [`control`]: the Raft log and the state it makes: membership, views, placement, schema (worker 0).
//! - [`coordinator`]: runs the transactions of this worker's sessions.
//! - [`participant`]: executes operations on shards, commits and replicates them.
//! - [`sequencer`]: snapshot and commit timestamps, and the horizon below which versions go.
//! - [`deadlock`]: finds cycles of waiting transactions across shards and nodes.
//! - [`report`]: what the node tells about itself.
//!
//! The host's duties: deliver each frame to the worker it names; call `step` with [`Input::Tick`] when
//! [`Kernel::wake_at`] has come; sample `now` after an input is taken and before `step` (rule R3).

pub mod channel;
pub mod checkpoint;
pub mod control;
pub mod coordinator;
pub mod deadlock;
mod handover;
pub mod limits;
mod local_checkpoint;
mod local_rows;
mod memory;
mod node;
mod outbox;
mod pace;
pub mod participant;
mod replay;
mod report;
mod restart;
mod returning;
pub mod sequencer;
mod store;
mod worker;

pub use channel::ChannelConfig;
pub use node::{
    Boot, Journal, MemoryJournal, Mutation, NodeShared, NodeStatistics, bootstrap_catalogue,
};
pub use outbox::{Outbox, ProcessEnd};
pub use replay::{PassedOver, Replay, Rows};
pub use restart::{NotLoaded, PartLoaded, Span, Survey};
pub use store::{CheckpointFound, MemoryStore, Store, Visit, VisitBlock};
pub use worker::{Context, Input, Kernel, KernelConfig, LocalMessage, Time};
