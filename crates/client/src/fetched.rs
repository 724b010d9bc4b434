//! The result of a read, or a subscription's message: whole batches in one buffer, and their records as slices of it.

use crate::checked::{Checked, CheckedSelection};
use crate::error::ClientError;
use crate::kafka_records::KafkaRecords;
use crate::partition::TopicPartition;
use crate::selected::SelectedRecords;
use rawline_batch::record_batch::{self, Headers, RecordBatchHeader};
use rawline_batch::{Batch, BatchMeta, Codec, Limits, U32, decompress_into};
use rawline_contract::subscription::Selection;

/// Checked batches of one kind, concatenated in one buffer that is reused from read to read.
#[derive(Debug, Default)]
pub struct Fetched {
    buffer: Vec<u8>,
    batches: Checked,
    /// A batch of Kafka's may unpack to this many bytes.
    raw_bytes_max: u32,
    /// Decompressed data of the batch whose records are being returned.
    unpacked: Vec<u8>,
    topic: String,
    partition: u32,
    requested_offset: u64,
    first_offset: u64,
    next_offset: u64,
    topic_next_offset: u64,
}

impl Fetched {
    /// Whether no record was available in time.
    pub fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// The topic that was read.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Whether a compaction has removed all requested records: the next read begins after them.
    pub(crate) fn is_gap(&self) -> bool {
        let Checked::Kafka(batches) = &self.batches else { return false };
        !batches.is_empty() && batches.iter().all(|batch| batch.header.records == 0)
    }

    /// The partition that was read.
    pub fn partition(&self) -> u32 {
        self.partition
    }

    pub(crate) fn set_partition(&mut self, from: TopicPartition<'_>) {
        self.topic.clear();
        self.topic.push_str(from.topic);
        self.partition = from.partition;
    }

    /// Length of the received batches in bytes.
    pub fn bytes(&self) -> u64 {
        self.buffer.len() as u64
    }

    /// The received bytes: concatenated batches; of selected records also their offsets and sizes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Whether the batches are Kafka's.
    pub fn is_kafka(&self) -> bool {
        matches!(self.batches, Checked::Kafka(_))
    }

    /// Records that a subscription's filter has selected, which are in no batch, and the time of the batch in which
    /// they are stored, in microseconds since the Unix epoch.
    pub fn selection(&self) -> Option<(Selection<'_>, u64)> {
        selection(&self.batches, &self.buffer)
    }

    /// Position and lengths of each batch. Kafka's batches have none: see [`Fetched::record_batches`].
    pub fn metas(&self) -> &[BatchMeta] {
        match &self.batches {
            Checked::Rawline(batches) => batches,
            Checked::Kafka(_) | Checked::Selection(_) => &[],
        }
    }

    /// Offset of the first record in the buffer. It is lower than the requested offset if that lies in a compressed
    /// batch or in one of Kafka's, which are returned whole.
    pub fn first_offset(&self) -> u64 {
        self.first_offset
    }

    /// Offset after the last received record: where the next read begins.
    pub fn next_offset(&self) -> u64 {
        self.next_offset
    }

    /// The partition's next offset at the time of the response.
    pub fn topic_next_offset(&self) -> u64 {
        self.topic_next_offset
    }

    /// Number of offsets from the requested one on: as many as records, or more in a compacted topic and if a filter
    /// selects records.
    pub fn records_count(&self) -> u64 {
        self.next_offset - self.requested_offset
    }

    /// The offset that was requested.
    pub fn requested_offset(&self) -> u64 {
        self.requested_offset
    }

    /// The batches as received, each with the offset of its first record. The first may begin before the requested
    /// offset. Kafka's batches aren't among them: [`ReadOptions::values_only`](crate::ReadOptions::values_only) has
    /// them converted.
    pub fn batches(&self) -> impl Iterator<Item = (u64, Batch<'_>)> {
        let mut offset = self.first_offset;
        self.metas().iter().map(move |meta| {
            let first_offset = offset;
            offset += u64::from(meta.records);
            (first_offset, batch(&self.buffer, meta))
        })
    }

