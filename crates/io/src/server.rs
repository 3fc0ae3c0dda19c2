//! A node's beginning and end.
//!
//! Start: everything that can fail because of the surroundings (directory, lock, ports, certificate) is done on the
//! caller's thread and reported as a [`StartError`]; then the workers' threads begin and nothing fails any more. The node
//! is ready when every worker's kernel is and the MySQL side listens.
//!
//! End: no new clients; connections close as soon as no statement of theirs runs; after a grace
//! statements are cancelled; when the last worker has no connection left all of them stop, because
//! until then one may need another's partitions. A node that is stopped while its cluster continues
//! hands over before that ([`Departure`]).

use std::fs::File;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use kernel::{Boot, NodeShared, NotLoaded, PartLoaded, Store, Time};
use mio::{Poll, Waker};
use mysql::{ConnectionConfig, RsaKey};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use types::{Incarnation, WorkerId};

use crate::archive::{self, Archive};
use crate::backup::FileBackups;
use crate::computers::Pool;
use crate::door::{BoundSockets, MysqlSockets};
use crate::inbox::{Inbox, Item};
use crate::journal::FileJournal;
use crate::limits::{COMPUTERS_MAX, SHUTDOWN_GRACE, SHUTDOWN_ROLLBACK, STACK_SIZE};
use crate::log::{self, NodeLog};
use crate::options::{NodeOptions, StartError};
use crate::secure::LinkKeys;
use crate::server_files::ServerDirectory;
use crate::store::{self, FileStore, NoStore};
use crate::temp_files::TempDirectory;
use crate::worker::{self, Worker};
use crate::{clock, files, hello, panic, ports, random, signals};

/// How long an end as planned waits for the disk to hold that it was one.
const REST_NOTED_MAX: Duration = Duration::from_secs(2);
/// The least and the longest rest of a node that is signalled: other nodes rest as soon as their statements have ended.
const REST_SIGNALLED_MIN: Duration =
    Duration::from_micros(SHUTDOWN_GRACE + SHUTDOWN_ROLLBACK + 500_000);
const REST_SIGNALLED_MAX: Duration = Duration::from_secs(12);
const REST_POLL: Duration = Duration::from_millis(20);
/// File descriptors that clients get none of: files of the rows and those that are made, links, sockets, logs.
const FILES_KEPT: u64 = 512;
/// Niceness of the threads that take memory: other threads that want the core get nearly all of it.
const FILL_NICENESS: i32 = 19;
/// Pages that such a thread takes at a time: 256 KiB, for which a client that is to run waits for
/// some 50 us.
const FILL_PAGES: usize = 8;
/// Once the node serves, the pause after a piece is so many times as long as the piece took: Linux
/// shares the cores between sessions first, so niceness does not help the clients of another
/// session than the node's. A gigabyte takes 2 to 5 s like that.
const FILL_PAUSES: u32 = 9;
const FILL_PAUSE_MAX: Duration = Duration::from_millis(20);
/// Free bytes of the pool up to which there is no pause, so that new rows find memory.
const FILL_AHEAD: u64 = 64 << 20;

/// What the workers of a node share, besides the kernels' own.
pub struct Shared {
    pub options: NodeOptions,
    pub node: Arc<NodeShared>,
    /// What its rows are on, if it has any.
    pub store: Option<Arc<FileStore>>,
    pub sql: Arc<sql::Server>,
    pub connection_config: Arc<ConnectionConfig>,
    pub log: Arc<NodeLog>,
    /// By worker.
    pub inboxes: Vec<Inbox>,
    pub pool: Arc<Pool>,
    pub temp_files: TempDirectory,
    pub server_directory: ServerDirectory,
    pub config_hash: u64,
    /// For links over TCP, if the node has any.
    pub link_keys: Option<Arc<LinkKeys>>,
    pub started: Time,
    /// As bound.
    pub mysql_tcp: Option<SocketAddr>,
    pub links_up: AtomicUsize,
    /// Workers whose kernel can serve.
    pub workers_ready: AtomicUsize,
    /// Workers without connections after the end has begun.
    pub workers_drained: AtomicUsize,
    is_stopping: AtomicBool,
    /// The whole cluster is to stop: this node closes its connections, and ends upon a later request.
    is_resting: AtomicBool,
    has_rested: AtomicBool,
    /// The node may end: it has nothing to hand over, or has done so.
    may_end: AtomicBool,
    life: Mutex<Life>,
    life_changed: Condvar,
    /// Held as long as the node lives.
    _lock: File,
}

