//! A blocking connection that speaks Kafka's protocol, for requests whose response is large or slow.

use crate::error::BenchError;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Maximum time to a response: a list of a million topics takes seconds.
const RESPONSE_WAIT_MAX: Duration = Duration::from_secs(300);

/// Number and version of a request.
pub type Api = (i16, i16);

/// The bytes of a request.
pub fn request((api, version): Api, body: &[u8]) -> Vec<u8> {
    let client = b"rawline-bench";
    let mut request = api.to_be_bytes().to_vec();
    request.extend(version.to_be_bytes());
    request.extend(1_i32.to_be_bytes());
    request.extend((client.len() as i16).to_be_bytes());
    request.extend(client);
    request.extend(body);
    [&(request.len() as u32).to_be_bytes()[..], &request].concat()
}

/// A connection with one request in flight.
pub struct Connection(TcpStream);

impl Connection {
    /// Connects to a broker's address for Kafka's clients.
    pub fn open(address: &str) -> Result<Connection, BenchError> {
        let open = || {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(RESPONSE_WAIT_MAX))?;
            Ok(Connection(stream))
        };
        open().map_err(|error: std::io::Error| BenchError::Failed(format!("can't connect to {address}: {error}")))
    }

    /// Sends a request. Returns the response after its number.
    pub fn call(&mut self, api: Api, body: &[u8]) -> Result<Vec<u8>, BenchError> {
        let mut call = || {
            self.0.write_all(&request(api, body))?;
            let (mut length, mut number) = ([0; 4], [0; 4]);
            self.0.read_exact(&mut length)?;
            self.0.read_exact(&mut number)?;
            let mut response = vec![0; (u32::from_be_bytes(length) as usize).saturating_sub(number.len())];
            self.0.read_exact(&mut response)?;
            Ok(response)
        };
        call().map_err(|error: std::io::Error| {
            BenchError::Failed(format!("a request of Kafka's protocol failed: {error}"))
        })
    }
}

/// The fields of a response, in order. None is there after its end.
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// The next bytes.
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    /// A number of two bytes.
    pub fn int16(&mut self) -> Option<i16> {
        self.bytes(2)?.try_into().ok().map(i16::from_be_bytes)
    }

    /// A number of four bytes.
    pub fn int32(&mut self) -> Option<i32> {
        self.bytes(4)?.try_into().ok().map(i32::from_be_bytes)
    }

    /// A text; an empty one if it is null.
    pub fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.int16()?).unwrap_or(0);
        str::from_utf8(self.bytes(length)?).ok()
    }
}
