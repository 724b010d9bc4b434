//! Several brokers on one storage, over HTTP: requests that change something reach the owner of their journal, brokers
//! tell each other what they have stored, and clients learn who there is.
//!
//! Who the owner is, the broker decides (`rawline_broker::cluster`). A request is forwarded at most once: the broker
//! that receives it from another one handles it, whoever owns the journal by then. That is always safe, because a
//! broker that isn't the owner can append too. So there are no loops, and a dead owner costs one attempt to connect.

mod brokers;
mod certificates;
mod changes;
mod forward;
mod groups;
mod peers;

pub(super) use brokers::brokers;
pub(super) use certificates::{follow_certificates, present};
pub(super) use changes::changes;
pub(super) use forward::forward;
pub(super) use groups::groups_of_others;
pub(super) use peers::Peers;

use http::HeaderMap;
use rawline_broker::cluster::Cluster;
use rawline_contract::header;
use subtle::ConstantTimeEq;

/// Whether another broker on the storage sends this request: it knows this broker's key for the others.
pub(super) fn is_from_peer(cluster: &Cluster, headers: &HeaderMap) -> bool {
    let Some(sent) = headers.get(header::PEER) else { return false };
    sent.as_bytes().ct_eq(cluster.peer_key().as_bytes()).into()
}
