//! A group of three or four replicas loses its primary, and the logs of those that are left end differently.
//!
//! A primary appends a record and sends it to all backups (a star); it tells the client when all members of its view hold it.
//! So each member holds whatever was told, and each may lead next. Beyond that the survivors hold different prefixes of what the
//! dead primary has sent, and after a second death during the first takeover perhaps not even prefixes of one log. The heir makes
//! them equal, in one of two ways:
//!
//! ```text
//!   heir      | adopts the view | takes the longest log | sends what others lack | all hold its log: it serves
//!                      \  fetch   / log                       \                  / acknowledged
//!   follower             refuses the dead primary: it has adopted the view
//!
//!   heir      | adopts the view: sends its log behind its commit index, and NEW-VIEW at its end | all hold that: it serves
//!                      \                                                                        / acknowledged
//!   follower             keeps records with the same (view, position), cuts the rest, appends
//! ```
//!
//! Both are right. With the first no member ever undoes a record, and a record needs no view to be
//! known by.
//!
//! An excluded node is refused by its boot, not by the view of its message: a live primary leads on
//! in the next view, and its earlier messages are as good as before. An excluded node that does not
//! know it continues: it may be frozen and wake.
//!
//! Backups show a record when the commit index that comes with later records has passed it; in a view of two, as soon as the
//! primary has sent it.
//!
//! The control plane is one register: the list of views so far, which nodes adopt one after the
//! other, at any time. Links are FIFO, and messages of a dead node may arrive or not; one that
//! never arrives stands for a loss. The sequencer is the primary, its epoch the view in which it
//! began to lead.
//!
//! Left out: learners and returns (views only shrink), rows (a record is a number), commit indexes in messages of their own, records
//! of several shards, channels that are not FIFO because several workers send.

use stateright::{Model, Property};

/// What a replica must do. Each can be broken alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A record is acknowledged when all members of the view hold it; broken: a majority.
    AllMembersHold,
    /// Nothing is taken from a boot that the receiver knows to be excluded.
    ExcludedRefused,
    /// The heir sends its log behind its commit index before NEW-VIEW; broken: NEW-VIEW alone.
    TailFirst,
    /// A follower cuts its log where the heir's has a record of another view; broken: keeps its records there.
    DifferentCut,
    /// A follower acknowledges the position up to which its log is the sender's; broken: how long its log is.
    MatchedAcknowledged,
    /// The heir reports no commit or undo before all members hold its log; broken: it does so at once.
    LogHeld,
    /// A follower in a view of two shows what *this* primary has sent; broken: all it has when it adopts the view.
    SentShown,
    /// Timestamps begin with an epoch that is higher with each heir.
    EpochRaised,
    /// An heir that fetches takes the tail of a member that refuses the dead primary by then; broken: of any.
    FencedFetched,
}

impl Rule {
    /// Each, with an heir that needs it, and what does not hold without it.
    pub const ALL: &[(Rule, Heir, &str)] = &[
        (Rule::AllMembersHold, Heir::Fixed, KEPT),
        (Rule::ExcludedRefused, Heir::Fixed, EQUAL),
        (Rule::ExcludedRefused, Heir::Fetches, UNCUT),
        (Rule::TailFirst, Heir::Fixed, EQUAL),
        (Rule::DifferentCut, Heir::Fixed, EQUAL),
        (Rule::DifferentCut, Heir::Longest, EQUAL),
        (Rule::MatchedAcknowledged, Heir::Fixed, UNDONE),
        (Rule::MatchedAcknowledged, Heir::Longest, UNDONE),
        (Rule::LogHeld, Heir::Fixed, UNDONE),
        (Rule::LogHeld, Heir::Fixed, KEPT),
        (Rule::LogHeld, Heir::Fetches, UNDONE),
        (Rule::LogHeld, Heir::Fetches, KEPT),
        (Rule::SentShown, Heir::Fixed, SHOWN),
        (Rule::SentShown, Heir::Fetches, KEPT),
        (Rule::EpochRaised, Heir::Fixed, STAMPED),
        (Rule::FencedFetched, Heir::Fetches, UNCUT),
    ];
    /// Those that an heir does without that fetches first.
    pub const NOT_WHEN_FETCHED: &[Rule] = &[Rule::DifferentCut, Rule::MatchedAcknowledged];
}