    /// Kafka's batches as received, each with the offset of its first record, its header and its bytes.
    pub fn record_batches(&self) -> impl Iterator<Item = (u64, &RecordBatchHeader, &[u8])> {
        let batches = match &self.batches {
            Checked::Rawline(_) | Checked::Selection(_) => &[],
            Checked::Kafka(batches) => batches.as_slice(),
        };
        let mut offset = self.first_offset;
        batches.iter().map(move |batch| {
            let first_offset = offset;
            offset += u64::from(batch.header.offsets);
            let begin = batch.position as usize;
            let Some(bytes) = self.buffer.get(begin..begin + batch.header.batch_bytes as usize) else {
                unreachable!("{batch:?} is not in {} received bytes", self.buffer.len())
            };
            (first_offset, &batch.header, bytes)
        })
    }

    /// The records from the requested offset on, as slices of the received bytes. Records of a compressed batch are
    /// slices of a scratch buffer, which is reused for the next compressed batch.
    pub fn records(&mut self) -> FetchedRecords<'_> {
        let (batches, kafka) = match &self.batches {
            Checked::Rawline(batches) => (batches.as_slice(), None),
            Checked::Kafka(batches) => {
                (&[][..], Some(KafkaRecords::new(batches, self.first_offset, self.raw_bytes_max)))
            }
            Checked::Selection(_) => (&[][..], None),
        };
        let selected =
            selection(&self.batches, &self.buffer).map(|(selection, time_us)| SelectedRecords::new(selection, time_us));
        FetchedRecords {
            buffer: &self.buffer,
            batches: batches.iter(),
            kafka,
            selected,
            unpacked: &mut self.unpacked,
            partition: self.partition,
            requested_offset: self.requested_offset,
            next_batch_offset: self.first_offset,
            next_offset: self.next_offset,
            current: None,
        }
    }

    /// Begins a read of batches none of which may unpack to more than `raw_bytes_max` bytes.
    pub(crate) fn begin(&mut self, requested_offset: u64, raw_bytes_max: u32) {
        self.buffer.clear();
        self.batches = Checked::default();
        self.raw_bytes_max = raw_bytes_max;
        self.requested_offset = requested_offset;
        self.first_offset = requested_offset;
        self.next_offset = requested_offset;
        self.topic_next_offset = requested_offset;
    }

    /// The buffer for receiving.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Completes a read: the buffer holds `batches`, whose first record is at `first_offset`. The caller has checked
    /// that they reach the requested offset.
    pub(crate) fn end(&mut self, first_offset: u64, topic_next_offset: u64, batches: Checked) {
        let next_offset = first_offset + batches.records();
        assert_eq!(
            batches.bytes(),
            Some(self.buffer.len() as u64),
            "bytes in checked batches that follow each other, and in the buffer"
        );
        let requested = self.requested_offset;
        assert!(requested <= next_offset, "{first_offset}..{next_offset} for offset {requested}");
        self.first_offset = first_offset;
        self.next_offset = next_offset;
        self.topic_next_offset = topic_next_offset;
        self.batches = batches;
    }

    /// Completes a subscription's message, which ends before `end_offset`. The caller has checked the offsets.
    pub(crate) fn end_delivery(&mut self, first_offset: u64, end_offset: u64, content: Checked) {
        match content {
            Checked::Selection(CheckedSelection { bytes, .. }) => {
                assert_eq!(bytes, self.buffer.len() as u64, "bytes of a selection, and in the buffer");
                (self.first_offset, self.next_offset, self.topic_next_offset) = (first_offset, end_offset, end_offset);
                self.batches = content;
            }
            batches => self.end(first_offset, end_offset, batches),
        }
    }

    pub(crate) fn end_empty(&mut self, topic_next_offset: u64) {
        assert!(self.buffer.is_empty(), "{} bytes were received of a read without records", self.buffer.len());
        self.topic_next_offset = topic_next_offset;
    }
}

/// The selected records in a buffer, with their time, if it has any.
fn selection<'a>(checked: &Checked, buffer: &'a [u8]) -> Option<(Selection<'a>, u64)> {
    let Checked::Selection(CheckedSelection { time_us, .. }) = *checked else { return None };
    match Selection::parse_trusted(buffer) {
        Ok(selection) => Some((selection, time_us)),
        Err(error) => unreachable!("checked records: {error}"),
    }
}

/// The batch that `meta` describes. It was checked when it was received, so it always exists.
fn batch<'a>(buffer: &'a [u8], meta: &BatchMeta) -> Batch<'a> {
    let Some(bytes) = usize::try_from(meta.position).ok().and_then(|position| buffer.get(position..)) else {
        unreachable!("{meta:?} is not in {} received bytes", buffer.len())
    };
    match Batch::parse_prefix_trusted(bytes, &Limits::FORMAT) {
        Ok((batch, _)) => {
            assert_eq!(batch.header().records, meta.records, "records of the batch at {}", meta.position);
            batch
        }
        Err(error) => unreachable!("{meta:?} in {} checked bytes: {error}", buffer.len()),
    }
}

