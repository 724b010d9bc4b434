//! The codes of errors: each with its kind, from which the HTTP status follows where HTTP has no closer one.

use rawline_batch::{BatchError, Kind};

/// An error's stable name, its kind, and its HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// For programs; never changes.
    pub name: &'static str,
    /// How a caller can handle it.
    pub kind: Kind,
    /// The HTTP status.
    pub status: u16,
}

impl Code {
    /// The code of a batch that was refused.
    pub fn of_batch(error: &BatchError) -> Code {
        let status = if matches!(error, BatchError::Limit { .. }) { 413 } else { status_of(error.kind()) };
        Code { name: error.code(), kind: error.kind(), status }
    }
}

/// The status of an error of which nothing but its kind is known.
const fn status_of(kind: Kind) -> u16 {
    match kind {
        Kind::FixRequest => 400,
        Kind::TryAgain => 408,
        Kind::Wait => 503,
        Kind::TellHuman => 500,
    }
}

/// The kind of an error with this status: the only thing known of a proxy's response, and the kind of
/// every [`Code`] with the status.
pub const fn kind_of_status(status: u16) -> Kind {
    match status {
        429 | 503 => Kind::Wait,
        408 | 502 | 504 => Kind::TryAgain,
        500.. => Kind::TellHuman,
        _ => Kind::FixRequest,
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $constant:ident = $name:literal, $kind:ident $(, $status:literal)?;)*) => {
        $(
            $(#[$doc])*
            pub const $constant: Code = {
                #[allow(unused_mut, unused_assignments)] // Most codes have their kind's status.
                let mut status = status_of(Kind::$kind);
                $(status = $status;)?
                Code { name: $name, kind: Kind::$kind, status }
            };
        )*

        /// Every code but those of batches, which [`Code::of_batch`] gives.
        pub const ALL: &[Code] = &[$($constant),*];
    };
}

