//! Kafka's numbers of errors.

macro_rules! error_codes {
    ($($(#[$about:meta])* $name:ident = $number:literal,)*) => {
        /// An error as clients get it. Those that the broker never answers with aren't here.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(i16)]
        pub enum ErrorCode {
            $($(#[$about])* $name = $number,)*
        }

        impl ErrorCode {
            /// All of them.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$name),*];
        }
    };
}

error_codes! {
    /// The broker failed, and doesn't know why.
    UnknownServerError = -1,
    /// No error.
    None = 0,
    /// The partition doesn't have this offset.
    OffsetOutOfRange = 1,
    /// A batch that fails its checks.
    CorruptMessage = 2,
    /// There is no such topic or partition.
    UnknownTopicOrPartition = 3,
    /// The size of a fetch is negative.
    InvalidFetchSize = 4,
    /// The partition has no leader yet; the client asks again.
    LeaderNotAvailable = 5,
    /// Another broker has the partition; the client requests metadata again.
    NotLeaderOrFollower = 6,
    /// The time that the client allowed is over.
    RequestTimedOut = 7,
    /// A broker or replica that isn't available.
    ReplicaNotAvailable = 9,
    /// A batch is larger than the topic allows.
    MessageTooLarge = 10,
    /// The metadata of an offset is too long.
    OffsetMetadataTooLarge = 12,
    /// The connection broke before the response.
    NetworkException = 13,
    /// Groups are being loaded; the client asks again.
    CoordinatorLoadInProgress = 14,
    /// No broker coordinates this group yet; the client asks again.
    CoordinatorNotAvailable = 15,
    /// Another broker coordinates this group.
    NotCoordinator = 16,
    /// A topic's name that isn't allowed, or a topic that may not be used like this.
    InvalidTopicException = 17,
    /// A batch is larger than a segment.
    RecordListTooLarge = 18,
    /// An `acks` other than -1, 0 and 1.
    InvalidRequiredAcks = 21,
    /// The member's generation isn't the group's.
    IllegalGeneration = 22,
    /// The member has no protocol in common with the group.
    InconsistentGroupProtocol = 23,
    /// A group's name that isn't allowed.
    InvalidGroupId = 24,
    /// The group doesn't know this member.
    UnknownMemberId = 25,
    /// The session's timeout is too short or too long.
    InvalidSessionTimeout = 26,
    /// The group rebalances; the member joins again.
    RebalanceInProgress = 27,
    /// An offset can't be committed: its request is too large.
    InvalidCommitOffsetSize = 28,
    /// The client may not use this topic.
    TopicAuthorizationFailed = 29,
    /// The client may not use this group.
    GroupAuthorizationFailed = 30,
    /// The client may not do this.
    ClusterAuthorizationFailed = 31,
    /// A batch's timestamp isn't allowed.
    InvalidTimestamp = 32,
    /// The broker doesn't have this mechanism.
    UnsupportedSaslMechanism = 33,
    /// A request of authentication at the wrong time.
    IllegalSaslState = 34,
    /// The broker doesn't have this version of the API.
    UnsupportedVersion = 35,
    /// The topic exists.
    TopicAlreadyExists = 36,
    /// A number of partitions that isn't allowed.
    InvalidPartitions = 37,
    /// A number of replicas that isn't allowed.
    InvalidReplicationFactor = 38,
    /// An assignment of replicas that isn't allowed.
    InvalidReplicaAssignment = 39,
    /// A setting that isn't allowed.
    InvalidConfig = 40,
    /// This broker isn't the controller.
    NotController = 41,
    /// A request whose fields contradict each other.
    InvalidRequest = 42,
    /// Batches of an older format than the topic takes.
    UnsupportedForMessageFormat = 43,
    /// The broker's rules forbid it.
    PolicyViolation = 44,
    /// A producer's sequence number isn't the next one.
    OutOfOrderSequenceNumber = 45,
    /// A producer's batch that the partition has.
    DuplicateSequenceNumber = 46,
    /// A newer producer has the same id.
    InvalidProducerEpoch = 47,
    /// The transaction isn't in a state that allows this.
    InvalidTxnState = 48,
    /// The producer's id isn't the transaction's.
    InvalidProducerIdMapping = 49,
    /// The transaction's timeout is longer than the broker allows.
    InvalidTransactionTimeout = 50,
    /// Another request of the transaction is in flight.
    ConcurrentTransactions = 51,
    /// A newer coordinator has taken over.
    TransactionCoordinatorFenced = 52,
    /// The client may not use this transaction.
    TransactionalIdAuthorizationFailed = 53,
    /// The broker has no rules of access.
    SecurityDisabled = 54,
    /// The operation wasn't tried, because of another one's error.
    OperationNotAttempted = 55,
    /// Storage failed.
    KafkaStorageError = 56,
    /// The broker has no such directory.
    LogDirNotFound = 57,
    /// A wrong user or password.
    SaslAuthenticationFailed = 58,
    /// The partition doesn't know the producer any more.
    UnknownProducerId = 59,
    /// The group has members.
    NonEmptyGroup = 68,
    /// There is no such group.
    GroupIdNotFound = 69,
    /// The broker doesn't have this session.
    FetchSessionIdNotFound = 70,
    /// The session's epoch isn't the next one.
    InvalidFetchSessionEpoch = 71,
    /// Topics can't be deleted here.
    TopicDeletionDisabled = 73,
    /// The client's epoch of the leader is older than the broker's.
    FencedLeaderEpoch = 74,
    /// The client's epoch of the leader is newer than the broker's.
    UnknownLeaderEpoch = 75,
    /// A codec that isn't known.
    UnsupportedCompressionType = 76,
    /// The broker isn't the one that the client took it for.
    StaleBrokerEpoch = 77,
    /// The offset isn't available yet; the client asks again.
    OffsetNotAvailable = 78,
    /// A new member has to join with the id that it just got.
    MemberIdRequired = 79,
    /// No preferred leader is available.
    PreferredLeaderNotAvailable = 80,
    /// The group has as many members as it may have.
    GroupMaxSizeReached = 81,
    /// Another member has the same instance id.
    FencedInstanceId = 82,
    /// No partition moves.
    NoReassignmentInProgress = 85,
    /// The group reads this topic.
    GroupSubscribedToTopic = 86,
    /// A batch that can't be stored: its header contradicts itself, or a record lacks its key.
    InvalidRecord = 87,
    /// A transaction's offsets aren't stable yet; the client asks again.
    UnstableOffsetCommit = 88,
    /// The client has used its quota.
    ThrottlingQuotaExceeded = 89,
    /// A newer producer has taken over.
    ProducerFenced = 90,
    /// There is no such resource.
    ResourceNotFound = 91,
    /// The resource exists.
    DuplicateResource = 92,
    /// There is no topic of this id.
    UnknownTopicId = 100,
    /// The topic's id and name contradict each other.
    InconsistentTopicId = 103,
    /// There is no such transaction.
    TransactionalIdNotFound = 105,
    /// A topic's id differs from the session's.
    FetchSessionTopicIdError = 106,
    /// The member's epoch isn't the group's; it joins again.
    FencedMemberEpoch = 110,
    /// Another member, which hasn't left, has the same instance id.
    UnreleasedInstanceId = 111,
    /// The broker doesn't know this way to assign partitions.
    UnsupportedAssignor = 112,
    /// The member's epoch is older than the group's; it asks again.
    StaleMemberEpoch = 113,
    /// The request went to the wrong kind of broker.
    MismatchedEndpointType = 114,
    /// The broker doesn't have this kind of endpoint.
    UnsupportedEndpointType = 115,
    /// The transaction has to be aborted.
    TransactionAbortable = 120,
    /// A regular expression that can't be read.
    InvalidRegularExpression = 128,
}

impl From<ErrorCode> for i16 {
    fn from(code: ErrorCode) -> i16 {
        code as i16
    }
}
