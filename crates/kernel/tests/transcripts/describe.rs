//! Messages, replies and rows as a line of text: the fields that a transcript is about, in the words of the glossary.

use std::collections::BTreeMap;

use kernel::CheckpointFound;
use protocol::control::{ControlOutcome, ControlState};
use protocol::disk::{CheckpointContents, CheckpointSection};
use protocol::message::{
    Committed, CopiedRow, CopiedVersion, Execute, Holds, KnownOutcome, Loaded, ReadView,
    RecordKind, Room, Write,
};
use protocol::op::{Assignment, BatchResult, Lock, OpKind, OpResult};
use protocol::report::{
    DeadlockMember, Holding, LockReport, LockedKey, LockedThing, Report, ReportRequest,
    SessionReport, ShardLocks,
};
use protocol::request::Reply;
use protocol::restart::{LostTransaction, NodeLoaded, RestartReport};
use protocol::schema::SchemaChange;
use protocol::{Message, Refusal};
use types::wire::{Bytes, Wire};
use types::{
    Address, ColumnType, CommitId, Expr, IntWidth, NodeId, RowLayout, RowView, ShardId, TableId,
    Timestamp, TransactionId, Value, ValueRef,
};

/// What turns ids into names.
#[derive(Default)]
pub struct Names {
    pub tables: BTreeMap<TableId, String>,
    /// Workers are named only where a node has several.
    pub several_workers: bool,
}

pub const BIGINT: ColumnType = ColumnType::Int { width: IntWidth::W8, unsigned: false };

/// The layout of every table of a transcript: two BIGINT columns.
pub fn layout() -> RowLayout {
    RowLayout::new([&BIGINT, &BIGINT])
}

pub fn node(id: NodeId) -> String {
    format!("n{id}")
}

/// "1=10" of an encoded row.
pub fn row(bytes: &[u8]) -> String {
    let layout = layout();
    if RowView::check(&layout, bytes).is_err() {
        return format!("({} bytes)", bytes.len());
    }
    let values = RowView::new(&layout, bytes);
    match (values.get(0), values.get(1)) {
        (ValueRef::Int(key), ValueRef::Int(value)) => format!("{key}={value}"),
        (key, value) => format!("{key:?}={value:?}"),
    }
}

/// The sections of a local checkpoint, each with the place in the log that belongs with it.
pub fn sections(found: &CheckpointFound) -> Vec<String> {
    let contents = CheckpointContents::from_bytes(&found.contents).expect("a kernel made it");
    let line = |section: CheckpointSection| {
        let CheckpointSection { number, shard, table, up_to, begin, rows, .. } = section;
        let up_to = up_to.map_or("the end".into(), |last| key(&last));
        format!(
            "shard {shard}, table {table} up to {up_to}: section {number}, {rows} rows, log behind {begin}"
        )
    };
    contents.sections.into_iter().map(line).collect()
}

/// The number that a BIGINT primary key encodes.
pub fn key(bytes: &[u8]) -> String {
    match <[u8; 9]>::try_from(bytes) {
        Ok([1, number @ ..]) => (i64::from_be_bytes(number) ^ i64::MIN).to_string(),
        _ => format!("{bytes:02x?}"),
    }
}

fn shards(shards: &[ShardId]) -> String {
    let names: Vec<String> = shards.iter().map(|shard| shard.to_string()).collect();
    names.join(",")
}

impl Names {
    pub fn address(&self, address: Address) -> String {
        match self.several_workers {
            true => format!("n{}.{}", address.node, address.worker),
            false => format!("n{}", address.node),
        }
    }

    /// "t2.1": the first transaction of node 2 (of its worker 1: "t2.1/1").
    pub fn transaction(&self, id: TransactionId) -> String {
        match (self.several_workers, id.coordinator) {
            (false, at) => format!("t{}.{}", at.node, id.sequence),
            (true, at) => format!("t{}.{}/{}", at.node, at.worker, id.sequence),
        }
    }