/// Returns the records of a read one by one. Not an `Iterator`, since a record of a compressed batch is valid only
/// until the next record is requested.
#[derive(Debug)]
pub struct FetchedRecords<'a> {
    buffer: &'a [u8],
    batches: std::slice::Iter<'a, BatchMeta>,
    /// The records, if the batches are Kafka's.
    kafka: Option<KafkaRecords<'a>>,
    /// The records, if a filter has selected them.
    selected: Option<SelectedRecords<'a>>,
    unpacked: &'a mut Vec<u8>,
    partition: u32,
    requested_offset: u64,
    next_batch_offset: u64,
    /// Offset after the last record of all batches.
    next_offset: u64,
    current: Option<Current<'a>>,
}

/// A record, in the buffer into which it was received or decompressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The partition that it is from.
    pub partition: u32,
    /// Its offset in the partition.
    pub offset: u64,
    /// Time at which the producer made the record's batch, by its clock, in microseconds since the Unix epoch. A record
    /// in a Kafka batch has a separate time; 0 without one.
    pub created_us: u64,
    /// The record; in a Kafka batch its value, empty if it is null.
    pub bytes: &'a [u8],
    /// The record with its key and headers, if its batch is one of Kafka's.
    kafka: Option<record_batch::Record<'a>>,
}

impl<'a> Record<'a> {
    /// The key; `None` if it is null, and of a record in a batch of Rawline's format, which has no keys.
    pub fn key(&self) -> Option<&'a [u8]> {
        self.kafka.as_ref().and_then(|record| record.key)
    }

    /// The headers: names and values, which can be null. Most clients send names in UTF-8, but this isn't checked.
    pub fn headers(&self) -> Headers<'a> {
        self.kafka.as_ref().map(|record| record.headers).unwrap_or_default()
    }

    /// The time that the producer gave the record, in milliseconds since the Unix epoch; `None` if it gave none, and of
    /// a record in a batch of Rawline's format, which has one time for all ([`Record::created_us`]).
    pub fn timestamp_ms(&self) -> Option<i64> {
        self.kafka.as_ref().map(|record| record.timestamp_ms).filter(|timestamp_ms| *timestamp_ms >= 0)
    }

    /// The value; `None` if it is null, which deletes the key in a compacted topic.
    pub fn value(&self) -> Option<&'a [u8]> {
        self.kafka.as_ref().map_or(Some(self.bytes), |record| record.value)
    }

    /// The record as a Kafka batch has it.
    pub fn kafka(&self) -> Option<&record_batch::Record<'a>> {
        self.kafka.as_ref()
    }

    fn of_kafka(partition: u32, offset: u64, record: record_batch::Record<'a>) -> Record<'a> {
        Record {
            partition,
            offset,
            created_us: u64::try_from(record.timestamp_ms).unwrap_or_default().saturating_mul(1000),
            bytes: record.value.unwrap_or_default(),
            kafka: Some(record),
        }
    }
}

/// The position in a batch.
#[derive(Debug)]
struct Current<'a> {
    batch: Batch<'a>,
    /// Index of the next record in the batch.
    record: usize,
    /// Start of the next record in the batch's uncompressed data.
    position: usize,
    offset: u64,
}

impl<'a> Current<'a> {
    /// The sizes of the records that were not returned.
    fn left(&self) -> &'a [U32] {
        self.batch.sizes().split_at(self.record).1
    }

    /// The uncompressed data of the batch.
    fn data<'b>(&self, unpacked: &'b [u8]) -> &'b [u8]
    where
        'a: 'b,
    {
        if self.batch.header().codec == Codec::None { self.batch.data() } else { unpacked }
    }
}

fn bytes_of(sizes: &[U32]) -> usize {
    sizes.iter().map(|size| size.get() as usize).sum()
}

/// Records of one batch of Rawline's format, uncompressed, in the buffer into which they were received or decompressed.
#[derive(Debug, Clone, Copy)]
pub struct RecordRun<'a> {
    /// Offset of the first one.
    pub offset: u64,
    /// Their sizes in bytes.
    pub sizes: &'a [U32],
    /// The concatenated records.
    pub data: &'a [u8],
}

