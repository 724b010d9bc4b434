//! Avro records: a schema becomes a flat plan, messages become columns, strings become ids. No I/O.

mod cursor;
mod error;

pub use cursor::Cursor;
pub use error::{Fault, FaultKind};
