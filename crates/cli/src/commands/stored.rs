//! Storages without a broker: opened to be looked at, or to be copied into.

use super::storage::{StorageArg, StorageKind};
use super::{CommandError, explain};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use indicatif::{ProgressBar, ProgressStyle};
use rawline_broker::store::cache::Cache;
use rawline_broker::store::disk;
use rawline_broker::store::s3::{self, S3Config};
use rawline_broker::store::{Purpose, Storage, StoreError};
use rawline_broker::{Meter, raise_files_limit};
use std::future::Future;
use std::io::IsTerminal;
use std::time::Duration;
use tempfile::TempDir;

/// Maximum size of the local copies of a bucket's objects.
const CACHE_BYTES: u64 = 512 << 20;

/// How often a progress bar moves.
const TICK: Duration = Duration::from_millis(100);

/// A storage that a command opens, perhaps several times.
pub struct Stored {
    arg: StorageArg,
    /// Of a bucket: copies of its objects, until the command ends.
    cache: Option<(Cache, TempDir)>,
}

impl Stored {
    /// Fails for storages that only a broker has.
    pub fn new(arg: &StorageArg) -> Result<Stored, CommandError> {
        raise_files_limit();
        let cache = match arg.kind {
            StorageKind::Memory => {
                return Err(CommandError::Usage(
                    "a storage in memory exists in its broker only; name a directory or a bucket".to_owned(),
                ));
            }
            StorageKind::Directory => None,
            StorageKind::Bucket(_) => {
                let dir = TempDir::with_prefix("rawline-");
                let dir = dir.map_err(|error| {
                    CommandError::Failed(format!("can't create a directory for copies of objects: {error}; set TMPDIR"))
                })?;
                let cache = Cache::open(dir.path(), CACHE_BYTES).map_err(|error| explain::cache(&error))?;
                Some((cache, dir))
            }
        };
        Ok(Stored { arg: arg.clone(), cache })
    }

    /// The settings of the bucket, if it is one.
    pub fn bucket(&self) -> Option<Result<S3Config, StoreError>> {
        let (cache, _) = self.cache.as_ref()?;
        Some(S3Config::new(&self.arg.name, cache.clone()))
    }

    /// Opens it to look at it, as it is now.
    pub fn view(&self) -> BoxFuture<'_, Result<Storage, StoreError>> {
        let open = async || match self.bucket() {
            Some(config) => s3::open(S3Config { is_read_only: true, purpose: Purpose::View, ..config? }).await,
            None => disk::view(self.arg.name.as_ref()).await,
        };
        open().boxed()
    }

    /// Opens it to copy something into it. One that is created gets as many journals.
    pub async fn open(&self, purpose: Purpose, journals: usize) -> Result<Storage, StoreError> {
        match self.bucket() {
            Some(config) => s3::open(S3Config { purpose, journals: Some(journals as u32), ..config? }).await,
            None => disk::open_as(self.arg.name.as_ref(), purpose),
        }
    }

    /// Whether a broker of this machine runs on it, as far as can be known.
    pub fn is_in_use(&self) -> bool {
        self.cache.is_none() && disk::is_in_use(self.arg.name.as_ref())
    }
}

/// Shows how far `work` has come while it runs, if stderr is a terminal.
pub async fn with_progress<T>(what: &str, meter: &Meter, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    if !std::io::stderr().is_terminal() {
        return work.await;
    }
    let template = "{msg} {bar:40} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(0).with_style(style).with_message(what.to_owned());
    loop {
        tokio::select! {
            done = &mut work => {
                bar.finish_and_clear();
                return done;
            }
            () = tokio::time::sleep(TICK) => {
                let (done, total) = meter.progress();
                bar.set_length(total);
                bar.set_position(done);
            }
        }
    }
}
