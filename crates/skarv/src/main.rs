//! The binary: every node and every tool of a Skarv cluster.
//!
//! `up` keeps a cluster in a box: it plans ([`plan`]), writes `config.json` ([`config`]), runs each node as a process of
//! its own (`skarv server`) and looks after them ([`supervisor`]), and keeps `cluster.json` ([`status_file`]) current for
//! tools and scripts. `down` ends it. `mgm` and `desc` ask running nodes over their management sockets. What a node does
//! is the business of crate `io` and the crates below; nothing here touches data.
//!
//! Exit codes: 0 done; 1 a definite no (refused, failed, replicas differ); 2 wrong usage, or nothing could be found out.

mod backup;
mod change;
mod cli;
mod config;
mod console;
mod desc;
mod down;
mod keys;
mod machine;
mod manage;
mod memory;
mod mgm;
mod plan;
mod ports;
mod process;
mod requests;
mod restore;
mod server;
mod show;
mod size;
mod status_file;
mod supervisor;
mod table_name;
mod up;

use std::process::ExitCode;

use clap::Parser;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Set, the process has SQL functions that panic ([`types::contain::let_tests_panic`]).
const TEST_PANICS: &str = "SKARV_TEST_PANICS";

fn main() -> ExitCode {
    if std::env::var_os(TEST_PANICS).is_some() {
        types::contain::let_tests_panic();
    }
    match cli::Cli::parse().command {
        cli::Command::Up(options) => up::run(&options),
        cli::Command::Down(options) => down::run(&options),
        cli::Command::Server(options) => server::run(&options),
        cli::Command::Keys(options) => keys::run(&options),
        cli::Command::Mgm(options) => mgm::run(&options),
        cli::Command::Desc(options) => desc::run(&options),
        cli::Command::Restore(options) => restore::run(&options),
        cli::Command::Sim(options) => sim::cli(options.arguments.into_iter()),
    }
}

/// Prints an error the way every command does.
fn fail(message: &str) -> ExitCode {
    eprintln!("skarv: error: {message}");
    ExitCode::FAILURE
}
