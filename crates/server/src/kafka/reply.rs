//! A response, and how it gets to the client.

use super::error::ConnectionError;
use crate::net::pieces::{PIECES_MAX, write_pieces};
use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt};
use rawline_kafka::Api;
use rawline_kafka::frame::{RequestHeader, response_header};
use std::collections::VecDeque;
use std::io;
use tokio::io::AsyncWrite;
use tokio::time::Instant;

/// A response.
pub(super) struct Reply {
    pieces: VecDeque<Bytes>,
    /// Whether some of them are buffers of the pool.
    pub holds_buffers: bool,
    /// The first error in it; 0 without one.
    pub error: i16,
}

/// The result of a request: a response, `None` if the client wants none, or an error that closes the connection after
/// the responses before it.
pub(super) type Outcome = Result<Option<Reply>, ConnectionError>;

/// A request that has begun.
pub(super) struct Begun {
    pub api: Api,
    pub since: Instant,
    pub pending: Pending,
}

/// An outcome that may not be known yet.
pub(super) enum Pending {
    Ready(Outcome),
    Later(BoxFuture<'static, Outcome>),
}

impl Pending {
    pub async fn outcome(self) -> Outcome {
        match self {
            Pending::Ready(outcome) => outcome,
            Pending::Later(outcome) => outcome.await,
        }
    }

    /// The outcome if it is known now.
    pub fn now(self) -> Result<Outcome, Pending> {
        match self {
            Pending::Ready(outcome) => Ok(outcome),
            Pending::Later(mut outcome) => (&mut outcome).now_or_never().ok_or(Pending::Later(outcome)),
        }
    }
}

impl Reply {
    /// The response to a request, whose body has these pieces.
    pub fn new(to: &RequestHeader, api: Api, body: impl IntoIterator<Item = Bytes>) -> Reply {
        let body: Vec<Bytes> = body.into_iter().filter(|piece| !piece.is_empty()).collect();
        let bytes = body.iter().map(|piece| piece.len() as u64).sum();
        let is_flexible = api.has_flexible_response_header(to.version);
        let mut pieces = VecDeque::with_capacity(1 + body.len());
        pieces.push_back(response_header(to.correlation_id, is_flexible, bytes).into());
        pieces.extend(body);
        Reply { pieces, holds_buffers: false, error: 0 }
    }

    /// The same with pieces that are buffers of the pool.
    pub fn with_buffers(self) -> Reply {
        Reply { holds_buffers: true, ..self }
    }

    /// The same with an error in it.
    pub fn with_error(self, error: i16) -> Reply {
        Reply { error, ..self }
    }

    /// Both responses, in order.
    pub fn and(mut self, mut next: Reply) -> Reply {
        self.pieces.append(&mut next.pieces);
        Reply { holds_buffers: self.holds_buffers || next.holds_buffers, ..self }
    }

    /// Whether another response can be passed to the system with it.
    pub fn has_room(&self) -> bool {
        self.pieces.len() < PIECES_MAX
    }

    /// Writes all of it.
    pub async fn write(self, stream: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        write_pieces(stream, self.pieces).await
    }
}
