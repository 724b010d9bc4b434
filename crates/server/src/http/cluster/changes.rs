//! Brokers tell each other what they have stored: each asks each other one for the next change, and sends its own card
//! with the question. So a record reaches the readers of all brokers a moment after it is stored, a broker that starts
//! is known to all at once, and one that was killed is missed at once.

use super::forward::peer_headers;
use super::peers::{ConnectError, Exchanged, SendError, body};
use crate::http::Api;
use crate::http::error::ApiError;
use crate::http::query::Query;
use crate::http::response::{self, ApiResponse};
use futures_util::stream::{FuturesUnordered, StreamExt};
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use rawline_broker::cluster::{BrokerId, Card, Cluster, MemberState};
use rawline_contract::{code, path};
use std::collections::HashSet;
use std::fmt;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How long a question waits for a change.
const CHANGE_WAIT: Duration = Duration::from_secs(2);

/// How long its answer may take: a broker that is stopped or cut off misses it.
const ANSWER_WAIT: Duration = Duration::from_secs(5);

/// The pause after a broker didn't respond.
const RETRY_WAIT: Duration = Duration::from_millis(500);

/// Maximum size of a card in bytes.
const CARD_BYTES_MAX: usize = 16 << 10;

/// `POST /brokers/changes?after=NUMBER`, from another broker: its card is the body, this broker's the response, once it
/// has stored something after the object `after`, or is about to stop.
pub(crate) async fn changes(cluster: &Cluster, request: Request<Incoming>) -> Result<ApiResponse, ApiError> {
    let after = Query::of(&request).number("after", Some(0))?;
    let sent = Limited::new(request.into_body(), CARD_BYTES_MAX).collect().await;
    let sent = sent.map_err(|error| ApiError::new(code::BAD_REQUEST, format!("no broker's card: {error}")))?;
    let card = Card::decode(&sent.to_bytes());
    cluster.asked(card.map_err(|error| ApiError::new(code::BAD_REQUEST, format!("no broker's card: {error}")))?);
    let (mut end, mut brokers) = (cluster.end(), cluster.watch());
    let is_leaving = cluster.brokers().is_leaving();
    let changed = async {
        tokio::select! {
            _ = end.wait_for(|next| *next > after) => {}
            _ = brokers.wait_for(|brokers| brokers.is_leaving() != is_leaving) => {}
        }
    };
    // An answer without a change says that this broker is alive.
    let _ = timeout(CHANGE_WAIT, changed).await;
    Ok(response::json(StatusCode::OK, &cluster.me()))
}

/// Asks the other brokers for changes, for as long as this is polled.
pub(crate) async fn exchange_changes(api: &Api, cluster: &Cluster) {
    let mut brokers = cluster.watch();
    let (mut asking, mut asked) = (FuturesUnordered::new(), HashSet::new());
    loop {
        let now = brokers.borrow_and_update().clone();
        for member in &now.members {
            let id = member.card.id;
            let is_asked = id != now.me && member.state != MemberState::Silent && member.card.url.is_some();
            if is_asked && asked.insert(id) {
                asking.push(async move {
                    ask(api, cluster, id).await;
                    id
                });
            }
        }
        tokio::select! {
            changed = brokers.changed() => assert!(changed.is_ok(), "the cluster is held here"),
            Some(id) = asking.next() => {
                asked.remove(&id);
            }
        }
    }
}

/// Asks one broker, until its card is old or gone.
async fn ask(api: &Api, cluster: &Cluster, id: BrokerId) {
    let mut after = 0;
    let mut refused = None;
    loop {
        let brokers = cluster.brokers();
        let member = brokers.members.iter().find(|member| member.card.id == id);
        let Some(member) = member.filter(|member| member.state != MemberState::Silent) else { return };
        match timeout(ANSWER_WAIT, ask_once(api, cluster, &member.card, after)).await {
            Ok(Ok(card)) => {
                refused = None;
                after = card.next_object.max(after);
                let is_leaving = card.is_leaving;
                cluster.responded(card);
                if is_leaving {
                    sleep(RETRY_WAIT).await;
                }
            }
            Ok(Err(error)) => {
                tracing::debug!(broker = %id, %error, "a broker doesn't respond");
                if error.is_refusal && refused.as_ref() != Some(&error) {
                    let url = member.card.url.as_deref().unwrap_or_default();
                    tracing::warn!(broker = %id, url, "can't connect to another broker: {error}");
                    refused = Some(error);
                }
                lost(api, cluster, id).await;
            }
            Err(_) => lost(api, cluster, id).await,
        }
    }
}

async fn lost(api: &Api, cluster: &Cluster, id: BrokerId) {
    api.peers.forget(id);
    cluster.unreachable(id);
    sleep(RETRY_WAIT).await;
}

/// Why a broker didn't respond.
#[derive(Debug, PartialEq, Eq)]
struct Unanswered {
    reason: String,
    /// Whether it won't, until somebody changes something.
    is_refusal: bool,
}

impl<E: std::error::Error> From<E> for Unanswered {
    fn from(error: E) -> Self {
        Unanswered { reason: error.to_string(), is_refusal: false }
    }
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

async fn ask_once(api: &Api, cluster: &Cluster, card: &Card, after: u64) -> Result<Card, Unanswered> {
    let target = format!("{}?after={after}", path::BROKER_CHANGES);
    let mut request = Request::new(body(cluster.me().encode()));
    *request.method_mut() = http::Method::POST;
    *request.uri_mut() = target.parse::<Uri>()?;
    request.headers_mut().extend(peer_headers(card));
    let Exchanged { response, connection } = match api.peers.send(card, request).await {
        Ok(exchanged) => exchanged,
        Err(SendError::NotSent(_, error)) => {
            let is_refusal = matches!(error, ConnectError::Refused(_));
            return Err(Unanswered { reason: error.to_string(), is_refusal });
        }
        Err(SendError::Lost(error)) => return Err(error.into()),
    };
    let status = response.status();
    let answer = Limited::new(response.into_body(), CARD_BYTES_MAX).collect().await;
    let answer = answer.map_err(|error| Unanswered { reason: error.to_string(), is_refusal: false })?;
    api.peers.keep(connection);
    let reason = if status != StatusCode::OK {
        format!("status {status}")
    } else {
        let answer = Card::decode(&answer.to_bytes())?;
        if answer.id == card.id {
            return Ok(answer);
        }
        format!("broker {} is at its address", answer.id)
    };
    Err(Unanswered { reason, is_refusal: false })
}
