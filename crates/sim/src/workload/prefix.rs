//! The state after all nodes lost their power: whole transactions, everything up to some point in
//! time and nothing behind it, and at least everything up to the last global checkpoint, or
//! acknowledged at `always`, or at the default level where a node group has one member.
//!
//! Each session writes its rows one after the other, each into both tables in one transaction, with
//! the number of the event at which it began. A session ends with its node and others take over:
//! the rows that those find first must stay for ever.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use client::{Lock, Refusal, Session};
use types::Table;

use super::{Task, Work};
use crate::contents::Contents;
use crate::random::Random;
use crate::stage::{Actor, Disturbance, Stage};
use crate::tables::{autocommit, insert, integers, read, row_read};

const NAMES: [&str; 2] = ["prefix_a", "prefix_b"];
/// Rows that an actor writes at most.
const ROWS_MAX: i64 = 1_000_000;

/// What an actor has written.
#[derive(Default)]
struct Written {
    /// How often all nodes had lost their power when it began.
    generation: u64,
    /// At which event each of its rows was acknowledged, in order.
    acknowledged: Vec<u64>,
    /// So many of them were committed before a checkpoint began that is done; or all that were acknowledged, if they were durable then.
    promised: usize,
    /// So many were found by those that came after it.
    found: Option<usize>,
}

#[derive(Default)]
struct History {
    actors: BTreeMap<i64, Written>,
    generation: u64,
}

struct Prefix {
    history: Rc<RefCell<History>>,
}

pub fn make(_random: &mut Random) -> Box<dyn Work> {
    Box::new(Prefix { history: Rc::default() })
}

impl Work for Prefix {
    fn tables(&self) -> Vec<Table> {
        NAMES.iter().map(|name| integers(name, &["id", "begun"])).collect()
    }
    fn rows(&self) -> Vec<(&'static str, Vec<i64>)> {
        Vec::new()
    }
    fn session(&self, actor: Actor) -> Task {
        Box::pin(run(actor, Rc::clone(&self.history)))
    }
    fn promise(&self, stage: &Stage, acknowledged_before: u64) {
        let mut history = self.history.borrow_mut();
        // The promises to a lost actor stay as they are.
        let live = history.actors.iter_mut().filter(|(id, _)| !stage.is_lost(**id as u64));
        for (_, written) in live {
            let count = written.acknowledged.iter().filter(|at| **at < acknowledged_before).count();
            written.promised = written.promised.max(count);
        }
    }
    fn check(&self, contents: &Contents) -> Result<(), String> {
        let [a, b] = NAMES.map(|name| -> BTreeMap<i64, i64> {
            contents.numbers(name).into_iter().map(|row| (row[0], row[1])).collect()
        });
        if a != b {
            return Err(format!(
                "a part of a transaction is there: {} and {} rows",
                a.len(),
                b.len()
            ));
        }
        let history = self.history.borrow();
        let mut newest: BTreeMap<u64, i64> = BTreeMap::new();
        for (id, begun) in &a {
            let generation = history.actors[&(id / ROWS_MAX)].generation;
            let newest = newest.entry(generation).or_default();
            *newest = (*newest).max(*begun);
        }
        for (actor, written) in &history.actors {
            let newest = newest.get(&written.generation).copied().unwrap_or(0);
            let own = a.range(actor * ROWS_MAX..(actor + 1) * ROWS_MAX);
            let numbers: Vec<i64> = own.map(|(id, _)| id % ROWS_MAX).collect();
            let count = numbers.len();
            if !numbers.iter().copied().eq(0..count as i64) {
                return Err(format!("of actor {actor} these rows are left: {numbers:?}"));
            }
            if count < written.promised {
                let promised = written.promised;
                return Err(format!(
                    "{promised} rows of actor {actor} were durable; {count} are left"
                ));
            }
            if written.found.is_some_and(|found| found != count) {
                let found = written.found;
                return Err(format!(
                    "{found:?} rows of actor {actor} were found first, {count} are left"
                ));
            }
            let told_before = written.acknowledged.iter().filter(|at| **at < newest as u64).count();
            if count < told_before {
                return Err(format!(
                    "{told_before} rows of actor {actor} were acknowledged before event {newest}, whose row is left; {count} of them are left"
                ));
            }
        }
        Ok(())
    }
}

async fn run(actor: Actor, history: Rc<RefCell<History>>) {
    let client = actor.client.clone();
    let mut session = client.session();
    let mut actor = actor;
    let id = actor.id as i64;
    let looked = look(&actor, &mut session, &history).await;
    if looked.is_err() {
        return actor.ended("prefix", &looked, Disturbance::None, 1_000);
    }
    {
        let mut history = history.borrow_mut();
        let is_lost = |(id, written): (&i64, &Written)| {
            written.generation == history.generation && actor.stage.is_lost(*id as u64)
        };
        if history.actors.iter().any(is_lost) {
            history.generation += 1;
        }
        let generation = history.generation;
        history.actors.insert(id, Written { generation, ..Written::default() });
    }
    let tables = NAMES.map(|name| actor.table(name));
    for number in 0..ROWS_MAX {
        actor.think().await;
        if actor.stage.is_stopping() {
            return;
        }
        let begun = actor.stage.next_event() as i64;
        let key = id * ROWS_MAX + number;
        let ops = tables.iter().map(|table| insert(table, &[key, begun])).collect();
        session.next_statement();
        let before = client.state();
        match session.execute(autocommit(ops, 1_000)).await {
            Ok(_) => {
                let at = actor.stage.next_event();
                let is_durable = |state| actor.stage.is_durable_when_told(state);
                let mut history = history.borrow_mut();
                let written = history.actors.get_mut(&id).expect("made above");
                written.acknowledged.push(at);
                // Where a node was alone, or has come to be, in the meantime, its answer may have been on its way.
                if is_durable(&before) && is_durable(&client.state()) {
                    written.promised = written.acknowledged.len();
                }
                actor.acknowledged();
            }
            // Its next row would leave a gap.
            refused => {
                return actor.ended("prefix", &refused.map(|_| ()), Disturbance::None, 1_000);
            }
        }
    }
}

/// Counts the rows of lost actors.
async fn look(
    actor: &Actor,
    session: &mut Session,
    history: &Rc<RefCell<History>>,
) -> Result<(), Refusal> {
    let table = actor.table(NAMES[0]);
    let lost: Vec<i64> = {
        let history = history.borrow();
        let ids = history.actors.iter().filter(|(_, written)| written.found.is_none());
        ids.map(|(id, _)| *id).filter(|id| actor.stage.is_lost(*id as u64)).collect()
    };
    for id in lost {
        let mut count = 0;
        loop {
            if actor.stage.is_stopping() {
                // There may be thousands.
                return Ok(());
            }
            session.next_statement();
            let ops = vec![read(&table, id * ROWS_MAX + count, Lock::None)];
            let result = session.execute(autocommit(ops, 1_000)).await?;
            if row_read(&table, &result, 0).is_none() {
                break;
            }
            count += 1;
        }
        let mut history = history.borrow_mut();
        let written = history.actors.get_mut(&id).expect("listed");
        let found = usize::try_from(count).expect("a count");
        if *written.found.get_or_insert(found) != found {
            let before = written.found;
            actor
                .stage
                .fail(format!("{before:?} rows of actor {id} were found first, and now {found}"));
        }
    }
    Ok(())
}
