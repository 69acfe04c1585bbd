//! Programs as instructions: steps flattened, names made indices, loops made jumps, so that an interpreter needs no
//! recursion, no strings and no allocation.
//!
//! Long, because every instruction is described and compiled here.

use schedlab_model::{
    Nanos,
    program::{Demand, FileSet, Place, Repeat, Span, Step, TimerMode, Times, Touch, TouchOrder, Treatment},
    scenario::{Protocol, Shared},
};
use std::collections::BTreeMap;

/// One instruction. Names, children and file sets are indices into [`Programs`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Instruction {
    /// Uses the processor in user mode.
    Compute {
        /// For how long.
        span: Span,
        /// Where the program goes on, see [`Programs::compile`].
        then: u32,
    },
    /// Uses the processor in the kernel (or the file server).
    Call(Span),
    /// Sleeps.
    Sleep {
        /// For how long.
        span: Span,
        /// Where the program goes on.
        then: u32,
    },
    /// Waits for the next multiple of this length since the task began.
    Period(Nanos),
    /// Waits for a timer.
    Timer {
        /// Which of the task's own.
        timer: u16,
        /// From its last expiry to the one that is waited for.
        period: Nanos,
        /// What it does when that has passed.
        mode: TimerMode,
    },
    /// Uses the processor until this much time has passed.
    Busy(Nanos),
    /// Opens the next file of the set.
    Open(u16),
    /// Reads a number of bytes.
    Read(u64),
    /// Creates the next file of the set and opens it.
    Create(u16),
    /// Writes a number of bytes.
    Write(u64),
    /// Moves within the file.
    Seek(Place),
    /// Deletes the next file of the set.
    Delete(u16),
    /// Waits until everything written is on the drive.
    Sync,
    /// Uses memory: index into [`Programs::touches`].
    Touch(u16),
    /// Closes the file.
    Close,
    /// Writes a number of bytes to the terminal.
    Print(u64),
    /// Takes the lock.
    Lock(u16),
    /// Takes the lock for reading.
    ReadLock(u16),
    /// Gives the lock back.
    Unlock(u16),
    /// Puts a message into the pipe.
    Send(u16),
    /// Takes a message from the pipe.
    Receive(u16),
    /// Takes a request of the job, and its random numbers.
    Serve(u16),
    /// Takes a permit of the semaphore.
    Acquire(u16),
    /// Gives a permit to the semaphore.
    Release(u16),
    /// Waits at the barrier.
    Barrier(u16),
    /// Waits for the condition.
    ConditionWait {
        /// Which one.
        condition: u16,
        /// The lock that is given back meanwhile.
        lock: u16,
    },
    /// Wakes a task that waits for the condition.
    ConditionSignal(u16),
    /// Wakes all that do.
    ConditionBroadcast(u16),
    /// Changes how the task is treated: index into [`Programs::treatments`].
    Set(u16),
    /// Creates a child that runs the program.
    Fork(u32),
    /// Waits for a child's end.
    Wait,
    /// Signals the other tasks of the job.
    Signal,
    /// Waits for a signal.
    Pause,
    /// Gets memory as the demand says.
    Grow(Demand),
    /// Runs a command: index into [`Programs::commands`].
    Run(u16),
    /// Gives the processor up.
    Yield,
    /// Executes another program.
    Exec,
    /// Names this point.
    Mark(u16),
    /// A loop begins: its counter at `depth` becomes 0.
    Enter {
        /// Nesting of the loop.
        depth: u8,
    },
    /// A loop's end: back to `start` until it was done `times` times (`u32::MAX`: without end).
    Again {
        /// Nesting of the loop.
        depth: u8,
        /// Where the body begins.
        start: u32,
        /// How often in all.
        times: u32,
    },
    /// Does what a task of a recording did, up to its end.
    Replay,
    /// A pass of the job is done.
    Pass,
    /// The task ends.
    Exit,
}

/// Loops within loops that an interpreter must have counters for: eight of the user's, and the passes around them.
pub const MAX_DEPTH: usize = 9;

/// A set of files of equal size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Files {
    /// How many.
    pub files: u32,
    /// Bytes of each.
    pub size: u64,
    /// Whether every task has its own.
    pub own: bool,
    /// Whether reads and writes pass the cache by.
    pub direct: bool,
}

