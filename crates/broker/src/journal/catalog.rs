//! The state from a journal's confirmed objects: its topics, and the locations of each partition's records.
//!
//! The journal's task changes it. Handles of topics share its parts: a partition's index and end, a topic's settings
//! and life.

use crate::index::TopicIndex;
use crate::journal::Together;
use crate::journal::walk::Walk;
use crate::life::Life;
use crate::limits::PIECES_PER_VISIT;
use crate::metrics::METRICS;
use crate::notify::{Registry, Subject};
use crate::settings::{Retention, Settings};
use rawline_journal::{
    Batch, Certain, Control, Groups, Index, MergedPiece, Offsets, PartitionId, PartitionTransactions, Piece, SharedMap,
    Snapshot, Source, Times, TopicId,
};
use smallvec::SmallVec;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};
use tokio::sync::watch;

/// A topic, as its handles share it.
pub(crate) struct JournalTopic {
    pub id: u64,
    /// As it is known outside the storage.
    pub topic_id: TopicId,
    pub name: Arc<str>,
    pub life: Life,
    /// Once a subscription or a handle has asked for it: most topics of many have neither.
    subject: OnceLock<Arc<Subject>>,
    subscriptions: Arc<Registry>,
    settings: RwLock<Arc<Settings>>,
    partitions: RwLock<SmallVec<[Extent; 1]>>,
    checks_pieces: bool,
}

/// A partition, as its handles share it.
#[derive(Clone)]
pub(crate) struct Extent(Arc<Shared>);

struct Shared {
    index: RwLock<TopicIndex>,
    /// The offset that the next record gets, once a reader has waited for one: most partitions of many have no reader,
    /// and this takes more memory than all else of them.
    end: OnceLock<watch::Sender<u64>>,
}

/// All topics of a journal.
#[derive(Default)]
pub(super) struct Catalog {
    topics: SharedMap<u64, Arc<JournalTopic>>,
    by_name: SharedMap<Arc<str>, Arc<JournalTopic>>,
    /// A map without room to grow into: to move a million entries at once, appends would wait for 50 ms.
    by_topic_id: SharedMap<TopicId, u64>,
    /// The topics whose settings delete or compact records: few of many.
    tidied: BTreeSet<u64>,
    /// The offsets that groups have committed.
    offsets: Offsets,
    /// The names of producers, by the ids that they have or had. Those that the rules have forgotten stay until a
    /// snapshot is taken.
    producers: HashMap<u64, Arc<str>>,
    /// The state of the members of groups.
    groups: Groups,
    /// How often members of groups have changed.
    groups_changes: u64,
    /// The times of objects.
    times: Times,
    /// The merge that has begun and not ended.
    open_merge: Option<u64>,
    /// The id that the next topic gets.
    next_topic: u64,
    /// How often topics were created or deleted, or got partitions.
    changes: u64,
    /// Whether readers check pieces: see [`TopicIndex::in_journal`].
    checks_pieces: bool,
    /// The walks of snapshots that are being built.
    walks: Vec<Weak<Walk>>,
    together: Together,
}

impl JournalTopic {
    fn new(
        id: u64,
        name: &Arc<str>,
        subscriptions: &Arc<Registry>,
        partitions: u32,
        settings: &[u8],
        checks_pieces: bool,
    ) -> Self {
        assert!(!name.is_empty() && partitions > 0, "topic {id} {name:?} with {partitions} partitions");
        let (given, settings) = settings_of(name, settings).unwrap_or_default();
        let mut extents = SmallVec::new();
        extents.reserve_exact(partitions as usize);
        extents.resize_with(partitions as usize, || Extent::new(checks_pieces));
        JournalTopic {
            id,
            topic_id: given.unwrap_or_else(|| TopicId::derived(id, name)),
            name: name.clone(),
            life: Life::default(),
            subject: OnceLock::new(),
            subscriptions: subscriptions.clone(),
            settings: RwLock::new(settings),
            partitions: RwLock::new(extents),
            checks_pieces,
        }
    }

