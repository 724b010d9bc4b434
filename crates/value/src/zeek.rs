//! Zeek's messages: vectors of a protocol version, a type and a content.
//!
//! ```text
//! [count 1, count type, vector content]      content, with anything after it ignored:
//!   1 event              [string name, vector arguments] and maybe vector metadata: vectors [count id, value]
//!   2 log create         [enum stream, enum writer, writer info, fields]
//!   3 log write          [enum stream, enum writer, string path, string serial data]
//!   4 identifier update  [string name, value]
//!   5 batch              messages
//! ```

use crate::builder::{EnumName, ListBuilder, Put, TimestampNs};
use crate::{ListView, Variant};

/// The version of these messages.
const PROTOCOL_VERSION: u64 = 1;

/// The id of the metadata with the time at which the sender's network saw the event; it must be a timestamp.
pub const METADATA_NETWORK_TIMESTAMP: u64 = 1;

const EVENT: u64 = 1;
const LOG_CREATE: u64 = 2;
const LOG_WRITE: u64 = 3;
const IDENTIFIER_UPDATE: u64 = 4;
const BATCH: u64 = 5;

/// A message; its contents point into the bytes of the view that it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// An event.
    Event(Event<'a>),
    /// A log stream begins.
    LogCreate(LogCreate<'a>),
    /// A line of a log.
    LogWrite(LogWrite<'a>),
    /// An identifier has a new value.
    IdentifierUpdate(IdentifierUpdate<'a>),
    /// Several messages.
    Batch(Batch<'a>),
}

/// An event with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// The event's name.
    pub name: &'a [u8],
    /// Its arguments.
    pub arguments: ListView<'a>,
    /// Its metadata, if any: vectors of an id and a value.
    pub metadata: Option<ListView<'a>>,
}

/// The beginning of a log stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogCreate<'a> {
    /// The stream's name, such as `Conn::LOG`.
    pub stream: &'a [u8],
    /// The writer's name, such as `Log::WRITER_ASCII`.
    pub writer: &'a [u8],
    /// The writer's settings.
    pub writer_info: Variant<'a>,
    /// The log's fields.
    pub fields: Variant<'a>,
}

/// A line of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogWrite<'a> {
    /// The stream's name, such as `Conn::LOG`.
    pub stream: &'a [u8],
    /// The writer's name, such as `Log::WRITER_ASCII`.
    pub writer: &'a [u8],
    /// The log's path.
    pub path: &'a [u8],
    /// The line in Zeek's own serialization.
    pub serial_data: &'a [u8],
}

/// A new value of an identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdentifierUpdate<'a> {
    /// The identifier's name.
    pub name: &'a [u8],
    /// Its value.
    pub value: Variant<'a>,
}

/// Several messages, each valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch<'a>(ListView<'a>);

impl<'a> Message<'a> {
    /// Reads a value as a message; `None` if it isn't valid. A batch is valid if all its messages are.
    pub fn read(value: &Variant<'a>) -> Option<Message<'a>> {
        let outer = value.as_list()?;
        if outer.at(0).as_count()? != PROTOCOL_VERSION {
            return None;
        }
        let content = outer.at(2).as_list()?;
        Some(match outer.at(1).as_count()? {
            EVENT => Message::Event(Event::read(&content)?),
            LOG_CREATE if content.len() >= 4 => Message::LogCreate(LogCreate {
                stream: content.at(0).as_enum()?,
                writer: content.at(1).as_enum()?,
                writer_info: content.at(2),
                fields: content.at(3),
            }),
            LOG_WRITE => Message::LogWrite(LogWrite {
                stream: content.at(0).as_enum()?,
                writer: content.at(1).as_enum()?,
                path: content.at(2).as_string()?,
                serial_data: content.at(3).as_string()?,
            }),
            IDENTIFIER_UPDATE if content.len() >= 2 => {
                Message::IdentifierUpdate(IdentifierUpdate { name: content.at(0).as_string()?, value: content.at(1) })
            }
            BATCH if content.iter().all(|member| Message::read(&member).is_some()) => Message::Batch(Batch(content)),
            _ => return None,
        })
    }
}

impl<'a> Event<'a> {
    fn read(content: &ListView<'a>) -> Option<Event<'a>> {
        let metadata = match content.get(2) {
            Some(metadata) => Some(metadata.as_list()?),
            None => None,
        };
        if metadata.is_some_and(|metadata| !metadata.iter().all(|entry| is_metadata(&entry))) {
            return None;
        }
        Some(Event { name: content.at(0).as_string()?, arguments: content.at(1).as_list()?, metadata })
    }

    /// The metadata with this id.
    pub fn metadata_of(&self, id: u64) -> Option<Variant<'a>> {
        let entries = self.metadata?.iter().map(|entry| entry.to_list());
        entries.into_iter().find(|entry| entry.at(0).as_count() == Some(id)).map(|entry| entry.at(1))
    }