#[derive(Default)]
struct Life {
    ready: bool,
    workers_ended: usize,
    /// What the node ends for, when it hands over first.
    departure: Option<Departure>,
}

/// A node ends while its cluster continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    Stop,
    /// Whoever looks after the process is to start it again.
    Restart,
}

impl Shared {
    pub fn worker_count(&self) -> usize {
        self.inboxes.len()
    }
    /// Links of all workers, when all are up.
    pub fn link_count(&self) -> usize {
        let others = self.options.cluster.nodes.iter().filter(|node| node.id != self.options.node);
        let workers: usize = others.map(|node| usize::from(node.workers)).sum();
        workers * self.worker_count()
    }
    pub fn is_ready(&self) -> bool {
        self.life().ready
    }
    /// Loads the rows from the disk, each part on a thread of its own.
    pub fn load(self: &Arc<Shared>) {
        let node = self.options.node;
        let parts = self.node.parts();
        self.log.info(&format!("node {node} loads its rows from its disk, {parts} parts"));
        let begun = Instant::now();
        for part in 0..parts {
            let shared = Arc::clone(self);
            let load = move || {
                panic::this_thread_is_fail_stop(Arc::clone(&shared.log));
                let loaded = shared.node.load_part(part);
                let loaded = loaded.unwrap_or_else(|error| shared.do_without(&error));
                let took = begun.elapsed();
                shared.log.info(&loaded_text(part, &loaded, took));
                shared.node.part_is_loaded(loaded, micros(took));
            };
            let thread = std::thread::Builder::new().name(format!("load-{part}"));
            thread.spawn(load).unwrap_or_else(|error| panic!("cannot start a thread: {error}"));
        }
    }
    /// The rows cannot be loaded. A node that comes back is filled all the same, if they are not damaged.
    fn do_without(&self, error: &NotLoaded) -> PartLoaded {
        let node = self.options.node;
        let is_damaged = self.store.as_ref().is_some_and(|store| store.damage().is_some());
        if is_damaged || !self.node.do_without() {
            self.end_unloaded(error);
        }
        self.log
            .warn(&format!("node {node} cannot load its rows: {error}; it is filled without them"));
        PartLoaded::default()
    }
    /// The rows cannot be loaded. If they are damaged this process must not use them again, and the next one cannot.
    fn end_unloaded(&self, error: &NotLoaded) -> ! {
        let node = self.options.node;
        let store = self.store.as_ref().expect("what is loaded is on a disk");
        let Some(damage) = store.damage() else {
            let what = format!("node {node} cannot load its rows: {error}");
            let code = match error {
                NotLoaded::NeedsMemory(_) => panic::EXIT_CODE_MEMORY,
                NotLoaded::Unfit(_) => panic::EXIT_CODE_PANIC,
            };
            panic::end_process(&self.log, &what, code);
        };
        let marked = store.mark_damaged(&damage);
        let then = match marked {
            Ok(()) => "started again it puts its rows aside and begins with an empty disk".into(),
            Err(error) => format!("and that cannot be marked: {error}; remove node{node}.rows"),
        };
        let what = format!("node {node} cannot load its rows: {damage}; this process ends, {then}");
        panic::end_process(&self.log, &what, panic::EXIT_CODE_DAMAGED);
    }
    /// Called by worker 0 when clients may connect.
    pub fn set_ready(&self) {
        self.life().ready = true;
        self.life_changed.notify_all();
    }
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }
    pub fn begin_shutdown(&self) {
        let mut life = self.life();
        // Whatever it was about: it ends, and is not started again.
        life.departure = None;
        self.may_end.store(true, Ordering::Release);
        self.is_stopping.store(true, Ordering::Release);
        drop(life);
        self.notify_all();
    }
    /// The whole cluster is to stop: the node closes its connections, and has the disks hold what they have committed. True when they do.
    pub fn rest(&self) -> bool {
        let life = self.life();
        if !self.is_stopping() {
            self.is_resting.store(true, Ordering::Release);
            self.is_stopping.store(true, Ordering::Release);
        }
        drop(life);
        self.notify_all();
        self.has_rested.load(Ordering::Acquire)
    }
    pub fn is_resting(&self) -> bool {
        self.is_resting.load(Ordering::Acquire)
    }
    pub fn set_rested(&self) {
        self.has_rested.store(true, Ordering::Release);
    }
    /// The node hands over, and ends.
    pub fn begin_departure(&self, departure: Departure) {
        let mut life = self.life();
        if !self.is_stopping() {
            life.departure = Some(departure);
            self.is_stopping.store(true, Ordering::Release);
        }
        drop(life);
        self.notify_all();
    }
    /// It could not: it serves again. False if it is to end by now all the same.
    pub fn end_departure(&self) -> bool {
        let mut life = self.life();
        if !self.may_end() {
            life.departure = None;
            self.is_stopping.store(false, Ordering::Release);
        }
        drop(life);
        self.notify_all();
        !self.may_end()
    }
    pub fn departure(&self) -> Option<Departure> {
        self.life().departure
    }
    pub fn allow_end(&self) {
        self.may_end.store(true, Ordering::Release);
        self.notify_all();
    }
    pub fn may_end(&self) -> bool {
        self.may_end.load(Ordering::Acquire)
    }
    pub fn notify_all(&self) {
        for inbox in &self.inboxes {
            inbox.notify();
        }
    }
    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().expect("nobody panics while holding this lock")
    }
    /// The last entry: the next start learns from it that this end was as planned. Returns when the disk has it, or does not take it soon.
    fn note_rested(&self) {
        if !self.is_resting() || !self.has_rested.load(Ordering::Acquire) {
            return;
        }
        let place = self.node.note_rested();
        let until = Instant::now() + REST_NOTED_MAX;
        while !self.node.is_rest_noted(place) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    /// Called by a worker's thread when it ends.
    fn worker_ended(&self) {
        let mut life = self.life();
        life.workers_ended += 1;
        if life.workers_ended == self.worker_count() {
            life.ready = false;
            self.note_rested();
            self.log.info(&format!("node {} stopped", self.options.node));
        }
        self.life_changed.notify_all();
    }
}

