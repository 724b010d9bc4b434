//! Sends a client's request on to the owner of its journal, streaming and verbatim.

use crate::http::api::Api;
use crate::http::error::ApiError;
use crate::http::peers::{Asker, Client, Exchanged, PeerBody, SendError};
use crate::http::response::{self, ApiResponse};
use crate::http::routes::Endpoint;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Uri, header};
use http_body_util::{BodyExt, Either, Limited};
use hyper::body::Incoming;
use rawline_broker::cluster::{Card, Cluster, Forwarded, Sent};
use rawline_contract::code;

/// Maximum size of the owner's response in bytes: offsets, settings, or an error. The largest has the offsets of a
/// request's batches.
const RESPONSE_BYTES_MAX: usize = 16 << 20;

/// The headers of a request that the owner needs. `Authorization` isn't one: the owner gets the client's name.
const REQUEST_HEADERS: [HeaderName; 4] =
    [header::CONTENT_TYPE, header::CONTENT_ENCODING, header::CONTENT_LENGTH, header::ACCEPT];

/// The headers of a response that the client gets, besides our own.
const RESPONSE_HEADERS: [HeaderName; 4] =
    [header::CONTENT_TYPE, header::RETRY_AFTER, header::ALLOW, header::WWW_AUTHENTICATE];

/// Marks a response as the owner's, which has already written the audit log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByOwner;

/// Sends a request to the owner of a journal if that is another broker.
pub(crate) async fn forward(
    api: &Api,
    cluster: &Cluster,
    journal: u32,
    endpoint: Endpoint,
    client: Client,
    request: Request<Incoming>,
) -> Result<Forwarded<Request<Incoming>, ApiResponse>, ApiError> {
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    let target = target.parse::<Uri>().map_err(|_| ApiError::new(code::BAD_REQUEST, "the URI isn't a path"))?;
    let asker = Asker::Client(client);
    let sending = cluster.forward(journal, request, |owner, request| send(api, owner, target.clone(), &asker, request));
    let forwarded = sending.await.map_err(|lost| ApiError::new(code::OWNER_LOST, lost.to_string()))?;
    if matches!(forwarded, Forwarded::Response(..)) && endpoint.changes_topics() {
        // The next request to this broker sees the change.
        cluster.catch_up_in(journal).await?;
    }
    Ok(forwarded)
}

/// The request for the owner, and the original one's path.
fn outgoing(target: Uri, request: Request<Incoming>) -> (http::request::Parts, Request<PeerBody>) {
    let (head, body) = request.into_parts();
    let mut outgoing = Request::new(Either::Left(body));
    *outgoing.method_mut() = head.method.clone();
    *outgoing.uri_mut() = target;
    let headers = outgoing.headers_mut();
    for name in &REQUEST_HEADERS {
        for value in head.headers.get_all(name) {
            headers.append(name, value.clone());
        }
    }
    (head, outgoing)
}

async fn send(
    api: &Api,
    owner: Card,
    target: Uri,
    asker: &Asker,
    request: Request<Incoming>,
) -> Sent<Request<Incoming>, ApiResponse> {
    let (head, request) = outgoing(target, request);
    let Exchanged { response, connection } = match api.peers.send(&owner, request, asker).await {
        Ok(exchanged) => exchanged,
        Err(SendError::NotSent(unsent, error)) => {
            let Either::Left(body) = unsent.into_body() else { unreachable!("a client's request has its body") };
            return Sent::Not(Request::from_parts(head, body), error.to_string());
        }
        Err(SendError::Lost(error)) => return Sent::Lost(error.to_string()),
    };
    let (head, body) = response.into_parts();
    let body = match Limited::new(body, RESPONSE_BYTES_MAX).collect().await {
        Ok(body) => body,
        Err(error) => return Sent::Lost(error.to_string()),
    };
    api.peers.keep(connection);
    let mut response = response::pieces(head.status, HeaderValue::from_static(""), [body.to_bytes()] as [Bytes; 1]);
    let headers = response.headers_mut();
    headers.clear();
    for (name, value) in &head.headers {
        let is_ours = name.as_str().starts_with("rawline-");
        if is_ours || RESPONSE_HEADERS.contains(name) {
            headers.append(name, value.clone());
        }
    }
    if let Some(url) = owner.url.as_deref().and_then(|url| HeaderValue::from_str(url).ok()) {
        headers.insert(rawline_contract::header::OWNER, url);
    }
    response.extensions_mut().insert(ByOwner);
    Sent::Response(response)
}
