//! Compresses the records of a RecordBatch, as every Kafka client can read them.

use super::{RecordCodec, RecordError};
use crate::codec::ZstdPacker;
use flate2::Compression;
use flate2::write::GzEncoder;
use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
use std::io::{self, Write};

/// Compresses with one codec.
#[derive(Debug)]
pub(super) struct RecordPacker {
    codec: RecordCodec,
    zstd: ZstdPacker,
}

impl RecordPacker {
    pub fn new(codec: RecordCodec) -> Self {
        RecordPacker { codec, zstd: ZstdPacker::default() }
    }

    pub fn codec(&self) -> RecordCodec {
        self.codec
    }

    /// Appends the compressed `raw` to `out`.
    pub fn append(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<(), RecordError> {
        let packed = match self.codec {
            RecordCodec::None => out.write_all(raw),
            RecordCodec::Gzip => gzip(raw, out),
            RecordCodec::Snappy => snappy(raw, out),
            RecordCodec::Lz4 => lz4(raw, out),
            RecordCodec::Zstd => self.zstd.append(raw, out),
        };
        packed.map_err(|error| RecordError::Pack { codec: self.codec, reason: error.to_string() })
    }
}

fn gzip(raw: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let mut encoder = GzEncoder::new(out, Compression::default());
    encoder.write_all(raw)?;
    encoder.finish().map(|_| ())
}

/// One block without a frame, which all clients read.
fn snappy(raw: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let end = out.len();
    out.resize(end + snap::raw::max_compress_len(raw.len()), 0);
    let packed_bytes = snap::raw::Encoder::new().compress(raw, out.split_at_mut(end).1)?;
    out.truncate(end + packed_bytes);
    Ok(())
}

/// A frame of independent blocks: Kafka's Java client reads no others.
fn lz4(raw: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    let info = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Independent);
    let mut encoder = FrameEncoder::with_frame_info(info, out);
    encoder.write_all(raw)?;
    encoder.finish()?;
    Ok(())
}
