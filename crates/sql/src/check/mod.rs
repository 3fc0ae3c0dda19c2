//! Checks of this crate by random statements, for tests and `skarv sim`.
//!
//! The generators draw from a seed, so a failure is repeated by its seed. The checks compare an answer with one that is
//! computed another way: a predicate with its truth value of each row.
//!
//! | module | part |
//! |---|---|
//! | `catalogue` | tables that no cluster holds |
//! | `random` | the generator of numbers |
//! | `tables` | tables with random columns, keys and rows |
//! | `predicate` | predicates over the columns of such a table |
//! | `statement` | statements of all kinds |
//! | `typed` | statements for a comparison with another server |
//! | `paths` | every access path of a predicate, without a cluster |

pub mod catalogue;
pub mod paths;
pub mod predicate;
pub mod random;
pub mod statement;
pub mod tables;
pub mod typed;
