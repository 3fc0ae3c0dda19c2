//! FROM: relations, and how they are joined.
//!
//! Each relation of the clause gets the next numbers for its columns. A name in ON means a column of the join's own two
//! sides. USING and NATURAL compare the columns of the same name, and list them once: first, as the left side has them (a
//! right join: as the right side has them).

use std::rc::Rc;
use std::sync::Arc;

use types::expr::BinaryOp;
use types::{ColumnType, Expr, Table, ViewDefinition};

use super::merge::Merged;
use super::names::{Relations, Scope, ScopeColumn, ScopeTable};
use super::select::Selected;
use super::{Binder, rewrite};
use crate::error::{SqlError, code};
use crate::information_schema::{self, VirtualTable};
use crate::parser::ast;
use crate::plan::{Bound, JoinKind, OuterValue, SelectPlan, Slot};
use crate::result::ColumnInfo;

/// Tables of one join, as in MySQL.
pub const RELATION_COUNT_MAX: usize = 61;
/// Columns of one query's relations.
const COLUMN_COUNT_MAX: usize = 60_000;

/// A FROM clause.
#[derive(Default)]
pub struct From {
    pub relations: Relations,
    /// By relation.
    pub sources: Vec<RelationSource>,
    /// None without a relation.
    pub tree: Option<FromTree>,
    /// SELECT STRAIGHT_JOIN.
    pub straight: bool,
    /// By relation, where queries were merged: the relation that was written.
    pub origins: Option<Vec<usize>>,
}

pub enum RelationSource {
    Table {
        table: Arc<Table>,
        hints: Vec<ast::IndexHint>,
    },
    Virtual(VirtualTable),
    /// A query, and the columns of relations before it that it names.
    Query {
        plan: Box<SelectPlan>,
        outer: Vec<OuterValue>,
        keep: Option<u16>,
    },
    /// One whose relations may take its place.
    Merged(Box<Merged>),
    /// A table of WITH RECURSIVE.
    Recursive {
        seed: Box<SelectPlan>,
        steps: Vec<SelectPlan>,
        distinct: bool,
        number: u16,
        columns: Vec<ColumnInfo>,
    },
    /// Its own name inside of it: the rows of the last round.
    Working {
        number: u16,
    },
}

pub enum FromTree {
    Relation(usize),
    Join(Box<FromJoin>),
}

pub struct FromJoin {
    pub kind: JoinKind,
    /// STRAIGHT_JOIN: the left side is read first.
    pub straight: bool,
    pub left: FromTree,
    pub right: FromTree,
    /// The terms of ON.
    pub on: Vec<Bound>,
}

impl FromTree {
    pub fn relations(&self, into: &mut Vec<usize>) {
        match self {
            FromTree::Relation(relation) => into.push(*relation),
            FromTree::Join(join) => {
                join.left.relations(into);
                join.right.relations(into);
            }
        }
    }
}

/// The relation that a query in FROM is.
pub fn relation_of(selected: Selected) -> RelationSource {
    match selected {
        Selected::Plan(plan) => RelationSource::Query { plan, outer: Vec::new(), keep: None },
        Selected::Merged(merged) => RelationSource::Merged(merged),
    }
}

impl RelationSource {
    /// The statement keeps the rows of the query here.
    pub fn set_keep(&mut self, number: u16) {
        match self {
            RelationSource::Query { keep, .. } => *keep = Some(number),
            RelationSource::Merged(merged) => merged.keep = Some(number),
            _ => {}
        }
    }
    /// Of a query.
    pub fn columns(&self) -> &[ColumnInfo] {
        match self {
            RelationSource::Query { plan, .. } => &plan.columns,
            RelationSource::Merged(merged) => &merged.columns,
            RelationSource::Recursive { columns, .. } => columns,
            RelationSource::Table { .. }
            | RelationSource::Virtual(_)
            | RelationSource::Working { .. } => &[],
        }
    }
}

