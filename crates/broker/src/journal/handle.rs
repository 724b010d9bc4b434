//! What callers hold of a journal.

use crate::clock::{Clock, StorageClock};
use crate::commit_thread::CommitThread;
use crate::index::Found;
use crate::journal::Together;
use crate::journal::catalog::{Catalog, JournalTopic};
use crate::journal::copy::{self, CopyError};
use crate::journal::error::JournalError;
use crate::journal::merge::{Dead, Merger, Published};
use crate::journal::request::{Appended, ProducerInstance, Progress, Request};
use crate::journal::task::Task;
use crate::journal_config::JournalConfig;
use crate::limits::{APPEND_QUEUE_MAX, JOURNAL_START_MAX, OBJECT_BATCHES_MAX, OBJECT_BYTES_MAX};
use crate::notify::Registry;
use crate::received::Received;
use crate::store::Store;
use crate::store_error::StoreError;
use crate::supervise::Supervised;
use crate::tasks;
use bytes::Bytes;
use futures_util::FutureExt;
use rawline_journal::{Control, Groups, Offsets, PartitionId, Producer, SharedMap, State, TopicId};
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A stored piece of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadPiece {
    /// Offset of the first record.
    pub first_offset: u64,
    /// Offset after the last record.
    pub next_offset: u64,
    /// The batches, verbatim, back to back.
    pub batches: Bytes,
}

/// The task that merges. It ends when this is dropped, wherever it is.
struct Merging(JoinHandle<()>);

impl Merging {
    fn start(merger: Merger, progress: watch::Receiver<Progress>, runtime: &Handle) -> Merging {
        Merging(tasks::spawn_in(runtime, async move {
            if AssertUnwindSafe(merger.run(progress)).catch_unwind().await.is_err() {
                tracing::error!(
                    "merging has stopped after an internal error, the log has the details: nothing is merged until a \
                     restart; please report it"
                );
            }
        }))
    }
}

impl Drop for Merging {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A journal. When the last handle is dropped, its task stores pending requests, and ends.
#[derive(Clone)]
pub struct Journal {
    store: Arc<dyn Store>,
    inbox: mpsc::Sender<Request>,
    catalog: Arc<RwLock<Catalog>>,
    progress: watch::Receiver<Progress>,
    /// One for all handles, so that the task knows whether others wait.
    end: Arc<watch::Receiver<u64>>,
    tidies: Arc<AtomicBool>,
    together: Together,
    /// Whether all appends and changes are refused.
    is_read_only: bool,
    /// The task, unless the caller runs it.
    task: Option<Supervised>,
}

impl Journal {
    /// Starts the task that extends the journal of a store. It first reads the existing objects.
    pub fn open(store: Arc<dyn Store>, clock: Arc<dyn Clock>, config: JournalConfig) -> Journal {
        let clock = Arc::new(StorageClock::new(clock));
        Journal::open_guarded(store, clock, config, Together::default(), (), None)
    }

    /// As [`Journal::open`]; `guard` is dropped when the task has ended, which runs on `thread` if there is one.
    pub(crate) fn open_guarded(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        config: JournalConfig,
        together: Together,
        guard: impl Send + 'static,
        thread: Option<&CommitThread>,
    ) -> Journal {
        let number = together.number;
        let (journal, task) = Journal::together_with(store, clock, config, together);
        let failed = move |reason: &str| {
            tracing::error!(
                reason,
                journal = number,
                "the journal has stopped after an internal error: none of its topics takes appends until a restart; \
                 please report it"
            );
            crate::metrics::METRICS.failed_topics.increment();
        };
        let (task, run) = Supervised::new(task, failed, guard);
        match thread {
            Some(thread) => drop(thread.spawn(run)),
            None => drop(tasks::spawn(run)),
        }
        Journal { task: Some(task), ..journal }
    }

    /// A handle that refuses all appends and changes, as its clones do. It follows other brokers.
    #[must_use]
    pub(crate) fn refusing_changes(self) -> Journal {
        Journal { is_read_only: true, ..self }
    }

