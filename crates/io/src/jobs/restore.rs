//! The restore that a node makes: tables of a backup come into the cluster beside its load.
//!
//! Tables are filled under names that no statement can use, as CREATE TABLE ... SELECT does, and
//! get their own when their rows are on the disks: no session sees them in part, writes into them,
//! or adds a key meanwhile. A restore that fails leaves no table; tables of a node that dies over
//! it are dropped by another one.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use client::{Batch, Client, Durability, Op, OpKind, Refusal, Report, ReportRequest, SchemaChange};
use client::{SchemaError, Session};
use serde_json::{Value, json};
use sql::bind::table::{is_unfinished, unfinished_name};
use types::wire::Bytes;
use types::{Catalogue, IndexKind, IndexState, Table, TableId, TableState};

use super::{Jobs, POLL_MS, on_thread_until, secret_of, words};
use crate::clock::{self, format_unix_micros};
use crate::restore::{self, Change, Found, Pipeline, Source, Target};

const LOCK_WAIT_TIMEOUT_MS: u32 = 50_000;
/// Time for which a batch that a node's failure has undone is tried again.
const RETRY_US: u64 = 60_000_000;
/// Who reads hears within milliseconds that it was ended.
const HANGS_US: u64 = 5_000_000;

/// The last phase, in which it cannot be ended any more.
const NAMING: &str = "gives the tables their names";

pub(super) struct Restore {
    /// What it is about now.
    phase: Cell<&'static str>,
    pipeline: Arc<Pipeline>,
    /// The moment that is restored.
    moment: Cell<i64>,
    tables: Cell<usize>,
    began: u64,
    /// How many rows there are then.
    outcome: RefCell<Option<Result<u64, String>>>,
}

impl Jobs {
    pub fn start_restore(
        self: &Rc<Jobs>,
        client: &Client,
        request: &Value,
    ) -> Result<Value, String> {
        let text = |name: &str| request.get(name).and_then(Value::as_str);
        let dir = PathBuf::from(text("dir").ok_or("restore needs \"dir\"")?);
        let until =
            match (request.get("until").and_then(Value::as_i64), text("archive")) {
                (Some(until), Some(archive)) => Some((until, PathBuf::from(archive))),
                (None, None) => None,
                _ => return Err(
                    "a moment to restore to needs the archive's directory, and the other way round"
                        .into(),
                ),
            };
        if self.restore_going_on().is_some() {
            return Err("this node restores another backup: wait for it, or ABORT RESTORE".into());
        }
        let source = Source { dir, secret: secret_of(request)?, until };
        let wanted = Wanted::of(request);
        let restore = Rc::new(Restore {
            phase: Cell::new("looks through the files"),
            pipeline: Arc::new(Pipeline::new(usize::from(client.state().shard_count()))),
            moment: Cell::new(0),
            tables: Cell::new(0),
            began: clock::now(),
            outcome: RefCell::new(None),
        });
        *self.restore.borrow_mut() = Some(Rc::clone(&restore));
        self.restore_count.set(self.restore_count.get() + 1);
        let (jobs, client) = (Rc::clone(self), client.clone());
        self.spawned.borrow_mut().push(Box::pin(async move {
            let shown = source.dir.display().to_string();
            let log = Arc::clone(&jobs.shared.log);
            log.info(&format!("the restore of {shown} begins"));
            let mut made = Made::default();
            let outcome = jobs.restore_all(&client, source, &wanted, &restore, &mut made).await;
            if outcome.is_err() {
                restore.phase.set("drops what it has made");
                made.drop_unfinished(&client).await;
            }
            match &outcome {
                Ok(rows) => log.info(&format!("the restore of {shown} is done: {rows} rows")),
                Err(why) => log.warn(&format!("the restore of {shown} failed: {why}")),
            }
            *restore.outcome.borrow_mut() = Some(outcome);
        }));
        Ok(json!({ "ok": true }))
    }

    fn restore_going_on(&self) -> Option<Rc<Restore>> {
        let restore = self.restore.borrow();
        restore.as_ref().filter(|restore| restore.outcome.borrow().is_none()).cloned()
    }

