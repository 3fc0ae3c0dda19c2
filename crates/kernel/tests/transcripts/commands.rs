//! The verbs of a script.
//!
//! ```text
//! cluster data=2 replicas=2 [workers=1] [shards=2] [voters=1] [misconfigured=3] [resend=200ms]
//!         [window=1000] [unacked=4000]   bytes of a channel
//!         [disks=1]        data nodes keep their rows on disks, too
//!         [log=1]          a part's log grows by so many entries until a local checkpoint is begun
//!         [rows=2]         rows of a record, more are a long transaction
//!         [turn=20]        bytes of rows that operations under locks work on before others have their turn
//!         [behind=2]       entries of its log that wait for its disk while a learner takes more
//!         [waiting=2]      entries of its log that wait for a node's disk until that does not keep up
//!         [fill=2]         rows that a learner is offered or copied at a time
//!         [memory=4]       MiB for each node's rows
//!         [clock=n3+7200s] [heartbeat=100]   milliseconds; without it nodes say only at first that they live
//!                          a new cluster: node 1 is a voter, nodes 2.. keep data; `shards` are a node group's
//! form                     delivers and ticks until every node can serve
//! table t                  creates a table of two BIGINT columns (id, v), in silence
//! load t 1=10 2..9=20      inserts rows, in silence
//! where t 1 2 3            the shard of each key
//! begin s1 @2 [rr]         a session on node 2 (worker 1 of it: @2.1); rr: REPEATABLE READ
//! s1: [autocommit] [rr] [again] [version=3] [timeout=50ms] [age=50ms] [nowait] [skip-locked] [serializable]
//!     [strict] [waited-for] <op>; ...
//!                          one batch, a statement of its own unless `again`. Operations:
//!                          read t 1 [lock=s|x], insert t 1 10, insert t 1..9 10 @2 (those that node 2 leads), put t 1 10, update t 1 +5|=7, delete t 1,
//!                          scan t [v=10] [key=1] [limit=2] [lock=x] [semi] [peek]
//!                          (the hidden table `sequences` is there before any other)
//! s1: commit | rollback | undo 2 | cancel | close
//! s1: create t | drop t | rename t u | truncate t | index t | publish t | unindex t [as by_w] | give_up_index
//! s1: accounts 0 a b         puts accounts in the place of those of their names, if the accounts have had no change yet
//! s1: create c copy t | copy t c delete_only, building or closed | replace t   the steps of a table that is rewritten
//! s1: report locks | holdings | sessions | deadlocks    asks all nodes
//! s1: outcome t3.1 shard 0 asks all nodes what became of that transaction of node 3's, of its boot that is over if one is
//! s1: stop n3              asks node 3's host to stop it
//! cost s1                  what the session's last request cost until it was answered, and in all
//! stabilize                delivers everything, and what comes of it
//! deliver n2->n3 [Kind] [count]    the frames on a link: all, or the first so many (of a kind)
//! drop, duplicate          likewise: loses, or doubles
//! reorder n2->n3           turns the frames on a link round
//! alter n2->n3 view=0      changes the header of the first frame on a link
//! inject n2->n3 cluster=9  delivers an altered copy of the first frame: cluster, lineage, incarnation, view, sequence,
//!                          to, from, protocol, damaged, garbage
//! hold n2->n3 [Kind]       `stabilize` and `run` stop there; `release` ends all holds. n2->n2: between its workers
//! unread n1 on|off         what is held on its way to it has come, and it sees that: it has no time for it
//! linkup n2 n3             both hear that their link is up again
//! tick 10ms                time passes, nothing is delivered
//! run 100ms                time passes and everything is delivered
//! power                    all nodes lose their power at once; with `disks=1`
//! rest n3                  the whole cluster is to stop, and node 3 has no clients any more
//! down n3                  after that node 3's process ends
//! room n3 reserve          what node 3's disk has for its log: ample, reserve, nothing; with `disks=1`
//! spoil n3                 node 3's disk does not have the next local checkpoint as it is written; with `disks=1`
//! checkpoints n3           the local checkpoints that node 3's disk has
//! sections n3              what the newest of them consists of
//! full n3 on|off|5         others have all the memory that node 3 may take, or none of it any more; all but five pages
//! restart n3 [lossy]       node 3 boots anew; as a voter that may lose commits
//! restarted @3             what node 3 knows of the last cluster restart
//! wipe n3                  node 3's directory is lost
//! lose_rows n3             of that only the rows
//! freeze n3, thaw n3       node 3 does nothing, what is for it waits; then it goes on; n3.1: only its worker 1
//! die n3                   node 3's process ends; what it has sent is on its way
//! dead n3 n2               node 2's host tells its node that node 3's process has ended
//! leave n3, stay n3        node 3's host is about to end it, and has it hand over first; or not after all
//! busy n2 on|off           workers find the shards of others always, or never, busy
//! show Kind, hide Kind     which messages are written down (housekeeping is not)
//! look @3 t 1              reads the row past the door, as node 3's sessions do ([`protocol::request::LocalRows`])
//! memory                   pages that the rows of each node take, and of how many
//! flight, status, locks, rows @3 t    what is on its way, the nodes, locks held, versions kept
//! indexes @3 t             how far the table's indexes are by the schema that node 3 knows, and who builds them
//! check                    lets everything arrive; then replicas must be equal and nothing pending
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use kernel::{ChannelConfig, CheckpointFound, Mutation, Store, Time};
use protocol::control::ControlState;
use protocol::envelope::{decode_header, decode_message, encode_frame};
use protocol::op::{Batch, Op, OpKind, ReadAt, WaitPolicy};
use protocol::report::ReportRequest;
use protocol::request::{LocalRows, Reply, Request, SessionId};
use protocol::schema::SchemaChange;
use storage::PAGE_SIZE;
use types::convert::EvalSettings;
use types::hash::{bucket_of, hash64};
use types::{
    Account, AccountName, Address, ClusterId, Collation, CommitId, Incarnation, IndexId, Lineage,
    NodeId, SchemaVersion, ShardId, TableId, TransactionId, View, WorkerId,
};

