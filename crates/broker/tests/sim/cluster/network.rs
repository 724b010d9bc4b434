//! The network among brokers, and from clients to them: requests and responses arrive late, or get lost where a
//! connection is cut, and a broker that dies breaks its connections.

use super::node::Node;
use super::world::World;
use futures_util::future::BoxFuture;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, sleep_until};

/// How long a broker waits until it is connected to another.
const CONNECT_WAIT: Duration = Duration::from_secs(1);

/// Where a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    Client,
    Broker(usize),
}

/// Why a request has no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missed {
    /// Nothing of it was sent.
    NotSent,
    /// It may have had an effect.
    Lost,
}

/// Which ways are cut, from one machine to another, and until when.
#[derive(Default)]
pub struct Cuts(Mutex<BTreeMap<(usize, usize), Instant>>);

impl Cuts {
    pub fn cut(&self, from: usize, to: usize, until: Instant) {
        self.0.lock().unwrap().insert((from, to), until);
    }

    pub fn heal(&self) {
        self.0.lock().unwrap().clear();
    }

    /// Until when nothing gets from one to the other, if it doesn't now.
    fn until(&self, from: From, to: From) -> Option<Instant> {
        let (From::Broker(from), From::Broker(to)) = (from, to) else { return None };
        self.0.lock().unwrap().get(&(from, to)).copied().filter(|until| *until > Instant::now())
    }
}

/// What a request is to do where it arrives.
pub type Work<T> = Box<dyn FnOnce(Arc<Node>) -> BoxFuture<'static, T> + Send>;

impl World {
    /// Sends a request to the broker on a machine, and waits for its response.
    pub async fn call<T: Send + 'static>(self: &Arc<Self>, from: From, to: usize, work: Work<T>) -> Result<T, Missed> {
        let (world, (respond, responded)) = (self.clone(), oneshot::channel());
        // Messages in flight arrive even if the sender is paused.
        tokio::spawn(async move { drop(respond.send(world.exchange(from, to, work).await)) });
        responded.await.unwrap_or(Err(Missed::Lost))
    }

    async fn exchange<T: Send + 'static>(&self, from: From, to: usize, work: Work<T>) -> Result<T, Missed> {
        let there = From::Broker(to);
        // Half of the requests find a connection that is open as far as the sender knows.
        let is_open = self.store.random(|random| random.bool());
        if !is_open && let Some(until) = self.cuts.until(from, there).or_else(|| self.cuts.until(there, from)) {
            sleep_until(until.min(Instant::now() + CONNECT_WAIT)).await;
            if until > Instant::now() {
                return Err(Missed::NotSent);
            }
        }
        let connected = self.node(to).map(|node| node.run);
        let Some(connected) = connected else {
            sleep(self.delay()).await;
            return Err(Missed::NotSent);
        };
        self.pass(from, there).await?;
        // The connection is to one process.
        let node = self.node(to).filter(|node| node.run == connected).ok_or(Missed::Lost)?;
        let response = node.machine.clone().spawn(work(node)).await;
        let response = match response {
            Ok(response) => Ok(response),
            // The process was killed.
            Err(ended) if ended.is_cancelled() => Err(Missed::Lost),
            Err(ended) => {
                self.broken(format!("a request to machine {to} panicked: {ended}"));
                Err(Missed::Lost)
            }
        };
        self.pass(there, from).await?;
        response
    }

    /// A request or a response is on the wire.
    async fn pass(&self, from: From, to: From) -> Result<(), Missed> {
        if let Some(until) = self.cuts.until(from, to) {
            // It is sent again and again until it arrives, or one side has given up.
            sleep_until(until).await;
            if self.store.happens(50) {
                return Err(Missed::Lost);
            }
        }
        sleep(self.delay()).await;
        if self.store.happens(1) { Err(Missed::Lost) } else { Ok(()) }
    }

    fn delay(&self) -> Duration {
        let is_calm = self.store.is_calm();
        let milliseconds = self.store.random(|random| match random.u8(0..100) {
            _ if is_calm => random.u64(1..5),
            0..95 => random.u64(1..10),
            _ => random.u64(10..1_500),
        });
        Duration::from_millis(milliseconds)
    }
}
