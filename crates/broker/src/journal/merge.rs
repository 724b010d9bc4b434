//! Merges a journal's small objects into large ones, in a task next to the journal's: it copies batches and stores
//! them, and asks the journal's task to begin, end or abandon a merge. Appends never wait for it. `compact.rs` removes
//! records from topics that are compacted, by way of the same merges.

mod compact;
mod dead;
mod keys;
mod pause;
mod rewrite;

use crate::clock::Clock;
use crate::journal::catalog::Catalog;
use crate::journal::copy::{Copied, CopyError, copy};
use crate::journal::error::JournalError;
use crate::journal::request::{Progress, Request};
use crate::journal_config::{JournalConfig, MergeConfig};
use crate::limits::{
    MERGE_FAILURES_MAX, MERGE_LOOK_PIECES, MERGE_NEWS_PARTS, MERGE_PIECES_PER_OBJECT, MERGE_PIECES_PER_YIELD,
    MERGE_PUTS_MAX, MERGE_TOPIC_PIECES,
};
use crate::metrics::METRICS;
use crate::store::Store;
use crate::store_error::StoreError;
use bytes::Bytes;
use compact::Compacted;
pub(super) use dead::Dead;
use dead::Nothing;
use rawline_journal::{
    Control, Id, Joined, Joining, PartitionId, Piece, PutResult, Refused, Source, Used, Uses, choose,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, sleep_until};

/// The state that the journal's task has published.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Published {
    pub objects: u64,
    pub pieces: u64,
    pub bytes: u64,
}

impl Published {
    /// Whether enough was published since `before` to look at it: a part of a worthwhile merge.
    pub fn is_news(self, before: Published, config: &MergeConfig) -> bool {
        let objects = (config.look_objects / MERGE_NEWS_PARTS).max(1);
        let pieces = MERGE_LOOK_PIECES / MERGE_NEWS_PARTS;
        let bytes = (config.limits.target_bytes / MERGE_NEWS_PARTS).max(1);
        self.objects / objects > before.objects / objects
            || self.pieces / pieces > before.pieces / pieces
            || self.bytes / bytes > before.bytes / bytes
    }
}

/// What one merge copies of the chosen objects.
struct Planned {
    joined: Vec<Joined>,
    /// Whether it is the rest of them.
    is_whole: bool,
}

/// Why a merge did not end.
enum Failed {
    /// The journal's task has ended.
    Closed,
    /// It was abandoned, or will be.
    Abandoned,
}

/// The task.
pub(super) struct Merger {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// Weak, so that the journal's task ends when every other handle is dropped.
    inbox: mpsc::WeakSender<Request>,
    catalog: Arc<RwLock<Catalog>>,
    published: watch::Receiver<Published>,
    dead: watch::Receiver<Dead>,
    config: MergeConfig,
    tidies: Arc<AtomicBool>,
    /// Other journals of this broker merge in turn.
    turn: Arc<Semaphore>,
    retry_after: Duration,
    run: u64,
    /// Objects that can't be read: damaged, or gone.
    unreadable: BTreeSet<Source>,
    /// Number of merges in a row that had to be abandoned.
    failures: u32,
    /// Number of pieces when they were last visited.
    pieces: u64,
    /// The last look, if it has found nothing to merge.
    nothing: Option<Nothing>,
    /// How far partitions are compacted.
    compacted: BTreeMap<PartitionId, Compacted>,
}

