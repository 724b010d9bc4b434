//! Whether a connection crosses zones, by what its newest request says.

use crate::http::api::Api;
use crate::http::auth::Session;
use crate::http::peers::Introduced;
use http::Request;
use rawline_broker::metrics::Crossing;
use rawline_contract::header;

/// Of a client, its zone is in a header; of another broker, in its card.
pub(crate) fn crossing<B>(api: &Api, session: &Session, request: &Request<B>) -> Crossing {
    let (headers, zone) = (request.headers(), api.broker.zone());
    if let Some(client) = headers.get(header::ZONE) {
        return Crossing::between(client.as_bytes(), zone);
    }
    let Some(cluster) = api.broker.cluster().filter(|_| zone.is_some() && headers.contains_key(header::PEER)) else {
        return Crossing::Unknown;
    };
    let Some(Introduced::Proven(proven)) = &*session.introduced() else { return Crossing::Unknown };
    let brokers = cluster.brokers();
    let peer = brokers.card(proven.broker).and_then(|card| card.zone.as_deref());
    Crossing::between(peer.unwrap_or_default().as_bytes(), zone)
}
