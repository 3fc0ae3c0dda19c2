//! The MySQL wire protocol, server side. The only crate that knows packets, capability flags and SQLSTATE.
//!
//! It has no sockets, no clock and no threads: a [`Connection`] takes bytes and gives bytes, and its task runs on whatever
//! executor its driver has. From the outside in:
//!
//! ```text
//!   connection   the driver's side: bytes, back-pressure, kill
//!   pipe         the two byte streams between driver and task; TLS
//!   commands     the task: greeting, login, one command after the other
//!   login        the exchange of authentication plugins
//!   backend      the needed part of the SQL layer
//!   sink         sql's results as packets; parameters: the way back; file: the files of LOAD DATA LOCAL
//!   command, handshake, resultset, auth, packet, sqlstate      codecs, which know nothing of sessions
//! ```
//!
//! Deliberately not here: compression, server-side cursors (a client that asks for one gets the whole result,
//! which the protocol allows; Connector/J, having asked for one, cannot read a result whose first row is above 16 MB),
//! session tracking, replication commands.

#![forbid(unsafe_code)]

pub mod auth;
mod backend;
pub mod capabilities;
pub mod command;
mod commands;
mod connection;
mod file;
pub mod handshake;
pub mod limits;
mod login;
pub mod packet;
pub mod parameters;
mod pipe;
pub mod resultset;
mod sink;
pub mod sqlstate;
pub mod tls;

pub use auth::RsaKey;
pub use backend::{Backend, Host, SqlHost};
pub use connection::{
    Connection, ConnectionConfig, ConnectionStart, Transport, refusal_too_many_connections,
    refusal_wrong_port,
};
pub use pipe::Disconnect;
