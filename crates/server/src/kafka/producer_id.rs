//! InitProducerId: ids for idempotent producers.

use rawline_kafka::ErrorCode;
use rawline_kafka::messages::{InitProducerIdRequest, InitProducerIdResponse};

/// An id that no other producer has: of 63 random bits. A producer that had to give up gets a new one too.
#[expect(clippy::disallowed_methods, reason = "an id that nobody else draws")]
pub(super) fn respond(request: &InitProducerIdRequest) -> InitProducerIdResponse {
    if request.transactional_id.is_some() {
        // There are no transactions. This code ends the producer; others would make it try for minutes.
        return refused(ErrorCode::TransactionalIdAuthorizationFailed);
    }
    if (request.producer_id < 0) != (request.producer_epoch < 0) {
        // The id of a former instance without its epoch, or the other way round.
        return refused(ErrorCode::InvalidRequest);
    }
    let producer_id = (rand::random::<u64>() >> 1) as i64;
    InitProducerIdResponse { producer_id, producer_epoch: 0, ..InitProducerIdResponse::default() }
}

fn refused(code: ErrorCode) -> InitProducerIdResponse {
    InitProducerIdResponse { error_code: code.into(), producer_epoch: -1, ..InitProducerIdResponse::default() }
}