    /// Waits until everything is known that was stored at the start, as long as more of it is read.
    pub async fn ready(&self) -> Result<(), StoreError> {
        let (mut progress, mut end) = (self.progress.clone(), self.end());
        loop {
            let next = *end.borrow_and_update();
            let known = async {
                let known = progress.wait_for(|progress| *progress != Progress::Reading);
                tokio::select! {
                    known = known => Some(known.map(|known| known.clone())),
                    Ok(()) = end.changed() => None,
                }
            };
            return match timeout(JOURNAL_START_MAX, known).await {
                Ok(None) => continue,
                Ok(Some(Ok(Progress::Contradicted(why)))) => Err(StoreError::human(why)),
                Ok(Some(Ok(Progress::Reading | Progress::Ready))) => Ok(()),
                Ok(Some(Err(_))) => {
                    Err(StoreError::human("the journal has stopped after an internal error; please report it"))
                }
                Err(_) => Err(StoreError::wait(format!(
                    "journal {} can't be read: its object {next} or its snapshots could not be read for {} s; the log \
                     says why",
                    self.number(),
                    JOURNAL_START_MAX.as_secs()
                ))),
            };
        }
    }

    /// Where its objects are.
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Its number in its storage, from 0.
    pub(crate) fn number(&self) -> u32 {
        self.together.number
    }

    /// The number of the object that is read next, with every change.
    pub(crate) fn end(&self) -> watch::Receiver<u64> {
        (*self.end).clone()
    }

    /// Whether this broker does the work that one broker should do: see [`JournalConfig::tidies`].
    pub(crate) fn tidies(&self) -> &Arc<AtomicBool> {
        &self.tidies
    }

    /// Why nothing can be appended any more, if that is so.
    pub(crate) fn failure(&self) -> Option<String> {
        match &*self.progress.borrow() {
            Progress::Contradicted(why) => Some(why.clone()),
            Progress::Reading | Progress::Ready => self.task.as_ref().and_then(Supervised::failure),
        }
    }

    /// Waits until the task has ended; then returns [`Journal::failure`].
    pub(crate) async fn ended(&self) -> Option<String> {
        if let Some(task) = &self.task {
            task.ended().await;
        }
        self.failure()
    }

    /// The topic of that name, if it exists as far as this broker has seen.
    pub(crate) fn named(&self, name: &str) -> Option<Arc<JournalTopic>> {
        self.catalog().named(name)
    }

    /// The topic with this id, if it exists as far as this broker has seen.
    pub(crate) fn topic(&self, id: u64) -> Option<Arc<JournalTopic>> {
        self.catalog().with_id(id)
    }

    /// The topic that is known by this id outside the storage, if it exists as far as this broker has seen.
    pub(crate) fn identified(&self, id: TopicId) -> Option<Arc<JournalTopic>> {
        self.catalog().identified(id)
    }

    /// Whether a topic of this journal has had this id, and doesn't exist any more.
    pub(crate) fn was_deleted(&self, topic: u64) -> bool {
        self.catalog().was_deleted(topic)
    }

    /// Calls `look` with the time of the newest object, in microseconds since the Unix epoch. None becomes visible
    /// meanwhile.
    pub(crate) fn with_newest_us<T>(&self, look: impl FnOnce(u64) -> T) -> T {
        let catalog = self.catalog();
        look(catalog.newest_us())
    }

    /// The receiver of commits.
    pub(crate) fn subscriptions(&self) -> Arc<Registry> {
        self.catalog().subscriptions().clone()
    }

    /// Number of topics of all the broker's journals.
    pub(crate) fn topics_count(&self) -> usize {
        self.together.counts.topics()
    }

    /// Number of partitions of all the broker's journals.
    pub(crate) fn partitions_count(&self) -> usize {
        self.together.counts.partitions()
    }

    /// Another number if there are other topics or partitions than before.
    pub(crate) fn topics_version(&self) -> u64 {
        self.catalog().changes()
    }

    /// All topics by id, as they are now.
    pub(crate) fn topics(&self) -> SharedMap<u64, Arc<JournalTopic>> {
        self.catalog().topics()
    }

    /// The topics whose settings delete or compact records.
    pub(crate) fn tidied_topics(&self) -> Vec<Arc<JournalTopic>> {
        self.catalog().tidied_topics()
    }

    /// All topics by name, as they are now.
    pub(crate) fn topics_by_name(&self) -> SharedMap<Arc<str>, Arc<JournalTopic>> {
        self.catalog().topics_by_name()
    }

