//! Applying schema changes to the catalogue.
//!
//! Every change moves the catalogue's version by one and gives that version to the tables it touches. A dropped table is
//! first hidden and only removed when every node has adopted that (rule R27), so no statement loses its table in mid-flight.
//!
//! Who asked for an index fills it and publishes it. If its boot is over before that, the index is dropped.

mod copies;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use protocol::control::{ControlState, SchemaRequest};
use protocol::schema::{SchemaChange, SchemaError, entries_name, unique_entries_table};
use types::{
    Account, AccountName, Catalogue, Database, Index, IndexId, IndexKind, IndexState, Reference,
    Rewriting, SchemaVersion, Table, TableId, TableState, ViewDefinition,
};

use copies::{
    abandoned_copies, at_rest, closes_or_opens, copy_goes_to, drop_copy, forget_copy, remove_copy,
    replace_table,
};
pub(super) use copies::{open_abandoned, overtakes};

/// More would make the control state too large to send as one message.
const TABLES_MAX: usize = 20_000;
/// For the same reason.
const VIEWS_MAX: usize = 20_000;
const VIEW_BYTES_MAX: usize = 16 << 20;
const ACCOUNT_BYTES_MAX: u64 = 16 << 20;
/// MySQL's 64, and the primary key of the hidden row id.
const INDEXES_MAX: usize = 65;

pub(super) fn change(
    state: &mut ControlState,
    request: &SchemaRequest,
    change: &SchemaChange,
) -> Result<(), SchemaError> {
    let catalogue = &mut state.catalogue;
    let version = SchemaVersion(catalogue.version.0 + 1);
    match change {
        SchemaChange::CreateDatabase { name, collation } => {
            if catalogue.database(name).is_some() {
                return Err(SchemaError::DatabaseExists(name.clone()));
            }
            let database =
                Database { name: name.clone(), collation: *collation, tables: Default::default() };
            catalogue.databases.insert(name.to_lowercase(), database);
        }
        SchemaChange::DropDatabase { name } => {
            let Some(database) = catalogue.databases.remove(&name.to_lowercase()) else {
                return Err(SchemaError::UnknownDatabase(name.clone()));
            };
            for id in database.tables.into_values() {
                hide(catalogue, id, version);
            }
            let lower = name.to_lowercase();
            catalogue.views.retain(|(database, _), _| *database != lower);
        }
        SchemaChange::CreateTable(table) => {
            create_table(catalogue, (**table).clone(), version)?;
        }
        SchemaChange::DropTable { id } => {
            let table = at_rest(catalogue, *id)?;
            unname(catalogue, &table);
            hide(catalogue, *id, version);
            if let Some(of) = table.rewriting.copy_of {
                forget_copy(catalogue, of, *id, version);
            }
        }
        SchemaChange::TruncateTable { id } => {
            let table = at_rest(catalogue, *id)?;
            // Refused before anything is changed.
            check_table_count(catalogue)?;
            unname(catalogue, &table);
            hide(catalogue, *id, version);
            let mut empty = (*table).clone();
            // Indexes on their way in or out are not of the new table.
            empty.indexes.retain(|index| index.state == IndexState::Public);
            if let Some(sequence) = &mut empty.auto_increment {
                sequence.start = 1;
            }
            create_table(catalogue, empty, version)?;
        }
        SchemaChange::CreateIndex { table, index } => {
            let index = create_index(catalogue, *table, index, version)?;
            state.index_builds.insert((*table, index), request.clone());
        }
        SchemaChange::PublishIndex { table, index, asked } => {
            let begun = SchemaRequest { sequence: *asked, ..request.clone() };
            if state.index_builds.get(&(*table, *index)) != Some(&begun) {
                return Err(SchemaError::UnknownIndex(index.to_string()));
            }
            let mut table = (*known(catalogue, *table)?).clone();
            let found = known_index(&mut table, *index)?;
            found.state = match found.state {
                IndexState::DeleteOnly => IndexState::Building,
                _ => IndexState::Public,
            };
            if let (IndexState::Public, IndexKind::Unique { entries }) = (found.state, &found.kind)
            {
                give_rows(catalogue, *entries, version);
            }
            store(catalogue, table, version);
        }
        SchemaChange::DropIndex { table, index, name } => {
            let named = known(catalogue, *table)?.index_named(name).map(|index| index.id);
            if named != Some(*index) {
                return Err(SchemaError::UnknownIndex(name.clone()));
            }
            at_rest(catalogue, *table)?;
            drop_index(catalogue, *table, *index, version)?;
        }
        SchemaChange::GiveUpIndex { asked } => {
            let begun = SchemaRequest { sequence: *asked, ..request.clone() };
            let mut builds = state.index_builds.iter();
            let Some(((table, index), _)) = builds.find(|(_, build)| **build == begun) else {
                return Err(SchemaError::UnknownIndex(format!("of request {asked}")));
            };
            drop_index(catalogue, *table, *index, version)?;
        }
        SchemaChange::Withdraw => return Err(SchemaError::Withdrawn),
        SchemaChange::RenameTable { id, database, name } => {
            rename_table(catalogue, *id, database, name, version)?;
        }
        SchemaChange::RenameIndex { table, index, from, to } => {
            rename_index(catalogue, *table, *index, (from, to), version)?;
        }
        SchemaChange::CreateView { view, replaces } => create_view(catalogue, view, *replaces)?,
        SchemaChange::DropView { database, name } => {
            if catalogue.views.remove(&(database.to_lowercase(), name.clone())).is_none() {
                return Err(unknown_view(database, name));
            }
        }
        SchemaChange::RenameView { database, name, to } => {
            if catalogue.is_taken(database, to) {
                return Err(SchemaError::TableExists(to.clone()));
            }
            let renamed = catalogue.views.remove(&(database.to_lowercase(), name.clone()));
            let mut view = (*renamed.ok_or_else(|| unknown_view(database, name))?).clone();
            view.name.clone_from(to);
            catalogue.views.insert(view.key(), Arc::new(view));
        }
        SchemaChange::AlterTable { table, version: planned } => {
            alter_table(catalogue, table, *planned, version)?;
        }
        SchemaChange::ReplaceTable { table, version: planned } => {
            replace_table(catalogue, *table, *planned, version)?;
        }
        SchemaChange::ChangeAccounts { drop, put, version } => {
            change_accounts(catalogue, drop, put, *version)?;
        }
    }
    link(catalogue, version);
    catalogue.version = version;
    forget_builds(state);
    Ok(())
}

