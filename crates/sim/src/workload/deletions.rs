//! Rows that are deleted one after the other, and no other changes: the disks have nothing newer
//! than the deletions.
//!
//! Each session writes its rows into both tables, all at once, and deletes them from both in the
//! order of their numbers, each in one transaction. It ends with its node, and other sessions take
//! over with rows of their own.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use types::Table;

use super::{Task, Work};
use crate::contents::Contents;
use crate::random::Random;
use crate::stage::{Actor, Disturbance, Stage};
use crate::tables::{autocommit, delete, insert, integers};

const NAMES: [&str; 2] = ["deletions_a", "deletions_b"];
/// Of an actor.
const ROWS: i64 = 300;

/// What an actor has done: its rows are written first, and then deleted.
#[derive(Default)]
struct Done {
    /// Transactions that it has asked for.
    asked: usize,
    /// At which event each of them was acknowledged.
    acknowledged: Vec<u64>,
    /// So many were committed before a checkpoint began that is done.
    promised: usize,
}

struct Deletions {
    actors: Rc<RefCell<BTreeMap<i64, Done>>>,
}

pub fn make(_random: &mut Random) -> Box<dyn Work> {
    Box::new(Deletions { actors: Rc::default() })
}

impl Work for Deletions {
    fn tables(&self) -> Vec<Table> {
        NAMES.iter().map(|name| integers(name, &["id"])).collect()
    }
    fn rows(&self) -> Vec<(&'static str, Vec<i64>)> {
        Vec::new()
    }
    fn session(&self, actor: Actor) -> Task {
        Box::pin(run(actor, Rc::clone(&self.actors)))
    }
    fn promise(&self, stage: &Stage, acknowledged_before: u64) {
        for (id, done) in &mut *self.actors.borrow_mut() {
            if !stage.is_lost(*id as u64) {
                let is_before = |at: &&u64| **at < acknowledged_before;
                done.promised = done.acknowledged.iter().filter(is_before).count();
            }
        }
    }
    fn check(&self, contents: &Contents) -> Result<(), String> {
        let [a, b] = NAMES.map(|name| {
            let rows = contents.numbers(name).into_iter();
            rows.map(|row| row[0]).collect::<std::collections::BTreeSet<i64>>()
        });
        if a != b {
            return Err(format!("half of a deletion is there: {} and {} rows", a.len(), b.len()));
        }
        for (actor, done) in &*self.actors.borrow() {
            let own = a.range(actor * ROWS..(actor + 1) * ROWS);
            let left: Vec<i64> = own.map(|id| id % ROWS).collect();
            let count = left.len() as i64;
            if !left.iter().copied().eq(ROWS - count..ROWS) {
                return Err(format!("of actor {actor} these rows are left: {left:?}"));
            }
            // One transaction for all rows, and then one for each of them.
            let most = ROWS - (done.promised as i64 - 1).max(0);
            let least = if 0 < done.promised { ROWS + 1 - done.asked as i64 } else { 0 };
            if !(least..=most).contains(&count) {
                return Err(format!(
                    "of actor {actor}, {} of whose {} transactions are durable, {count} rows are left, not {least} to {most}",
                    done.promised, done.asked
                ));
            }
        }
        Ok(())
    }
}

async fn run(mut actor: Actor, actors: Rc<RefCell<BTreeMap<i64, Done>>>) {
    let id = actor.id as i64;
    let mut session = actor.client.clone().session();
    let tables = NAMES.map(|name| actor.table(name));
    actors.borrow_mut().insert(id, Done::default());
    let key = |number: i64| id * ROWS + number;
    let all = |table| (0..ROWS).map(move |number| insert(table, &[key(number)]));
    let mut ops: Vec<_> = tables.iter().flat_map(|table| all(table)).collect();
    for number in 0..=ROWS {
        actors.borrow_mut().get_mut(&id).expect("just made").asked += 1;
        session.next_statement();
        let done = session.execute(autocommit(ops, 1_000)).await;
        if done.is_err() {
            // What is deleted next would not be the first that is left.
            return actor.ended("deletions", &done.map(|_| ()), Disturbance::None, 1_000);
        }
        let at = actor.stage.next_event();
        actors.borrow_mut().get_mut(&id).expect("just made").acknowledged.push(at);
        actor.acknowledged();
        actor.think().await;
        if actor.stage.is_stopping() || number == ROWS {
            return;
        }
        ops = tables.iter().map(|table| delete(table, key(number))).collect();
    }
}
