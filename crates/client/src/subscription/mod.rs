//! Receives the records of topics as they are stored, over a WebSocket.
//!
//! The caller's own task receives: while it processes a message, nothing is read, and what the system's buffers don't
//! hold waits in the broker. A new connection continues after the records that the caller got.

mod config;
mod message;
mod open;
mod positions;
mod socket;

pub use config::{Slow, SubscriptionConfig};

use crate::client::Client;
use crate::error::ClientError;
use crate::fetched::Fetched;
use crate::limits::{PIECE_BYTES, SUBSCRIPTION_PATIENCE, SUBSCRIPTION_SILENCE_MAX};
use crate::peer::Peer;
use crate::retry::Attempts;
use crate::retry::RetryPolicy;
use crate::tasks;
use http::StatusCode;
use message::{Message, MessageError};
use open::Opened;
use positions::Positions;
use rawline_contract::code::{self, BROKER_NEARER, SUBSCRIBER_SLOW, TOPIC_NOT_FOUND};
use rawline_contract::subscription::{ControlMessage, Cursor};
use socket::{Event, Socket, SocketError};
use std::collections::VecDeque;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout_at};

/// Receives the records of topics as they are stored. Dropping it closes the connection.
pub struct Subscription {
    client: Client,
    /// The topics that are left; where to begin says `positions`.
    config: SubscriptionConfig,
    positions: Positions,
    link: Link,
    /// Deliveries that the caller gets before the next message is received.
    notices: VecDeque<Notice>,
    /// The failures since something was received.
    attempts: Option<Attempts>,
    /// When to connect again.
    retry_at: Option<Instant>,
    /// The records that the caller holds now; their buffer is reused.
    current: Fetched,
    /// A buffer that is not in use.
    spare: Fetched,
}

/// A delivery of a subscription.
#[derive(Debug)]
pub enum Delivered<'a> {
    /// Records of one partition, at least one: `topic()` and `partition()` name it.
    Records(&'a mut Fetched),
    /// Records of a partition that are not delivered: they were deleted before, or the subscription skips what it is
    /// too slow for.
    Skipped {
        /// The topic.
        topic: String,
        /// The partition.
        partition: u32,
        /// Number of records.
        records: u64,
        /// Offset of the next record of the partition.
        next_offset: u64,
    },
    /// A topic was deleted; the subscription continues with the others.
    Deleted {
        /// The topic.
        topic: String,
    },
}

/// Deliveries other than records.
#[derive(Debug)]
enum Notice {
    Skipped { topic: String, partition: u32, records: u64, next_offset: u64 },
    Deleted { topic: String },
}

/// The connection.
enum Link {
    Closed,
    Opening(JoinHandle<Result<Opened, ClientError>>),
    Open(Box<Open>),
}

struct Open {
    socket: Socket,
    peer: Peer,
    /// When to connect again, and look whether the broker of the client's zone can be reached.
    look_at: Option<Instant>,
    /// The message that is being received.
    message: Option<Message>,
    since: Instant,
    /// Time of the broker's last message, or of the caller's wait if that is later.
    heard_at: Instant,
    /// Whether the caller waits since then.
    is_waiting: bool,
}

/// A received message.
enum Arrival {
    Records(Fetched),
    Control(String),
    Closed(String),
}

impl Subscription {
    /// Opens a subscription: records appended after this returns are delivered. Fails if a topic doesn't exist.
    pub async fn new(client: Client, config: SubscriptionConfig) -> Result<Subscription, ClientError> {
        let client = client.with_retries(config.retries);
        let cursor = config.cursor()?;
        let mut attempts = client.attempts();
        let Opened { socket, peer, look_at, cursor: begin, gone: _ } = loop {
            match open::open(&client, &config, cursor.as_ref()).await {
                Ok(opened) => break opened,
                Err(error) => attempts.failed(error).await?,
            }
        };
        Ok(Subscription {
            client,
            config,
            // The broker's default start, unless the caller sets one: then it reports skipped records.
            positions: Positions::new(cursor.unwrap_or(begin)),
            link: Link::open(socket, peer, look_at),
            notices: VecDeque::new(),
            attempts: None,
            retry_at: None,
            current: Fetched::default(),
            spare: Fetched::default(),
        })
    }

