//! The load program: sends requests on many connections from a few threads, and measures the times to the replies.

use super::connection::{Connection, Received, Script};
use super::timer::{TIMER, Timer};
use crate::statistics::{new_histogram, record};
use hdrhistogram::Histogram;
use mio::{Events, Interest, Poll, Token};
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How long requests that were due in time may wait for earlier ones after the end; those still waiting are counted.
const GRACE: Duration = Duration::from_secs(1);
/// Maximum time without any reply while requests are in flight.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// The load.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Number of requests in flight on a connection, at most.
    pub pipeline: usize,
    /// Requests per second that are due on each connection. Without it, a request follows as soon as a reply arrives.
    pub rate: Option<u64>,
    /// When to stop.
    pub end: End,
}

/// When a run ends.
#[derive(Debug, Clone, Copy)]
pub enum End {
    /// After this time.
    After(Duration),
    /// After this number of requests, on all connections together.
    Requests(u64),
}

/// The sent requests and their times.
pub struct Outcome {
    /// Requests whose replies have all arrived.
    pub requests: u64,
    /// The same of each connection.
    pub by_connection: Vec<u64>,
    /// Replies that are errors.
    pub refused: u64,
    /// The first of them.
    pub refusal: Option<String>,
    /// Requests that were due and not sent, since the server was too slow for the rate.
    pub unsent: u64,
    /// Time from the due time to the reply; of those not sent, the time that they waited.
    pub response: Histogram<u64>,
    /// Time from the send to the reply.
    pub service: Histogram<u64>,
    /// How late the load program noticed that requests were due.
    pub lag: Histogram<u64>,
    /// From the beginning to the last reply.
    pub length: Duration,
}

impl Outcome {
    /// Nothing yet.
    pub fn new() -> Outcome {
        let [response, service, lag] = std::array::from_fn(|_| new_histogram());
        let length = Duration::ZERO;
        let by_connection = Vec::new();
        Outcome { requests: 0, by_connection, refused: 0, refusal: None, unsent: 0, response, service, lag, length }
    }

    /// Adds that of another thread, which ran at the same time with the next connections.
    pub fn add(&mut self, other: Outcome) {
        self.requests += other.requests;
        self.by_connection.extend(other.by_connection);
        self.refused += other.refused;
        self.refusal = self.refusal.take().or(other.refusal);
        self.unsent += other.unsent;
        self.response += other.response;
        self.service += other.service;
        self.lag += other.lag;
        self.length = self.length.max(other.length);
    }
}

/// Open connections to one server, in groups of which each has a thread.
pub struct Load {
    groups: Vec<Group>,
}

impl Load {
    /// Opens a connection for each script.
    pub fn open(server: SocketAddr, scripts: &[Script], threads: usize, pipeline: usize) -> io::Result<Load> {
        assert!(!scripts.is_empty() && threads > 0, "{} connections, {threads} threads", scripts.len());
        let each = scripts.len().div_ceil(threads);
        let groups = scripts.chunks(each).map(|scripts| Group::open(server, scripts, pipeline));
        Ok(Load { groups: groups.collect::<io::Result<_>>()? })
    }

    /// Sends the requests of the plan and waits for every reply.
    pub fn run(&mut self, plan: Plan) -> io::Result<Outcome> {
        let groups = self.groups.len() as u64;
        let start = Instant::now();
        let ended = std::thread::scope(|scope| {
            let threads = self.groups.iter_mut().zip(0u64..).map(|(group, number)| {
                let end = match plan.end {
                    End::Requests(all) => End::Requests(all / groups + u64::from(number < all % groups)),
                    end @ End::After(_) => end,
                };
                scope.spawn(move || Run::new(group, Plan { end, ..plan }, start).run())
            });
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
        });
        let mut all = Outcome::new();
        for outcome in ended {
            all.add(outcome.map_err(|_| io::Error::other("a thread stopped; please report this"))??);
        }
        Ok(all)
    }
}

/// The connections of one thread.
struct Group {
    poll: Poll,
    timer: Timer,
    connections: Vec<Connection>,
}

impl Group {
    fn open(server: SocketAddr, scripts: &[Script], pipeline: usize) -> io::Result<Group> {
        let poll = Poll::new()?;
        let timer = Timer::new(poll.registry())?;
        let mut connections = Vec::with_capacity(scripts.len());
        for (number, script) in scripts.iter().enumerate() {
            let mut connection = Connection::open(server, script, pipeline)?;
            let interest = Interest::READABLE | Interest::WRITABLE;
            poll.registry().register(&mut connection.stream, Token(number), interest)?;
            connections.push(connection);
        }
        Ok(Group { poll, timer, connections })
    }
}

/// One run of one thread.
struct Run<'a> {
    group: &'a mut Group,
    plan: Plan,
    start: Instant,
    /// Nothing is due after it.
    end: Option<Instant>,
    /// Number of requests that may still become due.
    left: u64,
    /// Requests that have become due.
    due: u64,
    /// Time from one due request to the next, on all connections of the group.
    interval: Option<Duration>,
    found: Received,
    outcome: Outcome,
}

