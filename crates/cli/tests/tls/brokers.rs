//! Brokers on one bucket that speak TLS with each other.

use crate::certificates::{Authority, Pair};
use crate::{client_with, support, wire};
use rawline_client::{BrokerInfo, BrokerState, Client};
use rawline_testkit::s3_server::{Bucket, bucket};
use std::time::Duration;
use support::Broker;

/// A broker on the bucket with this certificate.
fn start(bucket: &Bucket, pair: &Pair, flags: &[&str]) -> Broker {
    let files = [pair.certificate.to_str().unwrap(), pair.key.to_str().unwrap()];
    let tls = ["--tls-cert", files[0], "--tls-key", files[1], "--batch-wait", "5ms"];
    support::broker_on(bucket, &[&tls, flags].concat())
}

/// Waits until a broker sees others as they should be; returns the address of the owner.
async fn sees(client: &Client, what: &str, is_right: impl Fn(&[BrokerInfo]) -> bool) -> String {
    let looking = async {
        loop {
            let brokers = client.brokers().await.unwrap();
            let owner = brokers.iter().find(|broker| broker.is_owner).and_then(|owner| owner.url.clone());
            match owner.filter(|_| is_right(&brokers)) {
                Some(owner) => return owner,
                None => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    };
    tokio::time::timeout(wire::DEADLINE, looking).await.expect(what)
}

async fn sees_both(client: &Client) -> String {
    let live = |broker: &BrokerInfo| broker.state == BrokerState::Live;
    sees(client, "two live brokers", |brokers| brokers.len() == 2 && brokers.iter().all(live)).await
}

/// Appends a record over plain bytes of HTTP; returns the response.
fn append(broker: &Broker, authority: &Authority) -> String {
    let request = "POST /records?topic-name=t HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                   content-type: application/octet-stream\r\ncontent-length: 4\r\n\r\nabc\n";
    let mut stream = wire::tls(broker.address, authority, &["http/1.1"]);
    let response = String::from_utf8(wire::exchange(&mut stream, request.as_bytes())).unwrap();
    assert!(response.starts_with("HTTP/1.1 201 "), "{response}");
    response
}

/// Whether a response is the owner's, by another broker.
fn is_forwarded(response: &str, owner: &Broker) -> bool {
    let header = format!("{}: {}", rawline_contract::header::OWNER, owner.url());
    response.lines().any(|line| line.eq_ignore_ascii_case(&header))
}

/// Two brokers that know each other, the owner first, each with its authority and its certificate.
async fn two(bucket: &Bucket) -> [(Broker, Authority, Pair); 2] {
    let [mut first, mut second] = [(); 2].map(|()| {
        // Neither trusts the authority of the other.
        let authority = Authority::new();
        let pair = authority.broker();
        (start(bucket, &pair, &[]), authority, pair)
    });
    let mut owners = Vec::new();
    for (broker, authority, _) in [&first, &second] {
        owners.push(sees_both(&client_with(&broker.url(), authority, None)).await);
    }
    assert_eq!(owners[0], owners[1], "the brokers disagree");
    if owners[0] == second.0.url() {
        std::mem::swap(&mut first, &mut second);
    }
    [first, second]
}

#[tokio::test(flavor = "multi_thread")]
async fn an_append_is_forwarded_over_tls_also_after_the_owners_certificate_has_changed() {
    let bucket = bucket().await;
    let [(owner, old, pair), (other, authority, other_pair)] = two(&bucket).await;
    assert!(is_forwarded(&append(&other, &authority), &owner));
    assert!(!is_forwarded(&append(&owner, &old), &owner));

    let new = Authority::new();
    for (pair, by) in [(&pair, new.broker()), (&other_pair, new.broker())] {
        std::fs::copy(by.key, &pair.key).unwrap();
        std::fs::copy(by.certificate, &pair.certificate).unwrap();
    }
    for broker in [&owner, &other] {
        broker.wait_for_log("new connections use the certificates that have changed");
    }
    // More at once than there are connections between the two.
    let responses: Vec<String> = std::thread::scope(|scope| {
        let appending: Vec<_> = (0..16).map(|_| scope.spawn(|| append(&other, &new))).collect();
        appending.into_iter().map(|appending| appending.join().unwrap()).collect()
    });
    for response in responses {
        assert!(is_forwarded(&response, &owner), "{response}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn brokers_that_want_certificates_of_clients_accept_each_other_by_their_cards() {
    let bucket = bucket().await;
    let (brokers, clients) = (Authority::new(), Authority::new());
    let flags = ["--tls-client-ca", clients.file.to_str().unwrap()];
    // Their certificates aren't signed by the authority of clients.
    let running = [(); 2].map(|()| start(&bucket, &brokers.broker(), &flags));
    let pair = clients.issue(&["client"], |_| {});
    let connect = |broker: &Broker| client_with(&broker.url(), &brokers, Some(&pair));
    let owners = [sees_both(&connect(&running[0])).await, sees_both(&connect(&running[1])).await];
    assert_eq!(owners[0], owners[1]);
    for broker in &running {
        connect(broker).append_records("t", &[1], vec![7].into()).await.unwrap();
        // A broker's certificate without a card isn't accepted as a client's.
        client_with(&broker.url(), &brokers, Some(&brokers.broker())).health().await.unwrap_err();
    }
    assert_eq!(connect(&running[0]).topic("t").await.unwrap().next_offset, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_sends_nothing_to_an_address_that_presents_another_certificate_than_the_card() {
    let bucket = bucket().await;
    let authority = Authority::new();
    let stranger = crate::broker(&authority, &[]);
    let first = start(&bucket, &authority.broker(), &["--advertise", &stranger.url()]);
    let second = start(&bucket, &authority.broker(), &[]);
    let line = second.wait_for_log("can't connect to another broker");
    assert!(line.contains("another certificate than its card") && line.contains(&stranger.url()), "{line}");
    let unreachable = |broker: &BrokerInfo| broker.state == BrokerState::Unreachable;
    let client = client_with(&second.url(), &authority, None);
    let owner = sees(&client, "one unreachable broker", |brokers| brokers.iter().any(unreachable)).await;
    assert_eq!(owner, second.url());
    assert!(!is_forwarded(&append(&second, &authority), &stranger));
    client_with(&stranger.url(), &authority, None).topic("t").await.unwrap_err();
    drop(first);
}

#[test]
fn an_address_for_other_brokers_has_the_scheme_that_the_broker_speaks() {
    let pair = Authority::new().broker();
    let files = [pair.certificate.to_str().unwrap(), pair.key.to_str().unwrap()];
    let refused = |flags: &[&str]| {
        let output = rawline_testkit::process::serve_command(support::RAWLINE, flags).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let encrypted = ["--tls-cert", files[0], "--tls-key", files[1], "--advertise", "http://broker:1"];
    assert!(refused(&encrypted).contains("give --advertise a URL with https://"));
    assert!(refused(&["--advertise", "https://broker:1"]).contains("give --advertise a URL with http://"));
}
