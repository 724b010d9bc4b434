//! Produce: receives batches into buffers of the pool, checks them as they arrive, and appends them.

use super::client::Client;
use super::error::{ConnectionError, Refusal};
use super::incoming::Incoming;
use super::lookup::partition_of;
use super::reply::{Outcome, Pending, Reply};
use super::transactions::is_known_kind;
use crate::convert::keys;
use crate::metrics::{Metered, Protocol};
use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt, join_all};
use rawline_batch::record_batch::{CheckedRecordBatch, RecordBatchChecker};
use rawline_broker::pool::{Gathered, take_front};
use rawline_broker::{Partition, Received};
use rawline_kafka::frame::RequestHeader;
use rawline_kafka::produce::{Event, ProduceHead, ProduceReader, Produced, TopicRef, response};
use rawline_kafka::{Api, ErrorCode};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::io::AsyncRead;
use tokio::time::Instant;

/// Maximum number of partitions in a request that are refused. What is noted of each lies outside the pool, and only
/// those that are not refused have some bytes in it.
const REFUSED_MAX: usize = 1000;

/// In requests of this version or later, a partition joins its producer's transaction with the first batch.
const TRANSACTIONS_FROM: i16 = 12;

/// The batches of a request for one partition.
struct Part {
    /// Shared by the partitions of a topic.
    topic: Arc<TopicRef>,
    partition: i32,
    /// Bytes in buffers, of refused batches too.
    gathered: u64,
    batches: Result<Vec<CheckedRecordBatch>, Refusal>,
}

/// The part whose bytes are arriving.
struct Open {
    part: Part,
    checker: RecordBatchChecker,
}

/// Receives a request, begins its appends, and returns the future response.
pub(super) async fn receive<S: AsyncRead + Unpin>(
    client: &Arc<Client>,
    incoming: &mut Incoming<S>,
    header: RequestHeader,
    left: u64,
) -> Result<Pending, ConnectionError> {
    let mut receiver = Receiver::new(client, header.version, left)?;
    let bytes_all = left;
    let mut left = left;
    while left > 0 {
        let piece = incoming.piece(left).await?;
        left -= piece.len() as u64;
        receiver.take(&piece, incoming).await?;
    }
    let (head, parts, bytes) = receiver.end()?;
    let caller = client.caller();
    caller.appended(bytes_all);
    let wait = caller.append_wait();
    if !wait.is_zero() {
        client.kafka.config.metrics.exceeded(Protocol::Kafka, Metered::Append);
    }
    let throttle_ms = client.session.mute(wait);
    Ok(begin(client, header, &head, throttle_ms, parts, bytes).await)
}

/// Receives one request.
struct Receiver<'a> {
    client: &'a Client,
    reader: ProduceReader,
    head: Option<ProduceHead>,
    gathered: Gathered,
    parts: Vec<Part>,
    open: Option<Open>,
    /// Number of parts that are refused.
    refused: usize,
    has_ended: bool,
    /// Whether the request's version is one of clients that have transactions of KIP-890.
    has_transactions: bool,
    /// Whether the client may be the producer of the transaction, if there is one.
    producer: Result<(), Refusal>,
    version: i16,
}