    /// The position after everything that [`Subscription::next`] has returned. As [`SubscriptionConfig::cursor`],
    /// another subscription continues there, also one of a later process.
    pub fn cursor(&self) -> String {
        self.positions.cursor().to_string()
    }

    /// Continues at this offset of a partition, over another connection.
    pub fn seek(&mut self, topic: &str, partition: u32, offset: u64) {
        self.positions.advance(topic, partition, offset);
        self.link = Link::Closed;
    }

    /// Waits for the next delivery. A broken connection is replaced, and the retries are counted until
    /// something arrives.
    ///
    /// Cancel safe: if the future is dropped, the next call continues without a loss. After an error, the next call
    /// connects again and continues where the subscription was.
    pub async fn next(&mut self) -> Result<Delivered<'_>, ClientError> {
        let notice = loop {
            if let Some(notice) = self.notices.pop_front() {
                break notice;
            }
            match self.arrival().await {
                Ok(Arrival::Records(fetched)) => {
                    self.attempts = None;
                    self.positions.advance(fetched.topic(), fetched.partition(), fetched.next_offset());
                    if fetched.is_empty() || fetched.is_gap() {
                        self.spare = fetched;
                        continue;
                    }
                    self.spare = std::mem::replace(&mut self.current, fetched);
                    self.link.returned();
                    return Ok(Delivered::Records(&mut self.current));
                }
                Ok(Arrival::Control(text)) => {
                    if let Err(error) = self.control(&text) {
                        self.failed(error)?;
                    }
                }
                Ok(Arrival::Closed(reason)) => {
                    let error = self.client.inner.truncated(reason);
                    self.failed(error)?;
                }
                Err(error) => self.failed(error)?,
            }
        };
        self.link.returned();
        Ok(match notice {
            Notice::Skipped { topic, partition, records, next_offset } => {
                Delivered::Skipped { topic, partition, records, next_offset }
            }
            Notice::Deleted { topic } => Delivered::Deleted { topic },
        })
    }

    /// Retries differently from now on.
    pub fn set_retries(&mut self, retries: RetryPolicy) {
        self.config.retries = retries;
        self.client = self.client.with_retries(retries);
        self.attempts = None;
    }

    /// Returns the buffer of an earlier read, to be reused.
    pub fn recycle(&mut self, buffer: Fetched) {
        self.spare = buffer;
    }

    /// Waits for the broker's next message; connects if there is no connection.
    async fn arrival(&mut self) -> Result<Arrival, ClientError> {
        loop {
            match &mut self.link {
                Link::Closed => {
                    if let Some(at) = self.retry_at {
                        sleep_until(at).await;
                        self.retry_at = None;
                    }
                    if self.config.topics.is_empty() && self.config.prefixes.is_empty() {
                        return Err(all_deleted());
                    }
                    let (client, config) = (self.client.clone(), self.config.clone());
                    let cursor = self.positions.cursor().clone();
                    self.link =
                        Link::Opening(tasks::spawn(async move { open::reopen(&client, config, &cursor).await }));
                }
                Link::Opening(task) => {
                    let opened = match task.await {
                        Ok(opened) => opened,
                        Err(error) => match error.try_into_panic() {
                            Ok(panic) => std::panic::resume_unwind(panic),
                            Err(_) => unreachable!("a connection was cancelled"),
                        },
                    };
                    self.link = Link::Closed;
                    let Opened { socket, peer, look_at, gone, .. } = opened?;
                    self.link = Link::open(socket, peer, look_at);
                    gone.into_iter().for_each(|topic| self.deleted(topic));
                    if !self.notices.is_empty() {
                        return Ok(Arrival::Control(String::new()));
                    }
                }
                Link::Open(open) if open.is_to_look() => self.link = Link::Closed,
                Link::Open(open) => {
                    return open.receive(&self.client, &self.positions, &mut self.spare).await;
                }
            }
        }
    }

    /// Takes a control message.
    fn control(&mut self, text: &str) -> Result<(), ClientError> {
        if text.is_empty() {
            return Ok(());
        }
        match serde_json::from_str(text).map_err(|error| self.client.not_a_brokers(error.to_string()))? {
            ControlMessage::Skipped { topic, partition, records, next_offset } => {
                self.attempts = None;
                self.positions.advance(&topic, partition, next_offset);
                let topic = topic.into_owned();
                self.notices.push_back(Notice::Skipped { topic, partition, records, next_offset });
            }
            ControlMessage::Deleted { topic } => self.deleted(topic.into_owned()),
            ControlMessage::Topic { topic, id } => {
                let id = id.parse().map_err(|error| self.not_a_cursor(&error))?;
                self.positions.identify(&topic, id);
            }
            ControlMessage::Cursor { cursor } => {
                let cursor: Cursor = cursor.parse().map_err(|error| self.not_a_cursor(&error))?;
                self.positions.replace(cursor);
            }
            // It continues there, whatever the retries.
            ControlMessage::End { code, .. } if code == BROKER_NEARER.name => self.link = Link::Closed,
            ControlMessage::End { code, error } => return Err(ended(&code, &error)),
            ControlMessage::Subscribed { .. } | ControlMessage::Unknown => {}
        }
        Ok(())
    }

    fn not_a_cursor(&self, error: &dyn std::error::Error) -> ClientError {
        self.client.not_a_brokers(error.to_string())
    }

    /// A topic doesn't exist any more.
    fn deleted(&mut self, topic: String) {
        self.positions.forget(&topic);
        self.config.topics.retain(|other| *other != topic);
        self.notices.push_back(Notice::Deleted { topic });
    }

    /// The connection is of no use any more: another one follows after a while, or the caller gets the error.
    fn failed(&mut self, error: ClientError) -> Result<(), ClientError> {
        if let Link::Open(open) = &mut self.link {
            if let Some(message) = open.message.take() {
                self.spare = message.into_buffer();
            }
            // Connections that last are no failures, even if nothing was delivered.
            if open.since.elapsed() >= self.config.retries.wait_max {
                self.attempts = None;
            }
        }
        self.link = Link::Closed;
        let attempts = self.attempts.get_or_insert_with(|| self.client.attempts());
        let now = Instant::now();
        // A limit that the user has set is final. Without one, the subscriber was idle for a while and reads again now.
        let is_final = error.code() == Some(SUBSCRIBER_SLOW.name) && self.config.lag_max.is_some();
        match attempts.wait_after(&error, now).filter(|_| !is_final) {
            Some(wait) => {
                self.retry_at = Some(now + wait);
                Ok(())
            }
            None => {
                (self.attempts, self.retry_at) = (None, None);
                Err(error)
            }
        }
    }
}

