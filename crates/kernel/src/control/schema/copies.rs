//! Copies that ALTER TABLE makes of tables (rule R27, decision 31): their steps, the replacement of a table, and what drops a copy.

use std::sync::Arc;

use protocol::control::ControlState;
use protocol::schema::{SchemaChange, SchemaError};
use types::wire::Wire;
use types::{
    Catalogue, CopyState, IndexKind, IndexState, Rewriting, SchemaVersion, Table, TableId,
};

use super::{check_names, give_rows, hide, known, name_entries, store, unname};

/// Does the change wait for no adoption? One that opens a closed table goes back to a definition in use, from one without users.
/// One that gives a copy up leaves rows of it behind, which have no readers.
pub(in crate::control) fn overtakes(catalogue: &Catalogue, change: &SchemaChange) -> bool {
    let table = match change {
        // Of no table.
        SchemaChange::ChangeAccounts { .. } => return true,
        SchemaChange::AlterTable { table, .. } => table,
        _ => return false,
    };
    let Ok(own) = known(catalogue, table.id) else { return false };
    let gives_up = own.rewriting.copy.is_some() && table.rewriting.copy.is_none();
    // With other columns it becomes a definition that no node has used yet.
    let goes_back = own.columns.to_bytes() == table.columns.to_bytes();
    gives_up || (!own.is_open() && table.is_open() && goes_back)
}

/// Is it a table at rest that closes as it is, or a closed one that opens?
pub(super) fn closes_or_opens(before: &Table, after: &Table) -> bool {
    let is_at_rest = || {
        before.rewriting.copy.is_none()
            && before.indexes.iter().all(|index| index.state == IndexState::Public)
            && before.columns.to_bytes() == after.columns.to_bytes()
    };
    before.rewriting == after.rewriting
        && match (before.closed_by, after.closed_by) {
            (None, Some(_)) => is_at_rest(),
            (Some(_), None) => true,
            _ => false,
        }
}

/// May an ALTER TABLE go on so? A copy is given to a table with no change under way, goes from state to state, or goes.
pub(super) fn copy_goes_to(catalogue: &Catalogue, table: &Table, after: &Rewriting) -> bool {
    let before = &table.rewriting;
    if (before.copy_of, before.origin, before.rows_since)
        != (after.copy_of, after.origin, after.rows_since)
    {
        return false;
    }
    let is_own = |copy: TableId| {
        let copy = known(catalogue, copy);
        copy.is_ok_and(|copy| copy.rewriting.copy_of == Some(table.id))
    };
    match (&before.copy, &after.copy) {
        (None, Some(copy)) => {
            copy.state == CopyState::DeleteOnly
                && is_own(copy.table)
                && table.indexes.iter().all(|index| index.state == IndexState::Public)
        }
        (Some(before), Some(after)) => {
            before.table == after.table
                && before.sources == after.sources
                && before.state.goes_to(after.state)
        }
        (_, None) => true,
    }
}

/// The copy takes the table's place: its name, its foreign keys' parents and children. It is the table from here on.
pub(super) fn replace_table(
    catalogue: &mut Catalogue,
    id: TableId,
    planned: SchemaVersion,
    version: SchemaVersion,
) -> Result<(), SchemaError> {
    let table = known(catalogue, id)?;
    let changed = || SchemaError::TableChanged(table.name.clone());
    let copy = table.rewriting.copy.as_ref().filter(|copy| copy.state == CopyState::Closed);
    let copy = copy.ok_or_else(changed)?;
    let mut by = (*known(catalogue, copy.table)?).clone();
    // A child may have come since the ALTER TABLE was planned.
    let mut keys = table.constraints.referenced_by.iter();
    let is_kept = |column: &String| by.column_named(column).is_some();
    if table.version != planned
        || by.rewriting.copy_of != Some(id)
        || !keys.all(|reference| reference.key.parent_columns.iter().all(is_kept))
    {
        return Err(changed());
    }
    check_names(catalogue, &by, Some(by.id))?;
    unname(catalogue, &by);
    unname(catalogue, &table);
    by.name.clone_from(&table.name);
    by.database.clone_from(&table.database);
    by.rewriting = Rewriting {
        origin: Some(table.rewriting.origin.unwrap_or(id)),
        rows_since: version,
        ..Rewriting::default()
    };
    let database = catalogue.databases.get_mut(&by.database.to_lowercase());
    database.ok_or_else(changed)?.tables.insert(by.name.clone(), by.id);
    let mut gone = (*table).clone();
    gone.rewriting.copy = None;
    store(catalogue, gone, version);
    hide(catalogue, id, version);
    for index in &by.indexes {
        if let IndexKind::Unique { entries } = index.kind {
            give_rows(catalogue, entries, version);
        }
    }
    name_entries(catalogue, &by, version);
    store(catalogue, by, version);
    Ok(())
}

