//! The state from a journal's confirmed objects: its topics, and the locations of each partition's records.
//!
//! The journal's task changes it. Handles of topics share its parts: a partition's index and end, a topic's settings
//! and life.

use crate::index::TopicIndex;
use crate::journal::Together;
use crate::life::Life;
use crate::limits::PIECES_PER_VISIT;
use crate::metrics::METRICS;
use crate::notify::{Registry, Subject};
use crate::settings::Settings;
use crate::store_error::StoreError;
use rawline_journal::{
    Batch, Control, Groups, Index, MergedPiece, Offsets, PartitionId, PartitionTransactions, Piece, Snapshot, State,
    Times, TopicId,
};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::sync::watch;

/// A topic, as its handles share it.
pub(crate) struct JournalTopic {
    pub id: u64,
    /// As it is known outside the storage.
    pub topic_id: TopicId,
    pub name: Arc<str>,
    pub life: Arc<Life>,
    pub subject: Arc<Subject>,
    pub settings: Arc<RwLock<Arc<Settings>>>,
    partitions: RwLock<Vec<Extent>>,
    checks_pieces: bool,
}

/// A partition, as its handles share it.
#[derive(Clone)]
pub(crate) struct Extent {
    pub index: Arc<RwLock<TopicIndex>>,
    /// The offset that the next record gets.
    pub end: watch::Sender<u64>,
}

/// All topics of a journal.
#[derive(Default)]
pub(super) struct Catalog {
    topics: BTreeMap<u64, Arc<JournalTopic>>,
    ids: HashMap<Arc<str>, u64>,
    by_topic_id: HashMap<TopicId, u64>,
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
        let given = parse(name, settings).ok().and_then(|settings| settings.topic_id());
        let topic_id = given.unwrap_or_else(|| TopicId::derived(id, name));
        let topic = JournalTopic {
            id,
            topic_id,
            name: name.clone(),
            life: Arc::new(Life::new()),
            subject: subscriptions.subject(name.clone(), topic_id),
            settings: Arc::default(),
            partitions: RwLock::default(),
            checks_pieces,
        };
        topic.alter(partitions, settings);
        topic
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

    /// Looks at the partitions except the first, in order.
    pub fn for_others(&self, look: impl FnMut(&Extent)) {
        self.extents().iter().skip(1).for_each(look);
    }

    fn extents(&self) -> RwLockReadGuard<'_, Vec<Extent>> {
        self.partitions.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn alter(&self, partitions: u32, settings: &[u8]) {
        match parse(&self.name, settings) {
            Ok(settings) => *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings),
            Err(error) => tracing::error!(topic = &*self.name, %error, "this change of the settings has no effect"),
        }
        let mut extents = self.partitions.write().unwrap_or_else(PoisonError::into_inner);
        let least = extents.len() as u32;
        assert!(partitions >= least, "topic {} gets {partitions} partitions after {least}", self.name);
        extents.resize_with(partitions as usize, || Extent::new(self.checks_pieces));
    }
}

/// Parses a topic's settings in a journal.
fn parse(topic: &str, settings: &[u8]) -> Result<Settings, StoreError> {
    if settings.is_empty() { Ok(Settings::default()) } else { Settings::parse(topic, settings) }
}

impl Extent {
    fn new(checks_pieces: bool) -> Extent {
        let index = TopicIndex::in_journal(checks_pieces);
        Extent { index: Arc::new(RwLock::new(index)), end: watch::Sender::new(0) }
    }

