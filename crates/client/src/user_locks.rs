//! User-level locks: GET_LOCK() and its like, over all nodes of the cluster (decision 26).
//!
//! A lock that is held is a committed row of a hidden table, written by a transaction of its own, so
//! it survives the loss of any node but its owner's. The row names its owner: the lineage of the
//! cluster, the boot of the node and the number of the connection. A row whose boot is excluded, or
//! whose lineage has ended, is no lock: the next session that wants the name takes the row over, by
//! an update that expects the former owner. A session that has a lock and waits for another one
//! publishes the name as a second row, so that deadlocks are found by following owners.
//!
//! Nothing here waits for long: [`UserLocks::step`] tries once, and the caller pauses in between,
//! because only the caller knows whether its statement was killed.

use std::collections::BTreeMap;
use std::sync::Arc;

use protocol::Refusal;
use protocol::control::Durability;
use protocol::op::{
    Assignment, Batch, Columns, KeyRange, Lock, Op, OpKind, OpResult, ReadAt, Scan, ScanOutput,
};
use protocol::schema::{HIDDEN_DATABASE, USER_LOCKS_NAME, USER_LOCKS_TABLE};
use types::expr::{BinaryOp, Expr};
use types::wire::Bytes;
use types::{Incarnation, IndexId, Lineage, RowView, Table, Value, ValueRef, key, row};

use crate::driver::Client;
use crate::lock_queue::Place;

/// Locks that one session may hold.
pub const USER_LOCKS_MAX: usize = 1_000;
/// Bytes of a name, at most: 64 characters.
pub const USER_LOCK_NAME_BYTES_MAX: usize = 256;

/// Wait for another transaction that writes the same row: each is over after a round trip, unless a
/// node fails meanwhile.
const ROW_WAIT_MS: u32 = 2_000;
/// Attempts at a change that is lost with a node, at intervals that double.
const RETRIES_MAX: u32 = 6;
/// The pause between attempts to free the locks of a session that ends.
const FREE_PAUSE_MAX_MS: u64 = 1_000;
/// The longest chain of owners that wait for each other which is followed.
const CHAIN_MAX: usize = 100;
/// Rows of owners that are gone which are removed at a time, of each shard.
const PURGE_COUNT: u64 = 1_000;

/// The first byte of a key: a lock by its name, or a session that waits by its owner.
const OF_LOCK: u8 = b'L';
const OF_WAIT: u8 = b'W';

mod column {
    pub const NAME: usize = 0;
    pub const LINEAGE: usize = 1;
    pub const BOOT: usize = 2;
    pub const CONNECTION: usize = 3;
    pub const NUMBER: usize = 4;
    pub const SINCE: usize = 5;
    pub const WAITS_FOR: usize = 6;
}

/// A session of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Owner {
    lineage: Lineage,
    boot: Incarnation,
    connection: u32,
}

/// A row of the table: a lock, or a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LockRow {
    owner: Owner,
    /// Counts the locks and waits of the owner, so that a row is never taken for a later one.
    number: u64,
    /// Unix time in microseconds of the owner's node. Orders the waits of a deadlock.
    since: u64,
    /// Of a wait: the name of the lock.
    waits_for: String,
}

/// What became of a step towards a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockStep {
    /// The session holds it.
    Taken,
    TimedOut,
    /// Waiting on would last for ever: the owner waits for this session.
    Deadlock,
    /// Another session holds it. Call [`LockWait::pause`], then the next step.
    Held,
}

/// A session's way to one lock.
pub struct LockWait {
    name: String,
    client: Client,
    /// The worker's clock; none: without limit.
    deadline: Option<u64>,
    place: Option<Place>,
    is_published: bool,
}

impl LockWait {
    /// Until it may be worth trying again, or the time is over.
    pub async fn pause(&self) {
        let left = match self.deadline {
            Some(deadline) => deadline.saturating_sub(self.client.now()),
            None => u64::MAX,
        };
        if let Some(place) = &self.place {
            place.pause(left).await;
        }
    }
    fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= self.client.now())
    }
}

/// What RELEASE_LOCK() finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    Released,
    /// Another session holds it.
    NotOwner,
    /// No session holds it.
    NotHeld,
}

/// The user-level locks of one session.
pub struct UserLocks {
    client: Client,
    connection: u32,
    /// As of the first lock.
    owner: Option<Owner>,
    /// How often each lock was taken. 0: it may be held, because an answer was lost; no client
    /// was told.
    held: BTreeMap<String, u64>,
    number_last: u64,
    /// A row says what this session waits for, or may.
    is_wait_published: bool,
}

