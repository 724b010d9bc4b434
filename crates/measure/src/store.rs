//! The store of roll-ups: a directory or a bucket.

use crate::MeasureError;
use futures_util::StreamExt;
use object_store::aws::{AmazonS3Builder, Checksum, S3ConditionalPut};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore, ObjectStoreExt, PutMode, PutPayload, RetryConfig};
use rawline_client::Kind;
use std::sync::Arc;
use std::time::Duration;

/// The store of roll-ups; usually the broker's.
#[derive(Debug, Clone)]
pub struct Storage {
    /// The directory or bucket.
    pub store: Arc<dyn ObjectStore>,
    /// Prefix of all paths; empty for a directory.
    pub prefix: Path,
}

impl Storage {
    /// Opens `DIR` or `s3://BUCKET/PREFIX`. Creates a directory if it doesn't exist; its broker may be running.
    /// `variables` are the process' environment; a bucket uses the usual `AWS_…`.
    pub fn open(place: &str, variables: &[(String, String)]) -> Result<Storage, MeasureError> {
        if let Some(rest) = place.strip_prefix("s3://") {
            let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            let wrong = || MeasureError::Config {
                reason: format!("{place:?} is not an S3 location; use s3://BUCKET/PREFIX or s3://BUCKET"),
            };
            let prefix = Path::parse(prefix.trim_end_matches('/')).map_err(|_| wrong())?;
            if bucket.is_empty() {
                return Err(wrong());
            }
            return Ok(Storage { store: Arc::new(open_bucket(bucket, variables)?), prefix });
        }
        if place == "memory:" || place.contains("://") {
            return Err(MeasureError::Config {
                reason: format!("{place} can't store roll-ups; use a directory or s3://BUCKET/PREFIX"),
            });
        }
        let failed = |reason: String| MeasureError::Store {
            kind: Kind::TellHuman,
            reason: format!("cannot use the directory {place}: {reason}; check its permissions or use another"),
        };
        std::fs::create_dir_all(place).map_err(|error| failed(error.to_string()))?;
        let files = LocalFileSystem::new_with_prefix(place).map_err(|error| failed(error.to_string()))?;
        Ok(Storage { store: Arc::new(files.with_fsync(true)), prefix: Path::default() })
    }

    /// Uses an open store, such as one in memory.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: Path) -> Storage {
        Storage { store, prefix }
    }

    /// An object's bytes; `None` if it doesn't exist.
    pub(crate) async fn get(&self, path: &Path) -> Result<Option<bytes::Bytes>, MeasureError> {
        let got = async { self.store.get(path).await?.bytes().await };
        match got.await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed("read", path, &error)),
        }
    }

    /// Creates or replaces an object.
    pub(crate) async fn put(&self, path: &Path, bytes: PutPayload) -> Result<(), MeasureError> {
        self.store.put(path, bytes).await.map(|_| ()).map_err(|error| failed("write", path, &error))
    }

    /// Creates an object. Returns false if it exists with other bytes.
    pub(crate) async fn create(&self, path: &Path, bytes: Vec<u8>) -> Result<bool, MeasureError> {
        let mut tries_left = 5;
        loop {
            let put = self.store.put_opts(path, PutPayload::from(bytes.clone()), PutMode::Create.into());
            let error = match put.await {
                Ok(_) => return Ok(true),
                Err(error) => error,
            };
            // A failed attempt may have stored the object; the next attempt then reports that it exists.
            if let Some(found) = self.get(path).await? {
                return Ok(found == bytes);
            }
            tries_left -= 1;
            if tries_left == 0 || !is_passing(&error) {
                return Err(failed("create", path, &error));
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Deletes objects. Ignores those that don't exist.
    pub(crate) async fn delete(&self, paths: Vec<Path>) -> Result<(), MeasureError> {
        let mut deleted = self.store.delete_stream(futures_util::stream::iter(paths).map(Ok).boxed());
        while let Some(result) = deleted.next().await {
            match result {
                Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(failed("delete", &Path::default(), &error)),
            }
        }
        Ok(())
    }

    /// The paths in a folder after `after`, in order.
    pub(crate) async fn list(&self, folder: &Path, after: Option<&Path>) -> Result<Vec<Path>, MeasureError> {
        let mut listed = match after {
            Some(after) => self.store.list_with_offset(Some(folder), after),
            None => self.store.list(Some(folder)),
        };
        let mut paths = Vec::new();
        while let Some(object) = listed.next().await {
            paths.push(object.map_err(|error| failed("list", folder, &error))?.location);
        }
        paths.sort_unstable();
        Ok(paths)
    }
}

fn open_bucket(bucket: &str, variables: &[(String, String)]) -> Result<impl ObjectStore + use<>, MeasureError> {
    // Fails if the process has already installed a provider, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let variable = |name: &str| {
        let found = variables.iter().find(|(other, value)| other == name && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    };
    let endpoint = variable("AWS_ENDPOINT_URL_S3").or(variable("AWS_ENDPOINT_URL")).or(variable("AWS_ENDPOINT"));
    let region = variable("AWS_REGION").or(variable("AWS_DEFAULT_REGION")).unwrap_or("us-east-1");
    let is_plain = endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"));
    let options = ClientOptions::new()
        .with_allow_http(is_plain)
        .with_no_system_certificates(is_plain && variable("AWS_ACCESS_KEY_ID").is_some())
        .with_timeout(REQUEST_TIMEOUT);
    let mut builder = AmazonS3Builder::new()
        .with_unsigned_payload(true)
        .with_checksum_algorithm(Checksum::CRC64NVME)
        .with_client_options(options);
    for (name, value) in variables.iter().filter(|(name, value)| name.starts_with("AWS_") && !value.is_empty()) {
        if let Ok(key) = name.to_ascii_lowercase().parse() {
            builder = builder.with_config(key, value);
        }
    }
    let retry = RetryConfig { max_retries: 8, retry_timeout: REQUEST_TIMEOUT, ..RetryConfig::default() };
    builder
        .with_bucket_name(bucket)
        .with_region(region)
        .with_conditional_put(S3ConditionalPut::ETagMatch)
        .with_s3_express(bucket.ends_with("--x-s3"))
        .with_retry(retry)
        .build()
        .map_err(|error| MeasureError::Config {
            reason: format!(
                "cannot use s3://{bucket}: {error}; check the variables AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, \
                 AWS_REGION and AWS_ENDPOINT_URL"
            ),
        })
}

/// Timeout of a request to a bucket, including retries: a file of a commit has tens of megabytes.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

fn is_passing(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::AlreadyExists { .. } | object_store::Error::Generic { .. })
}

/// Converts a failure of the store.
pub(crate) fn failed(verb: &str, path: &Path, error: &object_store::Error) -> MeasureError {
    use object_store::Error as E;
    let (kind, advice) = match error {
        E::NotFound { .. } => (Kind::TryAgain, "another process may have replaced it: retry"),
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => {
            (Kind::TellHuman, "access is denied: check the permissions or the key")
        }
        E::Generic { .. } => (Kind::Wait, "check the store and the network or disk, then restart"),
        _ => (Kind::TellHuman, "check the store"),
    };
    MeasureError::Store { kind, reason: format!("cannot {verb} {path}: {error}; {advice}") }
}