pub const KEPT: &str = "what was told committed or shown is held by every member";
pub const UNDONE: &str = "what was told undone never comes back";
pub const EQUAL: &str = "no two members have different records at one position";
pub const SHOWN: &str = "what was shown is never cut";
pub const UNCUT: &str = "whose heirs fetch first never cut";
pub const STAMPED: &str = "timestamps increase in every log";

/// How a dead primary's heir is found, and whose tail wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heir {
    /// The first member; followers cut the records it lacks.
    Fixed,
    /// The first member, which takes the longest tail of those that have adopted its view before it
    /// begins. Then all logs are prefixes of one, nothing is ever cut, and NEW-VIEW would add
    /// nothing: the heir serves when all hold its log, and fetched records count as acknowledged.
    Fetches,
    /// The member whose log is the longest at the moment of the exclusion.
    Longest,
}

#[derive(Clone, Copy, Debug)]
pub struct Tail {
    pub replicas: usize,
    pub writes: usize,
    /// How many views there may be.
    pub views: usize,
    pub heir: Heir,
    pub broken: Option<Rule>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Record {
    /// In which it was appended first. It stays so when an heir sends it on.
    view: u8,
    /// NEW-VIEW if none.
    write: Option<u8>,
    /// Epoch and count.
    ts: (u8, u8),
}

/// Where nothing was ever put; only a broken rule makes one.
const HOLE: Record = Record { view: 0, write: None, ts: (0, 0) };

/// A set of nodes.
type Nodes = Vec<usize>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct View {
    members: Nodes,
    primary: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Replicate {
    /// The sender's view: a receiver that has not adopted it does so first.
    view: u8,
    position: usize,
    record: Record,
    commit_index: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    /// It has heard that it is excluded, and has ended itself.
    is_over: bool,
    /// The last it has adopted; 1 is the first.
    view: u8,
    log: Vec<Record>,
    /// Up to here its records are shown.
    commit_index: usize,
    leads: Option<Leads>,
}

/// What a primary keeps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Leads {
    since: u8,
    /// Whose tails it has not looked at yet.
    fetching: Nodes,
    /// It serves when all members hold its log up to there: to its NEW-VIEW if it has one. None until it has sent that.
    begins_at: Option<usize>,
    /// Up to where each node is known to hold this log.
    held: Vec<usize>,
    serves: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    views: Vec<View>,
    nodes: Vec<Node>,
    /// What is on its way, by sender and receiver.
    links: Vec<Vec<Vec<Replicate>>>,
    /// The last acknowledgement on its way, likewise: it stands for those before it.
    acks: Vec<Vec<Option<usize>>>,
    /// For each write, since which view its primary led.
    written: Vec<u8>,
    /// Writes that were reported, or shown, as committed; and as undone. As bits.
    committed: u8,
    undone: u8,
    has_cut: bool,
    has_cut_shown: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A primary that serves appends a write. It need not know that it is excluded.
    Write(usize),
    Replicate {
        from: usize,
        to: usize,
    },
    Acknowledge {
        from: usize,
        to: usize,
    },
    /// An heir looks at the tail of a member that has adopted its view.
    Fetch {
        from: usize,
        to: usize,
    },
    /// The control plane makes a view without this node, dead or not.
    Exclude(usize),
    /// A node hears of the next view.
    Adopt(usize),
    /// A coordinator asks a primary what became of a write; the answer is that it is not there.
    TellUndone(usize, u8),
}

impl State {
    fn latest(&self) -> &View {
        self.views.last().expect("there is a first view")
    }

    fn adopted(&self, node: usize) -> &View {
        &self.views[usize::from(self.nodes[node].view) - 1]
    }

    /// Of the latest view.
    fn members(&self) -> impl Iterator<Item = &Node> {
        self.latest().members.iter().map(|member| &self.nodes[*member])
    }

    fn serving(&self) -> impl Iterator<Item = (usize, &Leads)> {
        let alive = self.nodes.iter().enumerate().filter(|(_, node)| !node.is_over);
        let leads = alive.filter_map(|(id, node)| Some((id, node.leads.as_ref()?)));
        leads.filter(|(_, leads)| leads.serves)
    }

