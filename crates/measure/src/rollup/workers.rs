//! Decodes reads on all threads. Decodes a read again after a refresh if it has an unknown schema.

use crate::MeasureError;
use crate::layout::Counts;
use crate::rollup::chunk::Columns;
use crate::rollup::decode::{BadMessage, Decoder};
use crate::rollup::options::Refresh;
use rawline_avro::{Framing, SchemaStore};
use rawline_client::Fetched;
use rawline_series::{MeasurementReader, SeriesTable};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// A pool of decoders, one per thread.
pub(crate) struct Workers {
    pub(crate) topic: String,
    pub(crate) schemas: Arc<SchemaStore>,
    pub(crate) framing: Framing,
    pub(crate) refresh: Option<Refresh>,
    pub(crate) table: Arc<SeriesTable>,
    pub(crate) idle: Mutex<Vec<Decoder>>,
}

/// A decoded read, and its buffer.
pub(crate) struct Decoded {
    pub(crate) fetched: Fetched,
    pub(crate) columns: Columns,
    pub(crate) counts: Counts,
    pub(crate) bad: Vec<BadMessage>,
    pub(crate) missing_schema: bool,
}

impl Workers {
    /// Decodes a read, and decodes it again after a refresh if it has messages of unknown schemas.
    pub(crate) async fn decode(self: Arc<Self>, fetched: Fetched, wanted: Range<u64>) -> Result<Decoded, MeasureError> {
        let decoded = self.clone().decode_blocking(fetched, wanted.clone()).await?;
        let Some(refresh) = self.refresh.as_ref().filter(|_| decoded.missing_schema) else { return Ok(decoded) };
        refresh().await.map_err(|reason| MeasureError::Schemas {
            topic: self.topic.clone(),
            first_offset: wanted.start,
            end_offset: wanted.end,
            reason,
        })?;
        let Decoded { fetched, columns, .. } = decoded;
        drop(columns);
        self.clone().decode_blocking(fetched, wanted).await
    }

    async fn decode_blocking(self: Arc<Self>, fetched: Fetched, wanted: Range<u64>) -> Result<Decoded, MeasureError> {
        #[expect(clippy::disallowed_methods, reason = "decoding would stall a worker")]
        let decoding = tokio::task::spawn_blocking(move || self.decode_once(fetched, &wanted));
        decoding.await.map_err(|error| MeasureError::BrokeOff { reason: error.to_string() })
    }

    fn decode_once(&self, fetched: Fetched, wanted: &Range<u64>) -> Decoded {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let new = || Decoder::new(MeasurementReader::new(self.schemas.clone(), self.framing, self.table.clone()));
        let mut decoder = idle.unwrap_or_else(new);
        let rows = usize::try_from(wanted.end.saturating_sub(wanted.start)).unwrap_or(0);
        let (series, time_ms, value) = (Vec::with_capacity(rows), Vec::with_capacity(rows), Vec::with_capacity(rows));
        let mut columns = Columns { series, time_ms, value };
        let mut bad = Vec::new();
        let counts = decoder.decode(&fetched, wanted, &mut columns, &mut bad);
        let missing_schema = decoder.missing_schema();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(decoder);
        Decoded { fetched, columns, counts, bad, missing_schema }
    }
}