impl From {
    /// The terms of ON of inner joins that no outer join is around.
    pub fn inner_terms(&self) -> Vec<&Expr> {
        fn collect<'t>(tree: &'t FromTree, terms: &mut Vec<&'t Expr>) {
            let FromTree::Join(join) = tree else { return };
            collect(&join.left, terms);
            if join.kind == JoinKind::Inner {
                collect(&join.right, terms);
                terms.extend(join.on.iter().map(|term| &term.expr));
            }
        }
        let mut terms = Vec::new();
        self.tree.iter().for_each(|tree| collect(tree, &mut terms));
        terms
    }
    /// The terms of ON of outer joins, each with the relations of the inner side.
    pub fn outer_terms(&self) -> Vec<(&Expr, Vec<usize>)> {
        fn collect<'t>(tree: &'t FromTree, terms: &mut Vec<(&'t Expr, Vec<usize>)>) {
            let FromTree::Join(join) = tree else { return };
            collect(&join.left, terms);
            collect(&join.right, terms);
            if join.kind == JoinKind::Left {
                let mut inner = Vec::new();
                join.right.relations(&mut inner);
                terms.extend(join.on.iter().map(|term| (&term.expr, inner.clone())));
            }
        }
        let mut terms = Vec::new();
        self.tree.iter().for_each(|tree| collect(tree, &mut terms));
        terms
    }
}

/// A part of the tree, and the columns that it lists.
struct Part {
    tree: FromTree,
    listed: Vec<usize>,
}

