//! `rawline group`: lists, shows, resets and deletes groups of consumers.

use super::confirm::{confirm, needs_terminal};
use super::list::FormatArgs;
use super::start::{Begin, parse_begin};
use super::table::{Align, table, terminal_width};
use super::{BrokerArgs, CommandError, parse_time, print};
use clap::{ArgGroup, Subcommand, ValueEnum};
use jiff::Timestamp;
use rawline_client::{
    Client, ClientError, CommitOffset, GroupInfo, GroupOffset, GroupPartition, GroupSummary, MemberInfo, Start,
    TopicPartition,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

const EXAMPLES: &str = "\
Examples:
  # List the groups
  rawline group list

  # Show the members of a group, its offsets and its lag
  rawline group show nightly

  # Print how many records a group has still to read
  rawline group show nightly --json | jq '[.offsets[].lag] | add'

  # Let a group without members read a topic from its beginning again; asks first
  rawline group reset nightly dns --offset earliest

  # Delete a group's offsets; asks first
  rawline group delete nightly";

const SHOW_EXAMPLES: &str = "\
Examples:
  # Show the members of a group, its offsets and its lag
  rawline group show nightly

  # Show the partitions with the largest lag first
  rawline group show nightly --sort lag

  # Print the members' names
  rawline group show nightly --json | jq -r '.members[].member'";

const LIST_EXAMPLES: &str = "\
Examples:
  # List the groups
  rawline group list

  # Those that lag most are first
  rawline group list --sort lag

  # Print their names
  rawline group list --json | jq -r '.[].name'";

const RESET_EXAMPLES: &str = "\
Examples:
  # Read a topic from its beginning again; asks first
  rawline group reset nightly dns --offset earliest

  # Skip the existing records, without a question
  rawline group reset nightly dns --offset latest --yes

  # Begin with the newest 10 records of each partition
  rawline group reset nightly dns --offset -10

  # Begin with the first record appended at or after a time
  rawline group reset nightly dns --since 2026-11-21T09:00:00Z

  # Set the offset in partition 2
  rawline group reset nightly dns --partition 2 --offset 5000

The members of the group have to be stopped first.

Exit codes: 0 reset, 1 not reset, 2 --yes is missing and no terminal can be asked.";

const DELETE_EXAMPLES: &str = "\
Examples:
  # Delete a group; asks first
  rawline group delete nightly

  # Delete its offsets in one topic, without a question
  rawline group delete nightly --topic dns --yes

Exit codes: 0 deleted, 1 not deleted, 2 --yes is missing and no terminal can be asked.";

/// List consumer groups, show their members and offsets, reset or delete their offsets
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the groups
    #[command(after_help = LIST_EXAMPLES)]
    List {
        /// Order of the groups
        #[arg(long, value_enum, value_name = "COLUMN", default_value_t)]
        sort: ListSort,

        #[command(flatten)]
        output: FormatArgs,

        #[command(flatten)]
        broker: BrokerArgs,
    },

    /// Show the members of a group, and its offset and lag in each partition
    #[command(after_help = SHOW_EXAMPLES)]
    Show {
        /// Group to show
        #[arg(value_name = "GROUP")]
        group: String,

        /// Order of the partitions
        #[arg(long, value_enum, value_name = "COLUMN", default_value_t)]
        sort: Sort,

        #[command(flatten)]
        output: FormatArgs,

        #[command(flatten)]
        broker: BrokerArgs,
    },

    /// Set the offsets of a group that has no members
    #[command(
        after_help = RESET_EXAMPLES,
        group = ArgGroup::new("to").args(["offset", "since"]).required(true)
    )]
    Reset {
        /// Group to reset; created if it doesn't exist
        #[arg(value_name = "GROUP")]
        group: String,

        /// Topic whose offsets are set
        #[arg(value_name = "TOPIC")]
        topic: String,

        /// Partition to reset; repeatable [default: all]
        #[arg(long = "partition", value_name = "N")]
        partitions: Vec<u32>,

        /// Offset of the next record; -N counts from the end, earliest is the oldest record, latest the next one to be
        /// appended
        #[arg(long, value_name = "N|-N|earliest|latest", value_parser = parse_begin, allow_hyphen_values = true)]
        offset: Option<Begin>,

        /// Begin at the first record appended at or after this time: 2026-11-21T09:00:00Z, 2026-11-21 (UTC), Unix
        /// seconds or milliseconds, or -1h
        #[arg(long, value_name = "TIME", value_parser = parse_time, allow_hyphen_values = true)]
        since: Option<Timestamp>,

        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,

        #[command(flatten)]
        broker: BrokerArgs,
    },

    /// Delete the offsets of a group that has no members
    #[command(after_help = DELETE_EXAMPLES)]
    Delete {
        /// Group to delete
        #[arg(value_name = "GROUP")]
        group: String,

        /// Delete only its offsets in this topic
        #[arg(long, value_name = "TOPIC")]
        topic: Option<String>,

        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,

        #[command(flatten)]
        broker: BrokerArgs,
    },
}