    /// One of a test.
    #[cfg(test)]
    pub fn of_test(name: &str) -> Self {
        JournalTopic::new(1, &name.into(), &Arc::default(), 1, b"", false)
    }

    /// The topic as its subscriptions see it.
    pub fn subject(&self) -> &Arc<Subject> {
        self.subject.get_or_init(|| self.subscriptions.subject(self.name.clone(), self.topic_id))
    }

    /// A partition has new records, from this offset on. They are in its index, and can be read.
    fn committed(&self, partition: u32, first_offset: u64) {
        // No barrier is needed, as in `Watchers::changed`: what asks for the subject reads the index afterwards.
        if self.subject.get().is_some() || !self.subscriptions.is_empty() {
            self.subject().committed(partition, first_offset);
        }
    }

    /// Number of partitions.
    pub fn partitions(&self) -> u32 {
        self.extents().len() as u32
    }

    /// The partition with this number, if the topic has it.
    pub fn extent(&self, number: u32) -> Option<Extent> {
        self.extents().get(number as usize).cloned()
    }

    /// Visits the pieces of all partitions in order, each with the offset after its last record. Readers and the
    /// journal's task wait for a part of a partition at most.
    pub(super) fn each_piece(&self, mut visit: impl FnMut(PartitionId, Piece, u64)) {
        for (number, extent) in (0..).zip(&*self.extents()) {
            let partition = PartitionId { topic: self.id, number };
            let mut offset = 0;
            let mut is_last = false;
            while !is_last {
                let mut visited = 0;
                for (piece, next_offset) in extent.index().pieces_from(offset).take(PIECES_PER_VISIT) {
                    visit(partition, piece, next_offset);
                    offset = next_offset;
                    visited += 1;
                }
                is_last = visited < PIECES_PER_VISIT;
            }
        }
    }

    /// Looks at the index of a partition that the topic has.
    pub(super) fn with_index<T>(&self, number: u32, look: impl FnOnce(&TopicIndex) -> T) -> T {
        let extents = self.extents();
        let Some(extent) = extents.get(number as usize) else { unreachable!("{} has no {number}", self.name) };
        look(&extent.index())
    }

    /// Whether it has settings by which records are deleted.
    pub fn has_limits(&self) -> bool {
        self.settings().expiry() != Retention::default()
    }

    fn is_tidied(&self) -> bool {
        self.has_limits() || self.settings().compaction().is_some()
    }

    /// Looks at the partitions in order.
    pub fn for_each(&self, look: impl FnMut(&Extent)) {
        self.extents().iter().for_each(look);
    }

    /// Its settings.
    pub fn settings(&self) -> Arc<Settings> {
        self.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn extents(&self) -> RwLockReadGuard<'_, SmallVec<[Extent; 1]>> {
        self.partitions.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn alter(&self, partitions: u32, settings: &[u8]) {
        if let Some((_, settings)) = settings_of(&self.name, settings) {
            *self.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
        }
        let mut extents = self.partitions.write().unwrap_or_else(PoisonError::into_inner);
        let least = extents.len() as u32;
        assert!(partitions >= least, "topic {} gets {partitions} partitions after {least}", self.name);
        extents.reserve_exact((partitions - least) as usize);
        extents.resize_with(partitions as usize, || Extent::new(self.checks_pieces));
    }
}

/// Parses stored settings. Some that can't be parsed are logged, and have no effect.
fn settings_of(name: &str, stored: &[u8]) -> Option<(Option<TopicId>, Arc<Settings>)> {
    let parsed = Settings::parse(name, stored);
    parsed
        .inspect_err(|error| tracing::error!(topic = name, %error, "these settings have no effect; set them again"))
        .ok()
}

impl Extent {
    fn new(checks_pieces: bool) -> Extent {
        let index = TopicIndex::in_journal(checks_pieces);
        Extent(Arc::new(Shared { index: RwLock::new(index), end: OnceLock::new() }))
    }

