//! A writer whose work is done by a thread of its own, so that a run need not wait for the file system.

use std::{
    io::{self, Write},
    sync::mpsc::{Receiver, Sender, channel},
    thread::{self, JoinHandle},
};

/// Blocks in use at a time, and their size in bytes: all the memory there is.
const BLOCKS: usize = 4;
const BLOCK: usize = 1 << 17;

/// Hands what is written to a thread that writes it to `W`; waits only when four blocks are under way. An error of
/// `W` is met by a later write or flush; call `flush` before dropping it, or the last one is lost.
#[derive(Debug)]
pub struct WriteBehind<W> {
    full: Option<Sender<Vec<u8>>>,
    empty: Receiver<Vec<u8>>,
    /// Blocks that came back and are not in use.
    spare: Vec<Vec<u8>>,
    thread: Option<JoinHandle<io::Result<W>>>,
}

impl<W: Write + Send + 'static> WriteBehind<W> {
    /// Starts the thread. Fails if the system has no more of them.
    pub fn new(mut out: W) -> io::Result<Self> {
        let (full, work) = channel::<Vec<u8>>();
        let (done, empty) = channel();
        let write = move || {
            for block in work {
                // An empty block asks for a flush.
                if block.is_empty() { out.flush() } else { out.write_all(&block) }?;
                if done.send(block).is_err() {
                    break;
                }
            }
            Ok(out)
        };
        let thread = thread::Builder::new().name("write-behind".to_owned()).spawn(write)?;
        Ok(WriteBehind { full: Some(full), empty, spare: vec![Vec::new(); BLOCKS], thread: Some(thread) })
    }

    /// Waits until all is written, and gives the writer back, or its first error.
    pub fn finish(mut self) -> io::Result<W> {
        self.end()
    }

    fn end(&mut self) -> io::Result<W> {
        self.full = None;
        let thread = self.thread.take().ok_or_else(|| io::Error::other("an earlier write has failed"))?;
        thread.join().map_err(|_| io::Error::other("the writing thread has died"))?
    }

    /// Why the thread does not answer any more.
    fn failure(&mut self) -> io::Error {
        self.end().err().unwrap_or_else(|| io::Error::other("the writing thread has ended"))
    }

    fn spare(&mut self) -> io::Result<Vec<u8>> {
        match self.spare.pop() {
            Some(block) => Ok(block),
            None => self.empty.recv().map_err(|_| self.failure()),
        }
    }

    fn send(&mut self, block: Vec<u8>) -> io::Result<()> {
        match self.full.as_ref().map(|full| full.send(block)) {
            Some(Ok(())) => Ok(()),
            _ => Err(self.failure()),
        }
    }
}

impl<W: Write + Send + 'static> Write for WriteBehind<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let part = &bytes[..bytes.len().min(BLOCK)];
        let mut block = self.spare()?;
        block.clear();
        block.extend_from_slice(part);
        self.send(block)?;
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut block = self.spare()?;
        block.clear();
        self.send(block)?;
        while self.spare.len() < BLOCKS {
            let block = self.empty.recv().map_err(|_| self.failure())?;
            self.spare.push(block);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Accepts a number of bytes, then is full.
    struct Small(Vec<u8>, usize);

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0.len() + bytes.len() > self.1 {
                return Err(io::Error::other("disk full"));
            }
            self.0.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_is_written_behind_arrives_whole_and_in_order() {
        let bytes: Vec<u8> = (0..1_000_000u32).flat_map(|i| i.to_le_bytes()).collect();
        let mut behind = WriteBehind::new(Vec::new()).unwrap();
        bytes.chunks(77_777).for_each(|part| behind.write_all(part).unwrap());
        behind.flush().unwrap();
        assert!(behind.finish().unwrap() == bytes);
    }

    #[test]
    fn an_error_behind_is_met_at_the_next_flush_at_the_latest() {
        let mut behind = WriteBehind::new(Small(Vec::new(), 10)).unwrap();
        let written = behind.write_all(&[0; 11]).and_then(|()| behind.flush());
        assert_eq!(written.unwrap_err().to_string(), "disk full");
        assert!(behind.write(&[0]).is_err() && behind.flush().is_err());
    }

    #[test]
    fn a_slow_writer_holds_the_quick_one_back() {
        let mut behind = WriteBehind::new(Small(Vec::new(), usize::MAX)).unwrap();
        (0..100).for_each(|_| behind.write_all(&[1; BLOCK]).unwrap());
        assert!(behind.spare.len() <= BLOCKS);
        assert_eq!(behind.finish().unwrap().0.len(), 100 * BLOCK);
    }
}
