//! The sender of a request that claims to be from a broker, and the requests that brokers may send.

use super::caller::{self, Named};
use super::handshake::{Answering, Claim, ConnectionKey};
use crate::access::{Access, Caller};
use crate::http::api::Api;
use crate::http::auth::Session;
use crate::http::error::ApiError;
use crate::http::routes::{Need, Route};
use http::{HeaderMap, HeaderName, Request};
use rawline_broker::cluster::{BrokerId, PublicKey};
use rawline_contract::header;
use std::net::IpAddr;
use std::sync::Arc;

/// The sender of a request.
pub(crate) struct Sender {
    pub caller: Arc<Caller>,
    /// The broker between the client and this one, if there is one.
    pub via: Option<Via>,
}

impl From<Arc<Caller>> for Sender {
    fn from(caller: Arc<Caller>) -> Sender {
        Sender { caller, via: None }
    }
}

/// The broker from which a request comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Via {
    pub broker: BrokerId,
    /// The address of the client whose request it forwards; `None` if it sends its own request.
    pub client: Option<IpAddr>,
}

/// The broker that has opened a connection, as far as it has authenticated.
pub(crate) enum Introduced {
    /// It has to authenticate.
    Answered(Box<Answering>),
    /// It has.
    Proven(Box<Proven>),
}

/// An authenticated broker.
pub(crate) struct Proven {
    broker: BrokerId,
    public: PublicKey,
    key: ConnectionKey,
    /// The number of its newest request.
    newest: u64,
}

impl Proven {
    pub fn new(broker: BrokerId, public: PublicKey, key: ConnectionKey) -> Proven {
        Proven { broker, public, key, newest: 0 }
    }

    /// Whether the broker has sent this request, once.
    fn admit<B>(&mut self, request: &Request<B>, caller: &str) -> bool {
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

    fn named(&self, access: &Access, caller: &str) -> Result<Named, ApiError> {
        caller::read(caller, access, &self.key).ok_or_else(ApiError::peer_unknown)
    }
}

/// The value of a header that occurs once.
fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok())
}

/// The sender of a request with the header of brokers. A broker forwards requests that the owner of a journal handles
/// for its clients, and the owner checks the client's grants; on its own behalf, it sends only requests between
/// brokers.
pub(crate) fn sender<B>(
    api: &Api,
    session: &Session,
    route: Option<&Route>,
    request: &Request<B>,
) -> Result<Sender, ApiError> {
    let cluster = api.broker.cluster().ok_or_else(ApiError::peer_unknown)?;
    let mut introduced = session.introduced();
    let Some(Introduced::Proven(proven)) = introduced.as_mut() else { return Err(ApiError::peer_unknown()) };
    let has_caller = request.headers().contains_key(header::CALLER);
    let caller = if has_caller { text(request.headers(), &header::CALLER) } else { Some("") };
    let caller = caller.filter(|caller| proven.admit(request, caller)).ok_or_else(ApiError::peer_unknown)?;
    let broker = proven.broker;
    if cluster.known_key(broker) != Some(proven.public) {
        // Its card is gone.
        return Err(ApiError::peer_unknown());
    }
    let need = route.map(|route| route.need);
    if !has_caller {
        let is_right = need == Some(Need::Broker);
        let own = Sender { caller: Caller::unknown(), via: Some(Via { broker, client: None }) };
        return if is_right { Ok(own) } else { Err(ApiError::not_for_brokers()) };
    }
    if !route.is_some_and(|route| route.endpoint.is_forwarded()) {
        return Err(ApiError::not_for_brokers());
    }
    let Named { address, caller } = proven.named(&api.config.access, caller)?;
    let caller = caller.ok_or_else(ApiError::unauthorized_here)?;
    Ok(Sender { caller, via: Some(Via { broker, client: Some(address) }) })
}
