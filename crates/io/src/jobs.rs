//! Work of the management socket that goes on behind the request that began it: backups and restores. It belongs to worker 0, on whose
//! executor it runs; who wants to know how far it is asks again.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use client::{
    BackupRun, BackupWanted, Batch, Client, Durability, Op, OpKind, Refusal, SchemaChange, Session,
};
use disk::copy::{PASSWORD_ITERATIONS, Secret, key_of_password};
use protocol::backup::{BackupLock, BackupState, PasswordSalt, SecretKey};
use serde_json::{Value, json};
use types::wire::Bytes;
use types::{Catalogue, IndexKind, IndexState, Table, TableId, TableState};

use crate::backup;
use crate::clock::{self, format_unix_micros};
use crate::random;
use crate::restore::{self, Change, Found, Pipeline, Source, Target};
use crate::server::Shared;

type Job = Pin<Box<dyn Future<Output = ()>>>;

/// Backups that are over: the last few are remembered.
const BACKUPS_MAX: usize = 32;
/// How often a restore that waits for its files looks again.
const POLL_MS: u64 = 1;
const LOCK_WAIT_TIMEOUT_MS: u32 = 50_000;
/// A batch that a node's failure has undone is tried again for so long.
const RETRY_US: u64 = 60_000_000;

pub struct Jobs {
    shared: Arc<Shared>,
    backups: RefCell<Vec<Rc<Backup>>>,
    restore: RefCell<Option<Rc<Restore>>>,
    /// To be taken on by the executor.
    spawned: RefCell<Vec<Job>>,
}

struct Backup {
    id: u32,
    began: i64,
    run: BackupRun,
    /// None: it goes on.
    outcome: RefCell<Option<Result<(), String>>>,
}

struct Restore {
    /// What it is about now.
    phase: Cell<&'static str>,
    pipeline: RefCell<Option<Arc<Pipeline>>>,
    /// When what is restored was so.
    moment: Cell<i64>,
    tables: Cell<usize>,
    began: u64,
    outcome: RefCell<Option<Result<u64, String>>>,
}

impl Jobs {
    pub fn new(shared: Arc<Shared>) -> Jobs {
        Jobs {
            shared,
            backups: RefCell::default(),
            restore: RefCell::default(),
            spawned: RefCell::default(),
        }
    }

    /// What is to be taken on by the executor.
    pub fn take_spawned(&self) -> Vec<Job> {
        std::mem::take(&mut *self.spawned.borrow_mut())
    }

    // Backups.

    pub fn start_backup(
        self: &Rc<Jobs>,
        client: &Client,
        request: &Value,
    ) -> Result<Value, String> {
        let dir = request.get("dir").and_then(Value::as_str).map(PathBuf::from);
        if let Some(dir) = dir.as_ref().filter(|dir| !dir.is_absolute()) {
            return Err(format!(
                "{} must be an absolute path: every node writes there",
                dir.display()
            ));
        }
        if self.backups.borrow().iter().any(|backup| backup.outcome.borrow().is_none()) {
            return Err("a backup is being made: wait for it, or ABORT BACKUP".into());
        }
        let own_dir = || backup::default_dir(&self.shared.options.dir);
        let id = match request.get("id").and_then(Value::as_u64) {
            Some(id) => {
                u32::try_from(id).ok().filter(|id| *id > 0).ok_or("a backup's id is 1 or more")?
            }
            None => self.next_id(&dir.clone().unwrap_or_else(own_dir)),
        };
        let secret = secret_of(request)?;
        let dir = dir.map(|dir| dir.display().to_string());
        let backup = Rc::new(Backup {
            id,
            began: clock::unix_micros(),
            run: BackupRun::default(),
            outcome: RefCell::new(None),
        });
        let mut backups = self.backups.borrow_mut();
        if backups.len() == BACKUPS_MAX {
            backups.remove(0);
        }
        backups.push(Rc::clone(&backup));
        let (mut session, log) = (client.session(), Arc::clone(&self.shared.log));
        self.spawned.borrow_mut().push(Box::pin(async move {
            log.info(&format!("backup {id} of the cluster begins"));
            let client = session.client().clone();
            // A password takes its time.
            let outcome = match on_thread(&client, "backup", || secret.map(lock_of)).await {
                Ok(lock) => {
                    let wanted = BackupWanted { id, dir, lock };
                    session.backup(&wanted, &backup.run).await
                }
                Err(why) => Err(why),
            };
            match &outcome {
                Ok(()) => log.info(&format!("backup {id} of the cluster is done")),
                Err(why) => log.warn(&format!("backup {id} of the cluster failed: {why}")),
            }
            *backup.outcome.borrow_mut() = Some(outcome);
        }));
        Ok(json!({ "ok": true, "id": id }))
    }

