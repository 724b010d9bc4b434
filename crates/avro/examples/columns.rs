//! Nanoseconds a message to the same columns, ours beside `arrow-avro`: `cargo run --release --example columns --features arrow`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[path = "measurements/data.rs"]
#[allow(dead_code)]
mod data;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_avro::reader::{Decoder, DecoderMode, ReaderBuilder};
use arrow_avro::schema::{AvroSchema, Fingerprint, FingerprintAlgorithm, SchemaStore};
use data::Messages;
use rawline_avro::{ColumnDecoder, ColumnEncoder, Encoded, Interner, InternerLimits, Limits, Plan, Schema, StringAs};

const SCHEMA: &str = include_str!("../../../vectors/avro/measurement.avsc");
const BATCH: usize = 1024;
const MESSAGES: usize = 200 * BATCH;

fn main() {
    let only = std::env::args().nth(1);
    let schema = Arc::new(Schema::parse(SCHEMA).unwrap());
    let plan = Arc::new(Plan::same(&schema, Limits::default()).unwrap());
    println!("messages {MESSAGES}, batches of {BATCH}, one thread, median of 9; check = rows + columns");
    println!("{:<28} {:<34} {:>8} {:>12} {:>8}", "messages", "operation", "ns", "million/s", "check");
    for (name, messages) in
        [("article", Messages::article(MESSAGES)), ("10,000 series", Messages::zipf(10_000, MESSAGES, 7))]
    {
        let time = |operation: &str, run: &mut dyn FnMut(&mut dyn Iterator<Item = &[u8]>) -> RecordBatch| {
            if only.as_ref().is_some_and(|only| !operation.contains(only)) {
                return f64::NAN;
            }
            let rounds = if only.is_some() { 41 } else { 10 };
            let mut samples = Vec::new();
            let mut check = 0;
            for _ in 0..rounds {
                check = 0;
                let begin = Instant::now();
                for first in (0..MESSAGES).step_by(BATCH) {
                    let batch = run(&mut messages.range(first, BATCH));
                    check += batch.num_rows() + batch.num_columns();
                    black_box(batch);
                }
                samples.push(begin.elapsed().as_nanos() as f64 / MESSAGES as f64);
            }
            samples.remove(0);
            samples.sort_by(f64::total_cmp);
            let median = samples[samples.len() / 2];
            println!("{name:<28} {operation:<34} {median:>8.1} {:>12.1} {check:>8}", 1e3 / median);
            median
        };
        let ours = |strings: StringAs| {
            let mut decoder = ColumnDecoder::new(Arc::clone(&plan), strings).unwrap();
            move |messages: &mut dyn Iterator<Item = &[u8]>| {
                let counts = decoder.append_batch(messages);
                assert_eq!(counts.rows, BATCH as u64);
                decoder.finish()
            }
        };
        let theirs = |view: bool| {
            let mut decoder = theirs(view);
            move |messages: &mut dyn Iterator<Item = &[u8]>| {
                for message in messages {
                    assert_eq!(decoder.decode(message).unwrap(), message.len());
                }
                decoder.flush().unwrap().unwrap()
            }
        };
        let a = time("arrow-avro: Utf8", &mut theirs(false));
        let b = time("rawline: Utf8", &mut ours(StringAs::Utf8));
        let c = time("arrow-avro: Utf8View, keys Utf8", &mut theirs(true));
        let d = time("rawline: Utf8View", &mut ours(StringAs::Utf8View));
        let limits = InternerLimits { strings_max: 1 << 17, bytes_max: 16 << 20 };
        let interner = Arc::new(Interner::new(limits, 1).unwrap());
        time("rawline: Dictionary", &mut ours(StringAs::Dictionary(interner)));
        println!("{name:<28} ratio {:.2} Utf8, {:.2} Utf8View", a / b, c / d);

        let mut decoder = ColumnDecoder::new(Arc::clone(&plan), StringAs::Utf8).unwrap();
        decoder.append_batch(messages.range(0, BATCH));
        let batch = decoder.finish();
        let encoder = ColumnEncoder::new(Arc::clone(&schema));
        let mut encoded = Encoded::default();
        time("rawline: encode, Utf8", &mut |_| {
            encoded.clear();
            encoder.encode(&batch, &mut encoded).unwrap();
            batch.clone()
        });
    }
}

fn theirs(view: bool) -> Decoder {
    let mut store = SchemaStore::new_with_type(FingerprintAlgorithm::Rabin);
    let fingerprint: Fingerprint = store.register(AvroSchema::new(SCHEMA.to_owned())).unwrap();
    ReaderBuilder::new()
        .with_writer_schema_store(store)
        .with_active_fingerprint(fingerprint)
        .with_decoder_mode(DecoderMode::UnframedDatum)
        .with_batch_size(BATCH)
        .with_utf8_view(view)
        .build_decoder()
        .unwrap()
}
