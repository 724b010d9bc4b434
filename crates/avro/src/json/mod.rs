//! Human-readable JSON for Avro values.
//!
//! | Avro | JSON |
//! |---|---|
//! | null, boolean, int, long, string, array, map, record | the corresponding JSON type |
//! | float, double | a number; `"NaN"`, `"Infinity"` and `"-Infinity"` |
//! | bytes, fixed | a string with one character of `U+0000` to `U+00FF` per byte, as in Avro's JSON encoding |
//! | enum | the symbol |
//! | union | the value itself; `{"branch": value}` if that would be read as another branch |
//! | timestamps | RFC 3339: `"2020-09-13T12:26:40Z"`; local ones without `Z` or an offset; a number is accepted too |
//! | date, times of day | `"2020-09-13"`, `"12:26:40.5"`; a number is accepted too |
//! | decimal | a string, `"12.50"`, up to 16 bytes; a number is accepted with all its digits; longer ones as bytes |
//! | uuid | `"6ba7b810-9dad-11d1-80b4-00c04fd430c8"` |
//! | duration | `{"months": 1, "days": 2, "millis": 3}` |
//!
//! Of a repeated key of a map, the last one is written. A timestamp outside of the years -9999 to 9999 is written as a
//! number.
//!
//! The value determines a union's branch. An object whose only key is a branch's name is a value of that branch, as in
//! Avro's JSON encoding, if the branch accepts it. Any other value belongs to the first branch that accepts it
//! unchanged, otherwise to the first that accepts it converted (a text as bytes or a timestamp, an integer as a float).
//! If a value of another branch would be read that way (a timestamp, a decimal or bytes next to a string), it is
//! written with its branch's name.

mod lines;
mod number;
mod read;
mod text;
mod tree;
mod write;

pub use lines::LineEncoder;
pub(crate) use read::encode_default;
pub use tree::Json;
