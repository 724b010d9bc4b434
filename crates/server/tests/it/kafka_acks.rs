//! Produce with acks=0: there is no response, so a refusal closes the connection, after the responses before it.

use crate::support::kafka::{Client, batch, produce_body, produced, served_with};
use rawline_batch::record_batch::{RecordCodec, RecordProducer};
use rawline_broker::CommitThread;
use rawline_kafka::Api;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Sends a request with acks=1 for topic `t`, then `refused` with acks=0, and expects one response and the end.
async fn expect_closed(client: &mut Client, refused: &[u8]) {
    let good = produce_body("t", 1, &batch(RecordCodec::None, 1, None));
    let mut requests = client.request(Api::Produce.key(), 3, &good);
    let first = client.correlation_id;
    requests.extend(client.request(Api::Produce.key(), 3, refused));
    client.stream.write_all(&requests).await.unwrap();
    let (correlation_id, body) = client.response(false).await;
    assert_eq!((correlation_id, produced(&body, "t").0), (first, 0));
    let mut rest = Vec::new();
    // It may be reset.
    let _ = client.stream.read_to_end(&mut rest).await;
    assert_eq!(rest, [0; 0]);
}

#[tokio::test]
async fn a_refusal_of_records_without_acknowledgement_closes_the_connection() {
    for commit_thread in [None, Some(CommitThread::start().unwrap())] {
        let (server, _dir) = served_with(commit_thread).await;
        let mut client = Client::connect(&server).await;
        client.create("t").await;
        let good = batch(RecordCodec::None, 3, None);
        let mut damaged = good.clone();
        damaged[70] ^= 1;
        let mut old = good.clone();
        old[16] = 1;
        let producer = |base_sequence| Some(RecordProducer { id: 7, epoch: 0, base_sequence });
        let (known, gap) = (batch(RecordCodec::None, 3, producer(0)), batch(RecordCodec::None, 3, producer(9)));
        let body = client.exchange(Api::Produce, 3, &produce_body("t", 1, &known)).await;
        assert_eq!(produced(&body, "t").0, 0);
        for (topic, records) in
            [("none", &good), ("/", &good), ("t", &damaged), ("t", &old), ("t", &gap), ("t", &Vec::new())]
        {
            let mut client = Client::connect(&server).await;
            expect_closed(&mut client, &produce_body(topic, 0, records)).await;
        }
        // A stored append leaves the connection open.
        let request = client.request(Api::Produce.key(), 3, &produce_body("t", 0, &good));
        client.stream.write_all(&request).await.unwrap();
        let body = client.exchange(Api::Produce, 3, &produce_body("t", 1, &good)).await;
        assert_eq!(produced(&body, "t").0, 0);
        server.wait_for_buffers();
    }
}
