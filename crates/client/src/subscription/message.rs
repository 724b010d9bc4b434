//! A binary message while it arrives: its head, then its content in a buffer, which is checked piece by piece.

use super::positions::Positions;
use crate::checked::{Checked, CheckedSelection, Checking};
use crate::error::ClientError;
use crate::fetched::Fetched;
use crate::partition::TopicPartition;
use rawline_batch::Limits;
use rawline_contract::MediaType;
use rawline_contract::subscription::{DELIVERY_FRONT_BYTES, Delivery, DeliveryError, DeliveryKind, Selection};

/// A message of which a part has arrived.
pub(super) struct Message {
    /// Length of the whole message in bytes.
    bytes: u64,
    limits: Limits,
    /// The head, as far as it has arrived.
    head: Vec<u8>,
    content: Content,
    fetched: Fetched,
}

enum Content {
    /// The head isn't complete.
    None,
    /// Boxed, because it is much larger than the others.
    Batches(Box<Checking>),
    Selection,
}

/// Why a message can't be delivered.
#[derive(Debug, PartialEq)]
pub(super) enum MessageError {
    /// It doesn't have the form of a message.
    Delivery(DeliveryError),
    /// Its batches are damaged.
    Batches(ClientError),
}

impl From<DeliveryError> for MessageError {
    fn from(error: DeliveryError) -> Self {
        MessageError::Delivery(error)
    }
}

impl From<ClientError> for MessageError {
    fn from(error: ClientError) -> Self {
        MessageError::Batches(error)
    }
}

impl Message {
    /// A message of this length, which is received into a buffer.
    pub fn new(bytes: u64, limits: Limits, fetched: Fetched) -> Message {
        Message { bytes, limits, head: Vec::new(), content: Content::None, fetched }
    }

    /// Number of bytes that have not arrived.
    pub fn bytes_left(&self) -> u64 {
        let received = match self.content {
            Content::None => self.head.len() as u64,
            _ => self.head.len() as u64 + self.fetched.bytes(),
        };
        assert!(received <= self.bytes, "{received} bytes of a message of {}", self.bytes);
        self.bytes - received
    }

    /// The buffer for content; `None` while the head isn't complete. Appended bytes are to be reported to
    /// [`Message::received`].
    pub fn room(&mut self) -> Option<&mut Vec<u8>> {
        match self.content {
            Content::None => None,
            _ => Some(self.fetched.buffer()),
        }
    }

    /// Takes the next bytes, at most as many as are left.
    pub fn push(&mut self, mut piece: &[u8], positions: &Positions) -> Result<(), MessageError> {
        assert!(piece.len() as u64 <= self.bytes_left(), "{} bytes, {} left", piece.len(), self.bytes_left());
        while matches!(self.content, Content::None) {
            let wanted = match self.head.first_chunk() {
                Some(front) => Delivery::head_bytes(front)?,
                None => DELIVERY_FRONT_BYTES,
            };
            if (wanted as u64) > self.bytes {
                return Err(DeliveryError::Truncated { bytes: self.bytes, needed: wanted as u64 }.into());
            }
            let (part, rest) = piece.split_at(piece.len().min(wanted - self.head.len()));
            self.head.extend_from_slice(part);
            piece = rest;
            if self.head.len() < wanted {
                return Ok(());
            }
            if wanted > DELIVERY_FRONT_BYTES {
                self.begin(positions)?;
            }
        }
        let before = self.fetched.buffer().len();
        self.fetched.buffer().extend_from_slice(piece);
        self.received(before)
    }

    /// The content's bytes from `before` on have just arrived: checks them while they are in the processor's cache.
    pub fn received(&mut self, before: usize) -> Result<(), MessageError> {
        if let Content::Batches(checking) = &mut self.content {
            checking.push(self.fetched.buffer().split_at(before).1)?;
        }
        Ok(())
    }

