//! The requests of a shared connection, in the order of sending, which is the order of their responses.
//!
//! ```text
//! push ─► outgoing ─► (the link's buffer) ─► written ─► answered
//!         begin, end: positions in all bytes of the connection
//! ```

use crate::limits::{SHARED_BYTES_MAX, SHARED_REQUESTS_MAX, SHARED_WAIT_MAX};
use std::collections::VecDeque;
use tokio::time::Instant;

/// Requests without a response. `T` gets the response.
#[derive(Debug)]
pub(super) struct Queue<T> {
    entries: VecDeque<Entry<T>>,
    /// The bytes of requests that the link has not taken yet.
    outgoing: Vec<u8>,
    /// Number of bytes of all requests so far.
    queued_bytes: u64,
    /// Number of bytes that were written.
    written_bytes: u64,
    /// The other side closes the connection: it carries out nothing that it has not answered yet.
    is_closing: bool,
}

#[derive(Debug)]
struct Entry<T> {
    /// Position of its first byte.
    begin: u64,
    /// Position after its last byte.
    end: u64,
    queued_at: Instant,
    /// When the link took it.
    taken_at: Option<Instant>,
    to: T,
}

/// The unresolved requests when a connection ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Left<T> {
    /// They may have been carried out.
    pub(super) unknown: Vec<T>,
    /// They were not carried out.
    pub(super) unsent: Vec<T>,
}

impl<T> Queue<T> {
    pub(super) fn new() -> Queue<T> {
        let entries = VecDeque::new();
        Queue { entries, outgoing: Vec::new(), queued_bytes: 0, written_bytes: 0, is_closing: false }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn is_closing(&self) -> bool {
        self.is_closing
    }

    /// Whether another request of so many bytes may be sent here. Not if a response is slow: those after it wait for
    /// it, and another connection may be faster. A request that must not overtake earlier ones waits.
    pub(super) fn has_room(&self, bytes: usize, now: Instant, is_ordered: bool) -> bool {
        let Some(first) = self.entries.front() else { return !self.is_closing };
        !self.is_closing
            && self.entries.len() < SHARED_REQUESTS_MAX
            && self.queued_bytes - first.begin + bytes as u64 <= SHARED_BYTES_MAX as u64
            && (is_ordered || first.taken_at.is_none_or(|at| now.saturating_duration_since(at) < SHARED_WAIT_MAX))
    }

    /// Adds a request.
    pub(super) fn push(&mut self, request: &[u8], now: Instant, to: T) {
        assert!(!request.is_empty() && !self.is_closing, "{} bytes, closing: {}", request.len(), self.is_closing);
        let begin = self.queued_bytes;
        let end = begin + request.len() as u64;
        self.outgoing.extend_from_slice(request);
        self.queued_bytes = end;
        self.entries.push_back(Entry { begin, end, queued_at: now, taken_at: None, to });
    }

    /// Whether requests wait to be written.
    pub(super) fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty() && !self.is_closing
    }

    /// Moves the bytes that wait to be written into `buffer`, which is empty.
    pub(super) fn take_outgoing(&mut self, buffer: &mut Vec<u8>, now: Instant) {
        assert!(buffer.is_empty(), "{} bytes would be sent after those that follow them", buffer.len());
        if self.has_outgoing() {
            std::mem::swap(&mut self.outgoing, buffer);
            let taken = self.entries.iter_mut().rev().take_while(|entry| entry.taken_at.is_none());
            taken.for_each(|entry| entry.taken_at = Some(now));
        }
    }

    /// This many bytes were written.
    pub(super) fn wrote(&mut self, bytes: usize) {
        self.written_bytes += bytes as u64;
        let (written, queued) = (self.written_bytes, self.queued_bytes);
        assert!(written <= queued, "{written} bytes of requests of {queued} were written");
    }

    /// The request of the received response. `None` if no request was written for it.
    pub(super) fn answered(&mut self, is_closing: bool) -> Option<T> {
        let written = self.written_bytes;
        let first = self.entries.pop_front_if(|first| first.begin < written)?;
        // A response to a part of a request refuses it, and the rest of it can't be sent as the next request.
        self.is_closing |= is_closing || first.end > written;
        Some(first.to)
    }

    /// Since when the first request has been waiting for its response.
    pub(super) fn waits_since(&self) -> Option<Instant> {
        self.entries.front().map(|first| first.queued_at)
    }