    /// Time at which the sender's network saw it, in nanoseconds since 1970.
    pub fn network_timestamp(&self) -> Option<i64> {
        self.metadata_of(METADATA_NETWORK_TIMESTAMP)?.as_timestamp()
    }
}

fn is_metadata(entry: &Variant<'_>) -> bool {
    let entry = entry.to_list();
    match entry.at(0).as_count() {
        Some(METADATA_NETWORK_TIMESTAMP) => entry.len() == 2 && entry.at(1).as_timestamp().is_some(),
        Some(_) => entry.len() == 2,
        None => false,
    }
}

impl<'a> Batch<'a> {
    /// The number of messages.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The messages in their order.
    pub fn iter(&self) -> impl Iterator<Item = Message<'a>> + use<'a> {
        self.0.iter().filter_map(|member| Message::read(&member))
    }
}

/// Appends an event; `arguments` adds its arguments.
#[inline]
pub fn put_event(
    out: &mut Vec<u8>,
    name: &str,
    network_timestamp: Option<TimestampNs>,
    arguments: impl FnOnce(&mut ListBuilder<'_>),
) {
    put_message(out, EVENT, |content| {
        content.add(name);
        arguments(&mut content.list());
        if let Some(time) = network_timestamp {
            content.list().list().add(METADATA_NETWORK_TIMESTAMP).add(time);
        }
    });
}

/// Appends the beginning of a log stream.
pub fn put_log_create(
    out: &mut Vec<u8>,
    stream: EnumName<'_>,
    writer: EnumName<'_>,
    writer_info: impl Put,
    fields: impl Put,
) {
    put_message(out, LOG_CREATE, |content| {
        content.add(stream).add(writer).add(writer_info).add(fields);
    });
}

/// Appends a line of a log.
pub fn put_log_write(out: &mut Vec<u8>, stream: EnumName<'_>, writer: EnumName<'_>, path: &str, serial_data: &[u8]) {
    put_message(out, LOG_WRITE, |content| {
        content.add(stream).add(writer).add(path).add(serial_data);
    });
}

/// Appends a new value of an identifier.
pub fn put_identifier_update(out: &mut Vec<u8>, name: &str, value: impl Put) {
    put_message(out, IDENTIFIER_UPDATE, |content| {
        content.add(name).add(value);
    });
}

/// Appends a batch; `messages` adds whole messages, such as views of some or what [`message`] wraps.
pub fn put_batch(out: &mut Vec<u8>, messages: impl FnOnce(&mut ListBuilder<'_>)) {
    put_message(out, BATCH, messages);
}

/// A message for [`ListBuilder::add`], written by one of this module's functions.
pub fn message(write: impl Fn(&mut Vec<u8>)) -> impl Put {
    struct Message<W>(W);
    impl<W: Fn(&mut Vec<u8>)> Put for Message<W> {
        fn put(&self, out: &mut Vec<u8>) {
            self.0(out);
        }
    }
    Message(write)
}

#[inline]
fn put_message(out: &mut Vec<u8>, kind: u64, content: impl FnOnce(&mut ListBuilder<'_>)) {
    let mut outer = ListBuilder::new(out);
    outer.add(PROTOCOL_VERSION).add(kind);
    content(&mut outer.list());
}
