//! Drives as data: rotating and solid-state ones, and the queue of requests above them.

use super::Sourced;
use crate::units::{Duration, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the time of a seek grows with its distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SeekCurve {
    /// In proportion (a stepper motor).
    #[default]
    Linear,
    /// With its square root (a voice coil, which speeds up and slows down).
    Root,
}

fn no_time(length: &Sourced<Duration>) -> bool {
    length.get().0 == 0
}

fn one_zone() -> Sourced<u32> {
    Sourced::Bare(1)
}

/// A rotating drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Revolutions, per minute ("3600/min").
    pub rotation: Sourced<Rate>,
    /// Cylinders.
    pub cylinders: Sourced<u32>,
    /// Heads (tracks of a cylinder).
    pub heads: Sourced<u32>,
    /// Sectors of 512 bytes on a track, of the outermost zone if there are several.
    pub sectors: Sourced<u32>,
    /// Zones of equal width, with fewer sectors on a track from zone to zone.
    #[serde(default = "one_zone")]
    pub zones: Sourced<u32>,
    /// Sectors on a track of the innermost zone; as on the outermost, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inner_sectors: Option<Sourced<u32>>,
    /// Interleave: physically, the next sector of a file is this many places further.
    pub interleave: Sourced<u32>,
    /// Seek to the next cylinder.
    pub seek_track: Sourced<Duration>,
    /// Seek from the first cylinder to the last.
    pub seek_full: Sourced<Duration>,
    /// How the time grows in between.
    #[serde(default)]
    pub seek_curve: SeekCurve,
    /// How much later the first sector of each cylinder passes than that of the cylinder before: time for the heads to move on.
    #[serde(default, skip_serializing_if = "no_time")]
    pub skew: Sourced<Duration>,
    /// Memory into which the drive goes on reading behind a read, until it gets another command elsewhere.
    #[serde(default)]
    pub track_buffer: Sourced<Size>,
    /// Time that the drive itself takes for each command.
    #[serde(default)]
    pub overhead: Sourced<Duration>,
    /// Time to move one KiB over the bus, while the surface is not waited for.
    #[serde(default)]
    pub bus_per_kib: Sourced<Duration>,
    /// Processor time to issue a command.
    pub command: Sourced<Duration>,
    /// Processor time to move one sector (programmed I/O) after its interrupt.
    pub sector_copy: Sourced<Duration>,
}

/// A solid-state drive: flash chips, of which several work at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SolidState {
    /// Its size.
    pub size: Sourced<Size>,
    /// Time of a chip to read a page.
    pub read: Sourced<Duration>,
    /// Time of a chip to write a page.
    pub write: Sourced<Duration>,
    /// Size of a page.
    pub page: Sourced<Size>,
    /// Pages that chips work on at a time.
    pub channels: Sourced<u32>,
    /// Requests that it takes at a time.
    pub queue_depth: Sourced<u32>,
    /// Time that the drive itself takes for each command.
    #[serde(default)]
    pub overhead: Sourced<Duration>,
    /// Time to move one KiB over the bus.
    #[serde(default)]
    pub bus_per_kib: Sourced<Duration>,
    /// Processor time to issue a command.
    #[serde(default)]
    pub command: Sourced<Duration>,
}

/// The queue of requests above the drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DiskQueue {
    /// Requests that it holds, those in service included (Linux `nr_requests`). A later task waits for a free slot.
    pub requests: Sourced<u32>,
    /// How many of them may be writes.
    pub writes: Sourced<u32>,
    /// A request does not grow by merging beyond this size.
    pub most: Sourced<Size>,
    /// Whether requests that touch are merged.
    pub merge: Sourced<bool>,
}

impl Default for DiskQueue {
    /// Linux 2.6 and later, without its limits on writes.
    fn default() -> Self {
        DiskQueue {
            requests: Sourced::Bare(128),
            writes: Sourced::Bare(128),
            most: Sourced::Bare(Size(512 * 1024)),
            merge: Sourced::Bare(true),
        }
    }
}
