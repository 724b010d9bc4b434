//! The measurement with criterion: what runs in which order, and the result lines.

use std::cell::RefCell;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use criterion::Criterion;
use regex::Regex;
use serde_json::{Value, json};

use crate::allocated::bytes_of;
use crate::codec::Operation;
use crate::files::{Files, SIZES};
use crate::work::{Entry, Load, Worker};
use crate::{machine, rows, versions};

/// How much to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The base size of two cases: under a minute.
    Quick,
    /// Every case, the sizes it grows to, one message again and again, and all cores: ten minutes.
    Full,
}

/// Cases of a quick run.
const CASES_SHORT: [&str; 2] = ["zeek", "pingpong"];

/// Cases that a full run measures at every size.
const CASES_EVERY_SIZE: [&str; 3] = ["zeek", "pingpong", "order"];

/// The size as published, at which everything is measured.
const SIZE_BASE: &str = "base";

/// Further sizes of the other cases: enough to see how a cost grows.
const SIZES_GROWN: [&str; 2] = ["10k", "1m"];

/// The time spent on a figure. Criterion needs at least ten samples; a run has thousands of figures.
const SAMPLES: usize = 10;
const WARM_UP: Duration = Duration::from_millis(30);
const MEASUREMENT: Duration = Duration::from_millis(140);
/// Bootstrap resamples of these ten for the confidence interval.
const RESAMPLES: usize = 2_000;
const CONFIDENCE: f64 = 0.95;

/// Which messages of a file are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Messages {
    Varied,
    One,
}

/// One figure to measure.
#[derive(Debug, Clone, Copy)]
struct Task {
    entry: usize,
    size: &'static str,
    messages: Messages,
    operation: Operation,
    threads: usize,
}