impl<'a> Receiver<'a> {
    fn new(client: &'a Client, version: i16, left: u64) -> Result<Receiver<'a>, ConnectionError> {
        let reader = ProduceReader::new(version, left)?;
        // As much as the request has, as it arrives. It waits in line with all others.
        let gathered = Gathered::new(client.peer.holder.body(left)?);
        let (parts, open, refused, has_ended) = (Vec::new(), None, 0, false);
        let has_transactions = version >= TRANSACTIONS_FROM;
        Ok(Receiver {
            client,
            reader,
            head: None,
            gathered,
            parts,
            open,
            refused,
            has_ended,
            has_transactions,
            producer: Ok(()),
            version,
        })
    }

    async fn take<S: AsyncRead + Unpin>(
        &mut self,
        piece: &Bytes,
        incoming: &mut Incoming<S>,
    ) -> Result<(), ConnectionError> {
        let mut rest = &piece[..];
        while let Some(event) = self.reader.next(&mut rest)? {
            match event {
                Event::Head(head) => {
                    if let Some(name) = &head.transactional_id {
                        self.producer = self.client.may_be_producer(Api::Produce, name);
                        is_known_kind("Produce", self.version, TRANSACTIONS_FROM);
                    }
                    self.head = Some(head);
                }
                Event::Partition { topic, partition, .. } => self.begin_part(topic, partition),
                Event::Records(bytes) => self.records(bytes, incoming).await,
                Event::PartitionEnd => self.end_part()?,
                Event::End => self.has_ended = true,
            }
        }
        Ok(())
    }

    fn begin_part(&mut self, topic: TopicRef, partition: i32) {
        let topic = match self.parts.last() {
            Some(last) if *last.topic == topic => last.topic.clone(),
            _ => Arc::new(topic),
        };
        let batches = match &self.head {
            Some(head) if head.transactional_id.is_some() && !self.has_transactions => {
                let code = ErrorCode::UnsupportedVersion;
                let message = "this broker has transactions of KIP-890 only; use a client that has them, such as \
                               kafka-clients 4.0, or an idempotent producer";
                Err(Refusal::new(code, message))
            }
            Some(head) if !(-1..=1).contains(&head.acks) => {
                let message = format!("acks is {}; use 0, 1 or -1 (all)", head.acks);
                Err(Refusal::new(ErrorCode::InvalidRequiredAcks, message))
            }
            _ => self.producer.clone().and_then(|()| self.may_append(&topic)).map(|()| Vec::new()),
        };
        let checker = RecordBatchChecker::new(self.client.kafka.config.batch_limits);
        self.open = Some(Open { part: Part { topic, partition, gathered: 0, batches }, checker });
    }

    /// Fails early if the topic is named and the client may not append to it: its bytes need no buffers.
    fn may_append(&self, topic: &TopicRef) -> Result<(), Refusal> {
        match topic {
            TopicRef::Name(name) => self.client.may_use_topic(Api::Produce, name),
            TopicRef::Id(_) => Ok(()),
        }
    }

    /// Checks bytes and keeps them, unless the partition's batches are refused already.
    async fn records<S: AsyncRead + Unpin>(&mut self, bytes: &[u8], incoming: &mut Incoming<S>) {
        let Some(Open { part, checker }) = &mut self.open else { unreachable!("records of no partition") };
        if part.batches.is_err() {
            return;
        }
        if let Err(error) = checker.push(bytes) {
            part.batches = Err(error.into());
            return;
        }
        if !self.gathered.try_make_room(bytes.len()) {
            let since = Instant::now();
            if let Err(error) = self.gathered.make_room(bytes.len(), self.client.kafka.config.pool_wait).await {
                // Clients send it again.
                part.batches = Err(Refusal::new(ErrorCode::RequestTimedOut, error.to_string()));
                return;
            }
            incoming.paused(since.elapsed());
        }
        let before = self.gathered.bytes();
        assert!(self.gathered.push(bytes), "{before} and {} bytes of a request that announced fewer", bytes.len());
        part.gathered += bytes.len() as u64;
    }

    fn end_part(&mut self) -> Result<(), ConnectionError> {
        let Some(Open { mut part, checker }) = self.open.take() else { unreachable!("the end of no partition") };
        if part.batches.is_ok() {
            part.batches = checker.finish().map_err(Refusal::from);
        }
        if let Ok(batches) = &part.batches
            && self.head.as_ref().is_none_or(|head| head.transactional_id.is_none())
            && batches.iter().any(|batch| batch.header.is_transactional)
        {
            let message = "a batch belongs to a transaction, and the request has no transactional id";
            part.batches = Err(Refusal::new(ErrorCode::TransactionalIdAuthorizationFailed, message));
        }
        self.refused += usize::from(part.batches.is_err());
        if self.refused > REFUSED_MAX {
            return Err(ConnectionError::Refused { limit: REFUSED_MAX });
        }
        self.parts.push(part);
        Ok(())
    }

    fn end(self) -> Result<(ProduceHead, Vec<Part>, VecDeque<Bytes>), ConnectionError> {
        match self.head {
            Some(head) if self.has_ended => Ok((head, self.parts, self.gathered.freeze().into())),
            _ => Err(rawline_kafka::WireError::Truncated.into()),
        }
    }
}

/// Begins the appends, in the order of the requests of a connection.
async fn begin(
    client: &Arc<Client>,
    header: RequestHeader,
    head: &ProduceHead,
    throttle_ms: i32,
    parts: Vec<Part>,
    mut bytes: VecDeque<Bytes>,
) -> Pending {
    let (acks, transactional_id) = (head.acks, head.transactional_id.as_deref());
    let mut names = Vec::with_capacity(parts.len());
    let mut appends: Vec<BoxFuture<'static, Produced>> = Vec::with_capacity(parts.len());
    for Part { topic, partition, gathered, batches } in parts {
        let mut of_part = Vec::new();
        take_front(&mut bytes, gathered as usize, &mut of_part);
        let begun = begin_one(client, transactional_id, (&topic, partition), of_part, batches).await;
        appends.push(match begun {
            Ok((handle, received)) => async move { produced(partition, append(&handle, received).await) }.boxed(),
            Err(refusal) => std::future::ready(produced(partition, Err(refusal))).boxed(),
        });
        names.push(topic);
    }
    let mut all = join_all(appends).map(move |produced| respond(&header, acks, throttle_ms, names, produced)).boxed();
    // Once: from here on their order is decided, and the next request can be read.
    match (&mut all).now_or_never() {
        Some(outcome) => Pending::Ready(outcome),
        None => Pending::Later(all),
    }
}

async fn begin_one(
    client: &Client,
    transactional_id: Option<&str>,
    (topic, number): (&TopicRef, i32),
    bytes: Vec<Bytes>,
    batches: Result<Vec<CheckedRecordBatch>, Refusal>,
) -> Result<(Arc<Partition>, Received), Refusal> {
    let batches = batches?;
    let elsewhere = || Refusal::new(ErrorCode::NotLeaderOrFollower, "another broker leads this partition");
    if let TopicRef::Name(name) = topic
        && client.is_led_elsewhere(name)
    {
        client.may_use_topic(Api::Produce, name)?;
        return Err(elsewhere());
    }
    let handle = partition_of(client, Api::Produce, topic, number).await?;
    if client.is_led_elsewhere(handle.topic_name()) {
        return Err(elsewhere());
    }
    let received = Received::of_record_batches(bytes, batches)?;
    client.may_append_as(Api::Produce, transactional_id, &handle, &received).await?;
    let received = match handle.needs_keys() {
        true => {
            let raw_bytes_max = client.kafka.config.batch_limits.raw_bytes_max;
            keys::checked(&client.kafka.converting, received, raw_bytes_max).await?
        }
        false => received,
    };
    client.kafka.config.metrics.received(Protocol::Kafka, received.records(), received.bytes());
    Ok((handle, received))
}

/// The offset of the first record, and of the partition's first.
async fn append(partition: &Partition, received: Received) -> Result<(u64, u64), Refusal> {
    let appended = partition.append(received).await?;
    Ok((appended.first_offset, partition.offsets().start))
}

fn produced(partition: i32, appended: Result<(u64, u64), Refusal>) -> Produced {
    match appended {
        Ok((first_offset, log_first_offset)) => Produced {
            partition,
            error: ErrorCode::None.into(),
            first_offset: first_offset as i64,
            log_first_offset: log_first_offset as i64,
            message: None,
        },
        Err(Refusal { code, message }) => {
            tracing::debug!(partition, code = i16::from(code), message, "refused what a Kafka client sends");
            let error = code.into();
            Produced { partition, error, first_offset: -1, log_first_offset: -1, message: Some(message) }
        }
    }
}

fn respond(
    header: &RequestHeader,
    acks: i16,
    throttle_ms: i32,
    names: Vec<Arc<TopicRef>>,
    produced: Vec<Produced>,
) -> Outcome {
    if acks == 0 {
        // One response too many would be taken for the one to the next request. A client that doesn't get errors only
        // looks up the leader again when its connection breaks.
        return names.into_iter().zip(produced).find_map(unacknowledged).map_or(Ok(None), Err);
    }
    let error = produced.iter().map(|produced| produced.error).find(|error| *error != 0).unwrap_or_default();
    let mut topics: Vec<(TopicRef, Vec<Produced>)> = Vec::new();
    for (name, produced) in names.into_iter().zip(produced) {
        match topics.last_mut() {
            Some((last, partitions)) if *last == *name => partitions.push(produced),
            _ => topics.push((TopicRef::clone(&name), vec![produced])),
        }
    }
    let body = response(header.version, &topics, throttle_ms);
    Ok(Some(Reply::new(header, Api::Produce, [body.into()]).with_error(error)))
}

/// The error that closes the connection of a client with acks=0, if the records were not appended.
fn unacknowledged((topic, produced): (Arc<TopicRef>, Produced)) -> Option<ConnectionError> {
    let Produced { partition, error, message, .. } = produced;
    let topic = match &*topic {
        TopicRef::Name(name) => format!("topic {name:?}"),
        TopicRef::Id(id) => format!("the topic with the id {:032x}", u128::from_be_bytes(*id)),
    };
    let is_appended = error == i16::from(ErrorCode::None);
    (!is_appended).then(|| {
        let message = message.unwrap_or_default();
        ConnectionError::Unacknowledged { topic, partition, code: error, message }
    })
}