    /// The connection has ended, after a whole response or not.
    pub(super) fn end(&mut self, is_after_response: bool) -> Left<T> {
        let is_known = self.is_closing && is_after_response;
        self.is_closing = true;
        let written = self.written_bytes;
        let mut left = Left { unknown: Vec::new(), unsent: Vec::new() };
        for entry in self.entries.drain(..) {
            let list = if is_known || entry.begin >= written { &mut left.unsent } else { &mut left.unknown };
            list.push(entry.to);
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Requests of ten bytes, with their numbers.
    fn queue(requests: u32) -> Queue<u32> {
        let mut queue = Queue::new();
        (0..requests).for_each(|number| queue.push(&[b'0'; 10], Instant::now(), number));
        queue
    }

    /// Writes so many of the bytes.
    fn written(requests: u32, bytes: usize) -> Queue<u32> {
        let mut queue = queue(requests);
        let mut buffer = Vec::new();
        queue.take_outgoing(&mut buffer, Instant::now());
        assert_eq!(buffer.len(), requests as usize * 10);
        queue.wrote(bytes);
        queue
    }

    #[test]
    fn responses_go_to_the_requests_in_order() {
        let mut queue = written(3, 30);
        assert_eq!([queue.answered(false), queue.answered(false), queue.answered(false)], [Some(0), Some(1), Some(2)]);
        assert_eq!(queue.answered(false), None);
        assert!(queue.is_empty() && !queue.is_closing());
    }

    #[test]
    fn a_request_that_was_not_written_gets_no_response() {
        let mut queue = written(2, 10);
        assert_eq!((queue.answered(false), queue.answered(false)), (Some(0), None));
        assert_eq!(queue.end(true), Left { unknown: vec![], unsent: vec![1] });
    }

    #[test]
    fn a_response_to_a_part_of_a_request_ends_the_connection() {
        let mut queue = written(2, 15);
        assert_eq!((queue.answered(false), queue.is_closing()), (Some(0), false));
        assert_eq!((queue.answered(false), queue.is_closing()), (Some(1), true));
    }

    /// Exactly those whose first byte was written may have been carried out.
    #[test]
    fn an_end_leaves_those_unknown_that_were_written() {
        for bytes in 0..=40 {
            let left = written(4, bytes).end(true);
            let begun = bytes.div_ceil(10) as u32;
            assert_eq!((left.unknown, left.unsent), ((0..begun).collect(), (begun..4).collect()), "{bytes} bytes");
        }
        let mut queue = written(4, 40);
        queue.answered(false);
        assert_eq!(queue.end(true), Left { unknown: vec![1, 2, 3], unsent: vec![] });
    }

    /// Nothing is carried out after a response that closes the connection, unless a further response begins.
    #[test]
    fn an_announced_end_leaves_nothing_unknown() {
        for (is_after_response, unknown) in [(true, vec![]), (false, vec![1, 2])] {
            let mut queue = written(3, 25);
            queue.push(&[0], Instant::now(), 3);
            queue.answered(true);
            assert!(!queue.has_room(1, Instant::now(), true) && !queue.has_outgoing());
            let unsent = (1..=3).filter(|number| !unknown.contains(number)).collect();
            assert_eq!(queue.end(is_after_response), Left { unknown, unsent });
        }
    }

    #[test]
    fn room_is_limited_by_requests_bytes_and_time() {
        let now = Instant::now();
        let mut queue = Queue::new();
        assert!(queue.has_room(SHARED_BYTES_MAX + 1, now, false), "a request that is alone has room");
        for number in 0..SHARED_REQUESTS_MAX {
            assert!(queue.has_room(1, now, false), "{number} requests");
            queue.push(&[0], now, number);
        }
        assert!(!queue.has_room(1, now, false));
        let taken_at = now + Duration::from_secs(1);
        queue.take_outgoing(&mut Vec::new(), taken_at);
        queue.wrote(1);
        queue.answered(false);
        assert!(queue.has_room(1, taken_at, false), "a connection that is being opened is not slow");
        assert!(!queue.has_room(1, taken_at + SHARED_WAIT_MAX, false), "the first response is slow");
        assert!(queue.has_room(1, taken_at + SHARED_WAIT_MAX, true), "order matters more");
        assert!(queue.has_room(1, now, false));
        let left = SHARED_BYTES_MAX - queue.entries.len();
        assert!(queue.has_room(left, now, false) && !queue.has_room(left + 1, now, false));
    }
}
