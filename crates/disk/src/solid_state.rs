//! A solid-state drive: pages on channels that work side by side.
//!
//! ```text
//!   channel of page p   =  p mod channels
//!   done(channel)       =  max(done before, command + overhead) + pages on it * time of a page
//!   bus                 =  max(bus before, command + overhead) + time on the bus
//!   done                =  max(the latest of its channels + time on the bus, bus)
//! ```
//!
//! A page that is touched is read or written whole. All requests share the bus, so together they are never faster than it. Not
//! modelled: erasing, wear, and a write cache. A long run of writes on a real drive is slower than here.

use crate::{Drive, on_bus};
use schedlab_model::{
    Nanos, machine,
    request::{Direction, SECTOR_SIZE, Sector},
};

/// The drive, and when each of its channels will be free.
#[derive(Debug)]
pub struct SolidState {
    free_at: Vec<Nanos>,
    sectors: Sector,
    sectors_per_page: u64,
    read: Nanos,
    write: Nanos,
    depth: u32,
    overhead: Nanos,
    bus_per_kib: Nanos,
    /// When the bus will have completed all requested transfers.
    bus_free_at: Nanos,
}

impl SolidState {
    /// A drive that is idle.
    pub fn new(chips: &machine::SolidState) -> SolidState {
        SolidState {
            free_at: vec![0; chips.channels.get() as usize],
            sectors: chips.size.get().0 / SECTOR_SIZE,
            sectors_per_page: (chips.page.get().0 / SECTOR_SIZE).max(1),
            read: chips.read.get().0,
            write: chips.write.get().0,
            depth: chips.queue_depth.get(),
            overhead: chips.overhead.get().0 + chips.command.get().0,
            bus_per_kib: chips.bus_per_kib.get().0,
            bus_free_at: 0,
        }
    }

    fn page(&self, direction: Direction) -> Nanos {
        match direction {
            Direction::Read => self.read,
            Direction::Write => self.write,
        }
    }
}

impl Drive for SolidState {
    fn serve(&mut self, now: Nanos, first: Sector, sectors: u32, direction: Direction) -> Nanos {
        let (ready, page) = (now + self.overhead, self.page(direction));
        let (from, last) = (first / self.sectors_per_page, (first + u64::from(sectors) - 1) / self.sectors_per_page);
        let (pages, channels) = (last - from + 1, self.free_at.len() as u64);
        let mut done = ready;
        for number in from..from + pages.min(channels) {
            let on_channel = (last - number) / channels + 1;
            let free_at = &mut self.free_at[(number % channels) as usize];
            *free_at = ready.max(*free_at) + on_channel * page;
            done = done.max(*free_at);
        }
        let bus = on_bus(self.bus_per_kib, sectors.into());
        self.bus_free_at = ready.max(self.bus_free_at) + bus;
        self.bus_free_at.max(done + bus)
    }

    fn depth(&self) -> u32 {
        self.depth
    }

    fn rotational(&self) -> bool {
        false
    }

    fn sectors(&self) -> Sector {
        self.sectors
    }

    fn mean_service(&self, sectors: u32, direction: Direction) -> Nanos {
        let pages = u64::from(sectors).div_ceil(self.sectors_per_page);
        let rounds = pages.div_ceil(self.free_at.len() as u64);
        self.overhead + rounds * self.page(direction) + on_bus(self.bus_per_kib, sectors.into())
    }
}
