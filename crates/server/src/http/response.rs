//! Responses: their body, which hands stored bytes to the socket as they are, and their few shapes.

use crate::http::offsets::OffsetsText;
use crate::http::websocket::Upgrade;
use crate::net::activity::Activity;
use bytes::Bytes;
use futures_util::Stream;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use rawline_broker::{Piece, ReadAnswer};
use rawline_contract::MediaType;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::sync::OwnedSemaphorePermit;

/// A response that is handed to the connection.
pub type ApiResponse = Response<ResponseBody>;

/// A body of known length in pieces, none of which is copied before `writev`.
#[derive(Debug, Default)]
pub struct ResponseBody {
    pieces: VecDeque<Bytes>,
    /// Follows the pieces.
    offsets: Option<OffsetsText>,
    /// The remaining bytes: the announced length without the sent part.
    bytes: u64,
    /// Whether the pieces are buffers of the pool.
    holds_buffers: bool,
    /// The rest of a body of unknown length.
    stream: Option<BodyStream>,
    /// The protocol that uses the connection after this response.
    upgrade: Option<Upgrade>,
    /// Given back when the client has taken the response.
    _permit: Option<OwnedSemaphorePermit>,
}

impl ResponseBody {
    /// A body of these pieces, in order.
    pub fn new(pieces: impl IntoIterator<Item = Bytes>) -> Self {
        // A list isn't copied. Pushing pieces one by one could take twice the memory.
        let pieces = VecDeque::from(pieces.into_iter().filter(|piece| !piece.is_empty()).collect::<Vec<_>>());
        let bytes = pieces.iter().map(|piece| piece.len() as u64).sum();
        ResponseBody { pieces, bytes, ..ResponseBody::default() }
    }

    /// Whether buffers of the pool are free again when it is sent.
    pub(crate) fn holds_buffers(&self) -> bool {
        self.holds_buffers
    }

    /// A streaming body; to the connection, each of its pieces is a separate message.
    pub(crate) fn stream(stream: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        ResponseBody {
            stream: Some(BodyStream { stream: Box::pin(stream), activity: None }),
            ..ResponseBody::default()
        }
    }

    /// Whether it is a stream, on whose connection this has happened; the request ends when the stream does.
    pub(crate) fn streams_on(&mut self, activity: &Arc<Activity>) -> bool {
        if let Some(stream) = &mut self.stream {
            stream.activity = Some(activity.clone());
        }
        self.stream.is_some()
    }

    /// An empty body, after which this uses the connection.
    pub(crate) fn upgrade(upgrade: Upgrade) -> Self {
        ResponseBody { upgrade: Some(upgrade), ..ResponseBody::default() }
    }

    /// The protocol that uses the connection after this response, once.
    pub(crate) fn take_upgrade(&mut self) -> Option<Upgrade> {
        self.upgrade.take()
    }

    /// The rest of it.
    pub(crate) fn into_pieces(self) -> impl Iterator<Item = Bytes> {
        self.pieces.into_iter().chain(self.offsets.into_iter().flatten())
    }

    /// The size of its rest, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(stream) = &mut self.stream {
            let piece = ready!(stream.stream.as_mut().poll_next(context));
            if let (Some(_), Some(activity)) = (&piece, &stream.activity) {
                activity.begin_message(true);
            }
            return Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))));
        }
        let piece = match self.pieces.pop_front() {
            Some(piece) => Some(piece),
            None => self.offsets.as_mut().and_then(Iterator::next),
        };
        let Some(piece) = piece else {
            assert_eq!(self.bytes, 0, "a body ends before its announced length");
            return Poll::Ready(None);
        };
        let piece_bytes = piece.len() as u64;
        assert!(piece_bytes <= self.bytes, "a piece of {piece_bytes} bytes where {} are left to send", self.bytes);
        self.bytes -= piece_bytes;
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes == 0 && self.stream.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        if self.stream.is_some() { SizeHint::default() } else { SizeHint::with_exact(self.bytes) }
    }
}

/// The pieces of a body without a known length.
struct BodyStream {
    stream: Pin<Box<dyn Stream<Item = Bytes> + Send>>,
    activity: Option<Arc<Activity>>,
}

impl fmt::Debug for BodyStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BodyStream")
    }
}

impl Drop for BodyStream {
    fn drop(&mut self) {
        if let Some(activity) = &self.activity {
            activity.end(false);
        }
    }
}

/// The pieces of a read as batches: slices get a header, everything else stays as stored.
pub(crate) fn batches(read: ReadAnswer) -> Vec<Bytes> {
    // A slice has four.
    let mut body = Vec::with_capacity(read.pieces.len() + 2 * 3);
    for piece in read.pieces {
        match piece {
            Piece::Whole(bytes) => body.push(bytes),
            Piece::Slice { cut, .. } => {
                body.push(Bytes::copy_from_slice(&cut.slice.header));
                body.push(cut.sizes);
                body.push(cut.data);
                body.push(Bytes::from_static(cut.slice.padding));
            }
        }
    }
    body
}

/// A response with a streaming body.
pub(crate) fn stream(stream: impl Stream<Item = Bytes> + Send + 'static) -> ApiResponse {
    Response::new(ResponseBody::stream(stream))
}

/// A response of some pieces.
pub fn pieces(status: StatusCode, content_type: HeaderValue, pieces: impl IntoIterator<Item = Bytes>) -> ApiResponse {
    let mut response = Response::new(ResponseBody::new(pieces));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

/// The same of pieces in buffers of the pool.
pub fn buffers(content_type: HeaderValue, pieces: impl IntoIterator<Item = Bytes>) -> ApiResponse {
    let mut response = self::pieces(StatusCode::OK, content_type, pieces);
    response.body_mut().holds_buffers = true;
    response
}

/// A value as JSON. For small ones: it lies outside the pool.
pub fn json(status: StatusCode, value: &impl serde::Serialize) -> ApiResponse {
    match serde_json::to_vec(value) {
        Ok(text) => pieces(status, MediaType::Json.header_value(), [Bytes::from(text)]),
        Err(error) => unreachable!("a value of the API has no JSON form: {error}"),
    }
}

/// 201, and the offset of each record of an append.
pub fn offsets(offsets: Range<u64>) -> ApiResponse {
    let text = OffsetsText::new(offsets);
    let mut response = pieces(StatusCode::CREATED, MediaType::Json.header_value(), []);
    let body = response.body_mut();
    body.bytes = text.bytes();
    body.offsets = Some(text);
    response
}

/// 200 and a JSON document.
pub fn json_document(text: &'static str) -> ApiResponse {
    pieces(StatusCode::OK, MediaType::Json.header_value(), [Bytes::from_static(text.as_bytes())])
}

/// 200 and text.
pub fn text(text: impl Into<String>) -> ApiResponse {
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    pieces(StatusCode::OK, content_type, [Bytes::from(text.into())])
}

/// 200 and metrics in Prometheus' text format; holds the permit until the client has taken them.
pub fn metrics(text: String, permit: OwnedSemaphorePermit) -> ApiResponse {
    let content_type = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    let mut response = pieces(StatusCode::OK, content_type, [Bytes::from(text)]);
    response.body_mut()._permit = Some(permit);
    response
}

/// 204: no records within the time.
pub fn no_content() -> ApiResponse {
    let mut response = ApiResponse::default();
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
