//! The loop of a worker.
//!
//! One turn:
//!
//! ```text
//!   wait      sleep, spin or just look, until a socket, an inbox or a deadline has something
//!   inbox     messages of the node's other workers, sockets handed over
//!   sockets   what is readable is read: bytes to connections, frames to the kernel
//!   time      the kernel's tick, links, deadlines of clients
//!   settle    tasks run, their requests go to the kernel, its replies to the tasks, until nothing moves
//!   flush     one write a link, then one lock a neighbour's inbox, then one write a client
//! ```
//! What a turn sends, it sends at the end and together: 32 clients that were readable cost one frame chunk for each peer
//! and step, and one system call for all of them. Links go first, because somebody is waiting on the other side.
//!
//! Inbox, links and tasks are bounded in time, so that neither a long statement whose rows are all here, nor a crowd of statements or of
//! messages, keeps heartbeats and the others from their turn. What is left comes first in the next one. Between two looks at the clock
//! lies one input of the kernel, or one poll of a task, which bound themselves by rows and bytes: sorting is the longest of them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use client::Client;
use client::task::Executor;
use kernel::limits::SILENCE_HEARTBEATS;
use kernel::{ChannelConfig, Input, Kernel, KernelConfig, Outbox, ProcessEnd, Time};
use mio::event::Event;
use mio::{Events, Poll, Token};
use types::{Address, NodeId, WorkerId};

use crate::computers::Computers;
use crate::door::{Arrival, BoundSockets, Door};
use crate::front::Front;
use crate::hello::{self, Hello};
use crate::inbox::Item;
use crate::limits::{
    DEPARTURE_LINGER, DEPARTURE_TIME_MAX, EVENTS_MAX, LONELY_AFTER, READ_SIZE, RESEND_AFTER,
    SETTLE_TIME_MAX, SHUTDOWN_GRACE, SHUTDOWN_ROLLBACK, TURN_INPUT_MAX, TURN_INPUT_MIN,
    TURN_TASKS_MAX,
};
use crate::link::{self, Link, LinkAddress, Patience};
use crate::management::Management;
use crate::options::NodeOptions;
use crate::panic::{self, EXIT_CODE_EXCLUDED, EXIT_CODE_MEMORY};
use crate::server::{Departure, Shared};
use crate::server_files::WorkerServerFiles;
use crate::spin::{SPIN_TIME, SpinEnd, SpinPolicy};
use crate::stream::Stream;
use crate::temp_files::WorkerTempFiles;
use crate::{clock, random, server};

/// A token says what is ready in its high bits and which one in its low bits.
const KIND_SHIFT: u32 = 32;
const INDEX_MASK: usize = (1 << KIND_SHIFT) - 1;
pub const WAKER: Token = Token(0);
const LISTENER: usize = 1;
const STRANGER: usize = 2;
const LINK: usize = 3;
const CLIENT: usize = 4;
const MANAGEMENT: usize = 5;

const fn token(kind: usize, index: usize) -> Token {
    Token((kind << KIND_SHIFT) | index)
}

pub struct Worker {
    id: WorkerId,
    shared: Arc<Shared>,
    poll: Poll,
    kernel: Kernel,
    client: Client,
    executor: Executor,
    /// Frames, messages and log lines gather here over a turn; replies are taken out while it settles.
    outbox: Outbox,
    /// In order of their peers.
    links: Vec<Link>,
    front: Front,
    /// Worker 0 only.
    door: Option<Door>,
    management: Option<Management>,
    spin: SpinPolicy,
    phase: Phase,
    /// The kernel was told that the node's clients are gone.
    has_asked_rest: bool,
    /// Counted among the ready ones.
    is_ready: bool,
    /// From when it is strange that no other node is connected; never, once one was or it was said.
    lonely_from: Time,
    /// The last turn left something undone: no waiting.
    is_unfinished: bool,
    /// The last turn took as long as a heartbeat should not wait.
    was_long: bool,
    /// It ended behind the tasks for that; what they ask for comes next.
    tasks_were_long: bool,
    /// Items of the inbox wait for the next turn.
    has_items: bool,
    /// So long messages and frames are handled in the next turn.
    input_time: Time,
    /// The link that is read first.
    next_link: usize,
    /// The worker that gets the next client.
    next_client: usize,
    /// The MySQL side was closed, because the node was to stop.
    is_closed: bool,
    /// A failed attempt to listen for clients is repeated then.
    listen_after: Time,
    /// When the turn began.
    now: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// Connections end by themselves until then.
    Draining(Time),
    /// Statements are cancelled; rolled back until then.
    Cutting(Time),
    /// No connections; the others are waited for.
    Drained,
    /// Worker 0, when all are drained: the node hands over, until then.
    Departing(Time),
    /// Worker 0: it has. What it has said last may still be on its way.
    Departed(Time),
}

