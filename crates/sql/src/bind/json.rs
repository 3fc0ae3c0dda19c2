//! What JSON documents are made of: SQL values with the kinds that MySQL tells apart in documents, but values do not carry.
//!
//! A comparison or TRUE is an integer anywhere else and `true` in a document; the bytes of a BINARY or BLOB column keep their
//! column's type there. The binder sees both in the statement and puts [`Function::JsonScalar`] around the value.

use types::expr::{BinaryOp, EvalError, Function, JsonResponse, json_value_default};
use types::json::{Path, opaque_type};
use types::wire::Wire;
use types::{Collation, ColumnType, Expr, Value};

use super::Binder;
use super::expr::comparison_of;
use super::literal_value;
use super::names::Scope;
use crate::error::SqlError;
use crate::parser::ast;

/// Functions whose result is a truth value.
const TRUTHS: [&str; 10] = [
    "ISNULL",
    "REGEXP_LIKE",
    "IS_IPV4",
    "IS_IPV6",
    "IS_UUID",
    "JSON_VALID",
    "JSON_CONTAINS",
    "JSON_CONTAINS_PATH",
    "JSON_OVERLAPS",
    "MEMBER OF",
];

/// The code of truth values for [`Function::JsonScalar`].
const TRUTH_CODE: u8 = 1;

/// Whether an expression is one of logic, and not only a number that stands for a truth value.
fn is_truth(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Literal(ast::Literal::Bool(_))
        | ast::Expr::And(_)
        | ast::Expr::Or(_)
        | ast::Expr::Is { .. }
        | ast::Expr::Between { .. }
        | ast::Expr::InList { .. }
        | ast::Expr::InSubquery { .. }
        | ast::Expr::Exists(_)
        | ast::Expr::Quantified { .. }
        | ast::Expr::Like { .. }
        | ast::Expr::Regexp { .. } => true,
        ast::Expr::Unary { operator, .. } => *operator == ast::UnaryOperator::Not,
        ast::Expr::Binary { operator, .. } => {
            comparison_of(*operator).is_some()
                || matches!(operator, ast::BinaryOperator::Xor | ast::BinaryOperator::SoundsLike)
        }
        ast::Expr::Function { schema: None, name, .. } => TRUTHS.contains(&name.as_str()),
        _ => false,
    }
}

fn json_scalar(value: Expr, code: u8) -> Expr {
    Expr::Function(Function::JsonScalar, vec![value, Expr::Const(Value::Int(i64::from(code)))])
}

/// Whether an argument of a function becomes a value of a document, and is no document, path or name itself.
fn is_document_value(function: Function, position: usize) -> bool {
    match function {
        Function::JsonArray => true,
        Function::JsonObject => !position.is_multiple_of(2),
        Function::JsonArrayAppend
        | Function::JsonArrayInsert
        | Function::JsonInsert
        | Function::JsonReplace
        | Function::JsonSet => 2 <= position && position.is_multiple_of(2),
        Function::MemberOf => position == 0,
        _ => false,
    }
}

