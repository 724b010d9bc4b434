//! JSON as a tree whose numbers keep their text: a decimal has more digits than a double.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::Error as _;
use serde_json::Value;
use serde_json::value::RawValue;

/// Maximum nesting, the same as serde_json's.
const DEPTH_MAX: u32 = 128;

/// A JSON value. Of a repeated name in an object, the last one counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as it was written.
    Number(String),
    /// A string, without escapes.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(BTreeMap<String, Json>),
}

impl Json {
    /// Parses a JSON text.
    pub fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        Self::of(serde_json::from_slice(text)?, DEPTH_MAX)
    }

    /// Parses each level anew, which takes time proportional to the text's length and depth.
    fn of(raw: &RawValue, depth_left: u32) -> Result<Self, serde_json::Error> {
        let text = raw.get();
        let inner = || depth_left.checked_sub(1).ok_or_else(|| serde_json::Error::custom("nested deeper than 128"));
        Ok(match text.as_bytes().first() {
            Some(b'n') => Self::Null,
            Some(b't' | b'f') => Self::Bool(serde_json::from_str(text)?),
            Some(b'"') => Self::String(serde_json::from_str(text)?),
            Some(b'[') => {
                let (inner, parts) = (inner()?, serde_json::from_str::<Vec<&RawValue>>(text)?);
                Self::Array(parts.into_iter().map(|part| Self::of(part, inner)).collect::<Result<_, _>>()?)
            }
            Some(b'{') => {
                let (inner, parts) = (inner()?, serde_json::from_str::<BTreeMap<String, &RawValue>>(text)?);
                let parts = parts.into_iter().map(|(name, part)| Ok((name, Self::of(part, inner)?)));
                Self::Object(parts.collect::<Result<_, serde_json::Error>>()?)
            }
            _ => Self::Number(text.to_owned()),
        })
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_object(&self) -> Option<&BTreeMap<String, Json>> {
        match self {
            Self::Object(fields) => Some(fields),
            _ => None,
        }
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(boolean) => Self::Bool(*boolean),
            Value::Number(number) => Self::Number(number.to_string()),
            Value::String(text) => Self::String(text.clone()),
            Value::Array(values) => Self::Array(values.iter().map(Self::from).collect()),
            Value::Object(fields) => {
                Self::Object(fields.iter().map(|(name, value)| (name.clone(), Self::from(value))).collect())
            }
        }
    }
}

/// The value as an error names it: scalars as they are, up to 40 characters of a string.
impl fmt::Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CHARS_MAX: usize = 40;
        match self {
            Self::Null => out.write_str("null"),
            Self::Bool(boolean) => write!(out, "{boolean}"),
            Self::Number(text) => out.write_str(text),
            Self::String(text) if text.chars().count() > CHARS_MAX => {
                write!(out, "the string {:?}…", text.chars().take(CHARS_MAX).collect::<String>())
            }
            Self::String(text) => write!(out, "the string {text:?}"),
            Self::Array(_) => out.write_str("an array"),
            Self::Object(_) => out.write_str("an object"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_text() {
        for number in ["0", "-0", "1e400", "1234567890123456.78", "18446744073709551616", "1E+3"] {
            assert_eq!(Json::parse(number.as_bytes()).unwrap(), Json::Number(number.to_owned()));
        }
    }

    #[test]
    fn a_text_is_accepted_like_by_the_library() {
        let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        let texts = [
            "",
            " ",
            "nul",
            "01",
            "1.",
            ".5",
            "+1",
            "NaN",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "\"\\x\"",
            "\"\u{1}\"",
            "\"\\ud800\"",
            "\"\\ud83d\\ude00\"",
            "[1] 2",
            " {\"a\" : [true, null, {\"b\": \"\\u00e9\"}]}\n",
            "{\"a\":1,\"a\":2}",
            "\u{feff}1",
        ];
        for text in texts.map(str::to_owned).into_iter().chain([deep(100), deep(200)]) {
            let (ours, theirs) = (Json::parse(text.as_bytes()), serde_json::from_str::<Value>(&text));
            assert_eq!(ours.is_ok(), theirs.is_ok(), "{text}: {ours:?} {theirs:?}");
            if let (Ok(ours), Ok(theirs)) = (ours, theirs) {
                assert_eq!(ours, Json::from(&theirs), "{text}");
            }
        }
        assert!(Json::parse(b"\"\xff\"").is_err());
    }
}
