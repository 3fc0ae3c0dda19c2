//! A transaction over two shards ends, while its coordinator and both primaries may die.
//!
//! ```text
//!   coordinator   Prepare -> the other shard       Commit -> home                         Decide -> the other shard
//!   other shard         log: PREPARE, held: vote                                                log: decision
//!   home                                      log: COMMIT, held: it is decided, and told
//! ```
//!
//! The decision is the COMMIT record in home's log, and nothing else. Whoever is in doubt asks home: a prepared part whose coordinator
//! is over or whose primary has changed, and a coordinator whose home has changed. Home remembers its commits, on every member.
//! "Not there" is an answer too, once nothing of the transaction is left at home: then no Commit is obeyed any more, which
//! is all that a tombstone would say, and home keeps none (decision 8). While its part is there, home says nothing.
//!
//! Each shard has one backup and may change hands once, each when its new primary adopts the view;
//! the coordinator may be excluded, which one shard learns after the other, and continues at will.
//! Messages overtake each other; those to a dead primary are lost; answers of one may still come.
//!
//! Left out: timestamps ([`crate::snapshots`]), transactions of one shard, how long home remembers, parts sent ahead, locks of rows that
//! were only read, and what `lost_in` guards: there is nothing here that a coordinator does with a new primary but ask.

use std::collections::BTreeSet;

use stateright::{Model, Property};

/// What must be done. Each can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The coordinator sends the commit to home when all others have voted.
    AllVote,
    /// A vote is given when all members hold PREPARE.
    VotedWhenHeld,
    /// A commit is acknowledged when all members hold it.
    ToldWhenHeld,
    /// An heir finds prepared transactions in its log, and arms them again; broken: rolls them back.
    PreparedRearmed,
    /// What is prepared waits for home's answer when its coordinator is over; broken: it is rolled back.
    DoubtWaits,
    /// A heir of home remembers the commits of its log.
    HeirRemembers,
    /// Home answers "aborted" when nothing of the transaction is left there; broken: when it is not committed yet.
    AbsentWhenAborted,
    /// A coordinator that has asked home to commit says "aborted" only when home has said so; broken: when home has changed.
    AbortedWhenSaid,
    /// Home commits only transactions of which it has a part. (A late Commit finds none.)
    CommitsOwnPart,
    /// Nothing is taken from a coordinator that is known to be over.
    OverRefused,
}

impl Rule {
    /// Each, and what does not hold without it. Against a late Commit there are two fences, and one is enough.
    pub const ALL: &[(&[Rule], &str)] = &[
        (&[Rule::AllVote], ATOMIC),
        (&[Rule::VotedWhenHeld], ATOMIC),
        (&[Rule::ToldWhenHeld], TOLD),
        (&[Rule::PreparedRearmed], ATOMIC),
        (&[Rule::DoubtWaits], ATOMIC),
        (&[Rule::HeirRemembers], FINAL),
        (&[Rule::AbsentWhenAborted], FINAL),
        (&[Rule::AbortedWhenSaid], TOLD),
        (&[Rule::CommitsOwnPart, Rule::OverRefused], FINAL),
    ];
    pub const ONE_IS_ENOUGH: &[Rule] = &[Rule::CommitsOwnPart, Rule::OverRefused];
}

pub const ATOMIC: &str = "both parts are committed or neither is";
pub const TOLD: &str = "what the client was told is so, and stays so";
pub const FINAL: &str = "what home has answered never changes";
pub const ENDS: &str = "when nothing can happen any more, nobody is in doubt";

