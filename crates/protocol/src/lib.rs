//! Every message between nodes, and the native client protocol: data only.
//!
//! - [`op`]: what a transaction can do to rows, in the words of tables and keys: the native client protocol.
//! - [`message`]: the closed enum of messages between nodes, and [`envelope`] they travel in.
//! - [`catalogue`]: one row a message (name, from, to, exchange); it generates docs/protocol.md.
//!
//! What does not belong here: state, behaviour, sockets, SQL, MySQL error numbers.

pub mod backup;
pub mod catalogue;
pub mod control;
pub mod disk;
pub mod envelope;
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