    /// Greater than all that this node knows of.
    fn next_id(&self, dir: &Path) -> u32 {
        let there = std::fs::read_dir(dir).into_iter().flatten().flatten();
        let there = there.filter_map(|entry| {
            entry.file_name().to_str()?.strip_prefix("BACKUP-")?.parse::<u32>().ok()
        });
        let known = self.backups.borrow().iter().map(|backup| backup.id).max().unwrap_or(0);
        there.max().unwrap_or(0).max(known).saturating_add(1)
    }

    /// Those that this node has begun, the newest last.
    pub fn backups(&self) -> Value {
        let backups = self.backups.borrow();
        let all: Vec<Value> = backups.iter().map(|backup| backup.json()).collect();
        json!({ "backups": all })
    }

    pub fn abort_backup(&self, request: &Value) -> Result<Value, String> {
        let id = request.get("id").and_then(Value::as_u64);
        let backups = self.backups.borrow();
        let running = backups.iter().find(|backup| {
            id.is_none_or(|id| u64::from(backup.id) == id) && backup.outcome.borrow().is_none()
        });
        let running = running.ok_or("no such backup is being made by this node")?;
        running.run.is_aborted.set(true);
        Ok(json!({ "ok": true, "id": running.id }))
    }

    // Restores.

    pub fn start_restore(
        self: &Rc<Jobs>,
        client: &Client,
        request: &Value,
    ) -> Result<Value, String> {
        let text = |name: &str| request.get(name).and_then(Value::as_str);
        let dir = PathBuf::from(text("dir").ok_or("restore needs \"dir\"")?);
        let until =
            match (request.get("until").and_then(Value::as_i64), text("archive")) {
                (Some(until), Some(archive)) => Some((until, PathBuf::from(archive))),
                (None, None) => None,
                _ => return Err(
                    "a moment to restore to needs the archive's directory, and the other way round"
                        .into(),
                ),
            };
        let going_on = self.restore.borrow();
        if going_on.as_ref().is_some_and(|restore| restore.outcome.borrow().is_none()) {
            return Err("this node restores another backup: wait for it".into());
        }
        drop(going_on);
        let source = Source { dir, secret: secret_of(request)?, until };
        let names = |name: &str| -> Vec<String> {
            let names = request.get(name).and_then(Value::as_array).into_iter().flatten();
            names.filter_map(|name| name.as_str().map(str::to_string)).collect()
        };
        let tables = request.get("tables").and_then(Value::as_array).into_iter().flatten();
        let tables = tables.filter_map(|table| {
            let part = |name: &str| Some(table.get(name)?.as_str()?.to_string());
            Some((part("database")?, part("table")?))
        });
        let wanted = Wanted { databases: names("databases"), tables: tables.collect() };
        let restore = Rc::new(Restore {
            phase: Cell::new("looks through the files"),
            pipeline: RefCell::new(None),
            moment: Cell::new(0),
            tables: Cell::new(0),
            began: clock::now(),
            outcome: RefCell::new(None),
        });
        *self.restore.borrow_mut() = Some(Rc::clone(&restore));
        let (jobs, client) = (Rc::clone(self), client.clone());
        self.spawned.borrow_mut().push(Box::pin(async move {
            let shown = source.dir.display().to_string();
            let log = Arc::clone(&jobs.shared.log);
            log.info(&format!("the restore of {shown} begins"));
            let outcome = jobs.restore_all(&client, source, &wanted, &restore).await;
            match &outcome {
                Ok(rows) => log.info(&format!("the restore of {shown} is done: {rows} rows")),
                Err(why) => log.warn(&format!("the restore of {shown} failed: {why}")),
            }
            *restore.outcome.borrow_mut() = Some(outcome);
        }));
        Ok(json!({ "ok": true }))
    }

