//! The meaning of a client's messages: a state machine without I/O.

use super::message::{self, DataMessage};
use crate::http::websocket::{CloseCode, Message};
use serde_json::json;

/// Maximum number of prefixes that a client subscribes to: each topic is compared with them.
const PREFIXES_MAX: usize = 1024;

/// The action that a client's message requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// Send this text.
    Send(String),
    /// Deliver topics with these prefixes from now on, then send the text.
    Subscribe {
        prefixes: Vec<String>,
        ack: String,
    },
    /// Append the value to its topic; `input` is the message's number, for errors.
    Publish {
        message: DataMessage,
        input: u64,
    },
    Close(CloseCode, &'static str),
}

/// One client's session.
#[derive(Debug)]
pub(super) struct Session {
    /// Our identity, as the client learns it.
    endpoint: String,
    /// Messages after the subscription; `None` before it.
    inputs: Option<u64>,
}

impl Session {
    pub fn new(endpoint: String) -> Session {
        Session { endpoint, inputs: None }
    }

    /// The action that the next message requests.
    pub fn input(&mut self, message: &Message) -> Action {
        let Message::Text(text) = message else {
            return Action::Close(CloseCode::Unsupported, "send text messages; this path accepts no binary ones");
        };
        let Some(inputs) = &mut self.inputs else { return self.subscribe(text) };
        *inputs += 1;
        let input = *inputs;
        match message::read(text) {
            Ok(message) => Action::Publish { message, input },
            Err(refusal) => {
                let context = format!("input #{input} {}", refusal.context);
                Action::Send(error("deserialization_failed", &context, &refusal.detail))
            }
        }
    }

    /// The first message: an array of topics' prefixes. One that isn't doesn't count: the client can send another.
    fn subscribe(&mut self, text: &str) -> Action {
        let prefixes = match serde_json::from_str::<Vec<String>>(text) {
            Ok(prefixes) if prefixes.len() <= PREFIXES_MAX => prefixes,
            Ok(prefixes) => {
                let detail = format!("{} prefixes; subscribe to at most {PREFIXES_MAX}", prefixes.len());
                return Action::Send(error("invalid_subscription", "first input has too many prefixes", &detail));
            }
            Err(wrong) => {
                let context = "first input expected a JSON array of strings, the prefixes of topics";
                return Action::Send(error("deserialization_failed", context, &wrong.to_string()));
            }
        };
        self.inputs = Some(0);
        let version = concat!("rawline-", env!("CARGO_PKG_VERSION"));
        let ack = format!(r#"{{"type":"ack","endpoint":"{}","version":"{version}"}}"#, self.endpoint);
        Action::Subscribe { prefixes, ack }
    }
}

/// An error in the original's form, with the reason in an additional field.
pub(super) fn error(code: &str, context: &str, detail: &str) -> String {
    let (context, detail) = (json!(context), json!(detail));
    format!(r#"{{"type":"error","code":"{code}","context":{context},"detail":{detail}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(action: &Action) -> serde_json::Value {
        let Action::Send(text) = action else { panic!("{action:?}") };
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_session_begins_with_a_subscription() {
        let mut session = Session::new("id".into());
        for wrong in ["{\"foo\":1}", "hello", "[\"a\",1]", "\"x\""] {
            let answer = text(&session.input(&Message::text(wrong)));
            assert_eq!(
                (answer["type"].as_str(), answer["code"].as_str()),
                (Some("error"), Some("deserialization_failed"))
            );
            assert!(answer["context"].as_str().unwrap().contains("array of strings"), "{answer}");
        }
        let many = serde_json::to_string(&vec!["x"; PREFIXES_MAX + 1]).unwrap();
        assert_eq!(text(&session.input(&Message::text(many)))["code"], "invalid_subscription");
        let Action::Subscribe { prefixes, ack } = session.input(&Message::text(r#"["/test","/foo"]"#)) else {
            panic!("no subscription")
        };
        assert_eq!(prefixes, ["/test", "/foo"]);
        let ack: serde_json::Value = serde_json::from_str(&ack).unwrap();
        assert_eq!((ack["type"].as_str(), ack["endpoint"].as_str()), (Some("ack"), Some("id")));
    }

    #[test]
    fn inputs_are_counted_after_the_subscription() {
        let mut session = Session::new("id".into());
        session.input(&Message::text("[]"));
        let published = session.input(&Message::text(r#"{"topic":"/a","@data-type":"count","data":1}"#));
        assert!(matches!(published, Action::Publish { input: 1, .. }), "{published:?}");
        let answer = text(&session.input(&Message::text("[]")));
        assert_eq!(answer["context"], "input #2 expected a JSON object");
        assert!(matches!(session.input(&Message::binary(vec![0])), Action::Close(CloseCode::Unsupported, _)));
    }
}
