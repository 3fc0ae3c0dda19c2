//! A walk over expressions.

use super::{Expr, JsonResponse};

impl Expr {
    /// Calls `visit` for the direct operands, from left to right. Queries inside of an expression are not walked.
    pub fn for_each_child_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        match self {
            Expr::Literal(_)
            | Expr::Param(_)
            | Expr::BoundColumn(_)
            | Expr::Column(_)
            | Expr::UserVariable(_)
            | Expr::SystemVariable { .. }
            | Expr::Unit(_)
            | Expr::Exists(_)
            | Expr::Subquery(_)
            | Expr::Values(_)
            | Expr::Default(_)
            | Expr::Unsupported { .. }
            | Expr::SpacedCall { .. } => {}
            Expr::Assign { value: operand, .. }
            | Expr::Unary { operand, .. }
            | Expr::Is { operand, .. }
            | Expr::InSubquery { operand, .. }
            | Expr::Quantified { left: operand, .. }
            | Expr::Cast { operand, .. }
            | Expr::ConvertUsing { operand, .. }
            | Expr::Collate { operand, .. }
            | Expr::Interval { value: operand, .. } => visit(operand),
            Expr::And(operands)
            | Expr::Or(operands)
            | Expr::Row(operands)
            | Expr::Function { arguments: operands, .. } => operands.iter_mut().for_each(visit),
            Expr::Binary { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Expr::Between { operand, low, high, .. } => {
                visit(operand);
                visit(low);
                visit(high);
            }
            Expr::InList { operand, list, .. } => {
                visit(operand);
                list.iter_mut().for_each(visit);
            }
            Expr::Like { operand, pattern, escape, .. } => {
                visit(operand);
                visit(pattern);
                escape.iter_mut().for_each(|escape| visit(escape));
            }
            Expr::Regexp { operand, pattern, .. } => {
                visit(operand);
                visit(pattern);
            }
            Expr::Case { operand, branches, otherwise } => {
                operand.iter_mut().for_each(|operand| visit(operand));
                for (condition, value) in branches {
                    visit(condition);
                    visit(value);
                }
                otherwise.iter_mut().for_each(|otherwise| visit(otherwise));
            }
            Expr::Aggregate { arguments, order_by, .. } => {
                arguments.iter_mut().for_each(&mut *visit);
                order_by.iter_mut().for_each(|item| visit(&mut item.expr));
            }
            Expr::Window(call) => visit(&mut call.function),
            Expr::JsonValue(call) => {
                visit(&mut call.document);
                for response in [&mut call.on_empty, &mut call.on_error].into_iter().flatten() {
                    if let JsonResponse::Default(value) = response {
                        visit(value);
                    }
                }
            }
            Expr::Trim { remove, operand, .. } => {
                remove.iter_mut().for_each(|remove| visit(remove));
                visit(operand);
            }
        }
    }
}