/// The cursor of a caller that has not processed all that it got: `unprocessed` are the offsets of the next records of
/// partitions, which replace those in `cursor`.
pub fn cursor_at<'a>(
    cursor: &str,
    unprocessed: impl IntoIterator<Item = (&'a str, u32, u64)>,
) -> Result<String, ClientError> {
    let cursor: Result<Cursor, _> = cursor.parse();
    let mut cursor = cursor.map_err(|error| ClientError::Config { reason: error.to_string() })?;
    unprocessed.into_iter().for_each(|(topic, partition, offset)| cursor.set(topic, partition, offset));
    Ok(cursor.to_string())
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let SubscriptionConfig { topics, prefixes, .. } = &self.config;
        f.debug_struct("Subscription").field("topics", topics).field("prefixes", prefixes).finish_non_exhaustive()
    }
}

impl Link {
    fn open(socket: Socket, peer: Peer, look_at: Option<Instant>) -> Link {
        let now = Instant::now();
        let open = Open { socket, peer, look_at, message: None, since: now, heard_at: now, is_waiting: false };
        Link::Open(Box::new(open))
    }

    /// The caller has got something, and doesn't wait.
    fn returned(&mut self) {
        if let Link::Open(open) = self {
            open.is_waiting = false;
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Link::Opening(task) = self {
            task.abort();
        }
    }
}

impl Open {
    /// Whether it is time to connect again, between two messages.
    fn is_to_look(&self) -> bool {
        self.message.is_none() && self.look_at.is_some_and(|at| at <= Instant::now())
    }

