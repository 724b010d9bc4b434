//! `rawline bench latency --trace`: the stages of an append, from the client's call to its return.
//!
//! The broker runs in this process, so that one clock dates all stages. It reports them as events of `tracing`, which
//! have no other subscriber.

use super::{Args, Plan, send_all};
use crate::data::Workload;
use crate::environment::temporary_directory;
use crate::error::BenchError;
use crate::history::{MainFigures, Measured};
use crate::local_broker::new_directory;
use crate::report::{Report, progress};
use crate::statistics::{Latency, new_histogram, record};
use crate::tasks::blocking;
use crate::topics;
use rawline_broker::pool::Pool;
use rawline_broker::store::disk;
use rawline_broker::{Broker, CommitThread, Config, STAGES, SystemClock};
use rawline_client::{Client, ClientConfig, RetryPolicy};
use rawline_server::http::{self, HttpConfig};
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tracing::span::{Attributes, Id};
use tracing::{Event, Metadata, Subscriber};

const POOL_BYTES: usize = 64 << 20;

/// The first stage of an append and the last one, which the sender reports.
pub const SENT: &str = "sent";
pub const RETURNED: &str = "returned";

/// Contents of `--json`.
#[derive(Debug, Serialize)]
struct Figures {
    /// Number of appends.
    appends: u64,
    /// Number of appends that took the stages below; others took some in another order, or others.
    alike: u64,
    stages: Vec<Stage>,
    /// How often the next stage was reached on another thread.
    hops: u64,
}

/// One stage of the appends.
#[derive(Debug, Serialize)]
struct Stage {
    name: &'static str,
    /// The thread that reached it.
    thread: String,
    /// Since the append was sent.
    at_us: Latency,
    /// Since the stage before.
    took_us: Latency,
}

/// Runs the benchmark.
pub async fn run(args: &Args) -> Result<(), BenchError> {
    let target = &args.run.target;
    if !target.local_broker || target.bucket().is_some() {
        let reason = "--trace measures a broker in this process, on a directory; omit the remote broker or the bucket";
        return Err(BenchError::Usage(reason.to_owned()));
    }
    let report = Report::begin("latency", target.storage_directory().as_deref(), args, &args.run.output)?;
    let recorder = Recorder::default();
    let installed = tracing::subscriber::set_global_default(recorder.clone());
    installed.map_err(|error| BenchError::Failed(format!("can't record the stages: {error}; please report this")))?;
    let broker = LocalBroker::start(args).await?;
    let figures = measure(args, &broker, &recorder).await;
    broker.stop().await;
    report.finish(&figures?)
}

async fn measure(args: &Args, broker: &LocalBroker, recorder: &Recorder) -> Result<Figures, BenchError> {
    let mut config = ClientConfig::new(broker.url.clone());
    config.retries = RetryPolicy::NONE;
    let client = Client::new(config.clone()).map_err(|error| BenchError::Failed(error.to_string()))?;
    let topic = "trace".to_owned();
    topics::create(&client, std::slice::from_ref(&topic)).await?;
    let workload = Arc::new(Workload::new(args.run.seed, 1, args.record_size));
    for seconds in [args.warmup_seconds, args.seconds] {
        recorder.lock().clear();
        let count = ((seconds as f64 / args.interval().as_secs_f64()).round() as u64).max(1);
        let plan = Plan {
            config: config.clone(),
            topic: topic.clone(),
            count,
            interval: args.interval(),
            // One append at a time: every stage is of the append that was sent last.
            workers: 1,
            workload: workload.clone(),
            bar: progress("appends".to_owned(), count),
        };
        blocking(move || send_all(plan)).await?;
    }
    let figures = Figures::of(&recorder.lock());
    figures.print();
    Ok(figures)
}

/// A broker in this process, on its own directory.
struct LocalBroker {
    url: String,
    serving: tokio::task::JoinHandle<()>,
    stop: watch::Sender<bool>,
    _directory: TempDir,
}