use crate::cluster::{Cluster, Flight, Link, MEMORY_LIMIT_BYTES, Pattern, Sent, Setup, TICK};
use crate::describe;
use crate::operations::{
    DATABASE, definition, encoded_key, index_definition, insert, number, operation_of, rows_of,
};

/// What compound commands may take until they must be done.
const PATIENCE: Time = 5_000_000;
const SETUP_SESSION: &str = "setup";

pub struct Player {
    cluster: Option<Cluster>,
    sessions: BTreeMap<String, Session>,
    /// Tables of the script by name, dropped ones too.
    tables: BTreeMap<String, TableId>,
    session_last: u64,
}

struct Session {
    id: SessionId,
    at: Address,
    read_at: ReadAt,
    statement: u32,
    asked: Sent,
    /// What had been sent when the last request was answered, and how far from the request that was.
    told: Option<(Sent, u32)>,
}

impl Player {
    pub fn new() -> Player {
        Player {
            cluster: None,
            sessions: BTreeMap::new(),
            tables: BTreeMap::from([("sequences".to_string(), protocol::schema::SEQUENCES_TABLE)]),
            session_last: 0,
        }
    }

    /// Runs a command; what was said, line by line.
    pub fn run(&mut self, command: &str) -> Vec<String> {
        if let Some((name, request)) = command.split_once(": ") {
            self.session_request(name, request);
            return self.take_output();
        }
        let words: Vec<&str> = command.split_whitespace().collect();
        let (verb, rest) = words.split_first().expect("a command has a verb");
        if *verb == "cluster" {
            *self = Player::new();
            self.cluster = Some(Cluster::new(setup(rest)));
            return Vec::new();
        }
        match *verb {
            "form" => self.form(),
            "table" => self.make_table(rest[0]),
            "load" => self.load(rest),
            "where" => self.locate(rest),
            "begin" => self.begin(rest),
            "cost" => self.cost(rest[0]),
            "freeze" => assert!(self.cluster().frozen.insert(frozen(rest[0])), "it is frozen"),
            "thaw" => assert!(self.cluster().frozen.remove(&frozen(rest[0])), "it is not frozen"),
            "stabilize" => self.cluster().deliver_all(),
            "deliver" => self.for_frames(rest, -1, |cluster, link, place| {
                let flight = cluster.take(link, place);
                cluster.arrive(link, &flight);
            }),
            "drop" => self.for_frames(rest, -1, |cluster, link, place| {
                cluster.take(link, place);
            }),
            "duplicate" => self.for_frames(rest, 1, |cluster, link, place| {
                let flight = cluster.flight(link, place).clone();
                cluster.put(link, place, flight);
            }),
            "reorder" => self.reorder(rest),
            "alter" => {
                let (link, place) = self.first_frame(rest[0]);
                let flight = self.cluster().take(link, place);
                self.cluster().put(link, place, altered(&flight, &rest[1..]));
            }
            "inject" => {
                let (link, place) = self.first_frame(rest[0]);
                let flight = altered(self.cluster().flight(link, place), &rest[1..]);
                self.cluster().arrive(link, &flight);
            }
            "hold" => {
                let (pattern, _) = pattern(rest);
                self.cluster().held.push(pattern);
            }
            "release" => self.cluster().held.clear(),
            "unread" => {
                let (unread, node) = (&mut self.cluster().unread, node_of(rest[0]));
                assert!(if rest[1] == "on" { unread.insert(node) } else { unread.remove(&node) });
            }
            "linkup" => self.cluster().link_up(node_of(rest[0]), node_of(rest[1])),
            "tick" => {
                for _ in 0..duration(rest[0]) / TICK {
                    self.cluster().tick();
                }
            }
            "run" => self.pass(duration(rest[0])),
            "rest" => self.cluster().rest(node_of(rest[0])),
            "down" => self.cluster().end_at_rest(node_of(rest[0])),
            "restarted" => {
                let cluster = self.cluster();
                let state = cluster.kernels[&address_of(rest[0])].state();
                let lines = cluster.names.restarted(state);
                self.say_all(lines, "the cluster has not been started again");
            }
            "restart" => {
                let node = node_of(rest[0]);
                self.sessions.retain(|_, session| session.at.node != node);
                self.cluster().start(node);
                self.cluster().nodes[&node].set_lossy(rest.contains(&"lossy"));
            }
            "power" => {
                self.sessions.clear();
                self.cluster().lose_power();
            }
            "lose_part" => {
                let part = WorkerId(rest[1].parse().expect("a number"));
                self.cluster().store(node_of(rest[0])).lose_part(part);
            }
            "lose_rows" => self.cluster().lose_rows(node_of(rest[0])),
            "wipe" => self.cluster().wipe(node_of(rest[0])),
            "die" => {
                let node = node_of(rest[0]);
                self.sessions.retain(|_, session| session.at.node != node);
                self.cluster().die(node);
            }
            "slow_disk" => self.cluster().set_slow_disk(node_of(rest[0]), true),
            "fast_disk" => self.cluster().set_slow_disk(node_of(rest[0]), false),
            "room" => self.cluster().set_room(node_of(rest[0]), rest[1]),
            "spoil" => self.cluster().store(node_of(rest[0])).spoil_checkpoint(),
            "checkpoints" => {
                let store = Arc::clone(self.cluster().store(node_of(rest[0])));
                let parts = (0..store.parts()).map(WorkerId);
                let found = parts.flat_map(|part| {
                    let all = store.checkpoints(part).into_iter();
                    all.map(move |found| {
                        let CheckpointFound { number, log_from, .. } = found;
                        format!("part {part}: checkpoint {number}, with the log from {log_from} on")
                    })
                });
                self.say_all(found.collect(), "there is none");
            }
            "sections" => {
                let store = Arc::clone(self.cluster().store(node_of(rest[0])));
                let parts = (0..store.parts()).map(WorkerId);
                let newest = parts.filter_map(|part| store.checkpoints(part).into_iter().next());
                let lines: Vec<String> =
                    newest.flat_map(|found| describe::sections(&found)).collect();
                self.say_all(lines, "there is none");
            }
            "full" => {
                let (id, left) = (node_of(rest[0]), rest[1]);
                match left {
                    "on" => self.cluster().fill_memory(id, 0),
                    "off" => assert!(self.cluster().others_memory.remove(&id).is_some()),
                    pages => self.cluster().fill_memory(id, number(pages) as usize),
                }
            }
            "indexes" => self.indexes(rest),
            "leave" => self.cluster().set_leaving(node_of(rest[0]), true),
            "stay" => self.cluster().set_leaving(node_of(rest[0]), false),
            "dead" => self.cluster().tell_death(node_of(rest[0]), node_of(rest[1])),
            "busy" => {
                let per_mille = if rest[1] == "on" { 1_000 } else { 0 };
                self.cluster().nodes[&node_of(rest[0])].set_contention(per_mille, 1);
            }
            "show" => self.cluster().hidden.retain(|kind| !rest.contains(&kind.as_str())),
            "hide" => self.cluster().hidden.extend(rest.iter().map(|kind| kind.to_string())),
            "flight" => {
                let lines = self.cluster().in_flight();
                self.say_all(lines, "nothing is on its way");
            }
            "memory" => self.memory(),
            "status" => self.status(),
            "locks" => self.locks(),
            "rows" => self.rows(rest),
            "look" => self.look(rest),
            "check" => self.check(),
            other => panic!("there is no verb {other}"),
        }
        self.take_output()
    }

