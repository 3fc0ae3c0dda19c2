//! What the node tells about itself, and gathering it from all nodes for a session that asks.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering;

use protocol::Message;
use protocol::message::{ReportAnswer, ReportQuery};
use protocol::report::{
    FillReport, IndexStatistics, MemoryReport, NodeState, NodeStatus, PartitionReport,
    PartitionStatistics, PrefixStatistics, Report, ReportRequest, ShardHoldings, ShardLocks,
    TableMemory, TransactionOutcome,
};
use protocol::request::{Reply, SessionId};
use storage::PrefixEstimate;
use types::wire::Bytes;
use types::{Address, CommitId, NodeId, ShardId, TableId, View, WorkerId};

use crate::coordinator::Coordinator;
use crate::deadlock::Deadlock;
use crate::limits::{
    LOCKS_PER_REPORT, REPORT_SUMS_TIMEOUT_US, REPORT_TIMEOUT_US, SUMMED_BYTES_MAX, SUMMED_ROWS_MAX,
};
use crate::node::Mutation;
use crate::participant::owned_shards;
use crate::worker::{Context, Time};

pub struct Reports {
    started: Time,
    request_last: u64,
    gathering: BTreeMap<u64, Gathering>,
    /// Tables that others want to hear of: their rows are summed up some at a time.
    describing: VecDeque<Describing>,
    /// Tables whose indexes others want to hear of: one partition at a time.
    surveying: VecDeque<Surveying>,
}

struct Surveying {
    asked_by: Address,
    request: u64,
    anew: bool,
    /// Partitions that are not done.
    left: VecDeque<(TableId, ShardId)>,
    partitions: Vec<PartitionStatistics>,
}

struct Describing {
    asked_by: Address,
    request: u64,
    table: TableId,
    /// Shards that are not done. In the first of them, the key behind which the sum continues, and its value so far.
    left: VecDeque<ShardId>,
    after: Option<Vec<u8>>,
    sum: u128,
    partitions: Vec<PartitionReport>,
}

struct Gathering {
    session: SessionId,
    deadline: Time,
    answers: BTreeMap<Address, Option<Report>>,
}

/// The blocks of a worker that have something to tell.
pub(crate) struct Blocks<'a> {
    pub reports: &'a Reports,
    pub control_leader: bool,
    pub coordinator: &'a Coordinator,
    pub deadlock: &'a Deadlock,
}

impl Reports {
    pub(crate) fn new(started: Time) -> Reports {
        Reports {
            started,
            request_last: 0,
            gathering: BTreeMap::new(),
            describing: VecDeque::new(),
            surveying: VecDeque::new(),
        }
    }

    /// Asks one node or all.
    pub(crate) fn ask(
        &mut self,
        session: SessionId,
        node: Option<NodeId>,
        query: &ReportRequest,
        context: &mut Context<'_>,
    ) {
        self.request_last += 1;
        let request = self.request_last;
        let all = context.node.config.nodes.iter();
        let asked = all.filter(|config| node.is_none_or(|node| node == config.id));
        let addresses: Vec<Address> = asked
            .flat_map(|config| {
                let workers = match (query.is_for_workers(), config.data) {
                    (true, true) => config.workers,
                    (true, false) => 0,
                    (false, _) => 1,
                };
                (0..workers).map(|worker| Address { node: config.id, worker: WorkerId(worker) })
            })
            .collect();
        let timeout = match query {
            ReportRequest::Partitions { .. } => REPORT_SUMS_TIMEOUT_US,
            _ => REPORT_TIMEOUT_US,
        };
        let gathering = Gathering {
            session,
            deadline: context.now + timeout,
            answers: addresses.iter().map(|address| (*address, None)).collect(),
        };
        self.gathering.insert(request, gathering);
        for address in addresses {
            let query = ReportQuery { request, query: query.clone() };
            context.send(address, Message::ReportRequest(query));
        }
        let state = context.state;
        self.forget(|node| state.is_excluded(node), context);
    }

