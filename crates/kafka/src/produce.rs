//! Produce: a request that is read as its bytes arrive, without keeping the records.

use crate::api::Api;
use crate::read::{Reader, Stop, WireError};
use crate::write::Writer;

/// From this version on topics are named by their ids.
const FIRST_WITH_IDS: i16 = 13;

/// Fields are read from this many bytes, of which most are shorter.
const STEP_BYTES: usize = 256;

/// How a request names a topic.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TopicRef {
    /// By its name.
    Name(String),
    /// By its id.
    Id([u8; 16]),
}

/// The fields of a request before its records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProduceHead {
    /// The transaction's name, if the records belong to one.
    pub transactional_id: Option<String>,
    /// When to respond: 0 never; 1 and -1 when the records are stored.
    pub acks: i16,
    /// How long it waits, in milliseconds.
    pub timeout_ms: i32,
}

/// The next part of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// Comes first.
    Head(ProduceHead),
    /// The partition of the records that follow, and how many bytes of them do.
    Partition {
        /// Its topic.
        topic: TopicRef,
        /// Its number.
        partition: i32,
        /// Size of its batches.
        bytes: u32,
    },
    /// Some of the partition's records.
    Records(&'a [u8]),
    /// All of the partition's records have been read.
    PartitionEnd,
    /// The request has been read.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    /// The count of topics.
    Topics,
    /// The next topic, or the request's end.
    Topic,
    /// The next partition, or the topic's end.
    Partition,
    Records {
        left: u32,
    },
    PartitionEnd,
    Ended,
}

/// Reads a request, the header not included, from pieces of any length.
#[derive(Debug)]
pub struct ProduceReader {
    is_flexible: bool,
    has_ids: bool,
    state: State,
    /// Bytes of the request that haven't been read, those in `held` included.
    left: u64,
    /// The front of fields that a piece's border cut.
    held: Vec<u8>,
    topics_left: u32,
    partitions_left: u32,
    topic: TopicRef,
}

impl ProduceReader {
    /// Ready for the first byte after the header of a request of this version, of which `left` bytes follow.
    pub fn new(version: i16, left: u64) -> Result<ProduceReader, WireError> {
        Api::Produce.check(version)?;
        Ok(ProduceReader {
            is_flexible: Api::Produce.is_flexible(version),
            has_ids: version >= FIRST_WITH_IDS,
            state: State::Head,
            left,
            held: Vec::new(),
            topics_left: 0,
            partitions_left: 0,
            topic: TopicRef::Name(String::new()),
        })
    }

