//! The Rust of `docs/clients.md`, as it stands there.

use crate::client;
use crate::support::broker;
use rawline_client::{
    Client, ClientError, Consumer, ConsumerConfig, Delivered, Partitions, Producer, ProducerConfig, Settings,
    Subscription, SubscriptionConfig, partition_of_key,
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

/// Receives the records of all topics whose names begin with sensors., as they are stored.
async fn sensors(client: Client) -> Result<Vec<String>, ClientError> {
    let config = SubscriptionConfig::with_prefix("sensors.");
    let mut subscription = Subscription::new(client.clone(), config).await?;
    for (topic, records) in
        [("sensors.attic", &["21.5 degrees"][..]), ("sensors.cellar", &["12.0 degrees", "12.1 degrees"])]
    {
        let producer = Producer::new(client.clone(), topic, ProducerConfig::default())?;
        for record in records {
            producer.send(record).await?;
        }
        producer.close().await?;
    }

    let mut lines = Vec::new();
    while lines.len() < 3 {
        // It can also say that records were skipped, or that a topic was deleted.
        let Delivered::Records(fetched) = subscription.next().await? else { continue };
        let topic = fetched.topic().to_owned();
        let mut records = fetched.records();
        while let Some(record) = records.next_record()? {
            lines.push(format!("{topic}/{}  {}", record.offset, String::from_utf8_lossy(record.bytes)));
        }
    }
    Ok(lines)
}

#[tokio::test]
async fn the_documented_subscription_does_what_it_says() {
    let broker = broker(&[]);
    let mut lines = sensors(client(&broker)).await.unwrap();
    lines.sort();
    assert_eq!(
        lines,
        ["sensors.attic/0  21.5 degrees", "sensors.cellar/0  12.0 degrees", "sensors.cellar/1  12.1 degrees"]
    );
    is_documented("/// Receives", "#[tokio::test]\nasync fn the_documented_subscription");
}

/// The documentation has the source from one text to another.
fn is_documented(start: &str, end: &str) {
    let (page, source) = (include_str!("../../../../docs/clients.md"), include_str!("documented.rs"));
    let (start, end) = (source.find(start).unwrap(), source.find(end).unwrap());
    assert!(page.contains(&format!("```rust\n{}\n```", source[start..end].trim_end())), "docs/clients.md differs");
}

#[tokio::test]
async fn the_documented_program_does_what_it_says() {
    let broker = broker(&[]);
    let mut lines = logins(client(&broker)).await.unwrap();
    lines.sort();
    let (ada, grace) = (partition_of_key(b"ada", 4), partition_of_key(b"grace", 4));
    assert_eq!((ada, grace), (1, 2));
    assert_eq!(lines, ["1/0  ada logged in", "1/1  ada logged in", "2/0  grace logged in"]);

    is_documented("/// Appends", "/// Receives");
}
