//! The parts of each request: what was submitted, in order of sectors, and its waiters.
//!
//! A list for each request, all in one table whose places are used again.

use schedlab_model::request::Request;

/// End of a list.
const NONE: u32 = u32::MAX;

/// One submitted request, alone or joined to others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub request: Request,
    pub token: u32,
    next: u32,
}

/// The parts of one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List {
    head: u32,
    tail: u32,
}

/// All parts.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    table: Vec<Part>,
    free: Vec<u32>,
}

impl Parts {
    fn place(&mut self, request: Request, token: u32, next: u32) -> u32 {
        let part = Part { request, token, next };
        match self.free.pop() {
            Some(at) => {
                self.table[at as usize] = part;
                at
            }
            None => {
                self.table.push(part);
                (self.table.len() - 1) as u32
            }
        }
    }

    pub fn alone(&mut self, request: Request, token: u32) -> List {
        let only = self.place(request, token, NONE);
        List { head: only, tail: only }
    }

    pub fn before(&mut self, list: &mut List, request: Request, token: u32) {
        list.head = self.place(request, token, list.head);
    }

    pub fn behind(&mut self, list: &mut List, request: Request, token: u32) {
        let last = self.place(request, token, NONE);
        self.table[list.tail as usize].next = last;
        list.tail = last;
    }

    /// Hands out the parts of a list in order of sectors; the list is gone.
    pub fn drain(&mut self, list: List, mut each: impl FnMut(&Part)) {
        let mut at = list.head;
        while at != NONE {
            let part = &self.table[at as usize];
            each(part);
            self.free.push(at);
            at = part.next;
        }
    }
}
