//! The broker at the other end of a connection.

use crate::address::Address;
use crate::error::ClientError;
use crate::limits::RESPONSE_PATIENCE;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The broker that a connection leads to.
#[derive(Clone)]
pub(crate) struct Peer {
    address: Arc<Address>,
    /// How often it had been found silent before the connection was opened.
    silences: u64,
}

impl Peer {
    /// The broker at an address to which a connection is about to be opened.
    pub(crate) fn new(address: Arc<Address>) -> Peer {
        let silences = address.liveness.silences();
        Peer { address, silences }
    }

    pub(crate) fn url(&self) -> &str {
        &self.address.url
    }

    /// Whether the broker was found silent after the connection was opened.
    pub(crate) fn is_silent(&self) -> bool {
        self.address.is_replaceable && self.address.liveness.silences() > self.silences
    }

    /// Returns when the broker has been found silent, and never if no other one can take its place. From `ask_at` on,
    /// it is asked.
    pub(crate) async fn silence(&self, ask_at: Instant) {
        if !self.address.is_replaceable {
            return std::future::pending().await;
        }
        let question = || {
            let address = self.address.clone();
            async move { address.ask().await }
        };
        self.address.liveness.silence(self.silences, ask_at, question).await;
    }

    /// Waits for something that the broker may let wait up to `wait`. An error if the broker has been found silent
    /// first: whether it handles the request is unknown.
    pub(crate) async fn unless_silent<T>(
        &self,
        wait: Duration,
        response: impl Future<Output = T>,
    ) -> Result<T, ClientError> {
        if !self.address.is_replaceable {
            return Ok(response.await);
        }
        let ask_at = Instant::now() + wait.saturating_add(RESPONSE_PATIENCE);
        tokio::select! {
            biased;
            response = response => Ok(response),
            () = self.silence(ask_at) => Err(self.silent()),
        }
    }

    /// Why a request to the silent broker has no response.
    pub(crate) fn silence_reason(&self) -> String {
        format!("it didn't respond, and not to {} on another connection either", self.address.health_path())
    }

    fn silent(&self) -> ClientError {
        ClientError::Broken { broker: self.address.url.clone(), reason: self.silence_reason() }
    }
}
