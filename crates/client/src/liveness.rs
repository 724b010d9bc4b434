//! Whether a broker lives that doesn't respond to a request.
//!
//! A broker that is paused, or whose machine has gone, keeps its connections: nothing ends the requests in flight
//! there. So while one waits for long, the broker is asked over another connection. One that is only slow, since its
//! bucket is, responds to that at once.

use crate::limits::{QUESTION_INTERVAL, SILENT_AVOIDED_FOR};
use crate::tasks;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

/// The known state of one broker.
#[derive(Default)]
pub(crate) struct Liveness(watch::Sender<State>);

#[derive(Debug, Clone, Copy, Default)]
struct State {
    /// How often the broker was found silent.
    silences: u64,
    /// When it was found silent, unless it has responded since.
    silent_at: Option<Instant>,
    /// Time of the check.
    asked_at: Option<Instant>,
    is_asking: bool,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Lives,
    Silent,
    /// It could not be asked.
    Unknown,
}

impl Liveness {
    /// How often the broker was found silent so far. Requests that were in flight before the latest time are abandoned.
    pub(crate) fn silences(&self) -> u64 {
        self.0.borrow().silences
    }

    /// Whether it was found silent so recently that other brokers are tried first.
    pub(crate) fn is_avoided(&self) -> bool {
        self.0.borrow().silent_at.is_some_and(|at| at.elapsed() < SILENT_AVOIDED_FOR)
    }

    /// Returns when the broker has been found silent more than `seen` times. From `ask_at` on, has it asked with
    /// `question` at intervals. All that wait at the same time share the questions.
    pub(crate) async fn silence<Q, F>(self: &Arc<Self>, seen: u64, ask_at: Instant, question: Q)
    where
        Q: Fn() -> F,
        F: Future<Output = Answer> + Send + 'static,
    {
        let mut state = self.0.subscribe();
        let asking = async {
            sleep_until(ask_at).await;
            loop {
                if self.begin_question() {
                    // A task: the answer counts for others too if this caller waits no longer.
                    tasks::spawn(self.clone().ask(question()));
                }
                sleep(QUESTION_INTERVAL).await;
            }
        };
        tokio::select! {
            // The sender lives as long as this.
            _ = state.wait_for(|state| state.silences > seen) => {}
            () = asking => {}
        }
    }

    /// Whether it is to be asked now: not while it is being asked, or was a moment ago.
    fn begin_question(&self) -> bool {
        self.0.send_if_modified(|state| {
            let is_due = state.asked_at.is_none_or(|at| at.elapsed() >= QUESTION_INTERVAL);
            if state.is_asking || !is_due {
                return false;
            }
            (state.is_asking, state.asked_at) = (true, Some(Instant::now()));
            true
        })
    }

    async fn ask(self: Arc<Self>, question: impl Future<Output = Answer>) {
        let answer = question.await;
        self.0.send_modify(|state| {
            assert!(state.is_asking, "an answer without a question: {state:?}");
            state.is_asking = false;
            match answer {
                Answer::Lives => state.silent_at = None,
                Answer::Silent => {
                    state.silences += 1;
                    state.silent_at = Some(Instant::now());
                }
                Answer::Unknown => {}
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::RESPONSE_PATIENCE;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;
    use tokio::time::timeout;

    const TAKES: Duration = Duration::from_secs(1);

    /// Waits for silence for so many seconds. Returns after how long the broker was found silent, and how often it was
    /// asked.
    async fn wait(liveness: &Arc<Liveness>, seconds: u64, answer: fn(u64) -> Answer) -> (Option<Duration>, u64) {
        let asked = Arc::new(AtomicU64::new(0));
        let question = || {
            let number = asked.fetch_add(1, Ordering::Relaxed);
            async move {
                sleep(TAKES).await;
                answer(number)
            }
        };
        let began = Instant::now();
        let silence = liveness.silence(liveness.silences(), began + RESPONSE_PATIENCE, question);
        let found = timeout(Duration::from_secs(seconds), silence).await.is_ok();
        (found.then(|| began.elapsed()), asked.load(Ordering::Relaxed))
    }

    #[tokio::test(start_paused = true)]
    async fn no_broker_is_asked_before_a_request_has_waited_for_long() {
        let liveness = Arc::new(Liveness::default());
        assert_eq!(wait(&liveness, 1, |_| Answer::Silent).await, (None, 0));
        assert!(!liveness.is_avoided());
    }

    #[tokio::test(start_paused = true)]
    async fn a_broker_that_responds_or_cannot_be_asked_is_not_silent() {
        let liveness = Arc::new(Liveness::default());
        for answer in [|_| Answer::Lives, |_| Answer::Unknown] {
            assert_eq!(wait(&liveness, 9, answer).await, (None, 4), "asked at 2, 4, 6 and 8 s");
            assert_eq!((liveness.silences(), liveness.is_avoided()), (0, false));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_broker_that_is_paused_later_is_found_silent() {
        let liveness = Arc::new(Liveness::default());
        let found = wait(&liveness, 60, |number| if number < 3 { Answer::Lives } else { Answer::Silent }).await;
        assert_eq!(found, (Some(Duration::from_secs(9)), 4));
        assert!(liveness.is_avoided());
        sleep(SILENT_AVOIDED_FOR).await;
        assert!(!liveness.is_avoided());
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_ends_the_silence() {
        let liveness = Arc::new(Liveness::default());
        wait(&liveness, 60, |_| Answer::Silent).await;
        assert!(liveness.is_avoided());
        wait(&liveness, 5, |_| Answer::Lives).await;
        assert!(!liveness.is_avoided());
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_wait_share_a_question_whose_answer_may_come_after_its_caller_has_gone() {
        let liveness = Arc::new(Liveness::default());
        // The first one waits no longer when the answer comes.
        let short = async {
            let waits = Duration::from_millis(2500);
            timeout(waits, wait(&liveness, 60, |_| Answer::Silent)).await.unwrap_err();
        };
        let later = async {
            sleep(Duration::from_millis(100)).await;
            wait(&liveness, 60, |_| Answer::Lives).await
        };
        let ((), found) = tokio::join!(short, later);
        assert_eq!(found, (Some(Duration::from_millis(2900)), 0));
        assert_eq!(liveness.silences(), 1);
    }
}