/// A running node. Dropping it ends the node and waits for that.
pub struct NodeServer {
    shared: Arc<Shared>,
}

impl NodeServer {
    /// Starts the node and returns at once; [`NodeServer::wait_ready`] tells when it serves.
    pub fn start(options: NodeOptions) -> Result<NodeServer, StartError> {
        options.check()?;
        let log_path = NodeOptions::log_path(&options.dir, options.node);
        let lock = files::lock_node(&options.dir, options.node).inspect_err(|error| {
            // Whoever looks after the one that runs is to know.
            if let StartError::AlreadyRunning { node, .. } = error {
                let own = std::process::id();
                let text = format!(
                    "process {own} was refused: it was started as node {node} in this directory, too"
                );
                log::append_to(&log_path, &text);
            }
        })?;
        let log = NodeLog::open(&log_path, options.log_to_stderr)
            .map_err(|error| StartError::Directory { path: log_path, reason: error.to_string() })?;
        let log = Arc::new(log);
        let started = start(options, lock, Arc::clone(&log));
        if let Err(error) = &started {
            log.warn(&format!("not started: {error}"));
        }
        started
    }

    /// Does the node serve: are clients, if it takes any, accepted?
    pub fn is_ready(&self) -> bool {
        self.shared.is_ready()
    }
    /// Waits until it is ready; false if it is not after `timeout`, or has ended.
    pub fn wait_ready(&self, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        let mut life = self.shared.life();
        while !life.ready && life.workers_ended == 0 {
            let Some(left) = until.checked_duration_since(Instant::now()) else { return false };
            let waited = self.shared.life_changed.wait_timeout(life, left);
            life = waited.expect("nobody panics while holding this lock").0;
        }
        life.ready
    }
    /// Begins the graceful end, and returns at once.
    pub fn shutdown(&self) {
        self.shared.begin_shutdown();
    }
    /// Waits until the node has ended: by [`NodeServer::shutdown`], a signal, or "stop" on the management socket.
    pub fn wait(&self) {
        let mut life = self.shared.life();
        while life.workers_ended < self.shared.worker_count() {
            life = self.shared.life_changed.wait(life).expect("nobody panics with this lock");
        }
        drop(life);
        // Whoever waits may remove the directory next.
        if let Some(store) = &self.shared.store {
            store.disk.close();
        }
    }
    /// Why it has ended, if it handed over before.
    pub fn departure(&self) -> Option<Departure> {
        self.shared.departure()
    }
    /// The MySQL address really bound.
    pub fn mysql_tcp_address(&self) -> Option<SocketAddr> {
        self.shared.mysql_tcp
    }
    pub fn incarnation(&self) -> Incarnation {
        self.shared.node.incarnation
    }
}

