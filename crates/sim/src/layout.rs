//! Where files lie on the drive.
//!
//! A file lies in contiguous pieces ("extents") of about `extent_blocks`, each somewhere within the cylinders of its folder.
//! Places are computed, not stored, so that a set of a million files costs nothing.

use schedlab_memory::{Name, Part};
use schedlab_model::{machine, request::SECTOR_SIZE, request::Sector, rng::Seeded};

/// The part of the drive that the folders spread over, in blocks of the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    pub first: u64,
    pub blocks: u64,
}

/// Computes places.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// Bytes of a block.
    pub block: u64,
    /// Blocks that an inode names itself.
    pub direct_blocks: u32,
    extent_blocks: u64,
    /// None without a drive: nothing has a place.
    region: Option<Region>,
    seed: Seeded,
}

impl Layout {
    pub fn new(files: &machine::Files, region: Option<Region>, seed: u64) -> Layout {
        Layout {
            block: files.block.get().0,
            direct_blocks: files.direct_blocks.get(),
            extent_blocks: files.extent_blocks.get().into(),
            region,
            seed: Seeded::seed(seed),
        }
    }

    pub fn has_drive(&self) -> bool {
        self.region.is_some()
    }

    /// Number of a block on the drive, counted in blocks.
    pub fn place(&self, (set, part): Name) -> u64 {
        let Some(Region { first, blocks }) = self.region else { return 0 };
        let (piece, offset) = match part {
            Part::Inodes(n) => (mix(&[1, n.into()]), 0),
            Part::Indirect(file, n) => (mix(&[2, file.into(), n.into()]), 0),
            Part::Data(file, n) => self.extent(3, set, file, n),
            Part::Image(n) => self.extent(4, set, 0, n),
        };
        let room = blocks.saturating_sub(self.extent_blocks).max(1);
        first + mix(&[self.seed.get(), set.into(), piece]) % room + offset
    }

    /// The extent of a file that has its n-th block, and the block's place in it.
    fn extent(&self, kind: u64, set: u16, file: u32, n: u32) -> (u64, u64) {
        let shifted = u64::from(n) + mix(&[self.seed.get(), set.into(), file.into()]) % self.extent_blocks;
        (mix(&[kind, file.into(), shifted / self.extent_blocks]), shifted % self.extent_blocks)
    }

    /// The first sector of a block.
    pub fn sector(&self, name: Name) -> Sector {
        self.place(name) * self.block / SECTOR_SIZE
    }

    /// Sectors of a block.
    pub fn sectors(&self) -> u32 {
        (self.block / SECTOR_SIZE) as u32
    }
}

/// Mixes numbers into one that looks random (splitmix64's finaliser over a running sum).
fn mix(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0, |sum: u64, n| {
        let mut z = (sum ^ n).wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    })
}
