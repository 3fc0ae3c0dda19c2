//! JSON_VALUE and MEMBER OF as text.

use super::*;

impl Printer<'_> {
    pub(super) fn member_of(&mut self, value: &Expr, array: &Expr) {
        self.push("(");
        self.expr(value);
        self.push(" member of (");
        self.expr(array);
        self.push("))");
    }

    pub(super) fn json_value(&mut self, call: &JsonValueCall) {
        self.push("json_value(");
        self.expr(&call.document);
        self.push(",");
        self.literal(&Literal::String(call.path.clone()));
        self.push(" returning ");
        self.cast_type(&call.returning);
        self.json_response(call.on_empty.as_ref(), " on empty");
        self.json_response(call.on_error.as_ref(), " on error");
        self.push(")");
    }

    fn json_response(&mut self, response: Option<&JsonResponse>, event: &str) {
        match response {
            None => return,
            Some(JsonResponse::Null) => self.push(" null"),
            Some(JsonResponse::Error) => self.push(" error"),
            Some(JsonResponse::Default(value)) => {
                self.push(" default ");
                self.expr(value);
            }
        }
        self.push(event);
    }
}
