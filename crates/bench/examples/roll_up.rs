//! Measures how many measurements a second are rolled up: from columns to Parquet, and from a topic to commits.
//!
//! ```text
//! cargo run --release -p rawline-bench --features roll-up --example roll_up -- \
//!     [MEASUREMENTS] [SERIES] [MEMORY_MIB] [DIRECTORY]
//! ```
//!
//! The broker runs in this process on DIRECTORY (by default a temporary one) and shares its cores with the roll-up.

// A measurement, on an idle machine.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout, clippy::disallowed_methods)]

use bytes::Bytes;
use rawline_avro::{Framing, Schema, SchemaStore, WriterId};
use rawline_broker::pool::Pool;
use rawline_broker::store::disk::{self, Durability};
use rawline_broker::{Broker, Config, SystemClock};
use rawline_client::{Client, ClientConfig};
use rawline_measure::{Options, Pipeline, Storage, roll_up_columns};
use rawline_series::{Columns, MEASUREMENT_SCHEMA};
use rawline_server::http::{HttpConfig, serve};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Rows of the columns of one read.
const PIECE_ROWS: usize = 50_000;
/// Rounds of each measurement; the best counts, because memory is cold in the first.
const ROUNDS: usize = 3;

struct Data {
    count: usize,
    series: usize,
}

impl Data {
    /// Zipf-like series, about ten seconds apart; values with two decimals.
    fn each(&self, mut each: impl FnMut(u32, i64, f64)) {
        let mut random = fastrand::Rng::with_seed(1);
        for number in 0..self.count {
            let series = ((self.series as f64).powf(random.f64()) as u32 - 1).min(self.series as u32 - 1);
            let time_ms = 1_600_000_000_000 + (number / self.series) as i64 * 10_000 + random.i64(0..1000);
            each(series, time_ms, (random.f64() * 10_000.0).round() / 100.0);
        }
    }

    fn columns(&self) -> Vec<Columns> {
        let mut pieces = vec![Columns::default()];
        self.each(|series, time_ms, value| {
            if pieces.last().unwrap().len() == PIECE_ROWS {
                pieces.push(Columns::default());
            }
            let piece = pieces.last_mut().unwrap();
            piece.series.push(series);
            piece.time_ms.push(time_ms);
            piece.value.push(value);
        });
        pieces
    }

    async fn append(&self, client: &Client) {
        let identities: Vec<Vec<u8>> = (0..self.series).map(identity).collect();
        let (mut sizes, mut data) = (Vec::new(), Vec::new());
        let mut batches = Vec::new();
        self.each(|series, time_ms, value| {
            let begin = data.len();
            data.extend_from_slice(&identities[series as usize]);
            put_long(&mut data, time_ms);
            data.extend_from_slice(&value.to_le_bytes());
            sizes.push((data.len() - begin) as u32);
            if sizes.len() == 10_000 {
                batches.push((std::mem::take(&mut sizes), Bytes::from(std::mem::take(&mut data))));
            }
        });
        batches.push((sizes, Bytes::from(data)));
        for (sizes, data) in batches.into_iter().filter(|(sizes, _)| !sizes.is_empty()) {
            client.append_records("t", &sizes, data).await.unwrap();
        }
    }
}

/// The article's measurement: a metric and five tags.
fn identity(series: usize) -> Vec<u8> {
    let mut message = Vec::new();
    let mut put = |text: &str| {
        message.push((text.len() * 2) as u8);
        message.extend_from_slice(text.as_bytes());
    };
    put(&format!("metric.{}", series % 50));
    put("");
    message.pop();
    let mut message_tags = Vec::new();
    message_tags.push(10);
    for (key, value) in [("tag1", series % 10), ("tag4", series % 100), ("tag5", 5), ("tag2", series), ("tag3", 3)] {
        for text in [key.to_owned(), format!("value{value}")] {
            message_tags.push((text.len() * 2) as u8);
            message_tags.extend_from_slice(text.as_bytes());
        }
    }
    message_tags.push(0);
    message.extend(message_tags);
    message
}

