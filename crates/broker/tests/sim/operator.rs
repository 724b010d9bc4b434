//! Worlds with an operator who deletes, restores and replaces what is in the store, between runs and under a running
//! broker, and with a store that confirms what it doesn't keep. No acknowledged offset is given out again, and no loss
//! is silent: a broker refuses to continue.

use crate::brokers::Broker;
use crate::history::Text;
use crate::producers::received;
use crate::store::{Lie, SharedStore};
use rawline_broker::Kind;
use rawline_broker::journal::{Journal, JournalError};
use rawline_journal::{Control, Index, PartitionId, Source};
use rawline_testkit::batches::records_of;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

const PARTITIONS: u32 = 3;

/// Longer than a broker may take to notice that its storage was changed.
const NOTICED_WITHIN: Duration = Duration::from_secs(60);

/// What happens to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// Some objects are deleted after an orderly end.
    DeleteBetween,
    /// An object is deleted after a crash that others follow which show that it was stored.
    DeleteAfterCrash,
    /// Snapshots are deleted, and an object.
    DeleteSnapshots,
    /// The newest objects are deleted under a running broker.
    DeleteNewest,
    /// Everything is deleted under a running broker.
    Wipe,
    /// An older copy takes the place of everything under a running broker.
    Restore,
    /// The store confirms some PUTs and doesn't keep them.
    Forget,
}

impl Deed {
    pub const ALL: [Deed; 7] = [
        Deed::DeleteBetween,
        Deed::DeleteAfterCrash,
        Deed::DeleteSnapshots,
        Deed::DeleteNewest,
        Deed::Wipe,
        Deed::Restore,
        Deed::Forget,
    ];
}

/// What must not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// An acknowledged record isn't where it was, and every broker continues.
    Silent { text: Text },
    /// Two acknowledged records have one offset.
    Reused { text: Text, other: Text },
    /// A running broker has acknowledged more for a minute although an acknowledged record is missing.
    Unnoticed { text: Text },
    /// A broker refuses to continue although nothing is missing.
    Refused { reason: String },
}

type Acknowledged = BTreeMap<(PartitionId, u64), Text>;

/// Runs the world of a seed. Returns what must not have happened, and whether anything was lost.
pub fn run(seed: u64, deed: Deed, lie: Option<Lie>) -> (Vec<Failure>, bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(live(seed, deed, lie))
}

async fn live(seed: u64, deed: Deed, lie: Option<Lie>) -> (Vec<Failure>, bool) {
    let store = SharedStore::new(seed, lie);
    // The network is well: what others do to the store is trouble enough.
    store.calm();
    let mut broker = Broker::new(store.clone(), 0);
    broker.start();
    let journal = broker.journal().unwrap();
    let create = Control::Create { topic: 0, name: "t".into(), partitions: PARTITIONS, settings: [].into() };
    let topic = journal.change(create).await.unwrap();
    let (mut acknowledged, mut failures) = (Acknowledged::new(), Vec::new());
    if deed == Deed::Forget {
        store.forget_some(true);
    }
    let mut refusal = append_some(&store, &journal, topic, &mut acknowledged, &mut failures).await;
    if refusal.is_some() && deed != Deed::Forget {
        failures.push(Failure::Refused { reason: refusal.clone().unwrap() });
    }
    match deed {
        Deed::DeleteNewest | Deed::Wipe | Deed::Restore => {
            let older = store.copy();
            append_some(&store, &journal, topic, &mut acknowledged, &mut failures).await;
            change(&store, deed, older);
            let until = tokio::time::Instant::now() + NOTICED_WITHIN;
            while refusal.is_none() && tokio::time::Instant::now() < until {
                refusal = append_some(&store, &journal, topic, &mut acknowledged, &mut failures).await;
            }
            if let (Some(text), None) = (first_lost(&store, &acknowledged), &refusal) {
                failures.push(Failure::Unnoticed { text });
            }
            drop(journal);
            broker.kill();
        }
        Deed::DeleteAfterCrash => {
            drop(journal);
            broker.kill();
            change(&store, deed, store.copy());
        }
        Deed::DeleteBetween | Deed::DeleteSnapshots | Deed::Forget => {
            drop(journal);
            broker.end().await;
            store.forget_some(false);
            change(&store, deed, store.copy());
        }
    }
    if refusal.is_none() {
        refusal = start_again(&store, &mut acknowledged, &mut failures, topic).await;
    }
    let lost = first_lost(&store, &acknowledged);
    if let (Some(text), None) = (&lost, &refusal) {
        failures.push(Failure::Silent { text: text.clone() });
    }
    (failures, lost.is_some())
}

