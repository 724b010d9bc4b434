//! The grants that each API needs: the only table, and the checks against it.
//!
//! A handler names its API and the resource. The necessary grants are defined here, so an API without an entry
//! doesn't compile, and one whose handler doesn't ask fails a test (`tests/it/kafka_access.rs`).

use super::client::Client;
use super::error::{Refusal, code_of_transaction};
use crate::access::audit::Event;
use crate::access::{Denied, Operation};
use rawline_broker::{Partition, Received};
use rawline_kafka::{Api, ErrorCode};

/// The grants that a request needs for topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OfTopics {
    /// It names none, or the response leaves out those that the client may not see.
    Nothing,
    /// Any operation.
    Seen,
    Operation(Operation),
}

/// The grants that the requests of an API need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Need {
    topics: OfTopics,
    /// The group that is named.
    group: bool,
    /// The producer whose transactional id is named.
    producer: bool,
    /// To monitor the broker.
    monitor: bool,
}

/// A key, whatever it grants.
const NOTHING: Need = Need { topics: OfTopics::Nothing, group: false, producer: false, monitor: false };

const fn topics(operation: Operation) -> Need {
    Need { topics: OfTopics::Operation(operation), ..NOTHING }
}

const SEEN: Need = Need { topics: OfTopics::Seen, ..NOTHING };
const GROUP: Need = Need { group: true, ..NOTHING };
const PRODUCER: Need = Need { producer: true, ..NOTHING };
const MONITOR: Need = Need { monitor: true, ..NOTHING };

/// The table. `docs/security.md` has it for users.
const fn need(api: Api) -> Need {
    match api {
        Api::ApiVersions | Api::SaslHandshake | Api::SaslAuthenticate | Api::DescribeCluster => NOTHING,
        // Their results are limited to what the client may see.
        Api::ListGroups | Api::ListTransactions => NOTHING,
        // The broker has no ACLs.
        Api::DescribeAcls | Api::CreateAcls | Api::DeleteAcls => NOTHING,
        Api::Produce => Need { producer: true, ..topics(Operation::Write) },
        Api::Fetch | Api::DescribeProducers => topics(Operation::Read),
        Api::ListOffsets | Api::Metadata | Api::OffsetForLeaderEpoch | Api::DescribeTopicPartitions => SEEN,
        Api::DescribeConfigs => Need { monitor: true, ..SEEN },
        Api::CreateTopics | Api::DeleteTopics | Api::DeleteRecords | Api::CreatePartitions => topics(Operation::Admin),
        Api::AlterConfigs | Api::IncrementalAlterConfigs => Need { monitor: true, ..topics(Operation::Admin) },
        Api::OffsetCommit | Api::OffsetDelete => Need { group: true, ..topics(Operation::Read) },
        Api::OffsetFetch | Api::ConsumerGroupHeartbeat => Need { group: true, ..SEEN },
        Api::TxnOffsetCommit => Need { group: true, producer: true, ..topics(Operation::Read) },
        Api::JoinGroup | Api::SyncGroup | Api::Heartbeat | Api::LeaveGroup => GROUP,
        Api::DescribeGroups | Api::DeleteGroups | Api::ConsumerGroupDescribe => GROUP,
        Api::FindCoordinator => Need { group: true, ..PRODUCER },
        // Without a transactional id, that some topic can be written to.
        Api::InitProducerId | Api::EndTxn | Api::DescribeTransactions => PRODUCER,
        Api::AddPartitionsToTxn => Need { producer: true, ..topics(Operation::Write) },
        Api::DescribeLogDirs | Api::ListPartitionReassignments | Api::ListConfigResources => MONITOR,
    }
}

impl Client {
    /// Fails unless the client may ask this of a topic.
    pub(super) fn may_use_topic(&self, api: Api, topic: &str) -> Result<(), Refusal> {
        let caller = self.caller();
        let checked = match need(api).topics {
            OfTopics::Operation(operation) => caller.grants().topic(operation, topic),
            OfTopics::Seen => caller.grants().describe(topic),
            OfTopics::Nothing => unreachable!("{api:?} has no entry for topics"),
        };
        self.checked(api, checked)
    }

    /// Fails unless the client may append to a topic that is created for that.
    pub(super) fn may_create(&self, api: Api, topic: &str) -> Result<(), Refusal> {
        let caller = self.caller();
        let may =
            [Operation::Write, Operation::Admin].iter().any(|operation| caller.grants().allows(*operation, topic));
        if may { Ok(()) } else { self.checked(api, caller.grants().topic(Operation::Write, topic)) }
    }

    /// Fails unless the client may use a group.
    pub(super) fn may_use_group(&self, api: Api, group: &str) -> Result<(), Refusal> {
        assert!(need(api).group, "{api:?} has no entry for groups");
        self.checked(api, self.caller().grants().group(group))
    }

