//! A response whose head has been received: its body, and the reuse of its connection.

use crate::client::Inner;
use crate::connection::Connection;
use crate::error::ClientError;
use crate::limits::{PIECE_BYTES, REFUSAL_BYTES_MAX};
use crate::peer::Peer;
use crate::refusal::refused;
use crate::stream::Stream;
use bytes::{BufMut, Bytes};
use http::header::{CONNECTION, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, Response, StatusCode};
use http_body::Body;
use hyper::body::Incoming;
use rawline_contract::MediaType;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;

/// A response whose head has been received. Its connection returns to the pool when the body has been read to its end,
/// and is closed otherwise.
pub(crate) struct Exchange {
    client: Arc<Inner>,
    peer: Peer,
    source: Source,
    head: http::response::Parts,
    body: Incoming,
    /// Announced length of the body in bytes, if there is one.
    announced_bytes: Option<u64>,
    /// Number of bytes received so far.
    received_bytes: u64,
}

/// The source of the rest of a response's body.
enum Source {
    Http(Connection),
    /// A long body, which is read without hyper.
    Stream(Stream),
    /// The end was reached, or the connection failed.
    Ended,
}

impl Exchange {
    /// Creates the exchange for a response whose head has just arrived on `connection`.
    pub(crate) fn new(client: Arc<Inner>, connection: Connection, response: Response<Incoming>) -> Exchange {
        let (head, body) = response.into_parts();
        let announced_bytes = body.size_hint().exact();
        let peer = connection.peer().clone();
        Exchange { client, peer, source: Source::Http(connection), head, body, announced_bytes, received_bytes: 0 }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.head.status
    }

    /// The value of a header that is a number.
    pub(crate) fn number(&self, name: &HeaderName) -> Result<u64, ClientError> {
        let value = self.head.headers.get(name).and_then(|value| value.to_str().ok());
        value
            .and_then(|value| value.parse().ok())
            .ok_or_else(|| self.not_a_brokers(format!("the header {name} is missing or not a number")))
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// The value of a header that is text.
    pub(crate) fn header(&self, name: &HeaderName) -> Option<String> {
        self.head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
    }

    /// The media type of the body, if it is known.
    pub(crate) fn media_type(&self) -> Option<MediaType> {
        self.head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).and_then(MediaType::parse)
    }

    /// Announced length of the body in bytes; zero if none was announced.
    pub(crate) fn announced_bytes(&self) -> u64 {
        self.announced_bytes.unwrap_or(0)
    }

    /// Number of bytes of the body that were received so far.
    pub(crate) fn received_bytes(&self) -> u64 {
        self.received_bytes
    }

    /// Number of remaining bytes of a body whose length was announced; `None` if it was not.
    fn bytes_left(&self) -> Option<u64> {
        let announced = self.announced_bytes?;
        assert!(self.received_bytes <= announced, "received {} bytes of {announced}", self.received_bytes);
        Some(announced - self.received_bytes)
    }

    /// Asserts that the next response on this connection begins at the end of this body.
    fn check_end(&self) {
        let (received, announced) = (self.received_bytes, self.announced_bytes);
        let is_whole = announced.is_none_or(|announced| announced == received);
        assert!(is_whole, "a connection is reused after {received} of {announced:?} bytes of a response");
    }

    pub(crate) fn not_a_brokers(&self, reason: String) -> ClientError {
        ClientError::Answer { broker: self.client.config.broker.clone(), reason }
    }

    /// The next chunk of the body; `None` at its end, where the connection returns to the pool if `reuse` is set.
    pub(crate) async fn chunk(&mut self, reuse: bool) -> Result<Option<Bytes>, ClientError> {
        let Source::Http(connection) = &mut self.source else { return Ok(None) };
        let chunk = self.peer.unless_silent(Duration::ZERO, connection.chunk(&mut self.body)).await;
        match chunk.inspect_err(|_| self.source = Source::Ended)? {
            Some(Ok(chunk)) => {
                self.received_bytes += chunk.len() as u64;
                Ok(Some(chunk))
            }
            Some(Err(error)) => {
                self.source = Source::Ended;
                Err(self.client.broken(&error))
            }
            None => {
                if let Source::Http(connection) = std::mem::replace(&mut self.source, Source::Ended)
                    && reuse
                {
                    self.check_end();
                    self.client.pool.put(connection);
                }
                Ok(None)
            }
        }
    }