impl FetchedRecords<'_> {
    /// The other records of the current batch or, if there are none, those of the next one: for a caller that needs no
    /// [`Record`] for each. `None` at the end, and where batches are Kafka's or a filter has selected records. Fails as
    /// [`FetchedRecords::next_record`] does.
    pub fn next_run(&mut self) -> Result<Option<RecordRun<'_>>, ClientError> {
        if self.kafka.is_some() || self.selected.is_some() {
            return Ok(None);
        }
        loop {
            if let Some(current) = &mut self.current {
                // Those before the requested offset.
                let skipped = self.requested_offset.saturating_sub(current.offset);
                let (before, sizes) = current.left().split_at(skipped.min(current.left().len() as u64) as usize);
                current.position += bytes_of(before);
                let (offset, begin) = (current.offset + before.len() as u64, current.position);
                current.position += bytes_of(sizes);
                current.record += before.len() + sizes.len();
                current.offset = offset + sizes.len() as u64;
                if !sizes.is_empty() {
                    let data = current.data(self.unpacked);
                    let Some(data) = data.get(begin..current.position) else {
                        unreachable!("the records at offset {offset} end at {} of {}", current.position, data.len())
                    };
                    return Ok(Some(RecordRun { offset, sizes, data }));
                }
            }
            if !self.next_batch()? {
                return Ok(None);
            }
        }
    }

    /// The next record; `None` at the end. Fails with [`ClientError::Unreadable`] if a compressed batch can't be
    /// decompressed or holds no records, which the broker doesn't notice; the next call continues after that batch.
    ///
    /// Not called `next`, since this is not an iterator.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, ClientError> {
        loop {
            if let Some(current) = &mut self.current
                && let Some(size) = current.batch.sizes().get(current.record)
            {
                let start = current.position;
                let offset = current.offset;
                current.position += size.get() as usize;
                current.record += 1;
                current.offset += 1;
                debug_assert!(current.offset <= self.next_batch_offset, "{offset} is in the next batch");
                if offset < self.requested_offset {
                    continue;
                }
                let range = start..current.position;
                let data = current.data(self.unpacked);
                let Some(bytes) = data.get(range) else {
                    unreachable!("the record at offset {offset} ends at {} of {} bytes", current.position, data.len())
                };
                let (partition, created_us) = (self.partition, current.batch.header().created_us);
                return Ok(Some(Record { partition, offset, created_us, bytes, kafka: None }));
            }
            if self.kafka.is_some() {
                return self.next_of_kafka();
            }
            if let Some(selected) = &mut self.selected {
                let (partition, from) = (self.partition, self.requested_offset);
                return Ok(selected.next(from).map(|(offset, created_us, bytes)| Record {
                    partition,
                    offset,
                    created_us,
                    bytes,
                    kafka: None,
                }));
            }
            if !self.next_batch()? {
                return Ok(None);
            }
        }
    }

    fn next_of_kafka(&mut self) -> Result<Option<Record<'_>>, ClientError> {
        let Some(records) = &mut self.kafka else { unreachable!("a record of Kafka's in batches of ours") };
        let next = records.next(self.buffer, self.unpacked, self.requested_offset)?;
        Ok(next.map(|(offset, record)| Record::of_kafka(self.partition, offset, record)))
    }

    fn next_batch(&mut self) -> Result<bool, ClientError> {
        if let Some(Current { offset, .. }) = self.current {
            assert_eq!(offset, self.next_batch_offset, "a batch ends and the next one begins");
        }
        let Some(meta) = self.batches.next() else {
            assert_eq!(self.next_batch_offset, self.next_offset, "the last batch ends at another offset than the read");
            self.current = None;
            return Ok(false);
        };
        let batch = batch(self.buffer, meta);
        let offset = self.next_batch_offset;
        let header = *batch.header();
        self.next_batch_offset += u64::from(header.records);
        // A batch that ends before the requested offset need not be decompressed.
        let wanted = self.next_batch_offset > self.requested_offset;
        if wanted && header.codec != Codec::None {
            if let Err(error) = decompress_into(header.codec, batch.data(), header.raw_bytes, self.unpacked) {
                self.current = None;
                let (first_offset, next_offset) = (offset.max(self.requested_offset), self.next_batch_offset);
                return Err(ClientError::Unreadable { first_offset, next_offset, reason: error.to_string() });
            }
            let bytes = self.unpacked.len();
            assert_eq!(bytes, header.raw_bytes as usize, "the batch at offset {offset} unpacks to {bytes} bytes");
        }
        let (record, offset) = if wanted { (0, offset) } else { (header.records as usize, self.next_batch_offset) };
        self.current = Some(Current { batch, record, position: 0, offset });
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checked::Checking;
    use rawline_batch::Builder;
    use rawline_batch::record_batch::{RecordBatchBuilder, RecordCodec, stamp};
    use rawline_contract::MediaType;

    fn fetched(codecs: &[Codec], records_each: u32, first_offset: u64, requested_offset: u64) -> Fetched {
        let mut fetched = Fetched::default();
        let mut bytes = Vec::new();
        let mut offset = first_offset;
        for &codec in codecs {
            let mut builder = Builder::new(codec, Limits::default());
            for _ in 0..records_each {
                builder.push(format!("record {offset} {}", "x".repeat(100)).as_bytes()).unwrap();
                offset += 1;
            }
            builder.finish_into(u64::from(codec.number()) + 7, 0, 0, &mut bytes).unwrap();
        }
        receive(&mut fetched, MediaType::Batch, &bytes, first_offset..offset, requested_offset);
        fetched
    }

    fn receive(fetched: &mut Fetched, kind: MediaType, bytes: &[u8], offsets: std::ops::Range<u64>, requested: u64) {
        let mut checker = Checking::new(Some(kind), Limits::default());
        checker.push(bytes).unwrap();
        fetched.begin(requested, Limits::default().raw_bytes_max);
        fetched.buffer().extend_from_slice(bytes);
        fetched.end(offsets.start, offsets.end, checker.finish().unwrap());
    }

    /// A Kafka batch of records `first_offset..first_offset + 10`, as a broker stores it.
    fn record_batch(codec: RecordCodec, first_offset: u64) -> Vec<u8> {
        let mut builder = RecordBatchBuilder::new(codec, Limits::default());
        for offset in first_offset..first_offset + 10 {
            let (key, value) = (format!("key {offset}"), format!("value {offset} {}", "x".repeat(100)));
            let value = (!offset.is_multiple_of(5)).then_some(value.as_bytes());
            let headers = [(&b"a"[..], Some(&b"1"[..])), (b"b", None)];
            builder.push(offset as i64 - 101, Some(key.as_bytes()), value, headers).unwrap();
        }
        let mut batch = builder.finish(None).unwrap().to_vec();
        let front = stamp(first_offset, batch.len() as u32);
        batch[..front.len()].copy_from_slice(&front);
        batch
    }

    #[test]
    fn records_of_kafkas_batches_have_keys_headers_and_times() {
        let codecs = [RecordCodec::Zstd, RecordCodec::None, RecordCodec::Gzip, RecordCodec::Snappy, RecordCodec::Lz4];
        let batches = codecs.iter().zip((100..).step_by(10)).flat_map(|(codec, first)| record_batch(*codec, first));
        let bytes: Vec<u8> = batches.collect();
        // The buffers are reused, after batches of the other kind too.
        let mut fetched = fetched(&[Codec::Zstd], 10, 0, 0);
        for requested in (100..=150).chain([100]) {
            receive(&mut fetched, MediaType::RecordBatch, &bytes, 100..150, requested);
            let mut want = requested;
            let mut records = fetched.records();
            while let Some(record) = records.next_record().unwrap() {
                assert_eq!((record.offset, record.key()), (want, Some(format!("key {want}").as_bytes())));
                let value = format!("value {want} {}", "x".repeat(100));
                let value = (!want.is_multiple_of(5)).then_some(value.as_bytes());
                assert_eq!((record.value(), record.bytes), (value, value.unwrap_or_default()));
                // -1 stands for no time.
                let timestamp_ms = (want > 100).then(|| want as i64 - 101);
                assert_eq!((record.timestamp_ms(), record.created_us), (timestamp_ms, want.saturating_sub(101) * 1000));
                let headers: Vec<_> = record.headers().collect();
                assert_eq!(headers, [(&b"a"[..], Some(&b"1"[..])), (b"b", None)]);
                want += 1;
            }
            assert_eq!(want, 150);
            assert!(fetched.is_kafka() && fetched.batches().next().is_none());
            let batches: Vec<_> = fetched.record_batches().map(|(first, header, _)| (first, header.codec)).collect();
            assert_eq!(batches, (100..).step_by(10).zip(codecs).collect::<Vec<_>>());
        }
    }

    #[test]
    fn records_that_cannot_be_read_are_an_error_and_the_next_batch_follows() {
        let mut batch = record_batch(RecordCodec::None, 0);
        batch.extend(record_batch(RecordCodec::None, 10));
        // The length of the second record's key.
        let at = batch.windows(5).position(|bytes| bytes == b"key 1").unwrap() - 1;
        batch[at] = 0x7f;
        let first_bytes = u32::from_be_bytes(batch[8..12].try_into().unwrap()) as usize + 12;
        let crc = rawline_batch::crc32c(&batch[21..first_bytes]);
        batch[17..21].copy_from_slice(&crc.to_be_bytes());
        let mut fetched = Fetched::default();
        receive(&mut fetched, MediaType::RecordBatch, &batch, 0..20, 0);
        let mut records = fetched.records();
        assert_eq!(records.next_record().unwrap().unwrap().key(), Some(&b"key 0"[..]));
        let error = records.next_record().unwrap_err();
        let ClientError::Unreadable { first_offset, next_offset, .. } = error else { panic!("{error}") };
        assert_eq!((first_offset, next_offset), (1, 10));
        assert_eq!(records.next_record().unwrap().unwrap().offset, 10);
    }

    #[test]
    fn records_come_with_their_offsets_from_the_one_asked_for_on() {
        let codecs = [Codec::Zstd, Codec::None, Codec::Lz4, Codec::None];
        for requested in 100..=140 {
            let mut fetched = fetched(&codecs, 10, 100, requested);
            let mut want = requested;
            let mut records = fetched.records();
            while let Some(Record { offset, created_us, bytes, .. }) = records.next_record().unwrap() {
                assert_eq!(offset, want);
                assert_eq!(bytes, format!("record {offset} {}", "x".repeat(100)).as_bytes());
                let codec = codecs[(offset as usize - 100) / 10];
                assert_eq!(created_us, u64::from(codec.number()) + 7);
                want += 1;
            }
            assert_eq!(want, 140);
            assert_eq!(fetched.next_offset(), 140);
            assert_eq!(fetched.records_count(), 140 - requested);
        }
    }

    #[test]
    fn runs_hold_the_records_that_are_returned_one_by_one_otherwise() {
        let codecs = [Codec::Zstd, Codec::None, Codec::Lz4, Codec::None];
        for (requested, single) in (100..=140).flat_map(|requested| [0, 1, 3, 10, 15].map(|single| (requested, single)))
        {
            let mut fetched = fetched(&codecs, 10, 100, requested);
            let mut want = requested;
            let mut records = fetched.records();
            for _ in 0..single.min(140 - requested) {
                assert_eq!(records.next_record().unwrap().unwrap().offset, want);
                want += 1;
            }
            while let Some(RecordRun { offset, sizes, data }) = records.next_run().unwrap() {
                assert_eq!(offset, want);
                want += sizes.len() as u64;
                assert_eq!(want % 10, 0, "to the end of a batch");
                let text: Vec<u8> =
                    (offset..want).flat_map(|at| format!("record {at} {}", "x".repeat(100)).into_bytes()).collect();
                assert!(data == text && sizes.iter().all(|size| size.get() == 111), "{offset}..{want}");
            }
            assert!(want == 140 && records.next_record().unwrap().is_none());
        }
        let mut fetched = Fetched::default();
        receive(&mut fetched, MediaType::RecordBatch, &record_batch(RecordCodec::None, 0), 0..10, 0);
        assert!(fetched.records().next_run().unwrap().is_none());
    }

    #[test]
    fn batches_come_with_their_first_offsets() {
        let fetched = fetched(&[Codec::None, Codec::Lz4], 3, 5, 6);
        let got: Vec<_> = fetched.batches().map(|(offset, batch)| (offset, batch.header().records)).collect();
        assert_eq!(got, [(5, 3), (8, 3)]);
    }

    #[test]
    fn nothing_fetched_leaves_the_offset_where_it_was() {
        let mut fetched = fetched(&[Codec::None], 3, 0, 0);
        fetched.begin(42, 0);
        fetched.end_empty(42);
        assert!(fetched.is_empty());
        assert_eq!((fetched.next_offset(), fetched.records_count()), (42, 0));
        assert!(fetched.records().next_record().unwrap().is_none());
    }
}
