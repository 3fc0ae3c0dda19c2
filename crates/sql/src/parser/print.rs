//! A query as text that the parser reads back as the same tree.
//!
//! The problem: the catalogue keeps a view as text, clients see that text in SHOW CREATE VIEW, and
//! a later session with another current database and another sql_mode has to get the same query
//! from it. The idea: print the tree instead of keeping what the client wrote. Every name is
//! quoted, every operator with its operands stands in parentheses, and every function has one
//! spelling, so no precedence, reserved word or mode is left to decide what the text means. The
//! layout is MySQL's.
//!
//! The text is read in the default sql_mode and as utf8mb4. What the parser gives back differs
//! from the printed tree in two ways: an item of a select list has its title as an alias, since
//! printing changes the text that was its title; and joins stand in parentheses, which the parser
//! keeps as `TableFactor::Nested`, with the same meaning. A node that no view may have prints as
//! text that the parser refuses (see `Printer::refused`).
//!
//! Each operator costs the parser a level for its node and one for its parentheses, so a tree of
//! more than half of `limits::HEIGHT_MAX`, `a + b + c + ...` of 320 terms, prints as text that it
//! refuses. A caller that keeps the text has to parse it first.

mod json;
mod window;

use super::ast::*;
use super::keywords::{is_reserved, is_reserved_function, is_window_function};

/// The meaning of names in a tree that the binder has read.
pub trait Names {
    /// The column's full name. `None`: it is printed as it was written.
    fn column(&self, _name: &ColumnName) -> Option<ColumnName> {
        None
    }

    /// The table's full name. `None`: it is printed as it was written, as a table of WITH is.
    fn table(&self, _name: &ObjectName) -> Option<ObjectName> {
        None
    }

    /// The columns that `*` or `t.*` lists, each with its title. `None`: the star is printed.
    fn wildcard(&self, _item: &SelectItem) -> Option<Vec<(ColumnName, String)>> {
        None
    }
}

/// Prints every name as it was written.
pub struct AsWritten;

impl Names for AsWritten {}

/// The text of `query`.
pub fn query(query: &Query, names: &dyn Names) -> String {
    let mut printer = Printer { out: String::new(), names };
    printer.query(query);
    printer.out
}

/// The text of an expression, its names as they were written.
pub fn expression(expr: &Expr) -> String {
    let mut printer = Printer { out: String::new(), names: &AsWritten };
    printer.expr(expr);
    printer.out
}

struct Printer<'a> {
    out: String,
    names: &'a dyn Names,
}

/// Whether a clause follows the body of the query that would belong to a UNION around it.
fn has_tail(query: &Query) -> bool {
    !query.order_by.is_empty()
        || query.limit.is_some()
        || !query.locking.is_empty()
        || !query.into_variables.is_empty()
        || query.into_file
}

fn is_intersection(operands: &[SetOperand]) -> bool {
    operands.first().is_some_and(|operand| operand.operator == SetOperator::Intersect)
}

/// Whether `text` is a word of ASCII letters, digits and underscores that begins with no digit.
fn is_word(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    text.bytes().next().is_some_and(is_letter)
        && text.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
}

/// Whether the word before a parenthesis is a call of the function that the tree names so.
fn is_call_unquoted(name: &str, argument_count: usize) -> bool {
    // The parser folds words to upper case, and quoted names not.
    if !is_word(name) || name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        return false;
    }
    match name {
        // Behind a comparison, and behind SELECT.
        "ANY" | "SOME" | "SQL_NO_CACHE" | "SQL_BUFFER_RESULT" => false,
        // INTERVAL (x) is the beginning of INTERVAL (x) DAY.
        "INTERVAL" => 2 <= argument_count,
        _ => {
            !is_reserved(name.as_bytes()) || is_reserved_function(name) || is_window_function(name)
        }
    }
}