/// What lives as long as the loop, apart from the worker because both are used at a time.
struct Buffers {
    events: Events,
    read: Vec<u8>,
    taken: Vec<Item>,
    /// Of the inbox, those whose turn it was not yet.
    items: VecDeque<Item>,
    arrivals: Vec<Arrival>,
}

impl Worker {
    /// Runs on the worker's own thread: most of this never leaves it.
    pub fn new(
        id: WorkerId,
        shared: Arc<Shared>,
        poll: Poll,
        sockets: Option<BoundSockets>,
    ) -> Worker {
        let now = clock::now();
        let node = Arc::clone(&shared.node);
        let config = KernelConfig {
            worker: id,
            seed: random::nonzero_u64(),
            channel: ChannelConfig::new(RESEND_AFTER),
        };
        let kernel = Kernel::new(config, Arc::clone(&node), now);
        let state = Arc::clone(kernel.state());
        let client = Client::new(shared.options.node, state, node, random::nonzero_u64());
        client.set_clock(clock::unix_micros(), now);
        let computers = Computers { shared: Arc::clone(&shared), worker: usize::from(id.0) };
        client.set_computers(Arc::new(computers));
        let temp_files = WorkerTempFiles { shared: Arc::clone(&shared), worker: usize::from(id.0) };
        client.set_temp_files(Arc::new(temp_files));
        let files = WorkerServerFiles { shared: Arc::clone(&shared), worker: usize::from(id.0) };
        client.set_server_files(Arc::new(files));
        let front = Front::new(
            id,
            Arc::clone(&shared.sql),
            Arc::clone(&shared.connection_config),
            |index| token(CLIENT, index),
        );
        let door = sockets.map(|sockets| {
            Door::open(
                sockets,
                shared.link_keys.clone(),
                poll.registry(),
                |index| token(LISTENER, index),
                |index| token(STRANGER, index),
            )
            .unwrap_or_else(|error| panic!("cannot watch the node's own sockets: {error}"))
        });
        let management = door.is_some().then(|| {
            Management::new(Arc::clone(&shared), &client, |index| token(MANAGEMENT, index))
        });
        let links = make_links(&shared, id, now);
        Worker {
            id,
            shared,
            poll,
            kernel,
            client,
            executor: Executor::new(),
            outbox: Outbox::default(),
            links,
            front,
            door,
            management,
            spin: SpinPolicy::default(),
            phase: Phase::Running,
            has_asked_rest: false,
            is_ready: false,
            lonely_from: now + LONELY_AFTER,
            is_unfinished: false,
            was_long: false,
            tasks_were_long: false,
            has_items: false,
            input_time: TURN_INPUT_MIN,
            next_link: 0,
            next_client: 0,
            is_closed: false,
            listen_after: 0,
            now,
        }
    }

    pub fn run(mut self) {
        let mut buffers = Buffers {
            events: Events::with_capacity(EVENTS_MAX),
            read: vec![0; READ_SIZE],
            taken: Vec::new(),
            items: VecDeque::new(),
            arrivals: Vec::new(),
        };
        while !self.has_ended() {
            self.wait_for_events(&mut buffers.events);
            self.now = clock::now();
            self.client.set_clock(clock::unix_micros(), self.now);
            self.take_inbox(&mut buffers);
            for event in &buffers.events {
                self.on_event(event, &mut buffers.read, &mut buffers.arrivals);
            }
            self.on_unread(&mut buffers.read);
            self.on_time(&mut buffers.arrivals);
            if self.was_long || clock::now() - self.now > TURN_INPUT_MAX {
                // What is next may be long, too: heartbeats go out before it.
                self.flush_links();
            }
            self.on_arrivals(&mut buffers.arrivals);
            let settles = clock::now();
            self.settle_and_flush();
            let settled_in = clock::now() - settles;
            self.was_long = settled_in > TURN_INPUT_MAX;
            self.input_time = settled_in.clamp(TURN_INPUT_MIN, TURN_INPUT_MAX);
            self.check_ready();
            self.check_shutdown();
        }
    }

