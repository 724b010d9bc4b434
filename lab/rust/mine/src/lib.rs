//! Measures wire formats on the user's own messages and recommends one: `rawline lab`, and the program `rawline-lab`.

mod args;
mod candidate;
mod choose;
mod error;
mod formats;
mod hints;
mod measure;
mod output;
mod path;
mod run;
mod sample;
mod shape;

pub use args::Args;
pub use error::LabError;
pub use run::run;
