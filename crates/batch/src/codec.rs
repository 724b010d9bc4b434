//! How a batch's data is compressed: its number in the header, packing, unpacking.

use crate::BatchError;

/// How the data of a batch is compressed. The sizes never are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Codec {
    /// As it is.
    #[default]
    None,
    /// One LZ4 block (no frame, no length in front: `raw_bytes` says it).
    Lz4,
    /// One Zstandard frame (RFC 8878).
    Zstd,
}

impl Codec {
    /// The codec's number in the header.
    pub fn number(self) -> u8 {
        match self {
            Codec::None => 0,
            Codec::Lz4 => 1,
            Codec::Zstd => 2,
        }
    }

    /// The codec of a number in a header.
    pub fn from_number(found: u8) -> Result<Codec, BatchError> {
        match found {
            0 => Ok(Codec::None),
            1 => Ok(Codec::Lz4),
            2 => Ok(Codec::Zstd),
            _ => Err(BatchError::Codec { found }),
        }
    }

    /// Compresses `raw` into `out`, which is cleared first. `None` copies.
    pub(crate) fn compress_into(self, raw: &[u8], out: &mut Vec<u8>) -> Result<(), BatchError> {
        out.clear();
        match self {
            Codec::None => out.extend_from_slice(raw),
            Codec::Lz4 => {
                out.resize(lz4_flex::block::get_maximum_output_size(raw.len()), 0);
                let packed = lz4_flex::block::compress_into(raw, out).map_err(reason)?;
                out.truncate(packed);
            }
            Codec::Zstd => {
                out.reserve(zstd::zstd_safe::compress_bound(raw.len()));
                zstd::bulk::Compressor::new(zstd::DEFAULT_COMPRESSION_LEVEL)
                    .and_then(|mut compressor| compressor.compress_to_buffer(raw, out))
                    .map_err(reason)?;
            }
        }
        Ok(())
    }
}

impl std::str::FromStr for Codec {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "none" => Ok(Codec::None),
            "lz4" => Ok(Codec::Lz4),
            "zstd" => Ok(Codec::Zstd),
            _ => Err(format!("no codec {name:?}; there are none, lz4 and zstd")),
        }
    }
}

impl std::fmt::Display for Codec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Codec::None => "none",
            Codec::Lz4 => "lz4",
            Codec::Zstd => "zstd",
        })
    }
}

/// Decompresses a batch's data into `out`, which is cleared first and then holds exactly `raw_bytes` bytes.
///
/// Never allocates more than `raw_bytes`, whatever the data claims.
pub fn decompress_into(codec: Codec, data: &[u8], raw_bytes: u32, out: &mut Vec<u8>) -> Result<(), BatchError> {
    out.clear();
    let raw_bytes = raw_bytes as usize;
    let unpacked = match codec {
        Codec::None => {
            out.extend_from_slice(data);
            out.len()
        }
        Codec::Lz4 => {
            out.resize(raw_bytes, 0);
            lz4_flex::block::decompress_into(data, out).map_err(reason)?
        }
        Codec::Zstd => {
            out.reserve_exact(raw_bytes);
            // Only the first frame may be there: a second one would be bytes that nobody's sizes speak of.
            let frame = zstd::zstd_safe::find_frame_compressed_size(data)
                .map_err(|code| reason(zstd::zstd_safe::get_error_name(code)))?;
            if frame != data.len() {
                return Err(reason("more than one zstd frame"));
            }
            // SAFETY-free bound: the decompressor writes into the vector's capacity only, so bound the capacity's use
            // by giving it a slice of exactly the length the header promises.
            out.resize(raw_bytes, 0);
            zstd::bulk::Decompressor::new()
                .and_then(|mut decompressor| decompressor.decompress_to_buffer(data, out.as_mut_slice()))
                .map_err(reason)?
        }
    };
    if unpacked != raw_bytes {
        return Err(reason(format!("{unpacked} bytes came out, the header says {raw_bytes}")));
    }
    Ok(())
}

fn reason(error: impl ToString) -> BatchError {
    BatchError::Decompress { reason: error.to_string() }
}