impl Binder<'_> {
    pub fn from(&mut self, references: &[ast::TableReference]) -> Result<From, SqlError> {
        let mut from = From::default();
        if let Some(part) = self.references(references, &mut from)? {
            from.relations.named = 0..from.relations.tables.len();
            from.relations.listed = part.listed;
            from.tree = Some(part.tree);
        }
        Ok(from)
    }

    /// `a, b JOIN c`: a comma joins the references around it.
    fn references(
        &mut self,
        references: &[ast::TableReference],
        from: &mut From,
    ) -> Result<Option<Part>, SqlError> {
        let before = from.relations.listed.clone();
        let mut all: Option<Part> = None;
        for reference in references {
            if let Some(left) = &all {
                from.relations.listed = [before.as_slice(), &left.listed].concat();
            }
            let part = self.reference(reference, from)?;
            all = Some(match all {
                None => part,
                Some(left) => {
                    let listed = [left.listed, part.listed].concat();
                    let join = FromJoin {
                        kind: JoinKind::Inner,
                        straight: false,
                        left: left.tree,
                        right: part.tree,
                        on: Vec::new(),
                    };
                    Part { tree: FromTree::Join(Box::new(join)), listed }
                }
            });
        }
        Ok(all)
    }

    fn reference(
        &mut self,
        reference: &ast::TableReference,
        from: &mut From,
    ) -> Result<Part, SqlError> {
        let first = from.relations.tables.len();
        let before = from.relations.listed.clone();
        let mut left = self.factor(&reference.first, from)?;
        for join in &reference.joins {
            // LATERAL and JSON_TABLE may name what stands before them.
            from.relations.listed = [before.as_slice(), &left.listed].concat();
            let right_first = from.relations.tables.len();
            let right = self.factor(&join.factor, from)?;
            let is_right = join.kind == ast::JoinKind::Right;
            let on = self.join_condition(join, &left.listed, &right.listed, first, from)?;
            let listed = match &on {
                JoinOn::Terms(_) => [left.listed, right.listed].concat(),
                JoinOn::Common(common, _) => {
                    let is_common = |column: &usize| {
                        common.iter().any(|(left, right)| left == column || right == column)
                    };
                    let first =
                        common.iter().map(|(left, right)| if is_right { right } else { left });
                    let (outer, inner) = match is_right {
                        true => (&right.listed, &left.listed),
                        false => (&left.listed, &right.listed),
                    };
                    let rest = outer.iter().chain(inner);
                    first.chain(rest.filter(|column| !is_common(column))).copied().collect()
                }
            };
            let (JoinOn::Terms(on) | JoinOn::Common(_, on)) = on;
            let kind = match join.kind {
                ast::JoinKind::Inner | ast::JoinKind::Straight => JoinKind::Inner,
                ast::JoinKind::Left => {
                    from.relations.make_nullable(right_first..from.relations.tables.len());
                    JoinKind::Left
                }
                ast::JoinKind::Right => {
                    from.relations.make_nullable(first..right_first);
                    JoinKind::Left
                }
            };
            let (outer, inner) =
                if is_right { (right.tree, left.tree) } else { (left.tree, right.tree) };
            let straight = join.kind == ast::JoinKind::Straight;
            let tree = FromJoin { kind, straight, left: outer, right: inner, on };
            left = Part { tree: FromTree::Join(Box::new(tree)), listed };
        }
        Ok(left)
    }

    fn factor(&mut self, factor: &ast::TableFactor, from: &mut From) -> Result<Part, SqlError> {
        let relation = match factor {
            ast::TableFactor::Nested(inner) => {
                return Ok(self.references(inner, from)?.expect("the parser wants one"));
            }
            ast::TableFactor::JsonTable(table) => {
                let (source, scope) = self.json_table(table, &from.relations)?;
                add(from, source, scope)?
            }
            ast::TableFactor::Table { name, alias, partitions, hints } => {
                if !partitions.is_empty() {
                    return Err(SqlError::not_supported("PARTITION"));
                }
                let (source, scope) = self.named_relation(name, alias.as_deref(), hints)?;
                add(from, source, scope)?
            }
            ast::TableFactor::Derived { query, alias, columns, lateral } => {
                let alias = alias.as_deref().ok_or_else(|| {
                    let message = "Every derived table must have its own alias";
                    SqlError::new(code::ER_DERIVED_MUST_HAVE_ALIAS, message)
                })?;
                // Its rows are read before the first change.
                let changes = std::mem::take(&mut self.changes);
                let lowest = std::mem::replace(&mut self.lowest_outer, usize::MAX);
                let bound = match lateral {
                    true => self.lateral(query, &from.relations).map(|(plan, outer)| {
                        RelationSource::Query { plan: Box::new(plan), outer, keep: None }
                    }),
                    false => {
                        let merges =
                            changes.is_empty() && self.environment.optimizer_switch.derived_merge;
                        self.query_or_merged(query, merges).map(relation_of)
                    }
                };
                let is_independent = self.outer.len() <= self.lowest_outer && !lateral;
                self.lowest_outer = self.lowest_outer.min(lowest);
                self.changes = changes;
                let mut source = bound?;
                if is_independent && self.is_subquery() {
                    source.set_keep(self.new_kept());
                }
                let scope = derived_scope(alias, columns, source.columns())?;
                add(from, source, scope)?
            }
        };
        let listed = from.relations.tables[relation].visible().collect();
        Ok(Part { tree: FromTree::Relation(relation), listed })
    }

    /// What a name in FROM means.
    fn named_relation(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&str>,
        hints: &[ast::IndexHint],
    ) -> Result<(RelationSource, ScopeTable), SqlError> {
        if let Some(common) = self.common_table(name, alias)? {
            return Ok(common);
        }
        let schema = name.schema.as_deref().or(self.environment.database.as_deref());
        if let Some(schema) = schema.and_then(information_schema::schema_named) {
            let table = VirtualTable::find(schema, &name.name)?;
            self.note_table(name, schema);
            return Ok((RelationSource::Virtual(table), table.scope(alias)));
        }
        self.refuse_temporary(schema, &name.name)?;
        if let Some(view) = schema.and_then(|schema| self.view_named(schema, &name.name)) {
            self.note_table(name, &view.database);
            self.check_locked(&view.database, alias.unwrap_or(&view.name), false)?;
            return self.view(&view, alias);
        }
        let table = self.table(name)?;
        self.note_table(name, &table.database);
        if !table.id.is_temporary() {
            self.check_locked(&table.database, alias.unwrap_or(&table.name), false)?;
        }
        let scope = ScopeTable::of(&table, alias);
        Ok((RelationSource::Table { table, hints: hints.to_vec() }, scope))
    }

    /// 1352 for a temporary table in the definition of a view.
    fn refuse_temporary(&self, schema: Option<&str>, name: &str) -> Result<(), SqlError> {
        let is_temporary =
            schema.is_some_and(|schema| self.catalogue.temporary_table(schema, name).is_some());
        if self.resolved.is_none() || !is_temporary {
            return Ok(());
        }
        Err(SqlError::new(
            code::ER_VIEW_SELECT_TMPTABLE,
            format!("View's SELECT refers to a temporary table '{name}'"),
        ))
    }

    /// A view by its name: in another view whatever temporary tables there are.
    fn view_named(&self, schema: &str, name: &str) -> Option<Arc<ViewDefinition>> {
        let view = match self.views.is_empty() {
            true => self.catalogue.view(schema, name),
            false => self.catalogue.base_view(schema, name),
        };
        view.map(Arc::clone)
    }

    /// As [`super::SessionValues::check_locked`]; what a view reads comes with the view.
    pub fn check_locked(&self, database: &str, name: &str, writes: bool) -> Result<(), SqlError> {
        match self.views.is_empty() {
            true => self.session.check_locked(database, name, writes),
            false => Ok(()),
        }
    }

    fn join_condition(
        &mut self,
        join: &ast::Join,
        left: &[usize],
        right: &[usize],
        first: usize,
        from: &From,
    ) -> Result<JoinOn, SqlError> {
        let relations = || Relations {
            tables: from.relations.tables.clone(),
            named: first..from.relations.tables.len(),
            listed: [left, right].concat(),
        };
        let name_of = |column: &usize| from.relations.column(*column).name.clone();
        let names: Vec<String> = match &join.condition {
            ast::JoinCondition::None => return Ok(JoinOn::Terms(Vec::new())),
            ast::JoinCondition::On(condition) => {
                let relations = relations();
                let bound = self.bound(condition, &Scope::of(&relations, "on clause"))?;
                return Ok(JoinOn::Terms(self.terms(bound)));
            }
            ast::JoinCondition::Using(names) => names.clone(),
            ast::JoinCondition::Natural => {
                let right: Vec<String> = right.iter().map(name_of).collect();
                let is_common =
                    |name: &String| right.iter().any(|own| own.eq_ignore_ascii_case(name));
                left.iter().map(name_of).filter(is_common).collect()
            }
        };
        let find = |name: &str, columns: &[usize]| {
            let mut found =
                columns.iter().filter(|column| name_of(column).eq_ignore_ascii_case(name));
            match (found.next(), found.next()) {
                (Some(_), Some(_)) => Err(SqlError::ambiguous_column(name, "from clause")),
                (Some(column), None) => Ok(*column),
                (None, _) => Err(SqlError::unknown_column(name, "from clause")),
            }
        };
        let relations = relations();
        let scope = Scope::of(&relations, "from clause");
        let (mut common, mut terms) = (Vec::new(), Vec::new());
        for name in &names {
            let pair = (find(name, left)?, find(name, right)?);
            let [left, right] =
                [pair.0, pair.1].map(|column| self.column_value(column, &relations));
            terms.push(Bound::pure(self.compared(BinaryOp::Equal, left, right, &scope)?));
            common.push(pair);
        }
        // Listed in the order of the outer side.
        match join.kind {
            ast::JoinKind::Right => {
                common.sort_by_key(|(_, own)| right.iter().position(|column| column == own));
            }
            _ => common.sort_by_key(|(own, _)| left.iter().position(|column| column == own)),
        }
        Ok(JoinOn::Common(common, terms))
    }

    /// The AND terms of an expression, each with the slots that it needs for each row.
    pub fn terms(&self, bound: Bound) -> Vec<Bound> {
        let Bound { expr, slots } = bound;
        if slots.is_empty() {
            return rewrite::and_terms(expr).into_iter().map(Bound::pure).collect();
        }
        let first_slot = self.param_kinds.len();
        rewrite::and_terms(expr)
            .into_iter()
            .map(|expr| {
                let mut used = vec![false; slots.len()];
                let mut pending: Vec<u16> = Vec::new();
                rewrite::for_each_param(&expr, &mut |number| pending.push(number));
                while let Some(number) = pending.pop() {
                    let Some(slot) = usize::from(number).checked_sub(first_slot) else { continue };
                    let own = self.slot_owner(slot);
                    let Some(position) = slots.iter().position(|slot| usize::from(*slot) == own)
                    else {
                        continue;
                    };
                    if !std::mem::replace(&mut used[position], true) {
                        self.slots[own].for_each_expr(&mut |inner| {
                            rewrite::for_each_param(inner, &mut |number| pending.push(number));
                        });
                    }
                }
                let slots = slots.iter().zip(used).filter(|(_, used)| *used).map(|(slot, _)| *slot);
                Bound { expr, slots: slots.collect() }
            })
            .collect()
    }

    /// The slot that supplies this one: a subquery supplies those of its further columns.
    pub fn slot_owner(&self, slot: usize) -> usize {
        let is_owner =
            |slot: &usize| !matches!(self.slots[*slot], crate::plan::Slot::SubqueryColumn);
        (0..=slot).rev().find(is_owner).unwrap_or(slot)
    }
}

