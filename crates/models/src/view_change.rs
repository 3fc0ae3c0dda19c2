//! A group of two: the leader, the members that count, and the return of a node that was away.
//!
//! The control plane is one register, the list of views so far; each entry is made only if it still
//! fits the last view, which is the compare-and-set. Nodes adopt views one after the other, at any
//! time. A process that dies comes back as another *boot* of the node, with nothing. A frozen node
//! does nothing for a while, and then continues by its old knowledge: so exclusions may hit the
//! living, from both sides at once.
//!
//! ```text
//!   boot ends -> excluded -> the next boot joins: learner -> filled through the log -> promoted -> may lead next
//!                                                 marker, copies of rows among the records | counts from here on
//! ```
//!
//! Records are sent by several workers, so they overtake each other; positions put them in order. What was sent to or by a boot that
//! is over stays on its way, and may come at any time. A row is the set of writes that have changed it, so a lost one is
//! seen even when others came later.
//!
//! Left out: reads and leases ([`crate::leases`]), more than two members ([`crate::tail`]), sums compared before the promotion
//! (here the model compares), handovers, disks.

use std::collections::BTreeSet;

use stateright::{Model, Property};

/// What a node must do. Each can be broken alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A primary tells without the other only when a view without that one is decided; broken: when it suspects it.
    ViewFirst,
    /// A view's member is one boot of a node; broken: any.
    BootIsMember,
    /// A message is for one boot, and from one that the receiver's view does not exclude; broken: neither is checked.
    BootIsAddressed,
    /// When all rows are copied, nothing is decided that the learner does not hold; broken: when it is promoted.
    LearnerCounts,
    /// A copied row is as it is at its place in the log; broken: as it was when the learner came.
    CopiedInPlace,
    /// The log begins for a learner behind the marker; broken: with what comes first.
    MarkerFirst,
}

impl Rule {
    /// Each, and what does not hold without it.
    pub const ALL: &[(Rule, &str)] = &[
        (Rule::ViewFirst, KEPT),
        (Rule::BootIsMember, KEPT),
        (Rule::BootIsAddressed, EQUAL),
        (Rule::LearnerCounts, KEPT),
        (Rule::CopiedInPlace, EQUAL),
        (Rule::MarkerFirst, KEPT),
    ];
}

pub const KEPT: &str = "every active member has what was acknowledged";
pub const EQUAL: &str = "active members at one position have the same rows";
pub const ONE: &str = "one primary acknowledges in a view";

#[derive(Clone, Copy, Debug)]
pub struct ViewChange {
    pub rows: usize,
    pub writes: u8,
    /// How many views there may be. Back and in the lead again is the fifth.
    pub views: usize,
    /// How many boots a node may have.
    pub boots: u8,
    pub broken: Option<Rule>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Member {
    boot: u8,
    is_learner: bool,
}

/// Which boot of each node is a member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct View {
    members: [Option<Member>; 2],
    primary: usize,
}

