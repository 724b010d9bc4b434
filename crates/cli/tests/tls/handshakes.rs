//! Connections over TLS: certificates of clients, slow handshakes, the protocol within TLS.

use crate::certificates::Authority;
use crate::{broker, client, client_with, support, wire};
use rawline_client::ClientError;
use std::io::{Read, Write};
use support::{rawline, run};

#[tokio::test]
async fn a_broker_that_asks_for_certificates_serves_only_clients_that_have_one() {
    let (authority, clients, strangers) = (Authority::new(), Authority::new(), Authority::new());
    // A client with a certificate needs no key, also on an address that other machines reach.
    let flags = ["--tls-client-ca", clients.file.to_str().unwrap(), "--listen", "0.0.0.0:0"];
    let broker = broker(&authority, &flags);
    let url = format!("https://localhost:{}", broker.address.port());

    let known = client_with(&url, &authority, Some(&clients.issue(&["known"], |_| {})));
    assert_eq!(known.append_records("t", &[1], vec![7].into()).await.unwrap().first_offset, 0);
    assert_eq!(known.topics().await.unwrap().len(), 1);

    let stranger = strangers.issue(&["stranger"], |_| {});
    let cases =
        [(None, "asks for a client's certificate"), (Some(&stranger), "doesn't accept the client's certificate")];
    for (pair, words) in cases {
        let unknown = client_with(&url, &authority, pair);
        let appended = unknown.append_records("t", &[1], vec![7].into()).await.map(|_| ());
        let listed = unknown.topics().await.map(|_| ());
        for error in [appended.unwrap_err(), listed.unwrap_err()] {
            assert!(matches!(error, ClientError::Tls { .. }) && error.to_string().contains(words), "{error}");
        }
    }
    assert!(broker.wait_for_log("a TLS handshake failed").contains("tls-client-ca"));
    assert_eq!(known.topic("t").await.unwrap().next_offset, 1);
}

#[test]
fn the_command_line_presents_a_certificate() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let broker = broker(&authority, &["--tls-client-ca", clients.file.to_str().unwrap()]);
    let pair = clients.issue(&["client"], |_| {});
    let [ca, certificate, key] = [&authority.file, &pair.certificate, &pair.key].map(|path| path.to_str().unwrap());
    let flags = ["--ca", ca, "--client-cert", certificate, "--client-key", key];
    let produced = run(rawline(&broker.url(), &[&["produce", "t"][..], &flags].concat()), b"one\ntwo\n");
    assert!(produced.status.success(), "{}", String::from_utf8_lossy(&produced.stderr));
    // The same from the environment.
    let mut consume = rawline(&broker.url(), &["consume", "t"]);
    consume.env("RAWLINE_CA", ca).env("RAWLINE_CLIENT_CERT", certificate).env("RAWLINE_CLIENT_KEY", key);
    let consumed = run(consume, b"");
    assert_eq!(String::from_utf8_lossy(&consumed.stdout), "one\ntwo\n", "{consumed:?}");
}

#[tokio::test]
async fn handshakes_that_do_not_end_make_room_for_others() {
    let authority = Authority::new();
    let broker = broker(&authority, &[]);
    let hello = wire::client_hello();
    // More than there are places for handshakes: some send half of the beginning, some a whole one and nothing more.
    let stuck: Vec<_> = (0..150)
        .map(|number| {
            let mut stream = wire::plain(broker.address);
            stream.write_all(&hello[..if number % 2 == 0 { hello.len() / 2 } else { hello.len() }]).unwrap();
            stream
        })
        .collect();
    let client = client(&broker.url(), &authority);
    client.append_records("t", &[1], vec![7].into()).await.unwrap();
    drop(stuck);
}

#[test]
fn kafkas_protocol_is_spoken_over_tls() {
    let authority = Authority::new();
    let broker = broker(&authority, &["--kafka", "127.0.0.1:0"]);
    let mut stream = wire::tls(kafka_address(&broker.printed), &authority, &[]);
    // ApiVersions, version 0, of a client without a name.
    stream.write_all(&[0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff]).unwrap();
    let mut response = [0; 10];
    stream.read_exact(&mut response).unwrap();
    // The correlation id, and no error.
    assert_eq!(response[4..], [0, 0, 0, 7, 0, 0]);
}

/// The broker's printed address for Kafka's clients.
pub fn kafka_address(printed: &str) -> std::net::SocketAddr {
    let line = printed.lines().find_map(|line| line.split_once("listening for Kafka's clients on "));
    line.unwrap().1.trim().parse().unwrap()
}
