//! The real world of a node: threads, sockets, files, clocks.
//!
//! Everything below this crate is deterministic and waits for nothing. Here are the loops that drive it, one OS thread a
//! worker ([`NodeServer::start`] makes them), and each worker owns what it needs, so that a request meets no lock on its way:
//!
//! ```text
//!            ┌───────────────────────────── worker ─────────────────────────────┐
//!  clients ──┤ mysql::Connection ── client::Client ── kernel::Kernel ── links    ├── workers of other nodes
//!            │        └──────── Executor ────────┘          │                    │
//!            └──────────────────────────────────────────────┼────────────────────┘
//!                                        inboxes of the other workers of this node
//! ```
//!
//! - [`worker`](self): the loop; `spin` decides whether it sleeps; `inbox` is how the others reach it.
//! - `link`, `secure` and `hello`: the connections between nodes, and the checks before a frame is read.
//! - `front`: MySQL connections. `management`: the socket for tools. `door`: what listens, on worker 0.
//! - `backup`, `archive`, `restore`: copies of the node's own disk, and their way back; `jobs`: work behind a request.
//! - `server` and `options`: start and end of a node. `files`, `log`, `clock`, `random`, `signals`, `panic`: the rest.
//!
//! What does not belong here: any decision about data. A bug in this crate may lose a connection, never a row.

mod archive;
mod backup;
mod clock;
mod computers;
mod door;
mod files;
mod front;
mod hello;
mod inbox;
mod jobs;
mod journal;
mod limits;
mod link;
mod log;
mod management;
mod options;
mod panic;
mod ports;
mod random;
mod restore;
mod secure;
mod server;
mod server_files;
mod signals;
mod spin;
mod store;
mod stream;
mod temp_files;
mod tool;
mod worker;

pub use files::make_dir;
pub use options::{NodeOptions, StartError};
pub use panic::{
    EXIT_CODE_DAMAGED, EXIT_CODE_DISK, EXIT_CODE_EXCLUDED, EXIT_CODE_MEMORY, EXIT_CODE_PANIC,
};
pub use secure::make_keys;
pub use server::{Departure, NodeServer};
pub use store::is_of_file_system;
pub use tool::{ManagementError, management_request};
