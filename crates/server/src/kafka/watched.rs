//! The partitions that a connection fetches from: looked up and watched once, while its requests name the same ones.

use crate::access::Caller;
use rawline_broker::Partition;
use rawline_broker::subscriptions::Watch;
use rawline_kafka::produce::TopicRef;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A connection watches up to this many partitions that a request doesn't name, plus as many as it does.
/// Clients leave out some for a while: those that are paused, and those whose records they haven't handed over yet.
const SPARE_MAX: usize = 64;

/// The partitions that a connection watches between two requests.
#[derive(Default)]
pub(super) struct Kept(Mutex<Option<Box<Watched>>>);

/// The partitions that a connection fetches from.
pub(super) struct Watched {
    /// The caller that may read them.
    caller: Arc<Caller>,
    watch: Watch,
    /// By the keys of the watch.
    entries: Vec<Option<Entry>>,
    /// The keys of each topic's partitions, by their numbers.
    keys: HashMap<Arc<TopicRef>, Vec<Option<u32>>>,
    /// Counts requests.
    request: u64,
    room: Option<OwnedSemaphorePermit>,
}

struct Entry {
    topic: Arc<TopicRef>,
    number: usize,
    /// Its handle, which ends with the topic.
    partition: Weak<Partition>,
    /// The newest request with this partition, and its place there.
    asked: (u64, usize),
}

impl Kept {
    /// The connection's watched partitions, if its client is still the same.
    pub(super) fn take(&self, caller: &Arc<Caller>) -> Box<Watched> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut watched =
            kept.filter(|kept| kept.is_for(caller)).unwrap_or_else(|| Box::new(Watched::new(caller.clone())));
        watched.request += 1;
        // The request looks at all of its partitions first.
        drop(watched.watch.take());
        watched
    }

    /// Keeps it for the next request, if there is room.
    pub(super) fn keep(&self, mut watched: Box<Watched>, watching: &Arc<Semaphore>, asked: usize) {
        if watched.watch.len() <= 2 * asked + SPARE_MAX && watched.find_room(watching, asked) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(watched);
        }
    }
}

impl Watched {
    fn new(caller: Arc<Caller>) -> Watched {
        let (watch, entries, keys) = (Watch::default(), Vec::new(), HashMap::new());
        Watched { caller, watch, entries, keys, request: 0, room: None }
    }

    /// Whether this caller may read them.
    pub fn is_for(&self, caller: &Arc<Caller>) -> bool {
        Arc::ptr_eq(&self.caller, caller)
    }

    /// Whether there is memory for a waiting request of this many partitions, and for the state kept after it.
    pub fn find_room(&mut self, watching: &Arc<Semaphore>, asked: usize) -> bool {
        let wanted = asked.max(self.watch.len());
        let held = self.room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let Some(more) = wanted.checked_sub(held).filter(|more| *more > 0) else { return true };
        let Ok(more) = u32::try_from(more) else { return false };
        match (watching.clone().try_acquire_many_owned(more), &mut self.room) {
            (Err(_), _) => return false,
            (Ok(more), Some(held)) => held.merge(more),
            (Ok(more), free) => *free = Some(more),
        }
        true
    }

    /// The partition at a place of the request, if it is watched.
    pub fn known(&mut self, topic: &TopicRef, number: i32, place: usize) -> Option<Arc<Partition>> {
        let key = (*self.keys.get(topic)?.get(usize::try_from(number).ok()?)?)?;
        let Some(Some(entry)) = self.entries.get_mut(key as usize) else { unreachable!("no partition is {key}") };
        if let Some(partition) = entry.partition.upgrade().filter(|partition| partition.is_live()) {
            entry.asked = (self.request, place);
            return Some(partition);
        }
        self.remove(key);
        None
    }

    /// Watches the partition at a place of the request from now on.
    pub fn add(&mut self, topic: &TopicRef, number: i32, place: usize, partition: &Arc<Partition>) {
        let Ok(number) = usize::try_from(number) else { unreachable!("a partition has the number {number}") };
        let key = self.watch.add(partition);
        let asked = (self.request, place);
        let topic = self.keys.get_key_value(topic).map_or_else(|| Arc::new(topic.clone()), |(known, _)| known.clone());
        let entry = Entry { topic: topic.clone(), number, partition: Arc::downgrade(partition), asked };
        put(&mut self.entries, key as usize, entry);
        put(self.keys.entry(topic).or_default(), number, key);
    }

    /// Waits until a partition has changed. Cancel-safe.
    pub async fn changed(&self) {
        self.watch.changed().await;
    }

    /// The places in the request of the partitions that have changed since it was asked before. Those that it doesn't
    /// have are watched no longer: they would wake it again.
    pub fn changes(&mut self) -> Vec<usize> {
        let mut places = Vec::new();
        for key in self.watch.take() {
            match self.entries.get(key as usize) {
                Some(Some(entry)) if entry.asked.0 == self.request => places.push(entry.asked.1),
                _ => self.remove(key),
            }
        }
        places
    }

    fn remove(&mut self, key: u32) {
        let Some(entry) = self.entries.get_mut(key as usize).and_then(Option::take) else {
            unreachable!("no partition is {key} of {}", self.entries.len())
        };
        self.watch.remove(key);
        let Some(keys) = self.keys.get_mut(&entry.topic) else { unreachable!("no partition of {:?}", entry.topic) };
        keys.iter_mut().skip(entry.number).take(1).for_each(|known| *known = None);
        if keys.iter().all(Option::is_none) {
            self.keys.remove(&entry.topic);
        }
    }
}

/// Puts an item at its place, which is free.
fn put<T>(items: &mut Vec<Option<T>>, place: usize, item: T) {
    if items.len() <= place {
        items.resize_with(place + 1, || None);
    }
    match items.get_mut(place) {
        Some(free @ None) => *free = Some(item),
        _ => unreachable!("place {place} of {} is taken", items.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_has_room_and_is_for_one_caller() {
        let (kept, watching) = (Kept::default(), Arc::new(Semaphore::new(100)));
        let (one, other) = (Caller::unknown(), Caller::unknown());
        kept.keep(kept.take(&one), &watching, 70);
        assert_eq!(watching.available_permits(), 30);
        let mut watched = kept.take(&one);
        assert_eq!(watched.request, 2, "the same as before");
        assert!(watched.find_room(&watching, 60) && watched.find_room(&watching, 90));
        assert_eq!(watching.available_permits(), 10, "room for the largest request so far");
        assert!(!watched.find_room(&watching, 101));
        kept.keep(watched, &watching, 101);
        assert_eq!((kept.take(&one).request, watching.available_permits()), (1, 100), "without room it isn't kept");

        kept.keep(kept.take(&one), &watching, 70);
        let others = kept.take(&other);
        assert!(others.is_for(&other) && !others.is_for(&one));
        assert_eq!((others.request, watching.available_permits()), (1, 100));
    }
}
