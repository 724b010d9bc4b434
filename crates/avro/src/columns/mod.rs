//! Decodes messages into Arrow columns, and encodes columns as messages.
//!
//! | Avro | Arrow |
//! |---|---|
//! | null, boolean, int, long, float, double, bytes | Null, Boolean, Int32, Int64, Float32, Float64, Binary |
//! | string | selected by [`StringAs`], also for a map's keys |
//! | fixed | FixedSizeBinary |
//! | enum | Dictionary(Int32, Utf8) of all symbols in order |
//! | array, map, record | List, Map, Struct |
//! | a union of null and one other type | that type, nullable |
//! | any other union | dense Union, branch `i` as type id `i` |
//! | date, time-millis, time-micros | Date32, Time32(ms), Time64(us) |
//! | timestamp-*, local-timestamp-* | Timestamp of that unit, with zone `+00:00` or without |
//! | decimal | Decimal128 up to 38 digits, Decimal256 up to 76, else as its bytes |
//! | uuid | FixedSizeBinary(16), extension `arrow.uuid` |
//! | duration | Interval(MonthDayNano) |
//! | big-decimal | Binary |
//!
//! Every byte is checked as for rows ([`Plan::row`]). In addition, a UUID must be valid, a decimal must not exceed its
//! precision, and a duration's months and days must be below 2^31: Arrow's types can't hold other values.

mod build;
mod column;
mod encode;
mod finish;
mod fit;
mod flat;
mod logical;
mod sink;
mod texts;

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, StructArray};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::{DataType, Fields, Schema as ArrowSchema, SchemaRef};
use thiserror::Error;

pub use encode::{ColumnEncoder, Encoded};

use crate::counts::{Counts, FAULTS_MAX};
use crate::cursor::Cursor;
use crate::decode::{self, Level};
use crate::error::{DecodeError, FaultKind};
use crate::plan::{Code, Plan, Scalar, Skip};
use crate::string_ids::StringIds;
use column::{Column, Data, ROOT};
use finish::Shared;
use flat::Flat;
use sink::{Filling, Mark, Refused};
use texts::Texts;

/// Representation of strings.
#[derive(Debug, Clone)]
pub enum StringAs {
    /// Offsets and bytes.
    Utf8,
    /// Views, which hold texts of up to 12 bytes and point to longer ones in a block shared by all columns. If messages
    /// are mostly text, whole messages are copied to the block.
    Utf8View,
    /// UInt32 keys that are the table's ids, the same in every batch and thread, and the table's strings as values.
    Dictionary(Arc<dyn StringIds>),
}

/// A schema can't be represented as columns, or columns can't be encoded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{reason}", crate::error::Field(.path))]
pub struct ColumnsError {
    /// The field's path in the schema; empty for the message itself.
    pub path: String,
    /// The reason, and what to do.
    pub reason: String,
}

impl ColumnsError {
    #[cold]
    fn new(reason: &str) -> Self {
        Self { path: String::new(), reason: reason.to_owned() }
    }

    /// The same error with `segment` prepended to its path.
    #[cold]
    fn within(mut self, segment: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{segment}{dot}{}", self.path);
        self
    }
}

/// A rejected message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("message {number}, {error}")]
pub struct ColumnFault {
    /// The message's index in the call.
    pub number: u64,
    /// The reason.
    pub error: DecodeError,
}

/// Decodes messages into columns. Each thread needs a separate decoder.
#[derive(Debug)]
pub struct ColumnDecoder {
    plan: Arc<Plan>,
    /// The fast path, if the plan allows it.
    flat: Option<Vec<Flat>>,
    schema: SchemaRef,
    columns: Vec<Column>,
    texts: Texts,
    strings: Strings,
    levels: Vec<Level<Mark>>,
    rows: usize,
    faults: Vec<ColumnFault>,
}

impl ColumnDecoder {
    /// Creates a decoder of the plan's messages into columns of its reader's schema. A record's fields are the columns;
    /// any other schema has one column, named `value`.
    pub fn new(plan: Arc<Plan>, strings: StringAs) -> Result<Self, ColumnsError> {
        let (columns, root) = build::build(plan.reader(), &strings)?;
        let fields = match (columns.get(ROOT as usize), root.data_type()) {
            (Some(Column { data: Data::Record { .. }, .. }), DataType::Struct(fields)) => fields.clone(),
            _ => Fields::from(vec![root.with_name("value")]),
        };
        let interner = match strings {
            StringAs::Dictionary(interner) if i32::try_from(interner.bytes_max()).is_err() => {
                let reason = "the table may outgrow an Arrow array of strings; keep its limit below 2 GiB";
                return Err(ColumnsError::new(reason));
            }
            StringAs::Dictionary(interner) => Some(interner),
            _ => None,
        };
        Ok(Self {
            flat: flat::flatten(&plan, &columns),
            schema: Arc::new(ArrowSchema::new(fields)),
            columns,
            texts: Texts::new(is_text(&plan), interner),
            strings: Strings::default(),
            plan,
            levels: Vec::new(),
            rows: 0,
            faults: Vec::with_capacity(FAULTS_MAX),
        })
    }

