//! Fetch: a response around records that are elsewhere.

use crate::api::Api;
use crate::memory::Memory;
use crate::produce::TopicRef;
use crate::read::{Reader, Stop, WireError};
use crate::write::Writer;

/// From this version on topics are named by their ids.
const FIRST_WITH_IDS: i16 = 13;

/// A Fetch request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchRequest {
    /// How long it waits for `bytes_min`, in milliseconds.
    pub wait_max_ms: i32,
    /// The response may wait for this many bytes of all partitions together.
    pub bytes_min: i32,
    /// Maximum size of all records, but for the first batch.
    pub bytes_max: i32,
    /// 1: only committed records.
    pub isolation_level: i8,
    /// 0 without a session.
    pub session_id: i32,
    /// -1 if none is wanted.
    pub session_epoch: i32,
    /// The zone of the client; empty if it says none.
    pub rack: String,
    /// In the order of the request.
    pub topics: Vec<(TopicRef, Vec<FetchPartition>)>,
}

/// One requested partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchPartition {
    /// Its number.
    pub partition: i32,
    /// The leader's epoch as the consumer knows it; -1 if it doesn't.
    pub leader_epoch: i32,
    /// Offset of the first wanted record.
    pub offset: i64,
    /// Maximum size of the records, but for the first batch.
    pub bytes_max: i32,
}

/// Reads the body of a request. Bytes after the last field are ignored.
pub fn request(version: i16, bytes: &[u8]) -> Result<FetchRequest, WireError> {
    Api::Fetch.check(version)?;
    let mut reader = Reader::new(bytes, Api::Fetch.is_flexible(version));
    match read(version, bytes.len() as u64, &mut reader) {
        Ok(request) => Ok(request),
        Err(Stop::Incomplete) => Err(WireError::Truncated),
        Err(Stop::Wrong(error)) => Err(error),
    }
}

fn read(version: i16, all: u64, reader: &mut Reader<'_>) -> Result<FetchRequest, Stop> {
    let left = |reader: &Reader<'_>| all - reader.position() as u64;
    if version <= 14 {
        // The replica's id: only brokers have one.
        reader.i32()?;
    }
    let (wait_max_ms, bytes_min, bytes_max) = (reader.i32()?, reader.i32()?, reader.i32()?);
    let isolation_level = reader.i8()?;
    let (session_id, session_epoch) = if version >= 7 { (reader.i32()?, reader.i32()?) } else { (0, -1) };
    let mut memory = Memory::of(all as usize);
    let count = reader.count(2, left(reader))?;
    let mut topics = memory.vector(count as usize)?;
    for _ in 0..count {
        let topic = topic(version, reader, &mut memory)?;
        let count = reader.count(16, left(reader))?;
        let mut partitions = memory.vector(count as usize)?;
        for _ in 0..count {
            let partition = reader.i32()?;
            let leader_epoch = if version >= 9 { reader.i32()? } else { -1 };
            let offset = reader.i64()?;
            if version >= 12 {
                // The epoch of the last record that was fetched: the log is never truncated.
                reader.i32()?;
            }
            if version >= 5 {
                // A follower's first offset.
                reader.i64()?;
            }
            let bytes_max = reader.i32()?;
            reader.tags(left(reader))?;
            partitions.push(FetchPartition { partition, leader_epoch, offset, bytes_max });
        }
        reader.tags(left(reader))?;
        topics.push((topic, partitions));
    }
    if version >= 7 {
        // Partitions that a session should forget.
        for _ in 0..reader.count(2, left(reader))? {
            skip_topic_to_forget(version, all, reader)?;
        }
    }
    let rack = if version >= 11 { reader.nullable_string()?.unwrap_or_default().to_owned() } else { String::new() };
    reader.tags(left(reader))?;
    Ok(FetchRequest { wait_max_ms, bytes_min, bytes_max, isolation_level, session_id, session_epoch, rack, topics })
}

