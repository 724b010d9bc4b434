//! One world: a disk, and a broker that lives several times on it while producers append.

use super::disk::{Disk, Faults, Lie, Seen};
use super::history::{History, Records, Violation};
use super::producers::World;
use crate::clock::Clock;
use crate::journal::{FORGETS_END, Journal, JournalConfig, MergeConfig};
use crate::store::Store;
use crate::store::disk::device::Device;
use crate::store::disk::journal::{DiskStore, ahead, walk};
use crate::store::disk::open_files::OpenFiles;
use crate::store::disk::options::{Durability, Options};
use crate::store::lock::DirLock;
use crate::store_error::StoreError;
use rawline_batch::{Checker, Limits as BatchLimits};
use rawline_journal::{Limits, MergeLimits, PartitionId};
use rawline_testkit::batches::records_of;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// How long a broker may take to answer everything once all is well.
const CALM: Duration = Duration::from_secs(600);

/// A broker's own clock, which nothing may depend on.
struct Wrong;

impl Clock for Wrong {
    fn now_us(&self) -> u64 {
        42
    }
}

/// The history of a world.
pub struct Told {
    pub violations: Vec<Violation>,
    pub trace: Vec<String>,
    pub seen: Seen,
}

/// Runs the world of a seed.
pub fn run(seed: u64, lie: Option<Lie>) -> Told {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    // Files in memory, if the system has such: durability is simulated here.
    let memory = Path::new("/dev/shm");
    let root = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    walk::TAKES_TORN.set(lie == Some(Lie::TakeTorn));
    ahead::OVERWRITES.set(lie == Some(Lie::OverwriteObjects));
    FORGETS_END.set(lie == Some(Lie::ForgetEnd));
    let told = runtime.block_on(live(root.path(), seed, lie));
    walk::TAKES_TORN.set(false);
    ahead::OVERWRITES.set(false);
    FORGETS_END.set(false);
    told
}

/// A running broker.
struct Life {
    journal: Journal,
    task: JoinHandle<()>,
    _lock: Arc<DirLock>,
}

async fn live(root: &Path, seed: u64, lie: Option<Lie>) -> Told {
    let disk = Disk::new(root, seed, lie);
    let may_lose = disk.random(|random| random.u8(0..4)) == 0;
    let (partitions, producers) = disk.random(|random| (random.u32(1..=3), random.usize(2..=4)));
    let durability = if may_lose { Durability::PageCache } else { Durability::Fsync };
    let segment_bytes = disk.random(|random| random.u64(4 << 10..16 << 10));
    let options = Options { durability, segment_bytes };
    let mut history = History::default();
    history.may_lose = may_lose;
    let world = World {
        disk: disk.clone(),
        journal: Arc::default(),
        history: Arc::new(Mutex::new(history)),
        partitions,
        topic: Arc::default(),
    };
    let mut tasks = world.start(producers, may_lose);
    let lives = disk.random(|random| random.u64(2..6));
    for run in 1..=lives {
        let (faults, calls) = disk.random(|random| {
            let faults = Faults {
                sync: random.u16(0..30),
                write: random.u16(0..30),
                other: random.u16(0..20),
                full: random.u16(0..40),
            };
            let faults = if random.bool() { faults } else { Faults::default() };
            (faults, random.u64(1..400))
        });
        let device = disk.begin(faults, Some(calls));
        world.survive(device, options, run, faults == Faults::default()).await;
    }
    let device = disk.begin(Faults::default(), None);
    world.end(device, options, lives + 1, &mut tasks).await;
    tasks.iter().for_each(JoinHandle::abort);
    let (trace, seen) = (disk.take_trace(), disk.seen());
    let violations = std::mem::take(&mut world.history.lock().unwrap().violations);
    Told { violations, trace, seen }
}

fn settings(store: &DiskStore, run: u64) -> JournalConfig {
    let settings = store.settings(JournalConfig::new(run));
    let merge = settings.merge.clone().unwrap();
    JournalConfig {
        limits: Limits { batch_wait: Duration::ZERO, object_bytes: 800, concurrent_bytes: 100, ..settings.limits },
        snapshot_objects: 12,
        snapshot_interval: Duration::from_secs(3),
        // Every other life has a part for each topic and partition.
        snapshot_part_bytes: if run.is_multiple_of(2) { settings.snapshot_part_bytes } else { 1 },
        garbage_interval: Duration::from_secs(1),
        merge: Some(MergeConfig {
            limits: MergeLimits {
                target_bytes: 4_000,
                keep_bytes: 1_500,
                objects_max: 12,
                piece_bytes: 1_500,
                ..merge.limits
            },
            look_objects: 5,
            wait: None,
            ..merge
        }),
        ..settings
    }
}

