//! The SQL scripts of `crates/sql/tests/scripts` over a simulated cluster: what MySQL 8 answers, this engine answers, on any
//! seed. (For crates/sim/tests/sql_scripts.rs; sim needs `sql` as a dependency or dev-dependency.)

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use sim::options::{Faults, SECOND, Shape};
use sim::world::World;

/// Of the threads that run statements in a node.
const STACK_SIZE: usize = 16 << 20;

fn text_of(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql/tests/scripts");
    std::fs::read_to_string(folder.join(name)).expect("a script")
}

fn run(name: &str, text: String, seed: u64) {
    let mut options = sim::Options::of_seed(seed, 3600);
    options.shape = Shape::Pair;
    options.faults = Faults::NONE;
    options.sessions = vec![0; options.sessions.len()];
    let mut world = World::new(options, false);
    assert!(world.run_until(60 * SECOND, World::is_ready), "the cluster does not start");
    let host = world.hosts()[0];
    let client = world.client(host);
    let server = sql::Server::new(sql::ServerConfig {
        node: host.node,
        // The files that a script has.
        secure_file_priv: Some("/".into()),
        ..Default::default()
    });
    let node = world.nodes().find(|node| node.node == host.node).expect("a host is on a node");
    node.set_connections(Arc::<sql::Server>::clone(&server));
    let mut open = move || {
        let now = client.wall_clock_micros();
        let id = server.register(host.worker, "localhost", now).expect("scripts open few");
        let info = sql::ConnectionInfo {
            id,
            worker: host.worker,
            user: "root".into(),
            account: types::AccountName::new("root", "localhost"),
            host: "localhost".into(),
            collation_id: 255,
            multi_statements: true,
            ..Default::default()
        };
        sql::Session::new(server.clone(), client.session(), info).expect("no database yet")
    };
    let outcome: Rc<RefCell<Option<Result<usize, String>>>> = Rc::default();
    let slot = Rc::clone(&outcome);
    let task = world.spawn(
        host,
        Box::pin(async move {
            let result = sql::script::run_script(&mut open, &text).await;
            *slot.borrow_mut() = Some(result);
        }),
    );
    assert!(world.run_until(3600 * SECOND, |world| world.is_finished(host, task)), "{name} hangs");
    let outcome = outcome.borrow_mut().take().expect("finished");
    let count = outcome.unwrap_or_else(|problem| panic!("{name}, seed {seed}, {problem}"));
    assert!(20 < count, "{name} has only {count} statements");
}

/// Runs a script on the stack that statements run on.
fn passes(name: &str, text: String, seed: u64) -> bool {
    let own = name.to_owned();
    let thread = std::thread::Builder::new().stack_size(STACK_SIZE);
    let thread = thread.spawn(move || run(&own, text, seed)).expect("a thread");
    thread.join().is_ok()
}

/// Scripts whose statements before the second session do the same to temporary tables as to others.
const OF_TEMPORARY_TABLES: &[&str] = &[
    "changes.test",
    "default_expressions.test",
    "demand.test",
    "expressions.test",
    "functions.test",
    "group.test",
    "joins.test",
    "keys.test",
    "labels.test",
    "rollup.test",
    "select.test",
    "sequences.test",
    "spilling.test",
    "sql_modes.test",
    "temporal.test",
    "types.test",
    "windows.test",
];

/// Words of statements that are of tables which all sessions see.
const OF_SHARED_TABLES: &[&str] = &[
    "information_schema",
    "view",
    "foreign",
    "references",
    "show tables",
    "show table status",
    "rename table",
    "explain",
    "data_locks",
];

/// The script with temporary tables in place of all tables, without the statements that are of others.
fn with_temporary_tables(text: &str) -> String {
    let mut changed = String::new();
    for block in text.split("\n\n") {
        // Other sessions do not see them.
        if block.starts_with("session ") {
            break;
        }
        if OF_SHARED_TABLES.iter().any(|word| block.contains(word)) {
            continue;
        }
        for line in block.lines() {
            match line.strip_prefix("create table ") {
                Some(rest) => changed.push_str(&format!("create temporary table {rest}")),
                None => changed
                    .push_str(&line.replace("\tCREATE TABLE `", "\tCREATE TEMPORARY TABLE `")),
            }
            changed.push('\n');
        }
        changed.push('\n');
    }
    changed
}

/// The same scripts with temporary tables: an operation of the executor has one meaning, wherever the rows are.
#[test]
fn scripts_of_temporary_tables() {
    let mut failed = Vec::new();
    for name in OF_TEMPORARY_TABLES {
        if !passes(name, with_temporary_tables(&text_of(name)), 1) {
            failed.push(*name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// Every script there is: the folder says which, so that none is forgotten. SKARV_SCRIPT names a single one.
#[test]
fn scripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql/tests/scripts");
    let entries = std::fs::read_dir(folder).expect("the folder of scripts");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> =
        names.map(|name| name.into_string().expect("a plain name")).collect();
    names.sort();
    assert!(9 < names.len(), "{names:?}");
    if let Ok(only) = std::env::var("SKARV_SCRIPT") {
        names.retain(|name| *name == only);
    }
    let mut failed = Vec::new();
    for name in names {
        for seed in [1, 2] {
            if !passes(&name, text_of(&name), seed) {
                failed.push(format!("{name} with seed {seed}"));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}
