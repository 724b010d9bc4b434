//! Many subscribers get a topic from its first record to its last.

use super::Filled;
use super::events::Counter;
use super::messages::{Connection, Message, parse};
use crate::data::check_value;
use crate::error::BenchError;
use crate::target::{Target, failed};
use crate::tasks::blocking;
use rawline_batch::{Batch, Limits};
use rawline_client::{Fetched, ReadOptions};
use serde::Serialize;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// The total amounts.
#[derive(Debug, Serialize)]
pub(super) struct CatchUp {
    clients: u32,
    records: u64,
    bytes: u64,
    seconds: f64,
    /// The same for each client.
    check: u64,
    /// The same records by requests, for comparison.
    pub read: Option<Box<CatchUp>>,
}

impl CatchUp {
    pub fn bytes_per_second(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }

    pub fn records_per_second(&self) -> f64 {
        self.records as f64 / self.seconds
    }

    fn print(&self, what: &str) {
        println!(
            "  {what:<28} {:>8.1} MB/s, {:>9.0} records/s, {} clients, {:.2} s, check {:016x}",
            self.bytes_per_second() / 1e6,
            self.records_per_second(),
            self.clients,
            self.seconds,
            self.check
        );
    }
}

/// By binary messages, and by requests.
pub(super) async fn binary(target: &Target, filled: &Filled, clients: u32) -> Result<CatchUp, BenchError> {
    let subscribed = subscribed(target, filled, clients, binary_client).await?;
    subscribed.print("binary messages");
    let read = read(target, filled, clients).await?;
    read.print("requests, sequential");
    println!(
        "  {:<28} {:.0} %",
        "messages by requests",
        subscribed.bytes_per_second() / read.bytes_per_second() * 100.0
    );
    if subscribed.check != read.check {
        return Err(BenchError::Failed("subscribers and readers got different records".to_owned()));
    }
    Ok(CatchUp { read: Some(Box::new(read)), ..subscribed })
}

/// As server-sent events.
pub(super) async fn events(target: &Target, filled: &Filled, clients: u32) -> Result<CatchUp, BenchError> {
    let moved = subscribed(target, filled, clients, events_client).await?;
    moved.print("server-sent events");
    Ok(moved)
}

type Client = fn(&str, &Filled) -> Result<u64, BenchError>;

async fn subscribed(target: &Target, filled: &Filled, clients: u32, client: Client) -> Result<CatchUp, BenchError> {
    let address = target.client.config().broker.trim_start_matches("http://").to_owned();
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..clients {
        let (address, filled) = (address.clone(), filled.clone());
        tasks.spawn(blocking(move || client(&address, &filled)));
    }
    let check = same_check(tasks).await?;
    let seconds = began.elapsed().as_secs_f64();
    Ok(moved(filled, clients, seconds, check))
}

fn moved(filled: &Filled, clients: u32, seconds: f64, check: u64) -> CatchUp {
    let records = filled.records * u64::from(clients);
    CatchUp { clients, records, bytes: records * filled.record_bytes, seconds, check, read: None }
}

async fn same_check(mut tasks: JoinSet<Result<u64, BenchError>>) -> Result<u64, BenchError> {
    let mut check = None;
    while let Some(task) = tasks.join_next().await {
        let found = task.map_err(|error| BenchError::Failed(format!("a client stopped: {error}")))??;
        if *check.get_or_insert(found) != found {
            return Err(BenchError::Failed("two clients got different records".to_owned()));
        }
    }
    Ok(check.unwrap_or_default())
}

/// Gets all records in binary messages, and checks them.
fn binary_client(address: &str, filled: &Filled) -> Result<u64, BenchError> {
    let target = format!("/subscribe?topic-name={}&from=first", filled.topic);
    let mut connection = Connection::websocket(address, &target)?;
    let (mut offset, mut check) = (0, 0u64);
    while offset < filled.records {
        let Message::Binary(message) = connection.message()? else { continue };
        let (first_offset, end_offset, content) =
            parse(message).ok_or_else(|| BenchError::Failed("a message is too short".to_owned()))?;
        if first_offset != offset {
            return Err(BenchError::Failed(format!("a message begins at offset {first_offset}, not at {offset}")));
        }
        check = check.wrapping_add(check_batches(offset, end_offset, content)?);
        offset = end_offset;
    }
    Ok(check)
}

/// Checks batches as the client library does; returns their check value.
fn check_batches(mut offset: u64, end_offset: u64, mut content: &[u8]) -> Result<u64, BenchError> {
    let mut check = 0u64;
    while !content.is_empty() {
        let parsed = Batch::parse_prefix(content, &Limits::FORMAT);
        let (batch, rest) = parsed.map_err(|error| BenchError::Failed(format!("a batch is damaged: {error}")))?;
        check = check.wrapping_add(check_value(offset, batch.header().crc32c));
        offset += u64::from(batch.header().records);
        content = rest;
    }
    if offset != end_offset {
        return Err(BenchError::Failed(format!("batches end at offset {offset}, not at {end_offset}")));
    }
    Ok(check)
}

/// Gets all records as events; counts them.
fn events_client(address: &str, filled: &Filled) -> Result<u64, BenchError> {
    let target = format!("/subscribe?topic-name={}&from=first", filled.topic);
    let mut connection = Connection::open(address, &target, "", "200")?;
    let mut counter = Counter::default();
    while counter.events < filled.records {
        counter.push(connection.chunk()?);
    }
    Ok(counter.data_bytes)
}

/// Reads all records by requests of as many as a message has: as many clients, each from the first to the last.
async fn read(target: &Target, filled: &Filled, clients: u32) -> Result<CatchUp, BenchError> {
    let began = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..clients {
        let (client, filled) = (target.client.clone(), filled.clone());
        tasks.spawn(async move {
            let (mut offset, mut check, mut fetched) = (0, 0u64, Fetched::default());
            while offset < filled.records {
                let wait = Duration::from_secs(5);
                let options = ReadOptions { offset, wait, bytes_max: 4 << 20, ..ReadOptions::default() };
                let read = client.read(&*filled.topic, &options, fetched).await;
                fetched = read.map_err(|error| failed("a read", error))?;
                for (first_offset, batch) in fetched.batches() {
                    check = check.wrapping_add(check_value(first_offset, batch.header().crc32c));
                }
                offset = fetched.next_offset();
            }
            Ok(check)
        });
    }
    let check = same_check(tasks).await?;
    Ok(moved(filled, clients, began.elapsed().as_secs_f64(), check))
}
