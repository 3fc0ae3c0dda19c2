//! State that all connections of a node share: the connections, global variables, counters, accounts.
//!
//! Workers are threads; this is the one structure of the SQL layer they share. Every method takes a lock for a few
//! instructions and never waits inside it. What every statement touches is split by worker (counters, plan caches) or by
//! connection (its line in the process list), so that workers do not meet on the hot path.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use client::{Connection, Connections, SessionId};
use types::{Account, AccountName, NodeId, TableId, WorkerId};

use crate::plan_cache::PlanCache;
use crate::session::variables::Isolation;
use crate::statistics::TableStatistics;

/// More workers than a machine has cores.
const PLAN_CACHE_COUNT: usize = 64;

/// A connection's number, unique in the cluster while it lives: `CONNECTION_ID()`, `KILL n`, THREAD_ID. The high 10 bits are
/// the node's, which are different for nodes up to 1,023, and the low 22 count its connections.
pub type ConnectionId = u32;

const CONNECTION_BITS: u32 = 22;

/// More than a cluster has accounts.
const FAST_HASHES_MAX: usize = 100_000;

#[derive(Clone, Debug)]
pub struct ServerConfig {
    pub node: NodeId,
    /// `SELECT VERSION()`, e.g. "8.0.40-skarv-0.1.0".
    pub version_text: String,
    pub datadir: String,
    pub port: u16,
    pub socket: String,
    pub hostname: String,
    pub max_connections: u32,
    /// The directory of files that statements may read, as the variable shows it; None for none.
    pub secure_file_priv: Option<String>,
    /// For tests: a rule that this server breaks, so that its oracle has something to find.
    pub broken_rule: Option<BrokenRule>,
}

/// A rule of foreign keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenRule {
    /// Parents are read without a lock.
    ParentsUnlocked,
    /// Children are read without a lock, as the statement's snapshot has them.
    ChildrenUnlocked,
    /// Children do not follow.
    CascadesForgotten,
    /// An UPDATE does not look for parents.
    UpdatesUnchecked,
    /// ADD FOREIGN KEY does not look at the rows that are there.
    RowsUnchecked,
    /// Writers do not keep the copy of a table.
    CopyNotKept,
    /// Writers that know a copy before its rows are made leave rows behind that others have made.
    CopyLeftBehind,
    /// Rows are copied as a snapshot has them, without a look at them under their locks.
    CopiedUnlocked,
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig {
            node: NodeId(1),
            version_text: concat!("8.0.40-skarv-", env!("CARGO_PKG_VERSION")).into(),
            datadir: "./".into(),
            port: 3306,
            socket: String::new(),
            hostname: "localhost".into(),
            max_connections: 10_000,
            secure_file_priv: None,
            broken_rule: None,
        }
    }
}

/// What a connection is to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillKind {
    /// End the statement that runs, with error 1317.
    Query,
    /// End the connection.
    Connection,
}

/// The limit `max_connections` is reached: error 1040.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyConnections;

/// A line of SHOW PROCESSLIST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessInfo {
    pub id: ConnectionId,
    pub worker: WorkerId,
    /// None until it has logged in.
    pub session: Option<SessionId>,
    pub user: String,
    pub host: String,
    pub database: Option<String>,
    /// "Query", "Sleep", ...
    pub command: &'static str,
    /// Unix time in microseconds since when.
    pub since_micros: i64,
    /// The text that runs, or ran last, cut to some length.
    pub statement: Option<String>,
    /// What the statement is doing, and how far it is, where it takes long.
    pub progress: Option<String>,
    /// The transaction's, as of the statement's begin.
    pub isolation: Isolation,
    pub read_only: bool,
}

impl ProcessInfo {
    /// A connection that has not logged in.
    fn new(id: ConnectionId, worker: WorkerId, user: &str, host: &str, since: i64) -> ProcessInfo {
        ProcessInfo {
            id,
            worker,
            session: None,
            user: user.into(),
            host: host.into(),
            database: None,
            command: "Connect",
            since_micros: since,
            statement: None,
            progress: None,
            isolation: Isolation::RepeatableRead,
            read_only: false,
        }
    }

