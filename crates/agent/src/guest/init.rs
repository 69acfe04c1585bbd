//! Process 1 of a guest.

use super::{Order, Report, Setup, emulator::Emulator, ext};
use nix::{
    errno::Errno,
    mount::{MsFlags, mount},
    sys::reboot::{RebootMode, reboot},
};
use schedlab_linux::{files::drain_port, module};
use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Kind, place and options of each file system. Debugfs brings tracefs with it, and kernels differ in what they have.
const MOUNTS: &[(&str, &str, &str)] = &[
    ("proc", "/proc", ""),
    ("sysfs", "/sys", ""),
    ("devtmpfs", "/dev", ""),
    ("debugfs", "/sys/kernel/debug", ""),
    ("tracefs", "/sys/kernel/tracing", ""),
    ("cgroup2", "/sys/fs/cgroup", ""),
    // All that the tasks' files and drives need: the guest has memory for them and for nothing else.
    ("tmpfs", "/tmp", "size=100%"),
];
/// How to get ready.
const SETUP: &str = "/setup.json";
/// The environment that every kernel gives process 1.
const USUAL: &[&str] = &["HOME", "TERM"];
/// What the code that unpacks the kernel takes from the command line, and the kernel itself does not know.
const LOADERS: &[&str] = &["nokaslr", "kaslr"];
/// Where modules lie.
const MODULES: &str = "/modules";
/// What the emulator calls the order, and what it gives its command on standard input.
const ORDER: &str = "opt/schedlab/order";
const GIVEN: &str = "opt/schedlab/given";
/// Where that is kept for the command.
const PLAN: &str = "/plan.json";

/// Gets ready, does what the order says and powers off. It has no caller that could receive a fault: the report or the console has it.
pub fn live() -> ! {
    let mut troubles = strangers();
    troubles.extend(mounts());
    let report = match ready(&mut troubles) {
        Ok((order, scheduler)) => {
            let done = scheduler.and_then(|scheduler| obey_under(scheduler.as_ref(), &order));
            match (&order.port, done) {
                (None, Err(why)) => Some((PathBuf::from("/dev/console"), failed(why))),
                (None, Ok(_)) => None,
                (Some(port), done) => Some((port.clone(), done.unwrap_or_else(failed))),
            }
        }
        Err(why) => Some((PathBuf::from("/dev/console"), failed(why))),
    };
    if let Some((port, mut report)) = report {
        report.troubles = troubles;
        if let Err(why) = send(&port, &report) {
            eprintln!("schedlab: {}: {why}", port.display());
        }
    }
    power_off()
}

/// The scheduler that the guest came with, if any, or why the kernel has not taken it.
type Scheduler = Result<Option<ext::Attached>, String>;

/// Reaches the moment when a command is to begin: everything that is the same for every order comes before the pause.
fn ready(troubles: &mut Vec<String>) -> Result<(Order, Scheduler), String> {
    let fault = |why: serde_json::Error| format!("{SETUP}: {why}");
    let text = fs::read_to_string(SETUP).map_err(|why| format!("{SETUP}: {why}"))?;
    let setup: Setup = serde_json::from_str(&text).map_err(fault)?;
    troubles.extend(modules(&setup));
    let scheduler = ext::attach(|kind, place| mounted(kind, place, ""));
    let emulator = Emulator::find()?;
    thread::sleep(Duration::from_nanos(setup.settle.0));
    if setup.pause {
        emulator.pause();
    }
    let went_on = Instant::now();
    let order: Order = serde_json::from_slice(&emulator.file(ORDER)?).map_err(|why| format!("{ORDER}: {why}"))?;
    fs::write(PLAN, emulator.file(GIVEN)?).map_err(|why| format!("{PLAN}: {why}"))?;
    let begins = went_on + Duration::from_nanos(order.lead.0);
    thread::sleep(begins.saturating_duration_since(Instant::now()));
    Ok((order, scheduler))
}

fn failed(why: String) -> Report {
    Report { status: 2, errors: why, ..Report::default() }
}

/// Words of the kernel's command line that it does not know, which it hands on to process 1: as arguments, or in the environment.
fn strangers() -> Vec<String> {
    let values = std::env::vars().filter(|(name, _)| !USUAL.contains(&name.as_str()));
    let words = std::env::args().skip(1).chain(values.map(|(name, value)| format!("{name}={value}")));
    let unknown = words.filter(|word| !LOADERS.contains(&word.as_str()));
    unknown.map(|word| format!("the kernel's command line has {word:?}, which this kernel does not know")).collect()
}

/// Mounts all; gives what could not be, in words.
fn mounts() -> Vec<String> {
    let mut troubles = Vec::new();
    for (kind, place, options) in MOUNTS {
        match mounted(kind, place, options) {
            Err(why) if why.raw_os_error() != Some(Errno::EBUSY as i32) => {
                troubles.push(format!("{place}: {kind} cannot be mounted: {why}"));
            }
            _ => {}
        }
    }
    troubles
}

fn mounted(kind: &str, place: &str, options: &str) -> io::Result<()> {
    fs::create_dir_all(place)?;
    Ok(mount(Some(kind), place, Some(kind), MsFlags::empty(), Some(options))?)
}

/// Loads the modules in the order of their names; gives what could not be loaded, in words.
fn modules(setup: &Setup) -> Vec<String> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(MODULES).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    let fault = |path: &Path, why: io::Error| format!("{}: cannot be loaded: {why}", path.display());
    files.iter().filter_map(|path| load(path, setup).err().map(|why| fault(path, why))).collect()
}

fn load(path: &Path, setup: &Setup) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let parameters = setup.parameters.get(&name).map_or("", String::as_str);
    let parameters = std::ffi::CString::new(parameters)?;
    let file = File::open(path)?;
    match module::load(&file, &parameters) {
        // It is loaded already, or built in.
        Err(why) if why.raw_os_error() == Some(libc::EEXIST) => Ok(()),
        done => done,
    }
}

/// Runs the command; what it gives counts if the scheduler that the guest came with is still the kernel's at the end.
fn obey_under(scheduler: Option<&ext::Attached>, order: &Order) -> Result<Report, String> {
    let report = obey(order)?;
    scheduler.map_or(Ok(()), ext::Attached::still)?;
    Ok(report)
}

/// Runs the command to its end.
fn obey(order: &Order) -> Result<Report, String> {
    let (program, arguments) = order.command.split_first().ok_or_else(|| format!("{ORDER}: no command"))?;
    let fault = |why: io::Error| format!("{program}: {why}");
    let mut command = Command::new(program);
    command.args(arguments);
    command.stdin(File::open(PLAN).map_err(|why| format!("{PLAN}: {why}"))?);
    if order.port.is_none() {
        return Ok(Report { status: code(command.status().map_err(fault)?), ..Report::default() });
    }
    let done = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().map_err(fault)?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Report { status: code(done.status), output: text(done.stdout), errors: text(done.stderr), troubles: Vec::new() })
}

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

fn send(port: &Path, report: &Report) -> io::Result<()> {
    let mut file = File::options().write(true).open(port)?;
    let mut text = serde_json::to_vec(report)?;
    text.push(b'\n');
    file.write_all(&text)?;
    drain_port(&file)
}

/// Ends the guest: where the power cannot be switched off, by a reboot, which ends it too.
fn power_off() -> ! {
    nix::unistd::sync();
    let _ = reboot(RebootMode::RB_POWER_OFF);
    let _ = reboot(RebootMode::RB_AUTOBOOT);
    loop {
        thread::sleep(Duration::from_secs(1));
    }
}