impl<'a> Run<'a> {
    fn new(group: &'a mut Group, plan: Plan, start: Instant) -> Run<'a> {
        let connections = group.connections.len() as f64;
        let outcome = Outcome { by_connection: vec![0; group.connections.len()], ..Outcome::new() };
        let (end, left) = match plan.end {
            End::After(time) => (Some(start + time), u64::MAX),
            End::Requests(requests) => (None, requests),
        };
        Run {
            interval: plan.rate.map(|rate| Duration::from_secs_f64(1.0 / (rate as f64 * connections))),
            group,
            plan,
            start,
            end,
            left,
            due: 0,
            found: Received::default(),
            outcome,
        }
    }

    fn run(mut self) -> io::Result<Outcome> {
        let mut events = Events::with_capacity(1024);
        let mut heard = Instant::now();
        if self.interval.is_none() {
            for number in 0..self.group.connections.len() {
                self.supply(number, heard)?;
            }
        }
        loop {
            let next_due = self.make_due()?;
            if next_due.is_none() && self.is_finished() {
                break;
            }
            if let Some(due) = next_due {
                self.group.timer.set(due)?;
            }
            match self.group.poll.poll(&mut events, Some(GRACE)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                done => done?,
            }
            for event in events.iter().filter(|event| event.token() != TIMER) {
                if let Some(now) = self.serve(event.token().0)? {
                    heard = now;
                }
            }
            let in_flight: usize = self.group.connections.iter().map(Connection::in_flight).sum();
            if in_flight == 0 {
                heard = Instant::now();
            } else if events.is_empty() && heard.elapsed() > SILENCE_MAX {
                let reason = format!("{in_flight} requests have no reply after {} s", SILENCE_MAX.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
            }
        }
        Ok(self.outcome)
    }

    /// Receives from one connection and sends the next requests. Returns the time if a request has got its replies.
    fn serve(&mut self, number: usize) -> io::Result<Option<Instant>> {
        let Some(connection) = self.group.connections.get_mut(number) else { return Ok(None) };
        let received = connection.receive(&mut self.found);
        self.outcome.refused += std::mem::take(&mut self.found.refused);
        if let Some(text) = self.found.refusal.take() {
            self.outcome.refusal.get_or_insert(text);
        }
        received.map_err(|error| match &self.outcome.refusal {
            Some(text) => io::Error::new(error.kind(), format!("{error}, after its response {text:?}")),
            None => error,
        })?;
        let now = Instant::now();
        let is_reply = !self.found.done.is_empty();
        for request in self.found.done.drain(..) {
            self.outcome.requests += 1;
            let Some(requests) = self.outcome.by_connection.get_mut(number) else {
                unreachable!("a reply on connection {number}, which the group doesn't have")
            };
            *requests += 1;
            record(&mut self.outcome.response, now - request.due);
            record(&mut self.outcome.service, now - request.sent);
            self.outcome.length = now - self.start;
        }
        self.supply(number, now)?;
        Ok(is_reply.then_some(now))
    }

    /// Begins requests on a connection while it has room, and sends them.
    fn supply(&mut self, number: usize, now: Instant) -> io::Result<()> {
        let Some(connection) = self.group.connections.get_mut(number) else { return Ok(()) };
        while connection.in_flight() < self.plan.pipeline {
            let due = if self.interval.is_some() {
                connection.waiting.pop_front()
            } else {
                let is_next = self.left > 0 && self.end.is_none_or(|end| now < end);
                self.left -= u64::from(is_next);
                is_next.then_some(now)
            };
            let Some(due) = due else { break };
            connection.begin(due, now);
        }
        connection.flush()
    }

    /// Gives each connection the requests that are due, and returns when the next one is.
    fn make_due(&mut self) -> io::Result<Option<Instant>> {
        let Some(interval) = self.interval else { return Ok(None) };
        let now = Instant::now();
        loop {
            let due = self.start + interval.mul_f64(self.due as f64);
            if self.left == 0 || self.end.is_some_and(|end| due >= end) {
                self.give_up(now);
                return Ok(None);
            }
            if due > now {
                return Ok(Some(due));
            }
            let number = (self.due % self.group.connections.len() as u64) as usize;
            self.due += 1;
            self.left -= 1;
            record(&mut self.outcome.lag, now - due);
            if let Some(connection) = self.group.connections.get_mut(number) {
                connection.waiting.push_back(due);
            }
            self.supply(number, now)?;
        }
    }

    /// Counts requests that still wait a while after the last one was due, and forgets them.
    fn give_up(&mut self, now: Instant) {
        let Some(interval) = self.interval else { return };
        if now < self.start + interval.mul_f64(self.due as f64) + GRACE {
            return;
        }
        for connection in &mut self.group.connections {
            for due in connection.waiting.drain(..) {
                self.outcome.unsent += 1;
                record(&mut self.outcome.response, now - due);
            }
        }
    }

    /// Whether every reply has arrived and no request waits or becomes due.
    fn is_finished(&self) -> bool {
        let is_over = self.interval.is_some() || self.left == 0 || self.end.is_some_and(|end| Instant::now() >= end);
        let is_idle = |connection: &Connection| connection.in_flight() == 0 && connection.waiting.is_empty();
        is_over && self.group.connections.iter().all(is_idle)
    }
}