    /// The batches' schema.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Number of rows since the last batch.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends a message as a row. A rejected message leaves nothing in the columns; strings that were read before the
    /// fault keep their ids.
    pub fn append(&mut self, message: &[u8]) -> Result<(), DecodeError> {
        let Self { plan, flat, columns, texts, levels, .. } = self;
        let block_bytes = texts.block.len();
        if let Some(flat) = flat {
            if flat::append(flat, columns, texts, message, plan.limits().elements_max).is_some() {
                self.rows += 1;
                return Ok(());
            }
            column::truncate(columns, ROOT, self.rows);
            texts.block.truncate(block_bytes);
        }
        let mut cursor = Cursor::new(message);
        let mut filling = Filling::new(columns, texts, message, ROOT);
        let read = decode::decode(plan, &mut cursor, levels, &mut filling)
            .and_then(|()| cursor.finish().map_err(|fault| DecodeError { path: String::new(), fault }));
        let filled = filling.finish();
        let result = read.and_then(|()| {
            filled.map_err(|Refused { column, fault }| DecodeError { path: build::path(columns, column), fault })
        });
        match result {
            Ok(()) => self.rows += 1,
            Err(_) => {
                column::truncate(columns, ROOT, self.rows);
                self.texts.block.truncate(block_bytes);
            }
        }
        result
    }

    /// Appends messages as rows. Invalid messages are skipped and counted as `faulty`; messages with new strings for
    /// which the interner has no room are counted as `dropped`. Stops early when the columns are full: `messages` is
    /// the number consumed, and the others can be appended after [`ColumnDecoder::finish`].
    pub fn append_batch<'m>(&mut self, messages: impl IntoIterator<Item = &'m [u8]>) -> Counts {
        self.faults.clear();
        let mut counts = Counts::default();
        for message in messages {
            match self.append(message) {
                Ok(()) => counts.rows += 1,
                Err(error) => match error.fault.kind {
                    FaultKind::ColumnsFull if self.rows > 0 => break,
                    FaultKind::StringsFull => counts.dropped += 1,
                    _ => {
                        counts.faulty += 1;
                        if self.faults.len() < FAULTS_MAX {
                            self.faults.push(ColumnFault { number: counts.messages, error });
                        }
                    }
                },
            }
            counts.messages += 1;
        }
        counts
    }

    /// The first faults of the last [`ColumnDecoder::append_batch`], at most [`FAULTS_MAX`].
    pub fn faults(&self) -> &[ColumnFault] {
        &self.faults
    }

    /// Returns the rows since the last batch. The batch takes over the columns' memory; memory for as many rows and
    /// bytes is allocated at once, so appending a similar batch doesn't allocate.
    pub fn finish(&mut self) -> RecordBatch {
        let block = finish::take(&mut self.texts.block);
        let shared = Shared {
            block: Some(block).filter(|block| !block.is_empty()).map(Buffer::from_vec),
            strings: self.strings.array(self.texts.interner.as_deref()),
        };
        self.rows = 0;
        let array = match self.columns.get(ROOT as usize) {
            Some(Column { data: Data::Record { .. }, .. }) => finish::record(&mut self.columns, ROOT, &shared, None),
            _ => {
                let value = finish::array(&mut self.columns, ROOT, &shared);
                StructArray::new(self.schema.fields().clone(), vec![value], None)
            }
        };
        RecordBatch::from(array)
    }
}

/// The interner's strings as an array, rebuilt only when strings were added.
#[derive(Debug)]
struct Strings {
    offsets: Vec<i32>,
    data: Vec<u8>,
    array: ArrayRef,
}

impl Default for Strings {
    fn default() -> Self {
        Self { offsets: vec![0], data: Vec::new(), array: Arc::new(StringArray::new_null(0)) }
    }
}

impl Strings {
    fn array(&mut self, interner: Option<&dyn StringIds>) -> ArrayRef {
        let known = self.array.len() as u32;
        if let Some(interner) = interner
            && interner.len() > known
        {
            for string in (known..interner.len()).map_while(|id| interner.get(id)) {
                self.data.extend_from_slice(string.as_bytes());
                // `ColumnDecoder::new` has checked that all strings together are below 2^31 bytes.
                self.offsets.push(self.data.len() as i32);
            }
            let offsets = OffsetBuffer::new(self.offsets.clone().into());
            self.array = Arc::new(StringArray::new(offsets, self.data.as_slice().into(), None));
        }
        Arc::clone(&self.array)
    }
}

/// Whether messages are mostly text that goes to columns.
fn is_text(plan: &Plan) -> bool {
    let other = |code| {
        matches!(
            code,
            Code::Read(Scalar::Bytes | Scalar::StringToBytes | Scalar::Fixed(_))
                | Code::Skip(Skip::Bytes | Skip::Fixed(_))
                | Code::Array { .. }
                | Code::Constant { .. }
                | Code::SkipBlocks { .. }
                | Code::SkipUnion { .. }
                | Code::SkipRecord { .. }
        )
    };
    !plan.steps.iter().any(|step| other(step.code))
}
