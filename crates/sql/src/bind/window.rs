//! Window functions.
//!
//! Each different call in the select list and ORDER BY becomes a slot ([`Slot::Window`]): to the
//! expression around it that is a parameter, which the executor fills in before it evaluates the
//! row's items. What its keys and arguments are computed from is collected beside the items
//! ([`WindowCollector`]), is rewritten with them when the query is grouped, and becomes a
//! [`WindowPlan`] at the end.

use std::borrow::Cow;
use std::cell::RefCell;

use types::expr::{Aggregate, BinaryOp, Derivation, Function, ResultType};
use types::{ColumnType, Expr, IntWidth};

use super::Binder;
use super::expr::interval_unit;
use super::group::GroupRewrite;
use super::names::Scope;
use super::rewrite;
use crate::error::{SqlError, code};
use crate::parser::ast;
use crate::plan::{
    Bound, Frame, FrameBound, SelectPlan, Slot, WindowFunction, WindowKind, WindowPlan, WindowSpec,
};

/// MySQL's name of a window that has none.
const UNNAMED: &str = "<unnamed window>";

/// Digits of integers that RANGE counts from: no distance from a BIGINT has more.
const RANGE_KEY: ColumnType = ColumnType::Decimal { precision: 65, scale: 0, unsigned: false };

const BIGINT_UNSIGNED: ColumnType = ColumnType::Int { width: IntWidth::W8, unsigned: true };

/// The windows of a query.
pub struct WindowScope<'a> {
    /// The WINDOW clause.
    pub named: &'a [ast::NamedWindow],
    pub collector: RefCell<WindowCollector>,
}

/// Window functions met while binding.
#[derive(Debug, Default)]
pub struct WindowCollector {
    /// The expression that is bound now, as errors name it: its number from 1, and its clause.
    pub number: usize,
    pub clause: &'static str,
    inputs: Vec<Input>,
    /// Positions are numbers of inputs until [`Binder::place_windows`].
    specs: Vec<WindowSpec>,
    /// By window of the WINDOW clause.
    used: Vec<bool>,
}

/// An expression of keys or arguments.
#[derive(Debug)]
struct Input {
    bound: Bound,
    number: usize,
    clause: &'static str,
}

/// A window with the clauses of those that it extends.
struct Resolved<'w> {
    name: &'w str,
    partition_by: &'w [ast::Expr],
    order_by: &'w [ast::OrderItem],
    frame: Option<&'w ast::Frame>,
}

/// PARTITION BY and ORDER BY, by the numbers of inputs.
struct WindowKeys {
    partition_by: Vec<u16>,
    /// Each with whether it is descending.
    order_by: Vec<(u16, bool)>,
}

impl WindowKeys {
    fn are_of(&self, spec: &WindowSpec) -> bool {
        self.partition_by == spec.partition_by && self.order_by == spec.order_by
    }
}

impl WindowScope<'_> {
    pub fn new(named: &[ast::NamedWindow]) -> WindowScope<'_> {
        let used = vec![false; named.len()];
        WindowScope {
            named,
            collector: RefCell::new(WindowCollector { used, ..WindowCollector::default() }),
        }
    }
    /// What is bound next, as errors name it.
    pub fn begin(&self, number: usize, clause: &'static str) {
        let mut collector = self.collector.borrow_mut();
        (collector.number, collector.clause) = (number, clause);
    }
}

/// Finds a window by its name.
fn find<'w>(
    name: &str,
    named: &'w [ast::NamedWindow],
) -> Result<(usize, &'w ast::NamedWindow), SqlError> {
    let mut named = named.iter().enumerate();
    named.find(|(_, own)| own.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        SqlError::new(
            code::ER_WINDOW_NO_SUCH_WINDOW,
            format!("Window name '{name}' is not defined."),
        )
    })
}

