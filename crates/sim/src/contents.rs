//! What is in the cluster when nothing moves any more, read from the replicas that are left, and the oracles over it: all
//! replicas of a shard are equal, one is primary, indexes are those of the rows, nothing is left behind, memory is free again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kernel::NodeShared;
use storage::{Direction, KeyRange, PagePool, Partition, Visible};
use types::{
    Catalogue, IndexId, IndexKind, IndexState, RowView, ShardId, Table, TableId, Timestamp,
};

use crate::tables::{self, DATABASE};
use crate::world::World;

pub struct Contents {
    catalogue: Arc<Catalogue>,
    tables: BTreeMap<TableId, TableContents>,
}

struct TableContents {
    /// Encoded rows of all shards in key order.
    rows: Vec<Vec<u8>>,
    /// What each replica holds: (where, bytes, bytes of an empty one).
    memory: Vec<(String, u64, u64)>,
}

/// Has everything ended: transactions, locks, records on their way?
pub fn is_quiescent(world: &World) -> bool {
    restless(world).is_none()
}

/// Something that has not ended.
pub fn restless(world: &World) -> Option<String> {
    for node in world.nodes() {
        if let Some(((table, index), build)) = node.state().index_builds.first_key_value() {
            let requester = build.requester;
            return Some(format!("index {index} of table {table} waits for {requester:?}"));
        }
        let open = node.statistics.transactions_open.load(std::sync::atomic::Ordering::Relaxed);
        if open > 0 {
            return Some(format!("{open} transactions are open on node {}", node.node));
        }
        for id in node.local_shards() {
            let shard = node.shard(id).expect("a local shard");
            if !shard.is_quiescent() || shard.lock_count() > 0 {
                return Some(format!(
                    "shard {id} on node {} (primary: {}) holds {} locks: {}",
                    node.node,
                    shard.is_primary(),
                    shard.lock_count(),
                    shard.unfinished()
                ));
            }
        }
    }
    None
}

/// Looks at every replica. Says which rule is broken, if one is.
pub fn examine(world: &World, catalogue: Arc<Catalogue>) -> Result<Contents, String> {
    let mut shards: BTreeMap<ShardId, Vec<&Arc<NodeShared>>> = BTreeMap::new();
    for node in world.nodes() {
        for id in node.local_shards() {
            shards.entry(id).or_default().push(node);
        }
    }
    let mut keyed: BTreeMap<TableId, BTreeMap<Vec<u8>, Vec<u8>>> = BTreeMap::new();
    let mut memory: BTreeMap<TableId, Vec<(String, u64, u64)>> = BTreeMap::new();
    let options = &world.options;
    let group_count = options.shape.data_nodes() / options.shape.replicas();
    if shards.len() != usize::from(group_count * options.shards_per_group) {
        return Err(format!("{} shards have a replica", shards.len()));
    }
    for (id, members) in &shards {
        check_members(*id, members)?;
        for node in members {
            let shard = node.shard(*id).expect("listed as local");
            for (table, replica) in shard.tables() {
                let place = format!("table {table}, shard {id}, node {}", node.node);
                let partition = &replica.partition;
                check_replica(partition).map_err(|error| format!("{place}: {error}"))?;
                let empty = Partition::new(Arc::clone(partition.table()), PagePool::new(1 << 20));
                let sizes = (place, partition.memory_bytes(), empty.memory_bytes());
                memory.entry(*table).or_default().push(sizes);
                if shard.is_primary() {
                    let rows = keyed.entry(*table).or_default();
                    for (key, row) in rows_of(partition) {
                        if rows.insert(key, row).is_some() {
                            return Err(format!("a key of table {table} is in two shards"));
                        }
                    }
                }
            }
        }
    }
    let tables = keyed.into_iter().map(|(id, rows)| {
        let memory = memory.remove(&id).expect("every table seen has a replica");
        (id, TableContents { rows: rows.into_values().collect(), memory })
    });
    Ok(Contents { catalogue, tables: tables.collect() })
}

fn rows_of(partition: &Partition) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rows = Vec::new();
    let mut scan = partition.scan(IndexId(0), &all_keys(), Direction::Forward, None);
    while let Some(item) = scan.next_visible(Timestamp::MAX, None) {
        if let Visible::Row(row) = item.read.visible {
            rows.push((item.key.to_vec(), row.into_owned()));
        }
    }
    rows
}

fn all_keys() -> KeyRange {
    KeyRange { lower: std::ops::Bound::Unbounded, upper: std::ops::Bound::Unbounded }
}

