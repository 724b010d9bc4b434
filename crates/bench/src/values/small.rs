//! The two small values of Zeek Broker's own micro benchmark, with a message that calibrates this machine.

use super::race::{Race, Time};
use indicatif::ProgressBar;
use rawline_value::{Decoder, Envelope, Limits, ListBuilder, TableBuilder, Value};
use serde::{Deserialize, Serialize};
use std::hint::black_box;

const TOPIC: &[u8] = b"/foo/bar";

/// Zeek Broker's times for the same work, in nanoseconds, on a machine where serde_json takes [`CALIBRATION_NS`] for
/// PingPong: commit f125adfc, its unmodified benchmark, median of 5 processes.
pub const ORIGINAL_NS: [(&str, f64); 10] = [
    ("event_1 build", 89.2),
    ("event_1 view", 92.3),
    ("event_1 envelope", 107.6),
    ("event_1 tree encode", 133.6),
    ("event_1 tree decode", 338.6),
    ("table_1 build", 72.9),
    ("table_1 view", 76.1),
    ("table_1 envelope", 100.9),
    ("table_1 tree encode", 112.8),
    ("table_1 tree decode", 197.7),
];

/// serde_json on PingPong where Zeek Broker was measured: encode and decode.
pub const CALIBRATION_NS: [f64; 2] = [250.4, 540.5];

/// The message of the published comparison of wire formats.
#[derive(Debug, Serialize, Deserialize)]
struct PingPong {
    id: i64,
    version: i32,
    message: String,
    is_important: bool,
    names: Vec<String>,
    ints: Vec<i32>,
    doubles: Vec<f64>,
}

/// serde_json on PingPong: encode and decode.
pub fn calibrate(rounds: u32, bar: &ProgressBar) -> Vec<Time> {
    let message = PingPong {
        id: 1,
        version: 2,
        message: "Random message - 1600000000000".to_owned(),
        is_important: true,
        names: ["John-0", "John-1", "John-2"].map(str::to_owned).to_vec(),
        ints: vec![1, 22, 333, 4444, 55555],
        doubles: vec![1.132314, 2.111111, 3.314155, 4.1231488, 5.12395832],
    };
    let text = serde_json::to_vec(&message).unwrap_or_default();
    let mut out = Vec::with_capacity(512);
    let mut race = Race::new(1);
    race.add("serde_json PingPong encode", || {
        out.clear();
        let written = serde_json::to_writer(&mut out, black_box(&message));
        written.map_or(0, |()| out.len() as u64)
    });
    race.add("serde_json PingPong decode", || {
        serde_json::from_slice::<PingPong>(black_box(&text)).map_or(0, |message| message.names.len() as u64)
    });
    race.run(rounds, bar)
}

/// Building, reading and converting both values.
pub fn measure(rounds: u32, bar: &ProgressBar) -> Vec<Time> {
    let (mut event, mut table) = (Vec::new(), Vec::new());
    build_event(&mut event);
    build_table(&mut table);
    let names = ORIGINAL_NS.map(|(name, _)| name);
    let [event_names @ .., _, _, _, _, _] = names;
    let [_, _, _, _, _, table_names @ ..] = names;
    let mut times = race(event_names, &event, build_event, rounds, bar);
    times.extend(race(table_names, &table, build_table, rounds, bar));
    times
}

fn race(names: [&'static str; 5], bytes: &[u8], build: fn(&mut Vec<u8>), rounds: u32, bar: &ProgressBar) -> Vec<Time> {
    let [name_build, name_view, name_envelope, name_encode, name_decode] = names;
    let limits = Limits::default();
    let value = Value::decode(bytes, &limits).unwrap_or(Value::None);
    let mut decoder = Decoder::new(limits);
    let mut enveloper = Decoder::new(limits);
    let mut race = Race::new(1);
    // Zeek Broker's benchmark reserves a buffer of 512 bytes for each value, so these do too.
    race.add(name_build, || {
        let mut out = Vec::with_capacity(512);
        build(black_box(&mut out));
        out.len() as u64
    });
    race.add(name_view, || decoder.decode(black_box(bytes)).map_or(0, |value| value.bytes().len() as u64));
    race.add(name_envelope, || {
        let envelope: Result<Envelope, _> = enveloper.envelope(black_box(TOPIC), black_box(bytes));
        envelope.map_or(0, |envelope| envelope.value().bytes().len() as u64)
    });
    race.add(name_encode, || {
        let mut out = Vec::with_capacity(512);
        black_box(&value).encode_into(&mut out);
        out.len() as u64
    });
    race.add(name_decode, || Value::decode(black_box(bytes), &limits).map_or(0, |_| bytes.len() as u64));
    race.run(rounds, bar)
}

fn build_event(out: &mut Vec<u8>) {
    build_event_of(out, 42, "test");
}

/// `[1, 1, ["event_1", [number, text]]]`, the first two counts, the number an integer.
#[inline]
pub fn build_event_of(out: &mut Vec<u8>, number: i64, text: &str) {
    let mut event = ListBuilder::new(out);
    event.add(1u64).add(1u64);
    let mut content = event.list();
    content.add("event_1");
    content.list().add(number).add(text);
}

/// `{"first-name": "John", "last-name": "Doe"}`.
fn build_table(out: &mut Vec<u8>) {
    TableBuilder::new(out).add("first-name", "John").add("last-name", "Doe");
}