    fn cluster(&mut self) -> &mut Cluster {
        self.cluster.as_mut().expect("the script makes a cluster first")
    }
    fn say(&mut self, line: String) {
        self.cluster().said.push(line);
    }
    fn say_all(&mut self, lines: Vec<String>, none: &str) {
        if lines.is_empty() {
            self.say(none.to_string());
        }
        self.cluster().said.extend(lines);
    }

    /// What was said since the last command.
    fn take_output(&mut self) -> Vec<String> {
        self.take_answers();
        std::mem::take(&mut self.cluster().said)
    }

    /// Notes the answers that sessions got, and what they took.
    fn take_answers(&mut self) -> Vec<(String, Reply)> {
        let cluster = self.cluster.as_mut().expect("the script makes a cluster first");
        let mut taken = Vec::new();
        for answer in std::mem::take(&mut cluster.answers) {
            let mut sessions = self.sessions.iter_mut();
            let found = sessions.find(|(_, session)| session.id == answer.session);
            let (name, session) = found.expect("answers go to sessions of the script");
            session.told = Some((answer.sent, answer.hops));
            taken.push((name.clone(), answer.reply));
        }
        taken
    }

    /// Lets time pass, with everything delivered at once.
    fn pass(&mut self, time: Time) {
        self.cluster().deliver_all();
        for _ in 0..time / TICK {
            self.cluster().tick();
            self.cluster().deliver_all();
        }
    }

    /// Does something and says nothing about it.
    fn in_silence<T>(&mut self, work: impl FnOnce(&mut Player) -> T) -> T {
        let before = self.take_output();
        let result = work(self);
        self.take_output();
        self.cluster().said = before;
        result
    }

    fn form(&mut self) {
        self.in_silence(|player| {
            let deadline = player.cluster().now + PATIENCE;
            while !player.cluster().is_formed() {
                assert!(player.cluster().now < deadline, "views are not formed");
                player.pass(TICK);
            }
        });
        let cluster = self.cluster();
        let state = cluster.kernels.values().next_back().expect("nodes").state().clone();
        let mut lines = Vec::new();
        for (id, group) in &state.groups {
            let members: Vec<String> =
                group.members.iter().map(|m| describe::node(m.node)).collect();
            let mut line = format!("group {id}, view {}: {};", group.view, members.join(" "));
            for (shard, primary) in &group.primaries {
                line.push_str(&format!(" shard {shard} primary {},", describe::node(*primary)));
            }
            line.pop();
            lines.push(line);
        }
        let sequencer = state.sequencer.expect("formed");
        lines.push(format!(
            "sequencer {}, epoch {}",
            describe::node(sequencer.node),
            sequencer.epoch
        ));
        self.cluster().said.extend(lines);
    }

