//! The tables of activity: sessions, transactions, locks, waits and deadlocks of all nodes.
//!
//! Locks are told by the shards, sessions by their coordinators; the transaction's id joins them.

use std::collections::{BTreeMap, BTreeSet};

use client::{
    Activity, BlockingLock, Connection, Holding, LockReport, LockedKey, LockedMode, LockedThing,
    SessionReport, Told,
};
use types::convert::{SqlWarning, to_text};
use types::{Catalogue, DateTime, IndexId, LockName, NodeId, Table, TableId, TransactionId, Value};

use super::{number, text};
use crate::error::code;
use crate::session::Session;

const ENGINE: &str = "SKARV";
/// The hidden table of AUTO_INCREMENT values: a lock of its row is one of the table whose values it has.
const SEQUENCES: &str = "#sequences";

/// A transaction as a number, unique among those under way: node, worker of the node, number of the worker's.
pub fn transaction_number(id: TransactionId) -> u64 {
    u64::from(id.coordinator.node.0) << 48
        | u64::from(id.coordinator.worker.0 & 0xff) << 40
        | id.sequence & ((1 << 40) - 1)
}

/// Says what of a table is not all there.
pub fn warn_of_missing<T>(told: &Told<T>, what: &str, warnings: &mut Vec<SqlWarning>) {
    if 0 < told.left_out {
        let message = format!("{} {what} were left out: there are too many", told.left_out);
        warnings.push(SqlWarning::warning(code::ER_UNKNOWN_ERROR, message));
    }
    for node in &told.unreachable {
        let message = format!("node {node} did not answer: its {what} are not shown");
        warnings.push(SqlWarning::warning(code::ER_UNKNOWN_ERROR, message));
    }
}

/// Where a lock is, in the words of the user's tables.
pub struct Place {
    pub database: String,
    pub table: String,
    /// None: the lock is of the whole table.
    pub index: Option<String>,
}

/// The user's table and index of a lock. None if the table is gone.
pub fn place_of(catalogue: &Catalogue, lock: &LockedThing) -> Option<Place> {
    let table = catalogue.table_by_id(lock.table)?;
    if table.name == SEQUENCES {
        let LockedKey::Values(values) = &lock.key else { return None };
        let Some(Value::UInt(id)) = values.first() else { return None };
        let of = catalogue.table_by_id(TableId(u32::try_from(*id).ok()?))?;
        return Some(Place { database: of.database.clone(), table: of.name.clone(), index: None });
    }
    let (table, index) = match table.unique_of {
        None => (table, lock.index),
        Some((visible, index)) => (catalogue.table_by_id(visible)?, index),
    };
    let name = match index {
        // As InnoDB calls the index of rows without a primary key.
        IndexId(0) if has_row_id(table) => "GEN_CLUST_INDEX",
        _ => &table.index(index)?.name,
    };
    Some(Place {
        database: table.database.clone(),
        table: table.name.clone(),
        index: Some(name.to_string()),
    })
}

fn has_row_id(table: &Table) -> bool {
    let first = usize::from(table.primary_key().parts[0].column);
    table.columns[first].hidden
}

/// LOCK_MODE.
pub fn mode_text(lock: &LockedThing, is_table: bool) -> &'static str {
    match lock.mode {
        _ if is_table => "AUTO_INC",
        LockedMode::SharedRow => "S,REC_NOT_GAP",
        LockedMode::ExclusiveRow => "X,REC_NOT_GAP",
        LockedMode::SharedRange => "S",
        LockedMode::SharedGap => "S,GAP",
        LockedMode::InsertIntention => "X,GAP,INSERT_INTENTION",
    }
}

/// LOCK_DATA: the values of the key, as MySQL writes them.
pub fn data_text(catalogue: &Catalogue, lock: &LockedThing) -> Option<String> {
    let values = match &lock.key {
        LockedKey::Unknown => return None,
        LockedKey::OpenEnd => return Some("supremum pseudo-record".into()),
        LockedKey::Values(values) => values,
    };
    // The row id stands alone in the primary key, and last in the keys of other indexes.
    let table = catalogue.table_by_id(lock.table)?;
    let base = table.unique_of.and_then(|(visible, _)| catalogue.table_by_id(visible));
    let row_id_last = has_row_id(base.unwrap_or(table));
    let texts = values.iter().enumerate().map(|(position, value)| match value {
        Value::UInt(id) if row_id_last && position + 1 == values.len() => format!("0x{id:012X}"),
        value => value_text(value),
    });
    Some(texts.collect::<Vec<_>>().join(", "))
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Bytes(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            format!("0x{digits}")
        }
        Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Double(_) | Value::Decimal(_) => {
            to_text(value.as_ref()).into_owned()
        }
        Value::Label(number, _) => number.to_string(),
        Value::Text(..) | Value::Date(_) | Value::Time(_) | Value::Json(_) | Value::DateTime(_) => {
            format!("'{}'", to_text(value.as_ref()).replace('\'', "''"))
        }
    }
}

