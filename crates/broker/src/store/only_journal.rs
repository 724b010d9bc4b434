//! A store that has a journal and nothing else: in memory, or that of a test or a simulation.

use crate::journal::{JournalStore, MemoryJournal};
use crate::object::ObjectError;
use crate::storage_id::StorageId;
use crate::store::piece::{Part, batch_times, index_of, part_of};
use crate::store::{BatchTime, MemberStore, ObjectAt, Store};
use crate::store_error::StoreError;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use rawline_journal::Place;
use std::ops::Range;
use std::sync::Arc;

/// A journal, and the cards of the brokers that share it, if several do.
pub struct OnlyJournal {
    journal: Arc<dyn JournalStore>,
    members: Option<Arc<dyn MemberStore>>,
    id: Option<StorageId>,
}

impl OnlyJournal {
    /// A store of one broker.
    pub fn new(journal: Arc<dyn JournalStore>) -> OnlyJournal {
        OnlyJournal { journal, members: None, id: None }
    }

    /// A store of brokers with these cards.
    pub fn shared(journal: Arc<dyn JournalStore>, members: Arc<dyn MemberStore>) -> OnlyJournal {
        OnlyJournal { members: Some(members), ..OnlyJournal::new(journal) }
    }

    /// An empty storage in memory for one broker, with records in at most so many bytes.
    pub fn in_memory(bytes_max: u64) -> OnlyJournal {
        let journal = Arc::new(MemoryJournal::of_one(bytes_max));
        OnlyJournal { id: Some(StorageId::draw()), ..OnlyJournal::new(journal) }
    }

    async fn read(&self, object: ObjectAt, range: Range<u64>) -> Result<Bytes, StoreError> {
        let place = object.place;
        match part_of(&place, &range) {
            Part::Batches(range) => self.journal.bytes(place, range).await,
            Part::Index(range) => {
                let entries = self.journal.bytes(place, place.entries()).await?;
                let index = index_of(object.first_offset, &place, &entries);
                Ok(index.map_err(|error| damaged(&place, &error))?.slice(range))
            }
        }
    }

    async fn times(&self, place: Place) -> Result<Vec<BatchTime>, StoreError> {
        let entries = self.journal.bytes(place, place.entries()).await?;
        batch_times(&entries).map_err(|error| damaged(&place, &error))
    }
}

fn damaged(place: &Place, error: &ObjectError) -> StoreError {
    StoreError::damaged(format!("{place:?} is damaged: {error}"))
}

impl Store for OnlyJournal {
    fn id(&self) -> Option<StorageId> {
        self.id
    }

    fn journals(&self) -> Vec<Arc<dyn JournalStore>> {
        vec![self.journal.clone()]
    }

    fn members(&self) -> Option<Arc<dyn MemberStore>> {
        self.members.clone()
    }

    fn get<'a>(
        &'a self,
        _topic: &'a str,
        object: ObjectAt,
        range: Range<u64>,
    ) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        Box::pin(self.read(object, range))
    }

    fn batch_times<'a>(
        &'a self,
        _topic: &'a str,
        object: ObjectAt,
    ) -> BoxFuture<'a, Result<Vec<BatchTime>, StoreError>> {
        Box::pin(self.times(object.place))
    }
}
