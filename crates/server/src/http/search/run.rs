//! Drives a search from window to window, until everything is looked through or a limit is reached.

use super::lines::{self, Progress};
use super::query::Wanted;
use super::window::{Found, WINDOW_BYTES, Window};
use crate::access::{Caller, Operation};
use crate::http::api::Api;
use crate::http::auth;
use crate::http::error::ApiError;
use crate::http::subscribe::deliver::stopping;
use crate::metrics::{Metered, Protocol};
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, timeout_at};

/// Offsets of a window: at first, and at most. A window of the newest records first is read from its beginning, so it
/// has to be small where records are large.
const WINDOW_OFFSETS: u64 = 4 << 10;
const WINDOW_OFFSETS_MAX: u64 = 64 << 10;

/// The time between two lines with the progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// How long a client may take to read some matches after the search's own time is over.
const SEND_WAIT: Duration = Duration::from_secs(10);

/// A running search.
pub(super) struct Search {
    api: Arc<Api>,
    caller: Arc<Caller>,
    wanted: Wanted,
    sender: Sender<Bytes>,
    progress: Progress,
    window_offsets: u64,
    ends_at: Instant,
    progress_at: Instant,
}

/// What follows a step.
enum Next {
    Window,
    End,
    /// The client doesn't read the response.
    Gone,
}

impl Search {
    pub fn new(api: Arc<Api>, caller: Arc<Caller>, wanted: Wanted, sender: Sender<Bytes>) -> Search {
        let now = Instant::now();
        Search {
            progress: Progress { offsets_left: wanted.remaining.offsets(), ..Progress::default() },
            ends_at: now + wanted.time,
            progress_at: now + PROGRESS_EVERY,
            window_offsets: WINDOW_OFFSETS,
            api,
            caller,
            wanted,
            sender,
        }
    }

    /// Searches, and sends the lines of the response.
    pub async fn run(mut self) {
        let error = loop {
            match self.step().await {
                Ok(Next::Window) => {}
                Ok(Next::End) => break None,
                Ok(Next::Gone) => return,
                Err(error) => break Some(error),
            }
        };
        self.send(lines::end(self.progress, &self.wanted.remaining, error)).await;
    }

    /// Looks through the next window, and sends its matches.
    async fn step(&mut self) -> Result<Next, ApiError> {
        let is_done = self.progress.matches >= self.wanted.matches_max || self.progress.bytes >= self.wanted.bytes_max;
        let window = self.wanted.remaining.window(self.window_offsets);
        let Some((number, window)) = window.filter(|_| !is_done && Instant::now() < self.ends_at) else {
            return Ok(Next::End);
        };
        if *self.api.stopping.borrow() {
            return Err(stopping());
        }
        if self.sender.is_closed() {
            return Ok(Next::Gone);
        }
        self.caller = auth::renewed(&self.api, &self.caller)?;
        self.caller.grants().topic(Operation::Read, &self.wanted.topic)?;
        let wait = self.caller.read_wait();
        if !wait.is_zero() {
            self.api.metrics.exceeded(Protocol::Http, Metered::Read);
            // The quota may take longer than the search.
            let _ = timeout_at(self.ends_at, sleep(wait)).await;
            return Ok(Next::Window);
        }
        let offsets = window.end - window.start;
        let (found, took) = self.search(number, window).await?;
        let is_read = match found {
            None => {
                self.window_offsets = (offsets / 2).max(1);
                self.caller.read(WINDOW_BYTES);
                true
            }
            Some(found) => {
                if found.bytes < WINDOW_BYTES / 4 {
                    self.window_offsets = (self.window_offsets * 2).min(WINDOW_OFFSETS_MAX);
                }
                self.found(found).await
            }
        };
        // Others need the processor, the disk and the bucket too.
        sleep(took).await;
        Ok(if is_read { Next::Window } else { Next::Gone })
    }

    /// Looks through a window, and returns how long that took.
    async fn search(&self, number: u32, window: Range<u64>) -> Result<(Option<Found>, Duration), ApiError> {
        let partition = self.api.broker.partition(&self.wanted.topic, number.into()).await?;
        let _turn = self.api.scans.acquire().await;
        let began = Instant::now();
        let matches_max = self.wanted.matches_max - self.progress.matches;
        let (api, criteria, order) = (&*self.api, &self.wanted.criteria, self.wanted.remaining.order);
        let window_of = Window { api, partition: &partition, number, criteria, order, matches_max };
        Ok((window_of.search(window).await?, began.elapsed()))
    }

    /// Counts a window, and sends its matches. False if the client doesn't take them.
    async fn found(&mut self, found: Found) -> bool {
        let Found { lines, passed, bytes, unreadable } = found;
        self.wanted.remaining.passed(&passed);
        self.caller.read(bytes);
        let progress = &mut self.progress;
        progress.matches += lines.len() as u64;
        progress.offsets += passed.end - passed.start;
        progress.offsets_left = self.wanted.remaining.offsets();
        progress.bytes += bytes;
        progress.unreadable += unreadable;
        let mut text = lines.concat();
        self.api.metrics.returned(Protocol::Http, lines.len() as u64, text.len() as u64);
        drop(lines);
        let goes_on = !self.wanted.remaining.is_empty() && self.progress.matches < self.wanted.matches_max;
        if goes_on && Instant::now() >= self.progress_at {
            self.progress_at = Instant::now() + PROGRESS_EVERY;
            text.extend(lines::progress(self.progress));
        }
        text.is_empty() || self.send(text).await
    }

    /// Sends lines. False if the client doesn't take them.
    async fn send(&self, text: Vec<u8>) -> bool {
        let until = self.ends_at.max(Instant::now()) + SEND_WAIT;
        matches!(timeout_at(until, self.sender.send(text.into())).await, Ok(Ok(())))
    }
}