    /// It ends soon.
    pub fn abort_restore(&self) -> Result<Value, String> {
        let restore = self.restore_going_on().ok_or("this node restores nothing")?;
        if restore.phase.get() == NAMING {
            return Err("its tables are getting their names: it is done in a moment".into());
        }
        restore.pipeline.fail("it was aborted".into());
        Ok(json!({ "ok": true }))
    }

    pub fn restore_status(&self) -> Value {
        let restore = self.restore.borrow();
        let Some(restore) = restore.as_ref() else { return json!({ "state": "none" }) };
        let pipeline = &restore.pipeline;
        let outcome = restore.outcome.borrow();
        let (state, rows) = match &*outcome {
            None => ("running", pipeline.rows_written.load(Ordering::Relaxed)),
            Some(Ok(rows)) => ("done", *rows),
            Some(Err(_)) => ("failed", 0),
        };
        let mut answer = json!({
            "state": state,
            "phase": restore.phase.get(),
            "tables": restore.tables.get(),
            "rows": rows,
            "rows_read": pipeline.rows_read.load(Ordering::Relaxed),
            "bytes": pipeline.bytes_written.load(Ordering::Relaxed),
            "seconds": (clock::now() - restore.began) as f64 / 1e6,
        });
        if restore.moment.get() > 0 {
            answer["moment"] = json!(format_unix_micros(restore.moment.get()));
        }
        if let Some(Err(why)) = &*outcome {
            answer["why"] = json!(why);
        }
        answer
    }

    async fn restore_all(
        self: &Rc<Jobs>,
        client: &Client,
        source: Source,
        wanted: &Wanted,
        restore: &Restore,
        made: &mut Made,
    ) -> Result<u64, String> {
        let pipeline = &restore.pipeline;
        let found = {
            let pipeline = Arc::clone(pipeline);
            let find = move || restore::find(&source, &pipeline);
            let found =
                on_thread_until(client, "restore", hangs(Arc::clone(&restore.pipeline)), find)
                    .await?;
            found.ok_or_else(|| restore.pipeline.failure().expect("that is why"))??
        };
        restore.moment.set(found.unix_micros);
        restore.phase.set("creates the tables");
        let tables = wanted.tables_of(&found.history.catalogue)?;
        restore.tables.set(tables.len());
        check_free(client, &tables)?;
        wanted.create_databases(client, &found.history.catalogue, &tables).await?;
        let node = &self.shared.node;
        for (number, table) in tables.iter().enumerate() {
            pipeline.go_on()?;
            let rest = format!("restore-{}-{number}", self.restore_count.get());
            let name = unfinished_name(node.node, node.incarnation, &rest);
            made.create(client, &found.history.catalogue, table, name).await?;
        }
        restore.phase.set("restores the rows");
        let found_catalogue = found.history.catalogue.clone();
        self.restore_rows(client, found, &made.targets, pipeline).await?;
        restore.phase.set("waits for the disks");
        let mut session = client.session();
        let sequences = pipeline.sequences.lock().expect("its threads have ended").clone();
        for Target { from, to, .. } in &made.tables {
            if let Some(next) = sequences.get(&from.id).filter(|next| **next > 1) {
                let raised = session.auto_increment_at_least(to, next - 1).await;
                raised.map_err(|refusal| {
                    format!("AUTO_INCREMENT of {}: {}", quoted(from), words(refusal, client))
                })?;
            }
        }
        let is_given_up = || pipeline.go_on().is_err();
        let durable = session.await_checkpoint_unless(&is_given_up).await;
        durable.map_err(|refusal| words(refusal, client))?;
        pipeline.go_on()?;
        restore.phase.set(NAMING);
        let ids: BTreeSet<TableId> = made.tables.iter().map(|table| table.to.id).collect();
        made.name_all(client).await?;
        wanted.create_views(client, &found_catalogue).await?;
        let rows = row_count(client, &ids).await;
        Ok(rows.unwrap_or_else(|| pipeline.rows_written.load(Ordering::Relaxed)))
    }

