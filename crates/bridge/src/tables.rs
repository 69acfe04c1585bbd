//! What there is to name, with the computer in front of the user as one more machine.

use schedlab_catalogue::{
    arrangement::Arrangement,
    tables::{self, Entry, SHIPPED},
};
use schedlab_linux::{Root, machine, topology};
use schedlab_model::experiment::Catalogue;
use std::sync::LazyLock;

pub use tables::catalogue;

/// The name of the computer in front of the user.
const HOST: &str = "host";

/// What experiments are checked against.
pub static CATALOGUE: LazyLock<Catalogue<'static>> = LazyLock::new(|| {
    let root = Root::default();
    let host: (&str, &str) = (HOST, machine::describe(&root).leak());
    let machines = [SHIPPED.machines, &[host]].concat().leak();
    Catalogue { machines, host_scheduler: machine::scheduler(&root), ..SHIPPED }
});

/// The page of a name, in one family or in all, as JSON.
///
/// # Errors
/// As [`tables::page`].
pub fn page(name: &str, family: Option<&str>) -> Result<String, String> {
    tables::page(name, family, (name == HOST).then(host))
}

/// The computer in front of the user, as a machine. Not every kernel reports how its processors are arranged.
fn host() -> Entry {
    let root = Root::default();
    let arranged = topology::read(&root).map(|host| Arrangement::numbered(&host.topology, &host.numbers, &host.nodes));
    tables::machine(HOST, &machine::describe(&root), arranged)
}
