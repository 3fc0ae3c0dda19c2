//! Describes a bound plan as a tree of steps.

use std::collections::{BTreeMap, BTreeSet};

use types::{Expr, TableId, Value};

use super::expr::{ExprPrinter, Scope, aggregate_name, numbers_of};
use super::node::{
    AggregateMethod, Block, ChangeKind, ChangeMethod, FilterPlace, JoinMethod as ShownMethod, Node,
    Place, SetOperation, Step, Subquery, TableStep,
};
use super::path_of;
use crate::bind::rewrite;
use crate::execute::profile::{Spot, Stage};
use crate::parser::ast::SetOperator;
use crate::plan::{
    AccessPlan, AssignedValue, AssignmentPlan, Bound, ChangeTarget, Frame, FrameBound, Grouping,
    IndexPath, InsertMode, InsertSource, InsertValue, JoinMethod, JoinOperator, JoinedChangePlan,
    JoinedSource, LimitPlan, Operator, OuterValue, PartBound, PathKind, Plan, PlanKind, RangeBound,
    SelectPlan, SetMember, Slot, Source, TableChange, TableSource, WindowFunction, WindowKind,
    WindowPlan, WindowSpec,
};

/// Ranges of a key that are printed before the rest is counted.
const RANGES_SHOWN_MAX: usize = 3;

/// How the values of a statement decide the reads of its one table.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub partitions: Vec<String>,
    /// No row can match.
    pub is_empty: bool,
    /// The bounds do not hold for keys: the table is scanned.
    pub is_unusable: bool,
    /// Keys that are read, where they are few and known.
    pub key_count: Option<u64>,
}

pub struct Describer<'p> {
    plan: &'p Plan,
    printer: ExprPrinter<'p>,
    /// Rows and bytes of tables.
    counts: BTreeMap<TableId, (u64, u64)>,
    /// For a statement of one table.
    resolved: Option<Resolved>,
    /// By number of a recursive table: its columns.
    working: BTreeMap<u16, Vec<String>>,
    /// Slots of the subqueries that are in the tree.
    described: BTreeSet<u16>,
}

/// The plan as a tree.
pub fn describe(
    plan: &Plan,
    params: Vec<Value>,
    counts: BTreeMap<TableId, (u64, u64)>,
    resolved: Option<Resolved>,
) -> Block {
    let mut printer = ExprPrinter::new(plan, params);
    printer.numbers = numbers_of(plan);
    let mut describer = Describer {
        plan,
        printer,
        counts,
        resolved,
        working: BTreeMap::new(),
        described: BTreeSet::new(),
    };
    let mut block = describer.statement();
    // Subqueries of parts that have no step, such as the values of INSERT.
    let slots: Vec<u16> =
        (0..plan.slots.len()).filter_map(|slot| u16::try_from(slot).ok()).collect();
    let rest = describer.subqueries(&[], &slots, &Scope::default(), Place::Projection);
    block.projections.extend(rest);
    block
}

impl<'p> Describer<'p> {
    fn statement(&mut self) -> Block {
        match &self.plan.kind {
            PlanKind::Select(select) => self.block(select),
            PlanKind::Insert(insert) => {
                let kind = match insert.mode {
                    InsertMode::Replace => ChangeKind::Replace,
                    InsertMode::Insert | InsertMode::Update(_) => ChangeKind::Insert,
                };
                let mut change = change(kind, vec![insert.table.name.clone()], None);
                match &insert.source {
                    InsertSource::Select(select) => change.blocks.push(self.block(select)),
                    InsertSource::Load(_) => {}
                    InsertSource::Values(rows) => {
                        let mut node = Node::new(Step::Rows, Vec::new());
                        node.rows = Some(rows.len() as u64);
                        let values = rows.iter().flatten().filter_map(|value| match value {
                            InsertValue::Expr(bound) => Some(bound),
                            InsertValue::Default => None,
                        });
                        let nothing = Scope::default();
                        change.subqueries = self.of_bounds(values, &nothing, Place::Projection);
                        change.inputs.push(node);
                    }
                }
                alone(change)
            }
            PlanKind::Update(update) => {
                let method = match update.shipped {
                    Some(_) => ChangeMethod::Shards,
                    None if update.moves_in_index => ChangeMethod::Buffered,
                    None => ChangeMethod::Immediate,
                };
                let (node, scope) = self.target(&update.target);
                let tables = vec![update.target.alias.clone()];
                let mut change = change(ChangeKind::Update, tables, Some(method));
                change.subqueries =
                    self.of_bounds(values_of(&update.assignments), &scope, Place::Projection);
                change.inputs.push(node);
                alone(change)
            }
            PlanKind::Delete(delete) => {
                let method =
                    if delete.shipped { ChangeMethod::Shards } else { ChangeMethod::Immediate };
                let (node, _) = self.target(&delete.target);
                let tables = vec![delete.target.alias.clone()];
                let mut change = change(ChangeKind::Delete, tables, Some(method));
                change.inputs.push(node);
                alone(change)
            }
            PlanKind::JoinedUpdate(change) => self.joined_change(ChangeKind::Update, change),
            PlanKind::JoinedDelete(change) => self.joined_change(ChangeKind::Delete, change),
            PlanKind::Values(_) => alone(Node::new(Step::Rows, Vec::new())),
        }
    }

