//! Small appends that are sent at the same time share a connection: several are in flight on it, in order.
//!
//! ```text
//! join ─► queue ─► link ─► broker ─► link ─► responses ─► slot of the caller
//!         (order)  (bytes)                                (wakes it)
//! ```
//!
//! The broker stores all small appends that have arrived on a connection together, and answers them with one write
//! (`crates/server/src/http/small/`). So n callers cost both sides few system calls instead of 2n.

mod connections;
mod driver;
mod link;
mod queue;
mod request;
mod response;
mod shared;
mod slot;
mod ticket;

pub(crate) use link::Opening;
pub(crate) use request::SmallHead;
pub(crate) use slot::Outcome;
pub(crate) use ticket::Ticket;

use crate::tasks;
use connections::Connections;
use shared::{Next, Shared};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The shared connections of a client.
pub(crate) struct Pipelines {
    connections: Arc<Connections>,
    broker: String,
    timeout: Duration,
}

impl Pipelines {
    /// Connections to a broker, which are closed when a response takes longer than `timeout`.
    pub(crate) fn new(broker: String, timeout: Duration, idle_max: usize) -> Pipelines {
        Pipelines { connections: Connections::new(idle_max), broker, timeout }
    }

    /// Queues a request on a connection in use that has room, or else on an idle or a new one. Requests are queued in
    /// the order of the calls; one that `is_ordered` doesn't leave a connection because it is slow.
    pub(crate) fn join(&self, request: &[u8], is_ordered: bool, open: impl FnOnce() -> Opening) -> Ticket {
        let now = Instant::now();
        let mut busy = self.connections.busy();
        let in_use = busy.iter().find_map(|shared| {
            let joined = shared.join(request, now, is_ordered)?;
            Some((shared.clone(), joined))
        });
        let (shared, (slot, next)) = in_use.unwrap_or_else(|| {
            let shared = self.connections.idle.take().unwrap_or_else(|| self.connection(open()));
            let Some(joined) = shared.join(request, now, is_ordered) else {
                unreachable!("a connection without requests is full")
            };
            busy.push(shared.clone());
            (shared, joined)
        });
        drop(busy);
        match next {
            Next::Nothing => {}
            Next::Wake(waker) => waker.wake(),
            Next::StartTask(shared) => drop(tasks::spawn(driver::run(shared))),
        }
        Ticket::new(shared, slot)
    }

    fn connection(&self, opening: Opening) -> Arc<Shared> {
        Arc::new(Shared::new(Arc::downgrade(&self.connections), self.broker.clone(), self.timeout, opening))
    }
}
