//! Bound expressions as text, for EXPLAIN.
//!
//! A bound expression names columns by number and has no text of its own. [`Scope`] gives the names
//! of the rows that an expression is over, and [`ExprPrinter`] the values of parameters and the
//! meaning of slots. The layout is that of MySQL's tree format: operators in parentheses, names
//! without quotes.

use std::collections::BTreeMap;
use std::fmt::Write;

use types::convert::to_text;
use types::expr::{Aggregate, AggregateFunction, BinaryOp, Function, IntervalUnit, UnaryOp};
use types::wire::Wire;
use types::{ColumnType, Expr, Value};

use crate::plan::{
    Bound, Operator, Plan, PlanKind, SelectPlan, Slot, Source, SubqueryKind, SubqueryPlan,
};

/// Characters of a constant that are printed.
const LITERAL_LENGTH_MAX: usize = 256;

/// The names of the columns of some rows, by number.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    pub columns: Vec<String>,
}

impl Scope {
    fn column(&self, number: u16) -> &str {
        self.columns.get(usize::from(number)).map_or("?", String::as_str)
    }
}

/// Prints the expressions of one plan.
pub struct ExprPrinter<'p> {
    plan: &'p Plan,
    /// The statement's own parameters.
    params: Vec<Value>,
    /// By slot: the text of the column of a row around, or of the left side of a join.
    pub outer: BTreeMap<u16, String>,
    /// By slot: the text of a window function.
    pub windows: BTreeMap<u16, String>,
    /// By the address of a query's plan: its number in EXPLAIN.
    pub numbers: BTreeMap<usize, u64>,
}

impl<'p> ExprPrinter<'p> {
    pub fn new(plan: &'p Plan, params: Vec<Value>) -> ExprPrinter<'p> {
        ExprPrinter {
            plan,
            params,
            outer: BTreeMap::new(),
            windows: BTreeMap::new(),
            numbers: BTreeMap::new(),
        }
    }

    pub fn number_of(&self, select: &SelectPlan) -> u64 {
        self.numbers.get(&std::ptr::from_ref(select).addr()).copied().unwrap_or(0)
    }

    pub fn text(&self, expr: &Expr, scope: &Scope) -> String {
        let mut out = String::new();
        self.put(expr, scope, &mut out);
        out
    }

    pub fn list<'e>(
        &self,
        exprs: impl IntoIterator<Item = &'e Expr>,
        scope: &Scope,
        separator: &str,
    ) -> String {
        let texts: Vec<String> = exprs.into_iter().map(|expr| self.text(expr, scope)).collect();
        texts.join(separator)
    }

    /// A condition of which all terms hold.
    pub fn condition(&self, terms: &[Bound], scope: &Scope) -> String {
        let text = self.list(terms.iter().map(|term| &term.expr), scope, " and ");
        if terms.len() == 1 { text } else { format!("({text})") }
    }

    pub fn aggregate(&self, aggregate: &Aggregate, scope: &Scope) -> String {
        let distinct = if aggregate.distinct { "distinct " } else { "" };
        let argument = match &aggregate.argument {
            None => "0".to_string(),
            // The document of a row, of which it has the values.
            Some(Expr::Function(Function::JsonArray | Function::JsonObject, values))
                if is_of_documents(&aggregate.function) =>
            {
                self.list(values, scope, ",")
            }
            Some(argument) => self.text(argument, scope),
        };
        let mut rest = String::new();
        if let [first, others @ ..] = aggregate.order_by.as_slice() {
            rest.push_str(" order by ");
            for (index, key) in std::iter::once(first).chain(others).enumerate() {
                rest.push_str(if index == 0 { "" } else { "," });
                self.put(&key.expr, scope, &mut rest);
                rest.push_str(if key.descending { " desc" } else { "" });
            }
        }
        if let AggregateFunction::GroupConcat { separator, .. } = &aggregate.function {
            rest.push_str(" separator ");
            quote(separator, &mut rest);
        }
        format!("{}({distinct}{argument}{rest})", aggregate_name(&aggregate.function))
    }

