//! Drives, and the queue of requests above each: what a drive does when, and which request is next.
//!
//! Everything here is a pure state machine in simulated time: the caller says what time it is and asks when something
//! will happen next. No clock, no thread, and the only chance is the place of a rotating drive's surface at time 0.
//!
//! ```text
//!   submit -> RequestQueue (merges, limits, an elevator) -> Drive::serve -> advance: parts completed
//! ```

mod geometry;
mod neighbours;
mod parts;
mod progress;
mod queue;
mod rotating;
mod solid_state;

pub use progress::{Done, Progress, Started, Submitted, Turn};
pub use queue::RequestQueue;
pub use rotating::{Block, Rotating, SECTORS_PER_BLOCK};
pub use solid_state::SolidState;

use schedlab_model::{
    Nanos,
    machine::{self, Machine, Sourced},
    request::{Direction, Sector},
    rng::Rng,
    units::Duration,
};
use schedlab_policies::elevators::Device;

/// Something that serves requests. Commands are given in order of time.
pub trait Drive: std::fmt::Debug {
    /// Takes a command at `now` and says when it will have been completed.
    fn serve(&mut self, now: Nanos, first: Sector, sectors: u32, direction: Direction) -> Nanos;

    /// Commands that it takes at a time.
    fn depth(&self) -> u32;

    /// Whether it has heads that must move.
    fn rotational(&self) -> bool;

    /// Its size.
    fn sectors(&self) -> Sector;

    /// About how long a command of that length takes, at a random place on a drive that was idle.
    fn mean_service(&self, sectors: u32, direction: Direction) -> Nanos;

    /// What an elevator may know of it, with the number of slots in the queue above.
    fn device(&self, slots: u32) -> Device {
        Device { rotational: self.rotational(), queue_depth: self.depth(), sectors: self.sectors(), slots }
    }
}

/// The drive of a machine.
#[derive(Debug)]
pub enum AnyDrive {
    /// With heads.
    Rotating(Rotating),
    /// With chips.
    SolidState(SolidState),
}

impl AnyDrive {
    /// The machine's drive, if it has one, with what the processor does for each request as a part of the request: the command
    /// comes first, and sectors that the processor moves pass no faster than it moves them, whether it had anything else to do
    /// or not. Draws once from `rng` if it rotates.
    pub fn new(machine: &Machine, rng: &mut Rng) -> Option<AnyDrive> {
        let rotating = machine.disk.as_ref().map(|disk| AnyDrive::Rotating(Rotating::new(&served(disk), rng)));
        rotating.or_else(|| machine.solid_state.as_ref().map(|chips| AnyDrive::SolidState(SolidState::new(chips))))
    }

    fn inner(&self) -> &dyn Drive {
        match self {
            AnyDrive::Rotating(drive) => drive,
            AnyDrive::SolidState(drive) => drive,
        }
    }
}

impl Drive for AnyDrive {
    fn serve(&mut self, now: Nanos, first: Sector, sectors: u32, direction: Direction) -> Nanos {
        match self {
            AnyDrive::Rotating(drive) => drive.serve(now, first, sectors, direction),
            AnyDrive::SolidState(drive) => drive.serve(now, first, sectors, direction),
        }
    }

    fn depth(&self) -> u32 {
        self.inner().depth()
    }

    fn rotational(&self) -> bool {
        self.inner().rotational()
    }

    fn sectors(&self) -> Sector {
        self.inner().sectors()
    }

    fn mean_service(&self, sectors: u32, direction: Direction) -> Nanos {
        self.inner().mean_service(sectors, direction)
    }
}

/// A rotating drive as its processor serves it: programmed I/O is a bus whose speed is the processor's.
fn served(disk: &machine::Disk) -> machine::Disk {
    let bus = disk.bus_per_kib.get().0.max(SECTORS_PER_BLOCK * disk.sector_copy.get().0);
    let overhead = disk.overhead.get().0 + disk.command.get().0;
    machine::Disk {
        bus_per_kib: Sourced::Bare(Duration(bus)),
        overhead: Sourced::Bare(Duration(overhead)),
        ..disk.clone()
    }
}

/// Time to transfer a number of sectors over a bus that takes `per_kib` for 1 KiB.
fn on_bus(per_kib: Nanos, sectors: u64) -> Nanos {
    per_kib * sectors / 2
}