    fn connection(&self) -> Connection {
        Connection {
            id: self.id,
            user: self.user.clone(),
            host: self.host.clone(),
            database: self.database.clone(),
            command: self.command.into(),
            since_micros: self.since_micros,
            statement: self.statement.clone().filter(|_| self.command != "Sleep"),
            progress: self.progress.clone(),
            isolation: self.isolation.name().replace('-', " "),
            read_only: self.read_only,
        }
    }
}

/// A connection's line, which its session changes without the server's lock.
pub(crate) type Process = Mutex<ProcessInfo>;

/// Counters of SHOW STATUS, of one worker: workers do not share cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Counters {
    pub questions: AtomicU64,
    pub com_select: AtomicU64,
    pub com_insert: AtomicU64,
    pub com_update: AtomicU64,
    pub com_delete: AtomicU64,
    pub com_load: AtomicU64,
    pub com_commit: AtomicU64,
    pub com_rollback: AtomicU64,
    pub errors: AtomicU64,
    pub slow: AtomicU64,
    pub connections: AtomicU64,
    /// Sorted runs merged into one.
    pub sort_merges: AtomicU64,
    /// Temporary files, those of them that are no sort's, and bytes written to them.
    pub temp_files: AtomicU64,
    pub temp_tables: AtomicU64,
    pub temp_bytes: AtomicU64,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, count: u64) {
        if count > 0 {
            counter.fetch_add(count, Ordering::Relaxed);
        }
    }
}

pub struct Server {
    config: ServerConfig,
    /// One a worker (workers beyond share).
    counters: Vec<Counters>,
    /// Wakes a worker's loop when a connection of it was killed.
    notify: OnceLock<Notify>,
    /// One a worker (workers beyond share).
    plan_caches: Vec<Mutex<PlanCache>>,
    globals_version: AtomicU64,
    prepared_count: Arc<AtomicU64>,
    /// When statistics were last made anew by ANALYZE TABLE.
    analyzed_micros: AtomicI64,
    /// What clients have proved to this node.
    fast_hashes: Mutex<BTreeMap<AccountName, FastHash>>,
    state: Mutex<State>,
}

/// What an account stored when a client proved its password, and SHA256(SHA256(password)).
type FastHash = (Vec<u8>, [u8; 32]);

/// One of the prepared statements of all sessions.
pub struct CountedPrepared(Arc<AtomicU64>);