    /// Returns when no task writes any more, and no thread reads except one that hangs.
    async fn restore_rows(
        &self,
        client: &Client,
        found: Found,
        targets: &BTreeMap<TableId, Target>,
        pipeline: &Arc<Pipeline>,
    ) -> Result<(), String> {
        let state = client.state();
        let read = {
            let (pipeline, buckets) = (Arc::clone(pipeline), state.buckets.clone());
            let (threads, targets) = (self.shared.worker_count().max(2), targets.clone());
            let hangs = hangs(Arc::clone(&pipeline));
            on_thread_until(client, "restore", hangs, move || {
                restore::read_all(&found, &targets, &buckets, &pipeline, threads);
            })
        };
        let lanes_left = Rc::new(Cell::new(usize::from(state.shard_count())));
        for lane in 0..lanes_left.get() {
            let (pipeline, left) = (Arc::clone(pipeline), Rc::clone(&lanes_left));
            let mut session = client.session();
            // The end waits for the disks, once for all.
            session.set_durability(Some(Durability::Memory));
            self.spawned.borrow_mut().push(Box::pin(async move {
                if let Err(why) = write_lane(session, &pipeline, lane).await {
                    pipeline.fail(why);
                }
                left.set(left.get() - 1);
            }));
        }
        if let Err(why) = read.await {
            pipeline.fail(why);
        }
        while lanes_left.get() > 0 {
            client.sleep_ms(POLL_MS).await;
        }
        pipeline.go_on()
    }
}

/// It was ended a while ago, and whoever reads has not heard of it yet: the files are on something that hangs.
fn hangs(pipeline: Arc<Pipeline>) -> impl FnMut() -> bool {
    let mut ended = None;
    move || {
        if pipeline.failure().is_some() {
            ended.get_or_insert(clock::now());
        }
        ended.is_some_and(|ended: u64| HANGS_US <= clock::now() - ended)
    }
}

fn quoted(table: &Table) -> String {
    quoted_name(&table.database, &table.name)
}
fn quoted_name(database: &str, table: &str) -> String {
    format!("`{database}`.`{table}`")
}

/// Which tables: all, or those that are named.
#[derive(Default)]
struct Wanted {
    databases: Vec<String>,
    tables: Vec<(String, String)>,
}

impl Wanted {
    fn of(request: &Value) -> Wanted {
        let array = |name: &str| request.get(name).and_then(Value::as_array).into_iter().flatten();
        let table = |table: &Value| {
            let part = |name: &str| Some(table.get(name)?.as_str()?.to_string());
            Some((part("database")?, part("table")?))
        };
        Wanted {
            databases: array("databases").filter_map(|name| Some(name.as_str()?.into())).collect(),
            tables: array("tables").filter_map(table).collect(),
        }
    }

    fn is_all(&self) -> bool {
        self.databases.is_empty() && self.tables.is_empty()
    }

    /// In the order of their ids. Tables that a statement was filling then are left out.
    fn tables_of(&self, catalogue: &Catalogue) -> Result<Vec<Arc<Table>>, String> {
        for name in &self.databases {
            if catalogue.database(name).is_none() {
                return Err(format!("there was no database `{name}` then"));
            }
        }
        let mut found: BTreeMap<TableId, Arc<Table>> = BTreeMap::new();
        for (database, name) in &self.tables {
            let table = catalogue.table(database, name).filter(|table| is_finished(table));
            let table = table.ok_or_else(|| {
                format!("there was no table {} then", quoted_name(database, name))
            })?;
            found.insert(table.id, Arc::clone(table));
        }
        let is_wanted = |database: &str| {
            let is_named = |name: &String| name.eq_ignore_ascii_case(database);
            self.is_all() || self.databases.iter().any(is_named)
        };
        for database in catalogue.databases.values().filter(|database| is_wanted(&database.name)) {
            let tables = database.tables.values().filter_map(|id| catalogue.tables.get(id));
            let tables = tables.filter(|table| is_finished(table));
            found.extend(tables.map(|table| (table.id, Arc::clone(table))));
        }
        for table in found.values() {
            table.check().map_err(|what| {
                format!("what the backup says of table {} is damaged: {what}", quoted(table))
            })?;
        }
        Ok(found.into_values().collect())
    }

