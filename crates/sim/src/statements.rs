//! SQL over a simulated cluster: random statements, and random predicates by every access path.
//!
//! Both come from [`sql::check`]. A chunk is a world of its own with one seed, so a failure is repeated by its seed; the
//! links are without faults, since these worlds judge SQL.
//!
//! Statements must end with an answer: none with a fault of the server (1815), which is what a panic becomes. Predicates
//! must give the same rows through every key, without any, as the truth value of each row, to UPDATE and to DELETE.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use kernel::{Mutation, Time};
use sql::check::predicate::predicate;
use sql::check::random::Random;
use sql::check::statement::Statements;
use sql::check::tables::{self, RandomTable};
use sql::script::{Answer, run};
use sql::server::BrokenRule;
use sql::{ConnectionInfo, Server, ServerConfig, Session, code};
use types::Address;

use crate::contents;
use crate::options::{Faults, Options, SECOND, Shape};
use crate::run::caught;
use crate::world::World;

/// Statements and predicates of one table.
const STATEMENTS_PER_TABLE: u64 = 250;
const PREDICATES_PER_TABLE: u64 = 50;
const ROW_COUNT: usize = 24;
/// A chunk that takes longer in simulated time hangs.
const CHUNK_MAX: u64 = 100_000 * SECOND;

/// Runs `work` in one session of a fresh world; the error of the work, or that it hangs.
pub fn in_world<F>(
    shape: Shape,
    seed: u64,
    work: impl FnOnce(Session) -> F,
) -> Result<String, String>
where
    F: Future<Output = Result<String, String>> + 'static,
{
    caught(|| play(shape, seed, work))
}

fn play<F>(shape: Shape, seed: u64, work: impl FnOnce(Session) -> F) -> Result<String, String>
where
    F: Future<Output = Result<String, String>> + 'static,
{
    let mut world = quiet_world(shape, seed)?;
    let session = open(&mut world);
    let outcome: Rc<RefCell<Option<Result<String, String>>>> = Rc::default();
    let slot = Rc::clone(&outcome);
    let host = world.hosts()[0];
    let work = work(session);
    let task = world.spawn(host, Box::pin(async move { *slot.borrow_mut() = Some(work.await) }));
    if !world.run_until(CHUNK_MAX, |world| world.is_finished(host, task)) {
        return Err("a statement hangs".into());
    }
    outcome.take().expect("the task has finished")
}

/// A cluster of this shape that is ready, without faults and without sessions of its own.
pub fn quiet_world(shape: Shape, seed: u64) -> Result<World, String> {
    broken_world(shape, seed, Mutation::None)
}

/// The same with nodes that break a rule.
pub fn broken_world(shape: Shape, seed: u64, mutation: Mutation) -> Result<World, String> {
    let mut options = Options::of_seed(seed, CHUNK_MAX / SECOND);
    // As many shards a member as the seed says.
    options.shards_per_group =
        options.shards_per_group / options.shape.replicas() * shape.replicas();
    options.shape = shape;
    options.mutation = mutation;
    options.faults = Faults::NONE;
    options.sessions = vec![0; options.sessions.len()];
    let mut world = World::new(options, false);
    if !world.run_until(60 * SECOND, World::is_ready) {
        return Err("the cluster does not start".into());
    }
    Ok(world)
}

/// A session of root on the world's first data node.
pub fn open(world: &mut World) -> Session {
    let host = world.hosts()[0];
    let server = Server::new(ServerConfig { node: host.node, ..Default::default() });
    let node = world.nodes().find(|node| node.node == host.node).expect("a host is on a node");
    node.set_connections(Arc::<Server>::clone(&server));
    session_on(world, &server, host)
}

/// A session of root on this host.
pub fn session_on(world: &World, server: &Arc<Server>, host: Address) -> Session {
    let client = world.client(host);
    let id = server.register(host.worker, "localhost", client.wall_clock_micros());
    let info = ConnectionInfo {
        id: id.expect("there are few"),
        worker: host.worker,
        user: "root".into(),
        account: types::AccountName::new("root", "localhost"),
        host: "localhost".into(),
        collation_id: 255,
        ..ConnectionInfo::default()
    };
    Session::new(Arc::clone(server), client.session(), info).expect("no database yet")
}

