//! The limit of the disk itself: a loop that appends due records to one file, and syncs it, without a server.

use super::load::{End, Outcome, Plan};
use super::timer::Timer;
use crate::statistics::record;
use mio::{Events, Poll};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Zeros are written to the file in steps of this size: a sync of blocks that were only allocated takes longer.
const STEP_BYTES: u64 = 64 << 20;
/// Maximum number of requests that one sync covers.
const TOGETHER_MAX: u64 = 4096;

/// A file that records are appended to.
pub struct Bare {
    file: File,
    request: Vec<u8>,
    /// Requests in flight at the same time, of all connections: without a rate, one sync covers this many.
    in_flight: u64,
    connections: u64,
    is_synced: bool,
    length: u64,
    allocated: u64,
}

impl Bare {
    /// Creates the file. A request is the bytes that one append writes.
    pub fn create(path: &Path, request: &[u8], connections: u64, pipeline: u64, synced: bool) -> io::Result<Bare> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        let in_flight = (connections * pipeline).min(TOGETHER_MAX);
        let request = request.to_vec();
        let mut bare = Bare { file, request, in_flight, connections, is_synced: synced, length: 0, allocated: 0 };
        bare.reserve(1)?;
        Ok(bare)
    }

    /// Appends by the plan.
    pub fn run(&mut self, plan: Plan) -> io::Result<Outcome> {
        let mut poll = Poll::new()?;
        let mut timer = Timer::new(poll.registry())?;
        let mut events = Events::with_capacity(1);
        let mut outcome = Outcome::new();
        let start = Instant::now();
        let mut sent = 0;
        let interval = plan.rate.map(|rate| Duration::from_secs_f64(1.0 / (rate * self.connections) as f64));
        let due_time = |number: u64| interval.map(|interval| start + interval.mul_f64(number as f64));
        let is_over = |number: u64, now: Instant| match plan.end {
            End::After(length) => due_time(number).unwrap_or(now) >= start + length,
            End::Requests(requests) => number >= requests,
        };
        loop {
            let now = Instant::now();
            let mut count = 0;
            while count < if interval.is_some() { TOGETHER_MAX } else { self.in_flight }
                && !is_over(sent + count, now)
                && due_time(sent + count).is_none_or(|due| due <= now)
            {
                count += 1;
            }
            if count == 0 {
                match due_time(sent).filter(|_| !is_over(sent, now)) {
                    None => break,
                    Some(due) => timer.set(due)?,
                }
                match poll.poll(&mut events, None) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    done => done?,
                }
                continue;
            }
            self.append(count)?;
            let done = Instant::now();
            for number in sent..sent + count {
                let due = due_time(number).unwrap_or(now);
                record(&mut outcome.response, done - due);
                record(&mut outcome.service, done - now);
                record(&mut outcome.lag, now - due);
            }
            sent += count;
            outcome.requests += count;
            outcome.length = done - start;
        }
        Ok(outcome)
    }

    /// Writes this many requests with one call, and syncs them.
    fn append(&mut self, count: u64) -> io::Result<()> {
        let bytes = self.request.repeat(count as usize);
        self.reserve(bytes.len() as u64)?;
        self.file.write_all_at(&bytes, self.length)?;
        self.length += bytes.len() as u64;
        if self.is_synced { self.file.sync_data() } else { Ok(()) }
    }

    /// Writes the file's next blocks, so that an append changes nothing but what they hold.
    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        while self.length + bytes > self.allocated {
            self.file.write_all_at(&vec![0; STEP_BYTES as usize], self.allocated)?;
            self.file.sync_all()?;
            self.allocated += STEP_BYTES;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_appended_once() {
        let folder = tempfile::tempdir().unwrap();
        for (number, rate) in [None, Some(20_000)].into_iter().enumerate() {
            let path = folder.path().join(number.to_string());
            let mut bare = Bare::create(&path, b"0123456789", 3, 2, true).unwrap();
            let plan = Plan { pipeline: 2, rate, end: End::Requests(20) };
            let outcome = bare.run(plan).unwrap();
            assert_eq!((outcome.requests, outcome.response.len(), bare.length), (20, 20, 200));
            let written = std::fs::read(&path).unwrap();
            assert_eq!(written[..200], b"0123456789".repeat(20));
            assert!(written[200..].iter().all(|&byte| byte == 0));
        }
    }
}
