//! When a writer puts objects in a store that is slow, busy or full.

use super::*;
use crate::limits::Limits;

const PARTITION: PartitionId = PartitionId { topic: 1, number: 0 };

fn create(name: &str) -> Control {
    Control::Create { topic: 0, name: name.into(), partitions: 1, settings: [].into() }
}

fn append(ticket: u8) -> Append<u8> {
    let content = Content { records: 1, crc32c: 0 };
    let size = Size { batches: 1, bytes: 10 };
    Append { ticket, partition: PARTITION, content, size, producer: None, is_transactional: false }
}

/// A writer on an empty store, and its requests.
struct Driven {
    writer: Writer<u8>,
    actions: Vec<Action<u8>>,
    now: Duration,
}

impl Driven {
    fn new(in_flight_max: usize) -> Driven {
        let limits =
            Limits { batch_wait: Duration::ZERO, in_flight_max, give_up_after: Duration::ZERO, ..Limits::default() };
        let mut actions = Vec::new();
        let writer = Writer::new(limits, 7, &mut actions);
        let mut driven = Driven { writer, actions, now: Duration::ZERO };
        driven.on(Event::Snapshot { state: None, date: 0 });
        driven.on(Event::Read { number: 1, result: ReadResult::Missing { date: 0 } });
        driven.on(Event::Change { ticket: 0, control: create("t") });
        let (link, ..) = driven.put();
        driven.on(Event::Put { id: link.id, result: PutResult::Created { date: 0 } });
        assert_eq!(driven.outcomes(), [(0, Outcome::Changed { id: 1 })]);
        driven
    }

    fn on(&mut self, event: Event<u8>) {
        self.actions.clear();
        self.now += Duration::from_millis(1);
        self.writer.on(self.now, event, &mut self.actions);
    }

    /// The objects that are put now: their places, and how many changes and appends they have.
    fn puts(&self) -> Vec<(Link, usize, usize)> {
        let put = |action: &Action<u8>| match action {
            Action::Put { link, changes, .. } => Some((*link, changes.controls.len(), changes.entries.len())),
            _ => None,
        };
        self.actions.iter().filter_map(put).collect()
    }

    fn put(&self) -> (Link, usize, usize) {
        let puts = self.puts();
        assert_eq!(puts.len(), 1, "{puts:?}");
        puts[0]
    }

    fn outcomes(&self) -> Vec<(u8, Outcome)> {
        let outcome = |action: &Action<u8>| match action {
            Action::Answer { ticket, outcome } => Some((*ticket, *outcome)),
            _ => None,
        };
        self.actions.iter().filter_map(outcome).collect()
    }
}

#[test]
fn what_the_store_does_not_take_is_answered_at_once_and_takes_no_number() {
    let mut driven = Driven::new(1);
    driven.on(Event::Append(append(1)));
    let (link, ..) = driven.put();
    driven.on(Event::Put { id: link.id, result: PutResult::NotStored });
    assert_eq!((driven.outcomes(), driven.puts()), (vec![(1, Outcome::NotStored)], vec![]));
    driven.on(Event::Append(append(2)));
    let (next, ..) = driven.put();
    assert_eq!((next.number, next.prev), (link.number, link.prev));
    driven.on(Event::Put { id: next.id, result: PutResult::Created { date: 0 } });
    let stored = Outcome::Stored(Answer { first_offset: 0, is_duplicate: false });
    assert_eq!(driven.outcomes(), [(2, stored)]);
}

#[test]
fn what_follows_an_object_that_was_not_taken_is_not_stored_either() {
    let mut driven = Driven::new(2);
    driven.on(Event::Append(append(1)));
    let (first, ..) = driven.put();
    driven.on(Event::Append(append(2)));
    let (second, ..) = driven.put();
    driven.on(Event::Put { id: first.id, result: PutResult::NotStored });
    let outcomes = driven.outcomes();
    assert!(outcomes.contains(&(1, Outcome::NotStored)) && outcomes.contains(&(2, Outcome::NotStored)), "{outcomes:?}");
    driven.on(Event::Append(append(3)));
    assert_eq!(driven.puts(), [], "the second may still arrive");
    driven.on(Event::Put { id: second.id, result: PutResult::Unknown });
    driven.on(Event::Read { number: first.number, result: ReadResult::Missing { date: 0 } });
    assert_eq!(driven.put().0.number, first.number);
}

/// An object of both would be refused because of the appends, again and again, and with it the change that frees space.
#[test]
fn changes_are_put_alone_until_the_store_takes_appends_again() {
    let created = PutResult::Created { date: 0 };
    let mut driven = Driven::new(1);
    driven.on(Event::Append(append(1)));
    driven.writer.enqueue(append(2));
    driven.writer.enqueue_change(3, create("u"));
    driven.writer.enqueue_change(4, Control::Alter { topic: 1, partitions: 1, settings: [1].into() });
    let mut put = |result, expected, outcome| {
        let (link, changes, appends) = driven.put();
        assert_eq!((changes, appends), expected);
        driven.on(Event::Put { id: link.id, result });
        assert_eq!(driven.outcomes(), [outcome]);
    };
    put(PutResult::NotStored, (0, 1), (1, Outcome::NotStored));
    put(PutResult::NotStored, (1, 0), (3, Outcome::NotStored));
    put(created, (1, 0), (4, Outcome::Changed { id: 1 }));
    put(PutResult::NotStored, (0, 1), (2, Outcome::NotStored));

    let mut both = |first: u8| {
        driven.writer.enqueue(append(first));
        driven.on(Event::Change { ticket: first + 1, control: create(&first.to_string()) });
        let (link, changes, appends) = driven.put();
        driven.on(Event::Put { id: link.id, result: created });
        (changes, appends)
    };
    assert_eq!(both(5), (1, 0), "nothing shows that there is room for appends");
    let (link, changes, appends) = driven.put();
    assert_eq!((changes, appends), (0, 1));
    driven.on(Event::Put { id: link.id, result: created });
    driven.writer.enqueue(append(7));
    driven.on(Event::Change { ticket: 8, control: create("x") });
    let (_, changes, appends) = driven.put();
    assert_eq!((changes, appends), (1, 1), "together again");
}

