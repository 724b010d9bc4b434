//! Whether a request is for this broker or for the owner of a journal, and what becomes of it if the owner doesn't
//! respond.
//!
//! How a request gets to the owner is the caller's business. It is sent at most once: what may have reached an owner
//! has an unknown outcome, and is not sent again.

use crate::cluster::{Card, Cluster};

/// The owner changes this often while a request waits to be sent, at most.
const ATTEMPTS_MAX: usize = 3;

/// How an attempt to send a request ended.
#[derive(Debug)]
pub enum Sent<Q, R> {
    /// With the owner's response.
    Response(R),
    /// Nothing of it was sent: the request, and why.
    Not(Q, String),
    /// It may have had an effect.
    Lost(String),
}

/// The outcome of a request.
#[derive(Debug)]
pub enum Forwarded<Q, R> {
    /// The owner's response, and the owner.
    Response(R, Box<Card>),
    /// It is for this broker.
    Here(Q),
}

/// The owner went away while it had a request: whether that had an effect is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the broker that appends for all went away while it had this request, and whether it had an effect is unknown; \
     retry it if it has a producer and a sequence, or read the partition's end to find out"
)]
pub struct OwnerLost;

impl Cluster {
    /// Sends a request to the owner of a journal with `send`, if that is another broker.
    pub async fn forward<Q, R, S: Future<Output = Sent<Q, R>>>(
        &self,
        journal: u32,
        mut request: Q,
        mut send: impl FnMut(Card, Q) -> S,
    ) -> Result<Forwarded<Q, R>, OwnerLost> {
        for _ in 0..ATTEMPTS_MAX {
            let Some(owner) = self.other_owner(journal) else { break };
            let mut brokers = self.watch();
            let is_gone = brokers.wait_for(|brokers| brokers.live().all(|card| card.id != owner.id));
            let sent = tokio::select! {
                biased;
                sent = send(owner.clone(), request) => sent,
                _ = is_gone => Sent::Lost("it isn't live any more".to_owned()),
            };
            match sent {
                Sent::Response(response) => return Ok(Forwarded::Response(response, Box::new(owner))),
                Sent::Not(unsent, error) => {
                    tracing::debug!(owner = %owner.id, error, "can't reach the owner of a journal");
                    self.unreachable(owner.id);
                    request = unsent;
                }
                Sent::Lost(error) => {
                    tracing::debug!(owner = %owner.id, error, "lost a forwarded request");
                    return Err(OwnerLost);
                }
            }
        }
        Ok(Forwarded::Here(request))
    }
}
