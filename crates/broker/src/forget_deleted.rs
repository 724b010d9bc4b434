//! Forgets offsets that groups have committed in topics that are deleted. In a storage with one journal, the deletion
//! does that. With several, a group's offsets may be in another journal than the topic, which knows nothing of it.

use crate::journal::{Journal, JournalError};
use crate::journals::{Journals, WeakJournals};
use crate::tasks;
use rawline_journal::{Control, Fence, PartitionId, Refused};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// Offsets that are forgotten at once.
const AT_ONCE: usize = 256;

/// The task. It ends when this is dropped.
pub(crate) struct ForgettingTask(JoinHandle<()>);

impl ForgettingTask {
    /// Looks every `interval`, as long as the broker runs.
    pub fn start(journals: WeakJournals, interval: Duration) -> ForgettingTask {
        ForgettingTask(tasks::spawn(async move {
            loop {
                sleep(interval).await;
                let journals = journals.upgrade();
                if journals.all().is_empty() {
                    return;
                }
                forget_deleted(&journals).await;
            }
        }))
    }

    /// Ends it. When this returns, it holds no journal.
    pub async fn stop(mut self) {
        self.0.abort();
        let _ = (&mut self.0).await;
    }
}

impl Drop for ForgettingTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Forgets them in the journals that this broker tidies.
async fn forget_deleted(journals: &Journals) {
    for journal in journals.all().iter().filter(|journal| journal.tidies().load(Ordering::Relaxed)) {
        for (group, partition) in left_over(journals, journal) {
            match journal.change(forget(group, partition)).await {
                // Another broker was faster.
                Ok(_) | Err(JournalError::Refused(Refused::NoCommitted)) => {}
                Err(error) => {
                    tracing::debug!(%error, "an offset in a topic that is deleted stays for now");
                    return;
                }
            }
        }
    }
}

/// The topic is gone, whatever members the group has.
fn forget(group: Arc<str>, partition: PartitionId) -> Control {
    Control::ForgetOffset { group, partition: Some(partition), fence: Fence::Open }
}

/// Offsets in a journal whose topics have existed in another one, and exist no more. This broker may not know of the
/// newest topics: those are not taken for deleted.
fn left_over(journals: &Journals, journal: &Journal) -> Vec<(Arc<str>, PartitionId)> {
    let is_deleted = |id: PartitionId| {
        let of = journals.with_topic(id.topic).filter(|of| of.number() != journal.number());
        of.is_some_and(|of| of.was_deleted(id.topic))
    };
    let all: Vec<(Arc<str>, PartitionId)> = journal.with_offsets(|offsets| {
        let of_group = |group: &Arc<str>| -> Vec<_> { offsets.of(group).map(|(id, _)| (group.clone(), id)).collect() };
        offsets.groups().flat_map(of_group).collect()
    });
    all.into_iter().filter(|(_, id)| is_deleted(*id)).take(AT_ONCE).collect()
}
