//! Tickets: issued for a key, and valid for a minute.
//!
//! The broker keeps none: a ticket says when it expires and whose it is, and its signature shows that this run of the
//! broker has issued it.

use crate::access::Identity;
use crate::http::error::ApiError;
use crate::http::query::Query;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::Request;
use ring::hmac;
use std::time::Duration;
use tokio::time::Instant;

/// How long a ticket opens subscriptions: as long as it takes to open one, with room for a slow network.
pub(super) const LIFETIME: Duration = Duration::from_secs(60);

/// The time at which a ticket expires, in milliseconds of the broker's run, little-endian.
const EXPIRY_BYTES: usize = size_of::<u64>();

/// Size of the signature, with which a ticket begins. The expiry follows, and the name of a key of the keys file.
const SIGNATURE_BYTES: usize = 32;

/// Issues tickets, and knows its own.
pub(crate) struct Tickets {
    key: hmac::Key,
    started: Instant,
}

impl Tickets {
    /// Tickets that can't be forged without the secret.
    pub fn new(secret: [u8; 32]) -> Tickets {
        Tickets { key: hmac::Key::new(hmac::HMAC_SHA256, &secret), started: Instant::now() }
    }

    /// The same with a secret of this run of the broker.
    #[expect(clippy::disallowed_methods, reason = "a secret that nothing can predict")]
    pub fn of_this_run() -> Tickets {
        Tickets::new(rand::random())
    }

    pub fn issue(&self, identity: &Identity) -> String {
        let expiry = self.now_ms() + LIFETIME.as_millis() as u64;
        let name = match identity {
            Identity::Anyone | Identity::Fixed | Identity::Unknown => "",
            Identity::Named(name) => name,
        };
        let content = [&expiry.to_le_bytes(), name.as_bytes()].concat();
        BASE64_URL_SAFE_NO_PAD.encode([hmac::sign(&self.key, &content).as_ref(), &content].concat())
    }

    /// The caller of a ticket, unless another broker issued it or it has expired.
    fn read(&self, ticket: &str) -> Option<Identity> {
        let ticket = BASE64_URL_SAFE_NO_PAD.decode(ticket).ok()?;
        let (signature, content) = ticket.split_at_checked(SIGNATURE_BYTES)?;
        let (expiry, name) = content.split_first_chunk::<EXPIRY_BYTES>()?;
        hmac::verify(&self.key, content, signature).ok()?;
        if self.now_ms() >= u64::from_le_bytes(*expiry) {
            return None;
        }
        match std::str::from_utf8(name).ok()? {
            "" => Some(Identity::Fixed),
            name => Some(Identity::Named(name.into())),
        }
    }

    fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    /// The caller of the ticket in a request's query, if it has one. An invalid ticket is an error.
    pub fn admit<B>(&self, request: &Request<B>) -> Result<Option<Identity>, ApiError> {
        match Query::of(request).ticket() {
            None => Ok(None),
            Some(ticket) => self.read(&ticket).map(Some).ok_or_else(ApiError::ticket_invalid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_ticket_is_valid_for_a_minute_and_for_its_broker() {
        let tickets = Tickets::new([1; 32]);
        tokio::time::advance(Duration::from_secs(1000)).await;
        let ticket = tickets.issue(&Identity::Fixed);
        assert_eq!(tickets.read(&ticket), Some(Identity::Fixed));
        assert!(Tickets::new([2; 32]).read(&ticket).is_none());
        tokio::time::advance(LIFETIME - Duration::from_millis(1)).await;
        assert_eq!(tickets.read(&ticket), Some(Identity::Fixed));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(tickets.read(&ticket).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_not_issued_is_not_valid() {
        let tickets = Tickets::new([1; 32]);
        let ticket = tickets.issue(&Identity::Fixed);
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(&ticket).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(tickets.read(&BASE64_URL_SAFE_NO_PAD.encode(changed)).is_none(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(tickets.read(&BASE64_URL_SAFE_NO_PAD.encode(&bytes[..length])).is_none(), "{length} bytes");
        }
        for wrong in ["", "%", "ü", &format!("{ticket}A"), &format!("{ticket}=")] {
            assert!(tickets.read(wrong).is_none(), "{wrong}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_has_a_valid_ticket_or_none() {
        let tickets = Tickets::new([1; 32]);
        let admit = |target: String| tickets.admit(&Request::builder().uri(target).body(()).unwrap());
        for identity in [Identity::Fixed, Identity::Named("k".into())] {
            let target = format!("/subscribe?topic-name=t&ticket={}", tickets.issue(&identity));
            assert!(admit(target).is_ok_and(|found| found == Some(identity)));
        }
        assert!(admit("/subscribe?topic-name=t".into()).is_ok_and(|found| found.is_none()));
        assert!(admit("/subscribe?ticket=".into()).is_err());
        assert!(admit("/subscribe?ticket=x".into()).is_err());
    }
}
