//! What `skarv up` is going to start: the flags, or the configuration of a cluster that was there before.
//!
//! A box of N data nodes is node 1, a voter without data, and nodes 2 to N + 1. Voters are the first nodes, an odd number
//! of them: 1, 3, or 5. One would do in a box, but the box is meant to behave like the real thing.
//!
//! On the directory of a stopped cluster its `config.json` counts, and flags may change what has no consequence for
//! where rows are kept: ports, workers and memory. The number of data nodes and replicas is fixed when it is made.

use std::collections::BTreeSet;
use std::path::Path;

use crate::cli::UpOptions;
use crate::config::{self, Config, Node, Role};
use crate::size::{Size, human};
use crate::{machine, memory, ports};

pub const PORT_DEFAULT: u16 = 3306;
const DATA_NODES_DEFAULT: u16 = 2;
const REPLICAS_DEFAULT: u16 = 2;

/// Everything a box is made from.
#[derive(Clone, Debug)]
pub struct Shape {
    pub cluster_id: u64,
    /// MySQL port of node 2; 0 when the system chooses.
    pub port: u16,
    pub data_nodes: u16,
    pub replicas: u16,
    pub workers: u16,
    pub memory: Size,
    /// One for each node, voter included.
    pub link_ports: Vec<u16>,
}

/// What is to be started.
#[derive(Debug)]
pub struct Plan {
    pub config: Config,
    /// There was a cluster in this directory before, and it starts again with its rows.
    pub restarted: bool,
    pub notes: Vec<String>,
}

/// Makes the plan, or says why not. A new cluster has an identity of its own: no node of an earlier one can join by mistake.
pub fn make(options: &UpOptions, dir: &Path) -> Result<Plan, String> {
    let path = Config::path_in(dir);
    let old = if path.exists() { Some(Config::read(&path)?) } else { None };
    if old.is_none() && !options.initial {
        refuse_rows_of_others(dir)?;
    }
    let shape = shape(options, old.as_ref(), dir)?;
    let mut notes = Vec::new();
    let (shape, moved) = with_free_links(shape)?;
    if moved && old.is_some() {
        notes.push(
            "the ports between the nodes were taken by others meanwhile: new ones were chosen"
                .into(),
        );
    }
    check_memory(&shape)?;
    let mut config = config_of(&shape);
    if let Some(old) = &old {
        let own_id = config.cluster_id.clone();
        keep_choices(&mut config, old);
        if options.initial {
            // What is in the directory is of another cluster.
            config.cluster_id = own_id;
        }
    }
    config.heartbeat_ms = options.heartbeat_ms.or(config.heartbeat_ms);
    if let Some(level) = options.durability {
        config.durability = Some(level.name().into());
    }
    if let Some(archive) = &options.archive {
        config.archive = Some(std::path::absolute(archive).map_err(|error| error.to_string())?);
    }
    if let Some(dir) = &options.secure_file_priv {
        let dir = std::path::absolute(dir).map_err(|error| error.to_string())?;
        config.secure_file_priv = Some(dir);
    }
    config.check()?;
    for node in &config.nodes {
        let id = types::NodeId(node.id);
        config::check_socket_path(&io::NodeOptions::default_management_unix(dir, id))?;
        config::check_socket_path(&io::NodeOptions::default_link_socket(dir, id))?;
    }
    Ok(Plan { config, restarted: old.is_some() && !options.initial, notes })
}

/// Nodes that were started by hand, or whose `config.json` is gone, have their rows here: they are not to go for want of a word.
fn refuse_rows_of_others(dir: &Path) -> Result<(), String> {
    let shown = dir.display();
    let entries =
        std::fs::read_dir(dir).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    // A device of its own may have been mounted for them, and be empty.
    let has_rows = |name: &String| {
        let inside = std::fs::read_dir(dir.join(name)).into_iter().flatten().flatten();
        name.ends_with(".rows")
            && inside.into_iter().any(|file| !io::is_of_file_system(&file.file_name()))
    };
    let is_of_node =
        |name: &String| name.starts_with("node") && (name.ends_with(".control") || has_rows(name));
    let mut found: Vec<String> = names.filter(is_of_node).collect();
    found.sort();
    match found.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{shown} has no config.json, and rows or control files of nodes: {}. Put config.json back to start with them, start \
             the nodes as before (`skarv server`), or give another --dir; `--initial` removes them and begins anew",
            found.join(", ")
        )),
    }
}

