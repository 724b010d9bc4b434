//! Writes values as JSON and reads them, in two mappings, without a tree in between.
//!
//! - [`typed`] keeps each value's type and loses nothing; it is the mapping of Broker's WebSocket API.
//! - [`plain`] is human-readable: `{"host":"10.0.0.1","port":"53/udp"}`; [`hinted`] reads it with types for its
//!   fields.
//!
//! Both write the elements in the order of the bytes, and read JSON into bytes.

mod buffer;
pub mod hinted;
mod one_pass_read;
mod one_pass_write;
pub mod plain;
mod text;
pub mod typed;

use crate::item::ItemWriter;
use serde_json::Deserializer;
use serde_json::de::Read;
use std::io;

pub(crate) use text::{Rfc3339, Seconds, read_span, read_time};

use crate::ValueError;

/// Maximum nesting of values read from JSON. Reading recurses; 128 levels fit a small stack, and real data has fewer.
pub const DEPTH_MAX: usize = 128;

const TOO_DEEP: &str = "values are nested deeper than 128; nest them less";
const _: () = assert!(DEPTH_MAX == 128, "TOO_DEEP names it");

/// The text isn't the JSON of a value.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or JSON that isn't a value; the text has the expected form and the position.
    #[error("{0}; the mapping is in docs/values.md")]
    Json(#[from] serde_json::Error),
    /// The values were read, but together they break a rule of the format, such as a duplicate element of a set.
    #[error(transparent)]
    Value(#[from] ValueError),
}

/// A value can't be written as JSON.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The bytes aren't a value.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// Writing to the output failed.
    #[error("can't write the JSON: {0}; check the output")]
    Output(#[from] io::Error),
}

/// The written JSON. All of it is UTF-8, so nothing is replaced here.
fn text_of(json: Vec<u8>) -> String {
    String::from_utf8(json).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Reads one JSON text by a mapping's seed and appends the bytes of its value to `out`; duplicates are found when
/// the writer finishes. After an error, `out` is unchanged.
fn read_with<'de, 'o, R: Read<'de>>(
    mut json: Deserializer<R>,
    out: &'o mut Vec<u8>,
    seed: impl FnOnce(&mut ItemWriter<'_>, &mut Deserializer<R>) -> serde_json::Result<()>,
) -> Result<ItemWriter<'o>, ReadError> {
    let mut writer = ItemWriter::new(out);
    // The seeds' depth takes the place of serde_json's own limit, which counts brackets and not values.
    json.disable_recursion_limit();
    if let Err(error) = seed(&mut writer, &mut json).and_then(|()| json.end()) {
        writer.clear();
        return Err(error.into());
    }
    Ok(writer)
}