/// Sessions of a test on all data nodes of a world, each run by a task of its own.
pub struct Sessions {
    pub world: World,
    server: Arc<Server>,
    /// Of each task that has not been waited for; gone when the task is.
    tasks: Vec<Weak<()>>,
}

impl Sessions {
    /// A server that breaks this rule, if any.
    pub fn new(world: World, broken_rule: Option<BrokenRule>) -> Sessions {
        let node = world.hosts()[0].node;
        let server = Server::new(ServerConfig { node, broken_rule, ..Default::default() });
        Sessions { world, server, tasks: Vec::new() }
    }

    /// Begins a task with a session on the data node of this number, counted round.
    pub fn begin<F: Future<Output = ()> + 'static>(
        &mut self,
        number: usize,
        task: impl FnOnce(Session) -> F,
    ) {
        let hosts = self.world.hosts();
        self.begin_on(hosts[number % hosts.len()], task);
    }

    pub fn begin_on<F: Future<Output = ()> + 'static>(
        &mut self,
        host: Address,
        task: impl FnOnce(Session) -> F,
    ) {
        let task = task(session_on(&self.world, &self.server, host));
        let lives = Rc::new(());
        self.tasks.push(Rc::downgrade(&lives));
        let task = async move {
            let _lives = lives;
            task.await;
        };
        self.world.spawn(host, Box::pin(task));
    }

    /// What the sessions execute.
    fn executed(&self) -> String {
        let processes = self.server.processes().into_iter().filter(|own| own.command == "Query");
        let texts = processes.map(|own| format!("\n  {own:?}"));
        texts.collect()
    }

    /// Runs the world until all tasks have ended, or have gone with their nodes; panics when one lasts longer than this.
    pub fn finish(&mut self, limit: Time) {
        for task in std::mem::take(&mut self.tasks) {
            let has_ended = self.world.run_until(limit, |_| task.strong_count() == 0);
            let restless = contents::restless(&self.world);
            assert!(has_ended, "it hangs: {restless:?}{}", self.executed());
        }
    }
}

/// Executes a statement of a test; panics when it fails.
pub async fn succeed(session: &mut Session, statement: &str) {
    must(session, statement).await.unwrap_or_else(|error| panic!("{error}"));
}

/// Runs a statement that must succeed.
async fn must(session: &mut Session, statement: &str) -> Result<Answer, String> {
    let answer = run(session, statement).await;
    match &answer.error {
        None => Ok(answer),
        Some(error) => Err(format!("{error}: {statement}")),
    }
}

async fn create(session: &mut Session, table: &RandomTable) -> Result<(), String> {
    must(session, "DROP DATABASE IF EXISTS test").await?;
    must(session, "CREATE DATABASE test").await?;
    must(session, "USE test").await?;
    for (create, name) in table.creates.iter().zip(["t", "plain"]) {
        must(session, create).await?;
        for row in &table.rows {
            must(session, &format!("INSERT IGNORE INTO {name} VALUES ({})", row.join(", ")))
                .await?;
        }
    }
    Ok(())
}

/// Runs `count` random statements. The answer tells how many succeeded.
pub fn statements(seed: u64, count: u64) -> Result<String, String> {
    in_world(Shape::Single, seed, move |session| run_statements(session, seed, count))
}

async fn run_statements(mut session: Session, seed: u64, count: u64) -> Result<String, String> {
    let mut random = Random::new(seed);
    let (mut done, mut succeeded) = (0, 0);
    while done < count {
        let table = tables::table(&mut random, ROW_COUNT);
        must(&mut session, "SET sql_mode = DEFAULT").await?;
        create(&mut session, &table).await?;
        let mut statements = Statements::new(random.next_u64(), &table);
        must(&mut session, "BEGIN").await?;
        for number in 0..STATEMENTS_PER_TABLE.min(count - done) {
            let statement = statements.statement();
            let answer = run(&mut session, &statement).await;
            succeeded += u64::from(answer.error.is_none());
            if let Some(error) = &answer.error
                && error.code == code::ER_INTERNAL_ERROR
            {
                return Err(format!("{error}\n  {}\n  {statement}", table.creates[0]));
            }
            if number % 16 == 15 {
                must(&mut session, "ROLLBACK").await?;
                must(&mut session, "BEGIN").await?;
            }
            done += 1;
        }
        must(&mut session, "ROLLBACK").await?;
    }
    Ok(format!("{succeeded} of {done} succeeded"))
}

