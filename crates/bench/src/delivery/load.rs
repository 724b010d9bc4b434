//! The load program: appends records at a rate and measures the times until waiting readers have them, from one thread.

use super::reader::Reader;
use super::waiter::Waiter;
use crate::requests::connection::{Connection, InFlight, Received, Script};
use crate::requests::load::End;
use crate::requests::timer::{TIMER, Timer};
use crate::statistics::{new_histogram, record};
use hdrhistogram::Histogram;
use mio::{Events, Interest, Poll, Token};
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Maximum number of appends in flight on a connection. Later ones wait; their times count from when they were due.
const PIPELINE: usize = 64;
/// Maximum time without any event while records are missing.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// The load.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Records per second, of all topics together, evenly spaced.
    pub rate: u64,
    /// When to stop.
    pub end: End,
}

/// The delivered records and their times.
pub struct Outcome {
    /// Number of records.
    pub records: u64,
    /// From the due time until the reader has a record.
    pub delivery: Histogram<u64>,
    /// From the send until the reader has it.
    pub from_send: Histogram<u64>,
    /// From the send until the append is acknowledged.
    pub append: Histogram<u64>,
    /// How late the load program noticed that an append was due.
    pub lag: Histogram<u64>,
    /// From the beginning to the last event.
    pub length: Duration,
}

/// A topic with a connection that appends to it, and one that waits for its records.
struct Pair {
    writer: Connection,
    reader: Reader,
    /// Records that were sent and are not delivered, the oldest first.
    undelivered: VecDeque<InFlight>,
}

/// Readers that wait, and writers.
pub struct Load {
    poll: Poll,
    timer: Timer,
    pairs: Vec<Pair>,
}

/// Opens the connections of readers, which begin to wait.
pub fn wait(server: SocketAddr, waiters: Vec<Waiter>) -> io::Result<Vec<Reader>> {
    waiters.into_iter().map(|waiter| Reader::open(server, waiter)).collect()
}

impl Load {
    /// Opens a connection for the script of each reader's topic.
    pub fn open(server: SocketAddr, scripts: &[Script], readers: Vec<Reader>) -> io::Result<Load> {
        assert_eq!(scripts.len(), readers.len(), "each reader has a writer");
        let poll = Poll::new()?;
        let timer = Timer::new(poll.registry())?;
        let mut pairs = Vec::with_capacity(readers.len());
        for (number, (script, mut reader)) in scripts.iter().zip(readers).enumerate() {
            let mut writer = Connection::open(server, script, PIPELINE)?;
            let interest = Interest::READABLE | Interest::WRITABLE;
            poll.registry().register(&mut writer.stream, Token(2 * number), interest)?;
            poll.registry().register(&mut reader.stream, Token(2 * number + 1), interest)?;
            pairs.push(Pair { writer, reader, undelivered: VecDeque::new() });
        }
        Ok(Load { poll, timer, pairs })
    }

    /// Appends the records of the plan, and waits until each is acknowledged and delivered.
    pub fn run(&mut self, plan: Plan) -> io::Result<Outcome> {
        let [delivery, from_send, append, lag] = std::array::from_fn(|_| new_histogram());
        let outcome = Outcome { records: 0, delivery, from_send, append, lag, length: Duration::ZERO };
        let (start, interval) = (Instant::now(), Duration::from_secs_f64(1.0 / plan.rate as f64));
        Run { load: self, interval, end: plan.end, start, due: 0, found: Received::default(), outcome }.run()
    }
}

/// One run.
struct Run<'a> {
    load: &'a mut Load,
    interval: Duration,
    end: End,
    start: Instant,
    /// Records that have become due.
    due: u64,
    found: Received,
    outcome: Outcome,
}

impl Run<'_> {
    fn run(mut self) -> io::Result<Outcome> {
        let mut events = Events::with_capacity(1024);
        let mut heard = Instant::now();
        loop {
            let next_due = self.make_due()?;
            let missing = self.missing();
            match next_due {
                None if missing == 0 => return Ok(self.outcome),
                None => {}
                Some(due) => self.load.timer.set(due)?,
            }
            match self.load.poll.poll(&mut events, Some(SILENCE_MAX)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                done => done?,
            }
            for event in events.iter().filter(|event| event.token() != TIMER) {
                self.serve(event.token().0)?;
                heard = Instant::now();
            }
            if missing == 0 {
                heard = Instant::now();
            } else if heard.elapsed() > SILENCE_MAX {
                let reason = format!("{missing} records were not delivered after {} s", SILENCE_MAX.as_secs());
                return Err(io::Error::new(ErrorKind::TimedOut, reason));
            }
        }
    }

    /// Gives each writer the records that are due, and returns when the next one is.
    fn make_due(&mut self) -> io::Result<Option<Instant>> {
        loop {
            let (now, due) = (Instant::now(), self.start + self.interval.mul_f64(self.due as f64));
            let is_over = match self.end {
                End::After(time) => due >= self.start + time,
                End::Requests(records) => self.due >= records,
            };
            if is_over {
                return Ok(None);
            }
            if due > now {
                return Ok(Some(due));
            }
            let number = (self.due % self.load.pairs.len() as u64) as usize;
            self.due += 1;
            record(&mut self.outcome.lag, now - due);
            if let Some(pair) = self.load.pairs.get_mut(number) {
                pair.writer.waiting.push_back(due);
                pair.supply(now)?;
            }
        }
    }

    /// Serves an event of one connection.
    fn serve(&mut self, token: usize) -> io::Result<()> {
        let Some(pair) = self.load.pairs.get_mut(token / 2) else { return Ok(()) };
        if token.is_multiple_of(2) {
            pair.writer.receive(&mut self.found)?;
            if let Some(refusal) = self.found.refusal.take() {
                return Err(io::Error::other(format!("an append was refused: {refusal}")));
            }
            let now = Instant::now();
            for append in self.found.done.drain(..) {
                record(&mut self.outcome.append, now - append.sent);
            }
            pair.supply(now)?;
        } else {
            let records = pair.reader.receive()?;
            let now = Instant::now();
            for _ in 0..records {
                let Some(sent) = pair.undelivered.pop_front() else {
                    return Err(io::Error::other("more records are delivered than were appended"));
                };
                record(&mut self.outcome.delivery, now - sent.due);
                record(&mut self.outcome.from_send, now - sent.sent);
            }
            self.outcome.records += records;
        }
        self.outcome.length = self.start.elapsed();
        Ok(())
    }

    /// Number of records that were due and aren't acknowledged and delivered.
    fn missing(&self) -> usize {
        let of = |pair: &Pair| pair.writer.waiting.len() + pair.writer.in_flight().max(pair.undelivered.len());
        self.load.pairs.iter().map(of).sum()
    }
}

impl Pair {
    /// Begins appends that are due, and sends them.
    fn supply(&mut self, now: Instant) -> io::Result<()> {
        while self.writer.in_flight() < PIPELINE
            && let Some(due) = self.writer.waiting.pop_front()
        {
            self.writer.begin(due, now);
            self.undelivered.push_back(InFlight { due, sent: now });
        }
        self.writer.flush()
    }
}
