//! Producers: some number their appends, and retry them until they know that they are stored.

use super::disk::Disk;
use super::history::{History, Text, Violation};
use crate::journal::request::Appended;
use crate::journal::{Journal, JournalError};
use crate::received::Received;
use bytes::Bytes;
use rawline_batch::{Checker, Codec, Kind, Limits};
use rawline_journal::{Control, PartitionId, Producer, Refused, Rejected};
use rawline_testkit::batches;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// The shared state of a world's producers.
#[derive(Clone)]
pub struct World {
    pub disk: Arc<Disk>,
    /// Of the broker that runs.
    pub journal: Arc<Mutex<Option<Journal>>>,
    pub history: Arc<Mutex<History>>,
    pub partitions: u32,
    /// Id of the topic, once it exists.
    pub topic: Arc<Mutex<Option<u64>>>,
}

fn received(records: &[Text]) -> Received {
    let records: Vec<_> = records.iter().map(|record| record.as_bytes().to_vec()).collect();
    let bytes = Bytes::from(batches::batch(Codec::None, &records));
    let mut checker = Checker::new(Limits::default());
    checker.push(&bytes).unwrap();
    Received::new(vec![bytes], checker).unwrap()
}

impl World {
    /// Starts all producers, and what trims.
    pub fn start(&self, producers: usize, may_lose: bool) -> Vec<JoinHandle<()>> {
        let one = |number: usize| {
            let (world, at) = (self.clone(), number as u32 % self.partitions);
            tokio::spawn(async move {
                let topic = world.create().await;
                let partition = PartitionId { topic, number: at };
                // Sequences go back when acknowledged records are lost.
                if number.is_multiple_of(2) && !may_lose {
                    world.append_once(number, partition).await;
                } else {
                    world.append_plainly(number, partition).await;
                }
            })
        };
        let mut tasks: Vec<_> = (0..producers).map(one).collect();
        let world = self.clone();
        tasks.push(tokio::spawn(async move { world.trim().await }));
        tasks
    }

    /// The partitions of the topic, if it exists.
    pub fn partitions(&self) -> impl Iterator<Item = PartitionId> {
        let topic = *self.topic.lock().unwrap();
        let count = self.partitions;
        topic.into_iter().flat_map(move |topic| (0..count).map(move |number| PartitionId { topic, number }))
    }

    fn has_ended(&self) -> bool {
        self.history.lock().unwrap().ends
    }

    /// The broker that runs.
    async fn any(&self) -> Journal {
        loop {
            let journal = self.journal.lock().unwrap().clone();
            match journal {
                Some(journal) => return journal,
                None => sleep(Duration::from_millis(50)).await,
            }
        }
    }

    async fn pause(&self) {
        sleep(Duration::from_millis(self.disk.random(|random| random.u64(0..200)))).await;
    }

    /// Creates the topic that all producers use, unless it exists. Returns its id.
    async fn create(&self) -> u64 {
        loop {
            let control =
                Control::Create { topic: 0, name: "t".into(), partitions: self.partitions, settings: [].into() };
            let created = self.any().await.change(control).await;
            match created {
                Ok(topic) | Err(JournalError::Refused(Refused::Exists { topic })) if !self.disk.is_dead() => {
                    *self.topic.lock().unwrap() = Some(topic);
                    return topic;
                }
                _ => self.pause().await,
            }
        }
    }

    /// A text of random length.
    fn text(&self, name: String) -> Text {
        let length = self.disk.random(|random| if random.u8(0..4) == 0 { random.usize(0..700) } else { 0 });
        format!("{name} {}", "x".repeat(length))
    }

    /// Responses after the machine went down are never received.
    fn acknowledged(&self, texts: &[Text], partition: PartitionId, appended: Appended) -> bool {
        if self.disk.is_dead() {
            return false;
        }
        let mut history = self.history.lock().unwrap();
        (appended.first_offset..).zip(texts).for_each(|(offset, text)| history.knows(partition, offset, text));
        self.disk.saw(|seen| seen.acknowledged += texts.len());
        true
    }

    /// Appends records one by one, without retries.
    async fn append_plainly(self, name: usize, partition: PartitionId) {
        for n in 0.. {
            if self.has_ended() {
                return;
            }
            let texts = [self.text(format!("plain {name}-{n}"))];
            self.history.lock().unwrap().appends(&texts);
            let result = self.any().await.append(partition, None, received(&texts)).await;
            self.note(&format!("plain {name}-{n}"), &result);
            match result {
                Ok(appended) => drop(self.acknowledged(&texts, partition, appended)),
                Err(error) if self.disk.is_dead() => drop(error),
                Err(JournalError::NotStored) => self.deny(&texts),
                // Its message guarantees that nothing is stored.
                Err(JournalError::Store(error)) if error.kind == Kind::Wait => self.deny(&texts),
                Err(JournalError::Rejected(Rejected::Partition(_))) if self.history.lock().unwrap().may_lose => {
                    // So is the topic.
                    self.create().await;
                }
                Err(JournalError::Rejected(rejected)) => {
                    self.violate(Violation::Rejected { reason: rejected.to_string() });
                }
                Err(_) => {}
            }
            self.pause().await;
        }
    }

    fn deny(&self, texts: &[Text]) {
        self.disk.saw(|seen| seen.denied += texts.len());
        texts.iter().for_each(|text| self.history.lock().unwrap().denies(text));
    }

    fn note(&self, name: &str, result: &Result<Appended, JournalError>) {
        // The messages of stores have paths, which differ.
        self.disk.note(|| match result {
            Err(JournalError::Store(error)) => format!("{name}: {:?}", error.kind),
            result => format!("{name}: {result:?}"),
        });
    }

    /// Appends one or two records at a time, again until they are stored.
    async fn append_once(self, name: usize, partition: PartitionId) {
        let mut sequence = 0;
        for n in 0.. {
            if self.has_ended() {
                return;
            }
            let records = self.disk.random(|random| random.u64(1..3));
            let texts: Vec<_> = (0..records).map(|record| self.text(format!("once {name}-{n}-{record}"))).collect();
            self.history.lock().unwrap().appends(&texts);
            let producer = Some(Producer { id: 1 + name as u64, epoch: 0, sequence, wraps: false });
            loop {
                let result = self.any().await.append(partition, producer, received(&texts)).await;
                self.note(&format!("once {name}-{n}"), &result);
                match result {
                    Ok(appended) if self.acknowledged(&texts, partition, appended) => break,
                    Err(JournalError::Rejected(rejected)) if !self.disk.is_dead() => {
                        return self.violate(Violation::Rejected { reason: format!("once {name}-{n}: {rejected}") });
                    }
                    _ => self.pause().await,
                }
            }
            sequence += records;
            self.pause().await;
        }
    }

    /// Trims every partition now and then, so that old objects become garbage.
    async fn trim(self) {
        while !self.has_ended() {
            sleep(Duration::from_millis(self.disk.random(|random| random.u64(500..4_000)))).await;
            let partitions: Vec<_> = self.partitions().collect();
            if partitions.is_empty() {
                continue;
            }
            let partition = partitions[self.disk.random(|random| random.usize(0..partitions.len()))];
            let journal = self.any().await;
            let offsets = journal.offsets(partition);
            let first_offset = self.disk.random(|random| random.u64(offsets.start..=offsets.end));
            let trimmed = journal.change(Control::Trim { partition, first_offset }).await;
            self.disk.note(|| format!("trim of {partition:?} to {first_offset}: {}", trimmed.is_ok()));
        }
    }
}
