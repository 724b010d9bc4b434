//! `/member`: a member joins a group and gets its partitions, sends heartbeats, and leaves.
//!
//! Members say the same about themselves as Kafka's consumers with the strategy `range`, so both can be in one group.
//! For a member that leads, the broker divides the partitions.

use super::read_json;
use crate::access::{Caller, Operation};
use crate::groups::new_member_id;
use crate::groups::share::divide;
use crate::http::api::Api;
use crate::http::auth;
use crate::http::body::BodyReader;
use crate::http::error::ApiError;
use crate::http::query::Query;
use crate::http::render;
use crate::http::response::{self, ApiResponse};
use crate::net::peer::Peer;
use bytes::Bytes;
use http::Request;
use hyper::body::Incoming;
use rawline_broker::{
    Broker, GroupError, Identity, Join, Joined, MemberShare, Membership, Outcome, RANGE, TopicError, Wanting,
};
use rawline_contract::{JoinRequest, MemberPartition, code};
use rawline_kafka::messages::{CONSUMER_PROTOCOL, ConsumerAssignment, ConsumerSubscription};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Maximum number of topics that a member wants.
const TOPICS_MAX: usize = 1_000;

/// A member that knows a generation.
pub(super) fn membership(member: String, instance: Option<String>, generation: u32) -> Membership {
    Membership { member: member.into(), instance: instance.map(Arc::from), generation }
}