impl Drop for NodeServer {
    fn drop(&mut self) {
        self.shutdown();
        self.wait();
    }
}

fn start(options: NodeOptions, lock: File, log: Arc<NodeLog>) -> Result<NodeServer, StartError> {
    raise_file_limit();
    let (sockets, mysql_tcp) = bind_sockets(&options)?;
    let system = |action: &'static str| {
        move |error: std::io::Error| StartError::System { action, reason: error.to_string() }
    };
    let workers = options.cluster.node(options.node).expect("checked").workers;
    let mut polls = Vec::new();
    let mut inboxes = Vec::new();
    for _ in 0..workers {
        let poll = Poll::new().map_err(system("make an event poll"))?;
        let waker = Waker::new(poll.registry(), worker::WAKER).map_err(system("make a waker"))?;
        polls.push(poll);
        inboxes.push(Inbox::new(waker));
    }
    if options.initial {
        // In this order: without its journal a node does not know that rows which are left belong to a cluster.
        FileStore::remove(&options.dir, options.node)?;
        FileJournal::remove(&options.dir, options.node)?;
    }
    let journal = Arc::new(FileJournal::open(&options.dir, options.node)?);
    let archive = options.archive.clone().map(|dir| Archive {
        dir,
        cluster: options.cluster.cluster,
        node: options.node,
    });
    let (node, store) = open_rows(&options, archive.as_ref(), &journal, &log)?;
    let temp_files = TempDirectory::open(&options.dir, options.node).map_err(|error| {
        StartError::Directory { path: options.dir.clone(), reason: error.to_string() }
    })?;
    let server_directory = server_directory(&options)?;
    let secure_file_priv =
        server_directory.path.as_ref().map(|path| format!("{}/", path.display()));
    let hostname = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let shared = Arc::new(Shared {
        node,
        store: store.clone(),
        sql: sql::Server::new(sql::ServerConfig {
            secure_file_priv,
            ..sql_config(&options, mysql_tcp, &hostname)
        }),
        connection_config: Arc::new(connection_config(&options, &hostname)?),
        log,
        inboxes,
        pool: Pool::new("compute", COMPUTERS_MAX),
        temp_files,
        server_directory,
        config_hash: hello::config_hash(&options.cluster),
        link_keys: LinkKeys::load(&options.dir, options.cluster.cluster, options.node)?,
        started: clock::now(),
        mysql_tcp,
        links_up: AtomicUsize::new(0),
        workers_ready: AtomicUsize::new(0),
        workers_drained: AtomicUsize::new(0),
        is_stopping: AtomicBool::new(false),
        is_resting: AtomicBool::new(false),
        has_rested: AtomicBool::new(false),
        may_end: AtomicBool::new(false),
        life: Mutex::new(Life::default()),
        life_changed: Condvar::new(),
        _lock: lock,
        options,
    });
    shared.node.set_connections(Arc::<sql::Server>::clone(&shared.sql));
    // The registry of connections belongs to the node and does not know its server: a weak reference breaks the ring.
    let weak = Arc::downgrade(&shared);
    shared.sql.set_notify(Box::new(move |worker| {
        if let Some(shared) = weak.upgrade() {
            shared.inboxes[usize::from(worker.0)].notify();
        }
    }));
    let weak = Arc::downgrade(&shared);
    journal.start(Arc::clone(&shared.log), move || {
        if let Some(shared) = weak.upgrade() {
            shared.inboxes[0].push(Item::Durable);
        }
    })?;
    if let Some(store) = store {
        let weak = Arc::downgrade(&shared);
        let told = move |worker: WorkerId| {
            if let Some(shared) = weak.upgrade() {
                shared.inboxes[usize::from(worker.0)].push(Item::Durable);
            }
        };
        let backups = FileBackups::new(
            shared.options.node,
            &shared.options.dir,
            Arc::clone(&store),
            Arc::clone(&shared.log),
        );
        shared.node.set_backups(Arc::new(backups));
        let (log, weak) = (Arc::clone(&shared.log), Arc::downgrade(&shared));
        let node = shared.options.node;
        store.start(Arc::clone(&shared.log), told, move |error| {
            let what = format!("node {node} cannot write its rows: {error}");
            if weak.upgrade().is_some_and(|shared| shared.node.is_last()) {
                // It says itself what follows from that.
                log.warn(&what);
                return;
            }
            let what = format!(
                "{what}; this process ends, others that have its rows go on; started again it uses what it finds on its disk"
            );
            panic::end_process(&log, &what, panic::EXIT_CODE_DISK);
        })?;
    }
    if let Some(archive) = archive.filter(|_| shared.store.is_some()) {
        for part in 0..shared.node.parts() {
            let (archive, weak) = (archive.clone(), Arc::downgrade(&shared));
            let thread = std::thread::Builder::new().name(format!("archive-{part}"));
            let spawned = thread.spawn(move || archive::run(&archive, part, &weak));
            spawned.map_err(system("start a thread that archives the log"))?;
        }
    }
    if shared.options.stop_on_signals {
        let stopped = Arc::clone(&shared);
        signals::on_stop_signal(move |signals| stop_by_signal(&stopped, signals))?;
    }
    log_start(&shared);
    fill_memory(&shared).map_err(system("start the threads that take the memory for rows"))?;
    let mut sockets = Some(sockets);
    for (index, poll) in polls.into_iter().enumerate() {
        let id = WorkerId(u16::try_from(index).expect("at most 256 workers"));
        let thread_shared = Arc::clone(&shared);
        // Worker 0 has the door.
        let door = sockets.take();
        let spawned = std::thread::Builder::new()
            .name(format!("node{}-worker{}", shared.options.node, id))
            .stack_size(STACK_SIZE)
            .spawn(move || {
                panic::this_thread_is_fail_stop(Arc::clone(&thread_shared.log));
                Worker::new(id, Arc::clone(&thread_shared), poll, door).run();
                thread_shared.worker_ended();
            });
        // Threads that run already cannot be called back, and half a node is none.
        spawned.unwrap_or_else(|error| panic!("cannot start thread {index} of the node: {error}"));
    }
    Ok(NodeServer { shared })
}