    /// Appends the next piece of the body to `buffer`; false at its end. Pieces are so short that they are still in the
    /// processor's cache when this returns.
    pub(crate) async fn receive(&mut self, buffer: &mut Vec<u8>) -> Result<bool, ClientError> {
        // hyper reads a body without a length, and the short rest of a body.
        let left = self.bytes_left().unwrap_or(0);
        if matches!(self.source, Source::Http(_)) && left >= PIECE_BYTES as u64 {
            return self.take_stream(buffer);
        }
        let Source::Stream(stream) = &mut self.source else {
            let chunk = self.chunk(true).await?;
            buffer.extend_from_slice(chunk.as_deref().unwrap_or_default());
            return Ok(chunk.is_some());
        };
        if left == 0 {
            return self.give_stream_back().await.map(|()| false);
        }
        let piece = usize::try_from(left).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        buffer.reserve(piece);
        let before = buffer.len();
        let mut room = buffer.limit(piece);
        match self.peer.unless_silent(Duration::ZERO, stream.read_buf(&mut room)).await? {
            Ok(0) => Err(self.client.truncated("it was closed in the middle of a response".to_owned())),
            Ok(read) => {
                assert!(read <= piece, "read {read} bytes, {} into the next response", read - piece);
                assert_eq!(buffer.len(), before + read, "{read} bytes were read after {before}");
                self.received_bytes += read as u64;
                Ok(true)
            }
            Err(error) => Err(self.client.truncated(error.to_string())),
        }
    }

    /// Continues without hyper.
    fn take_stream(&mut self, buffer: &mut Vec<u8>) -> Result<bool, ClientError> {
        let Source::Http(connection) = std::mem::replace(&mut self.source, Source::Ended) else {
            unreachable!("a stream is taken out of a response that hyper doesn't receive")
        };
        let left = self.bytes_left();
        let Some((chunks, stream)) = connection.into_stream(&mut self.body) else {
            return Err(self.client.truncated("it was closed in the middle of a response".to_owned()));
        };
        let bytes = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        if left.is_none_or(|left| left < bytes) {
            return Err(self.not_a_brokers("the response is longer than its Content-Length".to_owned()));
        }
        self.received_bytes += bytes;
        chunks.iter().for_each(|chunk| buffer.extend_from_slice(chunk));
        self.source = Source::Stream(stream);
        Ok(true)
    }

    /// Returns the stream to hyper for the next response.
    async fn give_stream_back(&mut self) -> Result<(), ClientError> {
        let closes =
            self.head.headers.get(CONNECTION).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"close"));
        if let Source::Stream(stream) = std::mem::replace(&mut self.source, Source::Ended)
            && !closes
        {
            self.check_end();
            let connection =
                Connection::over(stream, self.peer.clone()).await.map_err(|error| self.client.broken(&error))?;
            self.client.pool.put(connection);
        }
        Ok(())
    }

    /// The whole body, if it has at most `bytes_max` bytes. The connection is kept if `reuse` is set.
    pub(crate) async fn text(&mut self, bytes_max: u64, reuse: bool) -> Result<Vec<u8>, ClientError> {
        let mut text = Vec::new();
        while let Some(chunk) = self.chunk(reuse).await? {
            if text.len() as u64 + chunk.len() as u64 > bytes_max {
                self.source = Source::Ended;
                return Err(self.not_a_brokers(format!("more than {bytes_max} bytes")));
            }
            text.extend_from_slice(&chunk);
        }
        Ok(text)
    }

    /// Turns a response with an error status into that error. If part of the rejected request may be unsent, its
    /// connection is closed, because the broker need not read the rest.
    pub(crate) async fn checked(mut self, sent_whole: bool) -> Result<Exchange, ClientError> {
        let status = self.head.status;
        if status.is_success() {
            return Ok(self);
        }
        // A broker may close the connection before the message is read: the status alone is enough.
        let text = self.text(REFUSAL_BYTES_MAX, sent_whole).await.unwrap_or_default();
        Err(refused(status, &self.head.headers, &text))
    }
}