    fn joined_change(&mut self, kind: ChangeKind, plan: &'p JoinedChangePlan) -> Block {
        let Source::Joined(source) = &plan.rows.source else {
            unreachable!("a change of several tables is one of a join")
        };
        let alias = |relation: u16| source.aliases[usize::from(relation)].clone();
        let tables = plan.tables.iter().map(|table| alias(table.relation)).collect();
        let mut change = change(kind, tables, Some(ChangeMethod::Buffered));
        change.blocks.push(self.block(&plan.rows));
        let scope = self.joined_scope(source);
        for table in &plan.tables {
            if let TableChange::Update(assignments) = &table.change {
                let own = self.of_bounds(values_of(assignments), &scope, Place::Projection);
                change.subqueries.extend(own);
            }
        }
        alone(change)
    }

    /// The rows that UPDATE or DELETE of one table works on.
    fn target(&mut self, target: &'p ChangeTarget) -> (Node, Scope) {
        let ChangeTarget { table, alias, access, sort, limit, .. } = target;
        let scope = table_scope(alias, table);
        let mut node = self.table(alias, table, access, None, Lookup::No);
        if let Some(filter) = &access.local_filter {
            node = self.filter(node, std::slice::from_ref(filter), &scope, FilterPlace::Session);
        }
        if !sort.is_empty() && !access.delivers_order {
            let keys = sort.iter().map(|(bound, descending)| {
                sort_key(self.printer.text(&bound.expr, &scope), *descending)
            });
            node = Node::new(Step::Sort { keys: keys.collect(), limit: None }, vec![node]);
        }
        if let Some(limit) = limit {
            let count = self.printer.text(limit, &scope);
            node = Node::new(Step::Limit { count, offset: None }, vec![node]);
        }
        (node, scope)
    }

    // -----------------------------------------------------------------------------------------------------------
    // Queries

    fn block(&mut self, select: &'p SelectPlan) -> Block {
        let mut projections = Vec::new();
        let (mut node, mut scope) = self.source(select);
        if let Some(grouping) = &select.grouping {
            let exprs = grouping.aggregates.iter().flat_map(types::expr::Aggregate::exprs);
            let exprs: Vec<&Expr> = grouping.group_by.iter().chain(exprs).collect();
            projections.extend(self.subqueries(&exprs, &grouping.slots, &scope, Place::Projection));
            (node, scope) = self.grouped(select, grouping, node, &scope);
            if let Some(having) = &grouping.having {
                let terms = std::slice::from_ref(having);
                node = self.filter(node, terms, &scope, FilterPlace::Having);
                node.spot = Some(Spot::stage(select, Stage::Having));
            }
        }
        if let Some(windows) = &select.windows {
            projections.extend(self.of_bounds(&windows.inputs, &scope, Place::Projection));
            (node, scope) = self.windowed(select, windows, node, &scope);
        }
        projections.extend(self.of_bounds(&select.items, &scope, Place::Projection));
        let delivers = select.source.delivers_order();
        let is_unusable = self.resolved.as_ref().is_some_and(|own| own.is_unusable);
        let is_delivered = delivers && !is_unusable && select.grouping.is_none();
        if !select.sort.is_empty() && !is_delivered {
            let keys = select.sort.iter().map(|(item, descending)| {
                sort_key(self.printer.text(&select.items[*item].expr, &scope), *descending)
            });
            let keys = keys.collect();
            let is_cut = !select.distinct && !select.calc_found_rows;
            let limit = select.limit.as_ref().filter(|_| is_cut).map(|limit| self.kept_rows(limit));
            let spot = Spot::stage(select, Stage::Sort);
            node = Node::at(Step::Sort { keys, limit }, vec![node], spot);
        }
        if select.distinct {
            node = Node::at(Step::Distinct, vec![node], Spot::stage(select, Stage::Distinct));
        }
        if let Some(limit) = &select.limit {
            let nothing = Scope::default();
            let count = self.printer.text(&limit.count, &nothing);
            let offset = limit.offset.as_ref().map(|offset| self.printer.text(offset, &nothing));
            let spot = Spot::stage(select, Stage::Limit);
            node = Node::at(Step::Limit { count, offset }, vec![node], spot);
        }
        Block { number: self.printer.number_of(select), root: node, projections }
    }

    /// The first rows of a sort that a limit leaves.
    fn kept_rows(&self, limit: &LimitPlan) -> String {
        let nothing = Scope::default();
        let count = self.printer.text(&limit.count, &nothing);
        let Some(offset) = &limit.offset else { return count };
        let offset = self.printer.text(offset, &nothing);
        match (count.parse::<u64>(), offset.parse::<u64>()) {
            (Ok(count), Ok(offset)) => count.saturating_add(offset).to_string(),
            _ => format!("{offset}+{count}"),
        }
    }

