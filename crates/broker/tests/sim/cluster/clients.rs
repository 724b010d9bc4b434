//! Clients of the brokers: each sends its requests to any of them, and notes what it called and what returned.

use super::log::{Append, Found, Outcome, Read};
use super::network::{From, Missed};
use super::node::{Node, ReadReply, Reply, Request};
use super::world::World;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// How long a client waits for a response.
const RESPONSE_WAIT: Duration = Duration::from_secs(20);

const NO_CONNECTION: &str = "no connection";

/// How long a reader that follows waits for more.
const TAIL_WAIT: Duration = Duration::from_secs(3);

impl World {
    async fn rest(&self) {
        sleep(Duration::from_millis(self.store.random(|random| random.u64(0..800)))).await;
    }

    fn any_machine(&self) -> usize {
        let count = self.machines();
        self.store.random(|random| random.usize(0..count))
    }

    /// Has a broker create the topic, again until it exists.
    pub async fn create(self: &Arc<Self>, partitions: u32) {
        loop {
            let work = move |node: Arc<Node>| -> BoxFuture<'static, _> { Box::pin(node.create(partitions)) };
            let to = self.any_machine();
            match timeout(RESPONSE_WAIT, self.call(From::Client, to, Box::new(work))).await {
                Ok(Ok(Ok(()))) => return,
                failed => self.store.note(|| format!("creation at machine {to}: {failed:?}")),
            }
            self.rest().await;
        }
    }

