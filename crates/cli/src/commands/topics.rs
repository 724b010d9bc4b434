//! `rawline topics`: lists the topics of the broker.

use super::list::FormatArgs;
use super::table::{Align, table, terminal_width};
use super::{BrokerArgs, CommandError, print};
use clap::ValueEnum;
use indicatif::BinaryBytes;
use rawline_client::{Client, TopicInfo};
use std::cmp::Reverse;

const EXAMPLES: &str = "\
Examples:
  # List topics with their offsets and sizes
  rawline topics

  # List those whose names begin with dns-, or contain error
  rawline topics --prefix dns-
  rawline topics --contains error

  # List the largest topics first
  rawline topics --sort bytes

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

    /// List topics whose names contain TEXT
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    contains: String,

    /// Order of the topics
    #[arg(long, value_enum, value_name = "COLUMN", default_value_t)]
    sort: Sort,

    #[command(flatten)]
    output: FormatArgs,
}

/// Orders of topics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// By name
    #[default]
    Name,
    /// By number of partitions, the largest first
    Partitions,
    /// By number of records, the largest first
    Records,
    /// By size, the largest first
    Bytes,
    /// By latest commit, the newest first
    Commit,
}

impl Sort {
    /// Sorts topics that are in the order of their names, which stays among equal ones.
    fn sort(self, topics: &mut [TopicInfo]) {
        match self {
            Sort::Name => {}
            Sort::Partitions => topics.sort_by_key(|topic| Reverse(topic.partitions.get())),
            Sort::Records => topics.sort_by_key(|topic| Reverse(topic.records())),
            Sort::Bytes => topics.sort_by_key(|topic| Reverse(topic.bytes)),
            Sort::Commit => topics.sort_by_key(|topic| Reverse(topic.latest_commit_at)),
        }
    }
}

/// Prints the offsets, size and time of every topic: each page as it arrives, since there may be a million. Sorted ones
/// are printed at the end.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let client = args.broker.client_without_retries()?;
    let mut printer = Printer { is_json: args.output.is_json(), width: terminal_width(), has_printed: false };
    let mut sorted = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let mut page = client.topics_page(&args.prefix, after.as_deref()).await?;
        page.topics.retain(|topic| topic.name.contains(&args.contains));
        complete(&client, &mut page.topics).await;
        if args.sort == Sort::Name {
            printer.page(&page.topics)?;
        } else {
            sorted.append(&mut page.topics);
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    args.sort.sort(&mut sorted);
    printer.page(&sorted)?;
    printer.end(if args.prefix.is_empty() && args.contains.is_empty() {
        "no topics yet; `rawline produce TOPIC` creates one"
    } else {
        "no topic has such a name"
    })
}

/// The list has the offsets of partition 0 only: completes topics of several.
async fn complete(client: &Client, topics: &mut [TopicInfo]) {
    for topic in topics.iter_mut().filter(|topic| topic.partitions.get() > 1) {
        match client.topic(&topic.name).await {
            Ok(found) => *topic = found,
            // Deleted meanwhile, or a partition is damaged: the known part is shown.
            Err(error) => eprintln!("rawline: {error}"),
        }
    }
}

/// Prints pages of one JSON array or one table. Columns are aligned within a page.
struct Printer {
    is_json: bool,
    /// Of the terminal.
    width: Option<usize>,
    has_printed: bool,
}

impl Printer {
    fn page(&mut self, topics: &[TopicInfo]) -> Result<(), CommandError> {
        print(&self.text(topics)?)
    }

    fn end(&self, none: &str) -> Result<(), CommandError> {
        match (self.is_json, self.has_printed) {
            (true, true) => print("\n]\n"),
            (true, false) => print("[]\n"),
            (false, true) => Ok(()),
            (false, false) => {
                eprintln!("rawline: {none}");
                Ok(())
            }
        }
    }

    fn text(&mut self, topics: &[TopicInfo]) -> Result<String, CommandError> {
        if topics.is_empty() {
            return Ok(String::new());
        }
        let is_first = !std::mem::replace(&mut self.has_printed, true);
        if self.is_json {
            let page = serde_json::to_string_pretty(topics).map_err(|error| CommandError::Failed(error.to_string()))?;
            let items = page.trim_start_matches('[').trim_end_matches(']').trim_end();
            return Ok(format!("{}{items}", if is_first { "[" } else { "," }));
        }
        let page = topics_table(topics, self.width);
        Ok(match page.split_once('\n') {
            Some((_, rows)) if !is_first => rows.to_owned(),
            _ => page,
        })
    }
}

fn topics_table(topics: &[TopicInfo], width: Option<usize>) -> String {
    let head = [
        ("TOPIC", Align::Name),
        ("PARTITIONS", Align::Right),
        ("RECORDS", Align::Right),
        ("FIRST OFFSET", Align::Right),
        ("NEXT OFFSET", Align::Right),
        ("BYTES", Align::Right),
        ("LATEST COMMIT", Align::Left),
    ];
    table(head, topics.iter().map(row).collect(), width)
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
        let text = |is_json| {
            let mut printer = Printer { is_json, width: None, has_printed: false };
            // Of the second page, a filter has left none.
            let pages = [&all[..1], &[], &all[1..3], &all[3..], &[]];
            pages.map(|page| printer.text(page).unwrap()).concat()
        };
        assert_eq!(text(true) + "\n]\n", serde_json::to_string_pretty(&all).unwrap() + "\n");
        assert_eq!(text(false), topics_table(&all, None));
    }

    #[test]
    fn the_largest_and_the_newest_are_first() {
        let mut topics = [topic("a", 7, 12), topic("b", 9, 3), topic("c", 7, 13)];
        let order = |sort: Sort, topics: &mut [TopicInfo]| {
            topics.sort_by(|a, b| a.name.cmp(&b.name));
            sort.sort(topics);
            topics.iter().map(|topic| topic.name.as_str()).collect::<String>()
        };
        topics[1].latest_commit_at = None;
        topics[2].latest_commit_at = "2026-11-22T00:00:00Z".parse().ok();
        assert_eq!(order(Sort::Name, &mut topics), "abc");
        assert_eq!(order(Sort::Partitions, &mut topics), "abc");
        assert_eq!(order(Sort::Records, &mut topics), "bac");
        assert_eq!(order(Sort::Bytes, &mut topics), "cab");
        assert_eq!(order(Sort::Commit, &mut topics), "cab");
    }

    #[test]
    fn columns_are_aligned() {
        let four = TopicInfo { partitions: Partitions::new(4).unwrap(), ..topic("orders", 9, 13) };
        let text = topics_table(&[topic("dns", 53_615, 17 << 20), topic("größer\u{1b}[2J", 7, 12), four], None);
        let want = "\
TOPIC            PARTITIONS  RECORDS  FIRST OFFSET  NEXT OFFSET      BYTES  LATEST COMMIT
dns                       1    53615             0        53615  17.00 MiB  2026-11-21T09:07:46.489Z
größer\\u{1b}[2J           1        7             0            7       12 B  2026-11-21T09:07:46.489Z
orders                    4        9             -            -       13 B  2026-11-21T09:07:46.489Z
";
        assert_eq!(text, want);
    }
}
