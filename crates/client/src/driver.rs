//! The client's other side: what its driver (the worker's loop, or the simulator) feeds it and takes from it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};

use protocol::control::ControlState;
use protocol::request::{LocalRows, Reply, Request, SessionId};
use protocol::restart::RestartReport;
use types::contain::{Panicked, contain, outside};
use types::hash::{bucket_of, hash64};
use types::{Catalogue, CommitId, GroupId, Lineage, NodeId, ShardId, Table, TableId};

use crate::compute::Computers;
use crate::lock_queue::LockQueue;
use crate::sequence::Sequence;
use crate::server_files::{KeptFiles, ServerFiles};
use crate::session::Session;
use crate::temp_files::{MemoryFiles, TempFiles};

/// The native API of one worker. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Rc<Shared>,
}

pub(crate) struct Shared {
    node: NodeId,
    rows: Arc<dyn LocalRows>,
    requests: RefCell<VecDeque<(SessionId, Request)>>,
    replies: RefCell<BTreeMap<SessionId, Slot>>,
    session_last: Cell<u64>,
    /// Batches of requests and reads that sessions have sent to the shards.
    batch_count: Cell<u64>,
    /// Requests and reads of all sessions until now.
    request_count: Cell<u64>,
    /// Those of sessions that work in the background.
    background_count: Cell<u64>,
    state: RefCell<Arc<ControlState>>,
    catalogue: RefCell<Arc<Catalogue>>,
    /// Unix time and the driver's monotonic clock, in microseconds, as of the input at hand.
    unix_micros: Cell<i64>,
    now: Cell<u64>,
    timers: RefCell<BTreeMap<(u64, u64), Waker>>,
    timer_last: Cell<u64>,
    random: Cell<u64>,
    computers: RefCell<Option<Arc<dyn Computers>>>,
    pub(crate) temp_files: RefCell<Arc<dyn TempFiles>>,
    pub(crate) server_files: RefCell<Arc<dyn ServerFiles>>,
    pub(crate) sequences: RefCell<BTreeMap<TableId, Sequence>>,
    /// Those that wait for user-level locks, by name.
    pub(crate) lock_queues: RefCell<BTreeMap<String, LockQueue>>,
    /// The lineage and the number of boots that were over when rows of such locks were removed.
    pub(crate) locks_purged: Cell<(Lineage, usize)>,
}

#[derive(Default)]
struct Slot {
    reply: Option<Reply>,
    waker: Option<Waker>,
}

/// Where a shard is kept.
#[derive(Clone, Debug)]
pub struct ShardPlacement {
    pub shard: ShardId,
    pub group: GroupId,
    pub primary: NodeId,
    pub members: Vec<NodeId>,
}

impl Client {
    /// `seed` feeds `random_u64`: RAND(), UUID().
    pub fn new(
        node: NodeId,
        state: Arc<ControlState>,
        rows: Arc<dyn LocalRows>,
        seed: u64,
    ) -> Client {
        let catalogue = Arc::new(state.catalogue.clone());
        let shared = Shared {
            node,
            rows,
            requests: RefCell::new(VecDeque::new()),
            replies: RefCell::new(BTreeMap::new()),
            session_last: Cell::new(0),
            batch_count: Cell::new(0),
            request_count: Cell::new(0),
            background_count: Cell::new(0),
            state: RefCell::new(state),
            catalogue: RefCell::new(catalogue),
            unix_micros: Cell::new(0),
            now: Cell::new(0),
            timers: RefCell::new(BTreeMap::new()),
            timer_last: Cell::new(0),
            random: Cell::new(seed),
            computers: RefCell::new(None),
            temp_files: RefCell::new(Arc::new(MemoryFiles::default())),
            server_files: RefCell::new(Arc::new(KeptFiles::default())),
            sequences: RefCell::new(BTreeMap::new()),
            lock_queues: RefCell::new(BTreeMap::new()),
            locks_purged: Cell::default(),
        };
        Client { shared: Rc::new(shared) }
    }

