mod copies;
mod crash;
mod damage;
mod fuzz;
pub mod memory;
pub mod real;

use crate::DiskError;
use crate::checkpoints::Checkpoints;
use crate::pieces::Pieces;
use crate::redo::{Redo, Written};

/// How much a test explores: `short`, or `long` in the long tier (`scripts/test.sh --long` sets SKARV_TEST_LONG).
fn of_tier(short: usize, long: usize) -> usize {
    if std::env::var_os("SKARV_TEST_LONG").is_some() { long } else { short }
}

/// The day of the run, by which the short tier chooses its sample. `scripts/test.sh` sets and prints it; 0 without it.
fn day() -> usize {
    let day = std::env::var("SKARV_TEST_DAY");
    day.map_or(0, |text| text.parse().expect("SKARV_TEST_DAY is a number"))
}

fn write_durably(log: &mut Redo, pieces: &mut Pieces) -> std::io::Result<Written> {
    let written = log.write(pieces)?;
    log.sync()?;
    Ok(written)
}

/// The section that is being written is durable, and read back.
fn prove_section(checkpoints: &mut Checkpoints) -> Result<(), DiskError> {
    if let Some(reader) = checkpoints.sync_section().expect("nothing fails") {
        reader.prove(&mut |_| Ok(()))?;
        checkpoints.end_section();
    }
    Ok(())
}
