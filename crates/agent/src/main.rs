//! `schedlab-agent`: everything that is done next to the kernel, a subcommand each; JSON in, JSON out. Users call `schedlab`.
//!
//! Exit status: 0 done, 2 the request is wrong or not permitted (one line on stderr), 130 stopped by a signal.

use clap::{Parser, Subcommand};
use schedlab_linux::{Fault, Root, machine, shown};
use std::process::ExitCode;
use verbs::{
    attend, background, capture, peaks, profiles, record, run, sample, serve, settings, suspects, time, volume,
};

mod guest;
mod verbs;

#[derive(Parser)]
#[command(
    name = "schedlab-agent",
    version,
    about = "Runs, measures and changes the host for schedlab; users run schedlab itself"
)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run a plan with real tasks.
    Run(run::Run),
    /// Measure how much work a second of processor time is.
    Calibrate(run::Calibrate),
    /// Watch how much of the processors others use, and the holes in them.
    Noise(run::Noise),
    /// Sample the system's counters.
    Sample(sample::Sample),
    /// Watch control groups, ends of tasks, locks and sockets.
    Suspects(suspects::Suspects),
    /// Run a command and say where its time went.
    Time(time::Time),
    /// Record the scheduler's events for a while.
    Record(record::Record),
    /// Record the kernel's events as a trace.dat.
    Capture(capture::Capture),
    /// Report the largest memory of each process as it ends.
    Peaks(peaks::Peaks),
    /// Keep attention levels: nice values, slices and groups of programs by where the focus is.
    Attend(attend::Attend),
    /// What this host permits.
    Check(settings::Check),
    /// The host's tunables with their present values.
    Tunables(settings::List),
    /// Set tunables for good, until confirmed or rolled back.
    Apply(settings::Apply),
    /// Put back what a run or a trial has left changed.
    Restore(settings::Restore),
    /// Make the settings of a trial stay.
    Confirm(settings::Confirm),
    /// Hold settings while standard input is open.
    Hold(settings::Hold),
    /// Print a systemd unit that restores at boot.
    Unit(settings::Unit),
    /// Make a profile of settings.
    Profile(profiles::New),
    /// Print the files that a profile becomes.
    Files(profiles::Print),
    /// Put a profile in place.
    Install(profiles::Install),
    /// Take a profile back.
    Uninstall(profiles::Uninstall),
    /// List the profiles in place.
    Installed(profiles::Installed),
    /// Compare a profile with this host.
    Departures(profiles::Departures),
    /// Watch the settings of a profile.
    WatchSettings(profiles::WatchSettings),
    /// Do what somebody on another computer asks for, as long as the connection lasts.
    #[command(hide = true)]
    Serve(serve::Serve),
    /// Wait for a process's death and put back what it had changed.
    #[command(hide = true)]
    Restorer(background::Restorer),
    /// Hold settings until they are confirmed.
    #[command(hide = true)]
    Trial(background::Trial),
    /// Serve a modelled disk until it is unmounted.
    #[command(hide = true)]
    SlowDisk(background::SlowDisk),
    /// Say how large the volume of a plan is.
    #[command(hide = true)]
    VolumeSize(volume::VolumeSize),
    /// The host as a machine of an experiment file.
    Machine,
}

/// What the command line says. What is wrong with it is one line: users see it through schedlab, which has help of its own.
fn arguments() -> Arguments {
    use clap::error::ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    Arguments::try_parse().unwrap_or_else(|why| match why.kind() {
        DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand => why.exit(),
        _ => {
            eprintln!("{}", shown(why.to_string().lines().next().unwrap_or_default()));
            std::process::exit(2)
        }
    })
}

fn main() -> ExitCode {
    if std::process::id() == 1 {
        guest::live();
    }
    let done = match arguments().verb {
        Verb::Run(it) => it.run(),
        Verb::Calibrate(it) => it.run(),
        Verb::Noise(it) => it.run(),
        Verb::Sample(it) => it.run(),
        Verb::Suspects(it) => it.run(),
        Verb::Time(it) => it.run(),
        Verb::Record(it) => it.run(),
        Verb::Capture(it) => it.run(),
        Verb::Peaks(it) => it.run(),
        Verb::Attend(it) => it.run(),
        Verb::Check(it) => it.run(),
        Verb::Tunables(it) => it.run(),
        Verb::Apply(it) => it.run(),
        Verb::Restore(it) => it.run(),
        Verb::Confirm(it) => it.run(),
        Verb::Hold(it) => it.run(),
        Verb::Unit(it) => it.run(),
        Verb::Profile(it) => it.run(),
        Verb::Files(it) => it.run(),
        Verb::Install(it) => it.run(),
        Verb::Uninstall(it) => it.run(),
        Verb::Installed(it) => it.run(),
        Verb::Departures(it) => it.run(),
        Verb::WatchSettings(it) => it.run(),
        Verb::Serve(it) => it.run(),
        Verb::Restorer(it) => it.run(),
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
