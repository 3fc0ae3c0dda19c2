//! The whole cluster loses its power, and starts again from its logs: all shards at one point, or each with all it has.
//!
//! ```text
//!   checkpoint     G is the last timestamp given out        log: CLOSED(G), when nothing that has its markers may still get one up to G
//!                  G is committed when every log is durable up to its CLOSED(G)
//!   restart        by the last G that was committed: of each log the records with a timestamp up to G log: RESTARTED(G)
//!                  or, where every log was durable before any acknowledgement: all of it, and home decides transactions in doubt
//! ```
//!
//! One transaction writes in two shards, another one begins when the first is acknowledged. After a
//! crash each log has at least its durable records, and any number of the others; records read then
//! may still be lost in the next crash, until they are synced. Everything else is lost.
//!
//! The sequencer may be taken over; the old one may still give out a timestamp on request, below
//! those of its successor. (It has no lease, so no one reads by it.)
//!
//! That the cut is durable before anybody is served is no rule: whatever is written then stands behind it.
//!
//! Left out: members, which all hold the same log (the restart begins with one that was synced, rule R4; [`crate::view_change`]
//! has which one that is); checkpoints of rows, which stand for a piece of the log; reads ([`crate::snapshots`]); failures of
//! one shard ([`crate::commit`]).

use std::collections::BTreeMap;

use stateright::{Model, Property};

/// What must be done. Each can be broken alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A shard closes when every transaction with markers has ended, or will get a timestamp above.
    ClosedWhenEnded,
    /// What gets its markers once a shard is to close gets a timestamp above.
    FloorRaised,
    /// A checkpoint is committed when every log is durable up to where it is closed.
    CommittedWhenDurable,
    /// What was cut off is marked as such in the log.
    TailCut,
    /// `always`: a vote is given when PREPARE is durable.
    VotedWhenDurable,
    /// `always`: a commit is acknowledged, and passed on, when it is durable.
    ToldWhenDurable,
    /// `always`: home decides transactions in doubt; broken: they are rolled back.
    HomeIsAsked,
    /// `always`: what a log is read to hold is durable before anything follows from it.
    ReadWhenDurable,
}

impl Rule {
    /// Each, at which level it matters, and what does not hold without it.
    pub const ALL: &[(Rule, Level, &str)] = &[
        (Rule::ClosedWhenEnded, Level::Memory, ATOMIC),
        (Rule::FloorRaised, Level::Memory, ATOMIC),
        (Rule::CommittedWhenDurable, Level::Memory, ATOMIC),
        (Rule::TailCut, Level::Memory, FINAL),
        (Rule::VotedWhenDurable, Level::Always, ATOMIC),
        (Rule::ToldWhenDurable, Level::Always, TOLD),
        (Rule::HomeIsAsked, Level::Always, ATOMIC),
        (Rule::ReadWhenDurable, Level::Always, ATOMIC),
    ];
}

/// When a commit is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// When it is in the log; or, if it asks for that, when a checkpoint has it.
    Memory,
    /// When it is durable.
    Always,
}

pub const ATOMIC: &str = "both shards have a transaction or neither has";
pub const PREFIX: &str = "what is there was begun after nothing that is not";
pub const TOLD: &str = "what was told to be durable is there";
pub const FINAL: &str = "what one restart has found, and what it has cut, the next finds again";