    // Waiting.

    fn deadline(&self) -> Time {
        let mut deadline = self.kernel.wake_at();
        let phase_ends = match self.phase {
            Phase::Running | Phase::Drained => Time::MAX,
            Phase::Draining(until)
            | Phase::Cutting(until)
            | Phase::Departing(until)
            | Phase::Departed(until) => until,
        };
        let timers = self.client.next_deadline().unwrap_or(Time::MAX);
        let door = self.door.as_ref().map_or(Time::MAX, Door::deadline);
        let links = self.links.iter().map(Link::deadline).min().unwrap_or(Time::MAX);
        for other in [phase_ends, timers, door, links, self.front.deadline()] {
            deadline = deadline.min(other);
        }
        deadline
    }

    fn wait_for_events(&mut self, events: &mut Events) {
        let inbox = &self.shared.inboxes[usize::from(self.id.0)];
        let start = clock::now();
        let deadline = self.deadline();
        let cannot_wait =
            self.is_unfinished || self.has_items || deadline <= start || self.front.has_unread();
        if cannot_wait || self.links.iter().any(Link::has_unread) {
            return poll_now(&mut self.poll, events);
        }
        if self.spin.wants_spin() {
            let mut end = SpinEnd::Timeout;
            let mut now = start;
            while now < start + SPIN_TIME && now < deadline {
                poll_now(&mut self.poll, events);
                if !events.is_empty() || inbox.is_filled() {
                    end = SpinEnd::Event;
                    break;
                }
                let before = clock::now();
                rustix::thread::sched_yield();
                now = clock::now();
                if SpinPolicy::is_contended(now - before) {
                    end = SpinEnd::Contended;
                    break;
                }
            }
            self.spin.on_spin_end(end);
            if end == SpinEnd::Event {
                return;
            }
        }
        if !inbox.may_sleep() {
            return poll_now(&mut self.poll, events);
        }
        let slept_at = clock::now();
        let timeout = Duration::from_micros(deadline.saturating_sub(slept_at));
        poll_for(&mut self.poll, events, timeout);
        inbox.stop_sleeping();
        if !events.is_empty() {
            self.spin.on_woken(clock::now() - slept_at);
        }
    }

    // Inputs.

    fn take_inbox(&mut self, buffers: &mut Buffers) {
        let shared = Arc::clone(&self.shared);
        let inbox = &shared.inboxes[usize::from(self.id.0)];
        // Behind the items: who notifies later is seen the next time.
        let is_told = match buffers.items.is_empty() {
            true => inbox.take(&mut buffers.taken),
            false => inbox.is_filled(),
        };
        if is_told {
            self.front.take_kills();
            buffers.items.extend(buffers.taken.drain(..));
        }
        let ends = clock::now() + self.input_time;
        while let Some(item) = buffers.items.pop_front() {
            match item {
                Item::Local(message) => self.step(Input::Local(message)),
                Item::Client(stream, transport) => self.add_client(stream, transport),
                Item::Link { stream, hello } => self.on_link_accepted(stream, &hello),
                Item::NodeDied { node, incarnation } => {
                    self.step(Input::NodeDied { node, incarnation });
                }
                Item::Durable => self.step(Input::Durable),
            }
            if clock::now() >= ends {
                break;
            }
        }
        self.has_items = !buffers.items.is_empty();
    }

