//! Responses that no broker sends are errors; clients use the time of their environment.

use crate::{batch, client, support};
use bytes::Bytes;
use rawline_client::{Client, ClientConfig, ClientError, Codec, Environment, Fetched, ReadOptions, RetryPolicy};
use std::io::{Read, Write};
use std::sync::Arc;
use std::thread::JoinHandle;

/// A client of a server that responds to one request with `head` and `body`.
fn answered(head: &str, body: &[u8]) -> (Client, JoinHandle<()>) {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", server.local_addr().unwrap());
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n{head}\r\n", body.len());
    let response = [head.as_bytes(), body].concat();
    let served = std::thread::spawn(move || {
        let (mut connection, _) = server.accept().unwrap();
        let mut request = [0; 4096];
        assert!(connection.read(&mut request).unwrap() > 0);
        connection.write_all(&response).unwrap();
    });
    (Client::new(ClientConfig::new(url)).unwrap().with_retries(RetryPolicy::NONE), served)
}

#[tokio::test]
async fn an_answer_that_skips_records_is_refused() {
    for (first_offset, offset, reason) in [
        (5, 3, "records 5..6 for offset 3"),
        (5, 6, "records 5..6 for offset 6"),
        // Records after the greatest possible offset.
        (u64::MAX, u64::MAX, "for offset 18446744073709551615"),
    ] {
        let head = format!("rawline-first-offset: {first_offset}\r\nrawline-next-offset: 6\r\n");
        let (client, served) = answered(&head, &batch(Codec::None, ["x".to_owned()]));
        let options = ReadOptions { offset, ..ReadOptions::default() };
        let error = client.read("t", &options, Fetched::default()).await.unwrap_err();
        assert!(matches!(error, ClientError::Answer { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
        served.join().unwrap();
    }
}

#[tokio::test]
async fn a_response_for_other_records_than_were_sent_is_refused() {
    for body in [r#"{"first_offset":3,"next_offset":5}"#, r#"{"first_offset":5,"next_offset":5}"#] {
        let (client, served) = answered("", body.as_bytes());
        let error = client.append_records("t", &[1], Bytes::from_static(b"x")).await.unwrap_err();
        assert!(matches!(error, ClientError::Answer { .. }), "{error}");
        served.join().unwrap();
    }
}

#[tokio::test]
async fn a_deletion_whose_response_was_lost_is_done_if_the_topic_is_gone() {
    let body = r#"{"code":"topic_not_found","error":"topic \"t\" does not exist"}"#;
    let gone = format!("HTTP/1.1 404 Not Found\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    for lost in [0, 1, 2] {
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", server.local_addr().unwrap());
        let gone = gone.clone();
        let served = std::thread::spawn(move || {
            for number in 0..=lost {
                let (mut connection, _) = server.accept().unwrap();
                let mut request = [0; 4096];
                assert!(connection.read(&mut request).unwrap() > 0);
                assert!(request.starts_with(b"DELETE /topic?topic-name=t HTTP/1.1"));
                if number == lost {
                    connection.write_all(gone.as_bytes()).unwrap();
                }
            }
        });
        let deleted = Client::new(ClientConfig::new(url)).unwrap().delete_topic("t").await;
        let is_expected = match &deleted {
            Ok(()) => lost > 0,
            Err(ClientError::Refused { code, .. }) => lost == 0 && code == "topic_not_found",
            Err(_) => false,
        };
        assert!(is_expected, "{lost} lost: {deleted:?}");
        served.join().unwrap();
    }
}

#[tokio::test]
async fn a_batch_has_the_time_of_the_environment() {
    struct Noon;
    impl Environment for Noon {
        fn now_us(&self) -> u64 {
            12_000_000
        }

        fn fraction(&self) -> f64 {
            0.0
        }
    }
    let broker = support::broker(&[]);
    let noon = Client::with_environment(ClientConfig::new(broker.url()), Arc::new(Noon)).unwrap();
    noon.append_records("t", &[1], Bytes::from_static(b"x")).await.unwrap();
    let mut fetched = client(&broker).read("t", &ReadOptions::default(), Fetched::default()).await.unwrap();
    assert_eq!(fetched.records().next_record().unwrap().unwrap().created_us, 12_000_000);
}
