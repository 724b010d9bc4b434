//! A topic of measurements on a broker in this process, and its roll-ups read back.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, TimestampMillisecondType, UInt32Type, UInt64Type};
use bytes::Bytes;
use object_store::ObjectStoreExt;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rawline_avro::{Framing, Schema, SchemaStore, WriterId};
use rawline_client::{Client, ClientConfig};
use rawline_measure::layout::{DataFile, Layout, Tier};
use rawline_measure::{Aggregate, Options, Snapshot, Storage, WindowRow};
use rawline_series::MEASUREMENT_SCHEMA;
use rawline_server::http::HttpConfig;
use rawline_testkit::served::Served;
use rawline_testkit::stores::in_memory;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The measurement's schema, for messages without a frame.
pub fn bare_schema() -> Arc<SchemaStore> {
    let schemas = SchemaStore::default();
    schemas.add_as(WriterId::Known, &Arc::new(Schema::parse(MEASUREMENT_SCHEMA).unwrap())).unwrap();
    Arc::new(schemas)
}

/// A broker; ends with the value.
pub struct Broker {
    pub client: Client,
    _served: Served,
}

impl Broker {
    pub async fn start() -> Broker {
        Broker::on(in_memory()).await
    }

    pub async fn on(store: rawline_broker::store::Storage) -> Broker {
        let served = Served::on(store, HttpConfig::default(), 256 << 20).await;
        let client = Client::new(ClientConfig::new(served.url())).unwrap();
        Broker { client, _served: served }
    }

    /// Appends messages, in batches of that many.
    pub async fn append(&self, topic: &str, messages: &[Vec<u8>], batch_records: usize) {
        for messages in messages.chunks(batch_records) {
            let sizes: Vec<u32> = messages.iter().map(|message| message.len() as u32).collect();
            self.client.append_records(topic, &sizes, Bytes::from(messages.concat())).await.unwrap();
        }
    }

    pub fn options(&self, topic: &str, storage: &Storage) -> Options {
        let options = Options::new(self.client.clone(), topic, storage.clone(), bare_schema(), Framing::Bare, || 0);
        Options { threads: 2, series_max: 10_000, ..options }
    }
}

pub fn memory() -> Storage {
    Storage::new(Arc::new(object_store::memory::InMemory::new()), object_store::path::Path::default())
}

/// A measurement as it is sent.
#[derive(Debug, Clone)]
pub struct Sent {
    pub metric: String,
    pub tags: Vec<(String, String)>,
    pub time_ms: i64,
    pub value: f64,
}

impl Sent {
    pub fn message(&self) -> Vec<u8> {
        let mut message = Vec::new();
        put_string(&mut message, &self.metric);
        self.put_tags(&mut message);
        put_long(&mut message, self.time_ms);
        message.extend_from_slice(&self.value.to_le_bytes());
        message
    }

    pub fn put_tags(&self, message: &mut Vec<u8>) {
        if !self.tags.is_empty() {
            put_long(message, self.tags.len() as i64);
            for (key, value) in &self.tags {
                put_string(message, key);
                put_string(message, value);
            }
        }
        put_long(message, 0);
    }

    fn series(&self) -> Series {
        let mut tags = self.tags.clone();
        tags.sort();
        (self.metric.clone(), tags)
    }
}

pub fn put_long(message: &mut Vec<u8>, value: i64) {
    let mut left = (value << 1 ^ value >> 63).cast_unsigned();
    while left >= 0x80 {
        message.push(left as u8 | 0x80);
        left >>= 7;
    }
    message.push(left as u8);
}

pub fn put_string(message: &mut Vec<u8>, text: &str) {
    put_long(message, text.len() as i64);
    message.extend_from_slice(text.as_bytes());
}

