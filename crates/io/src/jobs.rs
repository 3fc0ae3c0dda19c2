//! Work of the management socket that continues behind the request that began it: backups and
//! restores. It belongs to worker 0, on whose executor it runs; later requests ask for its
//! progress.

mod restore;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use client::{BackupRun, BackupWanted, Client, Refusal, SchemaChange};
use disk::copy::{PASSWORD_ITERATIONS, Secret, key_of_password};
use protocol::backup::{BackupLock, BackupState, PasswordSalt, SecretKey};
use protocol::control::ControlState;
use serde_json::{Value, json};
use sql::bind::table::filler_of;
use types::TableId;
use types::wire::Bytes;

use self::restore::Restore;
use crate::backup;
use crate::clock::{self, format_unix_micros};
use crate::random;
use crate::server::Shared;

type Job = Pin<Box<dyn Future<Output = ()>>>;

/// Backups that are over: the last few are remembered.
const BACKUPS_MAX: usize = 32;
/// Interval at which a task that waits for a thread checks it.
const POLL_MS: u64 = 1;
/// Time after which a directory that cannot be listed counts as hanging: the requester waits a little longer.
const ID_WAIT_US: u64 = 2_000_000;
/// Interval of the search for tables that no restore fills any more.
const UNFINISHED_INTERVAL_MS: u64 = 5_000;

pub struct Jobs {
    shared: Arc<Shared>,
    backups: RefCell<Vec<Rc<Backup>>>,
    restore: RefCell<Option<Rc<Restore>>>,
    /// Of those that were begun: the names of their tables are not used twice.
    restore_count: Cell<u32>,
    /// To be taken on by the executor.
    spawned: RefCell<Vec<Job>>,
}

struct Backup {
    id: u32,
    began: i64,
    run: BackupRun,
    /// None: it continues.
    outcome: RefCell<Option<Result<(), String>>>,
}

impl Jobs {
    pub fn new(shared: Arc<Shared>) -> Jobs {
        Jobs {
            shared,
            backups: RefCell::default(),
            restore: RefCell::default(),
            restore_count: Cell::default(),
            spawned: RefCell::default(),
        }
    }

    /// Begins the work that no request asks for.
    pub fn begin(&self, client: &Client) {
        let (shared, client) = (Arc::clone(&self.shared), client.clone());
        self.spawned.borrow_mut().push(Box::pin(drop_unfinished(shared, client)));
    }

    /// What is to be taken on by the executor.
    pub fn take_spawned(&self) -> Vec<Job> {
        std::mem::take(&mut *self.spawned.borrow_mut())
    }

    // Backups.

    pub async fn start_backup(
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
        let own_dir = || backup::default_dir(&self.shared.options.dir);
        let id = match request.get("id").and_then(Value::as_u64) {
            Some(id) => {
                u32::try_from(id).ok().filter(|id| *id > 0).ok_or("a backup's id is 1 or more")?
            }
            None => {
                let dir = dir.clone().unwrap_or_else(own_dir);
                // What it is on may hang.
                let last = move || last_id(&dir);
                let there = on_thread_within(client, "backup ids", ID_WAIT_US, last).await?;
                let there = there.ok_or(
                    "the directory of the backups does not answer: START BACKUP with an id, TO another one",
                )?;
                self.next_id(there)
            }
        };
        if self.backups.borrow().iter().any(|backup| backup.outcome.borrow().is_none()) {
            return Err("a backup is being made: wait for it, or ABORT BACKUP".into());
        }
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
    fn next_id(&self, there: u32) -> u32 {
        let known = self.backups.borrow().iter().map(|backup| backup.id).max().unwrap_or(0);
        there.max(known).saturating_add(1)
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
}

/// The greatest id of the backups in a directory.
fn last_id(dir: &Path) -> u32 {
    let there = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let ids = there.filter_map(|entry| {
        entry.file_name().to_str()?.strip_prefix("BACKUP-")?.parse::<u32>().ok()
    });
    ids.max().unwrap_or(0)
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

/// Tables that a restore or a CREATE TABLE ... SELECT has not finished go with the boot of the node that filled them. The first of the
/// nodes that have rows sees to it.
async fn drop_unfinished(shared: Arc<Shared>, client: Client) {
    loop {
        client.sleep_ms(UNFINISHED_INTERVAL_MS).await;
        let state = client.state();
        if !shared.is_ready() || state.data_nodes().first() != Some(&shared.node.node) {
            continue;
        }
        for id in unfinished_of_the_dead(&state) {
            let dropped = client.session().change_schema(SchemaChange::DropTable { id }).await;
            if dropped.is_ok() {
                shared.log.info(&format!(
                    "table {id} is dropped: the node that was filling it has ended"
                ));
            }
        }
    }
}

fn unfinished_of_the_dead(state: &ControlState) -> Vec<TableId> {
    let tables = state.catalogue.databases.values().flat_map(|database| &database.tables);
    let is_over = |name: &str| {
        filler_of(name).is_some_and(|(node, boot)| state.incarnations.get(&node) != Some(&boot))
    };
    tables.filter(|(name, _)| is_over(name)).map(|(_, id)| *id).collect()
}

/// Why something was refused, as a client of this node would hear it.
pub fn words(refusal: Refusal, client: &Client) -> String {
    match refusal {
        Refusal::Unavailable(why) => why,
        refusal => sql::execute::error_of(refusal, &client.catalogue()).message,
    }
}

/// Waits for work that takes its time, without holding the worker up.
async fn on_thread<T: Send + 'static>(
    client: &Client,
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let done = on_thread_within(client, name, u64::MAX, work).await?;
    Ok(done.expect("it is waited for as long as it takes"))
}

/// Returns `None` after `wait_us` microseconds; the thread still finishes and its result is dropped.
async fn on_thread_within<T: Send + 'static>(
    client: &Client,
    name: &str,
    wait_us: u64,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Option<T>, String> {
    let began = clock::now();
    on_thread_until(client, name, || wait_us <= clock::now() - began, work).await
}

/// Returns `None` once `is_over` is true; the thread still finishes and its result is dropped.
async fn on_thread_until<T: Send + 'static>(
    client: &Client,
    name: &str,
    mut is_over: impl FnMut() -> bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Option<T>, String> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let spawned = std::thread::Builder::new().name(name.into()).spawn(move || {
        let _ = sender.send(work());
    });
    spawned.map_err(|error| format!("cannot start a thread: {error}"))?;
    loop {
        match receiver.try_recv() {
            Ok(done) => return Ok(Some(done)),
            Err(std::sync::mpsc::TryRecvError::Empty) if !is_over() => {
                client.sleep_ms(POLL_MS).await;
            }
            Err(std::sync::mpsc::TryRecvError::Empty) => return Ok(None),
            Err(std::sync::mpsc::TryRecvError::Disconnected) => {
                return Err(format!("the thread {name} has panicked: the standard error says why"));
            }
        }
    }
}
