//! A disk that fails as a seed determines: files are real, and the state that would survive a power failure is kept
//! next to them.
//!
//! Each call is one event. The machine goes down at one of them: from then on every call fails. The state after a power
//! failure is an image: of the unsynced changes, each write, each of its sectors, each change of a length and each
//! change of a name is either kept or lost.

use super::image::{Change, Data, Keep, Names};
use crate::store::disk::device::{Device, System, Work};
use bytes::Bytes;
use rustix::io::Errno;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The directories of a journal, which exist from the beginning.
pub const DIRS: [&str; 3] = ["journal", "journal/merged", "journal/snapshots"];

/// A planted bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    /// Syncs of segments do nothing.
    SkipSegmentSync,
    /// Syncs of the directory of snapshots do nothing.
    SkipSnapshotNameSync,
    /// Syncs of the directory of segments do nothing.
    SkipSegmentNameSync,
    /// A start takes objects whose batches are torn.
    TakeTorn,
    /// Zeros that are written ahead of the objects overwrite the newest ones.
    OverwriteObjects,
    /// An orderly end leaves no snapshot.
    ForgetEnd,
}

/// How often something went wrong.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    pub power_failures: usize,
    pub kills: usize,
    pub lost_changes: usize,
    pub lost_names: usize,
    pub failed_syncs: usize,
    pub failed_writes: usize,
    pub failed_others: usize,
    pub full: usize,
    pub snapshots: usize,
    pub merged: usize,
    pub deleted: usize,
    pub lives: usize,
    pub acknowledged: usize,
    pub denied: usize,
    pub refusals: usize,
}

impl Seen {
    pub fn add(&mut self, other: &Seen) {
        self.power_failures += other.power_failures;
        self.kills += other.kills;
        self.lost_changes += other.lost_changes;
        self.lost_names += other.lost_names;
        self.failed_syncs += other.failed_syncs;
        self.failed_writes += other.failed_writes;
        self.failed_others += other.failed_others;
        self.full += other.full;
        self.snapshots += other.snapshots;
        self.merged += other.merged;
        self.deleted += other.deleted;
        self.lives += other.lives;
        self.acknowledged += other.acknowledged;
        self.denied += other.denied;
        self.refusals += other.refusals;
    }

    /// Whether everything that can happen has happened.
    pub fn is_eventful(&self) -> bool {
        let lost = [self.power_failures, self.kills, self.lost_changes, self.lost_names];
        let failed = [self.failed_syncs, self.failed_writes, self.failed_others, self.full, self.denied, self.refusals];
        let worked = [self.snapshots, self.merged, self.deleted];
        lost.iter().chain(&failed).chain(&worked).all(|count| *count > 0) && self.acknowledged > 1000
    }
}

/// How likely calls fail in a life, in permille.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    pub sync: u16,
    pub write: u16,
    pub other: u16,
    /// The disk becomes full, or has room again.
    pub full: u16,
}

struct State {
    random: fastrand::Rng,
    lie: Option<Lie>,
    /// Blocks can't be allocated before they are written.
    allocates: bool,
    faults: Faults,
    is_full: bool,
    /// The life that the disk serves; calls of earlier ones fail.
    life: u64,
    calls: u64,
    dies_at: Option<u64>,
    is_dead: bool,
    /// By number.
    data: Vec<Data>,
    by_inode: HashMap<u64, usize>,
    names: BTreeMap<PathBuf, Names>,
    /// Work that begins later.
    works: BTreeMap<u64, Work>,
    works_begun: u64,
    trace: Vec<String>,
    seen: Seen,
}

/// A disk, as a world sees it.
pub struct Disk {
    pub root: PathBuf,
    state: Mutex<State>,
    started: Instant,
    me: Weak<Disk>,
}

/// The disk, as one life of a broker sees it.
pub struct Handle {
    disk: Arc<Disk>,
    life: u64,
}