    // For sessions.

    pub fn session(&self) -> Session {
        let id = SessionId(self.shared.session_last.get() + 1);
        self.shared.session_last.set(id.0);
        Session::new(self.clone(), id)
    }
    /// The newest schema this worker knows.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.shared.catalogue.borrow())
    }
    /// Microseconds of Unix time, sampled by the driver when the input at hand arrived.
    pub fn wall_clock_micros(&self) -> i64 {
        self.shared.unix_micros.get()
    }
    /// Microseconds of the driver's monotonic clock.
    pub fn now(&self) -> u64 {
        self.shared.now.get()
    }
    pub fn node(&self) -> NodeId {
        self.shared.node
    }
    /// The control state that this worker acts by.
    pub fn state(&self) -> Arc<ControlState> {
        Arc::clone(&self.shared.state.borrow())
    }
    /// Can the cluster serve (views formed)?
    pub fn is_ready(&self) -> bool {
        self.shared.state.borrow().is_formed()
    }
    /// Is it of a boot and a shard of this cluster?
    pub(crate) fn may_know(&self, commit: &CommitId) -> bool {
        let state = self.shared.state.borrow();
        let CommitId { transaction, shard } = commit;
        let node = transaction.coordinator.node;
        let runs = state.incarnations.get(&node) == Some(&transaction.incarnation);
        let is_known = runs || state.is_over(transaction.incarnation);
        is_known && shard.0 < state.shard_count()
    }
    /// The report of the last cluster restart; none if there was none.
    pub fn restarted(&self) -> Option<RestartReport> {
        self.shared.state.borrow().restarted.clone()
    }
    pub fn shard_of(&self, primary_key: &[u8]) -> ShardId {
        self.shared.state.borrow().shard_of(bucket_of(hash64(primary_key)))
    }
    /// Shows the row with this primary key as it is committed now, if this node can tell at once; see [`LocalRows`]. The
    /// read holds a lock of the node, so it is outside of the statement's boundary, and `visit` inside again.
    pub fn read_latest(
        &self,
        table: &Table,
        primary_key: &[u8],
        visit: &mut dyn FnMut(Option<&[u8]>),
    ) -> bool {
        self.count_request();
        let state = self.shared.state.borrow();
        let mut viewed = Ok(());
        let mut visit_contained = |row: Option<&[u8]>| viewed = contain(|| visit(row));
        let rows = &self.shared.rows;
        let now = self.now();
        let is_shown =
            outside(|| rows.read_latest(&state, table, primary_key, now, &mut visit_contained));
        drop(state);
        viewed.unwrap_or_else(|panicked: Panicked| panicked.resume());
        is_shown
    }
    pub fn shards(&self) -> Vec<ShardPlacement> {
        let state = self.shared.state.borrow();
        let placement = |shard: ShardId| {
            let group = state.group_of(shard);
            ShardPlacement {
                shard,
                group,
                primary: state.primary(shard),
                members: state.group(group).members.iter().map(|member| member.node).collect(),
            }
        };
        state.shards().map(placement).collect()
    }
    /// The next number of a generator that the driver seeded (splitmix64).
    pub fn random_u64(&self) -> u64 {
        let state = self.shared.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.shared.random.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
    /// Completes after `ms` milliseconds.
    pub async fn sleep_ms(&self, ms: u64) {
        self.sleep_us(ms.saturating_mul(1_000)).await;
    }
    pub(crate) async fn sleep_us(&self, us: u64) {
        let deadline = self.now().saturating_add(us);
        let number = self.shared.timer_last.get() + 1;
        self.shared.timer_last.set(number);
        let timer = Timer { shared: Rc::clone(&self.shared), key: (deadline, number) };
        std::future::poll_fn(|context| {
            if timer.shared.now.get() >= deadline {
                return Poll::Ready(());
            }
            let mut timers = timer.shared.timers.borrow_mut();
            timers.insert(timer.key, context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    pub(crate) fn computers(&self) -> Option<Arc<dyn Computers>> {
        self.shared.computers.borrow().clone()
    }

    // For the driver.

    /// Where long computations run from now on.
    pub fn set_computers(&self, computers: Arc<dyn Computers>) {
        *self.shared.computers.borrow_mut() = Some(computers);
    }
    pub fn set_clock(&self, unix_micros: i64, now: u64) {
        self.shared.unix_micros.set(unix_micros);
        self.shared.now.set(now);
    }
    /// Wakes the tasks whose time has come.
    pub fn wake_timers(&self) {
        let now = self.now();
        let mut timers = self.shared.timers.borrow_mut();
        while let Some(first) = timers.first_entry() {
            if first.key().0 > now {
                break;
            }
            first.remove().wake();
        }
    }
    /// When `wake_timers` is to be called next, by the driver's monotonic clock.
    pub fn next_deadline(&self) -> Option<u64> {
        self.shared.timers.borrow().first_key_value().map(|((deadline, _), _)| *deadline)
    }
    /// The next request for this worker's kernel.
    pub fn take_request(&self) -> Option<(SessionId, Request)> {
        self.shared.requests.borrow_mut().pop_front()
    }
    /// The kernel's reply to a session; one that has been dropped meanwhile does not hear it.
    pub fn deliver(&self, session: SessionId, reply: Reply) {
        if let Some(slot) = self.shared.replies.borrow_mut().get_mut(&session) {
            assert!(slot.reply.is_none(), "one reply a request");
            slot.reply = Some(reply);
            if let Some(waker) = slot.waker.take() {
                waker.wake();
            }
        }
    }
    pub fn set_state(&self, state: Arc<ControlState>) {
        if self.shared.catalogue.borrow().version != state.catalogue.version {
            *self.shared.catalogue.borrow_mut() = Arc::new(state.catalogue.clone());
        }
        *self.shared.state.borrow_mut() = state;
    }

    // For Session.

    pub(crate) fn open(&self, session: SessionId) {
        self.shared.replies.borrow_mut().insert(session, Slot::default());
    }
    pub(crate) fn close(&self, session: SessionId) {
        self.shared.replies.borrow_mut().remove(&session);
        self.post(session, Request::Close);
    }
    fn count_request(&self) {
        self.shared.request_count.set(self.shared.request_count.get() + 1);
    }
    pub(crate) fn request_count(&self) -> u64 {
        self.shared.request_count.get()
    }
    pub(crate) fn count_background_request(&self) {
        self.shared.background_count.set(self.shared.background_count.get() + 1);
    }
    /// Requests and reads of sessions that do not work in the background.
    pub(crate) fn foreground_count(&self) -> u64 {
        self.shared.request_count.get() - self.shared.background_count.get()
    }
    /// Batches of operations of all sessions of this worker so far. Each goes to all shards that it concerns at once: it takes
    /// one round trip.
    pub fn batch_count(&self) -> u64 {
        self.shared.batch_count.get()
    }
    pub(crate) fn post(&self, session: SessionId, request: Request) {
        self.count_request();
        if matches!(request, Request::Execute(_)) {
            self.shared.batch_count.set(self.shared.batch_count.get() + 1);
        }
        self.shared.requests.borrow_mut().push_back((session, request));
    }
    pub(crate) async fn reply(&self, session: SessionId) -> Reply {
        std::future::poll_fn(|context| {
            let mut replies = self.shared.replies.borrow_mut();
            let slot = replies.get_mut(&session).expect("the session is open");
            match slot.reply.take() {
                Some(reply) => Poll::Ready(reply),
                None => {
                    slot.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

/// Takes its entry back when the sleeper is dropped.
struct Timer {
    shared: Rc<Shared>,
    key: (u64, u64),
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.shared.timers.borrow_mut().remove(&self.key);
    }
}
