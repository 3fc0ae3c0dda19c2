//! Commit tokens: a client's own name for a transaction, committed with it, so that a retry is not done again (rule R16).
//!
//! A token is a row of a hidden table, inserted by the transaction that it names as its last write. So whether the row is there
//! and whether the transaction is committed is the same thing, on every node, whatever fails; and of two transactions with one
//! token the second finds the key taken. Who asks what became of a token inserts it too, as given up: it has to wait for a
//! transaction that is just committing, and one that comes later is refused. So the answer stays true.

use protocol::Refusal;
use protocol::control::Durability;
use protocol::op::{
    Batch, Columns, KeyRange, Lock, Op, OpKind, OpResult, ReadAt, Scan, ScanOutput,
};
use protocol::report::TransactionOutcome;
use protocol::schema::COMMIT_TOKENS_TABLE;
use types::expr::{BinaryOp, Expr};
use types::wire::Bytes;
use types::{IndexId, RowView, Table, Value, ValueRef, key, row};

use crate::driver::Client;
use crate::session::Session;

/// Bytes of a token.
pub const TOKEN_LENGTH_MAX: usize = 64;
/// A token is kept for a day.
const TOKENS_KEPT_MICROS: i64 = 24 * 3_600 * 1_000_000;
/// Who leaves a token looks so often, one time in so many, for some that are older, and removes them: more than come.
const PURGE_ONE_IN: u64 = 16;
const PURGE_COUNT: u64 = 64;
/// Who asks waits so long for a transaction that is just committing.
const ASK_WAIT_MS: u32 = 2_000;

const GIVEN_UP: u64 = 0;
const COMMITTED: u64 = 1;

/// Why a transaction with a token was not committed. It is rolled back in any case.
#[derive(Debug)]
pub enum TokenRefusal {
    /// One with this token is committed, at this moment of its node's clock (Unix time in microseconds).
    AlreadyCommitted {
        at_micros: i64,
    },
    /// Somebody has asked about this token, and was told that it is rolled back.
    GivenUp,
    Refused(Refusal),
}

impl Session {
    /// Commits what the session has open, under this name of at most [`TOKEN_LENGTH_MAX`] bytes.
    pub async fn commit_with_token(
        &mut self,
        token: &[u8],
        lock_wait_timeout_ms: u32,
    ) -> Result<(), TokenRefusal> {
        let client = self.client().clone();
        let insert = insert(&client, token, COMMITTED);
        self.next_statement();
        let batch =
            Batch { ops: vec![insert], commit: true, lock_wait_timeout_ms, ..Batch::default() };
        let executed = self.execute(batch).await;
        // Also where there is no room for this one: then it makes some.
        let leaves = matches!(executed, Ok(_) | Err(Refusal::MemoryFull { .. }));
        if leaves && client.random_u64().is_multiple_of(PURGE_ONE_IN) {
            // What is left undone here the next one does.
            let _ = purge(&client).await;
        }
        match executed {
            Ok(_) => Ok(()),
            Err(Refusal::DuplicateKey { .. }) => {
                let found = self.find_as_durable(token).await.map_err(TokenRefusal::Refused)?;
                match found {
                    Some((COMMITTED, at_micros)) => {
                        Err(TokenRefusal::AlreadyCommitted { at_micros })
                    }
                    Some(_) => Err(TokenRefusal::GivenUp),
                    // It was removed in between, because it is a day old.
                    None => Err(TokenRefusal::Refused(Refusal::RolledBack)),
                }
            }
            Err(refusal) => Err(TokenRefusal::Refused(refusal)),
        }
    }

    /// The state of a token and when it was left. Who is told of a commit by it must not be told sooner than who made it: that one's
    /// client may have gone while it waited for the disks, and the row is there before they have it. So the row is written once more,
    /// behind that commit, at this session's level.
    async fn find_as_durable(&self, token: &[u8]) -> Result<Option<(u64, i64)>, Refusal> {
        let client = self.client();
        let mut session = client.session();
        let table = table(client);
        // Until it is written again nobody removes it.
        let Some(row) = read(&mut session, &table, token, Lock::Exclusive).await? else {
            return Ok(None);
        };
        let found = state_of(&table, &row);
        if found.0 == COMMITTED && self.durability() != Some(Durability::Memory) {
            let key = Bytes(key_of(&table, token));
            let ops = vec![op(&table, OpKind::Put { key, row: Bytes(row) })];
            let batch = Batch {
                ops,
                commit: true,
                is_waited_for: true,
                durability: self.durability(),
                ..Batch::default()
            };
            session.next_statement();
            let written = match session.execute(batch).await {
                // Where nothing more is written for want of room, what was may be durable all the same.
                Err(
                    Refusal::DiskFull { .. }
                    | Refusal::DiskFailed { .. }
                    | Refusal::MemoryFull { .. },
                ) => session.await_disks(&|| false).await,
                written => written.map(|_| ()),
            };
            written.map_err(|refusal| match refusal {
                Refusal::NotDurable(_) | Refusal::OutcomeUnknown(_) | Refusal::Unavailable(_) => {
                    let what = "a transaction with this commit token is committed, and not known to be durable: others see it, and it \
                                is lost if the cluster has to start again before the disks have it; try again";
                    Refusal::Unavailable(what.into())
                }
                refusal => refusal,
            })?;
        }
        Ok(Some(found))
    }