impl World {
    /// Opens the directory. Everything that blocks happens here.
    fn open(&self, device: super::disk::Handle, options: Options, run: u64) -> Result<Life, StoreError> {
        let lock = Arc::new(DirLock::acquire(&self.disk.root)?);
        let files = Arc::new(OpenFiles::on(Arc::new(device)));
        let store = DiskStore::open(&self.disk.root, options, &files, &lock)?;
        let config = settings(&store, run);
        let (journal, task) = Journal::new(Arc::new(store), Arc::new(Wrong), config);
        Ok(Life { journal, task: tokio::spawn(task), _lock: lock })
    }

    /// A life that ends badly. `is_sound`: no call fails before that.
    async fn survive(&self, device: super::disk::Handle, options: Options, run: u64, is_sound: bool) {
        match self.open(device, options, run) {
            Ok(life) => {
                self.check(&life, is_sound).await;
                *self.journal.lock().unwrap() = Some(life.journal.clone());
                let patience = Duration::from_millis(self.disk.random(|random| random.u64(100..20_000)));
                let dies = async {
                    while !self.disk.is_dead() {
                        sleep(Duration::from_millis(7)).await;
                    }
                };
                // One whose store has failed makes no calls any more.
                let _ = timeout(patience, dies).await;
                self.bury(life).await;
            }
            Err(error) if is_sound && !self.disk.is_dead() => {
                self.violate(Violation::Refused { reason: error.to_string() });
            }
            Err(_) => self.disk.note(|| "it did not start".to_owned()),
        }
        self.disk.end();
        let loses_power = self.disk.random(fastrand::Rng::bool);
        if loses_power {
            self.disk.lose_power();
        } else {
            self.disk.kill();
        }
        // A failed sync loses what only the cache has.
        let may_have_lost = loses_power || self.disk.seen().failed_syncs > 0;
        let mut history = self.history.lock().unwrap();
        history.may_have_lost |= history.may_lose && may_have_lost;
    }

    /// The last life: all is well, and everybody gets a response.
    async fn end(&self, device: super::disk::Handle, options: Options, run: u64, tasks: &mut [JoinHandle<()>]) {
        self.disk.calm();
        let life = match self.open(device, options, run) {
            Ok(life) => life,
            Err(error) => return self.violate(Violation::Refused { reason: error.to_string() }),
        };
        self.check(&life, true).await;
        *self.journal.lock().unwrap() = Some(life.journal.clone());
        sleep(Duration::from_secs(2)).await;
        self.history.lock().unwrap().ends = true;
        if timeout(CALM, futures_util::future::join_all(tasks)).await.is_err() {
            self.violate(Violation::Stuck { what: "a producer waits although all is well".to_owned() });
        }
        self.check(&life, true).await;
        self.bury(life).await;
        // And once more, by a run that has only the directory.
        self.disk.end();
        self.disk.kill();
        let device = self.disk.begin(Faults::default(), None);
        match self.open(device, options, run + 1) {
            Ok(life) => {
                self.check(&life, true).await;
                self.bury(life).await;
            }
            Err(error) => self.violate(Violation::Refused { reason: error.to_string() }),
        }
        self.disk.end();
        self.disk.kill();
        self.tamper(options, run + 2).await;
    }