    /// A session for setting up, on the first data node.
    fn setup_request(&mut self, request: Request) {
        if !self.sessions.contains_key(SETUP_SESSION) {
            let node = self.cluster().config.data_nodes()[0];
            self.open(SETUP_SESSION, Address { node, worker: WorkerId(0) }, ReadAt::Statement);
        }
        let (at, id) = (self.sessions[SETUP_SESSION].at, self.sessions[SETUP_SESSION].id);
        self.cluster().request(at, id, request);
        let deadline = self.cluster().now + PATIENCE;
        loop {
            self.cluster().deliver_all();
            let answers = self.take_answers();
            if let Some((_, reply)) = answers.iter().find(|(name, _)| name == SETUP_SESSION) {
                assert!(!matches!(reply, Reply::Refused(_)), "setting up: {reply:?}");
                break;
            }
            assert!(self.cluster().now < deadline, "setting up takes for ever");
            self.cluster().tick();
        }
        self.cluster().deliver_all();
    }

    fn make_table(&mut self, name: &str) {
        self.in_silence(|player| {
            let at = Address { node: player.cluster().config.data_nodes()[0], worker: WorkerId(0) };
            if player.cluster().kernels[&at].state().catalogue.database(DATABASE).is_none() {
                let name = DATABASE.to_string();
                let collation = Collation::Binary;
                player.setup_request(Request::ChangeSchema(SchemaChange::CreateDatabase {
                    name,
                    collation,
                }));
            }
            let create = SchemaChange::CreateTable(Box::new(definition(name)));
            player.setup_request(Request::ChangeSchema(create));
            player.pass(TICK);
        });
        let table = self.table(name);
        let at = Address { node: self.cluster().config.data_nodes()[0], worker: WorkerId(0) };
        let version = self.cluster().kernels[&at].state().catalogue.version;
        self.say(format!("table {table}, schema {version}"));
    }

    fn load(&mut self, words: &[&str]) {
        let table = self.table(words[0]);
        self.in_silence(|player| {
            for pair in &words[1..] {
                let (keys, value) = pair.split_once('=').expect("key=value");
                let (first, last) = keys.split_once("..").unwrap_or((keys, keys));
                for key in number(first)..=number(last) {
                    let kind = insert(key, number(value));
                    let at = player.cluster().config.data_nodes()[0];
                    let at = Address { node: at, worker: WorkerId(0) };
                    let op = player.op(at, table, kind, None);
                    let batch = Batch {
                        ops: vec![op],
                        statement: 1,
                        commit: true,
                        lock_wait_timeout_ms: 1_000,
                        ..Batch::default()
                    };
                    player.setup_request(Request::Execute(batch));
                }
            }
        });
    }

    fn indexes(&mut self, words: &[&str]) {
        let table = self.table(words[1]);
        let state = self.cluster().kernels[&address_of(words[0])].state().clone();
        let definition = state.catalogue.table_by_id(table).expect("it is there");
        for index in &definition.indexes {
            let build = state.index_builds.get(&(table, index.id)).map_or(String::new(), |build| {
                format!(", {} builds it", describe::node(build.requester.node))
            });
            self.say(format!("{}: {:?}{build}", index.name, index.state));
        }
    }

    fn locate(&mut self, words: &[&str]) {
        let mut lines = Vec::new();
        let state = self.cluster().kernels.values().next_back().expect("nodes").state().clone();
        for key in &words[1..] {
            let shard = shard_of(number(key), &state);
            let primary = state.primary(shard);
            let members = &state.group(state.group_of(shard)).members;
            let backups: Vec<String> = members
                .iter()
                .filter(|member| member.node != primary)
                .map(|member| describe::node(member.node))
                .collect();
            let backups = match backups.is_empty() {
                true => String::new(),
                false => format!(", backup {}", backups.join(" ")),
            };
            lines.push(format!(
                "{key}: shard {shard}, primary {}{backups}",
                describe::node(primary)
            ));
        }
        self.cluster().said.extend(lines);
    }

    fn begin(&mut self, words: &[&str]) {
        let read_at = match words.get(2) {
            Some(&"rr") => ReadAt::Transaction,
            None => ReadAt::Statement,
            Some(other) => panic!("an isolation level is not {other}"),
        };
        self.open(words[0], address_of(words[1]), read_at);
    }

    fn open(&mut self, name: &str, at: Address, read_at: ReadAt) {
        self.session_last += 1;
        let session = Session {
            id: SessionId(self.session_last),
            at,
            read_at,
            statement: 0,
            asked: Sent::default(),
            told: None,
        };
        self.cluster().sessions.insert(session.id, name.to_string());
        assert!(self.sessions.insert(name.to_string(), session).is_none(), "{name} is open");
    }

