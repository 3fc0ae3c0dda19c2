//! Indexes of a table that come, go and get other names, by themselves or as parts of ALTER TABLE.

use std::sync::Arc;

use client::SchemaChange;
use types::convert::WarningLevel;
use types::{Column, IndexKind, Table};

use super::Session;
use super::schema::check_sequence;
use crate::bind::table::{check_name, index_definition, lacks_algorithm};
use crate::error::{SqlError, code};
use crate::execute::Failure;
use crate::execute::write::{joined_entry, replaces_generated};
use crate::parser::ast;
use crate::show::quoted;

/// How long DROP INDEX waits for a unique key to end: 10 seconds, in steps.
const DROP_WAIT_MS: u64 = 5;
const DROP_WAIT_COUNT_MAX: u32 = 2_000;

impl Session {
    pub(super) async fn add_index(
        &mut self,
        table: &Arc<Table>,
        definition: &ast::IndexDefinition,
    ) -> Result<(), Failure> {
        let mut steps = AlterSteps::default();
        let mut planned = (**table).clone();
        let index = plan_index(&mut planned, definition, &mut steps)?;
        self.note_algorithms(&planned.engine, [definition]);
        self.warn_of_twin(&planned, &planned.indexes, &index);
        steps.added.push(index);
        self.add_indexes(table, &steps).await?;
        match steps.drops_first(table) {
            true => Ok(()),
            false => self.drop_indexes(table, &steps).await,
        }
    }

    /// Adds an index that a foreign key needs. Those that were generated for others and that it replaces are dropped by the
    /// caller.
    pub(super) async fn add_generated_index(
        &mut self,
        table: &Arc<Table>,
        index: types::Index,
    ) -> Result<Vec<types::Index>, Failure> {
        let mut steps = AlterSteps::default();
        let mut planned = (**table).clone();
        replace_generated(&mut planned, &index.parts, &index.name, &mut steps);
        steps.added.push(index);
        self.add_indexes(table, &steps).await?;
        Ok(steps.dropped)
    }

    /// Warns of an index that has the columns of another one.
    pub(super) fn warn_of_twin(
        &mut self,
        table: &Table,
        others: &[types::Index],
        index: &types::Index,
    ) {
        let is_twin = |other: &types::Index| {
            let is_unique = |own: &types::Index| matches!(own.kind, IndexKind::Unique { .. });
            other.kind != IndexKind::Primary
                && is_unique(other) == is_unique(index)
                && other.parts == index.parts
        };
        if index.kind != IndexKind::Primary && others.iter().any(is_twin) {
            let error = SqlError::new(
                code::ER_DUP_INDEX,
                format!(
                    "Duplicate index '{}' defined on the table '{}.{}'. This is deprecated and will be disallowed in a \
                     future release.",
                    index.name, table.database, table.name
                ),
            );
            self.note(WarningLevel::Warning, error);
        }
    }