    /// Fails unless the client may be the producer with this transactional id.
    pub(super) fn may_be_producer(&self, api: Api, name: &str) -> Result<(), Refusal> {
        assert!(need(api).producer, "{api:?} has no entry for producers");
        self.checked(api, self.caller().grants().producer(name))
    }

    /// Fails unless the client may append to a partition in the name of the producer of a batch. In a transaction, that
    /// is the producer with the request's transactional id.
    pub(super) async fn may_append_as(
        &self,
        api: Api,
        transactional_id: Option<&str>,
        partition: &Partition,
        received: &Received,
    ) -> Result<(), Refusal> {
        if transactional_id.is_none() && self.caller().grants().is_every_producer() {
            return Ok(());
        }
        let name = partition.producer_name(received).await?;
        match (transactional_id, name) {
            (Some(expected), found) => check_mapping(expected, found.as_deref()),
            (None, Some(name)) => self.may_be_producer(api, &name),
            (None, None) => Ok(()),
        }
    }

    /// Fails unless the producer with this transactional id has this producer's id.
    pub(super) async fn check_mapping(&self, transactional_id: &str, id: u64) -> Result<(), Refusal> {
        let found = self.kafka.broker.producer_name(id).await;
        let found = found
            .map_err(|error| Refusal::new(code_of_transaction(&error.into()), "the producer can't be looked up"))?;
        check_mapping(transactional_id, found.as_deref())
    }

    /// Fails unless the client may append to some topic.
    pub(super) fn may_produce(&self, api: Api) -> Result<(), Refusal> {
        self.checked(api, self.caller().grants().write_somewhere())
    }

    /// Fails unless the client may see how the broker is.
    pub(super) fn may_monitor(&self, api: Api) -> Result<(), Refusal> {
        assert!(need(api).monitor, "{api:?} has no entry for the broker");
        self.checked(api, self.caller().grants().monitor())
    }

    fn checked(&self, api: Api, checked: Result<(), Denied>) -> Result<(), Refusal> {
        checked.map_err(|denied| {
            self.audit_refusal(api.name(), &denied.target(), "grant_missing");
            denied.into()
        })
    }

    /// Notes that the client may not do something.
    pub(super) fn audit_refusal(&self, action: &str, resource: &str, outcome: &str) {
        let caller = self.caller();
        let (key, peer) = (caller.name(), Some(self.peer.address));
        let event = Event { protocol: "kafka", key, peer, through: None, action, resource, outcome, left_out: 0 };
        self.kafka.config.access.audit().refused(event);
    }

    /// Writes an administrative change of this resource to the audit log, and returns its result. A refusal for a
    /// missing grant is noted already.
    pub(super) fn audited<T>(&self, action: &str, name: &str, done: Result<T, Refusal>) -> Result<T, Refusal> {
        let outcome = match &done {
            Ok(_) => "ok".to_owned(),
            Err(refusal) if refusal.is_of_grants() => return done,
            Err(refusal) => format!("{:?}", refusal.code),
        };
        let kind = action.split_once('.').map_or(action, |(kind, _)| kind);
        let (caller, resource) = (self.caller(), &*format!("{kind} {}", crate::access::shown(name)));
        let (key, peer, outcome) = (caller.name(), Some(self.peer.address), &*outcome);
        let event = Event { protocol: "kafka", key, peer, through: None, action, resource, outcome, left_out: 0 };
        self.kafka.config.access.audit().note(&event);
        done
    }
}

fn check_mapping(expected: &str, found: Option<&str>) -> Result<(), Refusal> {
    if found == Some(expected) {
        return Ok(());
    }
    let message = "the producer's id isn't one that was opened under this transactional id; open a new instance";
    Err(Refusal::new(ErrorCode::InvalidProducerIdMapping, message))
}

impl From<Denied> for Refusal {
    fn from(denied: Denied) -> Refusal {
        let code = match denied {
            Denied::Topic { .. } | Denied::NoOperation { .. } | Denied::Prefix { .. } => {
                ErrorCode::TopicAuthorizationFailed
            }
            Denied::Group { .. } => ErrorCode::GroupAuthorizationFailed,
            Denied::Producer { .. } => ErrorCode::TransactionalIdAuthorizationFailed,
            Denied::Monitor | Denied::NoTopic => ErrorCode::ClusterAuthorizationFailed,
        };
        Refusal::new(code, denied.to_string())
    }
}

impl Refusal {
    /// Whether a grant is missing.
    fn is_of_grants(&self) -> bool {
        use ErrorCode::{
            ClusterAuthorizationFailed, GroupAuthorizationFailed, TopicAuthorizationFailed,
            TransactionalIdAuthorizationFailed,
        };
        matches!(
            self.code,
            TopicAuthorizationFailed
                | GroupAuthorizationFailed
                | ClusterAuthorizationFailed
                | TransactionalIdAuthorizationFailed
        )
    }
}