/// Measurements of some series, with late ones, repeated times, NaN and infinity among them.
pub fn measurements(seed: u64, count: usize, series: usize) -> Vec<Sent> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..count)
        .map(|number| {
            let which = random.usize(0..series);
            let mut tags =
                vec![("host".to_owned(), format!("host-{}", which % 7)), ("id".to_owned(), which.to_string())];
            if random.bool() {
                tags.reverse();
            }
            // Sixteen seconds apart, at times late by hours.
            let late = if random.u32(0..50) == 0 { random.i64(0..7_200_000) } else { random.i64(0..3_000) };
            let value = match random.u32(0..100) {
                0 => f64::NAN,
                1 => f64::INFINITY,
                2 => -0.0,
                3 => 1e300,
                4..30 => 0.1,
                _ => (random.f64() - 0.3) * 10f64.powi(random.i32(-8..8)),
            };
            let time_ms = (1_600_000_000_000 + number as i64 * 16 - late) / 500 * 500;
            Sent { metric: format!("metric.{}", which % 3), tags, time_ms, value }
        })
        .collect()
}

pub fn messages(sent: &[Sent]) -> Vec<Vec<u8>> {
    sent.iter().map(Sent::message).collect()
}

type Series = (String, Vec<(String, String)>);

/// All that is known of a window, in a form that can be compared to the bit.
pub type Shown = (u64, u64, Vec<u8>, u64, u64, u64, i64, Vec<u8>);

fn shown(aggregate: &Aggregate) -> Shown {
    let (mut rest, mut sketch) = (Vec::new(), Vec::new());
    aggregate.sum.rest_into(&mut rest);
    aggregate.sketch.to_bytes(&mut sketch);
    let bits = |value: f64| if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
    (
        aggregate.count,
        bits(aggregate.sum.value()),
        rest,
        bits(aggregate.min),
        bits(aggregate.max),
        bits(aggregate.last),
        aggregate.last_time,
        sketch,
    )
}

/// Roll-ups by the series' names.
#[derive(Debug, Default, PartialEq)]
pub struct RolledUp {
    /// In the order of times; at the same time, of offsets.
    pub raw: BTreeMap<Series, Vec<(i64, u64)>>,
    pub minute: BTreeMap<(Series, i64), Shown>,
    pub hour: BTreeMap<(Series, i64), Shown>,
}

/// The expected roll-ups.
pub fn expected(sent: &[Sent]) -> RolledUp {
    let mut all = RolledUp::default();
    let mut windows: [BTreeMap<(Series, i64), Aggregate>; 2] = Default::default();
    for sent in sent {
        all.raw.entry(sent.series()).or_default().push((sent.time_ms, sent.value.to_bits()));
        for (windows, length) in windows.iter_mut().zip([60_000, 3_600_000]) {
            let window = sent.time_ms.div_euclid(length) * length;
            windows.entry((sent.series(), window)).or_default().add(sent.time_ms, sent.value);
        }
    }
    all.raw.values_mut().for_each(|samples| samples.sort_by_key(|(time_ms, _)| *time_ms));
    let [minute, hour] = windows.map(|windows| windows.iter().map(|(key, a)| (key.clone(), shown(a))).collect());
    RolledUp { minute, hour, ..all }
}

/// The actual roll-ups. Also checks that files match their description.
pub async fn rolled_up(storage: &Storage, topic: &str) -> RolledUp {
    let layout = Layout::new(&storage.prefix, topic);
    let snapshot = Snapshot::load(storage, &layout).await.unwrap();
    let mut offset = snapshot.start.unwrap_or_default();
    let mut series = Vec::new();
    for commit in &snapshot.commits {
        assert_eq!(commit.first_offset, offset);
        offset = commit.end_offset;
    }
    for file in snapshot.series() {
        for batch in read(storage, &layout, file).await {
            series.extend(read_series(&batch, series.len()));
        }
    }
    assert_eq!(series.len(), snapshot.series_end() as usize);
    let mut all = RolledUp::default();
    for file in snapshot.files(Tier::Raw, i64::MIN, i64::MAX) {
        let mut before = None;
        for batch in read(storage, &layout, file).await {
            let (ids, times) = (ids(&batch), times(&batch, "time"));
            let values = batch.column_by_name("value").unwrap().as_primitive::<Float64Type>();
            for ((&id, &time_ms), &value) in ids.iter().zip(times).zip(values.values()) {
                assert!(before.replace((id, time_ms)) <= Some((id, time_ms)), "sorted");
                assert!(file.time_min <= Some(time_ms) && file.time_max >= Some(time_ms));
                all.raw.entry(series[id as usize].clone()).or_default().push((time_ms, value.to_bits()));
            }
        }
    }
    all.raw.values_mut().for_each(|samples| samples.sort_by_key(|(time_ms, _)| *time_ms));
    for (tier, rows) in [(Tier::Minute, &mut all.minute), (Tier::Hour, &mut all.hour)] {
        let mut windows: BTreeMap<(u32, i64), Aggregate> = BTreeMap::new();
        for file in snapshot.files(tier, i64::MIN, i64::MAX) {
            let mut before = None;
            for batch in read(storage, &layout, file).await {
                for row in 0..batch.num_rows() {
                    let key = (ids(&batch)[row], times(&batch, "window")[row]);
                    assert!(before.replace(key) < Some(key), "sorted, one row a window");
                    assert!(file.time_min <= Some(key.1) && file.time_max >= Some(key.1));
                    assert!(windows.entry(key).or_default().add_row(&window_row(&batch, row)));
                }
            }
        }
        *rows = windows.iter().map(|((id, window), a)| ((series[*id as usize].clone(), *window), shown(a))).collect();
    }
    all
}

