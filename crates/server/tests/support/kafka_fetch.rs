//! Fetch requests for many partitions, and their responses, in version 11.

// Helpers of tests may fail the test.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use bytes::Buf;

/// A request: topics, and of each the partitions with the offsets from which on they are wanted.
#[derive(Clone, Copy)]
pub struct Fetch<'a> {
    pub wait_ms: i32,
    pub bytes_min: i32,
    pub isolation: u8,
    pub topics: &'a [(&'a str, &'a [(i32, i64)])],
    pub rack: &'a str,
}

impl Default for Fetch<'_> {
    fn default() -> Self {
        Fetch { wait_ms: 0, bytes_min: 1, isolation: 0, topics: &[], rack: "" }
    }
}

impl Fetch<'_> {
    pub fn body(&self) -> Vec<u8> {
        let mut body = Vec::new();
        for field in [-1, self.wait_ms, self.bytes_min, 50 << 20] {
            body.extend(field.to_be_bytes());
        }
        body.push(self.isolation);
        // No session.
        body.extend(0_i32.to_be_bytes());
        body.extend((-1_i32).to_be_bytes());
        body.extend((self.topics.len() as i32).to_be_bytes());
        for (topic, partitions) in self.topics {
            body.extend((topic.len() as i16).to_be_bytes());
            body.extend(topic.as_bytes());
            body.extend((partitions.len() as i32).to_be_bytes());
            for (partition, offset) in *partitions {
                body.extend(partition.to_be_bytes());
                body.extend((-1_i32).to_be_bytes());
                body.extend(offset.to_be_bytes());
                body.extend((-1_i64).to_be_bytes());
                body.extend((1_i32 << 20).to_be_bytes());
            }
        }
        // Nothing to forget.
        body.extend(0_i32.to_be_bytes());
        body.extend((self.rack.len() as i16).to_be_bytes());
        body.extend(self.rack.as_bytes());
        body
    }
}

/// A response.
pub struct Fetched {
    pub partitions: Vec<Partition>,
}

#[derive(Debug)]
pub struct Partition {
    pub topic: String,
    pub partition: i32,
    pub error: i16,
    pub next_offset: i64,
    pub stable_offset: i64,
    pub aborted: Vec<(i64, i64)>,
    pub preferred: i32,
    pub records_bytes: i32,
}

impl Fetched {
    pub fn read(mut body: &[u8]) -> Fetched {
        let body = &mut body;
        body.advance(4);
        // No error, and no session.
        assert_eq!((body.get_i16(), body.get_i32()), (0, 0));
        let mut partitions = Vec::new();
        for _ in 0..body.get_i32() {
            let name_bytes = body.get_i16() as usize;
            let topic = String::from_utf8(body.copy_to_bytes(name_bytes).to_vec()).unwrap();
            for _ in 0..body.get_i32() {
                let (partition, error) = (body.get_i32(), body.get_i16());
                let (next_offset, stable_offset) = (body.get_i64(), body.get_i64());
                body.advance(8);
                let aborted = (0..body.get_i32()).map(|_| (body.get_i64(), body.get_i64())).collect();
                let preferred = body.get_i32();
                let records_bytes = body.get_i32();
                body.advance(records_bytes.max(0) as usize);
                partitions.push(Partition {
                    topic: topic.clone(),
                    partition,
                    error,
                    next_offset,
                    stable_offset,
                    aborted,
                    preferred,
                    records_bytes,
                });
            }
        }
        assert!(body.is_empty(), "{} bytes after the last partition", body.len());
        Fetched { partitions }
    }
}
