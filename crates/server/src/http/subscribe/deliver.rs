//! Reads the next delivery of a subscription, in the same way for all forms.

use crate::access::Caller;
use crate::http::api::Api;
use crate::http::error::ApiError;
use crate::http::read::is_gap;
use crate::http::select;
use crate::http::topics;
use crate::metrics::{Metered, Protocol};
use rawline_broker::subscriptions::{Event, Records, Subscription};
use rawline_broker::{ReadAnswer, ReadError, ReadRequest};
use rawline_contract::subscription::ControlMessage;
use rawline_contract::{Payload, ShortId, code};
use rawline_value::Filter;
use std::sync::Arc;
use std::time::Duration;

/// After this time without a delivery, a keep-alive is sent, so that the connection isn't taken for broken.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(15);

/// The settings of a subscription.
pub(super) struct Wanted {
    /// The caller, with its grants and quota.
    pub caller: Arc<Caller>,
    pub subscription: Subscription,
    /// Which values of the topics; other topics are left out.
    pub filter: Option<Filter>,
}

/// The next delivery.
pub(super) enum Step {
    /// Something other than records.
    Say(ControlMessage<'static>),
    /// Records that were read; when they are sent, or some of them, the subscription learns how far they go.
    Records(Records, ReadAnswer),
    /// The subscription is over.
    End(ApiError),
}

/// How much is read at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub records_max: u64,
    /// 0 for the maximum of a read.
    pub bytes_max: u64,
    /// Whether the form leaves out the batches' checksums.
    pub verify: bool,
    /// Whether empty batches are delivered, which cover removed offsets.
    pub has_gaps: bool,
}

impl Wanted {
    /// Waits for the next delivery. Cancel-safe.
    pub async fn next(&mut self, api: &Api, protocol: Protocol) -> Result<Event, ApiError> {
        let caller = self.caller.clone();
        tokio::select! {
            biased;
            () = caller.ended() => Err(key_changed()),
            event = self.next_within_quota(api, protocol) => event,
        }
    }

    async fn next_within_quota(&mut self, api: &Api, protocol: Protocol) -> Result<Event, ApiError> {
        let wait = self.caller.read_wait();
        if !wait.is_zero() {
            api.metrics.exceeded(protocol, Metered::Read);
            tokio::time::sleep(wait).await;
        }
        Ok(self.subscription.next(&api.broker).await?)
    }

    /// The actions for an event, in order.
    pub async fn steps(&mut self, api: &Api, event: Event, size: Size) -> Vec<Step> {
        match event {
            Event::Deleted { topic } => vec![Step::Say(ControlMessage::Deleted { topic: topic.to_string().into() })],
            Event::Ended => {
                let message = "all topics of this subscription were deleted; subscribe to others";
                vec![Step::End(ApiError::new(code::TOPIC_NOT_FOUND, message))]
            }
            Event::TooSlow { records, lag } => {
                api.metrics.subscriptions.disconnected();
                let Records { topic, number, .. } = records;
                let message = format!(
                    "the lag in {topic}/{number} is {lag} records, more than max-lag; resume from the cursor, read \
                     faster, or use slow=skip"
                );
                vec![Step::End(ApiError::new(code::SUBSCRIBER_SLOW, message))]
            }
            Event::Records(records) => self.records(api, records, size).await,
        }
    }

    async fn records(&mut self, api: &Api, records: Records, size: Size) -> Vec<Step> {
        let mut steps = Vec::new();
        let Records { offset, skipped, .. } = records;
        if self.filter.is_some() && topics::payload(&records.partition) != Payload::Value {
            let end = records.partition.stable_offset().max(offset);
            self.subscription.delivered(&records, end, end);
            return steps;
        }
        if let Some(id) = self.subscription.introduce(&records) {
            let (topic, id) = (records.topic.to_string().into(), ShortId(id).to_string().into());
            steps.push(Step::Say(ControlMessage::Topic { topic, id }));
        }
        if skipped > 0 {
            api.metrics.subscriptions.skipped(skipped);
            let (topic, partition) = (records.topic.to_string().into(), records.number);
            steps.push(Step::Say(ControlMessage::Skipped { topic, partition, records: skipped, next_offset: offset }));
        }
        let Size { records_max, bytes_max, verify, has_gaps } = size;
        let request = ReadRequest { offset, records_max, bytes_max, wait: Duration::ZERO, verify };
        match records.partition.read(&request).await {
            Ok(read) => match has_nothing(&read, has_gaps) {
                Ok(true) => {
                    let end = if read.end_offset > offset { read.next_offset.max(read.end_offset) } else { offset };
                    self.subscription.delivered(&records, read.end_offset.max(offset), end);
                }
                Ok(false) => steps.push(Step::Records(records, read)),
                Err(error) => steps.push(Step::End(error)),
            },
            // Its next turn reports that.
            Err(ReadError::Deleted { .. }) => {}
            Err(ReadError::TopicDeleted { .. }) => self.subscription.gone(&records),
            Err(error) => steps.push(Step::End(error.into())),
        }
        steps
    }
}

/// Whether there is nothing to deliver: nothing was read, or only batches without records that the form leaves out.
fn has_nothing(read: &ReadAnswer, has_gaps: bool) -> Result<bool, ApiError> {
    Ok(read.pieces.is_empty() || (!has_gaps && is_gap(read)?))
}

/// Says that the records before an offset are skipped.
pub(super) fn skipped(api: &Api, records: &Records, next_offset: u64) -> ControlMessage<'static> {
    let count = next_offset - records.offset;
    api.metrics.subscriptions.skipped(count);
    let (topic, partition) = (records.topic.to_string().into(), records.number);
    ControlMessage::Skipped { topic, partition, records: count, next_offset }
}

/// Notes why records are skipped: subscribers learn only that they are.
pub(super) fn unreadable(records: &Records, error: &ApiError) {
    let (topic, partition) = (&*records.topic, records.number);
    tracing::warn!(topic, partition, %error, "a subscription skips a batch that can't be read");
}

/// All that was read.
pub(super) fn all(offset: u64, unpacked_bytes_max: u64) -> select::Wanted {
    select::Wanted { offset, records_max: u64::MAX, bytes_max: u64::MAX, unpacked_bytes_max, spans_gaps: true }
}

/// The error of a subscription that ends with the broker.
pub(crate) fn stopping() -> ApiError {
    ApiError::new(code::SHUTTING_DOWN, "the broker is shutting down; resume from the cursor when it is running again")
}

/// The error of a subscription that another broker of the client's zone serves from now on.
pub(super) fn nearer() -> ApiError {
    let message = "another broker of the client's zone serves these topics from now on; subscribe again";
    ApiError::new(code::BROKER_NEARER, message)
}

/// The error of a subscription whose caller may not have the same grants any more.
pub(crate) fn key_changed() -> ApiError {
    ApiError::new(code::KEY_CHANGED, "this key was changed or removed; resume from the cursor with a key that counts")
}
