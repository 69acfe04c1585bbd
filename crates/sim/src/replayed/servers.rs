//! Servers and connections of a replay: who has asked whom, and whose answer is a message to whom.

use super::{NONE, Replayed};
use schedlab_model::{
    event::NO_TASK,
    replay::{Act, Packed, Replay},
    task::TaskId,
};
use std::{collections::VecDeque, iter, mem};

/// A task that answers others.
#[derive(Debug, Clone)]
pub(super) struct Server {
    /// Tasks that have asked and are not yet answered, the one that has waited longest first.
    asked: VecDeque<TaskId>,
    /// The one that it answers next.
    taken: TaskId,
    /// The server itself, while it waits for a request.
    waiter: TaskId,
    /// It has ended.
    closed: bool,
    /// It has connections to others.
    connected: bool,
}

impl Server {
    /// It has ended. Gives those that wait for its answers.
    pub fn close(&mut self) -> Vec<TaskId> {
        self.closed = true;
        let taken = Some(mem::replace(&mut self.taken, NO_TASK)).filter(|&taken| taken != NO_TASK);
        let asked = self.asked.drain(..).chain(taken);
        asked.filter(|_| !self.connected).collect() // what sends messages waits for none of them
    }
}

/// The servers that the streams name, and those of connections.
pub(super) fn servers(recording: &Replay) -> Vec<Server> {
    let server = |act: &Packed| match act.act() {
        Act::Ask(server) | Act::Take(server) | Act::Answer(server) => Some(server as usize + 1),
        _ => None,
    };
    let all = recording.streams.iter().flat_map(|stream| &stream.acts).filter_map(server).max().unwrap_or(0);
    let none = Server { asked: VecDeque::new(), taken: NO_TASK, waiter: NO_TASK, closed: false, connected: false };
    let mut servers = vec![none; all];
    for number in recording.connections.iter().flat_map(|connections| [connections.hub, connections.end]) {
        if let Some(server) = servers.get_mut(number as usize) {
            server.connected = true;
        }
    }
    servers
}

impl Replayed {
    /// Messages of the task are at the other ends of its connections, if it is their hub.
    pub(super) fn connect(&mut self, task: TaskId, stream: u32) {
        let servers = &mut self.servers;
        let takes = |act: &Packed| match act.act() {
            Act::Take(server) => Some(server).filter(|&server| servers[server as usize].connected),
            _ => None,
        };
        let Some(mailbox) = self.recording.streams[stream as usize].acts.iter().find_map(takes) else { return };
        self.cursors[task as usize].mailbox = mailbox;
        for connections in self.recording.connections.iter().filter(|connections| connections.hub == mailbox) {
            if let Some(end) = servers.get_mut(connections.end as usize) {
                end.asked.extend(iter::repeat_n(task, connections.count as usize));
            }
        }
    }

    /// Whether a server has not ended.
    pub fn is_open(&self, server: u32) -> bool {
        !self.servers[server as usize].closed
    }

    /// The task sends a request to a server. Gives the server if it waits for one: it takes it, and is woken.
    pub fn ask(&mut self, task: TaskId, server: u32) -> Option<TaskId> {
        let server = &mut self.servers[server as usize];
        let waiter = mem::replace(&mut server.waiter, NO_TASK);
        if waiter == NO_TASK {
            server.asked.push_back(task);
            return None;
        }
        server.taken = task;
        Some(waiter)
    }

    /// The server takes a request, and waits for one if there is none: false. One that it had taken and not answered comes last.
    pub fn take(&mut self, task: TaskId, server: u32) -> bool {
        let server = &mut self.servers[server as usize];
        server.asked.extend(Some(mem::replace(&mut server.taken, NO_TASK)).filter(|&before| before != NO_TASK));
        match server.asked.pop_front() {
            Some(next) => server.taken = next,
            None => server.waiter = task,
        }
        server.taken != NO_TASK
    }

    /// The request that the server has taken is answered by that task. Gives the task that had sent it, if that waits for the answer. Over a
    /// connection the answer is a message, too.
    pub fn answer(&mut self, task: TaskId, server: u32) -> Option<TaskId> {
        let taken = mem::replace(&mut self.servers[server as usize].taken, NO_TASK);
        match self.cursors.get(taken as usize).map(|cursor| cursor.mailbox) {
            Some(NONE) => Some(taken),
            Some(mailbox) if self.is_open(mailbox) => self.ask(task, mailbox),
            _ => None,
        }
    }
}