impl Printer<'_> {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// The items with commas between them.
    fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        for (index, one) in items.iter().enumerate() {
            if 0 < index {
                self.push(",");
            }
            item(self, one);
        }
    }

    /// Stands for a node that has no text. No operand, table, type or literal begins with `<`, so
    /// the parser refuses the statement.
    fn refused(&mut self, feature: &str) {
        self.push("<unsupported: ");
        self.push(feature);
        self.push(">");
    }

    // -----------------------------------------------------------------------------------------------------------
    // Names and strings

    fn name(&mut self, name: &str) {
        self.push("`");
        self.push(&name.replace('`', "``"));
        self.push("`");
    }

    fn names(&mut self, names: &[String]) {
        self.push("(");
        self.list(names, |printer, name| printer.name(name));
        self.push(")");
    }

    /// `schema.` if there is a schema.
    fn qualifier(&mut self, name: Option<&str>) {
        if let Some(name) = name {
            self.name(name);
            self.push(".");
        }
    }

    fn object(&mut self, name: &ObjectName) {
        self.qualifier(name.schema.as_deref());
        self.name(&name.name);
    }

    fn table_name(&mut self, name: &ObjectName) {
        match self.names.table(name) {
            Some(full) => self.object(&full),
            None => self.object(name),
        }
    }

    fn column(&mut self, name: &ColumnName) {
        match self.names.column(name) {
            Some(full) => self.column_parts(&full),
            None => self.column_parts(name),
        }
    }

    fn column_parts(&mut self, name: &ColumnName) {
        self.qualifier(name.schema.as_deref());
        self.qualifier(name.table.as_deref());
        self.name(&name.column);
    }

    /// `@name`.
    fn variable(&mut self, name: &str) {
        self.push("@");
        self.name(name);
    }

    /// A character set or a collation.
    fn charset(&mut self, name: &str) {
        if name == "binary" || is_word(name) && !is_reserved(name.to_uppercase().as_bytes()) {
            self.push(name);
        } else {
            self.text(name);
        }
    }

    /// ` AS title`. A title may have the zero byte, which a name may not.
    fn title(&mut self, title: &str) {
        self.push(" AS ");
        if title.contains('\0') { self.text(title) } else { self.name(title) }
    }

    /// In quotes. The backslash escapes itself and the zero byte only, so that the text without
    /// them is the same under NO_BACKSLASH_ESCAPES.
    fn text(&mut self, text: &str) {
        self.push("'");
        for letter in text.chars() {
            match letter {
                '\'' => self.push("''"),
                '\\' => self.push("\\\\"),
                '\0' => self.push("\\0"),
                letter => self.out.push(letter),
            }
        }
        self.push("'");
    }

    /// In quotes, with MySQL's escapes behind an introducer.
    fn escaped(&mut self, text: &str) {
        self.push("'");
        for letter in text.chars() {
            match letter {
                '\'' => self.push("\\'"),
                '\\' => self.push("\\\\"),
                '\0' => self.push("\\0"),
                '\n' => self.push("\\n"),
                '\r' => self.push("\\r"),
                '\x1a' => self.push("\\Z"),
                letter => self.out.push(letter),
            }
        }
        self.push("'");
    }

    /// Text that has no other spelling when it is not UTF-8.
    fn text_or_refused(&mut self, bytes: &[u8]) {
        match str::from_utf8(bytes) {
            Ok(text) => self.text(text),
            Err(_) => self.refused("text that is not UTF-8"),
        }
    }

    fn hex(&mut self, bytes: &[u8]) {
        // `0x` without digits is a word.
        if bytes.is_empty() {
            return self.push("x''");
        }
        self.push("0x");
        for byte in bytes {
            self.push(&format!("{byte:02x}"));
        }
    }

    fn bits(&mut self, bytes: &[u8]) {
        self.push("b'");
        if let Some((first, rest)) = bytes.split_first() {
            self.push(&format!("{first:b}"));
            for byte in rest {
                self.push(&format!("{byte:08b}"));
            }
        }
        self.push("'");
    }

    /// `_charset'...'`, and digits for bytes that are no characters of the whole text.
    fn charset_string(&mut self, charset: &str, value: &[u8]) {
        self.push("_");
        self.push(charset);
        match str::from_utf8(value) {
            Ok(text) if value.is_ascii() || charset.starts_with("utf8") => self.escaped(text),
            _ => {
                self.push(" ");
                self.hex(value);
            }
        }
    }

    fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Null => self.push("NULL"),
            Literal::Bool(true) => self.push("true"),
            Literal::Bool(false) => self.push("false"),
            Literal::Integer(value) => self.push(&value.to_string()),
            Literal::Decimal(text) => self.push(text),
            Literal::Float(value) => self.push(&format!("{value:e}")),
            Literal::String(value) => match str::from_utf8(value) {
                Ok(text) => self.text(text),
                // The binder takes such a string as bytes.
                Err(_) => self.charset_string("binary", value),
            },
            Literal::CharsetString { charset, value, .. } => self.charset_string(charset, value),
            Literal::Hex(value) => self.hex(value),
            Literal::Bits(value) => self.bits(value),
            Literal::Date(value) => self.temporal("DATE", value),
            Literal::Time(value) => self.temporal("TIME", value),
            Literal::Timestamp(value) => self.temporal("TIMESTAMP", value),
        }
    }

    fn temporal(&mut self, word: &str, value: &[u8]) {
        self.push(word);
        self.text_or_refused(value);
    }

    // -----------------------------------------------------------------------------------------------------------
    // Queries

    fn query(&mut self, query: &Query) {
        if let Some(with) = &query.with {
            self.with(with);
        }
        self.body(&query.body);
        self.order_by(&query.order_by);
        if let Some(limit) = &query.limit {
            self.push(" limit ");
            if let Some(offset) = &limit.offset {
                self.expr(offset);
                self.push(",");
            }
            self.expr(&limit.count);
        }
        for locking in &query.locking {
            self.locking(locking);
        }
        if query.into_file {
            self.push(" into ");
            self.refused("OUTFILE");
        } else if !query.into_variables.is_empty() {
            self.push(" into ");
            self.list(&query.into_variables, |printer, name| printer.variable(name));
        }
    }

    fn parenthesised(&mut self, query: &Query) {
        self.push("(");
        self.query(query);
        self.push(")");
    }

    fn with(&mut self, with: &With) {
        self.push(if with.recursive { "with recursive " } else { "with " });
        self.list(&with.tables, |printer, table| {
            printer.name(&table.name);
            if !table.columns.is_empty() {
                printer.push(" ");
                printer.names(&table.columns);
            }
            printer.push(" as ");
            printer.parenthesised(&table.query);
        });
        self.push(" ");
    }

    fn body(&mut self, body: &QueryBody) {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::SetOperation { first, rest } => self.set_operation(first, rest),
            QueryBody::Values(rows) => {
                self.push("values ");
                self.list(rows, |printer, row| {
                    printer.push("row");
                    printer.arguments(row);
                });
            }
            QueryBody::Table(name) => {
                self.push("table ");
                self.table_name(name);
            }
        }
    }

    fn set_operation(&mut self, first: &Query, rest: &[SetOperand]) {
        self.operand(first, rest);
        for operand in rest {
            self.push(match operand.operator {
                SetOperator::Union => " union ",
                SetOperator::Except => " except ",
                SetOperator::Intersect => " intersect ",
            });
            if operand.all {
                self.push("all ");
            }
            self.operand(&operand.query, rest);
        }
    }

    /// An operand of a set operation; `rest` are the operands behind the first.
    ///
    /// Only an operand that needs parentheses gets them: the parser knows the query of an IN by its
    /// first word.
    fn operand(&mut self, query: &Query, rest: &[SetOperand]) {
        let binds_tighter = match &query.body {
            QueryBody::SetOperation { rest: inner, .. } => {
                is_intersection(inner) && !is_intersection(rest)
            }
            _ => true,
        };
        // Without other operands it is a query in parentheses with a second tail behind them.
        if binds_tighter && !rest.is_empty() && query.with.is_none() && !has_tail(query) {
            self.query(query);
        } else {
            self.parenthesised(query);
        }
    }

    fn select(&mut self, select: &Select) {
        self.push("select ");
        for (is_there, word) in [
            (select.distinct, "distinct "),
            (select.straight, "straight_join "),
            (select.calc_found_rows, "sql_calc_found_rows "),
        ] {
            if is_there {
                self.push(word);
            }
        }
        self.list(&select.items, Self::item);
        if !select.from.is_empty() {
            self.push(" from ");
            self.list(&select.from, Self::reference);
        } else if select.filter.is_some() {
            self.push(" from DUAL");
        }
        self.clause(" where ", select.filter.as_ref());
        if !select.group_by.is_empty() {
            self.push(" group by ");
            self.list(&select.group_by, Self::order_item);
        }
        if select.with_rollup {
            self.push(" with rollup");
        }
        self.clause(" having ", select.having.as_ref());
        if !select.windows.is_empty() {
            self.push(" window ");
            self.list(&select.windows, |printer, window| {
                printer.name(&window.name);
                printer.push(" as ");
                printer.window_spec(&window.spec);
            });
        }
    }

    fn clause(&mut self, words: &str, expr: Option<&Expr>) {
        if let Some(expr) = expr {
            self.push(words);
            self.expr(expr);
        }
    }

    fn item(&mut self, item: &SelectItem) {
        match item {
            SelectItem::Expr { expr, alias, text } => {
                self.expr(expr);
                self.title(&item_title(expr, alias.as_deref(), text));
            }
            SelectItem::Wildcard(_) | SelectItem::TableWildcard(_) => {
                match (self.names.wildcard(item), item) {
                    (Some(columns), _) => self.list(&columns, |printer, (column, title)| {
                        printer.column_parts(column);
                        printer.title(title);
                    }),
                    (None, SelectItem::TableWildcard(name)) => {
                        self.object(name);
                        self.push(".*");
                    }
                    (None, _) => self.push("*"),
                }
            }
        }
    }

    fn order_by(&mut self, items: &[OrderItem]) {
        if !items.is_empty() {
            self.push(" order by ");
            self.list(items, Self::order_item);
        }
    }

    fn order_item(&mut self, item: &OrderItem) {
        self.expr(&item.expr);
        if item.descending {
            self.push(" desc");
        }
    }

    fn locking(&mut self, locking: &Locking) {
        self.push(match locking.strength {
            LockStrength::Share => " for share",
            LockStrength::Update => " for update",
        });
        if !locking.of.is_empty() {
            self.push(" of ");
            // Aliases, not tables.
            self.list(&locking.of, Self::object);
        }
        self.push(match locking.wait {
            LockWait::Wait => "",
            LockWait::NoWait => " nowait",
            LockWait::SkipLocked => " skip locked",
        });
    }

    // -----------------------------------------------------------------------------------------------------------
    // Tables

    /// `((a join b on(...)) left join c on(...))`.
    fn reference(&mut self, reference: &TableReference) {
        self.push(&"(".repeat(reference.joins.len()));
        self.factor(&reference.first);
        for join in &reference.joins {
            if join.condition == JoinCondition::Natural {
                self.push(" natural");
            }
            self.push(match join.kind {
                JoinKind::Inner => " join ",
                JoinKind::Straight => " straight_join ",
                JoinKind::Left => " left join ",
                JoinKind::Right => " right join ",
            });
            self.factor(&join.factor);
            match &join.condition {
                JoinCondition::None | JoinCondition::Natural => {}
                JoinCondition::On(condition) => {
                    self.push(" on(");
                    self.expr(condition);
                    self.push(")");
                }
                JoinCondition::Using(columns) => {
                    self.push(" using ");
                    self.names(columns);
                }
            }
            self.push(")");
        }
    }

    fn factor(&mut self, factor: &TableFactor) {
        match factor {
            TableFactor::Table { name, alias, partitions, hints } => {
                self.table_name(name);
                if !partitions.is_empty() {
                    self.push(" partition ");
                    self.names(partitions);
                }
                self.table_alias(alias.as_deref());
                for hint in hints {
                    self.hint(hint);
                }
            }
            TableFactor::Derived { query, alias, columns, lateral } => {
                if *lateral {
                    self.push("lateral ");
                }
                self.parenthesised(query);
                self.table_alias(alias.as_deref());
                if !columns.is_empty() {
                    self.push(" ");
                    self.names(columns);
                }
            }
            TableFactor::Nested(references) => match references.as_slice() {
                // Its joins have parentheses.
                [one] => self.reference(one),
                several => {
                    self.push("(");
                    self.list(several, Self::reference);
                    self.push(")");
                }
            },
            TableFactor::JsonTable(table) => self.json_table(table),
        }
    }

    fn table_alias(&mut self, alias: Option<&str>) {
        if let Some(alias) = alias {
            self.push(" ");
            self.name(alias);
        }
    }

    fn hint(&mut self, hint: &IndexHint) {
        self.push(match hint.kind {
            IndexHintKind::Use => " use index ",
            IndexHintKind::Ignore => " ignore index ",
            IndexHintKind::Force => " force index ",
        });
        self.names(&hint.indexes);
    }

    // -----------------------------------------------------------------------------------------------------------
    // Expressions

    /// A name, a literal, a call, or text in parentheses: an operand of every operator but COLLATE.
    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Literal(literal) => self.literal(literal),
            Expr::Param(_) => self.refused("parameter"),
            Expr::BoundColumn(_) => self.refused("bound column"),
            Expr::Unsupported { feature } => self.refused(feature),
            Expr::Column(name) => self.column(name),
            Expr::UserVariable(name) => self.variable(name),
            Expr::SystemVariable { scope, name } => self.system_variable(*scope, name),
            Expr::Default(None) => self.push("default"),
            Expr::Default(Some(column)) => self.call_of_column("default(", column),
            Expr::Values(column) => self.call_of_column("values(", column),
            Expr::Unit(unit) => self.push(unit_name(*unit)),
            Expr::Function { schema, name, arguments } => {
                self.function(schema.as_deref(), name, arguments);
            }
            // Without the blank it is a call of the built-in function.
            Expr::SpacedCall { name } => {
                self.push(name);
                self.push(" ()");
            }
            Expr::Aggregate { .. } => self.aggregate(expr),
            Expr::Window(call) => self.window_call(call),
            Expr::Trim { side, remove, operand } => self.trim(*side, remove.as_deref(), operand),
            Expr::Cast { operand, target } => {
                self.push("cast(");
                self.expr(operand);
                self.push(" as ");
                self.cast_type(target);
                self.push(")");
            }
            Expr::JsonValue(call) => self.json_value(call),
            Expr::ConvertUsing { operand, charset } => {
                self.push("convert(");
                self.expr(operand);
                self.push(" using ");
                self.charset(charset);
                self.push(")");
            }
            Expr::Interval { value, unit } => self.interval(value, *unit),
            Expr::Row(items) => {
                // A single item in parentheses is that item.
                self.push(if items.len() == 1 { "row" } else { "" });
                self.arguments(items);
            }
            Expr::Exists(query) => {
                self.push("exists");
                self.parenthesised(query);
            }
            Expr::Subquery(query) => self.parenthesised(query),
            Expr::Unary { operator, operand } => self.unary(*operator, operand),
            Expr::Assign { .. }
            | Expr::And(_)
            | Expr::Or(_)
            | Expr::Binary { .. }
            | Expr::Is { .. }
            | Expr::Between { .. }
            | Expr::InList { .. }
            | Expr::InSubquery { .. }
            | Expr::Like { .. }
            | Expr::Regexp { .. }
            | Expr::Case { .. }
            | Expr::Collate { .. }
            | Expr::Quantified { .. } => {
                self.push("(");
                self.operation(expr);
                self.push(")");
            }
        }
    }

    /// In parentheses: those that the text of the operand has, or new ones.
    fn enclosed(&mut self, expr: &Expr) {
        let start = self.out.len();
        self.expr(expr);
        if !self.out[start..].starts_with('(') {
            self.out.insert(start, '(');
            self.push(")");
        }
    }

    fn unary(&mut self, operator: UnaryOperator, operand: &Expr) {
        match operator {
            UnaryOperator::Negate => self.push("-"),
            UnaryOperator::Plus => self.push("+"),
            UnaryOperator::BitNot => self.push("~"),
            // How tight NOT binds depends on a mode.
            UnaryOperator::Not => self.push("(not"),
            UnaryOperator::Binary => self.push("(binary "),
        }
        match operator {
            UnaryOperator::Binary => self.expr(operand),
            _ => self.enclosed(operand),
        }
        if matches!(operator, UnaryOperator::Not | UnaryOperator::Binary) {
            self.push(")");
        }
    }

    /// Operators and their operands.
    fn operation(&mut self, expr: &Expr) {
        match expr {
            Expr::Assign { variable, value } => {
                self.variable(variable);
                self.push(" := ");
                self.expr(value);
            }
            Expr::And(operands) => self.chain(operands, " and "),
            Expr::Or(operands) => self.chain(operands, " or "),
            Expr::Binary { operator, left, right } => {
                self.expr(left);
                self.push(" ");
                match operator {
                    BinaryOperator::IntegerDivide => self.push(operator.symbol()),
                    _ => self.push(&operator.symbol().to_lowercase()),
                }
                self.push(" ");
                self.expr(right);
            }
            Expr::Is { operand, test, negated } => {
                self.expr(operand);
                self.push(if *negated { " is not " } else { " is " });
                self.push(match test {
                    IsTest::Null => "null",
                    IsTest::True => "true",
                    IsTest::False => "false",
                    IsTest::Unknown => "unknown",
                });
            }
            Expr::Between { operand, low, high, negated } => {
                self.predicate(operand, *negated, "between ");
                self.expr(low);
                self.push(" and ");
                self.expr(high);
            }
            Expr::InList { operand, list, negated } => {
                self.predicate(operand, *negated, "in ");
                self.arguments(list);
            }
            Expr::InSubquery { operand, query, negated } => {
                self.predicate(operand, *negated, "in ");
                self.parenthesised(query);
            }
            Expr::Like { operand, pattern, escape, negated } => {
                self.predicate(operand, *negated, "like ");
                self.expr(pattern);
                self.clause(" escape ", escape.as_deref());
            }
            Expr::Regexp { operand, pattern, negated } => {
                self.predicate(operand, *negated, "regexp ");
                self.expr(pattern);
            }
            Expr::Case { operand, branches, otherwise } => {
                self.push("case");
                self.clause(" ", operand.as_deref());
                for (condition, value) in branches {
                    self.clause(" when ", Some(condition));
                    self.clause(" then ", Some(value));
                }
                self.clause(" else ", otherwise.as_deref());
                self.push(" end");
            }
            Expr::Collate { operand, collation } => {
                // Only COLLATE binds tighter than a sign.
                match **operand {
                    Expr::Unary { .. } => self.enclosed(operand),
                    _ => self.expr(operand),
                }
                self.push(" collate ");
                self.charset(collation);
            }
            Expr::Quantified { operator, all, left, query } => {
                self.expr(left);
                self.push(" ");
                self.push(operator.symbol());
                self.push(if *all { " all " } else { " any " });
                self.parenthesised(query);
            }
            _ => self.refused("operator"),
        }
    }

    fn chain(&mut self, operands: &[Expr], operator: &str) {
        for (index, operand) in operands.iter().enumerate() {
            self.clause(if index == 0 { "" } else { operator }, Some(operand));
        }
    }

    /// The operand, NOT, and the word.
    fn predicate(&mut self, operand: &Expr, negated: bool, word: &str) {
        self.expr(operand);
        self.push(if negated { " not " } else { " " });
        self.push(word);
    }

    fn interval(&mut self, value: &Expr, unit: IntervalUnit) {
        self.push("interval ");
        // INTERVAL (a,b) is a call.
        if matches!(value, Expr::Row(items) if items.len() != 1) {
            self.push("row");
        }
        self.expr(value);
        self.push(" ");
        self.push(unit_name(unit));
    }

    fn system_variable(&mut self, scope: VariableScope, name: &str) {
        self.push(match scope {
            VariableScope::Unspecified => "@@",
            VariableScope::Session => "@@session.",
            VariableScope::Global => "@@global.",
            VariableScope::Persist => "@@persist.",
            VariableScope::PersistOnly => "@@persist_only.",
        });
        // Quoted, the first part is no scope.
        for (index, part) in name.split('.').enumerate() {
            self.push(if index == 0 { "" } else { "." });
            self.name(part);
        }
    }

    // -----------------------------------------------------------------------------------------------------------
    // Calls

    /// `(a,b)`.
    fn arguments(&mut self, arguments: &[Expr]) {
        self.push("(");
        self.list(arguments, Self::expr);
        self.push(")");
    }

    fn call_of_column(&mut self, call: &str, column: &ColumnName) {
        self.push(call);
        self.column(column);
        self.push(")");
    }

    fn function(&mut self, schema: Option<&str>, name: &str, arguments: &[Expr]) {
        if let ("MEMBER OF", None, [value, array]) = (name, schema, arguments) {
            return self.member_of(value, array);
        }
        self.qualifier(schema);
        if schema.is_none() && is_call_unquoted(name, arguments.len()) {
            self.push(&name.to_ascii_lowercase());
        } else {
            self.name(name);
        }
        match arguments {
            [Expr::Unit(unit), operand] if schema.is_none() && name == "EXTRACT" => {
                self.push("(");
                self.push(unit_name(*unit));
                self.push(" from ");
                self.expr(operand);
                self.push(")");
            }
            arguments => self.arguments(arguments),
        }
    }

    fn aggregate(&mut self, expr: &Expr) {
        let Expr::Aggregate { name, distinct, arguments, order_by, separator } = expr else {
            return self.refused("aggregate");
        };
        self.push(&name.to_ascii_lowercase());
        self.push(if *distinct { "(distinct " } else { "(" });
        if arguments.is_empty() {
            self.push("*");
        }
        self.list(arguments, Self::expr);
        self.order_by(order_by);
        if let Some(separator) = separator {
            self.push(" separator ");
            self.text_or_refused(separator);
        }
        self.push(")");
    }

    fn trim(&mut self, side: TrimSide, remove: Option<&Expr>, operand: &Expr) {
        self.push("trim(");
        if remove.is_some() || side != TrimSide::Both {
            self.push(match side {
                TrimSide::Both => "both ",
                TrimSide::Leading => "leading ",
                TrimSide::Trailing => "trailing ",
            });
            if let Some(remove) = remove {
                self.expr(remove);
                self.push(" ");
            }
            self.push("from ");
        }
        self.expr(operand);
        self.push(")");
    }

    fn cast_type(&mut self, target: &CastType) {
        match target {
            CastType::Signed => self.push("signed"),
            CastType::Unsigned => self.push("unsigned"),
            CastType::Char { length, charset, binary, .. } => {
                self.push("char");
                self.widths(*length, None);
                if let Some(charset) = charset {
                    self.push(" charset ");
                    self.charset(charset);
                }
                self.push(if *binary { " binary" } else { "" });
            }
            CastType::Binary { length } => {
                self.push("binary");
                self.widths(*length, None);
            }
            CastType::Decimal { precision, scale } => {
                self.push("decimal");
                self.widths(*precision, *scale);
            }
            CastType::Float { precision } => {
                self.push("float");
                self.widths(*precision, None);
            }
            CastType::Double => self.push("double"),
            CastType::Date => self.push("date"),
            CastType::Time { fsp } => {
                self.push("time");
                self.widths(*fsp, None);
            }
            CastType::DateTime { fsp } => {
                self.push("datetime");
                self.widths(*fsp, None);
            }
            CastType::Year => self.push("year"),
            CastType::Json => self.push("json"),
            CastType::Unsupported { feature } => self.refused(feature),
        }
    }

    /// `(first)` or `(first,second)`, if there is a first.
    fn widths(&mut self, first: Option<u64>, second: Option<u64>) {
        match (first, second) {
            (Some(first), Some(second)) => self.push(&format!("({first},{second})")),
            (Some(first), None) => self.push(&format!("({first})")),
            (None, _) => {}
        }
    }
}

fn unit_name(unit: IntervalUnit) -> &'static str {
    match unit {
        IntervalUnit::Microsecond => "microsecond",
        IntervalUnit::Second => "second",
        IntervalUnit::Minute => "minute",
        IntervalUnit::Hour => "hour",
        IntervalUnit::Day => "day",
        IntervalUnit::Week => "week",
        IntervalUnit::Month => "month",
        IntervalUnit::Quarter => "quarter",
        IntervalUnit::Year => "year",
        IntervalUnit::SecondMicrosecond => "second_microsecond",
        IntervalUnit::MinuteMicrosecond => "minute_microsecond",
        IntervalUnit::MinuteSecond => "minute_second",
        IntervalUnit::HourMicrosecond => "hour_microsecond",
        IntervalUnit::HourSecond => "hour_second",
        IntervalUnit::HourMinute => "hour_minute",
        IntervalUnit::DayMicrosecond => "day_microsecond",
        IntervalUnit::DaySecond => "day_second",
        IntervalUnit::DayMinute => "day_minute",
        IntervalUnit::DayHour => "day_hour",
        IntervalUnit::YearMonth => "year_month",
    }
}
