//! Values as people write them in JSON.
//!
//! | Avro | JSON |
//! |---|---|
//! | null, boolean, int, long, string, array, map, record | the same of JSON |
//! | float, double | a number; `"NaN"`, `"Infinity"` and `"-Infinity"` |
//! | bytes, fixed | a string with one character of `U+0000` to `U+00FF` a byte, as in Avro's own JSON |
//! | enum | the symbol |
//! | union | the value as it is, without the branch's name |
//! | timestamps | RFC 3339: `"2020-09-13T12:26:40Z"`; local ones without `Z`; a number is read too, and written outside of the years -9999 to 9999 |
//! | date, times of day | `"2020-09-13"`, `"12:26:40.5"`; a number is read too |
//! | decimal | a string, `"12.50"`, up to 16 bytes; a number is read too; longer ones as bytes |
//! | uuid | `"6ba7b810-9dad-11d1-80b4-00c04fd430c8"` |
//! | duration | `{"months": 1, "days": 2, "millis": 3}` |
//!
//! A union's branch is found by the value: the first that takes it as it is, else the first that takes it in another form (a text
//! as bytes or a timestamp, an integer as a float). If none does, Avro's own `{"branch": value}` is read.

mod read;
mod text;
mod write;

pub(crate) use read::encode_default;
