//! The wire protocol from outside: bytes into a connection, bytes out of it, with a scripted SQL layer behind.

mod commands;
mod files;
mod hostile;
mod login;
mod results;
mod seeds;
mod support;
mod tls;
