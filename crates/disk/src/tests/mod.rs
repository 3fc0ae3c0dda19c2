mod copies;
mod crash;
mod damage;
mod fuzz;
mod memory;
mod real;

use crate::pieces::Pieces;
use crate::redo::{Redo, Written};

fn write_durably(log: &mut Redo, pieces: &mut Pieces) -> std::io::Result<Written> {
    let written = log.write(pieces)?;
    log.sync()?;
    Ok(written)
}
