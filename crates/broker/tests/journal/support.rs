//! What the tests of journals share.

use bytes::Bytes;
use rawline_batch::{Checker, Codec, Limits};
use rawline_broker::journal::{Journal, JournalConfig, JournalStore};
use rawline_broker::{Received, SystemClock};
use rawline_journal::{Control, PartitionId};
use rawline_testkit::batches::{batch, records_of};
use std::sync::Arc;
use std::time::Duration;

/// A journal whose writer waits shortly between two objects.
pub(crate) fn open(store: Arc<dyn JournalStore>, run: u64) -> Journal {
    Journal::open(store, Arc::new(SystemClock), config(run))
}

pub(crate) fn config(run: u64) -> JournalConfig {
    let mut config = JournalConfig::new(run);
    config.limits.batch_wait = Duration::from_millis(20);
    config
}

/// Batches as they come from a socket: in pieces whose borders respect nothing.
pub(crate) fn received(batches: &[u8]) -> Received {
    let bytes = Bytes::copy_from_slice(batches);
    let parts: Vec<_> = (0..bytes.len()).step_by(100).map(|at| bytes.slice(at..(at + 100).min(bytes.len()))).collect();
    let mut checker = Checker::new(Limits::default());
    for part in &parts {
        checker.push(part).unwrap();
    }
    Received::new(parts, checker).unwrap()
}

/// One batch with these records.
pub(crate) fn one(records: &[&str]) -> Vec<u8> {
    let records: Vec<_> = records.iter().map(|record| record.as_bytes().to_vec()).collect();
    batch(Codec::None, &records)
}

pub(crate) fn create(name: &str, partitions: u32) -> Control {
    Control::Create { topic: 0, name: name.into(), partitions, settings: [].into() }
}

/// All records of a partition.
pub(crate) async fn all(journal: &Journal, partition: PartitionId) -> Vec<String> {
    let mut records = Vec::new();
    let offsets = journal.offsets(partition);
    let mut offset = offsets.start;
    while offset < offsets.end {
        let piece = journal.read(partition, offset).await.unwrap().unwrap();
        let skip = (offset - piece.first_offset) as usize;
        let texts = records_of(&piece.batches).into_iter().skip(skip);
        records.extend(texts.map(|record| String::from_utf8(record).unwrap()));
        offset = piece.next_offset;
    }
    assert_eq!(records.len() as u64, offsets.end - offsets.start);
    records
}