/// A table that no ALTER TABLE is copying or has closed.
pub(super) fn at_rest(catalogue: &Catalogue, id: TableId) -> Result<Arc<Table>, SchemaError> {
    let table = known(catalogue, id)?;
    match table.rewriting.copy.is_some() || table.closed_by.is_some() {
        false => Ok(table),
        true => Err(SchemaError::TableBusy(table.name.clone())),
    }
}

/// A table keeps this copy no more.
pub(super) fn forget_copy(
    catalogue: &mut Catalogue,
    of: TableId,
    copy: TableId,
    version: SchemaVersion,
) {
    let Some(table) = catalogue.tables.get(&of) else { return };
    if table.rewriting.copy.as_ref().is_some_and(|own| own.table == copy) {
        let mut table = (**table).clone();
        table.rewriting.copy = None;
        store(catalogue, table, version);
    }
}

/// Hides a copy that is given up.
pub(super) fn drop_copy(catalogue: &mut Catalogue, id: TableId, version: SchemaVersion) {
    if let Ok(copy) = known(catalogue, id) {
        unname(catalogue, &copy);
        hide(catalogue, id, version);
    }
}

/// Copies that no session fills any more, with their tables.
pub(super) fn abandoned_copies(state: &ControlState) -> impl Iterator<Item = (TableId, TableId)> {
    let tables = state.catalogue.tables.values();
    let copies = tables.filter_map(|table| Some((table.id, table.rewriting.copy.as_ref()?)));
    let abandoned = copies.filter(|(_, copy)| state.is_over(copy.filler));
    abandoned.map(|(table, copy)| (table, copy.table))
}

fn open_table(catalogue: &mut Catalogue, id: TableId, version: SchemaVersion) {
    let Ok(table) = known(catalogue, id) else { return };
    let mut table = Table { closed_by: None, ..(*table).clone() };
    if let Some(copy) = table.rewriting.copy.as_mut().filter(|own| own.state == CopyState::Closed) {
        copy.state = CopyState::Building;
    }
    store(catalogue, table, version);
}

/// Opens the tables that boots have closed which are over now. At once: transactions that wait for such a table may be those that an
/// adoption waits for.
pub(in crate::control) fn open_abandoned(state: &mut ControlState) {
    let is_abandoned = |table: &&Arc<Table>| {
        let copy = table.rewriting.copy.as_ref().map(|copy| copy.filler);
        let mut boots = copy.into_iter().chain(table.closed_by);
        !table.is_open() && boots.any(|boot| state.is_over(boot))
    };
    let tables = state.catalogue.tables.values().filter(is_abandoned);
    let closed: Vec<TableId> = tables.map(|table| table.id).collect();
    if closed.is_empty() {
        return;
    }
    let version = SchemaVersion(state.catalogue.version.0 + 1);
    for table in closed {
        open_table(&mut state.catalogue, table, version);
    }
    state.catalogue.version = version;
}

