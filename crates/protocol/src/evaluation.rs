//! What the filters, projections, assignments and aggregates of an operation make of a row: the meaning of [`crate::op`] in
//! a shard, and in a session for its temporary tables.

use std::borrow::Cow;
use std::collections::BTreeMap;

use types::contain::contain;
use types::convert::{SqlWarning, StoreMode, store};
use types::expr::{
    Aggregate, AggregateState, EvalContext, EvalError, Expr, Partial, ScanProgram, eval,
    eval_predicate,
};
use types::key::check_keys;
use types::wire::{Bytes, Reader, Wire};
use types::{ColumnType, RowLayout, RowView, ShardId, Table, Value, ValueRef};

use crate::Refusal;
use crate::op::{Assignment, Columns, GroupBatch, OpResult, RowBatch, Scan, ScanOutput};

/// The rows or groups that a scan has found.
pub struct ScanAnswer {
    shard: ShardId,
    found: u64,
    output: Output,
    /// Of the last row's group.
    key: Vec<u8>,
}

enum Output {
    Rows(RowBatch),
    Groups { groups: BTreeMap<Vec<u8>, Group>, size: usize },
}

/// A group, by the encoded values of its key.
struct Group {
    values: Vec<Value>,
    states: Vec<AggregateState>,
    /// Sums that the program of the scan has not yet moved into the states.
    partials: Vec<Partial>,
}

/// The filter and the aggregates of a plain scan. Few rows are interpreted; for more of them it pays to compile both.
pub struct Evaluator<'e> {
    filter: Option<&'e Expr>,
    aggregates: &'e [Aggregate],
    pub program: Option<ScanProgram<'e>>,
    /// Rows until they are compiled.
    interpreted: u32,
}

/// Rows that take as long as compiling.
const ROWS_INTERPRETED: u32 = 32;

impl<'e> Evaluator<'e> {
    pub fn new(scan: &'e Scan) -> Evaluator<'e> {
        let aggregates: &[Aggregate] = match &scan.output {
            ScanOutput::Rows { .. } => &[],
            ScanOutput::Groups { aggregates, .. } => aggregates,
        };
        let filter = scan.filter.as_ref();
        // A resumed scan has many rows.
        let interpreted = if scan.resume.is_some() { 0 } else { ROWS_INTERPRETED };
        Evaluator { filter, aggregates, program: None, interpreted }
    }

    /// Whether the filter is true on the next row.
    pub fn passes(
        &mut self,
        row: &RowView<'_>,
        evaluation: &mut EvalContext<'_>,
    ) -> Result<bool, Refusal> {
        if self.filter.is_none() && self.aggregates.is_empty() {
            return Ok(true);
        }
        let passed = match &mut self.program {
            Some(program) => program.passes(row, evaluation),
            None if self.interpreted == 0 => {
                let program =
                    ScanProgram::new(row.layout(), self.filter, self.aggregates, evaluation);
                self.program.insert(program).passes(row, evaluation)
            }
            None => {
                self.interpreted -= 1;
                return passes_here(self.filter, row, evaluation);
            }
        };
        passed.map_err(Refusal::Eval)
    }
}

impl Group {
    /// Without rows.
    fn new(key: &[u8], group_by: &[Expr], aggregates: &[Aggregate]) -> Group {
        let mut encoded = Reader::new(key);
        let value = |_: &Expr| Value::decode(&mut encoded).expect("the key was encoded just now");
        let values = group_by.iter().map(value).collect();
        let states = aggregates.iter().map(AggregateState::new).collect();
        Group { values, states, partials: vec![Partial::default(); aggregates.len()] }
    }
}

impl ScanAnswer {
    pub fn new(scan: &Scan, shard: ShardId) -> ScanAnswer {
        let output = match &scan.output {
            ScanOutput::Rows { .. } => Output::Rows(RowBatch { shard, ..RowBatch::default() }),
            ScanOutput::Groups { .. } => Output::Groups { groups: BTreeMap::new(), size: 0 },
        };
        ScanAnswer { shard, found: 0, output, key: Vec::new() }
    }

    /// Bytes, or groups, to the limit of an answer?
    pub fn is_full(&self, bytes_max: usize, groups_max: usize) -> bool {
        match &self.output {
            Output::Rows(batch) => bytes_max <= batch.rows.len() + batch.keys.len(),
            Output::Groups { groups, size } => groups_max <= groups.len() || bytes_max <= *size,
        }
    }

    pub fn limit_reached(&self, scan: &Scan) -> bool {
        scan.limit.is_some_and(|limit| self.found >= limit)
    }

