//! The request that turns a connection into a WebSocket.

use crate::http::api::Api;
use crate::http::error::ApiError;
use crate::http::long_poll::connection_permit;
use crate::http::response::{ApiResponse, ResponseBody};
use crate::http::websocket::{Upgrade, WebSocket};
use crate::net::peer::Peer;
use http::{HeaderMap, HeaderValue, Request, header};
use rawline_contract::code;
use std::sync::Arc;
use tungstenite::handshake::server::create_response_with_body;

/// Whether a request is an upgrade to a WebSocket.
pub(crate) fn is_upgrade(headers: &HeaderMap) -> bool {
    let upgrade = headers.get(header::UPGRADE).map(HeaderValue::as_bytes);
    upgrade.is_some_and(|name| name.eq_ignore_ascii_case(b"websocket"))
}

/// The response that begins a WebSocket, on which `begin` runs a session. It counts like a request that waits for
/// records. `protocol` is chosen if the client offers it.
pub(crate) fn upgrade<B, F>(
    api: &Arc<Api>,
    request: &Request<B>,
    protocol: Option<&'static str>,
    begin: impl FnOnce(Arc<Api>, Peer, WebSocket) -> F + Send + 'static,
) -> Result<ApiResponse, ApiError>
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut response = create_response_with_body(request, ResponseBody::default).map_err(|error| {
        let message = format!("this path needs the handshake of a WebSocket: {error}; connect with a WebSocket client");
        ApiError::new(code::WEBSOCKET_NEEDED, message)
    })?;
    let permit = connection_permit(api)?;
    if let Some(protocol) = protocol.filter(|protocol| offers(request.headers(), protocol)) {
        response.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
    }
    let api = api.clone();
    let session = Upgrade::new(permit, |peer, socket| begin(api, peer, socket));
    *response.body_mut() = ResponseBody::upgrade(session);
    Ok(response)
}

/// Whether the client offers this subprotocol.
fn offers(headers: &HeaderMap, protocol: &str) -> bool {
    let lists = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|offered| offered.trim() == protocol)
}
