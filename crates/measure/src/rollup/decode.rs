//! Decodes received records into columns of measurements.

use crate::layout::Counts;
use crate::rollup::limits::BAD_REPORTED_MAX;
use rawline_batch::{Batch, Codec, decompress_into};
use rawline_client::Fetched;
use rawline_series::{Columns, MeasurementReader};
use std::ops::Range;

/// A record that is not a measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadMessage {
    /// Its offset.
    pub offset: u64,
    /// The field that can't be read.
    pub field: String,
    /// The reason.
    pub reason: String,
}

/// Decodes on one thread.
pub(crate) struct Decoder {
    measurements: MeasurementReader,
    /// Decompressed data of a batch.
    unpacked: Vec<u8>,
    missing_schema: bool,
}

impl Decoder {
    pub(crate) fn new(measurements: MeasurementReader) -> Decoder {
        Decoder { measurements, unpacked: Vec::new(), missing_schema: false }
    }

    /// Whether the last call found a message with an unknown schema.
    pub(crate) fn missing_schema(&self) -> bool {
        self.missing_schema
    }

    /// Appends the measurements with offsets in `wanted` to `columns`, and the first bad messages to `bad`.
    pub(crate) fn decode(
        &mut self,
        fetched: &Fetched,
        wanted: &Range<u64>,
        columns: &mut Columns,
        bad: &mut Vec<BadMessage>,
    ) -> Counts {
        let mut counts = Counts::default();
        self.missing_schema = false;
        for (first_offset, batch) in fetched.batches() {
            let header = batch.header();
            let end = wanted.end.min(first_offset + u64::from(header.records));
            let begin = wanted.start.max(first_offset);
            if begin >= end {
                continue;
            }
            let data = match header.codec {
                Codec::None => batch.data(),
                codec => match decompress_into(codec, batch.data(), header.raw_bytes, &mut self.unpacked) {
                    Ok(()) => self.unpacked.as_slice(),
                    Err(error) => {
                        counts.bad += end - begin;
                        tell(bad, begin, "batch", error.to_string());
                        continue;
                    }
                },
            };
            let messages = messages(&batch, data, (begin - first_offset) as usize).take((end - begin) as usize);
            let decoded = self.measurements.decode(messages, columns);
            counts.decoded += decoded.rows;
            counts.dropped += decoded.dropped;
            counts.bad += decoded.faulty;
            self.missing_schema |= self.measurements.missing_schema();
            for refused in self.measurements.faults() {
                tell(bad, begin + refused.number, &refused.field, refused.reason.clone());
            }
        }
        counts
    }
}

fn tell(bad: &mut Vec<BadMessage>, offset: u64, field: &str, reason: String) {
    if bad.len() < BAD_REPORTED_MAX {
        bad.push(BadMessage { offset, field: field.to_owned(), reason });
    }
}

/// A batch's records, starting with record `first`.
fn messages<'a>(batch: &Batch<'a>, data: &'a [u8], first: usize) -> impl Iterator<Item = &'a [u8]> {
    let sizes = batch.sizes();
    let before: usize = sizes.iter().take(first).map(|size| size.get() as usize).sum();
    let mut rest = data.get(before..).unwrap_or_default();
    sizes.get(first..).unwrap_or_default().iter().map(move |size| {
        // The sizes were checked against the data's length.
        let (message, after) = rest.split_at_checked(size.get() as usize).unwrap_or((rest, &[]));
        rest = after;
        message
    })
}
