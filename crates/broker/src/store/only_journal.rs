//! A store that has a journal and nothing else, for tests and simulations of brokers on a journal of their own.

use crate::cluster::MemberStore;
use crate::journal::JournalStore;
use crate::object::Object;
use crate::store::piece::{Part, index_of, part_of};
use crate::store::{Begun, CommitError, Listed, Location, ObjectAt, Store, StoreError};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use std::ops::Range;
use std::sync::Arc;

/// A journal, and the cards of the brokers that share it. Of topics in a journal, a store is asked for nothing but the
/// bytes of pieces.
pub struct OnlyJournal {
    journal: Arc<dyn JournalStore>,
    members: Arc<dyn MemberStore>,
}

impl OnlyJournal {
    /// A store of these.
    pub fn new(journal: Arc<dyn JournalStore>, members: Arc<dyn MemberStore>) -> OnlyJournal {
        OnlyJournal { journal, members }
    }

    async fn read(&self, object: ObjectAt, range: Range<u64>) -> Result<Bytes, StoreError> {
        let Location::Journal(place) = object.location else { unreachable!("{object:?} in a journal") };
        match part_of(&place, &range) {
            Part::Batches(range) => self.journal.bytes(place, range).await,
            Part::Index(range) => {
                let entries = self.journal.bytes(place, place.entries()).await?;
                let index = index_of(object.first_offset, &place, &entries);
                let index = index.map_err(|error| StoreError::human(format!("{place:?} is damaged: {error}")))?;
                Ok(index.slice(range))
            }
        }
    }
}

/// What a topic outside of a journal would need.
fn no_logs<T>() -> Result<T, StoreError> {
    Err(StoreError::human("this store has no topics outside of its journal"))
}

impl Store for OnlyJournal {
    fn topics(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn list<'a>(&'a self, _topic: &'a str, _from: u64) -> BoxFuture<'a, Result<Vec<Listed>, StoreError>> {
        Box::pin(async { no_logs() })
    }

    fn begin<'a>(&'a self, _topic: &'a str, _object: Object) -> BoxFuture<'a, Result<Begun, CommitError>> {
        Box::pin(async { Ok(no_logs()?) })
    }

    fn get<'a>(
        &'a self,
        _topic: &'a str,
        object: ObjectAt,
        range: Range<u64>,
    ) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        Box::pin(self.read(object, range))
    }

    fn settings<'a>(&'a self, _topic: &'a str) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        Box::pin(async { no_logs() })
    }

    fn put_settings<'a>(&'a self, _topic: &'a str, _settings: Bytes) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { no_logs() })
    }

    fn journal(&self) -> Option<Arc<dyn JournalStore>> {
        Some(self.journal.clone())
    }

    fn members(&self) -> Option<Arc<dyn MemberStore>> {
        Some(self.members.clone())
    }

    fn delete_before<'a>(&'a self, _topic: &'a str, _offset: u64) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(async { no_logs() })
    }

    fn mark_deleted<'a>(&'a self, _topic: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { no_logs() })
    }

    fn delete_topic<'a>(&'a self, _topic: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { no_logs() })
    }
}