impl UserLocks {
    /// `connection` is unique over the sessions of all nodes.
    pub fn new(client: Client, connection: u32) -> UserLocks {
        UserLocks {
            client,
            connection,
            owner: None,
            held: BTreeMap::new(),
            number_last: 0,
            is_wait_published: false,
        }
    }

    /// Has this cluster the table of locks? One that was made by a version without them has not.
    pub fn are_kept(client: &Client) -> bool {
        table(client).is_some()
    }

    /// Names of locks that the session holds.
    pub fn held_count(&self) -> usize {
        self.held.values().filter(|count| 0 < **count).count()
    }

    /// Begins to take a lock. The timeout is in microseconds; none: without limit.
    pub fn begin(&self, name: &str, timeout_us: Option<u64>) -> LockWait {
        assert!((1..=USER_LOCK_NAME_BYTES_MAX).contains(&name.len()), "a checked name");
        let client = self.client.clone();
        let deadline = timeout_us.map(|timeout| client.now().saturating_add(timeout));
        LockWait { name: name.into(), client, deadline, place: None, is_published: false }
    }

    /// One try. After anything but [`LockStep::Held`] the wait is over.
    pub async fn step(&mut self, wait: &mut LockWait) -> Result<LockStep, Refusal> {
        let step = self.step_once(wait).await;
        if !matches!(step, Ok(LockStep::Held)) {
            self.end(wait).await;
        }
        step
    }

    async fn step_once(&mut self, wait: &mut LockWait) -> Result<LockStep, Refusal> {
        let owner = self.owner()?;
        if self.held.get(&wait.name).is_some_and(|count| 0 < *count) {
            // The row tells, and only a member can read it: a node that is cut off grants nothing.
            let row = self.read_again(&lock_key(&wait.name)).await?;
            if row.is_some_and(|row| row.owner == owner) {
                *self.held.entry(wait.name.clone()).or_insert(0) += 1;
                return Ok(LockStep::Taken);
            }
            self.held.remove(&wait.name);
        }
        if USER_LOCKS_MAX <= self.held.len() {
            return Err(Refusal::LimitReached(format!(
                "a session holds {USER_LOCKS_MAX} user-level locks at most"
            )));
        }
        let may_ask = match &wait.place {
            Some(place) => place.may_ask(),
            // Behind those that wait already, unless it does not wait.
            None => wait.is_over() || !self.client.is_lock_awaited(&wait.name),
        };
        if may_ask && self.take(&wait.name, owner).await? {
            self.purge().await;
            return Ok(LockStep::Taken);
        }
        if wait.is_over() {
            return Ok(LockStep::TimedOut);
        }
        if wait.place.is_none() {
            wait.place = Some(Place::new(&self.client, &wait.name));
        }
        if 0 < self.held_count() {
            if !wait.is_published {
                self.publish_wait(&wait.name, owner).await?;
                wait.is_published = true;
            }
            if self.is_victim(owner).await? {
                return Ok(LockStep::Deadlock);
            }
        }
        Ok(LockStep::Held)
    }

    /// Gives a wait up: its statement was killed, or has ended.
    pub async fn end(&mut self, wait: &mut LockWait) {
        wait.place = None;
        // What stays undone here is done before the next wait, or when the session ends. Until then a
        // wait that is over may make a deadlock of another session's wait.
        let _ = self.withdraw_wait().await;
        if self.held.get(&wait.name) == Some(&0) {
            let _ = self.delete(std::slice::from_ref(&wait.name)).await;
        }
    }

    /// RELEASE_LOCK().
    pub async fn release(&mut self, name: &str) -> Result<Released, Refusal> {
        self.owner()?;
        match self.held.get_mut(name) {
            Some(count) if 1 < *count => {
                *count -= 1;
                return Ok(Released::Released);
            }
            Some(count) => {
                let was_held = 0 < *count;
                self.delete(&[name.to_string()]).await?;
                if was_held {
                    return Ok(Released::Released);
                }
            }
            None => {}
        }
        Ok(match self.holder(name).await? {
            Some(_) => Released::NotOwner,
            None => Released::NotHeld,
        })
    }