fn change_accounts(
    catalogue: &mut Catalogue,
    drop: &[AccountName],
    put: &[Account],
    version: u64,
) -> Result<(), SchemaError> {
    if catalogue.accounts.version != version {
        return Err(SchemaError::AccountsChanged);
    }
    let mut accounts = (*catalogue.accounts).clone();
    for name in drop {
        accounts.remove(name);
    }
    put.iter().for_each(|account| accounts.put(account.clone()));
    if ACCOUNT_BYTES_MAX < accounts.bytes() {
        let limit = format!("bytes of accounts and grants (at most {ACCOUNT_BYTES_MAX})");
        return Err(SchemaError::TooMany(limit));
    }
    accounts.version += 1;
    catalogue.accounts = Arc::new(accounts);
    Ok(())
}

fn alter_table(
    catalogue: &mut Catalogue,
    table: &Table,
    planned: SchemaVersion,
    version: SchemaVersion,
) -> Result<(), SchemaError> {
    let own = known(catalogue, table.id)?;
    if own.version != planned || !keeps_rows(&own, table) {
        return Err(SchemaError::TableChanged(table.name.clone()));
    }
    let (before, after) = (&own.rewriting, &table.rewriting);
    if own.closed_by != table.closed_by {
        if !closes_or_opens(&own, table) {
            return Err(SchemaError::TableBusy(table.name.clone()));
        }
    } else if before == after {
        at_rest(catalogue, table.id)?;
    } else if !copy_goes_to(catalogue, &own, after) {
        return Err(SchemaError::TableBusy(table.name.clone()));
    }
    check_names(catalogue, table, Some(table.id))?;
    store(catalogue, table.clone(), version);
    if let (Some(copy), None) = (&before.copy, &after.copy) {
        drop_copy(catalogue, copy.table, version);
    }
    Ok(())
}

/// The tables that enforce a table's unique keys are called after it, in reports.
fn name_entries(catalogue: &mut Catalogue, table: &Table, version: SchemaVersion) {
    for index in &table.indexes {
        if let IndexKind::Unique { entries } = index.kind
            && let Some(entries) = catalogue.tables.get(&entries)
        {
            let mut named = (**entries).clone();
            named.name = entries_name(table, index);
            named.database.clone_from(&table.database);
            store(catalogue, named, version);
        }
    }
}

