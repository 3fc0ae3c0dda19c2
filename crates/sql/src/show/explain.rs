//! EXPLAIN: MySQL's traditional columns, FORMAT=TREE, FORMAT=JSON, and EXPLAIN ANALYZE.
//!
//! The traditional form has a line for each table, `partitions` are the shards that would be asked.
//! The other formats print one tree of steps.
//!
//! | module | part |
//! |---|---|
//! | `node` | the tree of steps |
//! | `describe` | from a bound plan to the tree |
//! | `expr` | bound expressions as text |
//! | `tree`, `json` | the tree as text |

mod describe;
mod expr;
mod json;
mod node;
mod tree;

use types::{Expr, IndexKind, Value};

use self::describe::{Resolved, describe};
use super::explain_joined::Explainer;
use super::{Table, number, text};
use crate::error::{SqlError, code};
use crate::execute::Run;
use crate::execute::keys::{self, Keys};
use crate::execute::profile::Profile;
use crate::parser::ast::Statement;
use crate::plan::{
    AccessPlan, InsertSource, PartBound, PathKind, Plan, PlanKind, SelectPlan, Source, WindowSpec,
};
use crate::session::Session;

/// The forms of EXPLAIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainFormat {
    Traditional,
    Tree,
    Json,
}

impl ExplainFormat {
    /// By its name in upper case; 1791 for another one.
    pub fn by_name(name: &str) -> Result<ExplainFormat, SqlError> {
        match name {
            "TRADITIONAL" => Ok(ExplainFormat::Traditional),
            "TREE" => Ok(ExplainFormat::Tree),
            "JSON" => Ok(ExplainFormat::Json),
            other => Err(SqlError::new(
                code::ER_UNKNOWN_EXPLAIN_FORMAT,
                format!("Unknown EXPLAIN format name: '{other}'"),
            )),
        }
    }
}

struct Line<'a> {
    select_type: &'static str,
    table: Option<&'a std::sync::Arc<types::Table>>,
    access: Option<&'a AccessPlan>,
    extra: Vec<&'static str>,
}

impl Session {
    pub(crate) async fn explain(
        &mut self,
        format: ExplainFormat,
        statement: &Statement,
        params: &[Value],
    ) -> Result<Table, SqlError> {
        let plan = self.explained_plan(statement, params).await?;
        match format {
            ExplainFormat::Traditional => self.explain_in_columns(&plan, params).await,
            ExplainFormat::Tree | ExplainFormat::Json => {
                self.explain_as_text(format, &plan, params, None).await
            }
        }
    }