    fn on_event(&mut self, event: &Event, read: &mut [u8], arrivals: &mut Vec<Arrival>) {
        let index = event.token().0 & INDEX_MASK;
        let registry = self.poll.registry();
        match event.token().0 >> KIND_SHIFT {
            0 => {}
            CLIENT => self.front.on_ready(index, event, self.now, read),
            LINK => self.on_link_ready(index, event, read),
            LISTENER => {
                if let Some(door) = &mut self.door {
                    door.on_listener_ready(index);
                }
            }
            STRANGER => {
                if let Some(door) = &mut self.door {
                    door.on_stranger_ready(index, registry, &self.shared.log, arrivals);
                }
            }
            MANAGEMENT => {
                if let Some(management) = &mut self.management {
                    management.on_ready(index, read, &self.client, &mut self.executor);
                }
            }
            kind => unreachable!("no token of kind {kind} was registered"),
        }
    }

    fn on_unread(&mut self, read: &mut [u8]) {
        self.front.read_unread(self.now, read);
        let ends = clock::now() + self.input_time;
        let (first, count) = (self.next_link, self.links.len());
        for index in (first..count).chain(0..first) {
            if !self.links[index].has_unread() {
                continue;
            }
            if clock::now() >= ends {
                // The others come first the next time.
                self.next_link = index;
                break;
            }
            let Worker { links, kernel, outbox, poll, .. } = self;
            let mut on_frame = |frame: &[u8]| step(kernel, outbox, Input::Frame(frame)) < ends;
            let event = links[index].read(self.now, poll.registry(), read, &mut on_frame);
            self.on_link_event(index, event);
        }
    }

    /// Says once that nobody comes, if nobody does: from here that looks like nothing at all.
    fn warn_if_lonely(&mut self) {
        let options = &self.shared.options;
        if self.is_ready || self.shared.links_up.load(Ordering::Relaxed) > 0 {
            self.lonely_from = Time::MAX;
        } else if self.lonely_from <= self.now && options.cluster.nodes.len() > 1 {
            self.lonely_from = Time::MAX;
            let node = options.node;
            self.shared.log.warn(&format!(
                "no node has connected, and none is reached: do the others run, is this address that of node {node} in their \
                 configuration, and is no other process node {node}?"
            ));
        }
    }

    fn on_time(&mut self, arrivals: &mut Vec<Arrival>) {
        if self.now >= self.kernel.wake_at() {
            // The turn may have begun a while ago, and what is noted counts for a tick.
            let now = clock::now();
            for link in self.links.iter().filter(|link| link.has_unread()) {
                self.kernel.note_unread(now, link.peer);
            }
            self.step(Input::Tick);
            if self.id == WorkerId(0) {
                self.shared.log.on_tick(self.now);
                self.warn_if_lonely();
            }
        }
        for index in 0..self.links.len() {
            if self.links[index].deadline() <= self.now {
                let event = self.links[index].on_time(self.now, self.poll.registry());
                self.on_link_event(index, event);
            }
        }
        self.front.on_time(self.now);
        if let Some(door) = &mut self.door
            && door.deadline() <= self.now
        {
            door.on_time(self.now, self.poll.registry(), &self.shared.log, arrivals);
        }
    }

    fn step(&mut self, input: Input<'_>) {
        step(&mut self.kernel, &mut self.outbox, input);
    }

    // Arrivals.

    fn on_arrivals(&mut self, arrivals: &mut Vec<Arrival>) {
        let shared = Arc::clone(&self.shared);
        for arrival in arrivals.drain(..) {
            match arrival {
                Arrival::Management(stream) => {
                    let registry = self.poll.registry();
                    self.management.as_mut().expect("with the door").add(stream, registry);
                }
                Arrival::Client(stream, transport) => {
                    let target = self.next_client % shared.worker_count();
                    self.next_client = target + 1;
                    match target == usize::from(self.id.0) {
                        true => self.add_client(stream, transport),
                        false => shared.inboxes[target].push(Item::Client(stream, transport)),
                    }
                }
                Arrival::Link(stream, hello) => self.on_link_arrived(stream, hello),
            }
        }
    }

    fn add_client(&mut self, stream: Stream, transport: mysql::Transport) {
        if self.phase != Phase::Running {
            return;
        }
        let registry = self.poll.registry();
        self.front.add(stream, transport, self.now, registry, &self.client, &mut self.executor);
    }

