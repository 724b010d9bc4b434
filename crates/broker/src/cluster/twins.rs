//! Brokers that have this one's address: those that were there before it, and have ended, and those that run. A card of
//! one that runs is stored again and again. No I/O, no clock.

use super::addresses::replaces;
use super::{BrokerId, Card};
use crate::limits::{HEARTBEAT_INTERVAL, LEASE};
use std::collections::BTreeMap;
use std::time::Duration;

/// A card counts as stored after this broker began if it was stored so long after it: the store counts whole seconds,
/// and a request of a process that has ended may still be in flight.
const AFTER: Duration = Duration::from_secs(2);

/// Two times at which a card was stored differ by at least this much: as measured, that of one may vary by two seconds.
const APART: Duration = Duration::from_secs(3);

/// A broker whose card is older than this has ended, as far as a broker that starts needs to know: it has missed two
/// heartbeats.
const ENDED_AFTER: Duration = HEARTBEAT_INTERVAL.saturating_mul(2).saturating_add(Duration::from_secs(1));

struct Twin {
    card: Card,
    /// How long after this broker began its card was stored, at first and most recently; `None` before that.
    first: Option<Duration>,
    lived: Duration,
    runs: bool,
}

/// Their known state. Times are those of [`super::members::Members`], with a fixed `start` of this broker.
pub(super) struct Twins {
    start: Duration,
    all: BTreeMap<BrokerId, Twin>,
}

impl Twins {
    pub fn new(start: Duration) -> Twins {
        Twins { start, all: BTreeMap::new() }
    }

    /// A card with this broker's address was stored at this time. Returns whether it is certain from now on that its
    /// broker runs.
    pub fn heard(&mut self, card: &Card, lived: Duration) -> bool {
        let new = || Twin { card: card.clone(), first: None, lived, runs: false };
        let twin = self.all.entry(card.id).or_insert_with(new);
        let did_run = twin.runs;
        // One that runs is not silent for so long: these may have been requests of a process that has ended.
        if lived >= twin.lived + LEASE {
            (twin.first, twin.runs) = (None, false);
        }
        twin.card = card.clone();
        twin.lived = twin.lived.max(lived);
        if lived > self.start + AFTER {
            let first = *twin.first.get_or_insert(lived);
            twin.runs |= lived >= first + APART;
        }
        twin.runs && !did_run
    }

    pub fn gone(&mut self, id: BrokerId) {
        self.all.remove(&id);
    }

    pub fn ids(&self) -> impl Iterator<Item = BrokerId> {
        self.all.keys().copied()
    }

    /// The card of one that runs.
    pub fn running(&self, now: Duration) -> Option<&Card> {
        let is_running = |twin: &&Twin| twin.runs && now.saturating_sub(twin.lived) < LEASE;
        self.all.values().find(is_running).map(|twin| &twin.card)
    }

    /// The id of one that may run, as far as a broker that starts knows.
    pub fn suspect(&self, me: &Card, now: Duration) -> Option<BrokerId> {
        let may_run = |twin: &&Twin| !replaces(me, &twin.card) && now.saturating_sub(twin.lived) < ENDED_AFTER;
        self.all.values().find(may_run).map(|twin| twin.card.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(1000);

    fn s(seconds: u64) -> Duration {
        START + Duration::from_secs(seconds)
    }

    fn card(listen: &str) -> Card {
        Card { listen: Some(listen.to_owned()), ..Card::new(BrokerId(1)) }
    }

    #[test]
    fn a_broker_whose_card_is_stored_again_and_again_runs_until_it_is_silent() {
        let mut twins = Twins::new(START);
        assert!(!twins.heard(&card("a"), START - Duration::from_secs(5)), "it was there before");
        assert!(!twins.heard(&card("a"), s(1)), "its last request may have arrived late");
        assert!(!twins.heard(&card("a"), s(3)) && !twins.heard(&card("a"), s(5)), "once, as measured twice");
        assert!(twins.running(s(6)).is_none());
        assert!(twins.heard(&card("a"), s(6)) && !twins.heard(&card("a"), s(9)), "reported once");
        assert!(twins.running(s(18)).is_some() && twins.running(s(19)).is_none());
        twins.gone(BrokerId(1));
        assert!(twins.running(s(9)).is_none() && twins.ids().count() == 0);
    }

    /// Each of its requests was in flight for long.
    #[test]
    fn a_broker_that_has_ended_does_not_run_because_its_card_is_stored_now_and_then() {
        let mut twins = Twins::new(START);
        for late in [9, 57, 70] {
            assert!(!twins.heard(&card("a"), s(late)), "{late} s");
            assert!(twins.running(s(late)).is_none());
        }
        assert!(twins.heard(&card("a"), s(73)) && twins.running(s(73)).is_some(), "another follows soon");
        assert!(!twins.heard(&card("a"), s(90)) && twins.running(s(90)).is_none(), "it was silent, and has ended");
    }

    #[test]
    fn a_broker_that_starts_waits_for_one_elsewhere_with_its_address_and_not_for_the_one_that_it_replaces() {
        let mut twins = Twins::new(START);
        twins.heard(&card("a"), START - Duration::from_secs(1));
        let me = |listen| Card { id: BrokerId(2), ..card(listen) };
        assert_eq!(twins.suspect(&me("a"), START), None, "the port is this broker's now");
        assert_eq!(twins.suspect(&me("b"), START), Some(BrokerId(1)));
        assert_eq!(twins.suspect(&me("b"), s(6)), None, "it has ended");
    }
}