async fn read(storage: &Storage, layout: &Layout, file: &DataFile) -> Vec<RecordBatch> {
    let bytes = storage.store.get(&layout.file(file)).await.unwrap().bytes().await.unwrap();
    assert_eq!(bytes.len() as u64, file.bytes);
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap().build().unwrap();
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>() as u64, file.rows);
    batches
}

fn ids(batch: &RecordBatch) -> &[u32] {
    batch.column_by_name("series").unwrap().as_primitive::<UInt32Type>().values()
}

fn times<'a>(batch: &'a RecordBatch, column: &str) -> &'a [i64] {
    batch.column_by_name(column).unwrap().as_primitive::<TimestampMillisecondType>().values()
}

fn read_series(batch: &RecordBatch, first: usize) -> Vec<Series> {
    let metrics = batch.column_by_name("metric").unwrap().as_string::<i32>();
    let tags = batch.column_by_name("tags").unwrap().as_map();
    let (keys, values) = (tags.keys().as_string::<i32>(), tags.values().as_string::<i32>());
    (0..batch.num_rows())
        .map(|row| {
            assert_eq!(ids(batch)[row] as usize, first + row);
            let pairs = tags.value_offsets()[row] as usize..tags.value_offsets()[row + 1] as usize;
            let tags: Vec<_> = pairs.map(|i| (keys.value(i).to_owned(), values.value(i).to_owned())).collect();
            assert!(tags.is_sorted());
            (metrics.value(row).to_owned(), tags)
        })
        .collect()
}

fn window_row(batch: &RecordBatch, row: usize) -> WindowRow<'_> {
    let float = |name: &str| batch.column_by_name(name).unwrap().as_primitive::<Float64Type>().value(row);
    let binary = |name: &str| {
        let column = batch.column_by_name(name).unwrap().as_binary::<i32>();
        arrow_array::Array::is_valid(column, row).then(|| column.value(row))
    };
    let optional = |name: &str| {
        let column = batch.column_by_name(name).unwrap().as_primitive::<Float64Type>();
        arrow_array::Array::is_valid(column, row).then(|| column.value(row))
    };
    let last_time = times(batch, "last_time")[row];
    let first_times = batch.column_by_name("first_time").unwrap();
    let first_time = first_times.is_valid(row).then(|| times(batch, "first_time")[row]);
    WindowRow {
        count: batch.column_by_name("count").unwrap().as_primitive::<UInt64Type>().value(row),
        sum: float("sum"),
        sum_rest: binary("sum_rest"),
        min: float("min"),
        max: float("max"),
        last: float("last"),
        last_time,
        sketch: binary("sketch"),
        first: Some(optional("first").unwrap_or(float("last"))).zip(Some(first_time.unwrap_or(last_time))),
        reset_sum: optional("reset_sum"),
        last_number: optional("last_number").map(|last| (last, times(batch, "last_number_time")[row])),
    }
}