    /// A row that a peek names.
    pub fn name(&mut self, entry: &[u8]) {
        self.found += 1;
        match &mut self.output {
            Output::Rows(batch) => batch.end_row(Some(entry)),
            Output::Groups { .. } => unreachable!("a peek is for rows"),
        }
    }

    /// A row that has passed the filter. `projection` is the layout of the columns asked for, if not all are.
    pub fn add(
        &mut self,
        scan: &Scan,
        row: &RowView<'_>,
        entry: &[u8],
        projection: Option<&RowLayout>,
        program: Option<&mut ScanProgram<'_>>,
        evaluation: &mut EvalContext<'_>,
    ) -> Result<(), Refusal> {
        self.found += 1;
        match (&mut self.output, &scan.output) {
            (Output::Rows(batch), ScanOutput::Rows { columns, with_keys }) => {
                match (columns, projection) {
                    (Columns::Only(positions), Some(layout)) => {
                        project_into(row, positions, layout, &mut batch.rows.0)?;
                    }
                    (Columns::Only(_), None) | (Columns::All, _) => {
                        batch.rows.0.extend_from_slice(row.bytes());
                    }
                }
                batch.end_row(with_keys.then_some(entry));
                Ok(())
            }
            (Output::Groups { groups, size }, ScanOutput::Groups { group_by, aggregates }) => {
                self.key.clear();
                for expr in group_by {
                    match expr {
                        Expr::Column(column) => {
                            row.get(usize::from(*column)).encode(&mut self.key);
                        }
                        expr => {
                            let value = eval(expr, row, evaluation).map_err(Refusal::Eval)?;
                            value.encode(&mut self.key);
                        }
                    }
                }
                // Without GROUP BY all rows are one group. To compare its key, which is empty, takes as long as the rest of
                // a row: memcmp's masked load from the address of an empty Vec costs the processor an assist.
                let known = match group_by.is_empty() {
                    true => groups.values_mut().next(),
                    false => groups.get_mut(&self.key),
                };
                let group = match known {
                    Some(group) => group,
                    None => {
                        // Once as the key and once as values.
                        *size += 2 * self.key.len();
                        let group = Group::new(&self.key, group_by, aggregates);
                        groups.entry(self.key.clone()).or_insert(group)
                    }
                };
                let Group { states, partials, .. } = group;
                match program {
                    Some(program) => {
                        let grown = program.add(partials, states, row, evaluation);
                        *size += grown.map_err(Refusal::Eval)?;
                    }
                    None => {
                        for (aggregate, state) in aggregates.iter().zip(states) {
                            let before = state.size();
                            aggregate.add_row(row, state, evaluation).map_err(Refusal::Eval)?;
                            *size += state.size().saturating_sub(before) as usize;
                        }
                    }
                }
                Ok(())
            }
            (Output::Rows(_), ScanOutput::Groups { .. })
            | (Output::Groups { .. }, ScanOutput::Rows { .. }) => {
                unreachable!("the output was made for this scan")
            }
        }
    }

    /// Completes the states of the groups.
    pub fn flush(&mut self, program: &ScanProgram<'_>) -> Result<(), Refusal> {
        if let Output::Groups { groups, .. } = &mut self.output {
            for Group { states, partials, .. } in groups.values_mut() {
                program.flush(partials, states).map_err(Refusal::Eval)?;
            }
        }
        Ok(())
    }

