//! The bytes of records, laid out as `records.rs` draws them.

use super::varint;

/// The fields of a record up to its value.
pub(super) struct RecordFront<'a> {
    pub timestamp_delta_ms: i64,
    pub offset_delta: u32,
    pub key: Option<&'a [u8]>,
    /// Length of the value, which follows; `None` if it is null.
    pub value_bytes: Option<usize>,
}

impl RecordFront<'_> {
    /// Size of these fields and of the value, without the record's length.
    pub fn with_value_bytes(&self) -> u64 {
        const ATTRIBUTES_BYTES: u64 = 1;
        ATTRIBUTES_BYTES
            + varint::bytes(self.timestamp_delta_ms)
            + varint::bytes(self.offset_delta.into())
            + field_bytes(self.key.map(<[u8]>::len))
            + field_bytes(self.value_bytes)
    }

    /// Appends the record's length, which is `record_bytes`, and these fields. The value follows, then the headers.
    pub fn put(&self, record_bytes: u64, to: &mut Vec<u8>) {
        varint::put(record_bytes as i64, to);
        to.push(0);
        varint::put(self.timestamp_delta_ms, to);
        varint::put(self.offset_delta.into(), to);
        put_field(self.key, to);
        varint::put(length(self.value_bytes), to);
    }
}

/// Size of a record with its length, which counts `record_bytes` after it.
pub(super) fn with_length_bytes(record_bytes: u64) -> u64 {
    varint::bytes(record_bytes as i64) + record_bytes
}

/// Size of a field with its length.
pub(super) fn field_bytes(bytes: Option<usize>) -> u64 {
    varint::bytes(length(bytes)) + bytes.unwrap_or_default() as u64
}

/// Appends a field with its length.
pub(super) fn put_field(field: Option<&[u8]>, to: &mut Vec<u8>) {
    varint::put(length(field.map(<[u8]>::len)), to);
    to.extend_from_slice(field.unwrap_or_default());
}

fn length(bytes: Option<usize>) -> i64 {
    bytes.map_or(-1, |bytes| bytes as i64)
}
