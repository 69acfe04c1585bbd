//! The steps that use files and memory, and those that change how the task is treated. A call that fails is noted in the task's slot, and the task goes on.

use crate::{
    shared::Trouble,
    store,
    worker::{OpenFile, Worker},
};
use nix::unistd;
use schedlab_linux::{
    files::{delete_at, execute, sync_file_system},
    mapping::{Mapping, PAGE},
};
use schedlab_model::{
    machine::Sizing,
    program::{Demand, Place, TouchOrder},
};
use schedlab_workloads::{Instruction, draws::draw};
use std::{io, os::fd::AsRawFd, sync::atomic::Ordering::Relaxed};

/// What a file of a set is taken for. Each use goes through the set by itself.
#[derive(Debug, Clone, Copy)]
enum Use {
    Open,
    Create,
    Delete,
}

/// Bytes of a block, as [`Place::Random`] means it.
const BLOCK: u64 = 4096;

impl Worker<'_> {
    /// One of these steps.
    pub fn use_system(&mut self, instruction: Instruction) {
        match instruction {
            Instruction::Open(set) => self.open(set, Use::Open, libc::O_RDWR),
            Instruction::Create(set) => self.open(set, Use::Create, libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC),
            Instruction::Delete(set) => {
                let number = self.next_file(set, Use::Delete);
                let folder = self.setup.store.sets[usize::from(set)].as_raw_fd();
                let done = self.blocking(|_| delete_at(folder, store::Name::new(number).as_c_str()));
                self.note(Trouble::File, done);
            }
            Instruction::Read(bytes) => self.transfer(bytes, |file, buffer| unistd::read(file, buffer)),
            Instruction::Write(bytes) => self.transfer(bytes, |file, buffer| unistd::write(file, buffer)),
            Instruction::Seek(place) => self.seek(place),
            Instruction::Sync => {
                let folder = self.file.as_ref().map(|open| open.file.as_raw_fd());
                let folder = folder.or(self.setup.store.sets.first().map(AsRawFd::as_raw_fd));
                let done = self.blocking(|_| folder.map_or(Ok(()), sync_file_system));
                self.note(Trouble::File, done);
            }
            Instruction::Close => self.blocking(|worker| worker.file = None),
            Instruction::Print(bytes) => {
                let setup = self.setup;
                let done = self.moved(bytes, |buffer| unistd::write(&setup.null, buffer));
                self.note(Trouble::File, done);
            }
            Instruction::Touch(touch) => self.touch(touch),
            Instruction::Grow(demand) => self.grow(demand),
            Instruction::Run(command) => self.run(command),
            Instruction::Exec => {
                let file = self.setup.no_program.as_ref().map(AsRawFd::as_raw_fd);
                let done = self.blocking(|_| file.map_or(Ok(()), execute));
                self.note(Trouble::Exec, done);
            }
            Instruction::Set(change) => {
                let change = &self.setup.changes[usize::from(change)];
                self.blocking(|worker| change.make(&mut worker.scheduling, worker.slot, &worker.setup.shared));
            }
            other => self.use_shared(other),
        }
    }

    fn note(&self, trouble: Trouble, done: io::Result<()>) {
        if let Err(why) = done {
            self.slot.failed(trouble, &why);
        }
    }

    /// The number of the file of a set that comes after the last one taken for that use.
    fn next_file(&mut self, set: u16, what_for: Use) -> u32 {
        let files = self.setup.workload.programs.files[usize::from(set)];
        let count = &mut self.taken[usize::from(set)][what_for as usize];
        let first = if files.own { (self.number as u32).wrapping_mul(files.files) } else { 0 };
        let number = first.wrapping_add(*count % files.files);
        *count = count.wrapping_add(1);
        number
    }

    fn open(&mut self, set: u16, what_for: Use, flags: i32) {
        let number = self.next_file(set, what_for);
        let folder = &self.setup.store.sets[usize::from(set)];
        let direct = if self.setup.workload.programs.files[usize::from(set)].direct { libc::O_DIRECT } else { 0 };
        let opened = self.blocking(|_| store::open(folder, number, flags | direct));
        match opened {
            Ok(file) => self.file = Some(OpenFile { file, set }),
            Err(why) => self.slot.failed(Trouble::File, &why),
        }
    }

    /// Moves a number of bytes from or to the open file, in parts of the buffer's length; less where the file ends.
    fn transfer(&mut self, bytes: u64, act: impl Fn(&std::os::fd::OwnedFd, &mut [u8]) -> nix::Result<usize>) {
        let Some(open) = self.file.take() else { return };
        let done = self.moved(bytes, |buffer| act(&open.file, buffer));
        self.file = Some(open);
        self.note(Trouble::File, done);
    }

    fn moved(&mut self, bytes: u64, act: impl Fn(&mut [u8]) -> nix::Result<usize>) -> io::Result<()> {
        self.blocking(|worker| {
            let mut left = bytes as usize;
            while left > 0 {
                match act(worker.buffer.part(left)) {
                    Ok(0) => break,
                    Ok(count) => left -= count,
                    Err(nix::Error::EINTR) => {}
                    Err(why) => return Err(why.into()),
                }
            }
            Ok(())
        })
    }

    fn seek(&mut self, place: Place) {
        let Some(open) = &self.file else { return };
        let (to, whence) = match place {
            Place::Start => (0, unistd::Whence::SeekSet),
            Place::End => (0, unistd::Whence::SeekEnd),
            Place::Random => {
                let blocks = self.setup.workload.programs.files[usize::from(open.set)].size.div_ceil(BLOCK);
                (self.rng.below(blocks) * BLOCK, unistd::Whence::SeekSet)
            }
        };
        let done = unistd::lseek(&open.file, to as i64, whence);
        self.note(Trouble::File, done.map(|_| ()).map_err(io::Error::from));
    }

    /// Uses memory page by page, with work at each.
    fn touch(&mut self, touch: u16) {
        let touch = self.setup.workload.programs.touches[usize::from(touch)];
        let (first, pages) = (touch.from / PAGE as u64, touch.size.div_ceil(PAGE as u64));
        for n in 0..pages * u64::from(touch.times) {
            let page = match touch.order {
                TouchOrder::Sequential => n % pages,
                TouchOrder::Random => self.rng.below(pages),
            };
            // A fault may wait for the drive, which is no want of a processor.
            self.blocking(|worker| {
                let mapping = match touch.image {
                    Some(image) => worker.images.get(usize::from(image)),
                    None => Some(&worker.memory),
                };
                mapping.iter().for_each(|it| it.touch((first + page) as usize, touch.write && touch.image.is_none()));
            });
            let length = draw(touch.compute, &mut self.rng);
            self.work(length);
        }
    }

    /// The program's memory grows to what it needs. Its limit was fixed when it started: the declared
    /// size, or the most that earlier runs have held at their end or been refused. If refused, it ends here.
    fn grow(&mut self, demand: Demand) {
        let wanted = demand.from.0 + self.rng.below(demand.to.0 - demand.from.0 + 1);
        let known = self.totals.high_water.load(Relaxed);
        let given = match self.setup.sizing {
            Sizing::HighWater if known > 0 => known,
            Sizing::Declared | Sizing::HighWater => demand.declared.0,
        };
        if wanted > given {
            self.totals.high_water.fetch_max(wanted, Relaxed);
            self.totals.memory_refused.fetch_add(1, Relaxed);
            self.end();
        }
        match self.blocking(|_| Mapping::own(wanted as usize)) {
            Ok(mapping) => {
                (0..(wanted as usize).div_ceil(PAGE)).for_each(|page| mapping.touch(page, true));
                self.grown.push(mapping);
            }
            Err(why) => self.slot.failed(Trouble::Memory, &why),
        }
        self.held = (wanted, given);
        self.gaps.restart();
    }
}