    /// The head is complete.
    fn begin(&mut self, positions: &Positions) -> Result<(), MessageError> {
        let (head, _) = Delivery::parse(&self.head)?;
        let position = positions.next_offset(head.topic, head.partition);
        head.check_position(position)?;
        // Nothing is known of a partition whose topic is new.
        self.fetched.begin(position.unwrap_or(head.first_offset), self.limits.raw_bytes_max);
        self.fetched.set_partition(TopicPartition { topic: head.topic, partition: head.partition });
        let content_bytes = usize::try_from(self.bytes).unwrap_or(usize::MAX) - self.head.len();
        self.fetched.buffer().reserve(content_bytes);
        let checking = |kind| Content::Batches(Box::new(Checking::new(Some(kind), self.limits)));
        self.content = match head.kind {
            DeliveryKind::Batches => checking(MediaType::Batch),
            DeliveryKind::RecordBatches => checking(MediaType::RecordBatch),
            DeliveryKind::Selection => Content::Selection,
        };
        Ok(())
    }

    /// The whole message, all of which has arrived. The result may have no record: then it says how far the filter is.
    pub fn finish(mut self) -> Result<Fetched, MessageError> {
        assert_eq!(self.bytes_left(), 0, "of a message of {} bytes", self.bytes);
        let (head, _) = Delivery::parse(&self.head)?;
        let content = match self.content {
            Content::None => unreachable!("a whole message without a head"),
            Content::Batches(checking) => batches(&head, *checking)?,
            Content::Selection => {
                let selection = Selection::parse(&head, self.fetched.as_bytes())?;
                Checked::Selection(CheckedSelection {
                    records: selection.count() as u32,
                    bytes: self.fetched.bytes(),
                    time_us: head.time_us,
                })
            }
        };
        self.fetched.end_delivery(head.first_offset, head.end_offset, content);
        Ok(self.fetched)
    }

    /// The buffer of a message that is not delivered.
    pub fn into_buffer(self) -> Fetched {
        self.fetched
    }
}

