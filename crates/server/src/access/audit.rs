//! The audit log: administrative changes, and refusals, as far as they don't fill the disk.

use super::limits::{REFUSALS_BURST, REFUSALS_PER_SECOND};
use super::quota::Bucket;
use rawline_broker::{Clock, SystemClock};
use rawline_contract::timestamp;
use serde::Serialize;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// An administrative change, or a refusal. It never has a key or a record.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Event<'a> {
    /// `http`, `kafka` or `broker`.
    pub protocol: &'static str,
    /// The name of the key.
    pub key: Option<&'a str>,
    /// The client's address.
    pub peer: Option<IpAddr>,
    /// The broker that has forwarded the client's request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<&'a str>,
    pub action: &'a str,
    /// The resource, such as a topic.
    pub resource: &'a str,
    /// `ok`, or an error's code.
    pub outcome: &'a str,
    /// Refusals before this one that were not noted.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

impl<'a> Event<'a> {
    /// Actions of the broker itself.
    pub fn of_broker(action: &'a str, resource: &'a str, outcome: &'a str) -> Event<'a> {
        Event { protocol: "broker", key: None, peer: None, through: None, action, resource, outcome, left_out: 0 }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The output of events.
enum Sink {
    /// The broker's own log.
    Log,
    /// Lines of JSON. It is opened for each, so that it can be moved away.
    File(PathBuf),
}

/// The audit log.
pub struct Audit {
    sink: Sink,
    clock: Arc<dyn Clock>,
    began: Instant,
    limiter: Mutex<Limiter>,
    /// Whether the last event could not be written, which the log has said.
    has_failed: AtomicBool,
}

impl Default for Audit {
    fn default() -> Self {
        Audit::to_log()
    }
}

impl Audit {
    /// To the broker's own log, with the target `audit`.
    pub fn to_log() -> Audit {
        Audit::new(Sink::Log, Arc::new(SystemClock))
    }

    /// To the end of a file, as lines of JSON. Fails if that can't be opened.
    pub fn to_file(path: PathBuf, clock: Arc<dyn Clock>) -> io::Result<Audit> {
        open(&path)?;
        Ok(Audit::new(Sink::File(path), clock))
    }

    fn new(sink: Sink, clock: Arc<dyn Clock>) -> Audit {
        let limiter = Mutex::new(Limiter::default());
        Audit { sink, clock, began: Instant::now(), limiter, has_failed: AtomicBool::new(false) }
    }

    /// Notes a change.
    pub(crate) fn note(&self, event: &Event<'_>) {
        match &self.sink {
            Sink::Log => {
                let Event { protocol, key, peer, through, action, resource, outcome, left_out } = *event;
                let peer = peer.map(tracing::field::display);
                tracing::info!(
                    target: "audit",
                    protocol, key, peer, through, action, resource, outcome, left_out, "audit"
                );
            }
            Sink::File(path) => {
                let written = line(event, self.clock.now_us()).and_then(|line| open(path)?.write_all(&line));
                let has_failed = written.is_err();
                if let Err(error) = written
                    && !self.has_failed.load(Ordering::Relaxed)
                {
                    tracing::error!(
                        path = %path.display(), %error,
                        "the audit log can't be written; check its disk and its permissions"
                    );
                }
                self.has_failed.store(has_failed, Ordering::Relaxed);
            }
        }
    }

    /// Notes a refusal, unless there are too many.
    pub(crate) fn refused(&self, event: Event<'_>) {
        if let Some(left_out) = self.limiter().refused(self.began.elapsed()) {
            self.note(&Event { left_out, ..event });
        }
    }

    /// Notes how many refusals were left out, when there is room again.
    pub(crate) fn tick(&self) {
        let left_out = self.limiter().left_out(self.began.elapsed());
        if let Some(left_out) = left_out {
            self.note(&Event { left_out, ..Event::of_broker("refusals", "", "left_out") });
        }
    }

    fn limiter(&self) -> std::sync::MutexGuard<'_, Limiter> {
        self.limiter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(path: &PathBuf) -> io::Result<std::fs::File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// One line, which is written at once.
fn line(event: &Event<'_>, now_us: u64) -> io::Result<Vec<u8>> {
    #[derive(Serialize)]
    struct Line<'a> {
        time: jiff::Timestamp,
        #[serde(flatten)]
        event: &'a Event<'a>,
    }
    let mut line = serde_json::to_vec(&Line { time: timestamp(now_us), event })?;
    line.push(b'\n');
    Ok(line)
}

/// Which refusals are noted.
#[derive(Debug)]
struct Limiter {
    bucket: Bucket,
    left_out: u64,
}

impl Default for Limiter {
    fn default() -> Self {
        Limiter { bucket: Bucket::new(REFUSALS_PER_SECOND, REFUSALS_BURST), left_out: 0 }
    }
}

impl Limiter {
    /// Whether a refusal is noted, and how many before it were not.
    fn refused(&mut self, now: Duration) -> Option<u64> {
        if !self.bucket.wait(now).is_zero() {
            self.left_out += 1;
            return None;
        }
        self.bucket.take(now, 1);
        Some(std::mem::take(&mut self.left_out))
    }

    /// How many refusals were left out, if that can be noted now.
    fn left_out(&mut self, now: Duration) -> Option<u64> {
        let is_noted = self.left_out > 0 && self.bucket.wait(now).is_zero();
        if is_noted { self.refused(now) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_limited_and_those_left_out_are_counted() {
        let mut limiter = Limiter::default();
        let start = Duration::from_secs(1000);
        let noted = (0..10_000).filter(|_| limiter.refused(start).is_some()).count();
        assert_eq!(noted, 61);
        assert_eq!(limiter.left_out(start), None, "no room yet");
        assert_eq!(limiter.left_out(start + Duration::from_secs(1)), Some(10_000 - 61));
        assert_eq!(limiter.left_out(start + Duration::from_secs(2)), None, "nothing was left out since");
        assert_eq!(limiter.refused(start + Duration::from_secs(2)), Some(0));
        let day = (0..86_400).flat_map(|second| [Duration::from_secs(10_000 + second); 10]);
        let noted = day.filter(|now| limiter.refused(*now).is_some()).count();
        assert!((86_400..86_500).contains(&noted), "{noted}");
    }

    #[test]
    fn a_file_gets_a_line_for_each_event_also_after_it_was_moved() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let audit = Audit::to_file(path.clone(), Arc::new(SystemClock)).unwrap();
        let event = Event {
            protocol: "http",
            key: Some("k"),
            peer: Some(IpAddr::from([127, 0, 0, 1])),
            through: None,
            action: "topic.delete",
            resource: "two\nlines \"",
            outcome: "ok",
            left_out: 0,
        };
        audit.note(&event);
        audit.note(&event);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!((line["resource"].as_str(), line["peer"].as_str()), (Some("two\nlines \""), Some("127.0.0.1")));
        assert!(line["time"].as_str().unwrap().ends_with('Z') && line.get("left_out").is_none(), "{line}");
        std::fs::rename(&path, folder.path().join("audit.log.1")).unwrap();
        audit.note(&event);
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 1);
        assert!(Audit::to_file(folder.path().join("none/audit.log"), Arc::new(SystemClock)).is_err());
    }
}
