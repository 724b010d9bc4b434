//! Requests that are refused, and what of them is.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // A test.

mod support;

use rawline_kafka::messages::{
    CreatableTopic, CreateTopicsRequest, DescribeConfigsRequest, DescribeConfigsResource, DescribeGroupsRequest,
    HeartbeatRequest, LeaveGroupRequest, LeavingMember, MetadataRequest, MetadataRequestTopic, OffsetCommitRequest,
    OffsetCommitRequestPartition, OffsetCommitRequestTopic, OffsetFetchRequest, OffsetFetchRequestTopic,
};
use rawline_kafka::{Api, Request, Response, WireError};
use support::parts;

/// A Metadata request of a header without a client id and two billion topics: libraries reserve memory for them.
#[test]
fn a_count_of_twelve_bytes_reserves_nothing() {
    let body = [0x7f, 0xff, 0xff, 0xff];
    let error = WireError::Length { found: i64::from(i32::MAX), limit: 0 };
    assert_eq!(Request::read(Api::Metadata, 4, &body), Err(error));
    let body = [0xff, 0xff, 0xff, 0xff, 0x0f];
    let error = WireError::Length { found: i64::from(u32::MAX) - 1, limit: 0 };
    assert_eq!(Request::read(Api::Metadata, 12, &body), Err(error));
}

#[test]
fn counts_of_produce_are_compared_with_what_follows() {
    for version in Api::Produce.versions() {
        let is_flexible = Api::Produce.is_flexible(version);
        let mut bytes = if is_flexible { vec![0] } else { vec![0xff, 0xff] };
        bytes.extend([0xff, 0xff, 0, 0, 0, 0]);
        bytes.extend(if is_flexible { &[0xff, 0xff, 0xff, 0xff, 0x0f][..] } else { &[0x7f, 0xff, 0xff, 0xff] });
        let error = parts(version, &bytes, || 100).unwrap_err();
        assert!(matches!(error, WireError::Length { limit: 0, .. }), "version {version}: {error}");
    }
}

/// As many elements as bytes follow, but far larger ones.
#[test]
fn elements_that_need_more_memory_than_a_request_has_are_refused() {
    let mut body = vec![1; 1 << 20];
    body[..4].copy_from_slice(&[0xf0, 0xff, 0x3f, 1]);
    let error = Request::read(Api::DescribeGroups, 5, &body).unwrap_err();
    assert!(matches!(error, WireError::Memory { .. }), "{error}");
}

/// The limit of memory is above what clients can ask for.
#[test]
fn requests_of_many_short_names_are_read() {
    let many = |name: &'static str| std::iter::repeat_n(name.to_owned(), 10_000);
    let requests: [(Request, i16); 8] = [
        (DescribeGroupsRequest { groups: many("t").collect(), ..Default::default() }.into(), 5),
        (metadata(many("t")).into(), 9),
        (metadata(many("t")).into(), 12),
        (described_configs(many("t")).into(), 4),
        (created(many("t")).into(), 7),
        (committed(many("t")).into(), 8),
        (fetched_offsets(many("t")).into(), 7),
        (left(many("one")).into(), 4),
    ];
    for (request, version) in requests {
        let mut body = Vec::new();
        request.write(version, &mut body);
        let found = Request::read(request.api(), version, &body);
        assert!(found.as_ref() == Ok(&request), "{:?}: {:?}", request.api(), found.err());
    }
}

fn metadata(names: impl Iterator<Item = String>) -> MetadataRequest {
    let topic = |name| MetadataRequestTopic { name: Some(name), ..Default::default() };
    MetadataRequest { topics: Some(names.map(topic).collect()), ..Default::default() }
}

fn described_configs(names: impl Iterator<Item = String>) -> DescribeConfigsRequest {
    let resource = |name| DescribeConfigsResource { resource_type: 2, resource_name: name, configuration_keys: None };
    DescribeConfigsRequest { resources: names.map(resource).collect(), ..Default::default() }
}

fn created(names: impl Iterator<Item = String>) -> CreateTopicsRequest {
    let topic = |name| CreatableTopic { name, ..Default::default() };
    CreateTopicsRequest { topics: names.map(topic).collect(), ..Default::default() }
}

fn committed(names: impl Iterator<Item = String>) -> OffsetCommitRequest {
    let partitions = vec![OffsetCommitRequestPartition::default()];
    let topic = |name| OffsetCommitRequestTopic { name, partitions: partitions.clone(), ..Default::default() };
    OffsetCommitRequest { topics: names.map(topic).collect(), ..Default::default() }
}

fn fetched_offsets(names: impl Iterator<Item = String>) -> OffsetFetchRequest {
    let topic = |name| OffsetFetchRequestTopic { name, partition_indexes: vec![0], ..Default::default() };
    OffsetFetchRequest { topics: Some(names.map(topic).collect()), ..Default::default() }
}

fn left(instances: impl Iterator<Item = String>) -> LeaveGroupRequest {
    let member = |id| LeavingMember { group_instance_id: Some(id), ..Default::default() };
    LeaveGroupRequest { members: instances.map(member).collect(), ..Default::default() }
}

#[test]
fn null_is_refused_in_versions_that_have_none() {
    let body = [0xff, 0xff, 0xff, 0xff];
    assert_eq!(Request::read(Api::Metadata, 0, &body), Err(WireError::Null));
    let all = Request::from(MetadataRequest { topics: None, ..MetadataRequest::default() });
    assert_eq!(Request::read(Api::Metadata, 1, &body), Ok(all.clone()));
    // Written, it is empty: version 0 asks for all topics so.
    let mut written = Vec::new();
    all.write(0, &mut written);
    assert_eq!(written, [0, 0, 0, 0]);
}

#[test]
fn unknown_versions_are_refused() {
    for api in Request::APIS {
        let versions = api.versions();
        for version in [-1, *versions.start() - 1, *versions.end() + 1, i16::MAX] {
            let error = Request::read(*api, version, &[]).unwrap_err();
            assert!(matches!(error, WireError::Version { .. }), "{api:?} {version}: {error}");
        }
    }
}

#[test]
fn unknown_tagged_fields_are_skipped() {
    let request = Request::from(HeartbeatRequest::default());
    let mut bytes = Vec::new();
    request.write(4, &mut bytes);
    assert_eq!(bytes.pop(), Some(0));
    // Tags 5, with three bytes, and 128, with none.
    bytes.extend([2, 5, 3, 1, 2, 3, 0x80, 0x01, 0]);
    assert_eq!(Request::read(Api::Heartbeat, 4, &bytes), Ok(request));
    *bytes.last_mut().unwrap() = 1;
    assert_eq!(Request::read(Api::Heartbeat, 4, &bytes), Err(WireError::Truncated));
}

#[test]
fn tagged_fields_of_a_wrong_length_are_refused() {
    // No error, no APIs, not throttled, and the features' epoch with a length of 4 instead of 8.
    let response = [0, 0, 1, 0, 0, 0, 0, 1, 1, 4, 0, 0, 0, 0, 0, 0, 0, 9];
    assert_eq!(Response::read(Api::ApiVersions, 3, &response), Err(WireError::Length { found: 4, limit: 8 }));
}