    /// Those of the databases that are restored. A view whose name is taken stays as it is in the cluster.
    async fn create_views(&self, client: &Client, old: &Catalogue) -> Result<(), String> {
        for view in old.views.values() {
            let is_named = |name: &String| name.eq_ignore_ascii_case(&view.database);
            let is_wanted = self.is_all() || self.databases.iter().any(is_named);
            if !is_wanted || client.catalogue().is_taken(&view.database, &view.name) {
                continue;
            }
            let change =
                SchemaChange::CreateView { view: Box::new((**view).clone()), replaces: false };
            match client.session().change_schema(change).await {
                Ok(_) | Err(Refusal::Schema(SchemaError::TableExists(_))) => {}
                Err(refusal) => {
                    let why = words(refusal, client);
                    let name = quoted_name(&view.database, &view.name);
                    return Err(format!("the tables are restored, but not view {name}: {why}"));
                }
            }
        }
        Ok(())
    }

    /// Those that are not there: of these tables, and such as are wanted without any.
    async fn create_databases(
        &self,
        client: &Client,
        old: &Catalogue,
        tables: &[Arc<Table>],
    ) -> Result<(), String> {
        for database in old.databases.values() {
            let is_named = |name: &str| name.eq_ignore_ascii_case(&database.name);
            let is_wanted = self.is_all()
                || self.databases.iter().any(|name| is_named(name))
                || tables.iter().any(|table| is_named(&table.database));
            if !is_wanted || client.catalogue().database(&database.name).is_some() {
                continue;
            }
            let (name, collation) = (database.name.clone(), database.collation);
            let change = SchemaChange::CreateDatabase { name, collation };
            match client.session().change_schema(change).await {
                Ok(_) | Err(Refusal::Schema(SchemaError::DatabaseExists(_))) => {}
                Err(refusal) => {
                    let why = words(refusal, client);
                    return Err(format!("database `{}` cannot be created: {why}", database.name));
                }
            }
        }
        Ok(())
    }
}

fn is_finished(table: &Table) -> bool {
    table.state == TableState::Public && !is_unfinished(&table.name)
}

fn check_free(client: &Client, tables: &[Arc<Table>]) -> Result<(), String> {
    let catalogue = client.catalogue();
    let is_taken = |table: &&Arc<Table>| catalogue.is_taken(&table.database, &table.name);
    let taken: Vec<String> = tables.iter().filter(is_taken).map(|table| quoted(table)).collect();
    match taken.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "there is a table {} already: rename or drop it, or restore others (--table, --database)",
            taken.join(", ")
        )),
    }
}

/// Tables that have no names yet.
#[derive(Default)]
struct Made {
    tables: Vec<Target>,
    /// By the table's id in the backup, those that enforce unique keys too.
    targets: BTreeMap<TableId, Target>,
}

impl Made {
    async fn create(
        &mut self,
        client: &Client,
        old: &Catalogue,
        table: &Arc<Table>,
        name: String,
    ) -> Result<(), String> {
        let mut definition = (**table).clone();
        definition.name = name;
        definition.indexes.retain(|index| index.state == IndexState::Public);
        let change = SchemaChange::CreateTable(Box::new(definition.clone()));
        let changed = client.session().change_schema(change).await;
        let catalogue = changed.map_err(|refusal| {
            format!("table {} cannot be created: {}", quoted(table), words(refusal, client))
        })?;
        let to = catalogue.table(&definition.database, &definition.name).cloned();
        let to = to.ok_or_else(|| {
            format!("database `{}` was dropped while it was restored", table.database)
        })?;
        for (old_index, new_index) in definition.indexes.iter().zip(&to.indexes) {
            if let (IndexKind::Unique { entries: from }, IndexKind::Unique { entries: to }) =
                (&old_index.kind, &new_index.kind)
                && let (Some(from), Some(to)) = (old.tables.get(from), catalogue.tables.get(to))
            {
                let (from, to) = (Arc::clone(from), Arc::clone(to));
                self.targets.insert(from.id, Target { from, to });
            }
        }
        let target = Target { from: Arc::clone(table), to };
        self.tables.push(target.clone());
        self.targets.insert(table.id, target);
        Ok(())
    }

