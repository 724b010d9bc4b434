//! Error messages of failing connections: they say what to do.

use crate::certificates::Authority;
use crate::handshakes::kafka_address;
use crate::{broker, broker_with, client, support, wire};
use rawline_client::ClientError;
use rawline_testkit::process::serve_command;
use std::io::Write;
use std::process::Command;

#[tokio::test]
async fn certificates_that_are_not_accepted_are_named_with_what_to_do() {
    let (authority, other) = (Authority::new(), Authority::new());
    let long_ago = |params: &mut rcgen::CertificateParams| params.not_after = rcgen::date_time_ymd(2001, 1, 1);
    let good = broker(&authority, &[]);
    let named = broker_with(&authority.issue(&["broker.example"], |_| {}), &[]);
    let expired = broker_with(&authority.issue(&["127.0.0.1"], long_ago), &[]);
    for (broker, trusted, words) in [
        (&good, &other, "issuer that isn't trusted; give the issuer's certificate as ca_file"),
        (&named, &authority, "broker.example"),
        (&named, &authority, "use a name of the certificate in the broker's address"),
        (&expired, &authority, "has expired; renew it"),
    ] {
        let error = client(&broker.url(), trusted).health().await.unwrap_err();
        assert!(matches!(error, ClientError::Tls { .. }) && error.to_string().contains(words), "{error}");
    }
}

#[tokio::test]
async fn the_wrong_scheme_is_named_on_both_sides() {
    let authority = Authority::new();
    let (encrypted, plain) =
        (broker(&authority, &["--kafka", "127.0.0.1:0"]), support::broker(&["--kafka", "127.0.0.1:0"]));

    let client_of_http = client(&encrypted.url().replace("https", "http"), &authority);
    let appended = client_of_http.append_records("t", &[1], vec![7].into()).await.map(|_| ());
    for error in [client_of_http.health().await.unwrap_err(), appended.unwrap_err()] {
        assert!(error.to_string().contains("this port speaks TLS; use https://"), "{error}");
    }
    encrypted.wait_for_log("HTTP without TLS; use https://");
    let response = wire::exchange(&mut wire::plain(encrypted.address), b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let response = String::from_utf8(response).unwrap();
    assert!(response.starts_with("HTTP/1.1 400 ") && response.contains("https://"), "{response}");

    let error = client(&plain.url().replace("http", "https"), &authority).health().await.unwrap_err();
    assert!(error.to_string().contains("use http:// in its address"), "{error}");
    assert!(plain.wait_for_log("begins a TLS handshake").contains("tls-cert"));

    wire::exchange(&mut wire::plain(kafka_address(&plain.printed)), &wire::client_hello());
    assert!(plain.wait_for_log("closed a Kafka client's connection").contains("tls-cert"));
}

#[test]
fn a_client_of_kafka_without_tls_is_named_in_the_log() {
    let broker = broker(&Authority::new(), &["--kafka", "127.0.0.1:0"]);
    let mut stream = wire::plain(kafka_address(&broker.printed));
    stream.write_all(&[0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff]).unwrap();
    let line = broker.wait_for_log("Kafka's protocol without TLS");
    assert!(line.contains("security.protocol"), "{line}");
}

/// What `rawline serve` prints and its exit code when it refuses to start.
fn refusal(flags: &[&str]) -> (Option<i32>, String) {
    let output = serve_command(support::RAWLINE, &[&["--storage", "memory:"], flags].concat()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn files_that_cannot_be_used_stop_the_start_and_are_named() {
    let authority = Authority::new();
    let (pair, other) = (authority.broker(), authority.broker());
    let [certificate, key, other_key] = [&pair.certificate, &pair.key, &other.key].map(|path| path.to_str().unwrap());
    for (certificate, key, words) in [
        ("/missing.pem", key, "cannot read \"/missing.pem\""),
        (key, key, "no certificate in PEM"),
        (certificate, certificate, "no private key in PEM"),
        (certificate, other_key, "cannot use the certificate"),
    ] {
        let (code, said) = refusal(&["--tls-cert", certificate, "--tls-key", key]);
        assert!(code == Some(1) && said.contains(words) && said.contains("--tls-cert"), "{code:?} {said}");
    }
    let (code, said) = refusal(&["--tls-cert", certificate]);
    assert!(code == Some(2) && said.contains("--tls-key"), "{code:?} {said}");
}

#[test]
fn keys_in_clear_text_are_warned_of() {
    let authority = Authority::new();
    let flags = ["--listen", "0.0.0.0:0", "--api-key", "secret"];
    assert!(support::broker(&flags).printed.contains("in clear text"));
    assert!(!broker(&authority, &flags).printed.contains("in clear text"));
    assert!(!support::broker(&flags[2..]).printed.contains("in clear text"));
}

#[test]
fn the_command_line_needs_both_files_of_a_client() {
    let mut command: Command = support::rawline("https://127.0.0.1:1", &["topics", "--client-cert", "x.pem"]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("--client-key"), "{said}");
}
