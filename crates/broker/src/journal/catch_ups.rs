//! Callers that wait until this broker has read all objects that were stored before their request.
//!
//! They don't wait for the journal's end: where others store objects as fast as this broker reads them, it is never
//! reached. An object that was missing after the request is enough: objects stored before have lower numbers.

use crate::journal::error::JournalError;
use std::collections::VecDeque;
use tokio::sync::oneshot;

/// The waiting callers, in the order of their requests.
#[derive(Default)]
pub(super) struct CatchUps {
    waiting: VecDeque<CatchUp>,
    /// Number of requests so far.
    asked: u64,
}

struct CatchUp {
    /// Number of reads that had begun before its request.
    after: u64,
    /// The lowest number that was missing since: it has caught up when that is read next.
    until: Option<u64>,
    answer: oneshot::Sender<Result<(), JournalError>>,
}

impl CatchUps {
    /// Number of those that wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Adds one, after this many reads have begun.
    pub fn ask(&mut self, after: u64, answer: oneshot::Sender<Result<(), JournalError>>) {
        self.waiting.push_back(CatchUp { after, until: None, answer });
        self.asked += 1;
    }

    /// Number of requests so far, whether they are still pending or not.
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// An object was missing, by the read that so many others had begun before.
    pub fn missing(&mut self, number: u64, read: u64) {
        for waiting in self.waiting.iter_mut().take_while(|waiting| waiting.after <= read) {
            waiting.until = Some(waiting.until.map_or(number, |until| until.min(number)));
        }
    }

    /// The journal was read up to an object.
    pub fn reached(&mut self, next: u64) {
        // An earlier request has the same bound or a lower one.
        while let Some(CatchUp { until: Some(until), .. }) = self.waiting.front()
            && *until <= next
            && let Some(waiting) = self.waiting.pop_front()
        {
            drop(waiting.answer.send(Ok(())));
        }
    }

    /// Those among the first so many that still wait get this answer.
    pub fn answer(&mut self, asked: u64, result: &Result<(), JournalError>) {
        let before = self.asked - self.waiting.len() as u64;
        for waiting in self.waiting.drain(..asked.saturating_sub(before) as usize) {
            drop(waiting.answer.send(result.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_missing_after_somebody_asked_bounds_what_was_stored_before() {
        let mut waiting = CatchUps::default();
        let ask = |waiting: &mut CatchUps, after| {
            let (answer, answered) = oneshot::channel();
            waiting.ask(after, answer);
            answered
        };
        let (mut early, mut late) = (ask(&mut waiting, 3), ask(&mut waiting, 5));
        waiting.reached(100);
        assert_eq!(waiting.len(), 2, "nothing was missing yet");
        waiting.missing(9, 2);
        waiting.reached(100);
        assert_eq!(waiting.len(), 2, "the read began before they asked");
        waiting.missing(110, 3);
        waiting.missing(108, 4);
        waiting.missing(109, 4);
        waiting.reached(107);
        assert_eq!(waiting.len(), 2, "object 107 may have been stored when the first asked");
        waiting.reached(108);
        assert!(early.try_recv().unwrap().is_ok() && late.try_recv().is_err(), "the second asked later");
        waiting.missing(120, 5);
        let last = ask(&mut waiting, 6);
        waiting.answer(2, &Err(JournalError::NotStored));
        assert!(late.try_recv().unwrap().is_err());
        assert_eq!((waiting.len(), waiting.asked()), (1, 3));
        waiting.answer(3, &Ok(()));
        assert!(last.blocking_recv().unwrap().is_ok());
    }
}
