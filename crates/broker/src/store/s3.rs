//! Objects in an S3 bucket: one PUT a commit, created only if nothing is there.
//!
//! The key is `PREFIX/TOPIC/FIRST_OFFSET.rwl`, the offset in 20 digits, so that keys sort like offsets. The bucket is
//! all there is: an index is read off its listing. Creation (`If-None-Match: *`) is what keeps two brokers from both
//! having one offset, so a store that ignores it is refused when it is opened.

use super::cache::{Cache, CacheError, CopyName, Sink};
use super::{Begun, CommitError, FileRange, Known, Listed, Location, ObjectAt, SETTINGS_NAME, Store, StoreError};
use crate::Kind;
use crate::limits::{FOREIGN_KEYS_TOLD_MAX, INDEX_BYTES_GUESS, SETTINGS_BYTES_MAX};
use crate::object::{HEADER_BYTES, Header, Index, Object, ObjectError};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::{BoxFuture, join_all};
use object_store::aws::{AmazonS3, AmazonS3Builder, Checksum, S3ConditionalPut};
use object_store::path::Path;
use object_store::{ClientOptions, GetOptions, GetRange, ObjectStore, PutMode, PutPayload, RetryConfig};
use rawline_batch::Crc32c;
use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// Where a bucket is and how patiently it is used.
pub struct S3Config {
    /// The bucket's name.
    pub bucket: String,
    /// What every key begins with, without a slash at its ends; may be empty.
    pub prefix: String,
    /// Local copies of what is in the bucket.
    pub cache: Cache,
    /// How long one request may make no progress. A PUT may take a second more for each MiB.
    pub request_timeout: Duration,
    /// How long a request that failed for a reason that may pass is tried again.
    pub retry_budget: Duration,
    /// The usual AWS variables: `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, `AWS_REGION`, `AWS_DEFAULT_REGION`,
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN` and whatever else `object_store` knows.
    pub variables: Vec<(String, String)>,
}

impl S3Config {
    /// The place that `s3://BUCKET/PREFIX` names, with the variables of this process.
    pub fn new(url: &str, cache: Cache) -> Result<S3Config, StoreError> {
        let (bucket, prefix) = parse_url(url)?;
        Ok(S3Config {
            bucket,
            prefix,
            cache,
            request_timeout: Duration::from_secs(10),
            retry_budget: Duration::from_secs(30),
            variables: std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
        })
    }
}

/// Reads `s3://BUCKET/PREFIX`, or `s3://BUCKET` for no prefix.
pub fn parse_url(url: &str) -> Result<(String, String), StoreError> {
    let wrong = |why: &str| {
        StoreError::human(format!("{url:?} is no place in S3: {why}; write it as s3://BUCKET/PREFIX or s3://BUCKET"))
    };
    let rest = url.strip_prefix("s3://").ok_or_else(|| wrong("it does not begin with s3://"))?;
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if bucket.is_empty() || !bucket.bytes().all(plain) {
        return Err(wrong("a bucket's name has letters, digits, '.', '-' and '_' only"));
    }
    let prefix = prefix.trim_end_matches('/');
    if !prefix.is_empty() && Path::parse(prefix).ok().is_none_or(|path| path.as_ref() != prefix) {
        return Err(wrong("the prefix has an empty part or a character that a key can't have"));
    }
    Ok((bucket.to_owned(), prefix.to_owned()))
}

/// Topics in a bucket.
pub struct S3Store {
    bucket: Arc<Bucket>,
    cache: Cache,
    /// Keys that are not ours and that the log has been told of.
    foreign: Mutex<HashSet<String>>,
}

impl S3Store {
    /// Opens the bucket and makes sure that it keeps the condition that commits rest on.
    pub async fn open(config: S3Config) -> Result<S3Store, StoreError> {
        let bucket = Bucket::new(&config)?;
        bucket.check_credentials().await?;
        bucket.probe().await?;
        Ok(S3Store { bucket: Arc::new(bucket), cache: config.cache, foreign: Mutex::new(HashSet::new()) })
    }