/// Takes a copy out of the catalogue, with the tables that enforce its unique keys.
pub(super) fn remove_copy(catalogue: &mut Catalogue, id: TableId) {
    let Some(copy) = catalogue.tables.remove(&id) else { return };
    unname(catalogue, &copy);
    for index in &copy.indexes {
        if let IndexKind::Unique { entries } = index.kind {
            catalogue.tables.remove(&entries);
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::control::SchemaRequest;
    use types::{Incarnation, Index, NodeId, TableCopy, TableState};

    use super::super::tests::catalogue;
    use super::super::{alter_table, change, create_index, create_table, has_dropped};
    use super::super::{remove_dropped, rename_table, settle};
    use super::*;

    fn config() -> protocol::control::ClusterConfig {
        protocol::control::ClusterConfig {
            cluster: types::ClusterId(7),
            nodes: Vec::new(),
            replicas: 2,
            shards_per_group: 2,
            heartbeat_ms: protocol::control::HEARTBEAT_MS_DEFAULT,
            durability: protocol::control::Durability::default(),
        }
    }

    /// The steps of a table that is rewritten: none is passed over, nothing else changes the table meanwhile, and the copy takes its place
    /// with its name, its children and the version from which on snapshots have its rows.
    #[test]
    fn a_copy_takes_the_place_of_its_table() {
        let mut own = catalogue();
        let template = own.tables.values().next().expect("a table of the system").clone();
        let plain = |name: &str, copy_of: Option<TableId>| {
            let mut table =
                Table { name: name.into(), database: "d".into(), ..(*template).clone() };
            table.indexes.truncate(1);
            table.rewriting.copy_of = copy_of;
            table
        };
        let mut version = 6;
        let mut next = || {
            version += 1;
            SchemaVersion(version)
        };
        assert_eq!(create_table(&mut own, plain("a", None), next()), Ok(()));
        let old = own.table("d", "a").expect("made above").id;
        let since = |own: &Catalogue, id: TableId| own.tables[&id].rewriting.rows_since;
        assert_eq!(since(&own, old), SchemaVersion(7));
        assert_eq!(create_table(&mut own, plain("#copy", Some(old)), next()), Ok(()));
        let copy = own.table("d", "#copy").expect("made above").id;
        let in_state = |own: &Catalogue, state: Option<CopyState>| {
            let mut table = (*own.tables[&old]).clone();
            table.rewriting.copy = state.map(|state| TableCopy {
                table: copy,
                state,
                sources: Vec::new(),
                lenient: false,
                filler: Incarnation(5),
            });
            table
        };
        let busy = || Err(SchemaError::TableBusy("a".into()));
        let mut goes = |own: &mut Catalogue, state: Option<CopyState>| {
            let (table, planned) = (in_state(own, state), own.tables[&old].version);
            alter_table(own, &table, planned, next())
        };
        use CopyState::{Building, Closed, DeleteOnly};
        for state in [Building, Closed] {
            assert_eq!(goes(&mut own, Some(state)), busy(), "{state:?}");
        }
        assert_eq!(goes(&mut own, Some(DeleteOnly)), Ok(()));
        assert_eq!(goes(&mut own, Some(Closed)), busy());
        assert_eq!(goes(&mut own, Some(Building)), Ok(()));
        assert_eq!(goes(&mut own, Some(DeleteOnly)), busy());
        // The same definition again, and a table with an index more.
        assert_eq!(goes(&mut own, Some(Building)), busy());
        let renamed = rename_table(&mut own, old, "d", "b", SchemaVersion(90));
        assert_eq!(renamed, busy());
        let index = Index { name: "i".into(), ..template.indexes[0].clone() };
        assert_eq!(create_index(&mut own, old, &index, SchemaVersion(90)).err(), busy().err());
        let changed = Err(SchemaError::TableChanged("a".into()));
        let planned = own.tables[&old].version;
        assert_eq!(replace_table(&mut own, old, planned, SchemaVersion(90)), changed);
        assert!(own.tables[&old].is_open());
        assert_eq!(goes(&mut own, Some(Closed)), Ok(()));
        assert!(!own.tables[&old].is_open());
        // Given up, the copy goes.
        let (table, version) = (Box::new(in_state(&own, None)), own.tables[&old].version);
        assert!(overtakes(&own, &SchemaChange::AlterTable { table, version }));
        let mut given_up = own.clone();
        assert_eq!(goes(&mut given_up, None), Ok(()));
        assert_eq!(given_up.tables[&copy].state, TableState::Dropping);
        assert!(given_up.table("d", "#copy").is_none() && given_up.tables[&old].is_open());
        // Opened again, it is a change that waits for no adoption.
        let table = Box::new(in_state(&own, Some(Building)));
        let opens = SchemaChange::AlterTable { table, version: own.tables[&old].version };
        assert!(overtakes(&own, &opens));
        let planned = own.tables[&old].version;
        assert_eq!(replace_table(&mut own, old, SchemaVersion(1), SchemaVersion(90)), changed);
        assert_eq!(replace_table(&mut own, old, planned, SchemaVersion(91)), Ok(()));
        let new = own.table("d", "a").expect("it has the name").clone();
        assert_eq!((new.id, since(&own, copy)), (copy, SchemaVersion(91)));
        assert_eq!((new.rewriting.copy_of, new.rewriting.origin), (None, Some(old)));
        assert_eq!(own.tables[&old].state, TableState::Dropping);
        assert!(own.table("d", "#copy").is_none());
        assert!(!overtakes(&own, &opens));
    }

    /// A table gets columns only while it is closed, and is opened by its session, or when that session's boot is over.
    #[test]
    fn a_closed_table_gets_columns() {
        let filler = Incarnation(5);
        let config = config();
        let mut state = ControlState::new(config, catalogue());
        let template = state.catalogue.tables.values().next().expect("a table of the system");
        let mut table = Table { name: "a".into(), database: "d".into(), ..(**template).clone() };
        table.indexes.truncate(1);
        assert_eq!(create_table(&mut state.catalogue, table, SchemaVersion(7)), Ok(()));
        let id = state.catalogue.table("d", "a").expect("made above").id;
        let changed = |own: &Catalogue, closed_by: Option<Incarnation>, added: usize| {
            let mut table = Table { closed_by, ..(*own.tables[&id]).clone() };
            let mut column = table.columns[0].clone();
            column.missing = Some(types::Value::Null);
            table.columns.extend(std::iter::repeat_n(column, added));
            table
        };
        let mut version = 7;
        let mut goes = |own: &mut Catalogue, closed_by: Option<Incarnation>, added: usize| {
            let (table, planned) = (changed(own, closed_by, added), own.tables[&id].version);
            version += 1;
            alter_table(own, &table, planned, SchemaVersion(version))
        };
        let busy = || Err(SchemaError::TableBusy("a".into()));
        let refused = || Err(SchemaError::TableChanged("a".into()));
        let own = &mut state.catalogue;
        assert_eq!(goes(own, None, 1), refused());
        assert_eq!(goes(own, Some(filler), 1), refused());
        assert_eq!(goes(own, Some(filler), 0), Ok(()));
        assert!(!own.tables[&id].is_open());
        assert_eq!(goes(own, Some(filler), 0), busy());
        assert_eq!(goes(own, Some(Incarnation(6)), 0), busy());
        assert_eq!(rename_table(own, id, "d", "b", SchemaVersion(90)), busy());
        let opens = |own: &Catalogue, added: usize| {
            let (table, version) = (changed(own, None, added), own.tables[&id].version);
            overtakes(own, &SchemaChange::AlterTable { table: Box::new(table), version })
        };
        assert!(opens(own, 0) && !opens(own, 1));
        let mut altered = own.clone();
        assert_eq!(goes(&mut altered, None, 1), Ok(()));
        assert!(altered.tables[&id].is_open());
        assert_eq!(altered.tables[&id].columns.len(), own.tables[&id].columns.len() + 1);

        let mut restarted = state.clone();
        settle(&mut restarted);
        assert!(restarted.catalogue.tables[&id].is_open());
        open_abandoned(&mut state);
        assert!(!state.catalogue.tables[&id].is_open(), "its session is there");
        state.excluded.insert(filler, NodeId(1));
        open_abandoned(&mut state);
        let (opened, version) = (&state.catalogue.tables[&id], state.catalogue.version);
        assert!(opened.is_open() && opened.version == version);
        open_abandoned(&mut state);
        assert_eq!(state.catalogue.version, version);
    }

    /// A copy goes with the boot that filled it, with the table that it was made of, and when the cluster starts again.
    #[test]
    fn copies_that_nobody_fills_go() {
        let filler = Incarnation(5);
        let make = || {
            let config = config();
            let mut state = ControlState::new(config, catalogue());
            let own = &mut state.catalogue;
            let template = own.tables.values().next().expect("a table of the system").clone();
            let mut table = Table { name: "a".into(), database: "d".into(), ..(*template).clone() };
            table.indexes.truncate(1);
            assert_eq!(create_table(own, table.clone(), SchemaVersion(7)), Ok(()));
            let old = own.table("d", "a").expect("made above").id;
            table.name = "#copy".into();
            table.rewriting.copy_of = Some(old);
            assert_eq!(create_table(own, table, SchemaVersion(8)), Ok(()));
            let copy = own.table("d", "#copy").expect("made above").id;
            let mut table = (*own.tables[&old]).clone();
            let (planned, state_of) = (table.version, CopyState::DeleteOnly);
            table.rewriting.copy = Some(TableCopy {
                table: copy,
                state: state_of,
                sources: Vec::new(),
                lenient: false,
                filler,
            });
            assert_eq!(alter_table(own, &table, planned, SchemaVersion(9)), Ok(()));
            (state, old, copy)
        };
        let (mut state, old, copy) = make();
        assert!(!has_dropped(&state), "the boot fills it");
        state.excluded.insert(filler, NodeId(1));
        assert!(has_dropped(&state));
        remove_dropped(&mut state);
        assert_eq!(state.catalogue.tables[&old].rewriting.copy, None);
        assert_eq!(state.catalogue.tables[&copy].state, TableState::Dropping);
        assert!(state.catalogue.table("d", "#copy").is_none());

        let (mut state, old, copy) = make();
        settle(&mut state);
        assert_eq!(state.catalogue.tables[&old].rewriting.copy, None);
        assert!(!state.catalogue.tables.contains_key(&copy));

        let (mut state, old, copy) = make();
        let requester = types::Address { node: NodeId(1), worker: types::WorkerId(0) };
        let request = SchemaRequest { requester, incarnation: filler, sequence: 1 };
        let drop = SchemaChange::DropTable { id: copy };
        assert_eq!(change(&mut state, &request, &drop), Ok(()));
        assert_eq!(state.catalogue.tables[&old].rewriting.copy, None);
    }
}