/// A node that serves, or rests, rests to its end: where all nodes of a box, or of a cluster, are
/// signalled at once, their supervisor with them, the disks get every commit, and others stay for
/// those that rest last. A node that hands over stops doing so.
fn stop_by_signal(shared: &Shared, signals: &signals::Signals) {
    shared.log.info("stop: asked for by a signal");
    if shared.is_ready() && (shared.is_resting() || !shared.is_stopping()) {
        let began = Instant::now();
        loop {
            let (has_rested, passed) = (shared.rest(), began.elapsed());
            if has_rested && passed >= REST_SIGNALLED_MIN || passed >= REST_SIGNALLED_MAX {
                break;
            }
            if signals.wait(REST_POLL) {
                break;
            }
        }
    }
    shared.begin_shutdown();
}

/// What was loaded of a part of the disk, for the log.
fn loaded_text(part: u16, loaded: &PartLoaded, took: Duration) -> String {
    let PartLoaded { rows, row_bytes, entries, entry_bytes, lost, .. } = loaded;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let (rows_size, log_size) = (megabytes(*row_bytes), megabytes(*entry_bytes));
    let seconds = took.as_secs_f64();
    let speed = (rows_size + log_size) / seconds.max(1e-6);
    let passed_over = match lost.len() {
        0 => String::new(),
        count => {
            format!("; {count} transactions behind what the cluster starts with are passed over")
        }
    };
    format!(
        "part {part} is loaded after {seconds:.2} s: {rows} rows of its checkpoint ({rows_size:.1} MB) and {entries} entries of the \
         log behind it ({log_size:.1} MB), {speed:.0} MB/s{passed_over}"
    )
}

