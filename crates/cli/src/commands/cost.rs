//! `rawline cost`: the price of a broker's requests to its bucket, and of what crosses zones.

use super::list::FormatArgs;
use super::{BrokerArgs, CommandError, parse_duration, print};
use clap::ValueEnum;
use indicatif::BinaryBytes;
use rawline_client::BucketUsage;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use std::time::{Duration, SystemTime};

const EXAMPLES: &str = "\
Examples:
  # Requests and dollars per day, from what the broker has sent since it was started
  rawline cost

  # From what it sends during the next minute
  rawline cost --for 1m

  # At the prices of S3 Express One Zone
  rawline cost --prices s3-express

  # The dollars per day alone
  rawline cost --json | jq .dollars_per_day";

/// Show the price of the broker's requests to its bucket, and of its traffic between zones
///
/// Prices are list prices, without traffic out of the region: of S3 Standard in us-east-1, or of Google Cloud Storage
/// Standard in us-east1 (2024). Both: $5.00 per million PUT and LIST requests, $0.40 per million GET requests, DELETE
/// requests are free. A GiB costs $0.023 a month in S3, $0.020 in Google Cloud Storage. S3 Express One Zone in
/// us-east-1 (2025): $1.13 per million PUT and LIST requests, $0.03 per million GET requests, $0.0032 per GiB sent,
/// $0.0006 per GiB received, $0.11 per GiB and month. Azure's prices depend on region and redundancy: take the counted
/// requests, and the prices of your account.
///
/// Traffic between zones costs $0.02 per GiB in AWS ($0.01 for each side), and $0.01 in Google Cloud. It is known of
/// brokers that run with --zone, and of clients that name their zone: ours with --zone, Kafka's consumers with
/// client.rack, and other brokers. Bytes of all others, such as Kafka's producers, are shown separately and have no
/// price here. Each broker counts its own.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Count requests during this time, such as 30s or 5m [default: since the broker was started]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,

    /// Price list
    #[arg(long, value_name = "SERVICE", value_enum, default_value_t)]
    prices: Prices,

    #[command(flatten)]
    output: FormatArgs,

    #[command(flatten)]
    broker: BrokerArgs,
}

/// List prices in dollars. DELETE requests are free.
struct PriceList {
    /// Of a million PUTs or LISTs.
    puts: f64,
    /// Of a million GETs.
    gets: f64,
    /// Of a GiB sent to the bucket.
    sent_gib: f64,
    /// Of a GiB received.
    received_gib: f64,
    /// Of a GiB for a month.
    stored_gib_month: f64,
    /// Of a GiB between two zones.
    zone_gib: f64,
}

/// The service whose list prices apply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Prices {
    /// Amazon S3
    #[default]
    S3,
    /// S3 Express One Zone
    S3Express,
    /// Google Cloud Storage
    Gs,
}

impl Prices {
    fn list(self) -> PriceList {
        let standard = PriceList {
            puts: 5.0,
            gets: 0.4,
            sent_gib: 0.0,
            received_gib: 0.0,
            stored_gib_month: 0.023,
            zone_gib: 0.02,
        };
        match self {
            Prices::S3 => standard,
            Prices::Gs => PriceList { stored_gib_month: 0.020, zone_gib: 0.01, ..standard },
            Prices::S3Express => PriceList {
                puts: 1.13,
                gets: 0.03,
                sent_gib: 0.0032,
                received_gib: 0.0006,
                stored_gib_month: 0.11,
                ..standard
            },
        }
    }
}

/// Minimum running time for an estimate per day: the start alone sends as many requests as some minutes do.
const SINCE_START_SECONDS_MIN: f64 = 600.0;

const DAY_SECONDS: f64 = 86_400.0;
const GIB: f64 = (1u64 << 30) as f64;

/// The requests during some time.
#[derive(Debug)]
struct Usage {
    seconds: f64,
    counted: BucketUsage,
    stored_bytes: u64,
    prices: Prices,
    /// Whether the time is long enough to estimate the price of a day.
    is_long: bool,
}

