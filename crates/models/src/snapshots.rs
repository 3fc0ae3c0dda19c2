//! Commit timestamps and snapshots, while one sequencer takes over from another that continues.
//!
//! A writer locks its rows, marks each as *committing* (PREPARE, or at home), and asks the sequencer for a timestamp when all are
//! marked. A reader gets a snapshot, the last timestamp given out, and reads row after row. Why that is exact:
//!
//! | the reader passes the row        | then                                                                          |
//! |----------------------------------|-------------------------------------------------------------------------------|
//! | before it is marked              | it raises the floor; the mark takes the floor, and the timestamp must be above |
//! | marked, and its snapshot is below | the same: the timestamp will be above                                         |
//! | marked, and it is not            | it waits                                                                      |
//! | committed                        | it compares                                                                   |
//!
//! Two sequencers may be alive: timestamps begin with the epoch, and a shard that has seen a later
//! epoch takes no timestamp of an earlier one. So a deposed sequencer may stamp a transaction; only
//! its *snapshots* would be old, and it grants none without its lease ([`crate::leases`]), which
//! has ended when the next one begins.
//!
//! Left out: replication (a row is a primary's), several rows in a shard, snapshots read on backups, the horizon, and stamps given
//! twice (decision 8).

use stateright::{Model, Property};

/// What must be done. Each can be broken alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A transaction requests its timestamp when all rows are marked; broken: at any time.
    StampedAfterMarks,
    /// A timestamp is above every read of the rows before they were marked.
    AboveReads,
    /// A timestamp is of no earlier epoch than those the rows have seen.
    EpochFenced,
    /// A reader waits at a mark that may get a timestamp within its snapshot.
    ReaderWaits,
    /// The next sequencer has a higher epoch.
    EpochRaised,
    /// A sequencer grants snapshots only while it has a lease.
    GrantedByLease,
}

impl Rule {
    /// Each, and what does not hold without it.
    pub const ALL: &[(Rule, &str)] = &[
        (Rule::StampedAfterMarks, ORDERED),
        (Rule::AboveReads, EXACT),
        (Rule::EpochFenced, ORDERED),
        (Rule::ReaderWaits, EXACT),
        (Rule::EpochRaised, UNIQUE),
        (Rule::GrantedByLease, RECENT),
    ];
}

pub const EXACT: &str = "a snapshot is all transactions up to its timestamp, and no others";
pub const RECENT: &str = "a snapshot has all that was told committed before it was granted";
pub const ORDERED: &str = "versions of a row are in the order of their locks";
pub const UNIQUE: &str = "no two transactions have the same timestamp";

#[derive(Clone, Copy, Debug)]
pub struct Snapshots {
    /// Which rows each transaction writes.
    pub writers: &'static [&'static [usize]],
    /// Each reads both rows.
    pub readers: usize,
    pub broken: Option<Rule>,
}

const ROWS: [usize; 2] = [0, 1];
/// How often a transaction may ask: once more than there are sequencers.
const ASKED_MAX: u8 = 3;

/// Epoch and count.
type Timestamp = (u8, u8);