    pub fn index(&self) -> RwLockReadGuard<'_, TopicIndex> {
        self.0.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn index_mut(&self) -> RwLockWriteGuard<'_, TopicIndex> {
        self.0.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The offset that the next record gets, with every change from now on.
    pub fn end(&self) -> watch::Receiver<u64> {
        // The journal's task adds a piece with the lock, and looks for the sender afterwards.
        let index = self.index();
        self.0.end.get_or_init(|| watch::Sender::new(index.next_offset())).subscribe()
    }

    /// The index ends at another offset.
    fn ends_at(&self, id: PartitionId, next_offset: u64) {
        if let Some(end) = self.0.end.get() {
            let before = end.send_replace(next_offset);
            assert!(before <= next_offset, "{id:?} ended at {before}, now at {next_offset}");
        }
    }

    /// Adds a piece. Returns the size of those before it that have no record left: the newest is kept until another
    /// follows.
    fn push(&self, id: PartitionId, piece: &Piece, next_offset: u64, batches: &[(Batch, u64)]) -> u64 {
        let mut index = self.index_mut();
        // With the piece: no reader sees its records without their transactions.
        index.note_transactions(piece.first_offset, batches.iter().map(|(batch, _)| batch));
        let pushed = index.push_piece(piece, next_offset);
        // The rules have compared its offsets with the partition's end.
        assert!(pushed.is_ok(), "{piece:?} of {id:?}: {pushed:?}");
        let deleted = index.delete_hidden();
        drop(index);
        self.ends_at(id, next_offset);
        deleted
    }

    /// Deletes the records below an offset. Returns the size of the pieces without remaining records.
    fn trim(&self, first_offset: u64) -> u64 {
        let mut index = self.index_mut();
        index.trim(first_offset);
        index.delete_hidden()
    }

    /// A snapshot replaces the state. Returns the previous end.
    fn restore(
        &self,
        id: PartitionId,
        offsets: Range<u64>,
        pieces: &[Piece],
        transactions: Option<&PartitionTransactions>,
    ) -> u64 {
        let mut index = self.index_mut();
        let known = index.next_offset();
        assert!(known <= offsets.end, "{id:?} ends at {known}, in a newer snapshot at {}", offsets.end);
        index.restore(&offsets, pieces);
        index.set_transactions(transactions);
        drop(index);
        self.ends_at(id, offsets.end);
        known
    }
}

impl Catalog {
    /// An empty one. `checks_pieces` as in [`TopicIndex::in_journal`].
    pub fn new(checks_pieces: bool, together: Together) -> Catalog {
        Catalog { checks_pieces, together, ..Catalog::default() }
    }

    /// A snapshot replaces the state. Topics and partitions stay the same ones to their
    /// handles.
    pub fn restore(&mut self, snapshot: Snapshot) {
        let Snapshot { state, pieces } = snapshot;
        self.walks.drain(..).filter_map(|walk| walk.upgrade()).for_each(|walk| walk.end());
        self.open_merge = state.merges().open();
        (self.offsets, self.times) = (state.offsets().clone(), state.times());
        self.groups = state.groups().clone();
        self.groups_changes += 1;
        self.next_topic = state.next_topic();
        self.producers = state.instances().map(|(name, id, _)| (id, name.clone())).collect();
        let gone: Vec<u64> = self.topics.keys().filter(|id| state.topic(**id).is_none()).copied().collect();
        for id in gone {
            self.delete(id);
        }
        // All are in order of their ids. Pieces are dropped as they are copied: a million of them take 100 MB.
        let (mut partitions, mut pieces) = (state.partitions().peekable(), pieces.into_iter().peekable());
        for (id, topic) in state.topics() {
            let stored = match self.topics.get(&id).cloned() {
                Some(stored) => {
                    self.alter(id, topic.partitions, &topic.settings);
                    stored
                }
                None => self.create(id, &topic.name, topic.partitions, &topic.settings),
            };
            for (number, extent) in (0..).zip(&*stored.extents()) {
                let id = PartitionId { topic: id, number };
                let found = partitions.next_if(|(partition, ..)| *partition == id);
                let (_, offsets, transactions) = found.unwrap_or((id, 0..0, None));
                let pieces = pieces.next_if(|(partition, _)| *partition == id).map(|(_, pieces)| pieces);
                let end = offsets.end;
                let before = extent.restore(id, offsets, pieces.as_deref().unwrap_or_default(), transactions);
                if before < end {
                    stored.committed(number, before);
                }
            }
        }
        assert!(partitions.next().is_none() && pieces.next().is_none(), "partitions or pieces without a topic");
    }

