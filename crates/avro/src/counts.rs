//! Counts of decoded, dropped and rejected messages of a batch.

/// Maximum number of faults that one call describes in full. The others are only counted.
pub const FAULTS_MAX: usize = 8;

/// Outcomes of the messages of a batch.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Number of messages.
    pub messages: u64,
    /// Messages that became rows.
    pub rows: u64,
    /// Messages dropped because a table of strings or series was full.
    pub dropped: u64,
    /// Messages rejected because their bytes are invalid.
    pub faulty: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.messages += other.messages;
        self.rows += other.rows;
        self.dropped += other.dropped;
        self.faulty += other.faulty;
    }
}