    fn table(&self, id: TableId) -> String {
        self.tables.get(&id).cloned().unwrap_or_else(|| format!("table {id}"))
    }

    /// The message's kind and what matters in it.
    pub fn message(&self, message: &Message) -> String {
        let body = self.body(message);
        let space = if body.is_empty() { "" } else { " " };
        format!("{}{space}{body}", message.name())
    }

    fn body(&self, message: &Message) -> String {
        let t = |id: &TransactionId| self.transaction(*id);
        match message {
            Message::Raft(_) => String::new(),
            Message::RegisterNode(m) => {
                // The digest itself says nothing to a reader, and changes with every field of the configuration.
                assert_ne!(m.config_digest, 0);
                let points = m.disk.points.iter().map(|point| format!("{:?}", point.at));
                let points: Vec<String> = points.collect();
                let rested = if m.disk.rested.is_some() { ", ended as planned" } else { "" };
                let loaded = match m.loaded {
                    Loaded::NotYet => "",
                    Loaded::Loading => ", which it loads",
                    Loaded::Rows => ", which it has loaded",
                    Loaded::Nothing => ", and no rows",
                };
                let done = m.disk.done.last().map(|mark| mark.at);
                let is_newest = done == m.disk.points.last().map(|point| point.at);
                let done = match done.filter(|_| !is_newest) {
                    None => String::new(),
                    Some(done) => format!(", of a checkpoint at {done:?}"),
                };
                match points.last() {
                    None => String::new(),
                    Some(newest) => {
                        format!("with a disk closed at {newest}{done}{rested}{loaded}")
                    }
                }
            }
            Message::ChangeSchema(m) => format!("#{}: {}", m.sequence, self.change(&m.change)),
            Message::ChangeSchemaDone(m) => match &m.outcome {
                ControlOutcome::Done(version) => format!("#{}: schema {version}", m.sequence),
                ControlOutcome::Refused(error) => format!("#{}: refused: {error:?}", m.sequence),
            },
            Message::SchemaAdopted(m) => {
                let given_up = m.given_up.iter().map(|(table, index)| {
                    format!(", no room for index {index} of {}", self.table(*table))
                });
                format!("schema {}{}", m.version, given_up.collect::<String>())
            }
            Message::ControlCopy(m) => match ControlState::from_bytes(&m.state) {
                Ok(state) => self.control_state(&state),
                Err(error) => format!("that cannot be read: {error}"),
            },
            Message::Execute(m) => self.execute(m),
            Message::ExecuteOk(m) => {
                let mut parts = vec![self.results(&m.result)];
                parts.extend(held(m.holds).map(String::from));
                parts.extend(committed(m.committed));
                format!("{} shard {}: {}", t(&m.transaction), m.shard, parts.join("; "))
            }
            Message::ExecuteRefused(m) => format!(
                "{} shard {}: {}{}",
                t(&m.transaction),
                m.shard,
                self.refusal(&m.refusal),
                held(m.holds).map_or_else(String::new, |held| format!("; {held}"))
            ),
            Message::Undo(m) => {
                format!(
                    "{} shard {}: from statement {} on",
                    t(&m.transaction),
                    m.shard,
                    m.statement
                )
            }
            Message::UndoOk(m) => format!("{} shard {}", t(&m.transaction), m.shard),
            Message::Prepare(m) => {
                format!("{} shard {}: home is shard {}", t(&m.transaction), m.shard, m.home)
            }
            Message::PrepareOk(m) => format!(
                "{} shard {}: {}commit above {:?}",
                t(&m.transaction),
                m.shard,
                m.held_at.map_or(String::new(), |at| format!("when you hold {at}; ")),
                m.min_commit
            ),
            Message::Commit(m) => {
                let mut text = format!("{} shard {}", t(&m.transaction), m.shard);
                if !m.participants.is_empty() {
                    text.push_str(&format!(
                        ": prepared on shard {}; above {:?}",
                        shards(&m.participants),
                        m.min_commit
                    ));
                }
                text
            }
            Message::CommitOk(m) => {
                let how = committed(m.committed).unwrap_or("nothing to commit".into());
                format!("{} shard {}: {how}", t(&m.transaction), m.shard)
            }
            Message::Decide(m) => match m.commit {
                Some(ts) => format!("{} shard {}: committed at {ts:?}", t(&m.transaction), m.shard),
                None => format!("{} shard {}: rolled back", t(&m.transaction), m.shard),
            },
            Message::Cancel(m) => format!("{} shard {}", t(&m.transaction), m.shard),
            Message::TransactionUnknown(m) => format!("{} shard {}", t(&m.transaction), m.shard),
            Message::NodeDead(m) => format!("node {}", m.node),
            Message::Excluded(_)
            | Message::LeaseGranted(_)
            | Message::MemoryLeft(_)
            | Message::Probe(_)
            | Message::AskLeave(_) => String::new(),
            Message::StopNode(m) => String::from(if m.restart { "and start again" } else { "" }),
            Message::Handover(m) => format!("begun in #{}: {:?}", m.begun, m.step),
            Message::Alive(m) => {
                let unheard = m.unheard.iter().map(|node| format!("does not hear {node}"));
                let stalled = m.stalled.iter().map(|node| format!("nothing comes from {node}"));
                let room = (m.room != Room::Ample).then(|| format!("room: {:?}", m.room));
                unheard.chain(stalled).chain(room).collect::<Vec<_>>().join(", ")
            }
            Message::LearnerReady(m) => format!("node {} shard {}", m.node, m.shard),
            Message::OfferAnswer(m) => {
                let bound = |end: &Option<Bytes>| end.as_ref().map_or("end".into(), |end| key(end));
                let differing = m.differing.iter().map(|span| {
                    format!(
                        ", {} {} to {} differs",
                        self.table(span.table),
                        bound(&span.after),
                        bound(&span.up_to)
                    )
                });
                let differing: String = differing.collect();
                format!("shard {} #{}: {} rows kept{differing}", m.shard, m.position, m.kept)
            }
            Message::LoadRows(m) => format!("up to {:?}", m.at),
            Message::JoinMarker(m) => format!("shard {} behind #{}", m.shard, m.position),
            Message::AskOutcome(m) => format!("{} shard {}", t(&m.transaction), m.shard),
            Message::Outcome(m) => {
                let known = match m.known {
                    KnownOutcome::Committed(ts) => format!("committed at {}", ts.0),
                    other => format!("{other:?}"),
                };
                format!("{} shard {}: {known}", t(&m.transaction), m.shard)
            }
            Message::AskDecision(m) => {
                format!("{} home {} for shard {}", t(&m.transaction), m.shard, m.participant)
            }
            Message::Replicate(m) => format!(
                "shard {} #{} (all hold {}): {} {}",
                m.shard,
                m.position,
                m.commit_index,
                t(&m.record.transaction),
                self.record(&m.record.kind, &m.record.writes)
            ),
            Message::ReplicateOk(m) => {
                let mut text = format!("shard {} #{}", m.shard, m.position);
                for (position, ts) in &m.stamps {
                    text.push_str(&format!("; stamped #{position} {ts:?}"));
                }
                text
            }
            Message::CommitIndex(m) => format!("shard {}: all hold {}", m.shard, m.position),
            Message::AskTail(m) => format!("shard {}: behind #{}", m.shard, m.behind),
            Message::Tail(m) => format!("shard {}: up to #{}", m.shard, m.position),
            Message::SnapshotRequest(_) => String::new(),
            Message::SnapshotGranted(m) => format!("{:?}", m.at),
            Message::TimestampRequest(m) => format!("{}", m.count),
            Message::TimestampGranted(m) => match m.count {
                1 => format!("{:?}", m.first),
                count => format!("{count} from {:?}", m.first),
            },
            Message::HorizonReport(m) => match m.oldest {
                Some(oldest) => format!("oldest snapshot {oldest:?}"),
                None => "no snapshot".into(),
            },
            Message::HorizonAdvanced(m) => format!("{:?}", m.horizon),
            Message::CloseLogs(m) => format!("at {:?}", m.at),
            Message::LogsClosed(m) => {
                let members: Vec<String> =
                    m.members.iter().map(|node| format!("n{node}")).collect();
                let (at, shards) = (m.at, shards(&m.shards));
                format!("at {at:?}: shard {shards}; to be held by {}", members.join(", "))
            }
            Message::LogsDurable(m) => format!("at {:?}", m.at),
            Message::AwaitCheckpoint(m) => format!("#{}", m.request),
            Message::CheckpointDone(m) => match m.request {
                0 => format!("at {:?}", m.at),
                request => format!("at {:?}, for #{request}", m.at),
            },
            Message::RowsLoaded(m) => {
                let lost = match m.loaded.lost.count {
                    0 => String::new(),
                    count => format!("; {count} passed over"),
                };
                format!("of the restart that entry {} began{lost}", m.begun)
            }
            Message::WaitEdges(m) => {
                let edges = m
                    .edges
                    .iter()
                    .map(|edge| format!("{} for {}", t(&edge.waiter), t(&edge.holder)));
                let edges: Vec<String> = edges.collect();
                if edges.is_empty() { "none".into() } else { edges.join(", ") }
            }
            Message::BreakDeadlock(m) => t(&m.transaction),
            Message::DeadlockFound(m) => self.deadlock(&m.victim, &m.members),
            Message::DeadlockQuery(m) => {
                let names: Vec<String> = m.transactions.iter().map(t).collect();
                names.join(", ")
            }
            Message::DeadlockAnswer(m) => {
                let known =
                    m.connections.iter().map(|(id, own)| format!("{} of {}", t(id), own.id));
                known.collect::<Vec<_>>().join(", ")
            }
            Message::ReportRequest(m) => match m.query {
                ReportRequest::Outcome { commit: CommitId { transaction, shard } } => {
                    format!("outcome of {} on shard {shard}", t(&transaction))
                }
                _ => format!("{:?}", m.query),
            },
            Message::ReportAnswer(m) => self.report(&m.report),
        }
    }

