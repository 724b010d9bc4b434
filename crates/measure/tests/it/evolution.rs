//! A topic whose messages have several schemas, and schemas that come late.

use crate::pipeline::{run, snapshot};
use crate::topic::{Broker, Sent, expected, measurements, memory, messages, put_long, put_string, rolled_up};
use rawline_avro::{Framing, Schema, SchemaStore, WriterId};
use rawline_client::{Consumer, ConsumerConfig};
use rawline_measure::layout::Counts;
use rawline_measure::{Kind, MeasureError, Options, Pipeline, Refresh, Storage};
use rawline_series::MEASUREMENT_SCHEMA;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const LONGS: &str = r#"{"type": "record", "name": "Measurement", "fields": [
    {"name": "metric", "type": "string"}, {"name": "tags", "type": {"type": "map", "values": "string"}},
    {"name": "logtime", "type": "long"}, {"name": "value", "type": "long"}]}"#;

const LATER: &str = r#"{"type": "record", "name": "Sample", "fields": [
    {"name": "reading", "type": ["null", "double"], "aliases": ["value"]},
    {"name": "unit", "type": "string"},
    {"name": "logtime", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "labels", "type": {"type": "map", "values": "string"}, "aliases": ["tags"]},
    {"name": "metric", "type": "string"}]}"#;

/// The versions of the schema, oldest first.
fn versions() -> [Arc<Schema>; 3] {
    [LONGS, MEASUREMENT_SCHEMA, LATER].map(|json| Arc::new(Schema::parse(json).unwrap()))
}

fn store(schemas: &[Arc<Schema>]) -> Arc<SchemaStore> {
    let store = SchemaStore::default();
    schemas.iter().for_each(|schema| _ = store.add(schema).unwrap());
    Arc::new(store)
}

/// Measurements, those of the first version whole numbers, and their messages in the three versions by turns.
fn by_turns(seed: u64, count: usize) -> (Vec<Sent>, Vec<Vec<u8>>) {
    let schemas = versions();
    let mut sent = measurements(seed, count, 100);
    let messages = sent.iter_mut().enumerate().map(|(number, sent)| {
        let version = number % 3;
        let mut message = Vec::new();
        WriterId::Fingerprint(schemas[version].fingerprint()).write(&mut message);
        if version == 2 {
            put_long(&mut message, 1);
            message.extend_from_slice(&sent.value.to_le_bytes());
            put_string(&mut message, "ms");
            put_long(&mut message, sent.time_ms * 1_000 + 7);
            sent.put_tags(&mut message);
            put_string(&mut message, &sent.metric);
        } else if version == 1 {
            message.extend(sent.message());
        } else {
            sent.value = number as f64 - 50.0;
            let body = sent.message();
            message.extend_from_slice(&body[..body.len() - 8]);
            put_long(&mut message, number as i64 - 50);
        }
        message
    });
    let messages = messages.collect();
    (sent, messages)
}

