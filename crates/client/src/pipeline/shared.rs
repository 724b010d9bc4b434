//! A connection that several requests share: they are written in order, pending ones with one call, and each gets
//! the response that belongs to it.
//!
//! A driver moves the bytes. A single caller drives the connection itself, so that its request wakes no other task.
//! When a second request joins, a task takes over, since a caller may stop polling at any time and others must not
//! wait for it.

use super::connections::Connections;
use super::link::{Link, Opening};
use super::queue::{Left, Queue};
use super::response::Response;
use super::slot::{Outcome, Slot};
use crate::error::ClientError;
use crate::limits::RESPONSE_PATIENCE;
use crate::peer::Peer;
use crate::pool::Pooled;
use crate::tls::explain;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::time::{Instant, sleep};

pub(crate) struct Shared {
    /// Never locked while waiting for the lock of `link`.
    requests: Mutex<Requests>,
    /// Locked by the one that moves the bytes.
    link: Mutex<Link>,
    /// The peer, once it is open.
    peer: OnceLock<Peer>,
    /// The connections of which this is one.
    connections: Weak<Connections>,
    broker: String,
    /// How long the first request may wait for its response.
    pub(super) timeout: Duration,
}

struct Requests {
    queue: Queue<Arc<Slot>>,
    driver: Driver,
}

/// The task that moves the bytes.
enum Driver {
    /// Nothing is in flight.
    Idle,
    /// The caller whose request is the only one.
    Caller(Arc<Slot>),
    /// The task, with its waker if it waits.
    Task(Option<Waker>),
}

impl Driver {
    /// Whether it is this caller.
    fn is(&self, caller: &Arc<Slot>) -> bool {
        matches!(self, Driver::Caller(alone) if Arc::ptr_eq(alone, caller))
    }
}

/// Results that callers get once the link is unlocked: a caller that is woken may drop another's ticket.
type Results = Vec<(Arc<Slot>, Outcome)>;

/// The next step of a caller whose request has joined.
pub(super) enum Next {
    Nothing,
    Wake(Waker),
    StartTask(Arc<Shared>),
}

/// Why a connection ends.
enum End {
    /// It was not opened, or the broker refused the client's certificate on it.
    NotOpened(ClientError),
    /// It broke, or was closed.
    Broken(String),
    /// Something arrived that isn't a response.
    NotResponse(String),
}

impl Shared {
    pub(super) fn new(connections: Weak<Connections>, broker: String, timeout: Duration, opening: Opening) -> Shared {
        let requests = Requests { queue: Queue::new(), driver: Driver::Idle };
        let link = Mutex::new(Link::new(opening));
        Shared { requests: Mutex::new(requests), link, peer: OnceLock::new(), connections, broker, timeout }
    }

    /// Adds a request, if there is room for it.
    pub(super) fn join(self: &Arc<Self>, request: &[u8], now: Instant, is_ordered: bool) -> Option<(Arc<Slot>, Next)> {
        if self.is_silent() {
            return None;
        }
        let mut requests = self.requests();
        if !requests.queue.has_room(request.len(), now, is_ordered) {
            return None;
        }
        let slot = Arc::new(Slot::default());
        requests.queue.push(request, now, slot.clone());
        let next = match &mut requests.driver {
            driver @ Driver::Idle => {
                *driver = Driver::Caller(slot.clone());
                Next::Nothing
            }
            driver @ Driver::Caller(_) => {
                *driver = Driver::Task(None);
                Next::StartTask(self.clone())
            }
            Driver::Task(waker) => waker.take().map_or(Next::Nothing, Next::Wake),
        };
        Some((slot, next))
    }

    /// Moves bytes for the caller, if it is alone.
    pub(super) fn drive_alone(&self, caller: &Arc<Slot>, context: &mut Context<'_>) {
        if !self.is_alone(caller) {
            return;
        }
        let mut results = Vec::new();
        let mut link = self.link();
        // Again: once a task has polled the link, only the task is woken.
        if self.is_alone(caller) {
            let _ = self.poll_link(&mut link, context, &mut results);
        }
        drop(link);
        give(results);
    }

    /// Moves bytes for all. Ready when nothing is in flight, or the connection has ended.
    pub(super) fn drive_all(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut results = Vec::new();
        let done = self.poll_link(&mut self.link(), context, &mut results);
        give(results);
        done
    }

