//! From a topic to its roll-ups: every measurement once, in spite of failures.

use crate::topic::{Broker, Sent, expected, measurements, memory, messages, rolled_up};
use bytes::Bytes;
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use object_store::throttle::{ThrottleConfig, ThrottledStore};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rawline_avro::Framing;
use rawline_batch::{Builder, Codec, Limits};
use rawline_broker::store::cache::Cache;
use rawline_broker::store::disk::{self, Durability};
use rawline_broker::store::s3::{self, S3Config};
use rawline_client::{Payload, RecordBatchBuilder, RecordCodec, Start};
use rawline_measure::layout::{Commit, Counts, Current, DataFile, Layout, Tier};
use rawline_measure::{Full, Kind, MeasureError, Options, Pipeline, Retention, Snapshot, Storage, Summary};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

pub async fn run(options: Options) -> Result<Summary, MeasureError> {
    Pipeline::open(options).await?.run(|_| (), std::future::pending()).await
}

pub async fn snapshot(storage: &Storage, topic: &str) -> Snapshot {
    Snapshot::load(storage, &Layout::new(&storage.prefix, topic)).await.unwrap()
}

async fn files(storage: &Storage) -> Vec<String> {
    use futures_util::TryStreamExt;
    let listed: Vec<_> = storage.store.list(None).try_collect().await.unwrap();
    listed.into_iter().map(|object| object.location.to_string()).filter(|path| path.ends_with(".parquet")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_becomes_what_its_measurements_are() {
    let broker = Broker::start().await;
    let sent = measurements(1, 20_000, 300);
    broker.append("t", &messages(&sent), 700).await;
    let want = expected(&sent);
    for chunk_records in [None, Some(1), Some(777), Some(20_000)] {
        let count = if chunk_records == Some(1) { 150 } else { sent.len() };
        let storage = memory();
        let mut options = Options { chunk_records, ..broker.options("t", &storage) };
        if count < sent.len() {
            // A commit for each record, of the last ones.
            options.start = Start::Offset((sent.len() - count) as u64);
        }
        let summary = run(options).await.unwrap();
        assert_eq!(summary.counts, Counts { decoded: count as u64, ..Counts::default() });
        assert_eq!((summary.offset, summary.offset_committed), (20_000, 20_000));
        let got = rolled_up(&storage, "t").await;
        if count == sent.len() {
            assert_eq!(got, want, "{chunk_records:?}");
        } else {
            assert_eq!(got, expected(&sent[sent.len() - count..]));
        }
        // Commits end where they should, not where reads happened to.
        let commits = snapshot(&storage, "t").await.commits;
        let records = chunk_records.unwrap_or(u64::MAX);
        let (last, others) = commits.split_last().unwrap();
        let is_full = |commit: &Commit| {
            commit.end_offset - commit.first_offset == records * (commit.sequence_end - commit.sequence_begin)
        };
        assert!(others.iter().all(is_full));
        assert!(last.end_offset - last.first_offset <= records);
    }
}

/// Polls a future so many times, and drops it when it wakes up once more. What a run has done when it is killed depends
/// on its steps, not on how busy the machine is.
async fn killed_after<F: Future>(mut polls: u64, run: F) -> Option<F::Output> {
    let mut run = pin!(run);
    poll_fn(move |context| {
        if polls == 0 {
            return Poll::Ready(None);
        }
        polls -= 1;
        run.as_mut().poll(context).map(Some)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_again_and_again_the_roll_ups_come_out_equal() {
    let broker = Broker::start().await;
    let sent = measurements(2, 10_000, 700);
    broker.append("t", &messages(&sent), 500).await;
    let want = expected(&sent);
    let mut random = fastrand::Rng::with_seed(3);
    // Slow, so that there are steps between the files of a commit and the commit, where some are killed.
    let slow = ThrottleConfig { wait_put_per_call: Duration::from_millis(1), ..ThrottleConfig::default() };
    let storage = Storage::new(Arc::new(ThrottledStore::new(InMemory::new(), slow)), Default::default());
    let mut kills = 0;
    loop {
        let options = Options { chunk_records: Some(random.u64(300..1_500)), ..broker.options("t", &storage) };
        let pipeline = Pipeline::open(options).await.unwrap();
        match killed_after(random.u64(1..20), pipeline.run(|_| (), std::future::pending())).await {
            Some(ended) => {
                ended.unwrap();
                break;
            }
            None => kills += 1,
        }
    }
    assert!(kills > 3, "{kills}");
    assert_eq!(rolled_up(&storage, "t").await, want);
    // The next run deletes what the killed ones left.
    Pipeline::open(broker.options("t", &storage)).await.unwrap();
    let layout = Layout::new(&storage.prefix, "t");
    let commits = snapshot(&storage, "t").await.commits;
    let mut named: Vec<String> = commits
        .iter()
        .flat_map(|commit| [&commit.files.series, &commit.files.raw, &commit.files.minute, &commit.files.hour])
        .flatten()
        .map(|file| layout.file(file).to_string())
        .collect();
    let mut there = files(&storage).await;
    named.sort();
    there.sort();
    assert_eq!(there, named);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_on_one_topic_one_loses_and_nothing_counts_twice() {
    let broker = Broker::start().await;
    let sent = measurements(4, 5_000, 50);
    broker.append("t", &messages(&sent), 500).await;
    let storage = memory();
    let open = async |chunk_records| {
        let options = Options { chunk_records: Some(chunk_records), ..broker.options("t", &storage) };
        Pipeline::open(options).await.unwrap()
    };
    let (first, second) = (open(900).await, open(700).await);
    let (one, other) =
        tokio::join!(first.run(|_| (), std::future::pending()), second.run(|_| (), std::future::pending()),);
    let (won, lost) = if one.is_ok() { (one, other) } else { (other, one) };
    won.unwrap();
    let lost = lost.unwrap_err();
    assert!(matches!(lost, MeasureError::Raced { .. }), "{lost}");
    assert_eq!(lost.kind(), Kind::TellHuman);
    assert_eq!(rolled_up(&storage, "t").await, expected(&sent));
    // Its files, which it wrote before it lost, are cleaned up.
    let before = files(&storage).await.len();
    let summary = run(broker.options("t", &storage)).await.unwrap();
    assert_eq!((summary.commits, summary.counts.decoded), (0, 0));
    assert!(files(&storage).await.len() < before);
    assert_eq!(rolled_up(&storage, "t").await, expected(&sent));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_a_commit_that_may_yet_come_are_left_alone() {
    let broker = Broker::start().await;
    broker.append("t", &messages(&measurements(5, 100, 5)), 100).await;
    let storage = memory();
    run(broker.options("t", &storage)).await.unwrap();
    let settled = ".measure/t/raw/00000000000000000007-00000000000000000100-0123456789abcdef.parquet";
    let coming = ".measure/t/raw/00000000000000000100-00000000000000000200-0123456789abcdef.parquet";
    let foreign = ".measure/t/raw/notes.parquet";
    for path in [settled, coming, foreign] {
        storage.store.put(&path.into(), Bytes::from_static(b"x").into()).await.unwrap();
    }
    Pipeline::open(broker.options("t", &storage)).await.unwrap();
    let left = files(&storage).await;
    let is_left = |path: &str| left.iter().any(|other| other == path);
    assert!(!is_left(settled) && is_left(coming) && is_left(foreign));
}

#[tokio::test(flavor = "multi_thread")]
async fn compressed_batches_count_once_where_commits_end_inside_them() {
    let broker = Broker::start().await;
    let sent = measurements(6, 3_000, 20);
    for (number, part) in sent.chunks(800).enumerate() {
        let mut builder = Builder::new(if number % 2 == 0 { Codec::Zstd } else { Codec::Lz4 }, Limits::default());
        part.iter().for_each(|sent| builder.push(&sent.message()).unwrap());
        let mut batch = Vec::new();
        builder.finish_into(1, 0, 0, &mut batch).unwrap();
        broker.client.append("t", vec![batch.into()]).await.unwrap();
    }
    let storage = memory();
    run(Options { chunk_records: Some(333), ..broker.options("t", &storage) }).await.unwrap();
    assert_eq!(rolled_up(&storage, "t").await, expected(&sent));
}

#[tokio::test(flavor = "multi_thread")]
async fn measurements_in_kafkas_batches_count_like_others() {
    let directory = tempfile::tempdir().unwrap();
    let broker = Broker::on(disk::open(directory.path(), Durability::PageCache).unwrap()).await;
    let sent = measurements(12, 3_000, 20);
    for (number, part) in sent.chunks(500).enumerate() {
        if number % 2 == 0 {
            broker.append("t", &messages(part), 100).await;
            continue;
        }
        let mut builder = RecordBatchBuilder::new(RecordCodec::Zstd, Limits::default());
        for sent in part {
            builder.push(sent.time_ms, Some(sent.metric.as_bytes()), Some(&sent.message()), []).unwrap();
        }
        let batch = Bytes::copy_from_slice(builder.finish(None).unwrap());
        broker.client.append_record_batches("t", vec![batch]).await.unwrap();
    }
    let storage = memory();
    run(Options { chunk_records: Some(333), ..broker.options("t", &storage) }).await.unwrap();
    assert_eq!(rolled_up(&storage, "t").await, expected(&sent));
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_messages_are_counted_and_named() {
    let broker = Broker::start().await;
    let sent = measurements(7, 1_000, 10);
    let mut all = messages(&sent);
    all.insert(10, b"\x04x".to_vec());
    all.insert(500, Vec::new());
    for _ in 0..50 {
        all.push([sent[0].message(), vec![0]].concat());
    }
    broker.append("t", &all, 100).await;
    let storage = memory();
    let summary = run(Options { chunk_records: Some(90), ..broker.options("t", &storage) }).await.unwrap();
    assert_eq!(summary.counts, Counts { decoded: 1_000, bad: 52, ..Counts::default() });
    let told: Vec<(u64, &str)> = summary.bad.iter().map(|bad| (bad.offset, bad.field.as_str())).collect();
    assert_eq!(told[..2], [(10, "metric"), (500, "metric")], "{:?}", summary.bad);
    assert_eq!((told[2].0, told.len()), (1002, 10));
    let counted = snapshot(&storage, "t").await.commits.iter().map(|commit| commit.counts.bad).sum::<u64>();
    assert_eq!(counted, 52);
    assert_eq!(rolled_up(&storage, "t").await, expected(&sent));
}

#[tokio::test(flavor = "multi_thread")]
async fn series_without_room_are_dropped_and_counted_and_the_known_ones_continue() {
    let broker = Broker::start().await;
    let sent: Vec<Sent> = (0..400)
        .map(|number| Sent { metric: format!("m{}", number % 40), tags: Vec::new(), time_ms: number, value: 1.0 })
        .collect();
    broker.append("t", &messages(&sent), 40).await;
    let storage = memory();
    let options = Options { series_max: 30, chunk_records: Some(100), ..broker.options("t", &storage) };
    let summary = run(options.clone()).await.unwrap();
    assert_eq!(summary.counts, Counts { decoded: 300, dropped: 100, ..Counts::default() });
    assert_eq!(summary.full, Some(Full::Series));
    assert_eq!(summary.series, 30);
    // With less room than what is committed it can't continue.
    let error = Pipeline::open(Options { series_max: 20, ..options }).await.err().unwrap();
    assert_eq!(error.kind(), Kind::FixRequest, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_few_series_with_long_texts_do_not_take_the_room_of_the_others() {
    let broker = Broker::start().await;
    let long = |number: usize| Sent {
        metric: "m".to_owned(),
        tags: (0..60).map(|tag| (format!("tag{tag}"), format!("{number}-{tag}-").repeat(8_000))).collect(),
        time_ms: 0,
        value: 1.0,
    };
    let longs: Vec<Sent> = (0..4).map(long).collect();
    let ordinary = measurements(31, 5_000, 5_000);
    broker.append("t", &messages(&ordinary[..10]), 10).await;
    broker.append("t", &messages(&longs), 1).await;
    broker.append("t", &messages(&ordinary[10..]), 500).await;
    let storage = memory();
    let summary = run(broker.options("t", &storage)).await.unwrap();
    assert_eq!(summary.counts, Counts { decoded: 5_000, bad: 4, ..Counts::default() });
    assert_eq!((summary.full, summary.bad[0].offset), (None, 10));
    assert!(summary.bad[0].reason.contains("longer than the limit"), "{:?}", summary.bad);
    assert_eq!(rolled_up(&storage, "t").await, expected(&ordinary));

    // Texts of the maximum length: the error names the full table.
    let texts: Vec<Sent> = (0..200)
        .map(|number| Sent { metric: format!("{number}").repeat(5_000), tags: Vec::new(), time_ms: number, value: 1.0 })
        .collect();
    broker.append("texts", &messages(&texts), 50).await;
    let options = Options { series_max: 300, ..broker.options("texts", &storage) };
    let summary = run(options).await.unwrap();
    assert!(summary.counts.dropped > 0 && summary.counts.bad == 0, "{:?}", summary.counts);
    assert_eq!(summary.full, Some(Full::Texts));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_framing_passes_over_nothing_and_the_right_one_finds_everything() {
    let broker = Broker::start().await;
    let sent = measurements(32, 1_000, 10);
    broker.append("t", &messages(&sent), 100).await;
    let storage = memory();
    let right = Options { chunk_records: Some(300), ..broker.options("t", &storage) };
    let wrong = Options { framing: Framing::SingleObject, ..right.clone() };
    let error = run(wrong.clone()).await.unwrap_err();
    let MeasureError::NotMeasurements { records: 300, bad: 300, offset: 0, .. } = &error else { panic!("{error:?}") };
    assert_eq!(error.kind(), Kind::FixRequest);
    assert!(snapshot(&storage, "t").await.commits.is_empty());
    assert_eq!(run(right.clone()).await.unwrap().counts.decoded, 1_000);
    assert_eq!(rolled_up(&storage, "t").await, expected(&sent));

    // A flag accepts them, and another one begins again.
    let elsewhere = memory();
    let accepted = Options { accept_bad: true, storage: elsewhere.clone(), ..wrong };
    assert_eq!(run(accepted).await.unwrap().counts.bad, 1_000);
    let right = Options { storage: elsewhere.clone(), ..right };
    let summary = run(right.clone()).await.unwrap();
    assert_eq!((summary.commits, summary.counts_before.bad), (0, 1_000));
    let again = Options { start_over: true, start: Start::Offset(200), ..right };
    assert_eq!(run(again).await.unwrap().counts.decoded, 800);
    assert_eq!(rolled_up(&elsewhere, "t").await, expected(&sent[200..]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_rolled_up_before_starting_over_never_counts_again() {
    let broker = Broker::start().await;
    let sent = measurements(33, 1_000, 20);
    broker.append("t", &messages(&sent), 100).await;
    let storage = memory();
    // One that was asleep while another one started over.
    let options = Options { chunk_records: Some(500), ..broker.options("t", &storage) };
    let asleep = Pipeline::open(options.clone()).await.unwrap();
    let again = Options { start_over: true, start: Start::Offset(500), ..options.clone() };
    let again = Pipeline::open(again).await.unwrap();
    // Both commit from offset 500: the first one's commit exists already, and is ignored.
    asleep.run(|_| (), std::future::pending()).await.unwrap();
    assert!(snapshot(&storage, "t").await.commits.is_empty());
    let error = again.run(|_| (), std::future::pending()).await.unwrap_err();
    assert!(matches!(error, MeasureError::Raced { offset: 500, .. }), "{error}");
    run(Options { start_over: true, ..options }).await.unwrap();
    assert_eq!(rolled_up(&storage, "t").await, expected(&sent));
}

/// The number of rows in files, as any reader of Parquet counts them.
async fn rows(storage: &Storage, paths: impl Iterator<Item = String>) -> u64 {
    let mut rows = 0;
    for path in paths {
        let bytes = storage.store.get(&path.as_str().into()).await.unwrap().bytes().await.unwrap();
        let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
        for group in builder.metadata().row_groups() {
            let sorted_by: Vec<i32> = group.sorting_columns().unwrap().iter().map(|column| column.column_idx).collect();
            assert_eq!(sorted_by, if path.contains("/series/") { vec![0] } else { vec![0, 1] }, "{path}");
            rows += group.num_rows() as u64;
        }
    }
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_current_files_is_the_truth_where_all_files_are_not() {
    let broker = Broker::start().await;
    let sent = measurements(34, 1_400, 30);
    broker.append("t", &messages(&sent), 100).await;
    let storage = memory();
    let current = async || -> Current {
        let path = Layout::new(&storage.prefix, "t").current();
        let bytes = storage.store.get(&path).await.unwrap().bytes().await.unwrap();
        serde_json::from_slice(&bytes).unwrap()
    };
    run(Options { chunk_records: Some(10), ..broker.options("t", &storage) }).await.unwrap();
    let all = rows(&storage, files(&storage).await.into_iter().filter(|path| path.contains("/raw/"))).await;
    assert!(all > 1_400, "{all}: no file that was merged is still there");
    let list = current().await;
    assert_eq!((list.first_offset, list.end_offset), (0, 1_400));
    let paths =
        |files: &[DataFile]| -> Vec<String> { files.iter().map(|file| format!(".measure/t/{}", file.path)).collect() };
    assert_eq!(rows(&storage, paths(&list.files.raw).into_iter()).await, 1_400);
    assert_eq!(rows(&storage, paths(&list.files.series).into_iter()).await, 30);
    let named = snapshot(&storage, "t").await;
    for tier in Tier::ALL {
        assert!(list.files.tier(tier).iter().eq(named.kept(tier)), "{}", tier.name());
    }
    // A missing list is written when the next run begins.
    storage.store.delete(&Layout::new(&storage.prefix, "t").current()).await.unwrap();
    Pipeline::open(broker.options("t", &storage)).await.unwrap();
    assert_eq!(current().await, list);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_topic_has_no_commits_and_continues_when_something_comes() {
    let broker = Broker::start().await;
    let storage = memory();
    let sent = measurements(8, 300, 10);
    broker.client.set_payload("t", Payload::Bytes).await.unwrap();
    let summary = run(broker.options("t", &storage)).await.unwrap();
    assert_eq!((summary.commits, summary.offset), (0, 0));
    for part in sent.chunks(100) {
        broker.append("t", &messages(part), 30).await;
        assert_eq!(run(broker.options("t", &storage)).await.unwrap().commits, 1);
    }
    assert_eq!(rolled_up(&storage, "t").await, expected(&sent));
    assert_eq!(snapshot(&storage, "t").await.commits.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn followed_a_topic_is_committed_as_it_grows_and_at_the_stop() {
    let broker = Broker::start().await;
    broker.client.set_payload("t", Payload::Bytes).await.unwrap();
    let sent = measurements(9, 900, 10);
    let storage = memory();
    let options = Options { follow: true, flush_after: Duration::from_millis(20), ..broker.options("t", &storage) };
    let pipeline = Pipeline::open(options.clone()).await.unwrap();
    let (told, mut tell) = tokio::sync::watch::channel(0);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(
        pipeline
            .run(move |progress| _ = told.send_replace(progress.offset_committed), async move { _ = stopped.await }),
    );
    for (number, part) in sent.chunks(300).enumerate() {
        broker.append("t", &messages(part), 30).await;
        let end = (number as u64 + 1) * 300;
        tell.wait_for(|committed| *committed == end).await.unwrap();
    }
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
    assert_eq!(rolled_up(&storage, "t").await, expected(&sent));

    // Pending measurements are committed at shutdown too.
    broker.append("t", &messages(&sent), 30).await;
    let pipeline = Pipeline::open(Options { flush_after: Duration::from_secs(3600), ..options }).await.unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let mut stop = Some(stop);
    let tell = |progress: &rawline_measure::Progress| {
        if progress.offset == 1_800
            && let Some(stop) = stop.take()
        {
            stop.send(()).unwrap();
        }
    };
    let summary = pipeline.run(tell, async move { _ = stopped.await }).await.unwrap();
    assert_eq!((summary.offset_committed, summary.commits), (1_800, 1));
    let twice = [sent.clone(), sent].concat();
    assert_eq!(rolled_up(&storage, "t").await, expected(&twice));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_to_begin_is_decided_once() {
    let broker = Broker::start().await;
    let sent = measurements(10, 400, 10);
    broker.append("t", &messages(&sent), 50).await;
    let storage = memory();
    let options = Options { start: Start::Latest, ..broker.options("t", &storage) };
    assert_eq!(run(options).await.unwrap().commits, 0);
    broker.append("t", &messages(&sent), 50).await;
    let options = Options { start: Start::Earliest, ..broker.options("t", &storage) };
    assert_eq!(run(options).await.unwrap().counts.decoded, 400);
    assert_eq!(rolled_up(&storage, "t").await, expected(&sent));
    // Another topic with the same name doesn't have the rolled-up records.
    let other = Broker::start().await;
    other.client.set_payload("t", Payload::Bytes).await.unwrap();
    let error = Pipeline::open(other.options("t", &storage)).await.err().unwrap();
    assert!(matches!(error, MeasureError::OtherTopic { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_commits_become_few_and_nothing_changes() {
    let broker = Broker::start().await;
    let sent = measurements(12, 1_400, 40);
    broker.append("t", &messages(&sent), 500).await;
    for memory_bytes in [512 << 20, 1] {
        let storage = memory();
        let options = Options { chunk_records: Some(10), memory_bytes, ..broker.options("t", &storage) };
        assert_eq!(run(options).await.unwrap().commits, 140);
        assert_eq!(rolled_up(&storage, "t").await, expected(&sent));
        let commits = snapshot(&storage, "t").await.commits;
        assert_eq!(commits.len(), 2 + 12);
        let merged = commits[1].clone();
        assert_eq!((merged.first_offset, merged.end_offset, merged.counts.decoded), (640, 1280, 640));
        // With too little memory to put measurements together, commits are put together all the same.
        assert_eq!(merged.files.raw.len(), if memory_bytes == 1 { 64 } else { 1 });
        // Late processes don't repeat a merge.
        let path = Layout::new(&storage.prefix, "t").commit(10);
        assert!(storage.store.get(&path).await.is_ok());
        // The sources of a merge are deleted when the next one begins.
        let before = files(&storage).await.len();
        Pipeline::open(broker.options("t", &storage)).await.unwrap();
        let after = files(&storage).await.len();
        assert!(if memory_bytes == 1 { after == before } else { after < 2 * 4 + 12 * 4 + 1 && after < before });
        assert_eq!(rolled_up(&storage, "t").await, expected(&sent));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_old_goes_tier_by_tier() {
    const DAY_MS: i64 = 86_400_000;
    let broker = Broker::start().await;
    let sent: Vec<Sent> = (0..100)
        .map(|day| Sent { metric: "m".to_owned(), tags: Vec::new(), time_ms: day * DAY_MS, value: day as f64 })
        .collect();
    broker.append("t", &messages(&sent), 10).await;
    let storage = memory();
    let options = Options { chunk_records: Some(10), now_ms: || 99 * DAY_MS, ..broker.options("t", &storage) };
    run(options.clone()).await.unwrap();
    let days = |days: u64| Some(Duration::from_secs(days * 86_400));
    let retention = Retention { raw: days(9), minute: days(50), hour: None };
    let options = Options { retention, ..options };
    Pipeline::open(options.clone()).await.unwrap();
    let kept = rolled_up(&storage, "t").await;
    let kept = (kept.raw.values().map(Vec::len).sum::<usize>(), kept.minute.len(), kept.hour.len());
    assert_eq!(kept, (10, 60, 100));
    let there = files(&storage).await;
    let in_folder = |folder: &str| there.iter().filter(|path| path.contains(folder)).count();
    assert_eq!((in_folder("/raw/"), in_folder("/minute/"), in_folder("/hour/")), (1, 6, 10));
    // Expired measurements do not return.
    Pipeline::open(Options { retention: Retention::default(), ..options }).await.unwrap();
    assert_eq!(rolled_up(&storage, "t").await.minute.len(), 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_bucket_it_is_as_elsewhere() {
    let bucket = rawline_testkit::s3_server::bucket().await;
    let broker = Broker::start().await;
    let sent = measurements(13, 2_000, 40);
    broker.append("t", &messages(&sent), 500).await;
    let storage = Storage::open(&format!("s3://{}/some/prefix", bucket.name), &bucket.variables()).unwrap();
    let open = async |chunk_records| {
        let options = Options { chunk_records: Some(chunk_records), ..broker.options("t", &storage) };
        Pipeline::open(options).await.unwrap()
    };
    let (first, second) = (open(300).await, open(400).await);
    let (one, other) =
        tokio::join!(first.run(|_| (), std::future::pending()), second.run(|_| (), std::future::pending()),);
    let lost = if one.is_ok() { other } else { one };
    assert!(matches!(lost, Err(MeasureError::Raced { .. })), "{lost:?}");
    assert_eq!(run(broker.options("t", &storage)).await.unwrap().commits, 0);
    assert_eq!(rolled_up(&storage, "t").await, expected(&sent));
    assert!(bucket.file("some/prefix/.measure/t/start.json").is_file());
    // The broker that has the same place sees no topic in it.
    let cache = Cache::open(bucket.cache_dir(), 1 << 20).unwrap();
    let config = S3Config::new(&format!("s3://{}/some/prefix", bucket.name), cache).unwrap();
    let store = s3::open(S3Config { variables: bucket.variables(), ..config }).await.unwrap();
    let config = rawline_broker::Config::new(3);
    let broker = rawline_broker::Broker::open(store, Arc::new(rawline_broker::SystemClock), config).await;
    assert!(broker.unwrap().topics().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_is_shared_with_its_broker() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    let sent = measurements(11, 5_000, 100);
    {
        let store = disk::open(directory.path(), Durability::PageCache).unwrap();
        let broker = Broker::on(store).await;
        broker.append("t", &messages(&sent), 500).await;
        let storage = Storage::open(place, &[]).unwrap();
        run(Options { chunk_records: Some(2_000), ..broker.options("t", &storage) }).await.unwrap();
        assert_eq!(rolled_up(&storage, "t").await, expected(&sent));
        let topics = broker.client.topics().await.unwrap();
        assert_eq!(topics.into_iter().map(|topic| topic.name).collect::<Vec<_>>(), ["t"]);
    }
    let error = Storage::open("memory:", &[]).err().unwrap();
    assert_eq!(error.kind(), Kind::FixRequest);
}
