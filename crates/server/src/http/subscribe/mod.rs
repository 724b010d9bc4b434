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
use rawline_broker::subscriptions::Subscription;
use rawline_value::Filter;
use std::sync::Arc;
use std::time::Duration;

/// After this time without a delivery, a keep-alive is sent, so that the connection isn't taken for broken.
const SILENCE_MAX: Duration = Duration::from_secs(15);

/// The settings of a subscription.
struct Wanted {
    /// The caller, with its grants and quota.
    caller: Arc<Caller>,
    subscription: Subscription,
    /// Which values of the topics; other topics are left out.
    filter: Option<Filter>,
}

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
