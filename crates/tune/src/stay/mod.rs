//! Settings that stay: a *profile* names them, and becomes files that the system itself reads at boot.
//!
//! ```text
//! profile     name and settings, one TOML file                                    what people keep and share
//! files       the profile as sysctl.d, udev, systemd or TuneD read it             nothing of schedlab is needed at boot
//! installed   these files in place, the settings in force, and all of it taken back
//! departures  what on this host is not as the profile says
//! watch       when that changes, and who changed it
//! ```

mod departures;
mod files;
mod group;
mod installed;
mod manifest;
mod overridden;
mod profile;
mod sysctl;
mod tuned;
mod udev;
mod unit;
mod watch;

pub use departures::{Departure, Standing, departures};
pub use files::{Files, Form, SystemFile, files};
pub use installed::{Installed, Uninstalled, install, installed, installed_profile, uninstall};
pub use profile::Profile;
pub use unit::escaped;
pub use watch::{Altered, Watch, Writer};
