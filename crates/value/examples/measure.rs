//! Nanoseconds of each way to read and write the two small values that Zeek Broker's own micro benchmark uses.
//!
//! `cargo run --release -p rawline-value --example measure`: medians of 31 rounds.

#![allow(clippy::disallowed_methods)] // A measurement, on an idle machine.

use std::hint::black_box;
use std::time::Instant;

use rawline_value::{Decoder, Envelope, Limits, ListBuilder, TableBuilder, Value};

const ROUNDS: usize = 31;
const RUNS: u32 = 100_000;

fn main() {
    let mut event = Vec::new();
    build_event(&mut event);
    let mut table = Vec::new();
    build_table(&mut table);
    for (name, bytes) in [("event_1", &event), ("table_1", &table)] {
        println!("{name}: {} bytes", bytes.len());
        measure_value(bytes);
    }
    let mut out = Vec::with_capacity(512);
    report("event_1 builder, buffer reused", || {
        out.clear();
        build_event(black_box(&mut out));
        out.len()
    });
    report("event_1 builder, new 512-byte buffer", || {
        let mut out = Vec::with_capacity(512);
        build_event(black_box(&mut out));
        out.len()
    });
    report("table_1 builder, buffer reused", || {
        out.clear();
        build_table(black_box(&mut out));
        out.len()
    });
    report("table_1 builder, new 512-byte buffer", || {
        let mut out = Vec::with_capacity(512);
        build_table(black_box(&mut out));
        out.len()
    });
}

fn measure_value(bytes: &[u8]) {
    let limits = Limits::default();
    let Ok(value) = Value::decode(bytes, &limits) else {
        println!("  not a value");
        return;
    };
    let mut decoder = Decoder::default();
    report("  view, nothing allocated", || decoder.decode(black_box(bytes)).map_or(0, |value| value.kind() as usize));
    report("  envelope, decoder reused", || {
        decoder
            .envelope(black_box(b"/foo/bar"), black_box(bytes))
            .map_or(0, |envelope| envelope.value().kind() as usize)
    });
    report("  envelope, by itself", || {
        Envelope::decode(black_box(b"/foo/bar"), black_box(bytes))
            .map_or(0, |envelope| envelope.value().kind() as usize)
    });
    report("  tree decoded", || Value::decode(black_box(bytes), &limits).map_or(0, |value| value.kind() as usize));
    let mut out = Vec::with_capacity(512);
    report("  tree encoded, buffer reused", || {
        out.clear();
        black_box(&value).encode_into(black_box(&mut out));
        out.len()
    });
    report("  tree encoded, new 512-byte buffer", || {
        let mut out = Vec::with_capacity(512);
        black_box(&value).encode_into(black_box(&mut out));
        out.len()
    });
}

fn build_event(out: &mut Vec<u8>) {
    let mut event = ListBuilder::new(out);
    event.add(1u64).add(1u64);
    let mut content = event.list();
    content.add("event_1");
    content.list().add(42).add("test");
}

fn build_table(out: &mut Vec<u8>) {
    TableBuilder::new(out).add("first-name", "John").add("last-name", "Doe");
}

fn report(name: &str, mut run: impl FnMut() -> usize) {
    let mut check = 0;
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..RUNS {
                check += black_box(run());
            }
            start.elapsed().as_nanos() as f64 / f64::from(RUNS)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    let at = |place: usize| rounds.get(place).copied().unwrap_or_default();
    println!("{name:40} {:7.1} ns  [{:.1} to {:.1}]  check {check}", at(ROUNDS / 2), at(0), at(ROUNDS - 1));
}