/// The entries of a unique key are all there, for snapshots from now on.
fn give_rows(catalogue: &mut Catalogue, entries: TableId, version: SchemaVersion) {
    if let Some(entries) = catalogue.tables.get(&entries) {
        let mut entries = (**entries).clone();
        entries.rewriting.rows_since = version;
        store(catalogue, entries, version);
    }
}

/// Is a row of one definition also a row of the other? Both are in use until every node has adopted the change (rule R27). A closed
/// table has no users: its rows become rows of a definition with more columns, whose rows no user of the old one reads.
fn keeps_rows(old: &Table, new: &Table) -> bool {
    let size = |column: &types::Column| column.column_type.fixed_size();
    let Some(added) = new.columns.get(old.columns.len()..) else { return false };
    let has_value = |column: &types::Column| column.missing.is_some();
    (added.is_empty() || (old.closed_by.is_some() && added.iter().all(has_value)))
        && old.columns.iter().zip(&new.columns).all(|(old, new)| size(old) == size(new))
}

/// Brings `referenced_by` of all tables up to date. A parent whose children change gets the version of the change: so it is adopted
/// when no transaction changes the parent without regard for them.
fn link(catalogue: &mut Catalogue, version: SchemaVersion) {
    let mut references: BTreeMap<TableId, Vec<Reference>> = BTreeMap::new();
    for table in catalogue.tables.values() {
        if !table.constraints.referenced_by.is_empty() {
            references.entry(table.id).or_default();
        }
        // A copy is no child: the rows that it is a copy of are.
        if table.state != TableState::Public || table.rewriting.copy_of.is_some() {
            continue;
        }
        for key in &table.constraints.foreign_keys {
            if let Some(parent) = catalogue.table(&key.parent_database, &key.parent_table) {
                let reference = Reference { child: table.id, key: key.clone() };
                references.entry(parent.id).or_default().push(reference);
            }
        }
    }
    for (parent, referenced_by) in references {
        let table = &catalogue.tables[&parent];
        if table.constraints.referenced_by != referenced_by {
            let mut table = (**table).clone();
            table.constraints.referenced_by = referenced_by;
            store(catalogue, table, version);
        }
    }
}

/// Of the indexes that are public by now, or gone.
fn forget_builds(state: &mut ControlState) {
    let catalogue = &state.catalogue;
    state.index_builds.retain(|(table, index), _| {
        let table = catalogue.tables.get(table).filter(|table| table.state == TableState::Public);
        let index = table.and_then(|table| table.index(*index));
        index.is_some_and(|index| index.state != IndexState::Public && !is_dropped(index.state))
    });
}

/// Whether a table or an index is being dropped, or an index is being created that no session fills any more.
pub(super) fn has_dropped(state: &ControlState) -> bool {
    let is_dropped = |index: &Index| is_dropped(index.state);
    let mut tables = state.catalogue.tables.values();
    tables.any(|table| table.state == TableState::Dropping || table.indexes.iter().any(is_dropped))
        || abandoned(state).next().is_some()
        || abandoned_copies(state).next().is_some()
}

fn is_dropped(state: IndexState) -> bool {
    matches!(state, IndexState::Dropping | IndexState::Ending)
}

fn abandoned(state: &ControlState) -> impl Iterator<Item = (TableId, IndexId)> {
    let builds = state.index_builds.iter();
    builds.filter(|(_, build)| state.is_over(build.incarnation)).map(|(index, _)| *index)
}