impl Binder<'_> {
    /// A bound operand as a document takes it.
    pub fn document_value(&mut self, written: &ast::Expr, bound: Expr, scope: &Scope<'_>) -> Expr {
        if is_truth(written) {
            return json_scalar(bound, TRUTH_CODE);
        }
        if !matches!(bound, Expr::Column(_)) {
            return bound;
        }
        match self.type_of(&bound, &scope.result_types()).column_type {
            Some(ColumnType::Binary { .. }) => json_scalar(bound, opaque_type::STRING),
            Some(ColumnType::Blob { .. }) => json_scalar(bound, opaque_type::BLOB),
            Some(ColumnType::Bit { .. }) => {
                let mut bytes = bound;
                self.as_text(&mut bytes, scope);
                json_scalar(bytes, opaque_type::BIT)
            }
            _ => bound,
        }
    }

    /// The arguments of a function of JSON, those that become values of a document as it takes them.
    pub fn document_arguments(
        &mut self,
        function: Function,
        written: &[ast::Expr],
        mut bound: Vec<Expr>,
        scope: &Scope<'_>,
    ) -> Vec<Expr> {
        for (position, (written, own)) in written.iter().zip(&mut bound).enumerate() {
            if is_document_value(function, position) {
                let value = std::mem::replace(own, Expr::Const(Value::Null));
                *own = self.document_value(written, value, scope);
            }
        }
        bound
    }

    /// The argument of JSON_ARRAYAGG and JSON_OBJECTAGG: a document of one row.
    pub fn row_document(
        &mut self,
        name: &str,
        written: &[ast::Expr],
        scope: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        let (function, count) = match name {
            "JSON_ARRAYAGG" => (Function::JsonArray, 1),
            _ => (Function::JsonObject, 2),
        };
        if written.len() != count {
            return Err(SqlError::wrong_param_count(name));
        }
        let bound = self.exprs(written, scope)?;
        let bound = self.document_arguments(function, written, bound, scope);
        self.settle(Expr::Function(function, bound), scope)
    }

    pub fn json_value(
        &mut self,
        call: &ast::JsonValueCall,
        scope: &Scope<'_>,
    ) -> Result<Expr, SqlError> {
        let document = self.expr(&call.document, scope)?;
        let path = String::from_utf8_lossy(&call.path).into_owned();
        Path::parse(&path).map_err(SqlError::json_path)?;
        let target = self.returned_type(&call.returning)?;
        let mut arguments = vec![
            document,
            Expr::Const(Value::text(&path, Collation::Utf8mb4Bin)),
            Expr::Const(Value::bytes(&target.to_bytes())),
        ];
        for response in [&call.on_empty, &call.on_error] {
            let (response, default) = self.response(response.as_ref(), &target, scope)?;
            arguments.push(Expr::Const(Value::Int(response.number())));
            arguments.push(Expr::Const(default));
        }
        Ok(Expr::Function(Function::JsonValue, arguments))
    }

    /// A type behind RETURNING. Characters without a character set are those of a document, which differ by their bytes.
    fn returned_type(&mut self, written: &ast::CastType) -> Result<ColumnType, SqlError> {
        let own = self.cast_type(written)?;
        let has_charset = matches!(written, ast::CastType::Char { charset: Some(_), .. });
        Ok(match own {
            ColumnType::Binary { length } => ColumnType::Varbinary { length },
            own if own.is_string() && !has_charset => own.with_collation(Collation::Utf8mb40900Bin),
            own => own,
        })
    }

    fn response(
        &mut self,
        written: Option<&ast::JsonResponse>,
        target: &ColumnType,
        scope: &Scope<'_>,
    ) -> Result<(JsonResponse, Value), SqlError> {
        Ok(match written {
            None | Some(ast::JsonResponse::Null) => (JsonResponse::Null, Value::Null),
            Some(ast::JsonResponse::Error) => (JsonResponse::Error, Value::Null),
            Some(ast::JsonResponse::Default(literal)) => {
                let value = match (literal, self.expr(literal, scope)?) {
                    (_, Expr::Const(value)) => value,
                    (ast::Expr::Literal(literal), _) => literal_value(literal, &self.environment)?,
                    _ => return Err(SqlError::wrong_arguments("DEFAULT")),
                };
                let failed = |error: EvalError| SqlError::new(error.code(), error.message());
                let default = json_value_default(&value, target).map_err(failed)?;
                (JsonResponse::Default, default)
            }
        })
    }

    pub fn is_document(&mut self, expr: &Expr, scope: &Scope<'_>) -> bool {
        self.type_of(expr, &scope.result_types()).column_type == Some(ColumnType::Json)
    }

    /// Documents among the operands of what reads texts: their texts.
    pub fn documents_as_texts(&mut self, operands: &mut [Expr], scope: &Scope<'_>) {
        for operand in operands {
            if self.is_document(operand, scope) {
                self.as_text(operand, scope);
            }
        }
    }

    /// Two operands that are compared: a truth value that meets a document is one in the document.
    pub fn truths_as_documents(
        &mut self,
        written: [&ast::Expr; 2],
        bound: [Expr; 2],
        scope: &Scope<'_>,
    ) -> [Expr; 2] {
        let are_truths = written.map(is_truth);
        let [left, right] = bound;
        if are_truths == [true, false] && self.is_document(&right, scope) {
            [json_scalar(left, TRUTH_CODE), right]
        } else if are_truths == [false, true] && self.is_document(&left, scope) {
            [left, json_scalar(right, TRUTH_CODE)]
        } else {
            [left, right]
        }
    }
}

/// Whether an operator compares, so that a truth value meets a document in it.
pub fn compares(operator: ast::BinaryOperator) -> bool {
    let comparison: Option<BinaryOp> = comparison_of(operator);
    comparison.is_some()
}