fn topic(version: i16, reader: &mut Reader<'_>, memory: &mut Memory) -> Result<TopicRef, Stop> {
    if version >= FIRST_WITH_IDS {
        return Ok(TopicRef::Id(reader.id()?));
    }
    let name = reader.string()?;
    memory.reserve(name.len())?;
    Ok(TopicRef::Name(name.to_owned()))
}

fn skip_topic_to_forget(version: i16, all: u64, reader: &mut Reader<'_>) -> Result<(), Stop> {
    if version >= FIRST_WITH_IDS {
        reader.id()?;
    } else {
        reader.string()?;
    }
    let left = all - reader.position() as u64;
    for _ in 0..reader.count(4, left)? {
        reader.i32()?;
    }
    reader.tags(all - reader.position() as u64)
}

/// The response for one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedPartition {
    /// Its number.
    pub partition: i32,
    /// 0, or Kafka's number of the error.
    pub error: i16,
    /// Offset after the last record that may be read; -1 after an error.
    pub next_offset: i64,
    /// The same, of those that are committed.
    pub stable_offset: i64,
    /// The partition's first offset; -1 after an error.
    pub first_offset: i64,
    /// Aborted transactions with records among these: the producer's id, and the first offset.
    pub aborted: Vec<(u64, u64)>,
    /// The broker that the consumer should fetch from instead; -1 if it is this one.
    pub preferred: i32,
    /// Size of the records.
    pub records_bytes: u32,
}

/// A response without its records: they belong between the parts, in order of the partitions.
pub struct FetchResponse {
    /// The parts of a response between the records.
    pub parts: Vec<FetchPart>,
    /// Size of the whole body, the records included.
    pub bytes: u64,
}

/// A part of a response.
pub struct FetchPart {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether the records of the next partition that has some follow.
    pub has_records: bool,
}

/// A part without records is a few partitions, so that a response for thousands is neither thousands of allocations nor
/// one that is large.
const PART_BYTES: usize = 256;

/// The body of a response. An error other than 0 is for the whole request.
pub fn response(
    version: i16,
    error: i16,
    throttle_ms: i32,
    topics: &[(TopicRef, Vec<FetchedPartition>)],
) -> FetchResponse {
    let is_flexible = Api::Fetch.is_flexible(version);
    let mut to = Writer::new(is_flexible);
    let (mut parts, mut records_bytes) = (Vec::new(), 0);
    to.i32(throttle_ms);
    if version >= 7 {
        to.i16(error);
        // No session: every request has all of its partitions.
        to.i32(0);
    }
    to.count(topics.len());
    for (topic, partitions) in topics {
        match topic {
            TopicRef::Name(name) => to.string(name),
            TopicRef::Id(id) => to.id(id),
        }
        to.count(partitions.len());
        for fetched in partitions {
            to.i32(fetched.partition);
            to.i16(fetched.error);
            to.i64(fetched.next_offset);
            to.i64(fetched.stable_offset);
            if version >= 5 {
                to.i64(fetched.first_offset);
            }
            to.count(fetched.aborted.len());
            for (producer, first_offset) in &fetched.aborted {
                to.i64(*producer as i64);
                to.i64(*first_offset as i64);
                to.no_tags();
            }
            if version >= 11 {
                to.i32(fetched.preferred);
            }
            to.bytes_length(fetched.records_bytes as usize);
            let has_records = fetched.records_bytes > 0;
            if has_records || to.bytes() >= PART_BYTES {
                let next = Writer::after(Vec::with_capacity(PART_BYTES + PART_BYTES / 2), is_flexible);
                parts.push(FetchPart { bytes: std::mem::replace(&mut to, next).into_bytes(), has_records });
            }
            records_bytes += u64::from(fetched.records_bytes);
            to.no_tags();
        }
        to.no_tags();
    }
    to.no_tags();
    parts.push(FetchPart { bytes: to.into_bytes(), has_records: false });
    let bytes = parts.iter().map(|part| part.bytes.len() as u64).sum::<u64>() + records_bytes;
    FetchResponse { parts, bytes }
}
