//! The program `rawline-lab`: `rawline lab` for builds of the laboratory alone, which need no broker.

use clap::Parser;
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(name = "rawline-lab", version)]
struct Cli {
    #[command(flatten)]
    args: rawline_lab::Args,
}

fn main() -> ExitCode {
    match rawline_lab::run(&Cli::parse().args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rawline-lab: {error}");
            ExitCode::FAILURE
        }
    }
}
