//! Loads the files of certificates again when they have changed.

use super::{Current, Tls, TlsError};
use std::sync::PoisonError;
use std::time::Duration;

/// How often the files are read: a few kilobytes from the page cache.
const CHECK_EVERY: Duration = Duration::from_secs(2);

/// Loads the files again and again. Never returns.
pub(crate) async fn reload(tls: Option<&Tls>) {
    let Some(tls) = tls else { return std::future::pending().await };
    let mut failed = None;
    loop {
        tokio::time::sleep(CHECK_EVERY).await;
        let tls = tls.clone();
        #[expect(clippy::disallowed_methods, reason = "files may be on a slow disk")]
        let Ok(changed) = tokio::task::spawn_blocking(move || tls.load_again()).await else { continue };
        match changed {
            Ok(false) => failed = None,
            Ok(true) => {
                failed = None;
                tracing::info!("new connections use the certificates that have changed");
            }
            // While one file is replaced after the other, they don't fit each other.
            Err(error) if failed.as_ref() != Some(&error) => {
                tracing::warn!(%error, "cannot use the certificates that have changed; the old ones stay in use");
                failed = Some(error);
            }
            Err(_) => {}
        }
    }
}

impl Tls {
    /// Whether there was something new in the files, which new connections use from now on.
    fn load_again(&self) -> Result<bool, TlsError> {
        let loaded = self.0.files.load()?;
        let current = || &self.0.current;
        if current().read().unwrap_or_else(PoisonError::into_inner).loaded.is_same(&loaded) {
            return Ok(false);
        }
        let new = Current::new(loaded)?;
        *current().write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(true)
    }
}
