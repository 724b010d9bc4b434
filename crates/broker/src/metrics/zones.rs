//! Bytes that the clients of a broker send and receive, by whether they cross zones.

use super::families;
use super::kinds::Counter;
use super::text::Text;

/// Whether a connection crosses zones, as far as its client says where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Crossing {
    /// The client names no zone, or the broker has none.
    Unknown,
    /// The client is in the broker's zone.
    Same,
    /// The client is in another zone.
    Other,
}

/// All of them, by number.
const ALL: [(Crossing, &str); 3] =
    [(Crossing::Unknown, "unknown"), (Crossing::Same, "same"), (Crossing::Other, "other")];

impl Crossing {
    /// Of a client in a zone, and a broker in a zone.
    pub fn between(client: &[u8], broker: Option<&str>) -> Crossing {
        match broker {
            Some(broker) if broker.as_bytes() == client => Crossing::Same,
            Some(_) if !client.is_empty() => Crossing::Other,
            _ => Crossing::Unknown,
        }
    }

    /// That with this number.
    pub fn numbered(number: u8) -> Crossing {
        let Some((crossing, _)) = ALL.get(usize::from(number)) else { unreachable!("{number} is no crossing") };
        *crossing
    }
}

/// Bytes by crossing.
pub struct ZoneMetrics {
    sent: [Counter; 3],
    received: [Counter; 3],
}

impl ZoneMetrics {
    pub(super) const fn new() -> Self {
        ZoneMetrics { sent: [const { Counter::new() }; 3], received: [const { Counter::new() }; 3] }
    }

    /// Bytes were sent to a client.
    pub fn sent(&self, crossing: Crossing, bytes: u64) {
        add(&self.sent, crossing, bytes);
    }

    /// Bytes were received from a client.
    pub fn received(&self, crossing: Crossing, bytes: u64) {
        add(&self.received, crossing, bytes);
    }

    pub(super) fn render(&self, text: &mut Text) {
        let ZoneMetrics { sent, received } = self;
        let series = |counters: &[Counter; 3]| {
            let counts = counters.each_ref().map(Counter::get);
            ALL.into_iter().zip(counts).map(|((_, zone), count)| ([zone], count))
        };
        text.counters(&families::ZONE_SENT, series(sent));
        text.counters(&families::ZONE_RECEIVED, series(received));
    }
}

fn add(counters: &[Counter; 3], crossing: Crossing, bytes: u64) {
    match counters.get(crossing as usize) {
        Some(counter) => counter.add(bytes),
        None => unreachable!("{crossing:?} has no counter"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_crosses_zones_if_both_sides_have_different_ones() {
        let between = |client: &str, broker| Crossing::between(client.as_bytes(), broker);
        assert_eq!([between("a", Some("a")), between("b", Some("a"))], [Crossing::Same, Crossing::Other]);
        assert_eq!([between("", Some("a")), between("a", None)], [Crossing::Unknown; 2]);
        assert!(ALL.iter().all(|(crossing, _)| Crossing::numbered(*crossing as u8) == *crossing));
    }
}