enum JoinOn {
    Terms(Vec<Bound>),
    /// USING, NATURAL: pairs of columns, and the terms that compare them.
    Common(Vec<(usize, usize)>, Vec<Bound>),
}

/// 1066 for a name that another relation has.
fn add(from: &mut From, source: RelationSource, scope: ScopeTable) -> Result<usize, SqlError> {
    let is_taken = |other: &Rc<ScopeTable>| {
        other.alias == scope.alias && other.database.eq_ignore_ascii_case(&scope.database)
    };
    if from.relations.tables.iter().any(is_taken) {
        return Err(SqlError::not_unique_table(&scope.alias));
    }
    if from.sources.len() == RELATION_COUNT_MAX {
        return Err(SqlError::new(
            code::ER_TOO_MANY_TABLES,
            format!("Too many tables; MySQL can only use {RELATION_COUNT_MAX} tables in a join"),
        ));
    }
    if COLUMN_COUNT_MAX < from.relations.column_count() + scope.columns.len() {
        return Err(SqlError::new(code::ER_TOO_MANY_FIELDS, "Too many columns"));
    }
    from.sources.push(source);
    Ok(from.relations.add(scope))
}

/// The columns of a query in FROM, under its alias: its own names, or those written behind the alias.
pub fn derived_scope(
    alias: &str,
    names: &[String],
    columns: &[ColumnInfo],
) -> Result<ScopeTable, SqlError> {
    if !names.is_empty() && names.len() != columns.len() {
        return Err(SqlError::new(
            code::ER_VIEW_WRONG_LIST,
            "In definition of view, derived table or common table expression, SELECT list and \
             column names list have different column counts",
        ));
    }
    let mut scope = ScopeTable {
        database: String::new(),
        alias: alias.to_string(),
        columns: Vec::with_capacity(columns.len()),
        row_id: None,
        first: 0,
        table: None,
    };
    for (position, info) in columns.iter().enumerate() {
        let name = names.get(position).unwrap_or(&info.name).clone();
        if scope.columns.iter().any(|other| other.name.eq_ignore_ascii_case(&name)) {
            let message = format!("Duplicate column name '{name}'");
            return Err(SqlError::new(code::ER_DUP_FIELDNAME, message));
        }
        let column_type = match &info.column_type {
            // Its values are in the session's time zone.
            ColumnType::Timestamp { fsp } => ColumnType::DateTime { fsp: *fsp },
            other => other.of_column(),
        };
        scope.columns.push(ScopeColumn {
            name,
            column_type,
            display: info.display,
            nullable: info.nullable,
            hidden: false,
            coercibility: info.coercibility,
        });
    }
    Ok(scope)
}