#[derive(Clone, Copy, Debug)]
pub struct Restart {
    pub level: Level,
    pub broken: Option<Rule>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transaction {
    /// Writes in both shards.
    Wide,
    /// Begins when that was told, and writes in the other shard.
    Later,
    /// Of the time after a restart.
    New,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shard {
    Home,
    Other,
}
const SHARDS: [Shard; 2] = [Shard::Home, Shard::Other];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Record {
    Prepare,
    /// At home, or in the only shard, or the decision in the other one.
    Commit(Transaction, u8),
    Closed(u8),
    /// Records above this, and prepared ones, are cut off.
    Restarted(u8),
}

/// A shard, and its log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
struct Log {
    records: Vec<Record>,
    durable: usize,
    /// What was read, or closed at: markers from now on get a timestamp above.
    floor: u8,
    /// It is to close at this.
    closing: Option<u8>,
}

impl Log {
    fn append(&mut self, record: Record) {
        self.records.push(record);
    }
    fn has(&self, record: Record) -> bool {
        self.records.contains(&record)
    }
    fn is_durable(&self, record: Record) -> bool {
        self.records[..self.durable].contains(&record)
    }
    /// The transactions that are there, with their timestamps, and whether one is in doubt.
    fn contents(&self) -> (BTreeMap<Transaction, u8>, bool) {
        let (mut found, mut in_doubt) = (BTreeMap::new(), false);
        for record in &self.records {
            match record {
                Record::Prepare => in_doubt = true,
                Record::Commit(transaction, ts) => {
                    found.insert(*transaction, *ts);
                    in_doubt &= *transaction != Transaction::Wide;
                }
                Record::Closed(_) => {}
                Record::Restarted(cut) => {
                    found.retain(|_, ts| *ts <= *cut);
                    in_doubt = false;
                }
            }
        }
        (found, in_doubt)
    }
}

/// A transaction that runs: its markers, by shard, and its timestamp.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
struct Running {
    is_begun: bool,
    /// Its timestamp must be above.
    markers: BTreeMap<Shard, u8>,
    ts: Option<u8>,
    /// Its commit is in the log.
    is_committed: bool,
    told: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Power {
    On,
    Off,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    power: Power,
    home: Log,
    other: Log,
    wide: Running,
    later: Running,
    /// The last timestamps of the sequencer and of the one before it.
    last: u8,
    last_before: Option<u8>,
    /// The checkpoint that is being made, and the last that is committed: values of the control plane.
    making: Option<u8>,
    committed: u8,
    /// So many were begun: one for each time that the power is on.
    checkpoints: u8,
    restarts: u8,
    /// What was told to be durable.
    promised: [bool; 2],
    /// What was found by the first restart of the two transactions, in each shard.
    found: Option<[[bool; 2]; 2]>,
    has_changed: bool,
    is_torn: bool,
    is_gap: bool,
    is_broken: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Begin(Transaction),
    /// PREPARE at the other shard; and the markers where it commits.
    Prepare,
    Mark(Transaction),
    TakeTimestamp(Transaction),
    /// Of the sequencer that was taken over.
    TakeOldTimestamp(Transaction),
    TakeOver,
    Commit(Transaction),
    Decide,
    Tell(Transaction),
    /// The acknowledgement to a client that has waited for a checkpoint.
    Promise(Transaction),
    Sync(Shard),
    BeginCheckpoint,
    Close(Shard),
    CommitCheckpoint,
    /// So much of each log is left that was not durable.
    PowerFails(u8, u8),
    Restart,
    WriteNew,
}

/// The timestamps of a sequencer's epoch are above those of the one before.
const EPOCH: u8 = 10;
const RESTARTS_MAX: u8 = 2;

impl State {
    fn log(&self, shard: Shard) -> &Log {
        match shard {
            Shard::Home => &self.home,
            Shard::Other => &self.other,
        }
    }
    fn log_mut(&mut self, shard: Shard) -> &mut Log {
        match shard {
            Shard::Home => &mut self.home,
            Shard::Other => &mut self.other,
        }
    }
    fn running(&self, transaction: Transaction) -> &Running {
        match transaction {
            Transaction::Wide => &self.wide,
            Transaction::Later => &self.later,
            Transaction::New => unreachable!("it has no steps"),
        }
    }
    fn running_mut(&mut self, transaction: Transaction) -> &mut Running {
        match transaction {
            Transaction::Wide => &mut self.wide,
            Transaction::Later => &mut self.later,
            Transaction::New => unreachable!("it has no steps"),
        }
    }
    fn commit_of(&self, transaction: Transaction) -> Record {
        let ts = self.running(transaction).ts.expect("it has its timestamp");
        Record::Commit(transaction, ts)
    }
}

/// Where a transaction commits.
fn home_of(transaction: Transaction) -> Shard {
    match transaction {
        Transaction::Wide => Shard::Home,
        Transaction::Later | Transaction::New => Shard::Other,
    }
}

impl Restart {
    fn keeps(&self, rule: Rule) -> bool {
        self.broken != Some(rule)
    }
    fn is_always(&self) -> bool {
        self.level == Level::Always
    }

    /// Is the commit where it must be before anybody hears of it?
    fn is_decided(&self, state: &State, transaction: Transaction) -> bool {
        let running = state.running(transaction);
        let waits = self.is_always() && self.keeps(Rule::ToldWhenDurable);
        let log = state.log(home_of(transaction));
        running.is_committed && (!waits || log.is_durable(state.commit_of(transaction)))
    }

    fn may_mark(&self, state: &State, transaction: Transaction) -> bool {
        let running = state.running(transaction);
        let has_voted = transaction != Transaction::Wide || {
            let waits = self.is_always() && self.keeps(Rule::VotedWhenDurable);
            let log = &state.other;
            log.has(Record::Prepare) && (!waits || log.is_durable(Record::Prepare))
        };
        running.is_begun && has_voted && !running.markers.contains_key(&home_of(transaction))
    }

    /// Has nothing its markers in the shard that may still get a timestamp up to this?
    fn may_close(&self, state: &State, shard: Shard, at: u8) -> bool {
        let is_over = |transaction: Transaction| {
            let running = state.running(transaction);
            let may_be_below = running.markers.get(&shard).is_some_and(|floor| *floor < at);
            let has_ended = running.is_committed
                && (home_of(transaction) == shard
                    || state.log(shard).has(state.commit_of(transaction)));
            !may_be_below || has_ended
        };
        let all_over = [Transaction::Wide, Transaction::Later].into_iter().all(is_over);
        all_over || !self.keeps(Rule::ClosedWhenEnded)
    }

    fn actions_of(&self, state: &State, transaction: Transaction, actions: &mut Vec<Action>) {
        let running = state.running(transaction);
        let may_begin = transaction == Transaction::Wide || state.wide.told;
        if !running.is_begun && may_begin && state.restarts == 0 {
            actions.push(Action::Begin(transaction));
        }
        if self.may_mark(state, transaction) {
            actions.push(Action::Mark(transaction));
        }
        let is_marked = running.markers.contains_key(&home_of(transaction));
        if is_marked && running.ts.is_none() {
            actions.push(Action::TakeTimestamp(transaction));
            actions.extend(state.last_before.map(|_| Action::TakeOldTimestamp(transaction)));
        }
        if running.ts.is_some() && !running.is_committed {
            actions.push(Action::Commit(transaction));
        }
        if running.is_committed && !running.told && self.is_decided(state, transaction) {
            actions.push(Action::Tell(transaction));
        }
        let has_checkpoint = running.ts.is_some_and(|ts| ts <= state.committed);
        if running.told && has_checkpoint && !self.is_always() {
            actions.push(Action::Promise(transaction));
        }
    }

    /// Reads the logs, with transactions in doubt ended by home. Checks the result.
    fn restart(&self, state: &mut State) {
        let cut = if self.is_always() { u8::MAX } else { state.committed };
        let (at_home, _) = state.home.contents();
        let (_, in_doubt) = state.other.contents();
        let decision = at_home.get(&Transaction::Wide).filter(|_| self.keeps(Rule::HomeIsAsked));
        if self.is_always()
            && in_doubt
            && let Some(ts) = decision
        {
            state.other.append(Record::Commit(Transaction::Wide, *ts));
        }
        let mut found = SHARDS.map(|_| [false; 2]);
        for (shard, found) in SHARDS.into_iter().zip(&mut found) {
            let (mut contents, _) = state.log(shard).contents();
            contents.retain(|_, ts| *ts <= cut);
            *found = [Transaction::Wide, Transaction::Later].map(|of| contents.contains_key(&of));
            let log = state.log_mut(shard);
            if self.keeps(Rule::TailCut) {
                log.append(Record::Restarted(cut));
            }
            log.closing = None;
        }
        let [[wide_home, _], [wide_other, later]] = found;
        let promised = state.promised;
        state.is_torn |= wide_home != wide_other;
        state.is_gap |= later && !wide_other;
        state.is_broken |= promised[0] && !wide_other || promised[1] && !later;
        state.has_changed |= state.found.is_some_and(|before| before != found);
        state.found = Some(found);
        state.power = Power::On;
        state.wide = Running::default();
        state.later = Running::default();
        state.making = None;
        state.checkpoints = state.restarts;
        state.last_before = None;
        state.last = EPOCH * (2 + state.restarts);
    }
}

impl Model for Restart {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            power: Power::On,
            home: Log::default(),
            other: Log::default(),
            wide: Running::default(),
            later: Running::default(),
            last: 0,
            last_before: None,
            making: None,
            committed: 0,
            checkpoints: 0,
            restarts: 0,
            promised: [false; 2],
            found: None,
            has_changed: false,
            is_torn: false,
            is_gap: false,
            is_broken: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.power == Power::On && state.restarts == RESTARTS_MAX {
            return;
        }
        let lost = |log: &Log| (log.records.len() - log.durable) as u8;
        let is_synced = SHARDS.iter().all(|shard| lost(state.log(*shard)) == 0);
        match state.power {
            Power::Off => {
                let must_sync = self.is_always() && self.keeps(Rule::ReadWhenDurable);
                if is_synced || !must_sync {
                    actions.push(Action::Restart);
                }
            }
            Power::On => {
                for transaction in [Transaction::Wide, Transaction::Later] {
                    self.actions_of(state, transaction, actions);
                }
                let wide = &state.wide;
                if wide.is_begun && !wide.markers.contains_key(&Shard::Other) {
                    actions.push(Action::Prepare);
                }
                let has_decision =
                    wide.ts.is_some() && state.other.has(state.commit_of(Transaction::Wide));
                if self.is_decided(state, Transaction::Wide) && !has_decision {
                    actions.push(Action::Decide);
                }
                if state.last_before.is_none() && state.restarts == 0 && !self.is_always() {
                    actions.push(Action::TakeOver);
                }
                let is_first = state.checkpoints <= state.restarts;
                if is_first && state.last > state.committed && !self.is_always() {
                    actions.push(Action::BeginCheckpoint);
                }
                for shard in SHARDS {
                    let closing = state.log(shard).closing;
                    if closing.is_some_and(|at| self.may_close(state, shard, at)) {
                        actions.push(Action::Close(shard));
                    }
                }
                if let Some(at) = state.making {
                    let is_closed = |shard: &Shard| {
                        let (log, closed) = (state.log(*shard), Record::Closed(at));
                        match self.keeps(Rule::CommittedWhenDurable) {
                            true => log.is_durable(closed),
                            false => log.has(closed),
                        }
                    };
                    if SHARDS.iter().all(is_closed) {
                        actions.push(Action::CommitCheckpoint);
                    }
                }
                let (new, _) = state.other.contents();
                if state.restarts > 0 && !new.contains_key(&Transaction::New) {
                    actions.push(Action::WriteNew);
                }
            }
        }
        for shard in SHARDS {
            if lost(state.log(shard)) > 0 {
                actions.push(Action::Sync(shard));
            }
        }
        if state.power == Power::On {
            for home in 0..=lost(&state.home) {
                actions.extend((0..=lost(&state.other)).map(|o| Action::PowerFails(home, o)));
            }
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Begin(transaction) => state.running_mut(transaction).is_begun = true,
            Action::Prepare => {
                state.wide.markers.insert(Shard::Other, before.other.floor);
                state.other.append(Record::Prepare);
            }
            Action::Mark(transaction) => {
                let home = home_of(transaction);
                let floor = before.log(home).floor;
                state.running_mut(transaction).markers.insert(home, floor);
            }
            Action::TakeTimestamp(transaction) => {
                state.last += 1;
                state.running_mut(transaction).ts = Some(state.last);
            }
            Action::TakeOldTimestamp(transaction) => {
                let old = before.last_before? + 1;
                state.last_before = Some(old);
                state.running_mut(transaction).ts = Some(old);
            }
            Action::TakeOver => {
                state.last_before = Some(before.last);
                state.last = EPOCH;
            }
            Action::Commit(transaction) => {
                let running = state.running_mut(transaction);
                let ts = running.ts?;
                if running.markers.values().any(|floor| ts <= *floor) {
                    // Of the sequencer before: the transaction requests another one.
                    running.ts = None;
                } else {
                    running.is_committed = true;
                    let record = Record::Commit(transaction, ts);
                    state.log_mut(home_of(transaction)).append(record);
                }
            }
            Action::Decide => {
                let record = before.commit_of(Transaction::Wide);
                state.other.append(record);
            }
            Action::Tell(transaction) => {
                state.running_mut(transaction).told = true;
                if self.is_always() {
                    state.promised[transaction as usize] = true;
                }
            }
            Action::Promise(transaction) => state.promised[transaction as usize] = true,
            Action::Sync(shard) => {
                let log = state.log_mut(shard);
                log.durable = log.records.len();
            }
            Action::BeginCheckpoint => {
                let at = before.last;
                state.making = Some(at);
                state.checkpoints += 1;
                for shard in SHARDS {
                    let log = state.log_mut(shard);
                    log.closing = Some(at);
                    if self.keeps(Rule::FloorRaised) {
                        log.floor = log.floor.max(at);
                    }
                }
            }
            Action::Close(shard) => {
                let log = state.log_mut(shard);
                let at = log.closing.take()?;
                log.append(Record::Closed(at));
            }
            Action::CommitCheckpoint => state.committed = state.making.take()?,
            Action::PowerFails(home, other) => {
                for (shard, left) in [(Shard::Home, home), (Shard::Other, other)] {
                    let log = state.log_mut(shard);
                    log.records.truncate(log.durable + usize::from(left));
                    (log.floor, log.closing) = (0, None);
                }
                state.power = Power::Off;
                state.restarts += 1;
            }
            Action::Restart => self.restart(&mut state),
            Action::WriteNew => {
                state.last += 1;
                let record = Record::Commit(Transaction::New, state.last);
                state.other.append(record);
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Restart>> {
        let mut properties = vec![
            Property::always(ATOMIC, |_, state: &State| !state.is_torn),
            Property::always(PREFIX, |_, state: &State| !state.is_gap),
            Property::always(TOLD, |_, state: &State| !state.is_broken),
            Property::always(FINAL, |_, state: &State| !state.has_changed),
            Property::sometimes("both are found", |_, state: &State| {
                state.found == Some([[true, false], [true, true]])
            }),
            Property::sometimes("one is found", |_, state: &State| {
                state.found == Some([[true, false], [true, false]])
            }),
            Property::sometimes("it happens again", |_, state: &State| {
                state.power == Power::On && state.restarts == RESTARTS_MAX
            }),
        ];
        if !self.is_always() {
            properties.push(Property::sometimes("a tail is cut", |_, state: &State| {
                let has_later =
                    |record: &Record| matches!(record, Record::Commit(Transaction::Later, _));
                let found = state.found.is_some_and(|[_, [wide, later]]| wide && !later);
                found && state.other.records.iter().any(has_later)
            }));
            properties
                .push(Property::sometimes("a checkpoint follows a restart", |_, state: &State| {
                    state.restarts == 2 && state.committed > 2 * EPOCH
                }));
        }
        properties
    }
}