/// Joins a group. Responds when all members have joined and their partitions are divided.
pub(crate) async fn join(
    api: &Api,
    peer: &Peer,
    caller: &Arc<Caller>,
    request: Request<Incoming>,
) -> Result<ApiResponse, ApiError> {
    let (request, mut body) = BodyReader::split(api, request);
    let group: Arc<str> = Query::of(&request).group()?.into();
    let request: JoinRequest = read_json(&mut body, r#"{"topics":["T"]}"#).await?;
    if request.topics.is_empty() || request.topics.len() > TOPICS_MAX {
        let message = format!("{} topics; name 1 to {TOPICS_MAX}", request.topics.len());
        return Err(ApiError::new(code::GROUP_INVALID, message));
    }
    let topics = request.topics.clone();
    let may_join = || -> Result<(), ApiError> {
        let caller = auth::renewed(api, caller)?;
        caller.grants().group(&group)?;
        Ok(topics.iter().try_for_each(|topic| caller.grants().topic(Operation::Read, topic))?)
    };
    may_join()?;
    let _permit = api.waits.try_acquire().map_err(|_| {
        let message = "too many requests wait; retry, or use fewer connections";
        ApiError::new(code::WAITS_TOO_MANY, message)
    })?;
    let (is_new, instance) = (request.member.is_none() && request.instance.is_none(), request.instance.clone());
    let host = format!("/{}", peer.address).into();
    let joining = Joining { broker: api.broker.clone(), group: group.clone(), host };
    let mut pending = PendingJoin::start(joining, request, is_new);
    let mut stopping = api.stopping.clone();
    let membership = tokio::select! {
        membership = pending.membership() => membership?,
        () = peer.gone() => return Ok(client_gone()),
        _ = stopping.wait_for(|&stop| stop) => {
            return Err(ApiError::new(code::SHUTTING_DOWN, "the broker is shutting down; join again"));
        }
    };
    // It may have gone just now, or its key may have changed while it waited for the others.
    let allowed = may_join();
    if is_new && peer.is_gone() || allowed.is_err() {
        let _ = api.broker.coordinator().leave_group(&group, &membership.member, instance.as_deref()).await;
        return allowed.map(|()| client_gone());
    }
    render::value(api, peer, &membership).await
}

/// The response to a client that doesn't read it.
fn client_gone() -> ApiResponse {
    response::no_content()
}

/// A join that continues if its request ends: a member that leads divides the partitions even if its client is gone,
/// because the others wait for it.
struct PendingJoin {
    broker: Arc<Broker>,
    group: Arc<str>,
    /// Whether only the broker knows the member's id.
    is_new: bool,
    joining: Option<JoinHandle<Result<rawline_contract::Membership, ApiError>>>,
}

impl PendingJoin {
    #[expect(clippy::disallowed_methods, reason = "continues without the request")]
    fn start(joining: Joining, request: JoinRequest, is_new: bool) -> Self {
        let (broker, group) = (joining.broker.clone(), joining.group.clone());
        PendingJoin { broker, group, is_new, joining: Some(tokio::spawn(joining.join(request))) }
    }

    /// Waits for the member's share, once.
    async fn membership(&mut self) -> Result<rawline_contract::Membership, ApiError> {
        let Some(joining) = &mut self.joining else { unreachable!("a member joins once") };
        let joined = joining.await;
        self.joining = None;
        joined.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
    }
}

impl Drop for PendingJoin {
    /// Removes a new member whose client is gone: it would have partitions until its session is over.
    #[expect(clippy::disallowed_methods, reason = "continues without the request")]
    fn drop(&mut self) {
        let Some(joining) = self.joining.take().filter(|_| self.is_new) else { return };
        let (broker, group) = (self.broker.clone(), self.group.clone());
        tokio::spawn(async move {
            if let Ok(Ok(membership)) = joining.await {
                let _ = broker.coordinator().leave_group(&group, &membership.member, None).await;
            }
        });
    }
}

/// A request to join, which continues without its connection.
struct Joining {
    broker: Arc<Broker>,
    group: Arc<str>,
    host: Arc<str>,
}

impl Joining {
    async fn join(self, request: JoinRequest) -> Result<rawline_contract::Membership, ApiError> {
        let said = ConsumerSubscription { topics: request.topics, user_data: None }.to_bytes();
        let instance: Option<Arc<str>> = request.instance.map(Arc::from);
        let mut join = Join {
            member: request.member.unwrap_or_default().into(),
            instance: instance.clone(),
            identity: Identity { client: request.client.as_str().into(), host: self.host.clone() },
            session: Duration::from_millis(request.session_ms),
            rebalance: Duration::from_millis(request.rebalance_ms),
            protocol_type: CONSUMER_PROTOCOL.into(),
            protocols: vec![(RANGE.into(), said)],
            needs_id: false,
        };
        loop {
            let name = instance.as_deref().unwrap_or(&request.client);
            let joined =
                match self.broker.coordinator().join_group(&self.group, join.clone(), || new_member_id(name)).await {
                    Outcome::Joined(joined) => joined,
                    // Another join of the same member took the place of this one.
                    Outcome::Refused(error) => return Err(error.into()),
                    Outcome::Synced { .. } => unreachable!("a share for a member that joins"),
                };
            join.member = joined.member.clone();
            let (shares, divided) = self.divide(&joined).await?;
            let membership =
                Membership { member: joined.member, instance: instance.clone(), generation: joined.generation };
            match self.broker.coordinator().sync_group(&self.group, &membership, shares).await {
                Outcome::Synced { assignment, .. } => return self.share(membership, &assignment, divided).await,
                // A member has joined or left meanwhile.
                Outcome::Refused(GroupError::Rebalancing | GroupError::Generation { .. }) => {}
                Outcome::Refused(error) => return Err(error.into()),
                Outcome::Joined(_) => unreachable!("a member joins that asks for its share"),
            }
        }
    }

    /// The shares of all members, and the hash of the assigned partitions, if this one leads.
    async fn divide(&self, joined: &Joined) -> Result<(Vec<(Arc<str>, Bytes)>, Option<u64>), ApiError> {
        if joined.leader != joined.member {
            return Ok((Vec::new(), None));
        }
        let wanting: Vec<Wanting<String>> = joined.members.iter().map(wanting).collect();
        let Division { partitions, number } =
            Division::of(&self.broker, wanting.iter().flat_map(|one| &one.topics)).await?;
        let divided = Some(number);
        if joined.is_divided {
            return Ok((Vec::new(), divided));
        }
        let shares = divide(&wanting, &partitions).map(|(member, share)| (member, share.to_bytes()));
        Ok((shares.collect(), divided))
    }

    async fn share(
        &self,
        membership: Membership,
        assignment: &[u8],
        divided: Option<u64>,
    ) -> Result<rawline_contract::Membership, ApiError> {
        let share = match assignment {
            // The leader has given it nothing.
            [] => ConsumerAssignment::default(),
            assignment => ConsumerAssignment::parse(assignment).map_err(|error| {
                let message = format!("the group's leader has assigned what can't be read: {error}");
                ApiError::new(code::GROUP_STRATEGY, message)
            })?,
        };
        let committed = self.broker.coordinator().committed_offsets(&self.group).into_iter();
        let committed: BTreeMap<(Arc<str>, u32), u64> =
            committed.filter_map(|(topic, number, found)| Some(((topic, number), found.next_offset()?))).collect();
        let partitions = share.assigned_partitions.into_iter().flat_map(|of| {
            let topic: Arc<str> = of.topic.into();
            let committed = &committed;
            of.partitions.into_iter().filter_map(move |number| {
                let partition = u32::try_from(number).ok()?;
                let offset = committed.get(&(topic.clone(), partition)).copied();
                Some(MemberPartition { topic: topic.to_string(), partition, offset })
            })
        });
        Ok(rawline_contract::Membership {
            member: membership.member.to_string(),
            generation: membership.generation,
            partitions: partitions.collect(),
            divided,
        })
    }
}

/// The topics that a member wants; none if its metadata can't be read.
fn wanting((member, instance, said): &(Arc<str>, Option<Arc<str>>, Bytes)) -> Wanting<String> {
    let topics = ConsumerSubscription::parse(said).unwrap_or_default().topics.into_iter().collect();
    Wanting { member: member.clone(), instance: instance.clone(), topics }
}

/// The partitions that a group assigns.
struct Division {
    /// The number of partitions of each topic that exists.
    partitions: BTreeMap<String, u32>,
    /// Another one if there are other topics, also of the same names, or other partitions.
    number: u64,
}

impl Division {
    async fn of<'a>(broker: &Broker, topics: impl Iterator<Item = &'a String>) -> Result<Division, ApiError> {
        let mut partitions = BTreeMap::new();
        let mut ids = Vec::new();
        for name in topics.collect::<BTreeSet<_>>() {
            match broker.topic(name).await {
                Ok(topic) => {
                    let count = topic.partitions();
                    ids.extend(topic.topic_id().to_bytes());
                    ids.extend(count.to_be_bytes());
                    partitions.insert(name.clone(), count);
                }
                Err(TopicError::NotFound { .. } | TopicError::Name { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Division { partitions, number: rawline_batch::crc32c(&ids).into() })
    }
}

/// A sign of a member. Refused if it has to join again: also if it leads, and there are other partitions to divide now.
pub(crate) async fn heartbeat(api: &Api, request: Request<Incoming>) -> Result<ApiResponse, ApiError> {
    // A body has no meaning and is not read.
    let (request, _body) = BodyReader::split(api, request);
    let query = Query::of(&request);
    let group = query.group()?;
    let generation = query.generation()?;
    let membership = membership(query.member()?.into_owned(), query.instance(), generation);
    api.broker.coordinator().heartbeat(&group, &membership)?;
    if let Some(divided) = query.divided()? {
        let status = api.broker.coordinator().group(&group).ok_or_else(|| ApiError::group_not_found(&group))?;
        let members = status.members.iter().filter_map(|one| match &one.share {
            MemberShare::Classic { says, .. } => Some((one.id.clone(), one.instance.clone(), says.clone())),
            MemberShare::Consumer(_) => None,
        });
        let wanting: Vec<Wanting<String>> = members.map(|member| wanting(&member)).collect();
        let division = Division::of(&api.broker, wanting.iter().flat_map(|one| &one.topics)).await?;
        if divided != division.number {
            return Err(GroupError::Rebalancing.into());
        }
    }
    Ok(response::no_content())
}

/// A member leaves its group.
pub(crate) async fn leave(api: &Api, request: Request<Incoming>) -> Result<ApiResponse, ApiError> {
    // A body has no meaning and is not read.
    let (request, _body) = BodyReader::split(api, request);
    let query = Query::of(&request);
    api.broker.coordinator().leave_group(&query.group()?, &query.member()?, query.instance().as_deref()).await?;
    Ok(response::no_content())
}
