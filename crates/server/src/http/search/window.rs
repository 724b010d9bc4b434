//! Looks through one window of a partition's offsets.

use super::criteria::{Criteria, Matcher};
use super::lines;
use super::remaining::Order;
use crate::http::api::Api;
use crate::http::error::ApiError;
use crate::http::read::is_gap;
use crate::http::render::RecordJson;
use crate::http::select::{self, Part, Wanted};
use crate::http::topics;
use rawline_broker::{Partition, ReadAnswer, ReadRequest};
use rawline_contract::{Payload, timestamp};
use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

/// Size of one read in bytes, and of what is decompressed for it.
const READ_BYTES: u64 = 1 << 20;
const UNPACKED_BYTES: u64 = 4 << 20;

/// Size of a window in bytes of records: about 10 ms of work.
pub(super) const WINDOW_BYTES: u64 = 8 << 20;

/// Size of the kept lines of one window in bytes; one more may follow.
const LINES_BYTES: usize = 512 << 10;

/// A match.
struct Match {
    offset: u64,
    line: Vec<u8>,
}

/// The result of a window.
pub(super) struct Found {
    /// The lines of the matches, in the order of the search.
    pub lines: Vec<Vec<u8>>,
    /// The offsets that were looked through, and whose matches are all in `lines`.
    pub passed: Range<u64>,
    /// Bytes of the records that were read.
    pub bytes: u64,
    /// Records that can't be read.
    pub unreadable: u64,
}

/// Where and for what to look.
pub(super) struct Window<'a> {
    pub api: &'a Api,
    pub partition: &'a Partition,
    pub number: u32,
    pub criteria: &'a Criteria,
    pub order: Order,
    /// At least 1.
    pub matches_max: u64,
}

impl Window<'_> {
    /// Looks through the offsets of `window`, or a part of them: from the beginning if the oldest records come first,
    /// from the end if the newest do. `None` if a window of the newest first has too many bytes: look through a
    /// smaller one.
    pub async fn search(&self, window: Range<u64>) -> Result<Option<Found>, ApiError> {
        let mut scan = Scan {
            window: self,
            matcher: Matcher::new(self.criteria, topics::payload(self.partition)),
            payload: topics::payload(self.partition),
            matches: VecDeque::new(),
            lines_bytes: 0,
            passed: window.clone(),
            bytes: 0,
            unreadable: 0,
        };
        let mut at = window.start;
        while at < window.end {
            // Deleted since the search began.
            at = at.max(self.partition.offsets().start);
            let Some(next) = scan.read(at, window.end).await? else { break };
            assert!(next > at, "a search that stays at offset {at}");
            at = next;
            if scan.is_full() {
                scan.passed.end = at.min(window.end);
                break;
            }
            if scan.bytes > WINDOW_BYTES && at < window.end {
                if self.order == Order::NewestFirst {
                    return Ok(None);
                }
                scan.passed.end = at;
                break;
            }
        }
        Ok(Some(scan.found()))
    }
}

struct Scan<'a> {
    window: &'a Window<'a>,
    matcher: Matcher<'a>,
    payload: Payload,
    /// By offset.
    matches: VecDeque<Match>,
    lines_bytes: usize,
    passed: Range<u64>,
    bytes: u64,
    unreadable: u64,
}

impl Scan<'_> {
    /// Looks through the next records, and returns the offset after them; `None` if there are none.
    async fn read(&mut self, at: u64, end: u64) -> Result<Option<u64>, ApiError> {
        let (api, partition) = (self.window.api, self.window.partition);
        if at >= end {
            return Ok(None);
        }
        let request = ReadRequest {
            offset: at,
            records_max: end - at,
            bytes_max: READ_BYTES,
            wait: Duration::ZERO,
            verify: true,
        };
        let _turn = select::turn(api).await?;
        let read = partition.read(&request).await?;
        if read.pieces.is_empty() {
            return Ok((read.end_offset > at).then_some(read.end_offset));
        }
        let read_end = read.end_offset;
        if is_gap(&read)? {
            return Ok(Some(read_end.max(at + 1)));
        }
        match self.look_through(read, at, end).await {
            Ok(Some(next)) => Ok(Some(next)),
            Ok(None) => Ok(Some(read_end.max(at + 1))),
            Err(error) => match error.next_offset() {
                Some(next) => {
                    let next = next.max(at + 1);
                    self.unreadable += next.min(end) - at;
                    Ok(Some(next))
                }
                None => Err(error),
            },
        }
    }

    /// Looks through records that were read, and returns the offset after the last one; `None` if there are none.
    async fn look_through(&mut self, read: ReadAnswer, at: u64, end: u64) -> Result<Option<u64>, ApiError> {
        let wanted = Wanted {
            offset: at,
            records_max: end - at,
            bytes_max: READ_BYTES,
            unpacked_bytes_max: UNPACKED_BYTES,
            spans_gaps: true,
        };
        let selected = select::select(self.window.api, read, &wanted).await?;
        let mut next = None;
        for part in &selected.parts {
            match self.look_through_part(part).await {
                Ok(after) => next = Some(after),
                // The next read begins with the unreadable batch.
                Err(error) if error.next_offset().is_some() && next.is_some() => break,
                Err(error) => return Err(error),
            }
            if self.is_full() {
                break;
            }
        }
        Ok(next)
    }

    async fn look_through_part(&mut self, part: &Part) -> Result<u64, ApiError> {
        let data = part.data(self.window.api).await?;
        let mut fields = part.fields();
        let time = timestamp(part.created_us()).to_string();
        let mut next = part.first_offset;
        for (offset, range) in (part.first_offset..).zip(part.ranges()?) {
            let (bytes, fields) = (data.get(&range), fields.as_mut().and_then(Iterator::next));
            self.bytes += bytes.len() as u64;
            next = offset + 1;
            if self.matcher.matches(bytes, fields.as_ref()) {
                let record = RecordJson { offset, time: &time, bytes, payload: self.payload, fields };
                self.keep(Match { offset, line: lines::matched(self.window.number, &record) });
                if self.is_full() {
                    break;
                }
            }
        }
        Ok(next)
    }

    /// Keeps a match. Of the newest first, the oldest one makes room, and will be looked for again.
    fn keep(&mut self, found: Match) {
        self.lines_bytes += found.line.len();
        self.matches.push_back(found);
        while self.window.order == Order::NewestFirst && self.is_over() && self.matches.len() > 1 {
            let Some(oldest) = self.matches.pop_front() else { unreachable!("more than one match") };
            self.lines_bytes -= oldest.line.len();
            self.passed.start = oldest.offset + 1;
        }
    }

    fn is_over(&self) -> bool {
        self.matches.len() as u64 > self.window.matches_max || self.lines_bytes > LINES_BYTES
    }

    /// Whether the search in ascending order has to continue in another window.
    fn is_full(&self) -> bool {
        let has_all = self.matches.len() as u64 == self.window.matches_max || self.lines_bytes > LINES_BYTES;
        self.window.order == Order::OldestFirst && has_all
    }

    fn found(self) -> Found {
        let mut lines: Vec<Vec<u8>> = self.matches.into_iter().map(|found| found.line).collect();
        if self.window.order == Order::NewestFirst {
            lines.reverse();
        }
        Found { lines, passed: self.passed, bytes: self.bytes, unreadable: self.unreadable }
    }
}
