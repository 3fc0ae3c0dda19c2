//! Checking what another node sent before it is executed.
//!
//! Evaluation and row access take positions, argument counts and row bytes for granted; a peer's are not, whatever it is
//! authenticated as. A node's own front end is checked where it is made (the binder), so this costs remote work only.

use protocol::Refusal;
use protocol::message::{Execute, Write};
use protocol::op::{Columns, OpKind, ScanOutput};
use types::expr::Aggregate;
use types::{Expr, RowView};

use super::shard::{Shard, TableReplica};

impl Shard {
    /// Refuses operations whose expressions, columns or rows do not fit their table.
    pub(super) fn check_execute(&self, execute: &Execute) -> Result<(), Refusal> {
        for (_, op) in &execute.ops {
            let Some(replica) = self.tables.get(&op.table) else {
                return Err(Refusal::SchemaChanged { table: op.table });
            };
            if !replica.fits(&op.kind, execute.params.len()) {
                return Err(Refusal::LimitReached(format!(
                    "an operation from {:?} does not fit table {}",
                    execute.transaction.coordinator, op.table
                )));
            }
        }
        Ok(())
    }

    /// Are the rows of a record rows of their tables? (A table may be gone here already.)
    pub(super) fn check_writes(&self, writes: &[Write]) -> bool {
        writes.iter().all(|write| match (&write.row, self.tables.get(&write.table)) {
            (Some(row), Some(replica)) => RowView::check(&replica.layout, row).is_ok(),
            (None, _) | (_, None) => true,
        })
    }
}

impl TableReplica {
    fn fits(&self, kind: &OpKind, params: usize) -> bool {
        let columns = self.layout.column_count();
        let sound = |expr: &Expr| expr.check(columns, params);
        let filter_sound = |filter: &Option<Expr>| filter.as_ref().is_none_or(sound);
        let known = |column: &u16| usize::from(*column) < columns;
        let projects = |wanted: &Columns| match wanted {
            Columns::All => true,
            Columns::Only(positions) => positions.iter().all(known),
        };
        match kind {
            OpKind::Read { filter, columns, .. } => filter_sound(filter) && projects(columns),
            OpKind::Insert { row, .. } | OpKind::Put { row, .. } => {
                RowView::check(&self.layout, row).is_ok()
            }
            OpKind::Update { filter, assignments, .. } => {
                let assigns = assignments.iter();
                filter_sound(filter)
                    && assigns.clone().all(|assignment| known(&assignment.column))
                    && assigns.clone().all(|assignment| sound(&assignment.value))
            }
            OpKind::Delete { filter, .. } => filter_sound(filter),
            OpKind::Scan(scan) => {
                filter_sound(&scan.filter)
                    && match &scan.output {
                        ScanOutput::Rows { columns, .. } => projects(columns),
                        ScanOutput::Groups { group_by, aggregates } => {
                            let computed = aggregates.iter().flat_map(Aggregate::exprs);
                            group_by.iter().chain(computed).all(sound)
                        }
                    }
            }
        }
    }
}