/// Removes the tables that every node has stopped using, takes dropped unique keys one step further, and drops indexes that no
/// session fills any more.
pub(super) fn remove_dropped(state: &mut ControlState) {
    let abandoned: Vec<(TableId, IndexId)> = abandoned(state).collect();
    let copies: Vec<(TableId, TableId)> = abandoned_copies(state).collect();
    let catalogue = &mut state.catalogue;
    let version = SchemaVersion(catalogue.version.0 + 1);
    catalogue.tables.retain(|_, table| table.state != TableState::Dropping);
    let concerned = catalogue
        .tables
        .values()
        .filter(|table| table.indexes.iter().any(|index| is_dropped(index.state)));
    let concerned: Vec<Arc<Table>> = concerned.cloned().collect();
    for table in concerned {
        let mut table = (*table).clone();
        let mut entries_left = Vec::new();
        table.indexes.retain_mut(|index| match (index.state, &index.kind) {
            (IndexState::Dropping, _) => {
                index.state = IndexState::Ending;
                true
            }
            (IndexState::Ending, IndexKind::Unique { entries }) => {
                entries_left.push(*entries);
                false
            }
            _ => true,
        });
        store(catalogue, table, version);
        for entries in entries_left {
            hide(catalogue, entries, version);
        }
    }
    for (table, index) in abandoned {
        // It is there, for its build is known. Whatever is wrong, no voter may stop for it.
        let _: Result<(), SchemaError> = drop_index(catalogue, table, index, version);
    }
    for (table, copy) in copies {
        forget_copy(catalogue, table, copy, version);
        drop_copy(catalogue, copy, version);
    }
    catalogue.version = version;
    forget_builds(state);
}

/// No node uses the schema, as in a cluster restart: unfinished drops and indexes end at once.
pub(super) fn settle(state: &mut ControlState) {
    let is_on_its_way = |index: &Index| index.state != IndexState::Public;
    let catalogue = &mut state.catalogue;
    let version = SchemaVersion(catalogue.version.0 + 1);
    let count = catalogue.tables.len();
    catalogue.tables.retain(|_, table| table.state != TableState::Dropping);
    let tables = catalogue.tables.values();
    let concerned = tables.filter(|table| {
        let is_altered = table.rewriting.copy.is_some() || table.closed_by.is_some();
        is_altered || table.indexes.iter().any(is_on_its_way)
    });
    let concerned: Vec<Arc<Table>> = concerned.cloned().collect();
    if concerned.is_empty() && catalogue.tables.len() == count {
        return;
    }
    for table in concerned {
        let mut table = (*table).clone();
        for index in table.indexes.extract_if(.., |index| is_on_its_way(index)) {
            if let IndexKind::Unique { entries } = index.kind {
                catalogue.tables.remove(&entries);
            }
        }
        table.closed_by = None;
        if let Some(copy) = table.rewriting.copy.take() {
            remove_copy(catalogue, copy.table);
        }
        store(catalogue, table, version);
    }
    catalogue.version = version;
    forget_builds(state);
}

fn drop_index(
    catalogue: &mut Catalogue,
    table: TableId,
    index: IndexId,
    version: SchemaVersion,
) -> Result<(), SchemaError> {
    let mut table = (*known(catalogue, table)?).clone();
    let found = known_index(&mut table, index)?;
    if matches!(found.kind, IndexKind::Unique { .. }) {
        found.state = match found.state {
            IndexState::Public => IndexState::Dropping,
            _ => IndexState::Ending,
        };
        // The name is free for another index at once.
        found.name.insert(0, '#');
    } else {
        table.indexes.retain(|candidate| candidate.id != index);
    }
    store(catalogue, table, version);
    Ok(())
}

/// An index that is neither the primary key's nor dropped.
fn known_index(table: &mut Table, id: IndexId) -> Result<&mut Index, SchemaError> {
    let mut indexes = table.indexes.iter_mut();
    let found = indexes.find(|i| i.id == id && i.id != IndexId(0) && !is_dropped(i.state));
    found.ok_or_else(|| SchemaError::UnknownIndex(id.to_string()))
}

fn known(catalogue: &Catalogue, id: TableId) -> Result<Arc<Table>, SchemaError> {
    let table = catalogue.tables.get(&id).filter(|table| table.state == TableState::Public);
    table.cloned().ok_or_else(|| SchemaError::UnknownTable(format!("#{id}")))
}

fn store(catalogue: &mut Catalogue, mut table: Table, version: SchemaVersion) {
    table.version = version;
    catalogue.tables.insert(table.id, Arc::new(table));
}

fn next_table_id(catalogue: &mut Catalogue) -> TableId {
    let id = TableId(catalogue.table_id_next);
    catalogue.table_id_next += 1;
    id
}

/// Takes a table's name away.
fn unname(catalogue: &mut Catalogue, table: &Table) {
    if let Some(database) = catalogue.databases.get_mut(&table.database.to_lowercase())
        && database.tables.get(&table.name) == Some(&table.id)
    {
        database.tables.remove(&table.name);
    }
}

