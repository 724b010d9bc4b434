//! Records over TLS: appended and read verbatim, small and large, and received by subscriptions.

use crate::certificates::Authority;
use crate::{broker, client, wire};
use rawline_batch::Codec;
use rawline_client::{Client, Delivered, Producer, ProducerConfig, Subscription, SubscriptionConfig};
use rawline_testkit::batches::{batch, records_of};

/// A batch of records of this size.
fn records(codec: Codec, count: usize, bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    let all: Vec<Vec<u8>> = (0..count)
        .map(|_| {
            let mut record = vec![0; bytes];
            random.fill(&mut record);
            record
        })
        .collect();
    batch(codec, &all)
}

/// All batches of a topic, as they are stored.
fn stored(address: std::net::SocketAddr, authority: &Authority, topic: &str, end: u64) -> Vec<u8> {
    let (mut all, mut offset) = (Vec::new(), 0);
    while offset < end {
        let request = format!(
            "GET /records?topic-name={topic}&offset={offset}&max-records=0 HTTP/1.1\r\nhost: localhost\r\n\
             accept: application/vnd.rawline.batch\r\nconnection: close\r\n\r\n"
        );
        let response = wire::exchange(&mut wire::tls(address, authority, &["h2", "http/1.1"]), request.as_bytes());
        let head_bytes = response.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        let (head, body) = response.split_at(head_bytes);
        let head = String::from_utf8(head.to_vec()).unwrap();
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        let header =
            |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).unwrap().parse::<u64>().unwrap();
        assert_eq!(header("content-length: "), body.len() as u64);
        assert_eq!(header("rawline-next-offset: "), end);
        // A response may have a part of the records: a busy broker returns those in the page cache.
        offset += records_of(body).len() as u64;
        all.extend_from_slice(body);
    }
    all
}

#[tokio::test]
async fn what_is_appended_over_tls_is_read_verbatim() {
    let authority = Authority::new();
    let broker = broker(&authority, &[]);
    let client = client(&broker.url(), &authority);
    let (mut sent, mut end) = (Vec::new(), 0);
    // Small ones, which the commit thread serves; longer ones than a record of TLS; longer ones than `sendfile` needs.
    let sizes = [(1, 1), (3, 100), (1, 20_000), (1, 100), (40, 50_000), (1, 10), (12, 1 << 20), (2, 7)];
    for (number, (count, bytes)) in sizes.into_iter().enumerate() {
        let codec = if number == 4 { Codec::Lz4 } else { Codec::None };
        let batch = records(codec, count, bytes, number as u64);
        client.append("t", vec![batch.clone().into()]).await.unwrap();
        sent.extend(batch);
        end += count as u64;
    }
    let received = stored(broker.address, &authority, "t", end);
    assert!(received == sent, "{} bytes for {}", received.len(), sent.len());
}

#[tokio::test]
async fn small_appends_in_flight_at_once_keep_their_order_over_tls() {
    let authority = Authority::new();
    let broker = broker(&authority, &[]);
    let client = client(&broker.url(), &authority);
    let appends = (0..60_u64).map(|number| {
        let client = client.clone();
        tokio::spawn(async move {
            client.append_records("t", &[8], number.to_le_bytes().to_vec().into()).await.unwrap().first_offset
        })
    });
    let appends: Vec<_> = appends.collect();
    for (number, append) in (0..).zip(appends) {
        assert_eq!(append.await.unwrap(), number);
    }
}

async fn produce(client: &Client, topic: &str, records: u64, bytes: usize) {
    let producer = Producer::new(client.clone(), topic, ProducerConfig::default()).unwrap();
    for number in 0..records {
        let mut record = vec![number as u8; bytes];
        record[..8].copy_from_slice(&number.to_le_bytes());
        producer.send(&record).await.unwrap();
    }
    producer.close().await.unwrap();
}

#[tokio::test]
async fn a_subscription_over_tls_receives_records_as_they_are_stored() {
    let authority = Authority::new();
    let broker = broker(&authority, &[]);
    let client = client(&broker.url(), &authority);
    let config = SubscriptionConfig::with_prefix("events.");
    let mut subscription = Subscription::new(client.clone(), config).await.unwrap();
    // Short messages, and messages that are longer than what TLS and the socket hold.
    for (topic, records, bytes) in [("events.small", 100, 20), ("events.large", 40, 300_000)] {
        produce(&client, topic, records, bytes).await;
        let mut next = 0;
        while next < records {
            let delivered = tokio::time::timeout(wire::DEADLINE, subscription.next()).await.expect("no message");
            let Delivered::Records(fetched) = delivered.unwrap() else { unreachable!("only records are delivered") };
            assert_eq!(fetched.topic(), topic);
            let mut all = fetched.records();
            while let Some(record) = all.next_record().unwrap() {
                assert_eq!((record.offset, record.bytes.len()), (next, bytes));
                assert_eq!(record.bytes[..8], next.to_le_bytes());
                assert!(record.bytes[8..].iter().all(|&byte| byte == next as u8));
                next += 1;
            }
        }
    }
}