/// The writes that each row has seen, as bits.
type Rows = Vec<u8>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Record {
    Write(u8),
    Copy { row: usize, writes: u8 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Body {
    Marker(u8),
    Replicate(u8, Record),
    Acknowledge(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Message {
    boots: [u8; 2],
    view: u8,
    body: Body,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    boot: u8,
    /// The last it has adopted; a boot begins with none.
    view: u8,
    /// Of its log; none before the marker.
    position: Option<u8>,
    rows: Rows,
    leads: Option<Leads>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Leads {
    /// What the other node has acknowledged.
    held: u8,
    /// Position and write.
    unacknowledged: Vec<(u8, u8)>,
    filling: Option<Filling>,
    /// Only a broken rule says so.
    suspects: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Filling {
    copied: usize,
    rows_before: Rows,
    /// Everything was sent up to there.
    sent_to: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    views: Vec<View>,
    nodes: [Node; 2],
    /// By receiver.
    messages: [BTreeSet<Message>; 2],
    /// Promotions that are proposed: node and boot.
    proposed: BTreeSet<(usize, u8)>,
    written: u8,
    acknowledged: u8,
    /// Who has acknowledged in each view.
    tellers: Vec<Option<(usize, u8)>>,
    two_have_told: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Write(usize),
    /// The primary copies the next row for its learner.
    Copy(usize),
    /// The primary proposes to promote its learner, and the control plane does it.
    Propose(usize),
    Promote(usize, u8),
    /// The control plane takes this node out of the view; or makes its new boot a learner.
    Exclude(usize),
    Join(usize),
    Adopt(usize),
    Receive(usize, Message),
    Crash(usize),
    /// Only where it acts on that.
    Suspect(usize),
}

impl State {
    fn latest(&self) -> &View {
        self.views.last().expect("there is a first view")
    }

    fn member(&self, view: u8, node: usize) -> Option<Member> {
        self.views.get(usize::from(view).checked_sub(1)?)?.members[node]
    }

    fn push_view(&mut self, change: impl FnOnce(&mut View)) {
        let mut view = self.latest().clone();
        change(&mut view);
        self.views.push(view);
        self.tellers.push(None);
    }

    /// The living boots that are active in the latest view.
    fn active(&self) -> impl Iterator<Item = &Node> {
        let members = self.latest().members.iter().zip(&self.nodes);
        let living = members.filter(|(member, node)| {
            member.is_some_and(|member| !member.is_learner && member.boot == node.boot)
        });
        living.map(|(_, node)| node)
    }
}

impl ViewChange {
    fn keeps(&self, rule: Rule) -> bool {
        self.broken != Some(rule)
    }

    fn fresh(&self, boot: u8) -> Node {
        Node { boot, view: 0, position: None, rows: vec![0; self.rows], leads: None }
    }

    fn is(&self, member: Option<Member>, boot: u8) -> bool {
        member.is_some_and(|member| member.boot == boot || !self.keeps(Rule::BootIsMember))
    }

    fn send(&self, state: &mut State, from: usize, body: Body) {
        let (node, to) = (&state.nodes[from], 1 - from);
        if let Some(receiver) = state.member(node.view, to) {
            let mut boots = [node.boot; 2];
            boots[to] = receiver.boot;
            let message = Message { boots, view: node.view, body };
            // Messages for a boot that is over reach no other boot.
            if receiver.boot == state.nodes[to].boot || !self.keeps(Rule::BootIsAddressed) {
                state.messages[to].insert(message);
            }
        }
    }

    fn append(&self, state: &mut State, id: usize, record: Record) {
        let node = &mut state.nodes[id];
        let position = node.position.expect("a primary has a log") + 1;
        apply(node, position, record);
        let leads = node.leads.as_mut().expect("the caller looked");
        if let Record::Write(write) = record {
            leads.unacknowledged.push((position, write));
        }
        self.send(state, id, Body::Replicate(position, record));
        self.decide(state, id);
    }

    /// Acknowledges the writes that all counting members hold.
    fn decide(&self, state: &mut State, id: usize) {
        let other = state.member(state.nodes[id].view, 1 - id);
        let node = &mut state.nodes[id];
        let Some(leads) = &mut node.leads else { return };
        let filled = leads.filling.as_ref().is_some_and(|filling| filling.sent_to.is_some());
        let counts = match other {
            Some(member) if member.is_learner => filled && self.keeps(Rule::LearnerCounts),
            Some(_) => !leads.suspects,
            None => false,
        };
        let held = if counts { leads.held } else { node.position.expect("it has a log") };
        for (_, write) in leads.unacknowledged.extract_if(.., |(position, _)| *position <= held) {
            state.acknowledged |= 1 << write;
            let teller = &mut state.tellers[usize::from(node.view) - 1];
            state.two_have_told |= teller.is_some_and(|teller| teller != (id, node.boot));
            *teller = Some((id, node.boot));
        }
    }

    fn adopt(&self, state: &mut State, id: usize) {
        let (before, other) = (state.member(state.nodes[id].view, 1 - id), 1 - id);
        let node = &mut state.nodes[id];
        node.view = match node.view {
            // A boot that begins asks for the latest.
            0 => u8::try_from(state.views.len()).expect("few"),
            view => view + 1,
        };
        let view = state.views[usize::from(node.view) - 1].clone();
        if !self.is(view.members[id], node.boot) {
            // It learns that it is over, and begins anew.
            self.restart(state, id);
            return;
        }
        if self.keeps(Rule::BootIsAddressed) {
            let boot = view.members[other].map(|member| member.boot);
            state.messages[id].retain(|message| Some(message.boots[other]) == boot);
        }
        if view.primary != id {
            return;
        }
        let (rows, position) = (node.rows.clone(), *node.position.get_or_insert(0));
        let leads = node.leads.get_or_insert(Leads {
            held: 0,
            unacknowledged: Vec::new(),
            filling: None,
            suspects: false,
        });
        let is_learner = view.members[other].is_some_and(|member| member.is_learner);
        if view.members[other] != before {
            let filling = Filling { copied: 0, rows_before: rows, sent_to: None };
            leads.filling = is_learner.then_some(filling);
            if is_learner {
                leads.held = position;
                self.send(state, id, Body::Marker(position));
            }
        }
        self.decide(state, id);
    }

    fn restart(&self, state: &mut State, id: usize) {
        state.nodes[id] = self.fresh(state.nodes[id].boot + 1);
        if self.keeps(Rule::BootIsAddressed) {
            state.messages[id].clear();
        }
    }

    /// Is it this message's turn?
    fn is_next(&self, node: &Node, message: &Message) -> bool {
        match message.body {
            Body::Marker(_) => node.position.is_none(),
            Body::Acknowledge(_) => true,
            Body::Replicate(position, _) => match node.position {
                Some(own) => position == own + 1,
                None => !self.keeps(Rule::MarkerFirst),
            },
        }
    }

    fn on_message(&self, state: &mut State, id: usize, message: Message) {
        let other = 1 - id;
        while state.nodes[id].view < message.view && state.nodes[id].boot == message.boots[id] {
            self.adopt(state, id);
        }
        let sender = state.member(state.nodes[id].view, other);
        let is_addressed = message.boots[id] == state.nodes[id].boot
            && sender.is_some_and(|sender| sender.boot == message.boots[other]);
        if self.keeps(Rule::BootIsAddressed) && !is_addressed {
            return;
        }
        let node = &mut state.nodes[id];
        match (message.body, &mut node.leads) {
            (Body::Acknowledge(position), Some(leads)) => {
                leads.held = leads.held.max(position);
                self.decide(state, id);
            }
            (Body::Marker(position), None) => node.position = Some(position),
            (Body::Replicate(position, record), None) => {
                apply(node, position, record);
                self.send(state, id, Body::Acknowledge(position));
            }
            (Body::Acknowledge(_), None) | (Body::Marker(_) | Body::Replicate(..), Some(_)) => {}
        }
    }
}

fn apply(node: &mut Node, position: u8, record: Record) {
    let row_count = node.rows.len();
    node.position = Some(position);
    match record {
        Record::Write(write) => node.rows[usize::from(write) % row_count] |= 1 << write,
        Record::Copy { row, writes } => node.rows[row] = writes,
    }
}

impl Model for ViewChange {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let member = Some(Member { boot: 0, is_learner: false });
        let backup = Node { view: 1, position: Some(0), ..self.fresh(0) };
        let leads = Leads { held: 0, unacknowledged: Vec::new(), filling: None, suspects: false };
        vec![State {
            views: vec![View { members: [member; 2], primary: 0 }],
            nodes: [Node { leads: Some(leads), ..backup.clone() }, backup],
            messages: [BTreeSet::new(), BTreeSet::new()],
            proposed: BTreeSet::new(),
            written: 0,
            acknowledged: 0,
            tellers: vec![None],
            two_have_told: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let latest = state.latest();
        let may_change = state.views.len() < self.views;
        for (id, node) in state.nodes.iter().enumerate() {
            let other = 1 - id;
            let is_active = |node: usize| latest.members[node].is_some_and(|m| !m.is_learner);
            match latest.members[id] {
                // Whoever is left has the rows.
                Some(_) if may_change && is_active(other) => actions.push(Action::Exclude(id)),
                None if may_change && node.view == 0 => actions.push(Action::Join(id)),
                _ => {}
            }
            let next = if node.view == 0 { state.views.len() - 1 } else { usize::from(node.view) };
            let is_stranger = node.view == 0 && !self.is(latest.members[id], node.boot);
            let may_end = node.boot + 1 < self.boots;
            let goes_on =
                state.views.get(next).is_some_and(|view| self.is(view.members[id], node.boot));
            if next < state.views.len() && !is_stranger && (goes_on || may_end) {
                actions.push(Action::Adopt(id));
            }
            if may_end {
                actions.push(Action::Crash(id));
            }
            let next = state.messages[id].iter().filter(|message| self.is_next(node, message));
            actions.extend(next.map(|message| Action::Receive(id, *message)));
            let Some(leads) = &node.leads else { continue };
            if state.written < self.writes {
                actions.push(Action::Write(id));
            }
            if !self.keeps(Rule::ViewFirst) && !leads.suspects {
                actions.push(Action::Suspect(id));
            }
            if let Some(filling) = &leads.filling {
                if filling.copied < self.rows {
                    actions.push(Action::Copy(id));
                }
                let learner = (other, state.member(node.view, other).expect("it is filled").boot);
                let is_ready = filling.sent_to.is_some_and(|sent_to| sent_to <= leads.held);
                if is_ready && !state.proposed.contains(&learner) {
                    actions.push(Action::Propose(id));
                }
            }
        }
        actions.extend(
            state
                .proposed
                .iter()
                .filter(|_| may_change)
                .map(|(id, boot)| Action::Promote(*id, *boot)),
        );
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Write(id) => {
                state.written += 1;
                self.append(&mut state, id, Record::Write(before.written));
            }
            Action::Copy(id) => {
                let rows = before.nodes[id].rows.clone();
                let filling = state.nodes[id].leads.as_mut()?.filling.as_mut()?;
                let row = filling.copied;
                filling.copied += 1;
                if filling.copied == self.rows {
                    filling.sent_to = before.nodes[id].position.map(|position| position + 1);
                }
                let writes = if self.keeps(Rule::CopiedInPlace) {
                    rows[row]
                } else {
                    filling.rows_before[row]
                };
                // The primary's own row stays: it is no copy.
                self.append(&mut state, id, Record::Copy { row, writes });
                state.nodes[id].rows = rows;
            }
            Action::Propose(id) => {
                let learner = before.member(before.nodes[id].view, 1 - id)?;
                state.proposed.insert((1 - id, learner.boot));
            }
            Action::Promote(id, boot) => {
                state.proposed.remove(&(id, boot));
                let learner = before.latest().members[id].filter(|member| member.is_learner)?;
                if self.is(Some(learner), boot) {
                    let active = Member { is_learner: false, ..learner };
                    state.push_view(|view| view.members[id] = Some(active));
                }
            }
            Action::Exclude(id) => state.push_view(|view| {
                view.members[id] = None;
                view.primary = 1 - id;
            }),
            Action::Join(id) => {
                let boot = before.nodes[id].boot;
                let learner = Member { boot, is_learner: true };
                state.push_view(|view| view.members[id] = Some(learner));
            }
            Action::Adopt(id) => self.adopt(&mut state, id),
            Action::Receive(id, message) => {
                state.messages[id].remove(&message);
                self.on_message(&mut state, id, message);
            }
            Action::Crash(id) => self.restart(&mut state, id),
            Action::Suspect(id) => {
                state.nodes[id].leads.as_mut()?.suspects = true;
                self.decide(&mut state, id);
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<ViewChange>> {
        vec![
            Property::always(KEPT, |_, state: &State| {
                let has = |node: &Node| node.rows.iter().fold(0, |all, row| all | row);
                state.active().all(|node| state.acknowledged & !has(node) == 0)
            }),
            Property::always(EQUAL, |_, state: &State| {
                let differs = |a: &Node, b: &Node| a.position == b.position && a.rows != b.rows;
                state.active().all(|a| state.active().all(|b| !differs(a, b)))
            }),
            Property::always(ONE, |_, state: &State| !state.two_have_told),
            Property::sometimes("both hold a write that is acknowledged", |_, state: &State| {
                state.tellers[0].is_some() && state.active().count() == 2
            }),
            Property::sometimes(
                "the backup leads, and the primary before goes on",
                |_, state: &State| {
                    state.tellers.get(1) == Some(&Some((1, 0)))
                        && state.nodes[0].view == 1
                        && state.nodes[0].leads.is_some()
                },
            ),
            Property::sometimes("who came back leads, and acknowledges", |_, state: &State| {
                let told = state.tellers.iter().flatten();
                told.filter(|(_, boot)| *boot > 0).count() > 0
            }),
        ]
    }
}
