//! `rawline topic`: lists topics, shows, creates, deletes and trims them, changes their settings.

use super::confirm::{confirm, needs_terminal};
use super::list::FormatArgs;
use super::{BrokerArgs, CommandError, parse_bytes, print, topics};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Subcommand};
use indicatif::BinaryBytes;
use rawline_client::{
    CleanupPolicy, Client, ClientError, Extent, Hours, Partitions, Payload, Settings, TopicInfo, TopicPartition,
};
use rawline_contract::code;
use std::fmt::Write as _;
use std::num::NonZeroU64;

const EXAMPLES: &str = "\
Examples:
  # Show offsets, size and time of the newest commit
  rawline topic dns

  # Print the next offset
  rawline topic dns --json | jq .next_offset

  # Show a topic that has the name of one of these commands
  rawline topic show list

  # Declare that the records are structured values: GET /records shows them as JSON
  rawline topic set dns --payload value

  # Delete records that are older than a day, and the oldest while there are more than 10 GiB
  rawline topic set dns --retain-hours 24 --retain-bytes 10GiB

  # Keep records of any age again
  rawline topic set dns --retain-hours none

  # Delete the records before offset 5000; asks first
  rawline topic trim dns --before 5000

  # Delete the topic with all its records; asks first
  rawline topic delete dns";

const CREATE_EXAMPLES: &str = "\
Examples:
  # Create a topic without records
  rawline topic create dns

  # Create one whose records are structured values, and are deleted after a week
  rawline topic create dns --payload value --retain-hours 7d

  # Create one with four partitions
  rawline topic create dns --partitions 4";

const DELETE_EXAMPLES: &str = "\
Examples:
  # Delete a topic; asks first
  rawline topic delete dns

  # Delete it in a script
  rawline topic delete dns --yes

Exit codes: 0 deleted, 1 not deleted, 2 --yes is missing and no terminal can be asked.";

const SET_EXAMPLES: &str = "\
Examples:
  # Delete records that are older than a day
  rawline topic set dns --retain-hours 24

  # Delete the oldest records while there are more than 10 GiB, whatever their age
  rawline topic set dns --retain-hours none --retain-bytes 10GiB

  # Keep the newest record of each key only
  rawline topic set dns --cleanup-policy compact

  # Give the topic more partitions
  rawline topic set dns --partitions 8";

/// What `set` can change.
const CHANGES: [&str; 6] =
    ["payload", "retain_hours", "retain_bytes", "cleanup_policy", "tombstone_hours", "partitions"];

const TRIM_EXAMPLES: &str = "\
Examples:
  # Delete the records before offset 5000, which becomes the first offset; asks first
  rawline topic trim dns --before 5000

  # Delete all records of a topic with one partition, without a question
  rawline topic trim dns --before $(rawline topic dns --json | jq .next_offset) --yes

  # Delete the records before offset 700 of partition 2
  rawline topic trim dns --partition 2 --before 700

Exit codes: 0 deleted, 1 not deleted, 2 --yes is missing and no terminal can be asked.";

/// List topics, show or create one, change its settings, delete it or its oldest records
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    /// Topic to show
    #[arg(value_name = "TOPIC", required = true)]
    topic: Option<String>,

    #[command(flatten)]
    output: FormatArgs,

    #[command(flatten)]
    broker: BrokerArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List topics; the same as `rawline topics`
    List(topics::Args),

    /// Show a topic, whatever its name
    Show {
        /// Topic to show
        #[arg(value_name = "TOPIC")]
        topic: String,

        #[command(flatten)]
        output: FormatArgs,

        #[command(flatten)]
        broker: BrokerArgs,
    },

    /// Create a topic; fails if it exists
    ///
    /// Works also if the broker was started with --no-create-topics.
    #[command(after_help = CREATE_EXAMPLES)]
    Create {
        /// Topic to create
        #[arg(value_name = "TOPIC")]
        topic: String,

        #[command(flatten)]
        values: Values,

        #[command(flatten)]
        broker: BrokerArgs,
    },

    /// Delete a topic with all its records and settings, permanently
    ///
    /// A topic that is created with the same name later begins at offset 0.
    #[command(after_help = DELETE_EXAMPLES)]
    Delete {
        /// Topic to delete
        #[arg(value_name = "TOPIC")]
        topic: String,

        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,

        #[command(flatten)]
        broker: BrokerArgs,
    },

    /// Change a topic's settings, and create the topic if it doesn't exist
    ///
    /// Settings that aren't mentioned stay as they are. Old records are deleted a commit at a time, about once a
    /// minute; the newest commit is always kept.
    #[command(
        after_help = SET_EXAMPLES,
        group = ArgGroup::new("changes").args(CHANGES).required(true).multiple(true)
    )]
    Set {
        /// Topic to change
        #[arg(value_name = "TOPIC")]
        topic: String,

        #[command(flatten)]
        values: Values,

        #[command(flatten)]
        broker: BrokerArgs,
    },

    /// Delete the records before an offset, permanently
    #[command(after_help = TRIM_EXAMPLES)]
    Trim {
        /// Topic to trim
        #[arg(value_name = "TOPIC")]
        topic: String,

        /// First offset to keep; at most the partition's next offset
        #[arg(long, value_name = "OFFSET")]
        before: u64,

        /// Partition to trim
        #[arg(long, value_name = "N", default_value_t = 0)]
        partition: u32,

        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,

        #[command(flatten)]
        broker: BrokerArgs,
    },
}

