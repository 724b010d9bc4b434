//! `GET /brokers`: the brokers on the storage, as this one sees them.

use crate::http::api::Api;
use crate::http::response::{self, ApiResponse};
use http::StatusCode;
use rawline_broker::cluster::{Cluster, Member, MemberState};
use rawline_contract::{BrokerInfo, BrokerList, BrokerState};

pub(crate) fn brokers(api: &Api) -> ApiResponse {
    let brokers = api.broker.cluster().map_or_else(Vec::new, |cluster| all(cluster));
    response::json(StatusCode::OK, &BrokerList { brokers })
}

fn all(cluster: &Cluster) -> Vec<BrokerInfo> {
    let brokers = cluster.brokers();
    let me = cluster.me();
    let next = |member: &Member| -> Vec<u64> {
        let card = if member.card.id == me.id { &me } else { &member.card };
        card.next_objects().collect()
    };
    let all: Vec<Vec<u64>> = brokers.members.iter().map(next).collect();
    let newest = |journal: usize| all.iter().filter_map(|next| next.get(journal)).max().copied().unwrap_or(1);
    let unread = |next: &[u64]| {
        // Of a journal that its card doesn't name, a broker has read nothing.
        let of = |journal: usize| newest(journal) - next.get(journal).copied().unwrap_or(1);
        (0..brokers.owners.len()).map(of).sum()
    };
    let info = |(member, next): (&Member, &Vec<u64>)| {
        let card = &member.card;
        let journals = brokers.owned_by(card.id);
        BrokerInfo {
            id: card.id.to_string(),
            url: card.url.clone(),
            kafka: card.kafka.as_ref().map(|kafka| format!("{}:{}", kafka.host, kafka.port)),
            zone: card.zone.clone(),
            state: match member.state {
                MemberState::Live if card.is_leaving => BrokerState::Leaving,
                MemberState::Live => BrokerState::Live,
                MemberState::Unreachable => BrokerState::Unreachable,
                MemberState::Silent => BrokerState::Silent,
            },
            is_owner: !journals.is_empty(),
            journals,
            is_me: card.id == brokers.me,
            is_read_only: card.is_read_only,
            silent_ms: u64::try_from(member.silent_for.as_millis()).unwrap_or(u64::MAX),
            objects_lag: unread(next),
            version: card.version.clone(),
        }
    };
    brokers.members.iter().zip(&all).map(info).collect()
}
