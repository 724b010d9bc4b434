//! Roll-ups for tests, written straight in the layout: small pages and row groups, so that few rows show what is read.

use arrow_array::builder::{BinaryBuilder, MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{
    ArrayRef, Float64Array, MapArray, RecordBatch, StringArray, TimestampMillisecondArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, SchemaRef};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use rawline_measure::layout::{
    Commit, Counts, DataFile, Files, LAYOUT_VERSION, Layout, StartMark, Tier, raw_schema, series_schema, window_schema,
};
use rawline_measure::{Aggregate, Storage};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows in a page and in a row group of these files.
pub const PAGE_ROWS: usize = 64;
pub const ROW_GROUP_ROWS: usize = 512;

/// Metric, tags, time in milliseconds, value.
pub type Measurement<'a> = (&'a str, &'a [(&'a str, &'a str)], i64, f64);

/// A topic's roll-ups in the making.
pub struct Topic {
    pub storage: Storage,
    pub layout: Layout,
    series: Vec<(String, Vec<(String, String)>)>,
    offset: u64,
    commits: u64,
}

impl Topic {
    pub async fn new(name: &str) -> Topic {
        let storage = Storage::new(Arc::new(InMemory::new()), Path::from("some/prefix"));
        let layout = Layout::new(&storage.prefix, name);
        let mark = StartMark { version: LAYOUT_VERSION, first_offset: 0, epoch: 0 };
        put(&storage, &layout.start(), serde_json::to_vec(&mark).unwrap()).await;
        Topic { storage, layout, series: Vec::new(), offset: 0, commits: 0 }
    }

    pub async fn commit(&mut self, measurements: &[Measurement<'_>]) {
        let series_begin = self.series.len() as u32;
        let mut rows: Vec<(u32, i64, f64)> = Vec::new();
        for (metric, tags, time, value) in measurements {
            let mut tags: Vec<_> = tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            tags.sort();
            let name = ((*metric).to_owned(), tags);
            let known = self.series.iter().position(|series| *series == name);
            let id = known.unwrap_or_else(|| {
                self.series.push(name);
                self.series.len() - 1
            });
            rows.push((id as u32, *time, *value));
        }
        rows.sort_by_key(|row| (row.0, row.1));
        self.write(series_begin, &rows).await;
    }

    async fn write(&mut self, series_begin: u32, rows: &[(u32, i64, f64)]) {
        let mut files = Files::default();
        let new = &self.series[series_begin as usize..];
        if !new.is_empty() {
            let columns = series_columns(series_begin, new);
            files.series.push(self.put_file("series", rows.len(), series_schema(), columns, None).await);
        }
        let times: Vec<i64> = rows.iter().map(|row| row.1).collect();
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.0))),
            Arc::new(TimestampMillisecondArray::from(times.clone()).with_timezone("UTC")),
            Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.2))),
        ];
        files.raw.push(self.put_file("raw", rows.len(), raw_schema(), columns, Some(&times)).await);
        for tier in [Tier::Minute, Tier::Hour] {
            let window_ms = tier.window_ms().unwrap();
            let mut windows: BTreeMap<(u32, i64), Aggregate> = BTreeMap::new();
            for &(id, time, value) in rows {
                windows.entry((id, time.div_euclid(window_ms) * window_ms)).or_default().add(time, value);
            }
            let times: Vec<i64> = windows.keys().map(|key| key.1).collect();
            let columns = window_columns(&windows);
            let file = self.put_file(tier.name(), rows.len(), window_schema(), columns, Some(&times)).await;
            files.tier_mut(tier).push(file);
        }
        let count = rows.len() as u64;
        let commit = Commit {
            version: LAYOUT_VERSION,
            epoch: 0,
            first_offset: self.offset,
            end_offset: self.offset + count,
            sequence_begin: self.commits,
            sequence_end: self.commits + 1,
            series_begin,
            series_end: self.series.len() as u32,
            files,
            counts: Counts { decoded: count, ..Counts::default() },
        };
        put(&self.storage, &self.layout.commit(self.offset), serde_json::to_vec(&commit).unwrap()).await;
        self.offset += count;
        self.commits += 1;
    }

    async fn put_file(
        &self,
        folder: &str,
        records: usize,
        schema: SchemaRef,
        columns: Vec<ArrayRef>,
        times: Option<&[i64]>,
    ) -> DataFile {
        let (begin, end) = (self.offset, self.offset + records as u64);
        let rows = columns[0].len() as u64;
        let bytes = parquet_bytes(schema, columns);
        let file = DataFile {
            path: format!("{folder}/{begin:020}-{end:020}-0.parquet"),
            bytes: bytes.len() as u64,
            rows,
            time_min: times.and_then(|times| times.iter().min().copied()),
            time_max: times.and_then(|times| times.iter().max().copied()),
        };
        put(&self.storage, &self.layout.file(&file), bytes).await;
        file
    }
}

