//! Sends a slow request to a bucket a second time, on another connection: whichever ends first counts.
//!
//! Some requests to a bucket take a hundred times as long as most, whatever they are for. A journal acknowledges its
//! objects in order, so one slow PUT delays all topics. With HTTP/1.1, a connection has one request at a time, so the
//! second one never waits for the first. The loser is dropped at once, which frees its connection and its share of the
//! object's memory.

use crate::limits::{HEDGE_AFTER, HEDGE_AFTER_MIN, HEDGES_PER_REQUEST, HEDGES_SAVED_MAX};
use crate::metrics::METRICS;
use futures_util::future::select;
use futures_util::stream::{FuturesUnordered, StreamExt};
use rawline_journal::{FoundId, Hedge, Next, PutResult};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout_at};

/// Number of recent requests that say how long one takes: at ten a second, those of the last seconds.
const RECENT_MAX: usize = 128;
/// With fewer, the slowest of them say little about the next one.
const RECENT_MIN: usize = 16;
/// The share of recent requests that are faster than a slow one.
const FASTER: f64 = 0.95;
/// A slow request takes at least this many times as long as the median: where all take about as long, the slowest of
/// them would be no faster the second time.
const MEDIANS: u32 = 3;
/// Requests of sizes within a factor of 4 are peers, from 64 KiB on: below, the size doesn't matter.
const SIZE_CLASSES: usize = 8;
const SMALL_BYTES_LOG2: u32 = 16;

/// What is sent.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// A PUT of so many bytes.
    Put(u64),
    /// A GET, until its response begins.
    Get,
}

impl Kind {
    /// Which requests are its peers.
    fn class(self) -> usize {
        match self {
            Kind::Get => SIZE_CLASSES,
            Kind::Put(bytes) => {
                let log2 = bytes.max(1).ilog2().saturating_sub(SMALL_BYTES_LOG2);
                (log2 as usize).div_ceil(2).min(SIZE_CLASSES - 1)
            }
        }
    }
}

/// When requests to one bucket are sent again.
pub(super) struct Hedges(Mutex<State>);

struct State {
    recent: [Recent; SIZE_CLASSES + 1],
    puts: Budget,
    gets: Budget,
}

