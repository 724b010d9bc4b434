//! The sender of a request that claims to be from a broker, and the requests that brokers may send.

use crate::access::Caller;
use crate::http::api::Api;
use crate::http::auth::Session;
use crate::http::error::ApiError;
use crate::http::peers::{Introduced, Named, text};
use crate::http::routes::{Need, Route};
use http::Request;
use rawline_broker::cluster::BrokerId;
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
    let Named { address, caller } = proven.named(&api.config.access, caller).ok_or_else(ApiError::peer_unknown)?;
    let caller = caller.ok_or_else(ApiError::unauthorized_here)?;
    Ok(Sender { caller, via: Some(Via { broker, client: Some(address) }) })
}