#[derive(Clone, Copy, Debug)]
pub struct Commit {
    pub broken: &'static [Rule],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Executed,
    Preparing,
    Committing,
    Asking,
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Coordinator {
    phase: Phase,
    told: Option<Outcome>,
    knows_moved: BTreeSet<Shard>,
    /// The control plane has excluded it; it is the last to know.
    is_over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shard {
    Home,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    Committed,
    Aborted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    Active,
    /// In home's log, and not decided until all members hold it.
    Committing,
    Prepared,
    Ended(Outcome),
}

/// A shard's primary, and what its backup holds of the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Replicas {
    has_moved: bool,
    part: Part,
    backup: BTreeSet<Record>,
    knows_over: bool,
    is_in_doubt: bool,
    /// Home: its answer for a transaction that is not there.
    remembers: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Record {
    Commit,
    Prepare,
    Decision(Outcome),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Message {
    // Of the coordinator.
    Prepare,
    Commit,
    Decide(Shard, Outcome),
    // To the coordinator.
    Vote,
    CommitOk,
    Unknown(Shard),
    Outcome(Outcome),
    /// Home answers the other shard.
    Decision(Outcome),
    /// Between the members of a shard.
    Replicate(Shard, Record),
    ReplicateOk(Shard, Record),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    coordinator: Coordinator,
    home: Replicas,
    other: Replicas,
    messages: BTreeSet<Message>,
    /// What home has answered first, and whether it has said another thing since.
    answered: Option<Outcome>,
    has_changed_answer: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The client asks to commit; or to roll back, or something else ends the transaction before.
    Commit,
    GiveUp,
    Receive(Message),
    /// The primary is dead and its backup takes over.
    TakeOver(Shard),
    /// The coordinator hears of that.
    HearMoved(Shard),
    /// The control plane excludes the coordinator, and a shard hears of it.
    Exclude,
    HearOver(Shard),
    /// A participant asks home, which answers what it knows. The answer is on its way.
    AskDecision,
    AskOutcome,
}

use Outcome::{Aborted, Committed};

impl State {
    fn shard(&mut self, shard: Shard) -> &mut Replicas {
        match shard {
            Shard::Home => &mut self.home,
            Shard::Other => &mut self.other,
        }
    }

    fn has_moved(&self, shard: Shard) -> bool {
        match shard {
            Shard::Home => self.home.has_moved,
            Shard::Other => self.other.has_moved,
        }
    }

    /// The coordinator sends where it believes the primary to be. To a dead one is nowhere.
    fn send(&mut self, shard: Shard, message: Message) {
        if self.coordinator.knows_moved.contains(&shard) == self.has_moved(shard) {
            self.messages.insert(message);
        }
    }

    fn append(&mut self, shard: Shard, record: Record) {
        if !self.has_moved(shard) {
            self.messages.insert(Message::Replicate(shard, record));
        }
    }

    /// The coordinator tells its client, and the shards what they need not ask for.
    fn end(&mut self, outcome: Outcome) {
        self.coordinator.phase = Phase::Ended;
        self.coordinator.told = Some(outcome);
        if outcome == Aborted {
            self.send(Shard::Home, Message::Decide(Shard::Home, Aborted));
        }
        self.send(Shard::Other, Message::Decide(Shard::Other, outcome));
    }

    fn on_decide(&mut self, shard: Shard, outcome: Outcome) {
        let replicas = self.shard(shard);
        let was = replicas.part;
        replicas.is_in_doubt = false;
        match was {
            Part::Active | Part::Prepared => replicas.part = Part::Ended(outcome),
            Part::Committing | Part::Ended(_) => return,
        }
        if was == Part::Prepared {
            self.append(shard, Record::Decision(outcome));
        }
    }
}

impl Commit {
    fn keeps(&self, rule: Rule) -> bool {
        !self.broken.contains(&rule)
    }

    /// What home says of the transaction; nothing while its part is there.
    fn answer(&self, state: &State) -> Option<Outcome> {
        match state.home.part {
            Part::Active | Part::Committing if self.keeps(Rule::AbsentWhenAborted) => None,
            Part::Ended(Committed) if state.home.remembers => Some(Committed),
            _ => Some(Aborted),
        }
    }

    fn say(&self, state: &mut State, message: fn(Outcome) -> Message) {
        let outcome = self.answer(state).expect("asked only then");
        let first = *state.answered.get_or_insert(outcome);
        state.has_changed_answer |= first != outcome;
        state.messages.insert(message(outcome));
    }

    fn ask_to_commit(&self, state: &mut State) {
        state.coordinator.phase = Phase::Committing;
        state.send(Shard::Home, Message::Commit);
    }

    fn take_over(&self, state: &mut State, shard: Shard) {
        let to_primary = |message: &Message| match message {
            Message::Commit => shard == Shard::Home,
            Message::Prepare | Message::Decision(_) => shard == Shard::Other,
            Message::Decide(to, _) | Message::Replicate(to, _) | Message::ReplicateOk(to, _) => {
                *to == shard
            }
            Message::Vote | Message::CommitOk | Message::Unknown(_) | Message::Outcome(_) => false,
        };
        state.messages.retain(|message| !to_primary(message));
        let replicas = state.shard(shard);
        let decided = |record: &Record| match record {
            Record::Commit => Some(Committed),
            Record::Decision(outcome) => Some(*outcome),
            Record::Prepare => None,
        };
        replicas.has_moved = true;
        replicas.is_in_doubt = false;
        replicas.remembers = self.keeps(Rule::HeirRemembers);
        replicas.part = match replicas.backup.iter().find_map(decided) {
            Some(outcome) => Part::Ended(outcome),
            None if replicas.backup.contains(&Record::Prepare)
                && self.keeps(Rule::PreparedRearmed) =>
            {
                replicas.is_in_doubt = true;
                Part::Prepared
            }
            // What was not in the log is gone.
            None => Part::Ended(Aborted),
        };
    }

    fn on_message(&self, state: &mut State, message: Message) {
        let is_over = |shard: &Replicas| shard.knows_over && self.keeps(Rule::OverRefused);
        let phase = state.coordinator.phase;
        match message {
            Message::Prepare if is_over(&state.other) => {}
            Message::Prepare if state.other.part != Part::Active => {
                state.messages.insert(Message::Unknown(Shard::Other));
            }
            Message::Prepare => {
                state.other.part = Part::Prepared;
                state.append(Shard::Other, Record::Prepare);
                if !self.keeps(Rule::VotedWhenHeld) {
                    state.messages.insert(Message::Vote);
                }
            }
            Message::Commit if is_over(&state.home) => {}
            Message::Commit
                if state.home.part != Part::Active && self.keeps(Rule::CommitsOwnPart) =>
            {
                state.messages.insert(Message::Unknown(Shard::Home));
            }
            Message::Commit => {
                state.home.part = Part::Committing;
                state.append(Shard::Home, Record::Commit);
                if !self.keeps(Rule::ToldWhenHeld) {
                    state.messages.insert(Message::CommitOk);
                }
            }
            Message::Decide(shard, _) if is_over(state.shard(shard)) => {}
            Message::Decide(shard, outcome) => state.on_decide(shard, outcome),
            Message::Decision(outcome) => state.on_decide(Shard::Other, outcome),
            Message::Replicate(shard, record) => {
                state.shard(shard).backup.insert(record);
                state.messages.insert(Message::ReplicateOk(shard, record));
            }
            Message::ReplicateOk(_, Record::Commit) => {
                state.home.part = Part::Ended(Committed);
                state.messages.insert(Message::CommitOk);
            }
            Message::ReplicateOk(_, Record::Prepare) => {
                state.messages.insert(Message::Vote);
            }
            Message::ReplicateOk(_, Record::Decision(_)) => {}
            Message::Vote if phase == Phase::Preparing => self.ask_to_commit(state),
            Message::CommitOk if phase == Phase::Committing => state.end(Committed),
            Message::Unknown(Shard::Other) if phase == Phase::Preparing => state.end(Aborted),
            Message::Unknown(Shard::Home) if phase == Phase::Committing => state.end(Aborted),
            Message::Outcome(outcome) if phase == Phase::Asking => state.end(outcome),
            Message::Vote | Message::CommitOk | Message::Unknown(_) | Message::Outcome(_) => {}
        }
    }

    fn on_moved(&self, state: &mut State, shard: Shard) {
        state.coordinator.knows_moved.insert(shard);
        match (state.coordinator.phase, shard) {
            (Phase::Committing, Shard::Home) if self.keeps(Rule::AbortedWhenSaid) => {
                state.coordinator.phase = Phase::Asking;
            }
            (Phase::Executed | Phase::Preparing, _) | (Phase::Committing, Shard::Home) => {
                state.end(Aborted)
            }
            (Phase::Committing, Shard::Other) | (Phase::Asking | Phase::Ended, _) => {}
        }
    }

    fn on_over(&self, state: &mut State, shard: Shard) {
        let waits = self.keeps(Rule::DoubtWaits);
        let replicas = state.shard(shard);
        replicas.knows_over = true;
        match replicas.part {
            Part::Prepared if waits => replicas.is_in_doubt = true,
            Part::Active | Part::Prepared => state.on_decide(shard, Aborted),
            Part::Committing | Part::Ended(_) => {}
        }
    }
}

/// A decision comes behind what it decides.
fn is_in_turn(state: &State, message: &Message) -> bool {
    let is_prepared = state.other.backup.contains(&Record::Prepare);
    !matches!(message, Message::Replicate(_, Record::Decision(_))) || is_prepared
}

impl Model for Commit {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let shard = Replicas {
            has_moved: false,
            part: Part::Active,
            backup: BTreeSet::new(),
            knows_over: false,
            is_in_doubt: false,
            remembers: true,
        };
        vec![State {
            coordinator: Coordinator {
                phase: Phase::Executed,
                told: None,
                knows_moved: BTreeSet::new(),
                is_over: false,
            },
            home: shard.clone(),
            other: shard,
            messages: BTreeSet::new(),
            answered: None,
            has_changed_answer: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let coordinator = &state.coordinator;
        match coordinator.phase {
            Phase::Executed => actions.extend([Action::Commit, Action::GiveUp]),
            Phase::Preparing => actions.push(Action::GiveUp),
            Phase::Committing | Phase::Asking | Phase::Ended => {}
        }
        if !coordinator.is_over {
            actions.push(Action::Exclude);
        }
        for (id, shard) in [(Shard::Home, &state.home), (Shard::Other, &state.other)] {
            if !shard.has_moved {
                actions.push(Action::TakeOver(id));
            } else if !coordinator.knows_moved.contains(&id) {
                actions.push(Action::HearMoved(id));
            }
            if coordinator.is_over && !shard.knows_over {
                actions.push(Action::HearOver(id));
            }
        }
        let in_turn = state.messages.iter().filter(|message| is_in_turn(state, message));
        actions.extend(in_turn.map(|message| Action::Receive(*message)));
        if self.answer(state).is_some() {
            let is_answered = |message: &Message| matches!(message, Message::Decision(_));
            if state.other.is_in_doubt && !state.messages.iter().any(is_answered) {
                actions.push(Action::AskDecision);
            }
            let is_answered = |message: &Message| matches!(message, Message::Outcome(_));
            if coordinator.phase == Phase::Asking && !state.messages.iter().any(is_answered) {
                actions.push(Action::AskOutcome);
            }
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Commit => {
                state.coordinator.phase = Phase::Preparing;
                state.send(Shard::Other, Message::Prepare);
                if !self.keeps(Rule::AllVote) {
                    self.ask_to_commit(&mut state);
                }
            }
            Action::GiveUp => state.end(Aborted),
            Action::Receive(message) => {
                state.messages.remove(&message);
                self.on_message(&mut state, message);
            }
            Action::TakeOver(shard) => self.take_over(&mut state, shard),
            Action::HearMoved(shard) => self.on_moved(&mut state, shard),
            Action::Exclude => state.coordinator.is_over = true,
            Action::HearOver(shard) => self.on_over(&mut state, shard),
            Action::AskDecision => self.say(&mut state, Message::Decision),
            Action::AskOutcome => self.say(&mut state, Message::Outcome),
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Commit>> {
        vec![
            Property::always(ATOMIC, |_, state: &State| {
                match (state.home.part, state.other.part) {
                    (Part::Ended(home), Part::Ended(other)) => home == other,
                    // Home is the first to commit.
                    (_, other) => other != Part::Ended(Committed),
                }
            }),
            Property::always(TOLD, |_, state: &State| {
                let (home, other) = (state.home.part, state.other.part);
                let is = |part| home == part || other == part;
                match state.coordinator.told {
                    Some(Committed) => !is(Part::Ended(Aborted)),
                    Some(Aborted) => !is(Part::Ended(Committed)),
                    None => true,
                }
            }),
            Property::always(FINAL, |_, state: &State| {
                let is_undone =
                    state.answered == Some(Aborted) && state.home.part == Part::Ended(Committed);
                !state.has_changed_answer && !is_undone
            }),
            Property::always(ENDS, |model: &Commit, state: &State| {
                let mut next = Vec::new();
                model.actions(state, &mut next);
                let ended = |part| matches!(part, Part::Ended(_));
                let has_ended = ended(state.home.part) && ended(state.other.part);
                !next.is_empty() || has_ended && state.coordinator.told.is_some()
            }),
            Property::sometimes("told committed", |_, state: &State| {
                state.coordinator.told == Some(Committed)
            }),
            Property::sometimes("told aborted because home's heir says so", |_, state: &State| {
                state.answered == Some(Aborted) && state.coordinator.told == Some(Aborted)
            }),
            Property::sometimes(
                "a part in doubt hears that it is committed",
                |_, state: &State| state.messages.contains(&Message::Decision(Committed)),
            ),
            Property::sometimes("one excluded asks home to commit", |_, state: &State| {
                state.home.knows_over && state.messages.contains(&Message::Commit)
            }),
            Property::sometimes("all is over, committed on two heirs", |_, state: &State| {
                let is_heir =
                    |shard: &Replicas| shard.has_moved && shard.part == Part::Ended(Committed);
                is_heir(&state.home) && is_heir(&state.other) && state.coordinator.is_over
            }),
        ]
    }
}
