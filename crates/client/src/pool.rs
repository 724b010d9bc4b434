//! The idle connections of a client: the one used last is taken first.

use crate::connection::Connection;
use std::sync::{Mutex, PoisonError};

/// Connections kept open while nobody uses them. The lock is held for a push or a pop only.
pub(crate) struct Pool {
    idle: Mutex<Vec<Connection>>,
    idle_max: usize,
}

impl Pool {
    pub(crate) fn new(idle_max: usize) -> Self {
        Pool { idle: Mutex::new(Vec::new()), idle_max }
    }

    /// A connection that was still open when it was last looked at.
    pub(crate) fn take(&self) -> Option<Connection> {
        loop {
            let mut connection = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            if !connection.is_closed() {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection whose answer was read to its end.
    pub(crate) fn put(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.idle_max {
            idle.push(connection);
        }
    }
}