#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
struct Row {
    /// Oldest first.
    versions: Vec<(Timestamp, usize)>,
    lock: Option<Lock>,
    read_floor: Timestamp,
    epoch_max: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Lock {
    owner: usize,
    /// Its mark says what the timestamp will be above.
    above: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
struct Writer {
    stamp: Option<Timestamp>,
    asked: u8,
    is_decided: bool,
    is_told: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
struct Reader {
    at: Option<Timestamp>,
    /// What was told before.
    told_before: Vec<usize>,
    /// By row: the transactions whose versions it saw.
    saw: [Option<Vec<usize>>; 2],
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    rows: [Row; 2],
    writers: Vec<Writer>,
    readers: Vec<Reader>,
    /// How many each sequencer has given out.
    given: [u8; 2],
    has_taken_over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    TakeOver,
    Lock {
        writer: usize,
        row: usize,
    },
    Mark {
        writer: usize,
        row: usize,
    },
    Stamp {
        writer: usize,
        sequencer: usize,
    },
    Decide(usize),
    Tell(usize),
    /// The decision comes to a row.
    Show {
        writer: usize,
        row: usize,
    },
    Grant {
        reader: usize,
        sequencer: usize,
    },
    Read {
        reader: usize,
        row: usize,
    },
}

impl Snapshots {
    fn keeps(&self, rule: Rule) -> bool {
        self.broken != Some(rule)
    }

    fn last(&self, state: &State, sequencer: usize) -> Timestamp {
        let epoch = if self.keeps(Rule::EpochRaised) { sequencer + 1 } else { 1 };
        (u8::try_from(epoch).expect("two"), state.given[sequencer])
    }

    /// What the timestamps of whoever marks the row now are above.
    fn floor(&self, row: &Row) -> Timestamp {
        let epoch = if self.keeps(Rule::EpochFenced) { row.epoch_max } else { 0 };
        let read = if self.keeps(Rule::AboveReads) { row.read_floor } else { (0, 0) };
        read.max((epoch, 0))
    }

    fn may_read(&self, row: &Row, at: Timestamp) -> bool {
        match row.lock.and_then(|lock| lock.above) {
            Some(above) => at <= above || !self.keeps(Rule::ReaderWaits),
            None => true,
        }
    }

    fn locks<'a>(&self, state: &'a State, writer: usize) -> Vec<Option<&'a Lock>> {
        let lock = |row: &usize| state.rows[*row].lock.as_ref().filter(|lock| lock.owner == writer);
        self.writers[writer].iter().map(lock).collect()
    }
}

impl Model for Snapshots {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            rows: Default::default(),
            writers: vec![Writer::default(); self.writers.len()],
            readers: vec![Reader::default(); self.readers],
            given: [0; 2],
            has_taken_over: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if !state.has_taken_over {
            actions.push(Action::TakeOver);
        }
        let sequencers = 0..1 + usize::from(state.has_taken_over);
        for (writer, own) in state.writers.iter().enumerate() {
            let locks = self.locks(state, writer);
            let rows = self.writers[writer].iter().copied().zip(&locks);
            if own.is_decided {
                let marked = rows.filter(|(_, lock)| lock.is_some());
                actions.extend(marked.map(|(row, _)| Action::Show { writer, row }));
                if !own.is_told {
                    actions.push(Action::Tell(writer));
                }
                continue;
            }
            let all_locked = locks.iter().all(Option::is_some);
            let all_marked = locks.iter().all(|lock| lock.is_some_and(|lock| lock.above.is_some()));
            for (row, lock) in rows {
                match lock {
                    None if state.rows[row].lock.is_none() => {
                        actions.push(Action::Lock { writer, row })
                    }
                    Some(Lock { above: None, .. }) if all_locked => {
                        actions.push(Action::Mark { writer, row })
                    }
                    _ => {}
                }
            }
            if all_marked && own.stamp.is_some() {
                actions.push(Action::Decide(writer));
            }
            let may_ask = all_marked || !self.keeps(Rule::StampedAfterMarks);
            if own.stamp.is_none() && may_ask && own.asked < ASKED_MAX {
                actions.extend(
                    sequencers.clone().map(|sequencer| Action::Stamp { writer, sequencer }),
                );
            }
        }
        for (reader, own) in state.readers.iter().enumerate() {
            let Some(at) = own.at else {
                let leased = sequencers.clone().filter(|sequencer| {
                    *sequencer + 1 == sequencers.end || !self.keeps(Rule::GrantedByLease)
                });
                actions.extend(leased.map(|sequencer| Action::Grant { reader, sequencer }));
                continue;
            };
            let unread = ROWS.into_iter().filter(|row| own.saw[*row].is_none());
            let readable = unread.filter(|row| self.may_read(&state.rows[*row], at));
            actions.extend(readable.map(|row| Action::Read { reader, row }));
        }
    }

