//! `rawline topics`: lists the topics of the broker.

use super::table::{Align, table};
use super::{BrokerArgs, CommandError, print_list};
use indicatif::BinaryBytes;
use rawline_client::TopicInfo;

const EXAMPLES: &str = "\
Examples:
  # List topics with their offsets and sizes
  rawline topics

  # Print their names
  rawline topics --json | jq -r '.[].name'";

/// List topics
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    broker: BrokerArgs,

    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Prints the offsets, size and time of every topic.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let client = args.broker.client_without_retries()?;
    let mut topics = client.topics().await?;
    // The list has the offsets of partition 0 only.
    for topic in topics.iter_mut().filter(|topic| topic.partitions.get() > 1) {
        match client.topic(&topic.name).await {
            Ok(found) => *topic = found,
            // Deleted meanwhile, or a partition is damaged: the known part is shown.
            Err(error) => eprintln!("rawline: {error}"),
        }
    }
    print_list(&topics, args.json, "no topics yet; `rawline produce TOPIC` creates one", topics_table)
}

fn topics_table(topics: &[TopicInfo]) -> String {
    let head = [
        ("TOPIC", Align::Left),
        ("PARTITIONS", Align::Right),
        ("RECORDS", Align::Right),
        ("FIRST OFFSET", Align::Right),
        ("NEXT OFFSET", Align::Right),
        ("BYTES", Align::Right),
        ("LATEST COMMIT", Align::Left),
    ];
    table(head, topics.iter().map(row).collect())
}

fn row(topic: &TopicInfo) -> [String; 7] {
    let is_one = topic.partitions.get() == 1;
    let offset = |offset: u64| if is_one { offset.to_string() } else { "-".to_owned() };
    [
        // Producers choose the name: escapes keep it from controlling the terminal.
        topic.name.escape_debug().to_string(),
        topic.partitions.to_string(),
        topic.records().to_string(),
        // Each of several partitions has its own.
        offset(topic.first_offset),
        offset(topic.next_offset),
        BinaryBytes(topic.bytes).to_string(),
        topic.latest_commit_at.map_or("-".to_owned(), |time| format!("{time:.3}")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawline_client::{CleanupPolicy, Partitions};

    #[test]
    fn columns_are_aligned() {
        let topic = |name: &str, next_offset, bytes| TopicInfo {
            name: name.to_owned(),
            first_offset: 0,
            next_offset,
            partitions: Partitions::default(),
            offsets: Vec::new(),
            bytes,
            objects: 1,
            latest_commit_at: "2026-11-21T09:07:46.489227Z".parse().ok(),
            payload: rawline_client::Payload::Bytes,
            retain_hours: None,
            retain_bytes: None,
            cleanup_policy: CleanupPolicy::default(),
            tombstone_hours: None,
        };
        let four = TopicInfo { partitions: Partitions::new(4).unwrap(), ..topic("orders", 9, 13) };
        let text = topics_table(&[topic("dns", 53_615, 17 << 20), topic("größer\u{1b}[2J", 7, 12), four]);
        let want = "\
TOPIC            PARTITIONS  RECORDS  FIRST OFFSET  NEXT OFFSET      BYTES  LATEST COMMIT
dns                       1    53615             0        53615  17.00 MiB  2026-11-21T09:07:46.489Z
größer\\u{1b}[2J           1        7             0            7       12 B  2026-11-21T09:07:46.489Z
orders                    4        9             -            -       13 B  2026-11-21T09:07:46.489Z
";
        assert_eq!(text, want);
    }
}