impl LocalBroker {
    /// Starts it like `rawline serve`.
    async fn start(args: &Args) -> Result<LocalBroker, BenchError> {
        let target = &args.run.target;
        let directory = new_directory(target.storage.as_deref().map_or(temporary_directory().as_path(), Path::new))?;
        let failed = |error: &dyn std::fmt::Display| BenchError::Failed(format!("can't start the broker: {error}"));
        let store = disk::open(directory.path(), target.durability).map_err(|error| failed(&error))?;
        let commit_thread = Some(CommitThread::start().map_err(|error| failed(&error))?);
        let clock = Arc::new(SystemClock);
        let config = Config { commit_thread: commit_thread.clone(), ..Config::new(rand::random()) };
        let broker = Broker::open(store, clock.clone(), config).await.map_err(|error| failed(&error))?;
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| failed(&error))?;
        let url = format!("http://{}", listener.local_addr().map_err(|error| failed(&error))?);
        let (stop, stopped) = watch::channel(false);
        let config = HttpConfig { commit_thread, ..HttpConfig::default() };
        let pool = Pool::new(POOL_BYTES);
        let serving = tokio::spawn(http::serve(listener, Arc::new(broker), pool, clock, config, stopped));
        Ok(LocalBroker { url, serving, stop, _directory: directory })
    }

    async fn stop(self) {
        self.stop.send_replace(true);
        // A panic has been printed already.
        let _ = self.serving.await;
    }
}

/// A stage that an append has reached.
#[derive(Debug, Clone)]
struct Reached {
    stage: &'static str,
    at: Instant,
    thread: String,
}

/// Records the stages of appends.
#[derive(Debug, Clone, Default)]
struct Recorder(Arc<Mutex<Vec<Reached>>>);

impl Recorder {
    fn lock(&self) -> MutexGuard<'_, Vec<Reached>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == STAGES
    }

    fn event(&self, event: &Event<'_>) {
        let at = Instant::now();
        let thread = std::thread::current().name().unwrap_or("without a name").to_owned();
        self.lock().push(Reached { stage: event.metadata().name(), at, thread });
    }

    // The stages are events.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Figures {
    /// The figures of the stages that most appends took, one append after the other.
    fn of(reached: &[Reached]) -> Figures {
        let appends: Vec<&[Reached]> = reached
            .chunk_by(|_, next| next.stage != SENT)
            .filter(|append| append.last().is_some_and(|last| last.stage == RETURNED))
            .collect();
        let route = |append: &[Reached]| -> Vec<(&'static str, String)> {
            append.iter().map(|reached| (reached.stage, reached.thread.clone())).collect()
        };
        let mut routes: HashMap<_, u64> = HashMap::new();
        for append in &appends {
            *routes.entry(route(append)).or_default() += 1;
        }
        let (usual, alike) = routes.into_iter().max_by_key(|(_, count)| *count).unwrap_or_default();
        let mut times: Vec<_> = usual.iter().map(|_| (new_histogram(), new_histogram())).collect();
        for append in appends.iter().filter(|append| route(append) == usual) {
            let Some(first) = append.first() else { unreachable!("an append without a stage") };
            let mut before = first.at;
            for ((at, took), reached) in times.iter_mut().zip(append.iter()) {
                record(at, reached.at - first.at);
                record(took, reached.at - before);
                before = reached.at;
            }
        }
        let hops = usual.windows(2).filter(|pair| matches!(pair, [(_, one), (_, next)] if one != next)).count() as u64;
        let stages = usual.into_iter().zip(&times).map(|((name, thread), (at, took))| Stage {
            name,
            thread,
            at_us: Latency::of(at),
            took_us: Latency::of(took),
        });
        Figures { appends: appends.len() as u64, alike, stages: stages.collect(), hops }
    }

    fn print(&self) {
        println!("{} of {} appends took these stages; times are medians, in us", self.alike, self.appends);
        println!("\n  {:<30} {:>8} {:>8} {:>8}  thread", "stage", "at", "took", "p99");
        for Stage { name, thread, at_us, took_us } in &self.stages {
            println!("  {name:<30} {:>8.1} {:>8.1} {:>8.1}  {thread}", at_us.p50, took_us.p50, took_us.p99);
        }
        println!("\n  {} hops to another thread", self.hops);
    }
}