    /// RELEASE_ALL_LOCKS(): how often the released locks were taken, together.
    pub async fn release_all(&mut self) -> Result<u64, Refusal> {
        if self.held.is_empty() && !self.is_wait_published {
            return Ok(0);
        }
        self.owner()?;
        let count = self.held.values().sum();
        self.withdraw_wait().await?;
        let names: Vec<String> = self.held.keys().cloned().collect();
        for some in names.chunks(64) {
            self.delete(some).await?;
        }
        Ok(count)
    }

    /// Frees what the session holds, when it ends or begins anew: again until that is done, or the
    /// node's boot is over and its locks with it.
    pub async fn free(&mut self) {
        let mut pause_ms = 1;
        while !self.is_over() && self.release_all().await.is_err() {
            self.client.sleep_ms(pause_ms).await;
            pause_ms = (2 * pause_ms).min(FREE_PAUSE_MAX_MS);
        }
        self.held.clear();
        self.is_wait_published = false;
    }

    /// The connection that holds a lock.
    pub async fn holder(&self, name: &str) -> Result<Option<u32>, Refusal> {
        let found = self.read_again(&lock_key(name)).await?;
        Ok(found.filter(|row| !is_gone(&self.client, row.owner)).map(|row| row.owner.connection))
    }

    /// This session, as rows name it. With another lineage of the cluster all locks are gone.
    fn owner(&mut self) -> Result<Owner, Refusal> {
        let state = self.client.state();
        let boot = state.incarnations.get(&self.client.node()).copied();
        let Some(boot) = boot.filter(|_| state.is_formed()) else { return Err(not_a_member()) };
        let now = Owner { lineage: state.lineage, boot, connection: self.connection };
        match self.owner {
            Some(own) if own.boot != boot => return Err(not_a_member()),
            Some(own) if own == now => {}
            _ => {
                self.held.clear();
                self.is_wait_published = false;
                self.owner = Some(now);
            }
        }
        Ok(now)
    }

    /// Is the boot over that the session's locks are held by?
    fn is_over(&self) -> bool {
        self.owner.is_none_or(|owner| is_gone(&self.client, owner))
    }

    /// Takes the lock if no session holds it.
    async fn take(&mut self, name: &str, owner: Owner) -> Result<bool, Refusal> {
        let mut retries = 0;
        loop {
            match self.take_once(name, owner).await {
                Ok(is_taken) => {
                    match is_taken {
                        true => self.held.insert(name.into(), 1),
                        false => self.held.remove(name),
                    };
                    return Ok(is_taken);
                }
                // Another session is about to take or release it.
                Err(Refusal::LockWaitTimeout) => return Ok(false),
                Err(refusal) => self.retry(&mut retries, refusal).await?,
            }
        }
    }

    async fn take_once(&mut self, name: &str, owner: Owner) -> Result<bool, Refusal> {
        let key = lock_key(name);
        let table = known_table(&self.client)?;
        loop {
            let found = self.read(&key).await?;
            let kind = match &found {
                // The answer to an earlier try was lost.
                Some(row) if row.owner == owner => return Ok(true),
                Some(row) if !is_gone(&self.client, row.owner) => return Ok(false),
                Some(row) => take_over(&table, &key, row, &self.next_row(owner, "")),
                None => OpKind::Insert {
                    key: encoded_key(&table, &key),
                    row: encoded_row(&table, &key, &self.next_row(owner, "")),
                },
            };
            // From here on the row may be this session's.
            self.held.insert(name.into(), 0);
            match self.change(&table, vec![kind]).await {
                Ok(results) => match results.first() {
                    Some(OpResult::Updated { matched: false, .. }) => {}
                    _ => return Ok(true),
                },
                Err(Refusal::DuplicateKey { .. }) => {}
                Err(refusal) => return Err(refusal),
            }
        }
    }

    /// Deletes the rows of these locks, where they are this session's. Whatever the answers to earlier
    /// changes of these rows were: this change comes after those.
    async fn delete(&mut self, names: &[String]) -> Result<(), Refusal> {
        self.delete_keys(names.iter().map(|name| lock_key(name)).collect()).await?;
        for name in names {
            self.held.remove(name);
            self.client.lock_released(name);
        }
        Ok(())
    }