    pub fn restore_status(&self) -> Value {
        let restore = self.restore.borrow();
        let Some(restore) = restore.as_ref() else { return json!({ "state": "none" }) };
        let pipeline = restore.pipeline.borrow();
        let count = |of: fn(&Pipeline) -> u64| pipeline.as_ref().map_or(0, |pipeline| of(pipeline));
        let outcome = restore.outcome.borrow();
        let mut answer = json!({
            "state": match &*outcome { None => "running", Some(Ok(_)) => "done", Some(Err(_)) => "failed" },
            "phase": restore.phase.get(),
            "tables": restore.tables.get(),
            "rows": count(|pipeline| pipeline.rows_written.load(Ordering::Relaxed)),
            "rows_read": count(|pipeline| pipeline.rows_read.load(Ordering::Relaxed)),
            "bytes": count(|pipeline| pipeline.bytes_written.load(Ordering::Relaxed)),
            "seconds": (clock::now() - restore.began) as f64 / 1e6,
        });
        if restore.moment.get() > 0 {
            answer["moment"] = json!(format_unix_micros(restore.moment.get()));
        }
        if let Some(Err(why)) = &*outcome {
            answer["why"] = json!(why);
        }
        answer
    }

    async fn restore_all(
        self: &Rc<Jobs>,
        client: &Client,
        source: Source,
        wanted: &Wanted,
        restore: &Rc<Restore>,
    ) -> Result<u64, String> {
        let found = on_thread(client, "restore", move || restore::find(&source)).await??;
        restore.moment.set(found.unix_micros);
        restore.phase.set("creates the tables");
        let mut session = client.session();
        let tables = wanted.tables_of(&found.history.catalogue)?;
        restore.tables.set(tables.len());
        let made = create_tables(&mut session, &found, &tables).await?;
        restore.phase.set("restores the rows");
        let state = client.state();
        let pipeline = Arc::new(Pipeline::new(usize::from(state.shard_count())));
        *restore.pipeline.borrow_mut() = Some(Arc::clone(&pipeline));
        let targets: BTreeMap<TableId, Target> = made.all;
        let read = {
            let (pipeline, buckets) = (Arc::clone(&pipeline), state.buckets.clone());
            let threads = self.shared.worker_count().max(2);
            on_thread(client, "restore", move || {
                restore::read_all(&found, &targets, &buckets, &pipeline, threads);
            })
        };
        let lanes_left = Rc::new(Cell::new(usize::from(state.shard_count())));
        for lane in 0..lanes_left.get() {
            let (pipeline, left) = (Arc::clone(&pipeline), Rc::clone(&lanes_left));
            let session = client.session();
            self.spawned.borrow_mut().push(Box::pin(async move {
                if let Err(why) = write_lane(session, &pipeline, lane).await {
                    pipeline.fail(why);
                }
                left.set(left.get() - 1);
            }));
        }
        read.await.inspect_err(|why| pipeline.fail(why.clone()))?;
        while lanes_left.get() > 0 {
            client.sleep_ms(POLL_MS).await;
        }
        if let Some(why) = pipeline.failure() {
            return Err(format!(
                "{why}; the tables that it made are there in part: drop them before you try again"
            ));
        }
        restore.phase.set("waits for the disks");
        let sequences = pipeline.sequences.lock().expect("its threads have ended").clone();
        for (from, to) in made.visible {
            if let Some(next) = sequences.get(&from).filter(|next| **next > 1) {
                let raised = session.auto_increment_at_least(&to, next - 1).await;
                raised.map_err(|refusal| format!("AUTO_INCREMENT of {}: {refusal:?}", to.name))?;
            }
        }
        session.await_checkpoint().await.map_err(|refusal| format!("{refusal:?}"))?;
        restore.phase.set("done");
        Ok(pipeline.rows_written.load(Ordering::Relaxed))
    }
}

impl Backup {
    fn json(&self) -> Value {
        let nodes = self.run.nodes.borrow();
        let nodes: Vec<Value> = nodes
            .iter()
            .map(|(node, report)| {
                json!({
                    "node": node.0,
                    "state": state_name(&report.state),
                    "bytes_read": report.bytes_read,
                    "bytes_written": report.bytes_written,
                    "dir": report.dir,
                })
            })
            .collect();
        let outcome = self.outcome.borrow();
        let state = match &*outcome {
            None if self.run.is_aborted.get() => "aborting",
            None => "running",
            Some(Ok(())) => "done",
            Some(Err(_)) if self.run.is_aborted.get() => "aborted",
            Some(Err(_)) => "failed",
        };
        let mut answer = json!({
            "id": self.id,
            "state": state,
            "began": format_unix_micros(self.began),
            "nodes": nodes,
        });
        if let Some(Err(why)) = &*outcome {
            answer["why"] = json!(why);
        }
        answer
    }
}

