//! What is known of the broker that has opened a connection.

use super::caller::{self, Named};
use super::handshake::{Answering, Claim, ConnectionKey};
use crate::access::Access;
use http::{HeaderMap, HeaderName, Request};
use rawline_broker::cluster::{BrokerId, PublicKey};
use rawline_contract::header;

/// The broker that has opened a connection, as far as it has authenticated.
pub(crate) enum Introduced {
    /// It has to authenticate.
    Answered(Box<Answering>),
    /// It has.
    Proven(Box<Proven>),
}

/// An authenticated broker.
pub(crate) struct Proven {
    pub broker: BrokerId,
    pub public: PublicKey,
    key: ConnectionKey,
    /// The number of its newest request.
    newest: u64,
}

impl Proven {
    pub fn new(broker: BrokerId, public: PublicKey, key: ConnectionKey) -> Proven {
        Proven { broker, public, key, newest: 0 }
    }

    /// Whether the broker has sent this request, once.
    pub fn admit<B>(&mut self, request: &Request<B>, caller: &str) -> bool {
        let Some((number, code)) = text(request.headers(), &header::PEER).and_then(|text| text.split_once(' ')) else {
            return false;
        };
        let Ok(number) = number.parse::<u64>() else { return false };
        let target = request.uri().path_and_query().map_or("", |target| target.as_str());
        let claim = Claim { number, method: request.method().as_str(), target, caller };
        let is_admitted = number > self.newest && self.key.is_code_of(&claim, code);
        if is_admitted {
            self.newest = number;
        }
        is_admitted
    }

    /// The client for whom it sends a request; `None` if the text is wrong.
    pub fn named(&self, access: &Access, caller: &str) -> Option<Named> {
        caller::read(caller, access, &self.key)
    }
}

/// The value of a header that occurs once.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok())
}