    /// `next`: where the scan resumes.
    pub fn finish(self, next: Option<Bytes>) -> OpResult {
        match self.output {
            Output::Rows(mut batch) => {
                batch.next = next;
                OpResult::Rows(batch)
            }
            Output::Groups { groups, .. } => {
                let shard = self.shard;
                let groups = groups.into_values();
                let groups = groups.map(|group| (group.values, group.states)).collect();
                OpResult::Groups(GroupBatch { shard, groups, next })
            }
        }
    }
}

pub fn passes(
    filter: Option<&Expr>,
    row: &RowView<'_>,
    evaluation: &mut EvalContext<'_>,
) -> Result<bool, Refusal> {
    match filter {
        None => Ok(true),
        Some(_) => contained(|| passes_here(filter, row, evaluation)),
    }
}

/// The same, inside a boundary of the caller ([`contained`]).
pub fn passes_here(
    filter: Option<&Expr>,
    row: &RowView<'_>,
    evaluation: &mut EvalContext<'_>,
) -> Result<bool, Refusal> {
    match filter {
        None => Ok(true),
        Some(filter) => Ok(eval_predicate(filter, row, evaluation).map_err(Refusal::Eval)?),
    }
}

/// Runs code of a statement, which may have faults: a panic refuses the statement, and the data that `f` has changed is dropped
/// with it. `f` reads rows and changes only the statement's own data.
pub fn contained<T>(f: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Refusal> {
    contain(f).unwrap_or_else(|panicked| Err(Refusal::Eval(EvalError::panicked(&panicked))))
}

/// The asked-for columns of a row, encoded.
pub fn project(row: &RowView<'_>, columns: &Columns) -> Result<Bytes, Refusal> {
    match columns {
        Columns::All => Ok(Bytes(row.bytes().to_vec())),
        Columns::Only(positions) => {
            let layout = projected_layout(row.layout(), positions);
            let mut out = Vec::new();
            project_into(row, positions, &layout, &mut out)?;
            Ok(Bytes(out))
        }
    }
}

pub fn projected_layout(layout: &RowLayout, positions: &[u16]) -> RowLayout {
    RowLayout::new(positions.iter().map(|position| layout.column_type(usize::from(*position))))
}

pub fn project_into(
    row: &RowView<'_>,
    positions: &[u16],
    layout: &RowLayout,
    out: &mut Vec<u8>,
) -> Result<(), Refusal> {
    let values: Vec<ValueRef<'_>> =
        positions.iter().map(|position| row.get(usize::from(*position))).collect();
    types::row::encode_row_into(layout, &values, out)
        .map_err(|error| Refusal::LimitReached(format!("{error:?}")))
}

/// The layout of the columns that a scan asks for, if not all are.
pub fn projection_of(scan: &Scan, layout: &RowLayout) -> Option<RowLayout> {
    match &scan.output {
        ScanOutput::Rows { columns: Columns::Only(positions), .. } => {
            Some(projected_layout(layout, positions))
        }
        ScanOutput::Rows { columns: Columns::All, .. } | ScanOutput::Groups { .. } => None,
    }
}

/// The row after its assignments, or none if no column got another value. Each sees the results of those before it.
pub fn assign(
    table: &Table,
    old: &RowView<'_>,
    assignments: &[Assignment],
    strict: bool,
    evaluation: &mut EvalContext<'_>,
) -> Result<Option<Vec<u8>>, Refusal> {
    let mode = if strict { StoreMode::Strict } else { StoreMode::Lenient };
    let mut current: Cow<'_, [u8]> = Cow::Borrowed(old.bytes());
    let mut changed = false;
    for assignment in assignments {
        let view = RowView::new(old.layout(), &current);
        let column = &table.columns[usize::from(assignment.column)];
        let value = eval(&assignment.value, &view, evaluation).map_err(Refusal::Eval)?;
        let value = assigned_value(assignment.column, &value, column, mode, evaluation)?;
        let before = view.get(usize::from(assignment.column));
        if before.to_value() == value {
            continue;
        }
        changed = true;
        let change = [(usize::from(assignment.column), value.as_ref())];
        let row = types::row::replace_columns(&view, &change)
            .map_err(|error| Refusal::LimitReached(format!("{error:?}")))?;
        current = Cow::Owned(row);
    }
    if changed {
        check_keys(table, &RowView::new(old.layout(), &current))
            .map_err(|error| Refusal::LimitReached(format!("{error:?}")))?;
    }
    Ok(changed.then(|| current.into_owned()))
}

fn assigned_value(
    position: u16,
    value: &Value,
    column: &types::Column,
    mode: StoreMode,
    evaluation: &mut EvalContext<'_>,
) -> Result<Value, Refusal> {
    let column_type: &ColumnType = &column.column_type;
    let convert = &mut evaluation.convert;
    let zone = convert.time_zone_offset_seconds;
    if matches!(column_type, ColumnType::Timestamp { .. }) {
        // A value for a TIMESTAMP comes in UTC.
        convert.time_zone_offset_seconds = 0;
    }
    let stored = store(value.as_ref(), column_type, mode, convert);
    convert.time_zone_offset_seconds = zone;
    let (value, warning) = stored.map_err(|error| Refusal::Store { column: position, error })?;
    if let Some(warning) = warning {
        evaluation.convert.warnings.push(warning.to_warning(&column.name, 1));
    }
    if !value.is_null() || column.nullable {
        return Ok(value);
    }
    match mode {
        StoreMode::Strict => Err(Refusal::NotNull { column: position }),
        StoreMode::Lenient => {
            let message = format!("Column '{}' cannot be null", column.name);
            evaluation.convert.warnings.push(SqlWarning::warning(1048, message));
            Ok(column_type.implicit_default().to_value())
        }
    }
}
