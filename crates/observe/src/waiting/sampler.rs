//! Looks at the tasks of a command again and again.
//!
//! A look finds a task in a wait with the probability that it is in it:
//!
//! ```text
//! time in a wait  =  sum over the looks that found it in it of the time since the look before
//! ```
//!
//! Looks are 10 ms apart on average, at moments that no period of the command can agree with, and farther apart where
//! the tasks are too many to be looked at for 1 % of a processor. Connections are looked at less often, by a pace of their own: it leaves no gap in the other.

use super::{
    cause::{Call, Cause, Wait},
    descriptors::Table,
    remotes::{Remote, Remotes},
    tasks,
};
use schedlab_linux::{clock, proc::task::TaskStat};
use serde::Serialize;
use std::{
    collections::{BTreeSet, HashSet},
    fs,
    time::{Duration, Instant},
};

/// The mean time between two looks where it costs little.
const PERIOD: Duration = Duration::from_millis(10);
/// Looks at tasks may take one such part of the time.
const PART: u32 = 100;
/// The mean time between two looks at connections, and the part of the time that these may take.
const CONNECTIONS_PERIOD: Duration = Duration::from_millis(50);
const CONNECTIONS_PART: u32 = 200;
/// Steps of this part of a period fall nowhere twice (the golden ratio).
const STEP: f64 = 0.618_033_988_749_895;

/// What some tasks waited for while they slept, ns.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Slept {
    /// How often a task was seen asleep.
    pub seen: u64,
    /// The sum of the squares of the times that these looks stand for, ns².
    pub squares: f64,
    /// A remote end, or data in flight.
    pub network_ns: u64,
    /// A lock.
    pub lock_ns: u64,
    /// A time.
    pub timer_ns: u64,
    /// Another program.
    pub program_ns: u64,
    /// A person.
    pub terminal_ns: u64,
    /// None of these, or not known.
    pub other_ns: u64,
}

impl Slept {
    fn add(&mut self, cause: Cause, ns: u64) {
        self.seen += 1;
        self.squares += (ns as f64).powi(2);
        *match cause {
            Cause::Network => &mut self.network_ns,
            Cause::Lock => &mut self.lock_ns,
            Cause::Timer => &mut self.timer_ns,
            Cause::Program => &mut self.program_ns,
            Cause::Terminal => &mut self.terminal_ns,
            Cause::Other => &mut self.other_ns,
        } += ns;
    }
}

/// What the looks saw.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Waits {
    /// How many there were.
    pub looks: u64,
    /// Processor time that looking took, ns.
    pub own_ns: u64,
    /// The first task's waits.
    pub main: Slept,
    /// Those of all tasks.
    pub whole: Slept,
    /// Connections of this host that have come and gone meanwhile without being seen: some may be the command's.
    pub unseen_connections: u64,
    /// The connections, by remote end; none where the kernel does not report them.
    pub remotes: Option<Vec<Remote>>,
}

/// When the next of some looks is due: a period apart on average, or so far that they take no more than their part of the time.
struct Pace {
    period: Duration,
    /// Looks may take one such part of the time.
    part: u32,
    phase: f64,
    due: Instant,
    /// What a look takes, of the last few.
    mean: Duration,
}

impl Pace {
    fn new(period: Duration, part: u32) -> Pace {
        Pace { period, part, phase: 0.5, due: Instant::now() + period / 2, mean: Duration::ZERO }
    }

    /// A look has taken that much processor time.
    fn looked(&mut self, took: Duration) {
        // A single one that took long makes no long gap, and one of many tasks counts soon.
        self.mean = (self.mean * 3 + took) / 4;
        self.phase = (self.phase + STEP).fract();
        self.due = Instant::now() + self.period.max(self.mean * self.part).mul_f64(0.5 + self.phase);
    }
}

/// Looks at the tasks below this process.
pub struct Sampler {
    last: Instant,
    tasks: Pace,
    connections: Pace,
    seen: Waits,
    remotes: Option<Remotes>,
}

impl Sampler {
    /// Before the command begins.
    pub fn begin() -> Sampler {
        let (tasks, connections) = (Pace::new(PERIOD, PART), Pace::new(CONNECTIONS_PERIOD, CONNECTIONS_PART));
        let remotes = Remotes::begin();
        Sampler { last: Instant::now(), tasks, connections, seen: Waits::default(), remotes }
    }

    /// How long it is until the next look.
    pub fn left(&self) -> Duration {
        self.tasks.due.saturating_duration_since(Instant::now())
    }

