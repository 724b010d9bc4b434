//! A session on a WebSocket, which begins when the response to its request is sent.

use super::WebSocket;
use crate::net::peer::Peer;
use std::fmt;
use std::pin::Pin;
use tokio::sync::OwnedSemaphorePermit;

type Begin = Box<dyn FnOnce(Peer, WebSocket) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// A session that begins when its response is sent.
pub(crate) struct Upgrade {
    begin: Begin,
    permit: OwnedSemaphorePermit,
}

impl Upgrade {
    /// A session that is what `begin` does, and holds a permit.
    pub fn new<F: Future<Output = ()> + Send + 'static>(
        permit: OwnedSemaphorePermit,
        begin: impl FnOnce(Peer, WebSocket) -> F + Send + 'static,
    ) -> Upgrade {
        Upgrade { begin: Box::new(|peer, socket| Box::pin(begin(peer, socket))), permit }
    }

    /// Returns when the session has ended.
    pub async fn run(self, peer: Peer, socket: WebSocket) {
        (self.begin)(peer, socket).await;
        drop(self.permit);
    }
}

impl fmt::Debug for Upgrade {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Upgrade")
    }
}