/// Compares `count` random predicates on four data nodes.
pub fn predicates(seed: u64, count: u64) -> Result<String, String> {
    in_world(Shape::TwoGroups, seed, move |session| run_predicates(session, seed, count))
}

async fn run_predicates(mut session: Session, seed: u64, count: u64) -> Result<String, String> {
    let mut random = Random::new(seed);
    let (mut done, mut refused) = (0, 0);
    // A change in strict mode refuses values that are a warning in a SELECT.
    must(&mut session, "SET sql_mode = ''").await?;
    while done < count {
        let table = tables::table(&mut random, ROW_COUNT);
        create(&mut session, &table).await?;
        for _ in 0..PREDICATES_PER_TABLE.min(count - done) {
            let depth = 1 + random.below(3);
            let sql = predicate(&mut random, &table, depth);
            let compared = compare(&mut session, &mut random, &table, &sql).await;
            refused += u64::from(
                !compared
                    .map_err(|problem| format!("{problem}\n  {}\n  {sql}", table.creates[0]))?,
            );
            done += 1;
        }
    }
    Ok(format!("{} of {done} compared", done - refused))
}

/// Compares one predicate. False: it is an error, which paths may meet for different rows.
async fn compare(
    session: &mut Session,
    random: &mut Random,
    table: &RandomTable,
    predicate: &str,
) -> Result<bool, String> {
    // As the truth value of each row: P, NOT P, P IS NULL.
    let parts =
        format!("SELECT id, ({predicate}) IS TRUE, NOT ({predicate}), ({predicate}) IS NULL");
    let answer = run(session, &format!("{parts} FROM plain")).await;
    if let Some(error) = &answer.error {
        let is_fault = error.code == code::ER_INTERNAL_ERROR;
        return if is_fault { Err(error.to_string()) } else { Ok(false) };
    }
    for row in &answer.rows {
        let truths = row[1..].iter().filter(|value| *value == "1").count();
        if truths != 1 {
            return Err(format!("P, NOT P and P IS NULL do not part the rows: {row:?}"));
        }
    }
    let ids = |rows: &[Vec<String>]| {
        let mut ids: Vec<String> = rows.iter().map(|row| row[0].clone()).collect();
        ids.sort_unstable();
        ids
    };
    let is_true: Vec<Vec<String>> =
        answer.rows.iter().filter(|row| row[1] == "1").cloned().collect();
    let wanted = ids(&is_true);
    let all = ids(&answer.rows);
    let key = random.pick(&table.keys).clone();
    for source in ["plain", "t", &format!("t FORCE INDEX ({key})"), "t FORCE INDEX (PRIMARY)"] {
        let select = format!("SELECT id FROM {source} WHERE {predicate}");
        let found = ids(&must(session, &select).await?.rows);
        if found != wanted {
            return Err(format!("{source} gives {found:?}, each row's truth {wanted:?}"));
        }
    }
    if random.percent(25) {
        must(session, "BEGIN").await?;
        must(session, &format!("UPDATE t SET mark = 1 WHERE {predicate}")).await?;
        let changed = ids(&must(session, "SELECT id FROM t WHERE mark = 1").await?.rows);
        must(session, "ROLLBACK").await?;
        must(session, "BEGIN").await?;
        must(session, &format!("DELETE FROM t WHERE {predicate}")).await?;
        let left = ids(&must(session, "SELECT id FROM t").await?.rows);
        must(session, "ROLLBACK").await?;
        let mut others = all;
        others.retain(|id| !wanted.contains(id));
        if changed != wanted || left != others {
            return Err(format!(
                "UPDATE changes {changed:?} and DELETE leaves {left:?} where {wanted:?} match"
            ));
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The long form of the tests runs more.
    fn scale() -> u64 {
        if std::env::var_os("SKARV_TEST_LONG").is_some() { 20 } else { 1 }
    }

    #[test]
    fn random_statements_have_answers() {
        statements(1, 2_000 * scale()).unwrap_or_else(|problem| panic!("{problem}"));
    }

    #[test]
    fn random_predicates_find_their_rows_on_four_nodes() {
        predicates(1, 300 * scale()).unwrap_or_else(|problem| panic!("{problem}"));
    }
}