    /// Adds a certain object. Returns the size of the pieces that are not needed from now on.
    pub fn publish(&mut self, index: &Index) -> u64 {
        let mut freed = 0;
        self.together.written.add(index.header.object_bytes);
        self.times.advance(index.header.appended_us);
        for control in index.controls() {
            self.offsets.follow(control, self.times.age_us());
            self.groups.follow(control, self.times.age_us());
            match control {
                Control::Create { topic, name, partitions, settings } => {
                    drop(self.create(*topic, name, *partitions, settings));
                }
                Control::Alter { topic, partitions, settings } => self.alter(*topic, *partitions, settings),
                Control::Delete { topic } => freed += self.delete(*topic),
                Control::Trim { partition, first_offset } => {
                    let bytes = self.trim(*partition, *first_offset);
                    METRICS.trims.bytes.add(bytes);
                    freed += bytes;
                }
                Control::OpenProducer { name, id, .. } | Control::EndTransaction { name, next: (id, _), .. } => {
                    self.producers.insert(*id, name.clone());
                }
                Control::CommitOffset { .. } | Control::ForgetOffset { .. } => {}
                Control::StoreGroup { .. } => self.groups_changes += 1,
                Control::BeginMerge { merge } => self.open_merge = Some(*merge),
                Control::AbandonMerge { .. } => self.open_merge = None,
                Control::EndMerge { pieces, .. } => {
                    self.open_merge = None;
                    freed += pieces.iter().map(|merged| self.merge(merged)).sum::<u64>();
                }
            }
        }
        for ((id, piece, next_offset), (_, batches)) in index.pieces().zip(index.sections()) {
            let bytes = self.extent(id).push(id, &piece, next_offset, batches);
            self.topic(id.topic).committed(id.number, piece.first_offset);
            if bytes > 0 {
                METRICS.trims.bytes.add(bytes);
                freed += bytes;
            }
        }
        freed
    }

    /// Puts a merged piece in the place of those that it was made of, unless its topic is deleted. Returns their size.
    fn merge(&self, merged: &MergedPiece) -> u64 {
        let Some(extent) = self.find(merged.partition) else { return 0 };
        self.keep_for_walks(merged.partition);
        extent.index_mut().merge(&merged.piece, merged.next_offset)
    }

    /// Deletes a partition's records below an offset. Returns the size of the pieces without remaining records.
    fn trim(&self, id: PartitionId, first_offset: u64) -> u64 {
        self.keep_for_walks(id);
        self.extent(id).trim(first_offset)
    }

    /// Some of a partition's pieces are about to be removed.
    fn keep_for_walks(&self, id: PartitionId) {
        let walks = self.walks.iter().filter_map(Weak::upgrade);
        walks.for_each(|walk| walk.keep(self.topic(id.topic), id.number));
    }

    /// Begins a walk over the pieces that there are now. Its cost doesn't depend on how many there are.
    pub fn walk(&mut self) -> Arc<Walk> {
        let walk = Arc::new(Walk::new(self.topics.clone()));
        self.walks.retain(|walk| walk.strong_count() > 0);
        self.walks.push(Arc::downgrade(&walk));
        walk
    }

