//! Read leases: a deposed node that does not know it answers no reads.
//!
//! A node asks the control plane's leader for a lease at each heartbeat. The leader notes when it granted one, and excludes the node
//! only when that is long enough ago; the node counts from when it *asked*, by its own clock. So the lease is over first, whatever
//! becomes of messages, and however long anybody is frozen in between:
//!
//! ```text
//!   node      asks at 3                                         answers before 3 + LEASE
//!                      \                                       /
//!   leader               grants at 5: excludes the node not before 5 + LEASE
//! ```
//!
//! Leaders change. A leader knows that no other one leads for a while after a quorum has answered
//! it; voters elect no other leader for as long after they have heard of it. A new leader does not
//! know the grants before it, and waits for a lease's length.
//!
//! Time is one small number that advances at any moment: all clocks run at one speed, and a frozen
//! node does nothing meanwhile. A lost message is one that never arrives. The node is a primary or
//! a sequencer: it reads a row, or the last timestamp. Its partner leads when it is excluded and
//! takes a write; a later read must show it.
//!
//! The order of reading the row and checking the lease does not matter in this model: the clock
//! must be read when the question is there.
//!
//! Left out: reported deaths, for which no lease need run out; Raft (one voter stands for a quorum,
//! two leaders come one after the other), clocks of different speeds (the half heartbeat of
//! decision 10), the reasons for condemning a node, and heirs that die.

use stateright::{Model, Property};

/// What must be done. Each can be broken alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A lease counts from when it was asked for; broken: from when it came.
    CountedFromAsking,
    /// A leader excludes when the last lease that it granted is over; broken: when it pleases.
    LeaseAwaited,
    /// The clock is read after the question was taken; broken: before it, and then the node may be frozen.
    ClockAfterQuestion,
    /// A leader that proposes to exclude a node grants it nothing more.
    NoneAfterProposal,
    /// A leader grants only while no other leader can have been elected.
    GrantsWhileLeading,
    /// A new leader waits for a lease's length; broken: it goes by its own grants.
    NewLeaderWaits,
    /// A new leader grants when it knows what those before it have decided.
    KnowsBeforeGranting,
    /// A voter elects no other leader for a while after it has heard of one.
    VoterWaits,
}

impl Rule {
    pub const ALL: &[Rule] = &[
        Rule::CountedFromAsking,
        Rule::LeaseAwaited,
        Rule::ClockAfterQuestion,
        Rule::NoneAfterProposal,
        Rule::GrantsWhileLeading,
        Rule::NewLeaderWaits,
        Rule::KnowsBeforeGranting,
        Rule::VoterWaits,
    ];
}

pub const FRESH: &str = "no answer lacks what was acknowledged before it was asked for";

/// How long a lease lasts, and how long a leader leads after a sign of it.
const LEASE: u8 = 2;
const LEADS: u8 = 2;

#[derive(Clone, Copy, Debug)]
pub struct Leases {
    pub time_max: u8,
    pub broken: Option<Rule>,
}