impl Disk {
    pub fn new(root: &Path, seed: u64, lie: Option<Lie>) -> Arc<Disk> {
        let mut random = fastrand::Rng::with_seed(seed);
        let allocates = random.u8(0..4) > 0;
        DIRS.iter().for_each(|dir| fs::create_dir_all(root.join(dir)).unwrap());
        let names = DIRS.iter().map(|dir| (PathBuf::from(dir), Names::default())).collect();
        let state = State {
            random,
            lie,
            allocates,
            faults: Faults::default(),
            is_full: false,
            life: 0,
            calls: 0,
            dies_at: None,
            is_dead: true,
            data: Vec::new(),
            by_inode: HashMap::new(),
            names,
            works: BTreeMap::new(),
            works_begun: 0,
            trace: Vec::new(),
            seen: Seen::default(),
        };
        let started = Instant::now();
        Arc::new_cyclic(|me| Disk { root: root.to_owned(), state: Mutex::new(state), started, me: me.clone() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn random<T>(&self, draw: impl FnOnce(&mut fastrand::Rng) -> T) -> T {
        draw(&mut self.state().random)
    }

    /// Notes an event, with the time.
    pub fn note(&self, event: impl FnOnce() -> String) {
        let at = self.started.elapsed().as_millis();
        self.state().trace.push(format!("{at:>7} {}", event()));
    }

    pub fn saw(&self, count: impl FnOnce(&mut Seen)) {
        count(&mut self.state().seen);
    }

    pub fn seen(&self) -> Seen {
        self.state().seen
    }

    /// The events so far.
    pub fn take_trace(&self) -> Vec<String> {
        std::mem::take(&mut self.state().trace)
    }

    pub fn is_dead(&self) -> bool {
        self.state().is_dead
    }

    /// Starts a life with these faults, which ends at the call of this number.
    pub fn begin(&self, faults: Faults, dies_at: Option<u64>) -> Handle {
        let mut state = self.state();
        assert!(state.is_dead && state.works.is_empty(), "two brokers at once");
        state.life += 1;
        state.seen.lives += 1;
        (state.is_dead, state.is_full, state.calls) = (false, false, 0);
        (state.faults, state.dies_at) = (faults, dies_at);
        let (life, me) = (state.life, self.me.upgrade());
        drop(state);
        self.note(|| format!("life {life}: {faults:?}, until call {dies_at:?}"));
        Handle { disk: me.unwrap(), life }
    }

    /// From now on nothing fails.
    pub fn calm(&self) {
        let mut state = self.state();
        (state.faults, state.is_full, state.dies_at) = (Faults::default(), false, None);
    }

    /// The broker is gone: no call does anything, and its work is dropped.
    pub fn end(&self) {
        let mut state = self.state();
        state.is_dead = true;
        let works = std::mem::take(&mut state.works);
        drop(state);
        // What they hold may call.
        drop(works);
    }

    /// The process was killed: the system keeps everything.
    pub fn kill(&self) {
        self.note(|| "the broker was killed".to_owned());
        self.saw(|seen| seen.kills += 1);
        assert!(self.is_dead());
    }

    /// The power failed: any part of the unsynced data may be there.
    pub fn lose_power(&self) {
        self.note(|| "the power failed".to_owned());
        let mut state = self.state();
        assert!(state.is_dead);
        let State { random, data, names, seen, .. } = &mut *state;
        let keep = Keep::random(random);
        let (mut lost_changes, mut lost_names) = (0, 0);
        names.values_mut().for_each(|names| lost_names += names.lose(keep, random));
        data.iter_mut().for_each(|data| lost_changes += data.lose(Keep::random(random), random));
        seen.power_failures += 1;
        seen.lost_changes += lost_changes;
        seen.lost_names += lost_names;
        state.by_inode.clear();
        let mut files = Vec::new();
        for (dir, names) in &state.names {
            for entry in fs::read_dir(self.root.join(dir)).unwrap() {
                let path = entry.unwrap().path();
                if path.is_file() {
                    fs::remove_file(path).unwrap();
                }
            }
            for (name, id) in names.all() {
                let path = self.root.join(dir).join(name);
                fs::write(&path, state.data[*id].durable()).unwrap();
                files.push((fs::metadata(&path).unwrap().ino(), *id, format!("{}/{name}", dir.display())));
            }
        }
        state.by_inode.extend(files.iter().map(|(inode, id, _)| (*inode, *id)));
        drop(state);
        let files: Vec<_> = files.into_iter().map(|(_, _, name)| name).collect();
        self.note(|| format!("{keep:?}: {lost_changes} changes and {lost_names} names are lost, left: {files:?}"));
    }
}

impl State {
    /// Fails after the call at which the machine went down, and perhaps before.
    fn happens(&mut self, permille: u16) -> bool {
        self.random.u16(0..1000) < permille
    }

    fn of(&mut self, file: &File) -> usize {
        self.by_inode[&file.metadata().unwrap().ino()]
    }

    fn dir(&mut self, root: &Path, path: &Path) -> (&mut Names, String) {
        let dir = path.parent().unwrap().strip_prefix(root).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (self.names.get_mut(dir).unwrap(), name)
    }
}

impl Handle {
    /// Counts a call. An error if the machine is down, or goes down now; then the call may still have its effect:
    /// `Ok(true)` is a call that has it without anyone getting to know.
    fn call(&self, what: impl FnOnce() -> String) -> io::Result<(MutexGuard<'_, State>, bool)> {
        let mut state = self.disk.state();
        if state.is_dead || state.life != self.life {
            return Err(Errno::IO.into());
        }
        state.calls += 1;
        let (at, calls) = (self.disk.started.elapsed().as_millis(), state.calls);
        state.trace.push(format!("{at:>7} call {calls}: {}", what()));
        state.is_dead = state.dies_at.is_some_and(|dies_at| calls >= dies_at);
        let full = state.faults.full;
        if state.happens(full) {
            state.is_full = !state.is_full;
            let is_full = state.is_full;
            state.trace.push(format!("{at:>7} the disk is full: {is_full}"));
        }
        let dies = state.is_dead;
        if dies && state.random.bool() {
            return Err(Errno::IO.into());
        }
        Ok((state, dies))
    }

    fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.disk.root).unwrap().display().to_string()
    }

    fn fails_otherwise(state: &mut State) -> io::Result<()> {
        let other = state.faults.other;
        if !state.happens(other) {
            return Ok(());
        }
        state.seen.failed_others += 1;
        Err(Errno::IO.into())
    }

    fn ended(dies: bool) -> io::Result<()> {
        if dies { Err(Errno::IO.into()) } else { Ok(()) }
    }
}

impl Device for Handle {
    fn create(&self, path: &Path) -> io::Result<File> {
        let (mut state, dies) = self.call(|| format!("create {}", self.relative(path)))?;
        Handle::fails_otherwise(&mut state)?;
        if state.is_full && state.random.bool() {
            state.seen.full += 1;
            return Err(Errno::NOSPC.into());
        }
        let file = System.create(path)?;
        let id = state.data.len();
        state.data.push(Data::default());
        state.by_inode.insert(file.metadata().unwrap().ino(), id);
        let (names, name) = state.dir(&self.disk.root, path);
        names.set(name, id);
        Handle::ended(dies).map(|()| file)
    }

