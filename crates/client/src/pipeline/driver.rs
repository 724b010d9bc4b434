//! The task that moves the bytes of a connection while several requests share it.

use super::shared::Shared;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::time::{Instant, Sleep, sleep};

/// Moves the bytes until nothing is in flight.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut overdue = pin!(sleep(shared.timeout));
    // Whether the tasks that have just been woken have run: their requests are written with one call.
    let mut has_yielded = false;
    poll_fn(|context| {
        loop {
            if !has_yielded && shared.has_outgoing() {
                has_yielded = true;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            let is_done = shared.drive_all(context).is_ready();
            if is_done && has_yielded && shared.leave_task() {
                return Poll::Ready(());
            }
            if is_done && !has_yielded {
                // Callers that have got their responses may send the next requests.
                has_yielded = true;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            has_yielded = false;
            if !is_done && close_if_overdue(&shared, overdue.as_mut(), context) {
                has_yielded = true;
            } else if !is_done && shared.wait_for_requests(context) {
                return Poll::Pending;
            }
        }
    })
    .await;
}

/// Closes the connection if its first response is overdue. Otherwise the task is woken when it will be.
fn close_if_overdue(shared: &Shared, mut overdue: Pin<&mut Sleep>, context: &mut Context<'_>) -> bool {
    while overdue.as_mut().poll(context).is_ready() {
        let now = Instant::now();
        let since = shared.waits_since().unwrap_or(now);
        if now.saturating_duration_since(since) >= shared.timeout {
            shared.close_overdue();
            return true;
        }
        overdue.as_mut().reset(since + shared.timeout);
    }
    false
}
