//! Control messages of a subscription: JSON, the same in events and in text messages.

use crate::http::error::ApiError;
use rawline_contract::subscription::ControlMessage;
use serde_json::Value;

/// The end because of an error.
pub(super) fn end(error: &ApiError) -> ControlMessage<'static> {
    ControlMessage::End { code: error.code().name.into(), error: error.to_string().into() }
}

/// The text message of a WebSocket.
pub(super) fn message(control: &ControlMessage<'_>) -> String {
    json_of(control).to_string()
}

/// The event of a stream, whose type isn't in its data.
pub(super) fn event(control: &ControlMessage<'_>) -> String {
    let mut fields = json_of(control);
    let kind = fields.as_object_mut().and_then(|fields| fields.remove("type"));
    let Some(Value::String(kind)) = kind else { unreachable!("a control message without a type: {fields}") };
    format!("event: {kind}\ndata: {fields}\n\n")
}

fn json_of(control: &ControlMessage<'_>) -> Value {
    match serde_json::to_value(control) {
        Ok(json) => json,
        Err(error) => unreachable!("texts and numbers are no JSON: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn events_and_messages_say_the_same() {
        let skipped = ControlMessage::Skipped { topic: "dns".into(), partition: 1, records: 5, next_offset: 9 };
        let text = "event: skipped\ndata: {\"next_offset\":9,\"partition\":1,\"records\":5,\"topic\":\"dns\"}\n\n";
        assert_eq!(event(&skipped), text);
        let found: Value = serde_json::from_str(&message(&skipped)).unwrap();
        let expected = json!({"type":"skipped","topic":"dns","partition":1,"records":5,"next_offset":9});
        assert_eq!(found, expected);
        let end = ControlMessage::End { code: "shutting_down".into(), error: "two\nlines".into() };
        assert_eq!(event(&end).lines().count(), 3, "one line of data");
    }
}
