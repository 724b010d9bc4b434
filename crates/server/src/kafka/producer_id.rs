//! InitProducerId: ids for idempotent producers, and for those that have transactions.

use super::client::Client;
use super::error::{Refusal, code_of_transaction};
use super::transactions::{instance, is_known_kind};
use rawline_broker::{Kind, ProducerInstance, TransactionError, is_named_id};
use rawline_kafka::messages::{InitProducerIdRequest, InitProducerIdResponse};
use rawline_kafka::{Api, ErrorCode};
use std::time::Duration;

/// Clients whose transactions are of the kind that this broker has ask in this version.
const TRANSACTIONS_FROM: i16 = 5;

/// An id that no other producer has: of 63 random bits. A producer that had to give up gets a new one too. A producer
/// with a transactional id gets the next instance of that name.
#[expect(clippy::disallowed_methods, reason = "a unique id")]
pub(super) async fn respond(client: &Client, version: i16, request: &InitProducerIdRequest) -> InitProducerIdResponse {
    if (request.producer_id < 0) != (request.producer_epoch < 0) {
        // The id of a former instance without its epoch, or the other way round.
        return refused(ErrorCode::InvalidRequest);
    }
    if let Some(name) = &request.transactional_id {
        return transactional(client, version, name, request).await;
    }
    if let Err(Refusal { code, .. }) = client.may_produce(Api::InitProducerId) {
        return refused(code);
    }
    // The ids of named producers are theirs alone.
    let drawn = std::iter::repeat_with(|| rand::random::<u64>() >> 1).find(|id| *id > 0 && !is_named_id(*id));
    let producer_id = drawn.unwrap_or_default() as i64;
    InitProducerIdResponse { producer_id, producer_epoch: 0, ..InitProducerIdResponse::default() }
}

async fn transactional(
    client: &Client,
    version: i16,
    name: &str,
    request: &InitProducerIdRequest,
) -> InitProducerIdResponse {
    if !is_known_kind("InitProducerId", version, TRANSACTIONS_FROM) {
        // This code ends the producer. After UNSUPPORTED_VERSION, librdkafka repeats the request until the
        // application's timeout.
        return refused(ErrorCode::TransactionalIdAuthorizationFailed);
    }
    if let Err(Refusal { code, .. }) = client.may_be_producer(Api::InitProducerId, name) {
        return refused(code);
    }
    if client.is_led_elsewhere(name) {
        return refused(ErrorCode::NotCoordinator);
    }
    let timeout = Duration::from_millis(u64::try_from(request.transaction_timeout_ms).unwrap_or_default());
    let from = instance(request.producer_id, request.producer_epoch);
    match client.kafka.broker.open_transactional(name, client.caller().owner(), timeout, from).await {
        Ok(ProducerInstance { id, epoch }) => InitProducerIdResponse {
            producer_id: id as i64,
            producer_epoch: epoch as i16,
            ..InitProducerIdResponse::default()
        },
        Err(error) => {
            match &error {
                // Clients don't get the reason.
                TransactionError::Store(reason) if reason.kind == Kind::FixRequest => {
                    tracing::warn!(name, %error, "a producer with transactions was not opened");
                }
                _ => tracing::debug!(name, %error, "a producer with transactions was not opened"),
            }
            refused(code_of_transaction(&error))
        }
    }
}

fn refused(code: ErrorCode) -> InitProducerIdResponse {
    InitProducerIdResponse { error_code: code.into(), producer_epoch: -1, ..InitProducerIdResponse::default() }
}