    /// Sends an append to a broker.
    async fn append_at(self: &Arc<Self>, to: usize, request: Request) -> Reply {
        let what = format!("append of {:?} at machine {to}", request.records);
        let work = move |node: Arc<Node>| -> BoxFuture<'static, _> { Box::pin(node.append(request)) };
        let reply = match timeout(RESPONSE_WAIT, self.call(From::Client, to, Box::new(work))).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(Missed::NotSent)) => Reply::NotStored(NO_CONNECTION.into()),
            Ok(Err(Missed::Lost)) => Reply::Unknown("the connection broke".into()),
            Err(_) => Reply::Unknown("no response".into()),
        };
        self.store.note(|| format!("{what}: {reply:?}"));
        reply
    }

    /// Appends records, none of them twice, until all is well.
    pub async fn append_plainly(self: Arc<Self>, name: usize, partition: u32) {
        for n in 0.. {
            if self.is_over() {
                return;
            }
            let count = self.store.random(|random| random.u64(1..3));
            let records: Vec<_> = (0..count).map(|record| format!("plain {name}-{n}-{record}")).collect();
            let request = Request { partition, records: records.clone(), producer: None };
            let called = self.moment();
            let outcome = match self.append_at(self.any_machine(), request).await {
                Reply::Stored { first_offset, by } => Outcome::Stored { first_offset, by },
                Reply::NotStored(_) => Outcome::NotStored,
                Reply::Unknown(_) => Outcome::Unknown,
                Reply::Refused(why) => return self.broken(format!("{records:?} was refused: {why}")),
            };
            let returned = self.moment();
            self.appended(partition, Append { records, called, returned, outcome });
            self.rest().await;
        }
    }

    /// Appends records with sequences, again until they are stored, until all is well.
    pub async fn append_once(self: Arc<Self>, name: usize, partition: u32) {
        let mut sequence = 0;
        for n in 0.. {
            if self.is_over() {
                return;
            }
            let count = self.store.random(|random| random.u64(1..3));
            let records: Vec<_> = (0..count).map(|record| format!("once {name}-{n}-{record}")).collect();
            let producer = Some((name as u64 + 1, sequence));
            let request = Request { partition, records: records.clone(), producer };
            let (called, began) = (self.moment(), Instant::now());
            let outcome = loop {
                match self.append_at(self.any_machine(), request.clone()).await {
                    Reply::Stored { first_offset, by } => break Outcome::Stored { first_offset, by },
                    // The next broker, at once.
                    Reply::NotStored(why) if why == NO_CONNECTION => sleep(Duration::from_millis(1)).await,
                    Reply::NotStored(_) | Reply::Unknown(_) => self.rest().await,
                    Reply::Refused(why) => return self.broken(format!("{records:?} was refused: {why}")),
                }
            };
            let returned = self.moment();
            self.appended(partition, Append { records, called, returned, outcome });
            self.saw(|seen| seen.longest_append = seen.longest_append.max(began.elapsed()));
            sequence += count;
            self.rest().await;
        }
    }

    /// Reads at a broker. Returns the number of records, if it got a response.
    async fn read_at(self: &Arc<Self>, to: usize, partition: u32, offset: u64, wait: Duration) -> Option<u64> {
        let work = move |node: Arc<Node>| -> BoxFuture<'static, _> { Box::pin(node.read(partition, offset, wait)) };
        let called = self.moment();
        let replied = timeout(RESPONSE_WAIT, self.call(From::Client, to, Box::new(work))).await;
        let returned = self.moment();
        let (at, found, count) = match replied {
            Ok(Ok(ReadReply::Records { records, next_offset, at })) => {
                let count = records.len() as u64;
                (at, Found::Records { records, next_offset }, count)
            }
            Ok(Ok(ReadReply::OutOfRange { at })) => (at, Found::OutOfRange, 0),
            Ok(Ok(ReadReply::Failed(why))) => {
                self.store.note(|| format!("read at machine {to} failed: {why}"));
                return None;
            }
            Ok(Err(_)) | Err(_) => return None,
        };
        self.store.note(|| format!("read of {partition}/{offset} at machine {to}: {found:?}"));
        self.read(partition, Read { at, offset, found, called, returned });
        Some(count)
    }

    /// Asks a broker something that only the owner answers, until all is well.
    pub async fn ask_owners(self: Arc<Self>, partition: u32) {
        while !self.is_over() {
            let to = self.any_machine();
            let work = move |node: Arc<Node>| -> BoxFuture<'static, _> { Box::pin(node.act(partition)) };
            let acting = timeout(RESPONSE_WAIT, self.call(From::Client, to, Box::new(work))).await;
            if let Ok(Ok(Some(acting))) = acting {
                self.store.note(|| format!("machine {to} acts: {acting:?}"));
                self.acted(partition, acting);
            }
            self.rest().await;
        }
    }

    /// Reads anywhere in a partition, until all is well.
    pub async fn read_anywhere(self: Arc<Self>, partition: u32) {
        while !self.is_over() {
            let end = self.known_end(partition);
            let offset = self.store.random(|random| random.u64(0..=end));
            self.read_at(self.any_machine(), partition, offset, Duration::ZERO).await;
            self.rest().await;
        }
    }

    /// Reads a partition from its beginning on, now at one broker and now at another, until all is well.
    pub async fn tail(self: Arc<Self>, partition: u32) {
        let (mut machine, mut offset) = (self.any_machine(), 0);
        while !self.is_over() {
            let read = self.read_at(machine, partition, offset, TAIL_WAIT).await;
            offset += read.unwrap_or(0);
            if read.is_none() || self.store.random(|random| random.u8(0..10)) == 0 {
                machine = self.any_machine();
                self.rest().await;
            }
        }
    }

    /// Reads a whole partition at a broker when all is well.
    pub async fn read_all(self: &Arc<Self>, machine: usize, partition: u32, end: u64) {
        let (mut offset, mut tries) = (0, 0);
        while offset < end && tries < 20 {
            match self.read_at(machine, partition, offset, Duration::ZERO).await {
                Some(count) if count > 0 => offset += count,
                _ => {
                    tries += 1;
                    self.rest().await;
                }
            }
        }
        if offset < end {
            self.stuck(format!("machine {machine} returns {offset} of {end} records when all is well"));
        }
    }
}
