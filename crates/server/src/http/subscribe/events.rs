//! A subscription as a stream of server-sent events: a streaming body.
//!
//! The HTTP library polls the next piece when it has sent the previous ones, so nothing is read for a subscriber that
//! doesn't read.

use super::control;
use super::cursor;
use super::deliver::{self, SILENCE_MAX, Size, Step, Wanted};
use super::sse::{self, Group};
use crate::http::api::Api;
use crate::http::error::ApiError;
use crate::http::render::{self, Buffer, Counter, RecordJson};
use crate::http::response::{self, ApiResponse};
use crate::http::select::{self, Part};
use crate::http::{long_poll, topics};
use crate::metrics::{Protocol, SubscriberGuard};
use crate::net::peer::Peer;
use bytes::Bytes;
use futures_util::stream::{Stream, unfold};
use http::{HeaderName, HeaderValue, Method, header};
use rawline_broker::ReadAnswer;
use rawline_broker::limits::BLOCK_BYTES;
use rawline_broker::pool::Gathered;
use rawline_broker::subscriptions::{Event, Records};
use rawline_contract::subscription::ControlMessage;
use rawline_contract::{Payload, code, timestamp};
use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, sleep_until};

/// Limits of one rendered group: records, and their stored bytes. The first record is always included.
const GROUP: Size = Size { records_max: 4096, bytes_max: 128 << 10, verify: true, has_gaps: false };

/// Size of the text of a group in bytes, unless its first event alone is larger. Other records are in the next group.
const TEXT_BYTES: u64 = 6 * BLOCK_BYTES as u64;

/// How long after records were passed over a client learns the cursor.
const CURSOR_AFTER: Duration = Duration::from_secs(1);

/// The maximum ratio of a text's JSON to its bytes, which nearly all structured values stay below too.
const TEXT_FACTOR: u64 = 6;
const VALUE_FACTOR: u64 = 12;

/// Maximum size of a record's JSON without the record in bytes, as for a response in JSON.
const RECORD_AROUND_BYTES: u64 = 128;

/// A larger record isn't rendered outside the buffers first.
const SMALL_BYTES: usize = 16 << 10;

/// The response whose body is the stream; for `HEAD` it ends at once.
pub(super) fn response(api: &Arc<Api>, peer: &Peer, method: &Method, wanted: Wanted) -> Result<ApiResponse, ApiError> {
    let permit = long_poll::connection_permit(api)?;
    let mut response = match method == Method::HEAD {
        true => ApiResponse::default(),
        false => response::stream(stream(api.clone(), peer.clone(), wanted, permit)),
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies would hold events back.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(response)
}

/// A subscription and its unsent events.
struct Events {
    api: Arc<Api>,
    peer: Peer,
    wanted: Wanted,
    stopping: watch::Receiver<bool>,
    pieces: VecDeque<Bytes>,
    silent_at: Instant,
    /// When to send the position, if records were skipped since it was last sent.
    cursor_at: Option<Instant>,
    is_over: bool,
    _permit: OwnedSemaphorePermit,
    _counted: SubscriberGuard,
}

fn stream(
    api: Arc<Api>,
    peer: Peer,
    wanted: Wanted,
    permit: OwnedSemaphorePermit,
) -> impl Stream<Item = Bytes> + Send + 'static {
    let first = sse::begin(cursor::text(&wanted.subscription).as_deref());
    let events = Events {
        stopping: api.stopping.clone(),
        wanted,
        pieces: VecDeque::from([first.into()]),
        silent_at: Instant::now() + SILENCE_MAX,
        cursor_at: None,
        is_over: false,
        _permit: permit,
        _counted: api.metrics.subscriptions.begin(),
        api,
        peer,
    };
    unfold(events, |mut events| async move {
        loop {
            if let Some(piece) = events.pieces.pop_front() {
                events.silent_at = Instant::now() + SILENCE_MAX;
                return Some((piece, events));
            }
            if events.is_over {
                return None;
            }
            events.proceed().await;
        }
    })
}

impl Events {
    /// Waits for the next delivery, and renders it.
    async fn proceed(&mut self) {
        let api = self.api.clone();
        let event = tokio::select! {
            biased;
            () = long_poll::stopped(&mut self.stopping) => Some(Err(deliver::stopping())),
            event = self.wanted.next(&api, Protocol::Sse) => Some(event),
            () = sleep_until(self.cursor_at.unwrap_or(self.silent_at)), if self.cursor_at.is_some() => {
                return self.say_cursor();
            }
            () = sleep_until(self.silent_at) => None,
        };
        let _turn = match event {
            Some(Ok(Event::Records(_))) => match select::turn(&api).await {
                Ok(turn) => Some(turn),
                Err(error) => return self.end(&error),
            },
            _ => None,
        };
        let steps = match event {
            None => return self.pieces.push_back(Bytes::from_static(sse::KEEP_ALIVE.as_bytes())),
            Some(Ok(event)) => self.wanted.steps(&api, event, GROUP).await,
            Some(Err(error)) => vec![Step::End(error)],
        };
        for step in steps {
            // A slow client may have held up the steps before this one.
            if self.wanted.caller.has_ended() {
                return self.end(&deliver::key_changed());
            }
            match step {
                // The ids of events are whole cursors.
                Step::Say(ControlMessage::Topic { .. }) => {}
                Step::Say(control) => self.pieces.push_back(control::event(&control).into()),
                Step::End(error) => return self.end(&error),
                Step::Records(records, read) => match self.render(&records, read).await {
                    Ok(()) => {}
                    Err(error) if error.code() == code::ANSWER_TOO_LARGE => {
                        self.pass_over(&records, records.offset + 1)
                    }
                    Err(error) => match error.next_offset() {
                        Some(next_offset) => {
                            deliver::unreadable(&records, &error);
                            self.pass_over(&records, next_offset);
                        }
                        None => return self.end(&error),
                    },
                },
            }
        }
    }

