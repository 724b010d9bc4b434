//! The work of a search is linear in the length of the file.

use super::*;
use crate::object::{MAGIC, Object, Stamp};
use rawline_batch::{BatchMeta, Builder, Checker, Codec, Limits};
use std::io::Write;

fn object(first_offset: u64, record: &[u8]) -> Object {
    let mut builder = Builder::new(Codec::None, Limits::default());
    builder.push(record).unwrap();
    let mut bytes = Vec::new();
    builder.finish_into(1, 1, 1, &mut bytes).unwrap();
    let mut checker = Checker::new(Limits::default());
    checker.push(&bytes).unwrap();
    let batches: Vec<BatchMeta> = checker.finish().unwrap();
    let stamp =
        Stamp { first_offset, appended_us: 1, writer_id: 77, commit: 1, confirmed_next_offset: Some(first_offset) };
    Object::build(stamp, batches.into_iter(), &[bytes.into()])
}

/// A record full of headers, each of which claims an index as long as there can be.
fn fake_headers(writer_id: u64) -> Vec<u8> {
    let mut header = object(5, b"x").parts.concat()[..HEADER_BYTES].to_vec();
    assert!(header.starts_with(&MAGIC));
    header[20..24].copy_from_slice(&65_536u32.to_le_bytes());
    header[16..20].copy_from_slice(&65_536u32.to_le_bytes());
    header[24..32].copy_from_slice(&(2u64 << 20).to_le_bytes());
    header[40..48].copy_from_slice(&writer_id.to_le_bytes());
    header.repeat((8 << 20) / HEADER_BYTES)
}

#[test]
fn a_record_full_of_headers_does_not_make_the_search_quadratic() {
    for writer_id in [77, 78] {
        let mut segment = object(0, b"whole").parts.concat();
        let torn = segment.len();
        segment.extend(object(1, &fake_headers(writer_id)).parts.concat());
        segment[torn..torn + 4].fill(b'?');
        let later = object(9, b"later");
        segment.extend(later.parts.concat());
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&segment).unwrap();
        let mapping = map(&file, segment.len() as u64).unwrap();
        let known = Known { first_offset: 0, next_segment: None, is_synced: true };
        let mut walk = Walk::new(&mapping, known, data_ranges(&file, segment.len())).unwrap();
        let may_check = walk.check_bytes_left;
        assert!(may_check <= 2 * segment.len() as u64);
        walk.run().unwrap();
        let checked = may_check - walk.check_bytes_left;
        // Headers of this run, which no producer can know, are limited; those of other runs cost nothing.
        if writer_id == 78 {
            assert_eq!(checked, later.header.index_bytes() as u64);
            assert_eq!(walk.steps.last().unwrap().entry.first_offset(), 9);
        }
    }
}
