//! One run of a broker: the product's own code on a machine, and what it does with requests, as the HTTP server does.

use super::log::{Acting, Moment, Run};
use super::machine::Machine;
use super::network::{From, Missed};
use super::world::{Bug, World};
use crate::clocks::LocalClock;
use crate::settings::{JOURNAL, small};
use crate::store::Connection;
use futures_util::future::BoxFuture;
use rawline_batch::{Builder, Codec, Limits};
use rawline_broker::cluster::{BrokerId, Card, Cluster, Forwarded, Peers, Sent, Unanswered};
use rawline_broker::journal::JournalConfig;
use rawline_broker::store::Storage;
use rawline_broker::{AppendError, Broker, Config, Piece, ReadRequest, Received, TopicError};
use rawline_testkit::batches;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// The topic of a world.
pub const TOPIC: &str = "t";

/// How long a broker that stops waits for the requests that it has.
const DRAIN_WAIT: Duration = Duration::from_secs(5);

/// After this time, a broker with this bug sends a request again.
const AGAIN_AFTER: Duration = Duration::from_millis(200);

/// One run of a broker that takes requests.
pub struct Node {
    pub run: Run,
    pub machine: Arc<Machine>,
    /// None when it stops.
    broker: Mutex<Option<Arc<Broker>>>,
    cluster: Arc<Cluster>,
    world: Weak<World>,
    /// The newest moment at which it took another broker for the owner.
    not_owner_at: Mutex<Moment>,
    /// With a bug: what it takes off the generations of groups.
    pub first_generations: Mutex<BTreeMap<String, u32>>,
}

/// An append as it is sent: its records, and who numbers it.
#[derive(Debug, Clone)]
pub struct Request {
    pub partition: u32,
    pub records: Vec<String>,
    /// The producer's id and its sequence.
    pub producer: Option<(u64, u64)>,
}

/// The response to an append.
#[derive(Debug, Clone)]
#[expect(dead_code, reason = "the reasons are in the trace")]
pub enum Reply {
    Stored {
        first_offset: u64,
        by: Run,
    },
    NotStored(String),
    Unknown(String),
    /// The rules forbid it.
    Refused(String),
}

/// The response to a read.
#[derive(Debug, Clone)]
pub enum ReadReply {
    Records { records: Vec<String>, next_offset: u64, at: Run },
    OutOfRange { at: Run },
    Failed(String),
}

impl Node {
    /// Starts a broker on a machine, again until it runs; then it takes requests.
    pub async fn start(world: Arc<World>, machine: Arc<Machine>, run: Run, connection: Connection) {
        let id = BrokerId(world.store.random(|random| random.u64(..)));
        let broker = loop {
            match open(&world, &connection, run, id).await {
                Ok(broker) => break broker,
                Err(error) => world.store.note(|| format!("machine {}: no start: {error}", run.machine)),
            }
            sleep(Duration::from_secs(1)).await;
        };
        let Some(cluster) = broker.cluster().cloned() else { unreachable!("the store has cards") };
        *connection.view.lock().unwrap() = Some(cluster.watch());
        let (broker, weak) = (Mutex::new(Some(Arc::new(broker))), Arc::downgrade(&world));
        let node = Arc::new(Node {
            run,
            machine: machine.clone(),
            broker,
            cluster: cluster.clone(),
            world: weak,
            not_owner_at: Mutex::default(),
            first_generations: Mutex::default(),
        });
        world.store.note(|| format!("machine {}: broker {id} runs", run.machine));
        machine.spawn(watch_owner(world.clone(), cluster.clone(), run));
        world.serves(node);
        let wire = Wire { world, from: run.machine };
        cluster.exchange(&wire).await;
    }

    /// Hands over, answers the received requests, and ends.
    pub async fn stop(self: Arc<Self>) {
        let Some(world) = self.world.upgrade() else { return };
        let brokers = self.cluster.brokers();
        if brokers.owner(JOURNAL) == Some(brokers.me) && brokers.live().count() > 1 {
            world.saw(|seen| seen.hand_overs += 1);
        }
        self.cluster.hand_over().await;
        world.ends(&self);
        let until = Instant::now() + DRAIN_WAIT;
        let mut broker = self.broker.lock().unwrap().take();
        while let Some(shared) = broker.take() {
            match Arc::try_unwrap(shared) {
                Ok(broker) => {
                    let _ = timeout(DRAIN_WAIT, broker.close()).await;
                }
                Err(_) if Instant::now() > until => {}
                Err(shared) => {
                    sleep(Duration::from_millis(10)).await;
                    broker = Some(shared);
                }
            }
        }
    }

    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    pub fn has_bug(&self, bug: Bug) -> bool {
        self.world.upgrade().is_some_and(|world| world.bug == Some(bug))
    }