/// Takes over what the window extends. `depth`: windows on the way here.
fn resolve<'w>(
    name: &'w str,
    spec: &'w ast::WindowSpec,
    named: &'w [ast::NamedWindow],
    depth: usize,
) -> Result<Resolved<'w>, SqlError> {
    let own = Resolved {
        name,
        partition_by: &spec.partition_by,
        order_by: &spec.order_by,
        frame: spec.frame.as_ref(),
    };
    let Some(base) = &spec.base else { return Ok(own) };
    let (_, base) = find(base, named)?;
    if named.len() < depth {
        return Err(SqlError::new(
            code::ER_WINDOW_CIRCULARITY_IN_WINDOW_GRAPH,
            "There is a circularity in the window dependency graph.",
        ));
    }
    let inherited = resolve(&base.name, &base.spec, named, depth + 1)?;
    if !own.partition_by.is_empty() {
        return Err(SqlError::new(
            code::ER_WINDOW_NO_CHILD_PARTITIONING,
            "A window which depends on another cannot define partitioning.",
        ));
    }
    if inherited.frame.is_some() {
        return Err(SqlError::window(
            code::ER_WINDOW_NO_INHERIT_FRAME,
            &base.name,
            " has a frame definition, so cannot be referenced by another window.",
        ));
    }
    let order_by = match (own.order_by, inherited.order_by) {
        ([], inherited) => inherited,
        (own, []) => own,
        _ => {
            let rule =
                format!(" cannot inherit '{}' since both contain an ORDER BY clause.", base.name);
            return Err(SqlError::window(code::ER_WINDOW_NO_REDEFINE_ORDER_BY, name, &rule));
        }
    };
    Ok(Resolved { partition_by: inherited.partition_by, order_by, ..own })
}

/// Refuses a frame that ends before it starts, and what no frame has here.
fn check_frame(window: &str, frame: &ast::Frame) -> Result<(), SqlError> {
    use ast::FrameBound as B;
    if frame.unit == ast::FrameUnit::Groups {
        return Err(SqlError::not_supported("GROUPS"));
    }
    if frame.has_exclusion {
        return Err(SqlError::not_supported("EXCLUDE"));
    }
    if frame.start == B::UnboundedFollowing {
        let rule = ": frame start cannot be UNBOUNDED FOLLOWING.";
        return Err(SqlError::window(code::ER_WINDOW_FRAME_START_ILLEGAL, window, rule));
    }
    if frame.end == B::UnboundedPreceding {
        let rule = ": frame end cannot be UNBOUNDED PRECEDING.";
        return Err(SqlError::window(code::ER_WINDOW_FRAME_END_ILLEGAL, window, rule));
    }
    let ends_before = matches!(
        (&frame.start, &frame.end),
        (B::CurrentRow | B::Following(_), B::Preceding(_)) | (B::Following(_), B::CurrentRow)
    );
    if ends_before {
        return Err(frame_illegal(window));
    }
    let has_interval = [&frame.start, &frame.end].into_iter().any(|bound| match bound {
        B::Preceding(amount) | B::Following(amount) => {
            matches!(amount, ast::Expr::Interval { .. })
        }
        B::UnboundedPreceding | B::CurrentRow | B::UnboundedFollowing => false,
    });
    if frame.unit == ast::FrameUnit::Rows && has_interval {
        let rule = ": INTERVAL can only be used with RANGE frames.";
        return Err(SqlError::window(code::ER_WINDOW_ROWS_INTERVAL_USE, window, rule));
    }
    Ok(())
}

/// 3586, for a bound that is no distance.
pub fn frame_illegal(window: &str) -> SqlError {
    let rule = ": frame start or end is negative, NULL or of non-integral type";
    SqlError::window(code::ER_WINDOW_FRAME_ILLEGAL, window, rule)
}

/// A function's name in errors.
fn function_name(function: &ast::Expr) -> String {
    match function {
        ast::Expr::Aggregate { name, .. } | ast::Expr::Function { name, .. } => {
            name.to_ascii_lowercase()
        }
        _ => String::new(),
    }
}

