//! Names the broker of a client's zone that serves what the client reads, if that is another one than this.

use crate::http::api::Api;
use crate::http::query::Query;
use http::{HeaderMap, HeaderValue};
use rawline_broker::cluster::{Brokers, Card};
use rawline_contract::header;

/// What a client that names its zone reads.
pub(crate) struct ZonedRead {
    zone: String,
    topic: String,
    partition: u32,
}

impl ZonedRead {
    /// `None` if the request names no zone. A subscription counts as its first topic, or as its first prefix.
    pub fn of(headers: &HeaderMap, query: &Query<'_>) -> Option<ZonedRead> {
        let zone = std::str::from_utf8(headers.get(header::ZONE)?.as_bytes()).ok()?;
        let topic = query.text("topic-name").or_else(|| query.text("topic-prefix"))?;
        let partition = query.partition().ok().and_then(|partition| u32::try_from(partition).ok())?;
        Some(ZonedRead { zone: zone.to_owned(), topic, partition })
    }

    /// The URL of the other broker that serves it.
    pub fn nearer(&self, api: &Api) -> Option<HeaderValue> {
        let brokers = api.broker.cluster()?.brokers();
        let url = self.reader(&brokers)?.url.as_deref()?;
        HeaderValue::from_str(url).ok()
    }

    /// Returns when another broker begins to serve it, after this call.
    pub fn moves(self, api: &Api) -> impl Future<Output = ()> + Send + use<> {
        let id = move |brokers: &Brokers| self.reader(brokers).map(|card| card.id);
        let mut brokers = api.broker.cluster().map(|cluster| cluster.watch());
        let mut known = brokers.as_mut().and_then(|brokers| id(&brokers.borrow_and_update()));
        async move {
            let Some(mut brokers) = brokers else { return std::future::pending().await };
            while brokers.changed().await.is_ok() {
                let now = id(&brokers.borrow_and_update());
                if now.is_some() && now != known {
                    return;
                }
                known = now;
            }
            std::future::pending().await
        }
    }

    fn reader<'a>(&self, brokers: &'a Brokers) -> Option<&'a Card> {
        let reader = brokers.reader(&self.zone, &self.topic, self.partition, |card| card.url.is_some());
        reader.filter(|card| card.id != brokers.me)
    }
}