    fn put(&self, expr: &Expr, scope: &Scope, out: &mut String) {
        match expr {
            Expr::Const(value) => literal(value, out),
            Expr::Column(number) => out.push_str(scope.column(*number)),
            Expr::Param(number) => self.put_param(*number, scope, out),
            Expr::Unary(UnaryOp::Not, operand) => {
                out.push_str("(not(");
                self.put(operand, scope, out);
                out.push_str("))");
            }
            Expr::Unary(op, operand) => {
                out.push_str(if *op == UnaryOp::Negate { "-(" } else { "~(" });
                self.put(operand, scope, out);
                out.push(')');
            }
            Expr::Binary(op, left, right) => {
                self.put_joined([&**left, &**right], operator_text(*op), scope, out);
            }
            Expr::And(terms) => self.put_joined(terms, " and ", scope, out),
            Expr::Or(terms) => self.put_joined(terms, " or ", scope, out),
            Expr::IsNull(operand, is_negated) => {
                self.put_suffixed(
                    operand,
                    if *is_negated { "is not null" } else { "is null" },
                    scope,
                    out,
                );
            }
            Expr::IsTruth(operand, truth, is_negated) => {
                let suffix = match (is_negated, truth) {
                    (false, true) => "is true",
                    (false, false) => "is false",
                    (true, true) => "is not true",
                    (true, false) => "is not false",
                };
                self.put_suffixed(operand, suffix, scope, out);
            }
            Expr::Between { operand, low, high, negated } => {
                out.push('(');
                self.put(operand, scope, out);
                out.push_str(if *negated { " not between " } else { " between " });
                self.put(low, scope, out);
                out.push_str(" and ");
                self.put(high, scope, out);
                out.push(')');
            }
            Expr::In { operand, list, negated } => {
                out.push('(');
                self.put(operand, scope, out);
                out.push_str(if *negated { " not in (" } else { " in (" });
                self.put_list(list, scope, out);
                out.push_str("))");
            }
            Expr::Like { operand, pattern, escape, negated } => {
                out.push('(');
                self.put(operand, scope, out);
                out.push_str(if *negated { " not like " } else { " like " });
                self.put(pattern, scope, out);
                if let Some(escape) = escape {
                    out.push_str(" escape ");
                    self.put(escape, scope, out);
                }
                out.push(')');
            }
            Expr::Case { operand, branches, otherwise } => {
                out.push_str("(case");
                if let Some(operand) = operand {
                    out.push(' ');
                    self.put(operand, scope, out);
                }
                for (when, then) in branches {
                    out.push_str(" when ");
                    self.put(when, scope, out);
                    out.push_str(" then ");
                    self.put(then, scope, out);
                }
                if let Some(otherwise) = otherwise {
                    out.push_str(" else ");
                    self.put(otherwise, scope, out);
                }
                out.push_str(" end)");
            }
            Expr::Cast(operand, target) => {
                out.push_str("cast(");
                self.put(operand, scope, out);
                let _ = write!(out, " as {})", cast_type(target));
            }
            Expr::Collate(operand, collation) => {
                out.push('(');
                self.put(operand, scope, out);
                let _ = write!(out, " collate {})", collation.name());
            }
            Expr::Interval { operand, amount, unit, subtract } => {
                out.push('(');
                self.put(operand, scope, out);
                out.push_str(if *subtract { " - interval " } else { " + interval " });
                self.put(amount, scope, out);
                let _ = write!(out, " {})", unit_name(*unit));
            }
            Expr::Function(function, arguments) => {
                self.put_function(*function, arguments, scope, out);
            }
            // The binder adds them; no statement has them.
            Expr::Convert(operand, _) | Expr::InCollation(operand, _) => {
                self.put(operand, scope, out);
            }
        }
    }

    fn put_suffixed(&self, operand: &Expr, suffix: &str, scope: &Scope, out: &mut String) {
        out.push('(');
        self.put(operand, scope, out);
        let _ = write!(out, " {suffix})");
    }

