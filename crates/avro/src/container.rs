//! Avro's object container files: a schema, then blocks of values, each block followed by the file's sync marker.
//!
//! ```text
//! "Obj" 01 · metadata (map of bytes: avro.schema, avro.codec, …) · sync (16 bytes)
//! block: count (long) · size (long) · values, compressed (size bytes) · sync
//! ```
//!
//! Source: Avro specification 1.12, "Object Container Files".

use std::sync::Arc;

use thiserror::Error;

use crate::codec::Codec;
use crate::cursor::Cursor;
use crate::error::{DecodeError, Fault, FaultKind, ResolveError, SchemaError};
use crate::limits::Limits;
use crate::plan::Plan;
use crate::row::{Row, RowBuffer};
use crate::schema::Schema;
use crate::write;

const MAGIC: &[u8; 4] = b"Obj\x01";

/// Size in bytes at which a block is written; the Java library's default.
const BLOCK_BYTES: usize = 64_000;

/// Maximum uncompressed size of a block in bytes: a thousand times the default, and still a small part of memory.
pub const BLOCK_BYTES_MAX: usize = 64 << 20;

/// Errors of a container file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ContainerError {
    /// The file doesn't begin with the magic bytes of a container file.
    #[error("not an Avro container file: it does not begin with \"Obj\" and 1")]
    Magic,
    /// Its header is truncated or lacks the schema.
    #[error("the file's header at byte {position}: {reason}; the file was truncated or overwritten")]
    Head {
        /// Position in the file.
        position: usize,
        /// The reason.
        reason: &'static str,
    },
    /// Its codec isn't supported.
    #[error("the file is compressed with {0:?}; use null, deflate, snappy or zstandard")]
    Codec(String),
    /// Its schema was rejected.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// Its schema can't be read as the reader's.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// A block's count, size or sync marker is wrong.
    #[error("block {block} at byte {position}: {reason}; the file was truncated or overwritten")]
    Block {
        /// The block's number, from 0.
        block: u64,
        /// Its position in the file.
        position: usize,
        /// The reason.
        reason: &'static str,
    },
    /// A value within a block was rejected.
    #[error("value {value} of block {block}: {error}")]
    Value {
        /// The block's number, from 0.
        block: u64,
        /// The value's number within it, from 0.
        value: u64,
        /// The reason; positions are relative to the block's uncompressed bytes.
        error: DecodeError,
    },
    /// A block exceeds its codec's limit.
    #[error("a block is larger than its codec allows; push smaller values")]
    TooLong,
}

/// Reads a container file from memory.
#[derive(Debug)]
pub struct ContainerReader<'f> {
    cursor: Cursor<'f>,
    plan: Arc<Plan>,
    codec: Codec,
    sync: [u8; 16],
    metadata: Vec<(&'f str, &'f [u8])>,
    block: u64,
    bytes: Vec<u8>,
}

impl<'f> ContainerReader<'f> {
    /// Reads the file's header. Values are read with the schema `reader`, or with the writer's schema if it is `None`.
    pub fn open(file: &'f [u8], reader: Option<&Arc<Schema>>, limits: Limits) -> Result<Self, ContainerError> {
        let body = file.strip_prefix(MAGIC).ok_or(ContainerError::Magic)?;
        let head = |fault: Fault| ContainerError::Head {
            position: MAGIC.len() + fault.position,
            reason: "its metadata can't be read",
        };
        let mut cursor = Cursor::new(body);
        let mut metadata = Vec::new();
        loop {
            let (count, _) = cursor.block().map_err(head)?;
            if count == 0 {
                break;
            }
            // Each entry takes at least two bytes, so the file's length bounds a wrong count.
            for _ in 0..count {
                metadata.push((cursor.string().map_err(head)?, cursor.bytes().map_err(head)?));
            }
        }
        let sync = cursor.fixed(16).map_err(head)?;
        let sync = <[u8; 16]>::try_from(sync).map_err(|_| ContainerError::Magic)?;
        let find = |name: &str| metadata.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        let schema = find("avro.schema").and_then(|bytes| std::str::from_utf8(bytes).ok());
        let schema = schema.ok_or(ContainerError::Head { position: MAGIC.len(), reason: "it has no schema" })?;
        let codec = find("avro.codec").unwrap_or(b"null");
        let codec = Codec::from_name(codec)
            .ok_or_else(|| ContainerError::Codec(String::from_utf8_lossy(codec).into_owned()))?;
        let writer = Arc::new(Schema::parse(schema)?);
        let plan = Arc::new(Plan::new(&writer, reader.unwrap_or(&writer), limits)?);
        Ok(Self { cursor, plan, codec, sync, metadata, block: 0, bytes: Vec::new() })
    }

