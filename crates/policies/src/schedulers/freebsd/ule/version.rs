//! What differs between the versions of ULE, and its parameters.

use super::{calendar::Spares, interactivity::Rules};
use schedlab_model::{
    info::{Domain, Parameter, Params},
    task::Wait,
};

/// The tunables.
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "hz",
        meaning: "ticks per second of the periodic clock (kern.hz)",
        domain: Domain::Rate { low: 50.0, high: 10_000.0 },
        default: Some("1000/s"),
        logarithmic: true,
        grows: false,
        host: None,
    },
    Parameter {
        name: "stathz",
        meaning: "ticks per second of the statistics clock; 0/s: what the local APIC's timer makes of hz, 133 at 100 and at 1000",
        domain: Domain::Rate { low: 0.0, high: 10_000.0 },
        default: Some("0/s"),
        logarithmic: false,
        grows: false,
        host: None,
    },
    Parameter {
        name: "preempt_thresh",
        meaning: "the worst priority that preempts immediately (kern.sched.preempt_thresh); 256: the variant's own, 64 or 80",
        domain: Domain::Count { low: 0, high: NOT_GIVEN },
        default: Some("256"),
        logarithmic: false,
        grows: false,
        host: None,
    },
    Parameter {
        name: "slice",
        meaning: "slice in ticks of the statistics clock (kern.sched.slice); 0: a tenth of a second",
        domain: Domain::Count { low: 0, high: 1000 },
        default: Some("0"),
        logarithmic: false,
        grows: false,
        host: None,
    },
    Parameter {
        name: "interact",
        meaning: "score from which on a thread is not interactive (kern.sched.interact)",
        domain: Domain::Count { low: 0, high: 100 },
        default: Some("30"),
        logarithmic: false,
        grows: false,
        host: None,
    },
    Parameter {
        name: "variant",
        meaning: "FreeBSD 7 of October 2007; 9 and 10: other priorities, slices that shrink with load, processors in groups; or 14: \
                  as 9, with other rules for several processors",
        domain: Domain::Choice { names: &["2007", "2011", "2023"] },
        default: Some("2007"),
        logarithmic: false,
        grows: false,
        host: None,
    },
    Parameter {
        name: "nice_in_score",
        meaning: "whether nice counts in the score of interactivity, as since the end of September 2007",
        domain: Domain::Switch,
        default: Some("true"),
        logarithmic: false,
        grows: false,
        host: None,
    },
];

/// What differs between the versions.
#[derive(Debug, Clone)]
pub struct Version {
    pub rules: Rules,
    /// The best priority of realtime threads (PRI_MIN_REALTIME) and inside the kernel (PRI_MIN_KERN).
    pub first_realtime: u8,
    pub first_kernel: u8,
    /// The priority of softclock (PI_SWI(SWI_CLOCK)).
    pub softclock: u8,
    /// FreeBSD 7: a sleep's priority follows from what is waited for; slices are whole, and only timeshare threads have
    /// them; a preemption forgets the end of a slice.
    pub old: bool,
    /// FreeBSD 14: timers wake threads in the interrupt itself, and there are other rules for several processors.
    pub today: bool,
    /// Which batch threads another processor may have.
    pub spares: Spares,
}

/// Sleep priorities of FreeBSD 7.
const PRIBIO: u8 = 76;
const PSOCK: u8 = 88;
const PWAIT: u8 = 92;
const PPAUSE: u8 = 104;
/// The largest divisor of a slice (SCHED_SLICE_MIN_DIVISOR).
pub const MOST_DIVIDED: u64 = 6;
/// Selects the version's own threshold of preemption.
pub const NOT_GIVEN: u64 = 256;

impl Version {
    /// rtprio 0 is the best of 32 levels.
    pub fn realtime(&self, priority: u8) -> u8 {
        self.first_realtime + ((99 - u32::from(priority.clamp(1, 99))) * 31 / 98) as u8
    }

    /// The priority of a timeshare thread that falls asleep, and in FreeBSD 7 of any other: that of what it waits for; later
    /// at least the best batch priority (static_boost).
    pub fn asleep(&self, wait: Wait, timeshare: bool, priority: u8) -> u8 {
        match wait {
            _ if !self.old && timeshare => priority.min(self.rules.first_batch),
            _ if !self.old => priority,
            Wait::Pipe | Wait::Disk => PRIBIO,
            Wait::Message => PSOCK,
            Wait::Timer | Wait::Child => PWAIT,
            Wait::Signal => PPAUSE,
            Wait::Lock => priority,
        }
    }

    /// The version that the parameters ask for.
    pub fn new(params: &Params) -> Version {
        let hz = params.real("hz");
        let increment = ((hz * 1024.0) as u64 / stathz(params) as u64).max(1);
        let (old, today) = (params.name("variant") == "2007", params.name("variant") == "2023");
        let rules = Rules {
            hz: hz as i64,
            increment,
            first_interactive: if old { 128 } else { 120 },
            interactive_levels: if old { 31 } else { 32 },
            first_batch: if old { 160 } else { 152 },
            share_levels: if old { 23 } else { 32 },
            interact: params.whole("interact") as i64,
            nice_in_score: params.switch("nice_in_score"),
        };
        Version {
            rules,
            first_realtime: if old { 128 } else { 48 },
            first_kernel: if old { 64 } else { 80 },
            softclock: if old { 52 } else { 40 },
            old,
            today,
            spares: match (old, today) {
                (true, _) => Spares::Second,
                (_, true) => Spares::EveryDay,
                _ => Spares::SecondOrFirst,
            },
        }
    }
}

/// Ticks per second of the statistics clock: as requested, or what the kernel makes of the local APIC's timer.
pub fn stathz(params: &Params) -> f64 {
    let given = params.real("stathz");
    if given >= 1.0 {
        return given.trunc();
    }
    let hz = params.real("hz") as u64;
    let timer = match hz {
        1500.. => hz,
        750.. => 2 * hz,
        _ => 4 * hz,
    };
    (timer / (timer / 128)) as f64
}