/// Hides a table and the tables that enforce its unique keys.
fn hide(catalogue: &mut Catalogue, id: TableId, version: SchemaVersion) {
    let Some(table) = catalogue.tables.get(&id) else { return };
    let mut table = (**table).clone();
    for index in &table.indexes {
        if let IndexKind::Unique { entries } = index.kind {
            hide(catalogue, entries, version);
        }
    }
    table.state = TableState::Dropping;
    store(catalogue, table, version);
}

fn create_table(
    catalogue: &mut Catalogue,
    mut table: Table,
    version: SchemaVersion,
) -> Result<(), SchemaError> {
    let key = table.database.to_lowercase();
    let Some(database) = catalogue.databases.get(&key) else {
        return Err(SchemaError::UnknownDatabase(table.database));
    };
    if database.tables.contains_key(&table.name) || catalogue.view(&key, &table.name).is_some() {
        return Err(SchemaError::TableExists(table.name));
    }
    check_table_count(catalogue)?;
    check_names(catalogue, &table, None)?;
    table.id = next_table_id(catalogue);
    table.state = TableState::Public;
    let copy_of = table.rewriting.copy_of;
    table.rewriting = Rewriting { copy_of, rows_since: version, ..Rewriting::default() };
    table.closed_by = None;
    let id = table.id;
    let mut indexes = std::mem::take(&mut table.indexes);
    for (number, index) in (0u16..).zip(&mut indexes) {
        index.id = IndexId(number);
        index.state = IndexState::Public;
    }
    table.indexes = indexes.clone();
    for index in &mut indexes {
        if matches!(index.kind, IndexKind::Unique { .. }) {
            let entries = create_entries(catalogue, &table, index, version);
            index.kind = IndexKind::Unique { entries };
        }
    }
    table.indexes = indexes;
    let database = catalogue.databases.get_mut(&key).expect("found above");
    database.tables.insert(table.name.clone(), id);
    store(catalogue, table, version);
    Ok(())
}

/// A view has no rows, and no plan of a transaction keeps it: nothing waits for its adoption but the session that asked.
fn create_view(
    catalogue: &mut Catalogue,
    view: &ViewDefinition,
    replaces: bool,
) -> Result<(), SchemaError> {
    if catalogue.database(&view.database).is_none() {
        return Err(SchemaError::UnknownDatabase(view.database.clone()));
    }
    let is_there = catalogue.view(&view.database, &view.name).is_some();
    if catalogue.table(&view.database, &view.name).is_some() || (is_there && !replaces) {
        return Err(SchemaError::TableExists(view.name.clone()));
    }
    if !is_there && VIEWS_MAX <= catalogue.views.len() {
        return Err(SchemaError::TooMany(format!("views (at most {VIEWS_MAX})")));
    }
    let key = view.key();
    let others = catalogue.views.iter().filter(|(own, _)| **own != key).map(|(_, own)| &**own);
    let bytes: usize = others.chain([view]).map(byte_count).sum();
    if VIEW_BYTES_MAX < bytes {
        let limit = format!("bytes of views (at most {VIEW_BYTES_MAX})");
        return Err(SchemaError::TooMany(limit));
    }
    catalogue.views.insert(key, Arc::new(view.clone()));
    Ok(())
}

/// Of the texts that a view can have at any length.
fn byte_count(view: &ViewDefinition) -> usize {
    view.query.len() + view.columns.iter().map(String::len).sum::<usize>()
}

fn unknown_view(database: &str, name: &str) -> SchemaError {
    SchemaError::UnknownTable(format!("{database}.{name}"))
}

fn check_table_count(catalogue: &Catalogue) -> Result<(), SchemaError> {
    match catalogue.tables.len() < TABLES_MAX {
        true => Ok(()),
        false => Err(SchemaError::TooMany(format!("tables (at most {TABLES_MAX})"))),
    }
}

fn create_entries(
    catalogue: &mut Catalogue,
    table: &Table,
    index: &Index,
    version: SchemaVersion,
) -> TableId {
    let mut entries = unique_entries_table(table, index);
    entries.id = next_table_id(catalogue);
    entries.rewriting.rows_since = version;
    let id = entries.id;
    store(catalogue, entries, version);
    id
}

