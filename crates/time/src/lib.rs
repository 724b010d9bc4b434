//! Times and durations as text. No clock.

mod argument;
pub mod iso;
mod length;

pub use argument::{TimeError, parse_time};
pub use length::{LengthError, format_length, parse_length};
