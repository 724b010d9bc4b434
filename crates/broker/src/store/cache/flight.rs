//! Single flight: however many tasks want the same thing at once, one gets it and the others wait for it.

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Resolves when the flight has landed; to `None` if the task that flew it died.
pub(super) type Flight<T> = Shared<BoxFuture<'static, Option<T>>>;

/// The flights in progress.
pub(super) struct Flights<K, T> {
    in_flight: Mutex<HashMap<K, Flight<T>>>,
}

/// The part of one task in a flight.
pub(super) enum Joined<K: Eq + Hash, T> {
    /// Another task obtains it: wait.
    Wait(Flight<T>),
    /// This task has to obtain it, and to land.
    Fly(Landing<K, T>, Flight<T>),
}

/// Ends a flight, also when it is dropped.
pub(super) struct Landing<K: Eq + Hash, T> {
    flights: Arc<Flights<K, T>>,
    key: K,
    send: Option<oneshot::Sender<T>>,
}

impl<K: Eq + Hash + Clone, T: Clone + Send + Sync + 'static> Flights<K, T> {
    pub fn new() -> Arc<Self> {
        Arc::new(Flights { in_flight: Mutex::default() })
    }

    /// Joins the flight of `key`, or begins it.
    pub fn join(self: &Arc<Self>, key: &K) -> Joined<K, T> {
        let mut in_flight = self.lock();
        if let Some(flight) = in_flight.get(key) {
            return Joined::Wait(flight.clone());
        }
        let (send, landed) = oneshot::channel();
        let flight = landed.map(Result::ok).boxed().shared();
        in_flight.insert(key.clone(), flight.clone());
        Joined::Fly(Landing { flights: self.clone(), key: key.clone(), send: Some(send) }, flight)
    }
}

impl<K, T> Flights<K, T> {
    fn lock(&self) -> MutexGuard<'_, HashMap<K, Flight<T>>> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash, T> Landing<K, T> {
    /// Ends the flight with its result.
    pub fn land(mut self, landed: T) {
        if let Some(send) = self.take() {
            // Every task that waited may have gone away.
            let _ = send.send(landed);
        }
    }

    fn take(&mut self) -> Option<oneshot::Sender<T>> {
        let send = self.send.take()?;
        let flight = self.flights.lock().remove(&self.key);
        assert!(flight.is_some(), "a flight ended twice");
        Some(send)
    }
}

impl<K: Eq + Hash, T> Drop for Landing<K, T> {
    fn drop(&mut self) {
        self.take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_flies_and_all_land() {
        let flights: Arc<Flights<u32, &str>> = Flights::new();
        let Joined::Fly(landing, first) = flights.join(&7) else { panic!() };
        let Joined::Wait(second) = flights.join(&7) else { panic!() };
        landing.land("whole");
        assert_eq!((first.await, second.await), (Some("whole"), Some("whole")));
        assert!(matches!(flights.join(&7), Joined::Fly(..)), "the next begins a new flight");
    }

    #[tokio::test]
    async fn a_flight_whose_task_dies_ends_for_those_who_wait() {
        let flights: Arc<Flights<u32, ()>> = Flights::new();
        let Joined::Fly(landing, flight) = flights.join(&7) else { panic!() };
        drop(landing);
        assert_eq!(flight.await, None);
        assert!(matches!(flights.join(&7), Joined::Fly(..)));
    }
}