fn check_members(id: ShardId, members: &[&Arc<NodeShared>]) -> Result<(), String> {
    let primary = |node: &&&Arc<NodeShared>| node.shard(id).is_some_and(|s| s.is_primary());
    let primary_count = members.iter().filter(primary).count();
    if primary_count != 1 {
        return Err(format!("shard {id} has {primary_count} primaries"));
    }
    let (first, others) = members.split_first().expect("a shard has a replica");
    let sums = |node: &Arc<NodeShared>| -> BTreeMap<TableId, (u64, u128)> {
        let shard = node.shard(id).expect("listed as local");
        let partitions = shard.tables().iter();
        let sum = partitions.map(|(table, replica)| {
            (*table, (replica.partition.row_count(), replica.partition.checksum()))
        });
        sum.collect()
    };
    let expected = sums(first);
    for other in others {
        let found = sums(other);
        if found != expected {
            let differs = expected.iter().find(|(table, sum)| found.get(table) != Some(sum));
            let table = differs.map(|(table, _)| *table);
            return Err(format!(
                "shard {id}: nodes {} and {} differ in table {table:?}: {:?} and {:?} (rows, sum)",
                first.node,
                other.node,
                table.and_then(|table| expected.get(&table)),
                table.and_then(|table| found.get(&table)),
            ));
        }
    }
    Ok(())
}

fn check_replica(partition: &Partition) -> Result<(), String> {
    partition.check_indexes()?;
    if partition.pending_count() > 0 {
        return Err(format!("{} rows have a pending version", partition.pending_count()));
    }
    if partition.prunable() > 0 {
        return Err(format!("{} rows have versions nobody can see", partition.prunable()));
    }
    Ok(())
}

impl Contents {
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    fn table(&self, name: &str) -> &Arc<Table> {
        self.catalogue.table(DATABASE, name).expect("the works' tables stay")
    }

    /// The rows of a table in key order.
    pub fn rows(&self, table: TableId) -> &[Vec<u8>] {
        self.tables.get(&table).map_or(&[], |contents| &contents.rows)
    }

    /// The integer columns of all rows of a table, in key order.
    pub fn numbers(&self, name: &str) -> Vec<Vec<i64>> {
        let table = self.table(name);
        self.rows(table.id).iter().map(|row| tables::numbers(table, row)).collect()
    }

    /// The entries of the table's unique keys are those of its rows: none missing, none left over, none for two.
    pub fn check_unique_entries(&self, name: &str) -> Result<(), String> {
        let table = self.table(name);
        let layout = table.row_layout();
        for index in table.indexes.iter().filter(|index| index.state == IndexState::Public) {
            let IndexKind::Unique { entries } = index.kind else { continue };
            let mut expected = BTreeSet::new();
            for row in self.rows(table.id) {
                let view = RowView::new(&layout, row);
                let parts = index.parts.iter().chain(&table.primary_key().parts);
                let values: Vec<types::ValueRef<'_>> =
                    parts.map(|part| view.get(usize::from(part.column))).collect();
                let entries = self.catalogue.table_by_id(entries).expect("lives with its table");
                expected.insert(tables::encoded(entries, &values));
            }
            let found: BTreeSet<Vec<u8>> = self.rows(entries).iter().cloned().collect();
            if found != expected {
                let numbers = |rows: &mut dyn Iterator<Item = &Vec<u8>>| -> Vec<Vec<i64>> {
                    let entries = self.catalogue.table_by_id(entries).expect("as above");
                    rows.map(|row| tables::numbers(entries, row)).collect()
                };
                return Err(format!(
                    "unique key {} of {name}: without entry {:?}, without row {:?}",
                    index.name,
                    numbers(&mut expected.difference(&found)),
                    numbers(&mut found.difference(&expected)),
                ));
            }
        }
        Ok(())
    }

    /// Every replica of a table without rows is as small as a new one, but for a page each of rows and indexes that it
    /// may keep at hand.
    pub fn check_is_free(&self, name: &str) -> Result<(), String> {
        let table = self.table(name);
        let Some(contents) = self.tables.get(&table.id) else { return Ok(()) };
        let allowance = (table.indexes.len() as u64 + 1) * storage::PAGE_SIZE as u64;
        let large = contents.memory.iter().find(|(_, bytes, empty)| *bytes > empty + allowance);
        match large {
            Some((place, bytes, empty)) => {
                Err(format!("{place}: {bytes} bytes without rows, {empty} when it was new"))
            }
            None => Ok(()),
        }
    }
}
