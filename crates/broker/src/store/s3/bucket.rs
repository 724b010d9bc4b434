//! Requests to a bucket, each with its retries.

use super::S3Config;
use super::address::Address;
use super::connect::{Connected, Credentials, connect, words};
use super::date::DateSlot;
use super::failed::{Failed, Reply, error_chain};
use super::hedge::{self, Hedges, Kind};
use super::outage::Outage;
use super::tries::Tries;
use crate::store::Dated;
use crate::store::cache::{CacheError, Sink};
use crate::store_error::StoreError;
use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt};
use object_store::list::PaginatedListStore;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectStore, PutMode, PutOptions, PutPayload, PutResult};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, timeout};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a response's body may stall before the rest is requested on another connection, or the whole again: longer
/// than a packet that is lost several times takes. Each stall without a byte doubles it, for a network that is so slow.
const STALL_MAX: Duration = Duration::from_secs(1);

/// The next piece of a response's body, which may stall for so long; `None` at its end.
async fn next_piece(
    pieces: &mut BoxStream<'_, object_store::Result<Bytes>>,
    stall_max: Duration,
) -> Result<Option<Bytes>, Failed> {
    // In one half, this thread may have waited for the cache's disk while the piece was there.
    for _ in 0..2 {
        if let Ok(piece) = timeout(stall_max / 2, pieces.next()).await {
            return piece.transpose().map_err(Failed::from);
        }
    }
    Err(Failed::TimedOut)
}

/// An object that is fetched.
struct Fetched<'a> {
    store: &'a Arc<dyn ObjectStore>,
    path: &'a Path,
    bytes: u64,
}

/// Requests to a bucket, each with its retries.
pub(super) struct Bucket {
    pub(super) store: Arc<dyn ObjectStore>,
    /// A client for each of the cache's threads, so that the thread that fetches has the connections.
    fetching: Vec<Arc<dyn ObjectStore>>,
    pub(super) pages: Arc<dyn PaginatedListStore>,
    pub(super) has_start_after: bool,
    credentials: Credentials,
    pub(super) address: Address,
    pub(super) endpoint: String,
    pub(super) request_timeout: Duration,
    pub(super) retry_budget: Duration,
    pub(super) outage: Outage,
    pub(super) hedges: Hedges,
    /// Since when every PUT has failed.
    puts_fail_since: Mutex<Option<Instant>>,
}

impl Bucket {
    /// The bucket that `config` names.
    pub(super) fn new(config: &S3Config) -> Result<Bucket, StoreError> {
        let connect_timeout = CONNECT_TIMEOUT.min(config.request_timeout);
        let connect = || connect(&config.address, &config.variables, connect_timeout);
        let Connected { store, pages, has_start_after, endpoint, credentials } = connect()?;
        let fetching = (0..config.cache.fetch_threads()).map(|_| Ok(connect()?.store));
        Ok(Bucket {
            store,
            fetching: fetching.collect::<Result<_, StoreError>>()?,
            pages,
            has_start_after,
            credentials,
            address: config.address.clone(),
            endpoint,
            request_timeout: config.request_timeout,
            retry_budget: config.retry_budget,
            outage: Outage::default(),
            hedges: Hedges::new(),
            puts_fail_since: Mutex::default(),
        })
    }