    async fn list_from(&self, topic: &str, from: u64) -> Result<Vec<Listed>, StoreError> {
        let mut vanished = 0;
        loop {
            let mut listed = self.list_keys(topic, from).await?;
            let Some(newest) = listed.last_mut() else { return Ok(listed) };
            let path = self.bucket.object_path(topic, newest.first_offset)?;
            match self.bucket.index(&path).await {
                Ok(Some((header, _))) => {
                    let known = newest.first_offset == header.first_offset && newest.bytes == header.object_bytes;
                    if !known {
                        return Err(self.newest_damaged(&path, &ObjectError::Header));
                    }
                    newest.known = Some(Known { offset_next: header.offset_next(), appended_us: header.appended_us });
                    return Ok(listed);
                }
                // Another broker deletes from the front: what was the newest is no longer, so list again.
                Ok(None) if vanished < LISTS_AGAIN_MAX => vanished += 1,
                Ok(None) => {
                    let called = self.bucket.called(&path);
                    return Err(StoreError::wait(format!("{called} is listed but can't be read; try again")));
                }
                Err(CacheError::Damaged(error)) => return Err(self.newest_damaged(&path, &error)),
                Err(CacheError::Store(error)) => return Err(error),
            }
        }
    }

    /// The newest object says where the topic goes on. Nothing can be appended at its place, nor safely elsewhere.
    fn newest_damaged(&self, path: &Path, error: &ObjectError) -> StoreError {
        StoreError::human(format!(
            "{} is its topic's newest object and is damaged: {error}; its place is taken, so the topic can't go on: \
             restore the object from a copy, or move it away if its records may be lost, then start the broker again",
            self.bucket.called(path)
        ))
    }

    async fn list_keys(&self, topic: &str, from: u64) -> Result<Vec<Listed>, StoreError> {
        let dir = self.bucket.topic_path(topic)?;
        let mut after = match from.checked_sub(1) {
            Some(before) => Some(self.bucket.object_path(topic, before)?),
            None => None,
        };
        let mut found = BTreeMap::new();
        let mut tries = self.bucket.tries();
        loop {
            let mut pages = match &after {
                Some(after) => self.bucket.s3.list_with_offset(Some(&dir), after),
                None => self.bucket.s3.list(Some(&dir)),
            };
            let failed = loop {
                let key = match timeout(self.bucket.request_timeout, pages.next()).await {
                    Ok(None) => return Ok(found.into_values().collect()),
                    Ok(Some(Ok(key))) => key,
                    Ok(Some(Err(error))) => break Failed::from(error),
                    Err(_) => break Failed::TimedOut,
                };
                if let Some(listed) = self.listed(topic, &key)
                    && listed.first_offset >= from
                {
                    found.insert(listed.first_offset, listed);
                    // Keys come in order, except from the buckets of S3 Express.
                    if !self.bucket.name.ends_with("--x-s3") {
                        after = Some(key.location);
                    }
                }
            };
            tries.again(failed).await.map_err(|failed| self.bucket.explain("list", &dir, &failed))?;
        }
    }

    fn listed(&self, topic: &str, key: &object_store::ObjectMeta) -> Option<Listed> {
        let first_offset = key.location.filename().and_then(parse_key);
        let is_ours = |offset: &u64| self.bucket.object_path(topic, *offset).is_ok_and(|path| path == key.location);
        let Some(first_offset) = first_offset.filter(is_ours) else {
            if key.location.filename() == Some(SETTINGS_NAME) {
                return None;
            }
            self.tell_foreign(&key.location);
            return None;
        };
        let location = Location { segment: first_offset, position: tag(key.e_tag.as_deref()) };
        Some(Listed { first_offset, location, bytes: key.size, known: None })
    }

    fn tell_foreign(&self, key: &Path) {
        let mut told = self.foreign.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < FOREIGN_KEYS_TOLD_MAX && told.insert(key.to_string()) {
            let called = self.bucket.called(key);
            tracing::warn!(key = called, "not an object of Rawline; left alone");
        }
    }

    async fn put(&self, topic: &str, object: Object) -> Result<Location, CommitError> {
        let path = self.bucket.object_path(topic, object.header.first_offset)?;
        let payload: PutPayload = object.parts.iter().cloned().collect();
        let mut tries = self.bucket.tries();
        let tag = loop {
            let failed = match self.bucket.create(&path, payload.clone()).await {
                Ok(tag) => break tag,
                Err(failed) => failed,
            };
            if let Failed::Exists { in_progress } = failed {
                // Is it ours? An earlier try may have succeeded without its answer reaching us.
                match self.bucket.front(&path, object.header.index_bytes() as u64).await {
                    Ok(Some((front, tag))) => match object.parts.first() {
                        Some(index) if *index == front => break tag,
                        _ => return Err(CommitError::Exists),
                    },
                    // Whoever was about to create it has not.
                    Ok(None) if in_progress => {}
                    // It is gone already: others have written on and deleted behind them, so our offset is old.
                    Ok(None) => return Err(CommitError::Exists),
                    Err(error) => tracing::warn!(%error, "can't see who has committed; trying again"),
                }
            }
            tries.again(failed).await.map_err(|failed| self.bucket.explain("store", &path, &failed))?;
        };
        let location = Location { segment: object.header.first_offset, position: tag };
        self.cache.put(copy_name(topic, location), object.parts);
        Ok(location)
    }

