//! The records that a client has subscribed to, without those that it has published itself.
//!
//! It buffers no records. Deliveries are read from the log, so a slow client costs one read.

use super::topic;
use crate::access::Caller;
use crate::http::api::Api;
use crate::http::error::ApiError;
use crate::http::subscribe::query::granted;
use crate::http::topics;
use rawline_broker::subscriptions::{Event, Records, Slow, Subscribe, Subscription};
use rawline_contract::Payload;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// The subscriptions of a client.
#[derive(Default)]
pub(super) struct Feed {
    prefixes: Vec<String>,
    /// None before the client has subscribed, and if it has subscribed to nothing.
    subscription: Option<Subscription>,
    /// The client's own published messages that are still ahead, by topic: it doesn't receive them.
    own: BTreeMap<String, VecDeque<Range<u64>>>,
}

impl Feed {
    /// From the end of the topics that exist now, and the first record of those that come later; of topics that the
    /// caller may read.
    pub async fn new(api: &Api, caller: &Caller, prefixes: Vec<String>) -> Result<Feed, ApiError> {
        if prefixes.is_empty() {
            return Ok(Feed::default());
        }
        let mut names: Vec<String> = prefixes.iter().map(|prefix| topic::name_prefix(prefix)).collect();
        names.sort_unstable();
        names.dedup();
        let mut single = Vec::new();
        let names = granted(api, caller, names, &mut single).await?;
        let subscribe = Subscribe {
            names: single,
            prefixes: names,
            partition: None,
            after_us: None,
            positions: BTreeMap::new(),
            slow: Slow::Disconnect,
            lag_max: None,
        };
        let subscription = Some(api.broker.subscribe(subscribe).await?);
        Ok(Feed { prefixes, subscription, own: BTreeMap::new() })
    }

    /// A partition with records to deliver. Cancel-safe.
    pub async fn next(&mut self, api: &Api) -> Result<Records, ApiError> {
        let Some(subscription) = &mut self.subscription else { return std::future::pending().await };
        loop {
            match subscription.next(&api.broker).await? {
                Event::Records(records) => {
                    let text = topic::decode(&records.topic);
                    let is_wanted = text
                        .is_some_and(|text| self.prefixes.iter().any(|prefix| text.starts_with(prefix)))
                        && topics::payload(&records.partition) == Payload::Value;
                    if is_wanted {
                        return Ok(records);
                    }
                    let end = records.partition.stable_offset().max(records.offset);
                    subscription.delivered(&records, end, end);
                }
                Event::Deleted { topic } => drop(self.own.remove(&*topic)),
                // All topics that the caller may read were deleted.
                Event::Ended => return std::future::pending().await,
                event @ Event::TooSlow { .. } => unreachable!("{event:?} without a limit"),
            }
        }
    }

    /// The partition's records up to `next_offset` are delivered, where `end_offset` is the end of the readable
    /// records.
    pub fn delivered(&mut self, records: &Records, next_offset: u64, end_offset: u64) {
        if let Some(subscription) = &mut self.subscription {
            subscription.delivered(records, next_offset, end_offset);
        }
    }

    /// The partition is gone.
    pub fn gone(&mut self, records: &Records) {
        if let Some(subscription) = &mut self.subscription {
            subscription.gone(records);
        }
    }

    /// The client has published these records of a topic.
    pub fn published(&mut self, name: String, topic: &str, offsets: Range<u64>) {
        if !self.prefixes.iter().any(|prefix| topic.starts_with(prefix)) {
            return;
        }
        let own = self.own.entry(name).or_default();
        match own.back_mut() {
            Some(last) if last.end == offsets.start => last.end = offsets.end,
            _ => own.push_back(offsets),
        }
    }

    /// The first record of a partition, from the offset on at which the client is, that it hasn't published, and where
    /// the next one is that it has.
    pub fn next_of_others(&mut self, records: &Records) -> (u64, u64) {
        let mut offset = records.offset;
        let own = self.own.get_mut(&*records.topic).filter(|_| records.number == 0);
        let Some(own) = own else { return (offset, u64::MAX) };
        while let Some(range) = own.front() {
            if offset < range.start {
                return (offset, range.start);
            }
            offset = offset.max(range.end);
            own.pop_front();
        }
        (offset, u64::MAX)
    }
}
