//! Lists of all topics: over HTTP in pages, and by Kafka's Metadata.

use super::Args;
use crate::error::BenchError;
use crate::history::MainFigures;
use crate::kafka::{Connection, Fields};
use crate::target::failed;
use crate::tasks::blocking;
use rawline_client::Client;
use serde::Serialize;
use std::time::{Duration, Instant};

const METADATA: (i16, i16) = (3, 4);

/// How long lists take.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Lists {
    /// The second of two pages of topics, in milliseconds: the console reads one at a time.
    page_ms: f64,
    /// All topics, page by page, as `rawline topics` reads them, in seconds.
    topics_seconds: f64,
    /// Kafka's Metadata of all topics, in seconds.
    metadata_seconds: f64,
    /// Its size.
    metadata_bytes: u64,
}

impl Lists {
    /// Reads them, and compares their lengths with what was created and appended.
    pub async fn measure(client: &Client, kafka: &str, args: &Args, names: &[String]) -> Result<Lists, BenchError> {
        let list = |error| failed("listing the topics", error);
        let page = client.topics_page("", None).await.map_err(list)?;
        let began = Instant::now();
        client.topics_page("", page.next.as_deref()).await.map_err(list)?;
        let page_time = began.elapsed();
        let began = Instant::now();
        let all = client.topics().await.map_err(list)?;
        let topics_time = began.elapsed();
        let has_records = |topic: &&rawline_client::TopicInfo| topic.next_offset == u64::from(args.records);
        let found = all.iter().filter(has_records).count();
        if all.len() != names.len() || found != names.len() {
            let (listed, wanted) = (all.len(), names.len());
            let message = format!("{listed} topics of {wanted} are listed, {found} of them with their records");
            return Err(BenchError::Failed(message));
        }
        let (kafka, wanted) = (kafka.to_owned(), names.len());
        let (metadata_time, metadata_bytes) = blocking(move || metadata(&kafka, wanted)).await?;
        Ok(Lists {
            page_ms: page_time.as_secs_f64() * 1e3,
            topics_seconds: topics_time.as_secs_f64(),
            metadata_seconds: metadata_time.as_secs_f64(),
            metadata_bytes,
        })
    }

    pub fn print(&self) {
        let Lists { page_ms, topics_seconds, metadata_seconds, metadata_bytes } = self;
        let mb = *metadata_bytes as f64 / 1e6;
        print!("a page of topics {page_ms:.1} ms, all pages {topics_seconds:.2} s, ");
        println!("Metadata {metadata_seconds:.2} s, {mb:.0} MB");
    }

    pub fn add_to(&self, figures: &mut MainFigures) {
        figures.add("page_ms", self.page_ms);
        figures.add("topics_seconds", self.topics_seconds);
        figures.add("metadata_seconds", self.metadata_seconds);
        figures.add("metadata_bytes", self.metadata_bytes as f64);
    }
}

/// Time and size of a response with all topics.
fn metadata(kafka: &str, wanted: usize) -> Result<(Duration, u64), BenchError> {
    let mut connection = Connection::open(kafka)?;
    let began = Instant::now();
    // Null for all topics, none of which is created.
    let response = connection.call(METADATA, &[0xff, 0xff, 0xff, 0xff, 0])?;
    let took = began.elapsed();
    let count = topics_of(&response).ok_or_else(|| BenchError::Failed("a Metadata response can't be read".into()))?;
    if count != wanted {
        return Err(BenchError::Failed(format!("{count} topics of {wanted} are in Kafka's Metadata")));
    }
    Ok((took, response.len() as u64))
}

/// Number of topics in a response.
fn topics_of(response: &[u8]) -> Option<usize> {
    let mut fields = Fields(response);
    // The throttle time, and the brokers: id, host, port, rack.
    fields.int32()?;
    for _ in 0..fields.int32()? {
        fields.int32()?;
        fields.text()?;
        fields.int32()?;
        fields.text()?;
    }
    // The cluster's id and the controller.
    fields.text()?;
    fields.int32()?;
    usize::try_from(fields.int32()?).ok()
}
