//! Follows a topic: while the caller processes one read, the next ones are already in flight.

use crate::client::Client;
use crate::error::ClientError;
use crate::fetched::Fetched;
use crate::limits::{
    CONSUMER_READ_BYTES, OFFSETS_READ_INTERVAL, PARTITION_READ_BYTES_MIN, PARTITIONS_READ_INTERVAL, READS_IN_FLIGHT_MAX,
};
use crate::partition::TopicPartition;
use crate::read::ReadOptions;
use crate::retry::RetryPolicy;
use crate::tasks;
use rawline_contract::{Extent, TopicInfo};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, SystemTime};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// The first record of a consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At this offset of each partition.
    Offset(u64),
    /// At each partition's oldest record.
    Earliest,
    /// After the newest record: only records that are appended from now on.
    Latest,
    /// At the first record appended at or after this time, by the broker's clock.
    Time(SystemTime),
}

impl Start {
    /// The offset in a partition of a topic whose partitions are `extents`
    /// ([`TopicInfo::extents`](crate::TopicInfo::extents)).
    pub async fn offset(
        self,
        client: &Client,
        partition: TopicPartition<'_>,
        extents: &[Extent],
    ) -> Result<u64, ClientError> {
        match self {
            Start::Offset(offset) => Ok(offset),
            Start::Earliest => Ok(partition.extent(extents)?.first_offset),
            Start::Latest => Ok(partition.extent(extents)?.next_offset),
            Start::Time(time) => client.offset_at(partition, time).await,
        }
    }
}

/// The settings of a consumer.
#[derive(Debug, Clone)]
pub struct ConsumerConfig {
    /// The partitions to read; empty for all, including partitions that are added later.
    pub partitions: Vec<u32>,
    /// The first record of each partition.
    pub start: Start,
    /// Ends before this offset of each partition. Without it, the consumer follows the topic forever.
    pub end_offset: Option<u64>,
    /// Maximum size of one read in bytes. Partitions share it: twice as many bytes are held in memory.
    pub bytes_max: u64,
    /// How long the broker waits if no record is available. This affects only how often an idle consumer sends
    /// requests. A consumer of more than 16 partitions polls twice a second which of them have records.
    pub wait: Duration,
    /// How failed reads are retried.
    pub retries: RetryPolicy,
    /// Whether the broker converts Kafka's batches: see [`ReadOptions::values_only`].
    pub values_only: bool,
}

impl Default for ConsumerConfig {
    /// All partitions from the oldest record on, forever, 4 MiB at a time.
    fn default() -> Self {
        ConsumerConfig {
            partitions: Vec::new(),
            start: Start::Earliest,
            end_offset: None,
            bytes_max: CONSUMER_READ_BYTES,
            wait: Duration::from_secs(20),
            retries: RetryPolicy::default(),
            values_only: false,
        }
    }
}

/// The range of one partition that a consumer reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionRange {
    /// The partition's number.
    pub partition: u32,
    /// Offset of the first record.
    pub offset: u64,
    /// Ends before this offset, if there is one.
    pub end_offset: Option<u64>,
}

impl PartitionRange {
    fn has_ended(&self) -> bool {
        self.end_offset.is_some_and(|end| self.offset >= end)
    }
}

/// Reads the partitions of a topic, each in order. Dropping it cancels the reads in flight.
#[derive(Debug)]
pub struct Consumer {
    client: Client,
    topic: String,
    config: ConsumerConfig,
    /// The ranges that remain to be read, by partition.
    ranges: BTreeMap<u32, PartitionRange>,
    /// Partitions that wait for their next read.
    waiting: VecDeque<u32>,
    /// Partitions of which all records are read, if there are too many for a read of each that waits for the next.
    idle: BTreeSet<u32>,
    in_flight: BTreeMap<u32, JoinHandle<()>>,
    /// The request for the topic's description in flight.
    look: Option<JoinHandle<()>>,
    /// When the last one began.
    looked_at: Option<Instant>,
    /// Receives the results of reads in flight.
    arrivals: mpsc::UnboundedReceiver<Arrival>,
    sender: mpsc::UnboundedSender<Arrival>,
    /// The result that the caller holds now.
    current: Fetched,
    /// Results that the caller holds no longer: their buffers are reused.
    spare: Vec<Fetched>,
}

/// An event of a consumer.
#[derive(Debug)]
enum Arrival {
    Read(u32, Result<Fetched, ClientError>),
    /// The topic's description.
    Look(Result<TopicInfo, ClientError>),
}

impl Consumer {
    /// Finds the first offsets; reads nothing yet. Fails if the topic or a partition doesn't exist.
    pub async fn new(
        client: Client,
        topic: impl Into<String>,
        config: ConsumerConfig,
    ) -> Result<Consumer, ClientError> {
        let topic = topic.into();
        let client = client.with_retries(config.retries);
        let mut ranges = Vec::new();
        let info = match (config.start, config.partitions.as_slice()) {
            // No request is necessary.
            (Start::Offset(_), [_, ..]) => None,
            _ => Some(client.topic(&topic).await?),
        };
        let extents = info.map(|info| info.extents()).unwrap_or_default();
        let all: Vec<u32> = (0..).zip(&extents).map(|(number, _)| number).collect();
        for &partition in if config.partitions.is_empty() { &all } else { &config.partitions } {
            let offset = config.start.offset(&client, (topic.as_str(), partition).into(), &extents).await?;
            ranges.push(PartitionRange { partition, offset, end_offset: config.end_offset });
        }
        Ok(Consumer::of(client, topic, ranges, config))
    }

