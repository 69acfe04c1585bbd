//! An elevator under test, whose type the laws need not know.

use schedlab_model::info::{Info, Params};
use schedlab_policies::elevators::{self, Device, Elevator, Entry, Visitor};

/// An elevator under test.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    /// Its entry.
    pub info: &'static Info,
    build: fn(&Params, &Device) -> Box<dyn Elevator>,
}

impl Subject {
    /// The elevator of that type.
    pub fn of<E: Entry>() -> Subject {
        Subject { info: const { &E::INFO }, build: |params, device| Box::new(E::new(params, device)) }
    }

    /// The elevator of that name in the table.
    pub fn named(name: &str) -> Option<Subject> {
        struct Of;
        impl Visitor for Of {
            type Output = Subject;
            fn visit<E: Entry>(self) -> Subject {
                Subject::of::<E>()
            }
        }
        elevators::visit(name, Of)
    }

    pub(super) fn build(self, params: &Params, device: &Device) -> Box<dyn Elevator> {
        (self.build)(params, device)
    }
}