fn shape(options: &UpOptions, old: Option<&Config>, dir: &Path) -> Result<Shape, String> {
    let before = old.map(|config| shape_of(config, dir)).transpose()?;
    let before = before.as_ref();
    let data_nodes = before.map(|shape| shape.data_nodes);
    let data_nodes = unchanged("--data-nodes", options.data_nodes, data_nodes, dir)?;
    let data_nodes = data_nodes.unwrap_or(DATA_NODES_DEFAULT);
    let replicas = before.map(|shape| shape.replicas);
    let replicas = unchanged("--replicas", options.replicas, replicas, dir)?;
    let replicas = replicas.unwrap_or(REPLICAS_DEFAULT.min(data_nodes));
    if !data_nodes.is_multiple_of(replicas) {
        return Err(format!(
            "{data_nodes} data nodes cannot be split into node groups of {replicas} replicas: make --data-nodes a \
             multiple of --replicas"
        ));
    }
    let port = options.port.or(before.map(|shape| shape.port)).unwrap_or(PORT_DEFAULT);
    if port != 0 && u32::from(port) + u32::from(data_nodes) - 1 > u32::from(u16::MAX) {
        return Err(format!(
            "--port {port}: there are no {data_nodes} ports from there up to 65535"
        ));
    }
    let cores = u16::try_from(machine::cores()).unwrap_or(u16::MAX);
    let workers_default = (cores / data_nodes).clamp(1, 256);
    let workers = before.map(|shape| shape.workers);
    let workers = unchanged("--workers", options.workers, workers, dir)?.unwrap_or(workers_default);
    let memory = options.memory.or(before.map(|shape| shape.memory));
    let memory = memory.unwrap_or_else(|| memory::default_of_box(data_nodes));
    config::check_memory(memory).map_err(|error| format!("--memory: {error}"))?;
    Ok(Shape {
        cluster_id: getrandom::u64()
            .map_err(|error| format!("the system gives no random numbers: {error}"))?,
        port,
        data_nodes,
        replicas,
        workers,
        memory,
        link_ports: before.map(|shape| shape.link_ports.clone()).unwrap_or_default(),
    })
}

/// A flag that may repeat what a directory's cluster was made with, not change it.
fn unchanged(
    flag: &str,
    given: Option<u16>,
    before: Option<u16>,
    dir: &Path,
) -> Result<Option<u16>, String> {
    match (given, before) {
        (Some(given), Some(before)) if given != before => Err(format!(
            "{flag} {given}: the cluster in {} was made with {before}; give another --dir, or remove that directory",
            dir.display()
        )),
        (given, before) => Ok(given.or(before)),
    }
}

/// The shape behind a configuration that `up` wrote.
fn shape_of(config: &Config, dir: &Path) -> Result<Shape, String> {
    let foreign = || {
        format!(
            "{} is not a configuration that `skarv up` made: run its nodes with `skarv server --config FILE --node N`",
            Config::path_in(dir).display()
        )
    };
    let first = config.data_nodes().next().ok_or_else(foreign)?;
    let port = |node: &Node| Ok::<u16, String>(node.mysql_address()?.ok_or_else(foreign)?.port());
    let link_ports: Result<Vec<u16>, String> =
        config.nodes.iter().map(|node| Ok(node.link_address()?.port())).collect();
    let shape = Shape {
        cluster_id: 0,
        port: port(first)?,
        data_nodes: u16::try_from(config.data_nodes().count()).map_err(|_| foreign())?,
        replicas: config.replicas,
        workers: first.workers,
        memory: config.memory_given().ok_or_else(foreign)?,
        link_ports: link_ports?,
    };
    let mut same = config_of(&shape);
    keep_choices(&mut same, config);
    if same == *config { Ok(shape) } else { Err(foreign()) }
}

/// Gives it ports for the links between its nodes where it has none, or where one is taken by now. Says whether it did.
pub fn with_free_links(mut shape: Shape) -> Result<(Shape, bool), String> {
    let count = usize::from(shape.data_nodes) + 1;
    let usable = shape.link_ports.len() == count
        && shape.link_ports.iter().all(|port| ports::is_free(*port));
    if !usable {
        shape.link_ports = ports::free(count)?;
    }
    Ok((shape, !usable))
}