    /// The rows of FROM and WHERE, and the names of their columns.
    fn source(&mut self, select: &'p SelectPlan) -> (Node, Scope) {
        match &select.source {
            Source::Nothing { filter } => {
                let spot = Spot::stage(select, Stage::LocalFilter);
                let scope = Scope::default();
                let mut node = Node::new(Step::Rows, Vec::new());
                match filter {
                    Some(Bound { expr: Expr::Const(Value::Int(0)), .. }) => {
                        node.step = Step::NoRows;
                    }
                    Some(filter) => {
                        let terms = std::slice::from_ref(filter);
                        node = self.filter(node, terms, &scope, FilterPlace::Session);
                    }
                    None => node.rows = Some(1),
                }
                node.spot = Some(spot);
                (node, scope)
            }
            Source::Virtual { table, filter } => {
                let name = table.name();
                let columns = table.scope(None).columns;
                let columns = columns.iter().map(|column| format!("{name}.{}", column.name));
                let scope = Scope { columns: columns.collect() };
                let step = Step::Virtual { name: name.to_string() };
                let mut node = Node::at(step, Vec::new(), Spot::stage(select, Stage::Source));
                if let Some(filter) = filter {
                    let terms = std::slice::from_ref(filter);
                    node = self.filter(node, terms, &scope, FilterPlace::Session);
                    node.spot = Some(Spot::stage(select, Stage::LocalFilter));
                }
                (node, scope)
            }
            Source::Documents { alias, .. } => {
                let columns = select.columns.iter();
                let columns = columns.map(|column| format!("{alias}.{}", column.name)).collect();
                let step = Step::Virtual { name: "json_table".to_string() };
                let node = Node::at(step, Vec::new(), Spot::stage(select, Stage::Source));
                (node, Scope { columns })
            }
            Source::Table(source) => {
                let TableSource { table, alias, access, .. } = &**source;
                let is_shipped = select.grouping.as_ref().is_some_and(|grouping| grouping.shipped);
                // The shards count partial groups, not the rows that these are made of.
                let spot = (!is_shipped).then(|| Spot::stage(select, Stage::Source));
                let mut node = self.table(alias, table, access, spot, Lookup::No);
                let read = read_scope(alias, source);
                if let Some(filter) = &access.local_filter {
                    let terms = std::slice::from_ref(filter);
                    node = self.filter(node, terms, &read, FilterPlace::Session);
                    node.spot = Some(Spot::stage(select, Stage::LocalFilter));
                }
                (node, if is_shipped { table_scope(alias, table) } else { read })
            }
            Source::Joined(source) => {
                let scope = self.joined_scope(source);
                (self.operator(source, &scope, &source.root), scope)
            }
        }
    }

    fn grouped(
        &mut self,
        select: &'p SelectPlan,
        grouping: &'p Grouping,
        input: Node,
        scope: &Scope,
    ) -> (Node, Scope) {
        let groups: Vec<String> =
            grouping.group_by.iter().map(|expr| self.printer.text(expr, scope)).collect();
        let functions: Vec<String> =
            grouping.aggregates.iter().map(|own| self.printer.aggregate(own, scope)).collect();
        let columns = groups.iter().chain(&functions).cloned().collect();
        // Behind the values of WITH ROLLUP is their level.
        let shown = groups.len() - usize::from(grouping.rollup);
        let step = |method: AggregateMethod, has_rollup: bool| Step::Aggregate {
            method,
            functions: functions.clone(),
            groups: groups[..shown].to_vec(),
            has_rollup,
        };
        let spot = Spot::stage(select, Stage::Groups);
        let input = match grouping.of_first_row {
            true => Node::new(Step::Limit { count: "1".into(), offset: None }, vec![input]),
            false => input,
        };
        let node = match grouping.shipped {
            true => {
                let sent = Spot::stage(select, Stage::Source);
                let shards = Node::at(step(AggregateMethod::Shards, false), vec![input], sent);
                Node::at(step(AggregateMethod::Merge, grouping.rollup), vec![shards], spot)
            }
            false => Node::at(step(AggregateMethod::Session, grouping.rollup), vec![input], spot),
        };
        (node, Scope { columns })
    }

    fn windowed(
        &mut self,
        select: &'p SelectPlan,
        windows: &'p WindowPlan,
        mut node: Node,
        scope: &Scope,
    ) -> (Node, Scope) {
        let columns =
            windows.columns.iter().map(|&column| self.printer.text(&Expr::Column(column), scope));
        let mut kept = Scope { columns: columns.collect() };
        for input in &windows.inputs {
            let text = self.printer.text(&input.expr, &kept);
            kept.columns.push(text);
        }
        for spec in &windows.specs {
            let keys: Vec<String> = spec
                .partition_by
                .iter()
                .map(|column| kept.columns[usize::from(*column)].clone())
                .chain(spec.order_by.iter().map(|(column, descending)| {
                    sort_key(kept.columns[usize::from(*column)].clone(), *descending)
                }))
                .collect();
            if !keys.is_empty() {
                node = Node::new(Step::Sort { keys: keys.clone(), limit: None }, vec![node]);
            }
            let mut functions = Vec::new();
            let mut names = Vec::new();
            for function in &spec.functions {
                let (name, text) = self.window_function(function, spec, &kept);
                self.printer.windows.insert(function.slot, text.clone());
                names.push(name);
                functions.push(text);
            }
            node = Node::new(Step::Window { functions, names, keys }, vec![node]);
        }
        node.spot = Some(Spot::stage(select, Stage::Windows));
        (node, kept)
    }

