//! The alert rules, as `deploy/alerts.yaml` has them.

use std::fmt::Write;

/// A rule.
pub struct Alert {
    pub name: &'static str,
    /// Fires where this has a result.
    pub expression: &'static str,
    /// For this long.
    pub lasts: &'static str,
    pub severity: &'static str,
    /// What it means.
    pub summary: &'static str,
}

/// Needs a person now.
const CRITICAL: &str = "critical";
/// Needs a person today.
const WARNING: &str = "warning";

/// The rules. The section "Alerts" of `docs/operating.md` says what to do first for each of them.
pub const ALERTS: [Alert; 16] = [
    Alert {
        name: "RawlineDown",
        expression: "up{job=\"rawline\"} == 0",
        lasts: "2m",
        severity: CRITICAL,
        summary: "{{ $labels.instance }} doesn't respond to Prometheus.",
    },
    Alert {
        name: "RawlineRestarts",
        expression: "changes(rawline_start_time_seconds[30m]) > 2",
        lasts: "0m",
        severity: WARNING,
        summary: "{{ $labels.instance }} has started {{ $value }} times within 30 minutes.",
    },
    Alert {
        name: "RawlineJournalFailed",
        expression: "rawline_journal_failed == 1 or rawline_topics_failed > 0",
        lasts: "0m",
        severity: CRITICAL,
        summary: "A journal of {{ $labels.instance }} takes no appends until a restart.",
    },
    Alert {
        name: "RawlineCommitsFail",
        expression: "sum by (job, instance) (rate(rawline_commit_failures_total[5m])) > 0",
        lasts: "2m",
        severity: CRITICAL,
        summary: "Commits of {{ $labels.instance }} fail in the store.",
    },
    Alert {
        name: "RawlineCommitsSlow",
        expression: "histogram_quantile(0.99, \
                     sum by (job, instance, le) (rate(rawline_commit_seconds_bucket[5m]))) > 2",
        lasts: "10m",
        severity: WARNING,
        summary: "One commit in a hundred of {{ $labels.instance }} takes {{ $value | humanizeDuration }}.",
    },
    Alert {
        name: "RawlineRequestsFail",
        expression: "sum by (job, instance, verb) (rate(rawline_http_requests_total{status=~\"5xx|503\"}[5m])) \
                     / sum by (job, instance, verb) (rate(rawline_http_requests_total[5m])) > 0.01",
        lasts: "5m",
        severity: CRITICAL,
        summary: "{{ $value | humanizePercentage }} of {{ $labels.verb }} requests fail at {{ $labels.instance }}.",
    },
    Alert {
        name: "RawlineKafkaRequestsFail",
        expression: "sum by (job, instance, api, error) (rate(rawline_kafka_errors_total{error=~\"CORRUPT_MESSAGE|\
                     KAFKA_STORAGE_ERROR|NETWORK_EXCEPTION|REQUEST_TIMED_OUT|UNKNOWN_SERVER_ERROR\"}[5m])) > 0.1",
        lasts: "5m",
        severity: WARNING,
        summary: "{{ $labels.instance }} responds to {{ $labels.api }} with {{ $labels.error }}.",
    },
    Alert {
        name: "RawlineGroupStopped",
        expression: "rawline_group_members{group!=\"(other)\"} == 0 \
                     and time() - rawline_group_oldest_timestamp_seconds > 60",
        lasts: "2m",
        severity: WARNING,
        summary: "The group {{ $labels.group }} has no members, and records wait for it.",
    },
    Alert {
        name: "RawlineGroupBehind",
        expression: "time() - rawline_group_oldest_timestamp_seconds > 300 \
                     and rawline_group_members{group!=\"(other)\"} > 0",
        lasts: "10m",
        severity: WARNING,
        summary: "The group {{ $labels.group }} has a lag of {{ $value | humanizeDuration }}.",
    },
    Alert {
        name: "RawlinePoolExhausted",
        expression: "rawline_pool_free_bytes / rawline_pool_bytes < 0.05",
        lasts: "5m",
        severity: WARNING,
        summary: "The buffer pool of {{ $labels.instance }} is nearly used up.",
    },
    Alert {
        name: "RawlineConnectionsNearMax",
        expression: "sum by (job, instance) (rawline_connections{protocol!=\"kafka\"}) \
                     / on (job, instance) rawline_connections_max > 0.9 \
                     or sum by (job, instance) (rawline_connections{protocol=\"kafka\"}) \
                     / on (job, instance) rawline_connections_max > 0.9",
        lasts: "10m",
        severity: WARNING,
        summary: "{{ $value | humanizePercentage }} of the connections of {{ $labels.instance }} are open.",
    },
    Alert {
        name: "RawlineFilesNearMax",
        expression: "process_open_fds / process_max_fds > 0.9 and on (job, instance) rawline_build_info",
        lasts: "10m",
        severity: WARNING,
        summary: "{{ $labels.instance }} has {{ $value | humanizePercentage }} of its file descriptors open.",
    },
    Alert {
        name: "RawlineQuotaExceeded",
        expression: "sum by (job, instance, protocol, operation) (rate(rawline_quota_exceeded_total[10m])) > 1",
        lasts: "15m",
        severity: WARNING,
        summary: "Clients of {{ $labels.instance }} wait for the quota of their key ({{ $labels.operation }}).",
    },
    Alert {
        name: "RawlineSubscribersSlow",
        expression: "sum by (job, instance) (increase(rawline_subscription_slow_total[15m])) > 3",
        lasts: "0m",
        severity: WARNING,
        summary: "{{ $labels.instance }} ended {{ $value }} subscriptions, whose subscribers were too slow.",
    },
    Alert {
        name: "RawlineCacheTooSmall",
        expression: "sum by (job, instance) (rate(rawline_cache_reads_total{result=\"miss\"}[30m])) \
                     / sum by (job, instance) (rate(rawline_cache_reads_total[30m])) > 0.5 \
                     and sum by (job, instance) (rate(rawline_cache_fetched_bytes_total[30m])) > 10e6",
        lasts: "1h",
        severity: WARNING,
        summary: "{{ $value | humanizePercentage }} of the reads of {{ $labels.instance }} need the bucket.",
    },
    Alert {
        name: "RawlineTrafficBetweenZones",
        expression: "sum by (job, instance) (rate(rawline_zone_sent_bytes_total{zone=\"other\"}[1h])) \
                     / sum by (job, instance) (rate(rawline_zone_sent_bytes_total[1h])) > 0.5 \
                     and sum by (job, instance) (rate(rawline_zone_sent_bytes_total{zone=\"other\"}[1h])) > 1e6",
        lasts: "1h",
        severity: WARNING,
        summary: "{{ $value | humanizePercentage }} of the bytes that {{ $labels.instance }} sends cross zones.",
    },
];

/// The runbook's entry of an alert, as a link to a heading.
pub fn runbook(name: &str) -> String {
    format!("docs/operating.md#{}", name.to_lowercase())
}

/// The file.
pub fn file() -> String {
    let mut text = "# Alert rules for Prometheus. Made by `make monitoring`; the rules are in\n\
                    # crates/cli/tests/http/monitoring/alerts.rs, and docs/operating.md says what to do first.\n\
                    groups:\n  - name: rawline\n    rules:\n"
        .to_owned();
    for Alert { name, expression, lasts, severity, summary } in &ALERTS {
        let quoted = |text: &str| serde_json::to_string(text).unwrap();
        let (expression, summary, runbook) = (quoted(expression), quoted(summary), quoted(&runbook(name)));
        write!(
            text,
            "      - alert: {name}\n        expr: {expression}\n        for: {lasts}\n        labels:\n          \
             severity: {severity}\n        annotations:\n          summary: {summary}\n          \
             runbook: {runbook}\n"
        )
        .unwrap();
    }
    text
}
