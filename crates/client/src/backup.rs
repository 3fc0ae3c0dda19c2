//! A backup of the whole cluster, as the session sees to it that asks for one.
//!
//! First a global checkpoint: everything that was committed before is in it. Then a member of each group copies its disk up to there;
//! they are asked again and again how far they are. The catalogue that goes with it is the one that holds before and after the
//! checkpoint; if it changed meanwhile another checkpoint is taken. A node that fails, or whose disk has gone past the checkpoint
//! before it was asked, makes the others drop what they have.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use protocol::Refusal;
use protocol::backup::{
    BackupContents, BackupLock, BackupPart, BackupPlan, BackupReport, BackupRequest, BackupState,
    History,
};
use protocol::control::ControlState;
use protocol::report::{Report, ReportRequest};
use types::{NodeId, ShardId, Timestamp, WorkerId};

use crate::session::{Session, or_late};

/// How often nodes are asked how far they are.
const POLL_MS: u64 = 200;
/// Consecutive questions without an answer, two seconds each, after which a node is taken for dead.
const UNREACHABLE_MAX: u32 = 5;
/// Checkpoints that are tried while disks have moved on, or tables have changed.
const ATTEMPTS_MAX: u32 = 10;

/// The requested backup.
pub struct BackupWanted {
    pub id: u32,
    /// Where to, on every node; None: in each node's own directory.
    pub dir: Option<String>,
    pub lock: Option<BackupLock>,
}

/// How far one is; shared with whoever wants to see it, or to end it.
#[derive(Default)]
pub struct BackupRun {
    pub at: Cell<Timestamp>,
    pub nodes: RefCell<BTreeMap<NodeId, BackupReport>>,
    pub is_aborted: Cell<bool>,
}

const ABORTED: &str = "it was aborted";
const LATE: &str = "no global checkpoint has been done for a minute: a disk does not keep up, or this node is cut off from the others; try \
                    again when one is, or at another node";

enum Attempt {
    Done,
    /// With another checkpoint it may succeed.
    Again(&'static str),
}

impl Session {
    /// Makes a backup. Errors say what happened, in the operator's words; then nothing of it is left.
    pub async fn backup(
        &mut self,
        wanted: &BackupWanted,
        progress: &BackupRun,
    ) -> Result<(), String> {
        let mut why = "";
        for _ in 0..ATTEMPTS_MAX {
            match self.try_backup(wanted, progress).await? {
                Attempt::Done => return Ok(()),
                Attempt::Again(reason) => why = reason,
            }
        }
        Err(format!("it was tried {ATTEMPTS_MAX} times, and {why} each time"))
    }

    async fn try_backup(
        &mut self,
        wanted: &BackupWanted,
        progress: &BackupRun,
    ) -> Result<Attempt, String> {
        let before = self.client().catalogue().version;
        let is_aborted = || progress.is_aborted.get();
        // By a session of its own: its answer is dropped when it is given up.
        let mut waiting = self.client().session();
        let at =
            waiting.await_checkpoint_unless(&or_late(&is_aborted)).await.map_err(|refusal| {
                match refusal {
                    Refusal::Unavailable(why) => why,
                    other => format!("{other:?}"),
                }
            })?;
        let Some(at) = at else { return Err(if is_aborted() { ABORTED } else { LATE }.into()) };
        let client = self.client().clone();
        let state = client.state();
        if state.catalogue.version != before {
            return Ok(Attempt::Again("tables were created or changed"));
        }
        let run = client.random_u64();
        let contents = BackupContents {
            cluster: state.config.cluster,
            id: wanted.id,
            run,
            at,
            unix_micros: client.wall_clock_micros(),
            history: History {
                lineage: state.lineage,
                restarts: state.restarts.clone(),
                catalogue: state.catalogue.clone(),
            },
            parts: parts(&state),
        };
        let nodes: Vec<NodeId> = sources(&contents.parts);
        progress.at.set(at);
        *progress.nodes.borrow_mut() =
            nodes.iter().map(|node| (*node, BackupReport::default())).collect();
        let plan = BackupPlan { contents, dir: wanted.dir.clone(), lock: wanted.lock.clone() };
        let mut copying = self.begin_all(&nodes, plan, progress).await;
        if copying.is_ok() {
            copying = self.follow_all(&nodes, run, progress).await;
        }
        if !matches!(copying, Ok(Attempt::Done)) {
            self.abort_all(&nodes, run).await;
        }
        copying
    }