    /// Has the node got all that its primary had when it began to lead? That it leads in the view before, too, says nothing: this node
    /// may not have been sent anything in that.
    fn is_matched(&self, node: usize) -> bool {
        let primary = self.adopted(node).primary;
        let first = self.views.iter().position(|view| view.primary == primary);
        let last = self.nodes[node].log.last().map_or(1, |record| usize::from(record.view));
        first.expect("it leads this view") < last
    }

    /// Everybody may see this node's records up to there.
    fn show(&mut self, node: usize, commit_index: usize) {
        let node = &mut self.nodes[node];
        node.commit_index = node.commit_index.max(commit_index);
        let shown = node.log[..node.commit_index].iter().filter_map(|record| record.write);
        self.committed |= shown.map(|write| 1 << write).sum::<u8>();
    }

    /// Nothing of the log is left from this position on.
    fn cut(&mut self, node: usize, position: usize) {
        let node = &mut self.nodes[node];
        self.has_cut = true;
        self.has_cut_shown |= position <= node.commit_index;
        node.log.truncate(position - 1);
        node.commit_index = node.commit_index.min(node.log.len());
    }

    fn send(&mut self, from: usize, position: usize) {
        let node = &self.nodes[from];
        let message = Replicate {
            view: node.view,
            position,
            record: node.log[position - 1],
            commit_index: node.commit_index,
        };
        for to in self.adopted(from).members.clone() {
            if to != from && !self.nodes[to].is_over {
                self.links[from][to].push(message.clone());
            }
        }
    }

    fn end(&mut self, node: usize) {
        self.nodes[node].is_over = true;
        for from in 0..self.nodes.len() {
            self.links[from][node].clear();
            self.acks[from][node] = None;
        }
    }
}

impl Tail {
    fn keeps(&self, rule: Rule) -> bool {
        self.broken != Some(rule)
    }

    fn append(&self, state: &mut State, primary: usize, write: Option<u8>) {
        let node = &mut state.nodes[primary];
        let since = node.leads.as_ref().expect("the caller looked").since;
        let own = node.log.iter().filter(|record| record.view >= since).count();
        let epoch = if self.keeps(Rule::EpochRaised) { since } else { 1 };
        let ts = (epoch, u8::try_from(own).expect("few"));
        node.log.push(Record { view: node.view, write, ts });
        let position = node.log.len();
        state.send(primary, position);
        self.decide(state, primary);
    }

    fn exclude(&self, state: &mut State, gone: usize) {
        let latest = state.latest();
        let members: Nodes = latest.members.iter().copied().filter(|node| *node != gone).collect();
        let longest = |node: &&usize| (state.nodes[**node].log.len(), usize::MAX - **node);
        let primary = match self.heir {
            _ if latest.primary != gone => latest.primary,
            Heir::Fixed | Heir::Fetches => members[0],
            Heir::Longest => *members.iter().max_by_key(longest).expect("one is left"),
        };
        state.views.push(View { members, primary });
    }

    /// The node hears of the next view.
    fn adopt(&self, state: &mut State, id: usize) {
        state.nodes[id].view += 1;
        let View { members, primary } = state.adopted(id).clone();
        if !members.contains(&id) {
            // It learns that it is over, and ends itself.
            state.end(id);
            return;
        }
        if self.keeps(Rule::ExcludedRefused) {
            for from in (0..self.replicas).filter(|from| !members.contains(from)) {
                state.links[from][id].clear();
                state.acks[from][id] = None;
            }
        }
        let node = &mut state.nodes[id];
        if let Some(leads) = &mut node.leads {
            leads.fetching.retain(|other| members.contains(other));
            self.go_on(state, id);
        } else if primary == id {
            let others = members.iter().copied().filter(|other| *other != id).collect();
            node.leads = Some(Leads {
                since: node.view,
                fetching: if self.heir == Heir::Fetches { others } else { Vec::new() },
                begins_at: None,
                held: vec![node.commit_index; self.replicas],
                serves: false,
            });
            self.go_on(state, id);
        } else if members.len() == 2 && (state.is_matched(id) || !self.keeps(Rule::SentShown)) {
            // All that is here is held by both, if it is the same primary that has sent it.
            let held = state.nodes[id].log.len();
            state.show(id, held);
        }
    }

