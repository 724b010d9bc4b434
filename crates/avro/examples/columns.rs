//! Nanoseconds a message to the same columns, ours beside `arrow-avro`: `cargo run --release --example columns --features arrow`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_avro::reader::{Decoder, DecoderMode, ReaderBuilder};
use arrow_avro::schema::{AvroSchema, Fingerprint, FingerprintAlgorithm, SchemaStore};
use fastrand::Rng;
use rawline_avro::{ColumnDecoder, ColumnEncoder, Encoded, Interner, InternerLimits, Limits, Plan, Schema, StringAs};

const SCHEMA: &str = include_str!("../../../vectors/avro/measurement.avsc");
const MESSAGE: &str = include_str!("../../../vectors/avro/measurement.hex");
const BATCH: usize = 1024;
const MESSAGES: usize = 200 * BATCH;

fn main() {
    let only = std::env::args().nth(1);
    let schema = Arc::new(Schema::parse(SCHEMA).unwrap());
    let plan = Arc::new(Plan::same(&schema, Limits::default()).unwrap());
    println!("messages {MESSAGES}, batches of {BATCH}, one thread, median of 9; check = rows + columns");
    println!("{:<28} {:<34} {:>8} {:>12} {:>8}", "messages", "operation", "ns", "million/s", "check");
    for (name, messages) in [("article", vec![article(); MESSAGES]), ("10,000 series", series(10_000, 7))] {
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
                    let batch = run(&mut messages[first..first + BATCH].iter().map(Vec::as_slice));
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
        decoder.append_batch(messages[..BATCH].iter().map(Vec::as_slice));
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

/// The message of 81 bytes and five tags that Agoda's benchmark of its decoder uses.
fn article() -> Vec<u8> {
    let digits = MESSAGE.trim().as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Messages of `count` series with five tags each, of which few are frequent: about 107 bytes.
fn series(count: u32, seed: u64) -> Vec<Vec<u8>> {
    let mut random = Rng::with_seed(seed);
    let mut time_ms = 1_600_000_000_000;
    let mut message = || {
        // Log-uniform: each power of two is as frequent as the others.
        let n = (f64::from(count).powf(random.f64()) as u32).min(count - 1);
        let metrics = ["http.server.requests", "cpu.usage", "jvm.gc.pause", "cache.hit.ratio", "kafka.consumer.lag"];
        let center = ["sgp", "hkg", "ams", "ash"][n as usize % 4];
        let mut tags = [
            ("server", format!("{center}-{:05}", n / 5)),
            ("dc", center.to_owned()),
            ("service", ["search", "booking-api", "pricing", "payment-gw"][n as usize / 7 % 4].to_owned()),
            ("env", if n.is_multiple_of(17) { "staging" } else { "prod" }.to_owned()),
            ("version", format!("{}.{}.0", n % 9, n % 30)),
        ];
        Rng::with_seed(u64::from(n)).shuffle(&mut tags);
        let mut message = Vec::new();
        text(&mut message, metrics[n as usize % 5]);
        long(&mut message, 5);
        for (key, value) in &tags {
            text(&mut message, key);
            text(&mut message, value);
        }
        message.push(0);
        time_ms += random.i64(0..20);
        long(&mut message, time_ms);
        let bits = random.u32(1..41);
        long(&mut message, random.i64(0..1 << bits));
        message
    };
    (0..MESSAGES).map(|_| message()).collect()
}

fn text(out: &mut Vec<u8>, text: &str) {
    long(out, text.len() as i64);
    out.extend_from_slice(text.as_bytes());
}

fn long(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}
