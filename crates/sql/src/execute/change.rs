//! The rows that UPDATE and DELETE work on: found, locked, filtered, sorted and cut.

use client::{Columns, Lock};
use types::{RowView, Value};

use super::rows::{Rows, Wanted, owned_row};
use super::runs::RowOrder;
use super::select::limit_value;
use super::sort::{SortedRows, Sorter};
use super::{Context, Failure, Pace};
use crate::plan::ChangeTarget;

/// Gives the locked rows of a change some at a time.
pub struct TargetRows<'p> {
    wanted: Wanted<'p>,
    target: &'p ChangeTarget,
    rows: Rows,
    /// Collected before the first change: the order or the path asks for it.
    collected: Option<SortedRows>,
    remaining: u64,
}

impl TargetRows<'_> {
    /// Is it known that no row is left?
    pub fn is_at_end(&self) -> bool {
        match &self.collected {
            _ if self.remaining == 0 => true,
            Some(collected) => collected.len() == 0,
            None => self.rows.are_over(),
        }
    }
}

impl Context<'_> {
    /// `whole`: read all rows before the first is changed. `in_order`: in the order of the path's index if the statement asks for no
    /// other, so that the same row is the first to take a key wherever the rows are.
    pub async fn open_target<'p>(
        &mut self,
        target: &'p ChangeTarget,
        whole: bool,
        in_order: bool,
    ) -> Result<TargetRows<'p>, Failure> {
        let limit = match &target.limit {
            Some(limit) => limit_value(&self.run, limit)?,
            None => u64::MAX,
        };
        let sorts = !target.sort.is_empty();
        let ordered = sorts && target.access.delivers_order;
        let cut = (target.access.local_filter.is_none() && limit < u64::MAX && (!sorts || ordered))
            .then_some(limit);
        let mut wanted = Wanted {
            table: &target.table,
            access: &target.access,
            columns: Columns::All,
            lock: Lock::Exclusive,
            semi_consistent: self.is_semi_consistent(),
            ordered: ordered || in_order,
            limit: cut,
            pulled: false,
            commit: false,
        };
        if limit == 0 {
            return Ok(TargetRows {
                wanted,
                target,
                rows: Rows::None,
                collected: None,
                remaining: 0,
            });
        }
        let (mut rows, unusable) = self.open_rows(&wanted).await?;
        let sort_here = sorts && (!ordered || unusable);
        if sort_here && unusable {
            wanted.limit = None;
            wanted.ordered = false;
            rows = self.open_rows(&wanted).await?.0;
        }
        let mut open = TargetRows { wanted, target, rows, collected: None, remaining: limit };
        if sort_here || whole {
            open.collected = Some(Box::pin(self.collect_target(&mut open, sort_here)).await?);
        }
        Ok(open)
    }

    async fn collect_target(
        &mut self,
        open: &mut TargetRows<'_>,
        sort: bool,
    ) -> Result<SortedRows, Failure> {
        let target = open.target;
        let keys = if sort { target.sort.as_slice() } else { &[] };
        let order = keys.iter().enumerate();
        let order = order.map(|(position, (_, descending))| (position, *descending)).collect();
        // Sort values, then the row itself.
        let mut sorter = Sorter::new(&self.budget(), RowOrder::Keys(order), Some(open.remaining));
        while let Some(rows) = self.next_target_batch(open).await? {
            for row in rows {
                let mut values = Vec::with_capacity(keys.len() + 1);
                if !keys.is_empty() {
                    let view = RowView::new(&target.layout, &row);
                    let columns = owned_row(&target.table, &view);
                    for (bound, _) in keys {
                        values.push(self.value_of(bound, &columns).await?);
                    }
                }
                values.push(Value::Bytes(row.into()));
                if sorter.push(values) {
                    sorter.make_room().await?;
                }
            }
        }
        Ok(sorter.finish().await?)
    }

    /// Rows straight from the source, local filter applied.
    async fn next_target_batch(
        &mut self,
        open: &mut TargetRows<'_>,
    ) -> Result<Option<Vec<Vec<u8>>>, Failure> {
        let target = open.target;
        let mut pace = Pace::default();
        loop {
            let Some(batch) = self.next_rows(&open.wanted, &mut open.rows).await? else {
                return Ok(None);
            };
            let mut kept = Vec::with_capacity(batch.len());
            for position in 0..batch.len() {
                pace.row().await;
                let row = batch.row(position);
                if let Some(filter) = &target.access.local_filter {
                    let columns = owned_row(&target.table, &RowView::new(&target.layout, row));
                    if !self.holds(filter, &columns).await? {
                        continue;
                    }
                }
                kept.push(row.to_vec());
                pace.bytes(row.len()).await;
            }
            if !kept.is_empty() {
                return Ok(Some(kept));
            }
        }
    }

    /// The next rows to change; never an empty batch.
    pub async fn next_target_rows(
        &mut self,
        open: &mut TargetRows<'_>,
        count: usize,
    ) -> Result<Option<Vec<Vec<u8>>>, Failure> {
        if open.remaining == 0 {
            return Ok(None);
        }
        let mut rows: Vec<Vec<u8>> = match &mut open.collected {
            Some(collected) => {
                let mut some = Vec::new();
                while some.len() < count
                    && let Some(mut values) = collected.next().await?
                {
                    let Some(Value::Bytes(row)) = values.pop() else {
                        unreachable!("the row was pushed last")
                    };
                    some.push(row.into_vec());
                }
                some
            }
            None => match self.next_target_batch(open).await? {
                Some(rows) => rows,
                None => return Ok(None),
            },
        };
        if rows.is_empty() {
            return Ok(None);
        }
        rows.truncate(usize::try_from(open.remaining).unwrap_or(usize::MAX));
        open.remaining -= rows.len() as u64;
        Ok(Some(rows))
    }
}
