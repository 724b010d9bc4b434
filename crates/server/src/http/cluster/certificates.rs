//! Certificates of brokers: other brokers know this one's before it is used, and this one knows theirs.

use crate::http::api::Api;
use crate::net::tls::Tls;
use rawline_broker::cluster::{Cluster, Fingerprint};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};

/// Time until the others have read a changed card: they do so every three seconds, and with answers to questions
/// for changes.
const KNOWN_AFTER: Duration = Duration::from_secs(4);

/// Minimum time between two listings of the cards, since any program that connects can cause one.
const LOOK_EVERY: Duration = Duration::from_secs(3);

/// Makes known that this broker presents these certificates. With several, it changes them: returns when the others
/// know all.
pub(crate) async fn present(api: Arc<Api>, certificates: Vec<Fingerprint>) {
    let Some(cluster) = api.broker.cluster() else { return };
    let is_change = certificates.len() > 1;
    cluster.present(certificates).await;
    if is_change && cluster.brokers().live().count() > 1 {
        sleep(KNOWN_AFTER).await;
    }
}

/// Accepts the certificates of the other brokers as client certificates, and looks for new brokers when a client
/// presents an unknown certificate. Never returns.
pub(crate) async fn follow_certificates(tls: &Tls, cluster: &Cluster) {
    let mut brokers = cluster.watch();
    let mut next_look = Instant::now();
    loop {
        let now = brokers.borrow_and_update().clone();
        tls.know(now.members.iter().flat_map(|member| member.card.certificates.iter().copied()).collect());
        let stranger = async {
            tls.stranger().await;
            sleep_until(next_look).await;
        };
        tokio::select! {
            changed = brokers.changed() => assert!(changed.is_ok(), "the cluster is held here"),
            () = stranger => {
                next_look = Instant::now() + LOOK_EVERY;
                if let Err(error) = cluster.look_for_others().await {
                    tracing::warn!(%error, "can't list the brokers on this storage");
                }
            }
        }
    }
}