/// Orders of groups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum ListSort {
    /// By name
    #[default]
    Name,
    /// By number of members, the largest first
    Members,
    /// By lag, the largest first
    Lag,
}

/// Orders of a group's partitions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// By topic and partition
    #[default]
    Topic,
    /// By lag, the largest first
    Lag,
}

pub async fn run(args: Args) -> Result<(), CommandError> {
    match args.command {
        Command::List { sort, output, broker } => list(&broker.client_without_retries()?, sort, output).await,
        Command::Show { group, sort, output, broker } => {
            let mut group = broker.client_without_retries()?.group(&group).await?;
            if sort == Sort::Lag {
                // Partitions of the same lag stay in their order.
                group.offsets.sort_by_key(|at| Reverse(at.lag));
            }
            output.print_item(&group, |group, width| shown(group, sort, width))
        }
        Command::Reset { group, topic, partitions, offset, since, yes, broker } => {
            let begin = match (offset, since) {
                (Some(begin), _) => begin,
                (None, Some(since)) => Begin::At(Start::Time(since.into())),
                (None, None) => unreachable!("clap requires an offset or a time"),
            };
            let to = Reset { group: &group, topic: &topic, partitions, begin, yes };
            to.run(&broker.client_without_retries()?).await
        }
        Command::Delete { group, topic, yes, broker } => {
            delete(&broker.client_without_retries()?, &group, topic.as_deref(), yes).await
        }
    }
}

async fn list(client: &Client, sort: ListSort, output: FormatArgs) -> Result<(), CommandError> {
    let mut groups = client.groups_with_totals().await?;
    match sort {
        ListSort::Name => {}
        ListSort::Members => groups.sort_by_key(|group| Reverse(group.members)),
        ListSort::Lag => groups.sort_by_key(|group| Reverse(group.lag)),
    }
    let none = "no groups yet; `rawline consume TOPIC --group GROUP` creates one";
    output.print_list(&groups, none, |groups, width| {
        let head = [
            ("GROUP", Align::Name),
            ("STATE", Align::Left),
            ("MEMBERS", Align::Right),
            ("TOPICS", Align::Right),
            ("LAG", Align::Right),
        ];
        table(head, groups.iter().map(summary).collect(), width)
    })
}

/// A group in the list. Totals are unknown while one of its topics can't be opened.
fn summary(group: &GroupSummary) -> [String; 5] {
    [
        escaped(&group.name),
        group.state.name().to_owned(),
        group.members.to_string(),
        or_dash(group.topics.as_ref().map(|topics| topics.len() as u64)),
        or_dash(group.lag),
    ]
}

fn or_dash(number: Option<u64>) -> String {
    number.map_or("-".to_owned(), |number| number.to_string())
}

/// Clients choose names: escapes keep them from controlling the terminal.
fn escaped(name: &str) -> String {
    name.escape_debug().to_string()
}

