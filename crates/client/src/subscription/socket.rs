//! The client's side of a WebSocket (RFC 6455): frames in, messages out.
//!
//! The library tungstenite, which reads and writes memory only, follows the protocol: it joins fragments, checks,
//! answers pings and the closing handshake. A binary message in one frame doesn't go through it: its payload is
//! received into the caller's buffer, and is copied nowhere else.

use crate::limits::{CONTROL_MESSAGE_BYTES_MAX, SUBSCRIPTION_READ_BYTES};
use crate::stream::Stream;
use bytes::{Buf, Bytes, BytesMut};
use std::io::{self, Cursor, Read, Write};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tungstenite::Message;
use tungstenite::error::Error;
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};
use tungstenite::protocol::frame::{CloseFrame, FrameHeader};
use tungstenite::protocol::{Role, WebSocketConfig, WebSocketContext};

/// Maximum length of a frame's header in bytes.
const FRAME_HEADER_BYTES_MAX: usize = 14;

/// A WebSocket, on the client's side.
pub(super) struct Socket<S = Stream> {
    stream: S,
    context: WebSocketContext,
    wire: Wire,
    /// Bytes that have arrived, of which nothing is known yet.
    arrived: BytesMut,
    /// The part of a message to which the next bytes belong.
    frame: Frame,
    /// Whether a message has begun whose fragments the library joins.
    is_fragmented: bool,
    /// Maximum length of a message in bytes.
    bytes_max: u64,
}

/// The part of a message to which the next bytes belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    /// The header of a frame.
    Header,
    /// The payload of a frame that is the caller's, of which this many bytes are left.
    Payload(u64),
    /// The payload of a frame that is the library's.
    Library(u64),
}

/// A message of the broker.
#[derive(Debug, PartialEq)]
pub(super) enum Event {
    Text(String),
    /// A binary message of this many bytes begins: [`Socket::take`] and [`Socket::receive`] return them.
    Begin(u64),
    /// A binary message that was sent in fragments.
    Whole(Bytes),
    /// The broker closes the connection; its reason.
    Closed(String),
}

/// Why a WebSocket is of no use any more.
#[derive(Debug)]
pub(super) enum SocketError {
    /// The connection broke.
    Broken(String),
    /// The received bytes aren't valid for a broker.
    Protocol(String),
}

/// Bytes in memory between the library and the socket.
#[derive(Debug, Default)]
struct Wire {
    received: BytesMut,
    sent: BytesMut,
}