    async fn delete_keys(&self, keys: Vec<Vec<u8>>) -> Result<(), Refusal> {
        let Some(owner) = self.owner else { return Ok(()) };
        let table = known_table(&self.client)?;
        let delete = |key: &Vec<u8>| OpKind::Delete {
            key: encoded_key(&table, key),
            filter: Some(is_row_of(owner, None)),
        };
        let mut retries = 0;
        loop {
            match self.change(&table, keys.iter().map(delete).collect()).await {
                Ok(_) => return Ok(()),
                Err(refusal) => self.retry(&mut retries, refusal).await?,
            }
        }
    }

    // Deadlocks.

    async fn publish_wait(&mut self, name: &str, owner: Owner) -> Result<(), Refusal> {
        let table = known_table(&self.client)?;
        let key = wait_key(owner);
        let row = encoded_row(&table, &key, &self.next_row(owner, name));
        let put = OpKind::Put { key: encoded_key(&table, &key), row };
        self.is_wait_published = true;
        let mut retries = 0;
        loop {
            match self.change(&table, vec![put.clone()]).await {
                Ok(_) => return Ok(()),
                Err(refusal) => self.retry(&mut retries, refusal).await?,
            }
        }
    }

    async fn withdraw_wait(&mut self) -> Result<(), Refusal> {
        if let Some(owner) = self.owner.filter(|_| self.is_wait_published) {
            self.delete_keys(vec![wait_key(owner)]).await?;
            self.is_wait_published = false;
        }
        Ok(())
    }

    /// Does this session wait in a deadlock, and is its wait the newest of it? All waits of a deadlock
    /// are seen by the session that publishes the last of them, and by all others at their next steps;
    /// so one of them gives up, the same one in the eyes of all.
    async fn is_victim(&self, owner: Owner) -> Result<bool, Refusal> {
        let Some(chain) = self.circle(owner).await? else { return Ok(false) };
        let newest = chain.iter().map(|(wait, _)| (wait.since, wait.owner)).max();
        if newest.is_none_or(|(_, newest)| newest != owner) {
            return Ok(false);
        }
        // The rows were read one after the other. Those that are there twice were there in between,
        // all at once; a session in a deadlock does not continue by itself.
        Ok(self.circle(owner).await? == Some(chain))
    }

    /// The waits and locks from this session back to it, if its wait leads there.
    async fn circle(&self, owner: Owner) -> Result<Option<Vec<(LockRow, LockRow)>>, Refusal> {
        let mut chain = Vec::new();
        let mut waiter = owner;
        while chain.len() < CHAIN_MAX {
            let Some(wait) = self.read_again(&wait_key(waiter)).await? else { return Ok(None) };
            let lock = self.read_again(&lock_key(&wait.waits_for)).await?;
            let Some(lock) = lock.filter(|lock| !is_gone(&self.client, lock.owner)) else {
                return Ok(None);
            };
            waiter = lock.owner;
            chain.push((wait, lock));
            if waiter == owner {
                return Ok(Some(chain));
            }
        }
        Ok(None)
    }

    // Rows.

    fn next_row(&mut self, owner: Owner, waits_for: &str) -> LockRow {
        self.number_last += 1;
        let since = u64::try_from(self.client.wall_clock_micros()).unwrap_or(0);
        LockRow { owner, number: self.number_last, since, waits_for: waits_for.into() }
    }

    /// The row with this key as it is committed now.
    async fn read(&self, key: &[u8]) -> Result<Option<LockRow>, Refusal> {
        let table = known_table(&self.client)?;
        let encoded = encoded_key(&table, key);
        let mut row = None;
        let mut visit = |found: Option<&[u8]>| row = found.map(|found| decoded_row(&table, found));
        if self.client.read_latest(&table, &encoded.0, &mut visit) {
            return Ok(row);
        }
        let (lock, filter, columns) = (Lock::None, None, Columns::All);
        let read = OpKind::Read { key: encoded, lock, filter, columns };
        let mut results = self.change(&table, vec![read]).await?;
        match results.pop() {
            Some(OpResult::Row(row)) => Ok(row.map(|row| decoded_row(&table, &row.0))),
            other => unreachable!("{other:?} to a read"),
        }
    }

    async fn read_again(&self, key: &[u8]) -> Result<Option<LockRow>, Refusal> {
        let mut retries = 0;
        loop {
            match self.read(key).await {
                Ok(row) => return Ok(row),
                Err(refusal) => self.retry(&mut retries, refusal).await?,
            }
        }
    }

    /// A transaction of its own, whatever the session has open.
    async fn change(&self, table: &Table, kinds: Vec<OpKind>) -> Result<Vec<OpResult>, Refusal> {
        execute(&self.client, table, kinds).await
    }

