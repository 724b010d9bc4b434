//! Batches whose records can't be read: clients report them, and continue after them.

use crate::{client, support};
use bytes::Bytes;
use rawline_batch::Limits;
use rawline_client::{ClientError, Consumer, ConsumerConfig, RecordBatchBuilder, RecordCodec};
use rawline_testkit::unreadable;
use serde_json::Value;
use support::run;

/// A batch with these values.
fn batch(values: &[&str]) -> Vec<u8> {
    let mut builder = RecordBatchBuilder::new(RecordCodec::None, Limits::default());
    values.iter().for_each(|value| builder.push(1, None, Some(value.as_bytes()), []).unwrap());
    builder.finish(None).unwrap().to_vec()
}

#[tokio::test]
async fn a_consumer_and_the_command_line_continue_after_records_that_cannot_be_read() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    let bad = unreadable::compressed();
    let mut sent = Vec::new();
    for (number, (_, bad)) in bad.iter().enumerate() {
        sent.extend([batch(&[&format!("before {number}")]), bad.clone()]);
    }
    sent.push(batch(&["the last"]));
    for batch in sent {
        client.append_record_batches("t", vec![Bytes::from(batch)]).await.unwrap();
    }
    let expected: Vec<String> =
        (0..bad.len()).map(|number| format!("before {number}")).chain(["the last".to_owned()]).collect();

    let mut consumer = Consumer::new(client, "t", ConsumerConfig::default()).await.unwrap();
    let (mut found, mut left_out) = (Vec::new(), 0);
    while found.last() != Some(&"the last".to_owned()) {
        let fetched = consumer.next().await.unwrap().unwrap();
        let mut records = fetched.records();
        loop {
            match records.next_record() {
                Ok(Some(record)) if record.bytes == b"v" => {}
                Ok(Some(record)) => found.push(String::from_utf8(record.bytes.to_vec()).unwrap()),
                Ok(None) => break,
                Err(ClientError::Unreadable { next_offset, .. }) => {
                    left_out += 1;
                    assert_eq!(next_offset, left_out * 3, "after each, whose batch has two offsets");
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert_eq!((&found, left_out), (&expected, bad.len() as u64));

    for args in [&["consume", "t", "--format", "json"][..], &["consume", "t", "--group", "g", "--format", "json"]] {
        let output = run(broker.rawline(args), b"");
        let (said, lines) = (String::from_utf8(output.stderr).unwrap(), String::from_utf8(output.stdout).unwrap());
        let records = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["record"].clone());
        let records: Vec<Value> = records.filter(|record| record != "v").collect();
        assert_eq!((output.status.code(), records), (Some(0), expected.iter().cloned().map(Value::from).collect()));
        assert_eq!(said.matches("can't be read").count(), bad.len(), "{said}");
    }
    // The group has everything.
    let rest = run(broker.rawline(&["consume", "t", "--group", "g"]), b"");
    assert_eq!(rest.stdout, b"");
}
