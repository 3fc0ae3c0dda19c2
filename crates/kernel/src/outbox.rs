//! What the steps of a worker ask of its host.

use std::sync::Arc;

use protocol::control::ControlState;
use protocol::request::{Reply, SessionId};
use types::{Address, WorkerId};

use crate::worker::LocalMessage;

/// What a step asks its host to do.
#[derive(Default)]
pub struct Outbox {
    /// Bytes for the link to a worker of another node: frames, each behind its length (u32, little endian).
    pub frames: Vec<(Address, Arc<Vec<u8>>)>,
    pub local: Vec<(WorkerId, LocalMessage)>,
    pub replies: Vec<(SessionId, Reply)>,
    /// Refused frames and the like, for the node's log: what happened and what to do.
    pub log: Vec<String>,
    /// The cluster starts again, or this node comes back, with what its disk holds: each part is to be loaded
    /// ([`crate::NodeShared::load_part`]).
    pub load: bool,
    /// The control state this worker acts by is newer than at the step before.
    pub state: Option<Arc<ControlState>>,
    /// The process must end, whatever it is about.
    pub ends: Option<ProcessEnd>,
    /// The node is to hand over and stop, and, if true, to start again.
    pub stop: Option<bool>,
    /// This boot is out of the cluster, as it was asked to be by [`crate::Input::Leave`]: nothing waits for the process any more.
    pub has_left: bool,
    /// What was committed here before [`crate::Input::Rest`] is on all disks.
    pub has_rested: bool,
}

/// Why a process must end. Each says what happened, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// This boot is none of the cluster's any more.
    Excluded(String),
    /// A learner was given more than its memory holds.
    LacksMemory(String),
}

impl ProcessEnd {
    pub fn why(&self) -> &str {
        let (ProcessEnd::Excluded(why) | ProcessEnd::LacksMemory(why)) = self;
        why
    }
}
