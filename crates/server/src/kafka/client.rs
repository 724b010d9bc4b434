//! What the handlers of requests share: the broker, the settings, and the client of their connection.

use super::config::KafkaConfig;
use super::error::ConnectionError;
use super::mechanisms::Sasl;
use super::watched::Kept;
use crate::access::{Access, Caller, Place};
use crate::net::activity::Activity;
use crate::net::commit_thread::SmallDeliveries;
use crate::net::listen::Crowd;
use crate::net::peer::Peer;
use rawline_broker::Broker;
use rawline_broker::pool::Pool;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

/// A connection is muted for at most this long at once; what is left of its debt counts for the next request. Clients
/// give up on requests after half a minute.
const MUTED_MAX: Duration = Duration::from_secs(20);

/// The shared state of request handlers.
pub(crate) struct Kafka {
    pub broker: Arc<Broker>,
    pub pool: Arc<Pool>,
    pub config: KafkaConfig,
    pub sasl: Option<Sasl>,
    /// Turns true when shutdown begins, so that waiting requests get their responses.
    pub stopping: watch::Receiver<bool>,
    /// Turns true when no connection is accepted any more.
    pub closing: watch::Receiver<bool>,
    /// Whether connections are refused.
    pub crowd: Arc<Crowd>,
    pub converting: Semaphore,
    /// For requests, other than Produce, that are larger than a connection's buffer.
    pub large: Arc<Semaphore>,
    /// For searches by the times of records.
    pub searching: Semaphore,
    /// For partitions that connections watch.
    pub watching: Arc<Semaphore>,
    /// For responses with many partitions.
    pub building: Semaphore,
}

/// One connection's client.
pub(crate) struct Client {
    pub kafka: Arc<Kafka>,
    pub peer: Peer,
    pub activity: Arc<Activity>,
    /// The address that it has connected to.
    pub local: SocketAddr,
    pub session: Session,
    pub fetches: Kept,
    /// Of its Fetch requests.
    pub deliveries: SmallDeliveries,
}

impl Client {
    /// The caller; unknown until the client has authenticated, and after its key was removed.
    pub(super) fn caller(&self) -> Arc<Caller> {
        self.session.caller(&self.kafka.config.access)
    }

    /// Fails if the key that the client has authenticated with was removed.
    pub(super) fn check_key(&self) -> Result<(), ConnectionError> {
        let is_removed = self.session.has_logged_in() && self.caller().name().is_none();
        if is_removed { Err(ConnectionError::KeyRemoved) } else { Ok(()) }
    }
}

/// The caller of a connection, and the time for which it is muted because of its quota.
pub(super) struct Session(Mutex<Inner>);

struct Inner {
    caller: Arc<Caller>,
    /// That of the keys when the caller was found.
    generation: u64,
    /// Counts the connection.
    place: Option<Place>,
    /// No request is read before this time.
    muted_until: Option<Instant>,
}

impl Session {
    /// Of a client that hasn't authenticated, or needn't.
    pub fn new(caller: Arc<Caller>) -> Session {
        Session(Mutex::new(Inner { caller, generation: 0, place: None, muted_until: None }))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The caller; unknown until the client has authenticated, and after its key was removed.
    pub(super) fn caller(&self, access: &Access) -> Arc<Caller> {
        let mut session = self.inner();
        let generation = access.generation();
        if session.generation != generation {
            // If the changed key has reached its limit of connections, the connection keeps its earlier place.
            session.caller = access.renewed(&session.caller).unwrap_or_else(Caller::unknown);
            session.generation = generation;
        }
        session.caller.clone()
    }

    /// The client has authenticated. Fails with the reason if it has too many connections.
    pub(super) fn log_in(&self, caller: Arc<Caller>) -> Result<(), String> {
        let place = caller.connect().map_err(|error| error.to_string())?;
        let mut session = self.inner();
        // The caller from before the keys were replaced has ended, and is looked up again.
        session.generation = u64::MAX;
        session.caller = caller;
        session.place = Some(place);
        Ok(())
    }

    pub(super) fn has_logged_in(&self) -> bool {
        self.inner().place.is_some()
    }

    /// The client has used up its quota for so long: no request is read meanwhile. Returns what its response says, in
    /// milliseconds.
    pub(super) fn mute(&self, wait: Duration) -> i32 {
        if wait.is_zero() {
            return 0;
        }
        let wait = wait.min(MUTED_MAX);
        let until = Instant::now() + wait;
        let mut inner = self.inner();
        inner.muted_until = inner.muted_until.max(Some(until));
        i32::try_from(wait.as_millis()).unwrap_or(i32::MAX).max(1)
    }

    /// Waits until requests may be read, and returns for how long.
    pub(super) async fn unmuted(&self) -> Duration {
        let until = self.inner().muted_until.take();
        let Some(until) = until else { return Duration::ZERO };
        let since = Instant::now();
        tokio::time::sleep_until(until).await;
        since.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_muted_connection_waits_as_long_as_its_response_says() {
        let session = Session::new(Caller::unknown());
        assert_eq!(session.mute(Duration::ZERO), 0);
        assert_eq!(session.unmuted().await, Duration::ZERO);
        assert_eq!(session.mute(Duration::from_millis(700)), 700);
        assert_eq!(session.mute(Duration::from_micros(1)), 1, "less than a millisecond isn't nothing");
        assert_eq!(session.unmuted().await, Duration::from_millis(700));
        assert_eq!(session.unmuted().await, Duration::ZERO, "once");
        assert_eq!(session.mute(Duration::from_secs(3600)), MUTED_MAX.as_millis() as i32);
    }
}