fn create_index(
    catalogue: &mut Catalogue,
    id: TableId,
    index: &Index,
    version: SchemaVersion,
) -> Result<IndexId, SchemaError> {
    let mut table = (*at_rest(catalogue, id)?).clone();
    if table.index_named(&index.name).is_some() {
        return Err(SchemaError::IndexExists(index.name.clone()));
    }
    if table.indexes.len() >= INDEXES_MAX {
        return Err(SchemaError::TooMany(format!("keys (at most {INDEXES_MAX})")));
    }
    let mut index = index.clone();
    let highest = table.indexes.iter().map(|index| index.id.0).max().unwrap_or(0);
    index.id = IndexId(highest + 1);
    index.state = IndexState::Building;
    if matches!(index.kind, IndexKind::Unique { .. }) {
        index.state = IndexState::DeleteOnly;
        index.kind =
            IndexKind::Unique { entries: create_entries(catalogue, &table, &index, version) };
    }
    let created = index.id;
    table.indexes.push(index);
    store(catalogue, table, version);
    Ok(created)
}

fn rename_index(
    catalogue: &mut Catalogue,
    table: TableId,
    index: IndexId,
    (from, to): (&str, &str),
    version: SchemaVersion,
) -> Result<(), SchemaError> {
    let mut table = (*at_rest(catalogue, table)?).clone();
    if table.index_named(from).map(|index| index.id) != Some(index) {
        return Err(SchemaError::UnknownIndex(from.into()));
    }
    if table.index_named(to).is_some_and(|other| other.id != index) {
        return Err(SchemaError::IndexExists(to.into()));
    }
    let index = known_index(&mut table, index)?;
    index.name = to.into();
    // An index that a user has named is the user's.
    index.is_generated = false;
    store(catalogue, table, version);
    Ok(())
}

/// Names of CHECKs are unique in their database, in any case of letters. `own` is the table itself if it is there.
fn check_names(
    catalogue: &Catalogue,
    table: &Table,
    own: Option<TableId>,
) -> Result<(), SchemaError> {
    if table.constraints.checks.is_empty() {
        return Ok(());
    }
    // A copy has the names of the table whose copy it is.
    let others = catalogue.tables.values().filter(|other| {
        Some(other.id) != own
            && Some(other.id) != table.rewriting.copy_of
            && other.rewriting.copy_of.is_none()
            && other.state == TableState::Public
            && other.database.eq_ignore_ascii_case(&table.database)
    });
    let names = others.flat_map(|other| &other.constraints.checks);
    let taken: BTreeSet<String> = names.map(|check| check.name.to_lowercase()).collect();
    let mut checks = table.constraints.checks.iter();
    match checks.find(|check| taken.contains(&check.name.to_lowercase())) {
        Some(check) => Err(SchemaError::CheckExists(check.name.clone())),
        None => Ok(()),
    }
}

