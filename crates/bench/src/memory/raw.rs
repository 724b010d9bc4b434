//! Plain sockets for clients that behave badly: the client library sends as fast as it can and reads all responses.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::{TcpSocket, TcpStream};

/// Maximum size of a response's head in bytes.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// Connects from this address, with a receive buffer of this size if one is given.
pub async fn connect(from: Ipv4Addr, broker: SocketAddr, receive_bytes: Option<u32>) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(from.into(), 0))?;
    if let Some(bytes) = receive_bytes {
        socket.set_recv_buffer_size(bytes)?;
    }
    let stream = socket.connect(broker).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A response.
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body; text of a few lines.
    pub body: Vec<u8>,
}

/// Receives a response with a short body. `None` if the connection ends before.
pub async fn receive(stream: &mut (impl AsyncRead + Unpin)) -> Option<Answer> {
    let mut received = Vec::new();
    loop {
        if let Some((head, body)) = split(&received)
            && body.len() >= content_length(head)
        {
            return Some(Answer { status: status(head)?, body: body.to_vec() });
        }
        let is_end = stream.read_buf(&mut received).await.unwrap_or(0) == 0;
        if is_end || received.len() > HEAD_BYTES_MAX {
            return None;
        }
    }
}

/// The status of a response of which the beginning was received.
pub fn status(head: &[u8]) -> Option<u16> {
    let text = head.strip_prefix(b"HTTP/1.1 ")?.first_chunk::<3>()?;
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Head and body, once the head is whole.
fn split(received: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = received.windows(4).position(|four| four == b"\r\n\r\n")?;
    received.split_at_checked(end + 4)
}

fn content_length(head: &[u8]) -> usize {
    let text = String::from_utf8_lossy(head).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    length.and_then(|length| length.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_response_is_received_whole_or_not_at_all() {
        let whole = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nfull";
        for end in 0..whole.len() {
            assert!(receive(&mut &whole[..end]).await.is_none(), "{end}");
        }
        let answer = receive(&mut &whole[..]).await.unwrap();
        assert_eq!((answer.status, answer.body.as_slice()), (503, b"full".as_slice()));
        assert_eq!(status(b"HTTP/1.1 20"), None);
    }
}