impl Read for Wire {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = room.len().min(self.received.len());
        let Some((room, _)) = room.split_at_mut_checked(count) else { return Ok(0) };
        if count == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.received.copy_to_slice(room);
        Ok(count)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.sent.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin> Socket<S> {
    /// After the response to the upgrade, which these bytes followed.
    pub fn new(stream: S, arrived: &[u8], bytes_max: u64) -> Self {
        let limit = usize::try_from(bytes_max).ok();
        let config = WebSocketConfig::default().max_message_size(limit).max_frame_size(limit);
        Socket {
            stream,
            context: WebSocketContext::new(Role::Client, Some(config)),
            wire: Wire::default(),
            arrived: BytesMut::from(arrived),
            frame: Frame::Header,
            is_fragmented: false,
            bytes_max,
        }
    }

    /// The next message, after the current one was taken completely. Cancel-safe.
    pub async fn next(&mut self) -> Result<Event, SocketError> {
        loop {
            self.flush().await?;
            if let Some(event) = self.next_now()? {
                return Ok(event);
            }
            if self.wire.sent.is_empty() {
                self.read().await?;
            }
        }
    }

    /// The next message, if it has arrived.
    fn next_now(&mut self) -> Result<Option<Event>, SocketError> {
        loop {
            match self.frame {
                Frame::Payload(left) => unreachable!("{left} bytes of a message were not taken"),
                Frame::Library(left) => {
                    let count = self.arrived.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    self.wire.received.extend_from_slice(&self.arrived.split_to(count));
                    let left = left - count as u64;
                    self.frame = if left == 0 { Frame::Header } else { Frame::Library(left) };
                    match self.read_library()? {
                        Some(event) => return Ok(Some(event)),
                        None if left > 0 => return Ok(None),
                        None => {}
                    }
                }
                Frame::Header => {
                    let Some((header, header_bytes, payload_bytes)) = self.header()? else { return Ok(None) };
                    let is_binary = header.opcode == OpCode::Data(Data::Binary);
                    let is_plain = !header.rsv1 && !header.rsv2 && !header.rsv3 && header.mask.is_none();
                    if is_binary && is_plain && header.is_final && !self.is_fragmented {
                        self.arrived.advance(header_bytes);
                        self.frame = if payload_bytes > 0 { Frame::Payload(payload_bytes) } else { Frame::Header };
                        return Ok(Some(Event::Begin(payload_bytes)));
                    }
                    if !matches!(header.opcode, OpCode::Control(_)) {
                        self.is_fragmented = !header.is_final;
                    }
                    // Its header too.
                    self.frame = Frame::Library(header_bytes as u64 + payload_bytes);
                }
            }
        }
    }

    /// The next frame's header, which stays where it is, its length and the length of its payload in bytes; `None` if
    /// it has not arrived.
    fn header(&self) -> Result<Option<(FrameHeader, usize, u64)>, SocketError> {
        let (front, _) = self.arrived.split_at(self.arrived.len().min(FRAME_HEADER_BYTES_MAX));
        let mut front = Cursor::new(front);
        let parsed = FrameHeader::parse(&mut front);
        let parsed = parsed.map_err(|error| SocketError::Protocol(error.to_string()))?;
        let Some((header, payload_bytes)) = parsed else { return Ok(None) };
        let bytes_max = match header.opcode {
            OpCode::Data(Data::Text) => CONTROL_MESSAGE_BYTES_MAX.min(self.bytes_max),
            OpCode::Data(_) => self.bytes_max,
            OpCode::Control(Control::Close | Control::Ping | Control::Pong | Control::Reserved(_)) => 125,
        };
        if payload_bytes > bytes_max {
            return Err(SocketError::Protocol(format!(
                "a frame of {payload_bytes} bytes, where the maximum is {bytes_max}"
            )));
        }
        Ok(Some((header, front.position() as usize, payload_bytes)))
    }

    /// The library's result for the bytes so far.
    fn read_library(&mut self) -> Result<Option<Event>, SocketError> {
        loop {
            match self.context.read(&mut self.wire) {
                Ok(Message::Text(text)) => return Ok(Some(Event::Text(text.as_str().to_owned()))),
                Ok(Message::Binary(bytes)) => return Ok(Some(Event::Whole(bytes))),
                Ok(Message::Close(frame)) => return Ok(Some(Event::Closed(reason_of(frame)))),
                // The library has answered it.
                Ok(_) => {}
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(Error::ConnectionClosed | Error::AlreadyClosed) => {
                    return Err(SocketError::Broken("the broker has closed it".to_owned()));
                }
                Err(error) => return Err(SocketError::Protocol(error.to_string())),
            }
        }
    }

    /// Bytes of the message that has begun, if some have arrived.
    pub fn take(&mut self) -> Option<Bytes> {
        let Frame::Payload(left) = self.frame else { return None };
        let count = self.arrived.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        if count == 0 {
            return None;
        }
        self.took(count);
        Some(self.arrived.split_to(count).freeze())
    }

    /// Waits until [`Socket::take`] has bytes of the message that has begun, or receives some, at most `bytes_max`,
    /// into `room`. Cancel-safe.
    pub async fn receive(&mut self, room: Option<&mut Vec<u8>>, bytes_max: usize) -> Result<(), SocketError> {
        let Frame::Payload(left) = self.frame else { unreachable!("no message has begun") };
        assert!(self.arrived.is_empty(), "{} bytes were not taken", self.arrived.len());
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        match room {
            // A short rest arrives with the messages after it.
            Some(room) if left >= SUBSCRIPTION_READ_BYTES => {
                use bytes::BufMut;
                let read = self.stream.read_buf(&mut room.limit(left.min(bytes_max))).await;
                let count = arrived(read)?;
                self.took(count);
                Ok(())
            }
            _ => self.read().await,
        }
    }

    /// The caller has these bytes of the message.
    fn took(&mut self, count: usize) {
        let Frame::Payload(left) = self.frame else { unreachable!("{count} bytes of no message") };
        assert!(count as u64 <= left, "{count} bytes of a message, of which {left} are left");
        let left = left - count as u64;
        self.frame = if left > 0 { Frame::Payload(left) } else { Frame::Header };
    }

    /// Waits for more bytes.
    async fn read(&mut self) -> Result<(), SocketError> {
        self.arrived.reserve(SUBSCRIPTION_READ_BYTES);
        let read = self.stream.read_buf(&mut self.arrived).await;
        arrived(read).map(|_count| ())
    }

    /// Writes the library's pending frames.
    async fn flush(&mut self) -> Result<(), SocketError> {
        // Pongs that it could not write while it read.
        let _ = self.context.flush(&mut self.wire);
        while self.wire.sent.has_remaining() {
            match self.stream.write_buf(&mut self.wire.sent).await {
                Ok(0) => return Err(SocketError::Broken("no more bytes can be written".to_owned())),
                Ok(_) => {}
                Err(error) => return Err(SocketError::Broken(error.to_string())),
            }
        }
        // Over TLS, written bytes may wait for this.
        self.stream.flush().await.map_err(|error| SocketError::Broken(error.to_string()))
    }
}

/// The number of bytes that a read has returned.
fn arrived(read: io::Result<usize>) -> Result<usize, SocketError> {
    match read {
        Ok(0) => Err(SocketError::Broken("the broker has closed it".to_owned())),
        Ok(count) => Ok(count),
        Err(error) => Err(SocketError::Broken(error.to_string())),
    }
}

/// Why the broker closes.
fn reason_of(frame: Option<CloseFrame>) -> String {
    match frame {
        Some(CloseFrame { code, reason }) if reason.is_empty() => format!("the broker has closed it with {code}"),
        Some(CloseFrame { code, reason }) => format!("the broker has closed it with {code}: {reason}"),
        None => "the broker has closed it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{DuplexStream, duplex};

    /// A frame as the broker sends it.
    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![first];
        match payload.len() {
            short @ ..=125 => frame.push(short as u8),
            middle @ ..=0xffff => {
                frame.push(126);
                frame.extend((middle as u16).to_be_bytes());
            }
            long => {
                frame.push(127);
                frame.extend((long as u64).to_be_bytes());
            }
        }
        frame.extend(payload);
        frame
    }

    /// All that a client gets of these bytes, which arrive in pieces of this size, and what it sends.
    async fn receive(bytes: &[u8], piece_bytes: usize, bytes_max: u64) -> (Vec<Event>, Vec<Vec<u8>>, String, Vec<u8>) {
        let (here, mut there) = duplex(1 << 20);
        let mut socket: Socket<DuplexStream> = Socket::new(here, &[], bytes_max);
        let (mut events, mut messages) = (Vec::new(), Vec::new());
        let read = async {
            let error = 'all: loop {
                let event = match socket.next().await {
                    Ok(event) => event,
                    Err(error) => break error,
                };
                if let Event::Begin(length) = event {
                    let mut message = Vec::new();
                    while (message.len() as u64) < length {
                        if let Some(piece) = socket.take() {
                            message.extend_from_slice(&piece);
                        } else if let Err(error) = socket.receive(Some(&mut message), 100).await {
                            break 'all error;
                        }
                    }
                    messages.push(message);
                }
                events.push(event);
            };
            drop(socket);
            format!("{error:?}")
        };
        let write = async {
            for piece in bytes.chunks(piece_bytes) {
                let _ = there.write_all(piece).await;
                tokio::task::yield_now().await;
            }
            let _ = there.shutdown().await;
            let mut sent = Vec::new();
            let _ = there.read_to_end(&mut sent).await;
            sent
        };
        let (error, sent) = tokio::join!(read, write);
        (events, messages, error, sent)
    }

