//! SQL: MySQL 8's dialect over the native API of `client`.
//!
//! A connection is a [`Session`]. It takes statements as text or as prepared statements, and pushes what MySQL would
//! answer into a [`ResultSink`]: columns, rows, OK, errors. The way of a statement:
//!
//! ```text
//! text ── digest ──> plan cache ──hit──────────────┐
//!            │ miss                                v
//!            └──> parser ──> AST ──> binder ──> plan ──> executor ──> client::Session (batches, scans)
//!                                                           └──────> ResultSink
//! ```
//!
//! What does not belong here: packets, SQLSTATE, authentication exchanges (crate `mysql`), and anything that knows where
//! rows live (crates `client` and `kernel`). Nothing here reads a clock, starts a thread or draws unseeded randomness.

pub mod bind;
pub mod check;
pub mod error;
pub mod execute;
pub mod information_schema;
pub mod parser;
pub mod plan;
pub mod plan_cache;
pub mod result;
pub mod script;
pub mod server;
pub mod session;
pub mod show;
pub mod statement;
pub mod statistics;

pub use error::{SqlError, code};
pub use result::{
    ColumnFlags, ColumnInfo, FilePiece, OkInfo, PlanColumns, ResultSink, StatusFlags,
};
pub use server::{ConnectionId, KillKind, Server, ServerConfig, TooManyConnections};
pub use session::{ConnectionInfo, KillHandle, PreparedInfo, Session};
