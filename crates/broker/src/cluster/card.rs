//! A broker's card for the others on its storage: the content of `.brokers/ID.json`.

use super::{BrokerId, Fingerprint, PublicKey};
use serde::{Deserialize, Serialize};

/// A host, by its name or address, and a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// A broker as the others know it. Nothing in it is a secret: everyone who can read the storage can read it. Versions
/// that come later may add members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The broker.
    pub id: BrokerId,
    /// Where others reach it, such as `http://10.0.0.7:51313`. Without an address it appends only for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Where Kafka's clients reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kafka: Option<Endpoint>,
    /// The key by which others authenticate this broker. A broker without one sends no requests to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_key: Option<PublicKey>,
    /// The certificates that it presents, if its address begins with `https`: one, or two while it changes them. Others
    /// accept no other one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub certificates: Vec<Fingerprint>,
    /// Names its machine: brokers with the same name reach each other at loopback addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Where it listens on that machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// The zone that it runs in: clients in the zone read from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Whether it stores nothing.
    #[serde(default)]
    pub is_read_only: bool,
    /// Whether it is about to stop.
    #[serde(default)]
    pub is_leaving: bool,
    /// The number of the journal object that it would read next, in the first journal.
    #[serde(default)]
    pub next_object: u64,
    /// The same in the storage's other journals, by number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_objects: Vec<u64>,
    /// The journals that it owns, of a storage with several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owns: Vec<u32>,
    /// How often these have changed: of two cards, that with more changes is the newer one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub owns_changes: u64,
    /// Its version.
    #[serde(default)]
    pub version: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Card {
    /// The card of a broker that no other reaches.
    pub(crate) fn new(id: BrokerId) -> Card {
        Card {
            id,
            url: None,
            kafka: None,
            public_key: None,
            certificates: Vec::new(),
            machine: None,
            listen: None,
            zone: None,
            is_read_only: false,
            is_leaving: false,
            next_object: 1,
            next_objects: Vec::new(),
            owns: Vec::new(),
            owns_changes: 0,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// Whether it can append for others.
    pub fn can_own(&self) -> bool {
        self.url.is_some() && !self.is_read_only && !self.is_leaving
    }

    /// The numbers of the objects that it would read next, by journal.
    pub fn next_objects(&self) -> impl Iterator<Item = u64> {
        [self.next_object].into_iter().chain(self.next_objects.iter().copied())
    }

    /// Changes these.
    pub(crate) fn set_next_objects(&mut self, next: impl IntoIterator<Item = u64>) {
        let mut next = next.into_iter();
        self.next_object = next.next().unwrap_or(self.next_object);
        self.next_objects = next.collect();
    }

    /// What this card says takes the place of an older one's, or of a newer one's that was read before: some of it is
    /// never taken back.
    pub(crate) fn after(self, before: &Card) -> Card {
        let newest = if self.owns_changes < before.owns_changes { before } else { &self };
        let (owns, owns_changes) = (newest.owns.clone(), newest.owns_changes);
        let one = |journal: usize| {
            let of = |card: &Card| card.next_objects.get(journal).copied().unwrap_or_default();
            of(&self).max(of(before))
        };
        Card {
            public_key: before.public_key.or(self.public_key),
            is_leaving: before.is_leaving || self.is_leaving,
            next_object: before.next_object.max(self.next_object),
            next_objects: (0..self.next_objects.len().max(before.next_objects.len())).map(one).collect(),
            owns,
            owns_changes,
            ..self
        }
    }

    /// The bytes of a card.
    pub fn encode(&self) -> Vec<u8> {
        match serde_json::to_vec(self) {
            Ok(bytes) => bytes,
            Err(error) => unreachable!("{self:?} has no JSON: {error}"),
        }
    }

    /// The card in these bytes.
    pub fn decode(bytes: &[u8]) -> Result<Card, serde_json::Error> {
        serde_json::from_slice(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_read_as_it_was_written_also_with_members_of_a_later_version() {
        let card = Card {
            id: BrokerId(0xAB),
            url: Some("http://127.0.0.1:1".into()),
            kafka: Some(Endpoint { host: "::1".into(), port: 9092 }),
            public_key: Some(PublicKey([9; 32])),
            certificates: vec![Fingerprint([7; 32])],
            machine: Some("m".into()),
            listen: Some("0.0.0.0:1".into()),
            zone: Some("z".into()),
            is_read_only: false,
            is_leaving: true,
            next_object: 7,
            next_objects: vec![],
            owns: vec![],
            owns_changes: 0,
            version: "1".into(),
        };
        assert_eq!(Card::decode(&card.encode()).unwrap(), card);
        // A storage with one journal needs no list of them.
        assert!(!String::from_utf8(card.encode()).unwrap().contains("owns"));
        let several = Card { next_objects: vec![8, 1], owns: vec![0, 2], owns_changes: 3, ..card.clone() };
        assert_eq!(Card::decode(&several.encode()).unwrap(), several);
        assert_eq!(several.next_objects().collect::<Vec<_>>(), [7, 8, 1]);
        let later = br#"{"id":"00000000000000ab","color":"blue"}"#;
        assert_eq!(Card::decode(later).unwrap().id, card.id);
        let key = br#"{"id":"00000000000000ab","public_key":"09"}"#;
        for wrong in [&b"{}"[..], br#"{"id":"ab"}"#, br#"{"id":"+0000000000000ab"}"#, key] {
            assert!(Card::decode(wrong).is_err());
        }
    }

    #[test]
    fn a_card_that_was_read_late_takes_nothing_back() {
        let card = Card::new(BrokerId(1));
        let newer = Card { next_object: 5, next_objects: vec![1, 9], owns: vec![1], owns_changes: 2, ..card.clone() };
        let older = Card { next_object: 4, next_objects: vec![2], owns: vec![0, 1], owns_changes: 1, ..card.clone() };
        let seen = older.clone().after(&newer);
        assert_eq!(seen, Card { next_objects: vec![2, 9], ..newer.clone() });
        assert_eq!(newer.clone().after(&older), seen);
        let of_key = |byte| Card { public_key: Some(PublicKey([byte; 32])), ..card.clone() };
        assert_eq!(of_key(2).after(&of_key(1)).public_key, of_key(1).public_key, "a run has one key");
        assert_eq!(of_key(2).after(&card).public_key, of_key(2).public_key);
        let leaving = Card { is_leaving: true, ..newer.clone() };
        assert!(newer.after(&leaving).is_leaving);
    }
}