    /// Worker 0: a node has said hello. It is looked at here and handed to the worker it wants.
    fn on_link_arrived(&mut self, mut stream: Stream, hello: Hello) {
        let options = &self.shared.options;
        let own = options.node;
        let worker = usize::from(hello.to.worker.0);
        let to = Address { node: own, worker: hello.to.worker };
        let refused = hello::check(&hello, &self.own_hello(to, hello.from)).and_then(|()| {
            if worker >= self.shared.worker_count() {
                Err(format!("node {own} has no worker {worker}"))
            } else if !hello::is_peer(&options.cluster, own, hello.from) {
                Err(format!("{:?} is not a worker of another node of this cluster", hello.from))
            } else if hello.from.node > own {
                Err(format!(
                    "node {} waits for node {own} to connect, not the reverse",
                    hello.from.node
                ))
            } else {
                self.check_boot(&hello)
            }
        });
        if let Err(reason) = refused {
            self.shared.log.warn_limited(&format!(
                "link of {:?} to {:?} refused: {reason}",
                hello.from, hello.to
            ));
            // Best effort: the other side logs it too.
            let _ = stream.write(&hello::encode_refusal(&reason));
            return;
        }
        match worker == usize::from(self.id.0) {
            true => self.on_link_accepted(stream, &hello),
            false => self.shared.inboxes[worker].push(Item::Link { stream, hello }),
        }
    }

    /// Rule R5: while the boot of a node that takes part is heard, nobody else is that node. One that was started again is let in when the
    /// one before is known to be over, or has not been heard for as long as it takes to be missed.
    fn check_boot(&self, hello: &Hello) -> Result<(), String> {
        let (node, shared) = (hello.from.node, &self.shared.node);
        let Some(member) = self.kernel.state().incarnations.get(&node).copied() else {
            return Ok(());
        };
        let silence = SILENCE_HEARTBEATS * u64::from(shared.config.heartbeat_ms) * 1_000;
        if member == hello.incarnation || shared.heard_at(node) + silence < self.now {
            return Ok(());
        }
        if self.kernel.state().is_over(hello.incarnation) {
            return Err(format!("this boot of node {node} was excluded, and is over"));
        }
        Err(format!(
            "node {node} runs already as another process (incarnation {:016x}): stop one of the two; if it was just stopped, this \
             passes within {} ms",
            member.0,
            silence / 1_000
        ))
    }

    fn on_link_accepted(&mut self, stream: Stream, theirs: &Hello) {
        let Ok(index) = self.links.binary_search_by_key(&theirs.from, |link| link.peer) else {
            unreachable!("the hello was checked: {:?} is a peer", theirs.from)
        };
        let ours = self.own_hello(self.kernel.address(), theirs.from);
        if self.links[index].is_up() {
            self.count_link_down();
        }
        let registry = self.poll.registry();
        let event = self.links[index].accept(self.now, registry, stream, &ours, theirs.incarnation);
        self.on_link_event(index, event);
    }

    fn own_hello(&self, from: Address, to: Address) -> Hello {
        let identity = &self.shared.node;
        Hello {
            cluster: identity.config.cluster,
            lineage: self.kernel.state().lineage,
            config: self.shared.config_hash,
            from,
            to,
            incarnation: identity.incarnation,
        }
    }

    // Links.

    fn on_link_ready(&mut self, index: usize, event: &Event, read: &mut [u8]) {
        let ours = self.own_hello(self.kernel.address(), self.links[index].peer);
        let ending = event.is_read_closed() || event.is_error();
        let registry = self.poll.registry();
        let event = self.links[index].on_ready(self.now, registry, &ours, ending, read);
        self.on_link_event(index, event);
    }

    fn on_link_event(&mut self, index: usize, event: link::Event) {
        let (peer, own) = (self.links[index].peer, self.kernel.address());
        match event {
            link::Event::Nothing => {}
            link::Event::Up(incarnation) => {
                self.shared.links_up.fetch_add(1, Ordering::Relaxed);
                self.shared.log.info(&format!(
                    "link {own:?} - {peer:?} up (incarnation {:016x})",
                    incarnation.0
                ));
                self.step(Input::LinkUp { peer, incarnation });
            }
            link::Event::Down(reason) => {
                self.count_link_down();
                if !self.shared.is_stopping() {
                    self.shared.log.warn(&format!("link {own:?} - {peer:?} lost: {reason}"));
                }
            }
            link::Event::Refused(reason) => {
                let address = link_address(&self.shared.options, peer.node);
                self.shared.log.warn_limited(&format!(
                    "link {own:?} - {peer:?} ({address}) refused: {reason}"
                ));
            }
        }
    }