    /// Looks, if it is time. `child` is the first task; `strangers` were there before it.
    pub fn look(&mut self, child: i32, strangers: &BTreeSet<i32>) {
        let began = Instant::now();
        if began < self.tasks.due {
            return;
        }
        let spent = clock::thread_time();
        let gap = (began - self.last).as_nanos() as u64;
        self.last = began;
        self.seen.looks += 1;
        tasks::each(strangers, |process, task| {
            let Some(wait) = wait_of(process, task) else { return };
            self.seen.whole.add(wait.cause, gap);
            if task == child {
                self.seen.main.add(wait.cause, gap);
            }
            if let (Some(socket), Some(remotes)) = (wait.socket, &mut self.remotes) {
                remotes.waited(socket, gap);
            }
        });
        self.tasks.looked(Duration::from_nanos(clock::thread_time() - spent));
        if began >= self.connections.due {
            self.look_at_connections(strangers);
        }
        self.seen.own_ns += clock::thread_time() - spent;
    }

    fn look_at_connections(&mut self, strangers: &BTreeSet<i32>) {
        let Some(remotes) = &mut self.remotes else { return };
        let (spent, mut sockets) = (clock::thread_time(), HashSet::new());
        tasks::each(strangers, |process, task| {
            if process == task {
                sockets.extend(Table::of(process).sockets());
            }
        });
        remotes.look(&sockets);
        self.connections.looked(Duration::from_nanos(clock::thread_time() - spent));
    }

    /// What was seen.
    pub fn end(mut self) -> Waits {
        self.seen.unseen_connections = self.remotes.as_mut().map_or(0, Remotes::unseen);
        Waits { remotes: self.remotes.map(Remotes::report), ..self.seen }
    }
}

/// The sockets, by inode, from which tasks of a process wait for something, and whether for nothing else.
pub fn asleep_on(process: i32) -> Vec<(u64, bool)> {
    let waits = tasks::threads(process).into_iter().filter_map(|task| wait_of(process, task));
    waits.filter(|wait| !wait.sends).filter_map(|wait| Some((wait.socket?.0, wait.alone))).collect()
}

/// What a task waits for; none if it does not sleep.
fn wait_of(process: i32, task: i32) -> Option<Wait> {
    let folder = format!("/proc/{process}/task/{task}");
    let stat = fs::read(format!("{folder}/stat")).ok()?;
    // Woken since, stopped, or not ours to look at.
    let unknown = Wait { cause: Cause::Other, socket: None, alone: false, sends: false };
    match TaskStat::of(&stat)?.state()? {
        b'S' => {}
        b'T' | b't' => return Some(unknown),
        _ => return None,
    }
    let text = fs::read_to_string(format!("{folder}/syscall")).unwrap_or_default();
    if text.starts_with("running") {
        return None;
    }
    Some(Call::read(&text).map_or(unknown, |call| call.wait(&mut Table::of(process))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::{Child, Command, Stdio};

    /// What a child of this test waits for, once it does.
    fn waits(child: &Child) -> Cause {
        let (pid, began) = (child.id() as i32, Instant::now());
        let mut last = None;
        // Before it does what it is for, it loads its libraries.
        while began.elapsed() < Duration::from_secs(20) {
            let now = wait_of(pid, pid).map(|wait| wait.cause);
            if let Some(cause) = now.filter(|_| now == last) {
                return cause;
            }
            last = now;
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("it never slept")
    }

    fn started(words: &[&str]) -> Child {
        Command::new(words[0]).args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
    }

    #[test]
    fn a_timer_a_program_and_a_lock_are_told_apart() {
        let lock = tempfile::NamedTempFile::new().unwrap();
        let path = lock.path().to_str().unwrap();
        let mut holder = started(&["flock", path, "sleep", "30"]);
        for (words, cause) in [
            (vec!["sleep", "30"], Cause::Timer),
            (vec!["cat"], Cause::Program),
            (vec!["sh", "-c", "sleep 30; :"], Cause::Program),
        ] {
            let mut child = started(&words);
            assert_eq!(waits(&child), cause, "{words:?}");
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(waits(&holder), Cause::Program);
        let mut waiter = started(&["flock", path, "true"]);
        assert_eq!(waits(&waiter), Cause::Lock);
        for child in [&mut waiter, &mut holder] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_thread_that_waits_for_a_remote_end_names_its_socket() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap();
        let (sender, number) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut client = std::net::TcpStream::connect(place).unwrap();
            sender.send(nix::unistd::gettid().as_raw()).unwrap();
            client.read_to_end(&mut Vec::new()).unwrap()
        });
        let (server, _) = listener.accept().unwrap();
        let (task, began) = (number.recv().unwrap(), Instant::now());
        let own = std::process::id() as i32;
        let mut found = None;
        while began.elapsed() < Duration::from_secs(20) && found.is_none() {
            found = wait_of(own, task).filter(|wait| wait.cause == Cause::Network);
        }
        assert!(found.unwrap().socket.is_some());
        drop(server);
        thread.join().unwrap();
    }
}
