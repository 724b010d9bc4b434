//! The broker's errors as Kafka's, and those that end a connection.

use crate::convert::ConvertError;
use crate::convert::keys::KeysError;
use rawline_batch::record_batch::RecordBatchError;
use rawline_broker::pool::PoolError;
use rawline_broker::store::StoreError;
use rawline_broker::{
    AppendError, GroupError, Kind, OffsetError, ProducerError, ReadError, TopicError, TransactionError, TrimError,
};
use rawline_kafka::{ErrorCode, WireError};
use std::io;

/// Why a connection is closed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectionError {
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error("a request of more than {bytes_max} bytes, or of a negative number; is it a Kafka client that connects?")]
    Length { bytes_max: u64 },
    #[error(
        "a TLS handshake, for which the broker needs tls-cert and tls-key; without them, the client's \
         security.protocol is PLAINTEXT or SASL_PLAINTEXT"
    )]
    Tls,
    #[error("API {api}, version {version}, which this broker doesn't have; docs/kafka.md lists those that it has")]
    NotServed { api: i16, version: i16 },
    #[error("what a request has for more than {limit} partitions can't be stored")]
    Refused { limit: usize },
    /// As Kafka does: with acks=0 there is no response that could have the error.
    #[error("records with acks=0 for {topic}, partition {partition}, were refused (error {code}): {message}")]
    Unacknowledged { topic: String, partition: i32, code: i16, message: String },
    #[error("a request names more than {limit} topics; send several requests")]
    Topics { limit: usize },
    #[error(
        "{api} of a client that isn't authenticated; it needs security.protocol=SASL_PLAINTEXT (SASL_SSL with TLS) and \
         one of the API keys"
    )]
    NotAuthenticated { api: &'static str },
    #[error("no client authenticated within {wait:?}")]
    LoginTime { wait: std::time::Duration },
    /// The client got a response with the reason.
    #[error("a client could not authenticate: {reason}")]
    Login { reason: String },
    #[error("the key that the client has authenticated with was removed")]
    KeyRemoved,
    #[error(transparent)]
    Pool(#[from] PoolError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Why a request is refused for one partition or topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub code: ErrorCode,
    pub message: String,
}

impl Refusal {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Refusal {
        Refusal { code, message: message.into() }
    }
}

impl From<TopicError> for Refusal {
    fn from(error: TopicError) -> Refusal {
        let code = match &error {
            TopicError::Name { .. } | TopicError::Reserved { .. } => ErrorCode::InvalidTopicException,
            TopicError::NotFound { .. } | TopicError::NoPartition { .. } => ErrorCode::UnknownTopicOrPartition,
            TopicError::Exists { .. } => ErrorCode::TopicAlreadyExists,
            TopicError::FewerPartitions { .. } => ErrorCode::InvalidPartitions,
            TopicError::TooMany { .. } => ErrorCode::PolicyViolation,
            TopicError::Store(error) if error.kind == Kind::TellHuman => ErrorCode::KafkaStorageError,
            TopicError::Store(error) if error.kind == Kind::FixRequest => ErrorCode::InvalidRequest,
            TopicError::Store(_) => ErrorCode::LeaderNotAvailable,
        };
        Refusal::new(code, error.to_string())
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        TopicError::from(error).into()
    }
}

impl From<AppendError> for Refusal {
    fn from(error: AppendError) -> Refusal {
        let code = match &error {
            AppendError::TooLarge { .. } => ErrorCode::RecordListTooLarge,
            AppendError::BatchTooLarge { .. } => ErrorCode::MessageTooLarge,
            AppendError::Future { .. } => ErrorCode::InvalidTimestamp,
            AppendError::NoKeys => ErrorCode::InvalidRecord,
            AppendError::TopicDeleted { .. } => ErrorCode::UnknownTopicOrPartition,
            // As Kafka does. Clients take the code of duplicates for success, which only one with the same content is.
            AppendError::Gap { .. } | AppendError::Old { .. } | AppendError::Conflict { .. } => {
                ErrorCode::OutOfOrderSequenceNumber
            }
            AppendError::NoTransactions { .. } => ErrorCode::InvalidProducerIdMapping,
            AppendError::InTransaction { .. } => ErrorCode::InvalidTxnState,
            AppendError::Transactions { .. } => ErrorCode::TransactionAbortable,
            AppendError::Fenced { .. } | AppendError::NotOpen { .. } => ErrorCode::InvalidProducerEpoch,
            // Clients send it again, and whatever is wrong may have passed.
            AppendError::Busy | AppendError::Closed => ErrorCode::NotLeaderOrFollower,
            AppendError::Store(error) if error.kind != Kind::TellHuman => ErrorCode::NotLeaderOrFollower,
            AppendError::Failed { .. } | AppendError::Store(_) => ErrorCode::KafkaStorageError,
        };
        Refusal::new(code, error.to_string())
    }
}

impl From<KeysError> for Refusal {
    fn from(error: KeysError) -> Refusal {
        match error {
            KeysError::Missing(error) => error.into(),
            KeysError::Unreadable(ConvertError::Aborted(_)) => {
                Refusal::new(ErrorCode::NotLeaderOrFollower, error.to_string())
            }
            KeysError::Unreadable(_) => Refusal::new(ErrorCode::InvalidRecord, error.to_string()),
        }
    }
}

impl From<ReadError> for Refusal {
    fn from(error: ReadError) -> Refusal {
        let code = match &error {
            ReadError::Deleted { .. } => ErrorCode::OffsetOutOfRange,
            ReadError::TopicDeleted { .. } => ErrorCode::UnknownTopicOrPartition,
            // Not a storage error: after one, clients look for another leader again and again, and say nothing.
            ReadError::Damaged { .. } | ReadError::Lost { .. } => ErrorCode::CorruptMessage,
            ReadError::Store(error) if error.is_damaged => ErrorCode::CorruptMessage,
            ReadError::Store(error) if error.kind != Kind::TellHuman => ErrorCode::NotLeaderOrFollower,
            ReadError::Store(_) => ErrorCode::KafkaStorageError,
        };
        Refusal::new(code, error.to_string())
    }
}

impl From<TrimError> for Refusal {
    fn from(error: TrimError) -> Refusal {
        let code = match &error {
            TrimError::AboveEnd { .. } => ErrorCode::OffsetOutOfRange,
            TrimError::TopicDeleted { .. } => ErrorCode::UnknownTopicOrPartition,
            TrimError::Store(error) if error.kind != Kind::TellHuman => ErrorCode::NotLeaderOrFollower,
            TrimError::Store(_) => ErrorCode::KafkaStorageError,
        };
        Refusal::new(code, error.to_string())
    }
}

impl From<RecordBatchError> for Refusal {
    fn from(error: RecordBatchError) -> Refusal {
        let code = match &error {
            RecordBatchError::Checksum { .. } | RecordBatchError::Codec { .. } => ErrorCode::CorruptMessage,
            RecordBatchError::Truncated { .. } | RecordBatchError::Length { .. } => ErrorCode::CorruptMessage,
            RecordBatchError::Magic { .. } => ErrorCode::UnsupportedForMessageFormat,
            RecordBatchError::TooLarge { .. } => ErrorCode::MessageTooLarge,
            RecordBatchError::TooManyRecords { .. } => ErrorCode::RecordListTooLarge,
            _ => ErrorCode::InvalidRecord,
        };
        Refusal::new(code, error.to_string())
    }
}

impl From<ProducerError> for Refusal {
    fn from(error: ProducerError) -> Refusal {
        Refusal::new(ErrorCode::InvalidRecord, error.to_string())
    }
}

impl From<ConvertError> for Refusal {
    fn from(error: ConvertError) -> Refusal {
        match error {
            // Clients ask again.
            ConvertError::Pool(error) => Refusal::new(ErrorCode::NotLeaderOrFollower, error.to_string()),
            error => Refusal::new(ErrorCode::CorruptMessage, error.to_string()),
        }
    }
}

/// The code of an error about transactions.
pub(super) fn code_of_transaction(error: &TransactionError) -> ErrorCode {
    match error {
        TransactionError::Name { .. } => ErrorCode::InvalidRequest,
        TransactionError::Timeout { .. } => ErrorCode::InvalidTransactionTimeout,
        TransactionError::Fenced => ErrorCode::ProducerFenced,
        TransactionError::NotOpen => ErrorCode::InvalidProducerIdMapping,
        TransactionError::State { .. } => ErrorCode::InvalidTxnState,
        TransactionError::TooMany { .. } => ErrorCode::PolicyViolation,
        TransactionError::Regex { .. } => ErrorCode::InvalidRegularExpression,
        TransactionError::Store(error) if error.kind == Kind::FixRequest => ErrorCode::UnsupportedForMessageFormat,
        TransactionError::Store(error) if error.kind == Kind::TellHuman => ErrorCode::KafkaStorageError,
        // Clients ask again.
        TransactionError::Store(_) => ErrorCode::CoordinatorNotAvailable,
    }
}

/// The code of an error about a group's members.
pub(super) fn code_of_group(error: &GroupError) -> ErrorCode {
    match error {
        GroupError::NeedsId { .. } => ErrorCode::MemberIdRequired,
        GroupError::UnknownMember => ErrorCode::UnknownMemberId,
        GroupError::FencedInstance => ErrorCode::FencedInstanceId,
        GroupError::Generation { .. } => ErrorCode::IllegalGeneration,
        GroupError::Rebalancing => ErrorCode::RebalanceInProgress,
        GroupError::Name { .. } => ErrorCode::InvalidGroupId,
        GroupError::Protocol | GroupError::Protocols { .. } | GroupError::OtherProtocol => {
            ErrorCode::InconsistentGroupProtocol
        }
        GroupError::Session { .. } => ErrorCode::InvalidSessionTimeout,
        GroupError::Full { .. }
        | GroupError::Groups { .. }
        | GroupError::Memory { .. }
        | GroupError::Large { .. }
        | GroupError::Regexes { .. }
        | GroupError::Pairs { .. } => ErrorCode::GroupMaxSizeReached,
        GroupError::NotEmpty => ErrorCode::NonEmptyGroup,
        GroupError::Subscribed => ErrorCode::GroupSubscribedToTopic,
        // Clients look for the coordinator again, and retry.
        GroupError::Moved => ErrorCode::NotCoordinator,
        GroupError::NotStored { .. } | GroupError::Unconfirmed => ErrorCode::CoordinatorNotAvailable,
        GroupError::FencedEpoch { .. } => ErrorCode::FencedMemberEpoch,
        GroupError::StaleEpoch { .. } => ErrorCode::StaleMemberEpoch,
        GroupError::UnreleasedInstance => ErrorCode::UnreleasedInstanceId,
        GroupError::Regex { .. } => ErrorCode::InvalidRegularExpression,
    }
}

/// The code of an error about a committed offset.
pub(super) fn code_of_offset(error: &OffsetError) -> ErrorCode {
    match error {
        OffsetError::Group(error) => code_of_group(error),
        OffsetError::Topic(TopicError::NotFound { .. } | TopicError::NoPartition { .. } | TopicError::Name { .. }) => {
            ErrorCode::UnknownTopicOrPartition
        }
        OffsetError::Metadata { .. } => ErrorCode::OffsetMetadataTooLarge,
        OffsetError::Transaction(error) => code_of_transaction(error),
        OffsetError::NotCommitted => ErrorCode::GroupIdNotFound,
        OffsetError::TooMany(_) => ErrorCode::InvalidCommitOffsetSize,
        OffsetError::Store(error) if error.kind == Kind::FixRequest => ErrorCode::UnsupportedForMessageFormat,
        // Clients try again.
        OffsetError::Topic(_) | OffsetError::Store(_) => ErrorCode::CoordinatorNotAvailable,
    }
}
