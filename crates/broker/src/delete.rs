//! Deletes topics. A deletion is certain as soon as the store has noted it, durably; then the topic's objects are
//! deleted, and when all of them are, its name is free.
//!
//! ```text
//! task ends ─► Store::mark_deleted ─► reads end ─► Store::delete_topic ─► the name is free
//! ```
//!
//! A separate task carries a deletion out, whether or not its caller waits. Once it has begun it is given up only if
//! the store refuses to note it. After a crash, the next start finds the note and continues.

use crate::broker::{Broker, Opened, Slot, Topics};
use crate::end::End;
use crate::limits::{DELETE_PAUSE, DELETE_WAIT_MAX};
use crate::store::{Store, StoreError};
use crate::topic::{Topic, TopicError, check_name};
use crate::{Kind, metrics, tasks};
use rawline_journal::TopicId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// How far a deletion is.
#[derive(Debug, Clone)]
pub(crate) enum Progress {
    /// The store has not noted it yet.
    Begun,
    /// The store could not note it just now; it is retried.
    Delayed(StoreError),
    /// The store refused to note it: the topic stays.
    Refused(StoreError),
    /// The store has noted it.
    Certain,
    /// Nothing is left of the topic.
    Done,
}

impl Progress {
    fn is_certain(&self) -> bool {
        matches!(self, Progress::Certain | Progress::Done)
    }
}

/// Ends all deletions in flight when it is stopped or dropped.
pub(crate) struct Deletions(watch::Sender<bool>);

impl Default for Deletions {
    fn default() -> Self {
        Deletions(watch::Sender::new(false))
    }
}

impl Deletions {
    /// What is left of them is done after the next start.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Broker {
    /// Deletes a topic, for good. Appends that it has received before are stored first; later ones fail, or create a
    /// new topic once the name is free. When this returns, the deletion is durable, and no read returns anything of
    /// the topic; what has not been deleted within a few seconds is deleted afterwards.
    ///
    /// If the store can't note the deletion now, this fails and the broker goes on trying.
    pub async fn delete_topic(&self, name: &str) -> Result<(), TopicError> {
        check_name(name)?;
        if let Some(journal) = self.journals.of(name) {
            return self.delete_in(journal, name).await;
        }
        let is_known = match self.slot(name) {
            Some(Slot::Topic(cell)) => matches!(cell.get(), Some(Opened::Topic(_))),
            Some(Slot::Deleting(_)) => true,
            None => false,
        };
        if !is_known {
            match self.is_stored(name).await {
                Ok(true) => {}
                Ok(false) => return Err(TopicError::NotFound { name: name.to_owned() }),
                // A topic that is too damaged to be opened can be deleted all the same.
                Err(error) if error.kind == Kind::TellHuman => {}
                Err(error) => return Err(error.into()),
            }
        }
        wait(self.begin_deletion(name).await).await
    }

    /// Deletes the topic with this id, as [`Broker::delete_topic`] does. Returns its name; `None` if there was no such
    /// topic.
    pub async fn delete_topic_with_id(&self, id: TopicId) -> Result<Option<String>, TopicError> {
        let Some(topic) = self.topic_with_id(id).await? else { return Ok(None) };
        let name = topic.status().name;
        match (self.journals.of(&topic.topic.name), &topic.end) {
            (Some(journal), End::Journal(end)) => self.delete_this(journal, end.topic()).await?,
            _ => self.delete_topic(&name).await?,
        }
        Ok(Some(name))
    }

    /// Continues a deletion that the store has noted.
    pub(crate) fn continue_deletion(&self, name: &str) {
        let mut topics = self.topics.write();
        if !topics.contains_key(name) {
            self.start_deletion(&mut topics, name, None, Progress::Certain);
        }
    }

    /// Begins to delete a topic, or joins the deletion in flight.
    async fn begin_deletion(&self, name: &str) -> watch::Receiver<Progress> {
        loop {
            let cell = {
                let mut topics = self.topics.write();
                match topics.get(name) {
                    Some(Slot::Deleting(progress)) => return progress.clone(),
                    Some(Slot::Topic(cell)) => cell.clone(),
                    None => return self.start_deletion(&mut topics, name, None, Progress::Begun),
                }
            };
            // If somebody is opening the topic, that ends first. From here on nobody else can.
            let topic = match cell.get_or_init(|| async { Opened::Deleting }).await {
                Opened::Topic(topic) => Some(topic.clone()),
                Opened::Deleting => None,
            };
            let mut topics = self.topics.write();
            if matches!(topics.get(name), Some(Slot::Topic(same)) if Arc::ptr_eq(same, &cell)) {
                return self.start_deletion(&mut topics, name, topic, Progress::Begun);
            }
        }
    }

