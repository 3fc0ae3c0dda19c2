//! Runs the nodes of a box, each as a process, from start to stop.
//!
//! ```text
//! start ── every node answers ──> supervise ── SIGTERM, SIGINT ──> stop ── every process has ended
//!   │                                │  ^
//!   │ a node ends, or time runs out  │  └── a node ends: tell the others, start it again after a pause, which grows
//!   └──> stop, and say why           └── all have ended and none is to be started again ──> stop
//! ```
//! A node that was asked to stop (`skarv mgm`) stays so until it is asked to start, and one that was asked to restart is started
//! at once.
//!
//! One thread waits for signals (SIGCHLD among them) and one for requests, and both pass them on; everything else happens on one
//! thread, in turn.
//!
//! What it does not do: judge. A node that runs and is not well is the business of the nodes; `skarv mgm` shows it.

use std::fs::OpenOptions;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::json;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

use crate::config::{Config, Role};
use crate::console::Console;
use crate::process::{self, Member, Signal};
use crate::server::{EXIT_CODE_LINK_PORT_TAKEN, EXIT_CODE_RESTART, EXIT_CODE_STOPPED};
use crate::status_file::{NOT_RESTED, State, Status};
use crate::{manage, plan, requests, up};

/// How often nodes that start are asked whether they are ready.
const READY_POLL: Duration = Duration::from_millis(20);
/// Interval at which a node that was started again is asked whether it is back.
const RETURN_POLL: Duration = Duration::from_millis(100);
/// Between two lines about a start that takes long.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);
/// Bytes below which, in all that time, nodes do not read their disks: wakeups are reads of a few bytes.
const READ_MIN: u64 = 16 << 20;
/// In the log of the control plane's leader.
const CANNOT_START: &str = "the cluster cannot start again yet: ";
/// Attempts of a start with other ports between the nodes, if another process took one in the moment between.
const START_ATTEMPTS_MAX: u32 = 5;
/// A node that ends before it serves, and is to begin again, does so while it was not started again as often, for whatever reason.
const STARTS_AGAIN_MAX: u32 = 5;
/// A node ends its sessions within 6 s; then it is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
/// Connections are closed within 6 s, and a checkpoint takes some milliseconds.
const REST_TIMEOUT: Duration = Duration::from_secs(10);
const REST_POLL: Duration = Duration::from_millis(10);
/// The pause before a node is started again doubles, and starts over when the node has run for a while. One that had served is
/// wanted back soon, whatever keeps killing it.
const RESTART_PAUSE_MIN: Duration = Duration::from_millis(500);
const RESTART_PAUSE_MAX: Duration = Duration::from_secs(60);
const RESTART_PAUSE_SERVED_MAX: Duration = Duration::from_secs(4);
const RESTART_CALM: Duration = Duration::from_secs(120);

pub struct Supervisor<'a> {
    config: Config,
    dir: PathBuf,
    restart: bool,
    begins: Begins,
    console: &'a mut Console,
    events: Receiver<Event>,
    status: Status,
    nodes: Vec<NodeProcess>,
}

/// What the supervisor reacts to.
#[derive(Debug)]
pub enum Event {
    Signal(i32),
    /// Start a node that is stopped. The answer may say why not.
    Start {
        node: u16,
        reply: Sender<Result<(), String>>,
    },
}

struct NodeProcess {
    id: u16,
    child: Option<Child>,
    started_at: Instant,
    ready: bool,
    /// The boot of the process that is a member of the cluster, as the node said it when it was ready.
    incarnation: Option<String>,
    restart_at: Option<Instant>,
    restart_pause: Duration,
}

/// Why a start did not succeed.
enum StartFailure {
    /// A port between the nodes was taken: worth another try with others.
    LinkPortTaken,
    /// The user does not want it any more.
    Stopped,
    Failed(String),
}

/// What the cluster that is started begins with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    WithItsRows,
    /// What is in the directory is of another one, and goes.
    Anew,
    /// With its rows, and with less than all if that is not to be had.
    Lossy,
}

