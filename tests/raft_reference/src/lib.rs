//! The consensus log of the kernel beside `raft` 0.7.0, a Raft proven in production: voters of both kinds form one
//! group and must agree. The source of the kernel is compiled in as it is; only its messages are translated.

#[path = "../../../crates/kernel/src/control"]
pub mod control {
    pub mod raft;
}