    /// Waits before a change that was lost with a node is made again; any other refusal is handed back.
    async fn retry(&self, retries: &mut u32, refusal: Refusal) -> Result<(), Refusal> {
        *retries += match refusal {
            Refusal::RolledBack
            | Refusal::Deadlock
            | Refusal::LockWaitTimeout
            | Refusal::SnapshotConflict
            | Refusal::SnapshotTooOld
            | Refusal::SchemaChanged { .. }
            | Refusal::DefinitionChanged { .. } => 1,
            // These took seconds.
            Refusal::OutcomeUnknown(_) | Refusal::NotDurable(_) => RETRIES_MAX / 2,
            other => return Err(other),
        };
        if RETRIES_MAX < *retries {
            let why =
                "the row of a user-level lock could not be changed: nodes were lost meanwhile";
            return Err(Refusal::Unavailable(why.into()));
        }
        self.client.sleep_ms(1 << *retries).await;
        Ok(())
    }

    /// Removes some rows of owners that are gone, if any are gone that were not when this worker did so
    /// last. The next session removes the rest.
    async fn purge(&self) {
        let state = self.client.state();
        let mark = (state.lineage, state.excluded.len());
        if self.client.shared.locks_purged.replace(mark) == mark || state.excluded.is_empty() {
            return;
        }
        let is_complete = purge_once(&self.client).await;
        if !is_complete.unwrap_or(false) {
            self.client.shared.locks_purged.take();
        }
    }
}

/// True: there are no more such rows.
async fn purge_once(client: &Client) -> Result<bool, Refusal> {
    let table = known_table(client)?;
    let state = client.state();
    let differs = |column: usize, value: u64| {
        let value = Expr::Const(Value::UInt(value));
        Expr::Binary(BinaryOp::NotEqual, Box::new(Expr::Column(column as u16)), Box::new(value))
    };
    // A boot that is none of these may be newer than this worker's state: that is looked at below.
    let boots = state.incarnations.values().map(|boot| differs(column::BOOT, boot.0));
    let of_other_boots = Expr::And(boots.collect());
    let of_other_lineages = differs(column::LINEAGE, state.lineage.0);
    let scan = Scan {
        index: IndexId(0),
        ranges: vec![KeyRange::all()],
        reverse: false,
        filter: Some(Expr::Or(vec![of_other_boots, of_other_lineages])),
        output: ScanOutput::Rows { columns: Columns::All, with_keys: false },
        limit: Some(PURGE_COUNT),
        lock: Lock::None,
        semi_consistent: false,
        peek: false,
        resume: None,
        shard: None,
    };
    let found = execute(client, &table, vec![OpKind::Scan(Box::new(scan))]).await?;
    let layout = table.row_layout();
    let mut is_complete = true;
    let mut deletes = Vec::new();
    for result in found {
        let OpResult::Rows(rows) = result else { unreachable!("{result:?} to a scan") };
        is_complete &= (rows.len() as u64) < PURGE_COUNT && rows.next.is_none();
        for position in 0..rows.len() {
            let row = decoded_row(&table, rows.row(position));
            if is_gone(client, row.owner) {
                let key = bytes_of(&RowView::new(&layout, rows.row(position)), column::NAME);
                let filter = Some(is_row_of(row.owner, Some(row.number)));
                deletes.push(OpKind::Delete { key: encoded_key(&table, key), filter });
            }
        }
    }
    for delete in deletes {
        execute(client, &table, vec![delete]).await?;
    }
    Ok(is_complete)
}

async fn execute(
    client: &Client,
    table: &Table,
    kinds: Vec<OpKind>,
) -> Result<Vec<OpResult>, Refusal> {
    let op = |kind: OpKind| Op { table: table.id, version: table.version, kind };
    let batch = Batch {
        ops: kinds.into_iter().map(op).collect(),
        commit: true,
        read_at: ReadAt::Statement,
        lock_wait_timeout_ms: ROW_WAIT_MS,
        is_waited_for: true,
        // A restart of the whole cluster frees all locks.
        durability: Some(Durability::Memory),
        ..Batch::default()
    };
    let result = client.session().execute(batch).await?;
    Ok(result.results.into_iter().flatten().collect())
}

/// Is this owner no session any more? A boot that this worker has not heard of yet is not over.
fn is_gone(client: &Client, owner: Owner) -> bool {
    let state = client.state();
    state.is_over(owner.boot) || owner.lineage < state.lineage
}

