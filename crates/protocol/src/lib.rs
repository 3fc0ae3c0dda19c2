//! Every message between nodes, and the native client protocol: data only.
//!
//! - [`op`]: what a transaction can do to rows, in the words of tables and keys: the native client protocol.
//! - [`evaluation`]: what an operation makes of a row, wherever the row is.
//! - [`message`]: the closed enum of messages between nodes, and [`envelope`] they travel in.
//! - [`catalogue`]: one row a message (name, from, to, exchange); it generates docs/protocol.md.
//!
//! What does not belong here: state, any other behaviour, sockets, SQL, MySQL error numbers.

pub mod backup;
pub mod catalogue;
pub mod control;
pub mod disk;
pub mod envelope;
pub mod evaluation;
pub mod message;
pub mod op;
pub mod refusal;
pub mod report;
pub mod request;
pub mod restart;
pub mod schema;

pub use envelope::{Envelope, EnvelopeError, PROTOCOL_VERSION};
pub use message::Message;
pub use refusal::Refusal;
