//! Which brokers others can reach at the addresses in their cards: not those that share an address, and at a loopback
//! address those of the same machine only. No I/O, no clock.

use super::Card;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Whether a host, by its name or address, is the machine itself.
fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || address.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback())
}

/// The host in a URL.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let end = rest.rfind(':').filter(|end| rest.rfind(']').is_none_or(|bracket| bracket < *end));
    end.map_or(rest, |end| rest.split_at(end).0)
}

/// Whether a broker's address is one that only its own machine reaches.
pub(super) fn is_local(card: &Card) -> bool {
    card.url.as_deref().is_some_and(|url| is_loopback(host(url)))
}

/// Whether two brokers run on different machines, as far as their cards say so.
pub(super) fn is_elsewhere(one: &Card, other: &Card) -> bool {
    one.machine.as_ref().zip(other.machine.as_ref()).is_some_and(|(one, other)| one != other)
}

/// Whether requests for one broker may reach the other. Of loopback addresses on two machines that isn't so: requests
/// for the other machine's reach this one's own broker, and no other. Loopback addresses for Kafka's clients don't
/// count: containers advertise those of their host.
pub(super) fn is_shared(one: &Card, other: &Card) -> bool {
    let has_same_url = one.url.is_some() && one.url == other.url && !(is_local(one) && is_elsewhere(one, other));
    let kafka = |card: &Card| card.kafka.clone().filter(|kafka| !is_loopback(&kafka.host));
    has_same_url || kafka(one).is_some() && kafka(one) == kafka(other)
}

/// Whether a broker listens where another one listened that must have ended: one process at a time has the port.
pub(super) fn replaces(now: &Card, before: &Card) -> bool {
    now.machine == before.machine && now.listen == before.listen
}

/// Whether the others can send a broker the requests for what it would own. Of brokers with loopback addresses on
/// several machines, at most one can: that with the greatest id, or none if there is one that all reach.
pub(super) fn is_within_reach<'a>(card: &Card, mut others: impl Iterator<Item = &'a Card>) -> bool {
    others.all(|other| {
        let is_passed_over = is_local(card) && is_elsewhere(card, other) && (!is_local(other) || other.id > card.id);
        other.id == card.id || !other.can_own() || !is_passed_over
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{BrokerId, Endpoint};

    fn card(id: u64, url: &str, machine: &str) -> Card {
        let (url, machine) = (Some(url.to_owned()), Some(machine.to_owned()));
        Card { url, machine, ..Card::new(BrokerId(id)) }
    }

    #[test]
    fn loopback_addresses_are_known_by_their_names() {
        for url in ["http://127.0.0.1:1", "https://localhost:1", "http://[::1]:51313", "http://127.9.9.9:80"] {
            assert!(is_local(&card(1, url, "m")), "{url}");
        }
        for url in ["http://10.0.0.7:1", "http://broker:1", "http://[2001:db8::1]:1", "http://localhost.example:1", ""]
        {
            assert!(!is_local(&card(1, url, "m")), "{url}");
        }
        assert!(!is_local(&Card::new(BrokerId(1))));
    }

    #[test]
    fn brokers_share_an_address_if_requests_may_reach_either() {
        let balancer = |id, machine| card(id, "http://balancer:1", machine);
        assert!(is_shared(&balancer(1, "a"), &balancer(2, "b")) && is_shared(&balancer(1, "a"), &balancer(2, "a")));
        assert!(!is_shared(&card(1, "http://a:1", "a"), &card(2, "http://b:1", "b")));
        let local = |id, machine| card(id, "http://127.0.0.1:51313", machine);
        assert!(is_shared(&local(1, "a"), &local(2, "a")) && !is_shared(&local(1, "a"), &local(2, "b")));
        let kafka = |id, url, host: &str| {
            let kafka = Some(Endpoint { host: host.to_owned(), port: 9092 });
            Card { kafka, ..card(id, url, "a") }
        };
        assert!(is_shared(&kafka(1, "http://a:1", "balancer"), &kafka(2, "http://b:1", "balancer")));
        assert!(!is_shared(&kafka(1, "http://a:1", "a"), &kafka(2, "http://b:1", "b")));
        assert!(!is_shared(&Card::new(BrokerId(1)), &Card::new(BrokerId(2))), "no address");
    }

    #[test]
    fn of_brokers_that_do_not_reach_each_other_at_most_one_can_own() {
        let local = |id, machine| card(id, "http://127.0.0.1:51313", machine);
        let reach =
            |cards: &[Card]| -> Vec<bool> { cards.iter().map(|one| is_within_reach(one, cards.iter())).collect() };
        assert_eq!(reach(&[local(1, "a"), local(2, "a")]), [true, true], "one machine");
        assert_eq!(reach(&[local(1, "a"), local(2, "b")]), [false, true]);
        assert_eq!(reach(&[local(3, "a"), local(2, "b"), card(1, "http://c:1", "c")]), [false, false, true]);
        let without = Card { url: None, ..local(2, "b") };
        assert_eq!(reach(&[local(1, "a"), without]), [true, true], "one that can't own");
    }
}