    async fn read(&self, topic: &str, object: ObjectAt, range: Range<u64>) -> Result<Bytes, StoreError> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let path = self.bucket.object_path(topic, object.first_offset)?;
        let name = copy_name(topic, object.location);
        // A search by time looks at many objects' headers: that must not bring the objects here.
        if range.start == 0 && range.end <= HEADER_BYTES as u64 && !self.cache.holds(&name) {
            let index = self.bucket.index(&path).await;
            let index = index.map_err(|error| self.bucket.unreadable(&path, error))?;
            return match index {
                Some((_, front)) => Ok(front.slice(..range.end as usize)),
                None => Err(self.bucket.gone(&path)),
            };
        }
        let (bucket, wanted) = (self.bucket.clone(), path.clone());
        let fetch = move |sink| {
            let (bucket, path) = (bucket.clone(), wanted.clone());
            async move { bucket.fetch(&path, object.bytes, sink).await }
        };
        let read = self.cache.get(&name, object, range, fetch).await;
        read.map_err(|error| self.bucket.unreadable(&path, error))
    }

    async fn delete_front(&self, topic: &str, offset: u64) -> Result<u64, StoreError> {
        let listed = self.list_keys(topic, 0).await?;
        let Some(newest) = listed.last() else { return Ok(offset) };
        // An object ends where the next begins; the newest stays, because it says where the topic goes on.
        let ends = listed.iter().skip(1).map(|next| next.first_offset);
        let count = ends.take_while(|&end| end <= offset).count();
        let (old, kept) = listed.split_at_checked(count).unwrap_or_default();
        // From the front, a request's worth at a time, so that what is left after a failure has no hole.
        for old in old.chunks(DELETES_MAX) {
            self.delete_all(topic, old).await?;
            self.cache.remove(old.iter().map(|old| copy_name(topic, old.location)).collect()).await;
        }
        Ok(kept.first().unwrap_or(newest).first_offset)
    }

    async fn delete_all(&self, topic: &str, old: &[Listed]) -> Result<(), StoreError> {
        let paths: Result<Vec<Path>, StoreError> =
            old.iter().map(|old| self.bucket.object_path(topic, old.first_offset)).collect();
        let paths = paths?;
        let mut tries = self.bucket.tries();
        while let Err(failed) = self.bucket.delete(&paths).await {
            let dir = self.bucket.topic_path(topic)?;
            tries.again(failed).await.map_err(|failed| self.bucket.explain("delete from", &dir, &failed))?;
        }
        Ok(())
    }
}

impl Store for S3Store {
    fn topics(&self) -> BoxFuture<'_, Result<Vec<String>, StoreError>> {
        Box::pin(self.bucket.topics())
    }

    fn list<'a>(&'a self, topic: &'a str, from: u64) -> BoxFuture<'a, Result<Vec<Listed>, StoreError>> {
        Box::pin(self.list_from(topic, from))
    }

    fn begin<'a>(&'a self, topic: &'a str, object: Object) -> BoxFuture<'a, Result<Begun, CommitError>> {
        Box::pin(async move { self.put(topic, object).await.map(Begun::done) })
    }

    fn get<'a>(
        &'a self,
        topic: &'a str,
        object: ObjectAt,
        range: Range<u64>,
    ) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        Box::pin(self.read(topic, object, range))
    }

    fn settings<'a>(&'a self, topic: &'a str) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        Box::pin(async move {
            let path = self.bucket.settings_path(topic)?;
            Ok(self.bucket.front(&path, SETTINGS_BYTES_MAX as u64).await?.map(|(settings, _)| settings))
        })
    }

    fn put_settings<'a>(&'a self, topic: &'a str, settings: Bytes) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let path = self.bucket.settings_path(topic)?;
            self.bucket.replace(&path, settings).await
        })
    }

    fn file_of(&self, bytes: &[u8]) -> Option<FileRange> {
        self.cache.file_of(bytes)
    }

    fn delete_before<'a>(&'a self, topic: &'a str, offset: u64) -> BoxFuture<'a, Result<u64, StoreError>> {
        Box::pin(self.delete_front(topic, offset))
    }
}

