//! Fields that look like types of our values, reported so that the user can select them with --as.

use crate::sample::Sample;
use crate::shape::Shape;
use rawline_value::{Address, FieldHint, TimestampNs};
use serde_json::Value as Json;

/// Messages to inspect.
const MESSAGES_MAX: usize = 100;

/// A note that names the options, if no type was requested and any field looks like one.
pub fn of(sample: &Sample, types: &[FieldHint]) -> Option<String> {
    let Shape::Record(slots) = &sample.shape else { return None };
    if !types.is_empty() {
        return None;
    }
    let mut options = Vec::new();
    for slot in slots.iter().filter(|slot| slot.shape == Shape::Text) {
        let mut texts = sample
            .messages
            .iter()
            .take(MESSAGES_MAX)
            .filter_map(|message| message.json.get(&slot.key).and_then(Json::as_str))
            .peekable();
        if texts.peek().is_none() {
            continue;
        }
        let all: Vec<&str> = texts.collect();
        if all.iter().all(|text| text.parse::<Address>().is_ok()) {
            options.push(format!("--as {}=address", slot.key));
        } else if all.iter().all(|text| text.parse::<TimestampNs>().is_ok()) {
            options.push(format!("--as {}=timestamp", slot.key));
        }
    }
    if options.is_empty() {
        return None;
    }
    Some(format!("our values keep addresses and times in fewer bytes if asked to: {}", options.join(" ")))
}