    fn put_joined<'e>(
        &self,
        operands: impl IntoIterator<Item = &'e Expr>,
        separator: &str,
        scope: &Scope,
        out: &mut String,
    ) {
        out.push('(');
        for (index, operand) in operands.into_iter().enumerate() {
            out.push_str(if index == 0 { "" } else { separator });
            self.put(operand, scope, out);
        }
        out.push(')');
    }

    fn put_list(&self, list: &[Expr], scope: &Scope, out: &mut String) {
        for (index, expr) in list.iter().enumerate() {
            out.push_str(if index == 0 { "" } else { "," });
            self.put(expr, scope, out);
        }
    }

    fn put_function(
        &self,
        function: Function,
        arguments: &[Expr],
        scope: &Scope,
        out: &mut String,
    ) {
        match (function, arguments) {
            // The binder adds them; no statement has them.
            (Function::UtcToLocal | Function::LocalToUtc | Function::DeclaredText, [first, ..]) => {
                return self.put(first, scope, out);
            }
            (Function::JsonScalar, [first, ..]) => return self.put(first, scope, out),
            (Function::JsonValue, [document, path, Expr::Const(Value::Bytes(target)), ..]) => {
                out.push_str("json_value(");
                self.put_list(&[document.clone(), path.clone()], scope, out);
                let target =
                    ColumnType::from_bytes(target).map_or("?".into(), |own| cast_type(&own));
                let _ = write!(out, " returning {target}");
            }
            (Function::MemberOf, [value, array]) => {
                out.push('(');
                self.put(value, scope, out);
                out.push_str(" member of (");
                self.put(array, scope, out);
                out.push(')');
            }
            (Function::RowKey, columns) => return self.put_list(columns, scope, out),
            (Function::Divide, [left, right, ..]) => {
                return self.put_joined([left, right], operator_text(BinaryOp::Divide), scope, out);
            }
            (Function::TimestampDiff | Function::Extract, [Expr::Const(unit), rest @ ..]) => {
                let unit = match unit {
                    Value::Int(tag) => u8::try_from(*tag).ok(),
                    Value::UInt(tag) => u8::try_from(*tag).ok(),
                    _ => None,
                };
                let unit =
                    unit.and_then(IntervalUnit::from_tag).map_or_else(|| "?".into(), unit_name);
                let separator = if function == Function::Extract { " from " } else { "," };
                let name = function.name().to_ascii_lowercase();
                let _ = write!(out, "{name}({}{separator}", unit);
                self.put_list(rest, scope, out);
            }
            _ => {
                let _ = write!(out, "{}(", function.name().to_ascii_lowercase());
                let written = function.sql_arity().1.min(arguments.len());
                self.put_list(&arguments[..written], scope, out);
            }
        }
        out.push(')');
    }

    fn put_param(&self, number: u16, scope: &Scope, out: &mut String) {
        let Some(slot) = number.checked_sub(self.plan.param_count) else {
            match self.params.get(usize::from(number)) {
                Some(value) => literal(value, out),
                None => out.push('?'),
            }
            return;
        };
        let digits = |name: &str, fsp: &u8| match fsp {
            0 => format!("{name}()"),
            fsp => format!("{name}({fsp})"),
        };
        let call = |name: &str, operand: &Expr| format!("{name}({})", self.text(operand, scope));
        let text = match &self.plan.slots[usize::from(slot)] {
            Slot::Now { fsp } => digits("now", fsp),
            Slot::CurrentDate => "curdate()".into(),
            Slot::CurrentTime { fsp } => digits("curtime", fsp),
            Slot::UtcTimestamp { fsp } => digits("utc_timestamp", fsp),
            Slot::UtcDate => "utc_date()".into(),
            Slot::UtcTime { fsp } => digits("utc_time", fsp),
            Slot::SystemDate { fsp } => digits("sysdate", fsp),
            Slot::LastInsertId => "last_insert_id()".into(),
            Slot::RowCount => "row_count()".into(),
            Slot::FoundRows => "found_rows()".into(),
            Slot::UserVariable(name) => format!("@{name}"),
            Slot::Random { seed: None } => "rand()".into(),
            Slot::Random { seed: Some(seed) } => call("rand", seed),
            Slot::Uuid => "uuid()".into(),
            Slot::UuidShort => "uuid_short()".into(),
            Slot::Sleep(seconds) => call("sleep", seconds),
            Slot::TransactionOutcome(id) => call("skarv_transaction_outcome", id),
            Slot::UserLock(own) => {
                let arguments: Vec<String> =
                    own.arguments.iter().map(|argument| self.text(argument, scope)).collect();
                format!("{}({})", own.function.name(), arguments.join(","))
            }
            Slot::Subquery(subquery) => self.subquery(subquery),
            Slot::SubqueryColumn => self.subquery_column(slot),
            Slot::Outer => self.outer.get(&slot).cloned().unwrap_or_else(|| "?".into()),
            Slot::Assign { name, value } => format!("(@{name} := {})", self.text(value, scope)),
            Slot::LastInsertIdOf(value) => call("last_insert_id", value),
            Slot::NewValue { column } => format!("values({})", self.inserted_column(*column)),
            Slot::Window => self.windows.get(&slot).cloned().unwrap_or_else(|| "?".into()),
            Slot::SourceValue { .. } => "?".into(),
        };
        out.push_str(&text);
    }

    fn inserted_column(&self, column: u16) -> &str {
        match &self.plan.kind {
            PlanKind::Insert(insert) => &insert.table.columns[usize::from(column)].name,
            _ => "?",
        }
    }

    /// A further column of the subquery whose slot is before this one.
    fn subquery_column(&self, slot: u16) -> String {
        let mut first = usize::from(slot);
        while 0 < first {
            first -= 1;
            if let Slot::Subquery(subquery) = &self.plan.slots[first] {
                let column = usize::from(slot) - first + 1;
                return format!("(select #{}).{column}", self.number_of(&subquery.plan));
            }
        }
        "?".into()
    }

    /// A subquery as an operand.
    fn subquery(&self, subquery: &SubqueryPlan) -> String {
        let plan = subquery.set.as_ref().map_or(&subquery.plan, |set| &set.plan);
        let query = format!("select #{}", self.number_of(plan));
        let nothing = Scope::default();
        match subquery.kind {
            SubqueryKind::Scalar => format!("({query})"),
            SubqueryKind::Exists => format!("exists({query})"),
            SubqueryKind::Any | SubqueryKind::All => {
                let quantifier = if subquery.kind == SubqueryKind::Any { "any" } else { "all" };
                if let Some(set) = &subquery.set {
                    return format!("({} in ({query}))", self.text(&set.operand, &nothing));
                }
                let comparison = subquery.plan.items.first().map(|item| &item.expr);
                match comparison {
                    Some(Expr::Binary(BinaryOp::Equal, left, _))
                        if subquery.kind == SubqueryKind::Any =>
                    {
                        format!("({} in ({query}))", self.text(left, &nothing))
                    }
                    Some(Expr::Binary(op, left, _)) => {
                        let left = self.text(left, &nothing);
                        format!("({left}{}{quantifier} ({query}))", operator_text(*op))
                    }
                    Some(Expr::And(terms) | Expr::Or(terms)) => {
                        let operand = |term: &Expr| match term {
                            Expr::Binary(_, left, _) => self.text(left, &nothing),
                            _ => "?".into(),
                        };
                        let operands: Vec<String> = terms.iter().map(operand).collect();
                        let is_any = subquery.kind == SubqueryKind::Any;
                        let operator = if is_any { "in" } else { "not in" };
                        format!("(({}) {operator} ({query}))", operands.join(","))
                    }
                    _ => format!("{quantifier} ({query})"),
                }
            }
        }
    }
}