fn rename_table(
    catalogue: &mut Catalogue,
    id: TableId,
    database: &str,
    name: &str,
    version: SchemaVersion,
) -> Result<(), SchemaError> {
    let old = at_rest(catalogue, id)?;
    match catalogue.databases.get(&database.to_lowercase()) {
        None => return Err(SchemaError::UnknownDatabase(database.into())),
        Some(_) if catalogue.is_taken(database, name) => {
            return Err(SchemaError::TableExists(name.into()));
        }
        Some(_) => {}
    }
    let mut table = (*old).clone();
    table.name = name.into();
    // Names that were made of the table's follow it.
    let (made_of, makes) = (format!("{}_ibfk_", old.name), format!("{name}_ibfk_"));
    for key in &mut table.constraints.foreign_keys {
        if let Some(number) = key.name.strip_prefix(&made_of) {
            key.name = format!("{makes}{number}");
        }
    }
    for check in &mut table.constraints.checks {
        check.name = check.name_in(&old.name, name);
    }
    table.constraints.sort_checks();
    table.database = catalogue.databases[&database.to_lowercase()].name.clone();
    check_names(catalogue, &table, Some(id))?;
    unname(catalogue, &old);
    let target = catalogue.databases.get_mut(&database.to_lowercase()).expect("found above");
    target.tables.insert(table.name.clone(), id);
    let (database, name) = (table.database.clone(), table.name.clone());
    name_entries(catalogue, &table, version);
    store(catalogue, table, version);
    // Foreign keys follow their parent.
    let references = old.constraints.referenced_by.iter();
    for child in references.map(|reference| reference.child).collect::<BTreeSet<TableId>>() {
        let Some(child) = catalogue.tables.get(&child) else { continue };
        let mut child = (**child).clone();
        for key in &mut child.constraints.foreign_keys {
            if key.parent_table == old.name
                && key.parent_database.eq_ignore_ascii_case(&old.database)
            {
                key.parent_database.clone_from(&database);
                key.parent_table.clone_from(&name);
            }
        }
        store(catalogue, child, version);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Collation, ViewAlgorithm, ViewCheck};

    fn view(name: &str, bytes: usize) -> ViewDefinition {
        ViewDefinition {
            database: "d".into(),
            name: name.into(),
            columns: vec!["a".into()],
            query: "x".repeat(bytes - 1),
            algorithm: ViewAlgorithm::Undefined,
            check: ViewCheck::None,
            definer: "root@%".into(),
            as_invoker: false,
            collation: Collation::default(),
        }
    }

    /// A catalogue with the database `d` and a table `t` in it.
    pub(super) fn catalogue() -> Catalogue {
        let mut catalogue = crate::bootstrap_catalogue();
        let table = catalogue.tables.values().next().expect("a table of the system").clone();
        let tables = [("t".to_string(), table.id)].into_iter().collect();
        let database = Database { name: "d".into(), collation: Collation::default(), tables };
        catalogue.databases.insert("d".into(), database);
        catalogue
    }

    fn names(catalogue: &Catalogue) -> Vec<&str> {
        catalogue.views.values().map(|view| view.name.as_str()).collect()
    }

    #[test]
    fn a_view_takes_a_name_that_no_table_has() {
        let mut own = catalogue();
        let taken = |name: &str| Err(SchemaError::TableExists(name.into()));
        assert_eq!(create_view(&mut own, &view("t", 10), true), taken("t"));
        assert_eq!(create_view(&mut own, &view("v", 10), false), Ok(()));
        assert_eq!(create_view(&mut own, &view("v", 20), false), taken("v"));
        assert_eq!(own.view("d", "v").map(|view| view.query.len()), Some(9));
        assert_eq!(create_view(&mut own, &view("v", 20), true), Ok(()));
        assert_eq!(own.view("d", "v").map(|view| view.query.len()), Some(19));
        let elsewhere = ViewDefinition { database: "e".into(), ..view("v", 10) };
        let unknown = Err(SchemaError::UnknownDatabase("e".into()));
        assert_eq!(create_view(&mut own, &elsewhere, true), unknown);
        assert_eq!(names(&own), ["v"]);
    }

    /// A definition replaces the one it was made of, and only if rows stay rows; a parent knows its children, and gets a version of
    /// its own when they change.
    #[test]
    fn a_parent_knows_the_keys_of_its_children() {
        let mut own = catalogue();
        let template = own.tables.values().next().expect("a table of the system").clone();
        let plain = |name: &str| {
            let mut table =
                Table { name: name.into(), database: "d".into(), ..(*template).clone() };
            table.indexes.truncate(1);
            table
        };
        assert_eq!(create_table(&mut own, plain("parent"), SchemaVersion(7)), Ok(()));
        assert_eq!(create_table(&mut own, plain("child"), SchemaVersion(8)), Ok(()));
        let id = |own: &Catalogue, name: &str| own.table("d", name).expect("made above").id;
        let (parent, child) = (id(&own, "parent"), id(&own, "child"));
        let mut altered = (*own.tables[&child]).clone();
        let planned = altered.version;
        altered.constraints.foreign_keys.push(types::ForeignKey {
            name: "k".into(),
            columns: vec![0],
            parent_database: "d".into(),
            parent_table: "parent".into(),
            parent_columns: vec![template.columns[0].name.clone()],
            on_delete: types::ReferenceAction::Cascade,
            on_update: types::ReferenceAction::NoAction,
        });
        let changed = Err(SchemaError::TableChanged("child".into()));
        let mut wider = altered.clone();
        wider.columns.push(wider.columns[0].clone());
        assert_eq!(alter_table(&mut own, &wider, planned, SchemaVersion(9)), changed);
        assert_eq!(alter_table(&mut own, &altered, SchemaVersion(1), SchemaVersion(9)), changed);
        assert_eq!(alter_table(&mut own, &altered, planned, SchemaVersion(9)), Ok(()));
        link(&mut own, SchemaVersion(9));
        let references = |own: &Catalogue| own.tables[&parent].constraints.referenced_by.clone();
        assert_eq!(references(&own).len(), 1);
        assert_eq!(references(&own)[0].child, child);
        assert_eq!(own.tables[&parent].version, SchemaVersion(9));
        // A change of another table leaves the parent as it is.
        link(&mut own, SchemaVersion(10));
        assert_eq!(own.tables[&parent].version, SchemaVersion(9));
        hide(&mut own, child, SchemaVersion(11));
        link(&mut own, SchemaVersion(11));
        assert_eq!(references(&own).len(), 0);
        assert_eq!(own.tables[&parent].version, SchemaVersion(11));
    }

    /// The name of a CHECK is free in other databases only, and follows the name of its table.
    #[test]
    fn names_of_checks_are_unique_in_a_database() {
        let mut own = catalogue();
        let template = own.tables.values().next().expect("a table of the system").clone();
        let expression =
            types::ColumnExpression { text: "true".into(), collation: Collation::default() };
        let table = |name: &str, check: &str| {
            let mut table =
                Table { name: name.into(), database: "d".into(), ..(*template).clone() };
            table.indexes.truncate(1);
            table.constraints.checks = vec![types::Check {
                name: check.into(),
                expression: expression.clone(),
                enforced: true,
            }];
            table
        };
        let version = SchemaVersion(7);
        let exists = |name: &str| Err(SchemaError::CheckExists(name.into()));
        assert_eq!(create_table(&mut own, table("a", "a_chk_1"), version), Ok(()));
        assert_eq!(create_table(&mut own, table("b", "A_CHK_1"), version), exists("A_CHK_1"));
        assert_eq!(create_table(&mut own, table("b", "c_chk_1"), version), Ok(()));
        let a = own.table("d", "a").expect("made above").id;
        let b = own.table("d", "b").expect("made above").id;
        assert_eq!(rename_table(&mut own, a, "d", "c", version), exists("c_chk_1"));
        assert!(own.table("d", "a").is_some());
        assert_eq!(rename_table(&mut own, a, "d", "e", version), Ok(()));
        assert_eq!(own.table("d", "e").expect("renamed").constraints.checks[0].name, "e_chk_1");
        assert_eq!(rename_table(&mut own, b, "d", "f", version), Ok(()));
        assert_eq!(own.table("d", "f").expect("renamed").constraints.checks[0].name, "c_chk_1");
    }

    #[test]
    fn accounts_change_from_the_version_that_was_read() {
        use types::account::{Account, AccountName};
        let mut own = catalogue();
        let root = AccountName::new("root", "localhost");
        let put = vec![Account::new(AccountName::new("a", "%"))];
        assert_eq!(change_accounts(&mut own, &[], &put, 1), Err(SchemaError::AccountsChanged));
        assert_eq!(change_accounts(&mut own, &[], &put, 0), Ok(()));
        assert_eq!((own.accounts.version, own.accounts.len()), (1, 2));
        // Renamed in one change.
        let put = vec![Account::new(AccountName::new("b", "%"))];
        let drop = [put[0].name.clone(), AccountName::new("a", "%"), root];
        assert_eq!(change_accounts(&mut own, &drop, &put, 1), Ok(()));
        let names: Vec<String> = own.accounts.iter().map(|of| of.name.to_string()).collect();
        assert_eq!(names, ["b@%"]);
        let long = Account { attributes: "x".repeat(17 << 20), ..put[0].clone() };
        let refused = change_accounts(&mut own, &[], &[long], 2);
        assert!(matches!(refused, Err(SchemaError::TooMany(_))), "{refused:?}");
        assert_eq!(own.accounts.version, 2);
    }

    /// The bound counts each view once: a view that replaces another gives back the bytes of that.
    #[test]
    fn views_have_a_bound_of_bytes() {
        let mut own = catalogue();
        assert_eq!(create_view(&mut own, &view("small", 10), false), Ok(()));
        assert_eq!(create_view(&mut own, &view("large", VIEW_BYTES_MAX - 10), false), Ok(()));
        assert!(matches!(
            create_view(&mut own, &view("more", 1), false),
            Err(SchemaError::TooMany(_))
        ));
        assert_eq!(create_view(&mut own, &view("large", VIEW_BYTES_MAX - 10), true), Ok(()));
        let wider = ViewDefinition { columns: vec!["ab".into()], ..view("small", 10) };
        assert!(matches!(create_view(&mut own, &wider, true), Err(SchemaError::TooMany(_))));
        assert_eq!(names(&own), ["large", "small"]);
    }
}
