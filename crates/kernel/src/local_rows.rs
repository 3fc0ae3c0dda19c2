//! Plain reads of one row past the door: see [`LocalRows`] and decision 6.
//!
//! The rule is that of any read of the latest version: each active member's replica may answer,
//! because no commit is acknowledged before all members hold it, a commit not known to be decided
//! is not answered here, and this node is still a member while it has a lease. The exception is a
//! node that is leaving: it is out of its group, with its consent, while it still has a lease, and
//! may learn of that last. Its reads go through the door, which holds them back from before then.

use protocol::control::ControlState;
use protocol::request::LocalRows;
use types::Table;
use types::hash::{bucket_of, hash64};

use crate::node::NodeShared;

impl LocalRows for NodeShared {
    fn read_latest(
        &self,
        state: &ControlState,
        table: &Table,
        key: &[u8],
        now: u64,
        visit: &mut dyn FnMut(Option<&[u8]>),
    ) -> bool {
        self.note_use(now);
        let known = state.catalogue.tables.get(&table.id);
        let is_current =
            known.is_some_and(|known| known.version == table.version && known.is_open());
        is_current
            && state.is_formed()
            && self.has_lease(now)
            && !self.is_leaving()
            && self
                .try_shard(state.shard_of(bucket_of(hash64(key))))
                .is_some_and(|mut replica| replica.show_latest(table, key, visit))
    }
}
