//! Window functions and windows as text.

use super::super::ast::*;
use super::Printer;

impl Printer<'_> {
    pub(super) fn window_call(&mut self, call: &WindowCall) {
        self.expr(&call.function);
        if call.from_last {
            self.push(" from last");
        }
        if call.ignore_nulls {
            self.push(" ignore nulls");
        }
        self.push(" over ");
        match &call.window {
            Window::Named(name) => self.name(name),
            Window::Written(spec) => self.window_spec(spec),
        }
    }

    pub(super) fn window_spec(&mut self, spec: &WindowSpec) {
        self.push("(");
        let start = self.out.len();
        if let Some(base) = &spec.base {
            self.name(base);
        }
        if !spec.partition_by.is_empty() {
            self.push(" partition by ");
            self.list(&spec.partition_by, Self::expr);
        }
        self.order_by(&spec.order_by);
        if let Some(frame) = &spec.frame {
            self.frame(frame);
        }
        // Every clause begins with a blank, the first one included.
        if self.out[start..].starts_with(' ') {
            self.out.remove(start);
        }
        self.push(")");
    }

    fn frame(&mut self, frame: &Frame) {
        self.push(match frame.unit {
            FrameUnit::Rows => " rows between ",
            FrameUnit::Range => " range between ",
            FrameUnit::Groups => " groups between ",
        });
        self.frame_bound(&frame.start);
        self.push(" and ");
        self.frame_bound(&frame.end);
        if frame.has_exclusion {
            // The tree does not keep which rows, because the binder refuses every exclusion.
            self.push(" exclude no others");
        }
    }

    fn frame_bound(&mut self, bound: &FrameBound) {
        match bound {
            FrameBound::UnboundedPreceding => self.push("unbounded preceding"),
            FrameBound::CurrentRow => self.push("current row"),
            FrameBound::UnboundedFollowing => self.push("unbounded following"),
            FrameBound::Preceding(amount) => {
                self.expr(amount);
                self.push(" preceding");
            }
            FrameBound::Following(amount) => {
                self.expr(amount);
                self.push(" following");
            }
        }
    }
}