    /// The name of a window function, and its text.
    fn window_function(
        &self,
        function: &WindowFunction,
        spec: &WindowSpec,
        kept: &Scope,
    ) -> (String, String) {
        let column = |position: u16| kept.columns[usize::from(position)].as_str();
        let text = |expr: &Expr| self.printer.text(expr, kept);
        let mut has_frame = true;
        let call = match &function.kind {
            WindowKind::FirstValue { value } => format!("first_value({})", column(*value)),
            WindowKind::LastValue { value } => format!("last_value({})", column(*value)),
            WindowKind::NthValue { value, number } => {
                format!("nth_value({},{})", column(*value), text(number))
            }
            WindowKind::Aggregate(aggregate) => self.printer.aggregate(aggregate, kept),
            other => {
                has_frame = false;
                match other {
                    WindowKind::RowNumber => "row_number()".into(),
                    WindowKind::Rank => "rank()".into(),
                    WindowKind::DenseRank => "dense_rank()".into(),
                    WindowKind::PercentRank => "percent_rank()".into(),
                    WindowKind::CumeDist => "cume_dist()".into(),
                    WindowKind::Ntile { bucket_count } => format!("ntile({})", text(bucket_count)),
                    WindowKind::Lag { value, offset, default, ahead } => {
                        let name = if *ahead { "lead" } else { "lag" };
                        let default = default.map(|own| format!(",{}", column(own)));
                        let default = default.unwrap_or_default();
                        format!("{name}({},{}{default})", column(*value), text(offset))
                    }
                    _ => unreachable!("functions of frames are above"),
                }
            }
        };
        let mut window = Vec::new();
        if !spec.partition_by.is_empty() {
            let columns: Vec<&str> = spec.partition_by.iter().map(|own| column(*own)).collect();
            window.push(format!("PARTITION BY {}", columns.join(",")));
        }
        if !spec.order_by.is_empty() {
            let keys = spec.order_by.iter();
            let keys = keys.map(|(own, descending)| sort_key(column(*own).into(), *descending));
            window.push(format!("ORDER BY {}", keys.collect::<Vec<_>>().join(",")));
        }
        if has_frame {
            window.extend(self.frame(&function.frame, !spec.order_by.is_empty(), kept));
        }
        let name = match &function.kind {
            WindowKind::Aggregate(aggregate) => aggregate_name(&aggregate.function).to_string(),
            _ => call.split('(').next().unwrap_or_default().to_string(),
        };
        (name, format!("{call} OVER ({})", window.join(" ")))
    }

    /// A frame; `None` for the one that is meant where none is written.
    fn frame(&self, frame: &Frame, is_ordered: bool, kept: &Scope) -> Option<String> {
        let is_default = match (&frame.start, &frame.end) {
            (FrameBound::Unbounded, FrameBound::CurrentRow) => !frame.by_rows,
            (FrameBound::Unbounded, FrameBound::Unbounded) => !is_ordered,
            _ => false,
        };
        if is_default {
            return None;
        }
        let bound = |bound: &FrameBound, unbounded: &str| {
            let side = |following: bool| if following { "FOLLOWING" } else { "PRECEDING" };
            match bound {
                FrameBound::Unbounded => format!("UNBOUNDED {unbounded}"),
                FrameBound::CurrentRow => "CURRENT ROW".to_string(),
                FrameBound::Rows { count, following } => {
                    format!("{} {}", self.printer.text(count, kept), side(*following))
                }
                FrameBound::Range { amount, following, .. } => {
                    format!("{} {}", self.printer.text(amount, kept), side(*following))
                }
            }
        };
        let unit = if frame.by_rows { "ROWS" } else { "RANGE" };
        let (start, end) = (bound(&frame.start, "PRECEDING"), bound(&frame.end, "FOLLOWING"));
        Some(format!("{unit} BETWEEN {start} AND {end}"))
    }

    // -----------------------------------------------------------------------------------------------------------
    // Operators

    fn operator(
        &mut self,
        source: &'p JoinedSource,
        scope: &Scope,
        operator: &'p Operator,
    ) -> Node {
        let spot = Spot::operator(operator);
        let name = |relation: &u16| source.aliases[usize::from(*relation)].clone();
        match operator {
            Operator::Table { relation, source: table, estimate, .. } => {
                self.joined_table(&name(relation), table, spot, *estimate, Lookup::No)
            }
            Operator::Virtual { relation, .. } => {
                Node::at(Step::Virtual { name: name(relation) }, Vec::new(), spot)
            }
            Operator::Query { relation, plan, keep } => {
                let block = self.block(plan);
                let name = match name(relation).as_str() {
                    "" => derived_name(block.number),
                    alias => alias.to_string(),
                };
                let step = Step::Derived { name, outer: Vec::new(), is_kept: keep.is_some() };
                let mut node = Node::at(step, Vec::new(), spot);
                node.blocks.push(block);
                node
            }
            Operator::Values { rows, .. } => {
                let mut node = Node::at(Step::Rows, Vec::new(), spot);
                node.rows = Some(rows.len() as u64);
                let nothing = Scope::default();
                node.subqueries =
                    self.of_bounds(rows.iter().flatten(), &nothing, Place::Projection);
                node
            }
            Operator::Set { members, .. } => self.set(members, spot),
            Operator::Recursive { relation, seed, steps, distinct, .. } => {
                let step = Step::Recursive { name: name(relation), is_distinct: *distinct };
                let mut node = Node::at(step, Vec::new(), spot);
                node.blocks.push(self.block(seed));
                for step in steps {
                    let block = self.block(step);
                    node.blocks.push(block);
                }
                node
            }
            Operator::Working { relation, .. } => {
                Node::at(Step::Working { name: name(relation) }, Vec::new(), spot)
            }
            Operator::Filter { input, terms, estimate } => {
                let input = self.operator(source, scope, input);
                let mut node = self.filter(input, terms, scope, FilterPlace::Session);
                (node.rows, node.spot) = (Some(whole(*estimate)), Some(spot));
                node
            }
            Operator::Join(join) => self.join(source, scope, join, spot),
        }
    }

