//! Loads the files of certificates again when they have changed.

use super::{Current, Tls, TlsError};
use rawline_broker::cluster::Fingerprint;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// How often the files are read: a few kilobytes from the page cache.
const CHECK_EVERY: Duration = Duration::from_secs(2);

/// Loads the files again and again. Before a new certificate is used, `announce` makes it known next to the old one;
/// after that, the new one alone. Never returns.
pub(crate) async fn reload<F: Future<Output = ()>>(tls: Option<&Tls>, announce: impl Fn(Vec<Fingerprint>) -> F) {
    let Some(tls) = tls else { return std::future::pending().await };
    let mut failed = None;
    loop {
        tokio::time::sleep(CHECK_EVERY).await;
        let again = tls.clone();
        #[expect(clippy::disallowed_methods, reason = "files may be on a slow disk")]
        let Ok(changed) = tokio::task::spawn_blocking(move || again.load_again()).await else { continue };
        match changed {
            Ok(None) => failed = None,
            Ok(Some(new)) => {
                failed = None;
                let (old, certificate) = (tls.certificate(), new.certificate());
                if certificate != old {
                    announce(vec![certificate, old]).await;
                }
                *tls.0.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
                tracing::info!("new connections use the certificates that have changed");
                if certificate != old {
                    announce(vec![certificate]).await;
                }
            }
            // While one file is replaced after the other, they don't fit each other.
            Err(error) if failed.as_ref() != Some(&error) => {
                tracing::warn!(
                    %error,
                    "cannot use the certificates that have changed; the previous ones are in \
                     force until the files are fixed"
                );
                failed = Some(error);
            }
            Err(_) => {}
        }
    }
}

impl Tls {
    /// The changed contents of the files.
    fn load_again(&self) -> Result<Option<Current>, TlsError> {
        let loaded = self.0.files.load()?;
        if self.current().loaded.is_same(&loaded) {
            return Ok(None);
        }
        Current::new(loaded, &self.0.brokers).map(Some)
    }
}
