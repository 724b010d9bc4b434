//! `POST /ticket`: what a browser puts into the URL of a subscription instead of a key.
//!
//! `EventSource` and `WebSocket` send no `Authorization`, and a key in a URL ends up in histories and logs. A ticket
//! opens subscriptions only, and expires after a minute. The broker keeps none: a ticket says when it expires, and its
//! signature shows that this run of the broker has issued it.

use crate::http::Api;
use crate::http::body::BodyReader;
use crate::http::error::ApiError;
use crate::http::query::Query;
use crate::http::response::{self, ApiResponse};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::{HeaderValue, Request, StatusCode, header};
use hyper::body::Incoming;
use rawline_contract::Ticket;
use ring::hmac;
use std::time::Duration;
use tokio::time::Instant;

/// How long a ticket opens subscriptions: as long as it takes to open one, with room for a slow network.
const LIFETIME: Duration = Duration::from_secs(60);

/// The time at which a ticket expires, in milliseconds of the broker's run, little-endian.
const EXPIRY_BYTES: usize = size_of::<u64>();

/// Issues tickets, and knows its own.
pub(crate) struct Tickets {
    key: hmac::Key,
    started: Instant,
}

impl Tickets {
    /// Tickets that nobody can forge who doesn't know the secret.
    pub fn new(secret: [u8; 32]) -> Tickets {
        Tickets { key: hmac::Key::new(hmac::HMAC_SHA256, &secret), started: Instant::now() }
    }

    /// The same with a secret of this run of the broker.
    #[expect(clippy::disallowed_methods, reason = "a secret that nothing can predict")]
    pub fn of_this_run() -> Tickets {
        Tickets::new(rand::random())
    }

    fn issue(&self) -> String {
        let expiry = self.now_ms() + LIFETIME.as_millis() as u64;
        let mut ticket = expiry.to_le_bytes().to_vec();
        ticket.extend_from_slice(hmac::sign(&self.key, &expiry.to_le_bytes()).as_ref());
        BASE64_URL_SAFE_NO_PAD.encode(ticket)
    }

    /// Whether a ticket was issued here and has not expired.
    fn are_valid(&self, ticket: &str) -> bool {
        let Ok(ticket) = BASE64_URL_SAFE_NO_PAD.decode(ticket) else { return false };
        let Some((expiry, signature)) = ticket.split_first_chunk::<EXPIRY_BYTES>() else { return false };
        hmac::verify(&self.key, expiry, signature).is_ok() && self.now_ms() < u64::from_le_bytes(*expiry)
    }

    fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    /// Whether a request has a ticket in its query. One that isn't valid is an error.
    pub fn admit<B>(&self, request: &Request<B>) -> Result<bool, ApiError> {
        match Query::of(request).ticket() {
            None => Ok(false),
            Some(ticket) if self.are_valid(&ticket) => Ok(true),
            Some(_) => Err(ApiError::ticket_invalid()),
        }
    }
}

/// A new ticket.
pub(crate) fn create(api: &Api, request: Request<Incoming>) -> ApiResponse {
    // A body has no meaning and is not read.
    drop(BodyReader::split(api, request));
    let ticket = Ticket { ticket: api.tickets.issue(), expires_in_seconds: LIFETIME.as_secs() };
    let mut response = response::json(StatusCode::CREATED, &ticket);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_ticket_is_valid_for_a_minute_and_for_its_broker() {
        let tickets = Tickets::new([1; 32]);
        tokio::time::advance(Duration::from_secs(1000)).await;
        let ticket = tickets.issue();
        assert!(tickets.are_valid(&ticket));
        assert!(!Tickets::new([2; 32]).are_valid(&ticket));
        tokio::time::advance(LIFETIME - Duration::from_millis(1)).await;
        assert!(tickets.are_valid(&ticket));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!tickets.are_valid(&ticket));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_not_issued_is_not_valid() {
        let tickets = Tickets::new([1; 32]);
        let ticket = tickets.issue();
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(&ticket).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(!tickets.are_valid(&BASE64_URL_SAFE_NO_PAD.encode(changed)), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(!tickets.are_valid(&BASE64_URL_SAFE_NO_PAD.encode(&bytes[..length])), "{length} bytes");
        }
        for wrong in ["", "%", "ü", &format!("{ticket}A"), &format!("{ticket}=")] {
            assert!(!tickets.are_valid(wrong), "{wrong}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_has_a_valid_ticket_or_none() {
        let tickets = Tickets::new([1; 32]);
        let admit = |target: String| tickets.admit(&Request::builder().uri(target).body(()).unwrap());
        assert!(
            admit(format!("/subscribe?topic-name=t&ticket={}", tickets.issue())).is_ok_and(|has_ticket| has_ticket)
        );
        assert!(admit("/subscribe?topic-name=t".into()).is_ok_and(|has_ticket| !has_ticket));
        assert!(admit("/subscribe?ticket=".into()).is_err());
        assert!(admit("/subscribe?ticket=x".into()).is_err());
    }
}