    fn join(
        &mut self,
        source: &'p JoinedSource,
        scope: &Scope,
        join: &'p JoinOperator,
        spot: Spot,
    ) -> Node {
        let left = self.operator(source, scope, &join.left);
        let outer: &[OuterValue] = match &join.method {
            JoinMethod::Hash => &[],
            JoinMethod::Lookup { outer } | JoinMethod::Apply { outer } => outer,
        };
        self.register(outer, scope);
        let mut right = match &join.method {
            JoinMethod::Lookup { .. } => self.looked_up(source, scope, &join.right),
            JoinMethod::Hash | JoinMethod::Apply { .. } => {
                self.operator(source, scope, &join.right)
            }
        };
        let method = match &join.method {
            JoinMethod::Hash => {
                right = Node::new(Step::Hash, vec![right]);
                ShownMethod::Hash
            }
            JoinMethod::Lookup { .. } => ShownMethod::NestedLoop,
            JoinMethod::Apply { .. } => {
                name_outer(&mut right, &relations_of(source, outer));
                ShownMethod::NestedLoop
            }
        };
        // A lookup finds only rows that are equal in the columns that its path binds.
        let bound: Vec<u16> = match &join.method {
            JoinMethod::Lookup { .. } => bound_columns(source, &join.right),
            JoinMethod::Hash | JoinMethod::Apply { .. } => Vec::new(),
        };
        let is_shown = |key: &&crate::plan::JoinKey| match &key.right {
            Expr::Column(column) => !bound.contains(column),
            _ => true,
        };
        let keys = join.keys.iter().filter(is_shown).map(|key| {
            let right = self.printer.text(&key.right, scope);
            format!("({} = {right})", self.printer.text(&key.left, scope))
        });
        let keys = keys.collect();
        let subqueries = self.of_bounds(&join.condition, scope, Place::Condition);
        let condition = match join.condition.as_slice() {
            [] => None,
            terms => Some(self.printer.condition(terms, scope)),
        };
        let step = Step::Join { kind: join.kind, method, keys, condition };
        let mut node = Node::at(step, vec![left, right], spot);
        node.rows = Some(whole(join.estimate));
        node.subqueries = subqueries;
        node
    }

    /// The right side of a lookup: a table, and the terms that are not checked at its shards.
    fn looked_up(
        &mut self,
        source: &'p JoinedSource,
        scope: &Scope,
        operator: &'p Operator,
    ) -> Node {
        match operator {
            Operator::Table { relation, source: table, estimate, .. } => {
                let name = &source.aliases[usize::from(*relation)];
                let spot = Spot::operator(operator);
                self.joined_table(name, table, spot, *estimate, Lookup::Yes)
            }
            Operator::Filter { input, terms, estimate } => {
                let input = self.looked_up(source, scope, input);
                let mut node = self.filter(input, terms, scope, FilterPlace::Session);
                (node.rows, node.spot) = (Some(whole(*estimate)), Some(Spot::operator(operator)));
                node
            }
            other => self.operator(source, scope, other),
        }
    }

    fn joined_table(
        &mut self,
        name: &str,
        source: &'p TableSource,
        spot: Spot,
        estimate: f64,
        lookup: Lookup,
    ) -> Node {
        let mut node = self.table(name, &source.table, &source.access, Some(spot), lookup);
        node.rows = Some(whole(estimate));
        // The estimate is that of the rows that pass. Only for a whole table is the number of rows before the filter known.
        if let (Step::Filter { .. }, [scan]) = (&node.step, node.inputs.as_mut_slice()) {
            let is_whole = match &scan.step {
                Step::Table(table) => matches!(table.access_type, "ALL" | "index"),
                _ => false,
            };
            scan.rows = scan.rows.filter(|_| is_whole);
        }
        node
    }

    /// UNION, INTERSECT and EXCEPT, from the first member on. Members with the same operator are of one step.
    fn set(&mut self, members: &'p [SetMember], spot: Spot) -> Node {
        let mut node: Option<Node> = None;
        let mut first = None;
        for member in members {
            let block = self.block(&member.plan);
            if node.is_none() && first.is_none() {
                first = Some(block);
                continue;
            }
            let operation = match member.operator {
                SetOperator::Union => SetOperation::Union,
                SetOperator::Intersect => SetOperation::Intersect,
                SetOperator::Except => SetOperation::Except,
            };
            let is_distinct = !member.all;
            let is_same = |node: &Node| match node.step {
                Step::Set { operation: own, is_distinct: distinct } => {
                    own == operation && distinct == is_distinct
                }
                _ => false,
            };
            match &mut node {
                Some(node) if is_same(node) => node.blocks.push(block),
                _ => {
                    let inputs = node.take().into_iter().collect();
                    let mut own = Node::new(Step::Set { operation, is_distinct }, inputs);
                    own.blocks.extend(first.take());
                    own.blocks.push(block);
                    node = Some(own);
                }
            }
        }
        let mut node = match (node, first) {
            (Some(node), _) => node,
            (None, first) => {
                let step = Step::Set { operation: SetOperation::Union, is_distinct: false };
                Node { blocks: first.into_iter().collect(), ..Node::new(step, Vec::new()) }
            }
        };
        node.spot = Some(spot);
        node
    }

