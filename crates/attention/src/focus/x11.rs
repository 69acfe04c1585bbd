//! X11: the window manager names the active window on the root window (EWMH, `_NET_ACTIVE_WINDOW`), and the window its process
//! (`_NET_WM_PID`, if `WM_CLIENT_MACHINE` is this host); of one that does not, the server knows it (the extension X-Resource).

use super::Source;
use schedlab_linux::Fault;
use std::os::fd::{AsFd, BorrowedFd};
use x11rb::{
    connection::Connection,
    protocol::{
        Event,
        res::{self, ConnectionExt as _},
        xproto::{Atom, AtomEnum, ChangeWindowAttributesAux, ConnectionExt, EventMask, Window},
    },
    rust_connection::RustConnection,
};

/// The newest version of X-Resource that we know, and the first that has processes is 1.2.
const RESOURCE: (u8, u8) = (1, 2);

pub(super) struct X11 {
    connection: RustConnection,
    root: Window,
    active: Atom,
    pid: Atom,
    host: Vec<u8>,
    has_resource: bool,
    last: Option<Option<i32>>,
    asked: bool,
}

fn fault(why: impl std::fmt::Display) -> Fault {
    Fault::Wrong(format!("the X server: {why}"))
}

impl X11 {
    /// Connects to the server that DISPLAY names.
    pub(super) fn connect() -> Result<X11, Fault> {
        let (connection, screen) = x11rb::connect(None).map_err(fault)?;
        let root = connection.setup().roots[screen].root;
        let atom = |name: &[u8]| {
            Ok::<_, Fault>(connection.intern_atom(false, name).map_err(fault)?.reply().map_err(fault)?.atom)
        };
        let (active, pid) = (atom(b"_NET_ACTIVE_WINDOW")?, atom(b"_NET_WM_PID")?);
        let watch = ChangeWindowAttributesAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        connection.change_window_attributes(root, &watch).map_err(fault)?.check().map_err(fault)?;
        let version = connection.res_query_version(RESOURCE.0, RESOURCE.1).ok().and_then(|asked| asked.reply().ok());
        let has_resource = version.is_some_and(|is| (is.server_major, is.server_minor) >= (1, 2));
        let host = nix::sys::utsname::uname().map_err(fault)?.nodename().as_encoded_bytes().to_vec();
        Ok(X11 { connection, root, active, pid, host, has_resource, last: None, asked: false })
    }

    fn property(&self, window: Window, property: Atom, kind: AtomEnum) -> Option<Vec<u8>> {
        let asked = self.connection.get_property(false, window, property, kind, 0, 64).ok()?;
        asked.reply().ok().map(|reply| reply.value).filter(|value| !value.is_empty())
    }

    fn number(&self, window: Window, property: Atom, kind: AtomEnum) -> Option<u32> {
        let value = self.property(window, property, kind)?;
        value.get(..4)?.try_into().ok().map(u32::from_ne_bytes)
    }

    /// The process of the active window; none if there is no such window, or its process is not known or runs elsewhere.
    fn focused(&self) -> Option<i32> {
        let window = self.number(self.root, self.active, AtomEnum::WINDOW).filter(|window| *window != 0)?;
        let machine = self.property(window, AtomEnum::WM_CLIENT_MACHINE.into(), AtomEnum::STRING);
        if machine.is_some_and(|machine| !is_host(&machine, &self.host)) {
            return None;
        }
        let said = self.number(window, self.pid, AtomEnum::CARDINAL);
        said.or_else(|| self.of_server(window)).and_then(|pid| i32::try_from(pid).ok()).filter(|pid| *pid > 0)
    }

    /// The process that the server has a window from; it knows only those of its own host.
    fn of_server(&self, window: Window) -> Option<u32> {
        if !self.has_resource {
            return None;
        }
        let spec = res::ClientIdSpec { client: window, mask: res::ClientIdMask::LOCAL_CLIENT_PID };
        let reply = self.connection.res_query_client_ids(&[spec]).ok()?.reply().ok()?;
        reply.ids.first()?.value.first().copied()
    }
}

/// Whether a window's machine is this host, with or without its domain.
fn is_host(machine: &[u8], host: &[u8]) -> bool {
    let short = |name: &[u8]| name.split(|byte| *byte == b'.').next().unwrap_or_default().to_ascii_lowercase();
    machine.eq_ignore_ascii_case(b"localhost") || short(machine) == short(host)
}

impl Source for X11 {
    fn name(&self) -> String {
        "X11".to_owned()
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.connection.stream().as_fd()
    }

    fn news(&mut self) -> Result<Option<Option<i32>>, Fault> {
        let mut changed = !std::mem::replace(&mut self.asked, true);
        while let Some(event) = self.connection.poll_for_event().map_err(fault)? {
            changed |= matches!(event, Event::PropertyNotify(event) if event.atom == self.active);
        }
        if !changed {
            return Ok(None);
        }
        let now = Some(self.focused());
        // Events that came with the answers are in the connection, not in its descriptor.
        while let Some(event) = self.connection.poll_for_event().map_err(fault)? {
            self.asked &= !matches!(event, Event::PropertyNotify(event) if event.atom == self.active);
        }
        if !self.asked {
            return self.news();
        }
        let is_news = now != self.last;
        self.last = now;
        Ok(now.filter(|_| is_news))
    }
}

#[cfg(test)]
mod tests {
    use super::is_host;

    #[test]
    fn a_window_is_of_this_host_by_the_first_part_of_its_name() {
        assert!(is_host(b"desk", b"desk") && is_host(b"Desk.example.org", b"desk") && is_host(b"localhost", b"desk"));
        assert!(!is_host(b"server", b"desk") && !is_host(b"desktop", b"desk"));
    }
}
