//! A topic's id: unique in this storage and in all others, and different from that of a deleted topic with the same
//! name.

use std::fmt;

/// The id of a topic, 16 bytes in the form of a random UUID.
///
/// It is a member of the settings that the topic was created with, so every broker and version that changes the
/// settings keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicId(u128);

impl TopicId {
    /// The id of a topic that the broker run `run`, a random number, creates as its `number`th, by any count.
    pub fn new(run: u64, number: u64) -> TopicId {
        TopicId::formed(u128::from(run) << 64 | u128::from(number))
    }

    /// The id of a topic that was created without one.
    /// `in_journal` is the journal's number for it, or 0. Another storage may have a topic with the same id.
    pub fn derived(in_journal: u64, name: &str) -> TopicId {
        // FNV-1a. Colliding names aren't an attack: a client that may create topics can use the existing ones.
        let bytes = in_journal.to_be_bytes().into_iter().chain(name.bytes());
        TopicId::formed(bytes.fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, byte| {
            (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
        }))
    }

    /// As it is stored: 32 hex digits.
    pub fn parse(stored: &str) -> Option<TopicId> {
        let is_hex = stored.len() == 32 && stored.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hex { u128::from_str_radix(stored, 16).ok().map(TopicId) } else { None }
    }

    /// Of the bytes that [`TopicId::to_bytes`] returns, or of any others.
    pub fn from_bytes(bytes: [u8; 16]) -> TopicId {
        TopicId(u128::from_be_bytes(bytes))
    }

    /// Its bytes.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    /// A few of its bits, which tell a topic apart from those that have had its name: two are the same once in 2^32.
    /// Subscribers keep it, so it never changes.
    pub fn short(self) -> u32 {
        // All bits count for the highest of a product.
        (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) >> 96) as u32
    }

    /// A UUID of version 4, so none that is reserved. The highest bit is 0: in base64, as Kafka's tools show it, it
    /// doesn't begin with a dash.
    fn formed(bits: u128) -> TopicId {
        const FIXED: u128 = 1 << 127 | 0xf << 76 | 0b11 << 62;
        TopicId(bits & !FIXED | 4 << 76 | 0b10 << 62)
    }
}

impl fmt::Display for TopicId {
    /// As it is stored.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_the_form_of_random_uuids_and_are_stored_as_text() {
        let made = [TopicId::new(0, 0), TopicId::new(u64::MAX, u64::MAX), TopicId::derived(7, "t")];
        for id in made {
            let bytes = id.to_bytes();
            assert_eq!((bytes[0] >> 7, bytes[6] >> 4, bytes[8] >> 6), (0, 4, 2), "{id:?}");
            assert_eq!(TopicId::parse(&id.to_string()), Some(id));
            assert_eq!(TopicId::from_bytes(bytes), id);
        }
        for text in ["", "1", "+0000000000000000000000000000001", "g0000000000000000000000000000000"] {
            assert_eq!(TopicId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn short_ids_of_topics_that_one_run_creates_one_after_the_other_differ() {
        let short: std::collections::HashSet<u32> = (0..1000).map(|number| TopicId::new(7, number).short()).collect();
        assert_eq!(short.len(), 1000);
    }

    #[test]
    fn derived_ids_never_change() {
        assert_eq!(TopicId::derived(1, "t").to_string(), "494cfa0574034412a6dbb20a5a8c25a2");
        assert_eq!(TopicId::derived(1, "t").short(), 1410624313);
        let others = [(2, "t"), (1, "u"), (0, "t"), (1, ""), (1, "tt")].map(|(id, name)| TopicId::derived(id, name));
        assert!(others.iter().all(|other| *other != TopicId::derived(1, "t")), "{others:?}");
    }
}