#[derive(Debug, clap::Args)]
struct Values {
    /// Type of the records, for programs that display them: any bytes, or structured values
    #[arg(long, value_name = "TYPE", value_parser = payload())]
    payload: Option<Payload>,

    /// Maximum age of records in hours, such as 24 or 0.5, or with a unit, such as 90m or 7d; none is unlimited
    #[arg(long, value_name = "HOURS|TIME|none", value_parser = parse_hours)]
    retain_hours: Option<Limit<Hours>>,

    /// Maximum size of the topic in bytes, such as 10GiB; none is unlimited
    #[arg(long, value_name = "BYTES|none", value_parser = parse_retain_bytes)]
    retain_bytes: Option<Limit<NonZeroU64>>,

    /// Cleanup of old records: delete those beyond the limits, compact (keep the newest of each key), or both
    #[arg(long, value_name = "POLICY", value_parser = cleanup_policy())]
    cleanup_policy: Option<CleanupPolicy>,

    /// Time in hours to keep tombstones after they are compacted, such as 24, or with a unit, such as 7d; none is a day
    #[arg(long, value_name = "HOURS|TIME|none", value_parser = parse_hours)]
    tombstone_hours: Option<Limit<Hours>>,

    /// Number of partitions, from 1 to 1024; it can only grow
    #[arg(long, value_name = "N")]
    partitions: Option<Partitions>,
}

/// A retention limit.
#[derive(Debug, Clone, Copy)]
enum Limit<T> {
    None,
    At(T),
}

impl<T> Limit<T> {
    fn parse(text: &str, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<Limit<T>, String> {
        if text == "none" { Ok(Limit::None) } else { parse(text).map(Limit::At) }
    }

    fn value(self) -> Option<T> {
        match self {
            Limit::None => None,
            Limit::At(limit) => Some(limit),
        }
    }
}

fn parse_hours(text: &str) -> Result<Limit<Hours>, String> {
    Limit::parse(text, |text| match rawline_time::parse_length(text) {
        Ok(length_ms) => Hours::new(length_ms as f64 / 3.6e6).ok_or_else(|| format!("{text} is too short")),
        Err(_) => text.parse().map_err(|error| format!("{error}, or with a unit, such as 90m or 7d; or none")),
    })
}

fn parse_retain_bytes(text: &str) -> Result<Limit<NonZeroU64>, String> {
    Limit::parse(text, |text| {
        NonZeroU64::new(parse_bytes(text)?).ok_or_else(|| "give a number of bytes greater than 0, or none".to_owned())
    })
}

impl Values {
    fn settings(self) -> Settings {
        Settings {
            payload: self.payload.map(Some),
            retain_hours: self.retain_hours.map(Limit::value),
            retain_bytes: self.retain_bytes.map(Limit::value),
            cleanup_policy: self.cleanup_policy.map(Some),
            tombstone_hours: self.tombstone_hours.map(Limit::value),
            partitions: self.partitions,
        }
    }
}

fn payload() -> impl TypedValueParser<Value = Payload> {
    PossibleValuesParser::new(["bytes", "value"]).try_map(|name| name.parse())
}

fn cleanup_policy() -> impl TypedValueParser<Value = CleanupPolicy> {
    PossibleValuesParser::new(["delete", "compact", "compact,delete"]).try_map(|name| name.parse())
}

/// The lines on compaction, of a topic that is compacted.
fn compaction(topic: &TopicInfo) -> String {
    if topic.cleanup_policy == CleanupPolicy::Delete {
        return String::new();
    }
    let tombstone_hours = topic.tombstone_hours.map_or("24".to_owned(), |hours| hours.to_string());
    format!("cleanup policy {}\ntombstone h.   {tombstone_hours}\n", topic.cleanup_policy)
}

/// Deletes a topic, after confirmation where a person can give it.
async fn delete(client: &Client, topic: &str, yes: bool) -> Result<(), CommandError> {
    if !yes {
        needs_terminal(&format!("the deletion of topic {topic:?}"))?;
        let question = match client.topic(topic).await {
            Ok(found) => question(&found),
            // A damaged topic can be deleted.
            Err(ClientError::Refused { code, message, .. }) if code == code::STORE_FAILED.name => {
                format!("Topic {} can't be used ({message}). Delete it permanently?", topic.escape_debug())
            }
            Err(error) => return Err(error.into()),
        };
        confirm(&question, &format!("topic {topic:?} was not deleted"))?;
    }
    client.delete_topic(topic).await?;
    print(&format!("deleted topic {}\n", topic.escape_debug()))
}

/// Deletes the records before an offset, after confirmation where a person can give it.
async fn trim(
    client: &Client,
    partition: TopicPartition<'_>,
    before: u64,
    yes: bool,
) -> Result<TopicInfo, CommandError> {
    let TopicPartition { topic, partition: number } = partition;
    if !yes {
        needs_terminal(&format!("the deletion of records of topic {topic:?}"))?;
        let Extent { first_offset, next_offset } = partition.extent(&client.topic(topic).await?.extents())?;
        // An offset after the end is refused by the broker, and one before the first record changes nothing.
        if before > first_offset && before <= next_offset {
            let records = before - first_offset;
            let name = topic.escape_debug();
            let question = format!(
                "Delete the {records} records with the offsets {first_offset}..{before} of topic {name}, partition \
                 {number}, permanently?"
            );
            confirm(&question, &format!("topic {topic:?}: nothing was deleted"))?;
        }
    }
    client.trim(partition, before).await?;
    Ok(client.topic(topic).await?)
}

fn question(topic: &TopicInfo) -> String {
    format!(
        "Delete topic {} with {} records ({}), permanently?",
        topic.name.escape_debug(),
        topic.records(),
        BinaryBytes(topic.bytes)
    )
}

/// Runs the command. Of a topic that was changed, it prints the description.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let topic = match args.command {
        Some(Command::List(args)) => return topics::run(args).await,
        Some(Command::Show { topic, output, broker }) => return show(&topic, output, &broker).await,
        Some(Command::Create { topic, values, broker }) => {
            broker.client_without_retries()?.create_topic(&topic, &values.settings()).await?
        }
        Some(Command::Delete { topic, yes, broker }) => {
            return delete(&broker.client_without_retries()?, &topic, yes).await;
        }
        Some(Command::Set { topic, values, broker }) => {
            broker.client_without_retries()?.set_topic(&topic, &values.settings()).await?
        }
        Some(Command::Trim { topic, before, partition, yes, broker }) => {
            trim(&broker.client_without_retries()?, (topic.as_str(), partition).into(), before, yes).await?
        }
        None => {
            let Some(topic) = args.topic else { unreachable!("clap requires the name of a topic") };
            return show(&topic, args.output, &args.broker).await;
        }
    };
    print(&description(&topic))
}