fn micros(duration: Duration) -> Time {
    Time::try_from(duration.as_micros()).unwrap_or(Time::MAX)
}

/// Opens what the node has on disk, and looks through it. What is damaged is put aside, and the node begins with an empty disk: if others
/// have its rows they fill it, and if not it can lead nothing (rules R17, R18).
fn open_rows(
    options: &NodeOptions,
    archive: Option<&Archive>,
    journal: &Arc<FileJournal>,
    log: &NodeLog,
) -> Result<(Arc<NodeShared>, Option<Arc<FileStore>>), StartError> {
    let own = options.cluster.node(options.node).expect("checked");
    loop {
        let begun = Instant::now();
        let open = || FileStore::open(&options.dir, options.node, own.workers, archive);
        let opened = own.data.then(open);
        let damage = match opened.transpose() {
            Ok(store) => {
                let store = store.map(Arc::new);
                let boot = Boot {
                    node: options.node,
                    incarnation: Incarnation(random::nonzero_u64()),
                    home: journal.home,
                    journal: Arc::<FileJournal>::clone(journal),
                    store: store.clone().map(|store| store as Arc<dyn Store>),
                };
                let (cluster, memory) = (options.cluster.clone(), options.memory_limit_bytes);
                match NodeShared::new(boot, cluster, memory, options.mutation) {
                    Ok(node) => {
                        if let Some(store) = &store {
                            let shape = store::shape_of(&options.cluster, options.node);
                            store.check_shape(&shape, node.disk_is_used())?;
                        }
                        node.set_lossy(options.lossy);
                        node.set_looked(micros(begun.elapsed()));
                        if store.as_ref().is_some_and(|store| store.archive_is_late) {
                            log.warn(
                                "the archive's directory has not said in time what it has: the node keeps its log on its own disk meanwhile",
                            );
                        }
                        return Ok((node, store));
                    }
                    Err(reason) => {
                        let damage = store.as_ref().and_then(|store| store.damage());
                        let path = options.dir.clone();
                        damage.ok_or(StartError::Directory { path, reason })?
                    }
                }
            }
            Err(NoStore::Damaged(what)) => what,
            Err(NoStore::Error(error)) => return Err(error),
        };
        let aside = FileStore::put_aside(&options.dir, options.node, &damage)?;
        log.warn(&format!(
            "the rows on this node's disk are damaged: {damage}; they are kept in {}, and the node begins with an empty disk: another \
             one that has its rows fills it",
            aside.display()
        ));
    }
}

