//! One HTTP/1.1 connection, driven by the task that uses it.
//!
//! Usually hyper's connection is spawned as a separate task and used over channels. Every chunk of a body then moves
//! from one thread to another and leaves the processor's cache. Here one task polls both the connection and the future
//! that uses it.
//!
//! hyper receives into its own buffers, from which the bytes would have to be copied. Therefore the socket of a long
//! body of known length is taken out of hyper, read directly into the final buffer, and put into a new hyper connection
//! for the next request: 0.20 CPU seconds per GB instead of 0.22, measured with 16 readers of 1 MiB responses on a busy
//! machine.

use crate::body::Pieces;
use crate::limits::HEAD_BYTES;
use crate::peer::Peer;
use crate::pool::Pooled;
use crate::stream::Stream;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

pub(crate) struct Connection {
    sender: http1::SendRequest<Pieces>,
    /// `None` after the connection has ended.
    driver: Option<Driver>,
    peer: Peer,
}

/// Moves the bytes. Boxed because it is large, and connections move into and out of the pool.
type Driver = Box<http1::Connection<TokioIo<Stream>, Pieces>>;

/// The response to a request for an upgrade to another protocol.
pub(crate) enum Upgraded {
    /// The broker speaks the other protocol from now on; the bytes that have arrived after the head of its response.
    Accepted(http::response::Parts, Bytes, Stream),
    Refused(Connection, Response<Incoming>),
}

/// A request that failed on a connection.
pub(crate) struct SendFailed {
    pub(crate) error: hyper::Error,
    /// The request, if no byte of it was sent.
    pub(crate) unsent: Option<Request<Pieces>>,
}

impl Connection {
    /// Creates a connection over a stream with no response in flight. Sends nothing.
    pub(crate) async fn over(stream: Stream, peer: Peer) -> Result<Connection, hyper::Error> {
        let (sender, driver) =
            http1::Builder::new().read_buf_exact_size(Some(HEAD_BYTES)).handshake(TokioIo::new(stream)).await?;
        Ok(Connection { sender, driver: Some(Box::new(driver)), peer })
    }

    /// The broker that it leads to.
    pub(crate) fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Takes the stream out in the middle of a response's body. Returns the chunks received so far, and the stream with
    /// the rest. `None` if the connection has ended.
    pub(crate) fn into_stream(self, body: &mut Incoming) -> Option<(Vec<Bytes>, Stream)> {
        let mut received = Vec::new();
        let mut context = Context::from_waker(std::task::Waker::noop());
        // The bytes that hyper has decoded, then the bytes left in its buffer.
        while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut *body).poll_frame(&mut context) {
            received.extend(frame.into_data());
        }
        let parts = self.driver?.into_parts();
        received.push(parts.read_buf);
        Some((received, parts.io.into_inner()))
    }

    /// Waits until a request can be sent; false if the connection has ended.
    pub(crate) async fn ready(&mut self) -> bool {
        let Connection { sender, driver, .. } = self;
        drive(driver, poll_fn(|context| sender.poll_ready(context))).await.is_ok()
    }

    /// Sends a request and returns the head of its response.
    pub(crate) async fn send(&mut self, request: Request<Pieces>) -> Result<Response<Incoming>, SendFailed> {
        let response = self.sender.try_send_request(request);
        drive(&mut self.driver, response).await.map_err(|mut failed| {
            let unsent = failed.take_message();
            SendFailed { error: failed.into_error(), unsent }
        })
    }

    /// Sends a request for an upgrade to another protocol.
    pub(crate) async fn upgrade(mut self, request: Request<Pieces>) -> Result<Upgraded, hyper::Error> {
        let mut response = pin!(self.sender.try_send_request(request));
        let driver = &mut self.driver;
        let mut has_ended = driver.is_none();
        // Unlike `advance`, keeps the connection that has ended: it holds the stream.
        let response = poll_fn(|context| {
            if let Poll::Ready(response) = response.as_mut().poll(context) {
                return Poll::Ready(response);
            }
            if let Some(connection) = driver
                && !has_ended
            {
                has_ended = Pin::new(connection).poll(context).is_ready();
            }
            response.as_mut().poll(context)
        });
        let response = response.await.map_err(|failed| failed.into_error())?;
        match self.driver.take_if(|_| response.status() == StatusCode::SWITCHING_PROTOCOLS) {
            Some(connection) => {
                let (parts, (head, _body)) = (connection.into_parts(), response.into_parts());
                Ok(Upgraded::Accepted(head, parts.read_buf, parts.io.into_inner()))
            }
            None => {
                self.driver.take_if(|_| has_ended);
                Ok(Upgraded::Refused(self, response))
            }
        }
    }

    /// The next chunk of a response's body; `None` at its end.
    pub(crate) async fn chunk(&mut self, body: &mut Incoming) -> Option<Result<Bytes, hyper::Error>> {
        loop {
            let frame = drive(&mut self.driver, poll_fn(|context| Pin::new(&mut *body).poll_frame(context))).await?;
            match frame.map(|frame| frame.into_data()) {
                Ok(Ok(chunk)) => return Some(Ok(chunk)),
                Ok(Err(_trailers)) => continue,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl Pooled for Connection {
    fn is_closed(&mut self) -> bool {
        advance(&mut self.driver, &mut Context::from_waker(std::task::Waker::noop()));
        self.driver.is_none() || self.sender.is_closed() || self.peer.is_silent()
    }
}

/// Waits for `wanted` while driving the connection.
async fn drive<F: Future>(driver: &mut Option<Driver>, wanted: F) -> F::Output {
    let mut wanted = pin!(wanted);
    poll_fn(|context| {
        if let Poll::Ready(output) = wanted.as_mut().poll(context) {
            return Poll::Ready(output);
        }
        advance(driver, context);
        wanted.as_mut().poll(context)
    })
    .await
}

/// Drives the connection as far as possible without waiting. When the connection has ended, it is dropped, and its
/// channel reports that to pending requests.
fn advance(driver: &mut Option<Driver>, context: &mut Context<'_>) {
    if let Some(connection) = driver
        && Pin::new(connection).poll(context).is_ready()
    {
        *driver = None;
    }
}