/// A busy store refuses every other request for a while. One that is down gets few of them.
#[test]
fn the_pauses_before_retries_grow_with_the_time_since_the_first_failure() {
    let mut driven = Driven::new(1);
    driven.writer.limits.give_up_after = Duration::from_secs(10);
    driven.on(Event::Append(append(1)));
    let (link, ..) = driven.put();
    let (mut pauses, began) = (Vec::new(), driven.now);
    while driven.now < began + Duration::from_secs(2) {
        driven.on(Event::Put { id: link.id, result: PutResult::Unknown });
        let retry_at = driven.writer.wake_at().unwrap();
        pauses.push((retry_at - driven.now).as_millis());
        driven.now = retry_at;
        driven.on(Event::Tick);
        assert_eq!(driven.put().0, link, "the same object");
    }
    assert!(pauses.is_sorted() && pauses.len() < 30, "{pauses:?}");
    assert_eq!((pauses.first(), pauses.last()), (Some(&25), Some(&200)), "{pauses:?}");
}

const WAIT: Duration = Duration::from_millis(100);

impl Driven {
    /// Reports appends of `bytes` bytes that arrive in every millisecond until the next PUT. Returns its place, and how
    /// long it took.
    fn until_put(&mut self, bytes: u64) -> (Link, Duration) {
        let began = self.now;
        loop {
            let mut more = append(1);
            more.size.bytes = bytes;
            self.on(Event::Append(more));
            match self.puts()[..] {
                [] => {}
                [(link, ..)] => return (link, self.now - began),
                ref puts => panic!("{puts:?}"),
            }
        }
    }
}

/// They would be confirmed no earlier than the first one.
#[test]
fn small_objects_begin_less_often_while_others_are_in_flight() {
    let mut driven = Driven::new(8);
    driven.writer.limits.batch_wait = WAIT;
    let (first, _) = driven.until_put(10);
    let mut links = vec![first];
    for count in 1..8 {
        let (link, took) = driven.until_put(10);
        assert_eq!(took, WAIT * count, "with {count} in flight");
        links.push(link);
        assert_eq!(driven.writer.take_spared(), count - 1, "the others that might have begun");
    }
    driven.now += 5 * WAIT;
    for link in &links[..6] {
        driven.on(Event::Put { id: link.id, result: PutResult::Created { date: 0 } });
    }
    driven.on(Event::Append(append(2)));
    driven.put();
    let (_, took) = driven.until_put(10);
    assert_eq!(took, 3 * WAIT, "three in flight");
}

#[test]
fn a_put_is_spared_only_where_requests_wait_for_it() {
    let mut driven = Driven::new(8);
    driven.writer.limits.batch_wait = WAIT;
    for _ in 0..2 {
        driven.until_put(10);
    }
    driven.now += WAIT + WAIT / 2;
    driven.until_put(10);
    assert_eq!(driven.writer.take_spared(), 0, "the first request came late");
    driven.now += 10 * WAIT;
    driven.on(Event::Append(append(2)));
    assert_eq!((driven.puts().len(), driven.writer.take_spared()), (1, 0), "none waited");
}

/// Fewer of them would be larger, and the bytes decide how long they take.
#[test]
fn large_objects_begin_as_often_as_alone() {
    let mut driven = Driven::new(8);
    driven.writer.limits.batch_wait = WAIT;
    let bytes = driven.writer.limits.object_bytes / 8 / 99;
    driven.until_put(bytes);
    for count in 1..8 {
        assert_eq!(driven.until_put(bytes).1, WAIT, "with {count} in flight");
    }
    assert_eq!(driven.writer.take_spared(), 0);
}

/// This is what requests cost at most.
#[test]
fn puts_and_those_that_were_spared_are_at_most_one_for_each_batch_wait() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut driven = Driven::new(8);
    driven.writer.limits.batch_wait = WAIT;
    let (began, mut in_flight) = (driven.now, Vec::new());
    let (mut put, mut spared) = (0, 0);
    for _ in 0..100_000 {
        match random.u8(..) {
            0..2 if !in_flight.is_empty() => {
                let link: Link = in_flight.swap_remove(random.usize(..in_flight.len()));
                driven.on(Event::Put { id: link.id, result: PutResult::Created { date: 0 } });
            }
            2..30 => driven.on(Event::Append(append(1))),
            _ => driven.on(Event::Tick),
        }
        in_flight.extend(driven.puts().iter().map(|(link, ..)| *link));
        put += driven.puts().len() as u32;
        spared += driven.writer.take_spared();
        assert!(WAIT * (put + spared) <= driven.now - began + WAIT, "{put} and {spared}");
    }
    assert!(put > 100 && spared > 100, "{put} and {spared}");
}
