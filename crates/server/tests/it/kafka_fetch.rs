//! Fetch requests that wait, for few partitions or thousands: the events that wake them, and their responses.

use crate::support::kafka::{Client, batch, produce_body, produced, served};
use crate::support::kafka_fetch::{Fetch, Fetched};
use crate::support::wait_until;
use crate::{kafka_transactions as transactions, support::http};
use rawline_batch::record_batch::RecordCodec;
use rawline_kafka::messages::{CreatableTopic, CreateTopicsRequest, DeleteTopicsRequest};
use rawline_kafka::{Api, ErrorCode, Response};
use rawline_testkit::served::Served;
use std::time::Duration;
use tokio::io::AsyncWriteExt;

/// Longer than a test takes: a wake-up that is lost fails it.
const LONG_MS: i32 = 300_000;

async fn create(client: &mut Client, name: &str, partitions: i32) {
    let topic = CreatableTopic {
        name: name.to_owned(),
        num_partitions: partitions,
        replication_factor: -1,
        ..CreatableTopic::default()
    };
    let request = CreateTopicsRequest { topics: vec![topic], timeout_ms: 30_000, ..CreateTopicsRequest::default() };
    let Response::CreateTopics(created) = client.call(7, request).await else { panic!() };
    assert_eq!(created.topics[0].error_code, 0);
}

async fn append(server: &Served, topic: &str, partition: i32) {
    let target = format!("/records?topic-name={topic}&partition={partition}");
    let (status, ..) = http(server, "POST", &target, "content-type: application/octet-stream", b"record").await;
    assert_eq!(status, 201, "{topic}/{partition}");
}

async fn send(client: &mut Client, fetch: &Fetch<'_>) {
    let request = client.request(Api::Fetch.key(), 11, &fetch.body());
    client.stream.write_all(&request).await.unwrap();
}

async fn received(client: &mut Client) -> Fetched {
    let response = tokio::time::timeout(Duration::from_secs(60), client.response(false)).await;
    let Ok((correlation_id, body)) = response else { panic!("no response") };
    assert_eq!(correlation_id, client.correlation_id);
    Fetched::read(&body)
}

#[tokio::test]
async fn of_many_partitions_those_with_records_end_the_wait_however_they_are_ordered() {
    const PARTITIONS: i32 = 400;
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    create(&mut client, "a", PARTITIONS).await;
    create(&mut client, "b", PARTITIONS).await;
    let mut ends = vec![0; PARTITIONS as usize];
    for round in 0..40 {
        // As clients do: the order changes, and some partitions are left out for a while.
        let places = (0..PARTITIONS).map(|n| (n + round * 31) % PARTITIONS);
        let wanted: Vec<_> =
            places.filter(|n| round % 3 == 0 || n % 7 != round % 7).map(|n| (n, ends[n as usize])).collect();
        let all: Vec<_> = (0..PARTITIONS).map(|n| (n, 0)).collect();
        let topics = [("b", &all[..]), ("a", &wanted[..])];
        send(&mut client, &Fetch { wait_ms: LONG_MS, topics: &topics, ..Fetch::default() }).await;
        // Partitions that it doesn't ask for don't end the wait.
        let (left_out, chosen) = (round % 7, wanted[(round * 13 % 300) as usize].0);
        if round % 3 > 0 {
            append(&server, "a", left_out).await;
            ends[left_out as usize] += 1;
        }
        append(&server, "a", chosen).await;
        let found = received(&mut client).await;
        assert_eq!(found.partitions.len(), all.len() + wanted.len(), "round {round}");
        let with_records: Vec<_> = found.partitions.iter().filter(|found| found.records_bytes > 0).collect();
        assert_eq!(with_records.len(), 1, "round {round}: {with_records:?}");
        let found = with_records[0];
        ends[chosen as usize] += 1;
        assert_eq!((&found.topic[..], found.partition, found.error), ("a", chosen, 0), "round {round}");
        // The partitions that were left out have more than one unread record.
        assert!(found.next_offset >= ends[chosen as usize], "round {round}: {found:?}");
    }
}