    fn filter(
        &mut self,
        input: Node,
        terms: &'p [Bound],
        scope: &Scope,
        place: FilterPlace,
    ) -> Node {
        let subqueries = self.of_bounds(terms, scope, Place::Condition);
        let condition = self.printer.condition(terms, scope);
        Node { subqueries, ..Node::new(Step::Filter { condition, place }, vec![input]) }
    }

    // -----------------------------------------------------------------------------------------------------------
    // Tables

    /// A table, with the filter that its shards check.
    fn table(
        &mut self,
        name: &str,
        table: &types::Table,
        access: &'p AccessPlan,
        spot: Option<Spot>,
        lookup: Lookup,
    ) -> Node {
        let scope = table_scope(name, table);
        let resolved = self.resolved.clone();
        if resolved.as_ref().is_some_and(|own| own.is_empty) {
            return Node { spot, ..Node::new(Step::NoRows, Vec::new()) };
        }
        let is_unusable = resolved.as_ref().is_some_and(|own| own.is_unusable);
        let rows = self.counts.get(&table.id).map_or(0, |own| own.0);
        let path = path_of(table, access, is_unusable, rows);
        let index = &table.indexes[access.path.index];
        let part_names: Vec<&str> = index
            .parts
            .iter()
            .map(|part| table.columns[usize::from(part.column)].shown_name())
            .collect();
        let is_keyed = matches!(path.access_type, "const" | "ref" | "range");
        let mut references = Vec::new();
        if is_keyed && path.access_type != "range" {
            for bound in &access.path.equal {
                references.push(self.reference(bound, &scope));
            }
        }
        let access_type = match (lookup, access.path.kind) {
            (Lookup::Yes, _) if path.access_type == "range" => "range",
            (Lookup::Yes, PathKind::Range) => "ref",
            (Lookup::Yes, PathKind::PrimaryKey | PathKind::UniqueKey) => "eq_ref",
            (Lookup::No, _) => path.access_type,
        };
        let bounds =
            if is_keyed { self.bounds(&access.path, &part_names, &scope) } else { String::new() };
        let step = TableStep {
            name: name.to_string(),
            access_type,
            possible_keys: path.possible.iter().map(|key| (*key).to_string()).collect(),
            key: path.key.map(str::to_string),
            used_key_parts: part_names[..path.used].iter().map(|name| (*name).into()).collect(),
            key_length: path.key_length,
            references,
            bounds,
            is_reverse: access.path.reverse && !is_unusable,
            partitions: resolved.as_ref().map(|own| own.partitions.clone()),
        };
        let mut node = Node::new(Step::Table(Box::new(step)), Vec::new());
        let key_count = resolved.and_then(|own| own.key_count);
        node.rows = Some(key_count.filter(|_| path.access_type != "const").unwrap_or(path.rows));
        let filter = if is_unusable { &access.filter } else { &access.residual };
        if let Some(filter) = filter {
            let subqueries = self.subqueries(&[filter], &[], &scope, Place::Condition);
            let condition = self.printer.text(filter, &scope);
            let place = FilterPlace::Shards;
            node = Node { subqueries, ..Node::new(Step::Filter { condition, place }, vec![node]) };
        }
        node.spot = spot;
        node
    }

    /// What a part of a key is equal to, as the traditional form names it: a constant, or columns of the tables before.
    fn reference(&self, bound: &PartBound, scope: &Scope) -> String {
        let mut has_outer = false;
        if let PartBound::Equal(expr) | PartBound::NullSafeEqual(expr) = bound {
            rewrite::for_each_param(expr, &mut |param| {
                let slot = param.checked_sub(self.plan.param_count);
                let slot = slot.map(|slot| &self.plan.slots[usize::from(slot)]);
                has_outer |= matches!(slot, Some(Slot::Outer));
            });
        }
        if has_outer { self.bound_value(bound, scope) } else { "const".into() }
    }

    fn bound_value(&self, bound: &PartBound, scope: &Scope) -> String {
        match bound {
            PartBound::Equal(expr) | PartBound::NullSafeEqual(expr) => {
                self.printer.text(expr, scope)
            }
            PartBound::IsNull => "NULL".into(),
            PartBound::In(list) => self.printer.list(list, scope, ","),
        }
    }

