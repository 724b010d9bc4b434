//! The authorized operations of clients on topics, groups and the broker, as one bit for each operation.

use crate::access::{Grants, Operation};

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

/// The authorized operations on a topic.
pub(super) fn of_topic(grants: &Grants, name: &str) -> i32 {
    const SEES: i32 = 1 << DESCRIBE | 1 << DESCRIBE_CONFIGS;
    const ADMIN: i32 = SEES | 1 << CREATE | 1 << DELETE | 1 << ALTER | 1 << ALTER_CONFIGS;
    let granted = [
        (Operation::Read, SEES | 1 << READ),
        (Operation::Write, SEES | 1 << WRITE | 1 << CREATE),
        (Operation::Admin, ADMIN),
    ];
    granted.into_iter().filter(|(operation, _)| grants.allows(*operation, name)).fold(0, |all, (_, bits)| all | bits)
}

/// The authorized operations on the broker.
pub(super) fn of_broker(grants: &Grants) -> i32 {
    let monitor = 1 << DESCRIBE | 1 << CLUSTER_ACTION | 1 << DESCRIBE_CONFIGS | 1 << ALTER | 1 << ALTER_CONFIGS;
    let admin = if grants.admin.matches("") { 1 << CREATE } else { 0 };
    let write = if grants.write.is_empty() { 0 } else { 1 << IDEMPOTENT_WRITE };
    admin | write | if grants.monitor { monitor } else { 0 }
}

/// The operations that groups know.
pub(super) const OF_GROUPS: i32 = 1 << READ | 1 << DELETE | 1 << DESCRIBE | 1 << DESCRIBE_CONFIGS | 1 << ALTER_CONFIGS;

/// The value in a response if the client hasn't requested them.
const NOT_ASKED: i32 = i32::MIN;

/// The operations, if the client requests them.
pub(super) fn asked(is_asked: bool, operations: i32) -> i32 {
    if is_asked { operations } else { NOT_ASKED }
}