/// A group's state, members and offsets.
fn shown(group: &GroupInfo, sort: Sort, width: Option<usize>) -> String {
    let lag: u64 = group.offsets.iter().map(|offset| offset.lag).sum();
    let mut text = format!("name      {}\nstate     {}\n", escaped(&group.name), group.state.name());
    // Writing to a string can't fail.
    if !group.strategy.is_empty() {
        let _ = writeln!(text, "strategy  {}", escaped(&group.strategy));
    }
    let _ = writeln!(text, "lag       {lag}");
    if !group.members.is_empty() {
        let head = [
            ("MEMBER", Align::Name),
            ("INSTANCE", Align::Name),
            ("CLIENT", Align::Name),
            ("ADDRESS", Align::Left),
            ("PARTITIONS", Align::Right),
        ];
        text.push('\n');
        text.push_str(&table(head, group.members.iter().map(member).collect(), width));
    }
    let readers: BTreeMap<(&str, u32), &str> = group.members.iter().flat_map(readers).collect();
    let offsets = group.offsets.iter().map(|at| ((at.topic.as_str(), at.partition), Some(at)));
    // Before the group commits, a partition that a member reads has no offset.
    let unread = readers.keys().map(|at| (*at, None));
    let rows: BTreeMap<(&str, u32), Option<&GroupOffset>> = unread.chain(offsets).collect();
    let mut rows: Vec<_> = rows.into_iter().collect();
    if sort == Sort::Lag {
        rows.sort_by_key(|(_, at)| Reverse(at.map_or(0, |at| at.lag)));
    }
    if !rows.is_empty() {
        let head = [
            ("TOPIC", Align::Name),
            ("PARTITION", Align::Right),
            ("OFFSET", Align::Right),
            ("NEXT OFFSET", Align::Right),
            ("LAG", Align::Right),
            ("MEMBER", Align::Name),
        ];
        let row = |((topic, partition), offset): &((&str, u32), Option<&GroupOffset>)| {
            let [offset, next_offset, lag] =
                [offset.map(|at| at.offset), offset.map(|at| at.next_offset), offset.map(|at| at.lag)].map(or_dash);
            let reader = readers.get(&(*topic, *partition)).copied();
            [escaped(topic), partition.to_string(), offset, next_offset, lag, reader.map_or("-".into(), escaped)]
        };
        text.push('\n');
        text.push_str(&table(head, rows.iter().map(row).collect(), width));
    }
    text
}

fn member(member: &MemberInfo) -> [String; 5] {
    [
        escaped(&member.member),
        member.instance.as_deref().map_or("-".to_owned(), escaped),
        escaped(&member.client),
        member.address.clone(),
        member.partitions.len().to_string(),
    ]
}

/// A member's partitions, each with the member's id.
fn readers(member: &MemberInfo) -> impl Iterator<Item = ((&str, u32), &str)> {
    let partition = |at: &'_ GroupPartition| at.partition;
    member.partitions.iter().map(move |at| ((at.topic.as_str(), partition(at)), member.member.as_str()))
}

/// The offsets to set.
struct Reset<'a> {
    group: &'a str,
    topic: &'a str,
    /// Empty for all.
    partitions: Vec<u32>,
    begin: Begin,
    yes: bool,
}

impl Reset<'_> {
    /// Sets them, after confirmation where a person can give it.
    async fn run(self, client: &Client) -> Result<(), CommandError> {
        let Reset { group, topic, yes, .. } = self;
        if !yes {
            needs_terminal(&format!("the reset of group {group:?} in topic {topic:?}"))?;
        }
        let offsets = self.offsets(client).await?;
        if !yes {
            let before = match client.group(group).await {
                Ok(group) => group.offsets,
                // The reset creates it.
                Err(ClientError::Refused { status: 404, .. }) => Vec::new(),
                Err(error) => return Err(error.into()),
            };
            confirm(&reset_question(group, topic, &before, &offsets), &format!("group {group:?}: not reset"))?;
        }
        client.set_group_offsets(group, offsets).await?;
        print(&shown(&client.group(group).await?, Sort::Topic, terminal_width()))
    }

    /// The new offset of each partition. Fails for one after the end.
    async fn offsets(&self, client: &Client) -> Result<Vec<CommitOffset>, CommandError> {
        let Reset { topic, partitions, begin, .. } = self;
        let extents = client.topic(topic).await?.extents();
        let all: Vec<u32> = (0..extents.len() as u32).collect();
        let mut offsets = Vec::new();
        for &partition in if partitions.is_empty() { &all } else { partitions } {
            let name = TopicPartition { topic, partition };
            let next_offset = name.extent(&extents)?.next_offset;
            let offset = begin.offset(client, name, &extents).await?;
            if offset > next_offset {
                return Err(CommandError::Failed(format!(
                    "offset {offset} is after the end of partition {partition} of topic {topic:?}; give {next_offset} \
                     at most"
                )));
            }
            offsets.push(CommitOffset::new(*topic, partition, offset));
        }
        Ok(offsets)
    }
}