    fn start_deletion(
        &self,
        topics: &mut BTreeMap<String, Slot>,
        name: &str,
        topic: Option<Arc<Topic>>,
        from: Progress,
    ) -> watch::Receiver<Progress> {
        let (progress, progress_now) = watch::channel(from);
        topics.insert(name.to_owned(), Slot::Deleting(progress_now.clone()));
        let deletion = Deletion {
            name: name.to_owned(),
            topic,
            store: self.shared.store.clone(),
            topics: self.topics.clone(),
            progress,
            pause: self.shared.config.retention_interval,
        };
        let (mut stopped, task) = (self.deletions.0.subscribe(), self.shared.tasks.clone());
        tasks::spawn(async move {
            tokio::select! {
                () = deletion.run() => {}
                _ = stopped.wait_for(|&stop| stop) => {}
            }
            drop(task);
        });
        progress_now
    }
}

/// Waits until a deletion is certain, and for a moment until it is done.
async fn wait(mut progress: watch::Receiver<Progress>) -> Result<(), TopicError> {
    let begun = progress.wait_for(|progress| !matches!(progress, Progress::Begun)).await;
    let reached = begun.map(|progress| progress.clone());
    match reached {
        Ok(Progress::Delayed(error)) => {
            let message = format!("{error}; the topic takes no appends, and the broker goes on trying to delete it");
            return Err(StoreError { message, ..error }.into());
        }
        Ok(Progress::Refused(error)) => return Err(error.into()),
        Ok(reached) => assert!(reached.is_certain(), "a deletion that is {reached:?} was taken for a certain one"),
        Err(_) => {
            let message = "the broker is shutting down, or the deletion has failed an internal check; retry";
            return Err(StoreError::wait(message).into());
        }
    }
    // If this takes longer or the broker shuts down, it goes on later.
    let _ = timeout(DELETE_WAIT_MAX, progress.wait_for(|progress| matches!(progress, Progress::Done))).await;
    Ok(())
}

/// A deletion in flight.
struct Deletion {
    name: String,
    /// The topic, unless it was not open.
    topic: Option<Arc<Topic>>,
    store: Arc<dyn Store>,
    topics: Arc<Topics>,
    progress: watch::Sender<Progress>,
    /// Between attempts to delete what is left.
    pause: Duration,
}

impl Deletion {
    async fn run(self) {
        if let Some(topic) = &self.topic {
            topic.stop().await;
        }
        if !self.progress.borrow().is_certain() && !self.become_certain().await {
            return;
        }
        while let Err(error) = self.store.delete_topic(&self.name).await {
            tracing::warn!(
                topic = self.name, %error,
                "the topic is deleted, but its objects still take room in the store; deleting them again later"
            );
            sleep(self.pause).await;
        }
        self.free_name();
        tracing::info!(topic = self.name, "deleted the topic");
        self.progress.send_replace(Progress::Done);
    }

    /// Lets the store note the deletion. False if it refuses.
    async fn become_certain(&self) -> bool {
        loop {
            match self.mark().await {
                Ok(()) => break,
                Err(error) if matches!(error.kind, Kind::Wait | Kind::TryAgain) => {
                    tracing::warn!(topic = self.name, %error, "the topic can't be deleted now; retrying");
                    self.progress.send_replace(Progress::Delayed(error));
                    sleep(DELETE_PAUSE).await;
                    self.progress.send_replace(Progress::Begun);
                }
                Err(error) => {
                    tracing::error!(topic = self.name, %error, "the topic can't be deleted; it stays");
                    // It is recovered from the store when it is used.
                    self.free_name();
                    if let Some(topic) = &self.topic {
                        topic.topic.life.abandon();
                        topic.topic.subject.abandoned();
                    }
                    self.forget_failure();
                    self.progress.send_replace(Progress::Refused(error));
                    return false;
                }
            }
        }
        self.forget_failure();
        self.progress.send_replace(Progress::Certain);
        true
    }

    /// A topic whose task has panicked doesn't count as failed any more: it is deleted, or recovered at its next use.
    fn forget_failure(&self) {
        let partitions = self.topic.iter().flat_map(|topic| topic.with_own_tasks());
        partitions
            .filter(|partition| partition.failure().is_some())
            .for_each(|_| metrics::METRICS.failed_topics.decrement());
    }

    async fn mark(&self) -> Result<(), StoreError> {
        let Some(topic) = &self.topic else { return self.store.mark_deleted(&self.name).await };
        // What changes the topic in the store ends first, and nothing can begin: the topic has stopped.
        let partitions = topic.with_own_tasks();
        let mut nobody_changes_it = Vec::with_capacity(partitions.len());
        for partition in &partitions {
            nobody_changes_it.push(partition.changing.lock().await);
        }
        self.store.mark_deleted(&self.name).await?;
        topic.topic.life.delete();
        topic.topic.subject.deleted();
        Ok(())
    }

    fn free_name(&self) {
        let removed = self.topics.write().remove(&self.name);
        assert!(matches!(removed, Some(Slot::Deleting(_))), "topic {} was opened while it was deleted", self.name);
    }
}
