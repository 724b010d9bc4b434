//! Decompresses the records of a RecordBatch, up to a limit, since a batch doesn't have their decompressed size.

mod lz4;
mod output;
mod snappy;
mod zstd;

use super::{RecordCodec, RecordError};
use output::{Output, wrong};
use std::io::Read;

/// The records of a batch, from the bytes after its header. Uncompressed ones are `section` itself; others are unpacked
/// into `out`, which can be used again for the next batch.
///
/// `out` gets no longer than `raw_bytes_max` and one byte, whatever the bytes claim. Meanwhile zstd takes up to 9 MB
/// for its window, the others 100 kB. After an error the contents of `out` are unspecified.
pub fn unpack<'b>(
    codec: RecordCodec,
    section: &'b [u8],
    raw_bytes_max: u32,
    out: &'b mut Vec<u8>,
) -> Result<&'b [u8], RecordError> {
    out.clear();
    let mut to = Output { bytes: &mut *out, codec, limit: raw_bytes_max };
    match codec {
        RecordCodec::None => return Ok(section),
        RecordCodec::Gzip => gzip(section, &mut to)?,
        RecordCodec::Snappy => snappy::unpack(section, &mut to)?,
        RecordCodec::Lz4 => lz4::unpack(section, &mut to)?,
        RecordCodec::Zstd => zstd::unpack(section, &mut to)?,
    }
    Ok(out)
}

/// Members that follow each other (RFC 1952). The library checks their checksums, and that nothing else follows.
fn gzip(section: &[u8], to: &mut Output<'_>) -> Result<(), RecordError> {
    let mut members = flate2::bufread::MultiGzDecoder::new(section);
    let codec = to.codec;
    to.append_until_end(|free| {
        let written = members.read(free).map_err(|error| wrong(codec, error))?;
        Ok((written, written == 0))
    })
}
