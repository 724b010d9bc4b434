//! `rawline topic`: shows one topic.

use super::{BrokerArgs, CommandError, print};
use indicatif::BinaryBytes;

const EXAMPLES: &str = "\
Examples:
  rawline topic dns
  rawline topic dns --json | jq .next_offset";

/// Show one topic
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The topic's name
    #[arg(value_name = "TOPIC")]
    topic: String,

    #[command(flatten)]
    broker: BrokerArgs,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// Prints the topic's offsets, size and time.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let topic = args.broker.client_without_retries()?.topic(&args.topic).await?;
    if args.json {
        let json = serde_json::to_string_pretty(&topic).map_err(|error| CommandError::Failed(error.to_string()))?;
        return print(&(json + "\n"));
    }
    let time = topic.latest_commit_at.map_or("-".to_owned(), |time| time.to_string());
    print(&format!(
        "name           {}\n\
         records        {}\n\
         first offset   {}\n\
         next offset    {}\n\
         bytes          {} ({})\n\
         objects        {}\n\
         latest commit  {time}\n",
        topic.name.escape_debug(),
        topic.records(),
        topic.first_offset,
        topic.next_offset,
        topic.bytes,
        BinaryBytes(topic.bytes),
        topic.objects,
    ))
}
