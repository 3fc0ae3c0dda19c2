//! What the sessions of a world do. Each kind of work has its own tables, knows what its sessions may see while they run
//! and what must be left when they are done.

mod bank;
mod churn;
mod counters;
mod deadlock;
mod deletions;
mod faults;
mod hoards;
mod ledger;
mod lists;
mod locks;
mod pages;
mod prefix;
mod ranges;
mod registers;
mod schema_changes;
mod sequences;
mod snapshots;
mod unique;

use std::future::Future;
use std::pin::Pin;

use types::Table;

use crate::contents::Contents;
use crate::random::Random;
use crate::stage::{Actor, Stage};

pub type Task = Pin<Box<dyn Future<Output = ()>>>;

pub trait Work {
    /// Made before the work begins.
    fn tables(&self) -> Vec<Table>;
    /// Rows of integers they begin with: (table, row).
    fn rows(&self) -> Vec<(&'static str, Vec<i64>)>;
    /// One session, until the stage stops.
    fn session(&self, actor: Actor) -> Task;
    /// A global checkpoint is done that began when this event had not happened yet.
    fn promise(&self, _stage: &Stage, _acknowledged_before: u64) {}
    /// What must be left when all sessions have ended.
    fn check(&self, contents: &Contents) -> Result<(), String>;
}

pub struct Kind {
    pub name: &'static str,
    /// Draws the sizes of the work from the generator.
    pub make: fn(&mut Random) -> Box<dyn Work>,
}

pub const KINDS: &[Kind] = &[
    Kind { name: "bank", make: bank::make },
    Kind { name: "registers", make: registers::make },
    Kind { name: "ledger", make: ledger::make },
    Kind { name: "counters", make: counters::make },
    Kind { name: "unique", make: unique::make },
    Kind { name: "sequences", make: sequences::make },
    Kind { name: "churn", make: churn::make },
    Kind { name: "deadlock", make: deadlock::make },
    Kind { name: "schema", make: schema_changes::make },
    Kind { name: "pages", make: pages::make },
    Kind { name: "lists", make: lists::make },
    Kind { name: "snapshots", make: snapshots::make },
    Kind { name: "ranges", make: ranges::make },
];

/// In worlds that lose their power only.
pub const PREFIX: Kind = Kind { name: "prefix", make: prefix::make };
/// In those of them that do nothing else.
pub const DELETIONS: Kind = Kind { name: "deletions", make: deletions::make };
/// Where statements panic.
pub const FAULTS: Kind = Kind { name: "faults", make: faults::make };
/// Where sessions take user-level locks, too.
pub const LOCKS: Kind = Kind { name: "locks", make: locks::make };
/// Where there is little memory, and nothing else is done.
pub const HOARDS: Kind = Kind { name: "hoards", make: hoards::make };
