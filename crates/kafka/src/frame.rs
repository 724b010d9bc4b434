//! The beginning of every request: its length, its API, and the form of its response.

use crate::api::Api;
use crate::read::{Reader, Stop, WireError};
use crate::write::Writer;

/// Size of the length field before a request.
pub const LENGTH_BYTES: usize = 4;

/// The header of a request. Kafka has three forms of it: 2 if the request is flexible, else 1; 0, without a client
/// id, was used by one API between brokers, which Kafka 4 no longer has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHeader {
    /// The API: see [`Api::from_key`].
    pub api: i16,
    /// The version.
    pub version: i16,
    /// The response repeats it.
    pub correlation_id: i32,
    /// The client's name.
    pub client_id: Option<String>,
    /// Size of the header in bytes.
    pub bytes: usize,
}

fn is_flexible(api: i16, version: i16) -> bool {
    // The end of the header of an unknown API isn't known. Its request is refused anyway.
    Api::from_key(api).is_some_and(|api| api.is_flexible(version))
}

impl RequestHeader {
    /// Reads a header, of a request of which `bytes` have arrived and `left` bytes in all remain, these included.
    /// `Ok(None)`: more bytes are needed.
    pub fn read(bytes: &[u8], left: u64) -> Result<Option<RequestHeader>, WireError> {
        let read = || {
            // The client id is in the old form in every version.
            let mut reader = Reader::new(bytes, false);
            let (api, version, correlation_id) = (reader.i16()?, reader.i16()?, reader.i32()?);
            let client_id = reader.nullable_string()?.map(str::to_owned);
            let mut at = reader.position();
            if is_flexible(api, version) {
                let mut tags = Reader::new(bytes.split_at(at).1, true);
                tags.tags(left.saturating_sub(at as u64))?;
                at += tags.position();
            }
            Ok(RequestHeader { api, version, correlation_id, client_id, bytes: at })
        };
        match read() {
            Ok(header) => Ok(Some(header)),
            Err(Stop::Incomplete) if bytes.len() as u64 >= left => Err(WireError::Truncated),
            Err(Stop::Incomplete) => Ok(None),
            Err(Stop::Wrong(error)) => Err(error),
        }
    }

    /// The bytes of a header without tagged fields. `bytes` of the header is not looked at.
    pub fn write(&self, to: &mut Vec<u8>) {
        let mut writer = Writer::after(std::mem::take(to), false);
        writer.i16(self.api);
        writer.i16(self.version);
        writer.i32(self.correlation_id);
        writer.nullable_string(self.client_id.as_deref());
        if is_flexible(self.api, self.version) {
            // No tagged fields.
            writer.varint(0);
        }
        *to = writer.into_bytes();
    }
}

/// A response's header, its length included: `body_bytes` follow. For `is_flexible` see
/// [`Api::has_flexible_response_header`].
pub fn response_header(correlation_id: i32, is_flexible: bool, body_bytes: u64) -> Vec<u8> {
    let mut header = Writer::new(is_flexible);
    header.i32(correlation_id);
    header.no_tags();
    let header = header.into_bytes();
    let length = header.len() as u64 + body_bytes;
    let length = i32::try_from(length).unwrap_or_else(|_| unreachable!("a response of {length} bytes"));
    let mut bytes = length.to_be_bytes().to_vec();
    bytes.extend(header);
    bytes
}

/// Reads what [`response_header`] writes after the length: the correlation id, and the header's size in bytes.
pub fn read_response_header(bytes: &[u8], is_flexible: bool) -> Result<(i32, usize), WireError> {
    let mut reader = Reader::new(bytes, is_flexible);
    let correlation_id = reader.i32()?;
    let left = reader.left() as u64;
    reader.tags(left)?;
    Ok((correlation_id, reader.position()))
}
