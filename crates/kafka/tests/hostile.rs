//! Bytes that lie: nothing panics, and no message takes more memory than its size allows. One test, because it counts
//! what the whole process allocates.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // A test.

mod support;

use fastrand::Rng;
use rawline_kafka::{Api, MEMORY_OF_ANY, MEMORY_PER_BYTE, Request, Response, WireError, fetch};
use rawline_testkit::allocator::{Counting, allocated};
use support::vectors;

#[global_allocator]
static COUNTING: Counting = Counting;

/// Lengths and counts of both forms, and numbers that they overflow with.
const LIES: [&[u8]; 9] = [
    &[0],
    &[0xff],
    &[0x7f],
    &[0x7f, 0xff],
    &[0x7f, 0xff, 0xff, 0xff],
    &[0xff, 0xff, 0xff, 0xff],
    &[0, 0, 0xff, 0xff],
    &[0x80, 0x80, 0x40],
    &[0xff, 0xff, 0xff, 0xff, 0x0f],
];

/// The APIs whose requests are read as a whole.
fn apis() -> impl Iterator<Item = Api> {
    Request::APIS.iter().copied().chain([Api::Fetch])
}

/// Reads, and compares the allocations with the limit.
fn read(api: Api, version: i16, is_request: bool, bytes: &[u8]) -> Result<(), WireError> {
    let before = allocated().bytes;
    let found = if api == Api::Fetch {
        fetch::request(version, bytes).map(drop)
    } else if is_request {
        Request::read(api, version, bytes).map(drop)
    } else {
        Response::read(api, version, bytes).map(drop)
    };
    let taken = allocated().bytes - before;
    let limit = bytes.len() * MEMORY_PER_BYTE + MEMORY_OF_ANY;
    assert!(taken <= limit as u64, "{api:?} {version}: {taken} bytes allocated for {} bytes", bytes.len());
    found
}

#[test]
fn no_bytes_take_more_memory_than_their_size_allows() {
    lies_at_every_position();
    large_frames_of_one_byte();
    random_bytes();
}

fn lies_at_every_position() {
    for api in apis() {
        for vector in vectors(api.name()) {
            let version = vector.versions[0];
            for position in 0..vector.bytes.len() {
                for lie in LIES {
                    let mut bytes = vector.bytes.clone();
                    for (to, from) in bytes.iter_mut().skip(position).zip(lie) {
                        *to = *from;
                    }
                    let _ = read(api, version, vector.is_request, &bytes);
                }
            }
        }
    }
}

/// All zeros or ones, or that after a count of as many elements as the frame could have.
fn large_frames_of_one_byte() {
    const BYTES: usize = 1 << 20;
    let mut refused = 0;
    for api in apis() {
        for version in api.versions() {
            let begins = [&[][..], &[0xff, 0xff, 0x3f], &[0, 0x0f, 0xff, 0xf0], &[1, 1, 0xff, 0xff, 0x3f]];
            for (begin, fill) in begins.into_iter().flat_map(|begin| [(begin, 0), (begin, 1)]) {
                let mut bytes = vec![fill; BYTES];
                bytes[..begin.len()].copy_from_slice(begin);
                let found = read(api, version, true, &bytes);
                refused += usize::from(matches!(found, Err(WireError::Memory { .. })));
            }
        }
    }
    assert!(refused > 0, "no frame needed more than its share");
}

fn random_bytes() {
    let mut random = Rng::with_seed(14);
    for api in apis() {
        for version in api.versions() {
            for _ in 0..200 {
                let mut bytes = vec![0; random.usize(..200)];
                random.fill(&mut bytes);
                // Small numbers, so that more than the first count is read.
                let mask = [0xff, 0x0f, 0x03][random.usize(..3)];
                bytes.iter_mut().for_each(|byte| *byte &= mask);
                let _ = read(api, version, random.bool(), &bytes);
            }
        }
    }
}