    /// The broker's next message. Cancel-safe.
    async fn receive(
        &mut self,
        client: &Client,
        positions: &Positions,
        spare: &mut Fetched,
    ) -> Result<Arrival, ClientError> {
        if !self.is_waiting {
            (self.is_waiting, self.heard_at) = (true, Instant::now());
        }
        loop {
            while let Some(message) = &mut self.message
                && let Some(piece) = self.socket.take()
            {
                message.push(&piece, positions).map_err(|error| wrong(client, error))?;
            }
            if let Some(message) = self.message.take_if(|message| message.bytes_left() == 0) {
                return message.finish().map(Arrival::Records).map_err(|error| wrong(client, error));
            }
            let limit = self.heard_at + SUBSCRIPTION_SILENCE_MAX;
            let hearing = hear(&mut self.socket, self.message.as_mut());
            // The broker says something in between.
            let heard = timeout_at(limit, self.peer.unless_silent(SUBSCRIPTION_PATIENCE, hearing)).await;
            let heard = heard.map_err(|_| {
                let broker = client.config().broker.clone();
                ClientError::Timeout { broker, waited: SUBSCRIPTION_SILENCE_MAX }
            })?;
            let heard = heard?.map_err(|error| match error {
                SocketError::Broken(reason) => client.inner.truncated(reason),
                SocketError::Protocol(reason) => client.not_a_brokers(reason),
            })?;
            self.heard_at = Instant::now();
            match heard {
                Heard::Bytes(before) => {
                    let Some(message) = &mut self.message else { unreachable!("bytes of no message") };
                    message.received(before).map_err(|error| wrong(client, error))?;
                }
                Heard::Event(Event::Begin(bytes)) => {
                    let mut message = Message::new(bytes, client.config().limits, std::mem::take(spare));
                    message.push(&[], positions).map_err(|error| wrong(client, error))?;
                    self.message = Some(message);
                }
                Heard::Event(Event::Whole(bytes)) => {
                    let length = bytes.len() as u64;
                    let mut message = Message::new(length, client.config().limits, std::mem::take(spare));
                    let pushed = message.push(&bytes, positions);
                    let whole = pushed.and_then(|()| message.finish());
                    return whole.map(Arrival::Records).map_err(|error| wrong(client, error));
                }
                Heard::Event(Event::Text(text)) => return Ok(Arrival::Control(text)),
                Heard::Event(Event::Closed(reason)) => return Ok(Arrival::Closed(reason)),
            }
        }
    }
}

/// Signs of life of the broker.
enum Heard {
    Event(Event),
    /// Bytes of the message that is being received; those from here on are in its buffer.
    Bytes(usize),
}

async fn hear(socket: &mut Socket, message: Option<&mut Message>) -> Result<Heard, SocketError> {
    let Some(message) = message else { return socket.next().await.map(Heard::Event) };
    let room = message.room();
    let before = room.as_ref().map_or(0, |buffer| buffer.len());
    socket.receive(room, PIECE_BYTES).await?;
    Ok(Heard::Bytes(before))
}

fn wrong(client: &Client, error: MessageError) -> ClientError {
    match error {
        MessageError::Delivery(error) => client.not_a_brokers(error.to_string()),
        MessageError::Batches(error) => error,
    }
}

/// The error with which the broker has ended the subscription.
fn ended(name: &str, message: &str) -> ClientError {
    let code = code::ALL.iter().find(|code| code.name == name);
    // Unknown messages of newer brokers are ignored.
    let status = code.map_or(StatusCode::SERVICE_UNAVAILABLE.as_u16(), |code| code.status);
    ClientError::Refused { status, code: name.to_owned(), message: message.to_owned(), retry_after: None }
}

fn all_deleted() -> ClientError {
    let message = "all topics of the subscription were deleted; subscribe to others".to_owned();
    ClientError::Refused {
        status: TOPIC_NOT_FOUND.status,
        code: TOPIC_NOT_FOUND.name.to_owned(),
        message,
        retry_after: None,
    }
}