    fn end(&mut self, error: &ApiError) {
        self.pieces.push_back(control::event(&control::end(error)).into());
        self.is_over = true;
    }

    /// Passes over records before an offset: one for which there are not enough buffers in this form, or a batch that
    /// can't be read.
    fn pass_over(&mut self, records: &Records, next_offset: u64) {
        let skipped = deliver::skipped(&self.api, records, next_offset);
        self.pieces.push_back(control::event(&skipped).into());
        let end = records.partition.stable_offset().max(next_offset);
        self.wanted.subscription.delivered(records, next_offset, end);
    }

    /// Renders the events of read records.
    async fn render(&mut self, records: &Records, read: ReadAnswer) -> Result<(), ApiError> {
        let (read_end, next_offset) = (read.end_offset, read.next_offset);
        let api = &*self.api;
        let around = cursor::around(&self.wanted.subscription, &records.topic, records.number);
        let group = Group::new(&records.topic, records.number, around);
        let selected = select::select(api, read, &deliver::all(records.offset, GROUP.bytes_max)).await?;
        let payload = topics::payload(&records.partition);
        let mut text = Text::new(api, &self.peer, &group, &selected.parts, payload).await?;
        let (mut end, mut count) = (records.offset, 0);
        let mut is_full = false;
        for part in &selected.parts {
            let data = match part.data(api).await {
                Ok(data) => data,
                // The next group begins with the unreadable batch.
                Err(error) if error.next_offset().is_some() && end > records.offset => break,
                Err(error) => return Err(error),
            };
            let mut fields = part.fields();
            let time = timestamp(part.created_us()).to_string();
            for (offset, range) in (part.first_offset..).zip(part.ranges()?) {
                let bytes = data.get(&range);
                let record = fields.as_mut().and_then(Iterator::next);
                if self.wanted.filter.as_ref().is_none_or(|filter| filter.matches(bytes)) {
                    let record = RecordJson { offset, time: &time, bytes, payload, fields: record };
                    if !text.push(&group, &record).map_err(render::too_large)? {
                        is_full = true;
                        break;
                    }
                    count += 1;
                }
                end = offset + 1;
            }
            if is_full {
                break;
            }
        }
        if selected.parts.is_empty() {
            end = read_end;
        }
        if is_full && end == records.offset {
            return Err(render::too_large("the first record"));
        }
        drop(selected);
        let bytes = text.buffer.0.bytes();
        self.pieces.extend(text.buffer.0.freeze());
        self.api.metrics.returned(Protocol::Sse, count, bytes);
        self.wanted.caller.read(bytes);
        self.wanted.subscription.delivered(records, end, next_offset.max(end));
        let is_told = count > 0 && group.has_ids() && self.wanted.filter.is_none();
        if count > 0 && !group.has_ids() {
            self.say_cursor();
        } else if !is_told {
            self.cursor_at = self.cursor_at.or_else(|| Some(Instant::now() + CURSOR_AFTER));
        }
        Ok(())
    }

    fn say_cursor(&mut self) {
        self.cursor_at = None;
        self.pieces.extend(cursor::text(&self.wanted.subscription).map(|cursor| sse::id(&cursor).into()));
    }
}

/// The events of one group, in buffers that are reserved before anything is decompressed.
struct Text {
    buffer: Buffer,
    bytes_max: u64,
    /// One event, so that only whole ones get into the buffers.
    event: Vec<u8>,
}

impl Text {
    async fn new(api: &Api, peer: &Peer, group: &Group, parts: &[Part], payload: Payload) -> Result<Text, ApiError> {
        let factor = if payload == Payload::Value { VALUE_FACTOR } else { TEXT_FACTOR };
        let around = RECORD_AROUND_BYTES + group.bytes() as u64;
        let (mut all, mut first) = (0, 0);
        for part in parts {
            all += render::json_bytes_max(part) + part.records() * around;
            if first == 0 {
                let record = part.ranges()?.next().map_or(0, |range| range.len() as u64);
                first = record * factor + around + render::first_fields_bytes_max(part);
            }
        }
        // The first event always fits.
        let bytes_max = all.min(TEXT_BYTES).max(first);
        Ok(Text {
            buffer: Buffer(Gathered::new(render::reserve(api, peer, bytes_max).await?)),
            bytes_max,
            event: Vec::new(),
        })
    }

    /// Adds the event of a record. False if it doesn't fit.
    fn push(&mut self, group: &Group, record: &RecordJson<'_>) -> std::io::Result<bool> {
        let next_offset = record.offset + 1;
        if record.stored_bytes() > SMALL_BYTES {
            let mut length = Counter(0);
            group.event(&mut length, next_offset, record)?;
            let fits = self.buffer.0.bytes() + length.0 <= self.bytes_max;
            return if fits { group.event(&mut self.buffer, next_offset, record).map(|()| true) } else { Ok(false) };
        }
        self.event.clear();
        group.event(&mut self.event, next_offset, record)?;
        if self.buffer.0.bytes() + self.event.len() as u64 > self.bytes_max {
            return Ok(false);
        }
        self.buffer.write_all(&self.event).map(|()| true)
    }
}