    /// Gives the tables their names, one after the other. If a name was taken meanwhile that table and those behind it are left.
    async fn name_all(&mut self, client: &Client) -> Result<(), String> {
        let named: Vec<Arc<Table>> =
            self.tables.iter().map(|table| Arc::clone(&table.from)).collect();
        check_free(client, &named)?;
        let mut done = Vec::new();
        while let Some(Target { from, to }) = self.tables.first() {
            let (database, name) = (from.database.clone(), from.name.clone());
            let change = SchemaChange::RenameTable { id: to.id, database, name };
            if let Err(refusal) = client.session().change_schema(change).await {
                let why = words(refusal, client);
                let others = match done.is_empty() {
                    true => String::new(),
                    false => format!("; restored are {}", done.join(", ")),
                };
                return Err(format!("{} cannot get its name: {why}{others}", quoted(from)));
            }
            done.push(quoted(from));
            self.tables.remove(0);
        }
        Ok(())
    }

    async fn drop_unfinished(&self, client: &Client) {
        for Target { to, .. } in &self.tables {
            // Refused only when it is gone already, with its database.
            let change = SchemaChange::DropTable { id: to.id };
            let _: Result<_, Refusal> = client.session().change_schema(change).await;
        }
    }
}

/// As the members of the groups count them; None: no member of some group answered.
async fn row_count(client: &Client, tables: &BTreeSet<TableId>) -> Option<u64> {
    let reports = client.session().report(None, ReportRequest::Memory).await;
    let mut count = 0;
    for group in client.state().groups.values() {
        let counted = group.active().find_map(|member| {
            let report = reports.iter().find(|(node, _)| *node == member);
            let Some((_, Report::Memory(memory))) = report else { return None };
            let own = memory.tables.iter().filter(|table| tables.contains(&table.table));
            Some(own.map(|table| table.rows).sum::<u64>())
        });
        count += counted?;
    }
    Some(count)
}