    fn set_len(&self, file: &File, bytes: u64) -> io::Result<()> {
        let (mut state, dies) = self.call(|| format!("length {bytes}"))?;
        Handle::fails_otherwise(&mut state)?;
        System.set_len(file, bytes)?;
        let id = state.of(file);
        state.data[id].change(Change::Length(bytes as usize));
        Handle::ended(dies)
    }

    fn allocate(&self, _: &File, range: Range<u64>) -> io::Result<()> {
        let (mut state, dies) = self.call(|| format!("allocate {range:?}"))?;
        Handle::fails_otherwise(&mut state)?;
        if !state.allocates {
            return Err(Errno::OPNOTSUPP.into());
        }
        if state.is_full {
            state.seen.full += 1;
            return Err(Errno::NOSPC.into());
        }
        Handle::ended(dies)
    }

    fn write(&self, file: &File, parts: &[Bytes], position: u64) -> io::Result<()> {
        let bytes = parts.concat();
        let (mut state, dies) = self.call(|| format!("write {} at {position}", bytes.len()))?;
        let (write, is_full) = (state.faults.write, state.is_full && !state.allocates);
        let fails = state.happens(write);
        let written = if dies || fails || is_full { state.random.usize(0..=bytes.len()) } else { bytes.len() };
        let (kept, _) = bytes.split_at(written);
        file.write_all_at(kept, position)?;
        let id = state.of(file);
        state.data[id].change(Change::Write { at: position as usize, bytes: kept.into() });
        if is_full {
            state.seen.full += 1;
            return Err(Errno::NOSPC.into());
        }
        if fails {
            state.seen.failed_writes += 1;
            return Err(Errno::IO.into());
        }
        Handle::ended(dies)
    }

