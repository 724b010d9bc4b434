//! `rawline lab`: measures wire formats on the user's messages, without a broker. `no_lab.rs` stands in without the
//! feature `lab`.

pub use rawline_lab::Args;

use super::CommandError;
use rawline_lab::LabError;

/// Measures, and shows the figures.
pub fn run(args: &Args) -> Result<(), CommandError> {
    Ok(rawline_lab::run(args)?)
}

impl From<LabError> for CommandError {
    fn from(error: LabError) -> Self {
        CommandError::Failed(error.to_string())
    }
}
