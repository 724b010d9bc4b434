//! Requests that create, change, delete and describe topics, or describe the broker: one file for each purpose.

mod acls;
mod alter;
mod cluster;
mod configs;
mod describe;
pub(super) mod epochs;
mod log_dirs;
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
use super::error::{ConnectionError, Refusal};
use futures_util::stream::{self, StreamExt};
use rawline_kafka::messages::{ListPartitionReassignmentsResponse, Request, Response};
use rawline_kafka::{Api, ErrorCode};
use std::collections::BTreeSet;

/// Maximum number of topics in a request whose response has kilobytes for each.
const TOPICS_MAX: usize = 10_000;

/// Changes of one request that are in flight at once: the journal stores them together.
const CHANGES_MAX: usize = 64;

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

/// The resources that a request names: topics, or others with settings.
struct Subjects<T> {
    repeated: BTreeSet<T>,
}

impl<T: Ord> Subjects<T> {
    /// Fails if the response would be too large.
    fn of(all: impl ExactSizeIterator<Item = T>) -> Result<Subjects<T>, ConnectionError> {
        if all.len() > TOPICS_MAX {
            return Err(ConnectionError::Topics { limit: TOPICS_MAX });
        }
        let (mut seen, mut repeated) = (BTreeSet::new(), BTreeSet::new());
        for one in all {
            repeated.extend(seen.replace(one));
        }
        Ok(Subjects { repeated })
    }

    /// Fails if the request has it more than once: which one is meant can't be known.
    fn check(&self, one: &T) -> Result<(), Refusal> {
        if self.repeated.contains(one) {
            return Err(Refusal::new(ErrorCode::InvalidRequest, "the request has it more than once; send it once"));
        }
        Ok(())
    }
}

/// Carries out a request's changes, some at once. The results have the order of the changes.
async fn each<T, F: Future>(changes: Vec<T>, carry_out: impl FnMut(T) -> F) -> Vec<F::Output> {
    stream::iter(changes.into_iter().map(carry_out)).buffered(CHANGES_MAX).collect().await
}

/// The result of a change in a response: the error's number and its message.
fn outcome(changed: Result<(), Refusal>) -> (i16, Option<String>) {
    match changed {
        Ok(()) => (ErrorCode::None.into(), None),
        Err(Refusal { code, message }) => {
            let code = i16::from(code);
            tracing::debug!(code, message, "refused a Kafka client's request");
            (code, Some(message))
        }
    }
}
