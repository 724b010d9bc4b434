//! Control messages on a subscription's WebSocket: text messages in JSON.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A text message of the broker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ControlMessage<'a> {
    /// The first message: where the subscription begins.
    Subscribed {
        /// A [`Cursor`](super::Cursor) as text, unless it is too long to be sent.
        #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
        cursor: Option<Cow<'a, str>>,
    },
    /// Before the first records of a topic whose id isn't in the cursor with which the client has begun, or is another
    /// one there.
    Topic {
        /// The topic.
        #[serde(borrow)]
        topic: Cow<'a, str>,
        /// A [`ShortId`](super::ShortId) as text.
        #[serde(borrow)]
        id: Cow<'a, str>,
    },
    /// Records of a partition were not delivered: they were deleted, or the subscriber was too slow.
    Skipped {
        /// The topic.
        #[serde(borrow)]
        topic: Cow<'a, str>,
        /// The partition.
        partition: u32,
        /// Number of records.
        records: u64,
        /// Offset of the next record of the partition.
        next_offset: u64,
    },
    /// A topic was deleted.
    Deleted {
        /// The topic.
        #[serde(borrow)]
        topic: Cow<'a, str>,
    },
    /// The current position of the subscription.
    Cursor {
        /// A [`Cursor`](super::Cursor) as text.
        #[serde(borrow)]
        cursor: Cow<'a, str>,
    },
    /// The broker ends the subscription.
    End {
        /// The name of a [`Code`](crate::Code).
        #[serde(borrow)]
        code: Cow<'a, str>,
        /// A human-readable message that says what to do.
        #[serde(borrow)]
        error: Cow<'a, str>,
    },
    /// A message of a newer broker, to be ignored.
    #[serde(other)]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_object_with_a_type() {
        let skipped = ControlMessage::Skipped { topic: "dns".into(), partition: 1, records: 7, next_offset: 12 };
        for (message, text) in [
            (
                ControlMessage::Subscribed { cursor: Some("5;dns/0=1".into()) },
                r#"{"type":"subscribed","cursor":"5;dns/0=1"}"#,
            ),
            (ControlMessage::Subscribed { cursor: None }, r#"{"type":"subscribed"}"#),
            (skipped, r#"{"type":"skipped","topic":"dns","partition":1,"records":7,"next_offset":12}"#),
            (
                ControlMessage::Topic { topic: "dns".into(), id: "5f3c02aa".into() },
                r#"{"type":"topic","topic":"dns","id":"5f3c02aa"}"#,
            ),
            (ControlMessage::Deleted { topic: "dns".into() }, r#"{"type":"deleted","topic":"dns"}"#),
            (ControlMessage::Cursor { cursor: "5".into() }, r#"{"type":"cursor","cursor":"5"}"#),
            (
                ControlMessage::End { code: "c".into(), error: "say \"why\"".into() },
                r#"{"type":"end","code":"c","error":"say \"why\""}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&message).unwrap(), text);
            assert_eq!(serde_json::from_str::<ControlMessage<'_>>(text).unwrap(), message);
        }
        let newer = r#"{"type":"weather","sunny":[true]}"#;
        assert_eq!(serde_json::from_str::<ControlMessage<'_>>(newer).unwrap(), ControlMessage::Unknown);
        assert!(serde_json::from_str::<ControlMessage<'_>>(r#"{"type":"deleted"}"#).is_err());
    }
}
