//! What all workers of a run share: programs, memory, files, pipes, groups. Complete before the first is created.

use crate::{
    changes::Change,
    chase::{Chase, Pace},
    groups::Groups,
    plan::Plan,
    processors::{of_job, processors, used},
    shared::SharedState,
    store::Store,
    sync::Pipe,
    volume::Mounted,
    work::Measure,
    workload::{Workload, jobs},
};
use schedlab_linux::{Fault, files};
use schedlab_model::{machine::Sizing, names::RunGroup, program::Treatment, scenario::Job};
use schedlab_tune::RunJournal;
use schedlab_workloads::{Instruction, Programs};
use std::{ffi::CString, fs::File, os::fd::OwnedFd};

/// Children that have a slot each; more of them count, but no signal of their job reaches them.
const CHILDREN: usize = 1 << 15;
/// Most bytes moved by one call.
const LARGEST_BUFFER: usize = 1 << 20;

/// Memory that a job's workers get before they start.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Needs {
    /// Bytes that one call moves.
    pub buffer: usize,
    /// Bytes of own memory that are touched.
    pub memory: usize,
}

/// Everything a run needs before its workers exist.
pub(crate) struct Setup {
    pub workload: Workload,
    pub jobs: Vec<Job>,
    pub seed: u64,
    /// How long the run may last, ns.
    pub longest: u64,
    pub measure: Measure,
    pub sizing: Sizing,
    /// The host's processors that are used as the scenario's, in its order.
    pub cpus: Vec<u16>,
    /// Those of them that any task may use: foreign load there disturbs the run.
    pub used: Vec<u16>,
    /// By job: where its tasks may run, the slice they ask for, what they need.
    pub processors: Vec<Vec<u16>>,
    pub slices: Vec<Option<u64>>,
    pub needs: Vec<Needs>,
    /// By job with a footprint: how fast it is gone through.
    pub chases: Vec<Option<Pace>>,
    pub null: File,
    /// What tasks execute, if any do: see [`files::execute`].
    pub no_program: Option<OwnedFd>,
    pub pipes: Vec<Pipe>,
    pub commands: Vec<CString>,
    pub shared: SharedState,
    pub store: Store,
    pub groups: Groups,
    /// The same as the scenario has them.
    pub run_groups: Vec<RunGroup>,
    /// By index, how tasks change how they are treated.
    pub changes: Vec<Change>,
}

impl Setup {
    /// Whether the run waits for the end of that job's tasks.
    pub fn is_awaited(&self, job: usize) -> bool {
        self.jobs[job].is_finite()
    }

    /// How tasks of that job, and their children, may change how they are treated.
    pub fn treatments(&self, job: usize) -> impl Iterator<Item = &Treatment> {
        let programs = &self.workload.programs;
        let all = reached(programs, job).into_iter().flat_map(|program| &programs.programs[program]);
        all.filter_map(|instruction| match instruction {
            Instruction::Set(index) => programs.treatments.get(usize::from(*index)),
            _ => None,
        })
    }

