//! `rawline topic`: shows one topic, or sets what its records are.

use super::{BrokerArgs, CommandError, print};
use clap::Subcommand;
use indicatif::BinaryBytes;
use rawline_client::Payload;

const EXAMPLES: &str = "\
Examples:
  rawline topic dns
  rawline topic dns --json | jq .next_offset
  rawline topic set dns --payload value        GET /records shows its records as JSON";

/// Show one topic, or set what its records are
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    /// The topic's name
    #[arg(value_name = "TOPIC", required = true)]
    topic: Option<String>,

    #[command(flatten)]
    broker: BrokerArgs,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Set what a topic's records are, for those who show them; the broker treats all alike
    Set {
        /// The topic's name
        #[arg(value_name = "TOPIC")]
        topic: String,

        /// bytes, or value for structured values
        #[arg(long, value_name = "PAYLOAD")]
        payload: Payload,

        #[command(flatten)]
        broker: BrokerArgs,
    },
}

/// Prints the topic's offsets, size and time.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let topic = match args.command {
        Some(Command::Set { topic, payload, broker }) => {
            broker.client_without_retries()?.set_payload(&topic, payload).await?
        }
        // clap asks for the name where there is no command.
        None => args.broker.client_without_retries()?.topic(&args.topic.unwrap_or_default()).await?,
    };
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
         latest commit  {time}\n\
         payload        {}\n",
        topic.name.escape_debug(),
        topic.records(),
        topic.first_offset,
        topic.next_offset,
        topic.bytes,
        BinaryBytes(topic.bytes),
        topic.objects,
        topic.payload,
    ))
}