fn bind_sockets(options: &NodeOptions) -> Result<(BoundSockets, Option<SocketAddr>), StartError> {
    let own_address = options.node_addresses[&options.node];
    let (node, _) = ports::bind_tcp(own_address)?;
    let (mysql, bound) = bind_mysql(options, options.mysql_tcp)?;
    let management = ports::bind_unix(&options.management_unix, 0o600)?;
    let own_socket = options.link_sockets.get(&options.node);
    let node_unix = own_socket.map(|path| ports::bind_unix(path, 0o600)).transpose()?;
    for socket in [&node, &management].into_iter().chain(&node_unix) {
        ports::start_listening(socket).map_err(|error| StartError::System {
            action: "listen on the node's own sockets",
            reason: error.to_string(),
        })?;
    }
    let mut paths = vec![options.management_unix.clone()];
    paths.extend(options.mysql_unix.iter().chain(own_socket).cloned());
    Ok((BoundSockets { node, node_unix, management, mysql, paths }, bound))
}

/// What clients connect to, and the address really bound.
pub fn bind_mysql(
    options: &NodeOptions,
    tcp: Option<SocketAddr>,
) -> Result<(MysqlSockets, Option<SocketAddr>), StartError> {
    let (tcp, bound) = tcp.map(ports::bind_tcp).transpose()?.unzip();
    let unix = options.mysql_unix.as_ref().map(|path| ports::bind_unix(path, 0o777)).transpose()?;
    Ok((MysqlSockets { tcp, unix }, bound))
}

fn sql_config(
    options: &NodeOptions,
    mysql_tcp: Option<SocketAddr>,
    hostname: &str,
) -> sql::ServerConfig {
    sql::ServerConfig {
        node: options.node,
        version_text: options.version_text.clone(),
        datadir: options.dir.display().to_string(),
        port: mysql_tcp.map_or(0, |address| address.port()),
        socket: options
            .mysql_unix
            .as_ref()
            .map_or(String::new(), |path| path.display().to_string()),
        hostname: hostname.into(),
        max_connections: options.max_connections.min(connections_max()),
        ..sql::ServerConfig::default()
    }
}

/// The directory must be there when the node starts.
fn server_directory(options: &NodeOptions) -> Result<ServerDirectory, StartError> {
    let Some(given) = &options.secure_file_priv else {
        return Ok(ServerDirectory { path: None });
    };
    let failed = |reason: String| StartError::Directory { path: given.clone(), reason };
    let path = given.canonicalize().map_err(|error| failed(error.to_string()))?;
    match path.is_dir() {
        true => Ok(ServerDirectory { path: Some(path) }),
        false => Err(failed("secure-file-priv must be a directory".into())),
    }
}

fn connection_config(
    options: &NodeOptions,
    hostname: &str,
) -> Result<ConnectionConfig, StartError> {
    if options.mysql_tcp.is_none() && options.mysql_unix.is_none() {
        return Ok(ConnectionConfig::default());
    }
    let tls = files::tls_config(&options.dir, options.node, hostname)?;
    let rsa = RsaKey::generate().map_err(|_| StartError::System {
        action: "make an RSA key",
        reason: "the cryptographic library refuses".into(),
    })?;
    Ok(ConnectionConfig { tls: Some(tls), tls_required: false, rsa: Some(Arc::new(rsa)) })
}

