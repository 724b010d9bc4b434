//! Nanoseconds a message, ours beside `apache-avro` and `serde_avro_fast`: `cargo run --release --example decode`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use rawline_avro::{Limits, Plan, RowBuffer, Schema};
use serde::Deserialize;

const SCHEMA: &str = include_str!("../../../vectors/avro/measurement.avsc");
const MESSAGE: &str = include_str!("../../../vectors/avro/measurement.hex");

#[derive(Deserialize)]
#[serde(rename = "Measurement")]
struct Owned {
    metric: String,
    tags: HashMap<String, String>,
    logtime: i64,
    value: i64,
}

#[derive(Deserialize)]
struct Borrowed<'a> {
    metric: &'a str,
    #[serde(borrow)]
    tags: HashMap<&'a str, &'a str>,
    logtime: i64,
    value: i64,
}

#[derive(Deserialize)]
struct Pairs<'a> {
    metric: &'a str,
    #[serde(borrow, deserialize_with = "pairs")]
    tags: Vec<(&'a str, &'a str)>,
    logtime: i64,
    value: i64,
}

fn pairs<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<(&'de str, &'de str)>, D::Error> {
    struct Visitor;
    impl<'de> serde::de::Visitor<'de> for Visitor {
        type Value = Vec<(&'de str, &'de str)>;
        fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            out.write_str("a map")
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut pairs = Vec::with_capacity(8);
            while let Some(pair) = map.next_entry()? {
                pairs.push(pair);
            }
            Ok(pairs)
        }
    }
    deserializer.deserialize_map(Visitor)
}

fn main() {
    let message: Vec<u8> = MESSAGE
        .trim()
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect();
    let message = message.as_slice();
    let schema = Arc::new(Schema::parse(SCHEMA).unwrap());
    let plan = Plan::same(&schema, Limits::default()).unwrap();
    let mut buffer = RowBuffer::new();
    println!("{:<60} {:>8}", "operation", "ns");
    let row = time("rawline: row", || plan.row(&mut buffer, black_box(message)).unwrap().at(3).unwrap().as_long());
    time("rawline: row, all fields and tags visited", || {
        let row = plan.row(&mut buffer, black_box(message)).unwrap();
        let tags: usize =
            row.at(1).unwrap().entries().map(|(key, value)| key.len() + value.as_str().unwrap().len()).sum();
        tags as i64 + row.at(2).unwrap().as_long().unwrap() + row.at(0).unwrap().as_str().unwrap().len() as i64
    });
    let ours = time("rawline: struct(&str, Vec<(&str, &str)>)", || {
        let it: Pairs = plan.read(&mut buffer, black_box(message)).unwrap();
        it.tags.len() as i64 + it.metric.len() as i64 + it.logtime + it.value
    });
    let ours_map = time("rawline: struct(&str, HashMap<&str, &str>)", || {
        let it: Borrowed = plan.read(&mut buffer, black_box(message)).unwrap();
        it.tags.len() as i64 + it.metric.len() as i64 + it.logtime + it.value
    });
    let ours_owned = time("rawline: struct(String, HashMap<String, String>)", || {
        let it: Owned = plan.read(&mut buffer, black_box(message)).unwrap();
        it.tags.len() as i64 + it.metric.len() as i64 + it.logtime + it.value
    });

    let fast: serde_avro_fast::Schema = SCHEMA.parse().unwrap();
    let theirs = time("serde_avro_fast: struct(&str, Vec<(&str, &str)>)", || {
        let it: Pairs = serde_avro_fast::from_datum_slice(black_box(message), &fast).unwrap();
        it.tags.len() as i64 + it.metric.len() as i64 + it.logtime + it.value
    });
    let theirs_map = time("serde_avro_fast: struct(&str, HashMap<&str, &str>)", || {
        let it: Borrowed = serde_avro_fast::from_datum_slice(black_box(message), &fast).unwrap();
        it.tags.len() as i64 + it.metric.len() as i64 + it.logtime + it.value
    });
    let theirs_owned = time("serde_avro_fast: struct(String, HashMap<String, String>)", || {
        let it: Owned = serde_avro_fast::from_datum_slice(black_box(message), &fast).unwrap();
        it.tags.len() as i64 + it.metric.len() as i64 + it.logtime + it.value
    });

    let apache = apache_avro::Schema::parse_str(SCHEMA).unwrap();
    let reader = apache_avro::reader::datum::GenericDatumReader::builder(&apache).build().unwrap();
    let value = time("apache-avro: Value, reader reused", || {
        let value = reader.read_value(&mut black_box(message)).unwrap();
        i64::from(matches!(value, apache_avro::types::Value::Record(_)))
    });
    let apache_owned = time("apache-avro: struct(String, HashMap<String, String>)", || {
        let it: Owned = reader.read_deser(&mut black_box(message)).unwrap();
        it.tags.len() as i64 + it.metric.len() as i64 + it.logtime + it.value
    });
    println!("apache-avro's Value : our row = {:.1}", value / row);
    println!("apache-avro : ours, owned struct = {:.1}", apache_owned / ours_owned);
    println!(
        "serde_avro_fast : ours = {:.1} pairs, {:.1} map, {:.1} owned; its best : our row = {:.1}",
        theirs / ours,
        theirs_map / ours_map,
        theirs_owned / ours_owned,
        theirs / row
    );
}

/// The median of 11 samples.
fn time<T: std::fmt::Debug>(name: &str, mut run: impl FnMut() -> T) -> f64 {
    const ROUNDS: u32 = 200_000;
    let mut samples: Vec<f64> = (0..12)
        .map(|_| {
            let begin = Instant::now();
            for _ in 0..ROUNDS {
                black_box(run());
            }
            begin.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
        })
        .skip(1)
        .collect();
    samples.sort_by(f64::total_cmp);
    println!("{name:<60} {:>8.1}", samples[5]);
    samples[5]
}