    pub fn new(journal: &RunJournal, plan: &Plan, volume: Option<&Mounted>) -> Result<Setup, Fault> {
        let workload = Workload::new(plan)?;
        let jobs: Vec<Job> = jobs(&plan.scenario).into_iter().cloned().collect();
        let cpus = processors(plan)?;
        let programs = &workload.programs;
        let forks = programs.programs.iter().flatten().any(|step| matches!(step, Instruction::Fork(_)));
        let children = if forks { CHILDREN } else { 0 };
        let shared = SharedState::new(workload.tasks.len(), children, jobs.len(), programs)?;
        for (slot, entry) in shared.slots.iter().zip(&workload.tasks) {
            slot.job.store(entry.job as u32, std::sync::atomic::Ordering::Relaxed);
        }
        let scratch = volume.map_or(&plan.options.scratch, |volume| &volume.files);
        let settle = || match volume {
            Some(volume) => volume.make_swap().and_then(|()| volume.chill()),
            None => Ok(()),
        };
        let chases = jobs.iter().map(|job| Chase::rate_of(job, &of_job(job, &cpus))).collect::<Result<_, _>>()?;
        let null = File::options().read(true).write(true).open("/dev/null");
        let pipes = programs.pipes.iter().zip(&programs.capacities);
        let groups = groups(journal, plan)?;
        let names: Vec<&String> = plan.scenario.workload.keys().collect();
        Ok(Setup {
            seed: plan.seed,
            longest: plan.scenario.duration.unwrap_or(plan.options.at_most).0.min(plan.options.at_most.0),
            measure: Measure::new(&plan.calibration),
            sizing: plan.scenario.machine.memory.sizing,
            used: used(&jobs, &programs.treatments, &cpus),
            processors: jobs.iter().map(|job| of_job(job, &cpus)).collect(),
            slices: jobs.iter().map(|job| job.slice.or(plan.slice).map(|slice| slice.0)).collect(),
            needs: (0..jobs.len()).map(|job| needs(programs, job)).collect(),
            chases,
            null: null.map_err(|why| Fault::file("/dev/null", "open", why))?,
            no_program: no_program(programs)?,
            pipes: pipes.map(|(name, &capacity)| Pipe::new(name, capacity)).collect::<Result<_, _>>()?,
            commands: programs.commands.iter().map(|text| command(text)).collect::<Result<_, _>>()?,
            shared,
            store: Store::new(journal, scratch, programs, workload.tasks.len(), settle)?,
            changes: programs.treatments.iter().map(|one| Change::new(one, &cpus, &groups, &names)).collect(),
            groups,
            run_groups: RunGroup::all(&plan.scenario.groups),
            cpus,
            jobs,
            workload,
        })
    }
}

/// What tasks execute, if any do.
fn no_program(programs: &Programs) -> Result<Option<OwnedFd>, Fault> {
    let executes = programs.programs.iter().flatten().any(|step| matches!(step, Instruction::Exec));
    executes.then(files::no_program).transpose().map_err(|why| Fault::Refused {
        what: "the step exec".to_owned(),
        why: format!("the kernel makes no file in memory to execute: {why}"),
        advice: "leave it out".to_owned(),
    })
}

/// The groups. Where what the kernel lacks is a fault, that fault.
fn groups(journal: &RunJournal, plan: &Plan) -> Result<Groups, Fault> {
    let groups = Groups::new(journal, &plan.scenario.groups);
    if !plan.options.strict || groups.refused.is_empty() {
        return Ok(groups);
    }
    Err(Fault::Refused {
        what: "groups".to_owned(),
        why: groups.refused.join("; "),
        advice: "take a kernel that has the controller, and does not switch it off by its command line".to_owned(),
    })
}

/// The programs of a job's tasks and of their children.
fn reached(programs: &Programs, job: usize) -> Vec<usize> {
    let (mut reached, mut next) = (vec![job], 0);
    while let Some(&program) = reached.get(next) {
        for instruction in &programs.programs[program] {
            if let Instruction::Fork(child) = *instruction
                && !reached.contains(&(child as usize))
            {
                reached.push(child as usize);
            }
        }
        next += 1;
    }
    reached
}

/// What a job's program and those of its children need.
fn needs(programs: &Programs, job: usize) -> Needs {
    let mut needs = Needs::default();
    for instruction in reached(programs, job).into_iter().flat_map(|program| &programs.programs[program]) {
        match *instruction {
            Instruction::Read(bytes) | Instruction::Write(bytes) | Instruction::Print(bytes) => {
                needs.buffer = needs.buffer.max((bytes as usize).min(LARGEST_BUFFER));
            }
            Instruction::Touch(touch) => {
                let touch = &programs.touches[usize::from(touch)];
                if touch.image.is_none() {
                    needs.memory = needs.memory.max((touch.from + touch.size) as usize);
                }
            }
            _ => {}
        }
    }
    needs
}

/// A command as the kernel takes it.
fn command(text: &str) -> Result<CString, Fault> {
    CString::new(text).map_err(|_| Fault::Wrong(format!("the command {text:?} has a zero byte in it")))
}
