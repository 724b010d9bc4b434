//! A PUT that is sent on several connections: when its outcome is known.
//!
//! Sending one a second time is safe, because an object is created once. But the request that loses is refused like one
//! that has lost a race against another writer: the id of the object that exists says if it is this one.
//!
//! Another id doesn't say that this object was never stored: it may have been stored, merged and deleted, and a writer
//! that had slept for as long may have used its number once more. The outcome is unknown then, and the next try of the
//! PUT, which is one request, shows that the number is taken.

use crate::writer::PutResult;

/// The requests of one PUT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hedge {
    /// Number of requests in flight.
    in_flight: u8,
    /// Whether the outcome of a request that has ended is unknown.
    is_unclear: bool,
    /// Whether the object that exists is being read.
    is_reading: bool,
}

/// What to do after a request has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Wait: something else is in flight.
    Wait,
    /// Another request of this PUT may have stored the object: read the id of the one that exists.
    ReadId,
    /// The PUT has ended. Requests in flight have no effect any more that matters.
    Ended(PutResult),
}

/// Which object exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundId {
    /// This one.
    Own {
        /// The store's time in seconds when it was stored.
        created: u64,
        /// The store's time in seconds.
        date: u64,
    },
    /// Another writer's.
    Other,
    /// The read failed, or found nothing.
    Unknown,
}

impl Default for Hedge {
    fn default() -> Self {
        Hedge::new()
    }
}

impl Hedge {
    /// A PUT with one request.
    pub fn new() -> Hedge {
        Hedge { in_flight: 1, is_unclear: false, is_reading: false }
    }

    /// The PUT was sent once more.
    pub fn sent(&mut self) {
        assert!(self.in_flight > 0, "a PUT that has ended was sent again: {self:?}");
        self.in_flight += 1;
    }

    /// A request has ended.
    pub fn ended(&mut self, result: PutResult) -> Next {
        assert!(self.in_flight > 0, "more requests have ended than were sent: {result:?}");
        self.in_flight -= 1;
        match result {
            PutResult::Created { .. } | PutResult::Found { .. } => Next::Ended(result),
            // Each of the requests was refused, so none has stored the object.
            PutResult::Exists if self.in_flight == 0 && !self.is_unclear => Next::Ended(result),
            PutResult::Exists if self.is_reading => Next::Wait,
            PutResult::Exists => {
                self.is_reading = true;
                Next::ReadId
            }
            PutResult::Unknown => {
                self.is_unclear = true;
                self.wait_or(result)
            }
            PutResult::NotStored => self.wait_or(if self.is_unclear { PutResult::Unknown } else { result }),
        }
    }

    /// The read of the id has ended.
    pub fn read(&mut self, found: FoundId) -> Next {
        assert!(self.is_reading, "an id was read without a request: {found:?}");
        self.is_reading = false;
        match found {
            FoundId::Own { created, date } => Next::Ended(PutResult::Found { created, date }),
            FoundId::Other => Next::Ended(PutResult::Unknown),
            FoundId::Unknown => self.wait_or(PutResult::Unknown),
        }
    }

    fn wait_or(self, result: PutResult) -> Next {
        if self.in_flight > 0 || self.is_reading { Next::Wait } else { Next::Ended(result) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATED: PutResult = PutResult::Created { date: 7 };
    const OWN: FoundId = FoundId::Own { created: 5, date: 7 };
    const FOUND: PutResult = PutResult::Found { created: 5, date: 7 };

    /// What follows from the results of two requests.
    fn two(one: PutResult, other: PutResult) -> (Next, Next) {
        let mut hedge = Hedge::new();
        hedge.sent();
        let first = hedge.ended(one);
        (first, if let Next::Ended(_) = first { first } else { hedge.ended(other) })
    }

    #[test]
    fn the_first_confirmation_counts_and_a_refusal_alone_decides_nothing() {
        use PutResult::{Exists, NotStored, Unknown};
        for (one, other, expected) in [
            (CREATED, Exists, (Next::Ended(CREATED), Next::Ended(CREATED))),
            (Exists, CREATED, (Next::ReadId, Next::Ended(CREATED))),
            (Exists, Exists, (Next::ReadId, Next::Ended(Exists))),
            (Exists, Unknown, (Next::ReadId, Next::Wait)),
            (Unknown, CREATED, (Next::Wait, Next::Ended(CREATED))),
            (Unknown, Exists, (Next::Wait, Next::ReadId)),
            (Unknown, Unknown, (Next::Wait, Next::Ended(Unknown))),
            (Unknown, NotStored, (Next::Wait, Next::Ended(Unknown))),
            (NotStored, NotStored, (Next::Wait, Next::Ended(NotStored))),
        ] {
            assert_eq!(two(one, other), expected, "{one:?}, {other:?}");
        }
        assert_eq!(Hedge::new().ended(Exists), Next::Ended(Exists), "it was sent once");
    }

    #[test]
    fn the_id_of_the_object_that_exists_decides_otherwise() {
        let conflict = || {
            let mut hedge = Hedge::new();
            hedge.sent();
            assert_eq!(hedge.ended(PutResult::Exists), Next::ReadId);
            hedge
        };
        assert_eq!(conflict().read(OWN), Next::Ended(FOUND));
        assert_eq!(conflict().read(FoundId::Other), Next::Ended(PutResult::Unknown), "it may have been stored before");
        let mut hedge = conflict();
        assert_eq!(hedge.read(FoundId::Unknown), Next::Wait);
        assert_eq!(hedge.ended(PutResult::Unknown), Next::Ended(PutResult::Unknown));
        let mut hedge = conflict();
        assert_eq!(hedge.ended(PutResult::Unknown), Next::Wait);
        assert_eq!(hedge.read(FoundId::Unknown), Next::Ended(PutResult::Unknown), "it may be stored");
    }
}
