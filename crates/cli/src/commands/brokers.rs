//! `rawline brokers`: lists the brokers on the storage.

use super::list::FormatArgs;
use super::table::{Align, table};
use super::{BrokerArgs, CommandError};
use rawline_client::BrokerInfo;

const EXAMPLES: &str = "\
Examples:
  # List the brokers that share the storage, as the one that is asked sees them
  rawline brokers

  # Print the addresses of the owners, which append for all
  rawline brokers --json | jq -r '.[] | select(.is_owner) | .url'";

/// List the brokers that share the storage
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    broker: BrokerArgs,

    #[command(flatten)]
    output: FormatArgs,
}

/// Prints the address and the state of every broker.
pub async fn run(args: Args) -> Result<(), CommandError> {
    let brokers = args.broker.client_without_retries()?.brokers().await?;
    let none = "this broker shares its storage with no other: only a bucket can have several";
    args.output.print_list(&brokers, none, brokers_table)
}

fn brokers_table(brokers: &[BrokerInfo], width: Option<usize>) -> String {
    let head = [
        ("BROKER", Align::Left),
        ("URL", Align::Name),
        ("KAFKA", Align::Name),
        ("ZONE", Align::Left),
        ("STATE", Align::Left),
        ("OWNER", Align::Left),
        ("SILENT", Align::Right),
        ("LAG", Align::Right),
        ("VERSION", Align::Left),
    ];
    // Journals have numbers where there are several.
    let are_several = brokers.iter().flat_map(|broker| &broker.journals).any(|journal| *journal > 0);
    table(head, brokers.iter().map(|broker| row(broker, are_several)).collect(), width)
}

fn row(broker: &BrokerInfo, are_several: bool) -> [String; 9] {
    let journals: Vec<String> = broker.journals.iter().map(u32::to_string).collect();
    // From another broker: escapes prevent it from controlling the terminal.
    let text = |text: &Option<String>| text.as_deref().map_or("-".to_owned(), |text| text.escape_debug().to_string());
    [
        format!("{}{}", broker.id.escape_debug(), if broker.is_me { " *" } else { "" }),
        text(&broker.url),
        text(&broker.kafka),
        text(&broker.zone),
        broker.state.to_string(),
        match (broker.is_owner, are_several) {
            (false, _) if broker.is_read_only => "never".to_owned(),
            (false, _) => "-".to_owned(),
            (true, false) => "yes".to_owned(),
            (true, true) => journals.join(","),
        },
        format!("{:.1} s", broker.silent_ms as f64 / 1000.0),
        broker.objects_lag.to_string(),
        broker.version.escape_debug().to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawline_client::BrokerState;

    #[test]
    fn a_row_shows_who_owns_and_who_was_asked() {
        let broker = |id: &str, is_owner: bool, is_me| BrokerInfo {
            id: id.to_owned(),
            url: Some("http://10.0.0.7:51313".to_owned()),
            kafka: None,
            zone: is_owner.then(|| "a".to_owned()),
            state: BrokerState::Live,
            is_owner,
            journals: if is_owner { vec![0] } else { vec![] },
            is_me,
            is_read_only: id.ends_with("ef"),
            silent_ms: 1234,
            objects_lag: 2,
            version: "0.1.0".to_owned(),
        };
        let brokers = [
            broker("00000000000000ab", true, true),
            broker("00000000000000cd", false, false),
            broker("00000000000000ef", false, false),
        ];
        let text = brokers_table(&brokers, None);
        let want = "\
BROKER              URL                    KAFKA  ZONE  STATE  OWNER  SILENT  LAG  VERSION
00000000000000ab *  http://10.0.0.7:51313  -      a     live   yes     1.2 s    2  0.1.0
00000000000000cd    http://10.0.0.7:51313  -      -     live   -       1.2 s    2  0.1.0
00000000000000ef    http://10.0.0.7:51313  -      -     live   never   1.2 s    2  0.1.0
";
        assert_eq!(text, want);
        let owning = |journals: &[u32]| BrokerInfo {
            journals: journals.to_vec(),
            ..broker("00000000000000cd", !journals.is_empty(), false)
        };
        let text = brokers_table(&[owning(&[0, 2]), owning(&[1]), owning(&[])], None);
        let owners: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().nth(5)).collect();
        assert_eq!(owners, ["OWNER", "0,2", "1", "-"]);
    }
}