impl Merger {
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        inbox: mpsc::WeakSender<Request>,
        catalog: Arc<RwLock<Catalog>>,
        (published, dead): (watch::Receiver<Published>, watch::Receiver<Dead>),
        settings: &JournalConfig,
        config: MergeConfig,
    ) -> Self {
        let (retry_after, run) = (settings.limits.retry_after, settings.run);
        let turn = catalog.read().unwrap_or_else(PoisonError::into_inner).together().turn.clone();
        let (failures, pieces, nothing, compacted) = (0, 0, None, BTreeMap::new());
        Merger {
            store,
            clock,
            inbox,
            catalog,
            published,
            dead,
            config,
            tidies: settings.tidies.clone(),
            turn,
            retry_after,
            run,
            unreadable: BTreeSet::new(),
            failures,
            pieces,
            nothing,
            compacted,
        }
    }

    /// Merges until the journal's task has ended, from when the journal's end is known.
    pub async fn run(mut self, mut progress: watch::Receiver<Progress>) {
        // The error means that the task has ended.
        let _ = progress.wait_for(|progress| *progress != Progress::Reading).await;
        let mut looked = Published::default();
        // As far as is known: the oldest are merged first.
        let mut merged = Published::default();
        // The collector's result at the last look that didn't lead to a merge.
        let mut dead = 0;
        // Whether something was published since topics were compacted.
        let mut has_news = false;
        // The open merge, and when this broker has seen it first.
        let mut open: Option<(u64, Instant)> = None;
        loop {
            open = match (self.catalog().open_merge(), open) {
                (Some(merge), Some((known, since))) if merge == known => Some((merge, since)),
                (Some(merge), _) => Some((merge, Instant::now())),
                (None, _) => None,
            };
            let proceeded = match open {
                // It is another broker's, or this one doesn't know how the request to end it ended.
                Some((merge, since)) => tokio::select! {
                    biased;
                    changed = self.published.changed() => changed.map_err(|_| Failed::Closed),
                    () = sleep_until(since + self.config.abandon_after) => {
                        open = None;
                        self.abandon(merge).await
                    }
                },
                None if self.tidies() && (self.is_due(looked) || self.is_dead(dead)) => {
                    if let Err(Failed::Closed) = self.pause(merged).await {
                        return;
                    }
                    let _turn = self.turn.clone().acquire_owned().await;
                    let (now, Dead { files, found }) =
                        (*self.published.borrow_and_update(), self.dead.borrow_and_update().clone());
                    self.nothing = None;
                    match self.merge().await {
                        // There may be more.
                        Ok(Some(more)) => {
                            (self.failures, merged) = (0, merged.and(more).min(now));
                            Ok(())
                        }
                        Ok(None) => {
                            (looked, merged, has_news) = (now, now, true);
                            dead = found;
                            self.nothing = Some(Nothing { objects: now.objects, files });
                            Ok(())
                        }
                        Err(Failed::Abandoned) => {
                            self.failures += 1;
                            (looked, dead) = (now, found);
                            Ok(())
                        }
                        Err(Failed::Closed) => Err(Failed::Closed),
                    }
                }
                None if self.tidies() && has_news => {
                    has_news = false;
                    let _turn = self.turn.clone().acquire_owned().await;
                    self.compact().await
                }
                None => {
                    let changed = tokio::select! {
                        biased;
                        published = self.published.changed() => {
                            has_news = true;
                            published
                        }
                        dead = self.dead.changed() => dead,
                    };
                    changed.map_err(|_| Failed::Closed)
                }
            };
            if let Err(Failed::Closed) = proceeded {
                return;
            }
        }
    }

    /// Whether this broker is the one to merge. Another one would have to download what the owner has in its cache, and
    /// make the owner lose races.
    fn tidies(&self) -> bool {
        self.tidies.load(Ordering::Relaxed)
    }

    /// Whether it is time to look. A walk over all pieces has to be worth its time: `looked` is what was published when
    /// the last one found nothing.
    fn is_due(&self, looked: Published) -> bool {
        let now = *self.published.borrow();
        assert!(now.objects >= looked.objects && now.bytes >= looked.bytes, "{now:?} after {looked:?}");
        let rarely = self.rarely();
        let (objects, bytes) = (now.objects - looked.objects, now.bytes - looked.bytes);
        let is_enough = objects >= self.config.look_objects * rarely
            || now.pieces - looked.pieces >= MERGE_LOOK_PIECES * rarely
            || bytes >= self.config.limits.target_bytes / 2 * rarely;
        is_enough && objects >= self.pieces / MERGE_PIECES_PER_OBJECT
    }

    /// Whether the collector has found this much garbage since `looked`. It repeats its findings until a snapshot is
    /// newer.
    fn is_dead(&self, looked: u64) -> bool {
        let (dead, objects) = (self.dead.borrow(), self.published.borrow().objects);
        let is_news = self.nothing.as_ref().is_none_or(|nothing| nothing.is_over(&dead.files, objects));
        is_news && dead.found - looked >= self.rarely()
    }

    /// A merge that has failed several times, and costs its bytes each time, is retried less often.
    fn rarely(&self) -> u64 {
        1 << self.failures.min(MERGE_FAILURES_MAX)
    }

    /// Merges objects once, into one or more. Returns about how much; `None` if there is nothing to merge, or another
    /// broker does.
    async fn merge(&mut self) -> Result<Option<Published>, Failed> {
        let (chosen, uses) = self.choose().await;
        if chosen.is_empty() {
            return Ok(None);
        }
        let frees_file = self.end_file(&chosen, &uses).await;
        drop(uses);
        let mut all = Published { objects: chosen.len() as u64, ..Published::default() };
        let Some(mut merge) = self.begin().await? else { return Ok(None) };
        // Chosen once more: by now the last objects of the ended file are published.
        let (sources, _) = self.choose().await;
        let mut from = 0;
        let is_whole = loop {
            let planned = self.plan(&sources, from).await;
            // The next object continues in this topic or a later one.
            from = planned.joined.last().map_or(from, |joined| joined.partition.topic);
            let pieces = planned.joined.iter().flat_map(|joined| &joined.pieces);
            let pieces = pieces.filter(|piece| !piece.place.source.is_merged()).count() as u64;
            let stored = self.store_merged(merge, &planned.joined).await;
            let bytes = stored.as_ref().ok().and_then(Option::as_ref).map_or(0, |(_, bytes)| *bytes);
            let is_whole = !self.end(merge, stored).await? || planned.is_whole;
            all = all.and(Published { objects: 0, pieces, bytes });
            if is_whole {
                break true;
            }
            match self.begin().await? {
                Some(next) => merge = next,
                None => break false,
            }
        };
        if frees_file && is_whole {
            let inbox = self.inbox.upgrade().ok_or(Failed::Closed)?;
            inbox.send(Request::Copied).await.map_err(|_| Failed::Closed)?;
        }
        Ok((all.bytes > 0).then_some(all))
    }

    /// Begins a merge, unless another broker has one open.
    async fn begin(&self) -> Result<Option<u64>, Failed> {
        match self.ask(Control::BeginMerge { merge: 0 }).await {
            Ok(merge) => Ok(Some(merge)),
            Err(JournalError::Refused(Refused::MergeOpen { .. })) => Ok(None),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Ends the open merge with the control record of the stored object, or abandons it. False if there was
    /// nothing to store.
    async fn end(&self, merge: u64, stored: Result<Option<(Control, u64)>, StoreError>) -> Result<bool, Failed> {
        let (end, bytes) = match stored {
            Ok(Some(stored)) => stored,
            // The reason for the merge no longer exists.
            Ok(None) => return self.abandon(merge).await.map(|()| false),
            Err(error) => {
                tracing::warn!(merge, %error, "objects of the journal can't be merged now; trying later");
                self.abandon(merge).await?;
                return Err(Failed::Abandoned);
            }
        };
        match self.ask(end).await {
            Ok(_) => {
                tracing::debug!(merge, bytes, "merged objects of the journal");
                METRICS.merges.merged(bytes);
                Ok(true)
            }
            Err(JournalError::NotStored | JournalError::Store(_)) => {
                self.abandon(merge).await?;
                Err(Failed::Abandoned)
            }
            Err(error) => Err(failed(&error)),
        }
    }

    /// Copies the pieces of the open merge and stores them. Returns the control record that ends the merge.
    async fn store_merged(&mut self, merge: u64, joined: &[Joined]) -> Result<Option<(Control, u64)>, StoreError> {
        if joined.is_empty() {
            return Ok(None);
        }
        let id = Id { run: self.run, commit: merge };
        let copied = match copy(&*self.store, merge, id, joined).await {
            Ok(copied) => copied,
            Err(CopyError::Unreadable { source, error }) => {
                tracing::error!(?source, %error, "an object of the journal can't be read, and is not merged");
                self.unreadable.insert(source);
                return Err(error);
            }
            Err(CopyError::Failed(error)) => return Err(error),
        };
        self.store_copied(merge, id, copied).await.map(Some)
    }

    /// Stores the object of the open merge. Returns the control record that ends the merge, and the object's size.
    async fn store_copied(&self, merge: u64, id: Id, copied: Copied) -> Result<(Control, u64), StoreError> {
        let Copied { parts, pieces } = copied;
        let bytes = parts.iter().map(|part| part.len() as u64).sum();
        self.put(Source::Merged(merge), id, parts, bytes).await?;
        Ok((Control::EndMerge { merge, pieces }, bytes))
    }

    /// Stores a merged object. When this returns without an error, the object is certainly there.
    async fn put(&self, source: Source, id: Id, parts: Vec<Bytes>, bytes: u64) -> Result<(), StoreError> {
        for _ in 0..MERGE_PUTS_MAX {
            let created = self.store.create(source, parts.clone()).await;
            // Sending parts of mapped files reads them.
            parts.iter().for_each(|part| self.store.touched(part));
            match created {
                PutResult::Created { .. } | PutResult::Found { .. } => return Ok(()),
                PutResult::NotStored | PutResult::Unknown => sleep(self.retry_after).await,
                PutResult::Exists => {
                    let found = self.store.index(source).await?.found;
                    let is_ours = |header: &rawline_journal::Header| {
                        (header.link.id, header.object_bytes, header.source()) == (id, bytes, source)
                    };
                    return match found {
                        Some(stored) if is_ours(&stored.index.header) => Ok(()),
                        _ => Err(StoreError::human(format!("{source:?} is not what this broker has stored"))),
                    };
                }
            }
        }
        Err(StoreError::wait(format!("the store doesn't take {source:?}")))
    }

    async fn abandon(&self, merge: u64) -> Result<(), Failed> {
        match self.ask(Control::AbandonMerge { merge }).await {
            Ok(_) => {
                METRICS.merges.abandoned.add(1);
                Ok(())
            }
            // It has ended meanwhile.
            Err(JournalError::Refused(_)) => Ok(()),
            Err(error) => match failed(&error) {
                Failed::Closed => Err(Failed::Closed),
                // While it is open, another attempt follows.
                Failed::Abandoned => Ok(()),
            },
        }
    }

    async fn ask(&self, control: Control) -> Result<u64, JournalError> {
        let (answer, answered) = oneshot::channel();
        let inbox = self.inbox.upgrade().ok_or(JournalError::Closed)?;
        let sent = inbox.send(Request::Change { control, answer }).await;
        drop(inbox);
        sent.map_err(|_| JournalError::Closed)?;
        answered.await.unwrap_or(Err(JournalError::Closed))
    }

    fn catalog(&self) -> RwLockReadGuard<'_, Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The objects that a merge copies now, and of which it was chosen.
    async fn choose(&mut self) -> (BTreeSet<Source>, Uses) {
        let (limits, sparse) = (self.config.limits, self.dead.borrow().files.clone());
        // On a directory, nearly all objects stay as they are. Nothing is added up for them, so they need no memory.
        let (mut candidates, mut pieces) = (BTreeSet::new(), 0);
        let look = |_, piece: Piece, _| {
            pieces += 1;
            if limits.may_choose(&piece, &sparse) {
                candidates.insert(piece.place.source);
            }
        };
        self.each_piece(0, look).await;
        self.pieces = pieces;
        let mut uses = Uses::default();
        let add = |partition, piece: Piece, _| {
            if candidates.contains(&piece.place.source) {
                uses.add(partition, &piece);
            }
        };
        self.each_piece(0, add).await;
        (choose(&uses, &sparse, &limits).into_iter().collect(), uses)
    }

    /// Ends the file that the next objects would be appended to, if most of it is about to be merged: then the merge
    /// frees it. Returns whether it did.
    async fn end_file(&self, chosen: &BTreeSet<Source>, uses: &Uses) -> bool {
        let growing = || self.store.shared_files(0).into_iter().find(|file| file.grows);
        let Some(file) = growing() else { return false };
        let is_in = |used: &Used| match used.source {
            Source::Journal(number) => file.numbers.contains(&number) && chosen.contains(&used.source),
            Source::Merged(_) => false,
        };
        let merged_bytes: u64 = uses.all().filter(is_in).map(|used| used.object_bytes).sum();
        if merged_bytes * 2 <= file.bytes {
            return false;
        }
        let first = file.numbers.start;
        // A failure concerns the appends, which report it.
        let ended = self.store.end_file(file.numbers, merged_bytes).await;
        ended.is_ok() && growing().is_none_or(|file| file.numbers.start != first)
    }

    /// What the open merge makes of the rest of these objects, in the topics from this id on. Nothing else replaces
    /// pieces meanwhile.
    async fn plan(&self, sources: &BTreeSet<Source>, from: u64) -> Planned {
        let limits = self.config.limits;
        let mut joining = Joining::new(&limits);
        let join = |partition, piece: Piece, next_offset| {
            if sources.contains(&piece.place.source) {
                joining.add(partition, &piece, next_offset);
            }
        };
        self.each_piece(from, join).await;
        let (joined, is_whole) = joining.first_object();
        Planned { joined, is_whole }
    }

    /// Visits the readable pieces of all partitions, in order of partition and offset, each with the offset after its
    /// last record, of the topics from this id on. Readers and the journal's task are not held up.
    async fn each_piece(&self, from: u64, mut visit: impl FnMut(PartitionId, Piece, u64)) {
        let (topics, mut visited) = (self.catalog().topics(), 0);
        for (_, topic) in topics.range_from(&from) {
            if visited >= MERGE_PIECES_PER_YIELD {
                visited = 0;
                tokio::task::yield_now().await;
            }
            visited += MERGE_TOPIC_PIECES;
            topic.each_piece(|partition, piece, next_offset| {
                visited += 1;
                if !self.unreadable.contains(&piece.place.source) {
                    visit(partition, piece, next_offset);
                }
            });
        }
    }
}

fn failed(error: &JournalError) -> Failed {
    if matches!(error, JournalError::Closed) { Failed::Closed } else { Failed::Abandoned }
}
