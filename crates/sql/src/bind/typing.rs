//! Types and collations of bound expressions: what the binder knows of columns, parameters and the
//! session, for [`types::expr::settle_node`].

use types::charset::names;
use types::expr::{
    AggregateFunction, Coercibility, CollationMix, Derivation, Function, ResultType, Typing,
    result_type, settle_node,
};
use types::{Collation, ColumnType, Expr};

use super::names::Scope;
use super::{Binder, rewrite};
use crate::error::SqlError;
use crate::parser::ast;
use crate::plan::Slot;

/// Functions whose text is the server's: stronger than a literal, weaker than a column.
const SYSTEM_CONSTANTS: [&str; 6] =
    ["USER", "CURRENT_USER", "VERSION", "DATABASE", "CURRENT_ROLE", "SCHEMA"];

impl Binder<'_> {
    /// The type of a bound expression; notes that the plan depends on the kinds of parameters if it
    /// does.
    pub fn type_of(&mut self, expr: &Expr, columns: &[ResultType]) -> ResultType {
        self.note_params(expr);
        result_type(expr, columns, &self.param_types)
    }

    fn note_params(&mut self, expr: &Expr) {
        let statement_params = self.param_kinds.len();
        let mut uses = false;
        rewrite::for_each_param(expr, &mut |number| {
            uses |= usize::from(number) < statement_params;
        });
        self.kinds_matter |= uses;
    }

    /// The expression, whose operands are settled, with types and collations of its operands made
    /// those it says.
    pub fn settle(&mut self, mut expr: Expr, scope: &Scope<'_>) -> Result<Expr, SqlError> {
        match &expr {
            Expr::Const(_) | Expr::Column(_) | Expr::Param(_) => return Ok(expr),
            // Which type the branches have in common depends on those of parameters.
            Expr::Case { .. }
            | Expr::Function(
                Function::If
                | Function::IfNull
                | Function::Coalesce
                | Function::Greatest
                | Function::Least
                | Function::Elt,
                _,
            ) => self.note_params(&expr),
            _ => {}
        }
        let columns = scope.result_types();
        let coercibilities = self.coercibilities(scope, &columns);
        self.note_texts(&expr, &columns, &coercibilities);
        settle_node(&mut expr, &self.typing(&columns, &coercibilities)).map_err(illegal_mix)?;
        Ok(expr)
    }

    /// Where texts of several character sets meet, it depends on the characters of a parameter
    /// whether they mix: a plan that was made for ASCII holds for that, and one that was made for
    /// other characters for nothing else.
    fn note_texts(&mut self, expr: &Expr, columns: &[ResultType], coercibilities: &[Coercibility]) {
        let typing = self.typing(columns, coercibilities);
        let mut charsets = Vec::new();
        rewrite::for_each_child(expr, &mut |child| {
            if let Some(collation) = typing.derivation(child).collation
                && !collation.is_binary()
                && !charsets.contains(&collation.charset())
            {
                charsets.push(collation.charset());
            }
        });
        if charsets.len() < 2 {
            return;
        }
        let mut params = Vec::new();
        rewrite::for_each_param(expr, &mut |number| {
            if usize::from(number) < self.param_kinds.len() && !self.ascii_params.contains(&number)
            {
                params.push(number);
            }
        });
        for number in params {
            if self.param_derivations[usize::from(number)].is_ascii {
                self.ascii_params.push(number);
            } else {
                self.reusable = false;
            }
        }
    }

    fn typing<'t>(
        &'t self,
        columns: &'t [ResultType],
        column_coercibilities: &'t [Coercibility],
    ) -> Typing<'t> {
        Typing {
            columns,
            column_coercibilities,
            params: &self.param_types,
            param_derivations: &self.param_derivations,
            param_values: self.values,
            connection: self.environment.collation,
        }
    }

    /// How strongly columns and aggregates hold to their collations: an aggregate as its argument
    /// does.
    fn coercibilities(&self, scope: &Scope<'_>, columns: &[ResultType]) -> Vec<Coercibility> {
        let of_columns = scope.relations.coercibilities();
        let Some(groups) = scope.groups else { return of_columns };
        let groups = groups.borrow();
        let plain = self.typing(columns, &of_columns);
        let of_aggregate = |function: &AggregateFunction, argument: &Option<Expr>| {
            let keeps = matches!(
                function,
                AggregateFunction::Min
                    | AggregateFunction::Max
                    | AggregateFunction::AnyValue
                    | AggregateFunction::GroupConcat { .. }
            );
            match argument {
                Some(argument) if keeps => plain.derivation(argument).coercibility,
                _ => Coercibility::Implicit,
            }
        };
        let mut all = of_columns.clone();
        all.resize(groups.base + groups.group_count, Coercibility::Implicit);
        let aggregates = groups.aggregates.iter();
        all.extend(aggregates.map(|own| of_aggregate(&own.function, &own.argument)));
        all
    }

    /// The collation of a bound expression, and how strongly it holds to it.
    pub fn derivation(&mut self, expr: &Expr, scope: &Scope<'_>) -> Derivation {
        let columns = scope.result_types();
        if let Expr::Param(number) = expr
            && usize::from(*number) < self.param_kinds.len()
        {
            let own = self.type_of(expr, &columns);
            let is_ascii = self.param_derivations[usize::from(*number)].is_ascii;
            let own = Derivation::of_type(own.column_type.as_ref(), Coercibility::Coercible);
            return Derivation { is_ascii, ..own };
        }
        let coercibilities = self.coercibilities(scope, &columns);
        self.typing(&columns, &coercibilities).derivation(expr)
    }

    /// COERCIBILITY(operand).
    pub fn coercibility(
        &mut self,
        operand: &ast::Expr,
        bound: &Expr,
        scope: &Scope<'_>,
    ) -> Coercibility {
        match operand {
            ast::Expr::SystemVariable { .. } => Coercibility::SystemConstant,
            ast::Expr::Function { name, .. } if SYSTEM_CONSTANTS.contains(&name.as_str()) => {
                Coercibility::SystemConstant
            }
            _ => self.derivation(bound, scope).coercibility,
        }
    }

    /// `operand COLLATE name`; 1253 where the operand is of another character set than the
    /// collation.
    pub fn collate(
        &mut self,
        bound: Expr,
        name: &str,
        scope: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        let asked =
            names::charset_of_collation(name).ok_or_else(|| SqlError::unknown_collation(name))?;
        // A number is a text of the connection.
        let own = self.derivation(&bound, scope).collation.unwrap_or(self.environment.collation);
        if asked != own.charset_name() {
            return Err(SqlError::collation_mismatch(name, own.charset_name()));
        }
        let collation =
            Collation::by_name(name).ok_or_else(|| SqlError::unknown_collation(name))?;
        self.warn_of_collation(name);
        Ok(Expr::Collate(Box::new(bound), collation))
    }

    /// What is to be read as text: times keep the digits of fractional seconds they are declared
    /// with.
    pub fn as_text(&mut self, operand: &mut Expr, scope: &Scope<'_>) {
        let own = self.type_of(operand, &scope.result_types());
        types::expr::as_text(operand, &own);
    }

    /// HEX of a time is that of its text, and of a number that of the number.
    pub fn shows_times(
        &mut self,
        function: Function,
        operands: &[Expr],
        scope: &Scope<'_>,
    ) -> bool {
        let columns = scope.result_types();
        let is_time = |own: ResultType| own.column_type.is_some_and(|own| own.is_temporal());
        function == Function::Hex && operands.iter().any(|own| is_time(self.type_of(own, &columns)))
    }

    pub fn as_texts(&mut self, operands: &mut [Expr], scope: &Scope<'_>) {
        for operand in operands {
            self.as_text(operand, scope);
        }
    }
}

fn illegal_mix(mix: CollationMix) -> SqlError {
    SqlError::new(mix.code(), mix.message())
}

/// Of a slot of the type: a column's value or a variable's is implicit, what a function makes gives
/// way.
pub fn slot_derivation(slot: &Slot, column_type: Option<&ColumnType>) -> Derivation {
    let coercibility = match slot {
        Slot::UserVariable(_) | Slot::Assign { .. } | Slot::NewValue { .. } | Slot::Subquery(_) => {
            Coercibility::Implicit
        }
        _ => Coercibility::Coercible,
    };
    Derivation::of_type(column_type, coercibility)
}
