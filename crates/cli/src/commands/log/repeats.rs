//! Leaves lines out that were logged within the last minute, and counts them. Lines that differ only in the address of
//! the other side are the same: a thousand clients with the same mistake are one line and a number.

use std::collections::HashMap;
use std::collections::hash_map::{DefaultHasher, Entry};
use std::fmt::{self, Debug, Write};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// How long a line isn't repeated.
pub const WINDOW: Duration = Duration::from_secs(60);

/// Lines that are remembered. With more different ones within a minute, the others are logged whenever they come.
const LINES_MAX: usize = 1024;

/// The target of the audit log, of which nothing is left out here: it has its own limit.
const AUDIT: &str = "audit";

/// The fields in which the same lines may differ.
const ADDRESSES: [&str; 2] = ["address", "peer"];

/// The lines of the last minute, by their hash.
#[derive(Default)]
pub struct Repeats(Mutex<HashMap<u64, Line>>);

struct Line {
    logged_at: Instant,
    message: String,
    left_out: u64,
}

/// How often a line was left out.
#[derive(Debug, PartialEq, Eq)]
pub struct Repeated {
    pub message: String,
    pub count: u64,
}

impl Repeats {
    fn lines(&self) -> MutexGuard<'_, HashMap<u64, Line>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a line is logged now.
    fn admit(&self, hash: u64, message: &str, now: Instant) -> bool {
        let mut lines = self.lines();
        if lines.len() >= LINES_MAX {
            lines.retain(|_, line| line.left_out > 0 || now - line.logged_at < WINDOW);
        }
        let has_room = lines.len() < LINES_MAX;
        match lines.entry(hash) {
            Entry::Occupied(mut line) if now - line.get().logged_at < WINDOW => {
                line.get_mut().left_out += 1;
                false
            }
            // Its count is reported on its own.
            Entry::Occupied(mut line) => {
                line.get_mut().logged_at = now;
                true
            }
            Entry::Vacant(place) => {
                if has_room {
                    place.insert(Line { logged_at: now, message: message.to_owned(), left_out: 0 });
                }
                true
            }
        }
    }

    /// The lines that were left out and whose minute is over, once.
    pub fn ended(&self) -> Vec<Repeated> {
        let now = Instant::now();
        self.take(|line| now - line.logged_at >= WINDOW)
    }

    /// All that were left out, once.
    pub fn all(&self) -> Vec<Repeated> {
        self.take(|_| true)
    }

    fn take(&self, is_due: impl Fn(&Line) -> bool) -> Vec<Repeated> {
        let mut due = Vec::new();
        self.lines().retain(|_, line| {
            let is_due = is_due(line);
            if is_due && line.left_out > 0 {
                due.push(Repeated { message: std::mem::take(&mut line.message), count: line.left_out });
            }
            !is_due
        });
        due
    }
}

/// Formats a line, unless it is left out: then nothing is written. It isn't a filter of the library, whose state is
/// wrong for the next event if a filter refuses one by its fields.
pub struct Once<F> {
    pub format: F,
    pub repeats: Arc<Repeats>,
}

impl<S, N, F> FormatEvent<S, N> for Once<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, to: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        if event.metadata().target() != AUDIT {
            let mut text = Text::default();
            event.record(&mut text);
            let mut hasher = DefaultHasher::new();
            (event.metadata().callsite(), &text.message, &text.others).hash(&mut hasher);
            if !self.repeats.admit(hasher.finish(), &text.message, Instant::now()) {
                return Ok(());
            }
        }
        self.format.format_event(context, to, event)
    }
}

#[derive(Default)]
struct Text {
    message: String,
    others: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _infallible = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name if ADDRESSES.contains(&name) => Ok(()),
            name => write!(self.others, "{name}={value:?} "),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_line_is_logged_once_a_minute_and_the_others_are_counted() {
        let repeats = Repeats::default();
        let admit = |hash| repeats.admit(hash, if hash == 1 { "one" } else { "two" }, Instant::now());
        assert!(admit(1) && !admit(1) && admit(2) && !admit(1));
        assert_eq!(repeats.ended(), []);
        tokio::time::advance(WINDOW).await;
        assert_eq!(repeats.ended(), [Repeated { message: "one".to_owned(), count: 2 }]);
        assert_eq!(repeats.ended(), [], "once");
        assert!(admit(1) && !admit(1));
        assert_eq!(repeats.all(), [Repeated { message: "one".to_owned(), count: 1 }]);
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_lines_are_remembered() {
        let repeats = Repeats::default();
        for hash in 0..2 * LINES_MAX as u64 {
            assert!(repeats.admit(hash, "line", Instant::now()));
        }
        assert_eq!(repeats.lines().len(), LINES_MAX);
        assert!(!repeats.admit(0, "line", Instant::now()));
        assert!(repeats.admit(2 * LINES_MAX as u64 - 1, "line", Instant::now()), "not remembered");
        tokio::time::advance(WINDOW).await;
        assert!(repeats.admit(1_000_000, "line", Instant::now()));
        assert_eq!(repeats.lines().len(), 2, "that which was left out, and the new one");
    }
}
