//! The cursor of a subscription, and the parts of it that stay the same while one partition advances.

use rawline_broker::subscriptions::Subscription;
use rawline_contract::{CURSOR_BYTES_MAX, ShortId};
use std::fmt::Write;

/// A cursor without the offset of one partition.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Around {
    /// Up to the offset.
    pub before: String,
    /// The rest of the text.
    pub after: String,
}

/// The cursor, unless it is too long to be sent.
pub(super) fn text(subscription: &Subscription) -> Option<String> {
    write(subscription, None).map(|around| around.before)
}

/// The cursor around the offset of a partition where the subscription is, unless it is too long to be sent.
pub(super) fn around(subscription: &Subscription, topic: &str, partition: u32) -> Option<Around> {
    write(subscription, Some((topic, partition)))
}

fn write(subscription: &Subscription, apart: Option<(&str, u32)>) -> Option<Around> {
    let mut around = Around { before: subscription.after_us().to_string(), after: String::new() };
    let (mut is_after, mut current) = (false, None);
    for (topic, id, partition, next_offset) in subscription.positions() {
        let text = if is_after { &mut around.after } else { &mut around.before };
        // A string takes everything.
        let _ = match current {
            Some(before) if before == topic => write!(text, ",{partition}="),
            _ => write!(text, ";{topic}~{}/{partition}=", ShortId(id)),
        };
        current = Some(topic);
        if apart == Some((topic, partition)) {
            is_after = true;
        } else {
            let _ = write!(text, "{next_offset}");
        }
        if around.before.len() + around.after.len() > CURSOR_BYTES_MAX - MARGIN {
            return None;
        }
    }
    Some(around)
}

/// Room for the last offset.
const MARGIN: usize = 32;