    pub fn broker(&self) -> Option<Arc<Broker>> {
        self.broker.lock().unwrap().clone()
    }

    /// The owner of the journal as the broker sees it.
    pub fn owner(&self) -> Option<BrokerId> {
        self.cluster.brokers().owner(JOURNAL)
    }

    /// What is stored in a partition as far as the broker has seen.
    pub async fn end(&self, partition: u32) -> Option<u64> {
        Some(self.broker()?.partition(TOPIC, u64::from(partition)).await.ok()?.offsets().end)
    }

    /// Answers as the coordinator of groups, if the broker is that: what it has seen of a partition by then.
    pub async fn act(self: Arc<Self>, partition: u32) -> Option<Acting> {
        let world = self.world.upgrade()?;
        if self.cluster.is_owned_by_other(JOURNAL) {
            *self.not_owner_at.lock().unwrap() = world.moment();
            return None;
        }
        let acts = world.bug == Some(Bug::ActAtOnce) || self.cluster.acts(JOURNAL).await;
        if !acts || self.cluster.is_owned_by_other(JOURNAL) {
            return None;
        }
        let next_offset = self.end(partition).await?;
        world.saw(|seen| seen.actings += 1);
        Some(Acting { at: self.run, since: *self.not_owner_at.lock().unwrap(), next_offset })
    }

