//! `POST /brokers/changes`: how brokers request changes from each other over HTTP.

use super::sender::Via;
use crate::http::error::ApiError;
use crate::http::peers::{Asker, ConnectError, Exchanged, Peers, SendError, body};
use crate::http::query::Query;
use crate::http::response::{self, ApiResponse};
use bytes::Bytes;
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use rawline_broker::cluster::{self, BrokerId, Card, Cluster, Unanswered};
use rawline_contract::{code, path};
use std::time::Duration;
use tokio::time::sleep;

/// How often a broker whose card can't be stored looks whether the others live.
const LIVES_EVERY: Duration = Duration::from_secs(1);

/// Maximum size of a card in bytes.
const CARD_BYTES_MAX: usize = 16 << 10;

/// `POST /brokers/changes?after=NUMBER`, from another broker: its card is the body, this broker's the response, once it
/// has stored something after the object `after`, owns other journals, or is about to stop. Of a storage with several
/// journals, `after` has a number for each, separated by commas.
pub(crate) async fn changes(cluster: &Cluster, via: Via, request: Request<Incoming>) -> Result<ApiResponse, ApiError> {
    let after = numbers(&Query::of(&request).text("after").unwrap_or_default())?;
    let sent = Limited::new(request.into_body(), CARD_BYTES_MAX).collect().await;
    let sent = sent.map_err(|error| ApiError::new(code::BAD_REQUEST, format!("no broker's card: {error}")))?;
    let card = Card::decode(&sent.to_bytes());
    let card = card.map_err(|error| ApiError::new(code::BAD_REQUEST, format!("no broker's card: {error}")))?;
    if card.id != via.broker {
        return Err(ApiError::other_broker(via.broker, card.id));
    }
    Ok(response::json(StatusCode::OK, &cluster.answer(card, &after).await))
}

/// The numbers in a list.
fn numbers(list: &str) -> Result<Vec<u64>, ApiError> {
    let wrong = |number: &str| ApiError::new(code::BAD_REQUEST, format!("after has {number:?}, which isn't a number"));
    let number = |text: &str| text.parse().map_err(|_| wrong(text));
    list.split(',').filter(|text| !text.is_empty()).map(number).collect()
}

impl cluster::Peers for Peers {
    async fn ask(&self, to: &Card, me: Card, after: &[u64]) -> Result<Card, Unanswered> {
        let numbers: Vec<String> = after.iter().map(u64::to_string).collect();
        let target = format!("{}?after={}", path::BROKER_CHANGES, numbers.join(","));
        let mut request = Request::new(body(me.encode()));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = target.parse::<Uri>()?;
        let Exchanged { response, connection } = match self.send(to, request, &Asker::Broker).await {
            Ok(exchanged) => exchanged,
            Err(SendError::NotSent(_, ConnectError::Unproven)) => return self.lives(to).await,
            Err(SendError::NotSent(_, error)) => {
                let is_refusal = matches!(error, ConnectError::Refused(_));
                return Err(Unanswered { reason: error.to_string(), is_refusal });
            }
            Err(SendError::Lost(error)) => return Err(error.into()),
        };
        let status = response.status();
        let answer = Limited::new(response.into_body(), CARD_BYTES_MAX).collect().await;
        let answer = answer.map_err(|error| Unanswered::now(error.to_string()))?;
        self.keep(connection);
        if status != StatusCode::OK {
            return Err(Unanswered::now(format!("status {status}")));
        }
        Ok(Card::decode(&answer.to_bytes())?)
    }

    fn forget(&self, id: BrokerId) {
        Peers::forget(self, id);
    }
}

impl Peers {
    /// The check of a broker without a card, which can't authenticate: whether the other one responds.
    async fn lives(&self, to: &Card) -> Result<Card, Unanswered> {
        sleep(LIVES_EVERY).await;
        let mut request = Request::new(body(Bytes::new()));
        *request.uri_mut() = Uri::from_static(path::HEALTH);
        let response = match self.send(to, request, &Asker::Anyone).await {
            // The connection ends with the response: by the next one, the card may be stored.
            Ok(Exchanged { response, connection: _ }) => response,
            Err(SendError::NotSent(_, error)) => return Err(Unanswered::now(error.to_string())),
            Err(SendError::Lost(error)) => return Err(error.into()),
        };
        let status = response.status();
        if status == StatusCode::OK { Ok(to.clone()) } else { Err(Unanswered::now(format!("status {status}"))) }
    }
}