    fn count_link_down(&self) {
        self.shared.links_up.fetch_sub(1, Ordering::Relaxed);
    }

    // Outputs.

    fn settle_and_flush(&mut self) {
        let start = clock::now();
        // Rule R3: after everything was read that the tasks may answer.
        self.client.set_clock(clock::unix_micros(), start);
        loop {
            let settled = self.settle(start);
            self.flush_links();
            self.flush_local();
            for line in self.outbox.log.drain(..) {
                self.shared.log.warn_limited(&line);
            }
            if std::mem::take(&mut self.outbox.has_rested) {
                self.shared.set_rested();
            }
            if std::mem::take(&mut self.outbox.load) {
                self.shared.load();
            }
            if let Some(restart) = self.outbox.stop.take() {
                self.shared.begin_departure(match restart {
                    true => Departure::Restart,
                    false => Departure::Stop,
                });
            }
            if std::mem::take(&mut self.outbox.has_left)
                && matches!(self.phase, Phase::Departing(_))
            {
                self.phase = Phase::Departed(self.now + DEPARTURE_LINGER);
            }
            if let Some(end) = self.outbox.ends.take() {
                let code = match end {
                    ProcessEnd::Excluded(_) => EXIT_CODE_EXCLUDED,
                    ProcessEnd::LacksMemory(_) => EXIT_CODE_MEMORY,
                };
                panic::end_process(&self.shared.log, end.why(), code);
            }
            // Sending may wake tasks that waited for room, and with them the whole turns on.
            let mut flushed = self.front.flush(self.now, self.poll.registry());
            if let Some(management) = &mut self.management {
                flushed |= management.flush(&self.client, &mut self.executor);
            }
            self.is_unfinished = !settled || flushed;
            if !self.is_unfinished || clock::now() - start > SETTLE_TIME_MAX {
                return;
            }
        }
    }

    /// Runs tasks and kernel against each other until nothing moves; false if time is up before.
    fn settle(&mut self, start: Time) -> bool {
        self.client.wake_timers();
        loop {
            if let Some(state) = self.outbox.state.take() {
                self.client.set_state(state);
            }
            for (session, reply) in self.outbox.replies.drain(..) {
                self.client.deliver(session, reply);
            }
            let tasks_end = clock::now() + TURN_TASKS_MAX;
            let mut moved = std::mem::take(&mut self.tasks_were_long);
            if !moved {
                moved = self.executor.run_while(|| clock::now() < tasks_end);
                if clock::now() > tasks_end + TURN_TASKS_MAX {
                    // One was long at one piece of work: what is asked for is another, and heartbeats go in between.
                    self.tasks_were_long = true;
                    return false;
                }
            }
            let requests_end = clock::now() + TURN_TASKS_MAX;
            while let Some((session, request)) = self.client.take_request() {
                moved = true;
                let began =
                    step(&mut self.kernel, &mut self.outbox, Input::Request { session, request });
                if began >= requests_end {
                    // What is left is found by the next turn.
                    return false;
                }
            }
            if !moved {
                return true;
            }
            if clock::now() - start > SETTLE_TIME_MAX {
                return false;
            }
        }
    }

    fn flush_links(&mut self) {
        for (peer, chunk) in self.outbox.frames.drain(..) {
            let found = self.links.binary_search_by_key(&peer, |link| link.peer);
            let index =
                found.unwrap_or_else(|_| panic!("the kernel sends to {peer:?}, who is no peer"));
            self.links[index].push(chunk);
        }
        for index in 0..self.links.len() {
            if self.links[index].has_output() {
                let event = self.links[index].flush(self.now, self.poll.registry());
                self.on_link_event(index, event);
            }
        }
    }

