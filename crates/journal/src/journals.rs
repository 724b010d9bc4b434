//! Several journals in one storage: which of them a name belongs to, and whose topic an id is.
//!
//! Journals are independent of each other. A topic with all of its partitions is in the journal that its name
//! determines, and so are the offsets that a group commits, in whatever topics. Topics' ids are the same nowhere,
//! because each journal has a range of them.

/// Maximum number of journals in a storage.
pub const JOURNALS_MAX: u32 = 64;

/// Number of the ids that a journal can give to topics.
const TOPIC_IDS: u64 = 1 << 40;

/// The journal, among `journals`, to which a topic or a group with this name belongs. It never changes, because its
/// records are in no other journal.
pub fn journal_of(name: &str, journals: u32) -> u32 {
    assert!((1..=JOURNALS_MAX).contains(&journals), "{journals} journals");
    if journals == 1 {
        return 0;
    }
    (hash_of(name) % u64::from(journals)) as u32
}

/// A name's hash, the same at every broker. FNV-1a of 64 bits, whose low bits say little of the last characters, mixed.
pub fn hash_of(name: &str) -> u64 {
    mix(name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)))
}

/// The finalizer of splitmix64: every bit of the input changes half of the output's. Brokers and names are spread with
/// it, so it never changes.
pub fn mix(bits: u64) -> u64 {
    let mixed = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// The id of the first topic that a journal has.
pub(crate) fn first_topic(journal: u32) -> u64 {
    u64::from(journal) * TOPIC_IDS + 1
}

/// The journal that has given an id to a topic.
pub fn journal_of_topic(id: u64) -> u32 {
    (id / TOPIC_IDS) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_changes_its_journal() {
        let of = |name| [1, 2, 3, 64].map(|journals| journal_of(name, journals));
        assert_eq!(["events", "t", "a.b-c"].map(of), [[0, 1, 2, 17], [0, 0, 2, 58], [0, 1, 0, 5]]);
    }

    #[test]
    fn names_are_spread_over_the_journals_also_if_they_differ_in_the_last_character_only() {
        for journals in [2, 3, 8, 64] {
            let mut counts = vec![0_u32; journals as usize];
            (0..6400).for_each(|n| counts[journal_of(&format!("orders-{n:04}"), journals) as usize] += 1);
            let fair = 6400 / journals;
            assert!(counts.iter().all(|count| (fair / 2..fair * 2).contains(count)), "{counts:?}");
            let few: std::collections::BTreeSet<u32> =
                ('a'..='p').map(|end| journal_of(&format!("t-{end}"), journals)).collect();
            assert!(few.len() as u32 > journals.min(16) / 2, "{few:?} of {journals}");
        }
    }

    #[test]
    fn ids_of_topics_say_whose_they_are() {
        assert_eq!(first_topic(0), 1, "the ids of storages with one journal");
        for journal in [0, 1, JOURNALS_MAX - 1] {
            let first = first_topic(journal);
            assert_eq!([first, first + 1, first + TOPIC_IDS - 2].map(journal_of_topic), [journal; 3]);
        }
        // Numbers that programs with 53 bits for them can express.
        assert!(first_topic(JOURNALS_MAX) < 1 << 53);
    }
}