    fn session_request(&mut self, name: &str, text: &str) {
        let session = self.sessions.get(name).unwrap_or_else(|| panic!("{name} has not begun"));
        let (at, id) = (session.at, session.id);
        let words: Vec<&str> = text.split_whitespace().collect();
        let change = |change| Request::ChangeSchema(change);
        let request = match words.as_slice() {
            ["commit"] => Request::Commit { durability: None },
            ["rollback"] => Request::Rollback,
            ["await_checkpoint"] => Request::AwaitCheckpoint,
            ["undo", statement] => Request::Undo { statement: number(statement) as u32 },
            ["cancel"] => Request::Cancel,
            ["close"] => Request::Close,
            ["stop", node] => Request::StopNode { node: node_of(node), restart: false },
            ["outcome", transaction, "shard", shard] => {
                let commit = self.commit_id(transaction, ShardId(number(shard) as u16));
                Request::Report { node: None, query: ReportRequest::Outcome { commit } }
            }
            ["report", what] => Request::Report { node: None, query: self.query(what) },
            ["create", table] => change(SchemaChange::CreateTable(Box::new(definition(table)))),
            ["drop", table] => change(SchemaChange::DropTable { id: self.table(table) }),
            ["truncate", table] => change(SchemaChange::TruncateTable { id: self.table(table) }),
            ["index", table] => change(SchemaChange::CreateIndex {
                table: self.table(table),
                index: index_definition(),
            }),
            ["publish", table] => {
                let (table, index) = (self.table(table), IndexId(1));
                change(SchemaChange::PublishIndex { table, index, asked: 0 })
            }
            ["unindex", table, as_other @ ..] => {
                let name = as_other.last().map_or(index_definition().name, |name| name.to_string());
                let (table, index) = (self.table(table), IndexId(1));
                change(SchemaChange::DropIndex { table, index, name })
            }
            ["accounts", version, names @ ..] => change(SchemaChange::ChangeAccounts {
                drop: Vec::new(),
                put: names.iter().map(|of| Account::new(AccountName::new(of, "%"))).collect(),
                version: number(version) as u64,
            }),
            ["give_up_index"] => Request::GiveUpIndex,
            ["rename", table, to] => change(SchemaChange::RenameTable {
                id: self.table(table),
                database: DATABASE.into(),
                name: to.to_string(),
            }),
            ["create", table, "copy", of] => {
                let mut copy = definition(table);
                copy.rewriting.copy_of = Some(self.table(of));
                change(SchemaChange::CreateTable(Box::new(copy)))
            }
            ["copy", table, copy, state] => {
                let mut table = (*self.definition(at, table)).clone();
                let state = match *state {
                    "delete_only" => types::CopyState::DeleteOnly,
                    "building" => types::CopyState::Building,
                    "closed" => types::CopyState::Closed,
                    other => panic!("no state of a copy: {other}"),
                };
                table.rewriting.copy = Some(types::TableCopy {
                    table: self.table(copy),
                    state,
                    sources: Vec::new(),
                    lenient: false,
                    filler: self.cluster().kernels[&at].state().incarnations[&at.node],
                });
                let version = table.version;
                change(SchemaChange::AlterTable { table: Box::new(table), version })
            }
            ["replace", table] => {
                let table = self.definition(at, table);
                change(SchemaChange::ReplaceTable { table: table.id, version: table.version })
            }
            _ => Request::Execute(self.batch(name, text)),
        };
        let is_new = !matches!(request, Request::Cancel | Request::Close | Request::GiveUpIndex);
        let sent = self.cluster().sent;
        if is_new {
            let session = self.sessions.get_mut(name).expect("just looked");
            session.asked = sent;
            session.told = None;
        }
        self.cluster().request(at, id, request);
    }

    /// A table as the node of a session knows it.
    fn definition(&mut self, at: Address, name: &str) -> Arc<types::Table> {
        let table = self.table(name);
        Arc::clone(&self.cluster().kernels[&at].state().catalogue.tables[&table])
    }

    fn commit_id(&mut self, name: &str, shard: ShardId) -> CommitId {
        let (node, sequence) = name.split_once('.').expect("a transaction of one worker");
        let node = NodeId(number(node.trim_start_matches('t')) as u16);
        let state = self.cluster().kernels.values().next_back().expect("nodes").state().clone();
        let over = state.excluded.iter().find(|(_, own)| **own == node).map(|(boot, _)| *boot);
        let incarnation = over.unwrap_or_else(|| state.incarnations[&node]);
        let coordinator = Address { node, worker: WorkerId(0) };
        let transaction =
            TransactionId { coordinator, incarnation, sequence: number(sequence) as u64 };
        CommitId { transaction, shard }
    }

    fn query(&mut self, what: &str) -> ReportRequest {
        let state = self.cluster().kernels.values().next_back().expect("nodes").state().clone();
        match what {
            "locks" => {
                ReportRequest::Locks { from: state.shards().map(|shard| (shard, 0)).collect() }
            }
            "holdings" => ReportRequest::Holdings,
            "sessions" => ReportRequest::Sessions,
            "deadlocks" => ReportRequest::Deadlocks,
            other => panic!("a report is not {other}"),
        }
    }

