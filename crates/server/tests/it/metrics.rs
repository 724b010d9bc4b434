//! What `/metrics` counts of Kafka's protocol, of subscriptions, and of quotas.

use crate::support::kafka::{Client, batch, produce_body, produced, served};
use crate::support::{http, wait_until_async};
use rawline_batch::record_batch::RecordCodec;
use rawline_kafka::Api;
use rawline_kafka::messages::{HeartbeatRequest, MetadataRequest};
use rawline_testkit::served::Served;

/// The value of a series; 0 if it isn't there.
async fn metric(server: &Served, series: &str) -> f64 {
    let (status, _, body) = http(server, "GET", "/metrics", "", b"").await;
    assert_eq!(status, 200);
    let text = String::from_utf8(body).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    value.map_or(0.0, |value| value.parse().unwrap())
}

#[tokio::test]
async fn requests_of_kafka_are_counted_with_their_errors_and_records() {
    let (server, _folder) = served().await;
    let mut client = Client::connect(&server).await;
    client.create("t").await;
    let records = batch(RecordCodec::None, 3, None);
    let body = produce_body("t", -1, &records);
    for _ in 0..6 {
        let response = client.exchange(Api::Produce, 3, &body).await;
        assert_eq!(produced(&response, "t").0, 0);
    }
    let nowhere = produce_body("nowhere//", -1, &records);
    assert_ne!(produced(&client.exchange(Api::Produce, 3, &nowhere).await, "nowhere//").0, 0);
    let fetched = client.fetch("t", 0, 1 << 20).await;
    assert_eq!(fetched.error, 0);
    client.call(3, HeartbeatRequest { group_id: "none".to_owned(), ..HeartbeatRequest::default() }).await;
    client.call(5, MetadataRequest::default()).await;
    let count = async |series: &str| metric(&server, series).await;
    assert_eq!(count("rawline_append_records_total{protocol=\"kafka\"}").await, 18.0);
    assert_eq!(count("rawline_append_bytes_total{protocol=\"kafka\"}").await, 6.0 * records.len() as f64);
    assert_eq!(count("rawline_append_seconds_count{protocol=\"kafka\"}").await, 7.0);
    assert_eq!(count("rawline_append_errors_total{protocol=\"kafka\"}").await, 1.0);
    assert_eq!(count("rawline_read_records_total{protocol=\"kafka\"}").await, 18.0);
    assert_eq!(count("rawline_read_bytes_total{protocol=\"kafka\"}").await, 6.0 * records.len() as f64);
    assert_eq!(count("rawline_kafka_requests_total{api=\"Produce\"}").await, 7.0);
    assert_eq!(count("rawline_kafka_requests_total{api=\"Metadata\"}").await, 2.0, "one creates the topic");
    assert_eq!(count("rawline_kafka_errors_total{api=\"Heartbeat\",error=\"UNKNOWN_MEMBER_ID\"}").await, 1.0);
    assert!(count("rawline_kafka_request_seconds_sum{api=\"Produce\"}").await > 0.0);
    assert_eq!(count("rawline_connections{protocol=\"kafka\"}").await, 1.0);
    drop(client);
    wait_until_async(async || count("rawline_connections{protocol=\"kafka\"}").await == 0.0).await;
    server.stop().await;
}