    /// A primary has adopted a view, or looked at a tail.
    fn go_on(&self, state: &mut State, primary: usize) {
        let node = &mut state.nodes[primary];
        let (own, commit_index) = (node.log.len(), node.commit_index);
        let leads = node.leads.as_mut().expect("it leads");
        if leads.begins_at.is_some() || !leads.fetching.is_empty() {
            self.decide(state, primary);
            return;
        }
        let has_new_view = self.heir != Heir::Fetches;
        leads.begins_at = Some(own + usize::from(has_new_view));
        if self.keeps(Rule::TailFirst) {
            for position in commit_index + 1..=own {
                state.send(primary, position);
            }
        }
        if has_new_view {
            self.append(state, primary, None);
        } else {
            self.decide(state, primary);
        }
    }

    /// What all members hold is committed, if the view has begun.
    fn decide(&self, state: &mut State, primary: usize) {
        let members = &state.adopted(primary).members;
        let node = &state.nodes[primary];
        let leads = node.leads.as_ref().expect("it leads");
        let Some(begins_at) = leads.begins_at else { return };
        let holds =
            |member: &usize| if *member == primary { node.log.len() } else { leads.held[*member] };
        let mut held: Vec<usize> = members.iter().map(holds).collect();
        held.sort_unstable();
        let mut decided =
            held[if self.keeps(Rule::AllMembersHold) { 0 } else { (held.len() - 1) / 2 }];
        if !self.keeps(Rule::LogHeld) && !leads.serves {
            decided = node.log.len();
        }
        if begins_at <= decided {
            state.nodes[primary].leads.as_mut().expect("it leads").serves = true;
            state.show(primary, decided);
        }
    }

    fn on_replicate(&self, state: &mut State, from: usize, to: usize, message: &Replicate) {
        while state.nodes[to].view < message.view && !state.nodes[to].is_over {
            self.adopt(state, to);
        }
        let is_member = state.adopted(to).members.contains(&from);
        if !is_member && self.keeps(Rule::ExcludedRefused)
            || state.nodes[to].is_over
            || state.nodes[to].leads.is_some()
        {
            return;
        }
        let Replicate { position, record, commit_index, .. } = *message;
        let here = state.nodes[to].log.get(position - 1).copied();
        if here.is_some_and(|here| here.view != record.view) && self.keeps(Rule::DifferentCut) {
            state.cut(to, position);
        }
        let node = &mut state.nodes[to];
        if node.log.len() < position {
            node.log.resize(position - 1, HOLE);
            node.log.push(record);
        }
        let holds = if self.keeps(Rule::MatchedAcknowledged) { position } else { node.log.len() };
        state.acks[to][from] = Some(holds);
        let is_of_two = state.adopted(to).members.len() == 2 && is_member;
        state.show(to, if is_of_two { position } else { commit_index });
    }

    fn on_acknowledge(&self, state: &mut State, from: usize, to: usize, position: usize) {
        let Some(leads) = &mut state.nodes[to].leads else { return };
        leads.held[from] = leads.held[from].max(position);
        self.decide(state, to);
    }