    fn catalog(&self) -> RwLockReadGuard<'_, Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// A journal and its task, which the caller runs. A simulation drops the task where a process would have died.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        config: JournalConfig,
    ) -> (Journal, impl Future<Output = ()> + Send + 'static) {
        Journal::together_with(store, Arc::new(StorageClock::new(clock)), config, Together::default())
    }

    /// As [`Journal::new`], of a journal that is not the broker's only one.
    fn together_with(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        config: JournalConfig,
        together: Together,
    ) -> (Journal, impl Future<Output = ()> + Send + 'static) {
        let (inbox, requests) = mpsc::channel(APPEND_QUEUE_MAX);
        let catalog = Arc::new(RwLock::new(Catalog::new(store.verifies_once(), together.clone())));
        let (progress, progress_now) = watch::channel(Progress::Reading);
        let (published, published_now) = watch::channel(Published::default());
        let (dead, dead_now) = watch::channel(Dead::default());
        let (end, end_now) = watch::channel(1);
        let merger = config.merge.clone().map(|merge| {
            let (store, inbox, catalog) = (store.clone(), inbox.downgrade(), catalog.clone());
            Merger::new(store, clock.clone(), inbox, catalog, (published_now, dead_now), &config, merge)
        });
        let tidies = config.tidies.clone();
        let news = (published, dead);
        let task = Task::new(store.clone(), clock, config, catalog.clone(), progress, news, end).run(requests);
        let until_ready = progress_now.clone();
        // Merging copies gigabytes: it stays here wherever the task runs.
        let runtime = Handle::current();
        let both = async move {
            let _merging = merger.map(|merger| Merging::start(merger, until_ready, &runtime));
            task.await;
        };
        let (progress, end) = (progress_now, Arc::new(end_now));
        let is_read_only = false;
        (Journal { store, inbox, catalog, progress, end, tidies, together, is_read_only, task: None }, both)
    }

    /// Appends batches to a partition. Returns when the store has confirmed them and everything before them. They are
    /// stored even if the caller stops waiting.
    pub async fn append(
        &self,
        partition: PartitionId,
        producer: Option<Producer>,
        received: Received,
    ) -> Result<Appended, JournalError> {
        self.check_stores()?;
        let (bytes, batches) = (received.bytes(), received.batches.len());
        if batches > OBJECT_BATCHES_MAX || bytes > OBJECT_BYTES_MAX / 8 * 7 {
            return Err(JournalError::TooLarge { bytes, batches });
        }
        let (answer, answered) = oneshot::channel();
        self.ask(Request::Append { partition, producer, received, answer }, answered).await
    }

    /// Changes a topic; a topic to be created has no id. Returns the topic's id once the change is stored.
    pub async fn change(&self, control: Control) -> Result<u64, JournalError> {
        self.check_stores()?;
        self.ask_for(control).await
    }

    /// As [`Journal::change`], without a wait: changes are made in the order of these calls. The outcome follows.
    pub(crate) fn submit(&self, control: Control) -> Result<Submitted, JournalError> {
        self.check_stores()?;
        let (answer, answered) = oneshot::channel();
        self.send(Request::Change { control, answer })?;
        Ok(Submitted(answered))
    }

    fn check_stores(&self) -> Result<(), JournalError> {
        if self.is_read_only { Err(JournalError::ReadOnly) } else { Ok(()) }
    }

    async fn ask_for(&self, control: Control) -> Result<u64, JournalError> {
        let (answer, answered) = oneshot::channel();
        self.ask(Request::Change { control, answer }, answered).await
    }

    /// Opens a new instance of a named producer, without transactions, for the key with this name.
    pub async fn open_producer(&self, name: &str, owner: &str) -> Result<ProducerInstance, JournalError> {
        let (name, owner) = (name.into(), owner.into());
        let open = Control::OpenProducer { name, id: 0, epoch: 0, timeout_ms: 0, owner, from: None, ends: 0 };
        self.change_producer(open).await
    }

    /// Opens a new instance of a named producer, or ends the transaction of one, which opens the next. When this
    /// returns, it is stored, and no older instance can append.
    pub async fn change_producer(&self, control: Control) -> Result<ProducerInstance, JournalError> {
        self.check_stores()?;
        let (answer, answered) = oneshot::channel();
        self.ask(Request::Producer { control, answer }, answered).await
    }