/// The current row with its messages; empty if it doesn't read what it writes.
struct Loaded {
    key: (usize, &'static str, Messages),
    load: Option<Box<dyn Load>>,
}

/// Runs all tasks whose name the filter finds, and appends their results.
pub fn run(files: &Files, extent: Extent, filter: Option<&Regex>) -> Result<()> {
    let entries = rows::all();
    let mut tasks = plan(&entries, extent);
    tasks.retain(|task| filter.is_none_or(|filter| filter.is_match(&name(&entries, task))));
    ensure!(!tasks.is_empty(), "the filter matches no figure; `lab-rust rows --figures` lists their names");
    let samples = files.samples();
    // Criterion would compare with the leftovers of an earlier run, which takes time.
    if samples.exists() {
        fs::remove_dir_all(&samples).with_context(|| format!("cannot remove {}", samples.display()))?;
    }
    let about = About::new(extent);
    let began = Instant::now();
    let mut loaded: Option<Loaded> = None;
    for (number, task) in tasks.iter().enumerate() {
        let Some(entry) = entries.get(task.entry) else { continue };
        let key = (task.entry, task.size, task.messages);
        if loaded.as_ref().is_none_or(|loaded| loaded.key != key) {
            loaded = Some(Loaded { key, load: ready(files, entry, task)? });
        }
        let Some(Loaded { load: Some(load), .. }) = &loaded else { continue };
        let name = name(&entries, task);
        let estimate = measure(&samples.join(number.to_string()), &name, &**load, task)?;
        let allocated = if task.threads == 1 { Some(allocated(&**load, task.operation)?) } else { None };
        files.append("results.jsonl", &about.line(entry, task, &estimate, allocated))?;
        let (number, count, seconds) = (number + 1, tasks.len(), began.elapsed().as_secs());
        eprintln!("{number}/{count} {name} {:.1} ns, after {seconds} s", estimate.ns);
    }
    Ok(())
}

/// The names of all figures of a full run.
pub fn names() -> Vec<String> {
    let entries = rows::all();
    plan(&entries, Extent::Full).iter().map(|task| name(&entries, task)).collect()
}

/// All figures to measure, those with the same messages next to each other.
fn plan(entries: &[Entry], extent: Extent) -> Vec<Task> {
    let mut tasks = Vec::new();
    let sizes = if extent == Extent::Quick { &[SIZE_BASE][..] } else { &SIZES };
    for size in sizes.iter().copied() {
        for (index, entry) in entries.iter().enumerate() {
            let wanted = match extent {
                Extent::Quick => CASES_SHORT.contains(&entry.case),
                Extent::Full => {
                    size == SIZE_BASE || SIZES_GROWN.contains(&size) || CASES_EVERY_SIZE.contains(&entry.case)
                }
            };
            if !wanted {
                continue;
            }
            let mut add = |messages, operation, threads| {
                if entry.row.has(operation) {
                    tasks.push(Task { entry: index, size, messages, operation, threads });
                }
            };
            for operation in Operation::ALL {
                if operation != Operation::Fields || (extent == Extent::Full && size == SIZE_BASE) {
                    add(Messages::Varied, operation, 1);
                }
            }
            if extent == Extent::Full && size == SIZE_BASE {
                for operation in [Operation::Encode, Operation::Decode] {
                    add(Messages::Varied, operation, machine::cores());
                }
                for operation in [Operation::Encode, Operation::Decode] {
                    add(Messages::One, operation, 1);
                }
            }
        }
    }
    tasks
}

/// A figure's name, for the filter and the progress.
fn name(entries: &[Entry], task: &Task) -> String {
    let Some(Entry { row, case, .. }) = entries.get(task.entry) else { return String::new() };
    let Task { size, messages, operation, threads, .. } = task;
    let one = if *messages == Messages::One { " one" } else { "" };
    let threads = if *threads > 1 { format!(" x{threads}") } else { String::new() };
    format!("{case}.{size} {} {} {}{one}{threads}", row.format, row.name(), operation.name())
}

/// Loads a row's messages and checks that it reads what it writes. A row that doesn't is left out and reported.
fn ready(files: &Files, entry: &Entry, task: &Task) -> Result<Option<Box<dyn Load>>> {
    let lines = files.messages(entry.case, task.size)?;
    let count_max = if task.messages == Messages::One { 1 } else { usize::MAX };
    let checked = entry.load(&lines, count_max).and_then(|load| {
        let wires: Vec<&[u8]> = load.wires().iter().map(|wire| wire.as_slice()).collect();
        if entry.row.has(Operation::Decode) {
            load.verify(&wires)?;
        }
        load.verify_fields(&wires)?;
        Ok(load)
    });
    if let Err(error) = &checked {
        let (case, size) = (entry.case, task.size);
        eprintln!("{} {} is left out of {case}.{size}: {error:#}", entry.row.format, entry.row.name());
    }
    Ok(checked.ok())
}

/// A figure with its confidence interval, in nanoseconds per operation.
#[derive(Debug)]
struct Estimate {
    ns: f64,
    ns_low: f64,
    ns_high: f64,
}

/// Measures by criterion, which writes its samples and estimates below `folder`.
fn measure(folder: &Path, name: &str, load: &dyn Load, task: &Task) -> Result<Estimate> {
    let mut criterion = Criterion::default()
        .without_plots()
        .output_directory(folder)
        .sample_size(SAMPLES)
        .warm_up_time(WARM_UP)
        .measurement_time(MEASUREMENT)
        .nresamples(RESAMPLES)
        .confidence_level(CONFIDENCE);
    let worker = RefCell::new(load.worker()?);
    let failed = RefCell::new(None);
    criterion.bench_function(name, |bencher| {
        bencher.iter_custom(|count| {
            let timed = if task.threads == 1 {
                timed(&mut **worker.borrow_mut(), task.operation, count)
            } else {
                timed_together(load, task, count)
            };
            timed.unwrap_or_else(|error| {
                failed.borrow_mut().get_or_insert(error);
                // Any time will do, because there is no figure.
                Duration::from_micros(1) * u32::try_from(count).unwrap_or(u32::MAX)
            })
        });
    });
    match failed.into_inner() {
        Some(error) => Err(error),
        None => estimate(folder),
    }
}

/// The time that this many operations take.
fn timed(worker: &mut dyn Worker, operation: Operation, count: u64) -> Result<Duration> {
    let began = Instant::now();
    black_box(worker.run(operation, count)?);
    Ok(began.elapsed())
}

/// The time that this many operations take when all threads share them.
fn timed_together(load: &dyn Load, task: &Task, count: u64) -> Result<Duration> {
    let threads = task.threads as u64;
    let share = count.div_ceil(threads);
    let barrier = Barrier::new(task.threads + 1);
    let elapsed = thread::scope(|scope| {
        let work = || -> Result<()> {
            let worker = load.worker().and_then(|mut worker| {
                // Buffers have grown and schemas are read before the clock starts.
                worker.run(task.operation, 1)?;
                Ok(worker)
            });
            barrier.wait();
            black_box(worker?.run(task.operation, share)?);
            Ok(())
        };
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        barrier.wait();
        let began = Instant::now();
        for handle in handles {
            handle.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??;
        }
        anyhow::Ok(began.elapsed())
    })?;
    // The shares are whole numbers, so a few more operations may have run.
    Ok(elapsed.mul_f64(count as f64 / (share * threads) as f64))
}

/// What criterion wrote: the slope if the samples differ in length, otherwise the mean.
fn estimate(folder: &Path) -> Result<Estimate> {
    let path = found(folder).with_context(|| format!("criterion wrote no estimates below {}", folder.display()))?;
    let estimates: Value = serde_json::from_slice(&fs::read(&path)?)?;
    let typical = estimates.get("slope").filter(|slope| !slope.is_null()).or_else(|| estimates.get("mean"));
    let number = |path: &str| -> Result<f64> {
        let number = typical.and_then(|typical| typical.pointer(path)).and_then(Value::as_f64);
        number.with_context(|| format!("criterion's estimates lack {path}"))
    };
    Ok(Estimate {
        ns: number("/point_estimate")?,
        ns_low: number("/confidence_interval/lower_bound")?,
        ns_high: number("/confidence_interval/upper_bound")?,
    })
}

/// The file of the estimates; criterion derives the folder's name from the figure's.
fn found(folder: &Path) -> Option<PathBuf> {
    let folders = fs::read_dir(folder).ok()?;
    let mut paths = folders.flatten().map(|entry| entry.path().join("new").join("estimates.json"));
    paths.find(|path| path.exists())
}

/// Bytes that an operation requests from the allocator once buffers have grown.
fn allocated(load: &dyn Load, operation: Operation) -> Result<u64> {
    let mut worker = load.worker()?;
    let count = load.count() as u64;
    worker.run(operation, count)?;
    let (result, bytes) = bytes_of(|| worker.run(operation, count));
    result?;
    Ok(bytes / count)
}

/// The fields that all lines of a run share.
struct About {
    run: String,
    commit: String,
    machine: Value,
    extent: Extent,
}

impl About {
    fn new(extent: Extent) -> About {
        let from = |name| std::env::var(name).unwrap_or_default();
        About { run: from("LAB_RUN"), commit: from("LAB_COMMIT"), machine: machine::describe(), extent }
    }

    fn line(&self, entry: &Entry, task: &Task, estimate: &Estimate, alloc_bytes: Option<u64>) -> Value {
        let mut line = json!({
            "run": self.run,
            "commit": self.commit,
            "time": jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_default().to_string(),
            "machine": self.machine,
            "language": "rust",
            "runtime": versions::RUNTIME,
            "harness": format!("criterion {}", versions::of("criterion")),
            "format": entry.row.format,
            "library": entry.row.library,
            "version": versions::of(entry.row.library),
            "variant": entry.row.variant,
            "case": entry.case,
            "size": task.size,
            "messages": if task.messages == Messages::One { "one" } else { "varied" },
            "operation": task.operation.name(),
            "threads": task.threads,
            "ns": estimate.ns,
            "ns_low": estimate.ns_low,
            "ns_high": estimate.ns_high,
            "confidence": CONFIDENCE,
            "alloc_bytes": alloc_bytes,
        });
        if let (Extent::Quick, Some(line)) = (self.extent, line.as_object_mut()) {
            line.insert("quick".to_owned(), Value::Bool(true));
        }
        line
    }
}