fn not_a_member() -> Refusal {
    Refusal::Unavailable("this node is not a member of the cluster now".into())
}

fn table(client: &Client) -> Option<Arc<Table>> {
    let catalogue = client.catalogue();
    let table = catalogue.tables.get(&USER_LOCKS_TABLE)?;
    let is_it = table.name == USER_LOCKS_NAME && table.database == HIDDEN_DATABASE;
    is_it.then(|| Arc::clone(table))
}

fn known_table(client: &Client) -> Result<Arc<Table>, Refusal> {
    let missing = || Refusal::Unavailable("this cluster has no table of user-level locks".into());
    table(client).ok_or_else(missing)
}

fn lock_key(name: &str) -> Vec<u8> {
    [&[OF_LOCK], name.as_bytes()].concat()
}

fn wait_key(owner: Owner) -> Vec<u8> {
    let (boot, connection) = (owner.boot.0.to_be_bytes(), owner.connection.to_be_bytes());
    [&[OF_WAIT], &boot[..], &connection[..]].concat()
}

fn encoded_key(table: &Table, key: &[u8]) -> Bytes {
    Bytes(key::primary_key_of_values(table, &[ValueRef::Bytes(key)]).expect("names are short"))
}

fn encoded_row(table: &Table, key: &[u8], row: &LockRow) -> Bytes {
    let values = [
        ValueRef::Bytes(key),
        ValueRef::UInt(row.owner.lineage.0),
        ValueRef::UInt(row.owner.boot.0),
        ValueRef::UInt(u64::from(row.owner.connection)),
        ValueRef::UInt(row.number),
        ValueRef::UInt(row.since),
        ValueRef::Bytes(row.waits_for.as_bytes()),
    ];
    Bytes(row::encode_row(&table.row_layout(), &values).expect("a short row"))
}

fn decoded_row(table: &Table, row: &[u8]) -> LockRow {
    let layout = table.row_layout();
    let view = RowView::new(&layout, row);
    let number = |column: usize| match view.get(column) {
        ValueRef::UInt(value) => value,
        other => unreachable!("{other:?} in a BIGINT UNSIGNED column"),
    };
    let owner = Owner {
        lineage: Lineage(number(column::LINEAGE)),
        boot: Incarnation(number(column::BOOT)),
        connection: u32::try_from(number(column::CONNECTION)).expect("it was one"),
    };
    let waits_for = String::from_utf8_lossy(bytes_of(&view, column::WAITS_FOR)).into_owned();
    LockRow { owner, number: number(column::NUMBER), since: number(column::SINCE), waits_for }
}

fn bytes_of<'a>(view: &RowView<'a>, column: usize) -> &'a [u8] {
    match view.get(column) {
        ValueRef::Bytes(bytes) => bytes,
        other => unreachable!("{other:?} in a VARBINARY column"),
    }
}

/// Makes the row of an owner that is gone another one's.
fn take_over(table: &Table, key: &[u8], gone: &LockRow, row: &LockRow) -> OpKind {
    let assigned = [
        (column::LINEAGE, row.owner.lineage.0),
        (column::BOOT, row.owner.boot.0),
        (column::CONNECTION, u64::from(row.owner.connection)),
        (column::NUMBER, row.number),
        (column::SINCE, row.since),
    ];
    let assignment = |(column, value): (usize, u64)| Assignment {
        column: column as u16,
        value: Expr::Const(Value::UInt(value)),
    };
    OpKind::Update {
        key: encoded_key(table, key),
        filter: Some(is_row_of(gone.owner, Some(gone.number))),
        assignments: assigned.map(assignment).to_vec(),
        returning: false,
    }
}

/// Whether a row is this owner's; this one of its rows, if it has a number.
fn is_row_of(owner: Owner, number: Option<u64>) -> Expr {
    let equals = |(column, value): (usize, u64)| {
        let value = Expr::Const(Value::UInt(value));
        Expr::Binary(BinaryOp::Equal, Box::new(Expr::Column(column as u16)), Box::new(value))
    };
    let owned = [
        (column::LINEAGE, owner.lineage.0),
        (column::BOOT, owner.boot.0),
        (column::CONNECTION, u64::from(owner.connection)),
    ];
    let number = number.map(|number| (column::NUMBER, number));
    Expr::And(owned.into_iter().chain(number).map(equals).collect())
}