    /// Creates the topic, or has the owner create it; then this broker knows it.
    pub async fn create(self: Arc<Self>, partitions: u32) -> Result<(), String> {
        let world = self.world.upgrade().ok_or("the world ends")?;
        let from = From::Broker(self.run.machine);
        let sent = self.cluster.forward(JOURNAL, (), |owner, ()| {
            let world = world.clone();
            async move {
                let (Some(to), id) = (machine_of(&owner), owner.id) else { return not_sent(()) };
                let work = move |node: Arc<Node>| -> BoxFuture<'static, _> {
                    Box::pin(async move {
                        if id == node.cluster.me().id {
                            node.create_here(partitions).await
                        } else {
                            Err("not me".to_owned())
                        }
                    })
                };
                sent((), world.call(from, to, Box::new(work)).await)
            }
        });
        match sent.await.map_err(|error| error.to_string())? {
            Forwarded::Here(()) => self.create_here(partitions).await,
            Forwarded::Response(created, _) => {
                self.cluster.catch_up().await.map_err(|error| error.to_string())?;
                if created.is_ok() {
                    let broker = self.broker().ok_or("it stops")?;
                    let is_known = broker.topics().iter().any(|topic| topic.topic_name() == TOPIC);
                    assert!(is_known, "machine {} doesn't know the topic that it had created", self.run.machine);
                }
                created
            }
        }
    }

    async fn create_here(&self, partitions: u32) -> Result<(), String> {
        let broker = self.broker().ok_or("it stops")?;
        let settings: Map<String, Value> = [("partitions".to_owned(), partitions.into())].into_iter().collect();
        match broker.create_topic(TOPIC, settings).await {
            Ok(_) | Err(TopicError::Exists { .. }) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// An append of a client's: for this broker, or for the owner.
    pub async fn append(self: Arc<Self>, request: Request) -> Reply {
        let Some(world) = self.world.upgrade() else { return Reply::Unknown("the world ends".into()) };
        let from = From::Broker(self.run.machine);
        if world.bug == Some(Bug::AnswerEarly) && self.cluster.is_owned_by_other(JOURNAL) {
            let Some(first_offset) = self.end(request.partition).await else {
                return Reply::NotStored("unknown".into());
            };
            let by = self.run;
            self.machine.clone().spawn(async move { self.forward_or_append(&world, from, request).await });
            return Reply::Stored { first_offset, by };
        }
        self.forward_or_append(&world, from, request).await
    }

    async fn forward_or_append(self: Arc<Self>, world: &Arc<World>, from: From, request: Request) -> Reply {
        let forwarded = self.cluster.forward(JOURNAL, request, |owner, request: Request| {
            let world = world.clone();
            async move {
                let (Some(to), id) = (machine_of(&owner), owner.id) else { return not_sent(request) };
                let mut arrives = request.clone();
                if world.bug == Some(Bug::ForgetSequence) {
                    arrives.producer = None;
                }
                let work = move |node: Arc<Node>| -> BoxFuture<'static, Reply> {
                    Box::pin(async move {
                        if id != node.cluster.me().id {
                            return Reply::NotStored("the request is for another broker".into());
                        }
                        node.append_here(arrives).await
                    })
                };
                let call = world.call(from, to, Box::new(work));
                let missed = match world.bug {
                    Some(Bug::ForwardAgain) => timeout(AGAIN_AFTER, call).await.unwrap_or(Err(Missed::Lost)),
                    _ => call.await,
                };
                world.saw(|seen| match missed {
                    Ok(_) => seen.forwards += 1,
                    Err(Missed::NotSent) => seen.unsent_forwards += 1,
                    Err(Missed::Lost) => {}
                });
                match missed {
                    Err(Missed::Lost) if world.bug == Some(Bug::ForwardAgain) => not_sent(request),
                    missed => sent(request, missed),
                }
            }
        });
        match forwarded.await {
            Ok(Forwarded::Here(request)) => self.append_here(request).await,
            Ok(Forwarded::Response(reply, _)) => reply,
            Err(lost) => {
                world.saw(|seen| seen.lost_forwards += 1);
                Reply::Unknown(lost.to_string())
            }
        }
    }

    async fn append_here(&self, request: Request) -> Reply {
        let Some(broker) = self.broker() else { return Reply::NotStored("it stops".into()) };
        let partition = match broker.partition(TOPIC, u64::from(request.partition)).await {
            Ok(partition) => partition,
            Err(error) => return Reply::NotStored(error.to_string()),
        };
        match partition.append(received(&request)).await {
            Ok(appended) => Reply::Stored { first_offset: appended.first_offset, by: self.run },
            Err(AppendError::Busy) => Reply::NotStored("busy".into()),
            // What its message promises.
            Err(error) if error.to_string().contains("nothing of this request is stored") => {
                Reply::NotStored(error.to_string())
            }
            Err(AppendError::Store(error)) => Reply::Unknown(error.to_string()),
            Err(AppendError::Closed) => Reply::Unknown("it stops".into()),
            Err(error) => Reply::Refused(error.to_string()),
        }
    }

    /// Reads records from an offset on, as Kafka's Fetch does.
    pub async fn read(self: Arc<Self>, partition: u32, offset: u64, wait: Duration) -> ReadReply {
        let Some(world) = self.world.upgrade() else { return ReadReply::Failed("the world ends".into()) };
        let at = self.run;
        let reader = match world.bug {
            // Whichever broker responds, it is this broker's response.
            Some(Bug::ReadAnywhere) => world.any_node().unwrap_or_else(|| self.clone()),
            _ => self.clone(),
        };
        let Some(broker) = reader.broker() else { return ReadReply::Failed("it stops".into()) };
        let partition = match broker.partition(TOPIC, u64::from(partition)).await {
            Ok(partition) => partition,
            Err(error) => return ReadReply::Failed(error.to_string()),
        };
        let reaches = match world.bug {
            Some(Bug::DenyWhatIsNew) => Ok(offset <= partition.offsets().end),
            _ => partition.reaches(offset).await,
        };
        match reaches {
            Ok(true) => {}
            Ok(false) => return ReadReply::OutOfRange { at },
            Err(error) => return ReadReply::Failed(error.to_string()),
        }
        let request = ReadRequest { offset, records_max: 8, bytes_max: 0, wait, verify: true };
        match partition.read(&request).await {
            Ok(answer) => {
                let records = answer.pieces.iter().flat_map(records_of).collect();
                assert!(answer.pieces.is_empty() || answer.first_offset == offset, "{answer:?} for {request:?}");
                ReadReply::Records { records, next_offset: answer.next_offset, at }
            }
            Err(error) => ReadReply::Failed(error.to_string()),
        }
    }
}

