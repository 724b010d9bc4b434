//! Single requests: append, read, wait, and rejected requests.

use crate::{batch, client, read_all, support};
use bytes::Bytes;
use rawline_client::{
    Client, ClientConfig, ClientError, Codec, Fetched, Hours, Kind, Payload, ReadOptions, Settings, Trimmed,
};
use rawline_testkit::http;
use std::time::Duration;

#[tokio::test]
async fn batches_are_received_exactly_as_they_were_sent() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    client.health().await.unwrap();
    let mut sent = batch(Codec::Zstd, (0..100).map(|number| format!("record {number}")));
    sent.extend(batch(Codec::None, (100..105).map(|number| format!("record {number}"))));
    // Split at arbitrary positions.
    let pieces = sent.chunks(100).map(Bytes::copy_from_slice).collect();
    let appended = client.append("t", pieces).await.unwrap();
    assert_eq!((appended.first_offset, appended.next_offset), (0, 105));

    let fetched = client.read("t", &ReadOptions::default(), Fetched::default()).await.unwrap();
    assert_eq!(fetched.as_bytes(), sent);
    assert_eq!((fetched.first_offset(), fetched.topic_next_offset(), fetched.records_count()), (0, 105, 105));

    // Reuses the same memory. The offset is inside the compressed batch, which is returned whole.
    let place = fetched.as_bytes().as_ptr();
    let options = ReadOptions { offset: 42, ..ReadOptions::default() };
    let mut fetched = client.read("t", &options, fetched).await.unwrap();
    assert_eq!(fetched.as_bytes(), sent);
    assert_eq!(fetched.as_bytes().as_ptr(), place);
    assert_eq!((fetched.first_offset(), fetched.records_count()), (0, 63));
    let record = fetched.records().next_record().unwrap().unwrap().bytes.to_vec();
    assert_eq!(record, b"record 42");
}

#[tokio::test]
async fn records_are_appended_from_sizes_and_data() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    let appended = client.append_records("t", &[3, 0, 2], Bytes::from_static(b"onemo")).await.unwrap();
    assert_eq!((appended.first_offset, appended.next_offset), (0, 3));
    assert_eq!(read_all(&client, "t", 0).await, [b"one".to_vec(), vec![], b"mo".to_vec()]);

    let wrong = client.append_records("t", &[3], Bytes::from_static(b"four")).await.unwrap_err();
    assert!(matches!(wrong, ClientError::Batch(_)), "{wrong}");
    let nothing = client.append("t", vec![Bytes::new()]).await.unwrap_err();
    assert!(matches!(nothing, ClientError::Batch(_)), "{nothing}");
}

#[tokio::test]
async fn a_read_waits_for_new_records() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    client.set_payload("t", Payload::Bytes).await.unwrap();
    let mut options = ReadOptions { wait: Duration::from_millis(20), ..ReadOptions::default() };
    let fetched = client.read("t", &options, Fetched::default()).await.unwrap();
    assert!(fetched.is_empty());
    assert_eq!((fetched.topic_next_offset(), fetched.next_offset()), (0, 0));

    options.wait = Duration::from_secs(60);
    let read = tokio::spawn({
        let client = client.clone();
        async move { client.read("t", &options, fetched).await }
    });
    client.append_records("t", &[1], Bytes::from_static(b"x")).await.unwrap();
    let fetched = read.await.unwrap().unwrap();
    assert_eq!((fetched.records_count(), fetched.next_offset()), (1, 1));
}