fn operator_text(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => " + ",
        BinaryOp::Subtract => " - ",
        BinaryOp::Multiply => " * ",
        BinaryOp::Divide => " / ",
        BinaryOp::IntegerDivide => " DIV ",
        BinaryOp::Modulo => " % ",
        BinaryOp::Equal => " = ",
        BinaryOp::NullSafeEqual => " <=> ",
        BinaryOp::NotEqual => " <> ",
        BinaryOp::Less => " < ",
        BinaryOp::LessOrEqual => " <= ",
        BinaryOp::Greater => " > ",
        BinaryOp::GreaterOrEqual => " >= ",
        BinaryOp::Xor => " xor ",
        BinaryOp::BitAnd => " & ",
        BinaryOp::BitOr => " | ",
        BinaryOp::BitXor => " ^ ",
        BinaryOp::ShiftLeft => " << ",
        BinaryOp::ShiftRight => " >> ",
    }
}

/// `DayHour` as `day_hour`.
fn unit_name(unit: IntervalUnit) -> String {
    let mut name = String::new();
    for (index, letter) in format!("{unit:?}").chars().enumerate() {
        if letter.is_ascii_uppercase() && 0 < index {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

pub fn aggregate_name(function: &AggregateFunction) -> &'static str {
    match function {
        AggregateFunction::Count => "count",
        AggregateFunction::Sum => "sum",
        AggregateFunction::Avg { .. } => "avg",
        AggregateFunction::Min => "min",
        AggregateFunction::Max => "max",
        AggregateFunction::BitAnd => "bit_and",
        AggregateFunction::BitOr => "bit_or",
        AggregateFunction::BitXor => "bit_xor",
        AggregateFunction::StddevPop => "std",
        AggregateFunction::StddevSamp => "stddev_samp",
        AggregateFunction::VarPop => "variance",
        AggregateFunction::VarSamp => "var_samp",
        AggregateFunction::GroupConcat { .. } => "group_concat",
        AggregateFunction::AnyValue => "any_value",
        AggregateFunction::JsonArray => "json_arrayagg",
        AggregateFunction::JsonObject => "json_objectagg",
    }
}

fn is_of_documents(function: &AggregateFunction) -> bool {
    matches!(function, AggregateFunction::JsonArray | AggregateFunction::JsonObject)
}

/// A type as CAST writes it.
fn cast_type(target: &ColumnType) -> String {
    let digits = |name: &str, fsp: &u8| match fsp {
        0 => name.to_string(),
        fsp => format!("{name}({fsp})"),
    };
    match target {
        ColumnType::Int { unsigned: false, .. } => "signed".into(),
        ColumnType::Int { unsigned: true, .. } => "unsigned".into(),
        ColumnType::Float => "float".into(),
        ColumnType::Double => "double".into(),
        ColumnType::Decimal { precision, scale, .. } => format!("decimal({precision},{scale})"),
        ColumnType::Date => "date".into(),
        ColumnType::Time { fsp } => digits("time", fsp),
        ColumnType::DateTime { fsp } | ColumnType::Timestamp { fsp } => digits("datetime", fsp),
        ColumnType::Json => "json".into(),
        other if other.is_string() => "char".into(),
        _ => "binary".into(),
    }
}

/// A constant, cut where it is long.
pub fn literal(value: &Value, out: &mut String) {
    let text = || to_text(value.as_ref()).into_owned();
    match value {
        Value::Null => out.push_str("NULL"),
        Value::Text(text, _) => quote(text, out),
        Value::Bytes(bytes) => {
            out.push_str("0x");
            for byte in bytes.iter().take(LITERAL_LENGTH_MAX) {
                let _ = write!(out, "{byte:02X}");
            }
            out.push_str(if LITERAL_LENGTH_MAX < bytes.len() { "..." } else { "" });
        }
        Value::Date(_) => {
            let _ = write!(out, "DATE'{}'", text());
        }
        Value::Time(_) => {
            let _ = write!(out, "TIME'{}'", text());
        }
        Value::DateTime(_) => {
            let _ = write!(out, "TIMESTAMP'{}'", text());
        }
        _ => out.push_str(&text()),
    }
}

fn quote(text: &str, out: &mut String) {
    out.push('\'');
    for (index, letter) in text.chars().enumerate() {
        if index == LITERAL_LENGTH_MAX {
            out.push_str("...");
            break;
        }
        match letter {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            letter => out.push(letter),
        }
    }
    out.push('\'');
}

/// Numbers the queries of a plan in the order in which the traditional form lists them.
pub fn numbers_of(plan: &Plan) -> BTreeMap<usize, u64> {
    let mut numbers = Numbers::default();
    match &plan.kind {
        PlanKind::Select(select) => numbers.query(select),
        PlanKind::Insert(insert) => match &insert.source {
            crate::plan::InsertSource::Select(select) => numbers.query(select),
            crate::plan::InsertSource::Values(_) | crate::plan::InsertSource::Load(_) => {
                numbers.last += 1;
            }
        },
        PlanKind::JoinedUpdate(change) | PlanKind::JoinedDelete(change) => {
            numbers.query(&change.rows);
        }
        PlanKind::Update(_) | PlanKind::Delete(_) => numbers.last += 1,
        PlanKind::Values(_) => {}
    }
    for slot in &plan.slots {
        if let Slot::Subquery(subquery) = slot {
            numbers.query(subquery.set.as_ref().map_or(&subquery.plan, |set| &set.plan));
        }
    }
    numbers.of
}

#[derive(Default)]
struct Numbers {
    of: BTreeMap<usize, u64>,
    last: u64,
}

impl Numbers {
    fn query(&mut self, select: &SelectPlan) {
        self.last += 1;
        self.of.insert(std::ptr::from_ref(select).addr(), self.last);
        if let Source::Joined(source) = &select.source {
            self.operator(&source.root);
        }
    }

    fn operator(&mut self, operator: &Operator) {
        match operator {
            Operator::Table { .. }
            | Operator::Virtual { .. }
            | Operator::Values { .. }
            | Operator::Working { .. } => {}
            Operator::Query { plan, .. } => self.query(plan),
            Operator::Set { members, .. } => {
                members.iter().for_each(|member| self.query(&member.plan));
            }
            Operator::Recursive { seed, steps, .. } => {
                self.query(seed);
                steps.iter().for_each(|step| self.query(step));
            }
            Operator::Filter { input, .. } => self.operator(input),
            Operator::Join(join) => {
                self.operator(&join.left);
                self.operator(&join.right);
            }
        }
    }
}
