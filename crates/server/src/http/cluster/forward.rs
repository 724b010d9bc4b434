//! Sends a client's request on to the owner of the journal, streaming and verbatim.

use super::peers::{Exchanged, PeerBody, SendError};
use crate::http::Api;
use crate::http::error::ApiError;
use crate::http::response::{self, ApiResponse};
use crate::http::routes::Endpoint;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Uri, header};
use http_body_util::{BodyExt, Either, Limited};
use hyper::body::Incoming;
use rawline_broker::cluster::{Card, Cluster};
use rawline_contract::code;
use std::sync::Arc;

/// Maximum size of the owner's response in bytes: offsets, settings, or an error. The largest has the offsets of a
/// request's batches.
const RESPONSE_BYTES_MAX: usize = 16 << 20;

/// The headers of a request that the owner needs.
const REQUEST_HEADERS: [HeaderName; 4] =
    [header::CONTENT_TYPE, header::CONTENT_ENCODING, header::CONTENT_LENGTH, header::ACCEPT];

/// The owner changes this often while a request waits to be sent, at most.
const ATTEMPTS_MAX: usize = 3;

/// What became of a request.
pub(crate) enum Forwarded {
    /// The owner's response.
    Response(ApiResponse),
    /// It is for this broker.
    Here(Request<Incoming>),
}

/// Sends a request to the owner of the journal if that is another broker.
pub(crate) async fn forward(
    api: &Api,
    cluster: &Arc<Cluster>,
    endpoint: Endpoint,
    request: Request<Incoming>,
) -> Result<Forwarded, ApiError> {
    let mut request = request;
    for _ in 0..ATTEMPTS_MAX {
        let Some(owner) = cluster.other_owner() else { return Ok(Forwarded::Here(request)) };
        let (head, outgoing) = outgoing(&owner, request)?;
        match send(api, cluster, &owner, outgoing).await? {
            Sent::Response(response) => {
                if endpoint.changes_topics() {
                    // Whoever asks this broker next sees the change.
                    cluster.catch_up().await?;
                }
                return Ok(Forwarded::Response(*response));
            }
            Sent::Not(unsent) => request = Request::from_parts(head, unsent),
        }
    }
    Ok(Forwarded::Here(request))
}

enum Sent {
    Response(Box<ApiResponse>),
    /// Nothing was sent; the request's body.
    Not(Incoming),
}

/// The request as the owner gets it, and what it was.
fn outgoing(owner: &Card, request: Request<Incoming>) -> Result<(http::request::Parts, Request<PeerBody>), ApiError> {
    let (head, body) = request.into_parts();
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
    let mut outgoing = Request::new(Either::Left(body));
    *outgoing.method_mut() = head.method.clone();
    *outgoing.uri_mut() = target.parse::<Uri>().map_err(|_| ApiError::new(code::BAD_REQUEST, "the URI is no path"))?;
    let headers = outgoing.headers_mut();
    for name in &REQUEST_HEADERS {
        for value in head.headers.get_all(name) {
            headers.append(name, value.clone());
        }
    }
    headers.extend(peer_headers(owner));
    Ok((head, outgoing))
}

/// The headers by which another broker knows that this one sends a request.
pub(super) fn peer_headers(card: &Card) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let host = card.url.as_deref().and_then(|url| url.split_once("://")).map_or("", |(_, host)| host);
    for (name, value) in [(header::HOST, host.trim_end_matches('/')), (rawline_contract::header::PEER, &*card.peer_key)]
    {
        // A card with other characters is refused by the broker that it names.
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
    headers
}

async fn send(api: &Api, cluster: &Cluster, owner: &Card, request: Request<PeerBody>) -> Result<Sent, ApiError> {
    let mut brokers = cluster.watch();
    let sending = api.peers.send(owner, request);
    let is_gone = brokers.wait_for(|brokers| brokers.live().all(|card| card.id != owner.id));
    let Exchanged { response, connection } = tokio::select! {
        sent = sending => match sent {
            Ok(exchanged) => exchanged,
            Err(SendError::NotSent(unsent, error)) => {
                tracing::debug!(owner = %owner.id, %error, "can't reach the owner of the journal");
                cluster.unreachable(owner.id);
                let Either::Left(body) = unsent.into_body() else { unreachable!("a client's request has its body") };
                return Ok(Sent::Not(body));
            }
            Err(SendError::Lost(error)) => {
                tracing::debug!(owner = %owner.id, %error, "lost a forwarded request");
                return Err(lost());
            }
        },
        _ = is_gone => return Err(lost()),
    };
    let (head, body) = response.into_parts();
    let body = Limited::new(body, RESPONSE_BYTES_MAX).collect().await.map_err(|error| {
        tracing::debug!(owner = %owner.id, %error, "lost the response to a forwarded request");
        lost()
    })?;
    api.peers.keep(connection);
    let mut response = response::pieces(head.status, HeaderValue::from_static(""), [body.to_bytes()] as [Bytes; 1]);
    let headers = response.headers_mut();
    headers.clear();
    for (name, value) in &head.headers {
        let is_ours = name.as_str().starts_with("rawline-");
        if is_ours || [header::CONTENT_TYPE, header::RETRY_AFTER, header::ALLOW].contains(name) {
            headers.append(name, value.clone());
        }
    }
    if let Some(url) = owner.url.as_deref().and_then(|url| HeaderValue::from_str(url).ok()) {
        headers.insert(rawline_contract::header::OWNER, url);
    }
    Ok(Sent::Response(Box::new(response)))
}

fn lost() -> ApiError {
    ApiError::new(
        code::OWNER_LOST,
        "the broker that appends for all went away while it had this request, and whether it had an effect is unknown; \
         retry it if it has a producer and a sequence, or read the partition's end to find out",
    )
}