impl Drop for CountedPrepared {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

type Notify = Box<dyn Fn(WorkerId) + Send + Sync>;

#[derive(Default)]
struct State {
    connections: BTreeMap<ConnectionId, Arc<Process>>,
    connection_id_last: ConnectionId,
    connections_max_used: u64,
    /// Global values that SET GLOBAL changed, by lower-case name.
    globals: BTreeMap<String, String>,
    kills: Vec<(WorkerId, ConnectionId, KillKind)>,
    /// Unix time of the first connection: uptime counts from it.
    started_micros: Option<i64>,
    /// Statistics of tables.
    statistics: BTreeMap<TableId, Known>,
}

/// Statistics of a table, and when a session last asked for them.
struct Known {
    asked_micros: i64,
    statistics: Option<Arc<TableStatistics>>,
}

/// Tables of which something is known at most: some ten KiB each. With more, all are forgotten.
const TABLES_KNOWN_MAX: usize = 2_048;

impl Server {
    pub fn new(config: ServerConfig) -> Arc<Server> {
        Arc::new(Server {
            config,
            counters: (0..PLAN_CACHE_COUNT).map(|_| Counters::default()).collect(),
            notify: OnceLock::new(),
            plan_caches: (0..PLAN_CACHE_COUNT).map(|_| Mutex::new(PlanCache::new())).collect(),
            globals_version: AtomicU64::new(1),
            prepared_count: Arc::default(),
            analyzed_micros: AtomicI64::new(i64::MIN),
            fast_hashes: Mutex::default(),
            state: Mutex::new(State::default()),
        })
    }
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }
    /// Called with a worker's id when something waits in [`Server::take_kills`] for it. Set once, at the start.
    pub fn set_notify(&self, notify: Notify) {
        assert!(self.notify.set(notify).is_ok(), "the notifier is set once");
    }
    /// The statistics of a table, if a session has gathered them.
    pub fn statistics(&self, table: TableId) -> Option<Arc<TableStatistics>> {
        self.lock().statistics.get(&table)?.statistics.clone()
    }
    /// Of these tables, those without statistics, or with old ones. The caller asks for them; until it has done that, others
    /// do not.
    pub(crate) fn claim_statistics(&self, tables: &[TableId], now_micros: i64) -> Vec<TableId> {
        let mut state = self.lock();
        let mut claimed = Vec::new();
        for table in tables {
            let is_good = state.statistics.get(table).is_some_and(|known| {
                let age = now_micros - known.asked_micros;
                let age_max = TableStatistics::age_max_micros(known.statistics.as_deref());
                (0..age_max).contains(&age)
            });
            if is_good {
                continue;
            }
            if TABLES_KNOWN_MAX <= state.statistics.len() {
                state.statistics.clear();
            }
            let known = state.statistics.entry(*table);
            let known = known.or_insert(Known { asked_micros: now_micros, statistics: None });
            known.asked_micros = now_micros;
            claimed.push(*table);
        }
        claimed
    }
    pub(crate) fn set_statistics(&self, all: BTreeMap<TableId, TableStatistics>, now_micros: i64) {
        let mut state = self.lock();
        for (table, statistics) in all {
            let statistics = Some(Arc::new(statistics));
            state.statistics.insert(table, Known { asked_micros: now_micros, statistics });
        }
    }
    /// ANALYZE TABLE: plans that were made before are made again.
    pub(crate) fn set_analyzed(&self, now_micros: i64) {
        self.analyzed_micros.store(now_micros, Ordering::Relaxed);
    }
    pub(crate) fn analyzed_micros(&self) -> i64 {
        self.analyzed_micros.load(Ordering::Relaxed)
    }
    /// Connections of `worker` that were told to end or cancel since the last call.
    pub fn take_kills(&self, worker: WorkerId) -> Vec<(ConnectionId, KillKind)> {
        let mut state = self.lock();
        let mut taken = Vec::new();
        state.kills.retain(|(owner, id, kind)| {
            if *owner == worker {
                taken.push((*id, *kind));
            }
            *owner != worker
        });
        taken
    }
    /// SHA256(SHA256(password)) of an account, if a client has proved its password to this node since it was set.
    pub fn fast_hash(&self, account: &Account) -> Option<[u8; 32]> {
        let hashes = self.fast_hashes.lock().unwrap_or_else(PoisonError::into_inner);
        let (secret, hash) = hashes.get(&account.name)?;
        let is_current =
            *secret == account.secret || account.secret_before.as_ref() == Some(secret);
        is_current.then_some(*hash)
    }
    /// Keeps the hash of the password that `secret` was made of, which may be a former one that the account retains.
    pub fn keep_fast_hash(&self, account: &Account, secret: Vec<u8>, hash: [u8; 32]) {
        let mut hashes = self.fast_hashes.lock().unwrap_or_else(PoisonError::into_inner);
        if FAST_HASHES_MAX <= hashes.len() {
            hashes.clear();
        }
        hashes.insert(account.name.clone(), (secret, hash));
    }
    /// Adds a connection that has a socket but may not have logged in yet.
    pub fn register(
        &self,
        worker: WorkerId,
        host: &str,
        now_micros: i64,
    ) -> Result<ConnectionId, TooManyConnections> {
        let mut state = self.lock();
        if state.connections.len() >= self.config.max_connections as usize {
            return Err(TooManyConnections);
        }
        state.started_micros.get_or_insert(now_micros);
        let mut id = state.connection_id_last;
        loop {
            id = next_connection_id(id, self.config.node);
            if !state.connections.contains_key(&id) {
                break;
            }
        }
        state.connection_id_last = id;
        let process = ProcessInfo::new(id, worker, "unauthenticated user", host, now_micros);
        state.connections.insert(id, Arc::new(Mutex::new(process)));
        state.connections_max_used = state.connections_max_used.max(state.connections.len() as u64);
        Counters::add(&self.counters(worker).connections, 1);
        Ok(id)
    }
    /// The connection is gone. Unknown ids are ignored: a session that was closed and then dropped says it twice.
    pub fn unregister(&self, id: ConnectionId) {
        let mut state = self.lock();
        state.connections.remove(&id);
        state.kills.retain(|(_, killed, _)| *killed != id);
    }
    /// All connections, in order of id.
    pub fn processes(&self) -> Vec<ProcessInfo> {
        let connections: Vec<Arc<Process>> = self.lock().connections.values().cloned().collect();
        connections.iter().map(|process| process_lock(process).clone()).collect()
    }
    pub fn connection_count(&self) -> u64 {
        self.lock().connections.len() as u64
    }
    pub fn connections_max_used(&self) -> u64 {
        self.lock().connections_max_used
    }
    /// Seconds since the first connection.
    pub fn uptime_seconds(&self, now_micros: i64) -> u64 {
        let started = self.lock().started_micros.unwrap_or(now_micros);
        u64::try_from(now_micros.saturating_sub(started) / 1_000_000).unwrap_or(0)
    }
    /// Tells the owner of a connection to end it or its statement; false if there is no such connection.
    pub fn kill(&self, id: ConnectionId, kind: KillKind) -> bool {
        let worker = {
            let mut state = self.lock();
            let Some(process) = state.connections.get(&id) else { return false };
            let worker = process_lock(process).worker;
            // One entry a connection and kind: a client that repeats KILL cannot make the list grow.
            if !state.kills.contains(&(worker, id, kind)) {
                state.kills.push((worker, id, kind));
            }
            worker
        };
        if let Some(notify) = self.notify.get() {
            notify(worker);
        }
        true
    }
    /// The line of a registered connection; a new one nobody lists for others.
    pub(crate) fn process(&self, id: ConnectionId, worker: WorkerId) -> Arc<Process> {
        let known = self.lock().connections.get(&id).cloned();
        known.unwrap_or_else(|| Arc::new(Mutex::new(ProcessInfo::new(id, worker, "", "", 0))))
    }
    pub(crate) fn counters(&self, worker: WorkerId) -> &Counters {
        &self.counters[usize::from(worker.0) % PLAN_CACHE_COUNT]
    }
    /// A counter summed over the workers.
    pub fn total(&self, counter: fn(&Counters) -> &AtomicU64) -> u64 {
        self.counters.iter().map(|own| counter(own).load(Ordering::Relaxed)).sum()
    }
    pub(crate) fn global(&self, name: &str) -> Option<String> {
        self.lock().globals.get(name).cloned()
    }
    /// Names come from the table of variables, so the map is bounded by it.
    pub(crate) fn set_global(&self, name: &str, value: String) {
        self.lock().globals.insert(name.into(), value);
        self.globals_version.fetch_add(1, Ordering::Release);
    }
    /// Grows with every change of a global variable.
    /// Counts one more prepared statement; None: there are as many as there may be.
    pub(crate) fn count_prepared(&self, count_max: u64) -> Option<CountedPrepared> {
        let before = self.prepared_count.fetch_add(1, Ordering::Relaxed);
        let counted = CountedPrepared(Arc::clone(&self.prepared_count));
        (before < count_max).then_some(counted)
    }

