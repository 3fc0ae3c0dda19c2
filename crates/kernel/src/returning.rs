//! The purposes for which a node loads its disk, and the rows of a node that comes back to a
//! running cluster (rules.md#rejoin; rule R6).
//!
//! In a cluster restart the rows go into the node's replicas, and the cluster continues with them.
//! A node that comes back loads before it is admitted, and has no replicas yet: it holds
//! *candidates*, rows as committed up to a timestamp at which its logs are closed. When it is
//! admitted as a learner its replicas begin with them, and the primaries report which of them are
//! still valid ([`participant::offer`](crate::participant)). Nothing depends on candidates until
//! then: they may be dropped at any time, for more work.
//!
//! ```text
//!   RegisterNode(NotYet) -> LoadRows -> RegisterNode(Loading) ... -> RegisterNode(Rows | Nothing) -> let in
//!                                          a cluster restart takes the node: dropped, and loaded anew for that
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use protocol::control::ControlState;
use protocol::message;
use types::{Lineage, ShardId, Timestamp};

use crate::node::NodeShared;
use crate::participant::Shard;
use crate::restart::NotLoaded;

pub(crate) struct ToLoad {
    /// It says which tables there are, and what restarts have cut off.
    pub state: Arc<ControlState>,
    /// What was committed up to this.
    pub at: Timestamp,
    /// In a cluster restart: the lineage that ends with it. Its records that are passed over are
    /// lost.
    pub ended: Option<Lineage>,
    /// Of a node that comes back.
    candidates: BTreeMap<ShardId, Mutex<Option<Shard>>>,
}

impl ToLoad {
    pub fn of_restart(state: Arc<ControlState>) -> ToLoad {
        let restart = state.restart.as_ref().expect("the caller is in a restart");
        let (at, ended) = (restart.at, Some(restart.ended));
        ToLoad { state, at, ended, candidates: BTreeMap::new() }
    }

    pub fn is_restart(&self) -> bool {
        self.ended.is_some()
    }

    /// Nothing is done for a shard that is none of the node's.
    pub fn with_candidate(
        &self,
        shard: ShardId,
        load: impl FnOnce(&mut Shard) -> Result<(), NotLoaded>,
    ) -> Result<(), NotLoaded> {
        let Some(candidate) = self.candidates.get(&shard) else { return Ok(()) };
        candidate.lock().as_mut().map_or(Ok(()), load)
    }

    fn has_rows(&self) -> bool {
        let has_rows = |shard: &Shard| {
            shard.tables().values().any(|replica| 0 < replica.partition.row_count())
        };
        self.candidates.values().any(|candidate| candidate.lock().as_ref().is_some_and(has_rows))
    }

    pub fn take(&self, shard: ShardId) -> Option<Shard> {
        self.candidates.get(&shard)?.lock().take()
    }
}

impl NodeShared {
    /// The node is to come back with what its disk had up to `at`. True the first time: the host is to load it.
    pub(crate) fn begin_candidates(&self, state: &ControlState, at: Timestamp) -> bool {
        let mut to_load = self.to_load.lock();
        if to_load.is_some() || self.has_shards() || !state.is_formed() {
            return false;
        }
        let state = Arc::new(state.clone());
        let candidate = |shard: ShardId| {
            let replica = Shard::new(shard, self.node, &state, &self.pool);
            (shard, Mutex::new(Some(replica)))
        };
        let candidates = state.shards_of(self.node).into_iter().map(candidate).collect();
        let loads = ToLoad { state, at, ended: None, candidates };
        *to_load = Some(Arc::new(loads));
        true
    }

    /// The rows of its disk that this boot loaded before it was admitted.
    pub(crate) fn candidates(&self) -> message::Loaded {
        match &*self.to_load.lock() {
            None => message::Loaded::NotYet,
            Some(_) if !self.is_loaded() => message::Loaded::Loading,
            Some(loaded) if loaded.has_rows() => message::Loaded::Rows,
            Some(_) => message::Loaded::Nothing,
        }
    }

    /// The rows cannot be loaded, though they are not damaged. True if the node can do without: others have them, and fill it.
    pub fn do_without(&self) -> bool {
        let to_load = self.to_load.lock();
        let Some(candidates) = to_load.as_ref().filter(|to_load| !to_load.is_restart()) else {
            return false;
        };
        for candidate in candidates.candidates.values() {
            *candidate.lock() = None;
        }
        true
    }

    /// A cluster restart begins with this node. False while it still loads for another purpose; its rows so far are not for this.
    pub(crate) fn drop_candidates(&self) -> bool {
        let mut to_load = self.to_load.lock();
        if to_load.as_ref().is_none_or(|to_load| to_load.is_restart()) {
            return true;
        }
        if !self.is_loaded() {
            return false;
        }
        *to_load = None;
        self.forget_loaded();
        true
    }

    /// The node is admitted: the rows with which its replicas begin. None of them is of use if a
    /// cluster restart has cut off rows since.
    pub(crate) fn take_candidates(&self, state: &ControlState) -> Option<Arc<ToLoad>> {
        let mut to_load = self.to_load.lock();
        if to_load.as_ref()?.is_restart() {
            return None;
        }
        let loaded = to_load.take().expect("just seen");
        let is_learner = state.groups.values().any(|group| group.is_learner_with_rows(self.node));
        let is_whole = is_learner && self.is_loaded() && loaded.state.lineage == state.lineage;
        is_whole.then_some(loaded)
    }
}