/// The same cluster with other ports between its nodes.
pub fn with_new_links(config: &Config, dir: &Path) -> Result<Config, String> {
    let mut shape = shape_of(config, dir)?;
    shape.link_ports = ports::free(shape.link_ports.len())?;
    let mut changed = config_of(&shape);
    keep_choices(&mut changed, config);
    Ok(changed)
}

/// What is no part of a box's shape stays as it was chosen.
fn keep_choices(config: &mut Config, from: &Config) {
    config.cluster_id.clone_from(&from.cluster_id);
    config.heartbeat_ms = from.heartbeat_ms.or(config.heartbeat_ms);
    config.durability.clone_from(&from.durability);
    config.archive.clone_from(&from.archive);
    config.secure_file_priv.clone_from(&from.secure_file_priv);
}

fn check_memory(shape: &Shape) -> Result<(), String> {
    let wanted = shape.memory.0.saturating_mul(u64::from(shape.data_nodes));
    match machine::memory_available() {
        Some(available) if available < wanted => Err(format!(
            "not enough memory: {} data nodes of {} want {}, and {} is free on this machine; give a smaller --memory",
            shape.data_nodes,
            shape.memory,
            human(wanted),
            human(available)
        )),
        _ => Ok(()),
    }
}

/// The number of voters among `nodes` nodes: the largest odd number up to five.
fn voter_count(nodes: u16) -> u16 {
    match nodes {
        0..=2 => 1,
        3..=4 => 3,
        _ => 5,
    }
}

/// The nodes of a box share its cores with each other and with their clients. Where those are many, and in another session, Linux has
/// kept a node from running for up to 0.65 s (64 clients on two cores, kernel 6.18 with autogroups): that must not look like its end.
const BOX_HEARTBEAT_MS: u32 = 250;