    /// A consumer of these parts of partitions, whatever `config` says about their offsets. If it names no partitions
    /// and has no end, it also reads partitions that the topic gets later.
    pub fn of_ranges(
        client: Client,
        topic: impl Into<String>,
        ranges: Vec<PartitionRange>,
        config: ConsumerConfig,
    ) -> Consumer {
        let client = client.with_retries(config.retries);
        Consumer::of(client, topic.into(), ranges, config)
    }

    fn of(client: Client, topic: String, ranges: Vec<PartitionRange>, config: ConsumerConfig) -> Consumer {
        let (sender, arrivals) = mpsc::unbounded_channel();
        let left = || ranges.iter().filter(|range| !range.has_ended()).map(|range| range.partition);
        let (waiting, idle) = match is_wide(ranges.len()) {
            false => (left().collect(), BTreeSet::new()),
            true => (VecDeque::new(), left().collect()),
        };
        let ranges: BTreeMap<_, _> = ranges.into_iter().map(|range| (range.partition, range)).collect();
        // When the caller got to know them.
        let looked_at = (!is_wide(ranges.len())).then(Instant::now);
        Consumer {
            client,
            topic,
            config,
            ranges,
            waiting,
            idle,
            in_flight: BTreeMap::new(),
            look: None,
            looked_at,
            arrivals,
            sender,
            current: Fetched::default(),
            spare: Vec::new(),
        }
    }

    /// Offset of the next record of the first partition that it reads; see [`Consumer::offsets`] for the others.
    pub fn offset(&self) -> u64 {
        self.ranges.values().next().map_or(0, |range| range.offset)
    }

    /// Each partition that it reads, with the offset of the next record that [`Consumer::next`] returns of it.
    pub fn offsets(&self) -> impl Iterator<Item = (u32, u64)> {
        self.ranges.values().map(|range| (range.partition, range.offset))
    }

    /// The next records of some partition, at least one; waits for them. `None` when the end of every partition is
    /// reached.
    ///
    /// The last batches may reach beyond `end_offset`: the caller has to skip records from `end_offset` on. Cancel
    /// safe: if the future is dropped, the next call continues without a loss. After an error, the next call continues
    /// at the same offset.
    pub async fn next(&mut self) -> Result<Option<&mut Fetched>, ClientError> {
        Ok(if self.wait().await? { Some(&mut self.current) } else { None })
    }

    /// The topic that it reads.
    pub(crate) fn topic(&self) -> &str {
        &self.topic
    }

    /// What [`Consumer::wait`] has waited for.
    pub(crate) fn current(&mut self) -> &mut Fetched {
        &mut self.current
    }

    /// Waits for the next records; false when the end of every partition is reached. Cancel safe.
    pub(crate) async fn wait(&mut self) -> Result<bool, ClientError> {
        loop {
            self.start_look();
            self.start_reads();
            if self.in_flight.is_empty() && self.idle.is_empty() {
                assert!(self.waiting.is_empty(), "{} partitions wait for nothing", self.waiting.len());
                return Ok(false);
            }
            let Some(arrival) = self.arrivals.recv().await else { unreachable!("a consumer holds a sender") };
            match arrival {
                Arrival::Look(info) => self.looked(info)?,
                Arrival::Read(partition, read) => {
                    let fetched = self.arrived(partition, read)?;
                    if fetched.is_empty() {
                        self.spare.push(fetched);
                        continue;
                    }
                    self.spare.push(std::mem::replace(&mut self.current, fetched));
                    // While the caller processes these records.
                    self.start_reads();
                    return Ok(true);
                }
            }
        }
    }

    /// Takes the result of a read.
    fn arrived(&mut self, partition: u32, read: Result<Fetched, ClientError>) -> Result<Fetched, ClientError> {
        let ended = self.in_flight.remove(&partition);
        assert!(ended.is_some(), "a read of partition {partition} ended twice");
        let Some(range) = self.ranges.get_mut(&partition) else {
            unreachable!("partition {partition} was read, and isn't one of {:?}", self.ranges.keys())
        };
        let fetched = match read {
            Ok(fetched) => fetched,
            Err(error) => {
                self.waiting.push_back(partition);
                return Err(error);
            }
        };
        let (requested, next) = (fetched.requested_offset(), fetched.next_offset());
        // A read continues after records that a compaction has removed.
        assert!(requested >= range.offset, "a read at {requested} of a consumer at {}", range.offset);
        assert_eq!(partition, fetched.partition(), "a read of another partition");
        if !fetched.is_empty() {
            assert!(next > requested, "records up to {next} for a read at {requested}");
            range.offset = next;
        }
        let has_ended = range.has_ended();
        if is_wide(self.ranges.len()) && next >= fetched.topic_next_offset() && !has_ended {
            self.idle.insert(partition);
        } else if !has_ended {
            self.waiting.push_back(partition);
        }
        Ok(fetched)
    }

