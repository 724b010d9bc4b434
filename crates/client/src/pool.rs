//! The idle connections of a client; the most recently used one is reused first.

use crate::limits::CONNECTION_UNUSED_MAX;
use crate::tasks;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::time::Instant;

/// A connection that can be idle.
pub(crate) trait Pooled: Send + 'static {
    /// Whether it has ended, as far as is known without waiting.
    fn is_closed(&mut self) -> bool;
}

/// Idle connections. The lock is held only for a push or a pop.
pub(crate) struct Pool<C> {
    idle: Mutex<Idle<C>>,
    idle_max: usize,
}

struct Idle<C> {
    /// Connections with the time of their return, the longest unused first.
    connections: VecDeque<(C, Instant)>,
    /// Whether a task is closing connections beyond the maximum.
    is_trimmed: bool,
}

impl<C: Pooled> Pool<C> {
    pub(crate) fn new(idle_max: usize) -> Arc<Self> {
        Arc::new(Pool { idle: Mutex::new(Idle { connections: VecDeque::new(), is_trimmed: false }), idle_max })
    }

    /// A connection that was open when it was last checked.
    pub(crate) fn take(&self) -> Option<C> {
        loop {
            let (mut connection, _) = self.lock().connections.pop_back()?;
            if !connection.is_closed() {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection whose response was read to its end.
    pub(crate) fn put(self: &Arc<Self>, connection: C) {
        if self.idle_max == 0 {
            return;
        }
        let mut idle = self.lock();
        let now = Instant::now();
        if let Some((_, newest)) = idle.connections.back() {
            assert!(*newest <= now, "a connection was returned {:?} in the future", *newest - now);
        }
        idle.connections.push_back((connection, now));
        if idle.connections.len() > self.idle_max && !idle.is_trimmed {
            idle.is_trimmed = true;
            tasks::spawn(trim(Arc::downgrade(self)));
        }
    }

    /// Closes connections beyond the maximum that were unused for long. Returns whether connections beyond the maximum
    /// are left.
    fn trim(&self) -> bool {
        let mut idle = self.lock();
        assert!(idle.is_trimmed, "two tasks close {} idle connections", idle.connections.len());
        let now = Instant::now();
        let is_unused = |(_, since): &mut (C, Instant)| now.duration_since(*since) >= CONNECTION_UNUSED_MAX;
        while idle.connections.len() > self.idle_max && idle.connections.pop_front_if(is_unused).is_some() {}
        idle.is_trimmed = idle.connections.len() > self.idle_max;
        idle.is_trimmed
    }

    fn lock(&self) -> MutexGuard<'_, Idle<C>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn trim<C: Pooled>(pool: Weak<Pool<C>>) {
    loop {
        tokio::time::sleep(CONNECTION_UNUSED_MAX).await;
        if !pool.upgrade().is_some_and(|pool| pool.trim()) {
            return;
        }
    }
}