fn options(broker: &Broker, topic: &str, storage: &Storage, schemas: Arc<SchemaStore>) -> Options {
    Options { schemas, framing: Framing::SingleObject, ..broker.options(topic, storage) }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_versions_by_turns_roll_up_as_one() {
    let broker = Broker::start().await;
    let (sent, mixed) = by_turns(21, 9_000);
    broker.append("mixed", &mixed, 700).await;
    broker.append("one", &messages(&sent), 700).await;
    let storage = memory();
    let mixed = Options { chunk_records: Some(2_000), ..options(&broker, "mixed", &storage, store(&versions())) };
    let summary = run(mixed).await.unwrap();
    assert_eq!(summary.counts, Counts { decoded: 9_000, ..Counts::default() });
    run(broker.options("one", &storage)).await.unwrap();
    let rolled_up_mixed = rolled_up(&storage, "mixed").await;
    assert_eq!(rolled_up_mixed, rolled_up(&storage, "one").await);
    assert_eq!(rolled_up_mixed, expected(&sent));
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_unknown_schemas_are_counted_and_named() {
    let broker = Broker::start().await;
    let (sent, mixed) = by_turns(22, 300);
    broker.append("t", &mixed, 70).await;
    let storage = memory();
    let [long, double, later] = versions();
    let known = store(&[long, double]);
    let summary = run(options(&broker, "t", &storage, known.clone())).await.unwrap();
    assert_eq!(summary.counts, Counts { decoded: 200, bad: 100, ..Counts::default() });
    let bad = &summary.bad[0];
    assert_eq!((bad.offset, bad.field.as_str()), (2, "schema"));
    let reason = format!("no schema with the fingerprint {:016x} is known", later.fingerprint());
    assert!(bad.reason.starts_with(&reason), "{}", bad.reason);
    let of_known: Vec<_> = (0..).zip(sent).filter(|(number, _)| number % 3 != 2).map(|(_, sent)| sent).collect();
    assert_eq!(rolled_up(&storage, "t").await, expected(&of_known));

    // Bare messages name none, so it must be known from the beginning.
    let bare = Options { framing: Framing::Bare, ..options(&broker, "t", &memory(), known) };
    let error = Pipeline::open(bare).await.err().unwrap();
    assert_eq!(error.kind(), Kind::FixRequest);
    assert!(error.to_string().contains("specify the writer's schema"), "{error}");
}

/// Reads schemas from a topic, and counts how often.
fn from_topic(broker: &Broker, schemas: &Arc<SchemaStore>, calls: &Arc<AtomicU64>) -> Refresh {
    let (client, schemas, calls) = (broker.client.clone(), schemas.clone(), calls.clone());
    Arc::new(move || {
        calls.fetch_add(1, Ordering::Relaxed);
        let (client, schemas) = (client.clone(), schemas.clone());
        Box::pin(async move {
            let end = match client.topic("schemas").await {
                Ok(topic) => topic.next_offset,
                Err(error) if error.code() == Some("topic_not_found") => return Ok(()),
                Err(error) => return Err(error.to_string()),
            };
            let config = ConsumerConfig { end_offset: Some(end), ..ConsumerConfig::default() };
            let mut consumer = Consumer::new(client, "schemas", config).await.map_err(|error| error.to_string())?;
            while let Some(fetched) = consumer.next().await.map_err(|error| error.to_string())? {
                let mut records = fetched.records();
                while let Some(record) = records.next_record().map_err(|error| error.to_string())? {
                    let schema = Schema::parse(std::str::from_utf8(record.bytes).unwrap()).unwrap();
                    schemas.add(&Arc::new(schema)).map_err(|error| error.to_string())?;
                }
            }
            Ok(())
        })
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_comes_late_is_asked_for_before_messages_are_given_up() {
    let broker = Broker::start().await;
    let (sent, mixed) = by_turns(23, 600);
    broker.append("t", &mixed[..300], 50).await;
    let directory = tempfile::tempdir().unwrap();
    let storage = Storage::open(directory.path().to_str().unwrap(), &[]).unwrap();
    let [long, double, later] = versions();
    let (known, calls) = (store(&[long]), Arc::new(AtomicU64::new(0)));
    let refresh = Some(from_topic(&broker, &known, &calls));
    let options = Options { refresh, chunk_records: Some(100), ..options(&broker, "t", &storage, known.clone()) };

    // The schemas can't be read: nothing is given up, and nothing committed that has messages of theirs.
    let failing: Refresh = Arc::new(|| Box::pin(async { Err("the log is away".to_owned()) }));
    let error = run(Options { refresh: Some(failing), ..options.clone() }).await.unwrap_err();
    assert!(matches!(error, MeasureError::Schemas { first_offset: 0, .. }), "{error}");
    assert_eq!(error.kind(), Kind::TryAgain);
    assert!(error.to_string().contains("schemas could not be read (the log is away)"), "{error}");
    assert!(snapshot(&storage, "t").await.commits.is_empty());

    // They can be read, but one is not there.
    broker.append("schemas", &[double.json().into()], 1).await;
    let elsewhere = memory();
    let summary = run(Options { storage: elsewhere.clone(), ..options.clone() }).await.unwrap();
    assert_eq!(summary.counts, Counts { decoded: 200, bad: 100, ..Counts::default() });
    assert!(calls.swap(0, Ordering::Relaxed) > 0);

    broker.append("schemas", &[later.json().into()], 1).await;
    let summary = run(options.clone()).await.unwrap();
    assert_eq!(summary.counts, Counts { decoded: 300, ..Counts::default() });
    assert!(summary.bad.is_empty() && calls.swap(0, Ordering::Relaxed) > 0);
    assert_eq!(rolled_up(&storage, "t").await, expected(&sent[..300]));

    // Known now, they are not asked for again.
    broker.append("t", &mixed[300..], 50).await;
    run(options).await.unwrap();
    assert_eq!(rolled_up(&storage, "t").await, expected(&sent));
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}