    /// Whether requests wait that the task can write.
    pub(super) fn has_outgoing(&self) -> bool {
        self.link().takes_requests() && self.requests().queue.has_outgoing()
    }

    /// The task waits until it is woken. False if requests have arrived that it can write.
    pub(super) fn wait_for_requests(&self, context: &Context<'_>) -> bool {
        let takes_requests = self.link().takes_requests();
        let mut requests = self.requests();
        if takes_requests && requests.queue.has_outgoing() {
            return false;
        }
        requests.driver = Driver::Task(Some(context.waker().clone()));
        true
    }

    /// Since when the first request has been waiting for its response.
    pub(super) fn waits_since(&self) -> Option<Instant> {
        self.requests().queue.waits_since()
    }

    /// Closes the connection: the response to the first request is overdue.
    pub(super) fn close_overdue(&self) {
        let reason = format!("an earlier request had no response within {:.1} s", self.timeout.as_secs_f64());
        let mut results = Vec::new();
        self.end(&mut self.link(), End::Broken(reason), &mut results);
        give(results);
    }

    /// Returns when the broker has been found silent. It is asked from `ask_at` on.
    pub(super) async fn silence(&self, ask_at: Instant) {
        let peer = loop {
            match self.peer.get() {
                Some(peer) => break peer,
                // It is being opened, which has its own time limit.
                None => sleep(RESPONSE_PATIENCE).await,
            }
        };
        peer.silence(ask_at).await;
    }

    /// Closes the connection: the broker has been found silent.
    pub(super) fn close_silent(&self) {
        let reason = self.peer.get().map(Peer::silence_reason).unwrap_or_default();
        let mut results = Vec::new();
        self.end(&mut self.link(), End::Broken(reason), &mut results);
        give(results);
    }

    /// Whether the broker was found silent after the connection was opened.
    fn is_silent(&self) -> bool {
        self.peer.get().is_some_and(Peer::is_silent)
    }

    /// The caller doesn't wait any more. If it is alone, the connection ends, as a caller that drops an exchange closes
    /// its connection; otherwise its response is received and discarded.
    pub(super) fn abandon(self: &Arc<Self>, caller: &Arc<Slot>) {
        let mut link = self.link();
        {
            let mut requests = self.requests();
            if !requests.driver.is(caller) {
                return;
            }
            // From here on, none can join.
            let left = requests.queue.end(false);
            let left = left.unknown.len() + left.unsent.len();
            assert_eq!(left, 1, "a caller that is alone has {left} requests");
        }
        link.close();
        drop(link);
        self.leave_alone(caller);
    }

    /// The caller that was alone has its result.
    pub(super) fn leave_alone(self: &Arc<Self>, caller: &Arc<Slot>) {
        self.leave(|driver| driver.is(caller));
    }

    /// The task ends, unless there are requests. Returns whether it does.
    pub(super) fn leave_task(self: &Arc<Self>) -> bool {
        self.leave(|driver| matches!(driver, Driver::Task(_)))
    }

    /// Makes the connection idle if nothing is in flight and the driver is this one. Returns whether it is.
    fn leave(self: &Arc<Self>, is_mine: impl Fn(&Driver) -> bool) -> bool {
        let Some(connections) = self.connections.upgrade() else { return self.requests().queue.is_empty() };
        let mut busy = connections.busy();
        let is_open = {
            let mut requests = self.requests();
            if !is_mine(&requests.driver) || !requests.queue.is_empty() {
                return false;
            }
            requests.driver = Driver::Idle;
            !requests.queue.is_closing()
        };
        busy.retain(|other| !Arc::ptr_eq(other, self));
        drop(busy);
        if is_open {
            connections.idle.put(self.clone());
        }
        true
    }