    /// The time of the newest object.
    pub fn newest_us(&self) -> u64 {
        self.times.newest_us()
    }

    /// The shared state of the broker's journals.
    pub fn together(&self) -> &Together {
        &self.together
    }

    /// The receiver of commits.
    pub fn subscriptions(&self) -> &Arc<Registry> {
        &self.together.subscriptions
    }

    /// Whether a topic of this journal has had this id, and doesn't exist any more.
    pub fn was_deleted(&self, topic: u64) -> bool {
        topic < self.next_topic && !self.topics.contains_key(&topic)
    }

    /// The offsets that groups have committed.
    pub fn offsets_of_groups(&self) -> &Offsets {
        &self.offsets
    }

    /// The name of the producer with this id.
    pub fn producer_name(&self, id: u64) -> Option<&Arc<str>> {
        self.producers.get(&id)
    }

    /// Forgets the producers that the state of all published objects doesn't know.
    pub fn forget_producers(&mut self, certain: &Certain) {
        if self.producers.len() > certain.producers_count() {
            self.producers.retain(|id, _| certain.has_producer(*id));
        }
    }

    /// What is known of the members of groups, and how often that has changed.
    pub fn groups(&self) -> (&Groups, u64) {
        (&self.groups, self.groups_changes)
    }

    /// The merge that has begun and not ended.
    pub fn open_merge(&self) -> Option<u64> {
        self.open_merge
    }

    fn alter(&mut self, id: u64, partitions: u32, settings: &[u8]) {
        let topic = self.topic(id).clone();
        let before = topic.partitions();
        topic.alter(partitions, settings);
        if topic.is_tidied() {
            self.tidied.insert(id);
        } else {
            self.tidied.remove(&id);
        }
        self.together.counts.add_partitions((partitions - before) as usize);
        self.changes += u64::from(partitions != before);
    }

    fn create(&mut self, id: u64, name: &Arc<str>, partitions: u32, settings: &[u8]) -> Arc<JournalTopic> {
        self.together.counts.add_topic(partitions as usize);
        self.changes += 1;
        self.next_topic = id + 1;
        let topic = JournalTopic::new(id, name, &self.together.subscriptions, partitions, settings, self.checks_pieces);
        // The stored state decides. If a storage was damaged so that two topics have one id, the newer one has it.
        self.by_topic_id.insert(topic.topic_id, id);
        if topic.is_tidied() {
            self.tidied.insert(id);
        }
        let topic = Arc::new(topic);
        let before = self.topics.insert(id, topic.clone());
        assert!(before.is_none(), "topic {id} was created twice");
        let namesake = self.by_name.insert(name.clone(), topic.clone()).map(|topic| topic.id);
        assert!(namesake.is_none(), "the topics {namesake:?} and {id} are named {name:?}");
        topic
    }

    /// Returns the size of its pieces.
    fn delete(&mut self, id: u64) -> u64 {
        let Some(topic) = self.topics.remove(&id) else { unreachable!("topic {id} is deleted, and isn't there") };
        let named = self.by_name.remove(&topic.name);
        assert_eq!(named.map(|topic| topic.id), Some(id), "topic {:?} has two ids", topic.name);
        if self.by_topic_id.get(&topic.topic_id) == Some(&id) {
            self.by_topic_id.remove(&topic.topic_id);
        }
        self.tidied.remove(&id);
        self.together.counts.remove_topic(topic.partitions() as usize);
        self.changes += 1;
        topic.life.delete();
        topic.subject().deleted();
        topic.extents().iter().map(|extent| extent.index().bytes()).sum()
    }

    /// A topic that exists by the rules.
    fn topic(&self, id: u64) -> &Arc<JournalTopic> {
        let Some(topic) = self.topics.get(&id) else { unreachable!("the rules know topic {id}, the catalog doesn't") };
        topic
    }

