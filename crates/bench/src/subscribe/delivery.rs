//! From an append to its delivery: single records at a fixed rate, and one subscriber.

use super::messages::{Connection, Message, parse};
use crate::error::BenchError;
use crate::latency;
use crate::statistics::{Latency, new_histogram, record};
use crate::target::{Target, failed};
use crate::tasks::blocking;
use crate::topics::{self, topic_name};
use rawline_client::{Client, ClientConfig};
use serde::Serialize;
use std::time::{Duration, Instant};

/// Size of a record in bytes.
const RECORD_BYTES: u32 = 100;

/// Times from the same moment: when a record is sent.
#[derive(Debug, Serialize)]
pub(super) struct Delivery {
    pub append_us: Latency,
    pub delivery_us: Latency,
}

/// Appends records at a rate for some seconds.
pub(super) async fn measure(target: &Target, rate: u64, seconds: u64, run: u32) -> Result<Delivery, BenchError> {
    let topic = topic_name("delivery", run);
    topics::create(&target.client, std::slice::from_ref(&topic)).await?;
    let config = target.client.config().clone();
    let address = config.broker.trim_start_matches("http://").to_owned();
    let count = rate * seconds;
    let mut connection = Connection::websocket(&address, &format!("/subscribe?topic-name={topic}"))?;
    let Message::Text = connection.message()? else {
        return Err(BenchError::Failed("a subscription doesn't begin with a text message".to_owned()));
    };
    let arrivals = blocking(move || {
        let mut arrived = Vec::with_capacity(count as usize);
        while (arrived.len() as u64) < count {
            let Message::Binary(message) = connection.message()? else { continue };
            let now = Instant::now();
            let (_, end_offset, _) =
                parse(message).ok_or_else(|| BenchError::Failed("a message is too short".to_owned()))?;
            arrived.resize(end_offset as usize, now);
        }
        Ok(arrived)
    });
    let sends = blocking(move || send(config, &topic, count, Duration::from_secs(1) / rate as u32));
    let (arrived, sent) = tokio::try_join!(arrivals, sends)?;
    let (mut append, mut delivery) = (new_histogram(), new_histogram());
    for (arrived, (began, acknowledged)) in arrived.into_iter().zip(sent) {
        record(&mut append, acknowledged - began);
        record(&mut delivery, arrived.saturating_duration_since(began));
    }
    let delivery = Delivery { append_us: Latency::of(&append), delivery_us: Latency::of(&delivery) };
    delivery.append_us.print("append");
    delivery.delivery_us.print("append to delivery");
    Ok(delivery)
}

/// Sends one record after the other; returns when each was sent and acknowledged. One that isn't acknowledged when the
/// next is due delays that.
fn send(
    config: ClientConfig,
    topic: &str,
    count: u64,
    interval: Duration,
) -> Result<Vec<(Instant, Instant)>, BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| BenchError::Failed(format!("can't start a runtime: {error}")))?;
    let client = Client::new(config).map_err(|error| failed("starting the client", error))?;
    let mut times = Vec::with_capacity(count as usize);
    let mut due = Instant::now() + interval;
    for number in 0..count {
        latency::wait_until(due);
        let data = vec![number as u8; RECORD_BYTES as usize];
        let began = Instant::now();
        let place = runtime.block_on(client.append_records(topic, &[RECORD_BYTES], data.into()));
        let place = place.map_err(|error| failed("an append", error))?;
        if place.first_offset != number {
            return Err(BenchError::Failed(format!("record {number} is at offset {}", place.first_offset)));
        }
        times.push((began, Instant::now()));
        due = (due + interval).max(Instant::now());
    }
    Ok(times)
}