/// ENGINE_LOCK_ID: transaction, shard, table, index, and the lock among these.
fn lock_id(
    transaction: TransactionId,
    lock: &LockedThing,
    index: IndexId,
    name: LockName,
) -> String {
    let name = match name {
        LockName::Row(place) => format!("r{place}"),
        LockName::Wait(token) => format!("w{token}"),
        LockName::Range(number) => format!("g{number}"),
    };
    let number = transaction_number(transaction);
    format!("{number}:{}:{}:{index}:{name}", lock.shard, lock.table)
}

fn id_of(lock: &LockReport) -> String {
    lock_id(lock.transaction, &lock.lock, lock.lock.index, lock.name)
}

fn id_of_blocking(waiting: &LockReport, blocking: &BlockingLock) -> String {
    lock_id(blocking.transaction, &waiting.lock, blocking.index, blocking.name)
}

/// THREAD_ID by transaction.
fn threads(sessions: &Told<(NodeId, SessionReport)>) -> BTreeMap<TransactionId, u32> {
    let threads = sessions.items.iter().filter_map(|(_, session)| {
        Some((session.transaction.as_ref()?.id, session.connection.as_ref()?.id))
    });
    threads.collect()
}

fn thread(threads: &BTreeMap<TransactionId, u32>, transaction: TransactionId) -> Value {
    threads.get(&transaction).map_or(Value::Null, |id| number(u64::from(*id)))
}

pub fn optional(value: Option<impl AsRef<str>>) -> Value {
    value.map_or(Value::Null, text)
}

/// performance_schema.data_locks.
pub async fn data_locks(session: &mut Session, warnings: &mut Vec<SqlWarning>) -> Vec<Vec<Value>> {
    let mut locks = session.client.locks().await;
    let sessions = session.client.sessions().await;
    warn_of_missing(&locks, "locks", warnings);
    let catalogue = session.catalogue();
    let threads = threads(&sessions);
    locks.items.sort_by_key(|lock| {
        let thing = &lock.lock;
        (lock.transaction, thing.table, thing.index, thing.shard, lock.name)
    });
    let mut rows = intention_locks(&catalogue, &threads, &locks.items);
    let mut pace = crate::execute::Pace::default();
    for lock in &locks.items {
        pace.row().await;
        let thing = &lock.lock;
        let place = place_of(&catalogue, thing);
        let is_table = place.as_ref().is_some_and(|place| place.index.is_none());
        let data = data_text(&catalogue, thing).filter(|_| !is_table);
        rows.push(vec![
            text(ENGINE),
            text(id_of(lock)),
            number(transaction_number(lock.transaction)),
            thread(&threads, lock.transaction),
            Value::Null,
            optional(place.as_ref().map(|place| &place.database)),
            optional(place.as_ref().map(|place| &place.table)),
            text(format!("p{}", thing.shard)),
            Value::Null,
            optional(place.as_ref().and_then(|place| place.index.as_ref())),
            number(0),
            text(if is_table { "TABLE" } else { "RECORD" }),
            text(mode_text(thing, is_table)),
            text(if lock.wait.is_some() { "WAITING" } else { "GRANTED" }),
            optional(data),
        ]);
    }
    rows
}

/// One lock for each transaction and table that it has locks of rows in. Nothing here waits for such a lock, so there is
/// none to be told: it follows from the others.
fn intention_locks(
    catalogue: &Catalogue,
    threads: &BTreeMap<TransactionId, u32>,
    locks: &[LockReport],
) -> Vec<Vec<Value>> {
    let mut modes: BTreeMap<(TransactionId, TableId), bool> = BTreeMap::new();
    for lock in locks {
        let Some(table) = catalogue.table_by_id(lock.lock.table) else { continue };
        if table.name == SEQUENCES {
            continue;
        }
        let id = table.unique_of.map_or(table.id, |(visible, _)| visible);
        *modes.entry((lock.transaction, id)).or_default() |=
            matches!(lock.lock.mode, LockedMode::ExclusiveRow | LockedMode::InsertIntention);
    }
    let row = |((transaction, id), exclusive): ((TransactionId, TableId), bool)| {
        let table = catalogue.table_by_id(id);
        vec![
            text(ENGINE),
            text(format!("{}:{id}", transaction_number(transaction))),
            number(transaction_number(transaction)),
            thread(threads, transaction),
            Value::Null,
            optional(table.map(|table| &table.database)),
            optional(table.map(|table| &table.name)),
            Value::Null,
            Value::Null,
            Value::Null,
            number(0),
            text("TABLE"),
            text(if exclusive { "IX" } else { "IS" }),
            text("GRANTED"),
            Value::Null,
        ]
    };
    modes.into_iter().map(row).collect()
}