    /// The plan of a statement that EXPLAIN takes.
    pub(crate) async fn explained_plan(
        &self,
        statement: &Statement,
        params: &[Value],
    ) -> Result<Plan, SqlError> {
        match statement {
            Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_) => {}
            _ => return Err(SqlError::not_supported("EXPLAIN of this statement")),
        }
        let environment = self.environment.clone();
        Box::pin(self.bind_by_statistics(&environment, statement, params)).await
    }

    /// One column with the tree, or the JSON document. `profile` is that of a run of the plan.
    pub(crate) async fn explain_as_text(
        &mut self,
        format: ExplainFormat,
        plan: &Plan,
        params: &[Value],
        profile: Option<&Profile>,
    ) -> Result<Table, SqlError> {
        let counts = super::row_counts(self).await;
        let resolved = self.resolved(plan, params)?;
        let block = describe(plan, params.to_vec(), counts, resolved);
        let shown = match format {
            ExplainFormat::Json => json::print(&block),
            ExplainFormat::Traditional | ExplainFormat::Tree => tree::print(&block, profile),
        };
        let mut answer = Table::of_texts(&["EXPLAIN"]);
        answer.push(vec![text(shown)]);
        Ok(answer)
    }

    /// How the parameters decide the reads of a statement of one table; `None` for a statement of several relations, whose
    /// subqueries have no values yet.
    fn resolved(&self, plan: &Plan, params: &[Value]) -> Result<Option<Resolved>, SqlError> {
        if plan.reads_on {
            return Ok(None);
        }
        let line = line_of(plan);
        let (Some(table), Some(access)) = (line.table, line.access) else { return Ok(None) };
        let run = Run::new(self, plan, params.to_vec(), false);
        let (partitions, keys) = self.asked_shards(&run, table, access)?;
        Ok(Some(Resolved {
            partitions,
            is_empty: keys == Keys::Nothing,
            is_unusable: keys == Keys::Unusable,
            key_count: match &keys {
                Keys::Keys(keys) => Some(keys.len() as u64),
                Keys::Ranges(_) | Keys::Nothing | Keys::Unusable => None,
            },
        }))
    }

    async fn explain_in_columns(
        &mut self,
        plan: &Plan,
        params: &[Value],
    ) -> Result<Table, SqlError> {
        let counts = super::row_counts(self).await;
        let run = Run::new(self, plan, params.to_vec(), false);
        let mut answer = Table::of_texts(&[
            "#id",
            "select_type",
            "table",
            "partitions",
            "type",
            "possible_keys",
            "key",
            "key_len",
            "ref",
            "#rows",
            "filtered",
            "Extra",
        ]);
        if plan.reads_on {
            let rows = Explainer::new(plan, counts).rows();
            rows.into_iter().for_each(|row| answer.push(row));
            return Ok(answer);
        }
        let line = line_of(plan);
        let Some(table) = line.table else {
            let mut row = vec![Value::Null; 12];
            row[0] = number(1);
            row[1] = text(line.select_type);
            row[11] = text(line.extra.join("; "));
            answer.push(row);
            return Ok(answer);
        };
        let row_count = counts.get(&table.id).map_or(0, |own| own.0);
        let mut row = vec![Value::Null; 12];
        row[0] = number(1);
        row[1] = text(line.select_type);
        row[2] = text(&table.name);
        row[10] = text("100.00");
        let Some(access) = line.access else {
            // INSERT: rows go where their keys say.
            row[4] = text("ALL");
            row[11] = if line.extra.is_empty() { Value::Null } else { text(line.extra.join("; ")) };
            row[10] = Value::Null;
            answer.push(row);
            return Ok(answer);
        };
        let (shards, resolved) = self.asked_shards(&run, table, access)?;
        if !table.id.is_temporary() {
            row[3] = text(shards.join(","));
        }
        let unusable = matches!(resolved, Keys::Unusable);
        let mut extra = line.extra;
        let kind = put_path(&mut row, table, access, unusable, row_count);
        match &resolved {
            Keys::Keys(keys) if kind != "const" => row[9] = number(keys.len() as u64),
            Keys::Nothing if kind != "const" => row[9] = number(0),
            _ => {}
        }
        let filters = if unusable { &access.filter } else { &access.residual };
        if filters.is_some()
            || access.local_filter.is_some()
            || (kind == "range" && access.filter.is_some())
        {
            extra.insert(0, "Using where");
        }
        if matches!(resolved, Keys::Nothing) {
            extra = vec!["Impossible WHERE"];
        }
        row[11] = if extra.is_empty() { Value::Null } else { text(extra.join("; ")) };
        answer.push(row);
        Ok(answer)
    }

    /// The shards whose rows are read.
    fn asked_shards(
        &self,
        run: &Run<'_>,
        table: &std::sync::Arc<types::Table>,
        access: &AccessPlan,
    ) -> Result<(Vec<String>, Keys), SqlError> {
        let catalogue = self.catalogue();
        let keyed = match table.indexes[access.path.index].kind {
            IndexKind::Unique { entries } if access.path.kind == PathKind::UniqueKey => {
                catalogue.table_by_id(entries).cloned().unwrap_or_else(|| table.clone())
            }
            _ => table.clone(),
        };
        let mut context = run.context();
        let resolved = keys::resolve(table, &keyed, &access.path, &mut context)?;
        if table.id.is_temporary() {
            return Ok((Vec::new(), resolved));
        }
        let client = self.client.client();
        let mut shards: Vec<u16> = match &resolved {
            Keys::Nothing => Vec::new(),
            Keys::Keys(keys) => keys.iter().map(|key| client.shard_of(key).0).collect(),
            Keys::Ranges(_) | Keys::Unusable => {
                client.shards().iter().map(|shard| shard.shard.0).collect()
            }
        };
        shards.sort_unstable();
        shards.dedup();
        Ok((shards.iter().map(|shard| format!("p{shard}")).collect(), resolved))
    }
}

fn line_of(plan: &Plan) -> Line<'_> {
    match &plan.kind {
        PlanKind::Select(select) => line_of_select(select),
        PlanKind::Insert(insert) => {
            let select_type = match insert.mode {
                crate::plan::InsertMode::Replace => "REPLACE",
                _ => "INSERT",
            };
            let extra = match insert.source {
                InsertSource::Select(_) => vec!["Using temporary"],
                InsertSource::Values(_) | InsertSource::Load(_) => Vec::new(),
            };
            Line { select_type, table: Some(&insert.table), access: None, extra }
        }
        PlanKind::Values(_) => unreachable!("SET and DO are not explained"),
        PlanKind::JoinedUpdate(_) | PlanKind::JoinedDelete(_) => {
            unreachable!("they read several relations")
        }
        PlanKind::Update(update) => {
            let sorts = !update.target.sort.is_empty() && !update.target.access.delivers_order;
            Line {
                select_type: "UPDATE",
                table: Some(&update.target.table),
                access: Some(&update.target.access),
                extra: if sorts { vec!["Using filesort"] } else { Vec::new() },
            }
        }
        PlanKind::Delete(delete) => {
            let sorts = !delete.target.sort.is_empty() && !delete.target.access.delivers_order;
            Line {
                select_type: "DELETE",
                table: Some(&delete.target.table),
                access: Some(&delete.target.access),
                extra: if sorts { vec!["Using filesort"] } else { Vec::new() },
            }
        }
    }
}

