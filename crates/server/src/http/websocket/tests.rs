//! A WebSocket, with an independent client and with bytes that no client sends.

use super::*;
use crate::net::activity::{Connections, Open};
use crate::net::listen::Crowd;
use crate::net::pace::{Paced, Waits};
use bytes::Bytes;
use futures_util::{FutureExt, SinkExt, StreamExt};
use rawline_broker::pool::Pool;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;

type Socket = WebSocket<DuplexStream>;

/// The broker's side, its place, and the client's side.
fn pair(buffer: usize) -> (Socket, Open, DuplexStream) {
    let (here, there) = duplex(buffer);
    let open = Connections::new().open();
    assert!(open.activity.begin(), "the upgrade");
    let stream = Paced::new(here, Waits::default(), open.activity.clone(), Pool::new(1 << 20), Crowd::of(0), None);
    (WebSocket::new(stream, &[], Duration::from_secs(2)), open, there)
}

/// Sends each message back in two pieces until the client closes.
async fn echo(socket: &mut Socket) {
    while let Some(message) = socket.receive().await {
        let (kind, bytes) = match message {
            Message::Text(text) => (FrameKind::Text, Bytes::from(text)),
            Message::Binary(bytes) => (FrameKind::Binary, bytes),
            other => unreachable!("{other} isn't a message"),
        };
        let middle = bytes.len() / 2;
        socket.send(kind, vec![bytes.slice(..middle), bytes.slice(middle..)], false).await.unwrap();
    }
}

/// A frame as a client sends it, with the mask of zeros.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        short @ ..=125 => frame.push(0x80 | short as u8),
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(payload);
    frame
}

/// The broker's response to these bytes until it closes.
async fn answer(bytes: &[u8]) -> Vec<u8> {
    let (mut socket, _open, mut client) = pair(1 << 20);
    let mut answer = Vec::new();
    let talk = async {
        client.write_all(bytes).await.unwrap();
        client.read_to_end(&mut answer).await.unwrap();
        drop(client);
    };
    tokio::join!(echo(&mut socket), talk);
    answer
}

fn close_code_of(answer: &[u8]) -> u16 {
    assert_eq!(answer[0], 0x88, "a close frame: {answer:?}");
    assert_eq!(answer.len(), usize::from(answer[1]) + 2, "and nothing else: {answer:?}");
    assert!(answer[1] <= 125);
    u16::from_be_bytes([answer[2], answer[3]])
}

#[tokio::test(start_paused = true)]
async fn messages_pings_and_the_closing_handshake_of_an_independent_client() {
    let (mut socket, _open, client) = pair(1 << 10);
    let talk = async {
        let mut client = WebSocketStream::from_raw_socket(client, Role::Client, None).await;
        for length in [0, 1, 125, 126, 65_535, MESSAGE_BYTES_MAX] {
            client.send(Message::binary(vec![length as u8; length])).await.unwrap();
            assert_eq!(client.next().await.unwrap().unwrap(), Message::binary(vec![length as u8; length]));
        }
        client.send(Message::text("größer")).await.unwrap();
        assert_eq!(client.next().await.unwrap().unwrap(), Message::text("größer"));
        client.send(Message::Ping("here?".into())).await.unwrap();
        assert_eq!(client.next().await.unwrap().unwrap(), Message::Pong("here?".into()));
        client.close(None).await.unwrap();
        assert!(matches!(client.next().await, Some(Ok(Message::Close(None)))));
        assert!(client.next().await.is_none(), "the broker closes the connection");
    };
    tokio::join!(echo(&mut socket), talk);
}

