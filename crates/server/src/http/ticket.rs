//! `POST /ticket`: a replacement for the key in the URL of a browser's subscription.
//!
//! `EventSource` and `WebSocket` send no `Authorization`, and a key in a URL ends up in histories and logs. A ticket
//! opens subscriptions only, with the grants of the key that it was issued for, and expires after a minute.

use crate::access::Caller;
use crate::http::api::Api;
use crate::http::body::BodyReader;
use crate::http::response::{self, ApiResponse};
use crate::http::tickets::LIFETIME;
use http::{HeaderValue, Request, StatusCode, header};
use hyper::body::Incoming;
use rawline_contract::Ticket;

/// A new ticket.
pub(crate) fn create(api: &Api, caller: &Caller, request: Request<Incoming>) -> ApiResponse {
    // A body has no meaning and is not read.
    drop(BodyReader::split(api, request));
    let ticket = Ticket { ticket: api.tickets.issue(caller.identity()), expires_in_seconds: LIFETIME.as_secs() };
    let mut response = response::json(StatusCode::CREATED, &ticket);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