    /// Starts the next reads, in turns.
    fn start_reads(&mut self) {
        while self.in_flight.len() < READS_IN_FLIGHT_MAX {
            let Some(partition) = self.waiting.pop_front() else { return };
            let Some(range) = self.ranges.get(&partition).copied() else {
                unreachable!("partition {partition} isn't one of {:?}", self.ranges.keys())
            };
            let buffer = self.spare.pop().unwrap_or_default();
            let read = self.start_read(range, buffer);
            let other = self.in_flight.insert(partition, read);
            assert!(other.is_none(), "two reads of partition {partition} at once");
        }
    }

    fn start_read(&self, range: PartitionRange, buffer: Fetched) -> JoinHandle<()> {
        let (client, topic) = (self.client.clone(), self.topic.clone());
        let PartitionRange { partition, offset, end_offset } = range;
        let mut report = Report { partition, sender: self.sender.clone(), is_sent: false };
        let records_max = end_offset.map_or(0, |end| {
            assert!(offset < end, "a read at {offset} of a consumer that ends at {end}");
            end - offset
        });
        let partitions = self.ranges.len().max(1) as u64;
        let least = PARTITION_READ_BYTES_MIN.min(self.config.bytes_max);
        let options = ReadOptions {
            offset,
            records_max,
            bytes_max: (self.config.bytes_max / partitions).max(least),
            wait: if is_wide(self.ranges.len()) { Duration::ZERO } else { self.config.wait },
            values_only: self.config.values_only,
        };
        tasks::spawn(async move {
            let from = TopicPartition { topic: &topic, partition };
            report.send(client.read(from, &options, buffer).await);
        })
    }

    /// Asks for the topic's description: which idle partitions have records, and now and then, if it reads all
    /// partitions, whether there are new ones.
    fn start_look(&mut self) {
        let is_open = self.config.partitions.is_empty() && self.config.end_offset.is_none();
        let interval = match (self.idle.is_empty(), is_open) {
            (false, _) => OFFSETS_READ_INTERVAL,
            (true, true) => PARTITIONS_READ_INTERVAL,
            (true, false) => return,
        };
        let next_at = self.looked_at.map(|at| at + interval);
        if self.look.is_some() || self.idle.is_empty() && next_at.is_some_and(|at| at > Instant::now()) {
            return;
        }
        let (client, topic, sender) = (self.client.clone(), self.topic.clone(), self.sender.clone());
        self.looked_at = Some(next_at.map_or_else(Instant::now, |at| at.max(Instant::now())));
        self.look = Some(tasks::spawn(async move {
            if let Some(at) = next_at {
                tokio::time::sleep_until(at).await;
            }
            let _ = sender.send(Arrival::Look(client.topic(&topic).await));
        }));
    }

    /// Reads partitions that have records or are new, these from their beginning.
    fn looked(&mut self, info: Result<TopicInfo, ClientError>) -> Result<(), ClientError> {
        self.look = None;
        let extents = match info {
            Ok(info) => info.extents(),
            // Without idle partitions, reads report the error.
            Err(_) if self.idle.is_empty() => return Ok(()),
            Err(error) => return Err(error),
        };
        if self.config.partitions.is_empty() && self.config.end_offset.is_none() {
            for (partition, Extent { first_offset, .. }) in (0..).zip(&extents) {
                self.ranges.entry(partition).or_insert_with(|| {
                    self.waiting.push_back(partition);
                    PartitionRange { partition, offset: *first_offset, end_offset: None }
                });
            }
        }
        let has_more = |partition: &u32| match (extents.get(*partition as usize), self.ranges.get(partition)) {
            (Some(extent), Some(range)) => extent.next_offset > range.offset,
            // It is gone: a read says so.
            _ => true,
        };
        let busy: Vec<u32> = self.idle.iter().copied().filter(has_more).collect();
        for partition in busy {
            self.idle.remove(&partition);
            self.waiting.push_back(partition);
        }
        Ok(())
    }
}

/// Whether there are more partitions than reads that may wait for records.
fn is_wide(partitions: usize) -> bool {
    partitions > READS_IN_FLIGHT_MAX
}

/// Tells the consumer how a read ended, however it ends.
struct Report {
    partition: u32,
    sender: mpsc::UnboundedSender<Arrival>,
    is_sent: bool,
}

impl Report {
    fn send(&mut self, read: Result<Fetched, ClientError>) {
        self.is_sent = true;
        // A consumer that is dropped needs it no longer.
        let _ = self.sender.send(Arrival::Read(self.partition, read));
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        if !self.is_sent {
            let reason = "a read ended early: an internal check failed, or the runtime shuts down".to_owned();
            self.send(Err(ClientError::Stopped { reason }));
        }
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.in_flight.values().chain(&self.look).for_each(JoinHandle::abort);
    }
}
