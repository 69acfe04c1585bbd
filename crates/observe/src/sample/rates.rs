//! What two samples give together: lines of JSON, and single numbers by name.

use super::{
    column::Column,
    disks::DISK,
    groups::GROUP,
    interrupts::INTERRUPT,
    line::Line,
    memory::{MEMORY, PAGING},
    network::LINK,
    nice::LEVEL,
    pressure::PRESSURE,
    processors::{LOAD, SYSTEM, TIME},
    sampler::{Sample, Wanted},
    tasks::{self, TASK},
    tcp::TCP,
};
use schedlab_linux::proc::text::Name;
use schedlab_model::SECOND;

/// The resources that pressure is reported of, as the kernel names them.
pub(super) const RESOURCES: [&str; 3] = ["cpu", "memory", "io"];

/// Two samples of one sampler.
#[derive(Debug, Clone, Copy)]
pub struct Rates<'a> {
    now: &'a Sample,
    before: &'a Sample,
    seconds: f64,
}

impl Sample {
    /// What happened since an earlier sample.
    pub fn rates<'a>(&'a self, earlier: &'a Sample) -> Rates<'a> {
        Rates { now: self, before: earlier, seconds: between(self.at_ns, earlier.at_ns) }
    }
}

fn between(now: u64, before: u64) -> f64 {
    now.saturating_sub(before) as f64 / SECOND as f64
}

fn pair<'a, T>(now: Option<&'a T>, before: Option<&'a T>) -> Option<(&'a T, &'a T)> {
    now.zip(before)
}

/// The reading of the same name: nearly always at the same place.
fn named<T>(before: &[T], place: usize, name: Name, name_of: fn(&T) -> Name) -> Option<&T> {
    let same = |other: &&T| name_of(other) == name;
    before.get(place).filter(same).or_else(|| before.iter().find(same))
}

