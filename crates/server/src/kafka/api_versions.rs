//! ApiVersions: what this broker can be asked for.

use super::reply::Reply;
use rawline_kafka::frame::RequestHeader;
use rawline_kafka::messages::{ApiVersion, ApiVersionsResponse, Response};
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
    Api::DescribeConfigs,
    Api::AlterConfigs,
    Api::DescribeLogDirs,
    Api::SaslAuthenticate,
    Api::CreatePartitions,
    Api::DeleteGroups,
    Api::IncrementalAlterConfigs,
    Api::ListPartitionReassignments,
    Api::OffsetDelete,
    Api::DescribeCluster,
    Api::DescribeTopicPartitions,
];

pub(super) fn is_served(api: Api) -> bool {
    SERVED.contains(&api)
}

pub(super) fn respond() -> ApiVersionsResponse {
    let versions = SERVED.iter().copied().filter_map(version);
    ApiVersionsResponse { api_keys: versions.collect(), ..ApiVersionsResponse::default() }
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