    /// "2 of 3 nodes registered, schema 1", and whether views are formed.
    pub fn control_state(&self, state: &ControlState) -> String {
        let registered: Vec<String> = state.incarnations.keys().map(|id| node(*id)).collect();
        let hands_over = state.handover.map(|it| format!("; {} hands over", node(it.node)));
        format!(
            "#{}: {} registered; {}; schema {}{}",
            state.applied,
            registered.join(" "),
            if state.is_formed() { "views formed" } else { "no views" },
            state.catalogue.version,
            hands_over.unwrap_or_default()
        )
    }

    fn change(&self, change: &SchemaChange) -> String {
        match change {
            SchemaChange::ChangeAccounts { drop, put, version } => {
                let names = |names: Vec<String>| names.join(" ");
                format!(
                    "accounts {version}: drop [{}] put [{}]",
                    names(drop.iter().map(ToString::to_string).collect()),
                    names(put.iter().map(|account| account.name.to_string()).collect())
                )
            }
            SchemaChange::CreateDatabase { name, .. } => format!("create database {name}"),
            SchemaChange::DropDatabase { name } => format!("drop database {name}"),
            SchemaChange::CreateTable(table) => format!("create table {}", table.name),
            SchemaChange::DropTable { id } => format!("drop table {}", self.table(*id)),
            SchemaChange::TruncateTable { id } => format!("truncate table {}", self.table(*id)),
            SchemaChange::CreateIndex { table, index } => {
                format!("create index {} on {}", index.name, self.table(*table))
            }
            SchemaChange::PublishIndex { table, index, .. } => {
                format!("publish index {index} of {}", self.table(*table))
            }
            SchemaChange::DropIndex { table, index, .. } => {
                format!("drop index {index} of {}", self.table(*table))
            }
            SchemaChange::Withdraw => "nothing any more".into(),
            SchemaChange::RenameIndex { table, from, to, .. } => {
                format!("rename index {from} of {} to {to}", self.table(*table))
            }
            SchemaChange::GiveUpIndex { asked } => format!("give up the index of #{asked}"),
            SchemaChange::RenameTable { id, name, .. } => {
                // Its name may be the old one here and the new one elsewhere.
                format!("rename table {id} to {name}")
            }
            SchemaChange::CreateView { view, .. } => format!("create view {}", view.name),
            SchemaChange::DropView { name, .. } => format!("drop view {name}"),
            SchemaChange::RenameView { name, to, .. } => format!("rename view {name} to {to}"),
            SchemaChange::AlterTable { table, .. } => {
                let copy = table.rewriting.copy.as_ref();
                let copy = copy.map_or(String::new(), |copy| format!(", copy {:?}", copy.state));
                format!("alter table {}{copy}", table.name)
            }
            SchemaChange::ReplaceTable { table, .. } => {
                format!("replace table {} by its copy", self.table(*table))
            }
        }
    }

