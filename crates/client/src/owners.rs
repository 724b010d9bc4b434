//! The addresses of the brokers that own topics' journals, learned from responses, and of those that serve reads in the
//! client's zone.
//!
//! A broker that doesn't own a topic's journal forwards appends to the one that does, and names it in its response. So
//! the next appends to the topic go there. In the same way, the response to a read names the broker of the client's
//! zone that has the partition in its cache: to the client's reads, that is the partition's owner.

use crate::client::Client;
use crate::config::ClientConfig;
use crate::error::ClientError;
use crate::limits::{OWNER_CONNECT_TIMEOUT, OWNER_UNREACHABLE_FOR, OWNERS_MAX, OWNERS_TOPICS_MAX};
use crate::refusal::code_of_status;
use http::StatusCode;
use rawline_contract::code::ALL;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

/// The owners that one client knows, for its appends or for its reads.
#[derive(Default)]
pub(crate) struct Owners(Mutex<State>);

#[derive(Default)]
struct State {
    of_topics: HashMap<String, Owner>,
    /// By URL.
    brokers: HashMap<String, Client>,
    /// The time before which a URL isn't retried.
    unreachable: HashMap<String, Instant>,
}

/// The owner of a topic's journal.
#[derive(Clone)]
pub(crate) struct Owner {
    url: Arc<str>,
    /// Its client, which has separate connections.
    pub client: Client,
}

impl Owner {
    /// Whether both are the same broker.
    pub fn is_same(one: Option<&Owner>, other: Option<&Owner>) -> bool {
        one.map(|owner| &owner.url) == other.map(|owner| &owner.url)
    }
}

/// What a client does with an owner that a response has named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Learned {
    /// The next requests go there.
    New,
    /// They already do.
    Known,
    /// It can't be reached from here: it isn't tried before this time.
    Unreachable(Instant),
}

impl Owners {
    /// The owner of the topic's journal, or of what is read, unless it is the broker that the client uses anyway.
    pub fn of(&self, topic: &str) -> Option<Owner> {
        self.state().of_topics.get(topic).cloned()
    }

    /// A response to a client has named the owner of the topic's journal.
    pub fn learn(&self, topic: &str, url: &str, client: &Client) -> Learned {
        let mut state = self.state();
        if state.of_topics.get(topic).is_some_and(|owner| *owner.url == *url) {
            return Learned::Known;
        }
        let now = Instant::now();
        if let Some(until) = state.unreachable.get(url).filter(|until| **until > now) {
            return Learned::Unreachable(*until);
        }
        state.unreachable.retain(|_, until| *until > now);
        let Some(client) = state.broker(url, client) else {
            let until = now + OWNER_UNREACHABLE_FOR;
            state.unreachable.insert(url.to_owned(), until);
            return Learned::Unreachable(until);
        };
        if state.of_topics.len() >= OWNERS_TOPICS_MAX {
            state.of_topics.clear();
        }
        state.of_topics.insert(topic.to_owned(), Owner { url: url.into(), client });
        Learned::New
    }

    /// A request that was sent to the owner has failed: the next goes to a broker that knows the owner.
    pub fn failed(&self, topic: &str, owner: &Owner, error: &ClientError) {
        let mut state = self.state();
        if is_unsent(error) || is_strangers(error) || owner.client.inner.is_silent() {
            state.unreachable.insert(owner.url.to_string(), Instant::now() + OWNER_UNREACHABLE_FOR);
            state.brokers.remove(&*owner.url);
            state.of_topics.retain(|_, other| other.url != owner.url);
        } else if error.status().is_none_or(|status| status >= 500)
            && Owner::is_same(state.of_topics.get(topic), Some(owner))
        {
            state.of_topics.remove(topic);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The client of a broker; `None` if the URL is invalid, or would replace encryption by plain text.
    fn broker(&mut self, url: &str, given: &Client) -> Option<Client> {
        if let Some(client) = self.brokers.get(url) {
            return Some(client.clone());
        }
        let config = given.config();
        let scheme = |url: &str| url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        if url.contains(',') || config.broker.split(',').any(|ours| scheme(ours.trim()) != scheme(url)) {
            return None;
        }
        let connect_timeout = config.connect_timeout.min(OWNER_CONNECT_TIMEOUT);
        let config = ClientConfig { broker: url.to_owned(), connect_timeout, ..config.clone() };
        let client = given.of_owner(config).ok()?;
        if self.brokers.len() >= OWNERS_MAX {
            self.brokers.clear();
        }
        self.brokers.insert(url.to_owned(), client.clone());
        Some(client)
    }
}

/// Whether it is not a broker that has responded: from here, the URL leads to something else.
fn is_strangers(error: &ClientError) -> bool {
    match error {
        ClientError::Answer { .. } => true,
        ClientError::Refused { status, code, .. } => {
            StatusCode::from_u16(*status).is_ok_and(|status| *code == code_of_status(status))
                && ALL.iter().all(|known| known.name != code)
        }
        _ => false,
    }
}

/// Whether nothing was sent, so that it can be sent elsewhere.
pub(crate) fn is_unsent(error: &ClientError) -> bool {
    matches!(error, ClientError::Connect { .. } | ClientError::Tls { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_owner_that_could_not_be_reached_is_learned_again_after_a_while() {
        let (owners, url) = (Owners::default(), "http://b:2");
        let client = Client::new(ClientConfig::new("http://a:1")).unwrap();
        let learn = || owners.learn("t", url, &client);
        assert_eq!([learn(), learn()], [Learned::New, Learned::Known]);
        let reason = "refused".to_owned();
        owners.failed("t", &owners.of("t").unwrap(), &ClientError::Connect { broker: url.to_owned(), reason });
        assert_eq!(learn(), Learned::Unreachable(Instant::now() + OWNER_UNREACHABLE_FOR));
        assert!(owners.of("t").is_none());
        tokio::time::advance(OWNER_UNREACHABLE_FOR).await;
        assert_eq!(learn(), Learned::New);
        assert!(owners.of("t").is_some());
    }
}