    /// The system may write anything at any time.
    fn write_back(&self, _: &File, _: Range<u64>) -> io::Result<()> {
        Ok(())
    }

    fn writes_in_place(&self, _: &Path) -> io::Result<bool> {
        Ok(true)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        let (mut state, dies) = self.call(|| "sync".to_owned())?;
        let id = state.of(file);
        let is_segment = state.names[Path::new("journal")].name_of(id).is_some_and(|name| name.ends_with("seg"));
        if is_segment && state.lie == Some(Lie::SkipSegmentSync) {
            return Handle::ended(dies);
        }
        let sync = state.faults.sync;
        if state.happens(sync) {
            // The kernel takes the pages for clean, whether or not they are on the disk.
            let State { random, data, seen, .. } = &mut *state;
            data[id].lose(Keep::random(random), random);
            seen.failed_syncs += 1;
            return Err(Errno::IO.into());
        }
        state.data[id].sync();
        Handle::ended(dies)
    }

    fn drop_cached(&self, file: &File) -> io::Result<()> {
        self.sync(file)?;
        let mut state = self.disk.state();
        let id = state.of(file);
        if state.data[id].is_pending() {
            // Only clean pages are dropped.
            return Ok(());
        }
        let found = state.names.iter().find_map(|(dir, names)| Some(dir.join(names.name_of(id)?)));
        let path = self.disk.root.join(found.unwrap());
        // In place: the file keeps its inode.
        fs::write(path, state.data[id].durable())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let (mut state, dies) = self.call(|| format!("rename to {}", self.relative(to)))?;
        Handle::fails_otherwise(&mut state)?;
        System.rename(from, to)?;
        let (names, from) = state.dir(&self.disk.root, from);
        names.rename(&from, to.file_name().unwrap().to_str().unwrap());
        let name = self.relative(to);
        state.seen.snapshots += usize::from(name.ends_with("rws"));
        state.seen.merged += usize::from(name.starts_with("journal/merged"));
        Handle::ended(dies)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if !path.exists() {
            return System.remove(path);
        }
        let (mut state, dies) = self.call(|| format!("remove {}", self.relative(path)))?;
        Handle::fails_otherwise(&mut state)?;
        System.remove(path)?;
        state.seen.deleted += usize::from(path.extension().is_some_and(|ending| ending == "seg"));
        let (names, name) = state.dir(&self.disk.root, path);
        names.remove(&name);
        Handle::ended(dies)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let name = self.relative(dir);
        let (mut state, dies) = self.call(|| format!("sync {name}"))?;
        Handle::fails_otherwise(&mut state)?;
        let is_skipped = match state.lie {
            Some(Lie::SkipSnapshotNameSync) => name == "journal/snapshots",
            Some(Lie::SkipSegmentNameSync) => name == "journal",
            _ => false,
        };
        if !is_skipped {
            state.names.get_mut(Path::new(&name)).unwrap().sync();
        }
        Handle::ended(dies)
    }

    fn run(&self, work: Work) {
        let mut state = self.disk.state();
        if state.is_dead || state.life != self.life {
            drop(state);
            return drop(work);
        }
        state.works_begun += 1;
        let number = state.works_begun;
        state.works.insert(number, work);
        let delay = Duration::from_micros(state.random.u64(0..5_000));
        drop(state);
        let disk = self.disk.clone();
        tokio::spawn(async move {
            sleep(delay).await;
            let work = disk.state().works.remove(&number);
            if let Some(work) = work {
                work();
            }
        });
    }
}