    /// A partition that exists by the rules.
    fn extent(&self, id: PartitionId) -> Extent {
        let Some(extent) = self.topic(id.topic).extent(id.number) else {
            unreachable!("the rules know {id:?}, the catalog doesn't")
        };
        extent
    }

    /// The topic with this id, if it exists.
    pub fn with_id(&self, id: u64) -> Option<Arc<JournalTopic>> {
        self.topics.get(&id).cloned()
    }

    /// The topic with this name, if it exists.
    pub fn named(&self, name: &str) -> Option<Arc<JournalTopic>> {
        self.by_name.get(name).cloned()
    }

    /// The topic that is known by this id outside the storage, if it exists.
    pub fn identified(&self, id: TopicId) -> Option<Arc<JournalTopic>> {
        self.with_id(*self.by_topic_id.get(&id)?)
    }

    /// All topics by id, as they are now. They are shared: this takes no time, and a look at them no lock.
    pub fn topics(&self) -> SharedMap<u64, Arc<JournalTopic>> {
        self.topics.clone()
    }

    /// Those whose settings delete or compact records.
    pub fn tidied_topics(&self) -> Vec<Arc<JournalTopic>> {
        self.tidied.iter().filter_map(|id| self.with_id(*id)).collect()
    }

    /// All topics by name, in the same way.
    pub fn topics_by_name(&self) -> SharedMap<Arc<str>, Arc<JournalTopic>> {
        self.by_name.clone()
    }

    /// How often topics were created or deleted, or got partitions, as far as this broker has seen.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// A partition, if it exists.
    pub fn find(&self, id: PartitionId) -> Option<Extent> {
        self.topics.get(&id.topic)?.extent(id.number)
    }

    /// The offsets of a partition's records.
    pub fn offsets(&self, partition: PartitionId) -> Range<u64> {
        self.find(partition).map_or(0..0, |extent| {
            let index = extent.index();
            index.first_offset()..index.next_offset()
        })
    }

