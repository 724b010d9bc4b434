//! The one table of all metrics: names, kinds, labels and help, of the broker and of the servers around it.
//!
//! The text of `/metrics` and the table in `docs/operating.md` have these and no others.

/// How Prometheus treats a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number that only grows, from 0 at the start of the process.
    Counter,
    /// A number that rises and falls.
    Gauge,
    /// Counts of values by their range.
    Histogram,
}

impl Kind {
    /// Its name in the text.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// A metric: all series of one name.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// Its name, with the unit, and `_total` if it is a counter.
    pub name: &'static str,
    /// How Prometheus treats it.
    pub kind: Kind,
    /// The names of its labels, in the order in which their values are given.
    pub labels: &'static [&'static str],
    /// What it counts.
    pub help: &'static str,
}

macro_rules! families {
    ($($constant:ident: $kind:ident $name:literal [$($label:literal),*] $help:literal;)*) => {
        $(
            #[doc = $help]
            pub static $constant: Family =
                Family { name: $name, kind: Kind::$kind, labels: &[$($label),*], help: $help };
        )*

        /// All of them, in the order in which they are documented.
        pub static ALL: &[&Family] = &[$(&$constant),*];
    };
}

families! {
    BUILD_INFO: Gauge "rawline_build_info" ["version", "commit", "features"] "Always 1; the labels say what was built";
    START_TIME: Gauge "rawline_start_time_seconds" [] "When the broker began to serve, in seconds since the Unix epoch";

    APPEND_RECORDS: Counter "rawline_append_records_total" ["protocol"] "Records received in valid batches";
    APPEND_BYTES: Counter "rawline_append_bytes_total" ["protocol"] "Bytes of valid batches received";
    APPEND_ERRORS: Counter "rawline_append_errors_total" ["protocol"] "Append requests that were refused or failed";
    APPEND_SECONDS: Histogram "rawline_append_seconds" ["protocol"] "Time from an append request to its response";
    READ_RECORDS: Counter "rawline_read_records_total" ["protocol"] "Records returned by reads and subscriptions";
    READ_BYTES: Counter "rawline_read_bytes_total" ["protocol"] "Bytes returned by reads and subscriptions";
    READ_ERRORS: Counter "rawline_read_errors_total" ["protocol"] "Read requests that were refused or failed";
    READ_SECONDS: Histogram "rawline_read_seconds" ["protocol"]
        "Time from a read request to its response, with the wait for records";

    HTTP_REQUESTS: Counter "rawline_http_requests_total" ["verb", "status"] "HTTP requests";
    HTTP_SECONDS: Histogram "rawline_http_request_seconds" ["verb"]
        "Time from an HTTP request's head to its response's head";
    KAFKA_REQUESTS: Counter "rawline_kafka_requests_total" ["api"] "Requests of Kafka's protocol";
    KAFKA_ERRORS: Counter "rawline_kafka_errors_total" ["api", "error"]
        "Requests of Kafka's protocol with an error, by the first error in the response";
    KAFKA_SECONDS: Histogram "rawline_kafka_request_seconds" ["api"]
        "Time from a request of Kafka's protocol to its response, waits included";
    CONNECTIONS: Gauge "rawline_connections" ["protocol"] "Open connections";
    CONNECTIONS_MAX: Gauge "rawline_connections_max" [] "Maximum number of open connections of each listener";
    QUOTA_EXCEEDED: Counter "rawline_quota_exceeded_total" ["protocol", "operation"]
        "Requests that were refused or delayed by a quota of their key";

    SUBSCRIPTIONS: Gauge "rawline_subscriptions" [] "Open subscriptions";
    SUBSCRIPTION_SKIPPED: Counter "rawline_subscription_skipped_records_total" []
        "Records not sent to subscriptions: deleted before, or the subscriber was too slow";
    SUBSCRIPTION_SLOW: Counter "rawline_subscription_slow_total" []
        "Subscriptions ended because the subscriber was too slow";

    GROUPS: Gauge "rawline_groups" [] "Groups of consumers that this broker coordinates";
    GROUP_MEMBERS: Gauge "rawline_group_members" ["group"] "Members of a group of consumers";
    GROUP_LAG: Gauge "rawline_group_lag_records" ["group"] "Records that a group of consumers has not committed";
    GROUP_OLDEST: Gauge "rawline_group_oldest_timestamp_seconds" ["group"]
        "When the oldest record that a group has not committed was appended, in seconds since the Unix epoch";

    MEMORY: Gauge "rawline_memory_bytes" [] "Memory of connections and the buffer pool in bytes";
    POOL: Gauge "rawline_pool_bytes" [] "Size of the buffer pool in bytes";
    POOL_FREE: Gauge "rawline_pool_free_bytes" [] "Bytes of the buffer pool that are not reserved";

    TOPICS: Gauge "rawline_topics" [] "Topics of the storage";
    TOPICS_FAILED: Gauge "rawline_topics_failed" [] "Topics that refuse appends until a restart";
    COMMIT_RECORDS: Counter "rawline_commit_records_total" ["topic"] "Records stored, by topic";
    COMMIT_TOPIC_BYTES: Counter "rawline_commit_bytes_total" ["topic"] "Bytes stored, by topic";
    COMMIT_FAILURES: Counter "rawline_commit_failures_total" ["topic"]
        "Commits that failed in the store, by topic";
    COMMIT_BYTES: Histogram "rawline_commit_bytes" [] "Size of an object in bytes";
    COMMIT_SECONDS: Histogram "rawline_commit_seconds" []
        "From the first batch of a commit to the store's response";
    COMMIT_STALL_SECONDS: Histogram "rawline_commit_stall_seconds" ["during"]
        "Duration of commits of a millisecond or longer, by concurrent housekeeping";
    DELETED_RECORDS: Counter "rawline_deleted_records_total" [] "Records deleted from the fronts of topics";
    DELETED_BYTES: Counter "rawline_deleted_bytes_total" [] "Bytes of objects deleted from the fronts of topics";

    JOURNAL_COMMIT_TIME: Gauge "rawline_journal_commit_timestamp_seconds" ["journal"]
        "When the newest object was stored, by any broker, in seconds since the Unix epoch";
    JOURNAL_FAILED: Gauge "rawline_journal_failed" ["journal"] "1 if the journal takes no appends until a restart";
    JOURNAL_SNAPSHOTS: Counter "rawline_journal_snapshots_total" [] "Stored snapshots of journals";
    JOURNAL_MERGES: Counter "rawline_journal_merges_total" [] "Merges of journal objects";
    JOURNAL_MERGED_BYTES: Counter "rawline_journal_merged_bytes_total" [] "Bytes of objects that merges have made";
    JOURNAL_MERGES_ABANDONED: Counter "rawline_journal_merges_abandoned_total" [] "Abandoned merges";
    JOURNAL_DELETED_OBJECTS: Counter "rawline_journal_deleted_objects_total" []
        "Deleted journal objects and merged objects";

    BUCKET_REQUESTS: Counter "rawline_bucket_requests_total" ["operation"] "Requests sent to the bucket";
    BUCKET_HEDGES: Counter "rawline_bucket_hedges_total" ["operation"]
        "Slow requests to the bucket that were sent again";
    BUCKET_SENT: Counter "rawline_bucket_sent_bytes_total" [] "Bytes of requests to the bucket";
    BUCKET_RECEIVED: Counter "rawline_bucket_received_bytes_total" [] "Bytes of responses from the bucket";
    CACHE_READS: Counter "rawline_cache_reads_total" ["result"]
        "Reads of a bucket's objects, by whether the cache had all of their bytes";
    CACHE_FETCHES: Counter "rawline_cache_fetches_total" [] "Ranges of objects fetched from the bucket";
    CACHE_FETCHED: Counter "rawline_cache_fetched_bytes_total" [] "Bytes of these ranges";
    ZONE_SENT: Counter "rawline_zone_sent_bytes_total" ["zone"]
        "Bytes sent to clients and other brokers, by whether these are in the broker's zone";
    ZONE_RECEIVED: Counter "rawline_zone_received_bytes_total" ["zone"]
        "Bytes received from clients and other brokers, by whether these are in the broker's zone";

    PROCESS_CPU: Counter "process_cpu_seconds_total" [] "CPU time of the process, user and system";
    PROCESS_RESIDENT: Gauge "process_resident_memory_bytes" [] "Resident memory of the process";
    PROCESS_VIRTUAL: Gauge "process_virtual_memory_bytes" [] "Virtual memory of the process";
    PROCESS_START: Gauge "process_start_time_seconds" []
        "When the process started, in seconds since the Unix epoch";
    PROCESS_OPEN_FDS: Gauge "process_open_fds" [] "Open file descriptors";
    PROCESS_MAX_FDS: Gauge "process_max_fds" [] "Maximum number of open file descriptors";
    PROCESS_THREADS: Gauge "process_threads" [] "Threads of the process";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_follow_the_conventions() {
        let names: BTreeSet<&str> = ALL.iter().map(|family| family.name).collect();
        assert_eq!(names.len(), ALL.len(), "two metrics have one name");
        for Family { name, kind, help, .. } in ALL {
            assert_eq!(name.ends_with("_total"), *kind == Kind::Counter, "{name} is a {kind:?}");
            assert!(name.starts_with("rawline_") || name.starts_with("process_"), "{name}");
            let reserved = ["_count", "_sum", "_bucket"];
            assert!(!reserved.iter().any(|end| name.ends_with(end)), "{name} ends as a part of a histogram does");
            assert!(!help.is_empty() && !help.ends_with('.') && !help.contains(['\n', '\\']), "{help}");
        }
    }
}
