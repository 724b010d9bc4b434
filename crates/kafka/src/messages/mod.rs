//! All requests and responses but Produce's and Fetch's: structures that are read and written as a whole. Names are
//! Kafka's.

mod acls;
mod body;
mod configs;
mod consumer_groups;
mod consumer_protocol;
mod field;
mod group_admin;
mod groups;
mod metadata;
mod offsets;
mod producers;
mod records;
mod replicas;
mod sasl;
mod structure;
mod topics;
mod versions;

pub use acls::*;
pub use configs::*;
pub use consumer_groups::*;
pub use consumer_protocol::*;
pub use field::{Source, Uuid};
pub use group_admin::*;
pub use groups::*;
pub use metadata::*;
pub use offsets::*;
pub use producers::*;
pub use records::*;
pub use replicas::*;
pub use sasl::*;
pub use topics::*;
pub use versions::*;

use crate::api::Api;
use crate::read::WireError;
use crate::write::Writer;
use body::Body;
use field::Field;

macro_rules! messages {
    ($($api:ident: $request:ident, $response:ident;)*) => {
        messages! { @kind
            /// A request that is read as a whole.
            Request { $($api($request),)* }
        }
        messages! { @kind
            /// A response that is written as a whole.
            Response { $($api($response),)* }
        }
    };
    (@kind $(#[$about:meta])* $kind:ident { $($api:ident($message:ident),)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $kind {
            $(#[doc = concat!("Of ", stringify!($api), ".")] $api($message),)*
        }

        impl $kind {
            /// The APIs whose messages these are: all but Produce and Fetch.
            pub const APIS: &[Api] = &[$(Api::$api),*];

            /// Which API it belongs to.
            pub fn api(&self) -> Api {
                match self {
                    $($kind::$api(_) => Api::$api,)*
                }
            }

            /// Takes the fields from a source.
            pub fn from_source<S: Source>(api: Api, version: i16, from: &mut S) -> Result<$kind, WireError> {
                match api {
                    $(Api::$api => Ok($kind::$api(Field::read(from, version)?)),)*
                    Api::Produce | Api::Fetch => unreachable!("{api:?} isn't read as a whole"),
                }
            }

            /// Reads a body. Bytes after the last field are ignored, as Kafka does: librdkafka sends three when it asks
            /// for all topics. Its allocations are bounded: see [`crate::MEMORY_PER_BYTE`].
            pub fn read(api: Api, version: i16, body: &[u8]) -> Result<$kind, WireError> {
                api.check(version)?;
                let mut from = Body::new(body, api.is_flexible(version));
                $kind::from_source(api, version, &mut from)
            }

            /// The first error in its fields named `error_code` that isn't 0; 0 without one.
            pub fn error(&self) -> i16 {
                match self {
                    $($kind::$api(message) => message.error(),)*
                }
            }

            /// Appends the body. Fields that the version lacks are left out.
            pub fn write(&self, version: i16, to: &mut Vec<u8>) {
                let api = self.api();
                assert_eq!(api.check(version), Ok(()), "to be written");
                let mut writer = Writer::after(std::mem::take(to), api.is_flexible(version));
                match self {
                    $($kind::$api(message) => message.write(&mut writer, version),)*
                }
                *to = writer.into_bytes();
            }
        }

        $(impl From<$message> for $kind {
            fn from(message: $message) -> $kind {
                $kind::$api(message)
            }
        })*
    };
}

messages! {
    ApiVersions: ApiVersionsRequest, ApiVersionsResponse;
    Metadata: MetadataRequest, MetadataResponse;
    ListOffsets: ListOffsetsRequest, ListOffsetsResponse;
    FindCoordinator: FindCoordinatorRequest, FindCoordinatorResponse;
    JoinGroup: JoinGroupRequest, JoinGroupResponse;
    SyncGroup: SyncGroupRequest, SyncGroupResponse;
    Heartbeat: HeartbeatRequest, HeartbeatResponse;
    LeaveGroup: LeaveGroupRequest, LeaveGroupResponse;
    OffsetCommit: OffsetCommitRequest, OffsetCommitResponse;
    OffsetFetch: OffsetFetchRequest, OffsetFetchResponse;
    OffsetDelete: OffsetDeleteRequest, OffsetDeleteResponse;
    InitProducerId: InitProducerIdRequest, InitProducerIdResponse;
    CreateTopics: CreateTopicsRequest, CreateTopicsResponse;
    DeleteTopics: DeleteTopicsRequest, DeleteTopicsResponse;
    CreatePartitions: CreatePartitionsRequest, CreatePartitionsResponse;
    DeleteRecords: DeleteRecordsRequest, DeleteRecordsResponse;
    DescribeConfigs: DescribeConfigsRequest, DescribeConfigsResponse;
    AlterConfigs: AlterConfigsRequest, AlterConfigsResponse;
    IncrementalAlterConfigs: IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse;
    DescribeGroups: DescribeGroupsRequest, DescribeGroupsResponse;
    ListGroups: ListGroupsRequest, ListGroupsResponse;
    DeleteGroups: DeleteGroupsRequest, DeleteGroupsResponse;
    DescribeCluster: DescribeClusterRequest, DescribeClusterResponse;
    DescribeTopicPartitions: DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse;
    OffsetForLeaderEpoch: OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse;
    DescribeLogDirs: DescribeLogDirsRequest, DescribeLogDirsResponse;
    ListPartitionReassignments: ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse;
    DescribeProducers: DescribeProducersRequest, DescribeProducersResponse;
    DescribeTransactions: DescribeTransactionsRequest, DescribeTransactionsResponse;
    ListTransactions: ListTransactionsRequest, ListTransactionsResponse;
    SaslHandshake: SaslHandshakeRequest, SaslHandshakeResponse;
    SaslAuthenticate: SaslAuthenticateRequest, SaslAuthenticateResponse;
    AddPartitionsToTxn: AddPartitionsToTxnRequest, AddPartitionsToTxnResponse;
    EndTxn: EndTxnRequest, EndTxnResponse;
    TxnOffsetCommit: TxnOffsetCommitRequest, TxnOffsetCommitResponse;
    ConsumerGroupHeartbeat: ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse;
    ConsumerGroupDescribe: ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse;
    DescribeAcls: DescribeAclsRequest, DescribeAclsResponse;
    CreateAcls: CreateAclsRequest, CreateAclsResponse;
    DeleteAcls: DeleteAclsRequest, DeleteAclsResponse;
    ListConfigResources: ListConfigResourcesRequest, ListConfigResourcesResponse;
}