    /// The longer log wins. Its further records are undecided, so they may as well be committed.
    fn on_fetch(&self, state: &mut State, from: usize, to: usize) {
        let own = state.nodes[to].log.len();
        let more: Vec<Record> = state.nodes[from].log.iter().skip(own).copied().collect();
        state.nodes[to].log.extend(more);
        let held = state.nodes[from].log.len();
        let leads = state.nodes[to].leads.as_mut().expect("it fetches");
        leads.held[from] = leads.held[from].max(held);
        leads.fetching.retain(|other| *other != from);
        self.go_on(state, to);
    }
}

impl Model for Tail {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let node = Node { is_over: false, view: 1, log: Vec::new(), commit_index: 0, leads: None };
        let mut nodes = vec![node; self.replicas];
        let held = vec![0; self.replicas];
        nodes[0].leads =
            Some(Leads { since: 1, fetching: Vec::new(), begins_at: Some(0), held, serves: true });
        vec![State {
            views: vec![View { members: (0..self.replicas).collect(), primary: 0 }],
            nodes,
            links: vec![vec![Vec::new(); self.replicas]; self.replicas],
            acks: vec![vec![None; self.replicas]; self.replicas],
            written: Vec::new(),
            committed: 0,
            undone: 0,
            has_cut: false,
            has_cut_shown: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let latest = state.latest();
        for (id, leads) in state.serving() {
            if state.written.len() < self.writes {
                actions.push(Action::Write(id));
            }
            let known = state.nodes[id].log.iter().filter_map(|record| record.write);
            let known: u8 = known.map(|write| 1 << write).sum();
            let asked = (0u8..).zip(&state.written).filter(|(_, since)| **since < leads.since);
            let missing = asked.filter(|(write, _)| (known | state.undone) & 1 << write == 0);
            actions.extend(missing.map(|(write, _)| Action::TellUndone(id, write)));
        }
        for (id, node) in state.nodes.iter().enumerate() {
            if latest.members.contains(&id)
                && latest.members.len() > 1
                && state.views.len() < self.views
            {
                actions.push(Action::Exclude(id));
            }
            if node.is_over {
                continue;
            }
            if usize::from(node.view) < state.views.len() {
                actions.push(Action::Adopt(id));
            }
            for from in 0..self.replicas {
                if !state.links[from][id].is_empty() {
                    actions.push(Action::Replicate { from, to: id });
                }
                if state.acks[from][id].is_some() {
                    actions.push(Action::Acknowledge { from, to: id });
                }
                let fetches =
                    node.leads.as_ref().is_some_and(|leads| leads.fetching.contains(&from));
                let is_fenced = state.nodes[from].view == node.view;
                if fetches && (is_fenced || !self.keeps(Rule::FencedFetched)) {
                    actions.push(Action::Fetch { from, to: id });
                }
            }
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::Write(primary) => {
                let leads = before.nodes[primary].leads.as_ref().expect("it serves");
                let write = u8::try_from(before.written.len()).expect("few");
                state.written.push(leads.since);
                self.append(&mut state, primary, Some(write));
            }
            Action::Replicate { from, to } => {
                let message = state.links[from][to].remove(0);
                self.on_replicate(&mut state, from, to, &message);
            }
            Action::Acknowledge { from, to } => {
                let position = state.acks[from][to].take().expect("only then it is an action");
                self.on_acknowledge(&mut state, from, to, position);
            }
            Action::Fetch { from, to } => self.on_fetch(&mut state, from, to),
            Action::Exclude(gone) => self.exclude(&mut state, gone),
            Action::Adopt(node) => self.adopt(&mut state, node),
            Action::TellUndone(_, write) => state.undone |= 1 << write,
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Tail>> {
        let mut properties = vec![
            Property::always(KEPT, |_, state: &State| {
                let has =
                    |node: &Node, write| node.log.iter().any(|record| record.write == Some(write));
                let mut told = (0..8).filter(|write| state.committed & 1 << write != 0);
                told.all(|write| state.members().all(|node| has(node, write)))
            }),
            Property::always(UNDONE, |_, state: &State| state.committed & state.undone == 0),
            Property::always(EQUAL, |_, state: &State| {
                let shown = |node: &Node| node.log[..node.commit_index].to_vec();
                let agree = |a: &[Record], b: &[Record]| a.iter().zip(b).all(|(a, b)| a == b);
                let primary = &state.nodes[state.latest().primary];
                let serves = primary.leads.as_ref().is_some_and(|leads| leads.serves);
                state.members().all(|a| state.members().all(|b| agree(&shown(a), &shown(b))))
                    && (!serves || state.members().all(|node| primary.log.starts_with(&node.log)))
            }),
            Property::always(SHOWN, |_, state: &State| !state.has_cut_shown),
            Property::always(STAMPED, |_, state: &State| {
                state.members().all(|node| node.log.is_sorted_by(|a, b| a.ts < b.ts))
            }),
            Property::sometimes("a write is told committed", |_, state: &State| {
                state.committed != 0
            }),
            Property::sometimes("a write is told undone", |_, state: &State| state.undone != 0),
            Property::sometimes(
                "an heir serves, with a follower, while the one before lives",
                |_, state: &State| {
                    state.serving().any(|(_, leads)| leads.since == 2)
                        && state.latest().members.len() > 1
                        && state.nodes[0].view == 1
                },
            ),
        ];
        if self.views > 2 {
            properties.push(Property::sometimes("an heir's heir serves", |_, state: &State| {
                state.serving().any(|(_, leads)| leads.since == 3)
            }));
        }
        properties.push(match self.heir {
            Heir::Fetches => Property::always(UNCUT, |_, state: &State| !state.has_cut),
            Heir::Fixed | Heir::Longest => {
                Property::sometimes("a tail is cut", |_, state: &State| state.has_cut)
            }
        });
        properties
    }
}