    pub(crate) fn globals_version(&self) -> u64 {
        self.globals_version.load(Ordering::Acquire)
    }
    pub(crate) fn globals(&self) -> BTreeMap<String, String> {
        self.lock().globals.clone()
    }
    pub(crate) fn plan_cache(&self, worker: WorkerId) -> MutexGuard<'_, PlanCache> {
        let position = usize::from(worker.0) % PLAN_CACHE_COUNT;
        let cache = &self.plan_caches[position];
        cache.lock().unwrap_or_else(|poisoned| {
            // A statement has panicked in its digest: plans can be made again.
            let mut emptied = poisoned.into_inner();
            *emptied = PlanCache::new();
            cache.clear_poison();
            emptied
        })
    }
    fn lock(&self) -> MutexGuard<'_, State> {
        whole(&self.state)
    }
}

/// The number after this one, of the node's own: from 1 to the last one, and then again.
fn next_connection_id(last: ConnectionId, node: NodeId) -> ConnectionId {
    let count = last & ((1 << CONNECTION_BITS) - 1);
    let next = if count + 1 < 1 << CONNECTION_BITS { count + 1 } else { 1 };
    u32::from(node.0) << CONNECTION_BITS | next
}

impl Connections for Server {
    fn connections(
        &self,
        worker: WorkerId,
        session: Option<SessionId>,
    ) -> Vec<(SessionId, Connection)> {
        let all: Vec<Arc<Process>> = self.lock().connections.values().cloned().collect();
        let told = all.iter().filter_map(|process| {
            let process = process_lock(process);
            // Who has not logged in has no number that could be another's.
            let own = process.session.unwrap_or(SessionId(u64::MAX - u64::from(process.id)));
            let wanted = process.worker == worker && session.is_none_or(|session| session == own);
            wanted.then(|| (own, process.connection()))
        });
        told.collect()
    }
}