/// The columns of a query that only the binder names, by number.
pub fn derived_scope_unnamed(columns: &[ColumnInfo]) -> ScopeTable {
    let names: Vec<String> = (0..columns.len()).map(|number| number.to_string()).collect();
    derived_scope("", &names, columns).expect("the names are as many, and all different")
}

/// Terms in the order in which they are evaluated: those without a subquery first, then those of which the statement keeps a
/// set.
pub fn ordered(mut terms: Vec<Bound>, slots: &[Slot]) -> Vec<Bound> {
    let work = |term: &Bound| {
        let of_slot = |slot: &u16| match &slots[usize::from(*slot)] {
            Slot::Subquery(subquery) if subquery.set.is_none() => 2,
            _ => 1,
        };
        term.slots.iter().map(of_slot).max().unwrap_or(0)
    };
    terms.sort_by_key(work);
    terms
}

/// The AND of terms with their slots.
pub fn bound_of(terms: Vec<Bound>) -> Option<Bound> {
    let mut slots = Vec::new();
    let mut exprs = Vec::with_capacity(terms.len());
    for term in terms {
        slots.extend(
            term.slots.into_iter().filter(|slot| !slots.contains(slot)).collect::<Vec<_>>(),
        );
        exprs.push(term.expr);
    }
    slots.sort_unstable();
    rewrite::and_of(exprs).map(|expr| Bound { expr, slots })
}
