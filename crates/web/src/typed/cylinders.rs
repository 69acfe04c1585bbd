//! A list of cylinders: requests to a drive, each with the time at which it arrives if that is not 0 ("98", "98@20ms"). The answer is how
//! elevators serve it.
//!
//! ```text
//! seek(d)   =  d * 1 ms                 over d cylinders
//! sector    =  cylinder * S + k         of the k-th request for its cylinder, of S sectors on each
//! wait      =  the drive takes the request - it arrives
//! response  =  the drive has served it - it arrives
//! ```
//!
//! The drive is that of an experiment, a rotating one, whose heads move in a straight line over time and whose surface takes 1 ns for a sector:
//! what a textbook counts is all of the time, to some ns. Each request is a read of one sector for a task of its own, and none is merged with another.

use super::{Word, words};
use crate::fault::Fault;
use schedlab_disk::{Done, Drive, Progress, RequestQueue, Rotating, Submitted};
use schedlab_model::{
    MILLISECOND, Nanos,
    info::{Info, Params},
    machine::{Disk, DiskQueue, SeekCurve, Sourced::Bare},
    request::{Direction, IoClass, Request, Sector},
    rng::Rng,
    scenario::Choice,
    units::{Duration, Rate, Size},
};
use schedlab_policies::elevators::{self, ELEVATORS, travel_to_the_ends};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

/// Most requests, elevators, and cylinders of the drive.
const MOST: usize = 500;
const MOST_ELEVATORS: usize = 4;
const MOST_CYLINDERS: u32 = 100_000;
/// A seek over one cylinder.
const SEEK: Nanos = MILLISECOND;
/// One sector passes in 1 ns: the drive has no shorter time.
const SECTORS_PER_SECOND: f64 = 1e9;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cylinders {
    text: String,
    /// Where the heads are at first.
    head: u32,
    /// Cylinders of the drive, numbered from 0.
    cylinders: u32,
    elevators: Vec<Choice>,
}

/// A request as it was typed.
#[derive(Clone, Copy)]
struct Wanted {
    cylinder: u32,
    arrives: Nanos,
}

pub fn answer(asked: &Cylinders) -> Result<Value, Fault> {
    let &Cylinders { ref text, head, cylinders, ref elevators } = asked;
    if !(1..=MOST_CYLINDERS).contains(&cylinders) {
        return Err(format!("cylinders: {cylinders} is not between 1 and {MOST_CYLINDERS}").into());
    }
    if head >= cylinders {
        return Err(format!("head: there is no cylinder {head}: they are numbered from 0 to {}", cylinders - 1).into());
    }
    if elevators.is_empty() || elevators.len() > MOST_ELEVATORS {
        return Err(format!("elevators: there are {}; name 1 to {MOST_ELEVATORS}", elevators.len()).into());
    }
    let read = |word: &Word<'_>| wanted(word, cylinders);
    let requests: Vec<Wanted> = words(text, MOST, "requests")?.iter().map(read).collect::<Result<_, _>>()?;
    let exercise = Exercise::new(requests, head, cylinders);
    let served: Vec<Value> = elevators.iter().map(|choice| exercise.served(choice)).collect::<Result<_, _>>()?;
    let requests = exercise.requests.iter().map(|one| json!({ "cylinder": one.cylinder, "arrives": one.arrives }));
    Ok(json!({ "requests": requests.collect::<Vec<_>>(), "elevators": served }))
}

fn wanted(word: &Word<'_>, cylinders: u32) -> Result<Wanted, Fault> {
    let (cylinder, time) =
        word.text.split_once('@').map_or((word.text, None), |(cylinder, time)| (cylinder, Some(time)));
    let wanted = "is no request: write a cylinder such as 98, or 98@20ms if it arrives after 20 ms";
    let cylinder: u32 = cylinder.parse().map_err(|_| word.fault(wanted))?;
    if cylinder >= cylinders {
        return Err(word.fault(&format!("is beyond the drive: its cylinders are numbered from 0 to {}", cylinders - 1)));
    }
    let arrives = time.map_or(Ok(0), |text| Word { text, ..*word }.time())?;
    Ok(Wanted { cylinder, arrives })
}

/// The list, and the drive that serves it.
struct Exercise {
    requests: Vec<Wanted>,
    /// The sector of each request.
    sectors: Vec<Sector>,
    per_cylinder: u32,
    head: u32,
    cylinders: u32,
}

impl Exercise {
    fn new(requests: Vec<Wanted>, head: u32, cylinders: u32) -> Exercise {
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        let number = |wanted: &Wanted| {
            let count = counts.entry(wanted.cylinder).or_default();
            *count += 1;
            *count - 1
        };
        let numbers: Vec<u32> = requests.iter().map(number).collect();
        // The head is behind the sector that it has read, and requests for one cylinder lie behind each other: by less than half of S, so that
        // the nearest request in sectors is one of the nearest in cylinders.
        let per_cylinder = 2 * counts.into_values().max().unwrap_or(0) + 1;
        let sector = |(wanted, k): (&Wanted, &u32)| first_of(wanted.cylinder, per_cylinder) + Sector::from(*k);
        let sectors = requests.iter().zip(&numbers).map(sector).collect();
        Exercise { requests, sectors, per_cylinder, head, cylinders }
    }