    fn batch(&mut self, name: &str, text: &str) -> Batch {
        let session = &self.sessions[name];
        let (at, previous) = (session.at, session.statement);
        let mut statement = previous + 1;
        let mut batch = Batch {
            read_at: session.read_at,
            settings: EvalSettings { strict: true, ..EvalSettings::default() },
            lock_wait_timeout_ms: 1_000,
            ..Batch::default()
        };
        let mut version = None;
        for operation in text.split(';') {
            let mut words: &[&str] = &operation.split_whitespace().collect::<Vec<_>>();
            while let Some((first, rest)) = words.split_first() {
                match first.split_once('=') {
                    Some(("timeout", time)) => {
                        batch.lock_wait_timeout_ms = (duration(time) / 1_000) as u32;
                    }
                    Some(("age", time)) => {
                        batch.snapshot_age_max_ms = (duration(time) / 1_000) as u32;
                    }
                    Some(("version", number)) => {
                        version = Some(SchemaVersion(number.parse().expect("a number")));
                    }
                    _ if *first == "autocommit" => batch.commit = true,
                    _ if *first == "reads-on" => batch.reads_on = true,
                    _ if *first == "nowait" => batch.wait = WaitPolicy::NoWait,
                    _ if *first == "skip-locked" => batch.wait = WaitPolicy::SkipLocked,
                    _ if *first == "waited-for" => batch.is_waited_for = true,
                    _ if *first == "serializable" => batch.lock_ranges = true,
                    _ if *first == "strict" => batch.refuse_changed = true,
                    _ if *first == "rr" => batch.read_at = ReadAt::Transaction,
                    _ if *first == "again" => statement = previous,
                    _ => break,
                }
                words = rest;
            }
            let (table, kinds) = match *words {
                ["insert", table, keys, value, node] => {
                    let (first, last) = keys.split_once("..").expect("first..last");
                    let leader = node_of(&node.replace('@', "n"));
                    let state = self.cluster().kernels[&at].state().clone();
                    let leads = |key: &i64| state.primary(shard_of(*key, &state)) == leader;
                    let keys = (number(first)..=number(last)).filter(leads);
                    (table, keys.map(|key| insert(key, number(value))).collect())
                }
                _ => {
                    let (table, kind) = operation_of(words);
                    (table, vec![kind])
                }
            };
            let table = self.table(table);
            batch.ops.extend(kinds.into_iter().map(|kind| self.op(at, table, kind, version)));
        }
        batch.statement = statement;
        self.sessions.get_mut(name).expect("just looked").statement = statement;
        batch
    }

    /// An operation planned with the definition that the session's worker knows.
    fn op(
        &mut self,
        at: Address,
        table: TableId,
        kind: OpKind,
        version: Option<SchemaVersion>,
    ) -> Op {
        let known = self.cluster().kernels[&at].state().catalogue.table_by_id(table).cloned();
        let version = version.or(known.map(|table| table.version)).unwrap_or_default();
        Op { table, version, kind }
    }

    /// The table of that name, as any node knows it; a dropped one by its last name.
    fn table(&mut self, name: &str) -> TableId {
        let cluster = self.cluster.as_ref().expect("the script makes a cluster first");
        let states = cluster.kernels.values().map(|kernel| kernel.state());
        let newest = states.max_by_key(|state| state.applied).expect("a cluster has nodes");
        if let Some(database) = newest.catalogue.database(DATABASE) {
            for (name, id) in &database.tables {
                self.tables.insert(name.clone(), *id);
            }
        }
        *self.tables.get(name).unwrap_or_else(|| panic!("there is no table {name}"))
    }

    fn memory(&mut self) {
        let nodes = self.cluster().nodes.iter();
        let data = nodes.filter(|(_, shared)| !shared.local_shards().is_empty());
        let pages = |bytes| bytes / PAGE_SIZE as u64;
        let of_node = data.map(|(id, shared)| {
            let (used, limit) = (pages(shared.pool.used()), pages(shared.pool.limit()));
            format!("{id}: {used} of {limit}")
        });
        let lines = of_node.collect();
        self.say_all(lines, "no node keeps rows");
    }

    fn cost(&mut self, name: &str) {
        let session = &self.sessions[name];
        let asked = session.asked;
        let (told, hops) = session.told.expect("the last request is answered");
        let sent = self.cluster().sent;
        self.say(format!(
            "told after {hops} hops; {} messages in {} packets had left then, {} in {} in all",
            told.messages - asked.messages,
            told.packets - asked.packets,
            sent.messages - asked.messages,
            sent.packets - asked.packets
        ));
    }

    /// Does something with the first frames that a pattern covers: all, or one if a kind is named, or as many as it says.
    /// `shift` is how the places of those behind move by it.
    fn for_frames(
        &mut self,
        words: &[&str],
        shift: isize,
        mut act: impl FnMut(&mut Cluster, Link, usize),
    ) {
        let (pattern, count) = pattern(words);
        let count = count.or(pattern.kind.is_some().then_some(1));
        let chosen = self.cluster().find(&pattern, count);
        assert!(!chosen.is_empty(), "no such frame is on its way");
        for (index, (link, place)) in chosen.iter().enumerate() {
            let before = chosen[..index].iter().filter(|(other, _)| other == link).count();
            let place = place.checked_add_signed(shift * before as isize);
            act(self.cluster(), *link, place.expect("frames move up one place each"));
        }
    }

    fn reorder(&mut self, words: &[&str]) {
        let (pattern, count) = pattern(words);
        let found = self.cluster().find(&pattern, count);
        assert!(found.len() > 1, "there is nothing to reorder");
        let link = found[0].0;
        assert!(found.iter().all(|(other, _)| *other == link), "one link at a time");
        let places: Vec<usize> = found.iter().map(|(_, place)| *place).collect();
        let last_first: Vec<Flight> =
            places.iter().rev().map(|place| self.cluster().take(link, *place)).collect();
        for (place, flight) in places.iter().zip(last_first) {
            self.cluster().put(link, *place, flight);
        }
    }