    fn flush_local(&mut self) {
        if self.outbox.local.is_empty() {
            return;
        }
        // A stable sort keeps the order of each neighbour's messages.
        self.outbox.local.sort_by_key(|(worker, _)| *worker);
        let mut messages = self.outbox.local.drain(..).peekable();
        while let Some((worker, first)) = messages.next() {
            let same = std::iter::from_fn(|| messages.next_if(|(next, _)| *next == worker));
            let all = std::iter::once(first).chain(same.map(|(_, message)| message));
            self.shared.inboxes[usize::from(worker.0)].push_all(all.map(Item::Local));
        }
    }

    // Beginning and end.

    fn check_ready(&mut self) {
        if !self.is_ready && self.kernel.is_ready() {
            self.is_ready = true;
            self.shared.workers_ready.fetch_add(1, Ordering::AcqRel);
            self.shared.inboxes[0].notify();
        }
        let all_ready =
            self.shared.workers_ready.load(Ordering::Acquire) == self.shared.worker_count();
        let Some(door) = &mut self.door else { return };
        let is_due = all_ready && self.phase == Phase::Running && self.now >= self.listen_after;
        if !is_due || self.listen_after == Time::MAX {
            return;
        }
        if std::mem::take(&mut self.is_closed) {
            match server::bind_mysql(&self.shared.options, self.shared.mysql_tcp) {
                Ok((sockets, _)) => door.take_mysql(sockets),
                Err(error) => {
                    self.is_closed = true;
                    self.listen_after = self.now + 1_000_000;
                    self.shared.log.warn_limited(&format!("cannot serve again: {error}"));
                    return;
                }
            }
        }
        match door.open_mysql(self.poll.registry()) {
            Ok(()) => {
                self.listen_after = Time::MAX;
                self.shared.set_ready();
                self.shared.log.info(&format!("node {} is ready", self.shared.options.node));
            }
            Err(error) => {
                self.listen_after = self.now + 1_000_000;
                self.shared.log.warn_limited(&format!("cannot listen for clients: {error}"));
            }
        }
    }

    fn check_shutdown(&mut self) {
        if !self.shared.is_stopping() {
            if self.phase != Phase::Running {
                self.serve_again();
            }
            return;
        }
        let is_over = |until: Time| self.now >= until;
        match self.phase {
            Phase::Running => {
                if let Some(door) = &mut self.door {
                    door.close_mysql();
                    self.is_closed = true;
                    self.shared.log.info(&format!("node {} stops", self.shared.options.node));
                }
                self.front.begin_shutdown();
                self.phase = Phase::Draining(self.now + SHUTDOWN_GRACE);
                self.is_unfinished = true;
            }
            Phase::Draining(until) if is_over(until) => {
                self.front.cut_all();
                self.phase = Phase::Cutting(self.now + SHUTDOWN_ROLLBACK);
                self.is_unfinished = true;
            }
            Phase::Draining(_) | Phase::Cutting(_) => {}
            Phase::Drained => return self.depart(),
            Phase::Departing(until) if is_over(until) => return self.give_departure_up(),
            Phase::Departed(until) if is_over(until) => {
                self.phase = Phase::Drained;
                return self.shared.allow_end();
            }
            Phase::Departing(_) if self.shared.may_end() => {
                // A signal has come meanwhile.
                self.phase = Phase::Drained;
                return;
            }
            Phase::Departing(_) if self.has_last_copy() => return self.give_departure_up(),
            Phase::Departing(_) | Phase::Departed(_) => return,
        }
        let timed_out = matches!(self.phase, Phase::Cutting(until) if is_over(until));
        if self.front.is_empty() || timed_out {
            self.phase = Phase::Drained;
            self.shared.workers_drained.fetch_add(1, Ordering::AcqRel);
            self.shared.notify_all();
        }
    }