/// A use of memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Touches {
    /// Index into [`Programs::images`]; the task's own memory, if none.
    pub image: Option<u16>,
    /// First byte.
    pub from: u64,
    /// How many bytes.
    pub size: u64,
    /// How often each page.
    pub times: u32,
    /// In which order.
    pub order: TouchOrder,
    /// Whether pages are written.
    pub write: bool,
    /// User time at each page.
    pub compute: Span,
}

/// The instructions of one program.
pub type Program = Vec<Instruction>;

/// All programs of a scenario, with the names they share.
#[derive(Debug, Default)]
pub struct Programs {
    /// Programs; the first ones are those of the jobs, in order, children follow.
    pub programs: Vec<Program>,
    /// File sets by index.
    pub files: Vec<Files>,
    /// Names of those sets that have one.
    set_names: Vec<Option<String>>,
    /// Program files by index: the bytes of each that any program touches.
    pub images: Vec<u64>,
    image_names: Vec<String>,
    /// Uses of memory by index.
    pub touches: Vec<Touches>,
    /// Commands.
    pub commands: Vec<String>,
    /// Names of locks.
    pub locks: Vec<String>,
    /// By lock, its protocol.
    pub protocols: Vec<Protocol>,
    /// Changes of treatment by index.
    pub treatments: Vec<Treatment>,
    /// Names of pipes.
    pub pipes: Vec<String>,
    /// By pipe, the messages that it holds at most, if there is a limit.
    pub capacities: Vec<Option<u32>>,
    /// By job that is a pool, the pipe of its requests.
    pub requests: Vec<Option<u16>>,
    /// Names of semaphores, and the permits of each at the start.
    pub semaphores: Vec<String>,
    /// Permits of each semaphore at the start.
    pub permits: Vec<u32>,
    /// Names of barriers.
    pub barriers: Vec<String>,
    /// By barrier, for how many tasks it is.
    pub parties: Vec<u32>,
    /// Names of conditions.
    pub conditions: Vec<String>,
    /// Names of timers; each task has all of its own.
    pub timers: Vec<String>,
    /// Names of marks.
    pub marks: Vec<String>,
    /// The loops of each program.
    pub loops: Vec<Vec<Loop>>,
}

/// A loop of a program, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// Its body: from the first instruction to the one that jumps back.
    pub body: std::ops::Range<u32>,
    /// Its position in the job: `steps[0].repeat`.
    pub place: String,
}

/// A program that is being compiled.
#[derive(Default)]
struct Draft {
    program: Program,
    loops: Vec<Loop>,
}

impl Draft {
    /// Ends a loop whose body begins at `start`.
    fn again(&mut self, depth: u8, start: u32, times: Times, place: &str) {
        let end = self.program.len() as u32;
        self.loops.push(Loop { body: start..end, place: place.to_owned() });
        self.program.push(Instruction::Again { depth, start, times: times.count().unwrap_or(u32::MAX) });
    }
}

impl Programs {
    /// Whether some program takes the lock of that number for reading.
    pub fn is_read(&self, lock: usize) -> bool {
        let reads = |one: &Instruction| matches!(one, Instruction::ReadLock(read) if usize::from(*read) == lock);
        self.programs.iter().flatten().any(reads)
    }