    #[tokio::test]
    async fn messages_arrive_in_one_frame_or_many() {
        let long = vec![7; 200_000];
        let bytes = [
            frame(0x81, b"text"),
            frame(0x82, b""),
            frame(0x82, b"binary"),
            frame(0x89, b"ping"),
            frame(0x82, &long),
            frame(0x02, b"in "),
            frame(0x89, b"between"),
            frame(0x00, b"three "),
            frame(0x80, b"parts"),
            frame(0x82, &long[..300]),
            frame(0x88, &[&1001_u16.to_be_bytes()[..], b"bye"].concat()),
        ]
        .concat();
        for piece_bytes in [1, 1000, 1 << 20] {
            let (events, messages, error, sent) = receive(&bytes, piece_bytes, 1 << 20).await;
            let expected = [
                Event::Text("text".into()),
                Event::Begin(0),
                Event::Begin(6),
                Event::Begin(200_000),
                Event::Whole("in three parts".into()),
                Event::Begin(300),
                Event::Closed("the broker has closed it with 1001: bye".into()),
            ];
            assert_eq!(events, expected);
            assert_eq!(messages, [&b""[..], b"binary", &long, &long[..300]]);
            assert!(error.starts_with("Broken"), "{error}");
            // Two pongs and a close frame, with masks.
            let opcodes = [sent[0], sent[6 + 4], sent[6 + 4 + 6 + 7]];
            assert_eq!(opcodes, [0x8a, 0x8a, 0x88], "{sent:?}");
        }
    }

    #[tokio::test]
    async fn what_breaks_the_protocol_or_is_too_long_is_an_error() {
        let too_long = vec![0; 1001];
        let mut masked = frame(0x82, b"");
        masked[1] = 0x80;
        masked.extend([1, 2, 3, 4]);
        let half = vec![0; 501];
        for (name, bytes) in [
            ("too long", frame(0x82, &too_long)),
            ("announced too long", vec![0x82, 127, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            ("an overflowing length", vec![0x82, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            ("too long in parts", [frame(0x02, &half), frame(0x80, &half)].concat()),
            ("a long text", frame(0x81, &too_long)),
            ("masked", masked),
            ("reserved bits", frame(0xc2, b"x")),
            ("a reserved opcode", frame(0x83, b"x")),
            ("a fragment without a beginning", frame(0x80, b"x")),
            ("a message within a message", [frame(0x02, b"x"), frame(0x82, b"y")].concat()),
            ("a long ping", frame(0x89, &[0; 126])),
            ("no UTF-8", frame(0x81, b"\xff")),
        ] {
            let (_, _, error, _) = receive(&bytes, 1 << 20, 1000).await;
            assert!(error.starts_with("Protocol"), "{name}: {error}");
        }
        let (events, _, error, _) = receive(&frame(0x82, b"whole")[..4], 1, 1000).await;
        assert!(events.is_empty() && error.starts_with("Broken"), "{events:?} {error}");
    }
}
