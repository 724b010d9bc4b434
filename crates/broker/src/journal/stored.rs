//! A journal as it is stored, read without changing anything: its newest snapshot, and the objects after it. For checks
//! and copies of a storage, whether or not a broker runs on it.

use crate::journal::Together;
use crate::journal::catalog::Catalog;
use crate::journal::copy::Wanted;
use crate::journal::load::{self, Loaded};
use crate::journal::look::{self, AtEnd};
use crate::limits::VIEW_INDEXES_MAX;
use crate::store::Store;
use crate::store_error::StoreError;
use futures_util::stream::{self, StreamExt};
use rawline_batch::Kind;
use rawline_journal::{Index, SnapshotName, Source, State};
use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;

/// See the file's first lines.
pub(crate) struct StoredJournal {
    /// The state after its last object.
    pub state: State,
    catalog: Catalog,
    pub snapshot: Option<StoredSnapshot>,
    /// Number of objects after the snapshot that are part of the chain.
    pub valid: u64,
    /// Number of those that aren't.
    pub void: u64,
    /// Why it ends there, if that isn't the journal's end.
    pub lost: Option<StoreError>,
}

/// The snapshot with which a view begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredSnapshot {
    /// Number of the object after those that it covers.
    pub next: u64,
    /// Number of its separate parts.
    pub parts: u64,
}

impl StoredJournal {
    /// The journal with this number, as it is now.
    pub async fn load(store: &Arc<dyn Store>, number: u32) -> Result<StoredJournal, StoreError> {
        loop {
            let newest = load::newest(store.clone()).await?.found;
            if let Some(view) = StoredJournal::of(newest, number).follow(store).await? {
                return Ok(view);
            }
        }
    }

    /// The journal as a snapshot of its objects before `next` has it; `None` if there is no such snapshot.
    pub async fn at(store: &Arc<dyn Store>, number: u32, next: u64) -> Result<Option<StoredJournal>, StoreError> {
        let found = load::named(&**store, SnapshotName::root(next)).await?;
        Ok(found.map(|loaded| StoredJournal::of(Some(loaded), number)))
    }

    fn of(loaded: Option<Loaded>, number: u32) -> StoredJournal {
        let mut catalog = Catalog::new(false, Together::default().numbered(number));
        let (state, snapshot) = match loaded {
            Some(Loaded { snapshot, parts }) => {
                let state = snapshot.state.clone();
                let next = state.chain().next();
                catalog.restore(snapshot);
                (state, Some(StoredSnapshot { next, parts }))
            }
            None => (State::of_journal(number), None),
        };
        StoredJournal { state, catalog, snapshot, valid: 0, void: 0, lost: None }
    }

    /// Reads to the journal's end; `None` if a newer snapshot has made objects superfluous, and they are gone.
    async fn follow(mut self, store: &Arc<dyn Store>) -> Result<Option<StoredJournal>, StoreError> {
        while self.lost.is_none() {
            if !self.read(&**store).await? {
                break;
            }
            match look::at_end(store.clone(), self.state.chain().next()).await? {
                AtEnd::End => break,
                AtEnd::Sound | AtEnd::Appeared => {}
                AtEnd::Covered => return Ok(None),
                AtEnd::Lost(error) => self.lost = Some(error),
                AtEnd::GivenUp(given_up) => {
                    self.lost = Some(StoreError::human(format!(
                        "the objects {} to {} are missing and given up; start a broker, which replaces them",
                        given_up.lost.start,
                        given_up.lost.end - 1
                    )));
                }
            }
        }
        Ok(Some(self))
    }

    /// Reads the objects that follow, up to the first that is missing. False if one of them can't follow.
    async fn read(&mut self, store: &dyn Store) -> Result<bool, StoreError> {
        let first = self.state.chain().next();
        let read = |number| store.index(Source::Journal(number));
        let mut reads = pin!(stream::iter(first..).map(read).buffered(VIEW_INDEXES_MAX));
        while let Some(read) = reads.next().await {
            match read {
                Ok(dated) => match dated.found {
                    Some(stored) if !self.observe(&stored.index) => return Ok(false),
                    Some(_) => {}
                    None => break,
                },
                Err(error) if error.is_damaged || error.kind == Kind::TellHuman => {
                    self.lost = Some(error);
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    fn observe(&mut self, index: &Index) -> bool {
        match self.state.observe(index.header.link, &index.changes()) {
            Ok(true) => {
                self.catalog.publish(index);
                self.valid += 1;
            }
            Ok(false) => self.void += 1,
            Err(contradiction) => {
                self.lost = Some(StoreError::human(format!(
                    "object {} contradicts those before it: {contradiction}; restore the journal from a backup",
                    index.header.link.number
                )));
                return false;
            }
        }
        true
    }

    /// The pieces of all partitions, in order of partition and offset.
    pub fn pieces(&self) -> Vec<Wanted> {
        let mut pieces = Vec::new();
        let mut add = |partition, piece, next_offset| pieces.push((partition, piece, next_offset));
        self.catalog.topics().values().for_each(|topic| topic.each_piece(&mut add));
        pieces
    }

    /// The objects that have records.
    pub fn sources(&self) -> BTreeSet<Source> {
        self.catalog.sources()
    }

    /// The name of a topic.
    pub fn topic_name(&self, id: u64) -> Arc<str> {
        let Some(topic) = self.state.topic(id) else { unreachable!("a piece of topic {id}, which doesn't exist") };
        topic.name.clone()
    }
}