    /// Compiles the steps of every job, each with its number of passes. The last step of an endless loop, if it computes or
    /// sleeps, jumps directly to the beginning of the loop.
    pub fn compile<'a>(jobs: impl IntoIterator<Item = (&'a [Step], Times)>) -> Programs {
        Programs::sharing(jobs.into_iter().map(|(steps, passes)| (steps, passes, None)), &BTreeMap::new())
    }

    /// Compiles the steps of every job, with its number of passes and, if it is a pool, what its requests are called; and with what
    /// tasks share.
    pub fn sharing<'a>(
        jobs: impl IntoIterator<Item = (&'a [Step], Times, Option<String>)>,
        shared: &BTreeMap<String, Shared>,
    ) -> Programs {
        let mut all = Programs::default();
        let jobs: Vec<_> = jobs.into_iter().collect();
        all.programs.resize(jobs.len(), Program::new());
        all.loops.resize(jobs.len(), Vec::new());
        for (index, (steps, passes, requests)) in jobs.into_iter().enumerate() {
            let mut draft = Draft { program: vec![Instruction::Enter { depth: 0 }], loops: Vec::new() };
            // A name that no step can have: its own pipe, whatever pipes the steps name.
            let requests = requests.map(|name| index_of(&mut all.pipes, &format!("the requests of {name}")));
            draft.program.extend(requests.map(Instruction::Serve));
            all.requests.push(requests);
            all.append(&mut draft, steps, 1, "steps");
            draft.program.push(Instruction::Pass);
            draft.again(0, 1, passes, "steps");
            draft.program.push(Instruction::Exit);
            (all.programs[index], all.loops[index]) = (draft.program, draft.loops);
        }
        all.programs.iter_mut().for_each(link);
        let sizes = |names: &[String], of: fn(Shared) -> Option<u32>| -> Vec<Option<u32>> {
            names.iter().map(|name| shared.get(name).copied().and_then(of)).collect()
        };
        all.capacities = sizes(&all.pipes, |it| if let Shared::Queue(size) = it { Some(size) } else { None });
        let permits = sizes(&all.semaphores, |it| if let Shared::Semaphore(size) = it { Some(size) } else { None });
        let parties = sizes(&all.barriers, |it| if let Shared::Barrier(size) = it { Some(size) } else { None });
        let protocol = |name: &String| match shared.get(name) {
            Some(&Shared::Lock(protocol)) => protocol,
            _ => Protocol::None,
        };
        all.protocols = all.locks.iter().map(protocol).collect();
        all.permits = permits.into_iter().map(Option::unwrap_or_default).collect();
        all.parties = parties.into_iter().map(|parties| parties.unwrap_or(1)).collect();
        all
    }

    /// Makes the program of a job one that does what tasks of a recording did.
    pub fn replay(&mut self, job: usize) {
        self.programs[job] = vec![Instruction::Replay, Instruction::Exit];
        self.loops[job].clear();
    }

    /// The length of a program's periods, if all are of one length.
    pub fn period(&self, program: u32) -> Option<Nanos> {
        let mut lengths = self.programs[program as usize].iter().filter_map(|instruction| match *instruction {
            Instruction::Period(length) => Some(length),
            _ => None,
        });
        let first = lengths.next()?;
        lengths.all(|length| length == first).then_some(first)
    }

    fn append(&mut self, draft: &mut Draft, steps: &[Step], depth: u8, place: &str) {
        for (i, step) in steps.iter().enumerate() {
            if let Step::Repeat(Repeat { times, steps }) = step {
                draft.program.push(Instruction::Enter { depth });
                let start = draft.program.len() as u32;
                let here = format!("{place}[{i}].repeat");
                self.append(draft, steps, depth + 1, &format!("{here}.steps"));
                draft.again(depth, start, *times, &here);
            } else if let Step::Fork(steps) = step {
                let child = self.child(steps, &format!("{place}[{i}].fork"));
                draft.program.push(Instruction::Fork(child));
            } else {
                let instruction = self.instruction(step);
                draft.program.push(instruction);
            }
        }
    }

    /// Compiles a child's steps; gives the number of its program.
    fn child(&mut self, steps: &[Step], place: &str) -> u32 {
        let mut draft = Draft::default();
        self.append(&mut draft, steps, 0, place);
        draft.program.push(Instruction::Exit);
        self.programs.push(draft.program);
        self.loops.push(draft.loops);
        (self.programs.len() - 1) as u32
    }

    /// The place of the innermost loop around an instruction that goes on without end, or else of the outermost one.
    pub fn loop_around(&self, program: u32, instruction: u32) -> Option<&str> {
        let endless = |one: &&Loop| {
            let again = &self.programs[program as usize][one.body.end as usize];
            matches!(again, Instruction::Again { times: u32::MAX, .. })
        };
        // Loops are ordered by their ends: inner ones before outer ones.
        let around = || {
            self.loops[program as usize].iter().filter(|one| (one.body.start..=one.body.end + 1).contains(&instruction))
        };
        around().find(endless).or_else(|| around().next_back()).map(|one| one.place.as_str())
    }

    /// The index of a file set: of the one with its name and size, or of a new one.
    fn set(&mut self, set: &FileSet) -> u16 {
        let files = Files { files: set.files, size: set.size.0, own: set.own, direct: set.direct };
        let known = self.files.iter().zip(&self.set_names);
        let same = known.into_iter().position(|(other, name)| name.is_some() && *name == set.name && *other == files);
        same.unwrap_or_else(|| {
            self.files.push(files);
            self.set_names.push(set.name.clone());
            self.files.len() - 1
        }) as u16
    }

    /// The index of a use of memory. An image is as long as its furthest use.
    fn touch(&mut self, touch: &Touch) -> u16 {
        let image = touch.image.as_ref().map(|name| index_of(&mut self.image_names, name));
        if let Some(image) = image {
            self.images.resize(self.image_names.len(), 0);
            let end = &mut self.images[usize::from(image)];
            *end = (*end).max(touch.from.0 + touch.size.0);
        }
        let Touch { from, size, times, order, write, compute, .. } = *touch;
        self.touches.push(Touches { image, from: from.0, size: size.0, times, order, write, compute });
        (self.touches.len() - 1) as u16
    }

    fn instruction(&mut self, step: &Step) -> Instruction {
        match step {
            Step::Compute(span) => Instruction::Compute { span: *span, then: 0 },
            Step::Call(span) => Instruction::Call(*span),
            Step::Sleep(span) => Instruction::Sleep { span: *span, then: 0 },
            Step::Period(length) => Instruction::Period(length.0),
            Step::Timer(timer) => Instruction::Timer {
                timer: index_of(&mut self.timers, &timer.name),
                period: timer.period.0,
                mode: timer.mode,
            },
            Step::Busy(length) => Instruction::Busy(length.0),
            Step::Open(set) => Instruction::Open(self.set(set)),
            Step::Create(set) => Instruction::Create(self.set(set)),
            Step::Delete(set) => Instruction::Delete(self.set(set)),
            Step::Write(size) => Instruction::Write(size.0),
            Step::Seek(place) => Instruction::Seek(*place),
            Step::Sync => Instruction::Sync,
            Step::Touch(touch) => Instruction::Touch(self.touch(touch)),
            Step::Read(size) => Instruction::Read(size.0),
            Step::Close => Instruction::Close,
            Step::Print(size) => Instruction::Print(size.0),
            Step::Lock(name) => Instruction::Lock(index_of(&mut self.locks, name)),
            Step::ReadLock(name) => Instruction::ReadLock(index_of(&mut self.locks, name)),
            Step::Unlock(name) => Instruction::Unlock(index_of(&mut self.locks, name)),
            Step::Send(name) => Instruction::Send(index_of(&mut self.pipes, name)),
            Step::Receive(name) => Instruction::Receive(index_of(&mut self.pipes, name)),
            Step::Acquire(name) => Instruction::Acquire(index_of(&mut self.semaphores, name)),
            Step::Release(name) => Instruction::Release(index_of(&mut self.semaphores, name)),
            Step::Barrier(name) => Instruction::Barrier(index_of(&mut self.barriers, name)),
            Step::ConditionWait(wait) => Instruction::ConditionWait {
                condition: index_of(&mut self.conditions, &wait.condition),
                lock: index_of(&mut self.locks, &wait.lock),
            },
            Step::ConditionSignal(name) => Instruction::ConditionSignal(index_of(&mut self.conditions, name)),
            Step::ConditionBroadcast(name) => Instruction::ConditionBroadcast(index_of(&mut self.conditions, name)),
            Step::Set(treatment) => {
                self.treatments.push(treatment.clone());
                Instruction::Set((self.treatments.len() - 1) as u16)
            }
            Step::Wait => Instruction::Wait,
            Step::Signal => Instruction::Signal,
            Step::Pause => Instruction::Pause,
            Step::Grow(demand) => Instruction::Grow(*demand),
            Step::Run(command) => Instruction::Run(index_of(&mut self.commands, command)),
            Step::Yield => Instruction::Yield,
            Step::Exec => Instruction::Exec,
            Step::Exit => Instruction::Exit,
            Step::Mark(name) => Instruction::Mark(index_of(&mut self.marks, name)),
            Step::Repeat(_) | Step::Fork(_) => unreachable!("taken by append"),
        }
    }
}

