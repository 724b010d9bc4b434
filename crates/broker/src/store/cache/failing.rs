//! Whether the cache's disk takes nothing: then reads don't fetch everything for it again and again.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How long a disk that has failed is not written to. A read that tries has to fetch its range once more.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The newest failure, if nothing was written since.
#[derive(Debug, Default)]
pub(super) struct Failing(Mutex<Option<(Instant, Arc<io::Error>)>>);

impl Failing {
    fn lock(&self) -> MutexGuard<'_, Option<(Instant, Arc<io::Error>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that copies can't be written. The first time it is logged.
    pub fn failed(&self, dir: &Path, error: Arc<io::Error>) {
        let before = self.lock().replace((Instant::now(), error.clone()));
        if before.is_none() {
            let (dir, advice) = (dir.display(), "free some space or make the cache smaller");
            tracing::warn!(%dir, %error, "can't write to the cache, so reads will be slow; {advice}");
        }
    }

    /// Notes that a copy was written.
    pub fn worked(&self) {
        *self.lock() = None;
    }

    /// Why nothing should be written now.
    pub fn now(&self) -> Option<Arc<io::Error>> {
        let failed = self.lock();
        let (at, error) = failed.as_ref()?;
        (at.elapsed() < RETRY_AFTER).then(|| error.clone())
    }
}
