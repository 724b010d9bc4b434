//! Appends batches to a topic.

use crate::body::Pieces;
use crate::client::{BATCH_TYPE, Call, query_value};
use crate::{Client, ClientError, clock};
use bytes::Bytes;
use http::Method;
use http::header::CONTENT_TYPE;
use rawline_batch::seal;

/// Where appended records lie: `first_offset..next_offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
pub struct Appended {
    /// Offset of the first record appended.
    pub first_offset: u64,
    /// Offset of the record that will follow the last one appended.
    pub next_offset: u64,
}

impl Client {
    /// Appends the batches whose bytes are `pieces` back to back, however they are cut; all or none become part of the
    /// topic.
    ///
    /// Is not tried again by itself: when the connection breaks or the time runs out, the records may have been
    /// appended and only the answer was lost, so sending them again may append them twice.
    pub async fn append(&self, topic: &str, pieces: Vec<Bytes>) -> Result<Appended, ClientError> {
        let body = Pieces::new(pieces);
        self.append_body(topic, body).await
    }

    /// Appends records that lie back to back in `data`, as one batch without compression. `data` is not copied.
    ///
    /// As [`Client::append`], is not tried again by itself.
    pub async fn append_records(&self, topic: &str, sizes: &[u32], data: Bytes) -> Result<Appended, ClientError> {
        let sealed = seal(sizes, &data, clock::now_us(), &self.config().limits)?;
        self.append(topic, vec![Bytes::from(sealed.front), data, Bytes::from_static(sealed.padding)]).await
    }

    pub(crate) async fn append_body(&self, topic: &str, body: Pieces) -> Result<Appended, ClientError> {
        if body.bytes_left() == 0 {
            return Err(rawline_batch::BatchError::Empty.into());
        }
        let call = Call {
            method: Method::POST,
            target: format!("/records?topic-name={}", query_value(topic)),
            headers: vec![(CONTENT_TYPE, BATCH_TYPE)],
            body,
        };
        let text = self.text_once(&call).await?;
        let appended: Appended = self.parse_json(&text)?;
        if appended.first_offset >= appended.next_offset {
            return Err(self.not_a_brokers(format!("{appended:?} for an append")));
        }
        Ok(appended)
    }
}
