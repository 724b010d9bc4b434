//! A partition's own task, in a store without a journal. It begins with the first append: a partition that nobody
//! appends to has no task and no queue.

use crate::append::Message;
use crate::commit::Appender;
use crate::end::End;
use crate::limits::APPEND_QUEUE_MAX;
use crate::partition::Partition;
use crate::subscriptions::Subject;
use crate::supervise::Supervised;
use crate::tasks;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, OnceLock};
use tokio::sync::{mpsc, watch};

/// What extends a partition that has its own objects.
pub(crate) struct Own {
    /// The offset that the next record gets, for readers.
    next_offset: watch::Sender<u64>,
    running: OnceLock<Running>,
}

/// The end of a partition as readers and subscriptions see it.
pub(crate) struct VisibleEnd {
    next_offset: watch::Sender<u64>,
    subject: Arc<Subject>,
    partition: u32,
}

impl VisibleEnd {
    /// The offset that the next record gets.
    pub fn get(&self) -> u64 {
        *self.next_offset.borrow()
    }

    /// The records up to `next_offset` can be read.
    pub fn advance(&self, next_offset: u64) {
        let before = self.next_offset.send_replace(next_offset);
        assert!(before <= next_offset, "the end went back from {before} to {next_offset}");
        if before < next_offset {
            // A subscription that begins now either gets this, or has seen the records in the index.
            fence(Ordering::SeqCst);
            self.subject.committed(self.partition, before);
        }
    }
}

/// The task and its queue.
struct Running {
    inbox: mpsc::Sender<Message>,
    task: Supervised,
}

impl Own {
    /// For a partition that ends at this offset.
    pub fn new(next_offset: u64) -> Own {
        Own { next_offset: watch::Sender::new(next_offset), running: OnceLock::new() }
    }

    /// The offset that the next record gets.
    pub fn next_offset(&self) -> watch::Receiver<u64> {
        self.next_offset.subscribe()
    }

    /// The message of the task's panic, if it has panicked.
    pub fn failure(&self) -> Option<String> {
        self.running.get()?.task.failure()
    }

    /// Waits until the task has ended; then returns the message of its panic, if that was the reason.
    pub async fn ended(&self) -> Option<String> {
        match self.running.get() {
            Some(running) => running.task.ended().await,
            None => unreachable!("nothing waits for the end of a task that never began"),
        }
    }
}

impl Partition {
    /// The queue of the partition's own task, which begins if it hasn't.
    pub(crate) fn inbox<'a>(&self, own: &'a Own) -> &'a mpsc::Sender<Message> {
        &own.running.get_or_init(|| self.start(own.next_offset.clone())).inbox
    }

    fn start(&self, next_offset: watch::Sender<u64>) -> Running {
        let shared = &self.topic.shared;
        let end = VisibleEnd { next_offset, subject: self.topic.subject.clone(), partition: self.number };
        let (inbox, waiting) = mpsc::channel(APPEND_QUEUE_MAX);
        let appender = Appender::new(
            self.log.clone(),
            shared.store.clone(),
            shared.clock.clone(),
            &shared.config,
            self.index.clone(),
            end,
            self.topic.metrics.clone(),
        );
        let log = self.log.clone();
        let failed = move |reason: &str| {
            tracing::error!(
                topic = log,
                reason,
                "this topic has stopped after an internal error and takes no appends until a restart; please report it"
            );
            crate::metrics::METRICS.failed_topics.increment();
        };
        let (task, run) = Supervised::new(appender.run(waiting), failed, shared.tasks.clone());
        tasks::spawn(run);
        Running { inbox, task }
    }

    /// Ends the partition's task, after the appends that it has received. Later ones get an error.
    pub(crate) async fn stop_task(&self) {
        let End::Own(own) = &self.end else { unreachable!("topic {} is in a journal", self.log) };
        assert!(!self.is_live(), "topic {} ends, and takes appends", self.log);
        // Also one that hasn't begun: nobody can begin it afterwards. A task that has ended receives nothing.
        let _ = self.inbox(own).send(Message::Stop).await;
        own.ended().await;
    }
}