    pub(crate) fn on_report_answer(
        &mut self,
        from: Address,
        message: ReportAnswer,
        context: &mut Context<'_>,
    ) {
        let Some(gathering) = self.gathering.get_mut(&message.request) else { return };
        if let Some(answer) = gathering.answers.get_mut(&from) {
            *answer = Some(message.report);
        }
        self.finish(message.request, context);
    }

    /// Nodes that are over will not answer.
    pub(crate) fn forget(&mut self, is_over: impl Fn(NodeId) -> bool, context: &mut Context<'_>) {
        let requests: Vec<u64> = self.gathering.keys().copied().collect();
        for request in requests {
            let gathering = self.gathering.get_mut(&request).expect("just listed");
            for (_, answer) in gathering.answers.iter_mut().filter(|(from, _)| is_over(from.node)) {
                answer.get_or_insert(Report::Unreachable);
            }
            self.finish(request, context);
        }
    }

    pub(crate) fn on_tick(&mut self, context: &mut Context<'_>) {
        let late = self.gathering.iter().filter(|(_, g)| context.now >= g.deadline);
        let late: Vec<u64> = late.map(|(request, _)| *request).collect();
        for request in late {
            let gathering = self.gathering.get_mut(&request).expect("just listed");
            for answer in gathering.answers.values_mut() {
                answer.get_or_insert(Report::Unreachable);
            }
            self.finish(request, context);
        }
    }

    /// Somebody wants to hear of a table's partitions on this node.
    pub(crate) fn describe(
        &mut self,
        asked_by: Address,
        request: u64,
        table: TableId,
        context: &mut Context<'_>,
    ) {
        if self.is_idle() {
            context.describe_later();
        }
        self.describing.push_back(Describing {
            asked_by,
            request,
            table,
            left: context.node.local_shards().into_iter().collect(),
            after: None,
            sum: 0,
            partitions: Vec::new(),
        });
    }

    /// Queues estimates of the indexes of tables whose primaries this node has.
    pub(crate) fn survey(
        &mut self,
        asked_by: Address,
        request: u64,
        (tables, anew): (Vec<TableId>, bool),
        context: &mut Context<'_>,
    ) {
        if self.is_idle() {
            context.describe_later();
        }
        let shards = context.node.local_shards();
        let left = tables.iter().flat_map(|table| shards.iter().map(|shard| (*table, *shard)));
        let (left, partitions) = (left.collect(), Vec::new());
        self.surveying.push_back(Surveying { asked_by, request, anew, left, partitions });
    }

    fn is_idle(&self) -> bool {
        self.describing.is_empty() && self.surveying.is_empty()
    }

    /// A step of both: some rows, and a partition.
    pub(crate) fn describe_some(&mut self, context: &mut Context<'_>) {
        if let Some(describing) = self.describing.front_mut()
            && describing.take_some(context)
        {
            let Describing { asked_by, request, partitions, .. } =
                self.describing.pop_front().expect("just seen");
            let answer = ReportAnswer { request, report: Report::Partitions(partitions) };
            context.send(asked_by, Message::ReportAnswer(answer));
        }
        if let Some(surveying) = self.surveying.front_mut()
            && surveying.take_one(context)
        {
            let Surveying { asked_by, request, partitions, .. } =
                self.surveying.pop_front().expect("just seen");
            let answer = ReportAnswer { request, report: Report::Statistics(partitions) };
            context.send(asked_by, Message::ReportAnswer(answer));
        }
        if !self.is_idle() {
            context.describe_later();
        }
    }

    fn finish(&mut self, request: u64, context: &mut Context<'_>) {
        let complete = self.gathering[&request].answers.values().all(Option::is_some);
        if complete {
            let gathering = self.gathering.remove(&request).expect("just looked");
            let answers = gathering.answers.into_iter();
            let reports =
                answers.map(|(from, answer)| (from.node, answer.expect("complete"))).collect();
            context.reply(gathering.session, Reply::Reports(reports));
        }
    }
}