/// Connections are file descriptors: as many as the system allows.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    // Without the right to, the old limit stays.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// Clients get no file descriptor that the disk needs, or the links: without one the disk would have failed.
fn connections_max() -> u32 {
    let Some(limit) = getrlimit(Resource::Nofile).current else { return u32::MAX };
    u32::try_from(limit.saturating_sub(FILES_KEPT).max(limit / 2)).unwrap_or(u32::MAX)
}

/// Takes the memory for rows from the system, in the background: a virtual machine may get it slowly,
/// and a row need not wait for memory that it does not use. Until the node serves, a thread for each
/// worker takes it; then one of them continues, with pauses.
fn fill_memory(shared: &Arc<Shared>) -> std::io::Result<()> {
    let (began, left) = (Instant::now(), Arc::new(AtomicUsize::new(shared.worker_count())));
    for index in 0..shared.worker_count() {
        let (weak, left) = (Arc::downgrade(shared), Arc::clone(&left));
        let fill = move || {
            // Refused, it takes as much of a core as others.
            let _ = rustix::process::setpriority_process(None, FILL_NICENESS);
            while let Some(shared) = weak.upgrade()
                && let Some(pause) = fill_some(&shared, index == 0)
            {
                drop(shared);
                std::thread::sleep(pause);
            }
            let is_last = left.fetch_sub(1, Ordering::AcqRel) == 1;
            if let Some(shared) = weak.upgrade().filter(|_| is_last) {
                let took = began.elapsed().as_millis();
                shared.log.info(&format!("the memory for rows is taken, which took {took} ms"));
            }
        };
        std::thread::Builder::new().name("memory".into()).spawn(fill)?;
    }
    Ok(())
}

/// Takes a piece of it. Returns the pause before the next one; `None` if this thread is to end.
fn fill_some(shared: &Shared, stays: bool) -> Option<Duration> {
    let (pool, began) = (&shared.node.pool, Instant::now());
    let Ok(has_more) = pool.fill(FILL_PAGES) else {
        let node = shared.options.node;
        let what = format!(
            "node {node} cannot have the {} MiB of memory for its rows: the system refuses more than {} MiB of it (a limit of this process, \
             ulimit -v, or of the system, vm.overcommit_memory); start it with less (--memory, or \"memory\" in the configuration)",
            pool.limit() >> 20,
            (pool.used() + pool.spare()) >> 20,
        );
        panic::end_process(&shared.log, &what, panic::EXIT_CODE_MEMORY);
    };
    let is_wanted = !shared.is_ready() || pool.spare() < FILL_AHEAD;
    match has_more {
        false => None,
        true if is_wanted => Some(Duration::ZERO),
        true if stays => Some((began.elapsed() * FILL_PAUSES).min(FILL_PAUSE_MAX)),
        true => None,
    }
}

fn log_start(shared: &Shared) {
    let options = &shared.options;
    let mysql = match (shared.mysql_tcp, &options.mysql_unix) {
        (None, None) => "no SQL".to_string(),
        (Some(address), None) => format!("SQL on {address}"),
        (None, Some(path)) => format!("SQL on {}", path.display()),
        (Some(address), Some(path)) => format!("SQL on {address} and {}", path.display()),
    };
    shared.log.info(&format!(
        "node {} starts: process {}, version {}, incarnation {:016x}, cluster {:016x}, {} workers, {} MiB, \
         nodes on {}, {mysql}",
        options.node,
        std::process::id(),
        options.version_text,
        shared.node.incarnation.0,
        options.cluster.cluster.0,
        shared.worker_count(),
        options.memory_limit_bytes >> 20,
        options.node_addresses[&options.node],
    ));
    if shared.link_keys.is_none() {
        shared.log.warn(
            "links between the nodes are neither encrypted nor authenticated: keep their ports on a private network, or \
             make keys for them (skarv keys)",
        );
    }
}
