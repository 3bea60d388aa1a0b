//! The idle connections of the reused lane.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use rollscope_records::RunOffset;

use super::connect::Connection;
use crate::plan::KeepAlive;

/// Connections between two requests, longest idle first.
///
/// The pool is a queue: every connection is used in turn, so all of them, and through an L4 balancer all pods behind
/// them, see requests on established connections during the whole rollout. (A stack would use the hottest few and leave
/// the others to their keep-alive timeout.) It grows to `size` connections even where fewer would do, so that there
/// always are idle ones for a drain to deal with, and beyond that as far as requests in flight demand; idle ones beyond
/// `size` are closed, and those that are kept long enough.
#[derive(Debug)]
pub(crate) struct Pool {
    idle: RefCell<VecDeque<Connection>>,
    open: Rc<Cell<usize>>,
    size: usize,
    keep: KeepAlive,
}

/// Counts a connection of the reused lane while it is open, idle or not.
#[derive(Debug)]
pub(super) struct OpenInPool(Rc<Cell<usize>>);

impl Drop for OpenInPool {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Pool {
    /// An empty pool that keeps `size` connections, each as long as `keep` says.
    pub(crate) fn new(size: usize, keep: KeepAlive) -> Self {
        Self {
            idle: RefCell::default(),
            open: Rc::default(),
            size,
            keep,
        }
    }

    /// The connection that has been idle longest. `None` when a fresh one is to be made: none is idle, the pool has not
    /// reached its size, or the peer had closed the one whose turn it was (which is then counted as an idle close).
    pub(crate) fn take(&self, now: RunOffset) -> Option<Connection> {
        self.expire(now);
        if self.open.get() < self.size {
            return None;
        }
        let connection = self.idle.borrow_mut().pop_front()?;
        if connection.is_usable(now) {
            return Some(connection);
        }
        connection.link.found_closed();
        None
    }

    /// Takes a connection back after a response. Surplus ones are closed.
    pub(crate) fn put(&self, connection: Connection) {
        let room = self.idle.borrow().len() < self.size;
        let now = connection.last_response.unwrap_or_default();
        if !room || self.is_over(&connection, now) {
            return connection.close();
        }
        connection.link.begin_idle();
        self.idle.borrow_mut().push_back(connection);
    }

    fn is_over(&self, connection: &Connection, now: RunOffset) -> bool {
        let record = connection.link.record();
        self.keep.is_over(&record, connection.last_response, now)
    }

    /// Closes the idle connections that are to be kept no longer.
    pub(crate) fn expire(&self, now: RunOffset) {
        if self.keep.is_for_ever() {
            return;
        }
        let idle = std::mem::take(&mut *self.idle.borrow_mut());
        let (over, kept): (VecDeque<_>, VecDeque<_>) =
            idle.into_iter().partition(|c| self.is_over(c, now));
        *self.idle.borrow_mut() = kept;
        for connection in over {
            // Unless the peer was faster, this is our own close.
            if connection.is_usable(now) {
                connection.close();
            }
        }
    }

    /// Forgets a connection that has ended.
    pub(crate) fn evict(&self, id: u64) {
        let ended = {
            let mut idle = self.idle.borrow_mut();
            let place = idle.iter().position(|c| c.link.id() == id);
            place.and_then(|p| idle.remove(p))
        };
        drop(ended);
    }

    /// Closes all idle connections.
    pub(crate) fn clear(&self) {
        let idle = std::mem::take(&mut *self.idle.borrow_mut());
        for connection in idle {
            connection.close();
        }
    }

    /// Counts one more open connection, as long as the returned value lives.
    pub(super) fn count_open(&self) -> OpenInPool {
        self.open.set(self.open.get() + 1);
        OpenInPool(Rc::clone(&self.open))
    }
}