async fn show(topic: &str, output: FormatArgs, broker: &BrokerArgs) -> Result<(), CommandError> {
    let topic = broker.client_without_retries()?.topic(topic).await?;
    output.print_item(&topic, |topic, _| description(topic))
}

/// The topic's offsets, size, time and settings.
fn description(topic: &TopicInfo) -> String {
    let no_limit = || "no limit".to_owned();
    let retain_hours = topic.retain_hours.map_or_else(no_limit, |hours| hours.to_string());
    let retain_bytes = topic.retain_bytes.map_or_else(no_limit, |bytes| format!("{bytes} ({})", BinaryBytes(bytes)));
    let time = topic.latest_commit_at.map_or("-".to_owned(), |time| time.to_string());
    format!(
        "name           {}\n\
         records        {}\n\
         {}\
         bytes          {} ({})\n\
         objects        {}\n\
         latest commit  {time}\n\
         payload        {}\n\
         retain hours   {retain_hours}\n\
         retain bytes   {retain_bytes}\n\
         {}",
        topic.name.escape_debug(),
        topic.records(),
        offsets(topic),
        topic.bytes,
        BinaryBytes(topic.bytes),
        topic.objects,
        topic.payload,
        compaction(topic),
    )
}

/// The lines about a topic's offsets: those of each partition if there are several.
fn offsets(topic: &TopicInfo) -> String {
    let extents = topic.extents();
    if let [extent] = extents.as_slice() {
        return format!("first offset   {}\nnext offset    {}\n", extent.first_offset, extent.next_offset);
    }
    let mut lines = format!("partitions     {}\n", topic.partitions);
    for (number, extent) in extents.iter().enumerate() {
        // Writing to a string can't fail.
        let _ = writeln!(lines, "  {number:<12} offsets {} to {}", extent.first_offset, extent.next_offset);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_may_have_another_unit() {
        for (text, hours) in [("24", 24.0), ("0.5", 0.5), ("1d", 24.0), ("90m", 1.5), ("1d12h", 36.0)] {
            let parsed = parse_hours(text).unwrap().value();
            assert_eq!(parsed, Hours::new(hours), "{text}");
        }
        assert_eq!(parse_hours("none").unwrap().value(), None);
        for wrong in ["0", "-1", "1x", "0h", "", "d"] {
            let error = parse_hours(wrong).unwrap_err();
            assert!(error.contains("7d") && error.contains("none"), "{wrong}: {error}");
        }
    }

    #[test]
    fn each_partition_has_its_offsets() {
        let text = |json: &str| offsets(&serde_json::from_str(json).unwrap());
        let one = r#"{"name":"t","first_offset":2,"next_offset":5}"#;
        assert_eq!(text(one), "first offset   2\nnext offset    5\n");
        let two = r#"{"name":"t","first_offset":2,"next_offset":5,"partitions":2,
            "offsets":[{"first_offset":2,"next_offset":5},{"first_offset":0,"next_offset":17}]}"#;
        assert_eq!(text(two), "partitions     2\n  0            offsets 2 to 5\n  1            offsets 0 to 17\n");
    }
}
