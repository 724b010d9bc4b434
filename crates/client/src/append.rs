//! Appends batches to a partition.

use crate::body::Pieces;
use crate::call::{Call, query_value};
use crate::client::Client;
use crate::error::ClientError;
use crate::limits::ALIGNMENT;
use crate::owners::{Owner, Owners, is_unsent};
use crate::partition::TopicPartition;
use bytes::Bytes;
use http::Method;
use http::header::CONTENT_TYPE;
use rawline_batch::seal;
use rawline_contract::{Appended, MediaType, ProducerInstance, path};
use std::time::Duration;

impl Client {
    /// Appends the batches whose bytes are the concatenated `pieces`, split anywhere. Appends all of them or none.
    ///
    /// Not retried automatically: when the connection breaks or the request times out, the records may have been
    /// appended and only the response was lost. Sending them again may append them a second time.
    pub async fn append<'a>(
        &self,
        to: impl Into<TopicPartition<'a>>,
        pieces: Vec<Bytes>,
    ) -> Result<Appended, ClientError> {
        self.append_body(to.into(), MediaType::Batch, Pieces::new(pieces)).await
    }

    /// Like [`Client::append`], for Kafka's batches (RecordBatch, version 2), whose records can have keys, headers and
    /// times. A [`RecordBatchBuilder`](crate::RecordBatchBuilder) makes them. Needs a broker whose storage has a
    /// journal.
    pub async fn append_record_batches<'a>(
        &self,
        to: impl Into<TopicPartition<'a>>,
        pieces: Vec<Bytes>,
    ) -> Result<Appended, ClientError> {
        self.append_body(to.into(), MediaType::RecordBatch, Pieces::new(pieces)).await
    }

    /// Appends the records concatenated in `data` as one batch without compression. `data` is not copied.
    ///
    /// Not retried automatically, like [`Client::append`].
    pub async fn append_records<'a>(
        &self,
        to: impl Into<TopicPartition<'a>>,
        sizes: &[u32],
        data: Bytes,
    ) -> Result<Appended, ClientError> {
        let sealed = seal(sizes, &data, self.environment().now_us(), &self.config().limits)?;
        let body = Pieces::new(vec![Bytes::from(sealed.front), data, Bytes::from_static(sealed.padding)]);
        let (bytes, records) = (body.bytes_left(), sizes.len() as u64);
        assert!(
            bytes.is_multiple_of(ALIGNMENT as u64),
            "a batch of {records} records has {bytes} bytes, which are not aligned"
        );
        let appended = self.append_body(to.into(), MediaType::Batch, body).await?;
        if appended.next_offset - appended.first_offset != records {
            return Err(self.not_a_brokers(format!("{appended:?} for an append of {records} records")));
        }
        Ok(appended)
    }

    /// Opens a new instance of a named producer: from then on, no older instance of this name can append. Retried; each
    /// try may open one. [`ProducerConfig::name`](crate::ProducerConfig::name) does this for a producer.
    pub async fn open_producer(&self, name: &str) -> Result<ProducerInstance, ClientError> {
        let call = Call::new(Method::POST, format!("{}?producer-name={}", path::PRODUCER, query_value(name)));
        let text = self.text(&call).await?;
        self.parse_json(&text)
    }

    /// Appends a body of batches at the owner of the topic's journal, if that is known.
    async fn append_body(
        &self,
        to: TopicPartition<'_>,
        media_type: MediaType,
        body: Pieces,
    ) -> Result<Appended, ClientError> {
        self.begin_append(self.owner_of(to.topic), to, media_type, body, None).await
    }

    /// The owner of the topic's journal, if it is another broker than the one that this client uses.
    pub(crate) fn owner_of(&self, topic: &str) -> Option<Owner> {
        self.inner.owners.as_ref()?.of(topic)
    }

    /// Begins to append a body of batches at this owner of the journal, or at any broker; with an epoch exactly once,
    /// by the numbers in them (Kafka's batches have their epoch themselves). A small one of ours takes its place on a
    /// connection now: batches of several calls to the same broker arrive in the order of the calls. The rest
    /// happens in the future. If the owner can't be reached, another broker forwards it.
    pub(crate) fn begin_append(
        &self,
        owner: Option<Owner>,
        to: TopicPartition<'_>,
        media_type: MediaType,
        body: Pieces,
        epoch: Option<u16>,
    ) -> impl Future<Output = Result<Appended, ClientError>> + Send + use<> {
        let (topic, partition) = (to.topic.to_owned(), to.partition);
        let again = owner.as_ref().map(|_| body.clone());
        let sender = owner.as_ref().map_or(self, |owner| &owner.client);
        let sent = sender.send_append(to, media_type, body, epoch);
        let client = self.clone();
        async move {
            let mut sent = sent.await;
            if let (Some(owner), Err(error)) = (&owner, &sent) {
                client.owners().failed(&topic, owner, error);
                if let Some(body) = again.filter(|_| is_unsent(error)) {
                    let to = TopicPartition { topic: &topic, partition };
                    sent = client.send_append(to, media_type, body, epoch).await;
                }
            }
            let Sent { appended, owner } = sent?;
            if let Some(url) = owner {
                client.owners().learn(&topic, &url, &client);
            }
            Ok(appended)
        }
    }

    fn owners(&self) -> &Owners {
        let Some(owners) = &self.inner.owners else { unreachable!("the client of an owner appends by itself") };
        owners
    }

    /// Sends an append to this client's broker.
    fn send_append(
        &self,
        to: TopicPartition<'_>,
        media_type: MediaType,
        body: Pieces,
        epoch: Option<u16>,
    ) -> impl Future<Output = Result<Sent, ClientError>> + Send + use<> {
        let is_ours = media_type == MediaType::Batch;
        let epoch = epoch.filter(|_| is_ours);
        let is_ordered = epoch.is_some();
        let epoch = epoch.map_or(String::new(), |epoch| format!("&producer-epoch={epoch}"));
        let target = format!("{}?{to}{epoch}", path::RECORDS);
        let is_empty = body.bytes_left() == 0;
        let small = if is_empty || !is_ours { None } else { self.inner.small_head.request(&target, &body) };
        let queued = small.map(|request| (self.join(&request, is_ordered), request));
        let client = self.clone();
        async move {
            if is_empty {
                return Err(rawline_batch::BatchError::Empty.into());
            }
            let (text, owner) = match queued {
                Some((ticket, request)) => client.shared_text(request, ticket).await?,
                None => {
                    let headers = vec![(CONTENT_TYPE, media_type.header_value())];
                    let call = Call { method: Method::POST, target, headers, body };
                    client.text_and_owner(&call, Duration::ZERO).await?
                }
            };
            let appended: Appended = client.parse_json(&text)?;
            if appended.first_offset >= appended.next_offset {
                return Err(client.not_a_brokers(format!("{appended:?} for an append")));
            }
            Ok(Sent { appended, owner })
        }
    }
}

/// An append that was stored.
struct Sent {
    appended: Appended,
    /// The URL of the owner to which it was forwarded.
    owner: Option<String>,
}
