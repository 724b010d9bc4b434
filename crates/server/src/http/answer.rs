//! Answers: their body, which hands stored bytes to the socket as they are, and the few shapes they have.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// An answer on its way to the connection.
pub type Answer = Response<AnswerBody>;

/// A body of known length in pieces; none of them is copied on its way to `writev`.
#[derive(Debug, Default)]
pub struct AnswerBody {
    pieces: VecDeque<Bytes>,
    bytes: u64,
}

impl AnswerBody {
    /// A body of these pieces, in order.
    pub fn new(pieces: impl IntoIterator<Item = Bytes>) -> Self {
        let pieces: VecDeque<Bytes> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
        let bytes = pieces.iter().map(|piece| piece.len() as u64).sum();
        AnswerBody { pieces, bytes }
    }

    /// What is left of it, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.pieces.pop_front();
        self.bytes -= piece.as_ref().map_or(0, |piece| piece.len() as u64);
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes)
    }
}

/// An answer of some pieces.
pub fn pieces(status: StatusCode, content_type: HeaderValue, pieces: impl IntoIterator<Item = Bytes>) -> Answer {
    let mut answer = Response::new(AnswerBody::new(pieces));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, content_type);
    answer
}

/// 200 and a text.
pub fn text(text: impl Into<String>) -> Answer {
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    pieces(StatusCode::OK, content_type, [Bytes::from(text.into())])
}

/// 200 and metrics in Prometheus' text format.
pub fn metrics(text: String) -> Answer {
    let content_type = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    pieces(StatusCode::OK, content_type, [Bytes::from(text)])
}

/// 200 and a text that is JSON.
pub fn json_text(text: &'static str) -> Answer {
    pieces(StatusCode::OK, JSON, [Bytes::from_static(text.as_bytes())])
}

/// A value as JSON.
pub fn json(status: StatusCode, value: &impl serde::Serialize) -> Answer {
    // Values of our own types always have a JSON form; an empty body would show a mistake in them at once.
    pieces(status, JSON, [Bytes::from(serde_json::to_vec(value).unwrap_or_default())])
}

/// The media type of JSON.
pub const JSON: HeaderValue = HeaderValue::from_static("application/json");
