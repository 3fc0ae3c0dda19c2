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