    pub(super) async fn check_credentials(&self) -> Result<(), StoreError> {
        let mut tries = Tries::at_start(self);
        let cause = loop {
            let error = match timeout(self.request_timeout, self.credentials.check()).await {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(error)) => error,
                Err(_) => break "no response in time".to_owned(),
            };
            let cause = error_chain(&error);
            // A machine without a service that gives credentials has none in a moment either; one that fails has.
            let is_busy = Reply::of(&error).status.is_some_and(|status| status == 429 || status >= 500);
            if !is_busy || tries.again(Failed::from(error)).await.is_err() {
                break cause;
            }
        };
        let (address, advice) = (&self.address, words(self.address.service).no_credentials);
        Err(StoreError::human(format!("no credentials for {address}: {advice}: {cause}")))
    }

    /// Creates an object if it doesn't exist. One try.
    pub(super) async fn create(&self, path: &Path, payload: PutPayload) -> Result<(), Failed> {
        self.put(path, payload, PutMode::Create.into()).await.map(drop)
    }

    /// Sends one PUT, which may take a second more for each MiB.
    pub(super) async fn put(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult, Failed> {
        let limit = self.request_timeout + Duration::from_secs((payload.content_length() >> 20) as u64);
        match timeout(limit, self.store.put_opts(path, payload, options)).await {
            Ok(Ok(put)) => {
                *self.puts_fail_since.lock().unwrap_or_else(PoisonError::into_inner) = None;
                Ok(put)
            }
            Ok(Err(error)) => Err(Failed::from(error)),
            Err(_) => Err(Failed::TimedOut),
        }
    }

    /// Logs that a PUT failed, which is retried: as a warning if all have failed for a while.
    pub(super) fn put_failed(&self, error: &StoreError) {
        let now = Instant::now();
        let since = *self.puts_fail_since.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(now);
        if self.outage.report(since, now) {
            tracing::warn!(%error, "PUTs fail; they are retried, and whether one had an effect will be seen");
        } else {
            tracing::debug!(%error, "a PUT failed; whether it had an effect will be seen");
        }
    }

    /// The first bytes of an object, fewer if it has fewer; `None` if it doesn't exist.
    pub(super) async fn front(&self, path: &Path, bytes: u64) -> Result<Option<Bytes>, StoreError> {
        let range = Some(GetRange::Bounded(0..bytes));
        self.get(path, range).await
    }

    /// A small key's content; `None` if there is no such key.
    pub(super) async fn small(&self, path: &Path) -> Result<Option<Bytes>, StoreError> {
        self.get(path, None).await
    }

    /// Bytes of a key, and the store's time at which it was stored, in seconds since the Unix epoch; `None` if there is
    /// no such key. One request, without retries.
    pub(super) async fn get_once(
        &self,
        path: &Path,
        range: Option<Range<u64>>,
    ) -> Result<Dated<Option<(Bytes, u64)>>, StoreError> {
        self.get_once_as(Kind::Get, path, range).await
    }

    /// The same as a request of this kind.
    pub(super) async fn get_once_as(
        &self,
        kind: Kind,
        path: &Path,
        range: Option<Range<u64>>,
    ) -> Result<Dated<Option<(Bytes, u64)>>, StoreError> {
        let (got, date) = self.respond(kind, &self.store, path, range.map(GetRange::Bounded)).await;
        let found = async {
            let got = got?;
            let stored = u64::try_from(got.meta.last_modified.timestamp()).unwrap_or_default();
            Ok::<_, Failed>((self.body(got).await?, stored))
        };
        match found.await {
            Ok(found) => self.dated(path, Some(found), date),
            Err(failed) if failed.is_missing_object() => self.dated(path, None, date),
            Err(failed) => Err(self.explain("read", path, &failed)),
        }
    }

    /// The response to a GET as far as its body, and its date. A GET that is slow to respond is sent a second time.
    async fn respond(
        &self,
        kind: Kind,
        store: &Arc<dyn ObjectStore>,
        path: &Path,
        range: Option<GetRange>,
    ) -> (Result<GetResult, Failed>, Option<u64>) {
        let send = || async {
            // Each request has its own, so that a date is that of the response that counts.
            let slot = DateSlot::default();
            let options = GetOptions { range: range.clone(), extensions: slot.extensions(), ..GetOptions::default() };
            (store.get_opts(path, options).await, slot.date())
        };
        let is_answer =
            |(got, _): &(object_store::Result<_>, _)| matches!(got, Ok(_) | Err(object_store::Error::NotFound { .. }));
        match timeout(self.request_timeout, hedge::get(&self.hedges, kind, send, is_answer)).await {
            Ok((got, date)) => (got.map_err(Failed::from), date),
            Err(_) => (Err(Failed::TimedOut), None),
        }
    }

    /// The body of a response, which may take any time as long as it doesn't stall.
    async fn body(&self, got: GetResult) -> Result<Bytes, Failed> {
        let (mut pieces, mut body) = (got.into_stream(), Vec::new());
        while let Some(piece) = next_piece(&mut pieces, STALL_MAX.min(self.request_timeout)).await? {
            body.push(piece);
        }
        Ok(if body.len() == 1 { body.swap_remove(0) } else { body.concat().into() })
    }

    /// A response with its date, which every store sends.
    pub(super) fn dated<T>(&self, path: &Path, found: T, date: Option<u64>) -> Result<Dated<T>, StoreError> {
        let no_date = || StoreError::human(format!("the response for {} has no Date", self.url(path)));
        Ok(Dated { found, date: date.ok_or_else(no_date)? })
    }

    /// A small object's bytes, for a start; `None` if it doesn't exist.
    async fn get(&self, path: &Path, range: Option<GetRange>) -> Result<Option<Bytes>, StoreError> {
        let mut tries = Tries::at_start(self);
        loop {
            let got = match self.respond(Kind::Get, &self.store, path, range.clone()).await.0 {
                Ok(got) => self.body(got).await,
                Err(failed) => Err(failed),
            };
            let failed = match got {
                Ok(got) => return Ok(Some(got)),
                Err(failed) => failed,
            };
            if failed.is_missing_object() {
                return Ok(None);
            }
            if failed.is_empty_object() {
                return Ok(Some(Bytes::new()));
            }
            tries.again(failed).await.map_err(|failed| self.explain("read", path, &failed))?;
        }
    }

    /// Fetches a range of an object of `bytes` bytes on one of the cache's threads. After an interruption it continues
    /// where it was.
    pub(super) async fn fetch(
        &self,
        thread: usize,
        path: &Path,
        bytes: u64,
        range: Range<u64>,
        sink: &mut dyn Sink,
    ) -> Result<(), StoreError> {
        let Some(store) = self.fetching.get(thread) else { unreachable!("a cache has no thread {thread}") };
        let object = Fetched { store, path, bytes };
        let mut position = range.start;
        let (mut tries, mut stall_max) = (self.tries(), STALL_MAX);
        while position < range.end {
            let before = position;
            let stall = stall_max.min(self.request_timeout);
            let fetched = self.fetch_some(&object, &mut position, range.end, sink, stall).await;
            let Err(failed) = fetched else { continue };
            if failed.is_missing_object() {
                return Err(self.gone(path));
            }
            stall_max *= 2;
            if position > before {
                (tries, stall_max) = (self.tries(), STALL_MAX);
            }
            tries.again(failed).await.map_err(|failed| self.explain("read", path, &failed))?;
        }
        Ok(())
    }

    async fn fetch_some(
        &self,
        object: &Fetched<'_>,
        position: &mut u64,
        end: u64,
        sink: &mut dyn Sink,
        stall_max: Duration,
    ) -> Result<(), Failed> {
        let range = Some(GetRange::Bounded(*position..end));
        let got = self.respond(Kind::Get, object.store, object.path, range).await.0?;
        let (found, bytes) = (got.meta.size, object.bytes);
        if found != bytes {
            return Err(Failed::ForGood(Reply::new(format!(
                "it has {found} bytes, not the {bytes} it was listed with"
            ))));
        }
        let mut pieces = got.into_stream();
        while let Some(piece) = next_piece(&mut pieces, stall_max).await? {
            let length = piece.len() as u64;
            if length > end - *position {
                return Err(Failed::ForGood(Reply::new("the response has more bytes than were requested")));
            }
            *position += length;
            if !sink.push(piece) {
                return Err(Failed::ForGood(Reply::new("the cache's disk failed")));
            }
        }
        if *position < end {
            return Err(Failed::Passing(Reply::new("the response was truncated")));
        }
        Ok(())
    }

    /// Deletes objects: in one request on S3, in one for each 256 on Azure, one by one and ten at a time on Google
    /// Cloud Storage. Objects that are already gone don't matter.
    pub(super) async fn delete(&self, paths: &[Path]) -> Result<(), Failed> {
        let paths = futures_util::stream::iter(paths.to_vec()).map(Ok).boxed();
        let mut deleted = self.store.delete_stream(paths);
        loop {
            match timeout(self.request_timeout, deleted.next()).await {
                Ok(Some(Ok(_) | Err(object_store::Error::NotFound { .. }))) => {}
                Ok(Some(Err(error))) => return Err(Failed::from(error)),
                Ok(None) => return Ok(()),
                Err(_) => return Err(Failed::TimedOut),
            }
        }
    }

    pub(super) fn path(&self, below: &str) -> Result<Path, StoreError> {
        let key = format!("{}/{below}", self.address.prefix);
        Path::parse(key.trim_matches('/'))
            .map_err(|error| StoreError::human(format!("{key:?} can't be a key: {error}; use another name")))
    }

    pub(super) fn url(&self, path: &Path) -> String {
        format!("{}/{path}", self.address)
    }

    /// How a person creates an empty object.
    pub(super) fn hint_to_create(&self, path: &Path) -> String {
        let url = self.url(path);
        let command = (words(self.address.service).create_empty)(&self.address.bucket, path.as_ref());
        format!("create the empty object {url} (`{command}`)")
    }

    /// Another broker may have deleted what the object has, or moved it; a reader finds out by reading again.
    pub(super) fn gone(&self, path: &Path) -> StoreError {
        let url = self.url(path);
        let message = format!("{url} is gone from the bucket; retry, and if it stays away, restore it from a copy");
        StoreError::gone(message)
    }

    pub(super) fn unreadable(&self, path: &Path, error: CacheError) -> StoreError {
        match error {
            CacheError::Store(error) => error,
            CacheError::Disk(error) => {
                StoreError::human(format!("can't read {} through the cache: {error}", self.url(path)))
            }
            CacheError::Damaged(error) => {
                let url = self.url(path);
                StoreError::damaged(format!("{url} is damaged in the bucket: {error}; restore it from a copy"))
            }
        }
    }

    pub(super) fn tries(&self) -> Tries<'_> {
        Tries::at(self)
    }
}