impl Hedges {
    pub(super) fn new() -> Hedges {
        let recent = std::array::from_fn(|_| Recent::default());
        Hedges(Mutex::new(State { recent, puts: Budget::default(), gets: Budget::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request begins. Returns how long it may take before it is slow.
    fn begin(&self, kind: Kind) -> Duration {
        let mut state = self.state();
        state.budget(kind).earn();
        state.recent(kind).slow_after()
    }

    /// Whether a slow request may be sent again. If so, that is counted.
    fn may_send(&self, kind: Kind) -> bool {
        let may_send = self.state().budget(kind).spend();
        if may_send {
            METRICS.bucket.hedged(matches!(kind, Kind::Put(_)));
        }
        may_send
    }

    /// A request has succeeded after this time, or its second try has.
    fn succeeded(&self, kind: Kind, took: Duration) {
        self.state().recent(kind).note(took);
    }
}

impl State {
    fn budget(&mut self, kind: Kind) -> &mut Budget {
        match kind {
            Kind::Put(_) => &mut self.puts,
            Kind::Get => &mut self.gets,
        }
    }

    fn recent(&mut self, kind: Kind) -> &mut Recent {
        let class = kind.class();
        self.recent.get_mut(class).unwrap_or_else(|| unreachable!("{kind:?} is of class {class}"))
    }
}

/// How long the newest requests of a kind took.
#[derive(Default)]
struct Recent {
    times: Vec<Duration>,
    /// Where the next one goes, once there are as many as are kept.
    next: usize,
}

impl Recent {
    fn note(&mut self, took: Duration) {
        match self.times.get_mut(self.next) {
            Some(oldest) => *oldest = took,
            None => self.times.push(took),
        }
        self.next = (self.next + 1) % RECENT_MAX;
    }

    fn slow_after(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort_unstable();
        let at = |share: f64| times.get((share * times.len() as f64) as usize).copied().unwrap_or_default();
        let slow = at(FASTER).max(MEDIANS * at(0.5)).max(HEDGE_AFTER_MIN);
        if times.len() < RECENT_MIN { slow.max(HEDGE_AFTER) } else { slow }
    }
}

/// How many more requests may be sent.
struct Budget {
    tokens: f64,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { tokens: 1.0 }
    }
}

impl Budget {
    fn earn(&mut self) {
        self.tokens = (self.tokens + HEDGES_PER_REQUEST).min(HEDGES_SAVED_MAX);
    }

    fn spend(&mut self) -> bool {
        let has_one = self.tokens >= 1.0;
        if has_one {
            self.tokens -= 1.0;
        }
        has_one
    }
}

/// Creates an object of `bytes` bytes. `send` begins a request, `read_id` reads the id of the object that exists.
pub(super) async fn put<P, R>(hedges: &Hedges, bytes: u64, send: impl Fn() -> P, read_id: impl Fn() -> R) -> PutResult
where
    P: Future<Output = PutResult>,
    R: Future<Output = FoundId>,
{
    let (kind, began) = (Kind::Put(bytes), Instant::now());
    let slow_at = began + hedges.begin(kind);
    let (mut hedge, mut requests, mut reads) = (Hedge::new(), FuturesUnordered::new(), FuturesUnordered::new());
    requests.push(send());
    let mut is_alone = true;
    loop {
        let next = tokio::select! {
            biased;
            Some(result) = requests.next() => hedge.ended(result),
            Some(found) = reads.next() => hedge.read(found),
            () = sleep_until(slow_at), if is_alone => {
                is_alone = false;
                if hedges.may_send(kind) {
                    hedge.sent();
                    requests.push(send());
                }
                continue;
            }
        };
        match next {
            Next::Wait => {}
            Next::ReadId => reads.push(read_id()),
            Next::Ended(result) => {
                if result.created().is_some() {
                    hedges.succeeded(kind, began.elapsed());
                }
                return result;
            }
        }
    }
}

/// Sends a GET. `send` begins a request, `is_answer` says whether it has ended with the bucket's answer. Otherwise the
/// second request decides.
pub(super) async fn get<T, F>(hedges: &Hedges, send: impl Fn() -> F, is_answer: impl Fn(&T) -> bool) -> T
where
    F: Future<Output = T>,
{
    let began = Instant::now();
    let slow_at = began + hedges.begin(Kind::Get);
    let mut first = pin!(send());
    let ended = match timeout_at(slow_at, &mut first).await {
        Ok(ended) => ended,
        Err(_) if !hedges.may_send(Kind::Get) => first.await,
        Err(_) => {
            let second = pin!(send());
            let (ended, other) = select(first, second).await.factor_first();
            if is_answer(&ended) { ended } else { other.await }
        }
    };
    if is_answer(&ended) {
        hedges.succeeded(Kind::Get, began.elapsed());
    }
    ended
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use tokio::time::sleep;

    const SMALL: u64 = 1000;
    const CREATED: PutResult = PutResult::Created { date: 9 };

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Hedges of a bucket whose small PUTs and whose GETs took 1 to 100 ms, with this many requests saved up.
    fn hedges(saved: f64) -> Hedges {
        let hedges = Hedges::new();
        for took in 1..=100 {
            hedges.succeeded(Kind::Put(SMALL), ms(took));
            hedges.succeeded(Kind::Get, ms(took));
        }
        let mut state = hedges.state();
        (state.puts.tokens, state.gets.tokens) = (saved, saved);
        drop(state);
        hedges
    }

    /// Sends a PUT whose requests take these times and end so. Returns its result, the number of requests, and
    /// how long it took.
    async fn sent(hedges: &Hedges, requests: [(u64, PutResult); 2], found: FoundId) -> (PutResult, usize, Duration) {
        let (count, began) = (Cell::new(0), Instant::now());
        let send = || {
            let (took, result) = requests[count.replace(count.get() + 1)];
            async move {
                sleep(ms(took)).await;
                result
            }
        };
        let read_id = || async {
            sleep(ms(5)).await;
            found
        };
        let result = put(hedges, SMALL, send, read_id).await;
        (result, count.get(), began.elapsed())
    }

    #[test]
    fn a_request_is_slow_compared_with_its_peers() {
        let mut recent = Recent::default();
        assert_eq!(recent.slow_after(), HEDGE_AFTER);
        (0..RECENT_MIN).for_each(|_| recent.note(ms(1)));
        assert_eq!(recent.slow_after(), HEDGE_AFTER_MIN);
        (0..RECENT_MAX).for_each(|_| recent.note(ms(15)));
        assert_eq!(recent.slow_after(), ms(45), "three medians");
        (0..RECENT_MAX).for_each(|n| recent.note(if n % 10 == 0 { ms(500) } else { ms(20) }));
        assert_eq!(recent.slow_after(), ms(500), "more than a twentieth takes so long");
        (0..RECENT_MAX).for_each(|_| recent.note(ms(20)));
        assert_eq!(recent.slow_after(), ms(60), "what was long ago is forgotten");
        let classes: Vec<usize> =
            [0, 1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 23, 1 << 40].map(|bytes| Kind::Put(bytes).class()).into();
        assert_eq!(classes, [0, 0, 1, 1, 2, 4, 7]);
    }

    #[test]
    fn a_twentieth_of_the_requests_is_sent_again() {
        let hedges = Hedges::new();
        let mut again = 0;
        for _ in 0..1000 {
            hedges.begin(Kind::Put(SMALL));
            again += usize::from(hedges.may_send(Kind::Put(SMALL)));
        }
        assert!((50..=51).contains(&again), "{again} of 1000");
        (0..1000).for_each(|_| assert_eq!(hedges.begin(Kind::Get), HEDGE_AFTER));
        let burst = (0..1000).filter(|_| hedges.may_send(Kind::Get)).count();
        assert_eq!(burst, HEDGES_SAVED_MAX as usize, "few are saved up");
        assert!(!hedges.may_send(Kind::Put(SMALL)), "GETs save up nothing for PUTs");
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_put_is_overtaken() {
        let slow = (10_000, CREATED);
        let ended = sent(&hedges(1.0), [slow, (20, CREATED)], FoundId::Unknown).await;
        assert_eq!(ended, (CREATED, 2, ms(153 + 20)), "slow after three medians of 51 ms");
        let ended = sent(&hedges(0.0), [slow, (20, CREATED)], FoundId::Unknown).await;
        assert_eq!(ended, (CREATED, 1, ms(10_000)), "nothing is saved up");
        let ended = sent(&hedges(1.0), [(150, CREATED), (20, CREATED)], FoundId::Unknown).await;
        assert_eq!(ended, (CREATED, 1, ms(150)), "it isn't slow");
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_hedge_finds_its_own_object() {
        let (own, found) = (FoundId::Own { created: 7, date: 9 }, PutResult::Found { created: 7, date: 9 });
        let requests = [(10_000, CREATED), (20, PutResult::Exists)];
        assert_eq!(sent(&hedges(1.0), requests, own).await, (found, 2, ms(153 + 20 + 5)));
        let ended = sent(&hedges(1.0), requests, FoundId::Other).await;
        assert_eq!(ended, (PutResult::Unknown, 2, ms(153 + 20 + 5)));
        let ended = sent(&hedges(1.0), requests, FoundId::Unknown).await;
        assert_eq!(ended, (CREATED, 2, ms(10_000)), "the read failed, and the first request decides");
        let requests = [(200, PutResult::Unknown), (20, PutResult::Exists)];
        assert_eq!(sent(&hedges(1.0), requests, FoundId::Unknown).await, (PutResult::Unknown, 2, ms(200)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_answer_to_a_get_counts() {
        let answer = async |hedges: &Hedges, requests: [(u64, Result<u8, ()>); 2]| {
            let (count, began) = (Cell::new(0), Instant::now());
            let send = || {
                let (took, result) = requests[count.replace(count.get() + 1)];
                async move {
                    sleep(ms(took)).await;
                    result
                }
            };
            (get(hedges, send, Result::is_ok).await, count.get(), began.elapsed())
        };
        assert_eq!(answer(&hedges(1.0), [(10_000, Ok(1)), (20, Ok(2))]).await, (Ok(2), 2, ms(173)));
        assert_eq!(answer(&hedges(1.0), [(160, Err(())), (20, Ok(2))]).await, (Ok(2), 2, ms(173)));
        assert_eq!(answer(&hedges(1.0), [(10_000, Ok(1)), (20, Err(()))]).await, (Ok(1), 2, ms(10_000)));
        assert_eq!(answer(&hedges(1.0), [(100, Err(())), (20, Ok(2))]).await, (Err(()), 1, ms(100)));
        assert_eq!(answer(&hedges(0.0), [(300, Ok(1)), (20, Ok(2))]).await, (Ok(1), 1, ms(300)));
    }
}