    fn next_state(&self, before: &State, action: Action) -> Option<State> {
        let mut state = before.clone();
        match action {
            Action::TakeOver => state.has_taken_over = true,
            Action::Lock { writer, row } => {
                state.rows[row].lock = Some(Lock { owner: writer, above: None });
            }
            Action::Mark { writer, row } => {
                let above = Some(self.floor(&before.rows[row]));
                state.rows[row].lock = Some(Lock { owner: writer, above });
            }
            Action::Stamp { writer, sequencer } => {
                state.given[sequencer] += 1;
                state.writers[writer].asked += 1;
                state.writers[writer].stamp = Some(self.last(&state, sequencer));
            }
            Action::Decide(writer) => {
                let locks = self.locks(before, writer);
                let above = locks.iter().filter_map(|lock| (*lock)?.above).max();
                // A timestamp of an earlier epoch is requested again.
                state.writers[writer].is_decided = before.writers[writer].stamp > above;
                if !state.writers[writer].is_decided {
                    state.writers[writer].stamp = None;
                }
            }
            Action::Tell(writer) => state.writers[writer].is_told = true,
            Action::Show { writer, row } => {
                let ts = before.writers[writer].stamp.expect("it is decided");
                let row = &mut state.rows[row];
                row.versions.push((ts, writer));
                row.epoch_max = row.epoch_max.max(ts.0);
                row.lock = None;
            }
            Action::Grant { reader, sequencer } => {
                let told = before.writers.iter().enumerate().filter(|(_, writer)| writer.is_told);
                state.readers[reader].told_before = told.map(|(writer, _)| writer).collect();
                state.readers[reader].at = Some(self.last(before, sequencer));
            }
            Action::Read { reader, row } => {
                let at = before.readers[reader].at.expect("it has its snapshot");
                let seen = before.rows[row].versions.iter().filter(|(ts, _)| *ts <= at);
                state.readers[reader].saw[row] = Some(seen.map(|(_, writer)| *writer).collect());
                state.rows[row].read_floor = state.rows[row].read_floor.max(at);
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Snapshots>> {
        vec![
            Property::always(EXACT, |model: &Snapshots, state: &State| {
                let decided =
                    state.writers.iter().enumerate().filter(|(_, writer)| writer.is_decided);
                decided.into_iter().all(|(id, writer)| {
                    model.writers[id].iter().all(|row| {
                        let saw = |reader: &Reader| {
                            reader.saw[*row].as_ref().map(|saw| saw.contains(&id))
                        };
                        let is_right = |reader: &Reader| {
                            saw(reader).is_none_or(|saw| saw == (writer.stamp <= reader.at))
                        };
                        state.readers.iter().all(is_right)
                    })
                })
            }),
            Property::always(RECENT, |model: &Snapshots, state: &State| {
                state.readers.iter().all(|reader| {
                    reader.told_before.iter().all(|told| {
                        let saw = |row: &usize| {
                            reader.saw[*row].as_ref().is_none_or(|saw| saw.contains(told))
                        };
                        model.writers[*told].iter().all(saw)
                    })
                })
            }),
            Property::always(ORDERED, |_, state: &State| {
                state.rows.iter().all(|row| row.versions.is_sorted_by(|a, b| a.0 < b.0))
            }),
            Property::always(UNIQUE, |_, state: &State| {
                let decided = state.writers.iter().filter(|writer| writer.is_decided);
                let mut stamps: Vec<_> = decided.map(|writer| writer.stamp).collect();
                stamps.sort_unstable();
                stamps.is_sorted_by(|a, b| a < b)
            }),
            Property::sometimes("a snapshot has a transaction", |_, state: &State| {
                let has = |reader: &Reader| {
                    reader.saw.iter().all(|saw| saw.as_ref().is_some_and(|saw| saw.contains(&0)))
                };
                state.readers.iter().any(has)
            }),
            Property::sometimes(
                "a stamp of the sequencer before is refused",
                |_, state: &State| {
                    state.writers.iter().any(|writer| writer.asked == 2 && writer.stamp.is_none())
                },
            ),
            Property::sometimes(
                "the sequencer before stamps, and a snapshot of the next one has it",
                |_, state: &State| {
                    let has = |reader: &Reader| {
                        reader.at.is_some_and(|at| at.0 == 2)
                            && reader.saw[0].as_ref().is_some_and(|saw| saw.contains(&0))
                    };
                    state.writers[0].stamp.is_some_and(|ts| ts.0 == 1)
                        && state.readers.iter().any(has)
                },
            ),
        ]
    }
}
