//! How a log ends after a crash: interrupted writes are left out and never become visible.

use crate::support::Unclosed;
use rawline_broker::store::disk::Durability;
use rawline_testkit::stores::{SEGMENT_BYTES, WRITER_ID, bytes_of, object_of};

#[tokio::test]
async fn an_object_cut_off_at_any_byte_is_left_out() {
    let unclosed = Unclosed::new().await;
    for cut in unclosed.last.clone() {
        let what = format!("cut at byte {cut}");
        unclosed.check(&unclosed.segment[..cut], 3, Durability::PageCache, &what).await;
    }
    unclosed.check(&unclosed.segment[..unclosed.last.end], 4, Durability::PageCache, "not cut").await;
}

#[tokio::test]
async fn an_object_with_zeros_from_any_byte_is_left_out() {
    let unclosed = Unclosed::new().await;
    for from in unclosed.last.clone() {
        let mut segment = unclosed.segment.clone();
        segment[from..].fill(0);
        let whole = if segment == unclosed.segment { 4 } else { 3 };
        unclosed.check(&segment, whole, Durability::PageCache, &format!("zeros from byte {from}")).await;
    }
}

#[tokio::test]
async fn an_object_with_any_bit_flipped_is_left_out() {
    let unclosed = Unclosed::new().await;
    for position in unclosed.last.clone() {
        let mut segment = unclosed.segment.clone();
        segment[position] ^= 1 << (position % 8);
        unclosed.check(&segment, 3, Durability::PageCache, &format!("a bit of byte {position}")).await;
    }
}

#[tokio::test]
async fn an_object_that_misses_any_of_its_sectors_is_left_out() {
    // A machine that goes down writes the sectors of a file in any order.
    let mut objects: Vec<_> = (0..3).map(|number| object_of(number * 3, 1, 3, 20, WRITER_ID)).collect();
    let start = objects.iter().map(|object| object.header.object_bytes as usize).sum::<usize>();
    objects.push(object_of(9, 40, 2, 70, WRITER_ID));
    let mut segment = objects.iter().flat_map(bytes_of).collect::<Vec<_>>();
    let end = segment.len();
    segment.resize(end + 10_000, 0);
    let unclosed = Unclosed { segment, objects, last: start..end };
    unclosed.check(&unclosed.segment, 4, Durability::Fsync, "no sector").await;
    for first in (start / 512 * 512..end).step_by(512) {
        for last in [first + 512, first + 1024, end] {
            let missing = first.max(start)..last.min(end).max(start);
            let mut segment = unclosed.segment.clone();
            segment[missing.clone()].fill(0);
            unclosed.check(&segment, 3, Durability::Fsync, &format!("zeros in {missing:?}")).await;
        }
    }
}

#[tokio::test]
async fn what_follows_the_last_object_is_never_read() {
    let unclosed = Unclosed::new().await;
    for garbage in [vec![0xff; 1], vec![0x5a; 100], b"RAWO".to_vec(), unclosed.segment[..unclosed.last.end].to_vec()] {
        let mut segment = unclosed.segment[..unclosed.last.end].to_vec();
        segment.extend_from_slice(&garbage);
        unclosed.check(&segment, 4, Durability::Fsync, &format!("{} bytes after it", garbage.len())).await;
        segment.resize(SEGMENT_BYTES as usize * 2, 0);
        unclosed.check(&segment, 4, Durability::Fsync, &format!("{} bytes and zeros after it", garbage.len())).await;
    }
    // A whole object with the right offset from another run: what a producer could put into a record.
    let mut segment = unclosed.segment[..unclosed.last.end].to_vec();
    segment.extend_from_slice(&bytes_of(&object_of(12, 1, 3, 20, WRITER_ID + 5)));
    unclosed.check(&segment, 4, Durability::Fsync, "another writer's object").await;
}

#[tokio::test]
async fn a_torn_first_object_makes_room() {
    let unclosed = Unclosed::new().await;
    for cut in [1, 63, 64, 90, 150] {
        unclosed.check(&unclosed.segment[..cut], 0, Durability::Fsync, &format!("cut at {cut}")).await;
    }
    unclosed.check(&[], 0, Durability::Fsync, "an empty file").await;
    unclosed.check(&[0; 10_000], 0, Durability::Fsync, "nothing but zeros").await;
}