impl<'a> Supervisor<'a> {
    /// Takes over the signals of the process. `dir` is absolute.
    pub fn new(
        config: Config,
        dir: PathBuf,
        restart: bool,
        begins: Begins,
        console: &'a mut Console,
    ) -> Result<Supervisor<'a>, String> {
        let mut watch = signal_hook::iterator::Signals::new([SIGCHLD, SIGHUP, SIGINT, SIGTERM])
            .map_err(|error| format!("cannot watch signals: {error}"))?;
        let (sender, events) = channel();
        requests::listen(&dir, sender.clone())?;
        std::thread::spawn(move || {
            // The receiver lives until the process ends.
            for signal in watch.forever() {
                if sender.send(Event::Signal(signal)).is_err() {
                    return;
                }
            }
        });
        let status = Status::new(&config, &dir);
        Ok(Supervisor { config, dir, restart, begins, console, events, status, nodes: Vec::new() })
    }

    /// Until the cluster has ended, one way or another.
    pub fn run(mut self, timeout: Duration) -> Result<(), String> {
        let started = Instant::now();
        let mut attempt = 1;
        loop {
            match self.start(timeout) {
                Ok(()) => break,
                Err(StartFailure::LinkPortTaken) if attempt < START_ATTEMPTS_MAX => {
                    attempt += 1;
                    self.stop(Duration::ZERO);
                    self.config = plan::with_new_links(&self.config, &self.dir)?;
                }
                Err(StartFailure::LinkPortTaken) => {
                    self.stop(STOP_TIMEOUT);
                    return Err("found no free ports for the links between the nodes".into());
                }
                Err(StartFailure::Stopped) => {
                    self.stop(STOP_TIMEOUT);
                    return Ok(());
                }
                Err(StartFailure::Failed(why)) => {
                    // What those that serve have told is for their disks.
                    let timeout = if self.serves() { STOP_TIMEOUT } else { Duration::from_secs(1) };
                    self.stop(timeout);
                    return Err(why);
                }
            }
        }
        self.tell_ready(started.elapsed());
        let outcome = self.supervise();
        self.stop(STOP_TIMEOUT);
        outcome
    }

    fn start(&mut self, timeout: Duration) -> Result<(), StartFailure> {
        self.config.write(&Config::path_in(&self.dir)).map_err(StartFailure::Failed)?;
        crate::keys::make(&self.config, &self.dir).map_err(StartFailure::Failed)?;
        self.status = Status::new(&self.config, &self.dir);
        self.status.supervisor_pid = Some(std::process::id());
        self.nodes.clear();
        for node in self.config.nodes.clone() {
            let child = self.spawn(node.id, self.begins).map_err(StartFailure::Failed)?;
            self.console.say(&format!(
                "node {} ({}): process {}",
                node.id,
                node.roles_text(),
                child.id()
            ));
            self.nodes.push(NodeProcess {
                id: node.id,
                child: Some(child),
                started_at: Instant::now(),
                ready: false,
                incarnation: None,
                restart_at: None,
                restart_pause: RESTART_PAUSE_MIN,
            });
            // Who finds them when this process is gone must know all of them.
            self.write_status();
        }
        self.wait_ready(timeout)
    }

    fn spawn(&self, id: u16, begins: Begins) -> Result<Child, String> {
        let path = io::NodeOptions::log_path(&self.dir, types::NodeId(id));
        let log = OpenOptions::new().create(true).append(true).open(&path);
        let log = log.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        let mut command = Command::new(up::executable());
        command.arg0("skarv").arg("server").arg("--dir").arg(&self.dir);
        command.arg("--node").arg(id.to_string()).arg("--child");
        command.args(match begins {
            Begins::Anew => Some("--initial"),
            Begins::Lossy => Some("--lossy"),
            Begins::WithItsRows => None,
        });
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).current_dir(&self.dir);
        // Ctrl-C in the terminal of `skarv up` is for the supervisor, which then stops the nodes in order. Not a session for each:
        // Linux shares the cores between sessions first, and one that is busy can keep another from running for half a second.
        command.process_group(0);
        command.spawn().map_err(|error| format!("cannot start node {id}: {error}"))
    }

    fn wait_ready(&mut self, timeout: Duration) -> Result<(), StartFailure> {
        let mut deadline = Instant::now() + timeout;
        let mut progress_next = Instant::now() + PROGRESS_INTERVAL;
        let mut read = 0;
        loop {
            for index in 0..self.nodes.len() {
                match self.serves() {
                    // What ends now ends as it may at any time.
                    true => self.look_after(index),
                    false => self.check_starting(index)?,
                }
            }
            let waiting = self.not_ready();
            if waiting.is_empty() {
                return Ok(());
            }
            let now = Instant::now();
            // Nodes that are still reading their disks get on, however many rows they have.
            let pids = self.nodes.iter().filter_map(NodeProcess::pid);
            let read_by_now: u64 = pids.map(process::bytes_read).sum();
            // Of a process that is gone nothing counts.
            read = read_by_now.min(read);
            if !self.serves() && read + READ_MIN <= read_by_now {
                (read, deadline) = (read_by_now, now + timeout);
            }
            if deadline <= now {
                let logs: Vec<String> = waiting.iter().map(|id| self.log_end(*id, 3)).collect();
                let why = format!(
                    "node {} not ready, and next to nothing was read from a disk for {} s (--timeout){}\n{}",
                    list(&waiting),
                    timeout.as_secs(),
                    self.why_not_yet().map_or(String::new(), |why| format!("\n{why}")),
                    logs.join("\n")
                );
                if !self.serves() {
                    return Err(StartFailure::Failed(why));
                }
                // The rest may be filled for long.
                self.console.warn(&why);
                return Ok(());
            }
            if progress_next <= now {
                self.console.say(&format!("waiting for node {}", list(&waiting)));
                progress_next = now + PROGRESS_INTERVAL;
            }
            match self.events.recv_timeout(READY_POLL) {
                Ok(Event::Signal(SIGCHLD)) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Event::Start { node, reply }) => self.start_on_request(node, &reply),
                Ok(Event::Signal(_)) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(StartFailure::Stopped);
                }
            }
        }
    }

    /// Does a node answer with rows? Then the cluster has them all.
    fn serves(&self) -> bool {
        let is_data = |id: u16| self.config.node(id).is_some_and(|node| node.has(Role::Data));
        self.nodes.iter().any(|node| node.ready && is_data(node.id))
    }

    fn not_ready(&self) -> Vec<u16> {
        self.nodes.iter().filter(|node| !node.ready).map(|node| node.id).collect()
    }

    fn check_starting(&mut self, index: usize) -> Result<(), StartFailure> {
        let id = self.nodes[index].id;
        if let Some((_, exit)) = self.nodes[index].reap() {
            if is_code(exit, EXIT_CODE_LINK_PORT_TAKEN) {
                return Err(StartFailure::LinkPortTaken);
            }
            if self.is_to_begin_again(index, exit) {
                if let Some(reason) = self.reason_in_log(id, exit) {
                    self.console.warn(&format!("node {id}: {reason}"));
                }
                return self.start_again(index);
            }
            return Err(StartFailure::Failed(match self.reason_in_log(id, exit) {
                Some(reason) => format!("node {id}: {reason}"),
                None => format!(
                    "node {id} ended at its start, {}\n{}",
                    ending(exit),
                    self.log_end(id, 10)
                ),
            }));
        }
        self.ask_ready(index);
        Ok(())
    }

    /// Has a node that starts ended so that it may begin again? One that has found damage does so with an empty disk, and those that loaded
    /// their rows beside it load them again.
    fn is_to_begin_again(&self, index: usize, exit: ExitStatus) -> bool {
        let codes = [io::EXIT_CODE_DAMAGED, io::EXIT_CODE_EXCLUDED];
        exit.code().is_some_and(|code| codes.contains(&code))
            && self.status.nodes[index].restarts < STARTS_AGAIN_MAX
    }

    /// A node that has ended while the cluster starts.
    fn start_again(&mut self, index: usize) -> Result<(), StartFailure> {
        let id = self.nodes[index].id;
        // What the operator has allowed is for the whole start: a node that ends meanwhile may be a voter.
        let begins = match self.begins {
            Begins::Lossy => Begins::Lossy,
            Begins::Anew | Begins::WithItsRows => Begins::WithItsRows,
        };
        let child = self.spawn(id, begins).map_err(StartFailure::Failed)?;
        self.console.say(&format!("node {id} started again: process {}", child.id()));
        self.status.nodes[index].restarts += 1;
        let node = &mut self.nodes[index];
        (node.child, node.started_at, node.incarnation) = (Some(child), Instant::now(), None);
        node.ready = false;
        self.write_status();
        Ok(())
    }

    /// Asks a node that is not ready whether it is now, and which boot it is.
    fn ask_ready(&mut self, index: usize) {
        if self.nodes[index].ready || self.nodes[index].child.is_none() {
            return;
        }
        let socket = &self.status.nodes[index].management_socket;
        let ping = json!({"command": "ping"});
        let Ok(answer) = manage::request_at_once(socket, &ping) else { return };
        if answer["pid"].as_u64() != self.nodes[index].pid().map(u64::from) {
            return;
        }
        // Known before it is ready: it may die on its way.
        self.nodes[index].incarnation = answer["incarnation"].as_str().map(str::to_owned);
        if answer["ready"] == json!(true) {
            self.nodes[index].ready = true;
            self.learn_port(index);
        }
    }

    /// A port that the system chose is known when the node is ready.
    fn learn_port(&mut self, index: usize) {
        let node = &mut self.status.nodes[index];
        if node.port.is_some() || !node.roles.contains(&Role::Sql) {
            return;
        }
        let Ok(answer) = manage::request(&node.management_socket, &json!({"command": "status"}))
        else {
            return;
        };
        let address: Option<std::net::SocketAddr> =
            answer["mysql_tcp"].as_str().and_then(|text| text.parse().ok());
        node.port = address.map(|address| address.port());
    }

    fn tell_ready(&mut self, took: Duration) {
        self.status.state = State::Ready;
        self.write_status();
        let not_ready = self.not_ready();
        let but = match &not_ready[..] {
            [] => String::new(),
            some => format!(" but node {}, which is looked after", list(some)),
        };
        self.console.say(&format!(
            "ready after {:.1} s: SQL works on every node{but}; user root, no password",
            took.as_secs_f64()
        ));
        for node in &self.status.nodes {
            if let (Some(port), Some(socket)) = (node.port, &node.socket) {
                self.console.say(&format!(
                    "  node {}: mariadb --host 127.0.0.1 --port {port} --user root    or: mariadb --socket {} --user root",
                    node.id,
                    socket.display()
                ));
            }
        }
        self.console.ready();
    }

    /// Until a signal asks for the end, or nothing is left.
    fn supervise(&mut self) -> Result<(), String> {
        loop {
            for index in 0..self.nodes.len() {
                self.look_after(index);
            }
            let returning = |node: &NodeProcess| node.child.is_some() && !node.ready;
            let poll = self.nodes.iter().any(returning).then(|| Instant::now() + RETURN_POLL);
            let next = self.nodes.iter().filter_map(|node| node.restart_at).chain(poll).min();
            if next.is_none() && self.nodes.iter().all(|node| node.child.is_none()) {
                return Err("all nodes have ended".into());
            }
            let received = match next {
                Some(next) => {
                    self.events.recv_timeout(next.saturating_duration_since(Instant::now()))
                }
                None => self.events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match received {
                Ok(Event::Signal(SIGCHLD)) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Event::Start { node, reply }) => self.start_on_request(node, &reply),
                Ok(Event::Signal(_)) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err("signals cannot be watched".into());
                }
            }
        }
    }

    /// Notices that a node has ended; starts it again when its pause is over.
    fn look_after(&mut self, index: usize) {
        let now = Instant::now();
        let id = self.nodes[index].id;
        if let Some((pid, exit)) = self.nodes[index].reap() {
            self.tell_death(index);
            self.status.nodes[index].pid = None;
            self.status.nodes[index].stopped = is_code(exit, EXIT_CODE_STOPPED);
            self.write_status();
            if is_code(exit, EXIT_CODE_STOPPED) || is_code(exit, EXIT_CODE_RESTART) {
                return self.after_departure(index, exit);
            }
            self.console.warn(&format!("node {id} (process {pid}) ended, {}", ending(exit)));
            if let Some(reason) = self.reason_in_log(id, exit) {
                self.console.warn(&format!("node {id}: {reason}"));
            }
            let has_served = std::mem::take(&mut self.nodes[index].ready);
            if has_served {
                let advice = self.advice(id);
                self.console.warn(&advice);
            }
            if self.restart || !has_served && self.is_to_begin_again(index, exit) {
                let pause = self.nodes[index].pause(now, has_served);
                self.nodes[index].restart_at = Some(now + pause);
            }
        }
        self.watch_return(index);
        if self.nodes[index].restart_at.is_none_or(|at| now < at) {
            return;
        }
        match self.spawn(id, Begins::WithItsRows) {
            Ok(child) => {
                self.console.say(&format!("node {id} started again: process {}", child.id()));
                self.status.nodes[index].restarts += 1;
                self.status.nodes[index].stopped = false;
                let node = &mut self.nodes[index];
                node.child = Some(child);
                node.started_at = now;
                node.restart_at = None;
                self.write_status();
            }
            Err(error) => {
                self.console.warn(&error);
                let pause = self.nodes[index].pause(now, false);
                self.nodes[index].restart_at = Some(now + pause);
            }
        }
    }

    /// The node has handed over, and ended because it was to.
    fn after_departure(&mut self, index: usize, exit: ExitStatus) {
        let node = &mut self.nodes[index];
        node.ready = false;
        node.restart_pause = RESTART_PAUSE_MIN;
        if is_code(exit, EXIT_CODE_RESTART) {
            node.restart_at = Some(Instant::now());
        }
        let (id, how) = (node.id, ending(exit));
        self.console.say(&format!("node {id} ended, {how}"));
    }

    /// Starts a node that an operator has stopped, or that has ended and is not started again by itself.
    fn start_on_request(&mut self, id: u16, reply: &Sender<Result<(), String>>) {
        let found = self.nodes.iter_mut().find(|node| node.id == id);
        let answer = match found {
            None => Err(format!("there is no node {id} in {}", self.dir.display())),
            Some(node) if node.child.is_some() => Err(format!("node {id} runs")),
            Some(node) => {
                node.restart_at = Some(Instant::now());
                Ok(())
            }
        };
        // Whoever asked may have gone.
        let _ = reply.send(answer);
    }

    /// Says when a node that was started again is back.
    fn watch_return(&mut self, index: usize) {
        let node = &self.nodes[index];
        if node.ready || node.child.is_none() {
            return;
        }
        self.ask_ready(index);
        let node = &self.nodes[index];
        if node.ready {
            let (id, took) = (node.id, node.started_at.elapsed().as_secs_f64());
            let what = match self.config.node(id).is_some_and(|node| node.has(Role::Data)) {
                true => "it has all rows again, and serves",
                false => "it serves",
            };
            if self.status.state == State::Ready {
                self.console.say(&format!("node {id} is back after {took:.1} s: {what}"));
            }
            self.write_status();
        }
    }

    /// Reports to the other nodes that this one's process is over: they need not wait for its
    /// silence, nor for a lease by which it might still act. A thread of its own sends each report,
    /// as one of the nodes may not answer.
    fn tell_death(&mut self, index: usize) {
        let Some(incarnation) = self.nodes[index].incarnation.take() else { return };
        let dead = self.nodes[index].id;
        let message = json!({"command": "node_died", "node": dead, "incarnation": incarnation});
        let living = self.nodes.iter().filter(|node| node.child.is_some()).map(|node| node.id);
        let living: Vec<u16> = living.collect();
        let told = self.status.nodes.iter().filter(|node| living.contains(&node.id));
        for socket in told.map(|node| node.management_socket.clone()) {
            let message = message.clone();
            // Whoever is not told hears of it from the others.
            std::thread::spawn(move || manage::request(&socket, &message));
        }
    }

    /// What the death of a node means in this release, and what to do.
    fn advice(&self, id: u16) -> String {
        let Some(node) = self.config.node(id) else { return String::new() };
        let dir = self.dir.display();
        let again = match self.restart {
            true => "it is started again".to_string(),
            false => format!("`skarv server --dir {dir} --node {id}` starts it again"),
        };
        if !node.has(Role::Data) {
            return format!(
                "node {id} held no rows: the cluster goes on as long as most voters run; {again}"
            );
        }
        let runs = |id: u16| self.nodes.iter().any(|node| node.id == id && node.child.is_some());
        let mates = self.config.data_nodes().filter(|other| {
            other.id != id
                && self.config.group_of(other.id) == self.config.group_of(id)
                && runs(other.id)
        });
        let mates: Vec<String> = mates.map(|mate| mate.id.to_string()).collect();
        if mates.is_empty() {
            return format!(
                "node {id} had the last copy of its rows in memory: nobody gets them, and soon nobody writes, until it is back; then the \
                 cluster starts again with what the disks hold; {again}"
            );
        }
        let (heirs, left) = match &mates[..] {
            [mate] => (format!("node {mate} takes"), "one copy"),
            mates => (format!("nodes {} take", mates.join(", ")), "one copy less"),
        };
        format!(
            "{heirs} over its rows, with every change that was acknowledged; {again}, and is filled while the others go on; until \
             then there is {left}"
        )
    }

    /// Has the nodes close their connections, and waits until the disks hold every commit: a
    /// planned stop of the cluster loses nothing. A second signal, or a node that does not get
    /// there, ends the wait.
    fn rest(&mut self, members: &[Member]) {
        let deadline = Instant::now() + REST_TIMEOUT;
        let with_sockets = members.iter().map(|member| (member, self.socket_of(member)));
        // A voter, a node that does not serve yet, and one that has ended have nothing to wait for.
        let mut left: Vec<(&Member, PathBuf)> =
            with_sockets.filter(|(_, socket)| manage::serves_rows(socket)).collect();
        while !left.is_empty() {
            left.retain(|(member, socket)| {
                !manage::has_rested(socket) && !member.process.has_ended()
            });
            if left.is_empty() || deadline <= Instant::now() {
                break;
            }
            let asked = self.events.recv_timeout(REST_POLL);
            if matches!(asked, Ok(Event::Signal(SIGINT | SIGTERM))) {
                break;
            }
        }
        if !left.is_empty() {
            self.console.warn(NOT_RESTED);
            self.status.has_not_rested = true;
        }
    }

    /// Ends every node of the directory, whichever process started it: signals it, waits, and
    /// kills it if it has not ended by then or when a second signal comes.
    fn stop(&mut self, timeout: Duration) {
        self.status.state = State::Stopping;
        self.write_status();
        let members = process::members_of(&self.dir);
        let own = std::process::id();
        for Member { node, pid, .. } in members.iter().filter(|member| member.parent != own) {
            self.console.say(&format!(
                "node {node} (process {pid}) was started by hand: it is stopped, too"
            ));
        }
        let running = members.len();
        if running != 0 && timeout == STOP_TIMEOUT {
            self.console
                .say(&format!("stopping {running} node{}", if running == 1 { "" } else { "s" }));
        }
        if timeout == STOP_TIMEOUT {
            self.rest(&members);
        }
        let with_sockets = members.iter().map(|member| (member, self.socket_of(member)));
        let mut asked = process::end_nodes(with_sockets);
        // A process that has just begun may have no arguments yet.
        let children = self.nodes.iter().filter_map(NodeProcess::pid);
        for pid in children.filter(|pid| members.iter().all(|member| member.pid != *pid)) {
            asked = asked.and(process::signal(pid, Signal::TERM));
        }
        if let Err(error) = asked {
            self.console.warn(&error);
        }
        let deadline = Instant::now() + timeout;
        let mut killed = false;
        loop {
            for index in 0..self.nodes.len() {
                if self.nodes[index].reap().is_some() {
                    self.status.nodes[index].pid = None;
                    self.write_status();
                }
            }
            let have_ended = members.iter().all(|member| member.process.has_ended());
            if have_ended && self.nodes.iter().all(|node| node.child.is_none()) {
                break;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            // Even a killed process takes a moment to end.
            let wait = if killed {
                Duration::from_millis(50)
            } else {
                left.min(Duration::from_millis(200))
            };
            let impatient =
                matches!(self.events.recv_timeout(wait), Ok(Event::Signal(SIGINT | SIGTERM)));
            if !killed && (impatient || left.is_zero()) {
                killed = true;
                self.kill_rest(&members, timeout);
            }
        }
        self.status.state = State::Stopped;
        self.status.supervisor_pid = None;
        self.write_status();
        if timeout == STOP_TIMEOUT {
            self.console.say("the cluster is stopped");
        }
    }

    fn kill_rest(&mut self, members: &[Member], timeout: Duration) {
        for member in members.iter().filter(|member| !member.process.has_ended()) {
            if timeout == STOP_TIMEOUT {
                self.console.warn(&format!("node {} does not end: killed", member.node));
            }
            if let Err(error) = member.process.signal(Signal::KILL) {
                self.console.warn(&error);
            }
        }
        for child in self.nodes.iter_mut().filter_map(|node| node.child.as_mut()) {
            // A process that has just begun. It may have ended by itself; it is reaped either way.
            let _ = child.kill();
        }
    }

    fn socket_of(&self, member: &Member) -> PathBuf {
        io::NodeOptions::default_management_unix(&self.dir, types::NodeId(member.node))
    }

    /// A file that cannot be written is reported, and the cluster continues.
    fn write_status(&mut self) {
        for (node, process) in self.status.nodes.iter_mut().zip(&self.nodes) {
            node.pid = process.pid();
        }
        if let Err(error) = self.status.write() {
            self.console.warn(&error);
        }
    }

    /// The error a node's process left in its log, if that is how it ended.
    fn reason_in_log(&self, id: u16, exit: ExitStatus) -> Option<String> {
        let told = [
            1,
            i32::from(EXIT_CODE_LINK_PORT_TAKEN),
            io::EXIT_CODE_DAMAGED,
            io::EXIT_CODE_DISK,
            io::EXIT_CODE_MEMORY,
        ];
        exit.code().filter(|code| told.contains(code))?;
        let end = self.log_end(id, 5);
        let line = end.lines().rev().find_map(|line| line.trim().strip_prefix("skarv: error: "))?;
        Some(line.to_owned())
    }

    /// What has been said last of why the cluster cannot start again. Whoever leads the control plane says it: any voter.
    fn why_not_yet(&self) -> Option<String> {
        let said_by = |node: &NodeProcess| {
            let (_, text) = self.log_tail(node.id);
            let since = text.rfind(" starts: process ").unwrap_or(0);
            let line = text[since..].lines().rev().find(|line| line.contains(CANNOT_START))?;
            Some(line.to_owned())
        };
        // A line begins with when it was said.
        let line = self.nodes.iter().filter_map(said_by).max()?;
        line.find(CANNOT_START).map(|at| line[at..].to_owned())
    }

    /// A node's log, and how that ends.
    fn log_tail(&self, id: u16) -> (PathBuf, String) {
        let path = io::NodeOptions::log_path(&self.dir, types::NodeId(id));
        let text = std::fs::read(&path).unwrap_or_default();
        let tail = &text[text.len().saturating_sub(16 << 10)..];
        (path, String::from_utf8_lossy(tail).into_owned())
    }

    /// The last lines of a node's log, indented.
    fn log_end(&self, id: u16, count: usize) -> String {
        let (path, text) = self.log_tail(id);
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(count)..];
        let mut shown = format!("the end of {}:", path.display());
        for line in last {
            shown.push_str("\n    ");
            shown.push_str(line);
        }
        shown
    }
}

