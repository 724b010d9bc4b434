//! Opens the WebSocket of a subscription, and finds out which of its topics have been deleted.

use super::config::SubscriptionConfig;
use super::socket::{Event, Socket, SocketError};
use crate::call::{Call, query_value};
use crate::client::{Client, Switched};
use crate::error::ClientError;
use crate::limits::NEARER_MOVES_MAX;
use crate::owners::Learned;
use crate::peer::Peer;
use crate::retry::RetryPolicy;
use http::HeaderMap;
use http::header::SEC_WEBSOCKET_ACCEPT;
use rawline_contract::code::TOPIC_NOT_FOUND;
use rawline_contract::path;
use rawline_contract::subscription::{ControlMessage, Cursor};
use std::time::Duration;
use tokio::time::Instant;
use tungstenite::handshake::client::generate_key;
use tungstenite::handshake::derive_accept_key;

/// A subscription that the broker has accepted.
pub(super) struct Opened {
    pub socket: Socket,
    pub peer: Peer,
    /// When to look again for the broker of the client's zone, if it can't be reached.
    pub look_at: Option<Instant>,
    /// The start.
    pub cursor: Cursor,
    /// Its topics that don't exist any more.
    pub gone: Vec<String>,
}

/// Opens a subscription at `cursor`, or where its settings say, without retries: at the broker of the client's zone
/// that serves it, if that can be reached.
pub(super) async fn open(
    client: &Client,
    config: &SubscriptionConfig,
    cursor: Option<&Cursor>,
) -> Result<Opened, ClientError> {
    let read = config.call("", None)?.target;
    let (mut begin, mut moves) = (None, 0);
    loop {
        let nearer = client.nearer_of(&read);
        let at = nearer.as_ref().map_or(client, |nearer| &nearer.client);
        let cursor = cursor.or(begin.as_ref());
        match at.within(Duration::ZERO, open_unlimited(at, config, cursor)).await {
            Ok((opened, head)) => match client.learn_nearer(&read, &head) {
                // It begins where the first broker has said: the other one may not have seen the newest records yet.
                Learned::New if moves < NEARER_MOVES_MAX => (begin, moves) = (Some(opened.cursor), moves + 1),
                Learned::Unreachable(until) => return Ok(Opened { look_at: Some(until), ..opened }),
                _ => return Ok(opened),
            },
            Err(error) => match nearer {
                Some(nearer) if client.nearer_failed(&read, &nearer, &error) => {}
                _ => return Err(error),
            },
        }
    }
}

async fn open_unlimited(
    client: &Client,
    config: &SubscriptionConfig,
    cursor: Option<&Cursor>,
) -> Result<(Opened, HeaderMap), ClientError> {
    let key = generate_key();
    let Switched { head, arrived, stream, peer } = client.upgrade(&config.call(&key, cursor)?).await?;
    let accept = head.headers.get(SEC_WEBSOCKET_ACCEPT).map(|value| value.as_bytes());
    if accept != Some(derive_accept_key(key.as_bytes()).as_bytes()) {
        return Err(client.not_a_brokers("an upgrade to another protocol than a WebSocket's".to_owned()));
    }
    let mut socket = Socket::new(stream, &arrived, client.config().answer_bytes_max);
    let first = peer.unless_silent(Duration::ZERO, socket.next()).await?;
    let first = first.map_err(|error| match error {
        SocketError::Broken(reason) => client.inner.truncated(reason),
        SocketError::Protocol(reason) => client.not_a_brokers(reason),
    })?;
    let wrong = |what: &str| client.not_a_brokers(format!("{what}, where a subscription begins"));
    let text = match first {
        Event::Text(text) => text,
        Event::Closed(reason) => return Err(client.inner.truncated(reason)),
        Event::Begin(_) | Event::Whole(_) => return Err(wrong("records")),
    };
    match serde_json::from_str(&text).map_err(|error| client.not_a_brokers(error.to_string()))? {
        ControlMessage::Subscribed { cursor } => {
            let cursor = cursor.ok_or_else(|| wrong("no cursor, since it is too long: subscribe to fewer topics"))?;
            let cursor = cursor.parse().map_err(|error| client.not_a_brokers(format!("{error}")))?;
            Ok((Opened { socket, peer, look_at: None, cursor, gone: Vec::new() }, head.headers))
        }
        ControlMessage::End { code, error } => Err(super::ended(&code, &error)),
        _ => Err(wrong("another message")),
    }
}

/// Opens a subscription again. Topics that were deleted meanwhile are left out, if others are left.
pub(super) async fn reopen(
    client: &Client,
    mut config: SubscriptionConfig,
    cursor: &Cursor,
) -> Result<Opened, ClientError> {
    let mut gone = Vec::new();
    loop {
        let error = match open(client, &config, Some(cursor)).await {
            Ok(opened) => return Ok(Opened { gone, ..opened }),
            Err(error) => error,
        };
        if error.code() != Some(TOPIC_NOT_FOUND.name) {
            return Err(error);
        }
        let missing = missing(client, &config.topics).await?;
        config.topics.retain(|topic| !missing.contains(topic));
        if missing.is_empty() || config.topics.is_empty() && config.prefixes.is_empty() {
            return Err(error);
        }
        gone.extend(missing);
    }
}

/// Which of these topics don't exist.
async fn missing(client: &Client, topics: &[String]) -> Result<Vec<String>, ClientError> {
    let client = client.with_retries(RetryPolicy::NONE);
    let mut missing = Vec::new();
    for topic in topics {
        let call = Call::get(format!("{}?topic-name={}", path::TOPIC, query_value(topic)));
        match client.text(&call).await {
            Err(error) if error.code() == Some(TOPIC_NOT_FOUND.name) => missing.push(topic.clone()),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
    Ok(missing)
}