fn put_long(message: &mut Vec<u8>, value: i64) {
    let mut left = (value << 1 ^ value >> 63).cast_unsigned();
    while left >= 0x80 {
        message.push(left as u8 | 0x80);
        left >>= 7;
    }
    message.push(left as u8);
}

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1);
    let count = args.next().map_or(10_000_000, |text| text.parse().unwrap());
    let series = args.next().map_or(10_000, |text| text.parse().unwrap());
    let temporary = tempfile::tempdir().unwrap();
    let memory_bytes = args.next().map_or(512, |text| text.parse::<u64>().unwrap()) << 20;
    let directory = args.next().map_or(temporary.path().to_owned(), Into::into);
    let data = Data { count, series };
    let threads = std::thread::available_parallelism().unwrap().get();
    println!("{count} measurements, {series} series, {threads} threads");
    let columns = data.columns();
    for threads in [1, threads] {
        let mut best = f64::MAX;
        let mut bytes = [0; 3];
        for _ in 0..ROUNDS {
            let columns = columns.clone();
            let begin = Instant::now();
            bytes = roll_up_columns(columns, series as u32, threads).unwrap();
            best = best.min(begin.elapsed().as_secs_f64());
        }
        let each = bytes.map(|bytes| bytes as f64 / count as f64);
        let rate = count as f64 / best / 1e6;
        println!(
            "columns to Parquet, one chunk, {threads} threads: {rate:.2} M/s; bytes each: raw {:.2}, minute {:.2}, \
             hour {:.2}",
            each[0], each[1], each[2]
        );
    }
    drop(columns);
    from_topic(&data, &directory, memory_bytes).await;
}

async fn from_topic(data: &Data, directory: &Path, memory_bytes: u64) {
    let clock = Arc::new(SystemClock);
    let store = disk::open(directory, Durability::PageCache).unwrap();
    let broker = Arc::new(Broker::open(store, clock.clone(), Config::new(1)).await.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client::new(ClientConfig::new(format!("http://{}", listener.local_addr().unwrap()))).unwrap();
    let (_stop, stopped) = watch::channel(false);
    tokio::spawn(serve(listener, broker, Pool::new(512 << 20), clock, HttpConfig::default(), stopped));
    let begin = Instant::now();
    data.append(&client).await;
    println!("created and appended in {:.1} s", begin.elapsed().as_secs_f64());
    for round in 0..ROUNDS {
        let storage = Storage::open(directory.join(format!("rolled-up-{round}")).to_str().unwrap(), &[]).unwrap();
        let schemas = Arc::new(SchemaStore::default());
        schemas.add_as(WriterId::Known, &Arc::new(Schema::parse(MEASUREMENT_SCHEMA).unwrap())).unwrap();
        let options = Options::new(client.clone(), "t", storage, schemas, Framing::Bare, || 0);
        let options = Options { memory_bytes, ..options };
        let pipeline = Pipeline::open(options).await.unwrap();
        let before = cpu_seconds();
        let begin = Instant::now();
        // The memory of the roll-up and the broker during the run.
        let memory_before_kb = status_kb("RssAnon");
        let mut memory_kb = memory_before_kb;
        let report = |_: &_| memory_kb = memory_kb.max(status_kb("RssAnon"));
        let summary = pipeline.run(report, std::future::pending()).await.unwrap();
        let seconds = begin.elapsed().as_secs_f64();
        assert_eq!(summary.counts.decoded, data.count as u64);
        println!(
            "topic to commits, round {round}: {:.2} M/s, {} commits, {:.0} ns of CPU each, up to {} MB more memory",
            data.count as f64 / seconds / 1e6,
            summary.commits,
            (cpu_seconds() - before) / data.count as f64 * 1e9,
            (memory_kb - memory_before_kb) / 1024
        );
    }
}

fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    // Fields 14 and 15 of proc(5), in hundredths of a second.
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}

fn status_kb(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
