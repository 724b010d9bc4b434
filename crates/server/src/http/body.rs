//! Reads a request's body piece by piece, within the limits on its size and its pace.

use crate::access::Caller;
use crate::http::api::Api;
use crate::http::error::ApiError;
use crate::net::listen::Crowd;
use crate::net::pace::{BodyPace, SCARCE_CHECK, Waits};
use bytes::Bytes;
use http::{Request, header};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use rawline_broker::pool::{Gathered, Pool};
use rawline_contract::code;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How much of a body must have arrived before the first buffer is reserved for it, in bytes: an eighth of a second at
/// the minimum rate, and one small read. Until then the body lies in the connection's own memory. Without this, clients
/// that send a byte each would hold buffers that others need.
const PROOF_BYTES: u64 = 8 << 10;

/// Length of a body in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Length {
    /// All of it has arrived.
    Whole(u64),
    /// More arrives: the announced length, or the limit without one.
    Max(u64),
}

/// A body as it arrives.
pub(crate) struct BodyReader {
    /// None once it has been read to its end.
    incoming: Option<Incoming>,
    /// Whether the client sends the body only after the head of a response.
    expects_continue: bool,
    waits: Waits,
    pace: BodyPace,
    pool: Arc<Pool>,
    crowd: Arc<Crowd>,
    pool_wait: Duration,
    /// The caller whose quota the bytes count for.
    caller: Option<Arc<Caller>>,
    /// Received and not yet returned.
    first: VecDeque<Bytes>,
    /// How many bytes were received.
    bytes: u64,
    bytes_max: u64,
    /// Announced length, or the limit without one, until the whole body has been received.
    expected: u64,
}

impl BodyReader {
    /// Splits a request into its head and its body.
    pub fn split(api: &Api, request: Request<Incoming>) -> (Request<()>, BodyReader) {
        let (head, incoming) = request.into_parts();
        let expected = incoming.size_hint().upper().unwrap_or(api.config.request_bytes_max);
        let reader = BodyReader {
            incoming: Some(incoming),
            expects_continue: head.headers.contains_key(header::EXPECT),
            waits: api.config.waits,
            pace: BodyPace::new(api.config.waits),
            pool: api.pool.clone(),
            crowd: api.crowd.clone(),
            pool_wait: api.config.pool_wait,
            caller: head.extensions.get().cloned(),
            first: VecDeque::new(),
            bytes: 0,
            bytes_max: api.config.request_bytes_max,
            expected,
        };
        (Request::from_parts(head, ()), reader)
    }

    /// Refuses a body whose announced length is too large, before any of it is read.
    pub fn check_length(&self) -> Result<(), ApiError> {
        let announced = self.incoming.as_ref().map_or(0, |incoming| incoming.size_hint().lower());
        if announced > self.bytes_max { Err(ApiError::too_large(announced, self.bytes_max)) } else { Ok(()) }
    }

    /// Waits until enough of the body has arrived to reserve buffers for it, and returns its length.
    pub async fn prove(&mut self) -> Result<Length, ApiError> {
        assert!(self.first.is_empty(), "a body proves itself once");
        while self.bytes < PROOF_BYTES.min(self.expected) {
            match self.receive().await? {
                Some(piece) => self.first.push_back(piece),
                None => break,
            }
        }
        assert!(self.bytes <= self.expected, "{} bytes of a body of {}", self.bytes, self.expected);
        if self.incoming.as_ref().is_none_or(http_body::Body::is_end_stream) {
            self.expected = self.bytes;
        }
        Ok(if self.bytes == self.expected { Length::Whole(self.bytes) } else { Length::Max(self.expected) })
    }

    /// Makes room for `bytes` more bytes, or as many as were announced. The body isn't read while this waits.
    pub async fn make_room(&mut self, gathered: &mut Gathered, bytes: usize) -> Result<(), ApiError> {
        if !gathered.try_make_room(bytes) {
            let since = Instant::now();
            gathered.make_room(bytes, self.pool_wait).await?;
            self.paused(since.elapsed());
        }
        Ok(())
    }

    /// The body was not read for this long, for reasons that are not the client's.
    pub fn paused(&mut self, pause: Duration) {
        self.pace.paused(pause);
    }

    /// The whole body, if it has at most `bytes_max` bytes.
    pub async fn text(&mut self, bytes_max: usize) -> Result<Vec<u8>, ApiError> {
        let mut text = Vec::new();
        while let Some(piece) = self.next().await? {
            if text.len() + piece.len() > bytes_max {
                return Err(ApiError::too_large((text.len() + piece.len()) as u64, bytes_max as u64));
            }
            text.extend_from_slice(&piece);
        }
        Ok(text)
    }

    /// The next bytes, as the socket returned them; none at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        match self.first.pop_front() {
            Some(piece) => Ok(Some(piece)),
            None => self.receive().await,
        }
    }

    async fn receive(&mut self) -> Result<Option<Bytes>, ApiError> {
        let mut deadline = self.pace.deadline_if_scarce();
        while let Some(incoming) = &mut self.incoming {
            let Ok(frame) = timeout_at(deadline, incoming.frame()).await else {
                let now = Instant::now();
                if now < self.pace.deadline() && !self.pool.is_scarce() && !self.crowd.is_crowded() {
                    // It may continue while no other request needs its buffers.
                    deadline = self.pace.deadline().min(now + SCARCE_CHECK);
                    continue;
                }
                let message = "the body arrives too slowly; send it faster, or in smaller requests";
                return Err(ApiError::new(code::BODY_TOO_SLOW, message));
            };
            let Some(frame) = frame else {
                self.incoming = None;
                break;
            };
            let frame = frame.map_err(|error| {
                ApiError::new(code::BODY_CUT_OFF, format!("the body was truncated: {error}; send it again"))
            })?;
            // Trailers are not data.
            let Ok(bytes) = frame.into_data() else { continue };
            self.bytes += bytes.len() as u64;
            self.pace.arrived(bytes.len() as u64);
            if let Some(caller) = &self.caller {
                caller.appended(bytes.len() as u64);
            }
            if self.bytes > self.bytes_max {
                return Err(ApiError::too_large(self.bytes, self.bytes_max));
            }
            return Ok(Some(bytes));
        }
        Ok(None)
    }
}

impl Drop for BodyReader {
    /// Reads and discards the rest of a refused body for a while. If the connection were closed while its client still
    /// sends, it would be reset, and most clients would report the reset instead of the response.
    fn drop(&mut self) {
        let Some(mut incoming) = self.incoming.take() else { return };
        if self.expects_continue || incoming.is_end_stream() {
            return;
        }
        let wait = self.waits.refused_body;
        #[expect(clippy::disallowed_methods, reason = "the request ends before the rest of its body")]
        tokio::spawn(tokio::time::timeout(wait, async move { while let Some(Ok(_)) = incoming.frame().await {} }));
    }
}
