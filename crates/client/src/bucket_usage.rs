//! What a broker has sent and received that may cost money, from its metrics.

use crate::client::Client;
use crate::error::ClientError;

/// Requests of a broker to its bucket since its start, which are zeros with another store, and its traffic with
/// clients.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BucketUsage {
    /// PUT requests.
    pub puts: u64,
    /// LIST requests: one for each page of a listing.
    pub lists: u64,
    /// GET requests.
    pub gets: u64,
    /// DELETE requests.
    pub deletes: u64,
    /// PUT requests that were sent a second time because the first was slow, part of `puts`.
    pub hedged_puts: u64,
    /// The same of GET requests.
    pub hedged_gets: u64,
    /// Bytes sent to the bucket.
    pub sent_bytes: u64,
    /// Bytes received from the bucket.
    pub received_bytes: u64,
    /// Bytes of the batches that were appended, to whatever store.
    pub appended_bytes: u64,
    /// Bytes sent to and received from clients and other brokers in its zone.
    pub same_zone_bytes: u64,
    /// The same in other zones.
    pub other_zone_bytes: u64,
    /// The same of clients that name no zone, or of a broker that has none.
    pub unknown_zone_bytes: u64,
    /// When the broker was started: seconds since the Unix epoch.
    pub started_at: f64,
}

impl BucketUsage {
    /// Reads it from metrics. The error is the series that is missing: the broker is older than it.
    pub fn parse(metrics: &str) -> Result<BucketUsage, String> {
        let sample = |series: String| {
            let value = metrics.lines().find_map(|line| line.strip_prefix(&series)?.strip_prefix(' ')?.parse().ok());
            value.ok_or(series)
        };
        let requests =
            |operation| sample(format!("rawline_bucket_requests_total{{operation=\"{operation}\"}}")).map(count);
        let hedges = |operation| sample(format!("rawline_bucket_hedges_total{{operation=\"{operation}\"}}")).map(count);
        let bytes = |series: &str| sample(series.to_owned()).map(count);
        let zone = |zone: &str| -> Result<u64, String> {
            let direction = |direction| bytes(&format!("rawline_zone_{direction}_bytes_total{{zone=\"{zone}\"}}"));
            Ok(direction("sent")? + direction("received")?)
        };
        let appended = |protocol| bytes(&format!("rawline_append_bytes_total{{protocol=\"{protocol}\"}}"));
        Ok(BucketUsage {
            puts: requests("put")?,
            lists: requests("list")?,
            gets: requests("get")?,
            deletes: requests("delete")?,
            hedged_puts: hedges("put")?,
            hedged_gets: hedges("get")?,
            sent_bytes: bytes("rawline_bucket_sent_bytes_total")?,
            received_bytes: bytes("rawline_bucket_received_bytes_total")?,
            appended_bytes: appended("http")? + appended("kafka")? + appended("zeek")?,
            same_zone_bytes: zone("same")?,
            other_zone_bytes: zone("other")?,
            unknown_zone_bytes: zone("unknown")?,
            started_at: sample("rawline_start_time_seconds".to_owned())?,
        })
    }

    /// Number of requests of every kind.
    pub fn requests(&self) -> u64 {
        self.puts + self.lists + self.gets + self.deletes
    }

    /// The requests since `before`; `None` if the broker was restarted since.
    pub fn since(&self, before: &BucketUsage) -> Option<BucketUsage> {
        (self.started_at == before.started_at).then(|| BucketUsage {
            puts: self.puts - before.puts,
            lists: self.lists - before.lists,
            gets: self.gets - before.gets,
            deletes: self.deletes - before.deletes,
            hedged_puts: self.hedged_puts - before.hedged_puts,
            hedged_gets: self.hedged_gets - before.hedged_gets,
            sent_bytes: self.sent_bytes - before.sent_bytes,
            received_bytes: self.received_bytes - before.received_bytes,
            appended_bytes: self.appended_bytes - before.appended_bytes,
            same_zone_bytes: self.same_zone_bytes - before.same_zone_bytes,
            other_zone_bytes: self.other_zone_bytes - before.other_zone_bytes,
            unknown_zone_bytes: self.unknown_zone_bytes - before.unknown_zone_bytes,
            started_at: self.started_at,
        })
    }
}

/// A counter's value; Prometheus' format knows floating-point numbers only.
fn count(value: f64) -> u64 {
    value as u64
}

impl Client {
    /// The broker's requests to its bucket, and its traffic with clients, since its start.
    pub async fn bucket_usage(&self) -> Result<BucketUsage, ClientError> {
        BucketUsage::parse(&self.metrics().await?)
            .map_err(|series| self.not_a_brokers(format!("it doesn't report {series}; update the broker")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRICS: &str = "# TYPE rawline_bucket_requests_total counter\n\
        rawline_bucket_requests_total{operation=\"put\"} 1000\n\
        rawline_bucket_requests_total{operation=\"list\"} 200\n\
        rawline_bucket_requests_total{operation=\"get\"} 5000\n\
        rawline_bucket_requests_total{operation=\"delete\"} 7\n\
        rawline_bucket_hedges_total{operation=\"put\"} 11\n\
        rawline_bucket_hedges_total{operation=\"get\"} 22\n\
        rawline_bucket_sent_bytes_total 3000\n\
        rawline_bucket_received_bytes_total 4000\n\
        rawline_append_bytes_total{protocol=\"http\"} 536870000\n\
        rawline_append_bytes_total{protocol=\"kafka\"} 900\n\
        rawline_append_bytes_total{protocol=\"zeek\"} 12\n\
        rawline_zone_sent_bytes_total{zone=\"unknown\"} 1\n\
        rawline_zone_sent_bytes_total{zone=\"same\"} 20\n\
        rawline_zone_sent_bytes_total{zone=\"other\"} 300\n\
        rawline_zone_received_bytes_total{zone=\"unknown\"} 4\n\
        rawline_zone_received_bytes_total{zone=\"same\"} 50\n\
        rawline_zone_received_bytes_total{zone=\"other\"} 600\n\
        rawline_start_time_seconds 100.5\n";

    #[test]
    fn every_counter_is_read() {
        let usage = BucketUsage::parse(METRICS).unwrap();
        assert_eq!([usage.puts, usage.lists, usage.gets, usage.deletes], [1000, 200, 5000, 7]);
        assert_eq!([usage.sent_bytes, usage.received_bytes, usage.appended_bytes], [3000, 4000, 1 << 29]);
        assert_eq!([usage.unknown_zone_bytes, usage.same_zone_bytes, usage.other_zone_bytes], [5, 70, 900]);
        assert_eq!((usage.hedged_puts, usage.hedged_gets), (11, 22));
        assert_eq!((usage.requests(), usage.started_at), (6207, 100.5));
    }

    #[test]
    fn what_is_counted_meanwhile_is_a_difference() {
        let before = BucketUsage::parse(METRICS).unwrap();
        let mut after = BucketUsage { puts: before.puts + 5, appended_bytes: before.appended_bytes + 9, ..before };
        let meanwhile = after.since(&before).unwrap();
        assert_eq!((meanwhile.requests(), meanwhile.puts, meanwhile.appended_bytes), (5, 5, 9));
        after.started_at += 1.0;
        assert_eq!(after.since(&before), None);
    }

    #[test]
    fn a_missing_series_is_named() {
        let missing = BucketUsage::parse("rawline_start_time_seconds 1\n").unwrap_err();
        assert_eq!(missing, "rawline_bucket_requests_total{operation=\"put\"}");
    }
}
