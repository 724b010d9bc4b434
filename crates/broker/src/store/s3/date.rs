//! The bucket's own time, from the `Date` of its responses: what decides whether a broker has slept for too long must
//! not come from that broker's clock.

use object_store::client::{HttpRequest, HttpResponse};
use std::sync::{Arc, OnceLock};
use std::time::UNIX_EPOCH;

/// The `Date` of a response in seconds since the Unix epoch, among the response's extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResponseDate(pub u64);

/// Takes the `Date` of the response to the request that has a clone of it among its extensions. Unlike the response's
/// own extensions, it does so for responses that become errors too.
#[derive(Debug, Clone, Default)]
pub(super) struct DateSlot(Arc<OnceLock<u64>>);

impl DateSlot {
    /// The extensions for a request.
    pub fn extensions(&self) -> http::Extensions {
        let mut extensions = http::Extensions::new();
        extensions.insert(self.clone());
        extensions
    }

    /// The response's date, once there is one.
    pub fn date(&self) -> Option<u64> {
        self.0.get().copied()
    }

    /// The slot of a request.
    pub fn of(request: &HttpRequest) -> Option<DateSlot> {
        request.extensions().get::<DateSlot>().cloned()
    }
}

/// Notes a response's date, in its extensions and in the slot of its request.
pub(super) fn note(response: &mut HttpResponse, slot: Option<&DateSlot>) {
    let date = response.headers().get("date").and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
    let Some(Ok(since)) = date.map(|date| date.duration_since(UNIX_EPOCH)) else { return };
    response.extensions_mut().insert(ResponseDate(since.as_secs()));
    if let Some(slot) = slot {
        // A request has one response.
        let _ = slot.0.set(since.as_secs());
    }
}