/// The batches of a message, which have the offsets that its head says.
fn batches(head: &Delivery<'_>, checking: Checking) -> Result<Checked, MessageError> {
    let batches = checking.finish()?;
    let Delivery { first_offset, end_offset, .. } = *head;
    let wrong = |found| DeliveryError::ContentOffsets { first_offset, end_offset, found };
    let end = first_offset.checked_add(batches.records());
    if end != Some(end_offset) {
        return Err(wrong(end.unwrap_or(u64::MAX)).into());
    }
    if let Some((found, _)) = batches.misplaced(first_offset) {
        return Err(wrong(found.cast_unsigned()).into());
    }
    Ok(batches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rawline_contract::subscription::Cursor;
    use serde_json::Value;

    const MANIFEST: &str = include_str!("../../../../vectors/subscribe/messages.json");

    fn cases() -> Vec<Value> {
        let manifest: Value = serde_json::from_str(MANIFEST).unwrap();
        manifest["cases"].as_array().unwrap().clone()
    }

    fn unhex(value: &Value) -> Option<Vec<u8>> {
        let hex = value.as_str()?;
        Some((0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect())
    }

    fn number(value: &Value) -> u64 {
        value.as_str().unwrap().parse().unwrap()
    }

    /// Receives a message in pieces of this size. Its partition is at `position`.
    fn receive(message: &[u8], position: Option<u64>, piece_bytes: usize) -> Result<Fetched, MessageError> {
        let mut cursor = Cursor::default();
        if let (Ok((head, _)), Some(position)) = (Delivery::parse(message), position) {
            cursor.set(head.topic, head.partition, position);
        }
        let positions = Positions::new(cursor);
        let mut receiving = Message::new(message.len() as u64, Limits::FORMAT, Fetched::default());
        receiving.push(&[], &positions)?;
        for piece in message.chunks(piece_bytes) {
            receiving.push(piece, &positions)?;
        }
        receiving.finish()
    }

    fn code_of(error: &MessageError) -> String {
        match error {
            MessageError::Delivery(error) => error.code().to_owned(),
            MessageError::Batches(ClientError::Batch(error)) => error.code().to_owned(),
            MessageError::Batches(ClientError::RecordBatch(error)) => match error.kind() {
                rawline_batch::Kind::TryAgain => "record_batch_damaged".to_owned(),
                _ => "record_batch_invalid".to_owned(),
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn golden_messages_are_delivered_from_the_position_on() {
        for case in cases().iter().filter(|case| case["error"].is_null()) {
            let (name, bytes, position) = (&case["name"], unhex(&case["hex"]).unwrap(), number(&case["position"]));
            for piece_bytes in [1, 7, 4096] {
                let mut fetched = receive(&bytes, Some(position), piece_bytes).unwrap();
                assert_eq!(fetched.topic(), case["topic"].as_str().unwrap(), "{name}");
                assert_eq!(u64::from(fetched.partition()), case["partition"].as_u64().unwrap(), "{name}");
                assert_eq!(fetched.next_offset(), number(&case["end_offset"]), "{name}");
                assert_eq!(fetched.is_kafka(), case["kind"] == 2, "{name}");
                assert_eq!(fetched.selection().is_some(), case["kind"] == 3, "{name}");
                let mut expected = case["records"].as_array().unwrap().iter();
                let mut records = fetched.records();
                while let Some(record) = records.next_record().unwrap() {
                    let want = expected.next().unwrap();
                    assert_eq!(record.offset, number(&want["offset"]), "{name}");
                    assert_eq!(record.bytes, unhex(&want["hex"]).unwrap(), "{name}");
                    assert_eq!(record.key().map(<[u8]>::to_vec), unhex(&want["key"]), "{name}");
                    assert_eq!(record.value().is_none(), want["null"] == true, "{name}");
                    if let Some(headers) = want["headers"].as_array() {
                        let headers = headers.iter().map(|pair| (unhex(&pair[0]).unwrap(), unhex(&pair[1])));
                        let found = record.headers().map(|(name, value)| (name.to_vec(), value.map(<[u8]>::to_vec)));
                        assert!(found.eq(headers), "{name}");
                        assert_eq!(record.timestamp_ms(), want["timestamp_ms"].as_str().unwrap().parse().ok());
                    }
                    if case["kind"] == 3 {
                        assert_eq!(record.created_us, number(&case["time_us"]), "{name}");
                    }
                }
                assert_eq!(expected.next(), None, "{name}");
            }
        }
    }

    #[test]
    fn wrong_messages_are_refused_with_their_reason() {
        for case in cases().iter().filter(|case| !case["error"].is_null()) {
            let (name, bytes, position) = (&case["name"], unhex(&case["hex"]).unwrap(), number(&case["position"]));
            for piece_bytes in [1, 7, 4096] {
                let error = receive(&bytes, Some(position), piece_bytes).unwrap_err();
                assert_eq!(code_of(&error), case["error"].as_str().unwrap(), "{name}: {error:?}");
            }
        }
    }

    #[test]
    fn valid_messages_changed_never_panic() {
        let mut random = fastrand::Rng::with_seed(11);
        for case in cases().iter().filter(|case| case["error"].is_null()) {
            let bytes = unhex(&case["hex"]).unwrap();
            for _ in 0..300 {
                let mut changed = bytes.clone();
                for _ in 0..random.usize(1..4) {
                    let place = random.usize(..changed.len());
                    changed[place] = if random.bool() { random.u8(..) } else { random.u8(..4) };
                }
                changed.truncate(random.usize(1..=changed.len() * 2));
                let position = random.bool().then(|| random.u64(..50));
                let Ok(mut fetched) = receive(&changed, position, random.usize(1..200)) else { continue };
                let mut records = fetched.records();
                while let Ok(Some(record)) = records.next_record() {
                    assert!(position.is_none_or(|position| record.offset >= position));
                }
            }
        }
    }
}
