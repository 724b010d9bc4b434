//! The Rust of `docs/clients.md`, as it stands there.

use crate::client;
use crate::support::broker;
use rawline_client::{
    Client, ClientError, Consumer, ConsumerConfig, Partitions, Producer, ProducerConfig, Settings, partition_of_key,
};

/// Appends records to a topic of four partitions by key, and reads all of them.
async fn logins(client: Client) -> Result<Vec<String>, ClientError> {
    let settings = Settings { partitions: Partitions::new(4), ..Settings::default() };
    client.create_topic("logins", &settings).await?;
    let producer = Producer::new(client.clone(), "logins", ProducerConfig::default())?;
    for user in ["ada", "grace", "ada"] {
        producer.send_with_key(user, format!("{user} logged in")).await?;
    }
    producer.close().await?;

    let mut lines = Vec::new();
    let mut consumer = Consumer::new(client, "logins", ConsumerConfig::default()).await?;
    while lines.len() < 3 {
        let Some(fetched) = consumer.next().await? else { break };
        let mut records = fetched.records();
        while let Some(record) = records.next_record()? {
            let text = String::from_utf8_lossy(record.bytes);
            lines.push(format!("{}/{}  {text}", record.partition, record.offset));
        }
    }
    Ok(lines)
}

#[tokio::test]
async fn the_documented_program_does_what_it_says() {
    let broker = broker(&[]);
    let mut lines = logins(client(&broker)).await.unwrap();
    lines.sort();
    let (ada, grace) = (partition_of_key(b"ada", 4), partition_of_key(b"grace", 4));
    assert_eq!((ada, grace), (1, 2));
    assert_eq!(lines, ["1/0  ada logged in", "1/1  ada logged in", "2/0  grace logged in"]);

    let page = include_str!("../../../../docs/clients.md");
    let source = include_str!("documented.rs");
    let (start, end) = (source.find("/// Appends").unwrap(), source.find("#[tokio::test]").unwrap());
    assert!(page.contains(&format!("```rust\n{}\n```", source[start..end].trim_end())), "docs/clients.md differs");
}
