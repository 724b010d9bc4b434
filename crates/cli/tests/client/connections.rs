//! Connections are reused, replaced when they break, and bounded in number.

use crate::proxy::Proxy;
use crate::{client, support};
use bytes::Bytes;
use rawline_client::{Client, ClientConfig, RetryPolicy};
use std::sync::Arc;
use std::time::Duration;

#[tokio::test]
async fn a_client_outlives_its_connections() {
    let mut broker = support::broker(&[]);
    let client = client(&broker).with_retries(RetryPolicy::NONE);
    client.append_records("t", &[1], Bytes::from_static(b"x")).await.unwrap();
    client.topic("t").await.unwrap();
    broker.kill();
    let error = client.topic("t").await.unwrap_err();
    assert!(error.is_retryable() && error.to_string().contains("rawline serve"), "{error}");
    broker.start_again();
    assert_eq!(client.topic("t").await.unwrap().next_offset, 1);
}

#[tokio::test]
async fn many_tasks_take_turns_on_their_connections() {
    const TASKS: usize = 32;
    let broker = support::broker(&[]);
    client(&broker).append_records("t", &[1], Bytes::from_static(b"x")).await.unwrap();
    let proxy = Proxy::start(broker.address).await;
    let mut config = ClientConfig::new(proxy.url());
    config.connections_idle_max = 4;
    let client = Client::new(config).unwrap();
    let together = Arc::new(tokio::sync::Barrier::new(TASKS));
    let tasks = (0..TASKS).map(|_| {
        let (client, together) = (client.clone(), together.clone());
        tokio::spawn(async move {
            for _ in 0..20 {
                together.wait().await;
                assert_eq!(client.topic("t").await.unwrap().next_offset, 1);
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    // Some tasks open two connections if the machine pauses for a second.
    let opened = proxy.opened();
    assert!(opened <= 2 * TASKS, "{opened} connections for {TASKS} tasks");
    while proxy.open() > 4 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    client.topic("t").await.unwrap();
}
