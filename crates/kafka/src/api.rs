//! The table of APIs: numbers, names and versions.

use crate::read::WireError;
use std::ops::RangeInclusive;

/// The table's entry of one API.
struct Row {
    name: &'static str,
    reads: RangeInclusive<i16>,
    advertises: Option<RangeInclusive<i16>>,
    flexible_from: Option<i16>,
}

macro_rules! apis {
    ($($name:ident = $key:literal, reads $reads:expr, advertises $advertises:expr, flexible from $flexible:expr;)*) => {
        /// The APIs, with Kafka's numbers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(i16)]
        pub enum Api {
            $(#[doc = concat!("Number ", stringify!($key), ".")] $name = $key,)*
        }

        impl Api {
            /// All of them, in the order of the table.
            pub const ALL: &[Api] = &[$(Api::$name),*];

            fn row(self) -> Row {
                match self {
                    $(Api::$name => Row {
                        name: stringify!($name),
                        reads: $reads,
                        advertises: $advertises,
                        flexible_from: $flexible,
                    },)*
                }
            }
        }
    };
}

// Clients take the newest version that both sides know. Older versions of transactions' requests are read and not
// advertised, so that they can be refused; those of EndTxn are advertised, since engines end with them what their
// checkpoints have. Produce is advertised from 0 on, though nothing below 3 is read: librdkafka sends no compressed
// batches otherwise.
apis! {
    Produce = 0, reads 3..=13, advertises Some(0..=13), flexible from Some(9);
    Fetch = 1, reads 4..=18, advertises Some(4..=18), flexible from Some(12);
    ListOffsets = 2, reads 1..=10, advertises Some(1..=10), flexible from Some(6);
    Metadata = 3, reads 0..=13, advertises Some(0..=13), flexible from Some(9);
    OffsetCommit = 8, reads 2..=10, advertises Some(2..=10), flexible from Some(8);
    OffsetFetch = 9, reads 1..=10, advertises Some(1..=10), flexible from Some(6);
    FindCoordinator = 10, reads 0..=6, advertises Some(0..=6), flexible from Some(3);
    JoinGroup = 11, reads 0..=9, advertises Some(0..=9), flexible from Some(6);
    Heartbeat = 12, reads 0..=4, advertises Some(0..=4), flexible from Some(4);
    LeaveGroup = 13, reads 0..=5, advertises Some(0..=5), flexible from Some(4);
    SyncGroup = 14, reads 0..=5, advertises Some(0..=5), flexible from Some(4);
    DescribeGroups = 15, reads 0..=6, advertises Some(0..=6), flexible from Some(5);
    ListGroups = 16, reads 0..=5, advertises Some(0..=5), flexible from Some(3);
    SaslHandshake = 17, reads 0..=1, advertises Some(0..=1), flexible from None;
    ApiVersions = 18, reads 0..=4, advertises Some(0..=4), flexible from Some(3);
    CreateTopics = 19, reads 2..=7, advertises Some(2..=7), flexible from Some(5);
    DeleteTopics = 20, reads 1..=6, advertises Some(1..=6), flexible from Some(4);
    DeleteRecords = 21, reads 0..=2, advertises Some(0..=2), flexible from Some(2);
    InitProducerId = 22, reads 0..=5, advertises Some(0..=5), flexible from Some(2);
    OffsetForLeaderEpoch = 23, reads 2..=4, advertises Some(2..=4), flexible from Some(4);
    AddPartitionsToTxn = 24, reads 0..=3, advertises None, flexible from Some(3);
    EndTxn = 26, reads 0..=5, advertises Some(0..=5), flexible from Some(3);
    TxnOffsetCommit = 28, reads 0..=5, advertises Some(5..=5), flexible from Some(3);
    DescribeAcls = 29, reads 1..=3, advertises Some(1..=3), flexible from Some(2);
    CreateAcls = 30, reads 1..=3, advertises Some(1..=3), flexible from Some(2);
    DeleteAcls = 31, reads 1..=3, advertises Some(1..=3), flexible from Some(2);
    DescribeConfigs = 32, reads 1..=4, advertises Some(1..=4), flexible from Some(4);
    AlterConfigs = 33, reads 0..=2, advertises Some(0..=2), flexible from Some(2);
    DescribeLogDirs = 35, reads 1..=4, advertises Some(1..=4), flexible from Some(2);
    SaslAuthenticate = 36, reads 0..=2, advertises Some(0..=2), flexible from Some(2);
    CreatePartitions = 37, reads 0..=3, advertises Some(0..=3), flexible from Some(2);
    DeleteGroups = 42, reads 0..=2, advertises Some(0..=2), flexible from Some(2);
    IncrementalAlterConfigs = 44, reads 0..=1, advertises Some(0..=1), flexible from Some(1);
    ListPartitionReassignments = 46, reads 0..=0, advertises Some(0..=0), flexible from Some(0);
    OffsetDelete = 47, reads 0..=0, advertises Some(0..=0), flexible from None;
    DescribeCluster = 60, reads 0..=2, advertises Some(0..=2), flexible from Some(0);
    DescribeProducers = 61, reads 0..=0, advertises Some(0..=0), flexible from Some(0);
    DescribeTransactions = 65, reads 0..=0, advertises Some(0..=0), flexible from Some(0);
    ListTransactions = 66, reads 0..=2, advertises Some(0..=2), flexible from Some(0);
    ConsumerGroupHeartbeat = 68, reads 0..=1, advertises Some(0..=1), flexible from Some(0);
    ConsumerGroupDescribe = 69, reads 0..=1, advertises Some(0..=1), flexible from Some(0);
    ListConfigResources = 74, reads 0..=1, advertises Some(0..=1), flexible from Some(0);
    DescribeTopicPartitions = 75, reads 0..=0, advertises Some(0..=0), flexible from Some(0);
}

impl Api {
    /// The API of this number, unless the broker doesn't know it.
    pub fn from_key(key: i16) -> Option<Api> {
        Api::ALL.iter().copied().find(|api| api.key() == key)
    }

    /// Its place in [`Api::ALL`].
    pub fn place(self) -> usize {
        match Api::ALL.iter().position(|api| *api == self) {
            Some(place) => place,
            None => unreachable!("{self:?} is in the table"),
        }
    }

    /// Its number.
    pub fn key(self) -> i16 {
        self as i16
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The versions that this crate reads and writes.
    pub fn versions(self) -> RangeInclusive<i16> {
        self.row().reads
    }

    /// The versions that clients see; `None` if they see none of it.
    pub fn advertised(self) -> Option<RangeInclusive<i16>> {
        self.row().advertises
    }

    /// Whether the fields of this version are flexible, and with them the request's header, of versions that this crate
    /// doesn't read too.
    pub fn is_flexible(self, version: i16) -> bool {
        self.row().flexible_from.is_some_and(|first| version >= first)
    }

    /// Whether the header of a response of this version is flexible. That of ApiVersions never is: its client doesn't
    /// know the broker's versions yet.
    pub fn has_flexible_response_header(self, version: i16) -> bool {
        self != Api::ApiVersions && self.is_flexible(version)
    }

    /// Fails unless this version is read.
    pub(crate) fn check(self, version: i16) -> Result<(), WireError> {
        let versions = self.versions();
        if versions.contains(&version) {
            return Ok(());
        }
        Err(WireError::Version { api: self.key(), version, min: *versions.start(), max: *versions.end() })
    }
}