    /// The first frame on a link that the script sees.
    fn first_frame(&mut self, link: &str) -> (Link, usize) {
        let (pattern, _) = pattern(&[link]);
        *self.cluster().find(&pattern, Some(1)).last().expect("a frame is on its way there")
    }

    fn status(&mut self) {
        let mut lines = Vec::new();
        for (address, kernel) in &self.cluster().kernels {
            let state = kernel.state();
            let node = kernel.node();
            let refused = node.statistics.frames_refused.load(std::sync::atomic::Ordering::Relaxed);
            let open = node.statistics.transactions_open.load(std::sync::atomic::Ordering::Relaxed);
            lines.push(format!(
                "{}: {}; control state #{}, schema {}; transactions open: {open}; frames refused: {refused}",
                describe::node(address.node),
                if kernel.is_ready() { "ready" } else { "not ready" },
                state.applied,
                state.catalogue.version
            ));
        }
        lines.dedup();
        self.cluster().said.extend(lines);
    }

    fn locks(&mut self) {
        let mut lines = Vec::new();
        for (id, node) in &self.cluster().nodes {
            for shard in node.local_shards() {
                let replica = node.shard(shard).expect("just listed");
                let count = replica.lock_count();
                if count > 0 {
                    lines.push(format!("{} shard {shard}: {count} locked", describe::node(*id)));
                }
            }
        }
        self.say_all(lines, "no locks");
    }

    fn rows(&mut self, words: &[&str]) {
        let node = address_of(words[0]).node;
        let table = self.table(words[1]);
        let shared = self.cluster().nodes[&node].clone();
        let mut lines = Vec::new();
        for shard in shared.local_shards() {
            let replica = shared.shard(shard).expect("just listed");
            let Some(table) = replica.tables().get(&table) else { continue };
            let rows = rows_of(&table.partition);
            let role = if replica.is_primary() { "primary" } else { "backup" };
            let rows = if rows.is_empty() { "none".into() } else { rows.join(", ") };
            lines.push(format!("shard {shard} ({role}): {rows}"));
        }
        self.say_all(lines, "no such table here");
    }

    fn look(&mut self, words: &[&str]) {
        let at = address_of(words[0]);
        let (table, key) = (self.table(words[1]), encoded_key(number(words[2])));
        let cluster = self.cluster();
        let (state, now) = (cluster.kernels[&at].state().clone(), cluster.now(at.node));
        let definition = Arc::clone(&state.catalogue.tables[&table]);
        let mut line = "it cannot tell".to_string();
        let node = cluster.nodes[&at.node].clone();
        node.read_latest(&state, &definition, &key, now, &mut |row| {
            line = if row.is_some() { "a row" } else { "no row" }.into();
        });
        self.cluster().said.push(line);
    }

    /// After everything has arrived: all replicas of a shard are equal, and nothing waits, is pending or is locked.
    fn check(&mut self) {
        self.in_silence(|player| {
            player.cluster().held.clear();
            player.pass(1_000_000);
        });
        let mut wrong = Vec::new();
        let nodes = self.cluster().nodes.clone();
        let mut sums: BTreeMap<(ShardId, TableId), (NodeId, u128)> = BTreeMap::new();
        for (id, node) in &nodes {
            for shard in node.local_shards() {
                let replica = node.shard(shard).expect("just listed");
                if !replica.is_quiescent() || replica.lock_count() > 0 {
                    wrong.push(format!("{} shard {shard} is not at rest", describe::node(*id)));
                }
                for (table, rows) in replica.tables() {
                    let sum = rows.partition.checksum();
                    if let Some((other, before)) = sums.insert((shard, *table), (*id, sum))
                        && before != sum
                    {
                        wrong.push(format!(
                            "shard {shard}, table {table}: {} and {} differ",
                            describe::node(other),
                            describe::node(*id)
                        ));
                    }
                }
            }
        }
        let lines = self.cluster().in_flight();
        wrong.extend(lines);
        self.say_all(wrong, "replicas are equal, nothing is pending");
    }
}

fn shard_of(key: i64, state: &ControlState) -> ShardId {
    state.shard_of(bucket_of(hash64(&encoded_key(key))))
}

fn setup(words: &[&str]) -> Setup {
    let mut setup = Setup {
        data: 2,
        voters: 1,
        replicas: 2,
        workers: 1,
        shards_per_group: 0,
        misconfigured: None,
        mutation: Mutation::None,
        channel: ChannelConfig::new(200_000),
        record_rows_max: None,
        turn_bytes_max: None,
        control_log_bytes_max: None,
        heartbeat_ms: *protocol::control::HEARTBEAT_MS.end(),
        clocks: BTreeMap::new(),
        has_disks: false,
        log_growth_max: None,
        fill_rows_max: None,
        fill_backlog_max: None,
        log_backlog_max: None,
        memory_limit_bytes: MEMORY_LIMIT_BYTES,
    };
    for word in words {
        let (name, value) = word.split_once('=').expect("name=value");
        let count = || value.parse::<u16>().expect("a number");
        match name {
            "data" => setup.data = count(),
            "voters" => setup.voters = count(),
            "replicas" => setup.replicas = count(),
            "workers" => setup.workers = count(),
            "shards" => setup.shards_per_group = count(),
            "heartbeat" => setup.heartbeat_ms = u32::from(count()),
            "misconfigured" => setup.misconfigured = Some(NodeId(count())),
            "resend" => setup.channel.resend_after = duration(value),
            "rows" => setup.record_rows_max = Some(count()),
            "turn" => setup.turn_bytes_max = Some(count()),
            "behind" => setup.fill_backlog_max = Some(count()),
            "waiting" => setup.log_backlog_max = Some(count()),
            "memory" => setup.memory_limit_bytes = u64::from(count()) << 20,
            "fill" => setup.fill_rows_max = Some(count()),
            "disks" => setup.has_disks = count() > 0,
            "log" => setup.log_growth_max = Some(count()),
            "control_log" => setup.control_log_bytes_max = Some(count()),
            "window" => setup.channel.window_bytes = usize::from(count()),
            "unacked" => setup.channel.unacked_bytes_max = usize::from(count()),
            "clock" => {
                let (node, ahead) = value.split_once('+').expect("clock=n3+7200s");
                setup.clocks.insert(node_of(node), duration(ahead));
            }
            "broken" => setup.mutation = mutation(value),
            other => panic!("a cluster has no {other}"),
        }
    }
    if setup.shards_per_group == 0 {
        setup.shards_per_group = setup.replicas * setup.workers;
    }
    setup
}