/// Under this the probe's keys lie; no topic's name begins with a dot.
const PROBES: &str = ".rawline-probe";
/// Keys that race, and writers a key. Stores that check first and write then, without a lock, let several win nearly
/// every time.
const RACES: u64 = 3;
const RACERS: u64 = 8;
/// Keys that one DeleteObjects request takes.
const DELETES_MAX: usize = 1000;
const LISTS_AGAIN_MAX: usize = 3;
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The bucket itself, request by request.
struct Bucket {
    s3: AmazonS3,
    name: String,
    prefix: String,
    endpoint: String,
    request_timeout: Duration,
    retry_budget: Duration,
}

impl Bucket {
    fn new(config: &S3Config) -> Result<Bucket, StoreError> {
        // Fails where the process has chosen one already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let variable = |name: &str| {
            let found = config.variables.iter().find(|(other, value)| other == name && !value.is_empty());
            found.map(|(_, value)| value.as_str())
        };
        let endpoint = variable("AWS_ENDPOINT_URL_S3").or(variable("AWS_ENDPOINT_URL")).or(variable("AWS_ENDPOINT"));
        let region = variable("AWS_REGION").or(variable("AWS_DEFAULT_REGION")).unwrap_or("us-east-1");
        let is_plain = endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"));
        let options = ClientOptions::new()
            .with_allow_http(is_plain)
            // Nothing is then asked over TLS, so a container without certificates will do.
            .with_no_system_certificates(is_plain && variable("AWS_ACCESS_KEY_ID").is_some())
            .with_timeout_disabled()
            .with_connect_timeout(CONNECT_TIMEOUT.min(config.request_timeout));
        // Requests are tried again here, not in `object_store`: after a PUT whose answer was lost its next try would
        // be told that the object exists, and only we can see that it is ours.
        let retry = RetryConfig { max_retries: 0, ..RetryConfig::default() };
        // The payload is not signed: that would be a SHA-256 over each commit, on the caller's thread. What protects
        // it on its way are TLS and the checksum, which the store compares before it stores.
        let mut builder = AmazonS3Builder::new()
            .with_unsigned_payload(true)
            .with_checksum_algorithm(Checksum::CRC64NVME)
            .with_client_options(options);
        for (name, value) in
            config.variables.iter().filter(|(name, value)| name.starts_with("AWS_") && !value.is_empty())
        {
            if let Ok(key) = name.to_ascii_lowercase().parse() {
                builder = builder.with_config(key, value);
            }
        }
        let s3 = builder
            .with_bucket_name(&config.bucket)
            .with_region(region)
            .with_conditional_put(S3ConditionalPut::ETagMatch)
            .with_retry(retry)
            .build()
            .map_err(|error| {
                StoreError::human(format!(
                    "can't use s3://{}: {}; see to the variables AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL",
                    config.bucket,
                    all_causes(&error)
                ))
            })?;
        Ok(Bucket {
            s3,
            name: config.bucket.clone(),
            prefix: config.prefix.clone(),
            endpoint: endpoint.map_or_else(|| format!("https://s3.{region}.amazonaws.com"), str::to_owned),
            request_timeout: config.request_timeout,
            retry_budget: config.retry_budget,
        })
    }

    async fn check_credentials(&self) -> Result<(), StoreError> {
        let cause = match timeout(self.request_timeout, self.s3.credentials().get_credential()).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => all_causes(&error),
            Err(_) => "nobody answered".to_owned(),
        };
        Err(StoreError::human(format!(
            "no credentials for s3://{}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (profiles in files are not \
             read), or give this machine a role; asking for its role failed: {cause}",
            self.name
        )))
    }

    /// Makes sure that the store creates an object only if there is none, also when many try at once.
    async fn probe(&self) -> Result<(), StoreError> {
        let lone = self.probe_path()?;
        let races: Result<Vec<Path>, StoreError> = (0..RACES).map(|_| self.probe_path()).collect();
        let races = races?;
        let mut probed = self.probe_lone(&lone).await;
        if probed.is_ok() {
            let raced = join_all(races.iter().map(|path| self.probe_race(path))).await;
            probed = raced.into_iter().collect();
        }
        let paths: Vec<Path> = std::iter::once(lone).chain(races).collect();
        if let Err(failed) = self.delete(&paths).await
            && probed.is_ok()
        {
            let error = self.explain("delete", &Path::from(PROBES), &failed);
            tracing::warn!(%error, "a few bytes of the probe stay in the bucket");
        }
        probed
    }

    async fn probe_lone(&self, path: &Path) -> Result<(), StoreError> {
        let mut tries = self.tries();
        loop {
            match self.create(path, PutPayload::from_static(b"first")).await {
                // An earlier try's answer may have been lost.
                Ok(_) | Err(Failed::Exists { .. }) => break,
                Err(failed) => tries.again(failed).await.map_err(|failed| self.explain("store", path, &failed))?,
            }
        }
        let mut tries = self.tries();
        loop {
            match self.create(path, PutPayload::from_static(b"second")).await {
                Ok(_) => return Err(self.refuse("wrote over an object that was there")),
                Err(Failed::Exists { .. }) => break,
                Err(failed) => tries.again(failed).await.map_err(|failed| self.explain("store", path, &failed))?,
            }
        }
        match self.front(path, HEADER_BYTES as u64).await?.as_ref().map(|(front, _)| front.as_ref()) {
            Some(b"first") => Ok(()),
            Some(_) => Err(self.refuse("said that an object exists and wrote over it all the same")),
            None => Err(self.refuse("said that it had stored an object and does not have it")),
        }
    }

    async fn probe_race(&self, path: &Path) -> Result<(), StoreError> {
        let racers = (0..RACERS).map(|racer| async move {
            let payload = Bytes::copy_from_slice(&racer.to_le_bytes());
            let mut tries = self.tries();
            let mut is_clear = true;
            loop {
                match self.create(path, payload.clone().into()).await {
                    Ok(_) => return Ok((payload, Raced::Won)),
                    Err(Failed::Exists { in_progress: false }) => {
                        return Ok((payload, if is_clear { Raced::Lost } else { Raced::Unclear }));
                    }
                    Err(failed) => {
                        is_clear &= matches!(failed, Failed::Exists { .. });
                        tries.again(failed).await.map_err(|failed| self.explain("store", path, &failed))?;
                    }
                }
            }
        });
        let ended: Result<Vec<(Bytes, Raced)>, StoreError> = join_all(racers).await.into_iter().collect();
        let ended = ended?;
        let Some((stored, _)) = self.front(path, HEADER_BYTES as u64).await? else {
            return Err(self.refuse("said that it had stored an object and does not have it"));
        };
        let has_won = |(payload, raced): &&(Bytes, Raced)| match raced {
            Raced::Won => true,
            Raced::Lost => false,
            Raced::Unclear => *payload == stored,
        };
        let winners: Vec<&Bytes> = ended.iter().filter(has_won).map(|(payload, _)| payload).collect();
        match winners.as_slice() {
            [winner] if **winner == stored => Ok(()),
            [] | [_] => Err(self.refuse("kept another object than the one whose writer it told so")),
            many => Err(self.refuse(&format!(
                "let {} of {RACERS} writers that tried at once believe that they had created the same object",
                many.len()
            ))),
        }
    }

    fn refuse(&self, done: &str) -> StoreError {
        StoreError::human(format!(
            "the S3 server at {} does not keep the condition \"If-None-Match: *\": it {done}. Two brokers on it could \
             overwrite each other's records, so Rawline does not use it. Use Amazon S3, MinIO, Cloudflare R2, Ceph or \
             another that supports conditional writes, in a recent version",
            self.endpoint
        ))
    }

    fn probe_path(&self) -> Result<Path, StoreError> {
        self.path(&format!("{PROBES}/{:032x}", rand::random::<u128>()))
    }

    async fn topics(&self) -> Result<Vec<String>, StoreError> {
        let prefix = if self.prefix.is_empty() { Path::default() } else { self.path("")? };
        let mut tries = self.tries();
        // Each page is a request, but they are not had one by one here.
        let limit = self.request_timeout.max(self.retry_budget);
        let listed = loop {
            let failed = match timeout(limit, self.s3.list_with_delimiter(Some(&prefix))).await {
                Ok(Ok(listed)) => break listed,
                Ok(Err(error)) => Failed::from(error),
                Err(_) => Failed::TimedOut,
            };
            tries.again(failed).await.map_err(|failed| self.explain("list", &prefix, &failed))?;
        };
        let names = listed.common_prefixes.iter().filter_map(|prefix| prefix.filename());
        Ok(names.filter(|name| !name.starts_with('.')).map(str::to_owned).collect())
    }

    /// Creates an object if there is none. One try; gives its tag.
    async fn create(&self, path: &Path, payload: PutPayload) -> Result<u32, Failed> {
        let limit = self.request_timeout + Duration::from_secs((payload.content_length() >> 20) as u64);
        match timeout(limit, self.s3.put_opts(path, payload, PutMode::Create.into())).await {
            Ok(Ok(put)) => Ok(tag(put.e_tag.as_deref())),
            Ok(Err(error)) => Err(Failed::from(error)),
            Err(_) => Err(Failed::TimedOut),
        }
    }

    /// An object's checked header and the bytes it was read from; `None` if there is no such object.
    async fn index(&self, path: &Path) -> Result<Option<(Header, Bytes)>, CacheError> {
        let Some((mut front, _)) = self.front(path, INDEX_BYTES_GUESS).await? else { return Ok(None) };
        let index_bytes = Header::parse(&front)?.index_bytes();
        if index_bytes > front.len() {
            match self.front(path, index_bytes as u64).await? {
                Some((whole, _)) => front = whole,
                None => return Ok(None),
            }
        }
        let header = Index::parse(&front)?.header;
        Ok(Some((header, front)))
    }

    /// The first bytes of an object, fewer if it has fewer, and its tag; `None` if there is no such object.
    async fn front(&self, path: &Path, bytes: u64) -> Result<Option<(Bytes, u32)>, StoreError> {
        let options = GetOptions { range: Some(GetRange::Bounded(0..bytes)), ..GetOptions::default() };
        let get = || async {
            let got = self.s3.get_opts(path, options.clone()).await?;
            let tag = tag(got.meta.e_tag.as_deref());
            Ok::<_, object_store::Error>((got.bytes().await?, tag))
        };
        let mut tries = self.tries();
        loop {
            let failed = match timeout(self.request_timeout, get()).await {
                Ok(Ok(front)) => return Ok(Some(front)),
                Ok(Err(error)) => Failed::from(error),
                Err(_) => Failed::TimedOut,
            };
            if failed.is_missing_object() {
                return Ok(None);
            }
            if failed.is_empty_object() {
                return Ok(Some((Bytes::new(), 0)));
            }
            tries.again(failed).await.map_err(|failed| self.explain("read", path, &failed))?;
        }
    }

    /// Stores a key in place of what was there.
    async fn replace(&self, path: &Path, bytes: Bytes) -> Result<(), StoreError> {
        let mut tries = self.tries();
        loop {
            let put = self.s3.put_opts(path, bytes.clone().into(), PutMode::Overwrite.into());
            let failed = match timeout(self.request_timeout, put).await {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(error)) => Failed::from(error),
                Err(_) => Failed::TimedOut,
            };
            tries.again(failed).await.map_err(|failed| self.explain("store", path, &failed))?;
        }
    }

    /// Fetches a whole object. After a break it goes on where it was.
    async fn fetch(&self, path: &Path, bytes: u64, sink: Sink) -> Result<(), StoreError> {
        let mut position = 0;
        let mut tries = self.tries();
        while position < bytes {
            let before = position;
            let failed = match self.fetch_some(path, bytes, &mut position, &sink).await {
                Ok(()) => continue,
                Err(failed) => failed,
            };
            if failed.is_missing_object() {
                return Err(self.gone(path));
            }
            if position > before {
                tries = self.tries();
            }
            tries.again(failed).await.map_err(|failed| self.explain("read", path, &failed))?;
        }
        Ok(())
    }

    async fn fetch_some(&self, path: &Path, bytes: u64, position: &mut u64, sink: &Sink) -> Result<(), Failed> {
        let range = (*position > 0).then_some(GetRange::Bounded(*position..bytes));
        let options = GetOptions { range, ..GetOptions::default() };
        let got = timeout(self.request_timeout, self.s3.get_opts(path, options)).await;
        let got = got.map_err(|_| Failed::TimedOut)?.map_err(Failed::from)?;
        if got.meta.size != bytes {
            let found = got.meta.size;
            return Err(Failed::ForGood(format!("it has {found} bytes, not the {bytes} it was listed with")));
        }
        let mut pieces = got.into_stream();
        loop {
            match timeout(self.request_timeout, pieces.next()).await {
                Ok(Some(Ok(piece))) => {
                    *position += piece.len() as u64;
                    if !sink.push(piece).await {
                        return Err(Failed::ForGood("the cache's disk failed".to_owned()));
                    }
                }
                Ok(None) if *position < bytes => return Err(Failed::Passing("the answer was cut off".to_owned())),
                Ok(None) => return Ok(()),
                Ok(Some(Err(error))) => return Err(Failed::from(error)),
                Err(_) => return Err(Failed::TimedOut),
            }
        }
    }

    /// Deletes objects in one request; those that are gone already do not matter.
    async fn delete(&self, paths: &[Path]) -> Result<(), Failed> {
        let paths = futures_util::stream::iter(paths.to_vec()).map(Ok).boxed();
        let mut deleted = self.s3.delete_stream(paths);
        loop {
            match timeout(self.request_timeout, deleted.next()).await {
                Ok(Some(Ok(_) | Err(object_store::Error::NotFound { .. }))) => {}
                Ok(Some(Err(error))) => return Err(Failed::from(error)),
                Ok(None) => return Ok(()),
                Err(_) => return Err(Failed::TimedOut),
            }
        }
    }

    fn topic_path(&self, topic: &str) -> Result<Path, StoreError> {
        self.path(topic)
    }

    fn settings_path(&self, topic: &str) -> Result<Path, StoreError> {
        self.path(&format!("{topic}/{SETTINGS_NAME}"))
    }

    fn object_path(&self, topic: &str, first_offset: u64) -> Result<Path, StoreError> {
        self.path(&format!("{topic}/{first_offset:020}.rwl"))
    }

    fn path(&self, below: &str) -> Result<Path, StoreError> {
        let key = format!("{}/{below}", self.prefix);
        Path::parse(key.trim_matches('/'))
            .map_err(|error| StoreError::human(format!("{key:?} can't be a key: {error}; use another name")))
    }

    fn called(&self, path: &Path) -> String {
        format!("s3://{}/{path}", self.name)
    }

    /// Another broker may have deleted the topic's front; whoever reads there finds out by reading again.
    fn gone(&self, path: &Path) -> StoreError {
        let called = self.called(path);
        let message =
            format!("{called} is gone from the bucket; read again, and if it stays so, restore it from a copy");
        StoreError { kind: Kind::TryAgain, message }
    }

    fn unreadable(&self, path: &Path, error: CacheError) -> StoreError {
        match error {
            CacheError::Store(error) => error,
            CacheError::Damaged(error) => {
                let called = self.called(path);
                StoreError::human(format!("{called} is damaged in the bucket: {error}; restore it from a copy"))
            }
        }
    }

    fn tries(&self) -> Tries {
        Tries { until: Instant::now() + self.retry_budget, pause: PAUSE_MIN }
    }

    /// Puts a failure into words for whoever runs the broker.
    fn explain(&self, verb: &str, path: &Path, failed: &Failed) -> StoreError {
        let (endpoint, bucket) = (&self.endpoint, &self.name);
        let failure = format!("can't {verb} {} at {endpoint}", self.called(path));
        let has = |code: &str| failed.text().contains(code);
        let text = answer_in_short(failed.text());
        let advice = if has("NoSuchBucket") {
            format!("there is no bucket {bucket:?}; create it or correct --storage")
        } else if has("SignatureDoesNotMatch") {
            "the secret key is wrong; correct AWS_SECRET_ACCESS_KEY".to_owned()
        } else if has("InvalidAccessKeyId") || has("UserNotFound") || has("InvalidToken") || has("ExpiredToken") {
            "the access key is unknown or has expired; correct AWS_ACCESS_KEY_ID and AWS_SESSION_TOKEN".to_owned()
        } else if has("RequestTimeTooSkewed") {
            "this machine's clock is wrong; set it".to_owned()
        } else if has("AuthorizationHeaderMalformed") || has("PermanentRedirect") || has("redirect") {
            "the bucket is in another region; correct AWS_REGION".to_owned()
        } else if has("NotImplemented") {
            "this S3 server has no conditional writes (If-None-Match), so Rawline can't use it; use one that has"
                .to_owned()
        } else if has("AccessDenied") || matches!(failed, Failed::Denied(_)) {
            "access is denied; the key needs s3:ListBucket on the bucket and s3:GetObject, s3:PutObject and \
             s3:DeleteObject on what is in it"
                .to_owned()
        } else if matches!(failed, Failed::ForGood(_) | Failed::Missing(_)) {
            "see to the bucket".to_owned()
        } else {
            let message = format!(
                "{failure}: {text}; it was tried for {:?}: see to the server and the network, then try again",
                self.retry_budget
            );
            return StoreError::wait(message);
        };
        StoreError::human(format!("{failure}: {advice} ({text})"))
    }
}