    fn execute(&self, m: &Execute) -> String {
        let mut parts: Vec<String> =
            m.ops.iter().map(|(_, op)| self.operation(op.table, &op.kind)).collect();
        if let ReadView::Snapshot(at) = m.read {
            parts.push(format!("read at {at:?}"));
        }
        if m.commit {
            parts.push("commit".into());
        }
        format!("{} shard {}: {}", self.transaction(m.transaction), m.shard, parts.join("; "))
    }

    fn operation(&self, table: TableId, kind: &OpKind) -> String {
        let table = self.table(table);
        let locking = |lock: &Lock| match lock {
            Lock::None => "",
            Lock::Shared => " lock=s",
            Lock::Exclusive => " lock=x",
        };
        match kind {
            OpKind::Read { key: k, lock, .. } => {
                format!("read {table} {}{}", key(k), locking(lock))
            }
            OpKind::Insert { row: r, .. } => format!("insert {table} {}", row(r)),
            OpKind::Put { row: r, .. } => format!("put {table} {}", row(r)),
            OpKind::Update { key: k, assignments, .. } => {
                format!("update {table} {}{}", key(k), assigned(assignments))
            }
            OpKind::Delete { key: k, .. } => format!("delete {table} {}", key(k)),
            OpKind::Scan(scan) => {
                let semi = if scan.semi_consistent { " semi" } else { "" };
                let peek = if scan.peek { " peek" } else { "" };
                format!("scan {table}{}{semi}{peek}", locking(&scan.lock))
            }
        }
    }

