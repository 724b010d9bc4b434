//! DescribeCluster: the brokers.

use super::many::outcome;
use crate::kafka::client::Client;
use crate::kafka::error::Refusal;
use crate::kafka::nodes::{CONTROLLING, Node};
use crate::kafka::operations;
use rawline_kafka::ErrorCode;
use rawline_kafka::messages::{DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse};

/// Kafka's numbers of endpoint types.
const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

pub(super) fn describe(client: &Client, request: &DescribeClusterRequest) -> DescribeClusterResponse {
    let (error_code, error_message) = outcome(check_endpoints(request.endpoint_type));
    if error_code != i16::from(ErrorCode::None) {
        return DescribeClusterResponse { error_code, error_message, ..DescribeClusterResponse::default() };
    }
    let broker = |Node { id, host, port, zone }: Node| DescribeClusterBroker {
        rack: zone,
        broker_id: id,
        host,
        port: port.into(),
        ..DescribeClusterBroker::default()
    };
    DescribeClusterResponse {
        endpoint_type: request.endpoint_type,
        cluster_id: client.kafka.broker.storage_id().to_string(),
        controller_id: client.leader(CONTROLLING),
        brokers: client.nodes().into_iter().map(broker).collect(),
        cluster_authorized_operations: operations::asked(
            request.include_cluster_authorized_operations,
            operations::of_broker(client.caller().grants()),
        ),
        ..DescribeClusterResponse::default()
    }
}

fn check_endpoints(kind: i8) -> Result<(), Refusal> {
    let code = match kind {
        BROKERS => return Ok(()),
        CONTROLLERS => ErrorCode::MismatchedEndpointType,
        _ => ErrorCode::UnsupportedEndpointType,
    };
    let message = format!("clients connect to brokers ({BROKERS}), and not to endpoints of type {kind}");
    Err(Refusal::new(code, message))
}