impl Surveying {
    /// Estimates one partition more, if its primary is here. True if there are none left.
    fn take_one(&mut self, context: &Context<'_>) -> bool {
        while let Some((table, id)) = self.left.pop_front() {
            let Some(mut shard) = context.node.shard(id).filter(|shard| shard.is_primary()) else {
                continue;
            };
            if let Some((rows, estimates)) = shard.statistics(table, self.anew) {
                let indexes = estimates.into_iter().map(|estimate| IndexStatistics {
                    index: estimate.index,
                    prefixes: estimate.prefixes.into_iter().map(prefix_statistics).collect(),
                    samples: estimate.samples.into_iter().map(Bytes).collect(),
                });
                let indexes = indexes.collect();
                self.partitions.push(PartitionStatistics { table, shard: id, rows, indexes });
                break;
            }
        }
        self.left.is_empty()
    }
}

fn prefix_statistics(estimate: PrefixEstimate) -> PrefixStatistics {
    let PrefixEstimate { rare_rows, rare_values, common_values } = estimate;
    PrefixStatistics { rare_rows, rare_values, common_values }
}

impl Describing {
    /// Sums up some rows more. True if those were the last.
    fn take_some(&mut self, context: &Context<'_>) -> bool {
        let Some(id) = self.left.front().copied() else { return true };
        if let Some(shard) = context.node.shard(id)
            && let Some(replica) = shard.tables().get(&self.table)
        {
            let (rows, bytes) = (SUMMED_ROWS_MAX, SUMMED_BYTES_MAX);
            let after = self.after.take();
            let (sum, behind) = replica.partition.checksum_behind(after.as_deref(), rows, bytes);
            self.sum = self.sum.wrapping_add(sum);
            self.after = behind;
            if self.after.is_some() {
                return false;
            }
            self.partitions.push(PartitionReport {
                shard: id,
                node: context.address.node,
                primary: shard.is_primary(),
                rows: replica.partition.row_count(),
                bytes: replica.partition.memory_bytes(),
                checksum: (self.sum as u64) ^ ((self.sum >> 64) as u64),
            });
        }
        (self.after, self.sum) = (None, 0);
        self.left.pop_front();
        self.left.is_empty()
    }
}

pub(crate) fn on_report_request(
    from: Address,
    message: &ReportQuery,
    blocks: &Blocks<'_>,
    context: &mut Context<'_>,
) {
    let report = match &message.query {
        ReportRequest::Memory => Report::Memory(memory(context)),
        ReportRequest::Partitions { .. } | ReportRequest::Statistics { .. } => {
            unreachable!("tables are described in steps")
        }
        ReportRequest::Status => {
            Report::Status(status(blocks.reports, blocks.control_leader, context))
        }
        ReportRequest::Sessions => Report::Sessions(blocks.coordinator.report(context)),
        ReportRequest::Locks { from } => Report::Locks(locks(from, context)),
        ReportRequest::Holdings => Report::Holdings(holdings(context)),
        ReportRequest::Deadlocks => Report::Deadlocks(blocks.deadlock.report(context.now)),
        ReportRequest::Outcome { commit } => {
            Report::Outcome(outcome(commit, blocks.coordinator, context))
        }
        ReportRequest::Backup(request) => Report::Backup(context.node.backup(request)),
    };
    let answer = ReportAnswer { request: message.request, report };
    context.send(from, Message::ReportAnswer(answer));
}

/// The next piece of each of these shards that this worker is to tell of, at most [`LOCKS_PER_REPORT`] in all.
fn locks(from: &[(ShardId, u64)], context: &Context<'_>) -> Vec<ShardLocks> {
    let owned = owned_shards(context);
    let mut budget = LOCKS_PER_REPORT;
    let mut pieces = Vec::new();
    for (id, position) in from.iter().filter(|(id, _)| owned.contains(id)) {
        let Some(shard) = context.node.shard(*id).filter(|shard| shard.is_primary()) else {
            continue;
        };
        pieces.push(shard.locks_from(*position, &mut budget, context.now));
    }
    pieces
}