impl Rates<'_> {
    /// Seconds between the two.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// A number of the whole system by its section and name: "cpu.usr", "system.csw", "pressure.io.some". None if it is
    /// not known, or there is no such name.
    pub fn value(&self, name: &str) -> Option<f64> {
        let (section, name) = name.rsplit_once('.')?;
        let (now, before, seconds) = (self.now, self.before, self.seconds);
        match section {
            "cpu" => {
                let (now, before) = pair(now.all.as_ref(), before.all.as_ref())?;
                one(TIME, name, now, before, seconds)
            }
            "system" => one(SYSTEM, name, &now.system, &before.system, seconds),
            "load" => one(LOAD, name, &now.load, &before.load, seconds),
            "memory" => one(MEMORY, name, &now.memory, &before.memory, seconds),
            "tcp" => one(TCP, name, &now.tcp, &before.tcp, seconds),
            "paging" => one(PAGING, name, &now.paging, &before.paging, seconds),
            _ => {
                let resource = RESOURCES.iter().position(|it| section.strip_prefix("pressure.") == Some(it))?;
                one(PRESSURE, name, &now.pressure[resource], &before.pressure[resource], seconds)
            }
        }
    }

    /// Processor time that the sampling thread used from the end of the one reading to that of the other, ns: all it
    /// costs, waking and writing the line included.
    pub fn own_ns(&self) -> u64 {
        self.now.own_ns.saturating_sub(self.before.own_ns)
    }

    /// Writes them as a line of JSON; `missed` samples were due between the two and not taken.
    pub fn write(&self, wanted: &Wanted, missed: u64, line: &mut Line) {
        let (now, before, seconds) = (self.now, self.before, self.seconds);
        line.begin();
        line.key("type");
        line.string(b"sample");
        line.key("at_ns");
        line.whole(now.at_ns);
        line.key("seconds");
        line.number(Some(seconds));
        line.key("missed");
        line.whole(missed);
        line.key("own_ns");
        line.whole(self.own_ns());
        line.key("cpu");
        line.section(TIME, pair(now.all.as_ref(), before.all.as_ref()), seconds);
        line.key("cpus");
        line.array(|line| {
            for (now, before) in now.each.iter().zip(&before.each) {
                line.section(TIME, pair(now.as_ref(), before.as_ref()), seconds);
            }
        });
        line.key("system");
        line.section(SYSTEM, Some((&now.system, &before.system)), seconds);
        line.key("load");
        line.section(LOAD, Some((&now.load, &before.load)), seconds);
        line.key("memory");
        line.section(MEMORY, Some((&now.memory, &before.memory)), seconds);
        line.key("paging");
        line.section(PAGING, Some((&now.paging, &before.paging)), seconds);
        line.key("pressure");
        line.object(|line| {
            for (at, resource) in RESOURCES.iter().enumerate() {
                line.key(resource);
                line.section(PRESSURE, Some((&now.pressure[at], &before.pressure[at])), seconds);
            }
        });
        self.write_devices(line);
        self.write_wanted(wanted, line);
        line.end();
    }

    fn write_devices(&self, line: &mut Line) {
        let (now, before, seconds) = (self.now, self.before, self.seconds);
        line.key("disks");
        line.array(|line| {
            for (place, disk) in now.disks.iter().enumerate() {
                let earlier = named(&before.disks, place, disk.name, |disk| disk.name);
                line.object(|line| {
                    line.key("name");
                    line.string(disk.name.bytes());
                    line.columns(DISK, pair(Some(disk), earlier), seconds);
                });
            }
        });
        line.key("net");
        line.array(|line| {
            for (place, link) in now.links.iter().enumerate() {
                let earlier = named(&before.links, place, link.name, |link| link.name);
                line.object(|line| {
                    line.key("name");
                    line.string(link.name.bytes());
                    line.columns(LINK, pair(Some(link), earlier), seconds);
                });
            }
        });
        line.key("tcp");
        line.section(TCP, Some((&now.tcp, &before.tcp)), seconds);
    }

    fn write_wanted(&self, wanted: &Wanted, line: &mut Line) {
        let (now, before, seconds) = (self.now, self.before, self.seconds);
        line.key("interrupts");
        if wanted.interrupts.is_some() && now.interrupts.at_ns != before.interrupts.at_ns {
            line.array(|line| self.write_interrupts(line));
        } else {
            line.null();
        }
        line.key("groups");
        line.array(|line| {
            for (place, path) in wanted.groups.iter().enumerate() {
                line.object(|line| {
                    line.key("path");
                    line.string(path.as_bytes());
                    line.columns(GROUP, pair(now.groups.get(place), before.groups.get(place)), seconds);
                });
            }
        });
        line.key("nice");
        if wanted.nice {
            line.array(|line| self.write_levels(line))
        } else {
            line.null()
        }
        line.key("tasks");
        if wanted.tasks.is_some() { line.array(|line| self.write_tasks(line)) } else { line.null() }
    }

    fn write_interrupts(&self, line: &mut Line) {
        let seconds = between(self.now.interrupts.at_ns, self.before.interrupts.at_ns);
        for (place, interrupt) in self.now.interrupts.each.iter().enumerate() {
            let earlier = named(&self.before.interrupts.each, place, interrupt.name, |interrupt| interrupt.name);
            line.object(|line| {
                line.key("name");
                line.string(interrupt.name.bytes());
                line.key("device");
                line.string(interrupt.device.bytes());
                line.columns(INTERRUPT, pair(Some(interrupt), earlier), seconds);
            });
        }
    }

    fn write_levels(&self, line: &mut Line) {
        for (nice, level) in self.now.levels.present() {
            line.object(|line| {
                line.key("nice");
                line.signed(nice);
                line.columns(LEVEL, Some((level, level)), self.seconds);
            });
        }
    }

    fn write_tasks(&self, line: &mut Line) {
        for task in self.now.reported.iter().filter_map(|&place| self.now.tasks.get(place as usize)) {
            line.object(|line| {
                line.key("pid");
                line.whole(u64::from(task.pid));
                line.key("name");
                line.string(task.name.bytes());
                line.key("state");
                line.string(&[task.state]);
                line.key("policy");
                match task.policy_name() {
                    Some(name) => line.string(name.as_bytes()),
                    None => line.null(),
                }
                line.key("nice");
                line.signed(task.nice);
                line.columns(TASK, pair(Some(task), tasks::same(&self.before.tasks, task)), self.seconds);
            });
        }
    }
}

fn one<T>(table: &[Column<T>], name: &str, now: &T, before: &T, seconds: f64) -> Option<f64> {
    table.iter().find(|column| column.name == name).and_then(|column| (column.of)(now, before, seconds))
}