/// A question that the node answers with its row, which is the old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Read {
    None,
    /// Asked, and whether a newer row had been acknowledged by then.
    Asked {
        is_late: bool,
    },
    Answered {
        is_stale: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
struct Leader {
    elected: Option<u8>,
    granted: Option<u8>,
    /// It has applied all that was decided before its term.
    knows: bool,
    is_excluded: bool,
    proposed: bool,
    /// Nobody else is elected before that, as far as it knows.
    leads_until: u8,
    /// When the sign of it was sent that is on its way to the voter, and the answer to one.
    sign: Option<u8>,
    answer: Option<u8>,
    /// When the node sent the request for a lease that the leader has.
    asked: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    now: u8,
    /// The node's lease is over from then on.
    leased_until: u8,
    /// The clock as the node has read it.
    clock: Option<u8>,
    /// The grant on its way to the node, by when it was asked for.
    granted: Option<u8>,
    leaders: [Leader; 2],
    /// The voter elects no other leader before that.
    voter_waits_until: u8,
    is_excluded: bool,
    /// The partner leads, and has acknowledged a newer row.
    is_written: bool,
    read: Read,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    TimePasses,
    Ask(usize),
    Grant(usize),
    Lease,
    /// The first leader sends the voter a heartbeat, which arrives and is answered.
    Sign,
    Hear,
    Lead,
    Elect,
    Know,
    Propose(usize),
    /// The proposal is committed; by the next leader if it comes to that.
    Exclude(usize),
    Write,
    AskRead,
    ReadClock,
    Answer,
}

impl Leases {
    fn keeps(&self, rule: Rule) -> bool {
        self.broken != Some(rule)
    }

    fn may_grant(&self, state: &State, leader: usize) -> bool {
        let own = &state.leaders[leader];
        // Nobody comes after the second.
        let alone =
            leader == 1 || state.now < own.leads_until || !self.keeps(Rule::GrantsWhileLeading);
        let knows = own.knows || !self.keeps(Rule::KnowsBeforeGranting);
        let proposed = own.proposed && self.keeps(Rule::NoneAfterProposal);
        alone && knows && !proposed && !own.is_excluded
    }

    fn may_propose(&self, state: &State, leader: usize) -> bool {
        let own = &state.leaders[leader];
        let elected = own.elected.filter(|_| self.keeps(Rule::NewLeaderWaits));
        let since = own.granted.max(elected);
        let is_over = since.is_none_or(|since| since + LEASE <= state.now);
        own.knows
            && !own.proposed
            && !own.is_excluded
            && (is_over || !self.keeps(Rule::LeaseAwaited))
    }
}

impl Model for Leases {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let first = Leader { elected: Some(0), knows: true, ..Leader::default() };
        vec![State {
            now: 0,
            leased_until: 0,
            clock: None,
            granted: None,
            leaders: [first, Leader::default()],
            voter_waits_until: 0,
            is_excluded: false,
            is_written: false,
            read: Read::None,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if matches!(state.read, Read::Answered { .. }) {
            return;
        }
        let now = state.now;
        if now < self.time_max {
            actions.push(Action::TimePasses);
        }
        let [first, second] = &state.leaders;
        let is_second = second.elected.is_some();
        if !is_second {
            actions.push(Action::Sign);
            if state.voter_waits_until <= now || !self.keeps(Rule::VoterWaits) {
                actions.push(Action::Elect);
            }
        } else if !second.knows {
            actions.push(Action::Know);
        }
        actions.extend(first.sign.filter(|_| !is_second).map(|_| Action::Hear));
        actions.extend(first.answer.map(|_| Action::Lead));
        for (id, leader) in state.leaders.iter().enumerate().filter(|(_, l)| l.elected.is_some()) {
            actions.push(Action::Ask(id));
            if leader.asked.is_some() && self.may_grant(state, id) {
                actions.push(Action::Grant(id));
            }
            // What the first leader has proposed is committed by the second, if at all, before it knows what there is.
            let is_leading = id == 1 || !is_second;
            if is_leading && self.may_propose(state, id) {
                actions.push(Action::Propose(id));
            }
            if leader.proposed && !state.is_excluded && (is_leading || !second.knows) {
                actions.push(Action::Exclude(id));
            }
        }
        if state.is_excluded && !state.is_written {
            actions.push(Action::Write);
        }
        actions.extend(state.granted.map(|_| Action::Lease));
        let may_read_clock = match state.read {
            Read::None => !self.keeps(Rule::ClockAfterQuestion),
            Read::Asked { .. } => self.keeps(Rule::ClockAfterQuestion),
            Read::Answered { .. } => false,
        };
        if may_read_clock && state.clock != Some(now) {
            actions.push(Action::ReadClock);
        }
        if state.read == Read::None {
            actions.push(Action::AskRead);
        }
        let is_leased = state.clock.is_some_and(|clock| clock < state.leased_until);
        if matches!(state.read, Read::Asked { .. }) && is_leased {
            actions.push(Action::Answer);
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        let now = before.now;
        match action {
            Action::TimePasses => state.now += 1,
            Action::Ask(leader) => state.leaders[leader].asked = Some(now),
            Action::Grant(leader) => {
                let leader = &mut state.leaders[leader];
                leader.granted = Some(now);
                state.granted = leader.asked.take();
            }
            Action::Lease => {
                let at = state.granted.take()?;
                let from = if self.keeps(Rule::CountedFromAsking) { at } else { now };
                state.leased_until = before.leased_until.max(from + LEASE);
            }
            Action::Sign => state.leaders[0].sign = Some(now),
            Action::Hear => {
                state.leaders[0].answer = state.leaders[0].sign.take();
                state.voter_waits_until = now + LEADS;
            }
            Action::Lead => {
                let sent = state.leaders[0].answer.take()?;
                state.leaders[0].leads_until = sent + LEADS;
            }
            Action::Elect => state.leaders[1].elected = Some(now),
            Action::Know => {
                state.leaders[1].knows = true;
                state.leaders[1].is_excluded = before.is_excluded;
            }
            Action::Propose(leader) => state.leaders[leader].proposed = true,
            Action::Exclude(leader) => {
                state.is_excluded = true;
                state.leaders[leader].is_excluded = true;
            }
            Action::Write => state.is_written = true,
            Action::AskRead => state.read = Read::Asked { is_late: before.is_written },
            Action::ReadClock => state.clock = Some(now),
            Action::Answer => {
                let Read::Asked { is_late } = before.read else { unreachable!("looked at") };
                state.read = Read::Answered { is_stale: is_late };
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Leases>> {
        vec![
            Property::always(FRESH, |_, state: &State| {
                state.read != Read::Answered { is_stale: true }
            }),
            Property::sometimes("the node answers", |_, state: &State| {
                state.read == Read::Answered { is_stale: false }
            }),
            Property::sometimes("it answers after it was excluded", |_, state: &State| {
                matches!(state.read, Read::Answered { .. }) && state.is_written
            }),
            Property::sometimes("one that lives is excluded, and asked", |_, state: &State| {
                state.read == Read::Asked { is_late: true }
            }),
            Property::sometimes("the second leader grants", |_, state: &State| {
                state.leaders[1].granted.is_some()
            }),
            Property::sometimes("the second leader excludes", |_, state: &State| {
                state.leaders[1].is_excluded && state.leaders[1].proposed
            }),
        ]
    }
}