#[tokio::test(start_paused = true)]
async fn fragments_are_joined_and_control_frames_may_lie_between_them() {
    let parts =
        [frame(0x01, b"one "), frame(0x89, b"p"), frame(0x00, b"two "), frame(0x80, b"three"), frame(0x88, b"")];
    let whole = parts.concat();
    let expected = b"\x8a\x01p\x81\x0done two three\x88\x00";
    assert_eq!(answer(&whole).await, expected);
    // The same, one byte at a time.
    let (mut socket, _open, mut client) = pair(1 << 10);
    let mut answer = Vec::new();
    let talk = async {
        for byte in whole {
            client.write_all(&[byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        client.read_to_end(&mut answer).await.unwrap();
        drop(client);
    };
    tokio::join!(echo(&mut socket), talk);
    assert_eq!(answer, expected);
}

#[tokio::test(start_paused = true)]
async fn what_breaks_the_protocol_gets_a_close_frame_that_says_how() {
    let mut unmasked = frame(0x81, b"");
    unmasked[1] = 0;
    let long = vec![b'x'; MESSAGE_BYTES_MAX + 1];
    let half = vec![b'x'; MESSAGE_BYTES_MAX / 2 + 1];
    let endless = [0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    for (wrong, bytes, code) in [
        ("unmasked", unmasked, 1002),
        ("reserved bits", frame(0xc1, b"x"), 1002),
        ("a reserved opcode", frame(0x83, b"x"), 1002),
        ("a reserved control opcode", frame(0x8b, b"x"), 1002),
        ("a fragment without a beginning", frame(0x80, b"x"), 1002),
        ("a message within a message", [frame(0x01, b"x"), frame(0x01, b"y")].concat(), 1002),
        ("a fragmented ping", frame(0x09, b"x"), 1002),
        ("a long ping", frame(0x89, &[b'x'; 126]), 1002),
        ("no UTF-8", frame(0x81, b"\xff"), 1007),
        ("too long", frame(0x82, &long), 1009),
        ("announced too long", endless.to_vec(), 1009),
        ("too long in parts", [frame(0x02, &half), frame(0x80, &half)].concat(), 1009),
    ] {
        assert_eq!(close_code_of(&answer(&bytes).await), code, "{wrong}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_goes_without_a_word_ends_the_session() {
    for bytes in [&b""[..], b"\x81", b"\x81\x85\0\0\0\0he"] {
        let (mut socket, _open, mut client) = pair(1 << 10);
        client.write_all(bytes).await.unwrap();
        drop(client);
        assert!(socket.receive().await.is_none());
    }
}

/// Receiving is dropped whenever something else happens.
#[tokio::test(start_paused = true)]
async fn receiving_loses_nothing_when_it_is_dropped() {
    let (mut socket, _open, mut client) = pair(1 << 10);
    let bytes = [frame(0x89, b"p"), frame(0x81, b"a message")].concat();
    for byte in &bytes[..bytes.len() - 1] {
        client.write_all(&[*byte]).await.unwrap();
        assert!(socket.receive().now_or_never().is_none());
    }
    client.write_all(&bytes[bytes.len() - 1..]).await.unwrap();
    assert_eq!(socket.receive().await, Some(Message::text("a message")));
    let mut pong = [0; 3];
    client.read_exact(&mut pong).await.unwrap();
    assert_eq!(&pong, b"\x8a\x01p");
}

/// The close frame reaches a client that sends on, and one that never closes is left after a while.
#[tokio::test(start_paused = true)]
async fn closing_says_why_and_waits_for_the_client_only_so_long() {
    let (mut socket, _open, mut client) = pair(1 << 20);
    client.write_all(&frame(0x81, b"unread")).await.unwrap();
    let reason = "ü".repeat(100);
    socket.close(CloseCode::Policy, &reason).await;
    drop(socket);
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    assert_eq!(close_code_of(&answer), 1008);
    assert_eq!(std::str::from_utf8(&answer[4..]).unwrap(), "ü".repeat(61));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_loses_its_connection() {
    let (mut socket, _open, _client) = pair(1 << 10);
    let error = socket.send(FrameKind::Binary, vec![Bytes::from(vec![0; 1 << 20])], false).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
}

/// Each message has its own time, however long the connection has been open.
#[tokio::test(start_paused = true)]
async fn a_connection_with_few_messages_stays_open() {
    let (mut socket, _open, mut client) = pair(16);
    for _ in 0..100 {
        tokio::time::advance(Duration::from_secs(60)).await;
        let send = socket.send(FrameKind::Text, vec![Bytes::from_static(b"a message that fills the window")], false);
        let mut received = [0; 33];
        let read = async {
            tokio::time::sleep(Duration::from_secs(20)).await;
            client.read_exact(&mut received).await.unwrap();
        };
        tokio::join!(send, read).0.unwrap();
    }
}