    /// The objects that have records.
    pub fn sources(&self) -> BTreeSet<Source> {
        let mut sources = BTreeSet::new();
        self.topics.values().for_each(|topic| topic.each_piece(|_, piece, _| _ = sources.insert(piece.place.source)));
        sources
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawline_journal::{BatchCount, BatchKind, Place, State};
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn topic(id: u64, settings: &str) -> JournalTopic {
        JournalTopic::new(id, &"t".into(), &Arc::default(), 1, settings.as_bytes(), false)
    }

    #[test]
    fn a_topic_without_an_id_has_one_by_its_number_and_name() {
        let given = topic(7, r#"{"topic_id":"494cfa0574034412a6dbb20a5a8c25a2"}"#);
        assert_eq!(given.topic_id, TopicId::derived(1, "t"));
        for settings in ["", "{}", r#"{"topic_id":1}"#, "not JSON"] {
            assert_eq!(topic(7, settings).topic_id, TopicId::derived(7, "t"), "{settings}");
        }
        let mut catalog = Catalog::default();
        catalog.create(7, &"t".into(), 1, b"");
        assert_eq!(catalog.identified(TopicId::derived(7, "t")).map(|topic| topic.id), Some(7));
        catalog.delete(7);
        catalog.create(8, &"t".into(), 1, b"");
        assert!(catalog.identified(TopicId::derived(7, "t")).is_none());
        assert_eq!(catalog.identified(TopicId::derived(8, "t")).map(|topic| topic.id), Some(8));
    }

    fn piece(first_offset: u64, source: Source) -> Piece {
        let batches = BatchCount::of(std::iter::once(BatchKind::Rawline));
        let place = Place { source, tag: 0, object_bytes: 216, entries_at: 104, batches, batches_at: 144, bytes: 72 };
        Piece { first_offset, appended_us: 0, newest_us: 0, place }
    }

    /// Appends to, trims, merges or deletes something.
    fn change(catalog: &mut Catalog, random: &mut fastrand::Rng, number: u64) {
        let ids: Vec<u64> = catalog.topics().keys().copied().collect();
        let Some(id) = random.choice(ids).map(|topic| PartitionId { topic, number: random.u32(0..2) }) else { return };
        let Range { start, end } = catalog.offsets(id);
        match random.u8(0..20) {
            0 => _ = catalog.delete(id.topic),
            1..3 => _ = catalog.trim(id, random.u64(start..=end)),
            3..6 => {
                let pieces: Vec<(Piece, u64)> = catalog.extent(id).index().pieces_from(0).collect();
                let (from, count) = (random.usize(0..=pieces.len()), random.usize(1..5));
                let merged: Vec<_> = pieces.iter().skip(from).take(count).collect();
                let (Some((first, _)), Some((_, next_offset))) = (merged.first(), merged.last()) else { return };
                let piece = piece(first.first_offset, Source::Merged(number));
                catalog.merge(&MergedPiece { partition: id, piece, next_offset: *next_offset });
            }
            _ => {
                let next_offset = end + random.u64(1..4);
                catalog.extent(id).push(id, &piece(end, Source::Journal(number)), next_offset, &[]);
            }
        }
    }

    #[test]
    fn a_walk_visits_the_pieces_of_its_beginning_whatever_happens_meanwhile() {
        for seed in 0..300 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut catalog = Catalog::default();
            (1..6).for_each(|id: u64| drop(catalog.create(id, &id.to_string().into(), 2, b"")));
            (0..200).for_each(|number| change(&mut catalog, &mut random, number));
            let walk = catalog.walk();
            let all = catalog.topics();
            let ids = all.keys().flat_map(|topic| [0, 1].map(|number| PartitionId { topic: *topic, number }));
            let pieces = |catalog: &Catalog, id| -> Vec<Piece> {
                catalog.extent(id).index().pieces_from(0).map(|(piece, _)| piece).collect()
            };
            let expected: Vec<_> = ids.map(|id| (id, catalog.offsets(id).end, pieces(&catalog, id))).collect();
            for (id, end, expected) in expected {
                (0..random.u64(0..60)).for_each(|number| change(&mut catalog, &mut random, 1000 + number));
                let mut visited = Vec::new();
                walk.visit(id, end, &mut visited);
                assert_eq!(visited, expected, "{id:?} up to {end}, seed {seed}");
            }
            assert!(!walk.is_void());
        }
    }

    /// A reader that has verified a piece waits for the lock of the index as a writer, and others wait for it.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test of threads")]
    fn a_walk_and_a_trim_do_not_wait_for_each_other() {
        let mut catalog = Catalog::default();
        catalog.create(1, &"t".into(), 1, b"");
        let (id, rounds) = (PartitionId { topic: 1, number: 0 }, 1_000);
        let extent = catalog.extent(id);
        let add = |offset: u64| extent.push(id, &piece(offset, Source::Journal(offset)), offset + 1, &[]);
        (0..rounds).for_each(|offset| _ = add(offset));
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    extent.index_mut().set_verified(&piece(0, Source::Journal(0)));
                }
            });
            for round in 0..rounds {
                let (walk, end) = (catalog.walk(), catalog.offsets(id).end);
                let visiting = scope.spawn(move || {
                    let mut found = Vec::new();
                    walk.visit(id, end, &mut found);
                    found.len() as u64
                });
                catalog.trim(id, round + 1);
                add(rounds + round);
                assert_eq!(visiting.join().unwrap(), rounds, "round {round}");
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn a_snapshot_that_is_loaded_ends_the_walks() {
        let mut catalog = Catalog::default();
        catalog.create(1, &"t".into(), 1, b"");
        let walk = catalog.walk();
        let state = State::default();
        catalog.restore(Snapshot { state, pieces: BTreeMap::new() });
        assert!(walk.is_void());
        assert!(!catalog.walk().is_void());
    }
}