/// performance_schema.data_lock_waits.
pub async fn data_lock_waits(
    session: &mut Session,
    warnings: &mut Vec<SqlWarning>,
) -> Vec<Vec<Value>> {
    let holdings = session.client.holdings().await;
    let sessions = session.client.sessions().await;
    warn_of_missing(&holdings, "transactions", warnings);
    let threads = threads(&sessions);
    let mut rows = Vec::new();
    for waiting in holdings.items.iter().filter_map(|(_, holding)| holding.wait.as_ref()) {
        for blocking in waiting.wait.iter().flat_map(|wait| &wait.blocked_by) {
            rows.push(vec![
                text(ENGINE),
                text(id_of(waiting)),
                number(transaction_number(waiting.transaction)),
                thread(&threads, waiting.transaction),
                Value::Null,
                number(0),
                text(id_of_blocking(waiting, blocking)),
                number(transaction_number(blocking.transaction)),
                thread(&threads, blocking.transaction),
                Value::Null,
                number(0),
            ]);
        }
    }
    rows
}

/// What a transaction has on all shards.
#[derive(Default)]
pub struct Held<'a> {
    pub locks: u64,
    pub writes: u64,
    pub wait: Option<&'a LockReport>,
}

pub fn held_by_transaction<T>(holdings: &Told<(T, Holding)>) -> BTreeMap<TransactionId, Held<'_>> {
    let mut all: BTreeMap<TransactionId, Held<'_>> = BTreeMap::new();
    for (_, holding) in &holdings.items {
        let own = all.entry(holding.transaction).or_default();
        own.locks += holding.locks;
        own.writes += holding.writes;
        own.wait = own.wait.or(holding.wait.as_ref());
    }
    all
}

/// Now, less so many microseconds, in the session's time zone.
fn moment_before(session: &Session, age_us: u64) -> Value {
    let age = i64::try_from(age_us).unwrap_or(i64::MAX);
    let micros = session.client.client().wall_clock_micros().saturating_sub(age);
    moment(session, micros).map_or(Value::Null, Value::DateTime)
}

pub fn moment(session: &Session, unix_micros: i64) -> Option<DateTime> {
    let zone = i64::from(session.settings.time_zone_offset_seconds) * 1_000_000;
    let fraction = u32::try_from(unix_micros.rem_euclid(1_000_000)).ok()?;
    DateTime::from_unix(unix_micros.div_euclid(1_000_000), fraction)?.add_micros(zone)
}

/// information_schema.INNODB_TRX.
pub async fn transactions(
    session: &mut Session,
    warnings: &mut Vec<SqlWarning>,
) -> Vec<Vec<Value>> {
    let sessions = session.client.sessions().await;
    let holdings = session.client.holdings().await;
    warn_of_missing(&sessions, "sessions", warnings);
    warn_of_missing(&holdings, "transactions", warnings);
    let held = held_by_transaction(&holdings);
    let nothing = Held::default();
    let mut rows = Vec::new();
    for (_, own) in &sessions.items {
        let Some(transaction) = &own.transaction else { continue };
        let held = held.get(&transaction.id).unwrap_or(&nothing);
        let connection = own.connection.as_ref();
        let wait = held.wait.and_then(|lock| lock.wait.as_ref());
        let waits = u64::from(held.wait.is_some());
        let state = state_text(own, held.wait.is_some());
        rows.push(vec![
            number(transaction_number(transaction.id)),
            text(if held.wait.is_some() { "LOCK WAIT" } else { "RUNNING" }),
            moment_before(session, transaction.age_us),
            optional(held.wait.map(id_of)),
            wait.map_or(Value::Null, |wait| moment_before(session, wait.age_us)),
            number(held.locks + held.writes),
            number(connection.map_or(0, |own| u64::from(own.id))),
            optional(connection.and_then(|own| own.statement.as_ref())),
            optional(Some(state).filter(|state| !state.is_empty())),
            number(if own.activity == Activity::Executes { transaction.tables } else { 0 }),
            number(if held.locks + waits > 0 { transaction.tables } else { 0 }),
            number(held.locks + waits),
            number(0),
            number(held.locks),
            number(held.writes),
            number(0),
            text(connection.map_or("", |own| &own.isolation)),
            number(1),
            number(1),
            Value::Null,
            number(0),
            number(0),
            number(u64::from(connection.is_some_and(|own| own.read_only))),
            number(0),
            Value::Null,
        ]);
    }
    rows
}

