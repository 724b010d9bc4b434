//! Redis: commands that are sent once, and the bytes of the appends.

use super::reply::{First, split_line};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Maximum time until a command's reply arrives.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A connection for single commands.
pub struct Redis {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Redis {
    /// Connects.
    pub fn connect(server: SocketAddr) -> io::Result<Redis> {
        let stream = TcpStream::connect_timeout(&server, TIMEOUT)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Redis { stream, received: Vec::new() })
    }

    /// Sends a command and returns the texts of its reply. Fails if that is an error.
    pub fn call(&mut self, words: &[&str]) -> io::Result<Vec<String>> {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        self.stream.write_all(&command(&words))?;
        self.received.clear();
        let mut buffer = [0; 4096];
        loop {
            if let Some((texts, _)) = texts(&self.received).map_err(io::Error::other)? {
                return Ok(texts);
            }
            let count = self.stream.read(&mut buffer)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.received.extend_from_slice(buffer.get(..count).unwrap_or_default());
        }
    }

    /// Version and settings, as far as they decide how fast appends are.
    pub fn about(&mut self) -> io::Result<String> {
        let info = self.call(&["INFO", "server"])?.concat();
        let version = info.lines().find_map(|line| line.strip_prefix("redis_version:")).unwrap_or("of unknown version");
        let mut about = format!("Redis {version}");
        for name in ["appendonly", "appendfsync", "save"] {
            let value = self.call(&["CONFIG", "GET", name])?;
            about += &format!(", {name} {:?}", value.get(1).map_or("", String::as_str));
        }
        Ok(about)
    }

    /// Number of entries of a stream.
    pub fn length(&mut self, stream: &str) -> io::Result<u64> {
        let reply = self.call(&["XLEN", stream])?.concat();
        reply.parse().map_err(|_| io::Error::other(format!("{reply:?} is not the length of a stream")))
    }
}

/// The appends of these records, one command each, sent together.
pub fn appends<'r>(stream: &str, records: impl Iterator<Item = &'r [u8]>) -> Vec<u8> {
    records.flat_map(|record| command(&[b"XADD", stream.as_bytes(), b"*", b"f", record])).collect()
}

/// The bytes of a command.
pub fn command(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// The texts of the first reply.
pub fn texts(received: &[u8]) -> First<'_, Vec<String>> {
    let Some((line, mut rest)) = split_line(received)? else { return Ok(None) };
    let text = String::from_utf8_lossy(line.get(1..).unwrap_or_default()).into_owned();
    let length = || text.parse::<usize>().map_err(|_| format!("{text:?} is not a length"));
    match line.first() {
        Some(b'+' | b':') => Ok(Some((vec![text], rest))),
        Some(b'-') => Err(text),
        Some(b'$') => {
            let length = length()?;
            let Some((value, rest)) = rest.split_at_checked(length + 2) else { return Ok(None) };
            let value = value.get(..length).unwrap_or_default();
            Ok(Some((vec![String::from_utf8_lossy(value).into_owned()], rest)))
        }
        Some(b'*') => {
            let mut all = Vec::new();
            for _ in 0..length()? {
                let Some((more, after)) = texts(rest)? else { return Ok(None) };
                all.extend(more);
                rest = after;
            }
            Ok(Some((all, rest)))
        }
        _ => Err(format!("not a reply of Redis: {:?}", String::from_utf8_lossy(line))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appends_are_commands_with_lengths() {
        let records: [&[u8]; 2] = [b"a\r\n", b"bc"];
        let bytes = appends("s", records.into_iter());
        let each = |record: &str| {
            format!("*5\r\n$4\r\nXADD\r\n$1\r\ns\r\n$1\r\n*\r\n$1\r\nf\r\n${}\r\n{record}\r\n", record.len())
        };
        assert_eq!(String::from_utf8(bytes).unwrap(), each("a\r\n") + &each("bc"));
    }

    #[test]
    fn replies_of_any_kind_are_read_when_they_are_whole() {
        let reply = b"*3\r\n$6\r\nappend\r\n*1\r\n:7\r\n+OK\r\n";
        for end in 0..reply.len() {
            assert_eq!(texts(&reply[..end]).unwrap(), None, "{end}");
        }
        let want = ["append", "7", "OK"].map(str::to_owned).to_vec();
        assert_eq!(texts(&[reply, &b"rest"[..]].concat()).unwrap(), Some((want, &b"rest"[..])));
        assert_eq!(texts(b"-ERR unknown\r\n").unwrap_err(), "ERR unknown");
        assert!(texts(b"$-2x\r\n").is_err() && texts(b"HTTP\r\n").is_err());
    }
}
