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

fn run(name: &str, seed: u64) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sql/tests/scripts");
    let text = std::fs::read_to_string(folder.join(name)).expect("a script");
    let mut options = sim::Options::of_seed(seed, 3600);
    options.shape = Shape::Pair;
    options.faults = Faults::NONE;
    options.sessions = vec![0; options.sessions.len()];
    let mut world = World::new(options, false);
    assert!(world.run_until(60 * SECOND, World::is_ready), "the cluster does not start");
    let host = world.hosts()[0];
    let client = world.client(host);
    let server = sql::Server::new(sql::ServerConfig { node: host.node, ..Default::default() });
    let node = world.nodes().find(|node| node.node == host.node).expect("a host is on a node");
    node.set_connections(Arc::<sql::Server>::clone(&server));
    let mut open = move || {
        let now = client.wall_clock_micros();
        let id = server.register(host.worker, "localhost", now).expect("scripts open few");
        let info = sql::ConnectionInfo {
            id,
            worker: host.worker,
            user: "root".into(),
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
            let own = name.clone();
            // On the stack that statements run on.
            let thread = std::thread::Builder::new().stack_size(STACK_SIZE);
            let thread = thread.spawn(move || run(&own, seed)).expect("a thread");
            if thread.join().is_err() {
                failed.push(format!("{name} with seed {seed}"));
            }
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}
