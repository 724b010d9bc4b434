//! Producers: some number what they append, and send it again until they know that it is stored.

use crate::brokers::Broker;
use crate::history::{Responses, Text, Violation};
use crate::store::SharedStore;
use rawline_batch::Codec;
use rawline_broker::journal::{Journal, JournalError};
use rawline_broker::{Appended, ProducerInstance, Received};
use rawline_journal::{Control, PartitionId, Producer, Refused, Rejected};
use rawline_testkit::batches;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::sleep;

/// What the producers of a world share.
#[derive(Clone)]
pub struct Surroundings {
    pub store: Arc<SharedStore>,
    pub brokers: Arc<Mutex<Vec<Broker>>>,
    pub responses: Arc<Mutex<Responses>>,
    pub violations: Arc<Mutex<Vec<Violation>>>,
}

pub fn received(records: &[String]) -> Received {
    let records: Vec<_> = records.iter().map(|record| record.as_bytes().to_vec()).collect();
    batches::received(&batches::batch(Codec::None, &records))
}

impl Surroundings {
    /// Some broker that runs.
    async fn any(&self) -> Journal {
        loop {
            let journal = {
                let brokers = self.brokers.lock().unwrap();
                let count = brokers.len();
                brokers[self.store.random(|random| random.usize(0..count))].journal()
            };
            match journal {
                Some(journal) => return journal,
                None => sleep(Duration::from_millis(300)).await,
            }
        }
    }

    async fn pause(&self) {
        sleep(Duration::from_millis(self.store.random(|random| random.u64(0..1_500)))).await;
    }

    /// Creates the topic that all producers use, unless it exists. Returns its id.
    pub async fn create(&self, partitions: u32) -> u64 {
        loop {
            let control = Control::Create { topic: 0, name: "t".into(), partitions, settings: [].into() };
            match self.any().await.change(control).await {
                Ok(topic) | Err(JournalError::Refused(Refused::Exists { topic })) => return topic,
                Err(error) => self.store.note(|| format!("creation: {error}")),
            }
            self.pause().await;
        }
    }

    /// Appends one record after the other, none of them twice, until all is well.
    pub async fn append_plainly(self, name: usize, partition: PartitionId) {
        for n in 0.. {
            if self.store.is_calm() {
                return;
            }
            let text = format!("plain {name}-{n}");
            let result = self.any().await.append(partition, None, received(std::slice::from_ref(&text))).await;
            self.store.note(|| format!("{text}: {result:?}"));
            self.note_response(text, partition, result);
            self.pause().await;
        }
    }

    fn note_response(&self, text: Text, partition: PartitionId, result: Result<Appended, JournalError>) {
        let mut responses = self.responses.lock().unwrap();
        match result {
            Ok(appended) => responses.acknowledged.push((text, partition, appended)),
            Err(JournalError::NotStored | JournalError::Rejected(_)) => responses.denied.push(text),
            Err(JournalError::Unknown | JournalError::Closed) => {}
            Err(error) => self.violations.lock().unwrap().push(Violation::Broken { reason: error.to_string() }),
        }
    }

    /// Appends one or two records at a time, again until they are stored, until all is well.
    pub async fn append_once(self, name: usize, partition: PartitionId) {
        let mut sequence = 0;
        for n in 0.. {
            if self.store.is_calm() {
                return;
            }
            let records = self.store.random(|random| random.u64(1..3));
            let texts: Vec<_> = (0..records).map(|record| format!("once {name}-{n}-{record}")).collect();
            self.responses.lock().unwrap().once.extend(texts.iter().cloned());
            let producer = Some(Producer { id: name as u64, epoch: 0, sequence, wraps: false });
            let appended = loop {
                let result = self.any().await.append(partition, producer, received(&texts)).await;
                self.store.note(|| format!("once {name}-{n}: {result:?}"));
                match result {
                    Ok(appended) => break appended,
                    Err(JournalError::Rejected(rejected)) => {
                        let reason = format!("once {name}-{n} was rejected: {rejected}");
                        self.violations.lock().unwrap().push(Violation::Broken { reason });
                        return;
                    }
                    Err(_) => self.pause().await,
                }
            };
            let offsets = (appended.first_offset..).map(|first_offset| Appended { first_offset, ..appended });
            let stored = texts.into_iter().zip(offsets).map(|(text, appended)| (text, partition, appended));
            self.responses.lock().unwrap().acknowledged.extend(stored);
            sequence += records;
            self.pause().await;
        }
    }

    /// Opens one instance of a named producer after the other, until all is well. The older ones continue appending.
    pub async fn append_named(self, partitions: Vec<PartitionId>) {
        let mut instances = Vec::new();
        while !self.store.is_calm() {
            let number = instances.len();
            let opened = self.any().await.open_producer("n", "").await;
            self.store.note(|| format!("instance {number}: {opened:?}"));
            if let Ok(instance) = opened {
                self.store.saw(|seen| seen.opened += 1);
                self.responses.lock().unwrap().opened.push((instance, number));
                instances.push(tokio::spawn(self.clone().append_as(instance, number, partitions.clone())));
                sleep(Duration::from_secs(self.store.random(|random| random.u64(1..40)))).await;
            }
            self.pause().await;
        }
        futures_util::future::join_all(instances).await;
    }

    /// Appends to all partitions, until all is well or a newer instance is opened.
    async fn append_as(self, instance: ProducerInstance, number: usize, partitions: Vec<PartitionId>) {
        let ProducerInstance { id, epoch } = instance;
        let mut sequences = vec![0; partitions.len()];
        for n in 0.. {
            if self.store.is_calm() {
                return;
            }
            let at = self.store.random(|random| random.usize(0..partitions.len()));
            let (partition, text) = (partitions[at], format!("{} {number}-{n}", Responses::NAMED));
            self.responses.lock().unwrap().once.insert(text.clone());
            let producer = Some(Producer { id, epoch, sequence: sequences[at], wraps: false });
            let appended = loop {
                let result = self.any().await.append(partition, producer, received(std::slice::from_ref(&text))).await;
                self.store.note(|| format!("{text}: {result:?}"));
                match result {
                    Ok(appended) => break appended,
                    Err(JournalError::Rejected(Rejected::Fenced { .. })) => {
                        return self.store.saw(|seen| seen.fenced += 1);
                    }
                    Err(JournalError::Rejected(rejected)) => {
                        let reason = format!("{text} was rejected: {rejected}");
                        return self.violations.lock().unwrap().push(Violation::Broken { reason });
                    }
                    Err(_) => self.pause().await,
                }
            };
            self.responses.lock().unwrap().acknowledged.push((text, partition, appended));
            sequences[at] += 1;
            self.pause().await;
        }
    }

    /// Trims every partition now and then, so that old objects become garbage.
    pub async fn trim(self, partitions: Vec<PartitionId>) {
        loop {
            sleep(Duration::from_secs(self.store.random(|random| random.u64(5..20)))).await;
            let count = partitions.len();
            let partition = partitions[self.store.random(|random| random.usize(0..count))];
            let journal = self.any().await;
            let first_offset = journal.offsets(partition).end;
            let result = journal.change(Control::Trim { partition, first_offset }).await;
            self.store.note(|| format!("trim of {partition:?} to {first_offset}: {result:?}"));
        }
    }
}
