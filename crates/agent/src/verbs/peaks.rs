//! `schedlab-agent peaks`: the largest memory of each process as it ends, a line of JSON each.
//!
//! As root the kernel reports ends and programs, and nothing is looked at while nothing happens. Otherwise the own user's
//! processes are looked at every so often. Lines are written once a second at most; what is written together ends with a line
//! `until`, so that a reader can store it together.

use nix::{
    poll::{PollFd, PollFlags, ppoll},
    sys::{
        prctl::set_pdeathsig,
        signal::{SigSet, SigmaskHow, Signal, sigprocmask},
        time::TimeSpec,
    },
    unistd::getuid,
};
use schedlab_linux::{
    Fault, Root,
    clock::{process_time, wall_clock},
    sched::raise,
    signals::{has_stopped, note_stops},
};
use schedlab_model::{Nanos, units::parse_duration};
use schedlab_observe::peaks::{Begin, Ends, Finish, Groups, Line, Polled};
use std::{
    io::{self, Write},
    process::ExitCode,
    time::{Duration, Instant},
};

/// How long lines are held back to be written together, and how many bytes of them.
const TOGETHER: Duration = Duration::from_secs(1);
const MOST_BYTES: usize = 1 << 20;
/// How long ends may wait to be read: there is room for some 30,000.
const PATIENCE: Duration = Duration::from_millis(50);
/// The shortest time between two looks.
const SHORTEST: Nanos = 1_000_000;

/// Report the largest memory of each process as it ends: JSON lines.
#[derive(clap::Args)]
pub struct Peaks {
    /// For how long; until a signal to stop, if not given.
    #[arg(long = "for", value_parser = parse_duration)]
    lasting: Option<Nanos>,
    /// Time between two looks at processes, where the kernel does not report their ends, 1ms at least.
    #[arg(long, default_value = "50ms", value_parser = interval)]
    every: Nanos,
    /// Time between two looks at control groups.
    #[arg(long, default_value = "10s", value_parser = interval)]
    groups_every: Nanos,
    /// Look at processes also where the kernel would report their ends.
    #[arg(long)]
    polled: bool,
}

fn interval(text: &str) -> Result<Nanos, String> {
    let every = parse_duration(text)?;
    if every < SHORTEST { Err(format!("{text} is too short: 1ms at least")) } else { Ok(every) }
}

/// Where ends come from.
enum Source {
    Reported(Ends),
    Polled(Polled),
}

impl Peaks {
    /// Reports until the time is over, a signal comes, or nothing reads the lines any more.
    pub fn run(self) -> Result<ExitCode, Fault> {
        let waiting = listen()?;
        // While nothing happens nothing is written, and a reader that is gone would not be noticed.
        let _ = set_pdeathsig(Signal::SIGTERM);
        let root = Root::default();
        let (source, begin) = self.source(&root);
        if matches!(source, Source::Reported(_)) {
            // Short processes are over within a millisecond, and their arguments with them. Without the right to it, more are missed.
            let _ = raise(0, 0);
        }
        let mut recording = Recording {
            source,
            groups: Groups::new(&root),
            out: Out { text: Vec::new(), since: None },
            waiting,
            until: self.lasting.map(|lasting| Instant::now() + Duration::from_nanos(lasting)),
            every: Duration::from_nanos(self.every),
            groups_every: Duration::from_nanos(self.groups_every),
        };
        recording.out.put(&Line::Begin(begin));
        // A reader that is gone has seen enough.
        let _ = recording.out.write().and_then(|()| recording.follow()).and_then(|()| recording.finish());
        Ok(ExitCode::SUCCESS)
    }

    fn source(&self, root: &Root) -> (Source, Begin) {
        let mut missing = Vec::new();
        let reported = if self.polled {
            missing.push("ends of processes: --polled".to_owned());
            None
        } else {
            Ends::listen(root).map_err(|fault| missing.push(format!("ends of processes: {fault}; run as root"))).ok()
        };
        let scanned = reported.as_ref().and_then(Ends::without_events);
        missing.extend(scanned.map(|fault| format!("programs of short processes: {fault}")));
        let programs = if reported.is_some() && scanned.is_none() { "events" } else { "scan" };
        let how = if reported.is_some() { "taskstats" } else { "polled" };
        let every_ns = (programs == "scan").then_some(self.every);
        let source = match reported {
            Some(ends) => Source::Reported(ends),
            None => Source::Polled(Polled::new(root, getuid().as_raw())),
        };
        (source, Begin { time_ns: wall_clock(), how, programs, every_ns, missing })
    }
}

