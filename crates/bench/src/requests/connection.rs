//! One connection of the load program: sends requests in turns, and matches replies with them.

use super::reply::{Protocol, Reply};
use mio::net::TcpStream;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Size of the buffer for replies in bytes: many of them are received with one call.
const RECEIVE_BYTES: usize = 64 << 10;
/// Maximum time to connect, and until a server greets.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The response to a server that asks whether the client is alive.
const PONG: &[u8] = b"PONG\r\n";

/// The requests of one connection.
#[derive(Debug, Clone)]
pub struct Script {
    /// How the server replies.
    pub protocol: Protocol,
    /// Sent once, before the first request.
    pub greeting: Vec<u8>,
    /// The server has accepted the greeting when it has sent this.
    pub welcome: &'static [u8],
    /// The bytes of requests of one length, which are sent in turns.
    pub requests: Vec<Vec<u8>>,
    /// Number of replies to a request.
    pub replies: u32,
}

/// A request in flight.
#[derive(Debug, Clone, Copy)]
pub struct InFlight {
    /// When it was due.
    pub due: Instant,
    /// When it was sent.
    pub sent: Instant,
}

/// A connection that never blocks.
pub struct Connection {
    /// The socket.
    pub stream: TcpStream,
    protocol: Protocol,
    replies: u32,
    request_bytes: usize,
    /// The requests, and again as many of them as may be in flight: all of these are sent with one call.
    turns: Vec<u8>,
    /// Where the bytes in `turns` begin that are sent next.
    position: usize,
    /// Where they begin again.
    turns_end: usize,
    /// Bytes of requests that were begun and aren't sent yet.
    unsent: usize,
    /// Other bytes to send, between two requests.
    pongs: Vec<u8>,
    received: Vec<u8>,
    received_bytes: usize,
    /// The oldest first.
    in_flight: VecDeque<InFlight>,
    /// Replies that the oldest has got.
    replies_so_far: u32,
    /// Due times of requests that wait until an earlier one is acknowledged.
    pub waiting: VecDeque<Instant>,
}

/// What [`Connection::receive`] found.
#[derive(Debug, Default)]
pub struct Received {
    /// Requests whose replies have all arrived.
    pub done: Vec<InFlight>,
    /// Replies that are errors.
    pub refused: u64,
    /// The first of them.
    pub refusal: Option<String>,
}

impl Connection {
    /// Connects and greets; up to `pipeline` requests will be in flight.
    pub fn open(server: SocketAddr, script: &Script, pipeline: usize) -> io::Result<Connection> {
        let request_bytes = script.requests.first().map_or(0, Vec::len);
        let are_alike = request_bytes > 0 && script.requests.iter().all(|request| request.len() == request_bytes);
        assert!(pipeline > 0 && script.replies > 0 && are_alike, "{pipeline} of {script:?}");
        let mut stream = std::net::TcpStream::connect_timeout(&server, CONNECT_TIMEOUT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(CONNECT_TIMEOUT))?;
        stream.write_all(&script.greeting)?;
        let mut received = wait_for(&mut stream, script.welcome)?;
        let received_bytes = received.len();
        received.resize(RECEIVE_BYTES, 0);
        stream.set_nonblocking(true)?;
        Ok(Connection {
            stream: TcpStream::from_std(stream),
            protocol: script.protocol,
            replies: script.replies,
            request_bytes,
            turns: script.requests.iter().cycle().take(script.requests.len() + pipeline).flatten().copied().collect(),
            position: 0,
            turns_end: script.requests.len() * request_bytes,
            unsent: 0,
            pongs: Vec::new(),
            received,
            received_bytes,
            in_flight: VecDeque::with_capacity(pipeline),
            replies_so_far: 0,
            waiting: VecDeque::new(),
        })
    }

    /// Number of requests in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Begins a request; [`Connection::flush`] sends it.
    pub fn begin(&mut self, due: Instant, now: Instant) {
        self.in_flight.push_back(InFlight { due, sent: now });
        self.unsent += self.request_bytes;
        let end = self.position + self.unsent;
        assert!(end <= self.turns.len(), "{} bytes of requests up to {end}, {} fit", self.unsent, self.turns.len());
    }