/// An acknowledged record that is in no object.
fn first_lost(store: &SharedStore, acknowledged: &Acknowledged) -> Option<Text> {
    let stored = store.stored_texts();
    acknowledged.values().find(|text| !stored.contains(*text)).cloned()
}

/// Appends for some seconds. Returns why the broker takes no more, if that is so.
async fn append_some(
    store: &Arc<SharedStore>,
    journal: &Journal,
    topic: u64,
    acknowledged: &mut Acknowledged,
    failures: &mut Vec<Failure>,
) -> Option<String> {
    for _ in 0..store.random(|random| random.usize(5..60)) {
        let partition = PartitionId { topic, number: store.random(|random| random.u32(0..PARTITIONS)) };
        let text = format!("record {} {}", acknowledged.len(), store.random(|random| random.u32(..)));
        match journal.append(partition, None, received(std::slice::from_ref(&text))).await {
            Ok(appended) => {
                if let Some(other) = acknowledged.insert((partition, appended.first_offset), text.clone()) {
                    failures.push(Failure::Reused { text, other });
                }
            }
            Err(JournalError::NotStored | JournalError::Unknown) => {}
            // The topic's creation is lost, and a planted bug hides that.
            Err(JournalError::Rejected(_)) => {}
            Err(error) if error.kind() == Kind::TellHuman => return Some(error.to_string()),
            Err(error) => panic!("{error}"),
        }
        sleep(Duration::from_millis(store.random(|random| random.u64(0..400)))).await;
    }
    None
}

/// Changes the store as the deed says.
fn change(store: &SharedStore, deed: Deed, older: crate::store::Copied) {
    let draw = |range: std::ops::Range<usize>| store.random(|random| random.usize(range));
    let numbers = store.numbers();
    match deed {
        Deed::DeleteBetween => (0..draw(1..4)).for_each(|_| store.delete(numbers[draw(0..numbers.len())])),
        Deed::DeleteAfterCrash | Deed::DeleteSnapshots => {
            if deed == Deed::DeleteSnapshots {
                store.delete_snapshots();
            }
            // What is in flight last can't be distinguished from what a crash leaves.
            let shown = numbers.iter().filter_map(|number| store.link(*number)).map(|link| link.certain_before()).max();
            let certain: Vec<u64> = numbers.into_iter().filter(|number| *number < shown.unwrap_or(0)).collect();
            if !certain.is_empty() {
                store.delete(certain[draw(0..certain.len())]);
            }
        }
        Deed::DeleteNewest => numbers.iter().rev().take(draw(1..6)).for_each(|number| store.delete(*number)),
        Deed::Wipe => store.restore(crate::store::Copied::default()),
        Deed::Restore => store.restore(older),
        Deed::Forget => {}
    }
}

/// Another run: it refuses to continue, or has everything, and continues.
async fn start_again(
    store: &Arc<SharedStore>,
    acknowledged: &mut Acknowledged,
    failures: &mut Vec<Failure>,
    topic: u64,
) -> Option<String> {
    let mut broker = Broker::new(store.clone(), 1);
    broker.start();
    let journal = broker.journal().unwrap();
    let ready = timeout(Duration::from_secs(300), journal.ready()).await.unwrap();
    let refusal = match ready {
        Err(error) => Some(error.message),
        Ok(()) => append_some(store, &journal, topic, acknowledged, failures).await,
    };
    drop(journal);
    broker.end().await;
    refusal
}

impl SharedStore {
    /// The texts of the records in objects that are there.
    fn stored_texts(&self) -> std::collections::BTreeSet<Text> {
        let mut texts = std::collections::BTreeSet::new();
        for (_, bytes) in self.objects() {
            let index = Index::parse(&bytes).unwrap();
            for (_, batches) in index.sections() {
                for (batch, position) in batches {
                    let end = position + u64::from(batch.bytes);
                    let records = records_of(&bytes[*position as usize..end as usize]);
                    texts.extend(records.into_iter().map(|record| String::from_utf8(record).unwrap()));
                }
            }
        }
        texts
    }

    /// The numbers of the journal objects.
    fn numbers(&self) -> Vec<u64> {
        self.objects()
            .into_iter()
            .filter(|(source, _)| !source.is_merged())
            .map(|(source, _)| source.number())
            .collect()
    }

    fn link(&self, number: u64) -> Option<rawline_journal::Link> {
        let found = self.objects().into_iter().find(|(source, _)| *source == Source::Journal(number));
        found.map(|(_, bytes)| Index::parse(&bytes).unwrap().header.link)
    }
}