/// Prints requests and dollars.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let client = args.broker.client_without_retries()?;
    let before = client.bucket_usage().await?;
    let (seconds, counted) = match args.duration {
        None => (now()? - before.started_at, before),
        Some(duration) => {
            tokio::time::sleep(duration).await;
            let meanwhile = client.bucket_usage().await?.since(&before);
            let restarted =
                || CommandError::Failed("the broker was restarted meanwhile; run the command again".to_owned());
            (duration.as_secs_f64(), meanwhile.ok_or_else(restarted)?)
        }
    };
    let stored_bytes = client.topics().await?.iter().map(|topic| topic.bytes).sum();
    let is_long = args.duration.is_some() || seconds >= SINCE_START_SECONDS_MIN;
    let usage = Usage { seconds: seconds.max(1.0), counted, stored_bytes, prices: args.prices, is_long };
    if usage.counted.requests() == 0 && usage.counted.other_zone_bytes == 0 && !args.output.is_json() {
        eprintln!("rawline: the broker has sent no requests to a bucket; a directory costs nothing but its disk");
        return Ok(());
    }
    if !is_long {
        eprintln!(
            "rawline: the broker was started {seconds:.0} s ago, and its start sends additional requests: no costs per \
             day are estimated; run `rawline cost --for 1m`, or wait until it has run for 10 minutes"
        );
    }
    if args.output.is_json() {
        return print(&format!("{:#}\n", usage.json()));
    }
    print(&usage.table())
}

fn now() -> Result<f64, CommandError> {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since_epoch.map(|time| time.as_secs_f64()).map_err(|error| CommandError::Failed(error.to_string()))
}