impl Binder<'_> {
    /// A call with OVER: the parameter that stands for its value.
    pub fn window_call(
        &mut self,
        call: &ast::WindowCall,
        scope: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        let Some(windows) = scope.windows else {
            return Err(SqlError::window_misplaced(&function_name(&call.function)));
        };
        if call.from_last {
            return Err(SqlError::not_supported("FROM LAST"));
        }
        if call.ignore_nulls {
            return Err(SqlError::not_supported("IGNORE NULLS"));
        }
        let resolved = match &call.window {
            ast::Window::Named(name) => {
                let (number, window) = find(name, windows.named)?;
                windows.collector.borrow_mut().used[number] = true;
                resolve(&window.name, &window.spec, windows.named, 1)?
            }
            ast::Window::Written(spec) => {
                if let Some(base) = &spec.base {
                    let (number, _) = find(base, windows.named)?;
                    windows.collector.borrow_mut().used[number] = true;
                }
                resolve(UNNAMED, spec, windows.named, 0)?
            }
        };
        let inner = Scope { windows: None, ..*scope };
        let (kind, result, derivation) = self.window_kind(&call.function, windows, &inner)?;
        let keys = self.window_keys(&resolved, windows, &inner)?;
        let frame = self.window_frame(&resolved, windows, &inner)?;
        let known = windows.collector.borrow().find(&kind, &frame, &keys);
        let first = u16::try_from(self.param_kinds.len()).expect("counted");
        if let Some(slot) = known {
            return Ok(Expr::Param(first + slot));
        }
        let number = self.slot(Slot::Window, result.column_type)?;
        self.param_types[usize::from(number)].nullable = result.nullable;
        if let Some(derivation) = derivation {
            self.param_derivations[usize::from(number)] = derivation;
        }
        let function = WindowFunction { slot: number - first, kind, frame };
        windows.collector.borrow_mut().add(function, keys);
        Ok(Expr::Param(number))
    }

    /// The function, the type of its value, and the collation of a value that is an argument's.
    fn window_kind(
        &mut self,
        function: &ast::Expr,
        windows: &WindowScope<'_>,
        inner: &Scope<'_>,
    ) -> Result<(WindowKind, ResultType, Option<Derivation>), SqlError> {
        let of = |column_type, nullable| ResultType::of(Some(column_type), nullable);
        let (name, arguments) = match function {
            ast::Expr::Aggregate { name, distinct, arguments, order_by, separator } => {
                if name == "GROUP_CONCAT" {
                    return Err(SqlError::not_supported("group_concat as window function"));
                }
                if *distinct {
                    return Err(SqlError::not_supported("<window function>(DISTINCT ..)"));
                }
                let separator = separator.as_deref();
                let aggregate =
                    self.bound_aggregate(name, false, arguments, order_by, separator, inner)?;
                return self.window_aggregate(aggregate, windows, inner);
            }
            ast::Expr::Function { name, arguments, .. } => (name.as_str(), arguments.as_slice()),
            other => unreachable!("the parser takes no {other:?} before OVER"),
        };
        let kind = match (name, arguments) {
            ("ROW_NUMBER", []) => WindowKind::RowNumber,
            ("RANK", []) => WindowKind::Rank,
            ("DENSE_RANK", []) => WindowKind::DenseRank,
            ("PERCENT_RANK", []) => {
                return Ok((WindowKind::PercentRank, of(ColumnType::Double, false), None));
            }
            ("CUME_DIST", []) => {
                return Ok((WindowKind::CumeDist, of(ColumnType::Double, false), None));
            }
            ("NTILE", [bucket_count]) => {
                let bucket_count = self.window_constant(bucket_count, "ntile", inner)?;
                return Ok((WindowKind::Ntile { bucket_count }, of(BIGINT_UNSIGNED, true), None));
            }
            _ => return self.window_value(name, arguments, windows, inner),
        };
        Ok((kind, of(BIGINT_UNSIGNED, false), None))
    }

    fn window_aggregate(
        &mut self,
        mut aggregate: Aggregate,
        windows: &WindowScope<'_>,
        inner: &Scope<'_>,
    ) -> Result<(WindowKind, ResultType, Option<Derivation>), SqlError> {
        let columns = inner.result_types();
        let result = aggregate.result_type(&columns, &self.param_types);
        let mut derivation = None;
        if let Some(argument) = aggregate.argument.take() {
            // For what its type depends on.
            self.type_of(&argument, &columns);
            let is_text = result.column_type.as_ref().is_some_and(ColumnType::is_string);
            derivation = is_text.then(|| self.derivation(&argument, inner));
            aggregate.argument = Some(Expr::Column(self.window_input(argument, windows)?));
        }
        Ok((WindowKind::Aggregate(aggregate), result, derivation))
    }

    /// LAG, LEAD, FIRST_VALUE, LAST_VALUE, NTH_VALUE: values of other rows.
    fn window_value(
        &mut self,
        name: &str,
        arguments: &[ast::Expr],
        windows: &WindowScope<'_>,
        inner: &Scope<'_>,
    ) -> Result<(WindowKind, ResultType, Option<Derivation>), SqlError> {
        let mut value = self.expr(&arguments[0], inner)?;
        let columns = inner.result_types();
        let mut default = None;
        let mut whole = value.clone();
        if let ("LAG" | "LEAD", [_, _, written]) = (name, arguments) {
            // The value and the default are made one type, as those of IFNULL.
            let other = self.expr(written, inner)?;
            whole = self.settle(Expr::Function(Function::IfNull, vec![value, other]), inner)?;
            let Expr::Function(_, operands) = &whole else { unreachable!("settled in place") };
            value = operands[0].clone();
            default = Some(operands[1].clone());
        }
        let result = ResultType { nullable: true, ..self.type_of(&whole, &columns) };
        let derivation = self.derivation(&whole, inner);
        let value = self.window_input(value, windows)?;
        let kind = match (name, arguments) {
            ("FIRST_VALUE", _) => WindowKind::FirstValue { value },
            ("LAST_VALUE", _) => WindowKind::LastValue { value },
            ("NTH_VALUE", [_, number]) => {
                let number = self.window_constant(number, "nth_value", inner)?;
                WindowKind::NthValue { value, number }
            }
            (_, [_, offset, ..]) => WindowKind::Lag {
                value,
                offset: self.window_constant(offset, &name.to_ascii_lowercase(), inner)?,
                default: match default {
                    Some(default) => Some(self.window_input(default, windows)?),
                    None => None,
                },
                ahead: name == "LEAD",
            },
            _ => WindowKind::Lag {
                value,
                offset: Expr::Const(types::Value::Int(1)),
                default: None,
                ahead: name == "LEAD",
            },
        };
        Ok((kind, result, Some(derivation)))
    }

    /// An argument that is the same for all rows.
    fn window_constant(
        &mut self,
        expr: &ast::Expr,
        function: &str,
        inner: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        let bound = self.expr(expr, inner)?;
        let is_constant =
            !rewrite::has_columns(&bound) && self.row_slots(&bound, self.slots.len()).is_empty();
        if is_constant { Ok(bound) } else { Err(SqlError::wrong_arguments(function)) }
    }

    /// PARTITION BY and ORDER BY.
    fn window_keys(
        &mut self,
        window: &Resolved<'_>,
        windows: &WindowScope<'_>,
        inner: &Scope<'_>,
    ) -> Result<WindowKeys, SqlError> {
        let mut partition_by = Vec::new();
        for expr in window.partition_by {
            let bound = self.window_key(expr, window.name, "window partition by", inner)?;
            // A constant parts nothing.
            if rewrite::has_columns(&bound) || !self.row_slots(&bound, self.slots.len()).is_empty()
            {
                partition_by.push(self.window_input(bound, windows)?);
            }
        }
        let mut order_by = Vec::new();
        for item in window.order_by {
            let bound = self.window_key(&item.expr, window.name, "window order by", inner)?;
            order_by.push((self.window_input(bound, windows)?, item.descending));
        }
        Ok(WindowKeys { partition_by, order_by })
    }

    fn window_key(
        &mut self,
        expr: &ast::Expr,
        window: &str,
        place: &'static str,
        inner: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        if matches!(expr, ast::Expr::Literal(ast::Literal::Integer(_))) {
            let rule = ": ORDER BY or PARTITION BY uses legacy position indication which is not \
                        supported, use expression.";
            return Err(SqlError::window(code::ER_WINDOW_ILLEGAL_ORDER_BY, window, rule));
        }
        self.expr(expr, &Scope { place, ..*inner }).map_err(|error| match error.code {
            code::ER_WINDOW_INVALID_WINDOW_FUNC_USE => SqlError::new(
                code::ER_WINDOW_NESTED_WINDOW_FUNC_USE_IN_WINDOW_SPEC,
                format!(
                    "You cannot nest a window function in the specification of window '{window}'."
                ),
            ),
            _ => error,
        })
    }

    fn window_frame(
        &mut self,
        window: &Resolved<'_>,
        windows: &WindowScope<'_>,
        inner: &Scope<'_>,
    ) -> Result<Frame, SqlError> {
        let name = window.name.to_string();
        let Some(frame) = window.frame else {
            // Up to the rows that are equal in order: the whole partition where there is no order.
            return Ok(Frame {
                by_rows: false,
                start: FrameBound::Unbounded,
                end: FrameBound::CurrentRow,
                window: name,
            });
        };
        check_frame(&name, frame)?;
        let by_rows = frame.unit == ast::FrameUnit::Rows;
        Ok(Frame {
            by_rows,
            start: self.frame_bound(&frame.start, by_rows, window, windows, inner)?,
            end: self.frame_bound(&frame.end, by_rows, window, windows, inner)?,
            window: name,
        })
    }

    fn frame_bound(
        &mut self,
        bound: &ast::FrameBound,
        by_rows: bool,
        window: &Resolved<'_>,
        windows: &WindowScope<'_>,
        inner: &Scope<'_>,
    ) -> Result<FrameBound, SqlError> {
        let (amount, following) = match bound {
            ast::FrameBound::UnboundedPreceding | ast::FrameBound::UnboundedFollowing => {
                return Ok(FrameBound::Unbounded);
            }
            ast::FrameBound::CurrentRow => return Ok(FrameBound::CurrentRow),
            ast::FrameBound::Preceding(amount) => (amount, false),
            ast::FrameBound::Following(amount) => (amount, true),
        };
        if by_rows {
            let count = self.expr(amount, inner)?;
            return Ok(FrameBound::Rows { count, following });
        }
        let [item] = window.order_by else { return Err(range_order_type(window.name)) };
        let key = self.expr(&item.expr, &Scope { place: "window order by", ..*inner })?;
        let subtract = following == item.descending;
        let key_type = self.type_of(&key, &inner.result_types()).column_type;
        let (amount, limit) = match (key_type, amount) {
            (Some(own), ast::Expr::Interval { value, unit }) if own.is_temporal() => {
                let amount = self.expr(value, inner)?;
                let limit = Expr::Interval {
                    operand: Box::new(key),
                    amount: Box::new(amount.clone()),
                    unit: interval_unit(*unit),
                    subtract,
                };
                (amount, limit)
            }
            (Some(own), _) if own.is_temporal() => {
                let rule = " with RANGE frame has ORDER BY expression of datetime type. Only \
                            INTERVAL bound value allowed.";
                let code = code::ER_WINDOW_RANGE_FRAME_TEMPORAL_TYPE;
                return Err(SqlError::window(code, window.name, rule));
            }
            (Some(own), ast::Expr::Interval { .. }) if own.is_numeric() => {
                let rule = " with RANGE frame has ORDER BY expression of numeric type, INTERVAL \
                            bound value not allowed.";
                let code = code::ER_WINDOW_RANGE_FRAME_NUMERIC_TYPE;
                return Err(SqlError::window(code, window.name, rule));
            }
            (Some(own), amount) if own.is_numeric() => {
                let amount = self.expr(amount, inner)?;
                // Nothing is out of range of it.
                let key = match own {
                    ColumnType::Int { .. } => Expr::Cast(Box::new(key), RANGE_KEY),
                    _ => key,
                };
                let operator = if subtract { BinaryOp::Subtract } else { BinaryOp::Add };
                let limit = Expr::Binary(operator, Box::new(key), Box::new(amount.clone()));
                (amount, self.settle(limit, inner)?)
            }
            _ => return Err(range_order_type(window.name)),
        };
        let is_constant =
            !rewrite::has_columns(&amount) && self.row_slots(&amount, self.slots.len()).is_empty();
        if !is_constant {
            let rule = " has a non-constant frame bound.";
            return Err(SqlError::window(
                code::ER_WINDOW_RANGE_BOUND_NOT_CONSTANT,
                window.name,
                rule,
            ));
        }
        let limit = self.window_input(limit, windows)?;
        Ok(FrameBound::Range { amount, limit, following })
    }

    /// The number of an expression that is computed from each row; the same for the same
    /// expression.
    fn window_input(&mut self, expr: Expr, windows: &WindowScope<'_>) -> Result<u16, SqlError> {
        let slots = self.row_slots(&expr, self.slots.len());
        let mut collector = windows.collector.borrow_mut();
        let own = rewrite::encoded(&expr);
        let mut inputs = collector.inputs.iter();
        let number = match inputs.position(|input| rewrite::encoded(&input.bound.expr) == own) {
            Some(number) => number,
            None => {
                let (number, clause) = (collector.number, collector.clause);
                let bound = Bound { expr, slots };
                collector.inputs.push(Input { bound, number, clause });
                collector.inputs.len() - 1
            }
        };
        u16::try_from(number).map_err(|_| too_many())
    }

    /// Windows of the WINDOW clause must be right, used or not.
    pub fn check_named_windows(
        &mut self,
        windows: &WindowScope<'_>,
        scope: &Scope<'_>,
    ) -> Result<(), SqlError> {
        for (number, window) in windows.named.iter().enumerate() {
            let earlier = &windows.named[..number];
            if earlier.iter().any(|own| own.name.eq_ignore_ascii_case(&window.name)) {
                let code = code::ER_WINDOW_DUPLICATE_NAME;
                return Err(SqlError::window(code, &window.name, " is defined twice."));
            }
            let resolved = resolve(&window.name, &window.spec, windows.named, 1)?;
            if windows.collector.borrow().used[number] {
                continue;
            }
            // Bound for its errors only.
            let unused = WindowScope::new(windows.named);
            let inner = Scope { windows: None, ..*scope };
            self.forgotten(|binder| {
                binder.window_keys(&resolved, &unused, &inner)?;
                binder.window_frame(&resolved, &unused, &inner)
            })?;
        }
        Ok(())
    }

    /// Takes the slots in keys and arguments of windows from the items around them: they are supplied
    /// where the rows are kept, and an item asks for the window's value only.
    pub fn take_window_slots(&self, collector: &WindowCollector, items: &mut [Bound]) {
        let inputs = collector.inputs.iter();
        let taken: Vec<u16> = inputs.flat_map(|input| &input.bound.slots).copied().collect();
        for item in items.iter_mut().filter(|item| item.is_local() && !taken.is_empty()) {
            let asked = self.row_slots(&item.expr, self.slots.len());
            item.slots.retain(|slot| asked.contains(slot) || !taken.contains(slot));
        }
    }

    /// The plan of the windows of an ungrouped query: settles which columns of the source a kept
    /// row has, and moves the items to them.
    pub fn window_plan(
        &mut self,
        collector: WindowCollector,
        items: &mut [Bound],
    ) -> Result<Option<WindowPlan>, SqlError> {
        let WindowCollector { mut inputs, specs, .. } = collector;
        if specs.is_empty() {
            return Ok(None);
        }
        let mut columns = Vec::new();
        let mut slots: Vec<u16> = Vec::new();
        let bounds = || inputs.iter().map(|input| &input.bound).chain(&*items);
        for bound in bounds() {
            rewrite::for_each_column(&bound.expr, &mut |column| columns.push(column));
            slots.extend(&bound.slots);
        }
        slots.sort_unstable();
        slots.dedup();
        for &slot in &slots {
            self.slots[usize::from(slot)].for_each_expr(&mut |expr| {
                rewrite::for_each_column(expr, &mut |column| columns.push(column));
            });
        }
        columns.sort_unstable();
        columns.dedup();
        let position = |column: u16| {
            let found = columns.binary_search(&column).expect("every column is kept");
            u16::try_from(found).expect("columns are counted")
        };
        for bound in inputs.iter_mut().map(|input| &mut input.bound).chain(items) {
            rewrite::map_columns(&mut bound.expr, &mut |column| position(column));
        }
        for slot in slots {
            self.slots[usize::from(slot)].for_each_expr_mut(&mut |expr| {
                rewrite::map_columns(expr, &mut |column| position(column));
            });
        }
        place_windows(inputs, specs, columns).map(Some)
    }

    /// The plan of the windows of a grouped query: a kept row is the group's. `width`: the values
    /// of that.
    pub fn window_plan_of_groups(
        &mut self,
        collector: WindowCollector,
        width: usize,
    ) -> Result<Option<WindowPlan>, SqlError> {
        let WindowCollector { inputs, specs, .. } = collector;
        if specs.is_empty() {
            return Ok(None);
        }
        let columns: Result<Vec<u16>, _> = (0..width).map(u16::try_from).collect();
        place_windows(inputs, specs, columns.map_err(|_| too_many())?).map(Some)
    }
}

