//! Receives a request's body into the pool's buffers, and gives up on clients that stall.

use crate::http::Api;
use crate::http::error::ApiError;
use crate::net::pace::Waits;
use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};

/// A body as it arrives.
pub(crate) struct BodyReader {
    /// `None` when it is read whole or given up.
    incoming: Option<Incoming>,
    /// Whether the client waits for the head of an answer before it sends anything.
    is_held_back: bool,
    waits: Waits,
    started: Instant,
    bytes: u64,
    bytes_max: u64,
}

impl BodyReader {
    /// Parts a request into its head and its body.
    pub fn split(api: &Api, request: Request<Incoming>) -> (Request<()>, BodyReader) {
        let (head, incoming) = request.into_parts();
        let reader = BodyReader {
            incoming: Some(incoming),
            is_held_back: head.headers.contains_key(header::EXPECT),
            waits: api.config.waits,
            started: Instant::now(),
            bytes: 0,
            bytes_max: api.config.request_bytes_max,
        };
        (Request::from_parts(head, ()), reader)
    }

    /// Refuses a body whose head says that it is too large, before a byte of it is read.
    pub fn check_length(&self) -> Result<(), ApiError> {
        let announced = self.incoming.as_ref().map_or(0, |incoming| incoming.size_hint().lower());
        if announced > self.bytes_max { Err(ApiError::too_large(announced, self.bytes_max)) } else { Ok(()) }
    }

    /// The most bytes that may come: the announced length, or else the limit.
    pub fn bytes_expected(&self) -> u64 {
        self.incoming.as_ref().and_then(|incoming| incoming.size_hint().upper()).unwrap_or(self.bytes_max)
    }

    /// The next bytes, as the socket gave them; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        let deadline = self.waits.body_deadline(self.started, self.bytes);
        while let Some(incoming) = &mut self.incoming {
            let frame = timeout_at(deadline, incoming.frame()).await.map_err(|_| {
                let message = "the body came too slowly; send it faster, or in smaller requests";
                ApiError::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", message)
            })?;
            let Some(frame) = frame else {
                self.incoming = None;
                break;
            };
            let frame = frame.map_err(|error| {
                ApiError::bad("body_cut_off", format!("the body did not arrive whole: {error}; send it again"))
            })?;
            // Trailers are no data.
            let Ok(bytes) = frame.into_data() else { continue };
            self.bytes += bytes.len() as u64;
            if self.bytes > self.bytes_max {
                return Err(ApiError::too_large(self.bytes, self.bytes_max));
            }
            return Ok(Some(bytes));
        }
        Ok(None)
    }
}

impl Drop for BodyReader {
    /// Reads on for a while what is left of a refused body. A connection closed while its client still sends is
    /// reset, and most clients would then report the reset instead of the answer.
    fn drop(&mut self) {
        let Some(mut incoming) = self.incoming.take() else { return };
        if self.is_held_back || incoming.is_end_stream() {
            return;
        }
        let wait = self.waits.refused_body;
        tokio::spawn(tokio::time::timeout(wait, async move { while let Some(Ok(_)) = incoming.frame().await {} }));
    }
}

/// The media type of a request's body, without its parameters, in lower case.
pub(crate) fn media_type<B>(request: &Request<B>) -> String {
    let value = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