    /// The bounds of a key: `a=1, b=2` of a lookup, `(1 < a < 5)` of a range.
    fn bounds(&self, path: &IndexPath, parts: &[&str], scope: &Scope) -> String {
        let is_lookup = !path.is_ranged() && path.equal.iter().all(PartBound::is_single);
        let equal = path.equal.iter().zip(parts);
        if is_lookup {
            let equal = equal.map(|(bound, part)| match bound {
                PartBound::NullSafeEqual(_) => {
                    format!("{part}<=>{}", self.bound_value(bound, scope))
                }
                _ => format!("{part}={}", self.bound_value(bound, scope)),
            });
            return equal.collect::<Vec<_>>().join(", ");
        }
        if let ([PartBound::In(list)], false) = (path.equal.as_slice(), path.is_ranged()) {
            let part = parts[0];
            let values =
                list.iter().map(|own| format!("({part} = {})", self.printer.text(own, scope)));
            return alternatives(values.collect());
        }
        let equal: Vec<String> = equal
            .map(|(bound, part)| match bound {
                PartBound::In(_) => format!("{part} IN ({})", self.bound_value(bound, scope)),
                PartBound::IsNull => format!("{part} IS NULL"),
                PartBound::NullSafeEqual(_) => {
                    format!("{part} <=> {}", self.bound_value(bound, scope))
                }
                PartBound::Equal(_) => format!("{part} = {}", self.bound_value(bound, scope)),
            })
            .collect();
        let prefix = equal.join(" AND ");
        if path.ranges.is_empty() {
            return format!("({prefix})");
        }
        let part = parts.get(path.equal.len()).copied().unwrap_or("?");
        let ranges = path.ranges.iter().map(|range| {
            let range = self.range(range, part, scope);
            if prefix.is_empty() { format!("({range})") } else { format!("({prefix} AND {range})") }
        });
        alternatives(ranges.collect())
    }

    fn range(&self, range: &RangeBound, part: &str, scope: &Scope) -> String {
        let sign = |is_inclusive: bool| if is_inclusive { "<=" } else { "<" };
        if let (Some((lower, true)), Some((upper, true))) = (&range.lower, &range.upper) {
            let (lower, upper) = (self.printer.text(lower, scope), self.printer.text(upper, scope));
            if lower == upper {
                return format!("{part} = {lower}");
            }
        }
        let mut text = String::new();
        if let Some((value, is_inclusive)) = &range.lower {
            text += &format!("{} {} ", self.printer.text(value, scope), sign(*is_inclusive));
        }
        text += part;
        if let Some((value, is_inclusive)) = &range.upper {
            text += &format!(" {} {}", sign(*is_inclusive), self.printer.text(value, scope));
        }
        text
    }

    // -----------------------------------------------------------------------------------------------------------
    // Subqueries and scopes

    /// Notes what slots of outer columns stand for; `scope` is that of the row around.
    fn register(&mut self, outer: &[OuterValue], scope: &Scope) {
        for own in outer {
            let text = self.printer.text(&own.value, scope);
            self.printer.outer.insert(own.slot, text);
        }
    }

    fn of_bounds<'e>(
        &mut self,
        bounds: impl IntoIterator<Item = &'e Bound>,
        scope: &Scope,
        place: Place,
    ) -> Vec<Subquery> {
        let mut found = Vec::new();
        for bound in bounds {
            found.extend(self.subqueries(&[&bound.expr], &bound.slots, scope, place));
        }
        found
    }

    /// The subqueries that expressions ask for, themselves and by these slots. Each is described once.
    fn subqueries(
        &mut self,
        exprs: &[&Expr],
        slots: &[u16],
        scope: &Scope,
        place: Place,
    ) -> Vec<Subquery> {
        let plan = self.plan;
        let mut named: Vec<u16> = slots.to_vec();
        for expr in exprs {
            rewrite::for_each_param(expr, &mut |param| {
                named.extend(param.checked_sub(plan.param_count));
            });
        }
        let mut found = Vec::new();
        while let Some(number) = (!named.is_empty()).then(|| named.remove(0)) {
            let slot = &plan.slots[usize::from(number)];
            let Slot::Subquery(subquery) = slot else {
                slot.for_each_expr(&mut |expr| {
                    rewrite::for_each_param(expr, &mut |param| {
                        // A slot names only slots before it.
                        let inner = param.checked_sub(plan.param_count);
                        named.extend(inner.filter(|inner| *inner < number));
                    });
                });
                continue;
            };
            if !self.described.insert(number) {
                continue;
            }
            self.register(&subquery.outer, scope);
            // An operand of IN may be a subquery of the query around.
            let outer: Vec<&Expr> = subquery.outer.iter().map(|outer| &outer.value).collect();
            found.extend(self.subqueries(&outer, &[], scope, place));
            let query = subquery.set.as_ref().map_or(&subquery.plan, |set| &set.plan);
            let is_dependent = subquery.is_per_row && subquery.set.is_none();
            found.push(Subquery { place, is_dependent, block: self.block(query) });
        }
        found
    }

    /// The columns of a join, by the numbers that its expressions have for them.
    fn joined_scope(&mut self, source: &JoinedSource) -> Scope {
        let mut names: RelationNames = BTreeMap::new();
        self.relation_columns(&source.root, &mut names);
        let is_join = 1 < source.aliases.len();
        let columns = source.columns.iter().map(|place| {
            let relation = usize::from(place.relation);
            let Some((derived, own)) = names.get(&place.relation) else { return "?".to_string() };
            let position = usize::from(place.position);
            let own = own.get(position).map_or("?", String::as_str);
            match source.aliases[relation].as_str() {
                // The rows of a whole query, or of a subquery that became a relation of a join.
                "" if is_join => qualified(derived, own),
                "" => own.to_string(),
                alias => {
                    let title = source.titles[relation].get(position);
                    qualified(alias, title.map_or(own, String::as_str))
                }
            }
        });
        Scope { columns: columns.collect() }
    }

    /// By relation: the name of a query without one, and the columns that are read.
    fn relation_columns(&mut self, operator: &Operator, names: &mut RelationNames) {
        let titles = |columns: &[crate::ColumnInfo]| {
            columns.iter().map(|column| column.name.clone()).collect::<Vec<_>>()
        };
        let mut derived = String::new();
        let (relation, columns) = match operator {
            Operator::Table { relation, source, .. } => {
                let name = |column: &u16| source.table.columns[usize::from(*column)].name.clone();
                (relation, source.columns.iter().map(name).collect())
            }
            Operator::Virtual { relation, table } => {
                let columns = table.scope(None).columns;
                (relation, columns.into_iter().map(|column| column.name).collect())
            }
            Operator::Query { relation, plan, .. } => {
                derived = derived_name(self.printer.number_of(plan));
                (relation, titles(&plan.columns))
            }
            Operator::Values { relation, columns, .. }
            | Operator::Set { relation, columns, .. } => (relation, titles(columns)),
            Operator::Recursive { relation, number, columns, .. } => {
                self.working.insert(*number, titles(columns));
                (relation, titles(columns))
            }
            Operator::Working { relation, number } => {
                (relation, self.working.get(number).cloned().unwrap_or_default())
            }
            Operator::Filter { input, .. } => return self.relation_columns(input, names),
            Operator::Join(join) => {
                self.relation_columns(&join.left, names);
                return self.relation_columns(&join.right, names);
            }
        };
        names.insert(*relation, (derived, columns));
    }
}