pub async fn put(storage: &Storage, path: &Path, bytes: Vec<u8>) {
    storage.store.put(path, PutPayload::from(bytes)).await.unwrap();
}

pub fn parquet_bytes(schema: SchemaRef, columns: Vec<ArrayRef>) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_write_batch_size(PAGE_ROWS)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, schema.clone(), Some(properties)).unwrap();
    writer.write(&RecordBatch::try_new(schema, columns).unwrap()).unwrap();
    writer.close().unwrap();
    bytes
}

fn series_columns(first: u32, series: &[(String, Vec<(String, String)>)]) -> Vec<ArrayRef> {
    let names = MapFieldNames { entry: "key_value".into(), key: "key".into(), value: "value".into() };
    let mut tags = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new())
        .with_values_field(arrow_schema::Field::new("value", DataType::Utf8, false));
    for (_, pairs) in series {
        for (key, value) in pairs {
            tags.keys().append_value(key);
            tags.values().append_value(value);
        }
        tags.append(true).unwrap();
    }
    // The builder makes no map whose keys are said to be sorted.
    let (_, offsets, entries, nulls, _) = tags.finish().into_parts();
    let DataType::Map(field, sorted) = series_schema().field(2).data_type().clone() else { unreachable!() };
    vec![
        Arc::new(UInt32Array::from_iter_values(first..first + series.len() as u32)),
        Arc::new(StringArray::from_iter_values(series.iter().map(|(metric, _)| metric))),
        Arc::new(MapArray::new(field, offsets, entries, nulls, sorted)),
    ]
}

/// The last number of a window and its time, where the last value is none.
fn last_number(window: &Aggregate) -> Option<(f64, i64)> {
    let counter = window.counter.unwrap();
    (window.last.is_nan() && !counter.last.is_nan()).then_some((counter.last, counter.last_time))
}

fn window_columns(windows: &BTreeMap<(u32, i64), Aggregate>) -> Vec<ArrayRef> {
    let times = |times: Vec<i64>| Arc::new(TimestampMillisecondArray::from(times).with_timezone("UTC"));
    let numbers = |of: &dyn Fn(&Aggregate) -> f64| Arc::new(Float64Array::from_iter_values(windows.values().map(of)));
    fn several<T>(window: &Aggregate, value: T) -> Option<T> {
        (window.count > 1).then_some(value)
    }
    let (mut rests, mut sketches) = (BinaryBuilder::new(), BinaryBuilder::new());
    for window in windows.values() {
        let (mut rest, mut sketch) = (Vec::new(), Vec::new());
        window.sum.rest_into(&mut rest);
        window.sketch.to_bytes(&mut sketch);
        rests.append_option((!rest.is_empty()).then_some(rest));
        let is_one_value = window.min == window.max && window.sketch.count() == window.count;
        sketches.append_option((!is_one_value).then_some(sketch));
    }
    vec![
        Arc::new(UInt32Array::from_iter_values(windows.keys().map(|key| key.0))),
        times(windows.keys().map(|key| key.1).collect()),
        Arc::new(UInt64Array::from_iter_values(windows.values().map(|window| window.count))),
        numbers(&|window| window.sum.value()),
        Arc::new(rests.finish()),
        numbers(&|window| window.min),
        numbers(&|window| window.max),
        numbers(&|window| window.last),
        times(windows.values().map(|window| window.last_time).collect()),
        Arc::new(sketches.finish()),
        Arc::new(Float64Array::from_iter(
            windows.values().map(|window| several(window, window.counter.unwrap().first)),
        )),
        Arc::new(
            TimestampMillisecondArray::from_iter(
                windows.values().map(|window| several(window, window.counter.unwrap().first_time)),
            )
            .with_timezone("UTC"),
        ),
        Arc::new(Float64Array::from_iter(windows.values().map(|window| {
            let reset_sum = window.counter.unwrap().reset_sum;
            (reset_sum != 0.0).then_some(reset_sum)
        }))),
        Arc::new(Float64Array::from_iter(windows.values().map(|window| last_number(window).map(|number| number.0)))),
        Arc::new(
            TimestampMillisecondArray::from_iter(
                windows.values().map(|window| last_number(window).map(|number| number.1)),
            )
            .with_timezone("UTC"),
        ),
    ]
}