    fn record(&self, kind: &RecordKind, written: &[Write]) -> String {
        let writes: Vec<String> = written
            .iter()
            .map(|write| {
                let table = self.table(write.table);
                match &write.row {
                    Some(bytes) => format!("{table} {}", row(bytes)),
                    None => format!("{table} {} deleted", key(&write.key)),
                }
            })
            .collect();
        let writes = if writes.is_empty() { "nothing".into() } else { writes.join(", ") };
        match kind {
            RecordKind::Commit { ts, participants, joined } => {
                let at = ts.map_or("to be stamped".into(), |ts| format!("at {ts:?}"));
                let others = match participants.is_empty() {
                    true => String::new(),
                    false => format!(", also of shard {}", shards(participants)),
                };
                let joined = match joined.as_slice() {
                    [] => String::new(),
                    joined => {
                        let names: Vec<_> = joined.iter().map(|id| self.transaction(*id)).collect();
                        format!(", joined by {}", names.join(", "))
                    }
                };
                format!("COMMIT {at}{others}{joined}: {writes}")
            }
            RecordKind::Prepare { home } => format!("PREPARE, home is shard {home}: {writes}"),
            RecordKind::Decision { commit: Some(ts) } => format!("DECISION committed at {ts:?}"),
            RecordKind::Part { lower_bound } => format!("PART from {lower_bound:?}: {writes}"),
            RecordKind::Decision { commit: None } => "DECISION rolled back".into(),
            RecordKind::Closed { at } => format!("CLOSED at {at:?}"),
            RecordKind::Copy { table, rows, complete_from } => {
                let rows: Vec<String> = rows.iter().map(|row| self.copied(row)).collect();
                let rows = if rows.is_empty() { "nothing".into() } else { rows.join(", ") };
                format!("COPY of {}, whole from {complete_from:?}: {rows}", self.table(*table))
            }
            RecordKind::Decisions { decided, forgotten } => {
                let decided: Vec<String> = decided
                    .iter()
                    .map(|(id, ts)| format!("{} at {ts:?}", self.transaction(*id)))
                    .collect();
                let decided = if decided.is_empty() { "none".into() } else { decided.join(", ") };
                let up_to =
                    forgotten.up_to.iter().map(|(from, _, number)| format!("{from:?} {number}"));
                let up_to: Vec<String> = up_to.collect();
                match up_to.is_empty() {
                    true => format!("DECISIONS {decided}"),
                    false => format!("DECISIONS {decided}, forgotten up to {}", up_to.join(", ")),
                }
            }
            RecordKind::Offer { table, after, pieces, complete_from } => {
                let bound = |end: &Option<Bytes>| end.as_ref().map_or("end".into(), |end| key(end));
                let pieces = pieces
                    .iter()
                    .map(|piece| format!("to {}: {} rows", bound(&piece.up_to), piece.sum.rows));
                let pieces = pieces.collect::<Vec<String>>().join(", ");
                format!(
                    "OFFER {} {} {pieces}, whole from {complete_from:?}",
                    self.table(*table),
                    bound(after)
                )
            }
            RecordKind::Verify { table, after, up_to, sum } => {
                let bound = |end: &Option<Bytes>| end.as_ref().map_or("end".into(), |end| key(end));
                let (after, up_to) = (bound(after), bound(up_to));
                format!("VERIFY {} {after} to {up_to}: {} rows", self.table(*table), sum.rows)
            }
        }
    }