/// Writes what comes through a lane until nothing more does.
async fn write_lane(mut session: Session, pipeline: &Pipeline, lane: usize) -> Result<(), String> {
    let client = session.client().clone();
    loop {
        let batch = match pipeline.take(lane) {
            Err(()) => return Ok(()),
            Ok(None) => {
                client.sleep_ms(POLL_MS).await;
                continue;
            }
            Ok(Some(batch)) => batch,
        };
        let rows = batch.iter().filter(|change| change.is_of_visible).count() as u64;
        let bytes = batch.iter().map(Change::bytes).sum::<usize>();
        write_batch(&mut session, &client, batch).await?;
        pipeline.rows_written.fetch_add(rows, Ordering::Relaxed);
        pipeline.bytes_written.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

async fn write_batch(
    session: &mut Session,
    client: &Client,
    batch: Vec<Change>,
) -> Result<(), String> {
    let began = client.now();
    let mut ops: Vec<(TableId, OpKind)> = Vec::with_capacity(batch.len());
    for Change { table, key, row, .. } in batch {
        let key = Bytes(key);
        ops.push(match row {
            Some(row) => (table, OpKind::Put { key, row: Bytes(row) }),
            None => (table, OpKind::Delete { key, filter: None }),
        });
    }
    loop {
        let catalogue = client.catalogue();
        let with_version = |(table, kind): &(TableId, OpKind)| {
            let version = catalogue.table_by_id(*table)?.version;
            Some(Op { table: *table, version, kind: kind.clone() })
        };
        let ops: Option<Vec<Op>> = ops.iter().map(with_version).collect();
        let ops = ops.ok_or("a table was dropped while its rows were restored")?;
        let batch = Batch {
            ops,
            commit: true,
            lock_wait_timeout_ms: LOCK_WAIT_TIMEOUT_MS,
            ..Batch::default()
        };
        session.next_statement();
        match session.execute(batch).await {
            Ok(_) => return Ok(()),
            // Done again, it is the same.
            Err(
                Refusal::Deadlock
                | Refusal::LockWaitTimeout
                | Refusal::RolledBack
                | Refusal::OutcomeUnknown(_)
                | Refusal::SchemaChanged { .. }
                | Refusal::DefinitionChanged { .. }
                | Refusal::Unavailable(_),
            ) if client.now() < began + RETRY_US => client.sleep_ms(100).await,
            Err(Refusal::MemoryFull { .. }) => {
                return Err("the memory for rows is full: give the nodes more (--memory)".into());
            }
            Err(refusal) => {
                return Err(format!("rows cannot be written: {}", words(refusal, client)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use sql::bind::table::filler_of;
    use types::{Incarnation, NodeId};

    /// The name of a table that is being filled has its filler.
    #[test]
    fn unfinished_tables_are_somebodys() {
        let (node, boot) = (NodeId(3), Incarnation(0xabc));
        let name = unfinished_name(node, boot, "restore-1-0");
        assert!(is_unfinished(&name));
        assert_eq!(filler_of(&name), Some((node, boot)));
        for name in ["t", "#sql-", "#sql-3-abc", "#sql-3", "#sql-x-abc-1", "#sql-3-xyz-1"] {
            let unfinished = format!("{name} ");
            assert_eq!((filler_of(name), filler_of(&unfinished)), (None, None), "{name}");
        }
    }

    /// A definition that no table has does not come to the control plane, whose every node would end of it, at every start.
    #[test]
    fn definitions_are_checked() {
        let whole = kernel::bootstrap_catalogue();
        let (_, some) = whole.tables.first_key_value().expect("it has hidden tables");
        let spoiled: [fn(&mut Table); 5] = [
            |_| (),
            |table| table.indexes.clear(),
            |table| table.indexes[0].kind = types::IndexKind::Ordinary,
            |table| table.indexes[0].parts[0].column = 999,
            |table| table.indexes[0].parts.clear(),
        ];
        for (index, spoil) in spoiled.iter().enumerate() {
            let mut catalogue = Catalogue::default();
            let (id, database, name) = (TableId(100), "d".to_string(), "t".to_string());
            let mut table = Table { id, database, name, ..(**some).clone() };
            spoil(&mut table);
            let tables = BTreeMap::from([("t".to_string(), id)]);
            let of = types::Database { name: "d".into(), collation: some.collation, tables };
            catalogue.databases.insert("d".into(), of);
            catalogue.tables.insert(id, Arc::new(table));
            let wanted = Wanted { databases: Vec::new(), tables: Vec::new() };
            let found = wanted.tables_of(&catalogue);
            assert_eq!(found.is_ok(), index == 0, "{index}: {found:?}");
        }
    }

    /// Tables that CREATE TABLE ... SELECT or another restore was filling when the backup was made are left out, by whatever name they
    /// are requested; so are tables that were being dropped.
    #[test]
    fn unfinished_tables_are_left() {
        let mut catalogue = kernel::bootstrap_catalogue();
        let (_, some) = catalogue.tables.first_key_value().expect("it has hidden tables");
        let some = (**some).clone();
        let mut database = types::Database {
            name: "d".into(),
            collation: some.collation,
            tables: BTreeMap::new(),
        };
        for (id, name, state) in [
            (100, "t", TableState::Public),
            (101, "#sql-2-00000000000000ff-7 ", TableState::Public),
            (102, "gone", TableState::Dropping),
        ] {
            let table = Table {
                id: TableId(id),
                database: "d".into(),
                name: name.into(),
                state,
                ..some.clone()
            };
            database.tables.insert(name.into(), table.id);
            catalogue.tables.insert(table.id, Arc::new(table));
        }
        catalogue.databases.insert("d".into(), database);
        let found = |databases: &[&str], tables: &[&str]| {
            let wanted = Wanted {
                databases: databases.iter().map(ToString::to_string).collect(),
                tables: tables.iter().map(|name| ("d".into(), name.to_string())).collect(),
            };
            let found = wanted.tables_of(&catalogue)?;
            Ok::<_, String>(found.iter().map(|table| table.name.clone()).collect::<Vec<_>>())
        };
        assert_eq!(found(&[], &[]), Ok(vec!["t".to_string()]));
        assert_eq!(found(&["D"], &[]), Ok(vec!["t".to_string()]));
        assert_eq!(found(&[], &["t"]), Ok(vec!["t".to_string()]));
        for name in ["#sql-2-00000000000000ff-7 ", "gone", "none"] {
            let said = format!("there was no table `d`.`{name}` then");
            assert_eq!(found(&[], &[name]), Err(said));
        }
        assert_eq!(found(&["none"], &[]), Err("there was no database `none` then".into()));
    }
}