/// The coordinator says what became of its transaction; when it is over, the primary of the shard that was to decide it.
fn outcome(
    commit: &CommitId,
    coordinator: &Coordinator,
    context: &Context<'_>,
) -> Option<TransactionOutcome> {
    let CommitId { transaction, shard } = *commit;
    if (transaction.coordinator, transaction.incarnation)
        == (context.address, context.node.incarnation)
    {
        return Some(coordinator.outcome(transaction));
    }
    let is_owner = owned_shards(context).contains(&shard);
    if is_owner && is_lost_by_restart(commit, context) {
        return Some(TransactionOutcome::RolledBackByRestart);
    }
    if context.node.mutation == Mutation::OutcomeGuessed && is_owner {
        return Some(TransactionOutcome::RolledBack);
    }
    context.node.shard(shard).filter(|_| is_owner)?.outcome(transaction)
}

/// Of those that a restart has lost the first are known.
fn is_lost_by_restart(commit: &CommitId, context: &Context<'_>) -> bool {
    let restarted = context.state.restarted.as_ref();
    restarted.is_some_and(|report| report.lost_first.iter().any(|lost| lost.commit == *commit))
}

fn holdings(context: &Context<'_>) -> Vec<ShardHoldings> {
    let owned = owned_shards(context).into_iter();
    let shards = owned.filter_map(|id| context.node.shard(id)).filter(|shard| shard.is_primary());
    shards.map(|shard| shard.holdings(context.now)).collect()
}

fn memory(context: &Context<'_>) -> MemoryReport {
    let mut tables: BTreeMap<TableId, TableMemory> = BTreeMap::new();
    for id in context.node.local_shards() {
        let Some(shard) = context.node.shard(id) else { continue };
        for (table, replica) in shard.tables() {
            let definition = replica.partition.table();
            let entry = tables.entry(*table).or_insert_with(|| TableMemory {
                table: *table,
                name: format!("{}.{}", definition.database, definition.name),
                rows: 0,
                bytes: 0,
            });
            entry.rows += replica.partition.row_count();
            entry.bytes += replica.partition.memory_bytes();
        }
    }
    MemoryReport {
        used_bytes: context.node.pool.used(),
        limit_bytes: context.node.pool.limit(),
        tables: tables.into_values().collect(),
    }
}

fn status(reports: &Reports, control_leader: bool, context: &Context<'_>) -> NodeStatus {
    let here = context.address.node;
    let state = context.state;
    let shards = context.node.local_shards();
    let locks = shards.iter().filter_map(|id| context.node.shard(*id)).map(|s| s.lock_count());
    let statistics = &context.node.statistics;
    let registered = state.incarnations.get(&here) == Some(&context.node.incarnation);
    let group = state.group_of_node(here);
    let fills = shards.iter().filter_map(|id| context.node.shard(*id)?.fill_report(context.now));
    let fills = fills.reduce(FillReport::and);
    NodeStatus {
        node: here,
        incarnation: context.node.incarnation,
        shards_led: shards.iter().map(|id| u32::from(state.primary(*id) == here)).sum(),
        state: match state.is_formed() && registered {
            true if context.node.is_stopping() => NodeState::Stopping,
            true if state.is_active(here, context.node.incarnation) => NodeState::Started,
            true => NodeState::Joining,
            false => NodeState::Starting,
        },
        view: group.map_or(View(0), |group| state.group(group).view),
        control_leader,
        sequencer: state.sequencer.is_some_and(|sequencer| sequencer.node == here),
        uptime_seconds: (context.now - reports.started) / 1_000_000,
        transactions_open: statistics.transactions_open.load(Ordering::Relaxed),
        locks_held: locks.map(|count| count as u64).sum(),
        commits: statistics.commits.load(Ordering::Relaxed),
        aborts: statistics.aborts.load(Ordering::Relaxed),
        messages_sent: statistics.messages_sent.load(Ordering::Relaxed),
        fills,
        late: context.node.late(context.now),
        room: context.node.room_of(here),
    }
}