pub(crate) fn process_lock(process: &Process) -> MutexGuard<'_, ProcessInfo> {
    whole(process)
}

/// What is kept under these locks is assigned as whole values, so it can be used after a panic of the code that held one.
fn whole<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash of a retained password is known until the account discards that password; that of another account is not.
    #[test]
    fn fast_hashes_go_with_their_secrets() {
        let server = Server::new(ServerConfig::default());
        let retaining = Account {
            secret: vec![1],
            secret_before: Some(vec![2]),
            ..Account::new(AccountName::new("a", "%"))
        };
        server.keep_fast_hash(&retaining, vec![2], [7; 32]);
        assert_eq!(server.fast_hash(&retaining), Some([7; 32]));
        let discarded = Account { secret_before: None, ..retaining.clone() };
        assert_eq!(server.fast_hash(&discarded), None);
        let other = Account { name: AccountName::new("b", "%"), ..retaining };
        assert_eq!(server.fast_hash(&other), None);
    }

    /// KILL reaches the worker that owns the connection, once, and wakes it; ids are not reused while they live.
    #[test]
    fn kills_reach_their_worker() {
        let woken = Arc::new(AtomicU64::new(99));
        let server = Server::new(ServerConfig { max_connections: 2, ..ServerConfig::default() });
        let seen = woken.clone();
        server
            .set_notify(Box::new(move |worker| seen.store(u64::from(worker.0), Ordering::SeqCst)));
        let first = server.register(WorkerId(0), "a", 1_000_000).unwrap();
        let second = server.register(WorkerId(1), "b", 2_000_000).unwrap();
        assert_eq!((first, second), (1 << 22 | 1, 1 << 22 | 2));
        assert_eq!(next_connection_id(1 << 22 | 0x3f_ffff, NodeId(1)), first);
        assert_eq!(server.register(WorkerId(0), "c", 0), Err(TooManyConnections));
        assert!(server.kill(second, KillKind::Query));
        assert!(server.kill(second, KillKind::Query));
        assert!(!server.kill(77, KillKind::Query));
        assert_eq!(woken.load(Ordering::SeqCst), 1);
        assert!(server.take_kills(WorkerId(0)).is_empty());
        assert_eq!(server.take_kills(WorkerId(1)), vec![(second, KillKind::Query)]);
        assert!(server.take_kills(WorkerId(1)).is_empty());
        server.unregister(first);
        assert_eq!(server.connection_count(), 1);
        assert_eq!(server.uptime_seconds(4_500_000), 3);
    }
}
