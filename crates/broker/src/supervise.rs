//! Watches over a task that owns the end of a topic or a journal, and reports how it ended.

use futures_util::FutureExt;
use std::any::Any;
use std::panic::AssertUnwindSafe;
use tokio::sync::watch;

/// State of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Running,
    Ended,
    /// It panicked, with this message.
    Failed(String),
}

/// How a task is.
#[derive(Clone)]
pub(crate) struct Supervised(watch::Receiver<State>);

impl Supervised {
    /// A task to be started, and how it is from now on. If it panics, `failed` is called with the message. `guard` is
    /// dropped when it has ended.
    pub fn new(
        task: impl Future<Output = ()> + Send + 'static,
        failed: impl FnOnce(&str) + Send + 'static,
        guard: impl Send + 'static,
    ) -> (Supervised, impl Future<Output = ()> + Send + 'static) {
        let (state, state_now) = watch::channel(State::Running);
        let task = async move {
            let ended = AssertUnwindSafe(task).catch_unwind().await;
            state.send_replace(match ended {
                Ok(()) => State::Ended,
                Err(panic) => {
                    let reason = message(&*panic);
                    failed(&reason);
                    State::Failed(reason)
                }
            });
            drop(guard);
        };
        (Supervised(state_now), task)
    }

    /// The message of the task's panic, if it has panicked.
    pub fn failure(&self) -> Option<String> {
        match &*self.0.borrow() {
            State::Failed(reason) => Some(reason.clone()),
            State::Running | State::Ended => None,
        }
    }

    /// Waits until the task has ended; then returns the message of its panic, if that was the reason.
    pub async fn ended(&self) -> Option<String> {
        let mut state = self.0.clone();
        // The sender reports the end before it is dropped, except when the runtime shuts down.
        let _ = state.wait_for(|state| *state != State::Running).await;
        self.failure()
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}