/// The configuration of a box.
pub fn config_of(shape: &Shape) -> Config {
    let voters = voter_count(shape.data_nodes + 1);
    let node = |(index, link_port): (usize, &u16)| {
        let id = u16::try_from(index + 1).expect("at most 65 nodes");
        let mut roles = BTreeSet::new();
        if id <= voters {
            roles.insert(Role::Voter);
        }
        let data = 2 <= id;
        if data {
            roles.extend([Role::Data, Role::Sql]);
        }
        let port = if shape.port == 0 { 0 } else { shape.port + id.saturating_sub(2) };
        Node {
            id,
            roles,
            workers: if data { shape.workers } else { 1 },
            address: format!("127.0.0.1:{link_port}"),
            mysql: data.then(|| format!("127.0.0.1:{port}")),
            socket: data.then(|| format!("node{id}.sock").into()),
        }
    };
    Config {
        cluster_id: format!("{:016x}", shape.cluster_id),
        replicas: shape.replicas,
        shards_per_group: Some(shape.replicas * shape.workers),
        heartbeat_ms: Some(BOX_HEARTBEAT_MS),
        durability: None,
        archive: None,
        secure_file_priv: None,
        memory: Some(shape.memory.to_string()),
        nodes: shape.link_ports.iter().enumerate().map(node).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn options(arguments: &str) -> UpOptions {
        let words = ["skarv", "up"].into_iter().chain(arguments.split_whitespace());
        let crate::cli::Command::Up(options) = crate::cli::Cli::parse_from(words).command else {
            panic!("it is up");
        };
        options
    }

    /// A directory with rows and no configuration is not taken for an empty one.
    #[test]
    fn rows_without_a_configuration_are_left() {
        let dir = tempfile::tempdir().expect("a directory");
        assert!(make(&options("--data-nodes 1 --port 0"), dir.path()).is_ok());
        let rows = dir.path().join("node2.rows");
        std::fs::create_dir_all(rows.join("lost+found")).expect("it is ours");
        assert!(make(&options("--data-nodes 1 --port 0"), dir.path()).is_ok(), "a device");
        std::fs::create_dir(rows.join("part-0")).expect("it is ours");
        let refused =
            make(&options("--data-nodes 1 --port 0"), dir.path()).expect_err("rows are there");
        assert!(refused.contains("node2.rows") && refused.contains("--initial"), "{refused}");
        assert!(make(&options("--data-nodes 1 --port 0 --initial"), dir.path()).is_ok());
    }

    /// Data nodes, replicas and workers asked for, and the configuration that comes of it.
    #[test]
    fn flags_make_a_configuration() {
        let dir = tempfile::tempdir().expect("a directory");
        for (arguments, voters, replicas, shards, ports) in [
            ("--workers 1", 3, 2, 2, vec![3306, 3307]),
            ("--data-nodes 1 --workers 3", 1, 1, 3, vec![3306]),
            (
                "--data-nodes 3 --replicas 3 --workers 2 --port 4000",
                3,
                3,
                6,
                vec![4000, 4001, 4002],
            ),
            ("--data-nodes 4 --workers 1 --port 0", 5, 2, 2, vec![0, 0, 0, 0]),
        ] {
            let plan = make(&options(arguments), dir.path()).expect(arguments);
            assert!(!plan.restarted);
            let cluster = plan.config.cluster().expect(arguments);
            assert_eq!(cluster.voters().len(), voters, "{arguments}");
            assert_eq!(cluster.replicas, replicas, "{arguments}");
            assert_eq!(cluster.shards_per_group, shards, "{arguments}");
            let found: Vec<u16> = plan
                .config
                .data_nodes()
                .map(|node| node.mysql_address().expect("an address").expect("SQL").port())
                .collect();
            assert_eq!(found, ports, "{arguments}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        for (arguments, message) in [
            ("--data-nodes 3", "multiple of --replicas"),
            ("--data-nodes 2 --replicas 4", "multiple of --replicas"),
            ("--memory 1M", "at least 16M"),
            ("--memory 900T", "not enough memory"),
            ("--port 65535", "65535"),
        ] {
            let error = make(&options(arguments), dir.path()).expect_err(arguments);
            assert!(error.contains(message), "{arguments}: {error}");
        }
    }

    /// A directory's cluster keeps its shape and its link ports; flags change the rest.
    #[test]
    fn a_directory_keeps_its_cluster() {
        let _held_off = ports::hold_off_starts();
        let dir = tempfile::tempdir().expect("a directory");
        let first =
            make(&options("--data-nodes 4 --port 5000 --workers 1"), dir.path()).expect("made");
        first.config.write(&Config::path_in(dir.path())).expect("written");
        let mut edited = first.config.clone();
        edited.heartbeat_ms = Some(40);
        edited.write(&Config::path_in(dir.path())).expect("written");
        let again = make(&options("--memory 64M"), dir.path()).expect("made");
        assert_eq!((first.config.heartbeat_ms, again.config.heartbeat_ms), (Some(250), Some(40)));
        let slower = make(&options("--heartbeat-ms 500"), dir.path()).expect("made");
        assert_eq!(slower.config.heartbeat_ms, Some(500));
        assert!(make(&options("--heartbeat-ms 1"), dir.path()).is_err(), "less than is possible");
        assert!(again.restarted);
        assert!(again.notes.is_empty(), "{:?}", again.notes);
        assert_eq!(again.config.cluster_id, first.config.cluster_id, "its rows are of that one");
        let anew = make(&options("--initial"), dir.path()).expect("made");
        assert!(!anew.restarted && anew.config.cluster_id != first.config.cluster_id);
        let error = make(&options("--workers 3"), dir.path()).expect_err("other parts");
        assert!(error.contains("was made with 1"), "{error}");
        assert_eq!(again.config.nodes, first.config.nodes);
        assert_eq!(again.config.memory_given(), Some(Size(64 << 20)));
        again.config.write(&Config::path_in(dir.path())).expect("written");
        let same = make(&options(""), dir.path()).expect("made");
        assert_eq!(same.config.memory_given(), Some(Size(64 << 20)), "whatever the machine has");
        let error = make(&options("--data-nodes 2"), dir.path()).expect_err("another shape");
        assert!(error.contains("was made with 4"), "{error}");

        // A link port that another process took is replaced, and the output has that.
        let taken = first.config.nodes[0].link_address().expect("an address").port();
        // Or it cannot be bound: this test did not keep it, and another process took it.
        let held = ports::bind(taken);
        let moved = make(&options(""), dir.path()).expect("made");
        assert!(moved.notes.iter().any(|note| note.contains("the ports between the nodes")));
        assert_ne!(moved.config.nodes[0].address, first.config.nodes[0].address);
        drop(held);

        // A configuration that people wrote is not `up`'s.
        let mut foreign = first.config;
        foreign.nodes[3].workers = 7;
        foreign.write(&Config::path_in(dir.path())).expect("written");
        let error = make(&options(""), dir.path()).expect_err("not ours");
        assert!(error.contains("skarv server --config"), "{error}");
    }
}
