//! `GET /groups` at any broker returns the groups of all brokers: each coordinates the groups of its journals.

use crate::http::api::Api;
use crate::http::error::ApiError;
use crate::http::peers::{Asker, Client, Exchanged, SendError, body};
use bytes::Bytes;
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};
use rawline_broker::cluster::{Card, Cluster};
use rawline_contract::{GroupList, GroupSummary, code, path};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::timeout;

/// How long a broker may take to list its groups.
const LIST_WAIT: Duration = Duration::from_secs(5);

/// Maximum size of a list in bytes.
const LIST_BYTES_MAX: usize = 64 << 20;

/// Maximum number of changes of the owners during a request.
const ATTEMPTS_MAX: usize = 3;

/// The groups that other brokers coordinate, as far as they show them to the client.
pub(crate) async fn groups_of_others(
    api: &Api,
    cluster: &Cluster,
    client: Client,
    has_totals: bool,
) -> Result<Vec<GroupSummary>, ApiError> {
    let asker = Asker::Client(client);
    for _ in 0..ATTEMPTS_MAX {
        let owners = (0..api.broker.journals()).filter_map(|journal| cluster.other_owner(journal));
        let owners: BTreeMap<_, Card> = owners.map(|card| (card.id, card)).collect();
        let mut all = Vec::new();
        let mut is_complete = true;
        for owner in owners.values() {
            match timeout(LIST_WAIT, ask(api, owner, &asker, has_totals)).await {
                Ok(Ok(Ok(groups))) => all.extend(groups),
                // It lives, and knows the client's key as another one's, or not.
                Ok(Ok(Err(refused))) => return Err(refused),
                Ok(Err(error)) => {
                    tracing::debug!(owner = %owner.id, error, "a broker doesn't list its groups");
                    is_complete = false;
                }
                Err(_) => is_complete = false,
            }
            if !is_complete {
                cluster.unreachable(owner.id);
                break;
            }
        }
        if is_complete {
            return Ok(all);
        }
    }
    let error =
        "a broker that coordinates some of the groups doesn't respond, and no other one has taken over yet: retry";
    Err(ApiError::new(code::OWNER_LOST, error))
}

/// The groups of one owner, or its refusal of the client.
async fn ask(
    api: &Api,
    owner: &Card,
    asker: &Asker,
    has_totals: bool,
) -> Result<Result<Vec<GroupSummary>, ApiError>, String> {
    let mut request = Request::new(body(Bytes::new()));
    let target = format!("{}?totals={has_totals}", path::GROUPS);
    *request.uri_mut() = Uri::try_from(target).map_err(|error| error.to_string())?;
    let Exchanged { response, connection } = match api.peers.send(owner, request, asker).await {
        Ok(exchanged) => exchanged,
        Err(SendError::NotSent(_, error)) => return Err(error.to_string()),
        Err(SendError::Lost(error)) => return Err(error.to_string()),
    };
    let status = response.status();
    let list = Limited::new(response.into_body(), LIST_BYTES_MAX).collect().await.map_err(|error| error.to_string())?;
    api.peers.keep(connection);
    if status == StatusCode::UNAUTHORIZED {
        return Ok(Err(ApiError::unauthorized_here()));
    }
    if status != StatusCode::OK {
        return Err(format!("status {status}"));
    }
    let list: GroupList = serde_json::from_slice(&list.to_bytes()).map_err(|error| error.to_string())?;
    Ok(Ok(list.groups))
}