    /// An operator deletes the newest segment after an orderly end, or cuts it where an object begins. No loss is
    /// silent: a start refuses, or nothing is missing that was known.
    async fn tamper(&self, options: Options, run: u64) {
        let device = self.disk.begin(Faults::default(), None);
        let Life { journal, task, _lock } = match self.open(device, options, run) {
            Ok(life) => life,
            Err(error) => return self.violate(Violation::Refused { reason: error.to_string() }),
        };
        let ready = journal.ready().await;
        drop(journal);
        if ready.is_err() || timeout(CALM, task).await.is_err() {
            self.violate(Violation::Stuck { what: format!("it doesn't end in order: {ready:?}") });
        }
        drop(_lock);
        self.disk.end();
        self.disk.kill();
        let segments = std::fs::read_dir(self.disk.root.join("journal")).unwrap().map(|file| file.unwrap().path());
        let newest = segments.filter(|path| path.extension().is_some_and(|ending| ending == "seg")).max();
        let Some(newest) = newest else { return };
        let bytes = std::fs::read(&newest).unwrap();
        let frames: Vec<usize> = (0..bytes.len()).step_by(8).filter(|at| bytes[*at..].starts_with(b"RAWF")).collect();
        let at = self.disk.random(|random| random.usize(0..frames.len().max(1)));
        let name = newest.file_name().unwrap();
        self.disk.note(|| format!("{name:?} is cut before its object {at} of {}", frames.len()));
        // Through the simulated disk, which knows its contents.
        let device = self.disk.begin(Faults::default(), None);
        match frames.get(at) {
            Some(frame) if at > 0 => {
                let file = std::fs::File::options().write(true).open(&newest).unwrap();
                device.set_len(&file, *frame as u64).unwrap();
                device.sync(&file).unwrap();
            }
            _ => device.remove(&newest).unwrap(),
        }
        device.sync_dir(&self.disk.root.join("journal")).unwrap();
        self.disk.end();
        let device = self.disk.begin(Faults::default(), None);
        if let Ok(life) = self.open(device, options, run + 1) {
            if life.journal.ready().await.is_ok() {
                self.check(&life, true).await;
            } else {
                self.disk.saw(|seen| seen.refusals += 1);
            }
            let Life { journal, task, _lock } = life;
            drop(journal);
            task.abort();
            let _ = task.await;
        } else {
            self.disk.saw(|seen| seen.refusals += 1);
        }
        self.disk.end();
    }

    /// Ends the broker's task wherever it is.
    async fn bury(&self, life: Life) {
        *self.journal.lock().unwrap() = None;
        let Life { journal, task, _lock } = life;
        drop(journal);
        self.disk.end();
        if task.is_finished() {
            self.violate(Violation::Stuck { what: "the journal's task has ended".to_owned() });
        }
        task.abort();
        let _ = task.await;
    }

    /// Compares the broker's records with the known ones. `is_sound`: the disk works.
    async fn check(&self, life: &Life, is_sound: bool) {
        let ready = life.journal.ready().await;
        if self.disk.is_dead() {
            return;
        }
        if let Err(error) = ready {
            if is_sound {
                self.violate(Violation::Stuck { what: format!("not ready: {error}") });
            }
            return;
        }
        let (mut found, mut ends) = (Records::new(), BTreeMap::new());
        for partition in self.partitions() {
            let offsets = life.journal.offsets(partition);
            if !self.read_all(&life.journal, partition, &mut found).await {
                return;
            }
            ends.insert(partition, offsets);
        }
        self.disk.note(|| format!("found {ends:?}"));
        self.history.lock().unwrap().compare(&found, &ends);
    }

    /// Reads a partition. False if the disk has died meanwhile.
    async fn read_all(&self, journal: &Journal, partition: PartitionId, found: &mut Records) -> bool {
        let offsets = journal.offsets(partition);
        let (mut offset, until) = (offsets.start, Instant::now() + CALM);
        while offset < offsets.end {
            let read = timeout(CALM, journal.read(partition, offset)).await;
            if self.disk.is_dead() {
                return false;
            }
            let reason = match read {
                Ok(Ok(Some(piece))) if is_intact(&piece.batches) => {
                    let texts = records_of(&piece.batches).into_iter().map(|text| String::from_utf8(text).unwrap());
                    let here = (piece.first_offset..).zip(texts).filter(|(at, _)| *at >= offset);
                    found.extend(here.map(|(at, text)| ((partition, at), text)));
                    assert!(piece.next_offset > offset);
                    offset = piece.next_offset;
                    continue;
                }
                Ok(Ok(Some(_))) => "damaged".to_owned(),
                Ok(Ok(None)) => "missing".to_owned(),
                // It is somewhere else now.
                Ok(Err(error)) if error.is_gone && Instant::now() < until => {
                    sleep(Duration::from_millis(20)).await;
                    continue;
                }
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no response".to_owned(),
            };
            self.violate(Violation::Unreadable { partition, offset, reason });
            return false;
        }
        true
    }

    pub fn violate(&self, violation: Violation) {
        self.history.lock().unwrap().violate(violation);
    }
}

fn is_intact(batches: &[u8]) -> bool {
    let mut checker = Checker::new(BatchLimits::FORMAT);
    checker.push(batches).is_ok() && checker.finish().is_ok()
}