    /// Has all nodes drop what they have, and waits until they are done with that.
    async fn abort_all(&mut self, nodes: &[NodeId], run: u64) {
        let mut left: BTreeMap<NodeId, u32> = nodes.iter().map(|node| (*node, 0)).collect();
        while !left.is_empty() {
            for node in nodes {
                let Some(unreachable) = left.get_mut(node) else { continue };
                let query = ReportRequest::Backup(BackupRequest::Abort { run });
                match self.ask(*node, query).await {
                    // As long as that takes: it makes no other one meanwhile.
                    Some(report) if report.state == BackupState::Running => *unreachable = 0,
                    None if *unreachable + 1 < UNREACHABLE_MAX => *unreachable += 1,
                    _ => _ = left.remove(node),
                }
            }
            self.client().clone().sleep_ms(POLL_MS).await;
        }
    }

    async fn begin_all(
        &mut self,
        nodes: &[NodeId],
        plan: BackupPlan,
        progress: &BackupRun,
    ) -> Result<Attempt, String> {
        for node in nodes {
            let query = ReportRequest::Backup(BackupRequest::Begin(Box::new(plan.clone())));
            let Some(report) = self.ask(*node, query).await else {
                return Err(format!("node {node} does not answer"));
            };
            let state = report.state.clone();
            progress.nodes.borrow_mut().insert(*node, report);
            match state {
                BackupState::Unknown => {
                    return Err(format!("node {node} keeps no rows on a disk"));
                }
                BackupState::Failed(why) => return Err(format!("node {node}: {why}")),
                _ => {}
            }
        }
        Ok(Attempt::Done)
    }

    async fn follow_all(
        &mut self,
        nodes: &[NodeId],
        run: u64,
        progress: &BackupRun,
    ) -> Result<Attempt, String> {
        let mut unreachable: BTreeMap<NodeId, u32> = BTreeMap::new();
        loop {
            self.client().clone().sleep_ms(POLL_MS).await;
            if progress.is_aborted.get() {
                return Err(ABORTED.into());
            }
            let mut is_done = true;
            for node in nodes {
                let query = ReportRequest::Backup(BackupRequest::Status { run });
                let Some(report) = self.ask(*node, query).await else {
                    let times = unreachable.entry(*node).or_default();
                    *times += 1;
                    if *times == UNREACHABLE_MAX {
                        return Err(format!("node {node} does not answer any more"));
                    }
                    is_done = false;
                    continue;
                };
                unreachable.remove(node);
                let state = report.state.clone();
                progress.nodes.borrow_mut().insert(*node, report);
                match state {
                    BackupState::Done => {}
                    BackupState::Running => is_done = false,
                    BackupState::TooLate => {
                        return Ok(Attempt::Again(
                            "the disk of a node had gone on before it was asked",
                        ));
                    }
                    BackupState::Failed(why) => return Err(format!("node {node}: {why}")),
                    BackupState::Unknown => {
                        return Err(format!("node {node} was started again meanwhile"));
                    }
                }
            }
            if is_done {
                // Whoever has ended it meanwhile was told that it is.
                if progress.is_aborted.get() {
                    return Err(ABORTED.into());
                }
                return Ok(Attempt::Done);
            }
        }
    }

    async fn ask(&mut self, node: NodeId, query: ReportRequest) -> Option<BackupReport> {
        let reports = self.report(Some(node), query).await;
        reports.into_iter().find_map(|(_, report)| match report {
            Report::Backup(report) => Some(report),
            _ => None,
        })
    }
}

/// Who copies what: of each group one member, or, where all have as many workers and so the same shards with each, one in turn.
fn parts(state: &ControlState) -> Vec<BackupPart> {
    let workers = |node: NodeId| state.config.node(node).map_or(1, |config| config.workers);
    let mut parts = Vec::new();
    for (id, group) in &state.groups {
        let members: Vec<NodeId> = group.active().collect();
        let Some(first) = members.first().copied() else { continue };
        let are_alike = members.iter().all(|member| workers(*member) == workers(first));
        for part in 0..workers(first) {
            let node = match are_alike {
                true => members[usize::from(part) % members.len()],
                false => first,
            };
            let shards: Vec<ShardId> = state
                .shards()
                .filter(|shard| state.group_of(*shard) == *id)
                .filter(|shard| state.owner(*shard, node).worker == WorkerId(part))
                .collect();
            if !shards.is_empty() {
                parts.push(BackupPart { node, part: WorkerId(part), shards });
            }
        }
    }
    parts
}

fn sources(parts: &[BackupPart]) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = parts.iter().map(|part| part.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}
