//! The simulated world: whole clusters in one thread, each from one seed, exactly reproducible.
//!
//! - [`options`]: the choices of a seed before its world begins.
//! - [`world`]: the events, the links, the workers; [`clock`]: that of a node.
//! - [`stage`]: state shared by the tasks of a world; [`bulletin`]: news between them.
//! - [`workload`]: the work of sessions, and the results they may see.
//! - [`contents`]: the rows at the end, and the conditions on them.
//! - [`linearizability`]: the checker for histories of single rows; [`dependency`]: the one for transactions.
//! - [`statements`]: sessions of SQL in a world; [`families`]: tables with foreign keys for them.
//! - [`run`]: one world from beginning to judgement; [`cli`]: many of them.
//!
//! A failing seed is a bug in the kernel, the client or this crate; it fails in the same way every time, on any machine,
//! with the same sources. A world may lose a node for good, or one after the other, which come back ([`options::Crash`]). Not
//! simulated: bytes of a disk, which are for the tests of the crate `disk` (here it has what it was given, or not), a failure of one node
//! while another has not come back, groups that lose all they have.

pub mod bulletin;
pub mod cli;
mod clock;
pub mod contents;
pub mod dependency;
mod disk;
pub mod families;
pub mod linearizability;
pub mod network;
pub mod options;
pub mod random;
pub mod run;
pub mod stage;
pub mod statements;
pub mod tables;
pub mod workload;
pub mod world;

pub use cli::cli;
pub use options::Options;
pub use run::{Outcome, run};
