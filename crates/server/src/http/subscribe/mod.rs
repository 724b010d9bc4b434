//! `GET /subscribe`: records as they are stored, as server-sent events or on a WebSocket.
//!
//! `query.rs` reads the request, the broker's [`Subscription`] determines the next delivery, `deliver.rs` reads it.
//! `events.rs` drives a stream of server-sent events, whose text is in `sse.rs`; `socket.rs` drives a WebSocket, whose
//! messages `rawline_contract::subscription` lays out. `docs/subscriptions.md` describes both to their users.

mod control;
mod cursor;
pub(crate) mod deliver;
mod events;
pub(crate) mod query;
mod selected;
mod socket;
mod sse;

use crate::access::Caller;
use crate::http::api::Api;
use crate::http::error::ApiError;
use crate::http::response::ApiResponse;
use crate::http::upgrade::is_upgrade;
use crate::net::peer::Peer;
use http::Request;
use std::sync::Arc;

/// Begins a subscription.
pub(crate) async fn subscribe<B>(
    api: &Arc<Api>,
    peer: &Peer,
    caller: &Arc<Caller>,
    request: &Request<B>,
) -> Result<ApiResponse, ApiError> {
    let wanted = query::read(api, caller, request).await?;
    match is_upgrade(request.headers()) {
        true => socket::connect(api, request, wanted),
        false => events::response(api, peer, request.method(), wanted),
    }
}