/// How one writer of the probe fared.
enum Raced {
    Won,
    Lost,
    /// An answer was lost before it was told that the object exists, which may then be its own.
    Unclear,
}

/// Why one request failed.
enum Failed {
    /// The object to be created is there, or just being created by somebody else.
    Exists {
        in_progress: bool,
    },
    /// There is no such object, or no such bucket.
    Missing(String),
    Denied(String),
    /// It would fail again.
    ForGood(String),
    /// It may succeed if tried again.
    Passing(String),
    TimedOut,
}

impl Failed {
    fn text(&self) -> &str {
        match self {
            Failed::Exists { .. } => "others are creating it, again and again",
            Failed::Missing(text) | Failed::Denied(text) | Failed::ForGood(text) | Failed::Passing(text) => text,
            Failed::TimedOut => "no answer in time",
        }
    }

    fn is_passing(&self) -> bool {
        matches!(self, Failed::Exists { .. } | Failed::Passing(_) | Failed::TimedOut)
    }

    fn is_missing_object(&self) -> bool {
        matches!(self, Failed::Missing(text) if text.contains("NoSuchKey") || !text.contains("<Code>"))
    }

    /// S3 answers so when asked for the first bytes of an object that has none.
    fn is_empty_object(&self) -> bool {
        matches!(self, Failed::ForGood(text) if text.contains("InvalidRange") || text.contains("416 Range Not Satisfiable"))
    }
}

