//! Records are borrowed: reading and converting them costs no memory for each.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use rawline_batch::Limits;
use rawline_batch::record_batch::{
    RECORD_BATCH_HEADER_BYTES, RecordBatchBuilder, RecordBatchHeader, RecordCodec, Records, convert,
};
use rawline_testkit::allocator::{Counting, allocations_of};

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn records_are_read_converted_and_gathered_without_allocations() {
    let mut builder = RecordBatchBuilder::new(RecordCodec::None, Limits::default());
    fill(&mut builder);
    builder.finish(None).unwrap();
    let ((), allocations) = allocations_of(|| fill(&mut builder));
    assert_eq!(allocations, 0, "the second batch");
    let batch = builder.finish(None).unwrap();

    let header = RecordBatchHeader::parse(batch.first_chunk().unwrap(), &Limits::default()).unwrap();
    let read = || {
        let records = Records::new(&header, &batch[RECORD_BATCH_HEADER_BYTES..]);
        records.map(|record| record.unwrap().headers.count()).sum::<usize>()
    };
    assert_eq!(allocations_of(read), (2000, 0));

    let records = vec![&b"value"[..]; 1000];
    let mut written = 0;
    let (_, allocations) = allocations_of(|| convert(records.iter().copied(), 0, 0, |piece| written += piece.len()));
    assert_eq!(allocations, 1, "the buffer that gathers small pieces, of {written} bytes in all");
}

fn fill(builder: &mut RecordBatchBuilder) {
    for n in 0..1000 {
        builder.push(n, Some(b"key"), Some(b"value"), [(&b"header"[..], Some(&b"x"[..])), (b"", None)]).unwrap();
    }
}