#[tokio::test]
async fn topics_are_created_and_deleted() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    let settings = Settings { retain_hours: Some(Hours::new(0.5)), ..Settings::default() };
    let topic = client.create_topic("t", &settings).await.unwrap();
    assert_eq!((topic.retain_hours, topic.next_offset), (Hours::new(0.5), 0));
    let code = |error: ClientError| match error {
        ClientError::Refused { code, .. } => code,
        error => panic!("{error}"),
    };
    assert_eq!(code(client.create_topic("t", &settings).await.unwrap_err()), "topic_exists");
    client.append_records("t", &[1, 1], Bytes::from_static(b"ab")).await.unwrap();
    let waiting = tokio::spawn({
        let client = client.clone();
        let options = ReadOptions { offset: 2, wait: Duration::from_secs(60), ..ReadOptions::default() };
        async move { client.read("t", &options, Fetched::default()).await }
    });
    client.delete_topic("t").await.unwrap();
    assert_eq!(code(waiting.await.unwrap().unwrap_err()), "topic_not_found");
    assert_eq!(code(client.delete_topic("t").await.unwrap_err()), "topic_not_found");
    assert_eq!(client.append_records("t", &[1], Bytes::from_static(b"x")).await.unwrap().first_offset, 0);
    assert_eq!(client.topic("t").await.unwrap().retain_hours, None);
}

#[tokio::test]
async fn limits_are_set_and_records_trimmed() {
    let broker = support::broker(&[]);
    let client = client(&broker);
    client.append_records("t", &[1, 1, 1], Bytes::from_static(b"abc")).await.unwrap();
    let limits = Settings { retain_hours: Some(Hours::new(0.5)), ..Settings::default() };
    let topic = client.set_topic("t", &limits).await.unwrap();
    assert_eq!((topic.retain_hours, topic.retain_bytes), (Hours::new(0.5), None));
    assert_eq!(client.set_payload("t", Payload::Value).await.unwrap().retain_hours, Hours::new(0.5));
    let none = Settings { retain_hours: Some(None), ..Settings::default() };
    assert_eq!(client.set_topic("t", &none).await.unwrap().retain_hours, None);

    assert_eq!(client.trim("t", 2).await.unwrap(), Trimmed { first_offset: 2, next_offset: 3 });
    let above = client.trim("t", 4).await.unwrap_err();
    assert!(above.to_string().contains("next offset is 3") && above.kind() == Kind::FixRequest, "{above}");
    let options = ReadOptions { offset: 1, ..ReadOptions::default() };
    let deleted = client.read("t", &options, Fetched::default()).await.unwrap_err();
    assert!(deleted.to_string().contains("first offset 2"), "{deleted}");
    assert_eq!(read_all(&client, "t", 2).await, [b"c".to_vec()]);
}

#[tokio::test]
async fn rejected_requests_say_why() {
    let strict = support::broker(&["--no-create-topics"]);
    let missing = client(&strict).topic("t").await.unwrap_err();
    assert_eq!(
        (missing.status(), missing.code(), missing.kind()),
        (Some(404), Some("topic_not_found"), Kind::FixRequest)
    );

    let broker = support::broker(&[]);
    let client = client(&broker);
    let mut damaged = batch(Codec::None, ["x".to_owned()]);
    damaged[70] ^= 1;
    let refused = client.append("t", vec![Bytes::from(damaged)]).await.unwrap_err();
    assert_eq!(refused.status(), Some(400), "{refused}");
    assert!(!refused.is_retryable());
    // The client still works.
    client.topics().await.unwrap();
}

#[tokio::test]
async fn a_list_of_topics_is_read_page_by_page() {
    let topic = |name: &str| {
        format!(
            r#"{{"name":"{name}","first_offset":0,"next_offset":2,"partitions":1,"objects":1,"bytes":5,
                "latest_commit_at":null,"payload":"bytes","retain_hours":null,"retain_bytes":null}}"#
        )
    };
    let address = http::serve(move |request: http::Request| async move {
        let body = match request.target.as_str() {
            "/topics?limit=10000" => format!(r#"{{"topics":[{},{}],"next":"b"}}"#, topic("a"), topic("b")),
            "/topics?limit=10000&after=b" => format!(r#"{{"topics":[{}]}}"#, topic("c")),
            "/topics?limit=10000&prefix=c&after=b" => r#"{"topics":[]}"#.to_owned(),
            other => panic!("a request for {other}"),
        };
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
        format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
    })
    .await;
    let client = Client::new(ClientConfig::new(format!("http://{address}"))).unwrap();
    let names: Vec<_> = client.topics().await.unwrap().into_iter().map(|topic| topic.name).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(client.topics_page("c", Some("b")).await.unwrap().next, None);
}