    fn copied(&self, copied: &CopiedRow) -> String {
        match &copied.version {
            CopiedVersion::Committed(ts, bytes) => format!("{}{}", row(bytes), at(*ts)),
            CopiedVersion::Pending(pending) => {
                let deleted = || format!("{} deleted", key(&copied.key));
                let change = pending.row.as_ref().map_or_else(deleted, |bytes| row(bytes));
                format!("{change} pending of {}", self.transaction(pending.transaction))
            }
        }
    }

    fn results(&self, result: &BatchResult) -> String {
        let results: Vec<String> = result.results.iter().flatten().map(one_result).collect();
        match results.as_slice() {
            [] => "nothing".into(),
            [first, ..] if 9 < results.len() && results.iter().all(|other| other == first) => {
                format!("{first} ({} times)", results.len())
            }
            _ => results.join(", "),
        }
    }

    pub fn refusal(&self, refusal: &Refusal) -> String {
        match refusal {
            Refusal::DuplicateKey { table, .. } => {
                format!("DuplicateKey in {}", self.table(*table))
            }
            Refusal::SchemaChanged { table } => format!("SchemaChanged: {}", self.table(*table)),
            Refusal::OutcomeUnknown(commit) => {
                format!("OutcomeUnknown {}", self.transaction(commit.transaction))
            }
            Refusal::NotDurable(commit) => {
                format!("NotDurable {}", self.transaction(commit.transaction))
            }
            Refusal::DiskFull { node: of, rolls_back } => {
                let what = if *rolls_back { "; rolled back" } else { "" };
                format!("DiskFull {}{what}", node(*of))
            }
            other => format!("{other:?}"),
        }
    }

