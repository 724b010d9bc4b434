//! Why a request to S3 failed, and trying it again.

use std::error::Error;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Why one request failed.
pub(super) enum Failed {
    /// The object to be created is there, or just being created by somebody else.
    Exists {
        in_progress: bool,
    },
    /// There is no such object, or no such bucket.
    Missing(String),
    Denied(String),
    /// It would fail again.
    ForGood(String),
    /// It may succeed if tried again.
    Passing(String),
    TimedOut,
}

impl Failed {
    pub(super) fn text(&self) -> &str {
        match self {
            Failed::Exists { .. } => "others are creating it, again and again",
            Failed::Missing(text) | Failed::Denied(text) | Failed::ForGood(text) | Failed::Passing(text) => text,
            Failed::TimedOut => "no answer in time",
        }
    }

    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Failed::Exists { .. } | Failed::Passing(_) | Failed::TimedOut)
    }

    pub(super) fn is_missing_object(&self) -> bool {
        matches!(self, Failed::Missing(text) if text.contains("NoSuchKey") || !text.contains("<Code>"))
    }

    /// S3 answers so when asked for the first bytes of an object that has none.
    pub(super) fn is_empty_object(&self) -> bool {
        matches!(self, Failed::ForGood(text) if text.contains("InvalidRange") || text.contains("416 Range Not Satisfiable"))
    }
}

impl From<object_store::Error> for Failed {
    fn from(error: object_store::Error) -> Failed {
        use object_store::Error as E;
        let text = all_causes(&error);
        match error {
            // `object_store` gives this for 412 and, without a precondition inside, for 409: another request is
            // creating the object and may yet fail.
            E::AlreadyExists { source, .. } => {
                let in_progress = !source
                    .downcast_ref::<E>()
                    .is_some_and(|inner| matches!(inner, E::Precondition { .. } | E::NotModified { .. }));
                Failed::Exists { in_progress }
            }
            E::NotFound { .. } => Failed::Missing(text),
            E::PermissionDenied { .. } | E::Unauthenticated { .. } => Failed::Denied(text),
            E::Generic { .. } => {
                // `object_store` keeps the status to itself, except in words.
                let passing = ["status code: 408", "status code: 429"].iter().any(|code| text.contains(code));
                let for_good = ["status code: 4", "status code: 3", "status code: 501", "redirect"];
                if !passing && for_good.iter().any(|code| text.contains(code)) {
                    Failed::ForGood(text)
                } else {
                    Failed::Passing(text)
                }
            }
            _ => Failed::ForGood(text),
        }
    }
}

/// Tries again, with pauses that double and are cut by chance, for so long.
pub(super) struct Tries {
    until: Instant,
    pause: Duration,
}

impl Tries {
    /// Tries for so long.
    pub(super) fn lasting(budget: Duration) -> Tries {
        Tries { until: Instant::now() + budget, pause: PAUSE_MIN }
    }

    /// Waits for the next try; gives the failure back if it is for good or the time is over.
    pub(super) async fn again(&mut self, failed: Failed) -> Result<(), Failed> {
        let pause = self.pause.mul_f64(rand::random_range(0.5..1.0));
        if !failed.is_passing() || Instant::now() + pause > self.until {
            return Err(failed);
        }
        tracing::debug!(reason = failed.text(), ?pause, "trying an S3 request again");
        sleep(pause).await;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        Ok(())
    }
}

pub(super) fn all_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    text
}
