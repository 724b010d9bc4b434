//! Transactions: EndTxn, and helpers of all requests of transactions.
//!
//! Only those of KIP-890 are served: a partition joins with its first batch, and the end of a transaction opens the
//! producer's next instance, so that a late batch can't get into the next transaction. This holds for every cause of
//! the transaction.

use super::client::Client;
use super::error::{Refusal, code_of_transaction};
use rawline_broker::{ProducerInstance, TransactionError, TransactionProgress};
use rawline_kafka::messages::{EndTxnRequest, EndTxnResponse};
use rawline_kafka::{Api, ErrorCode};

/// From this version of EndTxn on, the response has the id and the epoch that the producer continues with. Older ones
/// are served, too: engines end the transaction of a checkpoint with them, whichever client has written it. The next
/// instance is opened all the same, so nothing that arrives late gets into another transaction; a client that doesn't
/// know of it opens its producer again before it can write.
const NEXT_FROM: i16 = 5;

/// From this version of EndTxn on, clients know the error of a fenced producer.
const FENCED_FROM: i16 = 2;

/// Whether this broker supports the version of a transaction's request; otherwise it logs the reason.
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
    let name = &request.transactional_id;
    if let Err(Refusal { code, .. }) = client.may_be_producer(Api::EndTxn, name) {
        return refused(code);
    }
    if client.is_led_elsewhere(name) {
        return refused(ErrorCode::NotCoordinator);
    }
    let Some(instance) = instance(request.producer_id, request.producer_epoch) else {
        return refused(ErrorCode::InvalidProducerIdMapping);
    };
    match carry_out(client, version, instance, request).await {
        // Older versions leave out both.
        Ok(ProducerInstance { id, epoch }) => {
            EndTxnResponse { producer_id: id as i64, producer_epoch: epoch as i16, ..EndTxnResponse::default() }
        }
        Err(error) => {
            tracing::debug!(name, committed = request.committed, %error, "a transaction was not ended");
            refused(match code_of_transaction(&error) {
                ErrorCode::ProducerFenced if version < FENCED_FROM => ErrorCode::InvalidProducerEpoch,
                code => code,
            })
        }
    }
}

async fn carry_out(
    client: &Client,
    version: i16,
    instance: ProducerInstance,
    request: &EndTxnRequest,
) -> Result<ProducerInstance, TransactionError> {
    let EndTxnRequest { transactional_id: name, committed, .. } = request;
    let broker = &client.kafka.broker;
    if version < NEXT_FROM && !committed {
        // An abort of nothing would open another instance, and the client would not know.
        let found = broker.transactional_producer(name).await?;
        let (id, epoch, progress) =
            found.map_or((0, 0, None), |(known, _)| (known.id, known.epoch, Some(known.progress)));
        let is_open = matches!(progress, Some(TransactionProgress::Open { .. }));
        if (id, epoch) == (instance.id, instance.epoch) && !is_open {
            let reason = "no transaction of this producer is open; nothing was aborted".to_owned();
            return Err(TransactionError::State { reason });
        }
    }
    broker.end_transaction(name, instance, *committed).await
}