/// By relation: see [`Describer::relation_columns`].
type RelationNames = BTreeMap<u16, (String, Vec<String>)>;

/// The name of a query in FROM that has none.
fn derived_name(number: u64) -> String {
    format!("<derived{number}>")
}

/// Is a table read by keys of the rows before it?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lookup {
    Yes,
    No,
}

fn alone(root: Node) -> Block {
    Block { number: 1, root, projections: Vec::new() }
}

fn change(kind: ChangeKind, tables: Vec<String>, method: Option<ChangeMethod>) -> Node {
    Node::new(Step::Change { kind, tables, method }, Vec::new())
}

fn values_of(assignments: &[AssignmentPlan]) -> impl Iterator<Item = &Bound> {
    assignments.iter().filter_map(|assignment| match &assignment.value {
        AssignedValue::Expr(bound) => Some(bound),
        AssignedValue::Default => None,
    })
}

fn sort_key(text: String, is_descending: bool) -> String {
    if is_descending { format!("{text} DESC") } else { text }
}

fn alternatives(ranges: Vec<String>) -> String {
    if ranges.len() <= RANGES_SHOWN_MAX {
        return ranges.join(" OR ");
    }
    let shown = RANGES_SHOWN_MAX - 1;
    format!("{} OR ({} more)", ranges[..shown].join(" OR "), ranges.len() - shown)
}

/// An estimate as a whole number; at least one row, as in the traditional form.
fn whole(estimate: f64) -> u64 {
    estimate.round().max(1.0) as u64
}

fn qualified_column(alias: &str, column: &types::Column) -> String {
    match column.is_functional() {
        true => column.shown_name().to_owned(),
        false => qualified(alias, &column.name),
    }
}

fn qualified(alias: &str, column: &str) -> String {
    if alias.is_empty() { column.to_string() } else { format!("{alias}.{column}") }
}

/// The columns of whole rows of a table.
fn table_scope(alias: &str, table: &types::Table) -> Scope {
    let columns = table.columns.iter().map(|column| qualified_column(alias, column));
    Scope { columns: columns.collect() }
}

/// The columns of a table that are read.
fn read_scope(alias: &str, source: &TableSource) -> Scope {
    let own = |column: &u16| &source.table.columns[usize::from(*column)];
    let columns = source.columns.iter().map(|column| qualified_column(alias, own(column)));
    Scope { columns: columns.collect() }
}

/// The names of the relations whose columns a lateral query takes.
fn relations_of(source: &JoinedSource, outer: &[OuterValue]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for own in outer {
        rewrite::for_each_column(&own.value, &mut |column| {
            let relation = source.columns[usize::from(column)].relation;
            let name = &source.aliases[usize::from(relation)];
            if !names.contains(name) {
                names.push(name.clone());
            }
        });
    }
    names
}

/// Notes in the query of a lateral join for which rows it runs.
fn name_outer(node: &mut Node, relations: &[String]) {
    match &mut node.step {
        Step::Derived { outer, .. } => *outer = relations.to_vec(),
        Step::Filter { .. } => {
            node.inputs.iter_mut().for_each(|input| name_outer(input, relations));
        }
        _ => {}
    }
}

/// The numbers of the columns that the path of a lookup binds.
fn bound_columns(source: &JoinedSource, right: &Operator) -> Vec<u16> {
    let (relation, table) = match right {
        Operator::Table { relation, source, .. } => (*relation, source),
        Operator::Filter { input, .. } => return bound_columns(source, input),
        _ => return Vec::new(),
    };
    let path = &table.access.path;
    let parts = &table.table.indexes[path.index].parts[..path.equal.len()];
    let is_bound = |position: u16| {
        let column = table.columns.get(usize::from(position));
        column.is_some_and(|column| {
            parts.iter().any(|part| part.column == *column && part.prefix.is_none())
        })
    };
    let places = source.columns.iter().enumerate();
    places
        .filter(|(_, place)| place.relation == relation && is_bound(place.position))
        .filter_map(|(number, _)| u16::try_from(number).ok())
        .collect()
}