/// Links the instructions that are executed most often to their successors.
fn link(program: &mut Program) {
    for at in 0..program.len() {
        let after = match program.get(at + 1) {
            Some(&Instruction::Again { start, times: u32::MAX, .. }) => start,
            _ => at as u32 + 1,
        };
        if let Instruction::Compute { then, .. } | Instruction::Sleep { then, .. } = &mut program[at] {
            *then = after;
        }
    }
}

/// The index of a name, added if it is new.
fn index_of(names: &mut Vec<String>, name: &str) -> u16 {
    let known = names.iter().position(|n| n == name);
    known.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    }) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::{
        program::Forever,
        units::{Duration, Size},
    };

    #[test]
    fn loops_become_jumps_to_their_own_beginning() {
        let compute = Step::Compute(Span::Fixed(Duration(5)));
        let inner = Step::Repeat(Repeat { times: Times::Count(3), steps: vec![compute.clone()] });
        let outer = Step::Repeat(Repeat { times: Times::Count(2), steps: vec![inner, Step::Yield] });
        let all = Programs::compile([(&[outer][..], Times::Count(1))]);
        let expected = vec![
            Instruction::Enter { depth: 0 },
            Instruction::Enter { depth: 1 },
            Instruction::Enter { depth: 2 },
            Instruction::Compute { span: Span::Fixed(Duration(5)), then: 4 },
            Instruction::Again { depth: 2, start: 3, times: 3 },
            Instruction::Yield,
            Instruction::Again { depth: 1, start: 2, times: 2 },
            Instruction::Pass,
            Instruction::Again { depth: 0, start: 1, times: 1 },
            Instruction::Exit,
        ];
        assert_eq!(all.programs[0], expected);
    }

    #[test]
    fn the_last_of_an_endless_loop_goes_on_with_its_beginning() {
        let span = Span::Fixed(Duration(5));
        let endless = Step::Repeat(Repeat {
            times: Times::Word(Forever::Forever),
            steps: vec![Step::Compute(span), Step::Sleep(span)],
        });
        let all = Programs::compile([(&[endless][..], Times::Count(1))]);
        let inner = [Instruction::Compute { span, then: 3 }, Instruction::Sleep { span, then: 2 }];
        assert_eq!(all.programs[0][2..4], inner);
    }

    #[test]
    fn file_sets_of_one_name_are_the_same_files_and_others_are_not() {
        let set = |name: Option<&str>| FileSet {
            files: 3,
            size: Size(9),
            name: name.map(str::to_owned),
            own: false,
            direct: false,
        };
        let steps = [Step::Create(set(Some("a"))), Step::Open(set(Some("a"))), Step::Open(set(None))];
        let again = [Step::Delete(set(Some("a"))), Step::Open(set(None))];
        let all = Programs::compile([(&steps[..], Times::Count(1)), (&again[..], Times::Count(1))]);
        assert_eq!(all.programs[0][1..4], [Instruction::Create(0), Instruction::Open(0), Instruction::Open(1)]);
        assert_eq!(all.programs[1][1..3], [Instruction::Delete(0), Instruction::Open(2)]);
    }

    #[test]
    fn an_instruction_s_loop_is_known_by_its_place() {
        let forever = Times::Word(Forever::Forever);
        let yields = || Step::Repeat(Repeat { times: Times::Count(9), steps: vec![Step::Yield] });
        let endless = Step::Repeat(Repeat { times: forever, steps: vec![yields()] });
        let child = Step::Fork(vec![Step::Wait, endless]);
        let all = Programs::compile([(&[Step::Yield, child][..], Times::Count(1)), (&[yields()][..], Times::Count(2))]);
        // Child: wait, enter, enter, yield, again, again, exit.
        assert_eq!(all.loop_around(2, 4), Some("steps[1].fork[1].repeat"));
        assert_eq!(all.loop_around(1, 3), Some("steps"), "none is endless: the outermost");
        assert_eq!(all.loop_around(2, 0), None);
    }

    #[test]
    fn names_are_shared_between_jobs_and_children() {
        let lock = |name: &str| Step::Lock(name.to_owned());
        let child = Step::Fork(vec![lock("b"), lock("a")]);
        let all = Programs::compile([(&[lock("a"), child][..], Times::Count(1)), (&[lock("b")][..], Times::Count(1))]);
        assert_eq!(all.locks, ["a", "b"]);
        assert_eq!(all.programs[2], [Instruction::Lock(1), Instruction::Lock(0), Instruction::Exit]);
    }
}