impl From<object_store::Error> for Failed {
    fn from(error: object_store::Error) -> Failed {
        use object_store::Error as E;
        let text = all_causes(&error);
        match error {
            // `object_store` gives this for 412 and, without a precondition inside, for 409: another request is
            // creating the object and may yet fail.
            E::AlreadyExists { source, .. } => {
                let in_progress = !source
                    .downcast_ref::<E>()
                    .is_some_and(|inner| matches!(inner, E::Precondition { .. } | E::NotModified { .. }));
                Failed::Exists { in_progress }
            }
            E::NotFound { .. } => Failed::Missing(text),
            E::PermissionDenied { .. } | E::Unauthenticated { .. } => Failed::Denied(text),
            E::Generic { .. } => {
                // `object_store` keeps the status to itself, except in words.
                let passing = ["status code: 408", "status code: 429"].iter().any(|code| text.contains(code));
                let for_good = ["status code: 4", "status code: 3", "status code: 501", "redirect"];
                if !passing && for_good.iter().any(|code| text.contains(code)) {
                    Failed::ForGood(text)
                } else {
                    Failed::Passing(text)
                }
            }
            _ => Failed::ForGood(text),
        }
    }
}

/// Tries again, with pauses that double and are cut by chance, for so long.
struct Tries {
    until: Instant,
    pause: Duration,
}

