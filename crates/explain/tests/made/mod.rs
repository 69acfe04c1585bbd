//! Recordings made by hand. Times are in microseconds.

use schedlab_explain::{Explainer, Options, Report, Row};
use schedlab_traces::kernel::{Call, Context, Event, Head, Kind, Left, Listener, Pid};

/// Events, one by one.
#[derive(Debug, Clone, Default)]
pub struct Made(pub Vec<Event>);

#[allow(dead_code, reason = "each file of tests has its own kinds of events")]
impl Made {
    #[allow(clippy::too_many_arguments, reason = "an event has as many fields")]
    pub fn add(&mut self, us: u64, cpu: u16, kind: Kind, task: Pid, other: Pid, value: u64, bits: u8) -> &mut Made {
        self.0.push(Event { time: us * 1000, value, task, other, extra: 0, cpu, kind, bits });
        self
    }

    pub fn switch(&mut self, us: u64, cpu: u16, prev: Pid, left: Left, next: Pid) -> &mut Made {
        let priorities = 120 << 32 | 120;
        self.add(us, cpu, Kind::Switch, prev, next, priorities, Event::bits(left as u8, Context::Task))
    }

    /// A task wakes another one, which last ran on the same processor.
    pub fn waking(&mut self, us: u64, cpu: u16, waker: Pid, task: Pid) -> &mut Made {
        self.add(us, cpu, Kind::Waking, task, waker, u64::from(cpu), Event::bits(0, Context::Task))
    }

    /// An interrupt wakes a task.
    pub fn interrupt_wakes(&mut self, us: u64, cpu: u16, context: Context, task: Pid) -> &mut Made {
        self.add(us, cpu, Kind::Waking, task, 0, u64::from(cpu), Event::bits(0, context))
    }

    pub fn at(&mut self, us: u64, cpu: u16, kind: Kind, value: u64) -> &mut Made {
        self.add(us, cpu, kind, 0, 0, value, 0)
    }

    /// The current task enters a system call.
    pub fn enters(&mut self, us: u64, cpu: u16, task: Pid, call: Call) -> &mut Made {
        self.add(us, cpu, Kind::SyscallEnter, task, task, 0, Event::bits(call as u8, Context::Task))
    }

    /// It leaves the one that it is in.
    pub fn leaves(&mut self, us: u64, cpu: u16, task: Pid) -> &mut Made {
        self.add(us, cpu, Kind::SyscallExit, task, task, 0, 0)
    }

    pub fn charged(&mut self, us: u64, cpu: u16, task: Pid, charged_us: u64) -> &mut Made {
        self.add(us, cpu, Kind::Runtime, task, task, charged_us * 1000, 0)
    }

    /// A request begins, or ends: 0 a read, 1 a write, 2 another one.
    pub fn request(&mut self, us: u64, kind: Kind, drive: Pid, sector: u64, sectors: u32, flag: u8) -> &mut Made {
        self.add(us, 0, kind, drive, 0, sector, Event::bits(flag, Context::Unknown));
        self.0.last_mut().expect("it was added").extra = sectors * 512;
        self
    }

    pub fn explain(&self, names: &[(Pid, &str)], options: Options) -> Result<Report, String> {
        self.explain_with(names, options, &Head::default())
    }

    /// With what the file says of itself.
    pub fn explain_with(&self, names: &[(Pid, &str)], options: Options, head: &Head) -> Result<Report, String> {
        let mut explainer = Explainer::new(options);
        for (number, (task, name)) in names.iter().enumerate() {
            explainer.name(number as u64, name);
            let named = Event {
                time: 0,
                value: number as u64,
                task: *task,
                other: 0,
                extra: 0,
                cpu: 0,
                kind: Kind::Named,
                bits: 0,
            };
            explainer.event(&named);
        }
        self.0.iter().for_each(|event| explainer.event(event));
        explainer.report(head)
    }

    /// What is said without any wishes.
    pub fn report(&self) -> Report {
        self.explain(&[], Options::default()).unwrap()
    }
}

/// The row of a task.
#[allow(dead_code, reason = "not all files of tests ask for it")]
pub fn row(report: &Report, pid: Pid) -> &Row {
    report.tasks.iter().find(|row| row.pid == Some(pid)).unwrap_or_else(|| panic!("no task {pid}"))
}