    pub fn reply(&self, reply: &Reply) -> String {
        match reply {
            Reply::Executed(result) => self.results(result),
            Reply::Done => "done".into(),
            Reply::Refused(refusal) => format!("refused: {}", self.refusal(refusal)),
            Reply::Schema(catalogue) => format!("schema {}", catalogue.version),
            Reply::Checkpointed(at) => format!("checkpointed {at:?}"),
            Reply::Reports(reports) => {
                let all: Vec<String> = reports
                    .iter()
                    .map(|(id, report)| format!("{}: {}", node(*id), self.report(report)))
                    .collect();
                all.join("; ")
            }
        }
    }
}

/// Reports.
impl Names {
    /// What is kept of the last cluster restart, but for the sizes and times.
    pub fn restarted(&self, state: &ControlState) -> Vec<String> {
        let Some(report) = &state.restarted else { return Vec::new() };
        let RestartReport { lineage, ended, at, is_clean, is_lossy, lost, lost_first, nodes } =
            report;
        let known = match (is_clean, lost.oldest, lost.newest) {
            (true, ..) => "nothing is lost".to_string(),
            (false, Some(oldest), Some(newest)) => {
                format!("{} lost, from {oldest:?} to {newest:?}", lost.count)
            }
            (false, ..) => format!("{} lost", lost.count),
        };
        let lossy = if *is_lossy { ", lossy" } else { "" };
        let mut lines = vec![format!("lineage {lineage} behind {ended} at {at:?}{lossy}: {known}")];
        lines.extend(nodes.iter().map(|own| {
            let NodeLoaded { node, parts, rows, entries, lost, .. } = own;
            format!("n{node}: {parts} parts: {rows} rows, {entries} entries, {} lost", lost.count)
        }));
        lines.extend(lost_first.iter().map(|LostTransaction { commit, ts, node }| {
            let CommitId { transaction, shard } = commit;
            let at = ts.map_or("no timestamp".into(), |ts| format!("{ts:?}"));
            format!(
                "lost: {} of shard {shard}, at {at}, by n{node}",
                self.transaction(*transaction)
            )
        }));
        lines
    }

    fn report(&self, report: &Report) -> String {
        let parts: Vec<String> = match report {
            Report::Locks(shards) => shards.iter().map(|shard| self.shard_locks(shard)).collect(),
            Report::Holdings(shards) => {
                let all = shards.iter().flat_map(|shard| {
                    shard.holdings.iter().map(|holding| self.holding(shard.shard, holding))
                });
                all.collect()
            }
            Report::Sessions(m) => m.sessions.iter().map(|own| self.session(own)).collect(),
            Report::Deadlocks(all) => {
                all.iter().map(|m| self.deadlock(&m.victim, &m.members)).collect()
            }
            Report::Outcome(outcome) => outcome.iter().map(|own| format!("{own:?}")).collect(),
            other => vec![format!("{other:?}")],
        };
        if parts.is_empty() { "nothing".into() } else { parts.join(" | ") }
    }

    fn shard_locks(&self, piece: &ShardLocks) -> String {
        let locks: Vec<String> = piece.locks.iter().map(|lock| self.lock(lock)).collect();
        let next = piece.next.map_or(String::new(), |next| format!(", go on at {next}"));
        format!("shard {} has {}: {}{next}", piece.shard, piece.total, locks.join(", "))
    }

    fn lock(&self, lock: &LockReport) -> String {
        let what = format!("{} {:?}", self.transaction(lock.transaction), lock.name);
        let thing = self.locked(&lock.lock);
        match &lock.wait {
            None => format!("{what} {thing}"),
            Some(wait) => {
                let blocking = wait.blocked_by.iter();
                let blocking = blocking
                    .map(|own| format!("{} {:?}", self.transaction(own.transaction), own.name));
                let blocking: Vec<String> = blocking.collect();
                let whom = if blocking.is_empty() { "" } else { " for " };
                let blocking = blocking.join(" and ");
                format!("{what} {thing} waits {} us{whom}{blocking}", wait.age_us)
            }
        }
    }

