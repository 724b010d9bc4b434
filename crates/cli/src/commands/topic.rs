//! `rawline topic`: shows a topic, or sets the type of its records.

use super::{BrokerArgs, CommandError, print};
use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use indicatif::BinaryBytes;
use rawline_client::Payload;

const EXAMPLES: &str = "\
Examples:
  # Show offsets, size and time of the newest commit
  rawline topic dns

  # Print the next offset
  rawline topic dns --json | jq .next_offset

  # Declare that the records are structured values: GET /records shows them as JSON
  rawline topic set dns --payload value";

/// Show a topic, or set the type of its records
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    /// Topic to show
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
    /// Set the type of a topic's records, for programs that show them; the broker doesn't interpret records
    Set {
        /// Topic to change
        #[arg(value_name = "TOPIC")]
        topic: String,

        /// Type of the records: any bytes, or structured values
        #[arg(long, value_name = "TYPE", value_parser = payload())]
        payload: Payload,

        #[command(flatten)]
        broker: BrokerArgs,
    },
}

fn payload() -> impl TypedValueParser<Value = Payload> {
    PossibleValuesParser::new(["bytes", "value"]).try_map(|name| name.parse())
}

/// Prints the topic's offsets, size and time.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let topic = match args.command {
        Some(Command::Set { topic, payload, broker }) => {
            broker.client_without_retries()?.set_payload(&topic, payload).await?
        }
        // Without a subcommand, clap requires the name.
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
