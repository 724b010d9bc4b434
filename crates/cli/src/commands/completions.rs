//! `rawline completions`: prints a shell's completion script.

use super::{CommandError, print};
use clap_complete::Shell;

const EXAMPLES: &str = "\
Examples:
  # bash, for this user: also needs the package bash-completion
  rawline completions bash > ~/.local/share/bash-completion/completions/rawline

  # bash, for this shell only
  source <(rawline completions bash)

  # zsh, in a directory of $fpath
  rawline completions zsh > ~/.zsh/functions/_rawline

  # fish
  rawline completions fish > ~/.config/fish/completions/rawline.fish";

/// Print a shell's completion script
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Shell that the script is for
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

/// Prints the script of `command`.
pub fn run(args: &Args, mut command: clap::Command) -> Result<(), CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "rawline", &mut script);
    let script = String::from_utf8(script).map_err(|error| CommandError::Failed(error.to_string()))?;
    print(&script)
}