    /// What became of the transaction with this token. If it is not committed it never will be from now on: that is as durable as this
    /// session's level says, or one with the token could be committed behind a restart.
    pub async fn token_outcome(&self, token: &[u8]) -> Result<TransactionOutcome, Refusal> {
        let client = self.client();
        let batch = Batch {
            ops: vec![insert(client, token, GIVEN_UP)],
            commit: true,
            lock_wait_timeout_ms: ASK_WAIT_MS,
            is_waited_for: true,
            durability: self.durability(),
            ..Batch::default()
        };
        match client.session().execute(batch).await {
            Ok(_) => Ok(TransactionOutcome::RolledBack),
            Err(Refusal::DuplicateKey { .. }) => Ok(match find(client, token).await? {
                Some((COMMITTED, _)) => TransactionOutcome::Committed,
                Some(_) => TransactionOutcome::RolledBack,
                None => TransactionOutcome::Forgotten,
            }),
            // Whether the token is given up now is not known; the transaction's outcome is not known either.
            Err(Refusal::LockWaitTimeout | Refusal::OutcomeUnknown(_) | Refusal::NotDurable(_)) => {
                Ok(TransactionOutcome::InProgress)
            }
            Err(refusal) => Err(refusal),
        }
    }
}

fn table(client: &Client) -> std::sync::Arc<Table> {
    let catalogue = client.catalogue();
    std::sync::Arc::clone(
        catalogue.tables.get(&COMMIT_TOKENS_TABLE).expect("made with the cluster"),
    )
}

fn op(table: &Table, kind: OpKind) -> Op {
    Op { table: table.id, version: table.version, kind }
}

fn insert(client: &Client, token: &[u8], state: u64) -> Op {
    let table = table(client);
    let at = u64::try_from(client.wall_clock_micros()).unwrap_or(0);
    let values = [ValueRef::Bytes(token), ValueRef::UInt(state), ValueRef::UInt(at)];
    let row = row::encode_row(&table.row_layout(), &values).expect("a short row");
    op(&table, OpKind::Insert { key: Bytes(key_of(&table, token)), row: Bytes(row) })
}

fn key_of(table: &Table, token: &[u8]) -> Vec<u8> {
    key::primary_key_of_values(table, &[ValueRef::Bytes(token)]).expect("a short key")
}

/// The state of a token and when it was left.
async fn find(client: &Client, token: &[u8]) -> Result<Option<(u64, i64)>, Refusal> {
    let table = table(client);
    let row = read(&mut client.session(), &table, token, Lock::None).await?;
    Ok(row.map(|row| state_of(&table, &row)))
}

/// A token's row. What locks it keeps it until the session's transaction ends.
async fn read(
    session: &mut Session,
    table: &Table,
    token: &[u8],
    lock: Lock,
) -> Result<Option<Vec<u8>>, Refusal> {
    let key = Bytes(key_of(table, token));
    let batch = Batch {
        ops: vec![op(table, OpKind::Read { key, lock, filter: None, columns: Columns::All })],
        commit: lock == Lock::None,
        read_at: ReadAt::Statement,
        lock_wait_timeout_ms: ASK_WAIT_MS,
        is_waited_for: true,
        ..Batch::default()
    };
    let mut result = session.execute(batch).await?;
    match result.results.pop().and_then(|mut results| results.pop()) {
        Some(OpResult::Row(row)) => Ok(row.map(|row| row.to_vec())),
        other => unreachable!("{other:?} to a read"),
    }
}

fn state_of(table: &Table, row: &[u8]) -> (u64, i64) {
    let layout = table.row_layout();
    let view = RowView::new(&layout, row);
    let number = |column: usize| match view.get(column) {
        ValueRef::UInt(value) => value,
        other => unreachable!("{other:?} in a BIGINT UNSIGNED column"),
    };
    (number(1), i64::try_from(number(2)).unwrap_or(i64::MAX))
}

/// Removes some tokens that are older than a day.
async fn purge(client: &Client) -> Result<(), Refusal> {
    let table = table(client);
    let before = u64::try_from(client.wall_clock_micros() - TOKENS_KEPT_MICROS).unwrap_or(0);
    let index = &table.indexes[1];
    let end = key::index_key_prefix(&table, index, &[ValueRef::UInt(before)]).expect("eight bytes");
    let range =
        KeyRange { lower: std::ops::Bound::Unbounded, upper: std::ops::Bound::Excluded(end) };
    let scan = Scan {
        index: index.id,
        ranges: vec![range],
        reverse: false,
        filter: None,
        output: ScanOutput::Rows { columns: Columns::All, with_keys: false },
        limit: Some(PURGE_COUNT),
        lock: Lock::None,
        semi_consistent: false,
        peek: false,
        resume: None,
        shard: None,
    };
    debug_assert_eq!(index.id, IndexId(1));
    let mut session = client.session();
    let batch = Batch {
        ops: vec![op(&table, OpKind::Scan(Box::new(scan)))],
        commit: true,
        ..Batch::default()
    };
    let found = session.execute(batch).await?;
    let layout = table.row_layout();
    // Not one that was left anew in between.
    let is_old = Expr::Binary(
        BinaryOp::Less,
        Box::new(Expr::Column(2)),
        Box::new(Expr::Const(Value::UInt(before))),
    );
    let mut deletes = Vec::new();
    for result in found.results.into_iter().flatten() {
        let OpResult::Rows(rows) = result else { unreachable!("{result:?} to a scan") };
        for position in 0..rows.len() {
            let ValueRef::Bytes(token) = RowView::new(&layout, rows.row(position)).get(0) else {
                unreachable!("a token is bytes")
            };
            let key = Bytes(key_of(&table, token));
            deletes.push(op(&table, OpKind::Delete { key, filter: Some(is_old.clone()) }));
        }
    }
    if !deletes.is_empty() {
        session.next_statement();
        session.execute(Batch { ops: deletes, commit: true, ..Batch::default() }).await?;
    }
    Ok(())
}