async fn open(world: &Arc<World>, connection: &Connection, run: Run, id: BrokerId) -> Result<Broker, String> {
    let cards = super::cards::CardStore { cards: world.cards.clone(), connection: connection.clone() };
    let storage = Storage::shared(Arc::new(connection.clone()), Arc::new(cards));
    let batch_wait = small(JournalConfig::new(id.0)).limits.batch_wait;
    let config = Config { batch_wait, create_topics: false, ..Config::new(id.0) };
    let clock = LocalClock::new(connection.store.clone(), run.machine, id.0);
    let broker = Broker::open(storage, Arc::new(clock), config).await.map_err(|error| error.to_string())?;
    let url = Some(format!("http://machine-{}", run.machine));
    let describe = |card: Card| Card { url, ..card };
    let joined = broker.join(describe).await.map_err(|error| error.to_string());
    match joined {
        Ok(()) => Ok(broker),
        Err(error) => {
            broker.close().await;
            Err(error)
        }
    }
}

/// Counts how often a broker becomes the owner.
async fn watch_owner(world: Arc<World>, cluster: Arc<Cluster>, run: Run) {
    let mut brokers = cluster.watch();
    let mut owned = None;
    loop {
        let (me, owner) = {
            let brokers = brokers.borrow_and_update();
            (brokers.me, brokers.owner(JOURNAL))
        };
        if owned.is_some_and(|owned| owned != owner) && owner == Some(me) {
            world.saw(|seen| seen.takeovers += 1);
        }
        if owned != Some(owner) {
            world.store.note(|| format!("machine {}: takes {owner:?} for the owner", run.machine));
        }
        owned = Some(owner);
        if brokers.changed().await.is_err() {
            return;
        }
    }
}

/// The machine at a broker's address.
fn machine_of(card: &Card) -> Option<usize> {
    card.url.as_deref()?.strip_prefix("http://machine-")?.parse().ok()
}

fn not_sent<Q, R>(request: Q) -> Sent<Q, R> {
    Sent::Not(request, "no connection".to_owned())
}

fn sent<Q, R>(request: Q, missed: Result<R, Missed>) -> Sent<Q, R> {
    match missed {
        Ok(response) => Sent::Response(response),
        Err(Missed::NotSent) => not_sent(request),
        Err(Missed::Lost) => Sent::Lost("the connection broke".to_owned()),
    }
}

/// A broker's way to the others.
struct Wire {
    world: Arc<World>,
    from: usize,
}

impl Peers for Wire {
    async fn ask(&self, to: &Card, me: Card, after: &[u64]) -> Result<Card, Unanswered> {
        let machine = machine_of(to).ok_or_else(|| Unanswered::now("no address"))?;
        let (id, after) = (to.id, after.to_vec());
        let work = move |node: Arc<Node>| -> BoxFuture<'static, Result<Card, Unanswered>> {
            Box::pin(async move {
                if id != node.cluster.me().id {
                    return Err(Unanswered::now("the request is for another broker"));
                }
                Ok(node.cluster.answer(me, &after).await)
            })
        };
        let answered = self.world.call(From::Broker(self.from), machine, Box::new(work)).await;
        answered.map_err(|missed| Unanswered::now(format!("{missed:?}")))?
    }

    fn forget(&self, _: BrokerId) {}
}

/// The append as it comes from a socket: who numbers it is in its bytes.
fn received(request: &Request) -> Received {
    let mut builder = Builder::new(Codec::None, Limits::FORMAT);
    request.records.iter().for_each(|record| builder.push(record.as_bytes()).unwrap());
    let (id, sequence) = request.producer.unwrap_or_default();
    let mut batch = Vec::new();
    builder.finish_into(0, id, sequence, &mut batch).unwrap();
    let received = batches::received(&batch);
    if request.producer.is_some() { received.exactly_once(0).unwrap() } else { received }
}

fn records_of(piece: &Piece) -> Vec<String> {
    let text = |record: &[u8]| String::from_utf8(record.to_vec()).unwrap();
    match piece {
        Piece::Whole(bytes) => batches::records_of(bytes).iter().map(|record| text(record)).collect(),
        Piece::Slice { batch, records, .. } => {
            let all = batches::records_of(batch);
            all[records.start as usize..records.end as usize].iter().map(|record| text(record)).collect()
        }
    }
}
