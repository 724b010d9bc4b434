//! Million measurements a second that one thread decodes into columns: our series ids and Arrow, and arrow-avro's.
//!
//! ```text
//! cargo run --release -p rawline-bench --features roll-up --example measurements
//! ```
//!
//! Medians of seven rounds. The laboratory (`make lab`) measures structs and rows of other Avro libraries.

// A measurement, on an idle machine.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout, clippy::disallowed_methods)]

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_avro::reader::{Decoder, DecoderMode, ReaderBuilder};
use arrow_avro::schema::{AvroSchema, FingerprintAlgorithm, SchemaStore};
use fastrand::Rng;
use rawline_avro::{ColumnDecoder, Limits, Plan, Schema, StringAs, WriterId};
use rawline_series::{Columns, Interner, MeasurementDecoder, SeriesLimits, SeriesTable, Shape, ValueType};
use std::hint::black_box;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of messages passed to the decoder of series ids at once, like a fetched batch.
const BATCH_MESSAGES: usize = 4096;
/// Number of rows in an Arrow batch.
const ROWS: usize = 1024;
const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(100);
const SEED: u64 = 42;

const SCHEMA: &str = r#"{"type": "record", "name": "Measurement", "fields": [
    {"name": "metric", "type": "string"},
    {"name": "tags", "type": {"type": "map", "values": "string"}},
    {"name": "logtime", "type": "long"},
    {"name": "value", "type": "long"}]}"#;

/// Decodes a batch. Returns the number of good messages and the sum of their values.
type Decode = Box<dyn FnMut(&mut dyn Iterator<Item = &[u8]>) -> (u64, f64)>;

fn main() {
    for (name, messages) in [
        ("one series", Messages::article(65_536)),
        ("10,000 series, Zipf-distributed", Messages::zipf(10_000, 500_000)),
        ("1,000,000 series, equally frequent", Messages::uniform(1_000_000, 2_000_000)),
    ] {
        println!("{name}: {} messages of {:.0} bytes", messages.places.len(), messages.bytes_each());
        let strings = SeriesLimits::for_series(messages.series.max(1000)).strings;
        let dictionary = StringAs::Dictionary(Arc::new(Interner::new(strings, SEED).unwrap()));
        let mut checks = Vec::new();
        for (name, batch, mut decode) in [
            ("rawline, series ids", BATCH_MESSAGES, series_ids(messages.series)),
            ("rawline, Arrow, Utf8", ROWS, own_columns(StringAs::Utf8)),
            ("arrow-avro, Utf8", ROWS, arrow_columns(false)),
            ("rawline, Arrow, Utf8View", ROWS, own_columns(StringAs::Utf8View)),
            ("arrow-avro, Utf8View", ROWS, arrow_columns(true)),
            ("rawline, Arrow, shared dictionary", ROWS, own_columns(dictionary)),
        ] {
            let (good, check) = messages.decode(batch, &mut decode);
            assert_eq!(good as usize, messages.places.len(), "{name} decodes every message");
            let mut rates: Vec<f64> = (0..ROUNDS)
                .map(|_| {
                    let (start, mut good) = (Instant::now(), 0);
                    while start.elapsed() < ROUND {
                        good += messages.decode(batch, &mut decode).0;
                    }
                    good as f64 / start.elapsed().as_secs_f64() / 1e6
                })
                .collect();
            rates.sort_by(f64::total_cmp);
            println!("  {name:<36} {:>8.2} million/s   check {check}", rates[ROUNDS / 2]);
            checks.push(check);
        }
        // The last digits depend on the batches, since each batch is added up alone.
        let same = |check: &f64| (check - checks[0]).abs() <= checks[0] * 1e-12;
        assert!(checks.iter().all(same), "all decoders read the same values: {checks:?}");
    }
}

fn series_ids(series: u32) -> Decode {
    let table = Arc::new(SeriesTable::new(SeriesLimits::for_series(series.max(1000)), SEED).unwrap());
    let shape = Shape { frame: WriterId::Known, value: ValueType::Long };
    let (mut decoder, mut out) = (MeasurementDecoder::new(shape, table), Columns::default());
    Box::new(move |messages| {
        out.clear();
        let counts = decoder.decode(messages, &mut out);
        (counts.rows, out.value.iter().sum())
    })
}

fn own_columns(strings: StringAs) -> Decode {
    let plan = Plan::same(&Arc::new(Schema::parse(SCHEMA).unwrap()), Limits::default()).unwrap();
    let mut decoder = ColumnDecoder::new(Arc::new(plan), strings).unwrap();
    Box::new(move |messages| {
        let rows = decoder.append_batch(messages).rows;
        (rows, sum_of(&decoder.finish()))
    })
}

fn arrow_columns(view: bool) -> Decode {
    let mut decoder = arrow(view);
    Box::new(move |messages| {
        for message in messages {
            assert_eq!(decoder.decode(message).unwrap(), message.len());
        }
        let batch = decoder.flush().unwrap().unwrap();
        (batch.num_rows() as u64, sum_of(&batch))
    })
}

