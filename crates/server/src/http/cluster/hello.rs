//! `POST /brokers/hello` and `POST /brokers/proof`: the two steps by which two brokers authenticate each other on a
//! connection. `handshake.rs` has the rules.

use crate::http::api::Api;
use crate::http::auth::Session;
use crate::http::error::ApiError;
use crate::http::peers::{Answering, Hello, Introduced, MESSAGE_BYTES_MAX, Proof, Proven};
use crate::http::response::{self, ApiResponse};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use rawline_broker::cluster::Cluster;
use rawline_contract::code;
use serde::de::DeserializeOwned;

pub(crate) async fn hello(
    api: &Api,
    cluster: &Cluster,
    session: &Session,
    request: Request<Incoming>,
) -> Result<ApiResponse, ApiError> {
    let hello: Hello = message(request).await?;
    let me = cluster.brokers().me;
    if hello.to != me {
        return Err(ApiError::other_broker(me, hello.to));
    }
    let (answering, answer) = Answering::begin(&api.config.peer_key, &hello).map_err(|_| ApiError::peer_unknown())?;
    *session.introduced() = Some(Introduced::Answered(Box::new(answering)));
    Ok(response::json(StatusCode::OK, &answer))
}

pub(crate) async fn proof(
    cluster: &Cluster,
    session: &Session,
    request: Request<Incoming>,
) -> Result<ApiResponse, ApiError> {
    let proof: Proof = message(request).await?;
    // An answer is valid for one proof.
    let Some(Introduced::Answered(answering)) = session.introduced().take() else {
        return Err(ApiError::peer_unknown());
    };
    let broker = answering.asking();
    let public = cluster.find_key(broker).await.ok_or_else(ApiError::peer_unknown)?;
    let key = answering.finish(&proof, &public).map_err(|_| ApiError::peer_unknown())?;
    *session.introduced() = Some(Introduced::Proven(Box::new(Proven::new(broker, public, key))));
    Ok(response::no_content())
}

async fn message<T: DeserializeOwned>(request: Request<Incoming>) -> Result<T, ApiError> {
    let wrong = |error: String| ApiError::new(code::BAD_REQUEST, format!("not a message between brokers: {error}"));
    let body = Limited::new(request.into_body(), MESSAGE_BYTES_MAX).collect().await;
    let bytes = body.map_err(|error| wrong(error.to_string()))?.to_bytes();
    serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))
}
