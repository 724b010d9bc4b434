//! Asks for confirmation before a permanent change.

use super::CommandError;
use std::io::{IsTerminal, Write};

/// Fails without a terminal for the question. `change` names it, such as `the deletion of topic "dns"`.
pub fn needs_terminal(change: &str) -> Result<(), CommandError> {
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        return Ok(());
    }
    Err(CommandError::Usage(format!("there is no terminal to confirm {change}; add --yes to confirm it")))
}

/// Fails unless the user confirms at the terminal. `refused` is the error without a confirmation.
pub fn confirm(question: &str, refused: &str) -> Result<(), CommandError> {
    // The answer is read from a terminal; whether the question could be written is seen there.
    let _ = write!(std::io::stderr().lock(), "{question} [y/N] ");
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    read.map_err(|error| CommandError::Failed(format!("can't read the answer: {error}")))?;
    if is_yes(&answer) { Ok(()) } else { Err(CommandError::Failed(refused.to_owned())) }
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_confirms() {
        for yes in ["y\n", "Y\n", "yes\n", "YES"] {
            assert!(is_yes(yes), "{yes:?}");
        }
        for no in ["", "\n", "n\n", "no\n", "dns\n", "yess\n"] {
            assert!(!is_yes(no), "{no:?}");
        }
    }
}
