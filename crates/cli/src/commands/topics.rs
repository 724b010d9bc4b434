//! `rawline topics`: lists the topics of the broker.

use super::table::{Align, table};
use super::{BrokerArgs, CommandError, print, print_list};
use indicatif::BinaryBytes;
use rawline_client::TopicInfo;

const EXAMPLES: &str = "\
Examples:
  # List topics with their offsets and sizes
  rawline topics

  # List those whose names begin with dns-
  rawline topics --prefix dns-

  # Print their names
  rawline topics --json | jq -r '.[].name'";

/// List topics
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    broker: BrokerArgs,

    /// List topics whose names begin with PREFIX
    #[arg(long, value_name = "PREFIX", default_value = "", hide_default_value = true)]
    prefix: String,

    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

/// Prints the offsets, size and time of every topic: each page as it arrives, since there may be a million.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let client = args.broker.client_without_retries()?;
    let mut after: Option<String> = None;
    loop {
        let mut page = client.topics_page(&args.prefix, after.as_deref()).await?;
        // The list has the offsets of partition 0 only.
        for topic in page.topics.iter_mut().filter(|topic| topic.partitions.get() > 1) {
            match client.topic(&topic.name).await {
                Ok(found) => *topic = found,
                // Deleted meanwhile, or a partition is damaged: the known part is shown.
                Err(error) => eprintln!("rawline: {error}"),
            }
        }
        let (is_first, is_last) = (after.is_none(), page.next.is_none());
        if is_first && is_last {
            return print_list(&page.topics, args.json, none(&args.prefix), topics_table);
        }
        print(&if args.json {
            json_page(&page.topics, is_first, is_last)?
        } else {
            table_page(&page.topics, is_first)
        })?;
        after = page.next;
        if is_last {
            return Ok(());
        }
    }
}

fn none(prefix: &str) -> &'static str {
    if prefix.is_empty() { "no topics yet; `rawline produce TOPIC` creates one" } else { "no topic begins with this" }
}

/// A page of one JSON array.
fn json_page(topics: &[TopicInfo], is_first: bool, is_last: bool) -> Result<String, CommandError> {
    let page = serde_json::to_string_pretty(topics).map_err(|error| CommandError::Failed(error.to_string()))?;
    let items = page.trim_start_matches('[').trim_end_matches(']').trim_end();
    let (begin, end) = (if is_first { "[" } else { "" }, if is_last { "\n]\n" } else { "," });
    Ok(format!("{begin}{items}{end}"))
}

/// A page of one table. Columns are aligned within a page.
fn table_page(topics: &[TopicInfo], is_first: bool) -> String {
    let page = topics_table(topics);
    match page.split_once('\n') {
        Some((_, rows)) if !is_first => rows.to_owned(),
        _ => page,
    }
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

    fn topic(name: &str, next_offset: u64, bytes: u64) -> TopicInfo {
        TopicInfo {
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
        }
    }

    #[test]
    fn pages_are_one_array_and_one_table() {
        let all = ["a", "b", "c", "d"].map(|name| topic(name, 7, 12));
        let pages = [&all[..1], &all[1..3], &all[3..]];
        let parts = (0..).zip(pages).map(|(number, page)| {
            let json = json_page(page, number == 0, number == 2).unwrap();
            (json, table_page(page, number == 0))
        });
        let (json, table): (Vec<String>, Vec<String>) = parts.unzip();
        assert_eq!(json.concat(), serde_json::to_string_pretty(&all).unwrap() + "\n");
        assert_eq!(table.concat(), topics_table(&all));
    }

    #[test]
    fn columns_are_aligned() {
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
