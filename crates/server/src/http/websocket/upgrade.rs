//! The request that turns a connection into a WebSocket.

use super::WebSocket;
use crate::http::Api;
use crate::http::error::ApiError;
use crate::http::long_poll::connection_permit;
use crate::http::response::{ApiResponse, ResponseBody};
use crate::net::peer::Peer;
use http::{HeaderMap, HeaderValue, Request, header};
use rawline_contract::code;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;
use tungstenite::handshake::server::create_response_with_body;

/// The task of a WebSocket, until it ends.
pub(crate) type Session = Pin<Box<dyn Future<Output = ()> + Send>>;

type Begin = Box<dyn FnOnce(Arc<Api>, Peer, WebSocket) -> Session + Send>;

/// A session that begins when its response is sent.
pub(crate) struct Upgrade {
    begin: Begin,
    permit: OwnedSemaphorePermit,
}

impl Upgrade {
    /// Returns when the session has ended.
    pub async fn run(self, api: Arc<Api>, peer: Peer, socket: WebSocket) {
        (self.begin)(api, peer, socket).await;
        drop(self.permit);
    }
}

impl fmt::Debug for Upgrade {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Upgrade")
    }
}

/// Whether a request is an upgrade to a WebSocket.
pub(crate) fn is_upgrade(headers: &HeaderMap) -> bool {
    let upgrade = headers.get(header::UPGRADE).map(HeaderValue::as_bytes);
    upgrade.is_some_and(|name| name.eq_ignore_ascii_case(b"websocket"))
}

/// The response that begins a WebSocket, on which `begin` runs a session. It counts like a request that waits for
/// records. `protocol` is chosen if the client offers it.
pub(crate) fn upgrade<B, F>(
    api: &Api,
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
    let begin: Begin = Box::new(|api, peer, socket| Box::pin(begin(api, peer, socket)));
    *response.body_mut() = ResponseBody::upgrade(Upgrade { begin, permit });
    Ok(response)
}

/// Whether the client offers this subprotocol.
fn offers(headers: &HeaderMap, protocol: &str) -> bool {
    let lists = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|offered| offered.trim() == protocol)
}
