//! `schedlab-agent`: what has to be done beside the kernel, a subcommand each; JSON in, JSON out. People use `schedlab`.
//!
//! Exit status: 0 done, 2 what was asked for is wrong or not permitted (one line on stderr), 130 stopped by a signal.

use clap::{Parser, Subcommand};
use schedlab_host::{accounting, agent, guest, sample, suspects, tracing, tunables, volume};
use schedlab_linux::{Fault, Root, machine, shown};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "schedlab-agent", version, about = "Does schedlab's work beside the kernel; people use schedlab")]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run a plan with real tasks.
    Run(agent::command::Run),
    /// Measure how much work a second of processor time is.
    Calibrate(agent::command::Calibrate),
    /// Watch how much of the processors others use, and the holes in them.
    Noise(agent::command::Noise),
    /// Sample the system's counters.
    Sample(sample::command::Sample),
    /// Watch control groups, ends of tasks, locks and sockets.
    Suspects(suspects::command::Suspects),
    /// Run a command and say where its time went.
    Time(accounting::command::Time),
    /// Record the scheduler's events for a while.
    Record(tracing::command::Record),
    /// What this host permits.
    Check(tunables::command::Check),
    /// The host's tunables with their present values.
    Tunables(tunables::command::List),
    /// Set tunables for good, until confirmed or rolled back.
    Apply(tunables::command::Apply),
    /// Put back what a run or a trial has left changed.
    Restore(tunables::command::Restore),
    /// Make the settings of a trial stay.
    Confirm(tunables::command::Confirm),
    /// Hold settings while standard input is open.
    Hold(tunables::command::Hold),
    /// Print a systemd unit that restores at boot.
    Unit(tunables::command::Unit),
    /// Wait for a process's death and put back what it had changed.
    #[command(hide = true)]
    Warden(tunables::warden::Warden),
    /// Hold settings until they are confirmed.
    #[command(hide = true)]
    Trial(tunables::trial::Trial),
    /// Serve a modelled disk until it is unmounted.
    #[command(hide = true)]
    SlowDisk(volume::server::SlowDisk),
    /// Say how large the volume of a plan is.
    #[command(hide = true)]
    VolumeSize(volume::command::VolumeSize),
    /// The host as a machine of an experiment file.
    Machine,
}

fn main() -> ExitCode {
    if std::process::id() == 1 {
        guest::live();
    }
    let done = match Arguments::parse().verb {
        Verb::Run(it) => it.run(),
        Verb::Calibrate(it) => it.run(),
        Verb::Noise(it) => it.run(),
        Verb::Sample(it) => it.run(),
        Verb::Suspects(it) => it.run(),
        Verb::Time(it) => it.run(),
        Verb::Record(it) => it.run(),
        Verb::Check(it) => it.run(),
        Verb::Tunables(it) => it.run(),
        Verb::Apply(it) => it.run(),
        Verb::Restore(it) => it.run(),
        Verb::Confirm(it) => it.run(),
        Verb::Hold(it) => it.run(),
        Verb::Unit(it) => it.run(),
        Verb::Warden(it) => it.run(),
        Verb::Trial(it) => it.run(),
        Verb::SlowDisk(it) => it.run(),
        Verb::VolumeSize(it) => it.run(),
        Verb::Machine => {
            print!("{}", machine::describe(&Root::default()));
            Ok(ExitCode::SUCCESS)
        }
    };
    done.unwrap_or_else(|fault: Fault| {
        eprintln!("error: {}", shown(&fault.to_string()));
        ExitCode::from(2)
    })
}