fn line_of_select(select: &SelectPlan) -> Line<'_> {
    let mut extra = Vec::new();
    match &select.source {
        Source::Nothing { filter } => {
            let never = filter
                .as_ref()
                .is_some_and(|filter| matches!(&filter.expr, Expr::Const(Value::Int(0))));
            Line {
                select_type: "SIMPLE",
                table: None,
                access: None,
                extra: vec![if never { "Impossible WHERE" } else { "No tables used" }],
            }
        }
        Source::Virtual { .. } => Line {
            select_type: "SIMPLE",
            table: None,
            access: None,
            extra: vec!["Made on the fly"],
        },
        Source::Joined(_) => unreachable!("it reads several relations"),
        Source::Documents { .. } => unreachable!("it is inside of a join"),
        Source::Table(source) => {
            if let Some(grouping) = &select.grouping
                && !grouping.implicit
            {
                extra.push("Using temporary");
            }
            let sorts = !select.sort.is_empty()
                && (select.grouping.is_some() || !source.access.delivers_order);
            let windows = select.windows.iter().flat_map(|windows| &windows.specs);
            let has_sorted =
                |spec: &WindowSpec| !spec.partition_by.is_empty() || !spec.order_by.is_empty();
            if sorts || windows.clone().any(has_sorted) {
                extra.push("Using filesort");
            }
            Line {
                select_type: "SIMPLE",
                table: Some(&source.table),
                access: Some(&source.access),
                extra,
            }
        }
    }
}

/// How a path finds the rows of a table.
pub struct ShownPath<'t> {
    /// ALL, index, range, ref or const.
    pub access_type: &'static str,
    pub possible: Vec<&'t str>,
    pub key: Option<&'t str>,
    /// Parts of the key that the path uses.
    pub used: usize,
    /// Bytes of these parts.
    pub key_length: Option<usize>,
    /// Rows that it may find.
    pub rows: u64,
}

/// `is_unusable`: the bounds of the path do not hold for keys.
pub fn path_of<'t>(
    table: &'t types::Table,
    access: &AccessPlan,
    is_unusable: bool,
    row_count: u64,
) -> ShownPath<'t> {
    let path = &access.path;
    let index = &table.indexes[path.index];
    let is_bounded = !path.equal.is_empty() || path.is_ranged();
    let is_single = path.equal.iter().all(PartBound::is_single);
    let access_type = match path.kind {
        _ if is_unusable => "ALL",
        PathKind::PrimaryKey | PathKind::UniqueKey if is_single => "const",
        PathKind::PrimaryKey | PathKind::UniqueKey => "range",
        PathKind::Range if path.is_ranged() || (is_bounded && !is_single) => "range",
        PathKind::Range if is_bounded => "ref",
        PathKind::Range if access.delivers_order || path.index != 0 => "index",
        PathKind::Range => "ALL",
    };
    let used = match access_type {
        "ALL" => 0,
        "index" => index.parts.len(),
        _ => path.equal.len() + usize::from(path.is_ranged()),
    };
    let is_keyed = access_type != "ALL";
    let length = || index.parts[..used].iter().map(|part| part_length(table, part)).sum();
    ShownPath {
        access_type,
        possible: access.possible.iter().map(|&own| table.indexes[own].name.as_str()).collect(),
        key: is_keyed.then_some(index.name.as_str()),
        used,
        key_length: is_keyed.then(length),
        rows: match access_type {
            "const" => 1,
            "ref" => row_count.div_ceil(10).max(1),
            "range" => row_count.div_ceil(3).max(1),
            _ => row_count.max(1),
        },
    }
}

/// Fills in how a path finds the rows of a table. Returns the type.
pub fn put_path(
    row: &mut [Value],
    table: &types::Table,
    access: &AccessPlan,
    is_unusable: bool,
    row_count: u64,
) -> &'static str {
    let path = path_of(table, access, is_unusable, row_count);
    row[4] = text(path.access_type);
    if !path.possible.is_empty() {
        row[5] = text(path.possible.join(","));
    }
    if let (Some(key), Some(length)) = (path.key, path.key_length) {
        row[6] = text(key);
        row[7] = text(length.to_string());
    }
    if matches!(path.access_type, "const" | "ref") {
        row[8] = text(vec!["const"; access.path.equal.len()].join(","));
    }
    row[9] = number(path.rows);
    path.access_type
}

/// Bytes of a key part as MySQL counts them: the declared ones, one for NULL, two for a length.
fn part_length(table: &types::Table, part: &types::IndexPart) -> usize {
    use types::ColumnType;
    let column = &table.columns[usize::from(part.column)];
    let own = match (&column.column_type, part.prefix) {
        (
            ColumnType::Varchar { length, .. } | ColumnType::Text { bytes_max: length, .. },
            prefix,
        ) => 4 * prefix.unwrap_or(*length) as usize + 2,
        (ColumnType::Char { length, .. }, prefix) => 4 * prefix.unwrap_or(*length) as usize,
        (ColumnType::Varbinary { length } | ColumnType::Blob { bytes_max: length }, prefix) => {
            prefix.unwrap_or(*length) as usize + 2
        }
        (ColumnType::Binary { length }, prefix) => prefix.unwrap_or(*length) as usize,
        (other, _) => other.fixed_size().unwrap_or(8),
    };
    own + usize::from(column.nullable)
}
