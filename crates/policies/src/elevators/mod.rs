//! Disk policies: the interface between a request queue and its elevator, and the table of all of them.
//!
//! ```text
//!   submitted -> merges into a queued one? -> grown
//!             '> admits? -> insert -> QUEUED -> dispatch -> IN SERVICE -> completed
//! ```
//!
//! What the queue guarantees: `dispatch` is called whenever the drive can take a request and something has changed since it
//! last said [`Next::Nothing`], and at the time that it named in [`Next::Until`]; each inserted request is dispatched once
//! and completed once; hooks are called in order of time. A request's place in [`Context::requests`] is used again only after
//! `completed`.

use schedlab_model::{
    Nanos,
    info::{Info, Params},
    request::{Request, RequestId, Sector},
    task::TaskId,
};

mod adaptive_order;
mod anticipatory;
mod bfq;
mod c_look;
mod c_scan;
mod cfq;
mod deadline;
mod fifo;
mod insertion_scan;
mod kit;
mod kyber;
mod look;
mod mq_deadline;
mod none;
mod reads_first;
mod scan;
mod sstf;
mod writes_first;

pub use adaptive_order::AdaptiveOrder;
pub use anticipatory::Anticipatory;
pub use bfq::Bfq;
pub use c_look::CLook;
pub use c_scan::CScan;
pub use cfq::Cfq;
pub use deadline::Deadline;
pub use fifo::Fifo;
pub use kit::sweep::{travel, travel_to_the_ends};
pub use kyber::Kyber;
pub use look::Look;
pub use mq_deadline::MqDeadline;
pub use none::NoElevator;
pub use reads_first::ReadsFirst;
pub use scan::Scan;
pub use sstf::Sstf;
pub use writes_first::WritesFirst;

/// What an elevator may see.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The time.
    pub now: Nanos,
    /// Queued requests and those in service, by id.
    pub requests: &'a [Request],
    /// Where the drive's last request ended, or would have if it is still in service.
    pub head: Sector,
    /// Requests that the drive has taken and not yet completed.
    pub in_service: u32,
    /// Tasks in the swapping state: they wait for a page of the swap area to be written or read.
    pub swapping: u32,
}

impl Context<'_> {
    /// The request of that id.
    pub fn request(&self, id: RequestId) -> &Request {
        &self.requests[id as usize]
    }
}

/// What an elevator knows of the drive below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    /// Whether it has heads that must move.
    pub rotational: bool,
    /// Requests that it takes at a time.
    pub queue_depth: u32,
    /// Its size.
    pub sectors: Sector,
    /// Requests that the queue above it holds.
    pub slots: u32,
}

/// What the drive is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Serve this one now.
    Serve(RequestId),
    /// Nothing before that time unless something changes: better requests may come (anticipation).
    Until(Nanos),
    /// Nothing: no request is queued, or none may be served before another is completed.
    Nothing,
}

/// A disk policy at work.
pub trait Elevator: std::fmt::Debug + Send {
    /// Whether there is room for a request like this one now, beyond the limit of the queue itself. If not, its owner waits
    /// until another request has been completed.
    fn admits(&self, _: &Context<'_>, _: &Request) -> bool {
        true
    }

    /// Whether the new request may be joined to the queued one, which it touches at the front or the back; both may be
    /// merged and go in the same direction.
    fn merges(&self, _: &Context<'_>, _queued: RequestId, _new: &Request) -> bool {
        true
    }

    /// A request joins the queue.
    fn insert(&mut self, cx: &Context<'_>, id: RequestId);

    /// A queued request has grown by one that was joined to it; at its front, it had begun at `began`.
    fn grown(&mut self, _: &Context<'_>, _id: RequestId, _began: Sector) {}

    /// The drive can take a request.
    fn dispatch(&mut self, cx: &Context<'_>) -> Next;

    /// The drive has served a request that was dispatched at `started`.
    fn completed(&mut self, _: &Context<'_>, _id: RequestId, _started: Nanos) {}

    /// A task has ended: no more requests will come from it.
    fn exited(&mut self, _: &Context<'_>, _: TaskId) {}
}

/// An elevator's entry in the table.
pub trait Entry: Elevator + Sized + 'static {
    /// Its description.
    const INFO: Info;

    /// A new one, for that drive.
    fn new(params: &Params, device: &Device) -> Self;
}

/// Receives an elevator as a type known to the compiler.
pub trait Visitor {
    /// What comes of it.
    type Output;

    /// Takes the elevator.
    fn visit<E: Entry>(self) -> Self::Output;
}

macro_rules! table {
    ($($policy:ty),* $(,)?) => {
        /// The table of disk policies.
        pub const ELEVATORS: &[Info] = &[$(<$policy as Entry>::INFO),*];

        /// Hands the policy of that name to the visitor; `None` if there is no such policy.
        pub fn visit<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
            $(if name == <$policy as Entry>::INFO.name {
                return Some(visitor.visit::<$policy>());
            })*
            None
        }
    };
}

table![
    Fifo,
    NoElevator,
    ReadsFirst,
    WritesFirst,
    AdaptiveOrder,
    Sstf,
    Scan,
    CScan,
    Look,
    CLook,
    Deadline,
    MqDeadline,
    Kyber,
    Cfq,
    Anticipatory,
    Bfq
];

/// A new elevator of that name; `None` if there is none.
pub fn build(name: &str, params: &Params, device: &Device) -> Option<Box<dyn Elevator>> {
    struct Build<'a>(&'a Params, &'a Device);
    impl Visitor for Build<'_> {
        type Output = Box<dyn Elevator>;
        fn visit<E: Entry>(self) -> Box<dyn Elevator> {
            Box::new(E::new(self.0, self.1))
        }
    }
    visit(name, Build(params, device))
}
