//! Output of commands that print a list or a description: a table or text on a terminal, JSON for scripts.

use super::table::terminal_width;
use super::{CommandError, print, print_json};
use clap::ValueEnum;
use serde::Serialize;

/// The flags.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct FormatArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Aligned columns; on a terminal, long names are cut to its width
    #[default]
    Table,
    /// JSON: an array of a list, an object of one item
    Json,
}

impl FormatArgs {
    pub fn is_json(self) -> bool {
        self.json || self.format == Format::Json
    }

    /// Prints a list: as JSON, or as a table of the width of the terminal, if there is one. Says `none` on stderr if a
    /// table would be empty.
    pub fn print_list<T: Serialize>(
        self,
        found: &[T],
        none: &str,
        table: impl FnOnce(&[T], Option<usize>) -> String,
    ) -> Result<(), CommandError> {
        if self.is_json() {
            return print_json(&found);
        }
        if found.is_empty() {
            eprintln!("rawline: {none}");
            return Ok(());
        }
        print(&table(found, terminal_width()))
    }

    /// Prints one item: as JSON, or as text for the width of the terminal, if there is one.
    pub fn print_item<T: Serialize>(
        self,
        found: &T,
        text: impl FnOnce(&T, Option<usize>) -> String,
    ) -> Result<(), CommandError> {
        if self.is_json() { print_json(found) } else { print(&text(found, terminal_width())) }
    }
}
