//! Settings of a directory.

use crate::limits::SEGMENT_BYTES;
use std::fmt;
use std::str::FromStr;

/// Settings of a directory.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// When a commit is confirmed.
    pub durability: Durability,
    /// Length of a segment in bytes, at most `u32::MAX`. A longer object gets its own segment.
    pub segment_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { durability: Durability::default(), segment_bytes: SEGMENT_BYTES }
    }
}

/// When to acknowledge an append to a local directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// After `fdatasync`: acknowledged records survive a power failure.
    #[default]
    Fsync,
    /// After the write into the page cache: acknowledged records survive a crash of the broker, not of the machine.
    PageCache,
}

impl Durability {
    /// Every choice.
    pub const ALL: [Durability; 2] = [Durability::Fsync, Durability::PageCache];

    /// The name by which settings and reports know it.
    pub const fn name(self) -> &'static str {
        match self {
            Durability::Fsync => "fsync",
            Durability::PageCache => "page-cache",
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Durability {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Durability::ALL.into_iter().find(|durability| durability.name() == name);
        found.ok_or_else(|| format!("unknown durability {name:?}; use fsync or page-cache"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for durability in Durability::ALL {
            assert_eq!(durability.to_string().parse(), Ok(durability));
        }
        assert!("Fsync".parse::<Durability>().is_err_and(|error| error.contains("page-cache")));
    }
}
