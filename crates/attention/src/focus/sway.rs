//! Sway says by its socket which window has the focus, and of which process that is (i3's protocol, sway-ipc(7)).
//!
//! ```text
//! a message   "i3-ipc", length and kind as u32 in the machine's order, then JSON
//! we ask      2 subscribe ["window"], and 4 get_tree for the window that has the focus at the start
//! it sends    an event of kind 1 << 31 | 3, with {"change": "focus", "container": {"pid": 17}}; its answers have the kinds of our asking
//! ```

use super::Source;
use schedlab_linux::Fault;
use serde_json::Value;
use std::{
    io::{self, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    path::Path,
};

const MAGIC: &[u8] = b"i3-ipc";
/// Magic, length, kind.
const HEAD: usize = 14;
const SUBSCRIBE: u32 = 2;
const GET_TREE: u32 = 4;
const WINDOW: u32 = 1 << 31 | 3;
/// A tree of windows is not longer.
const LONGEST: usize = 16 << 20;

pub(super) struct Sway {
    stream: UnixStream,
    read: Vec<u8>,
}

impl Sway {
    pub(super) fn connect(path: &Path) -> Result<Sway, Fault> {
        let fault = |why| Fault::file(path, "connect to", why);
        let mut stream = UnixStream::connect(path).map_err(fault)?;
        for (kind, text) in [(SUBSCRIBE, "[\"window\"]"), (GET_TREE, "")] {
            let length = (text.len() as u32).to_ne_bytes();
            stream.write_all(&[MAGIC, &length, &kind.to_ne_bytes(), text.as_bytes()].concat()).map_err(fault)?;
        }
        stream.set_nonblocking(true).map_err(fault)?;
        Ok(Sway { stream, read: Vec::new() })
    }

    /// The next whole message, taken out of what was read.
    fn message(&mut self) -> Result<Option<(u32, Value)>, Fault> {
        let Some(head) = self.read.get(..HEAD) else { return Ok(None) };
        let number = |at: usize| u32::from_ne_bytes(head[at..at + 4].try_into().expect("four bytes"));
        let (length, kind) = (number(6) as usize, number(10));
        if &head[..6] != MAGIC || length > LONGEST {
            return Err(Fault::Wrong("sway: what its socket says is no message".to_owned()));
        }
        let Some(text) = self.read.get(HEAD..HEAD + length) else { return Ok(None) };
        let value = serde_json::from_slice(text).map_err(|why| Fault::Wrong(format!("sway: {why}")))?;
        self.read.drain(..HEAD + length);
        Ok(Some((kind, value)))
    }
}

impl Source for Sway {
    fn name(&self) -> String {
        "sway".to_owned()
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    fn news(&mut self) -> Result<Option<Option<i32>>, Fault> {
        let mut part = [0; 1 << 14];
        loop {
            match self.stream.read(&mut part) {
                Ok(0) => return Err(Fault::Wrong("sway: it has closed its socket".to_owned())),
                Ok(count) => self.read.extend(&part[..count]),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => break,
                Err(why) => return Err(Fault::Call { doing: "sway".to_owned(), why }),
            }
        }
        let mut news = None;
        while let Some((kind, value)) = self.message()? {
            match (kind, value["change"].as_str()) {
                (WINDOW, Some("focus")) => news = Some(pid(&value["container"])),
                (WINDOW, Some("close")) if value["container"]["focused"] == true => news = Some(None),
                (GET_TREE, _) => news = Some(focused(&value)),
                _ => {}
            }
        }
        Ok(news)
    }
}

fn pid(container: &Value) -> Option<i32> {
    container["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).filter(|pid| *pid > 0)
}

/// The process of the window in a tree that has the focus.
fn focused(node: &Value) -> Option<i32> {
    if node["focused"] == true {
        return pid(node);
    }
    let below = ["nodes", "floating_nodes"].into_iter().filter_map(|kind| node[kind].as_array());
    below.flatten().find_map(focused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    fn message(kind: u32, text: &str) -> Vec<u8> {
        [MAGIC, &(text.len() as u32).to_ne_bytes(), &kind.to_ne_bytes(), text.as_bytes()].concat()
    }

    #[test]
    fn the_focus_is_read_from_the_tree_first_and_then_from_events() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sway");
        let listener = UnixListener::bind(&path).unwrap();
        let mut source = Sway::connect(&path).unwrap();
        let mut there = listener.accept().unwrap().0;
        let mut asked = [0; 2 * HEAD + 10];
        there.read_exact(&mut asked).unwrap();
        assert_eq!(&asked[HEAD..HEAD + 10], b"[\"window\"]");
        let tree = r#"{"nodes": [{"pid": 3}, {"nodes": [], "floating_nodes": [{"focused": true, "pid": 17}]}]}"#;
        there.write_all(&message(SUBSCRIBE, r#"{"success": true}"#)).unwrap();
        there.write_all(&message(GET_TREE, tree)).unwrap();
        assert_eq!(source.news().unwrap(), Some(Some(17)));
        let event = message(WINDOW, r#"{"change": "focus", "container": {"pid": 18}}"#);
        there.write_all(&event[..20]).unwrap();
        assert_eq!(source.news().unwrap(), None, "a part of a message");
        there.write_all(&event[20..]).unwrap();
        there.write_all(&message(WINDOW, r#"{"change": "title", "container": {"pid": 19}}"#)).unwrap();
        assert_eq!(source.news().unwrap(), Some(Some(18)));
        there.write_all(b"no message of any kind").unwrap();
        assert!(source.news().unwrap_err().to_string().contains("no message"));
    }
}