    pub fn index(&self) -> RwLockReadGuard<'_, TopicIndex> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn index_mut(&self) -> RwLockWriteGuard<'_, TopicIndex> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
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
        let before = self.end.send_replace(next_offset);
        assert!(before < next_offset, "{id:?} ended at {before}, now at {next_offset}");
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
        let before = self.end.send_replace(offsets.end);
        assert_eq!(before, known, "{id:?} ended elsewhere for its readers");
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
    pub fn restore(&mut self, snapshot: &Snapshot) {
        let Snapshot { state, pieces } = snapshot;
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
        for (id, topic) in state.topics() {
            match self.topics.get(&id) {
                Some(_) => self.alter(id, topic.partitions, &topic.settings),
                None => self.create(id, &topic.name, topic.partitions, &topic.settings),
            }
            for number in 0..topic.partitions {
                let id = PartitionId { topic: id, number };
                let offsets = state.first_offset(id)..state.next_offset(id);
                let pieces = pieces.get(&id).map(Vec::as_slice).unwrap_or_default();
                let end = offsets.end;
                let before = self.extent(id).restore(id, offsets, pieces, state.transactions(id));
                if before < end {
                    self.topic(id.topic).subject.committed(number, before);
                }
            }
        }
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
                    self.create(*topic, name, *partitions, settings);
                }
                Control::Alter { topic, partitions, settings } => self.alter(*topic, *partitions, settings),
                Control::Delete { topic } => freed += self.delete(*topic),
                Control::Trim { partition, first_offset } => {
                    let bytes = self.extent(*partition).trim(*first_offset);
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
            self.topic(id.topic).subject.committed(id.number, piece.first_offset);
            if bytes > 0 {
                METRICS.trims.bytes.add(bytes);
                freed += bytes;
            }
        }
        freed
    }

    /// Puts a merged piece in the place of those that it was made of, unless its topic is deleted. Returns their size.
    fn merge(&self, merged: &MergedPiece) -> u64 {
        let extent = self.find(merged.partition);
        extent.map_or(0, |extent| extent.index_mut().merge(&merged.piece, merged.next_offset))
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

    /// Forgets the producers that a state doesn't know: the one that follows from all objects that were published.
    pub fn forget_producers(&mut self, state: &State) {
        self.producers.retain(|id, _| state.has_producer(*id));
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
        let topic = self.topic(id);
        let before = topic.partitions();
        topic.alter(partitions, settings);
        self.together.counts.add_partitions((partitions - before) as usize);
        self.changes += u64::from(partitions != before);
    }

    fn create(&mut self, id: u64, name: &Arc<str>, partitions: u32, settings: &[u8]) {
        self.together.counts.add_topic(partitions as usize);
        self.changes += 1;
        self.next_topic = id + 1;
        let topic = JournalTopic::new(id, name, &self.together.subscriptions, partitions, settings, self.checks_pieces);
        // The stored state decides. If a storage was damaged so that two topics have one id, the newer one has it.
        self.by_topic_id.insert(topic.topic_id, id);
        let before = self.topics.insert(id, Arc::new(topic));
        assert!(before.is_none(), "topic {id} was created twice");
        let namesake = self.ids.insert(name.clone(), id);
        assert!(namesake.is_none(), "the topics {namesake:?} and {id} are named {name:?}");
    }

    /// Returns the size of its pieces.
    fn delete(&mut self, id: u64) -> u64 {
        let Some(topic) = self.topics.remove(&id) else { unreachable!("topic {id} is deleted, and isn't there") };
        let named = self.ids.remove(&topic.name);
        assert_eq!(named, Some(id), "topic {:?} has two ids", topic.name);
        if self.by_topic_id.get(&topic.topic_id) == Some(&id) {
            self.by_topic_id.remove(&topic.topic_id);
        }
        self.together.counts.remove_topic(topic.partitions() as usize);
        self.changes += 1;
        topic.life.delete();
        topic.subject.deleted();
        topic.extents().iter().map(|extent| extent.index().bytes()).sum()
    }

    /// A topic that exists by the rules.
    fn topic(&self, id: u64) -> &JournalTopic {
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
        self.topics.get(self.ids.get(name)?).cloned()
    }

    /// The topic that is known by this id outside the storage, if it exists.
    pub fn identified(&self, id: TopicId) -> Option<Arc<JournalTopic>> {
        self.with_id(*self.by_topic_id.get(&id)?)
    }

    /// All topics, in order of id.
    pub fn topics(&self) -> impl ExactSizeIterator<Item = &Arc<JournalTopic>> {
        self.topics.values()
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

    /// The pieces of all partitions, for a snapshot of `state`.
    pub fn pieces(&self, state: &State) -> BTreeMap<PartitionId, Vec<Piece>> {
        let mut pieces = BTreeMap::new();
        for topic in self.topics.values() {
            for (number, extent) in (0..).zip(&*topic.extents()) {
                let id = PartitionId { topic: topic.id, number };
                let index = extent.index();
                let (expected, found) = (state.next_offset(id), index.next_offset());
                assert_eq!(found, expected, "the catalog and the rules disagree on the end of {id:?}");
                let of_partition: Vec<Piece> = index.pieces_from(0).map(|(piece, _)| piece).collect();
                if !of_partition.is_empty() {
                    pieces.insert(id, of_partition);
                }
            }
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(id: u64, settings: &str) -> JournalTopic {
        JournalTopic::new(id, &"t".into(), &Arc::default(), 1, settings.as_bytes(), false)
    }

    #[test]
    fn a_topic_of_an_earlier_version_has_an_id_by_its_number_and_name() {
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
}
