//! What a waiting reader sends and receives, by each protocol. Bytes only, no I/O.

use super::kafka;
use crate::requests::redis;
use crate::requests::reply::head;
use crate::subscribe::messages;
use clap::ValueEnum;
use rawline_contract::{MediaType, header, path};
use serde::Serialize;

/// How a reader waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// A read over HTTP that waits for the record after the newest
    LongPoll,
    /// A subscription on a WebSocket
    #[value(name = "websocket")]
    #[serde(rename = "websocket")]
    WebSocket,
    /// A Fetch request of Kafka's protocol, for at least one byte; records are appended by Produce
    Kafka,
    /// Redis's XREAD BLOCK; records are appended by XADD
    #[value(skip)]
    Redis,
}

impl Way {
    /// Its name in the figures.
    pub fn name(self) -> &'static str {
        match self {
            Way::LongPoll => "long poll",
            Way::WebSocket => "WebSocket",
            Way::Kafka => "Kafka's Fetch",
            Way::Redis => "XREAD BLOCK",
        }
    }
}

/// How long a request waits, in milliseconds.
const WAIT_MS: i32 = 300_000;

/// A reader of one topic, into which the same batch of one record is appended again and again.
pub struct Waiter {
    pub way: Way,
    pub topic: String,
    /// The headers of its requests over HTTP.
    pub headers: String,
    /// The appended batch or record.
    pub sent: Vec<u8>,
    /// Number of received records.
    pub records: u64,
    /// Redis's id of the newest one.
    pub newest_id: String,
    /// Whether the subscription has begun.
    pub is_open: bool,
}

/// The first message in the received bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct Message {
    /// Its length.
    pub bytes: usize,
    /// Number of records in it.
    pub records: u64,
    /// Whether the reader sends its next request.
    pub is_response: bool,
}

impl Waiter {
    /// A reader of an empty topic.
    pub fn new(way: Way, topic: &str, headers: String, sent: Vec<u8>) -> Waiter {
        let newest_id = "0-0".to_owned();
        Waiter { way, topic: topic.to_owned(), headers, sent, records: 0, newest_id, is_open: false }
    }

    /// The request for the next records.
    pub fn request(&self) -> Vec<u8> {
        let Waiter { topic, headers, records, .. } = self;
        match self.way {
            Way::LongPoll => {
                let (path, accept) = (path::RECORDS, MediaType::Batch.name());
                format!(
                    "GET {path}?topic-name={topic}&offset={records}&max-records=0&max-bytes=0&timeout={WAIT_MS}ms \
                     HTTP/1.1\r\n{headers}accept: {accept}\r\n\r\n"
                )
                .into_bytes()
            }
            Way::WebSocket => format!(
                "GET {}?topic-name={topic} HTTP/1.1\r\n{headers}connection: upgrade\r\nupgrade: websocket\r\n\
                 sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                path::SUBSCRIBE
            )
            .into_bytes(),
            Way::Kafka => kafka::fetch(topic, *records, WAIT_MS),
            Way::Redis => {
                let words = ["XREAD", "BLOCK", "0", "STREAMS", topic, &self.newest_id];
                redis::command(&words.map(str::as_bytes))
            }
        }
    }

    /// The first message; `None` if more bytes are needed. Fails on records that aren't the next ones that were sent.
    pub fn parse(&mut self, received: &[u8]) -> Result<Option<Message>, String> {
        let message = match self.way {
            Way::LongPoll => self.response(received)?,
            Way::WebSocket if !self.is_open => {
                let Some((head, rest)) = head(received)? else { return Ok(None) };
                if head.status != 101 {
                    return Err(format!("a subscription was refused with status {}", head.status));
                }
                self.is_open = true;
                Some(Message { bytes: received.len() - rest.len(), records: 0, is_response: false })
            }
            Way::WebSocket => self.frame(received)?,
            Way::Kafka => match kafka::fetched(received, &self.sent)? {
                Some((bytes, first_offset, records)) => {
                    self.check(first_offset, records)?;
                    Some(Message { bytes, records, is_response: true })
                }
                None => None,
            },
            Way::Redis => self.entries(received)?,
        };
        self.records += message.as_ref().map_or(0, |message| message.records);
        Ok(message)
    }