#[tokio::test]
async fn a_wait_ends_with_nothing_when_its_time_is_over() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    create(&mut client, "a", 3).await;
    append(&server, "a", 1).await;
    for _ in 0..3 {
        let topics = [("a", &[(0, 0), (1, 1), (2, 0)][..])];
        send(&mut client, &Fetch { wait_ms: 20, topics: &topics, ..Fetch::default() }).await;
        let found = received(&mut client).await.partitions;
        let found: Vec<_> = found.iter().map(|found| (found.next_offset, found.records_bytes)).collect();
        assert_eq!(found, [(0, 0), (1, 0), (0, 0)]);
    }
}

/// Records found before the wait are in the response once, with those that arrived during it.
#[tokio::test]
async fn a_request_for_more_bytes_than_there_are_returns_what_comes_meanwhile_too() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    create(&mut client, "a", 4).await;
    // Of both kinds: those that are converted are read again.
    let records = batch(RecordCodec::None, 3, None);
    let body = client.exchange(Api::Produce, 3, &produce_body("a", -1, &records)).await;
    assert_eq!(produced(&body, "a"), (0, 0));
    append(&server, "a", 1).await;
    let topics = [("a", &[(0, 0), (1, 0), (2, 0), (3, 0)][..])];
    let fetch = Fetch { bytes_min: 1, wait_ms: LONG_MS, topics: &topics, ..Fetch::default() };
    send(&mut client, &fetch).await;
    let before = received(&mut client).await.partitions;
    let bytes = |found: &crate::support::kafka_fetch::Partition| found.records_bytes;
    let sum = before.iter().map(bytes).sum::<i32>();
    assert!(before[0].records_bytes == records.len() as i32 && sum > before[0].records_bytes, "{before:?}");
    send(&mut client, &Fetch { bytes_min: sum + before[1].records_bytes + 1, ..fetch }).await;
    append(&server, "a", 3).await;
    append(&server, "a", 1).await;
    let found = received(&mut client).await.partitions;
    assert_eq!(found.iter().map(|found| found.next_offset).collect::<Vec<_>>(), [3, 2, 0, 1]);
    let expected = [before[0].records_bytes, 2 * before[1].records_bytes, 0, before[1].records_bytes];
    assert_eq!(found.iter().map(bytes).collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn the_end_of_a_transaction_ends_the_wait_of_those_who_read_what_is_committed() {
    let (server, _dir) = served().await;
    let (mut producer, mut reader, mut dirty) =
        (Client::connect(&server).await, Client::connect(&server).await, Client::connect(&server).await);
    create(&mut producer, "t", 2).await;
    for committed in [true, false] {
        let (error, instance) = transactions::open(&mut producer, 5, 60_000).await;
        assert_eq!(error, 0);
        let offset = if committed { 0 } else { 4 };
        let topics = [("t", &[(1, 0), (0, offset)][..])];
        let fetch = Fetch { wait_ms: LONG_MS, topics: &topics, ..Fetch::default() };
        send(&mut dirty, &fetch).await;
        send(&mut reader, &Fetch { isolation: 1, ..fetch }).await;
        let records = transactions::transactional(instance, 0, 3);
        let version = transactions::FIRST_WITH_TRANSACTIONS;
        let name = Some(transactions::NAME);
        assert_eq!(transactions::produce(&mut producer, version, name, "t", &records).await, (0, offset));
        let found = received(&mut dirty).await.partitions;
        assert_eq!((found[1].next_offset, found[1].stable_offset), (offset + 3, offset), "{found:?}");
        // Readers of committed records keep waiting, and see the end at once.
        assert_eq!(transactions::end(&mut producer, 5, instance, committed).await.0, 0);
        let found = received(&mut reader).await.partitions;
        assert_eq!((found[1].next_offset, found[1].stable_offset), (offset + 4, offset + 4), "{found:?}");
        assert!(found[1].records_bytes > records.len() as i32 && found[0].records_bytes == 0, "{found:?}");
        let aborted = if committed { vec![] } else { vec![(instance.0, offset)] };
        assert_eq!(found[1].aborted, aborted);
    }
}

#[tokio::test]
async fn the_deletion_of_a_topic_ends_the_wait_and_another_topic_may_have_its_name() {
    let (server, _dir) = served().await;
    let (mut admin, mut client) = (Client::connect(&server).await, Client::connect(&server).await);
    create(&mut admin, "other", 1).await;
    for round in 0..3 {
        create(&mut admin, "t", 2).await;
        let topics = [("other", &[(0, 0)][..]), ("t", &[(0, 0), (1, 0)][..])];
        let fetch = Fetch { wait_ms: LONG_MS, topics: &topics, ..Fetch::default() };
        send(&mut client, &fetch).await;
        append(&server, "t", 1).await;
        let found = received(&mut client).await.partitions;
        let ends: Vec<_> = found.iter().map(|found| (found.error, found.next_offset)).collect();
        assert_eq!(ends, [(0, 0), (0, 0), (0, 1)], "round {round}");
        let topics = [("other", &[(0, 0)][..]), ("t", &[(0, 0), (1, 1)][..])];
        send(&mut client, &Fetch { topics: &topics, ..fetch }).await;
        let request = DeleteTopicsRequest {
            topic_names: vec!["t".to_owned()],
            timeout_ms: 30_000,
            ..DeleteTopicsRequest::default()
        };
        let Response::DeleteTopics(deleted) = admin.call(5, request).await else { panic!() };
        assert_eq!(deleted.responses[0].error_code, 0);
        let errors = |found: Fetched| found.partitions.iter().map(|found| found.error).collect::<Vec<_>>();
        let unknown = i16::from(ErrorCode::UnknownTopicOrPartition);
        // The first of the topic's partitions that is seen to be gone ends the wait.
        let found = errors(received(&mut client).await);
        assert!(found[0] == 0 && found[1..].contains(&unknown), "round {round}: {found:?}");
        send(&mut client, &Fetch { topics: &topics, ..fetch }).await;
        assert_eq!(errors(received(&mut client).await), [0, unknown, unknown], "round {round}");
    }
}

/// Requests that are larger than a connection's buffer are few at a time, unless they only wait.
#[tokio::test]
async fn large_requests_that_wait_keep_no_other_from_being_served() {
    const PARTITIONS: i32 = 1000;
    let (server, _dir) = served().await;
    let mut first = Client::connect(&server).await;
    create(&mut first, "t", PARTITIONS).await;
    let all: Vec<_> = (0..PARTITIONS).map(|n| (n, 0)).collect();
    let fetch = Fetch { wait_ms: LONG_MS, topics: &[("t", &all[..])], ..Fetch::default() };
    let mut waiting = Vec::new();
    for _ in 0..10 {
        let mut client = Client::connect(&server).await;
        send(&mut client, &fetch).await;
        waiting.push(client);
    }
    send(&mut first, &Fetch { wait_ms: 0, ..fetch }).await;
    assert_eq!(received(&mut first).await.partitions.len(), PARTITIONS as usize);
    append(&server, "t", 321).await;
    for client in &mut waiting {
        let found = received(client).await.partitions;
        let found: Vec<_> = found.iter().filter(|found| found.records_bytes > 0).map(|found| found.partition).collect();
        assert_eq!(found, [321]);
    }
}

#[tokio::test]
async fn a_client_that_has_closed_its_connection_is_waited_for_no_longer() {
    let (server, _dir) = served().await;
    let mut client = Client::connect(&server).await;
    create(&mut client, "t", 1).await;
    let fetch = Fetch { wait_ms: LONG_MS, topics: &[("t", &[(0, 0)][..])], ..Fetch::default() };
    send(&mut client, &fetch).await;
    client.stream.shutdown().await.unwrap();
    // It may have closed one side only.
    let found = received(&mut client).await.partitions;
    assert_eq!((found[0].error, found[0].next_offset), (0, 0));
    wait_until(|| server.pool.bytes_free() == server.pool.bytes()).await;
}