/// Settles where keys and arguments are in a kept row: a plain column is there anyway.
fn place_windows(
    inputs: Vec<Input>,
    mut specs: Vec<WindowSpec>,
    columns: Vec<u16>,
) -> Result<WindowPlan, SqlError> {
    let mut places = Vec::with_capacity(inputs.len());
    let mut computed = Vec::new();
    for Input { bound, .. } in inputs {
        if let (Expr::Column(position), []) = (&bound.expr, bound.slots.as_slice()) {
            places.push(*position);
            continue;
        }
        places.push(u16::try_from(columns.len() + computed.len()).map_err(|_| too_many())?);
        computed.push(bound);
    }
    let place = |number: &mut u16| *number = places[usize::from(*number)];
    for spec in &mut specs {
        spec.partition_by.iter_mut().for_each(place);
        spec.order_by.iter_mut().for_each(|(position, _)| place(position));
        for function in &mut spec.functions {
            match &mut function.kind {
                WindowKind::Lag { value, default, .. } => {
                    place(value);
                    default.iter_mut().for_each(place);
                }
                WindowKind::FirstValue { value }
                | WindowKind::LastValue { value }
                | WindowKind::NthValue { value, .. } => place(value),
                WindowKind::Aggregate(aggregate) => {
                    if let Some(Expr::Column(position)) = &mut aggregate.argument {
                        place(position);
                    }
                }
                WindowKind::RowNumber
                | WindowKind::Rank
                | WindowKind::DenseRank
                | WindowKind::PercentRank
                | WindowKind::CumeDist
                | WindowKind::Ntile { .. } => {}
            }
            for bound in [&mut function.frame.start, &mut function.frame.end] {
                if let FrameBound::Range { limit, .. } = bound {
                    place(limit);
                }
            }
        }
    }
    Ok(WindowPlan { columns, inputs: computed, specs })
}