    /// The drive, with its heads where they are at first.
    fn drive(&self) -> Rotating {
        // What the longest seek takes more than the shortest is spread over as many cylinders.
        let longest = SEEK * (Nanos::from(self.cylinders.max(2)) + 1);
        let disk = Disk {
            rotation: Bare(Rate(SECTORS_PER_SECOND)),
            cylinders: Bare(self.cylinders),
            heads: Bare(1),
            sectors: Bare(self.per_cylinder),
            zones: Bare(1),
            inner_sectors: None,
            interleave: Bare(1),
            seek_track: Bare(Duration(SEEK)),
            seek_full: Bare(Duration(longest)),
            seek_curve: SeekCurve::Linear,
            skew: Bare(Duration(0)),
            track_buffer: Bare(Size(0)),
            overhead: Bare(Duration(0)),
            bus_per_kib: Bare(Duration(0)),
            command: Bare(Duration(0)),
            sector_copy: Bare(Duration(0)),
        };
        let mut drive = Rotating::new(&disk, &mut Rng::stream(0, 0));
        drive.serve(0, first_of(self.head, self.per_cylinder), 1, Direction::Read);
        drive
    }

    /// How an elevator serves the list.
    fn served(&self, choice: &Choice) -> Result<Value, Fault> {
        let (info, params) = elevator(choice)?;
        let done = self.run(info, &params);
        let (mut at, mut travel, mut rows) = (self.head, 0, Vec::new());
        for one in &done {
            let Wanted { cylinder, arrives } = self.requests[one.token as usize];
            let seek = cylinder.abs_diff(at);
            (at, travel) = (cylinder, travel + u64::from(seek));
            let (wait, response) = (one.started - arrives, one.finished - arrives);
            rows.push(json!({
                "request": one.token, "began": one.started, "ended": one.finished, "seek": seek, "wait": wait, "response": response,
            }));
        }
        let responses = || done.iter().map(|one| one.finished - self.requests[one.token as usize].arrives);
        let mean = responses().sum::<Nanos>() as f64 / done.len() as f64;
        let (longest, to_the_ends) = (responses().max(), self.to_the_ends(info, &params, &done));
        Ok(json!({
            "elevator": info.name, "rows": rows, "travel": travel, "to_the_ends": to_the_ends, "mean_response": mean, "longest_response": longest,
        }))
    }

    fn run(&self, info: &Info, params: &Params) -> Vec<Done> {
        let drive = self.drive();
        let count = self.requests.len() as u32;
        let elevator = elevators::build(info.name, params, &drive.device(count)).expect("it is one of the table");
        let limits =
            DiskQueue { requests: Bare(count), writes: Bare(count), merge: Bare(false), ..DiskQueue::default() };
        let mut queue = RequestQueue::new(&limits, drive, elevator).with_head(first_of(self.head, self.per_cylinder));
        let mut arriving: Vec<u32> = (0..count).collect();
        arriving.sort_by_key(|&token| self.requests[token as usize].arrives);
        let mut arriving = arriving.into_iter().peekable();
        let (mut progress, mut refused) = (Progress::default(), VecDeque::new());
        loop {
            let arrival = arriving.peek().map(|&token| self.requests[token as usize].arrives);
            let Some(now) = [arrival, queue.next_event()].into_iter().flatten().min() else { return progress.done };
            // What arrives at one moment is queued before the drive may take any of it.
            queue.advance(now, &mut progress);
            while let Some(token) = arriving.next_if(|&token| self.requests[token as usize].arrives <= now) {
                refused.push_back(token);
            }
            while let Some(&token) = refused.front() {
                if queue.submit(now, self.request(token), token) == Submitted::Full {
                    break;
                }
                refused.pop_front();
            }
            queue.start(now, &mut progress);
        }
    }

    fn request(&self, token: u32) -> Request {
        Request {
            first: self.sectors[token as usize],
            sectors: 1,
            direction: Direction::Read,
            sync: true,
            mergeable: false,
            owner: token,
            class: IoClass::default(),
            level: 4,
            arrived: 0,
        }
    }

    /// How far the arm goes that turns only at the ends of the drive, as the originals of these elevators have it. Ours move as far
    /// as there are requests.
    fn to_the_ends(&self, info: &Info, params: &Params, done: &[Done]) -> Option<u64> {
        let (up, round) = match info.name {
            "scan" => (params.name("towards") == "up", false),
            "c_scan" => (true, true),
            _ => return None,
        };
        let stops = done.iter().map(|one| self.requests[one.token as usize].cylinder.into());
        Some(travel_to_the_ends(self.head.into(), stops, u64::from(self.cylinders) - 1, up, round))
    }
}

/// The first sector of a cylinder.
fn first_of(cylinder: u32, per_cylinder: u32) -> Sector {
    Sector::from(cylinder) * Sector::from(per_cylinder)
}

/// An elevator of the table with its parameters.
fn elevator(choice: &Choice) -> Result<(&'static Info, Params), Fault> {
    let Choice { name, settings } = choice;
    let known = || ELEVATORS.iter().map(|info| info.name).collect::<Vec<_>>().join(", ");
    let info = ELEVATORS.iter().find(|info| info.name == name);
    let info = info.ok_or_else(|| format!("elevators: none is called {name:?} (known: {})", known()))?;
    let given = settings.iter().map(|(name, value)| (name.as_str(), value.to_string()));
    let params = Params::check(info, given).map_err(|(parameter, why)| format!("{name}: {parameter}: {why}"))?;
    Ok((info, params))
}