impl Measured for Figures {
    fn figures(&self) -> MainFigures {
        let mut figures = MainFigures::default();
        if let Some(last) = self.stages.last() {
            last.at_us.add_to(&mut figures, "trace_");
        }
        figures.add("hops", self.hops as f64);
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use std::time::Duration;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    /// Nothing is woken between a small append's arrival and its response.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_small_append_is_received_committed_and_answered_on_one_thread() {
        let recorder = Recorder::default();
        tracing::subscriber::set_global_default(recorder.clone()).unwrap();
        for durability in ["page-cache", "fsync"] {
            let line = ["bench", "--trace", "--seconds", "1", "--rate", "100", "--durability", durability];
            let args = Line::try_parse_from(line).unwrap().args;
            let broker = LocalBroker::start(&args).await.unwrap();
            let figures = measure(&args, &broker, &recorder).await.unwrap();
            broker.stop().await;
            let stages: Vec<_> = figures.stages.iter().map(|stage| (stage.name, stage.thread.as_str())).collect();
            let mut expected = vec![
                (SENT, "client"),
                ("received", "commit"),
                ("checked", "commit"),
                ("taken by the journal", "commit"),
                ("object built", "commit"),
                ("written", "commit"),
            ];
            expected.extend((durability == "fsync").then_some(("synced", "commit")));
            expected.extend(["acknowledged by the journal", "stored", "response made"].map(|stage| (stage, "commit")));
            expected.push((RETURNED, "client"));
            assert_eq!(stages, expected, "{durability}");
            assert_eq!(figures.hops, 2, "{durability}");
        }
    }

    #[test]
    fn what_a_trace_would_ignore_is_refused() {
        for ignored in ["--workers=2", "--runs=2", "--memory=1GiB"] {
            assert!(Line::try_parse_from(["bench", ignored]).is_ok(), "{ignored}");
            let error = Line::try_parse_from(["bench", "--trace", ignored]).err().unwrap().to_string();
            let name = ignored.split('=').next().unwrap();
            assert!(error.contains("--trace") && error.contains(name), "{error}");
        }
    }

    #[test]
    fn stages_are_of_the_append_that_was_sent_last_and_of_the_usual_route() {
        let start = Instant::now();
        let mut reached = Vec::new();
        let mut append = |begin_us: u64, stages: &[(&'static str, u64, &str)]| {
            for (stage, us, thread) in stages {
                let at = start + Duration::from_micros(begin_us + us);
                reached.push(Reached { stage, at, thread: (*thread).to_owned() });
            }
        };
        let usual = [(SENT, 0, "client"), ("written", 10, "commit"), (RETURNED, 30, "client")];
        append(0, &[("written", 0, "before the first")]);
        append(100, &usual);
        append(200, &[(SENT, 0, "client"), (RETURNED, 90, "client")]);
        append(300, &usual);
        append(400, &[(SENT, 0, "client")]);
        let figures = Figures::of(&reached);
        assert_eq!((figures.appends, figures.alike, figures.hops), (3, 2, 2));
        let stages: Vec<_> = figures.stages.iter().map(|stage| (stage.name, stage.thread.as_str())).collect();
        assert_eq!(stages, [(SENT, "client"), ("written", "commit"), (RETURNED, "client")]);
        let times = figures.stages.iter().map(|stage| (stage.at_us.p50.round(), stage.took_us.p50.round()));
        assert_eq!(times.collect::<Vec<_>>(), [(0.0, 0.0), (10.0, 10.0), (30.0, 20.0)]);
    }
}
