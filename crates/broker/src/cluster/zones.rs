//! Which of a zone's brokers serves the readers of a partition. No I/O, no clock: brokers with the same view choose the
//! same one, so that a zone reads a partition from the bucket once.

use super::{Brokers, Card};
use rawline_journal::{hash_of, mix};

impl Brokers {
    /// The broker that serves the readers of a partition in a zone: of the live ones there that clients can connect to,
    /// the one with the highest score. When a broker joins or leaves the zone, only its partitions move.
    pub fn reader(
        &self,
        zone: &str,
        topic: &str,
        partition: u32,
        is_reachable: impl Fn(&Card) -> bool,
    ) -> Option<&Card> {
        let is_there = |card: &&Card| card.zone.as_deref() == Some(zone) && !card.is_leaving && is_reachable(card);
        self.live().filter(is_there).max_by_key(|card| (score(card, topic, partition), card.id))
    }
}

/// A broker's claim to a partition (rendezvous hashing). By its address and not by its id, so that a broker that is
/// restarted serves what its cache has.
fn score(card: &Card, topic: &str, partition: u32) -> u64 {
    let broker = card.url.as_deref().map_or(card.id.0, hash_of);
    mix(broker ^ mix(hash_of(topic).wrapping_add(u64::from(partition))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{BrokerId, Member, MemberState};
    use std::collections::BTreeSet;
    use std::time::Duration;

    fn card(id: u64, zone: &str) -> Card {
        Card { url: Some(format!("http://b{id}")), zone: Some(zone.to_owned()), ..Card::new(BrokerId(id)) }
    }

    fn brokers(cards: Vec<Card>) -> Brokers {
        let member = |card| Member { card, state: MemberState::Live, silent_for: Duration::ZERO };
        Brokers { me: BrokerId(1), members: cards.into_iter().map(member).collect(), owners: Vec::new() }
    }

    fn readers(brokers: &Brokers, zone: &str) -> Vec<Option<String>> {
        let reader = |partition| brokers.reader(zone, "t", partition, |_| true).and_then(|card| card.url.clone());
        (0..300).map(reader).collect()
    }

    #[test]
    fn partitions_are_spread_over_the_brokers_of_the_zone_alone() {
        let found = readers(&brokers(vec![card(1, "a"), card(2, "b"), card(3, "b"), card(4, "b")]), "b");
        let share = |url: &str| found.iter().filter(|reader| reader.as_deref() == Some(url)).count();
        let shares = ["http://b2", "http://b3", "http://b4"].map(share);
        assert!(
            shares.iter().all(|share| (70..=130).contains(share)) && shares.iter().sum::<usize>() == 300,
            "{shares:?}"
        );
        assert_eq!(readers(&brokers(vec![card(1, "a")]), "b"), vec![None; 300]);
    }

    #[test]
    fn only_the_partitions_of_a_broker_that_leaves_move_and_they_return_with_its_address() {
        let all = brokers(vec![card(2, "b"), card(3, "b"), card(4, "b")]);
        let before = readers(&all, "b");
        let left = brokers(vec![card(2, "b"), Card { is_leaving: true, ..card(3, "b") }, card(4, "b")]);
        let moved: BTreeSet<_> =
            before.iter().zip(readers(&left, "b")).filter(|(a, b)| *a != b).map(|(a, _)| a).collect();
        assert_eq!(moved, BTreeSet::from([&Some("http://b3".to_owned())]));
        let again = brokers(vec![card(2, "b"), card(4, "b"), Card { id: BrokerId(9), ..card(3, "b") }]);
        assert_eq!(readers(&again, "b"), before);
        // Some can't be connected to.
        let reader = all.reader("b", "t", 0, |card| card.id == BrokerId(4));
        assert_eq!(reader.map(|card| card.id), Some(BrokerId(4)));
    }

    /// Brokers of different versions, and builds, choose the same one.
    #[test]
    fn a_partition_never_changes_its_reader() {
        let brokers = brokers(vec![card(2, "b"), card(3, "b"), card(4, "b")]);
        let reader = |topic, partition| brokers.reader("b", topic, partition, |_| true).map_or(0, |card| card.id.0);
        let found = ["events", "t", "ü"].map(|topic| [0, 1, 2, 1023].map(|partition| reader(topic, partition)));
        assert_eq!(found, [[3, 2, 4, 4], [3, 4, 3, 3], [3, 3, 3, 2]]);
    }
}
