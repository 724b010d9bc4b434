//! What clients may do with topics, groups and the broker, if they ask: everything, as one bit for each operation.

/// Kafka's numbers of operations.
const READ: i32 = 3;
const WRITE: i32 = 4;
const CREATE: i32 = 5;
const DELETE: i32 = 6;
const ALTER: i32 = 7;
const DESCRIBE: i32 = 8;
const CLUSTER_ACTION: i32 = 9;
const DESCRIBE_CONFIGS: i32 = 10;
const ALTER_CONFIGS: i32 = 11;
const IDEMPOTENT_WRITE: i32 = 12;

/// The operations that topics know.
pub(super) const OF_TOPICS: i32 = 1 << READ
    | 1 << WRITE
    | 1 << CREATE
    | 1 << DELETE
    | 1 << ALTER
    | 1 << DESCRIBE
    | 1 << DESCRIBE_CONFIGS
    | 1 << ALTER_CONFIGS;

/// The operations that brokers know.
pub(super) const OF_BROKERS: i32 = 1 << CREATE
    | 1 << ALTER
    | 1 << DESCRIBE
    | 1 << CLUSTER_ACTION
    | 1 << DESCRIBE_CONFIGS
    | 1 << ALTER_CONFIGS
    | 1 << IDEMPOTENT_WRITE;

/// The operations that groups know.
pub(super) const OF_GROUPS: i32 = 1 << READ | 1 << DELETE | 1 << DESCRIBE | 1 << DESCRIBE_CONFIGS | 1 << ALTER_CONFIGS;

/// What a response says if the client hasn't asked.
const NOT_ASKED: i32 = i32::MIN;

/// The operations, if the client asks for them.
pub(super) fn asked(is_asked: bool, operations: i32) -> i32 {
    if is_asked { operations } else { NOT_ASKED }
}
