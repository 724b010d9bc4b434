//! Stands in for `lab.rs` in a binary without the feature `lab`: an error that says where the command is.

use super::CommandError;
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  # In a clone of the repository: build a program that does the same, and run it
  make lab-mine SAMPLE=orders.jsonl";

/// Measure wire formats on your own messages; needs a binary from a package
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Arguments of the command
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<OsString>,
}

/// Fails.
pub fn run(_: &Args) -> Result<(), CommandError> {
    Err(CommandError::Usage(
        "this binary was built without the libraries that `rawline lab` measures; the packages have them, and so does \
         `make lab-mine SAMPLE=FILE`"
            .to_owned(),
    ))
}