impl WindowCollector {
    /// Moves the expressions of windows to the rows of groups.
    pub fn rewrite(
        &mut self,
        rewrite: &mut GroupRewrite<'_>,
        slots: &mut [Slot],
    ) -> Result<(), SqlError> {
        for input in &mut self.inputs {
            rewrite.apply_bound(&mut input.bound, slots, input.number, input.clause)?;
        }
        Ok(())
    }

    /// The slot of a call that is there already.
    fn find(&self, kind: &WindowKind, frame: &Frame, keys: &WindowKeys) -> Option<u16> {
        let spec = self.specs.iter().find(|spec| keys.are_of(spec))?;
        // Equal functions print alike.
        let printed = |kind: &WindowKind, frame: &Frame| format!("{kind:?}{frame:?}");
        let own = printed(kind, frame);
        let mut functions = spec.functions.iter();
        Some(functions.find(|known| printed(&known.kind, &known.frame) == own)?.slot)
    }

    fn add(&mut self, function: WindowFunction, keys: WindowKeys) {
        if let Some(spec) = self.specs.iter_mut().find(|spec| keys.are_of(spec)) {
            spec.functions.push(function);
            return;
        }
        let WindowKeys { partition_by, order_by } = keys;
        self.specs.push(WindowSpec { partition_by, order_by, functions: vec![function] });
    }
}

impl SelectPlan {
    /// What is evaluated on the rows of the source where they are not grouped.
    pub fn source_bounds(&self) -> Cow<'_, [Bound]> {
        match &self.windows {
            Some(windows) => {
                windows.columns.iter().map(|column| Bound::pure(Expr::Column(*column))).collect()
            }
            None => Cow::Borrowed(&self.items),
        }
    }
}

fn range_order_type(window: &str) -> SqlError {
    let rule = " with RANGE N PRECEDING/FOLLOWING frame requires exactly one ORDER BY expression, \
                of numeric or temporal type";
    SqlError::window(code::ER_WINDOW_RANGE_FRAME_ORDER_TYPE, window, rule)
}

fn too_many() -> SqlError {
    SqlError::new(code::ER_TOO_MANY_FIELDS, "Too many columns")
}