impl Usage {
    /// Operations with their number of requests and their price.
    fn operations(&self) -> [(&'static str, f64, f64); 4] {
        let BucketUsage { puts, lists, gets, deletes, .. } = self.counted;
        let prices = self.prices.list();
        [
            ("put", puts as f64, prices.puts),
            ("list", lists as f64, prices.puts),
            ("get", gets as f64, prices.gets),
            ("delete", deletes as f64, 0.0),
        ]
    }

    /// `None` if the time was too short.
    fn per_day(&self, count: f64) -> Option<f64> {
        self.is_long.then(|| count / self.seconds * DAY_SECONDS)
    }

    /// `None` if nothing was appended.
    fn per_gib(&self, count: f64) -> Option<f64> {
        (self.counted.appended_bytes > 0).then(|| count / self.counted.appended_bytes as f64 * GIB)
    }

    /// Dollars for the requests that were counted, and for their bytes.
    fn dollars(&self) -> f64 {
        self.operations().iter().map(|(_, count, price)| count * price / 1e6).sum::<f64>() + self.traffic_dollars()
    }

    fn traffic_dollars(&self) -> f64 {
        let BucketUsage { sent_bytes, received_bytes, .. } = self.counted;
        let prices = self.prices.list();
        (sent_bytes as f64 * prices.sent_gib + received_bytes as f64 * prices.received_gib) / GIB
    }

    /// Dollars for the bytes that crossed zones.
    fn zone_dollars(&self) -> f64 {
        self.counted.other_zone_bytes as f64 / GIB * self.prices.list().zone_gib
    }

    fn stored_dollars_per_month(&self) -> f64 {
        self.stored_bytes as f64 / GIB * self.prices.list().stored_gib_month
    }

    fn json(&self) -> Value {
        let requests: Map<String, Value> = (self.operations().into_iter())
            .map(|(operation, count, _)| (operation.to_owned(), json!(count as u64)))
            .collect();
        json!({
            "seconds": self.seconds,
            "requests": requests,
            "hedges": {"put": self.counted.hedged_puts, "get": self.counted.hedged_gets},
            "sent_bytes": self.counted.sent_bytes,
            "received_bytes": self.counted.received_bytes,
            "appended_bytes": self.counted.appended_bytes,
            "stored_bytes": self.stored_bytes,
            "zone_bytes": {
                "same": self.counted.same_zone_bytes,
                "other": self.counted.other_zone_bytes,
                "unknown": self.counted.unknown_zone_bytes,
            },
            "zone_dollars_per_day": self.per_day(self.zone_dollars()),
            "dollars_per_day": self.per_day(self.dollars()),
            "dollars_per_gib": self.per_gib(self.dollars()),
            "stored_dollars_per_month": self.stored_dollars_per_month(),
        })
    }

    /// Aligned columns: names to the left, numbers to the right.
    fn table(&self) -> String {
        let or_dash = |number: Option<f64>, digits: usize| match number {
            Some(number) => format!("{number:.digits$}"),
            None => "-".to_owned(),
        };
        let mut text = String::new();
        // Writing to a string can't fail.
        let mut line = |name: &str, count: &str, day: &str, gib: &str, dollars: &str| {
            let _ = writeln!(text, "{name:<9} {count:>11} {day:>13} {gib:>13} {dollars:>13}");
        };
        line("REQUESTS", "COUNTED", "PER DAY", "PER GIB IN", "$ PER DAY");
        for (operation, count, price) in self.operations() {
            line(
                &operation.to_uppercase(),
                &format!("{count:.0}"),
                &or_dash(self.per_day(count), 0),
                &or_dash(self.per_gib(count), 1),
                &or_dash(self.per_day(count * price / 1e6), 4),
            );
        }
        let _ = write!(
            text,
            "\nrequests  ${} per day, ${} per GiB appended; counted for {:.0} s\n\
             hedges    {} PUTs, {} GETs: slow requests that were sent again, counted above\n\
             traffic   {} sent, {} received, {} appended: ${} per day of the above\n\
             zones     {} to and from other zones: ${} per day; {} within the zone, {} of clients without a zone\n\
             stored    {}: ${:.4} per month\n",
            or_dash(self.per_day(self.dollars()), 4),
            or_dash(self.per_gib(self.dollars()), 6),
            self.seconds,
            self.counted.hedged_puts,
            self.counted.hedged_gets,
            BinaryBytes(self.counted.sent_bytes),
            BinaryBytes(self.counted.received_bytes),
            BinaryBytes(self.counted.appended_bytes),
            or_dash(self.per_day(self.traffic_dollars()), 4),
            BinaryBytes(self.counted.other_zone_bytes),
            or_dash(self.per_day(self.zone_dollars()), 4),
            BinaryBytes(self.counted.same_zone_bytes),
            BinaryBytes(self.counted.unknown_zone_bytes),
            BinaryBytes(self.stored_bytes),
            self.stored_dollars_per_month(),
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_follow_from_counters() {
        let counted = BucketUsage {
            puts: 1000,
            lists: 200,
            gets: 5000,
            deletes: 7,
            hedged_puts: 3,
            appended_bytes: 1 << 29,
            ..BucketUsage::default()
        };
        let usage = Usage { seconds: 8640.0, counted, stored_bytes: 10 << 30, prices: Prices::S3, is_long: true };
        let json = usage.json();
        assert_eq!(json["requests"], json!({"put": 1000, "list": 200, "get": 5000, "delete": 7}));
        assert_eq!(json["hedges"], json!({"put": 3, "get": 0}));
        // 1,200 at $5 and 5,000 at $0.40 per million, in a tenth of a day and for half a GiB.
        assert!((json["dollars_per_day"].as_f64().unwrap() - 0.08).abs() < 1e-12, "{json}");
        assert!((json["dollars_per_gib"].as_f64().unwrap() - 0.016).abs() < 1e-12, "{json}");
        assert!((json["stored_dollars_per_month"].as_f64().unwrap() - 0.23).abs() < 1e-12, "{json}");
        let google = Usage { prices: Prices::Gs, ..usage };
        assert!((google.stored_dollars_per_month() - 0.20).abs() < 1e-12);
        assert_eq!(google.json()["dollars_per_day"], json["dollars_per_day"]);
        let table = google.table();
        assert!(table.contains("PUT              1000         10000        2000.0        0.0500"), "{table}");
        assert!(table.contains("requests  $0.0800 per day, $0.016000 per GiB appended; counted for 8640 s"), "{table}");
        assert!(table.contains("hedges    3 PUTs, 0 GETs"), "{table}");
        let counted = BucketUsage { sent_bytes: 1 << 30, received_bytes: 1 << 31, ..google.counted };
        let express = Usage { prices: Prices::S3Express, counted, ..google };
        // 1,200 at $1.13, 5,000 at $0.03 per million, a GiB sent and two received.
        let dollars = 10.0 * (0.001356 + 0.00015 + 0.0032 + 0.0012);
        assert!((express.json()["dollars_per_day"].as_f64().unwrap() - dollars).abs() < 1e-9, "{}", express.json());
        assert!(express.table().contains("appended: $0.0440 per day of the above"), "{}", express.table());
        assert!((express.stored_dollars_per_month() - 1.10).abs() < 1e-12);
        let counted = BucketUsage { other_zone_bytes: 1 << 30, same_zone_bytes: 3 << 20, ..express.counted };
        let crossing = Usage { prices: Prices::Gs, counted, ..express };
        assert!((crossing.json()["zone_dollars_per_day"].as_f64().unwrap() - 0.1).abs() < 1e-9, "{}", crossing.json());
        let zones =
            "zones     1.00 GiB to and from other zones: $0.1000 per day; 3.00 MiB within the zone, 0 B of clients";
        assert!(crossing.table().contains(zones), "{}", crossing.table());
        let express = Usage { prices: Prices::S3Express, ..crossing };
        assert!((express.json()["zone_dollars_per_day"].as_f64().unwrap() - 0.2).abs() < 1e-9, "{}", express.json());
        let short = Usage { is_long: false, ..express };
        assert_eq!(short.json()["dollars_per_day"], Value::Null);
        assert!(short.table().contains("requests  $- per day, $0.011812 per GiB"), "{}", short.table());
    }
}
