//! How many messages of a batch were decoded, dropped and refused.

/// Maximum number of faults that one call describes in full. The others are only counted.
pub const FAULTS_MAX: usize = 8;

/// What happened to the messages of a batch.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Messages given.
    pub messages: u64,
    /// Of these, rows written.
    pub rows: u64,
    /// Of these, dropped because a table of strings or series had no room.
    pub dropped: u64,
    /// Of these, refused because their bytes are wrong.
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