    /// The result of a look at the state, which includes objects in flight that may never be stored. The look is quick:
    /// appends wait for it.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&State) -> T + Send + 'static,
    ) -> Result<T, JournalError> {
        let (answer, answered) = oneshot::channel();
        let look = Box::new(move |state: &State| drop(answer.send(Ok(look(state)))));
        self.ask(Request::Look { look }, answered).await
    }

    /// Another broker has read all objects before this one: this one reads them too. The caller doesn't wait for it.
    pub(crate) fn told(&self, next: u64) {
        // If the task has no time for it now, it reads them when it looks for news by itself.
        let _ = self.inbox.try_send(Request::Told { next });
    }

    /// Waits until this broker has seen everything that is stored now, by other brokers too.
    pub(crate) async fn catch_up(&self) -> Result<(), JournalError> {
        self.catch_up_by(false).await
    }

    /// As [`Journal::catch_up`], and makes sure that nothing is lost where the journal seems to end: this broker is
    /// about to extend it in place of another.
    pub(crate) async fn take_over(&self) -> Result<(), JournalError> {
        self.catch_up_by(true).await
    }

    async fn catch_up_by(&self, looks: bool) -> Result<(), JournalError> {
        let (answer, answered) = oneshot::channel();
        match self.ask(Request::CatchUp { answer, looks }, answered).await {
            Err(JournalError::NotStored | JournalError::Unknown) => Err(JournalError::Unread),
            caught_up => caught_up,
        }
    }

    /// The name of the producer with this id, if it has one as far as this broker has seen.
    pub(crate) fn producer_name(&self, id: u64) -> Option<Arc<str>> {
        self.catalog().producer_name(id).cloned()
    }

    /// The result of a look at groups' committed offsets, as far as this broker has read them.
    pub(crate) fn with_offsets<T>(&self, look: impl FnOnce(&Offsets) -> T) -> T {
        look(self.catalog().offsets_of_groups())
    }

    /// The result of a look at the offsets and members of groups, at one moment.
    pub(crate) fn with_groups<T>(&self, look: impl FnOnce(&Groups, &Offsets) -> T) -> T {
        let catalog = self.catalog();
        look(catalog.groups().0, catalog.offsets_of_groups())
    }

    /// Another number if members of groups have changed, as far as this broker has seen.
    pub(crate) fn groups_version(&self) -> u64 {
        self.catalog().groups().1
    }

    /// The offsets of a partition's records, as far as this broker has seen them.
    pub fn offsets(&self, partition: PartitionId) -> Range<u64> {
        self.catalog().offsets(partition)
    }

    /// The stored batches around an offset, as far as one object has them; `None` if the record doesn't exist.
    pub async fn read(&self, partition: PartitionId, offset: u64) -> Result<Option<ReadPiece>, StoreError> {
        let extent = self.catalog().find(partition);
        let found = extent.and_then(|extent| extent.index().find(offset));
        let Some(Found { piece, next_offset, .. }) = found else { return Ok(None) };
        let read = copy::read_source(&*self.store, &[(partition, piece, next_offset)]).await;
        let mut read = read.map_err(|error| match error {
            CopyError::Unreadable { error, .. } | CopyError::Failed(error) => error,
        })?;
        let Some((_, batches)) = read.pop() else { unreachable!("{piece:?} was not read") };
        Ok(Some(ReadPiece { first_offset: piece.first_offset, next_offset, batches }))
    }

    async fn ask<T>(
        &self,
        request: Request,
        answered: oneshot::Receiver<Result<T, JournalError>>,
    ) -> Result<T, JournalError> {
        self.send(request)?;
        answered.await.unwrap_or(Err(JournalError::Closed))
    }

    fn send(&self, request: Request) -> Result<(), JournalError> {
        self.inbox.try_send(request).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => JournalError::Busy,
            mpsc::error::TrySendError::Closed(_) => JournalError::Closed,
        })
    }
}

/// A change that was submitted.
pub(crate) struct Submitted(oneshot::Receiver<Result<u64, JournalError>>);

impl Submitted {
    /// Returns once the change is stored, or certain never to be.
    pub async fn stored(self) -> Result<u64, JournalError> {
        self.0.await.unwrap_or(Err(JournalError::Closed))
    }
}
