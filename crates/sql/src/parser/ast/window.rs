//! Windows: OVER behind a call, and the WINDOW clause.

use super::{Expr, OrderItem};

/// A call with OVER.
#[derive(Clone, PartialEq, Debug)]
pub struct WindowCall {
    /// An aggregate, or a call of a function that needs OVER (ROW_NUMBER, LAG, ...).
    pub function: Expr,
    /// FROM LAST of NTH_VALUE; FROM FIRST is the default.
    pub from_last: bool,
    /// IGNORE NULLS; RESPECT NULLS is the default.
    pub ignore_nulls: bool,
    pub window: Window,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Window {
    /// OVER name.
    Named(String),
    /// OVER (...).
    Written(Box<WindowSpec>),
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct WindowSpec {
    /// The named window that this one extends.
    pub base: Option<String>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<OrderItem>,
    pub frame: Option<Frame>,
}

/// `name AS (...)` of a WINDOW clause.
#[derive(Clone, PartialEq, Debug)]
pub struct NamedWindow {
    pub name: String,
    pub spec: WindowSpec,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Frame {
    pub unit: FrameUnit,
    pub start: FrameBound,
    /// CURRENT ROW if one bound was written.
    pub end: FrameBound,
    /// EXCLUDE was written.
    pub has_exclusion: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameUnit {
    Rows,
    Range,
    Groups,
}

/// A number is a literal, a parameter, or an INTERVAL.
#[derive(Clone, PartialEq, Debug)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Expr),
    CurrentRow,
    Following(Expr),
    UnboundedFollowing,
}
