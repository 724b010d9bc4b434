//! Brokers tell each other what they have stored: each asks each other one for the next change, and sends its own card
//! with the question. So a record reaches the readers of all brokers a moment after it is stored, a broker that starts
//! is known to all at once, and one that was killed is missed at once.
//!
//! How a question gets to another broker is the caller's business.

use crate::cluster::{BrokerId, Card, Cluster, MemberState};
use crate::limits::{ANSWER_WAIT, ASK_RETRY_WAIT, CHANGE_WAIT};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::collections::BTreeSet;
use std::fmt;
use tokio::time::{sleep, timeout};

/// A way to ask other brokers.
pub trait Peers: Sync {
    /// Sends this broker's card, and asks for the card of the broker `to` once that has stored something after the
    /// objects `after`, one for each journal.
    fn ask(&self, to: &Card, me: Card, after: &[u64]) -> impl Future<Output = Result<Card, Unanswered>> + Send;

    /// A broker doesn't respond.
    fn forget(&self, id: BrokerId);
}

/// Why a broker didn't respond.
#[derive(Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// For the log.
    pub reason: String,
    /// Whether it won't respond until something changes.
    pub is_refusal: bool,
}

impl Unanswered {
    /// It may respond next time.
    pub fn now(reason: impl Into<String>) -> Unanswered {
        Unanswered { reason: reason.into(), is_refusal: false }
    }
}

impl<E: std::error::Error> From<E> for Unanswered {
    fn from(error: E) -> Self {
        Unanswered::now(error.to_string())
    }
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl Cluster {
    /// Answers another broker's question, which came with its card: with this broker's card, once it has stored
    /// something after the objects `after`, one for each journal, owns other journals or is about to stop, or after a
    /// while.
    pub async fn answer(&self, asking: Card, after: &[u64]) -> Card {
        self.asked(asking);
        let (mut brokers, before) = (self.watch(), self.me());
        let is_same = |card: &Card| card.is_leaving == before.is_leaving && card.owns_changes == before.owns_changes;
        let changed = async {
            tokio::select! {
                biased;
                () = self.passed(after) => {}
                _ = brokers.wait_for(|brokers| !brokers.card(brokers.me).is_some_and(is_same)) => {}
            }
        };
        // A response without a change shows that this broker is alive.
        let _ = timeout(CHANGE_WAIT, changed).await;
        self.me()
    }

    /// Asks the other brokers for changes, for as long as this is polled.
    pub async fn exchange(&self, peers: &impl Peers) {
        let mut brokers = self.watch();
        let (mut asking, mut asked) = (FuturesUnordered::new(), BTreeSet::new());
        loop {
            let now = brokers.borrow_and_update().clone();
            for member in &now.members {
                let id = member.card.id;
                let is_asked = id != now.me && member.state != MemberState::Silent && member.card.url.is_some();
                if is_asked && asked.insert(id) {
                    asking.push(async move {
                        self.ask(peers, id).await;
                        id
                    });
                }
            }
            tokio::select! {
                biased;
                changed = brokers.changed() => assert!(changed.is_ok(), "the cluster is held here"),
                Some(id) = asking.next() => {
                    asked.remove(&id);
                }
            }
        }
    }

    /// Asks one broker, until its card is old or gone.
    async fn ask(&self, peers: &impl Peers, id: BrokerId) {
        let (mut after, mut refused) = (Vec::new(), None);
        loop {
            let brokers = self.brokers();
            let member = brokers.members.iter().find(|member| member.card.id == id);
            let Some(member) = member.filter(|member| member.state != MemberState::Silent) else { return };
            match timeout(ANSWER_WAIT, peers.ask(&member.card, self.me(), &after)).await {
                Ok(Ok(card)) if card.id == id => {
                    refused = None;
                    after = card.next_objects().collect();
                    let is_leaving = card.is_leaving;
                    self.responded(card);
                    if is_leaving {
                        sleep(ASK_RETRY_WAIT).await;
                    }
                    continue;
                }
                Ok(Ok(card)) => tracing::debug!(broker = %id, found = %card.id, "another broker is at its address"),
                Ok(Err(error)) if error.is_refusal && refused.as_ref() != Some(&error) => {
                    let url = member.card.url.as_deref().unwrap_or_default();
                    tracing::warn!(
                        broker = %id, url,
                        "can't connect to another broker: {error}; check its address \
                         and the network between the brokers"
                    );
                    refused = Some(error);
                }
                Ok(Err(error)) => tracing::debug!(broker = %id, %error, "a broker doesn't respond"),
                Err(_) => tracing::debug!(broker = %id, "a broker doesn't respond in time"),
            }
            peers.forget(id);
            self.unreachable(id);
            sleep(ASK_RETRY_WAIT).await;
        }
    }
}
