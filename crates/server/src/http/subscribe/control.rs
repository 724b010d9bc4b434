//! What a subscriber gets besides records: JSON, the same in events and in text messages.

use crate::http::error::ApiError;
use serde_json::{Map, Value, json};

/// Something other than records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Control {
    /// The subscription has begun here, unless that is too long. Only on WebSockets: events begin with an id.
    Subscribed { cursor: Option<String> },
    /// The subscription is here now, and nothing is left to deliver. Only on WebSockets.
    Cursor { cursor: String },
    /// Records that are not delivered.
    Skipped { topic: String, partition: u32, records: u64, next_offset: u64 },
    /// A topic was deleted.
    Deleted { topic: String },
    /// The broker ends the subscription.
    End { code: &'static str, error: String },
}

impl Control {
    /// The end because of an error.
    pub fn end(error: &ApiError) -> Control {
        Control::End { code: error.code().name, error: error.to_string() }
    }

    /// The event's or message's type.
    pub fn kind(&self) -> &'static str {
        match self {
            Control::Subscribed { .. } => "subscribed",
            Control::Cursor { .. } => "cursor",
            Control::Skipped { .. } => "skipped",
            Control::Deleted { .. } => "deleted",
            Control::End { .. } => "end",
        }
    }

    /// What it says.
    fn fields(&self) -> Value {
        match self {
            Control::Subscribed { cursor: None } => json!({}),
            Control::Subscribed { cursor: Some(cursor) } | Control::Cursor { cursor } => json!({"cursor": cursor}),
            Control::Skipped { topic, partition, records, next_offset } => {
                json!({"topic": topic, "partition": partition, "records": records, "next_offset": next_offset})
            }
            Control::Deleted { topic } => json!({"topic": topic}),
            Control::End { code, error } => json!({"code": code, "error": error}),
        }
    }

    /// The text message of a WebSocket.
    pub fn message(&self) -> String {
        let mut message = Map::from_iter([("type".to_owned(), self.kind().into())]);
        if let Value::Object(fields) = self.fields() {
            message.extend(fields);
        }
        Value::Object(message).to_string()
    }

    /// The event of a stream.
    pub fn event(&self) -> String {
        format!("event: {}\ndata: {}\n\n", self.kind(), self.fields())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_and_messages_say_the_same() {
        let skipped = Control::Skipped { topic: "dns".into(), partition: 1, records: 5, next_offset: 9 };
        let event = "event: skipped\ndata: {\"next_offset\":9,\"partition\":1,\"records\":5,\"topic\":\"dns\"}\n\n";
        assert_eq!(skipped.event(), event);
        let message: Value = serde_json::from_str(&skipped.message()).unwrap();
        let expected = json!({"type":"skipped","topic":"dns","partition":1,"records":5,"next_offset":9});
        assert_eq!(message, expected);
        let end = Control::End { code: "shutting_down", error: "two\nlines".into() };
        assert_eq!(end.event().lines().count(), 3, "one line of data");
    }
}
