//! The timer of a task whose next deadline moves with everything that it does.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::time::{Instant, Sleep, sleep_until};

/// A timer that is set only when a deadline comes before the one that it has, and looks again when that has passed:
/// setting it wakes up the thread that waits for events, which costs as much as a small commit.
#[derive(Default)]
pub(super) struct Alarm {
    timer: Option<Pin<Box<Sleep>>>,
}

impl Alarm {
    /// Waits until this time.
    pub async fn at(&mut self, deadline: Instant) {
        poll_fn(|context| self.poll_at(context, deadline)).await;
    }

    fn poll_at(&mut self, context: &mut Context<'_>, deadline: Instant) -> Poll<()> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if deadline < timer.deadline() {
            timer.as_mut().reset(deadline);
        }
        loop {
            ready!(timer.as_mut().poll(context));
            if Instant::now() >= deadline {
                return Poll::Ready(());
            }
            timer.as_mut().reset(deadline);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::{sleep, timeout};

    #[tokio::test(start_paused = true)]
    async fn it_ends_at_each_deadline_whether_it_is_earlier_or_later_than_the_one_before() {
        let (mut alarm, start) = (Alarm::default(), Instant::now());
        let given_up = timeout(Duration::from_secs(1), alarm.at(start + Duration::from_secs(60))).await;
        assert!(given_up.is_err());
        for at in [10, 9, 50, 200, 120, 201] {
            let deadline = Instant::now().max(start + Duration::from_secs(at));
            alarm.at(deadline).await;
            assert_eq!(Instant::now(), deadline, "{at}");
        }
        // The timer has ended meanwhile.
        sleep(Duration::from_secs(60)).await;
        let deadline = Instant::now() + Duration::from_secs(5);
        alarm.at(deadline).await;
        assert_eq!(Instant::now(), deadline);
    }
}
