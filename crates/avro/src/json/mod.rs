//! Human-readable JSON for Avro values.
//!
//! | Avro | JSON |
//! |---|---|
//! | null, boolean, int, long, string, array, map, record | the same of JSON |
//! | float, double | a number; `"NaN"`, `"Infinity"` and `"-Infinity"` |
//! | bytes, fixed | a string with one character of `U+0000` to `U+00FF` a byte, as in Avro's own JSON |
//! | enum | the symbol |
//! | union | the value itself; `{"branch": value}` if it would be read as another branch |
//! | timestamps | RFC 3339: `"2020-09-13T12:26:40Z"`; local ones without `Z`; a number is accepted too |
//! | date, times of day | `"2020-09-13"`, `"12:26:40.5"`; a number is accepted too |
//! | decimal | a string, `"12.50"`, up to 16 bytes; a number is accepted too; longer ones as bytes |
//! | uuid | `"6ba7b810-9dad-11d1-80b4-00c04fd430c8"` |
//! | duration | `{"months": 1, "days": 2, "millis": 3}` |
//!
//! A timestamp outside of the years -9999 to 9999 is written as a number.
//!
//! A union's branch is found by the value. An object whose only key is a branch's name is the value of that branch, as
//! in Avro's own JSON, if the branch takes it. Any other value goes to the first branch that takes it as it is, else to
//! the first that takes it in another form (a text as bytes or a timestamp, an integer as a float). Where that would be
//! another branch than the one that a value came from (a timestamp, a decimal or bytes next to a string), it is written
//! with the branch's name.

mod read;
mod text;
mod write;

pub(crate) use read::encode_default;