fn arrow(view: bool) -> Decoder {
    let mut store = SchemaStore::new_with_type(FingerprintAlgorithm::Rabin);
    let fingerprint = store.register(AvroSchema::new(SCHEMA.to_owned())).unwrap();
    let reader = ReaderBuilder::new()
        .with_writer_schema_store(store)
        .with_active_fingerprint(fingerprint)
        .with_decoder_mode(DecoderMode::UnframedDatum)
        .with_batch_size(ROWS)
        .with_utf8_view(view);
    reader.build_decoder().unwrap()
}

fn sum_of(batch: &RecordBatch) -> f64 {
    let column = black_box(batch).column_by_name("value").unwrap().as_primitive::<Int64Type>();
    column.values().iter().map(|value| *value as f64).sum()
}

/// Messages, one after the other in memory, the same in every run.
struct Messages {
    data: Vec<u8>,
    /// Where each message is. Places may repeat.
    places: Vec<Range<usize>>,
    series: u32,
}

impl Messages {
    fn bytes_each(&self) -> f64 {
        self.places.iter().map(|place| place.len() as f64).sum::<f64>() / self.places.len() as f64
    }

    fn decode(&self, batch: usize, decode: &mut Decode) -> (u64, f64) {
        self.places.chunks(batch).fold((0, 0.0), |(good, sum), places| {
            let (more, values) = decode(&mut places.iter().map(|place| &self.data[place.clone()]));
            (good + more, sum + values)
        })
    }

    /// The message of Agoda's benchmark of its decoder (AvroDeserialize, ab858a0), repeated: 81 bytes, five tags.
    fn article(count: usize) -> Self {
        let mut data = Vec::new();
        text(&mut data, "metric.name");
        long(&mut data, 5);
        for n in [1, 4, 5, 2, 3] {
            text(&mut data, &format!("tag{n}"));
            text(&mut data, &format!("value{n}"));
        }
        data.push(0);
        long(&mut data, 1_600_000_000_000);
        long(&mut data, 1);
        let places = vec![0..data.len(); count];
        Self { data, places, series: 1 }
    }

    /// Messages of `series` series with five tags each, drawn with a probability of 1 / rank.
    fn zipf(series: u32, count: usize) -> Self {
        let mut sum = 0.0;
        let sums: Vec<f64> = (1..=series)
            .map(|rank| {
                sum += 1.0 / f64::from(rank);
                sum
            })
            .collect();
        Self::drawn(series, count, |random| {
            let drawn = random.f64() * sum;
            (sums.partition_point(|sum| *sum < drawn) as u32).min(series - 1)
        })
    }

    /// Messages of `series` series with five tags each, all equally probable, so that caches don't help.
    fn uniform(series: u32, count: usize) -> Self {
        Self::drawn(series, count, |random| random.u32(..series))
    }

    fn drawn(series: u32, count: usize, mut draw: impl FnMut(&mut Rng) -> u32) -> Self {
        let mut random = Rng::with_seed(SEED);
        let mut ranks: Vec<u32> = (0..series).collect();
        random.shuffle(&mut ranks);
        let (mut data, mut places) = (Vec::with_capacity(count * 112), Vec::with_capacity(count));
        let mut time_ms = 1_600_000_000_000;
        for _ in 0..count {
            let begin = data.len();
            identity(&mut data, ranks[draw(&mut random) as usize]);
            time_ms += random.i64(0..20);
            long(&mut data, time_ms - random.i64(0..60_000));
            // One to six bytes, each length equally often.
            let bits = random.u32(1..41);
            long(&mut data, random.i64(0..1 << bits));
            places.push(begin..data.len());
        }
        Self { data, places, series }
    }
}

const METRICS: [&str; 8] = [
    "http.server.requests",
    "cpu.usage",
    "jvm.gc.pause",
    "db.pool.active",
    "cache.hit.ratio",
    "kafka.consumer.lag",
    "disk.read.bytes",
    "booking.created",
];
const CENTERS: [&str; 4] = ["sgp", "hkg", "ams", "ash"];
const SERVICES: [&str; 6] = ["search", "booking-api", "pricing", "content", "payment-gw", "mobile-bff"];

/// Metric and tags of series `n`. The order of the tags is one of 120, as in a hash map, and the same for each message
/// of a series.
fn identity(data: &mut Vec<u8>, n: u32) {
    let center = CENTERS[n as usize / 8 % CENTERS.len()];
    let server = format!("{center}-{:05}", n / 32);
    let version = format!("{}.{}.0", n % 9, n % 30);
    let mut tags = [
        ("server", server.as_str()),
        ("dc", center),
        ("service", SERVICES[n as usize / 32 % SERVICES.len()]),
        ("env", if n.is_multiple_of(17) { "staging" } else { "prod" }),
        ("version", &version),
    ];
    Rng::with_seed(SEED ^ u64::from(n) << 8).shuffle(&mut tags);
    text(data, METRICS[n as usize % METRICS.len()]);
    long(data, tags.len() as i64);
    for (key, value) in tags {
        text(data, key);
        text(data, value);
    }
    data.push(0);
}

fn text(data: &mut Vec<u8>, text: &str) {
    long(data, text.len() as i64);
    data.extend_from_slice(text.as_bytes());
}

fn long(data: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while rest >= 0x80 {
        data.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    data.push(rest as u8);
}
