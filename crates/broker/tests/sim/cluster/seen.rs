//! How often something happened: a world in which nothing goes wrong proves nothing.

use super::log::{Calls, Found, Outcome};
use std::time::Duration;

/// What happened, in numbers.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    pub crashes: usize,
    pub pauses: usize,
    pub stops: usize,
    pub hand_overs: usize,
    pub takeovers: usize,
    pub cuts: usize,
    pub bucket_cuts: usize,
    pub forwards: usize,
    pub unsent_forwards: usize,
    pub lost_forwards: usize,
    /// Objects that lost a race.
    pub void: usize,
    pub stored: usize,
    pub not_stored: usize,
    pub unknown: usize,
    pub reads: usize,
    /// Reads that saw less than earlier ones.
    pub late_reads: usize,
    /// Questions that a broker answered as the owner.
    pub actings: usize,
    /// What groups have seen.
    pub groups: super::groups::Seen,
    /// The longest time that an append with a sequence took, its retries included.
    pub longest_append: Duration,
}

impl Seen {
    pub fn add(&mut self, other: &Seen) {
        for (sum, count) in self.counts_mut().into_iter().zip(other.clone().counts_mut()) {
            *sum += *count;
        }
        self.longest_append = self.longest_append.max(other.longest_append);
    }

    /// Counts what clients saw.
    pub fn of_calls(&mut self, calls: &[Calls]) {
        for calls in calls {
            for append in &calls.appends {
                match append.outcome {
                    Outcome::Stored { .. } => self.stored += 1,
                    Outcome::NotStored => self.not_stored += 1,
                    Outcome::Unknown => self.unknown += 1,
                }
            }
            let mut most = 0;
            for read in &calls.reads {
                match read.found {
                    Found::Records { next_offset, .. } => {
                        self.reads += 1;
                        self.late_reads += usize::from(next_offset < most);
                        most = most.max(next_offset);
                    }
                    Found::OutOfRange => {}
                }
            }
        }
    }

    /// Whether everything that can happen has happened.
    pub fn is_eventful(&self) -> bool {
        self.clone().counts_mut().into_iter().all(|count| *count > 0)
    }

    fn counts_mut(&mut self) -> [&mut usize; 17] {
        [
            &mut self.crashes,
            &mut self.pauses,
            &mut self.stops,
            &mut self.hand_overs,
            &mut self.takeovers,
            &mut self.cuts,
            &mut self.bucket_cuts,
            &mut self.forwards,
            &mut self.unsent_forwards,
            &mut self.lost_forwards,
            &mut self.void,
            &mut self.stored,
            &mut self.not_stored,
            &mut self.unknown,
            &mut self.reads,
            &mut self.late_reads,
            &mut self.actings,
        ]
    }
}