    /// 3502 for each index USING HASH in a table of an engine that has none.
    pub(super) fn note_algorithms<'d>(
        &mut self,
        engine: &str,
        indexes: impl IntoIterator<Item = &'d ast::IndexDefinition>,
    ) {
        for _ in indexes.into_iter().filter(|index| lacks_algorithm(engine, index)) {
            let message = "This storage engine does not support the HASH index algorithm, storage engine default was used \
                           instead.";
            self.note(WarningLevel::Note, SqlError::new(3502, message));
        }
    }

    pub(super) async fn add_index_of(
        &mut self,
        table: &Arc<Table>,
        index: types::Index,
    ) -> Result<(), Failure> {
        let unique = matches!(index.kind, IndexKind::Unique { .. });
        let (name, parts) = (index.name.clone(), index.parts.clone());
        match self.client.create_index(table, index).await {
            Ok(_) => Ok(()),
            Err(refusal) => {
                let duplicate = unique && matches!(refusal, client::Refusal::DuplicateKey { .. });
                let mut failure = self.refused(refusal);
                if duplicate {
                    let entry = self.duplicate_key(table, &parts).await.unwrap_or_default();
                    let key = format!("{}.{name}", table.name);
                    failure.error = SqlError::duplicate_entry(&entry, &key);
                }
                Err(failure)
            }
        }
    }

    /// The first key that several rows have, as 1062 shows it. None if it is not found.
    async fn duplicate_key(&mut self, table: &Table, parts: &[types::IndexPart]) -> Option<String> {
        let columns: Vec<&Column> =
            parts.iter().map(|part| &table.columns[usize::from(part.column)]).collect();
        let keys = parts.iter().zip(&columns).map(|(part, column)| match part.prefix {
            Some(length) => format!("left({}, {length})", quoted(&column.name)),
            None => quoted(&column.name),
        });
        let keys = keys.collect::<Vec<String>>().join(", ");
        let known: Vec<String> =
            columns.iter().map(|own| format!("{} is not null", quoted(&own.name))).collect();
        let text = format!(
            "select {keys} from {}.{} where {} group by {keys} having count(*) > 1 order by {keys} limit 1",
            quoted(&table.database),
            quoted(&table.name),
            known.join(" and "),
        );
        let rows = self.committed_rows(&text, self.environment.collation).await.ok()?;
        let values = rows.first()?.iter().map(types::Value::as_ref).zip(columns.iter().copied());
        Some(joined_entry(values))
    }

    pub(super) async fn drop_index(
        &mut self,
        table: &Arc<Table>,
        name: &str,
    ) -> Result<(), Failure> {
        let mut without = (**table).clone();
        let index = remove_index(&mut without, name)?;
        check_sequence(table, &without)?;
        self.check_dropped_index(table, &without)?;
        self.drop_index_of(table, &index).await
    }

    pub(super) async fn drop_index_of(
        &mut self,
        table: &Arc<Table>,
        index: &types::Index,
    ) -> Result<(), Failure> {
        let (index, name) = (index.id, index.name.clone());
        self.change(SchemaChange::DropIndex { table: table.id, index, name }).await?;
        // A unique key goes in steps (see `IndexState`); for the user it is gone when no writer makes entries any more.
        for _ in 0..DROP_WAIT_COUNT_MAX {
            let catalogue = self.catalogue();
            let left = catalogue.table_by_id(table.id).and_then(|table| table.index(index));
            if left.is_none_or(|left| !left.state.has_entries_made()) {
                break;
            }
            if self.check_killed().is_err() {
                // It is dropped all the same.
                break;
            }
            self.client.client().sleep_ms(DROP_WAIT_MS).await;
        }
        Ok(())
    }

    /// Adds and renames indexes that have been checked. An index that is added may be refused by the rows: then those that were
    /// added before are dropped again, names are as they were, and no index is gone that had to make no room.
    pub(super) async fn add_indexes(
        &mut self,
        table: &Arc<Table>,
        steps: &AlterSteps,
    ) -> Result<(), Failure> {
        // Each change gives the table a new version.
        if steps.drops_first(table) {
            self.drop_indexes(table, steps).await?;
        }
        for rename in &steps.renames {
            self.change(rename.change(table, false)).await?;
        }
        for (number, index) in steps.added.iter().enumerate() {
            let current = self.newest(table);
            if let Err(failure) = self.add_index_of(&current, index.clone()).await {
                for added in &steps.added[..number] {
                    let current = self.newest(table);
                    if let Some(added) = current.index_named(&added.name) {
                        self.drop_index_of(&current, added).await?;
                    }
                }
                for rename in steps.renames.iter().rev() {
                    self.change(rename.change(table, true)).await?;
                }
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Drops indexes that have been checked.
    pub(super) async fn drop_indexes(
        &mut self,
        table: &Arc<Table>,
        steps: &AlterSteps,
    ) -> Result<(), Failure> {
        for index in &steps.dropped {
            let table = self.newest(table);
            self.drop_index_of(&table, index).await?;
        }
        Ok(())
    }

    pub(super) fn newest(&self, table: &Arc<Table>) -> Arc<Table> {
        self.catalogue().table_by_id(table.id).cloned().unwrap_or_else(|| table.clone())
    }
}

/// What an ALTER TABLE does, checked.
#[derive(Default)]
pub(super) struct AlterSteps {
    pub dropped: Vec<types::Index>,
    /// In an order in which each new name is free.
    pub renames: Vec<IndexRename>,
    pub added: Vec<types::Index>,
    pub renamed: Option<ast::ObjectName>,
}

impl AlterSteps {
    /// Does an index take the place of another one, which must go before?
    pub fn drops_first(&self, table: &Table) -> bool {
        let is_dropped =
            |name: &str| self.dropped.iter().any(|own| own.name.eq_ignore_ascii_case(name));
        self.added.iter().any(|added| is_dropped(&added.name))
            || self.renames.iter().any(|rename| {
                let mut others = self.dropped.iter().filter(|own| own.id != rename.index);
                others.any(|own| own.name.eq_ignore_ascii_case(&rename.to))
            })
            || crate::bind::table::INDEX_COUNT_MAX < table.indexes.len() + self.added.len()
    }
}

/// The index of a definition. The indexes that were generated for foreign keys and that it replaces are dropped.
pub(super) fn plan_index(
    planned: &mut Table,
    definition: &ast::IndexDefinition,
    steps: &mut AlterSteps,
) -> Result<types::Index, SqlError> {
    if planned.indexes.iter().any(|index| index.is_generated) {
        let mut bare = planned.clone();
        bare.indexes.retain(|index| !index.is_generated);
        let index = index_definition(&bare, definition)?;
        replace_generated(planned, &index.parts, &index.name, steps);
    }
    index_definition(planned, definition)
}

/// Takes the indexes out that an index of these parts replaces. One of the same name gets another one until it goes: foreign keys
/// need an index at any time.
fn replace_generated(
    planned: &mut Table,
    parts: &[types::IndexPart],
    name: &str,
    steps: &mut AlterSteps,
) {
    let all = std::mem::take(&mut planned.indexes);
    let (replaced, kept) = all.into_iter().partition(|own| replaces_generated(parts, own));
    planned.indexes = kept;
    for mut index in replaced {
        if index.name.eq_ignore_ascii_case(name) {
            let is_free = |new: &String| planned.index_named(new).is_none();
            let mut names = (1..).map(|number| format!("{name}_{number}"));
            let to = names.find(is_free).expect("some number is free");
            let from = std::mem::replace(&mut index.name, to.clone());
            steps.renames.push(IndexRename { index: index.id, from, to });
        }
        steps.dropped.push(index);
    }
}

pub(super) struct IndexRename {
    pub index: types::IndexId,
    from: String,
    pub to: String,
}

impl IndexRename {
    pub fn change(&self, table: &Table, back: bool) -> SchemaChange {
        let (from, to) = if back { (&self.to, &self.from) } else { (&self.from, &self.to) };
        SchemaChange::RenameIndex {
            table: table.id,
            index: self.index,
            from: from.clone(),
            to: to.clone(),
        }
    }
}

pub(super) fn rename_step(table: &Table, from: &str, to: &str) -> Result<IndexRename, SqlError> {
    let wrong_name = |name: &str| {
        SqlError::new(code::ER_WRONG_NAME_FOR_INDEX, format!("Incorrect index name '{name}'"))
    };
    for name in [from, to] {
        if name.eq_ignore_ascii_case("PRIMARY") {
            return Err(wrong_name(name));
        }
    }
    check_name(to, code::ER_WRONG_NAME_FOR_INDEX, "index")?;
    let index = table.index_named(from).ok_or_else(|| {
        SqlError::new(
            code::ER_KEY_DOES_NOT_EXITS,
            format!("Key '{from}' doesn't exist in table '{}'", table.name),
        )
    })?;
    Ok(IndexRename { index: index.id, from: index.name.clone(), to: to.to_string() })
}

/// Renames the indexes of a definition, and puts the renames into an order in which each new name is free. 1061 for a name
/// that two indexes would have.
pub(super) fn order_renames(
    table: &mut Table,
    renames: &mut Vec<IndexRename>,
) -> Result<(), SqlError> {
    let mut left = std::mem::take(renames);
    while !left.is_empty() {
        let is_free = |rename: &IndexRename| {
            table.index_named(&rename.to).is_none_or(|other| other.id == rename.index)
        };
        let Some(position) = left.iter().position(is_free) else {
            let circle = |rename: &IndexRename| {
                left.iter().any(|other| other.from.eq_ignore_ascii_case(&rename.to))
            };
            return Err(match left.iter().find(|rename| !circle(rename)) {
                Some(rename) => SqlError::duplicate_key_name(&rename.to),
                None => SqlError::not_supported("RENAME INDEX of indexes that exchange names"),
            });
        };
        let rename = left.remove(position);
        let mut indexes = table.indexes.iter_mut();
        let index = indexes.find(|index| index.id == rename.index).expect("it was found by name");
        index.name.clone_from(&rename.to);
        index.is_generated = false;
        renames.push(rename);
    }
    Ok(())
}

/// Takes an index out of a definition; 1091 if it is not there.
pub(super) fn remove_index(table: &mut Table, name: &str) -> Result<types::Index, SqlError> {
    if name.eq_ignore_ascii_case("PRIMARY") {
        return Err(SqlError::not_supported("DROP PRIMARY KEY"));
    }
    let found = table.indexes.iter().position(|index| index.name.eq_ignore_ascii_case(name));
    let position = found.ok_or_else(|| {
        SqlError::new(
            code::ER_CANT_DROP_FIELD_OR_KEY,
            format!("Can't DROP '{name}'; check that column/key exists"),
        )
    })?;
    Ok(table.indexes.remove(position))
}
