//! Large responses: few are built at once, and they wait for their clients in buffers of the pool.
//!
//! A request of a few bytes can request all partitions, or a topic's thousand. Each has 160 bytes while a response
//! is built and 27 in its bytes, so clients that ask and don't read would hold gigabytes.

use super::client::{Client, Kafka};
use super::error::ConnectionError;
use super::reply::Reply;
use bytes::Bytes;
use rawline_broker::pool::Gathered;
use rawline_kafka::Api;
use rawline_kafka::frame::RequestHeader;
use rawline_kafka::messages::Response;
use tokio::sync::SemaphorePermit;

/// Large responses that are built at once, outside the pool: as many as cores of a small machine. One of a hundred
/// thousand partitions has 20 MB until it is in buffers.
pub(super) const BUILDING_MAX: usize = 2;

/// Partitions, settings or the like in a response that any number of connections may build at once: the requests of
/// usual clients name a few topics.
const ENTRIES_MAX: usize = 500;

/// A response of more than this is built alone: one of a million partitions has some hundred MB meanwhile, or 100 MB
/// if it is Metadata's, whose topics are written one by one.
const SHARED_ENTRIES_MAX: usize = 200_000;

/// Maximum size of a response outside the pool in bytes. A connection has some tens of them, if its client sends
/// requests and doesn't read.
const UNBUFFERED_BYTES_MAX: usize = 1 << 10;

/// The building of one response.
pub(super) struct Building<'a> {
    kafka: &'a Kafka,
    permit: Option<SemaphorePermit<'a>>,
}

impl<'a> Building<'a> {
    pub fn new(kafka: &'a Kafka) -> Building<'a> {
        Building { kafka, permit: None }
    }

    /// Call before a response gets up to this many partitions, settings or similar parts.
    pub async fn begin(&mut self, entries: usize) {
        if entries > ENTRIES_MAX && self.permit.is_none() {
            let permits = if entries > SHARED_ENTRIES_MAX { BUILDING_MAX as u32 } else { 1 };
            // Never closed.
            self.permit = self.kafka.building.acquire_many(permits).await.ok();
        }
    }

    /// The response's bytes, in buffers if it isn't small.
    pub async fn finish(
        self,
        client: &Client,
        header: &RequestHeader,
        response: Response,
    ) -> Result<Reply, ConnectionError> {
        let (api, error, mut bytes) = (response.api(), response.error(), Vec::new());
        response.write(header.version, &mut bytes);
        drop(response);
        Ok(self.finish_written(client, header, api, bytes).await?.with_error(error))
    }

    /// The same with the response's bytes.
    pub async fn finish_written(
        self,
        client: &Client,
        header: &RequestHeader,
        api: Api,
        bytes: Vec<u8>,
    ) -> Result<Reply, ConnectionError> {
        if bytes.len() <= UNBUFFERED_BYTES_MAX {
            return Ok(Reply::new(header, api, [Bytes::from(bytes)]));
        }
        let reserved = client.peer.holder.reserve(bytes.len() as u64, self.kafka.config.pool_wait).await?;
        let mut buffers = Gathered::new(reserved);
        assert!(buffers.push(&bytes), "{} bytes of what was reserved for {}", buffers.bytes(), bytes.len());
        Ok(Reply::new(header, api, buffers.freeze()).with_buffers())
    }
}
