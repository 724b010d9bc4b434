//! The topics of a benchmark: named, created before the clock starts, appended to in turns.

use super::report::progress;
use super::target::failed;
use crate::error::BenchError;
use futures_util::{StreamExt, TryStreamExt, stream};
use rawline_broker::{Clock, SystemClock};
use rawline_client::{Client, Settings};
use std::time::Instant;

/// Number of topics that are created or deleted at the same time: enough to hide the latency of a bucket.
const CREATING_MAX: usize = 128;

/// The names of `count` topics, of which each begins with `name`. They have one length.
pub fn names(name: &str, count: u32) -> Vec<String> {
    match count {
        1 => vec![name.to_owned()],
        _ => (0..count).map(|number| format!("{name}-{number:05}")).collect(),
    }
}

/// Creates topics, and prints how long that took if there are several.
pub async fn create(client: &Client, names: &[String]) -> Result<(), BenchError> {
    let began = Instant::now();
    let bar = progress("creating topics".to_owned(), names.len() as u64);
    let created = stream::iter(names)
        .map(async |name| {
            client.create_topic(name, &Settings::default()).await.map_err(|error| failed("creating a topic", error))?;
            bar.inc(1);
            Ok(())
        })
        .buffer_unordered(CREATING_MAX)
        .try_collect()
        .await;
    bar.finish_and_clear();
    if names.len() > 1 {
        println!("created {} topics in {:.1} s", names.len(), began.elapsed().as_secs_f64());
    }
    created
}

/// Deletes topics.
pub async fn delete(client: &Client, names: &[String]) -> Result<(), BenchError> {
    stream::iter(names)
        .map(async |name| client.delete_topic(name).await.map_err(|error| failed("deleting a topic", error)))
        .buffer_unordered(CREATING_MAX)
        .try_for_each(async |_| Ok(()))
        .await
}

/// A topic that no other run uses, on a local or a remote broker.
pub fn topic_name(bench: &str, run: u32) -> String {
    format!("bench-{bench}-{:x}-{}-{run}", SystemClock.now_us(), std::process::id())
}