/// Blocks the signals that stop this process, but for its waits; returns the mask of these.
fn listen() -> Result<SigSet, Fault> {
    let call = |why: io::Error| Fault::Call { doing: "listening to signals".to_owned(), why };
    let stopping = note_stops().map_err(call)?;
    let mut waiting = SigSet::empty();
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&stopping), Some(&mut waiting)).map_err(|why| call(why.into()))?;
    stopping.iter().for_each(|signal| waiting.remove(signal));
    Ok(waiting)
}

/// A recording at work.
struct Recording {
    source: Source,
    groups: Groups,
    out: Out,
    /// The mask of signals during a wait.
    waiting: SigSet,
    until: Option<Instant>,
    every: Duration,
    groups_every: Duration,
}

impl Recording {
    fn follow(&mut self) -> io::Result<()> {
        let (mut looked, mut grouped) = (None, None);
        while !has_stopped() && self.until.is_none_or(|until| Instant::now() < until) {
            let time = Instant::now();
            if due(grouped, self.groups_every, time) {
                self.groups.look(|line| self.out.put(line));
                grouped = Some(time);
            }
            if due(looked, self.pause(), time) {
                self.read();
                looked = Some(time);
            } else if let Source::Reported(ends) = &mut self.source {
                ends.note(|line| self.out.put(line));
            }
            if self.out.is_due() {
                self.out.write()?;
            }
            self.wait(looked, grouped);
        }
        Ok(())
    }

    /// How long ends may wait.
    fn pause(&self) -> Duration {
        match &self.source {
            Source::Reported(ends) if ends.urgent().is_some() => PATIENCE,
            _ => self.every,
        }
    }

    fn read(&mut self) {
        match &mut self.source {
            Source::Reported(ends) => ends.read(|line| self.out.put(line)),
            Source::Polled(polled) => polled.look(|line| self.out.put(line)),
        }
    }

    /// Waits until there is something to do.
    fn wait(&self, looked: Option<Instant>, grouped: Option<Instant>) {
        let now = Instant::now();
        let left = |since: Option<Instant>, every: Duration| {
            since.map_or(Duration::ZERO, |since| (since + every).saturating_duration_since(now))
        };
        let patient = left(looked, self.pause());
        let mut limit = left(grouped, self.groups_every);
        limit = limit.min(self.until.map_or(limit, |until| until.saturating_duration_since(now)));
        limit = if self.out.since.is_some() { limit.min(left(self.out.since, TOGETHER)) } else { limit };
        let mut files = Vec::new();
        match &self.source {
            Source::Reported(ends) => {
                let quiet = patient.is_zero() && ends.urgent().is_some();
                limit = if quiet { limit } else { limit.min(patient) };
                files.extend(ends.urgent());
                // Ends come by the thousand: for a while after a look, none wakes this process.
                files.extend(quiet.then(|| ends.patient()));
            }
            Source::Polled(_) => limit = limit.min(patient),
        }
        let mut polled: Vec<PollFd<'_>> = files.into_iter().map(|file| PollFd::new(file, PollFlags::POLLIN)).collect();
        // After an error the caller looks again.
        let _ = ppoll(&mut polled, Some(TimeSpec::from_duration(limit)), Some(self.waiting));
    }

    fn finish(&mut self) -> io::Result<()> {
        self.read();
        self.groups.finish(|line| self.out.put(line));
        let [processes, unknown] = match &self.source {
            Source::Reported(ends) => ends.counted,
            Source::Polled(polled) => polled.counted,
        };
        let finish = Finish { time_ns: wall_clock(), own_ns: process_time(), processes, unknown };
        self.out.put(&Line::Finish(finish));
        self.out.write()
    }
}

fn due(since: Option<Instant>, every: Duration, now: Instant) -> bool {
    since.is_none_or(|since| now >= since + every)
}

/// Lines that are held back.
struct Out {
    text: Vec<u8>,
    /// When the first of them came.
    since: Option<Instant>,
}

impl Out {
    fn put(&mut self, line: &Line<'_>) {
        self.since.get_or_insert_with(Instant::now);
        serde_json::to_writer(&mut self.text, line).expect("numbers and words are JSON");
        self.text.push(b'\n');
    }

    fn is_due(&self) -> bool {
        self.text.len() > MOST_BYTES || self.since.is_some_and(|since| since.elapsed() >= TOGETHER)
    }

    fn write(&mut self) -> io::Result<()> {
        if self.since.is_some() {
            self.put(&Line::Until { time_ns: wall_clock() });
        }
        let mut out = io::stdout().lock();
        out.write_all(&self.text)?;
        self.text.clear();
        self.since = None;
        out.flush()
    }
}