/// Says what a reset changes.
fn reset_question(group: &str, topic: &str, before: &[GroupOffset], after: &[CommitOffset]) -> String {
    let old: BTreeMap<u32, u64> =
        before.iter().filter(|at| at.topic == topic).map(|at| (at.partition, at.offset)).collect();
    let (mut again, mut skipped) = (0, 0);
    for at in after {
        let old = old.get(&at.partition).copied().unwrap_or(at.offset);
        again += old.saturating_sub(at.offset);
        skipped += at.offset.saturating_sub(old);
    }
    let (group, topic, count) = (escaped(group), escaped(topic), after.len());
    format!(
        "Set the offsets of group {group} in {count} partition(s) of topic {topic}? {again} records will be read \
         again, {skipped} skipped."
    )
}

async fn delete(client: &Client, group: &str, topic: Option<&str>, yes: bool) -> Result<(), CommandError> {
    let found = client.group(group).await?;
    let offsets = found.offsets.iter().filter(|at| topic.is_none_or(|topic| at.topic == topic));
    let partitions: Vec<(&str, u32)> = offsets.map(|at| (at.topic.as_str(), at.partition)).collect();
    let what = match topic {
        Some(topic) => format!("the offsets of group {group:?} in topic {topic:?}"),
        None => format!("group {group:?}"),
    };
    if topic.is_some() && partitions.is_empty() {
        return Err(CommandError::Failed(format!("{what} don't exist")));
    }
    if !yes {
        needs_terminal(&format!("the deletion of {what}"))?;
        let count = partitions.len();
        let question = format!("Delete {what}, with offsets in {count} partitions, permanently?");
        confirm(&question, &format!("{what}: not deleted"))?;
    }
    match topic {
        None => client.delete_group(group).await?,
        Some(_) => {
            for partition in partitions {
                client.delete_group_offset(group, partition).await?;
            }
        }
    }
    print(&format!("deleted {what}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_says_how_many_records_are_read_again_and_skipped() {
        let at = |topic: &str, partition, offset| GroupOffset {
            topic: topic.to_owned(),
            partition,
            offset,
            ..serde_json::from_str(r#"{"topic":"","partition":0,"offset":0,"next_offset":0,"lag":0}"#).unwrap()
        };
        let before = [at("dns", 0, 7), at("dns", 1, 5), at("http", 2, 9)];
        let after = [(0, 0), (1, 8), (2, 4)].map(|(partition, offset)| CommitOffset::new("dns", partition, offset));
        assert_eq!(
            reset_question("nightly", "dns", &before, &after),
            "Set the offsets of group nightly in 3 partition(s) of topic dns? 7 records will be read again, 3 skipped."
        );
    }

    #[test]
    fn a_group_is_shown_with_who_reads_what() {
        let group: GroupInfo = serde_json::from_str(
            r#"{"name":"nightly","state":"stable","strategy":"range",
            "members":[{"member":"shell-1","client":"shell","address":"127.0.0.1",
                "partitions":[{"topic":"dns","partition":0},{"topic":"dns","partition":2}]}],
            "offsets":[{"topic":"dns","partition":0,"offset":5,"next_offset":12,"lag":7},
                {"topic":"dns","partition":1,"offset":0,"next_offset":100,"lag":100}]}"#,
        )
        .unwrap();
        let want = "\
name      nightly
state     stable
strategy  range
lag       107

MEMBER   INSTANCE  CLIENT  ADDRESS    PARTITIONS
shell-1  -         shell   127.0.0.1           2

TOPIC  PARTITION  OFFSET  NEXT OFFSET  LAG  MEMBER
dns            0       5           12    7  shell-1
dns            1       0          100  100  -
dns            2       -            -    -  shell-1
";
        assert_eq!(shown(&group, Sort::Topic, None), want);
        let by_lag = shown(&group, Sort::Lag, None);
        let lags: Vec<&str> = by_lag.lines().skip(7).filter_map(|line| line.split_whitespace().nth(4)).collect();
        assert_eq!(lags, ["OFFSET", "100", "7", "-"], "{by_lag}");
    }
}
