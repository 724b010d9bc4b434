//! Which connections are idle, so that they can be closed when too many are open.

use rawline_broker::metrics::Crossing;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// A request is being handled.
const BUSY: u64 = 0;
/// Its response is being written.
const HANDLED: u64 = 1;
/// The connection makes room for another: it handles no request any more.
const EVICTED: u64 = u64::MAX;
/// Anything between: idle since this time.
const IDLE_SINCE_MIN: u64 = 2;

/// The activity of one connection. A client that has sent a part of a head counts as idle.
#[derive(Debug)]
pub(crate) struct Activity {
    state: AtomicU64,
    /// Whether the response holds buffers of the pool.
    holds_buffers: AtomicBool,
    /// Whether a message has begun that the connection doesn't know of, of a response that is a stream of them.
    has_begun: AtomicBool,
    /// Whether the connection crosses zones, as its newest request says.
    crossing: AtomicU8,
    /// From when on times are counted, in microseconds.
    epoch: Instant,
    evicted: Notify,
}

impl Activity {
    fn new(epoch: Instant) -> Arc<Activity> {
        let activity = Activity {
            state: AtomicU64::new(HANDLED),
            holds_buffers: AtomicBool::new(false),
            has_begun: AtomicBool::new(false),
            crossing: AtomicU8::new(Crossing::Unknown as u8),
            epoch,
            evicted: Notify::new(),
        };
        activity.idle();
        Arc::new(activity)
    }

    /// A request says where its client is.
    pub fn crosses(&self, crossing: Crossing) {
        self.crossing.store(crossing as u8, Ordering::Relaxed);
    }

    /// What the newest request has said.
    pub fn crossing(&self) -> Crossing {
        Crossing::numbered(self.crossing.load(Ordering::Relaxed))
    }

    /// A request begins. False if it must not, since the connection is being closed.
    pub fn begin(&self) -> bool {
        let change = |state| (state != EVICTED).then_some(BUSY);
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, change).is_ok()
    }

    /// A response is written next, which holds buffers of the pool or doesn't.
    pub fn responds(&self, holds_buffers: bool) {
        self.holds_buffers.store(holds_buffers, Ordering::Relaxed);
    }

    /// A message of a stream is written next.
    pub fn begin_message(&self, holds_buffers: bool) {
        self.responds(holds_buffers);
        self.has_begun.store(true, Ordering::Relaxed);
    }

    /// Whether a message has begun since the last call.
    pub fn take_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed) && self.has_begun.swap(false, Ordering::Relaxed)
    }

    /// The request has its response, which is written next.
    pub fn end(&self, holds_buffers: bool) {
        self.responds(holds_buffers);
        let before = self.state.swap(HANDLED, Ordering::AcqRel);
        assert_eq!(before, BUSY, "a request ends that had not begun");
    }

    /// Whether the response that is being written holds buffers of the pool.
    pub fn holds_buffers(&self) -> bool {
        self.holds_buffers.load(Ordering::Relaxed)
    }

    /// The response is written, and nothing has been received since.
    pub fn idle(&self) {
        if self.state.load(Ordering::Acquire) == HANDLED {
            let since = self.epoch.elapsed().as_micros() as u64 + IDLE_SINCE_MIN;
            // Only the connection's task leaves this state.
            self.state.store(since, Ordering::Release);
        }
    }

    /// Returns when the connection has to make room.
    pub async fn evicted(&self) {
        self.evicted.notified().await;
    }

    /// Since when the connection is idle.
    pub fn idle_since(&self) -> Option<Instant> {
        self.idle_state().map(|since| self.epoch + Duration::from_micros(since - IDLE_SINCE_MIN))
    }

    fn idle_state(&self) -> Option<u64> {
        Some(self.state.load(Ordering::Acquire)).filter(|state| (IDLE_SINCE_MIN..EVICTED).contains(state))
    }

    fn try_evict(&self, since: u64) -> bool {
        let is_evicted = self.state.compare_exchange(since, EVICTED, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if is_evicted {
            self.evicted.notify_one();
        }
        is_evicted
    }
}

/// The open connections.
#[derive(Debug)]
pub(crate) struct Connections {
    open: Mutex<Vec<Arc<Activity>>>,
    epoch: Instant,
}

impl Connections {
    pub fn new() -> Arc<Connections> {
        Arc::new(Connections { open: Mutex::default(), epoch: Instant::now() })
    }

    /// A connection is opened; it is closed when the value is dropped.
    pub fn open(self: &Arc<Self>) -> Open {
        let activity = Activity::new(self.epoch);
        self.lock().push(activity.clone());
        Open { activity, connections: self.clone() }
    }

    /// Closes the connection that is idle for the longest time. False if none is idle for at least `idle_min`.
    pub fn evict_idle(&self, idle_min: Duration) -> bool {
        let Some(before) = self.epoch.elapsed().checked_sub(idle_min) else { return false };
        let before = before.as_micros() as u64 + IDLE_SINCE_MIN;
        let open = self.lock();
        let since = |activity: &Activity| activity.idle_state().filter(|since| *since <= before);
        let idle = || open.iter().filter_map(|activity| Some((since(activity)?, activity)));
        // One that has begun a request meanwhile is not idle any more.
        while let Some((since, activity)) = idle().min_by_key(|(since, _)| *since) {
            if activity.try_evict(since) {
                return true;
            }
        }
        false
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Activity>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open connection.
#[derive(Debug)]
pub(crate) struct Open {
    pub activity: Arc<Activity>,
    connections: Arc<Connections>,
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut open = self.connections.lock();
        let Some(place) = open.iter().position(|activity| Arc::ptr_eq(activity, &self.activity)) else {
            unreachable!("a connection is closed that none of {} is", open.len())
        };
        open.swap_remove(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE_MIN: Duration = Duration::from_millis(50);

    #[tokio::test(start_paused = true)]
    async fn the_oldest_idle_connection_makes_room() {
        let connections = Connections::new();
        let mut opened = Vec::new();
        for _ in 0..4 {
            opened.push(connections.open());
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        let [first, second, third, fourth] = &opened[..] else { unreachable!("four were opened") };
        assert!(first.activity.begin() && second.activity.begin());
        second.activity.end(false);
        assert!(!connections.evict_idle(IDLE_MIN), "their requests may be in flight");
        tokio::time::advance(IDLE_MIN).await;
        assert!(connections.evict_idle(IDLE_MIN));
        third.activity.evicted().await;
        assert!(!third.activity.begin(), "it is being closed");
        second.activity.idle();
        assert!(connections.evict_idle(IDLE_MIN));
        fourth.activity.evicted().await;
        assert!(!connections.evict_idle(IDLE_MIN), "its next request may be in flight");
        tokio::time::advance(IDLE_MIN).await;
        assert!(connections.evict_idle(IDLE_MIN));
        second.activity.evicted().await;
        assert!(!connections.evict_idle(IDLE_MIN), "the first handles a request");
        drop(opened);
        assert_eq!(connections.lock().len(), 0);
    }
}
