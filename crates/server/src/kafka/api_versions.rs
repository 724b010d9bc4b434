//! ApiVersions: the APIs of this broker.

use super::reply::Reply;
use rawline_kafka::frame::RequestHeader;
use rawline_kafka::messages::{ApiVersion, ApiVersionsResponse, FinalizedFeatureKey, Response, SupportedFeatureKey};
use rawline_kafka::{Api, ErrorCode};

/// The APIs that have a handler.
const SERVED: &[Api] = &[
    Api::Produce,
    Api::Fetch,
    Api::ListOffsets,
    Api::Metadata,
    Api::SaslHandshake,
    Api::OffsetCommit,
    Api::OffsetFetch,
    Api::FindCoordinator,
    Api::JoinGroup,
    Api::Heartbeat,
    Api::LeaveGroup,
    Api::SyncGroup,
    Api::DescribeGroups,
    Api::ListGroups,
    Api::ApiVersions,
    Api::CreateTopics,
    Api::DeleteTopics,
    Api::DeleteRecords,
    Api::InitProducerId,
    Api::OffsetForLeaderEpoch,
    Api::DescribeAcls,
    Api::CreateAcls,
    Api::DeleteAcls,
    Api::DescribeConfigs,
    Api::AlterConfigs,
    Api::DescribeLogDirs,
    Api::SaslAuthenticate,
    Api::CreatePartitions,
    Api::DeleteGroups,
    Api::IncrementalAlterConfigs,
    Api::EndTxn,
    Api::TxnOffsetCommit,
    Api::ListPartitionReassignments,
    Api::OffsetDelete,
    Api::DescribeCluster,
    Api::DescribeProducers,
    Api::DescribeTransactions,
    Api::ListTransactions,
    Api::ListConfigResources,
    Api::DescribeTopicPartitions,
    Api::ConsumerGroupHeartbeat,
    Api::ConsumerGroupDescribe,
];

/// Features beyond the versions of APIs: names as in Kafka, and the levels from 0 to which the broker
/// has them. It uses the highest.
///
/// From level 2 of `transaction.version` on, a transaction's end opens the producer's next instance (KIP-890). Clients
/// use transactions of an older kind otherwise, which this broker doesn't have.
const FEATURES: &[(&str, i16)] = &[("group.version", 1), ("transaction.version", 2)];

/// From this version on, clients read features whose lowest level is 0.
const LEVEL_0_FROM: i16 = 4;

pub(super) fn is_served(api: Api) -> bool {
    SERVED.contains(&api)
}

pub(super) fn respond(request_version: i16) -> ApiVersionsResponse {
    let versions = SERVED.iter().copied().filter_map(version);
    let supported = |&(name, level): &(&str, i16)| SupportedFeatureKey {
        name: name.to_owned(),
        min_version: 0,
        max_version: level,
    };
    let finalized = |&(name, level): &(&str, i16)| FinalizedFeatureKey {
        name: name.to_owned(),
        max_version_level: level,
        min_version_level: level,
    };
    let are_read = request_version >= LEVEL_0_FROM;
    ApiVersionsResponse {
        api_keys: versions.collect(),
        supported_features: FEATURES.iter().filter(|_| are_read).map(supported).collect(),
        finalized_features_epoch: 0,
        finalized_features: FEATURES.iter().map(finalized).collect(),
        ..ApiVersionsResponse::default()
    }
}

/// To a request of a version that this broker doesn't know: in the oldest form, with the versions of this API, so
/// that the client can ask again.
pub(super) fn unsupported(header: &RequestHeader) -> Reply {
    let error_code = ErrorCode::UnsupportedVersion.into();
    let api_keys = version(Api::ApiVersions).into_iter().collect();
    let response = ApiVersionsResponse { error_code, api_keys, ..ApiVersionsResponse::default() };
    let mut bytes = Vec::new();
    Response::from(response).write(0, &mut bytes);
    Reply::new(header, Api::ApiVersions, [bytes.into()])
}

fn version(api: Api) -> Option<ApiVersion> {
    let versions = api.advertised()?;
    let (min_version, max_version) = (*versions.start(), *versions.end());
    Some(ApiVersion { api_key: api.key(), min_version, max_version })
}