    /// Sends begun requests, as far as the socket accepts them.
    pub fn flush(&mut self) -> io::Result<()> {
        loop {
            let begun = self.position % self.request_bytes;
            let bytes = if begun == 0 && !self.pongs.is_empty() {
                self.pongs.as_slice()
            } else if self.unsent > 0 {
                let start = self.position;
                // A request that was sent in part is sent whole before anything else.
                let end = start + if self.pongs.is_empty() { self.unsent } else { self.request_bytes - begun };
                self.turns.get(start..end).unwrap_or_else(|| unreachable!("{start}..{end} of the requests"))
            } else {
                return Ok(());
            };
            let is_pong = begun == 0 && !self.pongs.is_empty();
            match self.stream.write(bytes) {
                Ok(sent) if is_pong => drop(self.pongs.drain(..sent)),
                Ok(sent) => {
                    self.unsent -= sent;
                    self.position = (self.position + sent) % self.turns_end;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Receives the available bytes. Fails if the server has closed the connection, or sent bytes that aren't a reply.
    pub fn receive(&mut self, found: &mut Received) -> io::Result<()> {
        loop {
            let free = self.received.get_mut(self.received_bytes..).unwrap_or_default();
            let room = free.len();
            let count = match self.stream.read(free) {
                Ok(0) if room == 0 => return Err(invalid(format!("a reply of more than {RECEIVE_BYTES} bytes"))),
                Ok(0) => {
                    let reason = "the server has closed the connection";
                    return Err(io::Error::new(ErrorKind::UnexpectedEof, reason));
                }
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.received_bytes += count;
            self.parse(found)?;
            // Later bytes are a new event of the poll.
            if count < room {
                return Ok(());
            }
        }
    }

    /// Takes whole replies out of the buffer.
    fn parse(&mut self, found: &mut Received) -> io::Result<()> {
        let mut start = 0;
        loop {
            let rest = self.received.get(start..self.received_bytes).unwrap_or_default();
            let reply = self.protocol.parse(rest).map_err(invalid)?;
            match reply {
                Reply::Partial => break,
                Reply::Other { bytes } => start += bytes,
                Reply::Ping { bytes } => {
                    start += bytes;
                    self.pongs.extend_from_slice(PONG);
                }
                Reply::Done { bytes } => {
                    start += bytes;
                    self.count_reply(found)?;
                }
                Reply::Refused { bytes, text } => {
                    start += bytes;
                    found.refused += 1;
                    found.refusal.get_or_insert(text);
                    self.count_reply(found)?;
                }
            }
        }
        self.received.copy_within(start..self.received_bytes, 0);
        self.received_bytes -= start;
        Ok(())
    }

    fn count_reply(&mut self, found: &mut Received) -> io::Result<()> {
        self.replies_so_far += 1;
        if self.replies_so_far < self.replies {
            return Ok(());
        }
        self.replies_so_far = 0;
        let request = self.in_flight.pop_front().ok_or_else(|| invalid("a reply to no request".to_owned()))?;
        found.done.push(request);
        Ok(())
    }
}

/// Receives until the bytes contain `welcome`; returns the rest.
fn wait_for(stream: &mut impl Read, welcome: &[u8]) -> io::Result<Vec<u8>> {
    let mut received = Vec::new();
    let mut buffer = [0; 4096];
    while !welcome.is_empty() {
        if let Some(start) = received.windows(welcome.len()).position(|part| part == welcome) {
            return Ok(received.split_off(start + welcome.len()));
        }
        let count = stream.read(&mut buffer)?;
        received.extend_from_slice(buffer.get(..count).unwrap_or_default());
        if count == 0 || received.len() > RECEIVE_BYTES / 2 {
            return Err(invalid(format!("not a welcome: {:?}", String::from_utf8_lossy(&received))));
        }
    }
    Ok(received)
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mio::{Events, Interest, Poll, Token};
    use std::net::TcpListener;

    /// Requests that are larger than the socket's buffer, and a server that asks for a sign of life meanwhile.
    #[test]
    fn a_request_that_is_sent_in_parts_stays_whole() {
        const REQUESTS: usize = 7;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let payload: Vec<u8> = (0..900_000u32).map(|number| (number % 251) as u8).collect();
        let request = [b"PUB s i ", payload.as_slice(), b"\r\n"].concat();
        let expected = request.clone();
        let server = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            client.set_read_timeout(Some(CONNECT_TIMEOUT)).unwrap();
            let mut hello = [0; 5];
            client.read_exact(&mut hello).unwrap();
            client.write_all(b"INFO {}\r\nPONG\r\nPING\r\n").unwrap();
            let (mut requests, mut pongs) = (0, 0);
            while requests < REQUESTS || pongs < 2 {
                let mut start = [0; PONG.len()];
                client.read_exact(&mut start).unwrap();
                if start == PONG {
                    pongs += 1;
                    continue;
                }
                let mut rest = vec![0; expected.len() - PONG.len()];
                client.read_exact(&mut rest).unwrap();
                assert!([&start[..], &rest].concat() == expected, "request {requests} has other bytes");
                requests += 1;
                if requests == 2 {
                    client.write_all(b"PING\r\n").unwrap();
                }
                let ack = "{\"stream\":\"s\",\"seq\":1}";
                client.write_all(format!("MSG i 1 {}\r\n{ack}\r\n", ack.len()).as_bytes()).unwrap();
            }
            (requests, pongs)
        });
        let greeting = b"hello".to_vec();
        let script =
            Script { protocol: Protocol::Nats, greeting, welcome: b"PONG\r\n", requests: vec![request], replies: 1 };
        let mut connection = Connection::open(address, &script, 3).unwrap();
        let mut poll = Poll::new().unwrap();
        let interest = Interest::READABLE | Interest::WRITABLE;
        poll.registry().register(&mut connection.stream, Token(0), interest).unwrap();
        let (mut events, mut found, mut begun) = (Events::with_capacity(4), Received::default(), 0);
        let end = loop {
            while connection.in_flight() < 3 && begun < REQUESTS {
                connection.begin(Instant::now(), Instant::now());
                begun += 1;
            }
            // The server closes the connection when it has everything.
            if let Err(error) = connection.flush().and_then(|()| connection.receive(&mut found)) {
                break error;
            }
            poll.poll(&mut events, Some(Duration::from_millis(100))).unwrap();
        };
        assert_eq!(end.kind(), ErrorKind::UnexpectedEof, "{end}");
        assert_eq!((found.done.len(), found.refused, connection.in_flight()), (REQUESTS, 0, 0));
        assert_eq!(server.join().unwrap(), (REQUESTS, 2));
    }
}
