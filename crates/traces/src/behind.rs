//! A listener on a thread of its own. The run that it hears only writes each event down, in batches that are handed over
//! whole, and waits for the listener when all batches are full.

use schedlab_model::event::{Event, Irq, Kind, NO_TASK, Observer};
use std::{
    io,
    sync::mpsc::{Receiver, Sender, channel},
    thread::{self, JoinHandle},
};

/// Events of a batch, and batches in use at a time: half a megabyte is all the memory there is, and stays in the processors'
/// caches.
const BATCH: usize = 1 << 12;
const BATCHES: usize = 4;

/// What stands where no event has been written down yet.
const BLANK: Event =
    Event { time: 0, a: Irq::Clock as u64, b: 0, task: NO_TASK, cpu: 0, kind: Kind::Interrupt, flag: 0 };

/// Events written down, the first `count` of them.
#[derive(Debug)]
struct Batch {
    events: Box<[Event; BATCH]>,
    count: usize,
}

impl Batch {
    fn new() -> Batch {
        Batch { events: Box::new([BLANK; BATCH]), count: 0 }
    }
}

/// Tells a listener on another thread everything, in order and later. [`Behind::finish`] gives it back; who drops it instead
/// loses what was not told yet.
#[derive(Debug)]
pub struct Behind<O> {
    batch: Batch,
    full: Sender<Batch>,
    empty: Receiver<Batch>,
    thread: JoinHandle<O>,
}

impl<O: Observer + Send + 'static> Behind<O> {
    /// Starts the thread. Fails if the system has no more of them.
    pub fn new(mut listener: O) -> io::Result<Self> {
        let (full, work) = channel::<Batch>();
        let (done, empty) = channel();
        let back = done.clone();
        let listen = move || {
            for batch in work {
                batch.events[..batch.count].iter().for_each(|&event| listener.observe(event));
                if back.send(Batch { count: 0, ..batch }).is_err() {
                    break;
                }
            }
            listener
        };
        let thread = thread::Builder::new().name("listener".to_owned()).spawn(listen)?;
        (1..BATCHES).try_for_each(|_| done.send(Batch::new())).map_err(|_| died())?;
        Ok(Behind { batch: Batch::new(), full, empty, thread })
    }

    /// Waits until the listener has heard everything, and gives it back.
    ///
    /// # Errors
    /// If it has died.
    pub fn finish(mut self) -> io::Result<O> {
        self.hand_over();
        drop(self.full);
        self.thread.join().map_err(|_| died())
    }
}

impl<O> Behind<O> {
    /// Hands the batch over and takes an empty one. Where the listener has died, what comes is lost, and
    /// [`Behind::finish`] tells.
    #[cold]
    #[inline(never)]
    fn hand_over(&mut self) {
        match self.empty.recv() {
            Ok(empty) => drop(self.full.send(std::mem::replace(&mut self.batch, empty))),
            Err(_) => self.batch.count = 0,
        }
    }
}

fn died() -> io::Error {
    io::Error::other("the listener's thread has died")
}

impl<O> Observer for Behind<O> {
    #[inline(always)]
    fn observe(&mut self, event: Event) {
        self.batch.events[self.batch.count % BATCH] = event;
        self.batch.count += 1;
        if self.batch.count == BATCH {
            self.hand_over();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(events: usize) -> impl Iterator<Item = Event> {
        (0..events).map(|time| Event { time: time as u64, ..BLANK })
    }

    #[test]
    fn what_is_told_behind_arrives_whole_and_in_order() {
        for events in [0, 1, BATCH - 1, BATCH, BATCH + 1, 20 * BATCH + 77] {
            let mut behind = Behind::new(Vec::new()).unwrap();
            numbered(events).for_each(|event| behind.observe(event));
            assert!(behind.finish().unwrap().into_iter().eq(numbered(events)), "{events}");
        }
    }

    /// Hears nothing before it is let.
    #[derive(Debug)]
    struct Held(Receiver<()>);

    impl Observer for Held {
        fn observe(&mut self, _: Event) {
            self.0.recv().expect("it dies when nobody can let it hear any more");
        }
    }

    #[test]
    fn a_slow_listener_holds_a_quick_run_back() {
        let (let_hear, held) = channel();
        let mut behind = Behind::new(Held(held)).unwrap();
        // All batches but the one in hand are full; the next event but one would wait.
        numbered(BATCHES * BATCH - 1).for_each(|event| behind.observe(event));
        assert!(behind.empty.try_recv().is_err());
        (0..BATCHES * BATCH).for_each(|_| let_hear.send(()).unwrap());
        numbered(1).for_each(|event| behind.observe(event));
        assert!(behind.finish().is_ok());
    }

    #[test]
    fn a_listener_that_dies_is_told_of_at_the_end() {
        let (let_hear, held) = channel();
        let mut behind = Behind::new(Held(held)).unwrap();
        drop(let_hear);
        numbered(3 * BATCHES * BATCH).for_each(|event| behind.observe(event));
        assert_eq!(behind.finish().unwrap_err().to_string(), "the listener's thread has died");
    }
}
