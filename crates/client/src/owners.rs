//! The addresses of the brokers that own topics' journals, learned from responses.
//!
//! A broker that doesn't own a topic's journal forwards appends to the one that does, and names it in its response. So
//! the next appends to the topic go there.

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

/// The owners that one client knows.
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

impl Owners {
    /// The owner of the topic's journal, unless it is the broker that the client uses anyway.
    pub fn of(&self, topic: &str) -> Option<Owner> {
        self.state().of_topics.get(topic).cloned()
    }

    /// A response to a client has named the owner of the topic's journal.
    pub fn learn(&self, topic: &str, url: &str, client: &Client) {
        let mut state = self.state();
        let is_known = state.of_topics.get(topic).is_some_and(|owner| *owner.url == *url);
        let now = Instant::now();
        if is_known || state.unreachable.get(url).is_some_and(|until| *until > now) {
            return;
        }
        state.unreachable.retain(|_, until| *until > now);
        let Some(client) = state.broker(url, client) else {
            state.unreachable.insert(url.to_owned(), now + OWNER_UNREACHABLE_FOR);
            return;
        };
        if state.of_topics.len() >= OWNERS_TOPICS_MAX {
            state.of_topics.clear();
        }
        state.of_topics.insert(topic.to_owned(), Owner { url: url.into(), client });
    }

    /// An append that was sent to the owner has failed: the next goes to a broker that knows the owner.
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