    /// Worker 0, when no worker has a connection: has the node hand over what it leads, if it is to.
    fn depart(&mut self) {
        if self.door.is_none() || self.shared.may_end() || !self.are_all_drained() {
            return;
        }
        if self.shared.is_resting() {
            if !std::mem::replace(&mut self.has_asked_rest, true) {
                self.step(Input::Rest);
                self.is_unfinished = true;
            }
            return;
        }
        if self.has_last_copy() {
            return self.give_departure_up();
        }
        let options = &self.shared.options;
        let keeps_rows = options.cluster.node(options.node).is_some_and(|config| config.data);
        if !keeps_rows || !self.kernel.is_ready() {
            return self.shared.allow_end();
        }
        self.shared.log.info(
            "hands over what it leads: transactions that have begun elsewhere are waited for",
        );
        self.phase = Phase::Departing(self.now + DEPARTURE_TIME_MAX);
        self.step(Input::Leave(true));
        self.is_unfinished = true;
    }

    /// Have the others of its group gone? A node that is asked to stop hears that it had better not; they may go later.
    fn has_last_copy(&self) -> bool {
        let (own, boot) = (self.shared.options.node, self.shared.node.incarnation);
        self.kernel.is_ready() && !self.kernel.state().may_exclude(own, boot)
    }

    /// The node does not get rid of what it leads.
    fn give_departure_up(&mut self) {
        let why = match self.has_last_copy() {
            true => "it has the only whole copy of its rows by now",
            false => {
                "for half a minute there was always a transaction that had begun and not ended, or a snapshot older than a node's \
                 return: performance_schema.data_locks and information_schema.INNODB_TRX show whose; end those, or send this \
                 process SIGTERM, which rolls them back"
            }
        };
        self.shared.log.warn(&format!("does not stop, and serves again: {why}"));
        self.step(Input::Leave(false));
        if !self.shared.end_departure() {
            self.phase = Phase::Drained;
        }
    }

    /// The node does not stop after all.
    fn serve_again(&mut self) {
        if !matches!(self.phase, Phase::Draining(_) | Phase::Cutting(_)) {
            self.shared.workers_drained.fetch_sub(1, Ordering::AcqRel);
        }
        self.phase = Phase::Running;
        self.listen_after = 0;
    }

    fn are_all_drained(&self) -> bool {
        self.shared.workers_drained.load(Ordering::Acquire) == self.shared.worker_count()
    }

    /// Nobody of this node needs this worker any more.
    fn has_ended(&self) -> bool {
        self.phase == Phase::Drained && self.are_all_drained() && self.shared.may_end()
    }
}

/// Returns when it began. Rule R3: the time of a step is sampled after its input is taken.
fn step(kernel: &mut Kernel, outbox: &mut Outbox, input: Input<'_>) -> Time {
    let now = clock::now();
    kernel.step(now, input, outbox);
    now
}

fn poll_now(poll: &mut Poll, events: &mut Events) {
    poll_for(poll, events, Duration::ZERO);
}

fn poll_for(poll: &mut Poll, events: &mut Events, timeout: Duration) {
    match poll.poll(events, Some(timeout)) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => events.clear(),
        Err(error) => panic!("an event poll does not fail: {error}"),
    }
}

fn link_address(options: &NodeOptions, peer: NodeId) -> LinkAddress {
    match options.link_sockets.get(&peer) {
        Some(path) => LinkAddress::Unix(path.clone()),
        None => LinkAddress::Tcp(options.node_addresses[&peer]),
    }
}

/// One link for each worker of each other node; the lower node id connects.
fn make_links(shared: &Shared, id: WorkerId, now: Time) -> Vec<Link> {
    let options = &shared.options;
    let own: NodeId = options.node;
    let mut peers = Vec::new();
    for node in options.cluster.nodes.iter().filter(|node| node.id != own) {
        for worker in 0..node.workers {
            peers.push(Address { node: node.id, worker: WorkerId(worker) });
        }
    }
    peers.sort();
    let patience = Patience::new(u64::from(options.cluster.heartbeat_ms) * 1_000);
    let connects = |peer: &Address| own < peer.node;
    let link = |(index, peer): (usize, Address)| {
        let address = connects(&peer).then(|| link_address(options, peer.node));
        let keys = shared.link_keys.clone();
        Link::new(peer, address, keys, token(LINK, index), patience, now)
    };
    assert!(usize::from(id.0) < shared.worker_count());
    peers.into_iter().enumerate().map(link).collect()
}
