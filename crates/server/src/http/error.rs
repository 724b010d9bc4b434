//! The one place that turns errors into responses: a status, a stable code, a message that says what to do.

use crate::access::Denied;
use crate::convert::ConvertError;
use crate::convert::keys::KeysError;
use crate::http::response::{self, ApiResponse};
use http::{HeaderName, HeaderValue, StatusCode, header};
use rawline_batch::BatchError;
use rawline_batch::record_batch::RecordBatchError;
use rawline_broker::cluster::BrokerId;
use rawline_broker::pool::PoolError;
use rawline_broker::store::StoreError;
use rawline_broker::{
    AppendError, GroupError, Kind, OffsetError, OpenProducerError, ProducerError, ReadError, TopicError, TrimError,
};
use rawline_contract::{Code, ErrorBody, MediaType, code};
use std::time::Duration;

/// An error as a client receives it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ApiError {
    code: Code,
    message: String,
    header: Option<(HeaderName, HeaderValue)>,
}

impl ApiError {
    /// An error with the status of its code. One of the kind "wait" has the time to wait.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let retry_after = || (header::RETRY_AFTER, HeaderValue::from_static("1"));
        let header = (code.kind == Kind::Wait).then(retry_after);
        ApiError { code, message: message.into(), header }
    }

    /// A batch whose records before `next_offset` no reader can read: the producer's data is wrong, not the
    /// reader's request, and the broker doesn't decompress batches when it stores them.
    pub fn unreadable(next_offset: u64, reason: impl std::fmt::Display) -> Self {
        let [batch, record_batch] = [MediaType::Batch, MediaType::RecordBatch].map(MediaType::name);
        let message = format!(
            "{reason}; read from offset {next_offset} to skip it, or accept \"{batch}, {record_batch}\" to get it as \
             it was sent"
        );
        let name = rawline_contract::header::RESUME_OFFSET;
        ApiError::new(code::UNPACK_FAILED, message).with(name, HeaderValue::from(next_offset))
    }

    /// The offset at which a reader continues after an unreadable batch.
    pub fn next_offset(&self) -> Option<u64> {
        let (name, value) = self.header.as_ref()?;
        let text = value.to_str().ok().filter(|_| name == rawline_contract::header::RESUME_OFFSET)?;
        text.parse().ok()
    }

    /// The code for programs.
    pub fn code(&self) -> Code {
        self.code
    }

    pub fn unauthorized() -> Self {
        let message = "invalid auth: send the broker's key as \"Authorization: Bearer KEY\"";
        ApiError::new(code::UNAUTHORIZED, message).with(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    pub fn ticket_invalid() -> Self {
        let message =
            "the ticket has expired, or this run of the broker has not issued it: get another one with POST /ticket";
        ApiError::new(code::UNAUTHORIZED, message).with(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// Fails if a caller has to wait until its quota has room.
    pub fn within_quota(wait: Duration) -> Result<(), Self> {
        if wait.is_zero() {
            return Ok(());
        }
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let message = format!("this key has used up its quota of bytes per second; retry in {seconds} s");
        Err(ApiError::new(code::QUOTA_EXCEEDED, message).with(header::RETRY_AFTER, HeaderValue::from(seconds)))
    }

    pub fn method(allowed: &str) -> Self {
        let error = ApiError::new(code::METHOD_NOT_ALLOWED, format!("the methods of this path are {allowed}"));
        match HeaderValue::from_str(allowed) {
            Ok(value) => error.with(header::ALLOW, value),
            Err(_) => unreachable!("{allowed:?} is not a list of methods"),
        }
    }

    pub fn path(path: &str) -> Self {
        let message = format!("the API has no path {path}; GET {} lists its paths", rawline_contract::path::OPENAPI);
        ApiError::new(code::PATH_NOT_FOUND, message)
    }

    /// This broker coordinates groups, and isn't ready.
    pub fn taking_over() -> Self {
        let message = "this broker is taking over, and hasn't read all earlier commits yet; retry";
        ApiError::new(code::STORE_UNAVAILABLE, message)
    }

    pub fn group_not_found(group: &str) -> Self {
        let message = format!("there is no group {group:?}: it has neither members nor committed offsets");
        ApiError::new(code::GROUP_NOT_FOUND, message)
    }

    /// The key of a client whose request another broker has forwarded isn't known here.
    pub fn unauthorized_here() -> Self {
        let message = "the owner of the journal, to which this request was forwarded, doesn't know the client's key: \
                       give all brokers on the storage the same keys";
        ApiError::new(code::UNAUTHORIZED, message).with(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// Of a program that isn't known to be another broker on the storage.
    pub fn peer_unknown() -> Self {
        let message = "only brokers on this storage may send this, on a connection on which they have proven who they \
                       are. Does each broker have its own address that the others reach (--advertise)?";
        ApiError::new(code::PEER_UNKNOWN, message)
    }

    /// Of a broker that takes this one for another.
    pub fn other_broker(me: BrokerId, to: BrokerId) -> Self {
        let message = format!(
            "broker {me} is at this address, and not {to}: does each broker have its own address that the others reach \
             (--advertise)?"
        );
        ApiError::new(code::PEER_UNKNOWN, message)
    }

    /// Brokers don't ask this of each other.
    pub fn not_for_brokers() -> Self {
        let message = "brokers don't send this request: they forward appends, changes and requests about groups";
        ApiError::new(code::GRANT_MISSING, message)
    }

    /// Of a broker that stores nothing.
    pub fn read_only() -> Self {
        let message = "this broker is read-only, and reaches no broker on the storage that appends: start one that \
                       isn't read-only, and retry, or send the request to one that this broker doesn't reach";
        ApiError::new(code::READ_ONLY, message)
    }

    /// On a connection beyond the maximum.
    pub fn connections_too_many() -> Self {
        let message = "all of the broker's connections are busy; retry, or use fewer connections";
        ApiError::new(code::CONNECTIONS_TOO_MANY, message)
    }

    pub fn too_large(bytes: u64, limit: u64) -> Self {
        let message = format!("the body has {bytes} bytes and this broker accepts {limit}; send smaller batches");
        ApiError::new(code::BODY_TOO_LARGE, message)
    }

    fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    pub fn into_response(self) -> ApiResponse {
        let Ok(status) = StatusCode::from_u16(self.code.status) else {
            unreachable!("{:?} is not a code with an HTTP status", self.code)
        };
        if status.is_server_error() {
            tracing::warn!(code = self.code.name, "{}", self.message);
        }
        let body = ErrorBody { code: self.code.name.into(), error: self.message.as_str().into() };
        let mut response = response::json(status, &body);
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

impl From<Denied> for ApiError {
    fn from(error: Denied) -> Self {
        ApiError::new(code::GRANT_MISSING, error.to_string())
    }
}

impl From<StoreError> for ApiError {
    /// Of a failure in the store nothing is known but its kind.
    fn from(error: StoreError) -> Self {
        let code = match error.kind {
            Kind::FixRequest => code::BAD_REQUEST,
            Kind::TryAgain | Kind::Wait => code::STORE_UNAVAILABLE,
            Kind::TellHuman => code::STORE_FAILED,
        };
        ApiError::new(code, error.to_string())
    }
}

impl From<BatchError> for ApiError {
    fn from(error: BatchError) -> Self {
        ApiError::new(Code::of_batch(&error), error.to_string())
    }
}

impl From<RecordBatchError> for ApiError {
    fn from(error: RecordBatchError) -> Self {
        let code = match error {
            RecordBatchError::TooLarge { .. } => code::BODY_TOO_LARGE,
            RecordBatchError::TooManyRecords { .. } => code::RECORDS_TOO_MANY,
            RecordBatchError::Checksum { .. } => code::RECORD_BATCH_DAMAGED,
            _ => code::RECORD_BATCH_INVALID,
        };
        assert_eq!(code.kind, error.kind(), "{}", code.name);
        ApiError::new(code, error.to_string())
    }
}

impl From<ConvertError> for ApiError {
    /// Mostly caused by a producer's data, not by the reader's request: the broker doesn't look into the records that
    /// it stores.
    fn from(error: ConvertError) -> Self {
        match error {
            ConvertError::Pool(error) => error.into(),
            ConvertError::Aborted(_) => ApiError::new(code::STORE_UNAVAILABLE, error.to_string()),
            ConvertError::Unreadable { next_offset, .. } => ApiError::unreadable(next_offset, error),
            error => {
                let [batch, record_batch] = [MediaType::Batch, MediaType::RecordBatch].map(MediaType::name);
                let message = format!(
                    "a batch can't be converted: {error}; accept \"{batch}, {record_batch}\" to get it as it was sent"
                );
                ApiError::new(code::UNPACK_FAILED, message)
            }
        }
    }
}

impl From<KeysError> for ApiError {
    fn from(error: KeysError) -> Self {
        match error {
            KeysError::Missing(error) => error.into(),
            KeysError::Unreadable(ConvertError::Aborted(_)) => {
                ApiError::new(code::STORE_UNAVAILABLE, error.to_string())
            }
            KeysError::Unreadable(_) => ApiError::new(code::RECORD_BATCH_INVALID, error.to_string()),
        }
    }
}

impl From<TopicError> for ApiError {
    fn from(error: TopicError) -> Self {
        let code = match error {
            TopicError::Name { .. } | TopicError::Reserved { .. } => code::TOPIC_NAME,
            TopicError::NotFound { .. } => code::TOPIC_NOT_FOUND,
            TopicError::NoPartition { .. } => code::PARTITION_NOT_FOUND,
            TopicError::FewerPartitions { .. } => code::PARTITIONS_FEWER,
            TopicError::Exists { .. } => code::TOPIC_EXISTS,
            TopicError::TooMany { .. } => code::TOPICS_TOO_MANY,
            TopicError::Store(error) => return error.into(),
        };
        assert_eq!(code.kind, error.kind(), "{}", code.name);
        ApiError::new(code, error.to_string())
    }
}

impl From<GroupError> for ApiError {
    fn from(error: GroupError) -> Self {
        let code = match error {
            GroupError::Name { .. } => code::GROUP_NAME,
            GroupError::UnknownMember => code::MEMBER_NOT_FOUND,
            GroupError::FencedInstance => code::MEMBER_FENCED,
            GroupError::Generation { .. }
            | GroupError::Rebalancing
            | GroupError::FencedEpoch { .. }
            | GroupError::StaleEpoch { .. } => code::GROUP_REBALANCING,
            GroupError::Protocol | GroupError::Protocols { .. } | GroupError::OtherProtocol => code::GROUP_STRATEGY,
            GroupError::Session { .. } | GroupError::Regex { .. } => code::GROUP_INVALID,
            GroupError::Full { .. }
            | GroupError::Groups { .. }
            | GroupError::Memory { .. }
            | GroupError::Large { .. }
            | GroupError::Regexes { .. }
            | GroupError::Pairs { .. } => code::MEMBERS_TOO_MANY,
            GroupError::UnreleasedInstance => code::MEMBER_FENCED,
            GroupError::NotEmpty | GroupError::Subscribed => code::GROUP_NOT_EMPTY,
            GroupError::Moved | GroupError::NotStored { .. } | GroupError::Unconfirmed => code::STORE_UNAVAILABLE,
            GroupError::NeedsId { .. } => unreachable!("a member that didn't ask for an id gets one: {error}"),
        };
        ApiError::new(code, error.to_string())
    }
}

impl From<OffsetError> for ApiError {
    fn from(error: OffsetError) -> Self {
        let code = match error {
            OffsetError::Group(error) => return error.into(),
            OffsetError::Topic(error) => return error.into(),
            OffsetError::Store(error) => return error.into(),
            OffsetError::Metadata { .. } => code::GROUP_INVALID,
            // Over HTTP, offsets are in no transaction.
            OffsetError::Transaction(_) => code::GROUP_INVALID,
            OffsetError::NotCommitted => code::GROUP_NOT_FOUND,
            OffsetError::TooMany(_) => code::OFFSETS_TOO_MANY,
        };
        ApiError::new(code, error.to_string())
    }
}

impl From<AppendError> for ApiError {
    fn from(error: AppendError) -> Self {
        let code = match error {
            AppendError::TooLarge { .. } | AppendError::BatchTooLarge { .. } => code::APPEND_TOO_LARGE,
            AppendError::Future { .. } | AppendError::NoTransactions { .. } | AppendError::InTransaction { .. } => {
                code::RECORD_BATCH_INVALID
            }
            AppendError::NoKeys => code::KEY_MISSING,
            AppendError::Busy => code::TOPIC_BUSY,
            AppendError::Closed => code::SHUTTING_DOWN,
            AppendError::TopicDeleted { .. } => code::TOPIC_NOT_FOUND,
            AppendError::Failed { .. } | AppendError::Transactions { .. } => code::TOPIC_FAILED,
            AppendError::Gap { .. } => code::SEQUENCE_GAP,
            AppendError::Old { .. } => code::SEQUENCE_OLD,
            AppendError::Conflict { .. } => code::SEQUENCE_CONFLICT,
            AppendError::Fenced { .. } | AppendError::NotOpen { .. } => code::PRODUCER_FENCED,
            AppendError::Store(error) => return error.into(),
        };
        assert_eq!(code.kind, error.kind(), "{}", code.name);
        ApiError::new(code, error.to_string())
    }
}

impl From<ProducerError> for ApiError {
    fn from(error: ProducerError) -> Self {
        ApiError::new(code::PRODUCER_INVALID, error.to_string())
    }
}

impl From<OpenProducerError> for ApiError {
    fn from(error: OpenProducerError) -> Self {
        let code = match error {
            OpenProducerError::Name { .. } => code::PRODUCER_NAME,
            OpenProducerError::TooMany { .. } => code::PRODUCERS_TOO_MANY,
            OpenProducerError::Store(error) => return error.into(),
        };
        assert_eq!(code.kind, error.kind(), "{}", code.name);
        ApiError::new(code, error.to_string())
    }
}

impl From<ReadError> for ApiError {
    fn from(error: ReadError) -> Self {
        let code = match error {
            ReadError::Deleted { .. } => code::OFFSET_OUT_OF_BOUNDS,
            ReadError::TopicDeleted { .. } => code::TOPIC_NOT_FOUND,
            ReadError::Damaged { .. } => code::OBJECT_DAMAGED,
            ReadError::Lost { .. } => code::RECORDS_LOST,
            ReadError::Store(ref damaged) if damaged.is_damaged => code::OBJECT_DAMAGED,
            ReadError::Store(error) => return error.into(),
        };
        assert_eq!(code.kind, error.kind(), "{}", code.name);
        ApiError::new(code, error.to_string())
    }
}

impl From<TrimError> for ApiError {
    fn from(error: TrimError) -> Self {
        let code = match error {
            TrimError::AboveEnd { .. } => code::OFFSET_OUT_OF_BOUNDS,
            TrimError::TopicDeleted { .. } => code::TOPIC_NOT_FOUND,
            TrimError::Store(error) => return error.into(),
        };
        assert_eq!(code.kind, error.kind(), "{}", code.name);
        ApiError::new(code, error.to_string())
    }
}

impl From<PoolError> for ApiError {
    fn from(error: PoolError) -> Self {
        let code = match error {
            PoolError::Exhausted => code::BUFFERS_EXHAUSTED,
            PoolError::TooLarge { .. } => code::BODY_TOO_LARGE,
        };
        ApiError::new(code, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clients decide by the status whether they retry.
    #[test]
    fn an_error_that_passes_says_when_to_retry() {
        let response = ApiError::from(AppendError::Busy).into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers().get(header::RETRY_AFTER), Some(&HeaderValue::from_static("1")));
        for (kind, status) in
            [(Kind::FixRequest, 400), (Kind::TryAgain, 503), (Kind::Wait, 503), (Kind::TellHuman, 500)]
        {
            let error = StoreError::new(kind, "m");
            for response in [
                ApiError::from(AppendError::Store(error.clone())).into_response(),
                ApiError::from(ReadError::Store(error.clone())).into_response(),
                ApiError::from(TopicError::Store(error)).into_response(),
            ] {
                assert_eq!(response.status().as_u16(), status, "{kind:?}");
                assert_eq!(response.headers().contains_key(header::RETRY_AFTER), status == 503, "{kind:?}");
            }
        }
    }

    /// The conversions assert that a code's kind is that of the error.
    #[test]
    fn every_error_of_the_broker_has_a_code_of_its_kind() {
        let object = rawline_broker::ObjectError::Header;
        let errors = [
            ApiError::from(TopicError::Name { name: "/".into() }),
            ApiError::from(TopicError::NotFound { name: "t".into() }),
            ApiError::from(TopicError::Exists { name: "t".into() }),
            ApiError::from(TopicError::TooMany { what: "topics", limit: 1 }),
            ApiError::from(TopicError::NoPartition { name: "t".into(), number: 1, partitions: 1 }),
            ApiError::from(TopicError::FewerPartitions { name: "t".into(), partitions: 2, wanted: 1 }),
            ApiError::from(AppendError::TooLarge { bytes: 1, batches: 1 }),
            ApiError::from(AppendError::BatchTooLarge { bytes: 2, limit: 1 }),
            ApiError::from(AppendError::Busy),
            ApiError::from(AppendError::Closed),
            ApiError::from(AppendError::TopicDeleted { topic: "t".into() }),
            ApiError::from(AppendError::Failed { topic: "t".into(), reason: "r".into() }),
            ApiError::from(AppendError::NotOpen { found: 0 }),
            ApiError::from(OpenProducerError::Name { bytes: 0 }),
            ApiError::from(OpenProducerError::TooMany { limit: 1 }),
            ApiError::from(ReadError::Deleted { offset: 0, first_offset: 1 }),
            ApiError::from(ReadError::TopicDeleted { topic: "t".into() }),
            ApiError::from(ReadError::Damaged { first_offset: 0, error: object }),
            ApiError::from(ReadError::Lost { first_offset: 0, next_offset: 1, why: "w".into() }),
            ApiError::from(TrimError::AboveEnd { offset: 1, next_offset: 0 }),
            ApiError::from(TrimError::TopicDeleted { topic: "t".into() }),
        ];
        let statuses = errors.map(|error| error.into_response().status().as_u16());
        assert_eq!(
            statuses,
            [400, 404, 409, 507, 404, 409, 413, 413, 503, 503, 404, 500, 409, 400, 507, 404, 404, 500, 500, 404, 404]
        );
    }
}
