//! Certificates that change while the broker runs.

use crate::certificates::{Authority, Pair};
use crate::{broker_with, client, wire};
use rawline_client::Client;
use std::time::Duration;

fn replace(pair: &Pair, by: &Pair) {
    std::fs::copy(&by.key, &pair.key).unwrap();
    std::fs::copy(&by.certificate, &pair.certificate).unwrap();
}

async fn wait_until_trusted(client: &Client) {
    let trusted = async {
        while client.health().await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(wire::DEADLINE, trusted).await.expect("the new certificate was never used");
}

#[tokio::test]
async fn new_certificates_are_used_without_a_restart_and_bad_ones_are_not() {
    let (old, new) = (Authority::new(), Authority::new());
    let pair = old.broker();
    let broker = broker_with(&pair, &[]);
    let before = client(&broker.url(), &old);
    before.health().await.unwrap();

    // The certificate of one pair, the key of another.
    std::fs::copy(&new.broker().certificate, &pair.certificate).unwrap();
    let line = broker.wait_for_log("the previous ones are in force");
    assert!(line.contains("cannot use the certificate in"), "{line}");
    client(&broker.url(), &old).health().await.unwrap();
    std::fs::write(&pair.key, "nothing").unwrap();
    broker.wait_for_log("has no private key in PEM");
    client(&broker.url(), &old).health().await.unwrap();

    replace(&pair, &new.broker());
    wait_until_trusted(&client(&broker.url(), &new)).await;
    broker.wait_for_log("new connections use the certificates that have changed");
    client(&broker.url(), &old).health().await.unwrap_err();
    // An open connection continues.
    before.health().await.unwrap();
}

#[tokio::test]
async fn an_authority_of_clients_that_is_replaced_does_not_let_the_old_ones_in() {
    let (authority, old, new) = (Authority::new(), Authority::new(), Authority::new());
    let pair = authority.broker();
    let file = old.file.to_str().unwrap();
    let broker = broker_with(&pair, &["--tls-client-ca", file]);
    let connect =
        |clients: &Authority| crate::client_with(&broker.url(), &authority, Some(&clients.issue(&["client"], |_| {})));
    connect(&old).health().await.unwrap();
    connect(&new).health().await.unwrap_err();
    std::fs::copy(&new.file, &old.file).unwrap();
    wait_until_trusted(&connect(&new)).await;
    connect(&old).health().await.unwrap_err();
}
