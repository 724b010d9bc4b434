//! The JSON of messages, in both directions.

use rawline_value::json::{ReadError, WriteError, typed};
use rawline_value::{Limits, Value};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::borrow::Cow;

/// Why a text isn't a message. `context` is the original's message, `detail` the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub context: String,
    pub detail: String,
}

/// A message to publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DataMessage {
    pub topic: String,
    /// The value's bytes.
    pub value: Vec<u8>,
}

/// The parts of a message other than its value. The original ignores the type, and a topic may be missing.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(default, borrow)]
    topic: Cow<'a, str>,
}

/// Reads a message of a client.
pub(super) fn read(text: &str) -> Result<DataMessage, Refusal> {
    let refusal = |context: &str, detail: String| Refusal { context: context.to_owned(), detail };
    if !text.trim_ascii_start().starts_with('{') {
        return Err(match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => refusal("expected a JSON object", "send {\"topic\":…,\"@data-type\":…,\"data\":…}".into()),
            Err(error) => malformed(&error),
        });
    }
    let head: Head<'_> = serde_json::from_str(text).map_err(|error| match error.is_data() {
        true => refusal("contained invalid data", error.to_string()),
        false => malformed(&error),
    })?;
    let mut value = Vec::with_capacity(text.len() / 2);
    typed::read(text.as_bytes(), &mut value).map_err(|error| match error {
        ReadError::Json(error) => refusal("contained invalid data", error.to_string()),
        ReadError::Value(error) => {
            let context = "caused an internal error -> deserialization_failed(\"failed to parse data\")";
            refusal(context, error.to_string())
        }
    })?;
    // The original forwards elements in ascending order.
    if text.contains("\"set\"") || text.contains("\"table\"") {
        let tree = Value::decode(&value, &Limits::default());
        value = tree.map_err(|error| refusal("contained invalid data", error.to_string()))?.encode();
    }
    Ok(DataMessage { topic: head.topic.into_owned(), value })
}

fn malformed(error: &serde_json::Error) -> Refusal {
    let what = if error.is_eof() { "unexpected_eof" } else { "unexpected_character" };
    let (line, column) = (error.line().max(1), error.column().max(1));
    let context = format!("contained malformed JSON -> caf::pec::{what}({line}, {column})");
    Refusal { context, detail: error.to_string() }
}

/// The beginning of each message of a topic, up to its value.
pub(super) fn head_of(topic: &str) -> String {
    format!("{{\"type\":\"data-message\",\"topic\":{}", serde_json::Value::from(topic))
}

/// Appends a message: the beginning, and the value in `bytes`.
pub(super) fn write(head: &str, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), WriteError> {
    out.extend_from_slice(head.as_bytes());
    let value_at = out.len();
    typed::write(bytes, out)?;
    // The value's fields follow the others in the same object.
    if let Some(brace) = out.get_mut(value_at) {
        *brace = b',';
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(topic: &str, value: &[u8]) -> String {
        let mut out = Vec::new();
        write(&head_of(topic), value, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn messages_are_written_as_the_original_writes_them() {
        let text = concat!(
            r#"{"type":"data-message","topic":"/test/x","@data-type":"vector","data":["#,
            r#"{"@data-type":"count","data":1},{"@data-type":"string","data":"hi"}]}"#
        );
        let DataMessage { topic, value } = read(text).unwrap();
        assert_eq!(written(&topic, &value), text);
        let set = |[first, second]: [u8; 2]| {
            let count = |number| format!(r#"{{"@data-type":"count","data":{number}}}"#);
            let elements = format!("{},{}", count(first), count(second));
            format!(r#"{{"type":"data-message","topic":"t","@data-type":"set","data":[{elements}]}}"#)
        };
        assert_eq!(written("t", &read(&set([2, 1])).unwrap().value), set([1, 2]));
        // Not valid JSON in the original.
        let control = read("{\"@data-type\":\"string\",\"data\":\"\\u000b\\u0001\"}").unwrap();
        assert_eq!(control.topic, "");
        let text = written("\"\n", &control.value);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((json["topic"].as_str(), json["data"].as_str()), (Some("\"\n"), Some("\u{b}\u{1}")));
    }

    #[test]
    fn refusals_have_the_words_of_the_original_and_what_is_wrong() {
        let context = |text: &str| read(text).unwrap_err().context;
        assert_eq!(context("How is it going?"), "contained malformed JSON -> caf::pec::unexpected_character(1, 1)");
        assert_eq!(context(""), "contained malformed JSON -> caf::pec::unexpected_eof(1, 1)");
        assert_eq!(context("[]"), "expected a JSON object");
        assert_eq!(context(r#"["/another"]"#), "expected a JSON object");
        assert_eq!(context(r#"{"topic":"/test","@data-type":"phone","data":"555-0123"}"#), "contained invalid data");
        assert_eq!(context(r#"{"topic":7,"@data-type":"count","data":1}"#), "contained invalid data");
        assert!(context(r#"{"topic":"/test","@data-type":"count","data":1"#).contains("unexpected_eof(1, "));
        let twice = r#"{"@data-type":"set","data":[{"@data-type":"count","data":1},{"@data-type":"count","data":1}]}"#;
        let expected = "caused an internal error -> deserialization_failed(\"failed to parse data\")";
        assert_eq!(context(twice), expected);
        assert!(read(r#"{"topic":"/t","@data-type":"phone"}"#).unwrap_err().detail.contains("phone"));
    }
}
