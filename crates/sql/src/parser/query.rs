//! SELECT: query expressions, their parts and their tables.
//!
//! A query expression is `[WITH] operand {UNION operand} [ORDER BY] [LIMIT] [INTO] [FOR UPDATE]`. An operand is a SELECT
//! without its tail, `VALUES ROW(...)`, `TABLE t`, or a whole query expression in parentheses. The tail belongs to the
//! whole; when there is one operand, it becomes that operand's.
//!
//! Literals may be parameters in WHERE, ON and LIMIT only (see `with_slot`): elsewhere they name columns, stand for
//! positions, or decide types.

use super::ast::*;
use super::cursor::{Parse, Parser};
use super::error::ParseErrorKind;
use super::lexer::TokenKind;

/// Each nests the joins behind it; a join has at most 61 tables.
const LATE_CONDITION_COUNT_MAX: u32 = 64;

/// INTO of a query.
#[derive(Default)]
struct Into {
    variables: Vec<String>,
    file: bool,
}

impl Parser<'_> {
    /// A query expression with its tail.
    pub fn query(&mut self) -> Parse<Query> {
        self.nested_query(|parser| {
            let with = parser.with_clause()?;
            let first = parser.query_intersection()?;
            let mut query = parser.query_rest(first)?;
            if with.is_some() {
                query.with = with;
            }
            Ok(query)
        })
    }

    /// A query in an expression or a FROM, behind its `(`. Its literals stay constants but in its own WHERE.
    pub fn subquery(&mut self) -> Parse<Query> {
        self.with_slot(false, Self::query)
    }

    /// Whether what follows a parenthesised query continues a query expression.
    pub fn at_query_continuation(&self) -> bool {
        matches!(self.word(), "UNION" | "EXCEPT" | "INTERSECT" | "ORDER" | "LIMIT" | "FOR")
    }

    /// What follows `first`, a parenthesised query already read.
    pub fn continue_query(&mut self, first: Query) -> Parse<Query> {
        self.nested_query(|parser| {
            let first = parser.intersection_rest(first)?;
            parser.query_rest(first)
        })
    }

    /// WITH, if it is there.
    pub fn with_clause(&mut self) -> Parse<Option<With>> {
        if !self.accept("WITH") {
            return Ok(None);
        }
        let recursive = self.accept("RECURSIVE");
        let tables = self.list(|parser| {
            let name = parser.name()?;
            let columns = parser.optional_names()?;
            parser.expect("AS")?;
            parser.expect_kind(TokenKind::LeftParen)?;
            let query = parser.subquery()?;
            parser.expect_kind(TokenKind::RightParen)?;
            Ok(CommonTable { name, columns, query })
        })?;
        Ok(Some(With { recursive, tables }))
    }

    /// UNION and EXCEPT operands behind the first, and the tail.
    fn query_rest(&mut self, first: Query) -> Parse<Query> {
        let mut rest = Vec::new();
        while let Some(operator) = match self.word() {
            "UNION" => Some(SetOperator::Union),
            "EXCEPT" => Some(SetOperator::Except),
            _ => None,
        } {
            self.advance();
            let all = self.set_quantifier();
            rest.push(SetOperand { operator, all, query: self.query_intersection()? });
        }
        let query = set_operation(first, rest);
        self.query_tail(query)
    }

    /// ALL or DISTINCT behind UNION.
    fn set_quantifier(&mut self) -> bool {
        let all = self.accept("ALL");
        if !all {
            self.accept("DISTINCT");
        }
        all
    }

    fn query_intersection(&mut self) -> Parse<Query> {
        let first = self.query_operand()?;
        self.intersection_rest(first)
    }

    fn intersection_rest(&mut self, first: Query) -> Parse<Query> {
        let mut rest = Vec::new();
        while self.accept("INTERSECT") {
            let all = self.set_quantifier();
            let query = self.query_operand()?;
            rest.push(SetOperand { operator: SetOperator::Intersect, all, query });
        }
        Ok(set_operation(first, rest))
    }

    fn query_operand(&mut self) -> Parse<Query> {
        if self.accept_kind(TokenKind::LeftParen) {
            let query = self.query()?;
            self.expect_kind(TokenKind::RightParen)?;
            return Ok(query);
        }
        match self.word() {
            "SELECT" => {
                let (select, into) = self.select()?;
                let mut query = plain_query(QueryBody::Select(Box::new(select)));
                query.into_variables = into.variables;
                query.into_file = into.file;
                Ok(query)
            }
            "VALUES" => {
                self.advance();
                let rows = self.list(|parser| {
                    parser.expect("ROW")?;
                    parser.paren_list(Self::expression)
                })?;
                Ok(plain_query(QueryBody::Values(rows)))
            }
            "TABLE" => {
                self.advance();
                Ok(plain_query(QueryBody::Table(self.object_name()?)))
            }
            _ => self.syntax_error(),
        }
    }

    /// ORDER BY, LIMIT, INTO and locking of a whole query expression.
    fn query_tail(&mut self, query: Query) -> Parse<Query> {
        let order_by = self.order_by()?;
        let limit = self.limit()?;
        let mut into = self.into()?;
        let mut locking = Vec::new();
        while let Some(clause) = self.locking()? {
            locking.push(clause);
        }
        if into.variables.is_empty() && !into.file {
            into = self.into()?;
        }
        let has_into = !into.variables.is_empty() || into.file;
        if order_by.is_empty() && limit.is_none() && !has_into && locking.is_empty() {
            return Ok(query);
        }
        if has_into && (!query.into_variables.is_empty() || query.into_file) {
            return self.syntax_error();
        }
        // A parenthesised query with a tail of its own keeps it: `(SELECT ... LIMIT 5) LIMIT 2`.
        let has_tail = !query.order_by.is_empty() || query.limit.is_some();
        let mut query = if has_tail || query.with.is_some() {
            let first = Box::new(query);
            plain_query(QueryBody::SetOperation { first, rest: Vec::new() })
        } else {
            query
        };
        query.order_by = order_by;
        query.limit = limit;
        query.locking.append(&mut locking);
        if has_into {
            query.into_variables = into.variables;
            query.into_file = into.file;
        }
        Ok(query)
    }

    fn select(&mut self) -> Parse<(Select, Into)> {
        self.expect("SELECT")?;
        let mut distinct = false;
        let mut all = false;
        let mut calc_found_rows = false;
        let mut straight = false;
        loop {
            match self.word() {
                "DISTINCT" | "DISTINCTROW" => distinct = true,
                "SQL_CALC_FOUND_ROWS" => calc_found_rows = true,
                "ALL" => all = true,
                "STRAIGHT_JOIN" => straight = true,
                "HIGH_PRIORITY" | "SQL_SMALL_RESULT" | "SQL_BIG_RESULT" | "SQL_BUFFER_RESULT"
                | "SQL_NO_CACHE" => {}
                _ => break,
            }
            self.advance();
        }
        if all && distinct {
            return Err(self.error(ParseErrorKind::WrongUsage("ALL", "DISTINCT")));
        }
        let items = self.with_slot(false, |parser| parser.list(Self::select_item))?;
        let into = self.into()?;
        // FROM DUAL is no FROM.
        let has_tables = self.accept("FROM") && !self.accept("DUAL");
        let from = if has_tables { self.table_references()? } else { Vec::new() };
        let filter = self.filter()?;
        let mut group_by = Vec::new();
        let mut with_rollup = false;
        if self.accept_two("GROUP", "BY") {
            group_by = self.with_slot(false, |parser| parser.list(Self::order_item))?;
            with_rollup = self.accept_two("WITH", "ROLLUP");
        }
        let having = if self.accept("HAVING") {
            Some(self.with_slot(false, Self::expression)?)
        } else {
            None
        };
        let windows = self.window_clause()?;
        let select = Select {
            distinct,
            calc_found_rows,
            straight,
            items,
            from,
            filter,
            group_by,
            with_rollup,
            having,
            windows,
        };
        Ok((select, into))
    }

    fn select_item(&mut self) -> Parse<SelectItem> {
        let at = self.place();
        if self.accept_kind(TokenKind::Star) {
            return Ok(SelectItem::Wildcard(at));
        }
        if self.at_name() && self.peek().kind == TokenKind::Dot {
            let [_, second, third, fourth] = self.peek_kinds();
            let is_wildcard =
                second == TokenKind::Star || third == TokenKind::Dot && fourth == TokenKind::Star;
            if is_wildcard {
                let first = self.name()?;
                self.expect_kind(TokenKind::Dot)?;
                if self.accept_kind(TokenKind::Star) {
                    let name = ObjectName { schema: None, name: first, at };
                    return Ok(SelectItem::TableWildcard(name));
                }
                let table = self.name_after_dot()?;
                self.expect_kind(TokenKind::Dot)?;
                self.expect_kind(TokenKind::Star)?;
                let name = ObjectName { schema: Some(first), name: table, at };
                return Ok(SelectItem::TableWildcard(name));
            }
        }
        let start = self.token_start();
        // Its text is the column's name: a literal anywhere in it belongs to the statement.
        let expr = self.titled(Self::expression)?;
        let text = self.text_since(start);
        let has_alias = self.accept("AS") || self.at_name() || self.at_kind(TokenKind::String);
        let alias = if has_alias { Some(self.name_or_string()?) } else { None };
        Ok(SelectItem::Expr { expr, alias, text })
    }

    /// INTO @a, @b or INTO OUTFILE, if it is there.
    fn into(&mut self) -> Parse<Into> {
        let mut into = Into::default();
        if !self.accept("INTO") {
            return Ok(into);
        }
        self.refuse_parametrised();
        if self.accept_any(&["OUTFILE", "DUMPFILE"]) {
            into.file = true;
            self.string_bytes()?;
            if self.accept("CHARSET") || self.accept_two("CHARACTER", "SET") {
                self.charset_name()?;
            }
            // FIELDS and LINES options, each a word and a string.
            while matches!(
                self.word(),
                "FIELDS"
                    | "COLUMNS"
                    | "LINES"
                    | "TERMINATED"
                    | "ENCLOSED"
                    | "OPTIONALLY"
                    | "ESCAPED"
                    | "STARTING"
                    | "BY"
            ) || self.at_kind(TokenKind::String)
            {
                self.advance();
            }
            return Ok(into);
        }
        into.variables = self.list(|parser| {
            // A bare name is a local variable of a routine.
            if parser.at_name() { parser.name() } else { parser.user_variable() }
        })?;
        Ok(into)
    }

    // -----------------------------------------------------------------------------------------------------------
    // Clauses shared with UPDATE and DELETE

    /// WHERE, if it is there.
    pub fn filter(&mut self) -> Parse<Option<Expr>> {
        if !self.accept("WHERE") {
            return Ok(None);
        }
        Ok(Some(self.with_slot(true, Self::expression)?))
    }

    /// ORDER BY, if it is there.
    pub fn order_by(&mut self) -> Parse<Vec<OrderItem>> {
        if !self.accept("ORDER") {
            return Ok(Vec::new());
        }
        self.expect("BY")?;
        self.with_slot(false, |parser| parser.list(Self::order_item))
    }

    pub fn order_item(&mut self) -> Parse<OrderItem> {
        let expr = self.expression()?;
        Ok(OrderItem { expr, descending: self.accept_direction() })
    }

    /// ASC or DESC; true for DESC.
    pub fn accept_direction(&mut self) -> bool {
        let descending = self.accept("DESC");
        if !descending {
            self.accept("ASC");
        }
        descending
    }

    /// LIMIT, if it is there, in its three forms.
    pub fn limit(&mut self) -> Parse<Option<Limit>> {
        if !self.accept("LIMIT") {
            return Ok(None);
        }
        let first = self.limit_value()?;
        if self.accept_kind(TokenKind::Comma) {
            let count = self.limit_value()?;
            return Ok(Some(Limit { offset: Some(first), count }));
        }
        if self.accept("OFFSET") {
            let offset = Some(self.limit_value()?);
            return Ok(Some(Limit { offset, count: first }));
        }
        Ok(Some(Limit { offset: None, count: first }))
    }

    /// LIMIT n of UPDATE and DELETE, if it is there.
    pub fn row_limit(&mut self) -> Parse<Option<Expr>> {
        if !self.accept("LIMIT") {
            return Ok(None);
        }
        Ok(Some(self.limit_value()?))
    }

    fn limit_value(&mut self) -> Parse<Expr> {
        match self.kind() {
            TokenKind::Integer | TokenKind::HexNumber => self.with_slot(true, Self::literal),
            TokenKind::Question => self.param(),
            _ => self.syntax_error(),
        }
    }

    /// One locking clause, if it is there.
    fn locking(&mut self) -> Parse<Option<Locking>> {
        if self.accept("LOCK") {
            self.expect("IN")?;
            self.expect("SHARE")?;
            self.expect("MODE")?;
            let (strength, wait) = (LockStrength::Share, LockWait::Wait);
            return Ok(Some(Locking { strength, of: Vec::new(), wait }));
        }
        if !self.accept("FOR") {
            return Ok(None);
        }
        let strength = match self.word() {
            "UPDATE" => LockStrength::Update,
            "SHARE" => LockStrength::Share,
            _ => return self.syntax_error(),
        };
        self.advance();
        let of = if self.accept("OF") { self.list(Self::object_name)? } else { Vec::new() };
        let wait = if self.accept("NOWAIT") {
            LockWait::NoWait
        } else if self.accept_two("SKIP", "LOCKED") {
            LockWait::SkipLocked
        } else {
            LockWait::Wait
        };
        Ok(Some(Locking { strength, of, wait }))
    }

    // -----------------------------------------------------------------------------------------------------------
    // Tables

    pub fn table_references(&mut self) -> Parse<Vec<TableReference>> {
        self.list(Self::table_reference)
    }

    /// A table and its joins.
    fn table_reference(&mut self) -> Parse<TableReference> {
        let first = self.table_factor()?;
        self.joins(first)
    }

    fn joins(&mut self, first: TableFactor) -> Parse<TableReference> {
        let mut joins = Vec::new();
        while let Some(join) = self.join()? {
            joins.push(join);
            while self.at_join_condition() && self.late_condition(&mut joins)? {}
        }
        Ok(TableReference { first, joins })
    }

    /// `a JOIN b JOIN c ON x ON y`: a condition behind that of another join is that of the last join without one, whose right
    /// side is all that came since. False if every join has its condition.
    fn late_condition(&mut self, joins: &mut Vec<Join>) -> Parse<bool> {
        let is_open = |join: &Join| {
            matches!(join.kind, JoinKind::Inner | JoinKind::Straight)
                && join.condition == JoinCondition::None
        };
        let Some(position) = joins.iter().rposition(is_open) else { return Ok(false) };
        self.late_condition_count += 1;
        if LATE_CONDITION_COUNT_MAX < self.late_condition_count {
            return Err(self.error(ParseErrorKind::TooDeep));
        }
        let condition = self.join_condition()?;
        let inner = joins.split_off(position + 1);
        let join = joins.pop().expect("found just now");
        let right = TableReference { first: join.factor, joins: inner };
        let factor = TableFactor::Nested(vec![right]);
        joins.push(Join { kind: join.kind, factor, condition });
        Ok(true)
    }

    /// The next join with its condition, if there is one.
    fn join(&mut self) -> Parse<Option<Join>> {
        let natural = self.accept("NATURAL");
        let kind = match self.word() {
            "JOIN" => JoinKind::Inner,
            "INNER" | "CROSS" => {
                self.advance();
                JoinKind::Inner
            }
            "STRAIGHT_JOIN" => JoinKind::Straight,
            "LEFT" | "RIGHT" => {
                let is_left = self.at("LEFT");
                self.advance();
                self.accept("OUTER");
                if is_left { JoinKind::Left } else { JoinKind::Right }
            }
            _ if natural => return self.syntax_error(),
            _ => return Ok(None),
        };
        self.expect_any(&["JOIN", "STRAIGHT_JOIN"])?;
        let factor = self.table_factor()?;
        if natural {
            return Ok(Some(Join { kind, factor, condition: JoinCondition::Natural }));
        }
        let needs_condition = matches!(kind, JoinKind::Left | JoinKind::Right);
        if !needs_condition || self.at_join_condition() {
            let condition = self.join_condition()?;
            return Ok(Some(Join { kind, factor, condition }));
        }
        // `a LEFT JOIN b LEFT JOIN c ON x ON y`: the inner join is the right side of the outer one.
        let factor = self.nested(|parser| {
            let mut joins = Vec::new();
            while !parser.at_join_condition() || parser.late_condition(&mut joins)? {
                if parser.at_join_condition() {
                    continue;
                }
                match parser.join()? {
                    Some(join) => joins.push(join),
                    None => return parser.syntax_error(),
                }
            }
            Ok(TableFactor::Nested(vec![TableReference { first: factor, joins }]))
        })?;
        let condition = self.join_condition()?;
        Ok(Some(Join { kind, factor, condition }))
    }

    fn at_join_condition(&self) -> bool {
        // ON DUPLICATE KEY UPDATE may follow the FROM of INSERT ... SELECT.
        self.at("ON") && !self.next_is("DUPLICATE") || self.at("USING")
    }

    fn join_condition(&mut self) -> Parse<JoinCondition> {
        if !self.at_join_condition() {
            return Ok(JoinCondition::None);
        }
        if self.accept("USING") {
            return Ok(JoinCondition::Using(self.paren_list(Self::name)?));
        }
        self.expect("ON")?;
        Ok(JoinCondition::On(self.with_slot(true, Self::expression)?))
    }

    fn table_factor(&mut self) -> Parse<TableFactor> {
        match self.kind() {
            TokenKind::LeftParen => return self.nested(Self::table_parens),
            TokenKind::LeftBrace => {
                // ODBC: { OJ a LEFT JOIN b ON ... }
                return self.nested(|parser| {
                    parser.advance();
                    parser.name()?;
                    let reference = parser.table_reference()?;
                    parser.expect_kind(TokenKind::RightBrace)?;
                    Ok(TableFactor::Nested(vec![reference]))
                });
            }
            _ => {}
        }
        match self.word() {
            "LATERAL" => {
                self.advance();
                self.expect_kind(TokenKind::LeftParen)?;
                let query = self.subquery()?;
                self.expect_kind(TokenKind::RightParen)?;
                self.derived(query, true)
            }
            "JSON_TABLE" => {
                self.advance();
                self.json_table()
            }
            _ => self.plain_table(),
        }
    }

    /// At `(` in FROM: a derived table, or table references in parentheses.
    fn table_parens(&mut self) -> Parse<TableFactor> {
        let is_query = self.is_query_next();
        let may_be_query = self.is_query_in_parens();
        self.expect_kind(TokenKind::LeftParen)?;
        if is_query {
            let query = self.subquery()?;
            self.expect_kind(TokenKind::RightParen)?;
            return self.derived(query, false);
        }
        let mut first = self.table_factor()?;
        // `((SELECT 1) UNION (SELECT 2)) AS t`, `((SELECT 1)) AS t`: what was read is a query, not a table.
        if may_be_query {
            first = match first {
                TableFactor::Derived { query, alias: None, columns, lateral: false }
                    if columns.is_empty()
                        && (self.at_query_continuation()
                            || self.at_kind(TokenKind::RightParen)) =>
                {
                    let query = self.continue_query(*query)?;
                    self.expect_kind(TokenKind::RightParen)?;
                    return self.derived(query, false);
                }
                first => first,
            };
        }
        let mut references = vec![self.joins(first)?];
        while self.accept_kind(TokenKind::Comma) {
            references.push(self.table_reference()?);
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(TableFactor::Nested(references))
    }

    /// The alias of a derived table.
    fn derived(&mut self, query: Query, lateral: bool) -> Parse<TableFactor> {
        let alias = self.table_alias()?;
        let columns = if alias.is_some() { self.optional_names()? } else { Vec::new() };
        Ok(TableFactor::Derived { query: Box::new(query), alias, columns, lateral })
    }

    fn plain_table(&mut self) -> Parse<TableFactor> {
        let name = self.object_name()?;
        let partitions = self.partitions()?;
        let alias = self.table_alias()?;
        let mut hints = Vec::new();
        while let Some(hint) = self.index_hint()? {
            hints.push(hint);
        }
        Ok(TableFactor::Table { name, alias, partitions, hints })
    }

    /// PARTITION (p, q), if it is there.
    pub fn partitions(&mut self) -> Parse<Vec<String>> {
        if !self.accept("PARTITION") {
            return Ok(Vec::new());
        }
        self.paren_list(Self::name)
    }

    /// `[AS] alias`, if it is there.
    pub fn table_alias(&mut self) -> Parse<Option<String>> {
        if self.accept("AS") {
            return Ok(Some(self.name()?));
        }
        if self.at_name() { Ok(Some(self.name()?)) } else { Ok(None) }
    }

    /// `(a, b)`, if it is there.
    pub fn optional_names(&mut self) -> Parse<Vec<String>> {
        if !self.at_kind(TokenKind::LeftParen) {
            return Ok(Vec::new());
        }
        self.paren_list(Self::name)
    }

    /// USE, IGNORE or FORCE INDEX, if it is there.
    fn index_hint(&mut self) -> Parse<Option<IndexHint>> {
        let kind = match self.word() {
            "USE" => IndexHintKind::Use,
            "IGNORE" => IndexHintKind::Ignore,
            "FORCE" => IndexHintKind::Force,
            _ => return Ok(None),
        };
        if !self.next_is("INDEX") && !self.next_is("KEY") {
            return Ok(None);
        }
        self.advance();
        self.advance();
        if self.accept("FOR") && !self.accept("JOIN") {
            self.expect_any(&["ORDER", "GROUP"])?;
            self.expect("BY")?;
        }
        self.expect_kind(TokenKind::LeftParen)?;
        let mut indexes = Vec::new();
        if !self.at_kind(TokenKind::RightParen) {
            indexes = self.list(|parser| {
                if parser.accept("PRIMARY") { Ok("PRIMARY".to_string()) } else { parser.name() }
            })?;
        }
        self.expect_kind(TokenKind::RightParen)?;
        Ok(Some(IndexHint { kind, indexes }))
    }
}

pub(super) fn plain_query(body: QueryBody) -> Query {
    Query {
        with: None,
        body,
        order_by: Vec::new(),
        limit: None,
        locking: Vec::new(),
        into_variables: Vec::new(),
        into_file: false,
    }
}

/// `first` alone, or with the operands that follow it.
fn set_operation(first: Query, rest: Vec<SetOperand>) -> Query {
    if rest.is_empty() {
        return first;
    }
    plain_query(QueryBody::SetOperation { first: Box::new(first), rest })
}
