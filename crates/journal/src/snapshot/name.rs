//! The names of a snapshot's root and of its parts, as keys in a bucket and as files.

use std::fmt;

/// The root of a snapshot, or a part of it.
///
/// A part's name has its checksum: whatever creates parts of one snapshot, now or in a later version, a root's parts
/// are those that it was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnapshotName {
    /// Number of the journal object after those that the snapshot covers.
    pub next_number: u64,
    /// The number of the part and its checksum; `None` for the root.
    pub part: Option<(u32, u32)>,
}

impl SnapshotName {
    /// The root of the snapshot before this object.
    pub fn root(next_number: u64) -> SnapshotName {
        SnapshotName { next_number, part: None }
    }

    /// A part of it.
    pub fn part(next_number: u64, number: u32, crc32c: u32) -> SnapshotName {
        SnapshotName { next_number, part: Some((number, crc32c)) }
    }

    /// Whether it is a root.
    pub fn is_root(&self) -> bool {
        self.part.is_none()
    }

    /// Parses a name.
    pub fn parse(name: &str) -> Option<SnapshotName> {
        let (number, rest) = name.split_once('.')?;
        let next_number = number.parse().ok()?;
        let part = match rest.strip_suffix(".rwp") {
            Some(part) => {
                let (number, crc32c) = part.split_once('-')?;
                Some((number.parse().ok()?, u32::from_str_radix(crc32c, 16).ok()?))
            }
            None if rest == "rws" => None,
            None => return None,
        };
        let found = SnapshotName { next_number, part };
        (found.to_string() == name).then_some(found)
    }
}

impl fmt::Display for SnapshotName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SnapshotName { next_number, part } = self;
        match part {
            Some((number, crc32c)) => write!(f, "{next_number:020}.{number:05}-{crc32c:08x}.rwp"),
            None => write!(f, "{next_number:020}.rws"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_as_they_are_written() {
        for (name, text) in [
            (SnapshotName::root(7), "00000000000000000007.rws"),
            (SnapshotName::part(7, 12, 0xab), "00000000000000000007.00012-000000ab.rwp"),
            (SnapshotName::part(u64::MAX, u32::MAX, u32::MAX), "18446744073709551615.4294967295-ffffffff.rwp"),
        ] {
            assert_eq!((name.to_string(), SnapshotName::parse(text)), (text.to_owned(), Some(name)));
        }
        for text in [
            "",
            "7.rws",
            "00000000000000000007",
            "00000000000000000007.rwp",
            "00000000000000000007.rwj",
            "00000000000000000007.00012.rwp",
            "00000000000000000007.12-000000ab.rwp",
            "00000000000000000007.00012-000000AB.rwp",
            "00000000000000000007.00012-+00000ab.rwp",
            "00000000000000000007.00012-000000ab.rws",
        ] {
            assert_eq!(SnapshotName::parse(text), None, "{text}");
        }
    }
}
