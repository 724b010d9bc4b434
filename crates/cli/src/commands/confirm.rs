//! Asks for confirmation before a permanent deletion.

use super::CommandError;
use std::io::{IsTerminal, Write};

/// Fails without a terminal for the question. `deletion` names the deletion, such as
/// `the deletion of topic "dns"`.
pub fn needs_terminal(deletion: &str) -> Result<(), CommandError> {
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        return Ok(());
    }
    Err(CommandError::Usage(format!("there is no terminal to confirm {deletion}; add --yes to delete it")))
}

/// Whether the user confirms at the terminal.
pub fn confirmed(question: &str) -> Result<bool, CommandError> {
    // The answer is read from a terminal; whether the question could be written is seen there.
    let _ = write!(std::io::stderr().lock(), "{question} [y/N] ");
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    read.map_err(|error| CommandError::Failed(format!("can't read the answer: {error}")))?;
    Ok(is_yes(&answer))
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_deletes() {
        for yes in ["y\n", "Y\n", "yes\n", "YES"] {
            assert!(is_yes(yes), "{yes:?}");
        }
        for no in ["", "\n", "n\n", "no\n", "dns\n", "yess\n"] {
            assert!(!is_yes(no), "{no:?}");
        }
    }
}