    /// The schema that wrote the file.
    pub fn schema(&self) -> &Arc<Schema> {
        self.plan.writer()
    }

    /// The plan by which its values are read.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The compression of its blocks.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// The metadata in the file's header, including schema and codec.
    pub fn metadata(&self) -> &[(&'f str, &'f [u8])] {
        &self.metadata
    }

    /// The next block's number of values and uncompressed bytes; `None` at the end of the file.
    pub fn next_block(&mut self) -> Result<Option<(u64, &[u8])>, ContainerError> {
        if self.cursor.rest().is_empty() {
            return Ok(None);
        }
        let begin = MAGIC.len() + self.cursor.position();
        let block = self.block;
        let wrong = |reason| ContainerError::Block { block, position: begin, reason };
        let count = self.cursor.long().ok().and_then(|count| u64::try_from(count).ok());
        let count = count.ok_or_else(|| wrong("its count can't be read"))?;
        let bytes = self.cursor.bytes().map_err(|_| wrong("its size is wrong"))?;
        let sync = self.cursor.fixed(16).map_err(|_| wrong("it has no sync marker"))?;
        if sync != self.sync {
            return Err(wrong("its sync marker differs from the file's"));
        }
        self.block += 1;
        if self.codec == Codec::Null {
            return Ok(Some((count, bytes)));
        }
        let bytes = self.codec.decompress(bytes, BLOCK_BYTES_MAX, &mut self.bytes).map(|()| self.bytes.as_slice());
        bytes.map(|bytes| Some((count, bytes))).ok_or_else(|| wrong("it can't be decompressed, or is too long"))
    }

    /// Reads all remaining values, one by one.
    pub fn for_each(
        &mut self,
        buffer: &mut RowBuffer,
        mut take: impl FnMut(&Row<'_, '_>),
    ) -> Result<(), ContainerError> {
        while self.for_each_of_block(buffer, &mut take)? {}
        Ok(())
    }

    /// Reads the values of the next block, one by one; returns false at the end of the file.
    pub fn for_each_of_block(
        &mut self,
        buffer: &mut RowBuffer,
        mut take: impl FnMut(&Row<'_, '_>),
    ) -> Result<bool, ContainerError> {
        let plan = Arc::clone(&self.plan);
        let block = self.block;
        let Some((count, bytes)) = self.next_block()? else { return Ok(false) };
        let mut cursor = Cursor::new(bytes);
        let refuse = |value, error| ContainerError::Value { block, value, error };
        for value in 0..count {
            // Values may take no bytes, so their number needs a separate limit.
            let spare = value.saturating_sub(cursor.position() as u64);
            if spare >= u64::from(plan.limits().elements_max) {
                let fault = cursor.fault(FaultKind::Elements);
                return Err(refuse(value, DecodeError { path: String::new(), fault }));
            }
            let row = plan.row_from(buffer, &mut cursor).map_err(|error| refuse(value, error))?;
            take(&row);
        }
        let end = cursor.finish();
        end.map_err(|fault| refuse(count, DecodeError { path: String::new(), fault }))?;
        Ok(true)
    }
}

/// Writes a container file into memory.
#[derive(Debug)]
pub struct ContainerWriter {
    codec: Codec,
    sync: [u8; 16],
    count: usize,
    values: Vec<u8>,
}

impl ContainerWriter {
    /// Appends a file's header. `sync` must be random: readers use it to find blocks.
    pub fn new(schema: &Schema, codec: Codec, sync: [u8; 16], out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(MAGIC);
        write::length(out, 2);
        write::bytes(out, b"avro.schema");
        write::bytes(out, schema.json().as_bytes());
        write::bytes(out, b"avro.codec");
        write::bytes(out, codec.name().as_bytes());
        out.push(0);
        out.extend_from_slice(&sync);
        Self { codec, sync, count: 0, values: Vec::new() }
    }

    /// Adds an encoded value; appends a block when it is full.
    pub fn push(&mut self, value: &[u8], out: &mut Vec<u8>) -> Result<(), ContainerError> {
        self.values.extend_from_slice(value);
        self.count += 1;
        if self.values.len() >= BLOCK_BYTES { self.flush(out) } else { Ok(()) }
    }

    /// Appends the values since the last block. Must be called at the end.
    pub fn flush(&mut self, out: &mut Vec<u8>) -> Result<(), ContainerError> {
        if self.count == 0 {
            return Ok(());
        }
        let bytes = self.codec.compress(&self.values).ok_or(ContainerError::TooLong)?;
        write::length(out, self.count);
        write::bytes(out, &bytes);
        out.extend_from_slice(&self.sync);
        self.count = 0;
        self.values.clear();
        Ok(())
    }
}
