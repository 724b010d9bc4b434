//! Sends a slow request to a bucket a second time, on another connection: whichever ends first counts.
//!
//! Some requests to a bucket take a hundred times as long as most, whatever they are for. A journal acknowledges its
//! objects in order, so one slow PUT delays all topics. With HTTP/1.1, a connection has one request at a time, so the
//! second one never waits for the first. The loser is dropped at once, which frees its connection and its share of the
//! object's memory.
//!
//! Which requests are slow follows from the budget: the slowest 3 % use three fifths of it. The rest is for the second
//! requests that are slow too, which get a third one sooner, and for times in which more requests are slow than before.
//! If the budget is nearly spent, only the slowest get a second request: one that takes ten seconds delays more appends
//! than ten that take one.
//!
//! A bucket where many PUTs are slow gets fewer objects from a journal, which batches for longer meanwhile. As many
//! requests as it has spared by this are sent earlier: as soon as one takes three medians.

use crate::limits::{
    HEDGE_AFTER, HEDGE_AFTER_MIN, HEDGES_MAX, HEDGES_PER_REQUEST, HEDGES_RESERVED, HEDGES_SAVED_MAX, HEDGES_SPARED_MAX,
    RESEND_AFTER,
};
use crate::metrics::METRICS;
use futures_util::stream::{FuturesUnordered, StreamExt};
use rawline_journal::{FoundId, Hedge, Next, PutResult};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};

/// Number of recent requests that say how long one takes: at ten a second, those of the last half minute. Fewer have
/// too few slow ones to estimate how slow these are.
const RECENT_MAX: usize = 256;
/// With fewer, the slowest of them say little about the next one.
const RECENT_MIN: usize = 16;
/// The share of recent requests that are faster than a slow one.
const FASTER: f64 = 0.97;
/// A slow request takes at least this many times as long as the median: where all take about as long, the slowest of
/// them would be no faster the second time.
const MEDIANS: u32 = 3;
/// A request that has taken this many times as long as a slow one may use the budget's reserve.
const VERY_SLOW: u32 = 2;
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
    /// The same of the id of an object that a PUT may have stored: until then the PUT has no outcome.
    GetId,
}