fn state_name(state: &BackupState) -> &'static str {
    match state {
        BackupState::Unknown => "waiting",
        BackupState::Running => "running",
        BackupState::Done => "done",
        BackupState::TooLate => "begins again",
        BackupState::Failed(_) => "failed",
    }
}

/// What encrypts a backup whose user has this secret.
fn lock_of(secret: Secret) -> BackupLock {
    match secret {
        Secret::Key(key) => BackupLock { key: SecretKey(key), password: None },
        Secret::Password(password) => {
            let salt: [u8; 16] = random::bytes();
            let key = key_of_password(&password, &salt, PASSWORD_ITERATIONS);
            let password =
                PasswordSalt { salt: Bytes(salt.to_vec()), iterations: PASSWORD_ITERATIONS };
            BackupLock { key: SecretKey(key), password: Some(password) }
        }
    }
}

/// "password", or "key" as 64 hexadecimal digits.
fn secret_of(request: &Value) -> Result<Option<Secret>, String> {
    let text = |name: &str| request.get(name).and_then(Value::as_str);
    match (text("password"), text("key")) {
        (None, None) => Ok(None),
        (Some(""), None) => Err("the password is empty".into()),
        (Some(password), None) => Ok(Some(Secret::Password(password.to_string()))),
        (None, Some(digits)) => {
            let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
            let key: Option<Vec<u8>> = (0..32).map(|index| byte(2 * index)).collect();
            let key = key.filter(|_| digits.len() == 64).and_then(|key| key.try_into().ok());
            key.map(|key| Some(Secret::Key(key))).ok_or_else(|| "a key is 32 bytes".to_string())
        }
        (Some(_), Some(_)) => Err("give a password or a key, not both".into()),
    }
}

/// Waits for work that takes its time, without holding the worker up.
async fn on_thread<T: Send + 'static>(
    client: &Client,
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let spawned = std::thread::Builder::new().name(name.into()).spawn(move || {
        let _ = sender.send(work());
    });
    spawned.map_err(|error| format!("cannot start a thread: {error}"))?;
    loop {
        match receiver.try_recv() {
            Ok(done) => return Ok(done),
            Err(std::sync::mpsc::TryRecvError::Empty) => client.sleep_ms(POLL_MS).await,
            Err(std::sync::mpsc::TryRecvError::Disconnected) => {
                return Err(format!("the thread {name} has panicked: the standard error says why"));
            }
        }
    }
}

/// Which tables: all, or those that are named.
struct Wanted {
    databases: Vec<String>,
    tables: Vec<(String, String)>,
}

impl Wanted {
    /// In the order of their ids.
    fn tables_of(&self, catalogue: &Catalogue) -> Result<Vec<Arc<Table>>, String> {
        let mut found: BTreeMap<TableId, Arc<Table>> = BTreeMap::new();
        let mut add = |table: &Arc<Table>| found.insert(table.id, Arc::clone(table));
        let public = |id: &TableId| {
            catalogue.tables.get(id).filter(|table| table.state == TableState::Public)
        };
        for name in &self.databases {
            let database = catalogue.database(name);
            let database = database.ok_or_else(|| format!("there was no database {name} then"))?;
            database.tables.values().filter_map(public).for_each(|table| {
                add(table);
            });
        }
        for (database, name) in &self.tables {
            let table = catalogue.table(database, name);
            add(table.ok_or_else(|| format!("there was no table {database}.{name} then"))?);
        }
        if self.databases.is_empty() && self.tables.is_empty() {
            for database in catalogue.databases.values() {
                database.tables.values().filter_map(public).for_each(|table| {
                    add(table);
                });
            }
        }
        Ok(found.into_values().collect())
    }
}

struct Made {
    /// By the table's id in the backup, hidden ones too.
    all: BTreeMap<TableId, Target>,
    visible: Vec<(TableId, Arc<Table>)>,
}

