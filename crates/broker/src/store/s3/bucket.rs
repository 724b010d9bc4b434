//! A bucket, request by request.

use super::S3Config;
use super::failed::{Failed, Tries, all_causes};
use crate::Kind;
use crate::limits::INDEX_BYTES_GUESS;
use crate::object::{Header, ObjectIndex};
use crate::store::cache::{CacheError, Sink};
use crate::store::{SETTINGS_NAME, StoreError};
use bytes::Bytes;
use futures_util::StreamExt;
use object_store::aws::{AmazonS3, AmazonS3Builder, Checksum, S3ConditionalPut};
use object_store::path::Path;
use object_store::{ClientOptions, GetOptions, GetRange, ObjectStore, PutMode, PutPayload, RetryConfig};
use rawline_batch::Crc32c;
use std::time::Duration;
use tokio::time::timeout;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The bucket itself, request by request.
pub(super) struct Bucket {
    pub(super) s3: AmazonS3,
    pub(super) name: String,
    prefix: String,
    pub(super) endpoint: String,
    pub(super) request_timeout: Duration,
    retry_budget: Duration,
}

impl Bucket {
    pub(super) fn new(config: &S3Config) -> Result<Bucket, StoreError> {
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

    pub(super) async fn check_credentials(&self) -> Result<(), StoreError> {
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

    pub(super) async fn topics(&self) -> Result<Vec<String>, StoreError> {
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
    pub(super) async fn create(&self, path: &Path, payload: PutPayload) -> Result<u32, Failed> {
        let limit = self.request_timeout + Duration::from_secs((payload.content_length() >> 20) as u64);
        match timeout(limit, self.s3.put_opts(path, payload, PutMode::Create.into())).await {
            Ok(Ok(put)) => Ok(tag(put.e_tag.as_deref())),
            Ok(Err(error)) => Err(Failed::from(error)),
            Err(_) => Err(Failed::TimedOut),
        }
    }

    /// An object's checked header and the bytes it was read from; `None` if there is no such object.
    pub(super) async fn index(&self, path: &Path) -> Result<Option<(Header, Bytes)>, CacheError> {
        let Some((mut front, _)) = self.front(path, INDEX_BYTES_GUESS).await? else { return Ok(None) };
        let index_bytes = Header::parse(&front)?.index_bytes();
        if index_bytes > front.len() {
            match self.front(path, index_bytes as u64).await? {
                Some((whole, _)) => front = whole,
                None => return Ok(None),
            }
        }
        let header = ObjectIndex::parse(&front)?.header;
        Ok(Some((header, front)))
    }

    /// The first bytes of an object, fewer if it has fewer, and its tag; `None` if there is no such object.
    pub(super) async fn front(&self, path: &Path, bytes: u64) -> Result<Option<(Bytes, u32)>, StoreError> {
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
    pub(super) async fn replace(&self, path: &Path, bytes: Bytes) -> Result<(), StoreError> {
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
    pub(super) async fn fetch(&self, path: &Path, bytes: u64, sink: Sink) -> Result<(), StoreError> {
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
    pub(super) async fn delete(&self, paths: &[Path]) -> Result<(), Failed> {
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

    pub(super) fn topic_path(&self, topic: &str) -> Result<Path, StoreError> {
        self.path(topic)
    }

    pub(super) fn settings_path(&self, topic: &str) -> Result<Path, StoreError> {
        self.path(&format!("{topic}/{SETTINGS_NAME}"))
    }

    pub(super) fn object_path(&self, topic: &str, first_offset: u64) -> Result<Path, StoreError> {
        self.path(&format!("{topic}/{first_offset:020}.rwl"))
    }

    pub(super) fn path(&self, below: &str) -> Result<Path, StoreError> {
        let key = format!("{}/{below}", self.prefix);
        Path::parse(key.trim_matches('/'))
            .map_err(|error| StoreError::human(format!("{key:?} can't be a key: {error}; use another name")))
    }

    pub(super) fn called(&self, path: &Path) -> String {
        format!("s3://{}/{path}", self.name)
    }

    /// Another broker may have deleted the topic's front; whoever reads there finds out by reading again.
    pub(super) fn gone(&self, path: &Path) -> StoreError {
        let called = self.called(path);
        let message =
            format!("{called} is gone from the bucket; read again, and if it stays so, restore it from a copy");
        StoreError { kind: Kind::TryAgain, message }
    }

    pub(super) fn unreadable(&self, path: &Path, error: CacheError) -> StoreError {
        match error {
            CacheError::Store(error) => error,
            CacheError::Damaged(error) => {
                let called = self.called(path);
                StoreError::human(format!("{called} is damaged in the bucket: {error}; restore it from a copy"))
            }
        }
    }

    pub(super) fn tries(&self) -> Tries {
        Tries::lasting(self.retry_budget)
    }

    /// Puts a failure into words for whoever runs the broker.
    pub(super) fn explain(&self, verb: &str, path: &Path, failed: &Failed) -> StoreError {
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

/// What of an object's ETag fits into a [`Location`]: enough to tell it from another that once had its key.
pub(super) fn tag(e_tag: Option<&str>) -> u32 {
    let Some(e_tag) = e_tag else { return 0 };
    let mut crc = Crc32c::new();
    crc.update(e_tag.trim_matches('"').as_bytes());
    crc.value()
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