    /// The next event of the request, of which `piece` has the next received bytes; the bytes of the event are removed
    /// from it. `None`: the piece is used up, and more has to arrive. `piece` must not reach beyond the request.
    pub fn next<'a>(&mut self, piece: &mut &'a [u8]) -> Result<Option<Event<'a>>, WireError> {
        let arrived = (piece.len() + self.held.len()) as u64;
        assert!(arrived <= self.left, "{arrived} bytes of a request of which {} are left", self.left);
        loop {
            match self.state {
                State::Records { left: 0 } => self.state = State::PartitionEnd,
                State::Records { left } => {
                    assert!(self.held.is_empty(), "{} bytes before the records", self.held.len());
                    if piece.is_empty() {
                        return Ok(None);
                    }
                    let (records, rest) = piece.split_at(piece.len().min(left as usize));
                    *piece = rest;
                    self.left -= records.len() as u64;
                    self.state = State::Records { left: left - records.len() as u32 };
                    return Ok(Some(Event::Records(records)));
                }
                State::Ended => {
                    // Bytes after the last field are ignored.
                    self.left -= piece.len() as u64;
                    *piece = &[];
                    return Ok(None);
                }
                _ => match self.fields(piece)? {
                    Some(Some(event)) => return Ok(Some(event)),
                    Some(None) => {}
                    None => return Ok(None),
                },
            }
        }
    }

    /// Reads the fields of the state. `None` if they are incomplete, `Some(None)` if they aren't an event.
    fn fields(&mut self, piece: &mut &[u8]) -> Result<Option<Option<Event<'static>>>, WireError> {
        loop {
            let had = self.held.len();
            let step = if had == 0 { piece.len() } else { piece.len().min(STEP_BYTES) };
            let (added, _) = piece.split_at(step);
            let mut held = std::mem::take(&mut self.held);
            let bytes = if had == 0 {
                added
            } else {
                held.extend_from_slice(added);
                &held
            };
            match self.read(bytes) {
                Ok((read, next, event)) => {
                    assert!(read >= had, "{read} bytes of fields were enough, and {had} were not");
                    *piece = piece.split_at(read - had).1;
                    self.left -= read as u64;
                    self.state = next;
                    held.clear();
                    self.held = held;
                    return Ok(Some(event));
                }
                Err(Stop::Wrong(error)) => return Err(error),
                Err(Stop::Incomplete) => {
                    if had == 0 {
                        held.extend_from_slice(added);
                    }
                    *piece = piece.split_at(step).1;
                    self.held = held;
                    if self.held.len() as u64 >= self.left {
                        return Err(WireError::Truncated);
                    }
                    if piece.is_empty() {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// The fields of the state, from the front of `bytes`: their size, the next state, and their event.
    fn read(&mut self, bytes: &[u8]) -> Result<(usize, State, Option<Event<'static>>), Stop> {
        let mut reader = Reader::new(bytes, self.is_flexible);
        let left = self.left;
        let after = |reader: &Reader<'_>| left - reader.position() as u64;
        let (next, event) = match self.state {
            State::Head => {
                let transactional_id = reader.nullable_string()?.map(str::to_owned);
                let (acks, timeout_ms) = (reader.i16()?, reader.i32()?);
                (State::Topics, Some(Event::Head(ProduceHead { transactional_id, acks, timeout_ms })))
            }
            State::Topics => {
                self.topics_left = reader.count(1, after(&reader))?;
                (State::Topic, None)
            }
            State::Topic if self.topics_left == 0 => {
                reader.tags(after(&reader))?;
                (State::Ended, Some(Event::End))
            }
            State::Topic => {
                let topic =
                    if self.has_ids { TopicRef::Id(reader.id()?) } else { TopicRef::Name(reader.string()?.to_owned()) };
                let partitions = reader.count(1, after(&reader))?;
                (self.topic, self.partitions_left) = (topic, partitions);
                self.topics_left -= 1;
                (State::Partition, None)
            }
            State::Partition if self.partitions_left == 0 => {
                reader.tags(after(&reader))?;
                (State::Topic, None)
            }
            State::Partition => {
                let partition = reader.i32()?;
                let found = reader.bytes_length()?.unwrap_or_default();
                let limit = after(&reader);
                let bytes = u32::try_from(found).ok().filter(|_| found <= limit);
                let bytes = bytes.ok_or(WireError::Length { found: found as i64, limit })?;
                self.partitions_left -= 1;
                let topic = self.topic.clone();
                (State::Records { left: bytes }, Some(Event::Partition { topic, partition, bytes }))
            }
            State::PartitionEnd => {
                reader.tags(after(&reader))?;
                (State::Partition, Some(Event::PartitionEnd))
            }
            State::Records { .. } | State::Ended => unreachable!("{:?} has no fields", self.state),
        };
        Ok((reader.position(), next, event))
    }
}

/// The result for the records of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Produced {
    /// The partition's number.
    pub partition: i32,
    /// 0, or Kafka's number of the error.
    pub error: i16,
    /// Offset of the first record; -1 after an error.
    pub first_offset: i64,
    /// The partition's first offset; -1 after an error.
    pub log_first_offset: i64,
    /// The error.
    pub message: Option<String>,
}

/// The body of a response.
pub fn response(version: i16, topics: &[(TopicRef, Vec<Produced>)], throttle_ms: i32) -> Vec<u8> {
    let mut to = Writer::new(Api::Produce.is_flexible(version));
    to.count(topics.len());
    for (topic, partitions) in topics {
        match topic {
            TopicRef::Name(name) => to.string(name),
            TopicRef::Id(id) => to.id(id),
        }
        to.count(partitions.len());
        for Produced { partition, error, first_offset, log_first_offset, message } in partitions {
            to.i32(*partition);
            to.i16(*error);
            to.i64(*first_offset);
            // The time of append, which batches don't have.
            to.i64(-1);
            if version >= 5 {
                to.i64(*log_first_offset);
            }
            if version >= 8 {
                to.count(0);
                to.nullable_string(message.as_deref());
            }
            to.no_tags();
        }
        to.no_tags();
    }
    to.i32(throttle_ms);
    to.no_tags();
    to.into_bytes()
}