    /// The response to a long poll.
    fn response(&self, received: &[u8]) -> Result<Option<Message>, String> {
        let Some((head, rest)) = head(received)? else { return Ok(None) };
        let has_none = head.status == 204;
        let body_bytes = head.number(b"content-length")?;
        let body_bytes = body_bytes.or(has_none.then_some(0)).ok_or("the response has no Content-Length")?;
        let Some((body, after)) = rest.split_at_checked(body_bytes) else { return Ok(None) };
        if !has_none && head.status != 200 {
            return Err(format!("a read was refused with status {}: {}", head.status, String::from_utf8_lossy(body)));
        }
        let records = self.batches(body)?;
        let first_offset = head.number(header::FIRST_OFFSET.as_str().as_bytes())?;
        self.check(first_offset.map_or(u64::MAX, |offset| offset as u64), records)?;
        Ok(Some(Message { bytes: received.len() - after.len(), records, is_response: true }))
    }

    /// A frame of a WebSocket.
    fn frame(&self, received: &[u8]) -> Result<Option<Message>, String> {
        let Some(([first, length], rest)) = received.split_first_chunk() else { return Ok(None) };
        let split = match length {
            126 => rest.split_first_chunk().map(|(length, rest)| (u64::from(u16::from_be_bytes(*length)), rest)),
            127 => rest.split_first_chunk().map(|(length, rest)| (u64::from_be_bytes(*length), rest)),
            length => Some((u64::from(*length), rest)),
        };
        let Some((length, rest)) = split else { return Ok(None) };
        let Some((content, after)) = rest.split_at_checked(length as usize) else { return Ok(None) };
        let bytes = received.len() - after.len();
        let records = match first {
            0x82 => {
                let (first_offset, _, batches) = messages::parse(content).ok_or("a message is too short")?;
                let records = self.batches(batches)?;
                self.check(first_offset, records)?;
                records
            }
            0x88 => return Err(format!("the subscription ends: {:?}", String::from_utf8_lossy(content))),
            _ => 0,
        };
        Ok(Some(Message { bytes, records, is_response: false }))
    }

    /// The entries of a stream of Redis.
    fn entries(&mut self, received: &[u8]) -> Result<Option<Message>, String> {
        let Some((texts, after)) = redis::texts(received)? else { return Ok(None) };
        let bytes = received.len() - after.len();
        // The stream's name, and of each entry its id, the field's name and its value.
        let (entries, rest) = texts.get(1..).unwrap_or_default().as_chunks::<3>();
        let sent = String::from_utf8_lossy(&self.sent);
        if !rest.is_empty() || entries.iter().any(|[_, _, value]| *value != sent) {
            return Err(format!("entries that were not appended: {texts:?}"));
        }
        if let Some([id, _, _]) = entries.last() {
            self.newest_id.clone_from(id);
        }
        Ok(Some(Message { bytes, records: entries.len() as u64, is_response: true }))
    }

    /// The number of these batches, each of which is the one that was sent.
    fn batches(&self, bytes: &[u8]) -> Result<u64, String> {
        let are_sent = bytes.chunks(self.sent.len()).all(|batch| batch == self.sent);
        let count = (bytes.len() / self.sent.len()) as u64;
        if are_sent { Ok(count) } else { Err(format!("batches that were not sent, after {} records", self.records)) }
    }

    fn check(&self, first_offset: u64, records: u64) -> Result<(), String> {
        if records == 0 || first_offset == self.records {
            return Ok(());
        }
        Err(format!("{records} records from offset {first_offset} on arrive after {} records", self.records))
    }
}