fn mutation(name: &str) -> Mutation {
    match name {
        "AckBeforeReplication" => Mutation::AckBeforeReplication,
        "ReadThroughCommitting" => Mutation::ReadThroughCommitting,
        "SnapshotFromAnyBackup" => Mutation::SnapshotFromAnyBackup,
        "GrantOvertakes" => Mutation::GrantOvertakes,
        "LoadedNotCompared" => Mutation::LoadedNotCompared,
        "LoadedWrittenOver" => Mutation::LoadedWrittenOver,
        "EarlyLockRelease" => Mutation::EarlyLockRelease,
        "MemoryOfOthersIgnored" => Mutation::MemoryOfOthersIgnored,
        other => panic!("there is no mutation {other}"),
    }
}

/// "n2->n3 [Kind] [count]"; "*" for any node.
fn pattern(words: &[&str]) -> (Pattern, Option<usize>) {
    let (from, to) = words[0].split_once("->").expect("a link is from->to");
    let ends = |end: &str| match end.strip_prefix('n') {
        None => (None, None),
        Some(name) => match name.split_once('.') {
            None => (Some(NodeId(number(name) as u16)), None),
            Some((node, worker)) => {
                (Some(NodeId(number(node) as u16)), Some(WorkerId(number(worker) as u16)))
            }
        },
    };
    let ((from, from_worker), (to, to_worker)) = (ends(from), ends(to));
    let mut pattern = Pattern { from, to, from_worker, to_worker, kind: None };
    let mut count = None;
    for word in &words[1..] {
        match word.parse() {
            Ok(number) => count = Some(number),
            Err(_) => pattern.kind = Some(word.to_string()),
        }
    }
    (pattern, count)
}

/// The frame with another header, or with bytes that a sound peer does not send.
fn altered(flight: &Flight, changes: &[&str]) -> Flight {
    let mut header = decode_header(&flight.bytes).expect("a kernel made it");
    let message = decode_message(&flight.bytes).expect("a kernel made it");
    for change in changes {
        let Some((field, value)) = change.split_once('=') else { continue };
        let value: u64 = value.parse().expect("a number");
        match field {
            "cluster" => header.cluster = ClusterId(value),
            "lineage" => header.lineage = Lineage(value),
            "incarnation" => header.incarnation = Incarnation(value),
            "view" => header.view = View(value),
            "sequence" => header.sequence = value,
            "to" => header.to.node = NodeId(value as u16),
            "from" => header.from.node = NodeId(value as u16),
            "protocol" => {}
            other => panic!("a header has no {other}"),
        }
    }
    let mut bytes = Vec::new();
    encode_frame(&header, message.as_ref(), &mut bytes);
    for change in changes {
        match change.split_once('=') {
            Some(("protocol", version)) => {
                let version: u16 = version.parse().expect("a number");
                bytes[2..4].copy_from_slice(&version.to_le_bytes());
            }
            Some(_) => {}
            None if *change == "damaged" => *bytes.last_mut().expect("not empty") ^= 0x40,
            None if *change == "garbage" => bytes = b"GET / HTTP/1.1".to_vec(),
            None => panic!("a frame cannot be {change}"),
        }
    }
    Flight { bytes, hops: flight.hops }
}

/// "2" or "@2.1".
fn address_of(text: &str) -> Address {
    let text = text.trim_start_matches('@');
    let (node, worker) = text.split_once('.').unwrap_or((text, "0"));
    Address { node: NodeId(number(node) as u16), worker: WorkerId(number(worker) as u16) }
}

/// A node, or a worker of it.
fn frozen(text: &str) -> (NodeId, Option<WorkerId>) {
    match text.split_once('.') {
        Some((node, worker)) => (node_of(node), Some(WorkerId(number(worker) as u16))),
        None => (node_of(text), None),
    }
}

fn node_of(text: &str) -> NodeId {
    NodeId(number(text.strip_prefix('n').expect("nodes are n1, n2 ...")) as u16)
}

/// Microseconds of "10ms" or "2s".
fn duration(text: &str) -> Time {
    match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => number.parse::<Time>().expect("a number") * 1_000,
        (None, Some(number)) => number.parse::<Time>().expect("a number") * 1_000_000,
        (None, None) => panic!("{text} is no duration"),
    }
}