codes! {
    /// The query has no `topic-name`.
    TOPIC_NAME_MISSING = "topic_name_missing", FixRequest;
    /// Not a name that a topic can have.
    TOPIC_NAME = "topic_name", FixRequest;
    /// A required parameter is missing.
    QUERY_MISSING = "query_missing", FixRequest;
    /// Not a whole number.
    QUERY_NUMBER = "query_number", FixRequest;
    /// Not a duration.
    QUERY_DURATION = "query_duration", FixRequest;
    /// Not a time.
    QUERY_TIME = "query_time", FixRequest;
    /// An unknown or duplicate parameter, parameters that exclude each other, or a value that a
    /// parameter can't have.
    QUERY_INVALID = "query_invalid", FixRequest;
    /// A query of measurements that would take too long.
    QUERY_SLOW = "query_slow", FixRequest;
    /// A query of measurements whose answer would exceed the limits.
    MEASUREMENTS_TOO_MANY = "measurements_too_many", FixRequest;
    /// An unknown `Content-Type`.
    CONTENT_TYPE = "content_type", FixRequest;
    /// Not a batch of Kafka's that can be stored.
    RECORD_BATCH_INVALID = "record_batch_invalid", FixRequest;
    /// A batch of Kafka's whose checksum is wrong.
    RECORD_BATCH_DAMAGED = "record_batch_damaged", TryAgain;
    /// A record without a key, in a topic that is compacted by key.
    KEY_MISSING = "key_missing", FixRequest;
    /// A body of lines without a line.
    RECORDS_MISSING = "records_missing", FixRequest;
    /// `multipart/form-data` without a boundary.
    MULTIPART_BOUNDARY = "multipart_boundary", FixRequest;
    /// Not a multipart form, or a truncated one.
    MULTIPART_INVALID = "multipart_invalid", FixRequest;
    /// Other parts than `sizes` and `records`.
    MULTIPART_PARTS = "multipart_parts", FixRequest;
    /// The part `sizes` is not an array of sizes.
    SIZES_INVALID = "sizes_invalid", FixRequest;
    /// A topic's settings don't have their form.
    SETTINGS_INVALID = "settings_invalid", FixRequest;
    /// An exactly-once append whose batches aren't one producer's, in order.
    PRODUCER_INVALID = "producer_invalid", FixRequest;
    /// No name for a producer, or one that is too long.
    PRODUCER_NAME = "producer_name", FixRequest;
    /// The producer's append before this one isn't stored yet.
    SEQUENCE_GAP = "sequence_gap", TryAgain;
    /// The append was stored too long ago to tell its offsets.
    SEQUENCE_OLD = "sequence_old", FixRequest, 409;
    /// The append's number is stored with other records.
    SEQUENCE_CONFLICT = "sequence_conflict", FixRequest, 409;
    /// A newer instance of the producer was opened, or has appended.
    PRODUCER_FENCED = "producer_fenced", FixRequest, 409;
    /// The body ended early.
    BODY_CUT_OFF = "body_cut_off", FixRequest;
    /// The response doesn't fit the buffers in the requested form.
    ANSWER_TOO_LARGE = "answer_too_large", FixRequest;
    /// The store can't do what was requested.
    BAD_REQUEST = "bad_request", FixRequest;
    /// An HTTP/1.1 request without exactly one valid `Host`.
    HOST_MISSING = "host_missing", FixRequest;
    /// The path is for WebSockets, and the request doesn't open one.
    WEBSOCKET_NEEDED = "websocket_needed", FixRequest;
    /// No key, or a wrong one.
    UNAUTHORIZED = "unauthorized", FixRequest, 401;
    /// The request is for brokers only, or claims to be from a broker that this one doesn't know.
    PEER_UNKNOWN = "peer_unknown", FixRequest, 401;
    /// A web page sends a request to a broker that has no key.
    ORIGIN_REFUSED = "origin_refused", FixRequest, 403;
    /// A request to a broker without a key by a name that isn't this machine's own.
    HOST_REFUSED = "host_refused", FixRequest, 403;
    /// The key doesn't grant what the request needs.
    GRANT_MISSING = "grant_missing", FixRequest, 403;
    /// The topic doesn't exist, or was deleted.
    TOPIC_NOT_FOUND = "topic_not_found", FixRequest, 404;
    /// The topic has fewer partitions.
    PARTITION_NOT_FOUND = "partition_not_found", FixRequest, 404;
    /// The record isn't written yet, or is deleted.
    OFFSET_OUT_OF_BOUNDS = "offset_out_of_bounds", FixRequest, 404;
    /// No measurements match.
    MEASUREMENTS_NOT_FOUND = "measurements_not_found", FixRequest, 404;
    /// The broker can't query measurements.
    MEASUREMENTS_UNAVAILABLE = "measurements_unavailable", FixRequest, 404;
    /// Unknown path.
    PATH_NOT_FOUND = "path_not_found", FixRequest, 404;
    /// The path has other methods.
    METHOD_NOT_ALLOWED = "method_not_allowed", FixRequest, 405;
    /// No name for a group, or one that is too long.
    GROUP_NAME = "group_name", FixRequest;
    /// A commit or a join that doesn't have its form.
    GROUP_INVALID = "group_invalid", FixRequest;
    /// The group has neither members nor offsets, or not these.
    GROUP_NOT_FOUND = "group_not_found", FixRequest, 404;
    /// The group has no such member, or no longer.
    MEMBER_NOT_FOUND = "member_not_found", FixRequest, 404;
    /// Another member has taken the instance over.
    MEMBER_FENCED = "member_fenced", FixRequest, 409;
    /// The group divides its partitions anew, or has done so.
    GROUP_REBALANCING = "group_rebalancing", FixRequest, 409;
    /// The members of the group have no way to divide partitions in common.
    GROUP_STRATEGY = "group_strategy", FixRequest, 409;
    /// The group has members.
    GROUP_NOT_EMPTY = "group_not_empty", FixRequest, 409;
    /// The topic was to be created, and exists.
    TOPIC_EXISTS = "topic_exists", FixRequest, 409;
    /// The topic has more partitions already.
    PARTITIONS_FEWER = "partitions_fewer", FixRequest, 409;
    /// `Accept` names no known form.
    NOT_ACCEPTABLE = "not_acceptable", FixRequest, 406;
    /// A subscriber's lag is too large.
    SUBSCRIBER_SLOW = "subscriber_slow", TryAgain;
    /// The body arrives too slowly.
    BODY_TOO_SLOW = "body_too_slow", TryAgain;
    /// The body, or the batch made of it, is too large.
    BODY_TOO_LARGE = "body_too_large", FixRequest, 413;
    /// More records than a batch may have.
    RECORDS_TOO_MANY = "records_too_many", FixRequest, 413;
    /// More batches in one request than an object can hold.
    APPEND_TOO_LARGE = "append_too_large", FixRequest, 413;
    /// `Content-Encoding` is not supported.
    CONTENT_ENCODING = "content_encoding", FixRequest, 415;
    /// The store returned other bytes than were stored.
    OBJECT_DAMAGED = "object_damaged", TellHuman;
    /// The store doesn't have records any more that it had confirmed.
    RECORDS_LOST = "records_lost", TellHuman;
    /// The store failed permanently.
    STORE_FAILED = "store_failed", TellHuman;
    /// The topic has stopped after an internal error.
    TOPIC_FAILED = "topic_failed", TellHuman;
    /// A producer's compressed data can't be decompressed.
    UNPACK_FAILED = "unpack_failed", TellHuman;
    /// All buffers are in use.
    BUFFERS_EXHAUSTED = "buffers_exhausted", Wait;
    /// The key has used up its quota.
    QUOTA_EXCEEDED = "quota_exceeded", Wait, 429;
    /// The key was changed or removed while one of its requests was running.
    KEY_CHANGED = "key_changed", Wait;
    /// Another broker of the client's zone serves a subscription from now on.
    BROKER_NEARER = "broker_nearer", Wait;
    /// Too many pending appends to this topic.
    TOPIC_BUSY = "topic_busy", Wait;
    /// Groups have as many members as there can be.
    MEMBERS_TOO_MANY = "members_too_many", Wait;
    /// Too many requests wait for records.
    WAITS_TOO_MANY = "waits_too_many", Wait;
    /// As many searches run as may.
    SEARCHES_TOO_MANY = "searches_too_many", Wait;
    /// As many queries of measurements run as may.
    QUERIES_TOO_MANY = "queries_too_many", Wait;
    /// All connections are busy.
    CONNECTIONS_TOO_MANY = "connections_too_many", Wait;
    /// The store doesn't respond, or is full.
    STORE_UNAVAILABLE = "store_unavailable", Wait;
    /// The broker that appends for all went away while it had the request.
    OWNER_LOST = "owner_lost", Wait;
    /// The broker stores nothing, and reaches none that does.
    READ_ONLY = "read_only", Wait;
    /// The broker is shutting down.
    SHUTTING_DOWN = "shutting_down", Wait;
    /// The journal has its maximum number of named producers.
    PRODUCERS_TOO_MANY = "producers_too_many", TellHuman, 507;
    /// Groups have as many offsets as there can be.
    OFFSETS_TOO_MANY = "offsets_too_many", TellHuman, 507;
    /// The broker has its maximum number of topics or partitions.
    TOPICS_TOO_MANY = "topics_too_many", TellHuman, 507;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So a client that knows the status alone does the same as one that knows the code.
    #[test]
    fn a_status_tells_the_kind_of_every_code() {
        for code in ALL {
            assert_eq!(kind_of_status(code.status), code.kind, "{code:?}");
        }
        for error in [BatchError::Empty, BatchError::Limit { what: "records", found: 2, limit: 1 }] {
            let code = Code::of_batch(&error);
            assert_eq!(kind_of_status(code.status), code.kind, "{code:?}");
        }
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<&str> = ALL.iter().map(|code| code.name).collect();
        assert_eq!(names.len(), ALL.len());
    }
}
