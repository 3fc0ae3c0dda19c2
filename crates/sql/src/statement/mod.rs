//! The life of a statement, from its plan to its answer.
//!
//! ```text
//! find or bind a plan ──> run ──> finish: commit if it is its own transaction, answer
//!        ^                 │
//!        └── replan        ├── the definition of a table moved, and the client has seen nothing
//!            rerun         └── its own transaction was rolled back through no fault of its own
//! ```
//!
//! [`life`] turns this circle, for texts, prepared statements and EXPLAIN ANALYZE alike; [`run`] is one turn. The values that
//! belong to the statement under way are its [`Frame`]. A statement may run inside another
//! ([`Session::run_inside`](crate::Session)), in a frame of its own: it is undone, planned anew and committed with the one
//! around it, which decides what to do with the inner frame's conditions and ids.

pub mod diagnostics;
pub mod frame;
pub mod life;
pub mod run;

pub use diagnostics::Diagnostics;
pub use frame::Frame;
