//! Requests that create, change, delete and describe topics, or describe the broker: one file for each purpose.

mod acls;
mod alter;
mod cluster;
mod configs;
mod describe;
pub(super) mod epochs;
mod log_dirs;
mod many;
mod partitions;
mod producers;
mod records;
mod setting_values;
mod settings;
mod topic_settings;
mod topics;
mod transactions;

use super::building::Building;
use super::client::Client;
use super::error::ConnectionError;
use many::outcome;
use rawline_kafka::Api;
use rawline_kafka::messages::{ListPartitionReassignmentsResponse, Request, Response};

/// The response; `None` if the request belongs to another API.
pub(super) async fn respond(
    client: &Client,
    version: i16,
    request: Request,
    building: &mut Building<'_>,
) -> Result<Option<Response>, ConnectionError> {
    Ok(Some(match request {
        Request::CreateTopics(request) => topics::create(client, request).await?.into(),
        Request::DeleteTopics(request) => topics::delete(client, request).await?.into(),
        Request::CreatePartitions(request) => partitions::create(client, request).await?.into(),
        Request::DeleteRecords(request) => records::delete(client, request).await.into(),
        Request::DescribeConfigs(request) => configs::describe(client, request, building).await?.into(),
        Request::ListConfigResources(request) => configs::list(client, version, request, building).await.into(),
        Request::DescribeAcls(_) => acls::describe().into(),
        Request::CreateAcls(request) => acls::create(&request).into(),
        Request::DeleteAcls(request) => acls::delete(&request).into(),
        Request::AlterConfigs(request) => alter::replace(client, request).await?.into(),
        Request::IncrementalAlterConfigs(request) => alter::change(client, request).await?.into(),
        Request::DescribeCluster(request) => cluster::describe(client, &request).into(),
        Request::DescribeTopicPartitions(request) => describe::respond(client, request, building).await.into(),
        Request::OffsetForLeaderEpoch(request) => epochs::respond(client, request).await.into(),
        Request::DescribeProducers(request) => producers::describe(client, request, building).await?.into(),
        Request::DescribeTransactions(request) => transactions::describe(client, request, building).await?.into(),
        Request::ListTransactions(request) => transactions::list(client, request, building).await.into(),
        Request::DescribeLogDirs(request) => log_dirs::describe(client, request, building).await.into(),
        // There is no other broker to which a partition could move.
        Request::ListPartitionReassignments(_) => {
            let (error_code, error_message) = outcome(client.may_monitor(Api::ListPartitionReassignments));
            let response = ListPartitionReassignmentsResponse::default();
            ListPartitionReassignmentsResponse { error_code, error_message, ..response }.into()
        }
        _ => return Ok(None),
    }))
}