impl Tries {
    /// Waits for the next try; gives the failure back if it is for good or the time is over.
    async fn again(&mut self, failed: Failed) -> Result<(), Failed> {
        let pause = self.pause.mul_f64(rand::random_range(0.5..1.0));
        if !failed.is_passing() || Instant::now() + pause > self.until {
            return Err(failed);
        }
        tracing::debug!(reason = failed.text(), ?pause, "trying an S3 request again");
        sleep(pause).await;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        Ok(())
    }
}

fn copy_name(topic: &str, location: Location) -> CopyName {
    CopyName { topic: topic.to_owned(), first_offset: location.segment, tag: location.position }
}

/// What of an object's ETag fits into a [`Location`]: enough to tell it from another that once had its key.
fn tag(e_tag: Option<&str>) -> u32 {
    let Some(e_tag) = e_tag else { return 0 };
    let mut crc = Crc32c::new();
    crc.update(e_tag.trim_matches('"').as_bytes());
    crc.value()
}

fn parse_key(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".rwl")?;
    let sound = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if sound { digits.parse().ok() } else { None }
}

/// The code and the sentence of S3's answer, where there is one, without what `object_store` and XML put around it.
fn answer_in_short(text: &str) -> String {
    let element = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        rest.split_once(&format!("</{name}>")).map(|(value, _)| value)
    };
    match (element("Code"), element("Message")) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        _ => text.to_owned(),
    }
}

fn all_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    text
}
