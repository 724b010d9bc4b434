//! Compression of a container file's blocks.

use std::io::Read;

/// A container file's compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// No compression.
    Null,
    /// Raw DEFLATE (RFC 1951).
    Deflate,
    /// Snappy, then the CRC-32 of the uncompressed bytes, big-endian.
    Snappy,
    /// Zstandard (RFC 8878).
    Zstandard,
}

/// Maximum ratio of Snappy's output to its input: two bytes encode up to 64.
const SNAPPY_RATIO_MAX: usize = 32;

impl Codec {
    /// The codec's name in the file's header.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Deflate => "deflate",
            Self::Snappy => "snappy",
            Self::Zstandard => "zstandard",
        }
    }

    pub(crate) fn from_name(name: &[u8]) -> Option<Self> {
        [Self::Null, Self::Deflate, Self::Snappy, Self::Zstandard]
            .into_iter()
            .find(|codec| codec.name().as_bytes() == name)
    }

    /// The compressed bytes; `None` if the input exceeds the codec's limit.
    pub(crate) fn compress(self, bytes: &[u8]) -> Option<Vec<u8>> {
        Some(match self {
            Self::Null => bytes.to_vec(),
            // Level 6 is zlib's default.
            Self::Deflate => miniz_oxide::deflate::compress_to_vec(bytes, 6),
            Self::Snappy => {
                let mut out = snap::raw::Encoder::new().compress_vec(bytes).ok()?;
                out.extend_from_slice(&crc32(bytes).to_be_bytes());
                out
            }
            Self::Zstandard => zstd::bulk::compress(bytes, 0).ok()?,
        })
    }

    /// Decompresses `bytes` into `out`, at most `bytes_max` of them. `None` if the input is invalid or too large.
    pub(crate) fn decompress(self, bytes: &[u8], bytes_max: usize, out: &mut Vec<u8>) -> Option<()> {
        out.clear();
        match self {
            Self::Null => out.extend_from_slice(bytes),
            Self::Deflate => *out = miniz_oxide::inflate::decompress_to_vec_with_limit(bytes, bytes_max).ok()?,
            Self::Snappy => {
                let (bytes, sum) = bytes.split_last_chunk::<4>()?;
                let length = snap::raw::decompress_len(bytes).ok()?;
                if length > bytes_max || length / SNAPPY_RATIO_MAX > bytes.len() {
                    return None;
                }
                out.resize(length, 0);
                let written = snap::raw::Decoder::new().decompress(bytes, out).ok()?;
                out.truncate(written);
                if crc32(out) != u32::from_be_bytes(*sum) {
                    return None;
                }
            }
            Self::Zstandard => {
                let limit = u64::try_from(bytes_max).ok()?.checked_add(1)?;
                zstd::stream::read::Decoder::with_buffer(bytes).ok()?.take(limit).read_to_end(out).ok()?;
                if out.len() > bytes_max {
                    return None;
                }
            }
        }
        Some(())
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    // The algorithm's checksums have 32 bits.
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32IsoHdlc, bytes) as u32
}