async fn create_tables(
    session: &mut Session,
    found: &Found,
    tables: &[Arc<Table>],
) -> Result<Made, String> {
    let client = session.client().clone();
    let before = client.catalogue();
    let taken: Vec<String> = tables
        .iter()
        .filter(|table| before.table(&table.database, &table.name).is_some())
        .map(|table| format!("{}.{}", table.database, table.name))
        .collect();
    if !taken.is_empty() {
        return Err(format!(
            "there is a table {} already: rename or drop it, or restore others (--table, --database)",
            taken.join(", ")
        ));
    }
    let refused = |name: &str, refusal: Refusal| format!("{name} cannot be created: {refusal:?}");
    let old = &found.history.catalogue;
    for database in old.databases.values() {
        let is_wanted =
            tables.iter().any(|table| table.database.eq_ignore_ascii_case(&database.name));
        let is_whole =
            tables.len() == old.databases.values().map(|of| of.tables.len()).sum::<usize>();
        if (is_wanted || is_whole) && client.catalogue().database(&database.name).is_none() {
            let (name, collation) = (database.name.clone(), database.collation);
            let change = SchemaChange::CreateDatabase { name, collation };
            let made = session.change_schema(change).await;
            made.map_err(|refusal| refused(&database.name, refusal))?;
        }
    }
    let mut made = Made { all: BTreeMap::new(), visible: Vec::new() };
    for table in tables {
        let mut definition = (**table).clone();
        definition.indexes.retain(|index| index.state == IndexState::Public);
        let change = SchemaChange::CreateTable(Box::new(definition.clone()));
        let catalogue = session.change_schema(change).await;
        let catalogue = catalogue.map_err(|refusal| refused(&table.name, refusal))?;
        let gone = || format!("table {} was dropped at once by somebody", table.name);
        let to = catalogue.table(&table.database, &table.name).cloned().ok_or_else(gone)?;
        for (old_index, new_index) in definition.indexes.iter().zip(&to.indexes) {
            if let (IndexKind::Unique { entries: from }, IndexKind::Unique { entries: to }) =
                (&old_index.kind, &new_index.kind)
                && let (Some(from), Some(to)) = (old.tables.get(from), catalogue.tables.get(to))
            {
                made.all.insert(from.id, Target { from: Arc::clone(from), to: Arc::clone(to) });
            }
        }
        made.visible.push((table.id, Arc::clone(&to)));
        made.all.insert(table.id, Target { from: Arc::clone(table), to });
    }
    Ok(made)
}

/// Writes what comes through a lane until nothing more does.
async fn write_lane(mut session: Session, pipeline: &Pipeline, lane: usize) -> Result<(), String> {
    let client = session.client().clone();
    loop {
        let batch = match pipeline.take(lane) {
            Err(()) => return Ok(()),
            Ok(None) => {
                client.sleep_ms(POLL_MS).await;
                continue;
            }
            Ok(Some(batch)) => batch,
        };
        let (rows, bytes) = (batch.len() as u64, batch.iter().map(Change::bytes).sum::<usize>());
        write_batch(&mut session, &client, batch).await?;
        pipeline.rows_written.fetch_add(rows, Ordering::Relaxed);
        pipeline.bytes_written.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

async fn write_batch(
    session: &mut Session,
    client: &Client,
    batch: Vec<Change>,
) -> Result<(), String> {
    let began = client.now();
    let mut ops: Vec<(TableId, OpKind)> = Vec::with_capacity(batch.len());
    for Change { table, key, row } in batch {
        let key = Bytes(key);
        ops.push(match row {
            Some(row) => (table, OpKind::Put { key, row: Bytes(row) }),
            None => (table, OpKind::Delete { key, filter: None }),
        });
    }
    loop {
        let catalogue = client.catalogue();
        let with_version = |(table, kind): &(TableId, OpKind)| {
            let version = catalogue.table_by_id(*table)?.version;
            Some(Op { table: *table, version, kind: kind.clone() })
        };
        let ops: Option<Vec<Op>> = ops.iter().map(with_version).collect();
        let ops = ops.ok_or("a table was dropped while its rows were restored")?;
        let batch = Batch {
            ops,
            commit: true,
            lock_wait_timeout_ms: LOCK_WAIT_TIMEOUT_MS,
            // The end waits for the disks, once for all.
            durability: Some(Durability::Memory),
            ..Batch::default()
        };
        session.next_statement();
        match session.execute(batch).await {
            Ok(_) => return Ok(()),
            // Done again, it is the same.
            Err(
                Refusal::Deadlock
                | Refusal::LockWaitTimeout
                | Refusal::RolledBack
                | Refusal::OutcomeUnknown(_)
                | Refusal::SchemaChanged { .. }
                | Refusal::DefinitionChanged { .. }
                | Refusal::Unavailable(_),
            ) if client.now() < began + RETRY_US => client.sleep_ms(100).await,
            Err(Refusal::MemoryFull { .. }) => {
                return Err("the memory for rows is full: give the nodes more (--memory)".into());
            }
            Err(refusal) => return Err(format!("rows cannot be written: {refusal:?}")),
        }
    }
}
