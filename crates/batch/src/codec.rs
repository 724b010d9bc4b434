//! Compression of a batch's data: its number in the header, compressing, decompressing.

use crate::BatchError;
use std::io::{self, Cursor};

/// How the data of a batch is compressed. Sizes are never compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Codec {
    /// Not compressed.
    #[default]
    None,
    /// One LZ4 block, without frame or length prefix: `raw_bytes` is the length.
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
}

impl std::str::FromStr for Codec {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "none" => Ok(Codec::None),
            "lz4" => Ok(Codec::Lz4),
            "zstd" => Ok(Codec::Zstd),
            _ => Err(format!("unknown codec {name:?}; use none, lz4 or zstd")),
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

/// Compresses with one codec; its buffer and its codec's state are reused.
pub(crate) struct Packer {
    codec: Codec,
    packed: Vec<u8>,
    zstd: ZstdPacker,
}

impl Packer {
    pub(crate) fn new(codec: Codec) -> Self {
        Packer { codec, packed: Vec::new(), zstd: ZstdPacker::default() }
    }

    /// The codec and the bytes to store for `raw`: `raw` itself if compressing doesn't make it shorter.
    pub(crate) fn pack<'a>(&'a mut self, raw: &'a [u8]) -> Result<(Codec, &'a [u8]), BatchError> {
        self.packed.clear();
        match self.codec {
            Codec::None => return Ok((Codec::None, raw)),
            Codec::Lz4 => {
                self.packed.resize(lz4_flex::block::get_maximum_output_size(raw.len()), 0);
                let packed_bytes = lz4_flex::block::compress_into(raw, &mut self.packed).map_err(reason)?;
                self.packed.truncate(packed_bytes);
            }
            Codec::Zstd => self.zstd.append(raw, &mut self.packed).map_err(reason)?,
        }
        if self.packed.len() < raw.len() { Ok((self.codec, &self.packed)) } else { Ok((Codec::None, raw)) }
    }
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Packer").field("codec", &self.codec).finish_non_exhaustive()
    }
}

/// Makes zstd frames; the codec's state is reused.
#[derive(Default)]
pub(crate) struct ZstdPacker(Option<zstd::bulk::Compressor<'static>>);

impl ZstdPacker {
    /// Appends one frame, which has the length of its content, to `out`. After an error `out` is unchanged.
    pub(crate) fn append(&mut self, raw: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let mut zstd = match self.0.take() {
            Some(zstd) => zstd,
            None => zstd::bulk::Compressor::new(zstd::DEFAULT_COMPRESSION_LEVEL)?,
        };
        out.reserve(zstd::zstd_safe::compress_bound(raw.len()));
        let end = out.len() as u64;
        let mut out = Cursor::new(out);
        out.set_position(end);
        zstd.compress_to_buffer(raw, &mut out)?;
        self.0 = Some(zstd);
        Ok(())
    }
}

impl std::fmt::Debug for ZstdPacker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ZstdPacker").finish_non_exhaustive()
    }
}

/// The first bytes of a Zstandard frame (RFC 8878, section 3.1.1); a skippable frame begins differently.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Decompresses a batch's data into `out`, which is cleared first and then holds exactly `raw_bytes` bytes.
///
/// `out` never grows beyond `raw_bytes`, whatever the data claims; the reader's [`crate::Limits`] bound it. After an
/// error the contents of `out` are unspecified.
pub fn decompress_into(codec: Codec, data: &[u8], raw_bytes: u32, out: &mut Vec<u8>) -> Result<(), BatchError> {
    out.clear();
    if codec == Codec::None && data.len() != raw_bytes as usize {
        return Err(wrong_length(data.len(), raw_bytes));
    }
    out.reserve_exact(raw_bytes as usize);
    let unpacked_bytes = match codec {
        Codec::None => {
            out.extend_from_slice(data);
            data.len()
        }
        Codec::Lz4 => {
            out.resize(raw_bytes as usize, 0);
            lz4_flex::block::decompress_into(data, out).map_err(reason)?
        }
        Codec::Zstd => {
            // One frame and nothing else: a second or a skippable one would be bytes that no size accounts for.
            if !data.starts_with(&ZSTD_MAGIC) {
                return Err(reason("it is not a zstd frame"));
            }
            let frame_bytes = zstd::zstd_safe::find_frame_compressed_size(data)
                .map_err(|code| reason(zstd::zstd_safe::get_error_name(code)))?;
            if frame_bytes != data.len() {
                return Err(reason(format!("{} bytes follow the zstd frame", data.len() - frame_bytes)));
            }
            // A slice, so that the codec can't use the vector's spare capacity.
            out.resize(raw_bytes as usize, 0);
            zstd::bulk::decompress_to_buffer(data, out.as_mut_slice()).map_err(reason)?
        }
    };
    if unpacked_bytes != raw_bytes as usize {
        return Err(wrong_length(unpacked_bytes, raw_bytes));
    }
    assert_eq!(out.len(), unpacked_bytes, "{codec} unpacked another number of bytes than it says");
    Ok(())
}

fn wrong_length(found: usize, raw_bytes: u32) -> BatchError {
    reason(format!("{found} bytes were decompressed, the header says {raw_bytes}"))
}

fn reason(error: impl ToString) -> BatchError {
    BatchError::Decompress { reason: error.to_string() }
}