/// The State of a session in the process list.
pub fn state_text(session: &SessionReport, waits_for_lock: bool) -> &'static str {
    let runs = session.connection.as_ref().is_none_or(|own| own.statement.is_some());
    match session.activity {
        Activity::Idle => {
            if runs && session.connection.is_some() {
                "executing"
            } else {
                ""
            }
        }
        Activity::WaitsForSnapshot => "waiting for snapshot",
        Activity::Executes if waits_for_lock => "waiting for row lock",
        Activity::Executes => "executing",
        Activity::Undoes => "rolling back",
        Activity::Commits => "waiting for handler commit",
        Activity::ChangesSchema => "waiting for schema change",
    }
}

/// The process list, of all nodes: Id, User, Host, db, Command, Time, State, Info.
pub async fn processes(
    session: &mut Session,
    info_length_max: usize,
    warnings: &mut Vec<SqlWarning>,
) -> Vec<Vec<Value>> {
    let sessions = session.client.sessions().await;
    let holdings = session.client.holdings().await;
    warn_of_missing(&sessions, "sessions", warnings);
    let held = held_by_transaction(&holdings);
    let now = session.client.client().wall_clock_micros();
    let mut connections: Vec<(&Connection, &str)> = Vec::new();
    for (_, own) in &sessions.items {
        let Some(connection) = &own.connection else { continue };
        let held = own.transaction.as_ref().and_then(|transaction| held.get(&transaction.id));
        let waits = held.is_some_and(|held| held.wait.is_some());
        let state = connection.progress.as_deref().unwrap_or(state_text(own, waits));
        connections.push((connection, state));
    }
    connections.sort_by_key(|(connection, _)| connection.id);
    let row = |(own, state): (&Connection, &str)| {
        let seconds = now.saturating_sub(own.since_micros).max(0) / 1_000_000;
        let info = own.statement.as_ref();
        let info = info.map(|own| own.chars().take(info_length_max).collect::<String>());
        vec![
            number(u64::from(own.id)),
            text(&own.user),
            text(&own.host),
            optional(own.database.as_ref()),
            text(&own.command),
            number(seconds.unsigned_abs()),
            text(state),
            optional(info),
        ]
    };
    connections.into_iter().map(row).collect()
}

/// performance_schema.skarv_deadlocks: a row for each transaction of each circle.
pub async fn deadlocks(session: &mut Session, warnings: &mut Vec<SqlWarning>) -> Vec<Vec<Value>> {
    let told = session.client.deadlocks().await;
    warn_of_missing(&told, "deadlocks", warnings);
    let catalogue = session.catalogue();
    let mut rows = Vec::new();
    for deadlock in &told.items {
        let next = deadlock.members.iter().cycle().skip(1);
        for (position, (member, next)) in deadlock.members.iter().zip(next).enumerate() {
            let connection = member.connection.as_ref();
            let lock = member.lock.as_ref();
            let place = lock.and_then(|lock| place_of(&catalogue, lock));
            let is_table = place.as_ref().is_some_and(|place| place.index.is_none());
            rows.push(vec![
                number(transaction_number(deadlock.victim)),
                moment_before(session, deadlock.age_us),
                number(position as u64 + 1),
                text(if member.transaction == deadlock.victim { "YES" } else { "NO" }),
                number(transaction_number(member.transaction)),
                connection.map_or(Value::Null, |own| number(u64::from(own.id))),
                optional(connection.and_then(|own| own.statement.as_ref())),
                optional(place.as_ref().map(|place| &place.database)),
                optional(place.as_ref().map(|place| &place.table)),
                optional(lock.map(|lock| format!("p{}", lock.shard))),
                optional(place.as_ref().and_then(|place| place.index.as_ref())),
                optional(lock.map(|lock| mode_text(lock, is_table))),
                optional(lock.and_then(|lock| data_text(&catalogue, lock))),
                number(transaction_number(next.transaction)),
            ]);
        }
    }
    rows
}

/// The nodes that did not answer, over several questions.
pub fn silent_nodes(all: &[&BTreeSet<NodeId>]) -> Vec<NodeId> {
    let nodes: BTreeSet<NodeId> = all.iter().flat_map(|nodes| nodes.iter().copied()).collect();
    nodes.into_iter().collect()
}
