//! `cargo run -p sim -- --help`

fn main() -> std::process::ExitCode {
    sim::cli(std::env::args().skip(1))
}
