//! Receives a request's body into the pool's buffers, and gives up on clients that stall.

use crate::http::Api;
use crate::http::error::ApiError;
use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How long a body may take whatever its length.
const BODY_WAIT: Duration = Duration::from_secs(20);

/// The slowest a body may come in bytes a second, once it has had [`BODY_WAIT`].
const BODY_RATE_MIN: u64 = 64 << 10;

/// The longest that no byte may come.
const FRAME_WAIT: Duration = Duration::from_secs(10);

/// A body as it arrives.
pub(crate) struct BodyReader {
    incoming: Incoming,
    started: Instant,
    bytes: u64,
    bytes_max: u64,
}

impl BodyReader {
    /// The body of a request; one whose head says that it is too large is refused before a byte of it is read.
    pub fn new(api: &Api, request: Request<Incoming>) -> Result<BodyReader, ApiError> {
        let bytes_max = api.config.request_bytes_max;
        let announced = request.body().size_hint().lower();
        if announced > bytes_max {
            return Err(ApiError::too_large(announced, bytes_max));
        }
        Ok(BodyReader { incoming: request.into_body(), started: Instant::now(), bytes: 0, bytes_max })
    }

    /// The most bytes that may come: the announced length, or else the limit.
    pub fn bytes_expected(&self) -> u64 {
        self.incoming.size_hint().upper().unwrap_or(self.bytes_max)
    }

    /// The next bytes, as the socket gave them; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        let earned = Duration::from_secs(self.bytes / BODY_RATE_MIN);
        let deadline = (Instant::now() + FRAME_WAIT).min(self.started + BODY_WAIT + earned);
        loop {
            let frame = timeout_at(deadline, self.incoming.frame()).await.map_err(|_| {
                let message = "the body came too slowly; send it faster, or in smaller requests";
                ApiError::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", message)
            })?;
            let frame = match frame {
                None => return Ok(None),
                Some(frame) => frame.map_err(|error| {
                    ApiError::bad("body_cut_off", format!("the body did not arrive whole: {error}; send it again"))
                })?,
            };
            // Trailers are no data.
            let Ok(bytes) = frame.into_data() else { continue };
            self.bytes += bytes.len() as u64;
            if self.bytes > self.bytes_max {
                return Err(ApiError::too_large(self.bytes, self.bytes_max));
            }
            return Ok(Some(bytes));
        }
    }
}

/// The media type of a request's body, without its parameters, in lower case.
pub(crate) fn media_type<B>(request: &Request<B>) -> String {
    let value = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