    fn locked(&self, lock: &LockedThing) -> String {
        let key = match &lock.key {
            LockedKey::Values(values) => format!("{values:?}"),
            other => format!("{other:?}"),
        };
        format!("{:?} of {}.{} {key}", lock.mode, self.table(lock.table), lock.index)
    }

    fn holding(&self, shard: ShardId, own: &Holding) -> String {
        let wait = own.wait.as_ref().map_or(String::new(), |lock| format!(", {}", self.lock(lock)));
        let transaction = self.transaction(own.transaction);
        format!("shard {shard}: {transaction} {} locks, {} writes{wait}", own.locks, own.writes)
    }

    fn session(&self, session: &SessionReport) -> String {
        let transaction = session.transaction.as_ref().map_or("no transaction".into(), |own| {
            let tables = own.tables;
            format!("{} of {} us, {tables} tables", self.transaction(own.id), own.age_us)
        });
        format!("{:?}, {transaction}", session.activity)
    }

    fn deadlock(&self, victim: &TransactionId, members: &[DeadlockMember]) -> String {
        let members = members.iter().map(|member| {
            let lock = member.lock.as_ref().map_or("?".into(), |lock| self.locked(lock));
            let of = member.connection.as_ref().map_or(String::new(), |own| {
                format!(" of {} ({})", own.id, own.statement.as_deref().unwrap_or("nothing"))
            });
            format!("{}{of} waits for {lock}", self.transaction(member.transaction))
        });
        let members: Vec<String> = members.collect();
        format!("{}; victim {}", members.join(", "), self.transaction(*victim))
    }
}

fn one_result(result: &OpResult) -> String {
    match result {
        OpResult::Row(Some(bytes)) => row(bytes),
        OpResult::Row(None) => "no row".into(),
        OpResult::Done => "done".into(),
        OpResult::Updated { matched: false, .. } => "no row".into(),
        OpResult::Updated { row: Some(bytes), .. } => row(bytes),
        OpResult::Updated { changed, .. } => if *changed { "changed" } else { "unchanged" }.into(),
        OpResult::Deleted(deleted) => if *deleted { "deleted" } else { "no row" }.into(),
        OpResult::Rows(batch) => {
            let one = |index: usize| match batch.row(index) {
                [] => format!("key {}", key(batch.key(index))),
                bytes => row(bytes),
            };
            let rows: Vec<String> = (0..batch.len()).map(one).collect();
            format!("[{}]", rows.join(" "))
        }
        OpResult::Groups(batch) => format!("{} groups", batch.groups.len()),
        OpResult::Later => "later".into(),
    }
}

fn committed(committed: Committed) -> Option<String> {
    match committed {
        Committed::No => None,
        Committed::Decided(ts) => Some(format!("committed at {ts:?}")),
        Committed::WhenHeld(position) => Some(format!("committed when you hold {position}")),
    }
}

/// " +5" or " =7".
fn assigned(assignments: &[Assignment]) -> String {
    let parts = assignments.iter().map(|assignment| match &assignment.value {
        Expr::Const(Value::Int(value)) => format!(" ={value}"),
        Expr::Binary(_, _, amount) => match &**amount {
            Expr::Const(Value::Int(value)) => format!(" {value:+}"),
            other => format!(" {other:?}"),
        },
        other => format!(" {other:?}"),
    });
    parts.collect()
}

/// A timestamp as versions of rows show it.
pub fn at(ts: Timestamp) -> String {
    format!("@{ts:?}")
}

/// What the transaction has on the shard that answers.
fn held(holds: Holds) -> Option<&'static str> {
    match holds {
        Holds::Nothing => None,
        Holds::Locks => Some("holds locks"),
        Holds::Writes => Some("holds"),
    }
}
