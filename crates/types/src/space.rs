//! How much memory rows take, or may take.

use std::ops::{AddAssign, SubAssign};

use crate::wire_struct;

/// Memory for rows: whole pages, and blocks of these, be it pages that tables have already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    pub pages: u64,
    pub blocks: u64,
}
wire_struct!(Space { pages, blocks });

impl Space {
    pub const NONE: Space = Space { pages: 0, blocks: 0 };

    /// Is there as much of both?
    pub fn holds(self, other: Space) -> bool {
        other.pages <= self.pages && other.blocks <= self.blocks
    }
    /// What there is more of each now than `before`.
    pub fn more_than(self, before: Space) -> Space {
        Space {
            pages: self.pages.saturating_sub(before.pages),
            blocks: self.blocks.saturating_sub(before.blocks),
        }
    }
}

/// No more than can be counted: what another node says may be anything.
impl AddAssign for Space {
    fn add_assign(&mut self, more: Space) {
        self.pages = self.pages.saturating_add(more.pages);
        self.blocks = self.blocks.saturating_add(more.blocks);
    }
}

/// There must be as much.
impl SubAssign for Space {
    fn sub_assign(&mut self, less: Space) {
        self.pages -= less.pages;
        self.blocks -= less.blocks;
    }
}
