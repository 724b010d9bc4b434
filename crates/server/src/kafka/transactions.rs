//! Transactions: EndTxn, and what all requests of transactions share.
//!
//! Only those of KIP-890 are served: a partition joins with its first batch, and the end of a transaction opens the
//! producer's next instance, so that a late batch can't get into the next transaction.

use super::Client;
use rawline_broker::{Kind, ProducerInstance, TransactionError};
use rawline_kafka::ErrorCode;
use rawline_kafka::messages::{EndTxnRequest, EndTxnResponse};

/// From this version on, the response has the id and the epoch that the producer goes on with.
const END_FROM: i16 = 5;

/// Whether a request of a transaction has a version that this broker carries out; the log says so if not.
pub(super) fn is_known_kind(request: &'static str, version: i16, first: i16) -> bool {
    if version < first {
        tracing::warn!(
            request,
            version,
            "refused a transaction of an older kind: this broker has those of KIP-890 only, as kafka-clients 4.0 and \
             later use them"
        );
    }
    version >= first
}

/// The instance of a producer that a request names; `None` if it names none that could be.
pub(super) fn instance(id: i64, epoch: i16) -> Option<ProducerInstance> {
    Some(ProducerInstance { id: u64::try_from(id).ok()?, epoch: u16::try_from(epoch).ok()? })
}

pub(super) async fn end(client: &Client, version: i16, request: &EndTxnRequest) -> EndTxnResponse {
    let refused = |code: ErrorCode| EndTxnResponse { error_code: code.into(), ..EndTxnResponse::default() };
    if !is_known_kind("EndTxn", version, END_FROM) {
        return refused(ErrorCode::UnsupportedVersion);
    }
    let Some(instance) = instance(request.producer_id, request.producer_epoch) else {
        return refused(ErrorCode::InvalidProducerIdMapping);
    };
    let name = &request.transactional_id;
    match client.kafka.broker.end_transaction(name, instance, request.committed).await {
        Ok(ProducerInstance { id, epoch }) => {
            EndTxnResponse { producer_id: id as i64, producer_epoch: epoch as i16, ..EndTxnResponse::default() }
        }
        Err(error) => {
            tracing::debug!(name, committed = request.committed, %error, "a transaction was not ended");
            refused(code_of(&error))
        }
    }
}

/// The code of an error about transactions.
pub(super) fn code_of(error: &TransactionError) -> ErrorCode {
    match error {
        TransactionError::Name { .. } => ErrorCode::InvalidRequest,
        TransactionError::Timeout { .. } => ErrorCode::InvalidTransactionTimeout,
        TransactionError::Fenced => ErrorCode::ProducerFenced,
        TransactionError::NotOpen => ErrorCode::InvalidProducerIdMapping,
        TransactionError::State { .. } => ErrorCode::InvalidTxnState,
        TransactionError::TooMany { .. } => ErrorCode::PolicyViolation,
        TransactionError::Store(error) if error.kind == Kind::FixRequest => ErrorCode::UnsupportedForMessageFormat,
        TransactionError::Store(error) if error.kind == Kind::TellHuman => ErrorCode::KafkaStorageError,
        // Clients ask again.
        TransactionError::Store(_) => ErrorCode::CoordinatorNotAvailable,
    }
}