impl Kind {
    /// Which requests are its peers.
    fn class(self) -> usize {
        match self {
            Kind::Get | Kind::GetId => SIZE_CLASSES,
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
    /// Number of PUTs that were spared, and whose place no second request has taken yet.
    spared: u32,
}

impl Hedges {
    pub(super) fn new() -> Hedges {
        let recent = std::array::from_fn(|_| Recent::default());
        Hedges(Mutex::new(State { recent, puts: Budget::default(), gets: Budget::default(), spared: 0 }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many PUTs fewer were sent than a journal's batch wait allows.
    pub(super) fn spared(&self, puts: u32) {
        let mut state = self.state();
        state.spared = state.spared.saturating_add(puts).min(HEDGES_SPARED_MAX);
    }

    /// A request begins.
    fn begin(&self, kind: Kind) -> Watched<'_> {
        let mut state = self.state();
        state.budget(kind).earn();
        let (slow_after, late_after) = state.recent(kind).slow_after();
        drop(state);
        let began = Instant::now();
        Watched {
            hedges: self,
            kind,
            began,
            slow_after,
            late_after,
            look_at: began + late_after,
            sent_again: 0,
            has_failed: false,
        }
    }
}

/// A request without a result.
struct Watched<'a> {
    hedges: &'a Hedges,
    kind: Kind,
    began: Instant,
    /// How long it may take before it is slow.
    slow_after: Duration,
    /// How long it may take before it is late: less than a slow one. The next one, once it was sent again, may take as
    /// long.
    late_after: Duration,
    /// When to look whether it has ended.
    look_at: Instant,
    /// How often it was sent again.
    sent_again: u32,
    /// Whether a try of it has failed: then its time says nothing about the next request.
    has_failed: bool,
}

impl Watched<'_> {
    /// Whether it may become slow enough to be sent once more.
    fn can_be_slow(&self) -> bool {
        self.sent_again < HEDGES_MAX
    }

    /// It is late: whether to send it once more now. If so, that is counted.
    fn may_send(&mut self) -> bool {
        let now = Instant::now();
        let slow_at = self.began + self.slow_after;
        let is_very_slow = self.sent_again > 0 || now >= self.began + VERY_SLOW * self.slow_after;
        let reserved = if is_very_slow { 0.0 } else { HEDGES_RESERVED };
        let reserved = (is_very_slow || now >= slow_at).then_some(reserved);
        let may_send = self.hedges.state().spend(self.kind, reserved);
        self.look_at = now + self.late_after;
        if may_send {
            METRICS.bucket.hedged(matches!(self.kind, Kind::Put(_)));
            self.sent_again += 1;
        } else if now < slow_at {
            self.look_at = self.look_at.min(slow_at);
        }
        may_send
    }

    /// It has succeeded, or one of the others has.
    fn succeeded(&self) {
        if !self.has_failed {
            self.hedges.state().recent(self.kind).note(self.began.elapsed());
        }
    }
}

impl State {
    fn budget(&mut self, kind: Kind) -> &mut Budget {
        match kind {
            Kind::Put(_) => &mut self.puts,
            Kind::Get | Kind::GetId => &mut self.gets,
        }
    }

    /// Takes one that was spared, if appends wait for this request, or else one of the budget besides those reserved;
    /// `None` for a request that may take none of these.
    fn spend(&mut self, kind: Kind, reserved: Option<f64>) -> bool {
        if self.spared > 0 && !matches!(kind, Kind::Get) {
            self.spared -= 1;
            return true;
        }
        reserved.is_some_and(|reserved| self.budget(kind).spend(reserved))
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

    /// The time after which a request is slow, and that after which it is late.
    fn slow_after(&self) -> (Duration, Duration) {
        let mut times = self.times.clone();
        times.sort_unstable();
        let at = |share: f64| times.get((share * times.len() as f64) as usize).copied().unwrap_or_default();
        let min = if times.len() < RECENT_MIN { HEDGE_AFTER } else { HEDGE_AFTER_MIN };
        let late_after = (MEDIANS * at(0.5)).max(min);
        (at(FASTER).max(late_after), late_after)
    }
}

/// How many more requests may be sent.
struct Budget {
    tokens: f64,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { tokens: HEDGES_SAVED_MAX }
    }
}

impl Budget {
    fn earn(&mut self) {
        self.tokens = (self.tokens + HEDGES_PER_REQUEST).min(HEDGES_SAVED_MAX);
    }

    /// Takes one if there is one besides those reserved.
    fn spend(&mut self, reserved: f64) -> bool {
        let has_one = self.tokens >= 1.0 + reserved;
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
    let (mut watched, mut hedge) = (hedges.begin(Kind::Put(bytes)), Hedge::new());
    let mut requests = FuturesUnordered::from_iter([send()]);
    let (mut reads, mut pauses) = (FuturesUnordered::new(), FuturesUnordered::new());
    loop {
        let next = tokio::select! {
            biased;
            Some(result) = requests.next() => {
                if result == PutResult::Unknown {
                    // A bucket that is busy refuses some requests at once. The other one may take long.
                    watched.has_failed = true;
                    pauses.push(sleep(RESEND_AFTER));
                }
                hedge.ended(result)
            }
            Some(found) = reads.next() => hedge.read(found),
            Some(()) = pauses.next(), if !requests.is_empty() => {
                hedge.sent();
                requests.push(send());
                continue;
            }
            () = sleep_until(watched.look_at), if !requests.is_empty() && watched.can_be_slow() => {
                if watched.may_send() {
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
                    watched.succeeded();
                }
                return result;
            }
        }
    }
}

/// Sends a GET. `send` begins a request, `is_answer` says whether it has ended with the bucket's answer. Otherwise the
/// other requests decide.
pub(super) async fn get<T, F>(hedges: &Hedges, kind: Kind, send: impl Fn() -> F, is_answer: impl Fn(&T) -> bool) -> T
where
    F: Future<Output = T>,
{
    let mut watched = hedges.begin(kind);
    let mut requests = FuturesUnordered::from_iter([send()]);
    loop {
        tokio::select! {
            biased;
            Some(ended) = requests.next() => {
                let is_answer = is_answer(&ended);
                if is_answer {
                    watched.succeeded();
                }
                watched.has_failed |= !is_answer;
                if is_answer || requests.is_empty() {
                    return ended;
                }
            }
            () = sleep_until(watched.look_at), if watched.can_be_slow() => {
                if watched.may_send() {
                    requests.push(send());
                }
            }
        }
    }
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
        let mut state = hedges.state();
        for took in 1..=100 {
            state.recent(Kind::Put(SMALL)).note(ms(took));
            state.recent(Kind::Get).note(ms(took));
        }
        (state.puts.tokens, state.gets.tokens) = (saved, saved);
        drop(state);
        hedges
    }

    /// Sends a PUT whose requests take these times and end so. Returns its result, the number of requests, and
    /// how long it took.
    async fn sent(hedges: &Hedges, requests: &[(u64, PutResult)], found: FoundId) -> (PutResult, usize, Duration) {
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
        assert_eq!(recent.slow_after(), (HEDGE_AFTER, HEDGE_AFTER));
        (0..RECENT_MIN).for_each(|_| recent.note(ms(1)));
        assert_eq!(recent.slow_after(), (HEDGE_AFTER_MIN, HEDGE_AFTER_MIN));
        (0..RECENT_MAX).for_each(|_| recent.note(ms(15)));
        assert_eq!(recent.slow_after(), (ms(45), ms(45)), "three medians");
        (0..RECENT_MAX).for_each(|n| recent.note(if n % 20 == 0 { ms(500) } else { ms(20) }));
        assert_eq!(recent.slow_after(), (ms(500), ms(60)), "more than 3 % take so long");
        (0..RECENT_MAX).for_each(|_| recent.note(ms(20)));
        assert_eq!(recent.slow_after(), (ms(60), ms(60)), "what was long ago is forgotten");
        let classes: Vec<usize> =
            [0, 1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 23, 1 << 40].map(|bytes| Kind::Put(bytes).class()).into();
        assert_eq!(classes, [0, 0, 1, 1, 2, 4, 7]);
    }

    #[test]
    fn a_twentieth_of_the_requests_is_sent_again() {
        let mut budget = Budget::default();
        let mut again = 0;
        for _ in 0..1000 {
            budget.earn();
            again += usize::from(budget.spend(0.0));
        }
        let expected = 50 + HEDGES_SAVED_MAX as usize;
        assert!((expected - 1..=expected).contains(&again), "{again} of 1000");
        (0..1000).for_each(|_| budget.earn());
        let burst = (0..1000).filter(|_| budget.spend(HEDGES_RESERVED)).count();
        assert_eq!(burst, (HEDGES_SAVED_MAX - HEDGES_RESERVED) as usize, "few are saved up, and some reserved");
        let rest = (0..1000).filter(|_| budget.spend(0.0)).count();
        assert_eq!(rest, HEDGES_RESERVED as usize);
    }

    #[test]
    fn few_spared_requests_are_saved_up_and_only_for_those_that_appends_wait_for() {
        let hedges = hedges(0.0);
        hedges.spared(1);
        hedges.spared(u32::MAX);
        let mut state = hedges.state();
        assert!(!state.spend(Kind::Get, None) && state.spend(Kind::GetId, None));
        let sent = (0..1000).filter(|_| state.spend(Kind::Put(SMALL), None)).count();
        assert_eq!(sent + 1, HEDGES_SPARED_MAX as usize);
    }

    /// Where more than 3 % of the requests are slow, the slowest 3 % take far longer than three medians.
    #[tokio::test(start_paused = true)]
    async fn a_put_that_is_late_takes_the_place_of_one_that_was_spared() {
        let storm = |spared| {
            let hedges = hedges(4.0);
            (0..RECENT_MAX)
                .for_each(|n| hedges.state().recent(Kind::Put(SMALL)).note(ms(if n % 20 == 0 { 900 } else { 50 })));
            hedges.spared(spared);
            hedges
        };
        let (slow, fast) = ((10_000, CREATED), (20, CREATED));
        let hedges = storm(3);
        assert_eq!(sent(&hedges, &[slow, slow, fast], FoundId::Unknown).await, (CREATED, 3, ms(2 * 150 + 20)));
        assert_eq!(hedges.state().spared, 1);
        assert_eq!(hedges.state().puts.tokens, 4.0 + HEDGES_PER_REQUEST);
        let ended = sent(&storm(0), &[slow, fast], FoundId::Unknown).await;
        assert_eq!(ended, (CREATED, 2, ms(900 + 20)), "without them, only the slowest are sent again");
        let hedges = storm(0);
        let spares = async {
            sleep(ms(400)).await;
            hedges.spared(1);
        };
        let requests = [slow, fast];
        let (ended, ()) = tokio::join!(sent(&hedges, &requests, FoundId::Unknown), spares);
        assert_eq!(ended, (CREATED, 2, ms(3 * 150 + 20)), "while it waits, one is spared");
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_put_is_overtaken() {
        let (slow, fast) = ((10_000, CREATED), (20, CREATED));
        let ended = sent(&hedges(4.0), &[slow, fast], FoundId::Unknown).await;
        assert_eq!(ended, (CREATED, 2, ms(153 + 20)), "slow after three medians of 51 ms");
        let ended = sent(&hedges(3.0), &[slow, fast], FoundId::Unknown).await;
        assert_eq!(ended, (CREATED, 2, ms(2 * 153 + 20)), "the reserve is for those that take twice as long");
        let ended = sent(&hedges(0.0), &[slow, fast], FoundId::Unknown).await;
        assert_eq!(ended, (CREATED, 1, ms(10_000)), "nothing is saved up");
        let ended = sent(&hedges(4.0), &[(150, CREATED), fast], FoundId::Unknown).await;
        assert_eq!(ended, (CREATED, 1, ms(150)), "it isn't slow");
        let ended = sent(&hedges(4.0), &[slow, slow, fast], FoundId::Unknown).await;
        assert_eq!(ended, (CREATED, 3, ms(2 * 153 + 20)), "the second is slow too");
        let ended = sent(&hedges(9.0), &[slow, slow, slow, fast], FoundId::Unknown).await;
        assert_eq!(ended, (CREATED, 3, ms(10_000)), "two more are enough");
    }

    #[tokio::test(start_paused = true)]
    async fn a_put_that_waited_for_its_second_request_gets_it_once_the_budget_allows() {
        let hedges = hedges(0.0);
        let earns = async {
            sleep(ms(1000)).await;
            hedges.state().puts.tokens = 1.0;
        };
        let (ended, ()) = tokio::join!(sent(&hedges, &[(10_000, CREATED), (20, CREATED)], FoundId::Unknown), earns);
        assert_eq!(ended, (CREATED, 2, ms(7 * 153 + 20)));
    }

    /// It would wait for the first one, which may take ten seconds.
    #[tokio::test(start_paused = true)]
    async fn a_hedge_that_is_refused_is_sent_again() {
        let (slow, refused) = ((10_000, CREATED), (20, PutResult::Unknown));
        let ended = sent(&hedges(4.0), &[slow, refused, refused, (20, CREATED)], FoundId::Unknown).await;
        assert_eq!(ended, (CREATED, 4, ms(153 + 20 + 2 * (25 + 20))));
        let ended = sent(&hedges(4.0), &[refused], FoundId::Unknown).await;
        assert_eq!(ended, (PutResult::Unknown, 1, ms(20)), "the journal sends one again that is alone");
        let slow_refused = (170, PutResult::Unknown);
        let ended = sent(&hedges(4.0), &[slow_refused, refused], FoundId::Unknown).await;
        assert_eq!(ended, (PutResult::Unknown, 2, ms(153 + 20)), "both ended within the pause");
    }

    #[tokio::test(start_paused = true)]
    async fn times_of_requests_that_fail_do_not_count() {
        let hedges = hedges(4.0);
        let refused = (200, PutResult::Unknown);
        let ended = sent(&hedges, &[refused, (1000, CREATED), (20, CREATED)], FoundId::Unknown).await;
        assert_eq!(ended, (CREATED, 3, ms(200 + 25 + 20)));
        assert_eq!(hedges.state().recent(Kind::Put(SMALL)).times.len(), 100);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_hedge_finds_its_own_object() {
        let (own, found) = (FoundId::Own { created: 7, date: 9 }, PutResult::Found { created: 7, date: 9 });
        let requests = [(10_000, CREATED), (20, PutResult::Exists)];
        assert_eq!(sent(&hedges(4.0), &requests, own).await, (found, 2, ms(153 + 20 + 5)));
        let ended = sent(&hedges(4.0), &requests, FoundId::Other).await;
        assert_eq!(ended, (PutResult::Unknown, 2, ms(153 + 20 + 5)));
        let requests = [(10_000, CREATED), (20, PutResult::Exists), (20, PutResult::Exists)];
        let ended = sent(&hedges(4.0), &requests, FoundId::Unknown).await;
        assert_eq!(ended, (CREATED, 3, ms(10_000)), "both reads failed, and the first request decides");
        let requests = [(175, PutResult::Unknown), (20, PutResult::Exists)];
        assert_eq!(sent(&hedges(4.0), &requests, FoundId::Unknown).await, (PutResult::Unknown, 2, ms(178)));
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_answer_to_a_get_counts() {
        let answer = async |hedges: &Hedges, requests: &[(u64, Result<u8, ()>)]| {
            let (count, began) = (Cell::new(0), Instant::now());
            let send = || {
                let (took, result) = requests[count.replace(count.get() + 1)];
                async move {
                    sleep(ms(took)).await;
                    result
                }
            };
            (get(hedges, Kind::Get, send, Result::is_ok).await, count.get(), began.elapsed())
        };
        let slow = (10_000, Ok(1));
        assert_eq!(answer(&hedges(4.0), &[slow, (20, Ok(2))]).await, (Ok(2), 2, ms(173)));
        assert_eq!(answer(&hedges(4.0), &[slow, slow, (20, Ok(3))]).await, (Ok(3), 3, ms(326)));
        assert_eq!(answer(&hedges(4.0), &[(160, Err(())), (20, Ok(2))]).await, (Ok(2), 2, ms(173)));
        assert_eq!(answer(&hedges(4.0), &[slow, (20, Err(())), (20, Err(()))]).await, (Ok(1), 3, ms(10_000)));
        assert_eq!(answer(&hedges(4.0), &[(100, Err(())), (20, Ok(2))]).await, (Err(()), 1, ms(100)));
        assert_eq!(answer(&hedges(0.0), &[(300, Ok(1)), (20, Ok(2))]).await, (Ok(1), 1, ms(300)));
    }
}
