//! The shared connections of a client: those in use, and idle ones.

use super::shared::Shared;
use crate::pool::Pool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) struct Connections {
    /// Those with requests in flight. While it is locked, none of them becomes idle.
    busy: Mutex<Vec<Arc<Shared>>>,
    pub idle: Arc<Pool<Arc<Shared>>>,
}

impl Connections {
    pub fn new(idle_max: usize) -> Arc<Connections> {
        Arc::new(Connections { busy: Mutex::default(), idle: Pool::new(idle_max) })
    }

    pub fn busy(&self) -> MutexGuard<'_, Vec<Arc<Shared>>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