    /// Whether an idle connection was closed by the other side, as far as is known without waiting.
    fn is_closed(&self) -> bool {
        let mut link = self.link();
        if self.is_silent() {
            return true;
        }
        // An idle connection has nothing to receive.
        link.is_closed() || link.poll_read(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    /// Moves bytes as far as possible without waiting. Ready when nothing is in flight, or the connection has ended.
    fn poll_link(&self, link: &mut Link, context: &mut Context<'_>, results: &mut Results) -> Poll<()> {
        match ready!(link.poll_open(context)) {
            Ok(None) => {}
            Ok(Some(peer)) => assert!(self.peer.set(peer).is_ok(), "a connection was opened twice"),
            Err(error) => self.end(link, End::NotOpened(error), results),
        }
        while !link.is_closed() {
            // Bytes that arrived before it broke are read first.
            let broken = match self.write(link, context) {
                Poll::Ready(Err(error)) => Some(error),
                Poll::Ready(Ok(())) | Poll::Pending => None,
            };
            match (link.poll_read(context), broken) {
                (Poll::Ready(Ok(is_open)), _) => self.received(link, is_open, results),
                (Poll::Ready(Err(error)), _) | (Poll::Pending, Some(error)) => {
                    let end = match explain(&error) {
                        Some(reason) => End::NotOpened(ClientError::Tls { broker: self.broker.clone(), reason }),
                        None => End::Broken(error.to_string()),
                    };
                    self.end(link, end, results);
                }
                (Poll::Pending, None) if self.requests().queue.is_empty() => break,
                (Poll::Pending, None) => return Poll::Pending,
            }
            if self.requests().queue.is_empty() {
                break;
            }
        }
        Poll::Ready(())
    }

    /// Writes as much as possible.
    fn write(&self, link: &mut Link, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if !link.is_writing() {
                self.requests().queue.take_outgoing(link.next_to_write(), Instant::now());
            }
            let bytes = ready!(link.poll_write(context))?;
            if bytes == 0 {
                return Poll::Ready(Ok(()));
            }
            self.requests().queue.wrote(bytes);
        }
    }

    /// Finds the callers of the responses that have arrived.
    fn received(&self, link: &mut Link, is_open: bool, results: &mut Results) {
        let (arrived, mut end) = take_responses(link);
        {
            let mut requests = self.requests();
            for response in arrived {
                match requests.queue.answered(response.is_closing) {
                    Some(caller) => results.push((caller, Outcome::Answered(response))),
                    None => end = Some(End::NotResponse("a response without a request".to_owned())),
                }
            }
            if requests.queue.is_closing() {
                link.stop_writing();
            }
            let is_over = requests.queue.is_empty() && (requests.queue.is_closing() || !link.responses.is_between());
            if end.is_none() && (is_over || !is_open) {
                end = Some(End::Broken("it was closed before the response".to_owned()));
            }
        }
        if let Some(end) = end {
            self.end(link, end, results);
        }
    }

    /// Closes the connection. Everyone that is left gets a result.
    fn end(&self, link: &mut Link, end: End, results: &mut Results) {
        let is_after_response = link.responses.is_between() && !matches!(end, End::NotResponse(_));
        link.close();
        let Left { unknown, unsent } = self.requests().queue.end(is_after_response);
        let broker = || self.peer.get().map_or(self.broker.as_str(), Peer::url).to_owned();
        let broken = |reason: &str| ClientError::Broken { broker: broker(), reason: reason.to_owned() };
        let mut unknown = unknown.into_iter();
        let failed = match end {
            End::NotOpened(error) => {
                let all = unknown.chain(unsent);
                results.extend(all.map(|caller| (caller, Outcome::Failed(error.clone()))));
                return;
            }
            End::Broken(reason) => broken(&reason),
            End::NotResponse(reason) => {
                // Only the first one has got it.
                let first = ClientError::Answer { broker: broker(), reason: reason.clone() };
                results.extend(unknown.next().map(|caller| (caller, Outcome::Failed(first))));
                broken(&format!("an earlier response is not a broker's: {reason}"))
            }
        };
        results.extend(unknown.map(|caller| (caller, Outcome::Failed(failed.clone()))));
        results.extend(unsent.into_iter().map(|caller| (caller, Outcome::Unsent)));
    }

    /// Whether no other caller has a request here.
    fn is_alone(&self, caller: &Arc<Slot>) -> bool {
        self.requests().driver.is(caller)
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn give(results: Results) {
    results.into_iter().for_each(|(caller, outcome)| caller.set(outcome));
}

impl Pooled for Arc<Shared> {
    fn is_closed(&mut self) -> bool {
        Shared::is_closed(self)
    }
}

/// The responses that have arrived, and why the bytes after them aren't a response.
fn take_responses(link: &mut Link) -> (Vec<Response>, Option<End>) {
    let mut arrived = Vec::new();
    loop {
        match link.responses.next() {
            Ok(Some(response)) => arrived.push(response),
            Ok(None) => return (arrived, None),
            Err(reason) => return (arrived, Some(End::NotResponse(reason))),
        }
    }
}