impl NodeProcess {
    fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// The end of the process, once.
    fn reap(&mut self) -> Option<(u32, ExitStatus)> {
        let child = self.child.as_mut()?;
        let pid = child.id();
        let exit = child.try_wait().ok()??;
        self.child = None;
        Some((pid, exit))
    }

    /// How long to wait before it is started again.
    fn pause(&mut self, now: Instant, has_served: bool) -> Duration {
        if RESTART_CALM <= now.saturating_duration_since(self.started_at) {
            self.restart_pause = RESTART_PAUSE_MIN;
        }
        let most = if has_served { RESTART_PAUSE_SERVED_MAX } else { RESTART_PAUSE_MAX };
        let pause = self.restart_pause.min(most);
        self.restart_pause = (pause * 2).min(RESTART_PAUSE_MAX);
        pause
    }
}

fn is_code(exit: ExitStatus, code: u8) -> bool {
    exit.code() == Some(i32::from(code))
}

fn list(nodes: &[u16]) -> String {
    nodes.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")
}

/// "exit code 70, after a panic" or "killed by signal 9".
fn ending(exit: ExitStatus) -> String {
    match (exit.code(), exit.signal()) {
        (Some(0), _) => "because somebody asked it to".into(),
        (Some(code), _) if code == i32::from(EXIT_CODE_STOPPED) => {
            "because it was stopped: START starts it again, its log says why it was".into()
        }
        (Some(code), _) if code == i32::from(EXIT_CODE_RESTART) => "to be started again".into(),
        (Some(code), _) if code == io::EXIT_CODE_EXCLUDED => {
            format!("exit code {code}: the cluster has excluded it")
        }
        (Some(code), _) if code == io::EXIT_CODE_DAMAGED => {
            format!("exit code {code}: its rows on disk are damaged")
        }
        (Some(code), _) if code == io::EXIT_CODE_DISK => {
            format!("exit code {code}: its disk fails, see its log")
        }
        (Some(code), _) if code == io::EXIT_CODE_MEMORY => {
            format!("exit code {code}: it has too little memory")
        }
        (Some(code), _) if code == io::EXIT_CODE_PANIC => {
            format!("exit code {code}: a bug, see its log")
        }
        (Some(code), _) => format!("exit code {code}, see its log"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "for an unknown reason".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_grows_and_starts_over() {
        let now = Instant::now();
        let mut node = NodeProcess {
            id: 2,
            child: None,
            started_at: now,
            ready: true,
            incarnation: None,
            restart_at: None,
            restart_pause: RESTART_PAUSE_MIN,
        };
        let pauses: Vec<u128> = (0..9).map(|_| node.pause(now, false).as_millis()).collect();
        assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(node.pause(now, true), RESTART_PAUSE_SERVED_MAX);
        assert_eq!(node.pause(now + RESTART_CALM, true), RESTART_PAUSE_MIN);
        let pauses: Vec<u128> = (0..5).map(|_| node.pause(now, true).as_millis()).collect();
        assert_eq!(pauses, [1000, 2000, 4000, 4000, 4000]);
    }

    #[test]
    fn endings_are_told() {
        assert_eq!(ending(ExitStatus::from_raw(9)), "killed by signal 9");
        assert_eq!(ending(ExitStatus::from_raw(0)), "because somebody asked it to");
        assert!(ending(ExitStatus::from_raw(70 << 8)).contains("a bug"));
        assert_eq!(ending(ExitStatus::from_raw(1 << 8)), "exit code 1, see its log");
    }
}
